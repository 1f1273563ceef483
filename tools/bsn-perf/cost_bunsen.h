/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues of the column of Bunsen, and its run functions, which are compiled three times
 * (cost_bunsen.c): as the rest of this program, for x86-64-v2, and with the library's symbols in
 * place of the inline code.
 */
#ifndef COST_BUNSEN_H
#define COST_BUNSEN_H

#include "cost.h"

struct bunsen_queue {
	struct bsn_cq *cq, *recv_cq;
	struct bsn_qp *qp;
	struct bsn_ep *ep;
	struct bsn_sq *sq;
	struct bsn_rq *rq, *srq;
	struct bsn_mr *mr;
	struct bsn_prepared prepared;
	struct cost_target target;
	uint32_t inline_bytes; /* of the row, where the compiler does not know them */
	bool owns_ep;
	struct bsn_qp **qps; /* where there are many; the first is @qp */
	struct bsn_ep **eps; /* of @qps; else NULL */
	struct bsn_rq **rqs; /* likewise */
	unsigned qp_count, turn, recv_turn;
	unsigned in_a_row; /* requests or receives of one QP until it is another's turn */
	struct bsn_xrcd *xrcd;
	struct bsn_xrc_target *target_qp;
	struct plain_qp *attached; /* what @qp is attached to */
};

/* What a program has at hand in its loop. */
struct bunsen_hot {
	struct bsn_ep *ep;
	struct bsn_ep *const *eps;
	struct bsn_rq *const *rqs;
	unsigned qp_count;
	struct bsn_sq *sq;
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
				    .qp_count = q->qp_count,
				    .sq = q->sq,
				    .rq = q->rq,
				    .cq = q->cq,
				    .recv_cq = q->recv_cq,
				    .data = q->target.data,
				    .recv_data = (const void *)(uintptr_t)q->target.recv[0].addr,
				    .inline_bytes = q->inline_bytes };
}

/* As in struct cost_column. */
int bunsen_open(const struct cost_rig *rig, enum cost_queues kind, void **queue,
		const char **why_not);
void bunsen_close(void *queue);
int bunsen_set_up(void *queue, const struct cost_shape *shape);
int bunsen_post(void *queue, enum cost_what what, unsigned count);
int bunsen_post_recv(void *queue, unsigned count);
int bunsen_drain(void *queue, unsigned count);
int bunsen_drain_recv(void *queue, unsigned count);

extern cost_run *const bunsen_runs[COST_ROW_COUNT];
extern cost_run *const bunsen_runs_v2[COST_ROW_COUNT];
extern cost_run *const bunsen_runs_symbol[COST_ROW_COUNT];

#endif
