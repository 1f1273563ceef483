/* SPDX-License-Identifier: BSD-2-Clause */
#include "places.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

enum { SPINS = 1000 };

/*
 * Words that may change while they are read. Loads acquire, so that the sequence is read after
 * them; stores release, so that they follow the odd sequence.
 */
static uint64_t look(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void set(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

int places_init(struct places *p, uint64_t room)
{
	*p = (struct places){ .room = room };
	p->start = calloc(4 * room, sizeof(*p->start));
	if (!p->start)
		return -ENOMEM;
	p->end = p->start + room;
	p->keys = p->end + room;
	p->owner = p->keys + room;
	return 0;
}

void places_free(struct places *p)
{
	free(p->start);
}

struct place places_at(const struct places *p, uint64_t at)
{
	const uint64_t keys = look(&p->keys[at]);

	return (struct place){ look(&p->start[at]), look(&p->end[at]), (uint32_t)(keys >> 32),
			       (uint32_t)keys, (void *)(uintptr_t)look(&p->owner[at]) };
}

/* -- searching --------------------------------------------------------------------------------- */

/* Counts how many of @count sorted numbers are at most @value, without a branch on them. */
static uint64_t count_up_to(const uint64_t *numbers, uint64_t count, uint64_t value)
{
	const uint64_t *base = numbers;

	if (!count)
		return 0;
	while (count > 1) {
		const uint64_t half = count / 2;
		base = look(&base[half]) <= value ? base + half : base;
		count -= half;
	}
	return (uint64_t)(base - numbers) + (look(base) <= value);
}

uint64_t places_starting_at(const struct places *p, uint64_t addr)
{
	return addr ? count_up_to(p->start, p->count, addr - 1) : 0;
}

uint64_t places_ending_after(const struct places *p, uint64_t addr)
{
	return count_up_to(p->end, p->count, addr);
}

static bool find(const struct places *p, uint64_t addr, uint64_t length, struct place *place)
{
	const uint64_t up_to = count_up_to(p->start, look(&p->count), addr);

	if (!up_to)
		return false;
	*place = places_at(p, up_to - 1);
	return addr <= place->end && length <= place->end - addr;
}

bool places_find(const struct places *p, uint64_t addr, uint64_t length, struct place *place,
		 uint64_t *removals)
{
	for (unsigned spins = 0;; spins++) {
		const uint64_t sequence = look(&p->sequence);
		if (!(sequence & 1)) {
			const bool is_found = find(p, addr, length, place);
			*removals = look(&p->removals);
			if (look(&p->sequence) == sequence)
				return is_found;
		}
		if (spins >= SPINS)
			sched_yield(); /* the writer may need this CPU */
	}
}

/* -- changing ---------------------------------------------------------------------------------- */

static void copy(struct places *p, uint64_t to, uint64_t from)
{
	set(&p->start[to], look(&p->start[from]));
	set(&p->end[to], look(&p->end[from]));
	set(&p->keys[to], look(&p->keys[from]));
	set(&p->owner[to], look(&p->owner[from]));
}

static void move(struct places *p, uint64_t to, uint64_t from, uint64_t count)
{
	if (to < from)
		for (uint64_t i = 0; i < count; i++)
			copy(p, to + i, from + i);
	else if (to > from)
		for (uint64_t i = count; i--;)
			copy(p, to + i, from + i);
}

static void put(struct places *p, uint64_t at, const struct place *place)
{
	set(&p->start[at], place->start);
	set(&p->end[at], place->end);
	set(&p->keys[at], (uint64_t)place->lkey << 32 | place->rkey);
	set(&p->owner[at], (uintptr_t)place->owner);
}

void places_replace(struct places *p, uint64_t at, uint64_t gone, const struct place *with,
		    uint64_t count, bool is_removal)
{
	__atomic_store_n(&p->sequence, p->sequence + 1, __ATOMIC_RELAXED);
	move(p, at + count, at + gone, p->count - at - gone);
	for (uint64_t i = 0; i < count; i++)
		put(p, at + i, &with[i]);
	set(&p->count, p->count - gone + count);
	if (is_removal)
		set(&p->removals, p->removals + 1);
	set(&p->sequence, p->sequence + 1);
}
