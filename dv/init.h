/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hot structures in their first state, over memory that the caller has: the provider's queues, or
 * those of a test. Private to the library.
 */
#ifndef DV_INIT_H
#define DV_INIT_H

#include <pthread.h>

#include "bsn_cq.h"
#include "bsn_decode.h"

/* Zero, on cache lines of its own; for free(). */
void *bsn_hot_alloc(size_t bytes);

/** enum bsn_hidden - what the user is not shown of a WQE that the library signaled by itself */
enum bsn_hidden {
	BSN_HIDDEN_NOT,
	BSN_HIDDEN_SUCCESS, /* a request of the user's: its failure is shown */
	BSN_HIDDEN_ALWAYS,  /* a marker of the library's own */
	BSN_HIDDEN_FAILED,  /* was BSN_HIDDEN_SUCCESS, and its failure was shown: hides nothing */
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
	int signal_every; /* unsignaled posts until the library signals one; 0: chosen; < 0: never */
	bool has_peers;   /* its endpoints are struct bsn_peer */
	bool has_atomics; /* the device can */
	bool has_big_endian_results; /* those of atomics, in memory */
	bool gives_results; /* what is read is handed out where it lies */
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

/* The next WQE waits for what was posted before it: UMR, bind and invalidate call for that. */
void bsn_sq_owe_fence(struct bsn_sq *sq, enum bsn_fence fence);

/*
 * Posts and publishes a NOP, whose completion the user is not shown: when it is polled, all before it
 * is done. 0; -EAGAIN the ring is full: the next completion will make room.
 */
int bsn_sq_post_marker(struct bsn_sq *sq);

/*
 * Whether the last appended request gives no completion if it succeeds, so that nothing tells when it
 * is done. Looks at all outstanding requests.
 */
bool bsn_sq_ends_quietly(struct bsn_sq *sq);

/* Of opcodes, a bit each. */
static inline bool is_one_of(uint64_t opcodes, unsigned opcode)
{
	return opcode < 64 && opcodes >> opcode & 1;
}

/* The opcodes that a queue takes, a bit each. */
uint64_t bsn_sq_ops_of(enum bsn_transport transport, bool has_atomics);

/*
 * rows.c: for a queue with a ring and one peer, or many; and for any queue, which look each time at its path and
 * whether it is closed.
 */
extern const struct bsn_sq_posts bsn_sq_posts_mlx5, bsn_sq_posts_peers, bsn_sq_posts_any;

/* For paths whose requests are not bytes: bsn_sq_post_prepared(). */
int bsn_sq_post_anew(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags);

/*
 * Whether the queue takes such a request at all, whether or not there is room for it: 0, or why not, with
 * its text. For paths whose requests are not WQEs; bsn_sq_post_sgl() tells the rest.
 */
int bsn_sq_judge(struct bsn_sq *sq, uint32_t what, const struct bsn_sge *sge, bool is_atomic);

/* Whether the inline code may use the lane's register: known once the register is. */
void bsn_sq_resolve_mode(struct bsn_sq *sq);

/* What a receive queue is made of. An SRQ's @first_free and @last_free are the ends of its list. */
struct bsn_rq_init {
	uint8_t *ring;
	struct bsn_be32 *record;
	uint32_t count;        /* WQEs in the ring, a power of two */
	uint32_t capacity;     /* of those, what may be outstanding; an SRQ has what its list has */
	uint32_t stride_bytes; /* a power of two */
	bool is_srq;
	bool is_on_demand;     /* SRQ: receives may meet page faults; see bsn_srq_repost() */
	uint16_t first_free, last_free; /* the list as the links in the ring say */
};

/* rq.c: functions of the two kinds for posts that are not inline; -EMSGSIZE of a list that is too long. */
extern const struct bsn_rq_path bsn_rq_own_path;
const struct bsn_rq_path *bsn_srq_path_of(const struct bsn_rq *rq);
void bsn_rq_set_path(struct bsn_rq *rq, const struct bsn_rq_path *path);

/* bsn_rq_path's @post_many where there is no quicker way: by @post_some until all are posted. */
int bsn_rq_post_all(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids, unsigned count);

/* For tests: SRQs that are made from here on post by vectors of so many bytes at the most. */
enum bsn_srq_way {
	BSN_SRQ_BY_WORDS,
	BSN_SRQ_BY_16, /* SSE4.1, NEON */
	BSN_SRQ_BY_32, /* AVX2 */
};
extern enum bsn_srq_way bsn_srq_widest;

#define BSN_SRQ_RUN 8 /* WQEs of an SRQ that are posted by one look at what is free, at the most */
int bsn_rq_refuse_long(void);

struct bsn_rq *bsn_rq_alloc(const struct bsn_rq_init *init);
void bsn_rq_free(struct bsn_rq *rq);
void bsn_rq_clear(struct bsn_rq *rq); /* of a QP's own */

/*
 * Of an SRQ that posts again what met an on-demand page fault. The kernel still reads such a WQE to
 * learn which pages are wanted, so the WQEs of the ring that nobody asked for are a distance between
 * giving one back and using it again (rdma-core mlx5 srq.c, the wait queue).
 */
struct bsn_srq_lock {
	pthread_spinlock_t lock;
	uint32_t taken;   /* entries of @free that were taken */
	uint32_t resting; /* entries that are never taken */
};

/*
 * Posts a receive that met an on-demand page fault again, after the others. On the poller's thread.
 * False: the SRQ was not made for that, and the user gets the completion.
 */
bool bsn_srq_repost(struct bsn_rq *rq, uint32_t wqe_index);

/* With several pollers, each takes a place of its own in the ring first, and fills it after. */
void bsn_srq_give_back_shared(struct bsn_rq *rq, uint32_t slot);

/* Gives the WQE of a completion back to a queue of either kind, and tells its id. On the poller's thread. */
BSN_ALWAYS_INLINE void bsn_rq_give_back(struct bsn_rq *rq, uint32_t wqe_index, uint64_t *id)
{
	const uint32_t slot = wqe_index & rq->poller_mask;

	*id = rq->poller_ids[slot];
	if (BSN_LIKELY(rq->poller_kind == BSN_RQ_SHARED))
		__atomic_store_n(&rq->free[rq->tail++ & rq->poller_mask], (uint16_t)slot,
				 __ATOMIC_RELEASE); /* O6 */
	else if (rq->poller_kind == BSN_RQ_OWN)
		bsn_rq_retire(rq, slot);
	else
		bsn_srq_give_back_shared(rq, slot); /* last: a jump, which saves no registers */
}

/* More than one CQ will complete WQEs of this SRQ. Before the second one does. */
void bsn_srq_share(struct bsn_rq *rq);

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

/* Keeps a queue's first failure. */
void bsn_route_keep_error(struct bsn_route *route, const struct bsn_completion *c);

/* The CQE at @next is number @ci; all before it are the device's again. */
void bsn_cq_begin_chunks(struct bsn_cq *cq, uint32_t ci, uint32_t spare);

/*
 * The route of receives whose number has no route: the XRC SRQ of the CQ, since its CQEs name targets,
 * also of other processes. No queue has this number, which is that of multicast.
 */
#define BSN_CQ_XRC BSN_QPN_MAX

/* route.c: the table alone; see bsn_cq_add(), bsn_cq_remove(). Without a route of @qpn, NULL. */
void bsn_cq_init_slots(struct bsn_cq *cq);
void bsn_cq_free_slots(struct bsn_cq *cq);
int bsn_cq_add_route(struct bsn_cq *cq, uint32_t qpn, struct bsn_route *route);
struct bsn_route *bsn_cq_remove_route(struct bsn_cq *cq, uint32_t qpn);

/* Every request goes the cold way until the next look for room. */
void bsn_sq_show_nothing(struct bsn_sq *sq);

/* The result of a poll that found nothing: 0, or why the queue died, as -errno and in words. */
int bsn_cq_end_poll(const struct bsn_cq *cq);

/*
 * stamped.c: bsn_cq_poll() that also writes each completion's timestamp, as the CQE has it; 0: there is
 * none. One whose data are in its CQE is the last of a poll.
 */
int bsn_cq_poll_stamped(struct bsn_cq *cq, struct bsn_completion *c, int n);

/* Makes a queue whose polls all go through the path. */
void bsn_cq_init_path(struct bsn_cq *cq, const struct bsn_cq_path *path);

/* Also fills the ring with CQEs that are the device's. bsn_cq_fini() frees what bsn_cq_add() took. */
void bsn_cq_init(struct bsn_cq *cq, const struct bsn_cq_init *init);
void bsn_cq_fini(struct bsn_cq *cq);

#endif
