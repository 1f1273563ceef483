/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains. */
#include "kernel.h"

#include <errno.h>

#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

static int alloc_pd(struct call *call)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct mlx5_ib_alloc_pd_resp driver;
	struct object *pd = object_new(call->ctx, OBJECT_PD, cx_pd_destroy);
	int err;

	if (!pd)
		return -ENOMEM;
	err = cx_pd_create(call->ctx->hca, &pd->number);
	if (err) {
		object_free(call->ctx, pd);
		return err;
	}
	resp.pd_handle = pd->handle;
	driver.pdn = pd->number;
	err = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (!err)
		err = call_out(call, UVERBS_ATTR_UHW_OUT, &driver, sizeof(driver));
	if (err)
		object_destroy(call->ctx, pd);
	return err;
}

static int destroy_pd(struct call *call)
{
	return call_destroy(call, UVERBS_ATTR_DESTROY_PD_HANDLE, OBJECT_PD);
}

/* The number of a handle's domain, for ibv_import_pd(). */
static int query_pd(struct call *call)
{
	struct object *pd;
	int err = call_object(call, MLX5_IB_ATTR_QUERY_PD_HANDLE, OBJECT_PD, &pd);

	return err ? err
		   : call_out(call, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pd->number,
			      sizeof(pd->number));
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct attr_spec destroy_pd_specs[] = {
	{ UVERBS_ATTR_DESTROY_PD_HANDLE, ATTR_OBJECT, 0, 0, 0 },
};
static const struct attr_spec query_pd_specs[] = {
	{ MLX5_IB_ATTR_QUERY_PD_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ MLX5_IB_ATTR_QUERY_PD_RESP_PDN, ATTR_OUT, 0, 4, 4 },
};

/* clang-format off */
const struct method pd_methods[] = {
	{ UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, false, false, destroy_pd,
	  "pd_destroy", SPECS(destroy_pd_specs) },
	{ UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, false, false, query_pd,
	  "pd_query", SPECS(query_pd_specs) },
	{ 0 },
};

const struct write_command pd_commands[] = {
	{ IB_USER_VERBS_CMD_ALLOC_PD, sizeof(struct ib_uverbs_alloc_pd),
	  sizeof(struct ib_uverbs_alloc_pd_resp), alloc_pd, "alloc_pd" },
	{ 0 },
};
/* clang-format on */
