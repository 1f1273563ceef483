/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests of peers that have a slot, which come here nevertheless. The inline code has functions for the most common
 * ones; all others go the cold way.
 */
#ifndef DC_BOUND_H
#define DC_BOUND_H

#include "bsn_build.h"
#include "init.h"

/* Of so many SGEs, or bytes, and with plain flags. */
BSN_ALWAYS_INLINE bool is_plain(uint32_t what, uint32_t count)
{
	return what >> BSN_WHAT_COUNT_SHIFT == count && !(what & BSN_WHAT_FLAGS & ~(uint32_t)BSN_F_PLAIN);
}

/* As bsn_sq_post_sgl(). */
BSN_ALWAYS_INLINE int bound_post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
				     const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const unsigned opcode = (uint8_t)what;
	const uint64_t all = (uint64_t)imm << 32 | what;
	const bool has_remote = is_one_of(bsn_wqe_sets.with_raddr, opcode);

	if (BSN_UNLIKELY(!is_one_of(bsn_wqe_sets.with_list, opcode)))
		return ep->sq->posts->sgl[BSN_POST_ROW(opcode, what)](ep, what, sge, remote, imm, id);
	if (is_plain(what, 1) && bsn_has_peer_room(ep->sq) && bsn_are_plain(sge, 1))
		return has_remote ? bsn_peer_rdma(BSN_PIECE_GIVEN(ep, bsn_ds_data(sge), remote, all, id))
				  : bsn_peer_message(BSN_PIECE_GIVEN(ep, bsn_ds_data(sge), remote, all, id));
	if (has_remote && is_plain(what, 2))
		return bsn_peer_rdma2(ep, what, sge, remote, imm, id);
	if (has_remote && is_plain(what, 3))
		return bsn_peer_rdma3(ep, what, sge, remote, imm, id);
	if (has_remote && is_plain(what, 4))
		return bsn_peer_rdma4(ep, what, sge, remote, imm, id);
	return ep->sq->posts->sgl[BSN_POST_ROW(opcode, what)](ep, what, sge, remote, imm, id);
}

/* As bsn_sq_post_inline(). */
BSN_ALWAYS_INLINE int bound_post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
					const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const unsigned opcode = (uint8_t)what;
	const uint32_t length = what >> BSN_WHAT_COUNT_SHIFT, flags = what & BSN_F_PLAIN;

	if (BSN_UNLIKELY(!is_plain(what & ~(uint32_t)BSN_F_INLINE, length)))
		return ep->sq->posts->piece[BSN_POST_ROW(opcode, what)](ep, what, data, remote, imm, id);
	if (opcode == BSN_OPCODE_RDMA_WRITE || opcode == BSN_OPCODE_RDMA_WRITE_IMM)
		return bsn_peer_inline(ep, data, length, remote, id,
				       (uint64_t)imm << 32 | BSN_WHAT(opcode, flags, 0u));
	if (opcode == BSN_OPCODE_SEND)
		return length > BSN_EXTENDED_INLINE ? bsn_send_extended_any(ep, data, length, id, flags)
						    : bsn_send_extended_inline(ep, data, length, id, flags);
	return ep->sq->posts->piece[BSN_POST_ROW(opcode, what)](ep, what, data, remote, imm, id);
}

/* As bsn_sq_post_atomic(). */
BSN_ALWAYS_INLINE int bound_post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
					const struct bsn_remote *remote, const uint64_t operand[2],
					uint64_t id)
{
	const unsigned opcode = (uint8_t)what;

	if (is_plain(what, 1) && (opcode == BSN_OPCODE_ATOMIC_CS || opcode == BSN_OPCODE_ATOMIC_FA))
		return bsn_peer_atomic(ep, sge, remote, operand[0], operand[1], id, what);
	return ep->sq->posts->atomic(ep, what, sge, remote, operand, id);
}

#endif
