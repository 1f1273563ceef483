/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lat and bw are made of. A side is one end of as many connections as the plan wants, and can
 * post the plan's operation on each in turn; there is one in each of two processes, or two in one.
 * Functions of a side return 0 or more, and -1 after a complaint.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "perf.h"

enum traffic_op { TRAFFIC_WRITE, TRAFFIC_READ, TRAFFIC_SEND, TRAFFIC_ATOMIC, TRAFFIC_OPS };
enum traffic_path { TRAFFIC_DV, TRAFFIC_VERBS, TRAFFIC_IBV, TRAFFIC_PATHS };

extern const char *const traffic_op_names[TRAFFIC_OPS];

enum {
	TRAFFIC_SIZE_MAX = 1 << 30,
	TRAFFIC_SWEEP_FIRST = 2, /* as perftest's -a, and its last */
	TRAFFIC_SWEEP_LAST = 1 << 23,
	TRAFFIC_DEPTH_MAX = 1 << 15,
	TRAFFIC_QPS_MAX = 1024,
	TRAFFIC_INLINE_DEFAULT = 64, /* bytes; longer ones are fetched by the device */
	TRAFFIC_INLINE_MAX = 1000,   /* at most, what a WQE of 1 KB has room for */
	TRAFFIC_BURST = 16,      /* posts before a doorbell, and completions at a poll */
};

struct plan {
	bool is_bw;
	bool is_bidirectional; /* of bw: both ends send */
	bool is_sweep;         /* of sizes that double from TRAFFIC_SWEEP_FIRST to @size */
	enum traffic_op op;
	enum traffic_path path;
	uint64_t size, iters, warmup;
	uint64_t duration_ns; /* 0: @iters say how long */
	uint32_t depth;       /* of each queue pair */
	uint32_t qps;
	enum bsn_qp_type type;           /* RC, UC or UD */
	uint32_t inline_max;             /* bytes of the longest messages that are copied into the WQE */
	struct bsn_connect_attr connect; /* but the GID, which each end has of its device */
};

/* A message and what comes before it into the receiver's buffer. */
static inline uint64_t room_of(const struct plan *plan)
{
	return plan->size + (plan->type == BSN_QP_UD ? BSN_GRH_SIZE : 0);
}

/*
 * The memory of a side: what is sent from, and read into; then, what peers write to and read from,
 * where messages arrive.
 */
struct side_memory {
	uint8_t *base;
	uint64_t length;
	uint8_t *out, *in;
};

struct side;

struct side_ops {
	void (*close)(struct side *side);
	/* Of the queue pair of that index. */
	void (*address)(struct side *side, unsigned qp, struct bsn_address *address);
	int (*connect)(struct side *side, unsigned qp, const struct bsn_address *peer);
	/* Posts @count requests on one, or receives, and rings once; there is room. */
	int (*post)(struct side *side, unsigned qp, unsigned count);
	int (*post_recv)(struct side *side, unsigned qp, unsigned count);
	/*
	 * Takes up to TRAFFIC_BURST requests, or messages, that are done, and says of which each
	 * was.
	 */
	int (*reap)(struct side *side, uint32_t *qps);
	int (*reap_recv)(struct side *side, uint32_t *qps);
	/* Requests are as the side's plan is now; receives stay. */
	void (*resize)(struct side *side);
};

struct side {
	const struct side_ops *ops;
	struct plan plan;
	struct side_memory memory;
	struct bsn_remote here;  /* of memory.in, for the peer */
	struct bsn_remote there; /* the peer's */
	bool has_inline;         /* its queue takes inline data */
	bool is_inline;
	uint64_t outstanding;
	unsigned next;                    /* whose turn it is to send */
	uint32_t queued[TRAFFIC_QPS_MAX]; /* of them what each has */
};

/* Fills in what is known before there are queues. */
void side_init(struct side *side, const struct side_ops *ops, const struct plan *plan,
	       const struct side_memory *memory);

/*
 * Posts up to @count, with at most @window outstanding, on the next queue pair. How many it posted.
 */
int side_send(struct side *side, uint64_t count, uint32_t window);

/* How many requests are done that were not before; messages, whose receives are given back. */
int side_reap(struct side *side);
int side_receive(struct side *side);

/* Receives, as many as there is room for. */
int side_fill(struct side *side);

/* From here on, messages are of this plan's size, which is not above the first plan's. */
void side_resize(struct side *side, const struct plan *plan);

/*
 * A request of a side failed: its status and syndromes (0: not known), @cause in words or NULL, and
 * what to do. Returns -1.
 */
int complain_of_failure(const struct side *side, enum ibv_wc_status status, unsigned syndrome,
			unsigned vendor_syndrome, const char *cause);

/* Both take the memory from @side->memory. */
int side_bunsen_open(struct bsn_device *device, const struct plan *plan,
		     const struct side_memory *memory, struct side **side);
/* On a queue pair that rdma_cm is to connect, made and attached here; @device is its device. */
struct rdma_cm_id;
int side_attached_open(struct bsn_device *device, struct rdma_cm_id *id, const struct plan *plan,
		       const struct side_memory *memory, struct side **side);
int side_ibv_open(struct bsn_device *device, const struct plan *plan,
		  const struct side_memory *memory, struct side **side);

/* -- options of perftest (perftest.c) ---------------------------------------------------------- */

/* A popt table of those that are not ours. */
struct poptOption *perftest_options(void);

/* As read_options(), where that table is included. */
int read_perftest_options(poptContext context, struct perf_number *numbers, unsigned count);

/* -- meeting the peer (session.c) -------------------------------------------------------------- */

struct session_attr {
	bool is_server;
	bool is_cm;          /* the QPs are connected by rdma_cm */
	const char *host;    /* of the server; NULL at it */
	const char *service; /* TCP port */
	int timeout_ms;
};

/* Meets the peer; the server takes the client's plan but for the way it drives its own device. */
int session_open(const struct session_attr *attr, struct plan *plan, int *peer);

/* Swaps addresses and connects the side's queue pairs. */
int session_connect(int peer, struct side *side, int timeout_ms);

/* Both ends are there; none goes on before. */
int session_meet(int peer, int timeout_ms);

/* This end is done, which the peer hears whenever it listens; and the answer, once there is one. */
int session_tell(int peer);
int session_hear(int peer, int timeout_ms);

/* Swaps what each end measured: 0, and the sum of both rates in @rate. */
int session_add_rates(int peer, double *rate, int timeout_ms);

/* -- running (loops.c) ------------------------------------------------------------------------- */

/* Who takes part: the far side too where it is in this process, else the peer's socket. */
struct traffic {
	struct bsn_device *device;
	struct side *near, *far; /* @far NULL: in another process */
	int peer;                /* its socket, or -1 */
	int timeout_ms;          /* without progress */
	bool is_server;
	bool has_receives; /* posted before the first run */
};

struct histogram;

/* Latencies in ns go to @histogram; at the server, which only answers, none. */
int run_lat(struct traffic *t, struct histogram *histogram);

/*
 * What bw found: operations of this process, how long they took, and a second's of both directions.
 */
struct throughput {
	uint64_t operations, ns;
	double rate;
};
int run_bw(struct traffic *t, struct throughput *throughput);

#endif
