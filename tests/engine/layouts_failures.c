/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts on queues that lack something, that nest, or while the device fails. */
#include "datasheet.h"
#include "layouts_rig.h"

/* -- queues ------------------------------------------------------------------------------------ */

enum { TABLE_PARTS = 20, INLINE_BB = 7, POINTER_BB = 3 };

/*
 * What would be longer than the queue goes by pointer; where that does not fit either, not at all.
 */
static void a_short_queue_has_its_table_elsewhere(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, TABLE_PARTS);
	struct bsn_part part[TABLE_PARTS];
	const struct bsn_layout_attr list = { .parts = part, .part_count = TABLE_PARTS };

	assert_true(dv_sq(b->sq[0])->capacity_bb < INLINE_BB);
	for (uint32_t i = 0; i < TABLE_PARTS; i++)
		part[i] = (struct bsn_part){ .addr = b->mem[0]->addr + 16 * (TABLE_PARTS - i),
					     .bytes = 8,
					     .lkey = b->mem[0]->lkey };
	struct bsn_mkey *mkey = take_mkey(b, pool);
	if (dv_sq(b->sq[0])->capacity_bb < POINTER_BB) {
		fails(EMSGSIZE, "send_depth", configure_by(b, mkey, pool, list, NOW));
		assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_FREE);
		assert_int_equal(mkey->length, 0);
	} else {
		ok(configure_by(b, mkey, pool, list, NOW));
		assert_int_equal(bsn_sq_outstanding_bb(b->sq[0]), POINTER_BB);
		expect_done(b, b->cq[0], 7, BSN_OPCODE_UMR);
		memset(bench_at(b, 1, FLAT), 0x5a, 8);
		write_by_peer(b, mkey->rkey, 8, IBV_WC_SUCCESS);
		assert_memory_equal(bench_at(b, 0, 16 * TABLE_PARTS), bench_at(b, 1, FLAT), 8);
	}
}

static void uc_has_no_umr(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, 16);
	const struct bsn_part part = column(b, 0);
	struct bsn_mkey *mkey = take_mkey(b, pool);

	assert_int_equal(configure_by(b, mkey, pool, layout_of(&part, 1, 16), NOW), -EOPNOTSUPP);
	refused(b, pool, EOPNOTSUPP, "RC", layout_of(&part, 1, 16));
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_FREE);
}

/* -- nesting ----------------------------------------------------------------------------------- */

enum { DEPTHS = 16 };

static void nesting_ends_where_the_device_does(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, DEPTHS + 1, 4);
	struct bsn_part part = column(b, 0);
	struct bsn_layout *layout = make_layout(pool, &part, 1, 4), *flat;
	struct bsn_mkey *mkey[DEPTHS];
	const struct bsn_map *map;
	unsigned depth = 0;
	int err;

	for (unsigned i = 0; i < DEPTHS; i++)
		ok(bsn_mkey_take(pool, &mkey[i]));
	while (!(err = bsn_mkey_configure(b->ep[0], mkey[depth], layout, 7, NOW))) {
		expect_done(b, b->cq[0], 7, BSN_OPCODE_UMR);
		memset(bench_at(b, 1, FLAT), 0x70 + (int)depth, 8);
		write_by_peer(b, mkey[depth]->rkey, 8, IBV_WC_SUCCESS);
		assert_memory_equal(bench_at(b, 0, 0), bench_at(b, 1, FLAT), 8);
		part = (struct bsn_part){ .bytes = 32, .lkey = mkey[depth]->lkey };
		ok(bsn_layout_destroy(layout)); /* the mkey spans it all the same */
		layout = make_layout(pool, &part, 1, 1);
		depth++;
	}
	assert_int_equal(err, -ELOOP);
	assert_true(depth >= 3);
	if (b->is_model)
		assert_int_equal(depth, CX_MAX_INDIRECTION);
	assert_int_equal(bsn_mkey_state(mkey[depth]), BSN_MKEY_FREE);
	fails(ELOOP, "follows", bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
	ok(bsn_layout_map(layout, b->ep[0], 0, &map)); /* as an SGE it is not too deep */
	assert_null(map->mkey);
	drop(map);
	/* What others nest does not change beneath them. */
	part = column(b, 0);
	flat = make_layout(pool, &part, 1, 1);
	assert_int_equal(bsn_mkey_configure(b->ep[0], mkey[0], flat, 7, NOW), -EBUSY);
	assert_int_equal(bsn_mkey_invalidate(b->ep[0], mkey[0], 7, NOW), -EBUSY);
	assert_int_equal(bsn_mkey_give(mkey[0]), -EBUSY);
	ok(bsn_layout_destroy(flat));
	for (unsigned i = DEPTHS; i--;)
		ok(bsn_mkey_give(mkey[i]));
}

static void what_spans_nothing_is_not_nested(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, 4);
	const struct bsn_part good = column(b, 0);
	struct bsn_mkey *mkey = take_mkey(b, pool);
	struct bsn_part part = { .bytes = 8, .lkey = mkey->lkey };

	refused(b, pool, EINVAL, "spans nothing", layout_of(&part, 1, 1));
	configure(b, mkey, pool, layout_of(&good, 1, 4));
	part.addr = 25;
	refused(b, pool, EFAULT, "outside", layout_of(&part, 1, 1));
	ok(bsn_mkey_invalidate(b->ep[0], mkey, 6, NOW));
	expect_done(b, b->cq[0], 6, BSN_OPCODE_UMR);
	refused(b, pool, EINVAL, "spans nothing", layout_of(&part, 1, 1));
}

/* -- failures ---------------------------------------------------------------------------------- */

/* Nobody knows what a UMR that failed has done: its mkey goes, and another one comes. */
static void a_failed_umr_costs_its_mkey(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, 16);
	const struct bsn_part part = column(b, 0);
	struct bsn_layout *layout = keep_layout(b, pool, &part, 1, 16);
	struct bsn_mkey *mkey = take_mkey(b, pool);
	uint32_t old = mkey->rkey;

	ok(bsn_mkey_configure(b->ep[0], mkey, layout, 7, NOW));
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_PENDING);
	expect_status(b, b->cq[0], 7, BSN_OPCODE_UMR, IBV_WC_MW_BIND_ERR);
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_UNKNOWN);
	connect_anew(b);
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_UNKNOWN);
	struct bsn_part outer = { .bytes = 8, .lkey = mkey->lkey };
	refused(b, pool, EINVAL, "failed", layout_of(&outer, 1, 1));
	assert_int_equal(bsn_mkey_invalidate(b->ep[0], mkey, 7, NOW), -EINVAL);
	span(b, mkey, layout);
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_READY);
	assert_int_not_equal(mkey->rkey, old);
	assert_int_equal(mkey->rkey, mkey->lkey);
	write_by_peer(b, mkey->rkey, 8, IBV_WC_SUCCESS);
	write_by_peer(b, old, 8, IBV_WC_REM_ACCESS_ERR);
}

/* The same of a layout that is mapped, and of what is given back as it is. */
static void a_map_of_a_failed_queue_is_made_anew(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 1, 16);
	const struct bsn_part part = column(b, 0);
	struct bsn_layout *layout = make_layout(pool, &part, 1, 16);
	const struct bsn_map *map, *again;
	struct bsn_mkey *mkey;
	uint32_t old[2];

	ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
	old[0] = map->mkey->rkey;
	ok(bsn_ring(b->ep[0]));
	connect_anew(b);
	assert_int_equal(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &again), -EBUSY);
	bsn_layout_unmap(map);
	ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
	assert_int_not_equal(map->mkey->rkey, old[0]);
	assert_int_equal(map->sge->lkey, map->mkey->lkey);
	complete_all(b);
	write_by_peer(b, map->mkey->rkey, 8, IBV_WC_SUCCESS);
	write_by_peer(b, old[0], 8, IBV_WC_REM_ACCESS_ERR);
	drop(map);
	/* End 0 is in order; end 1 failed. A queue that is reset leaves what it has not done. */
	connect_anew(b);
	layout = make_layout(pool, &part, 1, 16);
	ok(bsn_mkey_take(pool, &mkey));
	old[1] = mkey->rkey;
	ok(bsn_mkey_configure(b->ep[0], mkey, layout, 7, 0));
	ok(bsn_qp_reset(b->qp[0]));
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_UNKNOWN);
	ok(bsn_mkey_give(mkey));
	ok(bsn_qp_reset(b->qp[1]));
	bench_connect(b);
	ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
	assert_int_not_equal(map->mkey->rkey, old[1]);
	complete_all(b);
	write_by_peer(b, map->mkey->rkey, 8, IBV_WC_SUCCESS);
	drop(map);
}

/* Maps columns from the nth on, by UMRs, and writes by the last of the maps. */
static void map_and_write(struct bench *b, struct bsn_mkey_pool *pool, uint32_t n, uint32_t maps,
			  uint64_t id)
{
	const struct bsn_wr wr = { .id = id,
				   .opcode = BSN_OPCODE_RDMA_WRITE,
				   .flags = NOW,
				   .remote = bench_remote(b, 1, 0) };
	const struct bsn_map *map[4];

	assert_true(maps <= 4);
	for (uint32_t k = 0; k < maps; k++) {
		const struct bsn_part part = column(b, n + k);
		ok(try_map(b, pool, layout_of(&part, 1, 16), BSN_MAP_KEY, &map[k]));
	}
	ok(post_map(b->ep[0], wr, map[maps - 1]));
	for (uint32_t k = 0; k < maps; k++)
		drop(map[k]);
}

static void expect_none_left(struct bench *b)
{
	struct bsn_completion c;

	expect_nothing(b, b->cq[0]);
	assert_int_equal(bsn_qp_give_back(b->qp[0], &c, 1), 0);
	assert_int_equal(bsn_sq_outstanding_bb(b->sq[0]), 0);
}

/* Whether UMRs of maps succeed, or are flushed. */
static void umrs_of_maps_are_hidden(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 32, 16);

	map_and_write(b, pool, 0, 4, 1);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	expect_none_left(b);
	ok(bsn_write(b->ep[0], SGE(b, 0, 0, 8), &(struct bsn_remote){ 0, 0 }, 2, BSN_F_SIGNALED));
	map_and_write(b, pool, 4, 4, 3);
	map_and_write(b, pool, 8, 2, 4);
	expect_status(b, b->cq[0], 2, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	expect_status(b, b->cq[0], 3, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	expect_status(b, b->cq[0], 4, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	expect_none_left(b);
	connect_anew(b);
	map_and_write(b, pool, 12, 1, 5);
	expect_done(b, b->cq[0], 5, BSN_OPCODE_RDMA_WRITE);
}

/* Of a UMR of a map that fails first the queue tells, and what comes after it. */
static void a_failed_umr_of_a_map_is_hidden(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, 16);
	struct bsn_qp_error error;

	map_and_write(b, pool, 0, 2, 1);
	expect_status(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	expect_none_left(b);
	ok(bsn_qp_error(b->qp[0], &error));
	assert_true(error.has_failed);
	assert_int_equal(error.state, IBV_QPS_ERR);
	assert_int_equal(error.first.status, IBV_WC_MW_BIND_ERR);
	assert_int_equal(error.first.opcode, BSN_OPCODE_UMR);
	assert_int_equal(error.first.id, 0);
	connect_anew(b);
}

#define DEPTH(...)  .qp = { .send_depth = BENCH_DEPTH, __VA_ARGS__ }, .cq_entries = 512, OWN, DIRECT
#define FAULT       MODEL, .fault_plan = "opcode=UMR nth=1 fail 6 0"

static const struct bench_case cases[] = {
	{ CASE(a_short_queue_has_its_table_elsewhere), .qp = { .max_send_sge = 1, .send_depth = 4 },
	  OWN, MODEL, DIRECT },
	{ CASE_OF(a_short_queue_has_its_table_elsewhere, "longer than the queue"),
	  .qp = { .max_send_sge = 1, .send_depth = 1 }, OWN, MODEL, DIRECT },
	{ CASE(uc_has_no_umr), .qp.type = BSN_QP_UC, OWN, DIRECT },
	{ CASE(nesting_ends_where_the_device_does), QUEUES, DIRECT },
	{ CASE(what_spans_nothing_is_not_nested), QUEUES, DIRECT },
	{ CASE(a_failed_umr_costs_its_mkey), QUEUES, MODEL, DIRECT,
	  .fault_plan = "opcode=UMR nth=1 fail 6 0" },
	{ CASE(a_map_of_a_failed_queue_is_made_anew), QUEUES, MODEL, DIRECT,
	  .fault_plan = "opcode=UMR nth=1 fail 6 0" },
	{ CASE(umrs_of_maps_are_hidden), DEPTH(.signal_every = 0) },
	{ CASE_OF(umrs_of_maps_are_hidden, "all completing"), DEPTH(.signal_all = true) },
	{ CASE_OF(umrs_of_maps_are_hidden, "signaled in turn"), DEPTH(.signal_every = 2) },
	{ CASE_OF(umrs_of_maps_are_hidden, "silent after an error"),
	  DEPTH(.ce_on_first_error = true, .signal_every = -1) },
	{ CASE(a_failed_umr_of_a_map_is_hidden), DEPTH(.signal_every = 0), FAULT },
	{ CASE_OF(a_failed_umr_of_a_map_is_hidden, "all completing"), DEPTH(.signal_all = true),
	  FAULT },
	{ CASE_OF(a_failed_umr_of_a_map_is_hidden, "and silent ones"),
	  DEPTH(.ce_on_first_error = true, .signal_every = -1), FAULT },
};

BENCH_MAIN("layouts_failures")
