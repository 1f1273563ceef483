/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs side: making, connecting and destroying a QP the way every verbs program does. */
#include "plain_qp.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <stdlib.h>
#include <string.h>

enum {
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		 IBV_ACCESS_REMOTE_ATOMIC,
	PASSES_MAX = 32 * PLAIN_STRIDE,
};

/* Of calls that return NULL, or -1, with errno. */
static int errno_or(int otherwise)
{
	return errno ? -errno : -otherwise;
}

static int create_domain(struct plain_qp *q)
{
	struct ibv_td_init_attr td = { .comp_mask = 0 };
	struct ibv_parent_domain_init_attr parent = { .comp_mask = 0 };

	q->pd = ibv_alloc_pd(q->context);
	if (!q->pd)
		return errno_or(ENOMEM);
	q->parent = q->pd;
	q->td = ibv_alloc_td(q->context, &td);
	if (!q->td)
		return 0;
	parent.pd = q->pd;
	parent.td = q->td;
	q->parent = ibv_alloc_parent_domain(q->context, &parent);
	if (q->parent)
		return 0;
	q->parent = q->pd;
	return errno_or(EOPNOTSUPP);
}

/* A CQ of the thread domain takes no lock. */
static int create_cq(const struct plain_qp *q, const struct plain_qp_attr *attr, struct ibv_cq **cq,
		     struct ibv_cq_ex **extended)
{
	const uint32_t entries = attr->depth * (attr->qps ? attr->qps : 1);
	struct ibv_cq_init_attr_ex init = {
		.cqe = entries,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    (attr->has_stamps ? IBV_WC_EX_WITH_COMPLETION_TIMESTAMP : 0),
		.parent_domain = q->td ? q->parent : NULL
	};

	if (!attr->is_extended && !q->td) {
		*cq = ibv_create_cq(q->context, (int)entries, NULL, NULL, 0);
		return *cq ? 0 : errno_or(ENOMEM);
	}
	if (q->td) {
		init.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD | IBV_CQ_INIT_ATTR_MASK_FLAGS;
		init.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	}
	*extended = ibv_create_cq_ex(q->context, &init);
	*cq = *extended ? ibv_cq_ex_to_cq(*extended) : NULL;
	return *cq ? 0 : errno_or(ENOMEM);
}

/* Of XRC: in a domain, and with the CQ of what it receives. */
static int create_xrc_srq(struct plain_qp *q, const struct plain_qp_attr *attr)
{
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							  IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = -1,
					     .oflags = O_CREAT };
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = attr->srq_depth, .max_sge = attr->max_recv_sge },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = q->pd,
		.cq = q->recv_cq,
	};

	q->xrcd = init.xrcd = ibv_open_xrcd(q->context, &domain);
	if (!q->xrcd)
		return errno_or(EOPNOTSUPP);
	q->srq = ibv_create_srq_ex(q->context, &init);
	return q->srq ? 0 : errno_or(ENOMEM);
}

/*
 * With libmlx5's lock, so that it can be polled by other threads than post to it, as Bunsen's can.
 */
static int create_srq(struct plain_qp *q, const struct plain_qp_attr *attr)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = attr->srq_depth,
						    .max_sge = attr->max_recv_sge } };

	if (!attr->srq_depth)
		return 0;
	if (attr->type == BSN_QP_XRC)
		return create_xrc_srq(q, attr);
	q->srq = ibv_create_srq(q->pd, &init);
	return q->srq ? 0 : errno_or(ENOMEM);
}

/* What the QPs of one thread have in common. */
static int create_common(struct plain_qp *q, const struct plain_qp_attr *attr)
{
	int err = create_domain(q);

	if (!err)
		err = create_cq(q, attr, &q->cq, &q->cq_ex);
	if (!err)
		err = create_cq(q, attr, &q->recv_cq, &q->recv_cq_ex);
	return err ? err : create_srq(q, attr);
}

static uint64_t send_ops_of(const struct plain_qp_attr *attr)
{
	if (attr->type == BSN_QP_XRC)
		return IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND;
	return attr->type == BSN_QP_UD
		       ? IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM
		       : IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND |
				 IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
}

static struct ibv_qp *create_verbs_qp(struct plain_qp *q, const struct plain_qp_attr *attr,
				      struct ibv_qp_init_attr_ex *init)
{
	struct mlx5dv_qp_init_attr mlx5 = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED,
	};
	struct ibv_qp *qp;

	if (attr->has_mkeys)
		return mlx5dv_create_qp(q->context, init, &mlx5);
	qp = ibv_create_qp_ex(q->context, init);
	if (qp || attr->is_extended)
		return qp;
	init->comp_mask &= ~(uint32_t)IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	return ibv_create_qp_ex(q->context, init);
}

static int create_target(struct plain_qp *q)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = q->xrcd };

	q->target = ibv_create_qp_ex(q->context, &init);
	return q->target ? 0 : errno_or(EINVAL);
}

/*
 * The operations are named also where they are not posted by ibv_wr_*: libmlx5 makes its ring by
 * them.
 */
static int create_qp(struct plain_qp *q, const struct plain_qp_attr *attr, struct ibv_qp **qp)
{
	static const enum ibv_qp_type types[] = { [BSN_QP_RC] = IBV_QPT_RC,
						  [BSN_QP_UD] = IBV_QPT_UD,
						  [BSN_QP_XRC] = IBV_QPT_XRC_SEND };
	struct ibv_qp_init_attr_ex init = {
		.send_cq = q->cq,
		.recv_cq = q->recv_cq,
		.srq = attr->type == BSN_QP_XRC ? NULL : q->srq,
		.cap = { .max_send_wr = attr->depth,
			 .max_recv_wr = q->srq ? 0 : attr->depth,
			 .max_send_sge = attr->max_send_sge,
			 .max_recv_sge = q->srq ? 0 : attr->max_recv_sge,
			 .max_inline_data = attr->max_inline },
		.qp_type = types[attr->type],
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = q->parent,
		.send_ops_flags = send_ops_of(attr),
	};

	*qp = create_verbs_qp(q, attr, &init);
	return *qp ? 0 : errno_or(EINVAL);
}

/* One more, which is so far from the first one as was asked for. */
static int add_qp(struct plain_qp *q, struct bsn_device *device, const struct plain_qp_attr *attr)
{
	const bool is_apart = attr->is_apart && q->qp_count;
	struct ibv_qp **const qp = &q->qps[q->qp_count];
	int err = is_apart ? plain_qp_pass_numbers(device, q->qps[0]->qp_num) : 0;

	if (!err)
		err = create_qp(q, attr, qp);
	if (err)
		return err;
	q->qp_count++;
	return is_apart && ((*qp)->qp_num - q->qps[0]->qp_num) % PLAIN_STRIDE ? -ENODATA : 0;
}

static int create_qps(struct plain_qp *q, struct bsn_device *device,
		      const struct plain_qp_attr *attr)
{
	const unsigned count = attr->qps ? attr->qps : 1;
	int err = 0;

	q->qps = calloc(count, sizeof(struct ibv_qp *));
	if (!q->qps)
		return -ENOMEM;
	while (!err && q->qp_count < count)
		err = add_qp(q, device, attr);
	if (err)
		return err;
	q->qp = q->qps[0];
	q->qp_ex = attr->is_extended ? ibv_qp_to_qp_ex(q->qp) : NULL;
	return attr->type == BSN_QP_XRC ? create_target(q) : 0;
}

int plain_qp_create(struct bsn_device *device, const struct plain_qp_attr *attr, void *memory,
		    size_t length, struct plain_qp *q)
{
	int err;

	*q = (struct plain_qp){ .info = bsn_device_info(device) };
	q->context = q->info->verbs;
	errno = 0;
	err = create_common(q, attr);
	if (!err)
		err = create_qps(q, device, attr);
	if (!err && memory) {
		q->mr = ibv_reg_mr(q->pd, memory, length, ACCESS);
		err = q->mr ? 0 : errno_or(ENOMEM);
	}
	if (err)
		plain_qp_destroy(q);
	return err;
}

void plain_qp_destroy(struct plain_qp *q)
{
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
	if (q->parent && q->parent != q->pd)
		ibv_dealloc_pd(q->parent);
	if (q->td)
		ibv_dealloc_td(q->td);
	if (q->pd)
		ibv_dealloc_pd(q->pd);
	memset(q, 0, sizeof(*q));
}

bool plain_qp_has_td(struct bsn_device *device)
{
	struct ibv_td_init_attr attr = { .comp_mask = 0 };
	struct ibv_td *td = ibv_alloc_td(bsn_device_info(device)->verbs, &attr);

	if (td)
		ibv_dealloc_td(td);
	return td;
}

int plain_qp_pass_numbers(struct bsn_device *device, uint32_t base)
{
	const struct plain_qp_attr attr = { .depth = 1, .max_send_sge = 1, .max_recv_sge = 1 };
	struct plain_qp q;
	unsigned left = PASSES_MAX;
	int err = plain_qp_create(device, &attr, NULL, 0, &q);

	while (!err && (q.qps[0]->qp_num + 1 - base) % PLAIN_STRIDE) {
		ibv_destroy_qp(q.qps[0]);
		q.qp_count = 0;
		err = left-- ? create_qp(&q, &attr, q.qps) : -ENODATA;
		q.qp_count = !err;
	}
	plain_qp_destroy(&q);
	return err;
}

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
static struct ibv_ah_attr own_port(const struct plain_qp *q)
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

static int connect_to(const struct plain_qp *q, struct ibv_qp *qp, uint32_t number)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	const uint8_t reads = (uint8_t)(q->info->max_rd_atomic < 16 ? q->info->max_rd_atomic : 16);
	struct ibv_qp_attr attr = {
		.port_num = q->info->port,
		.qp_access_flags = ACCESS,
		.qkey = PLAIN_QKEY,
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

int plain_qp_loop(struct plain_qp *q)
{
	struct ibv_ah_attr way = own_port(q);
	int err = 0;

	if (q->target)
		err = connect_to(q, q->target, q->qp->qp_num);
	for (unsigned i = 0; i < q->qp_count && !err; i++)
		err = connect_to(q, q->qps[i], (q->target ? q->target : q->qps[i])->qp_num);
	if (err || q->qp->qp_type != IBV_QPT_UD)
		return err;
	q->ah = ibv_create_ah(q->pd, &way);
	return q->ah ? 0 : errno_or(ENOMEM);
}
