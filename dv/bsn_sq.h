/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue: slots, credits and publication. bsn_build.h puts WQEs into the slots.
 *
 * The inline code asks one question: does the slot come after the limit, the last block that is known to be
 * free? A limit of 0 says yes, in all rare cases:
 *
 *	really full            what the poller saw done is read, and the post goes on or is refused
 *	the ring's end         the slot goes round
 *	a fence is owed        `next_fence` is set
 *	closed                 the queue is not connected, or in reset
 *	plain verbs            the queue never has credits here, and @posts names functions of its own
 *	another kind of peer   queues with one peer have a `limit`, those with many a `peer_limit`
 *
 * The cold functions tell these apart.
 *
 * Counters count basic blocks, modulo 2^16, as the device's do. Differences are taken forward and are
 * at most the size of the ring (32768 BBs).
 */
#ifndef BSN_SQ_H
#define BSN_SQ_H

#include <errno.h>
#include <stdbool.h>

#include "bsn_db.h"
#include "bsn_doorbell.h"

BSN_HEADER_BEGIN

/** enum bsn_publish - how the inline code publishes a WQE; from BSN_PUBLISH_COLD on it does not */
enum bsn_publish {
	BSN_PUBLISH_8,             /* BlueFlame by 8 B stores; 16 B of what is in a vector register */
	BSN_PUBLISH_16,            /* BlueFlame by 16 B stores */
	BSN_PUBLISH_DOORBELL,      /* 8-byte doorbell */
	BSN_PUBLISH_COLD,          /* another store, or a shared register */
	BSN_PUBLISH_APPENDED = 8,  /* a bit: something was appended before and is not published yet */
	BSN_PUBLISH_LONG = 16,     /* a bit: the WQE at hand is too long for BlueFlame; never stays */
};

/** enum bsn_can - operations that not every queue has */
enum bsn_can {
	BSN_CAN_READ = 1 << 0,
	BSN_CAN_ATOMIC = 1 << 1,
	BSN_CAN_MASKED_4 = 1 << 2,
	BSN_CAN_MASKED_8 = 1 << 3,
	BSN_CAN_COPY = 1 << 4,
};

struct bsn_completion;
struct bsn_peer;
struct bsn_prepared;
struct bsn_rq;
struct bsn_sq;
struct bsn_sq_body;

/** struct bsn_ep - where requests go: a QP with one peer, or a struct bsn_peer */
struct bsn_ep {
	struct bsn_sq *sq;
};

/**
 * struct bsn_peer - one of many peers of a queue (UD, DC, XRC)
 * @ep: first: an endpoint of a queue with many peers is its bsn_peer
 * @user: comes back in completions
 * @more: what follows @head in an address vector of three DS; may be shared by peers of a host
 * @ctrl_bits: of word 1 of the control segment of a signaled request, as they lie in memory: ce, and the DCI stream
 * @prefix_ds: units of 16 B between the control segment and the rest: 1 or 3
 * @head: the first of them
 */
struct bsn_peer {
	struct bsn_ep ep;
	void *user;
	const void *more;
	uint32_t ctrl_bits;
	uint8_t prefix_ds;
	uint8_t reserved[3];
	bsn_v2 head;
};

/**
 * What a cold function posts, in one register:
 *	7:0 opcode   17:8 flags   31:18 number of SGEs, or bytes of one piece of inline data
 */
#define BSN_WHAT_COUNT_SHIFT 18
#define BSN_WHAT_COUNT_MAX   0x3fff /* also means all larger counts: no queue takes so many */
#define BSN_WHAT_FLAGS       0x3ff00u
#define BSN_WHAT_BAD_FLAG    0x100u /* no flag: means one of those that have no room there */
#define BSN_WHAT(opcode, flags, count)                                                             \
	((uint32_t)(opcode) | ((flags) & BSN_WHAT_FLAGS) |                                         \
	 ((flags) & ~BSN_WHAT_FLAGS ? BSN_WHAT_BAD_FLAG : 0) |                                     \
	 (uint32_t)(count) << BSN_WHAT_COUNT_SHIFT)

/* The row of a request in struct bsn_sq_posts: opcodes of the inline code differ in these bits. */
#define BSN_POST_ROWS 16
#define BSN_POST_ROW(opcode, flags)                                                                \
	(((opcode) & 3u) | ((opcode) >> 1 & 4u) | ((flags) & BSN_F_RING ? BSN_POST_ROWS / 2 : 0))

/**
 * struct bsn_sq_posts - functions for requests that the inline code does not build, by operation, and
 * by whether they ring
 * @one: of one SGE, with no flags but BSN_F_SIGNALED, which it has, and BSN_F_RING
 * @sgl: of a list, of any flags
 * @piece: of one piece of inline data
 * @atomic: any atomic
 *
 * All of them take whatever the functions bsn_sq_post_*() take, but for NULL.
 */
struct bsn_sq_posts {
	int (*one[BSN_POST_ROWS])(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
				  const struct bsn_remote *remote, uint32_t imm, uint64_t id);
	int (*sgl[BSN_POST_ROWS])(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
				  const struct bsn_remote *remote, uint32_t imm, uint64_t id);
	int (*piece[BSN_POST_ROWS])(struct bsn_ep *ep, uint32_t what, const void *data,
				    const struct bsn_remote *remote, uint32_t imm, uint64_t id);
	int (*atomic)(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		      const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id);
};

/**
 * struct bsn_sq_path - what a queue without rings of its own (plain verbs), or whose posts are looked at first, does in
 * the place of the functions bsn_sq_*() of the same names; requests were not looked at yet
 * @post_body, @post_piece: bsn_ep_post_body(), bsn_sq_post_piece(); NULL: as a queue without a path
 */
struct bsn_sq_path {
	int (*post_sgl)(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			const struct bsn_remote *remote, uint32_t imm, uint64_t id);
	int (*post_inline)(struct bsn_ep *ep, uint32_t what, const void *data,
			   const struct bsn_remote *remote, uint32_t imm, uint64_t id);
	int (*post_atomic)(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			   const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id);
	int (*ring)(struct bsn_sq *sq);
	int (*cancel)(struct bsn_sq *sq);
	uint32_t (*room)(struct bsn_sq *sq); /* requests that would be taken now */
	int (*post_prepared)(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags);
	int (*post_body)(struct bsn_ep *ep, const struct bsn_sq_body *body, uint64_t id);
	int (*post_piece)(struct bsn_ep *ep, uint64_t w1, const struct bsn_remote *remote, uint64_t w0,
			  uint64_t what, uint64_t id);
};

/** enum bsn_recv_more - what a receive of a route needs besides being counted */
enum bsn_recv_more {
	BSN_RECV_FINISHES = 1 << 0, /* of UD, of a shared receive queue, or of none */
	BSN_RECV_GIVES = 1 << 1,    /* its data are handed out where they are, in the CQE or in memory */
	/* An own queue that gives has the kind of what comes in its CQEs instead, which has neither bit. */
};

/** enum bsn_sends_more - what completions of a send queue need besides */
enum bsn_sends_more {
	BSN_SENDS_HIDDEN = 1 << 0, /* some are the library's own */
	BSN_SENDS_GIVE = 1 << 1,   /* results of READs and atomics are handed out where they are */
};

/**
 * struct bsn_route - the queues that complete under a number: of a QP, or of a queue without a send
 * side
 * @ring: of the send queue; NULL: it has none
 * @ids: of requests whose id is not in their block; see struct bsn_sq
 * @user: comes back in completions, but where there are many peers, or an SRQ of its own user
 * @rq: the receive queue, own or shared; NULL: none
 * @sq: the send queue whose poller's line this is; NULL: none
 * @first_error: where to keep the first failure; NULL: nowhere
 * @mask: bytes: the offset of a slot in @ring
 * @done: where the last send WQE known to be done begins
 * @flushed: of a queue that failed, and reports only its first error: requests before this index
 *	were reported
 * @far_mask: bits of a send WQE's DS byte that send its completion the far way
 * @recv_far_mask: bits of a receive's kind that do the same: BSN_RECV_FAR_BITS, or without a receive
 *	queue BSN_RECV_FAR_ALL, or where data are handed out; bsn_cq_add() sets it
 * @recv_more: enum bsn_recv_more; bsn_cq_add() sets it, except BSN_RECV_GIVES, which must be set before
 * @transport: enum bsn_transport
 * @has_failed: a send request failed
 * @has_peers: of the send queue
 * @has_hidden: enum bsn_sends_more of the send queue
 * @has_error: @first_error was written, or is being so: two CQs may have a poller each
 */
struct bsn_route {
	const uint8_t *ring;
	const uint64_t *ids;
	void *user;
	struct bsn_rq *rq;
	struct bsn_sq *sq;
	struct bsn_completion *first_error;
	uint32_t mask;
	uint16_t done;
	uint16_t flushed;
	uint8_t far_mask;
	uint8_t recv_far_mask;
	uint8_t recv_more;
	uint8_t transport;
	uint8_t has_failed;
	uint8_t has_peers;
	uint8_t has_hidden;
	uint8_t has_error;
};

/**
 * struct bsn_sq - hot state of a send queue
 *
 * A poster and a poller on different threads share only @route.done, release-stored by the poller
 * and acquire-read by the poster when its credits run out [O6]; the WQE itself has its number of
 * blocks, so nothing records it.
 *
 * The id of a WQE of up to BSN_NEAR_DS units is in the last 8 bytes of its block, which the device
 * does not read. The id of a longer WQE is in @ids, by the slot of its first block. A queue with many
 * peers has all ids there, and the peer's user pointer beside each.
 */
struct bsn_sq {
	/* the poster's line */
	struct bsn_ep ep;         /* of a queue with one peer */
	uint8_t *slot;            /* where the next WQE begins; not NULL, without a ring either */
	uint8_t *limit;           /* the last block that is free, in one piece with it; below it: none is */
	uint8_t *peer_limit;      /* the same of a queue with many peers */
	struct bsn_be32 *record;  /* SQ word of the doorbell record */
	struct bsn_lane *lane;
	union {
		uint64_t ctrl_next; /* word 0 of the next control segment, host order: @pi, the QPN */
		struct __attribute__((packed)) {
			uint8_t ctrl_low[5];
			uint16_t pi; /* next free BB */
			uint8_t ctrl_carry; /* the carry of @pi, at a ring's end; the cold way clears it */
		};
	};
	uint32_t last;            /* address of the last WQE that was not published at once, its low half */
	uint8_t quiet;            /* unsignaled posts until the library signals one */
	uint8_t ce_quiet;         /* ce of an unsignaled WQE, as in enum bsn_flags but eight bits down; see bsn_ctrl1() */
	uint8_t can;              /* enum bsn_can */
	uint8_t publish;          /* enum bsn_publish */

	/* constants of the poster */
	uint8_t *ring_end __attribute__((aligned(64)));
	uint8_t *inline_limit;      /* as @limit, of slots where inline data of any usual length fit; see bsn_sq_set_limit() */
	uint8_t *peer_inline_limit; /* the same of a queue with many peers */
	uint64_t ops;             /* opcodes that it takes, a bit each */
	uintptr_t ids;            /* see bsn_id_of() and bsn_peer_ids() */
	uint32_t bb_mask;         /* BBs in the ring, less one */
	uint32_t put_inline;      /* bytes that the inline code may put: @max_inline; 0 on plain verbs */
	uint8_t max_sge;
	uint8_t read_sge;         /* SGEs of a READ: @max_sge, or 0 if it takes none */
	uint8_t write_sge;        /* the same of a WRITE */
	uint8_t max_ds;           /* of one WQE */
	uint8_t signal_every;     /* 0: never by itself */
	uint8_t transport;        /* enum bsn_transport */
	uint8_t store;            /* enum bsn_store */
	uint8_t has_peers;        /* its endpoints are struct bsn_peer */
	uint32_t peer_straight;   /* as @inline_straight, of those for which bsn_units.h has functions */
	uint32_t inline_straight; /* lengths from BSN_INLINE_STRAIGHT_MIN on that straight code may copy */
	uint8_t *hidden;          /* one a slot: the library signaled the WQE that begins there */
	uint32_t max_inline;      /* bytes; mlx5: BSN_DS_INLINE_MAX or more */
	uint32_t capacity_bb;     /* blocks that may be outstanding: what the CQ has room for */
	uint8_t has_big_endian_results; /* of atomics of 8 bytes, in memory */
	uint8_t gives_results;    /* BSN_SENDS_GIVE, or 0 */
	const struct bsn_sq_posts *posts; /* never NULL */
	const struct bsn_sq_path *path; /* NULL: mlx5 */
	uint8_t *ring;
	uint32_t qpn;
	uint32_t inline_more;     /* bytes from @inline_limit to @limit, or from @peer_inline_limit to @peer_limit */

	struct bsn_route route __attribute__((aligned(64))); /* the poller's line */

	/* the poster's, rare */
	uint16_t seen_done __attribute__((aligned(64))); /* @done, when @retired was last computed */
	uint16_t retired;         /* BBs before this one are free */
	uint8_t next_fence;       /* enum bsn_fence owed by the next WQE */
	uint16_t closed;          /* errno of posts to a queue that is not open; 0: it is */
	const char *closed_why;
	uint32_t wide_pi;         /* @pi modulo 2^32, brought up to date once a lap at least */
	uint32_t count_full;      /* posts refused for want of room */
	uint32_t max_copy;        /* bytes of one that the NIC makes */
	uint64_t count_doorbells; /* 8-byte doorbells */
	uint64_t count_rung;      /* bytes of blocks published by those; all others were by BlueFlame */
	uint8_t *fenced_limit;    /* @limit would be here if no fence were owed; 0: none is */
	uint64_t held_ops;        /* opcodes that it takes, too, by its path only */
};

#define BSN_NEAR_DS    3  /* a block has room for an id after so many units */
#define BSN_NEAR_ID_AT 56 /* where */

/* Bits of a WQE's byte 7, its DS, that say that it has more. */
#define BSN_FAR_BITS 0x3c
#define BSN_FAR_ALL  0x3f /* of queues whose ids are all in @ids, or that have hidden completions */

/* Bits of a receive's kind, as in bsn_cq.h, that say that the inline poll does not know it. */
#define BSN_RECV_FAR_BITS 0xcd
#define BSN_RECV_FAR_ALL  0xff

/* Of a WQE that a queue takes: mlx5 counts to 63, and peers stop at 60 (UCX ib_mlx5.h). */
#define BSN_SEND_MAX_DS 60

/* Bytes of inline data that fit wherever a data pointer does. */
#define BSN_DS_INLINE_MAX (BSN_DS_SIZE - BSN_INLINE_HDR_SIZE)

/* Straight code copies as many whole DS after the first, and data of this length; a loop copies more. */
#define BSN_INLINE_STRAIGHT_DS 15
#define BSN_INLINE_STRAIGHT_MIN (BSN_DS_INLINE_MAX + BSN_DS_SIZE + 1)
#define BSN_INLINE_STRAIGHT    (BSN_DS_INLINE_MAX + (BSN_INLINE_STRAIGHT_DS + 1) * BSN_DS_SIZE)

/* -- the cold functions ------------------------------------------------------------------------- */

/**
 * bsn_sq_post_sgl - any message or RDMA request: every SGE count, inline length, peer and wrap
 * @what: BSN_WHAT(); with BSN_F_INLINE the SGEs are plain pointers
 * @remote: not read where the opcode has no remote address
 *
 * Context: the queue's poster. Does not allocate or block.
 * Return: 0; -EAGAIN no room; -EMSGSIZE too many SGEs or bytes; -EOPNOTSUPP not on this transport,
 * device or path; -EINVAL no endpoint, unknown flags; -ENOTCONN the queue is not connected. Unless 0
 * nothing was written, and bsn_error_text() says why.
 */
BSN_API int bsn_sq_post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			    const struct bsn_remote *remote, uint32_t imm, uint64_t id);

/** bsn_sq_post_inline - bsn_sq_post_sgl() of one piece of inline data; its length is in @what */
BSN_API int bsn_sq_post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
			       const struct bsn_remote *remote, uint32_t imm, uint64_t id);

/**
 * bsn_sq_post_piece - bsn_sq_post_sgl() or bsn_sq_post_inline() of data whose DS was built already
 * @w0, @w1: the DS as it lies in memory: a data pointer, or inline data
 * @what: BSN_WHAT(), and the immediate above it
 */
BSN_API int bsn_sq_post_piece(struct bsn_ep *ep, uint64_t w1, const struct bsn_remote *remote,
			      uint64_t w0, uint64_t what, uint64_t id);

/** bsn_sq_post_atomic - operands: swap or add, compare */
BSN_API int bsn_sq_post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			       const struct bsn_remote *remote, const uint64_t operand[2],
			       uint64_t id);

/** bsn_sq_post_wr - any request */
BSN_API int bsn_sq_post_wr(struct bsn_ep *ep, const struct bsn_wr *wr);

/**
 * bsn_prepare - encodes a request, but for what depends on its place in a queue
 * @ep: an endpoint of the transport
 * @wr: the request; its id and flags are given at each post, BSN_F_INLINE excepted
 * @p: the result; keeps nothing of @wr, and holds the inline data
 * Return: 0; -EMSGSIZE where body and control segment do not fit one block; as bsn_sq_post_sgl().
 */
BSN_API int bsn_prepare(struct bsn_ep *ep, const struct bsn_wr *wr, struct bsn_prepared *p);

/** bsn_sq_post_prepared - bsn_post_prepared() by the long way */
BSN_API int bsn_sq_post_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id,
				 unsigned flags);

/**
 * bsn_sq_ring - publishes everything appended so far
 * Order: O1, O2, O3.
 * Return: 0; -EINVAL no queue; plain verbs: what ibv_post_send() said, as -errno.
 */
BSN_API int bsn_sq_ring(struct bsn_sq *sq);

/**
 * bsn_sq_ring_many - publishes everything appended so far to @count queues
 *
 * In groups of 32. A queue whose lane has a lock, or without a ring, is published by itself, after the others.
 * Order: O1, O2, O3, once a group; O3 once more for each two queues of one lane.
 * Return: 0; -EINVAL one of them is NULL, and none was published; plain verbs: the first error of bsn_sq_ring(), and
 * all others were published.
 */
BSN_API int bsn_sq_ring_many(struct bsn_sq *const *sqs, unsigned count);

/**
 * bsn_sq_cancel - takes back everything appended and not published
 * Return: 0; -EINVAL no queue; -EBUSY a UMR is among it, and what it configures counts on it; -EOPNOTSUPP an
 * initiator of a DC pool with streams, where some of it may be another peer's.
 */
BSN_API int bsn_sq_cancel(struct bsn_sq *sq);

/**
 * bsn_sq_publish_bb - publishes everything appended; the last WQE is one block, in registers
 *
 * Vectors, so that wide stores need not load what narrow ones have just stored.
 */
BSN_API void bsn_sq_publish_bb(struct bsn_sq *sq, bsn_v2 w01, bsn_v2 w23, bsn_v2 w45, bsn_v2 w67);

/**
 * bsn_sq_append_turn - ends an unsignaled post whose turn it is to be signaled by the library
 * @bytes: of its blocks; slot and index are after them, and nothing of it was published
 * Return: 0
 */
BSN_API int bsn_sq_append_turn(struct bsn_sq *sq, size_t bytes);

/**
 * bsn_sq_publish_turn - the same of one that rings
 * Order: O1, O2, O3.
 * Return: as bsn_sq_ring()
 */
BSN_API int bsn_sq_publish_turn(struct bsn_sq *sq, size_t bytes);

/** bsn_sq_outstanding_bb - blocks appended and not yet retired, rung or not; the poster's thread */
BSN_API uint32_t bsn_sq_outstanding_bb(struct bsn_sq *sq);

/**
 * bsn_sq_give_back - flushes what will never have a CQE: unsignaled work after the last signaled
 * request of a failed queue that was made to report only the first error (BSN_CE_ON_FIRST_ERROR)
 *
 * What is only appended stays until it is rung.
 * Return: how many completions were stored.
 */
BSN_API int bsn_sq_give_back(struct bsn_sq *sq, struct bsn_completion *c, int n);

/** bsn_sq_count_blueflame - blocks published by BlueFlame so far, modulo 2^32 */
BSN_API uint32_t bsn_sq_count_blueflame(const struct bsn_sq *sq);

/*
 * Whether there is no endpoint or queue at all. A look costs two instructions a request, so the inline
 * code looks only where the compiler knows. Code compiled with BSN_CHECK_NULL always looks, and so do
 * the symbols of the library.
 */
#ifdef BSN_CHECK_NULL
#define BSN_IS_NULL(object) BSN_UNLIKELY(!(object))
#else
#define BSN_IS_NULL(object) (__builtin_constant_p(!(object)) && !(object))
#endif

/* What is kept of a slot takes an eighth of its bytes; of one with many peers, whose user pointer is kept, too, a quarter. */
BSN_ALWAYS_INLINE uintptr_t bsn_ids_at(const uint8_t *slot, bool has_peers)
{
	return (uintptr_t)slot >> (has_peers ? 2 : 3);
}

/* Of a queue with one peer: the id of what is in a slot. */
BSN_ALWAYS_INLINE uint64_t *bsn_id_of(const struct bsn_sq *sq, const uint8_t *slot)
{
	return (uint64_t *)(sq->ids + bsn_ids_at(slot, false));
}

/* Of a queue with many peers: the id and the user pointer of what is in a slot. */
BSN_ALWAYS_INLINE uint64_t *bsn_peer_ids(const struct bsn_sq *sq, const uint8_t *slot)
{
	return (uint64_t *)(sq->ids + bsn_ids_at(slot, true));
}

/* -- credits ------------------------------------------------------------------------------------ */

/*
 * Whether blocks of so many @bytes are free, in one piece, of which the last one may be at @limit: they are, most often;
 * or more often than not; or hardly more often.
 */
#define BSN_FITS(name, likely)                                                                     \
	BSN_ALWAYS_INLINE bool name(const struct bsn_sq *sq, const uint8_t *limit, size_t bytes)   \
	{                                                                                          \
		if (__builtin_constant_p(bytes) && bytes == BSN_BB_SIZE)                           \
			return likely(sq->slot <= limit);                                          \
		if (__builtin_constant_p(bytes) && bytes == 2 * BSN_BB_SIZE)                       \
			return likely(sq->slot < limit);                                           \
		return likely(sq->slot + (bytes - BSN_BB_SIZE) <= limit);                          \
	}
BSN_FITS(bsn_fits, BSN_LIKELY)
BSN_FITS(bsn_fits_often, BSN_OFTEN)
BSN_FITS(bsn_fits_evenly, BSN_EVENLY)
#undef BSN_FITS

/*
 * Sets the last block that is free, in one piece with the slot. For inline data of a length that the compiler does not
 * know there is a second limit, before it: so whether they fit is asked once, before the length is looked at.
 */
BSN_ALWAYS_INLINE void bsn_sq_set_limit(struct bsn_sq *sq, bool has_peers, uint8_t *limit)
{
	if (has_peers) {
		sq->peer_limit = limit;
		sq->peer_inline_limit = limit - sq->inline_more;
	} else {
		sq->limit = limit;
		sq->inline_limit = limit - sq->inline_more;
	}
}

/* No block is free, as far as the inline code knows. */
BSN_ALWAYS_INLINE void bsn_sq_clear_limits(struct bsn_sq *sq)
{
	sq->limit = sq->inline_limit = NULL;
	sq->peer_limit = sq->peer_inline_limit = NULL;
}

/* Whether the inline code may go on with a queue of one peer. */
BSN_ALWAYS_INLINE bool bsn_sq_has_room(struct bsn_sq *sq, size_t bytes)
{
	return bsn_fits(sq, sq->limit, bytes);
}

/*
 * Whether a queue of many peers has room for a block. It is asked after the compare for one peer has
 * failed: what follows stays apart from code that is not to do with peers.
 */
BSN_ALWAYS_INLINE bool bsn_has_peer_room(const struct bsn_sq *sq)
{
	return BSN_UNLIKELY(sq->slot <= sq->peer_limit);
}

BSN_ALWAYS_INLINE uint32_t bsn_sq_visible_bb(const struct bsn_sq *sq)
{
	const uint8_t *limit = sq->has_peers ? sq->peer_limit : sq->limit;

	return limit >= sq->slot ? (uint32_t)(limit - sq->slot) / BSN_BB_SIZE + 1 : 0;
}

/* -- publication -------------------------------------------------------------------------------- */

/* What comes before the stores into the lane's register: O1, O2. */
BSN_ALWAYS_INLINE struct bsn_lane *bsn_sq_open_register(struct bsn_sq *sq)
{
	bsn_to_device(); /* O1 */
	bsn_store_index(sq->record, sq->pi);
	bsn_wc_start(); /* O2 */
	return sq->lane;
}

BSN_ALWAYS_INLINE void bsn_sq_close_register(struct bsn_lane *lane, uint8_t *reg)
{
	bsn_wc_flush(); /* O3 */
	bsn_lane_toggle(lane, reg);
}

BSN_HEADER_END

#endif
