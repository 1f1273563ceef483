/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. */
#include "srq.h"

#include "init.h"
#include "rq.h"

/* -- posting ---------------------------------------------------------------------------------- */

static int post_shared(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	struct bsn_srq *const srq = bsn_srq_of(rq);
	uint8_t *const wqe = bsn_srq_wqe(srq, srq->next);
	const uint32_t after = bsn_srq_link(wqe);
	int err;

	if (BSN_UNLIKELY(after == BSN_SRQ_NO_SLOT))
		return bsn_rq_refuse_full(rq);
	err = bsn_rq_put_list(rq, wqe + BSN_SRQ_NEXT_SIZE, sge, count);
	if (BSN_UNLIKELY(err))
		return err;
	rq->ids[srq->next] = id;
	rq->head++;
	bsn_rq_publish(rq);
	srq->next = after; /* tools that read the queue count it as posted now */
	return 0;
}

static int post_shared_many(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
			    unsigned count)
{
	struct bsn_srq *const srq = bsn_srq_of(rq);
	uint8_t *const lists = dv_rq(rq)->lists;
	uint8_t *const ends = srq->ends;
	uint64_t *const all_ids = rq->ids;
	const size_t stride = rq->stride;
	size_t slot = srq->next, done;

	for (done = 0; done < count; done++) {
		const size_t at = slot * stride;
		const uint16_t after = bsn_srq_link(lists + at - BSN_SRQ_NEXT_SIZE);

		if (BSN_UNLIKELY(after == BSN_SRQ_NO_SLOT) || !bsn_is_plain(&sge[done]))
			break;
		const struct bsn_be64 first = bsn_sge_word(&sge[done], 0);
		bsn_rq_put_end(ends + at);
		bsn_store_wqe(lists + at, first);
		bsn_store_wqe(lists + at + 8, bsn_sge_word(&sge[done], 1));
		all_ids[slot] = ids[done];
		slot = after;
	}
	rq->head = (uint16_t)(rq->head + done);
	if (done)
		bsn_rq_publish(rq);
	srq->next = (uint32_t)slot;
	return done == count ? (int)done : bsn_rq_post_rest(rq, sge, ids, (unsigned)done, count);
}

static const struct bsn_rq_path srq_path = { .post = post_shared, .post_many = post_shared_many };

/* -- giving back ------------------------------------------------------------------------------ */

uint64_t bsn_srq_give_back_locked(struct bsn_rq *rq, uint32_t wqe_index)
{
	struct bsn_srq *const srq = bsn_srq_of(rq);
	uint64_t id;

	pthread_spin_lock(&srq->lock);
	id = bsn_srq_give_back(rq, wqe_index);
	srq->free_count++;
	pthread_spin_unlock(&srq->lock);
	return id;
}

void bsn_srq_share(struct bsn_rq *rq)
{
	dv_rq(rq)->has_many_pollers = true;
}

/* -- with a lock ------------------------------------------------------------------------------ */

static int post_locked(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	struct bsn_srq *const srq = bsn_srq_of(rq);
	int err;

	pthread_spin_lock(&srq->lock);
	err = srq->free_count > srq->resting ? post_shared(rq, sge, count, id)
					     : bsn_rq_refuse_full(rq);
	srq->free_count -= !err;
	pthread_spin_unlock(&srq->lock);
	return err;
}

static const struct bsn_rq_path locked_path = { .post = post_locked,
						.post_many = bsn_rq_post_each };

/* The WQE first goes to the end of the free list. So the list has another one, which is posted. */
bool bsn_srq_repost(struct bsn_rq *rq, uint32_t wqe_index)
{
	struct bsn_srq *const srq = bsn_srq_of(rq);
	const uint32_t slot = wqe_index & rq->mask;
	const size_t end = BSN_SRQ_NEXT_SIZE + (size_t)rq->max_sge * BSN_DATA_SIZE;
	uint8_t *wqe;

	if (!dv_rq(rq)->has_lock)
		return false;
	pthread_spin_lock(&srq->lock);
	bsn_srq_append_free(srq, slot);
	wqe = bsn_srq_wqe(srq, srq->next);
	for (size_t at = BSN_SRQ_NEXT_SIZE; at < end; at += 8) {
		struct bsn_be64 word;
		memcpy(&word, bsn_srq_wqe(srq, slot) + at, sizeof(word));
		bsn_store_wqe(wqe + at, word);
	}
	rq->ids[srq->next] = rq->ids[slot];
	rq->head++;
	bsn_rq_publish(rq);
	srq->next = bsn_srq_link(wqe);
	pthread_spin_unlock(&srq->lock);
	return true;
}

/* -- creation --------------------------------------------------------------------------------- */

/* Counts the free list, and adds the ring's other WQEs to it, which rest. */
static void rest_others(struct bsn_srq *srq)
{
	for (uint32_t slot = srq->next; slot != srq->last;
	     slot = bsn_srq_link(bsn_srq_wqe(srq, slot)))
		srq->free_count++;
	for (; srq->free_count < srq->rq.hot.mask; srq->free_count++, srq->resting++)
		srq->last = bsn_srq_link(bsn_srq_wqe(srq, srq->last));
}

struct bsn_rq *bsn_srq_alloc(const struct bsn_rq_init *init)
{
	struct bsn_srq *srq = bsn_hot_alloc(sizeof(*srq) + init->count * sizeof(uint64_t));

	if (!srq)
		return NULL;
	bsn_rq_init(&srq->rq.hot, init, (uint64_t *)(srq + 1));
	srq->rq.hot.max_sge--; /* the link takes the room of one */
	srq->rq.lists += BSN_SRQ_NEXT_SIZE;
	srq->rq.is_srq = true;
	srq->rq.path = init->is_on_demand ? &locked_path : &srq_path;
	srq->next = init->first_free;
	srq->ends = srq->rq.lists + (srq->rq.hot.max_sge > 1 ? BSN_DATA_SIZE : 0);
	srq->last = init->last_free;
	srq->rq.has_lock = init->is_on_demand;
	if (srq->rq.has_lock) {
		pthread_spin_init(&srq->lock, PTHREAD_PROCESS_PRIVATE);
		rest_others(srq);
	}
	bsn_srq_set_link(bsn_srq_wqe(srq, srq->last), BSN_SRQ_NO_SLOT);
	return &srq->rq.hot;
}
