/* SPDX-License-Identifier: BSD-2-Clause */
/* When queue pairs that wait try again. Under the lock. */
#ifndef SOFTCX_NIC_DEADLINE_H
#define SOFTCX_NIC_DEADLINE_H

#include "state.h"

/* From now; its owner wakes up for it. */
void cx_set_deadline(struct cx_hca *hca, struct cx_qp *qp, uint64_t ns);

#endif
