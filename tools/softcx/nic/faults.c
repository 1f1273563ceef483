/* SPDX-License-Identifier: BSD-2-Clause */
/* Does what a fault plan says. */
#include "faults.h"

#include "cq.h"
#include "events.h"
#include "plan.h"
#include "tables.h"

static bool is_on_demand(struct cx_hca *hca, uint32_t key)
{
	const struct cx_mr *mr = cx_mr_find(hca, key);

	return mr && mr->attr.access & IBV_ACCESS_ON_DEMAND;
}

static bool is_remote_on_demand(struct cx_hca *hca, const struct bsn_wqe *wqe)
{
	return wqe->op->has_raddr && is_on_demand(hca, wqe->raddr.rkey);
}

/* Whether a page of the WQE's memory may be missing: once, since a wait brings the requester's own. */
static bool may_miss_page(struct cx_hca *hca, const struct cx_qp *qp, const struct bsn_wqe *wqe)
{
	if (is_remote_on_demand(hca, wqe))
		return true;
	for (unsigned i = 0; i < wqe->data_count && !qp->run.delayed; i++)
		if (!wqe->data[i].bytes && is_on_demand(hca, wqe->data[i].lkey))
			return true;
	return false;
}

static struct rule *find_rule(struct cx_hca *hca, enum place place, const struct cx_qp *qp,
			      const struct bsn_wqe_op *op, const struct bsn_wqe *wqe,
			      uint16_t wqe_index)
{
	struct cx_fault_plan *plan = hca->faults;

	for (unsigned i = 0; i < plan->count; i++) {
		struct rule *rule = &plan->rules[i];

		if (rule->place != place || (rule->qpn && rule->qpn != qp->head.number) ||
		    (rule->op && rule->op != op) || (rule->action == DELAY && qp->run.delayed) ||
		    (rule->action == PAGE_FAULT && !may_miss_page(hca, qp, wqe)))
			continue;
		rule->seen++;
		if ((rule->nth && rule->seen != rule->nth) ||
		    (rule->every && rule->seen % rule->every))
			continue;
		cx_trace(hca, "fault: rule %u, %s, at qpn %#x wqe %#x", i + 1,
			 cx_action_name(rule->action), qp->head.number, wqe_index);
		return rule;
	}
	return NULL;
}

static void set_port(struct cx_hca *hca, bool down)
{
	if (hca->shared->port_down == down)
		return;
	__atomic_store_n(&hca->shared->port_down, down,
			 __ATOMIC_RELAXED); /* read without the lock */
	cx_event_device(hca, down ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE);
}

static void remove_device(struct cx_hca *hca)
{
	if (hca->shared->removed)
		return;
	__atomic_store_n(&hca->shared->removed, true, __ATOMIC_RELAXED);
	cx_event_device(hca, IBV_EVENT_DEVICE_FATAL);
	cx_event_end(hca);
}

static void overrun(struct cx_hca *hca, const struct cx_qp *qp)
{
	struct cx_cq *cq = cx_cq_find(hca, qp->attr.send_cqn);

	if (cq)
		cx_cq_fail(hca, cq);
}

enum { SHORTEST_RNR_NS = 10000 }; /* timer code 1 */

/* The kernel brings the page meanwhile: hw/mlx5/odp.c mlx5_ib_mr_rdma_pfault_handler() */
static void miss_page(struct cx_hca *hca, const struct cx_qp *qp, const struct bsn_wqe *wqe,
		      struct cx_outcome *outcome)
{
	const bool is_remote = is_remote_on_demand(hca, wqe);

	outcome->verdict = !is_remote ? CX_DELAYED : cx_is_reliable(qp) ? CX_RNR : CX_ACKED;
	outcome->wait_ns = SHORTEST_RNR_NS;
}

bool cx_faults_apply(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		     struct cx_outcome *outcome)
{
	struct rule *rule = find_rule(hca, AT_SEND, qp, wqe->op, wqe, qp->run.sq_head);

	if (!rule)
		return false;
	switch (rule->action) {
	case DROP:
		outcome->verdict = cx_is_reliable(qp) ? CX_SILENCE : CX_ACKED;
		return true;
	case DELAY:
		outcome->verdict = CX_DELAYED;
		outcome->wait_ns = rule->numbers[0] * 1000;
		return true;
	case RNR:
		outcome->verdict = CX_RNR;
		outcome->wait_ns = SHORTEST_RNR_NS;
		return cx_is_reliable(qp);
	case FAIL:
		outcome->verdict = CX_NAKED;
		outcome->syndrome = (uint8_t)rule->numbers[0];
		outcome->vendor_syndrome = (uint8_t)rule->numbers[1];
		return true;
	case CQ_OVERRUN:
		overrun(hca, qp);
		return false;
	case PORT_DOWN:
	case PORT_UP:
		set_port(hca, rule->action == PORT_DOWN);
		return false;
	case REMOVE_DEVICE:
		remove_device(hca);
		outcome->verdict = CX_DELAYED;
		outcome->wait_ns = CX_NEVER;
		return true;
	case PAGE_FAULT:
		miss_page(hca, qp, wqe, outcome);
		return true;
	case LOSE_DOORBELL: /* not at a WQE */
		break;
	}
	return false;
}

bool cx_faults_fail_receive(struct cx_hca *hca, const struct cx_qp *qp, uint16_t wqe_index,
			    uint8_t *syndrome, uint8_t *vendor)
{
	const struct rule *rule =
		hca->faults ? find_rule(hca, AT_RECEIVE, qp, NULL, NULL, wqe_index) : NULL;

	if (!rule)
		return false;
	*syndrome = (uint8_t)rule->numbers[0];
	*vendor = (uint8_t)rule->numbers[1];
	return true;
}

bool cx_faults_lose_doorbell(struct cx_hca *hca, const struct cx_qp *qp,
			     const struct bsn_sq_doorbell *bell)
{
	return hca->faults && find_rule(hca, AT_DOORBELL, qp, bsn_wqe_op_find(bell->opcode), NULL,
					(uint16_t)bell->wqe_index);
}
