/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: their creation, error, reset and end. connect.c brings them up. */
#include "engine.h"

#include <stdlib.h>

#include "bsn_syndrome.h"

static enum ibv_qp_type verbs_type(enum bsn_qp_type type)
{
	return type == BSN_QP_RC ? IBV_QPT_RC : type == BSN_QP_UC ? IBV_QPT_UC : IBV_QPT_UD;
}

/* -- creation ----------------------------------------------------------------------------------- */

/* An attached CQ has no lane, and may be polled through verbs. */
static int check_cq(const struct bsn_device *device, const struct bsn_qp_attr *attr,
		    const struct cq_object *cq)
{
	if (cq->device != device)
		return fail(EINVAL, "the CQ is of another device");
	if (!cq->hot.path != device->direct)
		return fail(EINVAL, "the CQ is attached by way of verbs: create another one");
	if (!cq->lane && !attr->lane)
		return fail(EINVAL, "the CQ is an attached one and brings no lane: name one");
	return 0;
}

static int check_objects(const struct bsn_device *device, const struct bsn_qp_attr *attr)
{
	int err;

	if (!attr->cq)
		return fail(EINVAL, "a QP needs a CQ");
	err = check_cq(device, attr, cq_of(attr->cq));
	if (!err && attr->recv_cq)
		err = check_cq(device, attr, cq_of(attr->recv_cq));
	if (err)
		return err;
	if (attr->lane && lane_of(attr->lane)->device != device)
		return fail(EINVAL, "the lane is of another device");
	if (attr->pd && attr->pd->device != device)
		return fail(EINVAL, "the protection domain is of another device");
	if (attr->srq && !attr->srq->is_srq)
		return fail(EINVAL, "the receive queue is a QP's own, not an SRQ");
	if (attr->srq && ((const struct srq_object *)attr->srq->owner)->device != device)
		return fail(EINVAL, "the SRQ is of another device");
	return 0;
}

/* Bytes of inline data in the longest WQE, behind an address. */
static uint32_t most_inline(enum bsn_qp_type type)
{
	const uint32_t head = BSN_CTRL_SIZE + BSN_INLINE_HDR_SIZE +
			      (type == BSN_QP_UD ? BSN_AV_UD_GRH_SIZE : BSN_RADDR_SIZE);

	return BSN_SEND_MAX_DS * BSN_DS_SIZE - head;
}

static int check(const struct bsn_device *device, const struct bsn_qp_attr *attr)
{
	const struct bsn_device_info *info = &device->info;

	if (attr->type > BSN_QP_UD)
		return fail(EINVAL, "no such QP type: %d", (int)attr->type);
	if (attr->send_depth > info->max_send_wr || attr->recv_depth > info->max_send_wr)
		return fail(EINVAL, "depth %u or %u: the device takes %u", attr->send_depth,
			    attr->recv_depth, info->max_send_wr);
	if (attr->max_send_sge > info->max_sge || attr->max_recv_sge > info->max_sge)
		return fail(EINVAL, "%u or %u SGEs: the device takes %u", attr->max_send_sge,
			    attr->max_recv_sge, info->max_sge);
	if (attr->max_inline > most_inline(attr->type))
		return fail(EINVAL, "%u bytes inline: a WQE has room for %u", attr->max_inline,
			    most_inline(attr->type));
	return check_objects(device, attr);
}

static uint32_t or_default(uint32_t value, uint32_t if_zero)
{
	return value ? value : if_zero;
}

/* A datagram takes two blocks at least, for its address vector. */
static uint32_t default_sends(enum bsn_qp_type type)
{
	return type == BSN_QP_UD ? DEFAULT_SENDS_BB / 2 : DEFAULT_SENDS_BB;
}

static struct qp_object *new_qp(struct bsn_device *device, const struct bsn_qp_attr *attr)
{
	struct qp_object *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->device = device;
	qp->type = attr->type;
	qp->direct = device->direct;
	qp->user = attr->user;
	qp->cq = cq_of(attr->cq);
	qp->recv_cq = attr->recv_cq ? cq_of(attr->recv_cq) : qp->cq;
	qp->srq = attr->srq ? attr->srq->owner : NULL;
	qp->pd = attr->pd ? attr->pd : &device->default_pd;
	qp->lane = attr->lane ? lane_of(attr->lane) : qp->cq->lane;
	qp->limits.send_depth = or_default(attr->send_depth, default_sends(attr->type));
	qp->limits.recv_depth = qp->srq ? 0 : or_default(attr->recv_depth, DEFAULT_RECVS);
	qp->limits.max_send_sge = or_default(attr->max_send_sge, 1);
	qp->limits.max_recv_sge = qp->srq ? 0 : or_default(attr->max_recv_sge, 1);
	/* What a block has room for anyway, behind a control segment and an address. */
	qp->limits.max_inline = or_default(attr->max_inline, 28);
	qp->sends_bb = direct_sends_bb(qp);
	choose_psn(qp);
	return qp;
}

/* Another QP that receives from the same SRQ into the same CQ. */
static struct qp_object *find_sharer(const struct qp_object *qp)
{
	struct qp_object *other;

	pthread_mutex_lock(&qp->device->lock);
	for (other = qp->device->qps; other; other = other->next)
		if (other != qp && other->srq == qp->srq && other->recv_cq == qp->recv_cq)
			break;
	pthread_mutex_unlock(&qp->device->lock);
	return other;
}

/* Every CQE that full queues can give, successes or flushes; those of an SRQ only once a CQ. */
static int charge(struct qp_object *qp)
{
	const uint32_t sends = qp->direct ? qp->sends_bb : qp->limits.send_depth;
	const uint32_t recvs = !qp->srq          ? qp->limits.recv_depth
			       : find_sharer(qp) ? 0
						 : qp->srq->depth;
	int err = cq_charge(qp->cq, sends);

	if (err)
		return err;
	err = cq_charge(qp->recv_cq, recvs);
	if (err) {
		cq_discharge(qp->cq, sends);
		return err;
	}
	qp->charged_send = sends;
	qp->charged_recv = recvs;
	return 0;
}

static void discharge(struct qp_object *qp)
{
	struct qp_object *heir = qp->srq ? find_sharer(qp) : NULL;

	if (heir) {
		heir->charged_recv += qp->charged_recv;
		qp->charged_recv = 0;
	}
	cq_discharge(qp->recv_cq, qp->charged_recv);
	cq_discharge(qp->cq, qp->charged_send);
}

/* A QP gets its lane's register by being created on a parent domain with the lane's thread domain. */
static int make_parent_domain(struct qp_object *qp)
{
	struct ibv_parent_domain_init_attr attr = { .pd = qp->pd->verbs };

	if (!qp->direct || !qp->lane || !qp->lane->td)
		return 0;
	attr.td = qp->lane->td;
	errno = 0;
	qp->parent_domain = ibv_alloc_parent_domain(qp->device->context, &attr);
	return qp->parent_domain ? 0 : fail(errno ? errno : EIO, "no parent domain for the lane");
}

static int create_verbs(struct qp_object *qp)
{
	struct ibv_qp_init_attr init = {
		.qp_context = qp,
		.send_cq = qp->cq->verbs,
		.recv_cq = qp->recv_cq->verbs,
		.srq = qp->srq ? qp->srq->verbs : NULL,
		.qp_type = verbs_type(qp->type),
		.cap = { .max_send_wr = qp->limits.send_depth,
			 .max_recv_wr = qp->limits.recv_depth,
			 .max_send_sge = qp->limits.max_send_sge,
			 .max_recv_sge = qp->limits.max_recv_sge,
			 .max_inline_data = qp->limits.max_inline },
	};
	struct ibv_pd *pd = qp->parent_domain ? qp->parent_domain : qp->pd->verbs;
	int err;

	if (qp->direct) {
		err = provider_qp_create(qp->device->context, pd, &init, &qp->verbs);
	} else {
		err = verbs_qp_create(pd, &init, &qp->verbs);
	}
	if (err)
		return fail(-err, "cannot create a QP of %u sends (%u SGEs, %u bytes inline) and %u "
				  "receives (%u SGEs): %s%s",
			    qp->limits.send_depth, qp->limits.max_send_sge, qp->limits.max_inline,
			    qp->limits.recv_depth, qp->limits.max_recv_sge, strerror(-err),
			    memlock_hint(-err));
	qp->owns_verbs = true;
	return 0;
}

void hold_qp(struct qp_object *qp)
{
	qp->ep = (struct bsn_ep){ .sq = qp->sq, .bound = qp->sq, .user = qp->user, .owner = qp };
	use(&qp->device->uses);
	use(&qp->pd->uses);
	if (qp->lane)
		use(&qp->lane->uses);
	if (qp->srq)
		use(&qp->srq->uses);
	list_qp(qp);
	registry_add_qp(qp);
}

static void release(struct qp_object *qp)
{
	unlist_qp(qp);
	if (qp->srq)
		unuse(&qp->srq->uses);
	if (qp->lane)
		unuse(&qp->lane->uses);
	unuse(&qp->pd->uses);
	unuse(&qp->device->uses);
}

int bsn_qp_create(struct bsn_device *device, const struct bsn_qp_attr *attr, struct bsn_qp **out)
{
	struct qp_object *qp;
	int err;

	if (!device || !attr || !out)
		return fail(EINVAL, "no device, no attributes, or no place for the QP");
	err = check(device, attr);
	if (err)
		return err;
	qp = new_qp(device, attr);
	if (!qp)
		return fail(ENOMEM, "no memory");
	err = charge(qp);
	if (err)
		goto free_qp;
	err = make_parent_domain(qp);
	if (err)
		goto discharge;
	err = create_verbs(qp);
	if (err)
		goto free_domain;
	err = path_of(qp->direct)->qp_make(qp, attr);
	if (err)
		goto destroy_verbs;
	hold_qp(qp);
	*out = (struct bsn_qp *)(void *)qp;
	return 0;

destroy_verbs:
	ibv_destroy_qp(qp->verbs);
	if (qp->owns_lane)
		bsn_lane_destroy(&qp->lane->hot);
free_domain:
	if (qp->parent_domain)
		ibv_dealloc_pd(qp->parent_domain);
discharge:
	discharge(qp);
free_qp:
	free(qp);
	return err;
}

static int leave(struct qp_object *qp)
{
	const struct path_ops *path = path_of(qp->direct);

	return path->qp_leave ? path->qp_leave(qp) : 0;
}

int bsn_qp_destroy(struct bsn_qp *handle)
{
	struct qp_object *qp = qp_of(handle);
	int err;

	if (!qp)
		return 0;
	if (atomic_load(&qp->uses.count))
		return fail(EBUSY, "endpoints of this QP are still there: destroy them first");
	err = leave(qp);
	if (err)
		return err;
	registry_remove_qp(qp);
	if (qp->owns_verbs)
		err = destroyed(qp->device, ibv_destroy_qp(qp->verbs));
	if (err) {
		registry_add_qp(qp);
		return fail(-err, "cannot destroy the QP: %s", strerror(-err));
	}
	release(qp);
	path_of(qp->direct)->qp_free(qp);
	if (qp->parent_domain)
		ibv_dealloc_pd(qp->parent_domain);
	if (qp->owns_lane)
		bsn_lane_destroy(&qp->lane->hot);
	discharge(qp);
	cq_drop_attached(qp->cq);
	if (qp->recv_cq != qp->cq)
		cq_drop_attached(qp->recv_cq);
	free(qp);
	return 0;
}

/* -- what it consists of ------------------------------------------------------------------------ */

struct bsn_cq *bsn_qp_cq(struct bsn_qp *qp)
{
	return qp ? &qp_of(qp)->cq->hot : NULL;
}

struct bsn_cq *bsn_qp_recv_cq(struct bsn_qp *qp)
{
	return qp ? &qp_of(qp)->recv_cq->hot : NULL;
}

struct bsn_ep *bsn_qp_ep(struct bsn_qp *qp)
{
	return qp && qp_of(qp)->type != BSN_QP_UD ? &qp_of(qp)->ep : NULL;
}

struct bsn_sq *bsn_qp_sq(struct bsn_qp *qp)
{
	return qp ? qp_of(qp)->sq : NULL;
}

struct bsn_rq *bsn_qp_rq(struct bsn_qp *qp)
{
	return qp ? qp_of(qp)->rq : NULL;
}

struct ibv_qp *bsn_qp_verbs(struct bsn_qp *qp)
{
	return qp ? qp_of(qp)->verbs : NULL;
}

uint32_t bsn_qp_number(const struct bsn_qp *qp)
{
	return qp ? ((const struct qp_object *)(const void *)qp)->verbs->qp_num : 0;
}

int bsn_qp_limits(const struct bsn_qp *qp, struct bsn_qp_limits *limits)
{
	const struct qp_object *object = (const struct qp_object *)(const void *)qp;

	if (!qp || !limits)
		return fail(EINVAL, "no QP, or no place for its limits");
	*limits = object->limits;
	limits->sends_bb = object->direct ? object->sends_bb : object->limits.send_depth;
	return 0;
}

int bsn_qp_counters(const struct bsn_qp *handle, struct bsn_counters *counters)
{
	const struct qp_object *qp = (const struct qp_object *)(const void *)handle;

	if (!qp || !counters)
		return fail(EINVAL, "no QP, or no place for its counters");
	*counters = (struct bsn_counters){
		.blueflame = qp->direct ? bsn_sq_count_blueflame(qp->sq) : 0,
		.doorbells = qp->sq->count_doorbells,
		.send_full = qp->sq->count_full,
		.recv_full = qp->rq->count_full,
		.dropped_cqes = qp->cq->hot.count_dropped +
				(qp->recv_cq != qp->cq ? qp->recv_cq->hot.count_dropped : 0),
	};
	return 0;
}

int bsn_qp_hand_over(struct bsn_qp *handle)
{
	struct qp_object *qp = qp_of(handle);

	if (!qp)
		return fail(EINVAL, "no QP");
	qp->sq->owner_thread = 0;
	qp->rq->owner_thread = 0;
	if (qp->lane)
		qp->lane->hot.owner_thread = 0;
	return 0;
}

int bsn_cq_hand_over(struct bsn_cq *cq)
{
	if (!cq)
		return fail(EINVAL, "no CQ");
	cq->owner_thread = 0;
	return 0;
}

/* -- errors and reset --------------------------------------------------------------------------- */

static int move(struct qp_object *qp, enum ibv_qp_state state, const char *name)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	const int err = provider_error_of_int(ibv_modify_qp(qp->verbs, &attr, IBV_QP_STATE));

	return err ? fail(-err, "cannot take the QP to %s: %s", name, strerror(-err)) : 0;
}

int bsn_qp_fail(struct bsn_qp *handle)
{
	struct qp_object *qp = qp_of(handle);
	int err;

	if (!qp)
		return fail(EINVAL, "no QP");
	err = move(qp, IBV_QPS_ERR, "error");
	return err ? err : path_of(qp->direct)->qp_failed(qp);
}

int bsn_qp_reset(struct bsn_qp *handle)
{
	struct qp_object *qp = qp_of(handle);
	int err;

	if (!qp)
		return fail(EINVAL, "no QP");
	err = leave(qp);
	if (!err)
		err = move(qp, IBV_QPS_RESET, "reset");
	if (err)
		return err;
	path_of(qp->direct)->qp_clear(qp);
	memset(&qp->first_error, 0, sizeof(qp->first_error));
	return 0;
}

int bsn_qp_outstanding(struct bsn_qp *qp, struct bsn_outstanding *outstanding)
{
	if (!qp || !outstanding)
		return fail(EINVAL, "no QP, or no place for the result");
	return path_of(qp_of(qp)->direct)->qp_outstanding(qp_of(qp), outstanding);
}

int bsn_qp_error(struct bsn_qp *handle, struct bsn_qp_error *error)
{
	struct qp_object *qp = qp_of(handle);
	struct bsn_vendor_meaning meaning;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int err;

	if (!qp || !error)
		return fail(EINVAL, "no QP, or no place for the error");
	err = provider_error_of_int(ibv_query_qp(qp->verbs, &attr, IBV_QP_STATE, &init));
	if (err)
		return fail(-err, "cannot query the QP: %s", strerror(-err));
	*error = (struct bsn_qp_error){ .state = attr.qp_state,
					.has_failed = qp->first_error.status != IBV_WC_SUCCESS,
					.first = qp->first_error };
	error->text = "no request failed";
	if (error->has_failed) {
		bsn_vendor_explain(error->first.vendor_syndrome, &meaning);
		error->text = error->first.vendor_syndrome && meaning.doc ?
				      meaning.doc :
				      ibv_wc_status_str(error->first.status);
	}
	return 0;
}
