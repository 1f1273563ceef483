/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inline data to one of many peers.
 */
#ifndef BSN_UNITS_H
#define BSN_UNITS_H

#include "bsn_peers.h"

BSN_HEADER_BEGIN

/* -- in registers -------------------------------------------------------------------------------------- */

/*
 * Of several DS, of a length that the compiler knows: the DS are in registers, header and all, as many as are passed in
 * vectors, and one more in two words. Whether the queue takes so many bytes was looked at.
 */
#define BSN_UNITS_MAX 9

/* Of how many, at least two. */
BSN_ALWAYS_INLINE unsigned bsn_units_of(size_t length)
{
	return bsn_inline_ds((uint32_t)length);
}

/* Whether there is room for so many, with an extended vector, and so with any. */
BSN_ALWAYS_INLINE bool bsn_fit_units(const struct bsn_sq *sq, bool has_remote, unsigned count)
{
	return bsn_fits(sq, sq->peer_limit, bsn_bytes_of_ds(1 + BSN_EXTENDED_DS + has_remote + count));
}

/* The second to fourth parameter, where they are not read: whatever their registers have. */
#if defined(__x86_64__)
#define BSN_ANY_SECOND(x) __asm__("" : "=S"(x))
#define BSN_ANY_THIRD(x)  __asm__("" : "=d"(x))
#define BSN_ANY_FOURTH(x) __asm__("" : "=c"(x))
#else
#define BSN_ANY_SECOND(x) BSN_ANY(x)
#define BSN_ANY_THIRD(x)  BSN_ANY(x)
#define BSN_ANY_FOURTH(x) BSN_ANY(x)
#endif
BSN_ALWAYS_INLINE uint64_t bsn_any_second(void)
{
	uint64_t any;

	BSN_ANY_SECOND(any);
	return any;
}

/* Of a message, which has none. */
BSN_ALWAYS_INLINE const struct bsn_remote *bsn_remote_if(bool has_remote, const struct bsn_remote *remote)
{
	const struct bsn_remote *any;

	BSN_ANY_THIRD(any);
	return has_remote ? remote : any;
}

BSN_ALWAYS_INLINE uint64_t bsn_any_fourth(void)
{
	uint64_t any;

	BSN_ANY_FOURTH(any);
	return any;
}

/* One of @count; the compiler knows both numbers. */
BSN_ALWAYS_INLINE bsn_v2 bsn_unit(const uint8_t *data, size_t length, unsigned count, unsigned i)
{
	const uint8_t *const at = data + BSN_DS_INLINE_MAX + BSN_DS_SIZE * (size_t)(i - 1);

	if (!i)
		return bsn_vector_of(bsn_ds_inline_first(data, length));
	if (i >= count)
		return (bsn_v2){ 0, 0 };
	if (i < count - 1)
		return bsn_v2_load(at);
	return bsn_vector_of(bsn_ds_inline_last(at, data + length, length));
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
	struct bsn_sq *const sq = bsn_sq_in(kind, more, ep);

	if (!bsn_has_opcode(sq, prefix_ds, opcode))
		return BSN_NOT_PLAIN;
	return bsn_put_units(ep, sq, sq->slot, prefix_ds, opcode, has_remote, units,
			     count, remote, kind, more, id, flags);
}

/* So many units as the parameters of a function, each in a register; and as its arguments, or the elements of an array. */
#define BSN_UNITS_PARAMETERS                                                                       \
	struct bsn_ep *ep, uint64_t w1 __attribute__((unused)), const struct bsn_remote *remote,   \
		uint64_t w0 __attribute__((unused)), uint64_t more, uint64_t id
#define BSN_UNITS_ARGUMENTS   ep, w1, remote, w0, more, id
#define BSN_UNITS2_PARAMETERS BSN_UNITS_PARAMETERS, bsn_v2 v0, bsn_v2 v1
#define BSN_UNITS3_PARAMETERS BSN_UNITS2_PARAMETERS, bsn_v2 v2
#define BSN_UNITS4_PARAMETERS BSN_UNITS3_PARAMETERS, bsn_v2 v3
#define BSN_UNITS5_PARAMETERS BSN_UNITS4_PARAMETERS, bsn_v2 v4
#define BSN_UNITS6_PARAMETERS BSN_UNITS5_PARAMETERS, bsn_v2 v5
#define BSN_UNITS7_PARAMETERS BSN_UNITS6_PARAMETERS, bsn_v2 v6
#define BSN_UNITS8_PARAMETERS BSN_UNITS7_PARAMETERS, bsn_v2 v7
#define BSN_UNITS9_PARAMETERS BSN_UNITS8_PARAMETERS
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
#define BSN_UNITS9_ARGUMENTS  BSN_UNITS8_ARGUMENTS
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
#define BSN_UNITS_OF(count)                                                                        \
	BSN_UNITS(bsn_peer_write_units##count##_quietly, count, BSN_OPCODE_RDMA_WRITE, true, BSN_MORE_LOADED, 0u) \
	BSN_UNITS(bsn_peer_write_units##count##_rung, count, BSN_OPCODE_RDMA_WRITE, true, BSN_MORE_LOADED, \
		  BSN_F_RUNG)                                                                      \
	BSN_UNITS(bsn_peer_send_units##count##_quietly, count, BSN_OPCODE_SEND, false, BSN_MORE_LOADED, 0u) \
	BSN_UNITS(bsn_peer_send_units##count##_rung, count, BSN_OPCODE_SEND, false, BSN_MORE_LOADED, BSN_F_RUNG) \
	BSN_UNITS(bsn_peer_rdma_units##count, count, (uint8_t)more, true, BSN_MORE_WHAT, (uint32_t)more) \
	BSN_UNITS(bsn_peer_message_units##count, count, (uint8_t)more, false, BSN_MORE_WHAT, (uint32_t)more) \
	BSN_POST_COUNT(bsn_post_rdma_units##count, count, bsn_peer_rdma, bsn_peer_write, BSN_OPCODE_RDMA_WRITE) \
	BSN_POST_COUNT(bsn_post_message_units##count, count, bsn_peer_message, bsn_peer_send, BSN_OPCODE_SEND)
/* By the functions of the opcode that is @common, or of all. */
#define BSN_POST_COUNT(name, count, all, one, common)                                              \
	BSN_ALWAYS_INLINE int name(struct bsn_ep *ep, unsigned opcode, const struct bsn_remote *remote, uint32_t imm, \
				   uint64_t id, uint32_t flags, const bsn_v2 *units)               \
	{                                                                                          \
		const uint64_t sq = (uintptr_t)ep->sq;                                             \
		const uint64_t what = (uint64_t)imm << 32 | BSN_WHAT(opcode, flags, 0u);           \
                                                                                                   \
		if (opcode == (common) && flags == BSN_F_RUNG)                                     \
			return one##_units##count##_rung(BSN_UNITS##count##_GIVEN(sq));            \
		if (opcode == (common) && !flags)                                                  \
			return one##_units##count##_quietly(BSN_UNITS##count##_GIVEN(sq));         \
		return all##_units##count(BSN_UNITS##count##_GIVEN(what));                         \
	}
#define BSN_UNITS2_GIVEN(more) ep, bsn_any_second(), remote, bsn_any_fourth(), more, id, units[0], units[1]
#define BSN_UNITS3_GIVEN(more) BSN_UNITS2_GIVEN(more), units[2]
#define BSN_UNITS4_GIVEN(more) BSN_UNITS3_GIVEN(more), units[3]
#define BSN_UNITS5_GIVEN(more) BSN_UNITS4_GIVEN(more), units[4]
#define BSN_UNITS6_GIVEN(more) BSN_UNITS5_GIVEN(more), units[5]
#define BSN_UNITS7_GIVEN(more) BSN_UNITS6_GIVEN(more), units[6]
#define BSN_UNITS8_GIVEN(more) BSN_UNITS7_GIVEN(more), units[7]
#define BSN_UNITS9_GIVEN(more)                                                                     \
	ep, units[8][1], remote, units[8][0], more, id, units[0], units[1], units[2], units[3], units[4], units[5], \
		units[6], units[7]
BSN_UNITS_OF(2)
BSN_UNITS_OF(3)
BSN_UNITS_OF(4)
BSN_UNITS_OF(5)
BSN_UNITS_OF(6)
BSN_UNITS_OF(7)
BSN_UNITS_OF(8)
BSN_UNITS_OF(9)
#undef BSN_UNITS_OF
#undef BSN_POST_COUNT
#undef BSN_UNITS

/* Of rdma or message; a file that posts one of both does not take the time to compile the other's. */
#define BSN_POST_ALL_UNITS(rdma)                                                                   \
	BSN_ALWAYS_INLINE int bsn_post_##rdma##_units(struct bsn_ep *ep, unsigned opcode, const uint8_t *data, \
						      size_t length, const struct bsn_remote *remote, \
						      uint32_t imm, uint64_t id, uint32_t flags)   \
	{                                                                                          \
		const unsigned count = bsn_units_of(length);                                       \
		const bsn_v2 units[BSN_UNITS_MAX] = {                                              \
			bsn_unit(data, length, count, 0), bsn_unit(data, length, count, 1),        \
			bsn_unit(data, length, count, 2), bsn_unit(data, length, count, 3),        \
			bsn_unit(data, length, count, 4), bsn_unit(data, length, count, 5),        \
			bsn_unit(data, length, count, 6), bsn_unit(data, length, count, 7),        \
			bsn_unit(data, length, count, 8),                                          \
		};                                                                                 \
                                                                                                   \
		switch (count) {                                                                   \
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

/* Or either: the length is one that the functions above take. */
BSN_ALWAYS_INLINE bool bsn_is_known_length(size_t length)
{
	return bsn_is_unit(length) || bsn_are_units(length);
}

/* -- of any length ------------------------------------------------------------------------------------- */

/*
 * Of a length that the compiler does not know. Two units have a function, which stores the last one so that it reaches
 * back into the first. More go by the functions above. What is longer, or a few bytes, has one function for all flags.
 * The parameters are in the order of those above, so that most stay where they are. @more: as of other functions, the
 * queue or what is posted.
 */
#define BSN_DATA_PARAMETERS                                                                        \
	struct bsn_ep *ep, const void *data, const struct bsn_remote *remote, size_t length,       \
		uint64_t more __attribute__((unused)), uint64_t id
#define BSN_DATA_ARGUMENTS ep, data, remote, length, more, id

/* To a peer with such a vector. */
BSN_ALWAYS_INLINE int bsn_try_two(BSN_DATA_PARAMETERS, unsigned prefix_ds, unsigned opcode, bool has_remote,
				  uint32_t flags)
{
	struct bsn_sq *const sq = bsn_sq_in(BSN_MORE_LOADED, more, ep);

	if (!bsn_has_opcode(sq, prefix_ds, opcode) || BSN_UNLIKELY((uint32_t)length > sq->put_inline))
		return BSN_NOT_PLAIN;
	return bsn_put_two(sq, &sq->peer_limit, bsn_peer_of(ep), prefix_ds, opcode, (const uint8_t *)data, length,
			   true, remote, has_remote, 0, id, flags);
}

BSN_ALWAYS_INLINE int bsn_try_long(BSN_DATA_PARAMETERS, unsigned prefix_ds, bool has_remote)
{
	struct bsn_sq *const sq = ep->sq;
	const unsigned opcode = (uint8_t)more;

	if (!bsn_has_opcode(sq, prefix_ds, opcode))
		return BSN_NOT_PLAIN;
	return bsn_put_data(sq, &sq->peer_limit, bsn_peer_of(ep), prefix_ds, opcode, (const uint8_t *)data,
			    length, false, remote, has_remote, (uint32_t)(more >> 32), id, (uint32_t)more);
}

#define BSN_UNIT(count, i)       bsn_unit((const uint8_t *)data, length, count, i)
#define BSN_UNITS2_MADE(count)   BSN_UNIT(count, 0), BSN_UNIT(count, 1)
#define BSN_UNITS3_MADE(count)   BSN_UNITS2_MADE(count), BSN_UNIT(count, 2)
#define BSN_UNITS4_MADE(count)   BSN_UNITS3_MADE(count), BSN_UNIT(count, 3)
#define BSN_UNITS5_MADE(count)   BSN_UNITS4_MADE(count), BSN_UNIT(count, 4)
#define BSN_UNITS6_MADE(count)   BSN_UNITS5_MADE(count), BSN_UNIT(count, 5)
#define BSN_UNITS7_MADE(count)   BSN_UNITS6_MADE(count), BSN_UNIT(count, 6)
#define BSN_UNITS8_MADE(count)   BSN_UNITS7_MADE(count), BSN_UNIT(count, 7)
#define BSN_CASE(name, after, has_remote, count)                                                   \
	case (count) - 2:                                                                          \
		if (!bsn_fit_units(sq, has_remote, count))                                         \
			break;                                                                     \
		return name##_units##count##after(ep, (uintptr_t)data, bsn_remote_if(has_remote, remote), \
						  bsn_any_fourth(), more, id,               \
						  BSN_UNITS##count##_MADE(count##u));
/* A function's body; @otherwise: what it does with data of other lengths, or without room. */
#define BSN_POST_UNITS(name, after, has_remote, kind, otherwise)                                   \
	{                                                                                          \
		const struct bsn_sq *const sq = bsn_sq_in(kind, more, ep);                         \
		size_t more_units = ((uint32_t)length - (BSN_DS_INLINE_MAX + 1)) / BSN_DS_SIZE;    \
		bsn_v2 last;                                                                       \
                                                                                                   \
		if (BSN_UNLIKELY((uint32_t)length > sq->put_inline))                               \
			return otherwise;                                                          \
		BSN_HIDE(more_units); /* else two registers have it */                             \
		switch (more_units) {                                                              \
		BSN_CASE(name, after, has_remote, 2)                                               \
		BSN_CASE(name, after, has_remote, 3)                                               \
		BSN_CASE(name, after, has_remote, 4)                                               \
		BSN_CASE(name, after, has_remote, 5)                                               \
		BSN_CASE(name, after, has_remote, 6)                                               \
		BSN_CASE(name, after, has_remote, 7)                                               \
		BSN_CASE(name, after, has_remote, 8)                                               \
		case 9 - 2:                                                                        \
			if (!bsn_fit_units(sq, has_remote, 9))                                     \
				break;                                                             \
			last = BSN_UNIT(9u, 8);                                                    \
			return name##_units9##after(ep, last[1], bsn_remote_if(has_remote, remote), last[0], more, \
						    id, BSN_UNITS8_MADE(9u));              \
		default: break;                                                                    \
		}                                                                                  \
		return otherwise;                                                                  \
	}

#define BSN_DATA_COLD(name, opcode, imm, flags)                                                    \
	BSN_UNCHANGED int name##_cold(BSN_DATA_PARAMETERS)                                         \
	{                                                                                          \
		return bsn_post_inline_cold(ep, opcode, data, (uint32_t)length, remote, imm, id,   \
					    (flags) & BSN_F_PLAIN);                                \
	}
/* With any flags and immediates. */
#define BSN_PEER_DATA_ANY(name, has_remote)                                                        \
	BSN_DATA_COLD(name##_long, (uint8_t)more, (uint32_t)(more >> 32), (uint32_t)more)          \
	BSN_BY_VECTOR(name##_long, BSN_DATA, bsn_try_long(BSN_DATA_ARGUMENTS, prefix_ds, has_remote)) \
	BSN_UNCHANGED int name##_data(BSN_DATA_PARAMETERS)                                         \
	BSN_POST_UNITS(name, , has_remote, BSN_MORE_WHAT,                                          \
		       name##_long(ep, data, bsn_remote_if(has_remote, remote), length, more, id))
/* With flags that are common; @any: the name of those with any. */
#define BSN_PEER_DATA(name, after, any, opcode, has_remote, flags)                                 \
	BSN_DATA_COLD(name##_two##after, opcode, 0, flags)                                         \
	BSN_BY_VECTOR(name##_two##after, BSN_DATA,                                                 \
		      bsn_try_two(BSN_DATA_ARGUMENTS, prefix_ds, opcode, has_remote, flags))       \
	BSN_UNCHANGED int name##_data##after(BSN_DATA_PARAMETERS)                                  \
	BSN_POST_UNITS(name, after, has_remote, BSN_MORE_LOADED,                                   \
		       any##_long(ep, data, bsn_remote_if(has_remote, remote), length, BSN_WHAT(opcode, flags, 0u), id))
BSN_PEER_DATA_ANY(bsn_peer_rdma, true)
BSN_PEER_DATA_ANY(bsn_peer_message, false)
BSN_PEER_DATA(bsn_peer_write, _rung, bsn_peer_rdma, BSN_OPCODE_RDMA_WRITE, true, BSN_F_RUNG)
BSN_PEER_DATA(bsn_peer_write, _quietly, bsn_peer_rdma, BSN_OPCODE_RDMA_WRITE, true, 0u)
BSN_PEER_DATA(bsn_peer_send, _rung, bsn_peer_message, BSN_OPCODE_SEND, false, BSN_F_RUNG)
BSN_PEER_DATA(bsn_peer_send, _quietly, bsn_peer_message, BSN_OPCODE_SEND, false, 0u)
#undef BSN_PEER_DATA
#undef BSN_PEER_DATA_ANY
#undef BSN_DATA_COLD

/* With plain flags, where there is room for a block. */
#define BSN_POST_DATA(name, after)                                                                 \
	(BSN_UNLIKELY(beyond < BSN_DS_SIZE) ? name##_two##after(BSN_DATA_ARGUMENTS) : name##_data##after(BSN_DATA_ARGUMENTS))
BSN_ALWAYS_INLINE int bsn_post_data(struct bsn_ep *ep, const struct bsn_kind *kind, const void *data, size_t length,
				    const struct bsn_remote *remote, uint32_t imm, uint64_t id, uint32_t flags)
{
	const uint32_t beyond = (uint32_t)length - (BSN_DS_INLINE_MAX + 1); /* a unit */
	uint64_t more = (uintptr_t)ep->sq;

	if (beyond >= (uint32_t)BSN_LITTLE_MIN - (BSN_DS_INLINE_MAX + 1))
		return bsn_post_piece(ep, kind, bsn_ds_little((const uint8_t *)data, length), remote, id,
				      imm, flags);
	remote = bsn_remote_of(kind, remote);
	if (kind->opcode == BSN_OPCODE_RDMA_WRITE && flags == BSN_F_RUNG)
		return BSN_POST_DATA(bsn_peer_write, _rung);
	if (kind->opcode == BSN_OPCODE_RDMA_WRITE && __builtin_constant_p(flags) && !flags)
		return BSN_POST_DATA(bsn_peer_write, _quietly);
	if (kind->opcode == BSN_OPCODE_SEND && flags == BSN_F_RUNG)
		return BSN_POST_DATA(bsn_peer_send, _rung);
	if (kind->opcode == BSN_OPCODE_SEND && __builtin_constant_p(flags) && !flags)
		return BSN_POST_DATA(bsn_peer_send, _quietly);
	more = (uint64_t)imm << 32 | BSN_WHAT(kind->opcode, flags, 0u);
	return kind->has_remote ? bsn_peer_rdma_data(BSN_DATA_ARGUMENTS) : bsn_peer_message_data(BSN_DATA_ARGUMENTS);
}
#undef BSN_POST_DATA

BSN_HEADER_END

#endif
