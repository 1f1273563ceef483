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
#define BSN_UNITS_MAX   9
#define BSN_UNITS_BYTES (BSN_DS_INLINE_MAX + (BSN_UNITS_MAX - 1) * BSN_DS_SIZE)

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

/*
 * Of a request that is appended, the last unit is the last bytes of the data, as many as a unit has: they are stored where they
 * end, over the end of the unit before. Of one that is rung it is padded, since its register is copied to the device,
 * too. So it is where there are two, which may be less than 16 bytes, and of the most, which leave no register for the
 * length.
 */
BSN_ALWAYS_INLINE bool bsn_is_last_raw(unsigned count, uint32_t flags)
{
	return count > 2 && count < BSN_UNITS_MAX && __builtin_constant_p(flags) && !flags;
}

/* One of @count; the compiler knows both numbers. */
BSN_ALWAYS_INLINE bsn_v2 bsn_unit(const uint8_t *data, size_t length, unsigned count, unsigned i, bool is_last_raw)
{
	const uint8_t *const at = data + BSN_DS_INLINE_MAX + BSN_DS_SIZE * (size_t)(i - 1);

	if (!i)
		return bsn_vector_of(bsn_ds_inline_first(data, length));
	if (i >= count)
		return (bsn_v2){ 0, 0 };
	if (i < count - 1)
		return bsn_v2_load(at);
	if (is_last_raw)
		return bsn_v2_load(data + length - BSN_DS_SIZE);
	return bsn_vector_of(bsn_ds_inline_last(at, data + length, bsn_beyond_of(length)));
}

BSN_ALWAYS_INLINE int bsn_put_units(struct bsn_ep *ep, struct bsn_sq *sq, uint8_t *slot,
				    unsigned prefix_ds, unsigned opcode, bool has_remote,
				    const bsn_v2 *units, unsigned count, size_t beyond,
				    const struct bsn_remote *remote, enum bsn_more kind, uint64_t more,
				    uint64_t id, uint32_t flags)
{
	const unsigned n = 1 + prefix_ds + has_remote, ds = n + count;
	const bool is_last_raw = bsn_is_last_raw(count, flags);
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
	if (is_last_raw) /* @beyond is not read otherwise */
		bsn_store_wqe_v2(slot + n * BSN_DS_SIZE + BSN_INLINE_HDR_SIZE + bsn_length_of(beyond) - BSN_DS_SIZE,
				 units[count - 1]);
	return bsn_end_peer(sq, slot, &r, opcode, ds, ds - is_last_raw, id, flags);
}

/* The data are put together again: they were not kept elsewhere. */
BSN_ALWAYS_INLINE int bsn_units_cold(struct bsn_ep *ep, unsigned opcode, bsn_v2 *units, unsigned count,
				     const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				     uint32_t flags)
{
	uint8_t *const bytes = (uint8_t *)units;
	struct bsn_inline_hdr hdr;

	bsn_inline_hdr_decode(&hdr, bytes);
	if (bsn_is_last_raw(count, flags)) {
		const bsn_v2 last = units[count - 1];

		memcpy(bytes + BSN_INLINE_HDR_SIZE + hdr.byte_count - sizeof(last), &last, sizeof(last));
	}
	return bsn_sq_post_inline(ep, BSN_WHAT(opcode, (flags & BSN_F_PLAIN) | BSN_F_INLINE, hdr.byte_count),
				  bytes + BSN_INLINE_HDR_SIZE, remote, imm, id);
}

/* There is room. */
BSN_ALWAYS_INLINE int bsn_try_units(struct bsn_ep *ep, unsigned prefix_ds, unsigned opcode, bool has_remote,
				    const bsn_v2 *units, unsigned count, size_t beyond,
				    const struct bsn_remote *remote, enum bsn_more kind, uint64_t more,
				    uint64_t id, uint32_t flags)
{
	struct bsn_sq *const sq = bsn_sq_in(kind, more, ep);

	if (!bsn_has_opcode(sq, prefix_ds, opcode))
		return BSN_NOT_PLAIN;
	return bsn_put_units(ep, sq, sq->slot, prefix_ds, opcode, has_remote, units,
			     count, beyond, remote, kind, more, id, flags);
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
		bsn_v2 units[] = { BSN_UNITS##count##_VALUES };                                    \
                                                                                                   \
		return bsn_units_cold(ep, opcode, units, count, remote, bsn_imm_in(kind, more, bsn_no_imm()), id, flags); \
	}                                                                                          \
	BSN_ALWAYS_INLINE int name##_try(unsigned prefix_ds, BSN_UNITS##count##_PARAMETERS)        \
	{                                                                                          \
		const bsn_v2 units[] = { BSN_UNITS##count##_VALUES };                              \
                                                                                                   \
		return bsn_try_units(ep, prefix_ds, opcode, has_remote, units, count, w0, remote, kind, more, id, flags); \
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
	BSN_ALWAYS_INLINE int name(struct bsn_ep *ep, unsigned opcode, const uint8_t *data, size_t length, \
				   const struct bsn_remote *remote, uint32_t imm, uint64_t id, uint32_t flags) \
	{                                                                                          \
		const uint64_t what = (uint64_t)imm << 32 | BSN_WHAT(opcode, flags, 0u);           \
		uint64_t more = (uintptr_t)ep->sq, w0 = bsn_any_fourth(), w1 = bsn_any_second();   \
		bsn_v2 units[BSN_UNITS_MAX];                                                       \
                                                                                                   \
		if (opcode == (common) && !flags) {                                                \
			bsn_make_units(units, &w1, &w0, data, length, count, bsn_is_last_raw(count, 0)); \
			return one##_units##count##_quietly(BSN_UNITS##count##_GIVEN);             \
		}                                                                                  \
		bsn_make_units(units, &w1, &w0, data, length, count, false);                       \
		if (opcode == (common) && flags == BSN_F_RUNG)                                     \
			return one##_units##count##_rung(BSN_UNITS##count##_GIVEN);                \
		more = what;                                                                       \
		return all##_units##count(BSN_UNITS##count##_GIVEN);                               \
	}
#define BSN_UNITS2_GIVEN ep, w1, remote, w0, more, id, units[0], units[1]
#define BSN_UNITS3_GIVEN BSN_UNITS2_GIVEN, units[2]
#define BSN_UNITS4_GIVEN BSN_UNITS3_GIVEN, units[3]
#define BSN_UNITS5_GIVEN BSN_UNITS4_GIVEN, units[4]
#define BSN_UNITS6_GIVEN BSN_UNITS5_GIVEN, units[5]
#define BSN_UNITS7_GIVEN BSN_UNITS6_GIVEN, units[6]
#define BSN_UNITS8_GIVEN BSN_UNITS7_GIVEN, units[7]
#define BSN_UNITS9_GIVEN BSN_UNITS8_GIVEN

/* And the two words that go with them, where they are read: the ninth, or how long they are. */
BSN_ALWAYS_INLINE void bsn_make_units(bsn_v2 *units, uint64_t *w1, uint64_t *w0, const uint8_t *data, size_t length,
				      unsigned count, bool is_last_raw)
{
	BSN_UNROLL for (unsigned i = 0; i < BSN_UNITS_MAX; i++)
		units[i] = bsn_unit(data, length, count, i, is_last_raw);
	if (count == BSN_UNITS_MAX) {
		*w0 = (uint64_t)units[BSN_UNITS_MAX - 1][0];
		*w1 = (uint64_t)units[BSN_UNITS_MAX - 1][1];
	} else if (is_last_raw) {
		*w0 = bsn_beyond_of(length);
	}
}

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
		switch (bsn_units_of(length)) {                                                    \
		case 2: return bsn_post_##rdma##_units2(ep, opcode, data, length, remote, imm, id, flags); \
		case 3: return bsn_post_##rdma##_units3(ep, opcode, data, length, remote, imm, id, flags); \
		case 4: return bsn_post_##rdma##_units4(ep, opcode, data, length, remote, imm, id, flags); \
		case 5: return bsn_post_##rdma##_units5(ep, opcode, data, length, remote, imm, id, flags); \
		case 6: return bsn_post_##rdma##_units6(ep, opcode, data, length, remote, imm, id, flags); \
		case 7: return bsn_post_##rdma##_units7(ep, opcode, data, length, remote, imm, id, flags); \
		case 8: return bsn_post_##rdma##_units8(ep, opcode, data, length, remote, imm, id, flags); \
		default: return bsn_post_##rdma##_units9(ep, opcode, data, length, remote, imm, id, flags); \
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
 * back into the first. More go by the functions above, and what is longer has functions of its own. The last ones take
 * any length and flags.
 * The parameters are in the order of those above, so that most stay where they are. @beyond is what callers have at hand:
 * see bsn_length_of(). @more: as of other functions, the queue or what is posted.
 */
#define BSN_DATA_PARAMETERS                                                                        \
	struct bsn_ep *ep, const void *data, const struct bsn_remote *remote, size_t beyond,       \
		uint64_t more __attribute__((unused)), uint64_t id
#define BSN_DATA_ARGUMENTS ep, data, remote, beyond, more, id

/* To a peer with such a vector. */
BSN_ALWAYS_INLINE int bsn_try_two(BSN_DATA_PARAMETERS, unsigned prefix_ds, unsigned opcode, bool has_remote,
				  uint32_t flags)
{
	struct bsn_sq *const sq = bsn_sq_in(BSN_MORE_LOADED, more, ep);

	if (!bsn_has_opcode(sq, prefix_ds, opcode) || BSN_UNLIKELY(bsn_length_of(beyond) > sq->put_inline))
		return BSN_NOT_PLAIN;
	return bsn_put_two(sq, &sq->peer_limit, bsn_peer_of(ep), prefix_ds, opcode, (const uint8_t *)data,
			   bsn_length_of(beyond), BSN_KNOWN_BLOCK, remote, has_remote, 0, id, flags);
}

/*
 * More than two units, for which there is room. As bsn_put_long(), but that what is the peer's and the first unit are in
 * vectors before the rest is copied: so the registers that a call may change are enough. @is_longer: than straight code
 * copies.
 */
BSN_ALWAYS_INLINE int bsn_put_long_to(struct bsn_sq *sq, const struct bsn_peer *peer, unsigned prefix_ds, unsigned opcode,
				      const uint8_t *data, size_t beyond, bool is_longer,
				      const struct bsn_remote *remote, bool has_remote, uint64_t id, uint32_t flags)
{
	const unsigned head = 1 + prefix_ds + has_remote;
	const size_t first = (head + 1) * BSN_DS_SIZE; /* bytes until the first DS of data ends */
	const uint8_t *const rest = data + BSN_DS_INLINE_MAX;
	uint8_t *const wqe = sq->slot;
	struct bsn_be64 ctrl0;
	struct bsn_regs r;
	size_t bytes;

	BSN_KEEP_IN_FOURTH(beyond);
	bsn_begin_peer(&r, sq, peer, prefix_ds, BSN_MORE_LOADED, 0, bsn_no_imm(), id, flags);
	if (has_remote)
		r.ds[head - 1] = bsn_ds_in(bsn_ds_raddr(remote), true);
	BSN_AFTER_V2(beyond, r.kept);
	bytes = bsn_whole_blocks(first + bsn_length_of(beyond) - BSN_DS_INLINE_MAX);
	bsn_move_on(&sq->slot, bytes);
	r.moves_later = false;
	bsn_put_inline_end(wqe + first - BSN_DS_INLINE_MAX, data, bsn_length_of(beyond));
	r.ds[head] = bsn_ds_inline_first(data, bsn_length_of(beyond));
	BSN_AFTER_V2(beyond, r.ds[head].v);
	beyond /= BSN_DS_SIZE;
	BSN_HIDE(beyond); /* one register; and else each case would load it as a constant */
	ctrl0 = bsn_ctrl0(sq, opcode, head + 2 + beyond);
	BSN_HIDE(ctrl0.raw); /* likewise */
	if (is_longer)
		bsn_put_inline_beyond(wqe + first, rest, beyond);
	bsn_put_inline_straight(sq, wqe + first, rest, is_longer ? BSN_INLINE_STRAIGHT_DS : beyond,
				BSN_BF_BUFFER_BYTES / BSN_DS_SIZE + 1 - (head + 2), flags);
	r.ds[0].w0 = ctrl0;
	return bsn_end(sq, wqe, NULL, true, &r, head + 1, BSN_REST_INLINE, head + 2, 0, bytes, id, flags);
}

/* As many as straight code copies. There is room for any of these. */
BSN_ALWAYS_INLINE int bsn_try_long(BSN_DATA_PARAMETERS, unsigned prefix_ds, unsigned opcode, bool has_remote,
				   uint32_t flags)
{
	struct bsn_sq *const sq = bsn_sq_in(BSN_MORE_LOADED, more, ep);

	if (!bsn_has_opcode(sq, prefix_ds, opcode))
		return BSN_NOT_PLAIN;
	return bsn_put_long_to(sq, bsn_peer_of(ep), prefix_ds, opcode, (const uint8_t *)data, beyond, false, remote,
			       has_remote, id, flags);
}

/* What is longer; or no data, or more than the queue takes, which are not plain. It looks for room itself. */
BSN_ALWAYS_INLINE int bsn_try_longer(BSN_DATA_PARAMETERS, unsigned prefix_ds, unsigned opcode, bool has_remote,
				     uint32_t flags)
{
	struct bsn_sq *const sq = bsn_sq_in(BSN_MORE_LOADED, more, ep);
	const size_t head = 1 + prefix_ds + has_remote, length = (uint32_t)bsn_length_of(beyond);

	if (!bsn_has_opcode(sq, prefix_ds, opcode) || length <= BSN_INLINE_STRAIGHT || length > sq->put_inline ||
	    !bsn_fits(sq, sq->peer_limit, bsn_whole_blocks(head * BSN_DS_SIZE + BSN_INLINE_HDR_SIZE + length)))
		return BSN_NOT_PLAIN;
	return bsn_put_long_to(sq, bsn_peer_of(ep), prefix_ds, opcode, (const uint8_t *)data, beyond, true, remote,
			       has_remote, id, flags);
}

/* Of any length, with any opcode and flags. */
BSN_ALWAYS_INLINE int bsn_try_any(BSN_DATA_PARAMETERS, unsigned prefix_ds, bool has_remote)
{
	struct bsn_sq *const sq = ep->sq;
	const unsigned opcode = (uint8_t)more;

	if (!bsn_has_opcode(sq, prefix_ds, opcode))
		return BSN_NOT_PLAIN;
	return bsn_put_data(sq, &sq->peer_limit, bsn_peer_of(ep), prefix_ds, opcode, (const uint8_t *)data,
			    (uint32_t)bsn_length_of(beyond), BSN_KNOWN_ALL, remote, has_remote,
			    (uint32_t)(more >> 32), id, (uint32_t)more);
}

#define BSN_UNIT(count, i)       bsn_unit((const uint8_t *)data, bsn_length_of(beyond), count, i, is_last_raw)
#define BSN_UNITS2_MADE(count)   BSN_UNIT(count, 1)
#define BSN_UNITS3_MADE(count)   BSN_UNITS2_MADE(count), BSN_UNIT(count, 2)
#define BSN_UNITS4_MADE(count)   BSN_UNITS3_MADE(count), BSN_UNIT(count, 3)
#define BSN_UNITS5_MADE(count)   BSN_UNITS4_MADE(count), BSN_UNIT(count, 4)
#define BSN_UNITS6_MADE(count)   BSN_UNITS5_MADE(count), BSN_UNIT(count, 5)
#define BSN_UNITS7_MADE(count)   BSN_UNITS6_MADE(count), BSN_UNIT(count, 6)
#define BSN_UNITS8_MADE(count)   BSN_UNITS7_MADE(count), BSN_UNIT(count, 7)
/* The first unit is made before the last one: then @beyond stays in one register. */
#define BSN_CASE(name, after, has_remote, count)                                                   \
	case (count) - 3:                                                                          \
		BSN_HIDE(beyond);                                                                  \
		first = BSN_UNIT(count##u, 0);                                                     \
		BSN_AFTER_V2(beyond, first);                                                       \
		return name##_units##count##after(ep, (uintptr_t)data, bsn_remote_if(has_remote, remote), \
						  is_last_raw ? beyond : bsn_any_fourth(), more, id, first, \
						  BSN_UNITS##count##_MADE(count##u));
/*
 * The body of a function for lengths of more than two units, where there is room for any of those that straight code
 * copies. It takes what no other function does, too: no data.
 */
#define BSN_POST_UNITS(name, after, has_remote, flags)                                             \
	{                                                                                          \
		const struct bsn_sq *const sq = bsn_sq_in(BSN_MORE_LOADED, more, ep);              \
		size_t more_units = (uint32_t)beyond - BSN_DS_SIZE;                                \
		bool is_last_raw = bsn_is_last_raw(3, flags);                                      \
		bsn_v2 first, last;                                                                \
                                                                                                   \
		if (BSN_UNLIKELY(more_units >= sq->peer_straight)) {                               \
			remote = bsn_remote_if(has_remote, remote);                                \
			return more_units < sq->inline_straight ? name##_long##after(BSN_DATA_ARGUMENTS) \
								: name##_longer##after(BSN_DATA_ARGUMENTS); \
		}                                                                                  \
		more_units /= BSN_DS_SIZE;                                                         \
		BSN_HIDE(more_units); /* else two registers have it */                             \
		switch (more_units) {                                                              \
		BSN_CASE(name, after, has_remote, 3)                                               \
		BSN_CASE(name, after, has_remote, 4)                                               \
		BSN_CASE(name, after, has_remote, 5)                                               \
		BSN_CASE(name, after, has_remote, 6)                                               \
		BSN_CASE(name, after, has_remote, 7)                                               \
		BSN_CASE(name, after, has_remote, 8)                                               \
		case 9 - 3:                                                                        \
			is_last_raw = false;                                                       \
			BSN_HIDE(beyond);                                                          \
			first = BSN_UNIT(9u, 0);                                                   \
			BSN_AFTER_V2(beyond, first);                                               \
			last = BSN_UNIT(9u, 8);                                                    \
			return name##_units9##after(ep, last[1], bsn_remote_if(has_remote, remote), last[0], more, \
						    id, first, BSN_UNITS8_MADE(9u));               \
		default: __builtin_unreachable();                                                  \
		}                                                                                  \
	}

#define BSN_DATA_COLD(name, opcode, imm, flags)                                                    \
	BSN_UNCHANGED int name##_cold(BSN_DATA_PARAMETERS)                                         \
	{                                                                                          \
		return bsn_sq_post_inline(ep, BSN_WHAT(opcode, ((flags) & BSN_F_PLAIN) | BSN_F_INLINE, \
						       bsn_what_count((uint32_t)bsn_length_of(beyond))), \
					  data, remote, imm, id);                                  \
	}
/* With flags that are common. */
#define BSN_PEER_DATA(name, after, opcode, has_remote, flags)                                      \
	BSN_DATA_COLD(name##_longer##after, opcode, 0, flags)                                      \
	BSN_BY_VECTOR(name##_longer##after, BSN_DATA,                                              \
		      bsn_try_longer(BSN_DATA_ARGUMENTS, prefix_ds, opcode, has_remote, flags))    \
	BSN_DATA_COLD(name##_long##after, opcode, 0, flags)                                        \
	BSN_BY_VECTOR(name##_long##after, BSN_DATA,                                                \
		      bsn_try_long(BSN_DATA_ARGUMENTS, prefix_ds, opcode, has_remote, flags))      \
	BSN_DATA_COLD(name##_two##after, opcode, 0, flags)                                         \
	BSN_BY_VECTOR(name##_two##after, BSN_DATA,                                                 \
		      bsn_try_two(BSN_DATA_ARGUMENTS, prefix_ds, opcode, has_remote, flags))       \
	BSN_UNCHANGED int name##_data##after(BSN_DATA_PARAMETERS)                                  \
	BSN_POST_UNITS(name, after, has_remote, flags)
BSN_PEER_DATA(bsn_peer_write, _rung, BSN_OPCODE_RDMA_WRITE, true, BSN_F_RUNG)
BSN_PEER_DATA(bsn_peer_write, _quietly, BSN_OPCODE_RDMA_WRITE, true, 0u)
BSN_PEER_DATA(bsn_peer_send, _rung, BSN_OPCODE_SEND, false, BSN_F_RUNG)
BSN_PEER_DATA(bsn_peer_send, _quietly, BSN_OPCODE_SEND, false, 0u)
/* With any flags and immediates. */
#define BSN_PEER_DATA_ANY(name, has_remote)                                                        \
	BSN_DATA_COLD(name, (uint8_t)more, (uint32_t)(more >> 32), (uint32_t)more)                 \
	BSN_BY_VECTOR(name, BSN_DATA, bsn_try_any(BSN_DATA_ARGUMENTS, prefix_ds, has_remote))
BSN_PEER_DATA_ANY(bsn_peer_rdma_data, true)
BSN_PEER_DATA_ANY(bsn_peer_message_data, false)
#undef BSN_PEER_DATA_ANY
#undef BSN_PEER_DATA
#undef BSN_DATA_COLD
#undef BSN_POST_UNITS
#undef BSN_CASE
#undef BSN_UNITS8_MADE
#undef BSN_UNITS7_MADE
#undef BSN_UNITS6_MADE
#undef BSN_UNITS5_MADE
#undef BSN_UNITS4_MADE
#undef BSN_UNITS3_MADE
#undef BSN_UNITS2_MADE
#undef BSN_UNIT

/*
 * With plain flags. Where there is no room, the library's functions look. What costs least is told from others first, since
 * a compare counts most there.
 */
#define BSN_POST_DATA(form)                                                                        \
	do {                                                                                       \
		if (kind->opcode == BSN_OPCODE_RDMA_WRITE && is_quiet)                             \
			return bsn_peer_write_##form##_quietly(BSN_DATA_ARGUMENTS);                \
		if (kind->opcode == BSN_OPCODE_RDMA_WRITE && flags == BSN_F_RUNG)                  \
			return bsn_peer_write_##form##_rung(BSN_DATA_ARGUMENTS);                   \
		if (kind->opcode == BSN_OPCODE_SEND && is_quiet)                                   \
			return bsn_peer_send_##form##_quietly(BSN_DATA_ARGUMENTS);                 \
		if (kind->opcode == BSN_OPCODE_SEND && flags == BSN_F_RUNG)                        \
			return bsn_peer_send_##form##_rung(BSN_DATA_ARGUMENTS);                    \
	} while (0)
BSN_ALWAYS_INLINE int bsn_post_data(struct bsn_ep *ep, const struct bsn_kind *kind, const void *data, size_t length,
				    const struct bsn_remote *remote, uint32_t imm, uint64_t id, uint32_t flags)
{
	const bool is_quiet = __builtin_constant_p(flags) && !flags;
	size_t beyond = (uint32_t)bsn_beyond_of(length); /* negative in its low half: one unit, or far too much */
	struct bsn_sq *const sq = ep->sq;
	uint64_t more = (uintptr_t)sq;
	bool is_little;

	BSN_HIDE(beyond); /* one register */
	if (kind->has_remote)
		BSN_KEEP_IN_THIRD(remote);
	/* One compare where there is an immediate, of which more data are for other functions; else the sign comes first. */
	is_little = (kind->has_imm || (int32_t)beyond < 0) && (uint32_t)beyond >= (uint32_t)bsn_beyond_of(BSN_LITTLE_MIN);
	if (is_little && bsn_fits(sq, sq->peer_limit, BSN_BB_SIZE))
		return bsn_post_piece(ep, kind, bsn_ds_little((const uint8_t *)data, length, beyond, true), remote, id,
				      imm, flags);
	if ((int32_t)beyond < 0) {
		if (length - 1 < BSN_LITTLE_MIN - 1 && bsn_fits(sq, sq->peer_limit, BSN_BB_SIZE))
			return bsn_post_piece(ep, kind, bsn_ds_tiny((const uint8_t *)data, length), remote, id, imm,
					      flags);
	} else if (beyond < BSN_DS_SIZE && bsn_fits(sq, sq->peer_limit, BSN_BB_SIZE)) {
		remote = bsn_remote_if(kind->has_remote, remote);
		BSN_POST_DATA(two);
	}
	if (!bsn_fits(sq, sq->peer_inline_limit, BSN_BB_SIZE))
		return bsn_post_inline_cold(ep, kind->opcode, data, (uint32_t)length, remote, imm, id, flags);
	remote = bsn_remote_if(kind->has_remote, remote);
	BSN_POST_DATA(data);
	more = (uint64_t)imm << 32 | BSN_WHAT(kind->opcode, flags, 0u);
	return kind->has_remote ? bsn_peer_rdma_data(BSN_DATA_ARGUMENTS) : bsn_peer_message_data(BSN_DATA_ARGUMENTS);
}
#undef BSN_POST_DATA

BSN_HEADER_END

#endif
