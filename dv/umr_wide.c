/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts in the order of memory by AVX2 and NEON, in umr_ordered.h; and in any order, or of two keys in turn, checked
 * and put into the ring by AVX2. A part is one vector:
 * what it should be is subtracted, so that of all parts together an or tells what is wrong with any, and an
 * addition how long they are. Where they begin and end is kept aside, as far from a base as 32 bits tell.
 */
#include "umr_ordered.h"

/* Without AVX2. */
static uint64_t put_in_order(uint8_t *at, const struct bsn_part *part, uint32_t count,
			     const struct umr_memory *even, const struct umr_memory *odd, uint32_t rounds)
{
	if (even != odd)
		return 0;
	return rounds > 1 ? umr_put_entries(at, part, count, even, rounds) :
			    umr_put_list(at, part, count, even);
}

static void copy_parts(struct bsn_part *to, const struct bsn_part *from, uint32_t count)
{
	memcpy(to, from, count * sizeof(*to));
}

#if UMR_HAS_ORDERED
#if defined(__x86_64__)
#define FAR __attribute__((target("avx2"), noinline)) static
#else
#define FAR __attribute__((noinline)) static
#endif

enum { MOST_BYTES = 1 << UMR_SPAN_LOG2 };

/* -- parts in the order of memory ------------------------------------------------------------------- */

FAR uint64_t put_list(uint8_t *at, const struct bsn_part *part, uint32_t count,
		      struct umr_memory *memory)
{
	const struct umr_wanted wanted = umr_wanted_of(memory, 0);

	return umr_put_ordered(at, part, count, &wanted, 0, 1, (struct umr_kind){ 0 },
			       &memory->has_disorder);
}

FAR uint64_t put_entries(uint8_t *at, const struct bsn_part *part, uint32_t count,
			 struct umr_memory *memory, uint32_t rounds)
{
	const struct umr_wanted wanted = umr_wanted_of(memory, 0);

	return umr_put_ordered(at, part, count, &wanted, 0, rounds,
			       (struct umr_kind){ .has_rounds = true }, &memory->has_disorder);
}

FAR uint64_t put_pages(uint8_t *at, const struct bsn_part *part, uint32_t count, uint64_t page_bytes,
		       struct umr_memory *memory)
{
	const struct umr_wanted wanted = umr_wanted_of(memory, page_bytes);

	return umr_put_ordered(at, part, count, &wanted, page_bytes, 1,
			       (struct umr_kind){ .has_pages = true }, &memory->has_disorder);
}

/* Two keys in turn, an even number of parts. */
FAR uint64_t put_turns(uint8_t *at, const struct bsn_part *part, uint32_t count,
		       struct umr_memory *even, const struct umr_memory *odd)
{
	const struct umr_wanted wanted[2] = { umr_wanted_of(even, 0), umr_wanted_of(odd, 0) };

	return umr_put_ordered(at, part, count, wanted, 0, 1, (struct umr_kind){ .has_turns = true },
			       &even->has_disorder);
}

#endif

#if defined(__x86_64__)
#define WIDE UMR_WIDE

enum {
	AT_A_TIME = 4,
	LANES = 16,
	MOST = 64,
	SPAN_LOG2 = UMR_SPAN_LOG2,
	WORD_LOG2 = 14, /* of a place in 16 bits; what pads has more */
};
_Static_assert(UMR_INLINE_MAX <= MOST, "and as many as fit a WQE");

/* Where parts begin and end, from the base of their key on. What pads is beyond all others. */
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
 * What parts of one key should be: of all lanes of a part the greatest value. What is left is 0 of key and stride,
 * and little of address and length.
 * @common: what all translations of parts of the key have in common
 */
struct wanted {
	__m256i most;
	uint64_t common;
};

/*
 * @wrong: or-ed, of what is left of the parts
 * @bytes: added
 * @meet: the sign bits tell whether a part begins before the one before, of its key, ends
 * @ends: where that is, one place further; neither where places are kept
 */
struct pass {
	__m256i wrong, bytes, meet, ends;
};

WIDE struct wanted wanted_of(const struct bsn_part *part, uint64_t stride, uint64_t bytes,
			     const struct umr_memory *memory, bool has_rounds)
{
	return (struct wanted){
		_mm256_set_epi64x((long long)memory->key, (long long)stride, (long long)bytes,
				  (long long)(part->addr + (1u << (SPAN_LOG2 - 1)))),
		umr_common_bits(has_rounds ? stride : 0, (uint32_t)memory->key).raw,
	};
}

WIDE void look(struct pass *pass, const struct bsn_part *part, __m256i most)
{
	const __m256i left = _mm256_sub_epi64(most, _mm256_loadu_si256((const void *)part));

	pass->wrong = _mm256_or_si256(pass->wrong, left);
}

/* Keeps where four begin and end. @base: of the firsts, and one more, of the ends */
WIDE void keep_places(struct places *places, size_t to, __m256i addr, __m256i ends, __m256i base)
{
	const __m256i mixed = _mm256_castps_si256(_mm256_shuffle_ps(
		_mm256_castsi256_ps(addr), _mm256_castsi256_ps(ends), 0x88));
	const __m256i both = _mm256_permutevar8x32_epi32(_mm256_sub_epi32(mixed, base),
							 _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));

	_mm_store_si128((void *)(places->first + to), _mm256_castsi256_si128(both));
	_mm_store_si128((void *)(places->last + to), _mm256_extracti128_si256(both, 1));
}

/*
 * Four parts: in the lanes are the first, the third, the second, and the fourth. Where the one before each ends
 * is in the lanes of the other half, or in those of its own if keys take turns.
 */
WIDE void pass_four(struct pass *pass, uint8_t *at, const struct bsn_part *part,
		    const struct wanted *even, const struct wanted *odd, __m256i order, __m256i common,
		    struct kind kind, struct places *places, size_t to, __m256i base)
{
	const __m256i a = umr_load_two(part), b = umr_load_two(part + 2);
	const __m256i addr = _mm256_unpacklo_epi64(a, b), bytes = _mm256_unpackhi_epi64(a, b);
	const __m256i ends = _mm256_add_epi64(addr, bytes);
	__m256i before, turned;

	umr_put_two(at, a, order, common);
	umr_put_two(at + 2 * BSN_DS_SIZE, b, order, common);
	BSN_UNROLL for (unsigned i = 0; i < 4; i++) look(pass, &part[i], i % 2 ? odd->most : even->most);
	pass->bytes = _mm256_add_epi64(pass->bytes, bytes);
	if (kind.has_places) {
		keep_places(places, to, addr, ends, base);
		return;
	}
	turned = kind.has_turns ? ends : _mm256_permute4x64_epi64(ends, 0x4b);
	before = kind.has_turns ? _mm256_alignr_epi8(ends, pass->ends, 8) :
				  _mm256_blend_epi32(turned, pass->ends, 0x03);
	pass->meet = _mm256_or_si256(pass->meet, _mm256_sub_epi64(addr, before));
	pass->ends = turned;
}

/*
 * What is known at the end of the fours, and of what comes after, one by one.
 * @last: where the last parts end: of the key of the first, and of that of the second
 */
struct rest {
	uint64_t last[2], bytes, meet;
};

WIDE uint64_t sum_of(__m256i v)
{
	const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

	return (uint64_t)_mm_cvtsi128_si64(two) + (uint64_t)_mm_extract_epi64(two, 1);
}

WIDE struct rest rest_of(const struct pass *pass, struct kind kind)
{
	const __m128i low = _mm256_castsi256_si128(pass->ends);
	const int meet = _mm256_movemask_pd(_mm256_castsi256_pd(pass->meet));
	struct rest rest = { { 0, 0 }, sum_of(pass->bytes), -(uint64_t)meet };

	if (kind.has_turns) {
		rest.last[0] = (uint64_t)_mm_extract_epi64(low, 1);
		rest.last[1] = (uint64_t)_mm_extract_epi64(_mm256_extracti128_si256(pass->ends, 1), 1);
	} else {
		rest.last[0] = (uint64_t)_mm_cvtsi128_si64(low);
	}
	return rest;
}

/* One part after the fours, the @i-th. */
WIDE void pass_one(struct pass *pass, struct rest *rest, uint8_t *at, const struct bsn_part *part,
		   uint32_t i, const struct wanted *wanted, __m128i order, struct kind kind,
		   struct places *places, uint32_t base)
{
	const __m128i ds = _mm_shuffle_epi8(_mm_loadu_si128((const void *)part), order);
	uint64_t *const last = &rest->last[kind.has_turns && i % 2];

	_mm_storeu_si128((void *)at,
			 _mm_or_si128(ds, _mm_cvtsi64_si128((long long)wanted->common)));
	look(pass, part, wanted->most);
	rest->meet |= part->addr - *last;
	rest->bytes += part->bytes;
	*last = part->addr + part->bytes;
	if (kind.has_places) {
		places->first[i] = (int32_t)((uint32_t)part->addr - base);
		places->last[i] = (int32_t)((uint32_t)*last - 1 - base);
	}
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
	if (span >> SPAN_LOG2)
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

WIDE void begin_pass(struct pass *pass, const struct bsn_part *part, struct kind kind)
{
	const long long first = (long long)part->addr;

	*pass = (struct pass){ _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
			       kind.has_turns ? _mm256_set_epi64x((long long)part[1].addr, 0, first, 0) :
						_mm256_set_epi64x(0, 0, 0, first) };
}

WIDE bool are_wrong(const struct pass *pass, struct kind kind)
{
	const long long little = -(1ll << SPAN_LOG2);

	return !_mm256_testz_si256(pass->wrong,
				   _mm256_set_epi64x(-1, kind.has_rounds ? -1 : 0,
						     kind.has_pages ? -1 : little, little));
}

/* @most_bytes: of a part; of pages, that all have */
WIDE uint64_t put(uint8_t *at, const struct bsn_part *const parts, uint32_t count,
		  uint64_t most_bytes, struct umr_memory *even, const struct umr_memory *odd,
		  uint32_t rounds, struct kind kind)
{
	const struct bsn_part *part = parts;
	const struct bsn_part *const end = parts + count, *const eights = parts + (count & ~7u);
	const uint64_t stride = part->stride;
	const struct wanted wanted = wanted_of(part, stride, most_bytes, even, kind.has_rounds);
	const struct wanted other = kind.has_turns ? wanted_of(part + 1, stride, most_bytes, odd,
							       kind.has_rounds) :
						     wanted;
	const __m256i orders = _mm256_broadcastsi128_si256(umr_order_of(kind.has_pages));
	const __m128i order = _mm256_castsi256_si128(orders);
	const __m256i common =
		_mm256_set_epi64x(0, (long long)other.common, 0, (long long)wanted.common);
	const uint64_t base = part->addr - (1u << (SPAN_LOG2 - 1));
	const uint32_t low = (uint32_t)base; /* the ends are one further */
	const __m256i bases = _mm256_sub_epi32(_mm256_set1_epi32((int)low),
					       _mm256_set_epi32(-1, -1, 0, 0, -1, -1, 0, 0));
	struct places places;
	struct pass pass;
	struct rest rest;
	struct ends ends;

	begin_pass(&pass, part, kind);
	for (; part != eights; part += 8, at += 8 * BSN_DS_SIZE) {
		BSN_UNROLL for (unsigned i = 0; i < 8; i += 4)
			pass_four(&pass, at + i * BSN_DS_SIZE, &part[i], &wanted, &other, orders, common,
				  kind, &places, (size_t)(part - parts) + i, bases);
		BSN_HIDE(at); /* else it is computed anew after the loop */
	}
	if (count & 4) {
		pass_four(&pass, at, part, &wanted, &other, orders, common, kind, &places,
			  (size_t)(part - parts), bases);
		part += 4;
		at += 4 * BSN_DS_SIZE;
	}
	rest = rest_of(&pass, kind);
	for (; part != end; part++, at += BSN_DS_SIZE) {
		const uint32_t i = (uint32_t)(part - parts);
		pass_one(&pass, &rest, at, part, i, i % 2 ? &other : &wanted, order, kind, &places,
			 (uint32_t)base);
	}
	even->has_disorder = false;
	if (are_wrong(&pass, kind))
		return 0;
	if (kind.has_places) {
		if (!are_apart(&places, count, base, &ends, even))
			return 0;
		return is_within(&ends, even, stride, rounds) ? rest.bytes : 0;
	}
	even->has_disorder = (int64_t)rest.meet < 0;
	if (even->has_disorder)
		return 0;
	if (kind.has_turns) {
		ends = (struct ends){ parts[1].addr, rest.last[1] - 1 };
		if (!is_within(&ends, odd, stride, rounds))
			return 0;
	}
	ends = (struct ends){ parts->addr, rest.last[0] - 1 };
	return is_within(&ends, even, stride, rounds) ? rest.bytes : 0;
}

FAR uint64_t put_in_any_order(uint8_t *at, const struct bsn_part *part, uint32_t count,
			      struct umr_memory *memory, uint32_t rounds)
{
	return rounds > 1 ? put(at, part, count, MOST_BYTES, memory, memory, rounds,
				(struct kind){ .has_rounds = true, .has_places = true }) :
			    put(at, part, count, MOST_BYTES, memory, memory, 1,
				(struct kind){ .has_places = true });
}

FAR uint64_t put_few(uint8_t *at, const struct bsn_part *part, uint32_t count,
		     struct umr_memory *memory, uint32_t rounds)
{
	const struct umr_wanted wanted = umr_wanted_of(memory, 0);

	return rounds > 1 ?
		       umr_put_ordered(at, part, count, &wanted, 0, rounds,
				       (struct umr_kind){ .has_rounds = true, .are_few = true },
				       &memory->has_disorder) :
		       umr_put_ordered(at, part, count, &wanted, 0, 1,
				       (struct umr_kind){ .are_few = true }, &memory->has_disorder);
}

FAR uint64_t put_two_keys(uint8_t *at, const struct bsn_part *part, uint32_t count,
			  struct umr_memory *even, const struct umr_memory *odd, uint32_t rounds)
{
	return rounds > 1 ? put(at, part, count, MOST_BYTES, even, odd, rounds,
				(struct kind){ .has_rounds = true, .has_turns = true }) :
			    put(at, part, count, MOST_BYTES, even, odd, 1,
				(struct kind){ .has_turns = true });
}

FAR uint64_t put_pages_in_any_order(uint8_t *at, const struct bsn_part *part, uint32_t count,
				    uint64_t page_bytes, struct umr_memory *memory)
{
	return put(at, part, count, page_bytes, memory, memory, 1,
		   (struct kind){ .has_pages = true, .has_places = true });
}

FAR void copy_alike(uint8_t *at, const struct bsn_part *part, uint32_t count, struct bsn_be64 common)
{
	umr_copy_wide(at, part, count, common, false);
}

FAR void copy_alike_pages(uint8_t *at, const struct bsn_part *part, uint32_t count,
			  struct bsn_be64 common)
{
	umr_copy_wide(at, part, count, common, true);
}

WIDE void keep_part(struct bsn_part *to, const struct bsn_part *from)
{
	_mm256_storeu_si256((void *)to, _mm256_loadu_si256((const void *)from));
}

/* Into the middle of code without a loop, so that a part takes two instructions. */
FAR void keep_parts(struct bsn_part *to, const struct bsn_part *from, uint32_t count)
{
	for (; count >= 64; count -= 8, from += 8, to += 8)
		BSN_UNROLL for (unsigned i = 0; i < 8; i++) keep_part(&to[i], &from[i]);
	switch (count % 64) {
#define KEEP(n)                                                                                    \
	case n: keep_part(&to[(n) - 1], &from[(n) - 1]); __attribute__((fallthrough));
#define KEEP_8(n)                                                                                  \
	KEEP((n) + 7) KEEP((n) + 6) KEEP((n) + 5) KEEP((n) + 4)                                    \
	KEEP((n) + 3) KEEP((n) + 2) KEEP((n) + 1) KEEP(n)
		KEEP_8(56) KEEP_8(48) KEEP_8(40) KEEP_8(32) KEEP_8(24) KEEP_8(16) KEEP_8(8)
		KEEP(7) KEEP(6) KEEP(5) KEEP(4) KEEP(3) KEEP(2) KEEP(1)
#undef KEEP_8
#undef KEEP
	case 0: break;
	}
}

umr_keep_parts *umr_choose_keep_parts(void)
{
	return __builtin_cpu_supports("avx2") ? keep_parts : copy_parts;
}

void umr_copy_alike(uint8_t *at, const struct bsn_part *part, uint32_t count, struct bsn_be64 common)
{
	if (__builtin_cpu_supports("avx2"))
		copy_alike(at, part, count, common);
	else
		umr_copy_uniform(at, part, count, common);
}

void umr_copy_alike_pages(uint8_t *at, const struct bsn_part *part, uint32_t count,
			  struct bsn_be64 common)
{
	if (__builtin_cpu_supports("avx2"))
		copy_alike_pages(at, part, count, common);
	else
		umr_copy_pages(at, part, count);
}

uint64_t umr_put_pages(uint8_t *at, const struct bsn_part *part, uint32_t count, uint64_t page_bytes,
		       struct umr_memory *memory)
{
	uint64_t bytes = 0;

	if (page_bytes > MOST_BYTES || count > UMR_INLINE_MAX || !__builtin_cpu_supports("avx2"))
		return 0;
	if (!memory->has_disorder && count >= UMR_ORDERED_FROM) {
		bytes = put_pages(at, part, count, page_bytes, memory);
		if (BSN_LIKELY(bytes) || !memory->has_disorder)
			return bytes;
	}
	return put_pages_in_any_order(at, part, count, page_bytes, memory);
}

uint64_t umr_put_wide(uint8_t *at, const struct bsn_part *part, uint32_t count,
		      struct umr_memory *even, struct umr_memory *odd, uint32_t rounds)
{
	uint64_t bytes;

	if (count < 2 || count > UMR_INLINE_MAX)
		return 0;
	if (!__builtin_cpu_supports("avx2"))
		return put_in_order(at, part, count, even, odd, rounds);
	if (even != odd && (count < UMR_ORDERED_FROM || count % 2 || rounds > 1))
		return put_two_keys(at, part, count, even, odd, rounds);
	if (even != odd)
		return put_turns(at, part, count, even, odd);
	if (!even->has_disorder && count >= UMR_ORDERED_FROM) {
		bytes = count <= UMR_FEW ? put_few(at, part, count, even, rounds) :
			rounds > 1 ? put_entries(at, part, count, even, rounds) :
				     put_list(at, part, count, even);
		if (BSN_LIKELY(bytes) || !even->has_disorder)
			return bytes;
	}
	return put_in_any_order(at, part, count, even, rounds);
}

#else

#if UMR_HAS_ORDERED
/* In the order of memory. 0: they are few, or something is wrong, or too great (has_disorder is not set then). */
static uint64_t put_ordered(uint8_t *at, const struct bsn_part *part, uint32_t count,
			    struct umr_memory *even, const struct umr_memory *odd, uint32_t rounds)
{
	if (count < UMR_ORDERED_FROM || count > UMR_INLINE_MAX)
		return 0;
	if (even != odd)
		return count % 2 || rounds > 1 ? 0 : put_turns(at, part, count, even, odd);
	return rounds > 1 ? put_entries(at, part, count, even, rounds) :
			    put_list(at, part, count, even);
}

uint64_t umr_put_pages(uint8_t *at, const struct bsn_part *part, uint32_t count, uint64_t page_bytes,
		       struct umr_memory *memory)
{
	memory->has_disorder = false;
	return page_bytes <= MOST_BYTES && count >= UMR_ORDERED_FROM && count <= UMR_INLINE_MAX ?
		       put_pages(at, part, count, page_bytes, memory) : 0;
}
#else
static uint64_t put_ordered(uint8_t *at, const struct bsn_part *part, uint32_t count,
			    struct umr_memory *even, const struct umr_memory *odd, uint32_t rounds)
{
	(void)at, (void)part, (void)count, (void)even, (void)odd, (void)rounds;
	return 0;
}

uint64_t umr_put_pages(uint8_t *at, const struct bsn_part *part, uint32_t count, uint64_t page_bytes,
		       struct umr_memory *memory)
{
	(void)at, (void)part, (void)count, (void)page_bytes, (void)memory;
	return 0;
}
#endif

uint64_t umr_put_wide(uint8_t *at, const struct bsn_part *part, uint32_t count,
		      struct umr_memory *even, struct umr_memory *odd, uint32_t rounds)
{
	uint64_t bytes;

	if (count < 2)
		return 0;
	even->has_disorder = false;
	bytes = put_ordered(at, part, count, even, odd, rounds);
	return BSN_LIKELY(bytes) || even->has_disorder ? bytes :
		       put_in_order(at, part, count, even, odd, rounds);
}

umr_keep_parts *umr_choose_keep_parts(void)
{
	return copy_parts;
}

void umr_copy_alike(uint8_t *at, const struct bsn_part *part, uint32_t count, struct bsn_be64 common)
{
	umr_copy_uniform(at, part, count, common);
}

void umr_copy_alike_pages(uint8_t *at, const struct bsn_part *part, uint32_t count,
			  struct bsn_be64 common)
{
	(void)common;
	umr_copy_pages(at, part, count);
}

#endif
