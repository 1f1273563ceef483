/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole WQEs to one peer or to one of many, whose room was looked at: lists of SGEs, and inline data.
 */
#ifndef BSN_PUT_H
#define BSN_PUT_H

#include "bsn_publish.h"

BSN_HEADER_BEGIN

/* Control segment and prefix. Returns how many DS they are. */
BSN_ALWAYS_INLINE unsigned bsn_begin_of(struct bsn_regs *r, const struct bsn_peer *peer,
					unsigned prefix_ds, struct bsn_be64 ctrl0,
					struct bsn_be64 ctrl1)
{
	if (prefix_ds) {
		ctrl1 = bsn_add_peer(ctrl1, peer->ctrl_bits);
		r->ds[1] = bsn_ds_of_vector(peer->head);
	}
	if (prefix_ds > 1) {
		r->ds[2] = bsn_ds_load(peer->more);
		r->ds[3] = bsn_ds_load((const uint8_t *)peer->more + BSN_DS_SIZE);
	}
	r->ds[0] = bsn_ds_of_words(ctrl0, ctrl1);
	return 1 + prefix_ds;
}

BSN_ALWAYS_INLINE unsigned bsn_begin(struct bsn_regs *r, struct bsn_sq *sq,
				     const struct bsn_peer *peer, unsigned prefix_ds,
				     unsigned opcode, size_t ds, uint32_t flags, uint32_t imm)
{
	const struct bsn_be64 ctrl0 = bsn_ctrl0(sq, opcode, ds);

	return bsn_begin_of(r, peer, prefix_ds, ctrl0, bsn_ctrl1(sq, prefix_ds != 0, flags, imm));
}

/*
 * A message (@has_remote: RDMA request) of @count SGEs, all plain. @is_apart: in a function of its own. That keeps the id
 * in memory early, and so do others that are short of registers.
 */
BSN_ALWAYS_INLINE int bsn_put_sges(struct bsn_sq *sq, const struct bsn_peer *peer,
				   unsigned prefix_ds, unsigned opcode, const struct bsn_sge *sge,
				   unsigned count, bool is_apart, const struct bsn_remote *remote,
				   bool has_remote, uint32_t imm, uint64_t id, uint32_t flags)
{
	const unsigned ds = 1 + prefix_ds + has_remote + count;
	const bool has_imm = __builtin_constant_p(opcode) && opcode == BSN_OPCODE_RDMA_WRITE_IMM; /* one register more */
	const bool is_early = prefix_ds || (has_imm && !bsn_is_appended(flags)) || (is_apart ? ds > BSN_NEAR_DS : count > 3);
	const bool are_wide = ds > BSN_NEAR_DS && count > 1 && __builtin_constant_p(flags) &&
			      flags & BSN_F_RING;
	const enum bsn_rest rest = is_apart && !prefix_ds ? BSN_REST_SGES : BSN_REST_NONE;
	struct bsn_regs r;
	uint8_t *const wqe = bsn_sq_take_known(sq, &r, bsn_bytes_of_ds(ds));
	unsigned n = 1 + prefix_ds;

	if (prefix_ds)
		bsn_keep_peer_id(sq, wqe, peer, id);
	else if (is_early)
		bsn_keep_id(sq, wqe, ds, BSN_NEAR_DS, id);
	if (has_remote)
		r.ds[n++] = bsn_ds_in(bsn_ds_raddr(remote), are_wide);
	if (count > 0)
		r.ds[n] = bsn_ds_in(bsn_ds_plain(&sge[0]), are_wide);
	if (count > 1)
		r.ds[n + 1] = bsn_ds_in(bsn_ds_plain(&sge[1]), are_wide);
	if (count > 2)
		r.ds[n + 2] = bsn_ds_in(bsn_ds_plain(&sge[2]), are_wide);
	if (count > 3)
		r.ds[n + 3] = bsn_ds_in(bsn_ds_plain(&sge[3]), are_wide);
	bsn_begin_of(&r, peer, prefix_ds, bsn_ctrl0(sq, opcode, ds), bsn_ctrl1(sq, prefix_ds != 0, flags, imm));
	return bsn_end(sq, wqe, NULL, is_early, &r, ds, rest, ds, BSN_NEAR_DS, bsn_bytes_of_ds(ds), id,
		       flags);
}

/* Nothing was written: this is for one of the cold functions, or for one of those for many peers. */
#define BSN_NOT_PLAIN 1
#define BSN_NO_ROOM   2 /* of inline data: this queue has none, or none for one peer */

/* The end of the functions below; @known DS are in @r, but for its beginning, of which @ctrl0 is given. */
BSN_ALWAYS_INLINE int bsn_end_data(struct bsn_sq *sq, uint8_t *wqe, const struct bsn_peer *peer,
				   unsigned prefix_ds, struct bsn_be64 ctrl0, struct bsn_regs *r,
				   unsigned known, enum bsn_rest rest, size_t length, size_t near,
				   size_t bytes, const struct bsn_remote *remote, bool has_remote,
				   uint32_t imm, uint64_t id, uint32_t flags)
{
	const unsigned n = bsn_begin_of(r, peer, prefix_ds, ctrl0, bsn_ctrl1(sq, prefix_ds != 0, flags, imm));

	if (has_remote)
		r->ds[n] = bsn_ds_in(bsn_ds_raddr(remote),
				     rest != BSN_REST_NONE && !bsn_is_appended(flags));
	return bsn_end(sq, wqe, peer, prefix_ds != 0, r, known, rest, length, near, bytes, id, flags);
}

/*
 * Inline data of a length that the compiler knows, all in registers. They take @ds units, and @wqe was taken for
 * them.
 */
BSN_ALWAYS_INLINE int bsn_put_constant(struct bsn_sq *sq, uint8_t *wqe, const struct bsn_peer *peer,
				       unsigned prefix_ds, unsigned opcode, const uint8_t *data,
				       size_t length, unsigned ds, const struct bsn_remote *remote,
				       bool has_remote, uint32_t imm, uint64_t id, uint32_t flags)
{
	const unsigned head = 1 + prefix_ds + has_remote;
	const uint8_t *const rest = data + BSN_DS_INLINE_MAX;
	struct bsn_regs r = { .moves_later = false };

	r.ds[head] = bsn_ds_inline_first(data, length);
#define BSN_LOAD_REG(i)                                                                            \
	if ((i) >= head + 1 && (i) < ds - 1)                                                       \
		r.ds[i] = bsn_ds_load(rest + BSN_DS_SIZE * ((i) - head - 1));
	BSN_EACH_REG(BSN_LOAD_REG)
#undef BSN_LOAD_REG
	r.ds[ds - 1] = bsn_ds_inline_last(rest + BSN_DS_SIZE * (ds - head - 2), data + length, bsn_beyond_of(length));
	return bsn_end_data(sq, wqe, peer, prefix_ds, bsn_ctrl0(sq, opcode, ds), &r, ds,
			    BSN_REST_NONE, ds, BSN_NEAR_DS, bsn_bytes_of_ds(ds), remote, has_remote,
			    imm, id, flags);
}

/* What is known of room for inline data: nothing; a block is free; all fits that straight code copies. */
enum bsn_known_room { BSN_KNOWN_NONE, BSN_KNOWN_BLOCK, BSN_KNOWN_ALL };

/*
 * Two DS of inline data, 13 to 28 bytes. The last one is stored into the ring at once, by one store that reaches
 * back into the first; the first is then stored whole. So no byte outside the data is read.
 */
BSN_ALWAYS_INLINE int bsn_put_two(struct bsn_sq *sq, uint8_t **limit,
				  const struct bsn_peer *peer, unsigned prefix_ds, unsigned opcode,
				  const uint8_t *data, size_t length, enum bsn_known_room room,
				  const struct bsn_remote *remote, bool has_remote, uint32_t imm,
				  uint64_t id, uint32_t flags)
{
	const unsigned head = 1 + prefix_ds + has_remote, ds = head + 2;
	const size_t bytes = bsn_bytes_of_ds(ds);
	const size_t at = head * BSN_DS_SIZE + BSN_INLINE_HDR_SIZE;
	struct bsn_regs r;
	uint8_t *wqe;

	if (!(room && bytes == BSN_BB_SIZE) && !bsn_fits(sq, *limit, bytes))
		return BSN_NO_ROOM;
	if (__builtin_constant_p(length))
		return bsn_put_constant(sq, bsn_sq_take(sq, &r, bytes), peer, prefix_ds, opcode,
					data, length, ds, remote, has_remote, imm, id, flags);
	wqe = bsn_sq_take_known(sq, &r, bytes);
	if (BSN_LIKELY(length >= BSN_DS_SIZE))
		bsn_put_inline_end(wqe + at, data, length);
	else
		bsn_store_last4(wqe + at + length - 4, data + length - 4);
	r.ds[head] = bsn_ds_inline_first(data, length);
	return bsn_end_data(sq, wqe, peer, prefix_ds, bsn_ctrl0(sq, opcode, ds), &r, head + 1,
			    BSN_REST_ONE, ds, BSN_NEAR_DS, bytes, remote, has_remote, imm, id,
			    flags);
}

/* Whether the compiler knows that data are all in registers: between the first DS, after @head others, and the last, @count. */
BSN_ALWAYS_INLINE bool bsn_is_in_regs(size_t length, unsigned head, size_t count)
{
	return __builtin_constant_p(length) && head + 2 + count <= BSN_REGS_MAX;
}

/*
 * Inline data of more than one DS. The end is stored first, as by bsn_put_two(), so that at most one DS cannot be
 * forwarded from its store when it is copied to the device right after.
 */
BSN_ALWAYS_INLINE int bsn_put_long(struct bsn_sq *sq, uint8_t **limit,
				   const struct bsn_peer *peer, unsigned prefix_ds, unsigned opcode,
				   const uint8_t *data, size_t length, enum bsn_known_room room,
				   const struct bsn_remote *remote, bool has_remote, uint32_t imm,
				   uint64_t id, uint32_t flags)
{
	const unsigned head = 1 + prefix_ds + has_remote;
	const size_t first = (head + 1) * BSN_DS_SIZE; /* bytes until the first DS of data ends */
	const uint8_t *const rest = data + BSN_DS_INLINE_MAX;
	uint8_t *const wqe = sq->slot;
	size_t count = (uint32_t)length - (BSN_DS_INLINE_MAX + 1); /* bytes, but DS where they are needed */
	size_t bytes, straight;
	struct bsn_be64 ctrl0;
	struct bsn_regs r;

	if (!__builtin_constant_p(length))
		BSN_FORGET(*limit); /* else it were loaded for short data, too, before the length is looked at */
	if (!(__builtin_constant_p(length) && length < BSN_INLINE_STRAIGHT_MIN) &&
	    BSN_LIKELY((uint32_t)length - BSN_INLINE_STRAIGHT_MIN < sq->inline_straight)) {
		count /= BSN_DS_SIZE;
		if (!__builtin_constant_p(length))
			BSN_HIDE(count); /* one register; and else each case would load it as a constant */
		straight = count;
		bytes = bsn_whole_blocks(first + length - BSN_DS_INLINE_MAX);
		if (room < BSN_KNOWN_ALL && BSN_UNLIKELY(wqe + (bytes - BSN_BB_SIZE) > *limit))
			return BSN_NO_ROOM;
		bsn_sq_take_at(sq, wqe, &r, bytes);
		if (!bsn_is_in_regs(length, head, count))
			bsn_put_inline_end(wqe + first - BSN_DS_INLINE_MAX, data, length);
	} else if (length < BSN_LITTLE_MIN || (uint32_t)length > sq->put_inline) {
		return BSN_NOT_PLAIN; /* too short, or too long */
	} else if ((uint32_t)length < BSN_INLINE_STRAIGHT_MIN && length > BSN_DS_INLINE_MAX) {
		/* gcc 12 would copy @count if it were looked at */
		return bsn_put_two(sq, limit, peer, prefix_ds, opcode, data, length, room, remote,
				   has_remote, imm, id, flags);
	} else {
		count /= BSN_DS_SIZE;
		straight = BSN_INLINE_STRAIGHT_DS; /* and more: the queue takes more than straight code copies */
		bytes = bsn_whole_blocks(first + length - BSN_DS_INLINE_MAX);
		if (BSN_UNLIKELY(wqe + (bytes - BSN_BB_SIZE) > *limit))
			return BSN_NO_ROOM;
		bsn_sq_take_at(sq, wqe, &r, bytes);
		bsn_put_inline_end(wqe + first - BSN_DS_INLINE_MAX, data, length);
		bsn_put_inline_beyond(wqe + first, rest, count);
	}
	if (bytes < bsn_bytes_of_ds(head + 3))
		__builtin_unreachable(); /* BSN_INLINE_STRAIGHT_MIN */
	if (bsn_is_in_regs(length, head, count))
		return bsn_put_constant(sq, wqe, peer, prefix_ds, opcode, data, length,
					(unsigned)(head + 2 + count), remote, has_remote, imm, id,
					flags);
	ctrl0 = bsn_ctrl0(sq, opcode, head + 2 + count);
	if (!__builtin_constant_p(length))
		BSN_HIDE(ctrl0.raw); /* else each case would load the count as a constant */
	bsn_put_inline_straight(sq, wqe + first, rest, straight,
				BSN_BF_BUFFER_BYTES / BSN_DS_SIZE + 1 - (head + 2), flags);
	r.ds[head] = bsn_ds_inline_first(data, length);
	return bsn_end_data(sq, wqe, peer, prefix_ds, ctrl0, &r, head + 1, BSN_REST_INLINE, length,
			    0, bytes, remote, has_remote, imm, id, flags);
}

/*
 * A message or WRITE whose bytes are copied into the WQE. One compare finds lengths of 8 to 12.
 */
BSN_ALWAYS_INLINE int bsn_put_data(struct bsn_sq *sq, uint8_t **limit,
				   const struct bsn_peer *peer, unsigned prefix_ds, unsigned opcode,
				   const uint8_t *data, size_t length, enum bsn_known_room room,
				   const struct bsn_remote *remote, bool has_remote, uint32_t imm,
				   uint64_t id, uint32_t flags)
{
	const unsigned ds = 2 + prefix_ds + has_remote;
	const uint32_t more = (uint32_t)length - (BSN_DS_INLINE_MAX + 1);
	struct bsn_regs r;
	uint8_t *wqe;
	int err;

	if (BSN_LIKELY(more >= (uint32_t)BSN_LITTLE_MIN - (BSN_DS_INLINE_MAX + 1))) {
		if (!(room && bsn_bytes_of_ds(ds) == BSN_BB_SIZE) && !bsn_fits(sq, *limit, bsn_bytes_of_ds(ds)))
			return BSN_NO_ROOM;
		r.ds[ds - 1] = bsn_ds_little(data, length, bsn_beyond_of(length), false);
	} else {
		err = BSN_NOT_PLAIN;
		if (!__builtin_constant_p(length) || length > BSN_DS_INLINE_MAX)
			err = bsn_put_long(sq, limit, peer, prefix_ds, opcode, data, length,
					   room, remote, has_remote, imm, id, flags);
		if (err != BSN_NOT_PLAIN || length - 1 >= BSN_LITTLE_MIN - 1)
			return err;
		if (!(room && bsn_bytes_of_ds(ds) == BSN_BB_SIZE) && !bsn_fits(sq, *limit, bsn_bytes_of_ds(ds)))
			return BSN_NO_ROOM;
		r.ds[ds - 1] = bsn_ds_tiny(data, length);
	}
	wqe = bsn_sq_take_known(sq, &r, bsn_bytes_of_ds(ds));
	return bsn_end_data(sq, wqe, peer, prefix_ds, bsn_ctrl0(sq, opcode, ds), &r, ds,
			    BSN_REST_NONE, ds, BSN_NEAR_DS, bsn_bytes_of_ds(ds), remote, has_remote,
			    imm, id, flags);
}

/* -- what is not plain ---------------------------------------------------------------------------------- */

BSN_ALWAYS_INLINE int bsn_post_sgl_cold(struct bsn_ep *ep, unsigned opcode, const struct bsn_sge *sge,
					unsigned count, const struct bsn_remote *remote,
					uint32_t imm, uint64_t id, uint32_t flags)
{
	const struct bsn_sq_posts *const posts = ep->sq->posts;
	const unsigned row = BSN_POST_ROW(opcode, flags);

	if (__builtin_constant_p(count) && count == 1 &&
	    (flags & ~(uint32_t)BSN_F_RING) == BSN_F_SIGNALED)
		return posts->one[row](ep, BSN_WHAT(opcode, flags, 1u), sge, remote, imm, id);
	return posts->sgl[row](ep, BSN_WHAT(opcode, flags, count), sge, remote, imm, id);
}

BSN_ALWAYS_INLINE uint32_t bsn_what_count(uint32_t count)
{
	return count < BSN_WHAT_COUNT_MAX ? count : BSN_WHAT_COUNT_MAX;
}

BSN_ALWAYS_INLINE int bsn_post_inline_cold(struct bsn_ep *ep, unsigned opcode, const void *data,
					   uint32_t length, const struct bsn_remote *remote,
					   uint32_t imm, uint64_t id, uint32_t flags)
{
	const uint32_t what = BSN_WHAT(opcode, flags | BSN_F_INLINE, bsn_what_count(length));

	if (BSN_IS_NULL(ep))
		return bsn_sq_post_inline(ep, what, data, remote, imm, id);
	return ep->sq->posts->piece[BSN_POST_ROW(opcode, flags)](ep, what, data, remote, imm, id);
}

BSN_HEADER_END

#endif
