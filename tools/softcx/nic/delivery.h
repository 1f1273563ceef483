/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A note in the fabric of a message, from the moment it takes a receive until its CQE is written.
 * The process that delivers it may be killed. Then the next holder of the lock undoes or finishes
 * the delivery, so that each receive completes once and no event is lost. Under the lock.
 */
#ifndef SOFTCX_NIC_DELIVERY_H
#define SOFTCX_NIC_DELIVERY_H

#include "state.h"

/*
 * Call it before the receive is taken: from `srq`, or if that is NULL from the queue pair's own
 * queue.
 */
void cx_delivery_begin(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_srq *srq);
/* Call it before its CQE goes to `cq`; other CQEs are not noted. */
void cx_delivery_note_cq(struct cx_hca *hca, const struct cx_cq *cq);
void cx_delivery_end(struct cx_hca *hca);
uint32_t cx_delivery_index(const struct cx_cq *cq); /* of its next CQE, held back or not */

#endif
