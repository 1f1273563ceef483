/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loops alone: as those of the other columns, with the operation left out, but with what they do
 * to its result. Their instructions are taken off those of the columns.
 */
#include "cost.h"

#include <errno.h>

/* A result, of which the compiler knows nothing. */
static inline int unknown(int value)
{
	__asm__ volatile("" : "+r"(value) : : "memory");
	return value;
}

static int run_posts(void *queue, unsigned count)
{
	(void)queue;
	for (unsigned i = 0; i < count; i++)
		COST_FORGET_BUT(i);
	return 0;
}

static inline int run_polls(unsigned count, int batch)
{
	int n = batch;

	for (; count; count -= (unsigned)batch) {
		n = unknown(n);
		if (n != batch)
			return COST_LATE;
	}
	return 0;
}

static int run_poll_1(void *queue, unsigned count)
{
	(void)queue;
	return run_polls(count, 1);
}

static int run_poll_16(void *queue, unsigned count)
{
	(void)queue;
	return run_polls(count, COST_BATCH);
}

static int run_poll_empty(void *queue, unsigned count)
{
	int n = 0;

	(void)queue;
	for (; count; count--) {
		n = unknown(n);
		if (n)
			return -EBUSY;
	}
	return 0;
}

static int do_nothing(void *queue, unsigned count)
{
	(void)queue;
	(void)count;
	return 0;
}

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
