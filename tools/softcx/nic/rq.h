/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive queues, a queue pair's own and shared ones. Under the lock. */
#ifndef SOFTCX_NIC_RQ_H
#define SOFTCX_NIC_RQ_H

#include "bsn_decode.h"
#include "state.h"

/* A receive WQE at the head of a queue: of a shared one, or of the queue pair's own. */
struct cx_recv {
	uint32_t srqn; /* 0: its own */
	struct bsn_recv_wqe wqe;
	uint16_t index;
	bool overtakes; /* @overtaken, which a later message will take */
	uint16_t overtaken;
};

int cx_recv_peek(struct cx_hca *hca, struct cx_qp *qp, struct cx_recv *recv); /* -EAGAIN: none */
void cx_recv_take(struct cx_hca *hca, struct cx_qp *qp, const struct cx_recv *recv);
/*
 * Of a shared queue: @recv becomes the receive after it, where there is one. 0, or -errno where it
 * cannot be read.
 */
int cx_recv_overtake(struct cx_hca *hca, struct cx_recv *recv);
void cx_recv_flush(struct cx_hca *hca, struct cx_qp *qp);
void cx_recv_recover(struct cx_hca *hca); /* the lock's holder has died */
void cx_srq_check_limit(struct cx_hca *hca, struct cx_srq *srq);

#endif
