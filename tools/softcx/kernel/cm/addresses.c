/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses that programs pass, and those of the port. */
#include "cm.h"

#include <endian.h>
#include <string.h>

#include "../../nic/netdev.h"

unsigned cm_address_size(const union cx_cm_address *address)
{
	switch (address->any.sa_family) {
	case AF_INET:
		return sizeof(address->ip4);
	case AF_INET6:
		return sizeof(address->ip6);
	case FAMILY_IB:
		return sizeof(address->ib);
	default:
		return 0;
	}
}

int cm_address_read(union cx_cm_address *to, const void *from, unsigned size)
{
	union cx_cm_address address = { 0 };

	memcpy(&address, from, size < sizeof(address) ? size : sizeof(address));
	if (!cm_address_size(&address) || cm_address_size(&address) > size)
		return -EINVAL;
	memset(to, 0, sizeof(*to));
	memcpy(to, &address, cm_address_size(&address));
	return 0;
}

static bool is_zero(const void *bytes, size_t size)
{
	static const uint8_t zeroes[16];

	return !memcmp(bytes, zeroes, size);
}

/* 0.0.0.0/8: ipv4_is_zeronet() */
bool cm_address_is_zero(const union cx_cm_address *address)
{
	switch (address->any.sa_family) {
	case AF_INET:
		return !(ntohl(address->ip4.sin_addr.s_addr) >> 24);
	case AF_INET6:
		return is_zero(&address->ip6.sin6_addr, sizeof(address->ip6.sin6_addr));
	case FAMILY_IB:
		return is_zero(address->ib.gid, sizeof(address->ib.gid));
	default:
		return false;
	}
}

static bool is_loopback(const union cx_cm_address *address)
{
	static const uint8_t one[16] = { [15] = 1 };

	switch (address->any.sa_family) {
	case AF_INET:
		return ntohl(address->ip4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(&address->ip6.sin6_addr);
	case FAMILY_IB:
		return !memcmp(address->ib.gid, one, sizeof(one));
	default:
		return false;
	}
}

bool cm_address_is_any(const struct cx_config *config, const union cx_cm_address *address)
{
	const bool has_loopback = config->netdev && config->netdev->is_loopback;

	return cm_address_is_zero(address) || (is_loopback(address) && !has_loopback);
}

/* Compares without the ports. */
bool cm_address_is_same(const union cx_cm_address *a, const union cx_cm_address *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	switch (a->any.sa_family) {
	case AF_INET:
		return a->ip4.sin_addr.s_addr == b->ip4.sin_addr.s_addr;
	case AF_INET6:
		return !memcmp(&a->ip6.sin6_addr, &b->ip6.sin6_addr, sizeof(a->ip6.sin6_addr));
	default:
		return !memcmp(a->ib.gid, b->ib.gid, sizeof(a->ib.gid));
	}
}

uint16_t cm_port_of(const union cx_cm_address *address)
{
	switch (address->any.sa_family) {
	case AF_INET:
		return ntohs(address->ip4.sin_port);
	case AF_INET6:
		return ntohs(address->ip6.sin6_port);
	case FAMILY_IB:
		return (uint16_t)be64toh(address->ib.service & address->ib.service_mask);
	default:
		return 0;
	}
}

void cm_port_set(union cx_cm_address *address, uint16_t port)
{
	switch (address->any.sa_family) {
	case AF_INET:
		address->ip4.sin_port = htons(port);
		break;
	case AF_INET6:
		address->ip6.sin6_port = htons(port);
		break;
	case FAMILY_IB:
		address->ib.service =
			(address->ib.service & address->ib.service_mask) | htobe64(port);
		address->ib.service_mask = UINT64_MAX;
		break;
	default:
		break;
	}
}

void cm_address_gid(const union cx_cm_address *address, uint8_t gid[16])
{
	memset(gid, 0, 16);
	switch (address->any.sa_family) {
	case AF_INET:
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, &address->ip4.sin_addr, 4);
		break;
	case AF_INET6:
		memcpy(gid, &address->ip6.sin6_addr, 16);
		break;
	case FAMILY_IB:
		memcpy(gid, address->ib.gid, 16);
		break;
	default:
		break;
	}
}

int cm_gid_index(const struct cx_config *config, const uint8_t gid[16])
{
	const enum ibv_gid_type wanted =
		config->link == CX_LINK_ROCE ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
	struct cx_gid own;

	for (unsigned i = 0; i < cx_gid_table_len(config); i++)
		if (!cx_gid_get(config, i, &own) && own.type == wanted &&
		    !memcmp(own.gid.raw, gid, 16))
			return (int)i;
	return -1;
}

/* An IP address belongs to an interface; without an interface the port has none. */
bool cm_address_is_ours(const struct cx_config *config, const union cx_cm_address *address)
{
	const bool is_ib = address->any.sa_family == FAMILY_IB;
	uint8_t gid[16];

	if (is_ib != (config->link == CX_LINK_IB) || (!is_ib && !config->netdev))
		return false;
	cm_address_gid(address, gid);
	return cm_gid_index(config, gid) >= 0;
}
