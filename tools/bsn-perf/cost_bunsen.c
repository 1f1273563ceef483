/* SPDX-License-Identifier: BSD-2-Clause */
/* The column of Bunsen itself. */
#include "cost.h"

#include <errno.h>
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

#define ONE_BY_ONE (BSN_F_SIGNALED | BSN_F_RING)

static int run_write_sge(void *queue, unsigned count)
{
	struct bunsen_queue *q = queue;
	struct bsn_ep *const ep = q->ep;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		bad |= bsn_write(ep, &q->target.local, &q->target.remote, i, ONE_BY_ONE);
	}
	return bad;
}

static int run_write_inline(void *queue, unsigned count)
{
	struct bunsen_queue *q = queue;
	struct bsn_ep *const ep = q->ep;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		bad |= bsn_write_inline(ep, q->target.data, COST_BYTES, &q->target.remote, i,
					ONE_BY_ONE);
	}
	return bad;
}

static int run_write_prepared(void *queue, unsigned count)
{
	struct bunsen_queue *q = queue;
	struct bsn_ep *const ep = q->ep;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		bad |= bsn_post_prepared(ep, &q->prepared, i, ONE_BY_ONE);
	}
	return bad;
}

static int run_write_batch16_sge(void *queue, unsigned count)
{
	struct bunsen_queue *q = queue;
	struct bsn_ep *const ep = q->ep;
	struct bsn_sq *const sq = q->sq;
	int bad = 0;

	for (unsigned done = 0; done < count; done += COST_BATCH) {
		for (unsigned i = 0; i < COST_BATCH; i++) {
			COST_FORGET();
			bad |= bsn_write(ep, &q->target.local, &q->target.remote, i,
					 BSN_F_SIGNALED);
		}
		bad |= bsn_ring(sq);
	}
	return bad;
}

static int run_write_batch16_inline(void *queue, unsigned count)
{
	struct bunsen_queue *q = queue;
	struct bsn_ep *const ep = q->ep;
	struct bsn_sq *const sq = q->sq;
	int bad = 0;

	for (unsigned done = 0; done < count; done += COST_BATCH) {
		for (unsigned i = 0; i < COST_BATCH; i++) {
			COST_FORGET();
			bad |= bsn_write_inline(ep, q->target.data, COST_BYTES, &q->target.remote,
						i, BSN_F_SIGNALED);
		}
		bad |= bsn_ring(sq);
	}
	return bad;
}

static int run_read(void *queue, unsigned count)
{
	struct bunsen_queue *q = queue;
	struct bsn_ep *const ep = q->ep;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		bad |= bsn_read(ep, &q->target.local, &q->target.remote, i, ONE_BY_ONE);
	}
	return bad;
}

static int run_send(void *queue, unsigned count)
{
	struct bunsen_queue *q = queue;
	struct bsn_ep *const ep = q->ep;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		bad |= bsn_send(ep, &q->target.local, i, ONE_BY_ONE);
	}
	return bad;
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

static int drain_late(struct bunsen_queue *q, unsigned count)
{
	const int bad = drain_cq(q->cq, count);

	return bad ? bad : COST_LATE;
}

/* After a failure the rest is flushed, so the last completion tells for all: none is looked at before. */
static int run_poll_1(void *queue, unsigned count)
{
	struct bunsen_queue *q = queue;
	struct bsn_cq *const cq = q->cq;
	struct bsn_completion c = { .status = IBV_WC_SUCCESS };

	for (; count; count--)
		if (bsn_poll(cq, &c, 1) != 1)
			return drain_late(q, count);
	return c.status;
}

static int run_poll_16(void *queue, unsigned count)
{
	struct bunsen_queue *q = queue;
	struct bsn_cq *const cq = q->cq;
	struct bsn_completion c[COST_BATCH] = { { .status = IBV_WC_SUCCESS } };

	for (; count; count -= COST_BATCH) {
		const int n = bsn_poll(cq, c, COST_BATCH);
		if (n != COST_BATCH)
			return n < 0 ? n : drain_late(q, count - (unsigned)n);
	}
	return c[COST_BATCH - 1].status;
}

static int run_poll_empty(void *queue, unsigned count)
{
	struct bunsen_queue *q = queue;
	struct bsn_cq *const cq = q->cq;
	struct bsn_completion c;

	for (; count; count--)
		if (bsn_poll(cq, &c, 1))
			return -EBUSY;
	return 0;
}

static int run_post_recv(void *queue, unsigned count)
{
	struct bunsen_queue *q = queue;
	struct bsn_rq *const rq = q->rq;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		bad |= bsn_recv(rq, &q->target.recv, i);
	}
	return bad;
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
