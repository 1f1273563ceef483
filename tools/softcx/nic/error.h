/* SPDX-License-Identifier: BSD-2-Clause */
/* The error state of queue pairs. Under the lock. */
#ifndef SOFTCX_NIC_ERROR_H
#define SOFTCX_NIC_ERROR_H

#include "cq.h"
#include "state.h"

/* Moves it into the error state; outstanding work is flushed with this vendor syndrome. */
void cx_qp_fail(struct cx_hca *hca, struct cx_qp *qp, uint8_t flush_vendor);
void cx_qp_flush(struct cx_hca *hca, struct cx_qp *qp);
/* Writes a CQE; if its CQ is dead, the queue pair fails. */
void cx_complete(struct cx_hca *hca, struct cx_qp *qp, uint32_t cqn, const struct cx_completion *c);
/* The queue pair's CQ is dead. */
void cx_qp_lose_cq(struct cx_hca *hca, struct cx_qp *qp);

/* Whether it has receives of its own, which are flushed with it. */
bool cx_has_own_receives(const struct cx_qp *qp);

const char *cx_qp_state_name(enum ibv_qp_state state);

#endif
