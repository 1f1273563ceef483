/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-perf cost: its options, and what is opened for it. */
#include "cost.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"
#include "plain_qp.h"
#include "stepper.h"

enum { QPS_DEPTH = 16, ROUNDS_DEFAULT = 100, ROUNDS_MAX = 100000, REASON_BYTES = 160 };

static struct {
	unsigned qps_list[COST_SIZES_MAX], qps_count;
	struct perf_options common;
	char *rounds, *depth, *op, *columns, *store, *qps;
	int instructions, lines, cold, sweep, bus, spread, is_child;
} options;

static const struct poptOption option_table[] = {
	PERF_OPTIONS(&options.common),
	{ "rounds", 'r', POPT_ARG_STRING, &options.rounds, 0, "rounds (default: 100)", "N" },
	{ "op", 0, POPT_ARG_STRING, &options.op, 0, "only these rows, a comma between two",
	  "OP[,OP...]" },
	{ "columns", 0, POPT_ARG_STRING, &options.columns, 0, "only these columns",
	  "COLUMN[,COLUMN...]" },
	{ "sweep", 0, POPT_ARG_NONE, &options.sweep, 0,
	  "also rows for each length of inline data, in steps of 16 bytes", NULL },
	{ "depth", 0, POPT_ARG_STRING, &options.depth, 0, "depth of the queues (default: 256)",
	  "N" },
	{ "store", 0, POPT_ARG_STRING, &options.store, 0, "Bunsen's BlueFlame store, as BSN_STORE",
	  "STORE" },
	{ "qps", 0, POPT_ARG_STRING, &options.qps, 0,
	  "instead, of posts and polls on so many QPs that take turns; or sweep: 1 to 4096",
	  "N[,N...]|sweep" },
	{ "bus", 0, POPT_ARG_NONE, &options.bus, 0,
	  "instead, what requests ask the bus for; on softcx, not passive", NULL },
	{ "instructions", 'i', POPT_ARG_NONE, &options.instructions, 0,
	  "also count instructions, under valgrind's callgrind", NULL },
	{ "lines", 0, POPT_ARG_NONE, &options.lines, 0,
	  "also count lines of code that an operation executes, likewise", NULL },
	{ "cold", 0, POPT_ARG_NONE, &options.cold, 0,
	  "also time single operations whose code is in no cache", NULL },
	{ "spread", 0, POPT_ARG_INT | POPT_ARGFLAG_DOC_HIDDEN, &options.spread, 0, NULL, NULL },
	{ "under-callgrind", 0, POPT_ARG_NONE | POPT_ARGFLAG_DOC_HIDDEN, &options.is_child, 0, NULL,
	  NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

void cost_spread(struct cost_rig *rig, unsigned qps)
{
	rig->qps = rig->many_qps = qps;
	rig->many_depth = COST_SPREAD_DEPTH;
}

/* -- opening ----------------------------------------------------------------------------------- */

static bool needs(const struct cost *cost, const struct cost_column *column, enum cost_queues kind)
{
	for (unsigned row = 0; row < cost->results.row_count; row++)
		if (cost->results.rows[row].shape.queues == kind &&
		    column->run_of(&cost->results.rows[row]))
			return true;
	return false;
}

static unsigned index_of(const struct cost_column *column)
{
	unsigned c = 0;

	while (cost_columns[c] != column)
		c++;
	return c;
}

static int open_own(struct cost *cost, unsigned c, enum cost_queues kind)
{
	const struct cost_column *column = cost_columns[c];
	static char reasons[COST_COLUMNS][COST_QUEUES_COUNT][REASON_BYTES];
	const char **why_not = &cost->results.why_not[c][kind];
	char *const reason = reasons[c][kind];
	const char *why = NULL;
	const int err = column->open(&cost->rig, kind, &cost->queues[c][kind], &why);

	/* The next failure may have its text in the same place. */
	snprintf(reason, REASON_BYTES, "%s", why ? why : "");
	*why_not = why ? reason : NULL;
	if (!err || why)
		return 0;
	return column == &cost_bunsen ? complain_of("bunsen's queues", err)
				      : complain("%s's queues: %s", column->name, strerror(-err));
}

static int open_queues(struct cost *cost, unsigned c, enum cost_queues kind)
{
	const struct cost_column *column = cost_columns[c];
	const unsigned owner = column->shares ? index_of(column->shares) : c;
	int err = 0;

	if (!cost->results.has_column[c] || !needs(cost, column, kind))
		return 0;
	if (!cost->queues[owner][kind] && !cost->results.why_not[owner][kind])
		err = open_own(cost, owner, kind);
	cost->queues[c][kind] = cost->queues[owner][kind];
	cost->results.why_not[c][kind] = cost->results.why_not[owner][kind];
	return err;
}

static int open_all_queues(struct cost *cost)
{
	int err = 0;

	for (unsigned c = 0; c < COST_COLUMNS && !err; c++)
		for (enum cost_queues kind = 0; kind < COST_QUEUES_COUNT && !err; kind++)
			err = open_queues(cost, c, kind);
	return err;
}

static int allocate(struct cost *cost)
{
	if (posix_memalign((void **)&cost->rig.memory, COST_MEMORY, COST_MEMORY))
		return complain("no memory");
	memset(cost->rig.memory, 0, COST_MEMORY);
	return 0;
}

int cost_open(struct cost *cost, const char *device, bool is_child)
{
	const struct bsn_device_attr verbs = { .path = BSN_PATH_VERBS };
	int err = allocate(cost);

	if (err)
		return err;
	err = bsn_device_open(device, NULL, &cost->rig.device);
	if (err == -ENOTSUP && is_child && !setenv("BSN_STORE", "auto", 1))
		/* valgrind's CPU has fewer stores than this one */
		err = bsn_device_open(device, NULL, &cost->rig.device);
	if (err)
		return complain_of(NULL, err);
	cost->results.device = bsn_device_info(cost->rig.device);
	if (cost->results.device->path == BSN_PATH_DIRECT &&
	    cost->results.has_column[COST_COLUMN_VERBS]) {
		err = bsn_device_open(cost->results.device->name, &verbs, &cost->rig.verbs);
		if (err)
			return complain_of("plain verbs", err);
	}
	cost->results.has_td = plain_qp_has_td(cost->rig.device);
	return 0;
}

static int open_device(struct cost *cost)
{
	if (!options.bus) /* stores are seen only where they are trapped */
		prefer_stepping();
	prefer_sessions();
	if (options.store)
		setenv("BSN_STORE", options.store, 1);
	return cost_open(cost, options.common.device, options.is_child);
}

static void close_all_queues(struct cost *cost)
{
	for (unsigned c = 0; c < COST_COLUMNS; c++)
		for (enum cost_queues kind = 0; kind < COST_QUEUES_COUNT; kind++)
			if (cost->queues[c][kind] && !cost_columns[c]->shares)
				cost_columns[c]->close(cost->queues[c][kind]);
	memset(cost->queues, 0, sizeof(cost->queues));
}

void cost_close(struct cost *cost)
{
	close_all_queues(cost);
	if (cost->rig.verbs)
		bsn_device_close(cost->rig.verbs);
	bsn_device_close(cost->rig.device);
	free(cost->rig.memory);
}

/* -- running ----------------------------------------------------------------------------------- */

int cost_measure(struct cost *cost)
{
	struct cost_results *results = &cost->results;
	int err;

	for (unsigned i = 0; i < COST_ALL_COLUMNS * COST_ROWS_MAX; i++)
		for (enum cost_figure figure = 0; figure < COST_FIGURES; figure++)
			results->figures[i / COST_ROWS_MAX][i % COST_ROWS_MAX].of[figure] = -1;
	memset(results->why_not, 0, sizeof(results->why_not));
	err = open_all_queues(cost);
	if (!err)
		err = cost_time_all(cost);
	close_all_queues(cost); /* the child has its own, and QP numbers are few */
	if (!err && results->wants_instructions)
		err = count_instructions(&cost->rig, results);
	return err || !results->wants_lines ? err : count_lines(&cost->rig, results);
}

static int measure_rows(struct cost *cost, FILE *report)
{
	const int err = cost_measure(cost);

	if (!err && options.common.json)
		cost_print_json(report, &cost->results);
	else if (!err)
		cost_print_text(report, &cost->results);
	return err;
}

static int measure_bus(struct cost *cost, FILE *report)
{
	const int err = open_all_queues(cost);

	return err ? err : cost_count_bus(cost, report, options.common.json);
}

static int measure_and_report(struct cost *cost)
{
	FILE *report = report_open(&options.common);
	int err;

	if (!report)
		return PERF_FAILED;
	err = open_device(cost);
	if (!err)
		err = options.qps   ? cost_sweep_qps(cost, options.qps_list, options.qps_count,
						     report, options.common.json)
		      : options.bus ? measure_bus(cost, report)
				    : measure_rows(cost, report);
	const int unwritten = report_close(report, &options.common);
	return err ? err : unwritten;
}

static int run_in_child(struct cost *cost)
{
	int err = open_device(cost);

	if (!err)
		err = open_all_queues(cost);
	return err ? err : count_all(cost);
}

static bool is_chosen(const struct cost_results *results, const char *name)
{
	for (unsigned row = 0; row < results->row_count; row++)
		if (!strcmp(results->rows[row].name, name))
			return true;
	return false;
}

/* The next word of a list with commas; false: there is none. */
static bool next_word(const char **list, char *word, size_t size)
{
	const size_t length = strcspn(*list, ",");

	snprintf(word, size, "%.*s", (int)length, *list);
	*list += length + ((*list)[length] == ',');
	return length;
}

int cost_add_rows(struct cost_results *results, const char *names)
{
	char name[2 * COST_NAME_BYTES];

	while (next_word(&names, name, sizeof(name)) && results->row_count < COST_ROWS_MAX) {
		if (!cost_find_row(name, &results->rows[results->row_count]))
			return complain_usage("--op %s: there is none; see bsn-perf(1)", name);
		results->row_count += !is_chosen(results, name);
	}
	return 0;
}

unsigned cost_index_of(const struct cost_results *results, const char *name)
{
	unsigned row = 0;

	while (strcmp(results->rows[row].name, name))
		row++;
	return row;
}

static int choose_columns(struct cost_results *results, const char *names)
{
	char name[COST_NAME_BYTES];
	unsigned c;

	for (c = 0; c < COST_COLUMNS; c++)
		results->has_column[c] = !names;
	while (names && next_word(&names, name, sizeof(name))) {
		for (c = 0; c < COST_COLUMNS && strcmp(name, cost_columns[c]->name); c++)
			;
		if (c == COST_COLUMNS)
			return complain_usage("--columns %s: there is none; see bsn-perf(1)", name);
		results->has_column[c] = true;
	}
	return 0;
}

/* Polls and receives ask the bus for nothing by themselves. */
static void leave_requests(struct cost_results *results)
{
	unsigned left = 0;

	for (unsigned row = 0; row < results->row_count; row++)
		if (results->rows[row].shape.what < COST_RECV)
			results->rows[left++] = results->rows[row];
	results->row_count = left;
}

/* How many QPs take turns, and how deep each is. */
static void choose_depths(struct cost_rig *rig, uint32_t depth)
{
	rig->depth = depth;
	rig->many_qps = COST_MANY_QPS;
	rig->many_depth = options.qps ? depth : COST_MANY_DEPTH;
	rig->qps = 1;
	if (options.spread > 1)
		cost_spread(rig, (unsigned)options.spread);
}

static int read_options(poptContext context, struct cost *cost)
{
	int err = parse_options(context);
	uint64_t rounds = ROUNDS_DEFAULT, depth = options.qps ? QPS_DEPTH : COST_DEPTH;

	if (!err && poptPeekArg(context))
		err = complain_usage("cost takes no argument %s", poptPeekArg(context));
	if (!err && options.rounds)
		err = parse_number("rounds", options.rounds, 1, ROUNDS_MAX, &rounds);
	if (!err && options.depth)
		err = parse_number("depth", options.depth, COST_DEPTH_MIN, COST_DEPTH_MAX, &depth);
	if (!err && options.op)
		err = cost_add_rows(&cost->results, options.op);
	else if (!err)
		cost->results.row_count = cost_usual_rows(cost->results.rows, options.sweep);
	if (!err)
		err = choose_columns(&cost->results, options.columns);
	if (!err && options.qps)
		err = cost_parse_qps(options.qps, options.qps_list, &options.qps_count);
	if (options.bus)
		leave_requests(&cost->results);
	cost->results.rounds = (unsigned)rounds;
	cost->results.depth = (uint32_t)depth;
	cost->results.wants_cold = options.cold;
	cost->results.wants_instructions = options.instructions;
	cost->results.wants_lines = options.lines;
	choose_depths(&cost->rig, (uint32_t)depth);
	return err;
}

int cost_main(int argc, const char **argv)
{
	poptContext context = poptGetContext("bsn-perf cost", argc, argv, option_table, 0);
	struct cost *cost = calloc(1, sizeof(*cost));
	int err;

	if (!cost)
		return complain("no memory");
	err = read_options(context, cost);
	if (!err) {
		err = options.is_child ? run_in_child(cost) : measure_and_report(cost);
		cost_close(cost);
	}
	free(cost);
	free(options.rounds);
	free(options.depth);
	free(options.op);
	free(options.columns);
	free(options.store);
	free(options.qps);
	perf_options_free(&options.common);
	poptFreeContext(context);
	return err;
}
