/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs path: the same queues on plain ibv_*, for any device, and for QPs whose register is not
 * ours. Its hot structures show no room, so every inline call comes here.
 *
 * An ibv_wc has neither the opcode nor the length of a failed request, and providers differ in the
 * errno of a full queue. So a send queue here counts requests itself, and keeps what a completion
 * must say:
 *
 *	done ........ rung ........ head        counters of requests, modulo 2^32
 *	   handed in      appended
 *
 * libmlx5's QPs take requests by ibv_wr_*, which writes them into the provider's ring at once. The
 * first request after a ring calls ibv_wr_start(), and the next ring calls ibv_wr_complete().
 * Between the two the provider may hold the QP's lock, and only posts may touch its send side, so a
 * reset or destroy cancels before. Other QPs take requests by ibv_post_send(); until the ring they
 * wait in a ring of ibv_send_wr.
 *
 * If a provider refuses requests that are handed in, they are cancelled, so that they do not block
 * the queue: the ring or post returns the provider's error, and only requests that it took
 * complete. By ibv_wr_* it takes all or nothing. post() refuses before what this library knows to
 * be wrong.
 *
 * wr_id names the queue's life (a reset begins a new one), the side (send or receive), and the
 * request.
 *
 * A pool of DC initiators reads from each send ring what its peers posted. So the queue of an
 * initiator shows its requests: it has a ring with a block per request, which says its opcode and
 * bytes, and its hot structure has the indices that a queue of the direct path would have. Private
 * to engine/verbs/, and to engine/dc/ on plain verbs.
 */
#ifndef VERBS_H
#define VERBS_H

#include "../path.h"

/* -- wr_id ----------------------------------------------------------------------------------- */

/*
 * 63 receive   62:32 life   31:0 number of the request, or slot of the receive
 *
 * WR_LIFE is all but the number. Each life is used once, so a reused QPN gets no old completions.
 */
#define WR_RECV      (1ull << 63)
#define WR_LIFE      (UINT64_MAX << 32)
#define WR_NEXT_LIFE (1ull << 32)

/* send.c: a life for a send queue; a receive queue adds WR_RECV. */
uint64_t verbs_next_life(void);

static inline bool is_of_life(uint64_t wr_id, uint64_t life)
{
	return !((wr_id ^ life) & WR_LIFE);
}

/* -- the queues ------------------------------------------------------------------------------ */

/*
 * What the completion of a request will say. @what is BSN_WHAT(). Without BSN_F_SIGNALED the user
 * is told only of a failure, with KEPT_MARKER of nothing.
 */
struct kept {
	uint64_t id;
	void *user;
	uint32_t what;
};

#define KEPT_MARKER (1u << 8) /* in @what */

struct send_queue {
	struct dv_sq dv; /* first: a bsn_sq is its send_queue */
	struct ibv_qp *verbs;
	struct ibv_qp_ex *extended; /* NULL: requests go by ibv_post_send() */
	struct kept *kept;
	struct bsn_ep *last_ep;  /* the last one posted to, of many; NULL: it is gone */
	struct ibv_send_wr *wrs; /* for ibv_post_send() */
	struct ibv_sge *sges;    /* for ibv_post_send(): max_sge a request, at least one */
	uint8_t *inline_data;    /* max_inline a request; one request for ibv_wr_* */
	uint64_t life;
	uint64_t list_ops;   /* opcodes that it takes with SGEs, a bit each */
	uint64_t inline_ops; /* opcodes that it takes with inline data */
	uint32_t mask;       /* of @kept, @wrs and @dv.ring */
	uint32_t capacity;   /* requests that posts may have outstanding */
	uint32_t head;   /* the next request */
	uint32_t rung;   /* the first request that was not handed in */
	uint32_t quiet;  /* unsignaled posts until is_turn() looks */
	uint32_t always; /* BSN_F_SIGNALED of a queue that signals all, else 0 */
	uint32_t done __attribute__((aligned(64))); /* requests; release-stored by the poller */
};

/*
 * Receives of an SRQ may come back in any order, and by several pollers. So the numbers of free
 * slots are in a ring of their own: the poster takes one at @head, and pollers put them at @tail +
 * @capacity. An entry that no poller has filled yet is NO_SLOT.
 */
struct recv_queue {
	struct dv_rq dv; /* first */
	struct ibv_qp *qp;
	struct ibv_srq *srq; /* or this */
	uint64_t *ids;       /* one a slot */
	uint32_t *free;      /* numbers of slots */
	uint64_t life;
	uint32_t mask; /* of @free */
	uint32_t capacity;
	uint32_t head;                              /* receives that were posted */
	uint32_t tail __attribute__((aligned(64))); /* receives that were given back */
};

static inline struct send_queue *send_queue_of(struct bsn_sq *sq)
{
	return (struct send_queue *)sq;
}

static inline struct recv_queue *recv_queue_of(struct bsn_rq *rq)
{
	return (struct recv_queue *)rq;
}

static inline uint32_t power_of_two(uint32_t at_least)
{
	uint32_t size = 1;

	while (size < at_least)
		size *= 2;
	return size;
}

static inline uint32_t verbs_sq_outstanding(const struct send_queue *sq)
{
	return sq->head - __atomic_load_n(&sq->done, __ATOMIC_ACQUIRE); /* O6 */
}

static inline uint32_t verbs_rq_outstanding(const struct recv_queue *rq)
{
	return rq->head - __atomic_load_n(&rq->tail, __ATOMIC_ACQUIRE); /* O6 */
}

/* send.c; @attr: of the QP. */
int verbs_sq_make(struct bsn_qp *qp, const struct bsn_qp_attr *attr);
void verbs_sq_clear(struct send_queue *sq);
void verbs_sq_free(struct send_queue *sq);
int verbs_sq_ring(struct bsn_sq *sq);
/* Makes the queue show its requests, and keep room for a marker; -ENOMEM. */
int verbs_sq_show(struct send_queue *sq);
/* Does what bsn_sq_post_marker() does; the queue has requests outstanding. */
int verbs_sq_post_marker(struct send_queue *sq);
/* Cancels requests that were appended and not rung. */
void verbs_sq_cancel(struct send_queue *sq);

/* recv.c */
int verbs_rq_make(struct bsn_qp *qp);
void verbs_rq_clear(struct recv_queue *rq);
void verbs_rq_free(struct bsn_rq *rq);
int verbs_srq_make(struct srq_object *srq);
void verbs_srq_free(struct srq_object *srq);
uint32_t verbs_srq_free_slots(const struct srq_object *srq, uint32_t *slots, uint32_t max);

/* cq.c */
int verbs_cq_create(struct cq_object *cq, const struct bsn_cq_attr *attr);
int verbs_cq_make(struct cq_object *cq);
void verbs_cq_free(struct cq_object *cq);
bool verbs_cq_is_known(const struct cq_object *cq);
int verbs_cq_resize(struct cq_object *cq, uint32_t entries);
int verbs_cq_request(struct cq_object *cq, bool solicited_only);
int verbs_qp_leave(struct bsn_qp *qp);
int verbs_recvs_move(struct bsn_qp *qp, uint32_t number);
void verbs_recvs_drop(struct cq_object *cq, uint32_t number);
int verbs_srq_leave(struct srq_object *srq);

#endif
