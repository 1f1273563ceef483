/* SPDX-License-Identifier: BSD-2-Clause */
/* Initiators with several streams: which peer has which, at random. */
#include "dc_streams_rig.h"

/* -- who has which ----------------------------------------------------------------------------- */

static void an_initiator_has_several_peers(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .streams = 4 };
	struct rig r;

	make(b, &r, &attr);
	for (int p = 0; p < 4; p++) {
		ok(write_to(&r, p, (uint64_t)p));
		assert_ptr_equal(r.ep[p]->sq, r.ep[0]->sq);
		assert_int_equal(last_of(&r, p).dci_stream, p);
	}
	assert_int_equal(write_to(&r, 4, 4), -EAGAIN); /* as all four are busy */
	assert_non_null(strstr(bsn_error_text(), "turn"));
	assert_int_equal(work(&r), 5);
	for (int p = 0; p < 4; p++)
		expect(&r, p, p, (uint64_t)p, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect_ready(&r, 4, 4);
	assert_int_equal(model_count(CX_DC_connect) - r.connects, 4);
	/* It has what was the first one's, and is connected anew; those that stay are not. */
	write_and_finish(&r, 4, 5);
	for (int p = 1; p < 5; p++)
		write_and_finish(&r, p, 6);
	assert_int_equal(model_count(CX_DC_connect) - r.connects, 5);
	assert_int_equal(counters_of(&r).connects, 5);
	unmake(&r);
}

/*
 * A peer's stream is another one's only when nothing of it is outstanding, whatever the others
 * have.
 */
static void a_stream_is_of_one_peer(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1,
					       .streams = 2,
					       .turn_bytes = LENGTH };
	struct rig r;

	make(b, &r, &attr);
	ok(write_to(&r, 0, 1));
	ok(write_to(&r, 1, 2));
	ok(write_to(&r, 1, 3));
	assert_int_equal(write_to(&r, 2, 4), -EAGAIN);
	assert_true(softcx_step(1));
	assert_int_equal(poll(&r), 2);
	expect(&r, 0, 0, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect_ready(&r, 1, 2);
	ok(write_to(&r, 2, 4));
	assert_int_equal(last_of(&r, 2).dci_stream, 0);
	assert_int_equal(work(&r), 3);
	expect_completion(&r, 2, 4, IBV_WC_SUCCESS);
	unmake(&r);
}

/* Its initiator's queue has others' requests, which nobody but they may take back. */
static void nobody_takes_back_what_is_anothers(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .streams = 2 };
	struct rig r;

	make(b, &r, &attr);
	ok(write_flags(&r, 0, 1, BSN_F_SIGNALED));
	ok(write_flags(&r, 1, 2, BSN_F_SIGNALED));
	is_refused(bsn_cancel(r.ep[1]), EOPNOTSUPP, "another peer");
	ok(bsn_ring(r.ep[1]));
	assert_int_equal(work(&r), 2);
	unmake(&r);
}

static void peers_are_told_of_their_streams(struct bench *b)
{
	const struct bsn_device_info *info = bsn_device_info(b->device);
	struct bsn_dc_pool_attr attr = { .initiators = 2 };
	struct bsn_dc_pool *pool;

	assert_null(why_not(b, "dc-streams"));
	assert_int_equal(info->max_dc_streams, 1 << CX_DC_STREAMS_LOG2);
	assert_int_equal(info->max_dc_failed_streams,
			 b->test->no_errored_streams ? 0 : (1 << CX_DC_ERRORED_LOG2) - 1);
	attr.streams = info->max_dc_streams;
	ok(bsn_dc_pool_create(b->device, &attr, &pool));
	ok(bsn_dc_pool_destroy(pool));
	attr.streams++;
	is_refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL, "33 streams");
	attr = (struct bsn_dc_pool_attr){ .initiators = 2047, .spares = 1, .streams = 32 };
	is_refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL,
		   "2048 initiators of 32 streams");
}

static void plain_verbs_have_none(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .streams = 2 };
	struct bsn_dc_pool *pool;

	assert_non_null(why_not(b, "dc-streams"));
	assert_int_equal(bsn_device_info(b->device)->max_dc_streams, 0);
	is_refused(bsn_dc_pool_create(b->device, &attr, &pool), EOPNOTSUPP, "streams");
}

/* -- at random --------------------------------------------------------------------------------- */

static void at_random(struct bench *b)
{
	uint64_t failures = 0, repeats = 0, turns = 0;

	for (unsigned policy = BSN_DC_LRU; policy <= BSN_DC_HASHED; policy++) {
		const struct bsn_dc_counters counters = at_random_of(b, policy, 2, 3, 20000);

		failures += counters.failures;
		repeats += counters.repeats;
		turns += counters.turns;
	}
	assert_true(failures);
	assert_true(turns);
	assert_true(!b->test->no_errored_streams || repeats);
}

/* More initiators than the pool looks at to find an idle one, so that it listens. */
static void at_random_by_many(struct bench *b)
{
	assert_true(at_random_of(b, BSN_DC_LRU, 9, 2, 20000).turns);
}

#define ON_VERBS BARE, VERBS, OWN, MODEL

static const struct bench_case cases[] = {
	{ CASE(an_initiator_has_several_peers), ON_DIRECT },
	{ CASE_OF(an_initiator_has_several_peers, "on RoCE"), ON_DIRECT, ROCE },
	{ CASE(a_stream_is_of_one_peer), ON_DIRECT },
	{ CASE(nobody_takes_back_what_is_anothers), ON_DIRECT },
	{ CASE(peers_are_told_of_their_streams), ON_DIRECT },
	{ CASE_OF(peers_are_told_of_their_streams, "of which none may fail"), ON_DIRECT,
	  .no_errored_streams = true },
	{ CASE(plain_verbs_have_none), ON_VERBS },
	{ CASE(at_random), ON_DIRECT },
	{ CASE(at_random_by_many), ON_DIRECT },
	{ CASE_OF(at_random, "where none may fail"), ON_DIRECT, .no_errored_streams = true },
	{ CASE_OF(at_random, "on RoCE"), ON_DIRECT, ROCE },
};

int main(void)
{
	random_start();
	return bench_run("dc_streams", cases, sizeof(cases) / sizeof(cases[0]));
}
