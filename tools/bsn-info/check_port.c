/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of a port: its state, its width, its MTUs and its addresses. */
#include "check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bsn.h"

#define PORT "sys/class/infiniband/%s/ports/%u/"

static bool is_ethernet(struct check *check)
{
	char text[32];

	root_read(check->root, text, sizeof(text), PORT "link_layer", check->device, check->port);
	return !strcmp(text, "Ethernet");
}

/* "4: ACTIVE" */
void check_port_state(struct check *check)
{
	char state[64], physical[64];
	const int length = root_read(check->root, state, sizeof(state), PORT "state", check->device,
				     check->port);

	root_read(check->root, physical, sizeof(physical), PORT "phys_state", check->device,
		  check->port);
	if (length <= 0)
		skip_file(check, length, "state");
	else if (strncmp(state, "4:", 2))
		found(check, STATUS_WRONG,
		      is_ethernet(check)
			      ? "ip link set DEV up; then the cable and the switch"
			      : "the cable and the switch; INIT and ARMED wait for a subnet "
				"manager (opensm)",
		      "%s, physically %s", state, physical);
	else
		found(check, STATUS_OK, NULL, "%s, physically %s", state, physical);
}

/* "100 Gb/sec (2X HDR)" */
void check_link_width(struct check *check)
{
	char text[64];
	const int length =
		root_read(check->root, text, sizeof(text), PORT "rate", check->device, check->port);
	unsigned lanes;
	double rate;

	if (length <= 0 || sscanf(text, "%lf Gb/sec (%uX", &rate, &lanes) != 2)
		skip_file(check, length > 0 ? 0 : length, "rate");
	else if (!is_ethernet(check) && lanes < 4)
		found(check, STATUS_WRONG,
		      "check the cable: ibportstate, mlxlink; a split port (HDR100) has 2X on "
		      "purpose",
		      "%s: the link has lost %u of its 4 lanes", text, 4 - lanes);
	else
		found(check, STATUS_OK, NULL, "%s", text);
}

/* -- MTUs -------------------------------------------------------------------------------------- */

void check_mtu(struct check *check)
{
	struct ibv_port_attr attr;
	unsigned active, most;

	if (!check->live ||
	    ibv_query_port(bsn_device_info(check->live)->verbs, (uint8_t)check->port, &attr)) {
		found(check, STATUS_SKIPPED, NULL, "an open device is needed");
		return;
	}
	active = 128u << attr.active_mtu;
	most = 128u << attr.max_mtu;
	if (active < most)
		found(check, STATUS_WRONG,
		      is_ethernet(check)
			      ? "ip link set DEV mtu 4200 or more, at both ends and on the "
				"switches"
			      : "let the subnet manager set the partition's MTU: "
				"partitions.conf, mtu=5",
		      "%u B, but the port can have %u", active, most);
	else
		found(check, STATUS_OK, NULL, "%u B, the most that the port can have", active);
}

void check_netdev_mtu(struct check *check)
{
	enum { LEAST = 4200 };
	uint64_t mtu;

	if (!is_ethernet(check))
		found(check, STATUS_SKIPPED, NULL, "InfiniBand: the subnet manager sets the MTU");
	else if (!*check->netdev)
		found(check, STATUS_WRONG, "look for the interface: rdma link; ip link",
		      "the port has no network interface, so no addresses");
	else if (!root_number(check->root, &mtu, "sys/class/net/%s/mtu", check->netdev))
		skip_file(check, 0, "mtu of the interface");
	else if (mtu < LEAST)
		found(check, STATUS_WRONG,
		      "ip link set DEV mtu 4200 or more, at both ends and on the switches",
		      "%s has %" PRIu64 " B: too few for RoCE's 4096", check->netdev, mtu);
	else
		found(check, STATUS_OK, NULL, "%s has %" PRIu64 " B", check->netdev, mtu);
}

/* -- GIDs -------------------------------------------------------------------------------------- */

enum { GIDS_MAX = 256 };

void check_gids(struct check *check)
{
	unsigned v1 = 0, v2 = 0;
	char type[32];

	if (!is_ethernet(check)) {
		found(check, STATUS_SKIPPED, NULL,
		      "InfiniBand: the subnet manager gives the prefix");
		return;
	}
	for (unsigned i = 0; i < GIDS_MAX; i++) {
		root_read(check->root, type, sizeof(type), PORT "gid_attrs/types/%u", check->device,
			  check->port, i);
		v1 += !strcmp(type, "IB/RoCE v1");
		v2 += !strcmp(type, "RoCE v2");
	}
	if (!v2)
		found(check, STATUS_WRONG, "give the interface an address: ip address add", "%s",
		      v1 ? "RoCE v1 alone: it is not routed, and peers with v2 do not know it"
			 : "no GIDs");
	else
		found(check, STATUS_OK, NULL, "%u of RoCE v2, %u of v1", v2, v1);
}

/* The entry that the library takes. */
void check_default_gid(struct check *check)
{
	const struct bsn_device_info *info = check->live ? bsn_device_info(check->live) : NULL;
	char type[32], gid[64];

	if (!info || info->port != check->port) {
		found(check, STATUS_SKIPPED, NULL,
		      "an open device is needed; it says it of its first port");
		return;
	}
	root_read(check->root, type, sizeof(type), PORT "gid_attrs/types/%u", check->device,
		  check->port, info->gid_index);
	root_read(check->root, gid, sizeof(gid), PORT "gids/%u", check->device, check->port,
		  info->gid_index);
	if (!is_ethernet(check))
		found(check, STATUS_OK, NULL, "index %u, %s", info->gid_index, gid);
	else if (strcmp(type, "RoCE v2"))
		found(check, STATUS_WRONG,
		      "give the interface an address, or name another gid_index",
		      "index %u, %s, is of %s", info->gid_index, gid, *type ? type : "no version");
	else if (!strncmp(gid, "fe80:", 5))
		found(check, STATUS_NOTE, "give the interface an address of IPv4 or IPv6",
		      "index %u, %s, is link-local: routers do not forward it", info->gid_index,
		      gid);
	else
		found(check, STATUS_OK, NULL, "index %u, %s, RoCE v2", info->gid_index, gid);
}
