/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cache of registrations: what it finds is registered and mapped, and nothing is deregistered
 * too early.
 */
#include "harness.h"

#include <pthread.h>
#include <sys/mman.h>

#include "bsn_mr_cache.h"
#include "races.h"

enum { PAGE = 4096, PAGES = 64 };

static struct bsn_mr_cache *open_cache(struct bench *b, const struct bsn_mr_cache_attr *attr,
				       struct bsn_mr_view *view)
{
	struct bsn_mr_cache *cache;

	ok(bsn_mr_cache_create(b->device, attr, &cache));
	ok(bsn_mr_view_init(view, cache));
	return cache;
}

/* A view of a cache that the bench destroys. */
static struct bsn_mr_view make_view(struct bench *b, const struct bsn_mr_cache_attr *attr)
{
	struct bsn_mr_view view;

	undo_later(b, bsn_mr_cache_destroy, open_cache(b, attr, &view));
	return view;
}

static struct bsn_mr_cache_stats stats_of(struct bsn_mr_cache *cache)
{
	struct bsn_mr_cache_stats stats;

	ok(bsn_mr_cache_stats(cache, &stats));
	return stats;
}

/* -- finding ----------------------------------------------------------------------------------- */

static void a_region_is_registered_once(struct bench *b)
{
	struct bsn_mr_view view = make_view(b, NULL), other;
	uint8_t *map = bench_pages(b, 4);

	assert_false(bsn_mr_view_find(&view, map, 1));
	ok(bsn_mr_view_get(&view, map + 100, PAGE));
	uint32_t lkey = view.last.lkey;
	assert_int_equal(view.last.addr, (uintptr_t)map);
	assert_int_equal(view.last.length, 2 * PAGE);
	assert_true(bsn_mr_view_find(&view, map, 2 * PAGE));
	assert_false(bsn_mr_view_find(&view, map, 2 * PAGE + 1));
	assert_false(bsn_mr_view_find(&view, map - 1, 2));
	assert_false(bsn_mr_view_find(&view, map + 2 * PAGE, 1));
	assert_false(bsn_mr_view_find(&view, map + 10, UINT32_MAX));
	ok(bsn_mr_view_init(&other, view.cache));
	ok(bsn_mr_view_get(&other, map + PAGE, 8));
	assert_int_equal(other.last.lkey, lkey);
	assert_int_equal(stats_of(view.cache).registrations, 1);
	assert_int_equal(stats_of(view.cache).registered_bytes, 2 * PAGE);
}

/* A view knows its last region without a search, even after its cache is gone. */
static void the_last_region_is_known_by_heart(struct bench *b)
{
	struct bsn_mr_view view = make_view(b, NULL);
	struct bsn_mr_cache *cache = view.cache;
	uint8_t *map = bench_pages(b, 2);

	ok(bsn_mr_view_get(&view, map, PAGE));
	view.cache = NULL;
	assert_true(bsn_mr_view_find(&view, map, PAGE));
	assert_true(bsn_mr_view_find(&view, map + PAGE - 1, 1));
	bsn_mr_cache_invalidate(cache, map, 1);
	assert_false(bsn_mr_view_find(&view, map, PAGE));
}

static void what_is_found_can_be_sent(struct bench *b)
{
	struct bsn_mr_view view = make_view(b, NULL);
	uint8_t *map = bench_pages(b, 2);

	memset(map + 77, 0xab, 100);
	ok(bsn_mr_view_get(&view, map + 77, 100));
	ok(bsn_write(b->ep[0], &(struct bsn_sge){ (uintptr_t)map + 77, 100, view.last.lkey },
		     REMOTE(b, 1, 0), 5, NOW));
	expect_done(b, b->cq[0], 5, BSN_OPCODE_RDMA_WRITE);
	assert_memory_equal(bench_at(b, 1, 0), map + 77, 100);
}

/* -- going ------------------------------------------------------------------------------------- */

static void a_part_that_goes_leaves_the_rest(struct bench *b)
{
	struct bsn_mr_view view = make_view(b, NULL);
	uint8_t *map = bench_pages(b, 8);

	ok(bsn_mr_view_get(&view, map, 8 * PAGE));
	uint32_t lkey = view.last.lkey;
	bsn_mr_cache_invalidate(view.cache, map + 2 * PAGE, PAGE);
	assert_false(bsn_mr_view_find(&view, map + 2 * PAGE, 1));
	assert_false(bsn_mr_view_find(&view, map, 8 * PAGE));
	assert_true(bsn_mr_view_find(&view, map, 2 * PAGE));
	assert_int_equal(view.last.lkey, lkey);
	assert_true(bsn_mr_view_find(&view, map + 3 * PAGE, 5 * PAGE));
	assert_int_equal(view.last.lkey, lkey);
	assert_int_equal(stats_of(view.cache).parts, 2);
	bsn_mr_cache_invalidate(view.cache, map, 2 * PAGE);
	ok(bsn_mr_cache_reap(view.cache));
	assert_int_equal(stats_of(view.cache).deregistrations, 0);
	bsn_mr_cache_invalidate(view.cache, map, 9 * PAGE);
	assert_int_equal(stats_of(view.cache).resting, 1);
	ok(bsn_mr_cache_reap(view.cache));
	assert_int_equal(stats_of(view.cache).deregistrations, 1);
	assert_int_equal(stats_of(view.cache).registered_bytes, 0);
}

static void what_went_rests_in_quarantine(struct bench *b)
{
	struct bsn_mr_view view = make_view(b, &(struct bsn_mr_cache_attr){ .quarantine = 2 });
	uint8_t *map = bench_pages(b, 4);

	for (unsigned i = 0; i < 4; i++) {
		ok(bsn_mr_view_get(&view, map + i * PAGE, 1));
		bsn_mr_cache_invalidate(view.cache, map + i * PAGE, PAGE);
		ok(bsn_mr_cache_reap(view.cache));
		assert_int_equal(stats_of(view.cache).deregistrations, i < 2 ? 0 : i - 1);
	}
	ok(bsn_mr_cache_flush(view.cache));
	assert_int_equal(stats_of(view.cache).deregistrations, 4);
}

static void a_full_cache_says_so(struct bench *b)
{
	struct bsn_mr_view view = make_view(b, &(struct bsn_mr_cache_attr){ .max_regions = 2 });
	uint8_t *map = bench_pages(b, 32);

	ok(bsn_mr_view_get(&view, map, 16 * PAGE));
	for (unsigned i = 1; i < 15; i += 2) /* more parts than there is room for */
		bsn_mr_cache_invalidate(view.cache, map + i * PAGE, PAGE);
	assert_true(bsn_mr_view_find(&view, map, PAGE));
	assert_false(bsn_mr_view_find(&view, map + PAGE, PAGE));
	fails(ENOSPC, "max_regions", bsn_mr_view_get(&view, map + 20 * PAGE, 1));
	bsn_mr_cache_invalidate(view.cache, map, 16 * PAGE);
	ok(bsn_mr_cache_reap(view.cache)); /* what has no room in the list stays registered */
	assert_int_equal(stats_of(view.cache).deregistrations, 0);
	ok(bsn_mr_cache_flush(view.cache));
	assert_int_equal(stats_of(view.cache).deregistrations, 1);
	assert_int_equal(stats_of(view.cache).regions, 0);
	ok(bsn_mr_view_get(&view, map + 20 * PAGE, 1));
}

/* -- while it is registered -------------------------------------------------------------------- */

struct meddler {
	struct bsn_mr_watch watch;
	struct bsn_mr_cache *cache;
	unsigned times, calls;
};

static int meddler_attach(void *arg, struct bsn_mr_cache *cache)
{
	((struct meddler *)arg)->cache = cache;
	return 0;
}

static void meddler_detach(void *arg, struct bsn_mr_cache *cache)
{
	assert_ptr_equal(((struct meddler *)arg)->cache, cache);
	((struct meddler *)arg)->cache = NULL;
}

/* A page more on each side; and memory that goes after its extent was looked up. */
static bool meddler_extent(void *arg, uint64_t *start, uint64_t *end)
{
	struct meddler *m = arg;

	if (m->calls++ < m->times)
		bsn_mr_cache_invalidate(m->cache, (void *)(uintptr_t)(*start - PAGE), 1);
	*start -= PAGE;
	*end += PAGE;
	return true;
}

static void memory_that_goes_meanwhile_is_registered_anew(struct bench *b)
{
	struct meddler m = { .watch = { &m, meddler_attach, meddler_detach, meddler_extent },
			     .times = 3 };
	const struct bsn_mr_cache_attr attr = { .watch = &m.watch };
	struct bsn_mr_view view;
	struct bsn_mr_cache *cache = open_cache(b, &attr, &view);
	uint8_t *map = bench_pages(b, 8);

	ok(bsn_mr_view_get(&view, map + PAGE, PAGE));
	assert_int_equal(m.calls, 4);
	assert_int_equal(view.last.addr, (uintptr_t)map);
	assert_int_equal(view.last.length, 3 * PAGE);
	ok(bsn_mr_cache_reap(cache));
	assert_int_equal(stats_of(cache).deregistrations, 3);
	m.times = 1000;
	assert_int_equal(bsn_mr_view_get(&view, map + 5 * PAGE, PAGE), -EAGAIN);
	ok(bsn_mr_cache_destroy(cache));
	assert_null(m.cache);
}

/* Memory like a heap: the first pages stay while others come and go. */
struct heap {
	struct bsn_mr_watch watch;
	uint8_t *pages;
	unsigned count; /* there now */
};

static bool heap_extent(void *arg, uint64_t *start, uint64_t *end)
{
	const struct heap *heap = arg;

	*start = (uintptr_t)heap->pages;
	*end = *start + heap->count * PAGE;
	return true;
}

static void what_stays_is_registered_once(struct bench *b)
{
	struct heap heap = { .watch = { .arg = &heap, .extent = heap_extent },
			     .pages = bench_pages(b, 8) };
	const struct bsn_mr_cache_attr attr = { .watch = &heap.watch };
	struct bsn_mr_view view;
	struct bsn_mr_cache *cache = open_cache(b, &attr, &view);

	for (unsigned i = 0; i < 20; i++) {
		heap.count = 2;
		ok(bsn_mr_view_get(&view, heap.pages, PAGE));
		heap.count = 8;
		ok(bsn_mr_view_get(&view, heap.pages + 6 * PAGE, PAGE));
		assert_int_equal(view.last.addr, (uintptr_t)heap.pages + 2 * PAGE);
		assert_int_equal(view.last.length, 6 * PAGE);
		assert_int_equal(stats_of(cache).regions, 2);
		bsn_mr_cache_invalidate(cache, heap.pages + 2 * PAGE, 6 * PAGE);
		assert_true(bsn_mr_view_find(&view, heap.pages, 2 * PAGE));
	}
	assert_int_equal(stats_of(cache).registrations, 21);
	ok(bsn_mr_cache_destroy(cache));
}

/* Memory between two regions; then memory over a part of each, for which one key is needed. */
static void what_lies_between_regions_fits(struct bench *b)
{
	struct heap heap = { .watch = { .arg = &heap, .extent = heap_extent },
			     .pages = bench_pages(b, 8),
			     .count = 8 };
	const struct bsn_mr_cache_attr attr = { .watch = &heap.watch };
	struct bsn_mr_view view;
	struct bsn_mr_cache *cache = open_cache(b, &attr, &view);

	ok(bsn_mr_view_get(&view, heap.pages, PAGE));
	bsn_mr_cache_invalidate(cache, heap.pages + 2 * PAGE, 4 * PAGE);
	ok(bsn_mr_view_get(&view, heap.pages + 3 * PAGE, PAGE));
	assert_int_equal(view.last.addr, (uintptr_t)heap.pages + 2 * PAGE);
	assert_int_equal(view.last.length, 4 * PAGE);
	ok(bsn_mr_view_get(&view, heap.pages + PAGE, 2 * PAGE));
	assert_int_equal(view.last.addr, (uintptr_t)heap.pages + PAGE);
	assert_int_equal(view.last.length, 2 * PAGE);
	ok(bsn_mr_view_get(&view, heap.pages + 5 * PAGE, 2 * PAGE));
	assert_int_equal(view.last.addr, (uintptr_t)heap.pages + 5 * PAGE);
	assert_int_equal(view.last.length, 2 * PAGE);
	assert_int_equal(stats_of(cache).regions, 4);
	ok(bsn_mr_cache_destroy(cache));
}

/* A region inside a larger one is found no more. It still serves what was posted, and counts. */
static void what_is_found_no_more_counts(struct bench *b)
{
	struct bsn_mr_view view = make_view(b, &(struct bsn_mr_cache_attr){ .max_regions = 3 });
	uint8_t *map = bench_pages(b, 4);

	ok(bsn_mr_view_get(&view, map, 2 * PAGE));
	for (unsigned i = 0; i < 2; i++) {
		ok(bsn_mr_view_get(&view, map + PAGE, 2 * PAGE));
		bsn_mr_cache_invalidate(view.cache, map + 2 * PAGE, PAGE);
	}
	assert_int_equal(stats_of(view.cache).regions, 3);
	assert_int_equal(stats_of(view.cache).parts, 1);
	assert_int_equal(bsn_mr_view_get(&view, map + PAGE, 2 * PAGE), -ENOSPC);
	bsn_mr_cache_invalidate(view.cache, map, 2 * PAGE);
	ok(bsn_mr_view_get(&view, map + PAGE, 2 * PAGE));
	assert_int_equal(stats_of(view.cache).regions, 1);
}

static void bad_input(struct bench *b)
{
	struct bsn_mr_view view = make_view(b, NULL);
	struct bsn_mr_cache *none = NULL;
	uint8_t *map = bench_pages(b, 1);

	assert_int_equal(bsn_mr_cache_create(NULL, NULL, &none), -EINVAL);
	assert_int_equal(bsn_mr_cache_create(b->device, NULL, NULL), -EINVAL);
	assert_int_equal(bsn_mr_view_init(&view, NULL), -EINVAL);
	assert_int_equal(bsn_mr_view_get(&view, map, 0), -EINVAL);
	assert_int_equal(bsn_mr_view_get(&view, (void *)(UINTPTR_MAX - 5), 10), -EINVAL);
	munmap(map, PAGE);
	assert_int_equal(bsn_mr_view_get(&view, map, 1), -EFAULT);
	assert_int_equal(bsn_mr_cache_reap(NULL), -EINVAL);
	assert_int_equal(bsn_mr_cache_flush(NULL), -EINVAL);
	assert_int_equal(bsn_mr_cache_stats(view.cache, NULL), -EINVAL);
	bsn_mr_cache_invalidate(NULL, map, 1);
	assert_int_equal(stats_of(view.cache).registrations, 0);
	ok(bsn_mr_cache_destroy(NULL));
}

/* -- against a model --------------------------------------------------------------------------- */

enum { RECORDS = 4096 };

/*
 * Every page has an age, which grows when the page is unmapped; a registration knows the ages that
 * it saw.
 */
struct record {
	uint32_t lkey;
	unsigned first, count;
	unsigned age[PAGES];
	bool is_gone;
};

struct model {
	unsigned age[PAGES];
	struct record records[RECORDS];
	unsigned count;
};

static bool has_page(const struct model *m, const struct record *r, unsigned page)
{
	return !r->is_gone && page >= r->first && page < r->first + r->count &&
	       r->age[page] == m->age[page];
}

static bool has_pages(const struct model *m, const struct record *r, unsigned first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!has_page(m, r, first + i))
			return false;
	return true;
}

static bool is_alive(const struct model *m, const struct record *r)
{
	for (unsigned i = 0; i < PAGES; i++)
		if (has_page(m, r, i))
			return true;
	return false;
}

static struct record *record_of(struct model *m, uint32_t lkey)
{
	for (unsigned i = m->count; i--;)
		if (!m->records[i].is_gone && m->records[i].lkey == lkey)
			return &m->records[i];
	return NULL;
}

static void look_up(struct model *m, struct bsn_mr_view *view, uint8_t *map, unsigned first,
		    unsigned count)
{
	bool is_known = false;

	for (unsigned i = 0; i < m->count; i++)
		is_known |= has_pages(m, &m->records[i], first, count);
	assert_int_equal(bsn_mr_view_find(view, map + first * PAGE, count * PAGE), is_known);
	if (is_known) {
		const struct record *r = record_of(m, view->last.lkey);
		assert_non_null(r);
		assert_true(has_pages(m, r, (unsigned)((view->last.addr - (uintptr_t)map) / PAGE),
				      (unsigned)(view->last.length / PAGE)));
	}
}

static void take(struct model *m, struct bsn_mr_view *view, uint8_t *map, unsigned first,
		 unsigned count)
{
	const uint64_t before = stats_of(view->cache).registrations;

	ok(bsn_mr_view_get(view, map + first * PAGE, count * PAGE));
	for (unsigned i = 0; i < m->count; i++)
		m->records[i].is_gone |= !is_alive(m, &m->records[i]);
	if (stats_of(view->cache).registrations == before)
		return;
	assert_true(m->count < RECORDS);
	struct record *r = &m->records[m->count++];
	*r = (struct record){ .lkey = view->last.lkey, .first = first, .count = count };
	memcpy(r->age, m->age, sizeof(m->age));
}

static void random_uses(struct bench *b)
{
	static struct model model;
	struct bsn_mr_view view = make_view(b, NULL);
	uint8_t *map = bench_pages(b, PAGES);
	unsigned seed = 20261122;

	memset(&model, 0, sizeof(model));
	for (unsigned round = 0; round < 6000 && model.count < RECORDS - 1; round++) {
		const unsigned first = (unsigned)rand_r(&seed) % PAGES;
		const unsigned most = PAGES - first < 12 ? PAGES - first : 12;
		const unsigned count = 1 + (unsigned)rand_r(&seed) % most;
		unsigned alive = 0;
		switch (rand_r(&seed) % 4) {
		case 0:
			take(&model, &view, map, first, count);
			break;
		case 1:
			bsn_mr_cache_invalidate(view.cache, map + first * PAGE, count * PAGE);
			for (unsigned i = first; i < first + count; i++)
				model.age[i]++;
			break;
		default:
			look_up(&model, &view, map, first, count);
		}
		ok(bsn_mr_cache_reap(view.cache));
		for (unsigned i = 0; i < model.count; i++)
			alive += is_alive(&model, &model.records[i]);
		assert_int_equal(stats_of(view.cache).regions, alive);
		assert_int_equal(stats_of(view.cache).resting, 0);
	}
	assert_true(model.count > 100);
}

/* -- threads ----------------------------------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 400 };

struct worker {
	struct bsn_mr_cache *cache;
	uint8_t *shared;
	unsigned seed;
	bool is_wrong;
};

/* Each thread maps and unmaps pages of its own. Pages that all threads share are always found. */
static void *work(void *arg)
{
	struct worker *w = arg;
	struct bsn_mr_view view;

	bsn_mr_view_init(&view, w->cache);
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint8_t *own = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		const unsigned page = (unsigned)rand_r(&w->seed) % PAGES;
		w->is_wrong |= bsn_mr_view_get(&view, own + PAGE, PAGE) != 0;
		w->is_wrong |= !bsn_mr_view_find(&view, own + PAGE, PAGE);
		w->is_wrong |= bsn_mr_view_get(&view, w->shared + page * PAGE, 1) != 0;
		bsn_mr_cache_invalidate(w->cache, own, 4 * PAGE);
		w->is_wrong |= bsn_mr_view_find(&view, own + PAGE, 1);
		munmap(own, 4 * PAGE);
	}
	return NULL;
}

static void threads(struct bench *b)
{
	struct bsn_mr_view view = make_view(b, NULL);
	uint8_t *map = bench_pages(b, PAGES);
	struct worker workers[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		workers[i] = (struct worker){ view.cache, map, i, false };
	run_threads(work, workers);
	for (unsigned i = 0; i < THREADS; i++)
		assert_false(workers[i].is_wrong);
	ok(bsn_mr_cache_flush(view.cache));
	assert_int_equal(stats_of(view.cache).registrations, stats_of(view.cache).deregistrations);
}

/* -- what hardware would lose ------------------------------------------------------------------ */

static void race_unmap(void *arg, struct bsn_mr_cache *cache, uint8_t *at, size_t length)
{
	(void)arg;
	bsn_mr_cache_invalidate(cache, at, length);
	munmap(at, length);
}

static void an_address_is_never_stale(struct bench *b)
{
	struct bsn_mr_view view = make_view(b, NULL);

	race(b, view.cache, &(struct race_memory){ NULL, race_map_pages, race_unmap }, RACE_ROUNDS);
}

static const struct bench_case cases[] = {
	{ CASE(a_region_is_registered_once), BARE },
	{ CASE(the_last_region_is_known_by_heart), BARE },
	{ CASE(what_is_found_can_be_sent), OWN },
	{ CASE(a_part_that_goes_leaves_the_rest), BARE },
	{ CASE(what_went_rests_in_quarantine), BARE },
	{ CASE(a_full_cache_says_so), BARE },
	{ CASE(memory_that_goes_meanwhile_is_registered_anew), BARE },
	{ CASE(what_stays_is_registered_once), BARE },
	{ CASE(what_lies_between_regions_fits), BARE },
	{ CASE(what_is_found_no_more_counts), BARE },
	{ CASE(bad_input), BARE },
	{ CASE(random_uses), BARE, MODEL },
	{ CASE(threads), BARE },
	{ CASE(an_address_is_never_stale), OWN },
};

BENCH_MAIN("cache")
