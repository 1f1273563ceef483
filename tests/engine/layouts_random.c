/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts at random: data that moves, and overlaps. */
#include "layouts_random_rig.h"

/* -- moving data ------------------------------------------------------------------------------- */

/* On plain verbs a layout may take more requests than the queue has places. */
static bool fits_queue(const struct bench *b, const struct bsn_map *map)
{
	return map->sge_count <= BENCH_DEPTH * b->sq[0]->max_sge;
}

static void refuse_too_many(struct bench *b, const struct bsn_map *map)
{
	const struct bsn_wr wr = request(b, BSN_OPCODE_RDMA_WRITE, 1, FLAT);

	assert_false(has_mkeys(b));
	assert_int_equal(post_map(b->ep[0], wr, map), -EMSGSIZE);
}

static void random_layouts(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 16, 12288);
	unsigned too_many = 0;
	static struct model m;

	for (unsigned round = 0; round < rounds_of(b); round++) {
		const struct space s = memory_of(b, 0, AREA);
		struct bsn_layout *layout;
		const struct bsn_map *map;
		start_round(round);
		make_model(&m, &s);
		ok(bsn_layout_create(pool, &m.layout, &layout));
		ok(bsn_layout_map(layout, b->ep[0], 0, &map));
		assert_int_equal(map->length, m.length);
		if (fits_queue(b, map)) {
			gather(b, &m, map);
			scatter(b, &m, map);
		} else {
			refuse_too_many(b, map);
			too_many++;
		}
		bsn_layout_unmap(map);
		if (has_mkeys(b)) {
			ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
			gather(b, &m, map);
			reach(b, &m, map);
			bsn_layout_unmap(map);
		}
		ok(bsn_layout_destroy(layout));
	}
	print_message("# %u layouts, of which %u have too many SGEs for the queue\n", rounds_of(b),
		      too_many);
}

/* -- overlaps ---------------------------------------------------------------------------------- */

enum { BLOCKS = 70, CELL = 32 };

/* Each round begins where the one before ends, or a byte sooner or later. */
static void set_rounds_close(struct bsn_part *parts, uint32_t count)
{
	uint64_t first = UINT64_MAX, end = 0, stride;

	for (uint32_t i = 0; i < count; i++) {
		first = parts[i].addr < first ? parts[i].addr : first;
		end = parts[i].addr + parts[i].bytes > end ? parts[i].addr + parts[i].bytes : end;
	}
	stride = end - first - 1 + random_u64() % 3;
	for (uint32_t i = 0; i < count; i++)
		parts[i].stride = stride;
}

/*
 * Blocks in cells of their own, in any order, of one piece of memory or of several, of one stride
 * or of several; in some layouts a few are too long for their cells. Unknown memory may be far
 * apart, or all but one block may crowd.
 */
static void make_blocks(struct bench *b, struct bsn_layout_attr *layout, struct bsn_part *parts)
{
	const bool is_known = random_u64() % 2, is_sorted = random_u64() % 3 == 0;
	const uint64_t keys = 1 + random_u64() % 3;
	const bool has_many_strides = random_u64() % 3 == 0;
	const uint64_t apart = is_known || random_u64() % 2 ? CELL : 1ull << 33;
	const uint64_t at = is_known ? b->mem[0]->addr : random_u64() >> 8;
	const uint32_t too_long = random_u64() % 2 ? 8 : 0, count = layout->part_count;

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t other = is_sorted ? i : (uint32_t)(random_u64() % (i + 1));
		parts[i] = parts[other];
		parts[other] = (struct bsn_part){
			.addr = at + i * apart + random_u64() % 4,
			.bytes = 1 + random_u64() % (CELL - 4) + (random_u64() % 16 ? 0 : too_long),
			.stride = count * apart + CELL,
			.lkey = is_known ? b->mem[0]->lkey : 0x7fff0000,
		};
		parts[other].stride += has_many_strides ? CELL * (random_u64() % 3) : 0;
		parts[other].lkey += is_known ? 0 : (uint32_t)(random_u64() % keys) << 8;
	}
	if (!is_known && random_u64() % 4 == 0)
		parts[random_u64() % count].addr += 1ull << 40;
	else if (!has_many_strides && random_u64() % 4 == 0)
		set_rounds_close(parts, count);
}

static void overlaps_are_found_in_any_order(struct bench *b)
{
	struct bsn_mkey_pool *pool =
		new_mkey_pool(b, .count = 1, .max_translations = 256, .takes_any_lkey = true);
	unsigned refused = 0;

	for (unsigned round = 0; round < rounds_of(b); round++) {
		struct bsn_part parts[BLOCKS];
		struct bsn_layout_attr layout = { .parts = parts };
		struct bsn_layout *made;
		start_round(round);
		layout.part_count = 1 + (uint32_t)(random_u64() % BLOCKS);
		layout.rounds = random_u64() % 2 ? 3 : 1;
		make_blocks(b, &layout, parts);
		int err = bsn_layout_create(pool, &layout, &made);
		if (!err)
			ok(bsn_layout_destroy(made));
		if (err != (do_any_meet(&layout) ? -ENOTUNIQ : 0))
			fail_msg("%d: %u parts, %u rounds: %s", err, layout.part_count,
				 layout.rounds, bsn_error_text());
		refused += !!err;
	}
	assert_in_range(refused, 1, rounds_of(b) - 1);
}

static const struct bench_case cases[] = {
	{ CASE(random_layouts), QUEUES },
	{ CASE(overlaps_are_found_in_any_order), QUEUES },
};

int main(void)
{
	random_start();
	seed = random_state;
	return bench_run("layouts_random", cases, COUNT(cases));
}
