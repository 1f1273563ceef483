/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs side: making, connecting and unmaking a QP the way every verbs program does. */
#include "plain_qp.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/* Of calls that return NULL, or -1, with errno. */
static int errno_or(int otherwise)
{
	return errno ? -errno : -otherwise;
}

static int create_domain(struct plain_qp *q, const struct plain_qp_attr *attr)
{
	struct ibv_td_init_attr td = { .comp_mask = 0 };
	struct ibv_parent_domain_init_attr parent = { .comp_mask = 0 };

	q->pd = ibv_alloc_pd(q->context);
	if (!q->pd)
		return errno_or(ENOMEM);
	if (!attr->has_own_register)
		return 0;
	q->td = ibv_alloc_td(q->context, &td);
	if (!q->td)
		return errno_or(EOPNOTSUPP);
	parent.pd = q->pd;
	parent.td = q->td;
	q->parent = ibv_alloc_parent_domain(q->context, &parent);
	return q->parent ? 0 : errno_or(EOPNOTSUPP);
}

static int create_cqs(struct plain_qp *q, const struct plain_qp_attr *attr)
{
	struct ibv_cq_init_attr_ex extended = { .cqe = attr->depth,
						.wc_flags = IBV_WC_EX_WITH_BYTE_LEN };

	if (attr->is_extended) {
		q->cq_ex = ibv_create_cq_ex(q->context, &extended);
		q->cq = q->cq_ex ? ibv_cq_ex_to_cq(q->cq_ex) : NULL;
	} else {
		q->cq = ibv_create_cq(q->context, (int)attr->depth, NULL, NULL, 0);
	}
	q->recv_cq = q->cq ? ibv_create_cq(q->context, (int)attr->depth, NULL, NULL, 0) : NULL;
	return q->recv_cq ? 0 : errno_or(ENOMEM);
}

static int create_qp(struct plain_qp *q, const struct plain_qp_attr *attr)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = q->cq,
		.recv_cq = q->recv_cq,
		.cap = { .max_send_wr = attr->depth,
			 .max_recv_wr = attr->depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = attr->max_inline },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = q->parent ? q->parent : q->pd,
		.send_ops_flags =
			IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND,
	};

	if (attr->is_extended)
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	q->qp = ibv_create_qp_ex(q->context, &init);
	if (!q->qp)
		return errno_or(EINVAL);
	q->qp_ex = attr->is_extended ? ibv_qp_to_qp_ex(q->qp) : NULL;
	return 0;
}

int plain_qp_create(struct bsn_device *device, const struct plain_qp_attr *attr, void *memory,
		    size_t length, struct plain_qp *q)
{
	int err;

	memset(q, 0, sizeof(*q));
	q->info = bsn_device_info(device);
	q->context = bsn_device_verbs(device);
	errno = 0;
	err = create_domain(q, attr);
	if (!err)
		err = create_cqs(q, attr);
	if (!err)
		err = create_qp(q, attr);
	if (!err) {
		q->mr = ibv_reg_mr(q->pd, memory, length,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
		err = q->mr ? 0 : errno_or(ENOMEM);
	}
	if (err)
		plain_qp_destroy(q);
	return err;
}

void plain_qp_destroy(struct plain_qp *q)
{
	if (q->mr)
		ibv_dereg_mr(q->mr);
	if (q->qp)
		ibv_destroy_qp(q->qp);
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
	memset(q, 0, sizeof(*q));
}

/* The bytes of a bsn_address that was made here. */
struct wire {
	uint32_t magic;
	uint32_t qpn;
	uint32_t mtu;
	uint32_t lid;
	uint32_t rd_atomic;
	uint8_t gid[16];
};

#define WIRE_MAGIC 0x76726273u /* "vrbs" */

_Static_assert(sizeof(struct wire) <= sizeof(struct bsn_address), "an address holds it");

void plain_qp_address(const struct plain_qp *q, struct bsn_address *address)
{
	struct wire wire = {
		.magic = htobe32(WIRE_MAGIC),
		.qpn = htobe32(q->qp->qp_num),
		.mtu = htobe32(q->info->active_mtu),
		.lid = htobe32(q->info->lid),
		.rd_atomic = htobe32(q->info->max_rd_atomic),
	};

	memcpy(wire.gid, q->info->gid, sizeof(wire.gid));
	memset(address, 0, sizeof(*address));
	memcpy(address->bytes, &wire, sizeof(wire));
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static int to_init(struct plain_qp *q)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = q->info->port,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	return ibv_modify_qp(q->qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct plain_qp *q, const struct wire *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_256,
		.dest_qp_num = be32toh(peer->qpn),
		.max_dest_rd_atomic = (uint8_t)smaller(q->info->max_rd_atomic, 16),
		.min_rnr_timer = 12,
		.ah_attr = { .dlid = (uint16_t)be32toh(peer->lid), .port_num = q->info->port },
	};
	const uint32_t mtu = smaller(be32toh(peer->mtu), q->info->active_mtu);

	while (attr.path_mtu < IBV_MTU_4096 && 256u << attr.path_mtu <= mtu)
		attr.path_mtu++;
	if (!strcmp(q->info->link_layer, "Ethernet")) {
		attr.ah_attr.is_global = 1;
		attr.ah_attr.grh.hop_limit = 64;
		attr.ah_attr.grh.sgid_index = q->info->gid_index;
		memcpy(attr.ah_attr.grh.dgid.raw, peer->gid, sizeof(peer->gid));
	}
	return ibv_modify_qp(q->qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(struct plain_qp *q, const struct wire *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = (uint8_t)smaller(
			smaller(q->info->max_rd_atomic, be32toh(peer->rd_atomic)), 16),
	};

	return ibv_modify_qp(q->qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

int plain_qp_connect(struct plain_qp *q, const struct bsn_address *peer)
{
	struct wire wire;
	int err;

	memcpy(&wire, peer->bytes, sizeof(wire));
	if (be32toh(wire.magic) != WIRE_MAGIC)
		return -EPROTO;
	err = to_init(q);
	if (!err)
		err = to_rtr(q, &wire);
	if (!err)
		err = to_rts(q, &wire);
	return err > 0 ? -err : err;
}
