/* SPDX-License-Identifier: BSD-2-Clause */
/* A side of Bunsen's, on the direct path or on plain verbs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "traffic.h"

struct bunsen_side {
	struct side side; /* first */
	struct bsn_cq *cq, *recv_cq;
	struct bsn_qp *qp[TRAFFIC_QPS_MAX];
	struct bsn_ep *ep[TRAFFIC_QPS_MAX];
	struct bsn_rq *rq[TRAFFIC_QPS_MAX];
	struct bsn_mr *mr;
};

static int complain_of_post(const char *what, int error)
{
	return SIDE_FAILS("%s: %s", what,
			  error == -EOPNOTSUPP ? "the device or path cannot" : strerror(-error));
}

/* A request's id is the index of its queue pair. */
static int post_one(const struct side *s, struct bsn_ep *ep, unsigned qp, unsigned flags)
{
	const bool is_inline = has_inline(&s->plan, s->plan.size);
	const void *const data = s->memory;

	switch (s->plan.op) {
	case TRAFFIC_WRITE:
		return is_inline ? bsn_write_inline(ep, data, s->out.length, &s->there, qp, flags)
				 : bsn_write(ep, &s->out, &s->there, qp, flags);
	case TRAFFIC_READ:
		return bsn_read(ep, &s->out, &s->there, qp, flags);
	case TRAFFIC_SEND:
		return is_inline ? bsn_send_inline(ep, data, s->out.length, qp, flags)
				 : bsn_send(ep, &s->out, qp, flags);
	default:
		return bsn_fetch_add(ep, &s->out, &s->there, 1, qp, flags);
	}
}

static int post(struct side *side, unsigned qp, unsigned count)
{
	struct bsn_ep *const ep = ((struct bunsen_side *)side)->ep[qp];
	int err = 0;

	for (; count > 1 && !err; count--)
		err = post_one(side, ep, qp, BSN_F_SIGNALED);
	if (!err)
		err = post_one(side, ep, qp, BSN_F_SIGNALED | BSN_F_RING);
	return err ? complain_of_post(traffic_op_names[side->plan.op], err) : 0;
}

static int post_recv(struct side *side, unsigned qp, unsigned count)
{
	struct bsn_rq *const rq = ((struct bunsen_side *)side)->rq[qp];
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++)
		err = bsn_recv(rq, &side->in, qp);
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

static int reap(struct side *side, bool of_messages, uint32_t *qps)
{
	struct bunsen_side *b = (struct bunsen_side *)side;
	struct bsn_completion c[TRAFFIC_BURST];
	const int n = bsn_poll(of_messages ? b->recv_cq : b->cq, c, TRAFFIC_BURST);

	if (n < 0)
		return complain_of_post("poll", n);
	for (int i = 0; i < n; i++) {
		if (c[i].status)
			return complain_of_completion(b, &c[i]);
		qps[i] = (uint32_t)c[i].id;
	}
	return n;
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
}

static const struct side_ops bunsen_ops = {
	.close = close_side,
	.address = tell_address,
	.connect = connect_side,
	.post = post,
	.post_recv = post_recv,
	.reap = reap,
};

static int make(struct bunsen_side *b, struct bsn_device *device)
{
	struct side *s = &b->side;
	/* Room for requests of two blocks, which inline data may need, twice over. */
	const struct bsn_cq_attr cq = { .entries = 4 * s->plan.depth * s->plan.qps };
	struct bsn_qp_attr attr = { .type = s->plan.type,
				    .send_depth = s->plan.depth,
				    .recv_depth = s->plan.depth,
				    .max_inline = longest_inline(&s->plan) };
	int err = bsn_cq_create(device, &cq, &b->cq);

	if (!err)
		err = bsn_cq_create(device, &cq, &b->recv_cq);
	attr.cq = b->cq;
	attr.recv_cq = b->recv_cq;
	for (unsigned qp = 0; qp < s->plan.qps && !err; qp++)
		err = bsn_qp_create(device, &attr, &b->qp[qp]);
	if (!err)
		err = bsn_mr_register(device, s->memory, s->length, NULL, &b->mr);
	if (err)
		return SIDE_FAILS("queues: %s",
				  *bsn_error_text() ? bsn_error_text() : strerror(-err));
	side_name_memory(s, b->mr->lkey, b->mr->rkey);
	return 0;
}

int side_bunsen_open(struct bsn_device *device, const struct plan *plan, struct side **side)
{
	struct bunsen_side *b = calloc(1, sizeof(*b));

	if (!b)
		return SIDE_FAILS("no memory");
	*side = &b->side;
	if (side_init(*side, &bunsen_ops, plan) || make(b, device))
		return -1;
	for (unsigned qp = 0; qp < plan->qps; qp++) {
		b->ep[qp] = plan->type == BSN_QP_UD ? NULL : bsn_qp_ep(b->qp[qp]);
		b->rq[qp] = bsn_qp_rq(b->qp[qp]);
	}
	return 0;
}
