/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn.h, which programs include.
 *
 * The receive queue: a QP's own, a shared one (SRQ), or one on plain verbs. A post stores a WQE and
 * the doorbell record; there is no register.
 *
 * The inline code posts a few SGEs to a QP's own queue. Everything else is a call.
 */
#ifndef BSN_RQ_H
#define BSN_RQ_H

#include "bsn_segments.h"

BSN_HEADER_BEGIN

/**
 * bsn_rq_post - any list of SGEs into any kind of receive queue; see bsn_recv()
 * Return: 0; -EAGAIN the queue is full; -EMSGSIZE more SGEs than the queue takes; -EINVAL no queue.
 */
BSN_API int bsn_rq_post(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned sge_count,
			uint64_t id);

/**
 * bsn_recv_many - posts memory for @count incoming messages, one SGE each; published together
 * @sge: one for each message
 * @ids: one for each
 *
 * Cheaper than as many bsn_recv(), also for a shared receive queue.
 * Order: O7.
 * Return: how many were posted, in order: fewer than @count if the queue has no more room, or if an
 * SGE is refused; the next call, with the rest, returns why. If the first cannot be posted: -EAGAIN
 * the queue is full; -EMSGSIZE its SGE has 2 GiB or more; -EINVAL no queue; on plain verbs also
 * what the provider says.
 */
BSN_API int bsn_recv_many(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
			  unsigned count);

#define BSN_RECV_INLINE_SGE 4 /* SGEs that the inline code puts, at the most */

/* After the last SGE of a list that is shorter than the longest. */
BSN_ALWAYS_INLINE void bsn_rq_put_end(uint8_t *at)
{
	const struct bsn_data end = { .lkey = BSN_LKEY_TERMINATOR };

	bsn_store_wqe(at, bsn_to_be64(bsn_data_word(&end, 0)));
	bsn_store_wqe(at + 8, bsn_to_be64(bsn_data_word(&end, 1)));
}

/* Ends a list of so many SGEs. */
BSN_ALWAYS_INLINE void bsn_rq_end_list(uint8_t *at, unsigned count, unsigned max_sge)
{
	if (count != max_sge)
		bsn_rq_put_end(at);
}

/* The WQE in the slot of a QP's own queue is whole. */
BSN_ALWAYS_INLINE void bsn_rq_move_on(struct bsn_rq *rq, uint64_t id)
{
	*rq->id_at++ = id;
	rq->slot += rq->stride;
	rq->head++;
}

/* Publishes all WQEs before @head. */
BSN_ALWAYS_INLINE void bsn_rq_publish(struct bsn_rq *rq)
{
	bsn_to_device(); /* O7 */
	bsn_store_index(rq->record, rq->head);
}

/* Whether there is room, and the list is one that the inline code puts. */
BSN_ALWAYS_INLINE bool bsn_rq_takes(const struct bsn_rq *rq, const struct bsn_sge *sge,
				    unsigned count)
{
	if (BSN_UNLIKELY(rq->slot >= rq->limit) || (count > 1 && BSN_UNLIKELY(count > rq->max_sge)))
		return false;
	for (unsigned i = 0; i < count; i++)
		if (!bsn_is_plain(&sge[i]))
			return false;
	return true;
}

/** bsn_rq_append - see bsn_recv_sgl() */
BSN_ALWAYS_INLINE int bsn_rq_append(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count,
				    uint64_t id)
{
	uint8_t *at;

	if (BSN_IS_NULL(rq) || !__builtin_constant_p(count) || !count ||
	    count > BSN_RECV_INLINE_SGE || !bsn_rq_takes(rq, sge, count))
		return bsn_rq_post(rq, sge, count, id);
	at = rq->slot;
	BSN_UNROLL
	for (unsigned i = 0; i < count; i++)
		at = bsn_put_sge(at, &sge[i]);
	bsn_rq_end_list(at, count, rq->max_sge);
	bsn_rq_move_on(rq, id);
	bsn_rq_publish(rq);
	return 0;
}

/*
 * Gives the WQE of a completion back to a QP's own queue; returns its id. The device may consume
 * out of order, so the CQE says which WQE it was (rdma-core 7e8db6fbd); the CQEs come in order, so
 * counting them tells what is free.
 */
BSN_ALWAYS_INLINE uint64_t bsn_rq_retire(struct bsn_rq *rq, uint32_t wqe_index)
{
	const uint64_t id = rq->ids[wqe_index & rq->mask];

	__atomic_store_n(&rq->tail, rq->tail + 1, __ATOMIC_RELEASE); /* O6 */
	return id;
}

BSN_HEADER_END

#endif
