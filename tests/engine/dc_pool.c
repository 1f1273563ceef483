/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools of DC initiators: which peer has which, and what of peers and pools is refused. */
#include "dc_random.h"

/* -- who has which ----------------------------------------------------------------------------- */

static void a_set_that_fits_stays_connected(struct bench *b)
{
	struct rig *r = make(b, .initiators = 4);

	for (uint64_t id = 0; id < 400; id++)
		write_and_finish(r, (int)(id * 7 % 4), id);
	expect_connects(r, 4);
	for (uint64_t id = 0; id < 20; id++)
		write_and_finish(r, 4 + (int)(id * 3 % 4), id);
	uint64_t connects = counters_of(r).connects;
	assert_true(connects <= 12); /* what the others were used counts for a while */
	for (uint64_t id = 0; id < 400; id++)
		write_and_finish(r, 4 + (int)(id * 3 % 4), id);
	expect_connects(r, connects);
	assert_int_equal(counters_of(r).evictions, connects - 4);
	assert_int_equal(counters_of(r).waits, 0);
}

/* However few are asked for, and of the longest. */
static void a_queue_takes_sixteen(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .send_depth = 1);

	for (uint64_t id = 0; id < 16; id++)
		ok(bsn_write_inline(r->ep[0], bench_at(b, 0, 0), 28, REMOTE(b, 1, INTO), id, NOW));
	assert_int_equal(work(r), 16);
	for (int at = 0; at < 16; at++)
		expect(r, at, 0, (uint64_t)at, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
}

/* More peers than slots, each in turn, one at a time. A stream may keep its peer. */
static void a_miss_binds_once_by_each_policy(struct bench *b)
{
	static const struct bsn_dc_pool_attr pools[] = {
		{ .initiators = 2, .streams = 1 },
		{ .initiators = 8, .streams = 1 },
		{ .initiators = 2, .streams = 3 },
		{ .initiators = 2, .streams = 1, .policy = BSN_DC_HASHED },
		{ .initiators = 8, .streams = 1, .policy = BSN_DC_HASHED },
		{ .initiators = 2, .streams = 3, .policy = BSN_DC_HASHED },
	};

	for (unsigned k = 0; k < COUNT(pools); k++) {
		struct rig *r = make_of(b, &pools[k]);

		for (unsigned id = 0; id < 4 * PEERS; id++) {
			const uint64_t before = counters_of(r).bindings;

			write_and_finish(r, (int)(id % PEERS), id);
			assert_in_range(counters_of(r).bindings, before + (pools[k].streams == 1),
					before + 1);
		}
		bench_undo_all(b);
	}
}

static void who_was_used_least_recently_makes_room(struct bench *b)
{
	struct rig *r = make(b, .initiators = 4);

	each_writes(r, 0, 4, 1);
	write_and_finish(r, 4, 1); /* the hand takes the first of them */
	expect_connects(r, 5);
	each_writes(r, 1, 3, 2); /* used since: they are passed */
	expect_connects(r, 5);
	write_and_finish(r, 5, 1); /* of the next three, the one that was not */
	each_writes(r, 1, 3, 3);
	write_and_finish(r, 4, 2);
	expect_connects(r, 6);
}

/* The third request is held back for 2 s of the device; the peer keeps its initiator. */
static void an_idle_connection_is_made_anew(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1);

	write_and_finish(r, 0, 1);
	write_and_finish(r, 0, 2);
	assert_int_equal(counters_of(r).reconnects, 0);
	write_and_finish(r, 0, 3);
	assert_int_equal(counters_of(r).bindings, 1);
	assert_int_equal(counters_of(r).connects, 2);
	assert_int_equal(counters_of(r).reconnects, 1);
}

/* A pool counts from when it was made; plain verbs connect by themselves. */
static void connections_are_told_where_they_are_known(struct bench *b)
{
	const bool is_told = b->kind == BENCH_DIRECT;

	for (unsigned round = 0; round < 2; round++) {
		struct rig *r = make_of(b, NULL);
		assert_int_equal(counters_of(r).has_connects, is_told);
		assert_int_equal(counters_of(r).connects, 0);
		for (unsigned k = 0; write_to(r, 0, 1) && k < 50; k++)
			work(r);
		work(r);
		assert_int_equal(counters_of(r).bindings, 1);
		assert_int_equal(counters_of(r).connects, is_told);
		bench_undo_all(b);
	}
}

static void every_post_binds(struct bench *b)
{
	struct rig *r = make(b, .initiators = 2, .max_inline = 200, .max_send_sge = 3);
	uint64_t id = 0;

	for (int round = 0; round < 3; round++) {
		for (int kind = 0; kind < 9; kind++, id++) {
			if (kind >= 6)
				ok(bsn_recv(r->srq, SGE(b, 1, INTO, 4096), 0));
			ok(post_by(r, kind, r->ep[id % TARGETS], round ? 150 : 8, id));
			expect_one_of(r, &r->user[id % TARGETS], IBV_WC_SUCCESS);
			assert_int_equal(r->done[0].id, id);
			assert_int_equal(bsn_poll(r->into, r->done, MAX_DONE), kind >= 6);
		}
	}
	expect_connects(r, id);
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
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	struct rig *r = make(b, .initiators = 4);

	for (int round = 0; round < 2; round++) {
		for (int p = 0; p < MANY; p++)
			many[p] = new_peer_of(r, p % TARGETS, &many[p]);
		assert_int_equal(counters_of(r).peers, MANY + PEERS);
		for (int p = 0; p < MANY; p += 97) {
			ok(bsn_write(many[p], SGE(b, 0, 0, 8), &to, (uint64_t)p, NOW));
			expect_one_of(r, &many[p], IBV_WC_SUCCESS);
		}
		for (int p = 0; p < MANY; p++)
			ok(bsn_dc_peer_destroy(many[p * 7 % MANY]));
	}
}

/* Such an address is whole: only its target can tell, and only its peer fails. */
static void a_wrong_access_key_fails_its_peer(struct bench *b)
{
	const uint8_t key[] = { KEY >> 24 & 0xff, KEY >> 16 & 0xff, KEY >> 8 & 0xff, KEY & 0xff };
	struct rig *r = make(b, .initiators = 2, .spares = 1);
	struct bsn_address address = target_address(r, 0);
	size_t at = 0;
	int seen = 0;

	remove_peer(r, 0);
	while (at + sizeof(key) < sizeof(address.bytes) &&
	       memcmp(address.bytes + at, key, sizeof(key)))
		at++;
	assert_memory_equal(address.bytes + at, key, sizeof(key));
	address.bytes[at + 3] ^= 1;
	r->ep[0] = new_peer(r, &address, &r->user[0]);
	ok(write_to(r, 0, 1));
	ok(write_to(r, 1, 2));
	while (work(r))
		for (int k = 0; k < r->count; k++, seen++)
			assert_int_equal(r->done[k].status, r->done[k].id == 1
								    ? IBV_WC_RETRY_EXC_ERR
								    : IBV_WC_SUCCESS);
	assert_int_equal(seen, 2);
	assert_int_equal(write_to(r, 0, 3), -ENOTCONN);
}

/* An address that was made on a port of each link layer, as the cases come to them. */
static struct {
	struct bsn_address address;
	bool is_there;
} kept[2][2]; /* by link, and by path */

/* The case of one link comes before that of the other, and after it again. */
static void an_address_of_another_link_is_refused(struct bench *b)
{
	const enum cx_link other = b->test->link == CX_LINK_IB ? CX_LINK_ROCE : CX_LINK_IB;
	struct rig *r = make_of(b, NULL);

	kept[b->test->link][b->kind].address = target_address(r, 0);
	kept[b->test->link][b->kind].is_there = true;
	if (kept[other][b->kind].is_there)
		fails(EPROTO, "one port is InfiniBand, the other Ethernet",
		      try_peer(r, &kept[other][b->kind].address));
	assert_int_equal(counters_of(r).peers, PEERS);
}

/* Bytes 24 to 31 of an address are its GID's prefix; on RoCE others are other hosts'. */
static void an_address_of_another_subnet_is_refused(struct bench *b)
{
	struct rig *r = make_of(b, NULL);
	struct bsn_address address = target_address(r, 0);

	assert_memory_equal(&address.bytes[24], bench_info(b)->gid, 16);
	address.bytes[31] ^= 1;
	fails(EPROTO, "another InfiniBand subnet", try_peer(r, &address));
}

/* 0 asks for the default; there is no pool without any. */
static void a_pool_has_an_initiator(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 0, .spares = 0 };
	const struct bsn_dc_pool *pool = new_pool(b, &attr);

	assert_int_equal(pool->attr.initiators, 8);
	assert_int_equal(pool->count, 9);
}

static void what_does_not_fit_is_refused(struct bench *b)
{
	struct rig *r = make_of(b, NULL);
	const struct bsn_qp_attr rc = {
		.type = BSN_QP_RC, .cq = r->into, .recv_depth = 4, .send_depth = 4
	};
	struct bsn_address address;
	struct bsn_dc_error error;
	struct bsn_ep *ep;

	fails(EINVAL, "initiators", try_pool(b, .initiators = 1 << 30));
	fails(EINVAL, "policy 2", try_pool(b, .policy = (enum bsn_dc_policy)2));
	fails(EINVAL, "turn_bytes", try_pool(b, .turn_bytes = 1ull << 41));
	fails(EINVAL, "65000 initiators", try_pool(b, .initiators = 65000, .spares = 535));
	fails(EINVAL, "65534 initiators and 1 spares", try_pool(b, .initiators = MOST_SLOTS - 1));
	fails(EINVAL, "17", try_pool(b, .connect.mtu = 17));
	fails(EINVAL, "inline", try_pool(b, .max_inline = 100000));
	fails(EINVAL, "pool", bsn_dc_pool_create(b->device, NULL, NULL));
	ok(bsn_qp_address(bench_qp(b, &rc), &address));
	fails(EPROTO, "DC", try_peer(r, &address));
	memset(&address, 0x5a, sizeof(address));
	fails(EPROTO, "address", try_peer(r, &address));
	fails(EINVAL, "pool", bsn_dc_peer_create(NULL, &address, NULL, NULL, &ep));
	address = target_address(r, 0);
	address.bytes[0] ^= 1; /* the mark of ours, with the version */
	fails(EPROTO, "address", try_peer(r, &address));
	fails(EINVAL, "peer", bsn_dc_peer_error(NULL, &error));
	fails(EINVAL, "error", bsn_dc_peer_error(r->ep[0], NULL));
	ok(write_to(r, 0, 1));
	fails(EBUSY, "outstanding", bsn_dc_peer_destroy(r->ep[0]));
	assert_int_equal(work(r), 1);
	ok(bsn_dc_peer_destroy(NULL));
	ok(bsn_dc_pool_destroy(NULL));
	assert_null(bsn_dc_pool_cq(NULL));
	assert_non_null(bsn_dc_pool_cq(r->pool));
}

#define ANOTHER_LINK(what) CASE_OF(an_address_of_another_link_is_refused, what)

static const struct bench_case cases[] = {
	{ CASE(a_set_that_fits_stays_connected), ON_DIRECT },
	{ CASE(a_queue_takes_sixteen), ON_DIRECT },
	{ CASE(who_was_used_least_recently_makes_room), ON_DIRECT },
	{ CASE(an_idle_connection_is_made_anew), ON_DIRECT, .fault_plan = "nth=3 delay 2000000" },
	{ CASE(connections_are_told_where_they_are_known), BARE, OWN, MODEL },
	AND_ON_ROCE(every_post_binds, ON_DIRECT),
	{ CASE(a_wrong_access_key_fails_its_peer), ON_DIRECT },
	AND_ON_ROCE(at_random, ON_DIRECT),
	{ CASE(a_miss_binds_once_by_each_policy), ON_DIRECT },
	{ CASE(at_random_by_places), ON_DIRECT },
	{ CASE(at_random_by_many), ON_DIRECT },
	{ CASE(at_random_by_connections), ON_VERBS },
	{ CASE(thousands_of_peers), ON_DIRECT },
	{ CASE(what_does_not_fit_is_refused), ON_DIRECT },
	{ ANOTHER_LINK("of InfiniBand"), ON_DIRECT },
	{ ANOTHER_LINK("by RoCE"), ON_DIRECT, ROCE },
	{ ANOTHER_LINK("by InfiniBand"), ON_DIRECT },
	{ ANOTHER_LINK("of InfiniBand, by connections"), ON_VERBS },
	{ ANOTHER_LINK("by RoCE, by connections"), ON_VERBS, ROCE },
	{ ANOTHER_LINK("by InfiniBand, by connections"), ON_VERBS },
	{ CASE(an_address_of_another_subnet_is_refused), ON_DIRECT },
	{ CASE_OF(an_address_of_another_subnet_is_refused, "by connections"), ON_VERBS },
	{ CASE(a_pool_has_an_initiator), ON_DIRECT },
	{ CASE_OF(a_pool_has_an_initiator, "by connections"), ON_VERBS },
};

RANDOM_MAIN("dc_pool")
