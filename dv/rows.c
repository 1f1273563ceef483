/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the inline code left, by its shape: the rows of struct bsn_sq_posts. Most often it left a plain request, since it
 * found no room; the functions here look for some, and build the most common requests themselves.
 */
#include "init.h"
#include "shapes.h"

/* -- to the one peer -------------------------------------------------------------------------------- */

/*
 * The most common requests by functions of their own, as the rows of struct bsn_sq_posts are: signaled, of one to
 * BSN_MAX_PLAIN_SGE SGEs or of inline data. The inline code builds them, but once a lap finds the ring's end, or has
 * used up the room that was counted.
 */

/* Whether it is one of these, and there is room for it. The compiler knows the count. */
BSN_ALWAYS_INLINE bool is_common(struct bsn_sq *sq, uint32_t what, const struct bsn_sge *sge, unsigned count,
				 unsigned ds, unsigned opcode, uint32_t flags)
{
	return BSN_LIKELY(what == BSN_WHAT(opcode, flags, count)) && bsn_are_plain(sge, count) &&
	       (count == 1 || BSN_LIKELY(count <= sq->max_sge)) && BSN_LIKELY(is_one_of(sq->ops, opcode)) &&
	       look_quickly(sq, bsn_bb_of_ds(ds));
}

/*
 * Ends a WQE of one or two blocks, all of it in registers. The second block is at the ring's start where the first is
 * at its end.
 */
BSN_ALWAYS_INLINE int end_split(struct bsn_sq *sq, const struct bsn_regs *r, unsigned ds, uint64_t id, uint32_t flags)
{
	const size_t bytes = bsn_bytes_of_ds(ds);
	uint8_t *const wqe = sq->slot;
	uint8_t *const after = wqe + BSN_BB_SIZE;
	uint8_t *const second = bytes > BSN_BB_SIZE && after == sq->ring_end ? sq->ring : after;
	const unsigned first_ds = ds < BSN_BB_DS ? ds : BSN_BB_DS;

	BSN_UNROLL for (unsigned i = 0; i < first_ds; i++)
		bsn_store_ds(wqe + i * BSN_DS_SIZE, r->ds[i]);
	BSN_UNROLL for (unsigned i = BSN_BB_DS; i < ds; i++)
		bsn_store_ds(second + (i - BSN_BB_DS) * BSN_DS_SIZE, r->ds[i]);
	bsn_keep_id(sq, wqe, ds, BSN_NEAR_DS, id);
	bsn_sq_advance(sq, bytes);
	sq->slot = bytes > BSN_BB_SIZE ? second + BSN_BB_SIZE : after;
	if (second != after)
		bsn_sq_set_limit(sq, false, second); /* before the slot: the next one looks */
	if (flags & BSN_F_RING)
		return bsn_publish(sq, wqe, bytes, r, ds, BSN_REST_NONE);
	bsn_sq_append(sq, wqe);
	return 0;
}

/* Of several SGEs, for which there is room. */
BSN_ALWAYS_INLINE int put_several(struct bsn_sq *sq, const struct bsn_sge *sge, unsigned count,
				  const struct bsn_remote *remote, uint32_t imm, uint64_t id, unsigned opcode,
				  bool has_raddr, uint32_t flags)
{
	const unsigned ds = 1 + has_raddr + count;
	struct bsn_regs r = { .keeps_later = false };

	if (has_raddr)
		r.ds[1] = bsn_ds_raddr(remote);
	BSN_UNROLL for (unsigned i = 0; i < count; i++)
		r.ds[1 + has_raddr + i] = bsn_ds_plain(&sge[i]);
	bsn_begin(&r, sq, NULL, 0, opcode, ds, flags, imm);
	return end_split(sq, &r, ds, id, flags);
}

/* Whether the queue is open is looked at first, so that what waits for a UMR goes on at once. */
#define POST_ONE(name, opcode, has_raddr, flags)                                                   \
	static int name(POST_PARAMETERS(struct bsn_sge *sge))                                      \
	{                                                                                          \
		if (is_open(ep->sq) &&                                                             \
		    is_common(ep->sq, what, sge, 1, 2 + has_raddr, opcode, flags))                 \
			return bsn_put_sges(ep->sq, NULL, 0, opcode, sge, 1, false, remote, has_raddr, imm, id, flags); \
		return ep->sq->fenced_limit ? bsn_mlx5_post_sgl_fenced(ep, what, sge, remote, imm, id)      \
					    : post_sgl(ep, what, sge, remote, imm, id);            \
	}
#define POST_SEVERAL(name, opcode, has_raddr, flags, count)                                        \
	static __attribute__((noinline)) int name##count(POST_PARAMETERS(struct bsn_sge *sge))     \
	{                                                                                          \
		if (is_common(ep->sq, what, sge, count, 1 + has_raddr + count, opcode, flags))     \
			return put_several(ep->sq, sge, count, remote, imm, id, opcode, has_raddr, flags); \
		return post_sgl(ep, what, sge, remote, imm, id);                                   \
	}
#define POST_LIST(name, opcode, has_raddr, flags)                                                  \
	POST_SEVERAL(name, opcode, has_raddr, flags, 2)                                            \
	POST_SEVERAL(name, opcode, has_raddr, flags, 3)                                            \
	POST_SEVERAL(name, opcode, has_raddr, flags, 4)                                            \
	static int name(POST_PARAMETERS(struct bsn_sge *sge))                                      \
	{                                                                                          \
		switch (count_of(what)) {                                                          \
		case 2: return name##2(ep, what, sge, remote, imm, id);                            \
		case 3: return name##3(ep, what, sge, remote, imm, id);                            \
		case 4: return name##4(ep, what, sge, remote, imm, id);                            \
		default: return post_sgl(ep, what, sge, remote, imm, id);                          \
		}                                                                                  \
	}
#define BOTH(post, name, opcode, has_raddr)                                                        \
	post(name, opcode, has_raddr, (uint32_t)BSN_F_SIGNALED)                                    \
	post(name##_rung, opcode, has_raddr, (uint32_t)(BSN_F_SIGNALED | BSN_F_RING))
BOTH(POST_ONE, post_read, BSN_OPCODE_RDMA_READ, true)
BOTH(POST_ONE, post_send_inval, BSN_OPCODE_SEND_INVAL, false)
BOTH(POST_ONE, post_write, BSN_OPCODE_RDMA_WRITE, true)
BOTH(POST_ONE, post_write_imm, BSN_OPCODE_RDMA_WRITE_IMM, true)
BOTH(POST_ONE, post_send, BSN_OPCODE_SEND, false)
BOTH(POST_ONE, post_send_imm, BSN_OPCODE_SEND_IMM, false)
BOTH(POST_LIST, post_reads, BSN_OPCODE_RDMA_READ, true)
BOTH(POST_LIST, post_writes, BSN_OPCODE_RDMA_WRITE, true)
BOTH(POST_LIST, post_sends, BSN_OPCODE_SEND, false)

/* Inline data that begin at the ring's end and go on at its start. */
BSN_ALWAYS_INLINE int put_piece_across(struct bsn_sq *sq, uint32_t what, const void *data,
				       const struct bsn_remote *remote, uint32_t imm, uint64_t id, unsigned opcode,
				       bool has_raddr, uint32_t flags)
{
	struct beside beside;
	int err;

	go_beside(sq, &beside);
	err = bsn_put_data(sq, &beside.limit, NULL, 0, opcode, data, count_of(what), BSN_KNOWN_NONE, remote, has_raddr, imm, id,
			   flags & ~(uint32_t)BSN_F_RING);
	return come_back(sq, &beside, err, flags);
}

/* Whether inline data fit where the slot is. */
BSN_ALWAYS_INLINE bool fits_piece(const struct bsn_sq *sq, bool has_raddr, uint32_t what)
{
	return bsn_fits(sq, sq->limit, bsn_bytes_of_ds(1 + has_raddr + bsn_inline_ds(count_of(what))));
}

/* The most common pieces of inline data. The inline code leaves some at the ring's end, too, that would fit. */
#define POST_PIECE(name, opcode, has_raddr, flags)                                                 \
	static __attribute__((noinline)) int name##_across(POST_PARAMETERS(void *data))            \
	{                                                                                          \
		const int err = put_piece_across(ep->sq, what, data, remote, imm, id, opcode, has_raddr, flags); \
                                                                                                   \
		return err > 0 ? bsn_sq_post_inline_cold(ep, what, data, remote, imm, id) : err;          \
	}                                                                                          \
	static __attribute__((noinline)) int name##_here(POST_PARAMETERS(void *data))              \
	{                                                                                          \
		const int err = bsn_put_data(ep->sq, &ep->sq->limit, NULL, 0, opcode, data, count_of(what), \
					     BSN_KNOWN_NONE, remote, has_raddr, imm, id, flags);   \
                                                                                                   \
		return err > 0 ? post_inline(ep, what, data, remote, imm, id) : err;               \
	}                                                                                          \
	static __attribute__((noinline)) int name##_anew(POST_PARAMETERS(void *data))              \
	{                                                                                          \
		const int err = look_quickly(ep->sq, 1)                                            \
					? bsn_put_data(ep->sq, &ep->sq->limit, NULL, 0, opcode, data, \
						       count_of(what), BSN_KNOWN_NONE, remote, has_raddr, imm, id, flags) \
					: BSN_NO_ROOM;                                             \
                                                                                                   \
		return err > 0 ? post_inline(ep, what, data, remote, imm, id) : err;               \
	}                                                                                          \
	static int name(POST_PARAMETERS(void *data))                                               \
	{                                                                                          \
		const uint32_t shape = what & ((1u << BSN_WHAT_COUNT_SHIFT) - 1);                  \
		struct bsn_sq *sq = ep->sq;                                                        \
                                                                                                   \
		if (BSN_UNLIKELY(shape != BSN_WHAT(opcode, flags | BSN_F_INLINE, 0u)))             \
			return post_inline(ep, what, data, remote, imm, id);                       \
		if (BSN_LIKELY(sq->slot > sq->limit))                                              \
			return name##_anew(ep, what, data, remote, imm, id);                       \
		if (fits_piece(sq, has_raddr, what))                                               \
			return name##_here(ep, what, data, remote, imm, id);                       \
		return is_wrapping(sq, NULL) ? name##_across(ep, what, data, remote, imm, id)      \
					     : name##_anew(ep, what, data, remote, imm, id);       \
	}
BOTH(POST_PIECE, post_write_piece, BSN_OPCODE_RDMA_WRITE, true)
BOTH(POST_PIECE, post_send_piece, BSN_OPCODE_SEND, false)

/* -- one of many peers: what the inline code left ---------------------------------------------------- */

/*
 * Most often it left a plain request, since the room that was counted is used up: once a lap, or at every second post
 * where the queue takes one request at a time. Room is counted again, and the function that the inline code has for
 * such requests builds it, by a jump. None of those comes back here.
 */

/* Most requests take two blocks at the most, whatever the peer's address vector. */
BSN_ALWAYS_INLINE bool has_two_blocks(const struct bsn_sq *sq)
{
	return bsn_fits(sq, sq->peer_limit, 2 * BSN_BB_SIZE);
}

BSN_ALWAYS_INLINE bool has_peer_block(const struct bsn_sq *sq)
{
	return bsn_fits(sq, sq->peer_limit, BSN_BB_SIZE);
}

typedef int sgl_post(POST_PARAMETERS(struct bsn_sge *sge));
typedef int piece_post(POST_PARAMETERS(void *data));

/* SGEs, with any flags. @knows_room: for two blocks. The compiler knows it, and @kind, here and below. */
BSN_ALWAYS_INLINE int post_peer_any(POST_PARAMETERS(struct bsn_sge *sge),
				    const struct bsn_kind *kind, bool knows_room)
{
	struct bsn_sq *sq = ep->sq;
	const bool has_two = knows_room || has_two_blocks(sq); /* the functions for several SGEs want them */

#define POST_USUAL(count)                                                                          \
	if (has_two && what == BSN_WHAT(kind->opcode, BSN_F_RUNG, count##u))                       \
		return kind->several[BSN_RUNG][(count) - 2](                                       \
			ep, sge, remote, id, (uintptr_t)sq->slot, sq, bsn_imm_bits(kind->has_imm, imm)); \
	if (has_two && what == BSN_WHAT(kind->opcode, 0u, count##u))                               \
		return kind->several[BSN_QUIETLY][(count) - 2](                                    \
			ep, sge, remote, id, (uintptr_t)sq->slot, sq, bsn_imm_bits(kind->has_imm, imm));
	POST_USUAL(2)
	POST_USUAL(3)
	POST_USUAL(4)
#undef POST_USUAL
	if (BSN_UNLIKELY(opcode_of(what) != kind->opcode || what & (BSN_F_INLINE | UNKNOWN_FLAGS)))
		return post_sgl(ep, what, sge, remote, imm, id);
	if (count_of(what) == 1 && has_peer_block(sq) && bsn_are_plain(sge, 1))
		return bsn_post_piece(ep, kind, bsn_ds_data(sge), remote, id, imm, what & BSN_F_PLAIN);
	if (!has_two)
		return post_sgl(ep, what, sge, remote, imm, id);
	if (count_of(what) == 2)
		return kind->several_any[0](ep, sge, remote, id, (uint64_t)imm << 32 | what, sq,
					    bsn_no_imm());
	if (count_of(what) == 3)
		return kind->several_any[1](ep, sge, remote, id, (uint64_t)imm << 32 | what, sq,
					    bsn_no_imm());
	if (count_of(what) == 4)
		return kind->several_any[2](ep, sge, remote, id, (uint64_t)imm << 32 | what, sq,
					    bsn_no_imm());
	return post_sgl(ep, what, sge, remote, imm, id);
}

/* One SGE, with these @flags, as @otherwise where there are more or others. @knows_room: there is some. */
BSN_ALWAYS_INLINE int post_peer_one(POST_PARAMETERS(struct bsn_sge *sge),
				    const struct bsn_kind *kind, uint32_t flags, sgl_post *otherwise, bool knows_room)
{
	if (what != BSN_WHAT(kind->opcode, flags, 1u))
		return otherwise(ep, what, sge, remote, imm, id);
	if (!(knows_room || has_peer_block(ep->sq)) || !bsn_are_plain(sge, 1))
		return post_sgl(ep, BSN_WHAT(kind->opcode, flags, 1u), sge, remote, imm, id);
	return bsn_post_piece(ep, kind, bsn_ds_data(sge), remote, id, imm, flags);
}

/* Called by a jump, for which no register is saved. */
static __attribute__((noinline)) int post_peer_else(POST_PARAMETERS(void *data))
{
	return post_inline(ep, what, data, remote, imm, id);
}

/* Inline data of more than a DS, to a peer with a compact vector. The compiler knows opcode and flags that are common. */
BSN_ALWAYS_INLINE int post_peer_long(POST_PARAMETERS(void *data), unsigned opcode, bool has_raddr, uint32_t flags)
{
	struct bsn_sq *sq = ep->sq;
	int err = BSN_NOT_PLAIN;

	if (BSN_LIKELY(bsn_peer_of(ep)->prefix_ds == BSN_COMPACT_DS) &&
	    (bsn_is_common(opcode) || BSN_LIKELY(is_one_of(sq->ops & bsn_wqe_sets.with_gather, opcode))))
		err = bsn_put_long(sq, &sq->peer_limit, bsn_peer_of(ep), BSN_COMPACT_DS, opcode,
				   (const uint8_t *)data, count_of(what), BSN_KNOWN_NONE, remote, has_raddr, imm, id, flags);
	return BSN_UNLIKELY(err > 0) ? post_inline(ep, what, data, remote, imm, id) : err;
}
#define POST_PEER_LONG(name, opcode, has_raddr, flags)                                             \
	static __attribute__((noinline)) int post_peer_##name##_long(POST_PARAMETERS(void *data))  \
	{                                                                                          \
		return post_peer_long(ep, what, data, remote, imm, id, opcode, has_raddr, flags);  \
	}
POST_PEER_LONG(write_rung, BSN_OPCODE_RDMA_WRITE, true, BSN_F_RUNG)
POST_PEER_LONG(write, BSN_OPCODE_RDMA_WRITE, true, 0u)
POST_PEER_LONG(send_rung, BSN_OPCODE_SEND, false, BSN_F_RUNG)
POST_PEER_LONG(send, BSN_OPCODE_SEND, false, 0u)
POST_PEER_LONG(rdma, opcode_of(what), true, what)
POST_PEER_LONG(message, opcode_of(what), false, what)
#undef POST_PEER_LONG

/* The same, to a peer with any vector where there is room for the longest of them. */
#define POST_PEER_UNITS(name, after, without_room)                                                 \
	static __attribute__((noinline)) int post_peer_##name##_units##after(POST_PARAMETERS(void *data)) \
	{                                                                                          \
		struct bsn_sq *const sq = ep->sq;                                                  \
		const size_t beyond = bsn_beyond_of(count_of(what));                               \
                                                                                                   \
		if (beyond < BSN_DS_SIZE && has_peer_block(sq))                                    \
			return bsn_peer_##name##_two##after(ep, data, remote, beyond, (uintptr_t)sq, id); \
		if (beyond <= UINT32_MAX && bsn_fits(sq, sq->peer_inline_limit, BSN_BB_SIZE))     \
			return bsn_peer_##name##_data##after(ep, data, remote, beyond, (uintptr_t)sq, id); \
		return without_room(ep, what, data, remote, imm, id);                              \
	}
POST_PEER_UNITS(write, _rung, post_peer_write_rung_long)
POST_PEER_UNITS(write, _quietly, post_peer_write_long)
POST_PEER_UNITS(send, _rung, post_peer_send_rung_long)
POST_PEER_UNITS(send, _quietly, post_peer_send_long)
#undef POST_PEER_UNITS

/* Inline data of one DS, where there is room for a block. */
BSN_ALWAYS_INLINE int post_peer_short(POST_PARAMETERS(void *data), const struct bsn_kind *kind, uint32_t flags)
{
	return bsn_post_piece(ep, kind, bsn_ds_short((const uint8_t *)data, count_of(what)), remote, id, imm, flags);
}

/* Inline data with any flags. */
BSN_ALWAYS_INLINE int post_peer_data_any(POST_PARAMETERS(void *data), const struct bsn_kind *kind)
{
	if (opcode_of(what) != kind->opcode || what & UNKNOWN_FLAGS || !has_peer_block(ep->sq))
		return post_peer_else(ep, what, data, remote, imm, id);
	if (count_of(what) - 1 < BSN_DS_INLINE_MAX)
		return post_peer_short(ep, what, data, remote, imm, id, kind, what & BSN_F_PLAIN);
	return kind->has_remote ? post_peer_rdma_long(ep, what, data, remote, imm, id)
				: post_peer_message_long(ep, what, data, remote, imm, id);
}

/* Inline data; most often they have these @flags, and others are for @otherwise. @knows_room: for two blocks. */
BSN_ALWAYS_INLINE int post_peer_data(POST_PARAMETERS(void *data), const struct bsn_kind *kind, uint32_t flags,
				     piece_post *of_one_ds, piece_post *of_more, piece_post *otherwise,
				     bool knows_room)
{
	const uint32_t rest = what - BSN_WHAT(kind->opcode, flags | BSN_F_INLINE, 0u);
	const uint32_t length = rest >> BSN_WHAT_COUNT_SHIFT;

	if (rest & ((1u << BSN_WHAT_COUNT_SHIFT) - 1))
		return otherwise(ep, what, data, remote, imm, id);
	if (!(knows_room || has_peer_block(ep->sq)))
		return post_peer_else(ep, what, data, remote, imm, id);
	if (length - 1 < BSN_DS_INLINE_MAX)
		return of_one_ds(ep, what, data, remote, imm, id);
	return of_more(ep, what, data, remote, imm, id);
}

/* Two functions each: the first one, which finds room, saves no register for the other one. */
#define POST_PEER_TWICE(name, type, ...)                                                           \
	static __attribute__((noinline)) int name##_anew(POST_PARAMETERS(type *data))              \
	{                                                                                          \
		const bool knows_room = false;                                                     \
                                                                                                   \
		look_for_room(ep->sq, true);                                                       \
		return __VA_ARGS__;                                                                \
	}                                                                                          \
	static __attribute__((noinline)) int name(POST_PARAMETERS(type *data))                     \
	{                                                                                          \
		const bool knows_room = true;                                                      \
                                                                                                   \
		if (!has_two_blocks(ep->sq))                                                       \
			return name##_anew(ep, what, data, remote, imm, id);                       \
		return __VA_ARGS__;                                                                \
	}
#define POST_PEER_ANY(name)                                                                        \
	static __attribute__((noinline)) int post_peer_##name##_any(POST_PARAMETERS(struct bsn_sge *sge)) \
	{                                                                                          \
		return post_peer_any(ep, what, sge, remote, imm, id, &bsn_list_##name, false);     \
	}                                                                                          \
	static __attribute__((noinline)) int post_peer_##name##_any_now(POST_PARAMETERS(struct bsn_sge *sge)) \
	{                                                                                          \
		return post_peer_any(ep, what, sge, remote, imm, id, &bsn_list_##name, true);      \
	}
#define POST_PEER_ONE(name, after, flags)                                                          \
	POST_PEER_TWICE(post_peer_##name##after, struct bsn_sge,                                   \
			post_peer_one(ep, what, data, remote, imm, id, &bsn_list_##name, flags,    \
				      knows_room ? post_peer_##name##_any_now : post_peer_##name##_any, \
				      knows_room))
#define POST_PEER_DATA(name, after, flags, of_more)                                               \
	static __attribute__((noinline)) int post_peer_##name##_short##after(POST_PARAMETERS(void *data)) \
	{                                                                                          \
		return post_peer_short(ep, what, data, remote, imm, id, &bsn_list_##name, flags);  \
	}                                                                                          \
	POST_PEER_TWICE(post_peer_##name##_data##after, void,                                      \
			post_peer_data(ep, what, data, remote, imm, id, &bsn_list_##name, flags,   \
				       post_peer_##name##_short##after, of_more,                  \
				       post_peer_##name##_data_any, knows_room))
#define POST_PEER(name)                                                                            \
	POST_PEER_ANY(name)                                                                        \
	POST_PEER_ONE(name, _quiet, 0u)                                                            \
	POST_PEER_ONE(name, _quiet_rung, (uint32_t)BSN_F_RING)                                     \
	POST_PEER_ONE(name, , (uint32_t)BSN_F_SIGNALED)                                            \
	POST_PEER_ONE(name, _rung, BSN_F_RUNG)
/* Those that are appended are most often unsignaled. */
#define POST_PEER_DATAS(name, of_more, of_more_rung)                                               \
	static __attribute__((noinline)) int post_peer_##name##_data_any(POST_PARAMETERS(void *data)) \
	{                                                                                          \
		return post_peer_data_any(ep, what, data, remote, imm, id, &bsn_list_##name);      \
	}                                                                                          \
	POST_PEER_DATA(name, , 0u, of_more)                                                        \
	POST_PEER_DATA(name, _rung, BSN_F_RUNG, of_more_rung)
POST_PEER(read)
POST_PEER(send_inval)
POST_PEER(write)
POST_PEER(write_imm)
POST_PEER(send)
POST_PEER(send_imm)
POST_PEER_DATAS(write, post_peer_write_units_quietly, post_peer_write_units_rung)
POST_PEER_DATAS(write_imm, post_peer_rdma_long, post_peer_rdma_long)
POST_PEER_DATAS(send, post_peer_send_units_quietly, post_peer_send_units_rung)
POST_PEER_DATAS(send_imm, post_peer_message_long, post_peer_message_long)
#undef POST_PEER_DATAS
#undef POST_PEER
#undef POST_PEER_DATA
#undef POST_PEER_ONE
#undef POST_PEER_ANY
#undef POST_PEER_TWICE

#define ATOMIC_PARAMETERS                                                                          \
	struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge, const struct bsn_remote *remote, \
		const uint64_t operand[2], uint64_t id

/* All but masked ones. There is room for two blocks. */
BSN_ALWAYS_INLINE int post_peer_atomic_now(ATOMIC_PARAMETERS)
{
	const uint32_t opcode_bits = BSN_OPCODE_ATOMIC_CS ^ BSN_OPCODE_ATOMIC_FA;

	if (what == BSN_WHAT(BSN_OPCODE_ATOMIC_CS, BSN_F_RUNG, 1u))
		return bsn_peer_cmp_swap_rung(ep, sge, remote, id, operand[0], operand[1]);
	if (what == BSN_WHAT(BSN_OPCODE_ATOMIC_FA, BSN_F_RUNG, 1u))
		return bsn_peer_fetch_add_rung(ep, sge, remote, id, operand[0], ep->sq);
	if (what == BSN_WHAT(BSN_OPCODE_ATOMIC_CS, 0u, 1u))
		return bsn_peer_cmp_swap_quietly(ep, sge, remote, id, operand[0], operand[1]);
	if (what == BSN_WHAT(BSN_OPCODE_ATOMIC_FA, 0u, 1u))
		return bsn_peer_fetch_add_quietly(ep, sge, remote, id, operand[0], ep->sq);
	if ((what & ~(BSN_F_PLAIN | opcode_bits)) == BSN_WHAT(BSN_OPCODE_ATOMIC_CS & BSN_OPCODE_ATOMIC_FA, 0u, 1u))
		return bsn_peer_atomic(ep, sge, remote, id, what, (bsn_v2){ operand[0], operand[1] });
	return bsn_sq_post_atomic(ep, what, sge, remote, operand, id);
}

static __attribute__((noinline)) int post_peer_atomic_anew(ATOMIC_PARAMETERS)
{
	look_for_room(ep->sq, true);
	return has_two_blocks(ep->sq) ? post_peer_atomic_now(ep, what, sge, remote, operand, id) :
					bsn_sq_post_atomic(ep, what, sge, remote, operand, id);
}

static int post_peer_atomic(ATOMIC_PARAMETERS)
{
	if (!has_two_blocks(ep->sq))
		return post_peer_atomic_anew(ep, what, sge, remote, operand, id);
	return post_peer_atomic_now(ep, what, sge, remote, operand, id);
}
#undef ATOMIC_PARAMETERS

#define FOUR(f) f, f, f, f
#define ALL(f)  { FOUR(f), FOUR(f), FOUR(f), FOUR(f) }
_Static_assert(BSN_POST_ROWS == 16, "each row has its function");
#define ROW(opcode, name)                                                                          \
	[BSN_POST_ROW(opcode, 0)] = name, [BSN_POST_ROW(opcode, BSN_F_RING)] = name##_rung
#define ROWS_ELSE(row, name) [row] = name, [(row) + BSN_POST_ROWS / 2] = name
const struct bsn_sq_posts bsn_sq_posts_mlx5 = {
	.one = { ROW(BSN_OPCODE_RDMA_READ, post_read), ROW(BSN_OPCODE_SEND_INVAL, post_send_inval),
		 ROW(BSN_OPCODE_RDMA_WRITE, post_write), ROW(BSN_OPCODE_RDMA_WRITE_IMM, post_write_imm),
		 ROW(BSN_OPCODE_SEND, post_send), ROW(BSN_OPCODE_SEND_IMM, post_send_imm), ROWS_ELSE(2, post_sgl),
		 ROWS_ELSE(3, post_sgl) },
	.sgl = { ROW(BSN_OPCODE_RDMA_READ, post_reads), ROW(BSN_OPCODE_RDMA_WRITE, post_writes),
		 ROW(BSN_OPCODE_SEND, post_sends), ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_SEND_INVAL, 0), post_sgl),
		 ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_RDMA_WRITE_IMM, 0), post_sgl),
		 ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_SEND_IMM, 0), post_sgl), ROWS_ELSE(2, post_sgl),
		 ROWS_ELSE(3, post_sgl) },
	.piece = { ROW(BSN_OPCODE_RDMA_WRITE, post_write_piece), ROW(BSN_OPCODE_SEND, post_send_piece),
		   ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_RDMA_READ, 0), post_inline),
		   ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_SEND_INVAL, 0), post_inline),
		   ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_RDMA_WRITE_IMM, 0), post_inline),
		   ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_SEND_IMM, 0), post_inline), ROWS_ELSE(2, post_inline),
		   ROWS_ELSE(3, post_inline) },
	.atomic = bsn_sq_post_atomic,
};
const struct bsn_sq_posts bsn_sq_posts_any = { .one = ALL(bsn_sq_post_sgl),
					       .sgl = ALL(bsn_sq_post_sgl),
					       .piece = ALL(bsn_sq_post_inline),
					       .atomic = bsn_sq_post_atomic };
const struct bsn_sq_posts bsn_sq_posts_peers = {
	.one = { ROW(BSN_OPCODE_RDMA_READ, post_peer_read), ROW(BSN_OPCODE_SEND_INVAL, post_peer_send_inval),
		 ROW(BSN_OPCODE_RDMA_WRITE, post_peer_write), ROW(BSN_OPCODE_RDMA_WRITE_IMM, post_peer_write_imm),
		 ROW(BSN_OPCODE_SEND, post_peer_send), ROW(BSN_OPCODE_SEND_IMM, post_peer_send_imm),
		 ROWS_ELSE(2, post_sgl), ROWS_ELSE(3, post_sgl) },
	.sgl = { ROW(BSN_OPCODE_RDMA_READ, post_peer_read_quiet),
		 ROW(BSN_OPCODE_SEND_INVAL, post_peer_send_inval_quiet),
		 ROW(BSN_OPCODE_RDMA_WRITE, post_peer_write_quiet),
		 ROW(BSN_OPCODE_RDMA_WRITE_IMM, post_peer_write_imm_quiet), ROW(BSN_OPCODE_SEND, post_peer_send_quiet),
		 ROW(BSN_OPCODE_SEND_IMM, post_peer_send_imm_quiet), ROWS_ELSE(2, post_sgl), ROWS_ELSE(3, post_sgl) },
	.piece = { ROW(BSN_OPCODE_RDMA_WRITE, post_peer_write_data),
		   ROW(BSN_OPCODE_RDMA_WRITE_IMM, post_peer_write_imm_data), ROW(BSN_OPCODE_SEND, post_peer_send_data),
		   ROW(BSN_OPCODE_SEND_IMM, post_peer_send_imm_data),
		   ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_RDMA_READ, 0), post_inline),
		   ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_SEND_INVAL, 0), post_inline), ROWS_ELSE(2, post_inline),
		   ROWS_ELSE(3, post_inline) },
	.atomic = post_peer_atomic,
};
#undef ROWS_ELSE
#undef ROW
#undef ALL
#undef FOUR
