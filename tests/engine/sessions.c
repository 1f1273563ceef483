/* SPDX-License-Identifier: BSD-2-Clause */
/* CQEs that come compressed, in sessions. A plan of the model sets their lengths. */
#include "harness.h"
#include "loop.h"

/* Whether the next CQE in the ring is a session's title. */
static bool sees_session(const struct bsn_cq *cq)
{
	struct bsn_cqe_tail tail;

	bsn_cqe_tail_decode(&tail, cq->next + BSN_CQE_TAIL_OFFSET);
	return tail.format == BSN_CQE_COMPRESSED;
}

static void append_writes(struct loop *l, uint64_t first, unsigned count)
{
	const struct bsn_sge from = { l->mem->addr, 64, l->mem->lkey };
	const struct bsn_remote to = { l->mem->addr + 2048, l->mem->rkey };

	for (unsigned i = 0; i < count; i++)
		ok(bsn_write(bsn_qp_ep(l->qp), &from, &to, first + i, BSN_F_SIGNALED));
	ok(bsn_ring(bsn_qp_ep(l->qp)));
}

/* Only the receives complete, each with a length of its own. */
static void append_sends(struct loop *l, uint64_t first, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct bsn_sge from = { l->mem->addr, (uint32_t)(first + i) % 1000 + 1,
					      l->mem->lkey };
		ok(bsn_recv(bsn_qp_rq(l->qp),
			    &(struct bsn_sge){ l->mem->addr + 2048, 2048, l->mem->lkey },
			    first + i));
		ok(bsn_send(bsn_qp_ep(l->qp), &from, 0, 0));
	}
	ok(bsn_ring(bsn_qp_ep(l->qp)));
}

static void reap(struct loop *l, uint64_t first, unsigned count, bool are_writes, int at_once)
{
	struct bsn_completion c[16];
	unsigned got = 0;

	while (got < count) {
		const int n = at_once == 1 ? bsn_poll(l->cq, c, 1) : bsn_poll(l->cq, c, at_once);
		assert_true(n > 0);
		for (int i = 0; i < n; i++, got++) {
			assert_int_equal(c[i].status, IBV_WC_SUCCESS);
			assert_int_equal(c[i].id, first + got);
			assert_int_equal(c[i].opcode,
					 are_writes ? (int)BSN_OPCODE_RDMA_WRITE : (int)BSN_RECV);
			if (!are_writes)
				assert_int_equal(c[i].byte_len, (first + got) % 1000 + 1);
			assert_int_equal(c[i].qpn, bsn_qp_info(l->qp)->number);
		}
	}
	assert_int_equal(bsn_poll(l->cq, c, 1), 0);
}

static void run(struct bench *b, struct bsn_cq_attr attr)
{
	unsigned sessions = 0;
	uint64_t id = 0;

	attr.entries = 256;
	struct loop l = bench_loop(b, attr);
	for (unsigned round = 0; round < bench_rounds(b, 60); round++) {
		const unsigned count = round * 7 % 100 + 1;
		const bool are_writes = round % 2;
		if (are_writes)
			append_writes(&l, id, count);
		else
			append_sends(&l, id, count);
		bench_settle(b);
		if (!attr.is_shared) /* a shared CQ keeps its ring elsewhere */
			sessions += sees_session(l.cq);
		reap(&l, id, count, are_writes, round % 3 ? 16 : 1);
		id += count;
	}
	assert_true(attr.is_shared || sessions > 0);
}

static void each_format_and_size(struct bench *b)
{
	for (int format = BSN_CQES_BY_HASH; format <= BSN_CQES_BY_STRIDE_INDEX; format++)
		for (uint32_t size = 64; size <= 128; size += 64) {
			const enum bsn_cqe_compression compression =
				(enum bsn_cqe_compression)format;
			run(b,
			    (struct bsn_cq_attr){ .compression = compression, .cqe_size = size });
			run(b, (struct bsn_cq_attr){ .compression = compression, .cqe_size = size,
						     .is_shared = true });
			run(b, (struct bsn_cq_attr){ .compression = compression, .cqe_size = 128,
						     .is_padded = true });
		}
}

/* CQEs that a destroyed QP left in a session are dropped, and its share of the CQ comes back. */
static void a_qp_goes_with_its_session_unread(struct bench *b)
{
	struct loop l = { 0 };

	ok(loop_make(&l, b->device, (struct bsn_cq_attr){ .entries = 256,
							  .compression = BSN_CQES_BY_HASH }));
	for (uint64_t round = 0; round < 20; round++) {
		append_writes(&l, round, 40);
		bench_settle(b);
		assert_true(sees_session(l.cq));
		ok(bsn_qp_destroy(l.qp));
		ok(bsn_qp_create(b->device, &(struct bsn_qp_attr){ .cq = l.cq }, &l.qp));
		bench_join(l.qp, l.qp);
		append_writes(&l, 1000 * round, 30);
		bench_settle(b);
		reap(&l, 1000 * round, 30, true, 16);
	}
	ok(loop_free(&l));
}

/* The error ends the session before it, and is a CQE of its own. */
static void an_error_is_no_part_of_one(struct bench *b)
{
	const struct bsn_remote nowhere = { 0, 0x5500 };
	struct bsn_completion c[64];
	struct loop l = bench_loop(
		b, (struct bsn_cq_attr){ .entries = 256, .compression = BSN_CQES_BY_CHECKSUM });

	const struct bsn_remote to = { l.mem->addr + 2048, l.mem->rkey };
	for (uint64_t id = 0; id < 30; id++)
		ok(bsn_write(bsn_qp_ep(l.qp), &(struct bsn_sge){ l.mem->addr, 64, l.mem->lkey },
			     id == 20 ? &nowhere : &to, id, BSN_F_SIGNALED));
	ok(bsn_ring(bsn_qp_ep(l.qp)));
	bench_settle(b);
	assert_true(sees_session(l.cq));
	int n = bsn_poll(l.cq, c, 64);
	assert_int_equal(n, 30);
	for (int i = 0; i < n; i++) {
		assert_int_equal(c[i].id, i);
		assert_int_equal(c[i].status, i < 20  ? IBV_WC_SUCCESS :
					      i == 20 ? IBV_WC_REM_ACCESS_ERR :
							IBV_WC_WR_FLUSH_ERR);
	}
}

/* A session raises one event. */
static void a_session_wakes_who_waits(struct bench *b)
{
	const struct bsn_wait_attr brief = { .timeout_ns = 1000000000, .busy_ns = 1 };
	struct bsn_completion c[16];
	struct loop l = bench_loop(
		b, (struct bsn_cq_attr){ .entries = 256, .compression = BSN_CQES_BY_HASH });
	struct bsn_cq *cq;

	ok(bsn_cq_request(l.cq, false));
	append_writes(&l, 0, 16);
	bench_settle(b);
	ok(bsn_channel_get(l.channel, &cq));
	assert_int_equal(bsn_wait(l.cq, c, 16, &brief), 16);
}

static void impossible_attributes_are_refused(struct bench *b)
{
	const struct {
		struct bsn_cq_attr attr;
		int error;
		const char *why;
	} bad[] = {
		{ { .compression = (enum bsn_cqe_compression)4 }, EINVAL, "not an enum" },
		{ { .is_padded = true }, EINVAL, "128 bytes" },
		{ { .compression = BSN_CQES_BY_HASH }, EOPNOTSUPP, "direct path" },
		{ { .cqe_size = 128, .is_padded = true }, EOPNOTSUPP, "direct path" },
	};
	const bool is_direct = bench_info(b)->path == BSN_PATH_DIRECT;

	for (size_t i = 0; i < (is_direct ? 2 : 4); i++) {
		struct bsn_cq *cq = NULL;
		fails(bad[i].error, bad[i].why, bsn_cq_create(b->device, &bad[i].attr, &cq));
		assert_null(cq);
	}
}

/* libmlx5 alone would only say EINVAL. */
static void a_format_that_the_device_lacks(struct bench *b)
{
	struct bsn_cq_attr attr = { .compression = BSN_CQES_BY_STRIDE_INDEX };
	struct bsn_cq *cq = NULL;

	fails(EOPNOTSUPP, "mlx5_0 does not compress CQEs by this format",
	      bsn_cq_create(b->device, &attr, &cq));
	assert_null(cq);
	attr.compression = BSN_CQES_BY_CHECKSUM;
	run(b, attr);
}

#define PLAN(more) BARE, DIRECT, MODEL, .fault_plan = "compress 64" more

static const struct bench_case cases[] = {
	{ CASE(each_format_and_size), PLAN(" 4 1 7 2 33") },
	{ CASE(a_qp_goes_with_its_session_unread), PLAN("") },
	{ CASE(an_error_is_no_part_of_one), PLAN("") },
	{ CASE(a_session_wakes_who_waits), PLAN("") },
	{ CASE(a_format_that_the_device_lacks), PLAN(" 4 1 7 2 33"), .no_stride_index = true },
	{ CASE(impossible_attributes_are_refused), BARE },
};

BENCH_MAIN("sessions")
