/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The floor: what the device must be given, and nothing else. It posts to a queue pair of its own
 * that works like any other, but has no credits, no ids, no checks, no modes and no errors, keeps its
 * state in registers, and is of use to nobody. The bytes come from wqe/ and the barriers from dv/,
 * since those are facts of the device; write_prepared holds the whole WQE in vector registers.
 *
 * BlueFlame is stored 8 bytes at a time where the words are made in general registers, 16 where
 * they lie in vector registers.
 */
#include "cost.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdlib.h>

#include "plain_qp.h"

struct floor_cq {
	uint8_t *ring;           /* the first CQE proper */
	struct bsn_be32 *record; /* consumer index */
	uint32_t stride, count;
	uint32_t ci;
};

struct floor_queue {
	struct plain_qp v;
	struct cost_target target;
	uint8_t *sq, *rq;
	struct bsn_be32 *record; /* RQ, SQ */
	uint8_t *reg;
	uint64_t toggle;
	uint32_t sq_mask, rq_mask, rq_stride;
	uint32_t pi, head;
	uint32_t qpn;
	struct floor_cq cq, recv_cq;
};

#define UNROLL   BSN_UNROLL_BB
#define DBR_SEND (BSN_DBR_SEND_OFFSET / 4)

/* -- posting ------------------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) struct bsn_bb make_ctrl(uint32_t qpn, uint32_t pi,
								     unsigned opcode, unsigned ds)
{
	const struct bsn_ctrl ctrl = {
		.wqe_index = pi, .opcode = opcode, .qpn = qpn, .ds = ds, .ce = BSN_CE_ALWAYS
	};

	return (struct bsn_bb){ .word = { bsn_to_be64(bsn_ctrl_word(&ctrl, 0)),
					  bsn_to_be64(bsn_ctrl_word(&ctrl, 1)) } };
}

static inline __attribute__((always_inline)) void put_data(struct bsn_bb *bb, unsigned word,
							   const struct bsn_sge *local)
{
	const struct bsn_data data = { .byte_count = local->length,
				       .lkey = local->lkey,
				       .addr = local->addr };

	bb->word[word] = bsn_to_be64(bsn_data_word(&data, 0));
	bb->word[word + 1] = bsn_to_be64(bsn_data_word(&data, 1));
}

static inline __attribute__((always_inline)) void put_raddr(struct bsn_bb *bb,
							    const struct bsn_remote *remote)
{
	const struct bsn_raddr raddr = { .raddr = remote->addr, .rkey = remote->rkey };

	bb->word[2] = bsn_to_be64(bsn_raddr_word(&raddr, 0));
	bb->word[3] = bsn_pair_to_be64(bsn_raddr_word(&raddr, 1));
}

/* COST_BYTES of inline data, which is 8. */
static inline __attribute__((always_inline)) void put_inline(struct bsn_bb *bb, const void *bytes)
{
	const struct bsn_inline_hdr hdr = { .is_inline = 1, .byte_count = COST_BYTES };
	uint64_t data;

	memcpy(&data, bytes, sizeof(data));
	bb->word[4].raw = bsn_to_be32(bsn_inline_hdr_dword(&hdr, 0)).raw | data << 32;
	bb->word[5].raw = data >> 32;
}

/* The WQE of an operation; returns how many words it has. */
static inline __attribute__((always_inline)) unsigned
build(struct bsn_bb *bb, const struct floor_queue *q, uint32_t qpn, uint32_t pi, enum cost_op op)
{
	switch (op) {
	case COST_write_inline:
	case COST_write_batch16_inline:
		*bb = make_ctrl(qpn, pi, BSN_OPCODE_RDMA_WRITE, 3);
		put_raddr(bb, &q->target.remote);
		put_inline(bb, q->target.data);
		return 6;
	case COST_send:
		*bb = make_ctrl(qpn, pi, BSN_OPCODE_SEND, 2);
		put_data(bb, 2, &q->target.local);
		return 4;
	default:
		*bb = make_ctrl(qpn, pi,
				op == COST_read ? BSN_OPCODE_RDMA_READ : BSN_OPCODE_RDMA_WRITE, 3);
		put_raddr(bb, &q->target.remote);
		put_data(bb, 4, &q->target.local);
		return 6;
	}
}

static inline __attribute__((always_inline)) void store_slot(uint8_t *slot, const struct bsn_bb *bb,
							     unsigned words)
{
	UNROLL for (unsigned i = 0; i < words; i++) bsn_store_wqe(slot + 8 * i, bb->word[i]);
}

static inline __attribute__((always_inline)) void open_register(struct bsn_be32 *record,
								uint32_t pi)
{
	const struct bsn_dbr_wq dbr = { .index = pi };

	bsn_to_device(); /* O1 */
	bsn_store_record(record, bsn_dbr_wq_dword(&dbr, 0));
	bsn_wc_start(); /* O2 */
}

/* One WQE at a time, by BlueFlame. */
static inline __attribute__((always_inline)) int post_each(struct floor_queue *q, unsigned count,
							   enum cost_op op)
{
	uint8_t *const sq = q->sq;
	struct bsn_be32 *const record = &q->record[DBR_SEND];
	const uint64_t toggle = q->toggle;
	const uint32_t mask = q->sq_mask, qpn = q->qpn;
	uint8_t *reg = q->reg;
	uint32_t pi = q->pi;
	struct bsn_bb bb;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		const unsigned words = build(&bb, q, qpn, pi, op);
		store_slot(sq + (size_t)(pi & mask) * BSN_BB_SIZE, &bb, words);
		open_register(record, ++pi);
		UNROLL for (unsigned w = 0; w < BSN_BB_SIZE / 8; w++)
			bsn_store_mmio(reg + 8 * w, bb.word[w]);
		bsn_wc_flush(); /* O3 */
		reg = (uint8_t *)((uintptr_t)reg ^ toggle);
	}
	q->pi = pi;
	q->reg = reg;
	return 0;
}

/* Sixteen, then one doorbell of 8 bytes. */
static inline __attribute__((always_inline)) int post_batches(struct floor_queue *q, unsigned count,
							      enum cost_op op)
{
	uint8_t *const sq = q->sq;
	const uint32_t mask = q->sq_mask, qpn = q->qpn;
	uint32_t pi = q->pi;
	struct bsn_bb bb;

	for (unsigned done = 0; done < count; done += COST_BATCH) {
		for (unsigned i = 0; i < COST_BATCH; i++, pi++) {
			COST_FORGET();
			const unsigned words = build(&bb, q, qpn, pi, op);
			store_slot(sq + (size_t)(pi & mask) * BSN_BB_SIZE, &bb, words);
		}
		open_register(&q->record[DBR_SEND], pi);
		bsn_store_mmio(q->reg, bb.word[0]);
		bsn_wc_flush(); /* O3 */
		q->reg = (uint8_t *)((uintptr_t)q->reg ^ q->toggle);
	}
	q->pi = pi;
	return 0;
}

static int run_write_sge(void *queue, unsigned count)
{
	return post_each(queue, count, COST_write_sge);
}

static int run_write_inline(void *queue, unsigned count)
{
	return post_each(queue, count, COST_write_inline);
}

static int run_read(void *queue, unsigned count)
{
	return post_each(queue, count, COST_read);
}

static int run_send(void *queue, unsigned count)
{
	return post_each(queue, count, COST_send);
}

static int run_write_batch16_sge(void *queue, unsigned count)
{
	return post_batches(queue, count, COST_write_batch16_sge);
}

static int run_write_batch16_inline(void *queue, unsigned count)
{
	return post_batches(queue, count, COST_write_batch16_inline);
}

/* All of the WQE in vector registers; its index alone is new each time. */
static int run_write_prepared(void *queue, unsigned count)
{
	struct floor_queue *q = queue;
	uint8_t *const sq = q->sq;
	struct bsn_be32 *const record = &q->record[DBR_SEND];
	const uint64_t toggle = q->toggle;
	const uint32_t mask = q->sq_mask, qpn = q->qpn;
	uint8_t *reg = q->reg;
	uint32_t pi = q->pi;
	struct bsn_bb bb;

	build(&bb, q, qpn, pi, COST_write_prepared);
	const bsn_v2 raddr = BSN_BB_V2(bb, 2), data = BSN_BB_V2(bb, 4), none = { 0, 0 };
	for (unsigned i = 0; i < count; i++) {
		const struct bsn_bb ctrl = make_ctrl(qpn, pi, BSN_OPCODE_RDMA_WRITE, 3);
		uint8_t *slot = sq + (size_t)(pi & mask) * BSN_BB_SIZE;
		store_slot(slot, &ctrl, 2);
		bsn_store_wqe_v2(slot + 16, raddr);
		bsn_store_wqe_v2(slot + 32, data);
		open_register(record, ++pi);
		bsn_store_mmio(reg, ctrl.word[0]);
		bsn_store_mmio(reg + 8, ctrl.word[1]);
		bsn_store_mmio_v2(reg + 16, raddr);
		bsn_store_mmio_v2(reg + 32, data);
		bsn_store_mmio_v2(reg + 48, none);
		bsn_wc_flush(); /* O3 */
		reg = (uint8_t *)((uintptr_t)reg ^ toggle);
	}
	q->pi = pi;
	q->reg = reg;
	return 0;
}

static int run_post_recv(void *queue, unsigned count)
{
	struct floor_queue *q = queue;
	uint8_t *const rq = q->rq;
	struct bsn_be32 *const record = q->record;
	const uint32_t mask = q->rq_mask, stride = q->rq_stride;
	uint32_t head = q->head;
	struct bsn_bb bb;

	for (unsigned i = 0; i < count; i++) {
		const struct bsn_dbr_wq dbr = { .index = head + 1 };
		COST_FORGET();
		put_data(&bb, 0, &q->target.recv);
		store_slot(rq + (size_t)(head & mask) * stride, &bb, 2);
		bsn_to_device(); /* O7 */
		bsn_store_record(record, bsn_dbr_wq_dword(&dbr, 0));
		head++;
	}
	q->head = head;
	return 0;
}

/* -- polling ------------------------------------------------------------------------------------ */

static inline void publish_ci(const struct floor_cq *cq, uint32_t ci)
{
	const struct bsn_dbr_cq_ci dbr = { .ci = ci };

	bsn_store_record(cq->record, bsn_dbr_cq_ci_dword(&dbr, 0));
}

/* op_own of a successful request completion in this round of the ring. */
static inline uint8_t op_own_of(uint32_t ci, uint32_t count)
{
	return (uint8_t)(BSN_CQE_REQ << 4 | ((ci & count) != 0));
}

/* @count completions, the consumer index published after each @batch; how many were not there. */
static inline __attribute__((always_inline)) unsigned poll_all(struct floor_cq *cq, unsigned count,
							       unsigned batch)
{
	const uint8_t *const ring = cq->ring;
	const uint32_t size = cq->count, stride = cq->stride;
	uint32_t ci = cq->ci;
	struct bsn_cqe_tail tail;

	while (count) {
		for (unsigned i = 0; i < batch; i++) {
			const uint8_t *cqe = ring + (size_t)(ci & (size - 1)) * stride;
			if (cqe[BSN_CQE_OP_OWN_OFFSET] != op_own_of(ci, size))
				goto empty;
			bsn_from_device(); /* O4 */
			bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_TAIL_OFFSET);
			__asm__ volatile("" ::"r"(tail.wqe_counter)); /* somebody looks at it */
			ci++;
			count--;
		}
		publish_ci(cq, ci); /* O5 */
	}
empty:
	cq->ci = ci;
	return count;
}

static int drain_cq(struct floor_cq *cq, unsigned count)
{
	unsigned patience = COST_PATIENCE;

	while (count) {
		const uint8_t *cqe = cq->ring + (size_t)(cq->ci & (cq->count - 1)) * cq->stride;
		struct bsn_cqe_tail tail;

		COST_FORGET();
		bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_TAIL_OFFSET);
		if (tail.owner != ((cq->ci & cq->count) != 0)) {
			if (!--patience)
				return -ETIMEDOUT;
			continue;
		}
		if (tail.opcode == BSN_CQE_REQ_ERR || tail.opcode == BSN_CQE_RESP_ERR)
			return IBV_WC_GENERAL_ERR;
		bsn_from_device(); /* O4 */
		cq->ci++;
		count--;
	}
	publish_ci(cq, cq->ci); /* O5 */
	return 0;
}

static int drain(void *queue, unsigned count)
{
	struct floor_queue *q = queue;

	return drain_cq(&q->cq, count);
}

static int drain_recv(void *queue, unsigned count)
{
	struct floor_queue *q = queue;

	return drain_cq(&q->recv_cq, count);
}

static int drain_late(struct floor_queue *q, unsigned count)
{
	const int bad = drain_cq(&q->cq, count);

	return bad ? bad : COST_LATE;
}

static int run_poll_1(void *queue, unsigned count)
{
	struct floor_queue *q = queue;
	const unsigned missing = poll_all(&q->cq, count, 1);

	return missing ? drain_late(q, missing) : 0;
}

static int run_poll_16(void *queue, unsigned count)
{
	struct floor_queue *q = queue;
	const unsigned missing = poll_all(&q->cq, count, COST_BATCH);

	return missing ? drain_late(q, missing) : 0;
}

static int run_poll_empty(void *queue, unsigned count)
{
	struct floor_queue *q = queue;
	const struct floor_cq *cq = &q->cq;
	const uint8_t *cqe = cq->ring + (size_t)(cq->ci & (cq->count - 1)) * cq->stride;
	const uint8_t full = op_own_of(cq->ci, cq->count);

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET_BUT(i);
		if (cqe[BSN_CQE_OP_OWN_OFFSET] == full)
			return -EBUSY;
	}
	return 0;
}

/* -- making it ---------------------------------------------------------------------------------- */

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

static int map_qp(struct floor_queue *q)
{
	struct mlx5dv_qp map = { .comp_mask = 0 };
	struct mlx5dv_obj obj = { .qp = { .in = q->v.qp, .out = &map } };
	int err = mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP);

	if (err)
		return -err;
	q->sq = map.sq.buf;
	q->sq_mask = map.sq.wqe_cnt - 1;
	q->rq = map.rq.buf;
	q->rq_mask = map.rq.wqe_cnt - 1;
	q->rq_stride = map.rq.stride;
	q->record = (struct bsn_be32 *)map.dbrec;
	q->reg = map.bf.reg;
	q->toggle = map.bf.size;
	q->qpn = q->v.qp->qp_num;
	err = map_cq(q->v.cq, &q->cq);
	return err ? err : map_cq(q->v.recv_cq, &q->recv_cq);
}

static void close_queue(void *queue)
{
	struct floor_queue *q = queue;

	plain_qp_destroy(&q->v);
	free(q);
}

static int open_queue(const struct cost_rig *rig, void **queue, const char **why_not)
{
	const struct plain_qp_attr attr = { .depth = COST_DEPTH,
					    .max_inline = COST_BYTES,
					    .has_own_register = true };
	struct bsn_address self;
	struct floor_queue *q;
	int err;

	*why_not = NULL;
	if (bsn_device_info(rig->device)->path != BSN_PATH_DIRECT) {
		*why_not = "it needs a device that libmlx5 drives, on the direct path";
		return -EOPNOTSUPP;
	}
	q = calloc(1, sizeof(*q));
	err = q ? plain_qp_create(rig->device, &attr, rig->memory, COST_MEMORY, &q->v) : -ENOMEM;
	if (err) {
		*why_not = err == -EOPNOTSUPP ? "the device has no thread domains" : NULL;
		free(q);
		return err;
	}
	err = map_qp(q);
	plain_qp_address(&q->v, &self);
	if (!err)
		err = plain_qp_connect(&q->v, &self);
	if (!err && !q->toggle) {
		*why_not = "the device gave a register without BlueFlame";
		err = -EOPNOTSUPP;
	}
	if (err) {
		close_queue(q);
		return err;
	}
	q->target = cost_target_of(rig, q->v.mr->lkey, q->v.mr->rkey);
	*queue = q;
	return 0;
}

const struct cost_column cost_floor = {
	.name = "floor",
	.open = open_queue,
	.close = close_queue,
	.run = {
		[COST_write_sge] = run_write_sge,
		[COST_write_inline] = run_write_inline,
		[COST_write_prepared] = run_write_prepared,
		[COST_write_batch16_sge] = run_write_batch16_sge,
		[COST_write_batch16_inline] = run_write_batch16_inline,
		[COST_read] = run_read,
		[COST_send] = run_send,
		[COST_poll_1] = run_poll_1,
		[COST_poll_16] = run_poll_16,
		[COST_poll_empty] = run_poll_empty,
		[COST_post_recv] = run_post_recv,
	},
	.post_recv = run_post_recv,
	.drain = drain,
	.drain_recv = drain_recv,
};
