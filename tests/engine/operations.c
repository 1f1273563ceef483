/* SPDX-License-Identifier: BSD-2-Clause */
/* Every operation on every transport moves its data, and completes with what the peer was told. */
#include "harness.h"
#include "../softcx/victim.h"
#include "refuse.h"

/* Where things are: sources in end 0's pattern, targets in end 1's zeros. */
enum { SRC = 512, DST = 1024 };

static void assert_moved(struct bench *b, size_t src, size_t dst, size_t length)
{
	assert_memory_equal(bench_at(b, 1, dst), bench_at(b, 0, src), length);
	assert_int_equal(*bench_at(b, 1, dst + length), 0);
	assert_int_equal(*bench_at(b, 1, dst - 1), 0);
}

static void post_recv(struct bench *b, size_t offset, uint32_t length, uint64_t id)
{
	ok(bsn_recv(b->rq[1], SGE(b, 1, offset, length), id));
}

static void a_write_moves_its_bytes(struct bench *b)
{
	ok(bsn_write(b->ep[0], SGE(b, 0, SRC, 3000), REMOTE(b, 1, DST), 42, NOW));
	assert_ptr_equal(expect_done(b, b->cq[0], 42, BSN_OPCODE_RDMA_WRITE).user, &b->qp[0]);
	assert_moved(b, SRC, DST, 3000);
	expect_nothing(b, b->cq[1]);
}

static void inline_data_of_every_length(struct bench *b)
{
	for (uint32_t length = 0; length <= b->test->qp.max_inline; length++) {
		memset(bench_at(b, 1, DST), 0, 1024);
		ok(bsn_write_inline(b->ep[0], bench_at(b, 0, SRC), length, REMOTE(b, 1, DST),
				    length, NOW));
		expect_done(b, b->cq[0], length, BSN_OPCODE_RDMA_WRITE);
		assert_moved(b, SRC, DST, length);
	}
}

static void inline_data_is_taken_at_the_post(struct bench *b)
{
	char data[] = "the caller may reuse its buffer";

	ok(bsn_write_inline(b->ep[0], data, sizeof(data), REMOTE(b, 1, DST), 1, BSN_F_SIGNALED));
	memset(data, 'x', sizeof(data));
	ok(bsn_ring(b->ep[0]));
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	assert_string_equal((char *)bench_at(b, 1, DST), "the caller may reuse its buffer");
}

static void a_read_brings_bytes_here(struct bench *b)
{
	ok(bsn_read(b->ep[1], SGE(b, 1, DST, 3000), REMOTE(b, 0, SRC), 7, NOW));
	assert_int_equal(expect_done(b, b->cq[1], 7, BSN_OPCODE_RDMA_READ).byte_len, 3000);
	assert_moved(b, SRC, DST, 3000);
}

static void a_send_reaches_a_receive(struct bench *b)
{
	post_recv(b, DST, 1000, 11);
	ok(bsn_send(b->ep[0], SGE(b, 0, SRC, 300), 12, NOW));
	expect_done(b, b->cq[0], 12, BSN_OPCODE_SEND);
	struct bsn_completion c = expect_done(b, b->cq[1], 11, BSN_RECV);
	assert_int_equal(c.byte_len, 300);
	assert_int_equal(c.flags, 0);
	assert_ptr_equal(c.user, &b->qp[1]);
	assert_moved(b, SRC, DST, 300);
}

static void send_inline_of_every_length(struct bench *b)
{
	for (uint32_t length = 0; length <= b->test->qp.max_inline; length++) {
		memset(bench_at(b, 1, DST), 0, 1024);
		post_recv(b, DST, 1000, length);
		ok(bsn_send_inline(b->ep[0], bench_at(b, 0, SRC), length, length, NOW));
		expect_done(b, b->cq[0], length, BSN_OPCODE_SEND);
		assert_int_equal(expect_done(b, b->cq[1], length, BSN_RECV).byte_len, length);
		assert_moved(b, SRC, DST, length);
	}
}

static void immediates_arrive_in_host_order(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, SRC, 100);

	post_recv(b, DST, 100, 1);
	post_recv(b, DST + 200, 100, 2);
	ok(bsn_send_imm(b->ep[0], &local, 0x01020304, 3, BSN_F_SIGNALED));
	ok(bsn_write_imm(b->ep[0], &local, REMOTE(b, 1, DST + 4096), 0xfffefdfc, 4, NOW));
	expect_done(b, b->cq[0], 3, BSN_OPCODE_SEND_IMM);
	expect_done(b, b->cq[0], 4, BSN_OPCODE_RDMA_WRITE_IMM);
	struct bsn_completion c = expect_done(b, b->cq[1], 1, BSN_RECV);
	assert_int_equal(c.flags, BSN_C_IMM);
	assert_int_equal(c.imm, 0x01020304);
	assert_int_equal(c.byte_len, 100);
	c = expect_done(b, b->cq[1], 2, BSN_RECV_RDMA_WITH_IMM);
	assert_int_equal(c.flags, BSN_C_IMM);
	assert_int_equal(c.imm, 0xfffefdfc);
	assert_int_equal(c.byte_len, 100);
	assert_moved(b, SRC, DST, 100);
	assert_moved(b, SRC, DST + 4096, 100);
	assert_int_equal(*bench_at(b, 1, DST + 200), 0);
}

static void a_send_can_invalidate_a_key(struct bench *b)
{
	struct victim victim;

	victim_make(&victim, bsn_qp_info(b->qp[1])->verbs->pd);
	post_recv(b, DST, 100, 1);
	ok(bsn_send_inval(b->ep[0], SGE(b, 0, SRC, 100), victim.rkey, 2, NOW));
	expect_done(b, b->cq[0], 2, BSN_OPCODE_SEND_INVAL);
	struct bsn_completion c = expect_done(b, b->cq[1], 1, BSN_RECV);
	assert_int_equal(c.flags, BSN_C_INVAL);
	assert_int_equal(c.imm, victim.rkey);
	assert_moved(b, SRC, DST, 100);
	victim_free(&victim);
}

static uint64_t *word_at(struct bench *b, int end, size_t offset)
{
	return (uint64_t *)(void *)bench_at(b, end, offset);
}

static void atomics_answer_with_the_old_value(struct bench *b)
{
	const struct bsn_sge result = bench_sge(b, 0, 64, 8);
	const struct bsn_remote remote = bench_remote(b, 1, DST);

	*word_at(b, 1, DST) = 1000;
	ok(bsn_fetch_add(b->ep[0], &result, &remote, 0x100000001, 1, NOW));
	assert_int_equal(expect_done(b, b->cq[0], 1, BSN_OPCODE_ATOMIC_FA).byte_len, 8);
	assert_int_equal(*word_at(b, 0, 64), 1000);
	assert_int_equal(*word_at(b, 1, DST), 0x1000003e9);
	ok(bsn_cmp_swap(b->ep[0], &result, &remote, 5, 6, 2, NOW));
	expect_done(b, b->cq[0], 2, BSN_OPCODE_ATOMIC_CS);
	assert_int_equal(*word_at(b, 0, 64), 0x1000003e9);
	assert_int_equal(*word_at(b, 1, DST), 0x1000003e9);
	ok(bsn_cmp_swap(b->ep[0], &result, &remote, 0x1000003e9, 6, 3, NOW));
	assert_int_equal(expect_done(b, b->cq[0], 3, BSN_OPCODE_ATOMIC_CS).byte_len, 8);
	assert_int_equal(*word_at(b, 1, DST), 6);
}

/* -- lists ------------------------------------------------------------------------------------- */

static void pieces_become_one_message(struct bench *b)
{
	const struct bsn_sge gather[3] = { bench_sge(b, 0, SRC, 100), bench_sge(b, 0, 0, 0),
					   bench_sge(b, 0, SRC + 100, 60) };
	const struct bsn_sge scatter[3] = { bench_sge(b, 1, DST, 30), bench_sge(b, 1, 0, 0),
					    bench_sge(b, 1, DST + 30, 500) };
	struct bsn_wr wr = {
		.id = 5, .sge = gather, .sge_count = 3, .flags = NOW, .opcode = BSN_OPCODE_SEND
	};

	for (unsigned flag = 0; flag <= BSN_F_INLINE; flag += BSN_F_INLINE) {
		memset(bench_at(b, 1, DST), 0, 512);
		wr.flags = NOW | flag;
		ok(bsn_recv_sgl(b->rq[1], scatter, 3, 6));
		ok(bsn_post(b->ep[0], &wr));
		expect_done(b, b->cq[0], 5, BSN_OPCODE_SEND);
		assert_int_equal(expect_done(b, b->cq[1], 6, BSN_RECV).byte_len, 160);
		assert_moved(b, SRC, DST, 160);
	}
}

static void messages_may_be_empty(struct bench *b)
{
	ok(bsn_recv_sgl(b->rq[1], NULL, 0, 1));
	ok(bsn_send(b->ep[0], SGE(b, 0, SRC, 0), 2, BSN_F_SIGNALED));
	ok(bsn_write(b->ep[0], SGE(b, 0, SRC, 0), REMOTE(b, 1, DST), 3, NOW));
	expect_done(b, b->cq[0], 2, BSN_OPCODE_SEND);
	expect_done(b, b->cq[0], 3, BSN_OPCODE_RDMA_WRITE);
	assert_int_equal(expect_done(b, b->cq[1], 1, BSN_RECV).byte_len, 0);
	assert_int_equal(*bench_at(b, 1, DST), 0);
}

/* -- prepared requests ------------------------------------------------------------------------- */

static void a_prepared_request_keeps_nothing_of_the_callers(struct bench *b)
{
	char text[] = "prepared";
	struct bsn_sge sge[2] = { { (uintptr_t)text, 4, 0 }, { (uintptr_t)text + 4, 5, 0 } };
	struct bsn_wr wr = { .sge = sge,
			     .sge_count = 2,
			     .flags = BSN_F_INLINE,
			     .remote = bench_remote(b, 1, DST),
			     .opcode = BSN_OPCODE_RDMA_WRITE };
	struct bsn_prepared p;

	ok(bsn_prepare(b->ep[0], &wr, &p));
	memset(text, 'x', sizeof(text));
	memset(sge, 0, sizeof(sge));
	memset(&wr, 0, sizeof(wr));
	for (uint64_t id = 0; id < 3; id++) {
		memset(bench_at(b, 1, DST), 0, 64);
		ok(bsn_post_prepared(b->ep[0], &p, id, NOW));
		expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
		assert_string_equal((char *)bench_at(b, 1, DST), "prepared");
	}
}

static void prepared_requests_of_each_kind(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, SRC, 100);
	struct bsn_wr wr = {
		.sge = &local, .sge_count = 1, .opcode = BSN_OPCODE_SEND_IMM, .imm = 0xabcd
	};
	struct bsn_prepared send, write;

	ok(bsn_prepare(b->ep[0], &wr, &send));
	wr.opcode = BSN_OPCODE_RDMA_WRITE;
	wr.remote = bench_remote(b, 1, DST + 1024);
	ok(bsn_prepare(b->ep[0], &wr, &write));
	post_recv(b, DST, 100, 1);
	ok(bsn_post_prepared(b->ep[0], &send, 2, 0));
	ok(bsn_post_prepared(b->ep[0], &write, 3, NOW));
	expect_done(b, b->cq[0], 3, BSN_OPCODE_RDMA_WRITE);
	assert_int_equal(expect_done(b, b->cq[1], 1, BSN_RECV).imm, 0xabcd);
	assert_moved(b, SRC, DST, 100);
	assert_moved(b, SRC, DST + 1024, 100);
}

/* -- what is refused --------------------------------------------------------------------------- */

static void assert_refused(struct bench *b, const struct bsn_wr *given, unsigned opcode,
			   unsigned flags, int error)
{
	struct bsn_wr wr = *given;

	wr.opcode = opcode;
	wr.flags = flags | NOW;
	assert_int_equal(bsn_post(b->ep[0], &wr), error);
}

static void assert_idle(struct bench *b)
{
	struct bsn_outstanding outstanding;

	ok(bsn_qp_outstanding(b->qp[0], &outstanding));
	assert_int_equal(outstanding.sends, 0);
	assert_int_equal(outstanding.recvs, 0);
	expect_nothing(b, b->cq[0]);
}

static void what_no_queue_takes_is_refused(struct bench *b)
{
	const struct bsn_sge huge = bench_sge(b, 0, 0, 0x80000000u);
	struct bsn_sge many[64];
	struct bsn_wr wr = { .sge = &huge, .sge_count = 1, .remote = bench_remote(b, 1, 0) };

	for (size_t i = 0; i < 64; i++)
		many[i] = bench_sge(b, 0, 8 * i, 8);
	struct bsn_qp_info limits = *bsn_qp_info(b->qp[0]);
	assert_refused(b, &wr, BSN_OPCODE_RDMA_WRITE, 0, -EMSGSIZE);
	assert_int_equal(bsn_write_inline(b->ep[0], bench_at(b, 0, 0), limits.max_inline + 1,
					  &wr.remote, 1, BSN_F_RING),
			 -EMSGSIZE);
	wr.sge = many;
	wr.sge_count = limits.max_send_sge + 1;
	assert_true(wr.sge_count <= 64);
	assert_refused(b, &wr, BSN_OPCODE_RDMA_WRITE, 0, -EMSGSIZE);
	wr.sge_count = 2;
	assert_refused(b, &wr, BSN_OPCODE_ATOMIC_FA, 0, -EINVAL);
	wr.sge_count = 0;
	assert_refused(b, &wr, BSN_OPCODE_ATOMIC_CS, 0, -EINVAL);
	wr.sge_count = 1;
	assert_refused(b, &wr, BSN_OPCODE_RDMA_READ, BSN_F_INLINE, -EOPNOTSUPP);
	assert_refused(b, &wr, BSN_OPCODE_ATOMIC_MASKED_CS, 0, -EOPNOTSUPP);
	assert_refused(b, &wr, 0x3f, 0, -EOPNOTSUPP);
	assert_refused(b, &wr, 0x1234, 0, -EOPNOTSUPP);
	assert_int_equal(bsn_post(NULL, &wr), -EINVAL);
	assert_true(limits.max_recv_sge < 64);
	assert_int_equal(bsn_recv_sgl(b->rq[0], many, limits.max_recv_sge + 1, 1), -EMSGSIZE);
	assert_int_equal(bsn_recv(b->rq[0], &huge, 1), -EMSGSIZE);
	assert_idle(b);
}

static void uc_lacks_what_needs_an_answer(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, SRC, 8);
	const struct bsn_remote remote = bench_remote(b, 1, DST);

	assert_int_equal(bsn_read(b->ep[0], &local, &remote, 1, BSN_F_RING), -EOPNOTSUPP);
	assert_int_equal(bsn_fetch_add(b->ep[0], &local, &remote, 1, 1, BSN_F_RING), -EOPNOTSUPP);
	assert_int_equal(bsn_cmp_swap(b->ep[0], &local, &remote, 1, 1, 1, BSN_F_RING), -EOPNOTSUPP);
	assert_idle(b);
}

/* A device without atomics refuses them before anything is posted, as libmlx5 does. */
static void a_device_without_atomics_refuses_them(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, SRC, 8);
	const struct bsn_remote remote = bench_remote(b, 1, DST);
	struct bsn_wr wr = { .sge = &local, .sge_count = 1, .remote = remote, .flags = BSN_F_RING };
	struct bsn_prepared p;

	fails(EOPNOTSUPP, "device lacks the operation",
	      bsn_fetch_add(b->ep[0], &local, &remote, 1, 1, BSN_F_RING));
	assert_int_equal(bsn_cmp_swap(b->ep[0], &local, &remote, 1, 1, 1, BSN_F_RING), -EOPNOTSUPP);
	for (unsigned i = 0; i < 2; i++) {
		wr.opcode = i ? BSN_OPCODE_ATOMIC_CS : BSN_OPCODE_ATOMIC_FA;
		bsn_refusal = NULL;
		assert_int_equal(bsn_post(b->ep[0], &wr), -EOPNOTSUPP);
		assert_non_null(bsn_refusal);
		bsn_refusal = NULL;
		assert_int_equal(bsn_prepare(b->ep[0], &wr, &p), -EOPNOTSUPP);
		assert_non_null(bsn_refusal);
	}
	assert_idle(b);
	ok(bsn_write(b->ep[0], &local, &remote, 2, NOW));
	expect_done(b, b->cq[0], 2, BSN_OPCODE_RDMA_WRITE);
}

#define UC .qp.type = BSN_QP_UC

static const struct bench_case cases[] = {
	{ CASE(a_write_moves_its_bytes) },
	{ CASE_OF(a_write_moves_its_bytes, "RoCE"), ROCE, MODEL },
	{ CASE_OF(a_write_moves_its_bytes, "UC"), UC },
	{ CASE(inline_data_of_every_length), .qp.max_inline = 200 },
	{ CASE_OF(inline_data_of_every_length, "UC"), UC, .qp.max_inline = 100 },
	{ CASE(inline_data_is_taken_at_the_post), .qp.max_inline = 64 },
	{ CASE(a_read_brings_bytes_here) },
	{ CASE(a_send_reaches_a_receive) },
	{ CASE_OF(a_send_reaches_a_receive, "UC"), UC },
	{ CASE(send_inline_of_every_length), .qp.max_inline = 100 },
	{ CASE(immediates_arrive_in_host_order) },
	{ CASE_OF(immediates_arrive_in_host_order, "UC"), UC },
	{ CASE(a_send_can_invalidate_a_key), MODEL, OWN },
	{ CASE(atomics_answer_with_the_old_value) },
	{ CASE(pieces_become_one_message),
	  .qp = { .max_send_sge = 3, .max_recv_sge = 3, .max_inline = 160 } },
	{ CASE(messages_may_be_empty) },
	{ CASE(a_prepared_request_keeps_nothing_of_the_callers), .qp.max_send_sge = 2 },
	{ CASE(prepared_requests_of_each_kind) },
	{ CASE(what_no_queue_takes_is_refused), .qp = { .max_send_sge = 4, .max_recv_sge = 4 } },
	{ CASE(a_device_without_atomics_refuses_them), .no_atomics = true, MODEL },
	{ CASE(uc_lacks_what_needs_an_answer), UC },
};

BENCH_MAIN("operations")
