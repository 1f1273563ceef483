/* SPDX-License-Identifier: BSD-2-Clause */
/* Bunsen and libmlx5 change memory keys at once: what both post is compared. */
#ifndef TESTS_CONFORMANCE_UMR_RIG_H
#define TESTS_CONFORMANCE_UMR_RIG_H

#include <infiniband/mlx5dv.h>

#include "bsn_mkey.h"
#include "compare.h"
#include "sq.h"
#include "umr.h"
#include "../wqe/random.h"

#undef fail /* cmocka has one */
#include "mem/layout.h"

enum { PARTIES = 2, LIBMLX5 = 0, BUNSEN = 1, ENTRIES = 52, MOST = 48, NO_KEY = 0x7fff0000 };

static struct rig {
	struct bench bench;
	struct party party[PARTIES], peer[PARTIES];
	struct mlx5dv_mkey *mkey;
	struct ibv_mr *mr; /* what windows are bound to */
	struct published posted[PARTIES];
	struct bsn_mkey_pool *pool; /* that layouts are checked for */
} rig;

static inline void rig_start(void)
{
	struct mlx5dv_mkey_init_attr attr = { .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
					      .max_entries = ENTRIES };

	random_start();
	bench_open(&rig.bench, CX_LINK_IB, BSN_QP_RC, BSN_STORE_8);
	rig.bench.has_mkeys = true;
	attr.pd = rig.bench.pd;
	rig.mkey = mlx5dv_create_mkey(&attr);
	if (!rig.mkey) {
		print_message("left out: no mkeys: %s\n", strerror(errno));
		bench_close(&rig.bench);
		skip();
	}
	ok(bsn_mkey_pool_create(rig.bench.device,
				&(struct bsn_mkey_pool_attr){ .count = 1, .takes_any_lkey = true },
				&rig.pool));
	for (int i = 0; i < PARTIES; i++) {
		const struct builder *builder = builders;
		while (builder->is_bunsen != (i == BUNSEN))
			builder++;
		party_create_pair(&rig.bench, &rig.party[i], &rig.peer[i], builder);
	}
}

static inline void rig_stop(void)
{
	for (int i = 0; i < PARTIES; i++)
		party_destroy_pair(&rig.party[i], &rig.peer[i]);
	ok(bsn_mkey_pool_destroy(rig.pool));
	ok(mlx5dv_destroy_mkey(rig.mkey));
	bench_close(&rig.bench);
}

static const unsigned access_all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

/* From here on a side posts, into a ring of random bytes. */
static inline void begin(int who, uint64_t seed)
{
	party_poison(&rig.party[who], seed + (uint64_t)who);
	published_start();
}

/* Takes what a side has just posted, and its completion. */
static inline void take(int who, uint64_t id)
{
	published_take(&rig.party[who], 1, &rig.posted[who]);
	assert_int_equal(party_success(&rig.party[who], 0).id, id);
}

static inline struct bsn_sq *bunsen_sq(void)
{
	return bsn_qp_ep(rig.party[BUNSEN].qp)->sq;
}

/* Begins a request of libmlx5's. */
static inline struct ibv_qp_ex *start_verbs(unsigned flags)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(rig.party[LIBMLX5].verbs);

	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = flags;
	return qp;
}

static inline void compare(void)
{
	ok(published_check(&rig.posted[BUNSEN]));
	ok(published_compare(&rig.posted[LIBMLX5], &rig.posted[BUNSEN], true));
}

#endif
