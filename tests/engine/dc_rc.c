/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool of DC on plain verbs: connecting, and what is refused. */
#include "dc_random.h"
#include "dc_rc_rig.h"

/* -- connecting -------------------------------------------------------------------------------- */

static void a_peer_is_connected_by_its_first_post(struct bench *b)
{
	struct rig *r = make(b, .initiators = 4);

	for (int p = 0; p < 4; p++) {
		connect_peer(r, p);
		write_and_await(r, p, 10);
	}
	assert_int_equal(r->changes, 4);
	for (int round = 0; round < 50; round++) /* no more of it */
		write_and_await(r, round % 4, 11);
	assert_int_equal(r->changes, 4);
	assert_int_equal(counters_of(r).bindings, 4);
	assert_int_equal(counters_of(r).evictions, 0);
	assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), LENGTH);
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

	for (int round = 0; round < 3; round++, attr.connect.mtu /= 2) {
		struct rig *r = make_of(b, &attr);
		const struct bsn_dct_attr target = {
			.cq = r->into, .srq = r->srq, .access_key = KEY, .connect.mtu = 512
		};

		remove_target(r, 0);
		ok(bsn_dct_create(b->device, &target, &r->dct[0]));
		remove_peer(r, 0);
		add_peer(r, 0);
		connect_peer(r, 0);
		memset(bench_at(b, 1, INTO), 0, BYTES);
		ok(bsn_write(r->ep[0], SGE(b, 0, 0, BYTES), REMOTE(b, 1, INTO), 1, NOW));
		await_one(r, 0, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), BYTES);
		ok(bsn_read(r->ep[0], SGE(b, 0, 0, BYTES), REMOTE(b, 1, INTO), 1, NOW));
		await_one(r, 0, 1, BSN_OPCODE_RDMA_READ, IBV_WC_SUCCESS);
		bench_undo_all(b);
	}
}

/* Its second request is what uses a connection: the one that asked for it does not count. */
static void evictions_are_those_of_the_clock(struct bench *b)
{
	struct rig *r = make(b, .initiators = 4, .spares = 1);
	struct clock clock = { .count = 0 };
	unsigned evictions = 0;

	for (unsigned step = 0; step < bench_rounds(b, 2000); step++) {
		const int p = (int)(random_u64() % 3 ? random_u64() % 3 : random_u64() % PEERS);
		const bool misses = clock_uses(&clock, p);
		const int err = write_to(r, p, step);

		if (err != (misses ? -EAGAIN : 0))
			fail_msg("step %u, peer %d: %d, but the model %s it", step, p, err,
				 misses ? "has not" : "has");
		evictions += misses;
		if (misses) {
			await_ready(r, p);
			ok(write_to(r, p, step));
		}
		await_one(r, p, step, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	}
	expect_changes(r, 2 * (int)evictions - 4); /* who is evicted leaves */
	assert_int_equal(counters_of(r).bindings, evictions);
	assert_int_equal(counters_of(r).evictions, evictions - 4);
}

static void every_operation_goes_there(struct bench *b)
{
	struct rig *r = make(b, .initiators = 2, .max_inline = 64, .max_send_sge = 3);

	for (int kind = 0; kind < 9; kind++) {
		struct bsn_completion got;

		if (kind >= 6)
			ok(bsn_recv(r->srq, SGE(b, 1, INTO, 4096), (uint64_t)kind));
		assert_int_equal(post_by(r, kind, r->ep[kind], 50, 1), -EAGAIN);
		await_ready(r, kind);
		ok(post_by(r, kind, r->ep[kind], 50, 1));
		assert_int_equal(await(r), 1);
		assert_int_equal(r->done[0].status, IBV_WC_SUCCESS);
		assert_ptr_equal(r->done[0].user, &r->user[kind]);
		if (kind < 6)
			continue;
		got = bench_next(b, r->into);
		assert_int_equal(got.id, kind);
		assert_ptr_equal(got.user, &r->dct[kind]);
	}
}

static void post_recvs(struct rig *r, int count, uint64_t first)
{
	for (int i = 0; i < count; i++)
		ok(bsn_recv(r->srq, SGE(r->b, 1, INTO, LENGTH), first + (uint64_t)i));
}

/* Each by a connection of its own, since the pool has one initiator: never the same twice. */
static void send_each(struct rig *r, int count, int first)
{
	for (int i = first; i < first + count; i++) {
		assert_int_equal(bsn_send(r->ep[i % 3], SGE(r->b, 0, 0, LENGTH), 1, NOW), -EAGAIN);
		await_ready(r, i % 3);
		ok(bsn_send(r->ep[i % 3], SGE(r->b, 0, 0, LENGTH), 1, NOW));
		assert_int_equal(await(r), 1);
	}
}

/* With all targets gone, the SRQ has so many of its receives back. */
static void expect_back(struct rig *r, int count)
{
	remove_all(r);
	post_recvs(r, count, RECVS);
	assert_int_equal(bsn_recv(r->srq, SGE(r->b, 1, INTO, LENGTH), 0), -EAGAIN);
	add_all(r);
}

/* A message that nobody polled yet is still there when its connection is gone. */
static void what_was_received_outlives_its_connection(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1);
	struct bsn_completion got[RECVS];

	for (int round = 0; round < 3; round++) {
		post_recvs(r, RECVS, 0);
		send_each(r, RECVS, round);
		assert_int_equal(bench_reap(b, r->into, got, RECVS), RECVS);
		for (int i = 0; i < RECVS; i++) {
			assert_int_equal(got[i].status, IBV_WC_SUCCESS);
			assert_int_equal(got[i].id, i);
			assert_int_equal(got[i].byte_len, LENGTH);
			assert_ptr_equal(got[i].user, &r->dct[(i + round) % 3]);
		}
	}
	post_recvs(r, RECVS, 0);
	send_each(r, 3, 0); /* which nobody polls */
	expect_back(r, 3);
}

static void what_was_polled_is_not_given_back_again_with_its_target(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1);
	struct bsn_completion got[RECVS];

	post_recvs(r, RECVS, 0);
	send_each(r, 3, 0);
	assert_int_equal(bsn_poll(r->into, got, 1), 1);
	assert_int_equal(got[0].id, 0);
	expect_back(r, 3);
	send_each(r, RECVS, 0);
	assert_int_equal(bench_reap(b, r->into, got, RECVS), RECVS);
	for (int i = 0; i < RECVS; i++)
		assert_int_equal(got[i].id, 3 + i);
}

/* -- wrong ones -------------------------------------------------------------------------------- */

/* A peer of this address cannot be connected. */
static void expect_nobody(struct rig *r, const struct bsn_address *address)
{
	struct bsn_ep *const before = r->ep[0];

	r->ep[0] = new_peer(r, address, &r->user[0]);
	assert_int_equal(write_to(r, 0, 1), -EAGAIN);
	await_one(r, 0, 0, BSN_DC_READY, IBV_WC_RETRY_EXC_ERR);
	remove_peer(r, 0);
	r->ep[0] = before;
}

enum { KEY_AT = 15, IS_RC_AT = 23, QPN_AT = 7 }; /* in an address */

static void what_does_not_fit_is_refused(struct bench *b)
{
	struct rig *r = make(b, .initiators = 2, .connect = impatient);
	const struct bsn_address address = target_address(r, 0);
	struct bsn_address other;

	fails(EOPNOTSUPP, "streams", try_pool(b, .initiators = 2, .streams = 2));
	fails(EINVAL, "initiators", try_pool(b, .initiators = 1 << 30));
	fails(EINVAL, "inline", try_pool(b, .max_inline = 100000));
	fails(EINVAL, "DCT", bsn_dct_accept(NULL));
	memset(&other, 0x5a, sizeof(other));
	fails(EPROTO, "address", try_peer(r, &other));
	other = address;
	other.bytes[IS_RC_AT] = 0; /* a DCT of a device */
	fails(EPROTO, "path", try_peer(r, &other));
	other = address;
	other.bytes[KEY_AT] ^= 1;
	expect_nobody(r, &other);
	other = address;
	other.bytes[QPN_AT] ^= 0x40;
	expect_nobody(r, &other);
	assert_int_equal(bsn_masked_fetch_add(r->ep[1], NULL, &(struct bsn_remote){ 0, 0 },
					      &(struct bsn_masked_fa){ 0 }, 8, 0, 0),
			 -EOPNOTSUPP);
	connect_peer(r, 0);
	ok(write_to(r, 0, 1));
	fails(EBUSY, "outstanding", bsn_dc_peer_destroy(r->ep[0]));
	assert_int_equal(await(r), 1);
}

static const struct bench_case cases[] = {
	AND_ON_ROCE(a_peer_is_connected_by_its_first_post, BY_RC),
	{ CASE(evictions_are_those_of_the_clock), BY_RC },
	{ CASE(a_path_has_the_smaller_mtu), BY_RC },
	{ CASE(every_operation_goes_there), BY_RC },
	{ CASE(what_was_received_outlives_its_connection), BY_RC },
	{ CASE(what_was_polled_is_not_given_back_again_with_its_target), BY_RC },
	{ CASE(what_does_not_fit_is_refused), BY_RC },
};

RANDOM_MAIN("dc_rc")
