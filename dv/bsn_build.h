/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Building a WQE: begin (room, control segment), put (the segments), end (book-keeping, publication).
 * All of it is inline. A shape that the compiler knows becomes straight stores from registers: the
 * ring and the BlueFlame buffer get the same registers. A shape that it does not know is put into the
 * ring in a short loop, and copied from there.
 *
 * Nothing is written before the request is sure to be taken. A request that is not plain goes to a cold
 * function of bsn_sq.h, which builds it of the same parts.
 */
#ifndef BSN_BUILD_H
#define BSN_BUILD_H

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

/*
 * Word 1: stream, fence, ce and solicited in its high half, the immediate in the low one. Where it is the library's turn
 * to signal, bsn_end() has it changed.
 */
BSN_ALWAYS_INLINE struct bsn_be64 bsn_ctrl1(const struct bsn_sq *sq, uint32_t flags, uint32_t imm)
{
	const uint32_t bits = (flags & BSN_F_CTRL) >> 8;
	uint32_t raw = bsn_byte_to_be32(bits).raw;

	if (__builtin_constant_p(flags))
		return bsn_byte_pair_to_be64(flags & BSN_F_SIGNALED ? bits : bits | sq->ce_quiet, imm);
	if (!(flags & BSN_F_SIGNALED)) /* this form costs others an instruction more, and those less */
		raw |= bsn_byte_to_be32(sq->ce_quiet).raw;
	return bsn_join_raw_to_be64(raw, bsn_to_be32(imm).raw);
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

/* A data pointer whose length was looked at. It is loaded again: no register is kept for it. */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_again(const struct bsn_sge *sge)
{
	BSN_FORGET(*(uint32_t *)(uintptr_t)&sge->length);
	return bsn_ds_plain(sge);
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

	w.raw |= bsn_to_be32(bsn_inline_hdr_dword(&none, 0)).raw;
	return w;
}

#define BSN_LITTLE_MIN 8 /* bytes that a load of 8 takes, and one of the last 8 */

/* A shift to the right modulo 64. One instruction, where the compiler does not know how far. */
BSN_ALWAYS_INLINE uint64_t bsn_shift_right(uint64_t word, size_t bits)
{
	if (!__builtin_constant_p(bits))
		BSN_HIDE(bits); /* else it would be masked */
	return word >> (bits & 63);
}

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

/*
 * 8 to BSN_DS_INLINE_MAX bytes of inline data after their header: one DS, zero-padded. @more is how
 * many there are beyond the first 13, modulo 16.
 */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_little(const uint8_t *src, size_t length, size_t more)
{
	uint32_t first4;

#if BSN_HAS_SHUFFLE
	if (!__builtin_constant_p(length)) {
		const bsn_v2 bytes = { bsn_load_8(src), bsn_load_8(src + length - 8) };

		return bsn_ds_of_vector(bsn_shuffle(bytes, bsn_little[length - 8].pattern).v |
					(bsn_v2)bsn_little[length - 8].head);
	}
#endif
	memcpy(&first4, src, sizeof(first4));
	return bsn_ds_of_words(bsn_inline_word0(length, first4),
			       (struct bsn_be64){ bsn_shift_right(bsn_load_8(src + length - 8),
								  8 * ~more) });
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
		       : bsn_ds_little(src, length, length - (BSN_DS_INLINE_MAX + 1));
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

/*
 * The last DS, zero-padded: the bytes at @src up to @end. @more is how many there are beyond the first
 * 13, modulo 16. Reads no byte outside the data: the last 8 are loaded together and shifted.
 */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_inline_last(const uint8_t *src, const uint8_t *end,
						   size_t more)
{
	const uint64_t last8 = bsn_shift_right(bsn_load_8(end - 8), 8 * ~more);

	if (!(more & 8))
		return bsn_ds_of_vector((bsn_v2){ last8, 0 });
	return bsn_ds_of_vector((bsn_v2){ bsn_load_8(src), last8 });
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

/* -- end: book-keeping and publication -------------------------------------------------------------- */

/*
 * Keeps the id where the poller will look for it; bsn_sq.h says where that is. @length and @near are of
 * any unit; they are compared here, so that no register keeps the result.
 */
BSN_ALWAYS_INLINE void bsn_keep_id(struct bsn_sq *sq, uint8_t *wqe, size_t length, size_t near,
				   uint64_t id)
{
	if (near && length <= near)
		*(uint64_t *)(void *)(wqe + BSN_NEAR_ID_AT) = id;
	else
		*bsn_id_of(sq, wqe) = id;
}

/* The same on a queue with many peers. */
BSN_ALWAYS_INLINE void bsn_keep_peer_id(struct bsn_sq *sq, const uint8_t *wqe,
					const struct bsn_peer *peer, uint64_t id)
{
	uint64_t *kept = bsn_peer_ids(sq, wqe);

	kept[0] = id;
	kept[1] = (uintptr_t)peer->user;
}

/* So many @bytes in whole blocks. */
BSN_ALWAYS_INLINE size_t bsn_whole_blocks(size_t bytes)
{
	return (bytes + BSN_BB_SIZE - 1) & ~(size_t)(BSN_BB_SIZE - 1);
}

/* Moves the index on by blocks of so many @bytes, inside the next control segment, in one addition. */
BSN_ALWAYS_INLINE void bsn_sq_advance(struct bsn_sq *sq, size_t bytes)
{
	const struct bsn_ctrl one = { .wqe_index = 1 };
	const uint64_t sum = bsn_ctrl_word(&one, 0) / BSN_BB_SIZE * bytes;

#if defined(__x86_64__)
	__asm__("addq %1, %0" : "+m"(sq->ctrl_next) : "er"(sum) : "cc");
#else
	sq->ctrl_next += sum;
#endif
}

/* A WQE is not published at once. */
BSN_ALWAYS_INLINE void bsn_sq_append(struct bsn_sq *sq, const uint8_t *wqe)
{
	sq->last = (uint32_t)(uintptr_t)wqe;
	bsn_set_bits(&sq->publish, BSN_PUBLISH_APPENDED);
}

/*
 * A WQE, or its beginning, in registers: control segment, the peer's prefix, and more. The rest is in
 * the ring already.
 */
#define BSN_REGS_MAX 13 /* of WRITEs of 172 B inline; those of four SGEs to a peer have 9 */

struct bsn_regs {
	struct bsn_ds ds[BSN_REGS_MAX];
	bool moves_later; /* bsn_end() moves the slot on, not bsn_sq_take(); the compiler knows */
	bool keeps_later; /* bsn_end() keeps @kept; the compiler knows, too */
	bsn_v2 kept;      /* the id, and the peer's user pointer */
};

/*
 * For each of them, without a loop: clang 14 may keep an array in memory that it saw indexed by a
 * variable.
 */
#define BSN_EACH_REG(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)

/*
 * Takes blocks of so many @bytes, which are free, and returns where they begin. The sum comes first:
 * later its operands would have to be copied.
 */
BSN_ALWAYS_INLINE uint8_t *bsn_sq_take(struct bsn_sq *sq, struct bsn_regs *r, size_t bytes)
{
	uint8_t *const wqe = sq->slot;

	sq->slot = wqe + bytes;
	r->moves_later = false;
	r->keeps_later = false;
	return wqe;
}

/* The same of @bytes that the compiler knows. The end of a single block was not looked at before. */
BSN_ALWAYS_INLINE uint8_t *bsn_sq_take_known(struct bsn_sq *sq, struct bsn_regs *r, size_t bytes)
{
	if (bytes != BSN_BB_SIZE)
		return bsn_sq_take(sq, r, bytes);
	r->moves_later = true;
	r->keeps_later = false;
	return sq->slot;
}

/*
 * What bsn_keep_peer_id() would keep of a WQE is put together now, so that it takes one register, and kept by bsn_end(),
 * after all stores to the WQE.
 */
BSN_ALWAYS_INLINE void bsn_keep_peer_id_later(struct bsn_regs *r, const struct bsn_peer *peer,
					      uint64_t id)
{
	r->kept = (bsn_v2){ id, (uintptr_t)peer->user };
	BSN_HIDE_V2(r->kept);
	r->keeps_later = true;
}

/*
 * How the rest of a WQE was stored into the ring. It is loaded in the same way, so that the stores are
 * forwarded.
 */
enum bsn_rest {
	BSN_REST_NONE,
	BSN_REST_WORDS,
	BSN_REST_VECTORS,
	BSN_REST_INLINE, /* vectors; BSN_PUBLISH_LONG tells if they are too many for BlueFlame */
	BSN_REST_SGES = BSN_HAS_SHUFFLE ? BSN_REST_VECTORS : BSN_REST_WORDS,
};

BSN_ALWAYS_INLINE struct bsn_ds bsn_rest_ds(enum bsn_rest rest, const uint8_t *src)
{
	struct bsn_be64 w0, w1;

	if (rest != BSN_REST_WORDS)
		return bsn_ds_load(src);
	memcpy(&w0, src, sizeof(w0));
	memcpy(&w1, src + 8, sizeof(w1));
	return bsn_ds_of_words(w0, w1);
}

/* Whether a WQE is all in vectors, from DS @first on: then the stores of 8 x 8 B and of 4 x 16 B are the same. */
BSN_ALWAYS_INLINE bool bsn_are_vectors(const struct bsn_regs *r, unsigned first, unsigned known,
				       enum bsn_rest rest)
{
	bool are = first < known && rest != BSN_REST_WORDS;

#define BSN_AND_REG(i)                                                                             \
	if ((i) >= first && (i) < known)                                                           \
		are = are && r->ds[i].is_vector;
	BSN_EACH_REG(BSN_AND_REG)
#undef BSN_AND_REG
	return are;
}

/* Copies a DS of the rest to the device. */
BSN_ALWAYS_INLINE void bsn_copy_rest(uint8_t *reg, const uint8_t *src, enum bsn_rest rest, bool by_16)
{
	bsn_store_mmio_ds(reg, bsn_ds_in(bsn_rest_ds(rest, src), by_16));
}

/* The @bytes of @wqe, whole blocks, of which @known DS are in registers, into a BlueFlame buffer. */
BSN_ALWAYS_INLINE void bsn_copy(uint8_t *reg, const uint8_t *wqe, size_t bytes,
				const struct bsn_regs *r, unsigned known, enum bsn_rest rest,
				bool by_16)
{
	const size_t left = known * BSN_DS_SIZE, known_bytes = bsn_bytes_of_ds(known);
	/* What goes to the device after a WQE that ends inside a block. It does not read that: any vector will do. */
	bsn_v2 filler = known > 1 && r->ds[1].is_vector ? r->ds[1].v : (bsn_v2){ 0, 0 };

#define BSN_COPY_REG(i)                                                                            \
	if ((i) < known && by_16) {                                                                \
		filler = bsn_vector_stored(r->ds[i], wqe + BSN_DS_SIZE * (i));                     \
		bsn_store_mmio_v2(reg + BSN_DS_SIZE * (i), filler);                                \
	} else if ((i) < known) {                                                                  \
		bsn_store_mmio_ds(reg + BSN_DS_SIZE * (i), r->ds[i]);                              \
	}
	BSN_EACH_REG(BSN_COPY_REG)
#undef BSN_COPY_REG
	/*
	 * What is left of the last known block, and then others. There are few loops: in a function with more than 100, those
	 * of inlined code and unrolled ones too, gcc 12 keeps less in registers (ira-max-loops-num).
	 */
	if (rest == BSN_REST_NONE) {
		BSN_UNROLL for (size_t i = left; i < known_bytes; i += BSN_DS_SIZE)
			bsn_store_mmio_v2(reg + i, filler);
		return;
	}
#define BSN_COPY_LEFT(i)                                                                           \
	if (left + BSN_DS_SIZE * (i) < known_bytes)                                                \
		bsn_copy_rest(reg + left + BSN_DS_SIZE * (i), wqe + left + BSN_DS_SIZE * (i), rest, by_16);
	BSN_COPY_LEFT(0)
	BSN_COPY_LEFT(1)
	BSN_COPY_LEFT(2)
#undef BSN_COPY_LEFT
	BSN_UNROLL_UNTIL for (size_t i = known_bytes; i < BSN_BF_BUFFER_BYTES; i += BSN_BB_SIZE) {
		if (i >= bytes)
			break;
		bsn_copy_rest(reg + i, wqe + i, rest, by_16);
		bsn_copy_rest(reg + i + 16, wqe + i + 16, rest, by_16);
		bsn_copy_rest(reg + i + 32, wqe + i + 32, rest, by_16);
		bsn_copy_rest(reg + i + 48, wqe + i + 48, rest, by_16);
	}
}

/* Publishes by the 8-byte doorbell, on a register of the lane's own. */
BSN_ALWAYS_INLINE int bsn_publish_doorbell(struct bsn_sq *sq, struct bsn_be64 head, size_t bytes)
{
	struct bsn_lane *const lane = bsn_sq_open_register(sq);
	uint8_t *const reg = lane->reg;

	bsn_store_mmio(reg, head);
	bsn_sq_close_register(lane, reg);
	bsn_count(&sq->count_rung, bytes);
	bsn_count(&sq->count_doorbells, 1);
	return 0;
}

/* Loaded again, so that @sq need not be where the first parameter of a call is, and an endpoint is already. */
BSN_ALWAYS_INLINE struct bsn_sq *bsn_sq_again(const struct bsn_sq *sq)
{
	return *(struct bsn_sq *const volatile *)&sq->ep.sq;
}

/* Publishes by other ways than BlueFlame by 8 B stores on a register of the lane's own. */
BSN_ALWAYS_INLINE int bsn_publish_otherwise(struct bsn_sq *sq, const uint8_t *wqe, size_t bytes,
					    const struct bsn_regs *r, unsigned known,
					    enum bsn_rest rest)
{
	struct bsn_lane *lane;
	uint8_t *reg, how;

	/* Loaded again, so that no register is kept for these rare cases. */
	BSN_FORGET(sq->publish);
	if (!bsn_are_vectors(r, 0, known, rest) && sq->publish == BSN_PUBLISH_16 &&
	    (rest == BSN_REST_INLINE || bytes <= BSN_BF_BUFFER_BYTES)) {
		lane = bsn_sq_open_register(sq);
		reg = lane->reg;
		bsn_copy(reg, wqe, bytes, r, known, rest, true);
		bsn_sq_close_register(lane, reg);
		return 0;
	}
	BSN_FORGET(sq->publish);
	how = sq->publish;
	if (how <= BSN_PUBLISH_DOORBELL)
		return bsn_publish_doorbell(sq, bsn_word_of(r->ds[0]), bytes);
	if (rest == BSN_REST_INLINE && how & BSN_PUBLISH_LONG) {
		sq->publish = how & (uint8_t)~BSN_PUBLISH_LONG;
		if (sq->publish <= BSN_PUBLISH_DOORBELL)
			return bsn_publish_doorbell(sq, bsn_word_of(r->ds[0]), bytes);
	}
	if (rest != BSN_REST_NONE || bytes > BSN_BB_SIZE) {
		/* Where it can be, @wqe is put together again, so that no register is kept for it. */
		sq->last = (uint32_t)(uintptr_t)(r->keeps_later ? sq->slot - bytes : wqe);
		/* Where the rest is in the ring this would cost the common way a move. */
		const int err = bsn_sq_ring(rest == BSN_REST_NONE ? bsn_sq_again(sq) : sq);
		if (err > 0)
			__builtin_unreachable(); /* else it could be taken for BSN_NOT_PLAIN or BSN_NO_ROOM */
		return err;
	}
	bsn_sq_publish_bb(bsn_sq_again(sq), bsn_vector_of(r->ds[0]),
			  known > 1 ? bsn_vector_of(r->ds[1]) : (bsn_v2){ 0, 0 },
			  known > 2 ? bsn_vector_of(r->ds[2]) : (bsn_v2){ 0, 0 },
			  known > 3 ? bsn_vector_of(r->ds[3]) : (bsn_v2){ 0, 0 });
	return 0;
}

/* Publishes a WQE that was not merely appended; the queue's index is after it. */
BSN_ALWAYS_INLINE int bsn_publish(struct bsn_sq *sq, const uint8_t *wqe, size_t bytes,
				  const struct bsn_regs *r, unsigned known, enum bsn_rest rest)
{
	const enum bsn_publish most =
		bsn_are_vectors(r, 0, known, rest) ? BSN_PUBLISH_16 : BSN_PUBLISH_8;

	struct bsn_lane *lane;
	uint8_t *reg;

	if (BSN_UNLIKELY(sq->publish > most ||
			 (rest != BSN_REST_INLINE && bytes > BSN_BF_BUFFER_BYTES)))
		return bsn_publish_otherwise(sq, wqe, bytes, r, known, rest);
	lane = bsn_sq_open_register(sq);
	reg = lane->reg;
	bsn_copy(reg, wqe, bytes, r, known, rest, false);
	bsn_sq_close_register(lane, reg);
	return 0;
}

/* Counts a request that is not signaled: whether it is the library's turn to signal one. */
BSN_ALWAYS_INLINE bool bsn_is_turn(struct bsn_sq *sq, uint32_t flags)
{
	return BSN_UNLIKELY(!(flags & BSN_F_SIGNALED) && --sq->quiet == 0);
}

/*
 * What comes last of such a request, of so many @bytes before the slot, in the place of what all others end with. It is
 * a jump, and takes nothing that a register would be kept for.
 */
BSN_ALWAYS_INLINE int bsn_end_turn(struct bsn_sq *sq, size_t bytes, uint32_t flags)
{
	const int err = flags & BSN_F_RING ? bsn_sq_publish_turn(bsn_sq_again(sq), bytes)
					   : bsn_sq_append_turn(bsn_sq_again(sq), bytes);

	if (err > 0)
		__builtin_unreachable(); /* as in bsn_publish_otherwise() */
	return err;
}

/*
 * Ends a WQE of which @known DS are in registers and the @rest is in the ring; its slot was taken.
 * It has BSN_NEAR_DS at the most where @length, of units of the caller's choice, is not more than @near. The
 * id of a queue with one peer is kept here, that of @peer, too; with @is_kept and without @peer it was before.
 */
BSN_ALWAYS_INLINE int bsn_end(struct bsn_sq *sq, uint8_t *wqe, const struct bsn_peer *peer,
			      bool is_kept, struct bsn_regs *r, unsigned known,
			      enum bsn_rest rest, size_t length, size_t near, size_t bytes,
			      uint64_t id, uint32_t flags)
{
	/* But those that are appended, which are stored once. A choice of two values would keep both in memory by clang 14. */
	if (!bsn_is_appended(flags) && bsn_are_vectors(r, 1, known, rest) &&
	    (rest != BSN_REST_NONE || __builtin_constant_p(r->ds[0].w1.raw)))
		r->ds[0] = bsn_ds_of_vector(bsn_vector_of(r->ds[0]));
	if (r->moves_later) /* after all loads that the WQE is made of; so many bytes are a constant */
		bsn_move_on(&sq->slot, bytes);
#define BSN_STORE_REG(i)                                                                           \
	if ((i) < known)                                                                           \
		bsn_store_ds(wqe + BSN_DS_SIZE * (i), r->ds[i]);
	BSN_EACH_REG(BSN_STORE_REG)
#undef BSN_STORE_REG
	if (r->keeps_later)
		*(bsn_v2_aliased *)(void *)bsn_peer_ids(sq, wqe) = r->kept;
	else if (is_kept && peer)
		bsn_keep_peer_id(sq, wqe, peer, id);
	if (!is_kept)
		bsn_keep_id(sq, wqe, length, near, id);
	bsn_sq_advance(sq, bytes);
	if (!__builtin_constant_p(flags))
		BSN_HIDE(flags); /* else a bit of them would be kept since bsn_ctrl1() */
	if (bsn_is_turn(sq, flags))
		return bsn_end_turn(sq, bytes, flags);
	if (flags & BSN_F_RING)
		return bsn_publish(sq, wqe, bytes, r, known, rest);
	bsn_sq_append(sq, wqe);
	return 0;
}

/* Control segment and prefix. Returns how many DS they are. */
BSN_ALWAYS_INLINE unsigned bsn_begin_of(struct bsn_regs *r, const struct bsn_peer *peer,
					unsigned prefix_ds, struct bsn_be64 ctrl0,
					struct bsn_be64 ctrl1)
{
	if (prefix_ds) {
		ctrl1.raw |= peer->ctrl_bits;
		r->ds[1] = bsn_ds_of_vector(peer->head);
	}
	if (prefix_ds > 1) {
		r->ds[2] = bsn_ds_load(peer->more);
		r->ds[3] = bsn_ds_load((const uint8_t *)peer->more + BSN_DS_SIZE);
	}
	r->ds[0] = bsn_ds_of_words(ctrl0, ctrl1);
	return 1 + prefix_ds;
}

BSN_ALWAYS_INLINE unsigned bsn_begin(struct bsn_regs *r, struct bsn_sq *sq,
				     const struct bsn_peer *peer, unsigned prefix_ds,
				     unsigned opcode, size_t ds, uint32_t flags, uint32_t imm)
{
	const struct bsn_be64 ctrl0 = bsn_ctrl0(sq, opcode, ds);

	return bsn_begin_of(r, peer, prefix_ds, ctrl0, bsn_ctrl1(sq, flags, imm));
}

/*
 * A message (@has_remote: RDMA request) of @count SGEs, all plain. @is_apart: in a function of its own. That keeps what
 * it can in memory early, so that it saves fewer registers.
 */
BSN_ALWAYS_INLINE int bsn_put_sges(struct bsn_sq *sq, const struct bsn_peer *peer,
				   unsigned prefix_ds, unsigned opcode, const struct bsn_sge *sge,
				   unsigned count, bool is_apart, const struct bsn_remote *remote,
				   bool has_remote, uint32_t imm, uint64_t id, uint32_t flags)
{
	const unsigned ds = 1 + prefix_ds + has_remote + count;
	const bool is_early = prefix_ds || (is_apart && ds > BSN_NEAR_DS); /* the id */
	const bool are_wide = ds > BSN_NEAR_DS && count > 1 && __builtin_constant_p(flags) &&
			      flags & BSN_F_RING;
	const enum bsn_rest rest = is_apart && !prefix_ds ? BSN_REST_SGES : BSN_REST_NONE;
	struct bsn_regs r;
	uint8_t *const wqe = bsn_sq_take_known(sq, &r, bsn_bytes_of_ds(ds));
	unsigned n = 1 + prefix_ds;

	if (prefix_ds)
		bsn_keep_peer_id(sq, wqe, peer, id);
	else if (is_early)
		bsn_keep_id(sq, wqe, ds, BSN_NEAR_DS, id);
	if (has_remote)
		r.ds[n++] = bsn_ds_in(bsn_ds_raddr(remote), are_wide);
	if (count > 0)
		r.ds[n] = bsn_ds_in(bsn_ds_plain(&sge[0]), are_wide);
	if (count > 1)
		r.ds[n + 1] = bsn_ds_in(bsn_ds_plain(&sge[1]), are_wide);
	if (count > 2)
		r.ds[n + 2] = bsn_ds_in(bsn_ds_plain(&sge[2]), are_wide);
	if (count > 3)
		r.ds[n + 3] = bsn_ds_in(bsn_ds_plain(&sge[3]), are_wide);
	bsn_begin_of(&r, peer, prefix_ds, bsn_ctrl0(sq, opcode, ds), bsn_ctrl1(sq, flags, imm));
	return bsn_end(sq, wqe, NULL, is_early, &r, ds, rest, ds, BSN_NEAR_DS, bsn_bytes_of_ds(ds), id,
		       flags);
}

/* Nothing was written: this is for one of the cold functions, or for one of those for many peers. */
#define BSN_NOT_PLAIN 1
#define BSN_NO_ROOM   2 /* of inline data: this queue has none, or none for one peer */

/* The end of the functions below; @known DS are in @r, but for its beginning, of which @ctrl0 is given. */
BSN_ALWAYS_INLINE int bsn_end_data(struct bsn_sq *sq, uint8_t *wqe, const struct bsn_peer *peer,
				   unsigned prefix_ds, struct bsn_be64 ctrl0, struct bsn_regs *r,
				   unsigned known, enum bsn_rest rest, size_t length, size_t near,
				   size_t bytes, const struct bsn_remote *remote, bool has_remote,
				   uint32_t imm, uint64_t id, uint32_t flags)
{
	const unsigned n = bsn_begin_of(r, peer, prefix_ds, ctrl0, bsn_ctrl1(sq, flags, imm));

	if (has_remote)
		r->ds[n] = bsn_ds_in(bsn_ds_raddr(remote),
				     rest != BSN_REST_NONE && !bsn_is_appended(flags));
	return bsn_end(sq, wqe, peer, prefix_ds != 0, r, known, rest, length, near, bytes, id, flags);
}

/*
 * Inline data of a length that the compiler knows, all in registers. They take @ds units, and @wqe was taken for
 * them.
 */
BSN_ALWAYS_INLINE int bsn_put_constant(struct bsn_sq *sq, uint8_t *wqe, const struct bsn_peer *peer,
				       unsigned prefix_ds, unsigned opcode, const uint8_t *data,
				       size_t length, unsigned ds, const struct bsn_remote *remote,
				       bool has_remote, uint32_t imm, uint64_t id, uint32_t flags)
{
	const unsigned head = 1 + prefix_ds + has_remote;
	const uint8_t *const rest = data + BSN_DS_INLINE_MAX;
	const uint32_t more = (uint32_t)length - (BSN_DS_INLINE_MAX + 1);
	struct bsn_regs r = { .moves_later = false };

	r.ds[head] = bsn_ds_inline_first(data, length);
#define BSN_LOAD_REG(i)                                                                            \
	if ((i) >= head + 1 && (i) < ds - 1)                                                       \
		r.ds[i] = bsn_ds_load(rest + BSN_DS_SIZE * ((i) - head - 1));
	BSN_EACH_REG(BSN_LOAD_REG)
#undef BSN_LOAD_REG
	r.ds[ds - 1] = bsn_ds_inline_last(rest + BSN_DS_SIZE * (ds - head - 2), data + length, more);
	return bsn_end_data(sq, wqe, peer, prefix_ds, bsn_ctrl0(sq, opcode, ds), &r, ds,
			    BSN_REST_NONE, ds, BSN_NEAR_DS, bsn_bytes_of_ds(ds), remote, has_remote,
			    imm, id, flags);
}

/*
 * Two DS of inline data, 13 to 28 bytes. The last one is stored into the ring at once, by one store that reaches
 * back into the first; the first is then stored whole. So no byte outside the data is read. @known: so many bytes it
 * takes, in whole blocks, and they are free; 0: whether they are has to be found out.
 */
BSN_ALWAYS_INLINE int bsn_put_two(struct bsn_sq *sq, uint8_t **limit,
				  const struct bsn_peer *peer, unsigned prefix_ds, unsigned opcode,
				  const uint8_t *data, size_t length, size_t known,
				  const struct bsn_remote *remote, bool has_remote, uint32_t imm,
				  uint64_t id, uint32_t flags)
{
	const unsigned head = 1 + prefix_ds + has_remote, ds = head + 2;
	const size_t bytes = known ? known : bsn_bytes_of_ds(ds);
	const size_t at = head * BSN_DS_SIZE + BSN_INLINE_HDR_SIZE;
	struct bsn_regs r;
	uint8_t *wqe;

	if (!known && !bsn_fits(sq, *limit, bytes))
		return BSN_NO_ROOM;
	if (__builtin_constant_p(length))
		return bsn_put_constant(sq, bsn_sq_take(sq, &r, bytes), peer, prefix_ds, opcode,
					data, length, ds, remote, has_remote, imm, id, flags);
	wqe = bsn_sq_take_known(sq, &r, bytes);
	if (length >= BSN_DS_SIZE)
		bsn_put_inline_end(wqe + at, data, length);
	else
		bsn_store_last4(wqe + at + length - 4, data + length - 4);
	r.ds[head] = bsn_ds_inline_first(data, length);
	return bsn_end_data(sq, wqe, peer, prefix_ds, bsn_ctrl0(sq, opcode, ds), &r, head + 1,
			    BSN_REST_VECTORS, ds, BSN_NEAR_DS, bytes, remote, has_remote, imm, id,
			    flags);
}

/*
 * Inline data of more than one DS. The end is stored first, as by bsn_put_two(), so that at most one DS cannot be
 * forwarded from its store when it is copied to the device right after.
 */
BSN_ALWAYS_INLINE int bsn_put_long(struct bsn_sq *sq, uint8_t **limit,
				   const struct bsn_peer *peer, unsigned prefix_ds, unsigned opcode,
				   const uint8_t *data, size_t length, size_t known,
				   const struct bsn_remote *remote, bool has_remote, uint32_t imm,
				   uint64_t id, uint32_t flags)
{
	const unsigned head = 1 + prefix_ds + has_remote;
	const size_t first = (head + 1) * BSN_DS_SIZE; /* bytes until the first DS of data ends */
	const uint8_t *const rest = data + BSN_DS_INLINE_MAX;
	uint8_t *const wqe = sq->slot;
	size_t count = (uint32_t)length - (BSN_DS_INLINE_MAX + 1); /* bytes, but DS where they are needed */
	size_t bytes = known, straight;
	struct bsn_be64 ctrl0;
	struct bsn_regs r;

	BSN_FORGET(*limit); /* else it were loaded for short data, too, before the length is looked at */
	if (BSN_LIKELY((uint32_t)length - BSN_INLINE_STRAIGHT_MIN < sq->inline_straight)) {
		count /= BSN_DS_SIZE;
		if (!known && !__builtin_constant_p(length))
			BSN_HIDE(count); /* one register; and else each case would load it as a constant */
		straight = count;
		if (known && (head + 2 + count) * BSN_DS_SIZE > known)
			__builtin_unreachable(); /* BSN_EXTENDED_INLINE */
		if (!known)
			bytes = bsn_whole_blocks(first + length - BSN_DS_INLINE_MAX);
		if (!known && !bsn_fits(sq, *limit, bytes))
			return BSN_NO_ROOM;
		bsn_sq_take(sq, &r, bytes);
		if (!__builtin_constant_p(length))
			bsn_put_inline_end(wqe + first - BSN_DS_INLINE_MAX, data, length);
	} else if (!known && length < BSN_LITTLE_MIN) {
		return BSN_NOT_PLAIN; /* too short */
	} else if ((known && (uint32_t)length >= BSN_INLINE_STRAIGHT_MIN) || (uint32_t)length > sq->max_inline) {
		return BSN_NOT_PLAIN;
	} else if ((uint32_t)length < BSN_INLINE_STRAIGHT_MIN && length > BSN_DS_INLINE_MAX) {
		/* gcc 12 would copy @count if it were looked at */
		return bsn_put_two(sq, limit, peer, prefix_ds, opcode, data, length, known, remote,
				   has_remote, imm, id, flags);
	} else {
		count /= BSN_DS_SIZE;
		straight = BSN_INLINE_STRAIGHT_DS; /* and more: the queue takes more than straight code copies */
		bytes = bsn_whole_blocks(first + length - BSN_DS_INLINE_MAX);
		if (!bsn_fits(sq, *limit, bytes))
			return BSN_NO_ROOM;
		bsn_sq_take(sq, &r, bytes);
		bsn_put_inline_end(wqe + first - BSN_DS_INLINE_MAX, data, length);
		bsn_put_inline_beyond(wqe + first, rest, count);
	}
	if (bytes < bsn_bytes_of_ds(head + 3))
		__builtin_unreachable(); /* BSN_INLINE_STRAIGHT_MIN */
	if (__builtin_constant_p(length) && head + 2 + count <= BSN_REGS_MAX)
		return bsn_put_constant(sq, wqe, peer, prefix_ds, opcode, data, length,
					(unsigned)(head + 2 + count), remote, has_remote, imm, id,
					flags);
	ctrl0 = bsn_ctrl0(sq, opcode, head + 2 + count);
	if (!known && !__builtin_constant_p(length))
		BSN_HIDE(ctrl0.raw); /* else each case would load the count as a constant */
	bsn_put_inline_straight(sq, wqe + first, rest, straight,
				BSN_BF_BUFFER_BYTES / BSN_DS_SIZE + 1 - (head + 2), flags);
	r.ds[head] = bsn_ds_inline_first(data, length);
	return bsn_end_data(sq, wqe, peer, prefix_ds, ctrl0, &r, head + 1, BSN_REST_INLINE, length,
			    0, bytes, remote, has_remote, imm, id, flags);
}

/*
 * A message or WRITE whose bytes are copied into the WQE. One compare finds lengths of 8 to 12. Where
 * @known is not 0, there are at least 8 bytes; the WQE takes so many bytes in whole blocks, and these are free.
 */
BSN_ALWAYS_INLINE int bsn_put_data(struct bsn_sq *sq, uint8_t **limit,
				   const struct bsn_peer *peer, unsigned prefix_ds, unsigned opcode,
				   const uint8_t *data, size_t length, size_t known,
				   const struct bsn_remote *remote, bool has_remote, uint32_t imm,
				   uint64_t id, uint32_t flags)
{
	const unsigned ds = 2 + prefix_ds + has_remote;
	const uint32_t more = (uint32_t)length - (BSN_DS_INLINE_MAX + 1);
	struct bsn_regs r;
	uint8_t *wqe;
	int err;

	if (BSN_LIKELY(more >= (uint32_t)BSN_LITTLE_MIN - (BSN_DS_INLINE_MAX + 1))) {
		if (!known && !bsn_fits(sq, *limit, bsn_bytes_of_ds(ds)))
			return BSN_NO_ROOM;
		r.ds[ds - 1] = bsn_ds_little(data, length, more);
	} else {
		err = BSN_NOT_PLAIN;
		if (!__builtin_constant_p(length) || length > BSN_DS_INLINE_MAX)
			err = bsn_put_long(sq, limit, peer, prefix_ds, opcode, data, length,
					   known, remote, has_remote, imm, id, flags);
		if (err != BSN_NOT_PLAIN || known || length - 1 >= BSN_LITTLE_MIN - 1)
			return err;
		if (!bsn_fits(sq, *limit, bsn_bytes_of_ds(ds)))
			return BSN_NO_ROOM;
		r.ds[ds - 1] = bsn_ds_tiny(data, length);
	}
	wqe = bsn_sq_take_known(sq, &r, bsn_bytes_of_ds(ds));
	return bsn_end_data(sq, wqe, peer, prefix_ds, bsn_ctrl0(sq, opcode, ds), &r, ds,
			    BSN_REST_NONE, ds, BSN_NEAR_DS, bsn_bytes_of_ds(ds), remote, has_remote,
			    imm, id, flags);
}

/* -- what is not plain ---------------------------------------------------------------------------------- */

BSN_ALWAYS_INLINE int bsn_post_sgl_cold(struct bsn_ep *ep, unsigned opcode, const struct bsn_sge *sge,
					unsigned count, const struct bsn_remote *remote,
					uint32_t imm, uint64_t id, uint32_t flags)
{
	const struct bsn_sq_posts *const posts = ep->sq->posts;
	const unsigned row = BSN_POST_ROW(opcode, flags);

	if (__builtin_constant_p(count) && count == 1 &&
	    (flags & ~(uint32_t)BSN_F_RING) == BSN_F_SIGNALED)
		return posts->one[row](ep, BSN_WHAT(opcode, flags, 1u), sge, remote, imm, id);
	return posts->sgl[row](ep, BSN_WHAT(opcode, flags, count), sge, remote, imm, id);
}

BSN_ALWAYS_INLINE uint32_t bsn_what_count(uint32_t count)
{
	return count < BSN_WHAT_COUNT_MAX ? count : BSN_WHAT_COUNT_MAX;
}

BSN_ALWAYS_INLINE int bsn_post_inline_cold(struct bsn_ep *ep, unsigned opcode, const void *data,
					   uint32_t length, const struct bsn_remote *remote,
					   uint32_t imm, uint64_t id, uint32_t flags)
{
	const uint32_t what = BSN_WHAT(opcode, flags | BSN_F_INLINE, bsn_what_count(length));

	if (BSN_IS_NULL(ep))
		return bsn_sq_post_inline(ep, what, data, remote, imm, id);
	return ep->sq->posts->piece[BSN_POST_ROW(opcode, flags)](ep, what, data, remote, imm, id);
}

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

/* Posts one DS of data, of which all was checked. */
BSN_ALWAYS_INLINE int bsn_put_piece(struct bsn_sq *sq, struct bsn_ep *ep, unsigned prefix_ds,
				    unsigned opcode, struct bsn_ds data,
				    const struct bsn_remote *remote, bool has_remote, uint64_t id,
				    const struct bsn_be64 *ctrl1, uint32_t imm, uint32_t flags)
{
	const unsigned ds = 2 + prefix_ds + has_remote;
	const size_t bytes = bsn_bytes_of_ds(ds);
	struct bsn_regs r;
	uint8_t *const wqe = bsn_sq_take_known(sq, &r, bytes);

	/* In an order in which the registers that a call may change are enough; flags take one, if they are not known. */
	bsn_keep_peer_id_later(&r, bsn_peer_of(ep), id);
	bsn_begin_of(&r, bsn_peer_of(ep), prefix_ds, (struct bsn_be64){ 0 },
		     ctrl1 ? *ctrl1 : bsn_ctrl1(sq, flags, imm));
	if (has_remote)
		r.ds[1 + prefix_ds] = bsn_ds_in(bsn_ds_raddr(remote), !ctrl1 && !__builtin_constant_p(flags));
	r.ds[ds - 1] = data;
	r.ds[0].w0 = bsn_ctrl0(sq, opcode, ds);
	return bsn_end(sq, wqe, NULL, true, &r, ds, BSN_REST_NONE, ds, BSN_NEAR_DS, bytes, id, flags);
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
	const size_t bytes = bsn_bytes_of_ds(ds);
	const bool are_many = count > 2;
	struct bsn_regs r;

	/* In an order in which the registers that a call may change are enough. */
	r.moves_later = true;
	bsn_keep_peer_id_later(&r, peer, id);
	bsn_begin_of(&r, peer, prefix_ds, (struct bsn_be64){ 0 }, bsn_ctrl1(sq, flags, imm));
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
	r.ds[0].w0 = bsn_ctrl0(sq, opcode, ds);
	return bsn_end(sq, slot, NULL, true, &r, ds, BSN_REST_NONE, ds, BSN_NEAR_DS, bytes, id, flags);
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
 * queue's functions, which looks for some.
 */
#define BSN_SGES_PARAMETERS                                                                        \
	struct bsn_ep *ep, const struct bsn_sge *sge, const struct bsn_remote *remote, uint64_t id
#define BSN_POST_SGES(name, parameters, arguments, slot, sq, opcode, count, imm, flags)            \
	BSN_UNCHANGED int name##_full(parameters)                                                  \
	{                                                                                          \
		return bsn_post_sgl_cold(ep, opcode, sge, count, remote, imm, id, (flags) & BSN_F_PLAIN); \
	}                                                                                          \
	BSN_UNCHANGED int name##_cold(parameters)                                                  \
	{                                                                                          \
		return bsn_sq_post_sgl(ep, BSN_WHAT(opcode, (flags) & BSN_F_PLAIN, count), sge,    \
				       remote, imm, id);                                           \
	}                                                                                          \
	BSN_UNCHANGED int name##_extended(parameters)                                              \
	{                                                                                          \
		const int err = bsn_try_rdma(ep, sq, slot, BSN_EXTENDED_DS, opcode, sge, count,    \
					     remote, imm, id, flags);                              \
                                                                                                   \
		return err > 0 ? name##_cold(arguments) : err;                                     \
	}                                                                                          \
	BSN_UNCHANGED int name(parameters)                                                         \
	{                                                                                          \
		int err;                                                                           \
                                                                                                   \
		if (bsn_peer_of(ep)->prefix_ds != BSN_COMPACT_DS)                                  \
			return name##_extended(arguments);                                         \
		err = bsn_try_rdma(ep, sq, slot, BSN_COMPACT_DS, opcode, sge, count, remote, imm,  \
				   id, flags);                                                     \
		return err > 0 ? name##_cold(arguments) : err;                                     \
	}
#define BSN_RUNG_PARAMETERS                                                                        \
	BSN_SGES_PARAMETERS, uint8_t *slot __attribute__((unused)), struct bsn_sq *sq __attribute__((unused))
#define BSN_RUNG_ARGUMENTS  ep, sge, remote, id, slot, sq
#define BSN_ANY_PARAMETERS  BSN_SGES_PARAMETERS, uint64_t what
#define BSN_ANY_ARGUMENTS   ep, sge, remote, id, what
#define BSN_POST_RDMA(count)                                                                       \
	BSN_POST_SGES(bsn_peer_write_rung##count, BSN_RUNG_PARAMETERS, BSN_RUNG_ARGUMENTS, slot, sq, \
		      BSN_OPCODE_RDMA_WRITE, count, 0, BSN_F_RUNG)                                 \
	BSN_POST_SGES(bsn_peer_read_rung##count, BSN_RUNG_PARAMETERS, BSN_RUNG_ARGUMENTS, slot, sq, \
		      BSN_OPCODE_RDMA_READ, count, 0, BSN_F_RUNG)                                  \
	BSN_POST_SGES(bsn_peer_rdma##count, BSN_ANY_PARAMETERS, BSN_ANY_ARGUMENTS, ep->sq->slot,   \
		      ep->sq, (uint8_t)what, count, (uint32_t)(what >> 32), (uint32_t)what)
BSN_POST_RDMA(2)
BSN_POST_RDMA(3)
BSN_POST_RDMA(4)
#undef BSN_POST_RDMA
#undef BSN_ANY_ARGUMENTS
#undef BSN_ANY_PARAMETERS
#undef BSN_RUNG_ARGUMENTS
#undef BSN_RUNG_PARAMETERS
#undef BSN_POST_SGES

/* An atomic to a peer with such a vector; there is room for two blocks. */
BSN_ALWAYS_INLINE int bsn_try_atomic(struct bsn_ep *ep, struct bsn_sq *sq, unsigned prefix_ds,
				     unsigned opcode, const struct bsn_sge *sge,
				     const struct bsn_remote *remote, uint64_t swap_add,
				     uint64_t compare, uint64_t id, uint32_t flags)
{
	const unsigned ds = 4 + prefix_ds;
	const size_t bytes = bsn_bytes_of_ds(ds);
	uint8_t *const slot = sq->slot;
	struct bsn_regs r;

	if (BSN_UNLIKELY(!(sq->ops >> opcode & 1)))
		return BSN_NOT_PLAIN;
	/* As in bsn_put_peer_sges(). */
	r.moves_later = true;
	bsn_keep_peer_id_later(&r, bsn_peer_of(ep), id);
	bsn_begin_of(&r, bsn_peer_of(ep), prefix_ds, (struct bsn_be64){ 0 }, bsn_ctrl1(sq, flags, 0));
	r.ds[ds - 3] = bsn_ds_raddr(remote);
	r.ds[ds - 2] = bsn_ds_in(bsn_ds_operands(swap_add, compare), true);
	r.ds[ds - 1] = bsn_ds_result(sge);
	r.ds[0].w0 = bsn_ctrl0(sq, opcode, ds);
	return bsn_end(sq, slot, NULL, true, &r, ds, BSN_REST_NONE, ds, BSN_NEAR_DS, bytes, id, flags);
}

/* As those of several SGEs. */
#define BSN_POST_ATOMIC(name, opcode, parameters, arguments, queue, swap_add, compare, flags)      \
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
	}                                                                                          \
	BSN_UNCHANGED int name##_extended(parameters)                                              \
	{                                                                                          \
		const int err = bsn_try_atomic(ep, queue, BSN_EXTENDED_DS, opcode, sge, remote,    \
					       swap_add, compare, id, flags);                      \
                                                                                                   \
		return err > 0 ? name##_cold(arguments) : err;                                     \
	}                                                                                          \
	BSN_UNCHANGED int name(parameters)                                                         \
	{                                                                                          \
		int err;                                                                           \
                                                                                                   \
		if (bsn_peer_of(ep)->prefix_ds != BSN_COMPACT_DS)                                  \
			return name##_extended(arguments);                                         \
		err = bsn_try_atomic(ep, queue, BSN_COMPACT_DS, opcode, sge, remote, swap_add,     \
				     compare, id, flags);                                          \
		return err > 0 ? name##_cold(arguments) : err;                                     \
	}
#define BSN_ADD_PARAMETERS                                                                         \
	BSN_SGES_PARAMETERS, uint64_t add, struct bsn_sq *sq __attribute__((unused))
#define BSN_ADD_ARGUMENTS  ep, sge, remote, id, add, sq
#define BSN_SWAP_PARAMETERS BSN_SGES_PARAMETERS, uint64_t swap, uint64_t compare
#define BSN_SWAP_ARGUMENTS  ep, sge, remote, id, swap, compare
#define BSN_OPERANDS_PARAMETERS BSN_SGES_PARAMETERS, uint32_t what, bsn_v2 operands
#define BSN_OPERANDS_ARGUMENTS  ep, sge, remote, id, what, operands
BSN_POST_ATOMIC(bsn_peer_fetch_add_rung, BSN_OPCODE_ATOMIC_FA, BSN_ADD_PARAMETERS, BSN_ADD_ARGUMENTS,
		sq, add, 0, BSN_F_RUNG)
BSN_POST_ATOMIC(bsn_peer_cmp_swap_rung, BSN_OPCODE_ATOMIC_CS, BSN_SWAP_PARAMETERS,
		BSN_SWAP_ARGUMENTS, ep->sq, swap, compare, BSN_F_RUNG)
BSN_POST_ATOMIC(bsn_peer_atomic, (uint8_t)what, BSN_OPERANDS_PARAMETERS, BSN_OPERANDS_ARGUMENTS, ep->sq,
		operands[0], operands[1], what)
#undef BSN_OPERANDS_ARGUMENTS
#undef BSN_OPERANDS_PARAMETERS
#undef BSN_SWAP_ARGUMENTS
#undef BSN_SWAP_PARAMETERS
#undef BSN_ADD_ARGUMENTS
#undef BSN_ADD_PARAMETERS
#undef BSN_POST_ATOMIC
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
	(bsn_fits(ep->sq, ep->sq->peer_limit, 2 * BSN_BB_SIZE)                                     \
		 ? (count == 2   ? name##2(ep, sge, remote, id, __VA_ARGS__)                       \
		    : count == 3 ? name##3(ep, sge, remote, id, __VA_ARGS__)                       \
				 : name##4(ep, sge, remote, id, __VA_ARGS__))                      \
		 : (count == 2   ? name##2_full(ep, sge, remote, id, __VA_ARGS__)                  \
		    : count == 3 ? name##3_full(ep, sge, remote, id, __VA_ARGS__)                  \
				 : name##4_full(ep, sge, remote, id, __VA_ARGS__)))
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
		const uint64_t what = (uint64_t)imm << 32 | BSN_WHAT(opcode, flags, 0u);
		if (bsn_is_rung(flags) && opcode == BSN_OPCODE_RDMA_WRITE)
			return BSN_POST_SEVERAL(bsn_peer_write_rung, ep->sq->slot, ep->sq);
		if (bsn_is_rung(flags) && opcode == BSN_OPCODE_RDMA_READ)
			return BSN_POST_SEVERAL(bsn_peer_read_rung, ep->sq->slot, ep->sq);
		return BSN_POST_SEVERAL(bsn_peer_rdma, what);
	}
	return bsn_post_sgl_cold(ep, opcode, sge, bsn_what_count(count), remote, imm, id, flags);
}

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
	const size_t bytes = bsn_bytes_of_ds(ds);
	struct bsn_regs r;

	/* As in bsn_put_peer_sges(). */
	r.moves_later = true;
	bsn_keep_peer_id_later(&r, bsn_peer_of(ep), id);
	bsn_begin_of(&r, bsn_peer_of(ep), prefix_ds, (struct bsn_be64){ 0 }, bsn_ctrl1(sq, flags, imm));
	r.ds[n - 1] = bsn_ds_raddr(remote);
	r.ds[n] = bsn_ds_of_vector(u->v0);
	r.ds[n + 1] = bsn_ds_of_vector(u->v1);
	if (count > 2)
		r.ds[n + 2] = bsn_ds_of_vector(u->v2);
	if (count > 3)
		r.ds[n + 3] = bsn_ds_of_vector(u->v3);
	if (count > 4)
		r.ds[n + 4] = bsn_ds_of_vector(u->v4);
	r.ds[0].w0 = bsn_ctrl0(sq, opcode, ds);
	return bsn_end(sq, slot, NULL, true, &r, ds, BSN_REST_NONE, ds, BSN_NEAR_DS, bytes, id, flags);
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
