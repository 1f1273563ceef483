/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The states of a queue pair, and what the error state does to outstanding work. Which transitions
 * are legal is the kernel's to say (kernel/qp.c).
 */
#include "transport.h"

#include <errno.h>
#include <string.h>

static void copy_attr(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
#define COPY(bit, field)                                                                           \
	if (mask & (bit))                                                                          \
		to->field = from->field;
	COPY(IBV_QP_ACCESS_FLAGS, qp_access_flags)
	COPY(IBV_QP_PKEY_INDEX, pkey_index)
	COPY(IBV_QP_PORT, port_num)
	COPY(IBV_QP_QKEY, qkey)
	COPY(IBV_QP_AV, ah_attr)
	COPY(IBV_QP_PATH_MTU, path_mtu)
	COPY(IBV_QP_TIMEOUT, timeout)
	COPY(IBV_QP_RETRY_CNT, retry_cnt)
	COPY(IBV_QP_RNR_RETRY, rnr_retry)
	COPY(IBV_QP_RQ_PSN, rq_psn)
	COPY(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic)
	COPY(IBV_QP_ALT_PATH, alt_ah_attr)
	COPY(IBV_QP_ALT_PATH, alt_port_num)
	COPY(IBV_QP_ALT_PATH, alt_timeout)
	COPY(IBV_QP_ALT_PATH, alt_pkey_index)
	COPY(IBV_QP_MIN_RNR_TIMER, min_rnr_timer)
	COPY(IBV_QP_SQ_PSN, sq_psn)
	COPY(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic)
	COPY(IBV_QP_PATH_MIG_STATE, path_mig_state)
	COPY(IBV_QP_DEST_QPN, dest_qp_num)
#undef COPY
}

/* -- transitions ------------------------------------------------------------------------------- */

/* The driver zeroes its records and indices, the device its own. */
static void reset(struct cx_qp *qp)
{
	memset(&qp->mod, 0, sizeof(qp->mod));
	memset(&qp->run, 0, sizeof(qp->run));
	qp->mod.qp_state = IBV_QPS_RESET;
}

static bool has_own_receives(const struct cx_qp *qp)
{
	return qp->attr.rq_count && !qp->attr.srqn;
}

/* From now on a peer of another process may fail it, and what is posted then has to be flushed. */
static void become_reachable(struct cx_hca *hca, const struct cx_qp *qp)
{
	if (!hca->config.private_fabric && !hca->config.passive && has_own_receives(qp))
		__atomic_store_n(&hca->shared->alarms[hca->self].reachable, true, __ATOMIC_RELEASE);
}

/*
 * Posting a receive rings no doorbell, and yet it is flushed when the queue pair is in error. So the
 * record is looked at again and again, ever more seldom: from 1 ms to a quarter of a second.
 */
static void look_again(struct cx_hca *hca, struct cx_qp *qp, bool in_vain)
{
	enum { FIRST_NS = 1000000, MOST_LOOKS = 8 };

	if (!hca->shared->alarms[qp->head.owner].keeps_time || !has_own_receives(qp))
		return;
	qp->run.looks = !in_vain ? 0 : qp->run.looks < MOST_LOOKS ? qp->run.looks + 1 : MOST_LOOKS;
	cx_sq_set_deadline(hca, qp, (uint64_t)FIRST_NS << qp->run.looks);
}

void cx_qp_flush(struct cx_hca *hca, struct cx_qp *qp)
{
	const uint16_t before = qp->run.rq_head;

	cx_sq_flush(hca, qp);
	cx_recv_flush(hca, qp);
	look_again(hca, qp, qp->run.rq_head == before);
}

void cx_qp_fail(struct cx_hca *hca, struct cx_qp *qp, uint8_t flush_vendor)
{
	if (qp->mod.qp_state == IBV_QPS_ERR)
		return;
	cx_trace(hca, "qp: %#x in error", qp->head.number);
	qp->mod.qp_state = IBV_QPS_ERR;
	qp->run.flush_vendor = flush_vendor;
	qp->run.wait = CX_WAIT_NONE;
	qp->run.deadline_ns = 0;
	cx_qp_flush(hca, qp);
}

static void enter(struct cx_hca *hca, struct cx_qp *qp, enum ibv_qp_state to,
		  const struct ibv_qp_attr *attr, int mask)
{
	switch (to) {
	case IBV_QPS_RESET:
		reset(qp);
		return;
	case IBV_QPS_ERR:
		cx_qp_fail(hca, qp, BSN_VENDOR_TO_ERROR);
		return;
	case IBV_QPS_RTR:
		become_reachable(hca, qp);
		break;
	case IBV_QPS_SQD: /* requests run to their end at once, so the queue is drained */
		if (qp->mod.qp_state == IBV_QPS_RTS && (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) &&
		    attr->en_sqd_async_notify)
			cx_event_qp(hca, qp, IBV_EVENT_SQ_DRAINED);
		break;
	default:
		break;
	}
	qp->mod.qp_state = to;
	if (to == IBV_QPS_RTS && !hca->config.passive)
		cx_sq_run(hca, qp, 0);
}

static int modify(struct cx_hca *hca, struct cx_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const enum ibv_qp_state from = qp->mod.qp_state;
	const enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;

	if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != from)
		return -EINVAL;
	cx_trace(hca, "qp: %#x state %d to %d, mask %#x", qp->head.number, (int)from, (int)to,
		 (unsigned)mask);
	copy_attr(&qp->mod, attr, mask);
	enter(hca, qp, to, attr, mask);
	return 0;
}

static struct cx_qp *find_own(struct cx_hca *hca, uint32_t qpn)
{
	struct cx_qp *qp = cx_qp_find(hca, qpn);

	return qp && qp->head.owner == hca->self ? qp : NULL;
}

int cx_qp_modify(struct cx_hca *hca, uint32_t qpn, const struct ibv_qp_attr *attr, int mask)
{
	struct cx_qp *qp;
	int err;

	cx_lock(hca);
	qp = find_own(hca, qpn);
	err = qp ? modify(hca, qp, attr, mask) : -EINVAL;
	cx_unlock(hca);
	return err;
}

int cx_qp_query(struct cx_hca *hca, uint32_t qpn, struct ibv_qp_attr *attr)
{
	struct cx_qp *qp;

	cx_lock(hca);
	qp = find_own(hca, qpn);
	if (qp) {
		*attr = qp->mod;
		attr->cur_qp_state = attr->qp_state;
	}
	cx_unlock(hca);
	return qp ? 0 : -EINVAL;
}
