/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct path's QPs, and its operations. */
#include "direct.h"

#include "handshake.h"

/* -- send queue -------------------------------------------------------------------------------- */

/* DS of the longest WQE that the attributes ask for. */
static uint32_t max_ds(const struct bsn_qp *qp)
{
	return bsn_wqe_longest_ds(qp->transport->wqe, qp->info.max_send_sge,
				  qp->info.max_inline);
}

static uint32_t longest_bb(const struct bsn_qp *qp)
{
	return bsn_bb_of_ds(max_ds(qp));
}

static uint32_t qp_sends(const struct bsn_qp *qp)
{
	return qp->info.send_depth * longest_bb(qp);
}

static enum bsn_ce ce_of(const struct bsn_qp_attr *attr)
{
	return attr->signal_all          ? BSN_CE_ALWAYS
	       : attr->ce_on_first_error ? BSN_CE_ON_FIRST_ERROR
					 : BSN_CE_ON_ERROR;
}

static uint8_t abilities_of(const struct provider_caps *caps)
{
	return (uint8_t)((caps->masked_sizes & 4 ? BSN_CAN_MASKED_4 : 0) |
			 (caps->masked_sizes & 8 ? BSN_CAN_MASKED_8 : 0) |
			 (caps->max_copy ? BSN_CAN_COPY : 0));
}

static int make_sq(struct bsn_qp *qp, const struct provider_qp *map, const struct bsn_qp_attr *attr)
{
	const struct bsn_sq_init init = {
		.ring = map->sq_ring,
		.record = map->record + BSN_DBR_SEND_OFFSET / sizeof(*map->record),
		.lane = &qp->lane->dv.hot,
		.count_bb = map->sq_count_bb,
		.capacity_bb = qp->sends_bb,
		.max_inline = qp->info.max_inline,
		.max_sge = qp->info.max_send_sge,
		.max_ds = max_ds(qp),
		.qpn = qp->info.number,
		.transport = qp->transport->wqe,
		.store = qp->device->info.store,
		.ce_quiet = ce_of(attr),
		/* Requests that the library signals are hidden; with signal_all none may be. */
		.signal_every = attr->signal_all ? -1 : attr->signal_every,
		.has_peers = qp->transport->has_peers,
		.has_atomics = has_atomics(qp->device),
		.has_big_endian_results = qp->device->caps.has_big_endian_results,
		.gives_results = qp->info.max_inline_resp,
	};

	if (qp->sends_bb > map->sq_count_bb)
		return fail(ENOMEM, "the device gave %u basic blocks, %u are needed",
			    map->sq_count_bb, qp->sends_bb);
	qp->sq = bsn_sq_alloc(&init);
	if (!qp->sq)
		return fail(ENOMEM, "no memory");
	qp->info.max_inline = qp->sq->max_inline;
	if (qp->transport->is_reliable && qp->type != BSN_QP_XRC)
		qp->sq->can |= abilities_of(&qp->device->caps);
	dv_sq(qp->sq)->max_copy = qp->device->caps.max_copy;
	dv_sq(qp->sq)->route.hot.user = qp->user;
	dv_sq(qp->sq)->route.hot.rq = qp->rq;
	dv_sq(qp->sq)->route.first_error = &qp->first_error;
	dv_sq(qp->sq)->route.gives_data = qp->info.max_inline_recv;
	return 0;
}

/* -- creation, adoption ------------------------------------------------------------------------ */

static enum provider_inline in_cqe_of(const struct bsn_qp_info *limits)
{
	return limits->max_inline_resp   ? PROVIDER_INLINE_RECV_RESP
	       : limits->max_inline_recv ? PROVIDER_INLINE_RECV
					 : PROVIDER_INLINE_NONE;
}

/*
 * Creates a QP. libmlx5 sizes the send ring for its own longest requests, which are not ours, so it
 * is asked for one shortest request per block that we need.
 */
static int qp_create(struct bsn_qp *qp, const struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr blocks = *init;
	int err = lane_make_domain(qp);

	if (err)
		return err;
	blocks.cap.max_send_wr =
		(qp->sends_bb + qp->transport->least_bb - 1) / qp->transport->least_bb;
	blocks.cap.max_send_sge = 1;
	blocks.cap.max_inline_data = 0;
	err = provider_qp_create(
		qp->device->context, qp->parent_domain ? qp->parent_domain : qp->pd->verbs, &blocks,
		transport_send_ops(qp->transport, has_atomics(qp->device)), in_cqe_of(&qp->info),
		qp->streams.log_count ? &qp->streams : NULL, &qp->verbs);
	if (err && qp->parent_domain)
		ibv_dealloc_pd(qp->parent_domain);
	return err;
}

/*
 * Adopts the application's QP, whose CQ was sized for its send depth. As many blocks may be
 * outstanding as that depth has requests, but at least those of one longest request. If @wanted is
 * not 0, the caller promises room for that many of the longest requests.
 */
static int qp_adopt(struct bsn_qp *qp, uint32_t wanted)
{
	const uint32_t longest = longest_bb(qp), given = qp->info.send_depth;
	const struct ibv_cq *cq = qp->verbs->send_cq;

	qp->sends_bb = wanted ? wanted * longest : given > longest ? given : longest;
	/* An mlx5 CQ has one entry more than it says. */
	if (wanted && qp->sends_bb > (uint32_t)cq->cqe + 1)
		return fail(EINVAL,
			    "send_depth is %u: the CQ has %d entries, and each request may "
			    "take %u",
			    wanted, cq->cqe, longest);
	qp->info.send_depth = qp->sends_bb / longest;
	return 0;
}

/* -- QP ---------------------------------------------------------------------------------------- */

static void qp_free(struct bsn_qp *qp)
{
	bsn_sq_free(qp->sq);
	if (!qp->srq)
		bsn_rq_free(qp->rq);
}

static int map_queues(const struct bsn_qp *qp, struct provider_qp *map)
{
	int err;

	if (qp->dci) {
		handshake_dci_map(qp->dci, map);
		return 0;
	}
	err = provider_qp_map(qp->verbs, map);
	return err ? fail(-err, "cannot map the QP: %s", strerror(-err)) : 0;
}

static int qp_make(struct bsn_qp *qp, const struct bsn_qp_attr *attr)
{
	struct lane_register got;
	struct provider_qp map;
	int err = map_queues(qp, &map);

	if (err)
		return err;
	/* All DCIs of the context share the register that does not write-combine. */
	got = (struct lane_register){ map.reg, map.blueflame_bytes,
				      qp->dci && !map.blueflame_bytes };
	err = lane_enter(qp->device, qp->lane, &got, &qp->lane);
	if (err)
		return err;
	err = direct_rq_make(qp, &map);
	if (!err)
		err = make_sq(qp, &map, attr);
	if (!err)
		return 0;
	qp_free(qp);
	lane_leave(qp->lane);
	return err;
}

static void qp_clear(struct bsn_qp *qp)
{
	drop_cqes(qp);
	bsn_sq_clear(qp->sq);
	if (!qp->srq)
		bsn_rq_clear(qp->rq);
}

/*
 * Posts a marker to a QP in error. Unsignaled requests that succeeded before get no CQE; the marker
 * is flushed after them, and tells that they are done (the kernel's ib_drain_sq() does the same).
 * If there is no room for it, qp_outstanding() posts it, after a request was flushed.
 */
static void post_marker(struct bsn_qp *qp)
{
	qp->wants_marker = bsn_sq_post_marker(qp->sq) == -EAGAIN;
}

static void qp_outstanding(struct bsn_qp *qp, struct bsn_outstanding *outstanding)
{
	if (qp->wants_marker)
		post_marker(qp);
	outstanding->sends = bsn_sq_count_outstanding(qp->sq);
	outstanding->recvs = qp->srq ? 0 : (uint16_t)(qp->rq->head - qp->rq->tail);
}

static int qp_leave(struct bsn_qp *qp)
{
	qp->wants_marker = false;
	return 0;
}

static int qp_failed(struct bsn_qp *qp)
{
	const int err = bsn_sq_ring(qp->sq);

	if (!err && bsn_sq_outstanding_bb(qp->sq))
		post_marker(qp);
	return err;
}

/* -- the path's operations --------------------------------------------------------------------- */

/* Requests of the default length take one block. */
static uint32_t most_sends(const struct bsn_device *device)
{
	return (uint32_t)device->limits.max_qp_wr;
}

/*
 * Opens the lane's register. If libmlx5 shares a register among QPs, it rings it by BlueFlame under
 * its own lock, and a doorbell of other code would destroy its copies. So a shared register is safe
 * only if all QPs on it are ours.
 */
static int lane_open(struct lane_object *lane)
{
	struct ibv_td_init_attr attr = { 0 };

	errno = 0;
	lane->td = ibv_alloc_td(lane->device->context, &attr);
	if (lane->td)
		return 0;
	if (!lane->device->owns_context)
		return fail(ENOSPC,
			    "no register for this lane alone (%s), and the application's QPs may "
			    "post through the shared ones",
			    strerror(errno));
	say(lane->device,
	    "no register for this lane alone (%s): it posts by 8-byte doorbells through a shared "
	    "one, under a lock",
	    strerror(errno));
	return 0;
}

const struct path_ops direct_path = {
	.name = "direct",
	.path = BSN_PATH_DIRECT,
	.shows_rings = true,
	.most_sends = most_sends,
	.lane_open = lane_open,
	.cq_create = direct_cq_create,
	.cq_make = direct_cq_make,
	.cq_free = direct_cq_free,
	.cq_is_known = direct_cq_is_known,
	.cq_set_spare = direct_cq_set_spare,
	.cq_request = direct_cq_request,
	.srq_make = direct_srq_make,
	.srq_free = direct_srq_free,
	.srq_leave = direct_srq_leave,
	.srq_free_slots = direct_srq_free_slots,
	.qp_sends = qp_sends,
	.qp_create = qp_create,
	.qp_adopt = qp_adopt,
	.qp_make = qp_make,
	.qp_free = qp_free,
	.qp_clear = qp_clear,
	.qp_leave = qp_leave,
	.qp_failed = qp_failed,
	.qp_outstanding = qp_outstanding,
	.mkey_create = direct_mkey_create,
	.mkey_destroy = direct_mkey_destroy,
	.ep_make = direct_ep_make,
	.ep_leave = direct_ep_leave,
};
