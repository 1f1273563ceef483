/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of KLM and KSM, and repeat blocks. */
#include "translations.h"

#include <errno.h>
#include <string.h>

#include "bsn_umr.h"

_Static_assert(sizeof(((struct cx_xlt *)0)->bytes) == BSN_XLT_SIZE, "a translation");

/* -- room -------------------------------------------------------------------------------------- */

static bool is_used(const struct cx_hca *hca, uint32_t grain)
{
	return hca->shared->xlt_used[grain / 64] >> grain % 64 & 1;
}

static void set_used(struct cx_hca *hca, uint32_t first, uint32_t count, bool used)
{
	for (uint32_t grain = first; grain < first + count; grain++) {
		uint64_t *word = &hca->shared->xlt_used[grain / 64];
		const uint64_t bit = 1ull << grain % 64;

		*word = used ? *word | bit : *word & ~bit;
	}
}

/* The first of `count` consecutive free grains at or after `from`; UINT32_MAX: none. */
static uint32_t find_room(const struct cx_hca *hca, uint32_t from, uint32_t count)
{
	const uint32_t grains = CX_MAX_XLTS / CX_XLT_GRAIN;
	uint32_t run = 0;

	for (uint32_t grain = from; grain < grains; grain++) {
		run = is_used(hca, grain) ? 0 : run + 1;
		if (run == count)
			return grain + 1 - count;
	}
	return UINT32_MAX;
}

static uint32_t grains_of(uint32_t count)
{
	return (count + CX_XLT_GRAIN - 1) / CX_XLT_GRAIN;
}

int cx_xlt_alloc(struct cx_hca *hca, struct cx_mr *mr, uint32_t count)
{
	const uint32_t grains = grains_of(count);
	uint32_t first;

	mr->room = mr->first_xlt = mr->filled = 0;
	if (!count)
		return 0;
	first = find_room(hca, hca->shared->xlt_cursor, grains);
	if (first == UINT32_MAX)
		first = find_room(hca, 0, grains);
	if (first == UINT32_MAX)
		return -ENOMEM;
	set_used(hca, first, grains, true);
	hca->shared->xlt_cursor = first + grains;
	mr->first_xlt = first * CX_XLT_GRAIN;
	mr->room = count;
	memset(&hca->shared->xlts[mr->first_xlt], 0, count * sizeof(struct cx_xlt));
	return 0;
}

void cx_xlt_free(struct cx_hca *hca, struct cx_mr *mr)
{
	set_used(hca, mr->first_xlt / CX_XLT_GRAIN, grains_of(mr->room), false);
	mr->room = 0;
}

void cx_xlt_recount(struct cx_hca *hca)
{
	memset(hca->shared->xlt_used, 0, sizeof(hca->shared->xlt_used));
	for (uint32_t i = CX_FIRST_KEY; i < CX_FIRST_KEY + CX_MAX_MRS; i++) {
		const struct cx_mr *mr = &hca->shared->mrs[i];

		if (mr->head.number && mr->room)
			set_used(hca, mr->first_xlt / CX_XLT_GRAIN, grains_of(mr->room), true);
	}
}

/* -- writing ----------------------------------------------------------------------------------- */

static struct cx_xlt *xlts_of(struct cx_hca *hca, const struct cx_mr *mr)
{
	return &hca->shared->xlts[mr->first_xlt];
}

void cx_xlt_put(struct cx_hca *hca, struct cx_mr *mr, uint32_t first, const void *bytes,
		uint32_t count)
{
	struct cx_xlt *xlts = xlts_of(hca, mr) + first;

	for (uint32_t i = 0; i < count; i++)
		memcpy(xlts[i].bytes, (const uint8_t *)bytes + (size_t)i * BSN_XLT_SIZE,
		       BSN_XLT_SIZE);
	if (mr->filled < first + count)
		mr->filled = first + count;
}

static uint32_t byte_count_of(const struct cx_mr *mr, const struct cx_xlt *xlt)
{
	struct bsn_repeat_entry entry;
	struct bsn_klm klm;

	if (mr->is_repeat) {
		bsn_repeat_entry_decode(&entry, xlt->bytes);
		return entry.byte_count;
	}
	bsn_klm_decode(&klm, xlt->bytes);
	return klm.byte_count;
}

bool cx_xlt_settle(struct cx_hca *hca, struct cx_mr *mr)
{
	struct cx_xlt *xlts = xlts_of(hca, mr);
	struct bsn_klm first;
	uint64_t start = 0;

	if (!mr->filled || mr->mode != BSN_MKEY_MODE_KLM)
		return true;
	bsn_klm_decode(&first, xlts[0].bytes);
	mr->is_repeat = first.mkey == BSN_REPEAT_OP;
	for (uint32_t i = mr->is_repeat; i < mr->filled; i++) {
		const uint32_t bytes = byte_count_of(mr, &xlts[i]);

		if (bytes > BSN_KLM_MAX_BYTES)
			return false;
		xlts[i].start = start;
		start += bytes;
	}
	return true;
}

bool cx_xlt_has_lengths(struct cx_hca *hca, struct cx_mr *mr)
{
	const struct cx_xlt *xlts = xlts_of(hca, mr);
	struct bsn_klm page;

	for (uint32_t i = 0; i < mr->filled; i++) {
		bsn_klm_decode(&page, xlts[i].bytes);
		if (page.byte_count)
			return true;
	}
	return false;
}

/* -- finding ----------------------------------------------------------------------------------- */

/* The last of `count` translations, at least one, that does not begin after `offset`. */
static const struct cx_xlt *find_start(const struct cx_xlt *xlts, uint32_t count, uint64_t offset)
{
	while (count > 1) {
		const uint32_t half = count / 2;

		if (xlts[half].start <= offset) {
			xlts += half;
			count -= half;
		} else {
			count = half;
		}
	}
	return xlts;
}

/* False: the address wraps around. */
static bool set_piece(struct cx_piece *piece, uint32_t key, uint64_t va, uint64_t offset,
		      uint64_t len)
{
	piece->key = key;
	piece->len = len;
	return !__builtin_add_overflow(va, offset, &piece->addr);
}

static bool find_in_list(const struct cx_xlt *xlts, uint32_t count, uint64_t offset,
			 struct cx_piece *piece)
{
	const struct cx_xlt *xlt = find_start(xlts, count, offset);
	const uint64_t inside = offset - xlt->start;
	struct bsn_klm klm;

	bsn_klm_decode(&klm, xlt->bytes);
	return inside < klm.byte_count &&
	       set_piece(piece, klm.mkey, klm.va, inside, klm.byte_count - inside);
}

/* The entries may be longer than their round. */
static bool find_in_repeat(const struct cx_xlt *xlts, uint32_t count, uint64_t offset,
			   struct cx_piece *piece)
{
	struct bsn_repeat_entry entry;
	uint64_t round, at, inside;
	const struct cx_xlt *xlt;
	struct bsn_repeat repeat;

	bsn_repeat_decode(&repeat, xlts->bytes);
	if (!repeat.byte_count || !repeat.num_entries || repeat.num_entries >= count)
		return false;
	round = offset / repeat.byte_count;
	at = offset % repeat.byte_count;
	xlt = find_start(xlts + 1, repeat.num_entries, at);
	inside = at - xlt->start;
	bsn_repeat_entry_decode(&entry, xlt->bytes);
	if (round >= repeat.repeat_count || inside >= entry.byte_count ||
	    !set_piece(piece, entry.mkey, entry.va, round * entry.stride + inside,
		       entry.byte_count - inside))
		return false;
	if (piece->len > repeat.byte_count - at)
		piece->len = repeat.byte_count - at;
	return true;
}

static bool find_page(const struct cx_xlt *xlts, uint32_t count, unsigned page_log2,
		      uint64_t offset, struct cx_piece *piece)
{
	const uint64_t size = 1ull << page_log2, inside = offset & (size - 1);
	struct bsn_klm ksm;

	if (offset >> page_log2 >= count)
		return false;
	bsn_klm_decode(&ksm, xlts[offset >> page_log2].bytes);
	return set_piece(piece, ksm.mkey, ksm.va, inside, size - inside);
}

bool cx_xlt_find(struct cx_hca *hca, const struct cx_mr *mr, uint64_t offset,
		 struct cx_piece *piece)
{
	const struct cx_xlt *xlts = xlts_of(hca, mr);

	if (!mr->filled)
		return false;
	if (mr->mode == BSN_MKEY_MODE_KSM)
		return find_page(xlts, mr->filled, mr->page_log2, offset, piece);
	return mr->is_repeat ? find_in_repeat(xlts, mr->filled, offset, piece)
			     : find_in_list(xlts, mr->filled, offset, piece);
}
