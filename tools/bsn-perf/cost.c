/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-perf cost: its options, and what is opened for it. */
#include "cost.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"
#include "plain_qp.h"
#include "stepper.h"

enum { QPS_DEPTH = 16, ROUNDS_DEFAULT = 100, ROUNDS_MAX = 100000 };

static struct {
	unsigned qps_list[COST_SIZES_MAX], qps_count;
	struct perf_options common;
	char *rounds, *depth, *op, *columns, *store, *qps;
	int instructions, sweep, bus, spread, is_child;
} options;

static const struct poptOption option_table[] = {
	PERF_OPTIONS(&options.common),
	{ "rounds", 'r', POPT_ARG_STRING, &options.rounds, 0, "rounds (default: 100)", "N" },
	{ "op", 0, POPT_ARG_STRING, &options.op, 0, "only these rows, a comma between two",
	  "OP[,OP...]" },
	{ "columns", 0, POPT_ARG_STRING, &options.columns, 0, "only these columns", "COLUMN[,COLUMN...]" },
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

/* -- opening ------------------------------------------------------------------------------------- */

static bool needs(const struct cost *cost, const struct cost_column *column, enum cost_queues kind)
{
	for (enum cost_row row = 0; row < COST_ROW_COUNT; row++)
		if (cost->results.wanted[row] && cost_shapes[row].queues == kind &&
		    column->run_of(row))
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
	const char **why_not = &cost->results.why_not[c][kind];
	const int err = column->open(&cost->rig, kind, &cost->queues[c][kind], why_not);

	if (!err || *why_not)
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
	bsn_device_close(cost->rig.device);
	free(cost->rig.memory);
}

/* -- running ------------------------------------------------------------------------------------- */

int cost_measure(struct cost *cost, bool counts)
{
	int err;

	for (unsigned c = 0; c < COST_COLUMNS; c++)
		for (enum cost_row row = 0; row < COST_ROW_COUNT; row++)
			cost->results.figures[c][row] = (struct cost_figures){ -1, -1, -1, -1 };
	memset(cost->results.why_not, 0, sizeof(cost->results.why_not));
	err = open_all_queues(cost);
	if (!err)
		err = cost_time_all(cost);
	close_all_queues(cost); /* the child has its own, and QP numbers are few */
	return err || !counts ? err : count_instructions(&cost->rig, &cost->results);
}

static int measure_rows(struct cost *cost, FILE *report)
{
	const int err = cost_measure(cost, options.instructions);

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

/* Which of the @count names are in the list; where there is none, the first @usual. */
static int choose(const char *option, char *list, const char *(*name_of)(unsigned), unsigned count,
		  unsigned usual, bool *chosen)
{
	char *rest = list, *word;

	for (unsigned i = 0; i < count; i++)
		chosen[i] = !list && i < usual;
	while (rest && (word = strsep(&rest, ","))) {
		unsigned i = 0;
		while (i < count && strcmp(word, name_of(i)))
			i++;
		if (i == count)
			return complain_usage("--%s %s: there is none; see bsn-perf(1)", option,
					      word);
		chosen[i] = true;
	}
	return 0;
}

static const char *row_name(unsigned row)
{
	return cost_shapes[row].name;
}

static const char *column_name(unsigned column)
{
	return cost_columns[column]->name;
}

/* Polls and receives ask the bus for nothing by themselves. */
static void leave_requests(bool *wanted)
{
	for (enum cost_row row = 0; row < COST_ROW_COUNT; row++)
		wanted[row] &= cost_shapes[row].what < COST_RECV;
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
	if (!err)
		err = choose("op", options.op, row_name, COST_ROW_COUNT,
			     options.sweep ? COST_SWEEP_COUNT : COST_USUAL_COUNT,
			     cost->results.wanted);
	if (!err)
		err = choose("columns", options.columns, column_name, COST_COLUMNS, COST_COLUMNS,
			     cost->results.has_column);
	cost->results.rounds = (unsigned)rounds;
	if (!err && options.qps)
		err = cost_parse_qps(options.qps, options.qps_list, &options.qps_count);
	if (options.bus)
		leave_requests(cost->results.wanted);
	cost->rig.many_qps = COST_MANY_QPS;
	cost->rig.many_depth = COST_MANY_DEPTH;
	cost->rig.qps = 1;
	if (options.qps)
		cost->rig.many_depth = (uint32_t)depth;
	if (cost->results.wanted[COST_ROW_post_recv_16_qps])
		cost->rig.many_depth = COST_BATCH_MAX;
	if (options.spread > 1)
		cost_spread(&cost->rig, (unsigned)options.spread);
	cost->results.depth = cost->rig.depth = (uint32_t)depth;
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
