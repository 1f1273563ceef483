/* SPDX-License-Identifier: BSD-2-Clause */
/* One measured region: its preparation, the region, and what is left afterwards. */
#include "cost.h"

#include <string.h>

enum {
	TURNS_MIN = 64, /* operations, as far as the depth of few QPs allows */
	WARM_MOST = 32,
};

static int post_to_be_polled(const struct cost_case *of, unsigned count)
{
	const struct cost_shape *shape = &of->row->shape;
	const enum cost_what what = cost_polled(shape);
	int bad = 0;

	if (cost_needs_recv(what))
		bad = of->column->post(of->queue, COST_RECV, count);
	if (!bad)
		bad = of->column->post(of->queue, what, count);
	let_device_work();
	if (!bad && !cost_polls_requests(shape->what))
		bad = of->column->drain(of->queue, false, count);
	return bad;
}

static int prepare(const struct cost_case *of, unsigned count)
{
	const struct cost_column *column = of->column;
	const struct cost_shape *shape = &of->row->shape;
	int bad;

	if (!column->post)
		return column->prepare ? column->prepare(of->queue, shape, count) : 0;
	bad = count ? column->set_up(of->queue, shape) : 0;
	if (bad || shape->what == COST_POLL_NONE)
		return bad;
	if (cost_polls(shape->what))
		return post_to_be_polled(of, count);
	return cost_needs_recv(shape->what) ? column->post(of->queue, COST_RECV, count) : 0;
}

static int settle(const struct cost_case *of, unsigned count)
{
	const struct cost_column *column = of->column;
	const struct cost_shape *shape = &of->row->shape;
	const bool polls = cost_polls(shape->what);
	int bad = 0;

	if (!column->post)
		return column->settle ? column->settle(of->queue, shape, count) : 0;
	if (shape->what == COST_RECV)
		bad = column->post(of->queue, COST_SEND, count);
	if (bad)
		return bad;
	if (!polls) {
		step();
		bad = column->drain(of->queue, false, count);
	}
	if (!bad && (polls ? cost_polls_requests(shape->what) && cost_needs_recv(cost_polled(shape))
			   : shape->what == COST_RECV || cost_needs_recv(shape->what)))
		bad = column->drain(of->queue, true, count);
	return bad;
}

static int run(const struct cost_case *of, unsigned warm, unsigned count,
	       const struct cost_meter *meter)
{
	cost_run *const run_row = of->column->run_of(of->row);
	int bad = run_row(of->queue, warm);

	if (bad == COST_LATE) { /* the others will have come by then, too */
		bad = of->column->drain(of->queue, !cost_polls_requests(of->row->shape.what),
					count);
		return bad ? bad : COST_LATE;
	}
	if (bad)
		return bad;
	if (meter->begin)
		meter->begin(meter->arg);
	bad = run_row(of->queue, count);
	if (meter->end)
		meter->end(meter->arg);
	return bad;
}

static const char *text_of(int bad)
{
	if (bad > 0)
		return ibv_wc_status_str((enum ibv_wc_status)bad);
	return bad == -ETIMEDOUT   ? "completions are missing"
	       : bad == COST_LATE  ? "completions came too late"
	       : bad == -EBADMSG   ? "what was sent did not arrive"
				   : strerror(-bad);
}

int cost_region(const struct cost_case *of, unsigned warm, unsigned count,
		const struct cost_meter *meter)
{
	int bad = prepare(of, warm + count);

	if (!bad)
		bad = run(of, warm, count, meter);
	if (bad == COST_LATE && meter->is_late) {
		*meter->is_late = true;
		bad = 0;
	}
	if (!bad)
		bad = settle(of, warm + count);
	return bad ? complain("%s by %s: %s", of->row->name, cost_column_names[of->c],
			       text_of(bad))
		    : 0;
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
	if (!rig->qps || (qps < 2 && shape->queues != COST_MANY))
		return 0;
	return whole_batches(qps * least(turns, rig->depth / 4 * 3), row);
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
	/* Messages find receives that are posted in turn if all QPs have had theirs. */
	c.warm_of_one = row->shape.what == COST_RECV && cost_has_turns(kind)
				? c.count - batch
				: whole_batches(least(c.count - batch, WARM_MOST), row);
	if (!cost_polls(row->shape.what) && cost_kinds[kind].qps > 1 &&
	    cost_qps_of(rig, kind) * cost_depth_of(rig, kind) > 2 * c.fill)
		c.laps = cost_qps_of(rig, kind) * cost_depth_of(rig, kind) / c.fill;
	return c;
}

static bool has(const struct cost_case *of)
{
	const struct cost_shape *shape = &of->row->shape;

	if (of->c == COST_COLUMN_NOTHING)
		return true;
	/* One QP's receives are not those of QPs that take turns. */
	if (of->cost->rig.qps > 1 && shape->what == COST_RECV && shape->queues == COST_RC)
		return false;
	return of->cost->has_column[of->c] && of->queue && of->column->run_of(of->row);
}

int cost_each_column(struct cost *cost, unsigned r, enum cost_order_of_columns order, void *arg,
		     int (*one)(const struct cost_case *of, void *arg))
{
	const struct cost_row *row = &cost->rows[r];
	const enum cost_queues kind = row->shape.queues;
	int err = 0;

	for (unsigned i = 0; i < COST_ALL_COLUMNS && !err; i++) {
		const unsigned c = i * order % COST_ALL_COLUMNS;
		struct cost_case of = { cost, c, r, row, cost_column_of(c, kind), NULL,
					cost_counts_of(&cost->rig, row) };

		if (of.column)
			of.queue = cost->queues[cost_owner_of(c, kind)][kind];
		if (has(&of))
			err = one(&of, arg);
	}
	return err;
}

int cost_each(struct cost *cost, void *arg, int (*one)(const struct cost_case *of, void *arg))
{
	int err = 0;

	for (unsigned r = 0; r < cost->row_count && !err; r++)
		err = cost_each_column(cost, r, COST_ONE_BY_ONE, arg, one);
	return err;
}
