/* SPDX-License-Identifier: BSD-2-Clause */
/* The subcommands. */
#ifndef WQE_DUMP_COMMAND_H
#define WQE_DUMP_COMMAND_H

/* Exit statuses of wqe-dump and its subcommands */
enum {
	WQE_DUMP_FOUND = 0,
	WQE_DUMP_NOTHING = 1, /* nothing in the input could be read */
	WQE_DUMP_FAILED = 2,  /* wrong usage, or the input or output failed */
};

/** complain() - a line on standard error; names and arguments in it may have any bytes */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * command_finish() - the exit status after everything was printed
 * @status: so far
 *
 * Return: @status, or WQE_DUMP_FAILED if standard output failed. A closed pipe is no failure.
 */
int command_finish(int status);

int command_build(int argc, const char **argv);
int command_explain(int argc, const char **argv);

#endif
