/* SPDX-License-Identifier: BSD-2-Clause */
/* Does what a fault plan says. */
#include "faults.h"

#include "cq.h"
#include "events.h"
#include "plan.h"
#include "tables.h"

static struct rule *find_rule(struct cx_hca *hca, enum place place, const struct cx_qp *qp,
			      const struct bsn_wqe_op *op, uint16_t wqe_index)
{
	struct cx_fault_plan *plan = hca->faults;

	for (unsigned i = 0; i < plan->count; i++) {
		struct rule *rule = &plan->rules[i];

		if (rule->place != place || (rule->qpn && rule->qpn != qp->head.number) ||
		    (rule->op && rule->op != op) || (rule->action == DELAY && qp->run.delayed))
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

bool cx_faults_apply(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		     struct cx_outcome *outcome)
{
	struct rule *rule = find_rule(hca, AT_SEND, qp, wqe->op, qp->run.sq_head);

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
		outcome->wait_ns = 10000; /* timer code 1, the shortest */
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
	case LOSE_DOORBELL: /* not at a WQE */
		break;
	}
	return false;
}

bool cx_faults_fail_receive(struct cx_hca *hca, const struct cx_qp *qp, uint16_t wqe_index,
			    uint8_t *syndrome, uint8_t *vendor)
{
	const struct rule *rule =
		hca->faults ? find_rule(hca, AT_RECEIVE, qp, NULL, wqe_index) : NULL;

	if (!rule)
		return false;
	*syndrome = (uint8_t)rule->numbers[0];
	*vendor = (uint8_t)rule->numbers[1];
	return true;
}

bool cx_faults_lose_doorbell(struct cx_hca *hca, const struct cx_qp *qp,
			     const struct bsn_sq_doorbell *bell)
{
	return hca->faults && find_rule(hca, AT_DOORBELL, qp, bsn_wqe_op_find(bell->opcode),
					(uint16_t)bell->wqe_index);
}
