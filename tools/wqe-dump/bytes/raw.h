/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of queues without text around them: what is known of them, and what is in them. */
#ifndef WQE_DUMP_RAW_H
#define WQE_DUMP_RAW_H

#include "../tell/tell.h"

/** struct raw_attr - what the user, or the form, says about bytes */
struct raw_attr {
	enum raw_kind kind;
	struct number transport; /* of send WQEs, enum bsn_transport; unknown: guessed */
	size_t stride_bytes;     /* of receive WQEs */
	struct bsn_cqe_block compression; /* how the CQ compresses */
	bool has_format;                  /* compression.format is known, which receives need */
};

/** struct raw_place - the line that bytes from this offset on come from */
struct raw_place {
	size_t offset;
	unsigned long line;
};

/** struct raw - some bytes, and where they came from */
struct raw {
	const uint8_t *bytes;
	size_t size;
	const struct raw_place *places; /* ascending; NULL: the input is binary, and has no lines */
	size_t place_count;
};

/**
 * raw_tell() - tells of each CQE or WQE in the bytes; false, and tells that: they are neither
 * @attr: its kind is set to what the bytes were, for bytes that follow
 */
bool raw_tell(struct tell *tell, struct raw_attr *attr, const struct raw *raw);

/** raw_tell_wqe() - tells of a WQE that begins at a line */
void raw_tell_wqe(struct tell *tell, const struct raw_attr *attr, unsigned long line,
		  struct number transport, const uint8_t *bytes, size_t size);

/* -- guesses of what bytes are: whether the tables make sense of them -------------------------- */

#define UNITS_MAX 512 /* CQEs or basic blocks that are examined */

static inline bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/** judge_bytes() - points a unit, in tenths, for the likeliest kind; 0 or less: it is neither */
int judge_bytes(const struct raw_attr *attr, const uint8_t *bytes, size_t size,
		enum raw_kind *kind);

/**
 * judge_title() - CQEs, and slots, of the block of compressed ones that a CQE is the title of in
 * the basic layout, UINT16_MAX at most; 0: it is no title
 */
uint32_t judge_title(const struct raw_attr *attr, const uint8_t *proper);

/** judge_ctrl() - decodes a control segment; false: it cannot be one */
bool judge_ctrl(const uint8_t *bytes, size_t size, struct bsn_ctrl *ctrl);

/** judge_ring() - whether bytes are a whole send queue: slots and indices match */
bool judge_ring(const uint8_t *bytes, size_t size);

/**
 * judge_transport() - enum bsn_transport with which a WQE makes most sense, and has the fewest
 * things that no program would post; -EBADMSG: it is no WQE with any
 */
int judge_transport(const uint8_t *bytes, size_t size, unsigned *oddities);

/* -- hexadecimal digits, in the many shapes in which people and programs write them ------------ */

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
