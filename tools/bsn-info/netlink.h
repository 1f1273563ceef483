/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An interface's flow control, which the kernel tells by netlink; read through libmnl. A recorded
 * host has the replies as files below its root: netlink/NETDEV.dcb and netlink/NETDEV.pause.
 */
#ifndef BSN_INFO_NETLINK_H
#define BSN_INFO_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

enum { PRIORITIES = 8 };

/* PFC by priority: whether it is on (lossless), and how many frames were sent and received. */
struct pfc {
	bool on[PRIORITIES];
	uint64_t sent[PRIORITIES], received[PRIORITIES];
};

/* Pause of all priorities at once (802.3x). */
struct pause {
	bool rx, tx, has_frames;
	uint64_t rx_frames, tx_frames;
};

/* Return 0 or -errno: -EOPNOTSUPP the driver has none, -EBADMSG the reply is malformed. */
int netlink_pfc(const char *root, const char *netdev, struct pfc *pfc);
int netlink_pause(const char *root, const char *netdev, struct pause *pause);

#endif
