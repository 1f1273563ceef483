/* SPDX-License-Identifier: BSD-2-Clause */
/* A shared receive queue of mlx5. Private to the library. */
#ifndef DV_SRQ_H
#define DV_SRQ_H

#include <pthread.h>

#include "bsn_rq.h"

/**
 * struct bsn_srq - a linked list of WQEs, which the device follows
 *
 * The last posted WQE names @next, the first free one, which names the second, and so on up to
 * @last. A WQE is posted only if it names another, so the last free one stays. Pollers append at
 * @last, the poster takes at @next.
 *
 * The last free one may name a WQE that came after it before. So it has a mark, in bytes of the
 * link that the device ignores; UCX keeps its own there, too (ib_mlx5.h uct_ib_mlx5_srq_seg_t).
 *
 * Of an SRQ with a lock, the poller posts receives again that met an on-demand page fault, so both
 * hold the lock. The kernel still reads such a WQE, to learn which pages are wanted. So the WQEs
 * that nobody asked for are never posted: they rest in the list, between one that is given back
 * and its next use (rdma-core mlx5 srq.c, the wait queue).
 */
struct bsn_srq {
	struct bsn_rq rq; /* first */
	bool has_lock;
	pthread_spinlock_t lock;
	uint32_t free_count; /* with a lock: WQEs after @next */
	uint32_t resting;    /* with a lock: of those, the ones that are never posted */
	uint16_t next __attribute__((aligned(64))); /* the poster's line */
	uint32_t last __attribute__((aligned(64))); /* the poller's line */
};

static inline struct bsn_srq *bsn_srq_of(struct bsn_rq *rq)
{
	return (struct bsn_srq *)rq;
}

static inline uint8_t *bsn_srq_wqe(const struct bsn_srq *srq, size_t slot)
{
	return srq->rq.ring + (slot << srq->rq.stride_log2);
}

#define BSN_SRQ_LAST 0xffff0000u /* the mark, beside the link in its dword */

/* The dword of the link. A poller may write it at the same time. */
static inline uint32_t bsn_srq_load_link(const uint8_t *wqe)
{
	const struct bsn_be32 dword = {
		__atomic_load_n((const uint32_t *)(const void *)wqe, __ATOMIC_ACQUIRE), /* O6 */
	};

	return bsn_from_be32(dword);
}

static inline void bsn_srq_store_link(uint8_t *wqe, uint32_t dword)
{
	BSN_ORDER_EVENT(BSN_ORDER_WQE, wqe, 4);
	/* O6 */
	__atomic_store_n((uint32_t *)(void *)wqe, bsn_to_be32(dword).raw, __ATOMIC_RELEASE);
}

/* The number of the next WQE. */
static inline uint32_t bsn_srq_linked(uint32_t dword)
{
	const struct bsn_be32 raw[BSN_SRQ_NEXT_SIZE / 4] = { bsn_to_be32(dword) };
	struct bsn_srq_next link;

	bsn_srq_next_decode(&link, raw);
	return link.next_wqe_index;
}

/* The WQE is the last free one now; of several pollers, each links another one to its own. */
static inline void bsn_srq_append_free(struct bsn_srq *srq, uint32_t slot)
{
	const struct bsn_srq_next link = { .next_wqe_index = slot };
	uint8_t *const wqe = bsn_srq_wqe(srq, slot);
	uint32_t before = srq->last;

	bsn_srq_store_link(wqe, bsn_srq_load_link(wqe) | BSN_SRQ_LAST);
	if (BSN_UNLIKELY(srq->rq.has_many_pollers))
		before = __atomic_exchange_n(&srq->last, slot, __ATOMIC_ACQ_REL);
	else
		srq->last = slot;
	bsn_srq_store_link(bsn_srq_wqe(srq, before), bsn_srq_next_dword(&link, 0));
}

uint64_t bsn_srq_give_back_locked(struct bsn_srq *srq, uint32_t slot);

/* Gives the WQE of a completion back, and returns its id. On the poller's thread. */
BSN_ALWAYS_INLINE uint64_t bsn_rq_give_back_unlocked(struct bsn_rq *rq, uint32_t wqe_index)
{
	const uint32_t slot = wqe_index & rq->mask;
	uint64_t id;

	if (!rq->is_srq)
		return bsn_rq_retire(rq, slot);
	id = rq->ids[slot];
	bsn_srq_append_free(bsn_srq_of(rq), slot);
	return id;
}

BSN_ALWAYS_INLINE bool bsn_rq_has_lock(struct bsn_rq *rq)
{
	return rq->is_srq && BSN_UNLIKELY(bsn_srq_of(rq)->has_lock);
}

/* The same of any queue. */
BSN_ALWAYS_INLINE uint64_t bsn_rq_give_back(struct bsn_rq *rq, uint32_t wqe_index)
{
	return bsn_rq_has_lock(rq) ? bsn_srq_give_back_locked(bsn_srq_of(rq), wqe_index & rq->mask)
				   : bsn_rq_give_back_unlocked(rq, wqe_index);
}

/*
 * Posts a receive that met an on-demand page fault again, after the others. On the poller's
 * thread.
 * False: the SRQ was not made for that, and the user gets the completion.
 */
bool bsn_srq_repost(struct bsn_rq *rq, uint32_t wqe_index);

#endif
