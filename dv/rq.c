/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive queues, the cold way: long lists of SGEs, shared receive queues, plain verbs. */
#include "bsn_rq.h"

#include "init.h"

static int refuse(int error, const char *why)
{
	bsn_refusal = why;
	return -error;
}

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

static int check_list(const struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count)
{
	if (count > rq->max_sge)
		return refuse(EMSGSIZE, "more SGEs than the queue was made for (max_recv_sge)");
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

/* The ring of free WQEs comes round: the entry after the last looks like one that is not filled yet. */
static int post_srq(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	uint16_t next;
	uint8_t *list;

	if (rq->take == rq->free + rq->mask + 1)
		rq->take = rq->free;
	list = bsn_srq_begin(rq, &next, id);
	if (!list)
		return refuse_full(rq);
	put_list(rq, list, sge, count);
	bsn_srq_end(rq, next);
	return 0;
}

static bool show_room(struct bsn_rq *rq)
{
	const uint32_t tail = __atomic_load_n(&rq->tail, __ATOMIC_ACQUIRE); /* O6 */
	const uint16_t outstanding = (uint16_t)(rq->head - (uint16_t)tail);
	size_t bytes = (size_t)(rq->capacity - outstanding) << rq->stride_log2;

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

int bsn_rq_post(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned sge_count, uint64_t id)
{
	int err;

	if (!rq)
		return refuse(EINVAL, "no receive queue");
	BSN_CHECK_OWNER(rq);
	err = check_list(rq, sge, sge_count);
	if (err)
		return err;
	if (rq->path)
		return rq->path->post(rq, sge, sge_count, id);
	return rq->is_srq ? post_srq(rq, sge, sge_count, id) : post_rq(rq, sge, sge_count, id);
}

/* What a list of one that was plain is short of: room in a QP's own queue, mostly at the ring's end. */
int bsn_rq_post1(struct bsn_rq *rq, const struct bsn_sge *sge, uint64_t id)
{
	if (BSN_UNLIKELY(!rq || (int32_t)sge->length <= 0))
		return bsn_rq_post(rq, sge, 1, id);
	BSN_CHECK_OWNER(rq);
	if (BSN_UNLIKELY(rq->path != NULL))
		return rq->path->post(rq, sge, 1, id);
	return rq->take ? post_srq(rq, sge, 1, id) : post_rq(rq, sge, 1, id);
}
