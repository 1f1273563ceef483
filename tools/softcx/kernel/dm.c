/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory (MEMIC). Checks follow hw/mlx5/dm.c and
 * drivers/infiniband/core/uverbs_std_types_dm.c.
 */
#include "kernel.h"

#include <errno.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

/* handle_alloc_dm_memic(): whether the device can give this alignment. */
static int check_request(const struct call *call, uint64_t length)
{
	const uint64_t type = call_value(call, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE);

	if (type != MLX5_IB_UAPI_DM_TYPE_MEMIC) {
		cx_trace(call->ctx->hca, "uverbs: device memory of type %u is not modelled",
			 (unsigned)type);
		return -EOPNOTSUPP;
	}
	if (!length || call_value(call, UVERBS_ATTR_ALLOC_DM_ALIGNMENT) > CX_DM_PAGE_LOG2)
		return -EINVAL;
	return length > (uint64_t)CX_DM_PAGES << CX_DM_PAGE_LOG2 ? -ENOMEM : 0;
}

static int out_dm(struct call *call, const struct object *dm)
{
	const uint64_t offset = 0;
	const uint16_t page = (uint16_t)dm->dm.first_page;
	int err = call_out(call, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, &offset, sizeof(offset));

	if (!err)
		err = call_out(call, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, &page, sizeof(page));
	return err ? err : call_out_handle(call, UVERBS_ATTR_ALLOC_DM_HANDLE, dm->handle);
}

static int make_dm(struct call *call, struct object *dm, uint64_t length)
{
	const uint64_t page = 1ull << CX_DM_PAGE_LOG2;
	int err;

	dm->dm.length = length;
	dm->dm.pages = (uint32_t)((length + page - 1) >> CX_DM_PAGE_LOG2);
	err = cx_dm_create(call->ctx->hca, dm->dm.pages, &dm->number, &dm->dm.first_page);
	if (err)
		return err;
	dm->dm.mapped = device_map(call->ctx->host->memfd,
				   UVERBS_DM_BASE + ((off_t)dm->dm.first_page << CX_DM_PAGE_LOG2),
				   (size_t)dm->dm.pages << CX_DM_PAGE_LOG2, true);
	if (dm->dm.mapped)
		return 0;
	cx_dm_destroy(call->ctx->hca, dm->number);
	return -ENOMEM;
}

static int alloc_dm(struct call *call)
{
	const uint64_t length = call_value(call, UVERBS_ATTR_ALLOC_DM_LENGTH);
	struct object *dm;
	int err = check_request(call, length);

	if (err)
		return err;
	dm = object_new(call->ctx, OBJECT_DM, cx_dm_destroy);
	if (!dm)
		return -ENOMEM;
	err = make_dm(call, dm, length);
	if (err) {
		object_free(call->ctx, dm);
		return err;
	}
	err = out_dm(call, dm);
	if (err)
		object_destroy(call->ctx, dm);
	return err;
}

static int free_dm(struct call *call)
{
	return call_destroy(call, UVERBS_ATTR_FREE_DM_HANDLE, OBJECT_DM);
}

/* For a context that imports memory which another context of the same open allocated. */
static int query_dm(struct call *call)
{
	const uint64_t offset = 0, block = 1ull << CX_DM_BLOCK_LOG2;
	struct object *dm;
	uint64_t length;
	uint16_t page;
	int err = call_object(call, MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, OBJECT_DM, &dm);

	if (err)
		return err;
	page = (uint16_t)dm->dm.first_page;
	err = call_out(call, MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, &offset, sizeof(offset));
	if (!err)
		err = call_out(call, MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, &page, sizeof(page));
	length = (dm->dm.length + block - 1) & ~(block - 1);
	return err ? err
		   : call_out(call, MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, &length, sizeof(length));
}

static int map_op_addr(struct call *call)
{
	cx_trace(call->ctx->hca, "uverbs: atomics on device memory are not modelled");
	return -EOPNOTSUPP;
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct attr_spec alloc_dm_specs[] = {
	{ UVERBS_ATTR_ALLOC_DM_HANDLE, ATTR_NEW_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_ALLOC_DM_LENGTH, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_ALLOC_DM_ALIGNMENT, ATTR_IN, 0, 4, 4 },
	{ MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, ATTR_OUT, ATTR_OPTIONAL, 8, 8 },
	{ MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, ATTR_OUT, ATTR_OPTIONAL, 2, 2 },
	{ MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, ATTR_IN, ATTR_OPTIONAL, 8, 8 },
};
static const struct attr_spec free_dm_specs[] = {
	{ UVERBS_ATTR_FREE_DM_HANDLE, ATTR_OBJECT, 0, 0, 0 },
};
static const struct attr_spec query_dm_specs[] = {
	{ MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, ATTR_OUT, 0, 8, 8 },
	{ MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, ATTR_OUT, 0, 2, 2 },
	{ MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, ATTR_OUT, 0, 8, 8 },
};
static const struct attr_spec map_op_addr_specs[] = {
	{ MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, ATTR_IN, 0, 1, 1 },
	{ MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, ATTR_OUT, 0, 8, 8 },
	{ MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX, ATTR_OUT, 0, 2, 2 },
};

/* clang-format off */
const struct method dm_methods[] = {
	{ UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, false, false, alloc_dm,
	  "dm_alloc", SPECS(alloc_dm_specs) },
	{ UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, false, false, free_dm,
	  "dm_free", SPECS(free_dm_specs) },
	{ UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, false, false, query_dm,
	  "dm_query", SPECS(query_dm_specs) },
	{ UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR, false, false, map_op_addr,
	  "dm_map_op_addr", SPECS(map_op_addr_specs) },
	{ 0 },
};
/* clang-format on */
