/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What users of perftest type, and lat and bw do not have: what would change nothing is taken, all
 * else is answered with what there is instead.
 */
#include <stdlib.h>

#include "traffic.h"

/* @advice NULL: it is taken. A value belongs to its option, or it would be taken for a role. */
static const struct {
	const char *name;
	char letter;
	bool has_value;
	const char *advice;
} strangers[] = {
	{ "CPU-freq", 'F', false, NULL }, /* a warning that is not given */
	{ "noPeak", 'N', false, NULL },   /* a figure that is not taken */
	{ "report_gbits", 0, false, NULL },
	{ "atomic_type", 'A', true, "the atomic is a fetch and add" },
	{ "report-cycles", 'C', false, "times are in µs, those of --json in ns" },
	{ "events", 'e', false, "completions are polled" },
	{ "vector", 'X', true, "completions are polled" },
	{ "margin", 'f', true, "all of --duration is measured, after a warm-up" },
	{ "mcg", 'g', false, "there is no test of multicast" },
	{ "MGID", 'M', true, "there is no test of multicast" },
	{ "report-histogram", 'H', false, "percentiles are printed, and --json has them" },
	{ "report-unsorted", 'U', false, "percentiles are printed, and --json has them" },
	{ "post_list", 'l', true, "up to 16 requests go with one doorbell" },
	{ "outs", 0, true, "READs in flight are --depth, as far as the device goes" },
	{ "dualport", 'O', false, "a test has one port, --ib-port: run two" },
	{ "cq-mod", 'Q', true, "every request completes" },
	{ "rx-depth", 'r', true, "receives are as many as --depth" },
	{ "tos", 'T', true, "use --tclass; rdma_cm has its own, default_roce_tos" },
	{ "version", 'V', false, "use bsn-perf --version" },
	{ "limit_bw", 'w', true, "nothing is judged: compare what --json prints" },
	{ "limit_msgrate", 'y', true, "nothing is judged: compare what --json prints" },
	{ "report-counters", 'W', true, "see /sys/class/infiniband/DEVICE/ports/PORT/counters" },
	{ "com_rdma_cm", 'z', false, "use --cm, which also connects the queue pairs" },
	{ "out_json", 0, false, "use --json, and --output=FILE" },
	{ "out_json_file", 0, true, "use --json, and --output=FILE" },
	{ "run_infinitely", 0, false, "use --duration" },
	{ "use-srq", 0, false, "each queue pair has its own receives" },
	{ "use_hugepages", 0, false, "messages lie in ordinary pages" },
	{ "odp", 0, false, "memory is registered" },
};

#define STRANGERS (sizeof(strangers) / sizeof(strangers[0]))

enum { HELP = 100, FIRST_STRANGER };

/* The same as popt reads it; then, -h, and the end. */
struct poptOption perftest_options[STRANGERS + 2];

void fill_perftest_options(void)
{
	for (size_t i = 0; i < STRANGERS; i++)
		perftest_options[i] = (struct poptOption){
			.longName = strangers[i].name,
			.shortName = strangers[i].letter,
			.argInfo = (strangers[i].has_value ? POPT_ARG_STRING : POPT_ARG_NONE) |
				   POPT_ARGFLAG_DOC_HIDDEN,
			.val = FIRST_STRANGER + (int)i,
		};
	perftest_options[STRANGERS] = (struct poptOption){ .shortName = 'h',
						.argInfo = POPT_ARG_NONE | POPT_ARGFLAG_DOC_HIDDEN,
						.val = HELP };
}

static int refuse(size_t which)
{
	const char letter[] = { strangers[which].letter ? '-' : '\0', strangers[which].letter,
				'\0' };

	return complain_usage("%s%s--%s is perftest's: %s", letter, *letter ? ", " : "",
			      strangers[which].name, strangers[which].advice);
}

int read_perftest_options(poptContext context)
{
	int got;

	while ((got = read_options(context)) >= HELP) {
		const size_t which = (size_t)got - FIRST_STRANGER;
		if (got == HELP) {
			poptPrintHelp(context, stdout, 0);
			poptFreeContext(context);
			exit(PERF_OK);
		}
		free(poptGetOptArg(context));
		if (strangers[which].advice)
			return refuse(which);
	}
	return got;
}
