/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of `bsn-perf cost`: for people, and as JSON. */
#include "cost.h"

#include <string.h>

#include "perf.h"

enum { NAME_WIDTH = 28, WIDTH = 9 };

/* The figures' names in JSON; the tables of the text report, by name: also softcx's counters. */
static const char *const figure_names[COST_FIGURES] = {
	[COST_NS] = "ns",
	[COST_NS_P10] = "ns_p10",
	[COST_INSTRUCTIONS] = "instructions",
	[COST_COLD_NS] = "cold_ns",
	[COST_LINES] = "lines",
};
static const struct {
	const char *name, *title;
} tables[] = {
	{ "ns", "ns per operation, median of all rounds" },
	{ "cold_ns", "ns of a single operation whose code is in no cache, median of all rounds" },
	{ "instructions", "instructions per operation, by callgrind" },
	{ "lines", "lines of code, of 64 B, that an operation executes, by callgrind" },
	{ "mmio", "MMIO stores of an operation" },
	{ "mmio_bytes", "their bytes" },
	{ "wqe_fetch", "WQEs that the device fetches; how is softcx's choice" },
	{ "wqe_fetch_bytes", "their bytes" },
	{ "send_record_read", "doorbell records that it reads" },
	{ "payload_read", "reads of data" },
	{ "cqe_write", "CQEs that it writes, of both ends" },
};

static bool has(double value)
{
	return value >= 0;
}

/* < 0: not measured. */
static double figure_of(const struct cost_results *results, unsigned column, unsigned row,
			const char *name)
{
	for (enum cost_figure figure = 0; figure < COST_FIGURES; figure++)
		if (!strcmp(name, figure_names[figure]))
			return results->figures[column][row].of[figure];
	return bus_value(&results->bus[column][row], name);
}

enum { ANY = -1 };

/* Whether a column, or any, has it in a row, or in any. */
static bool has_any(const struct cost_results *results, int column, int row, const char *name)
{
	for (int i = 0; i < COST_COLUMNS * (int)results->row_count; i++) {
		const int c = i % COST_COLUMNS, r = i / COST_COLUMNS;
		if ((column == ANY || column == c) && (row == ANY || row == r) &&
		    has(figure_of(results, (unsigned)c, (unsigned)r, name)))
			return true;
	}
	return false;
}

static void print_head(FILE *to, const struct cost_results *results, const char *name)
{
	fprintf(to, "%-*s", NAME_WIDTH, "");
	for (unsigned c = 0; c < COST_COLUMNS; c++)
		if (has_any(results, (int)c, ANY, name))
			fprintf(to, " %*s", WIDTH, cost_columns[c]->name);
	fprintf(to, " %*s", WIDTH + 2, "bunsen/best");
	fprintf(to, has_any(results, COST_COLUMN_VERBS, ANY, name) ? " %*s\n" : "\n", WIDTH,
		"verbs/ibv");
}

/* The cheaper way of libibverbs; < 0: it has none. */
static double best_of_verbs(const struct cost_results *results, unsigned row, const char *name)
{
	const double wr = figure_of(results, COST_COLUMN_IBV_WR, row, name);
	const double ibv = figure_of(results, COST_COLUMN_IBV, row, name);

	return !has(wr) || (has(ibv) && ibv < wr) ? ibv : wr;
}

static void print_ratio(FILE *to, double value, double of, int width)
{
	if (has(value) && of > 0)
		fprintf(to, " %*.2f", width, value / of);
	else
		fprintf(to, " %*s", width, "-");
}

static void print_row(FILE *to, const struct cost_results *results, unsigned row, const char *name)
{
	fprintf(to, "%-*s", NAME_WIDTH, results->rows[row].name);
	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		const double value = figure_of(results, c, row, name);
		if (!has_any(results, (int)c, ANY, name))
			continue;
		if (has(value))
			fprintf(to, " %*.1f", WIDTH, value);
		else
			fprintf(to, " %*s", WIDTH, "-");
	}
	print_ratio(to, figure_of(results, COST_COLUMN_BUNSEN, row, name),
		    best_of_verbs(results, row, name), WIDTH + 2);
	if (has_any(results, COST_COLUMN_VERBS, ANY, name))
		print_ratio(to, figure_of(results, COST_COLUMN_VERBS, row, name),
			    figure_of(results, COST_COLUMN_IBV, row, name), WIDTH);
	fputc('\n', to);
}

static void print_table(FILE *to, const struct cost_results *results, const char *name)
{
	print_head(to, results, name);
	for (unsigned row = 0; row < results->row_count; row++)
		if (has_any(results, ANY, (int)row, name))
			print_row(to, results, row, name);
}

/* Prints each reason once, with the column and the queues that have it first. */
static void print_missing(FILE *to, const struct cost_results *results)
{
	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		const char *last = NULL;
		for (enum cost_queues kind = 0; kind < COST_QUEUES_COUNT; kind++) {
			const char *why = results->why_not[c][kind];
			if (why && (!last || strcmp(why, last)))
				fprintf(to, "no %s (%s): %s\n", cost_columns[c]->name,
					cost_kinds[kind].doc, why);
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
	for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (!has_any(results, ANY, ANY, tables[i].name))
			continue;
		fprintf(to, "\n%s", tables[i].title);
		if (!strcmp(tables[i].name, "ns"))
			fprintf(to, "; %u rounds\n", results->rounds);
		else if (!strcmp(tables[i].name, "instructions"))
			fprintf(to, "; store %s\n", results->counted_store);
		else
			fputc('\n', to);
		print_table(to, results, tables[i].name);
	}
}

static struct json_object *figures_to_json(const struct cost_figures *f, const struct bus *bus)
{
	struct json_object *object = json_object_new_object();

	for (enum cost_figure figure = 0; figure < COST_FIGURES; figure++)
		if (has(f->of[figure]))
			json_add_figure(object, figure_names[figure], f->of[figure]);
	for (unsigned i = 0; i < bus->count; i++)
		json_add_figure(object, bus->counters[i].name, bus->counters[i].value);
	return object;
}

static struct json_object *row_to_json(const struct cost_results *results, unsigned row)
{
	struct json_object *object = json_object_new_object();

	json_add_text(object, "op", results->rows[row].name);
	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		struct json_object *figures =
			figures_to_json(&results->figures[c][row], &results->bus[c][row]);
		if (json_object_object_length(figures))
			json_object_object_add(object, cost_columns[c]->name, figures);
		else
			json_object_put(figures);
	}
	return object;
}

struct json_object *cost_json_head(const struct cost_results *results)
{
	struct json_object *report = json_object_new_object();

	json_add_device(report, results->device);
	json_add_number(report, "depth", results->depth);
	json_add_number(report, "rounds", results->rounds);
	json_object_object_add(report, "thread_domain", json_object_new_boolean(results->has_td));
	if (results->counted_store[0])
		json_add_text(report, "instructions_store", results->counted_store);
	return report;
}

struct json_object *cost_json_rows(const struct cost_results *results)
{
	struct json_object *rows = json_object_new_array();

	for (unsigned row = 0; row < results->row_count; row++) {
		struct json_object *object = row_to_json(results, row);
		if (json_object_object_length(object) > 1) /* nothing but its name */
			json_object_array_add(rows, object);
		else
			json_object_put(object);
	}
	return rows;
}
