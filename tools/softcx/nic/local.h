/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations that no peer takes part in. Under the lock. */
#ifndef SOFTCX_NIC_LOCAL_H
#define SOFTCX_NIC_LOCAL_H

#include "message.h"

/* Whether the model does this operation, which is no message. */
bool cx_local_can(const struct bsn_wqe *wqe);
/* Does it; `out` says CX_ACKED or CX_LOCAL_ERROR. */
void cx_local_run(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		  struct cx_outcome *out);

#endif
