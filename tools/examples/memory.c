/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three kinds of memory for requests: a buffer, from the best source or from the program's own; a
 * slab of small buffers; and memory of malloc(), through a cache of registrations.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bsn_mem.h"
#include "bsn_mr_cache.h"
#include "bsn_slab.h"
#include "loop.h"

enum { BUFFER_BYTES = 4 << 20, SMALL_BYTES = 256, PAGE_BYTES = 4096, TIMES = 100 };

static void must(int err)
{
	if (err) {
		fprintf(stderr, "memory: %s\n", bsn_error_text());
		exit(1);
	}
}

/* Writes a text from anywhere to the front of the loop's memory, and reads it there. */
static void send_text(struct loop *loop, const struct bsn_sge *text, const char *where)
{
	const struct bsn_remote to = bsn_remote_of(loop->mem, 0);
	struct bsn_completion done;
	int n;

	must(bsn_write(bsn_qp_ep(loop->qp), text, &to, 1, BSN_F_SIGNALED | BSN_F_RING));
	do
		n = bsn_poll(loop->cq, &done, 1);
	while (!n);
	if (n < 0 || done.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "memory: %s: the write failed\n", where);
		exit(1);
	}
	printf("%s: %s\n", where, (const char *)loop->mem->data);
}

/* -- buffers ---------------------------------------------------------------------------------- */

/* The program's own allocator. Its memory is zeroed. */
static int own_alloc(void *count, const struct bsn_mem_request *request,
		     struct bsn_mem_block *block)
{
	const size_t length = (request->length + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	void *const addr = aligned_alloc(PAGE_BYTES, length);

	if (!addr)
		return bsn_error_set(ENOMEM, "aligned_alloc() has no more");
	++*(int *)count;
	memset(addr, 0, length);
	*block = (struct bsn_mem_block){ .addr = addr, .length = length, .node = -1 };
	return 0;
}

static void own_release(void *count, const struct bsn_mem_block *block)
{
	--*(int *)count;
	free(block->addr);
}

static void use_buffer(struct loop *loop, const struct bsn_mr_attr *attr, const char *where)
{
	struct bsn_buf_info info;
	struct bsn_mr *buf;

	must(bsn_buf_alloc(loop->dev, BUFFER_BYTES, attr, &buf));
	must(bsn_buf_info(buf, &info));
	printf("%s comes of %s, and takes %llu translations%s%s\n", where, info.source,
	       (unsigned long long)info.translations, *info.why ? "; why nothing better: " : "",
	       info.why);
	strcpy(buf->data, "from a buffer");
	const struct bsn_sge from = bsn_sge_of(buf, 0, 64);
	send_text(loop, &from, where);
	must(bsn_buf_free(buf));
}

/* -- slabs ------------------------------------------------------------------------------------ */

/* One thread owns it, so it needs no lock. */
static void use_slab(struct loop *loop)
{
	const struct bsn_slab_attr attr = { .size_bytes = SMALL_BYTES,
					    .count = 64,
					    .has_one_owner = true };
	struct bsn_slab_view view;
	struct bsn_slab *slab;
	char *small;

	must(bsn_slab_create(loop->dev, &attr, &slab));
	must(bsn_slab_view_init(&view, slab));
	small = bsn_slab_get(&view);
	strcpy(small, "from a slab");
	send_text(loop, &(struct bsn_sge){ (uintptr_t)small, 64, slab->mr->lkey }, "a slab");
	bsn_slab_put(&view, small);
	bsn_slab_view_empty(&view);
	must(bsn_slab_destroy(slab));
}

/* -- the cache -------------------------------------------------------------------------------- */

/* The cache is told before memory goes; libbunsen-ucm and libbunsen-eal do that automatically. */
static void use_cache(struct loop *loop)
{
	struct bsn_mr_cache_stats stats;
	struct bsn_mr_cache *cache;
	struct bsn_mr_view view;
	char *mine = calloc(1, 64);

	if (!mine)
		exit(1);
	must(bsn_mr_cache_create(loop->dev, NULL, &cache));
	must(bsn_mr_view_init(&view, cache));
	strcpy(mine, "from malloc()");
	for (int i = 0; i < TIMES; i++) /* the first time it is registered */
		must(bsn_mr_view_get(&view, mine, 64));
	const struct bsn_sge text = bsn_mr_view_sge(&view, mine, 64);
	send_text(loop, &text, "the cache");
	must(bsn_mr_cache_stats(cache, &stats));
	printf("registered %llu times, asked for %d times\n",
	       (unsigned long long)stats.registrations, TIMES);
	bsn_mr_cache_invalidate(cache, mine, 64);
	free(mine);
	must(bsn_mr_cache_destroy(cache));
}

int main(void)
{
	int blocks = 0;
	const struct bsn_mem_source own = { "aligned_alloc", &blocks, own_alloc, own_release };
	const struct bsn_mem_attr mem = { .source = &own, .is_strict = true };
	struct loop loop;

	loop_open(&loop, 4096);
	use_buffer(&loop, NULL, "a buffer");
	use_buffer(&loop, &(struct bsn_mr_attr){ .mem = &mem }, "a buffer of its own source");
	use_slab(&loop);
	use_cache(&loop);
	loop_close(&loop);
	return blocks;
}
