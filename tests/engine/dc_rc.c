/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool of DC on plain verbs: connecting, and what is refused. */
#include "dc_rc_rig.h"

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
	bool was_used[4];
	unsigned count, hand;
};

/* Of the next three places the first that was not used; if all were, the first, and none was. */
static unsigned clock_chooses(struct clock *c)
{
	const unsigned first = c->hand;

	for (unsigned looks = 0; looks < 3; looks++) {
		const unsigned at = c->hand;

		c->hand = (at + 1) % 4;
		if (!c->was_used[at])
			return at;
		c->was_used[at] = false;
	}
	return first;
}

/* Return: whether the peer had to be connected. */
static bool clock_uses(struct clock *c, int p)
{
	unsigned at = 0;

	while (at < c->count && c->peer[at] != p)
		at++;
	if (at < c->count) {
		c->was_used[at] = true;
		return false;
	}
	at = c->count < 4 ? c->count++ : clock_chooses(c);
	c->peer[at] = p;
	c->was_used[at] = false;
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

static const struct bench_case cases[] = {
	{ CASE(a_peer_is_connected_by_its_first_post), ON_VERBS },
	{ CASE_OF(a_peer_is_connected_by_its_first_post, "on RoCE"), ON_VERBS, ROCE },
	{ CASE(evictions_are_those_of_the_clock), ON_VERBS },
	{ CASE(a_path_has_the_smaller_mtu), ON_VERBS },
	{ CASE(every_operation_goes_there), ON_VERBS },
	{ CASE(what_was_received_outlives_its_connection), ON_VERBS },
	{ CASE(what_was_polled_is_not_given_back_again_with_its_target), ON_VERBS },
	{ CASE(what_does_not_fit_is_refused), ON_VERBS },
};

int main(void)
{
	random_start();
	return bench_run("dc_rc", cases, sizeof(cases) / sizeof(cases[0]));
}
