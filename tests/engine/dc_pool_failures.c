/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is not concerned when a peer fails. */
#include "dc_rig.h"

/* What is kept of a failure: the first one, and the request as it was posted. */
static void expect_error(struct rig *r, int p, uint32_t generation, uint64_t id, uint8_t status)
{
	const struct bsn_dc_error error = error_of(r, p);
	struct bsn_ctrl ctrl;
	struct bsn_av_dc av;

	assert_true(error.has_failed);
	assert_int_equal(error.first.id, id);
	assert_int_equal(error.generation, generation);
	assert_int_equal(error.first.status, status);
	assert_true(strlen(error.text) > 10);
	bsn_ctrl_decode(&ctrl, error.wqe);
	assert_int_equal(ctrl.opcode, BSN_OPCODE_RDMA_WRITE);
	assert_int_equal(error.wqe_bytes, bsn_bb_of_ds(ctrl.ds) * BSN_BB_SIZE);
	bsn_av_dc_decode(&av, error.wqe + BSN_DS_SIZE);
	assert_int_equal(av.dc_key, KEY);
	expect_no_error(r, p + 1);
}

static void one_peer_fails_alone(struct bench *b)
{
	struct rig *r = make(b, .initiators = 2, .spares = 1);

	write_and_finish(r, 0, 1);
	write_and_finish(r, 1, 1);
	remove_target(r, 1);
	ok(write_to(r, 1, 10));
	ok(write_flags(r, 1, 11, BSN_F_RING));
	ok(write_flags(r, 1, 12, 0));
	ok(write_to(r, 0, 20));
	work(r);
	expect(r, 0, 0, 20, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect(r, 1, 1, 10, BSN_OPCODE_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(r->done[1].vendor_syndrome, 0x81);
	expect_error(r, 1, 0, 10, IBV_WC_RETRY_EXC_ERR);
	fails(ENOTCONN, "bsn_dc_peer_reset", write_to(r, 1, 13));
	/* What it had outstanding comes back flushed, and both initiators are there for others. */
	for (int p = 2; p < 6; p++) {
		ok(write_to(r, p, 30));
		ok(write_to(r, 0, 31));
		work(r);
	}
	assert_int_equal(counters_of(r).waits, 0);
	assert_int_equal(counters_of(r).broken, 1);
	ok(bsn_dc_pool_repair(r->pool));
	assert_int_equal(counters_of(r).repairs, 1);
	add_target(r, 1);
	ok(bsn_dc_peer_reset(r->ep[1]));
	for (int p = 1; p < PEERS; p += TARGETS) {
		remove_peer(r, p);
		add_peer(r, p);
	}
	write_and_finish(r, 1, 40);
}

/* Every initiator fails, more of them than there are spares, and comes back. */
static void all_fail_and_come_back(struct bench *b, enum bsn_dc_policy policy)
{
	struct rig *r = make(b, .initiators = 3, .spares = 1, .policy = policy);

	for (int round = 0; round < 20; round++) {
		for (int p = 0; p < 4; p++) {
			write_and_fail(r, p, 1);
			assert_int_equal(r->done[0].src_qpn, round);
			expect_error(r, p, (uint32_t)round, 1, IBV_WC_REM_ACCESS_ERR);
		}
		assert_int_equal(write_to(r, 5, 2), -EAGAIN); /* there is none left */
		assert_int_equal(counters_of(r).broken, 4);
		ok(bsn_dc_pool_repair(r->pool));
		assert_int_equal(poll(r), 1);
		expect_ready(r, 0, 5);
		for (int p = 0; p < 4; p++)
			ok(bsn_dc_peer_reset(r->ep[p]));
		each_writes(r, 0, 8, 3);
	}
}

static void all_initiators_fail_and_come_back(struct bench *b)
{
	for (unsigned policy = BSN_DC_LRU; policy <= BSN_DC_HASHED; policy++)
		all_fail_and_come_back(b, policy);
}

static void a_thousand_peers_fail_and_return(struct bench *b)
{
	many_fail_and_return(make(b, .initiators = 4, .spares = 2));
}

static const struct bench_case cases[] = {
	{ CASE(one_peer_fails_alone), ON_DIRECT },
	{ CASE(all_initiators_fail_and_come_back), ON_DIRECT },
	{ CASE(a_thousand_peers_fail_and_return), ON_DIRECT },
};

BENCH_MAIN("dc_pool_failures")
