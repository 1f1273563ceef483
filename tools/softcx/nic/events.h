/* SPDX-License-Identifier: BSD-2-Clause */
/* Raises events, as records in the FIFOs of event channels. Under the lock. */
#ifndef SOFTCX_NIC_EVENTS_H
#define SOFTCX_NIC_EVENTS_H

#include "bsn_cmd.h"
#include "state.h"

void cx_event_completion(struct cx_hca *hca, const struct cx_cq *cq);
void cx_event_async(struct cx_hca *hca, uint32_t channel, uint64_t cookie,
		    enum ibv_event_type type);
void cx_event_device(struct cx_hca *hca, enum ibv_event_type type); /* to every process */
void cx_event_end(struct cx_hca *hca);                              /* no event will come */

void cx_event_qp(struct cx_hca *hca, const struct cx_qp *qp, enum ibv_event_type type);
/* An event that verbs do not have: only subscribers get it. */
void cx_event_firmware(struct cx_hca *hca, const struct cx_qp *qp, enum bsn_event_number event);
void cx_event_cq_error(struct cx_hca *hca, const struct cx_cq *cq);
void cx_event_srq_limit(struct cx_hca *hca, const struct cx_srq *srq);

#endif
