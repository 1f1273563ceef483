/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The column `floor`: only what the device must be given. It posts to an RC queue pair of its own,
 * mapped by mlx5dv, but has no credits, no ids, no checks, no modes and no errors, keeps its state
 * in registers, and is of no other use. The bytes come from wqe/ and the barriers from dv/, since
 * those are facts of the device.
 */
#include "cost.h"

#include <infiniband/mlx5dv.h>
#include <stdlib.h>

#include "plain_qp.h"

#define UNROLL _Pragma("GCC unroll 32")

enum { WORDS_MAX = 2 * BSN_BB_SIZE / 8 };

struct floor_cq {
	uint8_t *ring;           /* the first CQE proper */
	struct bsn_be32 *record; /* consumer index */
	uint32_t stride, count, ci;
};

struct floor_queue {
	struct plain_qp v;
	struct cost_target target;
	uint8_t *sq, *rq, *reg;
	struct bsn_be32 *record;
	uint64_t toggle;
	uint32_t sq_mask, pi, qpn;
	uint32_t rq_mask, rq_stride, head;
	struct floor_cq cq, recv_cq;
};

/* -- posts: the shape of a WQE is a constant, of a constant row -------------------------------- */

COST_INLINE unsigned words_before_data(struct cost_shape shape)
{
	return (BSN_CTRL_SIZE + (shape.what == COST_SEND ? 0 : BSN_RADDR_SIZE)) / 8;
}

COST_INLINE unsigned count_ds(struct cost_shape shape)
{
	const unsigned data =
		shape.form == COST_INLINED
			? (BSN_INLINE_HDR_SIZE + shape.n + BSN_DS_SIZE - 1) / BSN_DS_SIZE
			: shape.n;

	return words_before_data(shape) / 2 + data;
}

COST_INLINE void put_data(struct bsn_be64 *word, const struct bsn_sge *local)
{
	const struct bsn_data data = { .byte_count = local->length,
				       .lkey = local->lkey,
				       .addr = local->addr };

	word[0] = bsn_to_be64(bsn_data_word(&data, 0));
	word[1] = bsn_to_be64(bsn_data_word(&data, 1));
}

/* What is beyond the data's end is read, too, and ignored by the device. */
COST_INLINE uint64_t bytes_at(const void *data, unsigned at)
{
	uint64_t bytes;

	memcpy(&bytes, (const uint8_t *)data + at, sizeof(bytes));
	return bytes;
}

COST_INLINE void build(struct bsn_be64 *word, const struct floor_queue *q, uint32_t qpn,
		       uint32_t pi, struct cost_shape shape)
{
	const struct bsn_ctrl ctrl = { .wqe_index = pi,
				       .opcode = shape.what == COST_WRITE  ? BSN_OPCODE_RDMA_WRITE
						 : shape.what == COST_READ ? BSN_OPCODE_RDMA_READ
									   : BSN_OPCODE_SEND,
				       .qpn = qpn,
				       .ds = count_ds(shape),
				       .ce = BSN_CE_ALWAYS };
	const struct bsn_raddr raddr = { q->target.remote.addr, q->target.remote.rkey };
	const struct bsn_inline_hdr hdr = { .is_inline = 1, .byte_count = shape.n };
	struct bsn_be64 *const data = word + words_before_data(shape);

	word[0] = bsn_to_be64(bsn_ctrl_word(&ctrl, 0));
	word[1] = bsn_to_be64(bsn_ctrl_word(&ctrl, 1));
	if (shape.what != COST_SEND) {
		word[2] = bsn_to_be64(bsn_raddr_word(&raddr, 0));
		word[3] = bsn_pair_to_be64(bsn_raddr_word(&raddr, 1));
	}
	if (shape.form == COST_INLINED) {
		const uint64_t head = bsn_to_be32(bsn_inline_hdr_dword(&hdr, 0)).raw;

		UNROLL for (unsigned i = 0; 8 * i < BSN_INLINE_HDR_SIZE + shape.n; i++) data[i]
			.raw = i ? bytes_at(q->target.data, 8 * i - BSN_INLINE_HDR_SIZE)
				 : head | bytes_at(q->target.data, 0) << 32;
		return;
	}
	UNROLL for (unsigned i = 0; i < shape.n; i++) put_data(data + 2 * i, &q->target.local[i]);
}

/* One block after the other; the second may be at the start of the ring. */
COST_INLINE void store_ring(uint8_t *sq, uint32_t mask, uint32_t pi, const struct bsn_be64 *word,
			    struct cost_shape shape)
{
	UNROLL for (unsigned w = 0; w < 2 * count_ds(shape); w++) bsn_store_wqe(
		sq + (size_t)((pi + w / 8) & mask) * BSN_BB_SIZE + w % 8 * 8, word[w]);
}

/* A batch of one goes by BlueFlame; more by a doorbell of 8 bytes. */
COST_INLINE int run_posts(struct floor_queue *q, unsigned count, struct cost_shape shape)
{
	const unsigned blocks = bsn_bb_of_ds(count_ds(shape));
	const unsigned stored = shape.batch == 1 ? 8 * blocks : 1; /* words */
	struct bsn_be32 *const record = &q->record[BSN_DBR_SEND_OFFSET / 4];
	uint8_t *const sq = q->sq;
	const uint64_t toggle = q->toggle;
	const uint32_t mask = q->sq_mask, qpn = q->qpn;
	uint8_t *reg = q->reg;
	uint32_t pi = q->pi;

	for (unsigned done = 0; done < count; done += shape.batch) {
		struct bsn_be64 word[WORDS_MAX] = { { 0 } };
		struct bsn_dbr_wq dbr;

		for (unsigned i = 0; i < shape.batch; i++, pi += blocks) {
			COST_FORGET();
			build(word, q, qpn, pi, shape);
			store_ring(sq, mask, pi, word, shape);
		}
		bsn_to_device(); /* O1 */
		dbr = (struct bsn_dbr_wq){ .index = pi };
		bsn_store_record(record, bsn_dbr_wq_dword(&dbr, 0));
		bsn_wc_start(); /* O2 */
		UNROLL for (unsigned w = 0; w < stored; w++) bsn_store_mmio(reg + 8 * w, word[w]);
		bsn_wc_flush(); /* O3 */
		reg = (uint8_t *)((uintptr_t)reg ^ toggle);
	}
	q->pi = pi;
	q->reg = reg;
	return 0;
}

COST_INLINE int run_recvs(struct floor_queue *q, unsigned count, struct cost_shape shape)
{
	uint8_t *const rq = q->rq;
	struct bsn_be32 *const record = q->record;
	const uint32_t mask = q->rq_mask, stride = q->rq_stride;
	uint32_t head = q->head;

	for (unsigned i = 0; i < count; i++, head++) {
		const struct bsn_dbr_wq dbr = { .index = head + 1 };
		uint8_t *const wqe = rq + (size_t)(head & mask) * stride;
		struct bsn_be64 word[2];

		COST_FORGET();
		put_data(word, &q->target.recv[0]);
		bsn_store_wqe(wqe, word[0]);
		bsn_store_wqe(wqe + 8, word[1]);
		if ((i + 1) % shape.batch == 0) {
			bsn_to_device(); /* O7 */
			bsn_store_record(record, bsn_dbr_wq_dword(&dbr, 0));
		}
	}
	q->head = head;
	return 0;
}

/* -- polling ----------------------------------------------------------------------------------- */

/* Whether the completion that is to come, in this round of the ring, is there. */
COST_INLINE bool is_there(const struct floor_cq *cq, uint32_t ci, bool is_recv)
{
	const uint8_t *cqe = cq->ring + (size_t)(ci & (cq->count - 1)) * cq->stride;
	const unsigned opcode = is_recv ? BSN_CQE_RESP_SEND : BSN_CQE_REQ;

	return cqe[BSN_CQE_OP_OWN_OFFSET] == (opcode << 4 | ((ci & cq->count) != 0));
}

/* What every poller has to read; the barrier keeps the loads. */
COST_INLINE void read_cqe(const struct floor_cq *cq, uint32_t ci, bool is_recv)
{
	struct bsn_cqe_resp resp;

	bsn_from_device(); /* O4 */
	bsn_cqe_resp_decode(&resp, cq->ring + (size_t)(ci & (cq->count - 1)) * cq->stride);
	__asm__ volatile("" ::"r"(resp.wqe_counter));
	if (is_recv)
		__asm__ volatile("" ::"r"(resp.byte_count));
}

static void publish(const struct floor_cq *cq)
{
	const struct bsn_dbr_cq_ci dbr = { .ci = cq->ci };

	bsn_store_record(cq->record, bsn_dbr_cq_ci_dword(&dbr, 0)); /* O5 */
}

static int drain_cq(struct floor_cq *cq, unsigned count, bool is_recv)
{
	for (unsigned patience = COST_PATIENCE; count; patience--) {
		COST_FORGET();
		if (is_there(cq, cq->ci, is_recv)) {
			read_cqe(cq, cq->ci++, is_recv);
			count--;
		} else if (!patience) {
			return -ETIMEDOUT;
		}
	}
	publish(cq);
	return 0;
}

/* The consumer index is published after each batch. */
COST_INLINE int run_polls(struct floor_queue *q, unsigned count, struct cost_shape shape)
{
	const bool is_recv = shape.what == COST_POLL_RECV;
	struct floor_cq *const from = is_recv ? &q->recv_cq : &q->cq;
	struct floor_cq cq = *from;

	for (; count; count -= shape.batch) {
		for (unsigned i = 0; i < shape.batch; i++, cq.ci++) {
			if (!is_there(&cq, cq.ci, is_recv)) {
				from->ci = cq.ci;
				return cost_late(drain_cq(from, count - i, is_recv));
			}
			read_cqe(&cq, cq.ci, is_recv);
		}
		publish(&cq);
	}
	from->ci = cq.ci;
	return 0;
}

COST_INLINE int run_polls_none(const struct floor_cq *from, unsigned count)
{
	const struct floor_cq cq = *from;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET_BUT(i);
		if (is_there(&cq, cq.ci, false))
			return -EBUSY;
	}
	return 0;
}

COST_INLINE int run_shape(void *queue, unsigned count, struct cost_shape shape)
{
	struct floor_queue *q = queue;

	if (shape.what == COST_POLL_NONE)
		return run_polls_none(&q->cq, count);
	if (cost_polls(shape.what))
		return run_polls(q, count, shape);
	return shape.what == COST_RECV ? run_recvs(q, count, shape) : run_posts(q, count, shape);
}

/* Those of one RC queue pair whose WQEs have two blocks at most. */
#define FLOOR_RUN(name, queues, what, form, n, batch)                                              \
	static int run_##name(void *queue, unsigned count)                                         \
	{                                                                                          \
		return run_shape(                                                                  \
			queue, count,                                                              \
			(struct cost_shape)COST_SHAPE(queues, what, form, n, batch, KNOWN));       \
	}
#define FLOOR_ENTRY(name, ...) { #name, run_##name },
#define FLOOR_ROWS(X)                                                                              \
	X(write_sge, RC, WRITE, SGES, 1, 1)                                                        \
	X(write_sge2, LONG, WRITE, SGES, 2, 1)                                                     \
	X(write_sge3, LONG, WRITE, SGES, 3, 1)                                                     \
	X(write_sge4, LONG, WRITE, SGES, 4, 1)                                                     \
	X(write_inline, RC, WRITE, INLINED, 8, 1)                                                  \
	X(write_inline28, RC, WRITE, INLINED, 28, 1)                                               \
	X(write_batch16_sge, RC, WRITE, SGES, 1, 16)                                               \
	X(read, RC, READ, SGES, 1, 1)                                                              \
	X(read_sge2, LONG, READ, SGES, 2, 1)                                                       \
	X(send, RC, SEND, SGES, 1, 1)                                                              \
	X(send_inline, RC, SEND, INLINED, 8, 1)                                                    \
	X(post_recv, RC, RECV, SGES, 1, 1)                                                         \
	X(post_recv_16, RC, RECV, SGES, 1, 16)                                                     \
	X(poll_1, RC, POLL, SGES, 1, 1)                                                            \
	X(poll_16, RC, POLL, SGES, 1, 16)                                                          \
	X(poll_empty, RC, POLL_NONE, SGES, 1, 1)                                                   \
	X(poll_recv, RC, POLL_RECV, SGES, 1, 1)                                                    \
	X(poll_recv_16, RC, POLL_RECV, SGES, 1, 16)
FLOOR_ROWS(FLOOR_RUN)

static cost_run *run_of(const struct cost_row *row)
{
	static const struct {
		const char *name;
		cost_run *run;
	} runs[] = { FLOOR_ROWS(FLOOR_ENTRY) };

	for (unsigned i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		if (!strcmp(row->name, runs[i].name))
			return runs[i].run;
	return NULL;
}

/* -- the queue --------------------------------------------------------------------------------- */

static int post(void *queue, enum cost_what what, unsigned count)
{
	return (what == COST_WRITE ? run_write_sge : run_send)(queue, count);
}

static int drain(void *queue, unsigned count)
{
	return drain_cq(&((struct floor_queue *)queue)->cq, count, false);
}

static int drain_recv(void *queue, unsigned count)
{
	return drain_cq(&((struct floor_queue *)queue)->recv_cq, count, true);
}

static int map_cq(struct ibv_cq *verbs, struct floor_cq *cq)
{
	struct mlx5dv_cq map = { .comp_mask = 0 };
	struct mlx5dv_obj obj = { .cq = { .in = verbs, .out = &map } };
	const int err = mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ);

	if (err)
		return -err;
	*cq = (struct floor_cq){
		.ring = (uint8_t *)map.buf + map.cqe_size - BSN_CQE_SIZE,
		.record = (struct bsn_be32 *)map.dbrec,
		.stride = map.cqe_size,
		.count = map.cqe_cnt,
	};
	/* Of the other round: so one compare tells. No QP has used the CQ yet. */
	for (uint32_t i = 0; i < cq->count; i++)
		cq->ring[(size_t)i * cq->stride + BSN_CQE_OP_OWN_OFFSET] |= 1;
	return 0;
}

static int map_all(struct floor_queue *q)
{
	struct mlx5dv_qp map = { .comp_mask = 0 };
	struct mlx5dv_obj obj = { .qp = { .in = q->v.qp, .out = &map } };
	int err = -mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP);

	if (!err)
		err = map_cq(q->v.cq, &q->cq);
	if (!err)
		err = map_cq(q->v.recv_cq, &q->recv_cq);
	q->sq = map.sq.buf;
	q->sq_mask = map.sq.wqe_cnt - 1;
	q->rq = map.rq.buf;
	q->rq_mask = map.rq.wqe_cnt - 1;
	q->rq_stride = map.rq.stride;
	q->record = (struct bsn_be32 *)map.dbrec;
	q->reg = map.bf.reg;
	q->toggle = map.bf.size;
	q->qpn = q->v.qp->qp_num;
	return err;
}

static void close_queue(void *queue)
{
	struct floor_queue *q = queue;

	if (q->v.context)
		plain_qp_destroy(&q->v);
}

static int make(void *queue, const struct cost_rig *rig, enum cost_queues kind,
		const char **why_not)
{
	const struct cost_limits limits = cost_limits_of(kind);
	const struct plain_qp_attr attr = { .depth = rig->depth,
					    .max_send_sge = limits.max_send_sge,
					    .max_recv_sge = 1,
					    .max_inline = limits.max_inline,
					    .has_own_register = true,
					    .keeps_cqes_free = true };
	struct floor_queue *q = queue;
	int err;

	*why_not = "it needs a device that libmlx5 drives, on the direct path";
	if (bsn_device_info(rig->device)->path != BSN_PATH_DIRECT)
		return -EOPNOTSUPP;
	*why_not = NULL;
	err = plain_qp_create(rig->device, &attr, rig->memory, COST_MEMORY, &q->v);
	if (!err)
		err = plain_qp_loop(&q->v);
	if (!err)
		err = map_all(q);
	if (err)
		return err;
	q->target = cost_target_of(rig, q->v.mr->lkey, q->v.mr->rkey);
	if (q->v.td && q->toggle)
		return 0;
	*why_not = "the device gave no register with BlueFlame";
	return -EOPNOTSUPP;
}

const struct cost_column cost_floor = {
	.name = "floor",
	.loop = &cost_counting,
	.size = sizeof(struct floor_queue),
	.make = make,
	.close = close_queue,
	.run_of = run_of,
	.post = post,
	.post_recv = run_post_recv,
	.drain = drain,
	.drain_recv = drain_recv,
};
