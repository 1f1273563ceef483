/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that are common, but whose shape the compiler does not know: SGEs that are all plain, and one piece of inline
 * data. What is neither goes to sq.c, which also says why a request is refused.
 */
#include "init.h"
#include "shapes.h"

/* Units of a WQE, to a peer with @prefix_ds of them, of SGEs and of inline data. */
BSN_ALWAYS_INLINE unsigned head_ds(unsigned prefix_ds, uint32_t what)
{
	return 1 + prefix_ds + is_one_of(bsn_wqe_sets.with_raddr, opcode_of(what));
}

BSN_ALWAYS_INLINE unsigned list_ds(unsigned prefix_ds, uint32_t what)
{
	return head_ds(prefix_ds, what) + count_of(what);
}

BSN_ALWAYS_INLINE unsigned data_ds(unsigned prefix_ds, uint32_t what)
{
	return head_ds(prefix_ds, what) + bsn_inline_ds(count_of(what));
}

BSN_ALWAYS_INLINE bool has_room(const struct bsn_sq *sq, const uint8_t *limit, unsigned ds)
{
	return bsn_fits(sq, limit, bsn_bytes_of_ds(ds));
}

/* SGEs that are all plain. @owes: a fence; the compiler knows. */
BSN_ALWAYS_INLINE int post_list(struct bsn_sq *sq, uint8_t *limit, bool owes,
				const struct bsn_peer *peer, unsigned prefix_ds, uint32_t what,
				const struct bsn_sge *sge, const struct bsn_remote *remote,
				uint32_t imm, uint64_t id)
{
	const unsigned count = count_of(what), opcode = opcode_of(what);
	const bool has_raddr = is_one_of(bsn_wqe_sets.with_raddr, opcode);
	const unsigned known = 1 + prefix_ds, ds = list_ds(prefix_ds, what);
	const size_t bytes = bsn_bytes_of_ds(ds);
	const struct bsn_sge *const end = sge + count;
	uint8_t *const wqe = sq->slot, *at = wqe + known * BSN_DS_SIZE;
	struct bsn_regs r;

	if (count - 1 >= sq->max_sge || !is_one_of(sq->ops & bsn_wqe_sets.with_list, opcode) ||
	    what & (BSN_F_INLINE | UNKNOWN_FLAGS))
		return BSN_NOT_PLAIN;
	if (!bsn_fits(sq, limit, bytes))
		return BSN_NO_ROOM;
	if (has_raddr)
		at = put_ds(at, bsn_ds_raddr(remote));
	do { /* the bytes after the slot are free */
		if (BSN_UNLIKELY((int32_t)sge->length <= 0))
			return BSN_NOT_PLAIN;
		at = put_ds(at, bsn_ds_data(sge++));
	} while (sge != end);
	bsn_sq_take(sq, &r, bytes);
	bsn_begin(&r, sq, peer, prefix_ds, opcode, ds, what, imm);
	if (owes) {
		r.ds[0].w1.raw |= bsn_sq_owed_fence(sq, what).raw;
		sq->next_fence = BSN_FENCE_NONE;
		sq->fenced_limit = NULL;
		bsn_sq_set_limit(sq, false, limit);
	}
	return bsn_end(sq, wqe, peer, prefix_ds != 0, &r, known,
		       BSN_REST_SGES, ds, BSN_NEAR_DS, bytes, id, what);
}

/* @peer: NULL: the queue has one. */
BSN_ALWAYS_INLINE int post_list_to(struct bsn_sq *sq, uint8_t *limit, const struct bsn_peer *peer,
				   uint32_t what, const struct bsn_sge *sge,
				   const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	if (!peer)
		return post_list(sq, limit, false, NULL, 0, what, sge, remote, imm, id);
	return peer->prefix_ds == 3 ? post_list(sq, limit, false, peer, 3, what, sge, remote, imm, id)
				    : post_list(sq, limit, false, peer, 1, what, sge, remote, imm, id);
}

/* One piece of inline data. @limit: of the queue's kind; @peer: NULL without a prefix. */
BSN_ALWAYS_INLINE int post_data(struct bsn_sq *sq, uint8_t **limit,
				const struct bsn_peer *peer, unsigned prefix_ds, uint32_t what,
				const void *data, const struct bsn_remote *remote, bool has_raddr,
				uint32_t imm, uint64_t id)
{
	const unsigned length = count_of(what), opcode = opcode_of(what);

	return length <= BSN_DS_INLINE_MAX
		       ? bsn_put_data(sq, limit, peer, prefix_ds, opcode, data, length, BSN_KNOWN_NONE, remote,
				      has_raddr, imm, id, what)
		       : bsn_put_long(sq, limit, peer, prefix_ds, opcode, data, length, BSN_KNOWN_NONE, remote,
				      has_raddr, imm, id, what);
}

static bool takes_inline(const struct bsn_sq *sq, uint32_t what)
{
	return is_one_of(sq->ops & bsn_wqe_sets.with_gather, opcode_of(what)) &&
	       !(what & UNKNOWN_FLAGS);
}

/* @peer: NULL: the queue has one. */
BSN_ALWAYS_INLINE int post_data_to(struct bsn_sq *sq, uint8_t **limit, const struct bsn_peer *peer,
				   uint32_t what, const void *data, const struct bsn_remote *remote,
				   uint32_t imm, uint64_t id)
{
	const bool has_raddr = is_one_of(bsn_wqe_sets.with_raddr, opcode_of(what));

	if (!takes_inline(sq, what))
		return BSN_NOT_PLAIN; /* another says why */
#define POST_DATA(peer, prefix_ds)                                                                 \
	(has_raddr ? post_data(sq, limit, peer, prefix_ds, what, data, remote, true, imm, id)      \
		   : post_data(sq, limit, peer, prefix_ds, what, data, NULL, false, imm, id))
	if (!peer)
		return POST_DATA(NULL, 0);
	return peer->prefix_ds == 3 ? POST_DATA(peer, 3) : POST_DATA(peer, 1);
#undef POST_DATA
}

/* -- by which way it is posted --------------------------------------------------------------------- */

/*
 * SGEs and inline data go the same ways, each by functions of its own: the compiler knows @is_list. A function that
 * only chooses goes on to another one by a jump, so that no register is saved.
 */
#define PARAMETERS POST_PARAMETERS(void *data)
#define ARGUMENTS ep, what, data, remote, imm, id
#define GO(way)                                                                                    \
	(is_list ? bsn_mlx5_post_sgl_##way(ARGUMENTS) : bsn_mlx5_post_inline_##way(ARGUMENTS))
#define WAY(linkage, way)                                                                          \
	linkage __attribute__((noinline)) int bsn_mlx5_post_sgl_##way(PARAMETERS)                  \
	{                                                                                          \
		return post_##way(true, ARGUMENTS);                                                \
	}                                                                                          \
	linkage __attribute__((noinline)) int bsn_mlx5_post_inline_##way(PARAMETERS)               \
	{                                                                                          \
		return post_##way(false, ARGUMENTS);                                               \
	}

BSN_ALWAYS_INLINE unsigned ds_of(bool is_list, unsigned prefix_ds, uint32_t what)
{
	return is_list ? list_ds(prefix_ds, what) : data_ds(prefix_ds, what);
}

/* Of what there is room up to *@limit, or an error above 0. @peer: NULL: the queue has one. */
BSN_ALWAYS_INLINE int build(bool is_list, struct bsn_sq *sq, uint8_t **limit, const struct bsn_peer *peer,
			    uint32_t what, const void *data, const struct bsn_remote *remote,
			    uint32_t imm, uint64_t id)
{
	return is_list ? post_list_to(sq, *limit, peer, what, data, remote, imm, id)
		       : post_data_to(sq, limit, peer, what, data, remote, imm, id);
}

/* Another function builds it, or says why it is refused. */
BSN_ALWAYS_INLINE int post_cold(bool is_list, PARAMETERS)
{
	return is_list ? bsn_sq_post_sgl_cold(ARGUMENTS) : bsn_sq_post_inline_cold(ARGUMENTS);
}

BSN_ALWAYS_INLINE int post_across(bool is_list, PARAMETERS)
{
	struct bsn_sq *sq = ep->sq;
	struct beside beside;
	int err;

	go_beside(sq, &beside);
	err = build(is_list, sq, &beside.limit, peer_of(ep), what & ~(uint32_t)BSN_F_RING, data, remote, imm, id);
	err = come_back(sq, &beside, err, what);
	return err > 0 ? post_cold(is_list, ARGUMENTS) : err;
}
WAY(static, across)

BSN_ALWAYS_INLINE int post_straight(bool is_list, PARAMETERS)
{
	const struct bsn_peer *peer = peer_of(ep);
	struct bsn_sq *sq = ep->sq;
	const int err = build(is_list, sq, limit_of(sq, peer), peer, what, data, remote, imm, id);

	return err > 0 ? post_cold(is_list, ARGUMENTS) : err;
}
WAY(static, straight)

/* Room was counted anew. */
BSN_ALWAYS_INLINE int post_now(bool is_list, PARAMETERS)
{
	const struct bsn_peer *peer = peer_of(ep);
	struct bsn_sq *sq = ep->sq;

	if (peer ? has_room(sq, sq->peer_limit, ds_of(is_list, peer->prefix_ds, what))
		 : has_room(sq, sq->limit, ds_of(is_list, 0, what)))
		return GO(straight);
	return is_wrapping(sq, peer) ? GO(across) : post_cold(is_list, ARGUMENTS);
}
WAY(static, now)

/* There was no room, or not enough. */
BSN_ALWAYS_INLINE int post_full(bool is_list, PARAMETERS)
{
	const unsigned one_block = is_list ? BSN_BB_DS - 2 : BSN_DS_INLINE_MAX;

	look_for_room(ep->sq, ep->sq->has_peers);
	if (BSN_LIKELY(count_of(what) <= one_block && ep->sq->slot <= ep->sq->limit))
		return GO(straight);
	return GO(now);
}
WAY(, full)

/* To queues with room, to the one peer, or to one of many. */
BSN_ALWAYS_INLINE int post_with_room(bool is_list, uint8_t **limit, const struct bsn_peer *peer, PARAMETERS)
{
	const int err = build(is_list, ep->sq, limit, peer, what, data, remote, imm, id);

	if (err <= 0)
		return err;
	return err == BSN_NO_ROOM ? GO(full) : post_cold(is_list, ARGUMENTS);
}

BSN_ALWAYS_INLINE int post_one(bool is_list, PARAMETERS)
{
	return post_with_room(is_list, &ep->sq->limit, NULL, ARGUMENTS);
}
WAY(, one)

BSN_ALWAYS_INLINE int post_peer(bool is_list, PARAMETERS)
{
	return post_with_room(is_list, &ep->sq->peer_limit, bsn_peer_of(ep), ARGUMENTS);
}
WAY(, peer)

#undef WAY
#undef GO
#undef ARGUMENTS
#undef PARAMETERS

/* The first request after a UMR: it pays the fence that is owed. */
int bsn_mlx5_post_sgl_fenced(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			     const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	struct bsn_sq *sq = ep->sq;
	const int err = post_list(sq, sq->fenced_limit, true, NULL, 0, what, sge, remote, imm, id);

	return err > 0 ? bsn_sq_post_sgl_cold(ep, what, sge, remote, imm, id) : err;
}

/* To queues with one peer; it only chooses, as the two below do. */
int bsn_mlx5_post_sgl_else(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			   const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const struct bsn_sq *sq = ep->sq;

	if (BSN_LIKELY(sq->slot <= sq->limit))
		return bsn_mlx5_post_sgl_one(ep, what, sge, remote, imm, id);
	return sq->fenced_limit ? bsn_mlx5_post_sgl_fenced(ep, what, sge, remote, imm, id)
				: bsn_mlx5_post_sgl_full(ep, what, sge, remote, imm, id);
}
