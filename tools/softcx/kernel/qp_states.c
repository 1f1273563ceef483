/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The states of queue pairs: which transitions are legal, and query. Checks follow
 * drivers/infiniband/core/{uverbs_cmd,verbs}.c and hw/mlx5/qp.c.
 */
#include "kernel.h"

#include <errno.h>
#include <string.h>

#include <rdma/mlx5-abi.h>

/* -- the state machine ------------------------------------------------------------------------- */

/*
 * The attributes that a transition needs and allows: IBA 11.2.5.2, qp_state_table[]. Of the
 * transitions there are those for which mlx5 has a command, optab[] of __mlx5_ib_modify_qp(): no
 * program drains a queue by IBV_QPS_SQD.
 */
struct transition {
	uint8_t from, to;
	uint32_t types; /* bits of enum ibv_qp_type, and of both ends of DC */
	int required, optional;
};

#define RC 1 << IBV_QPT_RC
#define UC 1 << IBV_QPT_UC
#define UD 1 << IBV_QPT_UD
#define XRC_SEND 1 << IBV_QPT_XRC_SEND
#define XRC_RECV 1 << IBV_QPT_XRC_RECV
#define XRC XRC_SEND | XRC_RECV
#define DCT 1 << 29
#define DCI 1 << 30

#define ACCESS IBV_QP_ACCESS_FLAGS
#define PKEY   IBV_QP_PKEY_INDEX
#define PATH   (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)

/* What may change in RTS. */
#define RUNNING_UD (IBV_QP_CUR_STATE | IBV_QP_QKEY)
#define RUNNING_UC (IBV_QP_CUR_STATE | ACCESS | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
#define RUNNING_RC (RUNNING_UC | IBV_QP_MIN_RNR_TIMER)

/* clang-format off */
static const struct transition transitions[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, RC | UC, PKEY | IBV_QP_PORT | ACCESS, 0 },
	{ IBV_QPS_RESET, IBV_QPS_INIT, UD, PKEY | IBV_QP_PORT | IBV_QP_QKEY, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, RC | UC, 0, PKEY | IBV_QP_PORT | ACCESS },
	{ IBV_QPS_INIT, IBV_QPS_INIT, UD, 0, PKEY | IBV_QP_PORT | IBV_QP_QKEY },
	{ IBV_QPS_INIT, IBV_QPS_RTR, RC, PATH | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	  IBV_QP_ALT_PATH | ACCESS | PKEY },
	{ IBV_QPS_INIT, IBV_QPS_RTR, UC, PATH, IBV_QP_ALT_PATH | ACCESS | PKEY },
	{ IBV_QPS_INIT, IBV_QPS_RTR, UD, 0, PKEY | IBV_QP_QKEY },
	{ IBV_QPS_RTR, IBV_QPS_RTS, RC,
	  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	  IBV_QP_MAX_QP_RD_ATOMIC, RUNNING_RC },
	{ IBV_QPS_RTR, IBV_QPS_RTS, UC, IBV_QP_SQ_PSN, RUNNING_UC },
	{ IBV_QPS_RTR, IBV_QPS_RTS, UD, IBV_QP_SQ_PSN, RUNNING_UD },
	{ IBV_QPS_RTS, IBV_QPS_RTS, RC, 0, RUNNING_RC },
	{ IBV_QPS_RTS, IBV_QPS_RTS, UC, 0, RUNNING_UC },
	{ IBV_QPS_RTS, IBV_QPS_RTS, UD, 0, RUNNING_UD },
	{ IBV_QPS_SQD, IBV_QPS_RTS, RC, 0, RUNNING_RC },
	{ IBV_QPS_SQD, IBV_QPS_RTS, UC, 0, RUNNING_UC },
	{ IBV_QPS_SQD, IBV_QPS_RTS, UD, 0, RUNNING_UD },
	{ IBV_QPS_RESET, IBV_QPS_INIT, XRC, PKEY | IBV_QP_PORT | ACCESS, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, XRC, 0, PKEY | IBV_QP_PORT | ACCESS },
	{ IBV_QPS_INIT, IBV_QPS_RTR, XRC_SEND, PATH, IBV_QP_ALT_PATH | ACCESS | PKEY },
	{ IBV_QPS_INIT, IBV_QPS_RTR, XRC_RECV,
	  PATH | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	  IBV_QP_ALT_PATH | ACCESS | PKEY },
	{ IBV_QPS_RTR, IBV_QPS_RTS, XRC_SEND,
	  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	  IBV_QP_MAX_QP_RD_ATOMIC, RUNNING_UC },
	{ IBV_QPS_RTR, IBV_QPS_RTS, XRC_RECV, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN, RUNNING_RC },
	{ IBV_QPS_RTS, IBV_QPS_RTS, XRC_SEND, 0, RUNNING_UC },
	{ IBV_QPS_RTS, IBV_QPS_RTS, XRC_RECV, 0, RUNNING_RC },
	/* hw/mlx5/qp.c mlx5_ib_modify_dct(), modify_dci_qp_is_ok() */
	{ IBV_QPS_RESET, IBV_QPS_INIT, DCT, PKEY | IBV_QP_PORT | ACCESS, 0 },
	{ IBV_QPS_INIT, IBV_QPS_RTR, DCT, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER, 0 },
	{ IBV_QPS_RESET, IBV_QPS_INIT, DCI, PKEY | IBV_QP_PORT, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, DCI, 0, PKEY | IBV_QP_PORT },
	{ IBV_QPS_INIT, IBV_QPS_RTR, DCI, IBV_QP_PATH_MTU, PKEY | IBV_QP_AV },
	{ IBV_QPS_RTR, IBV_QPS_RTS, DCI,
	  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	  IBV_QP_MAX_QP_RD_ATOMIC, IBV_QP_MIN_RNR_TIMER },
	{ IBV_QPS_RTS, IBV_QPS_RTS, DCI, 0, IBV_QP_MIN_RNR_TIMER },
	{ IBV_QPS_SQE, IBV_QPS_RTS, UC, 0, IBV_QP_CUR_STATE | ACCESS },
	{ IBV_QPS_SQE, IBV_QPS_RTS, UD, 0, RUNNING_UD },
};
/* clang-format on */

static uint32_t type_bit(const struct object *qp)
{
	return qp->qp.dc == CX_DC_TARGET      ? DCT
	       : qp->qp.dc == CX_DC_INITIATOR ? DCI
					      : 1u << qp->qp.type;
}

/*
 * ib_modify_qp_is_ok(). A DCT never returns to an earlier state; a DCI cannot go from RESET to
 * error.
 */
static bool transition_is_ok(uint32_t type, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	if (mask & IBV_QP_CUR_STATE && from != IBV_QPS_RTR && from != IBV_QPS_RTS &&
	    from != IBV_QPS_SQD && from != IBV_QPS_SQE)
		return false;
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return !(mask & ~IBV_QP_STATE) && type != DCT &&
		       !(type == DCI && from == IBV_QPS_RESET && to == IBV_QPS_ERR);
	for (unsigned i = 0; i < ARRAY_LEN(transitions); i++) {
		const struct transition *t = &transitions[i];

		if (t->from == from && t->to == to && t->types & type)
			return (mask & t->required) == t->required &&
			       !(mask & ~(t->required | t->optional | IBV_QP_STATE));
	}
	return false;
}

/* -- modification ------------------------------------------------------------------------------ */

/* Both have the same fields except for the GID. */
#define COPY_DEST(to, from, to_grh, from_grh)                                                      \
	do {                                                                                       \
		(to_grh).flow_label = (from_grh).flow_label;                                       \
		(to_grh).sgid_index = (from_grh).sgid_index;                                       \
		(to_grh).hop_limit = (from_grh).hop_limit;                                         \
		(to_grh).traffic_class = (from_grh).traffic_class;                                 \
		(to)->dlid = (from)->dlid;                                                         \
		(to)->sl = (from)->sl;                                                             \
		(to)->src_path_bits = (from)->src_path_bits;                                       \
		(to)->static_rate = (from)->static_rate;                                           \
		(to)->is_global = (from)->is_global;                                               \
		(to)->port_num = (from)->port_num;                                                 \
	} while (0)

static void read_dest(const struct ib_uverbs_qp_dest *dest, struct ibv_ah_attr *ah)
{
	memcpy(ah->grh.dgid.raw, dest->dgid, sizeof(ah->grh.dgid.raw));
	COPY_DEST(ah, dest, ah->grh, *dest);
}

static void write_dest(const struct ibv_ah_attr *ah, struct ib_uverbs_qp_dest *dest)
{
	memcpy(dest->dgid, ah->grh.dgid.raw, sizeof(dest->dgid));
	COPY_DEST(dest, ah, *dest, ah->grh);
}

/* Numbers are cut to the width of the device's fields: _ib_modify_qp(), MLX5_SET(). */
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

/*
 * A path needs a port that exists. A global path also needs a source address of ours. A connection
 * on RoCE needs a destination that is found: is_qp_type_connected()
 */
static int check_path(struct call *call, const struct object *qp, const struct ibv_ah_attr *ah)
{
	const struct cx_config *config = call->ctx->config;
	const bool is_roce = config->link == CX_LINK_ROCE;
	struct cx_gid own;
	uint8_t mac[6];

	if (ah->port_num != CX_PORTS || (is_roce && !ah->is_global))
		return -EINVAL;
	if (is_roce && !qp->qp.dc && qp->qp.type != IBV_QPT_UD)
		return path_resolve(call, ah->grh.dgid.raw, ah->grh.sgid_index, mac);
	return ah->is_global ? cx_gid_get(config, ah->grh.sgid_index, &own) : 0;
}

/* Refused in all transitions: uverbs_cmd.c modify_qp(), mlx5_ib_modify_qp(). */
static int check_attr_values(struct call *call, const struct object *qp,
			     const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_PORT && attr->port_num != CX_PORTS)
		return -EINVAL;
	if (mask & IBV_QP_STATE && (unsigned)attr->qp_state > IBV_QPS_ERR)
		return -EINVAL;
	if (mask & IBV_QP_CUR_STATE && (unsigned)attr->cur_qp_state > IBV_QPS_ERR)
		return -EINVAL;
	if (mask & IBV_QP_PKEY_INDEX &&
	    attr->pkey_index >= cx_pkey_table_len(call->ctx->config))
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
	return mask & IBV_QP_AV ? check_path(call, qp, &attr->ah_attr) : 0;
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
	if (transition_is_ok(type_bit(qp), from, to, mask))
		return 0;
	cx_trace(call->ctx->hca, "uverbs: QP %#x: state %d to %d with mask %#x is not allowed",
		 qp->number, from, to, mask);
	return -EINVAL;
}

/* Attributes that an end of XRC does not use are not checked: uverbs_cmd.c modify_qp_mask(). */
static int mask_of(const struct object *qp, uint32_t asked)
{
	const int mask = (int)asked;

	if (qp->qp.type == IBV_QPT_XRC_SEND)
		return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (qp->qp.type == IBV_QPT_XRC_RECV)
		return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
	return mask;
}

/*
 * Queues of a bonded device take its ports in turn when they leave RESET. A count of the context
 * selects the port; the first queue gets the second port: hw/mlx5/qp.c get_tx_affinity(),
 * qp_supports_affinity(). A DC target has a port of the bond, too (mlx5_ib_modify_dct()), but no
 * command shows it.
 */
static void assign_lag_port(struct uverbs_context *ctx, const struct object *qp,
			    enum ibv_qp_state from, enum ibv_qp_state to)
{
	if (!ctx->config->lag || from != IBV_QPS_RESET || to != IBV_QPS_INIT ||
	    qp->qp.dc == CX_DC_TARGET)
		return;
	cx_qp_set_lag_port(ctx->hca, qp->number, (uint8_t)(++ctx->lag_turns % CX_LAG_PORTS + 1));
}

/* For both forms of the command; the longer one begins with these fields. */
static int modify(struct call *call, const struct ib_uverbs_modify_qp *req)
{
	struct object *qp = object_find(call->ctx, OBJECT_QP, req->qp_handle);
	struct ibv_qp_attr attr, before = { 0 };
	int mask, err;

	if (!qp)
		return -EINVAL;
	mask = mask_of(qp, req->attr_mask);
	read_attr(req, &attr);
	err = check_attr_values(call, qp, &attr, mask);
	if (!err)
		err = check_transition(call, qp, &attr, mask);
	if (!err)
		err = cx_qp_query(call->ctx->hca, qp->number, &before);
	if (!err)
		err = cx_qp_modify(call->ctx->hca, qp->number, &attr, mask);
	if (!err && mask & IBV_QP_STATE)
		assign_lag_port(call->ctx, qp, before.qp_state, attr.qp_state);
	return err;
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
	const struct object *qp;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (err)
		return err;
	/* Only raw packet queues have rate limits. */
	if (req.base.attr_mask & ~(uint32_t)MASK_OF_SHORT_FORM)
		return -EOPNOTSUPP;
	err = modify(call, &req.base);
	qp = object_find(call->ctx, OBJECT_QP, req.base.qp_handle);
	if (!err && qp->qp.dc == CX_DC_TARGET && req.base.qp_state == IBV_QPS_RTR)
		driver.dctn = qp->number;
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
	if (!err && qp->qp.dc == CX_DC_TARGET && attr.qp_state != IBV_QPS_RTR)
		err = -EINVAL; /* mlx5_ib_dct_query_qp() */
	if (err)
		return err;
	write_attr(qp, &attr, &resp);
	return call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* -- tables ------------------------------------------------------------------------------------ */

/* clang-format off */
const struct write_command qp_state_commands[] = {
	{ IB_USER_VERBS_CMD_MODIFY_QP, sizeof(struct ib_uverbs_modify_qp), 0, modify_qp,
	  "modify_qp" },
	{ IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_QP,
	  sizeof(struct ib_uverbs_modify_qp), 0, modify_qp_ex, "modify_qp_ex" },
	{ IB_USER_VERBS_CMD_QUERY_QP, sizeof(struct ib_uverbs_query_qp),
	  sizeof(struct ib_uverbs_query_qp_resp), query_qp, "query_qp" },
	{ 0 },
};
/* clang-format on */
