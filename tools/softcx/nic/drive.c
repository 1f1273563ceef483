/* SPDX-License-Identifier: BSD-2-Clause */
/* What runs the HCA without a doorbell: deadlines, and steps. */
#include "bsn_db.h"
#include "clock.h"
#include "cq.h"
#include "memory.h"
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

/*
 * A step that looked into every queue would take longer with each queue. Instead it compares one
 * word of each: a queue at rest has no work before its record changes.
 */
static const uint32_t never_at_rest = 1;

static void look_always(struct cx_word *word)
{
	word->at = &never_at_rest;
	word->was = 0;
}

static void look_when_it_moves(struct cx_word *word, const struct cx_qp *qp)
{
	const struct bsn_dbr_wq record = { .index = qp->run.sq_tail };

	word->at = (const void *)(uintptr_t)(qp->attr.db + BSN_DBR_SEND_OFFSET);
	bsn_dbr_wq_encode((uint8_t *)&word->was, &record);
}

/* A queue with WQEs left is not at rest; nor is one in error, which flushes receives, too. */
static void settle(struct cx_word *word, const struct cx_qp *qp)
{
	if (qp->mod.qp_state == IBV_QPS_RTS && qp->run.sq_head == qp->run.sq_tail)
		look_when_it_moves(word, qp);
	else
		look_always(word);
}

/* Lists them in the order in which they run. In other states they have no work. */
static void list_qps(struct cx_hca *hca)
{
	struct cx_words *words = &hca->words;

	words->qps = 0;
	for (struct cx_head *head = cx_first(hca, CX_QP); head; head = cx_next(hca, CX_QP, head)) {
		const struct cx_qp *qp = (struct cx_qp *)head;

		if (qp->mod.qp_state != IBV_QPS_ERR &&
		    (qp->mod.qp_state != IBV_QPS_RTS || !qp->attr.sq_count_bb))
			continue;
		words->of_qps[words->qps].index = (uint32_t)(qp - hca->shared->qps);
		look_always(&words->of_qps[words->qps++]);
	}
}

static void list_cqs(struct cx_hca *hca)
{
	struct cx_words *words = &hca->words;

	words->cqs = 0;
	for (struct cx_head *head = cx_first(hca, CX_CQ); head; head = cx_next(hca, CX_CQ, head)) {
		const struct cx_cq *cq = (struct cx_cq *)head;

		words->of_cqs[words->cqs++] = (struct cx_word){
			.at = (const void *)(uintptr_t)(cq->attr.db + BSN_DBR_CQ_ARM_OFFSET),
			.was = cq->arm_record,
			.index = (uint32_t)(cq - hca->shared->cqs),
		};
	}
}

/* Doorbells of an active device may have changed any queue since. */
static void list_queues(struct cx_hca *hca)
{
	uint32_t *changes = &hca->shared->alarms[hca->self].changes;

	if (hca->config.passive && !*changes)
		return;
	*changes = 0;
	list_qps(hca);
	list_cqs(hca);
}

static unsigned run_published(struct cx_hca *hca, unsigned max_wqes)
{
	struct cx_word *const words = hca->words.of_qps;
	const uint32_t count = hca->words.qps;
	unsigned done = 0;

	for (uint32_t i = 0; !max_wqes || done < max_wqes; i++) {
		struct cx_qp *qp;

		i = cx_mem_find_changed(words, i, count);
		if (i == count)
			break;
		qp = &hca->shared->qps[words[i].index];
		done += cx_requester_run(hca, qp, max_wqes ? max_wqes - done : 0);
		settle(&words[i], qp);
	}
	return done;
}

/*
 * Virtual time stands still while there is something to execute. A step that finds nothing moves it
 * to the next deadline. So each run is the same, and none sleeps.
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
	struct cx_word *const words = hca->words.of_cqs;
	const uint32_t count = hca->words.cqs;

	for (uint32_t i = 0; (i = cx_mem_find_changed(words, i, count)) < count; i++) {
		struct cx_cq *cq = &hca->shared->cqs[words[i].index];

		cx_cq_poll_arm(hca, cq);
		words[i].was = cq->arm_record;
	}
}

unsigned cx_step(struct cx_hca *hca, unsigned max_wqes)
{
	bool waited;
	unsigned done;

	if (hca->self >= CX_PROCS)
		return 0;
	cx_lock(hca);
	list_queues(hca);
	waited = hca->shared->procs[hca->self].deadline_ns;
	if (hca->config.passive) {
		poll_arms(hca);
		hca->virtual_ns++;
	}
	done = run_published(hca, max_wqes);
	/* A queue pair that has just begun to wait has had its turn in this step. */
	if (!done && waited && hca->config.passive)
		done = skip_to_deadline(hca, max_wqes);
	cx_unlock(hca);
	return done;
}
