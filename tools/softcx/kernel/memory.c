/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains, memory regions, address handles and UAR pages. Checks follow
 * drivers/infiniband/core/uverbs_cmd.c, ib_verbs.h (ib_check_mr_access) and hw/mlx5/{mr,ah,main}.c.
 */
#include "kernel.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>


#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* What every method that destroys does, by the kind of object. */
static int destroy_by_attr(struct call *call, uint16_t id, enum object_kind kind)
{
	struct object *object;
	int err = call_object(call, id, kind, &object);

	return err ? err : object_destroy(call->ctx, object);
}

/* -- protection domains ------------------------------------------------------------------------ */

static int alloc_pd(struct call *call)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct mlx5_ib_alloc_pd_resp driver;
	struct object *pd = object_new(call->ctx, OBJECT_PD);
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
	return destroy_by_attr(call, UVERBS_ATTR_DESTROY_PD_HANDLE, OBJECT_PD);
}

/* The number behind a handle, for ibv_import_pd(). */
static int query_pd(struct call *call)
{
	struct object *pd;
	int err = call_object(call, MLX5_IB_ATTR_QUERY_PD_HANDLE, OBJECT_PD, &pd);

	return err ? err
		   : call_out(call, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pd->number,
			      sizeof(pd->number));
}

/* -- memory regions ---------------------------------------------------------------------------- */

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
	return cx_mr_create(call->ctx->hca, &attr, &mr->number);
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
	mr = object_new(call->ctx, OBJECT_MR);
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

/* The new memory is pinned before the old is let go, so that a failure changes nothing. */
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
	return destroy_by_attr(call, UVERBS_ATTR_DESTROY_MR_HANDLE, OBJECT_MR);
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

/* -- address handles --------------------------------------------------------------------------- */

static bool gid_is(const uint8_t *gid, const struct cx_gid *own)
{
	return !memcmp(gid, own->gid.raw, sizeof(own->gid.raw));
}

/*
 * The MAC behind a RoCE address. Our own port's is known, a link-local address holds it, and
 * nobody else is on this wire.
 */
static int resolve_mac(const struct cx_config *config, const uint8_t *gid, uint8_t mac[6])
{
	static const uint8_t link_local[8] = { 0xfe, 0x80 };
	struct cx_gid own;

	for (unsigned i = 0; i < cx_gid_table_len(config); i++) {
		if (!cx_gid_get(config, i, &own) && gid_is(gid, &own)) {
			cx_port_mac(config, mac);
			return 0;
		}
	}
	if (memcmp(gid, link_local, sizeof(link_local)))
		return -EHOSTUNREACH;
	mac[0] = gid[8] ^ 2; /* RFC 4291, appendix A */
	mac[1] = gid[9];
	mac[2] = gid[10];
	mac[3] = gid[13];
	mac[4] = gid[14];
	mac[5] = gid[15];
	return 0;
}

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
		err = resolve_mac(config, req.attr.grh.dgid, driver.dmac);
	if (err)
		return err;
	pd = object_find(call->ctx, OBJECT_PD, req.pd_handle);
	if (!pd)
		return -EINVAL;
	ah = object_new(call->ctx, OBJECT_AH);
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
	return destroy_by_attr(call, UVERBS_ATTR_DESTROY_AH_HANDLE, OBJECT_AH);
}

/* -- UAR pages --------------------------------------------------------------------------------- */

static bool uar_pages[UVERBS_UAR_PAGES]; /* of the process; under the kernel's lock */

static int uar_page_get(uint32_t *page)
{
	/* Page 0 stays free, so that 0 never names a page by accident. */
	for (*page = 1; *page < UVERBS_UAR_PAGES; (*page)++) {
		if (!uar_pages[*page]) {
			uar_pages[*page] = true;
			return 0;
		}
	}
	return -ENOMEM;
}

void uar_page_put(uint32_t page)
{
	uar_pages[page] = false;
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
	uar = object_new(call->ctx, OBJECT_UAR);
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
	return destroy_by_attr(call, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, OBJECT_UAR);
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct attr_spec destroy_pd_specs[] = {
	{ UVERBS_ATTR_DESTROY_PD_HANDLE, ATTR_OBJECT, 0, 0, 0 },
};
static const struct attr_spec query_pd_specs[] = {
	{ MLX5_IB_ATTR_QUERY_PD_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ MLX5_IB_ATTR_QUERY_PD_RESP_PDN, ATTR_OUT, 0, 4, 4 },
};
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
static const struct attr_spec destroy_ah_specs[] = {
	{ UVERBS_ATTR_DESTROY_AH_HANDLE, ATTR_OBJECT, 0, 0, 0 },
};
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

/* clang-format off */
#define SPECS(specs) specs, ARRAY_LEN(specs)

const struct method memory_methods[] = {
	{ UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, false, false, destroy_pd,
	  "pd_destroy", SPECS(destroy_pd_specs) },
	{ UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, false, false, query_pd,
	  "pd_query", SPECS(query_pd_specs) },
	{ UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, false, false, query_mr,
	  "query_mr", SPECS(query_mr_specs) },
	{ UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, false, false, destroy_mr,
	  "mr_destroy", SPECS(destroy_mr_specs) },
	{ UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, false, false, destroy_ah,
	  "ah_destroy", SPECS(destroy_ah_specs) },
	{ MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, false, false, alloc_uar,
	  "uar_alloc", SPECS(alloc_uar_specs) },
	{ MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, false, false, destroy_uar,
	  "uar_destroy", SPECS(destroy_uar_specs) },
	{ 0 },
};

const struct write_command memory_commands[] = {
	{ IB_USER_VERBS_CMD_ALLOC_PD, sizeof(struct ib_uverbs_alloc_pd),
	  sizeof(struct ib_uverbs_alloc_pd_resp), alloc_pd, "alloc_pd" },
	{ IB_USER_VERBS_CMD_REG_MR, sizeof(struct ib_uverbs_reg_mr),
	  sizeof(struct ib_uverbs_reg_mr_resp), reg_mr, "reg_mr" },
	{ IB_USER_VERBS_CMD_REREG_MR, sizeof(struct ib_uverbs_rereg_mr),
	  sizeof(struct ib_uverbs_rereg_mr_resp), rereg_mr, "rereg_mr" },
	{ IB_USER_VERBS_CMD_CREATE_AH, sizeof(struct ib_uverbs_create_ah),
	  sizeof(struct ib_uverbs_create_ah_resp), create_ah, "create_ah" },
	{ 0 },
};
/* clang-format on */
