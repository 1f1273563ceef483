/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions of an operation, and lines of its code: this program runs itself under valgrind's
 * callgrind, which counts those of some regions. Less those of a region that does nothing, and of
 * the loop without the operation (cost_nothing.c), they are free of what a call costs once.
 */
#include "cost.h"

#include <string.h>

#include "callgrind.h"
#include "perf.h"

enum {
	REGIONS = 2, /* each fills its queue once; but see regions_of() */
};

/*
 * Of requests and receives that many QPs take in turn, so many regions as make a lap of their
 * rings.
 */
static unsigned regions_of(const struct cost_rig *rig, const struct cost_row *row)
{
	const enum cost_queues kind = row->shape.queues;
	unsigned regions;

	if (cost_polls(row->shape.what) || cost_kinds[kind].qps < 2)
		return REGIONS;
	regions = cost_qps_of(rig, kind) * cost_depth_of(rig, kind) / cost_fill_of(rig, row);
	return regions > REGIONS ? regions : REGIONS;
}

/* -- the child --------------------------------------------------------------------------------- */

static void ignore(void *unused)
{
	(void)unused;
}

static void start(void *unused)
{
	(void)unused;
	cost_aside = callgrind_collect;
	callgrind_collect();
}

static void stop(void *unused)
{
	(void)unused;
	callgrind_collect();
	cost_aside = cost_no_aside;
}

static const struct cost_meter off = { ignore, ignore, NULL };
static const struct cost_meter on = { start, stop, NULL };

/*
 * What happens once in many operations (credits, the end of a ring) counts by its share; what
 * happens only once, happens before.
 */
static int count_row(const struct cost_column *column, void *queue, const struct cost_row *row,
		     const struct cost_rig *rig)
{
	const unsigned count = cost_fill_of(rig, row), regions = regions_of(rig, row);
	int bad = cost_region(column, queue, row, 0, count, &off);

	for (unsigned i = 0; i < regions && !bad; i++)
		bad = cost_region(column, queue, row, 0, count, &on);
	callgrind_dump(column->name, row->name, regions * count);
	if (!bad)
		bad = cost_region(column, queue, row, 0, 0, &on);
	callgrind_dump(column->name, row->name, 0);
	return bad ? cost_complain(column, row, bad) : 0;
}

/*
 * A single operation, or a batch, after others; several, since one may come to the end of a ring.
 */
static int count_lines_of(const struct cost_column *column, void *queue, const struct cost_row *row,
			  const struct cost_rig *rig)
{
	const unsigned warm = cost_warm_of_one(rig, row), one = row->shape.batch;
	int bad = cost_region(column, queue, row, warm, one, &off);

	for (unsigned i = 0; i < REGIONS && !bad; i++) {
		bad = cost_region(column, queue, row, warm, one, &on);
		callgrind_dump(column->name, row->name, one);
	}
	return bad ? cost_complain(column, row, bad) : 0;
}

int count_all(struct cost *cost)
{
	const struct cost_results *results = &cost->results;
	int err = 0;

	if (!callgrind_is_there())
		return complain("--under-callgrind: this is not callgrind");
	printf("store %s\n", store_name(results->device));
	callgrind_begin();
	for (unsigned r = 0; r < results->row_count; r++) {
		const struct cost_row *row = &results->rows[r];
		for (unsigned c = 0; c < COST_ALL_COLUMNS && !err; c++)
			if (cost_has(cost, c, r))
				err = (results->wants_lines ? count_lines_of : count_row)(
					cost_column_of(c, row->shape.queues),
					cost->queues[c][row->shape.queues], row, &cost->rig);
	}
	return err;
}

/* -- reading the dumps ------------------------------------------------------------------------- */

/* The dumps of one row and column: its operations, and none. */
struct pair {
	double total, empty; /* < 0: not there */
	double count, lines;
};

struct dumps {
	const struct cost_results *results;
	struct pair pairs[COST_ALL_COLUMNS][COST_ROWS_MAX];
};

static void take_dump(void *arg, const struct callgrind_dump *dump)
{
	struct dumps *dumps = arg;
	const struct cost_results *results = dumps->results;
	unsigned row = 0, c = 0;
	struct pair *pair;

	while (row < results->row_count && strcmp(dump->row, results->rows[row].name))
		row++;
	while (c < COST_ALL_COLUMNS && strcmp(dump->column, cost_columns[c]->name))
		c++;
	if (row == results->row_count || c == COST_ALL_COLUMNS)
		return;
	pair = &dumps->pairs[c][row];
	*(dump->count ? &pair->total : &pair->empty) = dump->total;
	if (!dump->count)
		return;
	pair->lines = pair->count && pair->lines < dump->lines ? pair->lines : dump->lines;
	pair->count = dump->count;
}

/* < 0: not measured. */
static double figure_of(const struct pair *pair, unsigned regions, enum cost_figure figure)
{
	if (figure == COST_LINES)
		return pair->count ? pair->lines : -1;
	if (!pair->count || !pair->empty)
		return -1;
	return (pair->total - regions * pair->empty) / pair->count;
}

static int sum_up(const struct cost_rig *rig, const struct dumps *dumps,
		  struct cost_results *results, enum cost_figure figure)
{
	for (unsigned i = 0; i < COST_COLUMNS * results->row_count; i++) {
		const unsigned c = i % COST_COLUMNS, row = i / COST_COLUMNS;
		const unsigned regions = regions_of(rig, &results->rows[row]);
		const double all = figure_of(&dumps->pairs[c][row], regions, figure);
		const struct pair *nothing = &dumps->pairs[COST_COLUMN_NOTHING][row];
		const double loop = figure_of(nothing, regions, figure);

		if (loop < 0)
			return complain("callgrind's output has no counts to be read");
		if (all >= 0)
			results->figures[c][row].of[figure] = all > loop ? all - loop : 0;
	}
	return 0;
}

/* -- running the child ------------------------------------------------------------------------- */

int cost_count(struct cost *cost, enum cost_figure figure)
{
	static struct dumps dumps;
	struct cost_results *results = &cost->results;
	char qps[16], said[256] = "";
	const char *const more[] = { "--under-callgrind",
				     figure == COST_LINES ? "lines" : "instructions",
				     "--device",
				     results->device->name,
				     "--store",
				     store_option(results->device),
				     cost->rig.is_spread ? "--qps" : NULL,
				     qps,
				     NULL };
	const struct callgrind_call call = { "cost", cost->args, more };
	int err;

	snprintf(qps, sizeof(qps), "%u", cost->rig.qps);
	dumps = (struct dumps){ .results = results };
	show_progress("counting %s under callgrind: about a minute for all rows",
		      figure == COST_LINES ? "lines of code" : "instructions");
	err = callgrind_run(&call, said, sizeof(said), take_dump, &dumps);
	end_progress();
	if (!err && sscanf(said, "store %15s", results->counted_store) != 1)
		err = complain("the run under valgrind did not say which store it used");
	return err ? err : sum_up(&cost->rig, &dumps, results, figure);
}
