/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes CQEs, and raises the events that a CQ is armed for. */
#include "cq.h"

#include <errno.h>
#include <string.h>

#include "bsn_cqe.h"
#include "bsn_db.h"
#include "clock.h"
#include "deadline.h"
#include "delivery.h"
#include "events.h"
#include "memory.h"
#include "session.h"
#include "tables.h"
#include "trace.h"

/* -- arming ------------------------------------------------------------------------------------ */

static void fire(struct cx_hca *hca, struct cx_cq *cq)
{
	cx_event_completion(hca, cq); /* first: if it dies here, cx_cq_finish() repeats it */
	cq->deadline_ns = 0;
	cq->fired_sn = (int8_t)cq->arm_sn;
	cq->arm = CX_ARM_NONE;
}

/* The program may not have seen CQEs after the consumer index with which it armed. */
static bool is_due(const struct cx_cq *cq, uint32_t ci)
{
	const uint32_t unseen = (cq->producer - ci) & BSN_CQ_INDEX_MASK;
	const uint32_t solicited = (cq->producer - cq->solicited_end) & BSN_CQ_INDEX_MASK;

	if (cq->arm == CX_ARM_ANY)
		return unseen;
	return cq->arm == CX_ARM_SOLICITED && cq->any_solicited && solicited < unseen;
}

/*
 * An event is due: at once, or by moderation (PRM "CQ context": cq_max_count, cq_period) after so
 * many CQEs or so long after the first, whichever is earlier.
 */
static void fire_moderated(struct cx_hca *hca, struct cx_cq *cq)
{
	const uint32_t count = (cq->producer - cq->armed_ci) & BSN_CQ_INDEX_MASK;
	const bool is_moderated = cq->moderate_count || cq->moderate_us;

	if (!is_moderated || (cq->moderate_count && count >= cq->moderate_count))
		fire(hca, cq);
	else if (cq->moderate_us && !cq->deadline_ns)
		cx_set_deadline(hca, cq->head.owner, &cq->deadline_ns, cq->moderate_us * 1000ull);
}

void cx_cq_run_deadline(struct cx_hca *hca, struct cx_cq *cq)
{
	cq->deadline_ns = 0;
	if (cq->arm != CX_ARM_NONE)
		fire(hca, cq);
}

void cx_cq_arm(struct cx_hca *hca, struct cx_cq *cq, const void *word)
{
	struct bsn_dbr_cq_arm arm;

	bsn_dbr_cq_arm_decode(&arm, word);
	cx_trace(hca, "arm: cqn %#x sn %u %s ci %#x", cq->head.number, arm.sn,
		 arm.cmd == BSN_CQ_ARM_SOLICITED ? "solicited" : "next", arm.ci);
	if ((int)arm.sn == cq->fired_sn)
		return; /* the event of this number was raised (bsn_db.h) */
	cq->arm_sn = (uint8_t)arm.sn;
	cq->arm = arm.cmd == BSN_CQ_ARM_SOLICITED ? CX_ARM_SOLICITED : CX_ARM_ANY;
	cq->armed_ci = arm.ci;
	if (is_due(cq, arm.ci))
		fire_moderated(hca, cq);
}

/*
 * Without trapped doorbells only the record shows that the CQ is armed. The driver clears it before
 * it creates the CQ, and 0 is a valid first arm. So it is filled with a value that no arm has.
 */
int cx_cq_reset_arm(struct cx_hca *hca, struct cx_cq *cq)
{
	cq->arm_record = UINT32_MAX;
	if (!hca->config.passive)
		return 0;
	return cx_mem_write(hca, cq->head.owner, cq->attr.db + BSN_DBR_CQ_ARM_OFFSET,
			    &cq->arm_record, sizeof(cq->arm_record));
}

void cx_cq_poll_arm(struct cx_hca *hca, struct cx_cq *cq)
{
	uint32_t record;

	if (cx_mem_read(hca, cq->head.owner, cq->attr.db + BSN_DBR_CQ_ARM_OFFSET, &record,
			sizeof(record)) ||
	    record == cq->arm_record)
		return;
	cq->arm_record = record;
	cx_cq_arm(hca, cq, &record);
}

/* -- CQEs -------------------------------------------------------------------------------------- */

/*
 * IBTA "Completion Queue errors": the CQ is dead, and so is each queue that completes to it.
 * Nothing is written any more.
 */
void cx_cq_fail(struct cx_hca *hca, struct cx_cq *cq)
{
	if (cq->failed)
		return;
	cq->failed = true;
	cx_trace(hca, "cq: %#x overrun", cq->head.number);
	cx_event_cq_error(hca, cq);
}

/* How many CQEs the program has not consumed; UINT32_MAX if that cannot be read. */
static uint32_t count_unconsumed(struct cx_hca *hca, const struct cx_cq *cq)
{
	uint8_t record[BSN_DBR_CQ_CI_SIZE];
	struct bsn_dbr_cq_ci consumer;

	if (cx_mem_read(hca, cq->head.owner, cq->attr.db + BSN_DBR_CQ_CI_OFFSET, record,
			sizeof(record)))
		return UINT32_MAX;
	bsn_dbr_cq_ci_decode(&consumer, record);
	return (cq->producer - consumer.ci) & BSN_CQ_INDEX_MASK;
}

static bool is_full(struct cx_hca *hca, const struct cx_cq *cq)
{
	return !cq->attr.ignore_overrun &&
	       count_unconsumed(hca, cq) + (uint64_t)cq->session.count >= cq->attr.entries;
}

/* mlx5_ib: configure_requester_scat_cqe(), configure_responder_scat_cqe() */
unsigned cx_cqe_inline_room(const struct cx_cq *cq)
{
	return bsn_cqe_inline_room(bsn_cqe_inline_format(cq->attr.cqe_size));
}

static bool is_error(const struct cx_completion *c)
{
	return c->opcode == BSN_CQE_REQ_ERR || c->opcode == BSN_CQE_RESP_ERR;
}

/* The last dword has a table of its own: it is the same in every view. */
static void encode_tail(uint8_t *cqe, const struct cx_cq *cq, const struct cx_completion *c)
{
	const struct bsn_cqe_tail tail = {
		.wqe_counter = c->wqe_counter,
		.opcode = c->opcode,
		.format = c->inline_bytes ? bsn_cqe_inline_format(cq->attr.cqe_size)
					  : BSN_CQE_NO_INLINE,
		.solicited = c->solicited,
		.owner = !!(cq->producer & cq->attr.entries),
	};

	bsn_cqe_tail_encode(cqe + BSN_CQE_TAIL_OFFSET, &tail);
}

/* The library's name for the queue. */
static uint32_t uidx_of(const struct cx_qp *qp, const struct cx_completion *c)
{
	return c->is_of_xrc_srq ? c->uidx : qp->attr.uidx;
}

static void encode_error(uint8_t *cqe, const struct cx_qp *qp, const struct cx_completion *c)
{
	const struct bsn_cqe_err err = {
		.srqn_uidx = uidx_of(qp, c),
		.vendor_syndrome = c->vendor_syndrome,
		.syndrome = c->syndrome,
		.wqe_opcode = c->wqe_opcode,
		.qpn = qp->head.number,
	};

	bsn_cqe_err_encode(cqe, &err);
}

static void encode_request(uint8_t *cqe, const struct cx_qp *qp, const struct cx_completion *c,
			   uint64_t now)
{
	const struct bsn_cqe_req req = {
		.srqn_uidx = uidx_of(qp, c),
		.byte_count = c->byte_count,
		.timestamp = now,
		.wqe_opcode = c->wqe_opcode,
		.qpn = qp->head.number,
	};

	bsn_cqe_req_encode(cqe, &req);
}

static void encode_receive(uint8_t *cqe, const struct cx_qp *qp, const struct cx_completion *c,
			   uint64_t now)
{
	const struct bsn_cqe_resp resp = {
		.slid = c->slid,
		.grh = c->grh,
		.sl = c->sl,
		.rqpn = c->rqpn,
		.srqn_uidx = uidx_of(qp, c),
		.imm_inval_pkey = c->imm,
		.byte_count = c->byte_count,
		.timestamp = now,
		.qpn = qp->head.number,
	};

	bsn_cqe_resp_encode(cqe, &resp);
}

static uint64_t stamp_of(const struct cx_hca *hca, const struct cx_cq *cq)
{
	return cq->attr.has_real_time ? cx_real_time() : cx_now_ns(hca);
}

static void encode_cqe(struct cx_hca *hca, uint8_t *buf, const struct cx_cq *cq,
		       const struct cx_qp *qp, const struct cx_completion *c)
{
	uint8_t *cqe = buf + cq->attr.cqe_size - BSN_CQE_SIZE;

	memset(buf, 0, cq->attr.cqe_size);
	if (is_error(c))
		encode_error(cqe, qp, c);
	else if (c->opcode == BSN_CQE_REQ)
		encode_request(cqe, qp, c, stamp_of(hca, cq));
	else if (qp)
		encode_receive(cqe, qp, c, stamp_of(hca, cq));
	if (c->inline_bytes)
		memcpy(buf, c->inline_bytes, c->byte_count);
	encode_tail(cqe, cq, c);
}

static void trace_cqe(struct cx_hca *hca, const struct cx_cq *cq, const struct cx_qp *qp,
		      const struct cx_completion *c)
{
#define NAME_OPCODE(name, value, doc) [value] = #name,
	static const char *const names[16] = { BSN_CQE_OPCODES(NAME_OPCODE) };
#undef NAME_OPCODE
	struct cx_text text;

	cx_line_begin(hca, &text);
	cx_text_format(&text, "cqe: cqn %#x index %#x %s qpn %#x wqe %#x", cq->head.number,
		       (cq->producer + cq->session.count) & BSN_CQ_INDEX_MASK, names[c->opcode],
		       qp ? qp->head.number : 0, c->wqe_counter);
	if (is_error(c))
		cx_text_format(&text, " syndrome %#x vendor %#x", c->syndrome, c->vendor_syndrome);
	else
		cx_text_format(&text, " bytes %u%s%s", c->byte_count,
			       c->inline_bytes ? " inline" : "", c->solicited ? " solicited" : "");
	cx_line_write(hca, &text);
}

/* Writes the slot that is @slot after the CQ's next one. */
static int write_slot(struct cx_hca *hca, struct cx_cq *cq, unsigned slot, const uint8_t *buf)
{
	const uint64_t at = (cq->producer + slot) & (cq->attr.entries - 1);

	if (cx_mem_publish(hca, cq->head.owner, cq->attr.buf + at * cq->attr.cqe_size, buf,
			   cq->attr.cqe_size)) {
		cx_cq_fail(hca, cq);
		return -EIO;
	}
	cx_bus_count(hca, cq->head.owner, CX_BUS_cqe_write, cq->attr.cqe_size);
	return 0;
}

/* CQEs were written: raises the event, if it is wanted. */
static void tell(struct cx_hca *hca, struct cx_cq *cq, bool is_solicited)
{
	if (is_solicited) {
		cq->solicited_end = cq->producer;
		cq->any_solicited = true;
	}
	if (cq->arm == CX_ARM_ANY || (cq->arm == CX_ARM_SOLICITED && is_solicited))
		fire_moderated(hca, cq);
}

static void end_session(struct cx_hca *hca, struct cx_cq *cq)
{
	uint8_t buf[BSN_CQE128_SIZE] = { 0 };
	uint8_t *const cqe = buf + cq->attr.cqe_size - BSN_CQE_SIZE;
	const unsigned count = cq->session.count;
	struct bsn_cqe_tail tail;
	unsigned step = 0, slot;
	bool more;
	int err = cq->failed ? -EIO : 0;

	do {
		more = count && cx_session_next(cq, &step, cqe, &slot);
		if (count && !err)
			err = write_slot(hca, cq, slot, buf);
	} while (more);
	cq->session.count = 0;
	if (!count || err)
		return;
	if (count > 1)
		cx_trace(hca, "cqe: cqn %#x index %#x session of %u", cq->head.number,
			 cq->producer & BSN_CQ_INDEX_MASK, count);
	cq->producer += count;
	bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_TAIL_OFFSET);
	tell(hca, cq, tail.solicited);
}

static void end_sessions(struct cx_hca *hca)
{
	for (unsigned i = 0; i < sizeof(hca->open_sessions) / sizeof(hca->open_sessions[0]); i++) {
		struct cx_cq *cq = cx_cq_find(hca, hca->open_sessions[i]);

		if (hca->open_sessions[i] && cq)
			end_session(hca, cq);
		hca->open_sessions[i] = 0;
	}
}

/* The session must end before the lock is released. */
static void note_session(struct cx_hca *hca, const struct cx_cq *cq)
{
	unsigned i = 0;

	while (i < sizeof(hca->open_sessions) / sizeof(hca->open_sessions[0]) &&
	       hca->open_sessions[i])
		i++;
	if (i == sizeof(hca->open_sessions) / sizeof(hca->open_sessions[0])) {
		end_sessions(hca);
		i = 0;
	}
	hca->open_sessions[i] = cq->head.number;
	hca->before_unlock = end_sessions;
}

/* Whether the CQE must wait for others, to be compressed with them. */
static bool hold_cqe(struct cx_hca *hca, struct cx_cq *cq, const struct cx_qp *qp,
		     const struct cx_completion *c)
{
	uint8_t buf[BSN_CQE128_SIZE];
	const uint8_t *const cqe = buf + cq->attr.cqe_size - BSN_CQE_SIZE;
	const bool had_one = cq->session.count;

	if (!cq->attr.compresses)
		return false;
	encode_cqe(hca, buf, cq, qp, c);
	if (cx_session_join(cq, cqe))
		return true;
	end_session(hca, cq);
	encode_cqe(hca, buf, cq, qp, c);
	if (!cx_session_begin(hca, cq, cqe))
		return false;
	if (!had_one)
		note_session(hca, cq);
	return true;
}

/* 1: the CQE is held back. */
static int write_cqe(struct cx_hca *hca, struct cx_cq *cq, const struct cx_qp *qp,
		     const struct cx_completion *c)
{
	uint8_t buf[BSN_CQE128_SIZE];
	int err;

	if (cq->failed)
		return -EIO;
	if (is_full(hca, cq)) {
		end_session(hca, cq);
		cx_cq_fail(hca, cq);
		return -EIO;
	}
	if (cx_tracing(hca))
		trace_cqe(hca, cq, qp, c);
	if (hold_cqe(hca, cq, qp, c))
		return 1;
	encode_cqe(hca, buf, cq, qp, c);
	err = write_slot(hca, cq, 0, buf);
	if (err)
		return err;
	cq->producer++;
	return 0;
}

int cx_cq_complete(struct cx_hca *hca, uint32_t cqn, const struct cx_qp *qp,
		   const struct cx_completion *c)
{
	struct cx_cq *cq = cx_cq_find(hca, cqn);
	int err = 0;

	if (cq) {
		cx_delivery_note_cq(hca, cq);
		err = write_cqe(hca, cq, qp, c);
		if (!err)
			tell(hca, cq, c->solicited || is_error(c));
	}
	cx_delivery_end(hca);
	return err < 0 ? err : 0;
}

/* The tail of the CQE of an index. False: it is not written, or cannot be read. */
static bool read_tail(struct cx_hca *hca, const struct cx_cq *cq, uint32_t index,
		      struct bsn_cqe_tail *tail)
{
	const uint64_t at = index & (cq->attr.entries - 1);
	const uint64_t end = cq->attr.buf + (at + 1) * cq->attr.cqe_size;
	uint8_t bytes[BSN_CQE_TAIL_SIZE];

	if (cx_mem_read(hca, cq->head.owner, end - sizeof(bytes), bytes,
			sizeof(bytes)))
		return false;
	bsn_cqe_tail_decode(tail, bytes);
	return tail->opcode != BSN_CQE_INVALID && tail->owner == !!(index & cq->attr.entries);
}

bool cx_cq_finish(struct cx_hca *hca, struct cx_cq *cq, bool is_counted)
{
	const uint32_t index = cq->producer - is_counted;
	struct bsn_cqe_tail tail;

	if (cq->session.count) { /* it may be among them */
		end_session(hca, cq);
		return is_counted;
	}
	if (cq->failed || !read_tail(hca, cq, index, &tail))
		return is_counted;
	cq->producer = index + 1;
	tell(hca, cq, tail.solicited || tail.opcode == BSN_CQE_REQ_ERR ||
			      tail.opcode == BSN_CQE_RESP_ERR);
	return true;
}

/*
 * Resizing: the last CQE in the old buffer says so, and the new buffer begins at the next index
 * (rdma-core cq.c mlx5_cq_resize_copy_cqes()). That CQE needs a slot in the old buffer, and the
 * CQEs that are not consumed must fit into the new one. If not, the command is refused
 * (BAD_SIZE_OUTS_CQES, which the kernel makes -EINVAL), and nothing changes.
 */
int cx_cq_move(struct cx_hca *hca, struct cx_cq *cq, const struct cx_cq_attr *attr)
{
	const struct cx_completion c = { .opcode = BSN_CQE_RESIZE_CQ };
	uint32_t count = count_unconsumed(hca, cq);
	int err;

	if (count > attr->entries || count >= cq->attr.entries)
		return -EINVAL;
	err = write_cqe(hca, cq, NULL, &c);
	if (!err)
		cq->attr = *attr;
	return err;
}
