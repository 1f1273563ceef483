/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions of receives. */
#include "bsn_syndrome.h"
#include "reap.h"
#include "srq.h"

/* -- what comes with it ----------------------------------------------------------------------- */

static const uint8_t *list_of(const struct bsn_rq *rq, uint32_t wqe_index)
{
	const size_t slot = wqe_index & rq->mask;

	return rq->ring + (slot << rq->stride_log2) + (rq->is_srq ? BSN_SRQ_NEXT_SIZE : 0);
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

/* Puts data that came inside the CQE where the receive says. */
static bool put_data(const struct bsn_cq *cq, const struct bsn_rq *rq, const uint8_t *cqe,
		     unsigned kind)
{
	const uint8_t *const src = data_inside(cq, cqe, kind);
	const uint8_t *const list = list_of(rq, bsn_cq_wqe_index(cqe));
	const uint32_t bytes = bsn_cq_byte_count(cqe);
	struct bsn_data first;

	if (!src)
		return false;
	bsn_data_decode(&first, list);
	if (BSN_LIKELY(bytes <= first.byte_count && !first.is_inline))
		memcpy((void *)(uintptr_t)first.addr, src, bytes);
	else
		bsn_scatter(src, bytes, list, rq->max_sge);
	return true;
}

/* Hands out the data where they are, before the WQE is given back. */
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

/* An immediate, or the key that was invalidated. */
static void take_imm(const uint8_t *cqe, unsigned opcode, struct bsn_completion *c)
{
	struct bsn_cqe_resp view;

	bsn_cqe_resp_decode(&view, cqe);
	c->imm = view.imm_inval_pkey;
	c->flags |= opcode == BSN_CQE_RESP_SEND_INV ? BSN_C_INVAL : BSN_C_IMM;
	if (opcode == BSN_CQE_RESP_WR_IMM)
		c->opcode = BSN_RECV_RDMA_WITH_IMM;
}

/* Where a datagram came from. */
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

static void take_plain(const struct bsn_route *route, const uint8_t *cqe, struct bsn_completion *c)
{
	bsn_cq_put_plain(c, cqe, bsn_cq_who_received(bsn_cq_who(cqe)), route->user);
}

/* A function of its own, so that the others need not save registers; so is reap_with_data(). */
static __attribute__((noinline)) bool give_back_locked(struct bsn_rq *rq, uint32_t index,
						       struct bsn_completion *c)
{
	c->id = bsn_rq_give_back(rq, index);
	return true;
}

/* Any receive whose data, if they came inside the CQE, are handed out or copied already. */
static bool reap_any(const struct bsn_cq *cq, struct bsn_route *route, const uint8_t *cqe,
		     unsigned kind, struct bsn_completion *c)
{
	const unsigned opcode = kind >> 4;
	struct bsn_rq *const rq = route->rq;

	if (opcode == BSN_CQE_REQ)
		return bsn_reap_result(cq, route, cqe, kind, c);
	if (!is_received(opcode) || !rq)
		return false;
	take_plain(route, cqe, c);
	if (route->gives_data && !give_data(cq, route, cqe, kind, c))
		return false;
	if (opcode != BSN_CQE_RESP_SEND)
		take_imm(cqe, opcode, c);
	if (route->transport == BSN_TRANSPORT_UD)
		take_source(cqe, c);
	if (bsn_rq_has_lock(rq))
		return give_back_locked(rq, bsn_cq_wqe_index(cqe), c);
	c->id = bsn_rq_give_back_unlocked(rq, bsn_cq_wqe_index(cqe));
	return true;
}

static __attribute__((noinline)) bool reap_with_data(const struct bsn_cq *cq,
						     struct bsn_route *route, const uint8_t *cqe,
						     unsigned kind, struct bsn_completion *c)
{
	if (is_compressed(kind))
		return false;
	if (is_received(kind >> 4) && route->rq && !route->gives_data) {
		if (!put_data(cq, route->rq, cqe, kind))
			return false;
		kind &= ~BSN_CQ_FORMAT;
	}
	return reap_any(cq, route, cqe, kind, c);
}

bool bsn_cq_reap_recv(const struct bsn_cq *cq, struct bsn_route *route, const uint8_t *cqe,
		      unsigned kind, struct bsn_completion *c)
{
	if ((kind & ~BSN_CQ_SOLICITED) == BSN_CQ_MESSAGE && route->recvs == BSN_RECVS_LINKED) {
		take_plain(route, cqe, c);
		c->id = bsn_rq_give_back_unlocked(route->rq, bsn_cq_wqe_index(cqe));
		return true;
	}
	if (kind >> 4 == BSN_CQE_RESP_SEND && route->recvs == BSN_RECVS_GIVEN) {
		take_plain(route, cqe, c);
		if (!give_data(cq, route, cqe, kind, c))
			return false;
		c->id = bsn_rq_retire(route->rq, bsn_cq_wqe_index(cqe));
		return true;
	}
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
