/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How two programs find each other and swap what they must know (addresses of queue pairs, of
 * memory, keys): over TCP. Lift connect.h and connect.c into your program; they need nothing else.
 *
 * Every function that waits has a deadline in milliseconds, after which it answers -ETIMEDOUT. All
 * return 0 or -errno; connect_error() then says in words what failed.
 */
#ifndef CONNECT_H
#define CONNECT_H

#include <stdbool.h>
#include <stddef.h>

/* What the last failed call of this thread found. */
const char *connect_error(void);

/* connect_fail - sets that text, for functions of the same manner; returns -error */
int connect_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* connect_listen - a TCP socket that listens on @service, a port or its name, on all addresses */
int connect_listen(const char *service, int *listener);

/* connect_accept - the first peer that comes */
int connect_accept(int listener, int timeout_ms, int *peer);

/* connect_to - a connection to @host; tries until the deadline, while nobody listens there */
int connect_to(const char *host, const char *service, int timeout_ms, int *peer);

/* connect_swap - sends @size bytes and takes as many; both ends call it with the same size */
int connect_swap(int peer, const void *mine, void *theirs, size_t size, int timeout_ms);

/* connect_wait - until the peer says something, or has gone; false: neither, within the time */
bool connect_wait(int peer, int timeout_ms);

/* connect_has_gone - whether the peer closed its end; never waits, takes nothing */
bool connect_has_gone(int peer);

#endif
