/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bsn-perf recv: the receive side. Rows of `bsn-perf cost`, and what is the difference of two of
 * them; a message there and back (recv_trip.c). All of it once for each number of QPs.
 */
#include "recv.h"

#include <stdlib.h>
#include <string.h>

#include "callgrind.h"
#include "cost.h"
#include "perf.h"
#include "progress.h"
#include "stats.h"
#include "stepper.h"

enum {
	ROUNDS_DEFAULT = 100,
	ROUNDS_MAX = 100000,
	SIZES_DEFAULT = 2,
	MANY_QPS = 1024,
	TRIPS_MAX = 65536, /* one QP each; but so many rounds at least: */
	ROUNDS_MIN = 3,
	TRIP_TURNS = 10,
};

static struct {
	struct perf_options common;
	char *rounds, *qps;
	int instructions, is_child;
} options;

static const struct poptOption option_table[] = {
	PERF_OPTIONS(&options.common),
	{ "rounds", 'r', POPT_ARG_STRING, &options.rounds, 0, "rounds (default: 100)", "N" },
	{ "qps", 0, POPT_ARG_STRING, &options.qps, 0,
	  "on so many QPs that take turns; or sweep: 1 to 4096 (default: 1,1024)", "N[,N...]|sweep" },
	{ "instructions", 'i', POPT_ARG_NONE, &options.instructions, 0,
	  "also count instructions, under valgrind's callgrind", NULL },
	{ "under-callgrind", 0, POPT_ARG_NONE | POPT_ARGFLAG_DOC_HIDDEN, &options.is_child, 0, NULL, NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

/* The receives of one QP, or of many in turn, and what is the same of both. */
static const char lone_row[] = "post_recv_16,", turns_row[] = "post_recv_16_qps,";
static const char rows[] = "post_recv_srq_16,poll_recv_inline,poll_recv_data,poll_recv_16,poll_16_sessions,"
			   "poll_recv,poll_1_sessions,poll_1,poll_1_hidden,wait_1,wait_1_hidden";

/* What one row costs more than another. */
static const struct difference {
	const char *name, *title, *more, *less;
} differences[] = {
	{ "expand", "expansion of a CQE", "poll_16_sessions", "poll_recv_16" },
	{ "expand_one", "the same, polled one by one", "poll_1_sessions", "poll_recv" },
	{ "wait", "a wait that finds one, less a poll", "wait_1", "poll_1" },
	{ "wait_hidden", "the same, for a number not known", "wait_1_hidden", "poll_1_hidden" },
};
enum { DIFFERENCES = sizeof(differences) / sizeof(differences[0]) };

/* All that was measured on so many QPs. */
struct size {
	unsigned qps;
	struct cost_results results;
	struct trip_figures trips[TRIPS];
};

/* -- a message there and back ------------------------------------------------------------------ */

/* The dumps of one trip: all of it, and the marks alone. */
struct dumps {
	double total, empty;
	unsigned count;
};

static void take_dump(void *arg, const struct callgrind_dump *dump)
{
	struct dumps *all = arg;

	for (int by = 0; by < TRIPS; by++) {
		if (strcmp(dump->column, trip_names[by]))
			continue;
		*(strcmp(dump->row, TRIP_EMPTY) ? &all[by].total : &all[by].empty) = dump->total;
		all[by].count = dump->count;
	}
}

static int count_trips(struct size *size)
{
	const struct bsn_device_info *device = size->results.device;
	struct dumps dumps[TRIPS] = { { .count = 0 } };
	char number[16], said[64] = "";
	const char *const args[] = { "recv", "--under-callgrind", "--qps", number, "--device", device->name, NULL };
	int err;

	snprintf(number, sizeof(number), "%u", size->qps);
	show_progress("counting instructions of messages, %u QPs", size->qps);
	err = callgrind_run(device, args, said, sizeof(said), take_dump, dumps);
	end_progress();
	for (int by = 0; by < TRIPS && !err; by++) {
		if (!dumps[by].count)
			return complain("callgrind's output has no counts to be read");
		size->trips[by].instructions = (dumps[by].total - dumps[by].empty) / dumps[by].count;
	}
	return err;
}

/* As many as asked for, while few QPs take turns. */
static unsigned rounds_of(const struct size *size)
{
	const unsigned most = TRIPS_MAX / size->qps > ROUNDS_MIN ? TRIPS_MAX / size->qps : ROUNDS_MIN;

	return size->results.rounds < most ? size->results.rounds : most;
}

static int time_trip(struct bsn_device *device, struct size *size, int by, unsigned rounds, double *ns)
{
	struct trip *trip;
	int err = trip_open(device, by, size->qps, &trip);

	if (err)
		return complain_of(trip_names[by], err);
	show_progress("a message by %s, %u QPs", trip_names[by], size->qps);
	err = trip_time(trip, rounds, ns, &size->trips[by]);
	end_progress();
	trip_close(trip);
	return err;
}

/*
 * Each kind has its turn several times, so that what slows down one of them slows down all. Only
 * one is open at a time, since the model looks at every QP that there is.
 */
static int time_trips(struct bsn_device *device, struct size *size)
{
	const unsigned turns = rounds_of(size) < TRIP_TURNS ? rounds_of(size) : TRIP_TURNS;
	const unsigned rounds = (rounds_of(size) + turns - 1) / turns;
	const unsigned each = rounds * trip_slices(size->qps), all = each * turns;
	double *const ns = calloc(TRIPS * (size_t)all, sizeof(*ns));
	int err = ns ? 0 : complain("no memory");

	for (unsigned i = 0; i < TRIPS * turns && !err; i++) {
		const unsigned by = i % TRIPS, turn = i / TRIPS;
		err = time_trip(device, size, (int)by, rounds, ns + by * all + turn * each);
	}
	for (int by = 0; by < TRIPS && !err; by++) {
		size->trips[by].ns = median_of(ns + (unsigned)by * all, all);
		size->trips[by].instructions = -1;
	}
	free(ns);
	return err;
}

/* -- measuring --------------------------------------------------------------------------------- */

static int measure_size(struct cost *cost, struct size *size)
{
	int err;

	cost_spread(&cost->rig, size->qps);
	cost->results.row_count = 0;
	err = cost_add_rows(&cost->results, size->qps == 1 ? lone_row : turns_row);
	if (!err)
		err = cost_add_rows(&cost->results, rows);
	if (!err)
		err = cost_measure(cost);
	size->results = cost->results;
	if (!err)
		err = time_trips(cost->rig.device, size);
	return err || !options.instructions ? err : count_trips(size);
}

/* In the child. */
static int count_in_child(struct cost *cost, unsigned qps)
{
	struct trip *trip;
	int err = 0;

	for (int by = 0; by < TRIPS && !err; by++) {
		err = trip_open(cost->rig.device, by, qps, &trip);
		if (err)
			return complain_of(trip_names[by], err);
		err = trip_count(trip);
		trip_close(trip);
	}
	return err;
}

/* -- the report -------------------------------------------------------------------------------- */

static double instructions_of(const struct size *size, const struct difference *d)
{
	const struct cost_figures *figures = size->results.figures[COST_COLUMN_BUNSEN];
	const double more = figures[cost_index_of(&size->results, d->more)].of[COST_INSTRUCTIONS];
	const double less = figures[cost_index_of(&size->results, d->less)].of[COST_INSTRUCTIONS];

	return more < 0 || less < 0 ? -1 : more - less;
}

static bool has_instructions(const struct size *size)
{
	return size->results.counted_store[0];
}

static void print_differences(FILE *to, const struct size *size)
{
	fprintf(to, "\ninstructions of Bunsen\n");
	for (unsigned i = 0; i < DIFFERENCES; i++)
		fprintf(to, "%-40s %9.1f\n", differences[i].title, instructions_of(size, &differences[i]));
}

static void print_figure(FILE *to, double value)
{
	if (value < 0)
		fprintf(to, " %12s", "-");
	else
		fprintf(to, " %12.4g", value);
}

static void print_trips(FILE *to, const struct size *size)
{
	fprintf(to, "\nA message of 32 bytes there and back, each way, the device's work included\n%-12s %12s %12s %12s\n",
		"by", "ns", "instructions", "bus requests");
	for (int by = 0; by < TRIPS; by++) {
		const struct trip_figures *f = &size->trips[by];
		fprintf(to, "%-12s", trip_names[by]);
		print_figure(to, f->ns);
		print_figure(to, f->instructions);
		print_figure(to, f->bus_requests);
		fputc('\n', to);
	}
}

static void print_text(FILE *to, const struct size *sizes, unsigned count)
{
	cost_print_head(to, &sizes[0].results);
	for (unsigned i = 0; i < count; i++) {
		fprintf(to, "\n%u QP%s\n", sizes[i].qps, sizes[i].qps == 1 ? "" : "s, which take turns");
		cost_print_tables(to, &sizes[i].results);
		if (has_instructions(&sizes[i]))
			print_differences(to, &sizes[i]);
		print_trips(to, &sizes[i]);
	}
}

static struct json_object *differences_to_json(const struct size *size)
{
	struct json_object *all = json_object_new_object();

	for (unsigned i = 0; i < DIFFERENCES; i++)
		json_object_object_add(all, differences[i].name,
				       json_figure(instructions_of(size, &differences[i])));
	return all;
}

static struct json_object *trip_to_json(const struct trip_figures *f)
{
	struct json_object *object = json_object_new_object(), *bus = json_object_new_object();

	json_object_object_add(object, "ns", json_figure(f->ns));
	if (f->instructions >= 0)
		json_object_object_add(object, "instructions", json_figure(f->instructions));
	for (unsigned i = 0; i < f->bus.count; i++)
		json_object_object_add(bus, f->bus.counters[i].name, json_figure(f->bus.counters[i].value));
	if (f->bus.count) {
		json_object_object_add(object, "bus_requests", json_figure(f->bus_requests));
		json_object_object_add(object, "bus", bus);
	} else {
		json_object_put(bus);
	}
	return object;
}

static struct json_object *size_to_json(const struct size *size)
{
	struct json_object *object = json_object_new_object(), *trips = json_object_new_object();

	json_object_object_add(object, "qps", json_object_new_int((int)size->qps));
	json_object_object_add(object, "rows", cost_json_rows(&size->results));
	if (has_instructions(size))
		json_object_object_add(object, "differences", differences_to_json(size));
	for (int by = 0; by < TRIPS; by++)
		json_object_object_add(trips, trip_names[by], trip_to_json(&size->trips[by]));
	json_object_object_add(object, "trips", trips);
	return object;
}

static void print_json(FILE *to, const struct size *sizes, unsigned count)
{
	struct json_object *report = cost_json_head(&sizes[0].results), *array = json_object_new_array();

	cost_json_add_store(report, &sizes[0].results);
	for (unsigned i = 0; i < count; i++)
		json_object_array_add(array, size_to_json(&sizes[i]));
	json_object_object_add(report, "sizes", array);
	json_print(to, report);
}

/* -- all of it --------------------------------------------------------------------------------- */

static int measure_all(struct cost *cost, const unsigned *qps, unsigned count, FILE *report)
{
	struct size *sizes = calloc(count, sizeof(*sizes));
	int err = sizes ? 0 : complain("no memory");

	for (unsigned i = 0; i < count && !err; i++) {
		sizes[i].qps = qps[i];
		err = measure_size(cost, &sizes[i]);
	}
	if (!err && options.common.json)
		print_json(report, sizes, count);
	else if (!err)
		print_text(report, sizes, count);
	free(sizes);
	return err;
}

static int measure_and_report(struct cost *cost, const unsigned *qps, unsigned count)
{
	FILE *report = report_open(&options.common);
	int err = report ? 0 : PERF_FAILED, unwritten;

	if (err)
		return err;
	prefer_stepping();
	prefer_sessions();
	err = cost_open(cost, options.common.device, false);
	if (!err)
		err = measure_all(cost, qps, count, report);
	unwritten = report_close(report, &options.common);
	return err ? err : unwritten;
}

static int count_as_child(struct cost *cost, unsigned qps)
{
	int err;

	prefer_stepping();
	err = cost_open(cost, options.common.device, true);
	return err ? err : count_in_child(cost, qps);
}

static int read_options(poptContext context, struct cost *cost, unsigned qps[COST_SIZES_MAX], unsigned *count)
{
	uint64_t rounds = ROUNDS_DEFAULT;
	int err = parse_options(context);

	if (!err && poptPeekArg(context))
		err = complain_usage("recv takes no argument %s", poptPeekArg(context));
	if (!err && options.rounds)
		err = parse_number("rounds", options.rounds, 1, ROUNDS_MAX, &rounds);
	if (!err && options.qps)
		err = cost_parse_qps(options.qps, qps, count);
	cost->results.rounds = (unsigned)rounds;
	cost->results.depth = cost->rig.depth = COST_DEPTH;
	cost->results.wants_instructions = options.instructions;
	cost->results.has_column[COST_COLUMN_BUNSEN] = true;
	cost->results.has_column[COST_COLUMN_IBV_WR] = cost->results.has_column[COST_COLUMN_IBV] = true;
	return err;
}

int recv_main(int argc, const char **argv)
{
	poptContext context = poptGetContext("bsn-perf recv", argc, argv, option_table, 0);
	unsigned qps[COST_SIZES_MAX] = { 1, MANY_QPS }, count = SIZES_DEFAULT;
	struct cost *cost = calloc(1, sizeof(*cost));
	int err;

	if (!cost)
		return complain("no memory");
	err = read_options(context, cost, qps, &count);
	if (!err) {
		err = options.is_child ? count_as_child(cost, qps[0]) : measure_and_report(cost, qps, count);
		cost_close(cost);
	}
	free(cost);
	free(options.rounds);
	free(options.qps);
	perf_options_free(&options.common);
	poptFreeContext(context);
	return err;
}
