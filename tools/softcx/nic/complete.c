/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions and events: how the HCA tells. */
#include "transport.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "text.h"

#define CQ_INDEX_MASK 0xffffffu /* consumer and arm count modulo 2^24 (bsn_db.h) */

/* -- events ------------------------------------------------------------------------------------ */

/*
 * The channel's FIFO as this process has it open; reopened when the entry has a new channel. For
 * reading, too: its owner may be killed, and SIGPIPE would then be the end of this process.
 */
static int open_fifo(struct cx_hca *hca, const struct cx_channel *channel)
{
	struct cx_fifo *fifo = &hca->fifos[channel - hca->shared->channels];

	if (fifo->serial == channel->serial)
		return fifo->fd;
	if (fifo->serial)
		close(fifo->fd);
	fifo->serial = 0;
	fifo->fd = open(channel->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fifo->fd < 0)
		return -1;
	fifo->serial = channel->serial;
	return fifo->fd;
}

/* A record is written whole or not at all: it is far shorter than PIPE_BUF. */
static void deliver(struct cx_hca *hca, const struct cx_channel *channel, const void *record,
		    size_t len)
{
	const int saved = errno;
	const int fd = open_fifo(hca, channel);

	if (fd < 0 || write(fd, record, len) != (ssize_t)len)
		cx_trace(hca, "event: lost, channel %#x at %s does not take it",
			 channel->head.number, channel->path);
	errno = saved;
}

/* Those that the model gives; ibv_event_type_str() would tie a preloaded library to libibverbs. */
static const char *name_event(enum ibv_event_type type)
{
	static const char *const names[] = {
		[IBV_EVENT_CQ_ERR] = "CQ error",
		[IBV_EVENT_QP_FATAL] = "QP fatal",
		[IBV_EVENT_QP_REQ_ERR] = "QP invalid request",
		[IBV_EVENT_QP_ACCESS_ERR] = "QP access violation",
		[IBV_EVENT_COMM_EST] = "communication established",
		[IBV_EVENT_SQ_DRAINED] = "SQ drained",
		[IBV_EVENT_DEVICE_FATAL] = "device fatal",
		[IBV_EVENT_PORT_ACTIVE] = "port active",
		[IBV_EVENT_PORT_ERR] = "port error",
		[IBV_EVENT_SRQ_LIMIT_REACHED] = "SRQ limit",
		[IBV_EVENT_QP_LAST_WQE_REACHED] = "last WQE reached",
	};

	return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "unnamed";
}

void cx_event_completion(struct cx_hca *hca, const struct cx_cq *cq)
{
	const struct cx_channel *channel = cx_channel_find(hca, cq->attr.comp_channel);
	const struct ib_uverbs_comp_event_desc record = { .cq_handle = cq->attr.cookie };

	cx_trace(hca, "event: completion, cqn %#x", cq->head.number);
	if (channel)
		deliver(hca, channel, &record, sizeof(record));
}

void cx_event_async(struct cx_hca *hca, uint32_t number, uint64_t cookie, enum ibv_event_type type)
{
	const struct cx_channel *channel = cx_channel_find(hca, number);
	const struct ib_uverbs_async_event_desc record = { .element = cookie, .event_type = type };

	cx_trace(hca, "event: asynchronous, %s", name_event(type));
	if (channel)
		deliver(hca, channel, &record, sizeof(record));
}

void cx_event_device(struct cx_hca *hca, enum ibv_event_type type)
{
	const struct ib_uverbs_async_event_desc record = { .element = 1, .event_type = type };

	cx_trace(hca, "event: asynchronous, %s", name_event(type));
	for (uint32_t i = 0; i < CX_CHANNELS; i++) {
		const struct cx_channel *channel = &hca->shared->channels[i];

		if (channel->head.number && channel->kind == CX_EVENT_ASYNC)
			deliver(hca, channel, &record, sizeof(record));
	}
}

void cx_event_end(struct cx_hca *hca)
{
	const struct ib_uverbs_comp_event_desc comp = { .cq_handle = CX_CHANNEL_END };
	const struct ib_uverbs_async_event_desc async = { .element = CX_CHANNEL_END };

	for (uint32_t i = 0; i < CX_CHANNELS; i++) {
		const struct cx_channel *channel = &hca->shared->channels[i];

		if (!channel->head.number)
			continue;
		if (channel->kind == CX_EVENT_COMPLETION)
			deliver(hca, channel, &comp, sizeof(comp));
		else
			deliver(hca, channel, &async, sizeof(async));
	}
}

/* -- arming ------------------------------------------------------------------------------------ */

static void fire(struct cx_hca *hca, struct cx_cq *cq)
{
	cq->arm = CX_ARM_NONE;
	cq->fired_sn = (int8_t)cq->arm_sn;
	cx_event_completion(hca, cq);
}

/* What came since the consumer index that the program armed with, it may not have seen. */
static bool is_due(const struct cx_cq *cq, uint32_t ci)
{
	const uint32_t unseen = (cq->producer - ci) & CQ_INDEX_MASK;
	const uint32_t solicited = (cq->producer - cq->solicited_end) & CQ_INDEX_MASK;

	if (cq->arm == CX_ARM_ANY)
		return unseen;
	return cq->arm == CX_ARM_SOLICITED && cq->any_solicited && solicited < unseen;
}

void cx_cq_arm(struct cx_hca *hca, struct cx_cq *cq, const void *word)
{
	struct bsn_dbr_cq_arm arm;

	bsn_dbr_cq_arm_decode(&arm, word);
	cx_trace(hca, "arm: cqn %#x sn %u %s ci %#x", cq->head.number, arm.sn,
		 arm.cmd == BSN_CQ_ARM_SOLICITED ? "solicited" : "next", arm.ci);
	if ((int)arm.sn == cq->fired_sn)
		return; /* the event of this number was given (bsn_db.h) */
	cq->arm_sn = (uint8_t)arm.sn;
	cq->arm = arm.cmd == BSN_CQ_ARM_SOLICITED ? CX_ARM_SOLICITED : CX_ARM_ANY;
	if (is_due(cq, arm.ci))
		fire(hca, cq);
}

/*
 * Without trapped doorbells only the record tells. The driver clears it before the CQ is created,
 * and 0 is a valid first arm, so it is filled with what no arm can be.
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
 * IBTA "Completion Queue errors": the CQ is dead, and with it whatever completes to it. Nothing is
 * written any more.
 */
void cx_cq_fail(struct cx_hca *hca, struct cx_cq *cq)
{
	if (cq->failed)
		return;
	cq->failed = true;
	cx_trace(hca, "cq: %#x overrun", cq->head.number);
	cx_event_async(hca, cq->attr.async_channel, cq->attr.cookie, IBV_EVENT_CQ_ERR);
}

/* How many CQEs the program has not consumed; more than any ring holds if that cannot be read. */
static uint32_t count_unconsumed(struct cx_hca *hca, const struct cx_cq *cq)
{
	uint8_t record[BSN_DBR_CQ_CI_SIZE];
	struct bsn_dbr_cq_ci consumer;

	if (cx_mem_read(hca, cq->head.owner, cq->attr.db + BSN_DBR_CQ_CI_OFFSET, record,
			sizeof(record)))
		return UINT32_MAX;
	bsn_dbr_cq_ci_decode(&consumer, record);
	return (cq->producer - consumer.ci) & CQ_INDEX_MASK;
}

static bool is_full(struct cx_hca *hca, const struct cx_cq *cq)
{
	return !cq->attr.ignore_overrun && count_unconsumed(hca, cq) >= cq->attr.entries;
}

/* mlx5_ib: configure_requester_scat_cqe(), configure_responder_scat_cqe() */
unsigned cx_cqe_inline_room(const struct cx_hca *hca, const struct cx_cq *cq)
{
	(void)hca;
	return cq->attr.cqe_size == BSN_CQE128_SIZE ? 64 : 32;
}

static bool is_error(const struct cx_completion *c)
{
	return c->opcode == BSN_CQE_REQ_ERR || c->opcode == BSN_CQE_RESP_ERR;
}

/* The last dword comes from the tail's own table: it is the same in every view. */
static void encode_tail(uint8_t *cqe, const struct cx_cq *cq, const struct cx_completion *c)
{
	const struct bsn_cqe_tail tail = {
		.wqe_counter = c->wqe_counter,
		.opcode = c->opcode,
		.format = !c->inline_bytes                       ? BSN_CQE_NO_INLINE
			  : cq->attr.cqe_size == BSN_CQE128_SIZE ? BSN_CQE_INLINE_64
								 : BSN_CQE_INLINE_32,
		.solicited = c->solicited,
		.owner = !!(cq->producer & cq->attr.entries),
	};

	bsn_cqe_tail_encode(cqe + BSN_CQE_TAIL_OFFSET, &tail);
}

static void encode_error(uint8_t *cqe, const struct cx_qp *qp, const struct cx_completion *c)
{
	const struct bsn_cqe_err err = {
		.srqn_uidx = qp->attr.uidx,
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
		.srqn_uidx = qp->attr.uidx,
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
		.srqn_uidx = qp->attr.uidx,
		.imm_inval_pkey = c->imm,
		.byte_count = c->byte_count,
		.timestamp = now,
		.qpn = qp->head.number,
	};

	bsn_cqe_resp_encode(cqe, &resp);
}

static void encode_cqe(struct cx_hca *hca, uint8_t *buf, const struct cx_cq *cq,
		       const struct cx_qp *qp, const struct cx_completion *c)
{
	uint8_t *cqe = buf + cq->attr.cqe_size - BSN_CQE_SIZE;

	memset(buf, 0, cq->attr.cqe_size);
	if (is_error(c))
		encode_error(cqe, qp, c);
	else if (c->opcode == BSN_CQE_REQ)
		encode_request(cqe, qp, c, cx_now_ns(hca));
	else if (qp)
		encode_receive(cqe, qp, c, cx_now_ns(hca));
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

	cx_text_begin(hca, &text);
	cx_text_format(&text, "cqe: cqn %#x index %#x %s qpn %#x wqe %#x", cq->head.number,
		       cq->producer & CQ_INDEX_MASK, names[c->opcode], qp ? qp->head.number : 0,
		       c->wqe_counter);
	if (is_error(c))
		cx_text_format(&text, " syndrome %#x vendor %#x", c->syndrome, c->vendor_syndrome);
	else
		cx_text_format(&text, " bytes %u%s%s", c->byte_count,
			       c->inline_bytes ? " inline" : "", c->solicited ? " solicited" : "");
	cx_text_write(hca, &text);
}

static int write_cqe(struct cx_hca *hca, struct cx_cq *cq, const struct cx_qp *qp,
		     const struct cx_completion *c)
{
	uint8_t buf[BSN_CQE128_SIZE];
	const uint64_t slot = cq->producer & (cq->attr.entries - 1);

	if (cq->failed)
		return -EIO;
	if (is_full(hca, cq)) {
		cx_cq_fail(hca, cq);
		return -EIO;
	}
	encode_cqe(hca, buf, cq, qp, c);
	if (cx_tracing(hca))
		trace_cqe(hca, cq, qp, c);
	if (cx_mem_publish(hca, cq->head.owner, cq->attr.buf + slot * cq->attr.cqe_size, buf,
			   cq->attr.cqe_size)) {
		cx_cq_fail(hca, cq);
		return -EIO;
	}
	cq->producer++;
	return 0;
}

void cx_complete(struct cx_hca *hca, struct cx_qp *qp, uint32_t cqn, const struct cx_completion *c)
{
	struct cx_cq *cq = cx_cq_find(hca, cqn);

	if (!cq)
		return;
	if (write_cqe(hca, cq, qp, c)) {
		if (qp->mod.qp_state != IBV_QPS_ERR)
			cx_event_qp(hca, qp, IBV_EVENT_QP_FATAL);
		cx_qp_fail(hca, qp, BSN_VENDOR_FLUSHED_IN_ERROR);
		return;
	}
	if (c->solicited || is_error(c)) {
		cq->solicited_end = cq->producer;
		cq->any_solicited = true;
	}
	if (cq->arm == CX_ARM_ANY ||
	    (cq->arm == CX_ARM_SOLICITED && cq->solicited_end == cq->producer && cq->any_solicited))
		fire(hca, cq);
}

/*
 * Resizing: the last CQE in the old buffer says so, and the new one takes over at the next index
 * (rdma-core cq.c mlx5_cq_resize_copy_cqes()). It needs a place in the old one, and what is not
 * consumed must fit into the new one; else the command is refused (BAD_SIZE_OUTS_CQES, which the
 * kernel makes -EINVAL) and the CQ is as it was.
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
