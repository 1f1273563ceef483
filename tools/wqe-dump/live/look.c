/* SPDX-License-Identifier: BSD-2-Clause */
#include "look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE    64          /* attempts */
#define RETRY_BYTES (32u << 20) /* what attempts may read; more than that only the first one */
#define CQE_BATCH   64          /* CQEs that are read at once */

/* -- reading ----------------------------------------------------------------------------------- */

/* Discards what was read. The sentence is shown if this was the last attempt. */
static int be_torn(struct look *look, const char *what)
{
	snprintf(look->why, sizeof(look->why), "%s 0x%x: %s", look->ring.name,
		 look->published.queue.number, what);
	look->first = look->end = 0;
	return -EAGAIN;
}

static int read_value(struct look *look, uint64_t address, void *value, size_t bytes)
{
	return target_read(look->target, address, value, bytes);
}

static int be_damaged(struct look *look)
{
	return target_fail(look->target, EPROTO, "the list of queues is damaged");
}

static int make_room(struct look *look, size_t bytes)
{
	uint8_t *more;

	if (bytes <= look->room_bytes)
		return 0;
	if (!target_has_room(look->target, bytes))
		return be_damaged(look);
	more = realloc(look->bytes, bytes);
	if (more)
		look->bytes = more;
	if (more)
		more = realloc(look->again, bytes);
	if (!more)
		return target_fail(look->target, ENOMEM, "out of memory");
	look->again = more;
	look->room_bytes = bytes;
	return 0;
}

/* Copies slots from @first on into @to, also across the end of the ring. */
static int read_slots(struct look *look, uint32_t first, uint32_t count, uint8_t *to)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	const uint32_t slot = first & (q->count - 1);
	const uint32_t straight = count < q->count - slot ? count : q->count - slot;
	const int err = target_read(look->target, q->ring + (uint64_t)slot * q->stride_bytes, to,
				    (size_t)straight * q->stride_bytes);

	return err || straight == count
		       ? err
		       : target_read(look->target, q->ring, to + (size_t)straight * q->stride_bytes,
				     (size_t)(count - straight) * q->stride_bytes);
}

/* Copies the slots twice: where the copies differ, somebody was writing. */
static int read_slots_twice(struct look *look, uint32_t first, uint32_t count)
{
	const size_t bytes = (size_t)count * look->published.queue.stride_bytes;
	int err = make_room(look, bytes);

	if (!err)
		err = read_slots(look, first, count, look->bytes);
	if (!err)
		err = read_slots(look, first, count, look->again);
	return err;
}

static bool is_stable(const struct look *look, uint32_t nth, uint32_t count)
{
	const size_t stride = look->published.queue.stride_bytes;

	return !count ||
	       !memcmp(look->bytes + nth * stride, look->again + nth * stride, count * stride);
}

/* Drops entries from the front of the copy. */
static void drop(struct look *look, uint32_t first)
{
	const size_t stride = look->published.queue.stride_bytes;
	const size_t from = (first - look->first) * stride, bytes = (look->end - first) * stride;

	if (bytes) {
		memmove(look->bytes, look->bytes + from, bytes);
		memmove(look->again, look->again + from, bytes);
	}
	look->first = first;
}

const uint8_t *look_at(const struct look *look, uint32_t index)
{
	return look->bytes + (size_t)(index - look->first) * look->published.queue.stride_bytes;
}

/* Compares counters that run modulo 2^32 and are less than 2^31 apart. */
static bool is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* -- send queue -------------------------------------------------------------------------------- */

struct send_state {
	uint32_t start; /* a WQE begins here; nothing up to the producer is overwritten */
	uint32_t done;  /* where the last completed WQE begins */
	uint32_t producer;
	uint32_t rung; /* the doorbell record */
};

static int read_record(struct look *look, uint32_t *index)
{
	struct bsn_dbr_wq record;
	uint8_t bytes[BSN_DBR_WQ_SIZE];
	const int err = read_value(look, look->published.queue.record, bytes, sizeof(bytes));

	if (err)
		return err;
	bsn_dbr_wq_decode(&record, bytes);
	*index = record.index;
	return 0;
}

static int be_too_fast(struct look *look)
{
	return be_torn(look, "it moves faster than it can be read");
}

/* Widens a 16-bit counter to 32 bits. It is at or before @index, and less than 2^16 away. */
static uint32_t widen_back(uint32_t index, uint32_t low)
{
	return index - (uint16_t)(index - low);
}

/* The same for a counter that is at or after @index. */
static uint32_t widen_on(uint32_t index, uint32_t low)
{
	return index + (uint16_t)(low - index);
}

/*
 * The lap is a copy of the producer, less than 2^16 slots old. If a new lap is stored meanwhile,
 * and the producer seems to be before it, the producer may also be 2^16 further on: -EAGAIN.
 */
static int try_producer(struct look *look, uint32_t *producer)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	uint32_t lap, lap_after;
	uint16_t low;
	int err = read_value(look, q->lap, &lap, sizeof(lap));

	if (!err)
		err = read_value(look, q->producer, &low, sizeof(low));
	if (!err)
		err = read_value(look, q->lap, &lap_after, sizeof(lap_after));
	if (err)
		return err;
	*producer = widen_on(lap, low);
	return *producer - lap < lap_after - lap ? -EAGAIN : 0;
}

/* The lap of a small ring changes often. Then only the producer is read again, and nothing else. */
static int read_producer(struct look *look, uint32_t *producer)
{
	int patience = look->target->is_live ? PATIENCE : 1;
	int err;

	do
		err = try_producer(look, producer);
	while (err == -EAGAIN && --patience);
	return err == -EAGAIN ? be_too_fast(look) : err;
}

/*
 * Reads the producer before and after the other counters, which are never ahead of it. The producer
 * must not advance by a whole round meanwhile, since 16 bits do not tell how many rounds passed.
 */
static int read_send(struct look *look, struct send_state *s)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	uint16_t start, done;
	uint32_t before;
	int err = read_producer(look, &before);

	if (!err)
		err = read_value(look, q->start, &start, sizeof(start));
	if (!err)
		err = read_value(look, q->consumer, &done, sizeof(done));
	if (!err)
		err = read_record(look, &s->rung);
	if (!err)
		err = read_producer(look, &s->producer);
	if (err)
		return err;
	s->start = widen_back(s->producer, start);
	s->done = widen_back(s->producer, done);
	s->rung = widen_back(s->producer, s->rung);
	if (s->producer - before >= q->count || s->producer - s->start > q->count)
		return be_too_fast(look);
	return 0;
}

/*
 * Returns the blocks of the WQE at @index if it is this queue's, whole, and not being written; else
 * 0.
 */
static uint32_t measure_wqe(const struct look *look, uint32_t index)
{
	struct bsn_ctrl ctrl;
	uint32_t blocks;

	bsn_ctrl_decode(&ctrl, look_at(look, index));
	blocks = bsn_bb_of_ds(ctrl.ds);
	if (ctrl.qpn != look->published.queue.number || ctrl.wqe_index != (uint16_t)index ||
	    !blocks || blocks > look->end - index)
		return 0;
	return is_stable(look, index - look->first, blocks) ? blocks : 0;
}

/*
 * Walks from WQE to WQE. Each WQE has its own index and QPN, which show whether it is overwritten
 * or half written. The walk ends at the first such WQE.
 */
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

/*
 * Returns where to begin: where the last look ended if that WQE is still there, else at the
 * poster's mark.
 */
static uint32_t first_send(struct look *look, const struct send_state *s, bool goes_on)
{
	if (!goes_on || !look->has_last || is_before(s->producer, look->last_end))
		return s->start;
	if (s->producer - look->last_end <= look->published.queue.count)
		return look->last_end;
	look->missed = s->start - look->last_end;
	return s->start;
}

/* Drops what the poster may have overwritten during the copying. */
static void drop_overwritten(struct look *look, const struct send_state *after)
{
	const uint32_t count = look->published.queue.count;
	uint32_t first = look->first;

	if (!is_before(first, after->start) || after->producer + BSN_WQE_MAX_BB - first <= count)
		return;
	first = is_before(look->end, after->start) ? look->end : after->start;
	if (look->has_last && look->first == look->last_end)
		look->missed += first - look->first;
	drop(look, first);
}

static int look_at_send(struct look *look, bool goes_on)
{
	struct send_state before, after;
	int err = read_send(look, &before);

	if (err)
		return err;
	look->first = first_send(look, &before, goes_on);
	look->end = before.producer;
	err = read_slots_twice(look, look->first, look->end - look->first);
	if (!err)
		err = read_send(look, &after);
	if (err)
		return err;
	if (is_before(after.producer, before.producer) || is_before(after.start, before.start))
		return be_torn(look, "it was reset meanwhile");
	drop_overwritten(look, &after);
	look->done_end = after.done + 1;
	look->rung_end = after.rung;
	look->ring.producer = KNOWN(after.producer);
	look->ring.consumer = KNOWN(after.start);
	return follow_chain(look);
}

/* -- receive queues ---------------------------------------------------------------------------- */

struct recv_state {
	uint32_t tail, head;
	uint32_t rung; /* the doorbell record */
};

/*
 * Reads the consumer before and after the producer, whose 16 bits do not tell how many rounds
 * passed.
 */
static int read_recv(struct look *look, struct recv_state *s)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	uint32_t tail_after;
	uint16_t head;
	int err = read_value(look, q->consumer, &s->tail, sizeof(s->tail));

	if (!err)
		err = read_record(look, &s->rung);
	if (!err)
		err = read_value(look, q->producer, &head, sizeof(head));
	if (!err)
		err = read_value(look, q->consumer, &tail_after, sizeof(tail_after));
	if (err)
		return err;
	s->head = widen_on(s->tail, head);
	s->rung = widen_back(s->head, s->rung);
	if (tail_after - s->tail >= q->count || s->head - s->tail > q->count)
		return be_too_fast(look);
	return 0;
}

static int look_at_recv(struct look *look, bool goes_on)
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
	err = read_slots_twice(look, look->first, look->end - look->first);
	if (!err)
		err = read_recv(look, &after);
	if (err)
		return err;
	if (is_before(after.head, before.head) || is_before(after.tail, before.tail) ||
	    !is_stable(look, 0, look->end - look->first))
		return be_torn(look, "it was written to while it was read");
	if (is_before(look->first, after.tail))
		drop(look, is_before(look->end, after.tail) ? look->end : after.tail);
	look->ring.producer = KNOWN(after.head);
	look->ring.consumer = KNOWN(after.tail);
	return 0;
}

struct shared_state {
	uint16_t posted, next;
};

static int read_shared(struct look *look, struct shared_state *s)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	const int err = read_value(look, q->producer, &s->posted, sizeof(s->posted));

	return err ? err : read_value(look, q->consumer, &s->next, sizeof(s->next));
}

/*
 * Marks the free slots, each of which names the one after it; all others are posted. Returns false
 * if a free slot has an impossible number.
 */
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
		bsn_srq_next_decode(&link, look->again + (size_t)slot * q->stride_bytes);
		slot = link.next_wqe_index;
	} while (slot != BSN_REGISTRY_NO_SLOT);
	return true;
}

/* What is posted next is read before and after the slots, which are read twice. */
static int look_at_shared(struct look *look)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	struct shared_state before, after;
	int err = read_shared(look, &before);

	look->first = 0;
	look->end = look->rung_end = q->count;
	if (!err)
		err = read_slots_twice(look, 0, q->count);
	if (!err)
		err = read_shared(look, &after);
	if (err)
		return err;
	if (before.posted != after.posted || before.next != after.next ||
	    memcmp(look->bytes, look->again, (size_t)q->count * q->stride_bytes) != 0)
		return be_torn(look, "it was used while it was read");
	if (!mark_free(look, after.next))
		return be_torn(look, "its list of free WQEs was damaged");
	look->ring.producer = KNOWN(after.next); /* a slot: the list has no order */
	return 0;
}

/* -- completion queue -------------------------------------------------------------------------- */

struct poll_state {
	uint64_t next; /* address of the CQE proper */
	uint32_t ci;   /* the record, which lags: CQEs consumed, modulo 2^24 */
	uint8_t phase;
};

static int read_poll(struct look *look, struct poll_state *s)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	uint8_t bytes[BSN_DBR_CQ_CI_SIZE];
	struct bsn_dbr_cq_ci record;
	int err = read_value(look, q->record, bytes, sizeof(bytes));

	if (!err)
		err = read_value(look, q->consumer, &s->next, sizeof(s->next));
	if (!err)
		err = read_value(look, q->start, &s->phase, sizeof(s->phase));
	if (err)
		return err;
	bsn_dbr_cq_ci_decode(&record, bytes);
	s->ci = record.ci;
	return 0;
}

/* Widens 24 bits to 32: takes the value that is nearest to where the last look ended. */
static uint32_t widen_ci(const struct look *look, uint32_t ci)
{
	const uint32_t ahead = (ci - look->last_end) & BSN_CQ_INDEX_MASK;

	return look->has_last ? look->last_end + (ahead ^ 0x800000) - 0x800000 : ci;
}

/*
 * Finds the consumer's index: it is the record's, or less than a round more, as the slot says. The
 * index gives the round's owner bit, which the poller keeps, too. If the two differ, the poller was
 * between its two stores.
 */
static int find_consumer(struct look *look, const struct poll_state *s, uint32_t *index)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	const uint64_t offset = s->next - (q->ring + q->stride_bytes - BSN_CQE_SIZE);
	const uint64_t slot = offset / q->stride_bytes;
	const uint32_t ci = s->ci + (((uint32_t)slot - s->ci) & (q->count - 1));

	if (offset % q->stride_bytes || slot > q->count)
		return be_torn(look, "its consumer is not at one of its CQEs: it was damaged");
	if (slot < q->count && s->phase != (ci / q->count) % 2)
		return be_torn(look, "it is being polled");
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

/*
 * Reads all CQEs from @first on. The first copy has the owner bit, so the second copy of a CQE is
 * whole.
 */
static int read_cqes(struct look *look, uint32_t first)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	uint32_t count = CQE_BATCH, there;
	int err;

	look->first = first;
	do {
		if (count > q->count)
			count = q->count;
		err = read_slots_twice(look, first, count);
		for (there = 0; !err && there < count; there++)
			if (!is_there(look, first + there) || !is_stable(look, there, 1))
				break;
		count *= 2;
	} while (!err && there == count / 2 && there < q->count);
	look->end = first + there;
	return err;
}

/* CQEs that came since the last look and were polled may still be in the ring; reads them, too. */
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

static int look_at_completions(struct look *look, bool goes_on)
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
	/* Within half a round, no CQE can be mistaken for one of the next round. */
	if (((after.ci - before.ci) & BSN_CQ_INDEX_MASK) > count / 2 ||
	    consumer_after - look->first >= count)
		return be_too_fast(look);
	look->ring.consumer = KNOWN(consumer_after);
	look->ring.producer = KNOWN(look->end);
	look->done_end = consumer_after;
	look->rung_end = look->end;
	if (goes_on && look->has_last && is_before(look->first, look->last_end))
		drop(look, is_before(look->end, look->last_end) ? look->end : look->last_end);
	return 0;
}

/* -- any --------------------------------------------------------------------------------------- */

static void name_ring(struct look *look)
{
	static const char *const names[] = {
		[BSN_REGISTRY_SEND] = "send queue",
		[BSN_REGISTRY_RECV] = "receive queue",
		[BSN_REGISTRY_SHARED_RECV] = "shared receive queue",
		[BSN_REGISTRY_COMPLETION] = "completion queue",
	};
	const struct bsn_registry_queue *q = &look->published.queue;
	const bool has_transport = q->kind == BSN_REGISTRY_SEND || q->kind == BSN_REGISTRY_RECV;

	look->ring = (struct ring){ .name = names[q->kind],
				    .qpn = KNOWN(q->number),
				    .count = q->count,
				    .stride_bytes = q->stride_bytes };
	if (has_transport)
		look->ring.transport = record_transport_name((enum bsn_transport)q->transport);
}

static bool is_power_within(uint32_t value, uint32_t least, uint32_t most)
{
	return value >= least && value <= most && !(value & (value - 1));
}

/*
 * Checks the sizes and kinds by which memory is allocated and read, since the target's memory may
 * be damaged.
 */
static int check_queue(struct look *look)
{
	/* A CQ's index has 24 bits, of which one tells its rounds apart; other counters have 16. */
	static const struct {
		uint32_t least_bytes, most_bytes, most_slots;
	} shapes[] = {
		[BSN_REGISTRY_SEND] = { BSN_BB_SIZE, BSN_BB_SIZE, 1u << 15 },
		[BSN_REGISTRY_RECV] = { BSN_DATA_SIZE, 2 * BSN_RECV_MAX_DATA * BSN_DATA_SIZE,
					1u << 15 },
		[BSN_REGISTRY_SHARED_RECV] = { BSN_DATA_SIZE, 2 * BSN_RECV_MAX_DATA * BSN_DATA_SIZE,
					       1u << 15 },
		[BSN_REGISTRY_COMPLETION] = { BSN_CQE_SIZE, 2 * BSN_CQE_SIZE, 1u << 23 },
	};
	const struct bsn_registry_queue *q = &look->published.queue;

	if (q->kind > BSN_REGISTRY_COMPLETION || q->transport > BSN_TRANSPORT_IPOIB ||
	    q->number > BSN_QPN_MAX)
		return be_damaged(look);
	name_ring(look);
	if (q->ring &&
	    (!is_power_within(q->stride_bytes, shapes[q->kind].least_bytes,
			      shapes[q->kind].most_bytes) ||
	     !is_power_within(q->count, 1, shapes[q->kind].most_slots) || q->used > q->count))
		return be_damaged(look);
	return 0;
}

/*
 * Keeps which slots are free now: the next look compares them, to find what was posted in between.
 */
static int remember_free(struct look *look)
{
	const uint32_t count = look->published.queue.count;

	if (look->published.queue.kind != BSN_REGISTRY_SHARED_RECV)
		return 0;
	if (!look->is_free) {
		look->is_free = malloc(2 * (size_t)count * sizeof(*look->is_free));
		if (!look->is_free)
			return target_fail(look->target, ENOMEM, "out of memory");
		look->was_free = look->is_free + count;
		memset(look->is_free, true, count * sizeof(*look->is_free));
	}
	memcpy(look->was_free, look->is_free, count * sizeof(*look->is_free));
	return 0;
}

static int look_once(struct look *look, bool goes_on)
{
	switch (look->published.queue.kind) {
	case BSN_REGISTRY_SEND:
		return look_at_send(look, goes_on);
	case BSN_REGISTRY_RECV:
		return look_at_recv(look, goes_on);
	case BSN_REGISTRY_SHARED_RECV:
		return look_at_shared(look);
	default:
		return look_at_completions(look, goes_on);
	}
}

int look_take(struct look *look, bool goes_on)
{
	const uint64_t spent = look->target->spent;
	int patience = look->target->is_live ? PATIENCE : 1;
	int err = check_queue(look);

	look->first = look->end = 0;
	if (err || !look->published.queue.ring)
		return err;
	err = remember_free(look);
	if (err)
		return err;
	do {
		look->first = look->end = look->missed = 0;
		look->why[0] = '\0';
		err = look_once(look, goes_on);
	} while (err == -EAGAIN && --patience && look->target->spent - spent < RETRY_BYTES);
	if (err == -EAGAIN && look->end != look->first)
		err = 0; /* the entries that could be read */
	if (!err) {
		look->has_last = true;
		look->last_end = look->end;
	}
	return err;
}

void look_rest(struct look *look)
{
	free(look->bytes);
	free(look->again);
	look->bytes = look->again = NULL;
	look->room_bytes = 0;
}

void look_free(struct look *look)
{
	look_rest(look);
	free(look->is_free);
}
