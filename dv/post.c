/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts of any shape, to any peer. An exported function only chooses; then one piece of code goes
 * up to the register: it looks for room, puts the WQE into the ring, and ends the post: the slot
 * moves on, and the WQE is published from the ring. Whatever does not fit, or is to be refused,
 * goes to bsn_sq_post_request() before anything is written, since a free slot still tells of the
 * request that was there.
 */
#include "init.h"
#include "place.h"
#include "refuse.h"

BSN_ALWAYS_INLINE struct place place_of(const struct bsn_ep *ep, const struct bsn_peer *peer,
					uint32_t what, unsigned data_ds)
{
	return (struct place){ ep->sq, peer, ep->sq->slot, head_ds(peer, what) + data_ds };
}

/*
 * Whether it is free, in one piece. Room is looked for where too little is shown, and the WQE may
 * move to the ring's start.
 */
BSN_ALWAYS_INLINE bool has_room(struct place *p)
{
	const size_t bytes = bsn_bytes_of_ds(p->ds);

	if (BSN_LIKELY(bsn_sq_has_room(p->sq, bytes)))
		return true;
	if (!bsn_sq_refill_for(p->sq, bytes))
		return false;
	p->wqe = p->sq->slot;
	return true;
}

/* Whether the queue has the operation, and not by its path only. @ops, @flags: of this kind */
BSN_ALWAYS_INLINE bool takes(const struct bsn_sq *sq, uint32_t what, uint64_t ops, uint32_t flags)
{
	return BSN_LIKELY((sq->ops & ops) >> (what & 63) & 1) &&
	       BSN_LIKELY(!(what & BSN_WHAT_FLAGS & ~flags));
}

/* -- all else: any request is one struct ------------------------------------------------------ */

static __attribute__((noinline, cold)) int post_sgl_cold(struct bsn_ep *ep, uint32_t what,
							 const struct bsn_sge *sge,
							 const struct bsn_remote *remote,
							 uint32_t imm, uint64_t id)
{
	const struct bsn_request r = {
		.what = what, .imm = imm, .sge = sge, .remote = remote, .id = id
	};

	return bsn_sq_post_request(ep, &r);
}

static __attribute__((noinline, cold)) int post_inline_cold(struct bsn_ep *ep, uint32_t what,
							    const void *data,
							    const struct bsn_remote *remote,
							    uint32_t imm, uint64_t id)
{
	const struct bsn_sge piece = { (uintptr_t)data, count_of(what), 0 };
	const struct bsn_request r = {
		.what = (what & BSN_WHAT_REST) | BSN_WHAT(0, BSN_F_INLINE, 1u),
		.imm = imm,
		.sge = &piece,
		.remote = remote,
		.id = id,
	};

	return bsn_sq_post_request(ep, &r);
}

static __attribute__((noinline, cold)) int post_atomic_cold(struct bsn_ep *ep, uint32_t what,
							    const struct bsn_sge *sge,
							    const struct bsn_remote *remote,
							    const uint64_t operand[2], uint64_t id)
{
	const struct bsn_request r = {
		.what = what,
		.sge = sge,
		.remote = remote,
		.operand = operand,
		.id = id,
	};

	return bsn_sq_post_request(ep, &r);
}

/* -- what programs call ----------------------------------------------------------------------- */

/*
 * Each kind of post is compiled twice, for queues of one peer and of many: @peer is NULL, or the
 * endpoint. The exported function only chooses, so that a request for the queue's path gets there
 * before registers are saved.
 */
BSN_ALWAYS_INLINE int post_list(struct bsn_ep *ep, const struct bsn_peer *peer, uint32_t what,
				const struct bsn_sge *sge, unsigned count,
				const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	struct place p = place_of(ep, peer, what, count);

	if (!has_room(&p) || BSN_UNLIKELY(count > p.sq->max_sge) ||
	    BSN_UNLIKELY(!are_plain(sge, count)))
		return post_sgl_cold(ep, what, sge, remote, imm, id);
	put_sges(put_head(p.wqe, p.sq, peer, what, p.ds, remote, imm), sge, count);
	return end_post(&p, id, what);
}

/* A list of one SGE is by far the most frequent, and needs no loop. */
BSN_ALWAYS_INLINE int post_sges(struct bsn_ep *ep, const struct bsn_peer *peer, uint32_t what,
				const struct bsn_sge *sge, const struct bsn_remote *remote,
				uint32_t imm, uint64_t id)
{
	const unsigned count = count_of(what);

	return BSN_LIKELY(count == 1) ? post_list(ep, peer, what, sge, 1, remote, imm, id)
				      : post_list(ep, peer, what, sge, count, remote, imm, id);
}

static __attribute__((noinline)) int post_sges_to_one(struct bsn_ep *ep, uint32_t what,
						      const struct bsn_sge *sge,
						      const struct bsn_remote *remote, uint32_t imm,
						      uint64_t id)
{
	return post_sges(ep, NULL, what, sge, remote, imm, id);
}

static __attribute__((noinline)) int post_sges_to_peer(struct bsn_ep *ep, uint32_t what,
						       const struct bsn_sge *sge,
						       const struct bsn_remote *remote,
						       uint32_t imm, uint64_t id)
{
	return post_sges(ep, to_peer(ep), what, sge, remote, imm, id);
}

int bsn_sq_post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	if (!takes(ep->sq, what, bsn_wqe_sets.with_list, BSN_F_PLAIN))
		return post_sgl_cold(ep, what, sge, remote, imm, id);
	if (ep->sq->has_peers)
		return post_sges_to_peer(ep, what, sge, remote, imm, id);
	return post_sges_to_one(ep, what, sge, remote, imm, id);
}

BSN_ALWAYS_INLINE int post_bytes(struct bsn_ep *ep, const struct bsn_peer *peer, uint32_t what,
				 const void *data, const struct bsn_remote *remote, uint32_t imm,
				 uint64_t id)
{
	struct place p = place_of(ep, peer, what, bsn_inline_ds(count_of(what)));
	uint8_t *at;

	if (!has_room(&p) || BSN_UNLIKELY(count_of(what) - 1 >= p.sq->max_inline))
		return post_inline_cold(ep, what, data, remote, imm, id);
	at = put_head(p.wqe, p.sq, peer, what, p.ds, remote, imm);
	put_inline(at, (const uint8_t *)data, count_of(what));
	return end_post(&p, id, what);
}

static __attribute__((noinline)) int post_bytes_to_one(struct bsn_ep *ep, uint32_t what,
						       const void *data,
						       const struct bsn_remote *remote,
						       uint32_t imm, uint64_t id)
{
	return post_bytes(ep, NULL, what, data, remote, imm, id);
}

static __attribute__((noinline)) int post_bytes_to_peer(struct bsn_ep *ep, uint32_t what,
							const void *data,
							const struct bsn_remote *remote,
							uint32_t imm, uint64_t id)
{
	return post_bytes(ep, to_peer(ep), what, data, remote, imm, id);
}

int bsn_sq_post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
		       const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	if (!takes(ep->sq, what, bsn_wqe_sets.with_gather, BSN_F_ALL))
		return post_inline_cold(ep, what, data, remote, imm, id);
	if (ep->sq->has_peers)
		return post_bytes_to_peer(ep, what, data, remote, imm, id);
	return post_bytes_to_one(ep, what, data, remote, imm, id);
}

static __attribute__((noinline)) int post_operands(struct bsn_ep *ep, uint32_t what,
						   const struct bsn_sge *sge,
						   const struct bsn_remote *remote,
						   const uint64_t operand[2], uint64_t id)
{
	struct place p = place_of(ep, peer_of(ep), what, 2);
	uint8_t *at;

	if (!has_room(&p) || BSN_UNLIKELY(count_of(what) != 1))
		return post_atomic_cold(ep, what, sge, remote, operand, id);
	at = put_head(p.wqe, p.sq, p.peer, what, p.ds, remote, 0);
	put_atomic(at, sge, operand);
	return end_post(&p, id, what);
}

int bsn_sq_post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id)
{
	if (!takes(ep->sq, what, BSN_OPS_OF_ATOMICS, BSN_F_PLAIN))
		return post_atomic_cold(ep, what, sge, remote, operand, id);
	return post_operands(ep, what, sge, remote, operand, id);
}

/* The request once more, with the data that were copied when it was prepared. */
static __attribute__((noinline, cold)) int
post_anew(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
{
	const uint8_t *const data =
		(const uint8_t *)p->body + (has_remote(p->wr.opcode) ? BSN_RADDR_SIZE : 0);
	struct bsn_inline_hdr hdr;
	struct bsn_wr wr = p->wr;
	struct bsn_sge copied;

	wr.id = id;
	wr.sge = p->sge;
	wr.flags = flags & ~(unsigned)BSN_F_INLINE;
	if (p->wr.flags & BSN_F_INLINE) {
		bsn_inline_hdr_decode(&hdr, data);
		copied = (struct bsn_sge){ (uintptr_t)data + BSN_INLINE_HDR_SIZE, hdr.byte_count,
					   0 };
		wr.flags |= BSN_F_INLINE;
		wr.sge = &copied;
		wr.sge_count = 1;
	}
	return bsn_sq_post_wr(ep, &wr);
}

int bsn_sq_post_prepared(struct bsn_ep *ep, const struct bsn_prepared *prepared, uint64_t id,
			 unsigned flags)
{
	const uint32_t what = prepared->wr.opcode | (flags & ~(unsigned)BSN_F_INLINE);
	struct place p;
	uint8_t *at;

	if (BSN_UNLIKELY(flags & ~BSN_F_ALL))
		return post_anew(ep, prepared, id, flags);
	p = place_of(ep, peer_of(ep), what, prepared->body_ds - has_remote(what));
	if (!takes(p.sq, what, UINT64_MAX, BSN_F_PLAIN) ||
	    BSN_UNLIKELY(!bsn_sq_has_room(p.sq, bsn_bytes_of_ds(p.ds))))
		return post_anew(ep, prepared, id, flags);
	at = put_control(p.wqe, p.sq, p.peer, what, p.ds, prepared->wr.imm);
	for (unsigned i = 0; i < prepared->body_ds; i++)
		at = put_copy(at, &prepared->body[i]);
	return end_post(&p, id, what);
}

/* Whether it is inline data in one piece, of a length that @what can say. */
static bool is_one_piece(uint32_t what, const struct bsn_sge *sge)
{
	return count_of(what) == 1 && sge && sge->length < BSN_WHAT_COUNT_MAX;
}

/* The count is then that of bytes, not of SGEs. */
static uint32_t with_length(uint32_t what, const struct bsn_sge *sge)
{
	return (what & BSN_WHAT_REST) | sge->length << BSN_WHAT_COUNT_SHIFT;
}

static const void *to_data(const struct bsn_sge *sge)
{
	return (const void *)(uintptr_t)sge->addr;
}

static __attribute__((noinline)) int post_atomic_wr(struct bsn_ep *ep, uint32_t what,
						    const struct bsn_wr *wr)
{
	const uint64_t operand[2] = { wr->swap_add, wr->compare };

	return bsn_sq_post_atomic(ep, what, wr->sge, &wr->remote, operand, wr->id);
}

/* Inline data in pieces, and what is refused. */
static __attribute__((noinline)) int post_other(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	const uint64_t operand[2] = { wr->swap_add, wr->compare };
	const struct bsn_request r = bsn_request_of(wr, operand);

	return wr->opcode > UINT8_MAX ? bsn_sq_refuse_opcode(ep) : bsn_sq_post_request(ep, &r);
}

int bsn_sq_post_wr(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	const uint32_t what = wr->opcode | wr->flags | wr->sge_count << BSN_WHAT_COUNT_SHIFT;

	if (BSN_UNLIKELY(wr->opcode > 63 || wr->flags & ~BSN_F_ALL || wr->sge_count > UINT8_MAX))
		return post_other(ep, wr);
	if (what & BSN_F_INLINE && is_one_piece(what, wr->sge))
		return bsn_sq_post_inline(ep, with_length(what, wr->sge), to_data(wr->sge),
					  &wr->remote, imm_of(wr), wr->id);
	if (!(what & BSN_F_INLINE) && is_one_of(bsn_wqe_sets.with_list, wr->opcode))
		return bsn_sq_post_sgl(ep, what, wr->sge, &wr->remote, imm_of(wr), wr->id);
	if (is_one_of(BSN_OPS_OF_ATOMICS, wr->opcode))
		return post_atomic_wr(ep, what, wr);
	return post_other(ep, wr);
}

int bsn_ep_post(struct bsn_ep *ep, const struct bsn_request *r)
{
	const uint32_t what = r->what;

	if (!is_one_of(ep->sq->ops, opcode_of(what)) || r->body)
		return bsn_sq_post_request(ep, r);
	if (r->operand)
		return bsn_sq_post_atomic(ep, what, r->sge, r->remote, r->operand, r->id);
	if (!(what & BSN_F_INLINE))
		return bsn_sq_post_sgl(ep, what, r->sge, r->remote, r->imm, r->id);
	if (!is_one_piece(what, r->sge))
		return bsn_sq_post_request(ep, r);
	return bsn_sq_post_inline(ep, with_length(what, r->sge), to_data(r->sge), r->remote, r->imm,
				  r->id);
}
