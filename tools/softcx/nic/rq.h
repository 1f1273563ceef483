/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive queues, a queue pair's own and shared ones. Under the lock. */
#ifndef SOFTCX_NIC_RQ_H
#define SOFTCX_NIC_RQ_H

#include "bsn_decode.h"
#include "state.h"

/* A receive WQE at the head of a queue. */
struct cx_recv {
	struct bsn_recv_wqe wqe;
	uint16_t index;
};

int cx_recv_peek(struct cx_hca *hca, struct cx_qp *qp, struct cx_recv *recv); /* -EAGAIN: none */
void cx_recv_take(struct cx_hca *hca, struct cx_qp *qp, const struct cx_recv *recv);
void cx_recv_flush(struct cx_hca *hca, struct cx_qp *qp);
void cx_srq_check_limit(struct cx_hca *hca, struct cx_srq *srq);

#endif
