/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network interface of a RoCE port. It is read once, when a fabric is created; all processes of
 * the fabric have its addresses.
 */
#ifndef SOFTCX_NIC_NETDEV_H
#define SOFTCX_NIC_NETDEV_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

enum { CX_NETDEV_NAME_SIZE = 16 }; /* IFNAMSIZ */

/* More do not fit into the port's table of GIDs, which has two for each. */
enum { CX_NETDEV_ADDRESSES = 7 };

struct cx_netdev {
	char name[CX_NETDEV_NAME_SIZE]; /* empty: there is none */
	uint32_t index;
	uint32_t mtu; /* bytes */
	bool is_loopback;
	uint8_t mac[6];
	uint32_t count;
	union ibv_gid addresses[CX_NETDEV_ADDRESSES]; /* IPv4 first, mapped into IPv6 */
};

/**
 * cx_netdev_read - look up an interface
 * @name: its name; empty: that of the default route if it is an Ethernet with an IPv4 address,
 *        else the first such one that is up
 * @netdev: what it is; without a name where none was asked for by name, and there is none
 *
 * Return: 0, -ENODEV: there is none of that name, or it is no Ethernet; -ENETDOWN: it is down; or
 * -errno.
 */
int cx_netdev_read(const char *name, struct cx_netdev *netdev);

#endif
