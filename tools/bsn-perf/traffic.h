/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lat and bw are made of. A side is one end of an RC connection that can post the operation of
 * the plan; there is one in each of two processes, or two in one. Functions of a side return 0 or
 * more, and -1 after a complaint.
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
	TRAFFIC_INLINE_MAX = 64, /* bytes; longer ones are fetched by the device */
	TRAFFIC_BURST = 16,      /* posts before a doorbell, and completions at a poll */
};

struct plan {
	bool is_bw;
	bool is_sweep; /* of sizes that double from TRAFFIC_SWEEP_FIRST to @size */
	enum traffic_op op;
	enum traffic_path path;
	uint64_t size, iters, warmup;
	uint32_t depth;
};

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
	void (*address)(struct side *side, struct bsn_address *address);
	int (*connect)(struct side *side, const struct bsn_address *peer);
	/* Posts @count requests and rings once; there is room. */
	int (*post)(struct side *side, unsigned count);
	int (*post_recv)(struct side *side, unsigned count);
	/* How many requests, or messages, are done that were not before. */
	int (*reap)(struct side *side);
	int (*reap_recv)(struct side *side);
	/* Requests are as the side's plan is now; receives stay. */
	void (*resize)(struct side *side);
};

struct side {
	const struct side_ops *ops;
	struct plan plan;
	struct side_memory memory;
	struct bsn_remote here;  /* of memory.in, for the peer */
	struct bsn_remote there; /* the peer's */
	bool has_inline; /* its queue takes inline data */
	bool is_inline;
	uint64_t outstanding;
};

/* Fills in what is known before there are queues. */
void side_init(struct side *side, const struct side_ops *ops, const struct plan *plan,
	       const struct side_memory *memory);

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

/* -- meeting the peer (session.c) ----------------------------------------------------------------- */

struct session_attr {
	bool is_server;
	bool is_cm;          /* the QPs are connected by rdma_cm */
	const char *host;    /* of the server; NULL at it */
	const char *service; /* TCP port */
	int timeout_ms;
};

/* Meets the peer; the server takes the client's plan but for the way it drives its own device. */
int session_open(const struct session_attr *attr, struct plan *plan, int *peer);

/* Swaps addresses and connects the side. */
int session_connect(int peer, struct side *side, int timeout_ms);

/* Both ends are there; none goes on before. */
int session_meet(int peer, int timeout_ms);

/* -- running (loops.c) ---------------------------------------------------------------------------- */

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

/* The time that plan.iters operations took. */
int run_bw(struct traffic *t, uint64_t *ns);

#endif
