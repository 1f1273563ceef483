/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults that a plan injects; its grammar is in faults.c. */
#ifndef SOFTCX_NIC_FAULTS_H
#define SOFTCX_NIC_FAULTS_H

#include "transport.h"

int cx_faults_parse(const char *text, struct cx_fault_plan **plan); /* 0, -EINVAL, -ENOMEM */
void cx_faults_free(struct cx_fault_plan *plan);

/* True: the plan has decided what becomes of the WQE, it is not to be executed. */
bool cx_faults_apply(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		     struct cx_outcome *outcome);

#endif
