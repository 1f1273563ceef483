/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pools and targets on plain verbs, by RC connections that are made on demand: on the model, and on
 * the kernel's soft-RoCE. What becomes of a pool by itself is in dc_pool.c.
 */
#ifndef TESTS_ENGINE_DC_RC_RIG_H
#define TESTS_ENGINE_DC_RC_RIG_H

#include "harness.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../device/real_device.h"
#include "../wqe/random.h"
#include "bsn_dc.h"

enum { KEY = 77, TARGETS = 6, PEERS = 12, INTO = 8192, LENGTH = 64, MAX_DONE = 64, RECVS = 16 };

/* Peers are those of a few targets in turn. */
struct rig {
	struct bench *b;
	struct bsn_cq *into;
	struct bsn_rq *srq;
	struct bsn_dct *dct[TARGETS];
	struct bsn_dc_pool *pool;
	struct bsn_ep *ep[PEERS];
	int user[PEERS];
	int changes; /* that bsn_dct_accept() told */
	struct bsn_completion done[MAX_DONE];
	int count;
};

static inline struct bsn_dc_counters counters_of(const struct rig *r)
{
	struct bsn_dc_counters counters;

	ok(bsn_dc_pool_counters(r->pool, &counters));
	return counters;
}

static inline void add_target(struct rig *r, int t)
{
	const struct bsn_dct_attr attr = {
		.cq = r->into, .srq = r->srq, .access_key = KEY, .user = &r->dct[t]
	};

	ok(bsn_dct_create(r->b->device, &attr, &r->dct[t]));
}

static inline void add_peer(struct rig *r, int p)
{
	struct bsn_address address;

	ok(bsn_dct_address(r->dct[p % TARGETS], &address));
	ok(bsn_dc_peer_create(r->pool, &address, NULL, &r->user[p], &r->ep[p]));
}

static inline void make(struct bench *b, struct rig *r, const struct bsn_dc_pool_attr *attr)
{
	memset(r, 0, sizeof(*r));
	r->b = b;
	ok(bsn_cq_create(b->device, &(struct bsn_cq_attr){ .entries = 256 }, &r->into));
	ok(bsn_srq_create(b->device, &(struct bsn_srq_attr){ .recv_depth = RECVS }, &r->srq));
	for (int t = 0; t < TARGETS; t++)
		add_target(r, t);
	ok(bsn_dc_pool_create(b->device, attr, &r->pool));
	for (int p = 0; p < PEERS; p++)
		add_peer(r, p);
}

static inline void unmake(struct rig *r)
{
	assert_int_equal(bsn_dc_pool_destroy(r->pool), -EBUSY);
	for (int p = 0; p < PEERS; p++)
		ok(bsn_dc_peer_destroy(r->ep[p]));
	ok(bsn_dc_pool_destroy(r->pool));
	for (int t = 0; t < TARGETS; t++)
		ok(bsn_dct_destroy(r->dct[t]));
	ok(bsn_srq_destroy(r->srq));
	ok(bsn_cq_destroy(r->into));
}

/* -- time -------------------------------------------------------------------------------------- */

static inline void accept_all(struct rig *r)
{
	for (int t = 0; t < TARGETS; t++) {
		const int changes = bsn_dct_accept(r->dct[t]);

		if (r->dct[t]) {
			assert_true(changes >= 0);
			r->changes += changes;
		}
	}
}

static inline void run_device(struct rig *r)
{
	while (r->b->is_model && (softcx_step(0) || cx_next_deadline_ns(softcx_hca())))
		;
}

static inline int poll(struct rig *r)
{
	run_device(r);
	accept_all(r);
	run_device(r);
	r->count = bsn_poll(bsn_dc_pool_cq(r->pool), r->done, MAX_DONE);
	assert_true(r->count >= 0);
	return r->count;
}

/* Until something is there. */
static inline int work(struct rig *r)
{
	const long until_ms = now_ms() + PATIENCE_MS;

	while (!poll(r))
		assert_true(now_ms() < until_ms);
	return r->count;
}

static inline int write_flags(struct rig *r, int p, uint64_t id, unsigned flags)
{
	const struct bsn_sge local = bench_sge(r->b, 0, 0, LENGTH);
	const struct bsn_remote to = bench_remote(r->b, 1, INTO);

	return bsn_write(r->ep[p], &local, &to, id, flags);
}

static inline void expect(struct rig *r, int at, int p, uint64_t id, unsigned opcode,
			  enum ibv_wc_status status)
{
	assert_true(at < r->count);
	assert_int_equal(r->done[at].status, status);
	assert_int_equal(r->done[at].opcode, opcode);
	assert_int_equal(r->done[at].id, id);
	assert_ptr_equal(r->done[at].user, &r->user[p]);
}

static inline void expect_ready(struct rig *r, int p)
{
	assert_int_equal(work(r), 1);
	expect(r, 0, p, 0, BSN_DC_READY, IBV_WC_SUCCESS);
}

/* A peer that nobody is in the way of. */
static inline void connect(struct rig *r, int p)
{
	assert_int_equal(write_flags(r, p, 0, NOW), -EAGAIN);
	assert_non_null(strstr(bsn_error_text(), "connection"));
	assert_int_equal(write_flags(r, p, 0, NOW), -EAGAIN); /* again is no second place */
	expect_ready(r, p);
}

/*
 * So many initiators came to targets, or left them, since the rig is there; and nothing else
 * happens.
 */
static inline void expect_changes(struct rig *r, int changes)
{
	const long until_ms = now_ms() + PATIENCE_MS;

	while (r->changes != changes && now_ms() < until_ms)
		assert_int_equal(poll(r), 0);
	assert_int_equal(r->changes, changes);
}

static inline void write_and_finish(struct rig *r, int p, uint64_t id)
{
	ok(write_flags(r, p, id, NOW));
	assert_int_equal(work(r), 1);
	expect(r, 0, p, id, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
}

/* -- failing ----------------------------------------------------------------------------------- */

static const struct bsn_connect_attr impatient = { .timeout = 1, .retry_count = 2 };

/* -- wrong ones -------------------------------------------------------------------------------- */

#define ON_VERBS BARE, VERBS, OWN

#endif
