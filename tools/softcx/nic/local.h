/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations without a peer. Under the lock. */
#ifndef SOFTCX_NIC_LOCAL_H
#define SOFTCX_NIC_LOCAL_H

#include "message.h"

/* Whether the operation is a local one that the model has. */
bool cx_local_can(const struct bsn_wqe *wqe);
/* Executes it; `out` says CX_ACKED or CX_LOCAL_ERROR. */
void cx_local_run(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		  struct cx_outcome *out);

#endif
