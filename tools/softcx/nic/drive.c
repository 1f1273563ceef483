/* SPDX-License-Identifier: BSD-2-Clause */
/* What moves the HCA without a doorbell: deadlines, and steps. */
#include "clock.h"
#include "cq.h"
#include "process.h"
#include "requester.h"
#include "tables.h"

/* -- deadlines --------------------------------------------------------------------------------- */

static uint64_t find_deadline(struct cx_hca *hca)
{
	uint64_t first = CX_NEVER;

	for (struct cx_head *head = cx_first(hca, CX_QP); head; head = cx_next(hca, CX_QP, head)) {
		const struct cx_qp *qp = (struct cx_qp *)head;

		if (qp->run.deadline_ns && qp->run.deadline_ns < first)
			first = qp->run.deadline_ns;
	}
	for (struct cx_head *head = cx_first(hca, CX_CQ); head; head = cx_next(hca, CX_CQ, head)) {
		const struct cx_cq *cq = (struct cx_cq *)head;

		if (cq->deadline_ns && cq->deadline_ns < first)
			first = cq->deadline_ns;
	}
	return first == CX_NEVER ? 0 : first;
}

static void keep_deadline(struct cx_hca *hca, uint64_t deadline)
{
	__atomic_store_n(&hca->shared->procs[hca->self].deadline_ns, deadline, __ATOMIC_RELEASE);
}

static unsigned run_due(struct cx_hca *hca, uint64_t now, unsigned max_wqes)
{
	unsigned done = 0;

	for (struct cx_head *head = cx_first(hca, CX_QP); head; head = cx_next(hca, CX_QP, head)) {
		struct cx_qp *qp = (struct cx_qp *)head;

		if (!qp->run.deadline_ns || qp->run.deadline_ns > now)
			continue;
		qp->run.deadline_ns = 0;
		done += cx_requester_run(hca, qp, max_wqes);
	}
	for (struct cx_head *head = cx_first(hca, CX_CQ); head; head = cx_next(hca, CX_CQ, head)) {
		struct cx_cq *cq = (struct cx_cq *)head;

		if (cq->deadline_ns && cq->deadline_ns <= now)
			cx_cq_run_deadline(hca, cq);
	}
	return done;
}

void cx_run_timers(struct cx_hca *hca)
{
	if (hca->config.passive)
		return;
	cx_lock(hca);
	if (hca->self < CX_PROCS) {
		run_due(hca, cx_now_ns(hca), 0);
		keep_deadline(hca, find_deadline(hca));
	}
	cx_unlock(hca);
}

/* -- stepping ---------------------------------------------------------------------------------- */

static unsigned run_published(struct cx_hca *hca, unsigned max_wqes)
{
	unsigned done = 0;

	for (struct cx_head *head = cx_first(hca, CX_QP); head && (!max_wqes || done < max_wqes);
	     head = cx_next(hca, CX_QP, head))
		done += cx_requester_run(hca, (struct cx_qp *)head, max_wqes ? max_wqes - done : 0);
	return done;
}

/*
 * Virtual time stands still while there is something to execute. Only a step that found nothing
 * moves it, to the next deadline, so a run is the same each time and never sleeps.
 */
static unsigned skip_to_deadline(struct cx_hca *hca, unsigned max_wqes)
{
	const uint64_t deadline = find_deadline(hca);
	unsigned done;

	if (!deadline)
		return 0;
	hca->virtual_ns = deadline;
	done = run_due(hca, deadline, max_wqes);
	keep_deadline(hca, find_deadline(hca));
	return done;
}

static void poll_arms(struct cx_hca *hca)
{
	for (struct cx_head *head = cx_first(hca, CX_CQ); head; head = cx_next(hca, CX_CQ, head))
		cx_cq_poll_arm(hca, (struct cx_cq *)head);
}

unsigned cx_step(struct cx_hca *hca, unsigned max_wqes)
{
	bool waited;
	unsigned done;

	if (hca->self >= CX_PROCS)
		return 0;
	cx_lock(hca);
	waited = hca->shared->procs[hca->self].deadline_ns;
	if (hca->config.passive) {
		poll_arms(hca);
		hca->virtual_ns++;
	}
	done = run_published(hca, max_wqes);
	/* A queue pair that began to wait just now has had its turn in this step. */
	if (!done && waited && hca->config.passive)
		done = skip_to_deadline(hca, max_wqes);
	cx_unlock(hca);
	return done;
}
