/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs path's receive queues, a QP's own and shared ones. */
#include "verbs.h"

#include <stdlib.h>

#include "init.h"
#include "refuse.h"

static bool has_empty_piece(const struct bsn_sge *sge, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!sge[i].length)
			return true;
	return false;
}

/* The request that is handed in; its wr_id is there. */
BSN_ALWAYS_INLINE struct ibv_recv_wr *fill(struct recv_queue *rq, const struct bsn_sge *sge,
					   unsigned count)
{
	rq->wr.sg_list = (struct ibv_sge *)(uintptr_t)sge;
	rq->wr.num_sge = (int)count;
	return &rq->wr;
}

/* -- a QP's own ---------------------------------------------------------------------------------- */

/* Receives that the poller gave back since the last look make room. */
static __attribute__((noinline)) bool is_full(struct recv_queue *rq)
{
	const uint32_t free = rq->capacity - verbs_rq_outstanding(rq), size = rq->mask + 1;
	uint32_t slot = (uint32_t)rq->wr.wr_id;

	if (slot == size) {
		rq->lap += size;
		rq->wr.wr_id = rq->life;
		slot = 0;
	}
	rq->limit = free < size - slot ? slot + free : size;
	return !free;
}

BSN_ALWAYS_INLINE int post_own(struct bsn_rq *hot, const struct bsn_sge *sge, unsigned count,
			       uint64_t id)
{
	struct recv_queue *rq = recv_queue_of(hot);
	int err = bsn_rq_check_list(hot, sge, count);

	if (BSN_UNLIKELY(err))
		return err;
	if (BSN_UNLIKELY((uint32_t)rq->wr.wr_id == rq->limit) && is_full(rq))
		return bsn_rq_refuse_full(hot);
	rq->ids[(uint32_t)rq->wr.wr_id] = id;
	err = ibv_post_recv(rq->qp, fill(rq, sge, count), &rq->bad);
	if (BSN_UNLIKELY(err))
		return provider_refused(err);
	rq->wr.wr_id++;
	return 0;
}

static int post_rq(struct bsn_rq *hot, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	return post_own(hot, sge, count, id);
}

/* -- a shared one -------------------------------------------------------------------------------- */

/* The provider says which request it refused. One that does not costs the queue a slot. */
static __attribute__((noinline)) int put_back(struct recv_queue *rq, int result)
{
	uint8_t *const bad = (uint8_t *)rq->bad;

	rq->bad = NULL;
	if (bad)
		*--rq->take = (struct srq_slot *)(void *)(bad - offsetof(struct srq_slot, wr));
	return provider_refused(result);
}

static int post_at_begin(struct bsn_rq *hot, const struct bsn_sge *sge, unsigned count, uint64_t id);

BSN_ALWAYS_INLINE int post_shared(struct bsn_rq *hot, const struct bsn_sge *sge, unsigned count,
				  uint64_t id)
{
	struct recv_queue *rq = recv_queue_of(hot);
	struct srq_slot **take = rq->take;
	struct srq_slot *slot = __atomic_load_n(take, __ATOMIC_ACQUIRE); /* O6 */
	int err;

	if (BSN_UNLIKELY(!slot))
		return post_at_begin(hot, sge, count, id);
	/* A poller may fill it as soon as this is posted. */
	__atomic_store_n(take, NULL, __ATOMIC_RELAXED);
	slot->id = id;
	slot->wr.sg_list = (struct ibv_sge *)(uintptr_t)sge;
	if (count != 1)
		slot->wr.num_sge = (int)count;
	rq->take++;
	err = ibv_post_srq_recv(rq->srq, &slot->wr, &rq->bad);
	if (count != 1)
		slot->wr.num_sge = 1;
	if (BSN_UNLIKELY(err))
		return put_back(rq, err);
	BSN_HIDE(err); /* else a 0 would be made for what is one */
	return err;
}

/* Goes round the ring of free slots, unless there are none. */
static __attribute__((noinline)) int post_at_begin(struct bsn_rq *hot, const struct bsn_sge *sge,
						   unsigned count, uint64_t id)
{
	struct recv_queue *rq = recv_queue_of(hot);

	if (rq->take != rq->free + rq->mask + 1)
		return bsn_rq_refuse_full(hot);
	rq->take = rq->free;
	if (!__atomic_load_n(rq->take, __ATOMIC_RELAXED))
		return bsn_rq_refuse_full(hot);
	return post_shared(hot, sge, count, id);
}

/*
 * As on the direct path: empty pieces are left out. libmlx5 passes those of an SRQ on (rdma-core 44,
 * providers/mlx5/srq.c), and to the device a byte count of 0 is 2^31.
 */
static __attribute__((noinline)) int
post_srq_without_empty(struct bsn_rq *hot, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	struct bsn_sge full[UINT8_MAX];
	unsigned used = 0;

	for (unsigned i = 0; i < count; i++)
		if (sge[i].length)
			full[used++] = sge[i];
	return post_shared(hot, full, used, id);
}

static int post_srq(struct bsn_rq *hot, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	const int err = bsn_rq_check_list(hot, sge, count);

	if (BSN_UNLIKELY(err))
		return err;
	if (BSN_UNLIKELY(has_empty_piece(sge, count)))
		return post_srq_without_empty(hot, sge, count, id);
	return post_shared(hot, sge, count, id);
}

/* Several are handed in one by one, so that each of them is told from the others. */
static const struct bsn_rq_path rq_path = { .post = post_rq };
static const struct bsn_rq_path srq_path = { .post = post_srq };

/* -- their lives --------------------------------------------------------------------------------- */

void verbs_rq_clear(struct recv_queue *rq)
{
	rq->lap = rq->tail = rq->limit = 0;
	rq->life = WR_RECV | verbs_next_life();
	rq->wr.wr_id = rq->life;
}

static void fill_free(struct recv_queue *rq)
{
	for (uint32_t i = 0; i < rq->capacity; i++) {
		rq->slots[i].wr = (struct ibv_recv_wr){ .wr_id = rq->life | i, .num_sge = 1 };
		rq->free[i] = &rq->slots[i];
	}
	rq->take = rq->free;
}

void verbs_rq_free(struct bsn_rq *hot)
{
	if (!hot)
		return;
	free(recv_queue_of(hot)->slots);
	free(recv_queue_of(hot)->free);
	free(hot);
}

/* @ids: of a QP's own. */
static struct recv_queue *alloc_rq(uint32_t capacity, uint32_t max_sge, uint32_t ids)
{
	struct recv_queue *rq = bsn_hot_alloc(sizeof(*rq) + ids * sizeof(rq->ids[0]));

	if (!rq)
		return NULL;
	rq->mask = power_of_two(capacity) - 1;
	rq->capacity = capacity;
	rq->hot.path = ids ? &rq_path : &srq_path;
	rq->hot.is_srq = !ids;
	rq->hot.max_sge = (uint8_t)max_sge;
	verbs_rq_clear(rq);
	return rq;
}

static struct recv_queue *alloc_srq(uint32_t capacity, uint32_t max_sge)
{
	struct recv_queue *rq = alloc_rq(capacity, max_sge, 0);

	if (!rq)
		return NULL;
	rq->slots = calloc(capacity, sizeof(*rq->slots));
	rq->free = calloc((size_t)rq->mask + 2, sizeof(struct srq_slot *));
	if (rq->slots && rq->free) {
		fill_free(rq);
		return rq;
	}
	verbs_rq_free(&rq->hot);
	return NULL;
}

int verbs_rq_make(struct bsn_qp *qp)
{
	struct recv_queue *rq;

	if (qp->srq) {
		qp->rq = qp->srq->rq;
		return 0;
	}
	rq = alloc_rq(qp->limits.recv_depth, qp->limits.max_recv_sge,
		      power_of_two(qp->limits.recv_depth));
	if (!rq)
		return fail(ENOMEM, "no memory");
	rq->qp = qp->verbs;
	rq->hot.owner = qp;
	qp->rq = &rq->hot;
	return 0;
}

int verbs_srq_make(struct srq_object *srq)
{
	struct recv_queue *rq = alloc_srq(srq->depth, srq->max_sge);

	if (!rq)
		return fail(ENOMEM, "no memory");
	if (srq->xrcd) {
		srq->path_state = verbs_no_sends(srq->device);
		if (!srq->path_state) {
			verbs_rq_free(&rq->hot);
			return fail(ENOMEM, "no memory");
		}
		srq->route.sq = srq->path_state;
	}
	rq->srq = srq->verbs;
	rq->hot.owner = srq;
	srq->rq = &rq->hot;
	return 0;
}

void verbs_srq_free(struct srq_object *srq)
{
	free(srq->path_state);
	verbs_rq_free(srq->rq);
}
