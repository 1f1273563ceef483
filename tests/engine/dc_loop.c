/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One loop for RC QPs and pools of DC initiators: they share a CQ. The bench's first QP completes
 * where the pool does.
 */
#include "path.h" /* before cmocka.h, which has a macro fail() */

#include "dc_random.h"

static struct rig *make_shared_of(struct bench *b, struct bsn_dc_pool_attr attr)
{
	attr.cq = b->cq[0];
	struct rig *r = make_of(b, &attr);
	assert_ptr_equal(bsn_dc_pool_cq(r->pool), b->cq[0]);
	return r;
}

#define make_shared(b, ...) make_shared_of(b, (struct bsn_dc_pool_attr){ __VA_ARGS__ })

static int write_by_rc(struct bench *b, uint64_t id)
{
	return bsn_write(b->ep[0], SGE(b, 0, 0, LENGTH), REMOTE(b, 1, 2 * INTO), id, NOW);
}

static bool is_of_rc(const struct bench *b, const struct bsn_completion *c)
{
	return c->qpn == bsn_qp_info(b->qp[0])->number;
}

/* Until the peer has an initiator: nothing of it is outstanding then, or anywhere. */
static void connect_peer(struct rig *r, int p)
{
	int left = !write_to(r, p, 1);

	for (int tries = 0; tries < 100 && !left; tries++) {
		run_model(r);
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
	struct rig *r = make_shared(b, .initiators = 2);

	connect_peer(r, 0);
	for (int n = 1; n <= 4; n *= 2) {
		for (uint64_t id = 0; id < 20; id++) {
			ok(id % 2 ? write_by_rc(b, id) : write_to(r, 0, id));
			run_model(r);
		}
		for (uint64_t id = 0; id < 20;) {
			assert_true(poll_up_to(r, n) > 0);
			for (int k = 0; k < r->count; k++, id++) {
				assert_int_equal(r->done[k].id, id);
				assert_int_equal(r->done[k].status, IBV_WC_SUCCESS);
				assert_int_equal(is_of_rc(b, &r->done[k]), id % 2);
			}
		}
		assert_int_equal(poll_up_to(r, n), 0);
	}
}

static bool goes_straight(const struct bench *b)
{
	return !b->cq[0]->path;
}

/* Nothing of a pool is asked in a poll, as long as nobody waits. */
static void polls_go_straight_while_nobody_waits(struct bench *b)
{
	struct rig *r = make_shared(b, .initiators = 1);

	if (cq_of(b->cq[0])->has_front) /* it is checked */
		return;
	assert_true(goes_straight(b));
	write_and_finish(r, 0, 1);
	ok(write_to(r, 1, 2)); /* it takes the other's */
	assert_true(goes_straight(b));
	assert_int_equal(write_to(r, 2, 3), -EAGAIN);
	assert_false(goes_straight(b));
	assert_int_equal(work(r), 2);
	expect_ready(r, 1, 2);
	assert_false(goes_straight(b)); /* its turn may pass */
	ok(write_to(r, 2, 3));
	assert_int_equal(work(r), 1);
	assert_true(goes_straight(b));
	bench_undo_all(b);
	assert_true(goes_straight(b));
}

/* A failure takes polls nowhere else, unless somebody waits. */
static void failures_are_told_where_they_come(struct bench *b)
{
	struct rig *r = make_shared(b, .initiators = 1, .spares = 1);

	connect_peer(r, 0);
	for (uint64_t id = 0; id < 6; id++) {
		ok(write_by_rc(b, id));
		run_model(r);
		ok(id == 2 ? write_nowhere(r, 0, id) : write_to(r, 0, id));
		run_model(r);
	}
	for (uint64_t at = 0; at < 12; at++) {
		assert_int_equal(poll_up_to(r, 1), 1);
		assert_int_equal(r->done[0].id, at / 2);
		assert_int_equal(is_of_rc(b, &r->done[0]), at % 2 == 0);
		assert_int_equal(r->done[0].status, at % 2 == 0 || at < 4 ? IBV_WC_SUCCESS
						    : at == 5             ? IBV_WC_REM_ACCESS_ERR
									  : IBV_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(poll_up_to(r, 1), 0);
	assert_int_equal(write_to(r, 0, 7), -ENOTCONN);
	bring_back(r, 0, 1);
	connect_peer(r, 0);
}

/* -- turns ------------------------------------------------------------------------------------- */

/* There is always a completion of the RC QP, and room for one. */
static void turns_are_told_though_others_complete(struct bench *b)
{
	struct rig *r = make_shared(b, .initiators = 1);
	int polls;

	connect_peer(r, 0);
	ok(write_to(r, 0, 1));
	assert_int_equal(write_to(r, 1, 2), -EAGAIN);
	for (polls = 0; polls < 100; polls++) {
		ok(write_by_rc(b, 3));
		run_model(r);
		assert_int_equal(poll_up_to(r, 1), 1);
		if (r->done[0].opcode == BSN_DC_READY)
			break;
	}
	assert_true(polls < 20);
	expect_ready(r, 0, 1);
	ok(write_to(r, 1, 2));
	while (work(r))
		;
}

/* Of two pools, both of whose peers wait, neither is heard alone. */
static void pools_share_a_loop(struct bench *b)
{
	struct rig *r = make_shared(b, .initiators = 1), *s = make_shared(b, .initiators = 1);
	unsigned ready[2] = { 0 };

	for (int p = 0; p < 6; p++) {
		const int first = write_to(r, p, 1), second = write_to(s, p, 1);

		assert_true(p ? first == -EAGAIN && second == -EAGAIN : first == second);
	}
	for (unsigned polls = 0; polls < 400 && (ready[0] < 5 || ready[1] < 5); polls++) {
		run_model(r);
		accept_all(s);
		poll_up_to(r, 1);
		if (!r->count || r->done[0].opcode != BSN_DC_READY)
			continue;
		for (int p = 0; p < 6; p++) {
			if (r->done[0].user == &r->user[p])
				ready[0] += !write_to(r, p, 1);
			if (r->done[0].user == &s->user[p])
				ready[1] += !write_to(s, p, 1);
		}
		assert_in_range(ready[0], ready[1] > 2 ? ready[1] - 2 : 0, ready[1] + 2);
	}
	assert_true(ready[0] >= 5 && ready[1] >= 5);
	while (work(r))
		;
}

/* The NOP that tells the end of what nobody signaled wakes it; its last poll gives the turn. */
static void who_sleeps_has_its_turn(struct bench *b)
{
	const struct bsn_wait_attr wait = { .busy_ns = 1000, .timeout_ns = 2000000000 };
	struct rig *r = make_shared(b, .initiators = 1, .signal_every = -1);
	struct bsn_completion c;

	for (int k = 0; k < 3; k++)
		ok(write_flags(r, 0, 1, 0));
	assert_int_equal(write_to(r, 1, 2), -EAGAIN);
	assert_int_equal(bsn_wait(b->cq[0], &c, 1, &wait), 1);
	assert_int_equal(c.opcode, BSN_DC_READY);
	assert_ptr_equal(c.user, &r->user[1]);
	ok(write_to(r, 1, 2));
	assert_int_equal(bsn_wait(b->cq[0], &c, 1, &wait), 1);
	assert_int_equal(c.id, 2);
}

/* -- the CQ ------------------------------------------------------------------------------------ */

/* On plain verbs it also says farewell to targets, and waits until that is sent. */
static void a_pool_that_goes_leaves_others_completions(struct bench *b)
{
	struct rig *r = make_shared(b, .initiators = 2);

	connect_peer(r, 0);
	for (uint64_t id = 0; id < 9; id++)
		ok(write_by_rc(b, id));
	run_model(r);
	bench_undo_all(b);
	for (uint64_t id = 0; id < 9; id++)
		expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
	expect_nothing(b, b->cq[0]);
}

static void the_cq_has_room_for_all(struct bench *b)
{
	struct bsn_dc_pool_attr attr = { .initiators = 3, .spares = 1, .send_depth = 40 };
	struct bsn_cq_attr cq = { .entries = 1 };
	struct bsn_dc_pool *pool;

	ok(bsn_dc_pool_create(b->device, &attr, &pool));
	uint32_t entries = cq_of(bsn_dc_pool_cq(pool))->entries;
	ok(bsn_dc_pool_destroy(pool));
	cq.entries = entries - 1;
	attr.cq = bench_cq(b, &cq);
	fails(ENOSPC, "create it with", bsn_dc_pool_create(b->device, &attr, &pool));
	cq.entries = entries;
	attr.cq = bench_cq(b, &cq);
	ok(bsn_dc_pool_create(b->device, &attr, &pool));
	assert_int_equal(cq_of(attr.cq)->charged, entries);
	assert_int_equal(bsn_cq_destroy(attr.cq), -EBUSY);
	ok(bsn_dc_pool_destroy(pool));
	assert_int_equal(cq_of(attr.cq)->charged, 0);
	cq.is_shared = true;
	attr.cq = bench_cq(b, &cq);
	fails(EINVAL, "several threads", bsn_dc_pool_create(b->device, &attr, &pool));
}

/* -- at random --------------------------------------------------------------------------------- */

/* Of the QP. */
struct rc_expected {
	uint64_t next, due;
};

static void take_both(struct rig *r, struct expected *all, struct rc_expected *rc)
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
		take_both(r, all, rc);
	if (dice % 256 == 7)
		recover(r, all);
}

/* Whatever is posted completes once, in order for its peer, and for the QP. */
static void at_random_in_one_loop(struct bench *b, unsigned initiators, unsigned streams)
{
	struct rig *r = make_shared_of(b, short_turns(BSN_DC_LRU, initiators, streams));
	struct expected all[PEERS] = { 0 };
	struct rc_expected rc = { 0 };

	for (unsigned step = rounds() * bench_rounds(b, 20000); step; step--)
		step_of_both(r, all, &rc);
	for (unsigned round = 0; round < 300; round++) {
		signal_ends(r, all);
		run_model(r);
		poll_up_to(r, 1 + (int)(round % 3) * 20);
		take_both(r, all, &rc);
		recover(r, all);
	}
	while (poll(r))
		take_both(r, all, &rc);
	expect_all(r, all);
	assert_int_equal(rc.due, rc.next);
	assert_true(counters_of(r).turns);
}

static void at_random(struct bench *b)
{
	at_random_in_one_loop(b, 5, 0);
}

static void at_random_with_streams(struct bench *b)
{
	at_random_in_one_loop(b, 2, 3);
}

#define SHARED        .cq_entries = 1024, OWN, MODEL
#define SHARED_DIRECT SHARED, DIRECT

static const struct bench_case cases[] = {
	{ CASE(completions_come_in_order), SHARED },
	{ CASE(polls_go_straight_while_nobody_waits), SHARED_DIRECT },
	{ CASE(failures_are_told_where_they_come), SHARED },
	{ CASE(turns_are_told_though_others_complete), SHARED_DIRECT },
	{ CASE(pools_share_a_loop), SHARED },
	{ CASE(who_sleeps_has_its_turn), SHARED_DIRECT, .is_active = true, .has_channel = true },
	{ CASE(a_pool_that_goes_leaves_others_completions), SHARED },
	{ CASE(the_cq_has_room_for_all), SHARED },
	{ CASE(at_random), SHARED },
	{ CASE(at_random_with_streams), SHARED_DIRECT },
	{ CASE_OF(at_random_with_streams, "of which none may fail"), SHARED_DIRECT,
	  .no_errored_streams = true },
};

RANDOM_MAIN("dc_loop")
