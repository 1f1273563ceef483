/* SPDX-License-Identifier: BSD-2-Clause */
/* Every call of mlx5dv. */
#include "provider.h"

#include <infiniband/mlx5dv.h>

#include "init.h"

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

bool provider_is_mlx5(struct ibv_device *device)
{
	return mlx5dv_is_supported(device);
}

int provider_open(struct ibv_device *device, bool mlx5, struct ibv_context **context)
{
	/* No DevX: it would need a capability that the data path does not. */
	struct mlx5dv_context_attr attr = { .flags = 0 };
	struct ibv_context *opened;

	errno = 0;
	opened = mlx5 ? mlx5dv_open_device(device, &attr) : ibv_open_device(device);
	if (opened)
		*context = opened;
	return provider_error_of_pointer(opened);
}

int provider_cq_create(struct ibv_context *context, const struct provider_cq_attr *attr,
		       struct ibv_cq **cq)
{
	struct ibv_cq_init_attr_ex verbs = {
		.cqe = attr->entries + attr->entries / 3 + 1, /* a quarter of the ring to spare */
		.cq_context = attr->context,
		.channel = attr->channel,
	};
	struct mlx5dv_cq_init_attr mlx5 = { 0 };
	struct ibv_cq_ex *created;

	if (attr->cqe_size) {
		mlx5.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE;
		mlx5.cqe_size = (uint16_t)attr->cqe_size;
	}
	errno = 0;
	created = mlx5dv_create_cq(context, &verbs, &mlx5);
	if (created)
		*cq = ibv_cq_ex_to_cq(created);
	return provider_error_of_pointer(created);
}

/* Whether a CQE was ever written, or consumed. */
static bool was_used(const struct mlx5dv_cq *map)
{
	const uint8_t *first = (const uint8_t *)map->buf + map->cqe_size - BSN_CQE_SIZE;
	struct bsn_dbr_cq_ci record;
	struct bsn_cqe_tail tail;

	bsn_dbr_cq_ci_decode(&record, map->dbrec);
	for (uint32_t i = 0; i < map->cqe_cnt && !record.ci; i++) {
		bsn_cqe_tail_decode(&tail, first + (size_t)i * map->cqe_size + BSN_CQE_TAIL_OFFSET);
		if (tail.opcode != BSN_CQE_INVALID)
			return true;
	}
	return record.ci;
}

int provider_cq_map(struct ibv_cq *cq, uint32_t spare, struct bsn_cq *hot)
{
	struct mlx5dv_cq map = { 0 };
	struct mlx5dv_obj obj = { .cq = { .in = cq, .out = &map } };
	const int err = provider_error_of_int(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ));

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

int provider_qp_create(struct ibv_context *context, struct ibv_pd *pd,
		       struct ibv_qp_init_attr *attr, struct ibv_qp **qp)
{
	struct ibv_qp_init_attr_ex verbs = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct mlx5dv_qp_init_attr mlx5 = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE,
	};
	struct ibv_qp *created;

	errno = 0;
	created = mlx5dv_create_qp(context, &verbs, &mlx5);
	if (created) {
		*qp = created;
		attr->cap = verbs.cap;
	}
	return provider_error_of_pointer(created);
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
