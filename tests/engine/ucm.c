/* SPDX-License-Identifier: BSD-2-Clause */
/* A cache that follows ordinary memory by the hooks of libucm: it sees each way to lose memory. */
#define _GNU_SOURCE 1
#include "harness.h"

#include <sys/mman.h>
#include <unistd.h>

#include "bsn_ucm.h"
#include "races.h"

enum { PAGE = 4096, PAGES = 64 };

static uint8_t *map_pages(void *at, unsigned pages)
{
	uint8_t *map = mmap(at, (size_t)pages * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	return map;
}

static struct bsn_mr_view open_view(struct bench *b)
{
	const struct bsn_mr_cache_attr attr = { .watch = bsn_ucm_watch() };
	struct bsn_mr_cache *cache;
	struct bsn_mr_view view;

	ok(bsn_mr_cache_create(b->device, &attr, &cache));
	ok(bsn_mr_view_init(&view, cache));
	return view;
}

/* One of a cache that the bench destroys. */
static struct bsn_mr_view make_view(struct bench *b)
{
	struct bsn_mr_view view = open_view(b);

	undo_later(b, bsn_mr_cache_destroy, view.cache);
	return view;
}

/* Maps pages that cannot grow, since the page after them is not mapped. */
static uint8_t *map_between(void)
{
	uint8_t *map = map_pages(NULL, PAGES + 1);

	mprotect(map + PAGES * PAGE, PAGE, PROT_NONE);
	return map;
}

/* -- each way to lose memory ------------------------------------------------------------------- */

static void unmap(uint8_t *map)
{
	munmap(map, PAGES * PAGE);
}

static void map_over(uint8_t *map)
{
	munmap(map_pages(map, PAGES), PAGES * PAGE);
}

static void give_back(uint8_t *map)
{
	madvise(map, PAGES * PAGE, MADV_DONTNEED);
	munmap(map, PAGES * PAGE);
}

static void move_away(uint8_t *map)
{
	void *to = mremap(map, PAGES * PAGE, 2 * PAGES * PAGE, MREMAP_MAYMOVE);

	assert_ptr_not_equal(to, MAP_FAILED);
	assert_ptr_not_equal(to, map);
	munmap(to, 2 * PAGES * PAGE);
}

static void each_way_to_lose_memory_is_seen(struct bench *b)
{
	static void (*const ways[])(uint8_t *map) = { unmap, map_over, give_back, move_away };
	struct bsn_mr_view view = make_view(b);

	for (size_t i = 0; i < COUNT(ways); i++) {
		uint8_t *map = map_between();
		ok(bsn_mr_view_get(&view, map, PAGES * PAGE));
		assert_true(bsn_mr_view_find(&view, map, PAGE));
		ways[i](map);
		assert_false(bsn_mr_view_find(&view, map, PAGE));
		assert_false(bsn_mr_view_find(&view, map + (PAGES - 1) * PAGE, PAGE));
		munmap(map + PAGES * PAGE, PAGE);
	}
}

/* Blocks so long that the allocator maps them; and blocks at the heap's end, which shrinks. */
static void what_is_freed_is_seen(struct bench *b)
{
	static const size_t lengths[] = { 64 << 20, 100 << 10 };
	struct bsn_mr_view view = make_view(b);

	for (size_t i = 0; i < COUNT(lengths); i++) {
		uint8_t *memory = malloc(lengths[i]), *end = sbrk(0);
		assert_non_null(memory);
		ok(bsn_mr_view_get(&view, memory, lengths[i]));
		free(memory);
		if (i == 0 || (uint8_t *)sbrk(0) < end)
			assert_false(bsn_mr_view_find(&view, memory, (uint32_t)lengths[i]));
	}
}

static void a_part_that_goes_leaves_the_rest(struct bench *b)
{
	struct bsn_mr_view view = make_view(b);
	uint8_t *map = map_pages(NULL, PAGES);

	ok(bsn_mr_view_get(&view, map, PAGES * PAGE));
	munmap(map + 8 * PAGE, PAGE);
	assert_true(bsn_mr_view_find(&view, map, 8 * PAGE));
	assert_false(bsn_mr_view_find(&view, map, 8 * PAGE + 1));
	assert_true(bsn_mr_view_find(&view, map + 9 * PAGE, PAGE));
	munmap(map, PAGES * PAGE);
}

/* Every cache is told of changes; a destroyed one is not. */
static void caches_come_and_go(struct bench *b)
{
	struct bsn_mr_view views[2];
	uint8_t *map = map_pages(NULL, PAGES), *other = map_pages(NULL, PAGES);

	for (int i = 0; i < 2; i++) {
		views[i] = open_view(b);
		ok(bsn_mr_view_get(&views[i], map, PAGE));
		ok(bsn_mr_view_get(&views[i], other, PAGE));
	}
	munmap(map, PAGES * PAGE);
	for (int i = 0; i < 2; i++)
		assert_false(bsn_mr_view_find(&views[i], map, PAGE));
	ok(bsn_mr_cache_destroy(views[0].cache));
	munmap(other, PAGES * PAGE);
	assert_false(bsn_mr_view_find(&views[1], other, PAGE));
	ok(bsn_mr_cache_destroy(views[1].cache));
	munmap(map_pages(NULL, PAGES), PAGES * PAGE);
}

/* -- what hardware would lose ------------------------------------------------------------------ */

static void race_unmap(void *arg, struct bsn_mr_cache *cache, uint8_t *at, size_t length)
{
	(void)arg;
	(void)cache;
	munmap(at, length);
}

static void nobody_says_what_is_unmapped(struct bench *b)
{
	struct bsn_mr_view view = make_view(b);

	race(b, view.cache, &(struct race_memory){ NULL, race_map_pages, race_unmap }, RACE_ROUNDS);
}

static const struct bench_case cases[] = {
	{ CASE(each_way_to_lose_memory_is_seen), BARE },  { CASE(what_is_freed_is_seen), BARE },
	{ CASE(a_part_that_goes_leaves_the_rest), BARE }, { CASE(caches_come_and_go), BARE },
	{ CASE(nobody_says_what_is_unmapped), OWN },
};

BENCH_MAIN("ucm")
