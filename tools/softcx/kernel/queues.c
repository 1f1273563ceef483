/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues and shared receive queues. Checks follow
 * drivers/infiniband/core/uverbs_std_types_{cq,srq}.c and hw/mlx5/{cq,srq}.c.
 */
#include "kernel.h"

#include <errno.h>
#include <string.h>

#include <rdma/mlx5-abi.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

enum {
	CQE_BYTES = 64, /* the smaller of its two sizes */
	DB_RECORD_BYTES = 8,
	DATA_SEG_BYTES = 16, /* and of an SRQ's next-segment */
	SRQ_MIN_STRIDE_BYTES = 32,
};

static uint32_t roundup_pow2(uint32_t value)
{
	uint32_t power = 1;

	while (power < value)
		power <<= 1;
	return power;
}

/* -- completion queues ------------------------------------------------------------------------- */

static int check_cq_driver(const struct call *call, const struct mlx5_ib_create_cq *driver)
{
	if (driver->flags & ~(MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD |
			      MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX) ||
	    driver->reserved0 || driver->reserved1)
		return -EINVAL;
	if (driver->cqe_size != CQE_BYTES && driver->cqe_size != 2 * CQE_BYTES)
		return -EINVAL;
	/* The page it is armed through; contexts of ours have no other that could stand in. */
	if (!(driver->flags & MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX) ||
	    !object_of_number(call->ctx, OBJECT_UAR, driver->uar_page_index))
		return -EINVAL;
	/* Neither CQE compression nor padding is among the capabilities. */
	if (driver->cqe_comp_en || driver->flags & MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD)
		return -EOPNOTSUPP;
	return 0;
}

/* What the core checks before it asks the driver. */
static int check_cq_request(const struct call *call, uint32_t entries, uint32_t flags)
{
	if (flags & ~(uint32_t)(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
				IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN))
		return -EINVAL;
	if (call_value(call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR) >= CX_COMP_VECTORS)
		return -EINVAL;
	return !entries || entries > CX_MAX_CQE ? -EINVAL : 0;
}

static int refer_cq_files(const struct call *call, struct object *cq)
{
	struct event_file *async, *channel;
	int err = call_async_file(call, UVERBS_ATTR_CREATE_CQ_EVENT_FD, &async);

	if (err)
		return err;
	object_refer(cq, NULL, async);
	if (!call_has(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL))
		return 0;
	err = event_file_of_fd(call->ctx,
			       (int64_t)call_value(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL),
			       CX_EVENT_COMPLETION, &channel);
	if (err)
		return err;
	cq->cq.channel = channel;
	event_file_get(channel);
	return 0;
}

static int pin_ring(struct object *object, uint64_t buf, uint64_t bytes, uint64_t db)
{
	int err = user_pin(&object->pinned, buf, bytes, true);

	return err ? err : user_pin(&object->pinned, db, DB_RECORD_BYTES, true);
}

static int create_cq_in_device(struct call *call, struct object *cq,
			       const struct mlx5_ib_create_cq *driver, uint32_t flags)
{
	struct cx_cq_attr attr = {
		.buf = driver->buf_addr,
		.db = driver->db_addr,
		.entries = cq->cq.entries,
		.cqe_size = cq->cq.cqe_size,
		.comp_channel = cq->cq.channel ? cq->cq.channel->channel : 0,
		.async_channel = cq->async ? cq->async->channel : 0,
		.cookie = cq->user_handle,
		.ignore_overrun = flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN,
	};
	int err = pin_ring(cq, attr.buf, (uint64_t)attr.entries * attr.cqe_size, attr.db);

	if (!err)
		err = call->ctx->host->uar_in_use(driver->uar_page_index);
	return err ? err : cx_cq_create(call->ctx->hca, &attr, &cq->number);
}

static int out_cq(struct call *call, const struct object *cq)
{
	struct mlx5_ib_create_cq_resp driver = { .cqn = cq->number };
	uint32_t cqe = cq->cq.entries - 1;
	int err = call_out(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cqe, sizeof(cqe));

	if (!err)
		err = call_out(call, UVERBS_ATTR_UHW_OUT, &driver, sizeof(driver));
	return err ? err : call_out_handle(call, UVERBS_ATTR_CREATE_CQ_HANDLE, cq->handle);
}

static int create_cq(struct call *call)
{
	uint32_t entries = (uint32_t)call_value(call, UVERBS_ATTR_CREATE_CQ_CQE);
	uint32_t flags = (uint32_t)call_value(call, UVERBS_ATTR_CREATE_CQ_FLAGS);
	struct mlx5_ib_create_cq driver;
	struct object *cq;
	int err = check_cq_request(call, entries, flags);

	if (!err)
		err = call_driver_in(call, &driver, offsetof(struct mlx5_ib_create_cq, flags),
				     sizeof(driver));
	if (!err)
		err = check_cq_driver(call, &driver);
	if (err)
		return err;
	cq = object_new(call->ctx, OBJECT_CQ);
	if (!cq)
		return -ENOMEM;
	cq->user_handle = call_value(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE);
	cq->cq.entries = roundup_pow2(entries + 1);
	cq->cq.cqe_size = driver.cqe_size;
	err = refer_cq_files(call, cq);
	if (!err)
		err = create_cq_in_device(call, cq, &driver, flags);
	if (err) {
		object_free(call->ctx, cq);
		return err;
	}
	err = out_cq(call, cq);
	if (err)
		object_destroy(call->ctx, cq);
	return err;
}

static int destroy_cq(struct call *call)
{
	struct ib_uverbs_destroy_cq_resp resp = { 0 };
	struct object *cq;
	int err = call_object(call, UVERBS_ATTR_DESTROY_CQ_HANDLE, OBJECT_CQ, &cq);

	if (err)
		return err;
	resp.comp_events_reported = cq->cq.comp_reported;
	resp.async_events_reported = cq->async_reported;
	err = object_destroy(call->ctx, cq);
	return err ? err : call_out(call, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
}

static int resize_in_device(struct call *call, struct object *cq, uint32_t entries,
			    const struct mlx5_ib_resize_cq *driver)
{
	struct pinned pinned = { 0 };
	int err = user_pin(&pinned, driver->buf_addr, (uint64_t)entries * driver->cqe_size, true);

	if (err)
		return err;
	err = cx_cq_resize(call->ctx->hca, cq->number, driver->buf_addr, entries, driver->cqe_size);
	if (err) {
		user_unpin(&pinned);
		return err;
	}
	/* The doorbell record's page goes with the old ring's; it is one page, and shared anyway. */
	user_unpin(&cq->pinned);
	cq->pinned = pinned;
	cq->cq.entries = entries;
	cq->cq.cqe_size = driver->cqe_size;
	return 0;
}

static int resize_cq(struct call *call)
{
	struct ib_uverbs_resize_cq_resp resp = { 0 };
	struct ib_uverbs_resize_cq req;
	struct mlx5_ib_resize_cq driver;
	struct object *cq;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (!err)
		err = call_driver_in(call, &driver, sizeof(driver), sizeof(driver));
	if (err)
		return err;
	cq = object_find(call->ctx, OBJECT_CQ, req.cq_handle);
	if (!cq || !req.cqe || req.cqe > CX_MAX_CQE || driver.reserved0 || driver.reserved1)
		return -EINVAL;
	if (driver.cqe_size != CQE_BYTES && driver.cqe_size != 2 * CQE_BYTES)
		return -EINVAL;
	if (roundup_pow2(req.cqe + 1) != cq->cq.entries)
		err = resize_in_device(call, cq, roundup_pow2(req.cqe + 1), &driver);
	if (err)
		return err;
	resp.cqe = cq->cq.entries - 1;
	return call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* Moderation delays events; a device that has none to spare obeys it at once. */
static int modify_cq(struct call *call)
{
	enum { MODERATE = 1, MAX_PERIOD = 4095 };
	struct ib_uverbs_ex_modify_cq req;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (err)
		return err;
	if (!req.attr_mask || req.reserved)
		return -EINVAL;
	if (req.attr_mask & ~(uint32_t)MODERATE)
		return -EOPNOTSUPP;
	if (!object_find(call->ctx, OBJECT_CQ, req.cq_handle) || req.attr.cq_period > MAX_PERIOD)
		return -EINVAL;
	return 0;
}

/* -- shared receive queues --------------------------------------------------------------------- */

static int check_srq_request(const struct call *call, uint32_t max_wr, uint32_t max_sge)
{
	if (call_value(call, UVERBS_ATTR_CREATE_SRQ_TYPE) != IB_UVERBS_SRQT_BASIC) {
		cx_trace(call->ctx->hca, "uverbs: only basic SRQs are modelled");
		return -EOPNOTSUPP;
	}
	return max_wr >= CX_MAX_SRQ_WR + 1 || max_sge > CX_MAX_SRQ_SGE ? -EINVAL : 0;
}

static int create_srq_in_device(struct call *call, struct object *srq,
				const struct mlx5_ib_create_srq *driver)
{
	uint32_t stride = roundup_pow2((1 + srq->srq.max_sge) * DATA_SEG_BYTES);
	struct cx_srq_attr attr = {
		.pdn = srq->pd->number,
		.buf = driver->buf_addr,
		.db = driver->db_addr,
		.count = srq->srq.max_wr + 1,
		.stride_bytes = stride < SRQ_MIN_STRIDE_BYTES ? SRQ_MIN_STRIDE_BYTES : stride,
		.max_sge = srq->srq.max_sge,
		.async_channel = srq->async ? srq->async->channel : 0,
		.cookie = srq->user_handle,
	};
	int err = pin_ring(srq, attr.buf, (uint64_t)attr.count * attr.stride_bytes, attr.db);

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

static int create_srq(struct call *call)
{
	uint32_t max_wr = (uint32_t)call_value(call, UVERBS_ATTR_CREATE_SRQ_MAX_WR);
	uint32_t max_sge = (uint32_t)call_value(call, UVERBS_ATTR_CREATE_SRQ_MAX_SGE);
	struct mlx5_ib_create_srq driver;
	struct event_file *async;
	struct object *pd, *srq;
	int err = check_srq_request(call, max_wr, max_sge);

	if (!err)
		err = call_driver_in(call, &driver, offsetof(struct mlx5_ib_create_srq, uidx),
				     sizeof(driver));
	if (!err && (driver.flags || driver.reserved0 || driver.reserved1))
		err = driver.flags ? -EOPNOTSUPP : -EINVAL; /* a WQE signature, or nonsense */
	if (!err)
		err = call_object(call, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, OBJECT_PD, &pd);
	if (!err)
		err = call_async_file(call, UVERBS_ATTR_CREATE_SRQ_EVENT_FD, &async);
	if (err)
		return err;
	srq = object_new(call->ctx, OBJECT_SRQ);
	if (!srq)
		return -ENOMEM;
	object_refer(srq, pd, async);
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

/* mlx5_ib_modify_srq(): it cannot be resized. */
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

static const struct attr_spec create_cq_specs[] = {
	{ UVERBS_ATTR_CREATE_CQ_HANDLE, ATTR_NEW_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_CREATE_CQ_CQE, ATTR_IN, 0, 4, 4 },
	{ UVERBS_ATTR_CREATE_CQ_USER_HANDLE, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, ATTR_FD, ATTR_OPTIONAL, 0, 0 },
	{ UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, ATTR_IN, 0, 4, 4 },
	{ UVERBS_ATTR_CREATE_CQ_FLAGS, ATTR_IN, ATTR_OPTIONAL, 4, 8 },
	{ UVERBS_ATTR_CREATE_CQ_RESP_CQE, ATTR_OUT, 0, 4, 4 },
	{ UVERBS_ATTR_CREATE_CQ_EVENT_FD, ATTR_FD, ATTR_OPTIONAL, 0, 0 },
};
static const struct attr_spec destroy_cq_specs[] = {
	{ UVERBS_ATTR_DESTROY_CQ_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_DESTROY_CQ_RESP, ATTR_OUT, 0, 8, 8 },
};
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
#define SPECS(specs) specs, ARRAY_LEN(specs)

const struct method queue_methods[] = {
	{ UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, false, true, create_cq,
	  "cq_create", SPECS(create_cq_specs) },
	{ UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, false, false, destroy_cq,
	  "cq_destroy", SPECS(destroy_cq_specs) },
	{ UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, false, true, create_srq,
	  "srq_create", SPECS(create_srq_specs) },
	{ UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, false, false, destroy_srq,
	  "srq_destroy", SPECS(destroy_srq_specs) },
	{ 0 },
};

const struct write_command queue_commands[] = {
	{ IB_USER_VERBS_CMD_RESIZE_CQ, sizeof(struct ib_uverbs_resize_cq),
	  sizeof(uint32_t), resize_cq, "resize_cq" },
	{ IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_CQ,
	  sizeof(struct ib_uverbs_ex_modify_cq), 0, modify_cq, "modify_cq" },
	{ IB_USER_VERBS_CMD_MODIFY_SRQ, sizeof(struct ib_uverbs_modify_srq), 0, modify_srq,
	  "modify_srq" },
	{ IB_USER_VERBS_CMD_QUERY_SRQ, sizeof(struct ib_uverbs_query_srq),
	  sizeof(struct ib_uverbs_query_srq_resp), query_srq, "query_srq" },
	{ 0 },
};
/* clang-format on */
