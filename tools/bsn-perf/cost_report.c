/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of `bsn-perf cost`: for people, and as JSON. */
#include "cost.h"

#include "perf.h"

static bool has(double figure)
{
	return figure >= 0;
}

static bool has_column(const struct cost_results *results, unsigned column)
{
	return !results->why_not[column];
}

/* Bunsen's figure over another column's. */
static void print_ratio(FILE *to, double bunsen, double other)
{
	if (has(bunsen) && has(other) && other > 0)
		fprintf(to, " %11.2f", bunsen / other);
	else
		fprintf(to, " %11s", "-");
}

enum { BUNSEN, IBV_WR, IBV, FLOOR };

static void print_head(FILE *to, const struct cost_results *results, int width)
{
	fprintf(to, "%-21s", "");
	for (unsigned c = 0; c < COST_COLUMNS; c++)
		if (has_column(results, c))
			fprintf(to, " %*s", width, cost_columns[c]->name);
	fprintf(to, " %11s", "bunsen/ibv");
	if (has_column(results, FLOOR))
		fprintf(to, " %11s", "/floor");
	fputc('\n', to);
}

static void print_times(FILE *to, const struct cost_results *results)
{
	fprintf(to, "\nns per operation: median of %u rounds, and minimum\n", results->rounds);
	print_head(to, results, 15);
	for (unsigned op = 0; op < COST_OP_COUNT; op++) {
		if (!results->wanted[op])
			continue;
		fprintf(to, "%-21s", cost_op_names[op]);
		for (unsigned c = 0; c < COST_COLUMNS; c++) {
			const struct cost_figures *f = &results->figures[c][op];
			if (!has_column(results, c))
				continue;
			if (has(f->ns))
				fprintf(to, " %7.1f %7.1f", f->ns, f->ns_min);
			else
				fprintf(to, " %15s", "-");
		}
		print_ratio(to, results->figures[BUNSEN][op].ns, results->figures[IBV][op].ns);
		if (has_column(results, FLOOR))
			print_ratio(to, results->figures[BUNSEN][op].ns,
				    results->figures[FLOOR][op].ns);
		fputc('\n', to);
	}
}

static void print_instructions(FILE *to, const struct cost_results *results)
{
	fprintf(to, "\ninstructions per operation, by callgrind; store %s\n",
		results->counted_store);
	print_head(to, results, 8);
	for (unsigned op = 0; op < COST_OP_COUNT; op++) {
		if (!results->wanted[op])
			continue;
		fprintf(to, "%-21s", cost_op_names[op]);
		for (unsigned c = 0; c < COST_COLUMNS; c++) {
			const double count = results->figures[c][op].instructions;
			if (!has_column(results, c))
				continue;
			if (has(count))
				fprintf(to, " %8.1f", count);
			else
				fprintf(to, " %8s", "-");
		}
		print_ratio(to, results->figures[BUNSEN][op].instructions,
			    results->figures[IBV][op].instructions);
		if (has_column(results, FLOOR))
			print_ratio(to, results->figures[BUNSEN][op].instructions,
				    results->figures[FLOOR][op].instructions);
		fputc('\n', to);
	}
}

void cost_print_text(FILE *to, const struct cost_results *results)
{
	fprintf(to, "device %s: %s\nstore %s, CPU %s\n", results->device->name,
		results->device->path_why, store_name(results->device), cpu_name());
	for (unsigned c = 0; c < COST_COLUMNS; c++)
		if (!has_column(results, c))
			fprintf(to, "no column %s: %s\n", cost_columns[c]->name,
				results->why_not[c]);
	print_times(to, results);
	if (results->counted_store[0])
		print_instructions(to, results);
}

static struct json_object *figures_to_json(const struct cost_figures *f)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "ns", json_figure(f->ns));
	json_object_object_add(object, "ns_min", json_figure(f->ns_min));
	if (has(f->instructions))
		json_object_object_add(object, "instructions", json_figure(f->instructions));
	return object;
}

static struct json_object *row_to_json(const struct cost_results *results, unsigned op)
{
	struct json_object *row = json_object_new_object();

	json_object_object_add(row, "op", json_object_new_string(cost_op_names[op]));
	for (unsigned c = 0; c < COST_COLUMNS; c++)
		if (has(results->figures[c][op].ns))
			json_object_object_add(row, cost_columns[c]->name,
					       figures_to_json(&results->figures[c][op]));
	return row;
}

void cost_print_json(FILE *to, const struct cost_results *results)
{
	struct json_object *report = json_object_new_object(), *rows = json_object_new_array();

	json_object_object_add(report, "device", json_object_new_string(results->device->name));
	json_object_object_add(report, "path", json_object_new_string(path_name(results->device)));
	json_object_object_add(report, "cpu", json_object_new_string(cpu_name()));
	json_object_object_add(report, "store",
			       json_object_new_string(store_name(results->device)));
	if (results->counted_store[0])
		json_object_object_add(report, "instructions_store",
				       json_object_new_string(results->counted_store));
	for (unsigned op = 0; op < COST_OP_COUNT; op++)
		if (results->wanted[op])
			json_object_array_add(rows, row_to_json(results, op));
	json_object_object_add(report, "rows", rows);
	json_print(to, report);
}
