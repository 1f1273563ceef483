/* SPDX-License-Identifier: BSD-2-Clause */
/* The column of Bunsen itself. */
#include "cost.h"

#include <stdlib.h>

struct bunsen_queue {
	struct bsn_cq *cq, *recv_cq;
	struct bsn_qp *qp;
	struct bsn_ep *ep;
	struct bsn_sq *sq;
	struct bsn_rq *rq;
	struct bsn_mr *mr;
	struct bsn_prepared prepared;
	struct cost_target target;
};

/* What a program has at hand in its loop. */
struct bunsen_hot {
	struct bsn_ep *ep;
	struct bsn_sq *sq;
	struct bsn_rq *rq;
	struct bsn_cq *cq;
	const void *data;
};

static inline struct bunsen_hot bunsen_hot_of(const struct bunsen_queue *q)
{
	return (struct bunsen_hot){ q->ep, q->sq, q->rq, q->cq, q->target.data };
}

/* The rest of what was to come, by a patient loop. */
static int drain_cq(struct bsn_cq *cq, unsigned count)
{
	unsigned patience = COST_PATIENCE;
	struct bsn_completion c;

	while (count) {
		const int n = bsn_poll(cq, &c, 1);
		if (n < 0)
			return n;
		if (n && c.status)
			return c.status;
		if (!n && !--patience)
			return -ETIMEDOUT;
		count -= (unsigned)n;
	}
	return 0;
}

static int drain(void *queue, unsigned count)
{
	struct bunsen_queue *q = queue;

	return drain_cq(q->cq, count);
}

static int drain_recv(void *queue, unsigned count)
{
	struct bunsen_queue *q = queue;

	return drain_cq(q->recv_cq, count);
}

#define ONE_BY_ONE (BSN_F_SIGNALED | BSN_F_RING)

#define WRITE(flags) bsn_write(h.ep, &q->target.local, &q->target.remote, i, flags)
#define WRITE_INLINE(flags)                                                                        \
	bsn_write_inline(h.ep, h.data, q->target.data_bytes, &q->target.remote, i, flags)

COST_EACH(bunsen, write_sge, WRITE(ONE_BY_ONE))
COST_EACH(bunsen, write_inline, WRITE_INLINE(ONE_BY_ONE))
COST_EACH(bunsen, write_prepared, bsn_post_prepared(h.ep, &q->prepared, i, ONE_BY_ONE))
COST_BATCHES(bunsen, write_batch16_sge, , bad |= WRITE(BSN_F_SIGNALED), bsn_ring(h.sq))
COST_BATCHES(bunsen, write_batch16_inline, , bad |= WRITE_INLINE(BSN_F_SIGNALED), bsn_ring(h.sq))
COST_EACH(bunsen, read, bsn_read(h.ep, &q->target.local, &q->target.remote, i, ONE_BY_ONE))
COST_EACH(bunsen, send, bsn_send(h.ep, &q->target.local, i, ONE_BY_ONE))
COST_POLLS(bunsen, poll_1, struct bsn_completion, 1, bsn_poll(h.cq, c, 1), drain)
COST_POLLS(bunsen, poll_16, struct bsn_completion, COST_BATCH, bsn_poll(h.cq, c, COST_BATCH), drain)
COST_POLLS_EMPTY(bunsen, poll_empty, struct bsn_completion, bsn_poll(h.cq, c, 1))
COST_EACH(bunsen, post_recv, bsn_recv(h.rq, &q->target.recv, i))

static int make(struct bunsen_queue *q, const struct cost_rig *rig)
{
	struct bsn_address self;
	int err =
		bsn_cq_create(rig->device, &(struct bsn_cq_attr){ .entries = COST_DEPTH }, &q->cq);

	if (!err)
		err = bsn_cq_create(rig->device, &(struct bsn_cq_attr){ .entries = COST_DEPTH },
				    &q->recv_cq);
	if (!err)
		err = bsn_qp_create(rig->device,
				    &(struct bsn_qp_attr){ .cq = q->cq,
							   .recv_cq = q->recv_cq,
							   .send_depth = COST_DEPTH,
							   .recv_depth = COST_DEPTH,
							   .max_inline = COST_BYTES },
				    &q->qp);
	if (!err)
		err = bsn_qp_address(q->qp, &self);
	if (!err)
		err = bsn_qp_connect(q->qp, &self, NULL);
	if (!err)
		err = bsn_mr_register(rig->device, rig->memory, COST_MEMORY, NULL, &q->mr);
	return err;
}

static int prepare(struct bunsen_queue *q)
{
	const struct bsn_wr wr = {
		.opcode = BSN_OPCODE_RDMA_WRITE,
		.sge = &q->target.local,
		.sge_count = 1,
		.remote = q->target.remote,
	};

	q->ep = bsn_qp_ep(q->qp);
	q->sq = bsn_qp_sq(q->qp);
	q->rq = bsn_qp_rq(q->qp);
	return bsn_prepare(q->ep, &wr, &q->prepared);
}

static void close_queue(void *queue)
{
	struct bunsen_queue *q = queue;

	bsn_qp_destroy(q->qp);
	bsn_cq_destroy(q->cq);
	bsn_cq_destroy(q->recv_cq);
	bsn_mr_deregister(q->mr);
	free(q);
}

static int open_queue(const struct cost_rig *rig, void **queue, const char **why_not)
{
	struct bunsen_queue *q = calloc(1, sizeof(*q));
	int err = q ? make(q, rig) : -ENOMEM;

	*why_not = NULL;
	if (!err) {
		q->target = cost_target_of(rig, q->mr->lkey, q->mr->rkey);
		err = prepare(q);
	}
	if (err && q)
		close_queue(q);
	if (!err)
		*queue = q;
	return err;
}

const struct cost_column cost_bunsen = {
	.name = "bunsen",
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
