/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a device can do on each path, found out by doing it: each feature is a case. A feature
 * works, or it is refused with a reason; anything else is a failure.
 *
 * If BSN_TEST_FEATURES names a file, the outcomes are written there as JSON. features.py makes the
 * table of the README from three such runs.
 */
#include "harness.h"
#include "loop.h"

#include "bsn_dc.h"
#include "bsn_mcast.h"
#include "bsn_mkey.h"
#include "bsn_msg.h"
#include "bsn_xrc.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>

#include "bsn_syndrome.h"

enum { LENGTH = 64, INTO = 8192, PIECES = 3 };

struct feature {
	const char *name;
	/* Tries the feature, and asserts that it works. Returns NULL, or why the path refused. */
	const char *(*try)(struct bench *b);
	const char *by_library; /* how the library does it where verbs cannot; else NULL */
	struct bench_case needs;
};

/* -- requests ---------------------------------------------------------------------------------- */

static const unsigned NOW = BSN_F_SIGNALED | BSN_F_RING;

static void post_recv(struct bench *b, struct bsn_rq *rq, uint64_t id)
{
	const struct bsn_sge into = bench_sge(b, 1, INTO, BSN_GRH_SIZE + LENGTH);

	ok(bsn_recv(rq, &into, id));
}

static void post_write(struct bench *b, struct bsn_ep *ep, uint64_t id, unsigned flags)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote remote = bench_remote(b, 1, INTO);

	ok(bsn_write(ep, &local, &remote, id, flags));
}

static void assert_arrived(struct bench *b, size_t offset)
{
	assert_memory_equal(bench_at(b, 1, INTO + offset), bench_at(b, 0, 0), LENGTH);
}

/* What end 0 sent, as end 1 received it. */
static struct bsn_completion expect_message(struct bench *b, unsigned opcode)
{
	const bool is_ud = b->test->qp.type == BSN_QP_UD;
	struct bsn_completion c;

	expect_done(b, b->cq[0], 2, opcode);
	c = expect_done(b, b->cq[1], 1, BSN_RECV);
	assert_int_equal(c.byte_len, LENGTH + (is_ud ? BSN_GRH_SIZE : 0));
	assert_arrived(b, is_ud ? BSN_GRH_SIZE : 0);
	return c;
}

static const char *try_send(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);

	post_recv(b, b->srq ? b->srq : b->rq[1], 1);
	ok(bsn_send(b->ep[0], &local, 2, NOW));
	expect_message(b, BSN_OPCODE_SEND);
	return NULL;
}

static const char *try_send_imm(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	struct bsn_completion c;

	post_recv(b, b->rq[1], 1);
	ok(bsn_send_imm(b->ep[0], &local, 0xcafe, 2, NOW));
	c = expect_message(b, BSN_OPCODE_SEND_IMM);
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
	struct bsn_sge sge;

	ok(bsn_buf_alloc(b->device, 4096, &attr, &v->mem));
	sge = (struct bsn_sge){ v->mem->addr, LENGTH, v->mem->lkey };
	ok(bsn_window_create(b->device, NULL, &v->window));
	ok(bsn_window_bind(b->ep[1], v->window, &sge, IBV_ACCESS_REMOTE_WRITE, 3, NOW));
	expect_done(b, b->cq[1], 3, BSN_OPCODE_UMR);
	v->rkey = v->window->rkey;
}

static void free_victim(struct victim *v)
{
	ok(bsn_window_destroy(v->window));
	ok(bsn_buf_free(v->mem));
	if (v->mw)
		ok(-ibv_dealloc_mw(v->mw));
	if (v->mr)
		ok(-ibv_dereg_mr(v->mr));
}

static const char *try_send_inval(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	struct bsn_completion c;
	struct victim v = { 0 };

	if (b->kind == BENCH_DIRECT)
		bind_directly(b, &v);
	else
		bind_by_verbs(b, &v);
	post_recv(b, b->rq[1], 1);
	ok(bsn_send_inval(b->ep[0], &local, v.rkey, 2, NOW));
	c = expect_message(b, BSN_OPCODE_SEND_INVAL);
	assert_int_equal(c.flags & BSN_C_INVAL ? c.imm : 0, v.rkey);
	free_victim(&v);
	return NULL;
}

static const char *try_write(struct bench *b)
{
	post_write(b, b->ep[0], 1, NOW);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	assert_arrived(b, 0);
	return NULL;
}

static const char *try_write_imm(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote remote = bench_remote(b, 1, INTO);
	struct bsn_completion c;

	post_recv(b, b->rq[1], 1);
	ok(bsn_write_imm(b->ep[0], &local, &remote, 0xcafe, 2, NOW));
	expect_done(b, b->cq[0], 2, BSN_OPCODE_RDMA_WRITE_IMM);
	c = expect_done(b, b->cq[1], 1, BSN_RECV_RDMA_WITH_IMM);
	assert_int_equal(c.flags & BSN_C_IMM ? c.imm : 0, 0xcafe);
	assert_arrived(b, 0);
	return NULL;
}

static const char *try_read(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 1, INTO, LENGTH);
	const struct bsn_remote remote = bench_remote(b, 0, 0);

	ok(bsn_read(b->ep[1], &local, &remote, 1, NOW));
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

static const char *try_fetch_add(struct bench *b)
{
	const struct bsn_sge old = bench_sge(b, 0, 0, 8);
	const struct bsn_remote remote = bench_remote(b, 1, INTO);

	for (uint64_t sum = 0; sum < 10; sum += 5) {
		ok(bsn_fetch_add(b->ep[0], &old, &remote, 5, 1, NOW));
		expect_done(b, b->cq[0], 1, BSN_OPCODE_ATOMIC_FA);
		assert_int_equal(word_at(b, 0, 0), sum);
		assert_int_equal(word_at(b, 1, INTO), sum + 5);
	}
	return NULL;
}

static const char *try_cmp_swap(struct bench *b)
{
	const struct bsn_sge old = bench_sge(b, 0, 0, 8);
	const struct bsn_remote remote = bench_remote(b, 1, INTO);

	ok(bsn_cmp_swap(b->ep[0], &old, &remote, 0, 7, 1, NOW));
	ok(bsn_cmp_swap(b->ep[0], &old, &remote, 0, 9, 2, NOW));
	expect_done(b, b->cq[0], 1, BSN_OPCODE_ATOMIC_CS);
	expect_done(b, b->cq[0], 2, BSN_OPCODE_ATOMIC_CS);
	assert_int_equal(word_at(b, 0, 0), 7);
	assert_int_equal(word_at(b, 1, INTO), 7);
	return NULL;
}

static const char *why_not(struct bench *b, const char *feature)
{
	const struct bsn_device_info *info = bsn_device_info(b->device);

	for (uint32_t i = 0; i < info->feature_count; i++)
		if (!strcmp(info->features[i].name, feature))
			return info->features[i].why_not;
	return NULL;
}

static const char *try_masked_atomics(struct bench *b)
{
	const struct bsn_sge old = bench_sge(b, 0, 0, 8);
	const struct bsn_remote remote = bench_remote(b, 1, INTO);
	const struct bsn_masked_fa one = { .add = 1 };
	const char *why = why_not(b, "masked-atomics");

	assert_int_equal(bsn_masked_fetch_add(b->ep[0], &old, &remote, &one, 8, 0, NOW),
			 why ? -EOPNOTSUPP : 0);
	if (!why)
		expect_done(b, b->cq[0], 0, BSN_OPCODE_ATOMIC_MASKED_FA);
	return why;
}

static const char *try_inline_recv(struct bench *b)
{
	const struct bsn_qp_attr attr = { .cq = b->cq[0], .recv_cq = b->cq[1], .max_inline_recv = 8 };
	const char *why = why_not(b, "inline-receive");
	struct bsn_address address;
	struct bsn_completion c;
	struct bsn_qp *qp;

	assert_int_equal(bsn_qp_create(b->device, &attr, &qp), why ? -EOPNOTSUPP : 0);
	if (why)
		return why;
	ok(bsn_qp_address(qp, &address));
	ok(bsn_qp_connect(qp, &address, NULL));
	post_recv(b, bsn_qp_rq(qp), 1);
	ok(bsn_send_inline(bsn_qp_ep(qp), bench_at(b, 0, 0), 8, 2, NOW));
	expect_done(b, b->cq[0], 2, BSN_OPCODE_SEND);
	c = expect_done(b, b->cq[1], 1, BSN_RECV);
	assert_int_equal(c.flags, BSN_C_DATA | BSN_C_IN_CQE);
	assert_memory_equal(c.data, bench_at(b, 0, 0), 8);
	ok(bsn_qp_destroy(qp));
	return NULL;
}

static const char *try_recv_many(struct bench *b)
{
	const struct bsn_sge sge = bench_sge(b, 1, INTO, LENGTH), recvs[] = { sge, sge, sge };
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const uint64_t ids[] = { 10, 11, 12 };

	assert_int_equal(bsn_recv_many(b->rq[1], recvs, ids, 3), 3);
	for (unsigned i = 0; i < 3; i++) {
		ok(bsn_send(b->ep[0], &local, i, NOW));
		expect_done(b, b->cq[0], i, BSN_OPCODE_SEND);
		expect_done(b, b->cq[1], ids[i], BSN_RECV);
		assert_arrived(b, 0);
	}
	return NULL;
}

static const char *try_copy(struct bench *b)
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

static const char *try_layout(struct bench *b)
{
	return try_layout_of(b, 0);
}

static const char *try_mkey(struct bench *b)
{
	return try_layout_of(b, BSN_MAP_KEY);
}

static const char *try_window(struct bench *b)
{
	const char *why = why_not(b, "mkeys");
	struct bsn_window *window;

	assert_int_equal(bsn_window_create(b->device, NULL, &window), why ? -EOPNOTSUPP : 0);
	if (!why)
		ok(bsn_window_destroy(window));
	return why;
}

/* -- forms of requests ------------------------------------------------------------------------- */

static const char *try_pieces(struct bench *b)
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

static const char *try_inline(struct bench *b)
{
	const struct bsn_remote remote = bench_remote(b, 1, INTO);
	uint8_t data[LENGTH];

	memcpy(data, bench_at(b, 0, 0), LENGTH);
	ok(bsn_write_inline(b->ep[0], data, LENGTH, &remote, 1, BSN_F_SIGNALED));
	memset(data, 0, LENGTH); /* the buffer is the caller's again */
	ok(bsn_ring(b->ep[0]));
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	assert_arrived(b, 0);
	return NULL;
}

static const char *try_prepared(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_wr wr = { .sge = &local,
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

static const char *try_batch(struct bench *b)
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
static const char *try_fence(struct bench *b)
{
	const struct bsn_sge middle = bench_sge(b, 1, 0, LENGTH);
	const struct bsn_remote from = bench_remote(b, 0, 0), to = bench_remote(b, 0, INTO);

	ok(bsn_read(b->ep[1], &middle, &from, 1, BSN_F_SIGNALED));
	ok(bsn_write(b->ep[1], &middle, &to, 2, NOW | BSN_F_FENCE));
	expect_done(b, b->cq[1], 1, BSN_OPCODE_RDMA_READ);
	expect_done(b, b->cq[1], 2, BSN_OPCODE_RDMA_WRITE);
	assert_memory_equal(bench_at(b, 0, INTO), bench_at(b, 0, 0), LENGTH);
	return NULL;
}

/* -- completions ------------------------------------------------------------------------------- */

/* Posts several times the queue's depth without asking for a completion. */
static const char *try_unsignaled(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote remote = bench_remote(b, 1, INTO);

	for (uint64_t id = 0; id < 4 * BENCH_DEPTH; id++) {
		const int err = bsn_write(b->ep[0], &local, &remote, id, BSN_F_RING);
		if (!err)
			continue;
		assert_int_equal(err, -EAGAIN);
		expect_nothing(b, b->cq[0]); /* no completion, but there is room again */
		ok(bsn_write(b->ep[0], &local, &remote, id, BSN_F_RING));
	}
	bench_settle(b);
	assert_arrived(b, 0);
	return NULL;
}

static const char *try_signal_all(struct bench *b)
{
	post_write(b, b->ep[0], 1, BSN_F_RING);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	return NULL;
}

/* A QP beside the bench's, connected to itself. */
static struct bsn_qp *make_loop(struct bsn_device *device, const struct bsn_qp_attr *attr)
{
	struct bsn_address address;
	struct bsn_qp *qp;

	ok(bsn_qp_create(device, attr, &qp));
	ok(bsn_qp_address(qp, &address));
	ok(bsn_qp_connect(qp, &address, NULL));
	return qp;
}

static const char *try_two_cqs(struct bench *b)
{
	const struct bsn_qp_attr attr = {
		.cq = b->cq[0], .recv_cq = b->cq[1], .send_depth = 4, .recv_depth = 4
	};
	struct bsn_qp *qp = make_loop(b->device, &attr);
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);

	post_recv(b, bsn_qp_rq(qp), 1);
	ok(bsn_send(bsn_qp_ep(qp), &local, 2, NOW));
	expect_message(b, BSN_OPCODE_SEND);
	ok(bsn_qp_destroy(qp));
	return NULL;
}

/* Makes a missing event a failure instead of an endless wait. */
static void do_not_block(struct bench *b)
{
	const int fd = bsn_channel_fd(b->channel);

	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static const char *try_channel(struct bench *b)
{
	struct bsn_cq *cq = NULL;

	do_not_block(b);
	ok(bsn_cq_request(b->cq[0], false));
	post_write(b, b->ep[0], 1, NOW);
	bench_settle(b);
	ok(bsn_channel_get(b->channel, &cq));
	assert_ptr_equal(cq, b->cq[0]);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	return NULL;
}

/* The first message raises no event, so the one event is the second's. */
static const char *try_solicited(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	struct bsn_cq *cq = NULL;

	do_not_block(b);
	ok(bsn_cq_request(b->cq[1], true));
	for (uint64_t id = 0; id < 2; id++) {
		post_recv(b, b->rq[1], id);
		ok(bsn_send(b->ep[0], &local, id, BSN_F_RING | (id ? BSN_F_SOLICITED : 0)));
	}
	bench_settle(b);
	ok(bsn_channel_get(b->channel, &cq));
	assert_ptr_equal(cq, b->cq[1]);
	for (uint64_t id = 0; id < 2; id++)
		expect_done(b, b->cq[1], id, BSN_RECV);
	return NULL;
}

static const char *try_moderation(struct bench *b)
{
	const int err = bsn_cq_moderate(b->cq[0], 16, 100);

	if (err == -EOPNOTSUPP)
		return bsn_error_text();
	ok(err);
	return NULL;
}

static const char *try_wait(struct bench *b)
{
	const struct bsn_wait_attr brief = { .timeout_ns = 2000000, .busy_ns = 1 };
	struct bsn_completion c;
	struct loop l = { 0 };

	ok(loop_make(&l, b->device, (struct bsn_cq_attr){ 0 }));
	assert_int_equal(bsn_wait(l.cq, &c, 1, &brief), 0);
	ok(loop_post(&l, 1));
	bench_settle(b);
	assert_int_equal(bsn_wait(l.cq, &c, 1, &brief), 1);
	ok(loop_free(&l));
	return NULL;
}

static const char *try_async_events(struct bench *b)
{
	struct bsn_event event;

	post_recv(b, b->srq, 0);
	post_recv(b, b->srq, 0);
	ok(bsn_srq_set_limit(b->srq, 2));
	assert_int_equal(bsn_device_get_event(b->device, &event), -EAGAIN);
	post_recv(b, b->srq, 1);
	ok(bsn_send_inline(b->ep[0], "x", 1, 1, BSN_F_RING));
	ok(bsn_send_inline(b->ep[0], "x", 1, 2, BSN_F_RING));
	expect_done(b, b->cq[1], 0, BSN_RECV);
	expect_done(b, b->cq[1], 0, BSN_RECV);
	ok(bsn_device_get_event(b->device, &event));
	assert_int_equal(event.type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.srq, b->srq);
	return NULL;
}

/* -- failures ---------------------------------------------------------------------------------- */

static void post_bad_write(struct bench *b, uint64_t id)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	struct bsn_remote remote = bench_remote(b, 1, INTO);

	remote.rkey ^= 0x5500;
	ok(bsn_write(b->ep[0], &local, &remote, id, BSN_F_RING));
}

static const char *try_cause(struct bench *b)
{
	struct bsn_qp_error error;

	post_bad_write(b, 1);
	expect_status(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	ok(bsn_qp_error(b->qp[0], &error));
	assert_true(error.has_failed);
	assert_int_equal(error.first.syndrome, BSN_SYNDROME_REMOTE_ACCESS);
	return NULL;
}

static const char *try_vendor_syndrome(struct bench *b)
{
	struct bsn_completion c;

	post_bad_write(b, 1);
	c = expect_status(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	return c.vendor_syndrome ? NULL : "the device has none";
}

/* Each request comes back: unsignaled ones, receives, and those that were never rung. */
static const char *try_drain(struct bench *b)
{
	struct bsn_outstanding left;
	struct bsn_completion c;

	for (uint64_t id = 0; id < 4; id++)
		post_write(b, b->ep[0], id, 0);
	post_recv(b, b->rq[0], 4);
	ok(bsn_qp_fail(b->qp[0]));
	for (unsigned seen = 0; seen != 0x1f; seen |= 1u << c.id) {
		assert_int_equal(bench_reap(b, b->cq[0], &c, 1), 1);
		assert_int_equal(c.status, IBV_WC_WR_FLUSH_ERR);
	}
	expect_nothing(b, b->cq[0]); /* what the library posted to end the drain is not shown */
	ok(bsn_qp_outstanding(b->qp[0], &left));
	assert_int_equal(left.sends + left.recvs, 0);
	return NULL;
}

static const char *try_reset(struct bench *b)
{
	for (int round = 0; round < 2; round++) {
		post_bad_write(b, 1);
		expect_status(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
		for (int end = 0; end < 2; end++)
			ok(bsn_qp_reset(b->qp[end]));
		bench_connect(b);
	}
	return try_write(b);
}

/* -- whose queues, whose registers ------------------------------------------------------------- */

struct applications {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct applications make_applications(struct bench *b)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct applications made;

	made.cq = ibv_create_cq(bsn_device_info(b->device)->verbs, 63, NULL, NULL, 0);
	assert_non_null(made.cq);
	init.send_cq = init.recv_cq = made.cq;
	made.qp = ibv_create_qp(bsn_qp_info(b->qp[0])->verbs->pd, &init);
	assert_non_null(made.qp);
	return made;
}

static const char *try_attach(struct bench *b)
{
	const struct bsn_attach_attr attr = { .register_is_ours = true };
	const struct applications app = make_applications(b);
	struct bsn_address address;
	struct bsn_qp *qp;

	ok(bsn_qp_attach(b->device, app.qp, &attr, &qp));
	ok(bsn_qp_address(qp, &address));
	ok(bsn_qp_connect(qp, &address, NULL));
	post_write(b, bsn_qp_ep(qp), 1, NOW);
	expect_done(b, bsn_qp_info(qp)->cq, 1, BSN_OPCODE_RDMA_WRITE);
	assert_arrived(b, 0);
	ok(bsn_qp_destroy(qp));
	ok(-ibv_destroy_qp(app.qp));
	ok(-ibv_destroy_cq(app.cq));
	return NULL;
}

static const char *try_lane(struct bench *b)
{
	struct bsn_qp_attr attr = { .cq = b->cq[0], .send_depth = 4, .recv_depth = 4 };
	struct bsn_qp *qp;
	bool has_register;

	ok(bsn_lane_create(b->device, NULL, &attr.lane));
	qp = make_loop(b->device, &attr);
	post_write(b, bsn_qp_ep(qp), 1, NOW);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	assert_arrived(b, 0);
	has_register = attr.lane->reg && !attr.lane->lock;
	ok(bsn_qp_destroy(qp));
	ok(bsn_lane_destroy(attr.lane));
	return has_register ? NULL : "the provider has registers and locks of its own";
}

/* Opens the device with a store, posts a request, and returns the counters of doorbells. */
static struct bsn_counters count_doorbells(struct bench *b, enum bsn_store store)
{
	const struct bsn_device_info *info = bsn_device_info(b->device);
	const struct bsn_device_attr device_attr = { .path = info->path, .store = store };
	const struct bsn_remote nowhere = { 0, 0 };
	struct bsn_qp_attr attr = { .send_depth = 4, .recv_depth = 4 };
	struct bsn_counters counters;
	struct bsn_device *device;
	struct bsn_qp *qp;

	ok(bsn_device_open(info->name, &device_attr, &device));
	ok(bsn_cq_create(device, NULL, &attr.cq));
	qp = make_loop(device, &attr);
	ok(bsn_write_inline(bsn_qp_ep(qp), NULL, 0, &nowhere, 1, NOW));
	expect_done(b, attr.cq, 1, BSN_OPCODE_RDMA_WRITE);
	ok(bsn_qp_counters(qp, &counters));
	ok(bsn_qp_destroy(qp));
	ok(bsn_cq_destroy(attr.cq));
	ok(bsn_device_close(device));
	return counters;
}

static const char *try_stores(struct bench *b)
{
	const bool is_direct = bsn_device_info(b->device)->path == BSN_PATH_DIRECT;

	for (enum bsn_store store = BSN_STORE_AUTO + 1; store < BSN_STORE_COUNT; store++) {
		const bool by_blueflame = is_direct && store != BSN_STORE_DOORBELL;
		if (!bsn_store_supported(store))
			continue;
		const struct bsn_counters counters = count_doorbells(b, store);
		assert_int_equal(counters.blueflame, by_blueflame);
		assert_int_equal(counters.doorbells, !by_blueflame);
	}
	return is_direct ? NULL : "the provider rings";
}

/* -- the list ---------------------------------------------------------------------------------- */

/* Attributes of the cases: what the bench has. */
#define RC                                                                                         \
	{                                                                                          \
		.qp.type = BSN_QP_RC                                                               \
	}
#define UC                                                                                         \
	{                                                                                          \
		.qp.type = BSN_QP_UC                                                               \
	}
#define UD                                                                                         \
	{                                                                                          \
		.qp.type = BSN_QP_UD                                                               \
	}

/* -- more of receiving ------------------------------------------------------------------------- */

static void connect_xrc(struct bsn_qp *qp, struct bsn_xrc_target *target)
{
	struct bsn_address address;

	ok(bsn_xrc_target_address(target, &address));
	ok(bsn_qp_connect(qp, &address, NULL));
	ok(bsn_qp_address(qp, &address));
	ok(bsn_xrc_target_connect(target, &address, NULL));
}

static void send_by_xrc(struct bench *b, struct bsn_qp *qp, struct bsn_cq *cq, struct bsn_rq *srq, struct bsn_cq *into)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	struct bsn_ep *ep;

	ok(bsn_xrc_ep_create(qp, bsn_srq_number(srq), NULL, &ep));
	post_recv(b, srq, 1);
	ok(bsn_send(ep, &local, 2, NOW));
	expect_done(b, cq, 2, BSN_OPCODE_SEND);
	expect_done(b, into, 1, BSN_RECV);
	assert_arrived(b, 0);
	ok(bsn_ep_destroy(ep));
}

static const char *try_xrc(struct bench *b)
{
	struct bsn_xrc_target *target;
	struct bsn_cq *cq, *into;
	struct bsn_xrcd *xrcd;
	struct bsn_rq *srq;
	struct bsn_qp *qp;

	if (bsn_xrcd_open(b->device, -1, &xrcd) == -EOPNOTSUPP)
		return bsn_error_text();
	ok(bsn_cq_create(b->device, NULL, &cq));
	ok(bsn_cq_create(b->device, NULL, &into));
	ok(bsn_srq_create(b->device, &(struct bsn_srq_attr){ .xrcd = xrcd, .cq = into }, &srq));
	ok(bsn_xrc_target_create(xrcd, &target));
	ok(bsn_qp_create(b->device, &(struct bsn_qp_attr){ .type = BSN_QP_XRC, .cq = cq }, &qp));
	connect_xrc(qp, target);
	send_by_xrc(b, qp, cq, srq, into);
	ok(bsn_qp_destroy(qp));
	ok(bsn_xrc_target_destroy(target));
	ok(bsn_srq_destroy(srq));
	ok(bsn_cq_destroy(into));
	ok(bsn_cq_destroy(cq));
	ok(bsn_xrcd_close(xrcd));
	return NULL;
}

/* -- dynamically connected transport ----------------------------------------------------------- */

struct dc {
	struct bsn_cq *into;
	struct bsn_rq *srq;
	struct bsn_dct *dct[2];
	struct bsn_dc_pool *pool;
	struct bsn_ep *ep[2];
};

static void make_targets(struct bench *b, struct dc *d, bool has_full_handshake)
{
	struct bsn_dct_attr attr = { .access_key = 77, .full_handshake = has_full_handshake };
	struct bsn_address address;

	ok(bsn_cq_create(b->device, NULL, &d->into));
	ok(bsn_srq_create(b->device, NULL, &d->srq));
	attr.cq = d->into;
	attr.srq = d->srq;
	for (int i = 0; i < 2; i++) {
		ok(bsn_dct_create(b->device, &attr, &d->dct[i]));
		ok(bsn_dct_address(d->dct[i], &address));
		ok(bsn_dc_peer_create(d->pool, &address, NULL, d, &d->ep[i]));
	}
}

static void unmake_dc(struct dc *d)
{
	for (int i = 0; i < 2; i++)
		ok(bsn_dc_peer_destroy(d->ep[i]));
	ok(bsn_dc_pool_destroy(d->pool));
	for (int i = 0; i < 2; i++)
		ok(bsn_dct_destroy(d->dct[i]));
	ok(bsn_srq_destroy(d->srq));
	ok(bsn_cq_destroy(d->into));
}

/* The next completion of the pool, of which targets on plain verbs have a part. */
static unsigned next_opcode(struct bench *b, struct dc *d)
{
	struct bsn_completion c;
	int got = 0;

	for (unsigned tries = 50; tries && !got; tries--) {
		bench_settle(b);
		for (int i = 0; i < 2; i++)
			assert_true(bsn_dct_accept(d->dct[i]) >= 0);
		got = bsn_poll(bsn_dc_pool_cq(d->pool), &c, 1);
	}
	assert_int_equal(got, 1);
	assert_int_equal(c.status, IBV_WC_SUCCESS);
	assert_ptr_equal(c.user, d);
	return c.opcode;
}

/* A peer that waits is told of its turn. */
static void send_to_peer(struct bench *b, struct dc *d, int peer)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	int err = bsn_send(d->ep[peer], &local, 2, NOW);

	if (err == -EAGAIN) {
		assert_int_equal(next_opcode(b, d), BSN_DC_READY);
		err = bsn_send(d->ep[peer], &local, 2, NOW);
	}
	ok(err);
	assert_int_equal(next_opcode(b, d), BSN_OPCODE_SEND);
}

/* Two peers take turns on one initiator. */
static const char *try_dc(struct bench *b, const struct bsn_dc_pool_attr *attr)
{
	struct dc d = { 0 };
	int err = bsn_dc_pool_create(b->device, attr, &d.pool);

	if (err == -EOPNOTSUPP)
		return bsn_error_text();
	ok(err);
	make_targets(b, &d, attr->full_handshake);
	for (uint64_t id = 1; id < 5; id++) {
		post_recv(b, d.srq, id);
		send_to_peer(b, &d, id % 2);
		assert_int_equal(expect_done(b, d.into, id, BSN_RECV).byte_len, LENGTH);
		assert_arrived(b, 0);
	}
	unmake_dc(&d);
	return NULL;
}

static const char *try_dc_pool(struct bench *b)
{
	return try_dc(b, &(struct bsn_dc_pool_attr){ .initiators = 1, .connect.retry_count = 6 });
}

static const char *try_dc_streams(struct bench *b)
{
	return try_dc(b, &(struct bsn_dc_pool_attr){ .initiators = 1, .streams = 2 });
}

static const char *try_full_handshake(struct bench *b)
{
	return try_dc(b, &(struct bsn_dc_pool_attr){ .initiators = 1, .full_handshake = true });
}

/* -- completions ------------------------------------------------------------------------------- */

static const char *try_timestamps(struct bench *b, enum bsn_timestamps kind)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote remote = bench_remote(b, 1, INTO);
	struct bsn_cq *cq;
	struct bsn_qp *qp;
	int err = bsn_cq_create(b->device, &(struct bsn_cq_attr){ .timestamps = kind }, &cq);

	if (err == -EOPNOTSUPP)
		return bsn_error_text();
	ok(err);
	qp = make_loop(b->device, &(struct bsn_qp_attr){ .cq = cq });
	ok(bsn_write(bsn_qp_ep(qp), &local, &remote, 1, NOW));
	assert_true(expect_done(b, cq, 1, BSN_OPCODE_RDMA_WRITE).timestamp);
	ok(bsn_qp_destroy(qp));
	ok(bsn_cq_destroy(cq));
	return NULL;
}

static const char *try_ticks(struct bench *b)
{
	return try_timestamps(b, BSN_TIMESTAMPS_RAW);
}

static const char *try_real_time(struct bench *b)
{
	return try_timestamps(b, BSN_TIMESTAMPS_REAL_TIME);
}

/* soft-RoCE sends to a group by the host's network, which would have to join the group. */
static const char *try_multicast(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const bool is_roce = !strcmp(bsn_device_info(b->device)->link_layer, "Ethernet");
	struct bsn_mcast_group group = { .gid = { 0xff, 0x0e, [15] = 1 }, .lid = 0xc001 };
	struct bsn_ep *ep;

	if (is_roce)
		group = (struct bsn_mcast_group){ .gid = { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 1 } };
	ok(bsn_mcast_attach(b->qp[1], &group));
	ok(bsn_ep_create_mcast(b->qp[0], &group, NULL, NULL, &ep));
	if (!b->is_rxe) {
		post_recv(b, b->rq[1], 1);
		ok(bsn_send(ep, &local, 2, NOW));
		expect_message(b, BSN_OPCODE_SEND);
	}
	ok(bsn_ep_destroy(ep));
	ok(bsn_mcast_detach(b->qp[1], &group));
	return NULL;
}

static const char *try_messages(struct bench *b)
{
	struct bsn_msg_inbox *inbox[2];
	struct bsn_msg_address ring;
	struct bsn_msg_line *line[2];
	struct bsn_msg msg;
	int got = 0;

	for (int end = 0; end < 2; end++) {
		ok(bsn_msg_inbox_create(b->device, NULL, &inbox[end]));
		ok(bsn_msg_line_create(inbox[end], b->qp[end], NULL, &line[end]));
	}
	ok(bsn_msg_line_address(line[1], &ring));
	ok(bsn_msg_line_connect(line[0], &ring));
	ok(bsn_msg_send(line[0], "hello", 5, BSN_F_RING));
	for (unsigned tries = 50; tries && !got; tries--) {
		bench_settle(b);
		got = bsn_msg_poll(inbox[1], &msg);
	}
	assert_int_equal(got, 1);
	assert_memory_equal(msg.data, "hello", 5);
	for (int end = 0; end < 2; end++) {
		ok(bsn_msg_line_destroy(line[end]));
		ok(bsn_msg_inbox_destroy(inbox[end]));
	}
	return NULL;
}

static const char *try_cq(struct bench *b, const struct bsn_cq_attr *attr)
{
	struct bsn_cq *cq;
	struct bsn_qp *qp;
	const int err = bsn_cq_create(b->device, attr, &cq);

	if (err == -EOPNOTSUPP)
		return bsn_error_text();
	ok(err);
	qp = make_loop(b->device, &(struct bsn_qp_attr){ .cq = cq });
	post_write(b, bsn_qp_ep(qp), 1, NOW);
	expect_done(b, cq, 1, BSN_OPCODE_RDMA_WRITE);
	ok(bsn_qp_destroy(qp));
	ok(bsn_cq_destroy(cq));
	return NULL;
}

static const char *try_ignored_overruns(struct bench *b)
{
	return try_cq(b, &(struct bsn_cq_attr){ .ignores_overrun = true });
}

static const char *try_compression(struct bench *b)
{
	return try_cq(b, &(struct bsn_cq_attr){ .compression = BSN_CQES_BY_HASH });
}

static const char *try_resize(struct bench *b)
{
	struct bsn_cq *cq;
	int err;

	ok(bsn_cq_create(b->device, NULL, &cq));
	err = bsn_cq_resize(cq, 1000);
	ok(bsn_cq_destroy(cq));
	if (err == -EOPNOTSUPP)
		return bsn_error_text();
	ok(err);
	return NULL;
}

static const struct feature features[] = {
	{ "RC", try_send, NULL, RC },
	{ "UC", try_send, NULL, UC },
	{ "UD", try_send, NULL, UD },
	{ "XRC", try_xrc, NULL, { .is_bare = true } },
	{ "dynamically connected transport (DC)", try_dc_pool, "by RC connections, made on demand",
	  { .is_bare = true } },
	{ "DC initiators with streams", try_dc_streams, NULL, { .is_bare = true } },
	{ "DC with a full handshake", try_full_handshake, NULL, { .is_bare = true } },
	{ "UD multicast", try_multicast, NULL, UD },
	{ "shared receive queues", try_send, NULL, { .has_srq = true } },
	{ "SEND", try_send, NULL, RC },
	{ "SEND with immediate", try_send_imm, NULL, RC },
	{ "SEND with invalidate", try_send_inval, NULL, RC },
	{ "RDMA WRITE", try_write, NULL, RC },
	{ "RDMA WRITE with immediate", try_write_imm, NULL, RC },
	{ "RDMA READ", try_read, NULL, RC },
	{ "fetch and add", try_fetch_add, NULL, RC },
	{ "compare and swap", try_cmp_swap, NULL, RC },
	{ "masked atomics", try_masked_atomics, NULL, RC },
	{ "copies by the NIC", try_copy, NULL, RC },
	{ "layouts of local memory", try_layout, "as lists of pieces, by several requests", RC },
	{ "layouts for the peer (mkeys)", try_mkey, NULL, RC },
	{ "memory windows", try_window, NULL, RC },
	{ "several pieces of memory",
	  try_pieces,
	  NULL,
	  { .qp = { .max_send_sge = PIECES, .max_inline = LENGTH } } },
	{ "inline data", try_inline, NULL, { .qp.max_inline = LENGTH } },
	{ "messages inside CQEs (inline receive)", try_inline_recv, NULL, RC },
	{ "several receives at once", try_recv_many, "posted one by one", RC },
	{ "prepared requests", try_prepared, "encoded anew at each post", RC },
	{ "append now, ring later", try_batch, "the library keeps them until the ring", RC },
	{ "fences", try_fence, NULL, RC },
	{ "unsignaled requests, signaled by the library when due", try_unsignaled, NULL, RC },
	{ "QPs that signal everything", try_signal_all, NULL, { .qp.signal_all = true } },
	{ "a CQ for each direction", try_two_cqs, NULL, RC },
	{ "timestamps of completions", try_ticks, NULL, { .is_bare = true } },
	{ "timestamps of the real-time clock", try_real_time, NULL, { .is_bare = true } },
	{ "CQs whose device ignores overruns", try_ignored_overruns, NULL, { .is_bare = true } },
	{ "compressed CQEs", try_compression, NULL, { .is_bare = true } },
	{ "CQs of another size", try_resize, NULL, { .is_bare = true } },
	{ "messages by RDMA WRITE (bsn_msg)", try_messages, NULL, { .qp.max_inline = BSN_MSG_RECORD } },
	{ "completion channels", try_channel, NULL, { .has_channel = true } },
	{ "solicited events", try_solicited, NULL, { .has_channel = true } },
	{ "events for several completions at once", try_moderation, NULL, { .has_channel = true } },
	{ "waiting awake, then asleep", try_wait, NULL, { .is_bare = true } },
	{ "asynchronous events, SRQ limits", try_async_events, NULL, { .has_srq = true } },
	{ "failures by their syndrome", try_cause, "told from the status", RC },
	{ "vendor syndromes", try_vendor_syndrome, NULL, RC },
	{ "fail and drain: everything comes back", try_drain, NULL, RC },
	{ "reset, and use again", try_reset, NULL, RC },
	{ "QPs that the application made", try_attach, NULL, RC },
	{ "a doorbell register per thread", try_lane, NULL, RC },
	{ "choice of the BlueFlame store", try_stores, NULL, RC },
};

#define FEATURES (sizeof(features) / sizeof(features[0]))

static const char *const paths[] = { [BENCH_DIRECT] = "direct", [BENCH_VERBS] = "verbs" };

#define PATHS (sizeof(paths) / sizeof(paths[0]))

/* The outcome of each feature; NULL: it was not tried, or failed. */
static struct outcome {
	const char *is;
	char why[192];
} outcomes[PATHS][FEATURES];

static struct bench_case cases[FEATURES];

static void try_feature(struct bench *b)
{
	const size_t index = (size_t)(b->test - cases);
	const struct feature *feature = &features[index];
	struct outcome *outcome = &outcomes[b->kind][index];
	const char *why = feature->try(b);

	outcome->is = "yes";
	if (why) {
		outcome->is = "refused";
	} else if (b->kind == BENCH_VERBS && feature->by_library) {
		outcome->is = "emulated";
		why = feature->by_library;
	}
	snprintf(outcome->why, sizeof(outcome->why), "%s", why ? why : "");
}

static struct json_object *path_to_json(const struct outcome *of_path)
{
	struct json_object *object = json_object_new_object();

	for (size_t i = 0; i < FEATURES; i++) {
		struct json_object *one = json_object_new_object();
		if (of_path[i].is)
			json_object_object_add(one, "is", json_object_new_string(of_path[i].is));
		if (*of_path[i].why)
			json_object_object_add(one, "why", json_object_new_string(of_path[i].why));
		json_object_object_add(object, features[i].name, one);
	}
	return object;
}

static int write_outcomes(const char *file)
{
	struct json_object *report = json_object_new_object();
	int err;

	for (size_t path = 0; path < PATHS; path++)
		json_object_object_add(report, paths[path], path_to_json(outcomes[path]));
	err = json_object_to_file_ext(file, report, JSON_C_TO_STRING_PRETTY);
	if (err)
		fprintf(stderr, "features: %s\n", json_util_get_last_err());
	json_object_put(report);
	return err;
}

int main(void)
{
	const char *file = getenv("BSN_TEST_FEATURES");
	int failed;

	for (size_t i = 0; i < FEATURES; i++) {
		cases[i] = features[i].needs;
		cases[i].name = features[i].name;
		cases[i].run = try_feature;
		cases[i].is_own_only = true; /* attached queues are a feature of their own */
	}
	failed = bench_run("features", cases, FEATURES);
	if (file && write_outcomes(file))
		return 1;
	return failed;
}
