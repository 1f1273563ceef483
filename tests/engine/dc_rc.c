/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pools and targets on plain verbs, by RC connections that are made on demand: on the model, and on
 * the kernel's soft-RoCE. What becomes of a pool by itself is in dc_pool.c.
 */
#include "harness.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../device/real_device.h"
#include "../wqe/random.h"
#include "bsn_dc.h"

enum { KEY = 77, TARGETS = 6, PEERS = 12, INTO = 8192, LENGTH = 64, MAX_DONE = 64, RECVS = 16 };

static const unsigned NOW = BSN_F_SIGNALED | BSN_F_RING;

/* Peers are those of a few targets in turn. */
struct rig {
	struct bench *b;
	struct bsn_cq *into;
	struct bsn_rq *srq;
	struct bsn_dct *dct[TARGETS];
	struct bsn_dc_pool *pool;
	struct bsn_ep *ep[PEERS];
	int user[PEERS];
	int changes; /* that bsn_dct_accept() told */
	struct bsn_completion done[MAX_DONE];
	int count;
};

static struct bsn_dc_counters counters_of(const struct rig *r)
{
	struct bsn_dc_counters counters;

	ok(bsn_dc_pool_counters(r->pool, &counters));
	return counters;
}

static void add_target(struct rig *r, int t)
{
	const struct bsn_dct_attr attr = {
		.cq = r->into, .srq = r->srq, .access_key = KEY, .user = &r->dct[t]
	};

	ok(bsn_dct_create(r->b->device, &attr, &r->dct[t]));
}

static void add_peer(struct rig *r, int p)
{
	struct bsn_address address;

	ok(bsn_dct_address(r->dct[p % TARGETS], &address));
	ok(bsn_dc_peer_create(r->pool, &address, NULL, &r->user[p], &r->ep[p]));
}

static void make(struct bench *b, struct rig *r, const struct bsn_dc_pool_attr *attr)
{
	memset(r, 0, sizeof(*r));
	r->b = b;
	ok(bsn_cq_create(b->device, &(struct bsn_cq_attr){ .entries = 256 }, &r->into));
	ok(bsn_srq_create(b->device, &(struct bsn_srq_attr){ .recv_depth = RECVS }, &r->srq));
	for (int t = 0; t < TARGETS; t++)
		add_target(r, t);
	ok(bsn_dc_pool_create(b->device, attr, &r->pool));
	for (int p = 0; p < PEERS; p++)
		add_peer(r, p);
}

static void unmake(struct rig *r)
{
	assert_int_equal(bsn_dc_pool_destroy(r->pool), -EBUSY);
	for (int p = 0; p < PEERS; p++)
		ok(bsn_dc_peer_destroy(r->ep[p]));
	ok(bsn_dc_pool_destroy(r->pool));
	for (int t = 0; t < TARGETS; t++)
		ok(bsn_dct_destroy(r->dct[t]));
	ok(bsn_srq_destroy(r->srq));
	ok(bsn_cq_destroy(r->into));
}

/* -- time -------------------------------------------------------------------------------------- */

static void accept_all(struct rig *r)
{
	for (int t = 0; t < TARGETS; t++) {
		const int changes = bsn_dct_accept(r->dct[t]);

		if (r->dct[t]) {
			assert_true(changes >= 0);
			r->changes += changes;
		}
	}
}

static void run_device(struct rig *r)
{
	while (r->b->is_model && (softcx_step(0) || cx_next_deadline_ns(softcx_hca())))
		;
}

static int poll(struct rig *r)
{
	run_device(r);
	accept_all(r);
	run_device(r);
	r->count = bsn_poll(bsn_dc_pool_cq(r->pool), r->done, MAX_DONE);
	assert_true(r->count >= 0);
	return r->count;
}

/* Until something is there. */
static int work(struct rig *r)
{
	const long until_ms = now_ms() + PATIENCE_MS;

	while (!poll(r))
		assert_true(now_ms() < until_ms);
	return r->count;
}

/* So many. */
static void collect(struct rig *r, int n)
{
	struct bsn_completion all[MAX_DONE];
	int got = 0;

	while (got < n) {
		work(r);
		assert_true(got + r->count <= n);
		memcpy(all + got, r->done, (size_t)r->count * sizeof(all[0]));
		got += r->count;
	}
	memcpy(r->done, all, (size_t)n * sizeof(all[0]));
	r->count = n;
}

static int write_flags(struct rig *r, int p, uint64_t id, unsigned flags)
{
	const struct bsn_sge local = bench_sge(r->b, 0, 0, LENGTH);
	const struct bsn_remote to = bench_remote(r->b, 1, INTO);

	return bsn_write(r->ep[p], &local, &to, id, flags);
}

static void expect(struct rig *r, int at, int p, uint64_t id, unsigned opcode,
		   enum ibv_wc_status status)
{
	assert_true(at < r->count);
	assert_int_equal(r->done[at].status, status);
	assert_int_equal(r->done[at].opcode, opcode);
	assert_int_equal(r->done[at].id, id);
	assert_ptr_equal(r->done[at].user, &r->user[p]);
}

static void expect_ready(struct rig *r, int p)
{
	assert_int_equal(work(r), 1);
	expect(r, 0, p, 0, BSN_DC_READY, IBV_WC_SUCCESS);
}

/* A peer that nobody is in the way of. */
static void connect(struct rig *r, int p)
{
	assert_int_equal(write_flags(r, p, 0, NOW), -EAGAIN);
	assert_non_null(strstr(bsn_error_text(), "connected"));
	assert_int_equal(write_flags(r, p, 0, NOW), -EAGAIN); /* again is no second place */
	expect_ready(r, p);
}

/*
 * So many initiators came to targets, or left them, since the rig is there; and nothing else
 * happens.
 */
static void expect_changes(struct rig *r, int changes)
{
	const long until_ms = now_ms() + PATIENCE_MS;

	while (r->changes != changes && now_ms() < until_ms)
		assert_int_equal(poll(r), 0);
	assert_int_equal(r->changes, changes);
}

static void write_and_finish(struct rig *r, int p, uint64_t id)
{
	ok(write_flags(r, p, id, NOW));
	assert_int_equal(work(r), 1);
	expect(r, 0, p, id, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
}

static void write_anyway(struct rig *r, int p, uint64_t id)
{
	const int err = write_flags(r, p, id, NOW);

	if (!err) {
		assert_int_equal(work(r), 1);
		expect(r, 0, p, id, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		return;
	}
	assert_int_equal(err, -EAGAIN);
	expect_ready(r, p);
	write_and_finish(r, p, id);
}

/* -- connecting -------------------------------------------------------------------------------- */

static void a_peer_is_connected_by_its_first_post(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 4 };
	struct rig r;

	make(b, &r, &attr);
	for (int p = 0; p < 4; p++) {
		connect(&r, p);
		write_and_finish(&r, p, 10);
	}
	assert_int_equal(r.changes, 4);
	for (int round = 0; round < 50; round++) /* no more of it */
		write_and_finish(&r, round % 4, 11);
	assert_int_equal(r.changes, 4);
	assert_int_equal(counters_of(&r).bindings, 4);
	assert_int_equal(counters_of(&r).evictions, 0);
	assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), LENGTH);
	unmake(&r);
}

/* What evicts which, by a clock that is written down here once more. */
struct clock {
	int peer[4];
	unsigned uses[4], count, hand;
};

/* Of the next three places that of the one that was used least, or not at all. */
static unsigned clock_chooses(struct clock *c)
{
	unsigned least = c->hand;

	for (unsigned looks = 0, fewest = UINT_MAX; looks < 3; looks++) {
		const unsigned at = c->hand, uses = c->uses[at];

		c->hand = (at + 1) % 4;
		if (!uses)
			return at;
		c->uses[at] = uses > 1;
		if (uses < fewest) {
			fewest = uses;
			least = at;
		}
	}
	return least;
}

/* Return: whether the peer had to be connected. */
static bool clock_uses(struct clock *c, int p)
{
	unsigned at = 0;

	while (at < c->count && c->peer[at] != p)
		at++;
	if (at < c->count) {
		c->uses[at]++;
		return false;
	}
	at = c->count < 4 ? c->count++ : clock_chooses(c);
	c->peer[at] = p;
	c->uses[at] = 0;
	return true;
}

/* Both ends have the smaller one of what either wants. */
static void a_path_has_the_smaller_mtu(struct bench *b)
{
	enum { BYTES = 5000 };
	struct bsn_dc_pool_attr attr = { .connect.mtu = 1024 };
	const struct bsn_sge local = bench_sge(b, 0, 0, BYTES);
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	struct rig r;

	for (int round = 0; round < 3; round++, attr.connect.mtu /= 2) {
		make(b, &r, &attr);
		ok(bsn_dct_destroy(r.dct[0]));
		ok(bsn_dct_create(
			b->device,
			&(struct bsn_dct_attr){
				.cq = r.into, .srq = r.srq, .access_key = KEY, .connect.mtu = 512 },
			&r.dct[0]));
		ok(bsn_dc_peer_destroy(r.ep[0]));
		add_peer(&r, 0);
		connect(&r, 0);
		memset(bench_at(b, 1, INTO), 0, BYTES);
		ok(bsn_write(r.ep[0], &local, &to, 1, NOW));
		assert_int_equal(work(&r), 1);
		expect(&r, 0, 0, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), BYTES);
		ok(bsn_read(r.ep[0], &local, &to, 1, NOW));
		assert_int_equal(work(&r), 1);
		expect(&r, 0, 0, 1, BSN_OPCODE_RDMA_READ, IBV_WC_SUCCESS);
		unmake(&r);
	}
}

/* Its second request is what uses a connection: the one that asked for it does not count. */
static void evictions_are_those_of_the_clock(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 4, .spares = 1 };
	struct clock clock = { .count = 0 };
	unsigned evictions = 0;
	struct rig r;

	make(b, &r, &attr);
	for (unsigned step = 0; step < bench_rounds(b, 2000); step++) {
		const int p = (int)(random_u64() % 3 ? random_u64() % 3 : random_u64() % PEERS);
		const bool misses = clock_uses(&clock, p);
		const int err = write_flags(&r, p, step, NOW);

		if (err != (misses ? -EAGAIN : 0))
			fail_msg("step %u, peer %d: %d, but the model %s it", step, p, err,
				 misses ? "has not" : "has");
		evictions += misses;
		if (misses) {
			expect_ready(&r, p);
			ok(write_flags(&r, p, step, NOW));
		}
		assert_int_equal(work(&r), 1);
		expect(&r, 0, p, step, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	}
	expect_changes(&r, 2 * (int)evictions - 4); /* who is evicted leaves */
	assert_int_equal(counters_of(&r).bindings, evictions);
	assert_int_equal(counters_of(&r).evictions, evictions - 4);
	unmake(&r);
}

static void every_operation_goes_there(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2,
					       .max_inline = 64,
					       .max_send_sge = 2 };
	const struct bsn_sge local[2] = { bench_sge(b, 0, 0, 8), bench_sge(b, 0, 8, 8) };
	const struct bsn_sge into = bench_sge(b, 1, INTO, 4096);
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	struct bsn_wr wr = {
		.opcode = BSN_OPCODE_RDMA_WRITE, .sge = local, .sge_count = 1, .remote = to
	};
	struct bsn_prepared prepared;
	struct bsn_completion got;
	struct rig r;

	make(b, &r, &attr);
	ok(bsn_prepare(r.ep[0], &wr, &prepared));
	for (int kind = 0; kind < 9; kind++) {
		struct bsn_ep *ep = r.ep[kind % TARGETS];
		int err = 0;

		if (kind >= 6)
			ok(bsn_recv(r.srq, &into, (uint64_t)kind));
		for (int round = 0; round < 2; round++) {
			switch (kind) {
			case 0:
				err = bsn_write(ep, local, &to, 1, NOW);
				break;
			case 1:
				err = bsn_read(ep, local, &to, 1, NOW);
				break;
			case 2:
				err = bsn_write_sgl(ep, local, 2, &to, 1, NOW);
				break;
			case 3:
				err = bsn_fetch_add(ep, local, &to, 1, 1, NOW);
				break;
			case 4:
				err = bsn_post_prepared(ep, &prepared, 1, NOW);
				break;
			case 5:
				err = bsn_write_inline(ep, bench_at(b, 0, 0), 50, &to, 1, NOW);
				break;
			case 6:
				err = bsn_send(ep, local, 1, NOW);
				break;
			case 7:
				err = bsn_send_inline(ep, bench_at(b, 0, 0), 50, 1, NOW);
				break;
			case 8:
				err = bsn_send_imm(ep, local, 1, 1, NOW);
				break;
			}
			assert_int_equal(err, round ? 0 : -EAGAIN);
			assert_int_equal(work(&r), 1);
		}
		assert_int_equal(r.done[0].status, IBV_WC_SUCCESS);
		assert_ptr_equal(r.done[0].user, &r.user[kind % TARGETS]);
		if (kind < 6)
			continue;
		assert_int_equal(bench_reap(b, r.into, &got, 1), 1);
		assert_int_equal(got.id, kind);
		assert_ptr_equal(got.user, &r.dct[kind % TARGETS]);
	}
	unmake(&r);
}

/* A message that nobody polled yet is still there when its connection is gone. */
static void what_was_received_outlives_its_connection(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1 };
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH),
			     into = bench_sge(b, 1, INTO, LENGTH);
	struct bsn_completion got[RECVS];
	struct rig r;
	int count = 0;

	make(b, &r, &attr);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < RECVS; i++)
			ok(bsn_recv(r.srq, &into, (uint64_t)i));
		for (int i = 0; i < RECVS; i++) {
			const int p = (i + round) % 3; /* never the same twice */
			assert_int_equal(bsn_send(r.ep[p], &local, 1, NOW), -EAGAIN);
			expect_ready(&r, p);
			ok(bsn_send(r.ep[p], &local, 1, NOW));
			assert_int_equal(work(&r), 1);
		}
		count = bench_reap(b, r.into, got, RECVS);
		assert_int_equal(count, RECVS);
		for (int i = 0; i < RECVS; i++) {
			assert_int_equal(got[i].status, IBV_WC_SUCCESS);
			assert_int_equal(got[i].id, i);
			assert_int_equal(got[i].byte_len, LENGTH);
			assert_ptr_equal(got[i].user, &r.dct[(i + round) % 3]);
		}
	}
	/* Some that nobody polls: the SRQ has its receives back. */
	for (int i = 0; i < RECVS; i++)
		ok(bsn_recv(r.srq, &into, (uint64_t)i));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(bsn_send(r.ep[i], &local, 1, NOW), -EAGAIN);
		expect_ready(&r, i);
		ok(bsn_send(r.ep[i], &local, 1, NOW));
		assert_int_equal(work(&r), 1);
	}
	for (int p = 0; p < PEERS; p++)
		ok(bsn_dc_peer_destroy(r.ep[p]));
	for (int t = 0; t < TARGETS; t++)
		ok(bsn_dct_destroy(r.dct[t]));
	for (int i = 0; i < 3; i++)
		ok(bsn_recv(r.srq, &into, (uint64_t)i));
	assert_int_equal(bsn_recv(r.srq, &into, 0), -EAGAIN);
	for (int t = 0; t < TARGETS; t++)
		add_target(&r, t);
	for (int p = 0; p < PEERS; p++)
		add_peer(&r, p);
	unmake(&r);
}

/* Each by a connection of its own, since the pool has one initiator. */
static void send_each(struct rig *r, int count)
{
	const struct bsn_sge local = bench_sge(r->b, 0, 0, LENGTH);

	for (int i = 0; i < count; i++) {
		assert_int_equal(bsn_send(r->ep[i % 3], &local, 1, NOW), -EAGAIN);
		expect_ready(r, i % 3);
		ok(bsn_send(r->ep[i % 3], &local, 1, NOW));
		assert_int_equal(work(r), 1);
	}
}

static void what_was_polled_is_not_given_back_again_with_its_target(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1 };
	const struct bsn_sge into = bench_sge(b, 1, INTO, LENGTH);
	struct bsn_completion got[RECVS];
	struct rig r;

	make(b, &r, &attr);
	for (int i = 0; i < RECVS; i++)
		ok(bsn_recv(r.srq, &into, (uint64_t)i));
	send_each(&r, 3);
	assert_int_equal(bsn_poll(r.into, got, 1), 1);
	assert_int_equal(got[0].id, 0);
	for (int p = 0; p < PEERS; p++)
		ok(bsn_dc_peer_destroy(r.ep[p]));
	for (int t = 0; t < TARGETS; t++)
		ok(bsn_dct_destroy(r.dct[t]));
	for (int i = 0; i < 3; i++)
		ok(bsn_recv(r.srq, &into, (uint64_t)(RECVS + i)));
	assert_int_equal(bsn_recv(r.srq, &into, 0), -EAGAIN);
	for (int t = 0; t < TARGETS; t++)
		add_target(&r, t);
	for (int p = 0; p < PEERS; p++)
		add_peer(&r, p);
	send_each(&r, RECVS);
	assert_int_equal(bench_reap(b, r.into, got, RECVS), RECVS);
	for (int i = 0; i < RECVS; i++)
		assert_int_equal(got[i].id, 3 + i);
	unmake(&r);
}

/* -- waiting ----------------------------------------------------------------------------------- */

/* Two are connected at a time, so neighbours may change places. A turn that is not used passes. */
static void who_waits_has_its_turn_in_order(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2 };
	int ready = 0, finished = 0;
	struct rig r;

	make(b, &r, &attr);
	for (int p = 0; p < 10; p++)
		assert_int_equal(write_flags(&r, p, 1, NOW), -EAGAIN);
	assert_int_equal(counters_of(&r).waiting, 10);
	while (ready < 10 || finished < 5) {
		work(&r);
		for (int k = 0; k < r.count; k++) {
			const int p = (int)((int *)r.done[k].user - r.user);

			assert_int_equal(r.done[k].status, IBV_WC_SUCCESS);
			if (r.done[k].opcode != BSN_DC_READY) {
				finished++;
				continue;
			}
			assert_in_range(p + 1, ready, ready + 2);
			ready++;
			if (p % 2)
				ok(write_flags(&r, p, 7, NOW));
		}
	}
	poll(&r); /* the last turn */
	assert_int_equal(counters_of(&r).waiting, 0);
	assert_int_equal(counters_of(&r).turns, 10);
	assert_int_equal(counters_of(&r).passed, 5);
	unmake(&r);
}

static void an_unsignaled_end_is_found_out(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1,
					       .send_depth = 8,
					       .signal_every = -1 };
	struct rig r;

	make(b, &r, &attr);
	connect(&r, 0);
	for (int i = 0; i < 7; i++)
		ok(write_flags(&r, 0, 1, BSN_F_RING));
	ok(write_flags(&r, 0, 1, 0)); /* one is not even published */
	assert_int_equal(write_flags(&r, 0, 1, 0), -EAGAIN);
	assert_non_null(strstr(bsn_error_text(), "full"));
	assert_int_equal(write_flags(&r, 1, 2, NOW), -EAGAIN);
	assert_int_equal(counters_of(&r).markers, 1);
	expect_ready(&r, 1);
	write_and_finish(&r, 1, 2);
	connect(&r, 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++)
			ok(write_flags(&r, 0, 3, BSN_F_SIGNALED));
		ok(bsn_cancel(r.ep[0])); /* nobody rang them */
	}
	ok(write_flags(&r, 0, 4, BSN_F_SIGNALED));
	assert_int_equal(write_flags(&r, 1, 5, NOW), -EAGAIN);
	assert_int_equal(work(&r), 1);
	expect(&r, 0, 0, 4, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect_ready(&r, 1);
	unmake(&r);
}

static void who_waits_or_is_being_connected_may_be_destroyed(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1 };
	struct rig r;

	make(b, &r, &attr);
	for (int p = 0; p < 3; p++)
		assert_int_equal(write_flags(&r, p, 1, NOW), -EAGAIN);
	assert_int_equal(bsn_poll(bsn_dc_pool_cq(r.pool), r.done, MAX_DONE),
			 0); /* asks the first one's target */
	ok(bsn_dc_peer_destroy(r.ep[0]));
	ok(bsn_dc_peer_destroy(r.ep[1]));
	expect_ready(&r, 2);
	write_and_finish(&r, 2, 5);
	add_peer(&r, 0);
	add_peer(&r, 1);
	connect(&r, 0);
	write_and_finish(&r, 0, 6);
	unmake(&r);
}

/* -- failing ----------------------------------------------------------------------------------- */

static void replace_target(struct rig *r, int t)
{
	add_target(r, t);
	for (int p = t; p < PEERS; p += TARGETS) {
		ok(bsn_dc_peer_reset(r->ep[p]));
		ok(bsn_dc_peer_destroy(r->ep[p]));
		add_peer(r, p);
	}
}

static const struct bsn_connect_attr impatient = { .timeout = 1, .retry_count = 2 };

static void one_peer_fails_alone_and_comes_back(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2, .spares = 1, .connect = impatient };
	struct bsn_dc_error error;
	struct rig r;

	make(b, &r, &attr);
	write_anyway(&r, 0, 1);
	write_anyway(&r, 1, 1);
	ok(bsn_dct_destroy(r.dct[1]));
	r.dct[1] = NULL;
	ok(write_flags(&r, 1, 10, NOW));
	ok(write_flags(&r, 1, 11, NOW));
	collect(&r, 2);
	expect(&r, 0, 1, 10, BSN_OPCODE_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR);
	expect(&r, 1, 1, 11, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(r.done[0].src_qpn, 0);
	ok(bsn_dc_peer_error(r.ep[1], &error));
	assert_true(error.has_failed);
	assert_int_equal(error.first.id, 10);
	assert_int_equal(error.wqe_bytes, 0);
	assert_int_equal(write_flags(&r, 1, 12, NOW), -ENOTCONN);
	assert_non_null(strstr(bsn_error_text(), "bsn_dc_peer_reset"));
	for (int p = 2; p < 6; p++) { /* both initiators are there for others */
		write_anyway(&r, p, 20);
		write_anyway(&r, 0, 21);
	}
	assert_int_equal(counters_of(&r).broken, 1);
	assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
	assert_int_equal(counters_of(&r).repairs, 1);
	replace_target(&r, 1);
	write_anyway(&r, 1, 30);
	unmake(&r);
}

/* It cannot be connected: that is told, and why, and costs nobody else anything. */
static void a_target_that_is_gone_is_told(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .connect = impatient };
	struct bsn_dc_error error;
	struct rig r;

	make(b, &r, &attr);
	ok(bsn_dct_destroy(r.dct[1]));
	r.dct[1] = NULL;
	assert_int_equal(write_flags(&r, 1, 1, NOW), -EAGAIN);
	assert_int_equal(write_flags(&r, 0, 1, NOW), -EAGAIN);
	assert_int_equal(work(&r), 1);
	expect(&r, 0, 1, 0, BSN_DC_READY, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(write_flags(&r, 1, 1, NOW), -ENOTCONN);
	ok(bsn_dc_peer_error(r.ep[1], &error));
	assert_true(error.has_failed);
	assert_int_equal(error.first.status, IBV_WC_RETRY_EXC_ERR);
	assert_non_null(strstr(error.text, "bsn_dct_accept"));
	expect_ready(&r, 0);
	write_and_finish(&r, 0, 2);
	assert_int_equal(counters_of(&r).broken, 0);
	ok(bsn_dc_peer_reset(r.ep[1])); /* which alone brings nobody back */
	ok(bsn_dc_peer_error(r.ep[1], &error));
	assert_false(error.has_failed);
	assert_int_equal(write_flags(&r, 1, 1, NOW), -EAGAIN);
	assert_int_equal(work(&r), 1);
	expect(&r, 0, 1, 0, BSN_DC_READY, IBV_WC_RETRY_EXC_ERR);
	replace_target(&r, 1);
	write_anyway(&r, 1, 3);
	unmake(&r);
}

/* A target that does not look for a while is asked again. */
static void a_slow_target_is_asked_again(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .connect = { .timeout = 1 } };
	const long until_ms = now_ms() + 6;
	struct rig r;

	make(b, &r, &attr);
	assert_int_equal(write_flags(&r, 0, 1, NOW), -EAGAIN);
	do { /* it is asked three times, at 0, 1 and 3 ms */
		assert_int_equal(bsn_poll(bsn_dc_pool_cq(r.pool), r.done, MAX_DONE), 0);
		run_device(&r);
	} while (now_ms() < until_ms);
	expect_ready(&r, 0);
	write_and_finish(&r, 0, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(poll(&r), 0);
	assert_int_equal(r.changes, 1);
	unmake(&r);
}

/* The first ASK, its YES, a LEAVE and what comes then. */
static void what_is_lost_is_said_again(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .connect = { .timeout = 1 } };
	struct rig r;

	make(b, &r, &attr);
	for (int round = 0; round < 4; round++) {
		connect(&r, round);
		write_and_finish(&r, round, 1);
	}
	expect_changes(&r, 4 + 3);
	unmake(&r);
}

static void wrong_rkeys_fail_their_peers(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 3, .spares = 1 };
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote nowhere = { 0, 0 };
	struct rig r;

	make(b, &r, &attr);
	for (int round = 0; round < 4; round++) {
		for (int p = 0; p < 4; p++) {
			write_anyway(&r, p, 1);
			ok(bsn_write(r.ep[p], &local, &nowhere, 1, NOW));
			assert_int_equal(work(&r), 1);
			expect(&r, 0, p, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
			assert_int_equal(r.done[0].src_qpn, round);
		}
		assert_int_equal(write_flags(&r, 5, 2, NOW), -EAGAIN); /* there is none left */
		assert_int_equal(counters_of(&r).broken, 4);
		assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
		expect_ready(&r, 5);
		for (int p = 0; p < 4; p++)
			ok(bsn_dc_peer_reset(r.ep[p]));
		for (int p = 0; p < 8; p++)
			write_anyway(&r, p, 3);
	}
	unmake(&r);
}

/* -- wrong ones -------------------------------------------------------------------------------- */

static void refused(int result, int error, const char *word)
{
	assert_int_equal(result, -error);
	if (!strstr(bsn_error_text(), word))
		fail_msg("\"%s\" lacks \"%s\"", bsn_error_text(), word);
}

/* A peer of this address cannot be connected. */
static void expect_nobody(struct rig *r, const struct bsn_address *address)
{
	struct bsn_ep *const before = r->ep[0];

	ok(bsn_dc_peer_create(r->pool, address, NULL, &r->user[0], &r->ep[0]));
	assert_int_equal(write_flags(r, 0, 1, NOW), -EAGAIN);
	assert_int_equal(work(r), 1);
	expect(r, 0, 0, 0, BSN_DC_READY, IBV_WC_RETRY_EXC_ERR);
	ok(bsn_dc_peer_destroy(r->ep[0]));
	r->ep[0] = before;
}

enum { KEY_AT = 15, IS_RC_AT = 23, QPN_AT = 7 }; /* in an address */

static void what_does_not_fit_is_refused(struct bench *b)
{
	struct bsn_dc_pool_attr attr = { .initiators = 2, .connect = impatient };
	struct bsn_address address, other;
	struct bsn_dc_pool *pool;
	struct bsn_ep *ep;
	struct rig r;

	make(b, &r, &attr);
	attr.streams = 2;
	refused(bsn_dc_pool_create(b->device, &attr, &pool), EOPNOTSUPP, "streams");
	attr = (struct bsn_dc_pool_attr){ .initiators = 1 << 30 };
	refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL, "initiators");
	attr = (struct bsn_dc_pool_attr){ .max_inline = 100000 };
	refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL, "inline");
	refused(bsn_dct_accept(NULL), EINVAL, "DCT");
	ok(bsn_dct_address(r.dct[0], &address));
	memset(&other, 0x5a, sizeof(other));
	refused(bsn_dc_peer_create(r.pool, &other, NULL, NULL, &ep), EPROTO, "address");
	other = address;
	other.bytes[IS_RC_AT] = 0; /* a DCT of a device */
	refused(bsn_dc_peer_create(r.pool, &other, NULL, NULL, &ep), EPROTO, "path");
	other = address;
	other.bytes[KEY_AT] ^= 1;
	expect_nobody(&r, &other);
	other = address;
	other.bytes[QPN_AT] ^= 0x40;
	expect_nobody(&r, &other);
	assert_int_equal(bsn_masked_fetch_add(r.ep[1], NULL, &(struct bsn_remote){ 0, 0 },
					      &(struct bsn_masked_fa){ 0 }, 8, 0, 0),
			 -EOPNOTSUPP);
	connect(&r, 0);
	ok(write_flags(&r, 0, 1, NOW));
	refused(bsn_dc_peer_destroy(r.ep[0]), EBUSY, "outstanding");
	assert_int_equal(work(&r), 1);
	unmake(&r);
}

#define ON_VERBS .is_bare = true, .is_verbs_only = true, .is_own_only = true

int main(void)
{
	static const struct bench_case cases[] = {
		{ CASE("a peer is connected by its first post",
		       a_peer_is_connected_by_its_first_post),
		  ON_VERBS },
		{ CASE("on RoCE", a_peer_is_connected_by_its_first_post), ON_VERBS,
		  .link = CX_LINK_ROCE },
		{ CASE("evictions are those of the clock", evictions_are_those_of_the_clock),
		  ON_VERBS },
		{ CASE("a path has the smaller MTU", a_path_has_the_smaller_mtu), ON_VERBS },
		{ CASE("every operation goes there", every_operation_goes_there), ON_VERBS },
		{ CASE("what was received outlives its connection",
		       what_was_received_outlives_its_connection),
		  ON_VERBS },
		{ CASE("what was polled is not given back again with its target",
		       what_was_polled_is_not_given_back_again_with_its_target),
		  ON_VERBS },
		{ CASE("who waits has its turn in order", who_waits_has_its_turn_in_order),
		  ON_VERBS },
		{ CASE("an unsignaled end is found out", an_unsignaled_end_is_found_out),
		  ON_VERBS },
		{ CASE("who waits or is being connected may be destroyed",
		       who_waits_or_is_being_connected_may_be_destroyed),
		  ON_VERBS },
		{ CASE("one peer fails alone and comes back", one_peer_fails_alone_and_comes_back),
		  ON_VERBS },
		{ CASE("a target that is gone is told", a_target_that_is_gone_is_told), ON_VERBS },
		{ CASE("a slow target is asked again", a_slow_target_is_asked_again), ON_VERBS },
		{ CASE("what is lost is said again", what_is_lost_is_said_again), ON_VERBS,
		  .is_model_only = true,
		  .fault_plan =
			  "opcode=SEND nth=1 drop; opcode=SEND nth=3 drop; opcode=SEND nth=6 drop; "
			  "opcode=SEND nth=8 drop" },
		{ CASE("wrong rkeys fail their peers", wrong_rkeys_fail_their_peers), ON_VERBS },
		{ CASE("what does not fit is refused", what_does_not_fit_is_refused), ON_VERBS },
	};

	random_start();
	return bench_run("dc_rc", cases, sizeof(cases) / sizeof(cases[0]));
}
