/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pools and targets on plain verbs, by RC connections that are made on demand: on the model, and on
 * the kernel's soft-RoCE. What becomes of a pool by itself is in dc_pool.c.
 */
#ifndef TESTS_ENGINE_DC_RC_RIG_H
#define TESTS_ENGINE_DC_RC_RIG_H

#include "dc_rig.h"

#include "../device/real_device.h"

/* Also on a real device. */
#define BY_RC BARE, VERBS, OWN

/* Targets may have to answer. */
static inline int step(struct rig *r)
{
	run_model(r);
	accept_all(r);
	return work(r);
}

/* Until something is there. */
static inline int await(struct rig *r)
{
	const long until_ms = now_ms() + PATIENCE_MS;

	while (!step(r))
		assert_true(now_ms() < until_ms);
	return r->count;
}

static inline void await_one(struct rig *r, int p, uint64_t id, unsigned opcode,
			     enum ibv_wc_status status)
{
	assert_int_equal(await(r), 1);
	expect(r, 0, p, id, opcode, status);
}

static inline void await_ready(struct rig *r, int p)
{
	await_one(r, p, 0, BSN_DC_READY, IBV_WC_SUCCESS);
}

/* A peer that nobody is in the way of. */
static inline void connect_peer(struct rig *r, int p)
{
	fails(EAGAIN, "connection", write_to(r, p, 0));
	assert_int_equal(write_to(r, p, 0), -EAGAIN); /* again is no second place */
	await_ready(r, p);
}

/* So many initiators came to targets, or left them, so far; and nothing else happens. */
static inline void expect_changes(struct rig *r, int changes)
{
	const long until_ms = now_ms() + PATIENCE_MS;

	while (r->changes != changes && now_ms() < until_ms)
		assert_int_equal(step(r), 0);
	assert_int_equal(r->changes, changes);
}

static inline void write_and_await(struct rig *r, int p, uint64_t id)
{
	ok(write_to(r, p, id));
	await_one(r, p, id, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
}

static const struct bsn_connect_attr impatient = { .timeout = 1, .retry_count = 2 };

#endif
