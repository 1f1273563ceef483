/* SPDX-License-Identifier: BSD-2-Clause */
/* Injects the faults of a plan. */
#include "faults.h"

#include "cq.h"
#include "events.h"
#include "plan.h"
#include "tables.h"

static bool is_list_on_demand(struct cx_hca *hca, const struct bsn_wqe_data *data, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!data[i].bytes &&
		    cx_key_is_on_demand(hca, data[i].lkey, data[i].addr, data[i].length_bytes))
			return true;
	return false;
}

static bool is_remote_on_demand(struct cx_hca *hca, const struct bsn_wqe *wqe)
{
	return wqe->op->has_raddr && cx_key_is_on_demand(hca, wqe->raddr.rkey, wqe->raddr.raddr,
							 wqe->total_bytes);
}

/* What an attempt is about: a WQE that sends, or a receive that was found; the other is NULL. */
struct attempt {
	const struct bsn_wqe *wqe;
	const struct bsn_recv_wqe *recv;
};

/*
 * Whether a page of its memory may be missing. The requester's own page may be so once: its wait
 * brings it.
 */
static bool may_miss_page(struct cx_hca *hca, const struct cx_qp *qp, const struct attempt *attempt)
{
	if (attempt->recv)
		return is_list_on_demand(hca, attempt->recv->data, attempt->recv->data_count);
	return is_remote_on_demand(hca, attempt->wqe) ||
	       (!qp->run.delayed &&
		is_list_on_demand(hca, attempt->wqe->data, attempt->wqe->data_count));
}

/* DC: the target of a request, and its stream. */
static bool is_of_way(const struct rule *rule, const struct cx_qp *qp,
		      const struct attempt *attempt)
{
	if (!rule->dctn && !rule->has_stream)
		return true;
	return qp->attr.dc == CX_DC_INITIATOR &&
	       (!rule->dctn || rule->dctn == attempt->wqe->to.dc.dqpn) &&
	       (!rule->has_stream || rule->stream == attempt->wqe->ctrl.dci_stream);
}

static bool is_its_turn(struct rule *rule)
{
	rule->seen++;
	return (!rule->nth || rule->seen == rule->nth) &&
	       (!rule->every || !(rule->seen % rule->every));
}

static struct rule *find_rule(struct cx_hca *hca, enum place place, const struct cx_qp *qp,
			      const struct bsn_wqe_op *op, const struct attempt *attempt,
			      uint16_t wqe_index)
{
	struct cx_fault_plan *plan = hca->faults;

	for (unsigned i = 0; i < plan->count; i++) {
		struct rule *rule = &plan->rules[i];

		if (rule->place != place || (rule->qpn && rule->qpn != qp->head.number) ||
		    (rule->op && rule->op != op) || !is_of_way(rule, qp, attempt) ||
		    (rule->action == DELAY_CQE && attempt->wqe->ctrl.ce < BSN_CE_ALWAYS) ||
		    (rule->action == CNAK && !qp->attr.dc) ||
		    (rule->action == DELAY && qp->run.delayed) ||
		    (rule->action == PAGE_FAULT && !may_miss_page(hca, qp, attempt)))
			continue;
		if (!is_its_turn(rule))
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
	const struct attempt attempt = { .wqe = wqe };
	struct rule *rule = find_rule(hca, AT_SEND, qp, wqe->op, &attempt, qp->run.sq_head);

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
	case CNAK:
		cx_dc_refuse(hca, qp, outcome);
		return true;
	case DELAY_CQE:
		outcome->cqe_delay_ns = rule->numbers[0] * 1000;
		return false;
	case LOSE_DOORBELL: /* not decided for a WQE */
	case OVERTAKE:
		break;
	}
	return false;
}

enum cx_receive_fault cx_faults_receive(struct cx_hca *hca, const struct cx_qp *qp,
					const struct cx_recv *recv, uint8_t *syndrome,
					uint8_t *vendor)
{
	const struct attempt attempt = { .recv = &recv->wqe };
	const struct rule *rule =
		hca->faults ? find_rule(hca, AT_RECEIVE, qp, NULL, &attempt, recv->index) : NULL;

	if (!rule)
		return CX_RECEIVE_WELL;
	if (rule->action == OVERTAKE)
		return CX_RECEIVE_OVERTAKES;
	*syndrome = (uint8_t)rule->numbers[0];
	*vendor = (uint8_t)rule->numbers[1];
	return rule->action == PAGE_FAULT ? CX_RECEIVE_WAITS : CX_RECEIVE_FAILS;
}

bool cx_faults_lose_doorbell(struct cx_hca *hca, const struct cx_qp *qp,
			     const struct bsn_sq_doorbell *bell)
{
	return hca->faults && find_rule(hca, AT_DOORBELL, qp, bsn_wqe_op_find(bell->opcode), NULL,
					(uint16_t)bell->wqe_index);
}

uint64_t cx_faults_hold_us(struct cx_hca *hca, bool is_disconnect, uint32_t qpn)
{
	const enum place place = is_disconnect ? AT_DISCONNECT : AT_REQUEST;

	for (unsigned i = 0; hca->faults && i < hca->faults->count; i++) {
		struct rule *rule = &hca->faults->rules[i];

		if (rule->place != place || (rule->qpn && rule->qpn != qpn) || !is_its_turn(rule))
			continue;
		cx_trace(hca, "fault: rule %u, %s, at %s of qpn %#x", i + 1,
			 cx_action_name(rule->action), is_disconnect ? "DREQ" : "REQ", qpn);
		return rule->numbers[0];
	}
	return 0;
}
