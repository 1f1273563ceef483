/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of Bunsen, the loops alone, and all columns in the order of the report. */
#include "bunsen.h"

#define BUNSEN_COLUMN                                                                              \
	.size = sizeof(struct bunsen_queue), .close = bunsen_close, .set_up = bunsen_set_up,       \
	.post = bunsen_post, .drain = bunsen_drain

static cost_run *run_of(const struct cost_row *row)
{
	return bunsen_runs[row->code];
}

static cost_run *run_of_symbol(const struct cost_row *row)
{
	return row->shape.known == COST_KNOWN ? bunsen_runs_symbol[row->code] : NULL;
}

/* -- the same requests by the one call that takes any ------------------------------------------ */

COST_INLINE int run(struct bunsen_queue *q, unsigned count, unsigned batch, bool takes_turns)
{
	const struct bunsen_hot h = bunsen_hot_of(q);
	struct bsn_ep *ep = h.ep;
	int bad = 0;

	COST_POSTS(count, batch, ep = takes_turns ? h.eps[cost_turn(&q->turn, h.ep_count)] : ep,
		   q->wr.id = i;
		   bad |= bsn_post(ep, &q->wr), bad |= batch == 1 ? 0 : bsn_ring(ep))
	return bad;
}

static int run_alone(void *queue, unsigned count)
{
	return run(queue, count, 1, false);
}

static int run_batches(void *queue, unsigned count)
{
	return run(queue, count, COST_BATCH_MAX, false);
}

static int run_in_turn(void *queue, unsigned count)
{
	return run(queue, count, 1, true);
}

/* What the compiler knows is all the same here: of rows that differ in that, one. */
static cost_run *run_of_bsn_post(const struct cost_row *row)
{
	const struct cost_shape *shape = &row->shape;

	if (shape->what >= COST_RECV || shape->form == COST_PREPARED || shape->known != COST_KNOWN)
		return NULL;
	if (cost_has_turns(shape->queues))
		return run_in_turn;
	return shape->batch == 1 ? run_alone : run_batches;
}

/*
 * -- the loops alone: as those of the other columns, with the operation left out, but with what
 * they do to its result; what they cost is taken off the columns
 */

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
		COST_POLLS(count, shape.batch, c, unknown((int)shape.batch, c), (void)0,
			   bunsen_drain, false)
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

const struct cost_column cost_nothing = { .run_of = run_of_nothing };

/* -- the columns ------------------------------------------------------------------------------- */

const struct cost_column cost_bunsen = { BUNSEN_COLUMN, .make = bunsen_make, .run_of = run_of };
const struct cost_column cost_symbol = { BUNSEN_COLUMN, .run_of = run_of_symbol };
const struct cost_column cost_bsn_post = { BUNSEN_COLUMN, .run_of = run_of_bsn_post };
const struct cost_column cost_verbs = { BUNSEN_COLUMN, .make = bunsen_make, .is_other = true,
					.run_of = run_of };

const char *const cost_column_names[COST_ALL_COLUMNS] = {
	"bunsen", "symbol", "bsn_post", "verbs", "ibv_wr", "ibv", "nothing"
};

static const struct cost_column *const columns[COST_SUBJECTS][COST_ALL_COLUMNS] = {
	[COST_OF_QPS] = { &cost_bunsen, &cost_symbol, &cost_bsn_post, &cost_verbs, &cost_ibv_wr,
			  &cost_ibv, &cost_nothing },
	[COST_OF_LAYOUTS] = { [COST_COLUMN_BUNSEN] = &cost_layout_bunsen,
			      [COST_COLUMN_IBV_WR] = &cost_layout_mlx5,
			      [COST_COLUMN_NOTHING] = &cost_nothing },
	[COST_OF_MEMORY] = { [COST_COLUMN_BUNSEN] = &cost_memory_bunsen,
			     [COST_COLUMN_IBV] = &cost_memory_ibv,
			     [COST_COLUMN_NOTHING] = &cost_nothing },
};

const struct cost_column *cost_column_of(unsigned column, enum cost_queues queues)
{
	return columns[cost_kinds[queues].subject][column];
}
