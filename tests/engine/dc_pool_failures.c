/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is not concerned when a peer fails. */
#include "dc_pool_rig.h"

/* -- who fails --------------------------------------------------------------------------------- */

/* What is kept of a failure: the first one, and the request as it was posted. */
static void expect_error(struct rig *r, int p, uint32_t generation, uint64_t id, uint8_t status)
{
	struct bsn_dc_error error;
	struct bsn_ctrl ctrl;
	struct bsn_av_dc av;

	ok(bsn_dc_peer_error(r->ep[p], &error));
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
	ok(bsn_dc_peer_error(r->ep[p + 1], &error));
	assert_false(error.has_failed);
	assert_int_equal(error.wqe_bytes, 0);
}

static void one_peer_fails_alone(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2, .spares = 1 };
	struct rig r;

	make(b, &r, &attr);
	write_and_finish(&r, 0, 1);
	write_and_finish(&r, 1, 1);
	ok(bsn_dct_destroy(r.dct[1]));
	r.dct[1] = NULL;
	ok(write_to(&r, 1, 10));
	ok(write_flags(&r, 1, 11, BSN_F_RING));
	ok(write_flags(&r, 1, 12, 0));
	ok(write_to(&r, 0, 20));
	run_model();
	poll(&r);
	expect(&r, 0, 0, 20, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect(&r, 1, 1, 10, BSN_OPCODE_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(r.done[1].vendor_syndrome, 0x81);
	expect_error(&r, 1, 0, 10, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(write_to(&r, 1, 13), -ENOTCONN);
	assert_non_null(strstr(bsn_error_text(), "bsn_dc_peer_reset"));
	/* What it had outstanding comes back flushed, and both initiators are there for others. */
	for (int p = 2; p < 6; p++) {
		ok(write_to(&r, p, 30));
		ok(write_to(&r, 0, 31));
		work(&r);
	}
	assert_int_equal(counters_of(&r).waits, 0);
	assert_int_equal(counters_of(&r).broken, 1);
	assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
	assert_int_equal(counters_of(&r).repairs, 1);
	add_target(&r, 1);
	ok(bsn_dc_peer_reset(r.ep[1]));
	ok(bsn_dc_peer_destroy(r.ep[1]));
	ok(bsn_dc_peer_destroy(r.ep[1 + TARGETS]));
	add_peer(&r, 1);
	add_peer(&r, 1 + TARGETS);
	write_and_finish(&r, 1, 40);
	unmake(&r);
}

/* Every initiator fails, more of them than there are spares, and comes back. */
static void all_fail_and_come_back(struct bench *b, enum bsn_dc_policy policy)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 3, .spares = 1, .policy = policy };
	const struct bsn_remote nowhere = { 0, 0 };
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	struct rig r;

	make(b, &r, &attr);
	for (int round = 0; round < 20; round++) {
		for (int p = 0; p < 4; p++) {
			ok(bsn_write(r.ep[p], &local, &nowhere, 1, NOW));
			run_model();
			assert_int_equal(poll(&r), 1);
			expect(&r, 0, p, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
			assert_int_equal(r.done[0].src_qpn, round);
			expect_error(&r, p, (uint32_t)round, 1, IBV_WC_REM_ACCESS_ERR);
		}
		assert_int_equal(write_to(&r, 5, 2), -EAGAIN); /* there is none left */
		assert_int_equal(counters_of(&r).broken, 4);
		assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
		assert_int_equal(poll(&r), 1);
		expect_ready(&r, 0, 5);
		for (int p = 0; p < 4; p++)
			ok(bsn_dc_peer_reset(r.ep[p]));
		for (int p = 0; p < 8; p++)
			write_and_finish(&r, p, 3);
	}
	unmake(&r);
}

static void all_initiators_fail_and_come_back(struct bench *b)
{
	all_fail_and_come_back(b, BSN_DC_LRU);
	all_fail_and_come_back(b, BSN_DC_HASHED);
}

/*
 * A thousand peers, one after the other: each fails, its initiator is repaired, and it is there
 * again.
 */
static void a_thousand_peers_fail_and_return(struct bench *b)
{
	enum { MANY = 1000 };
	static struct bsn_ep *many[MANY];
	const struct bsn_dc_pool_attr attr = { .initiators = 4, .spares = 2 };
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote nowhere = { 0, 0 }, to = bench_remote(b, 1, INTO);
	struct bsn_address address;
	struct rig r;

	make(b, &r, &attr);
	for (int p = 0; p < MANY; p++) {
		ok(bsn_dct_address(r.dct[p % TARGETS], &address));
		ok(bsn_dc_peer_create(r.pool, &address, NULL, &many[p], &many[p]));
		ok(bsn_write(many[p], &local, &nowhere, 1, NOW));
		assert_int_equal(work(&r), 1);
		assert_int_equal(r.done[0].status, IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(bsn_write(many[p], &local, &to, 1, NOW), -ENOTCONN);
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
	{ CASE(one_peer_fails_alone), ON_DIRECT },
	{ CASE(all_initiators_fail_and_come_back), ON_DIRECT },
	{ CASE(a_thousand_peers_fail_and_return), ON_DIRECT },
};

int main(void)
{
	random_start();
	return bench_run("dc_pool_failures", cases, sizeof(cases) / sizeof(cases[0]));
}
