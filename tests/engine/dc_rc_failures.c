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
		work(r);
		assert_true(got + r->count <= n);
		memcpy(all + got, r->done, (size_t)r->count * sizeof(all[0]));
		got += r->count;
	}
	memcpy(r->done, all, (size_t)n * sizeof(all[0]));
	r->count = n;
}

static void write_anyway(struct rig *r, int p, uint64_t id)
{
	const int err = write_flags(r, p, id, NOW);

	if (!err) {
		assert_int_equal(work(r), 1);
		expect(r, 0, p, id, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		return;
	}
	assert_int_equal(err, -EAGAIN);
	expect_ready(r, p);
	write_and_finish(r, p, id);
}

/* -- waiting ----------------------------------------------------------------------------------- */

/* Two are connected at a time, so neighbours may change places. A turn that is not used passes. */
static void who_waits_has_its_turn_in_order(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2 };
	int ready = 0, finished = 0;
	struct rig r;

	make(b, &r, &attr);
	for (int p = 0; p < 10; p++)
		assert_int_equal(write_flags(&r, p, 1, NOW), -EAGAIN);
	assert_int_equal(counters_of(&r).waiting, 10);
	while (ready < 10 || finished < 5) {
		work(&r);
		for (int k = 0; k < r.count; k++) {
			const int p = (int)((int *)r.done[k].user - r.user);

			assert_int_equal(r.done[k].status, IBV_WC_SUCCESS);
			if (r.done[k].opcode != BSN_DC_READY) {
				finished++;
				continue;
			}
			assert_in_range(p + 1, ready, ready + 2);
			ready++;
			if (p % 2)
				ok(write_flags(&r, p, 7, NOW));
		}
	}
	poll(&r); /* the last turn */
	assert_int_equal(counters_of(&r).waiting, 0);
	assert_int_equal(counters_of(&r).turns, 10);
	assert_int_equal(counters_of(&r).passed, 5);
	unmake(&r);
}

static void an_unsignaled_end_is_found_out(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1,
					       .send_depth = 8,
					       .signal_every = -1 };
	struct rig r;

	make(b, &r, &attr);
	connect(&r, 0);
	for (int i = 0; i < 7; i++)
		ok(write_flags(&r, 0, 1, BSN_F_RING));
	ok(write_flags(&r, 0, 1, 0)); /* one is not even published */
	assert_int_equal(write_flags(&r, 0, 1, 0), -EAGAIN);
	assert_non_null(strstr(bsn_error_text(), "full"));
	assert_int_equal(write_flags(&r, 1, 2, NOW), -EAGAIN);
	assert_int_equal(counters_of(&r).markers, 1);
	expect_ready(&r, 1);
	write_and_finish(&r, 1, 2);
	connect(&r, 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++)
			ok(write_flags(&r, 0, 3, BSN_F_SIGNALED));
		ok(bsn_cancel(r.ep[0])); /* nobody rang them */
	}
	ok(write_flags(&r, 0, 4, BSN_F_SIGNALED));
	assert_int_equal(write_flags(&r, 1, 5, NOW), -EAGAIN);
	assert_int_equal(work(&r), 1);
	expect(&r, 0, 0, 4, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect_ready(&r, 1);
	unmake(&r);
}

static void who_waits_or_is_being_connected_may_be_destroyed(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1 };
	struct rig r;

	make(b, &r, &attr);
	for (int p = 0; p < 3; p++)
		assert_int_equal(write_flags(&r, p, 1, NOW), -EAGAIN);
	assert_int_equal(bsn_poll(bsn_dc_pool_cq(r.pool), r.done, MAX_DONE),
			 0); /* asks the first one's target */
	ok(bsn_dc_peer_destroy(r.ep[0]));
	ok(bsn_dc_peer_destroy(r.ep[1]));
	expect_ready(&r, 2);
	write_and_finish(&r, 2, 5);
	add_peer(&r, 0);
	add_peer(&r, 1);
	connect(&r, 0);
	write_and_finish(&r, 0, 6);
	unmake(&r);
}

/* -- failing ----------------------------------------------------------------------------------- */

static void replace_target(struct rig *r, int t)
{
	add_target(r, t);
	for (int p = t; p < PEERS; p += TARGETS) {
		ok(bsn_dc_peer_reset(r->ep[p]));
		ok(bsn_dc_peer_destroy(r->ep[p]));
		add_peer(r, p);
	}
}

static void one_peer_fails_alone_and_comes_back(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2, .spares = 1, .connect = impatient };
	struct bsn_dc_error error;
	struct rig r;

	make(b, &r, &attr);
	write_anyway(&r, 0, 1);
	write_anyway(&r, 1, 1);
	ok(bsn_dct_destroy(r.dct[1]));
	r.dct[1] = NULL;
	ok(write_flags(&r, 1, 10, NOW));
	ok(write_flags(&r, 1, 11, NOW));
	collect(&r, 2);
	expect(&r, 0, 1, 10, BSN_OPCODE_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR);
	expect(&r, 1, 1, 11, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(r.done[0].src_qpn, 0);
	ok(bsn_dc_peer_error(r.ep[1], &error));
	assert_true(error.has_failed);
	assert_int_equal(error.first.id, 10);
	assert_int_equal(error.wqe_bytes, 0);
	assert_int_equal(write_flags(&r, 1, 12, NOW), -ENOTCONN);
	assert_non_null(strstr(bsn_error_text(), "bsn_dc_peer_reset"));
	for (int p = 2; p < 6; p++) { /* both initiators are there for others */
		write_anyway(&r, p, 20);
		write_anyway(&r, 0, 21);
	}
	assert_int_equal(counters_of(&r).broken, 1);
	assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
	assert_int_equal(counters_of(&r).repairs, 1);
	replace_target(&r, 1);
	write_anyway(&r, 1, 30);
	unmake(&r);
}

/* It cannot be connected: that is told, and why, and costs nobody else anything. */
static void a_target_that_is_gone_is_told(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .connect = impatient };
	struct bsn_dc_error error;
	struct rig r;

	make(b, &r, &attr);
	ok(bsn_dct_destroy(r.dct[1]));
	r.dct[1] = NULL;
	assert_int_equal(write_flags(&r, 1, 1, NOW), -EAGAIN);
	assert_int_equal(write_flags(&r, 0, 1, NOW), -EAGAIN);
	assert_int_equal(work(&r), 1);
	expect(&r, 0, 1, 0, BSN_DC_READY, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(write_flags(&r, 1, 1, NOW), -ENOTCONN);
	ok(bsn_dc_peer_error(r.ep[1], &error));
	assert_true(error.has_failed);
	assert_int_equal(error.first.status, IBV_WC_RETRY_EXC_ERR);
	assert_non_null(strstr(error.text, "bsn_dct_accept"));
	expect_ready(&r, 0);
	write_and_finish(&r, 0, 2);
	assert_int_equal(counters_of(&r).broken, 0);
	ok(bsn_dc_peer_reset(r.ep[1])); /* which alone brings nobody back */
	ok(bsn_dc_peer_error(r.ep[1], &error));
	assert_false(error.has_failed);
	assert_int_equal(write_flags(&r, 1, 1, NOW), -EAGAIN);
	assert_int_equal(work(&r), 1);
	expect(&r, 0, 1, 0, BSN_DC_READY, IBV_WC_RETRY_EXC_ERR);
	replace_target(&r, 1);
	write_anyway(&r, 1, 3);
	unmake(&r);
}

/* A target that does not look for a while is asked again. */
static void a_slow_target_is_asked_again(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .connect = { .timeout = 1 } };
	const long until_ms = now_ms() + 6;
	struct rig r;

	make(b, &r, &attr);
	assert_int_equal(write_flags(&r, 0, 1, NOW), -EAGAIN);
	do { /* it is asked three times, at 0, 1 and 3 ms */
		assert_int_equal(bsn_poll(bsn_dc_pool_cq(r.pool), r.done, MAX_DONE), 0);
		run_device(&r);
	} while (now_ms() < until_ms);
	expect_ready(&r, 0);
	write_and_finish(&r, 0, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(poll(&r), 0);
	assert_int_equal(r.changes, 1);
	unmake(&r);
}

/* The first ASK, its YES, a LEAVE and what comes then. */
static void what_is_lost_is_said_again(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .connect = { .timeout = 1 } };
	struct rig r;

	make(b, &r, &attr);
	for (int round = 0; round < 4; round++) {
		connect(&r, round);
		write_and_finish(&r, round, 1);
	}
	expect_changes(&r, 4 + 3);
	unmake(&r);
}

static void wrong_rkeys_fail_their_peers(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 3, .spares = 1 };
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote nowhere = { 0, 0 };
	struct rig r;

	make(b, &r, &attr);
	for (int round = 0; round < 4; round++) {
		for (int p = 0; p < 4; p++) {
			write_anyway(&r, p, 1);
			ok(bsn_write(r.ep[p], &local, &nowhere, 1, NOW));
			assert_int_equal(work(&r), 1);
			expect(&r, 0, p, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
			assert_int_equal(r.done[0].src_qpn, round);
		}
		assert_int_equal(write_flags(&r, 5, 2, NOW), -EAGAIN); /* there is none left */
		assert_int_equal(counters_of(&r).broken, 4);
		assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
		expect_ready(&r, 5);
		for (int p = 0; p < 4; p++)
			ok(bsn_dc_peer_reset(r.ep[p]));
		for (int p = 0; p < 8; p++)
			write_anyway(&r, p, 3);
	}
	unmake(&r);
}

static const struct bench_case cases[] = {
	{ CASE(who_waits_has_its_turn_in_order), ON_VERBS },
	{ CASE(an_unsignaled_end_is_found_out), ON_VERBS },
	{ CASE(who_waits_or_is_being_connected_may_be_destroyed), ON_VERBS },
	{ CASE(one_peer_fails_alone_and_comes_back), ON_VERBS },
	{ CASE(a_target_that_is_gone_is_told), ON_VERBS },
	{ CASE(a_slow_target_is_asked_again), ON_VERBS },
	{ CASE(what_is_lost_is_said_again), ON_VERBS, MODEL,
	  .fault_plan = "opcode=SEND nth=1 drop; opcode=SEND nth=3 drop; opcode=SEND nth=6 drop; "
			"opcode=SEND nth=8 drop" },
	{ CASE(wrong_rkeys_fail_their_peers), ON_VERBS },
};

int main(void)
{
	random_start();
	return bench_run("dc_rc_failures", cases, sizeof(cases) / sizeof(cases[0]));
}
