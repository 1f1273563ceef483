/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This program, run again by itself under valgrind's callgrind, which counts the instructions of
 * some regions.
 *
 * The child asks for dumps (callgrind's client requests); all are in one file, in which these lines
 * matter:
 *
 *	desc: Trigger: Client Request: bunsen write_sge 768
 *	ob=(7) /usr/lib/libbunsen.so.0
 *	0x12340 768
 *	totals: 12345
 */
#ifndef CALLGRIND_H
#define CALLGRIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "bsn.h"

enum { CALLGRIND_ROW_BYTES = 32 };

/* -- in the child ------------------------------------------------------------------------------ */

bool callgrind_is_there(void);

/* From here on it may collect; it does not yet. What comes before runs faster. */
void callgrind_begin(void);

/* Goes on collecting, or stops. */
void callgrind_collect(void);

/* Dumps the count since the last dump, as that of so many operations of a row by a column. */
void callgrind_dump(const char *column, const char *row, unsigned count);

/* -- in the parent ----------------------------------------------------------------------------- */

/* One dump as it is read. @lines: of 64 B, of code that was executed */
struct callgrind_dump {
	char column[16], row[CALLGRIND_ROW_BYTES];
	unsigned count, lines;
	double total;
};
typedef void callgrind_take(void *arg, const struct callgrind_dump *dump);

/* How this program was called, and what is to be other in the child; each ends with NULL. */
struct callgrind_call {
	const char *command, *const *args, *const *more;
};

/* Runs it so under callgrind; what it prints goes to @said. Return: 0, or PERF_FAILED. */
int callgrind_run(const struct callgrind_call *call, char *said, size_t said_size,
		  callgrind_take *take, void *arg);

#endif
