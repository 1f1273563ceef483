/* SPDX-License-Identifier: BSD-2-Clause */
#include "raw.h"

#include <stdio.h>
#include <string.h>

/* A walk along a completion queue. */
struct walker {
	struct teller *teller;
	uint32_t slot;
	/* Enhanced layout: begun by the last CQE that can be a title. */
	struct bsn_cqe_block block;
	bool has_title;
};

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

/* -- CQEs -------------------------------------------------------------------------------------- */

/* @offset: of the CQE, or of the mini CQE that it is from, which @compressed describes. */
static void tell_cqe(struct teller *teller, size_t offset, uint32_t slot, const uint8_t *bytes,
		     size_t size, const char *compressed)
{
	struct record *record = teller_read(teller, offset, bytes, size);

	if (!record)
		return;
	record->slot = teller->is_ring ? slot % teller->ring.count : 0;
	if (compressed)
		record_add_text(record, "compressed", compressed, strlen(compressed));
	tell_record(teller->tell, record);
}

/* -- compressed ones --------------------------------------------------------------------------- */

static void refuse_slot(const struct walker *walker, const char *why)
{
	const struct bsn_bad bad = { .segment = "cqe", .field = "format", .why = why };

	teller_refuse(walker->teller, offset_of(walker->teller, walker->slot), &bad);
}

/*
 * Reports the CQEs in one array, and returns how many there are. In the basic layout the nth CQE of
 * a session belongs to its nth slot. `count`: CQEs in the session; 0: it has only this array.
 */
static uint32_t tell_array(struct walker *walker, uint32_t array_slot, uint32_t told,
			   uint32_t count)
{
	static uint8_t whole[BSN_MINI_BASIC_MOST][BSN_CQE_SIZE];
	struct teller *teller = walker->teller;
	const uint8_t *array = proper_at(teller, array_slot);
	const size_t offset = offset_of(teller, array_slot);
	struct bsn_bad bad;
	const int got = bsn_cqe_expand(&walker->block, array, whole, &bad);
	char origin[RECORD_TEXT_BYTES];

	if (got < 0) {
		teller_refuse(teller, offset, &bad);
		return 0;
	}
	for (uint32_t i = 0; i < (uint32_t)got; i++) {
		snprintf(origin, sizeof(origin), "%u of %u, mini CQE at byte %td", told + i + 1,
			 count ? count : (uint32_t)got,
			 array + (size_t)i * BSN_MINI_SIZE - teller->raw->bytes);
		tell_cqe(teller, offset, count ? walker->slot + told + i : walker->slot, whole[i],
			 BSN_CQE_SIZE, origin);
	}
	return (uint32_t)got;
}

/* Basic layout: with the title in slot 0, arrays are in the slots 1, 8, 16 ... */
static void tell_block(struct walker *walker, uint32_t count)
{
	const struct teller *teller = walker->teller;
	const uint32_t slots = teller->ring.count;
	uint32_t told = 0, array = walker->slot + 1, got;

	while (told < count && (array < slots || teller->is_ring)) {
		got = tell_array(walker, array % slots, told, count);
		if (!got)
			break;
		told += got;
		array = walker->slot + told;
	}
	if (told < count)
		tell_unread(teller->tell, teller_line(teller, offset_of(teller, walker->slot)),
			    "%u of %u compressed CQEs are in slots that are not there",
			    count - told, count);
}

/* A compressed CQE: the title of `count` CQEs, or in the enhanced layout (0) an array. */
static void tell_compressed(struct walker *walker, uint32_t count)
{
	const struct teller *teller = walker->teller;
	const struct compression *compression = &teller->attr->compression;

	if (count)
		walker->has_title =
			!bsn_cqe_block_begin(&walker->block, proper_at(teller, walker->slot), NULL);
	if (!walker->has_title)
		refuse_slot(walker,
			    compression->is_enhanced
				    ? "mini CQEs without the CQE that is their title"
				    : "mini CQEs without a title (--compressed=enhanced, if "
				      "the CQ was created so)");
	else if (!walker->block.is_request && !compression->format.is_known)
		refuse_slot(walker,
			    "compressed CQEs of receives (--compressed says what they hold)");
	else if (count)
		tell_block(walker, count);
	else
		tell_array(walker, walker->slot, 0, 0);
	walker->has_title &= compression->is_enhanced;
}

/* -- the queue --------------------------------------------------------------------------------- */

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
	teller->is_ring = teller_is_ring(count) && slot < 2 * count;
	return teller->is_ring ? slot - count : 0;
}

static void tell_slot(struct walker *walker)
{
	struct teller *teller = walker->teller;
	const uint8_t *proper = proper_at(teller, walker->slot);
	const size_t size = teller->ring.stride_bytes;
	struct bsn_cqe_tail tail;

	if (is_unwritten(proper))
		return;
	bsn_cqe_tail_decode(&tail, proper + BSN_CQE_TAIL_OFFSET);
	if (tail.format == BSN_CQE_COMPRESSED) {
		tell_compressed(walker, judge_title(teller->attr, proper));
		return;
	}
	tell_cqe(teller, offset_of(teller, walker->slot), walker->slot,
		 proper + BSN_CQE_SIZE - size, size, NULL);
	if (teller->attr->compression.is_enhanced)
		walker->has_title = !bsn_cqe_block_begin(&walker->block, proper, NULL);
}

void raw_cqes_tell(struct teller *teller, size_t size)
{
	const struct compression *compression = &teller->attr->compression;
	struct walker walker = {
		.teller = teller,
		.block = { .format = (enum bsn_mini_format)compression->format.value,
			   .is_enhanced = compression->is_enhanced,
			   .is_striding = compression->is_striding },
	};
	struct ring *ring = &teller->ring;

	ring->name = "completion queue";
	ring->stride_bytes = (uint32_t)size;
	ring->count = (uint32_t)(teller->raw->size / size);
	if (ring->count) {
		walker.slot = find_first_cqe(teller);
		ring->producer = KNOWN(find_next_cqe(teller, walker.slot));
	}
	for (; walker.slot < ring->count; walker.slot += slots_at(teller, walker.slot))
		tell_slot(&walker);
	teller_rest(teller, (size_t)ring->count * size, "CQE", size);
}
