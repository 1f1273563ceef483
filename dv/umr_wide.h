/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts checked and put into the ring by AVX2: in the order of memory, in any other, and of two keys in turn.
 * A part is one vector. What all should be is subtracted, so that an or of what is left tells what is wrong
 * with any. Of what is left, places and lengths have 32 bits: eight of them are looked at together. Inline,
 * and private to the library; each function of the targets that WIDE names includes what it takes.
 */
#ifndef DV_UMR_WIDE_H
#define DV_UMR_WIDE_H

#include <immintrin.h>

#include "umr_plain.h"

#define WIDE static inline __attribute__((target("avx2"), always_inline))

_Static_assert(sizeof(struct bsn_part) == sizeof(__m256i), "a part is a vector");

enum {
	LANES = 16,
	AT_A_TIME = 4,
	MOST = 64,
	WORD_LOG2 = 14, /* of a place in 16 bits; what pads has more */
};
_Static_assert(UMR_INLINE_MAX <= MOST, "and as many as fit a WQE");

/* Where parts begin, and their last bytes, from the base of their key on. What pads is beyond all others. */
struct places {
	_Alignas(32) int32_t first[MOST + LANES];
	_Alignas(32) int32_t last[MOST + LANES];
};

/* From the one to the other, as addresses. */
struct ends {
	uint64_t first, last;
};

/* Whatever a WQE holds of parts, but where they lie. */
struct kind {
	bool has_turns;   /* of two keys */
	bool has_rounds;
	bool has_pages;   /* of one size, which is not told */
	bool has_places;  /* kept aside: parts may be in any order */
};

/*
 * What all parts of a kind have in common.
 * @less: added to a part of the one key and of the other: what is left is where it begins, from a base on, and
 *	its length less one; of stride and key nothing
 * @more: added to what is left of two parts: what their translations say
 * @order: in which order
 */
struct wanted {
	__m256i less[2], more, order;
	__m256i page; /* bytes of each, less one */
};

/*
 * What is known of the parts so far, but for those after the last four.
 * @wrong: what is left of them, or-ed
 * @bytes: their lengths less one, added, 32 bits each
 * @apart: whether each begins after the last byte of the one before, of its key
 * @ends: where that is, from the base on: in the lowest 32 bits, of two keys in the highest of both halves
 */
struct pass {
	__m256i wrong, bytes, apart, ends;
};

WIDE __m256i load_words(const uint64_t *words)
{
	return _mm256_loadu_si256((const void *)words);
}

/* Of a part: its address, and its stride where that is looked at. */
WIDE __m256i place_of(const struct bsn_part *part, struct kind kind)
{
	const __m256i zero = _mm256_setzero_si256(), v = _mm256_loadu_si256((const void *)part);

	return kind.has_rounds ? _mm256_blend_epi32(zero, v, 0x33) : _mm256_blend_epi32(zero, v, 0x03);
}

/* What makes translations of parts of one key. */
WIDE __m256i more_of(const struct umr_memory *memory, __m256i place, struct kind kind)
{
	const __m256i more = _mm256_add_epi64(load_words(memory->more), _mm256_permute4x64_epi64(place, 0x44));

	return kind.has_rounds ? _mm256_add_epi64(more, _mm256_slli_epi64(_mm256_permute4x64_epi64(
								place, 0x99), 16)) :
				 more;
}

/* The bytes of a translation, as they lie in two words: length, key, and address. */
WIDE __m256i order_of(bool has_pages)
{
	return _mm256_broadcastsi128_si256(
		has_pages ?
			_mm_setr_epi8(-1, -1, -1, -1, 15, 14, 13, 12, 7, 6, 5, 4, 3, 2, 1, 0) :
			_mm_setr_epi8(11, 10, 9, 8, 15, 14, 13, 12, 7, 6, 5, 4, 3, 2, 1, 0));
}

WIDE struct wanted wanted_of(const struct bsn_part *part, const struct umr_memory *even,
			     const struct umr_memory *odd, uint64_t page_bytes, struct kind kind)
{
	const __m256i one = place_of(part, kind);
	const __m256i less = _mm256_sub_epi64(load_words(even->less), one);
	struct wanted wanted = { { less, less }, more_of(even, one, kind), order_of(kind.has_pages),
				 _mm256_set1_epi32((int)(uint32_t)(page_bytes - 1)) };

	if (kind.has_turns) {
		const __m256i other = place_of(part + 1, kind);
		wanted.less[1] = _mm256_sub_epi64(load_words(odd->less), other);
		wanted.more = _mm256_blend_epi32(wanted.more, more_of(odd, other, kind), 0xf0);
	}
	return wanted;
}

WIDE __m256i look(struct pass *pass, const struct bsn_part *part, __m256i less)
{
	const __m256i left = _mm256_add_epi64(less, _mm256_loadu_si256((const void *)part));

	pass->wrong = _mm256_or_si256(pass->wrong, left);
	return left;
}

/* Two parts. Returns what is left of their places and lengths. */
WIDE __m256i pass_two(struct pass *pass, uint8_t *at, const struct bsn_part *part,
		      const struct wanted *wanted)
{
	const __m256i a = look(pass, &part[0], wanted->less[0]);
	const __m256i b = look(pass, &part[1], wanted->less[1]);
	const __m256i two = _mm256_inserti128_si256(a, _mm256_castsi256_si128(b), 1);

	_mm256_storeu_si256((void *)at, _mm256_shuffle_epi8(_mm256_add_epi64(two, wanted->more),
							    wanted->order));
	return two;
}

/* The even ones, or the odd ones, of the 32-bit words of both, by halves. */
WIDE __m256i words_of_both(__m256i a, __m256i b, bool are_odd)
{
	const __m256 x = _mm256_castsi256_ps(a), y = _mm256_castsi256_ps(b);

	return _mm256_castps_si256(are_odd ? _mm256_shuffle_ps(x, y, 0xdd) : _mm256_shuffle_ps(x, y, 0x88));
}

/* Four: place and length of the first, third, second, and fourth. */
WIDE __m256i pass_four(struct pass *pass, uint8_t *at, const struct bsn_part *part,
		       const struct wanted *wanted)
{
	const __m256i a = pass_two(pass, at, part, wanted);
	const __m256i b = pass_two(pass, at + 2 * BSN_DS_SIZE, part + 2, wanted);

	return words_of_both(a, b, false);
}

/* Eight: in the lanes are the even ones, then the odd ones. */
WIDE void pass_eight(struct pass *pass, uint8_t *at, const struct bsn_part *part,
		     const struct wanted *wanted, struct kind kind, struct places *places, size_t to)
{
	const __m256i a = pass_four(pass, at, part, wanted);
	const __m256i b = pass_four(pass, at + 4 * BSN_DS_SIZE, part + 4, wanted);
	const __m256i firsts = words_of_both(a, b, false);
	const __m256i lengths = kind.has_pages ? wanted->page : words_of_both(a, b, true);
	const __m256i lasts = _mm256_add_epi32(firsts, lengths);
	__m256i before, ends;

	if (!kind.has_pages)
		pass->bytes = _mm256_add_epi32(pass->bytes, lengths);
	if (kind.has_places) {
		const __m256i in_turn = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
		_mm256_store_si256((void *)(places->first + to), _mm256_permutevar8x32_epi32(firsts, in_turn));
		_mm256_store_si256((void *)(places->last + to), _mm256_permutevar8x32_epi32(lasts, in_turn));
		return;
	}
	ends = kind.has_turns ? lasts : _mm256_permutevar8x32_epi32(
						lasts, _mm256_setr_epi32(7, 4, 5, 6, 0, 1, 2, 3));
	before = kind.has_turns ? _mm256_alignr_epi8(ends, pass->ends, 12) :
				  _mm256_blend_epi32(ends, pass->ends, 0x01);
	pass->apart = _mm256_and_si256(pass->apart, _mm256_cmpgt_epi32(firsts, before));
	pass->ends = ends;
}

/*
 * Four at the end, of which the first @known were looked at before: they are only there so that there
 * are four.
 */
WIDE void pass_last_four(struct pass *pass, uint8_t *at, const struct bsn_part *part,
			 const struct wanted *wanted, struct kind kind, struct places *places, size_t to,
			 uint32_t known)
{
	static const _Alignas(32) int64_t counts[4][4] = {
		{ -1, -1, -1, -1 }, { 0, -1, -1, -1 }, { 0, -1, 0, -1 }, { 0, 0, 0, -1 },
	};
	const __m256i all = _mm256_set1_epi32(-1), high = _mm256_slli_epi64(all, 32);
	const __m256i firsts = pass_four(pass, at, part, wanted);
	const __m256i lengths =
		kind.has_pages ? _mm256_srli_epi64(wanted->page, 32) : _mm256_srli_epi64(firsts, 32);
	const __m256i lasts = _mm256_add_epi32(firsts, lengths);
	__m256i before, ends;

	if (!kind.has_pages)
		pass->bytes = _mm256_add_epi32(
			pass->bytes, known ? _mm256_and_si256(lengths, _mm256_load_si256(
									(const void *)counts[known])) :
					     lengths);
	if (kind.has_places) {
		const __m256i in_turn = _mm256_setr_epi32(0, 4, 2, 6, 0, 0, 0, 0);
		_mm_storeu_si128((void *)(places->first + to),
				 _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(firsts, in_turn)));
		_mm_storeu_si128((void *)(places->last + to),
				 _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(lasts, in_turn)));
		return;
	}
	if (kind.has_turns) {
		ends = _mm256_shuffle_epi32(lasts, 0x80);
		before = _mm256_alignr_epi8(lasts, _mm256_srli_epi64(pass->ends, 32), 8);
	} else {
		ends = _mm256_permute4x64_epi64(lasts, 0x4b);
		before = _mm256_blend_epi32(ends, known ? all : pass->ends, 0x03);
	}
	/* Of the high halves, which are lengths, nothing is asked. */
	pass->apart = _mm256_and_si256(
		pass->apart, _mm256_or_si256(high, _mm256_cmpgt_epi32(firsts, before)));
	pass->ends = ends;
}

/* -- parts in any order ---------------------------------------------------------------------------- */

WIDE int32_t least_of(__m256i v)
{
	__m128i m = _mm_min_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

	m = _mm_min_epi32(m, _mm_shuffle_epi32(m, 0x4e));
	m = _mm_min_epi32(m, _mm_shuffle_epi32(m, 0xb1));
	return _mm_cvtsi128_si32(m);
}

WIDE int32_t most_of(__m256i v)
{
	__m128i m = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

	m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
	m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
	return _mm_cvtsi128_si32(m);
}

/* Sixteen places, from the least one on, by so many bytes at a time. */
WIDE __m256i words_of(const int32_t *places, __m256i least, __m128i shift)
{
	const __m256i a = _mm256_load_si256((const void *)places);
	const __m256i b = _mm256_load_si256((const void *)(places + LANES / 2));

	return _mm256_permute4x64_epi64(
		_mm256_packs_epi32(_mm256_srl_epi32(_mm256_sub_epi32(a, least), shift),
				   _mm256_srl_epi32(_mm256_sub_epi32(b, least), shift)),
		0xd8);
}

/* The order is that of the time before: from then on it is known, but for what it has just become. */
static __attribute__((noinline)) void learn_order(struct umr_order *order, const int16_t *ranks,
						  uint32_t count)
{
	const bool is_again =
		order->count == count && !memcmp(order->ranks, ranks, count * sizeof(*ranks));

	order->again = is_again ? count : 0;
	order->count = count;
	memcpy(order->ranks, ranks, count * sizeof(*ranks));
	if (!is_again)
		return;
	for (uint32_t i = 0; i < 1 + UMR_ORDER_PARTS + UMR_ORDER_LANES; i++)
		order->at[i] = (int32_t)count;
	for (uint32_t i = 0; i < count; i++)
		order->at[1 + ranks[i]] = (int32_t)i;
}

/*
 * Whether the parts lie apart in the order that is remembered, so that nothing has to be found out. Sets the ends.
 * false: maybe they do in another.
 */
WIDE bool are_apart_as_before(struct places *places, uint32_t count, uint64_t base, struct ends *ends,
			      const struct umr_order *order)
{
	__m256i apart = _mm256_set1_epi32(-1);
	const int32_t *const at = &order->at[1];

	if (!count)
		__builtin_unreachable(); /* two at least */
	places->first[count] = INT32_MAX; /* no part's */
	places->last[count] = -1;
	for (uint32_t i = 0; i < count; i += UMR_ORDER_LANES) {
		const __m256i these = _mm256_loadu_si256((const void *)(at + i));
		const __m256i before = _mm256_loadu_si256((const void *)(at + i - 1));
		apart = _mm256_and_si256(
			apart, _mm256_cmpgt_epi32(_mm256_i32gather_epi32(places->first, these, 4),
						  _mm256_i32gather_epi32(places->last, before, 4)));
	}
	*ends = (struct ends){ base + (uint32_t)places->first[at[0]],
			       base + (uint32_t)places->last[at[count - 1]] };
	return _mm256_movemask_epi8(apart) == -1;
}

/*
 * Pairs of parts, either way, of which one begins after the end of the other. @ranks: of each part, after how many
 * others it begins
 */
WIDE uint32_t count_apart(const struct places *places, uint32_t count, __m256i least, __m128i shift,
			  int16_t *ranks, unsigned blocks)
{
	_Alignas(32) int16_t last[MOST];
	__m256i first[MOST / LANES], after[MOST / LANES], found = _mm256_setzero_si256();
	__m128i sum;

	BSN_UNROLL for (unsigned b = 0; b < blocks; b++)
	{
		after[b] = found;
		first[b] = words_of(places->first + b * LANES, least, shift);
		_mm256_store_si256((void *)(last + b * LANES),
				   words_of(places->last + b * LANES, least, shift));
	}
	for (const int16_t *at = last, *const end = last + count; at < end; at += AT_A_TIME) {
		BSN_UNROLL for (unsigned i = 0; i < AT_A_TIME; i++)
		{
			const __m256i ends = _mm256_set1_epi16(at[i]);
			BSN_UNROLL for (unsigned b = 0; b < blocks; b++)
				after[b] = _mm256_sub_epi16(after[b],
							    _mm256_cmpgt_epi16(first[b], ends));
		}
	}
	BSN_UNROLL for (unsigned b = 0; b < blocks; b++)
	{
		_mm256_store_si256((void *)(ranks + b * LANES), after[b]);
		found = _mm256_add_epi16(found, after[b]);
	}
	found = _mm256_madd_epi16(found, _mm256_set1_epi16(1));
	sum = _mm_add_epi32(_mm256_castsi256_si128(found), _mm256_extracti128_si256(found, 1));
	sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
	return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1)));
}

/*
 * Whether no two parts share a byte: then of each two exactly one begins after the end of the other. Places
 * are rounded down where they have more than 16 bits, so that a pair may seem to meet which does not. Sets the ends,
 * and whether the parts are not in the order of memory.
 */
WIDE bool are_apart_in(struct places *places, uint32_t count, uint64_t base, struct ends *ends,
		       bool *has_disorder, int16_t *ranks, unsigned blocks)
{
	const uint32_t wanted = count * (count - 1) / 2 + count * (blocks * LANES - count);
	__m256i low = _mm256_set1_epi32(INT32_MAX), high = _mm256_setzero_si256(), least;
	__m256i fall = high;
	int32_t first, last;
	uint32_t span;
	__m128i shift;

	for (unsigned i = 0; i < 2; i++) {
		_mm256_storeu_si256((void *)(places->first + count + i * LANES / 2), low);
		_mm256_storeu_si256((void *)(places->last + count + i * LANES / 2), high);
	}
	BSN_UNROLL for (unsigned i = 0; i < blocks * LANES; i += LANES / 2)
	{
		const __m256i these = _mm256_load_si256((void *)(places->first + i));
		const __m256i next = _mm256_loadu_si256((void *)(places->first + i + 1));
		fall = _mm256_or_si256(fall, _mm256_cmpgt_epi32(these, next));
		low = _mm256_min_epi32(low, these);
		high = _mm256_max_epi32(high, _mm256_load_si256((void *)(places->last + i)));
	}
	*has_disorder = !_mm256_testz_si256(fall, fall);
	first = least_of(low);
	last = most_of(high);
	_mm_storeu_si128((void *)(places->last + count), _mm_set1_epi32(INT32_MAX)); /* nobody begins after it */
	span = (uint32_t)(last - first);
	if (span >> UMR_SPAN_LOG2)
		return false;
	*ends = (struct ends){ base + (uint32_t)first, base + (uint32_t)last };
	least = _mm256_set1_epi32(first);
	shift = _mm_cvtsi32_si128(
		span >> WORD_LOG2 ? 32 - __builtin_clz(span >> WORD_LOG2) : 0);
	return count_apart(places, count, least, shift, ranks, blocks) == wanted;
}

WIDE bool are_apart_anyhow(struct places *places, uint32_t count, uint64_t base, struct ends *ends,
			   bool *has_disorder, int16_t *ranks)
{
	switch ((count + LANES - 1) / LANES) {
	case 1:
		return are_apart_in(places, count, base, ends, has_disorder, ranks, 1);
	case 2:
		return are_apart_in(places, count, base, ends, has_disorder, ranks, 2);
	case 3:
		return are_apart_in(places, count, base, ends, has_disorder, ranks, 3);
	default:
		return are_apart_in(places, count, base, ends, has_disorder, ranks, 4);
	}
}

WIDE bool are_apart(struct places *places, uint32_t count, uint64_t base, struct ends *ends,
		    struct umr_memory *memory)
{
	_Alignas(32) int16_t ranks[MOST];
	struct umr_order *const order = memory->order;

	if (order->again == count &&
	    BSN_LIKELY(are_apart_as_before(places, count, base, ends, order))) {
		memory->has_disorder = true;
		return true;
	}
	if (!are_apart_anyhow(places, count, base, ends, &memory->has_disorder, ranks))
		return false;
	if (memory->has_disorder)
		learn_order(order, ranks, count);
	return true;
}

/* -- the whole -------------------------------------------------------------------------------------- */

/*
 * What is known at the end of the fours, and of what comes after, one by one.
 * @last: where the last parts end, from the base on: of the key of the first, and of that of the second
 */
struct rest {
	int32_t last[2];
	uint32_t bytes;
	bool are_apart;
};

WIDE uint32_t sum_of(__m256i v)
{
	__m128i sum = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

	sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
	return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1)));
}

WIDE struct rest rest_of(const struct pass *pass, struct kind kind)
{
	const __m128i low = _mm256_castsi256_si128(pass->ends);
	struct rest rest = { { 0, 0 }, kind.has_pages ? 0 : sum_of(pass->bytes), true };

	if (kind.has_turns) {
		rest.last[0] = _mm_extract_epi32(low, 3);
		rest.last[1] = _mm_extract_epi32(_mm256_extracti128_si256(pass->ends, 1), 3);
	} else {
		rest.last[0] = _mm_cvtsi128_si32(low);
	}
	if (!kind.has_places)
		rest.are_apart = _mm256_movemask_epi8(pass->apart) == -1;
	return rest;
}

/* One part after the fours, the @i-th. */
WIDE void pass_one(struct pass *pass, struct rest *rest, uint8_t *at, const struct bsn_part *part,
		   uint32_t i, const struct wanted *wanted, struct kind kind, struct places *places,
		   uint64_t page_bytes)
{
	const bool is_other = kind.has_turns && i % 2;
	const __m128i left = _mm256_castsi256_si128(look(pass, part, wanted->less[is_other]));
	const __m128i more = is_other ? _mm256_extracti128_si256(wanted->more, 1) :
					_mm256_castsi256_si128(wanted->more);
	const int32_t first = _mm_cvtsi128_si32(left);
	const uint32_t length = kind.has_pages ? (uint32_t)(page_bytes - 1) :
						 (uint32_t)_mm_extract_epi32(left, 2);
	int32_t *const last = &rest->last[is_other];

	_mm_storeu_si128((void *)at, _mm_shuffle_epi8(_mm_add_epi64(left, more),
						      _mm256_castsi256_si128(wanted->order)));
	rest->are_apart &= first > *last;
	rest->bytes += length;
	*last = (int32_t)((uint32_t)first + length);
	if (kind.has_places) {
		places->first[i] = first;
		places->last[i] = *last;
	}
}

/* Whether all rounds lie in the memory, and each ends before the next begins. */
WIDE bool is_within(const struct ends *ends, const struct umr_memory *memory, uint64_t stride,
		    uint32_t rounds)
{
	uint64_t last = ends->last;

	if (rounds > 1) {
		if (stride > BSN_REPEAT_MAX_STRIDE || last - ends->first >= stride)
			return false;
		last += (uint64_t)(rounds - 1) * stride;
	}
	return ends->first >= memory->first && ends->first <= last && last <= memory->last;
}

WIDE bool are_wrong(const struct pass *pass, struct kind kind)
{
	const long long little = -(1ll << UMR_SPAN_LOG2);

	return !_mm256_testz_si256(pass->wrong,
				   _mm256_set_epi64x(-1, kind.has_rounds ? -1 : 0,
						     kind.has_pages ? -1 : little, little));
}

/*
 * Puts the translations of at least four parts; of two keys and in any order at least two, and any number of
 * pages. Returns the bytes of one round; 0: not all is as it should be, or is too far apart. @page_bytes: of pages
 */
WIDE uint64_t umr_put_by_eights(uint8_t *at, const struct bsn_part *const parts, uint32_t count,
				uint64_t page_bytes, struct umr_memory *even, struct umr_memory *odd,
				uint32_t rounds, struct kind kind)
{
	const bool has_ones = kind.has_turns || kind.has_places || kind.has_pages;
	const struct bsn_part *part = parts;
	const struct bsn_part *const end = parts + count, *const eights = parts + (count & ~7u);
	const struct wanted wanted = wanted_of(parts, even, odd, page_bytes, kind);
	const uint64_t stride = parts->stride, base = parts->addr - UMR_BASE;
	struct pass pass = { _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_set1_epi32(-1),
			     _mm256_set1_epi32(-1) };
	struct places places;
	struct rest rest;
	struct ends ends;

	for (; part != eights; part += 8, at += 8 * BSN_DS_SIZE) {
		pass_eight(&pass, at, part, &wanted, kind, &places, (size_t)(part - parts));
		BSN_HIDE(at); /* else it is computed anew after the loop */
	}
	if (count & 4) {
		pass_last_four(&pass, at, part, &wanted, kind, &places, (size_t)(part - parts), 0);
		part += 4;
		at += 4 * BSN_DS_SIZE;
	}
	if (!has_ones && part != end) {
		const uint32_t known = 4 - count % 4;
		pass_last_four(&pass, at - known * BSN_DS_SIZE, part - known, &wanted, kind, &places,
			       (size_t)(part - parts) - known, known);
		part = end;
	}
	rest = rest_of(&pass, kind);
	for (; has_ones && part != end; part++, at += BSN_DS_SIZE)
		pass_one(&pass, &rest, at, part, (uint32_t)(part - parts), &wanted, kind, &places,
			 page_bytes);
	even->has_disorder = false;
	if (BSN_UNLIKELY(are_wrong(&pass, kind)))
		return 0;
	ends = (struct ends){ parts->addr, base + (uint32_t)rest.last[0] };
	if (kind.has_places) {
		if (!are_apart(&places, count, base, &ends, even))
			return 0;
	} else if (BSN_UNLIKELY(!rest.are_apart)) {
		even->has_disorder = true;
		return 0;
	}
	if (kind.has_turns) {
		const uint64_t first = parts[1].addr;
		const struct ends others = { first, first - UMR_BASE + (uint32_t)rest.last[1] };
		if (!is_within(&others, odd, stride, rounds))
			return 0;
	}
	if (BSN_UNLIKELY(!is_within(&ends, even, stride, rounds)))
		return 0;
	return kind.has_pages ? count * page_bytes : (uint64_t)rest.bytes + count;
}

#endif
