/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of queues without a word about them: what they are, and what they say. */
#ifndef WQE_DUMP_RAW_H
#define WQE_DUMP_RAW_H

#include "../scan/scan.h"

/** struct raw_place - from this byte on the bytes were written in this line */
struct raw_place {
	size_t offset;
	unsigned long line;
};

/** struct raw - some bytes, and where they were */
struct raw {
	const uint8_t *bytes;
	size_t size;
	const struct raw_place *places; /* ascending; NULL: no lines, the input is binary */
	size_t place_count;
	/* Where these are not known: what the user says, or what they look like. */
	enum raw_kind kind;
	struct number transport;
};

/**
 * raw_tell() - tells the scanner what the bytes are, each CQE and WQE, or that they are neither
 * @raw: its kind becomes what they were, for bytes that go on
 *
 * Return: false: neither.
 */
bool raw_tell(struct scan *scan, struct raw *raw);

#endif
