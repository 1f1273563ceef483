/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: creation, the state machine, query. Checks follow
 * drivers/infiniband/core/{uverbs_std_types_qp,uverbs_cmd,verbs}.c and hw/mlx5/qp.c.
 */
#include "kernel.h"

#include <errno.h>
#include <string.h>

#include <rdma/mlx5-abi.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

enum {
	DATA_SEG_BYTES = 16,
	DB_RECORD_BYTES = 8,
	WQEBB_BYTES = 64,
	UIDX_MASK = 0xffffff, /* MLX5_USER_ASSIGNED_UIDX_MASK */
	QP_FLAGS_KNOWN = MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE |
			 MLX5_QP_FLAG_UAR_PAGE_INDEX,
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
	if (driver->rq_wqe_count > CX_MAX_QP_WR * WQEBB_BYTES / DATA_SEG_BYTES ||
	    !is_pow2_or_0(driver->rq_wqe_count) || driver->rq_wqe_shift > 31)
		return -EINVAL;
	if (driver->rq_wqe_count && ((1u << driver->rq_wqe_shift) < DATA_SEG_BYTES ||
				     (1u << driver->rq_wqe_shift) > CX_MAX_RQ_DESC_BYTES))
		return -EINVAL;
	return 0;
}

/* Every CQE of version 1 names its queue by the index that the library gave it. */
static int check_qp_driver(const struct call *call, const struct mlx5_ib_create_qp *driver)
{
	if (driver->flags & ~(uint32_t)QP_FLAGS_KNOWN) {
		cx_trace(call->ctx->hca, "uverbs: QP flags %#x are not modelled",
			 driver->flags & ~(uint32_t)QP_FLAGS_KNOWN);
		return -EOPNOTSUPP;
	}
	if (driver->uidx & ~(uint32_t)UIDX_MASK || driver->sq_buf_addr)
		return -EINVAL;
	if (!(driver->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX))
		return -EINVAL;
	return check_qp_rings(driver);
}

static int check_qp_type(const struct call *call, uint64_t type, uint64_t create_flags)
{
	if (type != IBV_QPT_RC && type != IBV_QPT_UC && type != IBV_QPT_UD) {
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
	struct object *pd, *send_cq, *recv_cq, *srq;
	struct event_file *async;
};

static int find_qp_parts(const struct call *call, struct qp_parts *parts)
{
	int err = call_object(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, OBJECT_PD, &parts->pd);

	if (!err)
		err = call_object(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, OBJECT_CQ,
				  &parts->send_cq);
	if (!err)
		err = call_object(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, OBJECT_CQ,
				  &parts->recv_cq);
	parts->srq = NULL;
	if (!err && call_has(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE))
		err = call_object(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, OBJECT_SRQ, &parts->srq);
	return err ? err : call_async_file(call, UVERBS_ATTR_CREATE_QP_EVENT_FD, &parts->async);
}

static void refer_qp_parts(struct object *qp, const struct qp_parts *parts)
{
	object_refer(qp, parts->pd, parts->async);
	qp->qp.send_cq = parts->send_cq;
	qp->qp.recv_cq = parts->recv_cq;
	qp->qp.srq = parts->srq;
	parts->send_cq->users++;
	parts->recv_cq->users++;
	if (parts->srq)
		parts->srq->users++;
}

/*
 * Where data may come inside the CQE: configure_{responder,requester}_scat_cqe() of hw/mlx5/qp.c.
 * The requester's side only where every request is signaled, or where the program allows it.
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

static int pin_qp(struct object *qp, const struct cx_qp_attr *attr)
{
	uint64_t bytes = (uint64_t)attr->rq_count * attr->rq_stride_bytes +
			 (uint64_t)attr->sq_count_bb * WQEBB_BYTES;
	int err = bytes ? user_pin(&qp->pinned, attr->buf, bytes, true) : 0;

	return err ? err : user_pin(&qp->pinned, attr->db, DB_RECORD_BYTES, true);
}

static int create_qp_in_device(struct call *call, struct object *qp,
			       const struct mlx5_ib_create_qp *driver)
{
	struct cx_qp_attr attr = {
		.type = qp->qp.type,
		.pdn = qp->pd->number,
		.send_cqn = qp->qp.send_cq->number,
		.recv_cqn = qp->qp.recv_cq->number,
		.srqn = qp->qp.srq ? qp->qp.srq->number : 0,
		.buf = driver->buf_addr,
		.db = driver->db_addr,
		.rq_count = driver->rq_wqe_count,
		.rq_stride_bytes = driver->rq_wqe_count ? 1u << driver->rq_wqe_shift : 0,
		.sq_count_bb = driver->sq_wqe_count,
		.uidx = driver->uidx,
		.uar_page = driver->bfreg_index,
		.signal_all = qp->qp.signal_all,
		.async_channel = qp->async ? qp->async->channel : 0,
		.cookie = qp->user_handle,
	};
	int err;

	choose_scatter(qp, driver->flags, &attr);
	err = pin_qp(qp, &attr);
	if (!err)
		err = call->ctx->host->uar_in_use(attr.uar_page);
	return err ? err : cx_qp_create(call->ctx->hca, &attr, &qp->number);
}

/* mlx5 answers with what the receive ring holds; the send queue's figures are the library's. */
static void settle_cap(struct ib_uverbs_qp_cap *cap, const struct mlx5_ib_create_qp *driver)
{
	cap->max_recv_wr = driver->rq_wqe_count;
	cap->max_recv_sge =
		driver->rq_wqe_count ? (1u << driver->rq_wqe_shift) / DATA_SEG_BYTES : 0;
}

static int out_qp(struct call *call, const struct object *qp)
{
	struct mlx5_ib_create_qp_resp driver = { 0 };
	int err = call_out(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &qp->qp.cap, sizeof(qp->qp.cap));

	if (!err)
		err = call_out(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qp->number,
			       sizeof(qp->number));
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
	if (!err && !object_of_number(call->ctx, OBJECT_UAR, driver->bfreg_index))
		err = -EINVAL;
	return err;
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
	qp = object_new(call->ctx, OBJECT_QP);
	if (!qp)
		return -ENOMEM;
	refer_qp_parts(qp, &parts);
	qp->user_handle = call_value(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE);
	qp->qp.type = (enum ibv_qp_type)call_value(call, UVERBS_ATTR_CREATE_QP_TYPE);
	qp->qp.signal_all =
		call_value(call, UVERBS_ATTR_CREATE_QP_FLAGS) & IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
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
	resp.events_reported = qp->async_reported;
	err = object_destroy(call->ctx, qp);
	return err ? err : call_out(call, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
}

/* -- the state machine ------------------------------------------------------------------------- */

/*
 * Which attributes a transition needs and which it allows: IBA 11.2.5.2, qp_state_table[]; of those
 * the ones that mlx5 has a command for, optab[] of __mlx5_ib_modify_qp(): no program drains a queue
 * by IBV_QPS_SQD.
 */
struct transition {
	uint8_t from, to;
	uint8_t types; /* bit mask of enum ibv_qp_type */
	int required, optional;
};

#define RC 1 << IBV_QPT_RC
#define UC 1 << IBV_QPT_UC
#define UD 1 << IBV_QPT_UD

/* clang-format off */
static const struct transition transitions[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, RC | UC,
	  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
	{ IBV_QPS_RESET, IBV_QPS_INIT, UD, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, RC | UC,
	  0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPS_INIT, IBV_QPS_INIT, UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY },
	{ IBV_QPS_INIT, IBV_QPS_RTR, RC,
	  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ IBV_QPS_INIT, IBV_QPS_RTR, UC,
	  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ IBV_QPS_INIT, IBV_QPS_RTR, UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	{ IBV_QPS_RTR, IBV_QPS_RTS, RC,
	  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	  IBV_QP_MAX_QP_RD_ATOMIC,
	  IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
	  IBV_QP_PATH_MIG_STATE },
	{ IBV_QPS_RTR, IBV_QPS_RTS, UC, IBV_QP_SQ_PSN,
	  IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE },
	{ IBV_QPS_RTR, IBV_QPS_RTS, UD, IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ IBV_QPS_RTS, IBV_QPS_RTS, RC, 0,
	  IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE |
	  IBV_QP_MIN_RNR_TIMER },
	{ IBV_QPS_RTS, IBV_QPS_RTS, UC, 0,
	  IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE },
	{ IBV_QPS_RTS, IBV_QPS_RTS, UD, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ IBV_QPS_SQD, IBV_QPS_RTS, RC, 0,
	  IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
	  IBV_QP_PATH_MIG_STATE },
	{ IBV_QPS_SQD, IBV_QPS_RTS, UC, 0,
	  IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE },
	{ IBV_QPS_SQD, IBV_QPS_RTS, UD, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ IBV_QPS_SQE, IBV_QPS_RTS, UC, 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPS_SQE, IBV_QPS_RTS, UD, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
};
/* clang-format on */

/* ib_modify_qp_is_ok() */
static bool transition_is_ok(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
			     int mask)
{
	if (mask & IBV_QP_CUR_STATE && from != IBV_QPS_RTR && from != IBV_QPS_RTS &&
	    from != IBV_QPS_SQD && from != IBV_QPS_SQE)
		return false;
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return !(mask & ~IBV_QP_STATE);
	for (unsigned i = 0; i < ARRAY_LEN(transitions); i++) {
		const struct transition *t = &transitions[i];

		if (t->from == from && t->to == to && t->types & 1 << type)
			return (mask & t->required) == t->required &&
			       !(mask & ~(t->required | t->optional | IBV_QP_STATE));
	}
	return false;
}

/* -- modification ------------------------------------------------------------------------------ */

static void read_dest(const struct ib_uverbs_qp_dest *dest, struct ibv_ah_attr *ah)
{
	memcpy(ah->grh.dgid.raw, dest->dgid, sizeof(ah->grh.dgid.raw));
	ah->grh.flow_label = dest->flow_label;
	ah->grh.sgid_index = dest->sgid_index;
	ah->grh.hop_limit = dest->hop_limit;
	ah->grh.traffic_class = dest->traffic_class;
	ah->dlid = dest->dlid;
	ah->sl = dest->sl;
	ah->src_path_bits = dest->src_path_bits;
	ah->static_rate = dest->static_rate;
	ah->is_global = dest->is_global;
	ah->port_num = dest->port_num;
}

static void write_dest(const struct ibv_ah_attr *ah, struct ib_uverbs_qp_dest *dest)
{
	memcpy(dest->dgid, ah->grh.dgid.raw, sizeof(dest->dgid));
	dest->flow_label = ah->grh.flow_label;
	dest->sgid_index = ah->grh.sgid_index;
	dest->hop_limit = ah->grh.hop_limit;
	dest->traffic_class = ah->grh.traffic_class;
	dest->dlid = ah->dlid;
	dest->sl = ah->sl;
	dest->src_path_bits = ah->src_path_bits;
	dest->static_rate = ah->static_rate;
	dest->is_global = ah->is_global;
	dest->port_num = ah->port_num;
}

/* Numbers are cut to the fields that the device has for them: _ib_modify_qp(), MLX5_SET(). */
enum { BITS_24 = 0xffffff, BITS_5 = 31, BITS_3 = 7 };

static void read_attr(const struct ib_uverbs_modify_qp *req, struct ibv_qp_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = req->qp_state;
	attr->cur_qp_state = req->cur_qp_state;
	attr->path_mtu = req->path_mtu;
	attr->path_mig_state = req->path_mig_state;
	attr->qkey = req->qkey;
	attr->rq_psn = req->rq_psn & BITS_24;
	attr->sq_psn = req->sq_psn & BITS_24;
	attr->dest_qp_num = req->dest_qp_num & BITS_24;
	attr->qp_access_flags = req->qp_access_flags;
	attr->pkey_index = req->pkey_index;
	attr->alt_pkey_index = req->alt_pkey_index;
	attr->en_sqd_async_notify = req->en_sqd_async_notify;
	attr->max_rd_atomic = req->max_rd_atomic;
	attr->max_dest_rd_atomic = req->max_dest_rd_atomic;
	attr->min_rnr_timer = req->min_rnr_timer & BITS_5;
	attr->port_num = req->port_num;
	attr->timeout = req->timeout & BITS_5;
	attr->retry_cnt = req->retry_cnt & BITS_3;
	attr->rnr_retry = req->rnr_retry & BITS_3;
	attr->alt_port_num = req->alt_port_num;
	attr->alt_timeout = req->alt_timeout;
	read_dest(&req->dest, &attr->ah_attr);
	read_dest(&req->alt_dest, &attr->alt_ah_attr);
}

/* A path needs a port that exists, and where it is global an address of ours to come from. */
static int check_path(const struct cx_config *config, const struct ibv_ah_attr *ah)
{
	struct cx_gid own;

	if (ah->port_num != CX_PORTS)
		return -EINVAL;
	if (config->link == CX_LINK_ROCE && !ah->is_global)
		return -EINVAL;
	return ah->is_global ? cx_gid_get(config, ah->grh.sgid_index, &own) : 0;
}

/* What is refused whatever the transition: uverbs_cmd.c modify_qp(), mlx5_ib_modify_qp(). */
static int check_attr_values(const struct cx_config *config, const struct ibv_qp_attr *attr,
			     int mask)
{
	if (mask & IBV_QP_PORT && attr->port_num != CX_PORTS)
		return -EINVAL;
	if (mask & IBV_QP_STATE && (unsigned)attr->qp_state > IBV_QPS_ERR)
		return -EINVAL;
	if (mask & IBV_QP_CUR_STATE && (unsigned)attr->cur_qp_state > IBV_QPS_ERR)
		return -EINVAL;
	if (mask & IBV_QP_PKEY_INDEX && attr->pkey_index >= cx_pkey_table_len(config))
		return -EINVAL;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > CX_MAX_RD_ATOMIC)
		return -EINVAL;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > CX_MAX_RD_ATOMIC)
		return -EINVAL;
	if (mask & IBV_QP_PATH_MTU &&
	    (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096))
		return -EINVAL;
	if (mask & IBV_QP_ALT_PATH)
		return -EOPNOTSUPP; /* path migration is not modelled */
	return mask & IBV_QP_AV ? check_path(config, &attr->ah_attr) : 0;
}

static int check_transition(const struct call *call, const struct object *qp,
			    const struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr now = { 0 };
	enum ibv_qp_state from, to;
	int err = cx_qp_query(call->ctx->hca, qp->number, &now);

	if (err)
		return err;
	from = mask & IBV_QP_CUR_STATE ? attr->cur_qp_state : now.qp_state;
	to = mask & IBV_QP_STATE ? attr->qp_state : from;
	if (transition_is_ok(qp->qp.type, from, to, mask))
		return 0;
	cx_trace(call->ctx->hca, "uverbs: QP %#x: state %d to %d with mask %#x is not allowed",
		 qp->number, from, to, mask);
	return -EINVAL;
}

/* For both forms of the command; the longer one has these fields in front. */
static int modify(struct call *call, const struct ib_uverbs_modify_qp *req)
{
	struct object *qp = object_find(call->ctx, OBJECT_QP, req->qp_handle);
	struct ibv_qp_attr attr;
	int mask = (int)req->attr_mask, err;

	if (!qp)
		return -EINVAL;
	read_attr(req, &attr);
	err = check_attr_values(call->ctx->config, &attr, mask);
	if (!err)
		err = check_transition(call, qp, &attr, mask);
	return err ? err : cx_qp_modify(call->ctx->hca, qp->number, &attr, mask);
}

enum { MASK_OF_SHORT_FORM = IBV_QP_RATE_LIMIT - 1 };

static int modify_qp(struct call *call)
{
	struct ib_uverbs_modify_qp req;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (err)
		return err;
	return req.attr_mask & ~(uint32_t)MASK_OF_SHORT_FORM ? -EOPNOTSUPP : modify(call, &req);
}

static int modify_qp_ex(struct call *call)
{
	struct ib_uverbs_ex_modify_qp req;
	struct ib_uverbs_ex_modify_qp_resp resp = { .response_length = sizeof(resp) };
	struct mlx5_ib_modify_qp_resp driver = { .response_length = sizeof(driver) };
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (err)
		return err;
	/* Rate limits are for raw packet queues alone. */
	if (req.base.attr_mask & ~(uint32_t)MASK_OF_SHORT_FORM)
		return -EOPNOTSUPP;
	err = modify(call, &req.base);
	if (!err)
		err = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	return err ? err : call_out(call, UVERBS_ATTR_UHW_OUT, &driver, sizeof(driver));
}

/* -- query ------------------------------------------------------------------------------------- */

static void write_attr(const struct object *qp, const struct ibv_qp_attr *attr,
		       struct ib_uverbs_query_qp_resp *resp)
{
	*resp = (struct ib_uverbs_query_qp_resp){
		.max_send_wr = qp->qp.cap.max_send_wr,
		.max_recv_wr = qp->qp.cap.max_recv_wr,
		.max_send_sge = qp->qp.cap.max_send_sge,
		.max_recv_sge = qp->qp.cap.max_recv_sge,
		.max_inline_data = qp->qp.cap.max_inline_data,
		.qkey = attr->qkey,
		.rq_psn = attr->rq_psn,
		.sq_psn = attr->sq_psn,
		.dest_qp_num = attr->dest_qp_num,
		.qp_access_flags = attr->qp_access_flags,
		.pkey_index = attr->pkey_index,
		.qp_state = (uint8_t)attr->qp_state,
		.cur_qp_state = (uint8_t)attr->qp_state,
		.path_mtu = (uint8_t)attr->path_mtu,
		.path_mig_state = (uint8_t)attr->path_mig_state,
		.sq_draining = attr->sq_draining,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.port_num = attr->port_num,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.sq_sig_all = qp->qp.signal_all,
	};
	write_dest(&attr->ah_attr, &resp->dest);
}

static int query_qp(struct call *call)
{
	struct ib_uverbs_query_qp_resp resp;
	struct ib_uverbs_query_qp req;
	struct ibv_qp_attr attr = { 0 };
	struct object *qp;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (err)
		return err;
	qp = object_find(call->ctx, OBJECT_QP, req.qp_handle);
	if (!qp)
		return -EINVAL;
	err = cx_qp_query(call->ctx->hca, qp->number, &attr);
	if (err)
		return err;
	write_attr(qp, &attr, &resp);
	return call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
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
#define SPECS(specs) specs, ARRAY_LEN(specs)

const struct method qp_methods[] = {
	{ UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, false, true, create_qp,
	  "qp_create", SPECS(create_qp_specs) },
	{ UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, false, false, destroy_qp,
	  "qp_destroy", SPECS(destroy_qp_specs) },
	{ 0 },
};

const struct write_command qp_commands[] = {
	{ IB_USER_VERBS_CMD_MODIFY_QP, sizeof(struct ib_uverbs_modify_qp), 0, modify_qp,
	  "modify_qp" },
	{ IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_QP,
	  sizeof(struct ib_uverbs_modify_qp), 0, modify_qp_ex, "modify_qp_ex" },
	{ IB_USER_VERBS_CMD_QUERY_QP, sizeof(struct ib_uverbs_query_qp),
	  sizeof(struct ib_uverbs_query_qp_resp), query_qp, "query_qp" },
	{ 0 },
};
/* clang-format on */
