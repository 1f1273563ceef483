/* SPDX-License-Identifier: BSD-2-Clause */
/* A side of Bunsen's, on the direct path or on plain verbs; on a QP of its own, or of rdma_cm's. */
#include <errno.h>
#include <stdlib.h>

#include <rdma/rdma_cma.h>

#include "traffic.h"

struct bunsen_side {
	struct side side; /* first */
	struct bsn_cq *cq, *recv_cq;
	struct bsn_qp *qp[TRAFFIC_QPS_MAX];
	struct bsn_ep *ep[TRAFFIC_QPS_MAX];
	struct bsn_rq *rq[TRAFFIC_QPS_MAX];
	struct bsn_mr *mr;
	struct bsn_sge out, in;
	/* of an attached side */
	struct rdma_cm_id *id;
	struct ibv_cq *verbs_cq, *verbs_recv_cq;
	struct ibv_mr *verbs_mr;
};

static int complain_of_post(const char *what, int error)
{
	complain("%s: %s", what,
		 error == -EOPNOTSUPP ? "the device or path cannot" : strerror(-error));
	return -1;
}

/* A request's id is the index of its queue pair. */
static int post_one(struct bunsen_side *b, unsigned qp, unsigned flags)
{
	struct side *s = &b->side;
	struct bsn_ep *const ep = b->ep[qp];
	const uint32_t size = (uint32_t)s->plan.size;

	switch (s->plan.op) {
	case TRAFFIC_WRITE:
		return s->is_inline
			       ? bsn_write_inline(ep, s->memory.out, size, &s->there, qp, flags)
			       : bsn_write(ep, &b->out, &s->there, qp, flags);
	case TRAFFIC_READ:
		return bsn_read(ep, &b->out, &s->there, qp, flags);
	case TRAFFIC_SEND:
		return s->is_inline ? bsn_send_inline(ep, s->memory.out, size, qp, flags)
				    : bsn_send(ep, &b->out, qp, flags);
	default:
		return bsn_fetch_add(ep, &b->out, &s->there, 1, qp, flags);
	}
}

static int post(struct side *side, unsigned qp, unsigned count)
{
	struct bunsen_side *b = (struct bunsen_side *)side;
	int err = 0;

	for (unsigned i = 1; i < count && !err; i++)
		err = post_one(b, qp, BSN_F_SIGNALED);
	if (!err)
		err = post_one(b, qp, BSN_F_SIGNALED | BSN_F_RING);
	if (err)
		return complain_of_post(traffic_op_names[side->plan.op], err);
	return 0;
}

static int post_recv(struct side *side, unsigned qp, unsigned count)
{
	struct bunsen_side *b = (struct bunsen_side *)side;
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++)
		err = bsn_recv(b->rq[qp], &b->in, qp);
	return err ? complain_of_post("receive", err) : 0;
}

/* The queue's first failure tells more than a request that was flushed after it. */
static int complain_of_completion(struct bunsen_side *b, const struct bsn_completion *c)
{
	struct bsn_qp_error error;

	if (bsn_qp_error(b->qp[c->id], &error) || !error.has_failed)
		error = (struct bsn_qp_error){ .first = *c };
	c = &error.first; /* of what was flushed, too */
	return complain_of_failure(&b->side, c->status, c->syndrome, c->vendor_syndrome,
				   error.text);
}

static int reap_from(struct bunsen_side *b, struct bsn_cq *cq, uint32_t *qps)
{
	struct bsn_completion c[TRAFFIC_BURST];
	const int n = bsn_poll(cq, c, TRAFFIC_BURST);

	if (n < 0)
		return complain_of_post("poll", n);
	for (int i = 0; i < n; i++) {
		if (c[i].status)
			return complain_of_completion(b, &c[i]);
		qps[i] = (uint32_t)c[i].id;
	}
	return n;
}

static int reap(struct side *side, uint32_t *qps)
{
	struct bunsen_side *b = (struct bunsen_side *)side;

	return reap_from(b, b->cq, qps);
}

static int reap_recv(struct side *side, uint32_t *qps)
{
	struct bunsen_side *b = (struct bunsen_side *)side;

	return reap_from(b, b->recv_cq, qps);
}

static void close_side(struct side *side)
{
	struct bunsen_side *b = (struct bunsen_side *)side;

	for (unsigned qp = 0; qp < side->plan.qps; qp++) {
		if (side->plan.type == BSN_QP_UD)
			bsn_ep_destroy(b->ep[qp]);
		bsn_qp_destroy(b->qp[qp]);
	}
	bsn_cq_destroy(b->cq);
	bsn_cq_destroy(b->recv_cq);
	bsn_mr_deregister(b->mr);
	free(b);
}

static void tell_address(struct side *side, unsigned qp, struct bsn_address *address)
{
	bsn_qp_address(((struct bunsen_side *)side)->qp[qp], address);
}

static int connect_side(struct side *side, unsigned qp, const struct bsn_address *peer)
{
	struct bunsen_side *b = (struct bunsen_side *)side;
	const struct bsn_connect_attr *attr = &side->plan.connect;
	const bool is_ud = side->plan.type == BSN_QP_UD;
	int err = bsn_qp_connect(b->qp[qp], is_ud ? NULL : peer, attr);

	if (!err && is_ud)
		err = bsn_ep_create(b->qp[qp], peer, attr, NULL, &b->ep[qp]);
	return err ? -complain_of("connect", err) : 0;
}

static void resize(struct side *side)
{
	((struct bunsen_side *)side)->out.length = (uint32_t)side->plan.size;
}

static const struct side_ops bunsen_ops = {
	.close = close_side,
	.address = tell_address,
	.connect = connect_side,
	.post = post,
	.post_recv = post_recv,
	.reap = reap,
	.reap_recv = reap_recv,
	.resize = resize,
};

static int make(struct bunsen_side *b, struct bsn_device *device)
{
	struct side *s = &b->side;
	/* Room for requests of two blocks, which inline data may need, twice over. */
	const struct bsn_cq_attr cq = { .entries = 4 * s->plan.depth * s->plan.qps };
	int err = bsn_cq_create(device, &cq, &b->cq);

	if (!err)
		err = bsn_cq_create(device, &cq, &b->recv_cq);
	for (unsigned qp = 0; qp < s->plan.qps && !err; qp++)
		err = bsn_qp_create(device,
				    &(struct bsn_qp_attr){
					    .type = s->plan.type,
					    .cq = b->cq,
					    .recv_cq = b->recv_cq,
					    .send_depth = s->plan.depth,
					    .recv_depth = s->plan.depth,
					    .max_inline = s->has_inline ? s->plan.inline_max : 0,
				    },
				    &b->qp[qp]);
	if (!err)
		err = bsn_mr_register(device, s->memory.base, s->memory.length, NULL, &b->mr);
	return err;
}

static struct bunsen_side *new_side(const struct plan *plan, const struct side_memory *memory)
{
	struct bunsen_side *b = calloc(1, sizeof(*b));

	if (!b) {
		complain("no memory");
		return NULL;
	}
	side_init(&b->side, &bunsen_ops, plan, memory);
	return b;
}

static void set_hot(struct bunsen_side *b, uint32_t lkey, uint32_t rkey)
{
	const struct side_memory *memory = &b->side.memory;
	const uint32_t size = (uint32_t)b->side.plan.size;

	for (unsigned qp = 0; qp < b->side.plan.qps; qp++) {
		b->ep[qp] = b->side.plan.type == BSN_QP_UD ? NULL : bsn_qp_ep(b->qp[qp]);
		b->rq[qp] = bsn_qp_rq(b->qp[qp]);
	}
	b->out = (struct bsn_sge){ (uintptr_t)memory->out, size, lkey };
	b->in = (struct bsn_sge){ (uintptr_t)memory->in, (uint32_t)room_of(&b->side.plan), lkey };
	b->side.here = (struct bsn_remote){ (uintptr_t)memory->in, rkey };
}

int side_bunsen_open(struct bsn_device *device, const struct plan *plan,
		     const struct side_memory *memory, struct side **side)
{
	struct bunsen_side *b = new_side(plan, memory);
	int err;

	if (!b)
		return -1;
	err = make(b, device);
	if (err) {
		complain_of("queues", err);
		close_side(&b->side);
		return -1;
	}
	set_hot(b, b->mr->lkey, b->mr->rkey);
	*side = &b->side;
	return 0;
}

/* -- attached ---------------------------------------------------------------------------------- */

static void close_attached(struct side *side)
{
	struct bunsen_side *b = (struct bunsen_side *)side;

	bsn_qp_destroy(b->qp[0]);
	if (b->id->qp)
		rdma_destroy_qp(b->id);
	if (b->verbs_cq)
		ibv_destroy_cq(b->verbs_cq);
	if (b->verbs_recv_cq)
		ibv_destroy_cq(b->verbs_recv_cq);
	if (b->verbs_mr)
		ibv_dereg_mr(b->verbs_mr);
	free(b);
}

/* The connection manager sees to both. */
static void tell_no_address(struct side *side, unsigned qp, struct bsn_address *address)
{
	(void)side;
	(void)qp;
	(void)address;
}

static int connect_nothing(struct side *side, unsigned qp, const struct bsn_address *peer)
{
	(void)side;
	(void)qp;
	(void)peer;
	return 0;
}

static const struct side_ops attached_ops = {
	.close = close_attached,
	.address = tell_no_address,
	.connect = connect_nothing,
	.post = post,
	.post_recv = post_recv,
	.reap = reap,
	.reap_recv = reap_recv,
	.resize = resize,
};

/* What a program that uses rdma_cm does anyway. 0 or -errno. */
static int make_verbs(struct bunsen_side *b)
{
	const struct side *s = &b->side;
	struct ibv_context *context = b->id->verbs;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = s->plan.depth,
			 .max_recv_wr = s->plan.depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = s->has_inline ? s->plan.inline_max : 0 },
	};

	errno = 0;
	b->verbs_cq = ibv_create_cq(context, (int)s->plan.depth * 4, NULL, NULL, 0);
	b->verbs_recv_cq = ibv_create_cq(context, (int)s->plan.depth * 4, NULL, NULL, 0);
	init.send_cq = b->verbs_cq;
	init.recv_cq = b->verbs_recv_cq;
	if (!b->verbs_cq || !b->verbs_recv_cq || rdma_create_qp(b->id, NULL, &init))
		return errno ? -errno : -ENOMEM;
	b->verbs_mr = ibv_reg_mr(b->id->qp->pd, s->memory.base, s->memory.length,
				 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	return b->verbs_mr ? 0 : -errno;
}

int side_attached_open(struct bsn_device *device, struct rdma_cm_id *id, const struct plan *plan,
		       const struct side_memory *memory, struct side **side)
{
	/* There is no other queue pair in this process. */
	const struct bsn_attach_attr attr = { .register_is_ours = true };
	struct bunsen_side *b = new_side(plan, memory);
	int err;

	if (!b)
		return -1;
	b->side.ops = &attached_ops;
	b->id = id;
	err = make_verbs(b);
	if (err)
		complain("queues: %s", strerror(-err));
	else if ((err = bsn_qp_attach(device, id->qp, &attr, &b->qp[0])))
		complain_of("attach", err);
	if (err) {
		close_attached(&b->side);
		return -1;
	}
	b->cq = bsn_qp_info(b->qp[0])->cq;
	b->recv_cq = bsn_qp_info(b->qp[0])->recv_cq;
	set_hot(b, b->verbs_mr->lkey, b->verbs_mr->rkey);
	*side = &b->side;
	return 0;
}
