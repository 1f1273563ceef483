/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which code puts and copies parts best on this CPU.
 */
#include "umr_plain.h"

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

#if defined(__x86_64__)
#include "umr_wide.h"

#define FAR __attribute__((target("avx2"), noinline)) static

FAR uint64_t put_in_any_order(uint8_t *at, const struct bsn_part *part, uint32_t count,
			      struct umr_memory *memory, uint32_t rounds)
{
	return rounds > 1 ? umr_put_by_eights(at, part, count, 0, memory, memory, rounds,
					      (struct kind){ .has_rounds = true, .has_places = true }) :
			    umr_put_by_eights(at, part, count, 0, memory, memory, 1,
					      (struct kind){ .has_places = true });
}

FAR uint64_t put_list(uint8_t *at, const struct bsn_part *part, uint32_t count,
		      struct umr_memory *memory)
{
	return umr_put_by_eights(at, part, count, 0, memory, memory, 1, (struct kind){ 0 });
}

FAR uint64_t put_entries(uint8_t *at, const struct bsn_part *part, uint32_t count,
			 struct umr_memory *memory, uint32_t rounds)
{
	return umr_put_by_eights(at, part, count, 0, memory, memory, rounds,
				 (struct kind){ .has_rounds = true });
}

FAR uint64_t put_two_keys(uint8_t *at, const struct bsn_part *part, uint32_t count,
			  struct umr_memory *even, struct umr_memory *odd, uint32_t rounds)
{
	return rounds > 1 ? umr_put_by_eights(at, part, count, 0, even, odd, rounds,
					      (struct kind){ .has_rounds = true, .has_turns = true }) :
			    umr_put_by_eights(at, part, count, 0, even, odd, 1,
					      (struct kind){ .has_turns = true });
}

FAR uint64_t put_pages(uint8_t *at, const struct bsn_part *part, uint32_t count, uint64_t page_bytes,
		       struct umr_memory *memory)
{
	return umr_put_by_eights(at, part, count, page_bytes, memory, memory, 1,
				 (struct kind){ .has_pages = true });
}

FAR uint64_t put_pages_in_any_order(uint8_t *at, const struct bsn_part *part, uint32_t count,
				    uint64_t page_bytes, struct umr_memory *memory)
{
	return umr_put_by_eights(at, part, count, page_bytes, memory, memory, 1,
				 (struct kind){ .has_pages = true, .has_places = true });
}

WIDE __m256i load_two(const struct bsn_part *part)
{
	return _mm256_inserti128_si256(
		_mm256_castsi128_si256(_mm_loadu_si128((const void *)&part[0])),
		_mm_loadu_si128((const void *)&part[1]), 1);
}

WIDE void put_two(uint8_t *at, __m256i two, __m256i order, __m256i common)
{
	_mm256_storeu_si256((void *)at, _mm256_or_si256(_mm256_shuffle_epi8(two, order), common));
}

/* The bytes of a translation, as they lie in a part: length, key, which comes from elsewhere, and address. */
WIDE __m128i order_in_part(bool has_pages)
{
	return has_pages ? _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, 7, 6, 5, 4, 3, 2, 1, 0) :
			   _mm_setr_epi8(11, 10, 9, 8, -1, -1, -1, -1, 7, 6, 5, 4, 3, 2, 1, 0);
}

/* Translations of parts that were checked before. */
WIDE void copy(uint8_t *at, const struct bsn_part *part, uint32_t count, struct bsn_be64 common,
	       bool has_pages)
{
	const struct bsn_part *const eights = part + (count & ~7u);
	const __m128i order = order_in_part(has_pages), alike = _mm_cvtsi64_si128((long long)common.raw);
	const __m256i orders = _mm256_broadcastsi128_si256(order);
	const __m256i all = _mm256_broadcastsi128_si256(alike);

	for (; part != eights; part += 8, at += 8 * BSN_DS_SIZE)
		BSN_UNROLL for (unsigned i = 0; i < 8; i += 2)
			put_two(at + i * BSN_DS_SIZE, load_two(&part[i]), orders, all);
	for (; count & 6; count -= 2, part += 2, at += 2 * BSN_DS_SIZE)
		put_two(at, load_two(part), orders, all);
	if (count & 1)
		_mm_storeu_si128((void *)at,
				 _mm_or_si128(_mm_shuffle_epi8(_mm_loadu_si128((const void *)part),
							       order),
					      alike));
}

FAR void copy_alike(uint8_t *at, const struct bsn_part *part, uint32_t count, struct bsn_be64 common)
{
	copy(at, part, count, common, false);
}

FAR void copy_alike_pages(uint8_t *at, const struct bsn_part *part, uint32_t count,
			  struct bsn_be64 common)
{
	copy(at, part, count, common, true);
}

#define AVX __attribute__((target("avx")))

AVX static inline __attribute__((always_inline)) void keep_part(struct bsn_part *to,
								const struct bsn_part *from)
{
	_mm256_storeu_pd((void *)to, _mm256_loadu_pd((const void *)from));
}

/* Into the middle of code without a loop, so that a part takes two instructions. */
AVX static void keep_parts(struct bsn_part *to, const struct bsn_part *from, uint32_t count)
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
	return __builtin_cpu_supports("avx") ? keep_parts : copy_parts;
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

	if (page_bytes > 1u << UMR_SPAN_LOG2 || count > UMR_INLINE_MAX || !__builtin_cpu_supports("avx2"))
		return 0;
	if (!memory->has_disorder)
		bytes = put_pages(at, part, count, page_bytes, memory);
	return bytes || !memory->has_disorder ?
		       bytes :
		       put_pages_in_any_order(at, part, count, page_bytes, memory);
}

uint64_t umr_put_wide(uint8_t *at, const struct bsn_part *part, uint32_t count,
		      struct umr_memory *even, struct umr_memory *odd, uint32_t rounds)
{
	uint64_t bytes = 0;

	if (count < 2 || count > UMR_INLINE_MAX)
		return 0;
	if (!__builtin_cpu_supports("avx2"))
		return put_in_order(at, part, count, even, odd, rounds);
	if (even != odd)
		return put_two_keys(at, part, count, even, odd, rounds);
	if (count >= UMR_WIDE_FROM && !even->has_disorder) {
		bytes = rounds > 1 ? put_entries(at, part, count, even, rounds) :
				     put_list(at, part, count, even);
		if (BSN_LIKELY(bytes) || !even->has_disorder)
			return bytes;
	}
	return put_in_any_order(at, part, count, even, rounds);
}

#else

uint64_t umr_put_wide(uint8_t *at, const struct bsn_part *part, uint32_t count,
		      struct umr_memory *even, struct umr_memory *odd, uint32_t rounds)
{
	return count < 2 ? 0 : put_in_order(at, part, count, even, odd, rounds);
}

uint64_t umr_put_pages(uint8_t *at, const struct bsn_part *part, uint32_t count, uint64_t page_bytes,
		       struct umr_memory *memory)
{
	(void)at, (void)part, (void)count, (void)page_bytes, (void)memory;
	return 0;
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
