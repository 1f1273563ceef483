/* SPDX-License-Identifier: BSD-2-Clause */
/* One measured region: its preparation, the region, and what is left afterwards. */
#include "cost.h"

#include <string.h>

#include "../perf.h"
#include "../stepper.h"

enum {
	TURNS_MIN = 64, /* operations, as far as the depth of few QPs allows */
	WARM_MOST = 32,
};

static int post_to_be_polled(const struct cost_column *column, void *queue,
			     const struct cost_shape *shape, unsigned count)
{
	const enum cost_what what = cost_polled(shape);
	int bad = 0;

	if (cost_needs_recv(what))
		bad = column->post_recv(queue, count);
	if (!bad)
		bad = column->post(queue, what, count);
	let_device_work();
	if (!bad && !cost_polls_requests(shape->what))
		bad = column->drain(queue, count);
	return bad;
}

/* What must be there before @count operations. */
static int prepare(const struct cost_column *column, void *queue, const struct cost_shape *shape,
		   unsigned count)
{
	int bad;

	if (!column->post)
		return column->prepare ? column->prepare(queue, shape, count) : 0;
	bad = column->set_up && count ? column->set_up(queue, shape) : 0;
	if (bad || shape->what == COST_POLL_NONE)
		return bad;
	if (cost_polls(shape->what))
		return post_to_be_polled(column, queue, shape, count);
	return cost_needs_recv(shape->what) ? column->post_recv(queue, count) : 0;
}

/* Removes what they leave. */
static int settle(const struct cost_column *column, void *queue, const struct cost_shape *shape,
		  unsigned count)
{
	const bool polls = cost_polls(shape->what);
	int bad = 0;

	if (!column->post)
		return column->settle ? column->settle(queue, shape, count) : 0;
	if (shape->what == COST_RECV)
		bad = column->post(queue, COST_SEND, count);
	if (bad)
		return bad;
	if (!polls) {
		step();
		bad = column->drain(queue, count);
	}
	if (!bad && (polls ? cost_polls_requests(shape->what) && cost_needs_recv(cost_polled(shape))
			   : shape->what == COST_RECV || cost_needs_recv(shape->what)))
		bad = column->drain_recv(queue, count);
	return bad;
}

static int run(const struct cost_column *column, void *queue, const struct cost_row *row,
	       unsigned count, const struct cost_meter *meter)
{
	cost_run *const run_row = column->run_of(row);
	int bad;

	meter->begin(meter->arg);
	bad = run_row(queue, count);
	meter->end(meter->arg);
	return bad;
}

int cost_region(const struct cost_column *column, void *queue, const struct cost_row *row,
		unsigned warm, unsigned count, const struct cost_meter *meter)
{
	const struct cost_shape *shape = &row->shape;
	int bad = prepare(column, queue, shape, warm + count);

	if (bad)
		return bad;
	bad = column->run_of(row)(queue, warm);
	if (bad == COST_LATE) { /* the others will have come by then, too */
		const int left = cost_polls_requests(shape->what)
					 ? column->drain(queue, count)
					 : column->drain_recv(queue, count);
		bad = left ? left : COST_LATE;
	} else if (!bad) {
		bad = run(column, queue, row, count, meter);
	}
	if (bad && bad != COST_LATE)
		return bad;
	const int left = settle(column, queue, shape, warm + count);
	return left ? left : bad;
}

static unsigned whole_batches(unsigned count, const struct cost_row *row)
{
	return count - count % row->shape.batch;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Where QPs take turns: whole turns, and none is ever full. 0: one QP's depth decides. */
static unsigned turns_of(const struct cost_rig *rig, const struct cost_row *row)
{
	const struct cost_shape *shape = &row->shape;
	const unsigned qps = cost_qps_of(rig, shape->queues);
	const unsigned turns = (TURNS_MIN + qps - 1) / qps;

	if (shape->what == COST_RECV && cost_has_turns(shape->queues))
		return qps * shape->batch;
	if (!rig->is_spread || (qps < 2 && shape->queues != COST_MANY))
		return 0;
	return whole_batches(qps * least(turns, rig->many_depth / 4 * 3), row);
}

struct cost_counts cost_counts_of(const struct cost_rig *rig, const struct cost_row *row)
{
	const enum cost_queues kind = row->shape.queues;
	const unsigned batch = row->shape.batch, most = cost_kinds[kind].most;
	const unsigned given = most ? most : turns_of(rig, row);
	struct cost_counts c = {
		.warm = given ? 0 : whole_batches(rig->depth / 8, row),
		.count = given ? given : whole_batches(rig->depth / 4 * 3, row),
		.fill = given ? given : whole_batches(rig->depth, row),
		.laps = 2,
	};

	if (!c.count)
		c.count = batch;
	c.warm_of_one = whole_batches(least(c.count - batch, WARM_MOST), row);
	if (!cost_polls(row->shape.what) && cost_kinds[kind].qps > 1 &&
	    cost_qps_of(rig, kind) * cost_depth_of(rig, kind) > 2 * c.fill)
		c.laps = cost_qps_of(rig, kind) * cost_depth_of(rig, kind) / c.fill;
	return c;
}

int cost_complain(const struct cost_column *column, const struct cost_row *row, int bad)
{
	return complain("%s by %s: %s", row->name, column->name,
			bad > 0             ? ibv_wc_status_str((enum ibv_wc_status)bad)
			: bad == -ETIMEDOUT ? "completions are missing"
			: bad == -EBADMSG   ? "what was sent did not arrive"
					    : strerror(-bad));
}
