/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QPs that the application made. What cannot be seen from outside is the caller's word
 * (bsn_attach_attr); what can be seen is checked: that nothing was posted or polled yet.
 */
#include "engine.h"

#include <stdlib.h>

static int type_of(const struct ibv_qp *verbs, enum bsn_qp_type *type)
{
	switch (verbs->qp_type) {
	case IBV_QPT_RC:
		*type = BSN_QP_RC;
		return 0;
	case IBV_QPT_UC:
		*type = BSN_QP_UC;
		return 0;
	case IBV_QPT_UD:
		*type = BSN_QP_UD;
		return 0;
	default:
		return fail(EOPNOTSUPP, "only RC, UC and UD QPs can be attached");
	}
}

/*
 * What the application asked for is what the CQ was sized for: so many blocks may be outstanding, or
 * so many as the longest request takes; unless the caller knows better.
 */
static int size_sends(struct qp_object *qp, uint32_t wanted)
{
	const uint32_t longest = direct_longest_bb(qp), given = qp->limits.send_depth;
	const struct ibv_cq *cq = qp->verbs->send_cq;

	if (!given)
		return fail(EOPNOTSUPP, "the QP has no send queue: create it with max_send_wr 1");
	if (wanted > given)
		return fail(EINVAL, "send_depth is %u: the QP was made for %u", wanted, given);
	qp->sends_bb = wanted ? wanted * longest : given > longest ? given : longest;
	if (!qp->direct) {
		qp->limits.send_depth = wanted ? wanted : given;
		return 0;
	}
	/* An mlx5 CQ has one entry more than it owns up to. */
	if (wanted && qp->sends_bb > (uint32_t)cq->cqe + 1)
		return fail(EINVAL,
			    "send_depth is %u: the CQ has %d entries, and each request may "
			    "take %u",
			    wanted, cq->cqe, longest);
	qp->limits.send_depth = qp->sends_bb / longest;
	return 0;
}

static int read_limits(struct qp_object *qp, struct bsn_attach_attr *attach)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	const int err = provider_error_of_int(ibv_query_qp(qp->verbs, &attr, IBV_QP_CAP, &init));

	if (err)
		return fail(-err, "cannot query the QP: %s", strerror(-err));
	qp->limits = (struct bsn_qp_limits){ .send_depth = init.cap.max_send_wr,
					     .recv_depth = init.cap.max_recv_wr,
					     .max_send_sge = init.cap.max_send_sge,
					     .max_recv_sge = init.cap.max_recv_sge,
					     .max_inline = init.cap.max_inline_data };
	attach->signal_all |= init.sq_sig_all;
	return size_sends(qp, attach->send_depth);
}

static bool is_attached(struct bsn_device *device, const struct ibv_qp *verbs)
{
	const struct qp_object *qp;

	pthread_mutex_lock(&device->lock);
	for (qp = device->qps; qp; qp = qp->next)
		if (qp->verbs == verbs)
			break;
	pthread_mutex_unlock(&device->lock);
	return qp;
}

static bool was_posted_to(const struct ibv_qp *verbs)
{
	struct bsn_dbr_wq recv, send;
	struct provider_qp map;

	if (!provider_is_mlx5(verbs->context->device))
		return false; /* it cannot be told */
	if (provider_qp_map((struct ibv_qp *)(uintptr_t)verbs, &map))
		return false;
	bsn_dbr_wq_decode(&recv, (uint8_t *)map.record + BSN_DBR_RECV_OFFSET);
	bsn_dbr_wq_decode(&send, (uint8_t *)map.record + BSN_DBR_SEND_OFFSET);
	return recv.index || send.index;
}

static int check(struct bsn_device *device, const struct ibv_qp *verbs, enum bsn_qp_type *type)
{
	const int err = type_of(verbs, type);

	if (err)
		return err;
	if (verbs->context != device->context)
		return fail(EINVAL, "the QP is of another device: see bsn_device_attach()");
	if (verbs->srq)
		return fail(EOPNOTSUPP, "a QP with an SRQ cannot be attached: receives of others "
					"would be ours to count");
	if (is_attached(device, verbs))
		return fail(EBUSY, "the QP is attached already");
	if (was_posted_to(verbs))
		return fail(EBUSY, "the QP was posted to already: attach before its first post");
	return 0;
}

static int attach_queues(struct qp_object *qp, const struct bsn_attach_attr *attr)
{
	const struct bsn_qp_attr as_created = { .type = qp->type,
						.signal_every = -1,
						.signal_all = attr->signal_all };
	struct bsn_lane *lane = NULL;
	int err = cq_adopt(qp->device, qp->verbs->send_cq, qp->direct, &qp->cq);

	if (err)
		return err;
	err = cq_adopt(qp->device, qp->verbs->recv_cq, qp->direct, &qp->recv_cq);
	if (err)
		goto drop_cq;
	/* A lane without a thread domain: the register is the QP's, and the caller's word that it is. */
	if (qp->direct)
		err = lane_of_register(qp->device, false, &lane);
	if (err)
		goto drop_recv_cq;
	qp->lane = lane ? lane_of(lane) : NULL;
	qp->owns_lane = lane != NULL;
	err = path_of(qp->direct)->qp_make(qp, &as_created);
	if (!err)
		return 0;
	bsn_lane_destroy(lane);
drop_recv_cq:
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
	enum bsn_qp_type type = BSN_QP_RC;
	struct qp_object *qp;
	int err;

	if (!device || !verbs || !out)
		return fail(EINVAL, "no device, no QP, or no place for the result");
	err = check(device, verbs, &type);
	if (err)
		return err;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return fail(ENOMEM, "no memory");
	qp->device = device;
	qp->verbs = verbs;
	qp->type = type;
	qp->direct = device->direct && attr.register_is_ours;
	qp->user = attr.user;
	qp->pd = &device->default_pd;
	choose_psn(qp);
	err = read_limits(qp, &attr);
	if (!err)
		err = attach_queues(qp, &attr);
	if (err) {
		free(qp);
		return err;
	}
	use(&qp->cq->uses);
	use(&qp->recv_cq->uses);
	hold_qp(qp);
	*out = (struct bsn_qp *)(void *)qp;
	return 0;
}
