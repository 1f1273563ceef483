/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DC with a full handshake: who asks for it gets it, whichever end that is, and all else is as
 * ever.
 */
#include "dc_rig.h"
#include "../port_count.h"

/* Neither end is as BSN_TEST_FULL_HANDSHAKE wants it. */
#define make_with(b, full_targets, ...)                                                            \
	make_targets(b, &(struct bsn_dc_pool_attr){ __VA_ARGS__ }, full_targets)

/* What the device knows of an initiator. */
static const struct cx_qp *model_of(const struct bsn_dc_pool *pool, unsigned initiator)
{
	return cx_qp_find(softcx_hca(), bsn_qp_info(pool->initiators[initiator].qp)->number);
}

/* Connections since the start, and of these, those by a full handshake. */
static void expect_connected(const struct rig *r, uint64_t count, uint64_t full)
{
	assert_int_equal(model_count(CX_DC_connect) - r->connects, count);
	assert_int_equal(model_count(CX_DC_full_handshake) - r->full, full);
}

/* -- targets ----------------------------------------------------------------------------------- */

static void connect_in_full(struct rig *r)
{
	for (int p = 0; p < 6; p++)
		write_and_finish(r, p, (uint64_t)p);
	write_and_finish(r, 5, 6); /* it is connected */
	expect_connected(r, 6, 6);
	assert_memory_equal(bench_at(r->b, 1, INTO), bench_at(r->b, 0, 0), LENGTH);
}

static void who_connects_to_a_target_does_so_in_full(struct bench *b)
{
	connect_in_full(make_with(b, true, .initiators = 2));
}

/* They name the set of counters that the kernel gives to queues of verbs. */
static void the_port_counts_them_as_others(struct bench *b)
{
	const unsigned connects = port_count("rx_dct_connect");
	const unsigned writes = port_count("rx_write_requests");
	struct rig *r = make_with(b, true, .initiators = 2, .full_handshake = true);

	for (int p = 0; p < 6; p++)
		write_and_finish(r, p, (uint64_t)p);
	assert_int_equal(port_count("rx_dct_connect") - connects, 6);
	assert_int_equal(port_count("rx_write_requests") - writes, 6);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(model_of(r->pool, i)->run.counter_set, CX_PORT_COUNTERS);
}

static void without_it_nobody_does(struct bench *b)
{
	struct rig *r = make_targets(b, NULL, false);

	write_and_finish(r, 0, 1);
	expect_connected(r, 1, 0);
}

/* READs and atomics of both kinds, and messages, whose receives are the SRQ's. */
static void a_target_has_all_rights(struct bench *b)
{
	uint64_t *const word = (uint64_t *)(void *)bench_at(b, 1, INTO);
	struct rig *r = make_targets(b, NULL, true);

	*word = 40;
	ok(bsn_fetch_add(r->ep[0], SGE(b, 0, INTO, 8), REMOTE(b, 1, INTO), 2, 1, NOW));
	ok(bsn_read(r->ep[0], SGE(b, 0, INTO, 8), REMOTE(b, 1, INTO), 2, NOW));
	assert_int_equal(work(r), 2);
	expect(r, 0, 0, 1, BSN_OPCODE_ATOMIC_FA, IBV_WC_SUCCESS);
	expect(r, 1, 0, 2, BSN_OPCODE_RDMA_READ, IBV_WC_SUCCESS);
	assert_memory_equal(bench_at(b, 0, INTO), word, 8);
	assert_int_equal(*word, 42);
	ok(bsn_recv(r->srq, SGE(b, 1, INTO + 1024, LENGTH), 7));
	ok(bsn_send(r->ep[0], SGE(b, 0, 0, LENGTH), 3, NOW));
	assert_int_equal(work(r), 1);
	struct bsn_completion c = expect_done(b, r->into, 7, BSN_RECV);
	assert_int_equal(c.qpn, bsn_dct_number(r->dct[0]));
	assert_int_equal(c.byte_len, LENGTH);
	assert_memory_equal(bench_at(b, 1, INTO + 1024), bench_at(b, 0, 0), LENGTH);
}

/* What was on its way fails; its number may be another target's then. */
static void a_target_goes_with_requests_on_their_way(struct bench *b)
{
	struct rig *r = make_targets(b, NULL, true);

	write_and_finish(r, 0, 1);
	ok(write_to(r, 0, 2));
	remove_target(r, 0);
	expect_one(r, 0, 2, BSN_OPCODE_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR);
	write_and_finish(r, 1, 3);
}

/* Its last byte is that of the key in an address. */
static void a_wrong_key_gets_no_answer(struct bench *b)
{
	struct rig *r = make_targets(b, NULL, true);
	struct bsn_address address = target_address(r, 0);

	assert_int_equal(address.bytes[15], KEY);
	address.bytes[15]++;
	struct bsn_ep *ep = new_peer(r, &address, &r->user[0]);
	ok(bsn_write(ep, SGE(b, 0, 0, LENGTH), REMOTE(b, 1, INTO), 1, NOW));
	expect_one(r, 0, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR);
	expect_connected(r, 0, 0);
	write_and_finish(r, 0, 2);
	expect_connected(r, 1, 1);
	ok(bsn_dc_peer_destroy(ep));
}

/* The port has no GID there, which only the device looks up. */
static void what_the_firmware_refuses_is_said(struct bench *b)
{
	struct rig *r = make_targets(b, NULL, true);
	const struct bsn_dct_attr attr = {
		.cq = r->into, .srq = r->srq, .full_handshake = true, .connect = { .gid_index = 1 }
	};
	struct bsn_dct *dct = NULL;

	fails(EREMOTEIO, "bad parameter", bsn_dct_create(b->device, &attr, &dct));
	assert_non_null(strstr(bsn_error_text(), "full handshake"));
	assert_null(dct);
}

/* -- initiators -------------------------------------------------------------------------------- */

static void initiators_connect_in_full(struct bench *b)
{
	connect_in_full(make_with(b, false, .initiators = 2, .full_handshake = true));
}

/* Its ring goes round three times and more, and is empty each time. */
static void a_ring_goes_round(struct bench *b)
{
	struct rig *r =
		make_with(b, false, .initiators = 1, .send_depth = 8, .full_handshake = true);
	uint32_t blocks = dv_sq(r->pool->initiators[0].sq)->bb_mask + 1;

	for (uint64_t id = 0; id < 3 * blocks + 5; id++) {
		memset(bench_at(b, 0, 0), (int)id + 1, LENGTH);
		write_and_finish(r, 0, id);
		assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), LENGTH);
	}
	expect_connected(r, 1, 1);
}

/* After a repair it has the first block again, and still asks for full handshakes. */
static void a_repaired_one_does_so_again(struct bench *b)
{
	struct rig *r = make_with(b, false, .initiators = 1, .spares = 1, .full_handshake = true);

	for (uint64_t round = 0; round < 4; round++) {
		write_and_finish(r, 0, 1);
		write_and_fail(r, 0, 2);
		assert_int_equal(write_to(r, 0, 3), -ENOTCONN);
		bring_back(r, 0, 1);
		assert_int_equal(r->done[0].src_qpn, round / 2); /* two of them in turn */
	}
	expect_connected(r, 4, 4);
}

static unsigned count_umems(void)
{
	unsigned count = 0;
	uint32_t index = 0;

	while (cx_next_of_all(softcx_hca(), CX_UMEM, &index))
		count++;
	return count;
}

/* libmlx5 hands out registers in turn that it has got back. */
static void it_gives_back_what_it_took(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 3, .full_handshake = true };
	const unsigned umems = count_umems();
	const uint8_t *reg = NULL, *first = NULL;
	struct bsn_dc_pool *pool;

	for (int round = 0; round < 2 || reg != first; round++) {
		assert_true(round < 8);
		ok(bsn_dc_pool_create(b->device, &attr, &pool));
		reg = pool->initiators[0].qp->lane->reg;
		first = round ? first : reg;
		assert_int_equal(count_umems(), umems + pool->count);
		ok(bsn_dc_pool_destroy(pool));
		assert_int_equal(count_umems(), umems);
	}
}

/* Each has a register of its own, which the queues of a pool share. */
static void pools_work_side_by_side(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 3, .full_handshake = true };
	struct bsn_dc_pool *more;

	ok(bsn_dc_pool_create(b->device, &attr, &more));
	struct rig *r = make_targets(b, &attr, true);
	assert_ptr_not_equal(more->initiators[0].qp->lane, r->pool->initiators[0].qp->lane);
	assert_ptr_equal(r->pool->initiators[1].qp->lane, r->pool->initiators[0].qp->lane);
	write_and_finish(r, 0, 1);
	ok(bsn_dc_pool_destroy(more));
	write_and_finish(r, 1, 2);
	expect_connected(r, 2, 2);
}

/*
 * Stores into its register ring, and have the requests with them. valgrind (tests/memcheck) makes
 * two of one, which the model finds wrong.
 */
static void their_register_rings(struct bench *b)
{
	struct bsn_counters counters;

	if (getenv("TESTS_SHARE"))
		return;
	struct rig *r = make_with(b, true, .initiators = 1, .full_handshake = true);
	for (uint64_t id = 0; id < 4; id++) {
		ok(write_to(r, 0, id));
		while (!poll(r))
			;
		expect(r, 0, 0, id, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	}
	ok(bsn_qp_counters(r->pool->initiators[0].qp, &counters));
	assert_int_equal(counters.blueflame, 4);
	expect_connected(r, 1, 1);
}

static void they_have_no_lane_of_others(struct bench *b)
{
	struct bsn_lane *lane;

	ok(bsn_lane_create(b->device, NULL, &lane));
	fails(EINVAL, "lane", try_pool(b, .full_handshake = true, .lane = lane));
	ok(bsn_lane_destroy(lane));
}

/* -- the same as by verbs ---------------------------------------------------------------------- */

/* What the device knows of an end, but for its number and objects. */
static void expect_same(const struct cx_qp *v, const struct cx_qp *c)
{
	const struct ibv_global_route *v_grh = &v->mod.ah_attr.grh, *c_grh = &c->mod.ah_attr.grh;

	assert_true(c->attr.full_handshake && !v->attr.full_handshake);
	assert_int_equal(v->attr.type, c->attr.type);
	assert_int_equal(v->attr.dc, c->attr.dc);
	assert_int_equal(v->attr.dc_key, c->attr.dc_key);
	assert_int_equal(v->attr.pdn, c->attr.pdn);
	assert_int_equal(v->attr.srqn, c->attr.srqn);
	assert_int_equal(v->attr.sq_count_bb, c->attr.sq_count_bb);
	assert_int_equal(v->attr.log_streams, c->attr.log_streams);
	assert_int_equal(v->attr.log_errored_streams, c->attr.log_errored_streams);
	assert_int_equal(v->mod.qp_state, c->mod.qp_state);
	assert_int_equal(v->mod.port_num, c->mod.port_num);
	assert_int_equal(v->mod.pkey_index, c->mod.pkey_index);
	assert_int_equal(v->mod.path_mtu, c->mod.path_mtu);
	assert_int_equal(v->mod.timeout, c->mod.timeout);
	assert_int_equal(v->mod.retry_cnt, c->mod.retry_cnt);
	assert_int_equal(v->mod.rnr_retry, c->mod.rnr_retry);
	assert_int_equal(v->mod.max_rd_atomic, c->mod.max_rd_atomic);
	assert_int_equal(v->mod.min_rnr_timer, c->mod.min_rnr_timer);
	assert_int_equal(v_grh->sgid_index, c_grh->sgid_index);
	assert_int_equal(v_grh->hop_limit, c_grh->hop_limit);
	assert_int_equal(v_grh->traffic_class, c_grh->traffic_class);
}

static void a_target_is_the_same_as_by_verbs(struct bench *b)
{
	struct rig *r = make_targets(b, NULL, true);
	struct bsn_dct_attr attr = {
		.cq = r->into,
		.srq = r->srq,
		.access_key = 0x123456789abcull,
		.connect = { .mtu = 512, .min_rnr_timer = 7, .hop_limit = 33, .traffic_class = 104 }
	};
	const struct cx_qp *qps[2];
	struct bsn_dct *dct;

	for (int i = 0; i < 2; i++) {
		attr.full_handshake = i;
		ok(bsn_dct_create(b->device, &attr, &dct));
		undo_later(b, bsn_dct_destroy, dct);
		qps[i] = cx_qp_find(softcx_hca(), bsn_dct_number(dct));
	}
	expect_same(qps[0], qps[1]);
	assert_int_equal(qps[0]->mod.qp_access_flags, qps[1]->mod.qp_access_flags);
}

static void an_initiator_is_the_same_as_by_verbs(struct bench *b)
{
	struct bsn_dc_pool_attr attr = { .initiators = 1,
					 .streams = 4,
					 .send_depth = 100,
					 .connect = { .mtu = 512,
						      .timeout = 9,
						      .retry_count = 3,
						      .rnr_retry = 2,
						      .max_rd_atomic = 4 } };
	const struct cx_qp *qps[2];

	for (int i = 0; i < 2; i++) {
		attr.full_handshake = i;
		qps[i] = model_of(new_pool(b, &attr), 0);
	}
	expect_same(qps[0], qps[1]);
}

/* -- where there is none ----------------------------------------------------------------------- */

static void without_commands_it_is_refused(struct bench *b)
{
	struct rig *r = make_targets(b, NULL, false);
	const struct bsn_dct_attr attr = { .cq = r->into, .srq = r->srq, .full_handshake = true };
	struct bsn_dct *dct = NULL;

	fails(EOPNOTSUPP, "full handshake", bsn_dct_create(b->device, &attr, &dct));
	assert_non_null(strstr(bsn_error_text(), b->kind == BENCH_VERBS ? "verbs" : "DevX"));
	assert_non_null(strstr(bsn_error_text(), why_not(b, "dc-full-handshake")));
	assert_null(dct);
	fails(EOPNOTSUPP, "full handshake", try_pool(b, .full_handshake = true));
	assert_non_null(strstr(bsn_error_text(), why_not(b, "dc-full-handshake")));
}

static const struct bench_case cases[] = {
	AND_ON_ROCE(who_connects_to_a_target_does_so_in_full, ON_DIRECT),
	{ CASE(the_port_counts_them_as_others), ON_DIRECT },
	{ CASE(without_it_nobody_does), ON_DIRECT },
	AND_ON_ROCE(a_target_has_all_rights, ON_DIRECT),
	{ CASE(a_target_goes_with_requests_on_their_way), ON_DIRECT },
	{ CASE(a_wrong_key_gets_no_answer), ON_DIRECT },
	{ CASE(what_the_firmware_refuses_is_said), ON_DIRECT },
	AND_ON_ROCE(initiators_connect_in_full, ON_DIRECT),
	AND_ON_ROCE(a_ring_goes_round, ON_DIRECT),
	{ CASE(a_repaired_one_does_so_again), ON_DIRECT },
	{ CASE(it_gives_back_what_it_took), ON_DIRECT },
	{ CASE(pools_work_side_by_side), ON_DIRECT },
	{ CASE(their_register_rings), ON_DIRECT, .is_active = true },
	{ CASE(they_have_no_lane_of_others), ON_DIRECT },
	AND_ON_ROCE(a_target_is_the_same_as_by_verbs, ON_DIRECT),
	AND_ON_ROCE(an_initiator_is_the_same_as_by_verbs, ON_DIRECT),
	{ CASE(without_commands_it_is_refused), ON_DIRECT, .no_devx = true },
	{ CASE_OF(without_commands_it_is_refused, "plain verbs"), ON_VERBS },
};

BENCH_MAIN("dc_handshake")
