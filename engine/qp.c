/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: their creation and end. state.c and connect.c take them through their states. */
#include "handshake.h"
#include "init.h"
#include "path.h"

#include <stdlib.h>

/* -- creation --------------------------------------------------------------------------------- */

/* Checks the CQ. An attached one has no lane, and may be polled through verbs. */
static int check_cq(const struct bsn_device *device, const struct bsn_qp_attr *attr,
		    const struct cq_object *cq)
{
	if (cq->device != device)
		return fail(EINVAL, "the CQ is of another device");
	if (cq->path != device->path)
		return fail(EINVAL, "the CQ is attached: create one by bsn_cq_create()");
	if (!cq->owns_verbs && !cq->lane && !attr->lane)
		return fail(EINVAL, "the CQ is attached and has no lane: name one");
	return 0;
}

static int check_objects(struct bsn_device *device, const struct bsn_qp_attr *attr)
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
	if (!pd_of(device, attr->pd))
		return -EINVAL;
	if (attr->srq && !dv_rq(attr->srq)->is_srq)
		return fail(EINVAL, "the receive queue is a QP's own, not an SRQ");
	if (attr->srq && ((const struct srq_object *)dv_rq(attr->srq)->owner)->device != device)
		return fail(EINVAL, "the SRQ is of another device");
	if (attr->srq && ((const struct srq_object *)dv_rq(attr->srq)->owner)->xrcd)
		return fail(EINVAL, "the SRQ is in an XRC domain: initiators name it in each "
				    "request, and no QP uses it");
	return 0;
}

/* Half of each CQE has room for data; the size of a CQE is unknown on plain verbs. */
static uint32_t inline_room(const struct bsn_cq *cq)
{
	return (uint32_t)cq_of((struct bsn_cq *)(uintptr_t)cq)->ring->stride / 2;
}

static int check_room_in_cqes(const char *what, uint32_t bytes, const struct bsn_cq *cq)
{
	const uint32_t room = inline_room(cq);

	if (bytes <= room)
		return 0;
	return fail(EINVAL, "%s is %u: half a CQE has room for %u%s", what, bytes, room,
		    room == 32 && bytes <= 64 ? " (64 with a cqe_size of 128)" : "");
}

static int check_inline_recv(const struct bsn_device *device, const struct bsn_qp_attr *attr)
{
	const struct transport *transport = transport_of(attr->type);

	if (!attr->max_inline_recv && !attr->max_inline_resp)
		return 0;
	if (device->no_inline_recv)
		return fail(EOPNOTSUPP, "no data in CQEs: %s", device->no_inline_recv);
	if (!transport->has_inline_recv)
		return fail(EOPNOTSUPP,
			    "no data in CQEs on %s: the driver offers them on RC and UC",
			    transport->name);
	if (attr->max_inline_resp && !transport->is_reliable)
		return fail(EOPNOTSUPP, "%s has no READs and atomics, so no results in CQEs",
			    transport->name);
	if (attr->max_inline_resp && (!attr->max_inline_recv || !attr->signal_all))
		return fail(EINVAL, "results in CQEs need max_inline_recv and signal_all");
	return 0;
}

/* Refuses a size, and names the one that is too large. */
static int too_many(const char *what, uint32_t send, uint32_t recv, uint32_t most)
{
	const bool is_send = send > most;
	const char *const prefix = !strcmp(what, "sge") ? "max_" : "";

	return fail(EINVAL, "%s%s_%s %u: the device takes %u", prefix, is_send ? "send" : "recv",
		    what, is_send ? send : recv, most);
}

static int check(struct bsn_device *device, const struct bsn_qp_attr *attr)
{
	const struct transport *transport = transport_of(attr->type);
	const struct bsn_device_info *info = &device->info;
	int err;

	if (!transport)
		return fail(EINVAL, "%d is not an enum bsn_qp_type", (int)attr->type);
	if (attr->send_depth > info->max_send_wr || attr->recv_depth > info->max_send_wr)
		return too_many("depth", attr->send_depth, attr->recv_depth, info->max_send_wr);
	if (attr->max_send_sge > info->max_sge || attr->max_recv_sge > info->max_sge)
		return too_many("sge", attr->max_send_sge, attr->max_recv_sge, info->max_sge);
	if (attr->max_inline > transport_most_inline(transport))
		return fail(EINVAL, "%u bytes inline: a WQE has room for %u", attr->max_inline,
			    transport_most_inline(transport));
	if (transport->is_initiator && (attr->srq || attr->recv_depth || attr->max_recv_sge))
		return fail(EINVAL, "%s initiator receives nothing: what comes is %s",
			    attr->type == BSN_QP_DC ? "a DC" : "an XRC",
			    attr->type == BSN_QP_DC ? "its DCT's"
						    : "an SRQ's of its target's domain");
	if (attr->type == BSN_QP_DC && device->no_dc)
		return fail(EOPNOTSUPP, "no DC: %s", device->no_dc);
	if (attr->type == BSN_QP_XRC && device->no_xrc)
		return fail(EOPNOTSUPP, "no XRC: %s", device->no_xrc);
	if (attr->srq && attr->cq &&
	    cq_of(attr->recv_cq ? attr->recv_cq : attr->cq)->ignores_overrun)
		return fail(EOPNOTSUPP, "receives of an SRQ need a CQ without ignores_overrun: "
					"their completions may outlive their QP");
	err = check_inline_recv(device, attr);
	if (!err)
		err = check_objects(device, attr);
	if (!err)
		err = check_room_in_cqes("max_inline_resp", attr->max_inline_resp, attr->cq);
	if (!err)
		err = check_room_in_cqes("max_inline_recv", attr->max_inline_recv,
					 attr->recv_cq ? attr->recv_cq : attr->cq);
	return err;
}

/* Whether the QP has no receive queue of its own. */
static bool has_no_recvs(const struct bsn_qp *qp)
{
	return qp->srq || qp->transport->is_initiator;
}

static struct bsn_qp *new_qp(struct bsn_device *device, const struct bsn_qp_attr *attr,
			     const struct dci_attr *more)
{
	struct bsn_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->device = device;
	qp->type = attr->type;
	qp->transport = transport_of(attr->type);
	qp->path = device->path;
	qp->user = attr->user;
	qp->cq = cq_of(attr->cq);
	qp->recv_cq = attr->recv_cq ? cq_of(attr->recv_cq) : qp->cq;
	qp->srq = attr->srq ? dv_rq(attr->srq)->owner : NULL;
	qp->pd = pd_of(device, attr->pd);
	qp->lane = attr->lane ? lane_of(attr->lane) : more->uar ? NULL : qp->cq->lane;
	qp->streams = more->streams;
	qp->info.send_depth = or_else(attr->send_depth, DEFAULT_SENDS_BB / qp->transport->least_bb);
	qp->info.recv_depth = has_no_recvs(qp) ? 0 : or_else(attr->recv_depth, DEFAULT_RECVS);
	qp->info.max_send_sge = or_else(attr->max_send_sge, 1);
	qp->info.max_recv_sge = has_no_recvs(qp) ? 0 : or_else(attr->max_recv_sge, 1);
	/* A block has so many bytes after control segment and remote address. */
	qp->info.max_inline = or_else(attr->max_inline, 28);
	if (attr->max_inline_recv)
		qp->info.max_inline_recv = inline_room(&qp->recv_cq->dv.hot);
	if (attr->max_inline_resp)
		qp->info.max_inline_resp = inline_room(attr->cq);
	qp->sends_bb = qp->path->qp_sends(qp);
	choose_psn(qp);
	return qp;
}

/* Refuses more blocks than the device has: long requests take several. */
static int check_blocks(const struct bsn_qp *qp)
{
	if (qp->sends_bb <= (uint32_t)qp->device->limits.max_qp_wr)
		return 0;
	return fail(EINVAL,
		    "%u sends of this length (%u SGEs, %u bytes inline) take %u blocks of 64 "
		    "bytes: a queue has %d at most",
		    qp->info.send_depth, qp->info.max_send_sge, qp->info.max_inline, qp->sends_bb,
		    qp->device->limits.max_qp_wr);
}

/* Finds another QP that receives from the same SRQ into the same CQ. */
static struct bsn_qp *find_sharer(const struct bsn_qp *qp)
{
	struct bsn_qp *other;

	pthread_mutex_lock(&qp->device->lock);
	for (other = qp->device->qps; other; other = other->next)
		if (other != qp && other->srq == qp->srq && other->recv_cq == qp->recv_cq)
			break;
	pthread_mutex_unlock(&qp->device->lock);
	return other;
}

void charge_qp(struct bsn_qp *qp, uint32_t sends, uint32_t recvs)
{
	cq_charge(qp->cq, sends);
	cq_charge(qp->recv_cq, recvs);
	qp->charged_send = sends;
	qp->charged_recv = recvs;
}

/*
 * Takes entries for all CQEs that full queues can give, successes or flushes. The CQEs of an SRQ
 * count once for each CQ.
 */
static int charge_locked(struct bsn_qp *qp)
{
	const uint32_t recvs = !qp->srq          ? qp->info.recv_depth
			       : find_sharer(qp) ? 0
						 : qp->srq->depth;
	const bool is_one = qp->cq == qp->recv_cq;
	int err = cq_has_room(qp->cq, is_one ? qp->sends_bb + recvs : qp->sends_bb);

	if (!err && !is_one)
		err = cq_has_room(qp->recv_cq, recvs);
	if (!err)
		charge_qp(qp, qp->sends_bb, recvs);
	return err;
}

static int charge(struct bsn_qp *qp)
{
	int err;

	pthread_mutex_lock(&qp->device->cq_lock);
	err = charge_locked(qp);
	pthread_mutex_unlock(&qp->device->cq_lock);
	return err;
}

static void discharge(struct bsn_qp *qp)
{
	struct bsn_qp *heir;

	pthread_mutex_lock(&qp->device->cq_lock);
	heir = qp->srq ? find_sharer(qp) : NULL;
	if (heir) {
		heir->charged_recv += qp->charged_recv;
		qp->charged_recv = 0;
	}
	cq_discharge(qp->recv_cq, qp->charged_recv);
	cq_discharge(qp->cq, qp->charged_send);
	pthread_mutex_unlock(&qp->device->cq_lock);
}

static int create_verbs(struct bsn_qp *qp)
{
	struct ibv_qp_init_attr init = {
		.qp_context = qp,
		.send_cq = qp->cq->verbs,
		.recv_cq = qp->recv_cq->verbs,
		.srq = qp->srq ? qp->srq->verbs : NULL,
		.qp_type = qp->transport->verbs,
		.cap = { .max_send_wr = qp->info.send_depth,
			 .max_recv_wr = qp->info.recv_depth,
			 .max_send_sge = qp->info.max_send_sge,
			 .max_recv_sge = qp->info.max_recv_sge,
			 .max_inline_data = qp->info.max_inline },
	};
	const int err = qp->path->qp_create(qp, &init);

	if (err)
		return fail(-err,
			    "cannot create a QP of %u sends (%u SGEs, %u bytes inline) and %u "
			    "receives (%u SGEs): %s%s",
			    qp->info.send_depth, qp->info.max_send_sge, qp->info.max_inline,
			    qp->info.recv_depth, qp->info.max_recv_sge, strerror(-err),
			    memlock_hint(-err));
	qp->info.number = qp->verbs->qp_num;
	qp->owns_verbs = true;
	return 0;
}

static uint32_t ring_of(uint32_t count_bb)
{
	return count_bb <= 1 ? 1 : 1u << (32 - __builtin_clz(count_bb - 1));
}

/* The counter set stays the same while the device is open, so threads may race here. */
uint8_t device_counter_set(struct bsn_device *device, struct ibv_pd *pd)
{
	int set = atomic_load(&device->counter_set);

	if (!set) {
		set = handshake_counter_set(pd, device->info.port);
		atomic_store(&device->counter_set, set ? set : -1);
	}
	return set > 0 ? (uint8_t)set : 0;
}

/* Creates a DCI with a full handshake, for which verbs cannot ask. */
static int create_by_command(struct bsn_qp *qp, const struct handshake_uar *uar)
{
	const struct handshake_dci_attr attr = {
		.pd = qp->pd->verbs,
		.uar = uar,
		.cqn = dv_cq(qp->cq->ring)->cqn,
		.count_bb = ring_of(qp->sends_bb),
		.streams = qp->streams,
		.atomic_mode = handshake_atomic_mode(has_atomics(qp->device),
						     qp->device->caps.masked_sizes),
		.counter_set = device_counter_set(qp->device, qp->pd->verbs),
	};
	struct bsn_cmd_out answer;
	const int err = handshake_dci_create(&attr, &qp->dci, &answer);

	if (err)
		return fail_command(err, &answer, "make an initiator with a full handshake");
	qp->info.number = handshake_dci_number(qp->dci);
	qp->owns_verbs = true;
	return 0;
}

/* Destroys the object: 0 or -errno. */
static int destroy_object(struct bsn_qp *qp)
{
	return qp->dci ? handshake_dci_destroy(qp->dci)
		       : provider_error_of_int(ibv_destroy_qp(qp->verbs));
}

/* Frees the memory that stays after the object was destroyed, or its device is gone. */
static void free_object(struct bsn_qp *qp)
{
	if (qp->dci)
		handshake_dci_free(qp->dci);
	if (qp->parent_domain)
		ibv_dealloc_pd(qp->parent_domain);
}

void srq_note_cq(struct srq_object *srq, const struct cq_object *recv_cq)
{
	if (!srq->recv_cq)
		srq->recv_cq = recv_cq;
	else if (srq->recv_cq != recv_cq)
		bsn_srq_share(srq->rq);
}

void hold_qp(struct bsn_qp *qp)
{
	qp->info.cq = &qp->cq->dv.hot;
	qp->info.recv_cq = &qp->recv_cq->dv.hot;
	qp->info.verbs = qp->verbs;
	qp->info.short_sends = qp->sends_bb;
	use(&qp->device->uses[OF_QPS]);
	use(&qp->pd->uses);
	if (qp->srq) {
		use(&qp->srq->uses);
		srq_note_cq(qp->srq, qp->recv_cq);
	}
	list_qp(qp);
	registry_add_qp(qp);
}

static void release(struct bsn_qp *qp)
{
	unlist_qp(qp);
	if (qp->srq)
		unuse(&qp->srq->uses);
	if (qp->lane)
		lane_leave(qp->lane);
	unuse(&qp->pd->uses);
	unuse(&qp->device->uses[OF_QPS]);
}

int qp_create_dci(struct bsn_device *device, const struct bsn_qp_attr *attr,
		  const struct dci_attr *more, struct bsn_qp **out)
{
	struct bsn_qp *qp;
	int err;

	if (!device || !attr || !out)
		return fail(EINVAL, "no device, no attributes, or no place for the QP");
	err = check(device, attr);
	if (!err && !attr->lane && !more->uar)
		err = cq_bring_lane(cq_of(attr->cq));
	if (err)
		return err;
	qp = new_qp(device, attr, more);
	if (!qp)
		return fail(ENOMEM, "no memory");
	err = check_blocks(qp);
	if (!err)
		err = charge(qp);
	if (err)
		goto free_qp;
	err = more->uar ? create_by_command(qp, more->uar) : create_verbs(qp);
	if (err)
		goto discharge;
	err = qp->path->qp_make(qp, attr);
	if (err)
		goto destroy_object;
	err = qp_make_ready(qp);
	if (!err)
		err = checks_add_qp(qp);
	if (!err)
		err = route_qp(qp);
	if (err)
		goto free_queues;
	hold_qp(qp);
	*out = qp;
	return 0;

free_queues:
	checks_remove_qp(qp);
	qp->path->qp_free(qp);
	if (qp->lane)
		lane_leave(qp->lane);
destroy_object:
	destroy_object(qp);
	free_object(qp);
discharge:
	discharge(qp);
free_qp:
	free(qp);
	return err;
}

int bsn_qp_create(struct bsn_device *device, const struct bsn_qp_attr *attr, struct bsn_qp **out)
{
	static const struct dci_attr no_more;

	return qp_create_dci(device, attr, &no_more, out);
}

int bsn_qp_destroy(struct bsn_qp *qp)
{
	int err;

	if (!qp)
		return 0;
	if (atomic_load(&qp->uses.count))
		return fail(EBUSY, "the QP has endpoints: destroy them first");
	err = qp->path->qp_leave(qp);
	if (err)
		return err;
	registry_remove_qp(qp);
	mkeys_forget_queue(qp->device, qp->sq); /* this reads the ring */
	if (qp->owns_verbs)
		err = destroyed(qp->device, -destroy_object(qp));
	if (err) {
		registry_add_qp(qp);
		return fail(-err, "cannot destroy the QP: %s%s", strerror(-err),
			    err == -EBUSY && qp->transport->has_qkey
				    ? ": it is in a multicast group, see bsn_mcast_detach()"
				    : "");
	}
	release(qp);
	unroute_qp(qp);
	checks_remove_qp(qp);
	qp->path->qp_free(qp);
	free_object(qp);
	discharge(qp);
	cq_drop_attached(qp->cq);
	if (qp->recv_cq != qp->cq)
		cq_drop_attached(qp->recv_cq);
	free(qp);
	return 0;
}

/* -- its parts -------------------------------------------------------------------------------- */

struct bsn_rq *bsn_qp_rq(struct bsn_qp *qp)
{
	return qp ? qp->rq : NULL;
}

const struct bsn_qp_info *bsn_qp_info(const struct bsn_qp *qp)
{
	return qp ? &qp->info : NULL;
}

int bsn_qp_counters(const struct bsn_qp *qp, struct bsn_counters *counters)
{
	if (!qp || !counters)
		return fail(EINVAL, "no QP, or no place for its counters");
	*counters = (struct bsn_counters){
		.blueflame = bsn_sq_count_blueflame(qp->sq),
		.doorbells = dv_sq(qp->sq)->count_doorbells,
		.send_full = dv_sq(qp->sq)->count_full,
		.recv_full = dv_rq(qp->rq)->count_full,
		.dropped_cqes =
			dv_cq(qp->cq->ring)->count_dropped +
			(qp->recv_cq != qp->cq ? dv_cq(qp->recv_cq->ring)->count_dropped : 0),
		.lane_posters =
			qp->lane ? __atomic_load_n(&qp->lane->dv.count_posters, __ATOMIC_RELAXED)
				 : 0,
	};
	return 0;
}

int bsn_qp_hand_over(struct bsn_qp *qp)
{
	if (!qp)
		return fail(EINVAL, "no QP");
	if (qp->lane)
		qp->lane->dv.owner_thread = 0;
	checks_hand_over(qp);
	return 0;
}

int bsn_cq_hand_over(struct bsn_cq *cq)
{
	if (!cq)
		return fail(EINVAL, "no CQ");
	cq_of(cq)->poller = 0;
	return 0;
}
