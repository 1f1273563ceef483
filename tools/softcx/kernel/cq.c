/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues. Checks follow drivers/infiniband/core/uverbs_std_types_cq.c and hw/mlx5/cq.c.
 */
#include "kernel.h"

#include <errno.h>

#include <rdma/mlx5-abi.h>

#include "bsn_cqe.h"

/* mini_cqe_res_format_to_hw() refuses two formats at once */
static int mini_format(const struct call *call, uint8_t asked)
{
	switch (asked) {
	case MLX5_IB_CQE_RES_FORMAT_HASH:
		return BSN_MINI_HASH;
	case MLX5_IB_CQE_RES_FORMAT_CSUM:
		return BSN_MINI_CSUM;
	case MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX:
		return call->ctx->config->no_stride_index ? -EOPNOTSUPP : BSN_MINI_CSUM_STRIDX;
	default:
		return -EINVAL;
	}
}

static int check_cq_driver(const struct call *call, const struct mlx5_ib_create_cq *driver)
{
	int err;

	if (driver->flags & ~(MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD |
			      MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX |
			      MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS) ||
	    driver->reserved0 || driver->reserved1)
		return -EINVAL;
	if (driver->cqe_size != BSN_CQE_SIZE && driver->cqe_size != BSN_CQE128_SIZE)
		return -EINVAL;
	/* The page through which the CQ is armed. Our contexts have no default page. */
	if (!(driver->flags & MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX) ||
	    !object_of_number(call->ctx, OBJECT_UAR, driver->uar_page_index))
		return -EINVAL;
	if (driver->flags & MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD &&
	    driver->cqe_size != BSN_CQE128_SIZE)
		return -EOPNOTSUPP;
	err = driver->cqe_comp_en == 1 ? mini_format(call, driver->cqe_comp_res_format) : 0;
	return err < 0 ? err : 0;
}

/* The checks that the core makes before the driver's. */
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
		.has_real_time = driver->flags & MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS,
		.compresses = driver->cqe_comp_en == 1,
	};
	int err;

	if (attr.compresses)
		attr.mini_format = (uint8_t)mini_format(call, driver->cqe_comp_res_format);
	err = user_pin_ring(&cq->pinned, attr.buf, (uint64_t)attr.entries * attr.cqe_size,
				attr.db);

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
	cq = object_new(call->ctx, OBJECT_CQ, cx_cq_destroy);
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
	/* The record's page is not charged any more; it is a single page, which is shared. */
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
	if (driver.cqe_size != BSN_CQE_SIZE && driver.cqe_size != BSN_CQE128_SIZE)
		return -EINVAL;
	if (roundup_pow2(req.cqe + 1) != cq->cq.entries)
		err = resize_in_device(call, cq, roundup_pow2(req.cqe + 1), &driver);
	if (err)
		return err;
	resp.cqe = cq->cq.entries - 1;
	return call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

static int modify_cq(struct call *call)
{
	enum { MODERATE = 1, MAX_PERIOD = 4095 };
	struct ib_uverbs_ex_modify_cq req;
	struct object *cq;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (err)
		return err;
	if (!req.attr_mask || req.reserved)
		return -EINVAL;
	if (req.attr_mask & ~(uint32_t)MODERATE)
		return -EOPNOTSUPP;
	cq = object_find(call->ctx, OBJECT_CQ, req.cq_handle);
	if (!cq || req.attr.cq_period > MAX_PERIOD)
		return -EINVAL;
	return cx_cq_moderate(call->ctx->hca, cq->number, req.attr.cq_count, req.attr.cq_period);
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

/* clang-format off */
const struct method cq_methods[] = {
	{ UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, false, true, create_cq,
	  "cq_create", SPECS(create_cq_specs) },
	{ UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, false, false, destroy_cq,
	  "cq_destroy", SPECS(destroy_cq_specs) },
	{ 0 },
};

const struct write_command cq_commands[] = {
	{ IB_USER_VERBS_CMD_RESIZE_CQ, sizeof(struct ib_uverbs_resize_cq),
	  sizeof(uint32_t), resize_cq, "resize_cq" },
	{ IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_CQ,
	  sizeof(struct ib_uverbs_ex_modify_cq), 0, modify_cq, "modify_cq" },
	{ 0 },
};
/* clang-format on */
