/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams that fail, and who is not concerned. */
#include "dc_rig.h"

#include "bsn_syndrome.h"
#include "nic/error.h"
#include "nic/process.h"

static void expect_error(struct rig *r, int p, uint64_t id, enum ibv_wc_status status,
			 const char *word)
{
	const struct bsn_dc_error error = error_of(r, p);
	struct bsn_av_dc av;
	struct bsn_ctrl ctrl;

	assert_true(error.has_failed);
	assert_int_equal(error.first.id, id);
	assert_int_equal(error.first.status, status);
	assert_ptr_equal(error.first.user, &r->user[p]);
	if (!strstr(error.text, word))
		fail_msg("\"%s\" lacks \"%s\"", error.text, word);
	bsn_ctrl_decode(&ctrl, error.wqe);
	assert_int_equal(error.wqe_bytes, bsn_bb_of_ds(ctrl.ds) * BSN_BB_SIZE);
	bsn_av_dc_decode(&av, error.wqe + BSN_DS_SIZE);
	assert_int_equal(av.dqpn, bsn_dct_number(r->dct[p % TARGETS]));
}

/* The ring goes round before anybody asks for the request that failed. */
static void a_stream_fails_alone(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .streams = 4, .send_depth = 8);

	ok(write_to(r, 0, 1));
	ok(write_nowhere(r, 1, 2));
	ok(write_to(r, 2, 3));
	ok(write_to(r, 0, 5));
	ok(write_flags(r, 1, 4, 0)); /* not rung, and yet it comes back */
	assert_int_equal(work(r), 4);
	expect_completion(r, 0, 5, IBV_WC_SUCCESS);
	expect_completion(r, 0, 1, IBV_WC_SUCCESS);
	expect_completion(r, 1, 2, IBV_WC_REM_ACCESS_ERR);
	expect_completion(r, 2, 3, IBV_WC_SUCCESS);
	assert_int_equal(write_to(r, 1, 6), -ENOTCONN);
	assert_int_equal(work(r), 1);
	expect_completion(r, 1, 4, IBV_WC_WR_FLUSH_ERR);
	for (int k = 0; k < 40; k++)
		write_and_finish(r, k % 2 * 2, 7);
	expect_error(r, 1, 2, IBV_WC_REM_ACCESS_ERR, "rkey");
	expect_no_error(r, 0);
	assert_int_equal(counters_of(r).failures, 1);
	assert_int_equal(counters_of(r).broken, 1);
	ok(bsn_dc_peer_reset(r->ep[1]));
	write_and_finish(r, 1, 8); /* by the stream that nobody had */
	assert_int_equal(last_of(r, 1).dci_stream, 3);
	ok(bsn_dc_pool_repair(r->pool));
	assert_int_equal(counters_of(r).repairs, 1);
	write_and_finish(r, 3, 9);
	assert_int_equal(last_of(r, 3).dci_stream, 1);
	expect_no_error(r, 1);
}

/* A failure long after another, where the ring has data now that look like silent requests. */
static void nothing_else_comes_back(struct bench *b)
{
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	struct rig *r = make(b, .initiators = 1, .streams = 2, .send_depth = 16, .max_inline = 44);
	uint8_t data[44];

	memset(data, BSN_CE_ON_FIRST_ERROR << 2, sizeof(data)); /* ce, and a length of 4 */
	for (int round = 0; round < 4; round++) {
		write_and_fail(r, 0, 1);
		bring_back(r, 0, 1);
		write_and_finish(r, 1, 2);
		for (int k = 0; k < 100 + round; k++) {
			ok(bsn_write_inline(r->ep[1], data, sizeof(data), &to, 3, NOW));
			expect_one(r, 1, 3, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		}
	}
}

static void a_stream_waits_for_its_flushes(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .streams = 4);

	ok(write_nowhere(r, 0, 1));
	ok(write_to(r, 0, 2));
	assert_int_equal(softcx_step(1), 1);
	assert_int_equal(poll(r), 1);
	expect(r, 0, 0, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(bsn_dc_pool_repair(r->pool), 1);
	assert_int_equal(bsn_dc_peer_reset(r->ep[0]), -EBUSY);
	assert_int_equal(bsn_dc_peer_destroy(r->ep[0]), -EBUSY);
	expect_one(r, 0, 2, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	bring_back(r, 0, 1);
	write_and_finish(r, 0, 3);
}

/* The fourth of four takes its initiator along; a spare is there. */
static void too_many_streams_fail_their_initiator(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .streams = 4);

	for (int round = 0; round < 3; round++) {
		for (int p = 0; p < 4; p++) {
			write_and_fail(r, p, 1);
			assert_int_equal(counters_of(r).broken, p < 3 ? p + 1 : 1);
		}
		each_writes(r, 4, 12, 2);
		bring_back(r, 0, 8);
		each_writes(r, 0, 8, 3);
		assert_int_equal(counters_of(r).failures, 4 * (round + 1));
		assert_int_equal(counters_of(r).repairs, round + 1);
	}
}

/* Where the first stream fails all: who has something outstanding is told, if it wants that. */
static void an_initiator_fails_with_all_its_streams(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .streams = 4, .no_repeats = true);

	each_writes(r, 0, 4, 1);
	ok(write_flags(r, 2, 2, BSN_F_RING)); /* before the failure: it succeeds in silence */
	ok(write_nowhere(r, 0, 3));
	ok(write_flags(r, 1, 4, BSN_F_RING));
	assert_int_equal(work(r), 2);
	expect_completion(r, 0, 3, IBV_WC_REM_ACCESS_ERR);
	expect_completion(r, 1, 4, IBV_WC_WR_FLUSH_ERR);
	expect_error(r, 0, 3, IBV_WC_REM_ACCESS_ERR, "rkey");
	expect_error(r, 1, 4, IBV_WC_WR_FLUSH_ERR, "executed");
	expect_no_error(r, 2);
	assert_int_equal(write_to(r, 0, 5), -ENOTCONN);
	assert_int_equal(write_to(r, 1, 5), -ENOTCONN);
	each_writes(r, 2, 6, 6);
	assert_int_equal(counters_of(r).failures, 1);
	assert_int_equal(counters_of(r).repeats, 0);
	bring_back(r, 0, 6);
	each_writes(r, 0, 6, 7);
}

static int write_inline(struct rig *r, int p, uint64_t id, const void *data, uint32_t bytes,
			size_t into)
{
	return bsn_write_inline(r->ep[p], data, bytes, REMOTE(r->b, 1, INTO + into), id, NOW);
}

static int read_into(struct rig *r, int p, uint64_t id, size_t into)
{
	const struct bsn_sge local = bench_sge(r->b, 0, into, 8);
	const struct bsn_remote from = bench_remote(r->b, 1, INTO + 256);

	return bsn_read(r->ep[p], &local, &from, id, BSN_F_RING | BSN_F_SIGNALED | BSN_F_FENCE);
}

/*
 * WRITEs and READs of others are done once, in order, before what is posted next; what was
 * unsignaled stays so. In a ring of which the end lies between them.
 */
static void who_is_not_concerned_goes_on(struct bench *b)
{
	static const uint8_t words[3][40] = { "the first of them, and it has a tail",
					      "second, the same", "third" };
	struct rig *r = make(b, .initiators = 1, .streams = 2, .send_depth = 4, .max_inline = 64);

	for (int before = 0; before < 40; before++) {
		for (int k = 0; k < before; k++)
			write_and_finish(r, 0, 1);
		memset(bench_at(b, 1, INTO), 0, 512);
		memset(bench_at(b, 0, 1024), 0, 8);
		ok(write_to(r, 1, 1)); /* before the failure */
		ok(write_nowhere(r, 0, 2));
		ok(write_inline(r, 1, 3, words[0], 40, 256));
		ok(write_flags(r, 1, 4, BSN_F_RING));
		ok(write_inline(r, 1, 5, words[1], 40, 300));
		ok(read_into(r, 1, 6, 1024));
		assert_int_equal(work(r), 2);
		expect(r, 0, 1, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		expect(r, 1, 0, 2, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
		assert_memory_equal(bench_at(b, 1, INTO + 256), "\0\0\0\0", 4);
		assert_int_equal(last_of(r, 1).opcode, BSN_OPCODE_RDMA_READ);
		assert_true(last_of(r, 1).fence);
		ok(write_inline(r, 1, 7, words[2], 40, 340));
		assert_int_equal(work(r), 4);
		for (int k = 0; k < 4; k++)
			expect(r, k, 1, (uint64_t[]){ 3, 5, 6, 7 }[k],
			       k == 2 ? BSN_OPCODE_RDMA_READ : BSN_OPCODE_RDMA_WRITE,
			       IBV_WC_SUCCESS);
		assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), LENGTH);
		assert_memory_equal(bench_at(b, 1, INTO + 256), words[0], 40);
		assert_memory_equal(bench_at(b, 1, INTO + 300), words[1], 40);
		assert_memory_equal(bench_at(b, 1, INTO + 340), words[2], 40);
		assert_memory_equal(bench_at(b, 0, 1024), words[0], 8);
		assert_int_equal(counters_of(r).repeats, 4 * (before + 1));
		expect_no_error(r, 1);
		bring_back(r, 0, 1);
	}
}

/* One that stands in line meanwhile has its turn when that is done. */
static void who_is_not_concerned_waits(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .streams = 2);

	ok(write_nowhere(r, 0, 1));
	ok(write_to(r, 1, 2));
	ok(write_to(r, 1, 3));
	assert_int_equal(softcx_step(1), 1);
	r->count = bsn_poll(bsn_dc_pool_cq(r->pool), r->done, 1);
	expect(r, 0, 0, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(write_to(r, 1, 4), -EAGAIN);
	assert_int_equal(bsn_dc_pool_repair(r->pool), 1);
	assert_int_equal(bsn_dc_peer_destroy(r->ep[1]), -EBUSY);
	assert_int_equal(work(r), 0);
	assert_int_equal(counters_of(r).repeats, 2);
	assert_int_equal(write_to(r, 1, 4), -EAGAIN);
	assert_int_equal(bsn_dc_peer_destroy(r->ep[1]), -EBUSY);
	assert_int_equal(work(r), 3);
	expect(r, 0, 1, 2, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect(r, 1, 1, 3, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect_ready(r, 2, 1);
	write_and_finish(r, 1, 4);
	ok(bsn_dc_pool_repair(r->pool));
}

/* Both streams of the spare are taken when it fails, too: what is held waits for another. */
static void what_is_held_waits_for_room(struct bench *b)
{
	struct rig *r = make(b, .initiators = 2, .spares = 1, .streams = 2);

	each_writes(r, 0, 4, 1); /* 0 and 2 have the first, 1 and 3 the second */
	for (int p = 0; p < 2; p++) {
		ok(write_nowhere(r, p, 2));
		ok(write_to(r, p + 2, 3));
		ok(write_flags(r, p + 2, 4, BSN_F_RING));
	}
	assert_int_equal(work(r), 2);
	assert_int_equal(counters_of(r).failures, 2);
	assert_int_equal(counters_of(r).repeats, 4);
	ok(write_nowhere(
		r, 2, 5)); /* the last that works fails, with the other's requests in its queue */
	assert_true(write_to(r, 3, 5) == 0);
	assert_int_equal(work(r), 4);
	expect_completion(r, 2, 3, IBV_WC_SUCCESS);
	expect_completion(r, 3, 3, IBV_WC_SUCCESS);
	expect_completion(r, 2, 5, IBV_WC_REM_ACCESS_ERR);
	expect_completion(r, 3, 5, IBV_WC_WR_FLUSH_ERR); /* there is none to go to */
	bring_back(r, 0, 4);
	each_writes(r, 0, 4, 6);
}

/* The spare's queue is full of another peer's, so what is held has no room yet. */
static void what_is_held_waits_for_the_queue(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .streams = 2, .send_depth = 16);
	uint64_t id = 10;

	ok(write_nowhere(r, 0, 1));
	for (uint64_t k = 2; k < 10; k++)
		ok(write_to(r, 1, k));
	assert_int_equal(softcx_step(1), 1);
	assert_int_equal(bsn_poll(bsn_dc_pool_cq(r->pool), r->done, 1), 1); /* the failure alone */
	while (!write_to(r, 2, id))                                         /* the spare's */
		id++;
	assert_true(id > 40);
	softcx_step(30);
	/* The model has flushed, and done a little of the other; not all is polled at once. */
	r->count = bsn_poll(bsn_dc_pool_cq(r->pool), r->done, 7);
	assert_int_equal(counters_of(r).repeats, 0);
	assert_int_equal(bsn_dc_peer_reset(r->ep[1]), 0); /* it has not failed */
	assert_int_equal(bsn_dc_peer_destroy(r->ep[1]), -EBUSY);
	assert_int_equal(write_to(r, 1, 99), -EAGAIN);
	while (counters_of(r).repeats == 0)
		assert_true(work(r) >= 0);
	assert_int_equal(counters_of(r).repeats, 8);
	while (work(r) && r->done[r->count - 1].opcode != BSN_DC_READY)
		;
	expect_completion(r, 1, 9, IBV_WC_SUCCESS);
}

/* Nothing that the pool knows of failed, but the device did. */
static void an_initiator_may_fail_by_itself(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .streams = 4);

	each_writes(r, 0, 3, 1);
	cx_lock(softcx_hca());
	struct cx_qp *qp = cx_qp_find(softcx_hca(), dv_sq(r->ep[0]->sq)->qpn);
	assert_non_null(qp);
	cx_qp_fail(softcx_hca(), qp, BSN_VENDOR_FLUSHED_IN_ERROR);
	cx_unlock(softcx_hca());
	for (int p = 0; p < 3; p++)
		ok(write_to(r, p, 2));
	assert_int_equal(work(r), 0);
	assert_int_equal(counters_of(r).failures, 1);
	assert_int_equal(counters_of(r).repeats, 3);
	assert_int_equal(work(r), 3);
	for (int p = 0; p < 3; p++)
		expect_completion(r, p, 2, IBV_WC_SUCCESS);
	ok(bsn_dc_pool_repair(r->pool));
}

/* A peer whose place has failed takes the next one of that initiator. */
static void places_that_failed_are_passed(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .streams = 4, .policy = BSN_DC_HASHED);

	ok(write_nowhere(r, 1, 1));
	assert_int_equal(work(r), 1);
	write_and_finish(r, 5, 2);
	assert_int_equal(last_of(r, 5).dci_stream, 2);
	ok(write_to(r, 0, 3)); /* it goes on while the place is made ready, which is free then */
	ok(bsn_dc_pool_repair(r->pool));
	ok(write_to(r, 9, 4));
	assert_int_equal(last_of(r, 9).dci_stream, 1);
	assert_int_equal(work(r), 2);
}

/* What a target counts may not be done twice: then the peer fails, with all that was flushed. */
static void what_may_not_be_done_twice_comes_back(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, 8);
	struct rig *r = make(b, .initiators = 1, .streams = 2);

	for (int round = 0; round < 3; round++) {
		ok(write_nowhere(r, 0, 1));
		ok(write_to(r, 1, 2));
		ok(round == 0   ? bsn_fetch_add(r->ep[1], &local, REMOTE(b, 1, INTO), 1, 3, NOW)
		   : round == 1 ? bsn_send(r->ep[1], &local, 3, NOW)
				: bsn_write_imm(r->ep[1], &local, REMOTE(b, 1, INTO), 7, 3, NOW));
		ok(write_to(r, 1, 4));
		assert_int_equal(work(r), 4);
		for (uint64_t id = 2; id <= 4; id++)
			expect_completion(r, 1, id, IBV_WC_WR_FLUSH_ERR);
		expect_error(r, 1, 2, IBV_WC_WR_FLUSH_ERR, "not posted again");
		assert_int_equal(counters_of(r).repeats, 0);
		bring_back(r, 0, 1);
		ok(bsn_dc_peer_reset(r->ep[1]));
	}
}

/* What the library signals by itself nobody is told of, also when it is posted again. */
static void unsignaled_requests_stay_so(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .streams = 2, .send_depth = 16, .signal_every = 2);

	for (int round = 0; round < 8; round++) {
		ok(write_nowhere(r, 0, 1));
		for (uint64_t id = 2; id < 12; id++)
			ok(write_flags(r, 1, id, BSN_F_RING));
		ok(write_to(r, 1, 12));
		assert_int_equal(work(r), 1);
		assert_int_equal(counters_of(r).repeats, 11 * (round + 1));
		expect_one(r, 1, 12, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		bring_back(r, 0, 1);
	}
}

/* No DevX, no reset of a stream: the initiator is reset when the others have nothing left. */
static void without_commands_the_initiator_is_reset(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .streams = 4);

	ok(write_nowhere(r, 0, 1));
	ok(write_flags(r, 1, 2, 0));
	assert_int_equal(work(r), 1);
	assert_int_equal(bsn_dc_pool_repair(r->pool), 1);
	each_writes(r, 4, 8, 3); /* the spare's */
	bring_back(r, 0, 1);
	each_writes(r, 0, 8, 4);
	assert_int_equal(counters_of(r).repairs, 1);
}

static void a_thousand_peers_fail_and_return(struct bench *b)
{
	many_fail_and_return(make(b, .initiators = 2, .streams = 4));
}

#define ALL_FAIL .no_errored_streams = true

static const struct bench_case cases[] = {
	AND_ON_ROCE(a_stream_fails_alone, ON_DIRECT),
	{ CASE(nothing_else_comes_back), ON_DIRECT },
	{ CASE(a_stream_waits_for_its_flushes), ON_DIRECT },
	{ CASE(too_many_streams_fail_their_initiator), ON_DIRECT },
	{ CASE(an_initiator_fails_with_all_its_streams), ON_DIRECT, ALL_FAIL },
	AND_ON_ROCE(who_is_not_concerned_goes_on, ON_DIRECT, ALL_FAIL),
	{ CASE(who_is_not_concerned_waits), ON_DIRECT, ALL_FAIL },
	{ CASE(what_is_held_waits_for_room), ON_DIRECT, ALL_FAIL },
	{ CASE(what_is_held_waits_for_the_queue), ON_DIRECT, ALL_FAIL },
	{ CASE(an_initiator_may_fail_by_itself), ON_DIRECT },
	{ CASE(places_that_failed_are_passed), ON_DIRECT },
	{ CASE(what_may_not_be_done_twice_comes_back), ON_DIRECT, ALL_FAIL },
	{ CASE(unsignaled_requests_stay_so), ON_DIRECT, ALL_FAIL },
	{ CASE(without_commands_the_initiator_is_reset), ON_DIRECT, .no_devx = true },
	{ CASE(a_thousand_peers_fail_and_return), ON_DIRECT },
};

BENCH_MAIN("dc_streams_failures")
