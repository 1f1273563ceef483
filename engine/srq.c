/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. */
#include "init.h"
#include "path.h"

#include <stdlib.h>

static struct srq_object *srq_of(const struct bsn_rq *rq)
{
	return dv_rq(rq)->owner;
}

static struct ibv_srq *create_basic(struct srq_object *srq, struct ibv_srq_attr *attr)
{
	struct ibv_srq_init_attr init;
	struct ibv_srq *created;

	/* libibverbs 44 copies even the padding, and reads it as a mask (cmd_srq.c). */
	memset(&init, 0, sizeof(init));
	init.srq_context = srq;
	init.attr = *attr;
	created = ibv_create_srq(srq->pd->verbs, &init);
	*attr = init.attr;
	return created;
}

static struct ibv_srq *create_xrc(struct srq_object *srq, struct ibv_srq_attr *attr)
{
	struct ibv_srq_init_attr_ex init = {
		.srq_context = srq,
		.attr = *attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = srq->pd->verbs,
		.xrcd = srq->xrcd->verbs,
		.cq = srq->cq->verbs,
	};
	struct ibv_srq *created = ibv_create_srq_ex(srq->device->context, &init);

	*attr = init.attr;
	if (created && ibv_get_srq_num(created, &srq->number)) {
		ibv_destroy_srq(created);
		return NULL;
	}
	return created;
}

static int create_verbs(struct srq_object *srq, uint32_t depth, uint32_t max_sge)
{
	struct ibv_srq_attr granted = { .max_wr = depth, .max_sge = max_sge };

	errno = 0;
	srq->verbs = srq->xrcd ? create_xrc(srq, &granted) : create_basic(srq, &granted);
	if (!srq->verbs) {
		const int error = errno ? errno : EIO;
		return fail(error, "cannot create an SRQ of %u receives with %u SGEs: %s%s", depth,
			    max_sge, strerror(error), memlock_hint(error));
	}
	/* The list always keeps one WQE, so the ring has one more than fits: a power of two. */
	srq->slots = granted.max_wr + 1;
	srq->depth = depth;
	srq->max_sge = max_sge;
	return 0;
}

/* -- SRQs of XRC ------------------------------------------------------------------------------ */

/* Checks an SRQ of XRC. Its receives complete on a CQ of its own, and take entries of that. */
static int check_xrc(const struct bsn_device *device, const struct bsn_srq_attr *attr)
{
	const struct cq_object *cq = attr->cq ? cq_of(attr->cq) : NULL;

	if (!attr->xrcd)
		return cq ? fail(EINVAL, "only an SRQ of XRC has a CQ: receives of others "
					 "complete on their QPs' CQs")
			  : 0;
	if (attr->xrcd->device != device)
		return fail(EINVAL,
			    "the XRC domain is of another device: bsn_xrcd_open() it on this one");
	if (!cq)
		return fail(EINVAL, "an SRQ of XRC completes on a CQ of its own: name it");
	if (cq->device != device)
		return fail(EINVAL, "the CQ is of another device");
	if (cq->ignores_overrun)
		return fail(EOPNOTSUPP, "receives of an SRQ need a CQ without ignores_overrun");
	if (cq->path != device->path || !cq->owns_verbs)
		return fail(EINVAL, "the CQ is attached: create another one");
	return 0;
}

static int add_to_cq(struct srq_object *srq)
{
	int err = bsn_cq_find(srq->cq->ring, BSN_CQ_XRC) ? -EBUSY : 0;

	if (!err)
		err = bsn_cq_add(srq->cq->ring, BSN_CQ_XRC, &srq->route.hot);
	if (err == -EBUSY)
		return fail(EBUSY,
			    "the CQ has an SRQ of XRC already, and its CQEs would not tell them "
			    "apart: create another one");
	return err ? fail(-err, "no memory") : 0;
}

static int join_cq(struct srq_object *srq)
{
	int err;

	srq->route.hot.rq = srq->rq;
	srq->route.hot.user = srq->user;
	srq->route.transport = BSN_TRANSPORT_XRC;
	pthread_mutex_lock(&srq->device->cq_lock);
	err = cq_has_room(srq->cq, srq->depth);
	if (!err) {
		cq_lock(srq->cq);
		err = add_to_cq(srq);
		cq_unlock(srq->cq);
	}
	if (!err)
		cq_charge(srq->cq, srq->depth);
	pthread_mutex_unlock(&srq->device->cq_lock);
	if (!err)
		use(&srq->xrcd->uses);
	return err;
}

static void leave_cq(struct srq_object *srq)
{
	cq_lock(srq->cq);
	bsn_cq_remove(srq->cq->ring, BSN_CQ_XRC);
	cq_unlock(srq->cq);
	cq_give(srq->cq, srq->depth);
	unuse(&srq->xrcd->uses);
}

/* -- all SRQs --------------------------------------------------------------------------------- */

static int check(struct bsn_device *device, const struct bsn_srq_attr *attr)
{
	if (!pd_of(device, attr->pd))
		return -EINVAL;
	if (attr->recv_depth > (uint32_t)device->limits.max_srq_wr ||
	    attr->max_recv_sge > (uint32_t)device->limits.max_srq_sge)
		return fail(EINVAL,
			    "an SRQ of %u receives with %u SGEs: the device takes %d with %d",
			    attr->recv_depth, attr->max_recv_sge, device->limits.max_srq_wr,
			    device->limits.max_srq_sge);
	return check_xrc(device, attr);
}

static struct srq_object *new_srq(struct bsn_device *device, const struct bsn_srq_attr *attr)
{
	struct srq_object *srq = calloc(1, sizeof(*srq));

	if (!srq)
		return NULL;
	srq->device = device;
	srq->path = device->path;
	srq->pd = pd_of(device, attr->pd);
	srq->user = attr->user;
	srq->is_on_demand = attr->is_on_demand;
	srq->xrcd = attr->xrcd;
	srq->cq = attr->cq ? cq_of(attr->cq) : NULL;
	return srq;
}

int bsn_srq_create(struct bsn_device *device, const struct bsn_srq_attr *given, struct bsn_rq **out)
{
	const struct bsn_srq_attr attr = given ? *given : (struct bsn_srq_attr){ 0 };
	struct srq_object *srq;
	int err;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the SRQ");
	err = check(device, &attr);
	if (err)
		return err;
	srq = new_srq(device, &attr);
	if (!srq)
		return fail(ENOMEM, "no memory");
	err = create_verbs(srq, or_else(attr.recv_depth, DEFAULT_RECVS),
			   or_else(attr.max_recv_sge, 1));
	if (err)
		goto free_srq;
	err = srq->path->srq_make(srq);
	if (err)
		goto destroy_verbs;
	err = checks_add_srq(srq);
	if (!err && srq->xrcd)
		err = join_cq(srq);
	if (err)
		goto free_queue;
	use(&srq->pd->uses);
	use(&device->uses[OF_SRQS]);
	list_srq(srq);
	registry_add_srq(srq);
	*out = srq->rq;
	return 0;

free_queue:
	checks_remove_srq(srq);
	srq->path->srq_free(srq);
destroy_verbs:
	ibv_destroy_srq(srq->verbs);
free_srq:
	free(srq);
	return err;
}

int bsn_srq_destroy(struct bsn_rq *rq)
{
	struct srq_object *srq;
	int err;

	if (!rq)
		return 0;
	srq = srq_of(rq);
	if (atomic_load(&srq->uses.count))
		return fail(EBUSY, "QPs still receive from this SRQ: destroy them first");
	err = srq->xrcd ? srq->path->srq_leave(srq) : 0;
	if (err)
		return err;
	registry_remove_srq(srq);
	err = destroyed(srq->device, ibv_destroy_srq(srq->verbs));
	if (err) {
		registry_add_srq(srq);
		return fail(-err, "QPs outside of Bunsen still use this SRQ");
	}
	unlist_srq(srq);
	if (srq->xrcd)
		leave_cq(srq);
	checks_remove_srq(srq);
	srq->path->srq_free(srq);
	unuse(&srq->pd->uses);
	unuse(&srq->device->uses[OF_SRQS]);
	free(srq);
	return 0;
}

uint32_t bsn_srq_number(const struct bsn_rq *rq)
{
	return rq && dv_rq(rq)->is_srq ? srq_of(rq)->number : 0;
}

int bsn_srq_set_limit(struct bsn_rq *rq, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };
	int err;

	if (!rq)
		return fail(EINVAL, "no SRQ");
	if (limit > srq_of(rq)->depth)
		return fail(EINVAL,
			    "a limit of %u is above the %u receives that the SRQ was made for",
			    limit, srq_of(rq)->depth);
	err = provider_error_of_int(ibv_modify_srq(srq_of(rq)->verbs, &attr, IBV_SRQ_LIMIT));
	return err ? fail(-err, "cannot set the limit to %u: %s", limit, strerror(-err)) : 0;
}
