/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects two programs over TCP, with deadlines. */
#include "connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static _Thread_local char error_text[256];

int connect_fail(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error_text, sizeof(error_text), format, args);
	va_end(args);
	return -error;
}

const char *connect_error(void)
{
	return error_text;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Waits until the socket is ready. Returns 0, -ETIMEDOUT, or another -errno. */
static int wait_for(int fd, short events, int64_t deadline)
{
	struct pollfd pollfd = { .fd = fd, .events = events };

	for (;;) {
		const int64_t left = deadline - now_ms();
		const int n = poll(&pollfd, 1, left > 0 ? (int)left : 0);
		if (n > 0)
			return 0;
		if (n == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

/* Small messages must not wait for further ones. */
static void set_no_delay(int fd)
{
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static int look_up(const char *host, const char *service, int flags, struct addrinfo **found)
{
	const struct addrinfo hints = { .ai_flags = flags,
					.ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM };
	const int err = getaddrinfo(host, service, &hints, found);

	if (!err)
		return 0;
	return connect_fail(EHOSTUNREACH, "%s port %s: %s", host ? host : "this host", service,
			    gai_strerror(err));
}

static int listen_on(const struct addrinfo *at, int *listener)
{
	const int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
			      at->ai_protocol);
	const int on = 1, off = 0;
	int err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (at->ai_family == AF_INET6) /* IPv4 peers too */
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (!bind(fd, at->ai_addr, at->ai_addrlen) && !listen(fd, 1)) {
		*listener = fd;
		return 0;
	}
	err = -errno;
	close(fd);
	return err;
}

int connect_listen(const char *service, int *listener)
{
	struct addrinfo *list;
	int err = look_up(NULL, service, AI_PASSIVE, &list);

	if (err)
		return err;
	/* The address that takes both families comes first. */
	err = -EADDRNOTAVAIL;
	for (struct addrinfo *at = list; at && err; at = at->ai_next)
		if (at->ai_family == AF_INET6)
			err = listen_on(at, listener);
	for (struct addrinfo *at = list; at && err; at = at->ai_next)
		if (at->ai_family != AF_INET6)
			err = listen_on(at, listener);
	freeaddrinfo(list);
	return err ? connect_fail(-err, "cannot listen on port %s: %s", service, strerror(-err))
		   : 0;
}

int connect_accept(int listener, int timeout_ms, int *peer)
{
	const int64_t deadline = now_ms() + timeout_ms;
	int fd;

	do {
		const int err = wait_for(listener, POLLIN, deadline);
		if (err)
			return connect_fail(-err,
					    err == -ETIMEDOUT ? "nobody connected within %d ms"
							      : "cannot wait for a peer (%d ms)",
					    timeout_ms);
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	} while (fd < 0 && (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR));
	if (fd < 0)
		return connect_fail(errno, "cannot accept a peer: %s", strerror(errno));
	set_no_delay(fd);
	*peer = fd;
	return 0;
}

static int connect_at(const struct addrinfo *at, int64_t deadline, int *peer)
{
	const int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
			      at->ai_protocol);
	socklen_t size = sizeof(int);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, at->ai_addr, at->ai_addrlen) < 0) {
		err = errno == EINPROGRESS ? wait_for(fd, POLLOUT, deadline) : -errno;
		if (!err && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size))
			err = -err;
	}
	if (err) {
		close(fd);
		return err;
	}
	set_no_delay(fd);
	*peer = fd;
	return 0;
}

int connect_to(const char *host, const char *service, int timeout_ms, int *peer)
{
	const int64_t deadline = now_ms() + timeout_ms;
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	struct addrinfo *list;
	int err = look_up(host, service, 0, &list);

	if (err)
		return err;
	for (;;) {
		err = -EHOSTUNREACH;
		for (struct addrinfo *at = list; at && err; at = at->ai_next)
			err = connect_at(at, deadline, peer);
		if (err != -ECONNREFUSED || now_ms() >= deadline)
			break;
		nanosleep(&pause, NULL); /* the peer may still be starting */
	}
	freeaddrinfo(list);
	return err ? connect_fail(-err, "%s port %s: %s: %s", host, service, strerror(-err),
				  err == -ECONNREFUSED
					  ? "start the program there that listens"
					  : "see whether the host is up, and the way to it")
		   : 0;
}

int connect_meet(const char *host, const char *service, int timeout_ms, int *peer)
{
	int listener, err;

	if (host)
		return connect_to(host, service, timeout_ms, peer);
	err = connect_listen(service, &listener);
	if (err)
		return err;
	err = connect_accept(listener, timeout_ms, peer);
	close(listener);
	return err;
}

/* A step of an exchange: moves what can be moved now. */
static int move(int peer, const uint8_t *mine, size_t *sent, uint8_t *theirs, size_t *taken,
		size_t size)
{
	ssize_t n = 0;

	if (*sent < size)
		n = send(peer, mine + *sent, size - *sent, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return -errno;
	*sent += n > 0 ? (size_t)n : 0;
	if (*taken == size)
		return 0;
	n = recv(peer, theirs + *taken, size - *taken, 0);
	if (n == 0)
		return -ECONNRESET;
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return -errno;
	*taken += n > 0 ? (size_t)n : 0;
	return 0;
}

int connect_swap(int peer, const void *mine, void *theirs, size_t size, int timeout_ms)
{
	const int64_t deadline = now_ms() + timeout_ms;
	size_t sent = 0, taken = 0;
	int err = 0;

	while (!err && (sent < size || taken < size)) {
		err = wait_for(peer, sent < size ? POLLOUT | POLLIN : POLLIN, deadline);
		if (!err)
			err = move(peer, mine, &sent, theirs, &taken, size);
	}
	if (err == -ETIMEDOUT)
		return connect_fail(ETIMEDOUT, "the peer did not answer within %d ms", timeout_ms);
	if (err == -ECONNRESET || err == -EPIPE)
		return connect_fail(-err, "the peer closed the connection");
	return err ? connect_fail(-err, "the connection failed: %s", strerror(-err)) : 0;
}

bool connect_wait(int peer, int timeout_ms)
{
	return wait_for(peer, POLLIN, now_ms() + timeout_ms) != -ETIMEDOUT;
}

bool connect_has_gone(int peer)
{
	struct pollfd pollfd = { .fd = peer, .events = POLLRDHUP };

	return poll(&pollfd, 1, 0) > 0 && (pollfd.revents & (POLLRDHUP | POLLERR | POLLHUP));
}
