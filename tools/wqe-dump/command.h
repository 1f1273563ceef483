/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line: wqe-dump itself, and its subcommands. */
#ifndef WQE_DUMP_COMMAND_H
#define WQE_DUMP_COMMAND_H

#include <popt.h>
#include <stdbool.h>

/* Exit statuses of wqe-dump and its subcommands */
enum {
	WQE_DUMP_FOUND = 0,
	WQE_DUMP_NOTHING = 1, /* nothing in the input could be read */
	WQE_DUMP_FAILED = 2,  /* wrong usage, or the input or output failed */
};

/** complain() - a line on standard error; names and arguments in it may have any bytes */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** command_finish() - the exit status, FAILED if output failed; a closed pipe is no failure */
int command_finish(int status);

struct tell;

/* The options of --pid and --core, for POPT_ARG_INCLUDE_TABLE */
extern struct poptOption live_options[];

/** live_is_meant() - whether one of them was given */
bool live_is_meant(void);

/** command_live() - runs them; @paths: other arguments of the command line, or NULL */
int command_live(const char **paths, struct tell *tell);

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
