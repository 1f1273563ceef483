/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The context of an RC queue pair in commands: its transitions, which the firmware checks, and
 * QUERY_QP. Sources of what a transition must and may set: hw/mlx5/qp.c opt_mask[] and IBA
 * 11.2.5.2.
 */
#include "firmware.h"

#include "datasheet.h"
#include "../trace.h"

struct transition {
	uint32_t opcode;
	enum ibv_qp_state from, to; /* from IBV_QPS_UNKNOWN: any */
	int mask;                   /* what it sets */
	uint32_t options;           /* bits of enum bsn_qp_option */
};

#define RIGHTS (BSN_QP_OPTION_RRE | BSN_QP_OPTION_RWE | BSN_QP_OPTION_RAE)

/* clang-format off */
static const struct transition transitions[] = {
	{ BSN_CMD_RST2INIT_QP, IBV_QPS_RESET, IBV_QPS_INIT,
	  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
	{ BSN_CMD_INIT2RTR_QP, IBV_QPS_INIT, IBV_QPS_RTR,
	  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, RIGHTS | BSN_QP_OPTION_PKEY_INDEX },
	{ BSN_CMD_RTR2RTS_QP, IBV_QPS_RTR, IBV_QPS_RTS,
	  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	  IBV_QP_MAX_QP_RD_ATOMIC, RIGHTS | BSN_QP_OPTION_RNR_TIMEOUT | BSN_QP_OPTION_PM_STATE },
	{ BSN_CMD_RTS2RTS_QP, IBV_QPS_RTS, IBV_QPS_RTS, 0,
	  RIGHTS | BSN_QP_OPTION_RNR_TIMEOUT | BSN_QP_OPTION_PM_STATE |
	  BSN_QP_OPTION_LAG_TX_AFFINITY },
	{ BSN_CMD_2ERR_QP, IBV_QPS_UNKNOWN, IBV_QPS_ERR, 0, 0 },
	{ BSN_CMD_2RST_QP, IBV_QPS_UNKNOWN, IBV_QPS_RESET, 0, 0 },
};
/* clang-format on */

static const struct transition *find_transition(uint32_t opcode)
{
	const struct transition *t = transitions;

	while (t->opcode != opcode)
		t++;
	return t;
}

struct context {
	struct bsn_qpc_shape shape;
	struct bsn_ads path;
	struct bsn_qpc_work work;
};

static void read_context(const uint8_t *qpc, struct context *c)
{
	bsn_qpc_shape_decode(&c->shape, qpc);
	bsn_ads_decode(&c->path, qpc + BSN_QPC_ADS_OFFSET);
	bsn_qpc_work_decode(&c->work, qpc + BSN_QPC_WORK_OFFSET);
}

/* -- rights ------------------------------------------------------------------------------------ */

static const struct {
	uint32_t option;
	int access;
} rights[] = {
	{ BSN_QP_OPTION_RRE, IBV_ACCESS_REMOTE_READ },
	{ BSN_QP_OPTION_RWE, IBV_ACCESS_REMOTE_WRITE },
	{ BSN_QP_OPTION_RAE, IBV_ACCESS_REMOTE_ATOMIC },
};

/* Atomics need a mode, too. */
static int access_of(const struct bsn_qpc_work *work)
{
	return (work->rre ? IBV_ACCESS_REMOTE_READ : 0) |
	       (work->rwe ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (work->rae && work->atomic_mode ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

/* The command sets the rights that an option names; the others stay. */
static int change_access(int now, const struct bsn_qpc_work *work, uint32_t options)
{
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
		if (options & rights[i].option)
			now = (now & ~rights[i].access) | (access_of(work) & rights[i].access);
	return now;
}

/* -- transitions ------------------------------------------------------------------------------- */

static const char *check_path(const struct cx_config *config, const struct bsn_ads *path)
{
	struct cx_gid own;

	if (path->vhca_port_num != CX_PORTS)
		return "no such port";
	if (config->link == CX_LINK_IB && !path->grh)
		return NULL;
	return cx_gid_get(config, path->src_addr_index, &own) ? "no GID is at src_addr_index"
							      : NULL;
}

static const char *check_context(const struct cx_config *config, const struct context *c, int mask)
{
	if (mask & IBV_QP_PORT && c->path.vhca_port_num != CX_PORTS)
		return "no such port";
	if (mask & IBV_QP_PKEY_INDEX && c->path.pkey_index >= cx_pkey_table_len(config))
		return "no P_Key is at pkey_index";
	if (mask & IBV_QP_PATH_MTU && (c->shape.mtu < IBV_MTU_256 || c->shape.mtu > IBV_MTU_4096))
		return "no such MTU";
	if (mask & IBV_QP_PATH_MTU && c->shape.log_msg_max > CX_MAX_MSG_LOG2)
		return "messages are longer than log_max_msg";
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC && 1u << c->work.log_rra_max > CX_MAX_RD_ATOMIC)
		return "more READs to serve than log_max_ra_res_qp";
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC && 1u << c->work.log_sra_max > CX_MAX_RD_ATOMIC)
		return "more READs outstanding than log_max_ra_req_qp";
	return mask & IBV_QP_AV ? check_path(config, &c->path) : NULL;
}

static struct ibv_ah_attr path_of(const struct cx_config *config, const struct bsn_ads *path)
{
	struct ibv_ah_attr ah = {
		.dlid = (uint16_t)path->rlid,
		.sl = (uint8_t)path->sl,
		.src_path_bits = (uint8_t)path->mlid,
		.static_rate = (uint8_t)path->stat_rate,
		.is_global = path->grh || config->link == CX_LINK_ROCE,
		.port_num = (uint8_t)path->vhca_port_num,
		.grh = { .flow_label = path->flow_label,
			 .sgid_index = (uint8_t)path->src_addr_index,
			 .hop_limit = (uint8_t)path->hop_limit,
			 .traffic_class = (uint8_t)path->tclass },
	};

	bsn_store_be64(ah.grh.dgid.raw, path->rgid_hi);
	bsn_store_be64(ah.grh.dgid.raw + 8, path->rgid_lo);
	return ah;
}

static struct ibv_qp_attr attr_of(const struct cx_config *config, const struct context *c,
				  enum ibv_qp_state to)
{
	return (struct ibv_qp_attr){
		.qp_state = to,
		.qp_access_flags = access_of(&c->work),
		.pkey_index = (uint16_t)c->path.pkey_index,
		.port_num = (uint8_t)c->path.vhca_port_num,
		.ah_attr = path_of(config, &c->path),
		.path_mtu = (enum ibv_mtu)c->shape.mtu,
		.dest_qp_num = c->shape.remote_qpn,
		.rq_psn = c->work.next_rcv_psn,
		.sq_psn = c->work.next_send_psn,
		.max_dest_rd_atomic = (uint8_t)(1u << c->work.log_rra_max),
		.max_rd_atomic = (uint8_t)(1u << c->work.log_sra_max),
		.min_rnr_timer = (uint8_t)c->work.min_rnr_nak,
		.timeout = (uint8_t)c->path.ack_timeout,
		.retry_cnt = (uint8_t)c->work.retry_count,
		.rnr_retry = (uint8_t)c->work.rnr_retry,
	};
}

/* On RoCE the program resolves addresses itself, and a wrong MAC leads nowhere. */
static void look_at_mac(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_ads *path)
{
	uint8_t mac[6];

	if (hca->config.link != CX_LINK_ROCE)
		return;
	cx_port_mac(&hca->config, mac);
	if (path->rmac_47_32 == ((uint32_t)mac[0] << 8 | mac[1]) &&
	    path->rmac_31_0 == bsn_load_be32(mac + 2))
		return;
	cx_lint(hca, "qpn %#x: no port has the MAC of its path, %04x%08x", qp->head.number,
		path->rmac_47_32, path->rmac_31_0);
	qp->run.path_known = true;
	qp->run.path_here = false;
}

/* A DCI has no peer until a request names one: hw/mlx5/qp.c modify_dci_qp_is_ok() */
static int mask_of(const struct transition *t, const struct cx_qp *qp)
{
	if (qp->attr.dc != CX_DC_INITIATOR)
		return t->mask;
	return t->opcode == BSN_CMD_RST2INIT_QP	  ? IBV_QP_PKEY_INDEX | IBV_QP_PORT
	       : t->opcode == BSN_CMD_INIT2RTR_QP ? IBV_QP_PATH_MTU
						  : t->mask;
}

static uint32_t options_of(const struct cx_mailbox *box)
{
	struct bsn_cmd_options options;

	bsn_cmd_options_decode(&options, box->in + BSN_MODIFY_QP_OPTIONS_OFFSET);
	return options.opt_param_mask;
}

/* What options add to the attributes of the transition. */
static int mask_of_options(uint32_t options)
{
	return (options & RIGHTS ? IBV_QP_ACCESS_FLAGS : 0) |
	       (options & BSN_QP_OPTION_PKEY_INDEX ? IBV_QP_PKEY_INDEX : 0) |
	       (options & BSN_QP_OPTION_RNR_TIMEOUT ? IBV_QP_MIN_RNR_TIMER : 0);
}

/* No source says what a ConnectX does if the bond does not have the port; softcx refuses it. */
static const char *check_lag_port(const struct cx_config *config, uint32_t port)
{
	if (!config->lag)
		return "ports are not bonded";
	return !port || port > CX_LAG_PORTS ? "the bond has no such port" : NULL;
}

static enum bsn_command_status move_on(struct cx_hca *hca, struct cx_mailbox *box, struct cx_qp *qp,
				       const struct transition *t)
{
	const uint32_t options = options_of(box);
	const int mask = mask_of(t, qp) | mask_of_options(options);
	struct ibv_qp_attr attr;
	struct context c;

	if (options & ~t->options)
		return cx_refuse_command(box, BSN_COMMAND_BAD_PARAMETER,
					 "opt_param_mask has an option that is not allowed here");
	read_context(box->in + BSN_CREATE_QP_CTX_OFFSET, &c);
	box->why = check_context(&hca->config, &c, mask);
	if (!box->why && options & BSN_QP_OPTION_LAG_TX_AFFINITY)
		box->why = check_lag_port(&hca->config, c.shape.lag_tx_port_affinity);
	if (box->why)
		return BSN_COMMAND_BAD_PARAMETER;
	if (t->to == IBV_QPS_INIT && c.shape.counter_set_id > CX_PORT_COUNTERS)
		return cx_refuse_command(box, BSN_COMMAND_BAD_RESOURCE, "no such set of counters");
	attr = attr_of(&hca->config, &c, t->to);
	if (options & RIGHTS)
		attr.qp_access_flags =
			(unsigned)change_access((int)qp->mod.qp_access_flags, &c.work, options);
	if (options & BSN_QP_OPTION_LAG_TX_AFFINITY)
		qp->lag_port = (uint8_t)c.shape.lag_tx_port_affinity;
	if (mask & IBV_QP_PATH_MTU)
		qp->log_msg_max = (uint8_t)c.shape.log_msg_max;
	cx_qp_change(hca, qp, &attr, mask | IBV_QP_STATE);
	if (t->to == IBV_QPS_INIT)
		qp->run.counter_set = (uint8_t)c.shape.counter_set_id;
	if (mask & IBV_QP_AV)
		look_at_mac(hca, qp, &c.path);
	return BSN_COMMAND_OK;
}

/*
 * An extended context resets a failed stream. A stream that has not failed cannot be reset
 * (rdma-core tests/test_mlx5_dc.py).
 */
static enum bsn_command_status extend(struct cx_mailbox *box, struct cx_qp *qp,
				      const struct transition *t)
{
	struct bsn_qpc_ext ext;

	if (box->in_size < BSN_MODIFY_QP_EXT_IN_SIZE)
		return cx_refuse_command(box, BSN_COMMAND_BAD_INPUT_LENGTH,
					 "the mailbox is shorter than an extended context");
	bsn_qpc_ext_decode(&ext, box->in + BSN_MODIFY_QP_EXT_OFFSET);
	if (!ext.opt_param_mask_95_32)
		return BSN_COMMAND_OK;
	if (ext.opt_param_mask_95_32 != BSN_QP_EXT_OPTION_DCI_STREAM_CHANNEL_ID ||
	    t->opcode != BSN_CMD_RTS2RTS_QP || !qp->attr.has_streams)
		return cx_refuse_command(
			box, BSN_COMMAND_BAD_PARAMETER,
			"opt_param_mask_95_32 has an option that this transition does not allow");
	if (!cx_dc_reset_stream(qp, (uint16_t)ext.dci_stream_channel_id))
		return cx_refuse_command(box, BSN_COMMAND_BAD_PARAMETER,
					 "the stream is not in error");
	return BSN_COMMAND_OK;
}

static bool has_extension(const struct cx_mailbox *box)
{
	struct bsn_cmd_object meant;

	bsn_cmd_object_decode(&meant, box->in + BSN_CMD_OBJECT_OFFSET);
	return meant.qpc_ext;
}

enum bsn_command_status cx_transit_qp(struct cx_hca *hca, struct cx_mailbox *box)
{
	const struct transition *t = find_transition(box->head.opcode);
	struct cx_qp *qp = cx_qp_find_own(hca, cx_meant(box));
	const struct ibv_qp_attr end = { .qp_state = t->to };
	enum bsn_command_status status = BSN_COMMAND_OK;

	if (!qp)
		return cx_refuse_command(box, BSN_COMMAND_BAD_RESOURCE, "no such queue pair");
	if (t->from != IBV_QPS_UNKNOWN && qp->mod.qp_state != t->from)
		return cx_refuse_command(box, BSN_COMMAND_BAD_QP_STATE,
					 "the queue pair is in another state");
	if (has_extension(box))
		status = extend(box, qp, t);
	if (status)
		return status;
	if (t->from != IBV_QPS_UNKNOWN)
		return move_on(hca, box, qp, t);
	cx_qp_change(hca, qp, &end, IBV_QP_STATE);
	return BSN_COMMAND_OK;
}

/* -- query ------------------------------------------------------------------------------------- */

static uint32_t state_of(enum ibv_qp_state state)
{
	static const uint8_t states[] = {
		[IBV_QPS_RESET] = BSN_QPC_RST, [IBV_QPS_INIT] = BSN_QPC_INIT,
		[IBV_QPS_RTR] = BSN_QPC_RTR,   [IBV_QPS_RTS] = BSN_QPC_RTS,
		[IBV_QPS_SQD] = BSN_QPC_SQD,   [IBV_QPS_SQE] = BSN_QPC_SQER,
		[IBV_QPS_ERR] = BSN_QPC_ERR,
	};

	return states[state];
}

static uint32_t log2_of(uint32_t value)
{
	return value ? 31u - (uint32_t)__builtin_clz(value) : 0;
}

static void write_shape(const struct cx_qp *qp, uint8_t *qpc)
{
	const struct bsn_qpc_shape shape = {
		.st = qp->attr.dc == CX_DC_INITIATOR ? BSN_QPC_ST_DCI : BSN_QPC_ST_RC,
		.full_handshake = qp->attr.full_handshake,
		.state = state_of(qp->mod.qp_state),
		.lag_tx_port_affinity = qp->lag_port,
		.pm_state = 3, /* there is no path migration */
		.pd = qp->attr.pdn,
		.mtu = qp->mod.path_mtu,
		.log_msg_max = qp->log_msg_max,
		.log_rq_size = log2_of(qp->attr.rq_count),
		.log_rq_stride = log2_of(qp->attr.rq_stride_bytes / 16),
		.no_sq = !qp->attr.sq_count_bb,
		.log_sq_size = log2_of(qp->attr.sq_count_bb),
		.counter_set_id = qp->run.counter_set,
		.uar_page = qp->attr.uar_page,
		.user_index = qp->attr.uidx,
		.remote_qpn = qp->mod.dest_qp_num,
	};

	bsn_qpc_shape_encode(qpc, &shape);
}

static void write_path(const struct cx_config *config, const struct cx_qp *qp, uint8_t *qpc)
{
	const struct ibv_ah_attr *ah = &qp->mod.ah_attr;
	const struct bsn_ads path = {
		.pkey_index = qp->mod.pkey_index,
		.mlid = ah->src_path_bits,
		.grh = ah->is_global && config->link == CX_LINK_IB,
		.rlid = ah->dlid,
		.ack_timeout = qp->mod.timeout,
		.src_addr_index = ah->grh.sgid_index,
		.stat_rate = ah->static_rate,
		.hop_limit = ah->grh.hop_limit,
		.tclass = ah->grh.traffic_class,
		.flow_label = ah->grh.flow_label,
		.rgid_hi = bsn_load_be64(ah->grh.dgid.raw),
		.rgid_lo = bsn_load_be64(ah->grh.dgid.raw + 8),
		.sl = ah->sl,
		.vhca_port_num = qp->mod.port_num,
	};

	bsn_ads_encode(qpc + BSN_QPC_ADS_OFFSET, &path);
}

static void write_work(const struct cx_qp *qp, uint8_t *qpc)
{
	const unsigned access = qp->mod.qp_access_flags;
	const struct bsn_qpc_work work = {
		.log_num_dci_stream_channels = qp->attr.log_streams,
		.log_num_dci_errored_streams = qp->attr.log_errored_streams,
		.log_sra_max = log2_of(qp->mod.max_rd_atomic),
		.retry_count = qp->mod.retry_cnt,
		.rnr_retry = qp->mod.rnr_retry,
		.next_send_psn = qp->mod.sq_psn,
		.cqn_snd = qp->attr.send_cqn,
		.log_rra_max = log2_of(qp->mod.max_dest_rd_atomic),
		.atomic_mode = !!(access & IBV_ACCESS_REMOTE_ATOMIC),
		.rre = !!(access & IBV_ACCESS_REMOTE_READ),
		.rwe = !!(access & IBV_ACCESS_REMOTE_WRITE),
		.rae = !!(access & IBV_ACCESS_REMOTE_ATOMIC),
		.min_rnr_nak = qp->mod.min_rnr_timer,
		.next_rcv_psn = qp->mod.rq_psn,
		.cqn_rcv = qp->attr.recv_cqn,
		.rq_type = qp->attr.srqn       ? 1
			   : qp->attr.rq_count ? 0
					       : 3,
		.srqn_rmpn_xrqn = qp->attr.srqn,
	};
	const struct bsn_qpc_record record = {
		.hw_sq_wqebb_counter = qp->run.sq_head,
		.sw_sq_wqebb_counter = qp->run.sq_tail,
		.hw_rq_counter = qp->run.rq_head,
		.dbr_umem_valid = !!qp->attr.db_umem,
		.dbr_umem_id = qp->attr.db_umem,
	};

	bsn_qpc_work_encode(qpc + BSN_QPC_WORK_OFFSET, &work);
	bsn_qpc_record_encode(qpc + BSN_QPC_RECORD_OFFSET, &record);
}

enum bsn_command_status cx_query_qp(struct cx_hca *hca, struct cx_mailbox *box)
{
	const struct cx_qp *qp = cx_qp_find_own(hca, cx_meant(box));
	uint8_t *qpc = box->out + BSN_CREATE_QP_CTX_OFFSET;

	if (!qp)
		return cx_refuse_command(box, BSN_COMMAND_BAD_RESOURCE, "no such queue pair");
	write_shape(qp, qpc);
	write_path(&hca->config, qp, qpc);
	write_work(qp, qpc);
	return BSN_COMMAND_OK;
}
