/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UAR pages, which have the doorbell registers, and VARs, which have those of a virtio device that
 * a program emulates. The model ignores stores into VARs. Checks follow hw/mlx5/main.c.
 */
#include "kernel.h"

#include <errno.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

static bool uar_pages[UVERBS_UAR_PAGES]; /* of the process; under the kernel's lock */

static int uar_page_get(uint32_t *page)
{
	/* Page 0 stays free, so that 0 names no page by accident. */
	for (*page = 1; *page < UVERBS_UAR_PAGES; (*page)++) {
		if (!uar_pages[*page]) {
			uar_pages[*page] = true;
			return 0;
		}
	}
	return -ENOMEM;
}

static int uar_destroy(struct cx_hca *hca, uint32_t page)
{
	(void)hca;
	uar_pages[page] = false;
	return 0;
}

static int out_uar(struct call *call, const struct object *uar)
{
	uint64_t offset = (uint64_t)(UVERBS_UAR_BASE + uar->number * UVERBS_UAR_PAGE_SIZE);
	uint32_t length = UVERBS_UAR_PAGE_SIZE;
	int err = call_out(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));

	if (!err)
		err = call_out(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length,
			       sizeof(length));
	if (!err)
		err = call_out(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &uar->number,
			       sizeof(uar->number));
	return err ? err : call_out_handle(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, uar->handle);
}

static int alloc_uar(struct call *call)
{
	struct object *uar;
	int err;

	if (call_value(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE) > MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC)
		return -EOPNOTSUPP;
	uar = object_new(call->ctx, OBJECT_UAR, uar_destroy);
	if (!uar)
		return -ENOMEM;
	err = uar_page_get(&uar->number);
	if (err) {
		object_free(call->ctx, uar);
		return err;
	}
	err = out_uar(call, uar);
	if (err)
		object_destroy(call->ctx, uar);
	return err;
}

static int destroy_uar(struct call *call)
{
	return call_destroy(call, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, OBJECT_UAR);
}

/* -- VARs -------------------------------------------------------------------------------------- */

enum { VAR_PAGES = 64 };

static bool var_pages[VAR_PAGES]; /* of the process; under the kernel's lock */

static int var_destroy(struct cx_hca *hca, uint32_t page)
{
	(void)hca;
	var_pages[page] = false;
	return 0;
}

static int var_page_get(uint32_t *page)
{
	for (*page = 0; *page < VAR_PAGES; (*page)++) {
		if (!var_pages[*page]) {
			var_pages[*page] = true;
			return 0;
		}
	}
	return -ENOSPC;
}

static int out_var(struct call *call, const struct object *var)
{
	const uint64_t offset = (uint64_t)(UVERBS_VAR_BASE + var->number * UVERBS_UAR_PAGE_SIZE);
	const uint32_t length = UVERBS_UAR_PAGE_SIZE;
	int err = call_out(call, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));

	if (!err)
		err = call_out(call, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, &length,
			       sizeof(length));
	if (!err)
		err = call_out(call, MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, &var->number,
			       sizeof(var->number));
	return err ? err : call_out_handle(call, MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, var->handle);
}

static int alloc_var(struct call *call)
{
	struct object *var = object_new(call->ctx, OBJECT_VAR, var_destroy);
	int err;

	if (!var)
		return -ENOMEM;
	err = var_page_get(&var->number);
	if (err) {
		object_free(call->ctx, var);
		return err;
	}
	err = out_var(call, var);
	if (err)
		object_destroy(call->ctx, var);
	return err;
}

static int destroy_var(struct call *call)
{
	return call_destroy(call, MLX5_IB_ATTR_VAR_OBJ_DESTROY_HANDLE, OBJECT_VAR);
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct attr_spec alloc_uar_specs[] = {
	{ MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, ATTR_NEW_OBJECT, 0, 0, 0 },
	{ MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, ATTR_IN, 0, 8, 8 },
	{ MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, ATTR_OUT, 0, 8, 8 },
	{ MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, ATTR_OUT, 0, 4, 4 },
	{ MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, ATTR_OUT, 0, 4, 4 },
};
static const struct attr_spec destroy_uar_specs[] = {
	{ MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, ATTR_OBJECT, 0, 0, 0 },
};
static const struct attr_spec alloc_var_specs[] = {
	{ MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, ATTR_NEW_OBJECT, 0, 0, 0 },
	{ MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, ATTR_OUT, 0, 8, 8 },
	{ MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, ATTR_OUT, 0, 4, 4 },
	{ MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, ATTR_OUT, 0, 4, 4 },
};
static const struct attr_spec destroy_var_specs[] = {
	{ MLX5_IB_ATTR_VAR_OBJ_DESTROY_HANDLE, ATTR_OBJECT, 0, 0, 0 },
};

/* clang-format off */
const struct method uar_methods[] = {
	{ MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, false, false, alloc_uar,
	  "uar_alloc", SPECS(alloc_uar_specs) },
	{ MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, false, false, destroy_uar,
	  "uar_destroy", SPECS(destroy_uar_specs) },
	{ MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC, false, false, alloc_var,
	  "var_alloc", SPECS(alloc_var_specs) },
	{ MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_DESTROY, false, false, destroy_var,
	  "var_destroy", SPECS(destroy_var_specs) },
	{ 0 },
};
/* clang-format on */
