/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions. Checks follow drivers/infiniband/core/uverbs_cmd.c, ib_verbs.h
 * (ib_check_mr_access) and hw/mlx5/mr.c.
 */
#include "kernel.h"

#include <errno.h>
#include <unistd.h>

#include "../os/raw.h"

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
	return 0;
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

/* All addresses: what is mapped there when a request uses it: hw/mlx5/odp.c */
static bool is_implicit(const struct ib_uverbs_reg_mr *req)
{
	return !req->start && req->length == UINT64_MAX && req->access_flags & IBV_ACCESS_ON_DEMAND;
}

/* Memory that is paged on demand is not pinned or charged, and need not be mapped yet. */
static int pin_mr(struct object *mr)
{
	if (!(mr->mr.access & IBV_ACCESS_ON_DEMAND))
		return user_pin(&mr->pinned, mr->mr.va, mr->mr.length,
				mr->mr.access & MR_ACCESS_WRITABLE);
	return mr->mr.length && mr->mr.va + mr->mr.length >= mr->mr.va ? 0 : -EINVAL;
}

static void watch_mr(const struct call *call, const struct object *mr)
{
	if (!(mr->mr.access & IBV_ACCESS_ON_DEMAND))
		watch_memory(call->ctx->hca, mr->mr.va, mr->mr.length);
}

static int create_mr(struct call *call, const struct ib_uverbs_reg_mr *req, struct object *mr)
{
	struct cx_mr_attr attr;
	int err;

	if (is_implicit(req) && req->hca_va)
		return -EINVAL;

	mr->mr.va = req->start;
	mr->mr.iova = req->hca_va;
	mr->mr.length = req->length;
	mr->mr.access = (int)(req->access_flags & ~IB_UVERBS_ACCESS_OPTIONAL_RANGE);
	err = pin_mr(mr);
	if (err)
		return err;
	attr = mr_attr(mr);
	watch_catch_up(call->ctx->hca);
	err = cx_mr_create(call->ctx->hca, &attr, &mr->number);
	if (!err)
		watch_mr(call, mr);
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

/* No program owns its memory. */
static bool is_elsewhere(const struct object *mr)
{
	return mr->mr.dm || mr->mr.mapped;
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
	err = is_elsewhere(mr) ? 0 : pin_mr(&changed);
	if (err)
		return err;
	attr = mr_attr(&changed);
	watch_catch_up(call->ctx->hca);
	err = cx_mr_modify(call->ctx->hca, mr->number, (int)req->flags, &attr);
	if (err) {
		user_unpin(&changed.pinned);
		return err;
	}
	if (!is_elsewhere(mr))
		watch_mr(call, &changed);
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
	if (is_elsewhere(mr) && req.flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		return -EOPNOTSUPP;
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

/* -- device memory, dma-bufs ------------------------------------------------------------------- */

static int finish_mr(struct call *call, struct object *mr, uint16_t handle_id, uint16_t lkey_id,
		     uint16_t rkey_id)
{
	int err = call_out(call, lkey_id, &mr->number, sizeof(mr->number));

	if (!err)
		err = call_out(call, rkey_id, &mr->number, sizeof(mr->number));
	if (!err)
		err = call_out_handle(call, handle_id, mr->handle);
	if (err)
		object_destroy(call->ctx, mr);
	return err;
}

/* For memory that the shim has mapped for the device: it is not pinned for the program. */
static int create_elsewhere(struct call *call, struct object *mr)
{
	const struct cx_mr_attr attr = mr_attr(mr);

	return cx_mr_create(call->ctx->hca, &attr, &mr->number);
}

/* mlx5_ib_reg_dm_mr(); its keys count from 0 */
static int check_dm_mr(const struct object *dm, uint64_t offset, uint64_t length, uint32_t access)
{
	const uint32_t known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
			       IBV_ACCESS_ZERO_BASED | IB_UVERBS_ACCESS_OPTIONAL_RANGE;

	if (!(access & IBV_ACCESS_ZERO_BASED) || access & ~known)
		return -EINVAL;
	if (offset > dm->dm.length || length > dm->dm.length - offset)
		return -EINVAL;
	return check_access(access);
}

static int reg_dm_mr(struct call *call)
{
	const uint64_t offset = call_value(call, UVERBS_ATTR_REG_DM_MR_OFFSET);
	const uint64_t length = call_value(call, UVERBS_ATTR_REG_DM_MR_LENGTH);
	const uint32_t access = (uint32_t)call_value(call, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS);
	struct object *pd, *dm, *mr;
	int err = call_object(call, UVERBS_ATTR_REG_DM_MR_PD_HANDLE, OBJECT_PD, &pd);

	if (!err)
		err = call_object(call, UVERBS_ATTR_REG_DM_MR_DM_HANDLE, OBJECT_DM, &dm);
	if (!err)
		err = check_dm_mr(dm, offset, length, access);
	if (err)
		return err;
	mr = object_new(call->ctx, OBJECT_MR, cx_mr_destroy);
	if (!mr)
		return -ENOMEM;
	object_refer(mr, pd, NULL);
	mr->mr.dm = dm;
	dm->users++;
	mr->mr.va = (uintptr_t)dm->dm.mapped + offset;
	mr->mr.length = length;
	mr->mr.access = (int)(access & ~IB_UVERBS_ACCESS_OPTIONAL_RANGE);
	err = create_elsewhere(call, mr);
	if (err) {
		object_free(call->ctx, mr);
		return err;
	}
	return finish_mr(call, mr, UVERBS_ATTR_REG_DM_MR_HANDLE, UVERBS_ATTR_REG_DM_MR_RESP_LKEY,
			 UVERBS_ATTR_REG_DM_MR_RESP_RKEY);
}

/*
 * dma_buf_get(): a descriptor of a dma-buf. Without a GPU nothing exports dma-bufs, so a memfd
 * counts as one: only a memfd is memory with a descriptor and has seals.
 */
static int map_dmabuf(struct object *mr, int fd, uint64_t offset, bool writable)
{
	const uint64_t page = (uint64_t)getpagesize(), inside = offset & (page - 1);
	struct stat st;

	if (raw_fstat(fd, &st))
		return -EBADF;
	if (raw_fcntl(fd, F_GET_SEALS, 0) < 0)
		return -EINVAL;
	if (offset > (uint64_t)st.st_size || mr->mr.length > (uint64_t)st.st_size - offset)
		return -EINVAL;
	mr->mr.mapped_bytes = mr->mr.length + inside;
	mr->mr.mapped = device_map(fd, (off_t)(offset - inside), mr->mr.mapped_bytes, writable);
	if (!mr->mr.mapped)
		return -EOPNOTSUPP;
	mr->mr.va = (uintptr_t)mr->mr.mapped + inside;
	return 0;
}

static int make_dmabuf_mr(struct call *call, struct object *mr)
{
	const uint64_t offset = call_value(call, UVERBS_ATTR_REG_DMABUF_MR_OFFSET);
	const uint32_t access = (uint32_t)call_value(call, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS);
	int err = check_access(access);

	mr->mr.length = call_value(call, UVERBS_ATTR_REG_DMABUF_MR_LENGTH);
	mr->mr.iova = call_value(call, UVERBS_ATTR_REG_DMABUF_MR_IOVA);
	mr->mr.access = (int)(access & ~IB_UVERBS_ACCESS_OPTIONAL_RANGE);
	if (err)
		return err;
	if (!mr->mr.length || !same_page_offset(offset, mr->mr.iova) ||
	    access & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED))
		return -EINVAL;
	err = map_dmabuf(mr, (int)call_value(call, UVERBS_ATTR_REG_DMABUF_MR_FD), offset,
			 access & MR_ACCESS_WRITABLE);
	return err ? err : create_elsewhere(call, mr);
}

/* UVERBS_HANDLER(UVERBS_METHOD_REG_DMABUF_MR) */
static int reg_dmabuf_mr(struct call *call)
{
	struct object *pd, *mr;
	int err = call_object(call, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, OBJECT_PD, &pd);

	if (err)
		return err;
	mr = object_new(call->ctx, OBJECT_MR, cx_mr_destroy);
	if (!mr)
		return -ENOMEM;
	object_refer(mr, pd, NULL);
	err = make_dmabuf_mr(call, mr);
	if (err) {
		object_free(call->ctx, mr);
		return err;
	}
	return finish_mr(call, mr, UVERBS_ATTR_REG_DMABUF_MR_HANDLE,
			 UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY);
}

/* -- advice ------------------------------------------------------------------------------------ */

/* odp.c get_prefetchable_mr(), and the range */
static int check_prefetch(const struct call *call, const struct object *pd, uint64_t advice,
			  const struct ib_uverbs_sge *sge)
{
	const struct object *mr = object_of_number(call->ctx, OBJECT_MR, sge->lkey);

	if (!mr || !(mr->mr.access & IBV_ACCESS_ON_DEMAND))
		return -ENOENT;
	if (mr->pd != pd)
		return -EPERM;
	if (advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
	    !(mr->mr.access & MR_ACCESS_WRITABLE))
		return -EPERM;
	if (sge->addr < mr->mr.iova || sge->addr - mr->mr.iova > mr->mr.length ||
	    sge->length > mr->mr.length - (sge->addr - mr->mr.iova))
		return -EFAULT;
	return 0;
}

/* Only a prefetch that waits reports missing pages. */
static int prefetch(const struct object *mr, const struct ib_uverbs_sge *sge, uint64_t advice)
{
	struct pinned none = { 0 };
	int err;

	if (advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT || !sge->length)
		return 0;
	err = user_pin(&none, mr->mr.va + (sge->addr - mr->mr.iova), sge->length,
		       advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE);
	user_unpin(&none);
	return err == -ENOMEM ? 0 : err;
}

static int advise_mr(struct call *call)
{
	const uint64_t advice = call_value(call, UVERBS_ATTR_ADVISE_MR_ADVICE);
	const uint64_t flags = call_value(call, UVERBS_ATTR_ADVISE_MR_FLAGS);
	struct ib_uverbs_sge list[64];
	const unsigned bytes = call_len(call, UVERBS_ATTR_ADVISE_MR_SGE_LIST);
	struct object *pd;
	int err = call_object(call, UVERBS_ATTR_ADVISE_MR_PD_HANDLE, OBJECT_PD, &pd);

	if (err)
		return err;
	if (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	if (flags & ~(uint64_t)IB_UVERBS_ADVISE_MR_FLAG_FLUSH || bytes % sizeof(list[0]))
		return -EINVAL;
	err = call_in(call, UVERBS_ATTR_ADVISE_MR_SGE_LIST, list, bytes);
	for (unsigned i = 0; !err && i < bytes / sizeof(list[0]); i++) {
		err = check_prefetch(call, pd, advice, &list[i]);
		if (!err && flags)
			err = prefetch(object_of_number(call->ctx, OBJECT_MR, list[i].lkey),
				       &list[i], advice);
	}
	return err;
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct attr_spec query_mr_specs[] = {
	{ UVERBS_ATTR_QUERY_MR_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_QUERY_MR_RESP_LKEY, ATTR_OUT, 0, 4, 4 },
	{ UVERBS_ATTR_QUERY_MR_RESP_RKEY, ATTR_OUT, 0, 4, 4 },
	{ UVERBS_ATTR_QUERY_MR_RESP_LENGTH, ATTR_OUT, 0, 8, 8 },
	{ UVERBS_ATTR_QUERY_MR_RESP_IOVA, ATTR_OUT, ATTR_OPTIONAL, 8, 8 },
};
static const struct attr_spec reg_dm_mr_specs[] = {
	{ UVERBS_ATTR_REG_DM_MR_HANDLE, ATTR_NEW_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_REG_DM_MR_OFFSET, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_REG_DM_MR_LENGTH, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_REG_DM_MR_PD_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, ATTR_IN, 0, 4, 8 },
	{ UVERBS_ATTR_REG_DM_MR_DM_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_REG_DM_MR_RESP_LKEY, ATTR_OUT, 0, 4, 4 },
	{ UVERBS_ATTR_REG_DM_MR_RESP_RKEY, ATTR_OUT, 0, 4, 4 },
};
static const struct attr_spec reg_dmabuf_mr_specs[] = {
	{ UVERBS_ATTR_REG_DMABUF_MR_HANDLE, ATTR_NEW_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_REG_DMABUF_MR_OFFSET, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_REG_DMABUF_MR_LENGTH, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_REG_DMABUF_MR_IOVA, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_REG_DMABUF_MR_FD, ATTR_IN, 0, 4, 4 },
	{ UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, ATTR_IN, 0, 4, 8 },
	{ UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, ATTR_OUT, 0, 4, 4 },
	{ UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, ATTR_OUT, 0, 4, 4 },
};
static const struct attr_spec advise_mr_specs[] = {
	{ UVERBS_ATTR_ADVISE_MR_PD_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_ADVISE_MR_ADVICE, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_ADVISE_MR_FLAGS, ATTR_IN, 0, 4, 8 },
	{ UVERBS_ATTR_ADVISE_MR_SGE_LIST, ATTR_IN, 0, sizeof(struct ib_uverbs_sge),
	  64 * sizeof(struct ib_uverbs_sge) },
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
	{ UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, false, false, reg_dm_mr,
	  "reg_dm_mr", SPECS(reg_dm_mr_specs) },
	{ UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, false, false, reg_dmabuf_mr,
	  "reg_dmabuf_mr", SPECS(reg_dmabuf_mr_specs) },
	{ UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, false, false, advise_mr,
	  "advise_mr", SPECS(advise_mr_specs) },
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
