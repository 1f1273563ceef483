/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of Bunsen, and all columns in the order of the report. */
#include "bunsen.h"

#define BUNSEN_COLUMN                                                                              \
	.size = sizeof(struct bunsen_queue), .close = bunsen_close,         \
	.set_up = bunsen_set_up, .post = bunsen_post, .post_recv = bunsen_post_recv,               \
	.drain = bunsen_drain, .drain_recv = bunsen_drain_recv

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

/* -- the columns ------------------------------------------------------------------------------- */

static int make_verbs(void *queue, const struct cost_rig *rig, enum cost_queues kind,
		      const char **why_not)
{
	struct cost_rig verbs = *rig;

	if (!rig->verbs) {
		*why_not = "bunsen itself takes plain verbs here";
		return -EOPNOTSUPP;
	}
	verbs.device = rig->verbs;
	return bunsen_make(queue, &verbs, kind, why_not);
}

const struct cost_column cost_bunsen = {
	BUNSEN_COLUMN,
	.name = "bunsen",
	.make = bunsen_make,
	.run_of = run_of,
};
const struct cost_column cost_symbol = {
	BUNSEN_COLUMN,
	.name = "symbol",
	.shares = true,
	.run_of = run_of_symbol,
};
const struct cost_column cost_bsn_post = {
	BUNSEN_COLUMN,
	.name = "bsn_post",
	.shares = true,
	.run_of = run_of_bsn_post,
};
const struct cost_column cost_verbs = {
	BUNSEN_COLUMN,
	.name = "verbs",
	.make = make_verbs,
	.run_of = run_of,
};

const struct cost_column *const cost_columns[COST_ALL_COLUMNS] = {
	[COST_COLUMN_BUNSEN] = &cost_bunsen,     [COST_COLUMN_SYMBOL] = &cost_symbol,
	[COST_COLUMN_BSN_POST] = &cost_bsn_post, [COST_COLUMN_VERBS] = &cost_verbs,
	[COST_COLUMN_IBV_WR] = &cost_ibv_wr,     [COST_COLUMN_IBV] = &cost_ibv,
	[COST_COLUMN_NOTHING] = &cost_nothing,
};

static const struct cost_column *const others[COST_SUBJECTS][COST_COLUMNS] = {
	[COST_OF_LAYOUTS] = { [COST_COLUMN_BUNSEN] = &cost_layout_bunsen,
			      [COST_COLUMN_IBV_WR] = &cost_layout_mlx5 },
	[COST_OF_MEMORY] = { [COST_COLUMN_BUNSEN] = &cost_memory_bunsen,
			     [COST_COLUMN_IBV] = &cost_memory_ibv },
};

const struct cost_column *cost_column_of(unsigned column, enum cost_queues queues)
{
	const enum cost_subject subject = cost_kinds[queues].subject;

	if (subject == COST_OF_QPS || column >= COST_COLUMNS)
		return cost_columns[column];
	return others[subject][column];
}

bool cost_has(const struct cost *cost, unsigned column, unsigned row)
{
	const struct cost_row *of = &cost->results.rows[row];

	if (column == COST_COLUMN_NOTHING)
		return true;
	/* One QP's receives are not those of QPs that take turns. */
	if (cost->rig.qps > 1 && of->shape.what == COST_RECV && of->shape.queues == COST_RC)
		return false;
	return cost->results.has_column[column] && cost->queues[column][of->shape.queues] &&
	       cost_column_of(column, of->shape.queues)->run_of(of);
}
