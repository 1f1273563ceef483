/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct path: hot structures over the queues that libmlx5 allocated. */
#include "engine.h"

#include <stdlib.h>

#include "bsn_decode.h"

/* -- CQ ----------------------------------------------------------------------------------------- */

static int cq_make(struct cq_object *cq)
{
	const int err = provider_cq_map(cq->verbs, cq->spare, &cq->hot);

	return err ? fail(-err, "cannot map the CQ: %s", strerror(-err)) : 0;
}

static void cq_free(struct cq_object *cq)
{
	free(cq->hot.slots);
}

/* -- send queue --------------------------------------------------------------------------------- */

static void *alloc_hot(size_t bytes)
{
	void *hot = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (hot)
		memset(hot, 0, bytes);
	return hot;
}

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

uint32_t direct_sends_bb(const struct qp_object *qp)
{
	return qp->limits.send_depth * ((max_ds(qp) + BSN_BB_DS - 1) / BSN_BB_DS);
}

static uint8_t can_of(enum bsn_qp_type type)
{
	return type == BSN_QP_RC ? BSN_CAN_READ | BSN_CAN_ATOMIC : 0;
}

static enum bsn_transport transport_of(enum bsn_qp_type type)
{
	return type == BSN_QP_RC ? BSN_TRANSPORT_RC :
	       type == BSN_QP_UC ? BSN_TRANSPORT_UC :
				   BSN_TRANSPORT_UD;
}

static uint8_t signal_every(const struct bsn_sq *sq, int wanted)
{
	const uint32_t quarter = sq->capacity_bb / 4 ? sq->capacity_bb / 4 : 1;
	const uint32_t every = wanted > 0 ? (uint32_t)wanted : quarter;

	return wanted < 0 ? 0 : every < UINT8_MAX ? (uint8_t)every : UINT8_MAX;
}

/* As on the first day, or after a reset. The records are zeroed by libmlx5 then. */
static void clear_sq(struct bsn_sq *sq)
{
	sq->pi = 0;
	sq->last = 0;
	sq->retired = 0;
	sq->done = sq->seen_done = UINT16_MAX; /* no WQE: the one before the first */
	sq->limit = sq->capacity_bb;
	sq->quiet = sq->signal_every;
	sq->ring_slow &= (uint8_t)~BSN_RING_APPENDED;
	sq->next_fence = BSN_FENCE_NONE;
	sq->count_slow_bb = sq->count_blueflame = 0;
	sq->has_hidden = 0;
	sq->has_failed = false;
	memset(sq->hidden, 0, sq->bb_mask + 1);
}

static void fill_sq(struct qp_object *qp, const struct provider_qp *map,
		    const struct bsn_qp_attr *attr)
{
	const struct bsn_ctrl base = { .qpn = qp->verbs->qp_num };
	const struct bsn_ctrl quiet = { .ce = attr->signal_all	  ? BSN_CE_ALWAYS :
					      attr->ce_on_first_error ? BSN_CE_ON_FIRST_ERROR :
									BSN_CE_ON_ERROR };
	struct bsn_sq *sq = qp->sq;

	sq->ring = map->sq_ring;
	sq->record = map->record + BSN_DBR_SEND_OFFSET / sizeof(*map->record);
	sq->lane = &qp->lane->hot;
	sq->ctrl_base = bsn_ctrl_word(&base, 0);
	sq->bb_mask = sq->poller_mask = map->sq_count_bb - 1;
	sq->capacity_bb = qp->sends_bb;
	sq->max_inline = (uint16_t)qp->limits.max_inline;
	sq->inline_ds = sq->max_inline < BSN_DS_INLINE_MAX ? sq->max_inline : BSN_DS_INLINE_MAX;
	sq->max_sge = (uint16_t)qp->limits.max_send_sge;
	sq->max_ds = (uint8_t)max_ds(qp);
	sq->ce_quiet = (uint8_t)(bsn_ctrl_word(&quiet, 1) >> 32);
	sq->can = can_of(qp->type);
	sq->transport = transport_of(qp->type);
	sq->signal_every = signal_every(sq, attr->signal_every);
	sq->store = qp->device->info.store;
	sq->ring_slow = sq->store == BSN_STORE_8 && !sq->lane->lock && sq->lane->blueflame_bytes ?
				0 :
				BSN_RING_MODE;
	sq->user = qp->user;
	sq->rq = qp->rq;
	sq->qpn = qp->verbs->qp_num;
	sq->owner = qp;
	sq->first_error = &qp->first_error;
	clear_sq(sq);
}

static int make_sq(struct qp_object *qp, const struct provider_qp *map,
		   const struct bsn_qp_attr *attr)
{
	const uint32_t slots = map->sq_count_bb;
	struct bsn_sq *sq;

	if (qp->sends_bb > slots)
		return fail(ENOMEM, "the device gave %u basic blocks, %u are needed", slots,
			    qp->sends_bb);
	sq = alloc_hot(sizeof(*sq) + slots * sizeof(uint64_t));
	if (!sq)
		return fail(ENOMEM, "no memory");
	qp->sq = sq;
	sq->hidden = calloc(slots, 1);
	if (qp->type == BSN_QP_UD)
		sq->slot_users = calloc(slots, sizeof(*sq->slot_users));
	if (!sq->hidden || (qp->type == BSN_QP_UD && !sq->slot_users))
		return fail(ENOMEM, "no memory");
	fill_sq(qp, map, attr);
	return 0;
}

/* -- receive queues ----------------------------------------------------------------------------- */

static uint8_t log2_of(uint32_t v)
{
	return (uint8_t)(31 - __builtin_clz(v));
}

static struct bsn_rq *alloc_rq(uint8_t *ring, uint32_t count, uint32_t stride_bytes)
{
	struct bsn_rq *rq = alloc_hot(sizeof(*rq) + count * sizeof(uint64_t));

	if (!rq)
		return NULL;
	rq->ring = rq->poller_ring = ring;
	rq->mask = rq->poller_mask = count - 1;
	rq->stride_log2 = rq->poller_stride_log2 = log2_of(stride_bytes);
	return rq;
}

static int make_rq(struct qp_object *qp, const struct provider_qp *map)
{
	struct bsn_rq *rq;

	if (qp->srq) {
		qp->rq = qp->srq->rq;
		return 0;
	}
	rq = alloc_rq(map->rq_ring, map->rq_count, map->rq_stride_bytes);
	if (!rq)
		return fail(ENOMEM, "no memory");
	qp->rq = rq;
	rq->record = map->record + BSN_DBR_RECV_OFFSET / sizeof(*map->record);
	rq->max_sge = (uint8_t)(map->rq_stride_bytes / BSN_DATA_SIZE);
	rq->capacity = rq->limit = qp->limits.recv_depth;
	rq->user = qp->user;
	rq->owner = qp;
	return 0;
}

static int srq_make(struct srq_object *srq)
{
	struct provider_srq map;
	const int err = provider_srq_map(srq->verbs, &map);
	struct bsn_rq *rq;

	if (err)
		return fail(-err, "cannot map the SRQ: %s", strerror(-err));
	rq = alloc_rq(map.ring, srq->slots, map.stride_bytes);
	if (!rq)
		return fail(ENOMEM, "no memory");
	rq->record = map.record;
	rq->is_srq = 1;
	rq->max_sge = (uint8_t)((map.stride_bytes - BSN_SRQ_NEXT_SIZE) / BSN_DATA_SIZE);
	rq->srq_free_head = map.head;
	rq->srq_free_tail = map.tail;
	rq->user = srq->user;
	rq->owner = srq;
	srq->rq = rq;
	return 0;
}

static void srq_free(struct srq_object *srq)
{
	free(srq->rq);
}

/* -- QP ----------------------------------------------------------------------------------------- */

static void qp_free(struct qp_object *qp)
{
	if (qp->sq) {
		bsn_cq_remove(&qp->cq->hot, qp->sq->qpn);
		bsn_cq_remove(&qp->recv_cq->hot, qp->sq->qpn);
		free(qp->sq->hidden);
		free(qp->sq->slot_users);
		free(qp->sq);
	}
	if (!qp->srq)
		free(qp->rq);
}

/* Both CQs route its CQEs here. */
static int route(struct qp_object *qp)
{
	int err = bsn_cq_add(&qp->cq->hot, qp->sq->qpn, qp->sq);

	if (!err && qp->recv_cq != qp->cq)
		err = bsn_cq_add(&qp->recv_cq->hot, qp->sq->qpn, qp->sq);
	return err ? fail(-err, "no memory") : 0;
}

static int qp_make(struct qp_object *qp, const struct bsn_qp_attr *attr)
{
	struct provider_qp map;
	int err = provider_qp_map(qp->verbs, &map);

	if (err)
		return fail(-err, "cannot map the QP: %s", strerror(-err));
	err = lane_adopt_register(qp->lane, map.reg, map.blueflame_bytes);
	if (!err)
		err = make_rq(qp, &map);
	if (!err)
		err = make_sq(qp, &map, attr);
	if (!err)
		err = route(qp);
	if (err)
		qp_free(qp);
	return err;
}

static void qp_clear(struct qp_object *qp)
{
	bsn_cq_remove(&qp->cq->hot, qp->sq->qpn);
	if (qp->recv_cq != qp->cq)
		bsn_cq_remove(&qp->recv_cq->hot, qp->sq->qpn);
	clear_sq(qp->sq);
	if (!qp->srq) {
		qp->rq->head = qp->rq->tail = 0;
		qp->rq->limit = qp->rq->capacity;
	}
	route(qp); /* into the slots that were just left: needs no memory */
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

static int ep_make(struct bsn_ep *ep, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	uint8_t bytes[BSN_AV_UD_GRH_SIZE];
	struct bsn_av_ud_grh av;
	void *prefix;
	const int err = provider_ah_av(ah, bytes);

	if (err)
		return fail(-err, "cannot read the address vector: %s", strerror(-err));
	prefix = malloc(BSN_AV_UD_GRH_SIZE);
	if (!prefix)
		return fail(ENOMEM, "no memory");
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
