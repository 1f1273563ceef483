/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues of the columns of Bunsen, and their run functions, which are compiled twice
 * (bunsen.c): as the rest of this program, and with the library's symbols in place of the
 * inline code.
 */
#ifndef COST_BUNSEN_H
#define COST_BUNSEN_H

#include "cost.h"

struct bunsen_queue {
	struct bsn_cq *cq, *recv_cq;
	struct bsn_ep *ep; /* the first of @eps */
	struct bsn_rq *rq, *srq;
	struct bsn_mr *mr;
	struct bsn_prepared prepared;
	struct bsn_wr wr; /* of bsn_post() */
	struct bsn_sge data; /* of its inline data */
	struct cost_target target;
	uint32_t inline_bytes; /* of the row, where the compiler does not know them */
	struct bsn_ep *own_ep; /* of UD and XRC */
	struct bsn_qp **qps;
	struct bsn_ep **eps; /* of @qps, or of peers */
	struct bsn_rq **rqs; /* of @qps */
	unsigned qp_count, ep_count, turn, recv_turn;
	unsigned in_a_row; /* requests or receives of one QP until it is another's turn */
	struct bsn_dc_pool *pool;
	struct bsn_dct *dct;
	unsigned posted_bb; /* where requests have to be at some place of the ring */
	int xrc_file; /* which the domain is of */
	struct bsn_xrcd *xrcd;
	struct bsn_xrc_target *target_qp;
	struct bsn_device *plain; /* plain verbs, of */
	struct bunsen_queue *attached; /* what the QP is attached to */
};

/* What a program has at hand in its loop. */
struct bunsen_hot {
	struct bsn_ep *ep;
	struct bsn_ep *const *eps;
	struct bsn_rq *const *rqs;
	unsigned ep_count;
	struct bsn_rq *rq;
	struct bsn_cq *cq, *recv_cq;
	const void *data;
	const void *recv_data;
	uint32_t inline_bytes;
};

static inline struct bunsen_hot bunsen_hot_of(const struct bunsen_queue *q)
{
	return (struct bunsen_hot){ .ep = q->ep,
				    .eps = q->eps,
				    .rqs = q->rqs,
				    .ep_count = q->ep_count,
				    .rq = q->rq,
				    .cq = q->cq,
				    .recv_cq = q->recv_cq,
				    .data = q->target.data,
				    .recv_data = (const void *)(uintptr_t)q->target.recv[0].addr,
				    .inline_bytes = q->inline_bytes };
}

#define BUNSEN_NOT_APART "the device gives no QP numbers that are 16 apart"

/*
 * Makes the queue pairs of a kind; what fails in part is to be closed, too. 0 or -errno; -ENODATA:
 * BUNSEN_NOT_APART
 */
int bunsen_open(struct bunsen_queue *q, const struct cost_rig *rig, enum cost_queues kind);

/* To itself; UD is made ready. */
int bunsen_connect(struct bsn_qp *qp, enum bsn_qp_type type);

void bunsen_close(void *queue);

/* Waits for so many completions: 0, a status or -errno. */
int bunsen_drain(void *queue, bool of_recvs, unsigned count);

extern cost_run *const bunsen_runs[COST_CODE_COUNT];
extern cost_run *const bunsen_runs_symbol[COST_CODE_COUNT];

#endif
