/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two processes of a test tell each other before and after, by examples/connect.c. */
#include <endian.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../examples/connect.h"
#include "traffic.h"

#define HELLO_MAGIC   0x62736e00u /* "bsn" and the version, told before anything else */
#define HELLO_VERSION '7'

enum { SILENT_MS = 1000 }; /* a server that starts beside the client is found in less */

/* Of a plan, what the server takes from the client; each is told as 64 bits, big-endian. */
#define PLAN_FIELDS(X)                                                                             \
	X(is_bw) X(is_sweep) X(is_bidirectional) X(qps) X(op) X(depth) X(size) X(iters) X(warmup)  \
	X(duration_ns) X(type) X(inline_max) X(connect.mtu) X(connect.sl) X(connect.traffic_class) \
	X(connect.hop_limit) X(connect.timeout)
#define ONE(field) +1
enum { WORDS = PLAN_FIELDS(ONE) };

/* Then, where to find the side. */
struct introduction {
	struct bsn_address address;
	uint64_t addr, rkey;
};

static int swap(int peer, const void *mine, void *theirs, size_t size, int timeout_ms)
{
	return connect_swap(peer, mine, theirs, size, timeout_ms)
		       ? SIDE_FAILS("%s", connect_error())
		       : 0;
}

static void tell_plan(const struct plan *plan, uint64_t *words)
{
#define TELL(field) *words++ = htobe64((uint64_t)plan->field);
	PLAN_FIELDS(TELL)
}

/* A plan that makes no sense is not from bsn-perf. */
static int take_plan(const uint64_t *words, struct plan *plan)
{
#define TAKE(field) plan->field = (__typeof__(plan->field))be64toh(*words++);
	PLAN_FIELDS(TAKE)
	if (plan->op < TRAFFIC_OPS && plan->size >= 1 && plan->size <= TRAFFIC_SIZE_MAX &&
	    plan->depth >= 1 && plan->depth <= TRAFFIC_DEPTH_MAX && plan->qps >= 1 &&
	    plan->qps <= TRAFFIC_QPS_MAX && plan->type <= BSN_QP_UD &&
	    (plan->type != BSN_QP_UD || plan->op == TRAFFIC_SEND) &&
	    plan->inline_max <= TRAFFIC_INLINE_MAX)
		return 0;
	return SIDE_FAILS("the client asks for what this version does not know");
}

static int greet(int peer, int timeout_ms)
{
	const uint32_t mine = htobe32(HELLO_MAGIC | HELLO_VERSION);
	uint32_t theirs;

	if (swap(peer, &mine, &theirs, sizeof(mine), timeout_ms))
		return -1;
	if (theirs == mine)
		return 0;
	if ((be32toh(theirs) & ~0xffu) == HELLO_MAGIC)
		return SIDE_FAILS("the peer's bsn-perf is of another version: use the same at both "
				  "ends");
	return SIDE_FAILS("the peer is not a bsn-perf: use another --port");
}

static int agree(const struct session_attr *attr, struct plan *plan, int peer)
{
	uint64_t mine[WORDS], theirs[WORDS];

	tell_plan(plan, mine);
	if (greet(peer, attr->timeout_ms) ||
	    swap(peer, mine, theirs, sizeof(mine), attr->timeout_ms))
		return -1;
	return attr->is_server ? take_plan(theirs, plan) : 0;
}

/* A server that is not there yet is waited for, and not in silence. */
static int look_for_server(const struct session_attr *attr, int *peer)
{
	const int first_ms = attr->timeout_ms < SILENT_MS ? attr->timeout_ms : SILENT_MS;
	const int left_ms = attr->timeout_ms - first_ms;
	const int err = connect_to(attr->host, attr->service, first_ms, peer);

	if ((err != -ECONNREFUSED && err != -ETIMEDOUT) || !left_ms)
		return err;
	complain_as(PERF_OK,
		    "no server at %s port %s yet: waiting for one for %d s (--timeout); it is this "
		    "command with the word server",
		    attr->host, attr->service, left_ms / 1000);
	return connect_to(attr->host, attr->service, left_ms, peer);
}

static int meet(const struct session_attr *attr, int *peer)
{
	int listener, err;

	if (!attr->is_server)
		return look_for_server(attr, peer);
	err = connect_listen(attr->service, &listener);
	if (err)
		return err;
	err = connect_accept(listener, attr->timeout_ms, peer);
	close(listener);
	return err;
}

int session_open(const struct session_attr *attr, struct plan *plan, int *peer)
{
	int fd;

	if (meet(attr, &fd))
		return SIDE_FAILS("%s", connect_error());
	if (agree(attr, plan, fd)) {
		close(fd);
		return -1;
	}
	*peer = fd;
	return 0;
}

int session_connect(int peer, struct side *side, int timeout_ms)
{
	int err = 0;

	for (unsigned qp = 0; qp < side->plan.qps && !err; qp++) {
		struct introduction theirs, mine = { .addr = htobe64(side->here.addr),
						     .rkey = htobe64(side->here.rkey) };

		bsn_qp_address(side->qp[qp], &mine.address);
		err = swap(peer, &mine, &theirs, sizeof(mine), timeout_ms);
		if (err)
			break;
		side->there = (struct bsn_remote){ be64toh(theirs.addr),
						   (uint32_t)be64toh(theirs.rkey) };
		err = side_connect(side, qp, &theirs.address);
	}
	return err;
}

int session_meet(int peer, int timeout_ms)
{
	const char mine = '.';
	char theirs;

	return swap(peer, &mine, &theirs, 1, timeout_ms);
}

#define DONE '!'

int session_tell(int peer)
{
	const char done = DONE;

	return send(peer, &done, 1, MSG_NOSIGNAL) == 1 ? 0 : SIDE_FAILS("the peer went away");
}

int session_hear(int peer, int timeout_ms)
{
	char said;

	if (connect_wait(peer, timeout_ms) && recv(peer, &said, 1, 0) == 1 && said == DONE)
		return 0;
	return SIDE_FAILS("the peer went away");
}

int session_add_rates(int peer, double *rate, int timeout_ms)
{
	const uint64_t mine = htobe64((uint64_t)*rate);
	uint64_t theirs;

	if (swap(peer, &mine, &theirs, sizeof(mine), timeout_ms))
		return -1;
	*rate += (double)be64toh(theirs);
	return 0;
}
