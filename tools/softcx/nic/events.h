/* SPDX-License-Identifier: BSD-2-Clause */
/* Events, as records in the FIFOs of event channels. Under the lock. */
#ifndef SOFTCX_NIC_EVENTS_H
#define SOFTCX_NIC_EVENTS_H

#include "state.h"

void cx_event_completion(struct cx_hca *hca, const struct cx_cq *cq);
void cx_event_async(struct cx_hca *hca, uint32_t channel, uint64_t cookie,
		    enum ibv_event_type type);
void cx_event_device(struct cx_hca *hca, enum ibv_event_type type); /* to every process */
void cx_event_end(struct cx_hca *hca);                              /* no event will come */

static inline void cx_event_qp(struct cx_hca *hca, const struct cx_qp *qp, enum ibv_event_type type)
{
	cx_event_async(hca, qp->attr.async_channel, qp->attr.cookie, type);
}

#endif
