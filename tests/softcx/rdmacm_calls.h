/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands of rdma_cm, as programs write them. */
#ifndef TESTS_RDMACM_CALLS_H
#define TESTS_RDMACM_CALLS_H

#include "loopback.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>

#include <rdma/rdma_user_cm.h>

enum { PORT = 7100, ADDR_RESOLVED = 0, ROUTE_RESOLVED = 2, CONNECT_REQUEST = 4,
       CONNECT_RESPONSE = 5, ESTABLISHED = 9, DISCONNECTED = 10 };
enum { NO_ID = 4000, MANY = 8192, LONG_MS = 10000 };

union command {
	struct {
		struct rdma_ucm_cmd_hdr head;
		union {
			struct rdma_ucm_create_id create_id;
			struct rdma_ucm_destroy_id destroy_id;
			struct rdma_ucm_bind bind;
			struct rdma_ucm_resolve_addr resolve_addr;
			struct rdma_ucm_resolve_route resolve_route;
			struct rdma_ucm_query query;
			struct rdma_ucm_listen listen;
			struct rdma_ucm_connect connect;
			struct rdma_ucm_accept accept;
			struct rdma_ucm_disconnect disconnect;
			struct rdma_ucm_get_event get_event;
			struct rdma_ucm_init_qp_attr init_qp_attr;
			struct rdma_ucm_migrate_id migrate_id;
			struct rdma_ucm_set_option set_option;
			struct rdma_ucm_join_mcast join_mcast;
		};
	};
	char bytes[512];
};

static inline union command command_of(unsigned number, size_t in, size_t out)
{
	return (union command){ .head = {
					.cmd = number, .in = (uint16_t)in, .out = (uint16_t)out } };
}

#define COMMAND(NAME, member, out)                                                                 \
	command_of(RDMA_USER_CM_CMD_##NAME, sizeof(((union command *)0)->member), out)

/* 0, or the errno. */
static inline int tell(int fd, const union command *command)
{
	const size_t size = sizeof(command->head) + command->head.in;
	const ssize_t done = write(fd, command, size);

	if (done < 0)
		return errno;
	assert_int_equal(done, size);
	return 0;
}

static inline int open_channel(int flags)
{
	const int fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC | flags);

	assert_true(fd >= 0);
	return fd;
}

static inline uint32_t create_of(int fd, uint64_t uid, unsigned ps, unsigned qp_type)
{
	struct rdma_ucm_create_id_resp resp;
	union command c = COMMAND(CREATE_ID, create_id, sizeof(resp));

	c.create_id = (struct rdma_ucm_create_id){ .uid = uid,
						   .response = (uintptr_t)&resp,
						   .ps = (uint16_t)ps,
						   .qp_type = (uint8_t)qp_type };
	assert_int_equal(tell(fd, &c), 0);
	return resp.id;
}

static inline uint32_t create(int fd, uint64_t uid)
{
	return create_of(fd, uid, RDMA_PS_TCP, 0);
}

static inline uint32_t destroy(int fd, uint32_t id)
{
	struct rdma_ucm_destroy_id_resp resp;
	union command c = COMMAND(DESTROY_ID, destroy_id, sizeof(resp));

	c.destroy_id = (struct rdma_ucm_destroy_id){ .response = (uintptr_t)&resp, .id = id };
	assert_int_equal(tell(fd, &c), 0);
	return resp.events_reported;
}

static inline struct __kernel_sockaddr_storage loopback_at(int port)
{
	const struct sockaddr_in in = { .sin_family = AF_INET,
					.sin_port = htons((uint16_t)port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct __kernel_sockaddr_storage storage = { 0 };

	memcpy(&storage, &in, sizeof(in));
	return storage;
}

static inline int bind_to_address(int fd, uint32_t id, size_t size,
				  struct __kernel_sockaddr_storage address)
{
	union command c = COMMAND(BIND, bind, 0);

	c.bind = (struct rdma_ucm_bind){ .id = id, .addr_size = (uint16_t)size, .addr = address };
	return tell(fd, &c);
}

static inline int bind_to(int fd, uint32_t id, int port)
{
	return bind_to_address(fd, id, sizeof(struct sockaddr_in), loopback_at(port));
}

static inline int listen_at(int fd, uint32_t id)
{
	union command c = COMMAND(LISTEN, listen, 0);

	c.listen = (struct rdma_ucm_listen){ .id = id, .backlog = 8 };
	return tell(fd, &c);
}

static inline int resolve_address(int fd, uint32_t id, size_t size,
				  struct __kernel_sockaddr_storage address)
{
	union command c = COMMAND(RESOLVE_ADDR, resolve_addr, 0);

	c.resolve_addr = (struct rdma_ucm_resolve_addr){
		.id = id, .timeout_ms = LONG_MS, .dst_size = (uint16_t)size, .dst_addr = address
	};
	return tell(fd, &c);
}

static inline int resolve(int fd, uint32_t id)
{
	return resolve_address(fd, id, sizeof(struct sockaddr_in), loopback_at(PORT));
}

static inline int resolve_route(int fd, uint32_t id, uint32_t timeout_ms)
{
	union command c = COMMAND(RESOLVE_ROUTE, resolve_route, 0);

	c.resolve_route = (struct rdma_ucm_resolve_route){ .id = id, .timeout_ms = timeout_ms };
	return tell(fd, &c);
}

static inline int connect_id(int fd, uint32_t id)
{
	union command c = COMMAND(CONNECT, connect, 0);

	c.connect = (struct rdma_ucm_connect){ .conn_param.valid = 1, .id = id };
	return tell(fd, &c);
}

static inline int get_event(int fd, struct rdma_ucm_event_resp *event)
{
	union command c = COMMAND(GET_EVENT, get_event, sizeof(*event));

	c.get_event.response = (uintptr_t)event;
	return tell(fd, &c);
}

static inline void assert_event(int fd, uint32_t id, unsigned wanted)
{
	struct rdma_ucm_event_resp event;

	assert_int_equal(get_event(fd, &event), 0);
	assert_int_equal(event.event, wanted);
	assert_int_equal(event.id, id);
	assert_int_equal(event.status, 0);
}

static inline bool is_readable(int fd, int timeout_ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	return poll(&ready, 1, timeout_ms) == 1 && ready.revents & POLLIN;
}

/* On a fabric of its own, which other processes find. */
static inline int set_up_plan(enum cx_link link, const char *plan)
{
	char fabric[32];
	const struct cx_config config = { .generation = CX_GEN_CX6,
					  .link = link,
					  .fabric = fabric,
					  .interface = "lo",
					  .fault_plan = plan };

	snprintf(fabric, sizeof(fabric), "test-rdmacm-%d", getpid());
	return softcx_start(&config);
}

static inline int tear_down(void **state)
{
	return softcx_stop();
}

#endif
