/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The column `ibv`: ibv_post_send(), ibv_poll_cq(), ibv_post_recv(). Requests that do not change
 * are built once, and only their id is set at each post: the best that a program can do there.
 */
#include "verbs.h"

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

COST_INLINE int run_polls(void *queue, unsigned count, struct cost_shape shape)
{
	const struct verbs_queue *const q = queue;
	struct ibv_cq *const cq = verbs_polls_requests(shape) ? q->cq : q->recv_cq;
	struct ibv_wc c[COST_BATCH_MAX] = { { 0 } };
	int bad = 0;

	if (shape.what == COST_POLL_NONE) {
		COST_POLLS_NONE(count, ibv_poll_cq(cq, 1, c))
	} else {
		COST_POLLS(count, shape.batch, c, ibv_poll_cq(cq, (int)shape.batch, c),
			   verbs_read(q, shape),
			   verbs_polls_requests(shape) ? verbs_drain : verbs_drain_recv)
	}
	return bad;
}

COST_INLINE int run_shape(void *queue, unsigned count, struct cost_shape shape)
{
	return cost_polls(shape.what)    ? run_polls(queue, count, shape)
	       : shape.what == COST_RECV ? run_recvs(queue, count, shape)
					 : run_posts(queue, count, shape);
}

COST_CODES(COST_RUN)
static cost_run *const runs[COST_CODE_COUNT] = { COST_CODES(COST_RUN_ENTRY) };

/* It knows nothing of a request at compile time: rows that differ in that are one. */
static cost_run *run_of(const struct cost_row *row)
{
	const struct cost_shape *shape = &row->shape;

	return shape->form == COST_PREPARED || shape->what == COST_WAIT ? NULL : runs[row->code];
}

const struct cost_column cost_ibv = { VERBS_COLUMN, .make = verbs_make };
