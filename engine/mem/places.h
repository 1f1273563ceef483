/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table of places: ranges of addresses with the keys that reach them. Private to engine/.
 *
 * It is sorted by start, and no place lies within another, so it is sorted by end, too: of all
 * places that begin at or before an address, the last one reaches furthest. One thread at a time
 * changes it. Any number of threads search it without a lock, and repeat the search if it changed
 * (a sequence lock).
 */
#ifndef MEM_PLACES_H
#define MEM_PLACES_H

#include <stdbool.h>
#include <stdint.h>

struct place {
	uint64_t start, end;
	uint32_t lkey, rkey;
	void *owner;
};

struct places {
	uint64_t removals; /* how many changes removed something */
	uint64_t sequence; /* odd: it is being changed */
	uint64_t count, room;
	uint64_t *start, *end, *keys,
		*owner; /* an array each, so that a search touches few lines */
};

/* -ENOMEM */
int places_init(struct places *p, uint64_t room);
void places_free(struct places *p);

/* Finds the place that contains these bytes, and the count of removals at that time. Any thread. */
bool places_find(const struct places *p, uint64_t addr, uint64_t length, struct place *place,
		 uint64_t *removals);

/* -- for writers ------------------------------------------------------------------------------ */

struct place places_at(const struct places *p, uint64_t at);

/* The first place that begins at or after an address, and the first that ends after it. */
uint64_t places_starting_at(const struct places *p, uint64_t addr);
uint64_t places_ending_after(const struct places *p, uint64_t addr);

/*
 * Replaces @gone places by @count others. The caller knows that there is room, and that they are in
 * order.
 */
void places_replace(struct places *p, uint64_t at, uint64_t gone, const struct place *with,
		    uint64_t count, bool is_removal);

#endif
