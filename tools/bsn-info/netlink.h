/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel tells of an interface's flow control by netlink, through libmnl. Of a recorded
 * host the replies are files, as they came: netlink/NETDEV.dcb and netlink/NETDEV.pause below its
 * root.
 */
#ifndef BSN_INFO_NETLINK_H
#define BSN_INFO_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

enum { PRIORITIES = 8 };

/* By priority: is it lossless, and how often was it paused (frames of PFC). */
struct pfc {
	bool on[PRIORITIES];
	uint64_t sent[PRIORITIES], received[PRIORITIES];
};

/* All priorities at once (802.3x). */
struct pause {
	bool rx, tx, has_frames;
	uint64_t rx_frames, tx_frames;
};

/* 0 or -errno: -EOPNOTSUPP where the driver has none, -EBADMSG for a reply that is none. */
int netlink_pfc(const char *root, const char *netdev, struct pfc *pfc);
int netlink_pause(const char *root, const char *netdev, struct pause *pause);

#endif
