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

/* What is not for one peer, or has no room. @is_in_memory: the list; otherwise a copy of one SGE is passed on. */
BSN_ALWAYS_INLINE int bsn_build_otherwise(struct bsn_ep *ep, const struct bsn_kind *kind,
					  const struct bsn_sge *sge, unsigned count, bool is_in_memory,
					  const struct bsn_remote *remote, uint32_t imm, uint64_t id,
					  uint32_t flags)
{
	const bool is_plain = !(flags & ~BSN_F_PLAIN);
	struct bsn_ds data;

	if (is_plain && count == 1 && !BSN_IS_NULL(sge) && bsn_has_peer_room(ep->sq) &&
	    bsn_ds_if_plain(&data, sge, kind->has_remote))
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

	if (!bsn_takes_sges(sq, kind->needs, sge, count, kind->has_remote))
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
 * Inline data of several DS to one of many peers, of a length that the compiler knows: the DS are in registers, header
 * and all, as many as are passed in vectors, and one more in two words. Whether the queue takes so many bytes was
 * looked at.
 */
#define BSN_UNITS_MAX 9

/* Of how many, at least two. */
BSN_ALWAYS_INLINE unsigned bsn_units_of(size_t length)
{
	return bsn_inline_ds((uint32_t)length);
}

/* Whether there is room for them, with an extended vector, and so with any. */
BSN_ALWAYS_INLINE bool bsn_fit_units(const struct bsn_sq *sq, bool has_remote, size_t length)
{
	const size_t bytes = bsn_bytes_of_ds(1 + BSN_EXTENDED_DS + has_remote + bsn_units_of(length));

	return bsn_fits(sq, sq->peer_limit, bytes);
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
				    unsigned prefix_ds, unsigned opcode, bool has_remote,
				    const bsn_v2 *units, unsigned count,
				    const struct bsn_remote *remote, enum bsn_more kind, uint64_t more,
				    uint64_t id, uint32_t flags)
{
	const unsigned n = 1 + prefix_ds + has_remote, ds = n + count;
	struct bsn_regs r;

	r.moves_later = true;
	bsn_begin_peer(&r, sq, bsn_peer_of(ep), prefix_ds, kind, more, bsn_no_imm(), id, flags);
	if (has_remote)
		r.ds[n - 1] = bsn_ds_raddr(remote);
#define BSN_UNIT_TO_REG(i)                                                                         \
	if ((i) < count)                                                                           \
		r.ds[n + (i)] = bsn_ds_of_vector(units[i]);
	BSN_UNIT_TO_REG(0)
	BSN_UNIT_TO_REG(1)
	BSN_UNIT_TO_REG(2)
	BSN_UNIT_TO_REG(3)
	BSN_UNIT_TO_REG(4)
	BSN_UNIT_TO_REG(5)
	BSN_UNIT_TO_REG(6)
	BSN_UNIT_TO_REG(7)
	BSN_UNIT_TO_REG(8)
#undef BSN_UNIT_TO_REG
	return bsn_end_peer(sq, slot, &r, opcode, ds, id, flags);
}

/* The data are put together again: they were not kept elsewhere. */
BSN_ALWAYS_INLINE int bsn_units_cold(struct bsn_ep *ep, unsigned opcode, const bsn_v2 *units,
				     const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				     uint32_t flags)
{
	const uint8_t *const bytes = (const uint8_t *)units;
	struct bsn_inline_hdr hdr;

	bsn_inline_hdr_decode(&hdr, bytes);
	return bsn_sq_post_inline(ep, BSN_WHAT(opcode, (flags & BSN_F_PLAIN) | BSN_F_INLINE, hdr.byte_count),
				  bytes + BSN_INLINE_HDR_SIZE, remote, imm, id);
}

/* There is room. */
BSN_ALWAYS_INLINE int bsn_try_units(struct bsn_ep *ep, unsigned prefix_ds, unsigned opcode, bool has_remote,
				    const bsn_v2 *units, unsigned count,
				    const struct bsn_remote *remote, enum bsn_more kind, uint64_t more,
				    uint64_t id, uint32_t flags)
{
	struct bsn_sq *const sq = ep->sq;

	if (!bsn_has_opcode(sq, prefix_ds, opcode))
		return BSN_NOT_PLAIN;
	return bsn_put_units(ep, sq, bsn_slot_in(kind, more, sq), prefix_ds, opcode, has_remote, units,
			     count, remote, kind, more, id, flags);
}

/* So many units as the parameters of a function, each in a register; and as its arguments, or the elements of an array. */
#define BSN_UNITS_PARAMETERS                                                                       \
	struct bsn_ep *ep, uint64_t more, const struct bsn_remote *remote, uint64_t id
#define BSN_UNITS_ARGUMENTS   ep, more, remote, id
#define BSN_UNITS2_PARAMETERS BSN_UNITS_PARAMETERS, bsn_v2 v0, bsn_v2 v1
#define BSN_UNITS3_PARAMETERS BSN_UNITS2_PARAMETERS, bsn_v2 v2
#define BSN_UNITS4_PARAMETERS BSN_UNITS3_PARAMETERS, bsn_v2 v3
#define BSN_UNITS5_PARAMETERS BSN_UNITS4_PARAMETERS, bsn_v2 v4
#define BSN_UNITS6_PARAMETERS BSN_UNITS5_PARAMETERS, bsn_v2 v5
#define BSN_UNITS7_PARAMETERS BSN_UNITS6_PARAMETERS, bsn_v2 v6
#define BSN_UNITS8_PARAMETERS BSN_UNITS7_PARAMETERS, bsn_v2 v7
#define BSN_UNITS9_PARAMETERS BSN_UNITS8_PARAMETERS, uint64_t w0, uint64_t w1
#define BSN_UNITS2_VALUES     v0, v1
#define BSN_UNITS3_VALUES     BSN_UNITS2_VALUES, v2
#define BSN_UNITS4_VALUES     BSN_UNITS3_VALUES, v3
#define BSN_UNITS5_VALUES     BSN_UNITS4_VALUES, v4
#define BSN_UNITS6_VALUES     BSN_UNITS5_VALUES, v5
#define BSN_UNITS7_VALUES     BSN_UNITS6_VALUES, v6
#define BSN_UNITS8_VALUES     BSN_UNITS7_VALUES, v7
#define BSN_UNITS2_ARGUMENTS  BSN_UNITS_ARGUMENTS, BSN_UNITS2_VALUES
#define BSN_UNITS3_ARGUMENTS  BSN_UNITS_ARGUMENTS, BSN_UNITS3_VALUES
#define BSN_UNITS4_ARGUMENTS  BSN_UNITS_ARGUMENTS, BSN_UNITS4_VALUES
#define BSN_UNITS5_ARGUMENTS  BSN_UNITS_ARGUMENTS, BSN_UNITS5_VALUES
#define BSN_UNITS6_ARGUMENTS  BSN_UNITS_ARGUMENTS, BSN_UNITS6_VALUES
#define BSN_UNITS7_ARGUMENTS  BSN_UNITS_ARGUMENTS, BSN_UNITS7_VALUES
#define BSN_UNITS8_ARGUMENTS  BSN_UNITS_ARGUMENTS, BSN_UNITS8_VALUES
#define BSN_UNITS9_ARGUMENTS  BSN_UNITS8_ARGUMENTS, w0, w1
#define BSN_UNITS9_VALUES     BSN_UNITS8_VALUES, (bsn_v2){ w0, w1 }

#define BSN_UNITS(name, count, opcode, has_remote, kind, flags)                                    \
	BSN_UNCHANGED int name##_cold(BSN_UNITS##count##_PARAMETERS)                               \
	{                                                                                          \
		const bsn_v2 units[] = { BSN_UNITS##count##_VALUES };                              \
                                                                                                   \
		return bsn_units_cold(ep, opcode, units, remote, bsn_imm_in(kind, more, bsn_no_imm()), id, flags); \
	}                                                                                          \
	BSN_ALWAYS_INLINE int name##_try(unsigned prefix_ds, BSN_UNITS##count##_PARAMETERS)        \
	{                                                                                          \
		const bsn_v2 units[] = { BSN_UNITS##count##_VALUES };                              \
                                                                                                   \
		return bsn_try_units(ep, prefix_ds, opcode, has_remote, units, count, remote, kind, more, id, flags); \
	}                                                                                          \
	BSN_BY_VECTOR(name, BSN_UNITS##count, name##_try(prefix_ds, BSN_UNITS##count##_ARGUMENTS))
/* Of a number of units: by what is most common, of known flags; and any. */
#define BSN_POST_UNITS(count)                                                                      \
	BSN_UNITS(bsn_peer_write_units##count##_quietly, count, BSN_OPCODE_RDMA_WRITE, true, BSN_MORE_LOADED, 0u) \
	BSN_UNITS(bsn_peer_write_units##count##_rung, count, BSN_OPCODE_RDMA_WRITE, true, BSN_MORE_LOADED, \
		  BSN_F_RUNG)                                                                      \
	BSN_UNITS(bsn_peer_send_units##count##_quietly, count, BSN_OPCODE_SEND, false, BSN_MORE_LOADED, 0u) \
	BSN_UNITS(bsn_peer_send_units##count##_rung, count, BSN_OPCODE_SEND, false, BSN_MORE_LOADED, BSN_F_RUNG) \
	BSN_UNITS(bsn_peer_rdma_units##count, count, (uint8_t)more, true, BSN_MORE_WHAT, (uint32_t)more) \
	BSN_UNITS(bsn_peer_message_units##count, count, (uint8_t)more, false, BSN_MORE_WHAT, (uint32_t)more) \
	BSN_ALWAYS_INLINE int bsn_post_rdma_units##count(                                          \
		struct bsn_ep *ep, unsigned opcode, const struct bsn_remote *remote, uint32_t imm, uint64_t id, \
		uint32_t flags, const bsn_v2 *units)                                               \
	{                                                                                          \
		const uint64_t slot = (uintptr_t)ep->sq->slot;                                     \
		const uint64_t what = (uint64_t)imm << 32 | BSN_WHAT(opcode, flags, 0u);           \
                                                                                                   \
		if (opcode == BSN_OPCODE_RDMA_WRITE && flags == BSN_F_RUNG)                        \
			return bsn_peer_write_units##count##_rung(BSN_UNITS##count##_GIVEN(slot)); \
		if (opcode == BSN_OPCODE_RDMA_WRITE && !flags)                                     \
			return bsn_peer_write_units##count##_quietly(BSN_UNITS##count##_GIVEN(slot)); \
		return bsn_peer_rdma_units##count(BSN_UNITS##count##_GIVEN(what));                 \
	}                                                                                          \
	BSN_ALWAYS_INLINE int bsn_post_message_units##count(                                       \
		struct bsn_ep *ep, unsigned opcode, const struct bsn_remote *remote, uint32_t imm, uint64_t id, \
		uint32_t flags, const bsn_v2 *units)                                               \
	{                                                                                          \
		const uint64_t slot = (uintptr_t)ep->sq->slot;                                     \
		const uint64_t what = (uint64_t)imm << 32 | BSN_WHAT(opcode, flags, 0u);           \
                                                                                                   \
		if (opcode == BSN_OPCODE_SEND && flags == BSN_F_RUNG)                              \
			return bsn_peer_send_units##count##_rung(BSN_UNITS##count##_GIVEN(slot));  \
		if (opcode == BSN_OPCODE_SEND && !flags)                                           \
			return bsn_peer_send_units##count##_quietly(BSN_UNITS##count##_GIVEN(slot)); \
		return bsn_peer_message_units##count(BSN_UNITS##count##_GIVEN(what));              \
	}
#define BSN_UNITS2_GIVEN(more) ep, more, remote, id, units[0], units[1]
#define BSN_UNITS3_GIVEN(more) BSN_UNITS2_GIVEN(more), units[2]
#define BSN_UNITS4_GIVEN(more) BSN_UNITS3_GIVEN(more), units[3]
#define BSN_UNITS5_GIVEN(more) BSN_UNITS4_GIVEN(more), units[4]
#define BSN_UNITS6_GIVEN(more) BSN_UNITS5_GIVEN(more), units[5]
#define BSN_UNITS7_GIVEN(more) BSN_UNITS6_GIVEN(more), units[6]
#define BSN_UNITS8_GIVEN(more) BSN_UNITS7_GIVEN(more), units[7]
#define BSN_UNITS9_GIVEN(more) BSN_UNITS8_GIVEN(more), units[8][0], units[8][1]
BSN_POST_UNITS(2)
BSN_POST_UNITS(3)
BSN_POST_UNITS(4)
BSN_POST_UNITS(5)
BSN_POST_UNITS(6)
BSN_POST_UNITS(7)
BSN_POST_UNITS(8)
BSN_POST_UNITS(9)
#undef BSN_POST_UNITS
#undef BSN_UNITS

/* Of rdma or message; a file that posts one of both does not take the time to compile the other's. */
#define BSN_POST_ALL_UNITS(rdma)                                                                   \
	BSN_ALWAYS_INLINE int bsn_post_##rdma##_units(struct bsn_ep *ep, unsigned opcode, const uint8_t *data, \
						      size_t length, const struct bsn_remote *remote, \
						      uint32_t imm, uint64_t id, uint32_t flags)   \
	{                                                                                          \
		const bsn_v2 units[BSN_UNITS_MAX] = {                                              \
			bsn_unit(data, length, 0), bsn_unit(data, length, 1), bsn_unit(data, length, 2), \
			bsn_unit(data, length, 3), bsn_unit(data, length, 4), bsn_unit(data, length, 5), \
			bsn_unit(data, length, 6), bsn_unit(data, length, 7), bsn_unit(data, length, 8), \
		};                                                                                 \
                                                                                                   \
		switch (bsn_units_of(length)) {                                                    \
		case 2: return bsn_post_##rdma##_units2(ep, opcode, remote, imm, id, flags, units); \
		case 3: return bsn_post_##rdma##_units3(ep, opcode, remote, imm, id, flags, units); \
		case 4: return bsn_post_##rdma##_units4(ep, opcode, remote, imm, id, flags, units); \
		case 5: return bsn_post_##rdma##_units5(ep, opcode, remote, imm, id, flags, units); \
		case 6: return bsn_post_##rdma##_units6(ep, opcode, remote, imm, id, flags, units); \
		case 7: return bsn_post_##rdma##_units7(ep, opcode, remote, imm, id, flags, units); \
		case 8: return bsn_post_##rdma##_units8(ep, opcode, remote, imm, id, flags, units); \
		default: return bsn_post_##rdma##_units9(ep, opcode, remote, imm, id, flags, units); \
		}                                                                                  \
	}
BSN_POST_ALL_UNITS(rdma)
BSN_POST_ALL_UNITS(message)
#undef BSN_POST_ALL_UNITS

/* Whether the compiler knows that inline data are so many units. */
BSN_ALWAYS_INLINE bool bsn_are_units(size_t length)
{
	return __builtin_constant_p(length) && length > BSN_DS_INLINE_MAX && bsn_units_of(length) <= BSN_UNITS_MAX;
}

/* Or one. */
BSN_ALWAYS_INLINE bool bsn_is_unit(size_t length)
{
	return __builtin_constant_p(length) && length <= BSN_DS_INLINE_MAX;
}

/* To one peer. */
BSN_ALWAYS_INLINE int bsn_try_inline(struct bsn_sq *sq, const struct bsn_kind *kind, const void *data, size_t length,
				     const struct bsn_remote *remote, uint32_t imm, uint64_t id, uint32_t flags)
{
	return bsn_put_data(sq, &sq->limit, NULL, 0, kind->opcode, (const uint8_t *)data, length, 0, remote,
			    kind->has_remote, imm, id, flags);
}

/* Whether there is room for one to many peers. */
BSN_ALWAYS_INLINE bool bsn_fits_inline(const struct bsn_sq *sq, const struct bsn_kind *kind, size_t length)
{
	return bsn_are_units(length) ? bsn_fit_units(sq, kind->has_remote, length) : bsn_has_peer_room(sq);
}

/* A WRITE whose bytes are copied into the WQE. */
BSN_ALWAYS_INLINE int bsn_build_rdma_inline(struct bsn_ep *ep, const struct bsn_kind *kind, const void *data,
					    uint32_t length, const struct bsn_remote *remote, uint32_t imm,
					    uint64_t id, uint32_t flags)
{
	struct bsn_sq *sq;
	size_t bytes = length;
	int err;

	if (!BSN_BUILDS || BSN_IS_NULL(ep) || (flags & ~BSN_F_ALL))
		return bsn_post_inline_cold(ep, kind->opcode, data, length, remote, imm, id, flags);
	sq = ep->sq;
	if (!__builtin_constant_p(length))
		BSN_HIDE(bytes); /* one register: the compiler would copy what it knows to have 32 bits */
	err = bsn_try_inline(sq, kind, data, bytes, remote, imm, id, flags);
	if (BSN_LIKELY(err <= 0))
		return err;
	if (err == BSN_NO_ROOM && bsn_fits_inline(sq, kind, length)) {
		if (bsn_is_unit(length))
			return bsn_post_piece(ep, kind, bsn_ds_short((const uint8_t *)data, length), remote, id,
					      imm, flags & BSN_F_PLAIN);
		if (bsn_are_units(length))
			return bsn_post_rdma_units(ep, kind->opcode, (const uint8_t *)data, length, remote, imm,
						   id, flags & BSN_F_PLAIN);
		return bsn_post_rdma_data(ep, kind, data, bytes, remote, imm, id, flags & BSN_F_PLAIN);
	}
	if (!__builtin_constant_p(length))
		BSN_HIDE(bytes); /* so that nothing is prepared for the rare case */
	return bsn_post_inline_cold(ep, kind->opcode, data, (uint32_t)bytes, remote, imm, id, flags);
}

/* A message's. */
BSN_ALWAYS_INLINE int bsn_build_message_inline(struct bsn_ep *ep, const struct bsn_kind *kind, const void *data,
					       uint32_t length, uint32_t imm, uint64_t id, uint32_t flags)
{
	struct bsn_sq *sq;
	size_t bytes = length;
	int err;

	if (!BSN_BUILDS || BSN_IS_NULL(ep) || (flags & ~BSN_F_ALL))
		return bsn_post_inline_cold(ep, kind->opcode, data, length, NULL, imm, id, flags);
	sq = ep->sq;
	if (!__builtin_constant_p(length))
		BSN_HIDE(bytes); /* as a WRITE's */
	if (kind->opcode == BSN_OPCODE_SEND && !bsn_is_unit(length) && !bsn_are_units(length) &&
	    !bsn_fits(sq, sq->limit, BSN_BB_SIZE))
		return bsn_has_peer_room(sq)
			       ? bsn_post_message_data(ep, kind->opcode, data, bytes, imm, id, flags & BSN_F_PLAIN)
			       : bsn_post_inline_cold(ep, kind->opcode, data, (uint32_t)bytes, NULL, imm, id,
						      flags & BSN_F_PLAIN);
	err = bsn_try_inline(sq, kind, data, bytes, NULL, imm, id, flags);
	if (BSN_LIKELY(err <= 0))
		return err;
	if (err == BSN_NO_ROOM && bsn_fits_inline(sq, kind, length)) {
		if (bsn_is_unit(length))
			return bsn_post_piece(ep, kind, bsn_ds_short((const uint8_t *)data, length), NULL, id, imm,
					      flags & BSN_F_PLAIN);
		if (bsn_are_units(length))
			return bsn_post_message_units(ep, kind->opcode, (const uint8_t *)data, length, NULL, imm,
						      id, flags & BSN_F_PLAIN);
		return bsn_post_message_data(ep, kind->opcode, data, bytes, imm, id, flags & BSN_F_PLAIN);
	}
	if (!__builtin_constant_p(length))
		BSN_HIDE(bytes);
	return bsn_post_inline_cold(ep, kind->opcode, data, (uint32_t)bytes, NULL, imm, id, flags);
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
