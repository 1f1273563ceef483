/* SPDX-License-Identifier: BSD-2-Clause */
/* A shared receive queue of mlx5. Private to the library. */
#ifndef DV_SRQ_H
#define DV_SRQ_H

#include <pthread.h>

#include "bsn_rq.h"

#define BSN_SRQ_NO_SLOT 0xffff /* an SRQ has at most 2^15 WQEs */

/**
 * struct bsn_srq - a linked list of WQEs, which the device follows
 *
 * The last posted WQE names @next, the first free one, which names the second, and so on up to
 * @last, which names BSN_SRQ_NO_SLOT. A WQE is posted only if it names another, so the last free
 * one stays. Pollers append at @last, the poster takes at @next.
 *
 * Of an SRQ with a lock, the poller posts receives again that met an on-demand page fault, so both
 * hold the lock. The kernel still reads such a WQE, to learn which pages are wanted. So the WQEs
 * that nobody asked for are never posted: they rest in the list, between one that is given back and
 * its next use (rdma-core mlx5 srq.c, the wait queue).
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

/* Gives the WQE of a completion back, and returns its id. On the poller's thread. */
uint64_t bsn_srq_give_back(struct bsn_rq *rq, uint32_t wqe_index);

/* The same of a queue of either kind. */
BSN_ALWAYS_INLINE uint64_t bsn_rq_give_back(struct bsn_rq *rq, uint32_t wqe_index)
{
	return rq->is_srq ? bsn_srq_give_back(rq, wqe_index) : bsn_rq_retire(rq, wqe_index);
}

/*
 * Posts a receive that met an on-demand page fault again, after the others. On the poller's thread.
 * False: the SRQ was not made for that, and the user gets the completion.
 */
bool bsn_srq_repost(struct bsn_rq *rq, uint32_t wqe_index);

#endif
