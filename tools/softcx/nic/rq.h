/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive queues, a queue pair's own and shared ones. Under the lock. */
#ifndef SOFTCX_NIC_RQ_H
#define SOFTCX_NIC_RQ_H

#include "bsn_decode.h"
#include "state.h"

/* The receive WQE at the head of a queue, shared or a queue pair's own. */
struct cx_recv {
	uint32_t srqn; /* 0: the queue pair's own */
	struct bsn_recv_wqe wqe;
	uint16_t index;
	bool overtakes; /* @overtaken, which a later message takes */
	uint16_t overtaken;
};

int cx_recv_peek(struct cx_hca *hca, struct cx_qp *qp, struct cx_recv *recv); /* -EAGAIN: none */
void cx_recv_take(struct cx_hca *hca, struct cx_qp *qp, const struct cx_recv *recv);
/*
 * Of a shared queue: makes @recv the receive after it, if there is one. Returns 0; -errno: that
 * cannot be read.
 */
int cx_recv_overtake(struct cx_hca *hca, struct cx_recv *recv);
void cx_recv_flush(struct cx_hca *hca, struct cx_qp *qp);
void cx_recv_recover(struct cx_hca *hca); /* the holder of the lock has died */
void cx_srq_check_limit(struct cx_hca *hca, struct cx_srq *srq);

#endif
