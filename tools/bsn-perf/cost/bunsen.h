/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues of the columns of Bunsen, and their run functions, which are compiled twice
 * (bunsen.c): as the rest of this program, and with the library's symbols in place of the
 * inline code. And those of the columns of libibverbs, and of libmlx5's layouts.
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
	struct bsn_qp *qps[COST_QPS_MAX];
	struct bsn_ep *eps[COST_QPS_MAX]; /* of @qps, or of peers */
	struct bsn_rq *rqs[COST_QPS_MAX]; /* of @qps */
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
int bunsen_connect(struct bsn_qp *qp, enum bsn_qp_type type);
void bunsen_close(void *queue);
/* Waits for so many completions: 0, a status or -errno. */
int bunsen_drain(void *queue, bool of_recvs, unsigned count);

extern cost_run *const bunsen_runs[COST_CODE_COUNT], *const bunsen_runs_symbol[COST_CODE_COUNT];

/*
 * What libibverbs is called with: Bunsen makes it, on plain verbs, and then leaves it alone; its
 * QPs and CQs there have a thread domain, if the device has any.
 */
struct verbs_queue {
	struct bunsen_queue made;
	struct ibv_cq_ex *cq, *recv_cq; /* extended where @qp_ex is there */
	struct ibv_srq *srq;
	struct ibv_qp **qps;
	struct ibv_qp *qp;       /* the first */
	struct ibv_qp_ex *qp_ex; /* the same; NULL: the provider has none */
	struct ibv_ah *ah;       /* UD: to itself */
	struct ibv_sge local[COST_SGES_MAX], data, recv[2];
	struct ibv_send_wr batch[COST_BATCH_MAX]; /* a chain, of the row's batch */
	struct ibv_recv_wr recvs[COST_BATCH_MAX]; /* a chain, likewise */
	unsigned turn, recv_turn;
	/* Of XRC; @srq and @recv_cq go with them. */
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_xrcd *xrcd;
	uint32_t srq_number;
};

enum { VERBS_QKEY = 0x11111111 }; /* Bunsen's, by default */

/* @rig: its device is then that of plain verbs */
int verbs_open(struct verbs_queue *q, struct cost_rig *rig, enum cost_queues kind);
void verbs_close(void *queue);
int verbs_drain(void *queue, bool of_recvs, unsigned count);

#endif
