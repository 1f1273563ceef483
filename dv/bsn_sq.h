/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn.h, which programs include.
 *
 * The send queue: slots, credits and publication. bsn_post_block.h builds WQEs of one or two blocks
 * in the program; the functions declared here build all others in the library.
 *
 * A post asks one question: is the slot after the limit, the last block that is known to be free?
 * It is, in all rare cases:
 *
 *	really full       what the poller saw done is read, and the post goes on or is refused
 *	the ring's end    the slot goes round
 *	closed            the queue is not connected, or in reset
 *	another path      plain verbs, checks: `path` is set
 *	many peers        for inline code only: the library's functions look at `room` instead
 *	a fence is owed   for inline code only
 *
 * bsn_sq_refill_for() and bsn_sq_post_request() tell these apart.
 *
 * Counters count basic blocks, modulo 2^16, as the device's do. Differences are taken forward and
 * are at most the size of the ring (32768 BBs).
 */
#ifndef BSN_SQ_H
#define BSN_SQ_H

#include <errno.h>
#include <stdbool.h>

#include "bsn_db.h"
#include "bsn_doorbell.h"

BSN_HEADER_BEGIN

/** enum bsn_publish - how a WQE is published while no other one waits for a doorbell */
enum bsn_publish {
	BSN_PUBLISH_8,            /* BlueFlame by 8 B stores; by 16 B ones of prepared requests */
	BSN_PUBLISH_16,           /* BlueFlame by 16 B stores */
	BSN_PUBLISH_DOORBELL,     /* 8-byte doorbell */
	BSN_PUBLISH_CALL,         /* by bsn_ring(): another store, a shared or a small register */
	BSN_PUBLISH_APPENDED = 8, /* a bit: something was appended before and is not published */
};

/** enum bsn_can - operations that not every queue has */
enum bsn_can {
	BSN_CAN_MASKED_4 = 1 << 2,
	BSN_CAN_MASKED_8 = 1 << 3,
	BSN_CAN_COPY = 1 << 4,
};

struct bsn_completion;
struct bsn_peer;
struct bsn_prepared;
struct bsn_request;
struct bsn_rq;
struct bsn_sq;

/** struct bsn_ep - where requests go: a QP with one peer, or a struct bsn_peer */
struct bsn_ep {
	struct bsn_sq *sq;
};

/**
 * struct bsn_peer - one of many peers of a queue (UD, DC, XRC)
 * @ep: first: an endpoint of a queue with many peers is its bsn_peer
 * @user: comes back in completions
 * @more: what follows @head in an address vector of three DS; may be shared by peers of a host
 * @ctrl_bits: what it adds to word 1 of the control segment, as it lies in memory: the DCI stream
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
 * What a function of the library posts, in one register:
 *	7:0 opcode   17:8 flags   31:18 number of SGEs; for bsn_sq_post_inline() bytes of its data
 */
#define BSN_WHAT_COUNT_SHIFT 18
#define BSN_WHAT_COUNT_MAX   0x3fff /* also means all larger counts: no queue takes so many */
#define BSN_WHAT_FLAGS       0x3ff00u
#define BSN_WHAT_BAD_FLAG    0x100u /* set for any flag that is not among them */
#define BSN_WHAT(opcode, flags, count)                                                             \
	((uint32_t)(opcode) | ((flags) & BSN_WHAT_FLAGS) |                                         \
	 ((flags) & ~BSN_WHAT_FLAGS ? BSN_WHAT_BAD_FLAG : 0) |                                     \
	 (uint32_t)(count) << BSN_WHAT_COUNT_SHIFT)

/**
 * struct bsn_sq_path - takes the place of the functions that post, ring and cancel, of a queue that
 * has no ring (plain verbs), or whose posts are looked at first (checks); the queue is open
 * @room: requests that would be taken now
 * @bind: brings the endpoint to another queue, which has room: 0 or a negative errno, with words.
 *	NULL: this one stands for no other
 */
struct bsn_sq_path {
	int (*post)(struct bsn_ep *ep, const struct bsn_request *r);
	int (*ring)(struct bsn_sq *sq);
	int (*cancel)(struct bsn_sq *sq);
	uint32_t (*room)(struct bsn_sq *sq);
	int (*bind)(struct bsn_ep *ep);
};

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
 * @ids: of requests whose id is not in their block; see struct bsn_sq
 * @user: comes back in completions, but where there are many peers, or an SRQ of its own user
 * @rq: the receive queue, own or shared; NULL: none
 * @sq: the send queue whose poller's line this is; NULL: none
 * @first_error: where to keep the first failure; NULL: nowhere
 * @mask: bytes: the offset of a slot in @ring
 * @done: where the last send WQE known to be done begins
 * @flushed: of a queue that failed, and reports only its first error: requests before this index
 *	were reported
 * @near_ds: BSN_NEAR_DS; 0: completions of this queue need more than the id in the block
 * @recvs: enum bsn_recvs; bsn_cq_add() sets it
 * @gives_data: data that were received are handed out where they are, in the CQE or in memory
 * @transport: enum bsn_transport
 * @has_failed: a send request failed
 * @has_peers: of the send queue
 * @has_hidden: some completions of the send queue are the library's own
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
	uint8_t near_ds;
	uint8_t recvs;
	uint8_t gives_data;
	uint8_t transport;
	uint8_t has_failed;
	uint8_t has_peers;
	uint8_t has_hidden;
	uint8_t has_error;
};

/**
 * struct bsn_sq_owner - is told of each failure of a queue before the program is
 * @failed: in a poll of its CQ. Return: whether the program is told, too
 */
struct bsn_sq_owner {
	bool (*failed)(struct bsn_sq_owner *owner, struct bsn_completion *c);
};

/**
 * struct bsn_sq - hot state of a send queue
 *
 * A poster and a poller may be different threads. The poller release-stores @route.done, and the
 * poster acquire-reads it when its credits run out [O6]: that hands blocks back, with their ids and
 * their bytes in @hidden. The WQE itself has its number of blocks, so nothing records it.
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
 * @ctrl_carry: the carry of @pi, at a ring's end; the cold way clears it
 * @last: of the last WQE that was not published at once: the low half of its address
 * @quiet: unsignaled posts until the library signals one
 * @ce_quiet: ce of an unsignaled WQE, as in enum bsn_flags, but eight bits down
 * @can: enum bsn_can
 * @publish: enum bsn_publish
 * @ops: opcodes that it takes, a bit each, but for @held_ops
 * @ids: see bsn_id_of() and bsn_peer_ids()
 * @max_inline: bytes; mlx5: BSN_DS_INLINE_MAX or more
 * @bb_mask: blocks in the ring, less one
 * @max_ds: of one WQE
 * @has_peers: its endpoints are struct bsn_peer
 * @transport: enum bsn_transport
 * @store: enum bsn_store
 * @signal_every: 0: never by itself
 * @has_big_endian_results: of atomics of 8 bytes, in memory
 * @gives_results: results of READs and atomics are handed out where they are
 * @hidden: one a slot: enum bsn_hidden of the WQE that begins there
 * @capacity_bb: blocks that may be outstanding: what the CQ has room for
 * @path: NULL: posts go straight to the ring
 * @route: the poller's line
 * @seen_done: @route.done, when @retired was computed last
 * @retired: blocks before this one are free
 * @next_fence: enum bsn_fence that the next WQE owes
 * @closed: errno of posts to a queue that is not open; 0: it is
 * @wide_pi: @pi modulo 2^32, brought up to date once a lap at least
 * @count_full: posts refused for want of room
 * @max_copy: bytes of one that the NIC makes
 * @count_doorbells: of 8 bytes
 * @count_rung: bytes of blocks published by those; all others were by BlueFlame
 * @held_ops: opcodes that only its path takes
 * @owner: NULL: none
 */
struct bsn_sq {
	/* the poster's line */
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

	/* constants of the poster */
	uint64_t ops __attribute__((aligned(64)));
	uintptr_t ids;
	uint32_t max_inline;
	uint32_t bb_mask;
	uint8_t max_sge;
	uint8_t max_ds;
	uint8_t has_peers;
	uint8_t transport;
	uint8_t store;
	uint8_t signal_every;
	uint8_t has_big_endian_results;
	uint8_t gives_results;
	uint8_t *ring_end;
	uint8_t *ring;
	uint8_t *hidden;
	uint32_t capacity_bb;
	uint32_t qpn;
	const struct bsn_sq_path *path;

	struct bsn_route route __attribute__((aligned(64)));

	/* the poster's, rare */
	uint16_t seen_done __attribute__((aligned(64)));
	uint16_t retired;
	uint8_t next_fence;
	uint16_t closed;
	const char *closed_why;
	uint32_t wide_pi;
	uint32_t count_full;
	uint32_t max_copy;
	uint64_t count_doorbells;
	uint64_t count_rung;
	uint64_t held_ops;
	struct bsn_sq_owner *owner;
};

#define BSN_NEAR_DS    3  /* a block has room for an id after so many units */
#define BSN_NEAR_ID_AT 56 /* where */

/* Of a WQE that a queue takes: mlx5 counts to 63, and peers stop at 60 (UCX ib_mlx5.h). */
#define BSN_SEND_MAX_DS 60

/* Bytes of inline data that fit wherever a data pointer does. */
#define BSN_DS_INLINE_MAX (BSN_DS_SIZE - BSN_INLINE_HDR_SIZE)

/* -- the functions of the library -------------------------------------------------------------- */

/**
 * bsn_sq_post_sgl - any message or RDMA request of SGEs: every count, peer and wrap
 * @what: BSN_WHAT(); the opcode is below 64
 * @remote: not read where the opcode has no remote address
 *
 * Context: the queue's poster. Does not allocate or block.
 * Return: 0; -EAGAIN no room; -EMSGSIZE too many SGEs or bytes; -EOPNOTSUPP not on this transport,
 * device or path; -EINVAL unknown flags; -ENOTCONN the queue is not connected. Unless 0 nothing
 * counts, and bsn_error_text() says why. @ep is not NULL: inline code looks where it can, and
 * leaves NULL to bsn_post().
 */
BSN_API int bsn_sq_post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			    const struct bsn_remote *remote, uint32_t imm, uint64_t id);

/** bsn_sq_post_inline - the same of one piece of data that is copied now; its length is in @what */
BSN_API int bsn_sq_post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
			       const struct bsn_remote *remote, uint32_t imm, uint64_t id);

/**
 * bsn_post - any request: several SGEs, inline data from several pieces, a layout, every opcode
 *
 * Order, context and return value are those of all posts: bsn_post.h.
 */
BSN_API int bsn_post(struct bsn_ep *ep, const struct bsn_wr *wr);

/**
 * bsn_prepare - encodes a request, but for what depends on its place in a queue
 * @ep: an endpoint of the transport
 * @wr: the request; its id and flags are given at each post, BSN_F_INLINE excepted
 * @p: the result; keeps nothing of @wr, and holds the inline data
 * Return: 0; -EMSGSIZE where body and control segment do not fit one block; as bsn_sq_post_sgl().
 */
BSN_API int bsn_prepare(struct bsn_ep *ep, const struct bsn_wr *wr, struct bsn_prepared *p);

/** bsn_sq_post_prepared - bsn_post_prepared() of whatever the inline code leaves */
BSN_API int bsn_sq_post_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id,
				 unsigned flags);

/**
 * bsn_ring - publishes everything that was appended to an endpoint's queue
 * @ep: of a queue of many peers any of its endpoints. One of a DC pool that no initiator is bound
 *	to has nothing to publish.
 *
 * Order: O1, O2, O3.
 * Return: 0; -EINVAL no endpoint; on plain verbs what the provider said, as -errno.
 */
BSN_API int bsn_ring(struct bsn_ep *ep);

/**
 * bsn_ring_many - bsn_ring() of the queues of several endpoints, which share the barriers
 * @eps: one thread posts to all of them; a queue may be named twice
 * @count: how many; 0 does nothing
 *
 * Up to 32 queues cost two barriers that wait for the stores to leave the CPU, and one more for
 * each two of them that share a lane. Alone, each costs two.
 *
 * Order: O1, O2, O3, once for each 32; all records before all doorbells; no order between queues.
 * Return: 0; -EINVAL a NULL among them, and none was rung; on plain verbs the first error of
 * bsn_ring(), and all others were rung.
 */
BSN_API int bsn_ring_many(struct bsn_ep *const *eps, unsigned count);

/**
 * bsn_cancel - takes back everything appended to an endpoint's queue and not published; it never
 * completes
 * Return: 0; -EINVAL no endpoint; -EBUSY an mkey's configuration is among it, which has to be rung;
 * -EOPNOTSUPP the initiator of a DC pool with streams, whose queue has other peers' requests.
 */
BSN_API int bsn_cancel(struct bsn_ep *ep);

/**
 * bsn_room - requests, however long, that an endpoint's queue would take now
 *
 * 0 also without an endpoint, and where no initiator of the pool is bound to it.
 * Context: the queue's poster.
 */
BSN_API uint32_t bsn_room(struct bsn_ep *ep);

/**
 * bsn_sq_publish - publishes the WQE of @bytes, whole blocks, that ends at the slot, and all before
 * it
 * Order: O1, O2, O3.
 * Return: 0
 */
BSN_API int bsn_sq_publish(struct bsn_sq *sq, size_t bytes);

/**
 * bsn_sq_end_turn - ends an unsignaled post whose turn it is to be signaled by the library
 * @bytes: of its blocks; slot and index are after them, and nothing of it was published
 * @flags: of the post
 * Order: with BSN_F_RING O1, O2, O3.
 * Return: as bsn_ring()
 */
BSN_API int bsn_sq_end_turn(struct bsn_sq *sq, size_t bytes, uint32_t flags);

/*
 * Whether there is no endpoint or queue at all. A look costs two instructions a request, so the
 * inline code looks only where the compiler knows. Code compiled with BSN_CHECK_NULL always looks,
 * and so do the symbols of the library.
 */
#ifdef BSN_CHECK_NULL
#define BSN_IS_NULL(object) BSN_UNLIKELY(!(object))
#else
#define BSN_IS_NULL(object) (__builtin_constant_p(!(object)) && !(object))
#endif

/*
 * Of each slot of 64 B, 8 are kept: the id. Where the queue has many peers, 16: the user pointer,
 * too.
 */
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

/* -- credits ----------------------------------------------------------------------------------- */

/* Sets the last block that is free, in one piece with the slot; one below the slot: none is. */
BSN_ALWAYS_INLINE void bsn_sq_set_room(struct bsn_sq *sq, uint8_t *last)
{
	sq->room = last;
	sq->limit = sq->has_peers ? NULL : last;
}

BSN_ALWAYS_INLINE uint32_t bsn_sq_visible_bb(const struct bsn_sq *sq)
{
	return sq->room >= sq->slot ? (uint32_t)(sq->room - sq->slot) / BSN_BB_SIZE + 1 : 0;
}

/* -- publication ------------------------------------------------------------------------------- */

/* Moves the index on by @bytes of blocks. It lies in the next control segment. */
BSN_ALWAYS_INLINE void bsn_sq_advance(struct bsn_sq *sq, size_t bytes)
{
	const struct bsn_ctrl one = { .wqe_index = 1 };

	sq->ctrl_next += bsn_ctrl_word(&one, 0) / BSN_BB_SIZE * bytes;
}

/* The last WQE, at @wqe, is not published now: bsn_ring() will do it. */
BSN_ALWAYS_INLINE int bsn_sq_append(struct bsn_sq *sq, const uint8_t *wqe)
{
	sq->last = (uint32_t)(uintptr_t)wqe;
	sq->publish |= BSN_PUBLISH_APPENDED;
	return 0;
}

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
