/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive queues: posts that the inline code leaves to the library, and a QP's own queue. */
#include "rq.h"

#include <stdlib.h>

#include "init.h"
#include "refuse.h"
#include "srq.h"

/* -- any kind of queue ------------------------------------------------------------------------ */

static int refuse_null(void)
{
	return refuse(EINVAL, "no receive queue");
}

int bsn_rq_check_list(const struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count)
{
	if (count > rq->max_sge)
		return refuse_with(EMSGSIZE, "%u SGEs: the queue was made for %u (max_recv_sge)",
				   count, rq->max_sge);
	for (unsigned i = 0; i < count; i++)
		if (sge[i].length > BSN_DATA_MAX_BYTES)
			return refuse(EMSGSIZE, "an SGE must be shorter than 2 GiB");
	return 0;
}

int bsn_rq_put_any_list(const struct bsn_rq *rq, uint8_t *at, const struct bsn_sge *sge,
			unsigned count)
{
	const int err = bsn_rq_check_list(rq, sge, count);
	unsigned used = 0;

	if (err)
		return err;
	for (unsigned i = 0; i < count; i++) {
		if (!sge[i].length)
			continue;
		at = bsn_put_sge(at, &sge[i]);
		used++;
	}
	bsn_rq_end_list(at, used, rq->max_sge);
	return 0;
}

int bsn_rq_refuse_full(struct bsn_rq *rq)
{
	dv_rq(rq)->count_full++;
	return refuse(EAGAIN, "the receive queue is full: poll its CQ");
}

int bsn_rq_post(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned sge_count, uint64_t id)
{
	return BSN_LIKELY(rq) ? dv_rq(rq)->path->post(rq, sge, sge_count, id) : refuse_null();
}

int bsn_recv_many(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids, unsigned count)
{
	return BSN_LIKELY(rq) ? dv_rq(rq)->path->post_many(rq, sge, ids, count) : refuse_null();
}

int bsn_rq_post_rest(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
		     unsigned done, unsigned count)
{
	for (; done < count; done++) {
		const int err = bsn_rq_post(rq, &sge[done], 1, ids[done]);
		if (err)
			return done ? (int)done : err;
	}
	return (int)done;
}

int bsn_rq_post_each(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
		     unsigned count)
{
	return bsn_rq_post_rest(rq, sge, ids, 0, count);
}

/* -- a QP's own ------------------------------------------------------------------------------- */

/*
 * Takes over what the poller gave back, and goes round the ring's end. Returns whether there is
 * room.
 */
static bool refill(struct bsn_rq *rq)
{
	const struct dv_rq *const whole = dv_rq(rq);
	const uint32_t tail = __atomic_load_n(&rq->tail, __ATOMIC_ACQUIRE); /* O6 */
	const uint16_t outstanding = (uint16_t)(rq->head - (uint16_t)tail);
	const uint64_t *const ids_end = rq->ids + rq->mask + 1;
	size_t room;

	if (BSN_UNLIKELY(outstanding > whole->capacity)) /* more was given back than posted */
		return false;
	if (rq->id_at == ids_end) {
		rq->id_at = rq->ids;
		rq->slot = whole->ring;
	}
	room = whole->capacity - outstanding;
	if (room > (size_t)(ids_end - rq->id_at))
		room = (size_t)(ids_end - rq->id_at);
	rq->limit = rq->slot + (room << whole->stride_log2);
	return room;
}

static int post_own(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	int err;

	if (rq->slot >= rq->limit && !refill(rq))
		return bsn_rq_refuse_full(rq);
	err = bsn_rq_put_list(rq, rq->slot, sge, count);
	if (BSN_UNLIKELY(err))
		return err;
	bsn_rq_move_on(rq, id);
	bsn_rq_publish(rq);
	return 0;
}

static int post_own_many(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
			 unsigned count)
{
	const size_t stride = rq->stride;
	const unsigned max_sge = rq->max_sge;
	uint8_t *slot, *end;
	uint64_t *id_at;
	unsigned done = 0;

	if (rq->slot + count * stride > rq->limit)
		refill(rq);
	slot = rq->slot;
	id_at = rq->id_at;
	end = slot + count * stride < rq->limit ? slot + count * stride : rq->limit;
	for (; slot < end && bsn_is_plain(&sge[done]); done++) {
		bsn_rq_end_list(bsn_put_sge(slot, &sge[done]), 1, max_sge);
		id_at[done] = ids[done];
		slot += stride;
	}
	rq->slot = slot;
	rq->id_at += done;
	rq->head = (uint16_t)(rq->head + done);
	if (done)
		bsn_rq_publish(rq);
	return done == count ? (int)done : bsn_rq_post_rest(rq, sge, ids, done, count);
}

/* -- from creation to the end ----------------------------------------------------------------- */

void bsn_rq_clear(struct bsn_rq *rq)
{
	rq->slot = dv_rq(rq)->ring;
	rq->id_at = rq->ids;
	rq->limit = NULL; /* none is known to be free: the first post looks */
	rq->head = 0;
	rq->tail = 0;
	dv_rq(rq)->count_full = 0;
}

void bsn_rq_init(struct bsn_rq *rq, const struct bsn_rq_init *init, uint64_t *ids)
{
	struct dv_rq *whole = dv_rq(rq);

	rq->ids = ids;
	whole->ring = init->ring;
	whole->lists = init->ring;
	rq->record = init->record;
	rq->stride = init->stride_bytes;
	whole->stride_log2 = (uint8_t)__builtin_ctz(init->stride_bytes);
	rq->mask = init->count - 1;
	rq->max_sge = (uint8_t)(init->stride_bytes / BSN_DATA_SIZE);
	whole->capacity = init->capacity;
}

struct bsn_rq *bsn_rq_alloc(const struct bsn_rq_init *init)
{
	static const struct bsn_rq_path path = { .post = post_own, .post_many = post_own_many };
	struct dv_rq *rq = bsn_hot_alloc(sizeof(*rq) + init->count * sizeof(uint64_t));

	if (!rq)
		return NULL;
	bsn_rq_init(&rq->hot, init, (uint64_t *)(rq + 1));
	bsn_rq_clear(&rq->hot);
	rq->path = &path;
	return &rq->hot;
}

void bsn_rq_free(struct bsn_rq *rq)
{
	if (rq && dv_rq(rq)->has_lock)
		pthread_spin_destroy(&bsn_srq_of(rq)->lock);
	free(rq);
}
