/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts by their numbers: lengths, overlaps, the walk. */
#include "layout.h"

#include <stddef.h>

#include "bsn_mkey.h"
#include "bsn_umr.h"
#include "order.h"

/* No memory has this address. */
#define FAR_TOO_LARGE (1ull << 62)

/* Bytes from the first block's begin to the last one's end. */
static int span_of(const struct bsn_part *part, uint32_t rounds, uint64_t *span)
{
	uint64_t last;

	if (__builtin_mul_overflow((uint64_t)(rounds - 1), part->stride, &last) ||
	    __builtin_add_overflow(last, part->bytes, span) ||
	    part->addr + (*span - 1) < part->addr)
		return fail(EOVERFLOW,
			    "a part of the layout goes beyond 64 bits: 0x%llx, %u times %llu",
			    (unsigned long long)part->addr, rounds,
			    (unsigned long long)part->stride);
	return 0;
}

static int check_part(const struct bsn_part *part, uint32_t rounds)
{
	uint64_t span;

	if (!part->bytes)
		return fail(ENODATA, "a part of the layout is empty: leave it out");
	if (part->reserved)
		return fail(EINVAL, "a part's reserved field is not 0: was it initialized?");
	if (rounds == 1)
		return part->addr + (part->bytes - 1) < part->addr
			       ? fail(EOVERFLOW, "a part of the layout goes beyond 64 bits")
			       : 0;
	if (part->stride < part->bytes)
		return fail(ENOTUNIQ,
			    "blocks of a part overlap: they have %llu bytes, and begin %llu apart",
			    (unsigned long long)part->bytes, (unsigned long long)part->stride);
	return span_of(part, rounds, &span);
}

/* Checks all parts of a list at once, where their sizes are possible. False: each is looked at. */
static bool measure_list(const struct bsn_layout *layout, struct layout_size *size)
{
	const struct bsn_part *const end = layout->parts + layout->part_count;
	uint64_t far = 0, but_one = 0, bytes = 0;
	uint32_t reserved = 0;

	for (const struct bsn_part *part = layout->parts; part != end; part++) {
		far |= part->addr;
		but_one |= part->bytes - 1;
		bytes += part->bytes;
		reserved |= part->reserved;
	}
	if (far >= FAR_TOO_LARGE || but_one >= BSN_KLM_MAX_BYTES || reserved)
		return false;
	*size = (struct layout_size){ bytes, layout->part_count, 0, false };
	return true;
}

int layout_measure(const struct bsn_layout *layout, struct layout_size *size)
{
	uint64_t bytes = 0, translations = 0, longest = 0;
	uint32_t rounds;

	if (!layout || (!layout->parts && layout->part_count))
		return fail(EINVAL, "no layout, or none of its parts");
	if (!layout->part_count)
		return fail(ENODATA, "the layout is empty: it has one part at least");
	rounds = layout_rounds(layout);
	if (rounds == 1 && measure_list(layout, size))
		return 0;
	for (uint32_t i = 0; i < layout->part_count; i++) {
		const struct bsn_part *part = &layout->parts[i];
		const int err = check_part(part, rounds);
		if (err)
			return err;
		if (__builtin_add_overflow(bytes, part->bytes, &bytes))
			return fail(EOVERFLOW, "the layout has more than 2^64 bytes");
		translations += (part->bytes + BSN_KLM_MAX_BYTES - 1) / BSN_KLM_MAX_BYTES;
		longest |= part->bytes | part->stride;
	}
	if (__builtin_mul_overflow(bytes, rounds, &size->bytes))
		return fail(EOVERFLOW, "the layout has more than 2^64 bytes");
	size->translations = translations * rounds; /* fewer than its bytes */
	size->longest = longest;
	size->is_uniform = false;
	return 0;
}

int bsn_layout_length(const struct bsn_layout *layout, uint64_t *bytes)
{
	struct layout_size size;
	int err;

	if (!bytes)
		return fail(EINVAL, "no place for the result");
	err = layout_measure(layout, &size);
	if (!err)
		*bytes = size.bytes;
	return err;
}

/* -- in one pass ------------------------------------------------------------------------------------ */

/* The key and the reserved bytes, as one word. */
static inline uint64_t key_word(const struct bsn_part *part)
{
	uint64_t word;

	memcpy(&word, (const char *)part + offsetof(struct bsn_part, lkey), sizeof(word));
	return word;
}

/*
 * Findings about the parts so far, in the sign bits: of @bad whether an address or a length is far too
 * large, or a length 0; of @apart whether each part begins after the last byte of the one before.
 */
struct pass {
	uint64_t bad, apart, bytes, last; /* @bytes: less one a part */
};

/* Whether the parts have the key and the stride that they all should. */
BSN_ALWAYS_INLINE bool are_alike(const struct bsn_part *part, const struct bsn_part *first,
				 bool has_rounds)
{
	return key_word(part) == key_word(first) && (!has_rounds || part->stride == first->stride);
}

BSN_ALWAYS_INLINE bool pass_by_ones(struct pass *pass, const struct bsn_part *part, uint32_t count,
				    const struct bsn_part *first, bool has_rounds)
{
	for (; count--; part++) {
		const uint64_t addr = part->addr, but_one = part->bytes - 1;
		if (!are_alike(part, first, has_rounds))
			return false;
		pass->bad |= addr | but_one;
		pass->apart &= pass->last - addr;
		pass->bytes += but_one;
		pass->last = addr + but_one;
	}
	return true;
}

/* The same of an even number. */
BSN_ALWAYS_INLINE bool pass_by_twos(struct pass *pass, const struct bsn_part *part, uint32_t count,
				    const struct bsn_part *first, bool has_rounds)
{
	bsn_v2 bad = { 0, 0 }, apart = { -1ull, -1ull }, bytes = { 0, 0 }, last = { 0, pass->last };

	for (const struct bsn_part *const end = part + count; part != end; part += 2) {
		const bsn_v2 addr = { part[0].addr, part[1].addr };
		const bsn_v2 but_one = (bsn_v2){ part[0].bytes, part[1].bytes } - 1;
		const bsn_v2 ends = addr + but_one;
		if (!are_alike(&part[0], first, has_rounds) ||
		    !are_alike(&part[1], first, has_rounds))
			return false;
		bad |= addr;
		bad |= but_one;
		apart &= (bsn_v2){ last[1], ends[0] } - addr;
		bytes += but_one;
		last = ends;
	}
	*pass = (struct pass){ bad[0] | bad[1], apart[0] & apart[1], bytes[0] + bytes[1], last[1] };
	return true;
}

BSN_ALWAYS_INLINE bool pass_over(struct pass *pass, const struct bsn_part *part, uint32_t count,
				 bool has_rounds)
{
	const uint32_t even = count >= 4 ? count & ~1u : 0;

	if (even && !pass_by_twos(pass, part, even, part, has_rounds))
		return false;
	return pass_by_ones(pass, part + even, count - even, part, has_rounds);
}

/* The first and the last byte of the parts, a round of them. */
struct ends {
	uint64_t first, last;
};

/*
 * Of parts that do not ascend, whether they would if they were sorted: where they are from @first on, as far as
 * 32 bits tell, and their lengths are the words to sort.
 */
static __attribute__((noinline)) bool find_ends(const struct bsn_layout *layout, uint64_t first,
						uint64_t *scratch, struct ends *ends)
{
	const uint32_t count = layout->part_count;
	const struct bsn_part *const parts = layout->parts, *const end = parts + count;
	uint64_t far = 0, meet = 0, after = 0, *word = scratch;
	const uint64_t *words;

	for (const struct bsn_part *part = parts; part != end; part++) {
		const uint64_t offset = part->addr - first;
		far |= offset;
		*word++ = offset << 32 | part->bytes;
	}
	if (far > UINT32_MAX)
		return false;
	words = order_words(scratch, scratch + order_room(count), count);
	for (const uint64_t *at = words, *const rest = words + count; at != rest; at++) {
		const uint64_t offset = *at >> 32;
		meet |= offset - after;
		after = offset + (uint32_t)*at;
	}
	*ends = (struct ends){ first + (words[0] >> 32), first + after - 1 };
	return (int64_t)meet >= 0;
}

bool layout_is_plain(const struct bsn_layout *layout, uint64_t first, uint64_t last,
		     uint64_t *scratch, struct layout_size *size)
{
	const struct bsn_part *const part = layout->parts;
	const uint32_t count = layout->part_count, rounds = layout_rounds(layout);
	struct pass pass = { .apart = -1ull, .last = part->addr - 1 };
	const bool is_alike = rounds == 1 ? pass_over(&pass, part, count, false)
					  : pass_over(&pass, part, count, true);
	const uint64_t bytes = pass.bytes + count;
	struct ends ends = { part->addr, pass.last };

	if (!is_alike || part->reserved || pass.bad >= FAR_TOO_LARGE || bytes > BSN_KLM_MAX_BYTES)
		return false;
	size->is_uniform = true;
	if ((int64_t)pass.apart >= 0 && !find_ends(layout, first, scratch, &ends))
		return false;
	if (ends.first < first || ends.last > last)
		return false;
	size->bytes = bytes;
	size->translations = count;
	if (rounds == 1)
		return true;
	size->bytes *= rounds;
	size->translations *= rounds;
	size->longest = part->stride;
	return part->stride < FAR_TOO_LARGE >> 32 && ends.last - ends.first < part->stride &&
	       ends.last + (rounds - 1) * part->stride <= last;
}

/* -- overlaps ------------------------------------------------------------------------------------- */

/* The last byte of a part. */
static uint64_t last_of(const struct bsn_part *part, uint32_t rounds)
{
	return part->addr + (rounds - 1) * part->stride + (part->bytes - 1);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		const uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/*
 * Two combs of different strides: where the teeth of both have room in what divides both strides, they never
 * meet; else each tooth is looked at.
 */
static bool do_teeth_meet(const struct bsn_part *a, const struct bsn_part *b, uint32_t rounds)
{
	const uint64_t both = gcd(a->stride, b->stride), offset = (b->addr - a->addr) % both;
	uint64_t at = a->addr, bt = b->addr;

	if (offset >= a->bytes && b->bytes <= both - offset)
		return false;
	for (uint32_t i = 0, j = 0; i < rounds && j < rounds;) {
		if (at < bt ? bt - at < a->bytes : at - bt < b->bytes)
			return true;
		if (at < bt) {
			at += a->stride;
			i++;
		} else {
			bt += b->stride;
			j++;
		}
	}
	return false;
}

/* @b begins within @a, of the same key. Two combs of one stride are apart where b's teeth fit between a's. */
static bool do_meet(const struct bsn_part *a, const struct bsn_part *b, uint32_t rounds)
{
	uint64_t tooth, offset;

	if (rounds == 1)
		return true;
	if (a->stride != b->stride)
		return do_teeth_meet(a, b, rounds);
	tooth = (b->addr - a->addr) / a->stride;
	offset = (b->addr - a->addr) % a->stride;
	return offset < a->bytes || (offset + b->bytes > a->stride && tooth + 1 < rounds);
}

/* Whether each part begins after the one before has ended: then even those of one key do not meet. */
static bool do_ascend(const struct bsn_part *part, uint32_t count, uint32_t rounds)
{
	for (; --count; part++)
		if (part[1].addr <= last_of(part, rounds))
			return false;
	return true;
}

/* The same of the parts of each key, where there are two, as of rows of two regions in turn. */
static bool do_both_ascend(const struct bsn_part *part, uint32_t count, uint32_t rounds)
{
	const struct bsn_part *last = part, *other = NULL;

	for (const struct bsn_part *const end = part + count; ++part != end; last = part) {
		if (part->lkey != last->lkey) {
			const struct bsn_part *const before = other;
			other = last;
			if (!before)
				continue;
			last = before;
		}
		if (part->lkey != last->lkey || part->addr <= last_of(last, rounds))
			return false;
	}
	return true;
}

/* Whether sorted parts of one key are apart: the teeth of all within one stride, if there are several rounds. */
static bool are_one_comb(const struct bsn_part *const *parts, uint32_t count, uint32_t rounds)
{
	const struct bsn_part *const first = parts[0];
	uint64_t last = last_of(first, 1);

	for (uint32_t i = 1; i < count; i++) {
		if (parts[i]->addr <= last || (rounds > 1 && parts[i]->stride != first->stride))
			return false;
		last = last_of(parts[i], 1);
	}
	return rounds == 1 || last - first->addr < first->stride;
}

/* The same, whatever they are: 0, or -ENOTUNIQ with a text. */
static int check_pairs(const struct bsn_part *const *parts, uint32_t count, uint32_t rounds)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = i + 1; j < count && parts[j]->addr <= last_of(parts[i], rounds);
		     j++)
			if (do_meet(parts[i], parts[j], rounds))
				return fail(ENOTUNIQ, "parts of the layout overlap at 0x%llx",
					    (unsigned long long)parts[j]->addr);
	return 0;
}

int layout_check_overlap(const struct bsn_layout *layout, uint64_t *scratch)
{
	const uint32_t count = layout->part_count, rounds = layout_rounds(layout);
	const struct bsn_part **parts;
	int err = 0;

	if (do_ascend(layout->parts, count, rounds) || do_both_ascend(layout->parts, count, rounds))
		return 0;
	parts = order_parts(layout, scratch);
	for (uint32_t i = 0, alike; i < count && !err; i += alike) {
		for (alike = 1; i + alike < count && parts[i + alike]->lkey == parts[i]->lkey;)
			alike++;
		if (!are_one_comb(parts + i, alike, rounds))
			err = check_pairs(parts + i, alike, rounds);
	}
	return err;
}

/* -- the walk --------------------------------------------------------------------------------------- */

struct run {
	uint64_t addr, bytes;
	uint32_t lkey;
};

static void put_run(const struct run *run, uint64_t most,
		    void (*put)(void *arg, uint64_t addr, uint64_t bytes, uint32_t lkey), void *arg)
{
	for (uint64_t at = 0; at < run->bytes; at += most) {
		const uint64_t left = run->bytes - at;
		put(arg, run->addr + at, left < most ? left : most, run->lkey);
	}
}

void layout_walk(const struct bsn_layout *layout, uint64_t most,
		 void (*put)(void *arg, uint64_t addr, uint64_t bytes, uint32_t lkey), void *arg)
{
	struct run run = { 0 };

	for (uint32_t round = 0; round < layout_rounds(layout); round++) {
		for (uint32_t i = 0; i < layout->part_count; i++) {
			const struct bsn_part *part = &layout->parts[i];
			const uint64_t addr = part->addr + round * part->stride;
			if (run.bytes && part->lkey == run.lkey && addr == run.addr + run.bytes) {
				run.bytes += part->bytes;
				continue;
			}
			put_run(&run, most, put, arg);
			run = (struct run){ addr, part->bytes, part->lkey };
		}
	}
	put_run(&run, most, put, arg);
}
