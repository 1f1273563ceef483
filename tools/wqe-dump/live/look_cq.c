/* SPDX-License-Identifier: BSD-2-Clause */
/* A look at a completion queue. */
#include "look.h"

#define CQE_BATCH 64 /* CQEs that are read at once */

struct poll_state {
	uint64_t next; /* address of the CQE proper */
	uint32_t ci;   /* the record, which lags behind: CQEs consumed, modulo 2^24 */
	uint8_t phase;
};

static int read_poll(struct look *look, struct poll_state *s)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	uint8_t bytes[BSN_DBR_CQ_CI_SIZE];
	struct bsn_dbr_cq_ci record;
	const int err =
		LOOK_VALUES(look, LOOK_VALUE(q->record, bytes), LOOK_VALUE(q->consumer, s->next),
			    LOOK_VALUE(q->start, s->phase));

	if (err)
		return err;
	bsn_dbr_cq_ci_decode(&record, bytes);
	s->ci = record.ci;
	return 0;
}

/* Widens 24 bits to 32: takes the value nearest to where the last look ended. */
static uint32_t widen_ci(const struct look *look, uint32_t ci)
{
	const uint32_t ahead = (ci - look->last_end) & BSN_CQ_INDEX_MASK;

	return look->has_last ? look->last_end + (ahead ^ 0x800000) - 0x800000 : ci;
}

/*
 * Finds the consumer's index: the record's, or less than a round more, as the slot says. The index
 * gives the round's owner bit, which the poller also keeps. If the two differ, the poller was
 * between its two stores.
 */
static int find_consumer(struct look *look, const struct poll_state *s, uint32_t *index)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	const uint64_t offset = s->next - (q->ring + q->stride_bytes - BSN_CQE_SIZE);
	const uint64_t slot = offset / q->stride_bytes;
	const uint32_t ci = s->ci + (((uint32_t)slot - s->ci) & (q->count - 1));

	if (offset % q->stride_bytes || slot > q->count)
		return look_torn(look, "its consumer is not at one of its CQEs: it was damaged");
	if (slot < q->count && s->phase != (ci / q->count) % 2)
		return look_torn(look, "it is being polled");
	*index = widen_ci(look, ci);
	return 0;
}

static bool is_there(const struct look *look, uint32_t index)
{
	const uint32_t stride = look->published.queue.stride_bytes;
	struct bsn_cqe_tail tail;

	bsn_cqe_tail_decode(&tail,
			    look_at(look, index) + stride - BSN_CQE_SIZE + BSN_CQE_TAIL_OFFSET);
	return tail.opcode != BSN_CQE_INVALID &&
	       tail.owner == (index / look->published.queue.count) % 2;
}

/* Reads all CQEs from @first on. One that has its owner bit in the first copy is whole. */
static int read_cqes(struct look *look, uint32_t first)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	uint32_t count = CQE_BATCH, there;
	int err;

	look->first = first;
	do {
		if (count > q->count)
			count = q->count;
		err = look_slots(look, count);
		for (there = 0; !err && there < count; there++)
			if (!is_there(look, first + there) ||
			    !look_is_stable(look, first + there, 1))
				break;
		count *= 2;
	} while (!err && there == count / 2 && there < q->count);
	look->end = first + there;
	return err;
}

/* Also reads CQEs that came since the last look and were polled, if they are still there. */
static int read_cqes_since(struct look *look, uint32_t consumer, bool goes_on)
{
	int err;

	if (!goes_on || !look->has_last || !is_before(look->last_end, consumer))
		return read_cqes(look, consumer);
	if (consumer - look->last_end <= look->published.queue.count / 2) {
		err = read_cqes(look, look->last_end);
		if (err || !is_before(look->end, consumer))
			return err;
	}
	look->missed = consumer - look->last_end;
	return read_cqes(look, consumer);
}

int look_at_completions(struct look *look, bool goes_on)
{
	const uint32_t count = look->published.queue.count;
	struct poll_state before, after;
	uint32_t consumer, consumer_after;
	int err = read_poll(look, &before);

	if (!err)
		err = find_consumer(look, &before, &consumer);
	if (!err)
		err = read_cqes_since(look, consumer, goes_on);
	if (!err)
		err = read_poll(look, &after);
	if (!err)
		err = find_consumer(look, &after, &consumer_after);
	if (err)
		return err;
	/* Within half a round no CQE can be mistaken for one of the next round. */
	if (((after.ci - before.ci) & BSN_CQ_INDEX_MASK) > count / 2 ||
	    consumer_after - look->first >= count)
		return look_too_fast(look);
	look->ring.consumer = KNOWN(consumer_after);
	look->ring.producer = KNOWN(look->end);
	look->done_end = consumer_after;
	look->rung_end = look->end;
	if (goes_on && look->has_last && is_before(look->first, look->last_end))
		look->first = is_before(look->end, look->last_end) ? look->end : look->last_end;
	return 0;
}
