/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of queues that come without text: what is known about them, and what is in them. */
#ifndef WQE_DUMP_RAW_H
#define WQE_DUMP_RAW_H

#include "../tell/tell.h"

/** enum raw_kind - what such bytes are */
enum raw_kind { RAW_GUESS, RAW_CQE, RAW_CQE128, RAW_WQE, RAW_RECV, RAW_RECV_SRQ, RAW_RECV_SIGNED };

/** struct compression - how a CQ was created to compress */
struct compression {
	struct number format; /* enum bsn_mini_format of receives */
	bool is_enhanced;     /* layout */
	bool is_striding;     /* the receive queue */
};

/** struct raw_attr - what the user says of all bytes */
struct raw_attr {
	enum raw_kind kind;
	struct number transport; /* of send WQEs, enum bsn_transport; unknown: guessed */
	size_t stride_bytes;     /* of receive WQEs */
	struct compression compression;
};

/** struct raw_place - the line that the bytes from this offset on are from */
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
	/* What is not known here is taken from the user's options, or guessed. */
	enum raw_kind kind;
	struct number transport;
};

/**
 * raw_tell() - tells of each CQE or WQE in the bytes, or that they are neither
 * @attr: what the user says
 * @raw: its kind is set to what the bytes were, for bytes that follow
 *
 * Return: false: they are neither.
 */
bool raw_tell(struct tell *tell, const struct raw_attr *attr, struct raw *raw);

#endif
