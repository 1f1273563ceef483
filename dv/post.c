/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts of lists, of bytes and of atomics, to any peer. An exported function only chooses one of
 * two copies of the code, …_to_one or …_to_peer. That code looks for room, puts the WQE into the
 * ring, moves the slot on and publishes the WQE from the ring. A request that does not fit, or is
 * refused, goes by …_cold to bsn_sq_post_request() in request.c, as a struct bsn_request; until
 * then, only free slots were written.
 */
#include "init.h"
#include "place.h"
#include "refuse.h"

/* -- any other request, as one struct --------------------------------------------------------- */

static __attribute__((noinline)) int post_sgl_cold(struct bsn_ep *ep, uint32_t what,
						   const struct bsn_sge *sge,
						   const struct bsn_remote *remote, uint32_t imm,
						   uint64_t id)
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
	const struct bsn_sge sge = { (uintptr_t)data, count_of(what), 0 };
	const struct bsn_request r = {
		.what = (what & BSN_WHAT_REST) | BSN_WHAT(0, BSN_F_INLINE, 1u),
		.imm = imm,
		.sge = &sge,
		.remote = remote,
		.id = id,
	};

	return bsn_sq_post_request(ep, &r);
}

static __attribute__((noinline)) int post_atomic_cold(struct bsn_ep *ep, uint32_t what,
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

/* Puts a data pointer for each SGE; false: one is empty, or too long for that. */
BSN_ALWAYS_INLINE bool put_list(uint8_t *at, const struct bsn_sge *sge, unsigned count)
{
	for (const struct bsn_sge *const end = sge + count; sge != end; sge++) {
		if (!bsn_is_plain(sge))
			return false;
		at = bsn_put_sge(at, sge);
	}
	return true;
}

/*
 * Each form of post is compiled twice: @peer is NULL for a queue of one peer, and the endpoint for
 * a queue of many. The exported function only chooses, so a request for the queue's path gets there
 * before registers are saved.
 */
BSN_ALWAYS_INLINE int post_sges(struct bsn_ep *ep, const struct bsn_peer *peer, uint32_t what,
				const struct bsn_sge *sge, const struct bsn_remote *remote,
				uint32_t imm, uint64_t id)
{
	const unsigned count = count_of(what);
	struct place p = place_of(ep, peer, what, count);
	uint8_t *at;

	if (!find_room(&p))
		return post_sgl_cold(ep, what, sge, remote, imm, id);
	at = put_head(p.wqe, p.sq, peer, what, p.ds, remote, imm);
	if (count == 1 && bsn_is_plain(sge)) /* as most lists */
		bsn_put_sge(at, sge);
	else if (BSN_UNLIKELY(count > p.sq->max_sge) || !put_list(at, sge, count))
		return post_sgl_cold(ep, what, sge, remote, imm, id);
	return end_post(&p, id, what);
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
	if (!takes(ep->sq, what, BSN_OPS_WITH_LIST, BSN_F_PLAIN))
		return post_sgl_cold(ep, what, sge, remote, imm, id);
	if (dv_sq(ep->sq)->has_peers)
		return post_sges_to_peer(ep, what, sge, remote, imm, id);
	return post_sges_to_one(ep, what, sge, remote, imm, id);
}

BSN_ALWAYS_INLINE int post_bytes(struct bsn_ep *ep, const struct bsn_peer *peer, uint32_t what,
				 const void *data, const struct bsn_remote *remote, uint32_t imm,
				 uint64_t id)
{
	struct place p = place_of(ep, peer, what, bsn_inline_ds(count_of(what)));

	if (!find_room(&p) || BSN_UNLIKELY(count_of(what) - 1 >= p.sq->max_inline))
		return post_inline_cold(ep, what, data, remote, imm, id);
	put_inline(put_head(p.wqe, p.sq, peer, what, p.ds, remote, imm), data, count_of(what));
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
	if (!takes(ep->sq, what, BSN_OPS_WITH_GATHER, BSN_F_ALL))
		return post_inline_cold(ep, what, data, remote, imm, id);
	if (dv_sq(ep->sq)->has_peers)
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

	if (!find_room(&p) || BSN_UNLIKELY(count_of(what) != 1))
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

/* -- requests that are one struct: a program's, and the library's ------------------------------ */

/*
 * Whether the inline data are short enough for @what to hold their length in place of the SGE
 * count.
 */
static bool is_short(const struct bsn_sge *sge)
{
	return sge && sge->length < BSN_WHAT_COUNT_MAX;
}

static uint32_t with_count(uint32_t rest, uint32_t count)
{
	return rest | count << BSN_WHAT_COUNT_SHIFT;
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

int bsn_post(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	uint32_t what;

	if (BSN_UNLIKELY(!ep))
		return bsn_sq_no_endpoint();
	if (BSN_UNLIKELY(wr->opcode > 63 || wr->map))
		return bsn_sq_post_wr(ep, wr);
	if (!(wr->flags & ~BSN_F_PLAIN) && wr->sge_count <= UINT8_MAX) {
		what = with_count(wr->opcode | wr->flags, wr->sge_count);
		if (is_one_of(BSN_OPS_OF_ATOMICS, wr->opcode))
			return post_atomic_wr(ep, what, wr);
		return bsn_sq_post_sgl(ep, what, wr->sge, &wr->remote, imm_of(wr), wr->id);
	}
	if (!(wr->flags & ~BSN_F_ALL) && wr->sge_count == 1 && is_short(wr->sge)) {
		what = with_count(wr->opcode | wr->flags, wr->sge->length);
		return bsn_sq_post_inline(ep, what, to_data(wr->sge), &wr->remote, imm_of(wr),
					  wr->id);
	}
	return bsn_sq_post_wr(ep, wr);
}

int bsn_ep_post(struct bsn_ep *ep, const struct bsn_request *r)
{
	const uint32_t what = r->what, rest = what & BSN_WHAT_REST;

	if (!is_one_of(ep->sq->ops, opcode_of(what)) || r->body)
		return bsn_sq_post_request(ep, r);
	if (r->operand)
		return bsn_sq_post_atomic(ep, what, r->sge, r->remote, r->operand, r->id);
	if (!(what & BSN_F_INLINE))
		return bsn_sq_post_sgl(ep, what, r->sge, r->remote, r->imm, r->id);
	if (count_of(what) != 1 || !is_short(r->sge))
		return bsn_sq_post_request(ep, r);
	return bsn_sq_post_inline(ep, with_count(rest, r->sge->length), to_data(r->sge), r->remote,
				  r->imm, r->id);
}
