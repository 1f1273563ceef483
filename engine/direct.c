/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct path: hot structures over the queues that libmlx5 allocated. */
#include "engine.h"

#include <stdlib.h>

#include "init.h"
#include "users.h"

/* -- CQ ----------------------------------------------------------------------------------------- */

static int cq_make(struct cq_object *cq)
{
	const int err = provider_cq_map(cq->verbs, cq->spare, &cq->hot);

	return err ? fail(-err, "cannot map the CQ: %s", strerror(-err)) : 0;
}

static void cq_free(struct cq_object *cq)
{
	bsn_cq_fini(&cq->hot);
}

/* -- send queue --------------------------------------------------------------------------------- */

/* Units of the longest WQE that the queue was asked to take. */
static uint32_t max_ds(const struct qp_object *qp)
{
	const bool ud = qp->type == BSN_QP_UD;
	const uint32_t head = BSN_CTRL_SIZE + (ud ? BSN_AV_UD_GRH_SIZE : BSN_RADDR_SIZE);
	const uint32_t by_sge = head + qp->limits.max_send_sge * BSN_DATA_SIZE;
	const uint32_t by_inline = head + BSN_INLINE_HDR_SIZE + qp->limits.max_inline;
	const uint32_t by_atomic = ud ? 0 : head + BSN_ATOMIC_CS_SIZE + BSN_DATA_SIZE;
	uint32_t bytes = by_sge > by_inline ? by_sge : by_inline;

	if (bytes < by_atomic)
		bytes = by_atomic;
	return (bytes + BSN_DS_SIZE - 1) / BSN_DS_SIZE;
}

uint32_t direct_longest_bb(const struct qp_object *qp)
{
	return (max_ds(qp) + BSN_BB_DS - 1) / BSN_BB_DS;
}

uint32_t direct_sends_bb(const struct qp_object *qp)
{
	return qp->limits.send_depth * direct_longest_bb(qp);
}

static enum bsn_ce ce_of(const struct bsn_qp_attr *attr)
{
	return attr->signal_all ? BSN_CE_ALWAYS :
	       attr->ce_on_first_error ? BSN_CE_ON_FIRST_ERROR :
					 BSN_CE_ON_ERROR;
}

static int make_sq(struct qp_object *qp, const struct provider_qp *map,
		   const struct bsn_qp_attr *attr)
{
	const struct bsn_sq_init init = {
		.ring = map->sq_ring,
		.record = map->record + BSN_DBR_SEND_OFFSET / sizeof(*map->record),
		.lane = &qp->lane->hot,
		.count_bb = map->sq_count_bb,
		.capacity_bb = qp->sends_bb,
		.max_inline = qp->limits.max_inline,
		.max_sge = qp->limits.max_send_sge,
		.max_ds = max_ds(qp),
		.qpn = qp->verbs->qp_num,
		.transport = transport_of(qp->type),
		.store = qp->device->info.store,
		.ce_quiet = ce_of(attr),
		.signal_every = attr->signal_every,
	};

	if (qp->sends_bb > map->sq_count_bb)
		return fail(ENOMEM, "the device gave %u basic blocks, %u are needed",
			    map->sq_count_bb, qp->sends_bb);
	qp->sq = bsn_sq_alloc(&init);
	if (!qp->sq)
		return fail(ENOMEM, "no memory");
	qp->limits.max_inline = qp->sq->max_inline;
	qp->sq->user = qp->user;
	qp->sq->rq = qp->rq;
	qp->sq->first_error = &qp->first_error;
	return 0;
}

/* -- receive queues ----------------------------------------------------------------------------- */

static int make_rq(struct qp_object *qp, const struct provider_qp *map)
{
	const struct bsn_rq_init init = {
		.ring = map->rq_ring,
		.record = map->record + BSN_DBR_RECV_OFFSET / sizeof(*map->record),
		.count = map->rq_count,
		.capacity = qp->limits.recv_depth,
		.stride_bytes = map->rq_stride_bytes,
	};
	/* An application's QP may have none: it is full from the first day. */
	const struct bsn_rq_init none = { .count = 1, .stride_bytes = BSN_DATA_SIZE };

	if (qp->srq) {
		qp->rq = qp->srq->rq;
		return 0;
	}
	qp->rq = bsn_rq_alloc(map->rq_count ? &init : &none);
	if (!qp->rq)
		return fail(ENOMEM, "no memory");
	qp->rq->user = qp->user;
	qp->rq->owner = qp;
	return 0;
}

/*
 * The list of free WQEs is cut to what may be outstanding, and the one that stays behind: the CQ was
 * charged for no more.
 */
static uint16_t last_free(const struct provider_srq *map, uint32_t depth)
{
	struct bsn_srq_next link = { .next_wqe_index = map->head };

	for (uint32_t i = 0; i < depth; i++)
		bsn_srq_next_decode(&link,
				    map->ring + (size_t)link.next_wqe_index * map->stride_bytes);
	return (uint16_t)link.next_wqe_index;
}

static int srq_make(struct srq_object *srq)
{
	struct provider_srq map;
	const int err = provider_srq_map(srq->verbs, &map);

	if (err)
		return fail(-err, "cannot map the SRQ: %s", strerror(-err));
	srq->rq = bsn_rq_alloc(&(const struct bsn_rq_init){
		.ring = map.ring,
		.record = map.record,
		.count = srq->slots,
		.stride_bytes = map.stride_bytes,
		.is_srq = true,
		.first_free = map.head,
		.last_free = last_free(&map, srq->depth),
	});
	if (!srq->rq)
		return fail(ENOMEM, "no memory");
	srq->number = map.number;
	srq->rq->user = srq->user;
	srq->rq->owner = srq;
	return 0;
}

static void srq_free(struct srq_object *srq)
{
	bsn_rq_free(srq->rq);
}

/* -- QP ----------------------------------------------------------------------------------------- */

static void qp_free(struct qp_object *qp)
{
	if (qp->sq) {
		unroute_qp(qp);
		bsn_sq_free(qp->sq);
	}
	if (!qp->srq)
		bsn_rq_free(qp->rq);
}

/*
 * Where a lane got no thread domain, each of its queues has whatever register libmlx5 thought fit:
 * the first one's is the lane's, and one with another gets a lane of its own.
 */
static int adopt_register(struct qp_object *qp, const struct provider_qp *map)
{
	int err = lane_adopt_register(qp->lane, map->reg, map->blueflame_bytes);
	struct bsn_lane *own;

	if (err != -EXDEV || qp->lane->td)
		return err;
	err = lane_of_register(qp->device, true, &own);
	if (err)
		return err;
	qp->lane = lane_of(own);
	qp->owns_lane = true;
	return lane_adopt_register(qp->lane, map->reg, map->blueflame_bytes);
}

static int qp_make(struct qp_object *qp, const struct bsn_qp_attr *attr)
{
	struct provider_qp map;
	int err = provider_qp_map(qp->verbs, &map);

	if (err)
		return fail(-err, "cannot map the QP: %s", strerror(-err));
	err = adopt_register(qp, &map);
	if (!err)
		err = make_rq(qp, &map);
	if (!err)
		err = make_sq(qp, &map, attr);
	if (!err)
		err = route_qp(qp);
	if (err)
		qp_free(qp);
	return err;
}

static void qp_clear(struct qp_object *qp)
{
	unroute_qp(qp);
	bsn_sq_clear(qp->sq);
	if (!qp->srq)
		bsn_rq_clear(qp->rq);
	route_qp(qp); /* into the slots that were just left: needs no memory */
}

static int qp_outstanding(struct qp_object *qp, struct bsn_outstanding *outstanding)
{
	outstanding->sends_bb = bsn_sq_outstanding_bb(qp->sq);
	outstanding->recvs = qp->srq ? 0 : qp->rq->head - qp->rq->tail;
	return 0;
}

static int qp_failed(struct qp_object *qp)
{
	return bsn_sq_ring(qp->sq);
}

/* -- endpoints of a UD QP ----------------------------------------------------------------------- */

/* Of the endpoints of a QP, two may be made by two threads at once. */
static int number_ep(struct bsn_ep *ep)
{
	struct bsn_device *device = ((struct qp_object *)ep->owner)->device;
	int err;

	pthread_mutex_lock(&device->lock);
	err = bsn_sq_add_user(ep->bound, ep->user, &ep->number);
	pthread_mutex_unlock(&device->lock);
	return err;
}

static void unnumber_ep(struct bsn_ep *ep)
{
	struct bsn_device *device = ((struct qp_object *)ep->owner)->device;

	pthread_mutex_lock(&device->lock);
	bsn_sq_drop_user(ep->bound, ep->number);
	pthread_mutex_unlock(&device->lock);
}

static int ep_make(struct bsn_ep *ep, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	uint8_t bytes[BSN_AV_UD_GRH_SIZE];
	struct bsn_av_ud_grh av;
	void *prefix;
	const int err = provider_ah_av(ah, bytes);

	if (err)
		return fail(-err, "cannot read the address vector: %s", strerror(-err));
	prefix = malloc(BSN_AV_UD_GRH_SIZE);
	if (!prefix || number_ep(ep)) {
		free(prefix);
		return fail(ENOMEM, "no memory");
	}
	bsn_av_ud_grh_decode(&av, bytes);
	av.qkey = qkey;
	av.dqpn = qpn;
	av.ext = 1;
	bsn_av_ud_grh_encode(prefix, &av);
	ep->prefix = prefix;
	ep->prefix_ds = BSN_AV_UD_GRH_SIZE / BSN_DS_SIZE;
	ep->sq = &bsn_sq_detour;
	return 0;
}

static void ep_free(struct bsn_ep *ep)
{
	unnumber_ep(ep);
	free((void *)(uintptr_t)ep->prefix);
}

const struct path_ops direct_path = {
	.cq_make = cq_make,
	.cq_free = cq_free,
	.qp_make = qp_make,
	.qp_clear = qp_clear,
	.qp_free = qp_free,
	.srq_make = srq_make,
	.srq_free = srq_free,
	.qp_outstanding = qp_outstanding,
	.qp_failed = qp_failed,
	.ep_make = ep_make,
	.ep_free = ep_free,
};
