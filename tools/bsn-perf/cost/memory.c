/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registrations as rows of `bsn-perf cost`: the cache and slabs, and beside them what a program of
 * libibverbs does by itself: a binary search, a registration each time.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bsn_mr_cache.h"
#include "bsn_slab.h"
#include "cost.h"

enum {
	REGIONS = 10000, /* in the cache, a page each, with a page between two */
	ORDER = 1 << 14, /* addresses that are looked up, over and over */
	BUFFER_BYTES = 4096,
	HELD = 8, /* buffers that are out at a time, as of a queue */
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
};

struct span {
	uint64_t start, end;
	uint32_t lkey;
};

struct state {
	struct bsn_device *device;
	struct ibv_pd *pd;
	struct bsn_mr_cache *cache;
	struct bsn_mr_view view;
	struct bsn_slab *slab;
	struct bsn_slab_view buffers;
	void *held[HELD];
	size_t page;
	uint8_t *map;
	unsigned region_count, at;
	struct span spans[REGIONS]; /* what the binary search has */
	void *order[ORDER];
};

static uint8_t *region(const struct state *s, unsigned i)
{
	return s->map + 2 * i * s->page;
}

COST_INLINE int run_each(struct state *s, unsigned count, int (*one)(struct state *s))
{
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++) {
		COST_FORGET();
		err = one(s);
	}
	return err;
}

/* A key that nobody has is 0. */
static int find(struct state *s)
{
	return bsn_mr_view_find(&s->view, s->order[s->at++ % ORDER], 64) ? 0 : -ENOENT;
}

COST_INLINE uint32_t key_in(const struct span *spans, unsigned count, const void *addr,
			    uint32_t length)
{
	const uint64_t at = (uintptr_t)addr;
	unsigned low = 0, high = count;

	while (low < high) {
		const unsigned middle = low + (high - low) / 2;
		if (at < spans[middle].start)
			high = middle;
		else if (at + length > spans[middle].end)
			low = middle + 1;
		else
			return spans[middle].lkey;
	}
	return 0;
}

static int search(struct state *s)
{
	return key_in(s->spans, s->region_count, s->order[s->at++ % ORDER], 64) ? 0 : -ENOENT;
}

static int register_page(struct state *s)
{
	struct bsn_mr *mr;
	const int err = bsn_mr_register(s->device, s->map, s->page, NULL, &mr);

	return err ? err : bsn_mr_deregister(mr);
}

static int get(struct state *s)
{
	return bsn_mr_view_get(&s->view, s->map, s->page);
}

static int verbs_register(struct state *s, void *memory, size_t bytes)
{
	struct ibv_mr *mr = ibv_reg_mr(s->pd, memory, bytes, ACCESS);

	return mr ? -ibv_dereg_mr(mr) : -errno;
}

static int verbs_page(struct state *s)
{
	return verbs_register(s, s->map, s->page);
}

static int slab(struct state *s)
{
	void **const one = &s->held[s->at++ % HELD];

	if (*one)
		bsn_slab_put(&s->buffers, *one);
	*one = bsn_slab_get(&s->buffers);
	return *one ? 0 : -ENOBUFS;
}

static int verbs_buffer(struct state *s)
{
	void *buffer = malloc(BUFFER_BYTES);
	const int err = verbs_register(s, buffer, BUFFER_BYTES);

	free(buffer);
	return err;
}

#define OPERATIONS(X)                                                                              \
	X(REGISTER, register_page) X(GET, get) X(FIND_SAME, find) X(BUFFER, slab)
#define OPERATIONS_OF_VERBS(X)                                                                     \
	X(REGISTER, verbs_page) X(FIND_SAME, search) X(BUFFER, verbs_buffer)
OPERATIONS(COST_RUN_ONE)
OPERATIONS_OF_VERBS(COST_RUN_ONE)

static cost_run *run_of(const struct cost_row *row)
{
	static cost_run *const runs[COST_WHATS] = { OPERATIONS(COST_RUN_ONE_ENTRY) };
	cost_run *const run = runs[row->shape.what];

	return run ? run : run_find;
}

static cost_run *run_of_verbs(const struct cost_row *row)
{
	static cost_run *const runs[COST_WHATS] = { OPERATIONS_OF_VERBS(COST_RUN_ONE_ENTRY) };
	const enum cost_what what = row->shape.what == COST_GET ? COST_REGISTER : row->shape.what;

	return runs[what] ? runs[what] : run_search;
}

/* In which order addresses are looked up. */
static int prepare(void *queue, const struct cost_shape *shape, unsigned count)
{
	struct state *s = queue;
	unsigned seed = 1;

	(void)count;
	for (unsigned i = 0; i < ORDER && s->region_count; i++)
		s->order[i] = region(s, shape->what == COST_FIND_SAME ? s->region_count / 2
					: shape->what == COST_FIND_NEXT
						? i % s->region_count
						: (unsigned)rand_r(&seed) % s->region_count);
	return 0;
}

static int make_regions(struct state *s)
{
	int err = 0;

	for (unsigned i = 0; i < REGIONS && !err; i++) {
		err = bsn_mr_view_get(&s->view, region(s, i), 64);
		s->spans[i] =
			(struct span){ s->view.last.addr, s->view.last.addr + s->view.last.length,
				       s->view.last.lkey };
		s->region_count += !err;
	}
	return err;
}

static int make(void *queue, struct cost_rig *rig, enum cost_queues kind)
{
	const struct bsn_slab_attr slab = { .size_bytes = BUFFER_BYTES, .count = 256 };
	struct state *s = queue;
	int err;

	s->device = rig->device;
	s->page = (size_t)sysconf(_SC_PAGESIZE);
	if ((err = bsn_mr_cache_create(s->device, NULL, &s->cache)) ||
	    (err = bsn_mr_view_init(&s->view, s->cache)) ||
	    (err = bsn_slab_create(s->device, &slab, &s->slab)) ||
	    (err = bsn_slab_view_init(&s->buffers, s->slab)))
		return err;
	s->pd = ibv_alloc_pd(bsn_device_info(s->device)->verbs);
	s->map = mmap(NULL, 2 * REGIONS * s->page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!s->pd || s->map == MAP_FAILED)
		return -ENOMEM;
	return kind == COST_REGIONS ? make_regions(s) : 0;
}

static void close_state(void *queue)
{
	struct state *s = queue;

	for (unsigned i = 0; i < HELD; i++)
		if (s->held[i])
			bsn_slab_put(&s->buffers, s->held[i]);
	if (s->slab)
		bsn_slab_view_empty(&s->buffers);
	bsn_slab_destroy(s->slab);
	bsn_mr_cache_destroy(s->cache);
	if (s->pd)
		ibv_dealloc_pd(s->pd);
	if (s->map && s->map != MAP_FAILED)
		munmap(s->map, 2 * REGIONS * s->page);
}

const struct cost_column cost_memory_bunsen = {
	.size = sizeof(struct state),
	.make = make, .close = close_state, .run_of = run_of, .prepare = prepare,
};
const struct cost_column cost_memory_ibv = { .run_of = run_of_verbs, .prepare = prepare };
