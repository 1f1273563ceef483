/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How two programs connect a queue pair by the RDMA connection manager, with deadlines: it finds
 * the device, its port and the path by IP address, and swaps the queue pairs' numbers. To be lifted
 * with connect.c, whose error text it uses.
 *
 *	server                          client
 *	connect_cm_listen()
 *	                                connect_cm_resolve()
 *	                                makes the QP on cm->id: rdma_create_qp()
 *	connect_cm_take()               connect_cm_connect()
 *	makes the QP on cm->id
 *	connect_cm_accept()
 *
 * After the last of them on either side the QP is up: bsn_device_attach() and bsn_qp_attach() come
 * right after rdma_create_qp(). All return 0 or -errno; connect_error() has the words. What fails
 * is closed by connect_cm_close(), at any stage.
 */
#ifndef CONNECT_CM_H
#define CONNECT_CM_H

#include <rdma/rdma_cma.h>

struct connect_cm {
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *id; /* of the connection; ->verbs is the device */
};

/* Listens on a port number, on all addresses. */
int connect_cm_listen(const char *port, struct connect_cm *cm);

/* The first client that asks: cm->id is there. */
int connect_cm_take(struct connect_cm *cm, int timeout_ms);
int connect_cm_accept(struct connect_cm *cm, int timeout_ms);

/* Finds the way to a host: cm->id is there. */
int connect_cm_resolve(const char *host, const char *port, int timeout_ms, struct connect_cm *cm);
int connect_cm_connect(struct connect_cm *cm, int timeout_ms);

/* Ends the connection, after which the QP is in error; and waits for the peer to do so. */
int connect_cm_end(struct connect_cm *cm);
int connect_cm_await_end(struct connect_cm *cm, int timeout_ms);

/* Destroys all of it, the QP on cm->id too. */
void connect_cm_close(struct connect_cm *cm);

#endif
