/* SPDX-License-Identifier: BSD-2-Clause */
/* A look at a receive queue, a QP's own or a shared one. */
#include <string.h>

#include "look.h"

struct recv_state {
	uint32_t tail, head;
	uint32_t rung; /* the doorbell record */
};

/* The consumer is read twice: the 16 bits of the producer do not say how many rounds passed. */
static int read_recv(struct look *look, struct recv_state *s)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	uint32_t tail_after;
	uint16_t head;
	uint8_t record[BSN_DBR_WQ_SIZE];
	const int err = LOOK_VALUES(look, LOOK_VALUE(q->consumer, s->tail),
				    LOOK_VALUE(q->record, record), LOOK_VALUE(q->producer, head),
				    LOOK_VALUE(q->consumer, tail_after));

	if (err)
		return err;
	s->head = widen_on(s->tail, head);
	s->rung = widen_back(s->head, record_index(record));
	if (tail_after - s->tail >= q->count || s->head - s->tail > q->count)
		return look_too_fast(look);
	return 0;
}

int look_at_recv(struct look *look, bool goes_on)
{
	struct recv_state before, after;
	int err = read_recv(look, &before);

	if (err)
		return err;
	look->first = before.tail;
	/* WQEs after the doorbell record may be half written. */
	look->end = look->rung_end = before.rung;
	if (goes_on && look->has_last && !is_before(look->last_end, before.tail) &&
	    !is_before(look->end, look->last_end))
		look->first = look->last_end;
	if (is_before(look->end, look->first))
		look->end = look->first;
	err = look_slots(look, look->end - look->first);
	if (!err)
		err = read_recv(look, &after);
	if (err)
		return err;
	if (is_before(after.head, before.head) || is_before(after.tail, before.tail) ||
	    !look_is_stable(look, look->first, look->end - look->first))
		return look_torn(look, "it was written to while it was read");
	if (is_before(look->first, after.tail))
		look->first = is_before(look->end, after.tail) ? look->end : after.tail;
	look->ring.producer = KNOWN(after.head);
	look->ring.consumer = KNOWN(after.tail);
	return 0;
}

struct shared_state {
	uint16_t posted;
	uint32_t next;
};

static int read_shared(struct look *look, struct shared_state *s)
{
	const struct bsn_registry_queue *q = &look->published.queue;

	return LOOK_VALUES(look, LOOK_VALUE(q->producer, s->posted),
			   LOOK_VALUE(q->consumer, s->next));
}

/* Marks the free slots, each of which names the next one. False: one has an impossible number. */
static bool mark_free(struct look *look, uint32_t slot)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	struct bsn_srq_next link;

	memset(look->is_free, 0, q->used);
	memset(look->is_free + q->used, true, q->count - q->used);
	do {
		if (slot >= q->used || look->is_free[slot])
			return false;
		look->is_free[slot] = true;
		bsn_srq_next_decode(&link, look->second + (size_t)slot * q->stride_bytes);
		slot = link.next_wqe_index;
	} while (slot != BSN_REGISTRY_NO_SLOT);
	return true;
}

/* The slot that is posted next is read before and after the slots, which are read twice. */
int look_at_shared(struct look *look, bool goes_on)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	struct shared_state before, after;
	int err = read_shared(look, &before);

	(void)goes_on;
	look->first = 0;
	look->end = look->rung_end = q->count;
	if (!err)
		err = look_slots(look, q->count);
	if (!err)
		err = read_shared(look, &after);
	if (err)
		return err;
	if (before.posted != after.posted || before.next != after.next ||
	    !look_is_stable(look, 0, q->count))
		return look_torn(look, "it was used while it was read");
	if (!mark_free(look, after.next))
		return look_torn(look, "its list of free WQEs was damaged");
	look->ring.producer = KNOWN(after.next); /* a slot: the list has no order */
	return 0;
}
