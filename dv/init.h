/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hot structures in their first state, over memory that the caller has: the provider's queues,
 * or those of a test. Private to the library.
 */
#ifndef DV_INIT_H
#define DV_INIT_H

#include "bsn_cq.h"
#include "bsn_decode.h"
#include "reap.h"
#include "rq.h"
#include "sq.h"

/* Zero, on cache lines of its own; for free(). */
void *bsn_hot_alloc(size_t bytes);

/** enum bsn_hidden - what the user is not shown of a WQE that the library signaled by itself */
enum bsn_hidden {
	BSN_HIDDEN_NOT,
	BSN_HIDDEN_SUCCESS, /* a request of the user's: its failure is shown */
	BSN_HIDDEN_ALWAYS,  /* a marker of the library's own */
	/*
	 * Was BSN_HIDDEN_SUCCESS, and its failure was shown. It hides nothing, and tells that the
	 * user did not signal the request.
	 */
	BSN_HIDDEN_FAILED,
};

/*
 * The id of requests that the library posts by itself: the UMRs of maps. It is the address of an
 * object of the library, so that no request of a user has it. The user is shown no completion of
 * such a request; if one fails first, the queue's first error tells.
 */
extern const char bsn_own_request;
#define BSN_OWN_ID ((uint64_t)(uintptr_t)&bsn_own_request)

/* What a send queue is made of. */
struct bsn_sq_init {
	uint8_t *ring;
	struct bsn_be32 *record; /* its word of the doorbell record */
	struct bsn_lane *lane;   /* its register may still be unknown, its lock not */
	uint32_t count_bb;       /* blocks in the ring, a power of two */
	uint32_t capacity_bb;    /* of those, what may be outstanding */
	uint32_t max_inline;     /* bytes; at least BSN_DS_INLINE_MAX are granted */
	uint32_t max_sge;
	uint32_t max_ds; /* of one WQE */
	uint32_t qpn;
	enum bsn_transport transport;
	enum bsn_store store;
	enum bsn_ce ce_quiet; /* of unsignaled work */
	int signal_every; /* unsignaled posts until the library signals; 0: chosen; < 0: never */
	bool has_peers;   /* its endpoints are struct bsn_peer */
	bool has_atomics; /* the device can */
	bool has_big_endian_results; /* those of atomics, in memory */
	bool gives_results;          /* what is read is handed out where it lies */
};

/* Unsignaled posts until the library signals one, of what was asked for; 0: it never does. */
uint8_t bsn_sq_signal_every(uint32_t capacity_bb, uint32_t longest_bb, int wanted);

/* With its ids and marks, empty; NULL: no memory. */
struct bsn_sq *bsn_sq_alloc(const struct bsn_sq_init *init);
void bsn_sq_free(struct bsn_sq *sq);

/*
 * Back to the first state after a reset, open or closed as before. The caller zeroes the doorbell
 * record.
 */
void bsn_sq_clear(struct bsn_sq *sq);

/* Posts are refused with @error and a text, until the queue is opened. It begins open. */
void bsn_sq_close(struct bsn_sq *sq, int error, const char *why);
void bsn_sq_open(struct bsn_sq *sq);

/*
 * The next WQE of a queue with one peer waits for what was posted before it: UMR, bind and
 * invalidate call for that.
 */
void bsn_sq_owe_fence(struct bsn_sq *sq, enum bsn_fence fence);

/*
 * Posts and publishes a NOP, whose completion the user is not shown: when it is polled, all before
 * it is done. 0; -EAGAIN the ring is full: the next completion will make room.
 */
int bsn_sq_post_marker(struct bsn_sq *sq);

/*
 * Whether the last appended request gives no completion if it succeeds, so that nothing tells when
 * it is done. Looks at all outstanding requests.
 */
bool bsn_sq_ends_quietly(struct bsn_sq *sq);

/* The opcodes that a queue takes, a bit each. */
uint64_t bsn_sq_ops_of(enum bsn_transport transport, bool has_atomics);

/* Whether the inline code may use the lane's register: known once the register is. */
void bsn_sq_resolve_mode(struct bsn_sq *sq);

/* What a completion queue is made of. */
struct bsn_cq_init {
	uint8_t *ring;
	struct bsn_be32 *record;
	uint8_t *arm_reg;
	uint32_t count;        /* CQEs in the ring, a power of two */
	uint32_t stride_bytes; /* 64, or 128 */
	uint32_t spare;        /* CQEs of the ring that will never be needed; 0: none known */
	uint32_t cqn;
};

/* The CQE at @next is number @ci; all before it are the device's again. */
void bsn_cq_begin_chunks(struct bsn_cq *cq, uint32_t ci, uint32_t spare);

/*
 * The route of receives whose number has no route: the XRC SRQ of the CQ, since its CQEs name
 * targets, also of other processes. No queue has this number, which is that of multicast.
 */
#define BSN_CQ_XRC BSN_QPN_MAX

/* route.c: the table alone; see bsn_cq_add(), bsn_cq_remove(). Without a route of @qpn, NULL. */
void bsn_cq_init_entries(struct bsn_cq *cq);
void bsn_cq_free_entries(struct bsn_cq *cq);
int bsn_cq_add_route(struct bsn_cq *cq, uint32_t qpn, struct bsn_route *route);
struct bsn_route *bsn_cq_remove_route(struct bsn_cq *cq, uint32_t qpn);

/* Every request goes the cold way until the next look for room. */
void bsn_sq_show_nothing(struct bsn_sq *sq);

/* The result of a poll that found nothing: 0, or why the queue died, as -errno and in words. */
int bsn_cq_end_poll(const struct bsn_cq *cq);

/*
 * stamped.c: bsn_cq_poll() that also writes each completion's timestamp, as the CQE has it; 0:
 * there is none. One whose data are in its CQE is the last of a poll.
 */
int bsn_cq_poll_stamped(struct bsn_cq *cq, struct bsn_completion *c, int n);

/* Makes a queue whose polls all go through the path. */
void bsn_cq_init_path(struct bsn_cq *cq, const struct bsn_cq_path *path);

/*
 * Also fills the ring with CQEs that are the device's. bsn_cq_fini() frees what bsn_cq_add() took.
 */
void bsn_cq_init(struct bsn_cq *cq, const struct bsn_cq_init *init);
void bsn_cq_fini(struct bsn_cq *cq);

#endif
