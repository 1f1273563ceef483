/* SPDX-License-Identifier: BSD-2-Clause */
/* The completion queue, the long way: receives, errors, inline data, a ring that comes round. */
#include "bsn_cq.h"

#include <stdlib.h>

#include "bsn_decode.h"
#include "bsn_syndrome.h"
#include "compressed.h"
#include "init.h"
#include "srq.h"
#include "refuse.h"
#include "sq.h"

/* bsn_cq_put_send() stores them together. */
_Static_assert(offsetof(struct bsn_completion, who) ==
		       offsetof(struct bsn_completion, byte_len) + 8,
	       "a completion's length and number are two words apart");

/* -- whose a CQE is -------------------------------------------------------------------------------- */

const char bsn_own_request;

/* The QPN that CQEs of a queue that is gone get. No queue has it: it is the subnet manager's. */
#define QPN_NOBODY 0u

/* The ring of a route without a send side: it sends each completion the far way. */
static const uint8_t no_ring[BSN_CTRL_SIZE] = { [7] = BSN_FAR_ALL };

static bool has_send_side(const struct bsn_route *route)
{
	return route->ring != no_ring;
}

static bool gives_data(const struct bsn_route *route)
{
	return route->recv_more & (BSN_RECV_GIVES | BSN_RECV_KIND_SEND);
}

static uint8_t recv_more_of(const struct bsn_cq *cq, const struct bsn_route *route)
{
	if (!route->rq || route->rq->is_srq || route->transport == BSN_TRANSPORT_UD)
		return BSN_RECV_FINISHES | (route->recv_more & BSN_RECV_GIVES);
	return gives_data(route) ? (uint8_t)(BSN_RECV_KIND_SEND |
					     bsn_cqe_inline_format(cq->stride) << 2) :
				   0;
}

int bsn_cq_add(struct bsn_cq *cq, uint32_t qpn, struct bsn_route *route)
{
	int err;

	route->recv_more = recv_more_of(cq, route);
	route->recv_far_mask = route->rq && !gives_data(route) ? BSN_RECV_FAR_BITS :
								 BSN_RECV_FAR_ALL;
	if (!route->ring) {
		route->ring = no_ring;
		route->far_mask = BSN_FAR_ALL;
	}
	err = bsn_cq_add_route(cq, qpn, route);
	if (!err && qpn == BSN_CQ_XRC)
		__atomic_store_n(&cq->xrc, route, __ATOMIC_RELEASE);
	return err;
}

static bool is_receive(uint32_t cqe_opcode)
{
	return cqe_opcode == BSN_CQE_RESP_WR_IMM || cqe_opcode == BSN_CQE_RESP_SEND ||
	       cqe_opcode == BSN_CQE_RESP_SEND_IMM || cqe_opcode == BSN_CQE_RESP_SEND_INV ||
	       cqe_opcode == BSN_CQE_RESP_ERR;
}

static bool is_queues(const struct bsn_cq *cq, uint32_t qpn, uint32_t found, uint32_t cqe_opcode)
{
	if (qpn != BSN_CQ_XRC)
		return found == qpn;
	return is_receive(cqe_opcode) && !bsn_cq_find(cq, found);
}

static void count_stale(struct bsn_cq *cq, int change)
{
	__atomic_store_n(&cq->stale, cq->stale + (uint32_t)change, __ATOMIC_RELAXED);
}

/*
 * Makes CQEs of a queue that goes anonymous, so that a later queue of its number does not get them.
 * WQEs that it took from an SRQ are given back.
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
		if (tail.format == BSN_CQE_COMPRESSED && bsn_cq_expand(cq, cqe, phase))
			return;
		bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_TAIL_OFFSET);
		bsn_cqe_req_decode(&view, cqe);
		if (is_queues(cq, qpn, view.qpn, tail.opcode)) {
			if (srq && is_receive(tail.opcode))
				bsn_srq_give_back(srq, view.wqe_counter);
			view.qpn = QPN_NOBODY;
			count_stale(cq, 1);
			bsn_store_be32((uint8_t *)(uintptr_t)cqe + BSN_CQE_QPN_OFFSET,
				       bsn_cqe_req_dword(&view, BSN_CQE_QPN_OFFSET / 4));
		}
		cqe += cq->stride;
		if (cqe == cq->ring_end) {
			cqe = cq->ring;
			phase ^= 1;
		}
	}
}

static void drop_cqes(struct bsn_cq *cq, uint32_t qpn, const struct bsn_route *route)
{
	if (!cq->path)
		disown_cqes(cq, qpn, route && route->rq && route->rq->is_srq ? route->rq : NULL);
}

void bsn_cq_drop(struct bsn_cq *cq, uint32_t qpn)
{
	drop_cqes(cq, qpn, bsn_cq_find(cq, qpn));
}

void bsn_cq_remove(struct bsn_cq *cq, uint32_t qpn)
{
	const struct bsn_route *route = bsn_cq_remove_route(cq, qpn);

	if (qpn == BSN_CQ_XRC)
		__atomic_store_n(&cq->xrc, NULL, __ATOMIC_RELAXED);
	drop_cqes(cq, qpn, route);
}

/* -- moving on ---------------------------------------------------------------------------------- */

static uint32_t cqes_to_chunk_end(const struct bsn_cq *cq, const uint8_t *next)
{
	return (uint32_t)((size_t)(cq->chunk_end - next) / cq->stride);
}

static void publish(struct bsn_cq *cq, uint32_t ci)
{
	const struct bsn_dbr_cq_ci record = { .ci = ci };

	bsn_from_device(); /* O5 */
	bsn_store_record(cq->record, bsn_dbr_cq_ci_dword(&record, 0));
}

static uint32_t consumer_index(const struct bsn_cq *cq)
{
	return cq->chunk_ci - cqes_to_chunk_end(cq, cq->next);
}

/* Whether this poll began in the chunk that ends here, so that this is its first one. */
static bool leaves_first_chunk(const struct bsn_cq *cq)
{
	return cq->next < cq->chunk_end && cqes_to_chunk_end(cq, cq->next) <= cq->chunk;
}

/* Keeps from the device what this poll gave, as far as there is room. */
static void publish_earlier(struct bsn_cq *cq)
{
	if (leaves_first_chunk(cq)) {
		if (!cq->ignores_overrun)
			publish(cq, consumer_index(cq));
		cq->unpublished = cqes_to_chunk_end(cq, cq->next);
	} else {
		cq->unpublished += cq->chunk;
	}
	cq->is_full_poll = cq->unpublished + cq->chunk > cq->spare;
}

/*
 * CQEs to the end of the chunk that @next is in. After a full poll nothing is left to spare, so the
 * next one publishes with its first CQE.
 */
static uint32_t cqes_of_chunk(const struct bsn_cq *cq, const uint8_t *next)
{
	const uint32_t at = (uint32_t)((size_t)(next - cq->ring) / cq->stride);

	return cq->is_full_poll ? 1 : cq->chunk - at % cq->chunk;
}

/*
 * Goes round the ring; the owner bit is inverted then. A device that ignores overruns needs the record
 * only to be armed; readers from outside follow it once a lap.
 */
static const uint8_t *go_round(struct bsn_cq *cq, const uint8_t *next)
{
	if (BSN_LIKELY(next != cq->ring_end))
		return next;
	if (cq->ignores_overrun)
		publish(cq, cq->chunk_ci);
	cq->phase ^= 1;
	if (cq->plain != BSN_CQ_NEVER_PLAIN)
		cq->plain = cq->phase;
	return cq->ring;
}

/* Of a queue without CQEs to spare, whose chunks are one CQE: gives each back to the device at once. */
static const uint8_t *publish_one(struct bsn_cq *cq, const uint8_t *next)
{
	cq->next = next; /* the record is never ahead of it */
	publish(cq, cq->chunk_ci++);
	next = go_round(cq, next);
	cq->chunk_end = next + cq->stride;
	return next;
}

/*
 * The largest chunk of which there are two to spare, one that a poll leaves and one that it is in. A
 * power of two, since chunks tile the ring.
 */
static uint32_t chunk_of(uint32_t count, uint32_t spare)
{
	uint32_t chunk = 1;

	while (4 * chunk <= spare && 8 * chunk <= count)
		chunk *= 2;
	return chunk;
}

void bsn_cq_begin_chunks(struct bsn_cq *cq, uint32_t ci, uint32_t spare)
{
	uint32_t count;

	cq->spare = spare;
	cq->chunk = chunk_of(cq->cqe_count, spare);
	cq->unpublished = 0;
	cq->is_full_poll = 0;
	count = cqes_of_chunk(cq, cq->next);
	cq->chunk_end = cq->next + count * cq->stride;
	cq->chunk_ci = ci + count;
}

void bsn_cq_set_spare(struct bsn_cq *cq, uint32_t spare)
{
	const uint32_t ci = consumer_index(cq);

	publish(cq, ci);
	bsn_cq_begin_chunks(cq, ci, spare);
}

const uint8_t *bsn_cq_next_chunk(struct bsn_cq *cq, const uint8_t *next)
{
	if (!cq->spare)
		return publish_one(cq, next);
	publish_earlier(cq);
	next = go_round(cq, next);
	cq->chunk_end = next + cqes_of_chunk(cq, next) * cq->stride;
	cq->chunk_ci += cqes_of_chunk(cq, next);
	return next;
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

void bsn_cq_arm(struct bsn_cq *cq, bool solicited_only)
{
	const struct bsn_cq_doorbell bell = {
		.sn = cq->arm_sn,
		.cmd = solicited_only ? BSN_CQ_ARM_SOLICITED : BSN_CQ_ARM_NEXT,
		.ci = consumer_index(cq),
		.cqn = cq->cqn,
	};

	publish(cq, consumer_index(cq));
	bsn_store_record(cq->record + 1, bsn_cq_doorbell_dword(&bell, 0));
	bsn_wc_start(); /* O8 */
	bsn_store_mmio(cq->arm_reg, bsn_to_be64(bsn_cq_doorbell_word(&bell, 0)));
	bsn_wc_flush(); /* O8 */
}

/* -- data that came inside the CQE -------------------------------------------------------------- */

/* The data, or NULL where the CQE cannot hold as much as it says. */
static const uint8_t *inline_data(const struct bsn_cq *cq, const uint8_t *next)
{
	struct bsn_cqe cqe;

	if (bsn_cqe_decode(next + BSN_CQE_SIZE - cq->stride, cq->stride, &cqe, NULL))
		return NULL;
	return cqe.inline_bytes;
}

/* The same of a receive, without a look at its other fields. */
BSN_ALWAYS_INLINE const uint8_t *received_data(const struct bsn_cq *cq, const uint8_t *next,
					       const struct bsn_cqe_resp *cqe)
{
	if (BSN_UNLIKELY(cqe->byte_count > bsn_cqe_inline_room(cqe->format)))
		return NULL;
	if (BSN_LIKELY(cqe->format == BSN_CQE_INLINE_32))
		return next;
	return cqe->format == BSN_CQE_INLINE_64 && cq->stride == BSN_CQE128_SIZE ?
		       next + BSN_CQE_SIZE - BSN_CQE128_SIZE :
		       NULL;
}

/* Copies into the memory that a list of data pointers names. */
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

/*
 * Copies results of READs and atomics into memory. The WQE is still there: its slots are not free
 * before it is done.
 */
static int scatter_to_request(const struct bsn_route *route, const struct bsn_cqe_req *cqe,
			      const uint8_t *src)
{
	uint8_t bytes[BSN_WQE_MAX_DS * BSN_DS_SIZE];
	struct bsn_wqe wqe;

	for (size_t at = 0; at < sizeof(bytes); at += BSN_BB_SIZE) {
		const size_t left = sizeof(bytes) - at;
		memcpy(bytes + at, route->ring + ((cqe->wqe_counter * BSN_BB_SIZE + at) & route->mask),
		       left < BSN_BB_SIZE ? left : BSN_BB_SIZE);
	}
	if (bsn_wqe_decode(bytes, sizeof(bytes), (enum bsn_transport)route->transport, &wqe, NULL))
		return -EPROTO;
	if (wqe.op && wqe.op->data == BSN_DATA_SCATTER && wqe.data_count)
		scatter(src, cqe->byte_count, bytes + wqe.data[0].offset, wqe.data_count);
	return 0;
}

/* Up to BSN_CQE_SIZE bytes, by moves that overlap. */
BSN_ALWAYS_INLINE void copy_inline(uint8_t *dst, const uint8_t *src, size_t n)
{
	if (n >= 16) {
		for (size_t at = 0; at + 16 < n; at += 16)
			memcpy(dst + at, src + at, 16);
		memcpy(dst + n - 16, src + n - 16, 16);
	} else if (n >= 8) {
		memcpy(dst, src, 8);
		memcpy(dst + n - 8, src + n - 8, 8);
	} else if (n >= 4) {
		memcpy(dst, src, 4);
		memcpy(dst + n - 4, src + n - 4, 4);
	} else if (n) {
		dst[0] = src[0];
		dst[n / 2] = src[n / 2];
		dst[n - 1] = src[n - 1];
	}
}

/* -- a send request is done ---------------------------------------------------------------------- */

static const uint8_t *wqe_of(const struct bsn_route *route, uint32_t wqe_index)
{
	return route->ring + (wqe_index * BSN_BB_SIZE & route->mask);
}

static void set_done(struct bsn_route *route, uint32_t wqe_index)
{
	__atomic_store_n(&route->done, (uint16_t)wqe_index, __ATOMIC_RELEASE); /* O6 */
}

/* What was kept of a request: id and user pointer; see struct bsn_sq. */
BSN_ALWAYS_INLINE void recall(const struct bsn_route *route, uint32_t wqe_index,
			      struct bsn_completion *c)
{
	const uint32_t offset = wqe_index * BSN_BB_SIZE & route->mask;
	const uint8_t *wqe = route->ring + offset;

	if (route->has_peers) { /* two words a slot; the compiler would divide and multiply */
		const uint64_t *kept = route->ids + offset / (BSN_BB_SIZE / 2);
		const uint64_t user = kept[1];

		c->id = kept[0];
		memcpy(&c->user, &user, sizeof(c->user));
		return;
	}
	c->user = route->user;
	if (wqe[7] & BSN_FAR_BITS)
		c->id = route->ids[offset / BSN_BB_SIZE];
	else
		memcpy(&c->id, wqe + BSN_NEAR_ID_AT, sizeof(c->id));
}

/*
 * In a CQE the result of an atomic is big-endian (bsn_cqe.h); in memory it has the device's order. The
 * CQE is ours, so it is converted there.
 */
static void order_result(const struct bsn_route *route, uint32_t wqe_opcode, uint32_t length,
			 const uint8_t *result)
{
	const struct bsn_wqe_op *op = bsn_wqe_op_find(wqe_opcode);
	uint64_t value;

	if (!op || !op->has_atomic || length != sizeof(value) ||
	    (route->sq && route->sq->has_big_endian_results))
		return;
	value = bsn_load_be64(result);
	memcpy((uint8_t *)(uintptr_t)result, &value, sizeof(value));
}

/* The beginning of the memory that a request reads into; NULL: it reads nothing. */
static const void *first_piece_read(const struct bsn_route *route, uint32_t wqe_index)
{
	const struct bsn_wqe_op *op;
	struct bsn_data first;
	struct bsn_ctrl ctrl;
	uint32_t head_ds;

	bsn_ctrl_decode(&ctrl, wqe_of(route, wqe_index));
	op = bsn_wqe_op_find(ctrl.opcode);
	if (!op || op->data != BSN_DATA_SCATTER)
		return NULL;
	head_ds = bsn_wqe_head_ds(op, (enum bsn_transport)route->transport, ctrl.opmod, false);
	if (head_ds >= ctrl.ds)
		return NULL;
	bsn_data_decode(&first, route->ring + ((wqe_index * BSN_BB_SIZE + head_ds * BSN_DS_SIZE) &
					       (route->mask | (BSN_BB_SIZE - 1))));
	return (const void *)(uintptr_t)first.addr;
}

/* Of a queue that hands out results: hands out one that did not come in the CQE. */
static void give_result(const struct bsn_route *route, uint32_t wqe_index, struct bsn_completion *c)
{
	const void *data = c->flags & BSN_C_DATA ? NULL : first_piece_read(route, wqe_index);

	if (!data)
		return;
	c->data = data;
	c->flags |= BSN_C_DATA;
}

static uint8_t *hidden_of(const struct bsn_route *route, uint32_t wqe_index)
{
	return &route->sq->hidden[(wqe_index * BSN_BB_SIZE & route->mask) / BSN_BB_SIZE];
}

static void set_hidden(const struct bsn_route *route, uint32_t wqe_index, enum bsn_hidden how)
{
	__atomic_store_n(hidden_of(route, wqe_index), (uint8_t)how, __ATOMIC_RELAXED);
}

/* Whether the library signaled the request, and whether the user is told of its failure. */
static enum bsn_hidden take_hidden(const struct bsn_route *route, uint32_t wqe_index)
{
	uint8_t *hidden = hidden_of(route, wqe_index);
	const uint8_t how = __atomic_load_n(hidden, __ATOMIC_RELAXED);

	if (how)
		__atomic_store_n(hidden, BSN_HIDDEN_NOT, __ATOMIC_RELAXED);
	return (enum bsn_hidden)how;
}

/*
 * Of a queue some of whose completions are the library's own, or have results. Returns whether this one
 * is the user's.
 */
static __attribute__((noinline)) int finish_send(struct bsn_route *route, uint32_t wqe_index,
						 struct bsn_completion *c)
{
	const enum bsn_hidden hidden = take_hidden(route, wqe_index);
	const int given = hidden == BSN_HIDDEN_NOT || hidden == BSN_HIDDEN_FAILED;

	if (given && route->sq->gives_results)
		give_result(route, wqe_index, c);
	set_done(route, wqe_index);
	return given;
}

int bsn_cq_take_far(struct bsn_route *route, uint32_t wqe_index, struct bsn_completion *c)
{
	if (BSN_UNLIKELY(!route->has_peers && !has_send_side(route)))
		return 0; /* a queue without a send side: no CQE of a ConnectX */
	recall(route, wqe_index, c);
	if (BSN_UNLIKELY(__atomic_load_n(&route->has_hidden, __ATOMIC_RELAXED)))
		return finish_send(route, wqe_index, c) && c->id != BSN_OWN_ID;
	set_done(route, wqe_index);
	return c->id != BSN_OWN_ID;
}

/* -- a receive succeeded ------------------------------------------------------------------------ */

BSN_ALWAYS_INLINE const uint8_t *list_of(const struct bsn_rq *rq, uint32_t wqe_index)
{
	const size_t slot = wqe_index & rq->mask;

	return rq->ring + (slot << rq->stride_log2) + (rq->is_srq ? BSN_SRQ_NEXT_SIZE : 0);
}

/* Where a datagram came from. */
BSN_ALWAYS_INLINE void take_source(const uint8_t *next, struct bsn_completion *c)
{
	struct bsn_cqe_resp cqe;

	bsn_cqe_resp_decode(&cqe, next);
	c->src_qpn = cqe.rqpn;
	c->slid = (uint16_t)cqe.slid;
	c->sl = (uint8_t)cqe.sl;
	c->dlid_path_bits = (uint8_t)(cqe.ml_path & 0x7f);
	if (cqe.grh != BSN_CQE_GRH_NONE)
		c->flags |= BSN_C_GRH;
}

BSN_ALWAYS_INLINE void finish_recv(const struct bsn_route *route, const uint8_t *next,
				   struct bsn_completion *c)
{
	struct bsn_cqe_tail tail;

	if (route->transport == BSN_TRANSPORT_UD)
		take_source(next, c);
	bsn_cqe_tail_decode(&tail, next + BSN_CQE_TAIL_OFFSET);
	c->id = bsn_rq_give_back(route->rq, tail.wqe_counter);
}

void bsn_cq_finish_recv(const struct bsn_route *route, const uint8_t *next,
			struct bsn_completion *c)
{
	finish_recv(route, next, c);
}

/* All of a completion but the data. */
BSN_ALWAYS_INLINE void take_receive(const struct bsn_route *route, const uint8_t *next,
				    uint8_t kind, struct bsn_completion *c)
{
	struct bsn_cqe_resp cqe;

	if (BSN_LIKELY((kind >> 4) != BSN_CQE_RESP_SEND_INV)) {
		bsn_cq_put_recv_who(bsn_cq_key(bsn_cq_who(next)), c);
		bsn_cq_put_recv(next, kind, c);
	} else {
		bsn_cqe_resp_decode(&cqe, next);
		bsn_cq_put_success(c, cqe.byte_count, BSN_C_INVAL);
		c->who = cqe.qpn | (uint32_t)BSN_RECV << 24;
		c->imm = cqe.imm_inval_pkey;
	}
	c->user = route->user;
	finish_recv(route, next, c);
}

/* The data that came inside the CQE, into several pieces of memory. */
static __attribute__((noinline)) bool take_pieces(const struct bsn_route *route, const uint8_t *next,
						  const uint8_t *src, uint8_t kind,
						  struct bsn_completion *c)
{
	const struct bsn_rq *rq = route->rq;
	struct bsn_cqe_resp cqe;

	bsn_cqe_resp_decode(&cqe, next);
	scatter(src, cqe.byte_count, list_of(rq, cqe.wqe_counter), rq->max_sge);
	take_receive(route, next, kind, c);
	return true;
}

/* Any receive of a queue that hands out data where they lie. */
static bool give_receive(const struct bsn_cq *cq, const struct bsn_route *route, const uint8_t *next,
			 uint8_t kind, struct bsn_completion *c)
{
	struct bsn_cqe_resp cqe;
	struct bsn_data first;
	const uint8_t *src;

	bsn_cqe_resp_decode(&cqe, next);
	src = cqe.format ? received_data(cq, next, &cqe) : NULL;
	if (cqe.format && !src)
		return false;
	bsn_data_decode(&first, list_of(route->rq, cqe.wqe_counter));
	take_receive(route, next, kind, c);
	if (cqe.opcode == BSN_CQE_RESP_WR_IMM)
		return true;
	c->data = src ? src : (const void *)(uintptr_t)first.addr;
	c->flags |= src ? BSN_C_DATA | BSN_C_IN_CQE : BSN_C_DATA;
	return true;
}

static bool take_with_data(const struct bsn_cq *cq, const struct bsn_route *route,
			   const uint8_t *next, uint8_t kind, struct bsn_completion *c)
{
	const struct bsn_rq *rq = route->rq;
	struct bsn_cqe_resp cqe;
	struct bsn_data first;
	const uint8_t *src;

	bsn_cqe_resp_decode(&cqe, next);
	src = received_data(cq, next, &cqe);
	if (BSN_UNLIKELY(!src))
		return false;
	bsn_data_decode(&first, list_of(rq, cqe.wqe_counter));
	if (BSN_UNLIKELY(first.is_inline || cqe.byte_count > first.byte_count))
		return take_pieces(route, next, src, kind, c);
	copy_inline((uint8_t *)(uintptr_t)first.addr, src, cqe.byte_count);
	take_receive(route, next, kind, c);
	return true;
}

/* Any receive that succeeded, by the long way. */
bool bsn_cq_take_any_recv(const struct bsn_route *route, const uint8_t *next,
			  struct bsn_completion *c, uint32_t kind, const struct bsn_cq *cq)
{
	const unsigned opcode = kind >> 4;

	if (!route->rq || kind & 1 || opcode < BSN_CQE_RESP_WR_IMM ||
	    opcode > BSN_CQE_RESP_SEND_INV)
		return false;
	if (gives_data(route))
		return give_receive(cq, route, next, (uint8_t)kind, c);
	if (kind & BSN_RECV_KIND_FORMAT)
		return take_with_data(cq, route, next, (uint8_t)kind, c);
	take_receive(route, next, (uint8_t)kind, c);
	return true;
}

static __attribute__((noinline)) bool take_recv(const struct bsn_cq *cq, const struct bsn_route *route,
						const uint8_t *next, struct bsn_completion *c)
{
	return bsn_cq_take_any_recv(route, next, c, bsn_cq_op_own(next) ^ cq->phase, cq);
}

BSN_ALWAYS_INLINE bool is_compressed(const uint8_t *next)
{
	return (bsn_cq_op_own(next) & BSN_RECV_KIND_FORMAT) == BSN_RECV_KIND_FORMAT;
}

/*
 * Copies up to 32 bytes that came in the CQE into the first piece of the receive's memory. The queue is
 * loaded again where the arguments are not needed any more, so that none has to be saved. What is compressed
 * is left to bsn_cq_poll_cold(), which expands it.
 */
bool bsn_cq_take_far_recv(const struct bsn_route *route, const uint8_t *next,
			  struct bsn_completion *c, uint32_t kind, const struct bsn_cq *cq)
{
	const uint64_t bytes = bsn_cq_byte_len(next);
	const uint8_t *list;
	struct bsn_data first;
	struct bsn_rq *rq;
	size_t slot;

	if (BSN_UNLIKELY((kind & ~(uint32_t)BSN_RECV_KIND_SOLICITED) !=
				 (BSN_RECV_KIND_SEND | BSN_RECV_KIND_DATA_32) ||
			 bytes > (uint32_t)bsn_cqe_inline_room(BSN_CQE_INLINE_32)))
		return !is_compressed(next) && take_recv(cq, route, next, c);
	rq = route->rq;
	slot = bsn_cq_wqe_index(next) & rq->mask;
	list = rq->ring + (slot << rq->stride_log2);
	/* The bit above the byte count, that of inline data, is the sign. */
	if (BSN_UNLIKELY((int32_t)bsn_load_be32(list) < (int32_t)bytes))
		return take_recv(cq, route, next, c);
	rq = route->rq;
	bsn_data_decode(&first, list);
	bsn_cq_put_success(c, bytes, 0);
	bsn_cq_put_whose(c, rq->ids[slot], route->user);
	copy_inline((uint8_t *)(uintptr_t)first.addr, next, bytes);
	bsn_rq_retire(rq, (uint32_t)slot);
	return true;
}

/* -- one CQE, any ---------------------------------------------------------------------------------- */

/* A result that came inside the CQE: handed out, or put where the request says. */
static int take_result(const struct bsn_cq *cq, const uint8_t *next, const struct bsn_route *route,
		       struct bsn_completion *c)
{
	const uint8_t *src = inline_data(cq, next);
	struct bsn_cqe_req cqe;

	if (!src)
		return -EPROTO;
	bsn_cqe_req_decode(&cqe, next);
	order_result(route, cqe.wqe_opcode, cqe.byte_count, src);
	if (!route->sq || !route->sq->gives_results)
		return scatter_to_request(route, &cqe, src);
	c->data = src;
	c->flags = BSN_C_DATA | BSN_C_IN_CQE;
	return 0;
}

static int reap_request(struct bsn_cq *cq, const uint8_t *next, struct bsn_route *route,
			struct bsn_completion *c)
{
	struct bsn_cqe_req cqe;

	if (!has_send_side(route))
		return -EPROTO;
	bsn_cqe_req_decode(&cqe, next);
	bsn_cq_put_success(c, cqe.byte_count, 0);
	if (cqe.format != BSN_CQE_NO_INLINE && take_result(cq, next, route, c))
		return -EPROTO;
	c->who = bsn_cq_who(next);
	return bsn_cq_take_far(route, cqe.wqe_counter, c);
}

/*
 * Of queues whose unsignaled work reports only the first error. There all that comes after a failure fails, too, so
 * that @flushed is known at each CQE; where others go on, as streams of an initiator do, it would be stale.
 */
static bool is_silent_after_failure(const struct bsn_route *route)
{
	const struct bsn_ctrl silent = { .ce = BSN_CE_ON_FIRST_ERROR };

	return route->has_failed && route->sq->ce_quiet & bsn_ctrl_word(&silent, 1) >> 32;
}

void bsn_route_keep_error(struct bsn_route *route, const struct bsn_completion *c)
{
	if (route->first_error && !__atomic_exchange_n(&route->has_error, 1, __ATOMIC_ACQ_REL))
		*route->first_error = *c;
}

/* Whether the user is shown a send request that failed, or was flushed. */
static bool shows_failure(struct bsn_route *route, struct bsn_completion *c)
{
	const bool is_own = c->id == BSN_OWN_ID;

	if (is_own && c->status == IBV_WC_WR_FLUSH_ERR)
		return false;
	if (is_own)
		c->id = 0;
	bsn_route_keep_error(route, c);
	return !is_own;
}

/*
 * Unsignaled requests after the first error of such a queue never have a CQE. This flushes the next one that the user
 * is shown, in order, up to @end or to a WQE that will have a CQE. Returns whether there was one.
 */
static bool flush_silent(struct bsn_route *route, uint16_t end, struct bsn_completion *c)
{
	struct bsn_ctrl ctrl;

	if (!is_silent_after_failure(route))
		return false;
	for (uint16_t index; (index = route->flushed) != end;) {
		bsn_ctrl_decode(&ctrl, wqe_of(route, index));
		if (ctrl.ce != BSN_CE_ON_FIRST_ERROR)
			return false;
		*c = (struct bsn_completion){
			.status = IBV_WC_WR_FLUSH_ERR,
			.opcode = (uint8_t)ctrl.opcode,
			.syndrome = BSN_SYNDROME_FLUSHED,
			.wqe_index = index,
			.qpn = ctrl.qpn,
		};
		recall(route, index, c);
		route->flushed = (uint16_t)(index + bsn_bb_of_ds(ctrl.ds));
		set_done(route, index);
		if (shows_failure(route, c))
			return true;
	}
	return false;
}

/* What was only appended has not failed yet, and may be taken back. */
int bsn_sq_give_back(struct bsn_sq *sq, struct bsn_completion *c, int n)
{
	const uint16_t end = sq->ring ? bsn_sq_first_unrung(sq) : 0;
	int got = 0;

	while (got < n && flush_silent(&sq->route, end, &c[got]))
		got++;
	return got;
}

/* The flush of a failed queue goes on after the request that failed, whose slot is ours. */
static void note_failed_request(struct bsn_route *route, uint16_t index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, wqe_of(route, index));
	route->flushed = (uint16_t)(index + bsn_bb_of_ds(ctrl.ds));
	route->has_failed = true;
}

static int reap_failed_request(struct bsn_route *route, uint16_t index, struct bsn_completion *c)
{
	enum bsn_hidden hidden;

	if (!has_send_side(route))
		return -EPROTO;
	recall(route, index, c);
	note_failed_request(route, index);
	hidden = take_hidden(route, index); /* a user's request that the library signaled is shown */
	if (hidden == BSN_HIDDEN_SUCCESS)
		set_hidden(route, index, BSN_HIDDEN_FAILED);
	set_done(route, index);
	return hidden != BSN_HIDDEN_ALWAYS && shows_failure(route, c);
}

static int reap_error(const uint8_t *next, struct bsn_route *route, struct bsn_completion *c)
{
	struct bsn_cqe_err cqe;

	bsn_cqe_err_decode(&cqe, next);
	*c = (struct bsn_completion){
		.user = route->user,
		.status = bsn_status_of_syndrome(cqe.syndrome),
		.opcode = (uint8_t)cqe.wqe_opcode,
		.syndrome = (uint8_t)cqe.syndrome,
		.vendor_syndrome = (uint8_t)cqe.vendor_syndrome,
		.hw_syndrome = (uint8_t)cqe.hw_syndrome,
		.wqe_index = (uint16_t)cqe.wqe_counter,
		.qpn = cqe.qpn,
	};
	if (cqe.opcode == BSN_CQE_REQ_ERR)
		return reap_failed_request(route, (uint16_t)cqe.wqe_counter, c);
	if (!route->rq)
		return -EPROTO;
	if (cqe.syndrome == BSN_SYNDROME_REMOTE_ABORTED &&
	    cqe.vendor_syndrome == BSN_VENDOR_ODP_PAGE_FAULT &&
	    bsn_srq_repost(route->rq, cqe.wqe_counter))
		return 0; /* the QP lives, and nothing was received yet (rdma-core mlx5 cq.c) */
	c->opcode = BSN_RECV;
	c->id = bsn_rq_give_back(route->rq, cqe.wqe_counter);
	bsn_route_keep_error(route, c);
	return 1;
}

static int reap_known(struct bsn_cq *cq, const uint8_t *next, struct bsn_route *route,
		      const struct bsn_cqe_tail *tail, struct bsn_completion *c)
{
	switch (tail->opcode) {
	case BSN_CQE_REQ:
		return reap_request(cq, next, route, c);
	case BSN_CQE_RESP_WR_IMM:
	case BSN_CQE_RESP_SEND:
	case BSN_CQE_RESP_SEND_IMM:
	case BSN_CQE_RESP_SEND_INV:
		return take_recv(cq, route, next, c) ? 1 : -EPROTO;
	case BSN_CQE_REQ_ERR:
	case BSN_CQE_RESP_ERR:
		return reap_error(next, route, c);
	default:
		return -EPROTO;
	}
}

/* Counts a CQE that belongs to no queue. */
static void drop(struct bsn_cq *cq, uint32_t qpn)
{
	cq->count_dropped++;
	if (qpn == QPN_NOBODY && cq->stale)
		count_stale(cq, -1);
}

enum { SESSION = -EALREADY }; /* no error, only told apart from counts */

/*
 * The CQE at @next. Returns how many completions it gave, with @next moved on where it is done
 * with; SESSION: it was compressed, and is whole now, with those after it;
 * -ENOENT: it is not ours; -EPROTO: neither it nor what follows can be read.
 */
static int reap_cqe(struct bsn_cq *cq, const uint8_t **next, struct bsn_completion *c)
{
	struct bsn_cqe_tail tail;
	struct bsn_cqe_req view;
	struct bsn_route *route;
	int got = 0;

	bsn_cqe_tail_decode(&tail, *next + BSN_CQE_TAIL_OFFSET);
	if (tail.owner != cq->phase || tail.opcode == BSN_CQE_INVALID)
		return -ENOENT;
	bsn_from_device(); /* O4 */
	if (tail.format == BSN_CQE_COMPRESSED)
		return bsn_cq_expand(cq, *next, cq->phase) ? -EPROTO : SESSION;
	bsn_cqe_req_decode(&view, *next);
	route = bsn_cq_find(cq, view.qpn);
	if (!route && is_receive(tail.opcode) && view.qpn != QPN_NOBODY)
		route = bsn_cq_find(cq, BSN_CQ_XRC);
	if (!route)
		drop(cq, view.qpn);
	else if (tail.opcode == BSN_CQE_REQ_ERR &&
		 flush_silent(route, (uint16_t)view.wqe_counter, c))
		return 1; /* the CQE is looked at again */
	else
		got = reap_known(cq, *next, route, &tail, c);
	if (got >= 0)
		*next = bsn_cq_advance(cq, *next);
	return got;
}

static const char *death_of(int error)
{
	switch (error) {
	case EIO:
		return "the device is gone: nothing will complete any more";
	case EOVERFLOW:
		return "the CQ overran: make it with as many entries as all its queues may have outstanding";
	case EPROTO:
		return "a CQE that nobody can read, or a compressed one of a CQ made without compression";
	default:
		return "the CQ is dead";
	}
}

int bsn_cq_end_poll(const struct bsn_cq *cq)
{
	const int error = __atomic_load_n(&cq->dead, __ATOMIC_ACQUIRE);

	return BSN_UNLIKELY(error) ? refuse(error, death_of(error)) : 0;
}

/* The queue is empty, or cannot be read on. */
static int end_poll(struct bsn_cq *cq, int err)
{
	if (err == -EPROTO)
		bsn_cq_kill(cq, EPROTO);
	return bsn_cq_end_poll(cq);
}

static __attribute__((noinline)) int poll_ring(struct bsn_cq *cq, const uint8_t *next,
					       struct bsn_completion *c, int n)
{
	int got = 0, one = 0;

	cq->is_full_poll = 0;
	while (got < n && !cq->is_full_poll) {
		one = reap_cqe(cq, &next, c + got);
		if (one == SESSION && !got && next == cq->next)
			return bsn_cq_poll_many(cq, c, n); /* nothing of this poll came before it */
		if (one == SESSION)
			continue;
		if (one < 0)
			break;
		got += one;
	}
	cq->next = next;
	if (one < 0 && !got)
		return end_poll(cq, one);
	if (one == -EPROTO)
		bsn_cq_kill(cq, EPROTO);
	return got;
}

/* A plain receive of the XRC SRQ; false: poll_ring() has to look at it. */
BSN_ALWAYS_INLINE bool take_xrc(const struct bsn_cq *cq, const struct bsn_route *route, const uint8_t *next,
				struct bsn_completion *c)
{
	const uint8_t kind = bsn_cq_op_own(next) ^ cq->phase;
	uint32_t key;

	if (kind & ~(BSN_RECV_KIND_OPCODE | BSN_RECV_KIND_SOLICITED) || !(kind & BSN_RECV_KIND_OPCODE))
		return false;
	bsn_from_device(); /* O4 */
	key = bsn_cq_key(bsn_cq_who(next));
	if (key >> 8 == QPN_NOBODY || bsn_cq_find(cq, key >> 8))
		return false;
	bsn_cq_put_recv_who(key, c);
	if (!bsn_cq_put_recv(next, kind, c))
		return false;
	c->user = route->user;
	c->id = bsn_rq_give_back(route->rq, bsn_cq_wqe_index(next));
	return true;
}

/* Receives of an XRC SRQ name targets, which may be of other processes: the inline code knows none of them. */
static __attribute__((noinline)) int poll_xrc(struct bsn_cq *cq, const uint8_t *next, struct bsn_completion *c,
					      int n)
{
	const struct bsn_route *const route = __atomic_load_n(&cq->xrc, __ATOMIC_ACQUIRE);
	int got = 0, rest;

	cq->is_full_poll = 0;
	while (got < n && !cq->is_full_poll && take_xrc(cq, route, next, &c[got])) {
		got++;
		next = bsn_cq_advance(cq, next);
	}
	if (got == n || cq->is_full_poll) {
		cq->next = next;
		return got;
	}
	rest = poll_ring(cq, next, c + got, n - got);
	return got && rest < 0 ? got : got + rest;
}

/* A poll of one that begins with a session, at @next: the inline code has the CQEs that it becomes. */
static __attribute__((noinline)) int poll_first(struct bsn_cq *cq, const uint8_t *next, struct bsn_completion *c)
{
	bsn_from_device(); /* O4 */
	if (bsn_cq_expand(cq, next, cq->phase))
		return poll_ring(cq, next, c, 1);
	cq->is_full_poll = 0;
	return bsn_cq_poll_one(cq, c);
}

/* Of those that poll_ring() would read first. */
static bool is_session(const struct bsn_cq *cq, const uint8_t *next)
{
	return ((bsn_cq_op_own(next) ^ cq->phase) & (BSN_RECV_KIND_FORMAT | 1)) == BSN_RECV_KIND_FORMAT;
}

/* Only chooses, so that no way saves registers for another. */
int bsn_cq_poll_cold(struct bsn_cq *cq, const uint8_t *next, struct bsn_completion *c, int n)
{
	if (BSN_UNLIKELY(cq->path))
		return cq->path->poll(cq, c, n);
	if (__atomic_load_n(&cq->xrc, __ATOMIC_RELAXED))
		return poll_xrc(cq, next, c, n);
	if (n == 1 && next == cq->next && is_session(cq, next))
		return poll_first(cq, next, c);
	return poll_ring(cq, next, c, n);
}
