/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool of DC initiators with its peers, for tests of it.
 */
#ifndef TESTS_ENGINE_DC_RIG_H
#define TESTS_ENGINE_DC_RIG_H

#include "dc/pool.h" /* before cmocka.h, which has a macro fail() */

#include "mkeys.h"

#include <stdio.h>
#include <stdlib.h>

#include "bsn_dc.h"
#include "nic/dc.h"
#include "nic/tables.h"

enum { KEY = 77, TARGETS = 12, PEERS = 24, RECVS = 16, INTO = 8192, LENGTH = 64, MAX_DONE = 64 };

#define ON_DIRECT BARE, DIRECT, OWN, MODEL
#define ON_VERBS  BARE, VERBS, OWN, MODEL

/*
 * Peers are those of a few targets in turn. With BSN_TEST_FULL_HANDSHAKE in the environment both
 * ends are made by commands, where they can be.
 */
struct rig {
	struct bench *b;
	struct bsn_cq *into;
	struct bsn_rq *srq;
	struct bsn_dct *dct[TARGETS];
	struct bsn_dc_pool *pool;
	struct bsn_ep *ep[PEERS];
	int user[PEERS];
	bool has_full_targets; /* with a full handshake */
	uint32_t initiators;   /* spares included */
	uint64_t connects;     /* that the model counted before */
	uint64_t full;         /* those by a full handshake, likewise */
	int changes;           /* that bsn_dct_accept() told */
	struct bsn_completion done[MAX_DONE];
	int count;
};

static inline uint64_t model_count(enum cx_dc_kind kind)
{
	struct cx_dc_counts counts;

	cx_dc_read(softcx_hca(), &counts);
	return counts.kinds[kind];
}

static inline struct bsn_dc_counters counters_of(const struct rig *r)
{
	struct bsn_dc_counters counters;

	ok(bsn_dc_pool_counters(r->pool, &counters));
	return counters;
}

/* Of the pool and of the device, the same: the peers of such a test have a target each. */
static inline void expect_connects(const struct rig *r, uint64_t count)
{
	assert_true(counters_of(r).has_connects);
	assert_int_equal(counters_of(r).connects, count);
	assert_int_equal(counters_of(r).bindings, count);
	assert_int_equal(model_count(CX_DC_connect) - r->connects, count);
}

static inline struct bsn_dc_error error_of(struct rig *r, int p)
{
	struct bsn_dc_error error;

	ok(bsn_dc_peer_error(r->ep[p], &error));
	return error;
}

static inline void expect_no_error(struct rig *r, int p)
{
	assert_false(error_of(r, p).has_failed);
	assert_int_equal(error_of(r, p).wqe_bytes, 0);
}

static inline const char *why_not(struct bench *b, const char *feature)
{
	const struct bsn_device_info *info = bench_info(b);

	for (uint32_t k = 0; k < info->feature_count; k++)
		if (!strcmp(info->features[k].name, feature))
			return info->features[k].why_not;
	fail_msg("no feature %s", feature);
	return NULL;
}

/* -- what it is made of ------------------------------------------------------------------------ */

static inline void add_target(struct rig *r, int t)
{
	const struct bsn_dct_attr attr = { .cq = r->into,
					   .srq = r->srq,
					   .access_key = KEY,
					   .full_handshake = r->has_full_targets,
					   .user = &r->dct[t] };

	ok(bsn_dct_create(r->b->device, &attr, &r->dct[t]));
}

static inline void remove_target(struct rig *r, int t)
{
	ok(bsn_dct_destroy(r->dct[t]));
	r->dct[t] = NULL;
}

static inline struct bsn_address target_address(struct rig *r, int t)
{
	struct bsn_address address;

	ok(bsn_dct_address(r->dct[t], &address));
	return address;
}

static inline struct bsn_ep *new_peer(struct rig *r, const struct bsn_address *address, void *user)
{
	struct bsn_ep *ep;

	ok(bsn_dc_peer_create(r->pool, address, NULL, user, &ep));
	return ep;
}

static inline struct bsn_ep *new_peer_of(struct rig *r, int t, void *user)
{
	const struct bsn_address address = target_address(r, t);

	return new_peer(r, &address, user);
}

/* A peer that cannot be. */
static inline int try_peer(struct rig *r, const struct bsn_address *address)
{
	struct bsn_ep *ep = NULL;
	const int err = bsn_dc_peer_create(r->pool, address, NULL, NULL, &ep);

	assert_int_equal(!ep, err != 0);
	return err;
}

static inline void add_peer(struct rig *r, int p)
{
	r->ep[p] = new_peer_of(r, p % TARGETS, &r->user[p]);
}

static inline void remove_peer(struct rig *r, int p)
{
	ok(bsn_dc_peer_destroy(r->ep[p]));
	r->ep[p] = NULL;
}

static inline void add_all(struct rig *r)
{
	for (int t = 0; t < TARGETS; t++)
		add_target(r, t);
	for (int p = 0; p < PEERS; p++)
		add_peer(r, p);
}

static inline void remove_all(struct rig *r)
{
	for (int p = 0; p < PEERS; p++)
		remove_peer(r, p);
	for (int t = 0; t < TARGETS; t++)
		remove_target(r, t);
}

static inline int unmake(struct rig *r)
{
	assert_int_equal(bsn_dc_pool_destroy(r->pool), -EBUSY);
	remove_all(r);
	ok(bsn_dc_pool_destroy(r->pool));
	free(r);
	return 0;
}

static inline struct rig *make_targets(struct bench *b, const struct bsn_dc_pool_attr *attr,
				       bool has_full_targets)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->b = b;
	r->has_full_targets = has_full_targets;
	r->initiators = attr ? attr->initiators + attr->spares : 0;
	r->into = bench_cq(b, &(struct bsn_cq_attr){ .entries = 256 });
	r->srq = bench_srq(b, &(struct bsn_srq_attr){ .recv_depth = RECVS });
	ok(bsn_dc_pool_create(b->device, attr, &r->pool));
	add_all(r);
	undo_later(b, unmake, r);
	r->connects = b->is_model ? model_count(CX_DC_connect) : 0;
	r->full = b->is_model ? model_count(CX_DC_full_handshake) : 0;
	return r;
}

static inline bool wants_full(struct bench *b)
{
	return getenv("BSN_TEST_FULL_HANDSHAKE") && !why_not(b, "dc-full-handshake");
}

static inline struct rig *make_of(struct bench *b, const struct bsn_dc_pool_attr *given)
{
	struct bsn_dc_pool_attr attr = given ? *given : (struct bsn_dc_pool_attr){ 0 };

	attr.full_handshake |= wants_full(b);
	return make_targets(b, given || attr.full_handshake ? &attr : NULL, attr.full_handshake);
}

/* A rig whose pool has these attributes. The bench undoes it. */
#define make(b, ...) make_of(b, &(struct bsn_dc_pool_attr){ __VA_ARGS__ })

/* Pools without peers: one that the bench destroys, and one that cannot be, or is not needed. */
static inline struct bsn_dc_pool *new_pool(struct bench *b, const struct bsn_dc_pool_attr *attr)
{
	struct bsn_dc_pool *pool;

	ok(bsn_dc_pool_create(b->device, attr, &pool));
	undo_later(b, bsn_dc_pool_destroy, pool);
	return pool;
}

static inline int try_pool_of(struct bench *b, const struct bsn_dc_pool_attr *attr)
{
	struct bsn_dc_pool *pool = NULL;
	const int err = bsn_dc_pool_create(b->device, attr, &pool);

	assert_int_equal(!pool, err != 0);
	ok(bsn_dc_pool_destroy(pool));
	return err;
}

#define try_pool(b, ...) try_pool_of(b, &(struct bsn_dc_pool_attr){ __VA_ARGS__ })

/* -- requests, and what comes of them ---------------------------------------------------------- */

static inline int write_flags(struct rig *r, int p, uint64_t id, unsigned flags)
{
	return bsn_write(r->ep[p], SGE(r->b, 0, 0, LENGTH), REMOTE(r->b, 1, INTO), id, flags);
}

static inline int write_to(struct rig *r, int p, uint64_t id)
{
	return write_flags(r, p, id, NOW);
}

static inline int write_nowhere(struct rig *r, int p, uint64_t id)
{
	return bsn_write(r->ep[p], SGE(r->b, 0, 0, LENGTH), &(struct bsn_remote){ 0, 0 }, id, NOW);
}

/* Posts by one of nine calls; the last three take a receive. */
static __attribute__((noinline, unused)) int post_by(struct rig *r, int kind, struct bsn_ep *ep,
						     uint32_t inline_bytes, uint64_t id)
{
	const struct bsn_sge local[3] = { bench_sge(r->b, 0, 0, 8), bench_sge(r->b, 0, 8, 8),
					  bench_sge(r->b, 0, 16, 8) };
	const struct bsn_remote to = bench_remote(r->b, 1, INTO);
	const struct bsn_wr wr = {
		.opcode = BSN_OPCODE_RDMA_WRITE, .sge = local, .sge_count = 1, .remote = to
	};
	struct bsn_prepared prepared;

	switch (kind) {
	case 0:
		return bsn_write(ep, local, &to, id, NOW);
	case 1:
		return bsn_read(ep, local, &to, id, NOW);
	case 2:
		return bsn_write_sgl(ep, local, 3, &to, id, NOW);
	case 3:
		return bsn_fetch_add(ep, local, &to, 1, id, NOW);
	case 4:
		ok(bsn_prepare(r->ep[0], &wr, &prepared));
		return bsn_post_prepared(ep, &prepared, id, NOW);
	case 5:
		return bsn_write_inline(ep, bench_at(r->b, 0, 0), inline_bytes, &to, id, NOW);
	case 6:
		return bsn_send(ep, local, id, NOW);
	case 7:
		return bsn_send_inline(ep, bench_at(r->b, 0, 0), inline_bytes, id, NOW);
	default:
		return bsn_send_imm(ep, local, 1, id, NOW);
	}
}

/* All of these peers want to write, and have no initiator yet. */
static inline void each_waits(struct rig *r, int first, int end)
{
	for (int p = first; p < end; p++)
		assert_int_equal(write_to(r, p, 1), -EAGAIN);
}

/* Lets the model work. */
static inline void run_model(struct rig *r)
{
	while (r->b->is_model && (softcx_step(0) || cx_next_deadline_ns(softcx_hca())))
		;
}

static inline void accept_all(struct rig *r)
{
	for (int t = 0; t < TARGETS; t++) {
		const int changes = r->dct[t] ? bsn_dct_accept(r->dct[t]) : 0;

		assert_true(changes >= 0);
		r->changes += changes;
	}
}

/* On plain verbs targets do their part. */
static inline int poll_up_to(struct rig *r, int n)
{
	accept_all(r);
	r->count = bsn_poll(bsn_dc_pool_cq(r->pool), r->done, n);
	assert_true(r->count >= 0);
	return r->count;
}

static inline int poll(struct rig *r)
{
	return poll_up_to(r, MAX_DONE);
}

/* Lets the model work, and polls once. */
static inline int work(struct rig *r)
{
	run_model(r);
	return poll(r);
}

static inline void work_on(struct rig *r, int rounds)
{
	while (rounds--)
		work(r);
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

static inline void expect_ready(struct rig *r, int at, int p)
{
	expect(r, at, p, 0, BSN_DC_READY, IBV_WC_SUCCESS);
}

static inline bool is_told(const struct rig *r, int p)
{
	for (int k = 0; k < r->count; k++)
		if (r->done[k].opcode == BSN_DC_READY && r->done[k].user == &r->user[p])
			return true;
	return false;
}

/* It comes alone. */
static inline void expect_one(struct rig *r, int p, uint64_t id, unsigned opcode,
			      enum ibv_wc_status status)
{
	assert_int_equal(work(r), 1);
	expect(r, 0, p, id, opcode, status);
}

static inline void write_and_finish(struct rig *r, int p, uint64_t id)
{
	ok(write_to(r, p, id));
	expect_one(r, p, id, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
}

/* All of these peers, one at a time. */
static inline void each_writes(struct rig *r, int first, int end, uint64_t id)
{
	for (int p = first; p < end; p++)
		write_and_finish(r, p, id);
}

static inline void write_and_fail(struct rig *r, int p, uint64_t id)
{
	ok(write_nowhere(r, p, id));
	expect_one(r, p, id, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
}

/* A completion of any request of such an endpoint. */
static inline void expect_one_of(struct rig *r, const void *user, enum ibv_wc_status status)
{
	assert_int_equal(work(r), 1);
	assert_int_equal(r->done[0].status, status);
	assert_ptr_equal(r->done[0].user, user);
}

/* These peers, after a failure. */
static inline void bring_back(struct rig *r, int first, int end)
{
	ok(bsn_dc_pool_repair(r->pool));
	for (int p = first; p < end; p++)
		ok(bsn_dc_peer_reset(r->ep[p]));
}

/* Each of a thousand peers fails, its initiator is repaired; then each is there again. */
static inline void many_fail_and_return(struct rig *r)
{
	enum { MANY = 1000 };
	static struct bsn_ep *many[MANY];
	const struct bsn_sge local = bench_sge(r->b, 0, 0, LENGTH);
	const struct bsn_remote nowhere = { 0, 0 }, to = bench_remote(r->b, 1, INTO);

	for (int p = 0; p < MANY; p++) {
		many[p] = new_peer_of(r, p % TARGETS, &many[p]);
		ok(bsn_write(many[p], &local, &nowhere, 1, NOW));
		expect_one_of(r, &many[p], IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(bsn_write(many[p], &local, &to, 1, NOW), -ENOTCONN);
		ok(bsn_dc_pool_repair(r->pool));
	}
	assert_int_equal(counters_of(r).failures, MANY);
	assert_int_equal(counters_of(r).repairs, MANY);
	for (int p = 0; p < MANY; p++) {
		ok(bsn_dc_peer_reset(many[p]));
		ok(bsn_write(many[p], &local, &to, 2, NOW));
		expect_one_of(r, &many[p], IBV_WC_SUCCESS);
		ok(bsn_dc_peer_destroy(many[p]));
	}
}

/* -- streams ----------------------------------------------------------------------------------- */

/* The last WRITE in the queue of a peer's initiator: of one block, or of two on RoCE. */
static inline struct bsn_ctrl last_of(struct rig *r, int p)
{
	const struct bsn_sq *sq = r->ep[p]->sq;
	const uint16_t index = (uint16_t)(sq->pi - (r->b->test->link == CX_LINK_ROCE ? 2 : 1));
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl,
			dv_sq(sq)->ring + (size_t)(index & dv_sq(sq)->bb_mask) * BSN_BB_SIZE);
	return ctrl;
}

static inline void expect_completion(struct rig *r, int p, uint64_t id, enum ibv_wc_status status)
{
	int found = -1;

	for (int k = 0; k < r->count; k++)
		if (r->done[k].user == &r->user[p] && r->done[k].id == id)
			found = k;
	assert_true(found >= 0);
	assert_int_equal(r->done[found].status, status);
}

#endif
