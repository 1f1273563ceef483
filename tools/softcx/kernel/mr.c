/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions. Checks follow drivers/infiniband/core/uverbs_cmd.c, ib_verbs.h
 * (ib_check_mr_access) and hw/mlx5/mr.c.
 */
#include "kernel.h"

#include <errno.h>
#include <unistd.h>

enum {
	MR_ACCESS_KNOWN = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |
			  IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB |
			  IB_UVERBS_ACCESS_OPTIONAL_RANGE,
	MR_ACCESS_WRITABLE = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND,
};

/* ib_check_mr_access() */
static int check_access(uint32_t access)
{
	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (access & ~(uint32_t)MR_ACCESS_KNOWN)
		return -EINVAL;
	return access & IBV_ACCESS_ON_DEMAND ? -EOPNOTSUPP : 0;
}

static bool same_page_offset(uint64_t a, uint64_t b)
{
	return !((a ^ b) & ((uint64_t)getpagesize() - 1));
}

static struct cx_mr_attr mr_attr(const struct object *mr)
{
	return (struct cx_mr_attr){
		.pdn = mr->pd->number,
		.va = mr->mr.va,
		.iova = mr->mr.iova,
		.length = mr->mr.length,
		.access = mr->mr.access,
	};
}

static int create_mr(struct call *call, const struct ib_uverbs_reg_mr *req, struct object *mr)
{
	struct cx_mr_attr attr;
	int err;

	mr->mr.va = req->start;
	mr->mr.iova = req->hca_va;
	mr->mr.length = req->length;
	mr->mr.access = (int)(req->access_flags & ~IB_UVERBS_ACCESS_OPTIONAL_RANGE);
	err = user_pin(&mr->pinned, req->start, req->length,
		       req->access_flags & MR_ACCESS_WRITABLE);
	if (err)
		return err;
	attr = mr_attr(mr);
	err = cx_mr_create(call->ctx->hca, &attr, &mr->number);
	if (!err)
		watch_memory(call->ctx->hca, req->start, req->length);
	return err;
}

static int reg_mr(struct call *call)
{
	struct ib_uverbs_reg_mr req;
	struct ib_uverbs_reg_mr_resp resp;
	struct object *pd, *mr;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (err)
		return err;
	if (!same_page_offset(req.start, req.hca_va))
		return -EINVAL;
	err = check_access(req.access_flags);
	if (err)
		return err;
	pd = object_find(call->ctx, OBJECT_PD, req.pd_handle);
	if (!pd)
		return -EINVAL;
	mr = object_new(call->ctx, OBJECT_MR, cx_mr_destroy);
	if (!mr)
		return -ENOMEM;
	object_refer(mr, pd, NULL);
	err = create_mr(call, &req, mr);
	if (err) {
		object_free(call->ctx, mr);
		return err;
	}
	resp.mr_handle = mr->handle;
	resp.lkey = resp.rkey = mr->number;
	err = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (err)
		object_destroy(call->ctx, mr);
	return err;
}

/* ib_uverbs_rereg_mr() */
static int check_rereg(const struct ib_uverbs_rereg_mr *req)
{
	const uint32_t known = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
			       IBV_REREG_MR_CHANGE_ACCESS;

	if (!req->flags || req->flags & ~known)
		return -EINVAL;
	if (req->flags & IBV_REREG_MR_CHANGE_TRANSLATION &&
	    (!req->start || !req->length || !same_page_offset(req->start, req->hca_va)))
		return -EINVAL;
	if (req->flags & IBV_REREG_MR_CHANGE_ACCESS)
		return check_access(req->access_flags);
	return 0;
}

/* Pins the new memory before it unpins the old, so that a failure changes nothing. */
static int change_mr(struct call *call, const struct ib_uverbs_rereg_mr *req, struct object *mr,
		     struct object *pd)
{
	struct object changed = *mr;
	struct cx_mr_attr attr;
	int err;

	changed.pd = pd;
	changed.pinned.pages = 0;
	if (req->flags & IBV_REREG_MR_CHANGE_ACCESS)
		changed.mr.access = (int)(req->access_flags & ~IB_UVERBS_ACCESS_OPTIONAL_RANGE);
	if (req->flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		changed.mr.va = req->start;
		changed.mr.iova = req->hca_va;
		changed.mr.length = req->length;
	}
	err = user_pin(&changed.pinned, changed.mr.va, changed.mr.length,
		       changed.mr.access & MR_ACCESS_WRITABLE);
	if (err)
		return err;
	attr = mr_attr(&changed);
	err = cx_mr_modify(call->ctx->hca, mr->number, (int)req->flags, &attr);
	if (err) {
		user_unpin(&changed.pinned);
		return err;
	}
	watch_memory(call->ctx->hca, changed.mr.va, changed.mr.length);
	user_unpin(&mr->pinned);
	mr->pd->users--;
	pd->users++;
	*mr = changed;
	return 0;
}

static int rereg_mr(struct call *call)
{
	struct ib_uverbs_rereg_mr req;
	struct ib_uverbs_rereg_mr_resp resp;
	struct object *mr, *pd;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (!err)
		err = check_rereg(&req);
	if (err)
		return err;
	mr = object_find(call->ctx, OBJECT_MR, req.mr_handle);
	if (!mr)
		return -ENOENT;
	pd = mr->pd;
	if (req.flags & IBV_REREG_MR_CHANGE_PD)
		pd = object_find(call->ctx, OBJECT_PD, req.pd_handle);
	if (!pd)
		return -EINVAL;
	err = change_mr(call, &req, mr, pd);
	if (err)
		return err;
	memset(&resp, 0, sizeof(resp));
	resp.lkey = resp.rkey = mr->number;
	return call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

static int destroy_mr(struct call *call)
{
	return call_destroy(call, UVERBS_ATTR_DESTROY_MR_HANDLE, OBJECT_MR);
}

static int query_mr(struct call *call)
{
	struct object *mr;
	int err = call_object(call, UVERBS_ATTR_QUERY_MR_HANDLE, OBJECT_MR, &mr);

	if (!err)
		err = call_out(call, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &mr->number,
			       sizeof(mr->number));
	if (!err)
		err = call_out(call, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &mr->number,
			       sizeof(mr->number));
	if (!err)
		err = call_out(call, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &mr->mr.length,
			       sizeof(mr->mr.length));
	return err ? err
		   : call_out(call, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &mr->mr.iova,
			      sizeof(mr->mr.iova));
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct attr_spec query_mr_specs[] = {
	{ UVERBS_ATTR_QUERY_MR_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_QUERY_MR_RESP_LKEY, ATTR_OUT, 0, 4, 4 },
	{ UVERBS_ATTR_QUERY_MR_RESP_RKEY, ATTR_OUT, 0, 4, 4 },
	{ UVERBS_ATTR_QUERY_MR_RESP_LENGTH, ATTR_OUT, 0, 8, 8 },
	{ UVERBS_ATTR_QUERY_MR_RESP_IOVA, ATTR_OUT, ATTR_OPTIONAL, 8, 8 },
};
static const struct attr_spec destroy_mr_specs[] = {
	{ UVERBS_ATTR_DESTROY_MR_HANDLE, ATTR_OBJECT, 0, 0, 0 },
};

/* clang-format off */
const struct method mr_methods[] = {
	{ UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, false, false, query_mr,
	  "query_mr", SPECS(query_mr_specs) },
	{ UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, false, false, destroy_mr,
	  "mr_destroy", SPECS(destroy_mr_specs) },
	{ 0 },
};

const struct write_command mr_commands[] = {
	{ IB_USER_VERBS_CMD_REG_MR, sizeof(struct ib_uverbs_reg_mr),
	  sizeof(struct ib_uverbs_reg_mr_resp), reg_mr, "reg_mr" },
	{ IB_USER_VERBS_CMD_REREG_MR, sizeof(struct ib_uverbs_rereg_mr),
	  sizeof(struct ib_uverbs_rereg_mr_resp), rereg_mr, "rereg_mr" },
	{ 0 },
};
/* clang-format on */
