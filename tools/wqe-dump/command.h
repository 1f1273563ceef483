/* SPDX-License-Identifier: BSD-2-Clause */
/* What the subcommands are to main.c. */
#ifndef WQE_DUMP_COMMAND_H
#define WQE_DUMP_COMMAND_H

/* Exit statuses of wqe-dump, whatever it is asked for */
enum {
	WQE_DUMP_FOUND = 0,
	WQE_DUMP_NOTHING = 1, /* the input has nothing that could be read */
	WQE_DUMP_FAILED = 2,  /* usage, or the input or output failed */
};

/**
 * command_finish() - what main() returns when all was printed
 * @status: so far
 *
 * Return: @status, or WQE_DUMP_FAILED if standard output failed; who closes a pipe has seen enough.
 */
int command_finish(int status);

int command_build(int argc, const char **argv);
int command_explain(int argc, const char **argv);

#endif
