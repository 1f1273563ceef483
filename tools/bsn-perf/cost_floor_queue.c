/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues of the column `floor`, mapped by mlx5dv, and what is drained between measurements. */
#include "cost_floor.h"

#include <infiniband/mlx5dv.h>
#include <stdlib.h>

/* -- what is not measured ---------------------------------------------------------------------- */

static int drain_cq(struct floor_cq *cq, unsigned count)
{
	unsigned patience = COST_PATIENCE;

	while (count) {
		const uint8_t *cqe = cq->ring + (size_t)(cq->ci & (cq->count - 1)) * cq->stride;
		struct bsn_cqe_tail tail;

		COST_FORGET();
		bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_TAIL_OFFSET);
		if (tail.owner != ((cq->ci & cq->count) != 0)) {
			if (!--patience)
				return -ETIMEDOUT;
			continue;
		}
		if (tail.opcode == BSN_CQE_REQ_ERR || tail.opcode == BSN_CQE_RESP_ERR)
			return IBV_WC_GENERAL_ERR;
		bsn_from_device(); /* O4 */
		cq->ci++;
		count--;
	}
	floor_publish_ci(cq, cq->ci); /* O5 */
	return 0;
}

int floor_drain(void *queue, unsigned count)
{
	struct floor_queue *q = queue;

	return drain_cq(&q->cq, count);
}

int floor_drain_recv(void *queue, unsigned count)
{
	struct floor_queue *q = queue;

	return drain_cq(&q->recv_cq, count);
}

/* A receive of one SGE must end the list where the WQE has room for more. */
int floor_set_up(void *queue, const struct cost_shape *shape)
{
	static const struct bsn_data end = { .lkey = BSN_LKEY_TERMINATOR };
	struct floor_queue *q = queue;

	q->target.local[0].length = cost_message_bytes(shape);
	if (shape->queues == COST_LONG && shape->what != COST_RECV)
		for (uint32_t i = 0; i <= q->rq_mask; i++)
			bsn_data_encode(q->rq + (size_t)i * q->rq_stride + BSN_DATA_SIZE, &end);
	return 0;
}

/* -- making it --------------------------------------------------------------------------------- */

static int map_cq(struct ibv_cq *verbs, struct floor_cq *cq)
{
	struct mlx5dv_cq map = { .comp_mask = 0 };
	struct mlx5dv_obj obj = { .cq = { .in = verbs, .out = &map } };
	const int err = mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ);

	if (err)
		return -err;
	*cq = (struct floor_cq){
		.ring = (uint8_t *)map.buf + map.cqe_size - BSN_CQE_SIZE,
		.record = (struct bsn_be32 *)map.dbrec,
		.stride = map.cqe_size,
		.count = map.cqe_cnt,
	};
	/* Of the other round: so one compare tells. No QP has used the CQ yet. */
	for (uint32_t i = 0; i < cq->count; i++)
		cq->ring[(size_t)i * cq->stride + BSN_CQE_OP_OWN_OFFSET] |= 1;
	return 0;
}

static int map_qp(struct floor_queue *q)
{
	struct mlx5dv_qp map = { .comp_mask = 0 };
	struct mlx5dv_obj obj = { .qp = { .in = q->v.qp, .out = &map } };
	const int err = mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP);

	if (err)
		return -err;
	q->sq = map.sq.buf;
	q->sq_mask = map.sq.wqe_cnt - 1;
	q->rq = map.rq.buf;
	q->rq_mask = map.rq.wqe_cnt - 1;
	q->rq_stride = map.rq.stride;
	q->record = (struct bsn_be32 *)map.dbrec;
	q->recv_record = q->record;
	q->reg = map.bf.reg;
	q->toggle = map.bf.size;
	q->qpn = q->v.qp->qp_num;
	return 0;
}

/* Its WQEs are linked in their order and come back in it, so that the links stay. */
static int map_srq(struct floor_queue *q)
{
	struct mlx5dv_srq map = { .comp_mask = 0 };
	struct mlx5dv_obj obj = { .srq = { .in = q->v.srq, .out = &map } };
	const int err = mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ);

	if (err)
		return -err;
	q->rq = (uint8_t *)map.buf + BSN_SRQ_NEXT_SIZE;
	q->rq_stride = map.stride;
	q->rq_mask = map.tail;
	q->head = map.head;
	q->recv_record = (struct bsn_be32 *)map.dbrec;
	return map.head || map.tail & (map.tail + 1) ? -EPROTO : 0;
}

static int map_ah(struct floor_queue *q)
{
	struct mlx5dv_ah map = { .comp_mask = 0 };
	struct mlx5dv_obj obj = { .ah = { .in = q->v.ah, .out = &map } };
	const int err = mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH);
	struct bsn_av_ud_grh av;

	if (err)
		return -err;
	bsn_av_ud_grh_decode(&av, (const uint8_t *)map.av);
	av.qkey = PLAIN_QKEY;
	av.dqpn = q->v.qp->qp_num;
	av.ext = 1;
	bsn_av_ud_grh_encode((uint8_t *)q->av, &av);
	return 0;
}

static int map_all(struct floor_queue *q)
{
	int err = map_qp(q);

	if (!err && q->v.srq)
		err = map_srq(q);
	if (!err && q->v.ah)
		err = map_ah(q);
	if (!err)
		err = map_cq(q->v.cq, &q->cq);
	return err ? err : map_cq(q->v.recv_cq, &q->recv_cq);
}

static int make(struct floor_queue *q, const struct cost_rig *rig, enum cost_queues kind)
{
	const struct cost_limits limits = cost_limits_of(kind);
	const struct plain_qp_attr attr = { .is_ud = kind == COST_UD,
					    .depth = rig->depth,
					    .max_send_sge = limits.max_send_sge,
					    .max_recv_sge = limits.max_recv_sge,
					    .max_inline = limits.max_inline,
					    .has_own_register = true,
					    .srq_depth = kind == COST_SRQ ? cost_srq_depth_of(rig, kind) : 0,
					    .keeps_cqes_free = kind != COST_ATTACHED &&
							       kind != COST_INLINED_RECV };
	int err = plain_qp_create(rig->device, &attr, rig->memory, COST_MEMORY, &q->v);

	if (!err)
		err = plain_qp_loop(&q->v);
	return err ? err : map_all(q);
}

void floor_close(void *queue)
{
	struct floor_queue *q = queue;

	if (q->v.context)
		plain_qp_destroy(&q->v);
	free(q);
}

/* Of many QPs it needs but one, since it looks at no number. */
int floor_open(const struct cost_rig *rig, enum cost_queues kind, void **queue,
	       const char **why_not)
{
	struct floor_queue *q;
	int err;

	if (bsn_device_info(rig->device)->path != BSN_PATH_DIRECT) {
		*why_not = "it needs a device that libmlx5 drives, on the direct path";
		return -EOPNOTSUPP;
	}
	q = calloc(1, sizeof(*q));
	err = q ? make(q, rig, kind) : -ENOMEM;
	if (!err && (!q->v.td || !q->toggle)) {
		*why_not = q->v.td ? "the device gave a register without BlueFlame"
				   : "the device has no thread domains";
		err = -EOPNOTSUPP;
	}
	if (err) {
		if (q)
			floor_close(q);
		return err;
	}
	q->target = cost_target_of(rig, q->v.mr->lkey, q->v.mr->rkey);
	*queue = q;
	return 0;
}
