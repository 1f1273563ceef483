/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pools of DC initiators: who has which, who waits, and who is not concerned when a peer fails. On
 * plain verbs initiators are connected on demand: dc_rc.c.
 */
#include "dc/pool.h" /* before cmocka.h, which has a macro fail() */

#include "dc_rig.h"
#include "nic/tables.h"

#include <infiniband/mlx5dv.h>
#include <stdio.h>

static int write_bytes(struct rig *r, int p, uint32_t bytes)
{
	const struct bsn_sge local = bench_sge(r->b, 0, 0, bytes);
	const struct bsn_remote to = bench_remote(r->b, 1, INTO);

	return bsn_write(r->ep[p], &local, &to, 1, NOW);
}

/*
 * What the pool counts is what the device had to connect, since the peers here have a target each.
 */
static void expect_connects(const struct rig *r, uint64_t count)
{
	assert_true(counters_of(r).has_connects);
	assert_int_equal(counters_of(r).connects, count);
	assert_int_equal(counters_of(r).bindings, count);
	assert_int_equal(model_count(CX_DC_connect) - r->connects, count);
}

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
						       .policy = k / 4 ? BSN_DC_HASHED : BSN_DC_LRU };
		const bool is_taken = attr.streams == 1 || attr.initiators == 2;
		struct rig r;

		if (!is_taken)
			continue;
		make(b, &r, &attr);
		for (unsigned id = 0; id < 4 * PEERS; id++) {
			const uint64_t before = counters_of(&r).bindings;
			write_and_finish(&r, (int)(id % PEERS), id);
			assert_in_range(counters_of(&r).bindings, before + (attr.streams == 1), before + 1);
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

static void every_post_binds(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2, .max_inline = 200, .max_send_sge = 3 };
	const struct bsn_sge local[3] = { bench_sge(b, 0, 0, 8), bench_sge(b, 0, 8, 8),
					  bench_sge(b, 0, 16, 8) };
	const struct bsn_sge into = bench_sge(b, 1, INTO, 4096);
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	struct bsn_wr wr = { .opcode = BSN_OPCODE_RDMA_WRITE, .sge = local, .sge_count = 1,
			     .remote = to };
	struct bsn_prepared prepared;
	struct rig r;
	uint64_t id = 0;

	make(b, &r, &attr);
	ok(bsn_prepare(r.ep[0], &wr, &prepared));
	for (int round = 0; round < 3; round++) {
		for (int kind = 0; kind < 9; kind++, id++) {
			struct bsn_ep *ep = r.ep[id % TARGETS];
			const uint32_t inline_bytes = round ? 150 : 8;
			if (kind >= 6)
				ok(bsn_recv(r.srq, &into, 0));
			switch (kind) {
			case 0: ok(bsn_write(ep, local, &to, id, NOW)); break;
			case 1: ok(bsn_read(ep, local, &to, id, NOW)); break;
			case 2: ok(bsn_write_sgl(ep, local, 3, &to, id, NOW)); break;
			case 3: ok(bsn_fetch_add(ep, local, &to, 1, id, NOW)); break;
			case 4: ok(bsn_post_prepared(ep, &prepared, id, NOW)); break;
			case 5:
				ok(bsn_write_inline(ep, bench_at(b, 0, 0), inline_bytes, &to, id, NOW));
				break;
			case 6: ok(bsn_send(ep, local, id, NOW)); break;
			case 7: ok(bsn_send_inline(ep, bench_at(b, 0, 0), inline_bytes, id, NOW)); break;
			case 8: ok(bsn_send_imm(ep, local, 1, id, NOW)); break;
			}
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

/* -- operations that not every device has ------------------------------------------------------ */

enum { BESIDE = 16 }; /* so many bytes before the target is where an atomic's result goes */

/* Fields of four bits: no carry leaves one. */
static int add_fields(struct rig *r, int p, unsigned bytes)
{
	const struct bsn_sge result = bench_sge(r->b, 1, INTO - BESIDE, bytes);
	const struct bsn_remote to = bench_remote(r->b, 1, INTO);
	const struct bsn_masked_fa fa = { 0x11, 0x88888888 };

	return bsn_masked_fetch_add(r->ep[p], &result, &to, &fa, bytes, 7, NOW);
}

static int swap_low_byte(struct rig *r, int p, unsigned bytes)
{
	const struct bsn_sge result = bench_sge(r->b, 1, INTO - BESIDE, bytes);
	const struct bsn_remote to = bench_remote(r->b, 1, INTO);
	const struct bsn_masked_cs cs = { .swap = 0xab, .swap_mask = 0xff, .compare = 0x1200,
					  .compare_mask = 0xff00 };

	return bsn_masked_cmp_swap(r->ep[p], &result, &to, &cs, bytes, 7, NOW);
}

static void expect_word(struct rig *r, int p, unsigned opcode, unsigned bytes, uint64_t before, uint64_t after)
{
	const uint8_t *result = bench_at(r->b, 1, INTO - BESIDE);
	uint64_t now;

	assert_int_equal(work(r), 1);
	expect(r, 0, p, 7, opcode, IBV_WC_SUCCESS);
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
	const struct bsn_dc_pool_attr attr = { .initiators = 2, .max_reads = max_reads };
	struct rig r;

	make(b, &r, &attr);
	for (int k = 0; k < 12; k++) {
		const unsigned bytes = k % 2 ? 4 : 8;
		const int p = k / 4;
		const uint64_t before = 0x12f7;

		memcpy(bench_at(b, 1, INTO), &before, sizeof(before));
		ok(add_fields(&r, p, bytes));
		expect_word(&r, p, BSN_OPCODE_ATOMIC_MASKED_FA, bytes, before, 0x1208);
		ok(swap_low_byte(&r, p, bytes));
		expect_word(&r, p, BSN_OPCODE_ATOMIC_MASKED_CS, bytes, 0x1208, 0x12ab);
	}
	expect_connects(&r, 3);
	assert_int_equal(add_fields(&r, 0, 3), -EINVAL);
	unmake(&r);
}

static void masked_atomics(struct bench *b)
{
	masked_atomics_go_to_peers(b, 0);
	masked_atomics_go_to_peers(b, 2);
}

static void masked_atomics_have_the_limit_of_reads(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .max_reads = 2 };
	struct rig r;

	make(b, &r, &attr);
	ok(add_fields(&r, 0, 8));
	ok(swap_low_byte(&r, 0, 4));
	assert_int_equal(add_fields(&r, 0, 8), -EAGAIN);
	assert_non_null(strstr(bsn_error_text(), "max_reads"));
	assert_int_equal(work(&r), 2);
	unmake(&r);
}

static int copy_by(struct rig *r, int p, uint32_t bytes)
{
	const struct bsn_sge from = bench_sge(r->b, 0, 0, bytes), to = bench_sge(r->b, 1, INTO, bytes);
	const struct bsn_sge status = bench_sge(r->b, 1, 2 * INTO, 64);

	return bsn_memcpy(r->ep[p], &to, &from, &status, 7, NOW);
}

/* No peer takes part, so the device connects nobody; the order is that of the peer's requests. */
static void copies_are_made_by_initiators(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1 };
	struct rig r;

	make(b, &r, &attr);
	for (int p = 0; p < 3; p++) {
		memset(bench_at(b, 1, INTO), 0, LENGTH + 1);
		ok(copy_by(&r, p, LENGTH));
		assert_int_equal(copy_by(&r, p + 3, LENGTH), -EAGAIN);
		assert_int_equal(work(&r), 2);
		expect(&r, 0, p, 7, BSN_OPCODE_MMO, IBV_WC_SUCCESS);
		expect(&r, 1, p + 3, 0, BSN_DC_READY, IBV_WC_SUCCESS);
		assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), LENGTH);
		assert_int_equal(*bench_at(b, 1, INTO + LENGTH), 0);
		poll(&r); /* it does not use its turn */
	}
	assert_int_equal(counters_of(&r).connects, 0);
	ok(copy_by(&r, 0, LENGTH));
	ok(write_to(&r, 0, 8));
	assert_int_equal(work(&r), 2);
	expect(&r, 0, 0, 7, BSN_OPCODE_MMO, IBV_WC_SUCCESS);
	expect(&r, 1, 0, 8, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	assert_int_equal(counters_of(&r).connects, 1);
	assert_int_equal(copy_by(&r, 0, 0), -EMSGSIZE);
	unmake(&r);
}

static void use_a_turn(struct bench *b, unsigned copies, unsigned swaps, unsigned revocations)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .turn_bytes = 8 * LENGTH };
	struct rig r;

	make(b, &r, &attr);
	ok(write_to(&r, 0, 1));
	assert_int_equal(write_to(&r, 1, 1), -EAGAIN); /* from here on it is counted */
	while (copies--)
		ok(copy_by(&r, 0, LENGTH));
	while (swaps--)
		ok(swap_low_byte(&r, 0, 4));
	softcx_step(1);
	poll(&r);
	assert_int_equal(counters_of(&r).revocations, revocations);
	for (int k = 0; k < 3; k++)
		work(&r);
	unmake(&r);
}

/*
 * They count as what they move: the bytes of a copy once, those of an atomic without its operands.
 */
static void they_count_in_a_turn(struct bench *b)
{
	use_a_turn(b, 7, 0, 0);
	use_a_turn(b, 8, 0, 1);
	use_a_turn(b, 0, 8, 0);
	use_a_turn(b, 7, 16, 1);
}

static void they_are_refused(struct bench *b)
{
	struct rig r;

	make(b, &r, NULL);
	for (unsigned bytes = 4; bytes <= 8; bytes += 4) {
		assert_int_equal(add_fields(&r, 0, bytes), -EOPNOTSUPP);
		assert_non_null(strstr(bsn_error_text(), "masks"));
		assert_int_equal(swap_low_byte(&r, 0, bytes), -EOPNOTSUPP);
	}
	assert_int_equal(copy_by(&r, 0, LENGTH), -EOPNOTSUPP);
	assert_non_null(strstr(bsn_error_text(), "copy"));
	assert_int_equal(counters_of(&r).waiting, 0);
	unmake(&r);
}

static void expect_no_umr(int result)
{
	assert_int_equal(result, -EOPNOTSUPP);
	assert_non_null(strstr(bsn_error_text(), "RC"));
}

/* Eight bytes out of each 256, as one SGE. */
static const struct bsn_map *map_columns(struct bsn_layout *columns, struct bsn_ep *ep)
{
	const struct bsn_map *map = NULL;

	if (ep->sq->has_peers)
		expect_no_umr(bsn_layout_map(columns, ep, BSN_MAP_KEY, &map));
	else
		ok(bsn_layout_map(columns, ep, BSN_MAP_KEY, &map));
	return map;
}

static void expect_columns(struct bench *b, const uint8_t *packed)
{
	for (unsigned k = 0; k < LENGTH / 8; k++)
		assert_memory_equal(packed + 8 * k, bench_at(b, 0, 256 * k), 8);
}

/*
 * An initiator posts no UMR: an RC QP does, and once that has completed peers are posted to with
 * the mkey.
 */
static void layouts_are_local_memory(struct bench *b)
{
	struct bsn_mkey_pool *keys = make_pool(b, 4, 16);
	const struct bsn_part part = column(b, 0);
	struct bsn_layout *columns = make_layout(keys, &part, 1, LENGTH / 8);
	const struct bsn_sge into = bench_sge(b, 1, INTO, LENGTH);
	struct bsn_wr wr = { .opcode = BSN_OPCODE_RDMA_WRITE, .flags = NOW, .id = 7,
			     .remote = bench_remote(b, 1, INTO) };
	const struct bsn_map *map;
	struct rig r;

	make(b, &r, NULL);
	map_columns(columns, r.ep[0]);
	write_and_finish(&r, 0, 1); /* it has an initiator then */
	map_columns(columns, r.ep[0]);
	map = map_columns(columns, b->ep[0]);
	complete_all(b);
	for (int p = 0; p < 2; p++) {
		memset(bench_at(b, 1, INTO), 0, LENGTH);
		ok(post_map(r.ep[p], wr, map));
		assert_int_equal(work(&r), 1);
		expect(&r, 0, p, 7, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		expect_columns(b, bench_at(b, 1, INTO));
	}
	wr.opcode = BSN_OPCODE_SEND;
	ok(bsn_recv(r.srq, &into, 0));
	ok(post_map(r.ep[1], wr, map));
	assert_int_equal(work(&r), 1);
	memset(bench_at(b, 1, INTO), 0x77, LENGTH);
	wr.opcode = BSN_OPCODE_RDMA_READ;
	ok(post_map(r.ep[1], wr, map));
	assert_int_equal(work(&r), 1);
	expect(&r, 0, 1, 7, BSN_OPCODE_RDMA_READ, IBV_WC_SUCCESS);
	expect_columns(b, bench_at(b, 1, INTO));
	drop(map);
	ok(bsn_mkey_pool_destroy(keys));
	unmake(&r);
}

/* A SEND takes the mkey back that its target made for whom it comes from. */
static void a_peer_may_invalidate(struct bench *b)
{
	const struct bsn_mkey_pool_attr attr = { .count = 2, .max_translations = 16,
						 .peers_may_invalidate = true };
	struct bsn_mkey_pool *keys = make_pool_of(b, &attr);
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH), into = bench_sge(b, 1, INTO, LENGTH);
	const struct bsn_part part = column(b, 0);
	struct bsn_layout *layout = make_layout(keys, &part, 1, 8);
	struct bsn_mkey *mkey;
	struct rig r;

	make(b, &r, NULL);
	ok(bsn_mkey_take(keys, &mkey));
	expect_no_umr(bsn_mkey_configure(r.ep[0], mkey, layout, 1, NOW));
	ok(bsn_mkey_configure(b->ep[0], mkey, layout, 1, 0));
	complete_all(b);
	expect_no_umr(bsn_mkey_invalidate(r.ep[0], mkey, 1, NOW)); /* a peer without an initiator */
	ok(bsn_recv(r.srq, &into, 2));
	ok(bsn_send_inval(r.ep[0], &local, mkey->rkey, 3, NOW));
	expect_no_umr(bsn_mkey_invalidate(r.ep[0], mkey, 1, NOW));
	assert_int_equal(work(&r), 1);
	expect(&r, 0, 0, 3, BSN_OPCODE_SEND_INVAL, IBV_WC_SUCCESS);
	assert_int_equal(bsn_poll(r.into, r.done, MAX_DONE), 1);
	assert_int_equal(r.done[0].flags & BSN_C_INVAL ? r.done[0].imm : 0, mkey->rkey);
	ok(bsn_invalidated(b->device, mkey->rkey));
	ok(bsn_mkey_give(mkey));
	ok(bsn_layout_destroy(layout));
	ok(bsn_mkey_pool_destroy(keys));
	unmake(&r);
}

/* -- ways and checks --------------------------------------------------------------------------- */

static uint32_t port_of(struct rig *r, int p)
{
	const struct bsn_peer *peer = (const struct bsn_peer *)(const void *)r->ep[p];
	uint8_t head[BSN_AV_DC_SIZE];
	struct bsn_av_dc av;

	memcpy(head, &peer->head, sizeof(head));
	bsn_av_dc_decode(&av, head);
	return av.rlid;
}

/* The request as the device was given it. */
static uint32_t port_of_request(struct rig *r, int p)
{
	const struct bsn_sge local = bench_sge(r->b, 0, 0, LENGTH);
	const struct bsn_remote nowhere = { 0, 0 };
	struct bsn_dc_error error;
	struct bsn_av_dc av;

	ok(bsn_write(r->ep[p], &local, &nowhere, 4, NOW));
	assert_int_equal(work(r), 1);
	assert_int_equal(r->done[0].status, IBV_WC_REM_ACCESS_ERR);
	ok(bsn_dc_peer_error(r->ep[p], &error));
	bsn_av_dc_decode(&av, error.wqe + BSN_DS_SIZE);
	assert_int_equal(av.dc_key, KEY);
	assert_int_equal(bsn_dc_pool_repair(r->pool), 0);
	ok(bsn_dc_peer_reset(r->ep[p]));
	return av.rlid;
}

/* Peers of one host have ports of their own, and one changes from request to request. */
static void a_peer_has_its_udp_port(struct bench *b)
{
	struct bsn_connect_attr of_v1 = { .gid_index = 2 }; /* of the same IPv4 address */
	struct bsn_address address;
	struct bsn_ep *ep;
	uint32_t others;
	struct rig r;

	make(b, &r, NULL);
	assert_null(why_not(b, "dc-udp-port"));
	others = port_of(&r, 1);
	assert_true(others >= 0xc000);
	assert_int_equal(port_of_request(&r, 1), others);
	for (uint32_t port = 0xc000; port <= 0xffff; port += 0x1555) {
		ok(bsn_dc_peer_udp_port(r.ep[0], (uint16_t)port));
		write_and_finish(&r, 0, 1);
		assert_int_equal(port_of_request(&r, 0), port);
	}
	assert_int_equal(port_of_request(&r, 1), others);
	assert_int_equal(bsn_dc_peer_udp_port(r.ep[0], 0xbfff), -EINVAL);
	assert_int_equal(bsn_dc_peer_udp_port(NULL, 0xc000), -EINVAL);
	assert_int_equal(port_of(&r, 0), 0xffff);
	ok(bsn_dct_address(r.dct[0], &address));
	ok(bsn_dc_peer_create(r.pool, &address, &of_v1, NULL, &ep));
	assert_int_equal(bsn_dc_peer_udp_port(ep, 0xc000), -EOPNOTSUPP);
	assert_non_null(strstr(bsn_error_text(), "RoCE v1"));
	ok(bsn_dc_peer_destroy(ep));
	unmake(&r);
}

/* On InfiniBand and on plain verbs; and softcx is not bonded. */
static void what_the_way_has_not_is_refused(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .lag_port = 1 };
	const bool is_on_verbs = b->kind == BENCH_VERBS;
	struct bsn_dc_pool *pool;
	struct rig r;

	make(b, &r, NULL);
	assert_non_null(why_not(b, "dc-udp-port"));
	assert_int_equal(bsn_dc_peer_udp_port(r.ep[0], 0xc000), -EOPNOTSUPP);
	assert_non_null(strstr(bsn_error_text(), is_on_verbs ? "plain verbs" : "InfiniBand"));
	assert_non_null(why_not(b, "dc-lag-port"));
	assert_int_equal(why_not(b, "dc-streams") != NULL, is_on_verbs);
	assert_int_equal(why_not(b, "dc-full-handshake") != NULL, is_on_verbs);
	assert_int_equal(bsn_dc_pool_create(b->device, &attr, &pool), -EOPNOTSUPP);
	assert_non_null(strstr(bsn_error_text(), is_on_verbs ? "plain verbs" : "bonded"));
	unmake(&r);
}

enum { LAG_PORTS = 2 };

static uint8_t lag_port_of(const struct rig *r, uint32_t initiator)
{
	struct bsn_qp *qp = r->pool->initiators[initiator].qp;
	uint8_t configured = 0, active = 0;

	if (!bsn_qp_info(qp)->verbs) /* made by a command */
		return cx_qp_find(softcx_hca(), bsn_qp_info(qp)->number)->lag_port;
	ok(-mlx5dv_query_qp_lag_port(bsn_qp_info(qp)->verbs, &configured, &active));
	assert_int_equal(active, configured);
	return configured;
}

/*
 * The driver gives the queues that it makes the ports in turn; what the pool was told holds for all
 * of its own, spares too.
 */
static void initiators_send_by_the_port_of_the_bond(struct bench *b)
{
	struct bsn_dc_pool_attr attr = { .initiators = 3, .spares = 1 };
	struct rig r;

	for (attr.lag_port = 0; attr.lag_port <= LAG_PORTS; attr.lag_port++) {
		make(b, &r, &attr);
		assert_null(why_not(b, "dc-lag-port"));
		for (uint32_t i = 0; i < attr.initiators + attr.spares; i++)
			if (attr.lag_port)
				assert_int_equal(lag_port_of(&r, i), attr.lag_port);
			else if (i && !wants_full(b))
				assert_int_not_equal(lag_port_of(&r, i), lag_port_of(&r, i - 1));
		ok(write_flags(&r, 0, 1, NOW));
		assert_int_equal(work(&r), 1);
		expect(&r, 0, 0, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		unmake(&r);
	}
}

static void a_port_that_the_bond_has_not_is_refused(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .lag_port = LAG_PORTS + 1 };
	struct bsn_dc_pool *pool = NULL;

	is_refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL, "lag_port");
	assert_null(pool);
}

/* The model is as strict as the pool. */
static void the_device_refuses_it_too(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .lag_port = LAG_PORTS };
	struct ibv_qp *qp;
	struct rig r;

	make(b, &r, &attr);
	qp = bsn_qp_info(r.pool->initiators[0].qp)->verbs;
	if (qp) {
		assert_int_not_equal(mlx5dv_modify_qp_lag_port(qp, LAG_PORTS + 1), 0);
		assert_int_not_equal(mlx5dv_modify_qp_lag_port(qp, 0), 0);
	}
	assert_int_equal(lag_port_of(&r, 0), LAG_PORTS);
	unmake(&r);
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
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .spares = 1 };
	struct rig r;

	make(b, &r, &attr);
	memset(bench_at(b, 1, INTO), 0x5a, LENGTH);
	ok(check_peer(r.ep[0], 5));
	assert_int_equal(check_peer(r.ep[1], 6), -EAGAIN);
	assert_int_equal(work(&r), 2);
	expect(&r, 0, 0, 5, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect_ready(&r, 1, 1);
	ok(bsn_dct_destroy(r.dct[1]));
	r.dct[1] = NULL;
	ok(check_peer(r.ep[1], 6));
	assert_int_equal(work(&r), 1);
	expect(&r, 0, 1, 6, BSN_OPCODE_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(check_peer(r.ep[1], 7), -ENOTCONN);
	ok(check_peer(r.ep[0], 8));
	assert_int_equal(work(&r), 1);
	expect(&r, 0, 0, 8, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	unmake(&r);
}

/* -- who waits --------------------------------------------------------------------------------- */

static void who_waits_has_its_turn_in_order(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2 };
	struct rig r;

	make(b, &r, &attr);
	ok(write_to(&r, 0, 1));
	ok(write_to(&r, 1, 1));
	for (int p = 2; p < 6; p++) {
		assert_int_equal(write_to(&r, p, 1), -EAGAIN);
		assert_non_null(strstr(bsn_error_text(), "turn"));
	}
	assert_int_equal(write_to(&r, 2, 1), -EAGAIN); /* again is no second place */
	assert_int_equal(counters_of(&r).waiting, 4);
	assert_int_equal(poll(&r), 0);
	assert_int_equal(work(&r), 4);
	expect_ready(&r, 2, 2);
	expect_ready(&r, 3, 3);
	assert_int_equal(write_to(&r, 6, 1), -EAGAIN); /* who comes later does not overtake */
	ok(write_to(&r, 2, 1));
	ok(write_to(&r, 3, 1));
	assert_int_equal(work(&r), 4);
	expect_ready(&r, 2, 4);
	expect_ready(&r, 3, 5);
	assert_int_equal(poll(&r), 1); /* neither makes use of it */
	expect_ready(&r, 0, 6);
	assert_int_equal(counters_of(&r).passed, 2);
	ok(write_to(&r, 6, 1));
	assert_int_equal(work(&r), 1);
	assert_int_equal(counters_of(&r).waiting, 0);
	assert_int_equal(counters_of(&r).turns, 5);
	unmake(&r);
}

/* An initiator is idle, but the poll had no place left to tell who waits for it. */
static void who_comes_later_passes_nobody(struct bench *b)
{
	for (unsigned policy = BSN_DC_LRU; policy <= BSN_DC_HASHED; policy++) {
		const struct bsn_dc_pool_attr attr = { .initiators = 1, .policy = policy };
		struct rig r;

		make(b, &r, &attr);
		write_and_finish(&r, 0, 1);
		ok(write_to(&r, 1, 1));
		assert_int_equal(write_to(&r, 2, 1), -EAGAIN);
		run_model();
		assert_int_equal(bsn_poll(bsn_dc_pool_cq(r.pool), r.done, 1), 1);
		assert_int_equal(write_to(&r, 3, 1), -EAGAIN);
		assert_int_equal(poll(&r), 1);
		expect_ready(&r, 0, 2);
		ok(write_to(&r, 2, 1));
		assert_true(work(&r) >= 1);
		expect(&r, 0, 2, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		unmake(&r);
	}
}

/* Peers 0 and 2 have one place, 1 and 3 the other: that 1 may not post does not help 2. */
static void who_goes_on_leaves_its_place(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2, .policy = BSN_DC_HASHED, .turn_bytes = 4 * LENGTH };
	bool is_told = false;
	struct rig r;

	make(b, &r, &attr);
	ok(write_to(&r, 1, 1));
	assert_int_equal(write_to(&r, 3, 1), -EAGAIN);
	for (uint64_t id = 2; id < 6; id++)
		ok(write_to(&r, 1, id));
	poll(&r);
	assert_int_equal(counters_of(&r).revocations, 1);
	ok(bsn_dc_peer_destroy(r.ep[3]));
	work(&r);
	ok(write_to(&r, 0, 1));
	assert_int_equal(write_to(&r, 2, 1), -EAGAIN);
	for (uint64_t id = 2; !is_told && id < 50; id++) {
		const int err = write_to(&r, 0, id);

		assert_true(!err || err == -EAGAIN);
		softcx_step(1); /* something is always outstanding */
		is_told = poll(&r) && r.done[r.count - 1].opcode == BSN_DC_READY;
	}
	assert_true(is_told);
	expect_ready(&r, r.count - 1, 2);
	add_peer(&r, 3);
	unmake(&r);
}

/* The only idle one of many: who had a turn there made no use of it. */
static void who_passes_makes_room_at_once(struct bench *b)
{
	enum { MANY = MOST_LOOKS + 4 };
	_Static_assert(PEERS == 2 * MANY, "each has its turn");

	for (int last = MANY; last < 2 * MANY; last++) {
		const struct bsn_dc_pool_attr attr = { .initiators = MANY };
		struct rig r;

		make(b, &r, &attr);
		for (int p = 0; p < MANY; p++)
			ok(write_to(&r, p, 1));
		for (int p = MANY; p < 2 * MANY; p++)
			assert_int_equal(write_to(&r, p, 1), -EAGAIN);
		assert_int_equal(work(&r), 2 * MANY);
		for (int p = MANY; p < 2 * MANY; p++)
			if (p != last)
				ok(write_to(&r, p, 1));
		assert_int_equal(write_to(&r, 0, 2), -EAGAIN);
		assert_int_equal(poll(&r), 1);
		expect_ready(&r, 0, 0);
		assert_int_equal(work(&r), MANY - 1);
		unmake(&r);
	}
}

/* Nothing that the program sees was signaled, but somebody waits. */
static void an_unsignaled_end_is_found_out(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .signal_every = -1 };
	struct rig r;

	make(b, &r, &attr);
	for (int i = 0; i < 5; i++)
		ok(write_flags(&r, 0, 1, BSN_F_RING));
	assert_int_equal(work(&r), 0);
	assert_int_equal(counters_of(&r).markers, 0);
	ok(write_flags(&r, 0, 1, 0)); /* and one is not even published */
	assert_int_equal(write_to(&r, 1, 2), -EAGAIN);
	assert_int_equal(counters_of(&r).markers, 1);
	assert_int_equal(write_to(&r, 1, 2), -EAGAIN);
	assert_int_equal(counters_of(&r).markers, 1);
	assert_int_equal(work(&r), 1);
	expect_ready(&r, 0, 1);
	ok(write_to(&r, 1, 2));
	assert_int_equal(work(&r), 1);
	unmake(&r);
}

static int send_to(struct rig *r, int p)
{
	const struct bsn_sge local = bench_sge(r->b, 0, 0, LENGTH);

	return bsn_send(r->ep[p], &local, 1, NOW);
}

/* Gives what stuck SENDs want, until so many are done. */
static void let_go(struct rig *r, int sends)
{
	const struct bsn_sge into = bench_sge(r->b, 1, INTO, LENGTH);
	struct bsn_completion c;

	while (sends > 0) {
		ok(bsn_recv(r->srq, &into, 0));
		while (!poll(r))
			softcx_step(100);
		sends -= r->count;
		assert_int_equal(bsn_poll(r->into, &c, 1), 1);
	}
}

/*
 * All initiators but one are stuck, for want of receives; the requests of that one are silent. Who
 * sleeps when a poll has told nothing is told before that of what the program does not see.
 */
static void an_end_among_many_is_found_out(struct bench *b)
{
	enum { MANY = 20 };

	for (int free = 0; free < MANY; free++) {
		const struct bsn_dc_pool_attr attr = { .initiators = MANY, .signal_every = -1, .connect = { .rnr_retry = 7 } };
		struct rig r;

		make(b, &r, &attr);
		for (int p = 0; p < MANY; p++)
			ok(p == free ? write_flags(&r, p, 1, BSN_F_RING) : send_to(&r, p));
		assert_int_equal(write_to(&r, MANY, 1), -EAGAIN);
		assert_int_equal(poll(&r), 0);
		ok(write_flags(&r, free, 2, BSN_F_RING));
		assert_int_equal(poll(&r), 0);
		softcx_step(1000);
		assert_int_equal(poll(&r), 1);
		expect_ready(&r, 0, MANY);
		let_go(&r, MANY - 1);
		unmake(&r);
	}
}

/* What was appended and signaled, but not published, is published for whoever waits. */
static void an_end_that_nobody_rang_is_rung(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1 };
	struct rig r;

	make(b, &r, &attr);
	ok(write_flags(&r, 0, 1, BSN_F_SIGNALED));
	assert_int_equal(work(&r), 0);
	assert_int_equal(write_to(&r, 1, 2), -EAGAIN);
	assert_int_equal(work(&r), 2);
	expect(&r, 0, 0, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect_ready(&r, 1, 1);
	unmake(&r);
}

/* One that goes on for ever, and always has something outstanding. */
static void who_never_stops_starves_nobody(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .turn_bytes = 16 * LENGTH };
	unsigned hogged = 0, served = 0;
	struct rig r;

	make(b, &r, &attr);
	ok(write_to(&r, 0, 1));
	for (unsigned step = 0; step < 1000; step++) {
		for (unsigned i = 0; i < 3; i++) /* more than the device does meanwhile */
			hogged += !write_to(&r, 0, 1);
		if (!write_to(&r, 1, 2))
			served++;
		softcx_step(2);
		poll(&r);
	}
	assert_true(served > 50 && hogged > 50);
	assert_true(counters_of(&r).revocations > 10);
	for (unsigned i = 0; i < 10; i++)
		work(&r);
	unmake(&r);
}

/* Peers that want to post as much as they can, messages of these lengths, through one initiator. */
static void share(struct bench *b, const uint32_t *length, uint64_t *bytes, int peers, uint64_t turn)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .turn_bytes = turn, .send_depth = 32 };
	struct rig r;

	make(b, &r, &attr);
	for (unsigned step = 0; step < 3000; step++) {
		for (int p = 0; p < peers; p++)
			for (int k = 0; k < 4 && !write_bytes(&r, p, length[p]); k++)
				bytes[p] += length[p];
		softcx_step(3);
		poll(&r);
	}
	for (unsigned i = 0; i < 2 * TARGETS; i++)
		work(&r);
	unmake(&r);
}

/* Who sends long messages gets as many bytes as who sends short ones, not as many messages. */
static void turns_are_of_bytes(struct bench *b)
{
	static const uint32_t lengths[] = { 64, 1500, 400 };
	uint64_t bytes[3] = { 0 };

	share(b, lengths, bytes, 3, 4096);
	for (int p = 1; p < 3; p++)
		if (bytes[p] < bytes[0] * 8 / 10 || bytes[p] > bytes[0] * 12 / 10)
			fail_msg("%u B: %llu bytes in all, and %llu of messages of 64 B", lengths[p],
				 (unsigned long long)bytes[p], (unsigned long long)bytes[0]);
}

/* One message is longer than a turn: it waits until it has paid for it. */
static void who_owes_is_passed(struct bench *b)
{
	static const uint32_t lengths[] = { 64, 4000 };
	uint64_t bytes[2] = { 0 };

	share(b, lengths, bytes, 2, 512);
	if (bytes[1] < bytes[0] * 8 / 10 || bytes[1] > bytes[0] * 12 / 10)
		fail_msg("%llu bytes, and %llu", (unsigned long long)bytes[1],
			 (unsigned long long)bytes[0]);
}

static bool is_told(const struct rig *r, int p)
{
	for (int k = 0; k < r->count; k++)
		if (r->done[k].opcode == BSN_DC_READY && r->done[k].user == &r->user[p])
			return true;
	return false;
}

/*
 * It posted eight turns at once while others waited, and nobody looked before its initiator was
 * taken.
 */
static void who_leaves_in_debt_is_passed(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .turn_bytes = 512 };
	unsigned others = 0;
	struct rig r;

	make(b, &r, &attr);
	ok(write_to(&r, 0, 1));
	assert_int_equal(write_to(&r, 1, 1), -EAGAIN);
	assert_int_equal(write_to(&r, 2, 1), -EAGAIN);
	ok(write_bytes(&r, 0, 4000));
	work(&r);
	assert_true(is_told(&r, 1));
	assert_int_equal(write_to(&r, 0, 1), -EAGAIN);
	for (unsigned step = 0; !is_told(&r, 0) && step < 100; step++) {
		for (int p = 1; p < 3; p++) {
			others += is_told(&r, p);
			write_bytes(&r, p, 512);
		}
		work(&r);
	}
	assert_true(is_told(&r, 0));
	assert_in_range(others, 6, 10);
	for (unsigned i = 0; i < 10; i++)
		work(&r);
	unmake(&r);
}

/* Each message is a debt of many turns. */
static void a_turn_may_be_a_byte(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .turn_bytes = 1 };
	unsigned told[3] = { 0 };
	struct rig r;

	make(b, &r, &attr);
	for (unsigned step = 0; step < 300; step++) {
		for (int p = 0; p < 3; p++) {
			told[p] += is_told(&r, p);
			write_to(&r, p, 1);
		}
		work(&r);
	}
	for (int p = 0; p < 3; p++)
		assert_in_range(told[p], 20, 200);
	for (unsigned i = 0; i < 10; i++)
		work(&r);
	unmake(&r);
}

/* A peer that waits is destroyed: those behind it have their turn as if it had never been there. */
static void who_waits_may_be_destroyed(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1 };
	struct rig r;

	make(b, &r, &attr);
	ok(write_to(&r, 0, 1));
	for (int p = 1; p < 5; p++)
		assert_int_equal(write_to(&r, p, 1), -EAGAIN);
	for (int p = 1; p < 5; p += 3)
		ok(bsn_dc_peer_destroy(r.ep[p]));
	assert_int_equal(counters_of(&r).waiting, 2);
	assert_int_equal(work(&r), 2);
	expect_ready(&r, 1, 2);
	add_peer(&r, 1);
	add_peer(&r, 4);
	ok(write_to(&r, 2, 1));
	assert_int_equal(work(&r), 2);
	expect_ready(&r, 1, 3);
	ok(write_to(&r, 3, 1));
	work(&r);
	write_and_finish(&r, 1, 2);
	unmake(&r);
}

/* -- READs have a limit ------------------------------------------------------------------------ */

static int read_from(struct rig *r, int p, uint64_t id, unsigned flags)
{
	const struct bsn_sge local = bench_sge(r->b, 0, 0, LENGTH);
	const struct bsn_remote from = bench_remote(r->b, 1, INTO);

	return bsn_read(r->ep[p], &local, &from, id, flags);
}

static int add_to(struct rig *r, int p, uint64_t id)
{
	const struct bsn_sge local = bench_sge(r->b, 0, 0, 8);
	const struct bsn_remote from = bench_remote(r->b, 1, INTO);

	return bsn_fetch_add(r->ep[p], &local, &from, 1, id, NOW);
}

static void expect_held(struct rig *r, int p)
{
	const uint64_t held = counters_of(r).reads_held;

	assert_int_equal(read_from(r, p, 99, NOW), -EAGAIN);
	assert_non_null(strstr(bsn_error_text(), "max_reads"));
	assert_int_equal(add_to(r, p, 99), -EAGAIN);
	assert_int_equal(counters_of(r).reads_held, held + 2);
	assert_int_equal(counters_of(r).waiting, 0);
}

static struct bsn_prepared a_prepared_read(struct rig *r, int p)
{
	const struct bsn_sge local = bench_sge(r->b, 0, 0, LENGTH);
	const struct bsn_wr wr = { .opcode = BSN_OPCODE_RDMA_READ, .sge = &local, .sge_count = 1,
				   .remote = bench_remote(r->b, 1, INTO) };
	struct bsn_prepared prepared;

	ok(bsn_prepare(r->ep[p], &wr, &prepared));
	return prepared;
}

/* Of each initiator; other requests go on, and so do other peers. */
static void reads_have_a_limit(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2, .max_reads = 3 };
	struct bsn_prepared prepared;
	struct rig r;

	make(b, &r, &attr);
	prepared = a_prepared_read(&r, 0);
	ok(read_from(&r, 0, 1, NOW));
	ok(add_to(&r, 0, 2));
	ok(bsn_post_prepared(r.ep[0], &prepared, 3, NOW));
	expect_held(&r, 0);
	assert_int_equal(bsn_post_prepared(r.ep[0], &prepared, 99, NOW), -EAGAIN);
	ok(write_to(&r, 0, 4));
	ok(read_from(&r, 1, 5, NOW));
	assert_int_equal(work(&r), 5);
	for (int k = 0; k < 5; k++)
		assert_int_equal(r.done[k].status, IBV_WC_SUCCESS);
	for (int k = 0; k < 3; k++)
		ok(add_to(&r, 0, 6));
	expect_held(&r, 0);
	assert_int_equal(work(&r), 3);
	assert_int_equal(counters_of(&r).markers, 0);
	unmake(&r);
}

/* Requests of the longest kind: a limit of READs changes nothing. */
static void a_peer_has_room(struct bench *b)
{
	uint32_t room[2];

	for (uint32_t limited = 0; limited < 2; limited++) {
		const struct bsn_dc_pool_attr attr = {
			.initiators = 1, .send_depth = 8, .max_reads = limited * 3
		};
		struct rig r;

		make(b, &r, &attr);
		ok(write_to(&r, 0, 1));
		room[limited] = bsn_room(r.ep[0]);
		assert_int_equal(work(&r), 1);
		unmake(&r);
	}
	assert_in_range(room[0], 1, 2 * 8); /* a ring is rounded up */
	assert_int_equal(room[1], room[0]);
}

/* Nothing that the program sees was signaled, or rung. */
static void a_quiet_read_makes_room(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .max_reads = 2, .signal_every = -1 };
	struct rig r;

	make(b, &r, &attr);
	for (unsigned round = 1; round <= 3; round++) {
		ok(read_from(&r, 0, 1, BSN_F_RING));
		ok(read_from(&r, 0, 1, 0));
		assert_int_equal(work(&r), 0);
		expect_held(&r, 0);
		assert_int_equal(counters_of(&r).markers, round);
		assert_int_equal(work(&r), 0);
	}
	ok(read_from(&r, 0, 1, 0));
	ok(read_from(&r, 0, 1, BSN_F_SIGNALED)); /* it tells, but it is not published */
	expect_held(&r, 0);
	assert_int_equal(work(&r), 1);
	assert_int_equal(counters_of(&r).markers, 3);
	ok(read_from(&r, 0, 2, NOW));
	assert_int_equal(work(&r), 1);
	unmake(&r);
}

/*
 * Those that are done are looked at when there is no room; the index may have gone half round by
 * then, or nearly all.
 */
static void a_read_of_long_ago_makes_room(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .spares = 1, .max_reads = 2 };
	struct rig r;

	for (unsigned quarters = 1; quarters < 4; quarters++) {
		make(b, &r, &attr);
		for (int k = 0; k < 2; k++)
			ok(read_from(&r, 0, 1, NOW));
		expect_held(&r, 0);
		assert_int_equal(work(&r), 2);
		r.pool->initiators[0].sq->wide_pi += quarters << 30;
		for (int k = 0; k < 2; k++)
			ok(read_from(&r, 0, 1, NOW));
		expect_held(&r, 0);
		assert_int_equal(work(&r), 2);
		unmake(&r);
	}
}

/* What was taken back, or has failed, is not outstanding any more. */
static void a_read_that_is_gone_makes_room(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .spares = 1, .max_reads = 2 };
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote nowhere = { 0, 0 };
	struct rig r;

	make(b, &r, &attr);
	ok(read_from(&r, 0, 1, NOW));
	ok(read_from(&r, 0, 2, 0));
	ok(bsn_cancel(r.ep[0]));
	ok(read_from(&r, 0, 3, 0));
	ok(bsn_ring(r.ep[0]));
	expect_held(&r, 0);
	work(&r);
	for (int round = 0; round < 2; round++) { /* both initiators */
		ok(bsn_read(r.ep[0], &local, &nowhere, 4, NOW));
		ok(read_from(&r, 0, 5, NOW));
		assert_int_equal(work(&r), 2);
		expect(&r, 0, 0, 4, BSN_OPCODE_RDMA_READ, IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
		ok(bsn_dc_peer_reset(r.ep[0]));
	}
	for (int round = 0; round < 2; round++) {
		ok(read_from(&r, round, 6, NOW));
		ok(read_from(&r, round, 7, NOW));
		expect_held(&r, round);
		assert_int_equal(work(&r), 2);
	}
	unmake(&r);
}

enum { MOST_READS = 4, READERS = 5 };

/* Returns how many were held back. */
static unsigned read_at_random(struct rig *r, int p, unsigned *reads)
{
	unsigned held = 0;

	for (unsigned left = (unsigned)(random_u64() % 8); left; left--) {
		const bool is_read = random_u64() % 4 != 0;
		const int err = is_read ? read_from(r, p, 1, NOW) : write_to(r, p, 2);

		if (!err)
			reads[p] += is_read;
		assert_true(reads[p] <= MOST_READS);
		if (err && strstr(bsn_error_text(), "max_reads")) {
			assert_true(is_read && reads[p] == MOST_READS);
			held++;
		}
	}
	return held;
}

static void count_read(struct rig *r, unsigned *reads)
{
	poll(r);
	for (int k = 0; k < r->count; k++) {
		assert_int_equal(r->done[k].status, IBV_WC_SUCCESS);
		reads[(int *)r->done[k].user - r->user] -= r->done[k].opcode == BSN_OPCODE_RDMA_READ;
	}
}

/* Never more than so many, and never refused with fewer: a peer has its initiator alone. */
static void reads_at_random(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 3, .max_reads = MOST_READS,
					       .send_depth = 16 };
	unsigned reads[PEERS] = { 0 }, held = 0;
	struct rig r;

	make(b, &r, &attr);
	for (unsigned step = bench_rounds(b, 20000); step; step--) {
		held += read_at_random(&r, (int)(random_u64() % READERS), reads);
		softcx_step(1 + random_u64() % 8);
		count_read(&r, reads);
	}
	for (unsigned k = 0; k < 10; k++) {
		run_model();
		count_read(&r, reads);
	}
	for (int p = 0; p < PEERS; p++)
		assert_int_equal(reads[p], 0);
	assert_int_equal(counters_of(&r).reads_held, held);
	assert_true(held > 10);
	unmake(&r);
}

/* -- each way to read has the limit -- */

enum { WAY_READ, WAY_SGES_1, WAY_SGES_2, WAY_SGES_3, WAY_SGES_4, WAY_COUNTED, WAY_WR, WAY_WR_ADD, WAY_ADD, WAY_SWAP,
       WAY_PREPARED, WAY_PREPARED_SGES, WAY_PREPARED_ADD, WAY_PREPARED_ELSEWHERE, WAYS };

/* Of a READ of so many SGEs, or of an atomic. */
static struct bsn_wr wr_of(struct rig *r, unsigned opcode, struct bsn_sge *sges, unsigned count, unsigned flags)
{
	const bool is_read = opcode == BSN_OPCODE_RDMA_READ;

	for (unsigned k = 0; k < count; k++)
		sges[k] = bench_sge(r->b, 0, 2 * k * LENGTH, is_read ? LENGTH : 8);
	return (struct bsn_wr){ .id = 1,
				.opcode = opcode,
				.sge = sges,
				.sge_count = count,
				.flags = flags,
				.remote = bench_remote(r->b, 1, INTO),
				.swap_add = 1 };
}

static int post_wr(struct rig *r, int p, unsigned opcode, unsigned flags)
{
	struct bsn_sge sges[4];
	const struct bsn_wr wr = wr_of(r, opcode, sges, 1, flags);

	return bsn_post(r->ep[p], &wr);
}

static int read_sges(struct rig *r, int p, unsigned way, unsigned flags)
{
	volatile unsigned count = 3;
	struct bsn_sge sges[4];
	const struct bsn_wr wr = wr_of(r, BSN_OPCODE_RDMA_READ, sges, 4, flags);

	switch (way) {
	case WAY_SGES_1: return bsn_read_sgl(r->ep[p], sges, 1, &wr.remote, 1, flags);
	case WAY_SGES_2: return bsn_read_sgl(r->ep[p], sges, 2, &wr.remote, 1, flags);
	case WAY_SGES_3: return bsn_read_sgl(r->ep[p], sges, 3, &wr.remote, 1, flags);
	case WAY_SGES_4: return bsn_read_sgl(r->ep[p], sges, 4, &wr.remote, 1, flags);
	default: return bsn_read_sgl(r->ep[p], sges, count, &wr.remote, 1, flags);
	}
}

/* Prepared for @by. */
static int post_a_prepared(struct rig *r, int p, struct bsn_ep *by, unsigned opcode, unsigned count, unsigned flags)
{
	struct bsn_sge sges[4];
	const struct bsn_wr wr = wr_of(r, opcode, sges, count, 0);
	struct bsn_prepared prepared;

	ok(bsn_prepare(by, &wr, &prepared));
	return bsn_post_prepared(r->ep[p], &prepared, 1, flags);
}

/* @elsewhere: an endpoint of a pool whose READs have no limit. */
static int read_by(struct rig *r, int p, unsigned way, unsigned flags, struct bsn_ep *elsewhere)
{
	const struct bsn_sge sge = bench_sge(r->b, 0, 0, 8);
	const struct bsn_remote from = bench_remote(r->b, 1, INTO);

	switch (way) {
	case WAY_READ: return read_from(r, p, 1, flags);
	case WAY_WR: return post_wr(r, p, BSN_OPCODE_RDMA_READ, flags);
	case WAY_WR_ADD: return post_wr(r, p, BSN_OPCODE_ATOMIC_FA, flags);
	case WAY_ADD: return bsn_fetch_add(r->ep[p], &sge, &from, 1, 1, flags);
	case WAY_SWAP: return bsn_cmp_swap(r->ep[p], &sge, &from, 1, 2, 1, flags);
	case WAY_PREPARED: return post_a_prepared(r, p, r->ep[p], BSN_OPCODE_RDMA_READ, 1, flags);
	case WAY_PREPARED_SGES: return post_a_prepared(r, p, r->ep[p], BSN_OPCODE_RDMA_READ, 2, flags);
	case WAY_PREPARED_ADD: return post_a_prepared(r, p, r->ep[p], BSN_OPCODE_ATOMIC_FA, 1, flags);
	case WAY_PREPARED_ELSEWHERE: return post_a_prepared(r, p, elsewhere, BSN_OPCODE_RDMA_READ, 1, flags);
	default: return read_sges(r, p, way, flags);
	}
}

/* Till the peer has an initiator, which on plain verbs has to be connected. */
static void bind_peer(struct rig *r, int p)
{
	while (write_to(r, p, 1))
		work(r);
	do
		work(r);
	while (!r->count || r->done[r->count - 1].opcode != BSN_OPCODE_RDMA_WRITE);
}

static void expect_way_held(struct rig *r, int p, unsigned way, struct bsn_ep *elsewhere)
{
	const uint64_t held = counters_of(r).reads_held;

	for (unsigned other = 0; other < WAYS; other++) {
		assert_int_equal(read_by(r, p, other, NOW, elsewhere), -EAGAIN);
		assert_non_null(strstr(bsn_error_text(), "max_reads"));
	}
	assert_int_equal(read_by(r, p, way, 0, elsewhere), -EAGAIN);
	assert_int_equal(counters_of(r).reads_held, held + WAYS + 1);
}

/*
 * With these flags but for the last one, after which nothing else is taken but what does not read.
 */
static void read_to_the_limit(struct rig *r, int p, unsigned way, unsigned flags, unsigned most,
			      struct bsn_ep *elsewhere)
{
	for (unsigned k = 1; k <= most; k++)
		ok(read_by(r, p, way, k < most ? flags : NOW, elsewhere));
	expect_way_held(r, p, way, elsewhere);
	ok(write_to(r, p, 2));
	work(r);
	assert_int_equal(r->done[r->count - 1].opcode, BSN_OPCODE_RDMA_WRITE);
	for (int k = 0; k < r->count; k++)
		assert_int_equal(r->done[k].status, IBV_WC_SUCCESS);
}

/* As many SGEs as a READ has here. */
static void each_way_to_read_has_the_limit(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2, .max_reads = 3, .max_send_sge = 4 };
	const struct bsn_dc_pool_attr free_attr = { .initiators = 1, .max_send_sge = 4 };
	const uint64_t there = 0x1122334455667788;
	struct rig r, other;

	make(b, &r, &attr);
	make(b, &other, &free_attr);
	bind_peer(&r, 0);
	for (unsigned way = 0; way < WAYS; way++) {
		read_to_the_limit(&r, 0, way, NOW, 3, other.ep[0]);
		read_to_the_limit(&r, 0, way, BSN_F_RING, 3, other.ep[0]);
		read_to_the_limit(&r, 0, way, BSN_F_SIGNALED, 3, other.ep[0]);
		read_to_the_limit(&r, 0, way, 0, 3, other.ep[0]);
		memcpy(bench_at(b, 1, INTO), &there, sizeof(there));
		memset(bench_at(b, 0, 0), 0, 8);
		ok(read_by(&r, 0, way, NOW, other.ep[0]));
		work(&r);
		assert_memory_equal(bench_at(b, 0, 0), &there, sizeof(there));
	}
	unmake(&other);
	unmake(&r);
}

/*
 * By peers that take another's initiator, whose queue is so short that it looks for room at most
 * posts.
 */
static void each_way_to_read_takes_an_initiator(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .max_reads = 2, .max_send_sge = 4, .send_depth = 1 };
	struct rig r;

	make(b, &r, &attr);
	for (unsigned way = 0; way < WAYS; way++)
		for (int p = 0; p < 3; p++)
			read_to_the_limit(&r, p, way, p ? NOW : 0, 2, r.ep[3]);
	unmake(&r);
}

/* A READ that is refused for itself says why, and is not counted for long. */
static void a_bad_read_is_refused_in_words(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .max_reads = 2, .max_send_sge = 2 };
	const struct bsn_remote from = bench_remote(b, 1, INTO);
	struct bsn_prepared prepared;
	struct bsn_sge sges[4];
	struct bsn_wr wr;
	struct rig r;

	make(b, &r, &attr);
	bind_peer(&r, 0);
	wr = wr_of(&r, BSN_OPCODE_RDMA_READ, sges, 4, NOW);
	for (int k = 0; k < 8; k++) {
		assert_int_equal(bsn_read_sgl(r.ep[0], sges, 3, &from, 1, NOW), -EMSGSIZE);
		assert_int_equal(bsn_post(r.ep[0], &wr), -EMSGSIZE);
		assert_int_equal(bsn_prepare(r.ep[0], &wr, &prepared), -EMSGSIZE);
		assert_non_null(strstr(bsn_error_text(), "max_send_sge"));
	}
	wr.sge_count = 1;
	wr.flags = NOW | BSN_F_INLINE;
	assert_int_equal(bsn_post(r.ep[0], &wr), -EOPNOTSUPP);
	assert_non_null(strstr(bsn_error_text(), "inline"));
	read_to_the_limit(&r, 0, WAY_READ, NOW, 2, r.ep[0]);
	unmake(&r);
}

/* Those that were taken back are none, also where WRITEs have their blocks now. */
static void a_read_that_was_taken_back_is_none(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .max_reads = 2, .send_depth = 16 };
	struct rig r;

	make(b, &r, &attr);
	bind_peer(&r, 0);
	for (int round = 0; round < 40; round++) { /* round the ring, and its end */
		ok(read_from(&r, 0, 1, round % 2 ? NOW : 0));
		ok(read_from(&r, 0, 2, 0));
		ok(bsn_cancel(r.ep[0]));
		for (int k = 0; k < 3; k++)
			ok(write_to(&r, 0, 3));
		if (!(round % 2))
			ok(read_from(&r, 0, 4, NOW));
		ok(read_from(&r, 0, 5, NOW));
		expect_held(&r, 0);
		ok(write_to(&r, 0, 6));
		assert_int_equal(work(&r), 6);
	}
	unmake(&r);
}

/* Its queue begins again, and nothing that was counted before is left. */
static void a_repaired_initiator_counts_anew(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .spares = 1, .max_reads = 2 };
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote nowhere = { 0, 0 };
	struct rig r;

	make(b, &r, &attr);
	for (int round = 0; round < 4; round++) { /* both initiators, twice */
		for (int k = 0; k < 10 * round; k++) /* more than all that was posted to it before */
			ok(write_to(&r, 0, 1));
		for (int k = 0; k < 2; k++)
			ok(read_from(&r, 0, 2, NOW));
		expect_held(&r, 0);
		assert_int_equal(work(&r), 2 + 10 * round);
		for (int k = 0; k < 2; k++)
			ok(read_from(&r, 0, 4, NOW));
		expect_held(&r, 0);
		assert_int_equal(work(&r), 2);
		ok(bsn_read(r.ep[0], &local, &nowhere, 5, NOW));
		assert_int_equal(work(&r), 1);
		expect(&r, 0, 0, 5, BSN_OPCODE_RDMA_READ, IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
		ok(bsn_dc_peer_reset(r.ep[0]));
	}
	unmake(&r);
}

/* The queue began anew, but its ring still has WQEs of before: one goes round its end. */
static void a_repaired_initiator_is_busy(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = {
		.initiators = 1, .spares = 1, .send_depth = 16, .max_inline = 44
	};
	const struct bsn_remote to = bench_remote(b, 1, INTO), nowhere = { 0, 0 };
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	static const uint8_t data[44];
	struct rig r;

	make(b, &r, &attr);
	for (int round = 0; round < 3; round++) { /* one initiator, its spare, and it again */
		ok(write_to(&r, 0, 1));
		if (round == 2)
			break;
		assert_int_equal(work(&r), 1);
		for (int k = 0; k < 100; k++) { /* of two blocks, from odd indices on */
			ok(bsn_write_inline(r.ep[0], data, sizeof(data), &to, 2, NOW));
			assert_int_equal(work(&r), 1);
		}
		ok(bsn_write(r.ep[0], &local, &nowhere, 3, NOW));
		assert_int_equal(work(&r), 1);
		expect(&r, 0, 0, 3, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
		ok(bsn_dc_peer_reset(r.ep[0]));
	}
	assert_int_equal(write_to(&r, 1, 4), -EAGAIN); /* as the other's is outstanding */
	assert_int_equal(work(&r), 2);
	expect_ready(&r, 1, 1);
	unmake(&r);
}

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
	while (at + sizeof(key) < sizeof(address.bytes) && memcmp(address.bytes + at, key, sizeof(key)))
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
		is_refused(bsn_dc_peer_create(r.pool, &kept[other][b->kind].address, NULL, NULL, &ep), EPROTO,
			   "one port is InfiniBand, the other Ethernet");
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
	is_refused(bsn_dc_peer_create(r.pool, &address, NULL, NULL, &ep), EPROTO, "another InfiniBand subnet");
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
	is_refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL, "65534 initiators and 1 spares");
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

#define ON_DIRECT .is_bare = true, .is_direct_only = true, .is_own_only = true, .is_model_only = true
#define ON_VERBS  .is_bare = true, .is_verbs_only = true, .is_own_only = true, .is_model_only = true

int main(void)
{
	static const struct bench_case cases[] = {
		{ CASE("a set that fits stays connected", a_set_that_fits_stays_connected), ON_DIRECT },
		{ CASE("a queue takes sixteen", a_queue_takes_sixteen), ON_DIRECT },
		{ CASE("who was used least recently makes room",
		       who_was_used_least_recently_makes_room), ON_DIRECT },
		{ CASE("an idle connection is made anew", an_idle_connection_is_made_anew), ON_DIRECT,
		  .fault_plan = "nth=3 delay 2000000" },
		{ CASE("connections are told where they are known",
		       connections_are_told_where_they_are_known),
		  .is_bare = true, .is_own_only = true, .is_model_only = true },
		{ CASE("every post binds", every_post_binds), ON_DIRECT },
		{ CASE("every post binds, on RoCE", every_post_binds), ON_DIRECT,
		  .link = CX_LINK_ROCE },
		{ CASE("who waits has its turn in order", who_waits_has_its_turn_in_order), ON_DIRECT },
		{ CASE("who comes later passes nobody", who_comes_later_passes_nobody), ON_DIRECT },
		{ CASE("who goes on leaves its place", who_goes_on_leaves_its_place), ON_DIRECT },
		{ CASE("who passes makes room at once", who_passes_makes_room_at_once), ON_DIRECT },
		{ CASE("an unsignaled end is found out", an_unsignaled_end_is_found_out), ON_DIRECT },
		{ CASE("an end among many is found out", an_end_among_many_is_found_out), ON_DIRECT },
		{ CASE("an end that nobody rang is rung", an_end_that_nobody_rang_is_rung), ON_DIRECT },
		{ CASE("who never stops starves nobody", who_never_stops_starves_nobody), ON_DIRECT },
		{ CASE("turns are of bytes", turns_are_of_bytes), ON_DIRECT },
		{ CASE("who owes is passed", who_owes_is_passed), ON_DIRECT },
		{ CASE("who leaves in debt is passed", who_leaves_in_debt_is_passed), ON_DIRECT },
		{ CASE("a turn may be a byte", a_turn_may_be_a_byte), ON_DIRECT },
		{ CASE("who waits may be destroyed", who_waits_may_be_destroyed), ON_DIRECT },
		{ CASE("masked atomics", masked_atomics), ON_DIRECT },
		{ CASE("masked atomics, on RoCE", masked_atomics), ON_DIRECT, .link = CX_LINK_ROCE },
		{ CASE("masked atomics have the limit of READs", masked_atomics_have_the_limit_of_reads),
		  ON_DIRECT },
		{ CASE("copies are made by initiators", copies_are_made_by_initiators), ON_DIRECT },
		{ CASE("copies are made by initiators, on RoCE", copies_are_made_by_initiators), ON_DIRECT,
		  .link = CX_LINK_ROCE },
		{ CASE("they count in a turn", they_count_in_a_turn), ON_DIRECT },
		{ CASE("they are refused", they_are_refused), ON_VERBS },
		{ CASE("layouts are local memory", layouts_are_local_memory), .is_direct_only = true,
		  .is_own_only = true, .is_model_only = true },
		{ CASE("layouts are local memory, on RoCE", layouts_are_local_memory), .is_direct_only = true,
		  .is_own_only = true, .is_model_only = true, .link = CX_LINK_ROCE },
		{ CASE("a peer may invalidate", a_peer_may_invalidate), .is_direct_only = true,
		  .is_own_only = true, .is_model_only = true },
		{ CASE("a peer has its UDP port", a_peer_has_its_udp_port), ON_DIRECT, .link = CX_LINK_ROCE },
		{ CASE("what the way has not is refused", what_the_way_has_not_is_refused), ON_DIRECT },
		{ CASE("what the way has not is refused, on plain verbs", what_the_way_has_not_is_refused),
		  ON_VERBS },
		{ CASE("initiators send by the port of the bond", initiators_send_by_the_port_of_the_bond),
		  ON_DIRECT, .link = CX_LINK_ROCE, .lag = true },
		{ CASE("a port that the bond has not is refused", a_port_that_the_bond_has_not_is_refused),
		  ON_DIRECT, .link = CX_LINK_ROCE, .lag = true },
		{ CASE("the device refuses it, too", the_device_refuses_it_too), ON_DIRECT,
		  .link = CX_LINK_ROCE, .lag = true },
		{ CASE("a wrong access key fails its peer", a_wrong_access_key_fails_its_peer), ON_DIRECT },
		{ CASE("a check tells who is alive", a_check_tells_who_is_alive), ON_DIRECT },
		{ CASE("a check tells who is alive, on RoCE", a_check_tells_who_is_alive), ON_DIRECT,
		  .link = CX_LINK_ROCE },
		{ CASE("READs have a limit", reads_have_a_limit), ON_DIRECT },
		{ CASE("a peer has room", a_peer_has_room), ON_DIRECT },
		{ CASE("READs have a limit, on RoCE", reads_have_a_limit), ON_DIRECT,
		  .link = CX_LINK_ROCE },
		{ CASE("a quiet READ makes room", a_quiet_read_makes_room), ON_DIRECT },
		{ CASE("a READ of long ago makes room", a_read_of_long_ago_makes_room), ON_DIRECT },
		{ CASE("a READ that is gone makes room", a_read_that_is_gone_makes_room), ON_DIRECT },
		{ CASE("each way to read has the limit", each_way_to_read_has_the_limit), ON_DIRECT },
		{ CASE("each way to read has the limit, on RoCE", each_way_to_read_has_the_limit), ON_DIRECT,
		  .link = CX_LINK_ROCE },
		{ CASE("each way to read has the limit, by connections", each_way_to_read_has_the_limit), ON_VERBS },
		{ CASE("each way to read takes an initiator", each_way_to_read_takes_an_initiator), ON_DIRECT },
		{ CASE("each way to read takes an initiator, on RoCE", each_way_to_read_takes_an_initiator), ON_DIRECT,
		  .link = CX_LINK_ROCE },
		{ CASE("a bad READ is refused in words", a_bad_read_is_refused_in_words), ON_DIRECT },
		{ CASE("a READ that was taken back is none", a_read_that_was_taken_back_is_none), ON_DIRECT },
		{ CASE("a READ that was taken back is none, on RoCE", a_read_that_was_taken_back_is_none), ON_DIRECT,
		  .link = CX_LINK_ROCE },
		{ CASE("a repaired initiator counts anew", a_repaired_initiator_counts_anew), ON_DIRECT },
		{ CASE("a repaired initiator is busy", a_repaired_initiator_is_busy), ON_DIRECT },
		{ CASE("READs at random", reads_at_random), ON_DIRECT },
		{ CASE("READs at random, on RoCE", reads_at_random), ON_DIRECT, .link = CX_LINK_ROCE },
		{ CASE("READs at random, by connections", reads_at_random), ON_VERBS },
		{ CASE("one peer fails alone", one_peer_fails_alone), ON_DIRECT },
		{ CASE("all initiators fail and come back", all_initiators_fail_and_come_back),
		  ON_DIRECT },
		{ CASE("a thousand peers fail and return", a_thousand_peers_fail_and_return), ON_DIRECT },
		{ CASE("at random", at_random), ON_DIRECT },
		{ CASE("a miss binds once, by each policy", a_miss_binds_once_by_each_policy), ON_DIRECT },
		{ CASE("at random, by places", at_random_by_places), ON_DIRECT },
		{ CASE("at random, by many", at_random_by_many), ON_DIRECT },
		{ CASE("at random, by connections", at_random_by_connections), ON_VERBS },
		{ CASE("at random, on RoCE", at_random), ON_DIRECT, .link = CX_LINK_ROCE },
		{ CASE("thousands of peers", thousands_of_peers), ON_DIRECT },
		{ CASE("what does not fit is refused", what_does_not_fit_is_refused), ON_DIRECT },
		{ CASE("an address of InfiniBand is kept", an_address_of_another_link_is_refused), ON_DIRECT },
		{ CASE("RoCE refuses it, and keeps one", an_address_of_another_link_is_refused), ON_DIRECT,
		  .link = CX_LINK_ROCE },
		{ CASE("InfiniBand refuses that", an_address_of_another_link_is_refused), ON_DIRECT },
		{ CASE("an address of InfiniBand is kept, by connections", an_address_of_another_link_is_refused),
		  ON_VERBS },
		{ CASE("RoCE refuses it, and keeps one, by connections", an_address_of_another_link_is_refused),
		  ON_VERBS, .link = CX_LINK_ROCE },
		{ CASE("InfiniBand refuses that, by connections", an_address_of_another_link_is_refused),
		  ON_VERBS },
		{ CASE("an address of another subnet is refused", an_address_of_another_subnet_is_refused),
		  ON_DIRECT },
		{ CASE("an address of another subnet is refused, by connections",
		       an_address_of_another_subnet_is_refused),
		  ON_VERBS },
		{ CASE("a pool has an initiator", a_pool_has_an_initiator), ON_DIRECT },
		{ CASE("a pool has an initiator, by connections", a_pool_has_an_initiator), ON_VERBS },
	};

	random_start();
	return bench_run("dc_pool", cases, sizeof(cases) / sizeof(cases[0]));
}
