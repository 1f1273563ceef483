/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash table from a queue's number to its route. One thread may add to it while another polls.
 *
 * An entry's route is stored before its key. A table that is too small is replaced: first the
 * pointer to the new one is stored, then its size. A poller that sees only one of the two looks at
 * a wrong entry, finds another key, and takes the cold branch, which reads the size from the table
 * itself. Old tables stay until the CQ is destroyed, since a poller may be reading one; together
 * they are smaller than the last. A number is removed on the poller's thread, or while nobody
 * polls; a number that had no CQE yet, at any time.
 */
#include "init.h"

#include <sched.h>
#include <stdlib.h>

/* Keys of entries without a number; keys of numbers have no low bits. */
#define KEY_FREE    1u
#define KEY_REMOVED 2u /* a search goes on past it */

#define FIRST_ENTRIES_LOG2 3

/* The head of a table; its entries follow, aligned to their size. */
struct table {
	struct table *older;
	uint64_t shift;
};

/* The table of a CQ without queues. */
#define NO_ENTRY                                                                                   \
	{                                                                                          \
		.key = KEY_FREE                                                                    \
	}
static struct {
	struct table table;
	struct bsn_cq_entry entries[1 << FIRST_ENTRIES_LOG2];
} none = { { NULL, 32 - FIRST_ENTRIES_LOG2 },
	   { NO_ENTRY, NO_ENTRY, NO_ENTRY, NO_ENTRY, NO_ENTRY, NO_ENTRY, NO_ENTRY, NO_ENTRY } };
#undef NO_ENTRY

static struct table *table_of(struct bsn_cq_entry *entries)
{
	return (struct table *)entries - 1;
}

static struct bsn_cq_entry *entries_of(struct table *table)
{
	return (struct bsn_cq_entry *)(table + 1);
}

/* A table as one look-up uses it, even if the CQ's table is replaced meanwhile. */
struct view {
	struct bsn_cq_entry *entries;
	uint32_t mask;
	uint8_t shift;
};

static struct view view_of(const struct bsn_cq *cq)
{
	struct bsn_cq_entry *entries = __atomic_load_n(&cq->entries, __ATOMIC_ACQUIRE);
	const uint8_t shift = (uint8_t)table_of(entries)->shift;

	return (struct view){ .entries = entries,
			      .mask = (1u << (32 - shift)) - 1,
			      .shift = shift };
}

static uint32_t key_at(const struct view *v, uint32_t at)
{
	return __atomic_load_n(&v->entries[at].key, __ATOMIC_ACQUIRE);
}

/* The entry of @key, or the free entry that ends the search. At least half of all are free. */
static uint32_t seek(const struct view *v, uint32_t key)
{
	uint32_t at = bsn_cq_hash(key, v->shift), found;

	while ((found = key_at(v, at)) != key && found != KEY_FREE)
		at = (at + 1) & v->mask;
	return at;
}

struct bsn_route *bsn_cq_find(const struct bsn_cq *cq, uint32_t qpn)
{
	const struct view v = view_of(cq);
	const uint32_t at = seek(&v, bsn_cq_key(qpn));

	/* Another thread may have put another number there since. */
	return key_at(&v, at) == bsn_cq_key(qpn)
		       ? __atomic_load_n(&v.entries[at].route, __ATOMIC_RELAXED)
		       : NULL;
}

/* The entry that a new number may take. */
static uint32_t seek_room(const struct view *v, uint32_t key)
{
	uint32_t at = bsn_cq_hash(key, v->shift);

	while (v->entries[at].key != KEY_FREE && v->entries[at].key != KEY_REMOVED)
		at = (at + 1) & v->mask;
	return at;
}

static void put(const struct view *v, uint32_t at, uint32_t key, struct bsn_route *route)
{
	__atomic_store_n(&v->entries[at].route, route, __ATOMIC_RELAXED);
	__atomic_store_n(&v->entries[at].key, key, __ATOMIC_RELEASE);
}

/* -- growing; the caller holds the lock -------------------------------------------------------- */

static void lock_table(struct bsn_cq *cq)
{
	while (__atomic_exchange_n(&dv_cq(cq)->is_changing, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock_table(struct bsn_cq *cq)
{
	__atomic_store_n(&dv_cq(cq)->is_changing, 0, __ATOMIC_RELEASE);
}

static struct table *new_table(unsigned log2, struct table *older)
{
	struct table *table = malloc(sizeof(*table) + (sizeof(struct bsn_cq_entry) << log2));

	if (!table)
		return NULL;
	*table = (struct table){ older, 32 - log2 };
	for (uint32_t i = 0; i < 1u << log2; i++)
		entries_of(table)[i] = (struct bsn_cq_entry){ .key = KEY_FREE };
	return table;
}

/* Returns the number of routes. */
static uint32_t copy_routes(const struct view *from, const struct view *to)
{
	uint32_t live = 0;

	for (uint32_t i = 0; i <= from->mask; i++) {
		const struct bsn_cq_entry entry = from->entries[i];

		if (entry.key == KEY_FREE || entry.key == KEY_REMOVED)
			continue;
		put(to, seek_room(to, entry.key), entry.key, entry.route);
		live++;
	}
	return live;
}

static int grow(struct bsn_cq *cq)
{
	const struct view old = view_of(cq);
	const unsigned log2 = old.entries == none.entries ? FIRST_ENTRIES_LOG2 : 33u - old.shift;
	struct table *table = new_table(log2, table_of(old.entries));
	struct view new;

	if (!table)
		return -ENOMEM;
	new = (struct view){ entries_of(table), (1u << log2) - 1, (uint8_t)(32 - log2) };
	dv_cq(cq)->entries_used = copy_routes(&old, &new);
	__atomic_store_n(&cq->entries, new.entries, __ATOMIC_RELEASE);
	__atomic_store_n(&cq->hash_shift, new.shift, __ATOMIC_RELEASE);
	return 0;
}

static int add(struct bsn_cq *cq, uint32_t key, struct bsn_route *route)
{
	struct view v = view_of(cq);
	uint32_t at;

	if (v.entries == none.entries || 2 * (dv_cq(cq)->entries_used + 1) > v.mask + 1) {
		const int err = grow(cq);
		if (err)
			return err;
		v = view_of(cq);
	}
	at = seek_room(&v, key);
	dv_cq(cq)->entries_used += v.entries[at].key == KEY_FREE;
	put(&v, at, key, route);
	return 0;
}

int bsn_cq_add_route(struct bsn_cq *cq, uint32_t qpn, struct bsn_route *route)
{
	int err;

	lock_table(cq);
	err = add(cq, bsn_cq_key(qpn), route);
	unlock_table(cq);
	return err;
}

/* -- taking away ------------------------------------------------------------------------------- */

/* Whether a key whose search begins at @home may move from @at to @hole. */
static bool may_move(const struct view *v, uint32_t home, uint32_t at, uint32_t hole)
{
	return ((at - home) & v->mask) >= ((at - hole) & v->mask);
}

/* Fills the hole with entries after it, so that every key is found before a free entry. */
static void close_gap(const struct view *v, uint32_t hole)
{
	for (uint32_t at = (hole + 1) & v->mask; v->entries[at].key != KEY_FREE;
	     at = (at + 1) & v->mask) {
		const struct bsn_cq_entry entry = v->entries[at];

		if (entry.key == KEY_REMOVED ||
		    !may_move(v, bsn_cq_hash(entry.key, v->shift), at, hole))
			continue;
		put(v, hole, entry.key, entry.route);
		hole = at;
	}
	put(v, hole, KEY_FREE, NULL);
}

struct bsn_route *bsn_cq_remove_route(struct bsn_cq *cq, uint32_t qpn)
{
	struct bsn_route *route;
	struct view v;
	uint32_t at;

	lock_table(cq);
	v = view_of(cq);
	at = seek(&v, bsn_cq_key(qpn));
	route = v.entries[at].key == KEY_FREE ? NULL : v.entries[at].route;
	if (route) {
		close_gap(&v, at);
		dv_cq(cq)->entries_used--;
	}
	unlock_table(cq);
	return route;
}

void bsn_cq_abandon(struct bsn_cq *cq, uint32_t qpn)
{
	struct view v;
	uint32_t at;

	lock_table(cq);
	v = view_of(cq);
	at = seek(&v, bsn_cq_key(qpn));
	if (v.entries[at].key != KEY_FREE)
		__atomic_store_n(&v.entries[at].key, KEY_REMOVED, __ATOMIC_RELEASE);
	unlock_table(cq);
}

/* -- beginning and end ------------------------------------------------------------------------- */

void bsn_cq_init_entries(struct bsn_cq *cq)
{
	cq->entries = none.entries;
	cq->hash_shift = 32 - FIRST_ENTRIES_LOG2;
	dv_cq(cq)->entries_used = 0;
}

void bsn_cq_fini(struct bsn_cq *cq)
{
	struct table *table = table_of(cq->entries), *older;

	for (; table != &none.table; table = older) {
		older = table->older;
		free(table);
	}
	bsn_cq_init_entries(cq);
}

/* -- a route's first failure ------------------------------------------------------------------- */

void bsn_route_keep_error(struct bsn_route *route, const struct bsn_completion *c)
{
	struct dv_route *const whole = dv_route(route);

	if (whole->first_error && !__atomic_exchange_n(&whole->has_error, 1, __ATOMIC_ACQ_REL))
		*whole->first_error = *c;
}
