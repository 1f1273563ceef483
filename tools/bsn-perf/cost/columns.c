/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All columns in the order of the report, and the loops alone: as those of the columns, with the
 * operation left out, but with what they do to its result; what they cost is taken off the columns.
 */
#include "cost.h"

static int do_nothing(void *queue, bool of_recvs, unsigned count)
{
	(void)queue;
	(void)of_recvs;
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
		COST_POLLS(count, shape.batch, c, unknown((int)shape.batch, c), (void)0, do_nothing,
			   false)
	} else {
		COST_POSTS(count, shape.batch, , COST_FORGET_BUT(i), )
	}
	return bad;
}

COST_CODES(COST_RUN)

static cost_run *const runs[COST_CODE_COUNT] = { COST_CODES(COST_RUN_ENTRY) };

static cost_run *run_of_nothing(const struct cost_row *row)
{
	return runs[row->code];
}

static const struct cost_column nothing = { .run_of = run_of_nothing };

const char *const cost_column_names[COST_ALL_COLUMNS] = {
	"bunsen", "symbol", "bsn_post", "verbs", "ibv_wr", "ibv", "nothing"
};

static const struct cost_column *const columns[COST_SUBJECTS][COST_ALL_COLUMNS] = {
	[COST_OF_QPS] = { &cost_bunsen, &cost_symbol, &cost_bsn_post, &cost_verbs, &cost_ibv_wr,
			  &cost_ibv, &nothing },
	[COST_OF_LAYOUTS] = { [COST_COLUMN_BUNSEN] = &cost_layout_bunsen,
			      [COST_COLUMN_IBV_WR] = &cost_layout_mlx5,
			      [COST_COLUMN_NOTHING] = &nothing },
	[COST_OF_MEMORY] = { [COST_COLUMN_BUNSEN] = &cost_memory_bunsen,
			     [COST_COLUMN_IBV] = &cost_memory_ibv,
			     [COST_COLUMN_NOTHING] = &nothing },
};

const struct cost_column *cost_column_of(unsigned column, enum cost_queues queues)
{
	return columns[cost_kinds[queues].subject][column];
}
