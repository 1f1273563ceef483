/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of libibverbs but for what is measured. */
#include "verbs.h"

/* -- requests ---------------------------------------------------------------------------------- */

static struct ibv_send_wr make_wr(const struct verbs_queue *q, enum cost_what what,
				  const struct ibv_sge *sge, unsigned sges, unsigned flags)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[COST_WRITE] = IBV_WR_RDMA_WRITE,
		[COST_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[COST_READ] = IBV_WR_RDMA_READ,
		[COST_SEND] = IBV_WR_SEND,
		[COST_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
		[COST_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[COST_CMP_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	struct ibv_send_wr wr = {
		.sg_list = (struct ibv_sge *)(uintptr_t)sge,
		.num_sge = (int)sges,
		.opcode = opcodes[what],
		.send_flags = IBV_SEND_SIGNALED | flags,
	};

	if (q->v.ah) {
		wr.wr.ud.ah = q->v.ah;
		wr.wr.ud.remote_qpn = q->v.qp->qp_num;
		wr.wr.ud.remote_qkey = PLAIN_QKEY;
	} else if (what == COST_FETCH_ADD || what == COST_CMP_SWAP) {
		wr.wr.atomic.remote_addr = q->target.remote.addr;
		wr.wr.atomic.rkey = q->target.remote.rkey;
		wr.wr.atomic.compare_add = what == COST_FETCH_ADD;
		wr.wr.atomic.swap = 1;
	} else {
		wr.wr.rdma.remote_addr = q->target.remote.addr;
		wr.wr.rdma.rkey = q->target.remote.rkey;
	}
	if (q->v.xrcd)
		wr.qp_type.xrc.remote_srqn = q->srq_number;
	return wr;
}

int verbs_set_up(void *queue, const struct cost_shape *shape)
{
	struct verbs_queue *q = queue;
	const bool is_inline = shape->form == COST_INLINED;

	q->data.length = is_inline ? shape->n : 0;
	q->local[0].length = cost_message_bytes(shape);
	for (unsigned i = 0; i < shape->batch; i++) {
		const bool goes_on = i + 1 < shape->batch;

		q->recvs[i] = (struct ibv_recv_wr){
			.next = goes_on ? &q->recvs[i + 1] : NULL,
			.sg_list = q->recv,
			.num_sge = shape->what == COST_RECV ? (int)shape->n : 1,
		};
		if (shape->what >= COST_RECV)
			continue;
		q->batch[i] = is_inline ? make_wr(q, shape->what, &q->data, 1, IBV_SEND_INLINE)
					: make_wr(q, shape->what, q->local, shape->n, 0);
		q->batch[i].next = goes_on ? &q->batch[i + 1] : NULL;
	}
	return 0;
}

/* -- what is not measured ---------------------------------------------------------------------- */

static struct ibv_qp *next_qp(const struct verbs_queue *q, unsigned *turn)
{
	return q->v.qps[cost_turn(turn, q->v.qp_count)];
}

int verbs_post(void *queue, enum cost_what what, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_send_wr wr = make_wr(q, what, q->local, 1, 0), *wrong;
	int err = 0;

	for (wr.wr_id = 0; wr.wr_id < count && !err; wr.wr_id++)
		err = -ibv_post_send(next_qp(q, &q->turn), &wr, &wrong);
	return err;
}

int verbs_post_recv(void *queue, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_recv_wr wr = { .sg_list = q->recv, .num_sge = 1 }, *wrong;
	int err = 0;

	for (wr.wr_id = 0; wr.wr_id < count && !err; wr.wr_id++)
		err = q->v.srq ? -ibv_post_srq_recv(q->v.srq, &wr, &wrong)
			       : -ibv_post_recv(next_qp(q, &q->recv_turn), &wr, &wrong);
	return err;
}

static int poll_one(void *cq, int *status)
{
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
	const int n = ibv_poll_cq(cq, 1, &wc);

	*status = (int)wc.status;
	return n < 0 ? -EIO : n;
}

int verbs_drain_cq(struct ibv_cq *cq, unsigned count)
{
	return cost_drain(poll_one, cq, count);
}

int verbs_drain(void *queue, unsigned count)
{
	return verbs_drain_cq(((struct verbs_queue *)queue)->v.cq, count);
}

int verbs_drain_recv(void *queue, unsigned count)
{
	return verbs_drain_cq(((struct verbs_queue *)queue)->v.recv_cq, count);
}

/* -- making it --------------------------------------------------------------------------------- */

/* NULL: it may be that the provider has it. */
static const char *why_not_at_all(enum cost_queues kind, bool is_extended)
{
	if (cost_kinds[kind].type == BSN_QP_DC)
		return "libibverbs has no pools of initiators";
	if (cost_kinds[kind].compression)
		return "libmlx5's polls cannot read sessions";
	if (kind == COST_STAMPED && !is_extended)
		return "ibv_poll_cq() gives no times";
	return NULL;
}

static int make_queues(struct verbs_queue *q, const struct cost_rig *rig, enum cost_queues kind,
		       bool is_extended)
{
	const struct cost_limits limits = cost_limits_of(kind);
	const bool has_srq = kind == COST_SRQ || kind == COST_XRC;
	const struct plain_qp_attr attr = { .type = cost_kinds[kind].type,
					    .depth = cost_depth_of(rig, kind),
					    .max_send_sge = limits.max_send_sge,
					    .max_recv_sge = limits.max_recv_sge,
					    .max_inline = limits.max_inline,
					    .is_extended = is_extended,
					    .has_stamps = kind == COST_STAMPED,
					    .srq_depth =
						    has_srq ? cost_srq_depth_of(rig, kind) : 0,
					    .qps = cost_qps_of(rig, kind),
					    .is_apart = kind == COST_APART };
	const int err = plain_qp_create(rig->device, &attr, rig->memory, COST_MEMORY, &q->v);

	return err ? err : plain_qp_loop(&q->v);
}

static int make(struct verbs_queue *q, const struct cost_rig *rig, enum cost_queues kind,
		bool is_extended, const char **why_not)
{
	int err;

	*why_not = why_not_at_all(kind, is_extended);
	if (*why_not)
		return -EOPNOTSUPP;
	err = make_queues(q, rig, kind, is_extended);
	if (err == -ENODATA)
		*why_not = "the device gives no QP numbers that are 16 apart";
	else if (err == -EOPNOTSUPP)
		*why_not = is_extended ? "the provider has no ibv_wr_*" : "the provider cannot";
	if (err)
		return err;
	q->target = cost_target_of(rig, q->v.mr->lkey, q->v.mr->rkey);
	_Static_assert(sizeof(q->local) == sizeof(q->target.local), "one layout");
	memcpy(q->local, q->target.local, sizeof(q->local));
	memcpy(q->recv, q->target.recv, sizeof(q->recv));
	q->data = (struct ibv_sge){ (uintptr_t)q->target.data, 0, 0 };
	if (q->v.xrcd)
		ibv_get_srq_num(q->v.srq, &q->srq_number);
	return 0;
}

void verbs_close(void *queue)
{
	plain_qp_destroy(&((struct verbs_queue *)queue)->v);
}

int verbs_make(void *queue, const struct cost_rig *rig, enum cost_queues kind,
	       const char **why_not)
{
	return make(queue, rig, kind, false, why_not);
}

int verbs_make_extended(void *queue, const struct cost_rig *rig, enum cost_queues kind,
			const char **why_not)
{
	return make(queue, rig, kind, true, why_not);
}
