/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn_decode.h, which programs include.
 *
 * Big-endian integers, as the device reads and writes them. Each is a struct of one member, so code
 * that mixes the device's byte order with the host's does not compile.
 */
#ifndef BSN_BE_H
#define BSN_BE_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bsn_be16 {
	uint16_t raw;
};
struct bsn_be32 {
	uint32_t raw;
};
struct bsn_be64 {
	uint64_t raw;
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BSN_BE_SWAP(bits, v) __builtin_bswap##bits(v)
#else
#define BSN_BE_SWAP(bits, v) (v)
#endif

/* bsn_to_beN(): host to device. bsn_from_beN(): device to host. Load and store at any alignment. */
#define BSN_BE_CONVERSIONS(bits)                                                                   \
	static inline struct bsn_be##bits bsn_to_be##bits(uint##bits##_t v)                        \
	{                                                                                          \
		struct bsn_be##bits be;                                                            \
		be.raw = BSN_BE_SWAP(bits, v);                                                     \
		return be;                                                                         \
	}                                                                                          \
	static inline uint##bits##_t bsn_from_be##bits(struct bsn_be##bits be)                     \
	{                                                                                          \
		return BSN_BE_SWAP(bits, be.raw);                                                  \
	}                                                                                          \
	static inline uint##bits##_t bsn_load_be##bits(const void *src)                            \
	{                                                                                          \
		struct bsn_be##bits be;                                                            \
		memcpy(&be, src, sizeof(be));                                                      \
		return bsn_from_be##bits(be);                                                      \
	}                                                                                          \
	static inline void bsn_store_be##bits(void *dst, uint##bits##_t v)                         \
	{                                                                                          \
		struct bsn_be##bits be = bsn_to_be##bits(v);                                       \
		memcpy(dst, &be, sizeof(be));                                                      \
	}

BSN_BE_CONVERSIONS(16)
BSN_BE_CONVERSIONS(32)
BSN_BE_CONVERSIONS(64)

/**
 * bsn_byte_to_be32 - bsn_to_be32() of a value below 256
 *
 * It shifts instead of swapping: after a swap, gcc 12 needs one more instruction to widen the
 * result to 64 bits.
 */
static inline __attribute__((always_inline)) struct bsn_be32 bsn_byte_to_be32(uint32_t v)
{
	struct bsn_be32 be;

	be.raw = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v << 24 : v;
	return be;
}

/**
 * bsn_wide_be32 - swaps the bytes of a dword, and widens it to 64 bits
 *
 * On x86-64 the swap itself clears the upper 32 bits. After __builtin_bswap32() gcc 12 clears them
 * once more, so the swap is in assembly.
 */
static inline __attribute__((always_inline)) uint64_t bsn_wide_be32(uint32_t raw)
{
	const struct bsn_be32 be = { raw };
	uint64_t wide = raw;

	if (__builtin_constant_p(raw))
		return bsn_from_be32(be);
#ifdef __x86_64__
	__asm__("bswap %k0" : "+r"(wide));
#else
	wide = bsn_from_be32(be);
#endif
	return wide;
}

/**
 * bsn_pair_to_be64 - bsn_to_be64() of two dwords, the first in the high half
 *
 * If the second dword is a constant 0, it costs one swap and no shift.
 */
static inline __attribute__((always_inline)) struct bsn_be64 bsn_pair_to_be64(uint64_t v)
{
	struct bsn_be64 be = bsn_to_be64(v);

	if (__builtin_constant_p((uint32_t)v) && (uint32_t)v == 0 &&
	    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		be.raw = bsn_wide_be32((uint32_t)(v >> 32));
	return be;
}

/** bsn_join_raw_to_be64 - joins two dwords that are in the device's order */
static inline __attribute__((always_inline)) struct bsn_be64
bsn_join_raw_to_be64(uint32_t first_raw, uint32_t second_raw)
{
	struct bsn_be64 be;

	be.raw = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
			 ? (uint64_t)second_raw << 32 | first_raw
			 : (uint64_t)first_raw << 32 | second_raw;
	return be;
}

/** bsn_byte_pair_to_be64 - bsn_pair_to_be64() of a dword below 256 and another */
static inline __attribute__((always_inline)) struct bsn_be64 bsn_byte_pair_to_be64(uint32_t first,
										   uint32_t second)
{
	return bsn_join_raw_to_be64(bsn_byte_to_be32(first).raw, bsn_to_be32(second).raw);
}

#undef BSN_BE_CONVERSIONS
#undef BSN_BE_SWAP

#ifdef __cplusplus
}
#endif
#endif
