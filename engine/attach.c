/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches QPs that the application created. The caller promises what Bunsen cannot see
 * (bsn_attach_attr). Bunsen checks what it can see: that nothing was posted or polled yet.
 */
#include "path.h"

#include <stdlib.h>

static void clamp(uint32_t *limit, uint32_t most)
{
	if (*limit > most)
		*limit = most;
}

/*
 * Lowers the limits to those of Bunsen's WQEs. libmlx5 grants inline data and SGEs for WQEs of up
 * to 64 DS; the device counts at most 63, and addresses of peers take some.
 */
static void clamp_limits(struct bsn_qp *qp)
{
	clamp(&qp->info.max_inline, transport_most_inline(qp->transport));
	clamp(&qp->info.max_send_sge, transport_most_sge(qp->transport));
}

static int read_limits(struct bsn_qp *qp, struct bsn_attach_attr *attach)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	const int err = provider_error_of_int(ibv_query_qp(qp->verbs, &attr, IBV_QP_CAP, &init));

	if (err)
		return fail(-err, "cannot query the QP: %s", strerror(-err));
	qp->info = (struct bsn_qp_info){ .send_depth = init.cap.max_send_wr,
					     .recv_depth = init.cap.max_recv_wr,
					     .max_send_sge = init.cap.max_send_sge,
					     .max_recv_sge = init.cap.max_recv_sge,
					     .max_inline = init.cap.max_inline_data };
	attach->signal_all |= init.sq_sig_all;
	if (provider_is_mlx5(qp->device->context->device))
		clamp_limits(qp);
	if (!qp->info.send_depth)
		return fail(EOPNOTSUPP, "the QP has no send queue: create it with max_send_wr 1");
	if (attach->send_depth > qp->info.send_depth)
		return fail(EINVAL, "send_depth is %u: the QP was made for %u", attach->send_depth,
			    qp->info.send_depth);
	return 0;
}

static bool is_attached(struct bsn_device *device, const struct ibv_qp *verbs)
{
	const struct bsn_qp *qp;

	pthread_mutex_lock(&device->lock);
	qp = listed_qp(device, verbs);
	pthread_mutex_unlock(&device->lock);
	return qp;
}

static bool was_posted_to(const struct ibv_qp *verbs)
{
	struct bsn_dbr_wq recv, send;
	struct provider_qp map;

	if (!provider_is_mlx5(verbs->context->device))
		return false; /* it cannot be seen */
	if (provider_qp_map((struct ibv_qp *)(uintptr_t)verbs, &map))
		return false;
	bsn_dbr_wq_decode(&recv, (uint8_t *)map.record + BSN_DBR_RECV_OFFSET);
	bsn_dbr_wq_decode(&send, (uint8_t *)map.record + BSN_DBR_SEND_OFFSET);
	return recv.index || send.index;
}

static int check(struct bsn_device *device, const struct ibv_qp *verbs)
{
	if (verbs->context != device->context)
		return fail(EINVAL, "the QP is of another device: see bsn_device_attach()");
	if (verbs->srq)
		return fail(EOPNOTSUPP, "a QP with an SRQ cannot be attached: Bunsen would have "
					"to count receives of other QPs");
	if (is_attached(device, verbs))
		return fail(EBUSY, "the QP is already attached");
	if (was_posted_to(verbs))
		return fail(EBUSY, "the QP was posted to: attach before its first post");
	return 0;
}

static int attach_queues(struct bsn_qp *qp, const struct bsn_attach_attr *attr)
{
	const struct bsn_qp_attr as_created = { .type = qp->type,
						.signal_every = -1,
						.signal_all = attr->signal_all };
	int err = cq_adopt(qp->device, qp->verbs->send_cq, qp->path, &qp->cq);

	if (err)
		return err;
	/* An XRC initiator may have no receive CQ. */
	err = cq_adopt(qp->device, qp->verbs->recv_cq ? qp->verbs->recv_cq : qp->verbs->send_cq,
		       qp->path, &qp->recv_cq);
	if (err)
		goto drop_cq;
	err = qp->path->qp_adopt(qp, attr->send_depth);
	if (!err)
		err = qp->path->qp_make(qp, &as_created);
	if (err)
		goto drop_cqs;
	err = checks_add_qp(qp);
	if (!err)
		err = route_qp(qp);
	if (!err)
		return 0;
	checks_remove_qp(qp);
	qp->path->qp_free(qp);
	if (qp->lane)
		lane_leave(qp->lane);
drop_cqs:
	if (qp->recv_cq != qp->cq)
		cq_drop_attached(qp->recv_cq);
drop_cq:
	cq_drop_attached(qp->cq);
	return err;
}

int bsn_qp_attach(struct bsn_device *device, struct ibv_qp *verbs,
		  const struct bsn_attach_attr *given, struct bsn_qp **out)
{
	struct bsn_attach_attr attr = given ? *given : (struct bsn_attach_attr){ 0 };
	const struct transport *transport;
	enum bsn_qp_type type;
	struct bsn_qp *qp;
	int err;

	if (!device || !verbs || !out)
		return fail(EINVAL, "no device, no QP, or no place for the result");
	transport = transport_of_verbs(verbs->qp_type, &type);
	if (!transport)
		return fail(EOPNOTSUPP, "only RC, UC, UD QPs and XRC initiators can be attached");
	err = check(device, verbs);
	if (err)
		return err;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return fail(ENOMEM, "no memory");
	qp->device = device;
	qp->verbs = verbs;
	qp->type = type;
	qp->transport = transport;
	qp->path = attr.register_is_ours ? device->path : &verbs_path;
	qp->user = attr.user;
	qp->pd = &device->default_pd;
	choose_psn(qp);
	err = read_limits(qp, &attr);
	qp->info.number = verbs->qp_num;
	if (!err)
		err = attach_queues(qp, &attr);
	if (err) {
		free(qp);
		return err;
	}
	pthread_mutex_lock(&device->cq_lock);
	charge_qp(qp, qp->sends_bb, qp->info.recv_depth);
	pthread_mutex_unlock(&device->cq_lock);
	hold_qp(qp);
	*out = qp;
	return 0;
}
