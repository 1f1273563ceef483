/* SPDX-License-Identifier: BSD-2-Clause */
/* BSN_CHECK=1: wrong requests are refused, each with its own text; right ones go on. */
#include "harness.h"

enum { POLLS = 1 << 17 };

static void assert_nothing_outstanding(struct bench *b)
{
	for (int end = 0; end < 2; end++) {
		assert_int_equal(bench_outstanding(b, end).sends, 0);
		assert_int_equal(bench_outstanding(b, end).recvs, 0);
	}
}

static int write_one(struct bench *b, const struct bsn_sge *local)
{
	return bsn_write(b->ep[0], local, REMOTE(b, 1, 0), 7, NOW);
}

static void assert_all_is_well(struct bench *b)
{
	const struct bsn_sge good = bench_sge(b, 0, 0, 64), in = bench_sge(b, 1, 0, 64);

	ok(write_one(b, &good));
	expect_done(b, b->cq[0], 7, BSN_OPCODE_RDMA_WRITE);
	ok(bsn_recv(b->rq[1], &in, 8));
	ok(bsn_send(b->ep[0], &good, 9, NOW));
	expect_done(b, b->cq[0], 9, BSN_OPCODE_SEND);
	expect_done(b, b->cq[1], 8, BSN_RECV);
	assert_nothing_outstanding(b);
}

static uint8_t bytes[4096] __attribute__((aligned(4096)));

/* -- memory ------------------------------------------------------------------------------------ */

static void memory_that_was_deregistered(struct bench *b)
{
	struct bsn_mr *mr;

	ok(bsn_mr_register(b->device, bytes, sizeof(bytes), NULL, &mr));
	struct bsn_sge sge = bsn_sge_of(mr, 0, 8);
	ok(write_one(b, &sge));
	expect_done(b, b->cq[0], 7, BSN_OPCODE_RDMA_WRITE);
	ok(bsn_mr_deregister(mr));
	fails(EINVAL, "was deregistered", write_one(b, &sge));
	fails(EINVAL, "was deregistered", bsn_recv(b->rq[0], &sge, 1));
	assert_all_is_well(b);
}

/* The peer's SEND would fail, and nothing here would say why. */
static void memory_that_receives_wait_for(struct bench *b)
{
	struct bsn_sge sge, good = bench_sge(b, 0, 0, 8), other = bench_sge(b, 1, 0, 8);
	struct bsn_mr *mr;

	ok(bsn_mr_register(b->device, bytes, sizeof(bytes), NULL, &mr));
	sge = bsn_sge_of(mr, 0, 8);
	for (unsigned i = 0; i < 2 * BENCH_DEPTH; i++) {
		ok(bsn_recv(b->rq[1], &sge, i));
		ok(bsn_recv(b->rq[1], &other, i));
		fails(EBUSY, "1 receives of QP 0x", bsn_mr_deregister(mr));
		for (int n = 0; n < 2; n++) {
			ok(bsn_send(b->ep[0], &good, i, NOW));
			expect_done(b, b->cq[0], i, BSN_OPCODE_SEND);
			expect_done(b, b->cq[1], i, BSN_RECV);
			if (n)
				break;
			ok(bsn_mr_deregister(mr));
			ok(bsn_mr_register(b->device, bytes, sizeof(bytes), NULL, &mr));
			sge.lkey = mr->lkey;
		}
	}
	ok(bsn_recv(b->rq[1], &sge, 1));
	fails(EBUSY, "posted into the memory of lkey", bsn_mr_deregister(mr));
	ok(bsn_qp_fail(b->qp[1]));
	bench_settle(b);
	expect_status(b, b->cq[1], 1, BSN_RECV, IBV_WC_WR_FLUSH_ERR);
	ok(bsn_mr_deregister(mr));
}

static void bytes_beyond_the_ends(struct bench *b)
{
	struct bsn_sge sge = bench_sge(b, 0, BENCH_BYTES - 8, 9);

	fails(EINVAL, "are not in the memory of lkey", write_one(b, &sge));
	sge.length = 8;
	ok(write_one(b, &sge));
	expect_done(b, b->cq[0], 7, BSN_OPCODE_RDMA_WRITE);
	sge.addr = b->mem[0]->addr - 1;
	fails(EINVAL, "are not in the memory of lkey", write_one(b, &sge));
	fails(EINVAL, "are not in the memory of lkey", bsn_recv(b->rq[0], &sge, 1));
	assert_all_is_well(b);
}

static void memory_of_another_domain(struct bench *b)
{
	const struct bsn_mr_attr attr = { .pd = bench_pd(b) };
	struct bsn_mr *mr = bench_mr(b, bytes, sizeof(bytes), &attr);
	const struct bsn_sge sge = bsn_sge_of(mr, 0, 8);

	fails(EINVAL, "another protection domain", write_one(b, &sge));
	assert_all_is_well(b);
}

static void memory_that_may_not_be_written_to(struct bench *b)
{
	const struct bsn_mr_attr attr = { .access = IBV_ACCESS_REMOTE_READ };
	const struct bsn_remote from = bench_remote(b, 1, 0);
	struct bsn_mr *mr = bench_mr(b, bytes, sizeof(bytes), &attr);
	const struct bsn_sge sge = bsn_sge_of(mr, 0, 8);

	fails(EINVAL, "IBV_ACCESS_LOCAL_WRITE", bsn_read(b->ep[0], &sge, &from, 1, BSN_F_RING));
	fails(EINVAL, "IBV_ACCESS_LOCAL_WRITE",
	      bsn_fetch_add(b->ep[0], &sge, &from, 1, 1, BSN_F_RING));
	fails(EINVAL, "IBV_ACCESS_LOCAL_WRITE", bsn_recv(b->rq[0], &sge, 1));
	ok(write_one(b, &sge));
	expect_done(b, b->cq[0], 7, BSN_OPCODE_RDMA_WRITE);
	assert_all_is_well(b);
}

/* A responder refuses it: remote invalid request, vendor syndrome 0x8a. */
static void atomics_that_are_not_aligned(struct bench *b)
{
	for (unsigned at = 0; at <= 8; at++) {
		const struct bsn_remote to = bench_remote(b, 1, at);
		const struct bsn_wr wr = { .opcode = BSN_OPCODE_ATOMIC_CS,
					   .sge = SGE(b, 0, 0, 8),
					   .sge_count = 1,
					   .remote = to,
					   .flags = NOW,
					   .id = 7 };
		if (at % 8) {
			fails(EINVAL, "multiple of 8",
			      bsn_fetch_add(b->ep[0], SGE(b, 0, 0, 8), &to, 1, 7, BSN_F_RING));
			fails(EINVAL, "multiple of 8", bsn_post(b->ep[0], &wr));
			continue;
		}
		ok(bsn_post(b->ep[0], &wr));
		expect_done(b, b->cq[0], 7, BSN_OPCODE_ATOMIC_CS);
	}
	assert_all_is_well(b);
}

static void pointers_to_nothing(struct bench *b)
{
	const struct bsn_remote to = bench_remote(b, 1, 0), *volatile no_remote = NULL;
	const void *volatile no_data = NULL;
	const struct bsn_wr wr = { .opcode = BSN_OPCODE_SEND, .sge_count = 1, .flags = BSN_F_RING };
	const struct bsn_wr copied = { .opcode = BSN_OPCODE_SEND,
				       .sge_count = 1,
				       .flags = BSN_F_INLINE | BSN_F_RING };

	fails(EINVAL, "inline data at NULL",
	      bsn_write_inline(b->ep[0], no_data, 16, &to, 1, BSN_F_RING));
	fails(EINVAL, "SGEs at NULL", bsn_post(b->ep[0], &wr));
	fails(EINVAL, "SGEs at NULL", bsn_post(b->ep[0], &copied));
	fails(EINVAL, "no remote address",
	      bsn_write_imm(b->ep[0], SGE(b, 0, 0, 8), no_remote, 1, 1, BSN_F_RING));
	assert_all_is_well(b);
}

/* Those before the bad one are posted. */
static void receives_before_the_bad_one(struct bench *b)
{
	const struct bsn_sge sge[3] = { bench_sge(b, 0, 0, 8), bench_sge(b, 0, 8, 8),
					bench_sge(b, 0, BENCH_BYTES, 8) };
	const uint64_t ids[3] = { 1, 2, 3 };

	assert_int_equal(bsn_recv_many(b->rq[0], sge, ids, 3), 2);
	fails(EINVAL, "are not in the memory of lkey",
	      bsn_recv_many(b->rq[0], sge + 2, ids + 2, 1));
	assert_int_equal(bench_outstanding(b, 0).recvs, 2);
}

static void memory_of_a_shared_queue(struct bench *b)
{
	const struct bsn_sge good = bench_sge(b, 1, 0, 64), bad = bench_sge(b, 1, BENCH_BYTES, 8);

	fails(EINVAL, "are not in the memory of lkey", bsn_recv(b->srq, &bad, 1));
	for (unsigned i = 0; i < 2 * BENCH_DEPTH; i++) {
		ok(bsn_recv(b->srq, &good, i));
		ok(bsn_send_inline(b->ep[0], "x", 1, i, NOW));
		expect_done(b, b->cq[0], i, BSN_OPCODE_SEND);
		expect_done(b, b->cq[1], i, BSN_RECV);
	}
}

static void memory_that_a_shared_queue_waits_for(struct bench *b)
{
	struct bsn_mr *mr;
	struct bsn_sge sge;

	for (unsigned i = 0; i < 2 * BENCH_DEPTH; i++) {
		ok(bsn_mr_register(b->device, bytes, sizeof(bytes), NULL, &mr));
		sge = bsn_sge_of(mr, 0, 8);
		ok(bsn_recv(b->srq, &sge, i));
		ok(bsn_recv(b->srq, SGE(b, 1, 0, 8), i));
		for (int n = 0; n < 2; n++) {
			if (!n)
				fails(EBUSY, "1 receives of an SRQ", bsn_mr_deregister(mr));
			ok(bsn_send_inline(b->ep[0], "x", 1, i, NOW));
			expect_done(b, b->cq[0], i, BSN_OPCODE_SEND);
			expect_done(b, b->cq[1], i, BSN_RECV);
			if (!n)
				ok(bsn_mr_deregister(mr));
		}
	}
	ok(bsn_mr_register(b->device, bytes, sizeof(bytes), NULL, &mr));
	sge = bsn_sge_of(mr, 0, 8);
	ok(bsn_recv(b->srq, &sge, 1));
	fails(EBUSY, "1 receives of an SRQ", bsn_mr_deregister(mr));
	for (int end = 0; end < 2; end++)
		ok(bsn_qp_fail(b->qp[end]));
	ok(bsn_mr_deregister(mr)); /* nobody receives from it now */
}

/* -- threads ----------------------------------------------------------------------------------- */

struct elsewhere {
	struct bench *b;
	int post, recv, poll;
	char post_says[256], recv_says[256], poll_says[256];
};

static void keep_text(char to[256])
{
	snprintf(to, 256, "%s", bsn_error_text());
}

static void *use_elsewhere(void *arg)
{
	struct elsewhere *e = arg;
	struct bsn_completion c;

	e->post = write_one(e->b, SGE(e->b, 0, 0, 8));
	keep_text(e->post_says);
	e->recv = bsn_recv(e->b->rq[0], SGE(e->b, 0, 0, 8), 1);
	keep_text(e->recv_says);
	e->poll = bsn_poll(e->b->cq[0], &c, 1);
	keep_text(e->poll_says);
	return NULL;
}

static struct elsewhere another_thread(struct bench *b)
{
	struct elsewhere e[] = { { .b = b } };

	run_threads(use_elsewhere, e);
	return *e;
}

static void another_thread_has_to_be_told_of(struct bench *b)
{
	assert_all_is_well(b);
	ok(bsn_recv(b->rq[0], SGE(b, 0, 64, 8), 1));
	struct elsewhere e = another_thread(b);
	assert_int_equal(e.post, -EPERM);
	assert_non_null(strstr(e.post_says, "bsn_qp_hand_over"));
	assert_int_equal(e.recv, -EPERM);
	assert_non_null(strstr(e.recv_says, "bsn_qp_hand_over"));
	assert_int_equal(e.poll, -EPERM);
	assert_non_null(strstr(e.poll_says, "bsn_cq_hand_over"));
	ok(bsn_qp_hand_over(b->qp[0]));
	ok(bsn_cq_hand_over(b->cq[0]));
	e = another_thread(b);
	assert_int_equal(e.post, 0);
	assert_int_equal(e.recv, 0);
	assert_true(e.poll >= 0);
}

/* -- what was never published ------------------------------------------------------------------ */

static unsigned told;

static void keep_line(void *arg, const char *line)
{
	(void)arg;
	told += strstr(line, "1 requests were appended and not published") != NULL;
}

static void what_is_not_published_is_told_of(struct bench *b)
{
	const struct bsn_device_attr attr = { .path = bench_info(b)->path, .log = keep_line };
	struct bsn_qp_attr qp_attr = { .type = BSN_QP_RC };
	struct bsn_device *device;
	struct bsn_completion c;
	struct bsn_qp *qp;

	told = 0;
	ok(bsn_device_open(bench_info(b)->name, &attr, &device));
	ok(bsn_cq_create(device, NULL, &qp_attr.cq));
	ok(bsn_qp_create(device, &qp_attr, &qp));
	bench_join(qp, qp);
	ok(bsn_write_inline(bsn_qp_ep(qp), "", 0, &(struct bsn_remote){ 0, 0 }, 1, BSN_F_SIGNALED));
	for (unsigned i = 0; i < POLLS; i++)
		assert_int_equal(bsn_poll(qp_attr.cq, &c, 1), 0);
	assert_int_equal(told, 1);
	ok(bsn_qp_destroy(qp));
	ok(bsn_cq_destroy(qp_attr.cq));
	ok(bsn_device_close(device));
}

static void nonsense_is_refused(struct bench *b)
{
	struct bsn_device *device;

	(void)b;
	assert_int_equal(setenv("BSN_CHECK", "yes", 1), 0);
	fails(EINVAL, "BSN_CHECK=yes: use 1 or 0", bsn_device_open(NULL, NULL, &device));
	assert_int_equal(setenv("BSN_CHECK", "1", 1), 0);
}

/* The checks know nothing of memory that the application registered by itself. */

static const struct bench_case cases[] = {
	{ CASE(memory_that_was_deregistered), OWN },
	{ CASE(memory_that_receives_wait_for), OWN },
	{ CASE(bytes_beyond_the_ends), OWN },
	{ CASE(memory_of_another_domain), OWN },
	{ CASE(memory_that_may_not_be_written_to), OWN },
	{ CASE(atomics_that_are_not_aligned), OWN },
	{ CASE(pointers_to_nothing), OWN },
	{ CASE(receives_before_the_bad_one), OWN },
	{ CASE(memory_of_a_shared_queue), .has_srq = true, OWN },
	{ CASE(memory_that_a_shared_queue_waits_for), .has_srq = true, OWN },
	{ CASE(another_thread_has_to_be_told_of), OWN },
	{ CASE(what_is_not_published_is_told_of), BARE },
	{ CASE(nonsense_is_refused), BARE },
};

int main(void)
{
	if (setenv("BSN_CHECK", "1", 1))
		return 1;
	return bench_run("checks", cases, COUNT(cases));
}
