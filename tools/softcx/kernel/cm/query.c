/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of an id: its addresses, its path and its GIDs. */
#include "cm.h"

#include <endian.h>
#include <string.h>

enum { SELECT_EXACTLY = 2, RATE_40G = 7 }; /* IB_SA_EQ; ib_addr.h iboe_get_rate() */
enum { DEVICE_INDEX = 0 };
/* Older libraries ask for less. */
#define OLD_SIZE(type) offsetof(type, ibdev_index)

static uint64_t guid_of(struct cx_hca *hca)
{
	return htobe64(cx_node_guid(&hca->config));
}

static void answer_what_fits(struct cm_call *call, uint64_t response, const void *answer,
			     size_t size)
{
	cm_answer(call, response, answer, call->out_size < size ? call->out_size : size);
}

/* An id without a device has zeroes as GIDs: rdma_read_gids(). */
static void read_gids(const struct cx_cm_id *id, uint8_t source[16], uint8_t destination[16])
{
	memset(source, 0, 16);
	memset(destination, 0, 16);
	if (!id->has_device)
		return;
	cm_address_gid(&id->source, source);
	cm_address_gid(&id->destination, destination);
}

/* -- the older form ---------------------------------------------------------------------------- */

static void put_path(struct cx_hca *hca, const struct cx_cm_id *id, struct ib_user_path_rec *path)
{
	path->flow_label = htobe32(id->flow_label);
	path->reversible = 1;
	path->mtu = cx_port_mtu(&hca->config);
	path->hop_limit = id->hop_limit;
	path->traffic_class = id->tos;
	path->mtu_selector = path->rate_selector = path->packet_life_time_selector = SELECT_EXACTLY;
	path->rate = RATE_40G;
	path->packet_life_time = id->lifetime;
}

int cm_query_route(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_query *cmd = command;
	struct rdma_ucm_query_route_resp *resp = &call->room.route;
	struct cx_cm_id *id;
	int err;

	if (call->out_size < OLD_SIZE(struct rdma_ucm_query_route_resp))
		return -ENOSPC;
	err = cm_id_find(call, cmd->id, &id);
	if (err)
		return err;
	memset(resp, 0, sizeof(*resp));
	memcpy(&resp->src_addr, &id->source, sizeof(resp->src_addr));
	memcpy(&resp->dst_addr, &id->destination, sizeof(resp->dst_addr));
	if (id->has_device) {
		resp->node_guid = guid_of(call->hca);
		resp->ibdev_index = DEVICE_INDEX;
		resp->port_num = CX_PORTS;
		resp->num_paths = id->has_route;
		read_gids(id, resp->ib_route[0].sgid, resp->ib_route[0].dgid);
		resp->ib_route[0].pkey = htobe16(CX_PKEY);
	}
	if (id->has_device && id->has_route)
		put_path(call->hca, id, &resp->ib_route[0]);
	answer_what_fits(call, cmd->response, resp, sizeof(*resp));
	return 0;
}

/* -- addresses and GIDs ------------------------------------------------------------------------ */

static void put_device(struct cx_hca *hca, const struct cx_cm_id *id,
		       struct rdma_ucm_query_addr_resp *resp)
{
	memset(resp, 0, sizeof(*resp));
	if (!id->has_device)
		return;
	resp->node_guid = guid_of(hca);
	resp->ibdev_index = DEVICE_INDEX;
	resp->port_num = CX_PORTS;
	/* IPoIB has it in the broadcast address; an Ethernet interface does not. */
	resp->pkey = id->has_interface ? 0 : htobe16(CX_PKEY);
}

static int query_addr(struct cm_call *call, const struct cx_cm_id *id, uint64_t response)
{
	struct rdma_ucm_query_addr_resp *resp = &call->room.addr;

	if (call->out_size < OLD_SIZE(struct rdma_ucm_query_addr_resp))
		return -ENOSPC;
	put_device(call->hca, id, resp);
	resp->src_size = (uint16_t)cm_address_size(&id->source);
	resp->dst_size = (uint16_t)cm_address_size(&id->destination);
	memcpy(&resp->src_addr, &id->source, resp->src_size);
	memcpy(&resp->dst_addr, &id->destination, resp->dst_size);
	answer_what_fits(call, response, resp, sizeof(*resp));
	return 0;
}

static void put_gid(const struct cx_cm_id *id, const union cx_cm_address *address,
		    const uint8_t gid[16], uint16_t pkey, void *to)
{
	struct cx_cm_sockaddr_ib ib = { .family = FAMILY_IB, .pkey = pkey };

	memcpy(ib.gid, gid, sizeof(ib.gid));
	ib.service = htobe64((uint64_t)id->port_space << 16 | cm_port_of(address));
	memcpy(to, address->any.sa_family == FAMILY_IB ? &address->ib : &ib, sizeof(ib));
}

static int query_gid(struct cm_call *call, const struct cx_cm_id *id, uint64_t response)
{
	struct rdma_ucm_query_addr_resp *resp = &call->room.addr;
	uint8_t source[16], destination[16];

	if (call->out_size < OLD_SIZE(struct rdma_ucm_query_addr_resp))
		return -ENOSPC;
	put_device(call->hca, id, resp);
	read_gids(id, source, destination);
	resp->src_size = resp->dst_size = sizeof(struct cx_cm_sockaddr_ib);
	put_gid(id, &id->source, source, resp->pkey, &resp->src_addr);
	put_gid(id, &id->destination, destination, resp->pkey, &resp->dst_addr);
	answer_what_fits(call, response, resp, sizeof(*resp));
	return 0;
}

/* -- the path ---------------------------------------------------------------------------------- */

static void put_path_record(struct cx_hca *hca, const struct cx_cm_id *id,
			    struct cm_path_record *path)
{
	const uint32_t flow = id->flow_label;

	memset(path, 0, sizeof(*path));
	read_gids(id, path->sgid, path->dgid);
	path->flow_and_hop[0] = (uint8_t)(flow >> 16);
	path->flow_and_hop[1] = (uint8_t)(flow >> 8);
	path->flow_and_hop[2] = (uint8_t)flow;
	path->flow_and_hop[3] = id->hop_limit;
	path->dlid[0] = (uint8_t)(id->dlid >> 8);
	path->dlid[1] = (uint8_t)id->dlid;
	path->traffic_class = id->tos;
	path->reversible_and_count = 0x80;
	memset(path->pkey, 0xff, sizeof(path->pkey));
	path->mtu = (uint8_t)(SELECT_EXACTLY << 6 | cx_port_mtu(&hca->config));
	path->rate = SELECT_EXACTLY << 6 | RATE_40G;
	path->lifetime = (uint8_t)(SELECT_EXACTLY << 6 | id->lifetime);
}

static int query_path(struct cm_call *call, const struct cx_cm_id *id, uint64_t response)
{
	struct rdma_ucm_query_path_resp head = { .num_paths = id->has_route };
	struct ib_path_rec_data data = { .flags = IB_PATH_GMP | IB_PATH_PRIMARY |
						  IB_PATH_BIDIRECTIONAL };
	unsigned size = sizeof(head);

	if (call->out_size < sizeof(head))
		return -ENOSPC;
	memcpy(call->room.path, &head, sizeof(head));
	if (id->has_route && call->out_size - sizeof(head) > sizeof(data)) {
		put_path_record(call->hca, id, (struct cm_path_record *)(void *)data.path_rec);
		memcpy(call->room.path + sizeof(head), &data, sizeof(data));
		size += sizeof(data);
	}
	cm_answer(call, response, call->room.path, size);
	return 0;
}

int cm_query(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_query *cmd = command;
	struct cx_cm_id *id;
	int err = cm_id_find(call, cmd->id, &id);

	if (err)
		return err;
	switch (cmd->option) {
	case RDMA_USER_CM_QUERY_ADDR:
		return query_addr(call, id, cmd->response);
	case RDMA_USER_CM_QUERY_PATH:
		return query_path(call, id, cmd->response);
	case RDMA_USER_CM_QUERY_GID:
		return query_gid(call, id, cmd->response);
	default:
		return -ENOSYS;
	}
}
