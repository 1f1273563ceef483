/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connects two programs over TCP, by which they exchange what they need (addresses of queue pairs
 * and memory, keys). Copy connect.h and connect.c into your program; they need nothing else.
 *
 * Functions that wait have a deadline in milliseconds, after which they return -ETIMEDOUT. All
 * return 0 or -errno; then connect_error() says what failed.
 */
#ifndef CONNECT_H
#define CONNECT_H

#include <stdbool.h>
#include <stddef.h>

/* What the last failed call of this thread found. */
const char *connect_error(void);

/* connect_fail - sets that text, for other functions with such errors; returns -error */
int connect_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* connect_listen - a TCP socket that listens on @service, a port or its name, on all addresses */
int connect_listen(const char *service, int *listener);

/* connect_accept - accepts the first peer that connects */
int connect_accept(int listener, int timeout_ms, int *peer);

/* connect_to - connects to @host; tries until the deadline while nobody listens there */
int connect_to(const char *host, const char *service, int timeout_ms, int *peer);

/*
 * connect_meet - the way of a program that is either end: with a @host it connects there, without
 * (NULL) it listens for one peer, and then no more
 */
int connect_meet(const char *host, const char *service, int timeout_ms, int *peer);

/* connect_swap - sends @size bytes and receives as many; both ends call it with the same size */
int connect_swap(int peer, const void *mine, void *theirs, size_t size, int timeout_ms);

/* connect_wait - waits until the peer sends something, or closes; false: neither, in time */
bool connect_wait(int peer, int timeout_ms);

/* connect_has_gone - whether the peer closed its end; never waits, and reads nothing */
bool connect_has_gone(int peer);

#endif
