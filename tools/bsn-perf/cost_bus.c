/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bsn-perf cost --bus: what the bus between processor and device is asked for by each request. Only
 * softcx counts that; it sees stores unless it is passive.
 */
#include "cost.h"

#include <stdlib.h>

#include "bus.h"
#include "perf.h"
#include "progress.h"

enum { NAME_WIDTH = 27 };

/* What a request asked for, by each column; of a column that has not the row, no counters. */
struct bus_row {
	struct bus by[COST_COLUMNS];
};

/* The counters of the text report; the JSON report has all. */
static const struct {
	const char *name, *head;
} shown[] = {
	{ "mmio", "MMIO stores" },
	{ "mmio_bytes", "bytes" },
	{ "wqe_fetch", "WQE fetches" },
	{ "wqe_fetch_bytes", "bytes" },
	{ "send_record_read", "record reads" },
	{ "cqe_write", "CQE writes" },
};
enum { SHOWN = sizeof(shown) / sizeof(shown[0]) };
static const unsigned sides[] = { COST_COLUMN_BUNSEN, COST_COLUMN_IBV };

/* -- counting ---------------------------------------------------------------------------------- */

struct reader {
	const char *device;
	struct bus before;
	int err;
};

static void read_before(void *arg)
{
	struct reader *reader = arg;

	reader->err = bus_read(reader->device, &reader->before);
}

static void ignore(void *arg)
{
	(void)arg;
}

/* From the first request to the last completion; the second region, in which nothing is new. */
static int count_one(const struct cost *cost, unsigned c, unsigned row, struct bus *bus)
{
	const struct cost_row *of = &cost->results.rows[row];
	const struct cost_column *column = cost_column_of(c, of->shape.queues);
	const unsigned count = cost_count_of(&cost->rig, of);
	struct reader reader = { .device = cost->results.device->name };
	const struct cost_meter meter = { read_before, ignore, &reader };
	int bad = 0;

	for (unsigned i = 0; i < 2 && !bad; i++)
		bad = cost_region(column, cost->queues[c][of->shape.queues], of, 0, count, &meter);
	if (bad)
		return cost_complain(column, of, bad);
	if (reader.err || bus_read(reader.device, bus))
		return complain("softcx does not count any more");
	bus_take_off(bus, &reader.before, count);
	return 0;
}

static int count_all_rows(const struct cost *cost, struct bus_row *rows)
{
	int err = 0;

	for (unsigned row = 0; row < cost->results.row_count && !err; row++) {
		show_progress("%s", cost->results.rows[row].name);
		for (unsigned c = 0; c < COST_COLUMNS && !err; c++)
			if (cost_has(cost, c, row))
				err = count_one(cost, c, row, &rows[row].by[c]);
	}
	end_progress();
	return err;
}

/* -- the report -------------------------------------------------------------------------------- */

static void print_row(FILE *to, const struct bus_row *row, const char *name)
{
	fprintf(to, "%-*s", NAME_WIDTH, name);
	for (unsigned i = 0; i < SHOWN; i++) {
		for (unsigned s = 0; s < sizeof(sides) / sizeof(sides[0]); s++) {
			const double value = bus_value(&row->by[sides[s]], shown[i].name);
			if (value < 0)
				fprintf(to, " %6s", "-");
			else
				fprintf(to, " %6.4g", value);
		}
		fputs("  ", to);
	}
	fputc('\n', to);
}

static void print_text(FILE *to, const struct cost *cost, const struct bus_row *rows)
{
	cost_print_head(to, &cost->results);
	fputs("\nWhat each request asks the bus for. Of a SEND, the CQEs of both ends. How a "
	      "device\n"
	      "fetches is softcx's choice: up to 8 blocks of 64 bytes at once, nothing that came "
	      "whole\n"
	      "by BlueFlame, a record once a doorbell.\n\n",
	      to);
	fprintf(to, "%-*s", NAME_WIDTH, "");
	for (unsigned i = 0; i < SHOWN; i++)
		fprintf(to, " %13s  ", shown[i].head);
	fprintf(to, "\n%-*s", NAME_WIDTH, "");
	for (unsigned i = 0; i < SHOWN; i++)
		fprintf(to, " %6s %6s  ", "bunsen", "ibv");
	fputc('\n', to);
	for (unsigned row = 0; row < cost->results.row_count; row++)
		print_row(to, &rows[row], cost->results.rows[row].name);
}

static struct json_object *row_to_json(const struct bus_row *row, const char *name)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "op", json_object_new_string(name));
	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		const struct bus *bus = &row->by[c];
		struct json_object *by = bus->count ? json_object_new_object() : NULL;
		for (unsigned i = 0; i < bus->count; i++)
			json_object_object_add(by, bus->counters[i].name,
					       json_figure(bus->counters[i].value));
		if (by)
			json_object_object_add(object, cost_columns[c]->name, by);
	}
	return object;
}

static void print_json(FILE *to, const struct cost *cost, const struct bus_row *rows)
{
	struct json_object *report = cost_json_head(&cost->results);
	struct json_object *array = json_object_new_array();

	for (unsigned row = 0; row < cost->results.row_count; row++)
		json_object_array_add(array, row_to_json(&rows[row], cost->results.rows[row].name));
	json_object_object_add(report, "bus", array);
	json_print(to, report);
}

int cost_count_bus(const struct cost *cost, FILE *report, bool json)
{
	struct bus_row *rows = calloc(COST_ROWS_MAX, sizeof(*rows));
	int err = rows ? bus_check(cost->results.device->name, "--bus") : complain("no memory");

	if (!err)
		err = count_all_rows(cost, rows);
	if (!err && json)
		print_json(report, cost, rows);
	else if (!err)
		print_text(report, cost, rows);
	free(rows);
	return err;
}
