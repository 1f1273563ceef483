/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints of QPs with many peers, and multicast groups. */
#include "address.h"
#include "bsn_mcast.h"
#include "bsn_xrc.h"
#include "init.h"
#include "path.h"

#include <stdlib.h>

/*
 * The endpoint of QPs that have none of their own. Its queue is closed and has no ring, so every
 * request is refused, and nothing is ever written there.
 */
static struct bsn_be32 nowhere;
static struct dv_sq of_nobody = {
	.hot = { .ep = { &of_nobody.hot },
		 .slot = (uint8_t *)&nowhere,
		 .record = &nowhere,
		 .max_sge = UINT8_MAX },
	.transport = BSN_TRANSPORT_UD,
	.closed = EINVAL,
	.closed_why =
		"this QP has no peer of its own: make an endpoint by bsn_ep_create(), of XRC by "
		"bsn_xrc_ep_create()",
};

struct bsn_ep *bsn_qp_ep(struct bsn_qp *qp)
{
	if (!qp)
		return NULL;
	return qp->transport->has_peers ? &of_nobody.hot.ep : &qp->sq->ep;
}

static struct ep_object *new_ep(struct bsn_qp *qp, void *user)
{
	struct ep_object *ep = bsn_hot_alloc(sizeof(*ep));

	if (!ep)
		return NULL;
	ep->hot.ep.sq = qp->sq;
	ep->hot.user = user;
	ep->qp = qp;
	return ep;
}

static int make_ep(struct bsn_qp *qp, struct ibv_ah_attr *av, uint32_t qpn, uint64_t key,
		   void *user, struct bsn_ep **out)
{
	struct ep_object *ep = new_ep(qp, user);
	int err;

	if (!ep)
		return fail(ENOMEM, "no memory");
	errno = 0;
	ep->ah = ibv_create_ah(qp->verbs->pd, av); /* an attached QP has the application's */
	if (!ep->ah) {
		err = fail(errno ? errno : EIO, "no address handle for the peer: %s%s",
			   strerror(errno), hint_of_av(av, -errno));
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
	struct ibv_ah_attr av;
	int err;

	if (!qp || !peer || !out)
		return fail(EINVAL, "no QP, no peer, or no place for the endpoint");
	if (!qp->transport->has_peers)
		return fail(EINVAL, "an RC or UC QP has only the endpoint bsn_qp_ep()");
	if (qp->transport->is_connected)
		return fail(EINVAL,
			    "an endpoint of XRC is an SRQ's, by its number: bsn_xrc_ep_create()");
	err = read_address(qp->device, qp->transport, false, peer, &wire);
	if (!err)
		err = check_connect(qp->device, &attr);
	if (err)
		return err;
	av = av_to(qp->device, bsn_from_be16(wire.lid), wire.gid, &attr);
	if (qp->transport->is_initiator)
		return make_ep(qp, &av, bsn_from_be32(wire.qpn), dc_key_of(&wire), user, out);
	return make_ep(qp, &av, bsn_from_be32(wire.qpn),
		       attr.qkey ? attr.qkey : bsn_from_be32(wire.qkey), user, out);
}

int bsn_xrc_ep_create(struct bsn_qp *qp, uint32_t srqn, void *user, struct bsn_ep **out)
{
	struct ep_object *ep;
	int err;

	if (!qp || !out)
		return fail(EINVAL, "no QP, or no place for the endpoint");
	if (qp->type != BSN_QP_XRC)
		return fail(EINVAL, "the QP is %s: only requests of a BSN_QP_XRC name an SRQ",
			    qp->transport->name);
	if (!srqn || srqn > BSN_QPN_MAX)
		return fail(EINVAL,
			    "no SRQ has the number %#x: it is the receiver's bsn_srq_number()",
			    srqn);
	ep = new_ep(qp, user);
	if (!ep)
		return fail(ENOMEM, "no memory");
	err = qp->path->ep_make(ep, srqn, 0);
	if (err) {
		free(ep);
		return err;
	}
	use(&qp->uses);
	*out = &ep->hot.ep;
	return 0;
}

/* -- multicast ------------------------------------------------------------------------------- */

#define QPN_OF_GROUPS BSN_QPN_MAX /* IBTA "Multicast": the number that means all members */
#define FIRST_MLID    0xc000
#define LID_OF_ALL    0xffff

/* RFC 4291; for RoCE v2 over IPv4 as in the kernel's rdma_is_multicast_addr(). */
static bool is_group(const uint8_t gid[16])
{
	static const uint8_t of_ipv4[12] = { [10] = 0xff, [11] = 0xff };

	return gid[0] == 0xff || (!memcmp(gid, of_ipv4, sizeof(of_ipv4)) && gid[12] >> 4 == 0xe);
}

static int check_group(const struct bsn_qp *qp, const struct bsn_mcast_group *group)
{
	if (!qp || !group)
		return fail(EINVAL, "no QP, or no group");
	if (!qp->transport->has_qkey)
		return fail(EINVAL, "%s has no multicast: it takes a UD QP", qp->transport->name);
	if (!is_group(group->gid))
		return fail(EINVAL, "no multicast group: its GID begins with 0xff, or is an IPv4 "
				    "multicast address after ::ffff:");
	if (qp->device->port.link_layer != IBV_LINK_LAYER_ETHERNET &&
	    (group->lid < FIRST_MLID || group->lid == LID_OF_ALL))
		return fail(EINVAL,
			    "the LID of a multicast group is %#x to %#x, not %#x: the subnet "
			    "manager gives it",
			    FIRST_MLID, LID_OF_ALL - 1, group->lid);
	return 0;
}

static const union ibv_gid *gid_of(const struct bsn_mcast_group *group)
{
	return (const union ibv_gid *)(const void *)group;
}

int bsn_mcast_attach(struct bsn_qp *qp, const struct bsn_mcast_group *group)
{
	int err = check_group(qp, group);

	if (err)
		return err;
	err = provider_error_of_int(ibv_attach_mcast(qp->verbs, gid_of(group), group->lid));
	return err ? fail(-err, "cannot attach the QP to the group: %s", strerror(-err)) : 0;
}

int bsn_mcast_detach(struct bsn_qp *qp, const struct bsn_mcast_group *group)
{
	int err = check_group(qp, group);

	if (err)
		return err;
	err = provider_error_of_int(ibv_detach_mcast(qp->verbs, gid_of(group), group->lid));
	return err ? fail(-err, "cannot detach the QP from the group: %s", strerror(-err)) : 0;
}

/* A message to a group has a GRH, even on InfiniBand (IBTA "Multicast"). */
int bsn_ep_create_mcast(struct bsn_qp *qp, const struct bsn_mcast_group *group,
			const struct bsn_connect_attr *given, void *user, struct bsn_ep **out)
{
	const struct bsn_connect_attr attr = given ? *given : (struct bsn_connect_attr){ 0 };
	struct ibv_ah_attr av;
	int err = check_group(qp, group);

	if (!err && !out)
		err = fail(EINVAL, "no place for the endpoint");
	if (!err)
		err = check_connect(qp->device, &attr);
	if (err)
		return err;
	av = av_to(qp->device, group->lid, group->gid, &attr);
	av.is_global = 1;
	return make_ep(qp, &av, QPN_OF_GROUPS, attr.qkey ? attr.qkey : qp->qkey, user, out);
}

int bsn_ep_create_reply(struct bsn_qp *qp, const struct bsn_completion *c, const void *grh,
			const struct bsn_connect_attr *given, void *user, struct bsn_ep **out)
{
	const struct bsn_connect_attr attr = given ? *given : (struct bsn_connect_attr){ 0 };
	struct ibv_ah_attr av;
	struct ibv_wc wc;
	int err;

	if (!qp || !c || !grh || !out || !qp->transport->has_qkey || c->status ||
	    c->opcode != BSN_RECV)
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
							&av));
	if (err)
		return fail(-err, "the message does not say where it came from: %s",
			    strerror(-err));
	return make_ep(qp, &av, c->src_qpn, attr.qkey ? attr.qkey : qp->qkey, user, out);
}

int bsn_ep_destroy(struct bsn_ep *hot)
{
	struct ep_object *ep = (struct ep_object *)(void *)hot;
	struct bsn_qp *qp;
	int err;

	if (!ep)
		return 0;
	if (hot == &hot->sq->ep)
		return fail(EINVAL, "this endpoint is its QP's own, and goes with it");
	qp = ep->qp;
	err = ep->ah ? destroyed(qp->device, ibv_destroy_ah(ep->ah)) : 0;
	if (err)
		return fail(-err, "cannot destroy the address handle: %s", strerror(-err));
	qp->path->ep_leave(ep);
	unuse(&qp->uses);
	free(ep);
	return 0;
}
