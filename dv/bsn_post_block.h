/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn.h, which programs include.
 *
 * Posts that are compiled into the program: one or two blocks to the one peer of a queue, of a
 * shape that the compiler knows. Three steps: is there room (bsn_can_build), put the words
 * (bsn_put_*), end the post (bsn_end_block). The words stay in registers, from which both the ring
 * and the BlueFlame register get them. All else is one call, to a function of bsn_sq.h: nothing was
 * written then.
 */
#ifndef BSN_POST_BLOCK_H
#define BSN_POST_BLOCK_H

#include "bsn_segments.h"

BSN_HEADER_BEGIN

#define BSN_BLOCK_SGES  4 /* the most SGEs, and blocks, that this code builds */
#define BSN_BLOCKS_MAX  2
#define BSN_BLOCK_WORDS (BSN_BLOCKS_MAX * BSN_BB_SIZE / 8)

/* The words of a WQE, of one block or two. */
struct bsn_block {
	struct bsn_be64 word[BSN_BLOCK_WORDS];
};

/* How much of a list or of inline data BSN_WHAT() can say. */
BSN_ALWAYS_INLINE uint32_t bsn_what_count(uint32_t count)
{
	return count < BSN_WHAT_COUNT_MAX ? count : BSN_WHAT_COUNT_MAX;
}

BSN_ALWAYS_INLINE bool bsn_has_remote(unsigned opcode)
{
	return opcode == BSN_OPCODE_RDMA_WRITE || opcode == BSN_OPCODE_RDMA_WRITE_IMM ||
	       opcode == BSN_OPCODE_RDMA_READ;
}

/* Whether a request of so many units has room at the slot, and this code knows all its @flags. */
BSN_ALWAYS_INLINE bool bsn_can_build(const struct bsn_sq *sq, unsigned ds, uint32_t flags)
{
	const size_t last = bsn_bytes_of_ds(ds) - BSN_BB_SIZE;

	return BSN_LIKELY(sq->slot + last <= sq->limit) && !(flags & ~BSN_F_PLAIN);
}

/*
 * Puts the control segment and the remote address, if the operation has one. Returns how many
 * words.
 */
BSN_ALWAYS_INLINE unsigned bsn_put_head(struct bsn_block *b, const struct bsn_sq *sq,
					unsigned opcode, unsigned ds,
					const struct bsn_remote *remote, uint32_t imm,
					uint32_t flags)
{
	b->word[0] = bsn_ctrl_word0(sq, opcode, ds);
	b->word[1] = bsn_ctrl_word1(sq, flags, imm);
	if (!bsn_has_remote(opcode))
		return 2;
	b->word[2] = bsn_remote_word(remote, 0);
	b->word[3] = bsn_remote_word(remote, 1);
	return 4;
}

/* Stores whole blocks into the BlueFlame register. [O1] to [O3] */
BSN_ALWAYS_INLINE int bsn_publish_block(struct bsn_sq *sq, const struct bsn_block *b, size_t bytes)
{
	struct bsn_lane *const lane = bsn_sq_open_register(sq);
	uint8_t *const reg = lane->reg;

	BSN_UNROLL
	for (unsigned i = 0; i < bytes / 8; i++)
		bsn_store_mmio(reg + 8 * i, b->word[i]);
	bsn_sq_close_register(lane, reg);
	return 0;
}

/* Keeps the id where the poller will look for it; bsn_sq.h says where that is. */
BSN_ALWAYS_INLINE void bsn_keep_id(struct bsn_sq *sq, uint8_t *wqe, unsigned ds, uint64_t id)
{
	if (ds <= BSN_NEAR_DS)
		*(uint64_t *)(void *)(wqe + BSN_NEAR_ID_AT) = id;
	else
		*bsn_id_of(sq, wqe) = id;
}

/*
 * The WQE is in @b. It goes into the ring, the slot moves on, and it is published if that was asked
 * for.
 */
BSN_ALWAYS_INLINE int bsn_end_block(struct bsn_sq *sq, struct bsn_block *b, unsigned ds,
				    uint64_t id, uint32_t flags)
{
	const size_t bytes = bsn_bytes_of_ds(ds);
	uint8_t *const wqe = sq->slot;

	BSN_UNROLL
	for (unsigned i = 0; i < 2 * ds; i++)
		bsn_store_wqe(wqe + 8 * i, b->word[i]);
	BSN_UNROLL
	for (unsigned i = 2 * ds; i < bytes / 8; i++)
		b->word[i] = b->word[0]; /* the device does not read these */
	bsn_keep_id(sq, wqe, ds, id);
	sq->slot = wqe + bytes;
	bsn_sq_advance(sq, bytes);
	if (!(flags & BSN_F_SIGNALED) && BSN_UNLIKELY(--sq->quiet == 0))
		return bsn_sq_end_turn(sq, bytes, flags);
	if (!(flags & BSN_F_RING))
		return bsn_sq_append(sq, wqe);
	if (BSN_UNLIKELY(sq->publish != BSN_PUBLISH_8))
		return bsn_sq_publish(sq, bytes);
	return bsn_publish_block(sq, b, bytes);
}

/* -- SGEs ------------------------------------------------------------------------------------- */

BSN_ALWAYS_INLINE bool bsn_are_plain(const struct bsn_sge *sge, unsigned count)
{
	BSN_UNROLL
	for (unsigned i = 0; i < count; i++)
		if (!bsn_is_plain(&sge[i]))
			return false;
	return true;
}

/*
 * Whether the one peer of the queue can get such a list. UC has no READ; each queue of one peer has
 * the rest.
 */
BSN_ALWAYS_INLINE bool bsn_takes_sges(const struct bsn_sq *sq, unsigned opcode,
				      const struct bsn_sge *sge, unsigned count)
{
	if (opcode == BSN_OPCODE_RDMA_READ && BSN_UNLIKELY(!(sq->ops >> BSN_OPCODE_RDMA_READ & 1)))
		return false;
	return (count == 1 || BSN_LIKELY(count <= sq->max_sge)) && bsn_are_plain(sge, count);
}

/** bsn_post_sges - a message or RDMA request of @count SGEs */
BSN_ALWAYS_INLINE int bsn_post_sges(struct bsn_ep *ep, unsigned opcode, const struct bsn_sge *sge,
				    unsigned count, const struct bsn_remote *remote, uint32_t imm,
				    uint64_t id, uint32_t flags)
{
	const uint32_t what = BSN_WHAT(opcode, flags, bsn_what_count(count));
	const unsigned ds = 1 + bsn_has_remote(opcode) + count;
	struct bsn_sq *sq;
	struct bsn_block b;
	unsigned n;

	if (BSN_IS_NULL(ep))
		return bsn_post(NULL, NULL); /* refuses it, in words */
	if (!__builtin_constant_p(count) || count - 1 >= BSN_BLOCK_SGES)
		return bsn_sq_post_sgl(ep, what, sge, remote, imm, id);
	sq = ep->sq;
	if (!bsn_can_build(sq, ds, flags) || !bsn_takes_sges(sq, opcode, sge, count))
		return bsn_sq_post_sgl(ep, what, sge, remote, imm, id);
	n = bsn_put_head(&b, sq, opcode, ds, remote, imm, flags);
	BSN_UNROLL
	for (unsigned i = 0; i < 2 * count; i++)
		b.word[n + i] = bsn_sge_word(&sge[i / 2], i % 2);
	return bsn_end_block(sq, &b, ds, id, flags);
}

/* -- inline data ------------------------------------------------------------------------------ */

/*
 * Word @i of the header and @length bytes, zeros after the last. The compiler knows all but the
 * bytes.
 */
BSN_ALWAYS_INLINE uint64_t bsn_inline_word(const uint8_t *data, uint32_t length, unsigned i)
{
	const unsigned from = 8 * i - BSN_INLINE_HDR_SIZE, left = length - from;

	if (!i)
		return bsn_inline_head(length) | bsn_load_part(data, length < 4 ? length : 4) << 32;
	if (from >= length)
		return 0;
	if (left >= 8 || length < 8)
		return bsn_load_part(data + from, left < 8 ? left : 8);
	return bsn_load_part(data + length - 8, 8) >> 8 * (8 - left);
}

/* Puts 1 to BSN_DS_INLINE_MAX bytes, of a length that may be unknown, into one unit. */
BSN_ALWAYS_INLINE int bsn_post_few(struct bsn_sq *sq, unsigned opcode, const uint8_t *data,
				   uint32_t length, const struct bsn_remote *remote, uint32_t imm,
				   uint64_t id, uint32_t flags)
{
	const unsigned ds = 2 + bsn_has_remote(opcode);
	uint64_t first, rest;
	struct bsn_block b;
	unsigned n;

	n = bsn_put_head(&b, sq, opcode, ds, remote, imm, flags);
	bsn_load_few(data, length, &first, &rest);
	b.word[n].raw = bsn_inline_head(length) | first << 32;
	b.word[n + 1].raw = rest;
	return bsn_end_block(sq, &b, ds, id, flags);
}

/* Puts data of a length that the compiler knows, in @ds units in all. */
BSN_ALWAYS_INLINE int bsn_post_known(struct bsn_sq *sq, unsigned opcode, unsigned ds,
				     const uint8_t *data, uint32_t length,
				     const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				     uint32_t flags)
{
	struct bsn_block b;
	const unsigned n = bsn_put_head(&b, sq, opcode, ds, remote, imm, flags);

	BSN_UNROLL
	for (unsigned i = 0; n + i < 2 * ds; i++)
		b.word[n + i].raw = bsn_inline_word(data, length, i);
	return bsn_end_block(sq, &b, ds, id, flags);
}

/** bsn_post_bytes - a message or WRITE of bytes that are copied into the WQE now */
BSN_ALWAYS_INLINE int bsn_post_bytes(struct bsn_ep *ep, unsigned opcode, const void *data,
				     uint32_t length, const struct bsn_remote *remote, uint32_t imm,
				     uint64_t id, uint32_t flags)
{
	const bool is_known = __builtin_constant_p(length) && length > BSN_DS_INLINE_MAX;
	const unsigned ds = 1 + bsn_has_remote(opcode) + (is_known ? bsn_inline_ds(length) : 1);
	const uint8_t *const bytes = (const uint8_t *)data;

	if (BSN_IS_NULL(ep))
		return bsn_post(NULL, NULL); /* refuses it, in words */
	/* Of a known length: what fits two blocks. Else 1 B to what each queue takes. */
	if ((is_known ? ds <= BSN_BLOCKS_MAX * BSN_BB_DS
		      : BSN_LIKELY(length - 1 < BSN_DS_INLINE_MAX)) &&
	    bsn_can_build(ep->sq, ds, flags & ~(uint32_t)BSN_F_INLINE)) {
		if (!is_known)
			return bsn_post_few(ep->sq, opcode, bytes, length, remote, imm, id, flags);
		if (BSN_LIKELY(length <= ep->sq->max_inline))
			return bsn_post_known(ep->sq, opcode, ds, bytes, length, remote, imm, id,
					      flags);
	}
	return bsn_sq_post_inline(ep,
				  BSN_WHAT(opcode, flags | BSN_F_INLINE, bsn_what_count(length)),
				  data, remote, imm, id);
}

/* -- prepared requests ------------------------------------------------------------------------ */

/* One block: as bsn_end_block(), but of vectors, as many as the request has in memory. */
BSN_ALWAYS_INLINE int bsn_post_body(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id,
				    uint32_t flags)
{
	bsn_v2 unit[BSN_BB_DS];
	struct bsn_lane *lane;
	struct bsn_sq *sq;
	uint8_t *wqe, *reg;

	if (BSN_IS_NULL(ep))
		return bsn_post(NULL, NULL); /* refuses it, in words */
	if (!bsn_can_build(ep->sq, BSN_BB_DS, flags & ~(uint32_t)BSN_F_INLINE))
		return bsn_sq_post_prepared(ep, p, id, flags);
	sq = ep->sq;
	wqe = sq->slot;
	unit[0] = (bsn_v2){ bsn_ctrl_word0(sq, 0, 0).raw, bsn_ctrl_word1(sq, flags, 0).raw } |
		  p->ctrl;
	BSN_UNROLL
	for (unsigned i = 1; i < BSN_BB_DS; i++)
		unit[i] = p->body[i - 1];
	BSN_UNROLL
	for (unsigned i = 0; i < BSN_BB_DS; i++)
		bsn_store_wqe_v2(wqe + i * BSN_DS_SIZE, unit[i]);
	bsn_keep_id(sq, wqe, 1 + p->body_ds, id);
	sq->slot = wqe + BSN_BB_SIZE;
	bsn_sq_advance(sq, BSN_BB_SIZE);
	if (!(flags & BSN_F_SIGNALED) && BSN_UNLIKELY(--sq->quiet == 0))
		return bsn_sq_end_turn(sq, BSN_BB_SIZE, flags);
	if (!(flags & BSN_F_RING))
		return bsn_sq_append(sq, wqe);
	if (BSN_UNLIKELY(sq->publish != BSN_PUBLISH_8))
		return bsn_sq_publish(sq, BSN_BB_SIZE);
	lane = bsn_sq_open_register(sq);
	reg = lane->reg;
	BSN_UNROLL
	for (unsigned i = 0; i < BSN_BB_DS; i++)
		bsn_store_mmio_v2(reg + i * BSN_DS_SIZE, unit[i]);
	bsn_sq_close_register(lane, reg);
	return 0;
}

BSN_HEADER_END

#endif
