/* SPDX-License-Identifier: BSD-2-Clause */
/* The model alone: faults by plan, and plans that cannot be understood. */
#include "plans.h"

static void write_well(void)
{
	write_once();
	expect_good();
}

static void expect_good_at_the_next_step(void)
{
	expect_nothing();
	cx_step(rig.hca, 0);
	expect_good();
}

static void expect_error(uint8_t syndrome, uint8_t vendor)
{
	const struct bsn_cqe cqe = rig_next(&rig.cq[0]);

	assert_int_equal(cqe.tail.opcode, BSN_CQE_REQ_ERR);
	assert_int_equal(cqe.as.err.syndrome, syndrome);
	assert_int_equal(cqe.as.err.vendor_syndrome, vendor);
}

/* -- faults ------------------------------------------------------------------------------------ */

static void a_lost_request_is_retried(void **state)
{
	start("nth=1 drop");
	write_once();
	expect_good_at_the_next_step();
	expect_in_trace("fault: rule 1");
}

static void requests_that_are_always_lost_time_out(void **state)
{
	start("# all of them\n\n  drop   # here\n");
	write_once();
	for (unsigned i = 0; i < 3; i++) {
		expect_nothing();
		cx_step(rig.hca, 0);
	}
	expect_error(BSN_SYNDROME_RETRY_EXCEEDED, 0x81);
}

static void a_delay_is_served_once(void **state)
{
	uint64_t due;

	start("nth=2 delay 1000");
	write_well();
	write_once();
	due = cx_next_deadline_ns(rig.hca);
	assert_in_range(due, 1000000, 1000100);
	expect_nothing();
	write_once(); /* waits after it; the step moves the clock, and both execute */
	expect_good();
	expect_good();
}

/* The request was executed; its answer is seen before its completion, and later requests wait. */
static void a_cqe_can_be_delayed(void **state)
{
	start("nth=1 delay-cqe 1000");
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 64, 8);
	rig_post_recv(&rig, &rig.qp[0], rig.buf + 128, 8);
	rig_post_send(&rig, &rig.qp[0], rig.buf, 8, BSN_CE_ALWAYS);
	rig_post_write(&rig, &rig.qp[0], rig.buf + 256, rig.buf, 8, BSN_CE_ALWAYS);
	cx_step(rig.hca, 0);
	assert_int_equal(rig_next(&rig.cq[1]).as.resp.qpn, rig.qp[1].number);
	rig_post_send(&rig, &rig.qp[1], rig.buf, 8, BSN_CE_ON_ERROR);
	cx_step(rig.hca, 0);
	assert_int_equal(rig_next(&rig.cq[1]).as.resp.qpn, rig.qp[0].number);
	expect_nothing();
	expect_in_trace("done, its CQE is delayed, 1000000 ns");
	cx_step(rig.hca, 0);
	expect_good();
	expect_good();
}

static void post_read(uint32_t ce)
{
	struct rig_wqe wqe;

	rig_begin(&wqe, BSN_OPCODE_RDMA_READ, ce);
	rig_raddr(&wqe, rig.buf + 64, rig.key);
	rig_data(&wqe, rig.buf, 8, rig.key);
	rig_post(&rig.qp[0], &wqe);
}

/* Each has a doorbell of its own, but none is answered before the first one goes out. */
static void reads_that_a_delay_holds_are_outstanding_together(void **state)
{
	start("nth=2 delay 1000");
	rig.mod.max_rd_atomic = 4;
	for (unsigned i = 0; i < 2; i++) {
		rig_qp_move(&rig, &rig.qp[i], IBV_QPS_RESET);
		rig_qp_connect(&rig, &rig.qp[i], rig.qp[!i].number);
	}
	post_read(BSN_CE_ALWAYS);
	cx_step(rig.hca, 0);
	expect_good();
	for (unsigned i = 0; i < 3; i++) {
		post_read(BSN_CE_ALWAYS);
		cx_step(rig.hca, 0);
	}
	expect_good();
	expect_error(BSN_SYNDROME_REMOTE_INVALID_REQUEST, BSN_VENDOR_INVALID_REQUEST_NAK);
	expect_in_trace("2 READs and atomics are outstanding, room for 1");
}

/* Unsignaled requests have no CQE that could be late; the bytes of one that has are kept. */
static void a_delayed_cqe_says_what_it_would_have_said(void **state)
{
	start("opcode=RDMA_READ nth=1 delay-cqe 1");
	rig.attr.scatter_to_cqe_requester = true;
	rig_qp_destroy(&rig, &rig.qp[0]);
	rig_qp_create(&rig, &rig.qp[0]);
	rig_qp_connect(&rig, &rig.qp[0], rig.qp[1].number);
	rig_qp_connect(&rig, &rig.qp[1], rig.qp[0].number);
	for (unsigned i = 0; i < 2; i++) {
		memset(rig.buf + 64, 0x33, 8);
		post_read(i ? BSN_CE_ALWAYS : BSN_CE_ON_ERROR);
		cx_step(rig.hca, 0);
	}
	memset(rig.buf + 64, 0, 8);
	expect_nothing();
	cx_step(rig.hca, 0);
	assert_int_equal(rig_next(&rig.cq[0]).as.req.byte_count, 8);
	assert_memory_equal(rig.cq[0].buf, "\x33\x33\x33\x33\x33\x33\x33\x33", 8);
}

static void a_queue_that_fails_flushes_what_has_no_cqe_yet(void **state)
{
	start("delay-cqe 1000");
	write_once();
	rig_qp_move(&rig, &rig.qp[0], IBV_QPS_ERR);
	expect_error(BSN_SYNDROME_FLUSHED, BSN_VENDOR_TO_ERROR);
	cx_step(rig.hca, 0);
	expect_nothing();
}

static void any_syndrome_can_be_had(void **state)
{
	start("opcode=RDMA_READ fail 0x14 0x77; every=2 opcode=RDMA_WRITE fail 0x02 104");
	write_well();
	write_once();
	expect_error(BSN_SYNDROME_LOCAL_QP_OPERATION, 0x68);
}

static void receivers_that_are_never_ready_use_up_the_retries(void **state)
{
	start("rnr");
	write_once();
	rig_run(&rig);
	expect_error(BSN_SYNDROME_RNR_RETRY_EXCEEDED, 0x87);
}

static void a_queue_can_be_overrun(void **state)
{
	start("nth=2 cq-overrun");
	write_well();
	write_once();
	expect_nothing();
	assert_int_equal(rig_qp_state(&rig, &rig.qp[0]), IBV_QPS_ERR);
}

static void without_a_port_nobody_answers(void **state)
{
	start("nth=1 port-down");
	write_once();
	rig_run(&rig);
	expect_error(BSN_SYNDROME_RETRY_EXCEEDED, 0x81);
}

static void send_once(void)
{
	rig_post_send(&rig, &rig.qp[0], rig.buf, 8, BSN_CE_ALWAYS);
	cx_step(rig.hca, 0);
}

static void a_receive_can_fail(void **state)
{
	start("opcode=RECV nth=2 fail 0x11 0x77\nopcode=RECV fail 0x10 0x10");
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 64, 8);
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 64, 8);
	write_once(); /* takes no receive */
	expect_good();
	send_once();
	expect_error(BSN_SYNDROME_REMOTE_OPERATION, BSN_VENDOR_REMOTE_OPERATION_NAK);
	rig_expect_error(&rig.cq[1], BSN_CQE_RESP_ERR, 0, 0x10, 0x10);
	assert_int_equal(rig_next(&rig.cq[1]).as.err.syndrome, BSN_SYNDROME_FLUSHED);
	expect_in_trace("fault: rule 2, fail, at qpn");
}

/*
 * Only a shared queue's driver posts the receive again. Otherwise a page fault is an error like
 * others.
 */
static void a_page_fault_of_an_own_queue_is_an_error(void **state)
{
	start("opcode=RECV fail 0x22 0x93");
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 64, 8);
	send_once();
	expect_error(BSN_SYNDROME_REMOTE_OPERATION, BSN_VENDOR_REMOTE_OPERATION_NAK);
	assert_int_equal(rig_qp_state(&rig, &rig.qp[1]), IBV_QPS_ERR);
}

/* Registers the same bytes again, as a region on demand; returns its key. */
static uint32_t register_on_demand(void)
{
	return rig_mr_create(&rig, rig.pd, RIG_BUF, RIG_ACCESS | IBV_ACCESS_ON_DEMAND);
}

static void write_by_keys(uint32_t lkey, uint32_t rkey)
{
	rig_post_one(&rig.qp[0], BSN_OPCODE_RDMA_WRITE, rig.buf + 64, rkey, rig.buf, 8, lkey);
	cx_step(rig.hca, 0);
}

/*
 * Pinned memory has no missing page. If a page of the peer is missing, the requester tries again;
 * for its own page it waits.
 */
static void a_missing_page_is_waited_for(void **state)
{
	uint32_t paged;

	start("every=2 page-fault");
	paged = register_on_demand();
	for (unsigned i = 0; i < 3; i++) { /* not counted */
		write_well();
	}
	write_by_keys(rig.key, paged); /* the first one, which succeeds */
	expect_good();
	write_by_keys(rig.key, paged); /* the second, and its retry */
	expect_good_at_the_next_step();
	expect_in_trace("page-fault, at qpn");
	write_by_keys(paged, rig.key); /* the fourth */
	expect_good_at_the_next_step();
	assert_int_equal(cx_mr_destroy(rig.hca, paged), 0);
}

/* A list of two pieces: 64 bytes of one key, and as many of another. */
static uint32_t make_list(uint32_t first, uint32_t second)
{
	const struct bsn_klm pieces[] = { { 64, first, (uintptr_t)rig.buf },
					  { 64, second, (uintptr_t)rig.buf + 64 } };
	const struct bsn_mkey_ctx ctx = { .rw = 1,
					  .lw = 1,
					  .access_mode_1_0 = BSN_MKEY_MODE_KLM,
					  .pd = rig.pd,
					  .start_addr = (uintptr_t)rig.buf,
					  .len = 128 };

	return rig_mkey_create(&rig, &ctx, pieces, 2);
}

/* write_by_keys() writes to the list's second piece, and reads its first. */
static void a_missing_page_beneath_a_list_is_waited_for(void **state)
{
	uint32_t paged, list;

	start("page-fault");
	paged = register_on_demand();
	list = make_list(paged, rig.key);
	write_by_keys(rig.key, list); /* whose second piece is pinned */
	expect_good();
	write_by_keys(list, rig.key);
	expect_nothing();
	cx_step(rig.hca, 0); /* the requester's own pages are there now */
	expect_good();
	list = make_list(rig.key, paged);
	write_by_keys(list, rig.key);
	expect_good();
	write_by_keys(rig.key, list);
	expect_nothing();
	cx_step(rig.hca, 0); /* the peer's are missing at each attempt */
	expect_nothing();
}

static void post_recv_by_key(uint32_t key)
{
	const uint32_t own = rig.key;

	rig.key = key;
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 64, 8);
	rig.key = own;
}

static void a_missing_page_of_a_receive_is_waited_for(void **state)
{
	struct bsn_cqe cqe;
	uint32_t paged;

	start("opcode=RECV nth=2 page-fault");
	paged = register_on_demand();
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 64, 8); /* not counted */
	post_recv_by_key(paged);
	post_recv_by_key(make_list(rig.key, paged)); /* the second piece */
	for (unsigned i = 0; i < 2; i++) {
		send_once();
		expect_good();
		rig_next(&rig.cq[1]);
	}
	send_once();
	expect_nothing();
	assert_false(rig_poll(&rig.cq[1], NULL));
	expect_in_trace("page-fault, at qpn");
	cx_step(rig.hca, 0); /* after the RNR timer the receive is as it was */
	expect_good();
	cqe = rig_next(&rig.cq[1]);
	assert_int_equal(cqe.tail.opcode, BSN_CQE_RESP_SEND);
	assert_int_equal(cqe.tail.wqe_counter, 2);
}

static void bad_plans_are_explained(void **state)
{
	static const struct {
		const char *plan, *line, *word;
	} cases[] = {
		{ "drip", "line 1", "'drip'" },
		{ "drop\n\nnth=x drop", "line 3", "'nth=x'" },
		{ "opcode=SEEND drop", "line 1", "'opcode=SEEND'" },
		{ "color=7 drop", "line 1", "'color=7'" },
		{ "nth=1", "line 1", "'nth=1'" },
		{ "drop 5", "line 1", "'5'" },
		{ "delay", "line 1", "'delay'" },
		{ "opcode=RECV drop", "line 1", "'drop'" },
		{ "opcode=SEND overtake", "line 1", "'overtake'" },
		{ "opcode=DREQ drop", "line 1", "'drop'" },
		{ "opcode=REQ lose-doorbell", "line 1", "'lose-doorbell'" },
		{ "opcode=REQ stream=1 delay 5", "line 1", "'delay'" },
		{ "opcode=RECV overtake 1", "line 1", "'1'" },
		{ "lose-doorbell 1", "line 1", "'1'" },
		{ "compress", "line 1", "'compress'" },
		{ "drop\ncompress 4 65", "line 2", "'65'" },
		{ "compress 0", "line 1", "'0'" },
		{ "nth=1 compress 4", "line 1", "'compress'" },
		{ "delay -4", "line 1", "'-4'" },
		{ "drop # fine\nfail 0x14", "line 2", "'0x14'" },
		{ "drop; fail 0x114 0", "line 1", "'0x114'" },
		{ "stream=0x10000 drop", "line 1", "'stream=0x10000'" },
		{ "dct=5 lose-doorbell", "line 1", "'lose-doorbell'" },
		{ "opcode=RECV stream=1 fail 1 1", "line 1", "'fail'" },
		{ "dc-connections", "line 1", "'dc-connections'" },
		{ "dc-connections 0", "line 1", "'0'" },
		{ "dc-connections 4 5", "line 1", "'5'" },
		{ "qpn=0x1000000 drop", "line 1", "'qpn=0x1000000'" },
		{ "delay-cqe", "line 1", "'delay-cqe'" },
		{ "opcode=RECV delay-cqe 1", "line 1", "'delay-cqe'" },
		{ "pkeys", "line 1", "'pkeys'" },
		{ "pkeys 0xffff 0x10000", "line 1", "'0x10000'" },
		{ "mtu 1500", "line 1", "'1500'" },
		{ "lanes 8", "line 1", "'8'" },
		{ "gids", "line 1", "'gids'" },
		{ "gids fe80::1 nobody", "line 1", "'nobody'" },
		{ "gids fe80::1/v3", "line 1", "'fe80::1/v3'" },
	};
	struct cx_config config = rig_config();
	struct cx_hca *hca;
	char message[200];

	start(NULL);
	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(cx_fault_plan_check(cases[i].plan, message, sizeof(message)),
				 -EINVAL);
		assert_non_null(strstr(message, cases[i].line));
		assert_non_null(strstr(message, cases[i].word));
		config.fault_plan = cases[i].plan;
		assert_int_equal(cx_open(&config, &hca), -EINVAL);
	}
	assert_int_equal(cx_fault_plan_check("", message, sizeof(message)), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, stop)

UNIT_MAIN(NULL, TEST(a_lost_request_is_retried), TEST(requests_that_are_always_lost_time_out),
	  TEST(a_delay_is_served_once), TEST(a_cqe_can_be_delayed),
	  TEST(reads_that_a_delay_holds_are_outstanding_together),
	  TEST(a_delayed_cqe_says_what_it_would_have_said),
	  TEST(a_queue_that_fails_flushes_what_has_no_cqe_yet), TEST(any_syndrome_can_be_had),
	  TEST(receivers_that_are_never_ready_use_up_the_retries), TEST(a_queue_can_be_overrun),
	  TEST(without_a_port_nobody_answers), TEST(a_receive_can_fail),
	  TEST(a_page_fault_of_an_own_queue_is_an_error), TEST(a_missing_page_is_waited_for),
	  TEST(a_missing_page_beneath_a_list_is_waited_for),
	  TEST(a_missing_page_of_a_receive_is_waited_for), TEST(bad_plans_are_explained))
