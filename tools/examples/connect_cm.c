/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects by librdmacm; waits for events up to a deadline. */
#include "connect_cm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "connect.h"

/* READs and atomics outstanding at once, as many as most devices have. */
enum { RD_ATOMIC = 16, RETRIES = 7, BACKLOG = 1 };

static int fail_at(const char *what, int error)
{
	return connect_fail(error, "rdma_cm: %s: %s", what, strerror(error));
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int open_channel(struct connect_cm *cm)
{
	int flags;

	*cm = (struct connect_cm){ .events = rdma_create_event_channel() };
	if (!cm->events)
		return fail_at("no event channel (is rdma_ucm loaded?)", errno);
	flags = fcntl(cm->events->fd, F_GETFL);
	if (flags < 0 || fcntl(cm->events->fd, F_SETFL, flags | O_NONBLOCK))
		return fail_at("event channel", errno);
	return 0;
}

/* The next event of any kind; the caller acknowledges it. */
static int next_event(struct connect_cm *cm, int64_t deadline, struct rdma_cm_event **event)
{
	struct pollfd pollfd = { .fd = cm->events->fd, .events = POLLIN };

	while (rdma_get_cm_event(cm->events, event)) {
		const int64_t left = deadline - now_ms();
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (left <= 0)
			return -ETIMEDOUT;
		poll(&pollfd, 1, (int)left);
	}
	return 0;
}

/* The errno of an unexpected event. */
static int error_of(const struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return ECONNREFUSED;
	if (event->status < 0)
		return -event->status;
	return event->event == RDMA_CM_EVENT_UNREACHABLE ? EHOSTUNREACH : ECONNABORTED;
}

/* Waits for the expected event; @id: its id, may be NULL. */
static int await(struct connect_cm *cm, enum rdma_cm_event_type due, int timeout_ms,
		 struct rdma_cm_id **id)
{
	struct rdma_cm_event *event;
	int err = next_event(cm, now_ms() + timeout_ms, &event);

	if (err)
		return fail_at(rdma_event_str(due), -err);
	if (event->event == due && id)
		*id = event->id;
	if (event->event != due)
		err = connect_fail(error_of(event), "rdma_cm: %s, status %d",
				   rdma_event_str(event->event), event->status);
	rdma_ack_cm_event(event);
	return err;
}

int connect_cm_listen(const char *port, struct connect_cm *cm)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *at;
	int err = open_channel(cm);

	if (err)
		return err;
	if (rdma_getaddrinfo(NULL, (char *)(uintptr_t)port, &hints, &at))
		return connect_fail(EHOSTUNREACH, "rdma_cm: %s is no port", port);
	if (rdma_create_id(cm->events, &cm->listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(cm->listener, at->ai_src_addr) || rdma_listen(cm->listener, BACKLOG))
		err = fail_at("listen", errno);
	rdma_freeaddrinfo(at);
	return err;
}

int connect_cm_take(struct connect_cm *cm, int timeout_ms)
{
	return await(cm, RDMA_CM_EVENT_CONNECT_REQUEST, timeout_ms, &cm->id);
}

static struct rdma_conn_param parameters(void)
{
	return (struct rdma_conn_param){ .responder_resources = RD_ATOMIC,
					 .initiator_depth = RD_ATOMIC,
					 .retry_count = RETRIES,
					 .rnr_retry_count = RETRIES };
}

int connect_cm_accept(struct connect_cm *cm, int timeout_ms)
{
	struct rdma_conn_param param = parameters();

	if (rdma_accept(cm->id, &param))
		return fail_at("accept", errno);
	return await(cm, RDMA_CM_EVENT_ESTABLISHED, timeout_ms, NULL);
}

int connect_cm_resolve(const char *host, const char *port, int timeout_ms, struct connect_cm *cm)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *at;
	int err = open_channel(cm);

	if (err)
		return err;
	if (rdma_getaddrinfo((char *)(uintptr_t)host, (char *)(uintptr_t)port, &hints, &at))
		return connect_fail(EHOSTUNREACH, "rdma_cm: no way to %s port %s", host, port);
	if (rdma_create_id(cm->events, &cm->id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(cm->id, NULL, at->ai_dst_addr, timeout_ms))
		err = fail_at(host, errno);
	rdma_freeaddrinfo(at);
	if (!err)
		err = await(cm, RDMA_CM_EVENT_ADDR_RESOLVED, timeout_ms, NULL);
	if (!err && rdma_resolve_route(cm->id, timeout_ms))
		err = fail_at(host, errno);
	return err ? err : await(cm, RDMA_CM_EVENT_ROUTE_RESOLVED, timeout_ms, NULL);
}

int connect_cm_connect(struct connect_cm *cm, int timeout_ms)
{
	struct rdma_conn_param param = parameters();

	if (rdma_connect(cm->id, &param))
		return fail_at("connect", errno);
	return await(cm, RDMA_CM_EVENT_ESTABLISHED, timeout_ms, NULL);
}

int connect_cm_end(struct connect_cm *cm)
{
	return rdma_disconnect(cm->id) ? fail_at("disconnect", errno) : 0;
}

int connect_cm_await_end(struct connect_cm *cm, int timeout_ms)
{
	return await(cm, RDMA_CM_EVENT_DISCONNECTED, timeout_ms, NULL);
}

void connect_cm_close(struct connect_cm *cm)
{
	if (cm->id && cm->id->qp)
		rdma_destroy_qp(cm->id);
	if (cm->id)
		rdma_destroy_id(cm->id);
	if (cm->listener)
		rdma_destroy_id(cm->listener);
	if (cm->events)
		rdma_destroy_event_channel(cm->events);
	*cm = (struct connect_cm){ .events = NULL };
}
