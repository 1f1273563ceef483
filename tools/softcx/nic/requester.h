/* SPDX-License-Identifier: BSD-2-Clause */
/* Executes send queues. */
#ifndef SOFTCX_NIC_REQUESTER_H
#define SOFTCX_NIC_REQUESTER_H

#include "state.h"

/* Executes published WQEs, at most so many (0: no limit). Returns how many are done. */
unsigned cx_requester_run(struct cx_hca *hca, struct cx_qp *qp, unsigned max_wqes);

#endif
