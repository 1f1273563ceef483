/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs path's receive queues, a QP's own and shared ones. */
#include "verbs.h"

#include <stdlib.h>

#include "init.h"

#define NO_SLOT UINT32_MAX

/* -- posting --------------------------------------------------------------------------------- */

/* Hands receives to the provider. @bad: the first that it refused. */
BSN_ALWAYS_INLINE int hand_in(struct recv_queue *rq, struct ibv_recv_wr *wr,
			      struct ibv_recv_wr **bad)
{
	*bad = wr;
	return rq->srq ? ibv_post_srq_recv(rq->srq, wr, bad) : ibv_post_recv(rq->qp, wr, bad);
}

/*
 * Takes a free slot. Its place is emptied at once: a poller may fill it as soon as the receive is
 * handed in.
 */
BSN_ALWAYS_INLINE bool take_slot(struct recv_queue *rq, uint64_t id, struct ibv_recv_wr *wr)
{
	uint32_t *const place = &rq->free[rq->head & rq->mask];
	const uint32_t slot = __atomic_load_n(place, __ATOMIC_ACQUIRE); /* O6 */

	if (BSN_UNLIKELY(slot == NO_SLOT))
		return false;
	__atomic_store_n(place, NO_SLOT, __ATOMIC_RELAXED);
	rq->ids[slot] = id;
	rq->head++;
	wr->wr_id = rq->life | slot;
	return true;
}

/* Gives back the slot of the last receive, which was refused. */
static void put_slot_back(struct recv_queue *rq, const struct ibv_recv_wr *wr)
{
	rq->head--;
	__atomic_store_n(&rq->free[rq->head & rq->mask], (uint32_t)(wr->wr_id ^ rq->life),
			 __ATOMIC_RELAXED);
}

static int post_list(struct recv_queue *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	struct ibv_recv_wr wr = { .sg_list = (struct ibv_sge *)(uintptr_t)sge,
				  .num_sge = (int)count },
			   *bad;
	int err;

	if (!take_slot(rq, id, &wr))
		return bsn_rq_refuse_full(&rq->dv.hot);
	err = hand_in(rq, &wr, &bad);
	if (BSN_LIKELY(!err))
		return 0;
	put_slot_back(rq, &wr);
	return provider_refused(err);
}

/*
 * As on the direct path, empty SGEs are left out, and too many or too long ones are refused.
 * libmlx5 would pass an SRQ's empty SGEs on (rdma-core 44, providers/mlx5/srq.c), and to the device
 * a byte count of 0 means 2^31.
 */
static int post_without_empty(struct recv_queue *rq, const struct bsn_sge *sge, unsigned count,
			      uint64_t id)
{
	const int err = bsn_rq_check_list(&rq->dv.hot, sge, count);
	struct bsn_sge kept[UINT8_MAX];
	unsigned used = 0;

	if (err)
		return err;
	for (unsigned i = 0; i < count; i++)
		if (sge[i].length)
			kept[used++] = sge[i];
	return post_list(rq, kept, used, id);
}

static int post(struct bsn_rq *hot, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	struct recv_queue *const rq = recv_queue_of(hot);
	bool is_plain = count <= hot->max_sge;

	for (unsigned i = 0; is_plain && i < count; i++)
		is_plain = bsn_is_plain(&sge[i]);
	return BSN_LIKELY(is_plain) ? post_list(rq, sge, count, id)
				    : post_without_empty(rq, sge, count, id);
}

#define CHAIN_MAX 16 /* receives that are handed in at once */

/*
 * Posts a chain of receives. Those that the provider refuses are posted one by one, which tells
 * why.
 */
static unsigned post_some(struct bsn_rq *hot, const struct bsn_sge *sge, const uint64_t *ids,
			  unsigned count)
{
	struct recv_queue *const rq = recv_queue_of(hot);
	struct ibv_recv_wr wr[CHAIN_MAX], *bad = wr;
	unsigned n = 0;

	for (; n < count && n < CHAIN_MAX && bsn_is_plain(&sge[n]); n++) {
		if (!take_slot(rq, ids[n], &wr[n]))
			break;
		wr[n].sg_list = (struct ibv_sge *)(uintptr_t)&sge[n];
		wr[n].num_sge = 1;
		wr[n].next = &wr[n + 1];
	}
	if (!n)
		return 0;
	wr[n - 1].next = NULL;
	if (!hand_in(rq, wr, &bad))
		return n;
	while (n && &wr[n] != bad)
		put_slot_back(rq, &wr[--n]);
	return n;
}

static int post_many(struct bsn_rq *hot, const struct bsn_sge *sge, const uint64_t *ids,
		     unsigned count)
{
	unsigned done = 0, n;

	do
		done += n = post_some(hot, sge + done, ids + done, count - done);
	while (n);
	return bsn_rq_post_rest(hot, sge, ids, done, count);
}

static const struct bsn_rq_path path = { .post = post, .post_many = post_many };

/* -- life ------------------------------------------------------------------------------------ */

void verbs_rq_clear(struct recv_queue *rq)
{
	rq->head = rq->tail = 0;
	rq->life = WR_RECV | verbs_next_life();
	for (uint32_t i = 0; i <= rq->mask; i++)
		rq->free[i] = i < rq->capacity ? i : NO_SLOT;
}

void verbs_rq_free(struct bsn_rq *hot)
{
	if (!hot)
		return;
	free(recv_queue_of(hot)->free);
	free(recv_queue_of(hot)->ids);
	free(hot);
}

static struct recv_queue *alloc_rq(uint32_t capacity, uint32_t max_sge)
{
	struct recv_queue *rq = bsn_hot_alloc(sizeof(*rq));

	if (!rq)
		return NULL;
	rq->mask = power_of_two(capacity) - 1;
	rq->capacity = capacity;
	rq->ids = calloc(rq->mask + 1, sizeof(*rq->ids));
	rq->free = calloc(rq->mask + 1, sizeof(*rq->free));
	if (!rq->ids || !rq->free) {
		verbs_rq_free(&rq->dv.hot);
		return NULL;
	}
	rq->dv.path = &path;
	rq->dv.hot.max_sge = (uint8_t)max_sge;
	verbs_rq_clear(rq);
	return rq;
}

int verbs_rq_make(struct bsn_qp *qp)
{
	struct recv_queue *rq;

	if (qp->srq) {
		qp->rq = qp->srq->rq;
		return 0;
	}
	rq = alloc_rq(qp->info.recv_depth, qp->info.max_recv_sge);
	if (!rq)
		return fail(ENOMEM, "no memory");
	rq->qp = qp->verbs;
	rq->dv.owner = qp;
	qp->rq = &rq->dv.hot;
	return 0;
}

int verbs_srq_make(struct srq_object *srq)
{
	struct recv_queue *rq = alloc_rq(srq->depth, srq->max_sge);

	if (!rq)
		return fail(ENOMEM, "no memory");
	rq->srq = srq->verbs;
	rq->dv.is_srq = true;
	rq->dv.owner = srq;
	srq->rq = &rq->dv.hot;
	return 0;
}

uint32_t verbs_srq_free_slots(const struct srq_object *srq, uint32_t *slots, uint32_t max)
{
	const struct recv_queue *const rq = recv_queue_of(srq->rq);
	uint32_t n = 0;

	for (; n < max && n <= rq->mask; n++) {
		slots[n] = __atomic_load_n(&rq->free[(rq->head + n) & rq->mask],
					   __ATOMIC_ACQUIRE); /* O6 */
		if (slots[n] == NO_SLOT)
			break;
	}
	return n;
}

void verbs_srq_free(struct srq_object *srq)
{
	verbs_rq_free(srq->rq);
}
