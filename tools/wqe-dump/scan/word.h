/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of a line: names are looked for where one begins. */
#ifndef WQE_DUMP_WORD_H
#define WQE_DUMP_WORD_H

#include <stdbool.h>

/** is_word() - whether a character may be within a name */
static inline bool is_word(char c)
{
	return ((unsigned)c | 0x20) - 'a' <= 'z' - 'a' || (unsigned)c - '0' <= '9' - '0' ||
	       c == '_';
}

/** word_after() - where the next word begins, or the end of the text */
static inline const char *word_after(const char *text)
{
	while (is_word(*text))
		text++;
	while (*text && !is_word(*text))
		text++;
	return text;
}

#endif
