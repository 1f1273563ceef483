/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of `bsn-perf layout`, and the layouts that they are about. */
#include "layout.h"

#include <stddef.h>

enum {
	PART_ROOM = 64, /* of each part, but for what interleaved ones have further on */
	LAYOUT_ROOM = LAYOUT_PARTS_MAX * PART_ROOM,
	PART_BYTES = 40,
};

#define LIST(n, ...)        .parts = n, .count = LAYOUT_REGION_MAX, ##__VA_ARGS__
#define INTERLEAVED(n, ...) LIST(n, .is_interleaved = true, ##__VA_ARGS__)
#define PAGES(n)            LIST(n, .is_pages = true)
#define SEND(kind)          .what = LAYOUT_SEND_##kind, .count = 1

const struct layout_row layout_rows[LAYOUT_ROW_COUNT] = {
	{ "list_1", LIST(1) },
	{ "list_4", LIST(4) },
	{ "list_5", LIST(5) },
	{ "list_8", LIST(8) },
	{ "list_16", LIST(16) },
	{ "list_31", LIST(31) },
	{ "list_32", LIST(32) },
	{ "list_33", LIST(33) },
	{ "list_48", LIST(48) },
	{ "list_4_shuffled", LIST(4, .order = LAYOUT_SHUFFLED) },
	{ "list_32_shuffled", LIST(32, .order = LAYOUT_SHUFFLED) },
	{ "list_32_two_keys", LIST(32, .order = LAYOUT_TWO_KEYS) },
	{ "pages_4", PAGES(4) },
	{ "pages_32", PAGES(32) },
	{ "interleaved_1", INTERLEAVED(1) },
	{ "interleaved_4", INTERLEAVED(4) },
	{ "interleaved_31", INTERLEAVED(31) },
	{ "interleaved_32", INTERLEAVED(32) },
	{ "interleaved_32_shuffled", INTERLEAVED(32, .order = LAYOUT_SHUFFLED) },
	{ "map", .what = LAYOUT_HIT, INTERLEAVED(1) },
	{ "map_handle", .what = LAYOUT_HIT_HANDLE, INTERLEAVED(1) },
	{ "unmap", .what = LAYOUT_UNMAP, INTERLEAVED(1) },
	{ "send_new", SEND(NEW) },
	{ "send_known", SEND(KNOWN) },
	{ "send_packed", SEND(PACKED) },
	{ "send_sges", SEND(SGES) },
	{ "send_rows", SEND(ROWS) },
};

unsigned layout_part_count(const struct layout_row *row)
{
	return row->parts ? row->parts : 1;
}

unsigned layout_round_count(const struct layout_row *row)
{
	return !row->parts ? LAYOUT_MATRIX : row->is_interleaved ? LAYOUT_ROUNDS : 1;
}

static unsigned place_of(const struct layout_row *row, unsigned part)
{
	return row->order == LAYOUT_SHUFFLED ? part * 7 % row->parts : part;
}

void layout_make_parts(const struct layout_rig *rig, const struct layout_row *row, unsigned which,
		       const uint32_t lkeys[2], struct bsn_part parts[LAYOUT_PARTS_MAX])
{
	const uint64_t memory = (uintptr_t)rig->memory;

	if (!row->parts) {
		parts[0] = (struct bsn_part){ .addr = memory + LAYOUT_COLUMN * LAYOUT_BLOCK,
					      .bytes = LAYOUT_BLOCK,
					      .stride = LAYOUT_COLUMN_BYTES,
					      .lkey = lkeys[0] };
		return;
	}
	for (unsigned i = 0; i < row->parts; i++)
		parts[i] = (struct bsn_part){
			.addr = row->is_pages ? memory + (which + 2 * i) * LAYOUT_PAGE
					      : memory + which * LAYOUT_ROOM +
							place_of(row, i) * PART_ROOM,
			.bytes = row->is_pages ? LAYOUT_PAGE : PART_BYTES,
			.stride = LAYOUT_ROOM,
			.lkey = lkeys[row->order == LAYOUT_TWO_KEYS && i % 2],
		};
}

void layout_pack(const struct layout_rig *rig)
{
	const uint8_t *from = rig->memory + LAYOUT_COLUMN * LAYOUT_BLOCK;
	uint64_t *to = (uint64_t *)(void *)(rig->memory + LAYOUT_PACK_AT);

	for (unsigned row = 0; row < LAYOUT_MATRIX; row++)
		to[row] =
			*(const uint64_t *)(const void *)(from + (size_t)row * LAYOUT_COLUMN_BYTES);
}
