/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers that wait for an initiator: in which order they have their turns. */
#include "dc_rig.h"

static int write_bytes(struct rig *r, int p, uint32_t bytes)
{
	return bsn_write(r->ep[p], SGE(r->b, 0, 0, bytes), REMOTE(r->b, 1, INTO), 1, NOW);
}

static void who_waits_has_its_turn_in_order(struct bench *b)
{
	struct rig *r = make(b, .initiators = 2);

	ok(write_to(r, 0, 1));
	ok(write_to(r, 1, 1));
	for (int p = 2; p < 6; p++)
		fails(EAGAIN, "turn", write_to(r, p, 1));
	assert_int_equal(write_to(r, 2, 1), -EAGAIN); /* again is no second place */
	assert_int_equal(counters_of(r).waiting, 4);
	assert_int_equal(poll(r), 0);
	assert_int_equal(work(r), 4);
	expect_ready(r, 2, 2);
	expect_ready(r, 3, 3);
	assert_int_equal(write_to(r, 6, 1), -EAGAIN); /* who comes later does not overtake */
	ok(write_to(r, 2, 1));
	ok(write_to(r, 3, 1));
	assert_int_equal(work(r), 4);
	expect_ready(r, 2, 4);
	expect_ready(r, 3, 5);
	assert_int_equal(poll(r), 1); /* neither makes use of it */
	expect_ready(r, 0, 6);
	assert_int_equal(counters_of(r).passed, 2);
	ok(write_to(r, 6, 1));
	assert_int_equal(work(r), 1);
	assert_int_equal(counters_of(r).waiting, 0);
	assert_int_equal(counters_of(r).turns, 5);
}

/* An initiator is idle, but the poll had no place left to tell who waits for it. */
static void who_comes_later_passes_nobody(struct bench *b)
{
	for (unsigned policy = BSN_DC_LRU; policy <= BSN_DC_HASHED; policy++) {
		struct rig *r = make(b, .initiators = 1, .policy = policy);

		write_and_finish(r, 0, 1);
		ok(write_to(r, 1, 1));
		assert_int_equal(write_to(r, 2, 1), -EAGAIN);
		run_model(r);
		assert_int_equal(bsn_poll(bsn_dc_pool_cq(r->pool), r->done, 1), 1);
		assert_int_equal(write_to(r, 3, 1), -EAGAIN);
		assert_int_equal(poll(r), 1);
		expect_ready(r, 0, 2);
		ok(write_to(r, 2, 1));
		assert_true(work(r) >= 1);
		expect(r, 0, 2, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
		bench_undo_all(b);
	}
}

/* Peers 0 and 2 have one place, 1 and 3 the other: that 1 may not post does not help 2. */
static void who_goes_on_leaves_its_place(struct bench *b)
{
	struct rig *r = make(b, .initiators = 2, .policy = BSN_DC_HASHED, .turn_bytes = 4 * LENGTH);
	bool is_told = false;

	ok(write_to(r, 1, 1));
	assert_int_equal(write_to(r, 3, 1), -EAGAIN);
	for (uint64_t id = 2; id < 6; id++)
		ok(write_to(r, 1, id));
	poll(r);
	assert_int_equal(counters_of(r).revocations, 1);
	remove_peer(r, 3);
	work(r);
	ok(write_to(r, 0, 1));
	assert_int_equal(write_to(r, 2, 1), -EAGAIN);
	for (uint64_t id = 2; !is_told && id < 50; id++) {
		const int err = write_to(r, 0, id);

		assert_true(!err || err == -EAGAIN);
		softcx_step(1); /* something is always outstanding */
		is_told = poll(r) && r->done[r->count - 1].opcode == BSN_DC_READY;
	}
	assert_true(is_told);
	expect_ready(r, r->count - 1, 2);
}

/* The only idle one of many: who had a turn there made no use of it. */
static void who_passes_makes_room_at_once(struct bench *b)
{
	enum { MANY = MOST_LOOKS + 4 };
	_Static_assert(PEERS == 2 * MANY, "each has its turn");

	for (int last = MANY; last < 2 * MANY; last++) {
		struct rig *r = make(b, .initiators = MANY);

		for (int p = 0; p < MANY; p++)
			ok(write_to(r, p, 1));
		each_waits(r, MANY, 2 * MANY);
		assert_int_equal(work(r), 2 * MANY);
		for (int p = MANY; p < 2 * MANY; p++)
			if (p != last)
				ok(write_to(r, p, 1));
		assert_int_equal(write_to(r, 0, 2), -EAGAIN);
		assert_int_equal(poll(r), 1);
		expect_ready(r, 0, 0);
		assert_int_equal(work(r), MANY - 1);
		bench_undo_all(b);
	}
}

/* Nothing that the program sees was signaled, but somebody waits. */
static void an_unsignaled_end_is_found_out(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .signal_every = -1);

	for (int i = 0; i < 5; i++)
		ok(write_flags(r, 0, 1, BSN_F_RING));
	assert_int_equal(work(r), 0);
	assert_int_equal(counters_of(r).markers, 0);
	ok(write_flags(r, 0, 1, 0)); /* and one is not even published */
	assert_int_equal(write_to(r, 1, 2), -EAGAIN);
	assert_int_equal(counters_of(r).markers, 1);
	assert_int_equal(write_to(r, 1, 2), -EAGAIN);
	assert_int_equal(counters_of(r).markers, 1);
	assert_int_equal(work(r), 1);
	expect_ready(r, 0, 1);
	ok(write_to(r, 1, 2));
	assert_int_equal(work(r), 1);
}

static int send_to(struct rig *r, int p)
{
	return bsn_send(r->ep[p], SGE(r->b, 0, 0, LENGTH), 1, NOW);
}

/* Gives what stuck SENDs want, until so many are done. */
static void let_go(struct rig *r, int sends)
{
	struct bsn_completion c;

	while (sends > 0) {
		ok(bsn_recv(r->srq, SGE(r->b, 1, INTO, LENGTH), 0));
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
		struct rig *r = make(b, .initiators = MANY, .signal_every = -1,
				     .connect = { .rnr_retry = 7 });

		for (int p = 0; p < MANY; p++)
			ok(p == free ? write_flags(r, p, 1, BSN_F_RING) : send_to(r, p));
		assert_int_equal(write_to(r, MANY, 1), -EAGAIN);
		assert_int_equal(poll(r), 0);
		ok(write_flags(r, free, 2, BSN_F_RING));
		assert_int_equal(poll(r), 0);
		softcx_step(1000);
		assert_int_equal(poll(r), 1);
		expect_ready(r, 0, MANY);
		let_go(r, MANY - 1);
		bench_undo_all(b);
	}
}

/* What was appended and signaled, but not published, is published for whoever waits. */
static void an_end_that_nobody_rang_is_rung(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1);

	ok(write_flags(r, 0, 1, BSN_F_SIGNALED));
	assert_int_equal(work(r), 0);
	assert_int_equal(write_to(r, 1, 2), -EAGAIN);
	assert_int_equal(work(r), 2);
	expect(r, 0, 0, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_SUCCESS);
	expect_ready(r, 1, 1);
}

/* One that goes on for ever, and always has something outstanding. */
static void who_never_stops_starves_nobody(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .turn_bytes = 16 * LENGTH);
	unsigned hogged = 0, served = 0;

	ok(write_to(r, 0, 1));
	for (unsigned step = 0; step < 1000; step++) {
		for (unsigned i = 0; i < 3; i++) /* more than the device does meanwhile */
			hogged += !write_to(r, 0, 1);
		if (!write_to(r, 1, 2))
			served++;
		softcx_step(2);
		poll(r);
	}
	assert_true(served > 50 && hogged > 50);
	assert_true(counters_of(r).revocations > 10);
	work_on(r, 10);
}

/* Peers that want to post as much as they can, messages of these lengths, through one initiator. */
static void share(struct bench *b, const uint32_t *length, uint64_t *bytes, int peers,
		  uint64_t turn)
{
	struct rig *r = make(b, .initiators = 1, .turn_bytes = turn, .send_depth = 32);

	for (unsigned step = 0; step < 3000; step++) {
		for (int p = 0; p < peers; p++)
			for (int k = 0; k < 4 && !write_bytes(r, p, length[p]); k++)
				bytes[p] += length[p];
		softcx_step(3);
		poll(r);
	}
	work_on(r, 2 * TARGETS);
}

/* Who sends long messages gets as many bytes as who sends short ones, not as many messages. */
static void turns_are_of_bytes(struct bench *b)
{
	static const uint32_t lengths[] = { 64, 1500, 400 };
	uint64_t bytes[3] = { 0 };

	share(b, lengths, bytes, 3, 4096);
	for (int p = 1; p < 3; p++)
		if (bytes[p] < bytes[0] * 8 / 10 || bytes[p] > bytes[0] * 12 / 10)
			fail_msg("%u B: %llu bytes in all, and %llu of messages of 64 B",
				 lengths[p], (unsigned long long)bytes[p],
				 (unsigned long long)bytes[0]);
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

/* It posted eight turns at once while others waited; its initiator was taken unlooked at. */
static void who_leaves_in_debt_is_passed(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .turn_bytes = 512);
	unsigned others = 0;

	ok(write_to(r, 0, 1));
	each_waits(r, 1, 3);
	ok(write_bytes(r, 0, 4000));
	work(r);
	assert_true(is_told(r, 1));
	assert_int_equal(write_to(r, 0, 1), -EAGAIN);
	for (unsigned step = 0; !is_told(r, 0) && step < 100; step++) {
		for (int p = 1; p < 3; p++) {
			others += is_told(r, p);
			write_bytes(r, p, 512);
		}
		work(r);
	}
	assert_true(is_told(r, 0));
	assert_in_range(others, 6, 10);
	work_on(r, 10);
}

/* Each message is a debt of many turns. */
static void a_turn_may_be_a_byte(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1, .turn_bytes = 1);
	unsigned told[3] = { 0 };

	for (unsigned step = 0; step < 300; step++) {
		for (int p = 0; p < 3; p++) {
			told[p] += is_told(r, p);
			write_to(r, p, 1);
		}
		work(r);
	}
	for (int p = 0; p < 3; p++)
		assert_in_range(told[p], 20, 200);
	work_on(r, 10);
}

/* A peer that waits is destroyed: those behind it have their turn as if it had never been there. */
static void who_waits_may_be_destroyed(struct bench *b)
{
	struct rig *r = make(b, .initiators = 1);

	ok(write_to(r, 0, 1));
	each_waits(r, 1, 5);
	for (int p = 1; p < 5; p += 3)
		remove_peer(r, p);
	assert_int_equal(counters_of(r).waiting, 2);
	assert_int_equal(work(r), 2);
	expect_ready(r, 1, 2);
	add_peer(r, 1);
	add_peer(r, 4);
	ok(write_to(r, 2, 1));
	assert_int_equal(work(r), 2);
	expect_ready(r, 1, 3);
	ok(write_to(r, 3, 1));
	work(r);
	write_and_finish(r, 1, 2);
}

static const struct bench_case cases[] = {
	{ CASE(who_waits_has_its_turn_in_order), ON_DIRECT },
	{ CASE(who_comes_later_passes_nobody), ON_DIRECT },
	{ CASE(who_goes_on_leaves_its_place), ON_DIRECT },
	{ CASE(who_passes_makes_room_at_once), ON_DIRECT },
	{ CASE(an_unsignaled_end_is_found_out), ON_DIRECT },
	{ CASE(an_end_among_many_is_found_out), ON_DIRECT },
	{ CASE(an_end_that_nobody_rang_is_rung), ON_DIRECT },
	{ CASE(who_never_stops_starves_nobody), ON_DIRECT },
	{ CASE(turns_are_of_bytes), ON_DIRECT },
	{ CASE(who_owes_is_passed), ON_DIRECT },
	{ CASE(who_leaves_in_debt_is_passed), ON_DIRECT },
	{ CASE(a_turn_may_be_a_byte), ON_DIRECT },
	{ CASE(who_waits_may_be_destroyed), ON_DIRECT },
};

BENCH_MAIN("dc_pool_waits")
