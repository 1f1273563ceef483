/* SPDX-License-Identifier: BSD-2-Clause */
/* A map or a configuration that a queue refuses changes neither layout nor mkey. */
#include "mkeys.h"

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
	struct bsn_layout *layout = make_layout(pool, &part, 1, 16);
	const struct bsn_remote remote = bench_remote(b, 1, 0);
	const struct bsn_map *map;

	ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
	bsn_layout_unmap(map);
	for (int end = 0; end < 2; end++)
		ok(bsn_qp_reset(b->qp[end]));
	assert_int_not_equal(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map), 0);
	bench_connect(b);
	ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
	ok(bsn_write(b->ep[0], map->sge, &remote, 3, NOW));
	expect_done(b, b->cq[0], 3, BSN_OPCODE_RDMA_WRITE);
	bsn_layout_unmap(map);
	ok(bsn_layout_destroy(layout));
	ok(bsn_mkey_pool_destroy(pool));
}

/* Until the queue takes the UMR, the mkey's table is that of the UMR before, which waits. */
static void a_refused_configuration_changes_no_table(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, PARTS);
	struct bsn_layout *first = make_list(b, pool, 0, 0xaa);
	struct bsn_layout *second = make_list(b, pool, PARTS * APART, 0xbb);
	const struct bsn_remote remote = bench_remote(b, 1, 0);
	struct bsn_sge sge = { .length = 8 * PARTS };
	struct bsn_mkey *mkey;

	ok(bsn_mkey_take(pool, &mkey));
	ok(bsn_mkey_configure(b->ep[0], mkey, first, 1, 0));
	assert_int_equal(bsn_mkey_configure(b->ep[0], mkey, second, 2, 1u << 28), -EINVAL);
	sge.lkey = mkey->lkey;
	ok(bsn_write(b->ep[0], &sge, &remote, 3, NOW));
	expect_done(b, b->cq[0], 3, BSN_OPCODE_RDMA_WRITE);
	for (uint32_t i = 0; i < sge.length; i++)
		assert_int_equal(*bench_at(b, 1, i), 0xaa);
	ok(bsn_mkey_configure(b->ep[0], mkey, second, 2, NOW));
	expect_done(b, b->cq[0], 2, BSN_OPCODE_UMR);
	ok(bsn_write(b->ep[0], &sge, &remote, 3, NOW));
	expect_done(b, b->cq[0], 3, BSN_OPCODE_RDMA_WRITE);
	for (uint32_t i = 0; i < sge.length; i++)
		assert_int_equal(*bench_at(b, 1, i), 0xbb);
	ok(bsn_mkey_give(mkey));
	ok(bsn_layout_destroy(first));
	ok(bsn_layout_destroy(second));
	ok(bsn_mkey_pool_destroy(pool));
}

/* A map that was made for a queue with more SGEs. */
static void a_map_of_another_queue_is_refused(struct bench *b)
{
	const struct bsn_qp_attr attr = { .cq = b->cq[0], .max_send_sge = 1, .send_depth = 8 };
	const struct bsn_wr wr = { .opcode = BSN_OPCODE_RDMA_WRITE };
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	const struct bsn_part parts[] = { column(b, 0), column(b, 8), column(b, 16),
					  column(b, 24) };
	struct bsn_layout *layout = make_layout(pool, parts, 4, 1);
	const struct bsn_map *map;
	struct bsn_qp *qp;

	ok(bsn_qp_create(b->device, &attr, &qp));
	ok(bsn_layout_map(layout, b->ep[0], 0, &map));
	assert_true(map->sge_count > bench_sq(qp)->max_sge);
	assert_int_equal(post_map(bsn_qp_ep(qp), wr, map), -EMSGSIZE);
	bsn_layout_unmap(map);
	ok(bsn_qp_destroy(qp));
	ok(bsn_layout_destroy(layout));
	ok(bsn_mkey_pool_destroy(pool));
}

#define QUEUES                                                                                     \
	.qp = { .max_send_sge = 4, .send_depth = BENCH_DEPTH }, .cq_entries = 512,                 \
	.is_own_only = true, .is_direct_only = true

static const struct bench_case cases[] = {
	{ CASE("a refused map is forgotten", a_refused_map_is_forgotten), QUEUES },
	{ CASE("a refused configuration changes no table",
	       a_refused_configuration_changes_no_table),
	  QUEUES },
	{ CASE("a map of another queue is refused", a_map_of_another_queue_is_refused), QUEUES },
};

int main(void)
{
	return bench_run("layouts_refused", cases, sizeof(cases) / sizeof(*cases));
}
