/* SPDX-License-Identifier: BSD-2-Clause */
/* Address handles. Checks follow hw/mlx5/ah.c. */
#include "kernel.h"

#include <errno.h>

#include <rdma/mlx5-abi.h>

static int check_ah(const struct cx_config *config, const struct ib_uverbs_ah_attr *attr)
{
	struct cx_gid own;

	if (attr->port_num != CX_PORTS)
		return -EINVAL;
	if (config->link == CX_LINK_ROCE && !attr->is_global)
		return -EINVAL;
	return attr->is_global ? cx_gid_get(config, attr->grh.sgid_index, &own) : 0;
}

static int create_ah(struct call *call)
{
	const struct cx_config *config = call->ctx->config;
	struct mlx5_ib_create_ah_resp driver = { .response_length = sizeof(driver) };
	struct ib_uverbs_create_ah_resp resp;
	struct ib_uverbs_create_ah req;
	struct object *pd, *ah;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (!err)
		err = check_ah(config, &req.attr);
	if (!err && config->link == CX_LINK_ROCE)
		err = path_resolve(call, req.attr.grh.dgid, req.attr.grh.sgid_index, driver.dmac);
	if (err)
		return err;
	pd = object_find(call->ctx, OBJECT_PD, req.pd_handle);
	if (!pd)
		return -EINVAL;
	ah = object_new(call->ctx, OBJECT_AH, NULL);
	if (!ah)
		return -ENOMEM;
	object_refer(ah, pd, NULL);
	resp.ah_handle = ah->handle;
	err = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (!err)
		err = call_out(call, UVERBS_ATTR_UHW_OUT, &driver, sizeof(driver));
	if (err)
		object_destroy(call->ctx, ah);
	return err;
}

static int destroy_ah(struct call *call)
{
	return call_destroy(call, UVERBS_ATTR_DESTROY_AH_HANDLE, OBJECT_AH);
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct attr_spec destroy_ah_specs[] = {
	{ UVERBS_ATTR_DESTROY_AH_HANDLE, ATTR_OBJECT, 0, 0, 0 },
};

/* clang-format off */
const struct method ah_methods[] = {
	{ UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, false, false, destroy_ah,
	  "ah_destroy", SPECS(destroy_ah_specs) },
	{ 0 },
};

const struct write_command ah_commands[] = {
	{ IB_USER_VERBS_CMD_CREATE_AH, sizeof(struct ib_uverbs_create_ah),
	  sizeof(struct ib_uverbs_create_ah_resp), create_ah, "create_ah" },
	{ 0 },
};
/* clang-format on */
