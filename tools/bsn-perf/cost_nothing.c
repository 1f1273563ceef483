/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loops alone: as those of the other columns, with the operation left out, but with what they do
 * to its result. Their instructions are taken off those of the columns.
 */
#include "cost.h"

struct nothing_queue {
	char unused;
};

struct nothing_hot {
	char unused;
};

static inline struct nothing_hot nothing_hot_of(const struct nothing_queue *q)
{
	(void)q;
	return (struct nothing_hot){ 0 };
}

static int do_nothing(void *queue, unsigned count)
{
	(void)queue;
	(void)count;
	return 0;
}

/* So many completions, of which the compiler knows nothing. */
static inline int unknown(int n, struct bsn_completion *c)
{
	__asm__ volatile("" : "+r"(n) : "r"(c) : "memory");
	return n;
}

COST_RUN(nothing, posts, for (unsigned i = 0; i < count; i++) COST_FORGET_BUT(i);)
COST_POLLS(nothing, poll_1, struct bsn_completion, 1, unknown(1, c), do_nothing)
COST_POLLS(nothing, poll_16, struct bsn_completion, COST_BATCH, unknown(COST_BATCH, c), do_nothing)
COST_POLLS_EMPTY(nothing, poll_empty, struct bsn_completion, unknown(0, c))

const struct cost_column cost_nothing = {
	.name = "nothing",
	.run = {
		[COST_write_sge] = run_posts,
		[COST_write_inline] = run_posts,
		[COST_write_prepared] = run_posts,
		[COST_write_batch16_sge] = run_posts,
		[COST_write_batch16_inline] = run_posts,
		[COST_read] = run_posts,
		[COST_send] = run_posts,
		[COST_poll_1] = run_poll_1,
		[COST_poll_16] = run_poll_16,
		[COST_poll_empty] = run_poll_empty,
		[COST_post_recv] = run_posts,
	},
	.post_recv = do_nothing,
	.drain = do_nothing,
	.drain_recv = do_nothing,
};
