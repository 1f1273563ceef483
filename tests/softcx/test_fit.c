/* SPDX-License-Identifier: BSD-2-Clause */
/* What each disagreement of two ends looks like: the table in softcx(1). */
#include "fit.h"

#include "bsn_syndrome.h"

static int set_up(void **state, enum cx_link link)
{
	struct fit *f = fit_open(loopback_config(link, true));

	fit_create_qps(f, IBV_QPT_RC);
	*state = f;
	return 0;
}

static int set_up_ib(void **state)
{
	return set_up(state, CX_LINK_IB);
}

static int set_up_roce(void **state)
{
	return set_up(state, CX_LINK_ROCE);
}

static int tear_down(void **state)
{
	fit_destroy_qps(*state);
	fit_close(*state);
	return 0;
}

static void expect_done(struct fit *f, enum ibv_wr_opcode opcode, uint32_t len)
{
	const struct effect effect = fit_run(f, opcode, len, 1);

	assert_int_equal(effect.status, IBV_WC_SUCCESS);
	assert_true(effect.executed);
	assert_int_equal(effect.event, FIT_NO_EVENT);
}

/* Both ends are in error, and each end's program has a reason. */
static void expect_refused(struct fit *f, enum ibv_wr_opcode opcode, uint32_t len, unsigned count,
			   enum ibv_event_type event)
{
	const struct effect effect = fit_run(f, opcode, len, count);

	assert_int_equal(effect.status, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(effect.vendor, 0x8a);
	assert_true(effect.responder_fails);
	assert_int_equal(effect.event, event);
}

static void expect_silence(struct fit *f, enum ibv_wr_opcode opcode, uint32_t len)
{
	const struct effect effect = fit_run(f, opcode, len, 1);

	assert_int_equal(effect.status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(effect.vendor, 0x81);
	assert_false(effect.executed);
	assert_false(effect.responder_fails);
	assert_int_equal(effect.event, FIT_NO_EVENT);
}

static void ends_that_agree_talk(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_SEND,
						      IBV_WR_RDMA_READ,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct fit *f = *state;

	fit_connect(f);
	for (unsigned i = 0; i < 4; i++)
		expect_done(f, opcodes[i], 8);
	for (unsigned i = 0; i < 3; i++)
		expect_done(f, opcodes[i], 5000);
	assert_false(fit_trace_says(f, "fit:"));
}

/* -- MTU --------------------------------------------------------------------------------------- */

static void packets_longer_than_the_responders_mtu_are_refused(void **state)
{
	struct fit *f = *state;

	f->told[A].mtu = IBV_MTU_4096;
	for (unsigned i = 0; i < 2; i++) {
		const enum ibv_wr_opcode opcode = i ? IBV_WR_SEND : IBV_WR_RDMA_WRITE;

		fit_connect(f);
		expect_done(f, opcode, 1024);
		expect_refused(f, opcode, 1025, 1, IBV_EVENT_QP_ACCESS_ERR);
		assert_true(fit_trace_says(f, "packets of 4096 bytes, MTU 1024: refused"));
	}
}

static void shorter_packets_pass(void **state)
{
	struct fit *f = *state;

	f->told[B].mtu = IBV_MTU_4096;
	fit_connect(f);
	expect_done(f, IBV_WR_RDMA_WRITE, 1024);
	assert_false(fit_trace_says(f, "unknown"));
	expect_done(f, IBV_WR_RDMA_WRITE, 5000);
	assert_true(fit_trace_says(f, "unknown"));
}

static void a_read_of_another_mtu_is_answered(void **state)
{
	struct fit *f = *state;

	for (unsigned end = 0; end < ENDS; end++) {
		fit_reset_told(f);
		f->told[end].mtu = IBV_MTU_4096;
		fit_connect(f);
		expect_done(f, IBV_WR_RDMA_READ, 1024);
		assert_false(fit_trace_says(f, "unknown"));
		expect_done(f, IBV_WR_RDMA_READ, 5000);
		assert_true(fit_trace_says(f, "unknown"));
		expect_done(f, IBV_WR_RDMA_READ, 8); /* the PSNs have not parted */
	}
}

/* -- PSN --------------------------------------------------------------------------------------- */

/* Modulo 2^24. */
static void tell_psn(struct fit *f, int after_expected)
{
	fit_reset_told(f);
	f->told[A].sq_psn = (FIT_PSN + (uint32_t)after_expected) & 0xffffff;
	fit_connect(f);
}

static void a_psn_ahead_is_not_answered(void **state)
{
	static const int ahead[] = { 1, 3, 0x7fffff };
	struct fit *f = *state;

	for (unsigned i = 0; i < 3; i++) {
		tell_psn(f, ahead[i]);
		expect_silence(f, i ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, 64);
		assert_true(fit_trace_says(f, "one NAK, then silence"));
	}
}

static void expect_duplicate(struct fit *f, enum ibv_wr_opcode opcode, uint32_t len)
{
	const struct effect effect = fit_run(f, opcode, len, 1);

	assert_int_equal(effect.status, IBV_WC_SUCCESS);
	assert_false(effect.executed);
	assert_int_equal(effect.event, FIT_NO_EVENT);
	assert_true(fit_trace_says(f, "a duplicate: acknowledged, not executed"));
}

/* Three packets are swallowed, and the fourth is the one that is expected. */
static void a_psn_behind_is_acknowledged_and_not_executed(void **state)
{
	struct fit *f = *state;

	tell_psn(f, -3);
	expect_duplicate(f, IBV_WR_RDMA_WRITE, 64);
	expect_duplicate(f, IBV_WR_SEND, 2000);
	expect_done(f, IBV_WR_RDMA_WRITE, 64);
	tell_psn(f, -0x800000);
	expect_duplicate(f, IBV_WR_RDMA_WRITE, 64);
}

static void a_read_behind_is_answered(void **state)
{
	struct fit *f = *state;

	tell_psn(f, -1);
	expect_done(f, IBV_WR_RDMA_READ, 64);
	assert_true(fit_trace_says(f, "answered again"));
	expect_done(f, IBV_WR_RDMA_WRITE, 64);
	assert_false(fit_trace_says(f, "fit:"));
}

static void an_atomic_behind_is_dropped(void **state)
{
	struct fit *f = *state;

	tell_psn(f, -1);
	expect_silence(f, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
}

static void a_message_that_is_a_duplicate_in_part_is_refused(void **state)
{
	struct fit *f = *state;

	tell_psn(f, -1);
	expect_refused(f, IBV_WR_RDMA_WRITE, 2000, 1, IBV_EVENT_QP_REQ_ERR);
}

static void the_next_psn_can_be_asked_for(void **state)
{
	struct ibv_qp_init_attr init;
	struct fit *f = *state;
	struct ibv_qp_attr attr;

	fit_connect(f);
	expect_done(f, IBV_WR_RDMA_WRITE, 5000); /* 5 packets */
	expect_done(f, IBV_WR_RDMA_READ, 0);
	assert_int_equal(ibv_query_qp(f->qp[A], &attr, IBV_QP_SQ_PSN, &init), 0);
	assert_int_equal(attr.sq_psn, (FIT_PSN + 6) & 0xffffff);
	assert_int_equal(ibv_query_qp(f->qp[B], &attr, IBV_QP_RQ_PSN, &init), 0);
	assert_int_equal(attr.rq_psn, (FIT_PSN + 6) & 0xffffff);
}

/* -- UC ---------------------------------------------------------------------------------------- */

static void unreliable_messages_are_lost_in_silence(void **state)
{
	struct fit *f = *state;
	struct effect effect;

	fit_destroy_qps(f);
	fit_create_qps(f, IBV_QPT_UC);
	f->told[A].mtu = IBV_MTU_4096;
	f->told[A].sq_psn += 7; /* which a responder of UC takes as it is */
	fit_connect(f);
	expect_done(f, IBV_WR_RDMA_WRITE, 1024);
	effect = fit_run(f, IBV_WR_RDMA_WRITE, 1025, 1);
	assert_int_equal(effect.status, IBV_WC_SUCCESS);
	assert_false(effect.executed);
	assert_false(effect.responder_fails);
	assert_int_equal(effect.event, FIT_NO_EVENT);
	assert_true(fit_trace_says(f, "refused"));
}

/* -- whom it is for ---------------------------------------------------------------------------- */

static void messages_to_others_are_not_answered(void **state)
{
	struct fit *f = *state;

	f->told[B].dest_qpn++;
	fit_connect(f);
	expect_silence(f, IBV_WR_RDMA_WRITE, 64);
	assert_true(fit_trace_says(f, "not delivered: it is connected to another one"));
}

int main(void)
{
#define IB(test) cmocka_unit_test_setup_teardown(test, set_up_ib, tear_down)
#define ROCE(test) { #test " (RoCE)", test, set_up_roce, tear_down, NULL }
	const struct CMUnitTest tests[] = {
		IB(ends_that_agree_talk),
		ROCE(ends_that_agree_talk),
		IB(packets_longer_than_the_responders_mtu_are_refused),
		IB(shorter_packets_pass),
		IB(a_read_of_another_mtu_is_answered),
		IB(a_psn_ahead_is_not_answered),
		IB(a_psn_behind_is_acknowledged_and_not_executed),
		IB(a_read_behind_is_answered),
		IB(an_atomic_behind_is_dropped),
		IB(a_message_that_is_a_duplicate_in_part_is_refused),
		IB(the_next_psn_can_be_asked_for),
		IB(unreliable_messages_are_lost_in_silence),
		IB(messages_to_others_are_not_answered),
	};
#undef IB
#undef ROCE

	return cmocka_run_group_tests(tests, NULL, NULL);
}
