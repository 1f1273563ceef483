/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive queues, the long way: lists of SGEs, shared receive queues, plain verbs. */
#include "bsn_rq.h"

static uint8_t *wqe_of(const struct bsn_rq *rq, unsigned slot)
{
	return rq->ring + ((size_t)slot << rq->stride_log2);
}

static void put_data(uint8_t *dst, const struct bsn_data *data)
{
	bsn_store_wqe(dst, bsn_to_be64(bsn_data_word(data, 0)));
	bsn_store_wqe(dst + 8, bsn_to_be64(bsn_data_word(data, 1)));
}

/* Empty SGEs are skipped, since a byte count of 0 means 2^31; a short list is terminated. */
static void put_list(const struct bsn_rq *rq, uint8_t *dst, const struct bsn_sge *sge, unsigned count)
{
	static const struct bsn_data end = { .lkey = BSN_LKEY_TERMINATOR };
	unsigned used = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct bsn_data data = { .byte_count = sge[i].length,
					       .lkey = sge[i].lkey,
					       .addr = sge[i].addr };
		if (data.byte_count)
			put_data(dst + BSN_DATA_SIZE * used++, &data);
	}
	if (used < rq->max_sge)
		put_data(dst + BSN_DATA_SIZE * used, &end);
}

static int check_list(const struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count)
{
	if (count > rq->max_sge)
		return -EMSGSIZE;
	for (unsigned i = 0; i < count; i++)
		if (sge[i].length > BSN_DATA_MAX_BYTES)
			return -EMSGSIZE;
	return 0;
}

static void publish(struct bsn_rq *rq)
{
	const struct bsn_dbr_wq record = { .index = rq->head };

	bsn_to_device(); /* O7 */
	bsn_store_record(rq->record, bsn_dbr_wq_dword(&record, 0));
}

/*
 * An SRQ is a linked list: each WQE names the next one, and the device follows the links. The free
 * ones hang at its end; one stays there unused, so that the last posted always has a successor.
 */
static int post_srq(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	const uint16_t slot = rq->srq_free_head;
	struct bsn_srq_next link;

	if (slot == __atomic_load_n(&rq->srq_free_tail, __ATOMIC_ACQUIRE)) { /* O6 */
		rq->count_full++;
		return -EAGAIN;
	}
	bsn_srq_next_decode(&link, wqe_of(rq, slot));
	put_list(rq, wqe_of(rq, slot) + BSN_SRQ_NEXT_SIZE, sge, count);
	bsn_rq_ids(rq)[slot] = id;
	rq->srq_free_head = (uint16_t)link.next_wqe_index;
	rq->limit = ++rq->head; /* still no credits for the inline code */
	publish(rq);
	return 0;
}

static int post_rq(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	const uint32_t tail = __atomic_load_n(&rq->tail, __ATOMIC_ACQUIRE); /* O6 */
	const unsigned slot = rq->head & rq->mask;

	rq->limit = tail + rq->capacity;
	if (rq->head == rq->limit) {
		rq->count_full++;
		return -EAGAIN;
	}
	put_list(rq, wqe_of(rq, slot), sge, count);
	bsn_rq_ids(rq)[slot] = id;
	rq->head++;
	publish(rq);
	return 0;
}

int bsn_rq_post(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned sge_count, uint64_t id)
{
	int err;

	if (!rq)
		return -EINVAL;
	BSN_CHECK_OWNER(rq);
	err = check_list(rq, sge, sge_count);
	if (err)
		return err;
	if (rq->path)
		return rq->path->post(rq, sge, sge_count, id);
	return rq->is_srq ? post_srq(rq, sge, sge_count, id) : post_rq(rq, sge, sge_count, id);
}

/* Gives a WQE back: its id; an SRQ's WQE goes to the end of the free list. */
uint64_t bsn_rq_retire(struct bsn_rq *rq, uint16_t wqe_index)
{
	const unsigned slot = wqe_index & rq->poller_mask;
	const uint64_t id = bsn_rq_ids(rq)[slot];

	if (rq->is_srq) {
		const struct bsn_srq_next link = { .next_wqe_index = slot };
		uint8_t *last = rq->poller_ring +
				((size_t)rq->srq_free_tail << rq->poller_stride_log2);
		bsn_srq_next_encode(last, &link);
		__atomic_store_n(&rq->srq_free_tail, (uint16_t)slot, __ATOMIC_RELEASE); /* O6 */
	} else {
		__atomic_store_n(&rq->tail, rq->tail + 1, __ATOMIC_RELEASE); /* O6 */
	}
	return id;
}
