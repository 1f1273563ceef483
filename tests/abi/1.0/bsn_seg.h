/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn_decode.h, which programs include.
 *
 * The one generator of byte layouts. A segment is described once, by a macro that lists its rows:
 *
 *	#define BSN_TABLE_FOO(F, Q, Z, I)                                                    \
 *		F(opcode, 0,  0,  8, "what the device is to do")                             \
 *		F(index,  0,  8, 16, "ring index of the first basic block, modulo 2^16")     \
 *		Z(        0, 24,  8)                                                         \
 *		I(        1,  0, 32)                                                         \
 *		Q(addr,   2,         "address")
 *
 *	F(name, dword, lsb, width, doc)  a field of up to 32 bits: `width` bits from bit `lsb` up
 *	Q(name, dword, doc)              a 64-bit field in dwords `dword` (high half) and `dword`+1
 *	Z(dword, lsb, width)             bits that must be zero
 *	I(dword, lsb, width)             bits that the device ignores
 *
 * Dword n is the big-endian 32-bit word at byte 4n. The rows tile the segment: every bit is in one
 * row (a test proves it). BSN_SEG_DEFINE(foo, size, BSN_TABLE_FOO) then gives
 *
 *	struct bsn_foo                              the fields, in host order
 *	bsn_foo_word(value, n)                      the nth 64-bit word in host order, for builders
 *	bsn_foo_encode(dst, value)                  all bytes; ignored and must-be-zero bits are 0
 *	bsn_foo_decode(value, src)
 *	bsn_foo_desc                                the table as data (tables.c)
 *
 * In a segment that the device writes, I is bits that no reader uses. Tables with rows in common
 * have a macro for those. The encoder truncates values that are wider than their row; bsn_seg_fit()
 * finds such values. Numbers with names are lists X(NAME, value, doc), which give the C enum and,
 * as a struct bsn_enum, the names that a dump prints. With constant arguments the compiler folds
 * all of this: a word costs its shifts and one byte swap.
 */
#ifndef BSN_SEG_H
#define BSN_SEG_H

#include <stddef.h>
#include <stdint.h>

#include "bsn_be.h"

/*
 * BSN_DATA: data that the libraries export. BSN_API: a function. gcc calls it by the address that
 * the loader found at the program's start (noplt), not by a stub: there is one line of code less to
 * fetch, and no first post that has its symbol looked up. clang has no such attribute.
 */
#define BSN_DATA __attribute__((visibility("default")))
#ifdef __clang__
#define BSN_API BSN_DATA
#else
#define BSN_API __attribute__((noplt)) BSN_DATA
#endif
#define BSN_ALWAYS_INLINE static inline __attribute__((always_inline))

#ifdef __cplusplus
extern "C" {
#endif

/** enum bsn_row_kind - what the device does with the bits of a row */
enum bsn_row_kind {
	BSN_ROW_FIELD,   /* read by the device, up to 32 bits */
	BSN_ROW_FIELD64, /* read by the device, 64 bits */
	BSN_ROW_ZERO,    /* must be zero */
	BSN_ROW_IGNORED, /* not read by the device */
};

/** struct bsn_row - one row of a segment's table, for tools that walk it */
struct bsn_row {
	const char *name; /* NULL for BSN_ROW_ZERO and BSN_ROW_IGNORED, as doc is */
	const char *doc;  /* what it means */
	enum bsn_row_kind kind;
	uint8_t dword;
	uint8_t lsb;
	uint8_t width; /* bits */
};

/** struct bsn_seg_desc - a segment's table as data */
struct bsn_seg_desc {
	const char *name;
	const char *doc;
	const struct bsn_row *rows;
	uint16_t row_count;
	uint16_t size_bytes;      /* on the wire */
	uint16_t host_size_bytes; /* of struct bsn_<name>: the fields, in the order of the rows */
};

/**
 * bsn_segments - every segment described, bsn_segment_count of them
 *
 * A pointer: a program may have a copy of this symbol, whose size cannot change after linking.
 */
extern BSN_DATA const struct bsn_seg_desc *const *const bsn_segments;
extern BSN_DATA const size_t bsn_segment_count;

/**
 * bsn_row_get() - the value of one row in a segment's bytes, whatever its kind
 * @row: one of the segment's rows
 * @src: the segment's bytes, no alignment needed
 */
BSN_API uint64_t bsn_row_get(const struct bsn_row *row, const void *src);

/**
 * bsn_row_offset() - where a row begins
 *
 * Return: the offset of its first byte in the segment, which holds its highest bits (big-endian).
 */
BSN_API uint32_t bsn_row_offset(const struct bsn_row *row);

/** bsn_row_put() - writes a row's value into the segment at @dst; higher bits are cut off */
BSN_API void bsn_row_put(const struct bsn_row *row, void *dst, uint64_t value);

/**
 * bsn_row_find() - a field by its name
 *
 * Return: its row, or NULL: the segment has no such field.
 */
BSN_API const struct bsn_row *bsn_row_find(const struct bsn_seg_desc *desc, const char *name);

/**
 * bsn_seg_fit() - whether the encoder would keep every bit of a host structure
 * @desc: the segment's descriptor
 * @host: a struct bsn_<name> of that segment
 * @row: on -ERANGE the first field that does not fit; may be NULL
 *
 * Return: 0, or -ERANGE.
 */
BSN_API int bsn_seg_fit(const struct bsn_seg_desc *desc, const void *host,
			const struct bsn_row **row);

/** struct bsn_enum_value - one number that has a name */
struct bsn_enum_value {
	uint32_t value;
	const char *name;
	const char *doc;
};

/** struct bsn_enum - the named values of a field */
struct bsn_enum {
	const char *name; /* of the C enum, without bsn_ */
	const struct bsn_enum_value *values;
	size_t count;
};

/** bsn_enums - every enumeration, bsn_enum_count of them */
extern BSN_DATA const struct bsn_enum *const *const bsn_enums;
extern BSN_DATA const size_t bsn_enum_count;

/**
 * bsn_enum_find() - the name of a number
 *
 * Return: the entry, or NULL: the number has no name.
 */
BSN_API const struct bsn_enum_value *bsn_enum_find(const struct bsn_enum *list, uint64_t value);

/**
 * bsn_row_enum() - the enumeration of a field's values
 *
 * Return: the list, or NULL: the field is a plain number.
 */
BSN_API const struct bsn_enum *bsn_row_enum(const struct bsn_seg_desc *desc,
					    const struct bsn_row *row);

#define BSN_ROW_MASK(width) ((uint32_t)((1ull << (width)) - 1))

/* What the generator makes of a row; `v`, `d` and `src` are parameters of the functions below. */
#define BSN_ROW_NONE_Z(dword, lsb, width)
#define BSN_ROW_NONE_F(name, dword, lsb, width, doc)
#define BSN_ROW_NONE_Q(name, dword, doc)
#define BSN_ROW_MEMBER_F(name, dword, lsb, width, doc) uint32_t name;
#define BSN_ROW_MEMBER_Q(name, dword, doc)             uint64_t name;
#define BSN_ROW_PUT_F(name, dword, lsb, width, doc)                                                \
	if ((dword) == d)                                                                          \
		bits |= (v->name & BSN_ROW_MASK(width)) << (lsb);
#define BSN_ROW_PUT_F64(name, dword, lsb, width, doc)                                              \
	if ((dword) / 2 == n) {                                                                    \
		if ((width) <= 16) /* one shift, no mask where the value is 16 bits already */     \
			bits |= (uint64_t)(v->name & BSN_ROW_MASK(width))                          \
				<< ((lsb) + ((dword) % 2 ? 0 : 32));                               \
		else /* a mask of 32 bits, which is an immediate */                                \
			half[(dword) % 2] |= (v->name & BSN_ROW_MASK(width)) << (lsb);             \
	}
#define BSN_ROW_PUT_Q(name, dword, doc)                                                            \
	if ((dword) / 2 == n)                                                                      \
		bits |= v->name;
#define BSN_ROW_GET_F(name, dword, lsb, width, doc)                                                \
	if ((width) == 16 && (lsb) % 16 == 0) /* costs a shift less */                             \
		v->name = bsn_load_be16((const uint8_t *)src + 4 * (dword) + 2 - (lsb) / 8);       \
	else                                                                                       \
		v->name = (bsn_load_be32((const uint8_t *)src + 4 * (dword)) >> (lsb)) &           \
			  BSN_ROW_MASK(width);
#define BSN_ROW_GET_Q(name, dword, doc) v->name = bsn_load_be64((const uint8_t *)src + 4 * (dword));

/* Unrolled by hand: gcc 12 leaves a loop over the words at -O2. `dst` and `v` are the encoder's. */
#define BSN_SEG_PUT_WORD(seg, size, n)                                                             \
	if (8 * (n) + 8 <= (size))                                                                 \
		bsn_store_be64((uint8_t *)dst + 8 * (n), bsn_##seg##_word(v, n));                  \
	else if (8 * (n) + 4 <= (size))                                                            \
		bsn_store_be32((uint8_t *)dst + 8 * (n), bsn_##seg##_dword(v, 2 * (n)));

#define BSN_SEG_DEFINE(seg, size, TABLE)                                                           \
	struct bsn_##seg {                                                                         \
		TABLE(BSN_ROW_MEMBER_F, BSN_ROW_MEMBER_Q, BSN_ROW_NONE_Z, BSN_ROW_NONE_Z)          \
	};                                                                                         \
	extern BSN_DATA const struct bsn_seg_desc bsn_##seg##_desc;                                \
	BSN_ALWAYS_INLINE uint32_t bsn_##seg##_dword(const struct bsn_##seg *v, unsigned d)        \
	{                                                                                          \
		uint32_t bits = 0;                                                                 \
		TABLE(BSN_ROW_PUT_F, BSN_ROW_NONE_Q, BSN_ROW_NONE_Z, BSN_ROW_NONE_Z)               \
		(void)v;                                                                           \
		(void)d;                                                                           \
		return bits;                                                                       \
	}                                                                                          \
	BSN_ALWAYS_INLINE uint64_t bsn_##seg##_word(const struct bsn_##seg *v, unsigned n)         \
	{                                                                                          \
		uint64_t bits = 0;                                                                 \
		uint32_t half[2] = { 0, 0 };                                                       \
		TABLE(BSN_ROW_PUT_F64, BSN_ROW_PUT_Q, BSN_ROW_NONE_Z, BSN_ROW_NONE_Z)              \
		return bits | (uint64_t)half[0] << 32 | half[1];                                   \
	}                                                                                          \
	BSN_ALWAYS_INLINE void bsn_##seg##_encode(void *dst, const struct bsn_##seg *v)            \
	{                                                                                          \
		BSN_SEG_PUT_WORD(seg, size, 0)                                                     \
		BSN_SEG_PUT_WORD(seg, size, 1)                                                     \
		BSN_SEG_PUT_WORD(seg, size, 2)                                                     \
		BSN_SEG_PUT_WORD(seg, size, 3)                                                     \
		BSN_SEG_PUT_WORD(seg, size, 4)                                                     \
		BSN_SEG_PUT_WORD(seg, size, 5)                                                     \
		BSN_SEG_PUT_WORD(seg, size, 6)                                                     \
		BSN_SEG_PUT_WORD(seg, size, 7)                                                     \
	}                                                                                          \
	BSN_ALWAYS_INLINE void bsn_##seg##_decode(struct bsn_##seg *v, const void *src)            \
	{                                                                                          \
		TABLE(BSN_ROW_GET_F, BSN_ROW_GET_Q, BSN_ROW_NONE_Z, BSN_ROW_NONE_Z)                \
		(void)v;                                                                           \
		(void)src;                                                                         \
	}

#ifdef __cplusplus
}
#endif
#endif
