/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What umr_ordered.h does by AVX2, by NEON: a part is two vectors. How far it is from what it should be is added, so that
 * a sum tells what is wrong with any, and a sum of lengths if one is 0. Addresses have 64 bits. Inline, and private to
 * the library, by way of umr_ordered.h.
 */
#ifndef DV_UMR_NEON_H
#define DV_UMR_NEON_H

#define UMR_WIDE BSN_ALWAYS_INLINE

/*
 * What is known of the parts so far. Of two keys the first is that of the even parts.
 * @order: where the bytes of a translation lie in a part
 * @key, @stride: what a part's should be, twice
 * @page: what its length should be: that of pages, else 1
 * @wrong: how far keys and strides are from that, added
 * @lengths: the same of lengths: of their low words, and of their high ones; the second of them is of odd parts of two keys
 * @gaps: how far each begins after the end of the one before, of its key, or after the begin of the memory; 0 where it
 *	begins before that. Both sums stay at the greatest number if they get there.
 * @ends: where the last two end, of both keys, or of one
 * @last: the last one; of one key, of which the gap before it is not among @gaps yet
 * @page_bytes: of pages
 */
struct umr_ordered {
	uint8x16_t order;
	uint32x4_t key[2], stride, page;
	uint64x2_t wrong, lengths[2], gaps, ends, last;
	uint32_t page_bytes;
};

/*
 * Where the bytes of a translation are in a part, of a list, a repeat block, whose lengths have 16 bits below the stride,
 * and pages; and a length, but of pages.
 */
static const struct umr_constants {
	bsn_pattern order;
	bsn_v2 length;
} umr_constants[3] = {
	{ { BSN_FROM_32(8), BSN_FROM_32(24), BSN_FROM_64(0) }, { 1, 1 } },
	{ { 17, 16, 9, 8, BSN_FROM_32(24), BSN_FROM_64(0) }, { 1, 1 } },
	{ { BSN_FROM_NONE, BSN_FROM_32(24), BSN_FROM_64(0) }, { 0, 0 } },
};

UMR_WIDE uint32x4_t umr_words_twice(uint64_t v)
{
	return vreinterpretq_u32_u64(vdupq_n_u64(v));
}

/*
 * Looks at four parts, puts their translations, and moves on. It is assembler since a tbl of two registers takes such as
 * follow each other, for which compilers copy each part. The parts are in v16 to v23.
 * @GAPS: adds those of two parts and the one before
 * @ODD, @ODDS: where the lengths of odd ones are added, and that as an operand
 * @STRIDES, @STRIDE: looks at the strides, and their operand
 */
#define UMR_LOOK_AT_FOUR(pass, at, part, GAPS, ODD, ODDS, STRIDES, STRIDE)                         \
	__asm__ volatile("ld1 {v16.16b-v19.16b}, [%[from]], 64\n\t" GAPS(v22, v16, v18)            \
			 "ld1 {v20.16b-v23.16b}, [%[from]], 64\n\t" GAPS(v18, v20, v22)            \
			 "uabal2 %[even].2d, v16.4s, %[page].4s\n\t"                               \
			 "uabal2 %[" ODD "].2d, v18.4s, %[page].4s\n\t"                            \
			 "uabal2 %[even].2d, v20.4s, %[page].4s\n\t"                               \
			 "uabal2 %[" ODD "].2d, v22.4s, %[page].4s\n\t"                            \
			 "uabal2 %[wrong].2d, v17.4s, %[key0].4s\n\t"                              \
			 "uabal2 %[wrong].2d, v19.4s, %[key1].4s\n\t"                              \
			 "uabal2 %[wrong].2d, v21.4s, %[key0].4s\n\t"                              \
			 "uabal2 %[wrong].2d, v23.4s, %[key1].4s\n\t" STRIDES                      \
			 "tbl v16.16b, {v16.16b, v17.16b}, %[order].16b\n\t"                       \
			 "tbl v17.16b, {v18.16b, v19.16b}, %[order].16b\n\t"                       \
			 "tbl v18.16b, {v20.16b, v21.16b}, %[order].16b\n\t"                       \
			 "tbl v19.16b, {v22.16b, v23.16b}, %[order].16b\n\t"                       \
			 "st1 {v16.16b-v19.16b}, [%[to]], 64"                                      \
			 : [from] "+r"(part), [to] "+r"(at), [even] "+w"((pass)->lengths[0]),      \
			   [wrong] "+w"((pass)->wrong), [gaps] "+w"((pass)->gaps),                 \
			   [ends] "+w"((pass)->ends), "+w"(last) ODDS                              \
			 : [page] "w"((pass)->page), [key0] "w"((pass)->key[0]),                   \
			   [key1] "w"((pass)->key[1]), [order] "w"((pass)->order) STRIDE           \
			 : "v16", "v17", "v18", "v19", "v20", "v21", "v23", "v24", "memory")

/* Of two parts, a and b, and the one before them. */
#define UMR_GAPS_OF_ONE(before, a, b)                                                              \
	"zip1 v24.2d, " #before ".2d, " #a ".2d\n\t" UMR_ADD_GAPS(a, b)
#define UMR_GAPS_OF_TURNS(before, a, b) "zip1 v24.2d, " #a ".2d, " #b ".2d\n\t" UMR_ADD_GAPS(a, b)
#define UMR_ADD_GAPS(a, b)                                                                         \
	"uqsub v24.2d, v24.2d, %[ends].2d\n\t"                                                     \
	"uqadd %[gaps].2d, %[gaps].2d, v24.2d\n\t"                                                 \
	"addp %[ends].2d, " #a ".2d, " #b ".2d\n\t"

#define UMR_AND(operand) , operand

#define UMR_STRIDES                                                                                \
	"uabal %[wrong].2d, v17.2s, %[stride].2s\n\t"                                              \
	"uabal %[wrong].2d, v19.2s, %[stride].2s\n\t"                                              \
	"uabal %[wrong].2d, v21.2s, %[stride].2s\n\t"                                              \
	"uabal %[wrong].2d, v23.2s, %[stride].2s\n\t"

UMR_WIDE void umr_pass_four(struct umr_ordered *pass, uint8_t **at, const struct bsn_part **part,
			    struct umr_kind kind)
{
	BSN_ORDER_EVENT(BSN_ORDER_WQE, *at, 4 * BSN_DS_SIZE);
	register uint64x2_t last __asm__("v22") = pass->last; /* no call comes between */

	if (kind.has_turns)
		UMR_LOOK_AT_FOUR(pass, *at, *part, UMR_GAPS_OF_TURNS, "odd",
				 UMR_AND([odd] "+w"(pass->lengths[1])), "", );
	else if (kind.has_rounds)
		UMR_LOOK_AT_FOUR(pass, *at, *part, UMR_GAPS_OF_ONE, "even", , UMR_STRIDES,
				 UMR_AND([stride] "w"(pass->stride)));
	else
		UMR_LOOK_AT_FOUR(pass, *at, *part, UMR_GAPS_OF_ONE, "even", , "", );
	pass->last = last;
}

/* Puts the translation of one part. Returns where it lies. */
UMR_WIDE uint64x2_t umr_look_at_one(struct umr_ordered *pass, uint8_t *at,
				    const struct bsn_part *part, bool odd, struct umr_kind kind)
{
	const uint32x4_t low = vld1q_u32((const void *)&part->addr);
	const uint32x4_t high = vld1q_u32((const void *)&part->stride);
	const uint8x16x2_t both = { { vreinterpretq_u8_u32(low), vreinterpretq_u8_u32(high) } };

	pass->lengths[odd] = vabal_high_u32(pass->lengths[odd], low, pass->page);
	pass->wrong = vabal_high_u32(pass->wrong, high, pass->key[odd]);
	if (kind.has_rounds)
		pass->wrong = vabal_u32(pass->wrong, vget_low_u32(high), vget_low_u32(pass->stride));
	bsn_store_wqe_v2(at, (bsn_v2)vqtbl2q_u8(both, pass->order));
	return vreinterpretq_u64_u32(low);
}

/* @first: where those begin that come after the ends */
UMR_WIDE uint64x2_t umr_gaps_before(const struct umr_ordered *pass, uint64x2_t first)
{
	return vqaddq_u64(pass->gaps, vqsubq_u64(first, pass->ends));
}

/* A part, or, in turns, two. */
UMR_WIDE void umr_pass_little(struct umr_ordered *pass, uint8_t *at, const struct bsn_part *part,
			      struct umr_kind kind)
{
	const uint64x2_t a = umr_look_at_one(pass, at, part, false, kind);
	const uint64x2_t b = kind.has_turns ? umr_look_at_one(pass, at + BSN_DS_SIZE, part + 1,
							      true, kind) : a;

	pass->gaps = umr_gaps_before(pass, vzip1q_u64(kind.has_turns ? a : pass->last, b));
	pass->ends = vpaddq_u64(a, b);
	pass->last = b;
}

/* @wanted: of one key, or of two */
UMR_WIDE struct umr_ordered umr_begin_ordered(const struct bsn_part *part,
					      const struct umr_wanted *wanted, uint32_t page_bytes,
					      struct umr_kind kind)
{
	const uint64x2_t first = vld1q_u64(wanted->first), zero = vdupq_n_u64(0);
	const uint32x4_t key = vreinterpretq_u32_u64(vld1q_u64(wanted->key));
	const struct umr_constants *constants = &umr_constants[kind.has_pages ? 2 : kind.has_rounds];
	bsn_v2 length;

	BSN_HIDE(constants); /* else each has an address */
	length = constants->length;
	return (struct umr_ordered){
		.order = (uint8x16_t)constants->order,
		.key = { key, kind.has_turns ? vreinterpretq_u32_u64(vld1q_u64(wanted[1].key)) : key },
		.stride = umr_words_twice(kind.has_rounds ? part->stride : 0),
		.page = kind.has_pages ? umr_words_twice(page_bytes) : (uint32x4_t)length,
		.wrong = zero,
		.lengths = { zero, zero },
		.gaps = zero,
		.ends = kind.has_turns ? vzip1q_u64(first, vld1q_u64(wanted[1].first)) : first,
		.last = zero,
		.page_bytes = page_bytes,
	};
}

/* Puts the translations of all eights, and goes on to what comes after them. */
UMR_WIDE void umr_pass_all_eights(struct umr_ordered *pass, uint8_t **at,
				  const struct bsn_part **part, uint32_t count,
				  struct umr_kind kind)
{
	const struct bsn_part *const end = *part + umr_eights_of(count, kind);

	if (!kind.are_many && *part == end)
		return;
	do {
		BSN_UNROLL for (unsigned i = 0; i < 8; i += 4) umr_pass_four(pass, at, part, kind);
	} while (*part != end);
}

/* The same of those after them, or of the few. */
UMR_WIDE void umr_pass_rest(struct umr_ordered *pass, uint8_t *at, const struct bsn_part *part,
			    uint32_t count, struct umr_kind kind)
{
	const uint32_t step = 1 + kind.has_turns;
	uint32_t left = kind.are_few ? count : count % 8;

	for (; left >= 4; left -= 4)
		umr_pass_four(pass, &at, &part, kind);
	for (; left; left -= step, at += step * BSN_DS_SIZE, part += step)
		umr_pass_little(pass, at, part, kind);
}

/* Gaps, those before the last one, too. */
UMR_WIDE uint64x2_t umr_gaps_of(const struct umr_ordered *pass, struct umr_kind kind)
{
	/* Of the second half, which is a length, nothing is left unless all is too far on. */
	return kind.has_turns ? pass->gaps : umr_gaps_before(pass, pass->last);
}

/* How far their lengths are from what they should be: of pages; else they are one byte longer each. */
UMR_WIDE uint64x2_t umr_lengths_of(const struct umr_ordered *pass, struct umr_kind kind)
{
	return kind.has_turns ? vaddq_u64(pass->lengths[0], pass->lengths[1]) : pass->lengths[0];
}

/* Whether all have their key, stride, and length: altogether as little as one KLM may have. */
UMR_WIDE bool umr_are_right(const struct umr_ordered *pass, struct umr_kind kind)
{
	const uint64x2_t lengths = umr_lengths_of(pass, kind);
	const uint64_t low = vgetq_lane_u64(lengths, 0), high = vgetq_lane_u64(lengths, 1);
	/* Gaps of less than 2^62 do not wrap where they are added. */
	const uint64x2_t wrong = vsraq_n_u64(pass->wrong, umr_gaps_of(pass, kind), 62);

	return !(vaddvq_u64(wrong) | high | (kind.has_pages ? low : low >> 31));
}

/* Whether they may be but for the order, or whatever else is wrong: only lengths that are too great are right elsewhere. */
UMR_WIDE bool umr_may_have_disorder(const struct umr_ordered *pass, struct umr_kind kind)
{
	return kind.has_pages || !(vgetq_lane_u64(umr_lengths_of(pass, kind), 0) >> 31);
}

/* Where the parts of the first key end, and those of the second: their last bytes. */
UMR_WIDE uint64_t umr_first_end(const struct umr_ordered *pass, struct umr_kind kind)
{
	return (kind.has_turns ? vgetq_lane_u64(pass->ends, 0) : vgetq_lane_u64(pass->ends, 1)) - 1;
}

UMR_WIDE uint64_t umr_second_end(const struct umr_ordered *pass)
{
	return vgetq_lane_u64(pass->ends, 1) - 1;
}

/* Bytes of a round of so many parts that are right, and no pages. */
UMR_WIDE uint64_t umr_bytes_of(const struct umr_ordered *pass, uint32_t count, struct umr_kind kind)
{
	return vgetq_lane_u64(umr_lengths_of(pass, kind), 0) + count;
}

/* Whether those of a key, of which the last one ends there, are so many bytes, with all gaps from the memory's begin on. */
UMR_WIDE bool umr_are_as_long(uint64_t end, const struct umr_wanted *wanted, uint64_t bytes)
{
	return BSN_LIKELY(end + 1 - wanted->first[0] == bytes);
}

/*
 * Whether parts that are right lie one after the other, and none before the memory: then they and their gaps are as long
 * as that. A part without any bytes counts as of two, and one that begins before the end of the one before as if it began
 * there, so that the sum is greater then.
 */
UMR_WIDE bool umr_are_apart(const struct umr_ordered *pass, const struct umr_wanted *wanted,
			    uint32_t count, struct umr_kind kind)
{
	const uint64x2_t gaps = umr_gaps_of(pass, kind);

	if (kind.has_turns)
		return umr_are_as_long(umr_first_end(pass, kind), wanted,
				       vgetq_lane_u64(gaps, 0) +
					       vgetq_lane_u64(pass->lengths[0], 0) + count / 2) &&
		       umr_are_as_long(umr_second_end(pass), wanted + 1,
				       vgetq_lane_u64(gaps, 1) +
					       vgetq_lane_u64(pass->lengths[1], 0) + count / 2);
	return umr_are_as_long(umr_first_end(pass, kind), wanted,
			       vaddvq_u64(gaps) +
				       (kind.has_pages ? (uint64_t)count * pass->page_bytes :
							 umr_bytes_of(pass, count, kind)));
}

/* Whether parts that lie so, and of which the last one ends there, are in their memory in all rounds. */
UMR_WIDE bool umr_are_within(const struct bsn_part *part, const struct umr_wanted *wanted,
			     uint64_t end, uint32_t rounds, struct umr_kind kind)
{
	uint64_t last = end - wanted->first[0];

	if (kind.has_rounds) {
		if (BSN_UNLIKELY(part->stride > BSN_REPEAT_MAX_STRIDE ||
				 end - part->addr >= part->stride))
			return false;
		last += (uint64_t)(rounds - 1) * part->stride;
	}
	return BSN_LIKELY(last <= wanted->most);
}

/* Two units, of which all but the first word is 0. */
UMR_WIDE void umr_store_two(uint8_t *at, struct bsn_be64 word)
{
	bsn_store_wqe_v2(at, (bsn_v2){ word.raw, 0 });
	bsn_store_wqe_v2(at + BSN_DS_SIZE, (bsn_v2){ 0, 0 });
}

#endif
