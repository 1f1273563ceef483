/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct path's endpoints of a QP with many peers: the prefix of their requests. */
#include "direct.h"

static void address_ud(uint8_t *bytes, uint32_t qpn, uint64_t key)
{
	struct bsn_av_ud_grh av;

	bsn_av_ud_grh_decode(&av, bytes);
	av.qkey = (uint32_t)key;
	av.dqpn = qpn;
	av.ext = 1;
	bsn_av_ud_grh_encode(bytes, &av);
}

/* Writes the address vector; a compact one is the beginning of an extended one. */
static void address_dc(uint8_t *bytes, uint32_t dctn, uint64_t key, bool is_compact)
{
	struct bsn_av_dc_grh av;

	bsn_av_dc_grh_decode(&av, bytes);
	av.dc_key = key;
	av.dqpn = dctn;
	av.ext = !is_compact;
	bsn_av_dc_grh_encode(bytes, &av);
}

/* Whether address vectors may be compact: one that needs a GRH has a GID, and may not. */
static bool can_be_compact(const struct bsn_device *device)
{
	return device->caps.has_compact_av && device->port.link_layer == IBV_LINK_LAYER_INFINIBAND;
}

static void name_srq(struct ep_object *ep, uint32_t srqn)
{
	const struct bsn_xrc segment = { .srqn = srqn };

	bsn_xrc_encode(&ep->hot.head, &segment);
	ep->hot.prefix_ds = BSN_XRC_SIZE / BSN_DS_SIZE;
}

static int name_address(struct ep_object *ep, uint32_t qpn, uint64_t key)
{
	const bool is_dc = ep->qp->transport->wqe == BSN_TRANSPORT_DC;
	const bool is_compact = is_dc && can_be_compact(ep->qp->device);
	uint8_t bytes[BSN_AV_UD_GRH_SIZE];
	const int err = provider_ah_av(ep->ah, bytes);

	if (err)
		return fail(-err, "cannot read the address vector: %s", strerror(-err));
	if (is_dc)
		address_dc(bytes, qpn, key, is_compact);
	else
		address_ud(bytes, qpn, key);
	memcpy(&ep->hot.head, bytes, sizeof(ep->hot.head));
	memcpy(ep->more, bytes + sizeof(ep->hot.head), sizeof(ep->more));
	ep->hot.more = ep->more;
	ep->hot.prefix_ds = (is_compact ? BSN_AV_DC_SIZE : BSN_AV_UD_GRH_SIZE) / BSN_DS_SIZE;
	return 0;
}

int direct_ep_make(struct ep_object *ep, uint32_t number, uint64_t key)
{
	if (ep->ah)
		return name_address(ep, number, key);
	name_srq(ep, number);
	return 0;
}

/* Needs to do nothing: requests in the ring have copies of all that they need. */
void direct_ep_leave(const struct ep_object *ep)
{
	(void)ep;
}
