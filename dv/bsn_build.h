/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Building a WQE: begin (room, control segment), put (the segments), end (book-keeping, publication).
 * All of it is inline. A shape that the compiler knows becomes straight stores from registers: the
 * ring and the BlueFlame buffer get the same registers. A shape that it does not know is put into the
 * ring in a short loop, and copied from there.
 *
 * Nothing is written before the request is sure to be taken. A request that is not plain goes to a cold
 * function of bsn_sq.h, which builds it of the same parts.
 *
 *	bsn_segments.h	what a WQE is made of
 *	bsn_publish.h	its end
 *	bsn_put.h	WQEs whose room was looked at
 *	bsn_peers.h	those to one of many peers
 *	bsn_units.h	inline data to one of many peers
 *	bsn_build.h	which of these a request is
 */
#ifndef BSN_BUILD_H
#define BSN_BUILD_H

#include "bsn_units.h"

BSN_HEADER_BEGIN

/* -- whole requests ------------------------------------------------------------------------------------ */

#define BSN_MAX_PLAIN_SGE 4 /* more take the cold function's loop */

/* Whether a message or WRITE has an immediate, or a key in its place. */
BSN_ALWAYS_INLINE bool bsn_is_imm(unsigned opcode)
{
	return opcode == BSN_OPCODE_RDMA_WRITE_IMM || opcode == BSN_OPCODE_SEND_IMM || opcode == BSN_OPCODE_SEND_INVAL;
}

/*
 * Whether a queue of one peer takes a request of @count SGEs as the inline code builds it. Lists and immediates take the
 * most registers: of these the compiler is not told that a queue of many peers is rare, else it would choose all of them
 * for a queue of one.
 */
BSN_ALWAYS_INLINE bool bsn_takes_sges(struct bsn_sq *sq, unsigned needs, const struct bsn_sge *sge,
				      unsigned count, bool has_remote, bool has_imm)
{
	const size_t bytes = bsn_bytes_of_ds(1 + has_remote + count);

	/* Three questions, not one of a likelihood that is chosen: of these gcc would take the first for all. */
	if (count > 1 && !bsn_fits_evenly(sq, sq->limit, bytes))
		return false;
	if (count == 1 && has_imm && !bsn_fits_often(sq, sq->limit, bytes))
		return false;
	if (count == 1 && !has_imm && !bsn_fits(sq, sq->limit, bytes))
		return false;
	if (!bsn_are_plain(sge, count))
		return false;
	if (count > 1 && needs == BSN_CAN_READ)
		return BSN_LIKELY(count <= sq->read_sge);
	return (count == 1 || BSN_LIKELY(count <= sq->max_sge)) &&
	       (!needs || BSN_LIKELY(sq->can & needs));
}

/* A message (@has_remote: RDMA request) of @count SGEs, a constant, to one peer. */
BSN_ALWAYS_INLINE int bsn_try_sges(struct bsn_ep *ep, unsigned opcode, unsigned needs,
				   const struct bsn_sge *sge, unsigned count,
				   const struct bsn_remote *remote, bool has_remote, uint32_t imm,
				   uint64_t id, uint32_t flags)
{
	struct bsn_sq *sq = ep->sq;

	if (!count || count > BSN_MAX_PLAIN_SGE || (flags & ~BSN_F_PLAIN) ||
	    !bsn_takes_sges(sq, needs, sge, count, has_remote, bsn_is_imm(opcode)))
		return BSN_NOT_PLAIN;
	return bsn_put_sges(sq, NULL, 0, opcode, sge, count, false, remote, has_remote, imm, id, flags);
}

/* What is not for one peer, or has no room. @is_in_memory: the list; otherwise a copy of one SGE is passed on. */
BSN_ALWAYS_INLINE int bsn_build_otherwise(struct bsn_ep *ep, const struct bsn_kind *kind,
					  const struct bsn_sge *sge, unsigned count, bool is_in_memory,
					  const struct bsn_remote *remote, uint32_t imm, uint64_t id,
					  uint32_t flags)
{
	const bool is_plain = !(flags & ~BSN_F_PLAIN);
	struct bsn_ds data;

	if (is_plain && count == 1 && !BSN_IS_NULL(sge) && bsn_has_peer_room(ep->sq) &&
	    bsn_ds_if_plain(&data, sge, kind->has_remote && !kind->has_imm))
		return bsn_post_piece(ep, kind, data, remote, id, imm, flags);
	if (is_plain && count > 1 && count <= BSN_MAX_PLAIN_SGE)
		return bsn_post_several(ep, kind, sge, count, remote, id, imm, flags);
	if (count == 1 && !is_in_memory && !BSN_IS_NULL(sge)) {
		const struct bsn_sge one = *sge;
		return bsn_post_sgl_cold(ep, kind->opcode, &one, 1, remote, imm, id, flags);
	}
	return bsn_post_sgl_cold(ep, kind->opcode, sge, bsn_what_count(count), remote, imm, id, flags);
}

BSN_ALWAYS_INLINE int bsn_build_flags(struct bsn_ep *ep, const struct bsn_kind *kind,
				      const struct bsn_sge *sge, unsigned count,
				      const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				      uint32_t flags)
{
	const int err = bsn_try_sges(ep, kind->opcode, kind->needs, sge, count, remote, kind->has_remote,
				     imm, id, flags);

	if (BSN_LIKELY(err != BSN_NOT_PLAIN))
		return err;
	return bsn_build_otherwise(ep, kind, sge, count, false, remote, imm, id, flags);
}

/*
 * Of one SGE, flags that the compiler does not know: most often they are one of these two, and where it knows that they
 * are one of both, as in a loop that signals its last request, it takes one way for each.
 */
BSN_ALWAYS_INLINE int bsn_build_known(struct bsn_ep *ep, const struct bsn_kind *kind,
				      const struct bsn_sge *sge, unsigned count,
				      const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				      uint32_t flags)
{
	if (!__builtin_constant_p(flags) && count == 1 && BSN_LIKELY(flags == BSN_F_RUNG))
		return bsn_build_flags(ep, kind, sge, 1, remote, imm, id, BSN_F_RUNG);
	if (!__builtin_constant_p(flags) && count == 1 && BSN_LIKELY(!flags))
		return bsn_build_flags(ep, kind, sge, 1, remote, imm, id, 0);
	return bsn_build_flags(ep, kind, sge, count, remote, imm, id, flags);
}

/*
 * Counts that the compiler does not know. Each plain one has two functions of its own, for the flags of most requests
 * and for any plain ones, so that none saves registers for another; all take the same parameters, so that a call is
 * a jump.
 */
BSN_ALWAYS_INLINE int bsn_put_counted(struct bsn_ep *ep, const struct bsn_kind *kind,
				      const struct bsn_sge *sge, unsigned count,
				      const struct bsn_remote *remote, uint64_t id, uint32_t flags)
{
	struct bsn_sq *sq = ep->sq;

	if (!bsn_takes_sges(sq, kind->needs, sge, count, kind->has_remote, false))
		return bsn_build_otherwise(ep, kind, sge, count, true, remote, 0, id, flags & BSN_F_PLAIN);
	return bsn_put_sges(sq, NULL, 0, kind->opcode, sge, count, !bsn_is_rung(flags), remote,
			    kind->has_remote, 0, id, flags);
}

#define BSN_POST_COUNTED(kind, count)                                                              \
	BSN_UNCHANGED int bsn_rung_##kind##count(struct bsn_ep *ep, const struct bsn_sge *sge,     \
						 unsigned known, const struct bsn_remote *remote,  \
						 uint64_t id, uint32_t flags)                      \
	{                                                                                          \
		(void)known, (void)flags;                                                          \
		return bsn_put_counted(ep, &bsn_list_##kind, sge, count, remote, id, BSN_F_RUNG);  \
	}                                                                                          \
	BSN_UNCHANGED int bsn_counted_##kind##count(struct bsn_ep *ep, const struct bsn_sge *sge,  \
						    unsigned known, const struct bsn_remote *remote, \
						    uint64_t id, uint32_t flags)                   \
	{                                                                                          \
		(void)known;                                                                       \
		return bsn_put_counted(ep, &bsn_list_##kind, sge, count, remote, id, flags);       \
	}
#define BSN_POST_COUNT(kind, count)                                                                \
	(BSN_LIKELY(flags == BSN_F_RUNG)                                                           \
		 ? bsn_rung_##kind##count(ep, sge, count, remote, id, flags)                       \
		 : bsn_counted_##kind##count(ep, sge, count, remote, id, flags))
#define BSN_POST_COUNTS(kind)                                                                      \
	BSN_POST_COUNTED(kind, 1)                                                                  \
	BSN_POST_COUNTED(kind, 2)                                                                  \
	BSN_POST_COUNTED(kind, 3)                                                                  \
	BSN_POST_COUNTED(kind, 4)                                                                  \
	BSN_UNCHANGED int bsn_counted_##kind(struct bsn_ep *ep, const struct bsn_sge *sge,         \
					     unsigned count, const struct bsn_remote *remote,      \
					     uint64_t id, uint32_t flags)                          \
	{                                                                                          \
		if (BSN_LIKELY(count == 2))                                                        \
			return BSN_POST_COUNT(kind, 2);                                            \
		switch (count) {                                                                   \
		case 1: return BSN_POST_COUNT(kind, 1);                                            \
		case 3: return BSN_POST_COUNT(kind, 3);                                            \
		case 4: return BSN_POST_COUNT(kind, 4);                                            \
		default: break; /* more than BSN_MAX_PLAIN_SGE, or none */                         \
		}                                                                                  \
		return bsn_post_sgl_cold(ep, bsn_list_##kind.opcode, sge, bsn_what_count(count),   \
					 remote, 0, id, flags & BSN_F_PLAIN);                      \
	}
BSN_POST_COUNTS(write)
BSN_POST_COUNTS(read)
BSN_POST_COUNTS(send)
#undef BSN_POST_COUNTS
#undef BSN_POST_COUNT
#undef BSN_POST_COUNTED

typedef int bsn_counted_post(struct bsn_ep *ep, const struct bsn_sge *sge, unsigned count,
			     const struct bsn_remote *remote, uint64_t id, uint32_t flags);

/* A message or RDMA request of one SGE. */
BSN_ALWAYS_INLINE int bsn_build_one(struct bsn_ep *ep, const struct bsn_kind *kind, const struct bsn_sge *sge,
				    const struct bsn_remote *remote, uint32_t imm, uint64_t id, uint32_t flags)
{
	if (BSN_IS_NULL(ep))
		return bsn_sq_post_sgl(ep, BSN_WHAT(kind->opcode, flags, 1u), sge, remote, imm, id);
	if (!BSN_BUILDS)
		return bsn_post_sgl_cold(ep, kind->opcode, sge, 1, remote, imm, id, flags);
	return bsn_build_known(ep, kind, sge, 1, remote, imm, id, flags);
}

/* Of @count SGEs. @counted: the function for counts that the compiler does not know. */
BSN_ALWAYS_INLINE int bsn_build_list(struct bsn_ep *ep, const struct bsn_kind *list, bsn_counted_post *counted,
				     const struct bsn_sge *sge, unsigned count,
				     const struct bsn_remote *remote, uint64_t id, uint32_t flags)
{
	if (BSN_IS_NULL(ep))
		return bsn_sq_post_sgl(ep, BSN_WHAT(list->opcode, flags, bsn_what_count(count)), sge,
				       remote, 0, id);
	if (!BSN_BUILDS)
		return bsn_post_sgl_cold(ep, list->opcode, sge, bsn_what_count(count), remote, 0, id, flags);
	if (__builtin_constant_p(count))
		return bsn_build_known(ep, list, sge, count, remote, 0, id, flags);
	if (!(flags & ~BSN_F_PLAIN))
		return counted(ep, sge, count, remote, id, flags);
	return bsn_post_sgl_cold(ep, list->opcode, sge, bsn_what_count(count), remote, 0, id, flags);
}

/*
 * A message or WRITE whose bytes are copied into the WQE. Of a message of a length that the compiler does not know, room
 * for a block is looked for first, so that one to many peers does no more of what one to one peer does.
 */
BSN_ALWAYS_INLINE int bsn_build_inline(struct bsn_ep *ep, const struct bsn_kind *kind, const void *data, uint32_t length,
				       const struct bsn_remote *remote, uint32_t imm, uint64_t id, uint32_t flags)
{
	const bool is_known = bsn_is_known_length(length);
	size_t bytes = length;
	struct bsn_sq *sq;
	int err = BSN_NO_ROOM;

	if (!BSN_BUILDS || BSN_IS_NULL(ep) || (flags & ~BSN_F_ALL))
		return bsn_post_inline_cold(ep, kind->opcode, data, length, remote, imm, id, flags);
	sq = ep->sq;
	if (!is_known)
		BSN_HIDE(bytes); /* one register: the compiler would copy what it knows to have 32 bits */
	if (is_known || bsn_fits(sq, sq->inline_limit, BSN_BB_SIZE))
		err = bsn_put_data(sq, &sq->limit, NULL, 0, kind->opcode, (const uint8_t *)data, bytes,
				   is_known ? BSN_KNOWN_NONE : BSN_KNOWN_ALL, remote,
				   kind->has_remote, imm, id, flags);
	if (BSN_LIKELY(err <= 0))
		return err;
	if (err == BSN_NO_ROOM && bsn_is_unit(length) && bsn_has_peer_room(sq))
		return bsn_post_piece(ep, kind, bsn_ds_short((const uint8_t *)data, length), remote, id, imm,
				      flags & BSN_F_PLAIN);
	if (err == BSN_NO_ROOM && bsn_are_units(length) &&
	    bsn_fit_units(sq, kind->has_remote, bsn_units_of(length)))
		return kind->has_remote ? bsn_post_rdma_units(ep, kind->opcode, (const uint8_t *)data, length, remote,
							      imm, id, flags & BSN_F_PLAIN)
					: bsn_post_message_units(ep, kind->opcode, (const uint8_t *)data, length, remote,
								 imm, id, flags & BSN_F_PLAIN);
	if (!is_known)
		BSN_HIDE(bytes); /* so that nothing is prepared for others than one peer */
	if (err == BSN_NO_ROOM && !is_known)
		return bsn_post_data(ep, kind, data, bytes, remote, imm, id, flags & BSN_F_PLAIN);
	return bsn_post_inline_cold(ep, kind->opcode, data, (uint32_t)bytes, remote, imm, id, flags);
}

BSN_ALWAYS_INLINE int bsn_build_atomic(struct bsn_ep *ep, unsigned opcode,
				       const struct bsn_sge *sge, const struct bsn_remote *remote,
				       uint64_t swap_add, uint64_t compare, uint64_t id,
				       uint32_t flags)
{
	struct bsn_sq *sq;
	struct bsn_regs r;
	uint8_t *wqe;

	if (!BSN_BUILDS || BSN_IS_NULL(ep) || (flags & ~BSN_F_PLAIN) || !bsn_sq_has_room(ep->sq, BSN_BB_SIZE) ||
	    BSN_UNLIKELY(!(ep->sq->can & BSN_CAN_ATOMIC))) {
		const uint32_t what = BSN_WHAT(opcode, flags, 1u);
		if (BSN_IS_NULL(ep))
			return bsn_sq_post_atomic(ep, what, sge, remote, NULL, id);
		if (BSN_BUILDS && !(flags & ~BSN_F_PLAIN))
			return bsn_post_atomic(ep, opcode, sge, remote, swap_add, compare, id, flags);
		const uint64_t operand[2] = { swap_add, compare };
		return ep->sq->posts->atomic(ep, what, sge, remote, operand, id);
	}
	sq = ep->sq;
	wqe = bsn_sq_take_known(sq, &r, BSN_BB_SIZE);
	bsn_begin(&r, sq, NULL, 0, opcode, 4, flags, 0);
	r.ds[1] = bsn_ds_raddr(remote);
	r.ds[2] = bsn_ds_operands(swap_add, compare);
	r.ds[3] = bsn_ds_result(sge);
	return bsn_end(sq, wqe, NULL, false, &r, 4, BSN_REST_NONE, 4, BSN_NEAR_DS, BSN_BB_SIZE, id, flags);
}

/* -- prepared requests --------------------------------------------------------------------------------- */

#define BSN_PREPARED_SGE  3 /* as many as one block takes after the control segment */
#define BSN_PREPARED_READ 4

/**
 * struct bsn_prepared - a request whose body was encoded once, by bsn_prepare()
 *
 * Neither the QPN nor the ring index is in it, so it may be posted to any endpoint of the transport
 * it was made for, any number of times. Its fields are the library's.
 */
struct bsn_prepared {
	bsn_v2 body[3];
	struct bsn_be64 ctrl0; /* opcode and length */
	struct bsn_be64 ctrl1; /* immediate; loaded together with @ctrl0, aligned to 16 B */
	uint32_t body_ds;
	uint32_t peer_ds; /* the same for queues of many peers, and BSN_PREPARED_READ more of READs and atomics */
	struct bsn_wr wr; /* for paths that do not take bytes */
	struct bsn_sge sge[BSN_PREPARED_SGE];
};

/* Posts a body of 2 or 3 DS to one of many peers. */
BSN_ALWAYS_INLINE int bsn_put_prepared(struct bsn_ep *ep, unsigned prefix_ds, unsigned body_ds,
				       const struct bsn_prepared *p, uint64_t id, uint32_t flags)
{
	const unsigned ds = 1 + prefix_ds + body_ds;
	struct bsn_sq *sq = ep->sq;
	struct bsn_regs r;
	uint8_t *const wqe = bsn_sq_take_known(sq, &r, bsn_bytes_of_ds(ds));

	bsn_keep_peer_id_later(&r, bsn_peer_of(ep), id);
	bsn_begin_of(&r, bsn_peer_of(ep), prefix_ds,
		     (struct bsn_be64){ bsn_to_be64(sq->ctrl_next | prefix_ds).raw + p->ctrl0.raw },
		     bsn_ctrl1(sq, true, flags,
				       0)); /* a sum in byte 7, the DS, which is the last one */
	r.ds[0].w1.raw |= p->ctrl1.raw;
	r.ds[1 + prefix_ds] = bsn_ds_of_vector(p->body[0]);
	r.ds[2 + prefix_ds] = bsn_ds_of_vector(p->body[1]);
	if (body_ds > 2)
		r.ds[3 + prefix_ds] = bsn_ds_of_vector(p->body[2]);
	return bsn_end(sq, wqe, NULL, true, &r, ds, BSN_REST_NONE, ds, BSN_NEAR_DS,
		       bsn_bytes_of_ds(ds), id, flags);
}

/*
 * To a peer with such a vector, where there is room for a block. Whether the queue takes READs is asked last, so that
 * others cost nothing more.
 */
BSN_ALWAYS_INLINE int bsn_try_prepared(struct bsn_ep *ep, unsigned prefix_ds, const struct bsn_prepared *p,
				       uint64_t id, uint32_t flags)
{
	const struct bsn_sq *const sq = ep->sq;
	const unsigned most = BSN_PREPARED_SGE; /* DS of a body */
	unsigned body_ds;

	if (BSN_LIKELY(p->peer_ds == most - 1))
		goto two;
	BSN_FORGET(*(struct bsn_prepared *)(uintptr_t)p); /* else it were loaded, not compared where it is */
	body_ds = p->peer_ds;
	if (body_ds == most)
		goto three;
	if (sq->ops >> BSN_OPCODE_RDMA_READ & 1 && body_ds == BSN_PREPARED_READ + most - 1)
		goto two;
	if (sq->ops >> BSN_OPCODE_RDMA_READ & 1 && body_ds == BSN_PREPARED_READ + most)
		goto three;
	return BSN_NOT_PLAIN;
two:
	return prefix_ds == BSN_COMPACT_DS || bsn_fits(sq, sq->peer_limit, bsn_bytes_of_ds(prefix_ds + most))
		       ? bsn_put_prepared(ep, prefix_ds, most - 1, p, id, flags)
		       : BSN_NOT_PLAIN;
three:
	return bsn_fits(sq, sq->peer_limit, bsn_bytes_of_ds(1 + prefix_ds + most))
		       ? bsn_put_prepared(ep, prefix_ds, most, p, id, flags)
		       : BSN_NOT_PLAIN;
}

#define BSN_PREPARED_PARAMETERS     struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id
#define BSN_PREPARED_ARGUMENTS      ep, p, id
#define BSN_PREPARED_ANY_PARAMETERS BSN_PREPARED_PARAMETERS, uint32_t flags
#define BSN_PREPARED_ANY_ARGUMENTS  BSN_PREPARED_ARGUMENTS, flags
#define BSN_POST_PREPARED(name, with, flags)                                                       \
	BSN_UNCHANGED int name##_cold(with##_PARAMETERS)                                           \
	{                                                                                          \
		return bsn_sq_post_prepared(ep, p, id, flags);                                     \
	}                                                                                          \
	BSN_BY_VECTOR(name, with, bsn_try_prepared(ep, prefix_ds, p, id, flags))
BSN_POST_PREPARED(bsn_peer_prepared_quietly, BSN_PREPARED, 0u)
BSN_POST_PREPARED(bsn_peer_prepared_rung, BSN_PREPARED, BSN_F_RUNG)
BSN_POST_PREPARED(bsn_peer_prepared_any, BSN_PREPARED_ANY, flags)
#undef BSN_POST_PREPARED
#undef BSN_PREPARED_ANY_ARGUMENTS
#undef BSN_PREPARED_ANY_PARAMETERS
#undef BSN_PREPARED_ARGUMENTS
#undef BSN_PREPARED_PARAMETERS

BSN_ALWAYS_INLINE int bsn_peer_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id,
					uint32_t flags)
{
	if (flags == BSN_F_RUNG)
		return bsn_peer_prepared_rung(ep, p, id);
	return flags ? bsn_peer_prepared_any(ep, p, id, flags) : bsn_peer_prepared_quietly(ep, p, id);
}

BSN_ALWAYS_INLINE int bsn_build_prepared(struct bsn_ep *ep, const struct bsn_prepared *p,
					 uint64_t id, uint32_t flags)
{
	struct bsn_sq *sq;
	struct bsn_be64 ctrl0, ctrl1;
	struct bsn_regs r;
	uint8_t *wqe;

	if (!BSN_BUILDS || BSN_IS_NULL(ep) || (flags & ~BSN_F_ALL) || !bsn_sq_has_room(ep->sq, BSN_BB_SIZE)) {
		if (BSN_BUILDS && !BSN_IS_NULL(ep) && !(flags & ~BSN_F_ALL) && bsn_has_peer_room(ep->sq))
			return bsn_peer_prepared(ep, p, id, flags);
		return bsn_sq_post_prepared(ep, p, id, flags);
	}
	sq = ep->sq;
	wqe = bsn_sq_take_known(sq, &r, BSN_BB_SIZE);
	ctrl0 = bsn_ctrl0(sq, 0, 0);
	ctrl1 = bsn_ctrl1(sq, false, flags, 0);
	const bsn_v2 ctrl = (bsn_v2){ ctrl0.raw, ctrl1.raw } |
			    *(const bsn_v2_aliased *)(const void *)&p->ctrl0;
	r.ds[0] = bsn_ds_of_vector(ctrl);
	r.ds[1] = bsn_ds_of_vector(p->body[0]);
	r.ds[2] = bsn_ds_of_vector(p->body[1]);
	if (BSN_LIKELY(p->body_ds < BSN_NEAR_DS))
		return bsn_end(sq, wqe, NULL, false, &r, 3, BSN_REST_NONE, 3, BSN_NEAR_DS, BSN_BB_SIZE,
			       id, flags);
	r.ds[3] = bsn_ds_of_vector(p->body[2]);
	return bsn_end(sq, wqe, NULL, false, &r, 4, BSN_REST_NONE, 4, BSN_NEAR_DS, BSN_BB_SIZE, id, flags);
}

BSN_HEADER_END

#endif
