/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside rdma_cm. The caller of each function holds the fabric's lock, unless the function says
 * something else. A command of one process changes the ids of both ends at once; the other program
 * finds its event. Checks and their errnos follow drivers/infiniband/core/{ucma,cma,cm,addr}.c of
 * Linux 6.1.
 *
 *	commands, timers -> ids -> connect -> datagram -> link -> bind, attributes -> events
 *	                 -> resolve, query, options, groups; all -> files, table, addresses
 */
#ifndef SOFTCX_KERNEL_CM_H
#define SOFTCX_KERNEL_CM_H

#include <errno.h>

#include "../../nic/clock.h"
#include "../../nic/process.h"
#include "../../nic/state.h"
#include "../kernel.h"
#include "../rdmacm.h"

/* enum rdma_cm_event_type of rdma/rdma_cma.h */
enum cm_event {
	CM_ADDR_RESOLVED,
	CM_ADDR_ERROR,
	CM_ROUTE_RESOLVED,
	CM_ROUTE_ERROR,
	CM_CONNECT_REQUEST,
	CM_CONNECT_RESPONSE,
	CM_CONNECT_ERROR,
	CM_UNREACHABLE,
	CM_REJECTED,
	CM_ESTABLISHED,
	CM_DISCONNECTED,
	CM_DEVICE_REMOVAL,
	CM_MULTICAST_JOIN,
	CM_MULTICAST_ERROR,
	CM_ADDR_CHANGE,
	CM_TIMEWAIT_EXIT,
};

/* Why a connection is refused: enum ib_cm_rej_reason of rdma/ib_cm.h */
enum {
	CM_REJ_TIMEOUT = 4,
	CM_REJ_INVALID_SERVICE_ID = 8,
	CM_REJ_CONSUMER = 28,
	CM_REJ_VENDOR_OPTION = 35
};
/* Why a question for a datagram service is refused: enum ib_cm_sidr_status */
enum { CM_SIDR_UNSUPPORTED = 1, CM_SIDR_REJECT = 2 };

enum { CM_UDP_QKEY = 0x01234567, CM_MULTICAST_QPN = 0xffffff };

enum { FAMILY_IB = 27 }; /* AF_IB of linux/socket.h */

#define NS_PER_MS UINT64_C(1000000)

/* An open file of this process. */
struct rdmacm {
	uint32_t index;
	uint64_t serial; /* of the entry when this process opened the file */
};

struct cm_call {
	struct cx_hca *hca;
	struct cx_cm *cm;
	const struct uverbs_host *host;
	struct cx_cm_file *file;
	unsigned in_size, out_size; /* bytes that the program passed */
	/* The answer. */
	uint64_t response; /* where the answer goes */
	const void *answer;
	unsigned answer_size;
	struct cx_cm_id *made;
	union {
		struct rdma_ucm_create_id_resp create;
		struct rdma_ucm_destroy_id_resp destroy;
		struct rdma_ucm_migrate_resp migrate;
		struct rdma_ucm_event_resp event;
		struct rdma_ucm_query_route_resp route;
		struct rdma_ucm_query_addr_resp addr;
		struct ib_uverbs_qp_attr qp_attr;
		uint8_t path[sizeof(struct rdma_ucm_query_path_resp) +
			     sizeof(struct ib_path_rec_data)];
	} room;
};

/* -- files.c ----------------------------------------------------------------------------------- */

struct cx_cm_file *cm_file_find(struct cx_hca *hca, const struct rdmacm *file);
/* Runs a command that came through this descriptor. */
void cm_file_use(struct cx_hca *hca, struct cx_cm_file *file, int fd);
/* A file's program has something to read; during its own command: nothing is left. */
void cm_file_show(struct cx_cm_file *file);
void cm_file_quiet(struct cx_hca *hca, struct cx_cm_file *file);
/*
 * For sweepers: a socket that tells whether a file is still open, and the namespace of such names.
 */
int cm_socket(int flags);
bool cm_file_is_open(int socket, uint64_t serial);
uint64_t cm_net_namespace(void);

/* -- events.c ---------------------------------------------------------------------------------- */

/*
 * Adds an event of an id, with what comes with it (NULL: nothing). Before the program has accepted
 * a connection, it gets no event of it. Without room the event is lost.
 */
void cm_report(struct cx_hca *hca, struct cx_cm_id *id, enum cm_event event, int status,
	       const struct rdma_ucm_conn_param *conn);
void cm_report_datagram(struct cx_hca *hca, struct cx_cm_id *id, enum cm_event event, int status,
			const struct rdma_ucm_ud_param *ud);
/* Adds a connection request to a listener. False: there is no room. */
bool cm_report_request(struct cx_hca *hca, struct cx_cm_id *listener, struct cx_cm_id *made);
void cm_report_group(struct cx_hca *hca, struct cx_cm_group *group, enum cm_event event, int status,
		     const struct rdma_ucm_ud_param *ud);
/*
 * Removes an unread event of an id, and returns the id of the requested connection (NULL: none);
 * false when there are no more. Or removes all events of a group.
 */
bool cm_forget_event(struct cx_hca *hca, const struct cx_cm_id *id, struct cx_cm_id **made);
void cm_forget_group_events(struct cx_hca *hca, const struct cx_cm_group *group);
void cm_move_events(struct cx_hca *hca, const struct cx_cm_id *id, struct cx_cm_file *from,
		    struct cx_cm_file *to);
/* Takes the next event, and counts it as read. -EAGAIN: there is none. */
int cm_take_event(struct cx_hca *hca, struct cx_cm_file *file, struct rdma_ucm_event_resp *told);

/* -- table.c ----------------------------------------------------------------------------------- */

uint32_t cm_number(const struct cx_cm *cm, const struct cx_cm_id *id);          /* index + 1 */
struct cx_cm_id *cm_of_number(struct cx_cm *cm, uint32_t number);               /* NULL for 0 */
uint32_t cm_file_number(const struct cx_cm *cm, const struct cx_cm_file *file); /* index + 1 */
struct cx_cm_file *cm_file_of(struct cx_cm *cm, const struct cx_cm_id *id);
/* Finds a free entry. -ENOMEM: the table is full. */
int cm_id_new(struct cx_hca *hca, uint32_t file, uint16_t port_space, uint8_t qp_type,
	      struct cx_cm_id **id);
/*
 * Finds an id by the program's name for it. Returns 0, -ENOENT, or -EINVAL: it is another file's;
 * _with_device also returns -EINVAL if the id has no device.
 */
int cm_id_find(const struct cm_call *call, uint32_t name, struct cx_cm_id **id);
int cm_id_find_with_device(const struct cm_call *call, uint32_t name, struct cx_cm_id **id);
/* Process `keeper` looks at its ids then, or earlier. */
void cm_look_at(struct cx_hca *hca, uint32_t keeper, uint64_t deadline_ns);

/* -- ids.c ------------------------------------------------------------------------------------- */

/*
 * Destroys an id as the kernel does: the peer is told. Returns how many events the program had
 * read.
 */
uint32_t cm_id_destroy(struct cx_hca *hca, struct cx_cm_id *id);

/* -- addresses.c ------------------------------------------------------------------------------- */

unsigned cm_address_size(const union cx_cm_address *address); /* bytes; 0: unknown family */
/* Copies an address of at most @size bytes. -EINVAL: another size, or an unknown family. */
int cm_address_read(union cx_cm_address *to, const void *from, unsigned size);
bool cm_address_is_zero(const union cx_cm_address *address);
/* Whether it stands for all addresses; hardware treats loopback as such. */
bool cm_address_is_any(const struct cx_config *config, const union cx_cm_address *address);
bool cm_address_is_same(const union cx_cm_address *a, const union cx_cm_address *b);
bool cm_address_is_ours(const struct cx_config *config, const union cx_cm_address *address);
uint16_t cm_port_of(const union cx_cm_address *address); /* in host order */
void cm_port_set(union cx_cm_address *address, uint16_t port);
void cm_address_gid(const union cx_cm_address *address, uint8_t gid[16]); /* rdma_ip2gid() */
/* The index of a RoCE v2 GID; -1: it is not the port's. */
int cm_gid_index(const struct cx_config *config, const uint8_t gid[16]);

/* -- route.c ----------------------------------------------------------------------------------- */

struct cm_route {
	union cx_cm_address source;
	bool is_local;     /* the destination is this host */
	bool is_reachable; /* local, or by a gateway, or a group: no neighbour is asked for */
	uint8_t hop_limit;
};

/*
 * The host's route over that interface (0: over any). The lock is not needed. Returns 0 or
 * -errno.
 */
int cm_route(const union cx_cm_address *source, const union cx_cm_address *destination,
	     uint32_t interface, struct cm_route *route);

/* -- bind.c ------------------------------------------------------------------------------------ */

int cm_bind(struct cx_hca *hca, struct cx_cm_id *id, const union cx_cm_address *address);

/* The type of the peer of an initiator's queue pair. */
uint8_t cm_other_end(uint8_t qp_type);
/* The id that a request is for, or NULL; and whether anybody listens on that port. */
struct cx_cm_id *cm_find_listener(struct cx_hca *hca, const struct cx_cm_id *from,
				  bool *is_service);

/* -- link.c ------------------------------------------------------------------------------------ */

void cm_pair(struct cx_hca *hca, struct cx_cm_id *a, struct cx_cm_id *b);
void cm_part(struct cx_cm *cm, struct cx_cm_id *id);
/* Sets a deadline, and how many tries follow it. */
void cm_wait(struct cx_hca *hca, struct cx_cm_id *id, uint64_t ms, uint32_t tries);
void cm_set_link(struct cx_cm_id *id, enum cx_cm_link link);
/* Private data of a message are as long as the message has room for. */
void cm_put_data(struct rdma_ucm_conn_param *to, const void *data, unsigned size, unsigned room);
unsigned cm_request_room(const struct cx_cm_id *id);
/* Swaps the two ends: what one can do as initiator, the other must do as responder. */
void cm_cross(struct rdma_ucm_conn_param *to, const struct rdma_ucm_conn_param *from);
/* Creates the listener's end of a new connection. -ENOMEM: no room, or the backlog is full. */
int cm_listener_end(struct cx_hca *hca, struct cx_cm_id *listener, struct cx_cm_id *from,
		    struct cx_cm_id **made);

/* -- datagram.c -------------------------------------------------------------------------------- */

unsigned cm_sidr_room(const struct cx_cm_id *id); /* room for private data of a question, bytes */
void cm_sidr_ask(struct cx_hca *hca, struct cx_cm_id *id);
int cm_sidr_answer(struct cx_hca *hca, struct cx_cm_id *id, int status, const void *data,
		   uint8_t size);

/* -- connect.c --------------------------------------------------------------------------------- */

/* The deadline of an id has passed: it asks again, or gives up. */
void cm_link_expire(struct cx_hca *hca, struct cx_cm_id *id);
/* Disconnects an id that is destroyed. */
void cm_link_close(struct cx_hca *hca, struct cx_cm_id *id);

/* A path as in messages of the subnet manager: IBTA 15.2.5.16, PathRecord. */
struct cm_path_record {
	uint8_t service_id[8], dgid[16], sgid[16], dlid[2], slid[2];
	uint8_t flow_and_hop[4]; /* raw traffic 1 bit, reserved 3, flow label 20, hop limit 8 */
	uint8_t traffic_class, reversible_and_count;
	uint8_t pkey[2], qos_and_sl[2], mtu, rate, lifetime, preference;
	uint8_t reserved[6];
};

_Static_assert(sizeof(struct cm_path_record) == sizeof(((struct ib_path_rec_data *)0)->path_rec),
	       "IBTA");

/* -- attributes.c ------------------------------------------------------------------------------ */

void cm_address_handle(struct cx_hca *hca, const struct cx_cm_id *id, struct ib_uverbs_ah_attr *ah);
/* The route of an id was found: sets its path, and adds the event. */
void cm_find_route(struct cx_hca *hca, struct cx_cm_id *id);
/* The acknowledge timeout of a queue pair: 4.096 us * 2^n, the unit of lifetimes. */
uint8_t cm_ack_timeout(uint8_t lifetime);

/* -- groups.c ---------------------------------------------------------------------------------- */

void cm_leave_groups(struct cx_hca *hca, const struct cx_cm_id *id);

/* -- timers.c ---------------------------------------------------------------------------------- */

/* Adds events to this process's ids when a fault has removed the device. */
void cm_tell_removal(struct cx_hca *hca);

/* -- commands, each as rdma_user_cm.h names it ------------------------------------------------- */

typedef int cm_handler(struct cm_call *call, const void *command);
cm_handler cm_create_id, cm_destroy_id, cm_migrate_id;
cm_handler cm_bind_ip, cm_bind_address, cm_listen;
cm_handler cm_resolve_ip, cm_resolve_address, cm_resolve_route;
cm_handler cm_connect, cm_accept, cm_reject, cm_disconnect;
cm_handler cm_init_qp_attr, cm_query, cm_query_route, cm_set_option, cm_notify;
cm_handler cm_join_ip_group, cm_join_group, cm_leave_group;

/* Writes the answer to a command; the program may have room for less. */
static inline void cm_answer(struct cm_call *call, uint64_t response, const void *answer,
			     size_t size)
{
	call->response = response;
	call->answer = answer;
	call->answer_size = (unsigned)size;
}

#endif
