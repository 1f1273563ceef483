/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time, taken in rounds: each row by each column in turn, so that whatever disturbs the machine
 * disturbs all of them. The median of the rounds is the figure. Hot: of many operations; cold: of a
 * single one whose code is in no cache (cost_cold.c), less what the loop and the clock take then.
 */
#include "cost.h"

#include <stdlib.h>

#include "perf.h"
#include "progress.h"
#include "stats.h"

enum { CLOCK_SAMPLES = 1000 };

static void watch_end(void *arg)
{
	struct watch *watch = arg;

	watch->ns = now_ns() - watch->start;
}

/* The samples of a row in a column. */
struct samples {
	double *ns;
	unsigned count;
};

struct series {
	bool is_cold;
	double clock_ns;
	struct samples of[COST_ALL_COLUMNS][COST_ROWS_MAX];
};

/* What reading the clock takes. */
static double time_clock(void)
{
	double samples[CLOCK_SAMPLES];

	for (size_t i = 0; i < CLOCK_SAMPLES; i++) {
		const uint64_t start = now_ns();
		samples[i] = (double)(now_ns() - start);
	}
	return median_of(samples, CLOCK_SAMPLES);
}

/* Hot, many operations less what the clock takes; cold, one, less what the loop takes then. */
static int time_one(const struct cost *cost, struct series *series, unsigned c, unsigned r)
{
	const struct cost_row *row = &cost->results.rows[r];
	const struct cost_column *column = cost_column_of(c, row->shape.queues);
	const bool is_cold = series->is_cold;
	const unsigned warm = is_cold ? cost_warm_of_one(&cost->rig, row)
				      : cost_warm_of(&cost->rig, row);
	const unsigned count = is_cold ? row->shape.batch : cost_count_of(&cost->rig, row);
	struct watch watch = { 0 };
	const struct cost_meter meter = { is_cold ? cost_cold_begin : watch_begin, watch_end,
					  &watch };
	struct samples *samples = &series->of[c][r];
	const int bad = cost_region(column, cost->queues[c][row->shape.queues], row, warm, count,
				    &meter);
	const double ns = (double)watch.ns - (is_cold ? 0 : series->clock_ns);

	samples->ns[samples->count] = ns > 0 ? ns / count : 0;
	samples->count += !bad;
	return bad && bad != COST_LATE ? cost_complain(column, row, bad) : 0;
}

/* What is done once, after the device's work, is not hot; the loops alone are timed cold. */
static bool is_timed(const struct cost *cost, const struct series *series, unsigned c, unsigned row)
{
	const bool is_hot = c < COST_COLUMNS && !cost_kind_of(&cost->results.rows[row])->at_end;

	return (series->is_cold || is_hot) && cost_has(cost, c, row);
}

static int time_round(const struct cost *cost, struct series *series)
{
	/* Those that share their queues are apart, so that neither finds them in the cache. */
	static const unsigned order[COST_ALL_COLUMNS] = {
		COST_COLUMN_SYMBOL, COST_COLUMN_IBV_WR,   COST_COLUMN_BUNSEN,
		COST_COLUMN_IBV,    COST_COLUMN_BSN_POST, COST_COLUMN_VERBS,
		COST_COLUMN_UCX,    COST_COLUMN_NOTHING,
	};
	int err = 0;

	for (unsigned row = 0; row < cost->results.row_count && !err; row++)
		for (unsigned i = 0; i < COST_ALL_COLUMNS && !err; i++)
			if (is_timed(cost, series, order[i], row))
				err = time_one(cost, series, order[i], row);
	return err;
}

static double cold_of(const struct series *series, unsigned column, unsigned row)
{
	const struct samples *of = &series->of[column][row],
			     *loop = &series->of[COST_COLUMN_NOTHING][row];
	const double ns = median_of(of->ns, of->count) - median_of(loop->ns, loop->count);

	return ns > 0 ? ns : 0;
}

static int sum_up_one(struct cost *cost, const struct series *series, unsigned c, unsigned row)
{
	double *figures = cost->results.figures[c][row].of;
	const struct samples *of = &series->of[c][row];

	if (!of->count)
		return complain("%s by %s: completions always came too late to be timed",
				cost->results.rows[row].name, cost_columns[c]->name);
	if (series->is_cold) {
		figures[COST_COLD_NS] = cold_of(series, c, row);
		return 0;
	}
	figures[COST_NS] = median_of(of->ns, of->count);
	figures[COST_NS_P10] = percentile_of(of->ns, of->count, 10);
	return 0;
}

static int sum_up(struct cost *cost, const struct series *series)
{
	int err = 0;

	for (unsigned row = 0; row < cost->results.row_count && !err; row++)
		for (unsigned c = 0; c < COST_COLUMNS && !err; c++)
			if (is_timed(cost, series, c, row))
				err = sum_up_one(cost, series, c, row);
	return err;
}

static int time_series(struct cost *cost, bool is_cold)
{
	const unsigned rounds = cost->results.rounds, rows = cost->results.row_count;
	double *ns = calloc((size_t)COST_ALL_COLUMNS * rows * rounds, sizeof(double));
	struct series *series = calloc(1, sizeof(*series));
	int err = ns && series ? 0 : complain("no memory");

	if (!err) {
		series->is_cold = is_cold;
		series->clock_ns = time_clock();
	}
	for (unsigned i = 0; i < COST_ALL_COLUMNS * rows && !err; i++)
		series->of[i / rows][i % rows].ns = ns + (size_t)i * rounds;
	for (unsigned round = 0; round < rounds && !err; round++) {
		show_progress("%sround %u of %u", is_cold ? "cold: " : "", round + 1, rounds);
		err = time_round(cost, series);
	}
	end_progress();
	if (!err)
		err = sum_up(cost, series);
	free(series);
	free(ns);
	return err;
}

int cost_time_all(struct cost *cost)
{
	int err = time_series(cost, false);

	if (!err && cost->results.wants_cold)
		err = cost_find_code();
	return err || !cost->results.wants_cold ? err : time_series(cost, true);
}
