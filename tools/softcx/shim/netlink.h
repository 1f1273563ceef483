/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Netlink sockets of the RDMA subsystem. The program gets a real netlink socket, of the protocol
 * for messages between programs (NETLINK_USERSOCK), so libc's calls work. What it sends to the
 * kernel is caught here, and answered from a second socket.
 */
#ifndef SOFTCX_SHIM_NETLINK_H
#define SOFTCX_SHIM_NETLINK_H

#include <stddef.h>
#include <sys/types.h>

struct cx_hca;
struct netlink;

/* Creates both; @type is that of socket(). Returns the program's descriptor, or -errno. */
int netlink_open(int type, struct netlink **netlink);
void netlink_close(struct netlink *netlink);

/* What the program sent through its descriptor. Returns @size or -errno. */
ssize_t netlink_sent(struct netlink *netlink, struct cx_hca *hca, int fd, const void *datagram,
		     size_t size);

/* The program has read an answer: the next part of a list may come. */
void netlink_was_read(struct netlink *netlink, struct cx_hca *hca, int fd);

#endif
