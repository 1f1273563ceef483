/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a RoCE address leads, for address handles and connected queue pairs: what Linux finds out
 * in drivers/infiniband/core/verbs.c ib_resolve_eth_dmac() and addr.c
 * rdma_addr_find_l2_eth_by_grh(). Only our own port is on this wire.
 */
#include "cm/cm.h"

#include <string.h>

#include "../nic/netdev.h"

enum { NEIGHBOUR_MS = 1000 }; /* as long as the kernel asks for a neighbour */

static bool is_link_local(const uint8_t *gid)
{
	static const uint8_t prefix[8] = { 0xfe, 0x80 };

	return !memcmp(gid, prefix, sizeof(prefix));
}

/* RFC 2464, or of IPv4 RFC 1112; rdma_get_mcast_mac() */
static void group_mac(const uint8_t *gid, uint8_t mac[6])
{
	static const uint8_t of_ipv4[] = { 0x01, 0x00, 0x5e };

	mac[0] = mac[1] = 0x33;
	memcpy(mac + 2, gid + 12, 4);
	if (gid[0] == 0xff)
		return;
	memcpy(mac, of_ipv4, sizeof(of_ipv4));
	mac[3] &= 0x7f;
}

/* RFC 4291, appendix A; rdma_get_ll_mac() */
static void link_local_mac(const uint8_t *gid, uint8_t mac[6])
{
	mac[0] = gid[8] ^ 2;
	mac[1] = gid[9];
	mac[2] = gid[10];
	mac[3] = gid[13];
	mac[4] = gid[14];
	mac[5] = gid[15];
}

static bool is_own(const struct cx_config *config, const uint8_t *gid)
{
	struct cx_gid own;

	for (unsigned i = 0; i < cx_gid_table_len(config); i++)
		if (!cx_gid_get(config, i, &own) && !memcmp(own.gid.raw, gid, sizeof(own.gid.raw)))
			return true;
	return false;
}

/* rdma_gid2ip() */
static void address_of(const uint8_t *gid, union cx_cm_address *address)
{
	memset(address, 0, sizeof(*address));
	if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)gid)) {
		address->any.sa_family = AF_INET;
		memcpy(&address->ip4.sin_addr, gid + 12, 4);
	} else {
		address->any.sa_family = AF_INET6;
		memcpy(&address->ip6.sin6_addr, gid, 16);
	}
}

/*
 * The address of another host: the routing table says whether there is a route over our interface.
 * A gateway is taken to exist, with a MAC that nobody needs; a neighbour does not exist. Without an
 * interface only neighbours have a route.
 */
static int find_way(struct call *call, const union cx_cm_address *source,
		    const union cx_cm_address *destination, const uint8_t *dgid)
{
	const struct cx_netdev *netdev = call->ctx->config->netdev;
	struct cm_route route = { 0 };
	int err = 0;

	if (netdev)
		err = cm_route(source, destination, netdev->index, &route);
	else if (!is_link_local(dgid))
		err = -ENETUNREACH;
	if (err)
		cx_trace(call->ctx->hca, "fit: no route leads to the destination's GID");
	if (err || route.is_reachable)
		return err;
	cx_trace(call->ctx->hca, "fit: no neighbour has the destination's GID");
	call->answer_after_ms = NEIGHBOUR_MS;
	return -ETIMEDOUT;
}

static int resolve_by_ip(struct call *call, const uint8_t *dgid, const struct cx_gid *sgid,
			 uint8_t mac[6])
{
	const struct cx_config *config = call->ctx->config;
	union cx_cm_address source, destination;

	address_of(sgid->gid.raw, &source);
	address_of(dgid, &destination);
	if (source.any.sa_family != destination.any.sa_family) {
		cx_trace(call->ctx->hca, "fit: one GID is of IPv4, the other of IPv6");
		return -EINVAL;
	}
	if (!is_own(config, dgid))
		return find_way(call, &source, &destination, dgid);
	cx_port_mac(config, mac);
	return 0;
}

int path_resolve(struct call *call, const uint8_t dgid[16], unsigned sgid_index, uint8_t mac[6])
{
	struct cx_gid sgid;
	int err = cx_gid_get(call->ctx->config, sgid_index, &sgid);

	memset(mac, 0, 6);
	if (err)
		return err;
	if (cx_mcast_is_group(dgid))
		group_mac(dgid, mac);
	else if (is_link_local(dgid) && sgid.type == IBV_GID_TYPE_ROCE_V1)
		link_local_mac(dgid, mac);
	else
		err = resolve_by_ip(call, dgid, &sgid, mac);
	return err;
}
