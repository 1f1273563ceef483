/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QPs that an application made by verbs and attached to Bunsen. If the application promises that
 * nobody else uses their register, they run on the direct path, otherwise on verbs. The peer is a
 * QP of plain libmlx5.
 */
#ifndef TESTS_ENGINE_ATTACH_RIG_H
#define TESTS_ENGINE_ATTACH_RIG_H

#include "harness.h"

#include <fcntl.h>
#include <poll.h>

enum { DEPTH = 8, SGES = 2, QKEY = 0x2345, BYTES = 8192 };

/* What the application made, by libibverbs alone. */
struct app {
	struct bench *b;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq, *peer_cq;
	struct ibv_qp *qp, *peer;
	struct bsn_device *device;
	struct bsn_qp *attached;
	uint8_t memory[BYTES] __attribute__((aligned(4096)));
};

/* Ours in the first half, the peer's in the second. */
enum { OURS = 0, PEERS = BYTES / 2 };

/* -- the application --------------------------------------------------------------------------- */

static inline struct ibv_qp *create_qp(struct app *a, struct ibv_cq *cq, enum ibv_qp_type type,
				       bool signal_all)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = type,
		.sq_sig_all = signal_all,
		.cap = { DEPTH, DEPTH, SGES, SGES, 32 },
	};
	struct ibv_qp *qp = ibv_create_qp(a->pd, &init);

	assert_non_null(qp);
	return qp;
}

static inline void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	assert_int_equal(ibv_modify_qp(qp, attr, mask | IBV_QP_STATE), 0);
}

static inline void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	const int rights = qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;

	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (qp->qp_type == IBV_QPT_RC)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	modify(qp, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | rights);
}

static inline void to_rts(struct app *a, struct ibv_qp *qp, const struct ibv_qp *peer)
{
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = peer->qp_num,
				   .ah_attr = bench_way_to_self(a->b),
				   .max_dest_rd_atomic = 4,
				   .min_rnr_timer = 12 };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS,
				   .timeout = 14,
				   .retry_cnt = 7,
				   .rnr_retry = 7,
				   .max_rd_atomic = 4 };
	const bool rc = qp->qp_type == IBV_QPT_RC, ud = qp->qp_type == IBV_QPT_UD;

	modify(qp, &rtr,
	       ud ? 0
		  : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			       (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
	modify(qp, &rts,
	       IBV_QP_SQ_PSN | (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						IBV_QP_MAX_QP_RD_ATOMIC
				   : 0));
}

/* Makes the QP anew, by these attributes. */
static inline void replace_qp(struct app *a, struct ibv_qp_init_attr init)
{
	assert_int_equal(ibv_destroy_qp(a->qp), 0);
	init.send_cq = init.recv_cq = a->cq;
	a->qp = ibv_create_qp(a->pd, &init);
	assert_non_null(a->qp);
}

static inline void connect_both(struct app *a)
{
	to_init(a->qp);
	to_init(a->peer);
	to_rts(a, a->qp, a->peer);
	to_rts(a, a->peer, a->qp);
}

/*
 * A CQ that has room for the QP's work, but not for one more request. An mlx5 CQ has one entry more
 * than it reports; soft-RoCE has as many as it reports.
 */
static inline struct ibv_cq *create_cq(struct app *a, struct ibv_comp_channel *channel)
{
	const int entries = a->b->is_rxe ? 2 * DEPTH : 2 * DEPTH - 1;
	struct ibv_cq *cq = ibv_create_cq(a->context, entries, NULL, channel, 0);

	assert_non_null(cq);
	if (a->b->is_model)
		assert_int_equal(cq->cqe, entries);
	return cq;
}

/* Nothing that was refused, and nothing that was detached, keeps the application's objects. */
static inline int stop_app(struct app *a)
{
	ok(bsn_qp_destroy(a->attached));
	ok(bsn_device_close(a->device));
	assert_int_equal(ibv_destroy_qp(a->qp), 0);
	assert_int_equal(ibv_destroy_qp(a->peer), 0);
	assert_int_equal(ibv_destroy_cq(a->cq), 0);
	assert_int_equal(ibv_destroy_cq(a->peer_cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(a->channel), 0);
	assert_int_equal(ibv_dereg_mr(a->mr), 0);
	assert_int_equal(ibv_dealloc_pd(a->pd), 0);
	assert_int_equal(ibv_close_device(a->context), 0);
	free(a);
	return 0;
}

static inline struct app *start_app(struct bench *b, enum ibv_qp_type type, bool signal_all)
{
	const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct app *a = aligned_alloc(4096, sizeof(*a));

	assert_non_null(a);
	memset(a, 0, sizeof(*a));
	a->b = b;
	a->context = ibv_open_device(bench_info(b)->verbs->device);
	assert_non_null(a->context);
	a->pd = ibv_alloc_pd(a->context);
	a->mr = ibv_reg_mr(a->pd, a->memory, BYTES, rights);
	a->channel = ibv_create_comp_channel(a->context);
	assert_non_null(a->mr);
	a->cq = create_cq(a, a->channel);
	a->peer_cq = create_cq(a, NULL);
	a->qp = create_qp(a, a->cq, type, signal_all);
	a->peer = create_qp(a, a->peer_cq, type, signal_all);
	for (int i = 0; i < PEERS; i++)
		a->memory[OURS + i] = (uint8_t)(3 * i + 1);
	ok(bsn_device_attach(a->context, &(struct bsn_device_attr){ .path = bench_info(b)->path },
			     &a->device));
	undo_later(b, stop_app, a);
	return a;
}

static inline struct bsn_attach_attr promise(const struct app *a)
{
	return (struct bsn_attach_attr){ .register_is_ours = a->b->kind == BENCH_DIRECT,
					 .user = (void *)(uintptr_t)a };
}

static inline void attach(struct app *a)
{
	const struct bsn_attach_attr attr = promise(a);

	ok(bsn_qp_attach(a->device, a->qp, &attr, &a->attached));
	assert_int_equal(!!dv_sq(bench_sq(a->attached))->ring, a->b->kind == BENCH_DIRECT);
	assert_ptr_equal(bsn_qp_info(a->attached)->verbs, a->qp);
}

static inline void detach(struct app *a)
{
	ok(bsn_qp_destroy(a->attached));
	a->attached = NULL;
}

static inline struct app *start_attached(struct bench *b, enum ibv_qp_type type, bool signal_all)
{
	struct app *a = start_app(b, type, signal_all);

	attach(a);
	connect_both(a);
	return a;
}

/* -- what the application's peer does ---------------------------------------------------------- */

static inline void peer_recv(struct app *a, size_t offset, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)a->memory + PEERS + offset, length, a->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(ibv_post_recv(a->peer, &wr, &bad), 0);
}

static inline struct ibv_wc peer_wc(struct app *a)
{
	struct ibv_wc wc;

	assert_int_equal(bench_reap_verbs(a->b, a->peer_cq, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	return wc;
}

/*
 * Posts a request of the peer, with the peer's memory. A WRITE or READ uses our bytes at the same
 * place.
 */
static inline void peer_post(struct app *a, enum ibv_wr_opcode opcode, size_t offset,
			     uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)a->memory + PEERS + offset, length, a->mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode };

	wr.send_flags = IBV_SEND_SIGNALED;
	wr.imm_data = htobe32(0x1234);
	wr.wr.rdma.remote_addr = (uintptr_t)a->memory + OURS + offset;
	wr.wr.rdma.rkey = a->mr->rkey;
	assert_int_equal(ibv_post_send(a->peer, &wr, &bad), 0);
	peer_wc(a);
}

/* -- what we do -------------------------------------------------------------------------------- */

static inline struct bsn_sge our_sge(struct app *a, size_t offset, uint32_t length)
{
	return (struct bsn_sge){ (uintptr_t)a->memory + OURS + offset, length, a->mr->lkey };
}

static inline struct bsn_remote peers_bytes(struct app *a, size_t offset)
{
	return (struct bsn_remote){ (uintptr_t)a->memory + PEERS + offset, a->mr->rkey };
}

static inline struct bsn_cq *our_cq(struct app *a)
{
	return bsn_qp_info(a->attached)->cq;
}

static inline int post_write(struct app *a, size_t offset, uint32_t length, uint64_t id,
			     unsigned flags)
{
	const struct bsn_sge local = our_sge(a, offset, length);
	const struct bsn_remote remote = peers_bytes(a, offset);

	return bsn_write(bsn_qp_ep(a->attached), &local, &remote, id, flags);
}

static inline int post_recv(struct app *a, size_t offset, uint32_t length, uint64_t id)
{
	const struct bsn_sge sge = our_sge(a, offset, length);

	return bsn_recv(bsn_qp_rq(a->attached), &sge, id);
}

static inline void assert_same(struct app *a, size_t offset, size_t length)
{
	assert_memory_equal(a->memory + OURS + offset, a->memory + PEERS + offset, length);
}

static inline void fill_peers(struct app *a, size_t offset, size_t length)
{
	for (size_t i = 0; i < length; i++)
		a->memory[PEERS + offset + i] = (uint8_t)(0xc0 ^ i ^ length);
}

/* -- data -------------------------------------------------------------------------------------- */

static inline void write_both_ways(struct app *a)
{
	ok(post_write(a, 0, 64, 1, NOW));
	assert_ptr_equal(expect_done(a->b, our_cq(a), 1, BSN_OPCODE_RDMA_WRITE).user, a);
	assert_same(a, 0, 64);
	fill_peers(a, 128, 100);
	peer_post(a, IBV_WR_RDMA_WRITE, 128, 100);
	assert_same(a, 128, 100);
}

/* Up to 32 bytes arrive in the CQE, and nowhere else: they must be copied to memory. */
static inline void messages_of_every_size_get_to_memory(struct app *a)
{
	static const uint32_t sizes[] = { 1, 8, 31, 32, 33, 64, 200 };

	for (size_t i = 0; i < COUNT(sizes); i++) {
		ok(post_recv(a, 512, 256, 40 + i));
		fill_peers(a, 512, sizes[i]);
		peer_post(a, IBV_WR_SEND_WITH_IMM, 512, sizes[i]);
		struct bsn_completion c = expect_done(a->b, our_cq(a), 40 + i, BSN_RECV);
		assert_int_equal(c.byte_len, sizes[i]);
		assert_int_equal(c.imm, 0x1234);
		assert_same(a, 512, sizes[i]);
	}
}

/* -- errors, detaching ------------------------------------------------------------------------- */

static inline void reset_to_start(struct ibv_qp *qp)
{
	modify(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET }, 0);
}

#endif
