/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of pools of DC initiators have in common. */
#ifndef TESTS_ENGINE_DC_POOL_RIG_H
#define TESTS_ENGINE_DC_POOL_RIG_H

#include "dc/pool.h" /* before cmocka.h, which has a macro fail() */

#include "dc_rig.h"
#include "nic/tables.h"

#include <infiniband/mlx5dv.h>
#include <stdio.h>

/*
 * What the pool counts is what the device had to connect, since the peers here have a target each.
 */
static inline void expect_connects(const struct rig *r, uint64_t count)
{
	assert_true(counters_of(r).has_connects);
	assert_int_equal(counters_of(r).connects, count);
	assert_int_equal(counters_of(r).bindings, count);
	assert_int_equal(model_count(CX_DC_connect) - r->connects, count);
}

/* -- who waits --------------------------------------------------------------------------------- */

static inline bool is_told(const struct rig *r, int p)
{
	for (int k = 0; k < r->count; k++)
		if (r->done[k].opcode == BSN_DC_READY && r->done[k].user == &r->user[p])
			return true;
	return false;
}

/* -- many, and wrong ones ---------------------------------------------------------------------- */

#define ON_DIRECT BARE, DIRECT, OWN, MODEL
#define ON_VERBS  BARE, VERBS, OWN, MODEL

#endif
