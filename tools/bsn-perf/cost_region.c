/* SPDX-License-Identifier: BSD-2-Clause */
/* One measured region, with what has to be there before and what is left afterwards. */
#include "cost.h"

#include <string.h>

#include "perf.h"
#include "stepper.h"

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
	if (!bad && shape->what != COST_POLL)
		bad = column->drain(queue, count);
	return bad;
}

/* What must be there before @count operations. */
static int prepare(const struct cost_column *column, void *queue, const struct cost_shape *shape,
		   unsigned count)
{
	const int bad = column->set_up ? column->set_up(queue, shape) : 0;

	if (bad || shape->what == COST_POLL_NONE)
		return bad;
	if (cost_polls(shape->what))
		return post_to_be_polled(column, queue, shape, count);
	return cost_needs_recv(shape->what) ? column->post_recv(queue, count) : 0;
}

/* What is left by them is taken away. */
static int settle(const struct cost_column *column, void *queue, const struct cost_shape *shape,
		  unsigned count)
{
	const bool polls = cost_polls(shape->what);
	int bad = 0;

	if (shape->what == COST_RECV)
		bad = column->post(queue, COST_SEND, count);
	if (bad)
		return bad;
	if (!polls) {
		step();
		bad = column->drain(queue, count);
	}
	if (!bad && (polls ? shape->what == COST_POLL && cost_needs_recv(cost_polled(shape))
			   : shape->what == COST_RECV || cost_needs_recv(shape->what)))
		bad = column->drain_recv(queue, count);
	return bad;
}

static int run(const struct cost_column *column, void *queue, enum cost_row row, unsigned count,
	       const struct cost_meter *meter)
{
	cost_run *const run_row = column->run_of(row);
	int bad;

	meter->begin(meter->arg);
	bad = run_row(queue, count);
	meter->end(meter->arg);
	return bad;
}

int cost_region(const struct cost_column *column, void *queue, enum cost_row row, unsigned warm,
		unsigned count, const struct cost_meter *meter)
{
	const struct cost_shape *shape = &cost_shapes[row];
	int bad = prepare(column, queue, shape, warm + count);

	if (bad)
		return bad;
	bad = column->run_of(row)(queue, warm);
	if (bad == COST_LATE) { /* the others will have come by then, too */
		const int left = shape->what == COST_POLL ? column->drain(queue, count)
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

static unsigned whole_batches(unsigned count, enum cost_row row)
{
	return count - count % cost_shapes[row].batch;
}

unsigned cost_warm_of(uint32_t depth, enum cost_row row)
{
	return whole_batches(depth / 8, row);
}

unsigned cost_count_of(uint32_t depth, enum cost_row row)
{
	const unsigned count = whole_batches(depth / 4 * 3, row);

	return count ? count : cost_shapes[row].batch;
}

unsigned cost_fill_of(uint32_t depth, enum cost_row row)
{
	return whole_batches(depth, row);
}

int cost_complain(const struct cost_column *column, enum cost_row row, int bad)
{
	return complain("%s by %s: %s", cost_shapes[row].name, column->name,
			bad > 0             ? ibv_wc_status_str((enum ibv_wc_status)bad)
			: bad == -ETIMEDOUT ? "completions are missing"
					    : strerror(-bad));
}
