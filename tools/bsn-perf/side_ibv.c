/* SPDX-License-Identifier: BSD-2-Clause */
/* A side by libibverbs alone: ibv_post_send() and ibv_poll_cq(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plain_qp.h"
#include "traffic.h"

struct ibv_side {
	struct side side;                   /* first */
	struct plain_qp v[TRAFFIC_QPS_MAX]; /* the first one has what all share */
	struct ibv_sge out, in;
	struct ibv_send_wr wr[TRAFFIC_BURST];
	struct ibv_recv_wr recv_wr;
};

static int post(struct side *side, unsigned qp, unsigned count)
{
	struct ibv_side *v = (struct ibv_side *)side;
	const struct plain_qp *to = &v->v[qp];
	/* The chain has TRAFFIC_BURST links; its last @count are as long as wanted. */
	struct ibv_send_wr *const chain = &v->wr[TRAFFIC_BURST - count], *wrong;
	int err;

	for (unsigned i = 0; i < count; i++) {
		chain[i].wr_id = qp;
		if (to->ah)
			chain[i].wr.ud =
				(__typeof__(chain->wr.ud)){ to->ah, to->peer_qpn, PLAIN_QKEY };
	}
	err = ibv_post_send(to->qp, chain, &wrong);
	return err ? SIDE_FAILS("%s: %s", traffic_op_names[side->plan.op], strerror(err)) : 0;
}

static int post_recv(struct side *side, unsigned qp, unsigned count)
{
	struct ibv_side *v = (struct ibv_side *)side;
	struct ibv_recv_wr *wrong;
	int err = 0;

	v->recv_wr.wr_id = qp;
	for (unsigned i = 0; i < count && !err; i++)
		err = ibv_post_recv(v->v[qp].qp, &v->recv_wr, &wrong);
	return err ? SIDE_FAILS("receive: %s", strerror(err)) : 0;
}

static int reap(struct side *side, bool of_messages, uint32_t *qps)
{
	struct ibv_side *v = (struct ibv_side *)side;
	struct ibv_wc wc[TRAFFIC_BURST];
	const int n = ibv_poll_cq(of_messages ? v->v->recv_cq : v->v->cq, TRAFFIC_BURST, wc);

	if (n < 0)
		return SIDE_FAILS("poll: the completion queue is broken");
	for (int i = 0; i < n; i++) {
		if (wc[i].status)
			return complain_of_failure(side, wc[i].status, 0, wc[i].vendor_err, NULL);
		qps[i] = (uint32_t)wc[i].wr_id;
	}
	return n;
}

static void close_side(struct side *side)
{
	struct ibv_side *v = (struct ibv_side *)side;

	for (unsigned qp = side->plan.qps; qp-- > 0;)
		plain_qp_destroy(&v->v[qp]);
}

static void tell_address(struct side *side, unsigned qp, struct bsn_address *address)
{
	plain_qp_address(&((struct ibv_side *)side)->v[qp], address);
}

static void make_requests(struct side *side)
{
	static const enum ibv_wr_opcode opcodes[TRAFFIC_OPS] = { IBV_WR_RDMA_WRITE,
								 IBV_WR_RDMA_READ, IBV_WR_SEND,
								 IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct ibv_side *v = (struct ibv_side *)side;
	const bool is_inline = has_inline(&side->plan, side->plan.size);

	v->out = (struct ibv_sge){ side->out.addr, side->out.length, side->out.lkey };
	v->in = (struct ibv_sge){ side->in.addr, side->in.length, side->in.lkey };
	for (unsigned i = 0; i < TRAFFIC_BURST; i++) {
		struct ibv_send_wr *wr = &v->wr[i];
		*wr = (struct ibv_send_wr){
			.next = i + 1 < TRAFFIC_BURST ? wr + 1 : NULL,
			.sg_list = &v->out,
			.num_sge = 1,
			.opcode = opcodes[side->plan.op],
			.send_flags = IBV_SEND_SIGNALED | (is_inline ? IBV_SEND_INLINE : 0),
		};
		if (side->plan.op == TRAFFIC_ATOMIC) {
			wr->wr.atomic.remote_addr = side->there.addr;
			wr->wr.atomic.rkey = side->there.rkey;
			wr->wr.atomic.compare_add = 1;
		} else if (side->plan.op != TRAFFIC_SEND) { /* UD's are addressed when posted */
			wr->wr.rdma.remote_addr = side->there.addr;
			wr->wr.rdma.rkey = side->there.rkey;
		}
	}
	v->recv_wr = (struct ibv_recv_wr){ .sg_list = &v->in, .num_sge = 1 };
}

static int connect_side(struct side *side, unsigned qp, const struct bsn_address *peer)
{
	const int err = plain_qp_connect(&((struct ibv_side *)side)->v[qp], peer,
					 &side->plan.connect);

	if (err)
		return SIDE_FAILS("connect: %s", err == -EPROTO ? "the peer does not use --path ibv"
								: strerror(-err));
	make_requests(side); /* the peer's memory is known now */
	return 0;
}

static const struct side_ops ibv_ops = { close_side, tell_address, connect_side, post,
					 post_recv,  reap,	   make_requests };

static int make(struct ibv_side *v, struct bsn_device *device)
{
	const struct plan *plan = &v->side.plan;
	struct plain_qp_attr attr = { .type = plan->type,
				      .depth = plan->depth,
				      .max_send_sge = 1,
				      .max_recv_sge = 1,
				      .max_inline = longest_inline(plan),
				      .cq_entries = plan->depth * plan->qps };
	int err = plain_qp_create(device, &attr, v->side.memory, v->side.length, &v->v[0]);

	attr.shared = &v->v[0];
	for (unsigned qp = 1; qp < plan->qps && !err; qp++)
		err = plain_qp_create(device, &attr, NULL, 0, &v->v[qp]);
	if (!err)
		side_name_memory(&v->side, v->v->mr->lkey, v->v->mr->rkey);
	return err ? SIDE_FAILS("queues: %s", strerror(-err)) : 0;
}

int side_ibv_open(struct bsn_device *device, const struct plan *plan, struct side **side)
{
	struct ibv_side *v = calloc(1, sizeof(*v));

	if (!v)
		return SIDE_FAILS("queues: no memory");
	*side = &v->side;
	return side_init(*side, &ibv_ops, plan) || make(v, device) ? -1 : 0;
}
