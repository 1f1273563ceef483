/* SPDX-License-Identifier: BSD-2-Clause */
/* Features of requests and of memory keys. */
#include "features_tries.h"

/* -- requests ---------------------------------------------------------------------------------- */

void post_recv(struct bench *b, struct bsn_rq *rq, uint64_t id)
{
	ok(bsn_recv(rq, SGE(b, 1, INTO, BSN_GRH_SIZE + LENGTH), id));
}

void post_write(struct bench *b, struct bsn_ep *ep, uint64_t id, unsigned flags)
{
	ok(bsn_write(ep, SGE(b, 0, 0, LENGTH), REMOTE(b, 1, INTO), id, flags));
}

void assert_arrived(struct bench *b, size_t offset)
{
	assert_memory_equal(bench_at(b, 1, INTO + offset), bench_at(b, 0, 0), LENGTH);
}

/* What end 0 sent, as end 1 received it. */
struct bsn_completion expect_message(struct bench *b, unsigned opcode)
{
	const bool is_ud = b->test->qp.type == BSN_QP_UD;

	expect_done(b, b->cq[0], 2, opcode);
	struct bsn_completion c = expect_done(b, b->cq[1], 1, BSN_RECV);
	assert_int_equal(c.byte_len, LENGTH + (is_ud ? BSN_GRH_SIZE : 0));
	assert_arrived(b, is_ud ? BSN_GRH_SIZE : 0);
	return c;
}

const char *try_send(struct bench *b)
{
	post_recv(b, b->srq ? b->srq : b->rq[1], 1);
	ok(bsn_send(b->ep[0], SGE(b, 0, 0, LENGTH), 2, NOW));
	expect_message(b, BSN_OPCODE_SEND);
	return NULL;
}

const char *try_send_imm(struct bench *b)
{
	post_recv(b, b->rq[1], 1);
	ok(bsn_send_imm(b->ep[0], SGE(b, 0, 0, LENGTH), 0xcafe, 2, NOW));
	struct bsn_completion c = expect_message(b, BSN_OPCODE_SEND_IMM);
	assert_int_equal(c.flags & BSN_C_IMM ? c.imm : 0, 0xcafe);
	return NULL;
}

/* What a SEND may invalidate: a memory window, bound by the peer's queue. */
struct victim {
	struct bsn_mr *mem;
	struct bsn_window *window; /* on the direct path; else one of the others is set */
	struct ibv_mr *mr;
	struct ibv_mw *mw; /* NULL: the device has no windows; then a region */
	uint32_t rkey;
};

static void bind_by_verbs(struct bench *b, struct victim *v)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND;
	struct ibv_qp *qp = bsn_qp_info(b->qp[1])->verbs;
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_BIND_MW };

	v->mr = ibv_reg_mr(qp->pd, bench_at(b, 1, 0), 4096, access);
	assert_non_null(v->mr);
	v->rkey = v->mr->rkey;
	v->mw = ibv_alloc_mw(qp->pd, IBV_MW_TYPE_2);
	if (!v->mw)
		return;
	v->rkey = ibv_inc_rkey(v->mw->rkey);
	wr.bind_mw.mw = v->mw;
	wr.bind_mw.rkey = v->rkey;
	wr.bind_mw.bind_info.mr = v->mr;
	wr.bind_mw.bind_info.addr = (uintptr_t)v->mr->addr;
	wr.bind_mw.bind_info.length = LENGTH;
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	ok(-ibv_post_send(qp, &wr, &bad));
}

static void bind_directly(struct bench *b, struct victim *v)
{
	const struct bsn_mr_attr attr = { .access = IBV_ACCESS_LOCAL_WRITE |
						    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND };

	v->mem = bench_buf(b, 4096, &attr);
	struct bsn_sge sge = bsn_sge_of(v->mem, 0, LENGTH);
	ok(bsn_window_create(b->device, NULL, &v->window));
	ok(bsn_window_bind(b->ep[1], v->window, &sge, IBV_ACCESS_REMOTE_WRITE, 3, NOW));
	expect_done(b, b->cq[1], 3, BSN_OPCODE_UMR);
	v->rkey = v->window->rkey;
}

static void free_victim(struct victim *v)
{
	ok(bsn_window_destroy(v->window));
	if (v->mw)
		ok(-ibv_dealloc_mw(v->mw));
	if (v->mr)
		ok(-ibv_dereg_mr(v->mr));
}

const char *try_send_inval(struct bench *b)
{
	struct victim v = { 0 };

	if (b->kind == BENCH_DIRECT)
		bind_directly(b, &v);
	else
		bind_by_verbs(b, &v);
	post_recv(b, b->rq[1], 1);
	ok(bsn_send_inval(b->ep[0], SGE(b, 0, 0, LENGTH), v.rkey, 2, NOW));
	struct bsn_completion c = expect_message(b, BSN_OPCODE_SEND_INVAL);
	assert_int_equal(c.flags & BSN_C_INVAL ? c.imm : 0, v.rkey);
	free_victim(&v);
	return NULL;
}

const char *try_write(struct bench *b)
{
	post_write(b, b->ep[0], 1, NOW);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	assert_arrived(b, 0);
	return NULL;
}

const char *try_write_imm(struct bench *b)
{
	post_recv(b, b->rq[1], 1);
	ok(bsn_write_imm(b->ep[0], SGE(b, 0, 0, LENGTH), REMOTE(b, 1, INTO), 0xcafe, 2, NOW));
	expect_done(b, b->cq[0], 2, BSN_OPCODE_RDMA_WRITE_IMM);
	struct bsn_completion c = expect_done(b, b->cq[1], 1, BSN_RECV_RDMA_WITH_IMM);
	assert_int_equal(c.flags & BSN_C_IMM ? c.imm : 0, 0xcafe);
	assert_arrived(b, 0);
	return NULL;
}

const char *try_read(struct bench *b)
{
	ok(bsn_read(b->ep[1], SGE(b, 1, INTO, LENGTH), REMOTE(b, 0, 0), 1, NOW));
	assert_int_equal(expect_done(b, b->cq[1], 1, BSN_OPCODE_RDMA_READ).byte_len, LENGTH);
	assert_arrived(b, 0);
	return NULL;
}

static uint64_t word_at(struct bench *b, int end, size_t offset)
{
	uint64_t word;

	memcpy(&word, bench_at(b, end, offset), sizeof(word));
	return word;
}

const char *try_fetch_add(struct bench *b)
{
	for (uint64_t sum = 0; sum < 10; sum += 5) {
		ok(bsn_fetch_add(b->ep[0], SGE(b, 0, 0, 8), REMOTE(b, 1, INTO), 5, 1, NOW));
		expect_done(b, b->cq[0], 1, BSN_OPCODE_ATOMIC_FA);
		assert_int_equal(word_at(b, 0, 0), sum);
		assert_int_equal(word_at(b, 1, INTO), sum + 5);
	}
	return NULL;
}

const char *try_cmp_swap(struct bench *b)
{
	ok(bsn_cmp_swap(b->ep[0], SGE(b, 0, 0, 8), REMOTE(b, 1, INTO), 0, 7, 1, NOW));
	ok(bsn_cmp_swap(b->ep[0], SGE(b, 0, 0, 8), REMOTE(b, 1, INTO), 0, 9, 2, NOW));
	expect_done(b, b->cq[0], 1, BSN_OPCODE_ATOMIC_CS);
	expect_done(b, b->cq[0], 2, BSN_OPCODE_ATOMIC_CS);
	assert_int_equal(word_at(b, 0, 0), 7);
	assert_int_equal(word_at(b, 1, INTO), 7);
	return NULL;
}

static const char *why_not(struct bench *b, const char *feature)
{
	const struct bsn_device_info *info = bench_info(b);

	for (uint32_t i = 0; i < info->feature_count; i++)
		if (!strcmp(info->features[i].name, feature))
			return info->features[i].why_not;
	return NULL;
}

const char *try_masked_atomics(struct bench *b)
{
	const struct bsn_remote remote = bench_remote(b, 1, INTO);
	const struct bsn_masked_fa one = { .add = 1 };
	const char *why = why_not(b, "masked-atomics");

	assert_int_equal(bsn_masked_fetch_add(b->ep[0], SGE(b, 0, 0, 8), &remote, &one, 8, 0, NOW),
			 why ? -EOPNOTSUPP : 0);
	if (!why)
		expect_done(b, b->cq[0], 0, BSN_OPCODE_ATOMIC_MASKED_FA);
	return why;
}

const char *try_inline_recv(struct bench *b)
{
	const struct bsn_qp_attr attr = { .cq = b->cq[0],
					  .recv_cq = b->cq[1],
					  .max_inline_recv = 8 };
	const char *why = why_not(b, "inline-receive");
	struct bsn_qp *qp;

	assert_int_equal(bsn_qp_create(b->device, &attr, &qp), why ? -EOPNOTSUPP : 0);
	if (why)
		return why;
	bench_join(qp, qp);
	post_recv(b, bsn_qp_rq(qp), 1);
	ok(bsn_send_inline(bsn_qp_ep(qp), bench_at(b, 0, 0), 8, 2, NOW));
	expect_done(b, b->cq[0], 2, BSN_OPCODE_SEND);
	struct bsn_completion c = expect_done(b, b->cq[1], 1, BSN_RECV);
	assert_int_equal(c.flags, BSN_C_DATA | BSN_C_IN_CQE);
	assert_memory_equal(c.data, bench_at(b, 0, 0), 8);
	ok(bsn_qp_destroy(qp));
	return NULL;
}

const char *try_recv_many(struct bench *b)
{
	const struct bsn_sge sge = bench_sge(b, 1, INTO, LENGTH), recvs[] = { sge, sge, sge };
	const uint64_t ids[] = { 10, 11, 12 };

	assert_int_equal(bsn_recv_many(b->rq[1], recvs, ids, 3), 3);
	for (unsigned i = 0; i < 3; i++) {
		ok(bsn_send(b->ep[0], SGE(b, 0, 0, LENGTH), i, NOW));
		expect_done(b, b->cq[0], i, BSN_OPCODE_SEND);
		expect_done(b, b->cq[1], ids[i], BSN_RECV);
		assert_arrived(b, 0);
	}
	return NULL;
}

const char *try_copy(struct bench *b)
{
	const struct bsn_sge to = bench_sge(b, 0, INTO, 64), from = bench_sge(b, 0, 0, 64);
	const struct bsn_sge status = bench_sge(b, 0, 128, 64);
	const char *why = why_not(b, "copy");

	assert_int_equal(bsn_memcpy(b->ep[0], &to, &from, &status, 0, NOW), why ? -EOPNOTSUPP : 0);
	if (why)
		return why;
	expect_done(b, b->cq[0], 0, BSN_OPCODE_MMO);
	assert_memory_equal(bench_at(b, 0, INTO), bench_at(b, 0, 0), 64);
	return NULL;
}

/* -- memory keys ------------------------------------------------------------------------------- */

/* Every other byte of 16. */
static const char *try_layout_of(struct bench *b, unsigned flags)
{
	const struct bsn_part part = {
		.addr = b->mem[0]->addr, .bytes = 1, .stride = 2, .lkey = b->mem[0]->lkey
	};
	const struct bsn_layout_attr attr = { .parts = &part, .part_count = 1, .rounds = 8 };
	const struct bsn_wr wr = { .flags = NOW,
				   .remote = bench_remote(b, 1, INTO),
				   .opcode = BSN_OPCODE_RDMA_WRITE };
	const char *why = flags & BSN_MAP_KEY ? why_not(b, "mkeys") : NULL;
	struct bsn_mkey_pool *pool;
	struct bsn_layout *layout;
	const struct bsn_map *map;

	ok(bsn_mkey_pool_create(b->device, NULL, &pool));
	ok(bsn_layout_create(pool, &attr, &layout));
	assert_int_equal(bsn_layout_map(layout, b->ep[0], flags, &map), why ? -EOPNOTSUPP : 0);
	if (!why) {
		ok(post_map(b->ep[0], wr, map));
		expect_done(b, b->cq[0], 0, BSN_OPCODE_RDMA_WRITE);
		for (int i = 0; i < 8; i++)
			assert_int_equal(*bench_at(b, 1, INTO + i), *bench_at(b, 0, 2 * i));
		bsn_layout_unmap(map);
	}
	ok(bsn_layout_destroy(layout));
	ok(bsn_mkey_pool_destroy(pool));
	return why;
}

const char *try_layout(struct bench *b)
{
	return try_layout_of(b, 0);
}

const char *try_mkey(struct bench *b)
{
	return try_layout_of(b, BSN_MAP_KEY);
}

const char *try_window(struct bench *b)
{
	const char *why = why_not(b, "mkeys");
	struct bsn_window *window;

	assert_int_equal(bsn_window_create(b->device, NULL, &window), why ? -EOPNOTSUPP : 0);
	if (!why)
		ok(bsn_window_destroy(window));
	return why;
}

/* -- forms of requests ------------------------------------------------------------------------- */

const char *try_sges(struct bench *b)
{
	struct bsn_sge piece[PIECES];
	struct bsn_wr wr = { .sge = piece,
			     .sge_count = PIECES,
			     .flags = NOW,
			     .remote = bench_remote(b, 1, INTO),
			     .opcode = BSN_OPCODE_RDMA_WRITE };

	for (uint32_t i = 0, at = 0; i < PIECES; at += piece[i++].length)
		piece[i] = bench_sge(b, 0, at, i + 1 < PIECES ? 20 : LENGTH - at);
	for (wr.id = 0; wr.id < 2; wr.id++, wr.flags |= BSN_F_INLINE) {
		memset(bench_at(b, 1, INTO), 0, LENGTH);
		ok(bsn_post(b->ep[0], &wr));
		expect_done(b, b->cq[0], wr.id, BSN_OPCODE_RDMA_WRITE);
		assert_arrived(b, 0);
	}
	return NULL;
}

const char *try_inline(struct bench *b)
{
	uint8_t data[LENGTH];

	memcpy(data, bench_at(b, 0, 0), LENGTH);
	ok(bsn_write_inline(b->ep[0], data, LENGTH, REMOTE(b, 1, INTO), 1, BSN_F_SIGNALED));
	memset(data, 0, LENGTH); /* the buffer is the caller's again */
	ok(bsn_ring(b->ep[0]));
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	assert_arrived(b, 0);
	return NULL;
}

const char *try_prepared(struct bench *b)
{
	const struct bsn_wr wr = { .sge = SGE(b, 0, 0, LENGTH),
				   .sge_count = 1,
				   .remote = bench_remote(b, 1, INTO),
				   .opcode = BSN_OPCODE_RDMA_WRITE };
	struct bsn_prepared prepared;

	ok(bsn_prepare(b->ep[0], &wr, &prepared));
	for (uint64_t id = 0; id < 3; id++) {
		memset(bench_at(b, 1, INTO), 0, LENGTH);
		ok(bsn_post_prepared(b->ep[0], &prepared, id, NOW));
		expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
		assert_arrived(b, 0);
	}
	return NULL;
}

const char *try_batch(struct bench *b)
{
	for (uint64_t id = 0; id < 16; id++)
		post_write(b, b->ep[0], id, BSN_F_SIGNALED);
	expect_nothing(b, b->cq[0]);
	assert_int_equal(*bench_at(b, 1, INTO), 0);
	ok(bsn_ring(b->ep[0]));
	for (uint64_t id = 0; id < 16; id++)
		expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
	assert_arrived(b, 0);
	return NULL;
}

/* Sends back what was read, which must wait for the READ. */
const char *try_fence(struct bench *b)
{
	const struct bsn_remote from = bench_remote(b, 0, 0), to = bench_remote(b, 0, INTO);

	ok(bsn_read(b->ep[1], SGE(b, 1, 0, LENGTH), &from, 1, BSN_F_SIGNALED));
	ok(bsn_write(b->ep[1], SGE(b, 1, 0, LENGTH), &to, 2, NOW | BSN_F_FENCE));
	expect_done(b, b->cq[1], 1, BSN_OPCODE_RDMA_READ);
	expect_done(b, b->cq[1], 2, BSN_OPCODE_RDMA_WRITE);
	assert_memory_equal(bench_at(b, 0, INTO), bench_at(b, 0, 0), LENGTH);
	return NULL;
}
