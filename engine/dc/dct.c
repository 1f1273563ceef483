/* SPDX-License-Identifier: BSD-2-Clause */
/* Targets of dynamically connected transport. */
#include "bsn_dc.h"

#include <stdlib.h>

#include "address.h"
#include "handshake.h"
#include "init.h"
#include "rc.h"

struct bsn_dct {
	struct bsn_device *device;
	struct ibv_qp *verbs;
	void *made; /* a target with a full handshake, by DevX, in place of @verbs */
	uint32_t number;
	struct cq_object *cq;
	struct srq_object *srq;
	struct bsn_pd *pd;
	uint64_t access_key;
	struct dv_route route;
	struct rc_target *rc; /* a target on plain verbs, in place of @verbs */
};

/* -- states ------------------------------------------------------------------------------------ */

/* The attributes of its acknowledgements; the initiator names their destination. */
static int ack_attr(const struct bsn_dct *dct, const struct bsn_connect_attr *connect,
		    struct ibv_qp_attr *attr)
{
	const struct bsn_device_info *info = &dct->device->info;

	*attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.port_num = info->port,
		.path_mtu = dct->device->port.active_mtu,
		.min_rnr_timer = or_default(connect->min_rnr_timer, DEFAULT_MIN_RNR_TIMER),
		.ah_attr = av_to(dct->device, info->lid, info->gid, connect),
	};
	return connect->mtu ? mtu_of(connect->mtu, &attr->path_mtu) : 0;
}

static int to_rtr(struct bsn_dct *dct, const struct bsn_connect_attr *connect)
{
	struct ibv_qp_attr rtr;
	const int err = ack_attr(dct, connect, &rtr);

	if (err)
		return err;
	return verbs_modify(dct->verbs, "DCT", &rtr,
			    IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER, "RTR");
}

/* -- life -------------------------------------------------------------------------------------- */

static int check(struct bsn_device *device, const struct bsn_dct_attr *attr)
{
	if (device->no_dc && device->path->path != BSN_PATH_VERBS)
		return fail(EOPNOTSUPP, "no DC: %s", device->no_dc);
	if (attr->full_handshake && device->no_handshake)
		return fail(EOPNOTSUPP, "no full handshake: %s", device->no_handshake);
	if (!attr->cq || !attr->srq)
		return fail(EINVAL, "a DCT needs a CQ, and an SRQ for its receives");
	if (!dv_rq(attr->srq)->is_srq)
		return fail(EINVAL, "the receive queue is a QP's own, not an SRQ");
	if (cq_of(attr->cq)->device != device ||
	    ((const struct srq_object *)dv_rq(attr->srq)->owner)->device != device)
		return fail(EINVAL, "the CQ or the SRQ is of another device");
	if (((const struct srq_object *)dv_rq(attr->srq)->owner)->xrcd)
		return fail(EINVAL, "the SRQ is in an XRC domain: a DCT needs an SRQ without one");
	if (cq_of(attr->cq)->path != device->path)
		return fail(EINVAL, "the CQ is attached: create one by bsn_cq_create()");
	if (!pd_of(device, attr->pd))
		return -EINVAL;
	return check_connect(device, &attr->connect);
}

static int create_verbs(struct bsn_dct *dct)
{
	const struct ibv_qp_init_attr init = {
		.qp_context = dct,
		.send_cq = dct->cq->verbs,
		.recv_cq = dct->cq->verbs,
		.srq = dct->srq->verbs,
	};
	const int err = provider_dct_create(dct->device->context, &init, dct->pd->verbs,
					    dct->access_key, &dct->verbs);

	return err ? fail(-err, "cannot create a DCT: %s", strerror(-err)) : 0;
}

/* Creates a target with a full handshake, which takes requests at once. */
static int create_by_command(struct bsn_dct *dct, const struct bsn_connect_attr *connect)
{
	struct bsn_device *device = dct->device;
	struct ibv_qp_attr rtr;
	const struct handshake_dct_attr attr = {
		.pd = dct->pd->verbs,
		.cqn = dv_cq(dct->cq->ring)->cqn,
		.srqn = dct->srq->number,
		.access_key = dct->access_key,
		.atomic_mode =
			handshake_atomic_mode(has_atomics(device), device->caps.masked_sizes),
		.counter_set = device_counter_set(device, dct->pd->verbs),
		.path = &rtr,
	};
	struct bsn_cmd_out answer;
	int err = ack_attr(dct, connect, &rtr);

	if (err)
		return err;
	err = handshake_dct_create(&attr, &dct->made, &dct->number, &answer);
	return err ? fail_command(err, &answer, "make a DCT with a full handshake") : 0;
}

/* Nobody knows the number yet, so no CQE can come before the route is there. */
static int add_route(struct bsn_dct *dct)
{
	int err;

	cq_lock(dct->cq);
	err = bsn_cq_add(dct->cq->ring, dct->number, &dct->route.hot);
	cq_unlock(dct->cq);
	return err ? fail(-err, "no memory") : 0;
}

static void remove_route(struct bsn_dct *dct)
{
	cq_lock(dct->cq);
	bsn_cq_remove(dct->cq->ring, dct->number);
	cq_unlock(dct->cq);
}

static struct bsn_dct *new_dct(struct bsn_device *device, const struct bsn_dct_attr *attr)
{
	struct bsn_dct *dct = calloc(1, sizeof(*dct));

	if (!dct)
		return NULL;
	dct->device = device;
	dct->cq = cq_of(attr->cq);
	dct->srq = dv_rq(attr->srq)->owner;
	dct->pd = pd_of(device, attr->pd);
	dct->access_key = attr->access_key;
	dct->route.hot.user = attr->user;
	dct->route.hot.rq = attr->srq;
	dct->route.transport = BSN_TRANSPORT_DC;
	return dct;
}

static void count(struct bsn_dct *dct, void (*change)(struct uses *uses))
{
	change(&dct->device->uses[OF_DCTS]);
	change(&dct->pd->uses);
	change(&dct->srq->uses);
}

/* Makes a target on plain verbs. Each of its RC QPs takes entries of the CQ, so this takes none. */
static int create_rc(struct bsn_dct *dct, const struct bsn_dct_attr *attr)
{
	int err = rc_target_make(dct->device, attr, &dct->rc);

	if (err)
		return err;
	dct->number = rc_target_number(dct->rc);
	dct->route.sq = rc_target_sends(dct->rc);
	err = add_route(dct);
	if (err)
		rc_target_free(dct->rc);
	return err;
}

static int destroy_object(struct bsn_dct *dct)
{
	return dct->made ? handshake_dct_destroy(dct->made)
			 : provider_error_of_int(ibv_destroy_qp(dct->verbs));
}

static int create_by_verbs(struct bsn_dct *dct, const struct bsn_connect_attr *connect)
{
	int err = create_verbs(dct);

	if (err)
		return err;
	err = target_to_init(dct->device, dct->verbs, "DCT", grants_atomics(dct->device));
	if (!err)
		err = to_rtr(dct, connect);
	if (err)
		destroy_object(dct);
	dct->number = err ? 0 : dct->verbs->qp_num; /* a DCT has it from RTR on */
	return err;
}

static int create_dc(struct bsn_dct *dct, const struct bsn_dct_attr *attr)
{
	int err = cq_take(dct->cq, dct->srq->depth, dct->srq->depth);

	if (err)
		return err;
	err = attr->full_handshake ? create_by_command(dct, &attr->connect)
				   : create_by_verbs(dct, &attr->connect);
	if (!err) {
		err = add_route(dct);
		if (err)
			destroy_object(dct);
	}
	if (err)
		cq_give(dct->cq, dct->srq->depth);
	return err;
}

int bsn_dct_create(struct bsn_device *device, const struct bsn_dct_attr *attr, struct bsn_dct **out)
{
	struct bsn_dct *dct;
	int err;

	if (!device || !attr || !out)
		return fail(EINVAL, "no device, no attributes, or no place for the DCT");
	err = check(device, attr);
	if (err)
		return err;
	dct = new_dct(device, attr);
	if (!dct)
		return fail(ENOMEM, "no memory");
	err = device->path->path == BSN_PATH_VERBS ? create_rc(dct, attr) : create_dc(dct, attr);
	if (err) {
		free(dct);
		return err;
	}
	count(dct, use);
	srq_note_cq(dct->srq, dct->cq);
	*out = dct;
	return 0;
}

static int destroy(struct bsn_dct *dct)
{
	const int err = dct->rc ? 0 : destroyed(dct->device, -destroy_object(dct));

	if (err)
		return fail(-err, "cannot destroy DCT %#x: %s", dct->number, strerror(-err));
	if (dct->rc)
		rc_target_free(dct->rc);
	else
		cq_give(dct->cq, dct->srq->depth);
	remove_route(dct);
	return 0;
}

int bsn_dct_destroy(struct bsn_dct *dct)
{
	int err;

	if (!dct)
		return 0;
	err = destroy(dct);
	if (err)
		return err;
	count(dct, unuse);
	free(dct);
	return 0;
}

/* -- its address ------------------------------------------------------------------------------- */

int bsn_dct_address(const struct bsn_dct *dct, struct bsn_address *address)
{
	struct wire_address wire;

	if (!dct || !address)
		return fail(EINVAL, "no DCT, or no place for its address");
	wire = address_of(dct->device, BSN_QP_DC, bsn_dct_number(dct));
	wire.is_rc_target = dct->rc != NULL;
	wire.psn = bsn_to_be32((uint32_t)(dct->access_key >> 32));
	wire.qkey = bsn_to_be32((uint32_t)dct->access_key);
	*address = address_from(&wire);
	return 0;
}

uint32_t bsn_dct_number(const struct bsn_dct *dct)
{
	return dct ? dct->number : 0;
}

int bsn_dct_accept(struct bsn_dct *dct)
{
	if (!dct)
		return fail(EINVAL, "no DCT");
	return dct->rc ? rc_target_accept(dct->rc) : 0;
}
