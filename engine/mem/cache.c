/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cache of registrations. Readers find regions in a table of places (places.h) without a lock;
 * a writer holds the lock.
 *
 * Code under the lock neither allocates nor calls libibverbs: both may call munmap(), whose hook
 * would take the lock in the same thread.
 */
#include "../engine.h"
#include "bsn_mr_cache.h"
#include "pages.h"
#include "places.h"

#include <stdlib.h>

enum { TRIES = 16, DEFAULT_REGIONS = 1 << 16 };

/* A registration: in the table, pending, or resting until it is deregistered. */
struct region {
	struct bsn_mr *mr;
	uint64_t start, end;
	uint64_t parts; /* its places: found, eclipsed, or without room in either list */
	bool is_void;   /* pending, and some of its memory was unmapped */
	bool is_stuck;
	struct region *next;
};

struct region_list {
	struct region *first, **last;
	uint64_t count;
};

struct bsn_mr_cache {
	struct bsn_device *device;
	struct bsn_mr_cache_attr attr;
	pthread_mutex_t lock;
	struct places found;    /* searched by readers */
	struct place *eclipsed; /* within a larger one that is found; they go with their memory */
	uint64_t eclipsed_count;
	struct region_list stuck; /* regions with parts for which the table had no room */
	struct region *pending;   /* being registered */
	struct region_list resting;
	uint64_t regions; /* with parts */
	uint64_t registered_bytes, registrations, deregistrations;
};

/* -- lists ------------------------------------------------------------------------------------- */

static void append(struct region_list *list, struct region *region)
{
	region->next = NULL;
	*list->last = region;
	list->last = &region->next;
	list->count++;
}

static struct region *take_first(struct region_list *list)
{
	struct region *region = list->first;

	list->first = region->next;
	if (!list->first)
		list->last = &list->first;
	list->count--;
	return region;
}

/* The caller holds the lock. */
static void unlink_pending(struct bsn_mr_cache *cache, const struct region *region)
{
	struct region **at = &cache->pending;

	while (*at != region)
		at = &(*at)->next;
	*at = region->next;
}

/* -- regions ----------------------------------------------------------------------------------- */

/* One place of the region becomes @parts places. */
static void divide(struct bsn_mr_cache *cache, struct region *region, uint64_t parts)
{
	region->parts += parts - 1;
	if (region->parts)
		return;
	cache->regions--;
	append(&cache->resting, region);
}

/* Notes a region of which the table has no room for all parts: it stays until all are flushed. */
static void stick(struct bsn_mr_cache *cache, struct region *region)
{
	if (region->is_stuck)
		return;
	region->is_stuck = true;
	append(&cache->stuck, region);
}

static void eclipse(struct bsn_mr_cache *cache, struct place place)
{
	if (cache->eclipsed_count == cache->found.room)
		stick(cache, place.owner);
	else
		cache->eclipsed[cache->eclipsed_count++] = place;
}

static int register_region(struct bsn_mr_cache *cache, struct region *region)
{
	const struct bsn_mr_attr attr = { .pd = cache->attr.pd,
					  .access = cache->attr.access,
					  .is_read_only = cache->attr.is_read_only };

	return bsn_mr_register(cache->device, (void *)(uintptr_t)region->start,
			       region->end - region->start, &attr, &region->mr);
}

/* Deregisters all resting regions beyond @keep. A region that cannot be deregistered stays. */
static int reap(struct bsn_mr_cache *cache, uint64_t keep)
{
	int err = 0;

	for (;;) {
		struct region *region = NULL;
		pthread_mutex_lock(&cache->lock);
		if (cache->resting.count > keep)
			region = take_first(&cache->resting);
		pthread_mutex_unlock(&cache->lock);
		if (!region)
			return 0;
		err = bsn_mr_deregister(region->mr);
		pthread_mutex_lock(&cache->lock);
		if (err)
			append(&cache->resting, region);
		else {
			cache->registered_bytes -= region->end - region->start;
			cache->deregistrations++;
		}
		pthread_mutex_unlock(&cache->lock);
		if (err)
			return err;
		free(region);
	}
}

int bsn_mr_cache_reap(struct bsn_mr_cache *cache)
{
	return cache ? reap(cache, cache->attr.quarantine) : fail(EINVAL, "no cache");
}

/* -- insertion --------------------------------------------------------------------------------- */

/* Widens the pages to the extent that the watch knows, if it knows one. */
static struct place extent_of(const struct bsn_mr_cache *cache, const struct place *touched)
{
	const struct bsn_mr_watch *watch = cache->attr.watch;
	struct place around = *touched;

	if (watch && watch->extent)
		watch->extent(watch->arg, &around.start, &around.end);
	return around;
}

/*
 * Cuts memory that has a region off the range around the bytes. A region stays until all its memory
 * is unmapped, so registering neighbours once more would pile up regions of the same memory.
 */
static void leave_out_found(const struct places *found, const struct place *touched,
			    struct place *around)
{
	const uint64_t starts = places_starting_at(found, touched->start);
	const uint64_t ends = places_ending_after(found, touched->end);

	if (starts) {
		const uint64_t end = places_at(found, starts - 1).end;
		if (around->start < end)
			around->start = end < touched->start ? end : touched->start;
	}
	if (ends < found->count) {
		const uint64_t start = places_at(found, ends).start;
		if (around->end > start)
			around->end = start > touched->end ? start : touched->end;
	}
}

/* Inserts a region. Regions within it are no longer found, but stay for posted requests. */
static void insert(struct bsn_mr_cache *cache, struct region *region)
{
	struct places *found = &cache->found;
	const struct place place = { region->start, region->end, region->mr->lkey, region->mr->rkey,
				     region };
	const uint64_t first = places_starting_at(found, place.start);
	const uint64_t after = places_ending_after(found, place.end);

	for (uint64_t i = first; i < after; i++)
		eclipse(cache, places_at(found, i));
	places_replace(found, first, after > first ? after - first : 0, &place, 1, false);
	region->parts = 1;
	cache->regions++;
}

/* Whether another thread has registered the whole range. */
static bool is_known(const struct bsn_mr_cache *cache, const struct region *region)
{
	struct place place;
	uint64_t removals;

	return places_find(&cache->found, region->start, region->end - region->start, &place,
			   &removals);
}

/*
 * Ends a registration that succeeded or was refused. True: some of its memory was unmapped while it
 * was pending.
 */
static bool settle(struct bsn_mr_cache *cache, struct region *region, int err)
{
	bool is_void;

	pthread_mutex_lock(&cache->lock);
	unlink_pending(cache, region);
	is_void = region->is_void;
	if (!err) {
		cache->registrations++;
		cache->registered_bytes += region->end - region->start;
		if (is_void || is_known(cache, region))
			append(&cache->resting, region);
		else
			insert(cache, region);
	}
	pthread_mutex_unlock(&cache->lock);
	return is_void;
}

static int make_pending(struct bsn_mr_cache *cache, struct region *region)
{
	bool is_full;

	pthread_mutex_lock(&cache->lock);
	is_full = cache->found.count >= cache->attr.max_regions ||
		  cache->regions >= cache->attr.max_regions;
	if (!is_full) {
		region->next = cache->pending;
		cache->pending = region;
	}
	pthread_mutex_unlock(&cache->lock);
	return is_full ? fail(ENOSPC,
			      "the cache is full (%u regions): flush it, or raise max_regions",
			      cache->attr.max_regions)
		       : 0;
}

/*
 * Tries once to register the bytes; 0: the caller searches again. Until its extent is known, a
 * pending region counts as the whole address space, so that no unmapping is missed.
 */
static int add(struct bsn_mr_cache *cache, uint64_t addr, uint64_t length)
{
	struct region *region = calloc(1, sizeof(*region));
	const struct place touched = { .start = addr / page_size() * page_size(),
				       .end = whole_pages(addr + length, page_size()) };
	struct place around;
	bool is_final;
	int err;

	if (!region)
		return fail(ENOMEM, "no memory");
	region->end = UINT64_MAX;
	err = make_pending(cache, region);
	if (err) {
		free(region);
		return err;
	}
	around = extent_of(cache, &touched);
	pthread_mutex_lock(&cache->lock);
	leave_out_found(&cache->found, &touched, &around);
	region->start = around.start;
	region->end = around.end;
	pthread_mutex_unlock(&cache->lock);
	err = register_region(cache, region);
	is_final = !settle(cache, region, err);
	if (err)
		free(region);
	return is_final ? err : 0;
}

/* -- finding ----------------------------------------------------------------------------------- */

static bool find(struct bsn_mr_view *view, uint64_t addr, uint64_t length)
{
	struct place place;

	if (!view->cache || !places_find(&view->cache->found, addr, length, &place, &view->seen)) {
		view->end = 0;
		return false;
	}
	view->end = place.end;
	view->last = (struct bsn_mr){ (void *)(uintptr_t)place.start, place.start,
				      place.end - place.start, place.lkey, place.rkey };
	return true;
}

static int find_or_register(struct bsn_mr_view *view, uint64_t addr, uint64_t length)
{
	struct bsn_mr_cache *cache = view->cache;
	bool has_reaped = false;
	int err;

	if (!cache || !length || addr + length < length)
		return fail(EINVAL, "no view, no bytes, or bytes beyond the last address");
	for (int tries = 0; tries < TRIES; tries++) {
		if (find(view, addr, length))
			return 0;
		err = reap(cache, cache->attr.quarantine);
		if (!err)
			err = add(cache, addr, length);
		if (err == -ENOMEM && !has_reaped) {
			has_reaped = true; /* resting regions are locked memory, too */
			err = reap(cache, 0);
		}
		if (err)
			return err;
	}
	return fail(EAGAIN,
		    "the memory was unmapped while it was registered, %d times: does another "
		    "thread free it?",
		    TRIES);
}

int bsn_mr_view_search(struct bsn_mr_view *view, uint64_t addr, uint64_t length, bool registers)
{
	if (registers)
		return find_or_register(view, addr, length);
	return find(view, addr, length) ? 0 : -ENOENT;
}

int bsn_mr_view_init(struct bsn_mr_view *view, struct bsn_mr_cache *cache)
{
	if (!view || !cache)
		return fail(EINVAL, "no view, or no cache");
	*view = (struct bsn_mr_view){ .removals = &cache->found.removals,
				      .cache = cache,
				      .seen = UINT64_MAX };
	return 0;
}

/* -- removal ----------------------------------------------------------------------------------- */

/*
 * Cuts the hole out of a place, which leaves at most two parts. The left part of the first place
 * and the right part of the last may stay in the table; all other parts lie within these.
 */
static uint64_t cut_place(struct bsn_mr_cache *cache, uint64_t i, const struct place *hole,
			  bool is_first, bool is_last, struct place *kept)
{
	const struct places *found = &cache->found;
	struct place left = places_at(found, i), right = left;
	uint64_t n = 0, parts = 0;

	left.end = hole->start;
	right.start = hole->end;
	if (left.start < left.end) {
		parts++;
		if (is_first && !(i && places_at(found, i - 1).end >= left.end))
			kept[n++] = left;
		else
			eclipse(cache, left);
	}
	if (right.start < right.end) {
		parts++;
		if (is_last &&
		    !(i + 1 < found->count && places_at(found, i + 1).start <= right.start))
			kept[n++] = right;
		else
			eclipse(cache, right);
	}
	divide(cache, right.owner, parts);
	return n;
}

static void cut_found(struct bsn_mr_cache *cache, const struct place *hole)
{
	struct places *found = &cache->found;
	const uint64_t first = places_ending_after(found, hole->start);
	const uint64_t after = places_starting_at(found, hole->end);
	struct place kept[2];
	uint64_t n = 0;

	if (first >= after)
		return;
	for (uint64_t i = first; i < after; i++)
		n += cut_place(cache, i, hole, i == first, i + 1 == after, kept + n);
	if (n > after - first && found->count == found->room)
		stick(cache, kept[--n].owner);
	places_replace(found, first, after - first, kept, n, true);
}

static void cut_eclipsed(struct bsn_mr_cache *cache, const struct place *hole)
{
	for (uint64_t i = cache->eclipsed_count; i--;) {
		const struct place whole = cache->eclipsed[i];
		struct place left = whole, right = whole;
		if (whole.start >= hole->end || hole->start >= whole.end)
			continue;
		left.end = hole->start;
		right.start = hole->end;
		cache->eclipsed[i] = cache->eclipsed[--cache->eclipsed_count];
		if (left.start < left.end)
			eclipse(cache, left);
		if (right.start < right.end)
			eclipse(cache, right);
		divide(cache, whole.owner, (left.start < left.end) + (right.start < right.end));
	}
}

static void cut(struct bsn_mr_cache *cache, const struct place *hole)
{
	for (struct region *region = cache->pending; region; region = region->next)
		region->is_void |= region->start < hole->end && hole->start < region->end;
	cut_eclipsed(cache, hole);
	cut_found(cache, hole);
}

void bsn_mr_cache_invalidate(struct bsn_mr_cache *cache, const void *addr, uint64_t length)
{
	const struct place hole = { .start = (uintptr_t)addr, .end = (uintptr_t)addr + length };

	if (!cache || hole.start >= hole.end)
		return;
	pthread_mutex_lock(&cache->lock);
	cut(cache, &hole);
	pthread_mutex_unlock(&cache->lock);
}

int bsn_mr_cache_flush(struct bsn_mr_cache *cache)
{
	if (!cache)
		return fail(EINVAL, "no cache");
	pthread_mutex_lock(&cache->lock);
	cut(cache, &(struct place){ .end = UINT64_MAX });
	while (cache->stuck.count) {
		cache->regions--;
		append(&cache->resting, take_first(&cache->stuck));
	}
	pthread_mutex_unlock(&cache->lock);
	return reap(cache, 0);
}

/* -- the cache --------------------------------------------------------------------------------- */

static void unmake(struct bsn_mr_cache *cache)
{
	places_free(&cache->found);
	free(cache->eclipsed);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* Makes a cache. Half of the table's room is for parts. */
static struct bsn_mr_cache *make(struct bsn_device *device, const struct bsn_mr_cache_attr *attr)
{
	struct bsn_mr_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	pthread_mutex_init(&cache->lock, NULL);
	cache->device = device;
	if (attr)
		cache->attr = *attr;
	if (!cache->attr.max_regions)
		cache->attr.max_regions = DEFAULT_REGIONS;
	cache->resting.last = &cache->resting.first;
	cache->stuck.last = &cache->stuck.first;
	const uint64_t room = 2ull * cache->attr.max_regions;
	if (places_init(&cache->found, room))
		goto unmake;
	cache->eclipsed = calloc(room, sizeof(*cache->eclipsed));
	if (!cache->eclipsed)
		goto unmake;
	return cache;
unmake:
	unmake(cache);
	return NULL;
}

int bsn_mr_cache_create(struct bsn_device *device, const struct bsn_mr_cache_attr *attr,
			struct bsn_mr_cache **out)
{
	const struct bsn_mr_watch *watch = attr ? attr->watch : NULL;
	struct bsn_mr_cache *cache;
	int err = 0;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the result");
	if (!pd_of(device, attr ? attr->pd : NULL))
		return -EINVAL;
	cache = make(device, attr);
	if (!cache)
		return fail(ENOMEM, "no memory");
	if (watch && watch->attach)
		err = watch->attach(watch->arg, cache);
	if (err) {
		unmake(cache);
		return err;
	}
	use(&device->uses[OF_MEMORY]);
	*out = cache;
	return 0;
}

int bsn_mr_cache_destroy(struct bsn_mr_cache *cache)
{
	const struct bsn_mr_watch *watch;
	int err;

	if (!cache)
		return 0;
	err = bsn_mr_cache_flush(cache);
	if (err)
		return err;
	watch = cache->attr.watch;
	if (watch && watch->detach)
		watch->detach(watch->arg, cache);
	unuse(&cache->device->uses[OF_MEMORY]);
	unmake(cache);
	return 0;
}

int bsn_mr_cache_stats(struct bsn_mr_cache *cache, struct bsn_mr_cache_stats *stats)
{
	if (!cache || !stats)
		return fail(EINVAL, "no cache, or no place for the result");
	pthread_mutex_lock(&cache->lock);
	*stats = (struct bsn_mr_cache_stats){ cache->regions,       cache->found.count,
					      cache->resting.count, cache->registered_bytes,
					      cache->registrations, cache->deregistrations };
	pthread_mutex_unlock(&cache->lock);
	return 0;
}
