/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CQEs that come late, by a plan of the model: a reply is seen before the completion of the request
 * that it answers (brpc issue 3132). Each completion still comes once, in order, and what is not
 * complete is counted as outstanding.
 */
#include "harness.h"

enum { ROUNDS = 500, WINDOW = 8, RECVS = 16 };

struct talk {
	uint64_t sent, completed, replied, answered;
	unsigned early; /* replies to requests that were not complete */
};

static void post_recv(struct bench *b, int end, uint64_t id)
{
	ok(bsn_recv(b->rq[end], SGE(b, end, 64 * (id % RECVS), 64), id));
}

static bool may_ask(const struct talk *t)
{
	return t->sent < ROUNDS && t->sent - t->completed < WINDOW &&
	       t->sent - t->replied < WINDOW;
}

static void ask(struct bench *b, struct talk *t)
{
	while (may_ask(t)) {
		ok(bsn_send_inline(b->ep[0], &t->sent, sizeof(t->sent), t->sent, NOW));
		t->sent++;
	}
}

/* The answer's own completion needs no look. */
static void answer(struct bench *b, struct talk *t, const struct bsn_completion *c)
{
	assert_int_equal(c->status, IBV_WC_SUCCESS);
	if (c->opcode != BSN_RECV)
		return;
	post_recv(b, 1, c->id);
	ok(bsn_send_inline(b->ep[1], &t->answered, sizeof(t->answered), t->answered, NOW));
	t->answered++;
}

static void hear(struct bench *b, struct talk *t, const struct bsn_completion *c)
{
	assert_int_equal(c->status, IBV_WC_SUCCESS);
	if (c->opcode != BSN_RECV) {
		assert_int_equal(c->id, t->completed++);
		return;
	}
	post_recv(b, 0, c->id);
	t->early += t->replied++ >= t->completed;
}

static void replies_overtake_completions(struct bench *b)
{
	struct bsn_outstanding outstanding;
	struct bsn_completion c;
	struct talk t = { 0 };

	for (uint64_t i = 0; i < RECVS; i++) {
		post_recv(b, 0, i);
		post_recv(b, 1, i);
	}
	while (t.completed < ROUNDS || t.replied < ROUNDS) {
		ask(b, &t);
		softcx_step(0);
		while (bsn_poll(b->cq[1], &c, 1) == 1)
			answer(b, &t, &c);
		while (bsn_poll(b->cq[0], &c, 1) == 1)
			hear(b, &t, &c);
		ok(bsn_qp_outstanding(b->qp[0], &outstanding));
		assert_int_equal(outstanding.sends, t.sent - t.completed);
	}
	assert_in_range(t.early, ROUNDS / 10, ROUNDS);
	expect_nothing(b, b->cq[0]);
}

/* Their slots are not given to others before. */
static void what_is_not_complete_fills_the_queue(struct bench *b)
{
	const struct bsn_sge from = bench_sge(b, 0, 0, 8);
	const struct bsn_remote to = bench_remote(b, 1, 0);
	struct bsn_completion c;
	uint64_t posted = 0;

	while (!bsn_write(b->ep[0], &from, &to, posted, NOW))
		posted++;
	assert_true(posted >= BENCH_DEPTH);
	softcx_step(0); /* the first is executed, and not complete */
	assert_memory_equal(bench_at(b, 1, 0), bench_at(b, 0, 0), 8);
	assert_int_equal(bsn_poll(b->cq[0], &c, 1), 0);
	assert_int_equal(bsn_write(b->ep[0], &from, &to, posted, BSN_F_SIGNALED), -EAGAIN);
	for (uint64_t i = 0; i < posted; i++)
		expect_done(b, b->cq[0], i, BSN_OPCODE_RDMA_WRITE);
	ok(bsn_write(b->ep[0], &from, &to, posted, NOW));
	expect_done(b, b->cq[0], posted, BSN_OPCODE_RDMA_WRITE);
}

static void a_failed_queue_flushes_them(struct bench *b)
{
	for (uint64_t i = 0; i < 3; i++)
		ok(bsn_write(b->ep[0], SGE(b, 0, 0, 8), REMOTE(b, 1, 0), i, NOW));
	softcx_step(0);
	ok(bsn_qp_fail(b->qp[0]));
	for (uint64_t i = 0; i < 3; i++)
		expect_status(b, b->cq[0], i, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	expect_nothing(b, b->cq[0]);
}

#define LATE(plan) .fault_plan = plan, MODEL

static const struct bench_case cases[] = {
	{ CASE(replies_overtake_completions), LATE("every=2 delay-cqe 1000") },
	{ CASE(what_is_not_complete_fills_the_queue), LATE("delay-cqe 1000") },
	{ CASE(a_failed_queue_flushes_them), LATE("delay-cqe 1000") },
};

BENCH_MAIN("late")
