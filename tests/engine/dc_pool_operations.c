/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of DC peers that not every device has, and ways and checks of a peer. */
#include "dc_rig.h"

#include <infiniband/mlx5dv.h>

/* -- operations that not every device has ------------------------------------------------------ */

enum { BESIDE = 16 }; /* so many bytes before the target is where an atomic's result goes */

/* Fields of four bits: no carry leaves one. */
static int add_fields(struct rig *r, int p, unsigned bytes)
{
	const struct bsn_sge result = bench_sge(r->b, 1, INTO - BESIDE, bytes);
	const struct bsn_masked_fa fa = { 0x11, 0x88888888 };

	return bsn_masked_fetch_add(r->ep[p], &result, REMOTE(r->b, 1, INTO), &fa, bytes, 7, NOW);
}

static int swap_low_byte(struct rig *r, int p, unsigned bytes)
{
	const struct bsn_sge result = bench_sge(r->b, 1, INTO - BESIDE, bytes);
	const struct bsn_masked_cs cs = {
		.swap = 0xab, .swap_mask = 0xff, .compare = 0x1200, .compare_mask = 0xff00
	};

	return bsn_masked_cmp_swap(r->ep[p], &result, REMOTE(r->b, 1, INTO), &cs, bytes, 7, NOW);
}

static void expect_word(struct rig *r, int p, unsigned opcode, unsigned bytes, uint64_t before,
			uint64_t after)
{
	const uint8_t *result = bench_at(r->b, 1, INTO - BESIDE);
	uint64_t now;

	expect_one(r, p, 7, opcode, IBV_WC_SUCCESS);
	memcpy(&now, bench_at(r->b, 1, INTO), sizeof(now));
	assert_int_equal(now, after);
	if (bytes == 4) { /* big-endian */
		assert_int_equal(bsn_load_be32(result), before);
		return;
	}
	memcpy(&now, result, sizeof(now));
	assert_int_equal(now, before);
}

/* To peers with an initiator and without one; by an initiator whose READs have a limit, too. */
static void masked_atomics_go_to_peers(struct bench *b, uint32_t max_reads)
{
	struct rig *r = make(b, .initiators = 2, .max_reads = max_reads);

	for (int k = 0; k < 12; k++) {
		const unsigned bytes = k % 2 ? 4 : 8;
		const int p = k / 4;
		const uint64_t before = 0x12f7;

		memcpy(bench_at(b, 1, INTO), &before, sizeof(before));
		ok(add_fields(r, p, bytes));
		expect_word(r, p, BSN_OPCODE_ATOMIC_MASKED_FA, bytes, before, 0x1208);
		ok(swap_low_byte(r, p, bytes));
		expect_word(r, p, BSN_OPCODE_ATOMIC_MASKED_CS, bytes, 0x1208, 0x12ab);
	}
	expect_connects(r, 3);
	assert_int_equal(add_fields(r, 0, 3), -EINVAL);
}

static void masked_atomics(struct bench *b)
{
	masked_atomics_go_to_peers(b, 0);
	masked_atomics_go_to_peers(b, 2);
}

static void masked_atomics_have_the_limit_of_reads(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .max_reads = 2);

	ok(add_fields(r, 0, 8));
	ok(swap_low_byte(r, 0, 4));
	fails(EAGAIN, "max_reads", add_fields(r, 0, 8));
	assert_int_equal(work(r), 2);
}

static int copy_by(struct rig *r, int p, uint32_t bytes)
{
	const struct bsn_sge to = bench_sge(r->b, 1, INTO, bytes);
	const struct bsn_sge status = bench_sge(r->b, 1, 2 * INTO, 64);

	return bsn_memcpy(r->ep[p], &to, SGE(r->b, 0, 0, bytes), &status, 7, NOW);
}

/* No peer takes part, so the device connects nobody; the order is that of the peer's requests. */
static void copies_are_made_by_initiators(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1);

	for (int p = 0; p < 3; p++) {
		memset(bench_at(b, 1, INTO), 0, LENGTH + 1);
		ok(copy_by(r, p, LENGTH));
		assert_int_equal(copy_by(r, p + 3, LENGTH), -EAGAIN);
		assert_int_equal(work(r), 2);
		expect(r, 0, p, 7, BSN_OPCODE_MMO, IBV_WC_SUCCESS);
		expect(r, 1, p + 3, 0, BSN_DC_READY, IBV_WC_SUCCESS);
		assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), LENGTH);
		assert_int_equal(*bench_at(b, 1, INTO + LENGTH), 0);
		poll(r); /* it does not use its turn */
	}
	assert_int_equal(counters_of(r).connects, 0);
	ok(copy_by(r, 0, LENGTH));
	ok(write_to(r, 0, 8));
	assert_int_equal(work(r), 2);
	expect(r, 0, 0, 7, BSN_OPCODE_MMO, IBV_WC_SUCCESS);
	expect(r, 1, 0, 8, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	assert_int_equal(counters_of(r).connects, 1);
	assert_int_equal(copy_by(r, 0, 0), -EMSGSIZE);
}

static void use_a_turn(struct bench *b, unsigned copies, unsigned swaps, unsigned revocations)
{
	struct rig *r = make(b, .initiators = 1, .turn_bytes = 8 * LENGTH);

	ok(write_to(r, 0, 1));
	assert_int_equal(write_to(r, 1, 1), -EAGAIN); /* from here on it is counted */
	while (copies--)
		ok(copy_by(r, 0, LENGTH));
	while (swaps--)
		ok(swap_low_byte(r, 0, 4));
	softcx_step(1);
	poll(r);
	assert_int_equal(counters_of(r).revocations, revocations);
	work_on(r, 3);
}

/* They count as what they move: a copy its bytes once, an atomic without its operands. */
static void they_count_in_a_turn(struct bench *b)
{
	use_a_turn(b, 7, 0, 0);
	use_a_turn(b, 8, 0, 1);
	use_a_turn(b, 0, 8, 0);
	use_a_turn(b, 7, 16, 1);
}

static void they_are_refused(struct bench *b)
{
	struct rig *r = make_of(b, NULL);

	for (unsigned bytes = 4; bytes <= 8; bytes += 4) {
		fails(EOPNOTSUPP, "masked", add_fields(r, 0, bytes));
		assert_int_equal(swap_low_byte(r, 0, bytes), -EOPNOTSUPP);
	}
	fails(EOPNOTSUPP, "copy", copy_by(r, 0, LENGTH));
	assert_int_equal(counters_of(r).waiting, 0);
}

/* Eight bytes out of each 256, as one SGE. */
static const struct bsn_map *map_columns(struct bsn_layout *columns, struct bsn_ep *ep)
{
	const struct bsn_map *map = NULL;

	if (dv_sq(ep->sq)->has_peers)
		fails(EOPNOTSUPP, "RC", bsn_layout_map(columns, ep, BSN_MAP_KEY, &map));
	else
		ok(bsn_layout_map(columns, ep, BSN_MAP_KEY, &map));
	return map;
}

static void expect_columns(struct bench *b, const uint8_t *packed)
{
	for (unsigned k = 0; k < LENGTH / 8; k++)
		assert_memory_equal(packed + 8 * k, bench_at(b, 0, 256 * k), 8);
}

/* An initiator posts no UMR: an RC QP does. When it is done, peers are posted to with the mkey. */
static void layouts_are_local_memory(struct bench *b)
{
	struct bsn_mkey_pool *keys = make_pool(b, 4, 16);
	const struct bsn_part part = column(b, 0);
	struct bsn_layout *columns = make_layout(keys, &part, 1, LENGTH / 8);
	struct bsn_wr wr = { .opcode = BSN_OPCODE_RDMA_WRITE,
			     .flags = NOW,
			     .id = 7,
			     .remote = bench_remote(b, 1, INTO) };
	struct rig *r = make_of(b, NULL);

	map_columns(columns, r->ep[0]);
	write_and_finish(r, 0, 1); /* it has an initiator then */
	map_columns(columns, r->ep[0]);
	const struct bsn_map *map = map_columns(columns, b->ep[0]);
	complete_all(b);
	for (int p = 0; p < 2; p++) {
		memset(bench_at(b, 1, INTO), 0, LENGTH);
		ok(post_map(r->ep[p], wr, map));
		expect_one(r, p, 7, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		expect_columns(b, bench_at(b, 1, INTO));
	}
	wr.opcode = BSN_OPCODE_SEND;
	ok(bsn_recv(r->srq, SGE(b, 1, INTO, LENGTH), 0));
	ok(post_map(r->ep[1], wr, map));
	assert_int_equal(work(r), 1);
	memset(bench_at(b, 1, INTO), 0x77, LENGTH);
	wr.opcode = BSN_OPCODE_RDMA_READ;
	ok(post_map(r->ep[1], wr, map));
	expect_one(r, 1, 7, BSN_OPCODE_RDMA_READ, IBV_WC_SUCCESS);
	expect_columns(b, bench_at(b, 1, INTO));
	drop(map);
}

/* A SEND takes the mkey back that its target made for whom it comes from. */
static void a_peer_may_invalidate(struct bench *b)
{
	const struct bsn_mkey_pool_attr attr = { .count = 2,
						 .max_translations = 16,
						 .peers_may_invalidate = true };
	struct bsn_mkey_pool *keys = make_pool_of(b, &attr);
	const struct bsn_part part = column(b, 0);
	struct bsn_layout *layout = keep_layout(b, keys, &part, 1, 8);
	struct bsn_mkey *mkey = take_mkey(b, keys);
	struct rig *r = make_of(b, NULL);

	fails(EOPNOTSUPP, "RC", bsn_mkey_configure(r->ep[0], mkey, layout, 1, NOW));
	ok(bsn_mkey_configure(b->ep[0], mkey, layout, 1, 0));
	complete_all(b);
	/* A peer without an initiator. */
	fails(EOPNOTSUPP, "RC", bsn_mkey_invalidate(r->ep[0], mkey, 1, NOW));
	ok(bsn_recv(r->srq, SGE(b, 1, INTO, LENGTH), 2));
	ok(bsn_send_inval(r->ep[0], SGE(b, 0, 0, LENGTH), mkey->rkey, 3, NOW));
	fails(EOPNOTSUPP, "RC", bsn_mkey_invalidate(r->ep[0], mkey, 1, NOW));
	expect_one(r, 0, 3, BSN_OPCODE_SEND_INVAL, IBV_WC_SUCCESS);
	assert_int_equal(bsn_poll(r->into, r->done, MAX_DONE), 1);
	assert_int_equal(r->done[0].flags & BSN_C_INVAL ? r->done[0].imm : 0, mkey->rkey);
	ok(bsn_invalidated(b->device, mkey->rkey));
}

/* -- ways and checks --------------------------------------------------------------------------- */

static uint32_t port_of(struct rig *r, int p)
{
	const struct bsn_peer *peer = (const struct bsn_peer *)(const void *)r->ep[p];
	struct bsn_av_dc av;

	bsn_av_dc_decode(&av, (const uint8_t *)&peer->head);
	return av.rlid;
}

/* The request as the device was given it. */
static uint32_t port_of_request(struct rig *r, int p)
{
	struct bsn_av_dc av;

	write_and_fail(r, p, 4);
	struct bsn_dc_error error = error_of(r, p);
	bsn_av_dc_decode(&av, error.wqe + BSN_DS_SIZE);
	assert_int_equal(av.dc_key, KEY);
	bring_back(r, p, p + 1);
	return av.rlid;
}

/* Peers of one host have ports of their own, and one changes from request to request. */
static void a_peer_has_its_udp_port(struct bench *b)
{
	const struct bsn_connect_attr of_v1 = { .gid_index = 2 }; /* of the same IPv4 address */
	struct rig *r = make_of(b, NULL);
	const struct bsn_address address = target_address(r, 0);
	const uint32_t others = port_of(r, 1);
	struct bsn_ep *ep;

	assert_null(why_not(b, "dc-udp-port"));
	assert_true(others >= 0xc000);
	assert_int_equal(port_of_request(r, 1), others);
	for (uint32_t port = 0xc000; port <= 0xffff; port += 0x1555) {
		ok(bsn_dc_peer_udp_port(r->ep[0], (uint16_t)port));
		write_and_finish(r, 0, 1);
		assert_int_equal(port_of_request(r, 0), port);
	}
	assert_int_equal(port_of_request(r, 1), others);
	assert_int_equal(bsn_dc_peer_udp_port(r->ep[0], 0xbfff), -EINVAL);
	assert_int_equal(bsn_dc_peer_udp_port(NULL, 0xc000), -EINVAL);
	assert_int_equal(port_of(r, 0), 0xffff);
	ok(bsn_dc_peer_create(r->pool, &address, &of_v1, NULL, &ep));
	fails(EOPNOTSUPP, "RoCE v1", bsn_dc_peer_udp_port(ep, 0xc000));
	ok(bsn_dc_peer_destroy(ep));
}

/* On InfiniBand and on plain verbs; and softcx is not bonded. */
static void what_the_way_has_not_is_refused(struct bench *b)
{
	const bool is_on_verbs = b->kind == BENCH_VERBS;
	struct rig *r = make_of(b, NULL);

	assert_non_null(why_not(b, "dc-udp-port"));
	fails(EOPNOTSUPP, is_on_verbs ? "plain verbs" : "InfiniBand",
	      bsn_dc_peer_udp_port(r->ep[0], 0xc000));
	assert_non_null(why_not(b, "dc-lag-port"));
	assert_int_equal(why_not(b, "dc-streams") != NULL, is_on_verbs);
	assert_int_equal(why_not(b, "dc-full-handshake") != NULL, is_on_verbs);
	fails(EOPNOTSUPP, is_on_verbs ? "plain verbs" : "bonded", try_pool(b, .lag_port = 1));
}

enum { LAG_PORTS = 2 };

static uint8_t lag_port_of(const struct rig *r, uint32_t initiator)
{
	const struct bsn_qp_info *info = bsn_qp_info(r->pool->initiators[initiator].qp);
	uint8_t configured = 0, active = 0;

	if (!info->verbs) /* made by a command */
		return cx_qp_find(softcx_hca(), info->number)->lag_port;
	ok(-mlx5dv_query_qp_lag_port(info->verbs, &configured, &active));
	assert_int_equal(active, configured);
	return configured;
}

/* The driver gives queues the ports in turn; what the pool is told holds for all, spares too. */
static void initiators_send_by_the_port_of_the_bond(struct bench *b)
{
	struct bsn_dc_pool_attr attr = { .initiators = 3, .spares = 1 };

	for (attr.lag_port = 0; attr.lag_port <= LAG_PORTS; attr.lag_port++) {
		struct rig *r = make_of(b, &attr);

		assert_null(why_not(b, "dc-lag-port"));
		for (uint32_t i = 0; i < attr.initiators + attr.spares; i++)
			if (attr.lag_port)
				assert_int_equal(lag_port_of(r, i), attr.lag_port);
			else if (i && !wants_full(b))
				assert_int_not_equal(lag_port_of(r, i), lag_port_of(r, i - 1));
		write_and_finish(r, 0, 1);
		bench_undo_all(b);
	}
}

static void a_port_that_the_bond_has_not_is_refused(struct bench *b)
{
	fails(EINVAL, "lag_port", try_pool(b, .lag_port = LAG_PORTS + 1));
}

/* The model is as strict as the pool. */
static void the_device_refuses_it_too(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .lag_port = LAG_PORTS);
	struct ibv_qp *qp = bsn_qp_info(r->pool->initiators[0].qp)->verbs;

	if (qp) {
		assert_int_not_equal(mlx5dv_modify_qp_lag_port(qp, LAG_PORTS + 1), 0);
		assert_int_not_equal(mlx5dv_modify_qp_lag_port(qp, 0), 0);
	}
	assert_int_equal(lag_port_of(r, 0), LAG_PORTS);
}

/* By a WRITE of no bytes. It waits in line as any post. */
static int check_peer(struct bsn_ep *ep, uint64_t id)
{
	static const struct bsn_remote nowhere;

	return bsn_write_inline(ep, "", 0, &nowhere, id, NOW);
}

/* Nothing is written, and who is gone is found out. */
static void a_check_tells_who_is_alive(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .spares = 1);

	memset(bench_at(b, 1, INTO), 0x5a, LENGTH);
	ok(check_peer(r->ep[0], 5));
	assert_int_equal(check_peer(r->ep[1], 6), -EAGAIN);
	assert_int_equal(work(r), 2);
	expect(r, 0, 0, 5, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect_ready(r, 1, 1);
	remove_target(r, 1);
	ok(check_peer(r->ep[1], 6));
	expect_one(r, 1, 6, BSN_OPCODE_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(check_peer(r->ep[1], 7), -ENOTCONN);
	ok(check_peer(r->ep[0], 8));
	expect_one(r, 0, 8, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
}

static const struct bench_case cases[] = {
	AND_ON_ROCE(masked_atomics, ON_DIRECT),
	{ CASE(masked_atomics_have_the_limit_of_reads), ON_DIRECT },
	AND_ON_ROCE(copies_are_made_by_initiators, ON_DIRECT),
	{ CASE(they_count_in_a_turn), ON_DIRECT },
	{ CASE(they_are_refused), ON_VERBS },
	AND_ON_ROCE(layouts_are_local_memory, DIRECT, OWN, MODEL),
	{ CASE(a_peer_may_invalidate), DIRECT, OWN, MODEL },
	{ CASE(a_peer_has_its_udp_port), ON_DIRECT, ROCE },
	{ CASE(what_the_way_has_not_is_refused), ON_DIRECT },
	{ CASE_OF(what_the_way_has_not_is_refused, "on plain verbs"), ON_VERBS },
	{ CASE(initiators_send_by_the_port_of_the_bond), ON_DIRECT, ROCE, .lag = true },
	{ CASE(a_port_that_the_bond_has_not_is_refused), ON_DIRECT, ROCE, .lag = true },
	{ CASE(the_device_refuses_it_too), ON_DIRECT, ROCE, .lag = true },
	AND_ON_ROCE(a_check_tells_who_is_alive, ON_DIRECT),
};

BENCH_MAIN("dc_pool_operations")
