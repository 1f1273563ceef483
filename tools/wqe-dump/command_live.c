/* SPDX-License-Identifier: BSD-2-Clause */
/* wqe-dump -p and -c: their options. */
#include "command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "live/live.h"

#define NO_PID LONG_MAX

static struct {
	long pid;
	char *core, *qp;
	int trusts_core, follow;
} options = { .pid = NO_PID };

struct poptOption live_options[] = {
	{ "pid", 'p', POPT_ARG_LONG, &options.pid, 0,
	  "the queues of a running process that has BSN_REGISTRY=1", "PID" },
	{ "core", 'c', POPT_ARG_STRING, &options.core, 0, "the queues of a core file", "FILE" },
	{ "trust-core", 0, POPT_ARG_NONE, &options.trusts_core, 0,
	  "read any file that the core names, even if it may be another one by now", NULL },
	{ "qp", 0, POPT_ARG_STRING, &options.qp, 0, "only the queues of this QP", "QPN" },
	{ "follow", 0, POPT_ARG_NONE, &options.follow, 0, "show what comes until the process ends",
	  NULL },
	POPT_TABLEEND
};

bool live_is_meant(void)
{
	return options.pid != NO_PID || options.core || options.trusts_core || options.qp ||
	       options.follow;
}

/* What is wrong with the options, or NULL. */
static const char *find_fault(const char **paths)
{
	const bool has_pid = options.pid != NO_PID;

	if (has_pid && (options.pid <= 0 || options.pid > INT_MAX))
		return "--pid is the number of a process";
	if (!has_pid && !options.core)
		return "--qp and --follow are for a process or a core file: --pid, --core";
	if (has_pid && options.core)
		return "either --pid or --core, not both";
	if (options.trusts_core && !options.core)
		return "--trust-core is for a core file: --core";
	if (options.follow && options.core)
		return "--follow is for a process: --pid";
	if (paths)
		return "name either a process or core file, or files with text or bytes";
	return NULL;
}

static bool read_qp(struct number *qp)
{
	char *end;
	unsigned long value;

	if (!options.qp)
		return true;
	value = strtoul(options.qp, &end, 0);
	*qp = KNOWN(value);
	return end != options.qp && !*end && value <= BSN_QPN_MAX;
}

int command_live(const char **paths, struct tell *tell)
{
	struct live_attr attr = { .pid = options.pid,
				  .core = options.core,
				  .trusts_core = options.trusts_core,
				  .follows = options.follow };
	const char *fault = find_fault(paths);
	int status = WQE_DUMP_FAILED;

	if (!fault && !read_qp(&attr.qp))
		fault = "--qp is a number of 24 bits";
	if (fault)
		complain("wqe-dump: %s", fault);
	else
		status = live_run(&attr, tell);
	return status;
}
