/* SPDX-License-Identifier: BSD-2-Clause */
/* The model alone: lint, doorbells, and the trace. */
#include "plans.h"

static struct rig_wqe wqe;

/* A WRITE of 8 bytes onto themselves, of which the device is not told. */
static void begin_and_post(void)
{
	rig_begin_write(&rig, &wqe, rig.buf, rig.buf, 8, BSN_CE_ALWAYS);
	rig_post(&rig.qp[0], &wqe);
}

/* -- lint -------------------------------------------------------------------------------------- */

/* Findings are not errors: none of these bits changes what is executed. */
static void wrong_bits_are_lint(void **state)
{
	uint8_t *sq = rig.qp[0].ring + RIG_RQ * RIG_RQ_STRIDE;

	start(NULL);
	begin_and_post();
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

/* Stores the WQE's first block as a program would: `chunk` bytes at a time. */
static void ring(uint32_t buffer, size_t len, size_t chunk)
{
	for (size_t at = 0; at < len; at += chunk)
		cx_doorbell(rig.hca, rig.attr.uar_page,
			    BSN_UAR_BF_OFFSET + buffer * 256 + (uint32_t)at, wqe.bytes + at,
			    (uint32_t)chunk);
}

static void doorbells_are_compared_with_record_and_ring(void **state)
{
	start(NULL);
	rig_begin_write(&rig, &wqe, rig.buf, rig.buf, 8, BSN_CE_ALWAYS);
	for (unsigned i = 0; i < 4; i++) {
		static const size_t chunks[] = { 8, 16, 32, 64 };
		rig_post(&rig.qp[0], &wqe);
		ring(i & 1, 64, chunks[i]);
		cx_step(rig.hca, 0);
		expect_good();
	}
	rig_post(&rig.qp[0], &wqe);
	ring(0, 8, 8); /* a doorbell without the copy */
	assert_int_equal(cx_lint_count(rig.hca), 0);

	rig_post(&rig.qp[0], &wqe);
	ring(1, 64, 64);
	ring(1, 64, 64); /* write combining merges the two */
	assert_int_equal(cx_lint_count(rig.hca), 0);

	ring(0, 8, 8); /* nothing new was published */
	assert_int_equal(cx_lint_count(rig.hca), 1);
	expect_in_trace("the record has not moved");

	rig_post(&rig.qp[0], &wqe);
	wqe.bytes[40] ^= 1;
	ring(0, 64, 64); /* not what the ring holds */
	assert_int_equal(cx_lint_count(rig.hca), 2);
	expect_in_trace("are not the ring's");

	cx_doorbell(rig.hca, rig.attr.uar_page, 0x40, wqe.bytes, 8);
	expect_in_trace("is no register");
	wqe.bytes[5] ^= 0xff;
	ring(1, 8, 8);
	expect_in_trace("there is no qpn");
	assert_int_equal(cx_lint_count(rig.hca), 4);
}

/* A timer or a peer may make the model look between the poster's two stores. */
static void a_record_may_be_read_before_its_doorbell(void **state)
{
	start(NULL);
	begin_and_post();
	cx_step(rig.hca, 0);
	expect_good();
	ring(0, 8, 8);
	assert_int_equal(cx_lint_count(rig.hca), 0);
	ring(0, 8, 8);
	assert_int_equal(cx_lint_count(rig.hca), 1);
}

/* After a reset, a doorbell at the index of the last doorbell before the reset is a new one. */
static void a_queue_that_was_reset_repeats_nothing(void **state)
{
	start(NULL);
	begin_and_post();
	ring(0, 64, 64);
	ring(0, 64, 64);
	assert_int_equal(cx_lint_count(rig.hca), 0);
	rig_qp_move(&rig, &rig.qp[0], IBV_QPS_RESET);
	rig.qp[0].db[1] = 0;
	ring(0, 64, 64);
	assert_int_equal(cx_lint_count(rig.hca), 1);
	expect_in_trace("is in RESET");
}

/* -- doorbells --------------------------------------------------------------------------------- */

static void post_and_ring(size_t len, size_t chunk)
{
	begin_and_post();
	ring(rig.qp[0].pi & 1, len, chunk);
}

static void the_record_recovers_a_lost_doorbell(void **state)
{
	static const size_t chunks[] = { 8, 16, 64 };

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
	start(NULL);
	rig_begin_write(&rig, &wqe, rig.buf + 64, rig.buf, 8, BSN_CE_ALWAYS);
	rig_post(&rig.qp[0], &wqe);
	ring(0, 8, 8);
	cx_step(rig.hca, 0);
	expect_in_trace("store: page 0 offset 0x800 size 8");
	expect_in_trace(" RDMA_WRITE [ctrl");
	expect_in_trace(" REQ qpn ");
	cx_trace(rig.hca, "%s %d %5u|%08lx %c%%", "text", -7, 42u, 0xabcul, 'z');
	expect_in_trace("text -7    42|00000abc z%");
}

#define TEST(name) cmocka_unit_test_teardown(name, stop)

UNIT_MAIN(NULL, TEST(wrong_bits_are_lint), TEST(doorbells_are_compared_with_record_and_ring),
	  TEST(a_record_may_be_read_before_its_doorbell),
	  TEST(a_queue_that_was_reset_repeats_nothing), TEST(the_record_recovers_a_lost_doorbell),
	  TEST(a_doorbell_before_rts_is_ignored), TEST(stepped_work_from_before_rts_waits_for_more),
	  TEST(a_passive_run_is_the_same_each_time), TEST(the_trace_says_what_happens))
