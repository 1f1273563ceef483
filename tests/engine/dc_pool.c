/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools of DC initiators: which peer has which, and what of peers and pools is refused. */
#include "dc_pool_rig.h"

/* -- who has which ----------------------------------------------------------------------------- */

static void a_set_that_fits_stays_connected(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 4 };
	uint64_t connects;
	struct rig r;

	make(b, &r, &attr);
	for (uint64_t id = 0; id < 400; id++)
		write_and_finish(&r, (int)(id * 7 % 4), id);
	expect_connects(&r, 4);
	for (uint64_t id = 0; id < 20; id++)
		write_and_finish(&r, 4 + (int)(id * 3 % 4), id);
	connects = counters_of(&r).connects;
	assert_true(connects <= 12); /* what the others were used counts for a while */
	for (uint64_t id = 0; id < 400; id++)
		write_and_finish(&r, 4 + (int)(id * 3 % 4), id);
	expect_connects(&r, connects);
	assert_int_equal(counters_of(&r).evictions, connects - 4);
	assert_int_equal(counters_of(&r).waits, 0);
	unmake(&r);
}

/* However few are asked for, and of the longest. */
static void a_queue_takes_sixteen(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .send_depth = 1 };
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	struct rig r;

	make(b, &r, &attr);
	for (uint64_t id = 0; id < 16; id++)
		ok(bsn_write_inline(r.ep[0], bench_at(b, 0, 0), 28, &to, id, NOW));
	assert_int_equal(work(&r), 16);
	for (int at = 0; at < 16; at++)
		expect(&r, at, 0, (uint64_t)at, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	unmake(&r);
}

/*
 * Many more peers than slots, each in turn, and all is done before the next. A stream may keep its
 * peer.
 */
static void a_miss_binds_once_by_each_policy(struct bench *b)
{
	static const unsigned initiators[] = { 2, 8 }, streams[] = { 1, 3 };

	for (unsigned k = 0; k < 8; k++) {
		const struct bsn_dc_pool_attr attr = { .initiators = initiators[k % 2],
						       .streams = streams[k / 2 % 2],
						       .policy =
							       k / 4 ? BSN_DC_HASHED : BSN_DC_LRU };
		const bool is_taken = attr.streams == 1 || attr.initiators == 2;
		struct rig r;

		if (!is_taken)
			continue;
		make(b, &r, &attr);
		for (unsigned id = 0; id < 4 * PEERS; id++) {
			const uint64_t before = counters_of(&r).bindings;
			write_and_finish(&r, (int)(id % PEERS), id);
			assert_in_range(counters_of(&r).bindings, before + (attr.streams == 1),
					before + 1);
		}
		unmake(&r);
	}
}

static void who_was_used_least_recently_makes_room(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 4 };
	struct rig r;

	make(b, &r, &attr);
	for (int p = 0; p < 4; p++)
		write_and_finish(&r, p, 1);
	write_and_finish(&r, 4, 1); /* the hand takes the first of them */
	expect_connects(&r, 5);
	for (int p = 1; p < 3; p++)
		write_and_finish(&r, p, 2); /* used since: they are passed */
	expect_connects(&r, 5);
	write_and_finish(&r, 5, 1); /* of the next three, the one that was not */
	for (int p = 1; p < 3; p++)
		write_and_finish(&r, p, 3);
	write_and_finish(&r, 4, 2);
	expect_connects(&r, 6);
	unmake(&r);
}

/*
 * The plan holds the third request back for two seconds of the device's clock, and the peer keeps
 * its initiator.
 */
static void an_idle_connection_is_made_anew(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1 };
	struct rig r;

	make(b, &r, &attr);
	write_and_finish(&r, 0, 1);
	write_and_finish(&r, 0, 2);
	assert_int_equal(counters_of(&r).reconnects, 0);
	write_and_finish(&r, 0, 3);
	assert_int_equal(counters_of(&r).bindings, 1);
	assert_int_equal(counters_of(&r).connects, 2);
	assert_int_equal(counters_of(&r).reconnects, 1);
	unmake(&r);
}

/* A pool counts from when it was made; plain verbs connect by themselves. */
static void connections_are_told_where_they_are_known(struct bench *b)
{
	const bool is_told = b->kind == BENCH_DIRECT;
	struct rig r;

	for (unsigned round = 0; round < 2; round++) {
		make(b, &r, NULL);
		assert_int_equal(counters_of(&r).has_connects, is_told);
		assert_int_equal(counters_of(&r).connects, 0);
		for (unsigned k = 0; write_to(&r, 0, 1) && k < 50; k++)
			work(&r);
		work(&r);
		assert_int_equal(counters_of(&r).bindings, 1);
		assert_int_equal(counters_of(&r).connects, is_told);
		unmake(&r);
	}
}

/* Posts by one of nine calls; the last three take a receive. */
static __attribute__((noinline)) int post_by(struct rig *r, int kind, struct bsn_ep *ep,
					     uint32_t inline_bytes, uint64_t id)
{
	const struct bsn_sge local[3] = { bench_sge(r->b, 0, 0, 8), bench_sge(r->b, 0, 8, 8),
					  bench_sge(r->b, 0, 16, 8) };
	const struct bsn_remote to = bench_remote(r->b, 1, INTO);
	const struct bsn_wr wr = {
		.opcode = BSN_OPCODE_RDMA_WRITE, .sge = local, .sge_count = 1, .remote = to
	};
	struct bsn_prepared prepared;

	switch (kind) {
	case 0:
		return bsn_write(ep, local, &to, id, NOW);
	case 1:
		return bsn_read(ep, local, &to, id, NOW);
	case 2:
		return bsn_write_sgl(ep, local, 3, &to, id, NOW);
	case 3:
		return bsn_fetch_add(ep, local, &to, 1, id, NOW);
	case 4:
		ok(bsn_prepare(r->ep[0], &wr, &prepared));
		return bsn_post_prepared(ep, &prepared, id, NOW);
	case 5:
		return bsn_write_inline(ep, bench_at(r->b, 0, 0), inline_bytes, &to, id, NOW);
	case 6:
		return bsn_send(ep, local, id, NOW);
	case 7:
		return bsn_send_inline(ep, bench_at(r->b, 0, 0), inline_bytes, id, NOW);
	default:
		return bsn_send_imm(ep, local, 1, id, NOW);
	}
}

static void every_post_binds(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2,
					       .max_inline = 200,
					       .max_send_sge = 3 };
	const struct bsn_sge into = bench_sge(b, 1, INTO, 4096);
	struct rig r;
	uint64_t id = 0;

	make(b, &r, &attr);
	for (int round = 0; round < 3; round++) {
		for (int kind = 0; kind < 9; kind++, id++) {
			if (kind >= 6)
				ok(bsn_recv(r.srq, &into, 0));
			ok(post_by(&r, kind, r.ep[id % TARGETS], round ? 150 : 8, id));
			assert_int_equal(work(&r), 1);
			assert_int_equal(r.done[0].id, id);
			assert_int_equal(r.done[0].status, IBV_WC_SUCCESS);
			assert_ptr_equal(r.done[0].user, &r.user[id % TARGETS]);
			assert_int_equal(bsn_poll(r.into, r.done, MAX_DONE), kind >= 6);
		}
	}
	expect_connects(&r, id);
	unmake(&r);
}

/* -- at random --------------------------------------------------------------------------------- */

static void at_random(struct bench *b)
{
	const struct bsn_dc_counters counters = at_random_of(b, BSN_DC_LRU, 5, 1, 100000);

	assert_true(counters.failures);
	assert_true(counters.turns);
}

/* A peer that is not connected does not fail: few do. */
static void at_random_by_connections(struct bench *b)
{
	at_random_of(b, BSN_DC_LRU, 5, 1, 20000);
	at_random_of(b, BSN_DC_HASHED, 5, 1, 20000);
}

/* More than the pool looks at to find an idle one, so that it listens. */
static void at_random_by_many(struct bench *b)
{
	assert_true(at_random_of(b, BSN_DC_LRU, MOST_LOOKS + 4, 1, 20000).turns);
}

static void at_random_by_places(struct bench *b)
{
	at_random_of(b, BSN_DC_HASHED, 5, 1, 20000);
}

/* -- many, and wrong ones ---------------------------------------------------------------------- */

/* More than a few chunks of them, of which each is found again. */
static void thousands_of_peers(struct bench *b)
{
	enum { MANY = 5000 };
	static struct bsn_ep *many[MANY];
	const struct bsn_dc_pool_attr attr = { .initiators = 4 };
	struct bsn_address address;
	struct rig r;

	make(b, &r, &attr);
	for (int round = 0; round < 2; round++) {
		for (int p = 0; p < MANY; p++) {
			ok(bsn_dct_address(r.dct[p % TARGETS], &address));
			ok(bsn_dc_peer_create(r.pool, &address, NULL, &many[p], &many[p]));
		}
		assert_int_equal(counters_of(&r).peers, MANY + PEERS);
		for (int p = 0; p < MANY; p += 97) {
			const struct bsn_sge local = bench_sge(b, 0, 0, 8);
			const struct bsn_remote to = bench_remote(b, 1, INTO);
			ok(bsn_write(many[p], &local, &to, (uint64_t)p, NOW));
			assert_int_equal(work(&r), 1);
			assert_ptr_equal(r.done[0].user, &many[p]);
		}
		for (int p = 0; p < MANY; p++)
			ok(bsn_dc_peer_destroy(many[p * 7 % MANY]));
	}
	unmake(&r);
}

/*
 * An address whose access key is another is whole; only its target can tell, and only its peer
 * fails.
 */
static void a_wrong_access_key_fails_its_peer(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2, .spares = 1 };
	const uint8_t key[] = { KEY >> 24 & 0xff, KEY >> 16 & 0xff, KEY >> 8 & 0xff, KEY & 0xff };
	struct bsn_address address;
	size_t at = 0;
	int seen = 0;
	struct rig r;

	make(b, &r, &attr);
	ok(bsn_dc_peer_destroy(r.ep[0]));
	ok(bsn_dct_address(r.dct[0], &address));
	while (at + sizeof(key) < sizeof(address.bytes) &&
	       memcmp(address.bytes + at, key, sizeof(key)))
		at++;
	assert_memory_equal(address.bytes + at, key, sizeof(key));
	address.bytes[at + 3] ^= 1;
	ok(bsn_dc_peer_create(r.pool, &address, NULL, &r.user[0], &r.ep[0]));
	ok(write_to(&r, 0, 1));
	ok(write_to(&r, 1, 2));
	while (work(&r))
		for (int k = 0; k < r.count; k++, seen++)
			assert_int_equal(r.done[k].status,
					 r.done[k].id == 1 ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
	assert_int_equal(seen, 2);
	assert_int_equal(write_to(&r, 0, 3), -ENOTCONN);
	unmake(&r);
}

/* An address that was made on a port of each link layer, as the cases come to them. */
static struct {
	struct bsn_address address;
	bool is_there;
} kept[2][2]; /* by link, and by path */

static void keep_address(struct bench *b, const struct rig *r)
{
	ok(bsn_dct_address(r->dct[0], &kept[b->test->link][b->kind].address));
	kept[b->test->link][b->kind].is_there = true;
}

/* The case of one link comes before that of the other, and after it again. */
static void an_address_of_another_link_is_refused(struct bench *b)
{
	const enum cx_link other = b->test->link == CX_LINK_IB ? CX_LINK_ROCE : CX_LINK_IB;
	struct bsn_ep *ep = NULL;
	struct rig r;

	make(b, &r, NULL);
	keep_address(b, &r);
	if (kept[other][b->kind].is_there)
		is_refused(
			bsn_dc_peer_create(r.pool, &kept[other][b->kind].address, NULL, NULL, &ep),
			EPROTO, "one port is InfiniBand, the other Ethernet");
	assert_null(ep);
	assert_int_equal(counters_of(&r).peers, PEERS);
	unmake(&r);
}

/*
 * Bytes 24 to 31 of an address are its GID's prefix. On RoCE other ones are those of other hosts.
 */
static void an_address_of_another_subnet_is_refused(struct bench *b)
{
	struct bsn_address address;
	struct bsn_ep *ep = NULL;
	struct rig r;

	make(b, &r, NULL);
	ok(bsn_dct_address(r.dct[0], &address));
	assert_memory_equal(&address.bytes[24], bsn_device_info(b->device)->gid, 16);
	address.bytes[31] ^= 1;
	is_refused(bsn_dc_peer_create(r.pool, &address, NULL, NULL, &ep), EPROTO,
		   "another InfiniBand subnet");
	assert_null(ep);
	unmake(&r);
}

/* 0 asks for the default; there is no pool without any. */
static void a_pool_has_an_initiator(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 0, .spares = 0 };
	struct bsn_dc_pool *pool;

	ok(bsn_dc_pool_create(b->device, &attr, &pool));
	assert_int_equal(pool->attr.initiators, 8);
	assert_int_equal(pool->count, 9);
	ok(bsn_dc_pool_destroy(pool));
}

static void what_does_not_fit_is_refused(struct bench *b)
{
	struct bsn_dc_pool_attr attr = { .initiators = 1 << 30 };
	struct bsn_qp_attr rc = { .type = BSN_QP_RC };
	struct bsn_address address;
	struct bsn_dc_error error;
	struct bsn_dc_pool *pool;
	struct bsn_ep *ep;
	struct bsn_qp *qp;
	struct rig r;

	make(b, &r, NULL);
	is_refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL, "initiators");
	attr = (struct bsn_dc_pool_attr){ .policy = (enum bsn_dc_policy)2 };
	is_refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL, "policy 2");
	attr = (struct bsn_dc_pool_attr){ .turn_bytes = 1ull << 41 };
	is_refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL, "turn_bytes");
	attr = (struct bsn_dc_pool_attr){ .initiators = 65000, .spares = 535 };
	is_refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL, "65000 initiators");
	attr = (struct bsn_dc_pool_attr){ .initiators = MOST_SLOTS - 1 }; /* and a spare */
	is_refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL,
		   "65534 initiators and 1 spares");
	attr = (struct bsn_dc_pool_attr){ .connect.mtu = 17 };
	is_refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL, "17");
	attr = (struct bsn_dc_pool_attr){ .max_inline = 100000 };
	is_refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL, "inline");
	is_refused(bsn_dc_pool_create(b->device, NULL, NULL), EINVAL, "pool");
	rc.cq = r.into;
	rc.recv_depth = rc.send_depth = 4;
	ok(bsn_qp_create(b->device, &rc, &qp));
	ok(bsn_qp_address(qp, &address));
	is_refused(bsn_dc_peer_create(r.pool, &address, NULL, NULL, &ep), EPROTO, "DC");
	memset(&address, 0x5a, sizeof(address));
	is_refused(bsn_dc_peer_create(r.pool, &address, NULL, NULL, &ep), EPROTO, "address");
	is_refused(bsn_dc_peer_create(NULL, &address, NULL, NULL, &ep), EINVAL, "pool");
	ok(bsn_dct_address(r.dct[0], &address));
	address.bytes[0] ^= 1; /* the mark of ours, with the version */
	is_refused(bsn_dc_peer_create(r.pool, &address, NULL, NULL, &ep), EPROTO, "address");
	is_refused(bsn_dc_peer_error(NULL, &error), EINVAL, "peer");
	is_refused(bsn_dc_peer_error(r.ep[0], NULL), EINVAL, "error");
	ok(write_to(&r, 0, 1));
	is_refused(bsn_dc_peer_destroy(r.ep[0]), EBUSY, "outstanding");
	assert_int_equal(work(&r), 1);
	ok(bsn_dc_peer_destroy(NULL));
	ok(bsn_dc_pool_destroy(NULL));
	assert_null(bsn_dc_pool_cq(NULL));
	assert_non_null(bsn_dc_pool_cq(r.pool));
	ok(bsn_qp_destroy(qp));
	unmake(&r);
}

static const struct bench_case cases[] = {
	{ CASE(a_set_that_fits_stays_connected), ON_DIRECT },
	{ CASE(a_queue_takes_sixteen), ON_DIRECT },
	{ CASE(who_was_used_least_recently_makes_room), ON_DIRECT },
	{ CASE(an_idle_connection_is_made_anew), ON_DIRECT, .fault_plan = "nth=3 delay 2000000" },
	{ CASE(connections_are_told_where_they_are_known), BARE, OWN, MODEL },
	{ CASE(every_post_binds), ON_DIRECT },
	{ CASE_OF(every_post_binds, "on RoCE"), ON_DIRECT, ROCE },
	{ CASE(a_wrong_access_key_fails_its_peer), ON_DIRECT },
	{ CASE(at_random), ON_DIRECT },
	{ CASE(a_miss_binds_once_by_each_policy), ON_DIRECT },
	{ CASE(at_random_by_places), ON_DIRECT },
	{ CASE(at_random_by_many), ON_DIRECT },
	{ CASE(at_random_by_connections), ON_VERBS },
	{ CASE_OF(at_random, "on RoCE"), ON_DIRECT, ROCE },
	{ CASE(thousands_of_peers), ON_DIRECT },
	{ CASE(what_does_not_fit_is_refused), ON_DIRECT },
	{ CASE_OF(an_address_of_another_link_is_refused, "of InfiniBand"), ON_DIRECT },
	{ CASE_OF(an_address_of_another_link_is_refused, "by RoCE"), ON_DIRECT, ROCE },
	{ CASE_OF(an_address_of_another_link_is_refused, "by InfiniBand"), ON_DIRECT },
	{ CASE_OF(an_address_of_another_link_is_refused, "of InfiniBand, by connections"),
	  ON_VERBS },
	{ CASE_OF(an_address_of_another_link_is_refused, "by RoCE, by connections"), ON_VERBS,
	  ROCE },
	{ CASE_OF(an_address_of_another_link_is_refused, "by InfiniBand, by connections"),
	  ON_VERBS },
	{ CASE(an_address_of_another_subnet_is_refused), ON_DIRECT },
	{ CASE_OF(an_address_of_another_subnet_is_refused, "by connections"), ON_VERBS },
	{ CASE(a_pool_has_an_initiator), ON_DIRECT },
	{ CASE_OF(a_pool_has_an_initiator, "by connections"), ON_VERBS },
};

int main(void)
{
	random_start();
	return bench_run("dc_pool", cases, sizeof(cases) / sizeof(cases[0]));
}
