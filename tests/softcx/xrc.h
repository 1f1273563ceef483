/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects that only XRC has. */
#ifndef TESTS_SOFTCX_XRC_H
#define TESTS_SOFTCX_XRC_H

#include "loopback.h"

static inline struct ibv_xrcd *xrc_open_domain(struct ibv_context *ctx, int fd, int oflags)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = oflags,
	};

	return ibv_open_xrcd(ctx, &init);
}

static inline struct ibv_srq *xrc_create_srq(struct ibv_pd *pd, struct ibv_cq *cq,
					     struct ibv_xrcd *xrcd, uint32_t receives)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = receives, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = cq,
	};

	return ibv_create_srq_ex(pd->context, &init);
}

static inline struct ibv_qp *xrc_create_target(struct ibv_context *ctx, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = xrcd };

	return ibv_create_qp_ex(ctx, &init);
}

#endif
