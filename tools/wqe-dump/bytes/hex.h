/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes as hexadecimal digits, in the many shapes in which people and programs write them. */
#ifndef WQE_DUMP_HEX_H
#define WQE_DUMP_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** hex_digit() - the value of a digit, or -1 */
static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/** struct hex_row - the bytes of one line */
struct hex_row {
	unsigned count; /* bytes in the line; 0: none */
	unsigned group; /* bytes of a word, most significant first */
	bool has_offset;
	bool is_swapped; /* tools with such offsets print words in the host's order */
	bool is_pure;    /* the line has nothing but bytes */
	uint64_t offset;
	unsigned offset_digits;
	const char *begin; /* of the digits in the text */
	const char *end;
};

#define HEX_ROW_MAX 4096 /* bytes of a line that are examined */

/** hex_is_likely() - whether a line may have bytes; it looks at few of its characters */
bool hex_is_likely(const char *text, size_t len);

/**
 * hex_row_read() - finds the bytes in a line, HEX_ROW_MAX at most; false: it has none
 * @bytes: may be NULL
 *
 * There may be text before them. An offset, and the same bytes in ASCII after them, do not count.
 */
bool hex_row_read(const char *text, struct hex_row *row, uint8_t *bytes);

/** hex_swap() - turns words of a little-endian host, printed as numbers, into bytes; and back */
void hex_swap(uint8_t *bytes, size_t size, unsigned group);

#endif
