/* SPDX-License-Identifier: BSD-2-Clause */
/* Initiators with several streams: which peer has which, at random. */
#include "dc_random.h"

/* -- who has which ----------------------------------------------------------------------------- */

static void an_initiator_has_several_peers(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .streams = 4);

	for (int p = 0; p < 4; p++) {
		ok(write_to(r, p, (uint64_t)p));
		assert_ptr_equal(r->ep[p]->sq, r->ep[0]->sq);
		assert_int_equal(last_of(r, p).dci_stream, p);
	}
	fails(EAGAIN, "turn", write_to(r, 4, 4)); /* as all four are busy */
	assert_int_equal(work(r), 5);
	for (int p = 0; p < 4; p++)
		expect(r, p, p, (uint64_t)p, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect_ready(r, 4, 4);
	assert_int_equal(model_count(CX_DC_connect) - r->connects, 4);
	/* It has what was the first one's, and is connected anew; those that stay are not. */
	write_and_finish(r, 4, 5);
	each_writes(r, 1, 5, 6);
	assert_int_equal(model_count(CX_DC_connect) - r->connects, 5);
	assert_int_equal(counters_of(r).connects, 5);
}

/* It is another's only when its peer has nothing outstanding, whatever others have. */
static void a_stream_is_of_one_peer(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .streams = 2, .turn_bytes = LENGTH);

	ok(write_to(r, 0, 1));
	ok(write_to(r, 1, 2));
	ok(write_to(r, 1, 3));
	assert_int_equal(write_to(r, 2, 4), -EAGAIN);
	assert_true(softcx_step(1));
	assert_int_equal(poll(r), 2);
	expect(r, 0, 0, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect_ready(r, 1, 2);
	ok(write_to(r, 2, 4));
	assert_int_equal(last_of(r, 2).dci_stream, 0);
	assert_int_equal(work(r), 3);
	expect_completion(r, 2, 4, IBV_WC_SUCCESS);
}

/* Its initiator's queue has others' requests, which nobody but they may take back. */
static void nobody_takes_back_what_is_anothers(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .streams = 2);

	ok(write_flags(r, 0, 1, BSN_F_SIGNALED));
	ok(write_flags(r, 1, 2, BSN_F_SIGNALED));
	fails(EOPNOTSUPP, "another peer", bsn_cancel(r->ep[1]));
	ok(bsn_ring(r->ep[1]));
	assert_int_equal(work(r), 2);
}

static void peers_are_told_of_their_streams(struct bench *b)
{
	const struct bsn_device_info *info = bench_info(b);

	assert_null(why_not(b, "dc-streams"));
	assert_int_equal(info->max_dc_streams, 1 << CX_DC_STREAMS_LOG2);
	assert_int_equal(info->max_dc_failed_streams,
			 b->test->no_errored_streams ? 0 : (1 << CX_DC_ERRORED_LOG2) - 1);
	ok(try_pool(b, .initiators = 2, .streams = info->max_dc_streams));
	fails(EINVAL, "33 streams",
	      try_pool(b, .initiators = 2, .streams = info->max_dc_streams + 1));
	fails(EINVAL, "2048 initiators of 32 streams",
	      try_pool(b, .initiators = 2047, .spares = 1, .streams = 32));
}

static void plain_verbs_have_none(struct bench *b)
{
	assert_non_null(why_not(b, "dc-streams"));
	assert_int_equal(bench_info(b)->max_dc_streams, 0);
	fails(EOPNOTSUPP, "streams", try_pool(b, .streams = 2));
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

static const struct bench_case cases[] = {
	AND_ON_ROCE(an_initiator_has_several_peers, ON_DIRECT),
	{ CASE(a_stream_is_of_one_peer), ON_DIRECT },
	{ CASE(nobody_takes_back_what_is_anothers), ON_DIRECT },
	{ CASE(peers_are_told_of_their_streams), ON_DIRECT },
	{ CASE_OF(peers_are_told_of_their_streams, "of which none may fail"), ON_DIRECT,
	  .no_errored_streams = true },
	{ CASE(plain_verbs_have_none), ON_VERBS },
	AND_ON_ROCE(at_random, ON_DIRECT),
	{ CASE(at_random_by_many), ON_DIRECT },
	{ CASE_OF(at_random, "where none may fail"), ON_DIRECT, .no_errored_streams = true },
};

RANDOM_MAIN("dc_streams")
