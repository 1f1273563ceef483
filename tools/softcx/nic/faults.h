/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults that a plan injects; its grammar is in plan.c. */
#ifndef SOFTCX_NIC_FAULTS_H
#define SOFTCX_NIC_FAULTS_H

#include "bsn_db.h"
#include "message.h"

/* True: the plan has decided what becomes of the WQE, it is not to be executed. */
bool cx_faults_apply(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		     struct cx_outcome *outcome);

/* True: the receive that a message of this process has found at `qp` fails with these numbers. */
bool cx_faults_fail_receive(struct cx_hca *hca, const struct cx_qp *qp, uint16_t wqe_index,
			    uint8_t *syndrome, uint8_t *vendor);

/* True: the doorbell does not arrive. */
bool cx_faults_lose_doorbell(struct cx_hca *hca, const struct cx_qp *qp,
			     const struct bsn_sq_doorbell *bell);

#endif
