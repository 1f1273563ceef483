/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: creation, destruction and states. The kernel's side (kernel/) says which transitions
 * are legal.
 */
#include "commands.h"

#include <errno.h>
#include <string.h>

#include "../error.h"
#include "../events.h"
#include "../mcast.h"
#include "../requester.h"
#include "../scratch.h"
#include "../sq.h"
#include "../subscriptions.h"
#include "../trace.h"
#include "bsn_syndrome.h"

/* -- life -------------------------------------------------------------------------------------- */

/* -- queue pairs (their states are qp.c's) ----------------------------------------------------- */

/* Its CQs, and its domain. */
static int check_parts(struct cx_hca *hca, const struct cx_qp_attr *attr)
{
	if (attr->type == IBV_QPT_XRC_RECV)
		return cx_xrcd_find_own(hca, attr->xrcdn) ? 0 : -EINVAL;
	if (!cx_pd_find_own(hca, attr->pdn) || !cx_cq_find_own(hca, attr->send_cqn) ||
	    (attr->type != IBV_QPT_XRC_SEND && !cx_cq_find_own(hca, attr->recv_cqn)) ||
	    (attr->srqn && !cx_srq_find_own(hca, attr->srqn)))
		return -EINVAL;
	return 0;
}

static int check_qp(struct cx_hca *hca, const struct cx_qp_attr *attr)
{
	if (attr->type != IBV_QPT_RC && attr->type != IBV_QPT_UC && attr->type != IBV_QPT_UD &&
	    attr->type != IBV_QPT_XRC_SEND && attr->type != IBV_QPT_XRC_RECV && !attr->dc)
		return -EOPNOTSUPP;
	if (attr->log_streams > CX_DC_STREAMS_LOG2 ||
	    attr->log_errored_streams > CX_DC_ERRORED_LOG2)
		return -EINVAL;
	if (check_parts(hca, attr) || !cx_has_channel(hca, attr->async_channel, CX_EVENT_ASYNC))
		return -EINVAL;
	if (attr->sq_count_bb &&
	    (!cx_is_power_of_two(attr->sq_count_bb) || attr->sq_count_bb > 1u << 16))
		return -EINVAL;
	if (attr->rq_count &&
	    (!cx_is_power_of_two(attr->rq_count) || attr->rq_count > 1u << 16 ||
	     !cx_is_power_of_two(attr->rq_stride_bytes) || attr->rq_stride_bytes < 16 ||
	     attr->rq_stride_bytes > CX_MAX_RECV_STRIDE))
		return -EINVAL;
	if (((attr->sq_count_bb || attr->rq_count) && (!attr->buf || !attr->db)) ||
	    attr->uar_page >= CX_UAR_PAGES)
		return -EINVAL;
	return 0;
}

static void count_qp(struct cx_hca *hca, const struct cx_qp_attr *attr, int change)
{
	cx_refer(hca, CX_PD, attr->pdn, change);
	cx_refer(hca, CX_CQ, attr->send_cqn, change);
	cx_refer(hca, CX_CQ, attr->recv_cqn, change);
	cx_refer(hca, CX_SRQ, attr->srqn, change);
	cx_refer(hca, CX_XRCD, attr->xrcdn, change);
	cx_refer(hca, CX_CHANNEL, attr->async_channel, change);
	cx_refer(hca, CX_UMEM, attr->ring_umem, change);
	cx_refer(hca, CX_UMEM, attr->db_umem, change);
}

int cx_qp_make(struct cx_hca *hca, const struct cx_qp_attr *attr, uint32_t *qpn)
{
	struct cx_head *head;
	struct cx_qp *qp;
	uint32_t number;
	int err = check_qp(hca, attr);

	if (!err)
		err = cx_create(hca, CX_QP, &head, &number);
	if (err)
		return err;
	qp = (struct cx_qp *)head;
	qp->attr = *attr;
	qp->mod.qp_state = IBV_QPS_RESET;
	qp->log_msg_max = CX_MAX_MSG_LOG2;
	count_qp(hca, attr, 1);
	cx_publish(hca, CX_QP, head, number);
	*qpn = number;
	return 0;
}

int cx_qp_create(struct cx_hca *hca, const struct cx_qp_attr *attr, uint32_t *qpn)
{
	int err;

	cx_lock_to_create(hca);
	err = cx_qp_make(hca, attr, qpn);
	cx_unlock(hca);
	return err;
}

int cx_qp_destroy(struct cx_hca *hca, uint32_t qpn)
{
	struct cx_qp *qp;

	cx_lock(hca);
	qp = cx_qp_find_own(hca, qpn);
	if (qp) {
		count_qp(hca, &qp->attr, -1);
		cx_mcast_leave_all(hca, qpn);
		cx_end_subscriptions(hca, &qp->told);
		cx_unpublish(hca, CX_QP, &qp->head);
	}
	cx_unlock(hca);
	return qp ? 0 : -EINVAL;
}

/* -- states ------------------------------------------------------------------------------------ */

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

/* The driver zeroes its records and indices, the device its own. */
static void reset(struct cx_qp *qp)
{
	memset(&qp->mod, 0, sizeof(qp->mod));
	memset(&qp->run, 0, sizeof(qp->run));
	qp->mod.qp_state = IBV_QPS_RESET;
}

/* From now on a peer of another process may fail it, and requests posted later must be flushed. */
static void become_reachable(struct cx_hca *hca, const struct cx_qp *qp)
{
	if (!hca->config.private_fabric && !hca->config.passive && cx_has_own_receives(qp))
		__atomic_store_n(&hca->shared->alarms[hca->self].reachable, true, __ATOMIC_RELEASE);
}

/*
 * A ConnectX ignored the doorbells of requests that were posted too early. It executes these with
 * the next doorbell, since it reads the ring in order.
 */
static void look_for_early_work(struct cx_hca *hca, struct cx_qp *qp)
{
	if (!cx_sq_publish(hca, qp) || qp->run.sq_tail == qp->run.sq_head)
		return;
	qp->run.sq_unheard = true;
	cx_lint(hca, "qpn %#x: %u basic blocks were posted before RTS, and wait for a doorbell",
		qp->head.number, (uint16_t)(qp->run.sq_tail - qp->run.sq_head));
}

static void enter(struct cx_hca *hca, struct cx_qp *qp, enum ibv_qp_state to,
		  const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state from;

	switch (to) {
	case IBV_QPS_RESET:
		reset(qp);
		return;
	case IBV_QPS_ERR:
		cx_qp_fail(hca, qp, BSN_VENDOR_TO_ERROR);
		return;
	case IBV_QPS_RTR:
		become_reachable(hca, qp);
		if (qp->attr.dc == CX_DC_TARGET) /* its transition does not set this */
			qp->mod.max_dest_rd_atomic = CX_MAX_RD_ATOMIC;
		break;
	case IBV_QPS_SQD: /* requests run to their end at once, so the queue is drained */
		if (qp->mod.qp_state == IBV_QPS_RTS && (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) &&
		    attr->en_sqd_async_notify)
			cx_event_qp(hca, qp, IBV_EVENT_SQ_DRAINED);
		break;
	default:
		break;
	}
	from = qp->mod.qp_state;
	qp->mod.qp_state = to;
	if (to == IBV_QPS_RTS && from == IBV_QPS_RTR)
		look_for_early_work(hca, qp);
	else if (to == IBV_QPS_RTS && !hca->config.passive)
		cx_requester_run(hca, qp, 0);
}

/* The parts of its state that decide how packets go. */
static void trace_change(struct cx_hca *hca, const struct cx_qp *qp, enum ibv_qp_state to,
			 const struct ibv_qp_attr *attr, int mask)
{
	const struct ibv_ah_attr *ah = &attr->ah_attr;
	struct cx_text text;

	if (!cx_tracing(hca))
		return;
	cx_line_begin(hca, &text);
	cx_text_format(&text, "qp: %#x from %s to %s, mask %#x", qp->head.number,
		       cx_qp_state_name(qp->mod.qp_state), cx_qp_state_name(to), (unsigned)mask);
	if (mask & IBV_QP_DEST_QPN)
		cx_text_format(&text, " dest_qpn %#x", attr->dest_qp_num);
	if (mask & IBV_QP_PATH_MTU)
		cx_text_format(&text, " mtu %u", cx_mtu_bytes(attr->path_mtu));
	if (mask & IBV_QP_AV)
		cx_text_format(&text, " sl %u", ah->sl);
	if (mask & IBV_QP_AV && ah->is_global)
		cx_text_format(&text, " sgid_index %u tclass %u hop_limit %u", ah->grh.sgid_index,
			       ah->grh.traffic_class, ah->grh.hop_limit);
	if (mask & IBV_QP_TIMEOUT)
		cx_text_format(&text, " timeout %u", attr->timeout);
	cx_line_write(hca, &text);
}

int cx_qp_change(struct cx_hca *hca, struct cx_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const enum ibv_qp_state from = qp->mod.qp_state;
	const enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;

	if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != from)
		return -EINVAL;
	trace_change(hca, qp, to, attr, mask);
	cx_note_change(hca, qp->head.owner);
	copy_attr(&qp->mod, attr, mask);
	enter(hca, qp, to, attr, mask);
	return 0;
}

int cx_qp_modify(struct cx_hca *hca, uint32_t qpn, const struct ibv_qp_attr *attr, int mask)
{
	struct cx_qp *qp;
	int err;

	cx_lock(hca);
	qp = cx_qp_find_own(hca, qpn);
	err = qp ? cx_qp_change(hca, qp, attr, mask) : -EINVAL;
	if (!err && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_INIT)
		qp->run.counter_set = CX_PORT_COUNTERS;
	cx_unlock(hca);
	return err;
}

void cx_qp_set_lag_port(struct cx_hca *hca, uint32_t qpn, uint8_t port)
{
	struct cx_qp *qp;

	cx_lock(hca);
	qp = cx_qp_find_own(hca, qpn);
	if (qp)
		qp->lag_port = port;
	cx_unlock(hca);
}

int cx_qp_query(struct cx_hca *hca, uint32_t qpn, struct ibv_qp_attr *attr)
{
	struct cx_qp *qp;

	cx_lock(hca);
	qp = cx_qp_find_own(hca, qpn);
	if (qp) {
		*attr = qp->mod;
		attr->cur_qp_state = attr->qp_state;
	}
	cx_unlock(hca);
	return qp ? 0 : -EINVAL;
}
