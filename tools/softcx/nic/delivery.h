/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message that takes a receive until its CQE is written. Who delivers it may be killed meanwhile;
 * a note in the fabric tells the next holder of the lock what to undo or to finish, so that each
 * receive completes once, and no event is lost. Under the lock.
 */
#ifndef SOFTCX_NIC_DELIVERY_H
#define SOFTCX_NIC_DELIVERY_H

#include "state.h"

/* Before the receive is taken: of `srq`, or where it is NULL of the queue pair's own. */
void cx_delivery_begin(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_srq *srq);
/* Before its CQE goes to `cq`; other CQEs are not noted. */
void cx_delivery_note_cq(struct cx_hca *hca, const struct cx_cq *cq);
void cx_delivery_end(struct cx_hca *hca);
uint32_t cx_delivery_index(const struct cx_cq *cq); /* of its next CQE, which may be held back */

#endif
