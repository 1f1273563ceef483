/* SPDX-License-Identifier: BSD-2-Clause */
/* What all kinds of receive queues share. Private to the library. */
#ifndef DV_RQ_H
#define DV_RQ_H

#include "whole.h"

/* What a receive queue is made of. */
struct bsn_rq_init {
	uint8_t *ring;
	struct bsn_be32 *record;
	uint32_t count;        /* WQEs in the ring, a power of two */
	uint32_t capacity;     /* WQEs that may be outstanding; an SRQ's list limits them */
	uint32_t stride_bytes; /* a power of two */
	bool is_on_demand;     /* SRQ: receives may meet page faults (bsn_srq_repost()) */
	uint16_t first_free, last_free; /* SRQ: the ends of its list */
};

struct bsn_rq *bsn_rq_alloc(const struct bsn_rq_init *init);
struct bsn_rq *bsn_srq_alloc(const struct bsn_rq_init *init);
void bsn_rq_free(struct bsn_rq *rq);  /* of either kind */
void bsn_rq_clear(struct bsn_rq *rq); /* of a QP's own */

/* Tells that several CQs complete WQEs of this SRQ. Call it before the second one does. */
void bsn_srq_share(struct bsn_rq *rq);

/* -- for the paths of bsn_rq_path ------------------------------------------------------------- */

/* Fills in the fields that a QP's own queue and an SRQ share. */
void bsn_rq_init(struct bsn_rq *rq, const struct bsn_rq_init *init, uint64_t *ids);

/*
 * bsn_recv_many() one by one: bsn_rq_post_each() posts all, bsn_rq_post_rest() those from @done on.
 */
int bsn_rq_post_each(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
		     unsigned count);
int bsn_rq_post_rest(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
		     unsigned done, unsigned count);

/* 0, or why the queue never takes such a list. */
int bsn_rq_check_list(const struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count);
int bsn_rq_refuse_full(struct bsn_rq *rq);

/*
 * bsn_rq_check_list(), and puts the list into the WQE. Empty SGEs are skipped, since a byte count
 * of 0 means 2^31.
 */
int bsn_rq_put_any_list(const struct bsn_rq *rq, uint8_t *at, const struct bsn_sge *sge,
			unsigned count);

/* The same, fast if the list is one plain SGE. */
BSN_ALWAYS_INLINE int bsn_rq_put_list(const struct bsn_rq *rq, uint8_t *at,
				      const struct bsn_sge *sge, unsigned count)
{
	if (BSN_UNLIKELY(count != 1) || !bsn_is_plain(sge))
		return bsn_rq_put_any_list(rq, at, sge, count);
	bsn_rq_end_list(bsn_put_sge(at, sge), 1, rq->max_sge);
	return 0;
}

#endif
