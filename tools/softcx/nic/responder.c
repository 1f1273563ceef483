/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The responder. The syndrome of each cause is from IBTA "Error handling" (responder and requester
 * fault behavior), its vendor syndrome from wqe/bsn_syndrome.h.
 */
#include "responder.h"

#include <errno.h>
#include <string.h>

#include "bsn_syndrome.h"
#include "cq.h"
#include "error.h"
#include "events.h"
#include "faults.h"
#include "memory.h"
#include "rq.h"
#include "scratch.h"
#include "tables.h"

struct service {
	struct cx_hca *hca;
	struct cx_qp *qp; /* the responder's */
	const struct cx_message *message;
	struct cx_outcome *out;
	/* the shared receive queue that an XRC request names; else NULL */
	const struct cx_srq *xrc;
	/* its rights, its CQ, and whose receives it takes */
	uint32_t pdn, cqn, srqn;
	struct cx_recv *recv;         /* the receive WQE of a message that takes one */
	struct cx_completion receive; /* and its completion */
	uint8_t in_cqe[BSN_CQE_SIZE];
};

/* -- verdicts ---------------------------------------------------------------------------------- */

void cx_outcome_refuse(struct cx_outcome *out, const struct cx_qp *responder, uint8_t syndrome)
{
	static const struct {
		uint8_t vendor;
		enum ibv_event_type event;
	} causes[] = {
		[BSN_SYNDROME_REMOTE_INVALID_REQUEST] = { BSN_VENDOR_INVALID_REQUEST_NAK,
							  IBV_EVENT_QP_REQ_ERR },
		[BSN_SYNDROME_REMOTE_ACCESS] = { BSN_VENDOR_REMOTE_ACCESS_NAK,
						 IBV_EVENT_QP_ACCESS_ERR },
		[BSN_SYNDROME_REMOTE_OPERATION] = { BSN_VENDOR_REMOTE_OPERATION_NAK,
						    IBV_EVENT_QP_FATAL },
	};

	if (!cx_is_reliable(responder)) {
		out->verdict = CX_ACKED;
		return;
	}
	out->verdict = CX_NAKED;
	out->syndrome = syndrome;
	out->vendor_syndrome = causes[syndrome].vendor;
	out->peer_event = causes[syndrome].event;
	out->fail_peer = responder->head.number;
}

static void refuse(struct service *s, uint8_t syndrome)
{
	cx_outcome_refuse(s->out, s->qp, syndrome);
}

static void name_queue(const struct service *s, struct cx_completion *c)
{
	c->is_of_xrc_srq = s->xrc;
	c->uidx = s->xrc ? s->xrc->attr.uidx : 0;
}

static void complete_receive_in_error(struct service *s, uint8_t syndrome, unsigned vendor)
{
	struct cx_completion c = {
		.opcode = BSN_CQE_RESP_ERR,
		.syndrome = syndrome,
		.vendor_syndrome = (uint8_t)vendor,
		.wqe_counter = s->recv->index,
	};

	name_queue(s, &c);
	cx_recv_take(s->hca, s->qp, s->recv);
	cx_complete(s->hca, s->qp, s->cqn, &c);
}

/*
 * The responder's own receive WQE is wrong: it completes in error, and the queue pair fails. The
 * completion is the event (IBTA "Completion queue affiliated"); there is no asynchronous one.
 */
static void fail_receive(struct service *s, uint8_t to_requester, uint8_t syndrome, unsigned vendor)
{
	refuse(s, to_requester);
	s->out->peer_event = 0;
	complete_receive_in_error(s, syndrome, vendor);
	s->out->fail_peer = s->qp->head.number;
}

static const uint32_t rnr_timer_10us[32] = { BSN_RNR_TIMERS_10US };

static void ask_to_wait(struct service *s)
{
	s->out->verdict = cx_is_reliable(s->qp) ? CX_RNR : CX_ACKED;
	s->out->wait_ns = rnr_timer_10us[s->qp->mod.min_rnr_timer & 31] * 10000ull;
}

/* -- receiving --------------------------------------------------------------------------------- */

/*
 * False: a plan fails the receive, or its memory must be brought first. After an on-demand page
 * fault on a shared receive queue the WQE has left the chain: the driver posts it again when it
 * polls this CQE (rdma-core mlx5_complete_odp_fault()), and the sender tries again.
 */
static bool survives_faults(struct service *s)
{
	uint8_t syndrome, vendor;

	switch (cx_faults_receive(s->hca, s->qp, s->recv, &syndrome, &vendor)) {
	case CX_RECEIVE_WELL:
		return true;
	case CX_RECEIVE_WAITS:
		ask_to_wait(s);
		return false;
	case CX_RECEIVE_OVERTAKES:
		if (!cx_recv_overtake(s->hca, s->recv))
			return true;
		refuse(s, BSN_SYNDROME_REMOTE_OPERATION); /* the receive after it cannot be read */
		return false;
	case CX_RECEIVE_FAILS:
		break;
	}
	if (s->srqn && syndrome == BSN_SYNDROME_REMOTE_ABORTED &&
	    vendor == BSN_VENDOR_ODP_PAGE_FAULT) {
		ask_to_wait(s);
		complete_receive_in_error(s, syndrome, vendor);
	} else {
		fail_receive(s, BSN_SYNDROME_REMOTE_OPERATION, syndrome, vendor);
	}
	return false;
}

/* Takes a receive WQE for a message. False: the verdict is set. */
static bool find_receive(struct service *s)
{
	s->recv = &s->hca->scratch->recv;
	s->recv->srqn = s->srqn;
	switch (cx_recv_peek(s->hca, s->qp, s->recv)) {
	case 0:
		return survives_faults(s);
	case -EAGAIN:
		cx_counter_add(s->hca, s->qp, CX_COUNTER_out_of_buffer);
		ask_to_wait(s);
		return false;
	default:
		refuse(s, BSN_SYNDROME_REMOTE_OPERATION);
		return false;
	}
}

static void announce_communication(struct service *s)
{
	if (s->qp->mod.qp_state != IBV_QPS_RTR || s->qp->attr.dc || s->qp->run.comm_est)
		return;
	s->qp->run.comm_est = true;
	cx_event_qp(s->hca, s->qp, IBV_EVENT_COMM_EST);
}

static void complete_receive(struct service *s)
{
	static const uint8_t opcodes[] = {
		[BSN_OPCODE_SEND] = BSN_CQE_RESP_SEND,
		[BSN_OPCODE_SEND_IMM] = BSN_CQE_RESP_SEND_IMM,
		[BSN_OPCODE_SEND_INVAL] = BSN_CQE_RESP_SEND_INV,
		[BSN_OPCODE_RDMA_WRITE_IMM] = BSN_CQE_RESP_WR_IMM,
	};
	const struct cx_message *message = s->message;

	s->receive.opcode = opcodes[message->op->opcode];
	s->receive.wqe_counter = s->recv->index;
	s->receive.solicited = message->solicited;
	s->receive.rqpn = message->source_qpn;
	s->receive.slid = message->slid;
	s->receive.sl = message->sl;
	s->receive.grh = message->grh_kind;
	if (message->op->imm != BSN_IMM_NONE)
		s->receive.imm = message->imm;
	name_queue(s, &s->receive);
	cx_recv_take(s->hca, s->qp, s->recv);
	announce_communication(s);
	cx_complete(s->hca, s->qp, s->cqn, &s->receive);
	s->out->verdict = CX_ACKED;
}

/* Whether the message goes into the CQE instead of the buffer: configure_responder_scat_cqe(). */
static bool goes_into_cqe(const struct service *s, uint64_t len)
{
	const struct cx_cq *cq = cx_cq_find(s->hca, s->cqn);

	return s->qp->attr.scatter_to_cqe && s->qp->attr.type != IBV_QPT_UD && cq && len &&
	       len <= cx_cqe_inline_room(cq);
}

/* The sender's memory is gone: it stops in the middle, and the responder waits for the rest. */
static void fail_gather(struct service *s)
{
	cx_outcome_fail(s->out, BSN_SYNDROME_LOCAL_PROTECTION,
			BSN_VENDOR_TPT_GATHER + BSN_TPT_PAGE_FAULT);
}

/* The data of a datagram follow the header of the network. */
static enum cx_copied copy_message(struct service *s, struct cx_walk *to)
{
	struct cx_walk grh = cx_walk_bytes(s->message->grh, CX_GRH_BYTES);
	struct cx_walk payload = s->message->payload;
	const enum cx_copied copied =
		s->qp->attr.type == IBV_QPT_UD ? cx_walk_copy(s->hca, to, &grh) : CX_COPIED;

	return copied ? copied : cx_walk_copy(s->hca, to, &payload);
}

static bool scatter_message(struct service *s, uint64_t len)
{
	const struct bsn_recv_wqe *wqe = &s->recv->wqe;
	struct cx_walk to =
		cx_walk_list(wqe->data, wqe->data_count, s->qp, IBV_ACCESS_LOCAL_WRITE, len);
	enum cx_copied copied = CX_COPIED;
	unsigned detail;

	to.claim.pdn = s->pdn;
	s->receive.byte_count = (uint32_t)len;
	if (goes_into_cqe(s, len)) {
		to = cx_walk_bytes(s->in_cqe, len);
		s->receive.inline_bytes = s->in_cqe;
	}
	detail = cx_walk_check(s->hca, &to);
	if (!detail)
		copied = copy_message(s, &to);
	if (copied == CX_FAULT_TO)
		detail = BSN_TPT_PAGE_FAULT;
	if (copied == CX_FAULT_FROM)
		fail_gather(s);
	else if (detail)
		fail_receive(s, BSN_SYNDROME_REMOTE_OPERATION, BSN_SYNDROME_LOCAL_PROTECTION,
			     BSN_VENDOR_TPT_RECV + detail);
	return !detail && !copied;
}

static bool fits_receive(struct service *s, uint64_t len)
{
	if (len <= s->recv->wqe.total_bytes)
		return true;
	fail_receive(s, BSN_SYNDROME_REMOTE_INVALID_REQUEST, BSN_SYNDROME_LOCAL_LENGTH,
		     BSN_VENDOR_SEND_TOO_LONG);
	return false;
}

static void do_send(struct service *s)
{
	const uint64_t header = s->qp->attr.type == IBV_QPT_UD ? CX_GRH_BYTES : 0;
	const uint64_t len = header + s->message->len;

	if (!find_receive(s) || !fits_receive(s, len) || !scatter_message(s, len))
		return;
	if (s->message->op->imm == BSN_IMM_INVALIDATE &&
	    !cx_key_invalidate(s->hca, s->message->imm,
			       &(struct cx_claim){ s->pdn, s->qp->head.number, 0 })) {
		fail_receive(s, BSN_SYNDROME_REMOTE_ACCESS, BSN_SYNDROME_MW_BIND,
			     BSN_VENDOR_TPT_INVALIDATE + BSN_TPT_PD);
		return;
	}
	complete_receive(s);
}

/* -- one-sided operations ---------------------------------------------------------------------- */

/* The memory that the message names. False: it is refused. A message of no bytes names none. */
static bool open_memory(struct service *s, uint64_t len, unsigned right, struct cx_walk *walk)
{
	const struct cx_message *message = s->message;
	unsigned detail;

	if (!(s->qp->mod.qp_access_flags & right)) {
		refuse(s, BSN_SYNDROME_REMOTE_INVALID_REQUEST);
		return false;
	}
	*walk = cx_walk_key(message->rkey, message->raddr, s->qp, (int)right, len);
	walk->claim.pdn = s->pdn;
	detail = cx_walk_check(s->hca, walk);
	if (detail)
		refuse(s, detail == BSN_TPT_PAGE_FAULT ? BSN_SYNDROME_REMOTE_OPERATION
						       : BSN_SYNDROME_REMOTE_ACCESS);
	return !detail;
}

static void do_write(struct service *s)
{
	const bool receives = s->message->op->imm == BSN_IMM_IMMEDIATE;
	struct cx_walk to, payload = s->message->payload;

	if ((receives && !find_receive(s)) ||
	    !open_memory(s, s->message->len, IBV_ACCESS_REMOTE_WRITE, &to))
		return;
	switch (cx_walk_copy(s->hca, &to, &payload)) {
	case CX_COPIED:
		break;
	case CX_FAULT_FROM:
		fail_gather(s);
		return;
	case CX_FAULT_TO:
		refuse(s, BSN_SYNDROME_REMOTE_OPERATION);
		return;
	}
	announce_communication(s);
	s->out->verdict = CX_ACKED;
	if (!receives)
		return;
	s->receive.byte_count = (uint32_t)s->message->len;
	complete_receive(s);
}

static void do_read(struct service *s)
{
	if (!s->qp->mod.max_dest_rd_atomic) {
		refuse(s, BSN_SYNDROME_REMOTE_INVALID_REQUEST);
		return;
	}
	if (open_memory(s, s->message->len, IBV_ACCESS_REMOTE_READ, &s->out->result))
		s->out->verdict = CX_ACKED;
}

/* Adds field by field: a set bit of `boundary` is the top of a field, and its carry is dropped. */
static uint64_t add_fields(uint64_t a, uint64_t b, uint64_t boundary)
{
	/* Adds without the top bits, then adds the top bits alone, so no carry crosses them. */
	return ((a & ~boundary) + (b & ~boundary)) ^ ((a ^ b) & boundary);
}

static uint64_t compute_atomic(const struct cx_message *message, uint64_t old)
{
	const struct bsn_wqe_atomic *op = &message->atomic;

	if (message->op->opcode == BSN_OPCODE_ATOMIC_FA ||
	    message->op->opcode == BSN_OPCODE_ATOMIC_MASKED_FA)
		return add_fields(old, op->swap_or_add, op->field_boundary);
	if ((old ^ op->compare) & op->compare_mask)
		return old;
	return (old & ~op->swap_mask) | (op->swap_or_add & op->swap_mask);
}

/* The target is in the host's order; the device's mode is for the result (requester.c). */
static uint64_t load_operand(const uint8_t *bytes, unsigned size)
{
	uint32_t four;
	uint64_t eight;

	memcpy(&four, bytes, sizeof(four));
	memcpy(&eight, bytes, sizeof(eight));
	return size == sizeof(four) ? four : eight;
}

static void store_operand(uint8_t *bytes, unsigned size, uint64_t value)
{
	uint32_t four = (uint32_t)value;

	memcpy(bytes, &value, sizeof(value));
	if (size == sizeof(four))
		memcpy(bytes, &four, sizeof(four));
}

static void do_atomic(struct service *s)
{
	const unsigned size = s->message->atomic.size_bytes;
	uint8_t *old = s->out->operand, new[sizeof(s->out->operand)];
	struct cx_walk from, to, old_bytes, new_bytes;

	if (!s->qp->mod.max_dest_rd_atomic || s->message->raddr % size) {
		refuse(s, BSN_SYNDROME_REMOTE_INVALID_REQUEST);
		return;
	}
	if (!open_memory(s, size, IBV_ACCESS_REMOTE_ATOMIC, &from))
		return;
	/* An mkey may scatter the memory, or have it at another address. */
	if (from.left || from.here.va % size) {
		refuse(s, BSN_SYNDROME_REMOTE_INVALID_REQUEST);
		return;
	}
	to = from;
	memset(old, 0, sizeof(s->out->operand));
	old_bytes = cx_walk_bytes(old, size);
	new_bytes = cx_walk_bytes(new, size);
	if (!cx_walk_copy(s->hca, &old_bytes, &from)) {
		store_operand(new, size, compute_atomic(s->message, load_operand(old, size)));
		if (!cx_walk_copy(s->hca, &to, &new_bytes)) {
			s->out->result = cx_walk_bytes(old, size);
			s->out->verdict = CX_ACKED;
			return;
		}
	}
	refuse(s, BSN_SYNDROME_REMOTE_OPERATION);
}

static bool is_of_domain(struct cx_hca *hca, const struct cx_srq *srq, const struct cx_qp *target)
{
	const struct cx_xrcd *a = cx_xrcd_find(hca, srq->attr.xrcdn);
	const struct cx_xrcd *b = cx_xrcd_find(hca, target->attr.xrcdn);

	if (!a || !b || a == b || !a->attr.has_file || !b->attr.has_file)
		return a && a == b;
	return a->attr.device == b->attr.device && a->attr.inode == b->attr.inode;
}

/*
 * An XRC request names a shared receive queue of the target's domain, of any process. That queue's
 * receives, CQ and protection domain serve the request, even a WRITE or READ (IBTA annex A14, XRC).
 * No public source says what a ConnectX answers if there is no such queue; IBTA requires this
 * answer to an invalid request.
 */
static bool choose_queue(struct service *s)
{
	const struct cx_qp_attr *attr = &s->qp->attr;

	s->xrc = NULL;
	s->pdn = attr->pdn;
	s->cqn = attr->recv_cqn;
	s->srqn = attr->srqn;
	if (attr->type != IBV_QPT_XRC_RECV)
		return true;
	s->xrc = cx_srq_find(s->hca, s->message->srqn);
	if (!s->xrc || !is_of_domain(s->hca, s->xrc, s->qp)) {
		cx_trace(s->hca, "xrc: qpn %#x: SRQ %#x is not there, or of another domain",
			 s->qp->head.number, s->message->srqn);
		refuse(s, BSN_SYNDROME_REMOTE_INVALID_REQUEST);
		return false;
	}
	s->pdn = s->xrc->attr.pdn;
	s->cqn = s->xrc->attr.cqn;
	s->srqn = s->xrc->head.number;
	return true;
}

static void count_request(const struct service *s)
{
	const struct bsn_wqe_op *op = s->message->op;

	if (op->has_atomic)
		cx_counter_add(s->hca, s->qp, CX_COUNTER_rx_atomic_requests);
	else if (op->data == BSN_DATA_SCATTER)
		cx_counter_add(s->hca, s->qp, CX_COUNTER_rx_read_requests);
	else if (op->has_raddr)
		cx_counter_add(s->hca, s->qp, CX_COUNTER_rx_write_requests);
}

void cx_respond(struct cx_hca *hca, struct cx_qp *qp, const struct cx_message *message,
		struct cx_outcome *out)
{
	struct service s;

	hca->asked = CX_PROCS;
	s.hca = hca;
	s.qp = qp;
	s.message = message;
	s.out = out;
	s.receive = (struct cx_completion){ 0 };
	count_request(&s);
	if (!choose_queue(&s))
		return;
	if (message->op->has_atomic)
		do_atomic(&s);
	else if (message->op->data == BSN_DATA_SCATTER)
		do_read(&s);
	else if (message->op->has_raddr)
		do_write(&s);
	else
		do_send(&s);
}
