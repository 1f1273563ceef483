/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: creation and destruction. Checks follow
 * drivers/infiniband/core/uverbs_std_types_qp.c and hw/mlx5/qp.c.
 */
#include "kernel.h"

#include <errno.h>
#include <string.h>

#include <rdma/mlx5-abi.h>

#include "../nic/dc.h"
#include "bsn_db.h"

enum {
	UIDX_MASK = 0xffffff, /* MLX5_USER_ASSIGNED_UIDX_MASK */
	QP_FLAGS_KNOWN = MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE |
			 MLX5_QP_FLAG_UAR_PAGE_INDEX | MLX5_QP_FLAG_TYPE_DCT |
			 MLX5_QP_FLAG_TYPE_DCI | MLX5_QP_FLAG_DCI_STREAM,
	CREATE_FLAGS_KNOWN =
		IB_UVERBS_QP_CREATE_SQ_SIG_ALL | IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK,
};

/* -- creation ---------------------------------------------------------------------------------- */

static bool is_pow2_or_0(uint32_t value)
{
	return !(value & (value - 1));
}

static int check_qp_rings(const struct mlx5_ib_create_qp *driver)
{
	if (driver->sq_wqe_count > CX_MAX_QP_WR || !is_pow2_or_0(driver->sq_wqe_count))
		return -EINVAL;
	if (driver->rq_wqe_count > CX_MAX_QP_WR * BSN_BB_SIZE / BSN_DATA_SIZE ||
	    !is_pow2_or_0(driver->rq_wqe_count) || driver->rq_wqe_shift > 31)
		return -EINVAL;
	if (driver->rq_wqe_count && ((1u << driver->rq_wqe_shift) < BSN_DATA_SIZE ||
				     (1u << driver->rq_wqe_shift) > CX_MAX_RQ_DESC_BYTES))
		return -EINVAL;
	return 0;
}

/* Driver types are those of DC, each with its flag. */
static enum cx_dc dc_of(const struct mlx5_ib_create_qp *driver)
{
	return driver->flags & MLX5_QP_FLAG_TYPE_DCT   ? CX_DC_TARGET
	       : driver->flags & MLX5_QP_FLAG_TYPE_DCI ? CX_DC_INITIATOR
						       : CX_DC_NONE;
}

/*
 * check_qp_attr() and check_ucmd_data(): a target takes receives from an SRQ, an initiator from
 * nothing
 */
static int check_dc(const struct call *call, const struct ib_uverbs_qp_cap *cap,
		    const struct mlx5_ib_create_qp *driver)
{
	const bool is_driver = call_value(call, UVERBS_ATTR_CREATE_QP_TYPE) == IBV_QPT_DRIVER;
	const uint32_t both = MLX5_QP_FLAG_TYPE_DCT | MLX5_QP_FLAG_TYPE_DCI;
	const enum cx_dc dc = dc_of(driver);

	if (is_driver != (dc != CX_DC_NONE) || (driver->flags & both) == both)
		return -EINVAL;
	if (dc == CX_DC_TARGET && (!call_has(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE) ||
				   !call_has(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE)))
		return -EINVAL;
	if (dc == CX_DC_INITIATOR && (cap->max_recv_wr || cap->max_recv_sge))
		return -EINVAL;
	if (!(driver->flags & MLX5_QP_FLAG_DCI_STREAM))
		return 0;
	if (dc != CX_DC_INITIATOR || !cx_has_dci_streams(call->ctx->config))
		return -EINVAL;
	/* The firmware's limits. */
	return driver->dci_streams.log_num_concurent > CX_DC_STREAMS_LOG2 ||
			       driver->dci_streams.log_num_errored >
				       cx_dci_errored_log2(call->ctx->config)
		       ? -EINVAL
		       : 0;
}

static bool is_xrc_target(const struct call *call)
{
	return call_value(call, UVERBS_ATTR_CREATE_QP_TYPE) == IBV_QPT_XRC_RECV;
}

/* A CQE of version 1 names its queue by the index that the library chose. */
static int check_qp_driver(const struct call *call, const struct mlx5_ib_create_qp *driver)
{
	if (driver->flags & ~(uint32_t)QP_FLAGS_KNOWN) {
		cx_trace(call->ctx->hca, "uverbs: QP flags %#x are not modelled",
			 driver->flags & ~(uint32_t)QP_FLAGS_KNOWN);
		return -EOPNOTSUPP;
	}
	if (driver->uidx & ~(uint32_t)UIDX_MASK)
		return -EINVAL;
	/* it has no rings, and the access key instead of their address */
	if (dc_of(driver) == CX_DC_TARGET)
		return 0;
	if (is_xrc_target(call)) /* create_xrc_tgt_qp() does not look at rings */
		return 0;
	if (driver->sq_buf_addr || !(driver->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) ||
	    !object_of_number(call->ctx, OBJECT_UAR, driver->bfreg_index))
		return -EINVAL;
	return check_qp_rings(driver);
}

static int check_qp_type(const struct call *call, uint64_t type, uint64_t create_flags)
{
	if (type != IBV_QPT_RC && type != IBV_QPT_UC && type != IBV_QPT_UD &&
	    type != IBV_QPT_XRC_SEND && type != IBV_QPT_XRC_RECV && type != IBV_QPT_DRIVER) {
		cx_trace(call->ctx->hca, "uverbs: QP type %llu is not modelled",
			 (unsigned long long)type);
		return -EOPNOTSUPP;
	}
	if (create_flags & ~(uint64_t)CREATE_FLAGS_KNOWN ||
	    call_has(call, UVERBS_ATTR_CREATE_QP_SOURCE_QPN) ||
	    call_has(call, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE))
		return -EOPNOTSUPP;
	return 0;
}

/* set_rq_size(), set_user_buf_size() */
static int check_qp_cap(const struct ib_uverbs_qp_cap *cap)
{
	if (cap->max_send_wr > CX_MAX_QP_WR || cap->max_recv_wr > CX_MAX_QP_WR)
		return -EINVAL;
	return 0;
}

struct qp_parts {
	struct object *pd, *xrcd, *send_cq, *recv_cq, *srq;
	struct event_file *async;
};

/* An XRC target belongs only to its domain: UVERBS_METHOD_QP_CREATE. */
static int find_xrc_target_parts(const struct call *call, struct qp_parts *parts)
{
	if (call_has(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE) ||
	    call_has(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE) ||
	    call_has(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE))
		return -EINVAL;
	return call_object(call, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, OBJECT_XRCD, &parts->xrcd);
}

/* An XRC initiator receives nothing. */
static int find_other_parts(const struct call *call, struct qp_parts *parts)
{
	const bool is_xrc = call_value(call, UVERBS_ATTR_CREATE_QP_TYPE) == IBV_QPT_XRC_SEND;
	int err = call_object(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, OBJECT_PD, &parts->pd);

	if (call_has(call, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE) ||
	    (is_xrc && call_has(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE)))
		return -EINVAL;
	if (!err)
		err = call_object(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, OBJECT_CQ,
				  &parts->send_cq);
	if (!err && !is_xrc)
		err = call_object(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, OBJECT_CQ,
				  &parts->recv_cq);
	if (!err && call_has(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE))
		err = call_object(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, OBJECT_SRQ, &parts->srq);
	return err;
}

static int find_qp_parts(const struct call *call, struct qp_parts *parts)
{
	int err;

	*parts = (struct qp_parts){ 0 };
	err = is_xrc_target(call) ? find_xrc_target_parts(call, parts)
				  : find_other_parts(call, parts);
	return err ? err : call_async_file(call, UVERBS_ATTR_CREATE_QP_EVENT_FD, &parts->async);
}

static void add_user(struct object *object)
{
	if (object)
		object->users++;
}

static void refer_qp_parts(struct object *qp, const struct qp_parts *parts)
{
	object_refer(qp, parts->pd, parts->async);
	if (parts->xrcd)
		object_refer_xrcd(qp, parts->xrcd);
	qp->qp.send_cq = parts->send_cq;
	qp->qp.recv_cq = parts->recv_cq;
	qp->qp.srq = parts->srq;
	add_user(parts->send_cq);
	add_user(parts->recv_cq);
	add_user(parts->srq);
}

/*
 * Whether data may come in the CQE: configure_{responder,requester}_scat_cqe() of hw/mlx5/qp.c. The
 * requester's side may only if every request is signaled, or if the program allows it.
 */
static void choose_scatter(const struct object *qp, uint32_t flags, struct cx_qp_attr *attr)
{
	if (!(flags & MLX5_QP_FLAG_SCATTER_CQE))
		return;
	attr->scatter_to_cqe = qp->qp.type == IBV_QPT_RC || qp->qp.type == IBV_QPT_UC;
	attr->scatter_to_cqe_requester =
		qp->qp.type == IBV_QPT_RC &&
		(qp->qp.signal_all || flags & MLX5_QP_FLAG_ALLOW_SCATTER_CQE);
}

/* Of a target only its domain, SRQ, CQ, index, key and events are read: it has no rings. */
static int create_dct_in_device(struct call *call, struct object *qp, const struct cx_qp_attr *all,
				const struct mlx5_ib_create_qp *driver)
{
	const struct cx_qp_attr attr = {
		.type = all->type,
		.dc = all->dc,
		.dc_key = driver->access_key,
		.pdn = all->pdn,
		.send_cqn = all->recv_cqn,
		.recv_cqn = all->recv_cqn,
		.srqn = all->srqn,
		.uidx = all->uidx,
		.async_channel = all->async_channel,
		.cookie = all->cookie,
	};

	return cx_qp_create(call->ctx->hca, &attr, &qp->number);
}

static int create_xrc_target_in_device(struct call *call, struct object *qp)
{
	const struct cx_qp_attr attr = {
		.type = qp->qp.type,
		.xrcdn = qp->xrcd->number,
		.async_channel = qp->async ? qp->async->channel : 0,
		.cookie = qp->user_handle,
	};

	return cx_qp_create(call->ctx->hca, &attr, &qp->number);
}

static uint32_t number_of(const struct object *object)
{
	return object ? object->number : 0;
}

static int create_qp_in_device(struct call *call, struct object *qp,
			       const struct mlx5_ib_create_qp *driver)
{
	struct cx_qp_attr attr = {
		.type = qp->qp.type,
		.dc = qp->qp.dc,
		.has_streams = driver->flags & MLX5_QP_FLAG_DCI_STREAM,
		.log_streams = driver->dci_streams.log_num_concurent,
		.log_errored_streams = driver->dci_streams.log_num_errored,
		.pdn = number_of(qp->pd),
		.send_cqn = number_of(qp->qp.send_cq),
		.recv_cqn = number_of(qp->qp.recv_cq),
		.srqn = number_of(qp->qp.srq),
		.buf = driver->buf_addr,
		.db = driver->db_addr,
		.rq_count = driver->rq_wqe_count,
		.rq_stride_bytes = driver->rq_wqe_count ? 1u << driver->rq_wqe_shift : 0,
		.sq_count_bb = driver->sq_wqe_count,
		.uidx = driver->uidx,
		.uar_page = driver->bfreg_index,
		.signal_all = qp->qp.signal_all,
		.blocks_own_multicast = qp->qp.blocks_own_multicast,
		.async_channel = qp->async ? qp->async->channel : 0,
		.cookie = qp->user_handle,
	};
	int err;

	if (attr.dc == CX_DC_TARGET)
		return create_dct_in_device(call, qp, &attr, driver);
	if (attr.type == IBV_QPT_XRC_RECV)
		return create_xrc_target_in_device(call, qp);
	choose_scatter(qp, driver->flags, &attr);
	err = user_pin_ring(&qp->pinned, attr.buf,
			    (uint64_t)attr.rq_count * attr.rq_stride_bytes +
				    (uint64_t)attr.sq_count_bb * BSN_BB_SIZE,
			    attr.db);
	if (!err)
		err = call->ctx->host->uar_in_use(attr.uar_page);
	return err ? err : cx_qp_create(call->ctx->hca, &attr, &qp->number);
}

/* mlx5 returns the size of the receive ring; the library knows that of the send queue. */
static void settle_cap(struct ib_uverbs_qp_cap *cap, const struct mlx5_ib_create_qp *driver)
{
	cap->max_recv_wr = driver->rq_wqe_count;
	cap->max_recv_sge = driver->rq_wqe_count ? (1u << driver->rq_wqe_shift) / BSN_DATA_SIZE : 0;
}

static int out_qp(struct call *call, const struct object *qp)
{
	struct mlx5_ib_create_qp_resp driver = { 0 };
	const uint32_t number = qp->qp.dc == CX_DC_TARGET ? 0 : qp->number; /* set at RTR */
	int err = call_out(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &qp->qp.cap, sizeof(qp->qp.cap));

	if (!err)
		err = call_out(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &number, sizeof(number));
	if (!err)
		err = call_out(call, UVERBS_ATTR_UHW_OUT, &driver, sizeof(driver));
	return err ? err : call_out_handle(call, UVERBS_ATTR_CREATE_QP_HANDLE, qp->handle);
}

static int check_create_qp(const struct call *call, struct ib_uverbs_qp_cap *cap,
			   struct mlx5_ib_create_qp *driver)
{
	int err = check_qp_type(call, call_value(call, UVERBS_ATTR_CREATE_QP_TYPE),
				call_value(call, UVERBS_ATTR_CREATE_QP_FLAGS));

	if (!err)
		err = call_in(call, UVERBS_ATTR_CREATE_QP_CAP, cap, sizeof(*cap));
	if (!err)
		err = check_qp_cap(cap);
	if (!err)
		err = call_driver_in(call, driver, offsetof(struct mlx5_ib_create_qp, sq_buf_addr),
				     sizeof(*driver));
	if (!err)
		err = check_qp_driver(call, driver);
	return err ? err : check_dc(call, cap, driver);
}

static int create_qp(struct call *call)
{
	struct mlx5_ib_create_qp driver;
	struct ib_uverbs_qp_cap cap;
	struct qp_parts parts;
	struct object *qp;
	int err = check_create_qp(call, &cap, &driver);

	if (!err)
		err = find_qp_parts(call, &parts);
	if (err)
		return err;
	qp = object_new(call->ctx, OBJECT_QP, cx_qp_destroy);
	if (!qp)
		return -ENOMEM;
	refer_qp_parts(qp, &parts);
	qp->user_handle = call_value(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE);
	qp->qp.type = (enum ibv_qp_type)call_value(call, UVERBS_ATTR_CREATE_QP_TYPE);
	qp->qp.dc = dc_of(&driver);
	qp->qp.signal_all =
		call_value(call, UVERBS_ATTR_CREATE_QP_FLAGS) & IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	qp->qp.blocks_own_multicast = call_value(call, UVERBS_ATTR_CREATE_QP_FLAGS) &
				      IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	qp->qp.cap = cap;
	settle_cap(&qp->qp.cap, &driver);
	err = create_qp_in_device(call, qp, &driver);
	if (err) {
		object_free(call->ctx, qp);
		return err;
	}
	err = out_qp(call, qp);
	if (err)
		object_destroy(call->ctx, qp);
	return err;
}

static int destroy_qp(struct call *call)
{
	struct ib_uverbs_destroy_qp_resp resp = { 0 };
	struct object *qp;
	int err = call_object(call, UVERBS_ATTR_DESTROY_QP_HANDLE, OBJECT_QP, &qp);

	if (err)
		return err;
	if (qp->qp.groups) /* uverbs_free_qp() */
		return -EBUSY;
	resp.events_reported = qp->async_reported;
	err = object_destroy(call->ctx, qp);
	return err ? err : call_out(call, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct attr_spec create_qp_specs[] = {
	{ UVERBS_ATTR_CREATE_QP_HANDLE, ATTR_NEW_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, ATTR_OBJECT, ATTR_OPTIONAL, 0, 0 },
	{ UVERBS_ATTR_CREATE_QP_PD_HANDLE, ATTR_OBJECT, ATTR_OPTIONAL, 0, 0 },
	{ UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, ATTR_OBJECT, ATTR_OPTIONAL, 0, 0 },
	{ UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, ATTR_OBJECT, ATTR_OPTIONAL, 0, 0 },
	{ UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, ATTR_OBJECT, ATTR_OPTIONAL, 0, 0 },
	{ UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, ATTR_OBJECT, ATTR_OPTIONAL, 0, 0 },
	{ UVERBS_ATTR_CREATE_QP_USER_HANDLE, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_CREATE_QP_CAP, ATTR_IN, 0, sizeof(struct ib_uverbs_qp_cap),
	  sizeof(struct ib_uverbs_qp_cap) },
	{ UVERBS_ATTR_CREATE_QP_TYPE, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_CREATE_QP_FLAGS, ATTR_IN, ATTR_OPTIONAL, 4, 8 },
	{ UVERBS_ATTR_CREATE_QP_SOURCE_QPN, ATTR_IN, ATTR_OPTIONAL, 4, 4 },
	{ UVERBS_ATTR_CREATE_QP_EVENT_FD, ATTR_FD, ATTR_OPTIONAL, 0, 0 },
	{ UVERBS_ATTR_CREATE_QP_RESP_CAP, ATTR_OUT, 0, sizeof(struct ib_uverbs_qp_cap),
	  sizeof(struct ib_uverbs_qp_cap) },
	{ UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, ATTR_OUT, 0, 4, 4 },
};
static const struct attr_spec destroy_qp_specs[] = {
	{ UVERBS_ATTR_DESTROY_QP_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	{ UVERBS_ATTR_DESTROY_QP_RESP, ATTR_OUT, 0, 4, 4 },
};

/* clang-format off */
const struct method qp_methods[] = {
	{ UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, false, true, create_qp,
	  "qp_create", SPECS(create_qp_specs) },
	{ UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, false, false, destroy_qp,
	  "qp_destroy", SPECS(destroy_qp_specs) },
	{ 0 },
};
/* clang-format on */
