/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts and their mkeys, for tests of them. */
#ifndef TESTS_ENGINE_LAYOUTS_RIG_H
#define TESTS_ENGINE_LAYOUTS_RIG_H

#include "mem/layout.h"
#include "mkeys.h"
#include "sq.h"

#include <sys/mman.h>

enum { FLAT = 30000 }; /* of end 1: where a layout's bytes are in order */

#define QUEUES .qp = { .max_send_sge = 4, .send_depth = BENCH_DEPTH }, .cq_entries = 512, OWN

/* The mkey spans it now. */
static inline void span(struct bench *b, struct bsn_mkey *mkey, struct bsn_layout *layout)
{
	ok(bsn_mkey_configure(b->ep[0], mkey, layout, 7, NOW));
	expect_done(b, b->cq[0], 7, BSN_OPCODE_UMR);
}

static inline void configure(struct bench *b, struct bsn_mkey *mkey, struct bsn_mkey_pool *pool,
			     struct bsn_layout_attr layout)
{
	ok(configure_by(b, mkey, pool, layout, NOW));
	expect_done(b, b->cq[0], 7, BSN_OPCODE_UMR);
}

/* The peer writes what it has at FLAT through the key. */
static inline void write_by_peer(struct bench *b, uint32_t rkey, uint32_t bytes,
				 enum ibv_wc_status status)
{
	ok(bsn_write(b->ep[1], SGE(b, 1, FLAT, bytes), &(struct bsn_remote){ 0, rkey }, 3, NOW));
	expect_status(b, b->cq[1], 3, BSN_OPCODE_RDMA_WRITE, status);
}

/* What the map spans is written to end 1's memory. */
static inline void gather_to(struct bench *b, const struct bsn_map *map, size_t offset)
{
	const struct bsn_wr wr = { .id = 9,
				   .opcode = BSN_OPCODE_RDMA_WRITE,
				   .flags = NOW,
				   .remote = bench_remote(b, 1, offset) };

	ok(post_map(b->ep[0], wr, map));
	expect_done(b, b->cq[0], 9, BSN_OPCODE_RDMA_WRITE);
}

static inline void fill_flat(struct bench *b, unsigned with)
{
	for (unsigned i = 0; i < 4096; i++)
		*bench_at(b, 1, FLAT + i) = (uint8_t)(i * 5 + with);
}

/* @n columns' bytes, round by round, are what lies at FLAT. */
static inline void assert_columns(struct bench *b, uint32_t n, uint32_t rounds)
{
	for (uint32_t i = 0; i < n * rounds; i++)
		assert_memory_equal(bench_at(b, 0, i / n * 256 + i % n * 8),
				    bench_at(b, 1, FLAT + 8 * i), 8);
}

/* The peer's SEND with the key, and what either end is told. */
static inline void send_inval(struct bench *b, uint32_t rkey, enum ibv_wc_status status)
{
	const struct bsn_sge none = bench_sge(b, 1, FLAT, 1), to = bench_sge(b, 0, 60000, 1);

	ok(bsn_recv(b->rq[0], &to, 11));
	ok(bsn_send_inval(b->ep[1], &none, rkey, 4, NOW));
	expect_status(b, b->cq[1], 4, BSN_OPCODE_SEND_INVAL, status);
	if (status)
		return;
	struct bsn_completion c = expect_done(b, b->cq[0], 11, BSN_RECV);
	assert_int_equal(c.flags, BSN_C_INVAL);
	assert_int_equal(c.imm, rkey);
}

#endif
