/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The columns of libibverbs: `ibv` (ibv_post_send(), ibv_poll_cq(), ibv_post_recv()) and `ibv_wr`
 * (ibv_wr_*, and ibv_start_poll() for completions). Requests that do not change are built once, and
 * only their id is set at each post: the best that a program can do there.
 */
#include "cost.h"

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

/* What a program has at hand in its loop. */
struct verbs_hot {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_qp_ex *qp_ex;
	struct ibv_cq_ex *cq_ex;
	void *data;
};

static inline struct verbs_hot verbs_hot_of(const struct verbs_queue *q)
{
	return (struct verbs_hot){ q->v.qp, q->v.cq, q->v.qp_ex, q->v.cq_ex,
				   (void *)(uintptr_t)q->target.data };
}

/* -- ibv ---------------------------------------------------------------------------------------- */

static inline int post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *wrong;

	return -ibv_post_send(qp, wr, &wrong);
}

static inline int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *wrong;

	return -ibv_post_recv(qp, wr, &wrong);
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

#define POST_ONE(wr) (q->wr.wr_id = i, post(h.qp, &q->wr))

COST_EACH(verbs, write_sge, POST_ONE(write))
COST_EACH(verbs, write_inline, POST_ONE(write_inline))
COST_BATCHES(verbs, write_batch16_sge, , q->batch[i].wr_id = i, post(h.qp, q->batch))
COST_BATCHES(verbs, write_batch16_inline, , q->batch_inline[i].wr_id = i,
	     post(h.qp, q->batch_inline))
COST_EACH(verbs, read, POST_ONE(read))
COST_EACH(verbs, send, POST_ONE(send))
COST_POLLS(verbs, poll_1, struct ibv_wc, 1, ibv_poll_cq(h.cq, 1, c), drain)
COST_POLLS(verbs, poll_16, struct ibv_wc, COST_BATCH, ibv_poll_cq(h.cq, COST_BATCH, c), drain)
COST_POLLS_EMPTY(verbs, poll_empty, struct ibv_wc, ibv_poll_cq(h.cq, 1, c))
COST_EACH(verbs, post_recv, (q->recv_wr.wr_id = i, post_recv(h.qp, &q->recv_wr)))

/* -- ibv_wr ------------------------------------------------------------------------------------- */

static inline void build_write(const struct verbs_queue *q, struct verbs_hot h, unsigned id)
{
	h.qp_ex->wr_id = id;
	h.qp_ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(h.qp_ex, q->target.remote.rkey, q->target.remote.addr);
	ibv_wr_set_sge(h.qp_ex, q->local.lkey, q->local.addr, q->local.length);
}

static inline void build_inline(const struct verbs_queue *q, struct verbs_hot h, unsigned id)
{
	h.qp_ex->wr_id = id;
	h.qp_ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	ibv_wr_rdma_write(h.qp_ex, q->target.remote.rkey, q->target.remote.addr);
	ibv_wr_set_inline_data(h.qp_ex, h.data, q->target.data_bytes);
}

static inline void build_read(const struct verbs_queue *q, struct verbs_hot h, unsigned id)
{
	h.qp_ex->wr_id = id;
	h.qp_ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(h.qp_ex, q->target.remote.rkey, q->target.remote.addr);
	ibv_wr_set_sge(h.qp_ex, q->local.lkey, q->local.addr, q->local.length);
}

static inline void build_send(const struct verbs_queue *q, struct verbs_hot h, unsigned id)
{
	h.qp_ex->wr_id = id;
	h.qp_ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(h.qp_ex);
	ibv_wr_set_sge(h.qp_ex, q->local.lkey, q->local.addr, q->local.length);
}

#define START           ibv_wr_start(h.qp_ex)
#define BUILD(what)     build_##what(q, h, i)
#define COMPLETE        (-ibv_wr_complete(h.qp_ex))
#define BUILD_ONE(what) (START, BUILD(what), COMPLETE)

/*
 * Up to @batch completions, with what ibv_poll_cq() would have told of each: the statuses into @wc,
 * the rest is looked at where it is. How many, or -EIO.
 */
static inline int start_poll(struct ibv_cq_ex *cq, int batch, struct ibv_wc *wc)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };
	int n = 0, err = ibv_start_poll(cq, &attr);

	if (err)
		return err == ENOENT ? 0 : -EIO;
	do {
		const uint64_t id = cq->wr_id;
		const enum ibv_wc_opcode opcode = ibv_wc_read_opcode(cq);
		const uint32_t byte_len = ibv_wc_read_byte_len(cq);
		/* Somebody looks at them. */
		__asm__ volatile("" ::"r"(id), "r"(opcode), "r"(byte_len));
		wc[n++].status = cq->status;
	} while (n < batch && !(err = ibv_next_poll(cq)));
	ibv_end_poll(cq);
	return err && err != ENOENT ? -EIO : n;
}

static int drain_wr(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	unsigned patience = COST_PATIENCE;
	struct ibv_wc wc;

	while (count) {
		const int n = start_poll(q->v.cq_ex, 1, &wc);
		if (n < 0)
			return n;
		if (n && wc.status)
			return wc.status;
		if (!n && !--patience)
			return -ETIMEDOUT;
		count -= (unsigned)n;
	}
	return 0;
}

COST_EACH(verbs, wr_write_sge, BUILD_ONE(write))
COST_EACH(verbs, wr_write_inline, BUILD_ONE(inline))
COST_BATCHES(verbs, wr_write_batch16_sge, START, BUILD(write), COMPLETE)
COST_BATCHES(verbs, wr_write_batch16_inline, START, BUILD(inline), COMPLETE)
COST_EACH(verbs, wr_read, BUILD_ONE(read))
COST_EACH(verbs, wr_send, BUILD_ONE(send))
COST_POLLS(verbs, wr_poll_1, struct ibv_wc, 1, start_poll(h.cq_ex, 1, c), drain_wr)
COST_POLLS(verbs, wr_poll_16, struct ibv_wc, COST_BATCH, start_poll(h.cq_ex, COST_BATCH, c),
	   drain_wr)
COST_POLLS_EMPTY(verbs, wr_poll_empty, struct ibv_wc, start_poll(h.cq_ex, 1, c))

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
