/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn.h, which programs include.
 *
 * The send queue: slots, room and publication. bsn_post_block.h builds WQEs of one or two blocks
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
#include "bsn_hot.h"

BSN_HEADER_BEGIN

/* DS of the longest WQE that a queue takes, 15 whole blocks; the device counts to 63. */
#define BSN_SEND_MAX_DS 60

/* Bytes of inline data that fit wherever a data pointer does. */
#define BSN_DS_INLINE_MAX (BSN_DS_SIZE - BSN_INLINE_HDR_SIZE)

/* -- the functions of the library -------------------------------------------------------------- */

/**
 * bsn_sq_post_sgl - any message or RDMA request of SGEs: every count, peer and wrap
 * @what: BSN_WHAT(); the opcode is below 64
 * @remote: not read where the opcode has no remote address
 *
 * @ep is not NULL: inline code leaves to bsn_post() what it knows to be NULL.
 * Context and return value are those of all posts: bsn_post.h.
 */
BSN_API int bsn_sq_post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			    const struct bsn_remote *remote, uint32_t imm, uint64_t id);

/** bsn_sq_post_inline - the same for inline data, which are copied now; their length is in @what */
BSN_API int bsn_sq_post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
			       const struct bsn_remote *remote, uint32_t imm, uint64_t id);

/**
 * bsn_post - any request: any number of SGEs, inline or not, a layout, every opcode
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
 * Up to 32 queues cost two barriers that wait for the stores to leave the CPU. If more than two of
 * them share a lane, its third, fifth, seventh queue and so on may cost one more: a lane has two
 * buffers (on a device with one: its second queue and each further one). Alone, each queue costs
 * two, and so does one with a shared lane.
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

/* Of a queue with one peer: the id of what is in a slot. */
BSN_ALWAYS_INLINE uint64_t *bsn_id_of(const struct bsn_sq *sq, const uint8_t *slot)
{
	return (uint64_t *)(sq->ids + ((uintptr_t)slot >> BSN_IDS_SHIFT));
}

/* -- publication ------------------------------------------------------------------------------- */

/* Moves the index, a field of @ctrl_next, on by one for each block of @bytes. */
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
