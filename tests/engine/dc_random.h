/* SPDX-License-Identifier: BSD-2-Clause */
/* What pools of DC initiators do at random, and a simple model of what has to come back. */
#ifndef TESTS_ENGINE_DC_RANDOM_H
#define TESTS_ENGINE_DC_RANDOM_H

#include "dc_rig.h"

#include "../wqe/random.h"

enum { MAX_INLINE = 60 }; /* of what is posted */

/* The program of a file whose cases take random numbers. */
#define RANDOM_MAIN(subject)                                                                       \
	int main(void)                                                                             \
	{                                                                                          \
		random_start();                                                                    \
		return bench_run(subject, cases, COUNT(cases));                                    \
	}

/* BSN_ROUNDS is how often it is as long. */
static inline unsigned rounds(void)
{
	const char *wanted = getenv("BSN_ROUNDS");

	return wanted ? (unsigned)strtoul(wanted, NULL, 10) : 1;
}

/* What a peer has outstanding, as a simple model: ids in order, the first of them due next. */
struct expected {
	uint64_t next_id, due_id;
	bool failed, is_signaled[256];
	bool waits;
	unsigned waited;
};

static inline void expect_all(const struct rig *r, const struct expected *all)
{
	for (int p = 0; p < PEERS; p++)
		if (all[p].due_id != all[p].next_id)
			fail_msg("policy %d: %d: %llu of %llu have come back",
				 (int)r->pool->attr.policy, p, (unsigned long long)all[p].due_id,
				 (unsigned long long)all[p].next_id);
	assert_int_equal(counters_of(r).waiting, 0);
}

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
	/* In order; what was skipped succeeded in silence, after a failure nothing is silent. */
	assert_true(c->id >= e->due_id && c->id < e->next_id);
	if (e->failed) {
		assert_int_equal(c->id, e->due_id);
		assert_int_equal(c->status, IBV_WC_WR_FLUSH_ERR);
	} else {
		skip_unsignaled(e, c->id);
	}
	/* Whose request is flushed first was not the one that failed: no initiator was left. */
	if (!e->failed && c->status == IBV_WC_WR_FLUSH_ERR && r->b->test->no_errored_streams)
		assert_int_equal(counters_of(r).broken, r->initiators);
	e->due_id = c->id + 1;
	e->failed |= c->status != IBV_WC_SUCCESS;
}

static inline void take_all(struct rig *r, struct expected *all)
{
	for (int k = 0; k < r->count; k++)
		take_completion(r, all, &r->done[k]);
}

/*
 * Of one block or of several. Inline data look like control segments of silent requests. Of fewer
 * steps more are bad, so that a share of a test meets as many failures.
 */
static inline int write_at_random(struct rig *r, int p, uint64_t id, unsigned flags)
{
	const bool is_bad = random_u64() % bench_rounds(r->b, 200) == 0;
	const struct bsn_remote to =
		is_bad ? (struct bsn_remote){ 0, 0 } : bench_remote(r->b, 1, INTO);
	uint8_t data[MAX_INLINE];

	if (random_u64() % 2)
		return bsn_write(r->ep[p], SGE(r->b, 0, 0, LENGTH), &to, id, flags);
	memset(data, BSN_CE_ON_FIRST_ERROR << 2, sizeof(data));
	return bsn_write_inline(r->ep[p], data, random_u64() % (MAX_INLINE + 1), &to, id, flags);
}

static inline void post_at_random(struct rig *r, struct expected *e, int p)
{
	const bool signals = random_u64() % 3 == 0;
	const unsigned flags =
		(signals ? BSN_F_SIGNALED : 0u) | (random_u64() % 2 ? BSN_F_RING : 0u);

	if (e->next_id - e->due_id >= 200)
		return;
	int err = write_at_random(r, p, e->next_id, flags);
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
		take_all(r, all);
	if (dice % 256 == 7)
		recover(r, all);
	nobody_starves(all);
}

/* The end: all is rung, and who has something outstanding signals once more. */
static inline void signal_ends(struct rig *r, struct expected *all)
{
	for (int p = 0; p < PEERS; p++) {
		struct expected *e = &all[p];

		if (e->due_id != e->next_id && !e->failed &&
		    !e->is_signaled[(e->next_id - 1) % 256]) {
			const int err = write_to(r, p, e->next_id);
			if (!err)
				e->is_signaled[e->next_id++ % 256] = true;
			else
				e->waits |= err == -EAGAIN && strstr(bsn_error_text(), "turn");
		}
		bsn_ring(r->ep[p]);
	}
}

/* Of so many initiators and streams, with few blocks each and short turns. */
static inline struct bsn_dc_pool_attr short_turns(enum bsn_dc_policy policy, unsigned initiators,
						  unsigned streams)
{
	return (struct bsn_dc_pool_attr){ .initiators = initiators,
					  .spares = 2,
					  .streams = streams,
					  .send_depth = 16,
					  .max_inline = MAX_INLINE,
					  .turn_bytes = 24 * LENGTH,
					  .policy = policy };
}

/* What is posted completes once, in its peer's order; nobody waits for ever. Returns the counts. */
static inline struct bsn_dc_counters at_random_of(struct bench *b, enum bsn_dc_policy policy,
						  unsigned initiators, unsigned streams,
						  unsigned steps)
{
	const struct bsn_dc_pool_attr attr = short_turns(policy, initiators, streams);
	struct expected all[PEERS] = { 0 };
	struct rig *r = make_of(b, &attr);

	for (unsigned step = 0; step < rounds() * bench_rounds(b, steps); step++)
		step_at_random(r, all);
	for (unsigned round = 0; round < 200; round++) {
		signal_ends(r, all);
		work(r);
		take_all(r, all);
		recover(r, all);
	}
	expect_all(r, all);
	struct bsn_dc_counters counters = counters_of(r);
	bench_undo_all(b);
	return counters;
}

#endif
