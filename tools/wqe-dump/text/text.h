/* SPDX-License-Identifier: BSD-2-Clause */
/* A line of text, and the words and numbers in it. */
#ifndef WQE_DUMP_TEXT_H
#define WQE_DUMP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct line - a line, valid until the next one is asked for */
struct line {
	char *text;           /* without its end; a NUL follows, and there may be more in it */
	size_t len;           /* bytes */
	unsigned long number; /* in the input, from 1 */
	uint32_t stream;      /* lines of one writer in a merged log have the same number */
};

/* What may be between a word and its value. */
#define TEXT_BETWEEN " \t:=([{\"'"

/** text_is_word() - whether a character may be within a name */
static inline bool text_is_word(char c)
{
	return ((unsigned)c | 0x20) - 'a' <= 'z' - 'a' || (unsigned)c - '0' <= '9' - '0' ||
	       c == '_';
}

/** text_next_word() - where the next word begins, or the end of the text */
static inline const char *text_next_word(const char *text)
{
	while (text_is_word(*text))
		text++;
	while (*text && !text_is_word(*text))
		text++;
	return text;
}

/** text_find() - finds a word that is not part of another one; NULL: it is not there */
const char *text_find(const char *text, const char *word);

/**
 * text_number() - reads a number after blanks, brackets and the like; 0x overrides @base
 *
 * Return: what follows the number; NULL: there is none.
 */
const char *text_number(const char *text, int base, uint64_t *number);

/** text_number_after() - likewise, after a word; false: the word or the number is not there */
bool text_number_after(const char *text, const char *word, int base, uint64_t *number);

/** text_is_source() - whether a line is source code, which has the words of output and statuses */
bool text_is_source(const char *text);

#endif
