/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues. Checks follow drivers/infiniband/core/uverbs_std_types_srq.c and
 * hw/mlx5/srq.c.
 */
#include "kernel.h"

#include <errno.h>

#include <rdma/mlx5-abi.h>

#include "bsn_wqe.h"

enum { SRQ_MIN_STRIDE_BYTES = 32 };

static int check_srq_request(const struct call *call, uint32_t max_wr, uint32_t max_sge)
{
	const uint64_t type = call_value(call, UVERBS_ATTR_CREATE_SRQ_TYPE);

	if (type != IB_UVERBS_SRQT_BASIC && type != IB_UVERBS_SRQT_XRC) {
		cx_trace(call->ctx->hca, "uverbs: only basic SRQs and those of XRC are modelled");
		return -EOPNOTSUPP;
	}
	return max_wr >= CX_MAX_SRQ_WR + 1 || max_sge > CX_MAX_SRQ_SGE ? -EINVAL : 0;
}

static int create_srq_in_device(struct call *call, struct object *srq,
				const struct mlx5_ib_create_srq *driver)
{
	uint32_t stride = roundup_pow2(BSN_SRQ_NEXT_SIZE + srq->srq.max_sge * BSN_DATA_SIZE);
	struct cx_srq_attr attr = {
		.pdn = srq->pd->number,
		.buf = driver->buf_addr,
		.db = driver->db_addr,
		.count = srq->srq.max_wr + 1,
		.stride_bytes = stride < SRQ_MIN_STRIDE_BYTES ? SRQ_MIN_STRIDE_BYTES : stride,
		.max_sge = srq->srq.max_sge,
		.async_channel = srq->async ? srq->async->channel : 0,
		.cookie = srq->user_handle,
		.xrcdn = srq->xrcd ? srq->xrcd->number : 0,
		.cqn = srq->srq.cq ? srq->srq.cq->number : 0,
		.uidx = driver->uidx,
	};
	int err = user_pin_ring(&srq->pinned, attr.buf, (uint64_t)attr.count * attr.stride_bytes,
				attr.db);

	return err ? err : cx_srq_create(call->ctx->hca, &attr, &srq->number);
}

static int out_srq(struct call *call, const struct object *srq)
{
	struct mlx5_ib_create_srq_resp driver = { .srqn = srq->number };
	int err = call_out(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &srq->srq.max_wr,
			   sizeof(srq->srq.max_wr));

	if (!err)
		err = call_out(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &srq->srq.max_sge,
			       sizeof(srq->srq.max_sge));
	if (!err)
		err = call_out(call, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, &srq->number,
			       sizeof(srq->number));
	if (!err)
		err = call_out(call, UVERBS_ATTR_UHW_OUT, &driver, sizeof(driver));
	return err ? err : call_out_handle(call, UVERBS_ATTR_CREATE_SRQ_HANDLE, srq->handle);
}

/* What an SRQ uses, and the file of its events. */
struct srq_parts {
	struct object *pd, *xrcd, *cq;
	struct event_file *async;
};

static int find_srq_parts(const struct call *call, struct srq_parts *parts)
{
	int err = call_object(call, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, OBJECT_PD, &parts->pd);

	parts->xrcd = parts->cq = NULL;
	if (!err && call_value(call, UVERBS_ATTR_CREATE_SRQ_TYPE) == IB_UVERBS_SRQT_XRC) {
		err = call_object(call, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, OBJECT_XRCD,
				  &parts->xrcd);
		if (!err)
			err = call_object(call, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, OBJECT_CQ,
					  &parts->cq);
	}
	return err ? err : call_async_file(call, UVERBS_ATTR_CREATE_SRQ_EVENT_FD, &parts->async);
}

static void refer_srq_parts(struct object *srq, const struct srq_parts *parts)
{
	object_refer(srq, parts->pd, parts->async);
	if (!parts->xrcd)
		return;
	object_refer_xrcd(srq, parts->xrcd);
	srq->srq.cq = parts->cq;
	parts->cq->users++;
}

static int create_srq(struct call *call)
{
	uint32_t max_wr = (uint32_t)call_value(call, UVERBS_ATTR_CREATE_SRQ_MAX_WR);
	uint32_t max_sge = (uint32_t)call_value(call, UVERBS_ATTR_CREATE_SRQ_MAX_SGE);
	struct mlx5_ib_create_srq driver;
	struct srq_parts parts;
	struct object *srq;
	int err = check_srq_request(call, max_wr, max_sge);

	if (!err)
		err = call_driver_in(call, &driver, offsetof(struct mlx5_ib_create_srq, uidx),
				     sizeof(driver));
	if (!err && (driver.flags || driver.reserved0 || driver.reserved1))
		err = driver.flags ? -EOPNOTSUPP : -EINVAL; /* a WQE signature, or garbage */
	if (!err)
		err = find_srq_parts(call, &parts);
	if (err)
		return err;
	srq = object_new(call->ctx, OBJECT_SRQ, cx_srq_destroy);
	if (!srq)
		return -ENOMEM;
	refer_srq_parts(srq, &parts);
	srq->user_handle = call_value(call, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE);
	srq->srq.max_wr = roundup_pow2(max_wr + 1) - 1;
	srq->srq.max_sge = max_sge;
	err = create_srq_in_device(call, srq, &driver);
	if (err) {
		object_free(call->ctx, srq);
		return err;
	}
	err = out_srq(call, srq);
	if (err)
		object_destroy(call->ctx, srq);
	return err;
}

static int destroy_srq(struct call *call)
{
	struct ib_uverbs_destroy_srq_resp resp = { 0 };
	struct object *srq;
	int err = call_object(call, UVERBS_ATTR_DESTROY_SRQ_HANDLE, OBJECT_SRQ, &srq);

	if (err)
		return err;
	resp.events_reported = srq->async_reported;
	err = object_destroy(call->ctx, srq);
	return err ? err : call_out(call, UVERBS_ATTR_DESTROY_SRQ_RESP, &resp, sizeof(resp));
}

/* mlx5_ib_modify_srq(): an SRQ cannot be resized. */
static int modify_srq(struct call *call)
{
	struct ib_uverbs_modify_srq req;
	struct object *srq;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (err)
		return err;
	srq = object_find(call->ctx, OBJECT_SRQ, req.srq_handle);
	if (!srq || req.attr_mask & IBV_SRQ_MAX_WR)
		return -EINVAL;
	if (!(req.attr_mask & IBV_SRQ_LIMIT))
		return 0;
	if (req.srq_limit > srq->srq.max_wr)
		return -EINVAL;
	return cx_srq_arm(call->ctx->hca, srq->number, req.srq_limit);
}

static int query_srq(struct call *call)
{
	struct ib_uverbs_query_srq_resp resp = { 0 };
	struct ib_uverbs_query_srq req;
	struct object *srq;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (err)
		return err;
	srq = object_find(call->ctx, OBJECT_SRQ, req.srq_handle);
	if (!srq)
		return -EINVAL;
	resp.max_wr = srq->srq.max_wr;
	resp.max_sge = srq->srq.max_sge;
	err = cx_srq_query(call->ctx->hca, srq->number, &resp.srq_limit);
	return err ? err : call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct attr_spec create_srq_specs[] = {
	{ UVERBS_ATTR_CREATE_SRQ_HANDLE, ATTR_NEW_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, ATTR_OBJECT, ATTR_OPTIONAL, 0, 0 },
	{ UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, ATTR_OBJECT, ATTR_OPTIONAL, 0, 0 },
	{ UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_CREATE_SRQ_MAX_WR, ATTR_IN, 0, 4, 4 },
	{ UVERBS_ATTR_CREATE_SRQ_MAX_SGE, ATTR_IN, 0, 4, 4 },
	{ UVERBS_ATTR_CREATE_SRQ_LIMIT, ATTR_IN, 0, 4, 4 },
	{ UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS, ATTR_IN, ATTR_OPTIONAL, 4, 4 },
	{ UVERBS_ATTR_CREATE_SRQ_TYPE, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_CREATE_SRQ_EVENT_FD, ATTR_FD, ATTR_OPTIONAL, 0, 0 },
	{ UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, ATTR_OUT, 0, 4, 4 },
	{ UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, ATTR_OUT, 0, 4, 4 },
	{ UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, ATTR_OUT, ATTR_OPTIONAL, 4, 4 },
};
static const struct attr_spec destroy_srq_specs[] = {
	{ UVERBS_ATTR_DESTROY_SRQ_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_DESTROY_SRQ_RESP, ATTR_OUT, 0, 4, 4 },
};

/* clang-format off */
const struct method srq_methods[] = {
	{ UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, false, true, create_srq,
	  "srq_create", SPECS(create_srq_specs) },
	{ UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, false, false, destroy_srq,
	  "srq_destroy", SPECS(destroy_srq_specs) },
	{ 0 },
};

const struct write_command srq_commands[] = {
	{ IB_USER_VERBS_CMD_MODIFY_SRQ, sizeof(struct ib_uverbs_modify_srq), 0, modify_srq,
	  "modify_srq" },
	{ IB_USER_VERBS_CMD_QUERY_SRQ, sizeof(struct ib_uverbs_query_srq),
	  sizeof(struct ib_uverbs_query_srq_resp), query_srq, "query_srq" },
	{ 0 },
};
/* clang-format on */
