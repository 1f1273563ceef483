/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The columns of libibverbs: `ibv` (ibv_post_send(), ibv_poll_cq(), ibv_post_recv()) and `ibv_wr`
 * (ibv_wr_*, and ibv_start_poll() for completions). Requests that do not change are built once, and
 * only their id is set at each post: the best that a program can do there.
 */
#include "cost.h"

#include <errno.h>
#include <stdlib.h>

#include "plain_qp.h"

struct verbs_queue {
	struct plain_qp v;
	struct cost_target target;
	struct ibv_sge local, data, recv;
	struct ibv_send_wr write, write_inline, read, send;
	struct ibv_send_wr batch[COST_BATCH], batch_inline[COST_BATCH];
	struct ibv_recv_wr recv_wr;
};

/* -- ibv ---------------------------------------------------------------------------------------- */

static inline int post_each(struct verbs_queue *q, struct ibv_send_wr *wr, unsigned count)
{
	struct ibv_qp *const qp = q->v.qp;
	struct ibv_send_wr *wrong;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		wr->wr_id = i;
		bad |= ibv_post_send(qp, wr, &wrong);
	}
	return -bad;
}

static inline int post_batches(struct verbs_queue *q, struct ibv_send_wr *batch, unsigned count)
{
	struct ibv_qp *const qp = q->v.qp;
	struct ibv_send_wr *wrong;
	int bad = 0;

	for (unsigned done = 0; done < count; done += COST_BATCH) {
		COST_FORGET();
		for (unsigned i = 0; i < COST_BATCH; i++)
			batch[i].wr_id = i;
		bad |= ibv_post_send(qp, batch, &wrong);
	}
	return -bad;
}

static int run_write_sge(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;

	return post_each(q, &q->write, count);
}

static int run_write_inline(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;

	return post_each(q, &q->write_inline, count);
}

static int run_read(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;

	return post_each(q, &q->read, count);
}

static int run_send(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;

	return post_each(q, &q->send, count);
}

static int run_write_batch16_sge(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;

	return post_batches(q, q->batch, count);
}

static int run_write_batch16_inline(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;

	return post_batches(q, q->batch_inline, count);
}

static int run_post_recv(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_qp *const qp = q->v.qp;
	struct ibv_recv_wr *wrong;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		q->recv_wr.wr_id = i;
		bad |= ibv_post_recv(qp, &q->recv_wr, &wrong);
	}
	return -bad;
}

static int drain_cq(struct ibv_cq *cq, unsigned count)
{
	unsigned patience = COST_PATIENCE;
	struct ibv_wc wc;

	while (count) {
		const int n = ibv_poll_cq(cq, 1, &wc);
		if (n < 0)
			return -EIO;
		if (n && wc.status)
			return wc.status;
		if (!n && !--patience)
			return -ETIMEDOUT;
		count -= (unsigned)n;
	}
	return 0;
}

static int drain(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;

	return drain_cq(q->v.cq, count);
}

static int drain_recv(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;

	return drain_cq(q->v.recv_cq, count);
}

static int late(int bad)
{
	return bad ? bad : COST_LATE;
}

static int run_poll_1(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_cq *const cq = q->v.cq;
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };

	for (; count; count--)
		if (ibv_poll_cq(cq, 1, &wc) != 1)
			return late(drain(q, count));
	return (int)wc.status; /* a failure flushes the rest: the last tells for all */
}

static int run_poll_16(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_cq *const cq = q->v.cq;
	struct ibv_wc wc[COST_BATCH] = { { .status = IBV_WC_SUCCESS } };

	for (; count; count -= COST_BATCH) {
		const int n = ibv_poll_cq(cq, COST_BATCH, wc);
		if (n != COST_BATCH)
			return n < 0 ? -EIO : late(drain(q, count - (unsigned)n));
	}
	return (int)wc[COST_BATCH - 1].status;
}

static int run_poll_empty(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_cq *const cq = q->v.cq;
	struct ibv_wc wc;

	for (; count; count--)
		if (ibv_poll_cq(cq, 1, &wc))
			return -EBUSY;
	return 0;
}

/* -- ibv_wr ------------------------------------------------------------------------------------- */

static int run_wr_write_sge(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_qp_ex *const qp = q->v.qp_ex;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		ibv_wr_start(qp);
		qp->wr_id = i;
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(qp, q->target.remote.rkey, q->target.remote.addr);
		ibv_wr_set_sge(qp, q->local.lkey, q->local.addr, q->local.length);
		bad |= ibv_wr_complete(qp);
	}
	return -bad;
}

static int run_wr_write_inline(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_qp_ex *const qp = q->v.qp_ex;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		ibv_wr_start(qp);
		qp->wr_id = i;
		qp->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
		ibv_wr_rdma_write(qp, q->target.remote.rkey, q->target.remote.addr);
		ibv_wr_set_inline_data(qp, (void *)(uintptr_t)q->target.data, COST_BYTES);
		bad |= ibv_wr_complete(qp);
	}
	return -bad;
}

static int run_wr_write_batch16_sge(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_qp_ex *const qp = q->v.qp_ex;
	int bad = 0;

	for (unsigned done = 0; done < count; done += COST_BATCH) {
		ibv_wr_start(qp);
		for (unsigned i = 0; i < COST_BATCH; i++) {
			COST_FORGET();
			qp->wr_id = i;
			qp->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_rdma_write(qp, q->target.remote.rkey, q->target.remote.addr);
			ibv_wr_set_sge(qp, q->local.lkey, q->local.addr, q->local.length);
		}
		bad |= ibv_wr_complete(qp);
	}
	return -bad;
}

static int run_wr_write_batch16_inline(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_qp_ex *const qp = q->v.qp_ex;
	int bad = 0;

	for (unsigned done = 0; done < count; done += COST_BATCH) {
		ibv_wr_start(qp);
		for (unsigned i = 0; i < COST_BATCH; i++) {
			COST_FORGET();
			qp->wr_id = i;
			qp->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
			ibv_wr_rdma_write(qp, q->target.remote.rkey, q->target.remote.addr);
			ibv_wr_set_inline_data(qp, (void *)(uintptr_t)q->target.data, COST_BYTES);
		}
		bad |= ibv_wr_complete(qp);
	}
	return -bad;
}

static int run_wr_read(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_qp_ex *const qp = q->v.qp_ex;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		ibv_wr_start(qp);
		qp->wr_id = i;
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_read(qp, q->target.remote.rkey, q->target.remote.addr);
		ibv_wr_set_sge(qp, q->local.lkey, q->local.addr, q->local.length);
		bad |= ibv_wr_complete(qp);
	}
	return -bad;
}

static int run_wr_send(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_qp_ex *const qp = q->v.qp_ex;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		ibv_wr_start(qp);
		qp->wr_id = i;
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(qp);
		ibv_wr_set_sge(qp, q->local.lkey, q->local.addr, q->local.length);
		bad |= ibv_wr_complete(qp);
	}
	return -bad;
}

/*
 * Up to @batch completions, with what ibv_poll_cq() would have told of each. How many, or -EIO; the
 * statuses are or-ed to @bad.
 */
static inline int start_poll(struct ibv_cq_ex *cq, int batch, int *bad)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };
	struct ibv_wc wc;
	int n = 0, err = ibv_start_poll(cq, &attr);

	if (err)
		return err == ENOENT ? 0 : -EIO;
	do {
		wc.wr_id = cq->wr_id;
		wc.opcode = ibv_wc_read_opcode(cq);
		wc.byte_len = ibv_wc_read_byte_len(cq);
		/* Somebody looks at them. */
		__asm__ volatile("" ::"r"(wc.wr_id), "r"(wc.opcode), "r"(wc.byte_len));
		*bad |= (int)cq->status;
		n++;
	} while (n < batch && !(err = ibv_next_poll(cq)));
	ibv_end_poll(cq);
	return err && err != ENOENT ? -EIO : n;
}

static int drain_wr(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	unsigned patience = COST_PATIENCE;
	int bad = 0;

	while (count) {
		const int n = start_poll(q->v.cq_ex, 1, &bad);
		if (n < 0 || bad)
			return n < 0 ? n : bad;
		if (!n && !--patience)
			return -ETIMEDOUT;
		count -= (unsigned)n;
	}
	return 0;
}

static int run_wr_poll_1(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_cq_ex *const cq = q->v.cq_ex;
	int bad = 0;

	for (; count; count--)
		if (start_poll(cq, 1, &bad) != 1)
			return late(drain_wr(q, count));
	return bad;
}

static int run_wr_poll_16(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_cq_ex *const cq = q->v.cq_ex;
	int bad = 0;

	for (; count; count -= COST_BATCH) {
		const int n = start_poll(cq, COST_BATCH, &bad);
		if (n != COST_BATCH)
			return n < 0 ? n : late(drain_wr(q, count - (unsigned)n));
	}
	return bad;
}

static int run_wr_poll_empty(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_cq_ex *const cq = q->v.cq_ex;
	int bad = 0;

	for (; count; count--)
		if (start_poll(cq, 1, &bad))
			return -EBUSY;
	return bad;
}

/* -- both --------------------------------------------------------------------------------------- */

static struct ibv_send_wr make_wr(const struct verbs_queue *q, enum ibv_wr_opcode opcode,
				  const struct ibv_sge *sge, unsigned flags)
{
	struct ibv_send_wr wr = {
		.sg_list = (struct ibv_sge *)(uintptr_t)sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED | flags,
	};

	if (opcode != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = q->target.remote.addr;
		wr.wr.rdma.rkey = q->target.remote.rkey;
	}
	return wr;
}

static void chain(struct ibv_send_wr *batch, struct ibv_send_wr wr)
{
	for (unsigned i = 0; i < COST_BATCH; i++) {
		batch[i] = wr;
		batch[i].next = i + 1 < COST_BATCH ? &batch[i + 1] : NULL;
	}
}

static void make_requests(struct verbs_queue *q, const struct cost_rig *rig)
{
	q->target = cost_target_of(rig, q->v.mr->lkey, q->v.mr->rkey);
	q->local = (struct ibv_sge){ q->target.local.addr, COST_BYTES, q->target.local.lkey };
	q->data = (struct ibv_sge){ (uintptr_t)q->target.data, COST_BYTES, 0 };
	q->recv = (struct ibv_sge){ q->target.recv.addr, COST_BYTES, q->target.recv.lkey };
	q->write = make_wr(q, IBV_WR_RDMA_WRITE, &q->local, 0);
	q->write_inline = make_wr(q, IBV_WR_RDMA_WRITE, &q->data, IBV_SEND_INLINE);
	q->read = make_wr(q, IBV_WR_RDMA_READ, &q->local, 0);
	q->send = make_wr(q, IBV_WR_SEND, &q->local, 0);
	chain(q->batch, q->write);
	chain(q->batch_inline, q->write_inline);
	q->recv_wr = (struct ibv_recv_wr){ .sg_list = &q->recv, .num_sge = 1 };
}

static void close_queue(void *queue)
{
	struct verbs_queue *q = queue;

	plain_qp_destroy(&q->v);
	free(q);
}

static int open_queue(const struct cost_rig *rig, bool is_extended, void **queue)
{
	const struct plain_qp_attr attr = { .depth = COST_DEPTH,
					    .max_inline = COST_BYTES,
					    .is_extended = is_extended };
	struct verbs_queue *q = calloc(1, sizeof(*q));
	struct bsn_address self;
	int err =
		q ? plain_qp_create(rig->device, &attr, rig->memory, COST_MEMORY, &q->v) : -ENOMEM;

	if (err) {
		free(q);
		return err;
	}
	plain_qp_address(&q->v, &self);
	err = plain_qp_connect(&q->v, &self);
	if (err) {
		close_queue(q);
		return err;
	}
	make_requests(q, rig);
	*queue = q;
	return 0;
}

static int open_ibv(const struct cost_rig *rig, void **queue, const char **why_not)
{
	*why_not = NULL;
	return open_queue(rig, false, queue);
}

static int open_ibv_wr(const struct cost_rig *rig, void **queue, const char **why_not)
{
	const int err = open_queue(rig, true, queue);

	*why_not = err == -EOPNOTSUPP ? "the provider has no ibv_wr_*" : NULL;
	return err;
}

const struct cost_column cost_ibv = {
	.name = "ibv",
	.open = open_ibv,
	.close = close_queue,
	.run = {
		[COST_write_sge] = run_write_sge,
		[COST_write_inline] = run_write_inline,
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

const struct cost_column cost_ibv_wr = {
	.name = "ibv_wr",
	.open = open_ibv_wr,
	.close = close_queue,
	.run = {
		[COST_write_sge] = run_wr_write_sge,
		[COST_write_inline] = run_wr_write_inline,
		[COST_write_batch16_sge] = run_wr_write_batch16_sge,
		[COST_write_batch16_inline] = run_wr_write_batch16_inline,
		[COST_read] = run_wr_read,
		[COST_send] = run_wr_send,
		[COST_poll_1] = run_wr_poll_1,
		[COST_poll_16] = run_wr_poll_16,
		[COST_poll_empty] = run_wr_poll_empty,
	},
	.post_recv = run_post_recv,
	.drain = drain_wr,
	.drain_recv = drain_recv,
};
