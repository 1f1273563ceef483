/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two processes of a test tell each other before and after, by examples/connect.c. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../examples/connect.h"
#include "traffic.h"

/* After the word that says which version this is; big-endian. */
struct hello {
	uint32_t is_bw, op, path, depth;
	uint32_t is_cm, is_sweep, is_bidirectional, qps;
	uint32_t type, inline_max, mtu;
	uint8_t sl, traffic_class, hop_limit, timeout;
	uint64_t size, iters, warmup, duration_ns;
};

/* Then, where to find the side. */
struct introduction {
	struct bsn_address address;
	uint64_t addr;
	uint32_t rkey;
	uint32_t unused;
};

#define HELLO_MAGIC   0x62736e00u /* "bsn" and the version, told before anything else */
#define HELLO_VERSION '5'

static int complain_of_peer(void)
{
	complain("%s", connect_error());
	return -1;
}

static struct hello hello_of(const struct session_attr *attr, const struct plan *plan)
{
	return (struct hello){
		.is_cm = htobe32(attr->is_cm),
		.is_bw = htobe32(plan->is_bw),
		.is_sweep = htobe32(plan->is_sweep),
		.is_bidirectional = htobe32(plan->is_bidirectional),
		.qps = htobe32(plan->qps),
		.op = htobe32(plan->op),
		.path = htobe32(plan->path),
		.depth = htobe32(plan->depth),
		.size = htobe64(plan->size),
		.iters = htobe64(plan->iters),
		.warmup = htobe64(plan->warmup),
		.duration_ns = htobe64(plan->duration_ns),
		.type = htobe32(plan->type),
		.inline_max = htobe32(plan->inline_max),
		.mtu = htobe32(plan->connect.mtu),
		.sl = plan->connect.sl,
		.traffic_class = plan->connect.traffic_class,
		.hop_limit = plan->connect.hop_limit,
		.timeout = plan->connect.timeout,
	};
}

/* The client's plan, as the server follows it. A plan that makes no sense is not from bsn-perf. */
static int take_plan(const struct hello *hello, struct plan *plan)
{
	plan->is_bw = be32toh(hello->is_bw);
	plan->is_sweep = be32toh(hello->is_sweep);
	plan->is_bidirectional = be32toh(hello->is_bidirectional);
	plan->qps = be32toh(hello->qps);
	plan->op = be32toh(hello->op);
	plan->depth = be32toh(hello->depth);
	plan->size = be64toh(hello->size);
	plan->iters = be64toh(hello->iters);
	plan->warmup = be64toh(hello->warmup);
	plan->duration_ns = be64toh(hello->duration_ns);
	plan->type = be32toh(hello->type);
	plan->inline_max = be32toh(hello->inline_max);
	plan->connect = (struct bsn_connect_attr){ .mtu = be32toh(hello->mtu),
						   .sl = hello->sl,
						   .traffic_class = hello->traffic_class,
						   .hop_limit = hello->hop_limit,
						   .timeout = hello->timeout };
	if (plan->op < TRAFFIC_OPS && plan->size >= 1 && plan->size <= TRAFFIC_SIZE_MAX &&
	    plan->depth >= 1 && plan->depth <= TRAFFIC_DEPTH_MAX && plan->qps >= 1 &&
	    plan->qps <= TRAFFIC_QPS_MAX && plan->type <= BSN_QP_UD &&
	    (plan->type != BSN_QP_UD || plan->op == TRAFFIC_SEND) &&
	    plan->inline_max <= TRAFFIC_INLINE_MAX)
		return 0;
	complain("the client asks for what this version does not know");
	return -1;
}

static int greet(int peer, int timeout_ms)
{
	const uint32_t mine = htobe32(HELLO_MAGIC | HELLO_VERSION);
	uint32_t theirs;

	if (connect_swap(peer, &mine, &theirs, sizeof(mine), timeout_ms))
		return complain_of_peer();
	if (theirs == mine)
		return 0;
	if ((be32toh(theirs) & ~0xffu) == HELLO_MAGIC)
		complain("the peer's bsn-perf is of another version: use the same at both ends");
	else
		complain("the peer is not a bsn-perf: use another --port");
	return -1;
}

static int agree(const struct session_attr *attr, struct plan *plan, int peer)
{
	const struct hello mine = hello_of(attr, plan);
	struct hello theirs;

	if (greet(peer, attr->timeout_ms))
		return -1;
	if (connect_swap(peer, &mine, &theirs, sizeof(mine), attr->timeout_ms))
		return complain_of_peer();
	if ((be32toh(theirs.path) == TRAFFIC_IBV) != (plan->path == TRAFFIC_IBV)) {
		complain("--path ibv: both ends must use it, or neither");
		return -1;
	}
	if (be32toh(theirs.is_cm) != attr->is_cm) {
		complain("--cm: both ends must use it, or neither");
		return -1;
	}
	return attr->is_server ? take_plan(&theirs, plan) : 0;
}

static int meet(const struct session_attr *attr, int *peer)
{
	int listener, err;

	if (!attr->is_server)
		return connect_to(attr->host, attr->service, attr->timeout_ms, peer);
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
		return complain_of_peer();
	if (agree(attr, plan, fd)) {
		close(fd);
		return -1;
	}
	*peer = fd;
	return 0;
}

static int connect_qp(int peer, struct side *side, unsigned qp, int timeout_ms)
{
	struct introduction mine = { .addr = htobe64(side->here.addr),
				     .rkey = htobe32(side->here.rkey) };
	struct introduction theirs;

	side->ops->address(side, qp, &mine.address);
	if (connect_swap(peer, &mine, &theirs, sizeof(mine), timeout_ms))
		return complain_of_peer();
	side->there = (struct bsn_remote){ be64toh(theirs.addr), be32toh(theirs.rkey) };
	return side->ops->connect(side, qp, &theirs.address);
}

int session_connect(int peer, struct side *side, int timeout_ms)
{
	int err = 0;

	for (unsigned qp = 0; qp < side->plan.qps && !err; qp++)
		err = connect_qp(peer, side, qp, timeout_ms);
	return err;
}

int session_meet(int peer, int timeout_ms)
{
	const char mine = '.';
	char theirs;

	return connect_swap(peer, &mine, &theirs, 1, timeout_ms) ? complain_of_peer() : 0;
}

#define DONE '!'

int session_tell(int peer)
{
	const char done = DONE;

	if (send(peer, &done, 1, MSG_NOSIGNAL) == 1)
		return 0;
	complain("the peer went away");
	return -1;
}

int session_hear(int peer, int timeout_ms)
{
	char said;

	if (connect_wait(peer, timeout_ms) && recv(peer, &said, 1, 0) == 1 && said == DONE)
		return 0;
	complain("the peer went away");
	return -1;
}

int session_add_rates(int peer, double *rate, int timeout_ms)
{
	const uint64_t mine = htobe64((uint64_t)*rate);
	uint64_t theirs;

	if (connect_swap(peer, &mine, &theirs, sizeof(mine), timeout_ms))
		return complain_of_peer();
	*rate += (double)be64toh(theirs);
	return 0;
}
