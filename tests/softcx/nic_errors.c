/* SPDX-License-Identifier: BSD-2-Clause */
/* The model alone: what fails, with which syndromes, and what happens to the work after it. */
#include <time.h>

#include "pair.h"

/* Every failure of a key, at either end: operation, keys, length, result. */
static void keys_are_checked(void **state)
{
	enum { NONE, SHORT, FOREIGN, FOREIGN_SHORT, PLAIN, READABLE, GOOD, KEYS };
	static const struct {
		uint32_t opcode;
		int rkey, lkey;
		uint8_t syndrome, vendor;
	} cases[] = {
		{ BSN_OPCODE_RDMA_WRITE, GOOD, NONE, BSN_SYNDROME_LOCAL_PROTECTION, 0x52 },
		{ BSN_OPCODE_RDMA_WRITE, GOOD, FOREIGN, BSN_SYNDROME_LOCAL_PROTECTION, 0x52 },
		{ BSN_OPCODE_RDMA_WRITE, GOOD, SHORT, BSN_SYNDROME_LOCAL_PROTECTION, 0x53 },
		/* If several things are wrong, the key and its domain are reported first. */
		{ BSN_OPCODE_RDMA_WRITE, GOOD, FOREIGN_SHORT, BSN_SYNDROME_LOCAL_PROTECTION, 0x52 },
		{ BSN_OPCODE_RDMA_READ, GOOD, FOREIGN_SHORT, BSN_SYNDROME_LOCAL_PROTECTION, 0x32 },
		/* The requester's own memory is reported before the responder's. */
		{ BSN_OPCODE_RDMA_WRITE, NONE, SHORT, BSN_SYNDROME_LOCAL_PROTECTION, 0x53 },
		{ BSN_OPCODE_SEND, GOOD, NONE, BSN_SYNDROME_LOCAL_PROTECTION, 0x52 },
		{ BSN_OPCODE_RDMA_READ, GOOD, PLAIN, BSN_SYNDROME_LOCAL_PROTECTION, 0x33 },
		{ BSN_OPCODE_RDMA_READ, GOOD, NONE, BSN_SYNDROME_LOCAL_PROTECTION, 0x32 },
		{ BSN_OPCODE_RDMA_WRITE, NONE, GOOD, BSN_SYNDROME_REMOTE_ACCESS, 0x88 },
		{ BSN_OPCODE_RDMA_WRITE, FOREIGN, GOOD, BSN_SYNDROME_REMOTE_ACCESS, 0x88 },
		{ BSN_OPCODE_RDMA_WRITE, SHORT, GOOD, BSN_SYNDROME_REMOTE_ACCESS, 0x88 },
		{ BSN_OPCODE_RDMA_WRITE, READABLE, GOOD, BSN_SYNDROME_REMOTE_ACCESS, 0x88 },
		{ BSN_OPCODE_RDMA_READ, PLAIN, GOOD, BSN_SYNDROME_REMOTE_ACCESS, 0x88 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint32_t keys[KEYS], pd;

		assert_int_equal(cx_pd_create(rig.hca, &pd), 0);
		keys[NONE] = 0x7654321;
		keys[SHORT] = rig_mr_create(&rig, rig.pd, 63, RIG_ACCESS);
		keys[FOREIGN] = rig_mr_create(&rig, pd, 64, RIG_ACCESS);
		keys[FOREIGN_SHORT] = rig_mr_create(&rig, pd, 63, 0);
		keys[PLAIN] = rig_mr_create(&rig, rig.pd, 64, 0);
		keys[READABLE] = rig_mr_create(&rig, rig.pd, 64, IBV_ACCESS_REMOTE_READ);
		keys[GOOD] = rig.key;
		post(cases[i].opcode, keys[cases[i].rkey], keys[cases[i].lkey], 64);
		rig_run(&rig);
		rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, cases[i].syndrome,
				 cases[i].vendor);
		assert_int_equal(rig_qp_state(&rig, &rig.qp[0]), IBV_QPS_ERR);
		rig_teardown(&rig);
		setup(state);
	}
}

static void a_key_that_was_given_back_opens_nothing(void **state)
{
	uint32_t key = rig_mr_create(&rig, rig.pd, 64, RIG_ACCESS), next;

	assert_int_equal(cx_mr_destroy(rig.hca, key), 0);
	next = rig_mr_create(&rig, rig.pd, 64, RIG_ACCESS);
	assert_int_not_equal(key, next);
	post(BSN_OPCODE_RDMA_WRITE, key, rig.key, 8);
	rig_run(&rig);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_REMOTE_ACCESS, 0x88);
}

static void post_fetch_add(void *to, uint32_t rkey)
{
	struct rig_wqe wqe;

	rig_begin(&wqe, BSN_OPCODE_ATOMIC_FA, BSN_CE_ALWAYS);
	rig_raddr(&wqe, to, rkey);
	ENCODE(atomic_fa, wqe.bytes + wqe.len, .add = 1);
	wqe.len += BSN_ATOMIC_FA_SIZE;
	rig_data(&wqe, rig.buf, 8, rig.key);
	rig_post(&rig.qp[0], &wqe);
}

/*
 * Rights that the responder's queue pair lacks are distinguished from rights that its region lacks.
 * They come first: the key is not looked at.
 */
static void the_queue_pair_has_rights_of_its_own(void **state)
{
	static const struct {
		uint32_t opcode;
		int right;
	} cases[] = {
		{ BSN_OPCODE_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE },
		{ BSN_OPCODE_RDMA_READ, IBV_ACCESS_REMOTE_READ },
		{ BSN_OPCODE_ATOMIC_FA, IBV_ACCESS_REMOTE_ATOMIC },
	};

	for (unsigned i = 0; i < 6; i++) {
		const uint32_t opcode = cases[i / 2].opcode;
		struct ibv_qp_attr attr = { .qp_access_flags =
						    (unsigned)(RIG_ACCESS & ~cases[i / 2].right) };
		uint32_t rkey = i % 2 ? 0x7654321 : rig.key;

		rig_qp_modify(&rig, &rig.qp[1], attr, IBV_QP_ACCESS_FLAGS);
		if (opcode == BSN_OPCODE_ATOMIC_FA)
			post_fetch_add(rig.buf, rkey);
		else
			post(opcode, rkey, rig.key, 8);
		rig_run(&rig);
		rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0,
				 BSN_SYNDROME_REMOTE_INVALID_REQUEST, 0x8a);
		assert_int_equal(rig_qp_state(&rig, &rig.qp[1]), IBV_QPS_ERR);
		rig_teardown(&rig);
		setup(state);
	}
}

static void work_behind_a_failure_is_flushed_in_order(void **state)
{
	for (unsigned i = 0; i < 3; i++)
		rig_post_recv(&rig, &rig.qp[0], rig.buf, 64);
	rig_post_write(&rig, &rig.qp[0], rig.buf + 64, rig.buf, 8, BSN_CE_ALWAYS);
	post(BSN_OPCODE_RDMA_WRITE, 0x7654321, rig.key, 8);
	rig_post_write(&rig, &rig.qp[0], rig.buf + 64, rig.buf, 8, BSN_CE_ALWAYS);
	rig_post_write(&rig, &rig.qp[0], rig.buf + 64, rig.buf, 8, BSN_CE_ON_ERROR);
	rig_post_write(&rig, &rig.qp[0], rig.buf + 64, rig.buf, 8, BSN_CE_ON_FIRST_ERROR);
	rig_run(&rig);
	expect_good(&rig.cq[0]);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 1, BSN_SYNDROME_REMOTE_ACCESS, 0x88);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 2, BSN_SYNDROME_FLUSHED, 0xf9);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 3, BSN_SYNDROME_FLUSHED, 0xf9);
	expect_nothing(&rig.cq[0]);
	for (uint16_t i = 0; i < 3; i++)
		rig_expect_error(&rig.cq[1], BSN_CQE_RESP_ERR, i, BSN_SYNDROME_FLUSHED, 0xf9);

	/* What is posted to a queue in error comes back, too. */
	rig_post_write(&rig, &rig.qp[0], rig.buf + 64, rig.buf, 8, BSN_CE_ALWAYS);
	rig_post_recv(&rig, &rig.qp[0], rig.buf, 64);
	rig_run(&rig);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 5, BSN_SYNDROME_FLUSHED, 0xf9);
	rig_expect_error(&rig.cq[1], BSN_CQE_RESP_ERR, 3, BSN_SYNDROME_FLUSHED, 0xf9);
}

/* Also on a device that is not stepped, though posting a receive rings no doorbell. */
static void receives_posted_in_error_are_flushed_by_time(void **state)
{
	struct cx_config config = rig_config();

	rig_teardown(&rig);
	config.passive = false;
	rig_open(&rig, &config);
	rig_qp_create(&rig, &rig.qp[0]);
	rig_qp_move(&rig, &rig.qp[0], IBV_QPS_ERR);
	for (uint16_t i = 0; i < 3; i++) {
		const uint64_t due = cx_next_deadline_ns(rig.hca);
		const struct timespec until = { (time_t)(due / 1000000000),
						(long)(due % 1000000000) };

		assert_int_not_equal(due, 0);
		rig_post_recv(&rig, &rig.qp[0], rig.buf, 64);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		cx_run_timers(rig.hca);
		rig_expect_error(&rig.cq[1], BSN_CQE_RESP_ERR, i, BSN_SYNDROME_FLUSHED, 0xf5);
	}
	rig_qp_destroy(&rig, &rig.qp[0]);
	cx_run_timers(rig.hca);
	assert_int_equal(cx_next_deadline_ns(rig.hca), 0);
}

static void a_command_flushes_with_a_reason_of_its_own(void **state)
{
	rig_post_recv(&rig, &rig.qp[0], rig.buf, 64);
	rig_post_write(&rig, &rig.qp[0], rig.buf + 64, rig.buf, 8, BSN_CE_ALWAYS);
	rig_qp_move(&rig, &rig.qp[0], IBV_QPS_ERR);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_FLUSHED, 0xf5);
	rig_expect_error(&rig.cq[1], BSN_CQE_RESP_ERR, 0, BSN_SYNDROME_FLUSHED, 0xf5);
}

static void a_reset_queue_pair_starts_anew(void **state)
{
	post(BSN_OPCODE_RDMA_WRITE, 0x7654321, rig.key, 8);
	rig_run(&rig);
	for (unsigned i = 0; i < 2; i++) {
		rig_qp_move(&rig, &rig.qp[i], IBV_QPS_RESET);
		rig.qp[i].pi = rig.qp[i].rq_pi = 0;
		memset(rig.qp[i].db, 0, sizeof(rig.qp[i].db));
		rig_qp_connect(&rig, &rig.qp[i], rig.qp[!i].number);
	}
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_REMOTE_ACCESS, 0x88);
	post(BSN_OPCODE_RDMA_WRITE, rig.key, rig.key, 8);
	rig_run(&rig);
	expect_good(&rig.cq[0]);
}

static void a_message_longer_than_its_receive_fails_both(void **state)
{
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 1000, 100);
	post(BSN_OPCODE_SEND, 0, rig.key, 101);
	rig_run(&rig);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_REMOTE_INVALID_REQUEST, 0x8a);
	rig_expect_error(&rig.cq[1], BSN_CQE_RESP_ERR, 0, BSN_SYNDROME_LOCAL_LENGTH,
			 BSN_VENDOR_SEND_TOO_LONG);
}

/*
 * Receives may complete out of order, so each CQE names its receive, as a ConnectX's does:
 * successes, errors and flushes alike, counted modulo 2^16.
 */
static void completions_of_receives_name_their_wqe(void **state)
{
	uint16_t i;

	for (i = 0; i < 3 * RIG_RQ; i++) {
		rig_post_recv(&rig, &rig.qp[1], rig.buf + 1000, 100);
		post(BSN_OPCODE_SEND, 0, rig.key, 50);
		rig_run(&rig);
		assert_int_equal(rig_next(&rig.cq[1]).tail.wqe_counter, i);
		expect_good(&rig.cq[0]);
	}
	for (unsigned n = 0; n < RIG_RQ; n++)
		rig_post_recv(&rig, &rig.qp[1], rig.buf + 1000, 100);
	post(BSN_OPCODE_SEND, 0, rig.key, 101);
	rig_run(&rig);
	rig_expect_error(&rig.cq[1], BSN_CQE_RESP_ERR, i, BSN_SYNDROME_LOCAL_LENGTH,
			 BSN_VENDOR_SEND_TOO_LONG);
	for (unsigned n = 1; n < RIG_RQ; n++)
		rig_expect_error(&rig.cq[1], BSN_CQE_RESP_ERR, (uint16_t)(i + n),
				 BSN_SYNDROME_FLUSHED, BSN_VENDOR_FLUSHED_IN_ERROR);
}

static void a_receive_into_a_foreign_region_fails_both(void **state)
{
	const uint32_t good = rig.key;

	rig.key = rig_mr_create(&rig, rig.pd, 64, 0);
	rig_post_recv(&rig, &rig.qp[1], rig.buf, 64);
	rig.key = good;
	post(BSN_OPCODE_SEND, 0, rig.key, 10);
	rig_run(&rig);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_REMOTE_OPERATION, 0x89);
	rig_expect_error(&rig.cq[1], BSN_CQE_RESP_ERR, 0, BSN_SYNDROME_LOCAL_PROTECTION,
			 BSN_VENDOR_TPT_RECV + BSN_TPT_RIGHTS);
}

static void without_a_receive_a_send_is_retried_then_fails(void **state)
{
	post(BSN_OPCODE_SEND, 0, rig.key, 10);
	cx_step(rig.hca, 0);
	expect_nothing(&rig.cq[0]);
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 1000, 100);
	rig_run(&rig);
	expect_good(&rig.cq[0]);
	expect_good(&rig.cq[1]);

	post(BSN_OPCODE_SEND, 0, rig.key, 10);
	for (unsigned i = 0; i < 3; i++) { /* the first attempt and two retries */
		expect_nothing(&rig.cq[0]);
		cx_step(rig.hca, 0);
	}
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 1, BSN_SYNDROME_RNR_RETRY_EXCEEDED, 0x87);
	assert_int_equal(rig_qp_state(&rig, &rig.qp[1]), IBV_QPS_RTS);
}

static void nobody_there_costs_all_retries(void **state)
{
	const uint64_t timeout_ns = 4096 << 14;
	uint64_t start, deadline;

	rig_qp_destroy(&rig, &rig.qp[1]);
	post(BSN_OPCODE_RDMA_WRITE, rig.key, rig.key, 8);
	cx_step(rig.hca, 0);
	start = cx_next_deadline_ns(rig.hca);
	for (unsigned i = 0; i < 2; i++) {
		cx_step(rig.hca, 0);
		expect_nothing(&rig.cq[0]);
	}
	deadline = cx_next_deadline_ns(rig.hca);
	assert_in_range(deadline - start, 2 * timeout_ns, 2 * timeout_ns + 100);
	cx_step(rig.hca, 0);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_RETRY_EXCEEDED, 0x81);
}

static void a_connection_means_both_ways(void **state)
{
	rig_qp_modify(&rig, &rig.qp[1], (struct ibv_qp_attr){ .dest_qp_num = 0x123 },
		      IBV_QP_DEST_QPN);
	post(BSN_OPCODE_RDMA_WRITE, rig.key, rig.key, 8);
	rig_run(&rig);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_RETRY_EXCEEDED, 0x81);
}

static void reads_need_responder_resources(void **state)
{
	rig_qp_modify(&rig, &rig.qp[1], (struct ibv_qp_attr){ .max_dest_rd_atomic = 0 },
		      IBV_QP_MAX_DEST_RD_ATOMIC);
	post(BSN_OPCODE_RDMA_READ, rig.key, rig.key, 8);
	rig_run(&rig);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_REMOTE_INVALID_REQUEST, 0x8a);
}

static void an_atomic_off_its_alignment_is_refused(void **state)
{
	post_fetch_add(rig.buf + 4, rig.key);
	rig_run(&rig);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_REMOTE_INVALID_REQUEST, 0x8a);
}

static void malformed_wqes_are_refused(void **state)
{
	struct rig_wqe wqe;

	rig_begin(&wqe, 0x7f, BSN_CE_ON_ERROR);
	rig_post(&rig.qp[0], &wqe);
	rig_run(&rig);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_LOCAL_QP_OPERATION,
			 BSN_VENDOR_RESERVED_OPCODE);
	rig_teardown(&rig);

	setup(state);
	rig_begin(&wqe, BSN_OPCODE_RDMA_WRITE, BSN_CE_ON_ERROR);
	rig_post(&rig.qp[0], &wqe);
	rig_run(&rig);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_LOCAL_QP_OPERATION,
			 BSN_VENDOR_DS_TOO_SHORT);
}

static void unreliable_writes_are_lost_in_silence(void **state)
{
	post(BSN_OPCODE_RDMA_WRITE, 0x7654321, rig.key, 8);
	post(BSN_OPCODE_SEND, 0, rig.key, 8);
	rig_run(&rig);
	expect_good(&rig.cq[0]);
	expect_good(&rig.cq[0]);
	expect_nothing(&rig.cq[1]);
	assert_int_equal(rig_qp_state(&rig, &rig.qp[0]), IBV_QPS_RTS);
	assert_int_equal(rig_qp_state(&rig, &rig.qp[1]), IBV_QPS_RTS);
}

static void unreliable_connections_do_not_read(void **state)
{
	post(BSN_OPCODE_RDMA_READ, rig.key, rig.key, 8);
	rig_run(&rig);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_LOCAL_QP_OPERATION,
			 BSN_VENDOR_OPCODE_TRANSPORT);
}

UNIT_MAIN(NULL, TEST(keys_are_checked), TEST(a_key_that_was_given_back_opens_nothing),
	  TEST(the_queue_pair_has_rights_of_its_own),
	  TEST(work_behind_a_failure_is_flushed_in_order),
	  TEST(receives_posted_in_error_are_flushed_by_time),
	  TEST(a_command_flushes_with_a_reason_of_its_own), TEST(a_reset_queue_pair_starts_anew),
	  TEST(a_message_longer_than_its_receive_fails_both),
	  TEST(completions_of_receives_name_their_wqe),
	  TEST(a_receive_into_a_foreign_region_fails_both),
	  TEST(without_a_receive_a_send_is_retried_then_fails),
	  TEST(nobody_there_costs_all_retries), TEST(a_connection_means_both_ways),
	  TEST(reads_need_responder_resources), TEST(an_atomic_off_its_alignment_is_refused),
	  TEST(malformed_wqes_are_refused), TEST_UC(unreliable_writes_are_lost_in_silence),
	  TEST_UC(unreliable_connections_do_not_read))
