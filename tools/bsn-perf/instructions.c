/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions per operation: this program runs itself under valgrind's callgrind, which counts the
 * instructions of some regions, and of one that does nothing. The difference by the number of
 * operations is free of what a call costs once; less the same of the loop without the operation
 * (cost_nothing.c), it is free of the loop.
 */
#include "cost.h"

#include <string.h>

#include "callgrind.h"
#include "perf.h"
#include "progress.h"

enum {
	LIST_BYTES = 8192,
	REGIONS = 2, /* each fills its queue once; but see regions_of() */
};

/*
 * Of receives that many QPs take in turn, a region is one batch of each QP: so many regions as make a lap of
 * their rings.
 */
static unsigned regions_of(const struct cost_rig *rig, enum cost_row row)
{
	const struct cost_shape *shape = &cost_shapes[row];

	if (shape->what != COST_RECV || !cost_has_many(shape->queues) || rig->many_depth < REGIONS * shape->batch)
		return REGIONS;
	return rig->many_depth / shape->batch;
}

/* -- the child ---------------------------------------------------------------------------------- */

/*
 * What happens once in many operations (credits, the end of a ring) counts by its share; what happens
 * only once, happens before.
 */
static int count_row(const struct cost_column *column, void *queue, enum cost_row row,
		     const struct cost_rig *rig)
{
	const struct cost_meter off = { callgrind_end, callgrind_end, NULL };
	const struct cost_meter on = { callgrind_begin, callgrind_end, NULL };
	const unsigned count = cost_fill_of(rig, row), regions = regions_of(rig, row);
	const char *name = cost_shapes[row].name;
	int bad = cost_region(column, queue, row, 0, count, &off);

	for (unsigned i = 0; i < regions && !bad; i++)
		bad = cost_region(column, queue, row, 0, count, &on);
	callgrind_dump(column->name, name, regions * count);
	if (!bad)
		bad = cost_region(column, queue, row, 0, 0, &on);
	callgrind_dump(column->name, name, 0);
	return bad ? cost_complain(column, row, bad) : 0;
}

/* The first row of those whose loops are the same. */
static enum cost_row loop_of(enum cost_row row)
{
	const struct cost_shape *shape = &cost_shapes[row];

	if (shape->what == COST_POLL_NONE)
		return COST_ROW_poll_empty;
	if (cost_polls(shape->what))
		return shape->batch == 1 ? COST_ROW_poll_1 : COST_ROW_poll_16;
	return shape->batch == 1 ? COST_ROW_write_sge : COST_ROW_write_batch16_sge;
}

int count_all(struct cost *cost)
{
	int err = 0;

	if (!callgrind_is_there())
		return complain("--under-callgrind: this is not callgrind");
	printf("store %s\n", store_name(cost->results.device));
	for (enum cost_row row = 0; row < COST_ROW_COUNT && !err; row++) {
		if (loop_of(row) == row)
			err = count_row(&cost_nothing, NULL, row, &cost->rig);
		for (unsigned c = 0; c < COST_COLUMNS && !err; c++)
			if (cost_has(cost, c, row))
				err = count_row(cost_columns[c],
						cost->queues[c][cost_shapes[row].queues], row,
						&cost->rig);
	}
	return err;
}

/* -- reading the dumps --------------------------------------------------------------------------- */

/* The dumps of one row and column: its operations, and none. */
struct pair {
	double total, empty; /* < 0: not there */
	double count;
};

struct dumps {
	struct pair nothing[COST_ROW_COUNT];
	struct pair pairs[COST_COLUMNS][COST_ROW_COUNT];
};

static struct pair *find_pair(struct dumps *dumps, const char *column, const char *name)
{
	unsigned row = 0, c = 0;

	while (row < COST_ROW_COUNT && strcmp(name, cost_shapes[row].name))
		row++;
	if (row == COST_ROW_COUNT)
		return NULL;
	if (!strcmp(column, cost_nothing.name))
		return &dumps->nothing[row];
	while (c < COST_COLUMNS && strcmp(column, cost_columns[c]->name))
		c++;
	return c < COST_COLUMNS ? &dumps->pairs[c][row] : NULL;
}

static void take_dump(void *arg, const char *column, const char *row, unsigned count, double total)
{
	struct pair *pair = find_pair(arg, column, row);

	if (!pair)
		return;
	*(count ? &pair->total : &pair->empty) = total;
	if (count)
		pair->count = count;
}

/* < 0: not measured. */
static double each_of(const struct pair *pair, unsigned regions)
{
	if (!pair->count || !pair->empty)
		return -1;
	return (pair->total - regions * pair->empty) / pair->count;
}

/* The floor does nothing with results: of the loop, it has only the counting. */
static double loop_cost(const struct dumps *dumps, unsigned column, enum cost_row row)
{
	const enum cost_row counting =
		cost_shapes[row].batch == 1 ? COST_ROW_write_sge : COST_ROW_write_batch16_sge;

	return each_of(&dumps->nothing[column == COST_COLUMN_FLOOR ? counting : loop_of(row)], REGIONS);
}

static int sum_up(const struct cost_rig *rig, const struct dumps *dumps, struct cost_results *results)
{
	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		for (enum cost_row row = 0; row < COST_ROW_COUNT; row++) {
			const double all = each_of(&dumps->pairs[c][row], regions_of(rig, row));
			const double loop = loop_cost(dumps, c, row);
			if (loop < 0)
				return complain("callgrind's output has no counts to be read");
			if (all >= 0)
				results->figures[c][row].instructions = all > loop ? all - loop : 0;
		}
	}
	return 0;
}

/* -- running the child --------------------------------------------------------------------------- */

static void list_rows(const struct cost_results *results, char *list, size_t size)
{
	size_t used = 0;

	for (enum cost_row row = 0; row < COST_ROW_COUNT; row++)
		if (results->wanted[row])
			used += (size_t)snprintf(list + used, size - used, "%s%s", used ? "," : "",
						 cost_shapes[row].name);
}

static void list_columns(const struct cost_results *results, char *list, size_t size)
{
	size_t used = 0;

	for (unsigned c = 0; c < COST_COLUMNS; c++)
		if (results->has_column[c])
			used += (size_t)snprintf(list + used, size - used, "%s%s", used ? "," : "",
						 cost_columns[c]->name);
}

int count_instructions(const struct cost_rig *rig, struct cost_results *results)
{
	static struct dumps dumps;
	char rows[LIST_BYTES], columns[128], depth[16], qps[16], said[256] = "";
	const char *const args[] = { "cost",	  "--under-callgrind",
				     "--device",  results->device->name,
				     "--depth",	  depth,
				     "--spread",  qps,
				     "--columns", columns,
				     "--op",	  rows,
				     NULL };
	int err;

	snprintf(depth, sizeof(depth), "%u", results->depth);
	snprintf(qps, sizeof(qps), "%u", rig->qps);
	list_rows(results, rows, sizeof(rows));
	list_columns(results, columns, sizeof(columns));
	show_progress("counting instructions under callgrind: about a minute for all rows");
	err = callgrind_run(results->device, args, said, sizeof(said), take_dump, &dumps);
	end_progress();
	if (!err && sscanf(said, "store %15s", results->counted_store) != 1)
		err = complain("the run under valgrind did not say which store it used");
	return err ? err : sum_up(rig, &dumps, results);
}
