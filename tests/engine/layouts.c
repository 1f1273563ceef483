/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts that are mapped, mkeys that one keeps, windows. */
#include "mem/layout.h"
#include "mkeys.h"
#include "sq.h"

#include <sys/mman.h>

enum { FLAT = 30000 }; /* of end 1 */

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
	assert_int_equal(bsn_layout_map(layout[4], b->ep[0], 0, &map[4]), -ENOBUFS);
	assert_non_null(strstr(bsn_error_text(), "in use"));
	assert_int_equal(bsn_mkey_pool_destroy(pool), -EBUSY);
	assert_int_equal(bsn_layout_destroy(layout[1]), -EBUSY);
	assert_non_null(strstr(bsn_error_text(), "unmap"));
	bsn_layout_unmap(map[2]);
	bsn_layout_unmap(map[1]);
	ok(bsn_layout_map(layout[4], b->ep[0], 0, &map[4]));
	assert_ptr_equal(map[4], map[2]);
	ok(bsn_layout_map(layout[1], b->ep[0], 0, &again));
	assert_ptr_equal(again, map[1]);
	for (uint32_t i = 0; i < 5; i++)
		if (i != 2)
			bsn_layout_unmap(map[i]);
	assert_int_equal(bsn_mkey_pool_destroy(pool), -EBUSY);
	assert_non_null(strstr(bsn_error_text(), "5 layouts"));
	for (uint32_t i = 0; i < 5; i++)
		ok(bsn_layout_destroy(layout[i]));
	assert_int_equal(bsn_mkey_pool_destroy(pool), -EBUSY); /* its UMRs would find no mkey */
	complete_all(b);
	ok(bsn_mkey_pool_destroy(pool));
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
	ok(bsn_mkey_pool_destroy(pool));
}

static void lengths_are_told(struct bench *b)
{
	const struct bsn_mkey_pool_attr attr = { .count = 1,
						 .max_translations = 64,
						 .takes_any_lkey = true };
	struct bsn_mkey_pool *pool = make_pool_of(b, &attr);
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
	ok(bsn_mkey_pool_destroy(pool));
}

/* Memory of its own is read by the peer through the map of a layout. */
static void assert_gathers(struct bench *b, struct bsn_layout *layout,
			   const struct bsn_layout_attr *attr)
{
	const struct bsn_wr wr = { .id = 9,
				   .opcode = BSN_OPCODE_RDMA_WRITE,
				   .flags = NOW,
				   .remote = bench_remote(b, 1, FLAT) };
	const struct bsn_map *map, *again;

	for (unsigned turn = 0; turn < 3; turn++) {
		ok(bsn_layout_map(layout, b->ep[0], 0, &map));
		ok(bsn_layout_map(layout, b->ep[0], 0, &again));
		assert_ptr_equal(map, again);
		memset(bench_at(b, 1, FLAT), 0, map->length);
		ok(post_map(b->ep[0], wr, map));
		expect_done(b, b->cq[0], 9, BSN_OPCODE_RDMA_WRITE);
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
	ok(bsn_mkey_configure(b->ep[0], mkey, layout, 7, NOW));
	expect_done(b, b->cq[0], 7, BSN_OPCODE_UMR);
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
	struct bsn_mr *twin;

	ok(bsn_mr_register(b->device, (void *)(uintptr_t)b->mem[0]->addr, 20000, NULL, &twin));
	for (uint32_t i = 0; i < 8 * 20; i++) {
		const struct bsn_layout_attr attr = { .parts = part,
						      .part_count = 1 + i / 8,
						      .rounds = i % 2 ? 1 + has_mkeys(b) * 3 : 1 };
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
	ok(bsn_mkey_pool_destroy(pool));
	ok(bsn_mr_deregister(twin));
}

/* A layout knows its memory from when it was made: it is looked for again once some memory went. */
static void other_memory_may_go(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, 4);
	struct bsn_part part[2] = { column(b, 0), column(b, 1) };
	const struct bsn_layout_attr attr = { .parts = part, .part_count = 2, .rounds = 1 };
	struct bsn_layout *layout;
	const struct bsn_map *map;
	struct bsn_mr *twin, *none;

	ok(bsn_mr_register(b->device, (void *)(uintptr_t)b->mem[0]->addr, 20000, NULL, &twin));
	part[0].lkey = part[1].lkey = twin->lkey;
	ok(bsn_layout_create(pool, &attr, &layout));
	ok(bsn_mr_register(b->device, (void *)(uintptr_t)b->mem[0]->addr, 64, NULL, &none));
	ok(bsn_mr_deregister(none));
	assert_gathers(b, layout, &attr);
	complete_all(b);
	ok(bsn_mr_deregister(twin));
	assert_int_equal(bsn_layout_map(layout, b->ep[0], 0, &map), -ENOENT);
	assert_non_null(strstr(bsn_error_text(), "deregistered"));
	ok(bsn_layout_destroy(layout));
	ok(bsn_mkey_pool_destroy(pool));
}

/* -- mkeys ------------------------------------------------------------------------------------- */

static void configure(struct bench *b, struct bsn_mkey *mkey, struct bsn_mkey_pool *pool,
		      struct bsn_layout_attr layout)
{
	ok(configure_by(b, mkey, pool, layout, NOW));
	expect_done(b, b->cq[0], 7, BSN_OPCODE_UMR);
}

/* The peer writes what it has at FLAT through the key. */
static void write_by_peer(struct bench *b, uint32_t rkey, uint32_t bytes, enum ibv_wc_status status)
{
	const struct bsn_sge local = bench_sge(b, 1, FLAT, bytes);
	const struct bsn_remote remote = { 0, rkey };

	ok(bsn_write(b->ep[1], &local, &remote, 3, NOW));
	expect_status(b, b->cq[1], 3, BSN_OPCODE_RDMA_WRITE, status);
}

static void fill_flat(struct bench *b, unsigned with)
{
	for (unsigned i = 0; i < 4096; i++)
		*bench_at(b, 1, FLAT + i) = (uint8_t)(i * 5 + with);
}

/* @n columns' bytes, round by round, are what lies at FLAT. */
static void assert_columns(struct bench *b, uint32_t n, uint32_t rounds)
{
	for (uint32_t i = 0; i < n * rounds; i++)
		assert_memory_equal(bench_at(b, 0, i / n * 256 + i % n * 8),
				    bench_at(b, 1, FLAT + 8 * i), 8);
}

/* Other queues, and peers, have to wait until the UMR has completed, which can be asked. */
static void others_wait_for_its_completion(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	const struct bsn_part part[2] = { column(b, 0), column(b, 1) };
	struct bsn_layout *layout = make_layout(pool, part, 2, 16), *outer;
	const struct bsn_map *map, *again, *nested;
	struct bsn_part nesting;
	struct bsn_mkey *mkey;

	ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
	mkey = (struct bsn_mkey *)(uintptr_t)map->mkey;
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_PENDING);
	nesting = (struct bsn_part){ .bytes = 64, .lkey = mkey->lkey };
	outer = make_layout(pool, &nesting, 1, 1);
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
	ok(bsn_layout_destroy(outer));
	ok(bsn_mkey_pool_destroy(pool));
}

static void an_invalidated_mkey_spans_nothing(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 1, 16);
	const struct bsn_part part = column(b, 0);
	struct bsn_mkey *mkey;

	ok(bsn_mkey_take(pool, &mkey));
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_FREE);
	configure(b, mkey, pool,
		  (struct bsn_layout_attr){ .parts = &part, .part_count = 1, .rounds = 16 });
	assert_int_equal(mkey->length, 128);
	write_by_peer(b, mkey->rkey, 128, IBV_WC_SUCCESS);
	ok(bsn_mkey_invalidate(b->ep[0], mkey, 6, NOW));
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_PENDING);
	assert_int_equal(bsn_mkey_give(mkey), -EBUSY);
	expect_done(b, b->cq[0], 6, BSN_OPCODE_UMR);
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_FREE);
	assert_int_equal(mkey->length, 0);
	configure(b, mkey, pool,
		  (struct bsn_layout_attr){ .parts = &part, .part_count = 1, .rounds = 8 });
	fill_flat(b, 2);
	write_by_peer(b, mkey->rkey, 64, IBV_WC_SUCCESS);
	assert_columns(b, 1, 8);
	ok(bsn_mkey_invalidate(b->ep[0], mkey, 6, NOW));
	expect_done(b, b->cq[0], 6, BSN_OPCODE_UMR);
	write_by_peer(b, mkey->rkey, 8, IBV_WC_REM_ACCESS_ERR);
	ok(bsn_mkey_give(mkey));
	ok(bsn_mkey_pool_destroy(pool));
}

/* The peer's SEND with the key, and what either end is told. */
static void send_inval(struct bench *b, uint32_t rkey, enum ibv_wc_status status)
{
	const struct bsn_sge none = bench_sge(b, 1, FLAT, 1), to = bench_sge(b, 0, 60000, 1);
	struct bsn_completion c;

	ok(bsn_recv(b->rq[0], &to, 11));
	ok(bsn_send_inval(b->ep[1], &none, rkey, 4, NOW));
	expect_status(b, b->cq[1], 4, BSN_OPCODE_SEND_INVAL, status);
	if (status)
		return;
	c = expect_done(b, b->cq[0], 11, BSN_RECV);
	assert_int_equal(c.flags, BSN_C_INVAL);
	assert_int_equal(c.imm, rkey);
}

static void a_peer_may_invalidate_what_is_made_for_it(struct bench *b)
{
	const struct bsn_mkey_pool_attr attr = { .count = 3,
						 .max_translations = 16,
						 .peers_may_invalidate = true };
	struct bsn_mkey_pool *pool = make_pool_of(b, &attr);
	const struct bsn_part part = column(b, 0);
	struct bsn_layout *layout = make_layout(pool, &part, 1, 16), *outer;
	const struct bsn_map *map, *nested, *again;
	struct bsn_part nesting;
	struct bsn_mkey *mkey;

	ok(bsn_mkey_take(pool, &mkey));
	for (unsigned round = 0; round < 3; round++) {
		ok(bsn_mkey_configure(b->ep[0], mkey, layout, 7, NOW));
		expect_done(b, b->cq[0], 7, BSN_OPCODE_UMR);
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
	nesting = (struct bsn_part){ .bytes = 64, .lkey = map->mkey->lkey };
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
	ok(bsn_layout_destroy(layout));
	ok(bsn_mkey_pool_destroy(pool));
}

static void a_peer_may_not_invalidate_others(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 1, 16);
	const struct bsn_part part = column(b, 0);
	struct bsn_mkey *mkey;

	ok(bsn_mkey_take(pool, &mkey));
	configure(b, mkey, pool,
		  (struct bsn_layout_attr){ .parts = &part, .part_count = 1, .rounds = 16 });
	assert_int_equal(bsn_invalidated(b->device, mkey->rkey), -EINVAL);
	assert_int_equal(bsn_invalidated(b->device, mkey->rkey + 1), -ENOENT);
	send_inval(b, mkey->rkey, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(bsn_invalidated(NULL, mkey->rkey), -EINVAL);
	ok(bsn_mkey_give(mkey));
	ok(bsn_mkey_pool_destroy(pool));
}

/* An mkey that becomes somebody else's has another key; who has the old one is refused. */
static void a_late_key_is_refused(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 1, 16);
	struct bsn_part part = column(b, 0);
	const struct bsn_layout_attr layout = { .parts = &part, .part_count = 1, .rounds = 16 };
	const struct bsn_map *map;
	struct bsn_mkey *mkey;
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
	ok(bsn_mkey_take(pool, &mkey));
	assert_int_not_equal(mkey->rkey, late);
	write_by_peer(b, late, 128, IBV_WC_SUCCESS); /* until it is configured */
	configure(b, mkey, pool, layout);
	write_by_peer(b, mkey->rkey, 128, IBV_WC_SUCCESS);
	write_by_peer(b, late, 8, IBV_WC_REM_ACCESS_ERR);
	ok(bsn_mkey_give(mkey));
	ok(bsn_mkey_pool_destroy(pool));
}

/* -- uses -------------------------------------------------------------------------------------- */

/* A receive is scattered, a prepared request gathered, as often as it is posted. */
static void receives_and_prepared_requests_take_maps(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, 16);
	const struct bsn_part part[2] = { column(b, 0), column(b, 1) };
	const struct bsn_layout_attr layout = { .parts = part,
						.part_count = 2,
						.rounds = has_mkeys(b) ? 16 : 2 };
	const uint32_t bytes = 16 * layout.rounds;
	const struct bsn_sge flat = bench_sge(b, 1, FLAT, bytes);
	struct bsn_prepared prepared;
	const struct bsn_map *map;
	struct bsn_wr wr;

	ok(try_map(b, pool, layout, has_mkeys(b) ? BSN_MAP_KEY : 0, &map));
	complete_all(b); /* receives do not wait for the send queue */
	fill_flat(b, 3);
	ok(bsn_recv_sgl(b->rq[0], map->sge, map->sge_count, 5));
	ok(bsn_send(b->ep[1], &flat, 6, NOW));
	expect_done(b, b->cq[1], 6, BSN_OPCODE_SEND);
	assert_int_equal(expect_done(b, b->cq[0], 5, BSN_RECV).byte_len, bytes);
	assert_columns(b, 2, layout.rounds);
	wr = (struct bsn_wr){ .opcode = BSN_OPCODE_RDMA_WRITE,
			      .sge = map->sge,
			      .sge_count = map->sge_count,
			      .remote = bench_remote(b, 1, FLAT) };
	ok(bsn_prepare(b->ep[0], &wr, &prepared));
	for (unsigned round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < layout.rounds; i++)
			memset(bench_at(b, 0, 256 * i), (int)(round * 16 + i), 16);
		ok(bsn_post_prepared(b->ep[0], &prepared, round, NOW));
		expect_done(b, b->cq[0], round, BSN_OPCODE_RDMA_WRITE);
		assert_columns(b, 2, layout.rounds);
	}
	drop(map);
	ok(bsn_mkey_pool_destroy(pool));
}

enum { PAGE = 512, PAGES = 70 };

static void use_pages(struct bench *b, struct bsn_mkey_pool *pool, const struct bsn_part *part,
		      uint32_t count)
{
	const struct bsn_wr wr = { .id = 9,
				   .opcode = BSN_OPCODE_RDMA_WRITE,
				   .flags = NOW,
				   .remote = bench_remote(b, 1, 0) };
	const struct bsn_layout_attr layout = { .parts = part, .part_count = count };
	const struct bsn_map *map;

	memset(bench_at(b, 1, 0), 0, (size_t)PAGE * count);
	ok(try_map(b, pool, layout, BSN_MAP_KEY, &map));
	assert_int_equal(map->length, PAGE * count);
	ok(post_map(b->ep[0], wr, map));
	expect_done(b, b->cq[0], 9, BSN_OPCODE_RDMA_WRITE);
	for (uint32_t i = 0; i < count; i++)
		assert_memory_equal(bench_at(b, 1, PAGE * i), (void *)(uintptr_t)part[i].addr,
				    PAGE);
	fill_flat(b, count);
	write_by_peer(b, map->mkey->rkey, PAGE + 100, IBV_WC_SUCCESS);
	assert_memory_equal(bench_at(b, 1, FLAT), (void *)(uintptr_t)part[0].addr, PAGE);
	assert_memory_equal(bench_at(b, 1, FLAT + PAGE), (void *)(uintptr_t)part[1].addr, 100);
	drop(map);
}

/* Few, and more of them than one WQE holds: pages in reverse. */
static void pages_of_one_size(struct bench *b)
{
	const struct bsn_mkey_pool_attr attr = { .count = 2,
						 .max_translations = PAGES,
						 .page_bytes = PAGE };
	struct bsn_mkey_pool *pool = make_pool_of(b, &attr);
	struct bsn_part part[PAGES];

	for (uint32_t count = 3; count <= PAGES; count += PAGES - 3) {
		for (uint32_t i = 0; i < count; i++)
			part[i] = (struct bsn_part){ .addr = b->mem[0]->addr + 2 +
							     (count - 1 - i) * (PAGE + 8),
						     .bytes = PAGE,
						     .lkey = b->mem[0]->lkey };
		use_pages(b, pool, part, count);
		part[0].addr += 8;
		use_pages(b, pool, part, count);
	}
	part[1].bytes--;
	refused(b, pool, EINVAL, "of pages",
		(struct bsn_layout_attr){ .parts = part, .part_count = 5 });
	part[1].bytes++;
	part[0].stride = PAGE;
	refused(b, pool, EINVAL, "of pages",
		(struct bsn_layout_attr){ .parts = part, .part_count = 1, .rounds = 5 });
	ok(bsn_mkey_pool_destroy(pool));
}

/* -- tables longer than one WQE can point to --------------------------------------------------- */

enum { LONG_TABLE = 65536, CHUNKS_BB = 2 * 3 };

static struct bsn_layout *long_list(struct bsn_mkey_pool *pool, const struct bsn_mr *mr)
{
	struct bsn_part *part = calloc(LONG_TABLE, sizeof(*part));
	struct bsn_layout *layout;

	assert_non_null(part);
	for (uint32_t i = 0; i < LONG_TABLE; i++)
		part[i] =
			(struct bsn_part){ .addr = mr->addr + 2 * i, .bytes = 1, .lkey = mr->lkey };
	layout = make_layout(pool, part, LONG_TABLE, 1);
	free(part);
	return layout;
}

/* All but @room blocks of the queue are taken. */
static void fill_queue(struct bench *b, uint32_t room)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, 8);
	const struct bsn_remote remote = bench_remote(b, 1, 0);

	while (bsn_sq_outstanding_bb(b->sq[0]) < b->sq[0]->capacity_bb - room)
		ok(bsn_write(b->ep[0], &local, &remote, 1, 0));
}

static void empty_queue(struct bench *b)
{
	ok(bsn_ring(b->ep[0]));
	bench_settle(b);
	assert_int_equal(bsn_poll(b->cq[0], &(struct bsn_completion){ 0 }, 1), 0);
}

/* It comes in several UMRs, all or none; one completion is that of all, flushed or not. */
static void a_long_table_comes_in_parts(struct bench *b)
{
	const struct bsn_mkey_pool_attr attr = { .count = 2, .max_translations = LONG_TABLE };
	struct bsn_mkey_pool *pool = make_pool_of(b, &attr);
	const struct bsn_sge whole = bench_sge(b, 1, 0, LONG_TABLE), local = bench_sge(b, 0, 0, 8);
	struct bsn_layout *layout;
	struct bsn_mkey *mkey;
	struct bsn_mr *mr;

	ok(bsn_buf_alloc(b->device, 2 * LONG_TABLE, NULL, &mr));
	layout = long_list(pool, mr);
	for (uint32_t i = 0; i < 2 * LONG_TABLE; i++)
		((uint8_t *)(uintptr_t)mr->addr)[i] = (uint8_t)(i * 3 + i / 512);
	ok(bsn_mkey_take(pool, &mkey));
	fill_queue(b, CHUNKS_BB - 1);
	assert_int_equal(bsn_mkey_configure(b->ep[0], mkey, layout, 7, NOW), -EAGAIN);
	assert_int_equal(bsn_sq_outstanding_bb(b->sq[0]), b->sq[0]->capacity_bb - CHUNKS_BB + 1);
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_FREE);
	empty_queue(b);
	ok(bsn_mkey_configure(b->ep[0], mkey, layout, 7, NOW));
	expect_done(b, b->cq[0], 7, BSN_OPCODE_UMR);
	assert_int_equal(mkey->length, LONG_TABLE);
	ok(bsn_read(b->ep[1], &whole, &(struct bsn_remote){ 0, mkey->rkey }, 4, NOW));
	expect_done(b, b->cq[1], 4, BSN_OPCODE_RDMA_READ);
	for (uint32_t i = 0; i < LONG_TABLE; i++)
		assert_int_equal(*bench_at(b, 1, i), ((uint8_t *)(uintptr_t)mr->addr)[2 * i]);
	ok(bsn_write(b->ep[0], &local, &(struct bsn_remote){ 0, 0 }, 5, 0));
	ok(bsn_mkey_configure(b->ep[0], mkey, layout, 6, NOW));
	expect_status(b, b->cq[0], 5, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	expect_status(b, b->cq[0], 6, BSN_OPCODE_UMR, IBV_WC_WR_FLUSH_ERR);
	expect_nothing(b, b->cq[0]);
	ok(bsn_mkey_give(mkey));
	ok(bsn_layout_destroy(layout));
	ok(bsn_mkey_pool_destroy(pool));
	ok(bsn_buf_free(mr));
}

static void a_queue_too_short_for_all_parts_takes_none(struct bench *b)
{
	const struct bsn_mkey_pool_attr attr = { .count = 1, .max_translations = LONG_TABLE };
	struct bsn_mkey_pool *pool = make_pool_of(b, &attr);
	const struct bsn_map *map;
	struct bsn_layout *layout;
	struct bsn_mr *mr;

	assert_true(b->sq[0]->capacity_bb < CHUNKS_BB);
	ok(bsn_buf_alloc(b->device, 2 * LONG_TABLE, NULL, &mr));
	layout = long_list(pool, mr);
	assert_int_equal(bsn_layout_map(layout, b->ep[0], 0, &map), -EMSGSIZE);
	assert_non_null(strstr(bsn_error_text(), "send_depth"));
	assert_int_equal(bsn_sq_outstanding_bb(b->sq[0]), 0);
	ok(bsn_layout_destroy(layout));
	ok(bsn_mkey_pool_destroy(pool));
	ok(bsn_buf_free(mr));
}

/* -- parts of more than 2^31 bytes ------------------------------------------------------------- */

#define HUGE_BYTES ((5ull << 29) + 4096)

/* The peer writes a byte each side of where a translation ends. */
static void write_around(struct bench *b, const struct bsn_mkey *mkey, uint64_t at)
{
	const struct bsn_sge local = bench_sge(b, 1, FLAT, 2);
	const struct bsn_remote remote = { at - 1, mkey->rkey };

	ok(bsn_write(b->ep[1], &local, &remote, 3, NOW));
	expect_done(b, b->cq[1], 3, BSN_OPCODE_RDMA_WRITE);
}

/* No message is so long, and none is cut off. */
static void refuse_whole(struct bench *b, struct bsn_mkey_pool *pool, struct bsn_layout_attr layout)
{
	const struct bsn_wr wr = { .opcode = BSN_OPCODE_RDMA_WRITE,
				   .flags = NOW,
				   .remote = bench_remote(b, 1, 0) };
	const struct bsn_map *map;

	ok(try_map(b, pool, layout, BSN_MAP_KEY, &map));
	assert_int_equal(post_map(b->ep[0], wr, map), -EMSGSIZE);
	complete_all(b);
	drop(map);
}

/* One takes several of them: 2^31 bytes and the rest. */
static void parts_of_more_than_a_translation_carries(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 1, 4);
	uint8_t *const memory = mmap(NULL, HUGE_BYTES, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct bsn_part part[2];
	struct bsn_mkey *mkey;
	struct bsn_mr *mr;

	assert_ptr_not_equal(memory, MAP_FAILED);
	ok(bsn_mr_register(b->device, memory, HUGE_BYTES, NULL, &mr));
	part[0] = (struct bsn_part){ mr->addr + 4096, HUGE_BYTES - 4096, 0, mr->lkey, 0 };
	part[1] = (struct bsn_part){ mr->addr, 8, 0, mr->lkey, 0 };
	ok(bsn_mkey_take(pool, &mkey));
	configure(b, mkey, pool,
		  (struct bsn_layout_attr){ .parts = part, .part_count = 2, .rounds = 1 });
	assert_true(mkey->length == HUGE_BYTES - 4096 + 8);
	fill_flat(b, 9);
	write_around(b, mkey, 1ull << 31);
	assert_memory_equal(memory + 4096 + (1ull << 31) - 1, bench_at(b, 1, FLAT), 2);
	write_around(b, mkey, HUGE_BYTES - 4096);
	assert_int_equal(memory[HUGE_BYTES - 1], *bench_at(b, 1, FLAT));
	assert_int_equal(memory[0], *bench_at(b, 1, FLAT + 1));
	ok(bsn_mkey_give(mkey));
	refuse_whole(b, pool,
		     (struct bsn_layout_attr){ .parts = part, .part_count = 2, .rounds = 1 });
	ok(bsn_mkey_pool_destroy(pool));
	ok(bsn_mr_deregister(mr));
	assert_int_equal(munmap(memory, HUGE_BYTES), 0);
}

/* A list whose bytes need 33 bits, of two keys in turn: it is no list of pages. */
static void a_list_of_4_gib(struct bench *b)
{
	const uint64_t part_bytes = 1ull << 30, bytes = 4 * part_bytes;
	struct bsn_mkey_pool *pool = make_pool(b, 1, 16);
	uint8_t *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct bsn_part part[4];
	struct bsn_layout *layout;
	struct bsn_mkey *mkey;
	struct bsn_mr *mr[2];

	assert_ptr_not_equal(memory, MAP_FAILED);
	for (unsigned i = 0; i < 2; i++)
		ok(bsn_mr_register(b->device, memory, bytes, NULL, &mr[i]));
	for (unsigned i = 0; i < 4; i++) /* the last one first */
		part[i] = (struct bsn_part){ mr[0]->addr + (3 - i) * part_bytes, part_bytes, 0,
					     mr[i % 2]->lkey, 0 };
	layout = make_layout(pool, part, 4, 1);
	ok(bsn_mkey_take(pool, &mkey));
	fill_flat(b, 9);
	for (unsigned turn = 0; turn < 2; turn++) {
		ok(bsn_mkey_configure(b->ep[0], mkey, layout, 7, NOW));
		expect_done(b, b->cq[0], 7, BSN_OPCODE_UMR);
		assert_true(mkey->length == bytes);
		for (unsigned i = 1; i < 4; i++) {
			memory[(5 - i) * part_bytes - 1] = memory[(3 - i) * part_bytes] = 0;
			write_around(b, mkey, i * part_bytes);
			assert_int_equal(memory[(5 - i) * part_bytes - 1], *bench_at(b, 1, FLAT));
			assert_int_equal(memory[(3 - i) * part_bytes], *bench_at(b, 1, FLAT + 1));
		}
	}
	ok(bsn_mkey_give(mkey));
	ok(bsn_layout_destroy(layout));
	ok(bsn_mkey_pool_destroy(pool));
	for (unsigned i = 0; i < 2; i++)
		ok(bsn_mr_deregister(mr[i]));
	assert_int_equal(munmap(memory, bytes), 0);
}

/*
 * Rounds of several keys, whose parts are not of one length: the bytes of a round are those of all
 * parts.
 */
static void rounds_of_several_keys(struct bench *b)
{
	enum { PARTS = 6, ROUNDS = 5 };
	struct bsn_mkey_pool *pool = make_pool(b, 1, 16);
	struct bsn_part part[PARTS];
	struct bsn_layout *layout;
	struct bsn_remote remote = { 0 };
	uint32_t at, length = 0;
	struct bsn_mkey *mkey;
	struct bsn_mr *twin;
	struct bsn_sge sge;

	ok(bsn_mr_register(b->device, (void *)(uintptr_t)b->mem[0]->addr, 20000, NULL, &twin));
	for (uint32_t i = 0; i < PARTS; i++) {
		part[i] = column(b, 8 * i);
		part[i].stride = 1024;
		part[i].bytes = 8 + 7 * i;
		part[i].lkey = i % 2 ? twin->lkey : b->mem[0]->lkey;
		length += (uint32_t)part[i].bytes * ROUNDS;
	}
	for (uint32_t i = 0; i < 20000; i++)
		*bench_at(b, 0, i) = (uint8_t)(i * 167 / 13);
	layout = make_layout(pool, part, PARTS, ROUNDS);
	ok(bsn_mkey_take(pool, &mkey));
	remote = bench_remote(b, 1, FLAT);
	for (unsigned turn = 0; turn < 2; turn++) {
		ok(bsn_mkey_configure(b->ep[0], mkey, layout, 7, NOW));
		expect_done(b, b->cq[0], 7, BSN_OPCODE_UMR);
		assert_int_equal(mkey->length, length);
		memset(bench_at(b, 1, FLAT), 0, length);
		sge = (struct bsn_sge){ 0, length, mkey->lkey };
		ok(bsn_write(b->ep[0], &sge, &remote, 9, NOW));
		expect_done(b, b->cq[0], 9, BSN_OPCODE_RDMA_WRITE);
		at = FLAT;
		for (uint32_t i = 0; i < PARTS * ROUNDS; at += (uint32_t)part[i++ % PARTS].bytes)
			assert_memory_equal(bench_at(b, 1, at),
					    (uint8_t *)(uintptr_t)part[i % PARTS].addr +
						    i / PARTS * 1024,
					    part[i % PARTS].bytes);
	}
	ok(bsn_mkey_give(mkey));
	ok(bsn_layout_destroy(layout));
	ok(bsn_mkey_pool_destroy(pool));
	ok(bsn_mr_deregister(twin));
}

/* -- windows ----------------------------------------------------------------------------------- */

static void write_through(struct bench *b, const struct bsn_window *window,
			  enum ibv_wc_status status)
{
	const struct bsn_sge flat = bench_sge(b, 1, FLAT, 64);
	const struct bsn_remote remote = { window->addr, window->rkey };

	ok(bsn_write(b->ep[1], &flat, &remote, 3, BSN_F_SIGNALED | BSN_F_RING));
	expect_status(b, b->cq[1], 3, BSN_OPCODE_RDMA_WRITE, status);
}

static void refuse_binding(struct bench *b, struct bsn_window *window, struct bsn_sge memory,
			   int access, int error, const char *text)
{
	assert_int_equal(bsn_window_bind(b->ep[0], window, &memory, access, 5, 0), -error);
	assert_non_null(strstr(bsn_error_text(), text));
}

/* Peers may not write through a window what is only read, nor reach another domain's. */
static void refuse_read_only(struct bench *b, struct bsn_window *window)
{
	struct bsn_mr_attr attr = { .access = IBV_ACCESS_MW_BIND, .is_read_only = true };
	struct bsn_pd *pd;
	struct bsn_mr *mr;

	ok(bsn_buf_alloc(b->device, 4096, &attr, &mr));
	refuse_binding(b, window, (struct bsn_sge){ mr->addr, 8, mr->lkey },
		       IBV_ACCESS_REMOTE_WRITE, EACCES, "LOCAL_WRITE");
	ok(bsn_buf_free(mr));
	ok(bsn_pd_create(b->device, &pd));
	attr.pd = pd;
	ok(bsn_buf_alloc(b->device, 4096, &attr, &mr));
	refuse_binding(b, window, (struct bsn_sge){ mr->addr, 8, mr->lkey }, IBV_ACCESS_REMOTE_READ,
		       EACCES, "domain");
	ok(bsn_buf_free(mr));
	ok(bsn_pd_destroy(pd));
}

static void windows_open_and_close(struct bench *b)
{
	const struct bsn_mr_attr attr = { .access = IBV_ACCESS_MW_BIND | IBV_ACCESS_LOCAL_WRITE |
						    IBV_ACCESS_REMOTE_WRITE };
	struct bsn_window *window;
	struct bsn_sge sge;
	struct bsn_mr *mr;
	uint32_t old;

	if (!has_mkeys(b)) {
		assert_int_equal(bsn_window_create(b->device, NULL, &window), -EOPNOTSUPP);
		return;
	}
	ok(bsn_buf_alloc(b->device, 4096, &attr, &mr));
	ok(bsn_window_create(b->device, NULL, &window));
	sge = (struct bsn_sge){ mr->addr + 128, 64, mr->lkey };
	assert_int_equal(bsn_window_bind(b->ep[0], window, &sge, IBV_ACCESS_LOCAL_WRITE, 5, 0),
			 -EINVAL);
	assert_int_equal(bsn_window_invalidate(b->ep[0], window, 5, 0), -EINVAL);
	assert_int_equal(bsn_window_bind(b->ep[0], window,
					 &(struct bsn_sge){ mr->addr, (1u << 31) + 1, mr->lkey },
					 IBV_ACCESS_REMOTE_WRITE, 5, 0),
			 -EMSGSIZE);
	refuse_binding(b, window, bench_sge(b, 0, 0, 8), IBV_ACCESS_REMOTE_READ, EACCES, "MW_BIND");
	refuse_binding(b, window, (struct bsn_sge){ mr->addr + 4090, 7, mr->lkey },
		       IBV_ACCESS_REMOTE_READ, EFAULT, "outside");
	refuse_read_only(b, window);
	assert_int_equal(bsn_sq_outstanding_bb(b->sq[0]), 0);
	for (int round = 0; round < 3; round++) {
		old = window->rkey;
		ok(bsn_window_bind(b->ep[0], window, &sge,
				   IBV_ACCESS_REMOTE_WRITE |
					   (round == 2 ? IBV_ACCESS_ZERO_BASED : 0),
				   5, BSN_F_SIGNALED | BSN_F_RING));
		expect_done(b, b->cq[0], 5, BSN_OPCODE_UMR);
		assert_int_not_equal(window->rkey, old);
		assert_int_equal(
			bsn_window_bind(b->ep[0], window, &sge, IBV_ACCESS_REMOTE_WRITE, 5, 0),
			-EBUSY);
		assert_int_equal(bsn_buf_free(mr), -EBUSY);
		assert_non_null(strstr(bsn_error_text(), "1 memory window"));
		memset(bench_at(b, 1, FLAT), 0x40 + round, 64);
		write_through(b, window, IBV_WC_SUCCESS);
		assert_memory_equal((void *)(uintptr_t)sge.addr, bench_at(b, 1, FLAT), 64);
		if (round == 1) {
			send_inval(b, window->rkey, IBV_WC_SUCCESS);
			assert_int_equal(bsn_invalidated(b->device, window->rkey + 1), -ENOENT);
			ok(bsn_invalidated(b->device, window->rkey));
			continue;
		}
		ok(bsn_window_invalidate(b->ep[0], window, 6, NOW));
		expect_done(b, b->cq[0], 6, BSN_OPCODE_UMR);
	}
	write_through(b, window, IBV_WC_REM_ACCESS_ERR);
	ok(bsn_window_destroy(window));
	ok(bsn_buf_free(mr));
}

/* Without an invalidation, and for every queue. */
static void windows_of_type_1_are_bound_anew(struct bench *b)
{
	const struct bsn_mr_attr attr = { .access = IBV_ACCESS_MW_BIND | IBV_ACCESS_LOCAL_WRITE };
	const struct bsn_window_attr type_1 = { .is_type_1 = true };
	struct bsn_window *window;
	struct bsn_mr *mr;

	ok(bsn_buf_alloc(b->device, 4096, &attr, &mr));
	ok(bsn_window_create(b->device, &type_1, &window));
	for (unsigned round = 0; round < 3; round++) {
		const struct bsn_sge sge = { mr->addr + 64 * round, 64, mr->lkey };
		ok(bsn_window_bind(b->ep[round % 2], window, &sge, IBV_ACCESS_REMOTE_WRITE, 5,
				   NOW));
		expect_done(b, b->cq[round % 2], 5, BSN_OPCODE_UMR);
		fill_flat(b, round);
		write_through(b, window, IBV_WC_SUCCESS);
		assert_memory_equal((void *)(uintptr_t)sge.addr, bench_at(b, 1, FLAT), 64);
	}
	assert_int_equal(bsn_window_invalidate(b->ep[0], window, 5, NOW), -EOPNOTSUPP);
	ok(bsn_window_destroy(window));
	ok(bsn_buf_free(mr));
}

#define QUEUES                                                                                     \
	.qp = { .max_send_sge = 4, .send_depth = BENCH_DEPTH }, .cq_entries = 512,                 \
	.is_own_only = true

#define DIRECT .is_direct_only = true

static const struct bench_case cases[] = {
	{ CASE("lengths are told", lengths_are_told), QUEUES },
	{ CASE("a layout keeps its mkey", a_layout_keeps_its_mkey), QUEUES, DIRECT },
	{ CASE("a layout that went gives its mkey away", a_layout_that_went_gives_its_mkey_away),
	  QUEUES, DIRECT },
	{ CASE("layouts of every kind gather", layouts_of_every_kind_gather), QUEUES },
	{ CASE("other memory may go", other_memory_may_go), QUEUES },
	{ CASE("a late key is refused", a_late_key_is_refused), QUEUES, DIRECT },
	{ CASE("others wait for its completion", others_wait_for_its_completion), QUEUES, DIRECT },
	{ CASE("an invalidated mkey spans nothing", an_invalidated_mkey_spans_nothing), QUEUES,
	  DIRECT },
	{ CASE("a peer may invalidate what is made for it",
	       a_peer_may_invalidate_what_is_made_for_it),
	  QUEUES, DIRECT },
	{ CASE("a peer may not invalidate others", a_peer_may_not_invalidate_others), QUEUES,
	  DIRECT },
	{ CASE("receives and prepared requests take maps",
	       receives_and_prepared_requests_take_maps),
	  .qp = { .max_send_sge = 4, .max_recv_sge = 4, .send_depth = BENCH_DEPTH },
	  .is_own_only = true },
	{ CASE("pages of one size", pages_of_one_size), QUEUES, DIRECT },
	{ CASE("a long table comes in parts", a_long_table_comes_in_parts), QUEUES, DIRECT },
	{ CASE("a queue too short for all parts takes none",
	       a_queue_too_short_for_all_parts_takes_none),
	  .qp = { .max_send_sge = 1, .send_depth = 4 }, .is_own_only = true, DIRECT,
	  .is_model_only = true },
	{ CASE("parts of more than a translation carries",
	       parts_of_more_than_a_translation_carries),
	  QUEUES, DIRECT, .is_model_only = true },
	{ CASE("a list of 4 GiB", a_list_of_4_gib), QUEUES, DIRECT, .is_model_only = true },
	{ CASE("rounds of several keys", rounds_of_several_keys), QUEUES, DIRECT },
	{ CASE("windows open and close", windows_open_and_close), QUEUES },
	{ CASE("windows of type 1 are bound anew", windows_of_type_1_are_bound_anew), QUEUES,
	  DIRECT },
};

int main(void)
{
	return bench_run("layouts", cases, sizeof(cases) / sizeof(*cases));
}
