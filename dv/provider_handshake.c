/* SPDX-License-Identifier: BSD-2-Clause */
/* DC with a full handshake, by DevX. */
#include "handshake.h"

#include <infiniband/mlx5dv.h>
#include <stdlib.h>
#include <unistd.h>

#include "bsn_db.h"
#include "bsn_syndrome.h"

/*
 * The user index in CQEs (of version 1) of objects that libmlx5 does not know; none of its own has
 * it: the kernel's mlx5_ib.h MLX5_IB_DEFAULT_UIDX
 */
enum { NO_USER_INDEX = 0xffffff };

/* UCX src/uct/ib/mlx5/ib_mlx5.h UCT_IB_MLX5_ATOMIC_MODE_COMP, UCT_IB_MLX5_ATOMIC_MODE_EXT */
enum { ATOMIC_MODE_IBA = 1, ATOMIC_MODE_MASKED = 3 };

/*
 * UCX src/uct/ib/mlx5/dv/ib_mlx5_ifc.h UCT_IB_MLX5_QPC_PM_STATE_MIGRATED,
 * UCT_IB_MLX5_QPC_TS_FORMAT_DEFAULT; the kernel's qp.h MLX5_ZERO_LEN_RQ; UCX's
 * UCT_IB_MLX5_LOG_MAX_MSG_SIZE, without which UCX uses no DevX
 */
enum {
	PATHS_DO_NOT_MIGRATE = 3,
	DEFAULT_CLOCK = 1,
	NO_RECEIVE_QUEUE = 3,
	LONGEST_MESSAGE_LOG2 = 30
};

const char *handshake_refusal(const struct bsn_cmd_out *answer)
{
#define SAY(name, value, doc) [value] = doc,
	static const char *const docs[] = { BSN_COMMAND_STATUSES(SAY) };
#undef SAY
	if (answer->status == BSN_COMMAND_OK)
		return NULL;
	if (answer->status >= sizeof(docs) / sizeof(docs[0]) || !docs[answer->status])
		return "a status of no known meaning";
	return docs[answer->status];
}

uint8_t handshake_atomic_mode(bool has_atomics, bool has_masked)
{
	return has_masked ? ATOMIC_MODE_MASKED : has_atomics ? ATOMIC_MODE_IBA : 0;
}

/* Begins a command about an object that exists. */
static void put_head(uint8_t *in, uint32_t opcode, struct bsn_cmd_object meant)
{
	const struct bsn_cmd_in head = { .opcode = opcode };

	bsn_cmd_in_encode(in, &head);
	bsn_cmd_object_encode(in + BSN_CMD_OBJECT_OFFSET, &meant);
}

/* -- what the port counts ---------------------------------------------------------------------- */

static uint32_t ask_counter_set(struct ibv_qp *qp)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_QUERY_QP_OUT_SIZE] = { 0 };
	struct bsn_qpc_shape shape;

	put_head(in, BSN_CMD_QUERY_QP, (struct bsn_cmd_object){ .number = qp->qp_num });
	if (mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out)))
		return 0;
	bsn_qpc_shape_decode(&shape, out + BSN_CREATE_QP_CTX_OFFSET);
	return shape.counter_set_id;
}

/* The kernel assigns the set when a QP goes to INIT: hw/mlx5/qp.c __mlx5_ib_modify_qp(). */
uint8_t handshake_counter_set(struct ibv_pd *pd, uint8_t port)
{
	struct ibv_cq *cq = ibv_create_cq(pd->context, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = port };
	struct ibv_qp *qp = cq ? ibv_create_qp(pd, &init) : NULL;
	uint32_t set = 0;

	if (qp &&
	    !ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		set = ask_counter_set(qp);
	if (qp)
		ibv_destroy_qp(qp);
	if (cq)
		ibv_destroy_cq(cq);
	return (uint8_t)set;
}

/* -- targets ----------------------------------------------------------------------------------- */

/*
 * Fields as the kernel sets them for verbs (hw/mlx5/qp.c mlx5_ib_modify_dct()), DSCP as UCX does
 * (dc_mlx5_devx.c).
 */
static struct bsn_dctc context_of(const struct handshake_dct_attr *attr, uint32_t pdn)
{
	const struct ibv_qp_attr *path = attr->path;
	const struct ibv_global_route *grh = &path->ah_attr.grh;

	return (struct bsn_dctc){
		.user_index = NO_USER_INDEX,
		.cqn = attr->cqn,
		.counter_set_id = attr->counter_set,
		.atomic_mode = attr->atomic_mode,
		.rre = 1,
		.rwe = 1,
		.rae = attr->atomic_mode != 0,
		.force_full_handshake = 1,
		.min_rnr_nak = path->min_rnr_timer,
		.srqn_xrqn = attr->srqn,
		.pd = pdn,
		.tclass = grh->traffic_class,
		.flow_label = grh->flow_label,
		.dc_access_key = attr->access_key,
		.mtu = path->path_mtu,
		.port = path->port_num,
		.my_addr_index = grh->sgid_index,
		.hop_limit = grh->hop_limit,
		.eth_prio = path->ah_attr.sl & 7,
		.dscp = grh->traffic_class >> 2,
	};
}

int handshake_dct_create(const struct handshake_dct_attr *attr, void **handle, uint32_t *number,
			 struct bsn_cmd_out *answer)
{
	const struct bsn_cmd_in head = { .opcode = BSN_CMD_CREATE_DCT };
	uint8_t in[BSN_CREATE_DCT_IN_SIZE] = { 0 };
	struct bsn_dctc ctx;
	uint32_t pdn;
	const int err = provider_pd_number(attr->pd, &pdn);

	*answer = (struct bsn_cmd_out){ 0 };
	if (err)
		return err;
	ctx = context_of(attr, pdn);
	bsn_cmd_in_encode(in, &head);
	bsn_dctc_encode(in + BSN_CREATE_DCT_CTX_OFFSET, &ctx);
	return provider_object_create(attr->pd->context, in, sizeof(in), handle, number, answer);
}

/*
 * The kernel drains the target before: hw/mlx5/devx.c calls hw/mlx5/qpc.c mlx5_core_destroy_dct().
 */
int handshake_dct_destroy(void *handle)
{
	return provider_error_of_int(mlx5dv_devx_obj_destroy(handle));
}

/* -- registers --------------------------------------------------------------------------------- */

/* UCX src/uct/ib/mlx5/ib_mlx5.h UCT_IB_MLX5_BF_REG_SIZE */
enum { BLUEFLAME_BYTES = 256 };

/*
 * A context has one register that does not write-combine, and libmlx5 gives it to all callers
 * (verbs.c mlx5_get_singleton_nc_uar()).
 */
int handshake_uar_alloc(struct ibv_context *context, struct handshake_uar *uar)
{
	struct mlx5dv_devx_uar *found = mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_BF);

	uar->is_shared = !found;
	errno = 0;
	if (!found)
		found = mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_NC);
	if (!found)
		return provider_error_of_devx(provider_error_of_pointer(found));
	uar->handle = found;
	uar->reg = found->reg_addr;
	uar->blueflame_bytes = uar->is_shared ? 0 : BLUEFLAME_BYTES;
	return 0;
}

void handshake_uar_free(struct handshake_uar *uar)
{
	if (uar->handle)
		mlx5dv_devx_free_uar(uar->handle);
	uar->handle = NULL;
}

/* -- initiators -------------------------------------------------------------------------------- */

/* The ring, and the doorbell record after it, are in one umem. */
struct handshake_dci {
	void *object;
	struct mlx5dv_devx_umem *umem;
	uint8_t *memory;
	struct handshake_uar uar;
	uint32_t number, count_bb;
	uint8_t atomic_mode, counter_set;
	uint8_t lag_ports; /* ports that may be chosen */
};

static size_t ring_bytes(const struct handshake_dci *dci)
{
	return (size_t)dci->count_bb * BSN_BB_SIZE;
}

static struct bsn_be32 *record_of(const struct handshake_dci *dci)
{
	return (struct bsn_be32 *)(void *)(dci->memory + ring_bytes(dci));
}

static int get_memory(struct handshake_dci *dci, struct ibv_context *context)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t bytes = (ring_bytes(dci) + BSN_DBR_SIZE + page - 1) / page * page;

	dci->memory = aligned_alloc(page, bytes);
	if (!dci->memory)
		return -ENOMEM;
	memset(dci->memory, 0, bytes);
	errno = 0;
	dci->umem = mlx5dv_devx_umem_reg(context, dci->memory, bytes, 0);
	return provider_error_of_devx(provider_error_of_pointer(dci->umem));
}

/* Fields as in UCX src/uct/ib/mlx5/dv/ib_mlx5_dv.c uct_ib_mlx5_devx_create_qp_common(). */
static void encode_command(const struct handshake_dci *dci, const struct handshake_dci_attr *attr,
			   uint32_t pdn, uint8_t in[BSN_CREATE_QP_IN_SIZE])
{
	const struct mlx5dv_devx_uar *uar = attr->uar->handle;
	const struct bsn_cmd_in head = { .opcode = BSN_CMD_CREATE_QP };
	const struct bsn_qpc_shape shape = {
		.st = BSN_QPC_ST_DCI,
		.pm_state = PATHS_DO_NOT_MIGRATE,
		.pd = pdn,
		.log_sq_size = (uint32_t)__builtin_ctz(attr->count_bb),
		.ts_format = DEFAULT_CLOCK,
		.uar_page = uar->page_id,
		.full_handshake = 1,
		.user_index = NO_USER_INDEX,
	};
	const struct bsn_qpc_work work = {
		.log_num_dci_stream_channels = attr->streams.log_count,
		.log_num_dci_errored_streams = attr->streams.log_failed,
		.cqn_snd = attr->cqn,
		.cqn_rcv = attr->cqn,
		.dbr_addr = ring_bytes(dci),
		.rq_type = NO_RECEIVE_QUEUE,
	};
	const struct bsn_qpc_record record = { .dbr_umem_id = dci->umem->umem_id };
	const struct bsn_cmd_ring ring = { .umem_id = dci->umem->umem_id };
	uint8_t *qpc = in + BSN_CREATE_QP_CTX_OFFSET;

	bsn_cmd_in_encode(in, &head);
	bsn_qpc_shape_encode(qpc, &shape);
	bsn_qpc_work_encode(qpc + BSN_QPC_WORK_OFFSET, &work);
	bsn_qpc_record_encode(qpc + BSN_QPC_RECORD_OFFSET, &record);
	bsn_cmd_ring_encode(in + BSN_CREATE_QP_RING_OFFSET, &ring);
}

int handshake_dci_create(const struct handshake_dci_attr *attr, struct handshake_dci **out,
			 struct bsn_cmd_out *answer)
{
	struct ibv_context *context = attr->pd->context;
	struct handshake_dci *dci = calloc(1, sizeof(*dci));
	uint8_t in[BSN_CREATE_QP_IN_SIZE] = { 0 };
	uint32_t pdn;
	int err;

	*answer = (struct bsn_cmd_out){ 0 };
	if (!dci)
		return -ENOMEM;
	dci->uar = *attr->uar;
	dci->count_bb = attr->count_bb;
	dci->atomic_mode = attr->atomic_mode;
	dci->counter_set = attr->counter_set;
	dci->lag_ports = (uint8_t)provider_lag_ports(context);
	err = provider_pd_number(attr->pd, &pdn);
	if (!err)
		err = get_memory(dci, context);
	if (!err) {
		encode_command(dci, attr, pdn, in);
		err = provider_object_create(context, in, sizeof(in), &dci->object, &dci->number,
					     answer);
	}
	if (err)
		handshake_dci_free(dci);
	else
		*out = dci;
	return err;
}

int handshake_dci_destroy(struct handshake_dci *dci)
{
	return provider_error_of_int(mlx5dv_devx_obj_destroy(dci->object));
}

void handshake_dci_free(struct handshake_dci *dci)
{
	if (dci->umem)
		mlx5dv_devx_umem_dereg(dci->umem);
	free(dci->memory);
	free(dci);
}

uint32_t handshake_dci_number(const struct handshake_dci *dci)
{
	return dci->number;
}

void handshake_dci_map(const struct handshake_dci *dci, struct provider_qp *map)
{
	*map = (struct provider_qp){
		.sq_ring = dci->memory,
		.sq_count_bb = dci->count_bb,
		.record = record_of(dci),
		.reg = dci->uar.reg,
		.blueflame_bytes = dci->uar.blueflame_bytes,
	};
}

/* -- their states ------------------------------------------------------------------------------ */

struct transition {
	uint32_t opcode, options;
	struct bsn_qpc_shape shape;
	struct bsn_ads path;
	struct bsn_qpc_work work;
};

static int transit(struct handshake_dci *dci, const struct transition *t,
		   struct bsn_cmd_out *answer)
{
	uint8_t in[BSN_MODIFY_QP_IN_SIZE] = { 0 }, out[BSN_MODIFY_QP_OUT_SIZE] = { 0 };
	const struct bsn_cmd_options options = { .opt_param_mask = t->options };
	uint8_t *qpc = in + BSN_CREATE_QP_CTX_OFFSET;
	int err;

	put_head(in, t->opcode, (struct bsn_cmd_object){ .number = dci->number });
	bsn_cmd_options_encode(in + BSN_MODIFY_QP_OPTIONS_OFFSET, &options);
	bsn_qpc_shape_encode(qpc, &t->shape);
	bsn_ads_encode(qpc + BSN_QPC_ADS_OFFSET, &t->path);
	bsn_qpc_work_encode(qpc + BSN_QPC_WORK_OFFSET, &t->work);
	err = mlx5dv_devx_obj_modify(dci->object, in, sizeof(in), out, sizeof(out));
	bsn_cmd_out_decode(answer, out);
	return provider_error_of_int(err);
}

/* Rounded up, as hw/mlx5/qp.c __mlx5_ib_modify_qp() does for log_sra_max. */
static uint32_t log2_of(uint32_t count)
{
	return count <= 1 ? 0 : 32u - (uint32_t)__builtin_clz(count - 1);
}

/*
 * The fields that a transition sets are those of UCX src/uct/ib/mlx5/dc/dc_mlx5_devx.c
 * uct_dc_mlx5_iface_devx_dci_connect().
 */
static struct transition to_init(const struct handshake_dci *dci, const struct ibv_qp_attr *attr)
{
	return (struct transition){
		.opcode = BSN_CMD_RST2INIT_QP,
		.shape = { .pm_state = PATHS_DO_NOT_MIGRATE, .counter_set_id = dci->counter_set },
		.path = { .vhca_port_num = attr->port_num, .pkey_index = attr->pkey_index },
	};
}

static struct transition to_rtr(const struct handshake_dci *dci, const struct ibv_qp_attr *attr)
{
	return (struct transition){
		.opcode = BSN_CMD_INIT2RTR_QP,
		.options = BSN_QP_OPTION_RAE,
		.shape = { .pm_state = PATHS_DO_NOT_MIGRATE,
			   .mtu = attr->path_mtu,
			   .log_msg_max = LONGEST_MESSAGE_LOG2 },
		.work = { .atomic_mode = dci->atomic_mode, .rae = dci->atomic_mode != 0 },
	};
}

static struct transition to_rts(const struct ibv_qp_attr *attr)
{
	return (struct transition){
		.opcode = BSN_CMD_RTR2RTS_QP,
		.shape = { .pm_state = PATHS_DO_NOT_MIGRATE },
		.path = { .ack_timeout = attr->timeout },
		.work = { .log_sra_max = log2_of(attr->max_rd_atomic),
			  .retry_count = attr->retry_cnt,
			  .rnr_retry = attr->rnr_retry,
			  .next_send_psn = attr->sq_psn },
	};
}

/* After a reset the device reads from block 0, so the doorbell record is zeroed. */
static int reset(struct handshake_dci *dci, struct bsn_cmd_out *answer)
{
	const struct transition t = { .opcode = BSN_CMD_2RST_QP };
	const int err = transit(dci, &t, answer);

	if (!err)
		memset(record_of(dci), 0, BSN_DBR_SIZE);
	return err;
}

int handshake_dci_modify(struct handshake_dci *dci, const struct ibv_qp_attr *attr,
			 struct bsn_cmd_out *answer)
{
	struct transition t = { .opcode = BSN_CMD_2ERR_QP };

	if (attr->qp_state == IBV_QPS_RESET)
		return reset(dci, answer);
	if (attr->qp_state == IBV_QPS_INIT)
		t = to_init(dci, attr);
	else if (attr->qp_state == IBV_QPS_RTR)
		t = to_rtr(dci, attr);
	else if (attr->qp_state == IBV_QPS_RTS)
		t = to_rts(attr);
	return transit(dci, &t, answer);
}

int handshake_dci_state(struct handshake_dci *dci, enum ibv_qp_state *state)
{
	static const enum ibv_qp_state states[] = {
		[BSN_QPC_RST] = IBV_QPS_RESET, [BSN_QPC_INIT] = IBV_QPS_INIT,
		[BSN_QPC_RTR] = IBV_QPS_RTR,   [BSN_QPC_RTS] = IBV_QPS_RTS,
		[BSN_QPC_SQER] = IBV_QPS_SQE,  [BSN_QPC_SQD] = IBV_QPS_SQD,
		[BSN_QPC_ERR] = IBV_QPS_ERR,
	};
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_QUERY_QP_OUT_SIZE] = { 0 };
	struct bsn_qpc_shape shape;
	int err;

	put_head(in, BSN_CMD_QUERY_QP, (struct bsn_cmd_object){ .number = dci->number });
	err = provider_error_of_int(
		mlx5dv_devx_obj_query(dci->object, in, sizeof(in), out, sizeof(out)));
	if (err)
		return err;
	bsn_qpc_shape_decode(&shape, out + BSN_CREATE_QP_CTX_OFFSET);
	*state = shape.state <= BSN_QPC_ERR ? states[shape.state] : IBV_QPS_UNKNOWN;
	return 0;
}

int handshake_dci_lag_port_set(struct handshake_dci *dci, unsigned port)
{
	const struct transition t = {
		.opcode = BSN_CMD_RTS2RTS_QP,
		.options = BSN_QP_OPTION_LAG_TX_AFFINITY,
		.shape = { .lag_tx_port_affinity = port },
	};
	struct bsn_cmd_out answer;

	return dci->lag_ports > 1 ? transit(dci, &t, &answer) : -EOPNOTSUPP;
}

/* Does what rdma-core's mlx5dv_dci_stream_id_reset() does. */
int handshake_dci_stream_reset(struct handshake_dci *dci, uint16_t stream)
{
	uint8_t in[BSN_MODIFY_QP_EXT_IN_SIZE] = { 0 }, out[BSN_MODIFY_QP_OUT_SIZE] = { 0 };
	const struct bsn_qpc_ext ext = {
		.opt_param_mask_95_32 = BSN_QP_EXT_OPTION_DCI_STREAM_CHANNEL_ID,
		.dci_stream_channel_id = stream,
	};

	put_head(in, BSN_CMD_RTS2RTS_QP,
		 (struct bsn_cmd_object){ .qpc_ext = 1, .number = dci->number });
	bsn_qpc_ext_encode(in + BSN_MODIFY_QP_EXT_OFFSET, &ext);
	return provider_error_of_int(
		mlx5dv_devx_obj_modify(dci->object, in, sizeof(in), out, sizeof(out)));
}
