/* SPDX-License-Identifier: BSD-2-Clause */
/* CQs whose overruns the device ignores, and CQs that are resized. */
#include "harness.h"

enum { DEPTH = 8, ENTRIES = 2 * DEPTH, LAPS = 5 };

static bool is_direct(const struct bench *b)
{
	return b->kind == BENCH_DIRECT;
}

/* Makes a QP that is connected to itself, on this CQ. */
static struct bsn_qp *open_loop(struct bench *b, struct bsn_cq *cq)
{
	const struct bsn_qp_attr attr = {
		.cq = cq, .send_depth = DEPTH, .recv_depth = DEPTH, .signal_every = -1
	};
	struct bsn_qp *qp;

	ok(bsn_qp_create(b->device, &attr, &qp));
	bench_join(qp, qp);
	return qp;
}

static struct bsn_qp *make_loop(struct bench *b, struct bsn_cq *cq)
{
	struct bsn_qp *qp = open_loop(b, cq);

	undo_later(b, bsn_qp_destroy, qp);
	return qp;
}

static void write_some(struct bench *b, struct bsn_qp *qp, uint64_t first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ok(bsn_write(bsn_qp_ep(qp), SGE(b, 0, 0, 8), REMOTE(b, 1, 0), first + i, NOW));
	bench_settle(b);
}

static void expect_some(struct bench *b, struct bsn_cq *cq, uint64_t first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		expect_done(b, cq, first + i, BSN_OPCODE_RDMA_WRITE);
}

/* -- overruns ---------------------------------------------------------------------------------- */

static struct bsn_cq *make_ignoring(struct bench *b, struct bsn_channel *channel)
{
	return new_cq(b, .entries = ENTRIES, .ignores_overrun = true, .channel = channel);
}

/* The consumer record that the device could read moves once a lap, and nothing overruns. */
static void the_record_is_left_alone(struct bench *b)
{
	struct bsn_cq *cq = make_ignoring(b, NULL);
	struct bsn_qp *qp = make_loop(b, cq);
	const uint32_t count = dv_cq(cq)->cqe_count;
	uint32_t stores = 0, last = dv_cq(cq)->record[0].raw;

	write_some(b, qp, 0, 3); /* the device is ahead of the record wherever the ring ends */
	expect_some(b, cq, 0, 3);
	for (uint32_t i = 0; i < LAPS * count / DEPTH; i++) {
		write_some(b, qp, i * DEPTH, DEPTH);
		expect_some(b, cq, i * DEPTH, DEPTH);
		stores += dv_cq(cq)->record[0].raw != last;
		last = dv_cq(cq)->record[0].raw;
	}
	assert_in_range(stores, LAPS - 1, LAPS);
}

static void it_is_woken_all_the_same(struct bench *b)
{
	struct bsn_cq *cq, *woken;
	struct bsn_channel *channel = bench_channel(b);

	cq = make_ignoring(b, channel);
	struct bsn_qp *qp = make_loop(b, cq);
	for (unsigned i = 0; i < 3; i++) {
		ok(bsn_cq_request(cq, false));
		write_some(b, qp, i, 1);
		ok(bsn_channel_get(channel, &woken));
		assert_ptr_equal(woken, cq);
		expect_some(b, cq, i, 1);
	}
}

/* Completions of a destroyed queue keep their entries of the CQ until they are polled. */
static void what_is_left_behind_keeps_its_entries(struct bench *b)
{
	struct bsn_cq *cq = make_ignoring(b, NULL);
	struct bsn_qp *qp = open_loop(b, cq), *other = NULL;
	const struct bsn_qp_attr attr = { .cq = cq, .send_depth = DEPTH, .recv_depth = DEPTH };
	struct bsn_completion c;

	write_some(b, qp, 0, 3);
	fails(EBUSY, "3 completions of destroyed queues", bsn_qp_reset(qp));
	assert_int_equal(bsn_poll(cq, &c, 1), 0);
	ok(bsn_qp_reset(qp));
	ok(bsn_qp_destroy(qp));

	qp = open_loop(b, cq);
	write_some(b, qp, 0, 2);
	ok(bsn_qp_destroy(qp));
	fails(EBUSY, "2 completions of destroyed queues", bsn_qp_create(b->device, &attr, &other));
	assert_int_equal(bsn_poll(cq, &c, 1), 0);
	qp = open_loop(b, cq);
	write_some(b, qp, 0, 2);
	expect_some(b, cq, 0, 2);
	ok(bsn_qp_destroy(qp));
}

static void what_cannot_ignore_them_is_refused(struct bench *b)
{
	const struct bsn_cq_attr attr = { .ignores_overrun = true };
	struct bsn_qp_attr with_srq = { .recv_depth = 0 };
	struct bsn_cq *cq = NULL;
	struct bsn_qp *qp = NULL;

	if (!is_direct(b)) {
		fails(EOPNOTSUPP, "direct path", bsn_cq_create(b->device, &attr, &cq));
		return;
	}
	cq = make_ignoring(b, NULL);
	with_srq.srq = bench_srq(b, NULL);
	with_srq.cq = cq;
	fails(EOPNOTSUPP, "SRQ", bsn_qp_create(b->device, &with_srq, &qp));
}

/* -- another size ------------------------------------------------------------------------------ */

/* Completions in the ring move to the new ring, wherever they are. */
static void completions_survive_another_size(struct bench *b)
{
	static const uint32_t sizes[] = { 500, ENTRIES, 64, 20, 1000, ENTRIES };
	uint64_t id = 0;
	struct bsn_cq *cq = new_cq(b, .entries = 3 * ENTRIES);
	struct bsn_qp *qp = make_loop(b, cq);

	for (unsigned round = 0; round < 20; round++) {
		write_some(b, qp, id, DEPTH);
		expect_some(b, cq, id, round % DEPTH);
		ok(bsn_cq_resize(cq, sizes[round % 6]));
		expect_some(b, cq, id + round % DEPTH, DEPTH - round % DEPTH);
		id += DEPTH;
	}
}

static void a_larger_one_takes_more_queues(struct bench *b)
{
	const struct bsn_qp_attr attr = { .send_depth = DEPTH, .recv_depth = DEPTH };
	struct bsn_qp_attr more = attr;
	struct bsn_qp *qp, *other = NULL;
	struct bsn_cq *cq = new_cq(b, .entries = ENTRIES);

	qp = make_loop(b, cq);
	more.cq = cq;
	fails(ENOSPC, "create it with 32", bsn_qp_create(b->device, &more, &other));
	ok(bsn_cq_resize(cq, 2 * ENTRIES));
	ok(bsn_qp_create(b->device, &more, &other));
	fails(ENOSPC, "may need 32", bsn_cq_resize(cq, 2 * ENTRIES - 1));
	ok(bsn_qp_destroy(other));
	ok(bsn_cq_resize(cq, ENTRIES));
	write_some(b, qp, 0, DEPTH);
	expect_some(b, cq, 0, DEPTH);
}

static void sizes_that_cannot_be_are_refused(struct bench *b)
{
	fails(EINVAL, "no CQ", bsn_cq_resize(NULL, 1));
	struct bsn_cq *cq = bench_cq(b, NULL);
	if (is_direct(b)) {
		fails(EOPNOTSUPP, "libmlx5", bsn_cq_resize(cq, 1000));
	} else {
		fails(EINVAL, "0 CQ entries", bsn_cq_resize(cq, 0));
		fails(EINVAL, "the device takes", bsn_cq_resize(cq, bench_info(b)->max_cqe + 1));
	}
}

static void an_attached_one_is_the_applications(struct bench *b)
{
	if (b->kind == BENCH_ATTACHED_DIRECT || b->kind == BENCH_ATTACHED_VERBS)
		fails(EOPNOTSUPP, "the application made", bsn_cq_resize(b->cq[0], 100));
}

static const struct bench_case cases[] = {
	{ CASE(the_record_is_left_alone), OWN, BARE, DIRECT },
	{ CASE(it_is_woken_all_the_same), OWN, BARE, DIRECT },
	{ CASE(what_is_left_behind_keeps_its_entries), OWN, BARE, DIRECT },
	{ CASE(what_cannot_ignore_them_is_refused), OWN, BARE },
	{ CASE(completions_survive_another_size), OWN, BARE, VERBS },
	{ CASE(a_larger_one_takes_more_queues), OWN, BARE, VERBS },
	{ CASE(sizes_that_cannot_be_are_refused), OWN, BARE },
	{ CASE(an_attached_one_is_the_applications) },
};

BENCH_MAIN("cqs")
