/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared receive queue of mlx5. Private to the library. */
#ifndef DV_SRQ_H
#define DV_SRQ_H

#include <pthread.h>

#include "whole.h"

#define BSN_SRQ_NO_SLOT 0xffff /* an SRQ has at most 2^15 WQEs */

/**
 * struct bsn_srq - a linked list of WQEs, which the device follows
 *
 * The last posted WQE names @next, the first free one, which names the second, and so on up to
 * @last, which names BSN_SRQ_NO_SLOT. A WQE is posted only if it names another, so the last free
 * one stays. Pollers append at @last, the poster takes at @next.
 *
 * Of an SRQ with a lock, the poller posts receives again that met an on-demand page fault, so both
 * hold the lock. The kernel still reads such a WQE, to learn which pages are wanted. So as many
 * WQEs as nobody asked for stay free at any time: one that is given back is posted again only after
 * so many others (rdma-core mlx5 srq.c, the wait queue).
 *
 * @ends: where the mark after the one SGE of a list goes, in the first WQE. If a list has room for
 *	one SGE only, this is the list itself: the mark is put first, and the SGE overwrites it.
 */
struct bsn_srq {
	struct dv_rq rq; /* first */
	uint8_t *ends;
	pthread_spinlock_t lock;
	uint32_t free_count; /* with a lock: WQEs after @next */
	uint32_t resting;    /* with a lock: so many of those stay free */
	uint32_t next __attribute__((aligned(64))); /* the poster's line */
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

/* The number of the next WQE. A poller may write it at the same time. */
static inline uint16_t bsn_srq_link(const uint8_t *wqe)
{
	const void *const index = wqe + BSN_SRQ_NEXT_INDEX_OFFSET;
	const struct bsn_be16 be = { __atomic_load_n((const uint16_t *)index, __ATOMIC_ACQUIRE) };

	return bsn_from_be16(be); /* O6 */
}

static inline void bsn_srq_set_link(uint8_t *wqe, uint32_t slot)
{
	void *const index = wqe + BSN_SRQ_NEXT_INDEX_OFFSET;

	BSN_ORDER_EVENT(BSN_ORDER_WQE, index, 2);
	__atomic_store_n((uint16_t *)index, bsn_to_be16((uint16_t)slot).raw,
			 __ATOMIC_RELEASE); /* O6 */
}

/* Makes the WQE the last free one. Of several pollers each links it after another WQE. */
static inline void bsn_srq_append_free(struct bsn_srq *srq, uint32_t slot)
{
	uint32_t before;

	bsn_srq_set_link(bsn_srq_wqe(srq, slot), BSN_SRQ_NO_SLOT);
	if (BSN_UNLIKELY(srq->rq.has_many_pollers)) {
		before = __atomic_exchange_n(&srq->last, slot, __ATOMIC_ACQ_REL);
	} else {
		before = srq->last;
		srq->last = slot;
	}
	bsn_srq_set_link(bsn_srq_wqe(srq, before), slot);
}

static inline bool bsn_rq_has_lock(struct bsn_rq *rq)
{
	return BSN_UNLIKELY(dv_rq(rq)->has_lock);
}

BSN_ALWAYS_INLINE uint64_t bsn_srq_give_back(struct bsn_rq *rq, uint32_t wqe_index)
{
	const uint32_t slot = wqe_index & rq->mask;
	const uint64_t id = rq->ids[slot];

	bsn_srq_append_free(bsn_srq_of(rq), slot);
	return id;
}

uint64_t bsn_srq_give_back_locked(struct bsn_rq *rq, uint32_t wqe_index);

/*
 * Gives the WQE of a completion back, and returns its id: first for queues without a lock, then for
 * any. On the poller's thread.
 */
BSN_ALWAYS_INLINE uint64_t bsn_rq_give_back_unlocked(struct bsn_rq *rq, uint32_t wqe_index)
{
	return dv_rq(rq)->is_srq ? bsn_srq_give_back(rq, wqe_index) : bsn_rq_retire(rq, wqe_index);
}

static inline uint64_t bsn_rq_give_back(struct bsn_rq *rq, uint32_t wqe_index)
{
	return bsn_rq_has_lock(rq) ? bsn_srq_give_back_locked(rq, wqe_index)
				   : bsn_rq_give_back_unlocked(rq, wqe_index);
}

/*
 * Posts a receive once more, after the others, if it met an on-demand page fault. On the poller's
 * thread. False: the SRQ was not made for that, and the user gets the completion.
 */
bool bsn_srq_repost(struct bsn_rq *rq, uint32_t wqe_index);

#endif
