/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions that the inline poll leaves to bsn_cq_reap(), and those of receives. */
#include "bsn_syndrome.h"
#include "reap.h"
#include "srq.h"

/* -- what comes with it ----------------------------------------------------------------------- */

static const uint8_t *list_of(const struct bsn_rq *rq, uint32_t wqe_index)
{
	const size_t slot = wqe_index & rq->mask;

	return dv_rq(rq)->lists + (slot << dv_rq(rq)->stride_log2);
}

/* Copies into the memory that a list of data pointers names. */
void bsn_scatter(const uint8_t *src, size_t bytes, const uint8_t *list, unsigned entries)
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

/* Copies at most BSN_CQE_SIZE bytes, by moves that overlap. */
static inline void copy_few(uint8_t *dst, const uint8_t *src, size_t n)
{
	if (n >= 16) {
		for (size_t at = 0; at + 16 < n; at += 16)
			memcpy(dst + at, src + at, 16);
		memcpy(dst + n - 16, src + n - 16, 16);
	} else if (n >= 8) {
		memcpy(dst, src, 8);
		memcpy(dst + n - 8, src + n - 8, 8);
	} else {
		for (size_t at = 0; at < n; at++)
			dst[at] = src[at];
	}
}

/* Hands out the data in place, before the WQE is given back. */
BSN_ALWAYS_INLINE bool give_data(const struct bsn_cq *cq, const struct bsn_route *route,
				 const uint8_t *cqe, unsigned kind, struct bsn_completion *c)
{
	struct bsn_data first;

	if (has_format(kind)) {
		c->data = data_inside(cq, cqe, kind);
		c->flags = BSN_C_DATA | BSN_C_IN_CQE;
		return c->data;
	}
	if (kind >> 4 == BSN_CQE_RESP_WR_IMM)
		return true;
	bsn_data_decode(&first, list_of(route->rq, bsn_cq_wqe_index(cqe)));
	c->data = (const void *)(uintptr_t)first.addr;
	c->flags = BSN_C_DATA;
	return true;
}

/* Takes the immediate, or the key that was invalidated. */
static void take_imm(const uint8_t *cqe, unsigned opcode, struct bsn_completion *c)
{
	struct bsn_cqe_resp view;

	bsn_cqe_resp_decode(&view, cqe);
	c->imm = view.imm_inval_pkey;
	c->flags |= opcode == BSN_CQE_RESP_SEND_INV ? BSN_C_INVAL : BSN_C_IMM;
	if (opcode == BSN_CQE_RESP_WR_IMM)
		c->opcode = BSN_RECV_RDMA_WITH_IMM;
}

/* Takes the source of a datagram. */
static void take_source(const uint8_t *cqe, struct bsn_completion *c)
{
	struct bsn_cqe_resp view;

	bsn_cqe_resp_decode(&view, cqe);
	c->src_qpn = view.rqpn;
	c->slid = (uint16_t)view.slid;
	c->sl = (uint8_t)view.sl;
	c->dlid_path_bits = (uint8_t)(view.ml_path & 0x7f);
	if (view.grh != BSN_CQE_GRH_NONE)
		c->flags |= BSN_C_GRH;
}

/* -- a receive succeeded ---------------------------------------------------------------------- */

/* A function of its own, so that the frequent cases save no registers. */
static __attribute__((noinline)) bool give_back_locked(struct bsn_rq *rq, uint32_t index,
						       struct bsn_completion *c)
{
	c->id = bsn_rq_give_back(rq, index);
	return true;
}

/* Completes a receive. Data inside the CQE, if any, were copied before or are handed out. */
static bool reap_any(const struct bsn_cq *cq, struct bsn_route *route, const uint8_t *cqe,
		     unsigned kind, struct bsn_completion *c)
{
	const unsigned opcode = kind >> 4;
	struct bsn_rq *const rq = route->rq;

	c->who = bsn_cq_who_received(c->who);
	if (dv_route(route)->gives_data && !give_data(cq, route, cqe, kind, c))
		return false;
	if (opcode != BSN_CQE_RESP_SEND)
		take_imm(cqe, opcode, c);
	if (dv_route(route)->transport == BSN_TRANSPORT_UD)
		take_source(cqe, c);
	if (bsn_rq_has_lock(rq))
		return give_back_locked(rq, bsn_cq_wqe_index(cqe), c);
	c->id = bsn_rq_give_back_unlocked(rq, bsn_cq_wqe_index(cqe));
	return true;
}

/* Completes a receive whose data are inside the CQE. */
static __attribute__((noinline)) bool reap_with_data(const struct bsn_cq *cq,
						     struct bsn_route *route, const uint8_t *cqe,
						     unsigned kind, struct bsn_completion *c)
{
	const uint8_t *const data = data_inside(cq, cqe, kind);

	if (!data)
		return false;
	if (!dv_route(route)->gives_data)
		bsn_scatter(data, bsn_cq_byte_count(cqe), list_of(route->rq, bsn_cq_wqe_index(cqe)),
			    route->rq->max_sge);
	return reap_any(cq, route, cqe, kind, c);
}

#define MESSAGE_INSIDE (BSN_CQ_MESSAGE | BSN_CQE_INLINE_32 << 2) /* its data are in the CQE */

/* Gives back the WQE of a message that a QP's own queue took. */
static inline bool retire_message(struct bsn_rq *rq, uint32_t index, struct bsn_completion *c)
{
	c->who = bsn_cq_who_received(c->who);
	c->id = bsn_rq_retire(rq, index);
	return true;
}

static __attribute__((noinline)) bool scatter_message(struct bsn_rq *rq, uint32_t index,
						      const uint8_t *cqe, uint32_t bytes,
						      struct bsn_completion *c)
{
	bsn_scatter(cqe, bytes, list_of(rq, index), rq->max_sge);
	return retire_message(rq, index, c);
}

/* A message of a QP's own queue whose data are in the CQE. Usually one SGE takes them all. */
static __attribute__((noinline)) bool copy_message(struct bsn_rq *rq, const uint8_t *cqe,
						   struct bsn_completion *c)
{
	const uint32_t index = bsn_cq_wqe_index(cqe), bytes = bsn_cq_byte_count(cqe);
	struct bsn_data first;

	if (bytes > bsn_cqe_inline_room(BSN_CQE_INLINE_32))
		return false;
	bsn_data_decode(&first, list_of(rq, index));
	if (bytes > first.byte_count || first.is_inline)
		return scatter_message(rq, index, cqe, bytes, c);
	copy_few((uint8_t *)(uintptr_t)first.addr, cqe, bytes);
	return retire_message(rq, index, c);
}

bool bsn_cq_reap(const struct bsn_cq *cq, struct bsn_route *route, const uint8_t *cqe,
		 unsigned kind, struct bsn_completion *c)
{
	const unsigned opcode = kind >> 4;

	if (opcode == BSN_CQE_REQ)
		return bsn_reap_send(cq, route, cqe, kind, c);
	if (kind == MESSAGE_INSIDE && route->recvs == BSN_RECVS_COUNTED)
		return copy_message(route->rq, cqe, c);
	if (kind == BSN_CQ_MESSAGE && route->recvs == BSN_RECVS_LINKED) {
		c->who = bsn_cq_who_received(c->who);
		c->id = bsn_srq_give_back(route->rq, bsn_cq_wqe_index(cqe));
		return true;
	}
	if (opcode == BSN_CQE_RESP_SEND && route->recvs == BSN_RECVS_IN_PLACE) {
		if (!give_data(cq, route, cqe, kind, c))
			return false;
		return retire_message(route->rq, bsn_cq_wqe_index(cqe), c);
	}
	if (!is_received(opcode) || !route->rq)
		return false;
	return has_format(kind) ? reap_with_data(cq, route, cqe, kind, c)
				: reap_any(cq, route, cqe, kind, c);
}

/* -- a receive failed ------------------------------------------------------------------------- */

int bsn_reap_failed_recv(struct bsn_route *route, const struct bsn_cqe_err *cqe,
			 struct bsn_completion *c)
{
	if (!route->rq)
		return -EPROTO;
	if (cqe->syndrome == BSN_SYNDROME_REMOTE_ABORTED &&
	    cqe->vendor_syndrome == BSN_VENDOR_ODP_PAGE_FAULT &&
	    bsn_srq_repost(route->rq, cqe->wqe_counter))
		return 0; /* the QP lives, and nothing was received yet (rdma-core mlx5 cq.c) */
	c->opcode = BSN_RECV;
	c->id = bsn_rq_give_back(route->rq, cqe->wqe_counter);
	bsn_route_keep_error(route, c);
	return 1;
}
