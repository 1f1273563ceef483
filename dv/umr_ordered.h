/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts in the order of memory, of one key or of two in turn, checked and put into the ring by AVX2 or NEON.
 * By AVX2 a part is one vector. What all should be is subtracted, so that an or of what is left tells what is
 * wrong with any. Of what is left, places and lengths have 32 bits, so that eight of them are looked at
 * together. Inline, and private to the library.
 */
#ifndef DV_UMR_ORDERED_H
#define DV_UMR_ORDERED_H

#include "umr_plain.h"

enum {
	UMR_SPAN_LOG2 = 30, /* of what parts may span, and of their lengths */
};

/* Whatever a WQE holds of parts; the compiler knows. */
struct umr_kind {
	bool has_turns; /* of two keys */
	bool has_rounds;
	bool has_pages; /* of one size, which is not told */
	bool are_few;   /* UMR_FEW at the most */
	bool are_many;  /* more than that */
	bool are_eights; /* several times eight */
};

/* Of so many parts, those that are eights. */
BSN_ALWAYS_INLINE uint32_t umr_eights_of(uint32_t count, struct umr_kind kind)
{
	return kind.are_eights ? count : count & ~7u;
}

#if defined(__aarch64__)
#include "umr_neon.h"
#elif defined(__x86_64__)
#include <immintrin.h>

/* Else the compiler keeps several aside, for which there are not enough registers. */
#define UMR_IN_TURN(v) __asm__("" : "+x"(v))

#define UMR_WIDE static inline __attribute__((target("avx2"), always_inline))

_Static_assert(sizeof(struct bsn_part) == sizeof(__m256i), "a part is a vector");

/*
 * What is known of the parts so far.
 * @less: added to a part of the one key and of the other: what is left are its place, from the first part of the key on,
 *	and its length less one, and nothing of stride and key
 * @more: added to what is left of two parts: what their translations say
 * @order: in which order
 * @before: umr_before
 * @page: bytes of each, less one
 * @wrong: what is left of the parts, or-ed
 * @gaps: how far each begins after the last byte of the one before, of its key, added, 32 bits each
 * @apart: the same the other way, less than 0, and-ed
 * @ends: where that is: in the lowest 32 bits, of two keys in the highest of both halves
 */
struct umr_ordered {
	__m256i less[2], more, order, before, page;
	__m256i wrong, gaps, apart, ends;
};

/* The bytes of two translations, as they lie in words: length, key, and address; without and with pages. */
static const _Alignas(32) int8_t umr_word_orders[2][32] = {
	{ 11, 10, 9, 8, 15, 14, 13, 12, 7, 6, 5, 4, 3, 2, 1, 0,
	  11, 10, 9, 8, 15, 14, 13, 12, 7, 6, 5, 4, 3, 2, 1, 0 },
	{ -1, -1, -1, -1, 15, 14, 13, 12, 7, 6, 5, 4, 3, 2, 1, 0,
	  -1, -1, -1, -1, 15, 14, 13, 12, 7, 6, 5, 4, 3, 2, 1, 0 },
};

/* Where the parts that come before eight, the even ones and then the odd ones, are among these: the first is not. */
static const _Alignas(32) uint32_t umr_before[8] = { 7, 4, 5, 6, 0, 1, 2, 3 };

/* The sign bits of 32-bit words, and of those in low halves. */
static const _Alignas(32) uint64_t umr_signs[2][4] = {
	{ 0x8000000080000000, 0x8000000080000000, 0x8000000080000000, 0x8000000080000000 },
	{ 0x80000000, 0x80000000, 0x80000000, 0x80000000 },
};

static const _Alignas(32) uint64_t umr_high_halves[4] = { ~0ull << 32, ~0ull << 32, ~0ull << 32,
							  ~0ull << 32 };

/* Loaded once, wherever the compiler would rather do it again. */
UMR_WIDE __m256i umr_load(const void *v)
{
	__m256i loaded;

	__asm__("vmovdqa %1, %0" : "=x"(loaded) : "m"(*(const __m256i *)v));
	return loaded;
}

/* Whether @v has all the bits, which the compiler would rather make than find in memory. */
UMR_WIDE bool umr_has_all(__m256i v, const void *bits)
{
	bool has;

	__asm__("vptest %2, %1" : "=@ccc"(has) : "x"(v), "m"(*(const __m256i *)bits));
	return has;
}

UMR_WIDE __m256i umr_look(struct umr_ordered *pass, const struct bsn_part *part, __m256i less)
{
	const __m256i left = _mm256_add_epi64(less, _mm256_loadu_si256((const void *)part));

	pass->wrong = _mm256_or_si256(pass->wrong, left);
	UMR_IN_TURN(pass->wrong);
	return left;
}

/* Two parts. Returns what is left of their places and lengths. */
UMR_WIDE __m256i umr_pass_two(struct umr_ordered *pass, uint8_t *at, const struct bsn_part *part)
{
	const __m256i a = umr_look(pass, &part[0], pass->less[0]);
	const __m256i b = umr_look(pass, &part[1], pass->less[1]);
	const __m256i two = _mm256_inserti128_si256(a, _mm256_castsi256_si128(b), 1);

	_mm256_storeu_si256((void *)at,
			    _mm256_shuffle_epi8(_mm256_add_epi64(two, pass->more), pass->order));
	return two;
}

/* The even ones of the 32-bit words of both, by halves. */
UMR_WIDE __m256i umr_words_of(__m256i a, __m256i b)
{
	return _mm256_castps_si256(
		_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88));
}

/* Four: place and length of the first, third, second, and fourth. */
UMR_WIDE __m256i umr_pass_four(struct umr_ordered *pass, uint8_t *at, const struct bsn_part *part)
{
	const __m256i a = umr_pass_two(pass, at, part);
	const __m256i b = umr_pass_two(pass, at + 2 * BSN_DS_SIZE, part + 2);

	return umr_words_of(a, b);
}

UMR_WIDE void umr_note_gaps(struct umr_ordered *pass, __m256i gaps, struct umr_kind kind)
{
	UMR_IN_TURN(gaps);
	pass->apart = _mm256_and_si256(pass->apart, gaps);
	if (!kind.has_pages)
		pass->gaps = _mm256_sub_epi32(pass->gaps, gaps);
}

/* Eight: in the lanes are the even ones, then the odd ones. */
UMR_WIDE void umr_pass_eight(struct umr_ordered *pass, uint8_t *at, const struct bsn_part *part,
			     struct umr_kind kind)
{
	const __m256i a = umr_pass_four(pass, at, part);
	const __m256i b = umr_pass_four(pass, at + 4 * BSN_DS_SIZE, part + 4);
	const __m256i firsts = umr_words_of(a, b);
	const __m256i lasts = kind.has_pages ? _mm256_add_epi32(firsts, pass->page)
					     : _mm256_hadd_epi32(a, b);
	const __m256i ends =
		kind.has_turns ? lasts : _mm256_permutevar8x32_epi32(lasts, pass->before);
	const __m256i before = kind.has_turns ? _mm256_alignr_epi8(ends, pass->ends, 12)
					      : _mm256_blend_epi32(ends, pass->ends, 0x01);

	umr_note_gaps(pass, _mm256_sub_epi32(before, firsts), kind);
	pass->ends = ends;
}

/*
 * Four at the end, of which the first @known were looked at before: they are only there so that there are four. Of
 * two keys they are none or two.
 */
UMR_WIDE void umr_pass_last_four(struct umr_ordered *pass, uint8_t *at, const struct bsn_part *part,
				 uint32_t known, struct umr_kind kind)
{
	static const _Alignas(32) uint64_t counts[4][4] = {
		{ UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX },
		{ 0, UINT32_MAX, UINT32_MAX, UINT32_MAX },
		{ 0, UINT32_MAX, 0, UINT32_MAX },
		{ 0, 0, 0, UINT32_MAX },
	};
	const __m256i all = _mm256_set1_epi32(-1), last = known ? all : pass->ends;
	const __m256i firsts = umr_pass_four(pass, at, part);
	const __m256i lengths = _mm256_srli_epi64(kind.has_pages ? pass->page : firsts, 32);
	const __m256i lasts = _mm256_add_epi32(firsts, lengths);
	__m256i before, gaps;

	if (kind.has_turns) {
		before = _mm256_alignr_epi8(lasts, _mm256_srli_epi64(last, 32), 8);
		pass->ends = _mm256_shuffle_epi32(lasts, 0x80);
	} else {
		pass->ends = _mm256_permute4x64_epi64(lasts, 0x4b);
		before = _mm256_blend_epi32(pass->ends, last, 0x03);
	}
	gaps = _mm256_sub_epi32(before, firsts);
	/* Of the few nobody looks at the high halves. */
	pass->apart = _mm256_and_si256(
		pass->apart, kind.are_few ? gaps : _mm256_or_si256(umr_load(umr_high_halves), gaps));
	if (kind.has_pages)
		return;
	if (known || !kind.are_few)
		gaps = _mm256_and_si256(gaps, _mm256_load_si256((const void *)counts[known]));
	pass->gaps = _mm256_sub_epi32(pass->gaps, gaps);
}

/* Of a part: its address, and its stride where that is looked at. */
UMR_WIDE __m256i umr_place_of(const struct bsn_part *part, struct umr_kind kind)
{
	if (!kind.has_rounds)
		return _mm256_set_epi64x(0, 0, 0, (long long)part->addr);
	return _mm256_blend_epi32(_mm256_setzero_si256(), _mm256_loadu_si256((const void *)part),
				  0x33);
}

/* What makes translations of parts of one key. */
UMR_WIDE __m256i umr_more_of(const struct umr_wanted *wanted, __m256i place, struct umr_kind kind)
{
	const __m256i more = _mm256_add_epi64(_mm256_loadu_si256((const void *)wanted->more),
					      _mm256_permute4x64_epi64(place, 0x44));

	if (!kind.has_rounds)
		return more;
	/* As a length of 16 bits has it above. */
	return _mm256_add_epi64(more, _mm256_slli_epi64(_mm256_permute4x64_epi64(place, 0x99), 16));
}

/* @wanted: of one key, or of two; @page_bytes: of pages */
UMR_WIDE struct umr_ordered umr_begin_ordered(const struct bsn_part *part,
					      const struct umr_wanted *wanted, uint32_t page_bytes,
					      struct umr_kind kind)
{
	const __m256i zero = _mm256_setzero_si256(), all = _mm256_set1_epi32(-1);
	__m256i place = umr_place_of(part, kind);
	struct umr_ordered pass = { .order = umr_load(umr_word_orders[kind.has_pages]),
				    .wrong = zero,
				    .gaps = zero,
				    .apart = all,
				    .ends = all };

	if (kind.has_pages)
		pass.page = _mm256_set1_epi32((int)(page_bytes - 1));
	pass.less[0] = pass.less[1] =
		_mm256_sub_epi64(_mm256_loadu_si256((const void *)wanted->less), place);
	pass.more = umr_more_of(wanted, place, kind);
	if (kind.has_turns) {
		place = umr_place_of(part + 1, kind);
		pass.less[1] =
			_mm256_sub_epi64(_mm256_loadu_si256((const void *)wanted[1].less), place);
		pass.more =
			_mm256_blend_epi32(pass.more, umr_more_of(wanted + 1, place, kind), 0xf0);
	}
	return pass;
}

/*
 * Puts the translations of all eights, which end at @at and @part. It is a jump into straight code, since a loop costs
 * more.
 */
UMR_WIDE void umr_pass_eights(struct umr_ordered *pass, uint8_t *at, const struct bsn_part *part,
			      uint32_t count, struct umr_kind kind)
{
	if (!kind.has_turns)
		pass->before = umr_load(umr_before);
	switch (count) {
#define UMR_CASE_EIGHT(n)                                                                          \
	case 8 * (n): case 8 * (n) + 1: case 8 * (n) + 2: case 8 * (n) + 3:                        \
	case 8 * (n) + 4: case 8 * (n) + 5: case 8 * (n) + 6: case 8 * (n) + 7:
#define UMR_PASS_EIGHT(n)                                                                          \
	UMR_CASE_EIGHT(n)                                                                          \
		umr_pass_eight(pass, at - 8 * (n) * BSN_DS_SIZE, part - 8 * (n), kind);            \
		__attribute__((fallthrough));
		UMR_PASS_EIGHT(6)
		UMR_PASS_EIGHT(5)
		UMR_PASS_EIGHT(4)
		UMR_PASS_EIGHT(3)
		UMR_PASS_EIGHT(2)
		UMR_PASS_EIGHT(1)
	UMR_CASE_EIGHT(0)
#undef UMR_PASS_EIGHT
#undef UMR_CASE_EIGHT
		break;
	default: __builtin_unreachable(); /* UMR_INLINE_MAX */
	}
}

/* The same from there on, and goes on to what comes after them. */
UMR_WIDE void umr_pass_all_eights(struct umr_ordered *pass, uint8_t **at,
				  const struct bsn_part **part, uint32_t count,
				  struct umr_kind kind)
{
	*at += (size_t)umr_eights_of(count, kind) * BSN_DS_SIZE;
	*part += umr_eights_of(count, kind);
	umr_pass_eights(pass, *at, *part, count, kind);
}

/* The same of those after them, or of the few, of which there are UMR_ORDERED_FROM or more. */
UMR_WIDE void umr_pass_rest(struct umr_ordered *pass, uint8_t *at, const struct bsn_part *part,
			    uint32_t count, struct umr_kind kind)
{
	if (!kind.are_few)
		pass->order = umr_load(umr_word_orders[kind.has_pages]);
	else if (count == UMR_FEW) {
		umr_pass_last_four(pass, at, part, 0, kind);
		umr_pass_last_four(pass, at + 4 * BSN_DS_SIZE, part + 4, 0, kind);
		return;
	}
	if (kind.are_few || count & 4) {
		umr_pass_last_four(pass, at, part, 0, kind);
		part += 4;
		at += 4 * BSN_DS_SIZE;
	}
	if (count % 4) {
		const uint32_t known = 4 - count % 4;
		umr_pass_last_four(pass, at - known * BSN_DS_SIZE, part - known, known, kind);
	}
}

/* Whether what is left of all parts is as little as it should be. */
UMR_WIDE bool umr_are_right(const struct umr_ordered *pass, struct umr_kind kind)
{
	const long long little = -(1ll << UMR_SPAN_LOG2);

	return _mm256_testz_si256(pass->wrong,
				  _mm256_set_epi64x(-1, kind.has_rounds ? -1 : 0,
						    kind.has_pages ? -1 : little, little));
}

/* Whether they may be but for the order. */
UMR_WIDE bool umr_may_have_disorder(struct umr_ordered *pass, struct umr_kind kind)
{
	pass->wrong =
		_mm256_blend_epi32(pass->wrong, _mm256_setzero_si256(), 0x03); /* where they begin */
	return umr_are_right(pass, kind);
}

/* Whether they lie one after the other. */
UMR_WIDE bool umr_are_apart(const struct umr_ordered *pass, const struct umr_wanted *wanted,
			    uint32_t count, struct umr_kind kind)
{
	(void)wanted, (void)count;
	return umr_has_all(pass->apart, umr_signs[kind.are_few]);
}

/* Where the parts of the first key end, and those of the second. */
UMR_WIDE uint32_t umr_first_end(const struct umr_ordered *pass, struct umr_kind kind)
{
	const __m128i low = _mm256_castsi256_si128(pass->ends);

	return (uint32_t)(kind.has_turns ? _mm_extract_epi32(low, 3) : _mm_cvtsi128_si32(low));
}

UMR_WIDE uint32_t umr_second_end(const struct umr_ordered *pass)
{
	return (uint32_t)_mm_extract_epi32(_mm256_extracti128_si256(pass->ends, 1), 3);
}

/* Whether parts, of which the last one ends so far after the first one, lie in their memory in all rounds. */
UMR_WIDE bool umr_are_within(const struct bsn_part *part, const struct umr_wanted *wanted,
			     uint32_t end, uint32_t rounds, struct umr_kind kind)
{
	uint64_t first = part->addr - wanted->first, last = end;

	if (kind.has_rounds) {
		if (BSN_UNLIKELY(part->stride > BSN_REPEAT_MAX_STRIDE || last >= part->stride))
			return false;
		last += (uint64_t)(rounds - 1) * part->stride;
	}
	BSN_HIDE(first); /* else it is taken apart */
	return BSN_LIKELY(first <= wanted->most) && BSN_LIKELY(last <= wanted->most - first);
}

/*
 * Bytes of a round of so many parts that are no pages: what they span but for the gaps. Those of a key lie in less than
 * 2^31.
 */
UMR_WIDE uint64_t umr_bytes_of(const struct umr_ordered *pass, uint32_t count, struct umr_kind kind)
{
	const uint64_t ends = (uint64_t)umr_first_end(pass, kind) + 1 +
			      (kind.has_turns ? (uint64_t)umr_second_end(pass) + 1 : 0);
	__m128i sum = _mm_add_epi32(_mm256_castsi256_si128(pass->gaps),
				    _mm256_extracti128_si256(pass->gaps, 1));

	if (!kind.are_few)
		sum = _mm_hadd_epi32(sum, sum);
	sum = kind.are_few ? _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e)) : _mm_hadd_epi32(sum, sum);
	return ends + count - (uint32_t)_mm_cvtsi128_si32(sum);
}

/* -- translations alone ------------------------------------------------------------------------------ */

/* The bytes of a translation, as they lie in a part: length, key, which comes from elsewhere, and address. */
UMR_WIDE __m128i umr_order_of(bool has_pages)
{
	return has_pages ? _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, 7, 6, 5, 4, 3, 2, 1, 0)
			 : _mm_setr_epi8(11, 10, 9, 8, -1, -1, -1, -1, 7, 6, 5, 4, 3, 2, 1, 0);
}

UMR_WIDE __m256i umr_load_two(const struct bsn_part *part)
{
	return _mm256_inserti128_si256(
		_mm256_castsi128_si256(_mm_loadu_si128((const void *)&part[0])),
		_mm_loadu_si128((const void *)&part[1]), 1);
}

UMR_WIDE void umr_put_two(uint8_t *at, __m256i two, __m256i order, __m256i common)
{
	_mm256_storeu_si256((void *)at, _mm256_or_si256(_mm256_shuffle_epi8(two, order), common));
}

/* The same twice, without and with pages. */
static const _Alignas(32) int8_t umr_orders[2][32] = {
	{ 11, 10, 9, 8, -1, -1, -1, -1, 7, 6, 5, 4, 3, 2, 1, 0,
	  11, 10, 9, 8, -1, -1, -1, -1, 7, 6, 5, 4, 3, 2, 1, 0 },
	{ -1, -1, -1, -1, -1, -1, -1, -1, 7, 6, 5, 4, 3, 2, 1, 0,
	  -1, -1, -1, -1, -1, -1, -1, -1, 7, 6, 5, 4, 3, 2, 1, 0 },
};

/* Translations of parts that were checked before. */
UMR_WIDE void umr_copy_wide(uint8_t *at, const struct bsn_part *part, uint32_t count,
			    struct bsn_be64 common, bool has_pages)
{
	const struct bsn_part *const eights = part + (count & ~7u);
	const __m256i orders = umr_load(umr_orders[has_pages]);
	const __m128i order = _mm256_castsi256_si128(orders),
		      alike = _mm_cvtsi64_si128((long long)common.raw);
	const __m256i all = _mm256_broadcastsi128_si256(alike);

	for (; part != eights; part += 8, at += 8 * BSN_DS_SIZE)
		BSN_UNROLL for (unsigned i = 0; i < 8; i += 2)
			umr_put_two(at + i * BSN_DS_SIZE, umr_load_two(&part[i]), orders, all);
	for (; count & 6; count -= 2, part += 2, at += 2 * BSN_DS_SIZE)
		umr_put_two(at, umr_load_two(part), orders, all);
	if (count & 1)
		_mm_storeu_si128(
			(void *)at,
			_mm_or_si128(_mm_shuffle_epi8(_mm_loadu_si128((const void *)part), order),
				     alike));
}

/* The same of a list of any keys: the words of each half are its length, key, and the halves of its address. */
UMR_WIDE void umr_copy_list_wide(uint8_t *at, const struct bsn_part *part, uint32_t count)
{
	const __m256i words = _mm256_setr_epi32(2, 6, 1, 0, 2, 6, 1, 0);
	const __m256i bytes = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

#define UMR_WORDS_OF(i)                                                                            \
	_mm256_permutevar8x32_epi32(_mm256_loadu_si256((const void *)&part[i]), words)
	for (const struct bsn_part *const eights = part + (count & ~7u); part != eights;
	     part += 8, at += 8 * BSN_DS_SIZE)
		BSN_UNROLL for (unsigned i = 0; i < 8; i += 2) _mm256_storeu_si256(
			(void *)(at + i * BSN_DS_SIZE),
			_mm256_shuffle_epi8(
				_mm256_blend_epi32(UMR_WORDS_OF(i), UMR_WORDS_OF(i + 1), 0xf0),
				bytes));
	for (count %= 8; count; count--, part++, at += BSN_DS_SIZE)
		_mm_storeu_si128((void *)at, _mm256_castsi256_si128(
						     _mm256_shuffle_epi8(UMR_WORDS_OF(0), bytes)));
#undef UMR_WORDS_OF
}

/* Two units, of which all but the first word is 0. */
UMR_WIDE void umr_store_two(uint8_t *at, struct bsn_be64 word)
{
	BSN_ORDER_EVENT(BSN_ORDER_WQE, at, 2 * BSN_DS_SIZE);
	_mm256_storeu_si256((void *)at, _mm256_set_epi64x(0, 0, 0, (long long)word.raw));
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
#define UMR_HAS_ORDERED 1

/* Whether all is as it should be. */
UMR_WIDE bool umr_end_ordered(const struct umr_ordered *pass, const struct bsn_part *part,
			      uint32_t count, const struct umr_wanted *wanted, uint32_t rounds,
			      struct umr_kind kind)
{
	if (BSN_UNLIKELY(!umr_are_right(pass, kind) || !umr_are_apart(pass, wanted, count, kind)))
		return false;
	if (kind.has_turns &&
	    !umr_are_within(part + 1, wanted + 1, umr_second_end(pass), rounds, kind))
		return false;
	return umr_are_within(part, wanted, umr_first_end(pass, kind), rounds, kind);
}

/*
 * Puts the translations of UMR_ORDERED_FROM parts or more. Returns the bytes of one round; 0: not all is as it should be,
 * or is too far apart. @has_disorder: set then: whether it may be but for the order
 */
UMR_WIDE uint64_t umr_put_ordered(uint8_t *at, const struct bsn_part *parts, uint32_t count,
				  const struct umr_wanted *wanted, uint64_t page_bytes,
				  uint32_t rounds, struct umr_kind kind, bool *has_disorder)
{
	const struct bsn_part *part = parts;
	struct umr_ordered pass = umr_begin_ordered(part, wanted, (uint32_t)page_bytes, kind);

	if (!kind.are_few)
		umr_pass_all_eights(&pass, &at, &part, count, kind);
	if (kind.are_few || count % 8)
		umr_pass_rest(&pass, at, part, count, kind);
	if (BSN_LIKELY(umr_end_ordered(&pass, parts, count, wanted, rounds, kind)))
		return kind.has_pages ? count * page_bytes : umr_bytes_of(&pass, count, kind);
	*has_disorder = umr_may_have_disorder(&pass, kind);
	return 0;
}

/* -- the end ----------------------------------------------------------------------------------------- */

/*
 * umr_end() of one that is too long for BlueFlame. One thing comes after the other, so that it takes no more registers
 * than any function may change. Returns the WQE. @head: its first word
 */
UMR_WIDE uint8_t *umr_put_head(struct bsn_sq *sq, const struct umr_target *target, uint64_t length,
			       uint32_t padded, uint64_t id, uint32_t flags,
			       struct bsn_be64 *head)
{
	const struct bsn_be64 none = { 0 };
	uint8_t *const wqe = sq->slot;
	struct bsn_ds ctrl;

	umr_keep_id(sq, id);
	umr_store_two(wqe + 2 * BSN_DS_SIZE, none);
	umr_store_two(wqe + 4 * BSN_DS_SIZE, target->word);
	umr_store_two(wqe + 6 * BSN_DS_SIZE, none);
	bsn_store_wqe(wqe + UMR_LENGTH_AT, umr_length_word(length));
	UMR_LOAD_AGAIN();
	bsn_store_wqe(wqe + BSN_DS_SIZE, umr_ctrl_word0(true, padded));
	bsn_store_wqe(wqe + BSN_DS_SIZE + 8, target->mask);
	UMR_LOAD_AGAIN();
	ctrl = umr_begin_end(sq, target, UMR_HEAD_DS + padded, flags);
	*head = bsn_word_of(ctrl);
	bsn_store_ds(wqe, ctrl);
	UMR_LOAD_AGAIN();
	sq->slot += umr_bytes(padded);
	bsn_sq_advance(sq, umr_bytes(padded));
	return wqe;
}

/* Publishes it. */
UMR_WIDE int umr_publish_long(struct bsn_sq *sq, const uint8_t *wqe, struct bsn_be64 head,
			      uint32_t padded, uint32_t flags)
{
	(void)head;
	if (!(flags & BSN_F_SIGNALED) && --sq->quiet == 0)
		return bsn_sq_end_turn(sq, umr_bytes(padded), flags);
	bsn_sq_append(sq, wqe);
	return flags & BSN_F_RING ? bsn_sq_ring(sq) : 0;
}
#else
#define UMR_HAS_ORDERED 0
#endif

#endif
