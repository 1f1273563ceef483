/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes that a program gives its queue pair for the connection. */
#include "cm.h"

#include <string.h>

enum {
	ROCE_RATE_40G = 7, /* ib_addr.h iboe_get_rate() of a fast port: IB_RATE_40_GBPS */
	MAX_ACK_TIMEOUT = 31,
	PACKET_LIFETIME = 18, /* cma.c CMA_IBOE_PACKET_LIFETIME */
};

/* The time to the peer and back, and what the peer needs: cm.c cm_ack_timeout() */
uint8_t cm_ack_timeout(uint8_t lifetime)
{
	uint8_t timeout = lifetime + 1;

	if (timeout >= CX_ACK_DELAY)
		timeout += CX_ACK_DELAY >= timeout - 1;
	else
		timeout = CX_ACK_DELAY + (timeout >= CX_ACK_DELAY - 1);
	return timeout < MAX_ACK_TIMEOUT ? timeout : MAX_ACK_TIMEOUT;
}

/* cma.c cma_get_roce_udp_flow_label() */
static uint32_t flow_label_of(const struct cx_cm_id *id)
{
	const uint32_t given = id->source.any.sa_family == AF_INET6
				       ? ntohl(id->source.ip6.sin6_flowinfo) & 0xfffff
				       : 0;

	return given ? given
		     : (cm_port_of(&id->source) * 31u + cm_port_of(&id->destination)) & 0xfffff;
}

void cm_find_route(struct cx_hca *hca, struct cx_cm_id *id)
{
	id->flow_label = flow_label_of(id);
	id->lifetime = (uint8_t)(id->has_ack_timeout ? id->ack_timeout - 1 : PACKET_LIFETIME);
	id->has_route = true;
	id->state = CX_CM_ROUTE_RESOLVED;
	cm_report(hca, id, CM_ROUTE_RESOLVED, 0, NULL);
}

void cm_address_handle(struct cx_hca *hca, const struct cx_cm_id *id, struct ib_uverbs_ah_attr *ah)
{
	uint8_t gid[16];

	memset(ah, 0, sizeof(*ah));
	ah->port_num = CX_PORTS;
	if (hca->config.link == CX_LINK_IB) {
		ah->dlid = id->dlid;
		return;
	}
	cm_address_gid(&id->source, gid);
	cm_address_gid(&id->destination, ah->grh.dgid);
	ah->grh.sgid_index = (uint8_t)cm_gid_index(&hca->config, gid);
	ah->grh.hop_limit = id->hop_limit;
	ah->grh.traffic_class = id->tos;
	ah->grh.flow_label = id->flow_label;
	ah->is_global = 1;
	ah->static_rate = ROCE_RATE_40G;
}

/* Without a connection: before one, or for datagrams: cma_ib_init_qp_attr(). */
static void fill_unconnected(const struct cx_cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	attr->port_num = CX_PORTS;
	if (id->qp_type == IBV_QPT_UD) {
		attr->qp_attr_mask |= IBV_QP_QKEY;
		attr->qkey = id->qkey ? id->qkey : CM_UDP_QKEY;
	} else {
		attr->qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
	}
}

/* cm.c cm_init_qp_init_attr() */
static int fill_init(const struct cx_cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	if (id->link < CX_LINK_REQ_SENT || id->link > CX_LINK_ESTABLISHED)
		return -EINVAL;
	attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (id->responder_resources)
		attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	attr->port_num = CX_PORTS;
	return 0;
}

static bool knows_peer(const struct cx_cm_id *id)
{
	return id->link >= CX_LINK_REQ_RCVD && id->link <= CX_LINK_ESTABLISHED;
}

/* cm_init_qp_rtr_attr() */
static int fill_rtr(struct cx_hca *hca, const struct cx_cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	if (!knows_peer(id))
		return -EINVAL;
	attr->qp_attr_mask =
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	cm_address_handle(hca, id, &attr->ah_attr);
	attr->path_mtu = cx_port_mtu(&hca->config);
	attr->dest_qp_num = id->peer_qpn;
	attr->rq_psn = id->psn;
	if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_RECV) {
		attr->qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		attr->max_dest_rd_atomic = id->responder_resources;
	}
	return 0;
}

/* cm_init_qp_rts_attr() */
static int fill_rts(const struct cx_cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	if (!knows_peer(id))
		return -EINVAL;
	attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	attr->sq_psn = id->peer_psn;
	if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_SEND) {
		attr->qp_attr_mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
		attr->retry_cnt = id->retries;
		attr->rnr_retry = id->rnr_retries;
		attr->max_rd_atomic = id->initiator_depth;
	}
	if (attr->qp_attr_mask & IBV_QP_RETRY_CNT || id->qp_type == IBV_QPT_XRC_RECV) {
		attr->qp_attr_mask |= IBV_QP_TIMEOUT;
		attr->timeout =
			id->has_ack_timeout ? id->ack_timeout : cm_ack_timeout(id->lifetime);
	}
	return 0;
}

static int fill(struct cx_hca *hca, const struct cx_cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	if (id->link == CX_LINK_NONE || id->qp_type == IBV_QPT_UD) {
		fill_unconnected(id, attr);
		return 0;
	}
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		return fill_init(id, attr);
	case IBV_QPS_RTR:
		return fill_rtr(hca, id, attr);
	case IBV_QPS_RTS:
		return fill_rts(id, attr);
	default:
		return -EINVAL;
	}
}

int cm_init_qp_attr(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_init_qp_attr *cmd = command;
	struct ib_uverbs_qp_attr *attr = &call->room.qp_attr;
	struct cx_cm_id *id;
	int err;

	if (call->out_size < sizeof(*attr))
		return -ENOSPC;
	if (cmd->qp_state > IBV_QPS_ERR)
		return -EINVAL;
	err = cm_id_find_with_device(call, cmd->id, &id);
	if (err)
		return err;
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = cmd->qp_state;
	err = fill(call->hca, id, attr);
	if (!err)
		cm_answer(call, cmd->response, attr, sizeof(*attr));
	return err;
}
