/* SPDX-License-Identifier: BSD-2-Clause */
/* Resolves addresses and routes of peers. */
#include "cm.h"

#include <string.h>

#include "../../nic/netdev.h"

static void fail_address(struct cx_hca *hca, struct cx_cm_id *id, int status)
{
	id->state = CX_CM_BOUND;
	cm_report(hca, id, CM_ADDR_ERROR, status, NULL);
}

static void set_source(struct cx_cm_id *id, const union cx_cm_address *source)
{
	const uint16_t port = cm_port_of(&id->source);

	id->source = *source;
	cm_port_set(&id->source, port);
}

/* The address is the sender's own: it needs no interface, so no route is found later. */
static int resolve_loopback(struct cx_hca *hca, struct cx_cm_id *id)
{
	union cx_cm_address loopback = { .any.sa_family = id->source.any.sa_family };

	if (!id->has_device) {
		if (loopback.any.sa_family == AF_INET)
			loopback.ip4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		else if (loopback.any.sa_family == AF_INET6)
			loopback.ip6.sin6_addr = in6addr_loopback;
		else
			loopback.ib = (struct cx_cm_sockaddr_ib){ .family = FAMILY_IB,
								  .gid = { [15] = 1 } };
		set_source(id, &loopback);
		id->has_device = true;
	}
	id->state = CX_CM_ADDRESS_RESOLVED;
	cm_report(hca, id, CM_ADDR_RESOLVED, 0, NULL);
	return 0;
}

/* On InfiniBand by GIDs alone: cma_resolve_ib_dev() */
static int resolve_ib(struct cx_hca *hca, struct cx_cm_id *id)
{
	struct cx_gid own;

	if (hca->config.link != CX_LINK_IB || cx_gid_get(&hca->config, 0, &own))
		return -ENODEV;
	if (!id->has_device) {
		memcpy(id->source.ib.gid, own.gid.raw, sizeof(own.gid.raw));
		id->source.ib.pkey = htobe16(CX_PKEY);
		id->has_device = true;
	}
	id->state = CX_CM_ADDRESS_RESOLVED;
	cm_report(hca, id, CM_ADDR_RESOLVED, 0, NULL);
	return 0;
}

/*
 * Uses the host's routing table. This wire has only our own port: an address behind a gateway is
 * found, and never answers.
 */
static int resolve_ip(struct cx_hca *hca, struct cx_cm_id *id, uint32_t timeout_ms)
{
	const struct cx_config *config = &hca->config;
	const bool is_ip6 = id->destination.any.sa_family == AF_INET6;
	struct cm_route route;
	int err = cm_route(&id->source, &id->destination,
			   is_ip6 ? id->destination.ip6.sin6_scope_id : 0, &route);

	if (err)
		return err;
	if (!cm_address_is_ours(config, &route.source)) {
		fail_address(hca, id, -ENODEV);
		return 0;
	}
	if (!route.is_reachable) {
		cm_wait(hca, id, timeout_ms, 0);
		return 0;
	}
	set_source(id, &route.source);
	id->hop_limit = route.hop_limit;
	id->has_device = id->has_interface = true;
	id->state = CX_CM_ADDRESS_RESOLVED;
	cm_report(hca, id, CM_ADDR_RESOLVED, 0, NULL);
	return 0;
}

/* An id that is not bound becomes bound, to its own address or to any. */
static int prepare_source(struct cx_hca *hca, struct cx_cm_id *id,
			  const union cx_cm_address *source)
{
	union cx_cm_address any = { .any.sa_family = id->destination.any.sa_family };

	if (id->state == CX_CM_BOUND)
		return 0;
	if (any.any.sa_family == AF_INET6)
		any.ip6.sin6_scope_id = id->destination.ip6.sin6_scope_id;
	if (any.any.sa_family == FAMILY_IB)
		any.ib.pkey = id->destination.ib.pkey;
	return cm_bind(hca, id, source->any.sa_family ? source : &any);
}

static int resolve(struct cx_hca *hca, struct cx_cm_id *id, const union cx_cm_address *source,
		   const union cx_cm_address *destination, uint32_t timeout_ms)
{
	int err;

	id->destination = *destination;
	err = prepare_source(hca, id, source);
	if (!err && id->source.any.sa_family != destination->any.sa_family)
		err = -EINVAL;
	if (err) {
		memset(&id->destination, 0, sizeof(id->destination));
		return err;
	}
	id->destination = *destination;
	id->state = CX_CM_ADDRESS_QUERY;
	if (cm_address_is_any(&hca->config, destination))
		err = resolve_loopback(hca, id);
	else if (destination->any.sa_family == FAMILY_IB)
		err = resolve_ib(hca, id);
	else
		err = resolve_ip(hca, id, timeout_ms);
	if (err)
		id->state = CX_CM_BOUND;
	return err;
}

int cm_resolve_ip(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_resolve_ip *cmd = command;
	union cx_cm_address source = { 0 }, destination;
	struct cx_cm_id *id;
	int err = cm_address_read(&destination, &cmd->dst_addr, sizeof(cmd->dst_addr));

	if (!err && cmd->src_addr.sin6_family)
		err = cm_address_read(&source, &cmd->src_addr, sizeof(cmd->src_addr));
	if (!err)
		err = cm_id_find(call, cmd->id, &id);
	return err ? err : resolve(call->hca, id, &source, &destination, cmd->timeout_ms);
}

int cm_resolve_address(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_resolve_addr *cmd = command;
	union cx_cm_address source = { 0 }, destination;
	struct cx_cm_id *id;
	int err = cm_address_read(&destination, &cmd->dst_addr, sizeof(cmd->dst_addr));

	if (!err && cmd->src_size)
		err = cm_address_read(&source, &cmd->src_addr, sizeof(cmd->src_addr));
	if (err || cmd->reserved || cmd->dst_size != cm_address_size(&destination) ||
	    (cmd->src_size && cmd->src_size != cm_address_size(&source)))
		return -EINVAL;
	err = cm_id_find(call, cmd->id, &id);
	return err ? err : resolve(call->hca, id, &source, &destination, cmd->timeout_ms);
}

/* On InfiniBand the subnet manager is asked for a path; here there is none that answers. */
static void ask_for_path(struct cx_hca *hca, struct cx_cm_id *id, uint32_t timeout_ms)
{
	id->state = CX_CM_ROUTE_QUERY;
	cm_wait(hca, id, timeout_ms, 0);
}

int cm_resolve_route(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_resolve_route *cmd = command;
	struct cx_cm_id *id;
	int err = cm_id_find_with_device(call, cmd->id, &id);

	if (err)
		return err;
	if (id->state != CX_CM_ADDRESS_RESOLVED)
		return -EINVAL;
	if (call->hca->config.link == CX_LINK_IB) {
		ask_for_path(call->hca, id, cmd->timeout_ms);
		return 0;
	}
	if (!id->has_interface)
		return -ENODEV;
	cm_find_route(call->hca, id);
	return 0;
}
