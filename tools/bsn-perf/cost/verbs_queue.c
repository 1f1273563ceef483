/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues of libibverbs, made the way every verbs program does; and what is not measured. */
#include "verbs.h"

#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <stdlib.h>

/* -- making them ------------------------------------------------------------------------------- */

enum {
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		 IBV_ACCESS_REMOTE_ATOMIC,
};

/* Of calls that return NULL with errno. */
static int made(const void *object)
{
	return object ? 0 : errno ? -errno : -ENOMEM;
}

static int create_domain(struct verbs_queue *q)
{
	struct ibv_td_init_attr td = { .comp_mask = 0 };
	struct ibv_parent_domain_init_attr parent = { .comp_mask = 0 };

	q->pd = q->domain = ibv_alloc_pd(q->info->verbs);
	if (!q->pd)
		return made(NULL);
	q->td = ibv_alloc_td(q->info->verbs, &td);
	if (!q->td)
		return 0;
	parent.pd = q->pd;
	parent.td = q->td;
	q->parent = q->domain = ibv_alloc_parent_domain(q->info->verbs, &parent);
	return made(q->parent);
}

/* A CQ of the thread domain takes no lock. */
static int create_cq(const struct verbs_queue *q, unsigned qps, struct ibv_cq **cq,
		     struct ibv_cq_ex **extended)
{
	struct ibv_cq_init_attr_ex init = { .cqe = q->attr.send_depth * qps,
					    .wc_flags = IBV_WC_STANDARD_FLAGS,
					    .parent_domain = q->parent };

	if (!q->is_extended && !q->td) {
		*cq = ibv_create_cq(q->info->verbs, (int)init.cqe, NULL, NULL, 0);
		return made(*cq);
	}
	if (q->kind == COST_STAMPED)
		init.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	if (q->td) {
		init.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD | IBV_CQ_INIT_ATTR_MASK_FLAGS;
		init.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	}
	*extended = ibv_create_cq_ex(q->info->verbs, &init);
	*cq = *extended ? ibv_cq_ex_to_cq(*extended) : NULL;
	return made(*cq);
}

/*
 * With libmlx5's lock, so that it can be polled by other threads than post to it, as Bunsen's can.
 * Of XRC it is in a domain, and with the CQ of what it receives.
 */
static int create_srq(struct verbs_queue *q, uint32_t depth)
{
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							  IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = -1,
					     .oflags = O_CREAT };
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = depth, .max_sge = q->attr.max_recv_sge },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = q->pd,
	};

	if (q->kind != COST_SRQ && q->kind != COST_XRC)
		return 0;
	if (q->kind == COST_XRC) {
		q->xrcd = ibv_open_xrcd(q->info->verbs, &domain);
		if (!q->xrcd)
			return made(NULL);
		init.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		init.srq_type = IBV_SRQT_XRC;
		init.xrcd = q->xrcd;
		init.cq = q->recv_cq;
	}
	q->srq = ibv_create_srq_ex(q->info->verbs, &init);
	if (q->xrcd && q->srq)
		ibv_get_srq_num(q->srq, &q->srq_number);
	return made(q->srq);
}

static uint64_t send_ops_of(enum bsn_qp_type type)
{
	if (type == BSN_QP_XRC)
		return IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND;
	return type == BSN_QP_UD
		       ? IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM
		       : IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND |
				 IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
}

static struct ibv_qp *create_of(const struct verbs_queue *q, struct ibv_qp_init_attr_ex *init)
{
	struct mlx5dv_qp_init_attr mlx5 = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED,
	};
	struct ibv_qp *qp;

	if (cost_kinds[q->kind].subject == COST_OF_LAYOUTS)
		return mlx5dv_create_qp(q->info->verbs, init, &mlx5);
	qp = ibv_create_qp_ex(q->info->verbs, init);
	if (qp || q->is_extended)
		return qp;
	init->comp_mask &= ~(uint32_t)IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	return ibv_create_qp_ex(q->info->verbs, init);
}

/*
 * The operations are named also where they are not posted by ibv_wr_*: libmlx5 makes its ring by
 * them.
 */
static int create_qp(const struct verbs_queue *q, struct ibv_qp **qp)
{
	static const enum ibv_qp_type types[] = { [BSN_QP_RC] = IBV_QPT_RC,
						  [BSN_QP_UD] = IBV_QPT_UD,
						  [BSN_QP_XRC] = IBV_QPT_XRC_SEND };
	struct ibv_qp_init_attr_ex init = {
		.send_cq = q->cq,
		.recv_cq = q->recv_cq,
		.srq = q->xrcd ? NULL : q->srq,
		.cap = { .max_send_wr = q->attr.send_depth,
			 .max_recv_wr = q->srq ? 0 : q->attr.recv_depth,
			 .max_send_sge = q->attr.max_send_sge,
			 .max_recv_sge = q->srq ? 0 : q->attr.max_recv_sge,
			 .max_inline_data = q->attr.max_inline },
		.qp_type = types[q->attr.type],
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = q->domain,
		.send_ops_flags = send_ops_of(q->attr.type),
	};

	*qp = create_of(q, &init);
	return made(*qp);
}

static int add_qp(struct verbs_queue *q)
{
	struct ibv_qp **const qp = &q->qps[q->qp_count];
	int err = create_qp(q, qp);

	for (unsigned passed = 0; !err && q->kind == COST_APART &&
				  cost_is_between(q->qps[0]->qp_num, (*qp)->qp_num); passed++) {
		ibv_destroy_qp(*qp);
		err = passed < COST_PASSES_MAX ? create_qp(q, qp) : -ENODATA;
	}
	q->qp_count += !err;
	return err;
}

static int create_target(struct verbs_queue *q)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = q->xrcd };

	q->target = ibv_create_qp_ex(q->info->verbs, &init);
	return made(q->target);
}

static int create_qps(struct verbs_queue *q, unsigned count)
{
	int err = 0;

	q->qps = calloc(count, sizeof(struct ibv_qp *));
	if (!q->qps)
		return -ENOMEM;
	while (!err && q->qp_count < count)
		err = add_qp(q);
	if (err)
		return err;
	q->qp = q->qps[0];
	q->qp_ex = q->is_extended ? ibv_qp_to_qp_ex(q->qp) : NULL;
	return q->xrcd ? create_target(q) : 0;
}

bool verbs_has_td(struct bsn_device *device)
{
	struct ibv_td_init_attr attr = { .comp_mask = 0 };
	struct ibv_td *td = ibv_alloc_td(bsn_device_info(device)->verbs, &attr);

	if (td)
		ibv_dealloc_td(td);
	return td;
}

/* -- connecting them --------------------------------------------------------------------------- */

/* What each kind is told in each of its states. */
enum {
	INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT,
	RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	RESPONDS = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	RTS = IBV_QP_STATE | IBV_QP_SQ_PSN,
	REQUESTS = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
	WITH_ACCESS = INIT | IBV_QP_ACCESS_FLAGS,
};
static const struct kind {
	enum ibv_qp_type type;
	int masks[3]; /* INIT, RTR, RTS */
} kinds[] = {
	{ IBV_QPT_UD, { INIT | IBV_QP_QKEY, IBV_QP_STATE, RTS } },
	{ IBV_QPT_XRC_SEND, { WITH_ACCESS, RTR, RTS | REQUESTS } },
	{ IBV_QPT_XRC_RECV, { WITH_ACCESS, RTR | RESPONDS, RTS | IBV_QP_TIMEOUT } },
	{ IBV_QPT_RC, { WITH_ACCESS, RTR | RESPONDS, RTS | REQUESTS } },
};

/* The way to a QP of the same port. */
static struct ibv_ah_attr own_port(const struct verbs_queue *q)
{
	struct ibv_ah_attr ah = { .dlid = q->info->lid, .port_num = q->info->port };

	if (!strcmp(q->info->link_layer, "Ethernet")) {
		ah.is_global = 1;
		ah.grh.hop_limit = 64;
		ah.grh.sgid_index = q->info->gid_index;
		memcpy(ah.grh.dgid.raw, q->info->gid, sizeof(ah.grh.dgid.raw));
	}
	return ah;
}

static int connect_to(const struct verbs_queue *q, struct ibv_qp *qp, uint32_t number)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	const uint8_t reads = (uint8_t)(q->info->max_rd_atomic < 16 ? q->info->max_rd_atomic : 16);
	struct ibv_qp_attr attr = {
		.port_num = q->info->port,
		.qp_access_flags = ACCESS,
		.qkey = VERBS_QKEY,
		.path_mtu = IBV_MTU_256,
		.dest_qp_num = number,
		.max_dest_rd_atomic = reads,
		.min_rnr_timer = 12,
		.ah_attr = own_port(q),
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = reads,
	};
	const struct kind *kind = kinds;
	int err = 0;

	while (attr.path_mtu < IBV_MTU_4096 && 256u << attr.path_mtu <= q->info->active_mtu)
		attr.path_mtu++;
	while (kind->type != qp->qp_type)
		kind++;
	for (unsigned i = 0; i < 3 && !err; i++) {
		attr.qp_state = states[i];
		err = -ibv_modify_qp(qp, &attr, kind->masks[i]);
	}
	return err;
}

static int connect_all(struct verbs_queue *q)
{
	struct ibv_ah_attr way = own_port(q);
	int err = 0;

	if (q->target)
		err = connect_to(q, q->target, q->qp->qp_num);
	for (unsigned i = 0; i < q->qp_count && !err; i++)
		err = connect_to(q, q->qps[i], (q->target ? q->target : q->qps[i])->qp_num);
	if (err || q->attr.type != BSN_QP_UD)
		return err;
	q->ah = ibv_create_ah(q->pd, &way);
	return made(q->ah);
}

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

	if (q->ah) {
		wr.wr.ud.ah = q->ah;
		wr.wr.ud.remote_qpn = q->qp->qp_num;
		wr.wr.ud.remote_qkey = VERBS_QKEY;
	} else if (what == COST_FETCH_ADD || what == COST_CMP_SWAP) {
		wr.wr.atomic.remote_addr = q->memory.remote.addr;
		wr.wr.atomic.rkey = q->memory.remote.rkey;
		wr.wr.atomic.compare_add = what == COST_FETCH_ADD;
		wr.wr.atomic.swap = 1;
	} else {
		wr.wr.rdma.remote_addr = q->memory.remote.addr;
		wr.wr.rdma.rkey = q->memory.remote.rkey;
	}
	if (q->xrcd)
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
	return q->qps[cost_turn(turn, q->qp_count)];
}

static int post_recv(struct verbs_queue *q, unsigned count)
{
	struct ibv_recv_wr wr = { .sg_list = q->recv, .num_sge = 1 }, *wrong;
	int err = 0;

	for (wr.wr_id = 0; wr.wr_id < count && !err; wr.wr_id++)
		err = q->srq ? -ibv_post_srq_recv(q->srq, &wr, &wrong)
			     : -ibv_post_recv(next_qp(q, &q->recv_turn), &wr, &wrong);
	return err;
}

int verbs_post(void *queue, enum cost_what what, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_send_wr wr, *wrong;
	int err = 0;

	if (what == COST_RECV)
		return post_recv(q, count);
	wr = make_wr(q, what, q->local, 1, 0);
	for (wr.wr_id = 0; wr.wr_id < count && !err; wr.wr_id++)
		err = -ibv_post_send(next_qp(q, &q->turn), &wr, &wrong);
	return err;
}

static int poll_one(void *cq, int *status)
{
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
	const int n = ibv_poll_cq(cq, 1, &wc);

	*status = (int)wc.status;
	return n < 0 ? -EIO : n;
}

int verbs_drain(void *queue, unsigned count)
{
	return cost_drain(poll_one, ((struct verbs_queue *)queue)->cq, count);
}

int verbs_drain_recv(void *queue, unsigned count)
{
	return cost_drain(poll_one, ((struct verbs_queue *)queue)->recv_cq, count);
}

/* -- life -------------------------------------------------------------------------------------- */

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

int verbs_open(struct verbs_queue *q, const struct cost_rig *rig, enum cost_queues kind,
	       bool is_extended)
{
	const unsigned qps = cost_qps_of(rig, kind);
	int err;

	q->info = bsn_device_info(rig->device);
	q->kind = kind;
	q->attr = cost_attr_of(rig, kind);
	q->is_extended = is_extended;
	errno = 0;
	err = create_domain(q);
	if (!err)
		err = create_cq(q, qps, &q->cq, &q->cq_ex);
	if (!err)
		err = create_cq(q, qps, &q->recv_cq, &q->recv_cq_ex);
	if (!err)
		err = create_srq(q, cost_srq_depth_of(rig, kind));
	if (!err)
		err = create_qps(q, qps);
	if (err)
		return err;
	q->mr = ibv_reg_mr(q->pd, rig->memory, rig->memory_bytes, ACCESS);
	return q->mr ? connect_all(q) : made(NULL);
}

int verbs_make(void *queue, const struct cost_rig *rig, enum cost_queues kind, bool is_extended,
	       const char **why_not)
{
	struct verbs_queue *q = queue;
	int err;

	*why_not = why_not_at_all(kind, is_extended);
	if (*why_not)
		return -EOPNOTSUPP;
	err = verbs_open(q, rig, kind, is_extended);
	if (err == -ENODATA)
		*why_not = COST_NOT_APART;
	else if (err == -EOPNOTSUPP)
		*why_not = is_extended ? "the provider has no ibv_wr_*" : "the provider cannot";
	if (err)
		return err;
	q->memory = cost_target_of(rig, q->mr->lkey, q->mr->rkey);
	_Static_assert(sizeof(q->local) == sizeof(q->memory.local), "one layout");
	memcpy(q->local, q->memory.local, sizeof(q->local));
	memcpy(q->recv, q->memory.recv, sizeof(q->recv));
	q->data = (struct ibv_sge){ (uintptr_t)q->memory.data, 0, 0 };
	return 0;
}

void verbs_close(void *queue)
{
	struct verbs_queue *q = queue;

	if (q->ah)
		ibv_destroy_ah(q->ah);
	while (q->qp_count)
		ibv_destroy_qp(q->qps[--q->qp_count]);
	free(q->qps);
	if (q->target)
		ibv_destroy_qp(q->target);
	if (q->mr)
		ibv_dereg_mr(q->mr);
	if (q->srq)
		ibv_destroy_srq(q->srq);
	if (q->xrcd)
		ibv_close_xrcd(q->xrcd);
	if (q->recv_cq)
		ibv_destroy_cq(q->recv_cq);
	if (q->cq)
		ibv_destroy_cq(q->cq);
	if (q->parent)
		ibv_dealloc_pd(q->parent);
	if (q->td)
		ibv_dealloc_td(q->td);
	if (q->pd)
		ibv_dealloc_pd(q->pd);
}
