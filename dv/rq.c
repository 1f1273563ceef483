/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive queues, the cold way: long lists of SGEs, shared receive queues, plain verbs. */
#include "bsn_rq.h"

#include <pthread.h>

#include "init.h"
#include "refuse.h"

/* Empty SGEs are skipped, since a byte count of 0 means 2^31; a short list is terminated. */
BSN_ALWAYS_INLINE void put_list(const struct bsn_rq *rq, uint8_t *dst, const struct bsn_sge *sge,
				unsigned count)
{
	unsigned used = 0;

	for (unsigned i = 0; i < count; i++)
		if (sge[i].length)
			bsn_rq_put_list(dst + BSN_DATA_SIZE * used++, &sge[i], 1);
	bsn_rq_end_list(rq, dst, used);
}

int bsn_rq_refuse_long(void)
{
	return refuse(EMSGSIZE, "more SGEs than the queue was made for (max_recv_sge)");
}

static int check_list(const struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count)
{
	if (count > rq->max_sge)
		return bsn_rq_refuse_long();
	for (unsigned i = 0; i < count; i++)
		if (sge[i].length > BSN_DATA_MAX_BYTES)
			return refuse(EMSGSIZE, "an SGE has less than 2 GiB");
	return 0;
}

static int refuse_full(struct bsn_rq *rq)
{
	rq->count_full++;
	return refuse(EAGAIN, "the receive queue is full: poll its CQ");
}

/* -- a shared receive queue that its pollers post to --------------------------------------------- */

/* With the lock held: the free WQE whose turn it is; NULL: those that are left have to rest. */
static uint16_t *take_locked(struct bsn_rq *rq)
{
	if (rq->tail - rq->lock->taken <= rq->lock->resting)
		return NULL;
	return &rq->free[rq->lock->taken & rq->mask];
}

static int post_locked(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	uint16_t next, *take;
	uint8_t *list;

	pthread_spin_lock(&rq->lock->lock);
	take = take_locked(rq);
	list = take ? bsn_srq_begin(rq, take, &next, id) : NULL;
	if (list) {
		put_list(rq, list, sge, count);
		bsn_srq_end(rq, take, next);
		rq->lock->taken++;
	}
	pthread_spin_unlock(&rq->lock->lock);
	return list ? 0 : refuse_full(rq);
}

static void add_free(struct bsn_rq *rq, uint32_t slot)
{
	const uint32_t tail = __atomic_fetch_add(&rq->tail, 1, __ATOMIC_ACQ_REL);

	__atomic_store_n(&rq->free[tail & rq->poller_mask], (uint16_t)slot, __ATOMIC_RELEASE); /* O6 */
}

void bsn_srq_give_back_shared(struct bsn_rq *rq, uint32_t slot)
{
	if (rq->lock)
		pthread_spin_lock(&rq->lock->lock);
	add_free(rq, slot);
	if (rq->lock)
		pthread_spin_unlock(&rq->lock->lock);
}

/* As every WQE that is free goes to the end of the row, there is one to take. */
bool bsn_srq_repost(struct bsn_rq *rq, uint32_t wqe_index)
{
	const uint32_t slot = wqe_index & rq->poller_mask;
	const uint8_t *from = rq->ring + (size_t)slot * rq->stride + BSN_SRQ_NEXT_SIZE;
	uint16_t next, *take;
	uint8_t *list;

	if (!rq->lock)
		return false;
	pthread_spin_lock(&rq->lock->lock);
	add_free(rq, slot);
	take = take_locked(rq);
	list = bsn_srq_begin(rq, take, &next, rq->ids[slot]);
	for (unsigned i = 0; i < rq->max_sge; i++)
		bsn_store_ds(list + i * BSN_DATA_SIZE, bsn_ds_load(from + i * BSN_DATA_SIZE));
	bsn_srq_end(rq, take, next);
	rq->lock->taken++;
	pthread_spin_unlock(&rq->lock->lock);
	return true;
}

/* The ring of free WQEs comes round: the entry after the last looks like one that is not filled yet. */
static int post_srq(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	uint16_t next;
	uint8_t *list;

	if (!rq->take)
		return post_locked(rq, sge, count, id);
	if (rq->take == rq->free + rq->mask + 1)
		rq->take = rq->free;
	list = bsn_srq_begin(rq, rq->take, &next, id);
	if (!list)
		return refuse_full(rq);
	put_list(rq, list, sge, count);
	bsn_srq_end(rq, rq->take++, next);
	return 0;
}

static int post_srq1(struct bsn_rq *rq, const struct bsn_sge *sge, uint64_t id)
{
	return post_srq(rq, sge, 1, id);
}

static int post_srq_plain(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	return count > rq->max_sge ? bsn_rq_refuse_long() : post_srq(rq, sge, count, id);
}

const struct bsn_rq_path bsn_srq_path = { .post1 = post_srq1,
					  .post_plain = post_srq_plain,
					  .post = post_srq };

/* -- a QP's own ---------------------------------------------------------------------------------- */

static bool show_room(struct bsn_rq *rq)
{
	const uint32_t tail = __atomic_load_n(&rq->tail, __ATOMIC_ACQUIRE); /* O6 */
	const uint16_t outstanding = (uint16_t)(rq->head - (uint16_t)tail);
	size_t bytes;

	if (BSN_UNLIKELY(outstanding > rq->capacity)) /* more was given back than posted */
		return false;
	bytes = (size_t)(rq->capacity - outstanding) << rq->stride_log2;
	if (rq->slot == rq->ring_end) {
		rq->slot = rq->ring;
		rq->id_at = rq->ids;
	}
	if (bytes > (size_t)(rq->ring_end - rq->slot))
		bytes = (size_t)(rq->ring_end - rq->slot);
	rq->limit = rq->slot + bytes;
	rq->lone_limit = rq->max_sge == 1 ? rq->limit : NULL;
	return bytes;
}

static int post_rq(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	if (rq->slot >= rq->limit && !show_room(rq))
		return refuse_full(rq);
	put_list(rq, rq->slot, sge, count);
	bsn_rq_end(rq, id, rq->stride);
	return 0;
}

/* Short of room, mostly at the ring's end. */
static int post_rq1(struct bsn_rq *rq, const struct bsn_sge *sge, uint64_t id)
{
	return post_rq(rq, sge, 1, id);
}

static int post_rq_plain(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	return count > rq->max_sge ? bsn_rq_refuse_long() : post_rq(rq, sge, count, id);
}

const struct bsn_rq_path bsn_rq_own_path = { .post1 = post_rq1,
					     .post_plain = post_rq_plain,
					     .post = post_rq };

int bsn_rq_post(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned sge_count, uint64_t id)
{
	int err;

	if (!rq)
		return refuse(EINVAL, "no receive queue");
	BSN_CHECK_OWNER(rq);
	err = check_list(rq, sge, sge_count);
	return err ? err : rq->path->post(rq, sge, sge_count, id);
}
