/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-perf: which command is meant. */
#include "perf.h"

#include <string.h>

static const struct command {
	const char *name;
	int (*main)(int argc, const char **argv);
	const char *summary;
} commands[] = {
	{ "cost", cost_main,
	  "CPU cost of each operation: posts, polls, layouts, registrations; beside libibverbs" },
	{ "dc", dc_main,
	  "many peers through few DC initiators: connections and waits, by each policy" },
	{ "lat", lat_main, "latency of an operation" },
	{ "bw", bw_main, "bandwidth and rate of an operation" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *to)
{
	fputs("usage: bsn-perf COMMAND [OPTION...]\n\n", to);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-7s %s\n", commands[i].name, commands[i].summary);
	fputs("\n  --help     print this; after a command, its options\n"
	      "  --version  print the version\n\nSee bsn-perf(1).\n",
	      to);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	char title[32]; /* what a command's --help calls the program */

	if (!name) {
		print_help(stderr);
		return PERF_USAGE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-?") || !strcmp(name, "help")) {
		print_help(stdout);
		return PERF_OK;
	}
	if (!strcmp(name, "--version")) {
		puts("bsn-perf " BSN_VERSION);
		return PERF_OK;
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(name, commands[i].name))
			continue;
		snprintf(title, sizeof(title), "bsn-perf %s", name);
		argv[1] = title;
		return commands[i].main(argc - 1, (const char **)argv + 1);
	}
	return complain_usage("no command %s: see bsn-perf --help", name);
}
