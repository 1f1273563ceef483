/* SPDX-License-Identifier: BSD-2-Clause */
#include "raw.h"

#include <stdio.h>
#include <string.h>

/* The queue that is being reported. */
struct teller {
	struct tell *tell;
	const struct raw *raw;
	const struct raw_attr *attr;
	struct ring ring;
	bool is_ring;      /* a whole queue: in a send queue, index modulo count is the slot */
	size_t unread_end; /* where the last unreadable slot ended */
	enum bsn_transport transport;
	bool transport_is_guess;
	/* A completion queue: the slot that is read. */
	uint32_t slot;
	struct bsn_cqe_block block; /* enhanced layout: begun by the last CQE that can be a title */
	bool has_title;
};

/* The line that a byte comes from; 0: the input has no lines. */
static unsigned long line_of(const struct teller *teller, size_t offset)
{
	const struct raw *raw = teller->raw;
	size_t low = 0, high = raw->place_count;

	if (!raw->places || !high)
		return 0;
	while (high - low > 1) {
		const size_t middle = (low + high) / 2;

		if (raw->places[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return raw->places[low].line;
}

/* Reports an unreadable slot; once for several neighbours. */
static void refuse(struct teller *teller, size_t offset, const struct bsn_bad *bad)
{
	if (teller->unread_end != offset || !offset)
		tell_unread(teller->tell, line_of(teller, offset), "byte %zu: %s%s%s: %s",
			    offset + bad->offset, bad->segment, bad->field ? "." : "",
			    bad->field ? bad->field : "", bad->why);
	teller->unread_end = offset + teller->ring.stride_bytes;
}

/* The record at this offset; NULL: it is unreadable, and was reported. */
static struct record *read_record(struct teller *teller, size_t offset, const void *bytes,
				  size_t size)
{
	static struct record record;
	struct bsn_bad bad;

	record = (struct record){ .line = line_of(teller, offset),
				  .transport = teller->transport,
				  .transport_is_guess = teller->transport_is_guess };
	if (teller->is_ring) {
		record.ring = &teller->ring;
		record.slot = (uint32_t)(offset / teller->ring.stride_bytes);
	}
	if (!record_decode(&record, teller->attr->kind, bytes, size, &bad))
		return &record;
	refuse(teller, offset, &bad);
	return NULL;
}

/* Reports bytes after the last whole slot. */
static void tell_rest(const struct teller *teller, size_t at, const char *what, size_t size)
{
	const size_t rest = teller->raw->size - at;

	if (rest && !is_zero(teller->raw->bytes + at, rest))
		tell_unread(teller->tell, line_of(teller, at),
			    "%zu bytes at the end, and a %s has %zu", rest, what, size);
}

/* Whether so many slots are a whole queue, not a few copied CQEs. */
static bool is_whole_queue(uint32_t count)
{
	return count >= 4 && !(count & (count - 1));
}

/* -- completion queues ------------------------------------------------------------------------- */

static size_t offset_of(const struct teller *teller, uint32_t slot)
{
	return (size_t)slot * teller->ring.stride_bytes;
}

static const uint8_t *proper_at(const struct teller *teller, uint32_t slot)
{
	return teller->raw->bytes + offset_of(teller, slot) + teller->ring.stride_bytes -
	       BSN_CQE_SIZE;
}

static bool is_unwritten(const uint8_t *proper)
{
	return is_zero(proper, BSN_CQE_SIZE) || proper[BSN_CQE_SIZE - 1] >> 4 == BSN_CQE_INVALID;
}

/* @offset: of the CQE, or of the mini CQE that it is from, which @compressed describes. */
static void tell_cqe(struct teller *teller, size_t offset, uint32_t slot, const uint8_t *bytes,
		     size_t size, const char *compressed)
{
	struct record *record = read_record(teller, offset, bytes, size);

	if (!record)
		return;
	record->slot = teller->is_ring ? slot % teller->ring.count : 0;
	if (compressed)
		record_add_text(record, "compressed", compressed, strlen(compressed));
	tell_record(teller->tell, record);
}

static void refuse_slot(struct teller *teller, const char *why)
{
	const struct bsn_bad bad = { .segment = "cqe", .field = "format", .why = why };

	refuse(teller, offset_of(teller, teller->slot), &bad);
}

/*
 * Reports the CQEs in one array, and returns how many there are. In the basic layout the nth CQE of
 * a session belongs to its nth slot. `count`: CQEs in the session; 0: it has only this array.
 */
static uint32_t tell_array(struct teller *teller, uint32_t array_slot, uint32_t told,
			   uint32_t count)
{
	static uint8_t whole[BSN_MINI_BASIC_MOST][BSN_CQE_SIZE];
	const uint8_t *array = proper_at(teller, array_slot);
	const size_t offset = offset_of(teller, array_slot);
	struct bsn_bad bad;
	const int got = bsn_cqe_expand(&teller->block, array, whole, &bad);
	char origin[RECORD_TEXT_BYTES];

	if (got < 0) {
		refuse(teller, offset, &bad);
		return 0;
	}
	for (uint32_t i = 0; i < (uint32_t)got; i++) {
		snprintf(origin, sizeof(origin), "%u of %u, mini CQE at byte %td", told + i + 1,
			 count ? count : (uint32_t)got,
			 array + (size_t)i * BSN_MINI_SIZE - teller->raw->bytes);
		tell_cqe(teller, offset, count ? teller->slot + told + i : teller->slot, whole[i],
			 BSN_CQE_SIZE, origin);
	}
	return (uint32_t)got;
}

/* Basic layout: with the title in slot 0, arrays are in the slots 1, 8, 16 ... */
static void tell_block(struct teller *teller, uint32_t count)
{
	const uint32_t slots = teller->ring.count;
	uint32_t told = 0, array = teller->slot + 1, got;

	while (told < count && (array < slots || teller->is_ring)) {
		got = tell_array(teller, array % slots, told, count);
		if (!got)
			break;
		told += got;
		array = teller->slot + told;
	}
	if (told < count)
		tell_unread(teller->tell, line_of(teller, offset_of(teller, teller->slot)),
			    "%u of %u compressed CQEs are in slots that are not there",
			    count - told, count);
}

/* A compressed CQE: the title of `count` CQEs, or in the enhanced layout (0) an array. */
static void tell_compressed(struct teller *teller, uint32_t count)
{
	if (count)
		teller->has_title =
			!bsn_cqe_block_begin(&teller->block, proper_at(teller, teller->slot), NULL);
	if (!teller->has_title)
		refuse_slot(teller,
			    teller->block.is_enhanced
				    ? "mini CQEs without the CQE that is their title"
				    : "mini CQEs without a title (--compressed=enhanced, if "
				      "the CQ was created so)");
	else if (!teller->block.is_request && !teller->attr->has_format)
		refuse_slot(teller,
			    "compressed CQEs of receives (--compressed says what they hold)");
	else if (count)
		tell_block(teller, count);
	else
		tell_array(teller, teller->slot, 0, 0);
	teller->has_title &= teller->block.is_enhanced;
}

/* How many slots the CQE or session in a slot takes. */
static uint32_t slots_at(const struct teller *teller, uint32_t slot)
{
	const uint32_t count = judge_title(teller->attr, proper_at(teller, slot));

	return count ? count : 1;
}

/* What tells rounds apart: the owner bit, or in the enhanced layout a number. */
static uint8_t round_of(const struct teller *teller, const uint8_t *proper)
{
	struct bsn_cqe_tail tail;

	bsn_cqe_tail_decode(&tail, proper + BSN_CQE_TAIL_OFFSET);
	return (uint8_t)(teller->attr->compression.is_enhanced ? tail.signature : tail.owner);
}

/* The first slot that this round has not written yet. */
static uint32_t find_next_cqe(const struct teller *teller, uint32_t first)
{
	const uint8_t round = round_of(teller, proper_at(teller, first));

	for (uint32_t slot = first; slot < teller->ring.count; slot += slots_at(teller, slot)) {
		const uint8_t *proper = proper_at(teller, slot);

		if (is_unwritten(proper) || round_of(teller, proper) != round)
			return slot;
	}
	return first;
}

/* Where a ring's first CQE is: after the slots of a session that wraps around its end. */
static uint32_t find_first_cqe(struct teller *teller)
{
	const uint32_t count = teller->ring.count;
	uint32_t slot = 0;

	while (slot < count)
		slot += slots_at(teller, slot);
	teller->is_ring = is_whole_queue(count) && slot < 2 * count;
	return teller->is_ring ? slot - count : 0;
}

static void tell_slot(struct teller *teller)
{
	const uint8_t *proper = proper_at(teller, teller->slot);
	const size_t size = teller->ring.stride_bytes;
	struct bsn_cqe_tail tail;

	if (is_unwritten(proper))
		return;
	bsn_cqe_tail_decode(&tail, proper + BSN_CQE_TAIL_OFFSET);
	if (tail.format == BSN_CQE_COMPRESSED) {
		tell_compressed(teller, judge_title(teller->attr, proper));
		return;
	}
	tell_cqe(teller, offset_of(teller, teller->slot), teller->slot,
		 proper + BSN_CQE_SIZE - size, size, NULL);
	if (teller->attr->compression.is_enhanced)
		teller->has_title = !bsn_cqe_block_begin(&teller->block, proper, NULL);
}

static void tell_cqes(struct teller *teller, size_t size)
{
	struct ring *ring = &teller->ring;

	teller->block = teller->attr->compression;
	ring->name = "completion queue";
	ring->stride_bytes = (uint32_t)size;
	ring->count = (uint32_t)(teller->raw->size / size);
	if (ring->count) {
		teller->slot = find_first_cqe(teller);
		ring->producer = KNOWN(find_next_cqe(teller, teller->slot));
	}
	for (; teller->slot < ring->count; teller->slot += slots_at(teller, teller->slot))
		tell_slot(teller);
	tell_rest(teller, (size_t)ring->count * size, "CQE", size);
}

/* -- other queues ------------------------------------------------------------------------------ */

static void tell_recvs(struct teller *teller)
{
	const size_t stride = teller->attr->stride_bytes;
	size_t at;

	teller->ring.name = "receive queue";
	teller->ring.stride_bytes = (uint32_t)stride;
	teller->ring.count = (uint32_t)(teller->raw->size / stride);
	teller->is_ring = is_whole_queue(teller->ring.count);
	for (at = 0; at + stride <= teller->raw->size; at += stride) {
		const uint8_t *bytes = teller->raw->bytes + at;
		struct record *record =
			is_zero(bytes, stride) ? NULL : read_record(teller, at, bytes, stride);

		if (record)
			tell_record(teller->tell, record);
	}
	tell_rest(teller, at, "receive WQE", stride);
}

/* The transport with which most WQEs make sense. */
static enum bsn_transport most_likely_transport(const struct raw *raw)
{
	unsigned votes[BSN_TRANSPORT_IPOIB + 1] = { 0 }, odd = 0;
	enum bsn_transport best = BSN_TRANSPORT_RC;
	struct bsn_ctrl ctrl;

	for (size_t at = 0; at < raw->size && at < UNITS_MAX * BSN_BB_SIZE; at += BSN_BB_SIZE) {
		int guess;

		if (!judge_ctrl(raw->bytes + at, raw->size - at, &ctrl) || !ctrl.qpn)
			continue;
		guess = judge_transport(raw->bytes + at, raw->size - at, &odd);
		if (guess >= 0)
			votes[guess]++;
	}
	for (unsigned t = 0; t <= BSN_TRANSPORT_IPOIB; t++)
		if (votes[t] > votes[best])
			best = (enum bsn_transport)t;
	return best;
}

static void set_transport(struct teller *teller)
{
	const struct number *said = &teller->attr->transport;

	teller->transport_is_guess = !said->is_known;
	teller->transport = said->is_known ? (enum bsn_transport)said->value
					   : most_likely_transport(teller->raw);
}

/* Sets the QPN, and the producer: after the newest WQE, by indices of 16 bits. */
static void set_queue(struct teller *teller)
{
	const uint32_t count = teller->ring.count;
	struct number *next = &teller->ring.producer;
	struct bsn_ctrl ctrl;

	for (uint32_t slot = 0; slot < count; slot++) {
		const uint8_t *bytes = teller->raw->bytes + slot * BSN_BB_SIZE;
		uint16_t end;

		if (!judge_ctrl(bytes, BSN_WQE_MAX_DS * BSN_DS_SIZE, &ctrl) || !ctrl.qpn ||
		    ctrl.wqe_index % count != slot)
			continue;
		end = (uint16_t)(ctrl.wqe_index + bsn_bb_of_ds(ctrl.ds));
		if (!next->is_known || (int16_t)(end - next->value) > 0)
			*next = KNOWN(end);
		teller->ring.qpn = KNOWN(ctrl.qpn);
	}
}

/* Copies a WQE in one piece, even if the ring wraps. Returns how many bytes there are. */
static size_t unwrap(const struct teller *teller, size_t offset, uint8_t *copy)
{
	const struct raw *raw = teller->raw;
	const size_t most = BSN_WQE_MAX_DS * BSN_DS_SIZE;
	size_t there = raw->size - offset, more;

	if (there > most)
		there = most;
	memcpy(copy, raw->bytes + offset, there);
	if (!teller->is_ring)
		return there;
	more = most - there < offset ? most - there : offset;
	memcpy(copy + there, raw->bytes, more);
	return there + more;
}

/* Whether a WQE begins in a slot: its operation is known, or its QPN is the ring's. */
static bool begins_in(const struct teller *teller, const uint8_t *bytes, size_t size, size_t slot)
{
	struct bsn_ctrl ctrl = { 0 };
	const bool is_known = judge_ctrl(bytes, size, &ctrl) && ctrl.qpn;

	return ctrl.ds && ctrl.wqe_index % teller->ring.count == slot &&
	       (is_known || ctrl.qpn == teller->ring.qpn.value);
}

/* Reports a WQE. Returns how many basic blocks it has. */
static size_t tell_wqe(struct teller *teller, size_t offset)
{
	uint8_t copy[BSN_WQE_MAX_DS * BSN_DS_SIZE];
	const size_t size = unwrap(teller, offset, copy);
	struct record *record;

	if (is_zero(copy, size < BSN_BB_SIZE ? size : BSN_BB_SIZE))
		return 1;
	if (teller->is_ring && !begins_in(teller, copy, size, offset / BSN_BB_SIZE))
		return 1; /* the end of a WQE that wraps, or the rest of an older one */
	record = read_record(teller, offset, copy, size);
	if (!record)
		return 1;
	tell_record(teller->tell, record);
	return bsn_bb_of_ds(record->wqe->ctrl.ds);
}

static void tell_wqes(struct teller *teller)
{
	const struct raw *raw = teller->raw;
	size_t at = 0;

	teller->is_ring = judge_ring(raw->bytes, raw->size);
	set_transport(teller);
	teller->ring.name = "send queue";
	teller->ring.stride_bytes = BSN_BB_SIZE;
	if (teller->is_ring) {
		teller->ring.count = (uint32_t)(raw->size / BSN_BB_SIZE);
		set_queue(teller);
	}
	while (at + BSN_CTRL_SIZE <= raw->size)
		at += tell_wqe(teller, at) * BSN_BB_SIZE;
	if (at < raw->size)
		tell_rest(teller, at, "control segment", BSN_CTRL_SIZE);
}

bool raw_tell(struct tell *tell, struct raw_attr *attr, const struct raw *raw)
{
	struct teller teller = { .tell = tell, .raw = raw, .attr = attr };
	enum raw_kind kind = attr->kind;

	if (kind == RAW_GUESS && judge_bytes(attr, raw->bytes, raw->size, &kind) <= 0) {
		tell_unread(
			tell, line_of(&teller, 0),
			"%zu bytes that are neither CQEs nor WQEs (--format says what they are)",
			raw->size);
		return false;
	}
	attr->kind = kind;
	if (kind == RAW_CQE || kind == RAW_CQE128)
		tell_cqes(&teller, kind == RAW_CQE ? BSN_CQE_SIZE : BSN_CQE128_SIZE);
	else if (kind == RAW_WQE)
		tell_wqes(&teller);
	else
		tell_recvs(&teller);
	return true;
}

void raw_tell_wqe(struct tell *tell, const struct raw_attr *attr, unsigned long line,
		  struct number transport, const uint8_t *bytes, size_t size)
{
	const struct raw_place place = { .line = line };
	struct raw_attr of_bytes = *attr;

	of_bytes.kind = RAW_WQE;
	if (transport.is_known)
		of_bytes.transport = transport;
	raw_tell(tell, &of_bytes, &(struct raw){ bytes, size, &place, 1 });
}
