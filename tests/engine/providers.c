/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a provider may do on the verbs path, although libmlx5 never does so here: take only a part
 * of a list, refuse a receive, fail a poll, keep completions of a QP from before its reset. The
 * tests replace the provider's functions that libibverbs calls.
 */
#include "harness.h"

enum { COUNT = 5 };

static int post_write(struct bench *b, uint64_t id, unsigned flags)
{
	return bench_write(b, 0, 64, id, flags);
}

/* -- a queue that the provider finds full ------------------------------------------------------ */

static unsigned takes; /* so many requests are taken, then no more */
static int (*real_post_send)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);

static int take_some(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr *rest = wr, *last = NULL;
	int err = 0;

	for (unsigned i = 0; i < takes && rest; i++) {
		last = rest;
		rest = rest->next;
	}
	if (last) {
		last->next = NULL;
		err = real_post_send(qp, wr, bad);
		last->next = rest;
	}
	if (err || !rest)
		return err;
	*bad = rest;
	return ENOMEM;
}

static int (*real_complete)(struct ibv_qp_ex *);

static int take_none(struct ibv_qp_ex *qp)
{
	qp->wr_abort(qp);
	return ENOMEM;
}

/*
 * Lets the provider refuse; returns how many of COUNT requests it takes: by ibv_wr_*, all or none.
 */
static unsigned begin_refusing(struct bench *b)
{
	struct ibv_qp *qp = bsn_qp_info(b->qp[0])->verbs;
	struct ibv_qp_ex *extended = ibv_qp_to_qp_ex(qp);

	takes = 2;
	real_post_send = qp->context->ops.post_send;
	qp->context->ops.post_send = take_some;
	if (!extended)
		return takes;
	real_complete = extended->wr_complete;
	extended->wr_complete = take_none;
	return 0;
}

static void end_refusing(struct bench *b)
{
	struct ibv_qp *qp = bsn_qp_info(b->qp[0])->verbs;
	struct ibv_qp_ex *extended = ibv_qp_to_qp_ex(qp);

	qp->context->ops.post_send = real_post_send;
	if (extended)
		extended->wr_complete = real_complete;
}

/*
 * Requests that the provider does not take count as cancelled, and the queue goes on without them.
 */
static void what_was_not_taken_is_cancelled(struct bench *b)
{
	unsigned taken;

	for (unsigned lap = 0; lap < 10; lap++) {
		for (uint64_t id = 0; id < COUNT; id++)
			ok(post_write(b, id, BSN_F_SIGNALED));
		taken = begin_refusing(b);
		assert_int_equal(bsn_ring(b->ep[0]), -ENOMEM);
		assert_int_equal(bench_outstanding(b, 0).sends, taken);
		end_refusing(b);
		ok(bsn_ring(b->ep[0]));
		ok(post_write(b, COUNT, NOW));
		for (uint64_t id = 0; id < taken; id++)
			expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
		expect_done(b, b->cq[0], COUNT, BSN_OPCODE_RDMA_WRITE);
		expect_nothing(b, b->cq[0]);
		assert_int_equal(bench_outstanding(b, 0).sends, 0);
	}
}

/* A post that rings is made as a whole, or not at all. */
static void a_post_that_cannot_ring_was_not_made(struct bench *b)
{
	for (uint64_t id = 0; id < COUNT; id++)
		ok(post_write(b, id, BSN_F_SIGNALED));
	unsigned taken = begin_refusing(b);
	assert_int_equal(post_write(b, COUNT, NOW), -ENOMEM);
	assert_int_equal(bench_outstanding(b, 0).sends, taken);
	end_refusing(b);
	ok(post_write(b, COUNT + 1, NOW));
	for (uint64_t id = 0; id < taken; id++)
		expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
	expect_done(b, b->cq[0], COUNT + 1, BSN_OPCODE_RDMA_WRITE);
	expect_nothing(b, b->cq[0]);
}

/* A post that finds the queue full also reports that the provider took nothing. */
static void a_full_queue_says_that_it_was_refused(struct bench *b)
{
	const struct bsn_qp_info limits = *bsn_qp_info(b->qp[0]);

	for (uint64_t id = 0; id < limits.send_depth; id++)
		ok(post_write(b, id, BSN_F_SIGNALED));
	assert_int_equal(post_write(b, 0, BSN_F_SIGNALED), -EAGAIN);
	unsigned taken = begin_refusing(b);
	assert_int_equal(post_write(b, 0, NOW), -ENOMEM);
	assert_int_equal(bench_outstanding(b, 0).sends, taken);
	end_refusing(b);
}

/* Between the first request and the ring, a provider may hold a lock of the QP. */
static void a_reset_forgets_what_was_appended(struct bench *b)
{
	for (unsigned lap = 0; lap < 2; lap++) {
		for (uint64_t id = 0; id < COUNT; id++)
			ok(post_write(b, id, BSN_F_SIGNALED));
		bench_reset(b);
		assert_int_equal(bench_outstanding(b, 0).sends, 0);
		bench_connect(b);
		ok(post_write(b, COUNT, NOW));
		expect_done(b, b->cq[0], COUNT, BSN_OPCODE_RDMA_WRITE);
		expect_nothing(b, b->cq[0]);
	}
	ok(post_write(b, 0, BSN_F_SIGNALED)); /* the QP is destroyed with it */
}

/* -- receives ---------------------------------------------------------------------------------- */

static int refuse_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	*bad = wr;
	return ENOMEM;
}

static void a_refused_receive_costs_no_room(struct bench *b)
{
	struct ibv_context *context = bench_info(b)->verbs;
	int (*real)(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);
	struct bsn_outstanding outstanding;

	real = context->ops.post_recv;
	context->ops.post_recv = refuse_recv;
	for (unsigned i = 0; i < 2 * BENCH_DEPTH; i++)
		assert_int_equal(bsn_recv(b->rq[1], SGE(b, 1, 0, 64), 0), -ENOMEM);
	context->ops.post_recv = real;
	ok(bsn_qp_outstanding(b->qp[1], &outstanding));
	assert_int_equal(outstanding.recvs, 0);
	for (uint64_t id = 0; id < BENCH_DEPTH; id++)
		ok(bsn_recv(b->rq[1], SGE(b, 1, 0, 64), id));
}

/* -- polls ------------------------------------------------------------------------------------- */

static int fail_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq;
	(void)n;
	(void)wc;
	return -1;
}

static void a_poll_that_fails_is_an_error_for_ever(struct bench *b)
{
	struct ibv_context *context = bench_info(b)->verbs;
	int (*real)(struct ibv_cq *, int, struct ibv_wc *) = context->ops.poll_cq;
	struct bsn_completion c[2];

	context->ops.poll_cq = fail_poll;
	assert_int_equal(bsn_poll(b->cq[0], c, 2), -EIO);
	context->ops.poll_cq = real;
	assert_int_equal(bsn_poll(b->cq[0], c, 1), -EIO);
	assert_int_equal(bsn_poll(b->cq[0], c, 2), -EIO);
	assert_int_equal(bsn_poll(b->cq[1], c, 1), 0);
}

static int fail_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	(void)cq;
	(void)attr;
	return EINVAL;
}

/* Completions with timestamps are polled by ibv_start_poll(). */
static void a_poll_that_does_not_start_is_an_error_for_ever(struct bench *b)
{
	struct bsn_completion c[2];
	struct bsn_cq *cq = new_cq(b, .timestamps = BSN_TIMESTAMPS_RAW);
	struct bsn_qp *qp = new_qp(b, .type = BSN_QP_RC, .cq = cq);
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)(void *)bsn_qp_info(qp)->verbs->send_cq;

	assert_int_equal(bsn_poll(cq, c, 1), 0);
	ex->start_poll = fail_start_poll;
	assert_int_equal(bsn_poll(cq, c, 1), -EIO);
	assert_int_equal(bsn_poll(cq, c, 2), -EIO);
}

static struct ibv_wc kept[4];
static int kept_count;
static int (*real_poll)(struct ibv_cq *, int, struct ibv_wc *);

/* Gives completions as from a CQ that is not cleaned when a QP is reset. */
static int give_kept(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	if (!kept_count || n < 1)
		return real_poll(cq, n, wc);
	*wc = kept[--kept_count];
	return 1;
}

static void completions_of_an_earlier_life_are_dropped(struct bench *b)
{
	struct ibv_context *context = bench_info(b)->verbs;
	struct bsn_completion c[2];
	struct bsn_counters counters;

	ok(bsn_recv(b->rq[0], SGE(b, 0, 0, 64), 1));
	ok(post_write(b, 2, NOW));
	ok(bsn_send_inline(b->ep[1], "x", 1, 3, BSN_F_RING));
	bench_settle(b);
	real_poll = context->ops.poll_cq;
	kept_count = real_poll(bsn_qp_info(b->qp[0])->verbs->send_cq, 4, kept);
	assert_int_equal(kept_count, 2);
	bench_start_again(b);
	ok(bsn_recv(b->rq[0], SGE(b, 0, 0, 64), 4));
	context->ops.poll_cq = give_kept;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(bsn_poll(b->cq[0], c, 2), 0);
	context->ops.poll_cq = real_poll;
	ok(bsn_qp_counters(b->qp[0], &counters));
	assert_int_equal(counters.dropped_cqes, 2);
	ok(bsn_send_inline(b->ep[1], "x", 1, 5, BSN_F_RING));
	expect_done(b, b->cq[0], 4, BSN_RECV);
}

static const struct bench_case cases[] = {
	{ CASE(what_was_not_taken_is_cancelled), VERBS, MODEL },
	{ CASE(a_post_that_cannot_ring_was_not_made), VERBS, MODEL },
	{ CASE(a_full_queue_says_that_it_was_refused), VERBS, MODEL },
	{ CASE(a_reset_forgets_what_was_appended), VERBS, MODEL },
	{ CASE(a_refused_receive_costs_no_room), VERBS, MODEL },
	{ CASE(a_poll_that_fails_is_an_error_for_ever), VERBS, MODEL },
	{ CASE(a_poll_that_does_not_start_is_an_error_for_ever), VERBS, MODEL, OWN, BARE },
	{ CASE(completions_of_an_earlier_life_are_dropped), VERBS, MODEL },
};

BENCH_MAIN("providers")
