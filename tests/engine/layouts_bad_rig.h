/* SPDX-License-Identifier: BSD-2-Clause */
/* What tests of bad layouts have in common. */
#ifndef TESTS_ENGINE_LAYOUTS_BAD_RIG_H
#define TESTS_ENGINE_LAYOUTS_BAD_RIG_H

#include "datasheet.h"
#include "mkeys.h"
#include "sq.h"

/* -- nothing half-configured ------------------------------------------------------------------- */

static inline void configure(struct bench *b, struct bsn_mkey *mkey, struct bsn_mkey_pool *pool,
			     struct bsn_layout_attr layout)
{
	ok(configure_by(b, mkey, pool, layout, NOW));
	expect_done(b, b->cq[0], 7, BSN_OPCODE_UMR);
}

/* The peer writes the first 8 bytes that the key spans. */
static inline void write_by_peer(struct bench *b, uint32_t rkey, enum ibv_wc_status status)
{
	const struct bsn_sge local = bench_sge(b, 1, 0, 8);
	const struct bsn_remote remote = { 0, rkey };

	ok(bsn_write(b->ep[1], &local, &remote, 3, NOW));
	expect_status(b, b->cq[1], 3, BSN_OPCODE_RDMA_WRITE, status);
}

/* -- failures ---------------------------------------------------------------------------------- */

#define DEEP .qp = { .max_send_sge = 4, .send_depth = BENCH_DEPTH }, .cq_entries = 512, OWN

#endif
