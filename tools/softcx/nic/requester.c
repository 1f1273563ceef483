/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executes send queues: each WQE in order, from its bytes to its completion. A WQE that must wait
 * (for an answer, a receive, or a fault's delay) waits at the head, and all later ones wait, too.
 */
#include "requester.h"

#include <string.h>

#include "cq.h"
#include "datasheet.h"
#include "deadline.h"
#include "error.h"
#include "events.h"
#include "faults.h"
#include "local.h"
#include "scratch.h"
#include "sq.h"
#include "tables.h"
#include "trace.h"
#include "wire.h"

/* An attempt at the WQE at the head. */
struct attempt {
	struct cx_outcome out;
	struct cx_result result;
};

/* -- ending ------------------------------------------------------------------------------------ */

/* The next WQE has used no retries, and has not waited for a fault. */
static void begin_next(struct cx_qp *qp)
{
	qp->run.wait = CX_WAIT_NONE;
	qp->run.retries = qp->run.rnr_retries = 0;
	qp->run.delayed = false;
}

static void complete(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		     const struct cx_result *result)
{
	const struct cx_completion c = {
		.opcode = BSN_CQE_REQ,
		.wqe_opcode = (uint8_t)wqe->ctrl.opcode,
		.wqe_counter = qp->run.sq_head,
		.byte_count = result->byte_count,
		.inline_bytes = result->in_cqe ? result->bytes : NULL,
	};

	begin_next(qp);
	if (wqe->ctrl.ce < BSN_CE_ALWAYS)
		return;
	qp->run.umr_silent = false;
	cx_complete(hca, qp, qp->attr.send_cqn, &c);
}

/*
 * The WQE at the head failed: writes its CQE, then the queue goes into error and the rest is
 * flushed. A DCI with streams goes on with the others. A WQE without control segment belongs to no
 * stream.
 */
static void fail(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_ctrl *ctrl,
		 uint8_t syndrome, uint8_t vendor)
{
	if (cx_sq_complete_error(hca, qp, ctrl, syndrome, vendor))
		cx_event_qp(hca, qp, IBV_EVENT_QP_FATAL);
	cx_sq_advance(qp, ctrl->ds);
	if (ctrl->ds && cx_dc_fail_stream(hca, qp, (uint16_t)ctrl->dci_stream))
		begin_next(qp);
	else
		cx_qp_fail(hca, qp, BSN_VENDOR_FLUSHED_IN_ERROR);
}

/* The other requests of a failed stream are flushed. */
static void flush_one(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_ctrl *ctrl)
{
	cx_sq_complete_error(hca, qp, ctrl, BSN_SYNDROME_FLUSHED, BSN_VENDOR_FLUSHED_IN_ERROR);
	cx_sq_advance(qp, ctrl->ds);
}

/* -- waiting ----------------------------------------------------------------------------------- */

enum { RNR_RETRY_FOREVER = 7 };

static void wait_for(struct cx_hca *hca, struct cx_qp *qp, enum cx_wait why, uint64_t ns)
{
	qp->run.wait = (uint8_t)why;
	qp->run.sq_fetched = qp->run.sq_head; /* the next attempt reads it again */
	cx_set_deadline(hca, qp->head.owner, &qp->run.deadline_ns, ns);
	cx_trace(hca, "wait: qpn %#x wqe %#x %s %lu ns", qp->head.number, qp->run.sq_head,
		 why == CX_WAIT_ACK   ? "no answer,"
		 : why == CX_WAIT_RNR ? "receiver not ready,"
		 : why == CX_WAIT_CQE ? "done, its CQE is delayed,"
				      : "delayed,",
		 ns);
}

/* IBTA "Local ACK Timeout": 4.096 us times a power of two; 0: for ever. */
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
	cx_counter_add(hca, qp, CX_COUNTER_rnr_nak_retry_err);
	wait_for(hca, qp, CX_WAIT_RNR, ns);
}

/* -- loading ----------------------------------------------------------------------------------- */

static void trace_wqe(struct cx_hca *hca, const struct cx_qp *qp, const struct bsn_wqe *wqe)
{
	struct bsn_piece_iter pieces;
	struct bsn_row_iter rows;
	struct bsn_row_view view;
	struct bsn_piece piece;
	struct cx_text text;

	cx_line_begin(hca, &text);
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
	cx_line_write(hca, &text);
}

static void lint_finding(struct cx_hca *hca, const struct cx_qp *qp, const struct bsn_bad *bad)
{
	cx_lint(hca, "qpn %#x wqe %#x byte %u: %s%s%s: %s", qp->head.number, qp->run.sq_head,
		bad->offset, bad->segment, bad->field ? "." : "", bad->field ? bad->field : "",
		bad->why);
}

/* The device trusts the ring's order, and does not compare these. */
static void lint_place(struct cx_hca *hca, const struct cx_qp *qp, const struct bsn_wqe *wqe)
{
	const uint16_t left = (uint16_t)(qp->run.sq_tail - qp->run.sq_head);

	if (wqe->ctrl.wqe_index != qp->run.sq_head)
		cx_lint(hca, "qpn %#x wqe %#x: ctrl.wqe_index is %#x", qp->head.number,
			qp->run.sq_head, wqe->ctrl.wqe_index);
	if (wqe->ctrl.qpn != qp->head.number)
		cx_lint(hca, "qpn %#x wqe %#x: ctrl.qpn is %#x", qp->head.number, qp->run.sq_head,
			wqe->ctrl.qpn);
	if (cx_sq_count_bb(wqe->ctrl.ds) > left)
		cx_lint(hca, "qpn %#x wqe %#x: %u basic blocks, but %u are published",
			qp->head.number, qp->run.sq_head, cx_sq_count_bb(wqe->ctrl.ds), left);
}

/* Checks the WQE. False: the device refuses it, with the reason in `bad`. */
static bool check(struct cx_hca *hca, const struct cx_qp *qp, const struct bsn_wqe *wqe,
		  struct bsn_bad *bad)
{
	struct bsn_bad findings[8];
	unsigned count = bsn_wqe_findings(wqe, findings, 8);

	lint_place(hca, qp, wqe);
	if (wqe->op && !wqe->op->is_message && !cx_local_can(wqe)) {
		*bad = (struct bsn_bad){ .segment = bsn_ctrl_desc.name,
					 .field = "opcode",
					 .why = "the model does not have this operation",
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
	       : qp->attr.dc                 ? BSN_TRANSPORT_DC
	       : qp->attr.type == IBV_QPT_XRC_SEND ? BSN_TRANSPORT_XRC
						   : BSN_TRANSPORT_UD;
}

/* Decodes the WQE at the head. False: it failed. */
static bool load(struct cx_hca *hca, struct cx_qp *qp)
{
	struct cx_scratch *scratch = hca->scratch;
	struct bsn_bad bad = { 0 };
	struct bsn_ctrl ctrl = { 0 };
	size_t size;

	cx_sq_count_fetch(hca, qp, 1);
	if (cx_sq_read(hca, qp, qp->run.sq_head, scratch->bytes, 0, BSN_BB_SIZE)) {
		fail(hca, qp, &ctrl, BSN_SYNDROME_LOCAL_QP_OPERATION,
		     BSN_VENDOR_TPT_WQE_FETCH + BSN_TPT_PAGE_FAULT);
		return false;
	}
	bsn_ctrl_decode(&ctrl, scratch->bytes);
	size = (size_t)ctrl.ds * BSN_DS_SIZE;
	cx_sq_count_fetch(hca, qp, cx_sq_count_bb(ctrl.ds));
	if (size > BSN_BB_SIZE && cx_sq_read(hca, qp, qp->run.sq_head, scratch->bytes + BSN_BB_SIZE,
					     BSN_BB_SIZE, size - BSN_BB_SIZE))
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

/* -- sending ----------------------------------------------------------------------------------- */

/* If the top bit of a Q_Key is set, the sender's own one is used (IBTA "Q_Key"). */
static uint32_t choose_qkey(const struct cx_qp *qp, uint32_t qkey)
{
	return qkey & 1u << 31 ? qp->mod.qkey : qkey;
}

static void fill_message(struct cx_hca *hca, const struct cx_qp *qp, const struct bsn_wqe *wqe,
			 struct cx_message *message)
{
	message->op = wqe->op;
	message->len = wqe->total_bytes;
	message->payload = cx_walk_list(wqe->data, wqe->data_count, qp, 0, wqe->total_bytes);
	message->imm = wqe->ctrl.imm;
	message->solicited = wqe->ctrl.solicited;
	message->raddr = wqe->raddr.raddr;
	message->rkey = wqe->raddr.rkey;
	message->atomic = wqe->atomic;
	message->source_qpn = qp->head.number;
	message->stream = (uint16_t)wqe->ctrl.dci_stream;
	message->slid = hca->config.link == CX_LINK_IB ? CX_LID : 0;
	message->sl = 0;
	message->grh_kind = BSN_CQE_GRH_NONE;
	message->qkey = choose_qkey(qp, wqe->to.ud.qkey);
	message->srqn = wqe->to.xrc.srqn;
}

/*
 * The result of an atomic is in the host's order so far. A result of 4 bytes is big-endian on every
 * device (UCX ib_mlx5dv_md.c, ext_atomic_arg_sizes_be). One of 8 is big-endian in a CQE
 * (bsn_cqe.h), or if the device is in that mode.
 */
static void order_result(const struct cx_hca *hca, const struct bsn_wqe *wqe, bool in_cqe,
			 uint8_t *bytes)
{
	uint32_t four;
	uint64_t eight;

	if (wqe->atomic.size_bytes == sizeof(four)) {
		memcpy(&four, bytes, sizeof(four));
		bsn_store_be32(bytes, four);
	} else if (in_cqe || hca->config.big_endian_atomics) {
		memcpy(&eight, bytes, sizeof(eight));
		bsn_store_be64(bytes, eight);
	}
}

/* The result of a READ or an atomic goes into memory, or into the CQE. */
static void scatter_result(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
			   struct attempt *attempt)
{
	struct cx_outcome *out = &attempt->out;
	struct cx_result *result = &attempt->result;
	const struct cx_cq *cq = cx_cq_find(hca, qp->attr.send_cqn);
	const uint64_t len = cx_walk_len(&out->result);
	struct cx_walk to =
		cx_walk_list(wqe->data, wqe->data_count, qp, IBV_ACCESS_LOCAL_WRITE, len);
	enum cx_copied copied = CX_COPIED;
	unsigned detail;

	result->byte_count = (uint32_t)len;
	result->in_cqe = qp->attr.scatter_to_cqe_requester && cq && len <= cx_cqe_inline_room(cq);
	if (result->in_cqe)
		to = cx_walk_bytes(result->bytes, len);
	if (wqe->op->has_atomic)
		order_result(hca, wqe, result->in_cqe, out->operand);
	detail = cx_walk_check(hca, &to);
	if (!detail)
		copied = cx_walk_copy(hca, &to, &out->result);
	if (copied == CX_FAULT_TO)
		detail = BSN_TPT_PAGE_FAULT;
	if (detail) {
		cx_outcome_fail(out, BSN_SYNDROME_LOCAL_PROTECTION, BSN_VENDOR_TPT_DATA + detail);
	} else if (copied == CX_FAULT_FROM) {
		const struct cx_qp *peer =
			cx_qp_find(hca, qp->attr.dc ? wqe->to.dc.dqpn : qp->mod.dest_qp_num);

		cx_outcome_refuse(out, peer ? peer : qp, BSN_SYNDROME_REMOTE_OPERATION);
	}
}

enum { PORT_MTU_BYTES = 4096 }; /* kernel/device.c reports it as active */

/* What the requester itself refuses to send. */
static bool may_send(struct cx_hca *hca, const struct cx_qp *qp, const struct bsn_wqe *wqe,
		     struct cx_message *message, struct cx_outcome *out)
{
	const bool datagram = qp->attr.type == IBV_QPT_UD;
	unsigned detail;

	if (wqe->total_bytes >
	    (datagram ? (uint64_t)PORT_MTU_BYTES : UINT64_C(1) << qp->log_msg_max)) {
		cx_outcome_fail(out, BSN_SYNDROME_LOCAL_LENGTH,
				datagram ? BSN_VENDOR_LONGER_THAN_MTU
					 : BSN_VENDOR_MESSAGE_TOO_LONG);
		return false;
	}
	if (wqe->op->data != BSN_DATA_GATHER)
		return true;
	detail = cx_walk_check(hca, &message->payload);
	if (detail)
		cx_outcome_fail(out, BSN_SYNDROME_LOCAL_PROTECTION, BSN_VENDOR_TPT_GATHER + detail);
	return !detail;
}

static void send_request(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		 struct attempt *attempt)
{
	struct cx_message message;

	fill_message(hca, qp, wqe, &message);
	if (!may_send(hca, qp, wqe, &message, &attempt->out))
		return;
	if (qp->attr.type == IBV_QPT_UD) {
		cx_wire_send_datagram(hca, &message, &wqe->to.ud, &attempt->out);
		return;
	}
	qp->run.reads += wqe->op->data == BSN_DATA_SCATTER;
	if (qp->attr.dc)
		cx_wire_send_dc(hca, qp, &message, &wqe->to.dc, &attempt->out);
	else
		cx_wire_send(hca, qp, &message, &attempt->out);
	if (wqe->op->data == BSN_DATA_SCATTER && attempt->out.verdict == CX_ACKED)
		scatter_result(hca, qp, wqe, attempt);
}

/* -- executing --------------------------------------------------------------------------------- */

static void fail_peer(struct cx_hca *hca, const struct cx_outcome *outcome)
{
	struct cx_qp *peer = cx_qp_find(hca, outcome->fail_peer);

	if (!peer)
		return;
	if (outcome->peer_event && peer->mod.qp_state != IBV_QPS_ERR)
		cx_event_qp(hca, peer, (enum ibv_event_type)outcome->peer_event);
	if (!peer->attr.dc) /* a DCT goes on to serve its other initiators */
		cx_qp_fail(hca, peer, BSN_VENDOR_FLUSHED_IN_ERROR);
}

/* The WQE at the head is done; its CQE comes later, by a fault. */
static void hold_cqe(struct cx_hca *hca, struct cx_qp *qp, const struct attempt *attempt)
{
	qp->run.held = attempt->result;
	wait_for(hca, qp, CX_WAIT_CQE, attempt->out.cqe_delay_ns);
}

/* Handles the outcome of one attempt at the WQE at the head. True: the WQE is done. */
static bool settle(struct cx_hca *hca, struct cx_qp *qp, const struct attempt *attempt)
{
	const struct cx_outcome *outcome = &attempt->out;
	const struct bsn_wqe *wqe = &hca->scratch->wqe;
	const struct bsn_ctrl ctrl = wqe->ctrl;

	if (qp->run.wait == CX_WAIT_ACK)
		cx_counter_add(hca, qp, CX_COUNTER_local_ack_timeout_err);
	switch (outcome->verdict) {
	case CX_SILENCE:
		settle_silence(hca, qp, &ctrl);
		break;
	case CX_RNR:
		settle_rnr(hca, qp, &ctrl, outcome->wait_ns);
		break;
	case CX_CNAKED:
		wait_for(hca, qp, CX_WAIT_DELAY, outcome->wait_ns);
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
		if (outcome->cqe_delay_ns) {
			hold_cqe(hca, qp, attempt);
			break;
		}
		complete(hca, qp, wqe, &attempt->result);
		if (qp->mod.qp_state == IBV_QPS_RTS) /* the CQ may have failed it */
			cx_sq_advance(qp, ctrl.ds);
		break;
	}
	if (outcome->fail_peer)
		fail_peer(hca, outcome);
	return !qp->run.deadline_ns;
}

/* The fence for READs and atomics does not wait for changes of mkeys. */
static void fence(struct cx_qp *qp, uint32_t mode)
{
	if (mode == BSN_FENCE_FENCE || mode == BSN_FENCE_STRONG_ORDERING ||
	    mode == BSN_FENCE_SMALL_AND_FENCE)
		qp->run.reads = 0;
	if (mode == BSN_FENCE_INITIATOR_SMALL || mode == BSN_FENCE_STRONG_ORDERING ||
	    mode == BSN_FENCE_SMALL_AND_FENCE)
		qp->run.umr_open = false;
}

static void attempt_at(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		       struct attempt *attempt)
{
	fence(qp, wqe->ctrl.fence);
	if (hca->faults && cx_faults_apply(hca, qp, wqe, &attempt->out))
		return;
	if (!wqe->op->is_message)
		cx_local_run(hca, qp, wqe, &attempt->out);
	else if (wqe->op->data != BSN_DATA_NONE)
		send_request(hca, qp, wqe, attempt);
}

static bool execute(struct cx_hca *hca, struct cx_qp *qp)
{
	const struct bsn_wqe *wqe = &hca->scratch->wqe;
	struct attempt attempt;

	if (!load(hca, qp))
		return true;
	if (cx_dc_is_errored(qp, (uint16_t)wqe->ctrl.dci_stream)) {
		flush_one(hca, qp, &wqe->ctrl);
		return true;
	}
	attempt.out.verdict = CX_ACKED;
	attempt.out.fail_peer = attempt.out.peer_event = 0;
	attempt.out.cqe_delay_ns = 0;
	attempt.result = (struct cx_result){ 0 };
	if (qp->run.wait == CX_WAIT_CQE)
		attempt.result = qp->run.held;
	else
		attempt_at(hca, qp, wqe, &attempt);
	return settle(hca, qp, &attempt);
}

unsigned cx_requester_run(struct cx_hca *hca, struct cx_qp *qp, unsigned max_wqes)
{
	const uint16_t before = qp->run.sq_tail;
	unsigned done = 0;

	if (hca->shared->removed)
		return 0;
	if (qp->mod.qp_state == IBV_QPS_ERR) {
		cx_qp_flush(hca, qp);
		return 0;
	}
	if (qp->mod.qp_state != IBV_QPS_RTS || !cx_sq_publish(hca, qp))
		return 0;
	/* On a passive device no doorbell is seen, but the record moves. */
	if (qp->run.sq_unheard && qp->run.sq_tail == before)
		return 0;
	qp->run.sq_unheard = false;
	qp->run.reads = 0; /* READs of earlier doorbells were answered at once */
	while (qp->mod.qp_state == IBV_QPS_RTS && qp->run.sq_head != qp->run.sq_tail &&
	       !qp->run.deadline_ns && (!max_wqes || done < max_wqes))
		done += execute(hca, qp);
	return done;
}
