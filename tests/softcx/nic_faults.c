/* SPDX-License-Identifier: BSD-2-Clause */
/* The model alone: faults by plan, plans that cannot be understood, lint, and the trace. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bsn_cmd.h"
#include "bsn_umr.h"
#include "rig.h"

static struct rig rig;
static char trace_path[] = "/tmp/nic_faults.XXXXXX";

static void start_mode(const char *plan, bool passive)
{
	struct cx_config config;
	int fd;

	strcpy(trace_path + strlen(trace_path) - 6, "XXXXXX");
	fd = mkstemp(trace_path);
	assert_true(fd >= 0);
	close(fd);
	rig_config(&config);
	config.passive = passive;
	config.fault_plan = plan;
	config.trace_path = trace_path;
	rig_open(&rig, &config);
	for (unsigned i = 0; i < 2; i++)
		rig_qp_create(&rig, &rig.qp[i]);
	for (unsigned i = 0; i < 2; i++)
		rig_qp_connect(&rig, &rig.qp[i], rig.qp[!i].number);
}

static void start(const char *plan)
{
	start_mode(plan, true);
}

static int stop(void **state)
{
	(void)state;
	rig_teardown(&rig);
	unlink(trace_path);
	return 0;
}

static void write_once(void)
{
	rig_post_write(&rig, &rig.qp[0], rig.buf + 64, rig.buf, 8, BSN_CE_ALWAYS);
	cx_step(rig.hca, 0);
}

static void expect_error(uint8_t syndrome, uint8_t vendor)
{
	struct bsn_cqe cqe;

	assert_true(rig_poll(&rig.cq[0], &cqe));
	assert_int_equal(cqe.tail.opcode, BSN_CQE_REQ_ERR);
	assert_int_equal(cqe.as.err.syndrome, syndrome);
	assert_int_equal(cqe.as.err.vendor_syndrome, vendor);
}

static void expect_good(void)
{
	struct bsn_cqe cqe;

	assert_true(rig_poll(&rig.cq[0], &cqe));
	assert_int_equal(cqe.tail.opcode, BSN_CQE_REQ);
}

static void expect_nothing(void)
{
	struct bsn_cqe cqe;

	assert_false(rig_poll(&rig.cq[0], &cqe));
}

static const char *read_trace(void)
{
	static char all[1 << 16];
	int fd = open(trace_path, O_RDONLY);
	ssize_t len = read(fd, all, sizeof(all) - 1);

	close(fd);
	assert_true(len >= 0);
	all[len] = 0;
	return all;
}

static void expect_in_trace(const char *text)
{
	const char *all = read_trace();

	if (!strstr(all, text))
		fail_msg("'%s' is not in:\n%s", text, all);
}

/* -- faults ------------------------------------------------------------------------------------ */

static void a_lost_request_is_retried(void **state)
{
	(void)state;
	start("nth=1 drop");
	write_once();
	expect_nothing();
	cx_step(rig.hca, 0);
	expect_good();
	expect_in_trace("fault: rule 1");
}

static void requests_that_are_always_lost_time_out(void **state)
{
	(void)state;
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

	(void)state;
	start("nth=2 delay 1000");
	write_once();
	expect_good();
	write_once();
	due = cx_next_deadline_ns(rig.hca);
	assert_in_range(due, 1000000, 1000100);
	expect_nothing();
	write_once(); /* waits after it; the step moves the clock, and both execute */
	expect_good();
	expect_good();
}

static void any_syndrome_can_be_had(void **state)
{
	(void)state;
	start("opcode=RDMA_READ fail 0x14 0x77; every=2 opcode=RDMA_WRITE fail 0x02 104");
	write_once();
	expect_good();
	write_once();
	expect_error(BSN_SYNDROME_LOCAL_QP_OPERATION, 0x68);
}

static void receivers_that_are_never_ready_use_up_the_retries(void **state)
{
	(void)state;
	start("rnr");
	write_once();
	for (unsigned i = 0; i < 5; i++)
		cx_step(rig.hca, 0);
	expect_error(BSN_SYNDROME_RNR_RETRY_EXCEEDED, 0x87);
}

static void a_queue_can_be_overrun(void **state)
{
	(void)state;
	start("nth=2 cq-overrun");
	write_once();
	expect_good();
	write_once();
	expect_nothing();
	assert_int_equal(rig_qp_state(&rig, &rig.qp[0]), IBV_QPS_ERR);
}

static void without_a_port_nobody_answers(void **state)
{
	(void)state;
	start("nth=1 port-down");
	write_once();
	for (unsigned i = 0; i < 5; i++)
		cx_step(rig.hca, 0);
	expect_error(BSN_SYNDROME_RETRY_EXCEEDED, 0x81);
}

static void send_once(void)
{
	rig_post_send(&rig, &rig.qp[0], rig.buf, 8, BSN_CE_ALWAYS);
	cx_step(rig.hca, 0);
}

static void a_receive_can_fail(void **state)
{
	struct bsn_cqe cqe;

	(void)state;
	start("opcode=RECV nth=2 fail 0x11 0x77\nopcode=RECV fail 0x10 0x10");
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 64, 8);
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 64, 8);
	write_once(); /* takes no receive */
	expect_good();
	send_once();
	expect_error(BSN_SYNDROME_REMOTE_OPERATION, BSN_VENDOR_REMOTE_OPERATION_NAK);
	assert_true(rig_poll(&rig.cq[1], &cqe));
	assert_int_equal(cqe.tail.opcode, BSN_CQE_RESP_ERR);
	assert_int_equal(cqe.as.err.syndrome, 0x10);
	assert_int_equal(cqe.tail.wqe_counter, 0);
	assert_true(rig_poll(&rig.cq[1], &cqe));
	assert_int_equal(cqe.as.err.syndrome, BSN_SYNDROME_FLUSHED);
	expect_in_trace("fault: rule 2, fail, at qpn");
}

/*
 * Only a shared queue's driver posts the receive again. Otherwise a page fault is an error like
 * others.
 */
static void a_page_fault_of_an_own_queue_is_an_error(void **state)
{
	(void)state;
	start("opcode=RECV fail 0x22 0x93");
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 64, 8);
	send_once();
	expect_error(BSN_SYNDROME_REMOTE_OPERATION, BSN_VENDOR_REMOTE_OPERATION_NAK);
	assert_int_equal(rig_qp_state(&rig, &rig.qp[1]), IBV_QPS_ERR);
}

/* Registers the same bytes again, as a region on demand; returns its key. */
static uint32_t register_on_demand(void)
{
	const struct cx_mr_attr attr = { .va = (uintptr_t)rig.buf,
					 .iova = (uintptr_t)rig.buf,
					 .length = RIG_BUF,
					 .pdn = rig.pd,
					 .access = RIG_ACCESS | IBV_ACCESS_ON_DEMAND };
	uint32_t key;

	assert_int_equal(cx_mr_create(rig.hca, &attr, &key), 0);
	return key;
}

static void write_by_keys(uint32_t lkey, uint32_t rkey)
{
	struct rig_wqe wqe;

	rig_begin(&wqe, BSN_OPCODE_RDMA_WRITE, BSN_CE_ALWAYS);
	rig_raddr(&wqe, rig.buf + 64, rkey);
	rig_data(&wqe, rig.buf, 8, lkey);
	rig_post(&rig.qp[0], &wqe);
	cx_step(rig.hca, 0);
}

/*
 * Pinned memory has no missing page. If a page of the peer is missing, the requester tries again;
 * for its own page it waits.
 */
static void a_missing_page_is_waited_for(void **state)
{
	uint32_t paged;

	(void)state;
	start("every=2 page-fault");
	paged = register_on_demand();
	for (unsigned i = 0; i < 3; i++) { /* not counted */
		write_once();
		expect_good();
	}
	write_by_keys(rig.key, paged); /* the first one, which succeeds */
	expect_good();
	write_by_keys(rig.key, paged); /* the second, and its retry */
	expect_nothing();
	cx_step(rig.hca, 0);
	expect_good();
	expect_in_trace("page-fault, at qpn");
	write_by_keys(paged, rig.key); /* the fourth */
	expect_nothing();
	cx_step(rig.hca, 0);
	expect_good();
	assert_int_equal(cx_mr_destroy(rig.hca, paged), 0);
}

/* A list of two pieces: 64 bytes of one key, and as many of another. */
static uint32_t make_list(uint32_t first, uint32_t second)
{
	uint8_t in[BSN_CREATE_MKEY_LIST_OFFSET + 4 * BSN_XLT_SIZE] = { 0 };
	uint8_t out[BSN_CREATED_OUT_SIZE];
	const struct bsn_cmd_in head = { .opcode = BSN_CMD_CREATE_MKEY };
	const struct bsn_create_mkey_xlt xlt = { .octwords = 2 };
	const struct bsn_klm pieces[] = { { 64, first, (uintptr_t)rig.buf },
					  { 64, second, (uintptr_t)rig.buf + 64 } };
	const struct bsn_mkey_ctx ctx = { .rw = 1,
					  .lw = 1,
					  .access_mode_1_0 = BSN_MKEY_MODE_KLM,
					  .qpn = BSN_MKEY_QPN_ANY,
					  .pd = rig.pd,
					  .start_addr = (uintptr_t)rig.buf,
					  .len = 128,
					  .translations_octword_size = 4 };
	struct bsn_cmd_object made;

	bsn_cmd_in_encode(in, &head);
	bsn_mkey_ctx_encode(in + BSN_CREATE_MKEY_CTX_OFFSET, &ctx);
	bsn_create_mkey_xlt_encode(in + BSN_CREATE_MKEY_XLT_OFFSET, &xlt);
	for (unsigned i = 0; i < 2; i++)
		bsn_klm_encode(in + BSN_CREATE_MKEY_LIST_OFFSET + i * BSN_KLM_SIZE, &pieces[i]);
	assert_int_equal(cx_command(rig.hca, NULL, in, sizeof(in), out, sizeof(out)), 0);
	bsn_cmd_object_decode(&made, out + BSN_CMD_OBJECT_OFFSET);
	return made.number << 8;
}

/* write_by_keys() writes to the list's second piece, and reads its first. */
static void a_missing_page_beneath_a_list_is_waited_for(void **state)
{
	uint32_t paged, list;

	(void)state;
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

	(void)state;
	start("opcode=RECV nth=2 page-fault");
	paged = register_on_demand();
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 64, 8); /* not counted */
	post_recv_by_key(paged);
	post_recv_by_key(make_list(rig.key, paged)); /* the second piece */
	for (unsigned i = 0; i < 2; i++) {
		send_once();
		expect_good();
		assert_true(rig_poll(&rig.cq[1], &cqe));
	}
	send_once();
	expect_nothing();
	assert_false(rig_poll(&rig.cq[1], &cqe));
	expect_in_trace("page-fault, at qpn");
	cx_step(rig.hca, 0); /* after the RNR timer the receive is as it was */
	expect_good();
	assert_true(rig_poll(&rig.cq[1], &cqe));
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
	};
	struct cx_config config;
	struct cx_hca *hca;
	char message[200];

	(void)state;
	start(NULL);
	rig_config(&config);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(cx_fault_plan_check(cases[i].plan, message, sizeof(message)),
				 -EINVAL);
		assert_non_null(strstr(message, cases[i].line));
		assert_non_null(strstr(message, cases[i].word));
		config.fault_plan = cases[i].plan;
		assert_int_equal(cx_open(&config, &hca), -EINVAL);
	}
	assert_int_equal(cx_fault_plan_check("", message, sizeof(message)), 0);
}

/* -- lint -------------------------------------------------------------------------------------- */

/* Findings are not errors: none of these bits changes what is executed. */
static void wrong_bits_are_lint(void **state)
{
	uint8_t *sq = rig.qp[0].ring + RIG_RQ * RIG_RQ_STRIDE;
	struct rig_wqe wqe;

	(void)state;
	start(NULL);
	rig_begin_write(&rig, &wqe, rig.buf, rig.buf, 8, BSN_CE_ALWAYS);
	rig_post(&rig.qp[0], &wqe);
	sq[11] |= 1; /* must be zero */
	cx_step(rig.hca, 0);
	expect_good();
	assert_int_equal(cx_lint_count(rig.hca), 1);
	expect_in_trace("lint: ");
	expect_in_trace("reserved bits");

	rig_post(&rig.qp[0], &wqe);
	sq[BSN_BB_SIZE + 1] ^= 1; /* the index */
	sq[BSN_BB_SIZE + 5] ^= 1; /* the queue pair */
	cx_step(rig.hca, 0);
	expect_good();
	assert_int_equal(cx_lint_count(rig.hca), 3);
	expect_in_trace("ctrl.wqe_index");
	expect_in_trace("ctrl.qpn");
}

/* Stores a BlueFlame block as a program would: `chunk` bytes at a time. */
static void ring(uint32_t buffer, const uint8_t *wqe, size_t len, size_t chunk)
{
	for (size_t at = 0; at < len; at += chunk)
		cx_doorbell(rig.hca, rig.attr.uar_page,
			    BSN_UAR_BF_OFFSET + buffer * 256 + (uint32_t)at, wqe + at,
			    (uint32_t)chunk);
}

static void doorbells_are_compared_with_record_and_ring(void **state)
{
	struct rig_wqe wqe;

	(void)state;
	start(NULL);
	rig_begin_write(&rig, &wqe, rig.buf, rig.buf, 8, BSN_CE_ALWAYS);
	for (unsigned i = 0; i < 4; i++) {
		static const size_t chunks[] = { 8, 16, 32, 64 };

		rig_post(&rig.qp[0], &wqe);
		ring(i & 1, wqe.bytes, 64, chunks[i]);
		cx_step(rig.hca, 0);
		expect_good();
	}
	rig_post(&rig.qp[0], &wqe);
	ring(0, wqe.bytes, 8, 8); /* a doorbell without the copy */
	assert_int_equal(cx_lint_count(rig.hca), 0);

	rig_post(&rig.qp[0], &wqe);
	ring(1, wqe.bytes, 64, 64);
	ring(1, wqe.bytes, 64, 64); /* write combining merges the two */
	assert_int_equal(cx_lint_count(rig.hca), 0);

	ring(0, wqe.bytes, 8, 8); /* nothing new was published */
	assert_int_equal(cx_lint_count(rig.hca), 1);
	expect_in_trace("the record has not moved");

	rig_post(&rig.qp[0], &wqe);
	wqe.bytes[40] ^= 1;
	ring(0, wqe.bytes, 64, 64); /* not what the ring holds */
	assert_int_equal(cx_lint_count(rig.hca), 2);
	expect_in_trace("are not the ring's");

	cx_doorbell(rig.hca, rig.attr.uar_page, 0x40, wqe.bytes, 8);
	expect_in_trace("is no register");
	wqe.bytes[5] ^= 0xff;
	ring(1, wqe.bytes, 8, 8);
	expect_in_trace("there is no qpn");
	assert_int_equal(cx_lint_count(rig.hca), 4);
}

/* A timer or a peer may make the model look between the poster's two stores. */
static void a_record_may_be_read_before_its_doorbell(void **state)
{
	struct rig_wqe wqe;

	(void)state;
	start(NULL);
	rig_begin_write(&rig, &wqe, rig.buf, rig.buf, 8, BSN_CE_ALWAYS);
	rig_post(&rig.qp[0], &wqe);
	cx_step(rig.hca, 0);
	expect_good();
	ring(0, wqe.bytes, 8, 8);
	assert_int_equal(cx_lint_count(rig.hca), 0);
	ring(0, wqe.bytes, 8, 8);
	assert_int_equal(cx_lint_count(rig.hca), 1);
}

/* After a reset, a doorbell at the index of the last doorbell before the reset is a new one. */
static void a_queue_that_was_reset_repeats_nothing(void **state)
{
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct rig_wqe wqe;

	(void)state;
	start(NULL);
	rig_begin_write(&rig, &wqe, rig.buf, rig.buf, 8, BSN_CE_ALWAYS);
	rig_post(&rig.qp[0], &wqe);
	ring(0, wqe.bytes, 64, 64);
	ring(0, wqe.bytes, 64, 64);
	assert_int_equal(cx_lint_count(rig.hca), 0);
	assert_int_equal(cx_qp_modify(rig.hca, rig.qp[0].number, &attr, IBV_QP_STATE), 0);
	rig.qp[0].db[1] = 0;
	ring(0, wqe.bytes, 64, 64);
	assert_int_equal(cx_lint_count(rig.hca), 1);
	expect_in_trace("is in RESET");
}

/* -- doorbells --------------------------------------------------------------------------------- */

static void post_and_ring(size_t len, size_t chunk)
{
	struct rig_wqe wqe;

	rig_begin_write(&rig, &wqe, rig.buf, rig.buf, 8, BSN_CE_ALWAYS);
	rig_post(&rig.qp[0], &wqe);
	ring(rig.qp[0].pi & 1, wqe.bytes, len, chunk);
}

static void the_record_recovers_a_lost_doorbell(void **state)
{
	static const size_t chunks[] = { 8, 16, 64 };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		start_mode("opcode=RDMA_WRITE every=3 lose-doorbell", false);
		post_and_ring(64, chunks[i]);
		expect_good();
		post_and_ring(8, 8);
		expect_good();
		post_and_ring(64, chunks[i]);
		expect_nothing();
		expect_in_trace("fault: rule 1, lose-doorbell, at qpn");
		post_and_ring(8, 8);
		expect_good();
		expect_good();
		expect_in_trace("the record recovers the work of 1 lost before");
		assert_int_equal(cx_lint_count(rig.hca), 0);
		if (i < 2)
			stop(state);
	}
}

static void a_doorbell_before_rts_is_ignored(void **state)
{
	struct rig_qp *qp = &rig.qp[0];

	(void)state;
	start_mode(NULL, false);
	rig_qp_destroy(&rig, qp);
	rig_qp_create(&rig, qp);
	post_and_ring(64, 8);
	assert_int_equal(cx_lint_count(rig.hca), 1);
	expect_in_trace("ignored, the queue pair is in RESET");
	rig_qp_connect(&rig, &rig.qp[1], qp->number); /* in RTS already: what it was connected to */
	rig_qp_connect(&rig, qp, rig.qp[1].number);
	expect_nothing();
	cx_step(rig.hca, 0);
	expect_nothing();
	assert_int_equal(cx_lint_count(rig.hca), 2);
	expect_in_trace("1 basic blocks were posted before RTS");
	post_and_ring(64, 8); /* the ring is read in order */
	expect_good();
	expect_good();
	assert_int_equal(cx_lint_count(rig.hca), 2);
}

static void stepped_work_from_before_rts_waits_for_more(void **state)
{
	struct rig_qp *qp = &rig.qp[0];

	(void)state;
	start(NULL);
	rig_qp_destroy(&rig, qp);
	rig_qp_create(&rig, qp);
	write_once();
	rig_qp_connect(&rig, &rig.qp[1], qp->number);
	rig_qp_connect(&rig, qp, rig.qp[1].number);
	assert_int_equal(cx_step(rig.hca, 0), 0);
	write_once();
	expect_good();
	expect_good();
}

/*
 * Runs with retries and delays are equal in every byte of the CQEs, since timestamps are virtual
 * time.
 */
static void a_passive_run_is_the_same_each_time(void **state)
{
	static char trace[1 << 16];
	static uint8_t cqes[sizeof(rig.cq[0].buf)];

	for (unsigned again = 0; again < 2; again++) {
		struct bsn_cqe cqe;

		start("every=3 drop; every=5 delay 100; nth=11 rnr; nth=19 fail 0x13 0x88");
		for (unsigned i = 0; i < 20; i++) {
			write_once();
			for (unsigned k = 0; k < 4; k++)
				cx_step(rig.hca, 0);
			assert_true(rig_poll(&rig.cq[0], &cqe));
		}
		assert_int_equal(cqe.as.err.syndrome, BSN_SYNDROME_FLUSHED);
		if (again)
			break;
		strcpy(trace, read_trace());
		memcpy(cqes, rig.cq[0].buf, sizeof(cqes));
		stop(state);
	}
	assert_string_equal(read_trace(), trace);
	assert_memory_equal(rig.cq[0].buf, cqes, sizeof(cqes));
}

static void the_trace_says_what_happens(void **state)
{
	struct rig_wqe wqe;

	(void)state;
	start(NULL);
	rig_begin_write(&rig, &wqe, rig.buf + 64, rig.buf, 8, BSN_CE_ALWAYS);
	rig_post(&rig.qp[0], &wqe);
	ring(0, wqe.bytes, 8, 8);
	cx_step(rig.hca, 0);
	expect_in_trace("store: page 0 offset 0x800 size 8");
	expect_in_trace(" RDMA_WRITE [ctrl");
	expect_in_trace(" REQ qpn ");
	cx_trace(rig.hca, "%s %d %5u|%08lx %c%%", "text", -7, 42u, 0xabcul, 'z');
	expect_in_trace("text -7    42|00000abc z%");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, stop)
		TEST(a_lost_request_is_retried),
		TEST(requests_that_are_always_lost_time_out),
		TEST(a_delay_is_served_once),
		TEST(any_syndrome_can_be_had),
		TEST(receivers_that_are_never_ready_use_up_the_retries),
		TEST(a_queue_can_be_overrun),
		TEST(without_a_port_nobody_answers),
		TEST(a_receive_can_fail),
		TEST(a_page_fault_of_an_own_queue_is_an_error),
		TEST(a_missing_page_is_waited_for),
		TEST(a_missing_page_beneath_a_list_is_waited_for),
		TEST(a_missing_page_of_a_receive_is_waited_for),
		TEST(bad_plans_are_explained),
		TEST(wrong_bits_are_lint),
		TEST(doorbells_are_compared_with_record_and_ring),
		TEST(a_record_may_be_read_before_its_doorbell),
		TEST(a_queue_that_was_reset_repeats_nothing),
		TEST(the_record_recovers_a_lost_doorbell),
		TEST(a_doorbell_before_rts_is_ignored),
		TEST(stepped_work_from_before_rts_waits_for_more),
		TEST(a_passive_run_is_the_same_each_time),
		TEST(the_trace_says_what_happens),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
