/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sorts parts by address. Each goes to one of as many chains as there are parts, by its address. If
 * they crowd in few chains, qsort() sorts them all.
 */
#include "layout.h"

#include <stdlib.h>

enum { STEPS_A_PART = 8 };

static int compare(const void *a, const void *b)
{
	const uint64_t x = (*(const struct bsn_part *const *)a)->addr;
	const uint64_t y = (*(const struct bsn_part *const *)b)->addr;

	return x < y ? -1 : x > y;
}

static void sort(const struct bsn_part **to, const struct bsn_part *parts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		to[i] = &parts[i];
	qsort(to, count, sizeof(*to), compare);
}

/* How many bits an address is shifted to get its chain: there are no more chains than parts. */
static unsigned shift_of(uint64_t bytes, uint32_t count)
{
	const int bits = 64 - __builtin_clzll(bytes | 1), most = 31 - __builtin_clz(count);

	return bits > most ? (unsigned)(bits - most) : 0;
}

const struct bsn_part **layout_order(const struct bsn_part *parts, uint32_t count, uint64_t first,
				     uint64_t end, void *room)
{
	const struct bsn_part **const sorted = room, **to = sorted;
	uint32_t *const heads = (uint32_t *)(sorted + count), *const next = heads + count;
	const unsigned shift = shift_of(end - 1 - first, count);
	uint32_t steps = count * STEPS_A_PART;

	memset(heads, 0, count * sizeof(*heads)); /* numbers of parts, from 1 on */
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t addr = parts[i].addr;
		uint32_t *at = &heads[(addr - first) >> shift];
		for (; *at && parts[*at - 1].addr < addr; at = &next[*at - 1])
			if (!--steps) {
				sort(sorted, parts, count);
				return sorted;
			}
		next[i] = *at;
		*at = i + 1;
	}
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t at = heads[i]; at; at = next[at - 1])
			*to++ = &parts[at - 1];
	return sorted;
}
