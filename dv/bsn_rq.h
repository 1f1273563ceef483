/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receive queue, behind which stand a QP's own RQ, a shared receive queue (a linked list of
 * WQEs), or plain verbs. Posting stores a WQE and the doorbell record; there is no register.
 */
#ifndef BSN_RQ_H
#define BSN_RQ_H

#include "bsn_sq.h"

BSN_HEADER_BEGIN

struct bsn_rq;

/** struct bsn_rq_path - a queue that is not mlx5: @post takes a list that bsn_rq_post() judged */
struct bsn_rq_path {
	int (*post)(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned sge_count, uint64_t id);
};

/**
 * struct bsn_rq - hot state of a receive queue: the poster's line, the poller's line
 *
 * As in struct bsn_sq, "no credits" (head == limit) is the one way out of the hot path; an SRQ and
 * plain verbs never have credits here. Counters count WQEs, modulo 2^32. The ids, one a slot,
 * follow the structure: bsn_rq_ids().
 */
struct bsn_rq {
	/* the poster's line */
	uint8_t *ring;
	struct bsn_be32 *record;
	uint32_t head;
	uint32_t limit;
	uint32_t mask;
	uint8_t stride_log2; /* bytes */
	uint8_t max_sge;

	/* the poller's line */
	uint8_t *poller_ring __attribute__((aligned(64)));
	void *user;
	uint32_t tail; /* WQEs before this one are done; release-stored [O6] */
	uint32_t poller_mask;
	uint8_t poller_stride_log2;
	uint8_t is_srq;
	uint8_t gives_inline; /* data in the CQE is handed out, not copied */
	uint16_t srq_free_tail; /* SRQ: the last WQE of the free list */

	/* rare */
	const struct bsn_rq_path *path __attribute__((aligned(64)));
	void *owner;
	uintptr_t owner_thread; /* the poster; see BSN_CHECK_OWNER() */
	uint32_t capacity;     /* WQEs that may be outstanding: what the CQ has room for */
	uint32_t count_full;   /* posts refused for want of room */
	uint16_t srq_free_head;
};

BSN_ALWAYS_INLINE uint64_t *bsn_rq_ids(struct bsn_rq *rq)
{
	return (uint64_t *)(rq + 1);
}

/** bsn_rq_post - any list of SGEs into any kind of receive queue; see bsn_recv() */
BSN_API int bsn_rq_post(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned sge_count, uint64_t id);

/** bsn_rq_retire - gives the WQE of a completion back; returns its id */
uint64_t bsn_rq_retire(struct bsn_rq *rq, uint16_t wqe_index);

/* One SGE into a QP's own RQ; everything else by bsn_rq_post(). */
BSN_ALWAYS_INLINE int bsn_rq_append(struct bsn_rq *rq, const struct bsn_sge *sge, uint64_t id)
{
	static const struct bsn_data end = { .lkey = BSN_LKEY_TERMINATOR };
	const struct bsn_data data = { .byte_count = sge->length,
				       .lkey = sge->lkey,
				       .addr = sge->addr };
	const uint32_t head = rq->head;
	const uint32_t slot = head & rq->mask;
	const struct bsn_dbr_wq record = { .index = head + 1 };
	uint8_t *dst = rq->ring + (size_t)slot * BSN_DATA_SIZE;

	BSN_CHECK_OWNER(rq);
	if (BSN_UNLIKELY(head == rq->limit || (int32_t)sge->length <= 0))
		return bsn_rq_post(rq, sge, 1, id);
	if (rq->max_sge > 1) { /* longer WQEs: the list must end */
		dst = rq->ring + ((size_t)slot << rq->stride_log2);
		bsn_store_wqe(dst + 16, bsn_to_be64(bsn_data_word(&end, 0)));
		bsn_store_wqe(dst + 24, bsn_to_be64(bsn_data_word(&end, 1)));
	}
	bsn_store_wqe(dst, bsn_to_be64(bsn_data_word(&data, 0)));
	bsn_store_wqe(dst + 8, bsn_to_be64(bsn_data_word(&data, 1)));
	bsn_rq_ids(rq)[slot] = id;
	rq->head = head + 1;
	bsn_to_device(); /* O7 */
	bsn_store_record(rq->record, bsn_dbr_wq_dword(&record, 0));
	return 0;
}

BSN_HEADER_END

#endif
