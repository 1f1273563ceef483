/* SPDX-License-Identifier: BSD-2-Clause */
/* What each disagreement of two ends looks like: the table in softcx(1). */
#include "fit.h"

#include <arpa/inet.h>

#include "bsn_syndrome.h"

#include "../port_count.h"

/*
 * Of P_Keys, two full members, two limited ones, another partition, no key and no valid one; of
 * RoCE, an address of each version and family.
 */
static const char *const plans[] = {
	[CX_LINK_IB] = "pkeys 0xffff 0x8123 0x123 0x123 0x8456 0 0x8000",
	[CX_LINK_ROCE] = "gids fe80::5/v1 fe80::5/v2 192.0.2.9/v1 192.0.2.9 - fd05::9",
};

enum { KEY_DEFAULT, KEY_FULL, KEY_LIMITED, KEY_LIMITED_TOO, KEY_OTHER, KEY_NONE,
       KEY_INVALID, KEY_UNSET = 99 };

static int set_up(void **state)
{
	struct cx_config config = loopback_config((enum cx_link)given(state), true);

	config.fault_plan = plans[config.link];
	fit_open(config);
	fit_create_qps(IBV_QPT_RC);
	return 0;
}

static int tear_down(void **state)
{
	fit_destroy_qps();
	fit_close();
	return 0;
}

static void expect_done(enum ibv_wr_opcode opcode, uint32_t len)
{
	const struct effect effect = fit_run(opcode, len, 1);

	assert_int_equal(effect.status, IBV_WC_SUCCESS);
	assert_true(effect.executed);
	assert_int_equal(effect.event, FIT_NO_EVENT);
}

/* Both ends are in error, and each end's program has a reason. */
static void expect_refused(enum ibv_wr_opcode opcode, uint32_t len, unsigned count,
			   enum ibv_event_type event)
{
	const struct effect effect = fit_run(opcode, len, count);

	assert_int_equal(effect.status, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(effect.vendor, 0x8a);
	assert_true(effect.responder_fails);
	assert_int_equal(effect.event, event);
}

static void expect_silence(enum ibv_wr_opcode opcode, uint32_t len)
{
	const struct effect effect = fit_run(opcode, len, 1);

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

	fit_connect();
	for (unsigned i = 0; i < 4; i++)
		expect_done(opcodes[i], 8);
	for (unsigned i = 0; i < 3; i++)
		expect_done(opcodes[i], 5000);
	assert_false(fit_trace_says("fit:"));
}

/* -- MTU --------------------------------------------------------------------------------------- */

static void packets_longer_than_the_responders_mtu_are_refused(void **state)
{
	f.told[A].mtu = IBV_MTU_4096;
	for (unsigned i = 0; i < 2; i++) {
		const enum ibv_wr_opcode opcode = i ? IBV_WR_SEND : IBV_WR_RDMA_WRITE;
		fit_connect();
		expect_done(opcode, 1024);
		expect_refused(opcode, 1025, 1, IBV_EVENT_QP_ACCESS_ERR);
		assert_true(fit_trace_says("packets of 4096 bytes, MTU 1024: refused"));
	}
}

static void shorter_packets_pass(void **state)
{
	f.told[B].mtu = IBV_MTU_4096;
	fit_connect();
	expect_done(IBV_WR_RDMA_WRITE, 1024);
	assert_false(fit_trace_says("unknown"));
	expect_done(IBV_WR_RDMA_WRITE, 5000);
	assert_true(fit_trace_says("unknown"));
}

static void a_read_of_another_mtu_is_answered(void **state)
{
	for (unsigned end = 0; end < ENDS; end++) {
		fit_reset_told();
		f.told[end].mtu = IBV_MTU_4096;
		fit_connect();
		expect_done(IBV_WR_RDMA_READ, 1024);
		assert_false(fit_trace_says("unknown"));
		expect_done(IBV_WR_RDMA_READ, 5000);
		assert_true(fit_trace_says("unknown"));
		expect_done(IBV_WR_RDMA_READ, 8); /* the PSNs have not parted */
	}
}

/* -- PSN --------------------------------------------------------------------------------------- */

/* Modulo 2^24. */
static void tell_psn(int after_expected)
{
	fit_reset_told();
	f.told[A].sq_psn = (FIT_PSN + (uint32_t)after_expected) & 0xffffff;
	fit_connect();
}

static void a_psn_ahead_is_not_answered(void **state)
{
	static const int ahead[] = { 1, 3, 0x7fffff };

	for (unsigned i = 0; i < 3; i++) {
		tell_psn(ahead[i]);
		expect_silence(i ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, 64);
		assert_true(fit_trace_says("one NAK, then silence"));
		/* One NAK, and then three attempts, each after a timeout. */
		assert_int_equal(port_count("packet_seq_err"), i + 1);
		assert_int_equal(port_count("out_of_sequence"), 4 * (i + 1));
		assert_int_equal(port_count("local_ack_timeout_err"), 3 * (i + 1));
	}
	assert_int_equal(port_count("duplicate_request"), 0);
}

static void expect_duplicate(enum ibv_wr_opcode opcode, uint32_t len)
{
	const struct effect effect = fit_run(opcode, len, 1);

	assert_int_equal(effect.status, IBV_WC_SUCCESS);
	assert_false(effect.executed);
	assert_int_equal(effect.event, FIT_NO_EVENT);
	assert_true(fit_trace_says("a duplicate: acknowledged, not executed"));
}

/* Three packets are swallowed, and the fourth is the one that is expected. */
static void a_psn_behind_is_acknowledged_and_not_executed(void **state)
{
	tell_psn(-3);
	expect_duplicate(IBV_WR_RDMA_WRITE, 64);
	expect_duplicate(IBV_WR_SEND, 2000);
	expect_done(IBV_WR_RDMA_WRITE, 64);
	tell_psn(-0x800000);
	expect_duplicate(IBV_WR_RDMA_WRITE, 64);
	assert_int_equal(port_count("duplicate_request"), 3);
	assert_int_equal(port_count("out_of_sequence"), 0);
	assert_int_equal(port_count("local_ack_timeout_err"), 0);
}

static void a_read_behind_is_answered(void **state)
{
	tell_psn(-1);
	expect_done(IBV_WR_RDMA_READ, 64);
	assert_true(fit_trace_says("answered again"));
	expect_done(IBV_WR_RDMA_WRITE, 64);
	assert_false(fit_trace_says("fit:"));
}

static void an_atomic_behind_is_dropped(void **state)
{
	tell_psn(-1);
	expect_silence(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
}

static void a_message_that_is_a_duplicate_in_part_is_refused(void **state)
{
	tell_psn(-1);
	expect_refused(IBV_WR_RDMA_WRITE, 2000, 1, IBV_EVENT_QP_REQ_ERR);
}

static void the_next_psn_can_be_asked_for(void **state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	fit_connect();
	expect_done(IBV_WR_RDMA_WRITE, 5000); /* 5 packets */
	expect_done(IBV_WR_RDMA_READ, 0);
	assert_int_equal(ibv_query_qp(f.qp[A], &attr, IBV_QP_SQ_PSN, &init), 0);
	assert_int_equal(attr.sq_psn, (FIT_PSN + 6) & 0xffffff);
	assert_int_equal(ibv_query_qp(f.qp[B], &attr, IBV_QP_RQ_PSN, &init), 0);
	assert_int_equal(attr.rq_psn, (FIT_PSN + 6) & 0xffffff);
}

static void unreliable_messages_are_lost_in_silence(void **state)
{
	struct effect effect;

	fit_destroy_qps();
	fit_create_qps(IBV_QPT_UC);
	f.told[A].mtu = IBV_MTU_4096;
	f.told[A].sq_psn += 7; /* which a responder of UC takes as it is */
	fit_connect();
	expect_done(IBV_WR_RDMA_WRITE, 1024);
	effect = fit_run(IBV_WR_RDMA_WRITE, 1025, 1);
	assert_int_equal(effect.status, IBV_WC_SUCCESS);
	assert_false(effect.executed);
	assert_false(effect.responder_fails);
	assert_int_equal(effect.event, FIT_NO_EVENT);
	assert_true(fit_trace_says("refused"));
}

/* -- whom it is for ---------------------------------------------------------------------------- */

static void messages_to_others_are_not_answered(void **state)
{
	f.told[B].dest_qpn++;
	fit_connect();
	expect_silence(IBV_WR_RDMA_WRITE, 64);
	assert_true(fit_trace_says("not delivered: it is connected to another one"));
}

static void keys_make_members_of_a_partition(void **state)
{
	static const struct {
		uint16_t a, b;
		bool match;
	} cases[] = {
		{ KEY_FULL, KEY_FULL, true },         { KEY_FULL, KEY_LIMITED, true },
		{ KEY_LIMITED, KEY_FULL, true },      { KEY_LIMITED, KEY_LIMITED_TOO, false },
		{ KEY_FULL, KEY_OTHER, false },       { KEY_DEFAULT, KEY_FULL, false },
		{ KEY_NONE, KEY_DEFAULT, false },     { KEY_DEFAULT, KEY_NONE, false },
		{ KEY_NONE, KEY_NONE, false },        { KEY_UNSET, KEY_DEFAULT, false },
		{ KEY_INVALID, KEY_INVALID, false },
	};

	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		f.told[A].pkey_index = cases[i].a;
		f.told[B].pkey_index = cases[i].b;
		fit_connect();
		if (cases[i].match)
			expect_done(IBV_WR_SEND, 64);
		else
			expect_silence(IBV_WR_SEND, 64);
		assert_int_equal(fit_trace_says("do not match: not delivered"), !cases[i].match);
	}
}

static void the_tables_are_those_of_the_plan(void **state)
{
	struct ibv_gid_entry entry;
	__be16 key;

	if (!f.is_roce) {
		assert_int_equal(ibv_query_pkey(f.ctx, 1, KEY_LIMITED, &key), 0);
		assert_int_equal(ntohs(key), 0x123);
		return;
	}
	assert_int_equal(ibv_query_gid_ex(f.ctx, 1, 2, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V1);
	assert_memory_equal(entry.gid.raw + 10, "\xff\xff\xc0\x00\x02\x09", 6);
	assert_int_equal(ibv_query_gid_ex(f.ctx, 1, 4, &entry, 0), ENODATA);
	assert_int_equal(ibv_query_gid_ex(f.ctx, 1, 5, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
}

static void versions_of_roce_do_not_meet(void **state)
{
	f.told[A].sgid_index = 2;
	fit_connect();
	expect_silence(IBV_WR_RDMA_WRITE, 64);
	assert_true(fit_trace_says("one is of RoCE v1, the other of v2: not delivered"));
	f.told[B].sgid_index = 2;
	fit_connect();
	expect_done(IBV_WR_RDMA_WRITE, 64);
}

static void families_of_addresses_do_not_meet(void **state)
{
	f.told[A].sgid_index = 5;
	assert_int_equal(fit_init(A), 0);
	assert_int_equal(fit_rtr(A), EINVAL);
	assert_true(fit_trace_says("of IPv4, the other of IPv6"));
	f.told[A].sgid_index = 4; /* empty */
	assert_int_equal(fit_rtr(A), ENODATA);
	f.told[A].sgid_index = 3;
	assert_int_equal(fit_rtr(A), 0);
}

/* -- READs ------------------------------------------------------------------------------------- */

/* What is outstanding counts, not what might be. */
static void reads_beyond_the_responders_room_are_refused(void **state)
{
	f.told[B].max_dest_rd_atomic = 1;
	fit_connect();
	for (unsigned i = 0; i < 8; i++)
		expect_done(IBV_WR_RDMA_READ, 64);
	expect_refused(IBV_WR_RDMA_READ, 64, 2, IBV_EVENT_QP_REQ_ERR);
	assert_true(fit_trace_says("2 READs and atomics are outstanding, room for 1"));
	fit_connect();
	expect_refused(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 2, IBV_EVENT_QP_REQ_ERR);
}

static void the_requester_sends_no_more_reads_than_it_may(void **state)
{
	struct effect effect;

	f.told[A].max_rd_atomic = 2;
	f.told[B].max_dest_rd_atomic = 2;
	fit_connect();
	effect = fit_run(IBV_WR_RDMA_READ, 64, 8);
	assert_int_equal(effect.status, IBV_WC_SUCCESS);
	f.told[A].max_rd_atomic = 4;
	f.told[B].max_dest_rd_atomic = 3; /* the device's room is a power of two */
	fit_connect();
	effect = fit_run(IBV_WR_RDMA_READ, 64, 8);
	assert_int_equal(effect.status, IBV_WC_SUCCESS);
}

#define IB(f)   GIVEN(f, CX_LINK_IB, set_up, tear_down)
#define ROCE(f) NAMED(#f " (RoCE)", f, CX_LINK_ROCE, set_up, tear_down)

UNIT_MAIN(NULL, IB(ends_that_agree_talk), ROCE(ends_that_agree_talk),
	  IB(packets_longer_than_the_responders_mtu_are_refused), IB(shorter_packets_pass),
	  IB(a_read_of_another_mtu_is_answered), IB(a_psn_ahead_is_not_answered),
	  IB(a_psn_behind_is_acknowledged_and_not_executed), IB(a_read_behind_is_answered),
	  IB(an_atomic_behind_is_dropped), IB(a_message_that_is_a_duplicate_in_part_is_refused),
	  IB(the_next_psn_can_be_asked_for), IB(unreliable_messages_are_lost_in_silence),
	  IB(messages_to_others_are_not_answered), IB(keys_make_members_of_a_partition),
	  IB(the_tables_are_those_of_the_plan), ROCE(the_tables_are_those_of_the_plan),
	  ROCE(versions_of_roce_do_not_meet), ROCE(families_of_addresses_do_not_meet),
	  IB(reads_beyond_the_responders_room_are_refused),
	  IB(the_requester_sends_no_more_reads_than_it_may))
