/* SPDX-License-Identifier: BSD-2-Clause */
/* All calls of mlx5dv except those of provider_handshake.c. */
#include "provider.h"

#include <infiniband/mlx5dv.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bsn_umr.h"
#include "init.h"
#include "refuse.h"

int provider_error_of_pointer(const void *object)
{
	if (object)
		return 0;
	return errno ? -errno : -EIO;
}

int provider_error_of_int(int result)
{
	if (!result)
		return 0;
	if (result < 0)
		return errno ? -errno : -EIO;
	return -result;
}

int provider_refused(int result)
{
	const int err = provider_error_of_int(result);

	return err ? refuse(-err,
			    "libibverbs or the kernel refused it: the errno is all that it gives")
		   : 0;
}

bool provider_is_mlx5(struct ibv_device *device)
{
	return mlx5dv_is_supported(device);
}

int provider_open(struct ibv_device *device, bool mlx5, struct ibv_context **context)
{
	/* Without DevX: it needs a capability that the data path does not. */
	struct mlx5dv_context_attr attr = { .flags = 0 };

	errno = 0;
	*context = mlx5 ? mlx5dv_open_device(device, &attr) : ibv_open_device(device);
	return provider_error_of_pointer(*context);
}

const char *provider_no_blueflame(void)
{
	const char *shut_up = getenv("MLX5_SHUT_UP_BF"),
		   *prefer = getenv("MLX5_POST_SEND_PREFER_BF");

	if (shut_up && strcmp(shut_up, "0"))
		return "MLX5_SHUT_UP_BF is set";
	if (prefer && !strcmp(prefer, "0"))
		return "MLX5_POST_SEND_PREFER_BF is 0";
	return NULL;
}

const char *provider_no_scatter(void)
{
	const char *scatter = getenv("MLX5_SCATTER_TO_CQE");

	return scatter && !strcmp(scatter, "0") ? "MLX5_SCATTER_TO_CQE is 0" : NULL;
}

/*
 * CQEs beyond those that may be outstanding: a quarter of the ring, and enough for a poll of 64,
 * whose CQEs stay in the ring until the next poll.
 */
static uint32_t spare_of(uint32_t entries)
{
	const uint32_t least = 96;

	return entries / 3 + 1 > least ? entries / 3 + 1 : least;
}

int provider_cq_create(struct ibv_context *context, const struct provider_cq_attr *attr,
		       struct ibv_cq **cq)
{
	struct ibv_cq_init_attr_ex verbs = {
		.cqe = attr->entries + spare_of(attr->entries),
		.cq_context = attr->context,
		.channel = attr->channel,
		.wc_flags = attr->has_real_time ? IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK
			    : attr->has_stamps  ? IBV_WC_EX_WITH_COMPLETION_TIMESTAMP
						: 0,
	};
	struct mlx5dv_cq_init_attr mlx5 = { 0 };
	struct ibv_cq_ex *created;

	if (attr->ignores_overrun) {
		verbs.comp_mask |= IBV_CQ_INIT_ATTR_MASK_FLAGS;
		verbs.flags |= IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	}
	if (attr->cqe_size) {
		mlx5.comp_mask |= MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE;
		mlx5.cqe_size = (uint16_t)attr->cqe_size;
	}
	if (attr->format) {
		mlx5.comp_mask |= MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE;
		mlx5.cqe_comp_res_format = (uint8_t)attr->format;
	}
	if (attr->is_padded) {
		mlx5.comp_mask |= MLX5DV_CQ_INIT_ATTR_MASK_FLAGS;
		mlx5.flags = MLX5DV_CQ_INIT_ATTR_FLAGS_CQE_PAD;
	}
	errno = 0;
	created = mlx5dv_create_cq(context, &verbs, &mlx5);
	*cq = created ? ibv_cq_ex_to_cq(created) : NULL;
	return provider_error_of_pointer(created);
}

bool provider_has_real_time(struct ibv_context *context)
{
	struct mlx5dv_context found = { 0 };

	return provider_is_mlx5(context->device) && !mlx5dv_query_device(context, &found) &&
	       found.flags & MLX5DV_CONTEXT_FLAGS_REAL_TIME_TS;
}

bool provider_has_clock_info(struct ibv_context *context)
{
	struct mlx5dv_clock_info info;

	return provider_is_mlx5(context->device) && !mlx5dv_get_clock_info(context, &info);
}

uint64_t provider_ns_of_ticks(struct ibv_context *context, uint64_t ticks)
{
	struct mlx5dv_clock_info info;

	return mlx5dv_get_clock_info(context, &info) ? 0 : mlx5dv_ts_to_ns(&info, ticks);
}

void provider_query_cqes(struct ibv_context *context, struct provider_cqe_caps *caps)
{
	struct mlx5dv_context found = { .comp_mask = MLX5DV_CONTEXT_MASK_CQE_COMPRESION };

	memset(caps, 0, sizeof(*caps));
	if (mlx5dv_query_device(context, &found))
		return;
	if (found.comp_mask & MLX5DV_CONTEXT_MASK_CQE_COMPRESION)
		caps->formats = found.cqe_comp_caps.supported_format;
	caps->compresses_128 = found.flags & MLX5DV_CONTEXT_FLAGS_CQE_128B_COMP;
	caps->pads_128 = found.flags & MLX5DV_CONTEXT_FLAGS_CQE_128B_PAD;
}

static int map_cq(struct ibv_cq *cq, struct mlx5dv_cq *map)
{
	struct mlx5dv_obj obj = { .cq = { .in = cq, .out = map } };

	map->comp_mask = 0;
	return provider_error_of_int(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ));
}

static struct bsn_cqe_tail tail_at(const struct mlx5dv_cq *map, uint32_t index)
{
	const size_t end = (size_t)(index + 1) * map->cqe_size;
	struct bsn_cqe_tail tail;

	bsn_cqe_tail_decode(&tail, (uint8_t *)map->buf + end - BSN_CQE_SIZE + BSN_CQE_TAIL_OFFSET);
	return tail;
}

/* Whether the device ever wrote a CQE, or a program consumed one. */
static bool was_used(const struct mlx5dv_cq *map)
{
	struct bsn_dbr_cq_ci record;

	bsn_dbr_cq_ci_decode(&record, map->dbrec);
	for (uint32_t i = 0; i < map->cqe_cnt && !record.ci; i++)
		if (tail_at(map, i).opcode != BSN_CQE_INVALID)
			return true;
	return record.ci;
}

int provider_cq_map(struct ibv_cq *cq, uint32_t spare, struct bsn_cq *hot)
{
	struct mlx5dv_cq map;
	const int err = map_cq(cq, &map);

	if (err)
		return err;
	if (was_used(&map))
		return -EBUSY;
	bsn_cq_init(hot, &(struct bsn_cq_init){
				 .ring = map.buf,
				 .record = (struct bsn_be32 *)map.dbrec,
				 .arm_reg = (uint8_t *)map.cq_uar + BSN_UAR_CQ_ARM_OFFSET,
				 .count = map.cqe_cnt,
				 .stride_bytes = map.cqe_size,
				 .spare = spare,
				 .cqn = map.cqn,
			 });
	return 0;
}

bool provider_cq_was_mapped(struct ibv_cq *cq)
{
	struct mlx5dv_cq map;

	return !map_cq(cq, &map) &&
	       (tail_at(&map, 0).opcode != BSN_CQE_INVALID || tail_at(&map, 0).owner);
}

/*
 * Without a flag a QP gets received data in CQEs, and results only if all its sends are signaled
 * (the kernel's hw/mlx5/qp.c configure_requester_scat_cqe()).
 */
static uint32_t create_flags_of(enum provider_inline in_cqe)
{
	return in_cqe == PROVIDER_INLINE_NONE   ? MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE
	       : in_cqe == PROVIDER_INLINE_RECV ? 0
						: MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE;
}

bool provider_query_streams(struct ibv_context *context, struct provider_streams *most)
{
	struct mlx5dv_context found = { .comp_mask = MLX5DV_CONTEXT_MASK_DCI_STREAMS };

	if (mlx5dv_query_device(context, &found) ||
	    !(found.comp_mask & MLX5DV_CONTEXT_MASK_DCI_STREAMS))
		return false;
	most->log_count = found.dci_streams_caps.max_log_num_concurent;
	most->log_failed = found.dci_streams_caps.max_log_num_errored;
	return most->log_count;
}

int provider_stream_reset(struct ibv_qp *dci, uint16_t stream)
{
	return provider_error_of_int(mlx5dv_dci_stream_id_reset(dci, stream));
}

int provider_qp_create(struct ibv_context *context, struct ibv_pd *pd,
		       const struct ibv_qp_init_attr *attr, uint64_t send_ops,
		       enum provider_inline in_cqe, const struct provider_streams *streams,
		       struct ibv_qp **qp)
{
	struct ibv_qp_init_attr_ex verbs = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = send_ops,
	};
	struct mlx5dv_qp_init_attr mlx5 = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = create_flags_of(in_cqe),
	};

	if (attr->qp_type == IBV_QPT_DRIVER) { /* a DCI: a target has no send queue */
		mlx5.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DC;
		mlx5.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI;
	}
	if (streams) {
		mlx5.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
		mlx5.dc_init_attr.dci_streams.log_num_concurent = streams->log_count;
		mlx5.dc_init_attr.dci_streams.log_num_errored = streams->log_failed;
	}
	errno = 0;
	*qp = mlx5dv_create_qp(context, &verbs, &mlx5);
	return provider_error_of_pointer(*qp);
}

int provider_dct_create(struct ibv_context *context, const struct ibv_qp_init_attr *attr,
			struct ibv_pd *pd, uint64_t access_key, struct ibv_qp **dct)
{
	struct ibv_qp_init_attr_ex verbs = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.qp_type = IBV_QPT_DRIVER,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct mlx5dv_qp_init_attr mlx5 = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC | MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE,
		.dc_init_attr = { .dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = access_key },
	};

	errno = 0;
	*dct = mlx5dv_create_qp(context, &verbs, &mlx5);
	return provider_error_of_pointer(*dct);
}

int provider_qp_map(struct ibv_qp *qp, struct provider_qp *out)
{
	struct mlx5dv_qp map = { 0 };
	struct mlx5dv_obj obj = { .qp = { .in = qp, .out = &map } };
	const int err = provider_error_of_int(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP));

	if (err)
		return err;
	*out = (struct provider_qp){
		.sq_ring = map.sq.buf,
		.rq_ring = map.rq.buf,
		.sq_count_bb = map.sq.wqe_cnt,
		.rq_count = map.rq.wqe_cnt,
		.rq_stride_bytes = map.rq.stride,
		.record = (struct bsn_be32 *)map.dbrec,
		.reg = map.bf.reg,
		.blueflame_bytes = map.bf.size,
	};
	return 0;
}

int provider_srq_map(struct ibv_srq *srq, struct provider_srq *out)
{
	struct mlx5dv_srq map = { .comp_mask = MLX5DV_SRQ_MASK_SRQN };
	struct mlx5dv_obj obj = { .srq = { .in = srq, .out = &map } };
	const int err = provider_error_of_int(mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ));

	if (err)
		return err;
	*out = (struct provider_srq){
		.ring = map.buf,
		.number = map.srqn,
		.stride_bytes = map.stride,
		.head = (uint16_t)map.head,
		.tail = (uint16_t)map.tail,
		.record = (struct bsn_be32 *)map.dbrec,
	};
	return 0;
}

int provider_ah_av(struct ibv_ah *ah, void *av)
{
	struct mlx5dv_ah map = { 0 };
	struct mlx5dv_obj obj = { .ah = { .in = ah, .out = &map } };
	const int err = provider_error_of_int(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH));

	if (err)
		return err;
	memcpy(av, map.av, BSN_AV_UD_GRH_SIZE);
	return 0;
}

/* -- mkeys, by commands to the firmware -------------------------------------------------------- */

int provider_error_of_devx(int err)
{
	return err == -EPROTONOSUPPORT || err == -ENOSYS ? -EOPNOTSUPP : err;
}

int provider_object_create(struct ibv_context *context, const uint8_t *in, size_t bytes,
			   void **handle, uint32_t *number, struct bsn_cmd_out *answer)
{
	uint8_t out[BSN_CREATED_OUT_SIZE] = { 0 };
	struct bsn_cmd_object made;

	errno = 0;
	*handle = mlx5dv_devx_obj_create(context, in, bytes, out, sizeof(out));
	bsn_cmd_out_decode(answer, out);
	bsn_cmd_object_decode(&made, out + BSN_CMD_OBJECT_OFFSET);
	*number = made.number;
	return provider_error_of_devx(provider_error_of_pointer(*handle));
}

enum { CAP_ANSWER = BSN_CAP_OFFSET + BSN_CAP_BYTES };

static int query_cap(struct ibv_context *context, enum bsn_cap group, uint8_t out[CAP_ANSWER])
{
	const struct bsn_cmd_in query = { .opcode = BSN_CMD_QUERY_HCA_CAP,
					  .op_mod = (uint32_t)group << 1 | BSN_CAP_CURRENT };
	uint8_t in[BSN_CAP_OFFSET] = { 0 };

	memset(out, 0, CAP_ANSWER);
	bsn_cmd_in_encode(in, &query);
	return provider_error_of_devx(provider_error_of_int(
		mlx5dv_devx_general_cmd(context, in, sizeof(in), out, CAP_ANSWER)));
}

/*
 * Reads the sizes of both masked atomics, and the byte order of results. If the device has DC, only
 * sizes count that QPs and DC both have, as in UCX src/uct/ib/mlx5/dv/ib_mlx5dv_md.c.
 */
static void read_atomics(const uint8_t *caps, struct provider_caps *out)
{
	const uint32_t both =
		1u << BSN_ATOMIC_CAN_MASKED_COMPARE_SWAP | 1u << BSN_ATOMIC_CAN_MASKED_FETCH_ADD;
	struct bsn_cap_atomics cap;

	bsn_cap_atomics_decode(&cap, caps + BSN_CAP_ATOMICS_OFFSET);
	out->masked_sizes = (cap.operations & both) == both ? cap.size_qp & (4 | 8) : 0;
	if (cap.size_dc)
		out->masked_sizes &= cap.size_dc;
	out->has_big_endian_results = cap.endianness_mode_8b != 1;
}

int provider_query_caps(struct ibv_context *context, struct provider_caps *out)
{
	uint8_t answer[CAP_ANSWER];
	const uint8_t *caps = answer + BSN_CAP_OFFSET;
	struct bsn_cap_gen_0 gen_0;
	struct bsn_cap_gen_1 gen_1;
	int err = query_cap(context, BSN_CAP_GENERAL, answer);

	if (err)
		return err;
	bsn_cap_gen_0_decode(&gen_0, caps + BSN_CAP_GEN_0_OFFSET);
	bsn_cap_gen_1_decode(&gen_1, caps + BSN_CAP_GEN_1_OFFSET);
	*out = (struct provider_caps){
		.max_indirection = gen_1.umr_indirect_mkey_disabled ? 0 : gen_0.max_indirection,
		.max_translations = 1ull << gen_0.log_max_klm_list_size,
		.has_repeat = !gen_1.repeated_block_disabled,
		.has_pages = gen_0.fixed_buffer_size,
		.has_atomics = !gen_1.umr_modify_atomic_disabled,
		.has_compact_av = gen_1.compact_address_vector,
		.fence = gen_1.umr_fence == 0   ? BSN_FENCE_STRONG_ORDERING
			 : gen_1.umr_fence == 1 ? BSN_FENCE_INITIATOR_SMALL
						: BSN_FENCE_NONE,
		.max_copy = !gen_0.dma_mmo_sq            ? 0
			    : gen_0.log_dma_mmo_max_size ? 1u << gen_0.log_dma_mmo_max_size
							 : BSN_KLM_MAX_BYTES,
	};
	if (gen_1.atomic && !query_cap(context, BSN_CAP_ATOMIC, answer))
		read_atomics(caps, out);
	return 0;
}

int provider_pd_number(struct ibv_pd *pd, uint32_t *number)
{
	struct mlx5dv_pd found = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = pd, .out = &found } };
	const int err = provider_error_of_int(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD));

	*number = found.pdn;
	return err;
}

int provider_mkey_create(struct ibv_pd *pd, const struct provider_mkey_attr *attr, void **handle,
			 uint32_t *key)
{
	const struct bsn_cmd_in command = { .opcode = BSN_CMD_CREATE_MKEY };
	struct bsn_mkey_ctx ctx = {
		.free = 1,
		.umr_en = 1,
		.lr = 1,
		.qpn = BSN_MKEY_ANY_QP,
		.access_mode_1_0 = attr->log_page_bytes ? BSN_MKEY_MODE_KSM : BSN_MKEY_MODE_KLM,
		.translations_octword_size = attr->translations,
		.log_page_size = attr->log_page_bytes,
		.en_rinval = attr->peers_may_invalidate,
	};
	uint8_t in[BSN_CREATE_MKEY_LIST_OFFSET] = { 0 };
	struct bsn_cmd_out answer;
	uint32_t number;
	int err = provider_pd_number(pd, &number);

	if (err)
		return err;
	ctx.pd = number;
	bsn_cmd_in_encode(in, &command);
	bsn_mkey_ctx_encode(in + BSN_CREATE_MKEY_CTX_OFFSET, &ctx);
	err = provider_object_create(pd->context, in, sizeof(in), handle, &number, &answer);
	*key = number << 8;
	return err;
}

void provider_mkey_destroy(void *handle)
{
	mlx5dv_devx_obj_destroy(handle);
}

/* -- bonded devices ---------------------------------------------------------------------------- */

unsigned provider_lag_ports(struct ibv_context *context)
{
	struct mlx5dv_context found = { .comp_mask = MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS };

	if (mlx5dv_query_device(context, &found) ||
	    !(found.comp_mask & MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS))
		return 0;
	return found.num_lag_ports;
}

int provider_lag_port_set(struct ibv_qp *qp, unsigned port)
{
	return provider_error_of_int(mlx5dv_modify_qp_lag_port(qp, (uint8_t)port));
}

/* -- what a device counts ---------------------------------------------------------------------- */

bool provider_dc_connects(const struct ibv_context *context, struct provider_dc_connects *counted)
{
	char path[IBV_SYSFS_PATH_MAX + 16];
	bool is_told;
	FILE *file;

	snprintf(path, sizeof(path), "%s/dc_connects", context->device->ibdev_path);
	file = fopen(path, "r");
	if (!file)
		return false;
	is_told = fscanf(file, "connect %" SCNu64 " reconnect %" SCNu64, &counted->all,
			 &counted->again) == 2;
	fclose(file);
	return is_told;
}
