/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool of DC on plain verbs: peers that wait, and peers that fail. */
#include "dc_rc_rig.h"

/* -- time -------------------------------------------------------------------------------------- */

/* So many. */
static void collect(struct rig *r, int n)
{
	struct bsn_completion all[MAX_DONE];
	int got = 0;

	while (got < n) {
		await(r);
		assert_true(got + r->count <= n);
		memcpy(all + got, r->done, (size_t)r->count * sizeof(all[0]));
		got += r->count;
	}
	memcpy(r->done, all, (size_t)n * sizeof(all[0]));
	r->count = n;
}

/* The peer has an initiator, or has to be connected. */
static void write_anyway(struct rig *r, int p, uint64_t id)
{
	const int err = write_to(r, p, id);

	if (err) {
		assert_int_equal(err, -EAGAIN);
		await_ready(r, p);
		ok(write_to(r, p, id));
	}
	await_one(r, p, id, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
}

/* -- waiting ----------------------------------------------------------------------------------- */

/* Two are connected at a time, so neighbours may change places. A turn that is not used passes. */
static void who_waits_has_its_turn_in_order(struct bench *b)
{
	struct rig *r = make(b, .initiators = 2);
	int ready = 0, finished = 0;

	each_waits(r, 0, 10);
	assert_int_equal(counters_of(r).waiting, 10);
	while (ready < 10 || finished < 5) {
		await(r);
		for (int k = 0; k < r->count; k++) {
			const int p = (int)((int *)r->done[k].user - r->user);

			assert_int_equal(r->done[k].status, IBV_WC_SUCCESS);
			if (r->done[k].opcode != BSN_DC_READY) {
				finished++;
				continue;
			}
			assert_in_range(p + 1, ready, ready + 2);
			ready++;
			if (p % 2)
				ok(write_to(r, p, 7));
		}
	}
	step(r); /* the last turn */
	assert_int_equal(counters_of(r).waiting, 0);
	assert_int_equal(counters_of(r).turns, 10);
	assert_int_equal(counters_of(r).passed, 5);
}

static void an_unsignaled_end_is_found_out(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .send_depth = 8, .signal_every = -1);

	connect_peer(r, 0);
	for (int i = 0; i < 7; i++)
		ok(write_flags(r, 0, 1, BSN_F_RING));
	ok(write_flags(r, 0, 1, 0)); /* one is not even published */
	fails(EAGAIN, "full", write_flags(r, 0, 1, 0));
	assert_int_equal(write_to(r, 1, 2), -EAGAIN);
	assert_int_equal(counters_of(r).markers, 1);
	await_ready(r, 1);
	write_and_await(r, 1, 2);
	connect_peer(r, 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++)
			ok(write_flags(r, 0, 3, BSN_F_SIGNALED));
		ok(bsn_cancel(r->ep[0])); /* nobody rang them */
	}
	ok(write_flags(r, 0, 4, BSN_F_SIGNALED));
	assert_int_equal(write_to(r, 1, 5), -EAGAIN);
	await_one(r, 0, 4, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	await_ready(r, 1);
}

static void who_waits_or_is_being_connected_may_be_destroyed(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1);

	each_waits(r, 0, 3);
	/* This asks the first one's target. */
	assert_int_equal(bsn_poll(bsn_dc_pool_cq(r->pool), r->done, MAX_DONE), 0);
	remove_peer(r, 0);
	remove_peer(r, 1);
	await_ready(r, 2);
	write_and_await(r, 2, 5);
	add_peer(r, 0);
	add_peer(r, 1);
	connect_peer(r, 0);
	write_and_await(r, 0, 6);
}

/* -- failing ----------------------------------------------------------------------------------- */

static void replace_target(struct rig *r, int t)
{
	add_target(r, t);
	for (int p = t; p < PEERS; p += TARGETS) {
		ok(bsn_dc_peer_reset(r->ep[p]));
		remove_peer(r, p);
		add_peer(r, p);
	}
}

static void one_peer_fails_alone_and_comes_back(struct bench *b)
{
	struct rig *r = make(b, .initiators = 2, .spares = 1, .connect = impatient);

	write_anyway(r, 0, 1);
	write_anyway(r, 1, 1);
	remove_target(r, 1);
	ok(write_to(r, 1, 10));
	ok(write_to(r, 1, 11));
	collect(r, 2);
	expect(r, 0, 1, 10, BSN_OPCODE_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR);
	expect(r, 1, 1, 11, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(r->done[0].src_qpn, 0);
	struct bsn_dc_error error = error_of(r, 1);
	assert_true(error.has_failed);
	assert_int_equal(error.first.id, 10);
	assert_int_equal(error.wqe_bytes, 0);
	fails(ENOTCONN, "bsn_dc_peer_reset", write_to(r, 1, 12));
	for (int p = 2; p < 6; p++) { /* both initiators are there for others */
		write_anyway(r, p, 20);
		write_anyway(r, 0, 21);
	}
	assert_int_equal(counters_of(r).broken, 1);
	ok(bsn_dc_pool_repair(r->pool));
	assert_int_equal(counters_of(r).repairs, 1);
	replace_target(r, 1);
	write_anyway(r, 1, 30);
}

/* It cannot be connected: that is told, and why, and costs nobody else anything. */
static void a_target_that_is_gone_is_told(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .connect = impatient);

	remove_target(r, 1);
	assert_int_equal(write_to(r, 1, 1), -EAGAIN);
	assert_int_equal(write_to(r, 0, 1), -EAGAIN);
	await_one(r, 1, 0, BSN_DC_READY, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(write_to(r, 1, 1), -ENOTCONN);
	struct bsn_dc_error error = error_of(r, 1);
	assert_true(error.has_failed);
	assert_int_equal(error.first.status, IBV_WC_RETRY_EXC_ERR);
	assert_non_null(strstr(error.text, "bsn_dct_accept"));
	await_ready(r, 0);
	write_and_await(r, 0, 2);
	assert_int_equal(counters_of(r).broken, 0);
	ok(bsn_dc_peer_reset(r->ep[1])); /* which alone brings nobody back */
	assert_false(error_of(r, 1).has_failed);
	assert_int_equal(write_to(r, 1, 1), -EAGAIN);
	await_one(r, 1, 0, BSN_DC_READY, IBV_WC_RETRY_EXC_ERR);
	replace_target(r, 1);
	write_anyway(r, 1, 3);
}

/* A target that does not look for a while is asked again. */
static void a_slow_target_is_asked_again(struct bench *b)
{
	const long until_ms = now_ms() + 6;
	struct rig *r = make(b, .initiators = 1, .connect = { .timeout = 1 });

	assert_int_equal(write_to(r, 0, 1), -EAGAIN);
	do { /* it is asked three times, at 0, 1 and 3 ms */
		assert_int_equal(bsn_poll(bsn_dc_pool_cq(r->pool), r->done, MAX_DONE), 0);
		run_model(r);
	} while (now_ms() < until_ms);
	await_ready(r, 0);
	write_and_await(r, 0, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(step(r), 0);
	assert_int_equal(r->changes, 1);
}

/* The first ASK, its YES, a LEAVE and what comes then. */
static void what_is_lost_is_said_again(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .connect = { .timeout = 1 });

	for (int round = 0; round < 4; round++) {
		connect_peer(r, round);
		write_and_await(r, round, 1);
	}
	expect_changes(r, 4 + 3);
}

static void wrong_rkeys_fail_their_peers(struct bench *b)
{
	struct rig *r = make(b, .initiators = 3, .spares = 1);

	for (int round = 0; round < 4; round++) {
		for (int p = 0; p < 4; p++) {
			write_anyway(r, p, 1);
			ok(write_nowhere(r, p, 1));
			await_one(r, p, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
			assert_int_equal(r->done[0].src_qpn, round);
		}
		assert_int_equal(write_to(r, 5, 2), -EAGAIN); /* there is none left */
		assert_int_equal(counters_of(r).broken, 4);
		ok(bsn_dc_pool_repair(r->pool));
		await_ready(r, 5);
		for (int p = 0; p < 4; p++)
			ok(bsn_dc_peer_reset(r->ep[p]));
		for (int p = 0; p < 8; p++)
			write_anyway(r, p, 3);
	}
}

static const struct bench_case cases[] = {
	{ CASE(who_waits_has_its_turn_in_order), BY_RC },
	{ CASE(an_unsignaled_end_is_found_out), BY_RC },
	{ CASE(who_waits_or_is_being_connected_may_be_destroyed), BY_RC },
	{ CASE(one_peer_fails_alone_and_comes_back), BY_RC },
	{ CASE(a_target_that_is_gone_is_told), BY_RC },
	{ CASE(a_slow_target_is_asked_again), BY_RC },
	{ CASE(what_is_lost_is_said_again), BY_RC, MODEL,
	  .fault_plan = "opcode=SEND nth=1 drop; opcode=SEND nth=3 drop; opcode=SEND nth=6 drop; "
			"opcode=SEND nth=8 drop" },
	{ CASE(wrong_rkeys_fail_their_peers), BY_RC },
};

BENCH_MAIN("dc_rc_failures")
