/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct path's endpoints of a UD QP. */
#include "direct.h"

int direct_ep_make(struct ep_object *ep, uint32_t qpn, uint32_t qkey)
{
	uint8_t bytes[BSN_AV_UD_GRH_SIZE];
	struct bsn_av_ud_grh av;
	const int err = provider_ah_av(ep->ah, bytes);

	if (err)
		return fail(-err, "cannot read the address vector: %s", strerror(-err));
	bsn_av_ud_grh_decode(&av, bytes);
	av.qkey = qkey;
	av.dqpn = qpn;
	av.ext = 1;
	bsn_av_ud_grh_encode(bytes, &av);
	memcpy(&ep->hot.head, bytes, sizeof(ep->hot.head));
	memcpy(ep->more, bytes + sizeof(ep->hot.head), sizeof(ep->more));
	ep->hot.more = ep->more;
	ep->hot.prefix_ds = BSN_AV_UD_GRH_SIZE / BSN_DS_SIZE;
	return 0;
}

/* Its requests have what they need of it in the ring. */
void direct_ep_leave(const struct ep_object *ep)
{
	(void)ep;
}
