/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool of DC initiators with its peers, for tests of it; and a simple model of what has to come
 * back.
 */
#ifndef TESTS_ENGINE_DC_RIG_H
#define TESTS_ENGINE_DC_RIG_H

#include "mkeys.h"

#include <stdlib.h>

#include "../wqe/random.h"
#include "bsn_dc.h"
#include "nic/dc.h"

enum { KEY = 77, TARGETS = 12, PEERS = 24, INTO = 8192, LENGTH = 64, MAX_DONE = 64 };
enum { MAX_INLINE = 60 }; /* of what is posted at random */

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

static inline const char *why_not(struct bench *b, const char *feature)
{
	const struct bsn_device_info *info = bsn_device_info(b->device);

	for (uint32_t k = 0; k < info->feature_count; k++)
		if (!strcmp(info->features[k].name, feature))
			return info->features[k].why_not;
	fail_msg("no feature %s", feature);
	return NULL;
}

static inline void is_refused(int result, int error, const char *word)
{
	assert_int_equal(result, -error);
	if (!strstr(bsn_error_text(), word))
		fail_msg("\"%s\" lacks \"%s\"", bsn_error_text(), word);
}

static inline void add_target(struct rig *r, int t)
{
	const struct bsn_dct_attr attr = { .cq = r->into,
					   .srq = r->srq,
					   .access_key = KEY,
					   .full_handshake = r->has_full_targets };

	ok(bsn_dct_create(r->b->device, &attr, &r->dct[t]));
}

static inline void add_peer(struct rig *r, int p)
{
	struct bsn_address address;

	ok(bsn_dct_address(r->dct[p % TARGETS], &address));
	ok(bsn_dc_peer_create(r->pool, &address, NULL, &r->user[p], &r->ep[p]));
}

static inline void make_targets(struct bench *b, struct rig *r, const struct bsn_dc_pool_attr *attr,
				bool has_full_targets)
{
	memset(r, 0, sizeof(*r));
	r->b = b;
	r->has_full_targets = has_full_targets;
	r->initiators = attr ? attr->initiators + attr->spares : 0;
	ok(bsn_cq_create(b->device, &(struct bsn_cq_attr){ .entries = 256 }, &r->into));
	ok(bsn_srq_create(b->device, &(struct bsn_srq_attr){ .recv_depth = 8 }, &r->srq));
	for (int t = 0; t < TARGETS; t++)
		add_target(r, t);
	ok(bsn_dc_pool_create(b->device, attr, &r->pool));
	for (int p = 0; p < PEERS; p++)
		add_peer(r, p);
	r->connects = model_count(CX_DC_connect);
}

static inline bool wants_full(struct bench *b)
{
	return getenv("BSN_TEST_FULL_HANDSHAKE") && !why_not(b, "dc-full-handshake");
}

static inline void make(struct bench *b, struct rig *r, const struct bsn_dc_pool_attr *given)
{
	struct bsn_dc_pool_attr attr = given ? *given : (struct bsn_dc_pool_attr){ 0 };

	attr.full_handshake |= wants_full(b);
	make_targets(b, r, given || attr.full_handshake ? &attr : NULL, attr.full_handshake);
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

static inline int write_flags(struct rig *r, int p, uint64_t id, unsigned flags)
{
	const struct bsn_sge local = bench_sge(r->b, 0, 0, LENGTH);
	const struct bsn_remote to = bench_remote(r->b, 1, INTO);

	return bsn_write(r->ep[p], &local, &to, id, flags);
}

static inline int write_to(struct rig *r, int p, uint64_t id)
{
	return write_flags(r, p, id, NOW);
}

/* On plain verbs targets do their part. */
static inline int poll(struct rig *r)
{
	for (int t = 0; t < TARGETS; t++)
		assert_true(!r->dct[t] || bsn_dct_accept(r->dct[t]) >= 0);
	r->count = bsn_poll(bsn_dc_pool_cq(r->pool), r->done, MAX_DONE);
	assert_true(r->count >= 0);
	return r->count;
}

static inline void run_model(void)
{
	while (softcx_step(0) || cx_next_deadline_ns(softcx_hca()))
		;
}

/* Lets the model work, and polls once. */
static inline int work(struct rig *r)
{
	run_model();
	return poll(r);
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

static inline void write_and_finish(struct rig *r, int p, uint64_t id)
{
	ok(write_to(r, p, id));
	assert_int_equal(work(r), 1);
	expect(r, 0, p, id, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
}

/* BSN_ROUNDS is how often it is as long. */
static inline unsigned rounds(void)
{
	const char *wanted = getenv("BSN_ROUNDS");

	return wanted ? (unsigned)strtoul(wanted, NULL, 10) : 1;
}

/* -- at random --------------------------------------------------------------------------------- */

/* What a peer has outstanding, as a simple model: ids in order, the first of them due next. */
struct expected {
	uint64_t next_id, due_id;
	bool failed, is_signaled[256];
	bool waits;
	unsigned waited;
};

static inline void skip_unsignaled(struct expected *e, uint64_t id)
{
	while (e->due_id < id) {
		assert_false(e->is_signaled[e->due_id % 256]);
		e->due_id++;
	}
}

static inline void take_completion(struct rig *r, struct expected *all,
				   const struct bsn_completion *c)
{
	const int p = (int)((int *)c->user - r->user);
	struct expected *e = &all[p];

	assert_true(p >= 0 && p < PEERS);
	if (c->opcode == BSN_DC_READY) {
		assert_true(e->waits);
		e->waits = false;
		e->waited = 0;
		return;
	}
	/*
	 * In order; what was skipped succeeded in silence, and after a failure nothing is silent.
	 */
	assert_true(c->id >= e->due_id && c->id < e->next_id);
	if (e->failed) {
		assert_int_equal(c->id, e->due_id);
		assert_int_equal(c->status, IBV_WC_WR_FLUSH_ERR);
	} else {
		skip_unsignaled(e, c->id);
	}
	/*
	 * Whose request is flushed first was not the one that failed: then no initiator was left.
	 */
	if (!e->failed && c->status == IBV_WC_WR_FLUSH_ERR && r->b->test->no_errored_streams)
		assert_int_equal(counters_of(r).broken, r->initiators);
	e->due_id = c->id + 1;
	e->failed |= c->status != IBV_WC_SUCCESS;
}

/*
 * Of one block or of several. Inline data look like control segments of silent requests. Of fewer
 * steps more are bad, so that a share of a test meets as many failures.
 */
static inline int write_at_random(struct rig *r, int p, uint64_t id, unsigned flags)
{
	const struct bsn_sge local = bench_sge(r->b, 0, 0, LENGTH);
	const bool is_bad = random_u64() % bench_rounds(r->b, 200) == 0;
	const struct bsn_remote to =
		is_bad ? (struct bsn_remote){ 0, 0 } : bench_remote(r->b, 1, INTO);
	uint8_t data[MAX_INLINE];

	if (random_u64() % 2)
		return bsn_write(r->ep[p], &local, &to, id, flags);
	memset(data, BSN_CE_ON_FIRST_ERROR << 2, sizeof(data));
	return bsn_write_inline(r->ep[p], data, random_u64() % (MAX_INLINE + 1), &to, id, flags);
}

static inline void post_at_random(struct rig *r, struct expected *e, int p)
{
	const bool signals = random_u64() % 3 == 0;
	const unsigned flags =
		(signals ? BSN_F_SIGNALED : 0u) | (random_u64() % 2 ? BSN_F_RING : 0u);
	int err;

	if (e->next_id - e->due_id >= 200)
		return;
	err = write_at_random(r, p, e->next_id, flags);
	if (err == -ENOTCONN) {
		assert_true(e->failed);
		return;
	}
	if (err == -EAGAIN) {
		e->waits |= strstr(bsn_error_text(), "turn") != NULL;
		return;
	}
	ok(err);
	assert_false(e->failed);
	e->is_signaled[e->next_id++ % 256] = signals;
}

static inline void recover(struct rig *r, struct expected *all)
{
	if (bsn_dc_pool_repair(r->pool))
		return;
	for (int p = 0; p < PEERS; p++) {
		if (!all[p].failed || bsn_dc_peer_reset(r->ep[p]))
			continue;
		/* All of it has come back. */
		assert_int_equal(all[p].due_id, all[p].next_id);
		all[p].failed = false;
	}
}

static inline void nobody_starves(struct expected *all)
{
	for (int p = 0; p < PEERS; p++) {
		all[p].waited += all[p].waits;
		assert_true(all[p].waited < 5000);
	}
}

static inline void step_at_random(struct rig *r, struct expected *all)
{
	const uint64_t dice = random_u64();
	const int p = (int)((dice >> 8) % PEERS);

	if (dice % 8 < 5)
		post_at_random(r, &all[p], p);
	else if (dice % 8 == 5)
		softcx_step(1 + dice % 7);
	else if (dice % 8 == 6 && all[p].next_id > all[p].due_id)
		ok(bsn_ring(r->ep[p]));
	else if (poll(r))
		for (int k = 0; k < r->count; k++)
			take_completion(r, all, &r->done[k]);
	if (dice % 256 == 7)
		recover(r, all);
	nobody_starves(all);
}

/* The end: all is rung, and who has something outstanding signals once more. */
static inline void signal_end(struct rig *r, struct expected *e, int p)
{
	if (e->due_id != e->next_id && !e->failed && !e->is_signaled[(e->next_id - 1) % 256]) {
		const int err = write_to(r, p, e->next_id);
		if (!err)
			e->is_signaled[e->next_id++ % 256] = true;
		else
			e->waits |= err == -EAGAIN && strstr(bsn_error_text(), "turn");
	}
	bsn_ring(r->ep[p]);
}

/*
 * Whatever is posted completes once, in order for its peer, whoever else fails; and nobody waits
 * for ever. Returns what the pool has counted.
 */
static inline struct bsn_dc_counters
at_random_by(struct bench *b, const struct bsn_dc_pool_attr *attr, unsigned steps)
{
	static struct expected all[PEERS];
	struct bsn_dc_counters counters;
	struct rig r;

	memset(all, 0, sizeof(all));
	make(b, &r, attr);
	for (unsigned step = 0; step < steps; step++)
		step_at_random(&r, all);
	for (unsigned round = 0; round < 200; round++) {
		for (int p = 0; p < PEERS; p++)
			signal_end(&r, &all[p], p);
		work(&r);
		for (int k = 0; k < r.count; k++)
			take_completion(&r, all, &r.done[k]);
		recover(&r, all);
	}
	for (int p = 0; p < PEERS; p++)
		if (all[p].due_id != all[p].next_id)
			fail_msg("policy %d: %d: %llu of %llu have come back", (int)attr->policy, p,
				 (unsigned long long)all[p].due_id,
				 (unsigned long long)all[p].next_id);
	counters = counters_of(&r);
	assert_int_equal(counters.waiting, 0);
	unmake(&r);
	return counters;
}

/* Of so many initiators and streams, with few blocks each and short turns. */
static inline struct bsn_dc_counters at_random_of(struct bench *b, enum bsn_dc_policy policy,
						  unsigned initiators, unsigned streams,
						  unsigned steps)
{
	const struct bsn_dc_pool_attr attr = { .initiators = initiators,
					       .spares = 2,
					       .streams = streams,
					       .send_depth = 16,
					       .max_inline = MAX_INLINE,
					       .turn_bytes = 24 * LENGTH,
					       .policy = policy };

	return at_random_by(b, &attr, rounds() * bench_rounds(b, steps));
}

#endif
