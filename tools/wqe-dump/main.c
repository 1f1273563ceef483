/* SPDX-License-Identifier: BSD-2-Clause */
/* wqe-dump: finds errors, CQEs and WQEs in its input, and says what they mean. */
#include <errno.h>
#include <limits.h>
#include <popt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "print/print.h"
#include "scan/scan.h"

static struct {
	char *format, *transport, *compressed;
	int stride, json, brief, html, raw, version;
} options;

#define NO_PID LONG_MAX

static struct live_attr live = { .pid = NO_PID };
static char *qp;

static struct poptOption live_options[] = {
	{ "pid", 'p', POPT_ARG_LONG, &live.pid, 0,
	  "the queues of a running process that has BSN_REGISTRY=1", "PID" },
	{ "core", 'c', POPT_ARG_STRING, &live.core, 0, "the queues of a core file", "FILE" },
	{ "trust-core", 0, POPT_ARG_NONE, &live.trusts_core, 0,
	  "read any file that the core names, even if it may be another one by now", NULL },
	{ "qp", 0, POPT_ARG_STRING, &qp, 0, "only the queues of this QP", "QPN" },
	{ "follow", 0, POPT_ARG_NONE, &live.follows, 0, "show what comes until the process ends",
	  NULL },
	POPT_TABLEEND
};

/* The words of --compressed. */
#define FORMAT_WORD(name, value, doc) " " #name
#define COMPRESSED_WORDS              "enhanced striding" BSN_MINI_FORMATS(FORMAT_WORD)

static const struct poptOption option_table[] = {
	{ "format", 'f', POPT_ARG_STRING, &options.format, 0,
	  "what the input is: a log's form, or cqe, cqe128, wqe, recv, recv-srq, recv-signed",
	  "NAME" },
	{ "transport", 't', POPT_ARG_STRING, &options.transport, 0,
	  "transport of the queue that WQEs are from: rc, uc, ud, dc, xrc, eth, ipoib", "NAME" },
	{ "stride", 0, POPT_ARG_INT, &options.stride, 0,
	  "distance from one receive WQE to the next (16)", "BYTES" },
	{ "compressed", 0, POPT_ARG_STRING, &options.compressed, 0,
	  "how the CQ was created to compress, some of: " COMPRESSED_WORDS, "WORD[,...]" },
	{ "brief", 'b', POPT_ARG_NONE, &options.brief, 0, "print one line for each record", NULL },
	{ "raw", 'r', POPT_ARG_NONE, &options.raw, 0, "print the bytes beside each field", NULL },
	{ "html", 0, POPT_ARG_NONE, &options.html, 0, "print a page with a picture of the rings",
	  NULL },
	{ "json", 'j', POPT_ARG_NONE, &options.json, 0, "print JSON", NULL },
	{ "version", 0, POPT_ARG_NONE, &options.version, 0, "show the version", NULL },
	{ NULL, 0, POPT_ARG_INCLUDE_TABLE, live_options, 0,
	  "The queues of a program that uses Bunsen:", NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

/* -- what the options say ---------------------------------------------------------------------- */

static const char *const raw_names[] = {
	[RAW_CQE] = "cqe",   [RAW_CQE128] = "cqe128",     [RAW_WQE] = "wqe",
	[RAW_RECV] = "recv", [RAW_RECV_SRQ] = "recv-srq", [RAW_RECV_SIGNED] = "recv-signed",
};

static int read_format(struct scan_attr *attr)
{
	char names[FORMS_MAX * 16];
	size_t len = 0;

	if (!options.format)
		return 0;
	for (unsigned i = RAW_CQE; i < COUNT(raw_names); i++)
		if (!strcmp(options.format, raw_names[i])) {
			attr->bytes.kind = (enum raw_kind)i;
			return 0;
		}
	attr->only = form_find(options.format);
	if (attr->only)
		return 0;
	for (const struct form *const *form = forms; *form; form++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, " %s", (*form)->name);
	return complain(
		"wqe-dump: --format %s is none of: cqe cqe128 wqe recv recv-srq recv-signed%s",
		options.format, names);
}

static int read_transport(struct scan_attr *attr)
{
	if (!options.transport)
		return 0;
	attr->bytes.transport = record_transport_find(options.transport);
	if (attr->bytes.transport.is_known)
		return 0;
	return complain("wqe-dump: --transport %s is none of: rc uc ud dc xrc eth ipoib",
			options.transport);
}

static int read_stride(struct scan_attr *attr)
{
	if (options.stride < 0 || options.stride % BSN_DATA_SIZE ||
	    options.stride > (int)(BSN_RECV_MAX_DATA + 1) * BSN_DATA_SIZE)
		return complain("wqe-dump: --stride %d is no multiple of %d up to %d",
				options.stride, BSN_DATA_SIZE,
				(BSN_RECV_MAX_DATA + 1) * BSN_DATA_SIZE);
	attr->bytes.stride_bytes = (size_t)options.stride;
	return 0;
}

/* Parses one of the words of --compressed. */
static int read_compression(struct raw_attr *attr, const char *word)
{
	static const char *const formats[] = {
#define FORMAT_NAME(name, value, doc) [value] = #name,
		BSN_MINI_FORMATS(FORMAT_NAME)
	};

	if (!strcmp(word, "enhanced"))
		return attr->compression.is_enhanced = true, 0;
	if (!strcmp(word, "striding"))
		return attr->compression.is_striding = true, 0;
	for (unsigned i = 0; i < COUNT(formats); i++)
		if (!strcasecmp(word, formats[i])) {
			attr->compression.format = (enum bsn_mini_format)i;
			attr->has_format = true;
			return 0;
		}
	return -EINVAL;
}

static int read_compressed(struct scan_attr *attr)
{
	char *rest = options.compressed, *word;

	while (rest && (word = strtok_r(rest, ",", &rest)))
		if (read_compression(&attr->bytes, word))
			return complain("wqe-dump: --compressed %s is none of: " COMPRESSED_WORDS,
					word);
	return 0;
}

/* -- a process or a core file ------------------------------------------------------------------ */

static bool live_is_meant(void)
{
	return live.pid != NO_PID || live.core || live.trusts_core || qp || live.follows;
}

static bool read_qp(struct number *number)
{
	char *end;
	unsigned long value;

	if (!qp)
		return true;
	value = strtoul(qp, &end, 0);
	*number = KNOWN(value);
	return end != qp && !*end && value <= BSN_QPN_MAX;
}

/* What is wrong with the options, or NULL. Reads the number of --qp. */
static const char *find_fault(const char **paths)
{
	const bool has_pid = live.pid != NO_PID;

	if (has_pid && (live.pid <= 0 || live.pid > INT_MAX))
		return "--pid is the number of a process";
	if (!has_pid && !live.core)
		return "--qp and --follow are for a process or a core file: --pid, --core";
	if (has_pid && live.core)
		return "either --pid or --core, not both";
	if (live.trusts_core && !live.core)
		return "--trust-core is for a core file: --core";
	if (live.follows && live.core)
		return "--follow is for a process: --pid";
	if (paths)
		return "name either a process or core file, or files with text or bytes";
	return read_qp(&live.qp) ? NULL : "--qp is a number of 24 bits";
}

static int dump_live(const char **paths, struct tell *tell)
{
	const char *fault = find_fault(paths);

	return fault ? complain("wqe-dump: %s", fault) : live_run(&live, tell);
}

/* -- files ------------------------------------------------------------------------------------- */

static int scan_file(struct scan *scan, const char *path)
{
	struct input input;
	int err = input_open(&input, path);

	if (!err) {
		err = scan_input(scan, &input);
		input_close(&input);
	}
	if (err)
		complain("wqe-dump: %s: %s", path, strerror(-err));
	return err;
}

/* The exit status. Prints that nothing was found, which is no failure. */
static int tell_count(const struct tell *tell, int err)
{
	if (err)
		return WQE_DUMP_FAILED;
	if (tell->count)
		return WQE_DUMP_FOUND;
	if (!tell->unread || options.json)
		complain("wqe-dump: nothing found: no CQE, no WQE, no error");
	return WQE_DUMP_NOTHING;
}

static int dump_files(const char **paths, const struct scan_attr *attr, struct tell *tell)
{
	static const char *const standard_input[] = { "-", NULL };
	struct scan *scan = scan_create(attr, tell);
	int err = 0;

	tell->sink->begin();
	for (const char *const *path = paths ? (const char *const *)paths : standard_input; *path;
	     path++)
		if (scan_file(scan, *path))
			err = -EIO;
	tell->sink->end();
	scan_destroy(scan);
	return tell_count(tell, err);
}

static int run(const char **paths)
{
	struct scan_attr attr = { 0 };
	struct tell tell = { 0 };

	if (options.version) {
		puts("wqe-dump " BSN_VERSION);
		return WQE_DUMP_FOUND;
	}
	if (read_format(&attr) || read_transport(&attr) || read_stride(&attr) ||
	    read_compressed(&attr))
		return WQE_DUMP_FAILED;
	print_raw = options.raw;
	tell.sink = options.json    ? &print_json
		    : options.html  ? &print_html
		    : options.brief ? &print_brief
				    : &print_text;
	return live_is_meant() ? dump_live(paths, &tell) : dump_files(paths, &attr, &tell);
}

static const struct command command_dump = {
	.name = "wqe-dump",
	.usage = "[OPTION...] [FILE...]\n"
		 "       wqe-dump explain [OPTION...] NUMBER|WORD...\n"
		 "       wqe-dump build OPERATION [OPTION...]",
	.options = option_table,
	.run = run,
};

/* -- any command line -------------------------------------------------------------------------- */

/* The exit status, FAILED if output failed; a closed pipe is no failure. */
static int finish(int status)
{
	if ((!fflush(stdout) && !ferror(stdout)) || errno == EPIPE)
		return status;
	return complain("wqe-dump: standard output: %s", strerror(errno));
}

static int run_command(const struct command *command, int argc, const char **argv)
{
	poptContext context;
	int got, status = WQE_DUMP_FAILED;

	argv[0] = command->name; /* for the help */
	context = poptGetContext(NULL, argc, argv, command->options, 0);
	poptSetOtherOptionHelp(context, command->usage);
	do
		got = poptGetNextOpt(context);
	while (got > 0 && !command->take(got, poptGetOptArg(context)));
	if (got < -1)
		complain("%s: %s: %s", command->name,
			 poptBadOption(context, POPT_BADOPTION_NOALIAS), poptStrerror(got));
	else if (got == -1)
		status = finish(command->run(poptGetArgs(context)));
	poptFreeContext(context);
	return status;
}

int main(int argc, char **argv)
{
	const char **words = (const char **)argv;

	signal(SIGPIPE, SIG_IGN); /* writes then fail with EPIPE */
	if (argc > 1 && !strcmp(argv[1], "build"))
		return run_command(&command_build, argc - 1, words + 1);
	if (argc > 1 && !strcmp(argv[1], "explain"))
		return run_command(&command_explain, argc - 1, words + 1);
	return run_command(&command_dump, argc, words);
}
