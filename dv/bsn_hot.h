/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn.h, which programs include.
 *
 * All that inline code knows of the library's objects. A program keeps it as it was when it was
 * compiled, so it is frozen for as long as the SONAME is: no field moves, no value changes. So are
 * struct bsn_completion, bsn_wr, bsn_sge and bsn_remote, which are the program's (bsn_types.h).
 * tests/dv/layout.c has each offset.
 *
 * These structures are the first bytes of longer ones, which are the library's alone
 * (dv/whole.h): inline code neither allocates nor copies one.
 *
 * They grow into what is reserved, which the library sets to 0 until then. BSN_LAYOUT_VERSION
 * counts how often they did. The library takes programs of each version up to its own; those of
 * a later one would read what it does not set, and bsn_device_open() and bsn_device_attach()
 * refuse them.
 */
#ifndef BSN_HOT_H
#define BSN_HOT_H

#include <stdbool.h>

#include "bsn_order.h"
#include "bsn_types.h"

BSN_HEADER_BEGIN

#define BSN_LAYOUT_VERSION 1

struct bsn_lane;
struct bsn_rq;
struct bsn_sq;

/* -- posting ---------------------------------------------------------------------------------- */

/** struct bsn_ep - where requests go: a QP with one peer, or one of many peers */
struct bsn_ep {
	struct bsn_sq *sq;
};

/**
 * struct bsn_lane - one doorbell register
 * @reg: the buffer that the next doorbell or BlueFlame copy goes to
 * @toggle: XORed into @reg after each use; 0 where the register has one buffer
 */
struct bsn_lane {
	uint8_t *reg;
	uint64_t toggle;
	uint64_t reserved[2];
};

/** enum bsn_publish - how a WQE is published while no other one waits for a doorbell */
enum bsn_publish {
	BSN_PUBLISH_8,            /* BlueFlame by 8 B stores; by 16 B ones of prepared requests */
	BSN_PUBLISH_16,           /* BlueFlame by 16 B stores */
	BSN_PUBLISH_DOORBELL,     /* 8-byte doorbell */
	BSN_PUBLISH_CALL,         /* by bsn_ring(): another store, a shared or a small register */
	BSN_PUBLISH_APPENDED = 8, /* a bit: something was appended before and is not published */
};

#define BSN_NEAR_DS    3  /* a block has room for an id after so many units */
#define BSN_NEAR_ID_AT 56 /* where */
#define BSN_IDS_SHIFT  3  /* elsewhere: of each slot of 64 B, 8 are kept */

/**
 * What a function of the library posts, in one register:
 *	7:0 opcode   17:8 flags   31:18 number of SGEs; for bsn_sq_post_inline() bytes of its data
 */
#define BSN_WHAT_COUNT_SHIFT 18
#define BSN_WHAT_COUNT_MAX   0x3fff /* also means all larger counts: no queue takes so many */
#define BSN_WHAT_FLAGS       0x3ff00u
#define BSN_WHAT_BAD_FLAG    0x100u /* set for any flag that is not among them */
#define BSN_WHAT(opcode, flags, count)                                                             \
	((uint32_t)(opcode) | ((flags)&BSN_WHAT_FLAGS) |                                           \
	 ((flags) & ~BSN_WHAT_FLAGS ? BSN_WHAT_BAD_FLAG : 0) |                                     \
	 (uint32_t)(count) << BSN_WHAT_COUNT_SHIFT)

/**
 * struct bsn_sq - what a poster knows of a send queue
 *
 * The id of a WQE of up to BSN_NEAR_DS units is in the last 8 bytes of its block, which the device
 * does not read. The id of a longer WQE is in @ids, by the slot of its first block. A queue with
 * many peers has all ids there, and the peer's user pointer beside each.
 *
 * @ep: of a queue with one peer
 * @slot: where the next WQE begins; not NULL, without a ring either
 * @limit: for inline code: the last block that is free and in one piece with the slot; NULL: inline
 *	code has no room here
 * @room: the same for the library's functions
 * @record: send word of the doorbell record
 * @ctrl_next: word 0 of the next control segment, in host order: the QPN, and @pi
 * @pi: the next free block
 * @ctrl_carry: the carry of @pi, at a ring's end; the library clears it
 * @last: of the last WQE that was not published at once: the low half of its address
 * @quiet: unsignaled posts until the library signals one
 * @ce_quiet: ce of an unsignaled WQE, as in enum bsn_flags, but eight bits down
 * @can: for the library's functions
 * @publish: enum bsn_publish
 * @ops: opcodes that it takes, a bit each
 * @ids: see bsn_id_of()
 * @max_inline: bytes; mlx5: BSN_DS_INLINE_MAX or more
 * @max_sge: 1 or more
 */
struct bsn_sq {
	/* the first line: what each post writes */
	struct bsn_ep ep;
	uint8_t *slot;
	uint8_t *limit;
	uint8_t *room;
	struct bsn_be32 *record;
	struct bsn_lane *lane;
	union {
		uint64_t ctrl_next;
		struct __attribute__((packed)) {
			uint8_t ctrl_low[5];
			uint16_t pi;
			uint8_t ctrl_carry;
		};
	};
	uint32_t last;
	uint8_t quiet;
	uint8_t ce_quiet;
	uint8_t can;
	uint8_t publish;

	/* the second: constants */
	uint64_t ops;
	uintptr_t ids;
	uint32_t max_inline;
	uint8_t max_sge;
	uint8_t reserved_small[3];
	uint64_t reserved;
};

#define BSN_PREPARED_DS  3 /* as many units has one block after the control segment */
#define BSN_PREPARED_SGE BSN_PREPARED_DS

/**
 * struct bsn_prepared - a request whose body was encoded once, by bsn_prepare()
 *
 * Neither the QPN nor the ring index is in it, so it may be posted to any endpoint of the transport
 * it was made for, any number of times. Its fields are the library's. A program allocates it, so
 * its size is frozen, too.
 */
struct bsn_prepared {
	bsn_v2 ctrl; /* opcode, length and immediate, as in the control segment */
	bsn_v2 body[BSN_PREPARED_DS];
	uint32_t body_ds;
	uint32_t reserved;
	struct bsn_wr wr; /* the request, for all that the inline code leaves */
	struct bsn_sge sge[BSN_PREPARED_SGE];
};

/* -- receiving -------------------------------------------------------------------------------- */

/**
 * struct bsn_rq - what posters and pollers know of a receive queue
 *
 * A queue that the inline code does not know shows no room: a shared one, or one on plain verbs.
 *
 * @slot: where the next WQE begins
 * @limit: where the WQEs known to be free end; NULL: none is
 * @id_at: where the next WQE's id goes
 * @stride: bytes from one WQE to the next
 * @head: WQEs posted, modulo 2^16
 * @ids: one a slot
 * @mask: slots, less one
 * @tail: WQEs given back to a QP's own queue; release-stored [O6]
 */
struct bsn_rq {
	/* the first line: the poster's */
	uint8_t *slot;
	uint8_t *limit;
	uint64_t *id_at;
	struct bsn_be32 *record;
	uint32_t stride;
	uint16_t head;
	uint8_t max_sge;
	uint8_t reserved_small;
	uint64_t reserved_of_posts[3];

	/* the second: the poller's */
	uint64_t *ids;
	uint32_t mask;
	uint32_t tail;
	uint64_t reserved_of_polls;
};

/* -- polling ---------------------------------------------------------------------------------- */

/** enum bsn_recvs - how the receive of a message is completed, if its data are in memory */
enum bsn_recvs {
	BSN_RECVS_ANY,      /* anything, as in UD or under a lock */
	BSN_RECVS_COUNTED,  /* of a QP's own queue: their WQEs are counted */
	BSN_RECVS_LINKED,   /* of an SRQ: their WQEs are linked to the free ones */
	BSN_RECVS_IN_PLACE, /* as COUNTED, and the data are handed out where they are */
};

/**
 * struct bsn_route - the queues that complete under a number: of a QP, or of a queue without a send
 * side
 * @ring: of the send queue; NULL: it has none
 * @user: comes back in completions, but where there are many peers, or an SRQ of its own user
 * @rq: the receive queue, own or shared; NULL: none
 * @mask: bytes: the offset of a slot in @ring
 * @done: where the last send WQE known to be done begins; release-stored [O6]
 * @near_ds: BSN_NEAR_DS; 0: completions of this queue need more than the id in the block
 * @recvs: enum bsn_recvs
 */
struct bsn_route {
	const uint8_t *ring;
	void *user;
	struct bsn_rq *rq;
	uint32_t mask;
	uint16_t done;
	uint8_t near_ds;
	uint8_t recvs;
	uint64_t reserved;
};

#define BSN_CQ_HASH 0x9e3779u /* the golden section of 24 bits: Fibonacci hashing of a QPN */

/**
 * struct bsn_cq_entry - of an open-addressed table from numbers to routes
 * @key: the QPN, eight bits up; else none, whose low bits are not 0
 */
struct bsn_cq_entry {
	uint32_t key;
	uint32_t reserved;
	struct bsn_route *route;
};

struct bsn_cq_path;

/**
 * struct bsn_cq - what a poller knows of a completion queue
 * @next: the CQE proper (64 B) to be looked at next
 * @chunk_end: where the inline poll calls the library
 * @entries: the table
 * @stride: bytes: 64 or 128
 * @hash_shift: 32 less the logarithm of the entries
 * @phase: owner bit of a CQE that is ours
 * @dead: errno of a queue that died, else 0
 * @path: NULL: polls go straight to the ring
 */
struct bsn_cq {
	const uint8_t *next;
	const uint8_t *chunk_end;
	struct bsn_cq_entry *entries;
	uint64_t stride;
	uint8_t hash_shift;
	uint8_t phase;
	uint16_t dead;
	uint32_t reserved_small;
	const struct bsn_cq_path *path;
	uint64_t reserved[2];
};

BSN_HEADER_END

#endif
