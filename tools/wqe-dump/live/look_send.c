/* SPDX-License-Identifier: BSD-2-Clause */
/* A look at a send queue. */
#include <errno.h>
#include <stdio.h>

#include "look.h"

struct send_state {
	uint32_t start; /* a WQE begins here; nothing from here up to the producer is overwritten */
	uint32_t done;  /* where the last completed WQE begins */
	uint32_t producer;
	uint32_t rung; /* the doorbell record */
};

/*
 * The lap is a copy of the producer, less than 2^16 slots old. If a new lap is stored meanwhile,
 * and the producer seems to be before it, the producer may also be 2^16 further: -EAGAIN.
 */
static int try_producer(struct look *look, uint32_t *producer)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	uint32_t lap, lap_after;
	uint16_t low;
	const int err = LOOK_VALUES(look, LOOK_VALUE(q->lap, lap), LOOK_VALUE(q->producer, low),
				    LOOK_VALUE(q->lap, lap_after));

	if (err)
		return err;
	*producer = widen_on(lap, low);
	return *producer - lap < lap_after - lap ? -EAGAIN : 0;
}

/* The lap of a small ring changes often. Then only the producer is read again. */
static int read_producer(struct look *look, uint32_t *producer)
{
	int patience = look->target->is_live ? LOOK_PATIENCE : 1;
	int err;

	do
		err = try_producer(look, producer);
	while (err == -EAGAIN && --patience);
	return err == -EAGAIN ? look_too_fast(look) : err;
}

/*
 * Reads the producer before and after the other counters, which are never ahead of it. The producer
 * must not advance by a whole round meanwhile, since 16 bits do not say how many rounds passed.
 */
static int read_send(struct look *look, struct send_state *s)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	uint8_t record[BSN_DBR_WQ_SIZE];
	uint16_t start, done;
	uint32_t before;
	int err = read_producer(look, &before);

	if (!err)
		err = LOOK_VALUES(look, LOOK_VALUE(q->start, start), LOOK_VALUE(q->consumer, done),
				  LOOK_VALUE(q->record, record));
	if (!err)
		err = read_producer(look, &s->producer);
	if (err)
		return err;
	s->start = widen_back(s->producer, start);
	s->done = widen_back(s->producer, done);
	s->rung = widen_back(s->producer, record_index(record));
	if (s->producer - before >= q->count || s->producer - s->start > q->count)
		return look_too_fast(look);
	return 0;
}

/* The blocks of the WQE at @index, if it is this queue's, whole, and not being written; else 0. */
static uint32_t measure_wqe(const struct look *look, uint32_t index)
{
	struct bsn_ctrl ctrl;
	uint32_t blocks;

	bsn_ctrl_decode(&ctrl, look_at(look, index));
	blocks = bsn_bb_of_ds(ctrl.ds);
	if (ctrl.qpn != look->published.queue.number || ctrl.wqe_index != (uint16_t)index ||
	    !blocks || blocks > look->end - index)
		return 0;
	return look_is_stable(look, index, blocks) ? blocks : 0;
}

/* Walks from WQE to WQE, up to one that is overwritten or half written by its index or QPN. */
static int follow_chain(struct look *look)
{
	const uint32_t end = look->end;

	for (uint32_t at = look->first; at != look->end;) {
		const uint32_t blocks = measure_wqe(look, at);

		if (!blocks)
			look->end = at;
		at += blocks;
	}
	if (look->end == end)
		return 0;
	snprintf(look->why, sizeof(look->why),
		 "%s 0x%x: slot %u has no WQE of the index %u: it is being written, or was damaged",
		 look->ring.name, look->published.queue.number, look->end & (look->ring.count - 1),
		 look->end & UINT16_MAX);
	return -EAGAIN;
}

/* Where to begin: where the last look ended, if that WQE still exists, or at the poster's mark. */
static uint32_t first_send(struct look *look, const struct send_state *s, bool goes_on)
{
	if (!goes_on || !look->has_last || is_before(s->producer, look->last_end))
		return s->start;
	if (s->producer - look->last_end <= look->published.queue.count)
		return look->last_end;
	look->missed = s->start - look->last_end;
	return s->start;
}

/* Drops what the poster may have overwritten while it was copied. */
static void drop_overwritten(struct look *look, const struct send_state *after)
{
	const uint32_t count = look->published.queue.count;
	uint32_t first = look->first;

	if (!is_before(first, after->start) || after->producer + BSN_WQE_MAX_BB - first <= count)
		return;
	first = is_before(look->end, after->start) ? look->end : after->start;
	if (look->has_last && look->first == look->last_end)
		look->missed += first - look->first;
	look->first = first;
}

int look_at_send(struct look *look, bool goes_on)
{
	struct send_state before, after;
	int err = read_send(look, &before);

	if (err)
		return err;
	look->first = first_send(look, &before, goes_on);
	look->end = before.producer;
	err = look_slots(look, look->end - look->first);
	if (!err)
		err = read_send(look, &after);
	if (err)
		return err;
	if (is_before(after.producer, before.producer) || is_before(after.start, before.start))
		return look_torn(look, "it was reset meanwhile");
	drop_overwritten(look, &after);
	look->done_end = after.done + 1;
	look->rung_end = after.rung;
	look->ring.producer = KNOWN(after.producer);
	look->ring.consumer = KNOWN(after.start);
	return follow_chain(look);
}
