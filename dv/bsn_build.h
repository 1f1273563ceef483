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
 *	bsn_build.h	which of these a request is
 */
#ifndef BSN_BUILD_H
#define BSN_BUILD_H

#include "bsn_peers.h"

BSN_HEADER_BEGIN

/* -- whole requests ------------------------------------------------------------------------------------ */

#define BSN_MAX_PLAIN_SGE 4 /* more take the cold function's loop */

/* Whether a queue of one peer takes a request of @count SGEs as the inline code builds it. */
BSN_ALWAYS_INLINE bool bsn_takes_sges(struct bsn_sq *sq, unsigned needs, const struct bsn_sge *sge,
				      unsigned count, bool has_remote)
{
	if (!bsn_sq_has_room(sq, bsn_bytes_of_ds(1 + has_remote + count)) || !bsn_are_plain(sge, count))
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
	    !bsn_takes_sges(sq, needs, sge, count, has_remote))
		return BSN_NOT_PLAIN;
	return bsn_put_sges(sq, NULL, 0, opcode, sge, count, false, remote, has_remote, imm, id, flags);
}

/* Of 2 to 4 SGEs. */
#define BSN_POST_SEVERAL(name, ...)                                                                \
	(count == 2   ? name##2(ep, sge, remote, id, __VA_ARGS__)                                  \
	 : count == 3 ? name##3(ep, sge, remote, id, __VA_ARGS__)                                  \
		      : name##4(ep, sge, remote, id, __VA_ARGS__))
#define BSN_POST_SEVERAL_FULL(name, ...)                                                           \
	(count == 2   ? name##2_full(ep, sge, remote, id, __VA_ARGS__)                             \
	 : count == 3 ? name##3_full(ep, sge, remote, id, __VA_ARGS__)                             \
		      : name##4_full(ep, sge, remote, id, __VA_ARGS__))
BSN_ALWAYS_INLINE int bsn_build_flags(struct bsn_ep *ep, const struct bsn_kind *kind,
				      const struct bsn_sge *sge, unsigned count,
				      const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				      uint32_t flags)
{
	const unsigned opcode = kind->opcode;
	const int err = bsn_try_sges(ep, opcode, kind->needs, sge, count, remote, kind->has_remote,
				     imm, id, flags);

	if (BSN_LIKELY(err != BSN_NOT_PLAIN))
		return err;
	if (!(flags & ~BSN_F_PLAIN) && opcode == BSN_OPCODE_SEND && (count == 1 || count == 2))
		return count == 1 ? bsn_send_extended1(ep, sge, id, flags)
				  : bsn_send_extended2(ep, sge, id, flags);
	if (count == 1 && !BSN_IS_NULL(sge)) {
		if (!(flags & ~BSN_F_PLAIN) && bsn_has_peer_room(ep->sq) && bsn_are_plain(sge, 1))
			return bsn_post_piece(ep, kind, bsn_ds_data(sge), remote, id, imm, flags);
		const struct bsn_sge one = *sge; /* a copy: the caller's need not be in memory */
		return bsn_post_sgl_cold(ep, opcode, &one, 1, remote, imm, id, flags);
	}
	/* All of these take the same, so that nothing here is prepared for another call. */
	if (kind->has_remote && !(flags & ~BSN_F_PLAIN) && count > 1 && count <= BSN_MAX_PLAIN_SGE) {
		const bool fits = bsn_fits(ep->sq, ep->sq->peer_limit, 2 * BSN_BB_SIZE);
		const uint64_t what = (uint64_t)imm << 32 | BSN_WHAT(opcode, flags, 0u);
		if (bsn_is_rung(flags) && opcode == BSN_OPCODE_RDMA_WRITE)
			return fits ? BSN_POST_SEVERAL(bsn_peer_write_rung, ep->sq->slot, ep->sq)
				    : BSN_POST_SEVERAL_FULL(bsn_peer_write_rung, ep->sq->slot, ep->sq);
		if (bsn_is_rung(flags) && opcode == BSN_OPCODE_RDMA_READ)
			return fits ? BSN_POST_SEVERAL(bsn_peer_read_rung, ep->sq->slot, ep->sq)
				    : BSN_POST_SEVERAL_FULL(bsn_peer_read_rung, ep->sq->slot, ep->sq);
		if (fits)
			return BSN_POST_SEVERAL(bsn_peer_rdma, what);
	}
	return bsn_post_sgl_cold(ep, opcode, sge, bsn_what_count(count), remote, imm, id, flags);
}

#undef BSN_POST_SEVERAL_FULL
#undef BSN_POST_SEVERAL

/*
 * Of one SGE, flags that the compiler does not know: most often they are one of these two, and where it knows that they
 * are one of both, as in a loop that signals its last request, it takes one way for each.
 */
BSN_ALWAYS_INLINE int bsn_build_known(struct bsn_ep *ep, const struct bsn_kind *kind,
				      const struct bsn_sge *sge, unsigned count,
				      const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				      uint32_t flags)
{
#ifdef __OPTIMIZE__
	if (!__builtin_constant_p(flags) && count == 1 && BSN_LIKELY(flags == BSN_F_RUNG))
		return bsn_build_flags(ep, kind, sge, 1, remote, imm, id, BSN_F_RUNG);
	if (!__builtin_constant_p(flags) && count == 1 && BSN_LIKELY(!flags))
		return bsn_build_flags(ep, kind, sge, 1, remote, imm, id, 0);
#endif
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

	if (!bsn_takes_sges(sq, kind->needs, sge, count, kind->has_remote))
		return bsn_post_sgl_cold(ep, kind->opcode, sge, count, remote, 0, id, flags & BSN_F_PLAIN);
	return bsn_put_sges(sq, NULL, 0, kind->opcode, sge, count, !bsn_is_rung(flags), remote,
			    kind->has_remote, 0, id, flags);
}

#define BSN_POST_COUNTED(kind, count)                                                              \
	BSN_UNCHANGED int bsn_rung_##kind##count(struct bsn_ep *ep, const struct bsn_sge *sge,     \
						 unsigned known, const struct bsn_remote *remote,  \
						 uint64_t id, uint32_t flags)                      \
	{                                                                                          \
		(void)known, (void)flags;                                                          \
		return bsn_put_counted(ep, &bsn_kind_##kind, sge, count, remote, id, BSN_F_RUNG);  \
	}                                                                                          \
	BSN_UNCHANGED int bsn_counted_##kind##count(struct bsn_ep *ep, const struct bsn_sge *sge,  \
						    unsigned known, const struct bsn_remote *remote, \
						    uint64_t id, uint32_t flags)                   \
	{                                                                                          \
		(void)known;                                                                       \
		return bsn_put_counted(ep, &bsn_kind_##kind, sge, count, remote, id, flags);       \
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
		return bsn_post_sgl_cold(ep, bsn_kind_##kind.opcode, sge, bsn_what_count(count),   \
					 remote, 0, id, flags & BSN_F_PLAIN);                      \
	}
BSN_POST_COUNTS(write)
BSN_POST_COUNTS(read)
BSN_POST_COUNTS(send)
#undef BSN_POST_COUNTS
#undef BSN_POST_COUNT
#undef BSN_POST_COUNTED

BSN_ALWAYS_INLINE int bsn_build_unknown(struct bsn_ep *ep, const struct bsn_kind *kind,
					const struct bsn_sge *sge, unsigned count,
					const struct bsn_remote *remote, uint32_t imm, uint64_t id,
					uint32_t flags)
{
	if (!(flags & ~BSN_F_PLAIN) && kind == &bsn_kind_write)
		return bsn_counted_write(ep, sge, count, remote, id, flags);
	if (!(flags & ~BSN_F_PLAIN) && kind == &bsn_kind_read)
		return bsn_counted_read(ep, sge, count, remote, id, flags);
	if (!(flags & ~BSN_F_PLAIN) && kind == &bsn_kind_send)
		return bsn_counted_send(ep, sge, count, remote, id, flags);
	return bsn_post_sgl_cold(ep, kind->opcode, sge, bsn_what_count(count), remote, imm, id, flags);
}

/* A message or RDMA request of @count SGEs. */
BSN_ALWAYS_INLINE int bsn_build_sgl(struct bsn_ep *ep, const struct bsn_kind *kind,
				    const struct bsn_sge *sge, unsigned count,
				    const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				    uint32_t flags)
{
	if (BSN_IS_NULL(ep))
		return bsn_sq_post_sgl(ep, BSN_WHAT(kind->opcode, flags, bsn_what_count(count)), sge,
				       remote, imm, id);
	if (__builtin_constant_p(count))
		return bsn_build_known(ep, kind, sge, count, remote, imm, id, flags);
	return bsn_build_unknown(ep, kind, sge, count, remote, imm, id, flags);
}

/*
 * WRITEs inline data of several DS, of a length that the compiler knows: the DS are in registers, header and all, as
 * many as are passed in vectors. Whether the queue takes so many bytes was looked at.
 */
#define BSN_UNITS_MAX 5

struct bsn_units {
	bsn_v2 v0, v1, v2, v3, v4;
};

/* Of how many, at least two. */
BSN_ALWAYS_INLINE unsigned bsn_units_of(size_t length)
{
	return bsn_inline_ds((uint32_t)length);
}

BSN_ALWAYS_INLINE bsn_v2 bsn_unit(const uint8_t *data, size_t length, unsigned i)
{
	const uint8_t *const at = data + BSN_DS_INLINE_MAX + BSN_DS_SIZE * (size_t)(i - 1);
	const unsigned count = bsn_units_of(length);

	if (!i)
		return bsn_vector_of(bsn_ds_inline_first(data, length));
	if (i >= count)
		return (bsn_v2){ 0, 0 };
	if (i < count - 1)
		return bsn_v2_load(at);
	return bsn_vector_of(
		bsn_ds_inline_last(at, data + length, length - (BSN_DS_INLINE_MAX + 1)));
}

BSN_ALWAYS_INLINE int bsn_put_units(struct bsn_ep *ep, struct bsn_sq *sq, uint8_t *slot,
				    unsigned prefix_ds, unsigned opcode, const struct bsn_units *u,
				    unsigned count, const struct bsn_remote *remote, uint32_t imm,
				    uint64_t id, uint32_t flags)
{
	const unsigned n = 2 + prefix_ds, ds = n + count;
	struct bsn_regs r;

	r.moves_later = true;
	bsn_begin_peer(&r, sq, bsn_peer_of(ep), prefix_ds, NULL, imm, id, flags);
	r.ds[n - 1] = bsn_ds_raddr(remote);
	r.ds[n] = bsn_ds_of_vector(u->v0);
	r.ds[n + 1] = bsn_ds_of_vector(u->v1);
	if (count > 2)
		r.ds[n + 2] = bsn_ds_of_vector(u->v2);
	if (count > 3)
		r.ds[n + 3] = bsn_ds_of_vector(u->v3);
	if (count > 4)
		r.ds[n + 4] = bsn_ds_of_vector(u->v4);
	return bsn_end_peer(sq, slot, &r, opcode, ds, id, flags);
}

/* The data are put together again: they were not kept elsewhere. */
BSN_ALWAYS_INLINE int bsn_units_cold(struct bsn_ep *ep, unsigned opcode, const struct bsn_units *u,
				     const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				     uint32_t flags)
{
	const bsn_v2 bytes[BSN_UNITS_MAX] = { u->v0, u->v1, u->v2, u->v3, u->v4 };
	struct bsn_inline_hdr hdr;

	bsn_inline_hdr_decode(&hdr, (const uint8_t *)bytes);
	return bsn_sq_post_inline(ep, BSN_WHAT(opcode, (flags & BSN_F_PLAIN) | BSN_F_INLINE, hdr.byte_count),
				  (const uint8_t *)bytes + BSN_INLINE_HDR_SIZE, remote, imm, id);
}

/* There is room for two blocks. */
BSN_ALWAYS_INLINE int bsn_try_units(struct bsn_ep *ep, struct bsn_sq *sq, uint8_t *slot,
				    unsigned opcode, const struct bsn_units *u, unsigned count,
				    const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				    uint32_t flags)
{
	if (bsn_peer_of(ep)->prefix_ds == BSN_COMPACT_DS) {
		if (bsn_has_opcode(sq, BSN_COMPACT_DS, opcode))
			return bsn_put_units(ep, sq, slot, BSN_COMPACT_DS, opcode, u, count, remote,
					     imm, id, flags);
	} else if ((2 + BSN_EXTENDED_DS + count <= 2 * BSN_BB_DS ||
		    BSN_LIKELY(slot + 3 * BSN_BB_SIZE <= sq->peer_limit)) &&
		   bsn_has_opcode(sq, BSN_EXTENDED_DS, opcode)) {
		return bsn_put_units(ep, sq, slot, BSN_EXTENDED_DS, opcode, u, count, remote, imm,
				     id, flags);
	}
	return BSN_NOT_PLAIN;
}

/*
 * So many units as the parameters of a function, each in a register; as the arguments of one that takes them; and as the
 * fields of struct bsn_units, of which the others are not used.
 */
#define BSN_UNIT_PARAMETERS2 bsn_v2 v0, bsn_v2 v1
#define BSN_UNIT_PARAMETERS3 BSN_UNIT_PARAMETERS2, bsn_v2 v2
#define BSN_UNIT_PARAMETERS4 BSN_UNIT_PARAMETERS3, bsn_v2 v3
#define BSN_UNIT_PARAMETERS5 BSN_UNIT_PARAMETERS4, bsn_v2 v4
#define BSN_UNIT_ARGUMENTS2 v0, v1
#define BSN_UNIT_ARGUMENTS3 BSN_UNIT_ARGUMENTS2, v2
#define BSN_UNIT_ARGUMENTS4 BSN_UNIT_ARGUMENTS3, v3
#define BSN_UNIT_ARGUMENTS5 BSN_UNIT_ARGUMENTS4, v4
#define BSN_NO_UNIT { 0, 0 }
#define BSN_UNIT_FIELDS2 BSN_UNIT_ARGUMENTS2, BSN_NO_UNIT, BSN_NO_UNIT, BSN_NO_UNIT
#define BSN_UNIT_FIELDS3 BSN_UNIT_ARGUMENTS3, BSN_NO_UNIT, BSN_NO_UNIT
#define BSN_UNIT_FIELDS4 BSN_UNIT_ARGUMENTS4, BSN_NO_UNIT
#define BSN_UNIT_FIELDS5 BSN_UNIT_ARGUMENTS5
#define BSN_POST_UNITS(count)                                                                      \
	BSN_UNCHANGED int bsn_units_cold##count(struct bsn_ep *ep, uint64_t what,                  \
						const struct bsn_remote *remote, uint64_t id,      \
						BSN_UNIT_PARAMETERS##count)                                  \
	{                                                                                          \
		const struct bsn_units u = { BSN_UNIT_FIELDS##count };                                   \
                                                                                                   \
		return bsn_units_cold(ep, (uint8_t)what, &u, remote, (uint32_t)(what >> 32), id,   \
				      (uint32_t)what);                                             \
	}                                                                                          \
	BSN_UNCHANGED int bsn_peer_units##count(struct bsn_ep *ep, uint64_t what,                  \
						const struct bsn_remote *remote, uint64_t id,      \
						BSN_UNIT_PARAMETERS##count)                                  \
	{                                                                                          \
		const struct bsn_units u = { BSN_UNIT_FIELDS##count };                                   \
		const int err = bsn_try_units(ep, ep->sq, ep->sq->slot, (uint8_t)what, &u, count,  \
					      remote, (uint32_t)(what >> 32), id, (uint32_t)what); \
                                                                                                   \
		return err > 0 ? bsn_units_cold##count(ep, what, remote, id, BSN_UNIT_ARGUMENTS##count)     \
			       : err;                                                              \
	}                                                                                          \
	BSN_UNCHANGED int bsn_peer_units_rung##count(struct bsn_ep *ep, uint8_t *slot,             \
						     const struct bsn_remote *remote, uint64_t id, \
						     BSN_UNIT_PARAMETERS##count)                             \
	{                                                                                          \
		const struct bsn_units u = { BSN_UNIT_FIELDS##count };                                   \
		const int err = bsn_try_units(ep, ep->sq, slot, BSN_OPCODE_RDMA_WRITE, &u, count,  \
					      remote, 0, id, BSN_F_RUNG);                          \
                                                                                                   \
		return err > 0 ? bsn_units_cold##count(                                            \
					 ep, BSN_WHAT(BSN_OPCODE_RDMA_WRITE, BSN_F_RUNG, 0u),      \
					 remote, id, BSN_UNIT_ARGUMENTS##count)                             \
			       : err;                                                              \
	}                                                                                          \
	BSN_ALWAYS_INLINE int bsn_post_units##count(struct bsn_ep *ep, unsigned opcode,            \
						    const struct bsn_remote *remote, uint32_t imm, \
						    uint64_t id, uint32_t flags, BSN_UNIT_PARAMETERS##count) \
	{                                                                                          \
		if (opcode == BSN_OPCODE_RDMA_WRITE && bsn_is_rung(flags))                         \
			return bsn_peer_units_rung##count(ep, ep->sq->slot, remote, id,            \
							  BSN_UNIT_ARGUMENTS##count);                       \
		return bsn_peer_units##count(                                                      \
			ep, (uint64_t)imm << 32 | BSN_WHAT(opcode, flags & BSN_F_PLAIN, 0u),       \
			remote, id, BSN_UNIT_ARGUMENTS##count);                                             \
	}
BSN_POST_UNITS(2)
BSN_POST_UNITS(3)
BSN_POST_UNITS(4)
BSN_POST_UNITS(5)
#undef BSN_POST_UNITS

BSN_ALWAYS_INLINE int bsn_post_units(struct bsn_ep *ep, unsigned opcode, const uint8_t *data,
				     size_t length, const struct bsn_remote *remote, uint32_t imm,
				     uint64_t id, uint32_t flags)
{
	const bsn_v2 v0 = bsn_unit(data, length, 0), v1 = bsn_unit(data, length, 1),
		     v2 = bsn_unit(data, length, 2);
	const bsn_v2 v3 = bsn_unit(data, length, 3), v4 = bsn_unit(data, length, 4);

	switch (bsn_units_of(length)) {
	case 2:
		return bsn_post_units2(ep, opcode, remote, imm, id, flags, v0, v1);
	case 3:
		return bsn_post_units3(ep, opcode, remote, imm, id, flags, v0, v1, v2);
	case 4:
		return bsn_post_units4(ep, opcode, remote, imm, id, flags, v0, v1, v2, v3);
	default:
		return bsn_post_units5(ep, opcode, remote, imm, id, flags, v0, v1, v2, v3, v4);
	}
}

/* WRITEs inline data to one of many peers, by its vector. */
BSN_ALWAYS_INLINE int bsn_try_peer_inline(struct bsn_ep *ep, unsigned opcode, const void *data,
					  size_t length, const struct bsn_remote *remote,
					  uint32_t imm, uint64_t id, uint32_t flags)
{
	struct bsn_sq *sq = ep->sq;
	int err = BSN_NOT_PLAIN;

	if (bsn_is_for(ep, BSN_COMPACT_DS, opcode))
		err = bsn_put_data(sq, &sq->peer_limit, bsn_peer_of(ep), BSN_COMPACT_DS, opcode,
				   (const uint8_t *)data, length, 0, remote, true, imm, id, flags);
	else if (bsn_is_for(ep, BSN_EXTENDED_DS, opcode))
		err = bsn_put_data(sq, &sq->peer_limit, bsn_peer_of(ep), BSN_EXTENDED_DS, opcode,
				   (const uint8_t *)data, length, 0, remote, true, imm, id, flags);
	return err;
}

/* More than a DS, or of a length that the compiler does not know. */
BSN_APART int bsn_peer_inline(struct bsn_ep *ep, const void *data, size_t length,
			      const struct bsn_remote *remote, uint64_t id, uint64_t what)
{
	const uint32_t opcode = (uint8_t)what, flags = (uint32_t)what, imm = (uint32_t)(what >> 32);
	const int err = bsn_try_peer_inline(ep, opcode, data, length, remote, imm, id, flags);

	return err > 0 ? bsn_post_inline_cold(ep, opcode, data, (uint32_t)length, remote, imm, id,
					      flags & BSN_F_PLAIN)
		       : err;
}

/* A message or WRITE whose bytes are copied into the WQE. */
BSN_ALWAYS_INLINE int bsn_build_inline(struct bsn_ep *ep, const struct bsn_kind *kind,
				       const void *data, uint32_t length,
				       const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				       uint32_t flags)
{
	const unsigned opcode = kind->opcode;
	const bool has_remote = kind->has_remote;
	const bool are_units = has_remote && __builtin_constant_p(length) && length > BSN_DS_INLINE_MAX &&
			       bsn_units_of(length) <= BSN_UNITS_MAX;
	struct bsn_sq *sq;
	size_t bytes = length;
	int err;

	if (BSN_IS_NULL(ep) || (flags & ~BSN_F_ALL))
		return bsn_post_inline_cold(ep, opcode, data, length, remote, imm, id, flags);
	sq = ep->sq;
	if (!__builtin_constant_p(length))
		BSN_HIDE(bytes); /* one register: the compiler would copy what it knows to have 32 bits */
	if (opcode == BSN_OPCODE_SEND && !bsn_fits(sq, sq->limit, BSN_BB_SIZE))
		return bytes > BSN_EXTENDED_INLINE
			       ? bsn_send_extended_any(ep, data, bytes, id, flags)
			       : bsn_send_extended_inline(ep, data, bytes, id, flags);
	err = bsn_put_data(sq, &sq->limit, NULL, 0, opcode, (const uint8_t *)data, bytes, 0, remote,
			   has_remote, imm, id, flags);
	if (BSN_LIKELY(err <= 0))
		return err;
	if (err == BSN_NO_ROOM && (are_units ? bsn_fits(sq, sq->peer_limit, 2 * BSN_BB_SIZE) : bsn_has_peer_room(sq))) {
		if (__builtin_constant_p(length) && length <= BSN_DS_INLINE_MAX)
			return bsn_post_piece(ep, kind, bsn_ds_short((const uint8_t *)data, length),
					      remote, id, imm, flags & BSN_F_PLAIN);
		if (are_units)
			return bsn_post_units(ep, opcode, (const uint8_t *)data, length, remote,
					      imm, id, flags);
		if (has_remote)
			return bsn_peer_inline(ep, data, bytes, remote, id,
					       (uint64_t)imm << 32 |
						       BSN_WHAT(opcode, flags & BSN_F_PLAIN, 0u));
	}
	if (!__builtin_constant_p(length))
		BSN_HIDE(bytes); /* so that nothing is prepared for the rare case */
	return bsn_post_inline_cold(ep, opcode, data, (uint32_t)bytes, remote, imm, id, flags);
}

BSN_ALWAYS_INLINE int bsn_build_atomic(struct bsn_ep *ep, unsigned opcode,
				       const struct bsn_sge *sge, const struct bsn_remote *remote,
				       uint64_t swap_add, uint64_t compare, uint64_t id,
				       uint32_t flags)
{
	struct bsn_sq *sq;
	struct bsn_regs r;
	uint8_t *wqe;

	if (BSN_IS_NULL(ep) || (flags & ~BSN_F_PLAIN) || !bsn_sq_has_room(ep->sq, BSN_BB_SIZE) ||
	    BSN_UNLIKELY(!(ep->sq->can & BSN_CAN_ATOMIC))) {
		const uint32_t what = BSN_WHAT(opcode, flags, 1u);
		if (BSN_IS_NULL(ep))
			return bsn_sq_post_atomic(ep, what, sge, remote, NULL, id);
		const bool has_room = bsn_fits(ep->sq, ep->sq->peer_limit, 2 * BSN_BB_SIZE);
		const bsn_v2 operands = { swap_add, compare };
		if (bsn_is_rung(flags) && opcode == BSN_OPCODE_ATOMIC_CS)
			return has_room ? bsn_peer_cmp_swap_rung(ep, sge, remote, id, swap_add, compare)
					: bsn_peer_cmp_swap_rung_full(ep, sge, remote, id, swap_add, compare);
		if (bsn_is_rung(flags) && opcode == BSN_OPCODE_ATOMIC_FA)
			return has_room ? bsn_peer_fetch_add_rung(ep, sge, remote, id, swap_add, ep->sq)
					: bsn_peer_fetch_add_rung_full(ep, sge, remote, id, swap_add, ep->sq);
		if (!(flags & ~BSN_F_PLAIN))
			return has_room ? bsn_peer_atomic(ep, sge, remote, id, what, operands)
					: bsn_peer_atomic_full(ep, sge, remote, id, what, operands);
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

#define BSN_PREPARED_SGE 3 /* as many as one block takes after the control segment */

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
		     bsn_ctrl1(sq, flags,
				       0)); /* a sum in byte 7, the DS, which is the last one */
	r.ds[0].w1.raw |= p->ctrl1.raw;
	r.ds[1 + prefix_ds] = bsn_ds_of_vector(p->body[0]);
	r.ds[2 + prefix_ds] = bsn_ds_of_vector(p->body[1]);
	if (body_ds > 2)
		r.ds[3 + prefix_ds] = bsn_ds_of_vector(p->body[2]);
	return bsn_end(sq, wqe, NULL, true, &r, ds, BSN_REST_NONE, ds, BSN_NEAR_DS,
		       bsn_bytes_of_ds(ds), id, flags);
}

BSN_APART int bsn_peer_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id,
				uint32_t flags)
{
	struct bsn_sq *sq = ep->sq;

	if (bsn_peer_of(ep)->prefix_ds == BSN_COMPACT_DS) {
		if (p->body_ds == 2 &&
		    bsn_has_room_to_post(sq, NULL, 1 + BSN_COMPACT_DS + 2))
			return bsn_put_prepared(ep, BSN_COMPACT_DS, 2, p, id, flags);
		if (p->body_ds == 3 &&
		    bsn_has_room_to_post(sq, NULL, 1 + BSN_COMPACT_DS + 3))
			return bsn_put_prepared(ep, BSN_COMPACT_DS, 3, p, id, flags);
	} else {
		BSN_FORGET(sq->peer_limit); /* as in bsn_may_post() */
		if (p->body_ds == 2 &&
		    bsn_has_room_to_post(sq, NULL, 1 + BSN_EXTENDED_DS + 2))
			return bsn_put_prepared(ep, BSN_EXTENDED_DS, 2, p, id, flags);
		if (p->body_ds == 3 &&
		    bsn_has_room_to_post(sq, NULL, 1 + BSN_EXTENDED_DS + 3))
			return bsn_put_prepared(ep, BSN_EXTENDED_DS, 3, p, id, flags);
	}
	return bsn_sq_post_prepared(ep, p, id, flags);
}

BSN_ALWAYS_INLINE int bsn_build_prepared(struct bsn_ep *ep, const struct bsn_prepared *p,
					 uint64_t id, uint32_t flags)
{
	struct bsn_sq *sq;
	struct bsn_be64 ctrl0, ctrl1;
	struct bsn_regs r;
	uint8_t *wqe;

	if (BSN_IS_NULL(ep) || (flags & ~BSN_F_ALL) || !bsn_sq_has_room(ep->sq, BSN_BB_SIZE)) {
		if (!BSN_IS_NULL(ep) && !(flags & ~BSN_F_ALL) && bsn_has_peer_room(ep->sq))
			return bsn_peer_prepared(ep, p, id, flags);
		return bsn_sq_post_prepared(ep, p, id, flags);
	}
	sq = ep->sq;
	wqe = bsn_sq_take_known(sq, &r, BSN_BB_SIZE);
	ctrl0 = bsn_ctrl0(sq, 0, 0);
	ctrl1 = bsn_ctrl1(sq, flags, 0);
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
