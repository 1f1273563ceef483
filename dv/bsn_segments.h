/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a WQE is made of, as the inline code has it: units of 16 bytes in registers, the control segment, addresses,
 * data pointers, inline data.
 */
#ifndef BSN_SEGMENTS_H
#define BSN_SEGMENTS_H

#include "bsn_sq.h"

#if defined(__SSE4_1__)
#include <smmintrin.h>
#elif defined(__x86_64__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

BSN_HEADER_BEGIN

/* -- changes in memory ---------------------------------------------------------------------------- */

/* Adds in memory: gcc 12 would go on with what it has loaded, in two instructions. */
BSN_ALWAYS_INLINE void bsn_move_on(uint8_t **at, size_t bytes)
{
#if defined(__x86_64__)
	__asm__("addq %1, %0" : "+m"(*at) : "er"(bytes) : "cc");
#else
	*at += bytes;
#endif
}

/* The same of counters, of which gcc 12 would make one vector. */
BSN_ALWAYS_INLINE void bsn_count(uint64_t *counter, uint64_t more)
{
#if defined(__x86_64__)
	__asm__("addq %1, %0" : "+m"(*counter) : "er"(more) : "cc");
#else
	*counter += more;
#endif
}

/* The same of bits. */
BSN_ALWAYS_INLINE void bsn_set_bits(uint8_t *at, uint8_t bits)
{
#if defined(__x86_64__)
	__asm__("orb %1, %0" : "+m"(*at) : "iq"(bits) : "cc");
#else
	*at |= bits;
#endif
}

/* -- one DS of 16 bytes in registers ------------------------------------------------------------- */

/*
 * A DS is a vector, or two words where it is made of words. The compiler knows which, and computes only
 * that form. It is stored to the ring and to the device in the same form, so neither has to be
 * converted.
 */
struct bsn_ds {
	bsn_v2 v;
	struct bsn_be64 w0, w1;
	bool is_vector;
};

BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_of_words(struct bsn_be64 w0, struct bsn_be64 w1)
{
	const struct bsn_ds ds = { { 0, 0 }, w0, w1, false };

	return ds;
}

BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_of_vector(bsn_v2 v)
{
	const struct bsn_ds ds = { v, { 0 }, { 0 }, true };

	return ds;
}

BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_load(const void *src)
{
	return bsn_ds_of_vector(bsn_v2_load(src));
}

BSN_ALWAYS_INLINE bsn_v2 bsn_vector_of(struct bsn_ds ds)
{
#ifdef __SSE4_1__
	if (!ds.is_vector && __builtin_constant_p(ds.w1.raw)) /* gcc 12 would load it into a register first */
		return (bsn_v2){ ds.w0.raw, 0 } | (bsn_v2){ 0, ds.w1.raw };
#endif
	return ds.is_vector ? ds.v : (bsn_v2){ ds.w0.raw, ds.w1.raw };
}

/* As a vector, where other registers are scarce: each that has to be saved costs two instructions. */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_in(struct bsn_ds ds, bool a_vector)
{
	return a_vector ? bsn_ds_of_vector(bsn_vector_of(ds)) : ds;
}

BSN_ALWAYS_INLINE struct bsn_be64 bsn_word_of(struct bsn_ds ds)
{
	return ds.is_vector ? (struct bsn_be64){ ds.v[0] } : ds.w0;
}

BSN_ALWAYS_INLINE void bsn_store_ds(uint8_t *dst, struct bsn_ds ds)
{
	if (ds.is_vector) {
		bsn_store_wqe_v2(dst, ds.v);
	} else {
		bsn_store_wqe(dst, ds.w0);
		bsn_store_wqe(dst + 8, ds.w1);
	}
}

/*
 * As a vector, when it was stored to @at. Before x86-64-v2, a word that is loaded again goes into the upper half by one
 * instruction, and one in a register by two.
 */
BSN_ALWAYS_INLINE bsn_v2 bsn_vector_stored(struct bsn_ds ds, const uint8_t *at)
{
#if defined(__x86_64__) && !defined(__SSE4_1__)
	bsn_v2 v = { ds.w0.raw, 0 };

	if (ds.is_vector || __builtin_constant_p(ds.w1.raw))
		return bsn_vector_of(ds);
	__asm__("movhps %1, %0" : "+x"(v) : "m"(*(const uint64_t *)(const void *)(at + 8)));
	return v;
#else
	(void)at;
	return bsn_vector_of(ds);
#endif
}

BSN_ALWAYS_INLINE void bsn_store_mmio_ds(uint8_t *reg, struct bsn_ds ds)
{
	if (ds.is_vector) {
		bsn_store_mmio_v2(reg, ds.v);
	} else {
		bsn_store_mmio(reg, ds.w0);
		bsn_store_mmio(reg + 8, ds.w1);
	}
}

/*
 * Where one instruction reorders the bytes of a vector (x86-64-v2, arm64), an address or a data
 * pointer is a vector. The byte order of a pattern is that of the DS: which byte of the vector goes
 * there.
 *
 * A vector is put together from the fields, each by a load of its own: one load of the whole structure
 * would be an instruction or two less, and wait for 5 ns and more where the fields were just stored.
 */
#if defined(__SSE4_1__) || defined(__aarch64__)
#define BSN_HAS_SHUFFLE 1

typedef uint8_t bsn_pattern __attribute__((vector_size(16)));

/* length, lkey, addr; and addr, rkey, 0 */
#if defined(__SSE4_1__)
BSN_ALWAYS_INLINE bsn_v2 bsn_vector_of_sge(const struct bsn_sge *sge)
{
	const __m128i low =
		_mm_insert_epi32(_mm_cvtsi32_si128((int)sge->length), (int)sge->lkey, 1);

	return (bsn_v2)_mm_insert_epi64(low, (long long)sge->addr, 1);
}

BSN_ALWAYS_INLINE bsn_v2 bsn_vector_of_remote(const struct bsn_remote *remote)
{
	const __m128i low = _mm_cvtsi64_si128((long long)remote->addr);

	return (bsn_v2)_mm_insert_epi32(low, (int)remote->rkey, 2);
}
#else
BSN_ALWAYS_INLINE bsn_v2 bsn_vector_of_sge(const struct bsn_sge *sge)
{
	const uint32x2_t low = vset_lane_u32(sge->lkey, vdup_n_u32(sge->length), 1);

	return (bsn_v2)vcombine_u64(vreinterpret_u64_u32(low), vcreate_u64(sge->addr));
}

BSN_ALWAYS_INLINE bsn_v2 bsn_vector_of_remote(const struct bsn_remote *remote)
{
	return (bsn_v2){ remote->addr, remote->rkey };
}
#endif

#define BSN_FROM_32(at) (at) + 3, (at) + 2, (at) + 1, (at)
#define BSN_FROM_64(at) BSN_FROM_32((at) + 4), BSN_FROM_32(at)
#define BSN_FROM_NONE   0xff, 0xff, 0xff, 0xff

BSN_ALWAYS_INLINE struct bsn_ds bsn_shuffle(bsn_v2 v, bsn_pattern pattern)
{
#if defined(__x86_64__)
	return bsn_ds_of_vector((bsn_v2)_mm_shuffle_epi8((__m128i)v, (__m128i)pattern));
#else
	return bsn_ds_of_vector((bsn_v2)vqtbl1q_u8((uint8x16_t)v, (uint8x16_t)pattern));
#endif
}
#else
#define BSN_HAS_SHUFFLE 0
#endif

/* -- begin: the control segment ------------------------------------------------------------------ */

/* Bits of enum bsn_flags that are in the control segment, and all bits that mean anything. */
#define BSN_F_CTRL  ((uint32_t)(BSN_F_SOLICITED | BSN_F_SIGNALED | BSN_F_FENCE))
#define BSN_F_PLAIN (BSN_F_CTRL | BSN_F_RING) /* what the inline code knows of SGEs */
#define BSN_F_ALL   (BSN_F_PLAIN | BSN_F_INLINE)

BSN_ALWAYS_INLINE struct bsn_be64 bsn_ctrl0(const struct bsn_sq *sq, unsigned opcode, size_t ds)
{
	const struct bsn_ctrl what = { .opcode = opcode };

	/* A sum, which the compiler joins with the sum that @ds is made of. */
	return bsn_to_be64((bsn_ctrl_word(&what, 0) + ds) | sq->ctrl_next);
}

/* Whether the compiler knows that a request is appended, not rung. */
BSN_ALWAYS_INLINE bool bsn_is_appended(uint32_t flags)
{
	return __builtin_constant_p(flags & BSN_F_RING) && !(flags & BSN_F_RING);
}

/* What @ctrl_bits of a peer has of word 1 for itself: that the request is signaled. */
BSN_ALWAYS_INLINE uint32_t bsn_signaled_bits(void)
{
	return bsn_byte_to_be32(BSN_F_SIGNALED >> 8).raw;
}

/*
 * Word 1: stream, fence, ce and solicited in its high half, the immediate in the low one. Where it is the library's turn
 * to signal, bsn_end() has it changed. @has_peer: it is completed by bsn_add_peer(), and @ce_quiet is what has to change
 * in ce of a signaled request.
 */
BSN_ALWAYS_INLINE struct bsn_be64 bsn_ctrl1(const struct bsn_sq *sq, bool has_peer, uint32_t flags, uint32_t imm)
{
	const uint32_t bits = (flags & (has_peer ? BSN_F_CTRL & ~(uint32_t)BSN_F_SIGNALED : BSN_F_CTRL)) >> 8;
	uint32_t raw = bsn_byte_to_be32(bits).raw;

	if (__builtin_constant_p(flags))
		return bsn_byte_pair_to_be64(flags & BSN_F_SIGNALED ? bits : bits | sq->ce_quiet, imm);
	if (!(flags & BSN_F_SIGNALED)) /* this form costs others an instruction more, and those less */
		raw |= bsn_byte_to_be32(sq->ce_quiet).raw;
	return bsn_join_raw_to_be64(raw, bsn_to_be32(imm).raw);
}

BSN_ALWAYS_INLINE struct bsn_be64 bsn_add_peer(struct bsn_be64 ctrl1, uint32_t peer_bits)
{
	ctrl1.raw ^= peer_bits;
	return ctrl1;
}

/* The immediate in such a word. */
BSN_ALWAYS_INLINE uint32_t bsn_imm_of(struct bsn_be64 ctrl1)
{
	return (uint32_t)bsn_from_be64(ctrl1);
}

/* -- put: the segments ---------------------------------------------------------------------------- */

/* Whether data pointers, four at the most, can have these lengths: 0 would mean 2^31, and bit 31 inline data. */
BSN_ALWAYS_INLINE bool bsn_are_plain(const struct bsn_sge *sge, unsigned count)
{
#define BSN_LOOK_AT(i)                                                                             \
	if (count > (i) && BSN_UNLIKELY((int32_t)sge[i].length <= 0))                              \
		return false;
	BSN_LOOK_AT(0)
	BSN_LOOK_AT(1)
	BSN_LOOK_AT(2)
	BSN_LOOK_AT(3)
#undef BSN_LOOK_AT
	return true;
}

/* A data pointer. */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_data(const struct bsn_sge *sge)
{
#if BSN_HAS_SHUFFLE
	return bsn_shuffle(bsn_vector_of_sge(sge),
			   (bsn_pattern){ BSN_FROM_32(0), BSN_FROM_32(4), BSN_FROM_64(8) });
#else
	const struct bsn_data data = { .byte_count = sge->length,
				       .lkey = sge->lkey,
				       .addr = sge->addr };

	return bsn_ds_of_words(bsn_to_be64(bsn_data_word(&data, 0)),
			       bsn_to_be64(bsn_data_word(&data, 1)));
#endif
}

/* The same of a length that bsn_are_plain() has looked at: the compiler does not clear its bit 31 again. */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_plain(const struct bsn_sge *sge)
{
	if ((int32_t)sge->length < 0)
		__builtin_unreachable();
	return bsn_ds_data(sge);
}

/*
 * A data pointer whose length was looked at, as a vector. The length is loaded again, and the address goes into a vector
 * as soon as it is swapped: no register is kept for either.
 */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_again(const struct bsn_sge *sge)
{
	struct bsn_ds ds;

	BSN_FORGET(*(uint32_t *)(uintptr_t)&sge->length);
	ds = bsn_ds_plain(sge);
#if !BSN_HAS_SHUFFLE
	BSN_KEEP_IN_VECTOR(ds.w1.raw);
#endif
	return bsn_ds_in(ds, true);
}

/*
 * A data pointer, if its length is plain. @in_place: the length is looked at where it is in word 0, so that it is in the
 * register that a call wants it in. A message, which has a parameter less, and an immediate, which takes a register more,
 * had more moves by that.
 */
BSN_ALWAYS_INLINE bool bsn_ds_if_plain(struct bsn_ds *ds, const struct bsn_sge *sge, bool in_place)
{
#if !BSN_HAS_SHUFFLE
	if (in_place && !__builtin_constant_p(sge->length)) {
		const struct bsn_data data = { .lkey = sge->lkey, .addr = sge->addr };
		uint64_t length = (uint64_t)sge->length << 32;

		BSN_HIDE(length);
		*ds = bsn_ds_of_words(bsn_to_be64(bsn_data_word(&data, 0) | length),
				      bsn_to_be64(bsn_data_word(&data, 1)));
		return BSN_LIKELY((int64_t)length > 0);
	}
#else
	(void)in_place;
#endif
	if (!bsn_are_plain(sge, 1))
		return false;
	*ds = bsn_ds_data(sge);
	return true;
}

/* An atomic's result is 8 B, whatever the SGE says, as in libmlx5's set_data_ptr_seg_atomic(). */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_result(const struct bsn_sge *sge)
{
	const struct bsn_data data = { .byte_count = 8, .lkey = sge->lkey, .addr = sge->addr };

	return bsn_ds_of_words(bsn_to_be64(bsn_data_word(&data, 0)),
			       bsn_to_be64(bsn_data_word(&data, 1)));
}

/* The remote address. */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_raddr(const struct bsn_remote *remote)
{
#if BSN_HAS_SHUFFLE
	return bsn_shuffle(bsn_vector_of_remote(remote),
			   (bsn_pattern){ BSN_FROM_64(0), BSN_FROM_32(8), BSN_FROM_NONE });
#else
	const struct bsn_raddr raddr = { .raddr = remote->addr, .rkey = remote->rkey };

	return bsn_ds_of_words(bsn_to_be64(bsn_raddr_word(&raddr, 0)),
			       bsn_pair_to_be64(bsn_raddr_word(&raddr, 1)));
#endif
}

/* Operands: what to swap in, or to add; what to compare with. */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_operands(uint64_t swap_add, uint64_t compare)
{
	const struct bsn_atomic_cs operands = { .swap = swap_add, .compare = compare };

	return bsn_ds_of_words(bsn_to_be64(bsn_atomic_cs_word(&operands, 0)),
			       bsn_to_be64(bsn_atomic_cs_word(&operands, 1)));
}

/* Units of inline data, of which there is at least one byte. */
BSN_ALWAYS_INLINE unsigned bsn_inline_ds(uint32_t length)
{
	return (BSN_INLINE_HDR_SIZE + length + BSN_DS_SIZE - 1) / BSN_DS_SIZE;
}

BSN_ALWAYS_INLINE uint64_t bsn_load_8(const uint8_t *src)
{
	uint64_t word;

	memcpy(&word, src, sizeof(word));
	return word;
}

/* The header of inline data below 256 bytes, and the first four of them. */
BSN_ALWAYS_INLINE struct bsn_be64 bsn_inline_word0(size_t length, uint32_t first4)
{
	const struct bsn_inline_hdr none = { .is_inline = 1 };
	struct bsn_be64 w = bsn_join_byte_to_be64(length, first4);

	w.raw += bsn_to_be32(bsn_inline_hdr_dword(&none, 0)).raw; /* a sum of three is one instruction */
	return w;
}

#define BSN_LITTLE_MIN 8 /* bytes that a load of 8 takes, and one of the last 8 */

#if BSN_HAS_SHUFFLE
/* By length from 8 on: where the bytes of the first 8 and the last 8 go, and the header before them. */
struct bsn_little {
	bsn_pattern pattern;
	bsn_pattern head;
};

#define BSN_LITTLE(length, ...)                                                                    \
	{ { BSN_FROM_NONE, 0, 1, 2, 3, 4, 5, 6, 7, __VA_ARGS__ }, { 0x80, 0, 0, length } }
static const struct bsn_little bsn_little[] __attribute__((unused, aligned(32))) = {
	BSN_LITTLE(8, BSN_FROM_NONE),
	BSN_LITTLE(9, 15, 0xff, 0xff, 0xff),
	BSN_LITTLE(10, 14, 15, 0xff, 0xff),
	BSN_LITTLE(11, 13, 14, 15, 0xff),
	BSN_LITTLE(12, 12, 13, 14, 15),
};
#undef BSN_LITTLE
#endif

/* The length of inline data that are so many bytes @beyond the first one after a unit. */
BSN_ALWAYS_INLINE size_t bsn_length_of(size_t beyond)
{
	return beyond + (BSN_DS_INLINE_MAX + 1);
}

BSN_ALWAYS_INLINE size_t bsn_beyond_of(size_t length)
{
	return length - (BSN_DS_INLINE_MAX + 1);
}

/*
 * By how many bits, modulo 64, the last 8 bytes of inline data are shifted that are loaded together, so that none before
 * them is in their half of a DS. Bit 6: they are in the first half. The data reach into the second half of the first DS.
 */
BSN_ALWAYS_INLINE size_t bsn_last_shift(size_t beyond)
{
	size_t bits = 8 * beyond + 7;

	if (!__builtin_constant_p(beyond))
		BSN_KEEP_IN_FOURTH(bits); /* else gcc would subtract, of which the result has to be moved */
	bits = ~bits;
	if (!__builtin_constant_p(beyond))
		BSN_KEEP_IN_FOURTH(bits); /* else it would be masked */
	return bits;
}

/*
 * 8 to BSN_DS_INLINE_MAX bytes of inline data after their header: one DS, zero-padded. @is_last_first: the last bytes before
 * the header, which takes fewer moves where both are parameters.
 */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_little(const uint8_t *src, size_t length, size_t beyond, bool is_last_first)
{
	uint32_t first4;
	uint64_t last8;

#if BSN_HAS_SHUFFLE
	if (!__builtin_constant_p(length)) {
		const bsn_v2 bytes = { bsn_load_8(src), bsn_load_8(src + length - 8) };

		return bsn_ds_of_vector(bsn_shuffle(bytes, bsn_little[length - 8].pattern).v |
					(bsn_v2)bsn_little[length - 8].head);
	}
#endif
	last8 = bsn_load_8(src + length - 8) >> (bsn_last_shift(beyond) & 63);
	if (is_last_first && !__builtin_constant_p(length))
		BSN_AFTER(length, last8);
	memcpy(&first4, src, sizeof(first4));
	return bsn_ds_of_words(bsn_inline_word0(length, first4), (struct bsn_be64){ last8 });
}

/* The same of 1 to 7. Reads no byte outside the data; loads overlap instead. */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_tiny(const uint8_t *src, size_t length)
{
	uint32_t first4, last4;
	uint16_t first2;
	uint64_t bytes;

	if (length >= 4) {
		memcpy(&first4, src, 4);
		memcpy(&last4, src + length - 4, 4);
		bytes = first4 | (uint64_t)last4 << 8 * (length - 4);
	} else if (length > 1) {
		memcpy(&first2, src, 2);
		bytes = first2 | (uint32_t)src[length - 1] << 8 * (length - 1);
	} else {
		bytes = src[0];
	}
	const struct bsn_ds ds = bsn_ds_of_words(bsn_inline_word0(length, (uint32_t)bytes),
						 (struct bsn_be64){ bytes >> 32 });
#if BSN_HAS_SHUFFLE
	if (!__builtin_constant_p(length))
		return bsn_ds_of_vector(bsn_vector_of(ds)); /* as bsn_ds_little() */
#endif
	return ds;
}

/* 1 to BSN_DS_INLINE_MAX of them. */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_short(const uint8_t *src, size_t length)
{
	return length < BSN_LITTLE_MIN
		       ? bsn_ds_tiny(src, length)
		       : bsn_ds_little(src, length, bsn_beyond_of(length), false);
}

/* Two dwords, as they lie in memory, for a vector. */
BSN_ALWAYS_INLINE uint64_t bsn_pair_of_32(uint32_t low, uint32_t high)
{
#if defined(__SSE4_1__)
	return (uint64_t)_mm_insert_epi32(_mm_cvtsi32_si128((int)low), (int)high, 1)[0];
#elif defined(__x86_64__)
	return (uint64_t)_mm_unpacklo_epi32(_mm_cvtsi32_si128((int)low),
					    _mm_cvtsi32_si128((int)high))[0];
#else
	return low | (uint64_t)high << 32;
#endif
}

/* Of more inline data: the header and the first BSN_DS_INLINE_MAX bytes. */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_inline_first(const uint8_t *src, size_t length)
{
	const struct bsn_inline_hdr none = { .is_inline = 1 };
	const uint32_t header = bsn_to_be32(bsn_inline_hdr_dword(&none, 0) + (uint32_t)length).raw;
	uint32_t first4;

	memcpy(&first4, src, sizeof(first4));
	return bsn_ds_of_vector(
		(bsn_v2){ bsn_pair_of_32(header, first4), bsn_load_8(src + 4) });
}

/* A word from memory, and then the first one of a vector. */
BSN_ALWAYS_INLINE bsn_v2 bsn_load_before(const uint8_t *first, bsn_v2 second)
{
#if defined(__x86_64__)
	const __m128d both = (__m128d)_mm_unpacklo_epi64((__m128i)second, (__m128i)second);

	return (bsn_v2)_mm_loadl_pd(both, (const double *)(const void *)first);
#else
	return (bsn_v2){ bsn_load_8(first), second[0] };
#endif
}

/*
 * The last DS, zero-padded: the bytes at @src up to @end; @beyond is of all of them. Reads no byte outside the data: the
 * last 8 are loaded together and shifted.
 */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_inline_last(const uint8_t *src, const uint8_t *end, size_t beyond)
{
	uint64_t last8 = bsn_load_8(end - 8);
	bsn_v2 last;
	size_t bits;

	if (!__builtin_constant_p(beyond))
		BSN_AFTER(beyond, last8); /* else two registers have it */
	bits = bsn_last_shift(beyond);
	last8 >>= bits & 63;
	if (__builtin_constant_p(beyond) && !(bits & 64))
		return bsn_ds_of_vector((bsn_v2){ bsn_load_8(src), last8 });
	last = (bsn_v2){ last8, 0 };
	if (!__builtin_constant_p(beyond))
		BSN_HIDE_V2(last); /* both ways begin with it */
	return bsn_ds_of_vector(bits & 64 ? last : bsn_load_before(src, last));
}

/* The last four bytes of inline data. */
BSN_ALWAYS_INLINE void bsn_store_last4(uint8_t *at, const uint8_t *src)
{
	BSN_ORDER_EVENT(BSN_ORDER_WQE, at, 4);
	memcpy(at, src, 4);
}

/* gcc would warn of a short array where it does not know how many bytes are copied. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Warray-bounds"

/* Stores the last DS of inline data, at least as much, whose bytes begin at @at. */
BSN_ALWAYS_INLINE void bsn_put_inline_end(uint8_t *at, const uint8_t *src, size_t length)
{
	bsn_store_wqe_v2(at + length - BSN_DS_SIZE, bsn_v2_load(src + length - BSN_DS_SIZE));
}

/*
 * Copies those of @count DS that are beyond BSN_INLINE_STRAIGHT_DS, at least one, and some before them again: from
 * the end down, four at a time.
 */
BSN_ALWAYS_INLINE void bsn_put_inline_beyond(uint8_t *at, const uint8_t *src, size_t count)
{
	size_t end = count * BSN_DS_SIZE;

	do {
		bsn_store_wqe_v2(at + end - 64, bsn_v2_load(src + end - 64));
		bsn_store_wqe_v2(at + end - 48, bsn_v2_load(src + end - 48));
		bsn_store_wqe_v2(at + end - 32, bsn_v2_load(src + end - 32));
		bsn_store_wqe_v2(at + end - 16, bsn_v2_load(src + end - 16));
		end -= BSN_BB_SIZE;
	} while (end > BSN_INLINE_STRAIGHT_DS * BSN_DS_SIZE);
}

/*
 * Copies @count DS. The switch is a jump into straight code, since a loop costs twice as much. Where they are
 * @too_long for BlueFlame, it tells bsn_publish(): a compare would cost all others two instructions.
 */
BSN_ALWAYS_INLINE void bsn_put_inline_straight(struct bsn_sq *sq, uint8_t *at, const uint8_t *src,
					       size_t count, size_t too_long, uint32_t flags)
{
#define BSN_COPY_DS(n)                                                                             \
	if ((n) + 1 == too_long && flags & BSN_F_RING)                                             \
		bsn_set_bits(&sq->publish, BSN_PUBLISH_LONG);                                        \
	bsn_store_wqe_v2(at + BSN_DS_SIZE * (n), bsn_v2_load(src + BSN_DS_SIZE * (n)))
	switch (count) {
	case 15: BSN_COPY_DS(14); __attribute__((fallthrough));
	case 14: BSN_COPY_DS(13); __attribute__((fallthrough));
	case 13: BSN_COPY_DS(12); __attribute__((fallthrough));
	case 12: BSN_COPY_DS(11); __attribute__((fallthrough));
	case 11: BSN_COPY_DS(10); __attribute__((fallthrough));
	case 10: BSN_COPY_DS(9); __attribute__((fallthrough));
	case 9: BSN_COPY_DS(8); __attribute__((fallthrough));
	case 8: BSN_COPY_DS(7); __attribute__((fallthrough));
	case 7: BSN_COPY_DS(6); __attribute__((fallthrough));
	case 6: BSN_COPY_DS(5); __attribute__((fallthrough));
	case 5: BSN_COPY_DS(4); __attribute__((fallthrough));
	case 4: BSN_COPY_DS(3); __attribute__((fallthrough));
	case 3: BSN_COPY_DS(2); __attribute__((fallthrough));
	case 2: BSN_COPY_DS(1); __attribute__((fallthrough));
	case 1: BSN_COPY_DS(0);
		break;
	default: __builtin_unreachable(); /* BSN_INLINE_STRAIGHT_DS */
	}
#undef BSN_COPY_DS
}

#pragma GCC diagnostic pop

BSN_HEADER_END

#endif
