/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks for many strings at once (Aho and Corasick, CACM 18:6, 1975): one step for each byte. */
#ifndef WQE_DUMP_MARKS_H
#define WQE_DUMP_MARKS_H

#include <stddef.h>
#include <stdint.h>

struct marks;

/** struct mark - a string, and the bits to report when it is there */
struct mark {
	const char *text;
	uint64_t bits;
};

/**
 * marks_create() - prepares the search
 *
 * Return: it, or NULL: out of memory.
 */
struct marks *marks_create(const struct mark *list, size_t count);

/** marks_find() - the bits of all strings that are in the text */
uint64_t marks_find(const struct marks *marks, const char *text, size_t len);

void marks_destroy(struct marks *marks);

#endif
