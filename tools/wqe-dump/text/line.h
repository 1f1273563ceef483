/* SPDX-License-Identifier: BSD-2-Clause */
/* A line of text, as forms get it. */
#ifndef WQE_DUMP_LINE_H
#define WQE_DUMP_LINE_H

#include <stddef.h>
#include <stdint.h>

/** struct line - a line, valid until the next one is asked for */
struct line {
	char *text;           /* without its end; a NUL follows, and there may be more in it */
	size_t len;           /* bytes */
	unsigned long number; /* in the input, from 1 */
	uint32_t stream;      /* lines of one writer in a merged log have the same number */
};

#endif
