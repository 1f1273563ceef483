/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of `bsn-perf cost`: for people, and as JSON. */
#include "cost.h"

#include <string.h>

#include "perf.h"

enum { NAME_WIDTH = 23, WIDTH = 9 };

typedef double figure(const struct cost_figures *figures);

static double time_of(const struct cost_figures *figures)
{
	return figures->ns;
}

static double instructions_of(const struct cost_figures *figures)
{
	return figures->instructions;
}

static bool has(double value)
{
	return value >= 0;
}

/* Whether a column has anything to show. */
static bool has_column(const struct cost_results *results, unsigned column, figure *of)
{
	for (enum cost_row row = 0; row < COST_ROW_COUNT; row++)
		if (has(of(&results->figures[column][row])))
			return true;
	return false;
}

static void print_head(FILE *to, const struct cost_results *results, figure *of)
{
	fprintf(to, "%-*s", NAME_WIDTH, "");
	for (unsigned c = 0; c < COST_COLUMNS; c++)
		if (has_column(results, c, of))
			fprintf(to, " %*s", WIDTH, cost_columns[c]->name);
	fprintf(to, " %*s\n", WIDTH + 2, "bunsen/best");
}

/* The cheaper way of libibverbs; < 0: it has none. */
static double best_of_verbs(const struct cost_results *results, enum cost_row row, figure *of)
{
	const double wr = of(&results->figures[COST_COLUMN_IBV_WR][row]);
	const double ibv = of(&results->figures[COST_COLUMN_IBV][row]);

	return !has(wr) || (has(ibv) && ibv < wr) ? ibv : wr;
}

static void print_row(FILE *to, const struct cost_results *results, enum cost_row row, figure *of)
{
	const double bunsen = of(&results->figures[COST_COLUMN_BUNSEN][row]);
	const double best = best_of_verbs(results, row, of);

	fprintf(to, "%-*s", NAME_WIDTH, cost_shapes[row].name);
	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		const double value = of(&results->figures[c][row]);
		if (!has_column(results, c, of))
			continue;
		if (has(value))
			fprintf(to, " %*.1f", WIDTH, value);
		else
			fprintf(to, " %*s", WIDTH, "-");
	}
	if (has(bunsen) && best > 0)
		fprintf(to, " %*.2f\n", WIDTH + 2, bunsen / best);
	else
		fprintf(to, " %*s\n", WIDTH + 2, "-");
}

static void print_table(FILE *to, const struct cost_results *results, figure *of)
{
	print_head(to, results, of);
	for (enum cost_row row = 0; row < COST_ROW_COUNT; row++)
		if (results->wanted[row])
			print_row(to, results, row, of);
}

/* Prints each reason once, with the column and the queues that have it first. */
static void print_missing(FILE *to, const struct cost_results *results)
{
	static const char *const queues[] = {
#define QUEUES(name, doc) [COST_##name] = doc,
		COST_QUEUES(QUEUES)
#undef QUEUES
	};

	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		const char *last = NULL;
		for (enum cost_queues kind = 0; kind < COST_QUEUES_COUNT; kind++) {
			const char *why = results->why_not[c][kind];
			if (why && (!last || strcmp(why, last)))
				fprintf(to, "no %s (%s): %s\n", cost_columns[c]->name, queues[kind],
					why);
			last = why ? why : last;
		}
	}
}

void cost_print_head(FILE *to, const struct cost_results *results)
{
	fprintf(to, "device %s: %s\nstore %s, CPU %s\n", results->device->name,
		results->device->path_why, store_name(results->device), cpu_name());
	fprintf(to, "depth %u; libibverbs %s\n", results->depth,
		results->has_td ? "on a thread domain, so without locks, as Bunsen"
				: "without a thread domain");
}

void cost_print_tables(FILE *to, const struct cost_results *results)
{
	print_missing(to, results);
	fprintf(to,
		"\nns per operation, median of %u rounds; floor: the bare stores, without checks\n",
		results->rounds);
	print_table(to, results, time_of);
	if (!results->counted_store[0])
		return;
	fprintf(to, "\ninstructions per operation, by callgrind; store %s\n",
		results->counted_store);
	print_table(to, results, instructions_of);
}

void cost_print_text(FILE *to, const struct cost_results *results)
{
	cost_print_head(to, results);
	cost_print_tables(to, results);
}

static struct json_object *figures_to_json(const struct cost_figures *f)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "ns", json_figure(f->ns));
	json_object_object_add(object, "ns_p10", json_figure(f->ns_p10));
	json_object_object_add(object, "ns_min", json_figure(f->ns_min));
	if (has(f->instructions))
		json_object_object_add(object, "instructions", json_figure(f->instructions));
	return object;
}

static struct json_object *row_to_json(const struct cost_results *results, enum cost_row row)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "op", json_object_new_string(cost_shapes[row].name));
	for (unsigned c = 0; c < COST_COLUMNS; c++)
		if (has(results->figures[c][row].ns))
			json_object_object_add(object, cost_columns[c]->name,
					       figures_to_json(&results->figures[c][row]));
	return object;
}

struct json_object *cost_json_head(const struct cost_results *results)
{
	struct json_object *report = json_object_new_object();

	json_add_device(report, results->device);
	json_object_object_add(report, "depth", json_object_new_int((int)results->depth));
	json_object_object_add(report, "rounds", json_object_new_int((int)results->rounds));
	json_object_object_add(report, "thread_domain", json_object_new_boolean(results->has_td));
	return report;
}

struct json_object *cost_json_rows(const struct cost_results *results)
{
	struct json_object *rows = json_object_new_array();

	for (enum cost_row row = 0; row < COST_ROW_COUNT; row++)
		if (results->wanted[row])
			json_object_array_add(rows, row_to_json(results, row));
	return rows;
}

void cost_json_add_store(struct json_object *report, const struct cost_results *results)
{
	if (results->counted_store[0])
		json_object_object_add(report, "instructions_store",
				       json_object_new_string(results->counted_store));
}

void cost_print_json(FILE *to, const struct cost_results *results)
{
	struct json_object *report = cost_json_head(results);

	cost_json_add_store(report, results);
	json_object_object_add(report, "rows", cost_json_rows(results));
	json_print(to, report);
}
