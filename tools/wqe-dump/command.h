/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line: wqe-dump itself, and its subcommands. */
#ifndef WQE_DUMP_COMMAND_H
#define WQE_DUMP_COMMAND_H

#include <popt.h>

#include "tell/tell.h"

/* Exit statuses of wqe-dump and its subcommands */
enum {
	WQE_DUMP_FOUND = 0,
	WQE_DUMP_NOTHING = 1, /* nothing in the input could be read */
	WQE_DUMP_FAILED = 2,  /* wrong usage, or the input or output failed */
};

/** complain() - a line on standard error, which may have any bytes; returns WQE_DUMP_FAILED */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * struct live_attr - @pid or @core, and maybe one QP
 * @trusts_core: see target_open_core()
 * @follows: until the process ends
 */
struct live_attr {
	long pid;
	const char *core;
	int trusts_core; /* of popt, like the other */
	struct number qp;
	int follows;
};

/** live_run() - tells of the queues, says on standard error what failed; returns an exit status */
int live_run(const struct live_attr *attr, struct tell *tell);

/** struct command - a command line */
struct command {
	const char *name; /* "wqe-dump explain" */
	const char *usage;
	const struct poptOption *options;
	int (*take)(int option, char *argument); /* an option with a value of its own, in order */
	int (*run)(const char **words);          /* with all other words, or NULL */
};

extern const struct command command_build, command_explain;

#endif
