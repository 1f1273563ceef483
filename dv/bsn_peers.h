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
#ifdef __OPTIMIZE__
#define BSN_BUILDS 1
#define BSN_APART  static __attribute__((noinline, unused))

/* The same, with all of its parameters where they are: gcc would leave out one that it knows, and move others. */
#ifdef __clang__
#define BSN_UNCHANGED BSN_APART
#else
#define BSN_UNCHANGED static __attribute__((noinline, noclone, unused))
#endif
#else
/*
 * Nothing folds then, and all of this would take seconds to compile: the library's functions build all requests, which is
 * always compiled with optimization. What nobody calls is emitted, unless it is inline.
 */
#define BSN_BUILDS    0
#define BSN_APART     static inline
#define BSN_UNCHANGED static inline
#endif

/* The flags of most requests; functions of their own know them. */
#define BSN_F_RUNG ((uint32_t)(BSN_F_SIGNALED | BSN_F_RING))

BSN_ALWAYS_INLINE bool bsn_is_rung(uint32_t flags)
{
	return __builtin_constant_p(flags) && flags == BSN_F_RUNG;
}

/*
 * Requests with one DS of data. It is in registers, so that no SGE has to be in memory. Each opcode and
 * each set of common flags has a function. A function that leaves a request to another passes it the same
 * parameters, so that the call is a jump. A peer of DC has one of these vectors, a peer of XRC the first,
 * a peer of UD the second.
 */
#define BSN_COMPACT_DS  1
#define BSN_EXTENDED_DS 3

/*
 * What a parameter of these functions is, the same register for each: the queue, or where the WQE begins, which the
 * caller has loaded; where opcode and flags are not known, these and the immediate above them. BSN_MORE_IMM: as
 * BSN_MORE_LOADED, and a vector has the immediate, as in word 1 of the control segment.
 */
enum bsn_more { BSN_MORE_LOADED, BSN_MORE_IMM, BSN_MORE_WHAT };

BSN_ALWAYS_INLINE struct bsn_sq *bsn_sq_in(enum bsn_more kind, uint64_t more, const struct bsn_ep *ep)
{
	return kind == BSN_MORE_WHAT ? ep->sq : (struct bsn_sq *)(uintptr_t)more;
}

BSN_ALWAYS_INLINE uint8_t *bsn_slot_in(enum bsn_more kind, uint64_t more, const struct bsn_sq *sq)
{
	return kind == BSN_MORE_WHAT ? sq->slot : (uint8_t *)(uintptr_t)more;
}

/* Such a vector where there is no immediate: whatever its register has. */
BSN_ALWAYS_INLINE bsn_v2 bsn_no_imm(void)
{
	bsn_v2 any;

	BSN_ANY_VECTOR(any);
	return any;
}

BSN_ALWAYS_INLINE bsn_v2 bsn_imm_bits(bool has_imm, uint32_t imm)
{
	const bsn_v4 words = { 0, bsn_to_be32(imm).raw, 0, 0 };

	return has_imm ? (bsn_v2)words : bsn_no_imm();
}

/* Adds it to the other half of that word, of which a register of vectors is enough. */
BSN_ALWAYS_INLINE uint64_t bsn_with_imm(uint32_t bits, bsn_v2 imm)
{
	const bsn_v4 half = { bits, 0, 0, 0 };
	uint64_t word = ((bsn_v2)half ^ imm)[0];

	BSN_KEEP_IN_VECTOR(word);
	return word;
}

BSN_ALWAYS_INLINE uint32_t bsn_imm_in(enum bsn_more kind, uint64_t more, bsn_v2 imm)
{
	const struct bsn_be64 ctrl1 = { imm[0] };

	if (kind == BSN_MORE_IMM)
		return bsn_imm_of(ctrl1);
	return kind == BSN_MORE_WHAT ? (uint32_t)(more >> 32) : 0;
}

/*
 * What is posted, as parameters, all in registers, a DS as a vector or as two words; gcc 12 would pass a structure of
 * two words through memory. They are in the order of bsn_sq_post_piece(), and where most callers have them already.
 */
#if BSN_HAS_SHUFFLE
#define BSN_PIECE_PARAMETERS                                                                       \
	struct bsn_ep *ep, bsn_v2 data, const struct bsn_remote *remote, uint64_t more, uint64_t id, bsn_v2 imm
#define BSN_PIECE_DATA                            bsn_ds_of_vector(data)
#define BSN_PIECE_GIVEN(ep, ds, remote, more, id, imm) ep, bsn_vector_of(ds), remote, more, id, imm
#else
#define BSN_PIECE_PARAMETERS                                                                       \
	struct bsn_ep *ep, uint64_t data1, const struct bsn_remote *remote, uint64_t data0,        \
		uint64_t more, uint64_t id, bsn_v2 imm
#define BSN_PIECE_DATA                            bsn_ds_of_words((struct bsn_be64){ data0 }, (struct bsn_be64){ data1 })
#define BSN_PIECE_GIVEN(ep, ds, remote, more, id, imm) ep, (ds).w1.raw, remote, (ds).w0.raw, more, id, imm
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

/*
 * Whether the queue takes one, too, whose address vector has this length. @ds: units besides it. Room for one block was
 * found before.
 */
BSN_ALWAYS_INLINE bool bsn_may_post(struct bsn_sq *sq, unsigned prefix_ds, unsigned ds, unsigned opcode)
{
	const size_t bytes = bsn_bytes_of_ds(prefix_ds + ds);

	if (prefix_ds == BSN_EXTENDED_DS)
		BSN_FORGET(sq->peer_limit); /* else it were loaded before either vector is looked at */
	return (bytes == BSN_BB_SIZE || bsn_fits(sq, sq->peer_limit, bytes)) &&
	       bsn_has_opcode(sq, prefix_ds, opcode);
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
 * last, by bsn_end_peer(), and what is kept of it after that.
 */
BSN_ALWAYS_INLINE void bsn_begin_peer(struct bsn_regs *r, const struct bsn_sq *sq, const struct bsn_peer *peer,
				      unsigned prefix_ds, enum bsn_more kind, uint64_t more, bsn_v2 imm, uint64_t id,
				      uint32_t flags)
{
	const struct bsn_be64 none = { 0 };

	bsn_keep_peer_id_later(r, peer, id);
	bsn_begin_of(r, peer, prefix_ds, none,
		     bsn_ctrl1(sq, true, flags, kind == BSN_MORE_IMM ? 0 : bsn_imm_in(kind, more, imm)));
	if (kind == BSN_MORE_IMM && bsn_is_appended(flags)) { /* the word is not loaded back soon: two stores may overlap */
		r->half = (uint32_t)r->ds[0].w1.raw;
		r->halves_later = true;
		BSN_HIDE_V2(imm);
		r->ds[0].w1.raw = bsn_with_imm(0, imm);
	} else if (kind == BSN_MORE_IMM) {
		r->ds[0].w1.raw = bsn_with_imm((uint32_t)r->ds[0].w1.raw, imm);
	}
}

/* Its end; all of it is in registers, or @known DS, which are not rung. */
BSN_ALWAYS_INLINE int bsn_end_peer(struct bsn_sq *sq, uint8_t *wqe, struct bsn_regs *r, unsigned opcode,
				   unsigned ds, unsigned known, uint64_t id, uint32_t flags)
{
	r->ds[0].w0 = bsn_ctrl0(sq, opcode, ds);
	return bsn_end(sq, wqe, NULL, true, r, known, BSN_REST_NONE, ds, BSN_NEAR_DS, bsn_bytes_of_ds(ds), id, flags);
}

/* Posts one DS of data, of which all was checked. */
BSN_ALWAYS_INLINE int bsn_put_piece(struct bsn_sq *sq, struct bsn_ep *ep, unsigned prefix_ds,
				    unsigned opcode, struct bsn_ds data,
				    const struct bsn_remote *remote, bool has_remote, uint64_t id,
				    enum bsn_more kind, uint64_t more, bsn_v2 imm, uint32_t flags)
{
	const unsigned ds = 2 + prefix_ds + has_remote;
	struct bsn_regs r;
	uint8_t *const wqe = bsn_sq_take_known(sq, &r, bsn_bytes_of_ds(ds));

	bsn_begin_peer(&r, sq, bsn_peer_of(ep), prefix_ds, kind, more, imm, id, flags);
	if (has_remote) /* flags that are not known take a register, too */
		r.ds[1 + prefix_ds] = bsn_ds_in(bsn_ds_raddr(remote), kind == BSN_MORE_WHAT);
	r.ds[ds - 1] = data;
	return bsn_end_peer(sq, wqe, &r, opcode, ds, ds, id, flags);
}

/* There is room for a block. */
BSN_ALWAYS_INLINE int bsn_try_piece(struct bsn_sq *sq, struct bsn_ep *ep, unsigned opcode,
				    struct bsn_ds data, const struct bsn_remote *remote,
				    bool has_remote, uint64_t id, enum bsn_more kind, uint64_t more,
				    bsn_v2 imm, uint32_t flags)
{
	if (bsn_peer_of(ep)->prefix_ds == BSN_COMPACT_DS) {
		if (bsn_may_post(sq, BSN_COMPACT_DS, 2 + has_remote, opcode))
			return bsn_put_piece(sq, ep, BSN_COMPACT_DS, opcode, data, remote,
					     has_remote, id, kind, more, imm, flags);
	} else if (bsn_may_post(sq, BSN_EXTENDED_DS, 2 + has_remote, opcode)) {
		return bsn_put_piece(sq, ep, BSN_EXTENDED_DS, opcode, data, remote, has_remote, id,
				     kind, more, imm, flags);
	}
	return bsn_piece_cold(ep, opcode, data, has_remote ? remote : NULL, id, bsn_imm_in(kind, more, imm), flags);
}

#define BSN_PIECE(name, opcode, has_remote, kind, flags)                                           \
	BSN_UNCHANGED int name(BSN_PIECE_PARAMETERS)                                               \
	{                                                                                          \
		return bsn_try_piece(bsn_sq_in(kind, more, ep), ep, opcode, BSN_PIECE_DATA, remote, \
				     has_remote, id, kind, more, imm, flags);                      \
	}
/* Of each common set of flags; and of any. */
#define BSN_PIECES(name, opcode, has_remote, kind)                                                 \
	BSN_PIECE(name##_quietly, opcode, has_remote, kind, 0u)                                    \
	BSN_PIECE(name##_signaled, opcode, has_remote, kind, (uint32_t)BSN_F_SIGNALED)             \
	BSN_PIECE(name##_rung_quietly, opcode, has_remote, kind, (uint32_t)BSN_F_RING)             \
	BSN_PIECE(name##_rung, opcode, has_remote, kind, BSN_F_RUNG)                               \
	BSN_PIECE(name##_any, opcode, has_remote, BSN_MORE_WHAT, (uint32_t)more)
BSN_PIECES(bsn_peer_write, BSN_OPCODE_RDMA_WRITE, true, BSN_MORE_LOADED)
BSN_PIECES(bsn_peer_write_imm, BSN_OPCODE_RDMA_WRITE_IMM, true, BSN_MORE_IMM)
BSN_PIECES(bsn_peer_read, BSN_OPCODE_RDMA_READ, true, BSN_MORE_LOADED)
BSN_PIECES(bsn_peer_send, BSN_OPCODE_SEND, false, BSN_MORE_LOADED)
BSN_PIECES(bsn_peer_send_imm, BSN_OPCODE_SEND_IMM, false, BSN_MORE_IMM)
BSN_PIECES(bsn_peer_send_inval, BSN_OPCODE_SEND_INVAL, false, BSN_MORE_IMM)
#undef BSN_PIECES
#undef BSN_PIECE

/* As bsn_are_plain(). No length is kept in a register: each is loaded again, as it is needed. */
BSN_ALWAYS_INLINE bool bsn_are_plain_by_far(const struct bsn_sge *sge, unsigned count)
{
	int32_t none = 0;

	BSN_HIDE(none); /* gcc would load what it compares with 0 */
	BSN_UNROLL for (unsigned i = 0; i < count; i++)
		if (BSN_UNLIKELY((int32_t)sge[i].length <= none))
			return false;
	return true;
}

/* Posts several SGEs, of which all was checked, in @slot. */
BSN_ALWAYS_INLINE int bsn_put_peer_sges(struct bsn_sq *sq, uint8_t *slot,
					const struct bsn_peer *peer, unsigned prefix_ds,
					unsigned opcode, bool has_remote, const struct bsn_sge *sge,
					unsigned count, const struct bsn_remote *remote,
					enum bsn_more kind, uint64_t more, bsn_v2 imm,
					uint64_t id, uint32_t flags)
{
	const unsigned n = 1 + prefix_ds + has_remote, ds = n + count;
	struct bsn_regs r;

	r.moves_later = true;
	bsn_begin_peer(&r, sq, peer, prefix_ds, kind, more, imm, id, flags);
	if (has_remote)
		r.ds[n - 1] = bsn_ds_in(bsn_ds_raddr(remote), true);
	if (count > 2) {
		r.ds[n] = bsn_ds_again(&sge[0]);
		r.ds[n + 1] = bsn_ds_again(&sge[1]);
	} else {
		BSN_FORGET(*(uint32_t *)(uintptr_t)&sge[0].length);
		r.ds[n] = bsn_ds_plain(&sge[0]);
		BSN_FORGET(*(uint32_t *)(uintptr_t)&sge[1].length);
		r.ds[n + 1] = bsn_ds_plain(&sge[1]);
		BSN_HIDE(r.ds[n].w0.raw);
	}
	if (count > 2)
		r.ds[n + 2] = bsn_ds_again(&sge[2]);
	if (count > 3)
		r.ds[n + 3] = bsn_ds_again(&sge[3]);
	return bsn_end_peer(sq, slot, &r, opcode, ds, ds, id, flags);
}

/* Whether a queue of many peers takes requests of @count SGEs, all of them or those that the compiler knows. */
BSN_ALWAYS_INLINE bool bsn_peers_take(const struct bsn_sq *sq, unsigned opcode, unsigned count)
{
	if (__builtin_constant_p(opcode) && opcode == BSN_OPCODE_RDMA_READ)
		return BSN_LIKELY(count <= sq->read_sge);
	if (__builtin_constant_p(opcode) && opcode == BSN_OPCODE_RDMA_WRITE)
		return BSN_LIKELY(count <= sq->write_sge);
	return BSN_LIKELY(count <= sq->max_sge) &&
	       (bsn_is_message(opcode) || BSN_LIKELY(sq->ops >> opcode & 1));
}

/*
 * Several SGEs, a constant, in memory, to a peer with such a vector. There is room for two blocks, as many as most of
 * these requests take.
 */
BSN_ALWAYS_INLINE int bsn_try_several(struct bsn_ep *ep, struct bsn_sq *sq, unsigned prefix_ds,
				      unsigned opcode, bool has_remote, const struct bsn_sge *sge,
				      unsigned count, const struct bsn_remote *remote,
				      enum bsn_more kind, uint64_t more, bsn_v2 imm, uint64_t id, uint32_t flags)
{
	uint8_t *const slot = bsn_slot_in(kind, more, sq);

	if (!bsn_are_plain_by_far(sge, count) || !bsn_peers_take(sq, opcode, count))
		return BSN_NOT_PLAIN;
	if (1 + prefix_ds + has_remote + count > 2 * BSN_BB_DS &&
	    !bsn_fits(sq, sq->peer_limit, 3 * BSN_BB_SIZE))
		return BSN_NOT_PLAIN;
	return bsn_put_peer_sges(sq, slot, bsn_peer_of(ep), prefix_ds, opcode, has_remote, sge, count,
				 remote, kind, more, imm, id, flags);
}

/*
 * A request of more than a DS has functions for the flags of most of them, and for none, which appends.
 *
 * Parameters are in the order of the functions that programs call, which often pass on their own. What is left goes
 * by functions that have the same: a jump. Where there is no room for two blocks, name_full() leaves it to a row of the
 * queue's functions, which looks for some; what else is left is for name_cold().
 */
#define BSN_SGES_PARAMETERS                                                                     \
	struct bsn_ep *ep, const struct bsn_sge *sge, const struct bsn_remote *remote, uint64_t id, \
		uint64_t more __attribute__((unused)), struct bsn_sq *sq __attribute__((unused)),       \
		bsn_v2 imm __attribute__((unused))
#define BSN_SGES_ARGUMENTS ep, sge, remote, id, more, sq, imm

/*
 * Each address vector has a function: gcc would save registers for what both need. @attempt: by @prefix_ds. The
 * parameters and the arguments of these functions are with_PARAMETERS and with_ARGUMENTS.
 */
#define BSN_BY_VECTOR(name, with, attempt)                                                         \
	BSN_UNCHANGED int name##_extended(with##_PARAMETERS)                                       \
	{                                                                                          \
		const unsigned prefix_ds = BSN_EXTENDED_DS;                                        \
		const int err = attempt;                                                           \
                                                                                                   \
		return err > 0 ? name##_cold(with##_ARGUMENTS) : err;                              \
	}                                                                                          \
	BSN_UNCHANGED int name(with##_PARAMETERS)                                                  \
	{                                                                                          \
		const unsigned prefix_ds = BSN_COMPACT_DS;                                         \
		int err;                                                                           \
                                                                                                   \
		if (bsn_peer_of(ep)->prefix_ds != BSN_COMPACT_DS)                                  \
			return name##_extended(with##_ARGUMENTS);                                  \
		err = attempt;                                                                     \
		return err > 0 ? name##_cold(with##_ARGUMENTS) : err;                              \
	}
#define BSN_SEVERAL(name, count, opcode, has_remote, kind, flags)                                  \
	BSN_UNCHANGED int name##_full(BSN_SGES_PARAMETERS)                                      \
	{                                                                                          \
		return bsn_post_sgl_cold(ep, opcode, sge, count, (has_remote) ? remote : NULL,     \
					 bsn_imm_in(kind, more, imm), id, (flags) & BSN_F_PLAIN);       \
	}                                                                                          \
	BSN_UNCHANGED int name##_cold(BSN_SGES_PARAMETERS)                                      \
	{                                                                                          \
		return bsn_sq_post_sgl(ep, BSN_WHAT(opcode, (flags) & BSN_F_PLAIN, count), sge,    \
				       (has_remote) ? remote : NULL, bsn_imm_in(kind, more, imm), id);  \
	}                                                                                          \
	BSN_BY_VECTOR(name, BSN_SGES,                      \
		      bsn_try_several(ep, sq, prefix_ds, opcode, has_remote, sge, count, remote, kind, more, imm, id, \
				      flags))
#define BSN_EACH_COUNT(X, name, ...)                                                               \
	X(name##2, 2u, __VA_ARGS__)                                                                \
	X(name##3, 3u, __VA_ARGS__)                                                                \
	X(name##4, 4u, __VA_ARGS__)
#define BSN_SEVERALS(name, opcode, has_remote, kind)                                               \
	BSN_EACH_COUNT(BSN_SEVERAL, name##_quietly, opcode, has_remote, kind, 0u)                  \
	BSN_EACH_COUNT(BSN_SEVERAL, name##_rung, opcode, has_remote, kind, BSN_F_RUNG)
BSN_SEVERALS(bsn_peer_write, BSN_OPCODE_RDMA_WRITE, true, BSN_MORE_LOADED)
BSN_SEVERALS(bsn_peer_write_imm, BSN_OPCODE_RDMA_WRITE_IMM, true, BSN_MORE_IMM)
BSN_SEVERALS(bsn_peer_read, BSN_OPCODE_RDMA_READ, true, BSN_MORE_LOADED)
BSN_SEVERALS(bsn_peer_send, BSN_OPCODE_SEND, false, BSN_MORE_LOADED)
BSN_SEVERALS(bsn_peer_send_imm, BSN_OPCODE_SEND_IMM, false, BSN_MORE_IMM)
BSN_SEVERALS(bsn_peer_send_inval, BSN_OPCODE_SEND_INVAL, false, BSN_MORE_IMM)
BSN_EACH_COUNT(BSN_SEVERAL, bsn_peer_rdma, (uint8_t)more, true, BSN_MORE_WHAT, (uint32_t)more)
BSN_EACH_COUNT(BSN_SEVERAL, bsn_peer_message, (uint8_t)more, false, BSN_MORE_WHAT, (uint32_t)more)
#undef BSN_SEVERALS
#undef BSN_EACH_COUNT
#undef BSN_SEVERAL
#undef BSN_SGES_ARGUMENTS

typedef int bsn_piece_post(BSN_PIECE_PARAMETERS);
typedef int bsn_several_post(BSN_SGES_PARAMETERS);

/* The indices of the functions of a kind, by flags; and of those for several SGEs and a number of them. */
BSN_ALWAYS_INLINE unsigned bsn_piece_index(uint32_t flags)
{
	return (flags & BSN_F_SIGNALED ? 1 : 0) | (flags & BSN_F_RING ? 2 : 0);
}

enum bsn_usual { BSN_QUIETLY, BSN_RUNG, BSN_USUAL };

/*
 * What the inline code knows of an opcode; the compiler replaces each field by its value. @needs: bits of
 * bsn_sq.can. A program contains the functions for the opcodes that it posts. bsn_kind_write has those for one SGE,
 * bsn_list_write those for several, too: so a file that posts no lists does not take the time to compile them.
 */
struct bsn_kind {
	unsigned opcode, needs;
	bool has_remote, has_imm;
	bsn_piece_post *piece[4], *piece_any;
	bsn_several_post *several[BSN_USUAL][3], *several_full[BSN_USUAL][3], *several_any[3];
};

#if BSN_BUILDS
#define BSN_BUILT(...) __VA_ARGS__
#else
#define BSN_BUILT(...) BSN_NO_PIECES, BSN_NO_LISTS
#endif
#define BSN_NO_PIECES { NULL, NULL, NULL, NULL }, NULL
#define BSN_NO_LISTS  { { NULL } }, { { NULL } }, { NULL }
#define BSN_THREE(name, after) { name##2##after, name##3##after, name##4##after }
#define BSN_PIECES(name)                                                                           \
	{ bsn_peer_##name##_quietly, bsn_peer_##name##_signaled, bsn_peer_##name##_rung_quietly,   \
	  bsn_peer_##name##_rung },                                                                \
		bsn_peer_##name##_any
#define BSN_LISTS(name, any)                                                                       \
	{ BSN_THREE(bsn_peer_##name##_quietly, ), BSN_THREE(bsn_peer_##name##_rung, ) },           \
		{ BSN_THREE(bsn_peer_##name##_quietly, _full), BSN_THREE(bsn_peer_##name##_rung, _full) }, \
		BSN_THREE(any, )
#define BSN_KIND(name, opcode, needs, has_remote, has_imm, any)                                    \
	static const struct bsn_kind bsn_kind_##name __attribute__((unused)) = {                   \
		opcode, needs, has_remote, has_imm, BSN_BUILT(BSN_PIECES(name), BSN_NO_LISTS)      \
	};                                                                                         \
	static const struct bsn_kind bsn_list_##name __attribute__((unused)) = {                   \
		opcode, needs, has_remote, has_imm, BSN_BUILT(BSN_PIECES(name), BSN_LISTS(name, any)) \
	};
BSN_KIND(write, BSN_OPCODE_RDMA_WRITE, 0, true, false, bsn_peer_rdma)
BSN_KIND(write_imm, BSN_OPCODE_RDMA_WRITE_IMM, 0, true, true, bsn_peer_rdma)
BSN_KIND(read, BSN_OPCODE_RDMA_READ, BSN_CAN_READ, true, false, bsn_peer_rdma)
BSN_KIND(send, BSN_OPCODE_SEND, 0, false, false, bsn_peer_message)
BSN_KIND(send_imm, BSN_OPCODE_SEND_IMM, 0, false, true, bsn_peer_message)
BSN_KIND(send_inval, BSN_OPCODE_SEND_INVAL, 0, false, true, bsn_peer_message)
#undef BSN_KIND
#undef BSN_LISTS
#undef BSN_PIECES
#undef BSN_THREE
#undef BSN_NO_LISTS
#undef BSN_NO_PIECES
#undef BSN_BUILT

/* As a parameter, the third one but of pieces that are vectors; of a message, which has none, whatever its register has. */
BSN_ALWAYS_INLINE const struct bsn_remote *bsn_remote_of(const struct bsn_kind *kind, const struct bsn_remote *remote)
{
	const struct bsn_remote *none;

	if (BSN_HAS_SHUFFLE)
		BSN_ANY(none);
	else
		BSN_ANY_THIRD(none);
	return kind->has_remote ? remote : none;
}

/* Of one DS of data, with plain flags, where there is room for a block. */
BSN_ALWAYS_INLINE int bsn_post_piece(struct bsn_ep *ep, const struct bsn_kind *kind,
				     struct bsn_ds data, const struct bsn_remote *remote,
				     uint64_t id, uint32_t imm, uint32_t flags)
{
	const uint64_t what = (uint64_t)imm << 32 | BSN_WHAT(kind->opcode, flags & BSN_F_PLAIN, 1u);

	remote = bsn_remote_of(kind, remote);
	if (kind->has_remote && !BSN_HAS_SHUFFLE)
		BSN_KEEP_IN_THIRD(remote);
	if (__builtin_constant_p(flags) && !(flags & ~(uint32_t)(BSN_F_SIGNALED | BSN_F_RING)))
		return kind->piece[bsn_piece_index(flags)](BSN_PIECE_GIVEN(
			ep, data, remote, (uintptr_t)ep->sq, id, bsn_imm_bits(kind->has_imm, imm)));
	if (BSN_LIKELY(flags == BSN_F_RUNG))
		return kind->piece[bsn_piece_index(BSN_F_RUNG)](BSN_PIECE_GIVEN(
			ep, data, remote, (uintptr_t)ep->sq, id, bsn_imm_bits(kind->has_imm, imm)));
	return kind->piece_any(BSN_PIECE_GIVEN(ep, data, remote, what, id, bsn_no_imm()));
}

/* Of 2 to BSN_MAX_PLAIN_SGE SGEs, a constant, with such flags. */
BSN_ALWAYS_INLINE int bsn_post_usual(struct bsn_ep *ep, const struct bsn_kind *kind, enum bsn_usual usual,
				     const struct bsn_sge *sge, unsigned count,
				     const struct bsn_remote *remote, uint64_t id, uint32_t imm)
{
	struct bsn_sq *const sq = ep->sq;
	const uint64_t slot = (uintptr_t)sq->slot;
	const bsn_v2 bits = bsn_imm_bits(kind->has_imm, imm);

	remote = bsn_remote_of(kind, remote);
	if (bsn_fits(sq, sq->peer_limit, 2 * BSN_BB_SIZE))
		return kind->several[usual][count - 2](ep, sge, remote, id, slot, sq, bits);
	return kind->several_full[usual][count - 2](ep, sge, remote, id, slot, sq, bits);
}

/* The same with any plain flags. */
BSN_ALWAYS_INLINE int bsn_post_several(struct bsn_ep *ep, const struct bsn_kind *kind, const struct bsn_sge *sge,
				       unsigned count, const struct bsn_remote *remote, uint64_t id,
				       uint32_t imm, uint32_t flags)
{
	struct bsn_sq *const sq = ep->sq;

	if (flags == BSN_F_RUNG)
		return bsn_post_usual(ep, kind, BSN_RUNG, sge, count, remote, id, imm);
	if (!flags)
		return bsn_post_usual(ep, kind, BSN_QUIETLY, sge, count, remote, id, imm);
	if (bsn_fits(sq, sq->peer_limit, 2 * BSN_BB_SIZE))
		return kind->several_any[count - 2](
			ep, sge, remote, id,
			(uint64_t)imm << 32 | BSN_WHAT(kind->opcode, flags, 0u), sq, bsn_no_imm());
	return bsn_post_sgl_cold(ep, kind->opcode, sge, count, remote, imm, id, flags);
}

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
	bsn_begin_peer(&r, sq, bsn_peer_of(ep), prefix_ds, BSN_MORE_LOADED, 0, bsn_no_imm(), id, flags);
	r.ds[ds - 3] = bsn_ds_raddr(remote);
	r.ds[ds - 2] = bsn_ds_in(bsn_ds_operands(swap_add, compare), true);
	r.ds[ds - 1] = bsn_ds_result(sge);
	return bsn_end_peer(sq, slot, &r, opcode, ds, ds, id, flags);
}

/* As those of several SGEs. */
#define BSN_ATOMIC(name, with, opcode, queue, swap_add, compare, flags)                            \
	BSN_UNCHANGED int name##_full(with##_PARAMETERS)                                                \
	{                                                                                          \
		const uint64_t operand[2] = { swap_add, compare };                                 \
                                                                                                   \
		return ep->sq->posts->atomic(ep, BSN_WHAT(opcode, (flags) & BSN_F_PLAIN, 1u), sge, \
					     remote, operand, id);                                 \
	}                                                                                          \
	BSN_UNCHANGED int name##_cold(with##_PARAMETERS)                                                \
	{                                                                                          \
		const uint64_t operand[2] = { swap_add, compare };                                 \
                                                                                                   \
		return bsn_sq_post_atomic(ep, BSN_WHAT(opcode, (flags) & BSN_F_PLAIN, 1u), sge,    \
					  remote, operand, id);                                    \
	}                                                                                          \
	BSN_BY_VECTOR(name, with,                                                                  \
		      bsn_try_atomic(ep, queue, prefix_ds, opcode, sge, remote, swap_add, compare, id, flags))
#define BSN_ATOMIC_PARAMETERS                                                                      \
	struct bsn_ep *ep, const struct bsn_sge *sge, const struct bsn_remote *remote, uint64_t id
#define BSN_ADD_PARAMETERS      BSN_ATOMIC_PARAMETERS, uint64_t add, struct bsn_sq *sq __attribute__((unused))
#define BSN_ADD_ARGUMENTS       ep, sge, remote, id, add, sq
#define BSN_SWAP_PARAMETERS     BSN_ATOMIC_PARAMETERS, uint64_t swap, uint64_t compare
#define BSN_SWAP_ARGUMENTS      ep, sge, remote, id, swap, compare
#define BSN_OPERANDS_PARAMETERS BSN_ATOMIC_PARAMETERS, uint32_t what, bsn_v2 operands
#define BSN_OPERANDS_ARGUMENTS  ep, sge, remote, id, what, operands
#define BSN_ATOMICS(after, flags)                                                                  \
	BSN_ATOMIC(bsn_peer_fetch_add##after, BSN_ADD, BSN_OPCODE_ATOMIC_FA, sq, add, 0, flags)    \
	BSN_ATOMIC(bsn_peer_cmp_swap##after, BSN_SWAP, BSN_OPCODE_ATOMIC_CS, ep->sq, swap, compare, flags)
BSN_ATOMICS(_quietly, 0u)
BSN_ATOMICS(_rung, BSN_F_RUNG)
BSN_ATOMIC(bsn_peer_atomic, BSN_OPERANDS, (uint8_t)what, ep->sq, operands[0], operands[1], what)
#undef BSN_ATOMICS
#undef BSN_OPERANDS_ARGUMENTS
#undef BSN_OPERANDS_PARAMETERS
#undef BSN_SWAP_ARGUMENTS
#undef BSN_SWAP_PARAMETERS
#undef BSN_ADD_ARGUMENTS
#undef BSN_ADD_PARAMETERS
#undef BSN_ATOMIC_PARAMETERS
#undef BSN_ATOMIC

/* With plain flags. @what: these, and the opcode. */
#define BSN_POST_ATOMIC(after)                                                                     \
	(opcode == BSN_OPCODE_ATOMIC_CS                                                            \
		 ? fits ? bsn_peer_cmp_swap##after(ep, sge, remote, id, swap_add, compare)         \
			: bsn_peer_cmp_swap##after##_full(ep, sge, remote, id, swap_add, compare)  \
	 : fits ? bsn_peer_fetch_add##after(ep, sge, remote, id, swap_add, ep->sq)                 \
		: bsn_peer_fetch_add##after##_full(ep, sge, remote, id, swap_add, ep->sq))
BSN_ALWAYS_INLINE int bsn_post_atomic(struct bsn_ep *ep, unsigned opcode, const struct bsn_sge *sge,
				      const struct bsn_remote *remote, uint64_t swap_add,
				      uint64_t compare, uint64_t id, uint32_t flags)
{
	const bool fits = bsn_fits(ep->sq, ep->sq->peer_limit, 2 * BSN_BB_SIZE);
	const uint32_t what = BSN_WHAT(opcode, flags, 1u);
	const bsn_v2 operands = { swap_add, compare };

	if (flags == BSN_F_RUNG)
		return BSN_POST_ATOMIC(_rung);
	if (!flags)
		return BSN_POST_ATOMIC(_quietly);
	return fits ? bsn_peer_atomic(ep, sge, remote, id, what, operands)
		    : bsn_peer_atomic_full(ep, sge, remote, id, what, operands);
}
#undef BSN_POST_ATOMIC

BSN_HEADER_END

#endif
