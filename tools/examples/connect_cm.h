/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connects a queue pair of two programs by the RDMA connection manager, with deadlines. That finds
 * the device, its port and the path by IP address, and exchanges the queue pairs' numbers. Copy it
 * into your program together with connect.c, which has the error text.
 *
 *	server                          client
 *	connect_cm_listen()
 *	                                connect_cm_resolve()
 *	                                makes the QP on cm->id: rdma_create_qp()
 *	connect_cm_take()               connect_cm_connect()
 *	makes the QP on cm->id
 *	connect_cm_accept()
 *
 * Call bsn_device_attach() and bsn_qp_attach() right after rdma_create_qp(). The QP is connected
 * after the last call of either side. All return 0 or -errno; then connect_error() says why. After
 * a failure, at any stage, call connect_cm_close().
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

/* Waits for the first client that asks; then cm->id is set. */
int connect_cm_take(struct connect_cm *cm, int timeout_ms);
int connect_cm_accept(struct connect_cm *cm, int timeout_ms);

/* Resolves the path to a host; then cm->id is set. */
int connect_cm_resolve(const char *host, const char *port, int timeout_ms, struct connect_cm *cm);
int connect_cm_connect(struct connect_cm *cm, int timeout_ms);

/* Ends the connection, which moves the QP to error, and waits for the peer to do the same. */
int connect_cm_end(struct connect_cm *cm);
int connect_cm_await_end(struct connect_cm *cm, int timeout_ms);

/* Destroys everything, with the QP on cm->id. */
void connect_cm_close(struct connect_cm *cm);

#endif
