/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-perf cost: its options, and what is opened for it. */
#include "cost.h"

#include <stdlib.h>
#include <string.h>

enum { SIZES_MAX = 16 };

enum { ROUNDS, DEPTH, NUMBERS };
static struct perf_number numbers[NUMBERS] = {
	[ROUNDS] = { "rounds", 'r', 1, 100000, 100, "rounds (default: 100)", "N" },
	[DEPTH] = { "depth", 0, COST_DEPTH_MIN, COST_DEPTH_MAX, COST_DEPTH,
		"depth of the queues (default: 256)", "N" },
};

static struct {
	char *op, *columns, *qps;
	int instructions, lines, cold, bus, under_callgrind;
} options;

static const struct poptOption option_table[] = {
	PERF_OPTIONS,
	{ "op", 0, POPT_ARG_STRING, &options.op, 0,
	  "only these rows, or groups: usual, layouts, memory, receives", "OP[,OP...]" },
	{ "columns", 0, POPT_ARG_STRING, &options.columns, 0, "only these columns",
	  "COLUMN[,COLUMN...]" },
	{ "qps", 0, POPT_ARG_STRING, &options.qps, 0,
	  "on so many QPs that take turns; or sweep: 1 to 4096", "N[,N...]|sweep" },
	{ "bus", 0, POPT_ARG_NONE, &options.bus, 0,
	  "instead, what requests ask the bus for; on softcx, not passive", NULL },
	{ "instructions", 'i', POPT_ARG_NONE, &options.instructions, 0,
	  "also count instructions, under valgrind's callgrind", NULL },
	{ "lines", 0, POPT_ARG_NONE, &options.lines, 0,
	  "also count lines of code that an operation executes, likewise", NULL },
	{ "cold", 0, POPT_ARG_NONE, &options.cold, 0,
	  "also time single operations whose code is in no cache", NULL },
	{ "under-callgrind", 0, POPT_ARG_NONE | POPT_ARGFLAG_DOC_HIDDEN, &options.under_callgrind,
	  0, NULL, NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

/* -- opening ----------------------------------------------------------------------------------- */

static void close_queue(struct cost *cost, unsigned c, enum cost_queues kind)
{
	if (cost->queues[c][kind])
		cost_column_of(c, kind)->close(cost->queues[c][kind]);
	free(cost->queues[c][kind]);
	cost->queues[c][kind] = NULL;
}

static int open_once(struct cost *cost, unsigned c, enum cost_queues kind)
{
	const struct cost_column *column = cost_column_of(c, kind);
	void **const queue = &cost->queues[c][kind];
	struct cost_rig rig = cost->rig;
	const char *why;
	int err;

	if (*queue || *cost->why_not[c][kind])
		return 0;
	rig.is_other = column->is_other;
	*queue = calloc(1, column->size);
	err = *queue ? column->make(*queue, &rig, kind) : -ENOMEM;
	if (!err)
		return 0;
	why = rig.why_not;
	if (err == -EOPNOTSUPP && !why && *bsn_error_text())
		why = bsn_error_text();
	if (why)
		snprintf(cost->why_not[c][kind], COST_REASON_BYTES, "%s", why);
	else
		complain("%s's queues: %s", cost_column_names[c], error_text(err));
	close_queue(cost, c, kind);
	return why ? 0 : PERF_FAILED;
}

static bool needs(const struct cost *cost, unsigned c, enum cost_queues kind)
{
	const struct cost_column *column = cost_column_of(c, kind);
	unsigned r = 0;

	while (r < cost->row_count && (cost->rows[r].shape.queues != kind || !column ||
				       !column->run_of(&cost->rows[r])))
		r++;
	return cost->has_column[c] && r < cost->row_count;
}

static int open_all_queues(struct cost *cost)
{
	int err = 0;

	for (unsigned c = 0; c < COST_COLUMNS; c++)
		for (enum cost_queues kind = 0; kind < COST_QUEUES_COUNT && !err; kind++)
			if (needs(cost, c, kind))
				err = open_once(cost, cost_owner_of(c, kind), kind);
	return err;
}

/* Whether queues of plain verbs are on a thread domain. */
static bool has_td(struct ibv_context *context)
{
	struct ibv_td_init_attr attr = { .comp_mask = 0 };
	struct ibv_td *td = ibv_alloc_td(context, &attr);

	if (td)
		ibv_dealloc_td(td);
	return td;
}

static int open_device(struct cost *cost)
{
	static _Alignas(COST_MEMORY) uint8_t memory[COST_MEMORY];
	struct bsn_device_attr verbs = { .path = BSN_PATH_VERBS };
	int err;

	/* Stores are seen only where they are trapped. */
	if (!options.bus || options.under_callgrind)
		prefer_stepping();
	prefer_sessions();
	cost->rig.memory = memory;
	cost->rig.memory_bytes = sizeof(memory);
	err = perf_open_device(NULL, &cost->rig.device);
	if (err)
		return err;
	cost->device = bsn_device_info(cost->rig.device);
	verbs.store = cost->device->store; /* else it would be BSN_STORE */
	if (cost->device->path == BSN_PATH_DIRECT) {
		err = bsn_device_open(cost->device->name, &verbs, &cost->rig.verbs);
		if (err)
			return complain_of("plain verbs", err);
	}
	cost->has_td = has_td(cost->device->verbs);
	return 0;
}

static void close_queues(struct cost *cost)
{
	for (unsigned c = 0; c < COST_COLUMNS; c++)
		for (enum cost_queues kind = 0; kind < COST_QUEUES_COUNT; kind++)
			close_queue(cost, c, kind);
}

static void close_device(struct cost *cost)
{
	close_queues(cost);
	for (unsigned r = 0; r < cost->row_count; r++)
		json_object_put(cost->told[r]);
	if (cost->rig.verbs)
		bsn_device_close(cost->rig.verbs);
	bsn_device_close(cost->rig.device);
}

/* -- running ----------------------------------------------------------------------------------- */

static int measure_rows(struct cost *cost)
{
	int err;

	for (unsigned r = 0; r < cost->row_count; r++) {
		json_object_put(cost->told[r]);
		cost->told[r] = json_object_new_object();
		json_add_text(cost->told[r], "op", cost->rows[r].name);
	}
	memset(cost->why_not, 0, sizeof(cost->why_not));
	err = open_all_queues(cost);
	if (!err)
		err = options.bus ? cost_count_bus(cost) : cost_time_all(cost, options.cold);
	close_queues(cost); /* the child has its own, and QP numbers are few */
	if (err || !(options.instructions || options.lines))
		return err;
	return cost_count(cost, options.instructions, options.lines);
}

/* @report: JSON, or NULL: as text */
static void tell(struct cost *cost, FILE *to, struct json_object *report)
{
	const unsigned qps = cost->rig.qps;
	struct json_object *into = report;

	if (!report) {
		if (qps)
			fprintf(to, "\n%u QP%s\n", qps, qps == 1 ? "" : "s, which take turns");
		cost_print_tables(to, cost);
		return;
	}
	if (qps) {
		into = json_add_to_list(report, "sizes");
		json_add_number(into, "qps", qps);
	}
	json_object_object_add(into, "rows", cost_json_rows(cost));
}

/* @qps: @count numbers, or a 0 */
static int measure(struct cost *cost, const unsigned *qps, unsigned count, FILE *to)
{
	struct json_object *report = perf_options.json ? json_object_new_object() : NULL;
	int err = 0;

	for (unsigned i = 0; (!i || i < count) && !err; i++) {
		cost->rig.qps = qps[i];
		err = measure_rows(cost);
		if (!err && !i)
			cost_tell_head(to, report, cost);
		if (!err)
			tell(cost, to, report);
	}
	if (!err && report)
		json_print(to, report);
	else
		json_object_put(report);
	return err;
}

/* -- options ----------------------------------------------------------------------------------- */

/* Polls and receives ask the bus for nothing by themselves. */
static void add_row(struct cost *cost, const struct cost_row *row)
{
	if (options.bus && !cost_asks_bus(row->shape.what))
		return;
	for (unsigned i = 0; i < cost->row_count; i++)
		if (!strcmp(cost->rows[i].name, row->name))
			return;
	if (cost->row_count < COST_ROWS_MAX)
		cost->rows[cost->row_count++] = *row;
}

static int choose_rows(struct cost *cost, char *names)
{
	const char *name;

	while ((name = strsep(&names, ","))) {
		struct cost_row rows[COST_ROWS_MAX];
		unsigned count = cost_group_rows(name, rows);

		if (!count && !cost_find_row(name, &rows[count++]))
			return complain_usage("--op %s: there is none; see bsn-perf(1)", name);
		for (unsigned i = 0; i < count; i++)
			add_row(cost, &rows[i]);
	}
	return 0;
}

static int choose_columns(struct cost *cost, char *names)
{
	const char *name;

	for (unsigned c = 0; c < COST_COLUMNS; c++)
		cost->has_column[c] = !names;
	while ((name = strsep(&names, ","))) {
		const int c = find_name(name, cost_column_names, COST_COLUMNS);

		if (c < 0)
			return complain_usage("--columns %s: there is none; see bsn-perf(1)", name);
		cost->has_column[c] = true;
	}
	return 0;
}

static int choose_qps(char *list, unsigned qps[SIZES_MAX], unsigned *count)
{
	struct perf_number number = { .name = "qps", .min = 1, .max = COST_QPS_MAX };

	if (!*list)
		return complain_usage("--qps: no number");
	if (strcmp(list, "sweep"))
		return parse_numbers(&number, list, qps, SIZES_MAX, count);
	for (unsigned n = 1; n <= COST_QPS_MAX; n *= 4)
		qps[(*count)++] = n;
	return 0;
}

static struct cost cost;
static unsigned qps_counts[SIZES_MAX], size_count; /* of --qps */

static int read_all(poptContext context)
{
	static char usual[] = "usual", by_qps[] = "write_512_qps,poll_512_qps";

	(void)context;
	if (options.qps && !number_given[DEPTH])
		numbers[DEPTH].value = COST_MANY_DEPTH;
	if (choose_rows(&cost, options.op ? options.op : options.qps ? by_qps : usual) ||
	    choose_columns(&cost, options.columns) ||
	    (options.qps && choose_qps(options.qps, qps_counts, &size_count)))
		return PERF_USAGE;
	cost.rounds = (unsigned)numbers[ROUNDS].value;
	cost.rig.depth = (uint32_t)numbers[DEPTH].value;
	cost.rig.qps = qps_counts[0];
	return 0;
}

static int count(void)
{
	if (open_all_queues(&cost))
		return PERF_FAILED;
	return cost_count_in_child(&cost, options.instructions, options.lines);
}

static int run(FILE *report)
{
	int err = open_device(&cost);

	if (!err)
		err = options.under_callgrind ? count()
					      : measure(&cost, qps_counts, size_count, report);
	close_device(&cost);
	return err;
}

const struct perf_command cost_command = {
	"cost",
	"CPU cost of each operation: posts, polls, layouts, registrations; beside libibverbs",
	NULL, option_table, numbers, NUMBERS, read_all, run,
};
