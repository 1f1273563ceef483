/* SPDX-License-Identifier: BSD-2-Clause */
/* How many READs and atomics an initiator may have on the way. */
#include "dc_random.h"

/* -- READs have a limit ------------------------------------------------------------------------ */

static int read_from(struct rig *r, int p, uint64_t id, unsigned flags)
{
	return bsn_read(r->ep[p], SGE(r->b, 0, 0, LENGTH), REMOTE(r->b, 1, INTO), id, flags);
}

static int add_to(struct rig *r, int p, uint64_t id)
{
	return bsn_fetch_add(r->ep[p], SGE(r->b, 0, 0, 8), REMOTE(r->b, 1, INTO), 1, id, NOW);
}

static void expect_held(struct rig *r, int p)
{
	const uint64_t held = counters_of(r).reads_held;

	fails(EAGAIN, "max_reads", read_from(r, p, 99, NOW));
	assert_int_equal(add_to(r, p, 99), -EAGAIN);
	assert_int_equal(counters_of(r).reads_held, held + 2);
	assert_int_equal(counters_of(r).waiting, 0);
}

static int read_nowhere(struct rig *r, int p, uint64_t id)
{
	return bsn_read(r->ep[p], SGE(r->b, 0, 0, LENGTH), &(struct bsn_remote){ 0, 0 }, id, NOW);
}

/* As many as there may be, which are done then, with what was posted before. */
static void read_two(struct rig *r, int p, int before)
{
	for (int k = 0; k < 2; k++)
		ok(read_from(r, p, 2, NOW));
	expect_held(r, p);
	assert_int_equal(work(r), before + 2);
}

/* Of each initiator; other requests go on, and so do other peers. */
static void reads_have_a_limit(struct bench *b)
{
	const struct bsn_wr wr = { .opcode = BSN_OPCODE_RDMA_READ,
				   .sge = SGE(b, 0, 0, LENGTH),
				   .sge_count = 1,
				   .remote = bench_remote(b, 1, INTO) };
	struct rig *r = make(b, .initiators = 2, .max_reads = 3);
	struct bsn_prepared prepared;

	ok(bsn_prepare(r->ep[0], &wr, &prepared));
	ok(read_from(r, 0, 1, NOW));
	ok(add_to(r, 0, 2));
	ok(bsn_post_prepared(r->ep[0], &prepared, 3, NOW));
	expect_held(r, 0);
	assert_int_equal(bsn_post_prepared(r->ep[0], &prepared, 99, NOW), -EAGAIN);
	ok(write_to(r, 0, 4));
	ok(read_from(r, 1, 5, NOW));
	assert_int_equal(work(r), 5);
	for (int k = 0; k < 5; k++)
		assert_int_equal(r->done[k].status, IBV_WC_SUCCESS);
	for (int k = 0; k < 3; k++)
		ok(add_to(r, 0, 6));
	expect_held(r, 0);
	assert_int_equal(work(r), 3);
	assert_int_equal(counters_of(r).markers, 0);
}

/* Requests of the longest kind: a limit of READs changes nothing. */
static void a_peer_has_room(struct bench *b)
{
	uint32_t room[2];

	for (uint32_t limited = 0; limited < 2; limited++) {
		struct rig *r = make(b, .initiators = 1, .send_depth = 8, .max_reads = limited * 3);

		ok(write_to(r, 0, 1));
		room[limited] = bsn_room(r->ep[0]);
		assert_int_equal(work(r), 1);
		bench_undo_all(b);
	}
	assert_in_range(room[0], 1, 2 * 8); /* a ring is rounded up */
	assert_int_equal(room[1], room[0]);
}

/* Nothing that the program sees was signaled, or rung. */
static void a_quiet_read_makes_room(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .max_reads = 2, .signal_every = -1);

	for (unsigned round = 1; round <= 3; round++) {
		ok(read_from(r, 0, 1, BSN_F_RING));
		ok(read_from(r, 0, 1, 0));
		assert_int_equal(work(r), 0);
		expect_held(r, 0);
		assert_int_equal(counters_of(r).markers, round);
		assert_int_equal(work(r), 0);
	}
	ok(read_from(r, 0, 1, 0));
	ok(read_from(r, 0, 1, BSN_F_SIGNALED)); /* it tells, but it is not published */
	expect_held(r, 0);
	assert_int_equal(work(r), 1);
	assert_int_equal(counters_of(r).markers, 3);
	ok(read_from(r, 0, 2, NOW));
	assert_int_equal(work(r), 1);
}

/* The done ones are looked at when there is no room; the index may have gone half round then. */
static void a_read_of_long_ago_makes_room(struct bench *b)
{
	for (unsigned quarters = 1; quarters < 4; quarters++) {
		struct rig *r = make(b, .initiators = 1, .spares = 1, .max_reads = 2);

		read_two(r, 0, 0);
		dv_sq(r->pool->initiators[0].sq)->wide_pi += quarters << 30;
		read_two(r, 0, 0);
		bench_undo_all(b);
	}
}

/* What was taken back, or has failed, is not outstanding any more. */
static void a_read_that_is_gone_makes_room(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .spares = 1, .max_reads = 2);

	ok(read_from(r, 0, 1, NOW));
	ok(read_from(r, 0, 2, 0));
	ok(bsn_cancel(r->ep[0]));
	ok(read_from(r, 0, 3, 0));
	ok(bsn_ring(r->ep[0]));
	expect_held(r, 0);
	work(r);
	for (int round = 0; round < 2; round++) { /* both initiators */
		ok(read_nowhere(r, 0, 4));
		ok(read_from(r, 0, 5, NOW));
		assert_int_equal(work(r), 2);
		expect(r, 0, 0, 4, BSN_OPCODE_RDMA_READ, IBV_WC_REM_ACCESS_ERR);
		bring_back(r, 0, 1);
	}
	read_two(r, 0, 0);
	read_two(r, 1, 0);
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
		reads[(int *)r->done[k].user - r->user] -=
			r->done[k].opcode == BSN_OPCODE_RDMA_READ;
	}
}

/* Never more than so many, and never refused with fewer: a peer has its initiator alone. */
static void reads_at_random(struct bench *b)
{
	struct rig *r = make(b, .initiators = 3, .max_reads = MOST_READS, .send_depth = 16);
	unsigned reads[PEERS] = { 0 }, held = 0;

	for (unsigned step = bench_rounds(b, 20000); step; step--) {
		held += read_at_random(r, (int)(random_u64() % READERS), reads);
		softcx_step(1 + random_u64() % 8);
		count_read(r, reads);
	}
	for (unsigned k = 0; k < 10; k++) {
		run_model(r);
		count_read(r, reads);
	}
	for (int p = 0; p < PEERS; p++)
		assert_int_equal(reads[p], 0);
	assert_int_equal(counters_of(r).reads_held, held);
	assert_true(held > 10);
}

/* -- each way to read has the limit ------------------------------------------------------------ */

enum {
	WAY_READ,
	WAY_SGES_1,
	WAY_SGES_2,
	WAY_SGES_3,
	WAY_SGES_4,
	WAY_COUNTED,
	WAY_WR,
	WAY_WR_ADD,
	WAY_ADD,
	WAY_SWAP,
	WAY_PREPARED,
	WAY_PREPARED_SGES,
	WAY_PREPARED_ADD,
	WAY_PREPARED_ELSEWHERE,
	WAYS
};

/* Of a READ of so many SGEs, or of an atomic. */
static struct bsn_wr wr_of(struct rig *r, unsigned opcode, struct bsn_sge *sges, unsigned count,
			   unsigned flags)
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
	struct bsn_sge sge;
	const struct bsn_wr wr = wr_of(r, opcode, &sge, 1, flags);

	return bsn_post(r->ep[p], &wr);
}

/* Prepared for @by. */
static int post_a_prepared(struct rig *r, int p, struct bsn_ep *by, unsigned opcode, unsigned count,
			   unsigned flags)
{
	struct bsn_sge sges[4];
	const struct bsn_wr wr = wr_of(r, opcode, sges, count, 0);
	struct bsn_prepared prepared;

	ok(bsn_prepare(by, &wr, &prepared));
	return bsn_post_prepared(r->ep[p], &prepared, 1, flags);
}

/*
 * The compiler knows how many SGEs there are, but for WAY_COUNTED. @elsewhere: an endpoint of a
 * pool whose READs have no limit.
 */
static int read_by(struct rig *r, int p, unsigned way, unsigned flags, struct bsn_ep *elsewhere)
{
	volatile unsigned count = 3;
	struct bsn_ep *ep = r->ep[p];
	struct bsn_sge sges[4];
	const struct bsn_wr wr = wr_of(r, BSN_OPCODE_RDMA_READ, sges, 4, flags);

	switch (way) {
	case WAY_READ:
		return read_from(r, p, 1, flags);
	case WAY_SGES_1:
		return bsn_read_sgl(ep, sges, 1, &wr.remote, 1, flags);
	case WAY_SGES_2:
		return bsn_read_sgl(ep, sges, 2, &wr.remote, 1, flags);
	case WAY_SGES_3:
		return bsn_read_sgl(ep, sges, 3, &wr.remote, 1, flags);
	case WAY_SGES_4:
		return bsn_read_sgl(ep, sges, 4, &wr.remote, 1, flags);
	case WAY_WR:
		return post_wr(r, p, BSN_OPCODE_RDMA_READ, flags);
	case WAY_WR_ADD:
		return post_wr(r, p, BSN_OPCODE_ATOMIC_FA, flags);
	case WAY_ADD:
		return bsn_fetch_add(ep, SGE(r->b, 0, 0, 8), &wr.remote, 1, 1, flags);
	case WAY_SWAP:
		return bsn_cmp_swap(ep, SGE(r->b, 0, 0, 8), &wr.remote, 1, 2, 1, flags);
	case WAY_PREPARED:
		return post_a_prepared(r, p, ep, BSN_OPCODE_RDMA_READ, 1, flags);
	case WAY_PREPARED_SGES:
		return post_a_prepared(r, p, ep, BSN_OPCODE_RDMA_READ, 2, flags);
	case WAY_PREPARED_ADD:
		return post_a_prepared(r, p, ep, BSN_OPCODE_ATOMIC_FA, 1, flags);
	case WAY_PREPARED_ELSEWHERE:
		return post_a_prepared(r, p, elsewhere, BSN_OPCODE_RDMA_READ, 1, flags);
	default:
		return bsn_read_sgl(ep, sges, count, &wr.remote, 1, flags);
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

	for (unsigned other = 0; other < WAYS; other++)
		fails(EAGAIN, "max_reads", read_by(r, p, other, NOW, elsewhere));
	assert_int_equal(read_by(r, p, way, 0, elsewhere), -EAGAIN);
	assert_int_equal(counters_of(r).reads_held, held + WAYS + 1);
}

/* With these flags but for the last one, after which only what does not read is taken. */
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
	const uint64_t there = 0x1122334455667788;
	struct rig *r = make(b, .initiators = 2, .max_reads = 3, .max_send_sge = 4);
	struct rig *other = make(b, .initiators = 1, .max_send_sge = 4);

	bind_peer(r, 0);
	for (unsigned way = 0; way < WAYS; way++) {
		read_to_the_limit(r, 0, way, NOW, 3, other->ep[0]);
		read_to_the_limit(r, 0, way, BSN_F_RING, 3, other->ep[0]);
		read_to_the_limit(r, 0, way, BSN_F_SIGNALED, 3, other->ep[0]);
		read_to_the_limit(r, 0, way, 0, 3, other->ep[0]);
		memcpy(bench_at(b, 1, INTO), &there, sizeof(there));
		memset(bench_at(b, 0, 0), 0, 8);
		ok(read_by(r, 0, way, NOW, other->ep[0]));
		work(r);
		assert_memory_equal(bench_at(b, 0, 0), &there, sizeof(there));
	}
}

/* By peers that take another's initiator, whose short queue looks for room at most posts. */
static void each_way_to_read_takes_an_initiator(struct bench *b)
{
	struct rig *r =
		make(b, .initiators = 1, .max_reads = 2, .max_send_sge = 4, .send_depth = 1);

	for (unsigned way = 0; way < WAYS; way++)
		for (int p = 0; p < 3; p++)
			read_to_the_limit(r, p, way, p ? NOW : 0, 2, r->ep[3]);
}

/* A READ that is refused for itself says why, and is not counted for long. */
static void a_bad_read_is_refused_in_words(struct bench *b)
{
	const struct bsn_remote from = bench_remote(b, 1, INTO);
	struct rig *r = make(b, .initiators = 1, .max_reads = 2, .max_send_sge = 2);
	struct bsn_sge sges[4];
	struct bsn_wr wr = wr_of(r, BSN_OPCODE_RDMA_READ, sges, 4, NOW);
	struct bsn_prepared prepared;

	bind_peer(r, 0);
	for (int k = 0; k < 8; k++) {
		assert_int_equal(bsn_read_sgl(r->ep[0], sges, 3, &from, 1, NOW), -EMSGSIZE);
		assert_int_equal(bsn_post(r->ep[0], &wr), -EMSGSIZE);
		fails(EMSGSIZE, "max_send_sge", bsn_prepare(r->ep[0], &wr, &prepared));
	}
	wr.sge_count = 1;
	wr.flags = NOW | BSN_F_INLINE;
	fails(EOPNOTSUPP, "inline", bsn_post(r->ep[0], &wr));
	read_to_the_limit(r, 0, WAY_READ, NOW, 2, r->ep[0]);
}

/* Those that were taken back are none, also where WRITEs have their blocks now. */
static void a_read_that_was_taken_back_is_none(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .max_reads = 2, .send_depth = 16);

	bind_peer(r, 0);
	for (int round = 0; round < 40; round++) { /* round the ring, and its end */
		ok(read_from(r, 0, 1, round % 2 ? NOW : 0));
		ok(read_from(r, 0, 2, 0));
		ok(bsn_cancel(r->ep[0]));
		for (int k = 0; k < 3; k++)
			ok(write_to(r, 0, 3));
		if (!(round % 2))
			ok(read_from(r, 0, 4, NOW));
		ok(read_from(r, 0, 5, NOW));
		expect_held(r, 0);
		ok(write_to(r, 0, 6));
		assert_int_equal(work(r), 6);
	}
}

/* Its queue begins again, and nothing that was counted before is left. */
static void a_repaired_initiator_counts_anew(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .spares = 1, .max_reads = 2);

	for (int round = 0; round < 4; round++) { /* both initiators, twice */
		const int writes = 10 * round;    /* more than all that was posted to it before */

		for (int k = 0; k < writes; k++)
			ok(write_to(r, 0, 1));
		read_two(r, 0, writes);
		read_two(r, 0, 0);
		ok(read_nowhere(r, 0, 5));
		expect_one(r, 0, 5, BSN_OPCODE_RDMA_READ, IBV_WC_REM_ACCESS_ERR);
		bring_back(r, 0, 1);
	}
}

/* The queue began anew, but its ring still has WQEs of before: one goes round its end. */
static void a_repaired_initiator_is_busy(struct bench *b)
{
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	static const uint8_t data[44];
	struct rig *r = make(b, .initiators = 1, .spares = 1, .send_depth = 16, .max_inline = 44);

	for (int round = 0; round < 3; round++) { /* one initiator, its spare, and it again */
		ok(write_to(r, 0, 1));
		if (round == 2)
			break;
		assert_int_equal(work(r), 1);
		for (int k = 0; k < 100; k++) { /* of two blocks, from odd indices on */
			ok(bsn_write_inline(r->ep[0], data, sizeof(data), &to, 2, NOW));
			assert_int_equal(work(r), 1);
		}
		write_and_fail(r, 0, 3);
		bring_back(r, 0, 1);
	}
	assert_int_equal(write_to(r, 1, 4), -EAGAIN); /* as the other's is outstanding */
	assert_int_equal(work(r), 2);
	expect_ready(r, 1, 1);
}

static const struct bench_case cases[] = {
	AND_ON_ROCE(reads_have_a_limit, ON_DIRECT),
	{ CASE(a_peer_has_room), ON_DIRECT },
	{ CASE(a_quiet_read_makes_room), ON_DIRECT },
	{ CASE(a_read_of_long_ago_makes_room), ON_DIRECT },
	{ CASE(a_read_that_is_gone_makes_room), ON_DIRECT },
	AND_ON_ROCE(each_way_to_read_has_the_limit, ON_DIRECT),
	{ CASE_OF(each_way_to_read_has_the_limit, "by connections"), ON_VERBS },
	AND_ON_ROCE(each_way_to_read_takes_an_initiator, ON_DIRECT),
	{ CASE(a_bad_read_is_refused_in_words), ON_DIRECT },
	AND_ON_ROCE(a_read_that_was_taken_back_is_none, ON_DIRECT),
	{ CASE(a_repaired_initiator_counts_anew), ON_DIRECT },
	{ CASE(a_repaired_initiator_is_busy), ON_DIRECT },
	AND_ON_ROCE(reads_at_random, ON_DIRECT),
	{ CASE_OF(reads_at_random, "by connections"), ON_VERBS },
};

RANDOM_MAIN("dc_pool_reads")
