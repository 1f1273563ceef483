/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting and polling. Everything here is inline; the same functions are linkable symbols of the
 * library (post.c), for callers that want one copy, or that are not C: define BSN_NO_INLINE.
 *
 * Common to all posts:
 *
 *	@ep       where to: bsn_qp_ep(), or an endpoint of a UD QP
 *	@local    one piece of local memory; for several use bsn_post()
 *	@remote   remote address and key
 *	@id       comes back in the completion
 *	@flags    enum bsn_flags; best a constant, since the code then folds
 *
 *	Order:    O1 to O3 of dv/ORDERING.md where BSN_F_RING is set
 *	Context:  the queue's thread; no allocation, no system call; no lock on a lane of its own
 *	Return:   0; -EAGAIN the queue is full: poll; -EMSGSIZE too many bytes or SGEs; -EOPNOTSUPP
 *	          the transport or path cannot; -EINVAL; on plain verbs, where BSN_F_RING is set, also
 *	          what the provider says. Unless 0, nothing was written.
 *
 * Without BSN_F_RING a request is appended only, and is counted as outstanding, until a later post
 * with it or bsn_ring() publishes all.
 */
#ifndef BSN_POST_H
#define BSN_POST_H

#include "bsn_cq.h"

BSN_HEADER_BEGIN

#if defined(BSN_POST_API)
/* post.c: compiled as symbols */
#elif defined(BSN_NO_INLINE)
#define BSN_POST_API extern
#else
#define BSN_POST_API static inline __attribute__((always_inline, unused))
#endif

#ifndef BSN_NO_INLINE
#define BSN_WORD_BEHIND_CTRL  (BSN_CTRL_SIZE / 8)
#define BSN_WORD_BEHIND_RADDR ((BSN_CTRL_SIZE + BSN_RADDR_SIZE) / 8)

/* Whether a length can stand in a data pointer: 0 would mean 2^31, and bit 31 inline data. */
BSN_ALWAYS_INLINE bool bsn_is_plain_length(uint32_t length)
{
	return BSN_LIKELY((int32_t)length > 0);
}

BSN_ALWAYS_INLINE void bsn_bb_ctrl(struct bsn_bb *bb, struct bsn_sq *sq, unsigned opcode,
				   unsigned ds, uint32_t imm, unsigned flags)
{
	bb->word[0] = bsn_to_be64(bsn_ctrl_word0(sq, (uint16_t)sq->pi, opcode, ds));
	bb->word[1] = bsn_to_be64(bsn_ctrl_word1(sq, flags, imm));
}

BSN_ALWAYS_INLINE void bsn_bb_raddr(struct bsn_bb *bb, unsigned word, const struct bsn_remote *remote)
{
	const struct bsn_raddr raddr = { .raddr = remote->addr, .rkey = remote->rkey };

	bb->word[word] = bsn_to_be64(bsn_raddr_word(&raddr, 0));
	bb->word[word + 1] = bsn_pair_to_be64(bsn_raddr_word(&raddr, 1));
}

BSN_ALWAYS_INLINE void bsn_bb_data(struct bsn_bb *bb, unsigned word, uint64_t addr, uint32_t length,
				   uint32_t lkey)
{
	const struct bsn_data data = { .byte_count = length, .lkey = lkey, .addr = addr };

	bb->word[word] = bsn_to_be64(bsn_data_word(&data, 0));
	bb->word[word + 1] = bsn_to_be64(bsn_data_word(&data, 1));
}

/* A request of a remote address and one data pointer: 3 DS. */
BSN_ALWAYS_INLINE int bsn_post_rdma(struct bsn_ep *ep, unsigned opcode, unsigned needs,
				    const struct bsn_sge *local, const struct bsn_remote *remote,
				    uint32_t imm, uint64_t id, unsigned flags)
{
	struct bsn_sq *sq = ep->sq;
	struct bsn_bb bb = { .word = { { 0 } } };

	if (!bsn_sq_has_credit(sq) || !bsn_is_plain_length(local->length) ||
	    (needs && BSN_UNLIKELY(!(sq->can & needs))))
		return bsn_sq_post_sge(ep, opcode, local, remote, imm, id, flags);
	bsn_bb_ctrl(&bb, sq, opcode, 3, imm, flags);
	bsn_bb_raddr(&bb, 2, remote);
	bsn_bb_data(&bb, 4, local->addr, local->length, local->lkey);
	bsn_sq_append_bb(sq, bb, 6, id, flags);
	return 0;
}

/* A message of one data pointer: 2 DS. */
BSN_ALWAYS_INLINE int bsn_post_message(struct bsn_ep *ep, unsigned opcode,
				       const struct bsn_sge *local, uint32_t imm, uint64_t id,
				       unsigned flags)
{
	struct bsn_sq *sq = ep->sq;
	struct bsn_bb bb = { .word = { { 0 } } };

	if (!bsn_sq_has_credit(sq) || !bsn_is_plain_length(local->length))
		return bsn_sq_post_sge(ep, opcode, local, NULL, imm, id, flags);
	bsn_bb_ctrl(&bb, sq, opcode, 2, imm, flags);
	bsn_bb_data(&bb, 2, local->addr, local->length, local->lkey);
	bsn_sq_append_bb(sq, bb, 4, id, flags);
	return 0;
}

/* The header in front of a little inline data. */
BSN_ALWAYS_INLINE uint64_t bsn_inline_head(size_t length)
{
	const struct bsn_inline_hdr none = { .is_inline = 1 };
	const struct bsn_inline_hdr some = { .byte_count = (uint32_t)length };

	return bsn_to_be32(bsn_inline_hdr_dword(&none, 0)).raw |
	       bsn_byte_to_be32(bsn_inline_hdr_dword(&some, 0)).raw;
}

/*
 * 1 to BSN_DS_INLINE_MAX bytes of inline data behind their header: two words, zero-padded. Reads no
 * byte outside the data; loads overlap instead. False: they are more, or none. One compare tells for
 * the lengths from 8 on; 64 bits wide, for gcc 12 extends what has 32 at each use.
 */
BSN_ALWAYS_INLINE bool bsn_bb_inline(struct bsn_bb *bb, unsigned word, const uint8_t *src,
				     size_t length)
{
	const size_t spare = BSN_DS_INLINE_MAX - length;
	uint64_t last8;
	uint32_t first4, last4;

	if (BSN_LIKELY(spare <= BSN_DS_INLINE_MAX - 8)) {
		memcpy(&first4, src, 4);
		memcpy(&last8, src + length - 8, 8);
		bb->word[word].raw = bsn_inline_head(length) | (uint64_t)first4 << 32;
		bb->word[word + 1].raw = last8 >> 8 * spare;
		return true;
	}
	if (spare >= BSN_DS_INLINE_MAX)
		return false;
	if (length >= 4) {
		memcpy(&first4, src, 4);
		memcpy(&last4, src + length - 4, 4);
		last8 = first4 | (uint64_t)last4 << 8 * (length - 4);
	} else {
		last8 = src[0] | (uint32_t)src[length / 2] << 8 * (length / 2) |
			(uint32_t)src[length - 1] << 8 * (length - 1);
	}
	bb->word[word].raw = bsn_inline_head(length) | last8 << 32;
	bb->word[word + 1].raw = last8 >> 32;
	return true;
}

/* @word: where the data goes: behind the control segment, or behind the remote address too. */
BSN_ALWAYS_INLINE int bsn_post_inline(struct bsn_ep *ep, unsigned opcode, unsigned word,
				      const void *data, uint32_t length,
				      const struct bsn_remote *remote, uint64_t id, unsigned flags)
{
	struct bsn_sq *sq = ep->sq;
	struct bsn_bb bb = { .word = { { 0 } } };

	if (!bsn_sq_has_credit(sq) || !bsn_bb_inline(&bb, word, (const uint8_t *)data, length)) {
		const struct bsn_sge local = { (uintptr_t)data, length, 0 };
		return bsn_sq_post_sge(ep, opcode, &local, remote, 0, id, flags | BSN_F_INLINE);
	}
	bsn_bb_ctrl(&bb, sq, opcode, word / 2 + 1, 0, flags);
	if (word == BSN_WORD_BEHIND_RADDR)
		bsn_bb_raddr(&bb, 2, remote);
	bsn_sq_append_bb(sq, bb, word + 2, id, flags);
	return 0;
}

BSN_ALWAYS_INLINE int bsn_post_atomic(struct bsn_ep *ep, unsigned opcode,
				      const struct bsn_sge *local, const struct bsn_remote *remote,
				      uint64_t swap_add, uint64_t compare, uint64_t id,
				      unsigned flags)
{
	struct bsn_sq *sq = ep->sq;
	const struct bsn_atomic_cs operands = { .swap = swap_add, .compare = compare };
	struct bsn_bb bb;

	if (!bsn_sq_has_credit(sq) || BSN_UNLIKELY(!(sq->can & BSN_CAN_ATOMIC))) {
		const uint64_t operand[2] = { swap_add, compare };
		return bsn_sq_post_atomic(ep, opcode, local, remote, operand, id, flags);
	}
	bsn_bb_ctrl(&bb, sq, opcode, 4, 0, flags);
	bsn_bb_raddr(&bb, 2, remote);
	bb.word[4] = bsn_to_be64(bsn_atomic_cs_word(&operands, 0));
	bb.word[5] = bsn_to_be64(bsn_atomic_cs_word(&operands, 1));
	bsn_bb_data(&bb, 6, local->addr, 8, local->lkey);
	bsn_sq_append_bb(sq, bb, 8, id, flags);
	return 0;
}

BSN_ALWAYS_INLINE int bsn_post_body(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id,
				    unsigned flags)
{
	struct bsn_sq *sq = ep->sq;
	struct bsn_be64 ctrl0, ctrl1;

	if (!bsn_sq_has_credit(sq))
		return bsn_sq_post_prepared(ep, p, id, flags);
	ctrl0 = bsn_to_be64(bsn_ctrl_word0(sq, (uint16_t)sq->pi, 0, 0));
	ctrl1 = bsn_to_be64(bsn_ctrl_word1(sq, flags, 0));
	ctrl0.raw |= p->ctrl0.raw;
	ctrl1.raw |= p->ctrl1.raw;
	bsn_sq_append_body(sq, ctrl0, ctrl1, p->body, id, flags);
	return 0;
}

#define BSN_BODY(...)                                                                              \
	{                                                                                          \
		return __VA_ARGS__;                                                                \
	}
#else
#define BSN_BODY(...) ;
#endif

/** bsn_write - RDMA WRITE of local memory to remote memory */
BSN_POST_API int bsn_write(struct bsn_ep *ep, const struct bsn_sge *local,
		      const struct bsn_remote *remote, uint64_t id, unsigned flags)
BSN_BODY(bsn_post_rdma(ep, BSN_OPCODE_RDMA_WRITE, 0, local, remote, 0, id, flags))

/** bsn_write_inline - RDMA WRITE of @length bytes that are copied into the WQE now */
BSN_POST_API int bsn_write_inline(struct bsn_ep *ep, const void *data, uint32_t length,
			     const struct bsn_remote *remote, uint64_t id, unsigned flags)
BSN_BODY(bsn_post_inline(ep, BSN_OPCODE_RDMA_WRITE, BSN_WORD_BEHIND_RADDR, data, length, remote,
			 id, flags))

/** bsn_write_imm - RDMA WRITE that also consumes a receive and delivers @imm (host order) */
BSN_POST_API int bsn_write_imm(struct bsn_ep *ep, const struct bsn_sge *local,
			  const struct bsn_remote *remote, uint32_t imm, uint64_t id, unsigned flags)
BSN_BODY(bsn_post_rdma(ep, BSN_OPCODE_RDMA_WRITE_IMM, 0, local, remote, imm, id, flags))

/** bsn_read - RDMA READ of remote memory into local memory; RC */
BSN_POST_API int bsn_read(struct bsn_ep *ep, const struct bsn_sge *local, const struct bsn_remote *remote,
		     uint64_t id, unsigned flags)
BSN_BODY(bsn_post_rdma(ep, BSN_OPCODE_RDMA_READ, BSN_CAN_READ, local, remote, 0, id, flags))

/** bsn_send - message into the peer's next receive */
BSN_POST_API int bsn_send(struct bsn_ep *ep, const struct bsn_sge *local, uint64_t id, unsigned flags)
BSN_BODY(bsn_post_message(ep, BSN_OPCODE_SEND, local, 0, id, flags))

/** bsn_send_inline - message of @length bytes that are copied into the WQE now */
BSN_POST_API int bsn_send_inline(struct bsn_ep *ep, const void *data, uint32_t length, uint64_t id,
			    unsigned flags)
BSN_BODY(bsn_post_inline(ep, BSN_OPCODE_SEND, BSN_WORD_BEHIND_CTRL, data, length, NULL, id, flags))

/** bsn_send_imm - message with an immediate (host order) */
BSN_POST_API int bsn_send_imm(struct bsn_ep *ep, const struct bsn_sge *local, uint32_t imm, uint64_t id,
			 unsigned flags)
BSN_BODY(bsn_post_message(ep, BSN_OPCODE_SEND_IMM, local, imm, id, flags))

/** bsn_send_inval - message that invalidates @rkey at the peer; RC */
BSN_POST_API int bsn_send_inval(struct bsn_ep *ep, const struct bsn_sge *local, uint32_t rkey,
			   uint64_t id, unsigned flags)
BSN_BODY(bsn_post_message(ep, BSN_OPCODE_SEND_INVAL, local, rkey, id, flags))

/** bsn_fetch_add - adds @add to 8 B of remote memory; the old value goes to @local; RC */
BSN_POST_API int bsn_fetch_add(struct bsn_ep *ep, const struct bsn_sge *local,
			  const struct bsn_remote *remote, uint64_t add, uint64_t id, unsigned flags)
BSN_BODY(bsn_post_atomic(ep, BSN_OPCODE_ATOMIC_FA, local, remote, add, 0, id, flags))

/** bsn_cmp_swap - @swap into 8 B of remote memory if they equal @compare; the old value to @local; RC */
BSN_POST_API int bsn_cmp_swap(struct bsn_ep *ep, const struct bsn_sge *local,
			 const struct bsn_remote *remote, uint64_t compare, uint64_t swap,
			 uint64_t id, unsigned flags)
BSN_BODY(bsn_post_atomic(ep, BSN_OPCODE_ATOMIC_CS, local, remote, swap, compare, id, flags))

/** bsn_post - any request: several SGEs, inline data from several pieces, every opcode */
BSN_POST_API int bsn_post(struct bsn_ep *ep, const struct bsn_wr *wr)
BSN_BODY(bsn_sq_post(ep, wr))

/** bsn_post_prepared - a request made by bsn_prepare() */
BSN_POST_API int bsn_post_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id,
				   unsigned flags)
BSN_BODY(bsn_post_body(ep, p, id, flags))

/**
 * bsn_ring - publishes everything appended to a send queue
 * Return: 0; on plain verbs, a negative errno if a request could not be queued.
 */
BSN_POST_API int bsn_ring(struct bsn_sq *sq)
BSN_BODY(bsn_sq_ring(sq))

/**
 * bsn_recv - posts memory for one incoming message; published at once
 * Order: O7.
 * Return: 0; -EAGAIN the queue is full; -EMSGSIZE more SGEs than the queue takes.
 */
BSN_POST_API int bsn_recv(struct bsn_rq *rq, const struct bsn_sge *sge, uint64_t id)
BSN_BODY(bsn_rq_append(rq, sge, id))

/** bsn_recv_sgl - bsn_recv() of @count pieces of memory; 0 is a receive for messages without data */
BSN_POST_API int bsn_recv_sgl(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
BSN_BODY(bsn_rq_post(rq, sge, count, id))

/**
 * bsn_poll - reaps up to @n completions
 *
 * A request that failed is a completion with a status, not an error. What was reaped by the
 * previous call (pointers into CQEs included) is given back to the device by this one.
 *
 * Order: O4, O5.
 * Context: the CQ's thread; no allocation, no lock, no system call.
 * Return: how many, 0 if there are none; only when there are none: -EIO the device is gone,
 * -EOVERFLOW the CQ overran, -EPROTO a CQE that this library cannot read (compressed).
 */
BSN_POST_API int bsn_poll(struct bsn_cq *cq, struct bsn_completion *c, int n)
BSN_BODY(bsn_cq_poll(cq, c, n))

#undef BSN_BODY

BSN_HEADER_END

#endif
