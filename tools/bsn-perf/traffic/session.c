/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two processes of a test tell each other before and after, by examples/connect.c. */
#include <endian.h>
#include <errno.h>
#include <sys/socket.h>

#include "../../examples/connect.h"
#include "traffic.h"

#define HELLO_MAGIC   0x62736e00u /* "bsn" and the version, told before anything else */
#define HELLO_VERSION '9'

enum { SILENT_MS = 1000 }; /* a server that starts beside the client is found in less */

/* Then, where to find the side. */
struct introduction {
	struct bsn_address address;
	uint64_t addr, rkey;
};

static int timeout_of(const struct test *t)
{
	return (int)t->plan.timeout_ms;
}

static int swap(const struct test *t, const void *mine, void *theirs, size_t size)
{
	return connect_swap(t->peer, mine, theirs, size, timeout_of(t))
		       ? SIDE_FAILS("%s", connect_error())
		       : 0;
}

static int greet(const struct test *t)
{
	const uint32_t mine = htobe32(HELLO_MAGIC | HELLO_VERSION);
	uint32_t theirs;

	if (swap(t, &mine, &theirs, sizeof(mine)))
		return -1;
	if (theirs == mine)
		return 0;
	if ((be32toh(theirs) & ~0xffu) == HELLO_MAGIC)
		return SIDE_FAILS("the peer's bsn-perf is of another version: use the same at both "
				  "ends");
	return SIDE_FAILS("the peer is not a bsn-perf: use another --port");
}

/* Each number is told as 64 bits, big-endian. A plan that makes no sense is not from bsn-perf. */
static int agree(struct test *t)
{
	uint64_t mine[PLAN_NUMBERS], theirs[PLAN_NUMBERS];

	for (unsigned i = 0; i < PLAN_NUMBERS; i++)
		mine[i] = htobe64(t->plan.of[i]);
	if (greet(t) || swap(t, mine, theirs, sizeof(mine)))
		return -1;
	for (unsigned i = PLAN_TOLD; i < PLAN_NUMBERS && t->is_server; i++)
		t->plan.of[i] = be64toh(theirs[i]);
	return plan_is_sound(&t->plan)
		       ? 0
		       : SIDE_FAILS("the client asks for what this version does not know");
}

/* A server that is not there yet is waited for, and not in silence. */
static int look_for_server(struct test *t)
{
	const int first_ms = timeout_of(t) < SILENT_MS ? timeout_of(t) : SILENT_MS;
	const int left_ms = timeout_of(t) - first_ms;
	const int err = connect_to(t->host, t->service, first_ms, &t->peer);

	if ((err != -ECONNREFUSED && err != -ETIMEDOUT) || !left_ms)
		return err;
	complain_as(PERF_OK,
		    "no server at %s port %s yet: waiting for one for %g s (--timeout); it is this "
		    "command with the word server",
		    t->host, t->service, left_ms / 1e3);
	return connect_to(t->host, t->service, left_ms, &t->peer);
}

int session_open(struct test *t)
{
	if (t->is_server ? connect_meet(NULL, t->service, timeout_of(t), &t->peer)
			 : look_for_server(t))
		return SIDE_FAILS("%s", connect_error());
	return agree(t);
}

int session_connect(const struct test *t)
{
	struct side *side = t->near;
	int err = 0;

	for (unsigned qp = 0; qp < side->plan->qps && !err; qp++) {
		struct introduction theirs, mine = { .addr = htobe64(side->here.addr),
						     .rkey = htobe64(side->here.rkey) };

		bsn_qp_address(side->qp[qp], &mine.address);
		err = swap(t, &mine, &theirs, sizeof(mine));
		if (err)
			break;
		side->there = (struct bsn_remote){ be64toh(theirs.addr),
						   (uint32_t)be64toh(theirs.rkey) };
		err = side_connect(side, qp, &theirs.address);
	}
	return err;
}

int session_meet(const struct test *t)
{
	const char mine = '.';
	char theirs;

	return swap(t, &mine, &theirs, 1);
}

int session_tell(const struct test *t)
{
	const uint64_t mine = htobe64((uint64_t)t->rate);

	return send(t->peer, &mine, sizeof(mine), MSG_NOSIGNAL) == sizeof(mine)
		       ? 0
		       : SIDE_FAILS("the peer went away");
}

int session_hear(const struct test *t, double *rate)
{
	uint64_t theirs;

	if (!connect_wait(t->peer, timeout_of(t)) ||
	    recv(t->peer, &theirs, sizeof(theirs), MSG_WAITALL) != sizeof(theirs))
		return SIDE_FAILS("the peer went away");
	*rate = (double)be64toh(theirs);
	return 0;
}
