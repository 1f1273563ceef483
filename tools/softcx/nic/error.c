/* SPDX-License-Identifier: BSD-2-Clause */
/* Flushes outstanding work in the error state. */
#include "error.h"

#include "bsn_syndrome.h"
#include "deadline.h"
#include "events.h"
#include "rq.h"
#include "sq.h"
#include "tables.h"

const char *cx_qp_state_name(enum ibv_qp_state state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return (unsigned)state < sizeof(names) / sizeof(names[0]) ? names[state] : "no state";
}

bool cx_has_own_receives(const struct cx_qp *qp)
{
	return qp->attr.rq_count && !qp->attr.srqn;
}

/*
 * Posting a receive rings no doorbell, but in the error state it must be flushed. So the model
 * looks at the record repeatedly, at intervals that grow from 1 ms to a quarter of a second.
 */
static void plan_look(struct cx_hca *hca, struct cx_qp *qp, bool in_vain)
{
	enum { FIRST_NS = 1000000, MOST_LOOKS = 8 };

	if (!hca->shared->alarms[qp->head.owner].keeps_time || !cx_has_own_receives(qp))
		return;
	qp->run.looks = !in_vain ? 0 : qp->run.looks < MOST_LOOKS ? qp->run.looks + 1 : MOST_LOOKS;
	cx_set_deadline(hca, qp->head.owner, &qp->run.deadline_ns,
			(uint64_t)FIRST_NS << qp->run.looks);
}

void cx_qp_flush(struct cx_hca *hca, struct cx_qp *qp)
{
	const uint16_t before = qp->run.rq_head;

	cx_sq_flush(hca, qp);
	cx_recv_flush(hca, qp);
	plan_look(hca, qp, qp->run.rq_head == before);
}

void cx_qp_fail(struct cx_hca *hca, struct cx_qp *qp, uint8_t flush_vendor)
{
	if (qp->mod.qp_state == IBV_QPS_ERR)
		return;
	cx_trace(hca, "qp: %#x in error", qp->head.number);
	cx_note_change(hca, qp->head.owner);
	qp->mod.qp_state = IBV_QPS_ERR;
	qp->run.flush_vendor = flush_vendor;
	qp->run.wait = CX_WAIT_NONE;
	qp->run.deadline_ns = 0;
	cx_qp_flush(hca, qp);
}

void cx_qp_lose_cq(struct cx_hca *hca, struct cx_qp *qp)
{
	if (qp->mod.qp_state != IBV_QPS_ERR)
		cx_event_qp(hca, qp, IBV_EVENT_QP_FATAL);
	cx_qp_fail(hca, qp, BSN_VENDOR_FLUSHED_IN_ERROR);
}

void cx_complete(struct cx_hca *hca, struct cx_qp *qp, uint32_t cqn, const struct cx_completion *c)
{
	if (cx_cq_complete(hca, cqn, qp, c))
		cx_qp_lose_cq(hca, qp);
}
