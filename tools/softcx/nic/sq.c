/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue: from the doorbell record to the completion of each WQE, in order. A WQE that has to
 * wait (for an answer that does not come, for a receiver, for a fault's delay) waits at the head, and
 * everything behind it waits, too.
 */
#include "transport.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"
#include "text.h"

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
	qp->run.sq_tail = (uint16_t)record.index;
	return true;
}

/* Bytes of the WQE that begins at basic block `index`, the ring's end undone. */
int cx_sq_fetch(struct cx_hca *hca, struct cx_qp *qp, uint16_t index, void *dst, size_t offset,
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

static uint16_t count_bb(uint32_t ds)
{
	return ds ? (uint16_t)((ds + BSN_BB_DS - 1) / BSN_BB_DS) : 1;
}

static void advance(struct cx_qp *qp, uint32_t ds)
{
	const uint16_t left = (uint16_t)(qp->run.sq_tail - qp->run.sq_head);
	const uint16_t count = count_bb(ds);

	qp->run.sq_head = (uint16_t)(qp->run.sq_head + (count < left ? count : left));
}

/* -- completing -------------------------------------------------------------------------------- */

/*
 * CE says when there is a CQE (PRM "Control Segment"): after an error of any WQE, except that the
 * second and later ones of a queue with CE 1 stay silent.
 */
static void complete_error(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_ctrl *ctrl,
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
	if (!silent)
		cx_complete(hca, qp, qp->attr.send_cqn, &c);
}

static void complete(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		     const struct cx_outcome *outcome)
{
	const struct cx_completion c = {
		.opcode = BSN_CQE_REQ,
		.wqe_opcode = (uint8_t)wqe->ctrl.opcode,
		.wqe_counter = qp->run.sq_head,
		.byte_count = outcome->byte_count,
		.inline_bytes = outcome->in_cqe ? outcome->bytes : NULL,
	};

	qp->run.wait = CX_WAIT_NONE;
	qp->run.retries = qp->run.rnr_retries = 0;
	qp->run.delayed = false;
	if (wqe->ctrl.ce >= BSN_CE_ALWAYS)
		cx_complete(hca, qp, qp->attr.send_cqn, &c);
}

void cx_sq_flush(struct cx_hca *hca, struct cx_qp *qp)
{
	uint8_t bytes[BSN_CTRL_SIZE];
	struct bsn_ctrl ctrl;

	if (!cx_sq_publish(hca, qp))
		return;
	while (qp->run.sq_head != qp->run.sq_tail) {
		if (cx_sq_fetch(hca, qp, qp->run.sq_head, bytes, 0, sizeof(bytes)))
			return;
		bsn_ctrl_decode(&ctrl, bytes);
		complete_error(hca, qp, &ctrl, BSN_SYNDROME_FLUSHED, qp->run.flush_vendor);
		advance(qp, ctrl.ds);
	}
}

/* The WQE at the head failed: its CQE, then the error state and the flush of the rest. */
static void fail(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_ctrl *ctrl,
		 uint8_t syndrome, uint8_t vendor)
{
	complete_error(hca, qp, ctrl, syndrome, vendor);
	advance(qp, ctrl->ds);
	cx_qp_fail(hca, qp, BSN_VENDOR_FLUSHED_IN_ERROR);
}

/* -- waiting ----------------------------------------------------------------------------------- */

enum { RNR_RETRY_FOREVER = 7 };

/* It is its owner's to keep, who sleeps, or does not look at the clock unless told. */
void cx_sq_set_deadline(struct cx_hca *hca, struct cx_qp *qp, uint64_t ns)
{
	struct cx_proc *proc = &hca->shared->procs[qp->head.owner];
	uint32_t *alarm = &hca->shared->alarms[qp->head.owner].count;
	const bool own = cx_is_local(hca, qp->head.owner);

	qp->run.deadline_ns =
		ns == CX_NEVER ? CX_NEVER : (own ? cx_now_ns(hca) : cx_clock_ns()) + ns;
	if (!proc->deadline_ns || qp->run.deadline_ns < proc->deadline_ns)
		__atomic_store_n(&proc->deadline_ns, qp->run.deadline_ns, __ATOMIC_RELEASE);
	if (!own) {
		__atomic_fetch_add(alarm, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, alarm, FUTEX_WAKE, 1);
	}
}

static void wait_for(struct cx_hca *hca, struct cx_qp *qp, enum cx_wait why, uint64_t ns)
{
	qp->run.wait = (uint8_t)why;
	cx_sq_set_deadline(hca, qp, ns);
	cx_trace(hca, "wait: qpn %#x wqe %#x %s %lu ns", qp->head.number, qp->run.sq_head,
		 why == CX_WAIT_ACK   ? "no answer,"
		 : why == CX_WAIT_RNR ? "receiver not ready,"
				      : "delayed,",
		 ns);
}

/* IBTA "Local ACK Timeout": 4.096 us times a power of two; 0 waits for ever. */
static uint64_t ack_timeout_ns(const struct cx_qp *qp)
{
	return qp->mod.timeout ? 4096ull << qp->mod.timeout : CX_NEVER;
}

static void settle_silence(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_ctrl *ctrl)
{
	if (qp->run.wait == CX_WAIT_ACK && qp->run.retries >= qp->mod.retry_cnt) {
		fail(hca, qp, ctrl, BSN_SYNDROME_RETRY_EXCEEDED, BSN_VENDOR_TIMEOUT_EXCEEDED);
		return;
	}
	if (qp->run.wait == CX_WAIT_ACK)
		qp->run.retries++;
	wait_for(hca, qp, CX_WAIT_ACK, ack_timeout_ns(qp));
}

static void settle_rnr(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_ctrl *ctrl,
		       uint64_t ns)
{
	if (qp->mod.rnr_retry != RNR_RETRY_FOREVER && qp->run.rnr_retries >= qp->mod.rnr_retry) {
		fail(hca, qp, ctrl, BSN_SYNDROME_RNR_RETRY_EXCEEDED, BSN_VENDOR_RNR_EXCEEDED);
		return;
	}
	if (qp->run.rnr_retries < RNR_RETRY_FOREVER)
		qp->run.rnr_retries++;
	wait_for(hca, qp, CX_WAIT_RNR, ns);
}

/* -- executing --------------------------------------------------------------------------------- */

static void trace_wqe(struct cx_hca *hca, const struct cx_qp *qp, const struct bsn_wqe *wqe)
{
	struct bsn_piece_iter pieces;
	struct bsn_row_iter rows;
	struct bsn_row_view view;
	struct bsn_piece piece;
	struct cx_text text;

	cx_text_begin(hca, &text);
	cx_text_format(&text, "wqe: qpn %#x index %#x %s", qp->head.number, qp->run.sq_head,
		       wqe->op ? wqe->op->name : "unknown");
	bsn_piece_iter_init(&pieces, wqe);
	while (bsn_piece_next(&pieces, &piece)) {
		if (piece.kind != BSN_PIECE_SEGMENT)
			continue;
		bsn_row_iter_init(&rows, piece.desc, wqe->bytes, piece.offset);
		cx_text_format(&text, " [%s", piece.desc->name);
		while (bsn_row_next(&rows, &view)) {
			if (!view.row->name || !view.value)
				continue;
			if (view.symbol)
				cx_text_format(&text, " %s %s", view.row->name, view.symbol->name);
			else
				cx_text_format(&text, " %s %#lx", view.row->name, view.value);
		}
		cx_text_char(&text, ']');
	}
	cx_text_write(hca, &text);
}

static void lint_finding(struct cx_hca *hca, const struct cx_qp *qp, const struct bsn_bad *bad)
{
	cx_lint(hca, "qpn %#x wqe %#x byte %u: %s%s%s: %s", qp->head.number, qp->run.sq_head,
		bad->offset, bad->segment, bad->field ? "." : "", bad->field ? bad->field : "",
		bad->why);
}

/* What the device takes on trust, since nothing but the order of the ring says it. */
static void lint_place(struct cx_hca *hca, const struct cx_qp *qp, const struct bsn_wqe *wqe)
{
	const uint16_t left = (uint16_t)(qp->run.sq_tail - qp->run.sq_head);

	if (wqe->ctrl.wqe_index != qp->run.sq_head)
		cx_lint(hca, "qpn %#x wqe %#x: ctrl.wqe_index is %#x", qp->head.number,
			qp->run.sq_head, wqe->ctrl.wqe_index);
	if (wqe->ctrl.qpn != qp->head.number)
		cx_lint(hca, "qpn %#x wqe %#x: ctrl.qpn is %#x", qp->head.number, qp->run.sq_head,
			wqe->ctrl.qpn);
	if (count_bb(wqe->ctrl.ds) > left)
		cx_lint(hca, "qpn %#x wqe %#x: %u basic blocks, but %u are published",
			qp->head.number, qp->run.sq_head, count_bb(wqe->ctrl.ds), left);
}

/* Judges the WQE: false when the device refuses it, with the reason in `bad`. */
static bool check(struct cx_hca *hca, const struct cx_qp *qp, const struct bsn_wqe *wqe,
		  struct bsn_bad *bad)
{
	struct bsn_bad findings[8];
	unsigned count = bsn_wqe_findings(wqe, findings, 8);

	lint_place(hca, qp, wqe);
	if (wqe->op && wqe->op->body != BSN_BODY_MESSAGE) {
		*bad = (struct bsn_bad){ .segment = bsn_ctrl_desc.name,
					 .field = "opcode",
					 .why = "the model does not do this operation",
					 .vendor_syndrome = BSN_VENDOR_RESERVED_OPCODE };
		return false;
	}
	for (unsigned i = 0; i < count && i < 8; i++) {
		if (findings[i].vendor_syndrome) {
			*bad = findings[i];
			return false;
		}
		lint_finding(hca, qp, &findings[i]);
	}
	return true;
}

static enum bsn_transport transport_of(const struct cx_qp *qp)
{
	return qp->attr.type == IBV_QPT_RC   ? BSN_TRANSPORT_RC
	       : qp->attr.type == IBV_QPT_UC ? BSN_TRANSPORT_UC
					     : BSN_TRANSPORT_UD;
}

/* The WQE at the head, taken apart; false: it failed. */
static bool load(struct cx_hca *hca, struct cx_qp *qp)
{
	struct cx_scratch *scratch = hca->scratch;
	struct bsn_bad bad = { 0 };
	struct bsn_ctrl ctrl = { 0 };
	size_t size;

	if (cx_sq_fetch(hca, qp, qp->run.sq_head, scratch->bytes, 0, BSN_BB_SIZE)) {
		fail(hca, qp, &ctrl, BSN_SYNDROME_LOCAL_QP_OPERATION,
		     BSN_VENDOR_TPT_WQE_FETCH + BSN_TPT_PAGE_FAULT);
		return false;
	}
	bsn_ctrl_decode(&ctrl, scratch->bytes);
	size = (size_t)ctrl.ds * BSN_DS_SIZE;
	if (size > BSN_BB_SIZE &&
	    cx_sq_fetch(hca, qp, qp->run.sq_head, scratch->bytes + BSN_BB_SIZE, BSN_BB_SIZE,
			size - BSN_BB_SIZE))
		size = BSN_BB_SIZE;
	if (!bsn_wqe_decode(scratch->bytes, size > BSN_BB_SIZE ? size : BSN_BB_SIZE,
			    transport_of(qp), &scratch->wqe, &bad)) {
		if (cx_tracing(hca))
			trace_wqe(hca, qp, &scratch->wqe);
		if (check(hca, qp, &scratch->wqe, &bad))
			return true;
	}
	cx_trace(hca, "wqe: qpn %#x index %#x refused: %s%s%s: %s", qp->head.number,
		 qp->run.sq_head, bad.segment, bad.field ? "." : "", bad.field ? bad.field : "",
		 bad.why);
	fail(hca, qp, &ctrl, BSN_SYNDROME_LOCAL_QP_OPERATION, bad.vendor_syndrome);
	return false;
}

static void fail_peer(struct cx_hca *hca, const struct cx_outcome *outcome)
{
	struct cx_qp *peer = cx_qp_find(hca, outcome->fail_peer);

	if (!peer)
		return;
	if (outcome->peer_event && peer->mod.qp_state != IBV_QPS_ERR)
		cx_event_qp(hca, peer, (enum ibv_event_type)outcome->peer_event);
	cx_qp_fail(hca, peer, BSN_VENDOR_FLUSHED_IN_ERROR);
}

/* One attempt at the WQE at the head; true: it is done with, in whatever way. */
static bool settle(struct cx_hca *hca, struct cx_qp *qp, const struct cx_outcome *outcome)
{
	const struct bsn_wqe *wqe = &hca->scratch->wqe;
	const struct bsn_ctrl ctrl = wqe->ctrl;

	switch (outcome->verdict) {
	case CX_SILENCE:
		settle_silence(hca, qp, &ctrl);
		break;
	case CX_RNR:
		settle_rnr(hca, qp, &ctrl, outcome->wait_ns);
		break;
	case CX_DELAYED:
		qp->run.delayed = true;
		wait_for(hca, qp, CX_WAIT_DELAY, outcome->wait_ns);
		break;
	case CX_NAKED:
	case CX_LOCAL_ERROR:
		fail(hca, qp, &ctrl, outcome->syndrome, outcome->vendor_syndrome);
		break;
	case CX_ACKED:
		complete(hca, qp, wqe, outcome);
		if (qp->mod.qp_state == IBV_QPS_RTS) /* the CQ may have failed it */
			advance(qp, ctrl.ds);
		break;
	}
	if (outcome->fail_peer)
		fail_peer(hca, outcome);
	return !qp->run.deadline_ns;
}

static bool execute(struct cx_hca *hca, struct cx_qp *qp)
{
	struct cx_outcome outcome;

	if (!load(hca, qp))
		return true;
	outcome.verdict = CX_ACKED;
	outcome.fail_peer = outcome.peer_event = 0;
	outcome.byte_count = 0;
	outcome.in_cqe = false;
	if (hca->faults && cx_faults_apply(hca, qp, &hca->scratch->wqe, &outcome))
		return settle(hca, qp, &outcome);
	if (hca->scratch->wqe.op->data != BSN_DATA_NONE)
		cx_transport_send(hca, qp, &hca->scratch->wqe, &outcome);
	return settle(hca, qp, &outcome);
}

unsigned cx_sq_run(struct cx_hca *hca, struct cx_qp *qp, unsigned max_wqes)
{
	unsigned done = 0;

	if (hca->shared->removed)
		return 0;
	if (qp->mod.qp_state == IBV_QPS_ERR) {
		cx_qp_flush(hca, qp);
		return 0;
	}
	if (qp->mod.qp_state != IBV_QPS_RTS || !cx_sq_publish(hca, qp))
		return 0;
	while (qp->mod.qp_state == IBV_QPS_RTS && qp->run.sq_head != qp->run.sq_tail &&
	       !qp->run.deadline_ns && (!max_wqes || done < max_wqes))
		done += execute(hca, qp);
	return done;
}
