/* SPDX-License-Identifier: BSD-2-Clause */
/* The message channel: the memory of both ends, and what each knows of the other. Private. */
#ifndef ENGINE_MSG_H
#define ENGINE_MSG_H

#include "../engine.h"
#include "bsn_msg.h"

/* A record in the inbox. No sum is 0, so a first word of 0 says that it is not written yet. */
struct msg_record {
	uint64_t sum;
	uint64_t length;
	uint64_t words[BSN_MSG_SHORT / 8]; /* of a short message, padded with zeros */
};

_Static_assert(sizeof(struct msg_record) == BSN_MSG_RECORD, "a record is a cache line");

/* The ring of bytes of longer messages: one after the other, none across the ring's end. */
struct msg_bytes {
	uint64_t filled; /* bytes so far, with those skipped at the end */
	uint32_t size;   /* a power of two */
};

/* A record that looks wrong may be incomplete still. */
struct msg_doubt {
	uint64_t since_ns; /* 0: there is none */
};

/* The sending side: the ring is in the peer's inbox. */
struct msg_out {
	uint64_t records, bytes_at, credit_at; /* addresses; the last: of our credits to it */
	uint64_t key;
	uint32_t rkey;
	uint32_t depth; /* 0: not connected */
	uint32_t sent;
	uint32_t taken; /* of @sent: taken by the peer, as it told last */
	uint64_t freed; /* of @bytes.filled */
	struct msg_bytes bytes;
	uint64_t *filled_by; /* @bytes.filled after each message */
	struct msg_doubt doubt;
};

/* The receiving side. */
struct msg_in {
	struct msg_record *records;
	uint32_t mask;    /* of record numbers */
	uint32_t quarter; /* of the ring: a credit tells of so many */
	uint8_t *data;
	const uint64_t *credit; /* the peer's credit for what we sent */
	uint64_t key;
	uint32_t taken;
	uint32_t told; /* of @taken: told to the peer */
	uint64_t told_filled;
	struct msg_bytes bytes;
	struct msg_doubt doubt;
	bool owes; /* a credit could not be sent yet */
};

struct bsn_msg_line {
	struct bsn_msg_inbox *inbox;
	struct bsn_qp *qp;
	struct bsn_ep *ep;
	void *user;
	const char *failed; /* why; NULL: it has not */
	bool is_told;       /* the poller was told */
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
	uint32_t turn;                  /* of the line that a poll reads first */
	struct bsn_msg_line *given;   /* the line of the message that the caller has; NULL: none */
	struct bsn_msg_line *lines[]; /* NULL: no line has the place */
};

/* Where a message of so many bytes would begin; @bytes is advanced past it. */
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
 * A credit has the number twice, the second time combined with the key: halves of two credits do
 * not match.
 */
static inline uint64_t msg_credit(uint64_t key, uint32_t taken)
{
	return (uint64_t)(taken ^ (uint32_t)key) << 32 | taken;
}

#endif
