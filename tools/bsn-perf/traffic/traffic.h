/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lat and bw are made of. A side is one end of as many connections as the plan wants, and can
 * post the plan's operation on each in turn; there is one in each of two processes, or two in one.
 * Functions of a side return 0 or more, and -1 after a complaint.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "../perf.h"
#include "../stats.h"

enum traffic_op { TRAFFIC_WRITE, TRAFFIC_READ, TRAFFIC_SEND, TRAFFIC_ATOMIC, TRAFFIC_OPS };

extern const char *const traffic_op_names[TRAFFIC_OPS];
extern const char *const traffic_connections[]; /* by enum bsn_qp_type */

enum {
	TRAFFIC_SWEEP_FIRST = 2, /* as perftest's -a, and its last */
	TRAFFIC_SWEEP_LAST = 1 << 23,
	TRAFFIC_QPS_MAX = 1024,
	TRAFFIC_BURST = 16, /* posts before a doorbell, and completions at a poll */
};

/* -- plans (options.c) ------------------------------------------------------------------------- */

/*
 * What is asked for, as numbers. The first three are each end's own, of its device; all others the
 * server takes from the client. From op on they are no numbers to the user.
 * @depth: of each queue pair
 * @duration_ms: 0: @iters say how long
 * @inline_max: bytes of the longest messages that are copied into the WQE
 * @type: enum bsn_qp_type: RC, UC or UD
 * @is_bidirectional: of bw: both ends send
 * @is_sweep: of sizes that double from TRAFFIC_SWEEP_FIRST to @size
 */
#define PLAN_FIELDS(X)                                                                             \
	X(port) X(gid_index) X(timeout_ms) X(size) X(iters) X(depth) X(qps) X(duration_ms)         \
	X(inline_max) X(mtu) X(sl) X(traffic_class) X(hop_limit) X(qp_timeout) X(op) X(type)       \
	X(is_bw) X(is_bidirectional) X(is_sweep)
#define PLAN_INDEX(name) PLAN_##name,
#define PLAN_FIELD(name) uint64_t name;
enum { PLAN_FIELDS(PLAN_INDEX) PLAN_NUMBERS, PLAN_TOLD = PLAN_size };

struct plan {
	union {
		uint64_t of[PLAN_NUMBERS];
		struct {
			PLAN_FIELDS(PLAN_FIELD)
		};
	};
};

extern struct perf_number test_numbers[PLAN_NUMBERS];
extern const struct poptOption test_options[];

/* Whether the numbers are what options allow; those of a client may be anything. */
bool plan_is_sound(const struct plan *plan);

static inline uint64_t warmup_of(const struct plan *plan)
{
	return plan->iters / 10 < 1000 ? plan->iters / 10 : 1000;
}

/* Whether messages of so many bytes are copied into the WQE; and the longest ones that are. */
static inline bool has_inline(const struct plan *plan, uint64_t size)
{
	return size <= plan->inline_max && (plan->op == TRAFFIC_WRITE || plan->op == TRAFFIC_SEND);
}

static inline uint32_t longest_inline(const struct plan *plan)
{
	return has_inline(plan, plan->is_sweep ? 0 : plan->size) ? (uint32_t)plan->inline_max : 0;
}

/* -- sides (side.c) ---------------------------------------------------------------------------- */

/*
 * @memory: @length bytes: @out, what is sent from, and read into; then @in, what peers write to and
 * read from, where messages arrive
 * @here, @there: memory of @in for the peer; the peer's
 * @out: as long as a message of the plan, which may become shorter
 * @next: whose turn it is to send
 * @queued: of the @outstanding requests those of each queue pair
 */
struct side {
	const struct plan *plan;
	struct bsn_cq *cq, *recv_cq;
	struct bsn_qp *qp[TRAFFIC_QPS_MAX];
	struct bsn_ep *ep[TRAFFIC_QPS_MAX];
	struct bsn_mr *mr;
	uint8_t *memory;
	uint64_t length, outstanding;
	struct bsn_sge out, in;
	struct bsn_remote here, there;
	unsigned next;
	uint32_t queued[TRAFFIC_QPS_MAX];
};

/* The side keeps the plan. What fails in part is to be closed, too. */
int side_open(struct bsn_device *device, const struct plan *plan, struct side **side);
int side_connect(struct side *side, unsigned qp, const struct bsn_address *peer);
void side_close(struct side *side); /* NULL: nothing */

/* Posts up to @count, with at most @window outstanding, on the next queue pair: how many. */
int side_send(struct side *side, uint64_t count, uint32_t window);
/* How many requests are done that were not before; messages, whose receives are given back. */
int side_reap(struct side *side);
int side_receive(struct side *side);
int side_fill(struct side *side);

/* complain(), which returns -1. */
#define SIDE_FAILS(...) (complain(__VA_ARGS__), -1)

/* -- a test ------------------------------------------------------------------------------------ */

struct test {
	bool is_server, is_client; /* neither: both ends are in this process */
	const char *host;          /* of the server; NULL at it */
	const char *service;       /* TCP port */
	struct plan plan;
	struct bsn_device_attr device_attr;
	struct bsn_device *device;
	struct side *near, *far; /* @far NULL: in another process */
	int peer;                /* its socket, or -1 */
	bool has_receives;       /* posted before the first run */
	struct plan step;        /* what is measured at the moment: the plan of both sides */
	uint64_t ns;             /* how long what is measured took */
	uint64_t operations;     /* of bw: of this process */
	double rate;             /* of bw: a second's, of both directions */
	struct histogram histogram; /* of lat, in ns; at the server, which only answers, empty */
};

/* Whether the other end is another process. */
static inline bool has_peer(const struct test *test)
{
	return test->is_client || test->is_server;
}

/* @test keeps strings of the context (options.c). */
int test_read_options(poptContext context, bool is_bw, struct test *test);

/* Meets the peer; the server takes the client's plan. The others are for when it is met. */
int session_open(struct test *test);
/* Swaps addresses and connects the side's queue pairs. */
int session_connect(const struct test *test);
/* Both ends are there; none goes on before. */
int session_meet(const struct test *test);
/*
 * This end is done, at its rate, which the peer hears whenever it listens; and the answer, once
 * there is one.
 */
int session_tell(const struct test *test);
int session_hear(const struct test *test, double *rate);

int run_lat(struct test *test);
int run_bw(struct test *test);

#endif
