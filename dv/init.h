/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hot structures as they are on the first day, over memory that somebody else found: the
 * provider's queues, or those of a test. Private to the library.
 */
#ifndef DV_INIT_H
#define DV_INIT_H

#include "bsn_cq.h"
#include "bsn_decode.h"

/* Zero, on cache lines of its own; for free(). */
void *bsn_hot_alloc(size_t bytes);

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
};

/* Unsignaled posts until the library signals one, of what was asked for; 0: it never does. */
uint8_t bsn_sq_signal_every(uint32_t capacity_bb, uint32_t longest_bb, int wanted);

/* With its ids and marks, empty; NULL: no memory. */
struct bsn_sq *bsn_sq_alloc(const struct bsn_sq_init *init);
void bsn_sq_free(struct bsn_sq *sq);

/* As on the first day again, after a reset; the doorbell record is the caller's to zero. */
void bsn_sq_clear(struct bsn_sq *sq);

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
	uint16_t first_free, last_free;
};

struct bsn_rq *bsn_rq_alloc(const struct bsn_rq_init *init);
void bsn_rq_free(struct bsn_rq *rq);
void bsn_rq_clear(struct bsn_rq *rq); /* of a QP's own */

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

/* Also fills the ring with CQEs that are nobody's. bsn_cq_fini() frees what bsn_cq_add() took. */
void bsn_cq_init(struct bsn_cq *cq, const struct bsn_cq_init *init);
void bsn_cq_fini(struct bsn_cq *cq);

#endif
