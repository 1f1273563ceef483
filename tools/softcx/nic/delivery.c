/* SPDX-License-Identifier: BSD-2-Clause */
#include "delivery.h"

uint32_t cx_delivery_index(const struct cx_cq *cq)
{
	return cq->producer + cq->session.count;
}

/* The number is set last and cleared first: while it is there, the note is valid. */
static void set_qpn(struct cx_delivery *note, uint32_t qpn)
{
	__atomic_store_n(&note->qpn, qpn, __ATOMIC_RELEASE);
}

void cx_delivery_begin(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_srq *srq)
{
	struct cx_delivery *note = &hca->shared->delivery;

	*note = (struct cx_delivery){ .rq_head = qp->run.rq_head };
	if (srq) {
		note->srqn = srq->head.number;
		note->at = srq->at;
	}
	set_qpn(note, qp->head.number);
}

void cx_delivery_note_cq(struct cx_hca *hca, const struct cx_cq *cq)
{
	struct cx_delivery *note = &hca->shared->delivery;

	if (!note->qpn)
		return;
	note->index = cx_delivery_index(cq);
	__atomic_store_n(&note->cqn, cq->head.number, __ATOMIC_RELEASE);
}

void cx_delivery_end(struct cx_hca *hca)
{
	set_qpn(&hca->shared->delivery, 0);
}
