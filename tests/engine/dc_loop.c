/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One loop for RC QPs and pools of DC initiators: they share a CQ. The bench's first QP completes
 * where the pool does.
 */
#include "path.h" /* before cmocka.h, which has a macro fail() */

#include "dc_rig.h"

static void make_shared(struct bench *b, struct rig *r, const struct bsn_dc_pool_attr *given)
{
	struct bsn_dc_pool_attr attr = *given;

	attr.cq = b->cq[0];
	make(b, r, &attr);
	assert_ptr_equal(bsn_dc_pool_cq(r->pool), b->cq[0]);
}

static int write_by_rc(struct bench *b, uint64_t id)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote to = bench_remote(b, 1, 2 * INTO);

	return bsn_write(b->ep[0], &local, &to, id, NOW);
}

static bool is_of_rc(const struct bench *b, const struct bsn_completion *c)
{
	return c->qpn == bsn_qp_info(b->qp[0])->number;
}

/* Up to @n, on plain verbs with the targets' part. */
static int poll_up_to(struct rig *r, int n)
{
	for (int t = 0; t < TARGETS; t++)
		assert_true(!r->dct[t] || bsn_dct_accept(r->dct[t]) >= 0);
	r->count = bsn_poll(r->b->cq[0], r->done, n);
	assert_true(r->count >= 0);
	return r->count;
}

/* Until the peer has an initiator: nothing of it is outstanding then, or anywhere. */
static void connect_peer(struct rig *r, int p)
{
	int left = !write_to(r, p, 1);

	for (int tries = 0; tries < 100 && !left; tries++) {
		run_model();
		poll_up_to(r, 1);
		if (r->count && r->done[0].opcode == BSN_DC_READY)
			left = !write_to(r, p, 1);
	}
	assert_int_equal(left, 1);
	assert_int_equal(work(r), 1);
}

/* -- both in one loop -------------------------------------------------------------------------- */

static void completions_come_in_order(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2 };
	struct rig r;

	make_shared(b, &r, &attr);
	connect_peer(&r, 0);
	for (int n = 1; n <= 4; n *= 2) {
		for (uint64_t id = 0; id < 20; id++) {
			ok(id % 2 ? write_by_rc(b, id) : write_to(&r, 0, id));
			run_model();
		}
		for (uint64_t id = 0; id < 20;) {
			assert_true(poll_up_to(&r, n) > 0);
			for (int k = 0; k < r.count; k++, id++) {
				assert_int_equal(r.done[k].id, id);
				assert_int_equal(r.done[k].status, IBV_WC_SUCCESS);
				assert_int_equal(is_of_rc(b, &r.done[k]), id % 2);
			}
		}
		assert_int_equal(poll_up_to(&r, n), 0);
	}
	unmake(&r);
}

static bool goes_straight(const struct bench *b)
{
	return !b->cq[0]->path;
}

/* Nothing of a pool is asked in a poll, as long as nobody waits. */
static void polls_go_straight_while_nobody_waits(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1 };
	struct rig r;

	if (cq_of(b->cq[0])->has_front) /* it is checked */
		return;
	make_shared(b, &r, &attr);
	assert_true(goes_straight(b));
	write_and_finish(&r, 0, 1);
	ok(write_to(&r, 1, 2)); /* it takes the other's */
	assert_true(goes_straight(b));
	assert_int_equal(write_to(&r, 2, 3), -EAGAIN);
	assert_false(goes_straight(b));
	assert_int_equal(work(&r), 2);
	expect_ready(&r, 1, 2);
	assert_false(goes_straight(b)); /* its turn may pass */
	ok(write_to(&r, 2, 3));
	assert_int_equal(work(&r), 1);
	assert_true(goes_straight(b));
	unmake(&r);
	assert_true(goes_straight(b));
}

/* A failure takes polls nowhere else, unless somebody waits. */
static void failures_are_told_where_they_come(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .spares = 1 };
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote nowhere = { 0, 0 };
	struct rig r;

	make_shared(b, &r, &attr);
	connect_peer(&r, 0);
	for (uint64_t id = 0; id < 6; id++) {
		ok(write_by_rc(b, id));
		run_model();
		ok(id == 2 ? bsn_write(r.ep[0], &local, &nowhere, id, NOW) : write_to(&r, 0, id));
		run_model();
	}
	for (uint64_t at = 0; at < 12; at++) {
		assert_int_equal(poll_up_to(&r, 1), 1);
		assert_int_equal(r.done[0].id, at / 2);
		assert_int_equal(is_of_rc(b, &r.done[0]), at % 2 == 0);
		assert_int_equal(r.done[0].status, at % 2 == 0 || at < 4 ? IBV_WC_SUCCESS
						   : at == 5		 ? IBV_WC_REM_ACCESS_ERR
									 : IBV_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(poll_up_to(&r, 1), 0);
	assert_int_equal(write_to(&r, 0, 7), -ENOTCONN);
	assert_int_equal(bsn_dc_pool_repair(r.pool), 0);
	ok(bsn_dc_peer_reset(r.ep[0]));
	connect_peer(&r, 0);
	unmake(&r);
}

/* -- turns ------------------------------------------------------------------------------------- */

/* There is always a completion of the RC QP, and room for one. */
static void turns_are_told_though_others_complete(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1 };
	struct rig r;
	int polls;

	make_shared(b, &r, &attr);
	connect_peer(&r, 0);
	ok(write_to(&r, 0, 1));
	assert_int_equal(write_to(&r, 1, 2), -EAGAIN);
	for (polls = 0; polls < 100; polls++) {
		ok(write_by_rc(b, 3));
		run_model();
		assert_int_equal(poll_up_to(&r, 1), 1);
		if (r.done[0].opcode == BSN_DC_READY)
			break;
	}
	assert_true(polls < 20);
	expect_ready(&r, 0, 1);
	ok(write_to(&r, 1, 2));
	for (polls = 0; work(&r); polls++)
		;
	unmake(&r);
}

/* Of two pools, both of whose peers wait, neither is heard alone. */
static void pools_share_a_loop(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1 };
	unsigned ready[2] = { 0 };
	struct rig r, s;

	make_shared(b, &r, &attr);
	make_shared(b, &s, &attr);
	for (int p = 0; p < 6; p++) {
		const int first = write_to(&r, p, 1), second = write_to(&s, p, 1);

		assert_true(p ? first == -EAGAIN && second == -EAGAIN : first == second);
	}
	for (unsigned polls = 0; polls < 400 && (ready[0] < 5 || ready[1] < 5); polls++) {
		run_model();
		for (int t = 0; t < TARGETS; t++)
			assert_true(bsn_dct_accept(s.dct[t]) >= 0);
		poll_up_to(&r, 1);
		if (!r.count || r.done[0].opcode != BSN_DC_READY)
			continue;
		for (int p = 0; p < 6; p++) {
			if (r.done[0].user == &r.user[p])
				ready[0] += !write_to(&r, p, 1);
			if (r.done[0].user == &s.user[p])
				ready[1] += !write_to(&s, p, 1);
		}
		assert_in_range(ready[0], ready[1] > 2 ? ready[1] - 2 : 0, ready[1] + 2);
	}
	assert_true(ready[0] >= 5 && ready[1] >= 5);
	while (work(&r))
		;
	unmake(&r);
	unmake(&s);
}

/*
 * The event of the NOP that tells the end of what nobody signaled wakes it, and its last poll gives
 * the turn.
 */
static void who_sleeps_has_its_turn(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 1, .signal_every = -1 };
	const struct bsn_wait_attr wait = { .busy_ns = 1000, .timeout_ns = 2000000000 };
	struct bsn_completion c;
	struct rig r;

	make_shared(b, &r, &attr);
	for (int k = 0; k < 3; k++)
		ok(write_flags(&r, 0, 1, 0));
	assert_int_equal(write_to(&r, 1, 2), -EAGAIN);
	assert_int_equal(bsn_wait(b->cq[0], &c, 1, &wait), 1);
	assert_int_equal(c.opcode, BSN_DC_READY);
	assert_ptr_equal(c.user, &r.user[1]);
	ok(write_to(&r, 1, 2));
	assert_int_equal(bsn_wait(b->cq[0], &c, 1, &wait), 1);
	assert_int_equal(c.id, 2);
	unmake(&r);
}

/* -- the CQ ------------------------------------------------------------------------------------ */

/* On plain verbs it also says farewell to targets, and waits until that is sent. */
static void a_pool_that_goes_leaves_others_completions(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2 };
	struct rig r;

	make_shared(b, &r, &attr);
	connect_peer(&r, 0);
	for (uint64_t id = 0; id < 9; id++)
		ok(write_by_rc(b, id));
	run_model();
	unmake(&r);
	for (uint64_t id = 0; id < 9; id++)
		expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
	expect_nothing(b, b->cq[0]);
}

static void the_cq_has_room_for_all(struct bench *b)
{
	struct bsn_dc_pool_attr attr = { .initiators = 3, .spares = 1, .send_depth = 40 };
	struct bsn_cq_attr cq = { .entries = 1 };
	struct bsn_dc_pool *pool;
	uint32_t entries;

	ok(bsn_dc_pool_create(b->device, &attr, &pool));
	entries = cq_of(bsn_dc_pool_cq(pool))->entries;
	ok(bsn_dc_pool_destroy(pool));
	for (cq.entries = entries - 1; cq.entries <= entries; cq.entries++) {
		ok(bsn_cq_create(b->device, &cq, &attr.cq));
		if (cq.entries < entries) {
			is_refused(bsn_dc_pool_create(b->device, &attr, &pool), ENOSPC,
				   "create it with");
			ok(bsn_cq_destroy(attr.cq));
			continue;
		}
		ok(bsn_dc_pool_create(b->device, &attr, &pool));
		assert_int_equal(cq_of(attr.cq)->charged, entries);
		assert_int_equal(bsn_cq_destroy(attr.cq), -EBUSY);
		ok(bsn_dc_pool_destroy(pool));
		assert_int_equal(cq_of(attr.cq)->charged, 0);
		ok(bsn_cq_destroy(attr.cq));
	}
	cq = (struct bsn_cq_attr){ .entries = entries, .is_shared = true };
	ok(bsn_cq_create(b->device, &cq, &attr.cq));
	is_refused(bsn_dc_pool_create(b->device, &attr, &pool), EINVAL, "several threads");
	ok(bsn_cq_destroy(attr.cq));
}

/* -- at random --------------------------------------------------------------------------------- */

struct rc_expected {
	uint64_t next, due;
	unsigned silent; /* polls in a row that gave nothing of the QP, though something is due */
};

static void take_all(struct rig *r, struct expected *all, struct rc_expected *rc)
{
	for (int k = 0; k < r->count; k++) {
		if (!is_of_rc(r->b, &r->done[k]) || r->done[k].opcode == BSN_DC_READY) {
			take_completion(r, all, &r->done[k]);
			continue;
		}
		assert_int_equal(r->done[k].id, rc->due);
		assert_int_equal(r->done[k].status, IBV_WC_SUCCESS);
		rc->due++;
	}
}

static void step_of_both(struct rig *r, struct expected *all, struct rc_expected *rc)
{
	static const int sizes[] = { 1, 1, 2, MAX_DONE };
	const uint64_t dice = random_u64();
	const int p = (int)((dice >> 8) % PEERS);

	if (dice % 8 < 4)
		post_at_random(r, &all[p], p);
	else if (dice % 8 == 4 && rc->next - rc->due < 30)
		rc->next += !write_by_rc(r->b, rc->next);
	else if (dice % 8 == 5)
		softcx_step(1 + (dice >> 16) % 7);
	else if (dice % 8 == 6 && all[p].next_id > all[p].due_id)
		ok(bsn_ring(r->ep[p]));
	else if (poll_up_to(r, sizes[(dice >> 16) % 4]))
		take_all(r, all, rc);
	if (dice % 256 == 7)
		recover(r, all);
}

static void expect_all(const struct expected *all, const struct rc_expected *rc)
{
	for (int p = 0; p < PEERS; p++)
		if (all[p].due_id != all[p].next_id)
			fail_msg("%d: %llu of %llu have come back", p,
				 (unsigned long long)all[p].due_id,
				 (unsigned long long)all[p].next_id);
	assert_int_equal(rc->due, rc->next);
}

/* Whatever is posted completes once, in order for its peer, and for the QP. */
static void at_random_in_one_loop(struct bench *b, const struct bsn_dc_pool_attr *attr)
{
	static struct expected all[PEERS];
	struct rc_expected rc = { 0 };
	struct rig r;

	memset(all, 0, sizeof(all));
	make_shared(b, &r, attr);
	for (unsigned step = rounds() * bench_rounds(b, 20000); step; step--)
		step_of_both(&r, all, &rc);
	for (unsigned round = 0; round < 300; round++) {
		for (int p = 0; p < PEERS; p++)
			signal_end(&r, &all[p], p);
		run_model();
		poll_up_to(&r, 1 + (int)(round % 3) * 20);
		take_all(&r, all, &rc);
		recover(&r, all);
	}
	while (poll_up_to(&r, MAX_DONE))
		take_all(&r, all, &rc);
	expect_all(all, &rc);
	assert_int_equal(counters_of(&r).waiting, 0);
	assert_true(counters_of(&r).turns);
	unmake(&r);
}

static void at_random(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 5,
					       .spares = 2,
					       .send_depth = 16,
					       .max_inline = MAX_INLINE,
					       .turn_bytes = 24 * LENGTH };

	at_random_in_one_loop(b, &attr);
}

static void at_random_with_streams(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2,
					       .spares = 2,
					       .streams = 3,
					       .send_depth = 16,
					       .max_inline = MAX_INLINE,
					       .turn_bytes = 24 * LENGTH };

	at_random_in_one_loop(b, &attr);
}

#define SHARED    .cq_entries = 1024, OWN, MODEL
#define ON_DIRECT SHARED, DIRECT

static const struct bench_case cases[] = {
	{ CASE(completions_come_in_order), SHARED },
	{ CASE(polls_go_straight_while_nobody_waits), ON_DIRECT },
	{ CASE(failures_are_told_where_they_come), SHARED },
	{ CASE(turns_are_told_though_others_complete), ON_DIRECT },
	{ CASE(pools_share_a_loop), SHARED },
	{ CASE(who_sleeps_has_its_turn), ON_DIRECT, .is_active = true, .has_channel = true },
	{ CASE(a_pool_that_goes_leaves_others_completions), SHARED },
	{ CASE(the_cq_has_room_for_all), SHARED },
	{ CASE(at_random), SHARED },
	{ CASE(at_random_with_streams), ON_DIRECT },
	{ CASE_OF(at_random_with_streams, "of which none may fail"), ON_DIRECT,
	  .no_errored_streams = true },
};

int main(void)
{
	random_start();
	return bench_run("dc_loop", cases, sizeof(cases) / sizeof(cases[0]));
}
