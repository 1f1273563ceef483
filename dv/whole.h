/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues whole: what inline code sees of them (bsn_hot.h) comes first, so a pointer to that is
 * one to the whole. What is here may change with each version. Private to the library.
 */
#ifndef DV_WHOLE_H
#define DV_WHOLE_H

#include "bsn_cq.h"
#include "bsn_sq.h"

struct bsn_completion;
struct bsn_peer;
struct bsn_request;

/** enum bsn_can - operations that not every queue has */
enum bsn_can {
	BSN_CAN_MASKED_4 = 1 << 2,
	BSN_CAN_MASKED_8 = 1 << 3,
	BSN_CAN_COPY = 1 << 4,
};

/**
 * struct dv_lane - a lane, and who may use it
 *
 * A lane is a thread domain with its UAR register; all queues created on it share that register and
 * the toggle between its two BlueFlame buffers, so both live here and never in a queue (rdma-core
 * providers/mlx5/verbs.c, thread domains).
 *
 * @blueflame_bytes: the largest BlueFlame copy; 0: this register takes 8-byte doorbells only
 * @lock: a pthread_spinlock_t, taken around the register's use; NULL on a lane of one thread
 * @owner_thread: the last poster that was looked at; 0: none since a queue was handed over
 * @count_posters: how often it was another thread than before, though no queue was handed over
 * @count_unflushed: stores since the last bsn_wc_flush(), of queues that are published together
 */
struct dv_lane {
	struct bsn_lane hot;
	uint32_t blueflame_bytes;
	void *lock;
	uintptr_t owner_thread;
	uint32_t count_posters;
	uint32_t count_unflushed;
};

BSN_ALWAYS_INLINE struct dv_lane *dv_lane(const struct bsn_lane *lane)
{
	return (struct dv_lane *)(uintptr_t)lane;
}

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
 * struct dv_route - a route, one line of the poller's
 * @ids: of requests whose id is not in their block; see struct bsn_sq
 * @sq: the send queue whose poller's line this is; NULL: none
 * @flushed: of a queue that failed, and reports only its first error: requests before this index
 *	were reported
 * @gives_data: data that were received are handed out where they are, in the CQE or in memory
 * @transport: enum bsn_transport
 * @has_failed: a send request failed
 * @has_peers: of the send queue
 * @has_hidden: some completions of the send queue may be hidden
 * @has_error: @first_error was written, or is being so: two CQs may have a poller each
 * @first_error: where to keep the first failure; NULL: nowhere. After the line, since it is rare
 */
struct dv_route {
	struct bsn_route hot;
	const uint64_t *ids;
	struct bsn_sq *sq;
	uint16_t flushed;
	uint8_t gives_data;
	uint8_t transport;
	uint8_t has_failed;
	uint8_t has_peers;
	uint8_t has_hidden;
	uint8_t has_error;
	struct bsn_completion *first_error;
};

BSN_ALWAYS_INLINE struct dv_route *dv_route(const struct bsn_route *route)
{
	return (struct dv_route *)(uintptr_t)route;
}

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

/**
 * struct bsn_sq_owner - is told of each failure of a queue before the program is
 * @failed: in a poll of its CQ. Return: whether the program is told, too
 */
struct bsn_sq_owner {
	bool (*failed)(struct bsn_sq_owner *owner, struct bsn_completion *c);
};

/**
 * struct dv_sq - a send queue
 *
 * A poster and a poller may be different threads. The poller release-stores @route.hot.done, and
 * the poster acquire-reads it when its room runs out [O6]: that hands blocks back, with their ids
 * and their bytes in @hidden. The WQE itself has its number of blocks, so nothing records it.
 *
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
 * @held_ops: opcodes that only its path takes
 * @owner: NULL: none
 * @route: the poller's line
 * @seen_done: the route's @done, when @retired was computed last
 * @retired: blocks before this one are free
 * @next_fence: enum bsn_fence that the next WQE owes
 * @closed: errno of posts to a queue that is not open; 0: it is
 * @wide_pi: @pi modulo 2^32, brought up to date once a lap at least
 * @count_full: posts refused for want of room
 * @max_copy: bytes of one copy by the NIC; 0: it makes none
 * @count_doorbells: of 8 bytes
 * @count_rung: bytes of blocks published by those; all others were by BlueFlame
 */
struct dv_sq {
	struct bsn_sq hot;

	/* constants of the poster */
	uint32_t bb_mask;
	uint8_t max_ds;
	uint8_t has_peers;
	uint8_t transport;
	uint8_t store;
	uint8_t signal_every;
	uint8_t has_big_endian_results;
	uint8_t gives_results;
	uint32_t capacity_bb;
	uint8_t *ring;
	uint8_t *hidden;
	uint8_t *ring_end;
	const struct bsn_sq_path *path;
	uint64_t held_ops;
	struct bsn_sq_owner *owner;
	uint32_t max_copy;
	uint32_t qpn;

	struct dv_route route __attribute__((aligned(64)));

	/* the poster's, rare */
	uint16_t seen_done;
	uint16_t retired;
	uint8_t next_fence;
	uint16_t closed;
	uint32_t wide_pi;
	uint32_t count_full;
	const char *closed_why;
	uint64_t count_doorbells;
	uint64_t count_rung;
} __attribute__((aligned(64)));

BSN_ALWAYS_INLINE struct dv_sq *dv_sq(const struct bsn_sq *sq)
{
	return (struct dv_sq *)(uintptr_t)sq;
}

/**
 * struct bsn_rq_path - how a kind of queue takes what the inline code does not post
 * @post: one receive; it judges the list
 * @post_many: bsn_recv_many()
 */
struct bsn_rq_path {
	int (*post)(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id);
	int (*post_many)(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
			 unsigned count);
};

/**
 * struct dv_rq - a receive queue: a QP's own, a shared one (SRQ), or one on plain verbs
 * @has_lock: of an SRQ with is_on_demand: its poster and its poller hold the lock of struct bsn_srq
 * @has_many_pollers: of a shared queue: more than one CQ gives back
 * @lists: the first WQE's data pointers
 * @capacity: WQEs that may be outstanding: what the CQ has room for
 * @count_full: posts refused for want of room
 */
struct dv_rq {
	struct bsn_rq hot;

	/* the poller's line */
	uint8_t *ring;
	uint8_t *lists;
	uint8_t stride_log2;
	uint8_t is_srq;
	uint8_t has_lock;
	uint8_t has_many_pollers;

	/* rare */
	const struct bsn_rq_path *path __attribute__((aligned(64)));
	void *owner;
	uint32_t capacity;
	uint32_t count_full;
} __attribute__((aligned(64)));

BSN_ALWAYS_INLINE struct dv_rq *dv_rq(const struct bsn_rq *rq)
{
	return (struct dv_rq *)(uintptr_t)rq;
}

/** struct bsn_cq_path - the poll of a queue that is not mlx5, or whose polls are looked at first */
struct bsn_cq_path {
	int (*poll)(struct bsn_cq *cq, struct bsn_completion *c, int n);
};

/**
 * struct dv_cq - a completion queue
 * @ring: the first CQE proper
 * @chunk: CQEs between two stores of the consumer record
 * @chunk_ci: consumer index at @chunk_end
 * @spare: CQEs of the ring that will never be needed
 * @kept: CQEs of this poll, when it last left a chunk; the next poll gives them back
 * @record: consumer, arm
 * @mini_format: 0: CQEs are never compressed; else compressed.c's
 * @is_full_poll: the poll keeps as many CQEs as it may, and ends
 * @ignores_overrun: the device does not look at the consumer record
 * @is_changing: the table, by one thread at a time
 * @count_dropped: CQEs of queues that are gone
 * @stale: those that were made anonymous, and not polled yet
 */
struct dv_cq {
	struct bsn_cq hot;
	const uint8_t *ring;
	const uint8_t *ring_end;
	uint32_t cqe_count;
	uint32_t chunk;
	uint32_t chunk_ci;
	uint32_t spare;
	uint32_t kept;
	uint32_t cqn;
	struct bsn_be32 *record;
	uint8_t *arm_reg;
	uint8_t arm_sn;
	uint8_t mini_format;
	uint8_t is_full_poll;
	uint8_t ignores_overrun;
	uint32_t entries_used;
	uint32_t is_changing;
	uint64_t count_dropped;
	uint32_t stale;
} __attribute__((aligned(64)));

BSN_ALWAYS_INLINE struct dv_cq *dv_cq(const struct bsn_cq *cq)
{
	return (struct dv_cq *)(uintptr_t)cq;
}

/* -- ids -------------------------------------------------------------------------------------- */

/* Of each slot of a queue with many peers, 16 bytes are kept: the id and the user pointer. */
BSN_ALWAYS_INLINE uintptr_t bsn_ids_at(const uint8_t *slot, bool has_peers)
{
	return (uintptr_t)slot >> (has_peers ? BSN_IDS_SHIFT - 1 : BSN_IDS_SHIFT);
}

BSN_ALWAYS_INLINE uint64_t *bsn_peer_ids(const struct bsn_sq *sq, const uint8_t *slot)
{
	return (uint64_t *)(sq->ids + bsn_ids_at(slot, true));
}

/* -- room ------------------------------------------------------------------------------------- */

/* Sets the last block that is free, in one piece with the slot; one below the slot: none is. */
BSN_ALWAYS_INLINE void bsn_sq_set_room(struct bsn_sq *sq, uint8_t *last)
{
	sq->room = last;
	sq->limit = dv_sq(sq)->has_peers ? NULL : last;
}

/** bsn_cq_stale - CQEs in the ring of queues that are gone. Context: any thread. */
static inline uint32_t bsn_cq_stale(const struct bsn_cq *cq)
{
	return __atomic_load_n(&dv_cq(cq)->stale, __ATOMIC_RELAXED);
}

#endif
