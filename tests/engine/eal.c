/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of DPDK's EAL: it is started, used and watched. A process has one EAL, so the cases share
 * it.
 */
#include "harness.h"

#include <pthread.h>

#include "bsn_eal.h"
#include "races.h"
#include "slabs.h"

enum { HUGE = 2 << 20 };

static void none_runs_yet(struct bench *b)
{
	const struct bsn_eal_attr greedy = { .bytes = (size_t)1 << 50 };
	struct bsn_eal *eal = NULL;
	static bool was_here;

	(void)b;
	if (was_here)
		return;
	was_here = true;
	assert_int_equal(bsn_eal_open(NULL, NULL), -EINVAL);
	assert_int_equal(bsn_eal_open(&(struct bsn_eal_attr){ .joins_only = true }, &eal), -ENOENT);
	fails(ENOMEM, "nr_hugepages", bsn_eal_open(&greedy, &eal));
	assert_null(eal);
}

static struct bsn_eal *open_eal(void)
{
	struct bsn_eal *eal;

	ok(bsn_eal_open(NULL, &eal));
	assert_false(bsn_eal_was_joined(eal));
	return eal;
}

static struct bsn_mr *alloc(struct bench *b, struct bsn_eal *eal, size_t length)
{
	const struct bsn_mem_attr mem = { .source = bsn_eal_source(eal), .is_strict = true };
	struct bsn_mr *buf;

	ok(bsn_buf_alloc(b->device, length, &(struct bsn_mr_attr){ .mem = &mem }, &buf));
	return buf;
}

static void buffers_on_hugepages(struct bench *b)
{
	struct bsn_eal *eal = open_eal();
	struct bsn_mr *buf = alloc(b, eal, 3 * HUGE / 2);
	struct bsn_buf_info info;

	ok(bsn_buf_info(buf, &info));
	assert_string_equal(info.source, "eal");
	assert_true(info.page_bytes >= HUGE);
	assert_in_range(info.translations, 1, 2);
	memset(buf->data, 7, buf->length);
	ok(bsn_buf_free(buf));
	ok(bsn_eal_close(eal));
}

static void too_little_memory_is_said(struct bench *b)
{
	struct bsn_eal *eal = open_eal();
	const struct bsn_mem_attr mem = { .source = bsn_eal_source(eal), .is_strict = true };
	struct bsn_mr *buf;

	fails(ENOMEM, "EAL does not have",
	      bsn_buf_alloc(b->device, (size_t)1 << 40, &(struct bsn_mr_attr){ .mem = &mem },
			    &buf));
	ok(bsn_eal_close(eal));
}

/* Segments are registered as one run, and their registration goes when EAL gives them back. */
static void the_cache_follows_the_heap(struct bench *b)
{
	struct bsn_eal *eal = open_eal();
	const struct bsn_mem_source *source = bsn_eal_source(eal);
	const struct bsn_mr_cache_attr attr = { .watch = bsn_eal_watch(eal) };
	const struct bsn_mem_request request = { .length = 3 * HUGE, .node = -1 };
	struct bsn_mr_cache *cache;
	struct bsn_mr_view view;

	ok(bsn_mr_cache_create(b->device, &attr, &cache));
	ok(bsn_mr_view_init(&view, cache));
	for (unsigned i = 0; i < 50; i++) {
		struct bsn_mem_block block;
		ok(source->alloc(source->arg, &request, &block));
		memset(block.addr, (int)i + 1, 64);
		ok(bsn_mr_view_get(&view, block.addr, 64));
		assert_true(view.last.length >= 3 * HUGE);
		assert_int_equal(view.last.addr % HUGE, 0);
		ok(bsn_write(b->ep[0],
			     &(struct bsn_sge){ (uintptr_t)block.addr, 64, view.last.lkey },
			     REMOTE(b, 1, 0), i, NOW));
		expect_done(b, b->cq[0], i, BSN_OPCODE_RDMA_WRITE);
		assert_int_equal(bench_at(b, 1, 0)[63], i + 1);
		source->release(source->arg, &block);
		/* The ends of the block may share a segment with other memory of EAL. */
		assert_false(bsn_mr_view_find(&view, (uint8_t *)block.addr + HUGE, HUGE));
	}
	ok(bsn_mr_cache_destroy(cache));
	ok(bsn_eal_close(eal));
}

/* -- threads ----------------------------------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 100 };

struct worker {
	struct bsn_eal *eal;
	struct bsn_mr_cache *cache;
	int err;
};

/* Memory comes and goes while others are registered. */
static void *work(void *arg)
{
	struct worker *w = arg;
	const struct bsn_mem_source *source = bsn_eal_source(w->eal);
	const struct bsn_mem_request request = { .length = HUGE, .node = -1 };
	struct bsn_mr_view view;

	bsn_mr_view_init(&view, w->cache);
	for (unsigned i = 0; i < ROUNDS && !w->err; i++) {
		struct bsn_mem_block block;
		w->err = source->alloc(source->arg, &request, &block);
		if (w->err)
			break;
		do
			w->err = bsn_mr_view_get(&view, block.addr, 64);
		while (w->err == -EAGAIN);
		source->release(source->arg, &block);
	}
	return NULL;
}

static void threads(struct bench *b)
{
	struct bsn_eal *eal = open_eal();
	const struct bsn_mr_cache_attr attr = { .watch = bsn_eal_watch(eal), .quarantine = 4 };
	struct worker workers[THREADS];
	struct bsn_mr_cache_stats stats;
	struct bsn_mr_cache *cache;

	ok(bsn_mr_cache_create(b->device, &attr, &cache));
	for (unsigned i = 0; i < THREADS; i++)
		workers[i] = (struct worker){ eal, cache, 0 };
	run_threads(work, workers);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(workers[i].err, 0);
	ok(bsn_mr_cache_flush(cache));
	ok(bsn_mr_cache_stats(cache, &stats));
	assert_true(stats.registrations > 0);
	assert_int_equal(stats.registrations, stats.deregistrations);
	ok(bsn_mr_cache_destroy(cache));
	ok(bsn_eal_close(eal));
}

/* -- what hardware would lose ------------------------------------------------------------------ */

/*
 * EAL's locks spin, and a thread that spins takes the CPU from the holder. So the threads here wait
 * for a mutex, asleep.
 */
static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;

/* Maps mostly a part of a hugepage, since that costs little; another thread may have the rest. */
static uint8_t *race_map(void *arg, unsigned seed, size_t *length)
{
	const struct bsn_mem_source *source = arg;
	const unsigned parts = 1 + seed / 16 % 6;
	const struct bsn_mem_request request = {
		.length = parts * (seed % 16 ? (size_t)RACE_PAGE : HUGE / 2), .node = -1
	};
	struct bsn_mem_block block;

	pthread_mutex_lock(&heap);
	int err = source->alloc(source->arg, &request, &block);
	pthread_mutex_unlock(&heap);
	if (err)
		return NULL;
	*length = request.length;
	return block.addr;
}

static void race_unmap(void *arg, struct bsn_mr_cache *cache, uint8_t *at, size_t length)
{
	const struct bsn_mem_source *source = arg;

	(void)cache;
	pthread_mutex_lock(&heap);
	source->release(source->arg, &(struct bsn_mem_block){ .addr = at, .length = length });
	pthread_mutex_unlock(&heap);
}

static void hugepages_come_and_go(struct bench *b)
{
	struct bsn_eal *eal = open_eal();
	const struct race_memory memory = { (void *)(uintptr_t)bsn_eal_source(eal), race_map,
					    race_unmap };
	const struct bsn_mr_cache_attr attr = { .watch = bsn_eal_watch(eal) };
	struct bsn_mr_cache_stats stats;
	struct bsn_mr_cache *cache;

	ok(bsn_mr_cache_create(b->device, &attr, &cache));
	race(b, cache, &memory, RACE_ROUNDS);
	ok(bsn_mr_cache_stats(cache, &stats));
	assert_true(stats.registrations > 1);
	ok(bsn_mr_cache_destroy(cache));
	ok(bsn_eal_close(eal));
}

static void slabs_in_a_mempool(struct bench *b)
{
	struct bsn_eal *eal = open_eal();

	every_buffer_of(b, bsn_eal_store(eal));
	threads_share(b, bsn_eal_store(eal));
	ok(bsn_eal_close(eal));
}

static const struct bench_case cases[] = {
	{ CASE(none_runs_yet), BARE, MODEL },
	{ CASE(buffers_on_hugepages), BARE },
	{ CASE(too_little_memory_is_said), BARE },
	{ CASE(the_cache_follows_the_heap), OWN },
	{ CASE(threads), BARE },
	{ CASE(hugepages_come_and_go), OWN },
	{ CASE(slabs_in_a_mempool), BARE },
};

BENCH_MAIN("eal")
