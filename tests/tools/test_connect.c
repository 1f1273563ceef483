/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection helper: connecting, swapping, and every wait that ends by a deadline or a lost
 * peer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../unit.h"
#include "examples/connect.h"

enum { LONG_MS = 10000, SHORT_MS = 50 };

struct pair {
	int listener, client, server;
	char port[8];
};

/* A free port, as the kernel chooses it. */
static int listen_anywhere(struct pair *p)
{
	struct sockaddr_storage at;
	socklen_t size = sizeof(at);

	if (connect_listen("0", &p->listener))
		return -1;
	if (getsockname(p->listener, (struct sockaddr *)&at, &size))
		return -1;
	snprintf(p->port, sizeof(p->port), "%u",
		 ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
						: ((struct sockaddr_in *)&at)->sin_port));
	return 0;
}

static int meet(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	if (!p || listen_anywhere(p) || connect_to("127.0.0.1", p->port, LONG_MS, &p->client) ||
	    connect_accept(p->listener, LONG_MS, &p->server))
		return -1;
	*state = p;
	return 0;
}

static int part(void **state)
{
	struct pair *p = *state;

	close(p->listener);
	if (p->client >= 0)
		close(p->client);
	close(p->server);
	free(p);
	return 0;
}

/* More than the sockets hold, so that both must send and take at once. */
enum { MUCH = 8 << 20 };

static void *swap_much(void *arg)
{
	struct pair *p = arg;
	uint8_t *mine = malloc(MUCH), *theirs = malloc(MUCH);
	int err = -ENOMEM;

	if (mine && theirs) {
		memset(mine, 0x5a, MUCH);
		err = connect_swap(p->server, mine, theirs, MUCH, LONG_MS);
		if (!err && (theirs[0] != 0xa5 || theirs[MUCH - 1] != 0xa5))
			err = -EIO;
	}
	free(mine);
	free(theirs);
	return (void *)(intptr_t)err;
}

static void a_swap_may_exceed_the_sockets(void **state)
{
	struct pair *p = *state;
	uint8_t *mine = malloc(MUCH), *theirs = malloc(MUCH);
	pthread_t other;
	void *result;

	assert_non_null(mine);
	assert_non_null(theirs);
	memset(mine, 0xa5, MUCH);
	assert_int_equal(pthread_create(&other, NULL, swap_much, p), 0);
	assert_int_equal(connect_swap(p->client, mine, theirs, MUCH, LONG_MS), 0);
	assert_int_equal(pthread_join(other, &result), 0);
	assert_int_equal((intptr_t)result, 0);
	assert_int_equal(theirs[0], 0x5a);
	assert_int_equal(theirs[MUCH - 1], 0x5a);
	free(mine);
	free(theirs);
}

static void a_silent_peer_is_given_up(void **state)
{
	struct pair *p = *state;
	char theirs;

	assert_int_equal(connect_swap(p->client, "x", &theirs, 1, SHORT_MS), -ETIMEDOUT);
	assert_string_equal(connect_error(), "the peer did not answer within 50 ms");
	assert_false(connect_has_gone(p->client));
}

static void a_lost_peer_is_noticed(void **state)
{
	struct pair *p = *state;
	char theirs;

	assert_false(connect_wait(p->server, SHORT_MS));
	close(p->client);
	p->client = -1;
	assert_true(connect_wait(p->server, LONG_MS));
	assert_true(connect_has_gone(p->server));
	assert_int_equal(connect_swap(p->server, "x", &theirs, 1, LONG_MS), -ECONNRESET);
	assert_string_equal(connect_error(), "the peer closed the connection");
}

static void nobody_comes(void **state)
{
	struct pair p;
	int peer = -7;

	assert_int_equal(listen_anywhere(&p), 0);
	assert_int_equal(connect_accept(p.listener, SHORT_MS, &peer), -ETIMEDOUT);
	assert_int_equal(peer, -7);
	assert_string_equal(connect_error(), "nobody connected within 50 ms");
	close(p.listener);
}

static void nobody_is_there(void **state)
{
	struct pair p;
	int peer = -7;

	assert_int_equal(listen_anywhere(&p), 0);
	close(p.listener);
	assert_int_equal(connect_to("127.0.0.1", p.port, SHORT_MS, &peer), -ECONNREFUSED);
	assert_int_equal(peer, -7);
	assert_non_null(strstr(connect_error(), p.port));
}

static void a_port_that_is_none(void **state)
{
	int fd = -7;

	assert_int_equal(connect_listen("no-such-port", &fd), -EHOSTUNREACH);
	assert_int_equal(connect_to("127.0.0.1", "no-such-port", SHORT_MS, &fd), -EHOSTUNREACH);
	assert_int_equal(fd, -7);
	assert_non_null(strstr(connect_error(), "no-such-port"));
}

static void a_port_that_is_taken(void **state)
{
	struct pair p;
	int fd = -7;

	assert_int_equal(listen_anywhere(&p), 0);
	assert_int_equal(connect_listen(p.port, &fd), -EADDRINUSE);
	assert_int_equal(fd, -7);
	close(p.listener);
}

#define AS_PAIR(function) cmocka_unit_test_setup_teardown(function, meet, part)

UNIT_MAIN(NULL, AS_PAIR(a_swap_may_exceed_the_sockets), AS_PAIR(a_silent_peer_is_given_up),
	  AS_PAIR(a_lost_peer_is_noticed), UNIT(nobody_comes), UNIT(nobody_is_there),
	  UNIT(a_port_that_is_none), UNIT(a_port_that_is_taken))
