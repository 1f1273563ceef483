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

struct rig {
	struct bench bench;
	struct party party[PARTIES], peer[PARTIES];
	struct mlx5dv_mkey *mkey;
	struct ibv_mr *mr; /* what windows are bound to */
	struct published want, got;
	struct bsn_mkey_pool *pool; /* that layouts are checked for */
};

static inline void rig_start(struct rig *rig)
{
	struct mlx5dv_mkey_init_attr attr = { .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
					      .max_entries = ENTRIES };

	bench_open(&rig->bench, CX_LINK_IB, BSN_QP_RC, BSN_STORE_8);
	rig->bench.has_mkeys = true;
	attr.pd = rig->bench.pd;
	rig->mkey = mlx5dv_create_mkey(&attr);
	if (!rig->mkey) {
		print_message("left out: no mkeys: %s\n", strerror(errno));
		bench_close(&rig->bench);
		skip();
	}
	assert_int_equal(bsn_mkey_pool_create(
				 rig->bench.device,
				 &(struct bsn_mkey_pool_attr){ .count = 1, .takes_any_lkey = true },
				 &rig->pool),
			 0);
	for (int i = 0; i < PARTIES; i++) {
		const struct builder *builder = builders;
		while (builder->is_bunsen != (i == BUNSEN))
			builder++;
		memset(&rig->party[i], 0, sizeof(rig->party[i]));
		memset(&rig->peer[i], 0, sizeof(rig->peer[i]));
		party_create(&rig->bench, &rig->party[i], builder);
		party_create(&rig->bench, &rig->peer[i], builder);
		party_connect(&rig->party[i], &rig->peer[i]);
	}
}

static inline void rig_stop(struct rig *rig)
{
	for (int i = 0; i < PARTIES; i++) {
		party_destroy(&rig->party[i]);
		party_destroy(&rig->peer[i]);
	}
	assert_int_equal(bsn_mkey_pool_destroy(rig->pool), 0);
	assert_int_equal(mlx5dv_destroy_mkey(rig->mkey), 0);
	bench_close(&rig->bench);
}

static const unsigned access_all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

static inline void reap(struct rig *rig, int who, uint64_t id)
{
	struct seen seen;

	assert_true(party_await(&rig->party[who], 0, &seen));
	assert_int_equal(seen.status, 0);
	assert_int_equal(seen.id, id);
}

static inline void compare(struct rig *rig)
{
	assert_int_equal(published_check(&rig->got), 0);
	assert_int_equal(published_compare(&rig->want, &rig->got, true), 0);
}

#endif
