/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-info: the RDMA devices of a host, and what keeps it slow or broken. */
#include <errno.h>
#include <popt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "info.h"

enum { OPTION_WATCH = 1 };

static struct info_options options;

static const struct poptOption option_table[] = {
	{ "device", 'd', POPT_ARG_STRING, &options.device, 0, "only this device", "NAME" },
	{ "json", 'j', POPT_ARG_NONE, &options.json, 0, "print JSON", NULL },
	{ "check", 'c', POPT_ARG_NONE, &options.check, 0,
	  "look for what keeps the host slow or broken", NULL },
	{ "watch", 'w', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, &options.watch, OPTION_WATCH,
	  "print how fast counters rise, every second or every SECONDS", "SECONDS" },
	{ "count", 'n', POPT_ARG_INT, &options.count, 0, "with --watch: end after TIMES intervals",
	  "TIMES" },
	{ "plot", 0, POPT_ARG_STRING, &options.plot, 0,
	  "draw a recording of --watch --json as SVG; -: standard input", "FILE" },
	{ "peer", 0, POPT_ARG_STRING, &options.peer, 0, "with --check: also the path to this host",
	  "ADDRESS" },
	{ "root", 0, POPT_ARG_STRING, &options.root, 0, "read a recorded host: its sys/ and proc/",
	  "DIR" },
	{ "version", 0, POPT_ARG_NONE, &options.version, 0, "show the version", NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

void info_print_json(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
							    JSON_C_TO_STRING_SPACED |
							    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}

static bool parse_interval(void)
{
	char *end;

	options.interval = 1;
	if (!options.watch)
		return true;
	options.interval = strtod(options.watch, &end);
	return end != options.watch && !*end && options.interval >= 0.01 &&
	       options.interval <= 86400;
}

/* What is wrong with the options, or NULL. */
static const char *refuse(void)
{
	if (options.check + options.watches + !!options.plot > 1)
		return "use one of --check, --watch and --plot";
	if (options.root && !options.check && !options.watches)
		return "--root needs --check or --watch";
	if (options.peer && !options.check)
		return "--peer needs --check";
	if (options.count && !options.watches)
		return "--count needs --watch";
	if (options.plot && (options.json || options.device))
		return "--plot takes no other option";
	if (options.count < 0)
		return "--count is at least 1";
	if (!parse_interval())
		return "--watch takes seconds, from 0.01 to 86400";
	return NULL;
}

static int run(void)
{
	int status = options.check     ? info_check(&options)
		     : options.watches ? info_watch(&options)
		     : options.plot    ? info_plot(&options)
				       : info_devices(&options);

	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "bsn-info: standard output: %s\n", strerror(errno));
		status = INFO_FAILED;
	}
	return status;
}

static int usage(const char *what, const char *why)
{
	fprintf(stderr, "bsn-info: %s%s%s\n", what, why ? ": " : "", why ? why : "");
	return INFO_USAGE;
}

int main(int argc, char **argv)
{
	poptContext context =
		poptGetContext("bsn-info", argc, (const char **)argv, option_table, 0);
	int got, status;

	while ((got = poptGetNextOpt(context)) == OPTION_WATCH)
		options.watches = 1;
	if (got < -1) {
		status = usage(poptBadOption(context, POPT_BADOPTION_NOALIAS), poptStrerror(got));
	} else if (poptPeekArg(context)) {
		status = usage(poptPeekArg(context), "one argument too many: --device names one");
	} else if (options.version) {
		puts("bsn-info " BSN_VERSION);
		status = INFO_OK;
	} else {
		status = refuse() ? usage(refuse(), NULL) : run();
	}
	free(options.device);
	free(options.root);
	free(options.peer);
	free(options.watch);
	free(options.plot);
	poptFreeContext(context);
	return status;
}
