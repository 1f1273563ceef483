/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to one of many peers, whose address vector comes after the control segment.
 */
#ifndef BSN_PEERS_H
#define BSN_PEERS_H

#include "bsn_put.h"

BSN_HEADER_BEGIN

/* -- one of many peers ---------------------------------------------------------------------------------- */

/*
 * The most common requests to one of many peers. Each is a function in the program's own unit, compiled
 * with the program's options, so that functions that post to one peer contain nothing of it. They take
 * requests that failed the one compare, and leave to the library what is not theirs, by a jump: so they save
 * nothing across a call.
 */
#define BSN_APART static __attribute__((noinline, unused))

/* The same, with all of its parameters where they are: gcc would leave out one that it knows, and move others. */
#ifdef __clang__
#define BSN_UNCHANGED BSN_APART
#else
#define BSN_UNCHANGED static __attribute__((noinline, noclone, unused))
#endif

/*
 * Requests with one DS of data. It is in registers, so that no SGE has to be in memory. Each opcode and
 * each set of common flags has a function. A function that leaves a request to another passes it the same
 * parameters, so that the call is a jump. A peer of DC has one of these vectors, a peer of XRC the first,
 * a peer of UD the second.
 */
#define BSN_COMPACT_DS  1
#define BSN_EXTENDED_DS 3

/*
 * What is posted, as parameters, all in registers, a DS as a vector or as two words; gcc 12 would pass a structure of
 * two words through memory. They are in the order of bsn_sq_post_piece(), and where most callers have them already.
 * @more: the queue, which the caller has loaded; or word 1 of the control segment; or opcode, flags and immediate.
 */
#if BSN_HAS_SHUFFLE
#define BSN_PIECE_PARAMETERS(more)                                                                 \
	struct bsn_ep *ep, bsn_v2 data, const struct bsn_remote *remote, more, uint64_t id
#define BSN_PIECE_DATA                            bsn_ds_of_vector(data)
#define BSN_PIECE_GIVEN(ep, ds, remote, more, id) ep, bsn_vector_of(ds), remote, more, id
#else
#define BSN_PIECE_PARAMETERS(more)                                                                 \
	struct bsn_ep *ep, uint64_t data1, const struct bsn_remote *remote, uint64_t data0, more,  \
		uint64_t id
#define BSN_PIECE_DATA                            bsn_ds_of_words((struct bsn_be64){ data0 }, (struct bsn_be64){ data1 })
#define BSN_PIECE_GIVEN(ep, ds, remote, more, id) ep, (ds).w1.raw, remote, (ds).w0.raw, more, id
#endif

BSN_ALWAYS_INLINE const struct bsn_peer *bsn_peer_of(const struct bsn_ep *ep)
{
	return (const struct bsn_peer *)(const void *)ep;
}

/* Whether each queue takes it whose peers have compact vectors; the compiler knows. */
BSN_ALWAYS_INLINE bool bsn_is_common(unsigned opcode)
{
	return __builtin_constant_p(opcode) &&
	       (opcode == BSN_OPCODE_RDMA_WRITE || opcode == BSN_OPCODE_RDMA_WRITE_IMM ||
		opcode == BSN_OPCODE_SEND || opcode == BSN_OPCODE_SEND_IMM);
}

/* The same of peers with any vectors. */
BSN_ALWAYS_INLINE bool bsn_is_message(unsigned opcode)
{
	return __builtin_constant_p(opcode) &&
	       (opcode == BSN_OPCODE_SEND || opcode == BSN_OPCODE_SEND_IMM);
}

/* Whether the queue of peers with such a vector takes it. */
BSN_ALWAYS_INLINE bool bsn_has_opcode(const struct bsn_sq *sq, unsigned prefix_ds, unsigned opcode)
{
	return (prefix_ds == BSN_COMPACT_DS && bsn_is_common(opcode)) || bsn_is_message(opcode) ||
	       BSN_LIKELY(sq->ops >> opcode & 1);
}

/* Whether the inline code may build inline data to a peer, the room for which is looked at when they are put. */
BSN_ALWAYS_INLINE bool bsn_is_for(const struct bsn_ep *ep, unsigned prefix_ds, unsigned opcode)
{
	return BSN_LIKELY(bsn_peer_of(ep)->prefix_ds == prefix_ds) &&
	       bsn_has_opcode(ep->sq, prefix_ds, opcode);
}

/*
 * Whether there is room for a request of @ds units; room for one block was found before. @slot: the queue's, if it was
 * loaded already.
 */
BSN_ALWAYS_INLINE bool bsn_has_room_to_post(const struct bsn_sq *sq, uint8_t *const *slot, unsigned ds)
{
	const size_t bytes = bsn_bytes_of_ds(ds);

	return bytes == BSN_BB_SIZE || (slot ? BSN_LIKELY(*slot + bytes <= sq->peer_limit)
					     : bsn_fits(sq, sq->peer_limit, bytes));
}

/* Whether the queue takes one, too, whose address vector has this length. @ds: units besides it. */
BSN_ALWAYS_INLINE bool bsn_may_post(struct bsn_sq *sq, uint8_t *const *slot, unsigned prefix_ds,
				    unsigned ds, unsigned opcode)
{
	if (prefix_ds == BSN_EXTENDED_DS)
		BSN_FORGET(
			sq->peer_limit); /* else it were loaded before either vector is looked at */
	return bsn_has_room_to_post(sq, slot, prefix_ds + ds) && bsn_has_opcode(sq, prefix_ds, opcode);
}

BSN_ALWAYS_INLINE int bsn_piece_cold(struct bsn_ep *ep, unsigned opcode, struct bsn_ds data,
				     const struct bsn_remote *remote, uint64_t id, uint32_t imm,
				     uint32_t flags)
{
	const bsn_v2 words = bsn_vector_of(data);

	return bsn_sq_post_piece(ep, words[1], remote, words[0],
				 (uint64_t)imm << 32 | BSN_WHAT(opcode, flags & BSN_F_ALL, 1u), id);
}

/*
 * Begins a WQE to a peer, in an order in which the registers that a call may change are enough: the first word comes
 * last, by bsn_end_peer(), and what is kept of it after that. @ctrl1: the second word; NULL: it is made of flags and @imm
 */
BSN_ALWAYS_INLINE void bsn_begin_peer(struct bsn_regs *r, const struct bsn_sq *sq, const struct bsn_peer *peer,
				      unsigned prefix_ds, const struct bsn_be64 *ctrl1, uint32_t imm,
				      uint64_t id, uint32_t flags)
{
	bsn_keep_peer_id_later(r, peer, id);
	bsn_begin_of(r, peer, prefix_ds, (struct bsn_be64){ 0 },
		     ctrl1 ? *ctrl1 : bsn_ctrl1(sq, flags, imm));
}

/* Its end; it is in registers, all of it. */
BSN_ALWAYS_INLINE int bsn_end_peer(struct bsn_sq *sq, uint8_t *wqe, struct bsn_regs *r, unsigned opcode,
				   unsigned ds, uint64_t id, uint32_t flags)
{
	r->ds[0].w0 = bsn_ctrl0(sq, opcode, ds);
	return bsn_end(sq, wqe, NULL, true, r, ds, BSN_REST_NONE, ds, BSN_NEAR_DS, bsn_bytes_of_ds(ds), id, flags);
}

/* Posts one DS of data, of which all was checked. */
BSN_ALWAYS_INLINE int bsn_put_piece(struct bsn_sq *sq, struct bsn_ep *ep, unsigned prefix_ds,
				    unsigned opcode, struct bsn_ds data,
				    const struct bsn_remote *remote, bool has_remote, uint64_t id,
				    const struct bsn_be64 *ctrl1, uint32_t imm, uint32_t flags)
{
	const unsigned ds = 2 + prefix_ds + has_remote;
	struct bsn_regs r;
	uint8_t *const wqe = bsn_sq_take_known(sq, &r, bsn_bytes_of_ds(ds));

	bsn_begin_peer(&r, sq, bsn_peer_of(ep), prefix_ds, ctrl1, imm, id, flags);
	if (has_remote) /* flags that are not known take a register, too */
		r.ds[1 + prefix_ds] = bsn_ds_in(bsn_ds_raddr(remote), !ctrl1 && !__builtin_constant_p(flags));
	r.ds[ds - 1] = data;
	return bsn_end_peer(sq, wqe, &r, opcode, ds, id, flags);
}

/* There is room for a block. */
BSN_ALWAYS_INLINE int bsn_try_piece(struct bsn_sq *sq, struct bsn_ep *ep, unsigned opcode,
				    struct bsn_ds data, const struct bsn_remote *remote,
				    bool has_remote, uint64_t id, const struct bsn_be64 *ctrl1,
				    uint32_t imm, uint32_t flags)
{
	if (bsn_peer_of(ep)->prefix_ds == BSN_COMPACT_DS) {
		if (bsn_may_post(sq, NULL, BSN_COMPACT_DS, 2 + has_remote, opcode))
			return bsn_put_piece(sq, ep, BSN_COMPACT_DS, opcode, data, remote,
					     has_remote, id, ctrl1, imm, flags);
	} else if (bsn_may_post(sq, NULL, BSN_EXTENDED_DS, 2 + has_remote, opcode)) {
		return bsn_put_piece(sq, ep, BSN_EXTENDED_DS, opcode, data, remote, has_remote, id,
				     ctrl1, imm, flags);
	}
	return bsn_piece_cold(ep, opcode, data, remote, id, ctrl1 ? bsn_imm_of(*ctrl1) : imm,
			      flags);
}

/* X(opcode, has_remote, imm, name, flags) of each common set of flags */
#define BSN_EACH_FLAGS(X, opcode, has_remote, imm, name)                                           \
	X(opcode, has_remote, imm, name##_quietly, 0u)                                             \
	X(opcode, has_remote, imm, name##_signaled, (uint32_t)BSN_F_SIGNALED)                      \
	X(opcode, has_remote, imm, name##_rung_quietly, (uint32_t)BSN_F_RING)                      \
	X(opcode, has_remote, imm, name##_rung, (uint32_t)(BSN_F_SIGNALED | BSN_F_RING))

typedef int bsn_piece_post(BSN_PIECE_PARAMETERS(struct bsn_sq *sq));
typedef int bsn_piece_post_imm(BSN_PIECE_PARAMETERS(uint64_t ctrl1));
typedef int bsn_piece_post_any(BSN_PIECE_PARAMETERS(uint64_t what));

/*
 * What the inline code knows of an opcode; the compiler replaces each field by its value. @needs: bits of
 * bsn_sq.can. @piece: by flags, in the order of BSN_EACH_FLAGS(); one of the two, by whether there is an
 * immediate. @piece_any: flags and immediate are in @what. A program contains those of the opcodes that it posts.
 */
struct bsn_kind {
	unsigned opcode, needs;
	bool has_remote;
	bsn_piece_post *piece[4];
	bsn_piece_post_imm *piece_imm[4];
	bsn_piece_post_any *piece_any;
};

BSN_ALWAYS_INLINE unsigned bsn_piece_index(uint32_t flags)
{
	return (flags & BSN_F_SIGNALED ? 1 : 0) | (flags & BSN_F_RING ? 2 : 0);
}

/* As @imm below: what stands in a list of parameters, what its value is, and which of the two @piece it is. */
#define BSN_IMM_MORE uint64_t ctrl1
#define BSN_IMM_SQ   ep->sq
#define BSN_IMM_WORD ctrl1
#define BSN_IMM_HAS  true
#define BSN_IMM_PIECES(x)  { NULL, NULL, NULL, NULL }, { x }
#define BSN_NONE_MORE struct bsn_sq *sq
#define BSN_NONE_SQ   sq
#define BSN_NONE_WORD 0
#define BSN_NONE_HAS  false
#define BSN_NONE_PIECES(x) { x }, { NULL, NULL, NULL, NULL }

#define BSN_POST_PIECE(opcode, has_remote, with, name, flags)                                      \
	BSN_UNCHANGED int name(BSN_PIECE_PARAMETERS(with##_MORE))                                  \
	{                                                                                          \
		const struct bsn_be64 word = { with##_WORD };                                      \
                                                                                                   \
		return bsn_try_piece(with##_SQ, ep, opcode, BSN_PIECE_DATA, remote, has_remote,    \
				     id, with##_HAS ? &word : NULL, 0, flags);                     \
	}

#define BSN_POST_ANY(opcode, has_remote, with, name)                                               \
	BSN_UNCHANGED int name(BSN_PIECE_PARAMETERS(uint64_t what))                                \
	{                                                                                          \
		return bsn_try_piece(ep->sq, ep, opcode, BSN_PIECE_DATA, remote, has_remote, id,   \
				     NULL, with##_HAS ? (uint32_t)(what >> 32) : 0,                \
				     (uint32_t)what);                                              \
	}

#define BSN_NAME_PIECE(opcode, has_remote, imm, name, flags) name,
#ifdef __OPTIMIZE__
#define BSN_KIND(name, opcode, needs, has_remote, imm)                                             \
	BSN_EACH_FLAGS(BSN_POST_PIECE, opcode, has_remote, imm, bsn_peer_##name)                   \
	BSN_POST_ANY(opcode, has_remote, imm, bsn_peer_##name##_any)                               \
	static const struct bsn_kind bsn_kind_##name __attribute__((unused)) = {                   \
		opcode, needs, has_remote,                                                         \
		imm##_PIECES(BSN_EACH_FLAGS(BSN_NAME_PIECE, opcode, has_remote, imm,               \
					    bsn_peer_##name)),                                     \
		bsn_peer_##name##_any                                                              \
	};
#else /* no flags are constants then, and these functions take the most time to compile */
#define BSN_KIND(name, opcode, needs, has_remote, imm)                                             \
	static const struct bsn_kind bsn_kind_##name __attribute__((unused)) = {                   \
		opcode, needs, has_remote, imm##_PIECES(NULL), NULL                                \
	};
#endif
BSN_KIND(write, BSN_OPCODE_RDMA_WRITE, 0, true, BSN_NONE)
BSN_KIND(write_imm, BSN_OPCODE_RDMA_WRITE_IMM, 0, true, BSN_IMM)
BSN_KIND(read, BSN_OPCODE_RDMA_READ, BSN_CAN_READ, true, BSN_NONE)
BSN_KIND(send, BSN_OPCODE_SEND, 0, false, BSN_NONE)
BSN_KIND(send_imm, BSN_OPCODE_SEND_IMM, 0, false, BSN_IMM)
BSN_KIND(send_inval, BSN_OPCODE_SEND_INVAL, 0, false, BSN_IMM)
#undef BSN_KIND
#undef BSN_NAME_PIECE
#undef BSN_POST_ANY
#undef BSN_POST_PIECE
#undef BSN_EACH_FLAGS

/* The same without optimization: opcode and flags are in @what, below the immediate. */
BSN_UNCHANGED int bsn_peer_rdma(BSN_PIECE_PARAMETERS(uint64_t what))
{
	return bsn_try_piece(ep->sq, ep, (uint8_t)what, BSN_PIECE_DATA, remote, true, id, NULL,
			     (uint32_t)(what >> 32), (uint32_t)what);
}

BSN_UNCHANGED int bsn_peer_message(BSN_PIECE_PARAMETERS(uint64_t what))
{
	(void)remote;
	return bsn_try_piece(ep->sq, ep, (uint8_t)what, BSN_PIECE_DATA, NULL, false, id, NULL,
			     (uint32_t)(what >> 32), (uint32_t)what);
}

/* Of one DS of data, with plain flags, where there is room for a block. */
BSN_ALWAYS_INLINE int bsn_post_piece(struct bsn_ep *ep, const struct bsn_kind *kind,
				     struct bsn_ds data, const struct bsn_remote *remote,
				     uint64_t id, uint32_t imm, uint32_t flags)
{
	const uint64_t what = (uint64_t)imm << 32 | BSN_WHAT(kind->opcode, flags & BSN_F_PLAIN, 1u);

	if (__builtin_constant_p(flags) && !(flags & ~(uint32_t)(BSN_F_SIGNALED | BSN_F_RING))) {
		const unsigned i = bsn_piece_index(flags);
		if (kind->piece[0])
			return kind->piece[i](BSN_PIECE_GIVEN(ep, data, remote, ep->sq, id));
		if (kind->piece_imm[0])
			return kind->piece_imm[i](BSN_PIECE_GIVEN(
				ep, data, remote, bsn_ctrl1(ep->sq, flags, imm).raw, id));
	}
	if (kind->piece_any)
		return kind->piece_any(BSN_PIECE_GIVEN(ep, data, remote, what, id));
	return kind->has_remote ? bsn_peer_rdma(BSN_PIECE_GIVEN(ep, data, remote, what, id))
				: bsn_peer_message(BSN_PIECE_GIVEN(ep, data, remote, what, id));
}

/* The flags that most requests of more than one DS have; a function of their own knows them. */
#define BSN_F_RUNG ((uint32_t)(BSN_F_SIGNALED | BSN_F_RING))

BSN_ALWAYS_INLINE bool bsn_is_rung(uint32_t flags)
{
	return __builtin_constant_p(flags) && flags == BSN_F_RUNG;
}

/* Posts several SGEs, of which all was checked, in @slot. */
BSN_ALWAYS_INLINE int bsn_put_peer_sges(struct bsn_sq *sq, uint8_t *slot,
					const struct bsn_peer *peer, unsigned prefix_ds,
					unsigned opcode, const struct bsn_sge *sge, unsigned count,
					const struct bsn_remote *remote, uint32_t imm, uint64_t id,
					uint32_t flags)
{
	const unsigned n = 2 + prefix_ds, ds = n + count;
	const bool are_many = count > 2;
	struct bsn_regs r;

	r.moves_later = true;
	bsn_begin_peer(&r, sq, peer, prefix_ds, NULL, imm, id, flags);
	r.ds[n - 1] = bsn_ds_in(bsn_ds_raddr(remote), true);
	r.ds[n] = bsn_ds_in(bsn_ds_plain(&sge[0]), are_many);
	if (are_many && prefix_ds > BSN_COMPACT_DS)
		r.ds[n + 1] = bsn_ds_in(bsn_ds_again(&sge[1]), are_many);
	else
		r.ds[n + 1] = bsn_ds_in(bsn_ds_plain(&sge[1]), are_many);
	if (count > 2)
		r.ds[n + 2] = bsn_ds_in(bsn_ds_again(&sge[2]), are_many);
	if (count > 3)
		r.ds[n + 3] = bsn_ds_in(bsn_ds_again(&sge[3]), are_many);
	return bsn_end_peer(sq, slot, &r, opcode, ds, id, flags);
}

/* Whether a queue of many peers takes RDMA requests of @count SGEs, all of them or those that the compiler knows. */
BSN_ALWAYS_INLINE bool bsn_peers_take(const struct bsn_sq *sq, unsigned opcode, unsigned count)
{
	if (__builtin_constant_p(opcode) && opcode == BSN_OPCODE_RDMA_READ)
		return BSN_LIKELY(count <= sq->read_sge);
	if (__builtin_constant_p(opcode) && opcode == BSN_OPCODE_RDMA_WRITE)
		return BSN_LIKELY(count <= sq->write_sge);
	return BSN_LIKELY(count <= sq->max_sge) && BSN_LIKELY(sq->ops >> opcode & 1);
}

/*
 * Several SGEs, a constant, in memory, to a peer with such a vector. @slot: the queue's; there is room for two blocks, as
 * many as most of these requests take.
 */
BSN_ALWAYS_INLINE int bsn_try_rdma(struct bsn_ep *ep, struct bsn_sq *sq, uint8_t *slot,
				   unsigned prefix_ds, unsigned opcode, const struct bsn_sge *sge,
				   unsigned count, const struct bsn_remote *remote, uint32_t imm,
				   uint64_t id, uint32_t flags)
{
	if (!bsn_are_plain(sge, count) || !bsn_peers_take(sq, opcode, count))
		return BSN_NOT_PLAIN;
	if (2 + prefix_ds + count > 2 * BSN_BB_DS && BSN_UNLIKELY(slot + 3 * BSN_BB_SIZE > sq->peer_limit))
		return BSN_NOT_PLAIN;
	return bsn_put_peer_sges(sq, slot, bsn_peer_of(ep), prefix_ds, opcode, sge, count, remote, imm, id,
				 flags);
}

/*
 * Parameters are in the order of the functions that programs call, which often pass on their own. What is left goes
 * by functions that have the same: a jump. Where there is no room for two blocks, name_full() leaves it to a row of the
 * queue's functions, which looks for some; what else is left is for name_cold().
 */
#define BSN_SGES_PARAMETERS                                                                        \
	struct bsn_ep *ep, const struct bsn_sge *sge, const struct bsn_remote *remote, uint64_t id

/* Each address vector has a function: gcc would save registers for what both need. @attempt: by @prefix_ds. */
#define BSN_BY_VECTOR(name, parameters, arguments, attempt)                                        \
	BSN_UNCHANGED int name##_extended(parameters)                                              \
	{                                                                                          \
		const unsigned prefix_ds = BSN_EXTENDED_DS;                                        \
		const int err = attempt;                                                           \
                                                                                                   \
		return err > 0 ? name##_cold(arguments) : err;                                     \
	}                                                                                          \
	BSN_UNCHANGED int name(parameters)                                                         \
	{                                                                                          \
		const unsigned prefix_ds = BSN_COMPACT_DS;                                         \
		int err;                                                                           \
                                                                                                   \
		if (bsn_peer_of(ep)->prefix_ds != BSN_COMPACT_DS)                                  \
			return name##_extended(arguments);                                         \
		err = attempt;                                                                     \
		return err > 0 ? name##_cold(arguments) : err;                                     \
	}
#define BSN_SGES_COLD(name, parameters, opcode, count, imm, flags)                                 \
	BSN_UNCHANGED int name##_cold(parameters)                                                  \
	{                                                                                          \
		return bsn_sq_post_sgl(ep, BSN_WHAT(opcode, (flags) & BSN_F_PLAIN, count), sge,    \
				       remote, imm, id);                                           \
	}
#define BSN_SGES_RUNG(name, opcode, count)                                                         \
	BSN_UNCHANGED int name##_full(BSN_RUNG_PARAMETERS)                                         \
	{                                                                                          \
		return bsn_post_sgl_cold(ep, opcode, sge, count, remote, 0, id, BSN_F_RUNG);       \
	}                                                                                          \
	BSN_SGES_COLD(name, BSN_RUNG_PARAMETERS, opcode, count, 0, BSN_F_RUNG)                     \
	BSN_BY_VECTOR(name, BSN_RUNG_PARAMETERS, BSN_RUNG_ARGUMENTS,                               \
		      bsn_try_rdma(ep, sq, slot, prefix_ds, opcode, sge, count, remote, 0, id, BSN_F_RUNG))
#define BSN_SGES_ANY(name, count)                                                                  \
	BSN_SGES_COLD(name, BSN_ANY_PARAMETERS, (uint8_t)what, count, (uint32_t)(what >> 32), (uint32_t)what) \
	BSN_BY_VECTOR(name, BSN_ANY_PARAMETERS, BSN_ANY_ARGUMENTS,                                 \
		      bsn_try_rdma(ep, ep->sq, ep->sq->slot, prefix_ds, (uint8_t)what, sge, count, remote, \
				   (uint32_t)(what >> 32), id, (uint32_t)what))
#define BSN_RUNG_PARAMETERS                                                                        \
	BSN_SGES_PARAMETERS, uint8_t *slot __attribute__((unused)), struct bsn_sq *sq __attribute__((unused))
#define BSN_RUNG_ARGUMENTS  ep, sge, remote, id, slot, sq
#define BSN_ANY_PARAMETERS  BSN_SGES_PARAMETERS, uint64_t what
#define BSN_ANY_ARGUMENTS   ep, sge, remote, id, what
#define BSN_POST_RDMA(count)                                                                       \
	BSN_SGES_RUNG(bsn_peer_write_rung##count, BSN_OPCODE_RDMA_WRITE, count)                    \
	BSN_SGES_RUNG(bsn_peer_read_rung##count, BSN_OPCODE_RDMA_READ, count)                      \
	BSN_SGES_ANY(bsn_peer_rdma##count, count)
BSN_POST_RDMA(2)
BSN_POST_RDMA(3)
BSN_POST_RDMA(4)
#undef BSN_POST_RDMA
#undef BSN_ANY_ARGUMENTS
#undef BSN_ANY_PARAMETERS
#undef BSN_RUNG_ARGUMENTS
#undef BSN_RUNG_PARAMETERS
#undef BSN_SGES_ANY
#undef BSN_SGES_RUNG
#undef BSN_SGES_COLD

/* An atomic to a peer with such a vector; there is room for two blocks. */
BSN_ALWAYS_INLINE int bsn_try_atomic(struct bsn_ep *ep, struct bsn_sq *sq, unsigned prefix_ds,
				     unsigned opcode, const struct bsn_sge *sge,
				     const struct bsn_remote *remote, uint64_t swap_add,
				     uint64_t compare, uint64_t id, uint32_t flags)
{
	const unsigned ds = 4 + prefix_ds;
	uint8_t *const slot = sq->slot;
	struct bsn_regs r;

	if (BSN_UNLIKELY(!(sq->ops >> opcode & 1)))
		return BSN_NOT_PLAIN;
	r.moves_later = true;
	bsn_begin_peer(&r, sq, bsn_peer_of(ep), prefix_ds, NULL, 0, id, flags);
	r.ds[ds - 3] = bsn_ds_raddr(remote);
	r.ds[ds - 2] = bsn_ds_in(bsn_ds_operands(swap_add, compare), true);
	r.ds[ds - 1] = bsn_ds_result(sge);
	return bsn_end_peer(sq, slot, &r, opcode, ds, id, flags);
}

/* As those of several SGEs. */
#define BSN_ATOMIC_LEFT(name, opcode, parameters, swap_add, compare, flags)                        \
	BSN_UNCHANGED int name##_full(parameters)                                                  \
	{                                                                                          \
		const uint64_t operand[2] = { swap_add, compare };                                 \
                                                                                                   \
		return ep->sq->posts->atomic(ep, BSN_WHAT(opcode, (flags) & BSN_F_PLAIN, 1u), sge, \
					     remote, operand, id);                                 \
	}                                                                                          \
	BSN_UNCHANGED int name##_cold(parameters)                                                  \
	{                                                                                          \
		const uint64_t operand[2] = { swap_add, compare };                                 \
                                                                                                   \
		return bsn_sq_post_atomic(ep, BSN_WHAT(opcode, (flags) & BSN_F_PLAIN, 1u), sge,    \
					  remote, operand, id);                                    \
	}
#define BSN_ADD_PARAMETERS                                                                         \
	BSN_SGES_PARAMETERS, uint64_t add, struct bsn_sq *sq __attribute__((unused))
#define BSN_ADD_ARGUMENTS  ep, sge, remote, id, add, sq
#define BSN_SWAP_PARAMETERS BSN_SGES_PARAMETERS, uint64_t swap, uint64_t compare
#define BSN_SWAP_ARGUMENTS  ep, sge, remote, id, swap, compare
#define BSN_OPERANDS_PARAMETERS BSN_SGES_PARAMETERS, uint32_t what, bsn_v2 operands
#define BSN_OPERANDS_ARGUMENTS  ep, sge, remote, id, what, operands
BSN_ATOMIC_LEFT(bsn_peer_fetch_add_rung, BSN_OPCODE_ATOMIC_FA, BSN_ADD_PARAMETERS, add, 0, BSN_F_RUNG)
BSN_BY_VECTOR(bsn_peer_fetch_add_rung, BSN_ADD_PARAMETERS, BSN_ADD_ARGUMENTS,
	      bsn_try_atomic(ep, sq, prefix_ds, BSN_OPCODE_ATOMIC_FA, sge, remote, add, 0, id, BSN_F_RUNG))
BSN_ATOMIC_LEFT(bsn_peer_cmp_swap_rung, BSN_OPCODE_ATOMIC_CS, BSN_SWAP_PARAMETERS, swap, compare, BSN_F_RUNG)
BSN_BY_VECTOR(bsn_peer_cmp_swap_rung, BSN_SWAP_PARAMETERS, BSN_SWAP_ARGUMENTS,
	      bsn_try_atomic(ep, ep->sq, prefix_ds, BSN_OPCODE_ATOMIC_CS, sge, remote, swap, compare, id,
			     BSN_F_RUNG))
BSN_ATOMIC_LEFT(bsn_peer_atomic, (uint8_t)what, BSN_OPERANDS_PARAMETERS, operands[0], operands[1], what)
BSN_BY_VECTOR(bsn_peer_atomic, BSN_OPERANDS_PARAMETERS, BSN_OPERANDS_ARGUMENTS,
	      bsn_try_atomic(ep, ep->sq, prefix_ds, (uint8_t)what, sge, remote, operands[0], operands[1], id,
			     what))
#undef BSN_OPERANDS_ARGUMENTS
#undef BSN_OPERANDS_PARAMETERS
#undef BSN_SWAP_ARGUMENTS
#undef BSN_SWAP_PARAMETERS
#undef BSN_ADD_ARGUMENTS
#undef BSN_ADD_PARAMETERS
#undef BSN_ATOMIC_LEFT
#undef BSN_BY_VECTOR
#undef BSN_SGES_PARAMETERS

/* -- datagrams ----------------------------------------------------------------------------------------- */

/*
 * Whether a peer has an extended address vector, if the endpoint is a peer. Of a queue's own endpoint
 * this reads other bytes, but such a queue never has room below its peer_limit.
 */
BSN_ALWAYS_INLINE bool bsn_is_extended(const struct bsn_ep *ep)
{
	return BSN_LIKELY(bsn_peer_of(ep)->prefix_ds == BSN_EXTENDED_DS);
}

/* Where bsn_is_extended() said no: where there is room, the vector is compact. */
BSN_APART int bsn_send_compact_inline(struct bsn_ep *ep, const void *data, size_t length,
				      uint64_t id, uint32_t flags)
{
	struct bsn_sq *sq = ep->sq;
	int err = BSN_NOT_PLAIN;

	if (bsn_fits(sq, sq->peer_limit, BSN_BB_SIZE))
		err = bsn_put_data(sq, &sq->peer_limit, bsn_peer_of(ep), BSN_COMPACT_DS,
				   BSN_OPCODE_SEND, (const uint8_t *)data, length, 0, NULL, false,
				   0, id, flags);
	return err > 0 ? bsn_post_inline_cold(ep, BSN_OPCODE_SEND, data, (uint32_t)length, NULL, 0, id,
					      flags)
		       : err;
}

/* One SGE, to a peer with either vector. */
BSN_ALWAYS_INLINE int bsn_put_message(struct bsn_ep *ep, const struct bsn_sge *sge, uint64_t id,
				      uint32_t flags)
{
	const unsigned opcode = BSN_OPCODE_SEND;
	struct bsn_sq *sq = ep->sq;

	if (bsn_peer_of(ep)->prefix_ds == BSN_EXTENDED_DS) {
		BSN_FORGET(sq->peer_limit); /* as in bsn_may_post() */
		if (bsn_fits(sq, sq->peer_limit, bsn_bytes_of_ds(2 + BSN_EXTENDED_DS)) &&
		    bsn_are_plain(sge, 1))
			return bsn_put_sges(sq, bsn_peer_of(ep), BSN_EXTENDED_DS, opcode, sge, 1,
					    true, NULL, false, 0, id, flags);
	} else if (bsn_fits(sq, sq->peer_limit, 1) && bsn_are_plain(sge, 1)) {
		return bsn_put_sges(sq, bsn_peer_of(ep), BSN_COMPACT_DS, opcode, sge, 1, true, NULL,
				    false, 0, id, flags);
	}
	return bsn_post_sgl_cold(ep, opcode, sge, 1, NULL, 0, id, flags);
}

BSN_ALWAYS_INLINE int bsn_put_extended(struct bsn_ep *ep, const struct bsn_sge *sge, unsigned count,
				       uint64_t id, uint32_t flags)
{
	struct bsn_sq *sq = ep->sq;

	if (!bsn_fits(sq, sq->peer_limit, bsn_bytes_of_ds(1 + BSN_EXTENDED_DS + count)) ||
	    !bsn_is_extended(ep) || !bsn_are_plain(sge, count) ||
	    BSN_UNLIKELY(count > sq->max_sge))
		return bsn_post_sgl_cold(ep, BSN_OPCODE_SEND, sge, count, NULL, 0, id, flags);
	return bsn_put_sges(sq, bsn_peer_of(ep), BSN_EXTENDED_DS, BSN_OPCODE_SEND, sge, count, true,
			    NULL, false, 0, id, flags);
}

BSN_APART int bsn_send_extended1(struct bsn_ep *ep, const struct bsn_sge *sge, uint64_t id,
				 uint32_t flags)
{
	return bsn_put_message(ep, sge, id, flags);
}

BSN_APART int bsn_send_extended2(struct bsn_ep *ep, const struct bsn_sge *sge, uint64_t id,
				 uint32_t flags)
{
	return bsn_put_extended(ep, sge, 2, id, flags);
}

/* Bytes of inline data that end in the second block, so that the compiler knows the number of blocks. */
#define BSN_EXTENDED_INLINE                                                                        \
	((2 * BSN_BB_DS - 1 - BSN_EXTENDED_DS) * BSN_DS_SIZE - BSN_INLINE_HDR_SIZE)

/* Of any length. */
BSN_APART int bsn_send_extended_any(struct bsn_ep *ep, const void *data, size_t length, uint64_t id,
				    uint32_t flags)
{
	struct bsn_sq *sq = ep->sq;
	int err = BSN_NOT_PLAIN;

	if (bsn_is_extended(ep)) /* whether it fits is looked at below */
		err = bsn_put_data(sq, &sq->peer_limit, (const struct bsn_peer *)(const void *)ep,
				   BSN_EXTENDED_DS, BSN_OPCODE_SEND, (const uint8_t *)data, length, 0,
				   NULL, false, 0, id, flags);
	return err > 0 ? bsn_post_inline_cold(ep, BSN_OPCODE_SEND, data, (uint32_t)length, NULL, 0, id,
					      flags)
		       : err;
}

/* The same of BSN_EXTENDED_INLINE at the most. */
BSN_APART int bsn_send_extended_inline(struct bsn_ep *ep, const void *data, size_t length, uint64_t id,
				       uint32_t flags)
{
	struct bsn_sq *sq = ep->sq;
	int err = BSN_NOT_PLAIN;

	if (!bsn_is_extended(ep)) /* what fits is looked at below */
		return bsn_send_compact_inline(ep, data, length, id, flags);
	if (length > BSN_EXTENDED_INLINE)
		__builtin_unreachable();
	if (BSN_LIKELY(length >= BSN_LITTLE_MIN) && bsn_fits(sq, sq->peer_limit, 2 * BSN_BB_SIZE))
		err = bsn_put_data(sq, &sq->peer_limit, (const struct bsn_peer *)(const void *)ep,
				   BSN_EXTENDED_DS, BSN_OPCODE_SEND, (const uint8_t *)data, length,
				   2 * BSN_BB_SIZE, NULL, false, 0, id, flags);
	return err > 0 ? bsn_send_extended_any(ep, data, length, id, flags) : err;
}

BSN_HEADER_END

#endif
