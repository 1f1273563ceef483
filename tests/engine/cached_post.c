/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts with a known key, and posts through the cache that find the last region. cached_post.py
 * counts the instructions of each function here. Only slow paths would be calls, and they are not
 * taken.
 */
#include "harness.h"
#include "bsn_mr_cache.h"

/* The ring wraps as often for each. */
enum { POSTS = 16, BYTES = 64, TIMES = 64 };

struct poster {
	struct bsn_ep *ep;
	struct bsn_mr_view view;
	uint8_t *from;
	uint32_t bytes, lkey;
	struct bsn_remote to;
	int bad;
};

/* Valgrind finds the functions by these names. */
#define COUNTED __attribute__((noinline, visibility("default")))
void post_known(struct poster *p);
void post_cached(struct poster *p);
int call_known(struct bsn_ep *ep, const uint8_t *at, uint32_t bytes, uint32_t lkey,
	       const struct bsn_remote *to);
int call_cached(struct bsn_ep *ep, const uint8_t *at, uint32_t bytes, struct bsn_mr_view *view,
		const struct bsn_remote *to);

static int call_other(struct bsn_ep *ep, const uint8_t *at, uint32_t bytes,
		      struct bsn_mr_view *view, const struct bsn_remote *to);

/* The compiler must not know the address: it is loaded, as in a program with a list of pieces. */
static uint8_t *piece(const struct poster *p, unsigned i)
{
	uint8_t *at = p->from + i * BYTES;

	__asm__ volatile("" : "+r"(at));
	return at;
}

static uint32_t length(const struct poster *p)
{
	return *(const volatile uint32_t *)&p->bytes;
}

/* -- in a loop --------------------------------------------------------------------------------- */

COUNTED void post_known(struct poster *p)
{
	for (unsigned i = 0; i < POSTS; i++) {
		const struct bsn_sge sge = { (uintptr_t)piece(p, i), length(p), p->lkey };
		p->bad |= bsn_write(p->ep, &sge, &p->to, i, NOW);
	}
}

static inline __attribute__((always_inline)) int
post_one_cached(struct bsn_ep *ep, const uint8_t *at, uint32_t bytes, struct bsn_mr_view *view,
		const struct bsn_remote *to, uint64_t id)
{
	if (!bsn_mr_view_is_last(view, at, bytes))
		return call_other(ep, at, bytes, view, to);
	const struct bsn_sge sge = bsn_mr_view_sge(view, at, bytes);
	return bsn_write(ep, &sge, to, id, NOW);
}

COUNTED void post_cached(struct poster *p)
{
	for (unsigned i = 0; i < POSTS; i++) {
		uint8_t *at = piece(p, i);
		const uint32_t bytes = length(p);
		p->bad |= post_one_cached(p->ep, at, bytes, &p->view, &p->to, i);
	}
}

/* -- a call each ------------------------------------------------------------------------------- */

COUNTED int call_known(struct bsn_ep *ep, const uint8_t *at, uint32_t bytes, uint32_t lkey,
		       const struct bsn_remote *to)
{
	return bsn_write(ep, &(struct bsn_sge){ (uintptr_t)at, bytes, lkey }, to, 0, NOW);
}

__attribute__((noinline)) static int call_other(struct bsn_ep *ep, const uint8_t *at,
						uint32_t bytes, struct bsn_mr_view *view,
						const struct bsn_remote *to)
{
	const int err = bsn_mr_view_get(view, at, bytes);

	return err ? err : call_known(ep, at, bytes, view->last.lkey, to);
}

COUNTED int call_cached(struct bsn_ep *ep, const uint8_t *at, uint32_t bytes,
			struct bsn_mr_view *view, const struct bsn_remote *to)
{
	return post_one_cached(ep, at, bytes, view, to, 0);
}

static void call_each(struct poster *p)
{
	for (unsigned i = 0; i < POSTS; i++)
		p->bad |= call_known(p->ep, piece(p, i), length(p), p->lkey, &p->to);
}

static void call_each_cached(struct poster *p)
{
	for (unsigned i = 0; i < POSTS; i++)
		p->bad |= call_cached(p->ep, piece(p, i), length(p), &p->view, &p->to);
}

/* -- all of them ------------------------------------------------------------------------------- */

static void drain(struct bench *b)
{
	struct bsn_completion c[POSTS];

	assert_int_equal(bench_reap(b, b->cq[0], c, POSTS), POSTS);
	for (int i = 0; i < POSTS; i++)
		assert_int_equal(c[i].status, IBV_WC_SUCCESS);
}

static void posts(struct bench *b)
{
	static void (*const all[])(struct poster * p) = { post_known, post_cached, call_each,
							  call_each_cached };
	struct poster p = { .ep = b->ep[0],
			    .from = bench_at(b, 0, 0),
			    .bytes = BYTES,
			    .lkey = b->mem[0]->lkey,
			    .to = bench_remote(b, 1, 0) };
	struct bsn_mr_cache *cache;

	ok(bsn_mr_cache_create(b->device, NULL, &cache));
	ok(bsn_mr_view_init(&p.view, cache));
	ok(bsn_mr_view_get(&p.view, p.from, POSTS * BYTES));
	for (size_t i = 0; i < COUNT(all); i++) {
		for (unsigned times = 0; times < TIMES; times++) {
			all[i](&p);
			ok(p.bad);
			drain(b);
		}
	}
	ok(bsn_mr_cache_destroy(cache));
}

static const struct bench_case cases[] = {
	{ CASE(posts), OWN, DIRECT, MODEL },
};

BENCH_MAIN("cached_post")
