/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Netlink sockets of the RDMA subsystem. The program gets a true netlink socket, of the protocol
 * that programs talk to each other by (NETLINK_USERSOCK), so that libc's calls do what they do;
 * what it sends to the kernel is taken here, and answered from a second socket.
 */
#ifndef SOFTCX_SHIM_NETLINK_H
#define SOFTCX_SHIM_NETLINK_H

#include <stddef.h>
#include <sys/types.h>

struct cx_hca;
struct netlink;

/* Makes both; @type as socket() has it. The program's descriptor, or -errno. */
int netlink_open(int type, struct netlink **netlink);
void netlink_close(struct netlink *netlink);

/* What the program sent by its descriptor: @size or -errno. */
ssize_t netlink_sent(struct netlink *netlink, struct cx_hca *hca, int fd, const void *datagram,
		     size_t size);

/* It has read an answer: the next part of a list may come. */
void netlink_was_read(struct netlink *netlink, struct cx_hca *hca, int fd);

#endif
