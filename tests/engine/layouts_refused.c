/* SPDX-License-Identifier: BSD-2-Clause */
/* A map or a configuration that a queue refuses changes neither layout nor mkey. */
#include <time.h>

#include "layouts_rig.h"

enum { PARTS = 64, APART = 64 };

/* So many parts of 8 bytes of end 0's memory, each with that value. */
static struct bsn_layout *make_list(struct bench *b, struct bsn_mkey_pool *pool, uint32_t from,
				    int value)
{
	struct bsn_part parts[PARTS];

	for (uint32_t i = 0; i < PARTS; i++) {
		const uint32_t at = from + APART * i;
		memset(bench_at(b, 0, at), value, 8);
		parts[i] = (struct bsn_part){ .addr = b->mem[0]->addr + at,
					      .bytes = 8,
					      .lkey = b->mem[0]->lkey };
	}
	return make_layout(pool, parts, PARTS, 1);
}

/* The UMR of a queue that was reset is unknown, and comes again, too, after that was refused. */
static void a_refused_map_is_forgotten(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	const struct bsn_part part = column(b, 0);
	struct bsn_layout *layout = keep_layout(b, pool, &part, 1, 16);
	const struct bsn_map *map;

	ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
	bsn_layout_unmap(map);
	bench_reset(b);
	assert_int_not_equal(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map), 0);
	bench_connect(b);
	ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
	ok(bsn_write(b->ep[0], map->sge, REMOTE(b, 1, 0), 3, NOW));
	expect_done(b, b->cq[0], 3, BSN_OPCODE_RDMA_WRITE);
	bsn_layout_unmap(map);
}

static void expect_all(struct bench *b, struct bsn_mkey *mkey, int value)
{
	const struct bsn_sge sge = { .length = 8 * PARTS, .lkey = mkey->lkey };

	ok(bsn_write(b->ep[0], &sge, REMOTE(b, 1, 0), 3, NOW));
	expect_done(b, b->cq[0], 3, BSN_OPCODE_RDMA_WRITE);
	for (uint32_t i = 0; i < sge.length; i++)
		assert_int_equal(*bench_at(b, 1, i), value);
}

/* The mkey's table is one: it stays while the UMR before waits, and where the next is refused. */
static void a_refused_configuration_changes_no_table(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, PARTS);
	struct bsn_layout *first = make_list(b, pool, 0, 0xaa);
	struct bsn_layout *second = make_list(b, pool, PARTS * APART, 0xbb);
	struct bsn_mkey *mkey = take_mkey(b, pool);

	ok(bsn_mkey_configure(b->ep[0], mkey, first, 1, 0));
	assert_int_equal(bsn_mkey_configure(b->ep[0], mkey, second, 2, 0), -EBUSY);
	expect_all(b, mkey, 0xaa);
	assert_int_equal(bsn_mkey_configure(b->ep[0], mkey, second, 2, 1u << 28), -EINVAL);
	expect_all(b, mkey, 0xaa);
	ok(bsn_mkey_configure(b->ep[0], mkey, second, 2, NOW));
	expect_done(b, b->cq[0], 2, BSN_OPCODE_UMR);
	expect_all(b, mkey, 0xbb);
	ok(bsn_layout_destroy(first));
	ok(bsn_layout_destroy(second));
}

/* Memory behind a nested mkey went: neither the mkey's layout nor the one around it is mapped. */
static void memory_that_went_is_missed_at_each_level(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	struct bsn_layout *inner, *outer;
	const struct bsn_map *map;
	struct bsn_mr *mr;

	ok(bsn_buf_alloc(b->device, 4096, NULL, &mr));
	struct bsn_part part = { .addr = mr->addr, .bytes = 64, .lkey = mr->lkey };
	inner = keep_layout(b, pool, &part, 1, 1);
	struct bsn_mkey *mkey = take_mkey(b, pool);
	ok(bsn_mkey_configure(b->ep[0], mkey, inner, 1, NOW));
	expect_done(b, b->cq[0], 1, BSN_OPCODE_UMR);
	part = (struct bsn_part){ .bytes = 64, .lkey = mkey->lkey };
	outer = keep_layout(b, pool, &part, 1, 1);
	ok(bsn_layout_map(outer, b->ep[0], 0, &map));
	bsn_layout_unmap(map);
	ok(bsn_buf_free(mr));
	assert_int_equal(bsn_layout_map(inner, b->ep[0], 0, &map), -ENOENT);
	assert_int_equal(bsn_layout_map(outer, b->ep[0], 0, &map), -ENOENT);
}

/*
 * Parts of two strides, of as many rounds as there can be: it takes no time to say what is wrong.
 */
static void many_rounds_are_judged_at_once(struct bench *b)
{
	struct bsn_mkey_pool *pool = new_mkey_pool(b, .takes_any_lkey = true);
	struct bsn_part parts[] = { { .addr = 4096, .bytes = 8, .stride = 256, .lkey = 0x100 },
				    { .addr = 4104, .bytes = 8, .stride = 1024, .lkey = 0x100 } };
	const struct bsn_layout_attr attr = { parts, 2, .rounds = UINT32_MAX };
	const clock_t before = clock();
	struct bsn_layout *layout;

	if (has_mkeys(b)) {
		ok(bsn_layout_create(pool, &attr, &layout));
		ok(bsn_layout_destroy(layout));
	} else {
		assert_int_equal(bsn_layout_create(pool, &attr, &layout), -EMSGSIZE);
	}
	/* In the other's last rounds it meets a block of it. */
	parts[1].addr += 256ull * (UINT32_MAX - 1000);
	parts[1].stride = 264;
	assert_int_equal(bsn_layout_create(pool, &attr, &layout),
			 has_mkeys(b) ? -ENOTUNIQ : -EMSGSIZE);
	assert_true(clock() - before < CLOCKS_PER_SEC);
}

/* Posts requests until the queue has room for @room. Returns how many, whose ids begin at 1. */
static uint64_t fill_queue(struct bench *b, uint32_t room)
{
	const struct bsn_remote to = bench_remote(b, 1, FLAT);
	uint64_t filled = 0;

	while (bsn_room(b->ep[0]) > room)
		ok(bsn_write(b->ep[0], SGE(b, 0, 0, 8), &to, ++filled, BSN_F_SIGNALED));
	return filled;
}

static void expect_filled(struct bench *b, uint64_t filled)
{
	for (uint64_t id = 1; id <= filled; id++)
		expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
}

static void expect_written(struct bench *b, bool is_written)
{
	for (uint32_t i = 0; i < 8 * PARTS; i++)
		assert_true((*bench_at(b, 1, i) == 0xaa) == is_written);
}

/* On plain verbs a map of many SGEs takes several requests. All are posted, or none. */
static void a_map_is_posted_whole_or_not_at_all(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 1, PARTS);
	const struct bsn_wr send = { .opcode = BSN_OPCODE_SEND }, write = {
		.opcode = BSN_OPCODE_RDMA_WRITE, .flags = NOW, .remote = bench_remote(b, 1, 0)
	};
	const uint32_t requests = (PARTS + b->sq[0]->max_sge - 1) / b->sq[0]->max_sge;
	struct bsn_layout *layout = make_list(b, pool, 0, 0xaa);
	const struct bsn_map *map;

	ok(bsn_layout_map(layout, b->ep[0], 0, &map));
	assert_true(map->sge_count == PARTS && requests > 1);
	fails(EMSGSIZE, "only a WRITE or READ", post_map(b->ep[0], send, map));
	uint64_t filled = fill_queue(b, requests - 1);
	fails(EAGAIN, "all requests of the map", post_map(b->ep[0], write, map));
	assert_int_equal(bsn_room(b->ep[0]), requests - 1);
	ok(bsn_ring(b->ep[0]));
	expect_filled(b, filled);
	expect_written(b, false);
	filled = fill_queue(b, requests);
	ok(post_map(b->ep[0], write, map));
	expect_filled(b, filled);
	expect_done(b, b->cq[0], 0, BSN_OPCODE_RDMA_WRITE);
	expect_written(b, true);
	drop(map);
}

/* -- what a translation and an SGE hold, to the byte ------------------------------------------- */

/* Whether the pool's translations are enough. */
static bool fits(struct bsn_mkey_pool *pool, const struct bsn_part *parts, uint32_t count,
		 uint32_t rounds)
{
	const struct bsn_layout_attr attr = { parts, count, rounds };
	struct bsn_layout *layout;
	const int err = bsn_layout_create(pool, &attr, &layout);

	if (err)
		assert_int_equal(err, -EMSGSIZE);
	else
		ok(bsn_layout_destroy(layout));
	return !err;
}

/* A repeat block has one translation, and one a part; strides too long for it take one a block. */
static void a_repeat_block_has_strides_of_16_bits(struct bench *b)
{
	struct bsn_mkey_pool *pool =
		new_mkey_pool(b, .max_translations = 4, .takes_any_lkey = true);
	struct bsn_part parts[3];

	for (unsigned more = 0; more < 2; more++) {
		for (uint32_t i = 0; i < 3; i++)
			parts[i] = (struct bsn_part){
				.addr = 4096 * i, .bytes = 8, .stride = 0xffff + more, .lkey = 0x100
			};
		assert_int_equal(fits(pool, parts, 3, 3), !more);
	}
}

static void a_translation_holds_2_gib(struct bench *b)
{
	struct bsn_mkey_pool *pool =
		new_mkey_pool(b, .max_translations = 4, .takes_any_lkey = true);
	struct bsn_part parts[4];

	for (uint32_t i = 0; i < 4; i++)
		parts[i] = (struct bsn_part){ .addr = (uint64_t)i << 32,
					      .bytes = 1u << 31,
					      .lkey = 0x100 };
	assert_true(fits(pool, parts, 4, 1));
	parts[0].bytes++;
	assert_false(fits(pool, parts, 4, 1));
	parts[2].bytes = 1ull << 32; /* two of them; with its neighbours four */
	assert_true(fits(pool, &parts[1], 3, 1));
	parts[2].bytes++;
	assert_false(fits(pool, &parts[1], 3, 1));
}

/* Two parts that touch are one SGE, as long as it is shorter than that. So is a message. */
static void an_sge_is_shorter_than_2_gib(struct bench *b)
{
	const struct bsn_wr write = { .opcode = BSN_OPCODE_RDMA_WRITE };
	struct bsn_mkey_pool *pool =
		new_mkey_pool(b, .max_translations = 4, .takes_any_lkey = true);
	const struct bsn_map *map;

	for (unsigned more = 0; more < 2; more++) {
		const struct bsn_part parts[] = {
			{ .addr = 4096, .bytes = 1u << 30, .lkey = 0x100 },
			{ .addr = 4096 + (1u << 30), .bytes = (1u << 30) - 1 + more, .lkey = 0x100 }
		};
		ok(try_map(b, pool, layout_of(parts, 2, 1), 0, &map));
		assert_int_equal(map->sge_count, 1 + more);
		assert_int_equal(post_map(b->ep[0], write, map), more ? -EMSGSIZE : 0);
		ok(bsn_cancel(b->ep[0]));
		drop(map);
	}
}

/* In one round, and only in all of them. */
static void a_layout_has_less_than_2_to_the_64_bytes(struct bench *b)
{
	struct bsn_mkey_pool *pool = new_mkey_pool(b, .takes_any_lkey = true);

	for (uint32_t rounds = 1; rounds <= 2; rounds++) {
		const uint64_t bytes = (1ull << 63) / rounds;
		const struct bsn_part parts[] = {
			{ .bytes = bytes, .stride = bytes, .lkey = 0x100 },
			{ .bytes = bytes, .stride = bytes, .lkey = 0x200 }
		};
		refused(b, pool, EOVERFLOW, "2^64", layout_of(parts, 2, rounds));
	}
}

static void too_many_translations_are_refused(struct bench *b)
{
	const struct bsn_mkey_pool_attr attr = { .max_translations = UINT32_MAX };
	struct bsn_mkey_pool *pool;

	assert_int_equal(bsn_mkey_pool_create(b->device, &attr, &pool), -EMSGSIZE);
}

/* At once, not after a pool and a queue were made greater in vain. */
static void a_send_that_cannot_be_says_so(struct bench *b)
{
	const struct bsn_mkey_pool_attr attr = { .max_translations = 16 };
	struct bsn_part parts[64];
	const struct bsn_layout_attr many = { .parts = parts, .part_count = 64 };
	struct bsn_mkey_pool *pool;
	struct bsn_layout *layout;

	for (unsigned i = 0; i < 64; i++)
		parts[i] = column(b, 16 * i);
	ok(bsn_mkey_pool_create(b->device, &attr, &pool));
	assert_int_equal(bsn_layout_create(pool, &many, &layout), -EMSGSIZE);
	if (!strstr(bsn_error_text(), has_mkeys(b) ? "(max_translations)" : "but a SEND cannot"))
		fail_msg("%s", bsn_error_text());
	ok(bsn_mkey_pool_destroy(pool));
}

/* A map that was made for a queue with more SGEs. */
static void a_map_of_another_queue_is_refused(struct bench *b)
{
	const struct bsn_wr wr = { .opcode = BSN_OPCODE_RDMA_WRITE };
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	const struct bsn_part parts[] = { column(b, 0), column(b, 8), column(b, 16),
					  column(b, 24) };
	struct bsn_layout *layout = keep_layout(b, pool, parts, 4, 1);
	const struct bsn_map *map;
	struct bsn_qp *qp = new_qp(b, .cq = b->cq[0], .max_send_sge = 1, .send_depth = 8);

	ok(bsn_layout_map(layout, b->ep[0], 0, &map));
	assert_true(map->sge_count > bench_sq(qp)->max_sge);
	assert_int_equal(post_map(bsn_qp_ep(qp), wr, map), -EMSGSIZE);
	bsn_layout_unmap(map);
}

static const struct bench_case cases[] = {
	{ CASE(a_refused_map_is_forgotten), QUEUES, DIRECT },
	{ CASE(a_refused_configuration_changes_no_table), QUEUES, DIRECT },
	{ CASE(memory_that_went_is_missed_at_each_level), QUEUES, DIRECT },
	{ CASE(many_rounds_are_judged_at_once) },
	{ CASE(a_send_that_cannot_be_says_so) },
	{ CASE(a_map_is_posted_whole_or_not_at_all), QUEUES, VERBS },
	{ CASE(a_repeat_block_has_strides_of_16_bits), DIRECT, MODEL },
	{ CASE(a_translation_holds_2_gib), DIRECT },
	{ CASE(an_sge_is_shorter_than_2_gib), QUEUES, DIRECT },
	{ CASE(a_layout_has_less_than_2_to_the_64_bytes) },
	{ CASE(too_many_translations_are_refused) },
	{ CASE(a_map_of_another_queue_is_refused), QUEUES, DIRECT },
};

BENCH_MAIN("layouts_refused")
