/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the columns of libibverbs measure. `ibv`: ibv_post_send(), ibv_poll_cq(), ibv_post_recv().
 * Requests that do not change are built once, and only their id is set at each post: the best that
 * a program can do there. `ibv_wr`: ibv_wr_*, and ibv_start_poll() for completions.
 */
#include "verbs.h"

/* -- ibv_post_send() and ibv_post_recv() ------------------------------------------------------- */

/* Whose turn it is, where there are many. */
COST_INLINE struct ibv_qp *qp_of(const struct verbs_queue *q, struct ibv_qp *qp, unsigned *turn,
				 struct cost_shape shape)
{
	return cost_has_turns(shape.queues) ? q->qps[cost_turn(turn, q->qp_count)] : qp;
}

COST_INLINE int run_posts(struct verbs_queue *q, unsigned count, struct cost_shape shape)
{
	struct ibv_qp *const qp = q->qp;
	struct ibv_send_wr *wrong;
	int bad = 0;

	COST_POSTS(count, shape.batch, , q->batch[i - first].wr_id = i,
		   bad |= ibv_post_send(qp_of(q, qp, &q->turn, shape), q->batch, &wrong))
	return -bad;
}

COST_INLINE int run_recvs(struct verbs_queue *q, unsigned count, struct cost_shape shape)
{
	struct ibv_qp *const qp = q->qp;
	struct ibv_srq *const srq = q->srq;
	struct ibv_recv_wr *wrong;
	int bad = 0;

	COST_POSTS(count, shape.batch, , q->recvs[i - first].wr_id = i,
		   bad |=
		   shape.queues == COST_SRQ
			   ? ibv_post_srq_recv(srq, q->recvs, &wrong)
			   : ibv_post_recv(qp_of(q, qp, &q->recv_turn, shape), q->recvs, &wrong))
	return -bad;
}

/* -- ibv_wr_* ---------------------------------------------------------------------------------- */

COST_INLINE void name_operation(struct ibv_qp_ex *qp, const struct bsn_remote *remote,
				enum cost_what what, unsigned id)
{
	switch (what) {
	case COST_WRITE:
		ibv_wr_rdma_write(qp, remote->rkey, remote->addr);
		break;
	case COST_WRITE_IMM:
		ibv_wr_rdma_write_imm(qp, remote->rkey, remote->addr, id);
		break;
	case COST_READ:
		ibv_wr_rdma_read(qp, remote->rkey, remote->addr);
		break;
	case COST_SEND:
		ibv_wr_send(qp);
		break;
	case COST_SEND_IMM:
		ibv_wr_send_imm(qp, id);
		break;
	case COST_FETCH_ADD:
		ibv_wr_atomic_fetch_add(qp, remote->rkey, remote->addr, 1);
		break;
	default:
		ibv_wr_atomic_cmp_swp(qp, remote->rkey, remote->addr, 0, 1);
	}
}

COST_INLINE void build(const struct verbs_queue *q, struct ibv_qp_ex *qp, struct cost_shape shape,
		       unsigned id, unsigned flags, unsigned sges)
{
	qp->wr_id = id;
	qp->wr_flags = flags;
	name_operation(qp, &q->memory.remote, shape.what, id);
	if (shape.queues == COST_UD)
		ibv_wr_set_ud_addr(qp, q->ah, q->qp->qp_num, VERBS_QKEY);
	if (shape.queues == COST_XRC)
		ibv_wr_set_xrc_srqn(qp, q->srq_number);
	if (shape.form == COST_INLINED)
		ibv_wr_set_inline_data(qp, (void *)(uintptr_t)q->data.addr,
				       shape.known == COST_LENGTH ? shape.n : q->data.length);
	else if (shape.n == 1)
		ibv_wr_set_sge(qp, q->local[0].lkey, q->local[0].addr, q->local[0].length);
	else
		ibv_wr_set_sge_list(qp, sges, q->local);
}

/* Whose turn it is, where there are many. */
COST_INLINE struct ibv_qp_ex *start(struct verbs_queue *q, struct ibv_qp_ex *qp,
				    struct cost_shape shape)
{
	if (cost_has_turns(shape.queues))
		qp = ibv_qp_to_qp_ex(q->qps[cost_turn(&q->turn, q->qp_count)]);
	ibv_wr_start(qp);
	return qp;
}

COST_INLINE int run_extended_posts(struct verbs_queue *q, unsigned count, struct cost_shape shape)
{
	struct ibv_qp_ex *qp = q->qp_ex;
	unsigned flags = IBV_SEND_SIGNALED | (shape.form == COST_INLINED ? IBV_SEND_INLINE : 0);
	unsigned sges = shape.n;
	int bad = 0;

	if (shape.known == COST_HIDDEN) {
		COST_HIDE(flags);
		COST_HIDE(sges);
	}
	COST_POSTS(count, shape.batch, qp = start(q, qp, shape),
		   build(q, qp, shape, i, flags, sges), bad |= ibv_wr_complete(qp))
	return -bad;
}

/* -- polls ------------------------------------------------------------------------------------- */

/* What ibv_poll_cq() tells, too; the barriers keep the loads. */
COST_INLINE void read_rest(struct ibv_cq_ex *cq, enum cost_what what, enum cost_queues queues)
{
	const uint64_t id = cq->wr_id;
	const enum ibv_wc_opcode opcode = ibv_wc_read_opcode(cq);
	const uint32_t byte_len = ibv_wc_read_byte_len(cq);

	__asm__ volatile("" ::"r"(id), "r"(opcode), "r"(byte_len));
	if (what == COST_POLL_RECV_IMM) {
		const uint32_t imm = ibv_wc_read_imm_data(cq);
		__asm__ volatile("" ::"r"(imm));
	}
	if (queues == COST_STAMPED) {
		const uint64_t stamp = ibv_wc_read_completion_ts(cq);
		__asm__ volatile("" ::"r"(stamp));
	}
	if (queues == COST_UD && what == COST_POLL_RECV) {
		const uint32_t src_qp = ibv_wc_read_src_qp(cq), slid = ibv_wc_read_slid(cq);
		const unsigned wc_flags = ibv_wc_read_wc_flags(cq), sl = ibv_wc_read_sl(cq);
		__asm__ volatile("" ::"r"(src_qp), "r"(slid), "r"(wc_flags), "r"(sl));
	}
}

/* Up to @batch completions, their statuses into @wc. How many, or -EIO. */
COST_INLINE int start_poll(struct ibv_cq_ex *cq, int batch, struct ibv_wc *wc, enum cost_what what,
			   enum cost_queues queues)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };
	int n = 0, err = ibv_start_poll(cq, &attr);

	if (err)
		return err == ENOENT ? 0 : -EIO;
	do {
		read_rest(cq, what, queues);
		wc[n++].status = cq->status;
	} while (n < batch && !(err = ibv_next_poll(cq)));
	ibv_end_poll(cq);
	return err && err != ENOENT ? -EIO : n;
}

/* The provider has copied what came in a CQE. */
COST_INLINE void read_data(const struct verbs_queue *q, struct cost_shape shape)
{
	if (shape.what == COST_POLL_RECV_DATA)
		cost_read_data((const void *)(uintptr_t)q->recv[0].addr);
}

COST_INLINE int run_polls(void *queue, unsigned count, struct cost_shape shape, bool is_extended)
{
	const struct verbs_queue *const q = queue;
	const bool of_requests = shape.what == COST_POLL || shape.what == COST_POLL_NONE;
	struct ibv_cq *const cq = of_requests ? q->cq : q->recv_cq;
	struct ibv_cq_ex *const cq_ex = of_requests ? q->cq_ex : q->recv_cq_ex;
	struct ibv_wc c[COST_BATCH_MAX] = { { 0 } };
	int bad = 0;

#define POLL(most)                                                                                 \
	(is_extended ? start_poll(cq_ex, most, c, shape.what, shape.queues)                        \
		     : ibv_poll_cq(cq, most, c))
	if (shape.what == COST_POLL_NONE) {
		COST_POLLS_NONE(count, POLL(1))
	} else {
		COST_POLLS(count, shape.batch, c, POLL((int)shape.batch), read_data(q, shape),
			   of_requests ? verbs_drain : verbs_drain_recv)
	}
	return bad;
}

/* -- both columns ------------------------------------------------------------------------------ */

COST_INLINE int run_shape(void *queue, unsigned count, struct cost_shape shape)
{
	return cost_polls(shape.what)    ? run_polls(queue, count, shape, false)
	       : shape.what == COST_RECV ? run_recvs(queue, count, shape)
					 : run_posts(queue, count, shape);
}

COST_INLINE int run_extended(void *queue, unsigned count, struct cost_shape shape)
{
	return cost_polls(shape.what) ? run_polls(queue, count, shape, true)
				      : run_extended_posts(queue, count, shape);
}

#define RUN_EXTENDED(name, ...)                                                                    \
	static int run_extended_##name(void *queue, unsigned count)                                \
	{                                                                                          \
		return run_extended(queue, count, (struct cost_shape)COST_SHAPE(__VA_ARGS__));     \
	}
#define RUN_EXTENDED_ENTRY(name, ...) [COST_CODE_##name] = run_extended_##name,
COST_CODES(COST_RUN)
COST_CODES(RUN_EXTENDED)
static cost_run *const runs[COST_CODE_COUNT] = { COST_CODES(COST_RUN_ENTRY) };
static cost_run *const extended_runs[COST_CODE_COUNT] = { COST_CODES(RUN_EXTENDED_ENTRY) };

/* It knows nothing of a request at compile time: rows that differ in that are one. */
static cost_run *run_of(const struct cost_row *row)
{
	const struct cost_shape *shape = &row->shape;

	return shape->form == COST_PREPARED || shape->what == COST_WAIT ? NULL : runs[row->code];
}

static cost_run *extended_run_of(const struct cost_row *row)
{
	return row->shape.what != COST_RECV && run_of(row) ? extended_runs[row->code] : NULL;
}

#define VERBS_COLUMN                                                                               \
	.size = sizeof(struct verbs_queue), .make = verbs_make, .close = verbs_close,              \
	.set_up = verbs_set_up, .post = verbs_post, .drain = verbs_drain,                          \
	.drain_recv = verbs_drain_recv

const struct cost_column cost_ibv = { VERBS_COLUMN, .run_of = run_of };
const struct cost_column cost_ibv_wr = { VERBS_COLUMN, .is_other = true,
					 .run_of = extended_run_of };
