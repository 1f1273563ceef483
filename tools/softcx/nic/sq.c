/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue as a ring: what its record publishes, the bytes of WQEs, and the flush of WQEs
 * that are not executed. requester.c executes.
 */
#include "sq.h"

#include "bsn_db.h"
#include "cq.h"
#include "memory.h"
#include "trace.h"

/* -- the ring ---------------------------------------------------------------------------------- */

static uint64_t sq_va(const struct cx_qp *qp)
{
	return qp->attr.buf + (uint64_t)qp->attr.rq_count * qp->attr.rq_stride_bytes;
}

bool cx_sq_publish(struct cx_hca *hca, struct cx_qp *qp)
{
	uint8_t bytes[BSN_DBR_WQ_SIZE];
	struct bsn_dbr_wq record;

	if (!qp->attr.sq_count_bb ||
	    cx_mem_read(hca, qp->head.owner, qp->attr.db + BSN_DBR_SEND_OFFSET, bytes,
			sizeof(bytes)))
		return false;
	bsn_dbr_wq_decode(&record, bytes);
	if ((uint16_t)(record.index - qp->run.sq_head) > qp->attr.sq_count_bb) {
		cx_lint(hca, "qpn %#x: the record says %#x, past the ring, which has executed %#x",
			qp->head.number, record.index, qp->run.sq_head);
		return false;
	}
	if (qp->run.sq_tail != (uint16_t)record.index)
		cx_bus_count(hca, qp->head.owner, CX_BUS_send_record_read, sizeof(bytes));
	qp->run.sq_tail = (uint16_t)record.index;
	return true;
}

/* The bytes of the WQE at basic block `index`, in one piece, even if the ring wraps. */
int cx_sq_read(struct cx_hca *hca, struct cx_qp *qp, uint16_t index, void *dst, size_t offset,
	       size_t len)
{
	const uint64_t size = (uint64_t)qp->attr.sq_count_bb * BSN_BB_SIZE;
	const uint64_t at = ((uint64_t)index * BSN_BB_SIZE + offset) % size;
	const uint64_t first = len < size - at ? len : size - at;
	int err = cx_mem_read(hca, qp->head.owner, sq_va(qp) + at, dst, first);

	if (!err && len > first)
		err = cx_mem_read(hca, qp->head.owner, sq_va(qp), (uint8_t *)dst + first,
				  len - first);
	return err;
}

/*
 * Counts what the device reads for the next `count` blocks from the head on: nothing if it has read
 * ahead, or if BlueFlame has brought them.
 */
void cx_sq_count_fetch(struct cx_hca *hca, struct cx_qp *qp, uint16_t count)
{
	const uint16_t mask = (uint16_t)(qp->attr.sq_count_bb - 1);
	const uint16_t end = (uint16_t)(qp->run.sq_head + count);

	if (cx_index_before(qp->run.sq_fetched, qp->run.sq_head))
		qp->run.sq_fetched = qp->run.sq_head;
	while (cx_index_before(qp->run.sq_fetched, end)) {
		const uint32_t to_wrap = qp->attr.sq_count_bb - (qp->run.sq_fetched & mask);
		uint32_t blocks = (uint16_t)(qp->run.sq_tail - qp->run.sq_fetched);

		blocks = blocks > CX_FETCH_BB ? CX_FETCH_BB : blocks ? blocks : 1;
		blocks = blocks < to_wrap ? blocks : to_wrap;
		cx_bus_count(hca, qp->head.owner, CX_BUS_wqe_fetch, blocks * BSN_BB_SIZE);
		qp->run.sq_fetched = (uint16_t)(qp->run.sq_fetched + blocks);
	}
}

void cx_sq_came_whole(struct cx_hca *hca, struct cx_qp *qp, uint16_t index, uint16_t count)
{
	const uint32_t first = qp->attr.sq_count_bb - (index & (qp->attr.sq_count_bb - 1));

	if (cx_index_before(index, qp->run.sq_fetched))
		cx_bus_take_back(hca, qp->head.owner, CX_BUS_wqe_fetch, count > first ? 2 : 1,
				 (uint64_t)count * BSN_BB_SIZE);
	else
		qp->run.sq_fetched = (uint16_t)(index + count);
}

uint16_t cx_sq_count_bb(uint32_t ds)
{
	return ds ? (uint16_t)bsn_bb_of_ds(ds) : 1;
}

void cx_sq_advance(struct cx_qp *qp, uint32_t ds)
{
	const uint16_t left = (uint16_t)(qp->run.sq_tail - qp->run.sq_head);
	const uint16_t count = cx_sq_count_bb(ds);

	qp->run.sq_head = (uint16_t)(qp->run.sq_head + (count < left ? count : left));
}

/* -- errors ----------------------------------------------------------------------------------- */

/*
 * CE says when there is a CQE (PRM "Control Segment"): after an error of any WQE; with CE 1 only
 * after the first error of a queue.
 */
int cx_sq_complete_error(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_ctrl *ctrl,
			 uint8_t syndrome, uint8_t vendor)
{
	const struct cx_completion c = {
		.opcode = BSN_CQE_REQ_ERR,
		.syndrome = syndrome,
		.vendor_syndrome = vendor,
		.wqe_opcode = (uint8_t)ctrl->opcode,
		.wqe_counter = qp->run.sq_head,
	};
	const bool silent = ctrl->ce == BSN_CE_ON_FIRST_ERROR && qp->run.error_reported;

	qp->run.error_reported = true;
	return silent ? 0 : cx_cq_complete(hca, qp->attr.send_cqn, qp, &c);
}

void cx_sq_flush(struct cx_hca *hca, struct cx_qp *qp)
{
	uint8_t bytes[BSN_CTRL_SIZE];
	struct bsn_ctrl ctrl;

	if (!cx_sq_publish(hca, qp))
		return;
	while (qp->run.sq_head != qp->run.sq_tail) {
		cx_sq_count_fetch(hca, qp, 1);
		if (cx_sq_read(hca, qp, qp->run.sq_head, bytes, 0, sizeof(bytes)))
			return;
		bsn_ctrl_decode(&ctrl, bytes);
		cx_sq_complete_error(hca, qp, &ctrl, BSN_SYNDROME_FLUSHED, qp->run.flush_vendor);
		cx_sq_advance(qp, ctrl.ds);
	}
}
