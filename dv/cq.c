/* SPDX-License-Identifier: BSD-2-Clause */
/* The completion queue, the long way: receives, errors, inline data, a ring that comes round. */
#include "bsn_cq.h"

#include <stdlib.h>

#include "bsn_decode.h"
#include "bsn_syndrome.h"
#include "users.h"

/* -- which queue a CQE is of -------------------------------------------------------------------- */

/* What stands in slots without a queue: no CQE has these, since a QPN has 24 bits. */
#define QPN_FREE    0x01000000u
#define QPN_REMOVED 0x02000000u

/* What is put into CQEs whose queue has gone: no queue has it, it is the subnet manager's. */
#define QPN_NOBODY 0u

/* Keeps the inline code from taking a queue's CQEs for plain: its users stand one in each slot. */
#define QPN_REAPED 0x80000000u

static struct bsn_cq_slot *find_slot(const struct bsn_cq *cq, uint32_t qpn)
{
	for (uint32_t probe = 0; cq->slots && probe <= cq->slot_mask; probe++) {
		struct bsn_cq_slot *slot = &cq->slots[(qpn + probe) & cq->slot_mask];
		if ((slot->qpn & ~QPN_REAPED) == qpn)
			return slot;
		if (slot->qpn == QPN_FREE)
			return NULL;
	}
	return NULL;
}

/* Where a queue may stand: half of the slots are free at least, so there is one. */
static struct bsn_cq_slot *find_vacancy(const struct bsn_cq *cq, uint32_t qpn)
{
	uint32_t at = qpn & cq->slot_mask;

	while (cq->slots[at].qpn != QPN_FREE && cq->slots[at].qpn != QPN_REMOVED)
		at = (at + 1) & cq->slot_mask;
	return &cq->slots[at];
}

struct bsn_sq *bsn_cq_find(const struct bsn_cq *cq, uint32_t qpn)
{
	const struct bsn_cq_slot *slot = find_slot(cq, qpn);

	return slot ? slot->sq : NULL;
}

static void insert_slot(struct bsn_cq *cq, uint32_t qpn, struct bsn_sq *sq)
{
	struct bsn_cq_slot *slot = find_vacancy(cq, qpn);

	cq->slots_used += slot->qpn == QPN_FREE;
	slot->sq = sq;
	slot->qpn = sq->users ? qpn | QPN_REAPED : qpn;
}

static bool is_live(const struct bsn_cq_slot *slot)
{
	return slot->qpn != QPN_FREE && slot->qpn != QPN_REMOVED;
}

/* Anew without the removed ones, and twice as large where the others alone would soon fill it. */
static int grow_slots(struct bsn_cq *cq)
{
	struct bsn_cq_slot *old = cq->slots;
	const uint32_t old_count = old ? cq->slot_mask + 1 : 0;
	struct bsn_cq_slot *slots;
	uint32_t live = 0, count;

	for (uint32_t i = 0; i < old_count; i++)
		live += is_live(&old[i]);
	count = !old ? 8 : 4 * (live + 1) > old_count ? 2 * old_count : old_count;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		slots[i].qpn = QPN_FREE;
	cq->slots = slots;
	cq->slot_mask = count - 1;
	cq->slots_used = 0;
	for (uint32_t i = 0; i < old_count; i++)
		if (is_live(&old[i]))
			insert_slot(cq, old[i].qpn & ~QPN_REAPED, old[i].sq);
	free(old);
	return 0;
}

/* Half of the slots stay free, so that a search ends; who comes back gets what it left. */
static bool must_grow(const struct bsn_cq *cq, uint32_t qpn)
{
	if (!cq->slots)
		return true;
	return 2 * (cq->slots_used + 1) > cq->slot_mask + 1 &&
	       find_vacancy(cq, qpn)->qpn == QPN_FREE;
}

int bsn_cq_add(struct bsn_cq *cq, uint32_t qpn, struct bsn_sq *sq)
{
	const int err = must_grow(cq, qpn) ? grow_slots(cq) : 0;

	if (err)
		return err;
	insert_slot(cq, qpn, sq);
	if (!cq->path)
		cq->plain = cq->phase; /* there are slots to look into */
	return 0;
}

static const uint8_t *ring_end(const struct bsn_cq *cq)
{
	return cq->ring + (size_t)cq->cqe_count * cq->stride;
}

static bool is_receive(uint32_t cqe_opcode)
{
	return cqe_opcode == BSN_CQE_RESP_WR_IMM || cqe_opcode == BSN_CQE_RESP_SEND ||
	       cqe_opcode == BSN_CQE_RESP_SEND_IMM || cqe_opcode == BSN_CQE_RESP_SEND_INV ||
	       cqe_opcode == BSN_CQE_RESP_ERR;
}

/*
 * CQEs of a queue that goes: made anonymous, so that a later queue of its number does not get them.
 * What it took from an SRQ is the SRQ's again.
 */
static void disown_cqes(struct bsn_cq *cq, uint32_t qpn, struct bsn_rq *srq)
{
	const uint8_t *cqe = cq->next;
	uint8_t phase = cq->phase;

	for (uint32_t i = 0; i < cq->cqe_count; i++) {
		struct bsn_cqe_tail tail;
		struct bsn_cqe_req view;
		bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_TAIL_OFFSET);
		if (tail.owner != phase || tail.opcode == BSN_CQE_INVALID)
			return;
		bsn_from_device(); /* O4 */
		bsn_cqe_req_decode(&view, cqe);
		if (view.qpn == qpn) {
			if (srq && is_receive(tail.opcode))
				bsn_rq_retire(srq, (uint16_t)view.wqe_counter);
			view.qpn = QPN_NOBODY;
			bsn_store_be32((uint8_t *)(uintptr_t)cqe + BSN_CQE_QPN_OFFSET,
				       bsn_cqe_req_dword(&view, BSN_CQE_QPN_OFFSET / 4));
		}
		cqe += cq->stride;
		if (cqe == ring_end(cq)) {
			cqe = cq->ring;
			phase ^= 1;
		}
	}
}

void bsn_cq_remove(struct bsn_cq *cq, uint32_t qpn)
{
	struct bsn_cq_slot *slot = find_slot(cq, qpn);
	struct bsn_rq *rq = slot ? slot->sq->rq : NULL;

	if (slot)
		slot->qpn = QPN_REMOVED;
	if (!cq->path)
		disown_cqes(cq, qpn, rq && rq->is_srq ? rq : NULL);
}

/* -- moving on ---------------------------------------------------------------------------------- */

static uint32_t consumer_index(const struct bsn_cq *cq)
{
	return cq->chunk_ci - (uint32_t)((size_t)(cq->chunk_end - cq->next) / cq->stride);
}

static void publish(struct bsn_cq *cq)
{
	const struct bsn_dbr_cq_ci record = { .ci = consumer_index(cq) };

	bsn_from_device(); /* O5 */
	bsn_store_record(cq->record, bsn_dbr_cq_ci_dword(&record, 0));
}

const uint8_t *bsn_cq_next_chunk(struct bsn_cq *cq)
{
	cq->next = cq->chunk_end;
	publish(cq);
	if (cq->next == ring_end(cq)) {
		cq->next = cq->ring;
		cq->phase ^= 1;
		if (cq->plain != BSN_CQ_NEVER_PLAIN)
			cq->plain = cq->phase;
	}
	cq->chunk_end = cq->next + (size_t)cq->chunk * cq->stride;
	cq->chunk_ci += cq->chunk;
	return cq->next;
}

static void consume(struct bsn_cq *cq)
{
	cq->next += cq->stride;
	if (cq->next == cq->chunk_end)
		bsn_cq_next_chunk(cq);
}

void bsn_cq_kill(struct bsn_cq *cq, int error)
{
	uint16_t alive = 0;

	/* The first cause stays. */
	if (!__atomic_compare_exchange_n(&cq->dead, &alive, (uint16_t)error, false,
					 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&cq->empty_mask, 0, __ATOMIC_RELEASE);
}

static int empty(const struct bsn_cq *cq)
{
	const int dead = __atomic_load_n(&cq->dead, __ATOMIC_ACQUIRE);

	return dead ? -dead : -ENOENT;
}

void bsn_cq_arm(struct bsn_cq *cq, bool solicited_only)
{
	const struct bsn_cq_doorbell bell = {
		.sn = cq->arm_sn,
		.cmd = solicited_only ? BSN_CQ_ARM_SOLICITED : BSN_CQ_ARM_NEXT,
		.ci = consumer_index(cq),
		.cqn = cq->cqn,
	};

	publish(cq);
	bsn_store_record(cq->record + 1, bsn_cq_doorbell_dword(&bell, 0));
	bsn_wc_start(); /* O8 */
	bsn_store_mmio(cq->arm_reg, bsn_to_be64(bsn_cq_doorbell_word(&bell, 0)));
	bsn_wc_flush(); /* O8 */
}

/* -- data that came inside the CQE -------------------------------------------------------------- */

/* The data, or NULL where the CQE cannot hold as much as it says. */
static const uint8_t *inline_data(const struct bsn_cq *cq)
{
	struct bsn_cqe cqe;

	if (bsn_cqe_decode(cq->next + BSN_CQE_SIZE - cq->stride, cq->stride, &cqe, NULL))
		return NULL;
	return cqe.inline_bytes;
}

/* Into the memory that a list of data pointers names. */
static void scatter(const uint8_t *src, size_t bytes, const uint8_t *list, unsigned entries)
{
	for (unsigned i = 0; i < entries && bytes; i++) {
		struct bsn_data data;
		bsn_data_decode(&data, list + (size_t)i * BSN_DATA_SIZE);
		if (!data.byte_count || data.is_inline)
			return;
		const size_t n = bytes < data.byte_count ? bytes : data.byte_count;
		memcpy((void *)(uintptr_t)data.addr, src, n);
		src += n;
		bytes -= n;
	}
}

/* READ and atomic results. The WQE is still there: its slots are not free before it is done. */
static int scatter_to_request(const struct bsn_cq *cq, const struct bsn_sq *sq,
			      const struct bsn_cqe_req *cqe)
{
	const uint8_t *src = inline_data(cq);
	uint8_t bytes[BSN_WQE_MAX_DS * BSN_DS_SIZE];
	struct bsn_wqe wqe;

	if (!src)
		return -EPROTO;
	for (size_t at = 0; at < sizeof(bytes); at += BSN_BB_SIZE) {
		const size_t slot = (cqe->wqe_counter + at / BSN_BB_SIZE) & sq->poller_mask;
		const size_t left = sizeof(bytes) - at;
		memcpy(bytes + at, sq->ring + slot * BSN_BB_SIZE,
		       left < BSN_BB_SIZE ? left : BSN_BB_SIZE);
	}
	if (bsn_wqe_decode(bytes, sizeof(bytes), (enum bsn_transport)sq->transport, &wqe, NULL))
		return -EPROTO;
	if (wqe.op && wqe.op->data == BSN_DATA_SCATTER && wqe.data_count)
		scatter(src, cqe->byte_count, bytes + wqe.data[0].offset, wqe.data_count);
	return 0;
}

/* A receive: handed out as a pointer where the queue was made for that, else copied where it belongs. */
static int deliver_inline(const struct bsn_cq *cq, const struct bsn_rq *rq, uint16_t wqe_index,
			  struct bsn_completion *c)
{
	const uint8_t *src = inline_data(cq);
	const uint8_t *wqe =
		rq->poller_ring + ((size_t)(wqe_index & rq->poller_mask) << rq->poller_stride_log2);
	const unsigned entries = (1u << rq->poller_stride_log2) / BSN_DATA_SIZE;

	if (!src)
		return -EPROTO;
	if (rq->gives_inline) {
		c->data = src;
		c->flags |= BSN_C_DATA;
	} else if (rq->is_srq) {
		scatter(src, c->byte_len, wqe + BSN_SRQ_NEXT_SIZE, entries - 1);
	} else {
		scatter(src, c->byte_len, wqe, entries);
	}
	return 0;
}

/* -- one CQE ------------------------------------------------------------------------------------ */

#define STATUS(syndrome, status) [BSN_SYNDROME_##syndrome] = IBV_WC_##status,
static const uint8_t status_of_syndrome[256] = { BSN_SYNDROME_STATUSES(STATUS) };
#undef STATUS

static uint8_t status_of(uint32_t syndrome)
{
	const uint8_t status = status_of_syndrome[(uint8_t)syndrome];

	return status ? status : IBV_WC_GENERAL_ERR;
}

uint8_t bsn_syndrome_of_status(unsigned status)
{
	for (unsigned syndrome = 0; syndrome < sizeof(status_of_syndrome); syndrome++)
		if (status && status_of_syndrome[syndrome] == status)
			return (uint8_t)syndrome;
	return 0;
}

/* An RQ completes in order, and its flush CQEs carry no usable index; an SRQ's CQEs name the WQE. */
static uint16_t receive_index(const struct bsn_rq *rq, uint32_t wqe_counter)
{
	return rq->is_srq ? (uint16_t)wqe_counter : (uint16_t)rq->tail;
}

static void *user_of(const struct bsn_sq *sq, uint32_t wqe_index)
{
	return sq->users ? bsn_sq_find_user(sq, wqe_index & sq->poller_mask) : sq->user;
}

static int reap_request(struct bsn_cq *cq, struct bsn_sq *sq, struct bsn_completion *c)
{
	struct bsn_cqe_req cqe;

	bsn_cqe_req_decode(&cqe, cq->next);
	*c = (struct bsn_completion){ .user = user_of(sq, cqe.wqe_counter),
				      .byte_len = cqe.byte_count,
				      .opcode = (uint8_t)cqe.wqe_opcode,
				      .qpn = cqe.qpn };
	if (cqe.format != BSN_CQE_NO_INLINE && scatter_to_request(cq, sq, &cqe))
		return -EPROTO;
	return bsn_sq_done(sq, cqe.wqe_counter, &c->id);
}

static int reap_receive(struct bsn_cq *cq, struct bsn_sq *sq, struct bsn_completion *c)
{
	struct bsn_rq *rq = sq->rq;
	struct bsn_cqe_resp cqe;
	uint16_t index;

	if (!rq)
		return -EPROTO;
	bsn_cqe_resp_decode(&cqe, cq->next);
	index = receive_index(rq, cqe.wqe_counter);
	*c = (struct bsn_completion){
		.user = rq->is_srq ? sq->user : rq->user,
		.byte_len = cqe.byte_count,
		.opcode = cqe.opcode == BSN_CQE_RESP_WR_IMM ? BSN_RECV_RDMA_WITH_IMM : BSN_RECV,
		.imm = cqe.imm_inval_pkey,
		.qpn = cqe.qpn,
		.src_qpn = cqe.rqpn,
		.slid = (uint16_t)cqe.slid,
		.sl = (uint8_t)cqe.sl,
		.dlid_path_bits = (uint8_t)(cqe.ml_path & 0x7f),
	};
	if (cqe.opcode == BSN_CQE_RESP_WR_IMM || cqe.opcode == BSN_CQE_RESP_SEND_IMM)
		c->flags |= BSN_C_IMM;
	if (cqe.opcode == BSN_CQE_RESP_SEND_INV)
		c->flags |= BSN_C_INVAL;
	if (sq->transport == BSN_TRANSPORT_UD && cqe.grh != BSN_CQE_GRH_NONE)
		c->flags |= BSN_C_GRH;
	if (cqe.format != BSN_CQE_NO_INLINE && deliver_inline(cq, rq, index, c))
		return -EPROTO;
	c->id = bsn_rq_retire(rq, index);
	return 1;
}

static unsigned blocks_of(const struct bsn_ctrl *ctrl)
{
	return (ctrl->ds + BSN_BB_DS - 1) / BSN_BB_DS;
}

/*
 * On a queue whose unsignaled work reports only the first error, what follows that error unsignaled
 * never has a CQE: it is flushed here, in order, up to @end or to a WQE that will have one.
 * Returns whether there was one.
 */
static bool flush_silent(struct bsn_sq *sq, uint16_t end, struct bsn_completion *c)
{
	const uint16_t index = sq->flushed;
	struct bsn_ctrl ctrl;

	if (!sq->has_failed || index == end)
		return false;
	bsn_ctrl_decode(&ctrl, sq->ring + (size_t)(index & sq->poller_mask) * BSN_BB_SIZE);
	if (ctrl.ce != BSN_CE_ON_FIRST_ERROR || !ctrl.ds) /* 0: an index that is no WQE's */
		return false;
	*c = (struct bsn_completion){
		.user = user_of(sq, index),
		.status = IBV_WC_WR_FLUSH_ERR,
		.opcode = (uint8_t)ctrl.opcode,
		.syndrome = BSN_SYNDROME_FLUSHED,
		.wqe_index = index,
		.qpn = sq->qpn,
	};
	sq->flushed = (uint16_t)(index + blocks_of(&ctrl));
	bsn_sq_done(sq, index, &c->id);
	return true;
}

int bsn_sq_give_back(struct bsn_sq *sq, struct bsn_completion *c, int n)
{
	int got = 0;

	while (got < n && flush_silent(sq, (uint16_t)sq->pi, &c[got]))
		got++;
	return got;
}

/* Where the flush of a failed queue goes on: behind the request that failed, whose slot is ours. */
static void note_failed_request(struct bsn_sq *sq, uint16_t index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, sq->ring + (size_t)(index & sq->poller_mask) * BSN_BB_SIZE);
	sq->flushed = (uint16_t)(index + blocks_of(&ctrl));
	sq->has_failed = true;
}

static int reap_error(struct bsn_cq *cq, struct bsn_sq *sq, struct bsn_completion *c)
{
	struct bsn_cqe_err cqe;

	bsn_cqe_err_decode(&cqe, cq->next);
	if (cqe.opcode == BSN_CQE_RESP_ERR && !sq->rq)
		return -EPROTO;
	*c = (struct bsn_completion){
		.user = sq->user,
		.status = status_of(cqe.syndrome),
		.opcode = (uint8_t)cqe.wqe_opcode,
		.syndrome = (uint8_t)cqe.syndrome,
		.vendor_syndrome = (uint8_t)cqe.vendor_syndrome,
		.hw_syndrome = (uint8_t)cqe.hw_syndrome,
		.wqe_index = (uint16_t)cqe.wqe_counter,
		.qpn = cqe.qpn,
	};
	if (cqe.opcode == BSN_CQE_RESP_ERR) {
		c->opcode = BSN_RECV;
		c->user = sq->rq->is_srq ? sq->user : sq->rq->user;
		c->id = bsn_rq_retire(sq->rq, receive_index(sq->rq, cqe.wqe_counter));
	} else {
		c->user = user_of(sq, c->wqe_index);
		note_failed_request(sq, c->wqe_index);
		bsn_sq_done(sq, c->wqe_index, &c->id); /* one that the library signaled too */
	}
	if (sq->first_error && !sq->first_error->status)
		*sq->first_error = *c;
	return 1;
}

static int reap_known(struct bsn_cq *cq, struct bsn_sq *sq, const struct bsn_cqe_tail *tail,
		      struct bsn_completion *c)
{
	switch (tail->opcode) {
	case BSN_CQE_REQ:
		return reap_request(cq, sq, c);
	case BSN_CQE_RESP_WR_IMM:
	case BSN_CQE_RESP_SEND:
	case BSN_CQE_RESP_SEND_IMM:
	case BSN_CQE_RESP_SEND_INV:
		return reap_receive(cq, sq, c);
	case BSN_CQE_REQ_ERR:
	case BSN_CQE_RESP_ERR:
		return reap_error(cq, sq, c);
	default:
		return -EPROTO;
	}
}

static __attribute__((noinline)) int reap_cqe(struct bsn_cq *cq, struct bsn_completion *c)
{
	struct bsn_cqe_tail tail;
	struct bsn_cqe_req view;
	struct bsn_cq_slot *slot;
	int got = 0;

	bsn_cqe_tail_decode(&tail, cq->next + BSN_CQE_TAIL_OFFSET);
	if (tail.owner != cq->phase || tail.opcode == BSN_CQE_INVALID)
		return empty(cq);
	bsn_from_device(); /* O4 */
	bsn_cqe_req_decode(&view, cq->next);
	slot = find_slot(cq, view.qpn);
	if (!slot)
		cq->count_dropped++;
	else if (tail.format == BSN_CQE_COMPRESSED)
		got = -EPROTO;
	else if (view.opcode == BSN_CQE_REQ_ERR &&
		 flush_silent(slot->sq, (uint16_t)view.wqe_counter, c))
		return 1; /* the CQE is looked at again */
	else
		got = reap_known(cq, slot->sq, &tail, c);
	if (got == -EPROTO)
		bsn_cq_kill(cq, EPROTO); /* what follows could not be read either: stay here */
	else
		consume(cq);
	return got;
}

int bsn_cq_reap(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	int got;

	if (!cq->path)
		return reap_cqe(cq, c);
	got = cq->path->poll(cq, c, n);
	return got ? got : empty(cq);
}
