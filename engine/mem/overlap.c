/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks whether blocks of a layout overlap. */
#include "layout.h"

static int overlap_at(uint64_t addr)
{
	return fail(ENOTUNIQ, "parts of the layout overlap at 0x%llx", (unsigned long long)addr);
}

/* The first byte after the last block of a part. */
static uint64_t end_of(const struct bsn_part *part, uint32_t rounds)
{
	return part->addr + (rounds - 1) * part->stride + part->bytes;
}

static const struct bsn_part **order(const struct making *m)
{
	uint64_t first = UINT64_MAX, end = 0;

	for (uint32_t i = 0; i < m->memory_count; i++) {
		if (m->memory[i].first < first)
			first = m->memory[i].first;
		if (m->memory[i].round_end > end)
			end = m->memory[i].round_end;
	}
	return layout_order(m->parts, m->part_count, first, end, m->room);
}

/* Checks the first round, in the order of addresses. */
static int check_neighbours(const struct making *m)
{
	const struct bsn_part *const *parts = order(m);
	struct layout_memory *memory = m->memory;

	for (uint32_t i = 0; i < m->memory_count; i++)
		m->memory[i].round_end = 0;
	for (uint32_t i = 0; i < m->part_count; i++) {
		const struct bsn_part *const part = parts[i];
		if (part->lkey != memory->lkey)
			memory = layout_memory_of(m, part->lkey);
		if (part->addr < memory->round_end)
			return overlap_at(part->addr);
		memory->round_end = part->addr + part->bytes;
	}
	return 0;
}

/* -- several rounds ---------------------------------------------------------------------------- */

/* Whether all parts have one stride, and each round ends before the next begins. */
static bool are_rounds_apart(const struct making *m)
{
	for (uint32_t i = 0; i < m->memory_count; i++)
		if (m->memory[i].round_end - m->memory[i].first > m->parts->stride)
			return false;
	return !m->strides;
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
 * For two parts of different strides, @b after @a. If the blocks of both fit into a common divisor
 * of the strides, they never meet. Else each block is checked, from where @a reaches @b until the
 * positions repeat.
 */
static bool do_blocks_meet(const struct bsn_part *a, const struct bsn_part *b, uint32_t rounds)
{
	const uint64_t both = gcd(a->stride, b->stride), offset = (b->addr - a->addr) % both;
	const uint64_t first = (b->addr - a->addr) / a->stride;
	const uint64_t i_end = first + 1 + b->stride / both, j_end = 1 + a->stride / both;
	uint64_t at = a->addr + first * a->stride, bt = b->addr;

	if (offset >= a->bytes && b->bytes <= both - offset)
		return false;
	for (uint64_t i = first, j = 0; i < rounds && j < rounds && i < i_end && j < j_end;) {
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

/*
 * Whether two parts meet; @b begins before the end of @a. With one stride they do not if b's blocks
 * fit between a's.
 */
static bool do_meet(const struct bsn_part *a, const struct bsn_part *b, uint32_t rounds)
{
	uint64_t round, offset;

	if (a->stride != b->stride)
		return do_blocks_meet(a, b, rounds);
	round = (b->addr - a->addr) / a->stride;
	offset = (b->addr - a->addr) % a->stride;
	return offset < a->bytes || (offset + b->bytes > a->stride && round + 1 < rounds);
}

static int check_pairs(const struct making *m)
{
	const struct bsn_part *const *parts = order(m);
	const uint32_t count = m->part_count, rounds = m->rounds;

	for (uint32_t i = 0; i < count; i++) {
		const struct bsn_part *const part = parts[i];
		const uint64_t end = end_of(part, rounds);
		for (uint32_t j = i + 1; j < count && parts[j]->addr < end; j++)
			if (parts[j]->lkey == part->lkey && do_meet(part, parts[j], rounds))
				return overlap_at(parts[j]->addr);
	}
	return 0;
}

int layout_check_overlap(const struct making *m)
{
	int err = m->ascends ? 0 : check_neighbours(m);

	if (!err && m->rounds > 1 && !are_rounds_apart(m))
		err = check_pairs(m);
	return err;
}
