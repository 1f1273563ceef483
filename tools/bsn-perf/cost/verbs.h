/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs for libibverbs, with all that they need: those of both its columns, and of libmlx5's
 * layouts. Bunsen makes them, on plain verbs, and then leaves them alone; its QPs and CQs there
 * have a thread domain, if the device has any.
 */
#ifndef COST_VERBS_H
#define COST_VERBS_H

#include "bunsen.h"

struct verbs_queue {
	struct bunsen_queue made;
	struct ibv_cq_ex *cq, *recv_cq; /* extended where @qp_ex is there */
	struct ibv_srq *srq;
	struct ibv_qp **qps;
	unsigned qp_count;
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

/* As bunsen_open(). */
int verbs_open(struct verbs_queue *q, const struct cost_rig *rig, enum cost_queues kind);

void verbs_close(void *queue);

/* Waits for so many completions: 0, a status or -errno. */
int verbs_drain(void *queue, bool of_recvs, unsigned count);

#endif
