/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time, taken in rounds: each row by each column in turn, so that whatever disturbs the machine
 * disturbs all of them. The median of the rounds is the figure.
 */
#include "cost.h"

#include <stdlib.h>

#include "perf.h"
#include "progress.h"
#include "stats.h"
#include "watch.h"

enum { CLOCK_SAMPLES = 1000 };

/* The samples of a row in a column. */
struct samples {
	double *ns;
	unsigned count;
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

int cost_time_region(const struct cost_column *column, void *queue, enum cost_row row,
		     unsigned warm, unsigned count, double *ns)
{
	static double clock_ns = -1;
	struct watch watch = { 0 };
	const struct cost_meter meter = { watch_begin, watch_end, &watch };
	int bad;

	if (clock_ns < 0)
		clock_ns = time_clock();
	bad = cost_region(column, queue, row, warm, count, &meter);
	if (!bad)
		*ns = (double)watch.ns > clock_ns ? ((double)watch.ns - clock_ns) / count : 0;
	return bad;
}

static int time_one(const struct cost *cost, unsigned c, enum cost_row row, struct samples *samples)
{
	const struct cost_column *column = cost_columns[c];
	const int bad =
		cost_time_region(column, cost->queues[c][cost_shapes[row].queues], row,
				 cost_warm_of(&cost->rig, row),
				 cost_count_of(&cost->rig, row), &samples->ns[samples->count]);

	samples->count += !bad;
	return bad && bad != COST_LATE ? cost_complain(column, row, bad) : 0;
}

static int time_round(const struct cost *cost, struct samples samples[COST_COLUMNS][COST_ROW_COUNT])
{
	/* Those that share their queues are apart, so that neither finds them in the cache. */
	static const unsigned order[COST_COLUMNS] = { COST_COLUMN_V2, COST_COLUMN_IBV_WR,
						      COST_COLUMN_BUNSEN, COST_COLUMN_IBV,
						      COST_COLUMN_FLOOR };
	int err = 0;

	for (enum cost_row row = 0; row < COST_ROW_COUNT && !err; row++) {
		for (unsigned i = 0; i < COST_COLUMNS && !err; i++) {
			const unsigned c = order[i];
			if (cost_has(cost, c, row))
				err = time_one(cost, c, row, &samples[c][row]);
		}
	}
	return err;
}

static int sum_up(struct cost *cost, struct samples samples[COST_COLUMNS][COST_ROW_COUNT])
{
	for (enum cost_row row = 0; row < COST_ROW_COUNT; row++) {
		for (unsigned c = 0; c < COST_COLUMNS; c++) {
			struct cost_figures *f = &cost->results.figures[c][row];
			const struct samples *of = &samples[c][row];
			if (!cost_has(cost, c, row))
				continue;
			if (!of->count)
				return complain("%s by %s: completions always came too late to be "
						"timed",
						cost_shapes[row].name, cost_columns[c]->name);
			f->ns = median_of(of->ns, of->count);
			f->ns_p10 = percentile_of(of->ns, of->count, 10);
			f->ns_min = min_of(of->ns, of->count);
		}
	}
	return 0;
}

static int allocate(const struct cost *cost, struct samples samples[COST_COLUMNS][COST_ROW_COUNT])
{
	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		for (enum cost_row row = 0; row < COST_ROW_COUNT; row++) {
			samples[c][row] = (struct samples){ calloc(cost->results.rounds, sizeof(double)), 0 };
			if (!samples[c][row].ns)
				return complain("no memory");
		}
	}
	return 0;
}

int cost_time_all(struct cost *cost)
{
	static struct samples samples[COST_COLUMNS][COST_ROW_COUNT];
	const unsigned rounds = cost->results.rounds;
	int err = allocate(cost, samples);

	for (unsigned round = 0; round < rounds && !err; round++) {
		show_progress("round %u of %u", round + 1, rounds);
		err = time_round(cost, samples);
	}
	end_progress();
	if (!err)
		err = sum_up(cost, samples);
	for (unsigned c = 0; c < COST_COLUMNS; c++)
		for (enum cost_row row = 0; row < COST_ROW_COUNT; row++)
			free(samples[c][row].ns);
	return err;
}
