/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs path's QPs and endpoints, and its operations. */
#include "verbs.h"

/*
 * The domain for a QP. If one thread posts to it, that is a domain in which libmlx5 takes no lock,
 * if there is one.
 */
static struct ibv_pd *domain_of(struct bsn_qp *qp)
{
	if (qp->lane->dv.lock || lane_make_domain(qp))
		return qp->pd->verbs;
	return qp->parent_domain ? qp->parent_domain : qp->pd->verbs;
}

static void drop_domain(struct bsn_qp *qp)
{
	if (qp->parent_domain)
		ibv_dealloc_pd(qp->parent_domain);
	qp->parent_domain = NULL;
}

/*
 * Creates a QP. libmlx5's post by ibv_wr_*, which costs less. Others post by ibv_post_send(), which
 * every provider does right: rxe's ibv_wr_* adds up a list wrongly and needs IBV_SEND_INLINE, too
 * (rdma-core 44, providers/rxe/rxe.c).
 */
static int qp_create(struct bsn_qp *qp, const struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr plain = *init;
	struct ibv_qp_init_attr_ex extended = {
		.qp_context = init->qp_context,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap = init->cap,
		.qp_type = init->qp_type,
		.sq_sig_all = init->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = domain_of(qp),
		.send_ops_flags = transport_send_ops(qp->transport, has_atomics(qp->device)),
	};
	struct ibv_qp *created = NULL;

	if (provider_is_mlx5(qp->device->context->device))
		created = ibv_create_qp_ex(qp->device->context, &extended);
	/* The domain may be the reason: tries without it, and reports what that call says. */
	if (!created) {
		drop_domain(qp);
		errno = 0;
		created = ibv_create_qp(qp->pd->verbs, &plain);
	}
	if (created)
		qp->verbs = created;
	return provider_error_of_pointer(created);
}

static uint32_t qp_sends(const struct bsn_qp *qp)
{
	return qp->info.send_depth;
}

static int qp_adopt(struct bsn_qp *qp, uint32_t wanted)
{
	if (wanted)
		qp->info.send_depth = wanted;
	qp->sends_bb = qp_sends(qp);
	return 0;
}

static void qp_free(struct bsn_qp *qp)
{
	if (qp->sq)
		verbs_sq_free(send_queue_of(qp->sq));
	if (!qp->srq)
		verbs_rq_free(qp->rq);
}

static int qp_make(struct bsn_qp *qp, const struct bsn_qp_attr *attr)
{
	int err = verbs_rq_make(qp);

	if (!err)
		err = verbs_sq_make(qp, attr);
	if (err)
		qp_free(qp);
	else if (qp->lane)
		use(&qp->lane->uses);
	return err;
}

/*
 * Begins a new life of the queues. Not every provider removes old completions from the CQ; those
 * name an earlier life.
 */
static void qp_clear(struct bsn_qp *qp)
{
	verbs_sq_clear(send_queue_of(qp->sq));
	if (!qp->srq)
		verbs_rq_clear(recv_queue_of(qp->rq));
}

/* Posts a marker to a QP in error, as on the direct path. */
static void post_marker(struct bsn_qp *qp)
{
	qp->wants_marker = verbs_sq_post_marker(send_queue_of(qp->sq)) == -EAGAIN;
}

static void qp_outstanding(struct bsn_qp *qp, struct bsn_outstanding *outstanding)
{
	if (qp->wants_marker)
		post_marker(qp);
	outstanding->sends = verbs_sq_outstanding(send_queue_of(qp->sq));
	outstanding->recvs = qp->srq ? 0 : verbs_rq_outstanding(recv_queue_of(qp->rq));
}

static int qp_failed(struct bsn_qp *qp)
{
	const int err = verbs_sq_ring(qp->sq);

	if (!err && verbs_sq_outstanding(send_queue_of(qp->sq)))
		post_marker(qp);
	return err ? fail(-err, "the provider takes no requests in the error state: %s",
			  strerror(-err))
		   : 0;
}

/* -- endpoints of a QP with many peers ------------------------------------------------------- */

static int ep_make(struct ep_object *ep, uint32_t qpn, uint64_t key)
{
	ep->verbs.qpn = qpn;
	ep->verbs.qkey = (uint32_t)key;
	return 0;
}

static void ep_leave(const struct ep_object *ep)
{
	struct send_queue *sq = send_queue_of(ep->qp->sq);

	if (sq->last_ep == &ep->hot.ep)
		sq->last_ep = NULL;
}

/*
 * libmlx5 counts blocks, and reserves two for a request, as an atomic with inline data would need.
 */
static uint32_t most_sends(const struct bsn_device *device)
{
	const uint32_t most = (uint32_t)device->limits.max_qp_wr;

	return provider_is_mlx5(device->context->device) ? most / 2 : most;
}

/* The provider rings, without a lock if the lane is one thread's. */
static int lane_open(struct lane_object *lane)
{
	struct ibv_td_init_attr attr = { 0 };

	if (provider_is_mlx5(lane->device->context->device))
		lane->td = ibv_alloc_td(lane->device->context, &attr);
	return 0;
}

const struct path_ops verbs_path = {
	.name = "verbs",
	.path = BSN_PATH_VERBS,
	.most_sends = most_sends,
	.lane_open = lane_open,
	.cq_create = verbs_cq_create,
	.cq_make = verbs_cq_make,
	.cq_free = verbs_cq_free,
	.cq_is_known = verbs_cq_is_known,
	.cq_resize = verbs_cq_resize,
	.cq_request = verbs_cq_request,
	.srq_make = verbs_srq_make,
	.srq_free = verbs_srq_free,
	.srq_leave = verbs_srq_leave,
	.srq_free_slots = verbs_srq_free_slots,
	.qp_sends = qp_sends,
	.qp_create = qp_create,
	.qp_adopt = qp_adopt,
	.qp_make = qp_make,
	.qp_free = qp_free,
	.qp_clear = qp_clear,
	.qp_leave = verbs_qp_leave,
	.qp_failed = qp_failed,
	.qp_outstanding = qp_outstanding,
	.ep_make = ep_make,
	.ep_leave = ep_leave,
	.recvs_move = verbs_recvs_move,
	.recvs_drop = verbs_recvs_drop,
};
