/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loops alone: as those of the other columns, with the operation left out, but with what they
 * do to its result. What they cost is taken off the columns.
 */
#include "cost.h"

static int do_nothing(void *queue, unsigned count)
{
	(void)queue;
	(void)count;
	return 0;
}

/* So many completions, of which the compiler knows nothing. */
COST_INLINE int unknown(int n, struct bsn_completion *c)
{
	__asm__ volatile("" : "+r"(n) : "r"(c) : "memory");
	return n;
}

COST_INLINE int run_shape(void *queue, unsigned count, struct cost_shape shape)
{
	struct bsn_completion c[COST_BATCH_MAX] = { { 0 } };
	int bad = 0;

	if (shape.what == COST_POLL_NONE) {
		COST_POLLS_NONE(count, unknown(0, c))
	} else if (cost_polls(shape.what)) {
		COST_POLLS(count, shape.batch, c, unknown((int)shape.batch, c), (void)0, do_nothing)
	} else {
		COST_POSTS(count, shape.batch, , COST_FORGET_BUT(i), )
	}
	return bad;
}

COST_CODES(COST_RUN)

static cost_run *const runs[COST_CODE_COUNT] = { COST_CODES(COST_RUN_ENTRY) };

static cost_run *run_of(const struct cost_row *row)
{
	return runs[row->code];
}

const struct cost_column cost_nothing = { .name = "nothing", .run_of = run_of };
