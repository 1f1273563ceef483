/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams that fail, and who is not concerned. */
#include "dc_streams_rig.h"

static const struct bsn_remote nowhere;

static int write_nowhere(struct rig *r, int p, uint64_t id)
{
	const struct bsn_sge local = bench_sge(r->b, 0, 0, LENGTH);

	return bsn_write(r->ep[p], &local, &nowhere, id, NOW);
}

/* -- failures ---------------------------------------------------------------------------------- */

static void expect_error(struct rig *r, int p, uint64_t id, enum ibv_wc_status status,
			 const char *word)
{
	struct bsn_dc_error error;
	struct bsn_av_dc av;
	struct bsn_ctrl ctrl;

	ok(bsn_dc_peer_error(r->ep[p], &error));
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

static void expect_no_error(struct rig *r, int p)
{
	struct bsn_dc_error error;

	ok(bsn_dc_peer_error(r->ep[p], &error));
	assert_false(error.has_failed);
	assert_int_equal(error.wqe_bytes, 0);
}

/* The ring goes round before anybody asks for the request that failed. */
static void a_stream_fails_alone(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .streams = 4, .send_depth = 8 };
	struct rig r;

	make(b, &r, &attr);
	ok(write_to(&r, 0, 1));
	ok(write_nowhere(&r, 1, 2));
	ok(write_to(&r, 2, 3));
	ok(write_to(&r, 0, 5));
	ok(write_flags(&r, 1, 4, 0)); /* not rung, and yet it comes back */
	assert_int_equal(work(&r), 4);
	expect_completion(&r, 0, 5, IBV_WC_SUCCESS);
	expect_completion(&r, 0, 1, IBV_WC_SUCCESS);
	expect_completion(&r, 1, 2, IBV_WC_REM_ACCESS_ERR);
	expect_completion(&r, 2, 3, IBV_WC_SUCCESS);
	assert_int_equal(write_to(&r, 1, 6), -ENOTCONN);
	assert_int_equal(work(&r), 1);
	expect_completion(&r, 1, 4, IBV_WC_WR_FLUSH_ERR);
	for (int k = 0; k < 40; k++)
		write_and_finish(&r, k % 2 * 2, 7);
	expect_error(&r, 1, 2, IBV_WC_REM_ACCESS_ERR, "rkey");
	expect_no_error(&r, 0);
	assert_int_equal(counters_of(&r).failures, 1);
	assert_int_equal(counters_of(&r).broken, 1);
	ok(bsn_dc_peer_reset(r.ep[1]));
	write_and_finish(&r, 1, 8); /* by the stream that nobody had */
	assert_int_equal(last_of(&r, 1).dci_stream, 3);
	assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
	assert_int_equal(counters_of(&r).repairs, 1);
	write_and_finish(&r, 3, 9);
	assert_int_equal(last_of(&r, 3).dci_stream, 1);
	expect_no_error(&r, 1);
	unmake(&r);
}

/*
 * A second failure, long after the first one. Where that was in the ring there are data now, and
 * they look like the control segment of a silent request.
 */
static void nothing_else_comes_back(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = {
		.initiators = 1, .streams = 2, .send_depth = 16, .max_inline = 44
	};
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	uint8_t data[44];
	struct rig r;

	make(b, &r, &attr);
	memset(data, BSN_CE_ON_FIRST_ERROR << 2, sizeof(data)); /* ce, and a length of 4 */
	for (int round = 0; round < 4; round++) {
		ok(write_nowhere(&r, 0, 1));
		assert_int_equal(work(&r), 1);
		expect(&r, 0, 0, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
		ok(bsn_dc_peer_reset(r.ep[0]));
		write_and_finish(&r, 1, 2);
		for (int k = 0; k < 100 + round; k++) {
			ok(bsn_write_inline(r.ep[1], data, sizeof(data), &to, 3, NOW));
			assert_int_equal(work(&r), 1);
			expect(&r, 0, 1, 3, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		}
	}
	unmake(&r);
}

static void a_stream_waits_for_its_flushes(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .streams = 4 };
	struct rig r;

	make(b, &r, &attr);
	ok(write_nowhere(&r, 0, 1));
	ok(write_to(&r, 0, 2));
	assert_int_equal(softcx_step(1), 1);
	assert_int_equal(poll(&r), 1);
	expect(&r, 0, 0, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(bsn_dc_pool_repair(r.pool), 1);
	assert_int_equal(bsn_dc_peer_reset(r.ep[0]), -EBUSY);
	assert_int_equal(bsn_dc_peer_destroy(r.ep[0]), -EBUSY);
	assert_int_equal(work(&r), 1);
	expect(&r, 0, 0, 2, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
	ok(bsn_dc_peer_reset(r.ep[0]));
	write_and_finish(&r, 0, 3);
	unmake(&r);
}

/* The fourth of four takes its initiator along; a spare is there. */
static void too_many_streams_fail_their_initiator(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .streams = 4 };
	struct rig r;

	make(b, &r, &attr);
	for (int round = 0; round < 3; round++) {
		for (int p = 0; p < 4; p++) {
			ok(write_nowhere(&r, p, 1));
			assert_int_equal(work(&r), 1);
			expect(&r, 0, p, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
			assert_int_equal(counters_of(&r).broken, p < 3 ? p + 1 : 1);
		}
		for (int p = 4; p < 12; p++)
			write_and_finish(&r, p, 2);
		assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
		for (int p = 0; p < 8; p++) {
			ok(bsn_dc_peer_reset(r.ep[p]));
			write_and_finish(&r, p, 3);
		}
		assert_int_equal(counters_of(&r).failures, 4 * (round + 1));
		assert_int_equal(counters_of(&r).repairs, round + 1);
	}
	unmake(&r);
}

/*
 * Where the first stream that fails fails all: who has something outstanding is told, if it wants
 * that.
 */
static void an_initiator_fails_with_all_its_streams(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .streams = 4, .no_repeats = true };
	struct rig r;

	make(b, &r, &attr);
	for (int p = 0; p < 4; p++)
		write_and_finish(&r, p, 1);
	ok(write_flags(&r, 2, 2, BSN_F_RING)); /* before the failure: it succeeds in silence */
	ok(write_nowhere(&r, 0, 3));
	ok(write_flags(&r, 1, 4, BSN_F_RING));
	assert_int_equal(work(&r), 2);
	expect_completion(&r, 0, 3, IBV_WC_REM_ACCESS_ERR);
	expect_completion(&r, 1, 4, IBV_WC_WR_FLUSH_ERR);
	expect_error(&r, 0, 3, IBV_WC_REM_ACCESS_ERR, "rkey");
	expect_error(&r, 1, 4, IBV_WC_WR_FLUSH_ERR, "executed");
	expect_no_error(&r, 2);
	assert_int_equal(write_to(&r, 0, 5), -ENOTCONN);
	assert_int_equal(write_to(&r, 1, 5), -ENOTCONN);
	for (int p = 2; p < 6; p++)
		write_and_finish(&r, p, 6);
	assert_int_equal(counters_of(&r).failures, 1);
	assert_int_equal(counters_of(&r).repeats, 0);
	assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
	for (int p = 0; p < 6; p++) {
		ok(bsn_dc_peer_reset(r.ep[p]));
		write_and_finish(&r, p, 7);
	}
	unmake(&r);
}

static int write_inline(struct rig *r, int p, uint64_t id, const void *data, uint32_t bytes,
			size_t into)
{
	const struct bsn_remote to = bench_remote(r->b, 1, INTO + into);

	return bsn_write_inline(r->ep[p], data, bytes, &to, id, NOW);
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
	const struct bsn_dc_pool_attr attr = {
		.initiators = 1, .streams = 2, .send_depth = 4, .max_inline = 64
	};
	static const uint8_t words[3][40] = { "the first of them, and it has a tail",
					      "second, the same", "third" };
	struct rig r;

	make(b, &r, &attr);
	for (int before = 0; before < 40; before++) {
		for (int k = 0; k < before; k++)
			write_and_finish(&r, 0, 1);
		memset(bench_at(b, 1, INTO), 0, 512);
		memset(bench_at(b, 0, 1024), 0, 8);
		ok(write_to(&r, 1, 1)); /* before the failure */
		ok(write_nowhere(&r, 0, 2));
		ok(write_inline(&r, 1, 3, words[0], 40, 256));
		ok(write_flags(&r, 1, 4, BSN_F_RING));
		ok(write_inline(&r, 1, 5, words[1], 40, 300));
		ok(read_into(&r, 1, 6, 1024));
		run_model();
		assert_int_equal(poll(&r), 2);
		expect(&r, 0, 1, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		expect(&r, 1, 0, 2, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
		assert_memory_equal(bench_at(b, 1, INTO + 256), "\0\0\0\0", 4);
		assert_int_equal(last_of(&r, 1).opcode, BSN_OPCODE_RDMA_READ);
		assert_true(last_of(&r, 1).fence);
		ok(write_inline(&r, 1, 7, words[2], 40, 340));
		assert_int_equal(work(&r), 4);
		for (int k = 0; k < 4; k++)
			expect(&r, k, 1, (uint64_t[]){ 3, 5, 6, 7 }[k],
			       k == 2 ? BSN_OPCODE_RDMA_READ : BSN_OPCODE_RDMA_WRITE,
			       IBV_WC_SUCCESS);
		assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), LENGTH);
		assert_memory_equal(bench_at(b, 1, INTO + 256), words[0], 40);
		assert_memory_equal(bench_at(b, 1, INTO + 300), words[1], 40);
		assert_memory_equal(bench_at(b, 1, INTO + 340), words[2], 40);
		assert_memory_equal(bench_at(b, 0, 1024), words[0], 8);
		assert_int_equal(counters_of(&r).repeats, 4 * (before + 1));
		expect_no_error(&r, 1);
		assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
		ok(bsn_dc_peer_reset(r.ep[0]));
	}
	unmake(&r);
}

/* One that stands in line meanwhile has its turn when that is done. */
static void who_is_not_concerned_waits(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .streams = 2 };
	struct rig r;

	make(b, &r, &attr);
	ok(write_nowhere(&r, 0, 1));
	ok(write_to(&r, 1, 2));
	ok(write_to(&r, 1, 3));
	assert_int_equal(softcx_step(1), 1);
	r.count = bsn_poll(bsn_dc_pool_cq(r.pool), r.done, 1);
	expect(&r, 0, 0, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(write_to(&r, 1, 4), -EAGAIN);
	assert_int_equal(bsn_dc_pool_repair(r.pool), 1);
	assert_int_equal(bsn_dc_peer_destroy(r.ep[1]), -EBUSY);
	run_model();
	assert_int_equal(poll(&r), 0);
	assert_int_equal(counters_of(&r).repeats, 2);
	assert_int_equal(write_to(&r, 1, 4), -EAGAIN);
	assert_int_equal(bsn_dc_peer_destroy(r.ep[1]), -EBUSY);
	assert_int_equal(work(&r), 3);
	expect(&r, 0, 1, 2, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect(&r, 1, 1, 3, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect_ready(&r, 2, 1);
	write_and_finish(&r, 1, 4);
	assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
	unmake(&r);
}

/*
 * Both streams of the spare are taken when it fails, too: what is held waits until there is one
 * again.
 */
static void what_is_held_waits_for_room(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2, .spares = 1, .streams = 2 };
	struct rig r;

	make(b, &r, &attr);
	for (int p = 0; p < 4; p++) /* 0 and 2 have the first, 1 and 3 the second */
		write_and_finish(&r, p, 1);
	for (int p = 0; p < 2; p++) {
		ok(write_nowhere(&r, p, 2));
		ok(write_to(&r, p + 2, 3));
		ok(write_flags(&r, p + 2, 4, BSN_F_RING));
	}
	run_model();
	assert_int_equal(poll(&r), 2);
	assert_int_equal(counters_of(&r).failures, 2);
	assert_int_equal(counters_of(&r).repeats, 4);
	ok(write_nowhere(
		&r, 2, 5)); /* the last that works fails, with the other's requests in its queue */
	assert_true(write_to(&r, 3, 5) == 0);
	run_model();
	assert_int_equal(poll(&r), 4);
	expect_completion(&r, 2, 3, IBV_WC_SUCCESS);
	expect_completion(&r, 3, 3, IBV_WC_SUCCESS);
	expect_completion(&r, 2, 5, IBV_WC_REM_ACCESS_ERR);
	expect_completion(&r, 3, 5, IBV_WC_WR_FLUSH_ERR); /* there is none to go to */
	assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
	for (int p = 0; p < 4; p++) {
		ok(bsn_dc_peer_reset(r.ep[p]));
		write_and_finish(&r, p, 6);
	}
	unmake(&r);
}

/* The spare's queue is full of another peer's, so what is held has no room yet. */
static void what_is_held_waits_for_the_queue(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .streams = 2, .send_depth = 16 };
	uint64_t id = 10;
	struct rig r;

	make(b, &r, &attr);
	ok(write_nowhere(&r, 0, 1));
	for (uint64_t k = 2; k < 10; k++)
		ok(write_to(&r, 1, k));
	assert_int_equal(softcx_step(1), 1);
	assert_int_equal(bsn_poll(bsn_dc_pool_cq(r.pool), r.done, 1), 1); /* the failure alone */
	while (!write_to(&r, 2, id))                                      /* the spare's */
		id++;
	assert_true(id > 40);
	softcx_step(30);
	/*
	 * The model has flushed, and done a little of the other: what it did is not polled all at
	 * once.
	 */
	r.count = bsn_poll(bsn_dc_pool_cq(r.pool), r.done, 7);
	assert_int_equal(counters_of(&r).repeats, 0);
	assert_int_equal(bsn_dc_peer_reset(r.ep[1]), 0); /* it has not failed */
	assert_int_equal(bsn_dc_peer_destroy(r.ep[1]), -EBUSY);
	assert_int_equal(write_to(&r, 1, 99), -EAGAIN);
	while (counters_of(&r).repeats == 0)
		assert_true(work(&r) >= 0);
	assert_int_equal(counters_of(&r).repeats, 8);
	while (work(&r) && r.done[r.count - 1].opcode != BSN_DC_READY)
		;
	expect_completion(&r, 1, 9, IBV_WC_SUCCESS);
	unmake(&r);
}

/* Nothing that the pool knows of failed, but the device did. */
static void an_initiator_may_fail_by_itself(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .streams = 4 };
	struct cx_qp *qp;
	struct rig r;

	make(b, &r, &attr);
	for (int p = 0; p < 3; p++)
		write_and_finish(&r, p, 1);
	cx_lock(softcx_hca());
	qp = cx_qp_find(softcx_hca(), dv_sq(r.ep[0]->sq)->qpn);
	assert_non_null(qp);
	cx_qp_fail(softcx_hca(), qp, BSN_VENDOR_FLUSHED_IN_ERROR);
	cx_unlock(softcx_hca());
	for (int p = 0; p < 3; p++)
		ok(write_to(&r, p, 2));
	run_model();
	assert_int_equal(poll(&r), 0);
	assert_int_equal(counters_of(&r).failures, 1);
	assert_int_equal(counters_of(&r).repeats, 3);
	assert_int_equal(work(&r), 3);
	for (int p = 0; p < 3; p++)
		expect_completion(&r, p, 2, IBV_WC_SUCCESS);
	assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
	unmake(&r);
}

/* A peer whose place has failed takes the next one of that initiator. */
static void places_that_failed_are_passed(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1,
					       .streams = 4,
					       .policy = BSN_DC_HASHED };
	struct rig r;

	make(b, &r, &attr);
	ok(write_nowhere(&r, 1, 1));
	assert_int_equal(work(&r), 1);
	write_and_finish(&r, 5, 2);
	assert_int_equal(last_of(&r, 5).dci_stream, 2);
	ok(write_to(&r, 0, 3)); /* it goes on while the place is made ready, which is free then */
	assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
	ok(write_to(&r, 9, 4));
	assert_int_equal(last_of(&r, 9).dci_stream, 1);
	assert_int_equal(work(&r), 2);
	unmake(&r);
}

/* What a target counts may not be done twice: then the peer fails, with all that was flushed. */
static void what_may_not_be_done_twice_comes_back(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .streams = 2 };
	const struct bsn_sge local = bench_sge(b, 0, 0, 8);
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	struct rig r;

	make(b, &r, &attr);
	for (int round = 0; round < 3; round++) {
		ok(write_nowhere(&r, 0, 1));
		ok(write_to(&r, 1, 2));
		ok(round == 0   ? bsn_fetch_add(r.ep[1], &local, &to, 1, 3, NOW)
		   : round == 1 ? bsn_send(r.ep[1], &local, 3, NOW)
				: bsn_write_imm(r.ep[1], &local, &to, 7, 3, NOW));
		ok(write_to(&r, 1, 4));
		assert_int_equal(work(&r), 4);
		for (uint64_t id = 2; id <= 4; id++)
			expect_completion(&r, 1, id, IBV_WC_WR_FLUSH_ERR);
		expect_error(&r, 1, 2, IBV_WC_WR_FLUSH_ERR, "not posted again");
		assert_int_equal(counters_of(&r).repeats, 0);
		assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
		ok(bsn_dc_peer_reset(r.ep[0]));
		ok(bsn_dc_peer_reset(r.ep[1]));
	}
	unmake(&r);
}

/* What the library signals by itself nobody is told of, also when it is posted again. */
static void unsignaled_requests_stay_so(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = {
		.initiators = 1, .streams = 2, .send_depth = 16, .signal_every = 2
	};
	struct rig r;

	make(b, &r, &attr);
	for (int round = 0; round < 8; round++) {
		ok(write_nowhere(&r, 0, 1));
		for (uint64_t id = 2; id < 12; id++)
			ok(write_flags(&r, 1, id, BSN_F_RING));
		ok(write_to(&r, 1, 12));
		run_model();
		assert_int_equal(poll(&r), 1);
		assert_int_equal(counters_of(&r).repeats, 11 * (round + 1));
		assert_int_equal(work(&r), 1);
		expect(&r, 0, 1, 12, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
		ok(bsn_dc_peer_reset(r.ep[0]));
	}
	unmake(&r);
}

/*
 * No DevX, no reset of a stream: the whole initiator is, once the other streams have nothing
 * outstanding.
 */
static void without_commands_the_initiator_is_reset(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .streams = 4 };
	struct rig r;

	make(b, &r, &attr);
	ok(write_nowhere(&r, 0, 1));
	ok(write_flags(&r, 1, 2, 0));
	run_model();
	assert_int_equal(poll(&r), 1);
	assert_int_equal(bsn_dc_pool_repair(r.pool), 1);
	for (int p = 4; p < 8; p++)
		write_and_finish(&r, p, 3); /* the spare's */
	assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
	ok(bsn_dc_peer_reset(r.ep[0]));
	for (int p = 0; p < 8; p++)
		write_and_finish(&r, p, 4);
	assert_int_equal(counters_of(&r).repairs, 1);
	unmake(&r);
}

static void a_thousand_peers_fail_and_return(struct bench *b)
{
	enum { MANY = 1000 };
	static struct bsn_ep *many[MANY];
	const struct bsn_dc_pool_attr attr = { .initiators = 2, .streams = 4 };
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	struct bsn_address address;
	struct rig r;

	make(b, &r, &attr);
	for (int p = 0; p < MANY; p++) {
		ok(bsn_dct_address(r.dct[p % TARGETS], &address));
		ok(bsn_dc_peer_create(r.pool, &address, NULL, &many[p], &many[p]));
		ok(bsn_write(many[p], &local, &nowhere, 1, NOW));
		assert_int_equal(work(&r), 1);
		assert_int_equal(r.done[0].status, IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
	}
	assert_int_equal(counters_of(&r).failures, MANY);
	assert_int_equal(counters_of(&r).repairs, MANY);
	for (int p = 0; p < MANY; p++) {
		ok(bsn_dc_peer_reset(many[p]));
		ok(bsn_write(many[p], &local, &to, 2, NOW));
		assert_int_equal(work(&r), 1);
		assert_int_equal(r.done[0].status, IBV_WC_SUCCESS);
		ok(bsn_dc_peer_destroy(many[p]));
	}
	unmake(&r);
}

static const struct bench_case cases[] = {
	{ CASE(a_stream_fails_alone), ON_DIRECT },
	{ CASE_OF(a_stream_fails_alone, "on RoCE"), ON_DIRECT, ROCE },
	{ CASE(nothing_else_comes_back), ON_DIRECT },
	{ CASE(a_stream_waits_for_its_flushes), ON_DIRECT },
	{ CASE(too_many_streams_fail_their_initiator), ON_DIRECT },
	{ CASE(an_initiator_fails_with_all_its_streams), ON_DIRECT, .no_errored_streams = true },
	{ CASE(who_is_not_concerned_goes_on), ON_DIRECT, .no_errored_streams = true },
	{ CASE_OF(who_is_not_concerned_goes_on, "on RoCE"), ON_DIRECT, .no_errored_streams = true,
	  ROCE },
	{ CASE(who_is_not_concerned_waits), ON_DIRECT, .no_errored_streams = true },
	{ CASE(what_is_held_waits_for_room), ON_DIRECT, .no_errored_streams = true },
	{ CASE(what_is_held_waits_for_the_queue), ON_DIRECT, .no_errored_streams = true },
	{ CASE(an_initiator_may_fail_by_itself), ON_DIRECT },
	{ CASE(places_that_failed_are_passed), ON_DIRECT },
	{ CASE(what_may_not_be_done_twice_comes_back), ON_DIRECT, .no_errored_streams = true },
	{ CASE(unsignaled_requests_stay_so), ON_DIRECT, .no_errored_streams = true },
	{ CASE(without_commands_the_initiator_is_reset), ON_DIRECT, .no_devx = true },
	{ CASE(a_thousand_peers_fail_and_return), ON_DIRECT },
};

int main(void)
{
	random_start();
	return bench_run("dc_streams_failures", cases, sizeof(cases) / sizeof(cases[0]));
}
