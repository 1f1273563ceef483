/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups. Checks follow drivers/infiniband/core/verbs.c, ib_attach_mcast(), and
 * uverbs_cmd.c. Both commands have the same layout.
 */
#include "kernel.h"

#include <errno.h>

enum { MLID_FIRST = 0xc000, LID_PERMISSIVE = 0xffff };

/* is_valid_mcast_lid(); on Ethernet it is not checked. */
static bool is_mlid(const struct cx_config *config, uint16_t lid)
{
	return config->link == CX_LINK_ROCE || (lid >= MLID_FIRST && lid != LID_PERMISSIVE);
}

static int find_member(struct call *call, struct ib_uverbs_attach_mcast *req, struct object **qp)
{
	int err = call_in(call, UVERBS_ATTR_CORE_IN, req, sizeof(*req));

	if (err)
		return err;
	*qp = object_find(call->ctx, OBJECT_QP, req->qp_handle);
	if (!*qp || (*qp)->qp.type != IBV_QPT_UD || !cx_mcast_is_group(req->gid) ||
	    !is_mlid(call->ctx->config, req->mlid))
		return -EINVAL;
	return 0;
}

static int attach_mcast(struct call *call)
{
	struct ib_uverbs_attach_mcast req;
	struct object *qp;
	int err = find_member(call, &req, &qp);

	if (!err)
		err = cx_mcast_attach(call->ctx->hca, qp->number, req.gid);
	if (!err)
		qp->qp.groups++;
	return err == -EALREADY ? 0 : err;
}

static int detach_mcast(struct call *call)
{
	struct ib_uverbs_attach_mcast req;
	struct object *qp;
	int err = find_member(call, &req, &qp);

	if (!err)
		err = cx_mcast_detach(call->ctx->hca, qp->number, req.gid);
	if (!err)
		qp->qp.groups--;
	return err;
}

/* clang-format off */
const struct write_command mcast_commands[] = {
	{ IB_USER_VERBS_CMD_ATTACH_MCAST, sizeof(struct ib_uverbs_attach_mcast), 0, attach_mcast,
	  "attach_mcast" },
	{ IB_USER_VERBS_CMD_DETACH_MCAST, sizeof(struct ib_uverbs_detach_mcast), 0, detach_mcast,
	  "detach_mcast" },
	{ 0 },
};
/* clang-format on */
