/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of queues without text around them: what is known of them, and what is in them. */
#ifndef WQE_DUMP_RAW_H
#define WQE_DUMP_RAW_H

#include "../tell/tell.h"

/** struct compression - how the CQ compresses */
struct compression {
	struct number format; /* enum bsn_mini_format of receives */
	bool is_enhanced;     /* layout */
	bool is_striding;     /* the receive queue */
};

/** struct raw_attr - what the user says about all bytes */
struct raw_attr {
	enum raw_kind kind;
	struct number transport; /* of send WQEs, enum bsn_transport; unknown: guessed */
	size_t stride_bytes;     /* of receive WQEs */
	struct compression compression;
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
	/* What is unknown here is taken from the user's options, or guessed. */
	enum raw_kind kind;
	struct number transport;
};

/**
 * raw_tell() - tells of each CQE or WQE in the bytes; false, and tells that: they are neither
 * @raw: its kind is set to what the bytes were, for bytes that follow
 */
bool raw_tell(struct tell *tell, const struct raw_attr *attr, struct raw *raw);

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

#endif
