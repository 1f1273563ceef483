/* SPDX-License-Identifier: BSD-2-Clause */
/* What the column bsn_post measures: the same requests by the one call that takes any. */
#include "cost_bunsen.h"

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
cost_run *bunsen_post_run_of(const struct cost_row *row)
{
	const struct cost_shape *shape = &row->shape;

	if (shape->what >= COST_RECV || shape->form == COST_PREPARED || shape->known != COST_KNOWN)
		return NULL;
	if (cost_has_turns(shape->queues))
		return run_in_turn;
	return shape->batch == 1 ? run_alone : run_batches;
}
