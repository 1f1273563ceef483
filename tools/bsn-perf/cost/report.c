/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of `bsn-perf cost`: for people, and as JSON. */
#include "cost.h"

#include <string.h>

enum { NAME_WIDTH = 28, WIDTH = 9 };

/* The tables of the text report, by the name of the figure. */
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

void cost_add_figure(struct cost *cost, unsigned c, unsigned r, const char *name, double value)
{
	struct json_object *column;

	if (!json_object_object_get_ex(cost->told[r], cost_column_names[c], &column)) {
		column = json_object_new_object();
		json_object_object_add(cost->told[r], cost_column_names[c], column);
	}
	json_add_figure(column, name, value);
}

/* < 0: there is none. */
static double figure_of(const struct cost *cost, unsigned c, unsigned r, const char *name)
{
	struct json_object *figure;

	return json_object_object_get_ex(cost->told[r], cost_column_names[c], &figure) &&
			       json_object_object_get_ex(figure, name, &figure)
		       ? json_object_get_double(figure)
		       : -1;
}

static bool has(double value)
{
	return value >= 0;
}

static unsigned columns_with(const struct cost *cost, const char *name)
{
	unsigned columns = 0;

	for (unsigned i = 0; i < COST_COLUMNS * cost->row_count; i++)
		if (has(figure_of(cost, i % COST_COLUMNS, i / COST_COLUMNS, name)))
			columns |= 1u << i % COST_COLUMNS;
	return columns;
}

static void print_heads(FILE *to, unsigned columns)
{
	fprintf(to, "%-*s", NAME_WIDTH, "");
	for (unsigned c = 0; c < COST_COLUMNS; c++)
		if (columns & 1u << c)
			fprintf(to, " %*s", WIDTH, cost_column_names[c]);
	fprintf(to, " %*s", WIDTH + 2, "bunsen/best");
	fprintf(to, columns & 1u << COST_COLUMN_VERBS ? " %*s\n" : "\n", WIDTH, "verbs/ibv");
}

static void print_ratio(FILE *to, double value, double of, int width)
{
	if (has(value) && of > 0)
		fprintf(to, " %*.2f", width, value / of);
	else
		fprintf(to, " %*s", width, "-");
}

static void print_row(FILE *to, const struct cost *cost, unsigned row, const char *name,
		      unsigned columns)
{
	double value[COST_COLUMNS], best;
	unsigned there = 0;

	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		value[c] = figure_of(cost, c, row, name);
		there += has(value[c]);
	}
	if (!there)
		return;
	fprintf(to, "%-*s", NAME_WIDTH, cost->rows[row].name);
	for (unsigned c = 0; c < COST_COLUMNS; c++)
		if (has(value[c]))
			fprintf(to, " %*.1f", WIDTH, value[c]);
		else if (columns & 1u << c)
			fprintf(to, " %*s", WIDTH, "-");
	best = value[COST_COLUMN_IBV]; /* the cheaper way of libibverbs */
	if (!has(best) || (has(value[COST_COLUMN_IBV_WR]) && value[COST_COLUMN_IBV_WR] < best))
		best = value[COST_COLUMN_IBV_WR];
	print_ratio(to, value[COST_COLUMN_BUNSEN], best, WIDTH + 2);
	if (columns & 1u << COST_COLUMN_VERBS)
		print_ratio(to, value[COST_COLUMN_VERBS], value[COST_COLUMN_IBV], WIDTH);
	fputc('\n', to);
}

/* Prints each reason once, with the column and the queues that have it first. */
static void print_missing(FILE *to, const struct cost *cost)
{
	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		const char *last = "";
		for (enum cost_queues kind = 0; kind < COST_QUEUES_COUNT; kind++) {
			const char *why = cost->why_not[c][kind];
			if (*why && strcmp(why, last))
				fprintf(to, "no %s (%s): %s\n", cost_column_names[c],
					cost_kinds[kind].doc, why);
			last = *why ? why : last;
		}
	}
}

void cost_tell_head(FILE *to, struct json_object *report, const struct cost *cost)
{
	if (!report) {
		fprintf(to, "device %s%s: %s\nstore %s, CPU %s\n", cost->device->name,
			model_name(cost->device) ? " of softcx, a model" : "",
			cost->device->path_why, store_name(cost->device), cpu_name());
		fprintf(to, "depth %u; libibverbs %s\n", cost->rig.depth,
			cost->has_td ? "on a thread domain, so without locks, as Bunsen"
					: "without a thread domain");
		return;
	}
	json_add_device(report, cost->device);
	json_add_number(report, "depth", cost->rig.depth);
	json_add_number(report, "rounds", cost->rounds);
	json_add_bool(report, "thread_domain", cost->has_td);
	if (cost->counted_store[0])
		json_add_text(report, "instructions_store", cost->counted_store);
}

void cost_print_tables(FILE *to, const struct cost *cost)
{
	print_missing(to, cost);
	for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const char *name = tables[i].name;
		const unsigned columns = columns_with(cost, name);

		if (!columns)
			continue;
		fprintf(to, "\n%s", tables[i].title);
		if (!strcmp(name, "ns"))
			fprintf(to, "; %u rounds", cost->rounds);
		if (!strcmp(name, "instructions"))
			fprintf(to, "; store %s", cost->counted_store);
		fputc('\n', to);
		print_heads(to, columns);
		for (unsigned row = 0; row < cost->row_count; row++)
			print_row(to, cost, row, name, columns);
	}
}

struct json_object *cost_json_rows(const struct cost *cost)
{
	struct json_object *rows = json_object_new_array();

	for (unsigned r = 0; r < cost->row_count; r++)
		if (json_object_object_length(cost->told[r]) > 1) /* not its name alone */
			json_object_array_add(rows, json_object_get(cost->told[r]));
	return rows;
}
