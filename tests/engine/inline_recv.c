/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages and results that come inside CQEs: in each case one pointer says where they are. */
#include "harness.h"

enum { SRC = 512, DST = 4096, ROOM = 256, LONGEST = 130 };

/* Two QPs whose CQs have CQEs of one size. */
struct pair {
	struct bench *b;
	struct bsn_cq *cq[2];
	struct bsn_qp *qp[2];
	struct bsn_rq *rq; /* of end 1 */
	struct bsn_ep *ep[2];
	uint32_t room;
};

static struct pair make_pair(struct bench *b, uint32_t cqe_size, bool has_srq,
			     const struct bsn_qp_attr *wanted)
{
	struct bsn_qp_attr attr = *wanted;
	struct pair p = { .b = b, .room = cqe_size / 2 };

	attr.srq = has_srq ? new_srq(b, .max_recv_sge = 3) : NULL;
	attr.user = b;
	attr.max_recv_sge = 3;
	for (int end = 0; end < 2; end++) {
		attr.cq = p.cq[end] = new_cq(b, .cqe_size = cqe_size);
		p.qp[end] = bench_qp(b, &attr);
		p.ep[end] = bsn_qp_ep(p.qp[end]);
		assert_int_equal(bsn_qp_info(p.qp[end])->max_inline_recv,
				 wanted->max_inline_recv ? p.room : 0);
		assert_int_equal(bsn_qp_info(p.qp[end])->max_inline_resp,
				 wanted->max_inline_resp ? p.room : 0);
	}
	p.rq = bsn_qp_rq(p.qp[1]);
	bench_join(p.qp[0], p.qp[1]);
	return p;
}

/* Posts a receive of two pieces, of which the first has 5 bytes. */
static void post_recv(struct pair *p, uint64_t id)
{
	const struct bsn_sge sge[] = { bench_sge(p->b, 1, DST, 5),
				       bench_sge(p->b, 1, DST + 64, ROOM) };

	memset(bench_at(p->b, 1, DST), 0, 64 + ROOM);
	ok(id % 2 ? bsn_recv_sgl(p->rq, sge, 2, id) : bsn_recv(p->rq, &sge[1], id));
}

/* Reads a message as a program does: by one pointer, wherever the bytes are. */
static void assert_message(struct pair *p, const struct bsn_completion *c, uint32_t length)
{
	const uint8_t *memory = bench_at(p->b, 1, c->id % 2 ? DST : DST + 64);
	const bool in_cqe = length && length <= p->room;

	assert_int_equal(c->byte_len, length);
	assert_int_equal(c->flags & BSN_C_DATA, BSN_C_DATA);
	assert_int_equal(c->flags & BSN_C_IN_CQE, in_cqe ? BSN_C_IN_CQE : 0);
	assert_ptr_equal(c->user, p->b);
	if (in_cqe) {
		assert_memory_equal(c->data, bench_at(p->b, 0, SRC), length);
		assert_int_equal(*memory, 0);
	} else {
		assert_ptr_equal(c->data, memory);
		assert_memory_equal(c->data, bench_at(p->b, 0, SRC),
				    c->id % 2 && length > 5 ? 5 : length);
	}
}

static void one_message(struct pair *p, uint32_t length, bool has_imm)
{
	post_recv(p, length);
	if (has_imm)
		ok(bsn_send_imm(p->ep[0], SGE(p->b, 0, SRC, length), 0xcafe0000 + length, 1, NOW));
	else
		ok(bsn_send(p->ep[0], SGE(p->b, 0, SRC, length), 1, NOW));
	expect_done(p->b, p->cq[0], 1, has_imm ? BSN_OPCODE_SEND_IMM : BSN_OPCODE_SEND);
	struct bsn_completion c = expect_done(p->b, p->cq[1], length, BSN_RECV);
	assert_message(p, &c, length);
	assert_int_equal(c.flags & BSN_C_IMM, has_imm ? BSN_C_IMM : 0);
	if (has_imm)
		assert_int_equal(c.imm, 0xcafe0000 + length);
}

static void messages_of(struct bench *b, uint32_t cqe_size, bool has_srq)
{
	const struct bsn_qp_attr wanted = { .type = b->test->qp.type, .max_inline_recv = 1 };
	struct pair p = make_pair(b, cqe_size, has_srq, &wanted);

	for (uint32_t length = 0; length <= LONGEST; length++) {
		one_message(&p, length, false);
		one_message(&p, length, true);
	}
}

static void messages_of_every_length(struct bench *b)
{
	for (uint32_t cqe_size = 64; cqe_size <= 128; cqe_size *= 2)
		for (int has_srq = 0; has_srq < 2; has_srq++)
			messages_of(b, cqe_size, has_srq);
}

/* Several at once: each pointer holds until the next poll. */
static void many_in_one_poll(struct bench *b)
{
	enum { MANY = 16 };
	struct bsn_completion c[MANY];
	int got = 0;
	struct pair p = make_pair(b, 64, false, &(struct bsn_qp_attr){ .max_inline_recv = 32 });

	for (unsigned round = 0; round < 40; round++) {
		for (uint64_t i = 0; i < MANY; i++)
			post_recv(&p, i);
		for (uint64_t i = 0; i < MANY; i++)
			ok(bsn_send_inline(p.ep[0], &i, sizeof(i), i, NOW));
		bench_settle(b);
		for (unsigned i = 0; i < MANY; i++)
			expect_done(b, p.cq[0], i, BSN_OPCODE_SEND);
		got = bsn_poll(p.cq[1], c, MANY);
		assert_int_equal(got, MANY);
		for (uint64_t i = 0; i < MANY; i++) {
			assert_int_equal(c[i].id, i);
			assert_int_equal(c[i].flags, BSN_C_DATA | BSN_C_IN_CQE);
			assert_memory_equal(c[i].data, &i, sizeof(i));
		}
	}
}

/* A WRITE puts its data where it says; its receive has no data. */
static void a_write_with_immediate_has_no_data(struct bench *b)
{
	struct bsn_completion c;

	for (int has_srq = 0; has_srq < 2; has_srq++) {
		struct pair p =
			make_pair(b, 64, has_srq, &(struct bsn_qp_attr){ .max_inline_recv = 32 });
		post_recv(&p, 2);
		ok(bsn_write_imm(p.ep[0], SGE(b, 0, SRC, 8), REMOTE(b, 1, DST + 1024), 7, 1, NOW));
		expect_done(b, p.cq[0], 1, BSN_OPCODE_RDMA_WRITE_IMM);
		c = expect_done(b, p.cq[1], 2, BSN_RECV_RDMA_WITH_IMM);
		assert_int_equal(c.flags, BSN_C_IMM);
		assert_int_equal(c.byte_len, 8);
		assert_memory_equal(bench_at(b, 1, DST + 1024), bench_at(b, 0, SRC), 8);
	}
}

/* A receive that is too short fails, even if the CQE has room for the message. */
static void a_short_receive_fails(struct bench *b)
{
	struct pair p = make_pair(b, 64, false, &(struct bsn_qp_attr){ .max_inline_recv = 32 });

	ok(bsn_recv(p.rq, SGE(b, 1, DST, 7), 2));
	ok(bsn_send_inline(p.ep[0], bench_at(b, 0, SRC), 8, 1, NOW));
	expect_status(b, p.cq[1], 2, BSN_RECV, IBV_WC_LOC_LEN_ERR);
	expect_status(b, p.cq[0], 1, BSN_OPCODE_SEND, IBV_WC_REM_INV_REQ_ERR);
}

/* -- what READs and atomics bring -------------------------------------------------------------- */

static void reads_of(struct bench *b, uint32_t cqe_size)
{
	const struct bsn_qp_attr wanted = { .max_inline_recv = 1,
					    .max_inline_resp = 1,
					    .signal_all = true };
	struct bsn_completion c;
	struct pair p = make_pair(b, cqe_size, false, &wanted);

	for (uint32_t length = 1; length <= LONGEST; length++) {
		const struct bsn_sge local = bench_sge(b, 1, DST, length);
		const bool in_cqe = length <= p.room;
		memset(bench_at(b, 1, DST), 0, ROOM);
		ok(bsn_read(p.ep[1], &local, REMOTE(b, 0, SRC), length, BSN_F_RING));
		c = expect_done(b, p.cq[1], length, BSN_OPCODE_RDMA_READ);
		assert_int_equal(c.byte_len, length);
		assert_int_equal(c.flags, BSN_C_DATA | (in_cqe ? BSN_C_IN_CQE : 0));
		assert_memory_equal(c.data, bench_at(b, 0, SRC), length);
		if (!in_cqe)
			assert_ptr_equal(c.data, bench_at(b, 1, DST));
		ok(bsn_write(p.ep[1], &local, REMOTE(b, 0, SRC), 1, BSN_F_RING));
		assert_int_equal(expect_done(b, p.cq[1], 1, BSN_OPCODE_RDMA_WRITE).flags, 0);
	}
}

static void reads_of_every_length(struct bench *b)
{
	reads_of(b, 64);
	reads_of(b, 128);
}

static const struct bsn_qp_attr results = { .max_inline_recv = 1,
					    .max_inline_resp = 8,
					    .signal_all = true };

/* Results are in the host's order, though the CQE has them in the wire's. */
static void results_of_atomics(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 1, DST, 8);
	const struct bsn_remote remote = bench_remote(b, 0, SRC);
	uint64_t value = 0x0102030405060708;
	struct bsn_completion c;

	for (uint32_t cqe_size = 64; cqe_size <= 128; cqe_size *= 2) {
		struct pair p = make_pair(b, cqe_size, false, &results);
		memcpy(bench_at(b, 0, SRC), &value, sizeof(value));
		memset(bench_at(b, 1, DST), 0, 8);
		ok(bsn_fetch_add(p.ep[1], &local, &remote, 1, 5, BSN_F_RING));
		c = expect_done(b, p.cq[1], 5, BSN_OPCODE_ATOMIC_FA);
		assert_int_equal(c.flags, BSN_C_DATA | BSN_C_IN_CQE);
		assert_memory_equal(c.data, &value, sizeof(value));
		value++;
		ok(bsn_cmp_swap(p.ep[1], &local, &remote, value, value + 7, 6, BSN_F_RING));
		c = expect_done(b, p.cq[1], 6, BSN_OPCODE_ATOMIC_CS);
		assert_memory_equal(c.data, &value, sizeof(value));
		value += 7;
		assert_memory_equal(bench_at(b, 0, SRC), &value, sizeof(value));
		assert_int_equal(*bench_at(b, 1, DST), 0);
	}
}

/* Results of masked atomics, too, are in the order that the device uses in memory. */
static void results_of_masked_atomics(struct bench *b)
{
	const struct bsn_masked_fa fa = { .add = 1 };
	const struct bsn_remote remote = bench_remote(b, 0, SRC);
	const uint64_t value = 0x0102030405060708;
	const bool is_big_endian = b->test->big_endian_atomics;

	assert_int_equal(bench_info(b)->atomics_are_big_endian, is_big_endian);
	for (uint32_t bytes = 4; bytes <= 8; bytes += 4) {
		const struct bsn_sge local = bench_sge(b, 1, DST, bytes);
		struct pair p = make_pair(b, 64, false, &results);
		memcpy(bench_at(b, 0, SRC), &value, sizeof(value));
		ok(bsn_masked_fetch_add(p.ep[1], &local, &remote, &fa, bytes, 5, BSN_F_RING));
		struct bsn_completion c = expect_done(b, p.cq[1], 5, BSN_OPCODE_ATOMIC_MASKED_FA);
		assert_int_equal(c.flags, BSN_C_DATA | BSN_C_IN_CQE);
		if (bytes == 4)
			assert_int_equal(bsn_load_be32(c.data), (uint32_t)value);
		else if (is_big_endian)
			assert_int_equal(bsn_load_be64(c.data), value);
		else
			assert_memory_equal(c.data, &value, sizeof(value));
	}
}

/*
 * A failed QP gives everything back. After a reset the same queue goes on, with data in CQEs or
 * without.
 */
static void after_a_reset_results_come_as_before(struct bench *b)
{
	struct pair p = make_pair(b, 64, false, &results);

	for (unsigned i = 0; i < 3; i++) {
		post_recv(&p, 2);
		ok(bsn_qp_fail(p.qp[1]));
		expect_status(b, p.cq[1], 2, BSN_RECV, IBV_WC_WR_FLUSH_ERR);
		for (int end = 0; end < 2; end++)
			ok(bsn_qp_reset(p.qp[end]));
		bench_join(p.qp[0], p.qp[1]);
		one_message(&p, 8, i);
		ok(bsn_read(p.ep[1], SGE(b, 1, DST, 8), REMOTE(b, 0, SRC), 3, BSN_F_RING));
		assert_int_equal(expect_done(b, p.cq[1], 3, BSN_OPCODE_RDMA_READ).flags,
				 BSN_C_DATA | BSN_C_IN_CQE);
	}
}

/* -- refusals ---------------------------------------------------------------------------------- */

static void assert_refused(struct bench *b, struct bsn_qp_attr attr, int error, const char *why)
{
	struct bsn_qp *qp = NULL;

	attr.cq = b->cq[0];
	fails(error, why, bsn_qp_create(b->device, &attr, &qp));
	assert_null(qp);
}

static void impossible_attributes_are_refused(struct bench *b)
{
	const struct bsn_qp_attr recv = { .max_inline_recv = 8 },
				 long_recv = { .max_inline_recv = 33 };
	const struct bsn_qp_attr resp = { .max_inline_resp = 8, .signal_all = true };
	const struct bsn_qp_attr silent = { .max_inline_recv = 8, .max_inline_resp = 8 };
	const struct bsn_qp_attr of_ud = { .type = BSN_QP_UD, .max_inline_recv = 8 };
	const struct bsn_qp_attr of_uc = { .type = BSN_QP_UC,
					   .max_inline_recv = 8,
					   .max_inline_resp = 8,
					   .signal_all = true };
	const struct bsn_qp_attr long_resp = { .max_inline_recv = 8,
					       .max_inline_resp = 33,
					       .signal_all = true };

	if (b->kind == BENCH_VERBS) {
		assert_refused(b, recv, EOPNOTSUPP, "no data in CQEs");
		return;
	}
	assert_refused(b, long_recv, EINVAL, "32 (64 with a cqe_size of 128)");
	assert_refused(b, long_resp, EINVAL, "max_inline_resp is 33");
	assert_refused(b, resp, EINVAL, "max_inline_recv");
	assert_refused(b, silent, EINVAL, "signal_all");
	assert_refused(b, of_ud, EOPNOTSUPP, "UD");
	assert_refused(b, of_uc, EOPNOTSUPP, "UC has no READs");
}

/* Of the next CQE, which is there: the poll might copy what comes in it. */
static void assert_empty_cqe(struct bench *b, const struct bsn_cq *cq)
{
	struct bsn_cqe_tail tail;

	bench_settle(b);
	if (b->kind != BENCH_DIRECT)
		return;
	bsn_cqe_tail_decode(&tail, cq->next + BSN_CQE_TAIL_OFFSET);
	assert_int_equal(tail.owner, cq->phase);
	assert_int_equal(tail.format, BSN_CQE_NO_INLINE);
}

/*
 * libmlx5 would ask for data in CQEs on every QP, and get results in them where all requests
 * signal.
 */
static void nothing_comes_in_a_cqe_unasked(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, SRC, 8), into = bench_sge(b, 1, DST, 8);

	ok(bsn_recv(b->rq[1], &into, 2));
	ok(bsn_send(b->ep[0], &local, 1, NOW));
	assert_empty_cqe(b, b->cq[1]);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_SEND);
	assert_int_equal(expect_done(b, b->cq[1], 2, BSN_RECV).flags, 0);
	assert_memory_equal(bench_at(b, 1, DST), bench_at(b, 0, SRC), 8);
	ok(bsn_read(b->ep[0], SGE(b, 0, DST, 8), REMOTE(b, 1, DST), 3, NOW));
	assert_empty_cqe(b, b->cq[0]);
	assert_int_equal(expect_done(b, b->cq[0], 3, BSN_OPCODE_RDMA_READ).flags, 0);
	assert_memory_equal(bench_at(b, 0, DST), bench_at(b, 0, SRC), 8);
}

static const struct bench_case cases[] = {
	{ CASE_OF(messages_of_every_length, "RC"), DIRECT, OWN, BARE },
	{ CASE_OF(messages_of_every_length, "UC"), DIRECT, OWN, BARE, .qp = { .type = BSN_QP_UC } },
	{ CASE(many_in_one_poll), DIRECT, OWN, BARE },
	{ CASE(a_write_with_immediate_has_no_data), DIRECT, OWN, BARE },
	{ CASE(a_short_receive_fails), DIRECT, OWN, BARE },
	{ CASE(reads_of_every_length), DIRECT, OWN, BARE },
	{ CASE(results_of_atomics), DIRECT, OWN, BARE },
	{ CASE(results_of_masked_atomics), DIRECT, OWN, BARE, MODEL },
	{ CASE_OF(results_of_masked_atomics, "big-endian"), DIRECT, OWN, BARE, MODEL,
	  .big_endian_atomics = true },
	{ CASE(after_a_reset_results_come_as_before), DIRECT, OWN, BARE },
	{ CASE(impossible_attributes_are_refused), OWN },
	{ CASE(nothing_comes_in_a_cqe_unasked), OWN, .qp.signal_all = true },
};

BENCH_MAIN("inline_recv")
