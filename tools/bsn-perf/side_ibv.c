/* SPDX-License-Identifier: BSD-2-Clause */
/* A side by libibverbs alone: ibv_post_send() and ibv_poll_cq(). */
#include <errno.h>
#include <stdlib.h>

#include "traffic.h"
#include "plain_qp.h"

struct ibv_side {
	struct side side;                   /* first */
	struct plain_qp v[TRAFFIC_QPS_MAX]; /* the first one has what all share */
	struct ibv_sge out, in;
	struct ibv_send_wr wr[TRAFFIC_BURST];
	struct ibv_recv_wr recv_wr;
};

static int fail_with(const char *what, const char *why)
{
	complain("%s: %s", what, why);
	return -1;
}

static int post(struct side *side, unsigned qp, unsigned count)
{
	struct ibv_side *v = (struct ibv_side *)side;
	/* The chain has TRAFFIC_BURST links; its last @count are as long as wanted. */
	struct ibv_send_wr *const chain = &v->wr[TRAFFIC_BURST - count], *wrong;
	int err;

	for (unsigned i = 0; i < count; i++)
		chain[i].wr_id = qp;
	for (unsigned i = 0; side->plan.type == BSN_QP_UD && i < count; i++)
		chain[i].wr.ud = (__typeof__(chain[i].wr.ud)){ v->v[qp].ah, v->v[qp].peer_qpn, PLAIN_QKEY };
	err = ibv_post_send(v->v[qp].qp, chain, &wrong);
	if (err)
		return fail_with(traffic_op_names[side->plan.op], strerror(err));
	return 0;
}

static int post_recv(struct side *side, unsigned qp, unsigned count)
{
	struct ibv_side *v = (struct ibv_side *)side;
	struct ibv_recv_wr *wrong;
	int err = 0;

	v->recv_wr.wr_id = qp;
	for (unsigned i = 0; i < count && !err; i++)
		err = ibv_post_recv(v->v[qp].qp, &v->recv_wr, &wrong);
	return err ? fail_with("receive", strerror(err)) : 0;
}

static int reap_from(struct ibv_side *v, struct ibv_cq *cq, uint32_t *qps)
{
	struct ibv_wc wc[TRAFFIC_BURST];
	const int n = ibv_poll_cq(cq, TRAFFIC_BURST, wc);

	if (n < 0)
		return fail_with("poll", "the completion queue is broken");
	for (int i = 0; i < n; i++) {
		if (wc[i].status)
			return complain_of_failure(&v->side, wc[i].status, 0, wc[i].vendor_err,
						   NULL);
		qps[i] = (uint32_t)wc[i].wr_id;
	}
	return n;
}

static int reap(struct side *side, uint32_t *qps)
{
	struct ibv_side *v = (struct ibv_side *)side;

	return reap_from(v, v->v[0].cq, qps);
}

static int reap_recv(struct side *side, uint32_t *qps)
{
	struct ibv_side *v = (struct ibv_side *)side;

	return reap_from(v, v->v[0].recv_cq, qps);
}

static void close_side(struct side *side)
{
	struct ibv_side *v = (struct ibv_side *)side;

	for (unsigned qp = side->plan.qps; qp-- > 0;)
		plain_qp_destroy(&v->v[qp]);
	free(v);
}

static void tell_address(struct side *side, unsigned qp, struct bsn_address *address)
{
	plain_qp_address(&((struct ibv_side *)side)->v[qp], address);
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
		} else if (s->plan.op != TRAFFIC_SEND) { /* of SENDs, UD's are addressed when posted */
			wr->wr.rdma.remote_addr = s->there.addr;
			wr->wr.rdma.rkey = s->there.rkey;
		}
	}
	v->recv_wr = (struct ibv_recv_wr){ .sg_list = &v->in, .num_sge = 1 };
}

static int connect_side(struct side *side, unsigned qp, const struct bsn_address *peer)
{
	struct ibv_side *v = (struct ibv_side *)side;
	const int err = plain_qp_connect(&v->v[qp], peer, &side->plan.connect);

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

static int make(struct ibv_side *v, struct bsn_device *device)
{
	const struct side *s = &v->side;
	struct plain_qp_attr attr = { .is_ud = s->plan.type == BSN_QP_UD,
				      .is_uc = s->plan.type == BSN_QP_UC,
				      .depth = s->plan.depth,
				      .max_send_sge = 1,
				      .max_recv_sge = 1,
				      .max_inline = s->has_inline ? s->plan.inline_max : 0,
				      .cq_entries = s->plan.depth * s->plan.qps };
	int err = plain_qp_create(device, &attr, s->memory.base, s->memory.length, &v->v[0]);

	attr.shared = &v->v[0];
	for (unsigned qp = 1; qp < s->plan.qps && !err; qp++)
		err = plain_qp_create(device, &attr, NULL, 0, &v->v[qp]);
	return err;
}

int side_ibv_open(struct bsn_device *device, const struct plan *plan,
		  const struct side_memory *memory, struct side **side)
{
	struct ibv_side *v = calloc(1, sizeof(*v));
	uint32_t lkey;
	int err;

	if (!v)
		return fail_with("queues", "no memory");
	side_init(&v->side, &ibv_ops, plan, memory);
	err = make(v, device);
	if (err) {
		close_side(&v->side);
		return fail_with("queues", strerror(-err));
	}
	lkey = v->v[0].mr->lkey;
	v->out = (struct ibv_sge){ (uintptr_t)memory->out, (uint32_t)plan->size, lkey };
	v->in = (struct ibv_sge){ (uintptr_t)memory->in, (uint32_t)room_of(plan), lkey };
	v->side.here = (struct bsn_remote){ (uintptr_t)memory->in, v->v[0].mr->rkey };
	*side = &v->side;
	return 0;
}
