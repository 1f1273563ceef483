/* SPDX-License-Identifier: BSD-2-Clause */
/* The message channel: the memory of the two ends, and what they know of each other. Private. */
#ifndef ENGINE_MSG_H
#define ENGINE_MSG_H

#include "../engine.h"
#include "bsn_msg.h"

/* As it lies in the inbox; 0 in the first word: it is not written yet, since no sum is 0. */
struct msg_record {
	uint64_t sum;
	uint64_t length;
	uint64_t words[BSN_MSG_SHORT / 8]; /* of a short message, then zeros to the word's end */
};

_Static_assert(sizeof(struct msg_record) == BSN_MSG_RECORD, "a record is a cache line");

/* Where the bytes of longer messages go: one after the other, none across the ring's end. */
struct msg_bytes {
	uint64_t filled; /* counted from the first, with what was left out at ends */
	uint32_t size;   /* a power of two */
};

/* A wrong record may be one that is not whole yet. */
struct msg_doubt {
	uint64_t since_ns; /* 0: there is none */
};

/* What we send: the ring is the peer's. */
struct msg_out {
	uint64_t records, bytes_at, credit_at; /* addresses; the last: where our credits to it go */
	uint64_t key;
	uint32_t rkey;
	uint32_t depth; /* 0: not connected */
	uint32_t sent;
	uint32_t taken; /* of those, by the peer, as it last told */
	uint64_t freed; /* of @bytes.filled */
	struct msg_bytes bytes;
	uint64_t *filled_by; /* by the number of a message: @bytes.filled after it */
	struct msg_doubt doubt;
};

/* What we receive. */
struct msg_in {
	struct msg_record *records;
	uint32_t mask;    /* of their number */
	uint32_t quarter; /* of it: so many are told of at once */
	uint8_t *data;
	const uint64_t *credit; /* the peer's, of what we sent */
	uint64_t key;
	uint32_t taken;
	uint32_t told; /* of that, to the peer */
	uint64_t told_filled;
	struct msg_bytes bytes;
	struct msg_doubt doubt;
	bool owes; /* a credit that could not be sent */
};

struct bsn_msg_line {
	struct bsn_msg_inbox *inbox;
	struct bsn_qp *qp;
	struct bsn_ep *ep;
	void *user;
	const char *failed; /* why; NULL: it has not */
	bool is_told;       /* the poller knows */
	uint32_t place;     /* in the inbox */
	struct msg_in in;
	struct msg_out out;
};

struct bsn_msg_inbox {
	struct bsn_device *device;
	struct bsn_pd *pd;
	struct bsn_mr *mem;
	struct bsn_msg_inbox_attr attr; /* without zeros */
	uint32_t count;                 /* of lines */
	uint32_t turn;                  /* of the line that is looked at first */
	struct bsn_msg_line *given;   /* the line of the message that the caller has; NULL: none */
	struct bsn_msg_line *lines[]; /* NULL: no line has the place */
};

/* Where a message of so many bytes would begin, and in @bytes what was filled with it. */
static inline uint32_t msg_place(struct msg_bytes *bytes, uint32_t length)
{
	const uint32_t mask = bytes->size - 1;
	uint32_t at = (uint32_t)bytes->filled & mask;

	if (at + (uint64_t)length > bytes->size) {
		bytes->filled += bytes->size - at;
		at = 0;
	}
	bytes->filled += (length + 7u) & ~7u;
	return at;
}

/*
 * A credit is a number, and beside it the same with the key: half of one and half of another
 * differ.
 */
static inline uint64_t msg_credit(uint64_t key, uint32_t taken)
{
	return (uint64_t)(taken ^ (uint32_t)key) << 32 | taken;
}

#endif
