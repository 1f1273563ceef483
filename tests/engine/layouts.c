/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts and their mkeys. */
#include "layouts_rig.h"

/* -- layouts and their mkeys ------------------------------------------------------------------- */

/* Until another one needs it: the one that was used least recently makes way. */
static void a_layout_keeps_its_mkey(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	const struct bsn_map *map[5], *again;
	struct bsn_layout *layout[5];

	for (uint32_t i = 0; i < 5; i++) {
		const struct bsn_part part = column(b, i);
		layout[i] = make_layout(pool, &part, 1, 16);
	}
	for (uint32_t i = 0; i < 4; i++) {
		ok(bsn_layout_map(layout[i], b->ep[0], 0, &map[i]));
		ok(bsn_layout_map(layout[i], b->ep[0], 0, &again));
		assert_ptr_equal(map[i], again);
		assert_ptr_equal(map[i]->layout, layout[i]);
		bsn_layout_unmap(again);
	}
	fails(ENOBUFS, "in use", bsn_layout_map(layout[4], b->ep[0], 0, &map[4]));
	assert_int_equal(bsn_mkey_pool_destroy(pool), -EBUSY);
	fails(EBUSY, "unmap", bsn_layout_destroy(layout[1]));
	bsn_layout_unmap(map[2]);
	bsn_layout_unmap(map[1]);
	ok(bsn_layout_map(layout[4], b->ep[0], 0, &map[4]));
	assert_ptr_equal(map[4], map[2]);
	ok(bsn_layout_map(layout[1], b->ep[0], 0, &again));
	assert_ptr_equal(again, map[1]);
	for (uint32_t i = 0; i < 5; i++)
		if (i != 2)
			bsn_layout_unmap(map[i]);
	fails(EBUSY, "5 layouts", bsn_mkey_pool_destroy(pool));
	for (uint32_t i = 0; i < 5; i++)
		ok(bsn_layout_destroy(layout[i]));
	assert_int_equal(bsn_mkey_pool_destroy(pool), -EBUSY); /* its UMRs would find no mkey */
	complete_all(b);
}

/* What spans nothing that is needed is taken before what a layout counts on. */
static void a_layout_that_went_gives_its_mkey_away(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, 16);
	struct bsn_layout *layout[3];
	const struct bsn_map *map[3];

	for (uint32_t i = 0; i < 3; i++) {
		const struct bsn_part part = column(b, i);
		layout[i] = make_layout(pool, &part, 1, 16);
	}
	for (uint32_t i = 0; i < 2; i++) {
		ok(bsn_layout_map(layout[i], b->ep[0], 0, &map[i]));
		bsn_layout_unmap(map[i]);
	}
	ok(bsn_layout_destroy(layout[1]));
	ok(bsn_layout_map(layout[2], b->ep[0], 0, &map[2]));
	assert_ptr_equal(map[2], map[1]);
	ok(bsn_layout_map(layout[0], b->ep[0], 0, &map[1]));
	assert_ptr_equal(map[1], map[0]);
	complete_all(b);
	drop(map[0]);
	drop(map[2]);
}

static void lengths_are_told(struct bench *b)
{
	struct bsn_mkey_pool *pool =
		new_mkey_pool(b, .count = 1, .max_translations = 64, .takes_any_lkey = true);
	const struct bsn_part parts[2] = {
		{ .addr = 0, .bytes = 3ull << 31, .stride = 1ull << 40, .lkey = 0x7fff0000 },
		{ .addr = 1ull << 33, .bytes = 1, .stride = 1ull << 40, .lkey = 0x7fff0000 }
	};
	struct bsn_layout *layout = make_layout(pool, parts, 2, 5);

	assert_int_equal(layout->map.length, 5 * ((3ull << 31) + 1));
	ok(bsn_layout_destroy(layout));
	layout = make_layout(pool, parts, 2, 0);
	assert_int_equal(layout->map.length, (3ull << 31) + 1);
	ok(bsn_layout_destroy(layout));
}

/* Memory of its own is read by the peer through the map of a layout. */
static void assert_gathers(struct bench *b, struct bsn_layout *layout,
			   const struct bsn_layout_attr *attr)
{
	const struct bsn_map *map, *again;

	for (unsigned turn = 0; turn < 3; turn++) {
		ok(bsn_layout_map(layout, b->ep[0], 0, &map));
		ok(bsn_layout_map(layout, b->ep[0], 0, &again));
		assert_ptr_equal(map, again);
		memset(bench_at(b, 1, FLAT), 0, map->length);
		gather_to(b, map, FLAT);
		for (uint32_t i = 0; i < attr->part_count * attr->rounds; i++) {
			const struct bsn_part *const part = &attr->parts[i % attr->part_count];
			const uint32_t round = i / attr->part_count;
			assert_memory_equal(bench_at(b, 1, FLAT + 8 * i),
					    (uint8_t *)(uintptr_t)part->addr + round * part->stride,
					    8);
		}
		bsn_layout_unmap(map);
		bsn_layout_unmap(again);
	}
}

static void configure_twice(struct bench *b, struct bsn_mkey_pool *pool, struct bsn_layout *layout)
{
	struct bsn_mkey *mkey;

	ok(bsn_mkey_take(pool, &mkey));
	ok(bsn_mkey_configure(b->ep[0], mkey, layout, 7, 0));
	span(b, mkey, layout);
	assert_int_equal(mkey->length, layout->map.length);
	ok(bsn_mkey_give(mkey));
}

/* The parts of the nth kind of layouts: in order or not, of one key and stride or of several. */
static void make_kind(struct bench *b, uint32_t n, uint32_t other_lkey, struct bsn_part *part,
		      uint32_t count)
{
	for (uint32_t j = 0; j < count; j++) {
		part[j] = column(b, n % 8 > 3 ? j : count - 1 - j);
		if (n % 4 > 1 && j % 3 == 1)
			part[j].lkey = other_lkey;
		if (n % 8 == 5)
			part[j].stride = 256 + 256 * (j % 2);
	}
}

/* Lists and repeat blocks, of one key and stride and of several, mapped and by hand. */
static void layouts_of_every_kind_gather(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 8, 32);
	struct bsn_part part[20];
	struct bsn_mr *twin = bench_mr(b, bench_at(b, 0, 0), 20000, NULL);

	for (uint32_t i = 0; i < 8 * 20; i++) {
		const struct bsn_layout_attr attr =
			layout_of(part, 1 + i / 8, i % 2 ? 1 + has_mkeys(b) * 3 : 1);
		struct bsn_layout *layout;
		make_kind(b, i, twin->lkey, part, attr.part_count);
		if (!has_mkeys(b) && attr.part_count > 4)
			break;
		ok(bsn_layout_create(pool, &attr, &layout));
		assert_gathers(b, layout, &attr);
		if (has_mkeys(b))
			configure_twice(b, pool, layout);
		ok(bsn_layout_destroy(layout));
	}
}

/* A layout knows its memory from when it was made: it is looked for again once some memory went. */
static void other_memory_may_go(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, 4);
	struct bsn_part part[2] = { column(b, 0), column(b, 1) };
	const struct bsn_layout_attr attr = layout_of(part, 2, 1);
	struct bsn_layout *layout;
	const struct bsn_map *map;
	struct bsn_mr *twin, *none;

	ok(bsn_mr_register(b->device, bench_at(b, 0, 0), 20000, NULL, &twin));
	part[0].lkey = part[1].lkey = twin->lkey;
	ok(bsn_layout_create(pool, &attr, &layout));
	ok(bsn_mr_register(b->device, bench_at(b, 0, 0), 64, NULL, &none));
	ok(bsn_mr_deregister(none));
	assert_gathers(b, layout, &attr);
	complete_all(b);
	ok(bsn_mr_deregister(twin));
	fails(ENOENT, "deregistered", bsn_layout_map(layout, b->ep[0], 0, &map));
	ok(bsn_layout_destroy(layout));
}

/* -- mkeys ------------------------------------------------------------------------------------- */

/* Other queues, and peers, have to wait until the UMR has completed, which can be asked. */
static void others_wait_for_its_completion(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	const struct bsn_part part[2] = { column(b, 0), column(b, 1) };
	struct bsn_layout *layout = make_layout(pool, part, 2, 16), *outer;
	const struct bsn_map *map, *again, *nested;

	ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
	struct bsn_mkey *mkey = (struct bsn_mkey *)(uintptr_t)map->mkey;
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_PENDING);
	struct bsn_part nesting = { .bytes = 64, .lkey = mkey->lkey };
	outer = keep_layout(b, pool, &nesting, 1, 1);
	assert_int_equal(bsn_layout_map(layout, b->ep[1], BSN_MAP_KEY, &again), -EBUSY);
	assert_int_equal(bsn_layout_map(outer, b->ep[1], BSN_MAP_KEY, &nested), -EBUSY);
	ok(bsn_layout_map(outer, b->ep[0], BSN_MAP_KEY, &nested));
	bsn_layout_unmap(nested);
	ok(bsn_ring(b->ep[0]));
	bench_settle(b);
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_PENDING); /* by what was polled */
	ok(bsn_layout_map(outer, b->ep[0], 0, &nested));
	assert_null(nested->mkey);
	assert_int_equal(bsn_layout_map(outer, b->ep[1], 0, &again), -EBUSY);
	bsn_layout_unmap(nested);
	complete_all(b);
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_READY);
	ok(bsn_layout_map(layout, b->ep[1], BSN_MAP_KEY, &again));
	assert_ptr_equal(map, again);
	fill_flat(b, 1);
	write_by_peer(b, mkey->rkey, 256, IBV_WC_SUCCESS);
	assert_columns(b, 2, 16);
	bsn_layout_unmap(map);
	drop(again);
	assert_int_equal(bsn_mkey_pool_destroy(pool), -EBUSY); /* it is nested */
}

static void an_invalidated_mkey_spans_nothing(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 1, 16);
	const struct bsn_part part = column(b, 0);
	struct bsn_mkey *mkey = take_mkey(b, pool);

	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_FREE);
	configure(b, mkey, pool, layout_of(&part, 1, 16));
	assert_int_equal(mkey->length, 128);
	write_by_peer(b, mkey->rkey, 128, IBV_WC_SUCCESS);
	ok(bsn_mkey_invalidate(b->ep[0], mkey, 6, NOW));
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_PENDING);
	assert_int_equal(bsn_mkey_give(mkey), -EBUSY);
	expect_done(b, b->cq[0], 6, BSN_OPCODE_UMR);
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_FREE);
	assert_int_equal(mkey->length, 0);
	configure(b, mkey, pool, layout_of(&part, 1, 8));
	fill_flat(b, 2);
	write_by_peer(b, mkey->rkey, 64, IBV_WC_SUCCESS);
	assert_columns(b, 1, 8);
	ok(bsn_mkey_invalidate(b->ep[0], mkey, 6, NOW));
	expect_done(b, b->cq[0], 6, BSN_OPCODE_UMR);
	write_by_peer(b, mkey->rkey, 8, IBV_WC_REM_ACCESS_ERR);
}

static void a_peer_may_invalidate_what_is_made_for_it(struct bench *b)
{
	struct bsn_mkey_pool *pool =
		new_mkey_pool(b, .count = 3, .max_translations = 16, .peers_may_invalidate = true);
	const struct bsn_part part = column(b, 0);
	struct bsn_layout *layout = keep_layout(b, pool, &part, 1, 16), *outer;
	const struct bsn_map *map, *nested, *again;
	struct bsn_mkey *mkey;

	ok(bsn_mkey_take(pool, &mkey));
	for (unsigned round = 0; round < 3; round++) {
		span(b, mkey, layout);
		fill_flat(b, round);
		write_by_peer(b, mkey->rkey, 128, IBV_WC_SUCCESS);
		assert_columns(b, 1, 16);
		send_inval(b, mkey->rkey, IBV_WC_SUCCESS);
		ok(bsn_invalidated(b->device, mkey->rkey));
		assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_FREE);
		assert_int_equal(mkey->length, 0);
	}
	ok(bsn_mkey_give(mkey));
	/* A map has another mkey after that; what nests it is refused. */
	ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
	struct bsn_part nesting = { .bytes = 64, .lkey = map->mkey->lkey };
	outer = make_layout(pool, &nesting, 1, 1);
	ok(bsn_layout_map(outer, b->ep[0], BSN_MAP_KEY, &nested));
	complete_all(b);
	send_inval(b, map->mkey->rkey, IBV_WC_SUCCESS);
	ok(bsn_invalidated(b->device, map->mkey->rkey));
	ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &again));
	assert_ptr_not_equal(map, again);
	complete_all(b);
	write_by_peer(b, again->mkey->rkey, 128, IBV_WC_SUCCESS);
	bsn_layout_unmap(again);
	for (unsigned flags = 0; flags <= BSN_MAP_KEY; flags++)
		assert_int_equal(bsn_layout_map(outer, b->ep[0], flags, &again), -EINVAL);
	drop(nested);
	write_by_peer(b, map->mkey->rkey, 8, IBV_WC_REM_ACCESS_ERR);
	bsn_layout_unmap(map);
}

static void a_peer_may_not_invalidate_others(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 1, 16);
	const struct bsn_part part = column(b, 0);
	struct bsn_mkey *mkey = take_mkey(b, pool);

	configure(b, mkey, pool, layout_of(&part, 1, 16));
	assert_int_equal(bsn_invalidated(b->device, mkey->rkey), -EINVAL);
	assert_int_equal(bsn_invalidated(b->device, mkey->rkey + 1), -ENOENT);
	send_inval(b, mkey->rkey, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(bsn_invalidated(NULL, mkey->rkey), -EINVAL);
}

/* An mkey that becomes somebody else's has another key; who has the old one is refused. */
static void a_late_key_is_refused(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 1, 16);
	struct bsn_part part = column(b, 0);
	const struct bsn_layout_attr layout = layout_of(&part, 1, 16);
	const struct bsn_map *map;
	uint32_t late = 0;

	for (uint32_t turn = 0; turn < 300; turn++) {
		part.addr = b->mem[0]->addr + 8 * (turn % 32);
		ok(try_map(b, pool, layout, BSN_MAP_KEY, &map));
		complete_all(b);
		assert_int_not_equal(map->mkey->rkey, late);
		assert_int_equal(map->mkey->rkey, map->mkey->lkey);
		late = map->mkey->rkey;
		write_by_peer(b, late, 128, IBV_WC_SUCCESS);
		drop(map);
	}
	struct bsn_mkey *mkey = take_mkey(b, pool);
	assert_int_not_equal(mkey->rkey, late);
	write_by_peer(b, late, 128, IBV_WC_SUCCESS); /* until it is configured */
	configure(b, mkey, pool, layout);
	write_by_peer(b, mkey->rkey, 128, IBV_WC_SUCCESS);
	write_by_peer(b, late, 8, IBV_WC_REM_ACCESS_ERR);
}

static const struct bench_case cases[] = {
	{ CASE(lengths_are_told), QUEUES },
	{ CASE(a_layout_keeps_its_mkey), QUEUES, DIRECT },
	{ CASE(a_layout_that_went_gives_its_mkey_away), QUEUES, DIRECT },
	{ CASE(layouts_of_every_kind_gather), QUEUES },
	{ CASE(other_memory_may_go), QUEUES },
	{ CASE(a_late_key_is_refused), QUEUES, DIRECT },
	{ CASE(others_wait_for_its_completion), QUEUES, DIRECT },
	{ CASE(an_invalidated_mkey_spans_nothing), QUEUES, DIRECT },
	{ CASE(a_peer_may_invalidate_what_is_made_for_it), QUEUES, DIRECT },
	{ CASE(a_peer_may_not_invalidate_others), QUEUES, DIRECT },
};

BENCH_MAIN("layouts")
