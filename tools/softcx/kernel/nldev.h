/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The netlink family of RDMA devices (RDMA_NL_NLDEV of rdma/rdma_netlink.h), answered instead of
 * the kernel: devices, ports, character devices, and the objects of all processes of the fabric.
 */
#ifndef SOFTCX_NLDEV_H
#define SOFTCX_NLDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cx_hca;

/* Receives one datagram for the program. */
typedef void nldev_sink(void *context, const void *datagram, size_t size);

/* A list that a socket is reading: the program gets the next part after it has read one. */
struct nldev_dump {
	bool is_open;
	uint16_t type; /* its request's */
	uint32_t seq;  /* its request's sequence number */
	uint32_t index; /* where the next part begins */
};

/* Handles what a program with port number @port sent. -EINVAL: it is no message. */
int nldev_request(struct cx_hca *hca, uint32_t port, const void *datagram, size_t size,
		  struct nldev_dump *dump, nldev_sink *sink, void *context);

/* Sends the next part, if a list is open. */
void nldev_go_on(struct cx_hca *hca, uint32_t port, struct nldev_dump *dump, nldev_sink *sink,
		 void *context);

#endif
