/* SPDX-License-Identifier: BSD-2-Clause */
/* UMR: a WQE that changes an mkey. Under the lock. */
#ifndef SOFTCX_NIC_UMR_H
#define SOFTCX_NIC_UMR_H

#include "message.h"

/* A UMR that fails frees the mkey. On a ConnectX the mkey's state is then unknown. */
void cx_umr_run(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		struct cx_outcome *out);

#endif
