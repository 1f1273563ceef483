/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints of datagram QPs. */
#include "address.h"
#include "init.h"
#include "path.h"

#include <stdlib.h>

/*
 * The endpoint of QPs that have none of their own. Its queue has no ring, so that every request comes to
 * where it is asked whether the queue is open. Nothing is ever written there.
 */
static struct bsn_be32 nowhere;
static struct bsn_sq of_nobody = {
	.ep = { &of_nobody },
	.record = &nowhere,
	.transport = BSN_TRANSPORT_UD,
	.max_sge = UINT8_MAX,
	.closed = EINVAL,
	.closed_why = "this QP has no peer of its own: make an endpoint by bsn_ep_create()",
	.owner_thread = BSN_OWNER_ANYBODY,
};

struct bsn_ep *bsn_qp_ep(struct bsn_qp *qp)
{
	if (!qp)
		return NULL;
	return qp->transport->is_connected ? &qp->sq->ep : &of_nobody.ep;
}

static int make_ep(struct bsn_qp *qp, struct ibv_ah_attr *way, uint32_t qpn, uint64_t key,
		   void *user, struct bsn_ep **out)
{
	struct ep_object *ep = bsn_hot_alloc(sizeof(*ep));
	int err;

	if (!ep)
		return fail(ENOMEM, "no memory");
	ep->hot.ep.sq = qp->sq;
	ep->hot.user = user;
	ep->qp = qp;
	errno = 0;
	ep->ah = ibv_create_ah(qp->verbs->pd, way); /* an attached QP has the application's */
	if (!ep->ah) {
		err = fail(errno ? errno : EIO, "no address handle for the peer: %s",
			   strerror(errno));
		goto free_ep;
	}
	err = qp->path->ep_make(ep, qpn, key);
	if (err)
		goto destroy_ah;
	use(&qp->uses);
	*out = &ep->hot.ep;
	return 0;

destroy_ah:
	ibv_destroy_ah(ep->ah);
free_ep:
	free(ep);
	return err;
}

int bsn_ep_create(struct bsn_qp *qp, const struct bsn_address *peer,
		  const struct bsn_connect_attr *given, void *user, struct bsn_ep **out)
{
	const struct bsn_connect_attr attr = given ? *given : (struct bsn_connect_attr){ 0 };
	struct wire_address wire;
	struct ibv_ah_attr way;
	int err;

	if (!qp || !peer || !out)
		return fail(EINVAL, "no QP, no peer, or no place for the endpoint");
	if (qp->transport->is_connected)
		return fail(EINVAL, "an RC or UC QP has the one endpoint bsn_qp_ep()");
	err = read_address(qp, peer, &wire);
	if (!err)
		err = check_connect(qp->device, &attr);
	if (err)
		return err;
	way = way_to(qp->device, bsn_from_be16(wire.lid), wire.gid, &attr);
	if (qp->transport->is_initiator)
		return make_ep(qp, &way, bsn_from_be32(wire.qpn), dc_key_of(&wire), user, out);
	return make_ep(qp, &way, bsn_from_be32(wire.qpn),
		       attr.qkey ? attr.qkey : bsn_from_be32(wire.qkey), user, out);
}

int bsn_ep_create_reply(struct bsn_qp *qp, const struct bsn_completion *c, const void *grh,
			const struct bsn_connect_attr *given, void *user, struct bsn_ep **out)
{
	const struct bsn_connect_attr attr = given ? *given : (struct bsn_connect_attr){ 0 };
	struct ibv_ah_attr way;
	struct ibv_wc wc;
	int err;

	if (!qp || !c || !grh || !out || !qp->transport->has_qkey || c->status || c->opcode != BSN_RECV)
		return fail(EINVAL, "an endpoint comes from a successful receive of a UD QP");
	wc = (struct ibv_wc){
		.src_qp = c->src_qpn,
		.slid = c->slid,
		.sl = c->sl,
		.dlid_path_bits = c->dlid_path_bits,
		.wc_flags = (c->flags & BSN_C_GRH) ? IBV_WC_GRH : 0,
	};
	err = provider_error_of_int(ibv_init_ah_from_wc(qp->device->context, qp->device->info.port,
							&wc, (struct ibv_grh *)(uintptr_t)grh,
							&way));
	if (err)
		return fail(-err, "the message does not say where it came from: %s", strerror(-err));
	return make_ep(qp, &way, c->src_qpn, attr.qkey ? attr.qkey : qp->qkey, user, out);
}

int bsn_ep_destroy(struct bsn_ep *hot)
{
	struct ep_object *ep = (struct ep_object *)(void *)hot;
	struct bsn_qp *qp;
	int err;

	if (!ep)
		return 0;
	if (hot == &hot->sq->ep)
		return fail(EINVAL, "this endpoint is its QP's own");
	qp = ep->qp;
	err = destroyed(qp->device, ibv_destroy_ah(ep->ah));
	if (err)
		return fail(-err, "cannot destroy the address handle: %s", strerror(-err));
	qp->path->ep_leave(ep);
	unuse(&qp->uses);
	free(ep);
	return 0;
}
