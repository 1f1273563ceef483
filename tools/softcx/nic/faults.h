/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults that a plan injects; plan.c has the grammar. */
#ifndef SOFTCX_NIC_FAULTS_H
#define SOFTCX_NIC_FAULTS_H

#include "bsn_db.h"
#include "message.h"
#include "rq.h"

/* Whether the plan decides about the WQE, which then is not executed. */
bool cx_faults_apply(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		     struct cx_outcome *outcome);

/* What the plan decides about a receive that a message of this process has found at `qp`. */
enum cx_receive_fault { CX_RECEIVE_WELL, CX_RECEIVE_FAILS, CX_RECEIVE_WAITS, CX_RECEIVE_OVERTAKES };

/* CX_RECEIVE_FAILS: with these numbers. */
enum cx_receive_fault cx_faults_receive(struct cx_hca *hca, const struct cx_qp *qp,
					const struct cx_recv *recv, uint8_t *syndrome,
					uint8_t *vendor);

/* Whether the plan loses the doorbell. */
bool cx_faults_lose_doorbell(struct cx_hca *hca, const struct cx_qp *qp,
			     const struct bsn_sq_doorbell *bell);

/* How long the plan delays a message of rdma_cm; of the end that has this queue pair. */
uint64_t cx_faults_hold_us(struct cx_hca *hca, bool is_disconnect, uint32_t qpn);

#endif
