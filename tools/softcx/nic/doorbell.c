/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores into UAR pages. */
#include <string.h>

#include "bsn_db.h"
#include "cq.h"
#include "error.h"
#include "faults.h"
#include "memory.h"
#include "process.h"
#include "requester.h"
#include "sq.h"
#include "tables.h"
#include "trace.h"

/* -- send doorbells ---------------------------------------------------------------------------- */

/*
 * The first eight bytes of a register's buffer name the queue; the record says how far it has come
 * (PRM "Doorbell Records"). They are checked against the record and the ring.
 */
static struct cx_qp *find_rung(struct cx_hca *hca, uint32_t page, const uint8_t *data,
			       uint32_t size)
{
	struct bsn_sq_doorbell bell;
	struct cx_qp *qp;

	if (size < BSN_SQ_DOORBELL_SIZE) {
		cx_lint(hca, "doorbell: %u bytes into page %u", size, page);
		return NULL;
	}
	bsn_sq_doorbell_decode(&bell, data);
	qp = cx_qp_find(hca, bell.qpn);
	if (!qp || qp->head.owner != hca->self) {
		cx_lint(hca, "doorbell: page %u: there is no qpn %#x", page, bell.qpn);
		return NULL;
	}
	if (qp->attr.uar_page != page)
		cx_lint(hca, "doorbell: qpn %#x rings page %u, its own is %u", bell.qpn, page,
			qp->attr.uar_page);
	return qp;
}

/* Bytes of a BlueFlame copy are the ring's; the device reads none after the WQE. */
static void compare_with_ring(struct cx_hca *hca, struct cx_qp *qp, const struct cx_blueflame *copy,
			      uint32_t offset, const uint8_t *data, uint32_t size)
{
	const uint32_t end = copy->ds * BSN_DS_SIZE;
	uint8_t ring[BSN_BF_BUFFER_BYTES];

	if (!qp->attr.sq_count_bb || offset + size > BSN_BF_BUFFER_BYTES || offset >= end ||
	    cx_sq_read(hca, qp, copy->index, ring, offset, size))
		return;
	if (memcmp(ring, data, size < end - offset ? size : end - offset))
		cx_lint(hca, "doorbell: qpn %#x wqe %#x: bytes %u to %u are not the ring's",
			qp->head.number, copy->index, offset, offset + size - 1);
}

static uint16_t end_of(const struct bsn_sq_doorbell *bell)
{
	return (uint16_t)(bell->wqe_index + bsn_bb_of_ds(bell->ds));
}

/* Counts bytes of a copy. A WQE that came whole, and was alone in the queue, need not be read. */
static void take_copy(struct cx_hca *hca, struct cx_qp *qp, struct cx_blueflame *copy,
		      uint32_t offset, const uint8_t *data, uint32_t size)
{
	compare_with_ring(hca, qp, copy, offset, data, size);
	if (offset != copy->copied)
		return;
	copy->copied = (uint16_t)(copy->copied + size);
	if (!copy->alone || copy->copied < copy->ds * BSN_DS_SIZE)
		return;
	cx_sq_came_whole(hca, qp, copy->index, (uint16_t)bsn_bb_of_ds(copy->ds));
	copy->alone = false;
}

/*
 * The doorbell must belong to the WQE that the record published last: only that one ends at the
 * record's index, and its length is in the doorbell. The model may have read the record before the
 * doorbell came, when it retried another request, or when a peer failed the queue pair.
 */
static void lint_record(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_sq_doorbell *bell)
{
	if (!cx_sq_publish(hca, qp))
		return;
	if (qp->run.sq_tail == qp->run.sq_rung)
		cx_lint(hca, "doorbell: qpn %#x: the record has not moved from %#x",
			qp->head.number, qp->run.sq_rung);
	else if (end_of(bell) != qp->run.sq_tail)
		cx_lint(hca, "doorbell: qpn %#x: WQE %#x ends at %#x, the record says %#x",
			qp->head.number, bell->wqe_index, end_of(bell), qp->run.sq_tail);
	qp->run.sq_rung = qp->run.sq_tail;
}

/*
 * A store that a register's write-combining buffer would merge with the one before: glibc's
 * memcpy(), which UCX uses, stores overlapping vectors, and so writes 64 bytes twice. Its WQE was
 * rung before. If not, the queue was reset and has come to this index again.
 */
static bool repeats(const struct cx_blueflame *copy, const struct cx_qp *qp,
		    const struct bsn_sq_doorbell *bell, uint32_t size)
{
	return size > BSN_SQ_DOORBELL_SIZE && copy->qpn == bell->qpn &&
	       copy->index == bell->wqe_index && qp->run.sq_rung == end_of(bell);
}

static void start_copy(struct cx_blueflame *copy, const struct cx_qp *qp,
		       const struct bsn_sq_doorbell *bell)
{
	copy->qpn = qp->head.number;
	copy->index = (uint16_t)bell->wqe_index;
	copy->ds = (uint8_t)bell->ds;
	copy->copied = 0;
	copy->alone = qp->run.sq_head == copy->index && qp->run.sq_tail == end_of(bell) &&
		      qp->attr.sq_count_bb;
}

/* Whether the device gets a doorbell; if not, the trace says why. */
static bool arrives(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_sq_doorbell *bell)
{
	if (qp->mod.qp_state < IBV_QPS_RTS) { /* the send queue is not started */
		cx_lint(hca, "doorbell: qpn %#x wqe %#x: ignored, the queue pair is in %s",
			bell->qpn, bell->wqe_index, cx_qp_state_name(qp->mod.qp_state));
		return false;
	}
	if (cx_faults_lose_doorbell(hca, qp, bell)) {
		qp->run.doorbells_lost++;
		return false;
	}
	if (qp->run.doorbells_lost)
		cx_trace(hca, "doorbell: qpn %#x: the record recovers the work of %u lost before",
			 bell->qpn, qp->run.doorbells_lost);
	qp->run.doorbells_lost = 0;
	return true;
}

static void ring(struct cx_hca *hca, struct cx_qp *qp, struct cx_blueflame *copy,
		 const struct bsn_sq_doorbell *bell, const uint8_t *data, uint32_t size)
{
	qp->run.sq_unheard = false;
	lint_record(hca, qp, bell);
	start_copy(copy, qp, bell);
	take_copy(hca, qp, copy, 0, data, size);
	if (!hca->config.passive)
		cx_requester_run(hca, qp, 0);
}

static void start_buffer(struct cx_hca *hca, uint32_t page, unsigned buffer, const uint8_t *data,
			 uint32_t size)
{
	struct cx_blueflame *copy = &hca->blueflame[page][buffer];
	struct cx_qp *qp = find_rung(hca, page, data, size);
	struct bsn_sq_doorbell bell;

	if (!qp) {
		copy->qpn = 0;
		return;
	}
	bsn_sq_doorbell_decode(&bell, data);
	if (repeats(copy, qp, &bell, size)) {
		compare_with_ring(hca, qp, copy, 0, data, size);
	} else if (arrives(hca, qp, &bell)) {
		ring(hca, qp, copy, &bell, data, size);
	} else {
		start_copy(copy, qp, &bell);
		copy->alone = false; /* the device does not get it */
	}
}

static void take_send_store(struct cx_hca *hca, uint32_t page, uint32_t offset, const uint8_t *data,
			    uint32_t size)
{
	const uint32_t at = offset - BSN_UAR_BF_OFFSET;
	const unsigned buffer = at / BSN_BF_BUFFER_BYTES;
	struct cx_qp *qp;

	if (buffer >= CX_BF_PER_UAR) {
		cx_lint(hca, "doorbell: offset %#x of page %u is no register", offset, page);
		return;
	}
	if (at % BSN_BF_BUFFER_BYTES == 0) {
		start_buffer(hca, page, buffer, data, size);
		return;
	}
	qp = cx_qp_find(hca, hca->blueflame[page][buffer].qpn);
	if (!qp)
		cx_lint(hca, "doorbell: offset %#x of page %u continues nothing", offset, page);
	else
		take_copy(hca, qp, &hca->blueflame[page][buffer], at % BSN_BF_BUFFER_BYTES, data,
			  size);
}

/* -- arming ------------------------------------------------------------------------------------ */

static void take_arm(struct cx_hca *hca, const uint8_t *data, uint32_t size)
{
	uint8_t record[BSN_DBR_CQ_ARM_SIZE];
	struct bsn_cq_doorbell bell;
	struct cx_cq *cq;

	if (size < BSN_CQ_DOORBELL_SIZE) {
		cx_lint(hca, "arm: a store of %u bytes", size);
		return;
	}
	bsn_cq_doorbell_decode(&bell, data);
	cq = cx_cq_find(hca, bell.cqn);
	if (!cq || cq->head.owner != hca->self) {
		cx_lint(hca, "arm: there is no cqn %#x", bell.cqn);
		return;
	}
	if (cx_mem_read(hca, cq->head.owner, cq->attr.db + BSN_DBR_CQ_ARM_OFFSET, record,
			sizeof(record)))
		return;
	if (memcmp(record, data, sizeof(record)))
		cx_lint(hca, "arm: cqn %#x: the record and the doorbell differ", bell.cqn);
	if (!hca->config.passive)
		cx_cq_arm(hca, cq, data);
}

static void trace_store(struct cx_hca *hca, uint32_t page, uint32_t offset, const uint8_t *data,
			uint32_t size)
{
	uint64_t head = 0;

	memcpy(&head, data, size < sizeof(head) ? size : sizeof(head));
	cx_trace(hca, "store: page %u offset %#x size %u begins %016lx", page, offset, size,
		 __builtin_bswap64(head));
}

void cx_doorbell(struct cx_hca *hca, uint32_t page, uint32_t offset, const void *data,
		 uint32_t size)
{
	if (cx_tracing(hca))
		trace_store(hca, page, offset, data, size);
	if (page >= CX_UAR_PAGES || hca->self >= CX_PROCS)
		return;
	cx_lock(hca);
	if (hca->shared->removed)
		cx_trace(hca, "store: the device is gone");
	else if (offset >= BSN_UAR_BF_OFFSET)
		take_send_store(hca, page, offset, data, size);
	else if (offset == BSN_UAR_CQ_ARM_OFFSET)
		take_arm(hca, data, size);
	else
		cx_lint(hca, "store: offset %#x of page %u is no register", offset, page);
	cx_unlock(hca);
}
