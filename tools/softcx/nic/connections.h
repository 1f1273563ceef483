/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What rdma_cm keeps in the fabric: open files of /dev/infiniband/rdma_cm, their ids and events.
 * kernel/cm/ has the code; here are only its tables, beside those of the device's objects. A free
 * entry is all zeroes.
 */
#ifndef SOFTCX_NIC_CONNECTIONS_H
#define SOFTCX_NIC_CONNECTIONS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include <rdma/rdma_user_cm.h>

#include "hca.h"

enum { CX_CM_FILES = 1024, CX_CM_IDS = 8192, CX_CM_EVENTS = 16384, CX_CM_GROUPS = 1024 };

/* struct sockaddr_ib, which the kernel's headers for programs do not have. */
struct cx_cm_sockaddr_ib {
	uint16_t family, pkey;
	uint32_t flow;
	uint8_t gid[16];
	uint64_t service, service_mask;
	uint64_t scope;
};

union cx_cm_address {
	struct sockaddr any;
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
	struct cx_cm_sockaddr_ib ib;
};

/* An open file; processes that fork() made may share it. */
struct cx_cm_file {
	uint64_t serial; /* 0: free */
	uint32_t keeper; /* slot of the process that used it last; that one handles its deadlines */
	uint32_t came;   /* a futex, which counts its events */
	uint32_t first, last; /* of its events, index + 1; 0: none */
};

/* States as in drivers/infiniband/core/cma.c: of the program's side ... */
enum cx_cm_state {
	CX_CM_IDLE,
	CX_CM_BOUND,
	CX_CM_ADDRESS_QUERY,
	CX_CM_ADDRESS_RESOLVED,
	CX_CM_ROUTE_QUERY,
	CX_CM_ROUTE_RESOLVED,
	CX_CM_LISTEN,
	CX_CM_CONNECT,
	CX_CM_DISCONNECT,
};

/* ... and as in cm.c: of the connection. */
enum cx_cm_link {
	CX_LINK_NONE, /* no connection yet */
	CX_LINK_OVER, /* refused, or never needs to be closed */
	CX_LINK_REQ_SENT,
	CX_LINK_REQ_RCVD,
	CX_LINK_REP_SENT,
	CX_LINK_REP_RCVD,
	CX_LINK_ESTABLISHED,
	CX_LINK_DREQ_SENT,
	CX_LINK_DREQ_RCVD,
	CX_LINK_TIMEWAIT,
	CX_LINK_SIDR_SENT,
	CX_LINK_SIDR_RCVD,
};

struct cx_cm_id {
	uint32_t file; /* index + 1; 0: free */
	uint64_t uid;  /* user data of its events; 0: the program has not accepted it yet */
	uint16_t port_space;
	uint8_t qp_type;
	uint8_t state; /* enum cx_cm_state */
	uint8_t link;  /* enum cx_cm_link */
	bool has_device, has_interface, has_port, has_route;
	bool is_removed; /* its device is gone, and its program was told */
	bool reuses, is_of_family, family_set;
	bool has_tos, has_ack_timeout;
	uint8_t tos, ack_timeout;
	uint8_t hop_limit;
	uint8_t lifetime; /* lifetime of packets on the path: 4.096 us * 2^n */
	uint32_t flow_label;
	uint16_t dlid; /* of InfiniBand */
	union cx_cm_address source, destination;
	uint32_t reported; /* events that the program has read */
	uint32_t backlog;
	uint64_t deadline_ns; /* when its wait ends; 0: it does not wait */
	uint32_t tries;       /* tries that are left */
	/* The connection: this end and the other. */
	uint32_t peer; /* index + 1; 0: none */
	uint32_t qpn, psn, qkey;
	bool srq;
	uint32_t peer_qpn, peer_psn;
	uint8_t responder_resources, initiator_depth, retries, rnr_retries;
	struct rdma_ucm_conn_param asked; /* sent again if nobody answers */
	struct rdma_ucm_ece ece;
};

struct cx_cm_event {
	uint32_t next; /* of its file, index + 1 */
	uint32_t id;   /* its id, index + 1; 0: the entry is free */
	uint32_t made; /* the id of a connection request, index + 1 */
	uint32_t group;
	struct rdma_ucm_event_resp told;
};

/* A group that an id has joined. */
struct cx_cm_group {
	uint32_t id; /* index + 1; 0: free */
	uint32_t reported;
	uint64_t uid;
	union cx_cm_address address;
};

struct cx_cm {
	uint32_t ids_used, events_used; /* entries from here on were never used */
	uint16_t last_port;             /* the last that was chosen for a program */
	uint64_t net_namespace; /* the namespace in which its files have names; 0: none yet */
	uint64_t deadlines_ns[CX_FABRIC_PROCS]; /* when each process must look, by slot; 0: never */
	struct cx_cm_file files[CX_CM_FILES];
	struct cx_cm_group groups[CX_CM_GROUPS];
	struct cx_cm_id ids[CX_CM_IDS];
	struct cx_cm_event events[CX_CM_EVENTS];
};

#endif
