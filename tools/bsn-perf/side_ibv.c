/* SPDX-License-Identifier: BSD-2-Clause */
/* A side by libibverbs alone: ibv_post_send() and ibv_poll_cq(). */
#include <errno.h>
#include <stdlib.h>

#include "traffic.h"
#include "plain_qp.h"

struct ibv_side {
	struct side side; /* first */
	struct plain_qp v;
	struct ibv_sge out, in;
	struct ibv_send_wr wr[TRAFFIC_BURST];
	struct ibv_recv_wr recv_wr;
};

static int fail_with(const char *what, const char *why)
{
	complain("%s: %s", what, why);
	return -1;
}

static int post(struct side *side, unsigned count)
{
	struct ibv_side *v = (struct ibv_side *)side;
	struct ibv_send_wr *wrong;
	int err;

	/* The chain has TRAFFIC_BURST links; its last @count are as long as wanted. */
	err = ibv_post_send(v->v.qp, &v->wr[TRAFFIC_BURST - count], &wrong);
	if (err)
		return fail_with(traffic_op_names[side->plan.op], strerror(err));
	side->outstanding += count;
	return 0;
}

static int post_recv(struct side *side, unsigned count)
{
	struct ibv_side *v = (struct ibv_side *)side;
	struct ibv_recv_wr *wrong;
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++)
		err = ibv_post_recv(v->v.qp, &v->recv_wr, &wrong);
	return err ? fail_with("receive", strerror(err)) : 0;
}

static int reap_from(struct ibv_side *v, struct ibv_cq *cq)
{
	struct ibv_wc wc[TRAFFIC_BURST];
	const int n = ibv_poll_cq(cq, TRAFFIC_BURST, wc);

	if (n < 0)
		return fail_with("poll", "the completion queue is broken");
	for (int i = 0; i < n; i++)
		if (wc[i].status)
			return complain_of_failure(&v->side, wc[i].status, 0, wc[i].vendor_err,
						   NULL);
	return n;
}

static int reap(struct side *side)
{
	struct ibv_side *v = (struct ibv_side *)side;
	const int n = reap_from(v, v->v.cq);

	side->outstanding -= n > 0 ? (unsigned)n : 0;
	return n;
}

static int reap_recv(struct side *side)
{
	struct ibv_side *v = (struct ibv_side *)side;

	return reap_from(v, v->v.recv_cq);
}

static void close_side(struct side *side)
{
	struct ibv_side *v = (struct ibv_side *)side;

	plain_qp_destroy(&v->v);
	free(v);
}

static void tell_address(struct side *side, struct bsn_address *address)
{
	plain_qp_address(&((struct ibv_side *)side)->v, address);
}

static void make_requests(struct ibv_side *v)
{
	static const enum ibv_wr_opcode opcodes[TRAFFIC_OPS] = { IBV_WR_RDMA_WRITE,
								 IBV_WR_RDMA_READ, IBV_WR_SEND,
								 IBV_WR_ATOMIC_FETCH_AND_ADD };
	const struct side *s = &v->side;

	for (unsigned i = 0; i < TRAFFIC_BURST; i++) {
		struct ibv_send_wr *wr = &v->wr[i];
		*wr = (struct ibv_send_wr){
			.next = i + 1 < TRAFFIC_BURST ? wr + 1 : NULL,
			.sg_list = &v->out,
			.num_sge = 1,
			.opcode = opcodes[s->plan.op],
			.send_flags = IBV_SEND_SIGNALED | (s->is_inline ? IBV_SEND_INLINE : 0),
		};
		if (s->plan.op == TRAFFIC_ATOMIC) {
			wr->wr.atomic.remote_addr = s->there.addr;
			wr->wr.atomic.rkey = s->there.rkey;
			wr->wr.atomic.compare_add = 1;
		} else if (s->plan.op != TRAFFIC_SEND) {
			wr->wr.rdma.remote_addr = s->there.addr;
			wr->wr.rdma.rkey = s->there.rkey;
		}
	}
	v->recv_wr = (struct ibv_recv_wr){ .sg_list = &v->in, .num_sge = 1 };
}

static int connect_side(struct side *side, const struct bsn_address *peer)
{
	struct ibv_side *v = (struct ibv_side *)side;
	const int err = plain_qp_connect(&v->v, peer);

	if (err)
		return fail_with("connect", err == -EPROTO ? "the peer does not use --path ibv"
							   : strerror(-err));
	make_requests(v); /* the peer's memory is known now */
	return 0;
}

static void resize(struct side *side)
{
	struct ibv_side *v = (struct ibv_side *)side;

	v->out.length = (uint32_t)side->plan.size;
	make_requests(v);
}

static const struct side_ops ibv_ops = {
	.close = close_side,
	.address = tell_address,
	.connect = connect_side,
	.post = post,
	.post_recv = post_recv,
	.reap = reap,
	.reap_recv = reap_recv,
	.resize = resize,
};

int side_ibv_open(struct bsn_device *device, const struct plan *plan,
		  const struct side_memory *memory, struct side **side)
{
	struct ibv_side *v = calloc(1, sizeof(*v));
	struct plain_qp_attr attr = { .depth = plan->depth, .max_send_sge = 1, .max_recv_sge = 1 };
	int err;

	if (!v)
		return fail_with("queues", "no memory");
	side_init(&v->side, &ibv_ops, plan, memory);
	attr.max_inline = v->side.has_inline ? TRAFFIC_INLINE_MAX : 0;
	err = plain_qp_create(device, &attr, memory->base, memory->length, &v->v);
	if (err) {
		free(v);
		return fail_with("queues", strerror(-err));
	}
	v->out = (struct ibv_sge){ (uintptr_t)memory->out, (uint32_t)plan->size, v->v.mr->lkey };
	v->in = (struct ibv_sge){ (uintptr_t)memory->in, (uint32_t)plan->size, v->v.mr->lkey };
	v->side.here = (struct bsn_remote){ (uintptr_t)memory->in, v->v.mr->rkey };
	*side = &v->side;
	return 0;
}
