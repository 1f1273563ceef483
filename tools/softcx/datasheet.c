/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of each generation, and the addresses of the port. */
#include "datasheet.h"

#include "nic/dc.h"
#include "nic/netdev.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* PCI ids: pci.ids; speeds: IBA, PortInfo (EDR 32, HDR 64, NDR 128). */
static const struct cx_datasheet models[] = {
	[CX_GEN_CX5] = { "cx5", "MT4119", "softcx-cx5", 0x1017, 16, 35, 2000, 32, 25,
			 "EDR" },
	[CX_GEN_CX6] = { "cx6", "MT4123", "softcx-cx6", 0x101b, 20, 35, 2000, 64, 50,
			 "HDR" },
	[CX_GEN_CX7] = { "cx7", "MT4129", "softcx-cx7", 0x1021, 28, 35, 2000, 128, 100,
			 "NDR" },
};

const struct cx_datasheet *cx_datasheet(enum cx_generation generation)
{
	return &models[generation];
}

int cx_generation_by_name(const char *name, enum cx_generation *generation)
{
	for (unsigned i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		if (!strcmp(name, models[i].name)) {
			*generation = (enum cx_generation)i;
			return 0;
		}
	}
	return -EINVAL;
}

static const char *const link_names[] = { [CX_LINK_IB] = "ib", [CX_LINK_ROCE] = "roce" };

const char *cx_link_name(enum cx_link link)
{
	return link_names[link];
}

int cx_link_by_name(const char *name, enum cx_link *link)
{
	for (unsigned i = 0; i < sizeof(link_names) / sizeof(link_names[0]); i++) {
		if (!strcmp(name, link_names[i])) {
			*link = (enum cx_link)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* 24 bits that differ between fabrics: FNV-1a of the fabric's name and the user. */
static uint32_t hash_fabric(const struct cx_config *config)
{
	uint32_t hash = 2166136261u ^ getuid();

	for (const char *c = config->fabric ? config->fabric : "default"; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	return (hash ^ hash >> 24) & 0xffffff;
}

/* 02:5c:c5 is a locally administered prefix; the GUID is its EUI-64. */
void cx_port_mac(const struct cx_config *config, uint8_t mac[6])
{
	uint32_t low = hash_fabric(config);
	const uint8_t bytes[6] = {
		0x02, 0x5c, 0xc5, (uint8_t)(low >> 16), (uint8_t)(low >> 8), (uint8_t)low
	};

	memcpy(mac, config->netdev ? config->netdev->mac : bytes, sizeof(bytes));
}

uint64_t cx_node_guid(const struct cx_config *config)
{
	return 0x025cc5fffe000000u | hash_fabric(config);
}

unsigned cx_gid_table_len(const struct cx_config *config)
{
	return config->link == CX_LINK_IB ? 8 : CX_GIDS;
}

bool cx_has_dci_streams(const struct cx_config *config)
{
	return config->generation >= CX_GEN_CX6;
}

unsigned cx_dci_errored_log2(const struct cx_config *config)
{
	return cx_has_dci_streams(config) && !config->no_errored_streams ? CX_DC_ERRORED_LOG2 : 0;
}

unsigned cx_pkey_table_len(const struct cx_config *config)
{
	return config->link == CX_LINK_IB ? CX_PKEYS : 1;
}

/* RoCE has only the default key: hw/mlx5/main.c mlx5_query_roce_port(). */
uint16_t cx_pkey_get(const struct cx_config *config, unsigned index)
{
	if (index >= cx_pkey_table_len(config))
		return 0;
	if (config->link == CX_LINK_IB && config->tables && config->tables->has_pkeys)
		return config->tables->pkeys[index];
	return index ? 0 : CX_PKEY;
}

uint32_t cx_port_cap_flags(const struct cx_config *config)
{
	if (config->link == CX_LINK_ROCE)
		return IB_UVERBS_PCF_CM_SUP | IB_UVERBS_PCF_IP_BASED_GIDS;
	return IB_UVERBS_PCF_TRAP_SUP | IB_UVERBS_PCF_SL_MAP_SUP |
	       IB_UVERBS_PCF_SYS_IMAGE_GUID_SUP | IB_UVERBS_PCF_EXTENDED_SPEEDS_SUP |
	       IB_UVERBS_PCF_CM_SUP;
}

/* Frames of an interface have our headers in them: ib_addr.h iboe_get_mtu(). */
enum { ROCE_HEADER_BYTES = 40 + 8 + 12 + 4 + 28 }; /* GRH, UDP, BTH, XRC, atomics */

uint32_t cx_port_lanes(const struct cx_config *config)
{
	return config->tables && config->tables->lanes ? config->tables->lanes : 4;
}

enum ibv_mtu cx_port_mtu(const struct cx_config *config)
{
	enum ibv_mtu mtu = IBV_MTU_4096;

	while (config->tables && config->tables->mtu_bytes &&
	       cx_mtu_bytes(mtu) > config->tables->mtu_bytes)
		mtu--;
	if (config->link == CX_LINK_IB)
		return mtu;
	if (!config->netdev)
		return mtu < IBV_MTU_1024 ? mtu : IBV_MTU_1024;
	while (mtu > IBV_MTU_256 && cx_mtu_bytes(mtu) + ROCE_HEADER_BYTES > config->netdev->mtu)
		mtu--;
	return mtu;
}

static void put_be64(uint8_t *bytes, uint64_t value)
{
	for (int i = 7; i >= 0; i--, value >>= 8)
		bytes[i] = (uint8_t)value;
}

/* InfiniBand has only the default GID. */
static int get_ib_gid(const struct cx_config *config, unsigned index, struct cx_gid *gid)
{
	if (index)
		return -ENODATA;
	put_be64(gid->gid.raw, 0xfe80000000000000u);
	put_be64(gid->gid.raw + 8, cx_node_guid(config));
	gid->type = IBV_GID_TYPE_IB;
	return 0;
}

/* An EUI-64 inside an IPv6 address has the universal/local bit inverted (RFC 4291). */
static void put_link_local(const struct cx_config *config, union ibv_gid *gid)
{
	uint8_t mac[6];

	cx_port_mac(config, mac);
	*gid = (union ibv_gid){ .raw = { 0xfe, 0x80, [8] = mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe,
					 mac[3], mac[4], mac[5] } };
}

/* 192.0.2.1 (RFC 5737) */
static const struct cx_netdev no_netdev = {
	.count = 1,
	.addresses = { { .raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 } } },
};

/* The addresses of the interface except the one that is the default GID. False: there are fewer. */
static bool find_address(const struct cx_config *config, unsigned number, union ibv_gid *gid)
{
	const struct cx_netdev *netdev = config->netdev ? config->netdev : &no_netdev;
	union ibv_gid link_local;

	put_link_local(config, &link_local);
	for (unsigned i = 0; i < netdev->count; i++) {
		if (!memcmp(&netdev->addresses[i], &link_local, sizeof(link_local)) || number--)
			continue;
		*gid = netdev->addresses[i];
		return true;
	}
	return false;
}

/*
 * RoCE has each address as v1 and as v2 (drivers/infiniband/core/roce_gid_mgmt.c): first that of
 * the MAC, then those of the interface.
 */
static int get_roce_gid(const struct cx_config *config, unsigned index, struct cx_gid *gid)
{
	gid->type = index & 1 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	if (index >= 2)
		return find_address(config, index / 2 - 1, &gid->gid) ? 0 : -ENODATA;
	put_link_local(config, &gid->gid);
	return 0;
}

static int get_given_gid(const struct cx_config *config, unsigned index, struct cx_gid *gid)
{
	if (!(config->tables->gids_set & 1u << index))
		return -ENODATA;
	*gid = config->tables->gids[index];
	if (config->link == CX_LINK_IB)
		gid->type = IBV_GID_TYPE_IB;
	return 0;
}

int cx_gid_get(const struct cx_config *config, unsigned index, struct cx_gid *gid)
{
	if (index >= cx_gid_table_len(config))
		return -EINVAL;
	if (config->tables && config->tables->has_gids)
		return get_given_gid(config, index, gid);
	return config->link == CX_LINK_IB ? get_ib_gid(config, index, gid) :
					    get_roce_gid(config, index, gid);
}
