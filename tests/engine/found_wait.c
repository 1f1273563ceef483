/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Polls that find a completion, and waits that do: more.py counts the instructions of each function here.
 * Nothing is called but the slow paths, which are not taken.
 */
#include "harness.h"

#include "loop.h"

enum { TIMES = 64 };

/* By these names valgrind finds them. */
#define COUNTED __attribute__((noinline, visibility("default")))
int poll_one(struct bsn_cq *cq, struct bsn_completion *c);
int wait_one(struct bsn_cq *cq, struct bsn_completion *c);
int poll_up_to(struct bsn_cq *cq, struct bsn_completion *c, int n);
int wait_up_to(struct bsn_cq *cq, struct bsn_completion *c, int n);

COUNTED int poll_one(struct bsn_cq *cq, struct bsn_completion *c)
{
	return bsn_poll(cq, c, 1);
}

COUNTED int wait_one(struct bsn_cq *cq, struct bsn_completion *c)
{
	return bsn_wait(cq, c, 1, NULL);
}

COUNTED int poll_up_to(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	return bsn_poll(cq, c, n);
}

COUNTED int wait_up_to(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	return bsn_wait(cq, c, n, NULL);
}

static void post(struct loop *l, uint64_t id)
{
	ok(loop_post(l, id));
	softcx_step(0);
}

static void each_finds_one(struct bench *b)
{
	struct loop l = { 0 };
	struct bsn_completion c;

	ok(loop_make(&l, b->device, (struct bsn_cq_attr){ .entries = 256 }));
	for (uint64_t i = 0; i < TIMES; i++) {
		post(&l, i);
		assert_int_equal(poll_one(l.cq, &c), 1);
		post(&l, i);
		assert_int_equal(wait_one(l.cq, &c), 1);
		post(&l, i);
		assert_int_equal(poll_up_to(l.cq, &c, 1), 1);
		post(&l, i);
		assert_int_equal(wait_up_to(l.cq, &c, 1), 1);
	}
	ok(loop_free(&l));
}

static const struct bench_case cases[] = {
	{ CASE("each finds one", each_finds_one), .is_bare = true, .is_direct_only = true,
	  .is_model_only = true },
};

int main(void)
{
	return bench_run("found wait", cases, sizeof(cases) / sizeof(cases[0]));
}
