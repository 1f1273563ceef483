/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Races that would lose data on hardware: memory is registered, unmapped, and mapped again where
 * other memory was, while other threads do the same through the same cache. So an address belongs
 * to one thread and then to another. A stale key sends bytes that are not there any more.
 * BSN_ROUNDS makes a race so many times as long.
 */
#ifndef TESTS_ENGINE_RACES_H
#define TESTS_ENGINE_RACES_H

#include "harness.h"

#include <pthread.h>
#include <sys/mman.h>

#include "bsn_mr_cache.h"

enum { RACE_THREADS = 2, RACE_ROUNDS = 2000, RACE_BYTES = 100, RACE_PAGE = 4096 };

/* How memory is mapped, of some length, and unmapped; the cache has to learn of both. */
struct race_memory {
	void *arg;
	uint8_t *(*map)(void *arg, unsigned seed, size_t *length);
	void (*unmap)(void *arg, struct bsn_mr_cache *cache, uint8_t *at, size_t length);
};

/* A few pages of plain memory. */
static inline uint8_t *race_map_pages(void *arg, unsigned seed, size_t *length)
{
	(void)arg;
	*length = (1 + seed % 4) * RACE_PAGE;
	uint8_t *map =
		mmap(NULL, *length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return map == MAP_FAILED ? NULL : map;
}

struct racer {
	const struct race_memory *memory;
	struct bsn_mr_cache *cache;
	unsigned seed;
	const bool *is_over;
	int err;
};

/* Gets the registration of memory whose neighbours may be unmapped meanwhile. */
static int race_get(struct bsn_mr_view *view, const uint8_t *at)
{
	int err;

	if (bsn_mr_view_find(view, at, RACE_BYTES))
		return 0;
	do
		err = bsn_mr_view_get(view, at, RACE_BYTES);
	while (err == -EAGAIN);
	return err;
}

static void *race_beside(void *arg)
{
	struct racer *r = arg;
	struct bsn_mr_view view;

	bsn_mr_view_init(&view, r->cache);
	while (!r->err && !__atomic_load_n(r->is_over, __ATOMIC_RELAXED)) {
		size_t length;
		uint8_t *at = r->memory->map(r->memory->arg, (unsigned)rand_r(&r->seed), &length);
		if (!at) {
			r->err = -ENOMEM;
			break;
		}
		memset(at, 0xee, RACE_BYTES);
		r->err = race_get(&view, at + length - RACE_BYTES);
		r->memory->unmap(r->memory->arg, r->cache, at, length);
	}
	return NULL;
}

static void race_round(struct bench *b, const struct race_memory *memory, struct bsn_mr_view *view,
		       unsigned round, unsigned *seed)
{
	size_t length;
	uint8_t *at = memory->map(memory->arg, (unsigned)rand_r(seed), &length), *from;

	assert_non_null(at);
	from = at + (size_t)rand_r(seed) % (length - RACE_BYTES + 1);
	for (unsigned i = 0; i < RACE_BYTES; i += sizeof(round))
		memcpy(from + i, &round, sizeof(round));
	ok(race_get(view, from));
	ok(bsn_write(b->ep[0], &(struct bsn_sge){ (uintptr_t)from, RACE_BYTES, view->last.lkey },
		     REMOTE(b, 1, 0), round, NOW));
	expect_done(b, b->cq[0], round, BSN_OPCODE_RDMA_WRITE);
	assert_memory_equal(bench_at(b, 1, 0), from, RACE_BYTES);
	memory->unmap(memory->arg, view->cache, at, length);
}

static unsigned race_rounds(struct bench *b, unsigned rounds)
{
	const char *times = getenv("BSN_ROUNDS");

	return bench_rounds(b, rounds * (times ? (unsigned)strtoul(times, NULL, 0) : 1));
}

static void race(struct bench *b, struct bsn_mr_cache *cache, const struct race_memory *memory,
		 unsigned rounds)
{
	struct racer racers[RACE_THREADS];
	pthread_t ids[RACE_THREADS];
	struct bsn_mr_view view;
	unsigned seed = 1;
	bool is_over = false;

	ok(bsn_mr_view_init(&view, cache));
	for (unsigned i = 0; i < RACE_THREADS; i++) {
		racers[i] = (struct racer){ memory, cache, i + 2, &is_over, 0 };
		assert_int_equal(pthread_create(&ids[i], NULL, race_beside, &racers[i]), 0);
	}
	rounds = race_rounds(b, rounds);
	for (unsigned round = 0; round < rounds; round++)
		race_round(b, memory, &view, round, &seed);
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < RACE_THREADS; i++) {
		pthread_join(ids[i], NULL);
		assert_int_equal(racers[i].err, 0);
	}
}

#endif
