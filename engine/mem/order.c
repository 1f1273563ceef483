/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts are sorted by 32 bits of theirs at a time, the least significant first. Of each sort only words are
 * compared and moved: the 32 bits, and where the part was before, which tells equal ones apart.
 */
#include "order.h"

#include <stdbool.h>
#include <string.h>

#include "bsn_doorbell.h"

/* -- words ------------------------------------------------------------------------------------------ */

enum { SHORT_RUN = 8 };

BSN_ALWAYS_INLINE void order_pair(uint64_t *w, unsigned a, unsigned b)
{
	const uint64_t x = w[a], y = w[b];

	w[a] = x < y ? x : y;
	w[b] = x < y ? y : x;
}

/* Batcher's network for eight: pairs of neighbours, then fours, then all. */
BSN_ALWAYS_INLINE void order_eight(uint64_t *w)
{
	BSN_UNROLL for (unsigned i = 0; i < 8; i += 2) order_pair(w, i, i + 1);
	BSN_UNROLL for (unsigned i = 0; i < 8; i += 4)
	{
		order_pair(w, i, i + 2);
		order_pair(w, i + 1, i + 3);
		order_pair(w, i + 1, i + 2);
	}
	BSN_UNROLL for (unsigned i = 0; i < 4; i++) order_pair(w, i, i + 4);
	BSN_UNROLL for (unsigned i = 2; i < 4; i++) order_pair(w, i, i + 2);
	BSN_UNROLL for (unsigned i = 1; i < 7; i += 2) order_pair(w, i, i + 1);
}

static void sort_short(uint64_t *words)
{
	uint64_t w[SHORT_RUN];

	memcpy(w, words, sizeof(w));
	order_eight(w);
	memcpy(words, w, sizeof(w));
}

/*
 * Two sorted runs of one length, a multiple of SHORT_RUN, become one: half of it from the lower end, half from
 * the upper one, so that neither run can end before.
 */
static void merge_equal(uint64_t *to, const uint64_t *a, size_t run)
{
	const uint64_t *const b = a + run;
	size_t of_b = 0;

	for (size_t at = 0; at < run; at += SHORT_RUN) {
		BSN_UNROLL for (unsigned i = 0; i < SHORT_RUN; i++)
		{
			const uint64_t x = a[at + i - of_b], y = b[of_b];
			to[at + i] = y < x ? y : x;
			of_b += y < x;
		}
	}
	of_b = run - 1;
	for (size_t at = 2 * run; at > run; at -= SHORT_RUN) {
		BSN_UNROLL for (unsigned i = 1; i <= SHORT_RUN; i++)
		{
			const uint64_t x = a[at - i - 1 - of_b], y = b[of_b];
			to[at - i] = x < y ? y : x;
			of_b -= x < y;
		}
	}
}

/* Of two lengths, the second of which may be 0. */
static void merge(uint64_t *to, const uint64_t *a, size_t a_count, size_t b_count)
{
	const uint64_t *b = a + a_count;

	while (a_count && b_count) {
		const bool takes_b = *b < *a;
		*to++ = takes_b ? *b : *a;
		a += !takes_b;
		a_count -= !takes_b;
		b += takes_b;
		b_count -= takes_b;
	}
	memcpy(to, a_count ? a : b, (a_count ? a_count : b_count) * sizeof(*to));
}

/* Short runs, then runs of twice the length each time, from one place to the other. */
uint64_t *order_words(uint64_t *words, uint64_t *spare, uint32_t count)
{
	const size_t room = order_room(count);
	uint64_t *from = words, *to = spare;

	for (size_t i = count; i < room; i++)
		words[i] = UINT64_MAX;
	for (size_t at = 0; at < room; at += SHORT_RUN)
		sort_short(from + at);
	for (size_t run = SHORT_RUN; run < room; run *= 2) {
		uint64_t *const done = to;
		size_t at = 0;
		for (; at + 2 * run <= room; at += 2 * run)
			merge_equal(to + at, from + at, run);
		if (at < room)
			merge(to + at, from + at, room - at < run ? room - at : run,
			      room - at < run ? 0 : room - at - run);
		to = from;
		from = done;
	}
	return from;
}

/* -- parts ------------------------------------------------------------------------------------------ */

struct order {
	const struct bsn_part **parts, **spare;
	uint64_t *words, *spare_words;
};

/* Each word has in its lower half where the part is that it is of. */
static void use_words(struct order *order, uint32_t count)
{
	const struct bsn_part **const to = order->spare;
	const uint64_t *const words = order_words(order->words, order->spare_words, count);

	for (uint32_t i = 0; i < count; i++)
		to[i] = order->parts[(uint32_t)words[i]];
	order->spare = order->parts;
	order->parts = to;
}

static void sort_by_high_word(struct order *order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		order->words[i] = (order->parts[i]->addr >> 32 << 32) | i;
	use_words(order, count);
}

static void sort_by_key(struct order *order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		order->words[i] = (uint64_t)order->parts[i]->lkey << 32 | i;
	use_words(order, count);
}

const struct bsn_part **order_parts(const struct bsn_layout *layout, uint64_t *scratch)
{
	const struct bsn_part *const first = layout->parts;
	const uint32_t count = layout->part_count;
	const size_t room = order_room(count);
	struct order order = {
		.parts = (const struct bsn_part **)(void *)scratch,
		.spare = (const struct bsn_part **)(void *)(scratch + room),
		.words = scratch + 2 * room,
		.spare_words = scratch + 3 * room,
	};
	uint64_t addrs = 0;
	uint32_t keys = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct bsn_part *const part = &first[i];
		order.parts[i] = part;
		order.words[i] = part->addr << 32 | i;
		addrs |= part->addr ^ first->addr;
		keys |= part->lkey ^ first->lkey;
	}
	use_words(&order, count);
	if (addrs >> 32)
		sort_by_high_word(&order, count);
	if (keys)
		sort_by_key(&order, count);
	return order.parts;
}
