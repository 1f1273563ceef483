/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Brings the hot structures into their first state, over rings of the caller: the provider's, or
 * those of a test. Private to the library.
 */
#ifndef DV_INIT_H
#define DV_INIT_H

#include "bsn_cq.h"
#include "bsn_decode.h"
#include "reap.h"
#include "rq.h"
#include "sq.h"

/* Zeroed memory on cache lines of its own; free() frees it. */
void *bsn_hot_alloc(size_t bytes);

/** enum bsn_hidden - what the user is not shown of a WQE that the library signaled by itself */
enum bsn_hidden {
	BSN_HIDDEN_NOT,
	BSN_HIDDEN_SUCCESS, /* the user's request: a failure is shown */
	BSN_HIDDEN_ALWAYS,  /* the library's own marker */
	/*
	 * It was BSN_HIDDEN_SUCCESS, and its failure was shown. It hides nothing; it tells that the
	 * user did not signal the request.
	 */
	BSN_HIDDEN_FAILED,
};

/*
 * The id of requests that the library posts by itself: the UMRs of maps. It is the address of a
 * library object, so no request of a user has it. The user is shown no completion of such a
 * request. If one of them is the first to fail, the queue's first error says so.
 */
extern const char bsn_own_request;
#define BSN_OWN_ID ((uint64_t)(uintptr_t)&bsn_own_request)

/* What a send queue is made of. */
struct bsn_sq_init {
	uint8_t *ring;
	struct bsn_be32 *record; /* the SQ's word of the doorbell record */
	struct bsn_lane *lane;   /* its lock and register are known, if it has them */
	uint32_t count_bb;       /* blocks in the ring, a power of two */
	uint32_t capacity_bb;    /* blocks that may be outstanding */
	uint32_t max_inline;     /* bytes; at least BSN_DS_INLINE_MAX are granted */
	uint32_t max_sge;
	uint32_t max_ds; /* of one WQE */
	uint32_t qpn;
	enum bsn_transport transport;
	enum bsn_store store;
	enum bsn_ce ce_quiet; /* of unsignaled WQEs */
	int signal_every; /* unsignaled posts until the library signals; 0: default; < 0: never */
	bool has_peers;   /* its endpoints are struct bsn_peer */
	bool has_atomics; /* the device can */
	bool has_big_endian_results; /* those of atomics, in memory */
	bool gives_results;          /* results of READs and atomics are handed out in place */
};

/* Unsignaled posts until the library signals one, at most @wanted; 0: it never does. */
uint8_t bsn_sq_signal_every(uint32_t capacity_bb, uint32_t longest_bb, int wanted);

/* Allocates an empty queue with its ids and marks; NULL: no memory. */
struct bsn_sq *bsn_sq_alloc(const struct bsn_sq_init *init);
void bsn_sq_free(struct bsn_sq *sq);

/*
 * Brings the queue back to its first state after a reset; it stays open or closed. The caller
 * zeroes the doorbell record.
 */
void bsn_sq_clear(struct bsn_sq *sq);

/*
 * Closes the queue: posts are refused with @error and @why until it is opened. A new queue is open.
 */
void bsn_sq_close(struct bsn_sq *sq, int error, const char *why);
void bsn_sq_open(struct bsn_sq *sq);

/*
 * Makes the next WQE of a queue with one peer wait for earlier ones, as it must after a UMR, a bind
 * or an invalidation.
 */
void bsn_sq_owe_fence(struct bsn_sq *sq, enum bsn_fence fence);

/*
 * Posts and publishes a NOP whose completion is hidden; when it is polled, all requests before it
 * are done. Return: 0; -EAGAIN the ring is full, and the next completion makes room.
 */
int bsn_sq_post_marker(struct bsn_sq *sq);

/*
 * Whether the last appended request is unsignaled: if it succeeds, no CQE tells. Reads all
 * outstanding requests.
 */
bool bsn_sq_ends_quietly(struct bsn_sq *sq);

/* The opcodes that a queue takes, one bit each. */
uint64_t bsn_sq_ops_of(enum bsn_transport transport, bool has_atomics);

/* What a completion queue is made of. */
struct bsn_cq_init {
	uint8_t *ring;
	struct bsn_be32 *record;
	uint8_t *arm_reg;
	uint32_t count;        /* CQEs in the ring, a power of two */
	uint32_t stride_bytes; /* 64, or 128 */
	uint32_t spare;        /* CQEs beyond those that may be outstanding; 0: none known */
	uint32_t cqn;
};

/*
 * Sets the format by which the CQ compresses, one of the basic layout: HASH, CSUM or CSUM_STRIDX.
 */
void bsn_cq_set_compression(struct bsn_cq *cq, enum bsn_mini_format format);

/* Begins a chunk at the queue's @next, which is CQE number @ci; all before it were given back. */
void bsn_cq_begin_chunks(struct bsn_cq *cq, uint32_t ci, uint32_t spare);

/*
 * The number of the CQ's XRC SRQ. CQEs of an XRC SRQ name targets, even of other processes, so a
 * receive whose number has no route is taken for this SRQ's. It is the number of multicast, so no
 * queue has it.
 */
#define BSN_CQ_XRC BSN_QPN_MAX

/* route.c: the table alone; bsn_cq_add() and bsn_cq_remove() do more. NULL: @qpn has no route. */
void bsn_cq_init_entries(struct bsn_cq *cq);
int bsn_cq_add_route(struct bsn_cq *cq, uint32_t qpn, struct bsn_route *route);
struct bsn_route *bsn_cq_remove_route(struct bsn_cq *cq, uint32_t qpn);

/* What a poll returns that found nothing: 0, or -errno, with its text, if the queue died. */
int bsn_cq_end_poll(const struct bsn_cq *cq);

/*
 * bsn_cq_poll() that also writes the timestamp of each completion, as the CQE has it; 0: there is
 * none. It polls one completion at a time, so other polls cost nothing more. A completion whose
 * data are in its CQE is the last of a poll.
 */
int bsn_cq_poll_stamped(struct bsn_cq *cq, struct bsn_completion *c, int n);

/* Initialises a queue whose polls all go through @path. */
void bsn_cq_init_path(struct bsn_cq *cq, const struct bsn_cq_path *path);

/*
 * Initialises a queue, and fills its ring with CQEs that belong to the device. bsn_cq_fini() frees
 * what bsn_cq_add() allocated.
 */
void bsn_cq_init(struct bsn_cq *cq, const struct bsn_cq_init *init);
void bsn_cq_fini(struct bsn_cq *cq);

#endif
