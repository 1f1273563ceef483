/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive queues, a queue pair's own and shared ones. A queue pair's own is a ring; its record
 * counts the posted receives. A shared one is a chain, in which each WQE names the next, and which
 * the driver links in the order of its posts (rdma-core srq.c), or a ring (RMP). Its record counts,
 * too.
 */
#include "rq.h"

#include <errno.h>

#include "bsn_db.h"
#include "cq.h"
#include "delivery.h"
#include "events.h"
#include "memory.h"
#include "scratch.h"
#include "tables.h"

static int read_count(struct cx_hca *hca, unsigned proc, uint64_t db, uint16_t *count)
{
	uint8_t record[BSN_DBR_WQ_SIZE];
	struct bsn_dbr_wq posted;
	int err = cx_mem_read(hca, proc, db + BSN_DBR_RECV_OFFSET, record, sizeof(record));

	if (err)
		return err;
	bsn_dbr_wq_decode(&posted, record);
	*count = (uint16_t)posted.index;
	return 0;
}

static int decode_recv(struct cx_hca *hca, unsigned proc, uint64_t va, uint32_t stride,
		       bool is_linked, struct cx_recv *recv)
{
	uint8_t *bytes = hca->scratch->recv_bytes;
	struct bsn_bad bad;
	int err = cx_mem_read(hca, proc, va, bytes, stride);

	if (err)
		return err;
	cx_bus_count(hca, proc, CX_BUS_recv_wqe_fetch, stride);
	err = bsn_recv_decode(bytes, stride, is_linked ? BSN_RECV_LINKED : BSN_RECV_PLAIN,
			      &recv->wqe, &bad);
	if (err)
		cx_trace(hca, "receive: WQE %#x: %s: %s", recv->index, bad.segment, bad.why);
	return err;
}

static int read_linked(struct cx_hca *hca, const struct cx_srq *srq, unsigned index,
		       struct cx_recv *recv)
{
	const struct cx_srq_attr *attr = &srq->attr;

	recv->index = (uint16_t)(index & (attr->count - 1));
	return decode_recv(hca, srq->head.owner,
			   attr->buf + (uint64_t)recv->index * attr->stride_bytes,
			   attr->stride_bytes, true, recv);
}

static uint16_t next_of(const struct cx_srq *srq, const struct cx_recv *recv)
{
	return (uint16_t)(srq->attr.is_cyclic ? recv->index + 1u : recv->wqe.next.next_wqe_index);
}

static int peek_srq(struct cx_hca *hca, struct cx_srq *srq, struct cx_recv *recv)
{
	const struct cx_srq_attr *attr = &srq->attr;
	uint16_t posted;
	int err = read_count(hca, srq->head.owner, attr->db, &posted);

	if (err)
		return err;
	cx_bus_count(hca, srq->head.owner, CX_BUS_recv_record_read, BSN_DBR_WQ_SIZE);
	if (posted == srq->at.taken)
		return -EAGAIN;
	recv->overtakes = false;
	return read_linked(hca, srq, srq->at.was_overtaken ? srq->at.overtaken : srq->at.next,
			   recv);
}

int cx_recv_overtake(struct cx_hca *hca, struct cx_recv *recv)
{
	const struct cx_srq *srq = cx_srq_find(hca, recv->srqn);
	uint16_t posted;

	if (!srq || srq->at.was_overtaken ||
	    read_count(hca, srq->head.owner, srq->attr.db, &posted) ||
	    (uint16_t)(posted - srq->at.taken) < 2)
		return 0;
	recv->overtakes = true;
	recv->overtaken = recv->index;
	return read_linked(hca, srq, next_of(srq, recv), recv);
}

static int peek_rq(struct cx_hca *hca, struct cx_qp *qp, struct cx_recv *recv)
{
	const struct cx_qp_attr *attr = &qp->attr;
	uint16_t posted;
	int err;

	if (!attr->rq_count)
		return -EAGAIN;
	err = read_count(hca, qp->head.owner, attr->db, &posted);
	if (err)
		return err;
	cx_bus_count(hca, qp->head.owner, CX_BUS_recv_record_read, BSN_DBR_WQ_SIZE);
	if (posted == qp->run.rq_head)
		return -EAGAIN;
	recv->index = qp->run.rq_head;
	return decode_recv(hca, qp->head.owner,
			   attr->buf + (uint64_t)(qp->run.rq_head & (attr->rq_count - 1)) *
					       attr->rq_stride_bytes,
			   attr->rq_stride_bytes, false, recv);
}

int cx_recv_peek(struct cx_hca *hca, struct cx_qp *qp, struct cx_recv *recv)
{
	struct cx_srq *srq = cx_srq_find(hca, recv->srqn);

	return srq ? peek_srq(hca, srq, recv) : peek_rq(hca, qp, recv);
}

/* The event comes once, when fewer than the limit are left (IBTA "SRQ limit reached"). */
void cx_srq_check_limit(struct cx_hca *hca, struct cx_srq *srq)
{
	uint16_t posted;

	if (!srq->limit || read_count(hca, srq->head.owner, srq->attr.db, &posted) ||
	    (uint16_t)(posted - srq->at.taken) >= srq->limit)
		return;
	srq->limit = 0;
	cx_event_srq_limit(hca, srq);
}

void cx_recv_take(struct cx_hca *hca, struct cx_qp *qp, const struct cx_recv *recv)
{
	struct cx_srq *srq = cx_srq_find(hca, recv->srqn);

	cx_delivery_begin(hca, qp, srq);
	if (!srq) {
		qp->run.rq_head++;
		return;
	}
	if (!srq->at.was_overtaken)
		srq->at.next = next_of(srq, recv);
	srq->at.was_overtaken = recv->overtakes;
	srq->at.overtaken = recv->overtaken;
	srq->at.taken++;
	cx_srq_check_limit(hca, srq);
}

void cx_recv_flush(struct cx_hca *hca, struct cx_qp *qp)
{
	uint16_t posted;

	if (qp->attr.srqn) {
		if (!qp->run.last_wqe_reached)
			cx_event_qp(hca, qp, IBV_EVENT_QP_LAST_WQE_REACHED);
		qp->run.last_wqe_reached = true;
		return;
	}
	if (!qp->attr.rq_count || read_count(hca, qp->head.owner, qp->attr.db, &posted))
		return;
	if ((uint16_t)(posted - qp->run.rq_head) > qp->attr.rq_count)
		return; /* no program posts so many */
	while (qp->run.rq_head != posted) {
		const struct cx_completion c = {
			.opcode = BSN_CQE_RESP_ERR,
			.syndrome = BSN_SYNDROME_FLUSHED,
			.vendor_syndrome = qp->run.flush_vendor,
			.wqe_counter = qp->run.rq_head,
		};

		cx_delivery_begin(hca, qp, NULL);
		qp->run.rq_head++;
		cx_cq_complete(hca, qp->attr.recv_cqn, qp, &c);
	}
}

static void put_back(struct cx_hca *hca, const struct cx_delivery *note)
{
	struct cx_srq *srq = cx_srq_find(hca, note->srqn);
	struct cx_qp *qp = cx_qp_find(hca, note->qpn);

	if (srq)
		srq->at = note->at;
	else if (qp && !note->srqn)
		qp->run.rq_head = note->rq_head;
}

void cx_recv_recover(struct cx_hca *hca)
{
	const struct cx_delivery note = hca->shared->delivery;
	struct cx_cq *cq = note.cqn ? cx_cq_find(hca, note.cqn) : NULL;

	if (!note.qpn)
		return;
	cx_trace(hca, "fabric: a message to qpn %#x was being delivered", note.qpn);
	if (!cq || !cx_cq_finish(hca, cq, cx_delivery_index(cq) != note.index))
		put_back(hca, &note);
	cx_delivery_end(hca);
}
