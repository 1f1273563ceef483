/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bsn-perf cost: in rounds, each operation by each column in turn, so that whatever disturbs the
 * machine disturbs all of them; the median of the rounds is the figure.
 */
#include "cost.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf.h"
#include "stats.h"
#include "stepper.h"

#define NAME_OF(name, batch) [COST_##name] = #name,
const char *const cost_op_names[COST_OP_COUNT] = { COST_OPS(NAME_OF) };
#undef NAME_OF

const struct cost_column *const cost_columns[COST_COLUMNS] = { &cost_bunsen, &cost_ibv_wr,
							       &cost_ibv, &cost_floor };

enum { ROUNDS_DEFAULT = 200, ROUNDS_MAX = 100000, SETTLE_NS = 500 * 1000, COUNT_REPEATS = 4 };

static struct {
	struct perf_options common;
	char *rounds, *op;
	int instructions, is_child;
} options;

static const struct poptOption option_table[] = {
	PERF_OPTIONS(&options.common),
	{ "rounds", 'r', POPT_ARG_STRING, &options.rounds, 0, "rounds (default: 200)", "N" },
	{ "op", 0, POPT_ARG_STRING, &options.op, 0, "only these operations, a comma between two",
	  "OP,…" },
	{ "instructions", 'i', POPT_ARG_NONE, &options.instructions, 0,
	  "also count instructions, under valgrind's callgrind", NULL },
	{ "under-callgrind", 0, POPT_ARG_NONE | POPT_ARGFLAG_DOC_HIDDEN, &options.is_child, 0, NULL,
	  NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

struct cost {
	struct cost_rig rig;
	struct bsn_mr *buf;
	void *queues[COST_COLUMNS]; /* NULL: the column is left out */
	struct cost_results results;
	double *samples[COST_COLUMNS][COST_OP_COUNT];
	unsigned sample_count[COST_COLUMNS][COST_OP_COUNT];
	double clock_ns; /* that reading the clock takes */
};

/* -- one region --------------------------------------------------------------------------------- */

/* The device does what was posted; one that cannot be asked whether it did gets time. */
static void let_device_work(void)
{
	const uint64_t start = now_ns();

	if (is_stepped()) {
		step();
		return;
	}
	while (now_ns() - start < SETTLE_NS)
		;
}

static bool polls_completions(enum cost_op op)
{
	return op == COST_poll_1 || op == COST_poll_16;
}

/* What must be there before @count operations. */
static int prepare(const struct cost_column *column, void *queue, enum cost_op op, unsigned count)
{
	int bad = 0;

	if (op == COST_send)
		bad = column->post_recv(queue, count);
	if (polls_completions(op)) {
		bad = column->run[COST_write_sge](queue, count);
		let_device_work();
	}
	return bad;
}

/* What is left behind by them is taken away. */
static int settle(const struct cost_column *column, void *queue, enum cost_op op, unsigned count)
{
	int bad = 0;

	if (polls_completions(op) || op == COST_poll_empty)
		return 0;
	if (op == COST_post_recv)
		bad = column->run[COST_send](queue, count);
	if (bad)
		return bad;
	if (is_stepped())
		step();
	bad = column->drain(queue, count);
	if (!bad && (op == COST_post_recv || op == COST_send))
		bad = column->drain_recv(queue, count);
	return bad;
}

/* Takes the time of a run, or counts its instructions. */
struct meter {
	void (*measure)(struct meter *meter, const struct cost_column *column, void *queue,
			enum cost_op op, unsigned count);
	uint64_t ns;
	int bad;
};

static int measure(struct meter *meter, const struct cost_column *column, void *queue,
		   enum cost_op op, unsigned count)
{
	int bad = prepare(column, queue, op, COST_WARM + count);

	if (bad)
		return bad;
	bad = column->run[op](queue, COST_WARM);
	meter->bad = 0;
	if (!bad)
		meter->measure(meter, column, queue, op, count);
	if (bad == COST_LATE) /* of the warm ones; the others will have come by then */
		bad = column->drain(queue, count);
	else if (!bad)
		bad = meter->bad;
	if (bad && bad != COST_LATE)
		return bad;
	const int left = settle(column, queue, op, COST_WARM + count);
	return left ? left : bad;
}

static int complain_of_run(const struct cost_column *column, enum cost_op op, int bad)
{
	return complain("%s by %s: %s", cost_op_names[op], column->name,
			bad > 0             ? ibv_wc_status_str((enum ibv_wc_status)bad)
			: bad == -ETIMEDOUT ? "completions are missing"
					    : strerror(-bad));
}

/* -- time --------------------------------------------------------------------------------------- */

static void measure_time(struct meter *meter, const struct cost_column *column, void *queue,
			 enum cost_op op, unsigned count)
{
	const uint64_t start = now_ns();

	meter->bad = column->run[op](queue, count);
	meter->ns = now_ns() - start;
}

static double time_clock(void)
{
	double samples[1000];

	for (size_t i = 0; i < 1000; i++) {
		const uint64_t start = now_ns();
		samples[i] = (double)(now_ns() - start);
	}
	return median_of(samples, 1000);
}

static bool is_wanted(const struct cost *cost, unsigned column, enum cost_op op)
{
	return cost->queues[column] && cost->results.wanted[op] && cost_columns[column]->run[op];
}

static int time_one(struct cost *cost, unsigned column, enum cost_op op)
{
	struct meter meter = { .measure = measure_time };
	const int bad = measure(&meter, cost_columns[column], cost->queues[column], op, COST_COUNT);
	double ns;

	if (bad == COST_LATE)
		return 0;
	if (bad)
		return complain_of_run(cost_columns[column], op, bad);
	ns = ((double)meter.ns - cost->clock_ns) / COST_COUNT;
	cost->samples[column][op][cost->sample_count[column][op]++] = ns > 0 ? ns : 0;
	return 0;
}

static void show_progress(unsigned round, unsigned rounds)
{
	static bool is_terminal, asked;

	if (!asked)
		is_terminal = isatty(STDERR_FILENO);
	asked = true;
	if (!is_terminal)
		return;
	if (round == rounds)
		fputs("\r\033[K", stderr);
	else
		fprintf(stderr, "\rbsn-perf: round %u of %u", round + 1, rounds);
}

static int time_all(struct cost *cost)
{
	const unsigned rounds = cost->results.rounds;
	int err = 0;

	cost->clock_ns = time_clock();
	for (unsigned round = 0; round < rounds && !err; round++) {
		show_progress(round, rounds);
		for (unsigned op = 0; op < COST_OP_COUNT && !err; op++)
			for (unsigned c = 0; c < COST_COLUMNS && !err; c++)
				if (is_wanted(cost, c, op))
					err = time_one(cost, c, op);
	}
	show_progress(rounds, rounds);
	return err;
}

static int sum_up(struct cost *cost)
{
	for (unsigned op = 0; op < COST_OP_COUNT; op++) {
		for (unsigned c = 0; c < COST_COLUMNS; c++) {
			struct cost_figures *f = &cost->results.figures[c][op];
			const size_t count = cost->sample_count[c][op];
			if (!is_wanted(cost, c, op))
				continue;
			if (!count)
				return complain("%s by %s: completions always came too late to be "
						"timed",
						cost_op_names[op], cost_columns[c]->name);
			f->ns = median_of(cost->samples[c][op], count);
			f->ns_min = min_of(cost->samples[c][op], count);
		}
	}
	return 0;
}

/* -- instructions, in the child ------------------------------------------------------------------ */

static void measure_instructions(struct meter *meter, const struct cost_column *column, void *queue,
				 enum cost_op op, unsigned count)
{
	callgrind_begin();
	meter->bad = column->run[op](queue, count);
	callgrind_end(column->name, cost_op_names[op], count);
}

/*
 * A short region and a long one, some times over: what happens once in many operations (credits, the
 * end of a ring) then counts for its share. What happens only once is over before.
 */
static int count_one(const struct cost_column *c, void *queue, enum cost_op op)
{
	struct meter once = { .measure = measure_time };
	struct meter meter = { .measure = measure_instructions };
	int bad = measure(&once, c, queue, op, COST_COUNT);

	for (unsigned i = 0; i < COUNT_REPEATS && !bad; i++) {
		bad = measure(&meter, c, queue, op, COST_WARM);
		if (!bad)
			bad = measure(&meter, c, queue, op, COST_COUNT);
	}
	return bad ? complain_of_run(c, op, bad) : 0;
}

static int count_all(struct cost *cost)
{
	int err = 0;

	if (!callgrind_is_there())
		return complain("--under-callgrind: this is not callgrind");
	printf("store %s\n", store_name(cost->results.device));
	for (unsigned op = 0; op < COST_OP_COUNT && !err; op++) {
		err = count_one(&cost_nothing, NULL, op);
		for (unsigned c = 0; c < COST_COLUMNS && !err; c++)
			if (is_wanted(cost, c, op))
				err = count_one(cost_columns[c], cost->queues[c], op);
	}
	return err;
}

/* -- all of it ---------------------------------------------------------------------------------- */

static int choose_ops(struct cost_results *results, char *list)
{
	char *rest = list, *word;

	for (unsigned op = 0; op < COST_OP_COUNT; op++)
		results->wanted[op] = !list;
	while (rest && (word = strsep(&rest, ","))) {
		unsigned op = 0;
		while (op < COST_OP_COUNT && strcmp(word, cost_op_names[op]))
			op++;
		if (op == COST_OP_COUNT)
			return complain_usage("--op %s: no such operation; see bsn-perf(1)", word);
		results->wanted[op] = true;
	}
	return 0;
}

static int open_columns(struct cost *cost)
{
	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		const struct cost_column *column = cost_columns[c];
		const int err =
			column->open(&cost->rig, &cost->queues[c], &cost->results.why_not[c]);
		if (err && !cost->results.why_not[c])
			return column == &cost_bunsen
				       ? complain_of("bunsen's queues", err)
				       : complain("%s's queues: %s", column->name, strerror(-err));
	}
	return 0;
}

static int allocate(struct cost *cost)
{
	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		for (unsigned op = 0; op < COST_OP_COUNT; op++) {
			cost->results.figures[c][op] = (struct cost_figures){ -1, -1, -1 };
			cost->samples[c][op] = calloc(cost->results.rounds, sizeof(double));
			if (!cost->samples[c][op])
				return complain("no memory");
		}
	}
	if (posix_memalign((void **)&cost->rig.memory, COST_MEMORY, COST_MEMORY))
		return complain("no memory");
	memset(cost->rig.memory, 0, COST_MEMORY);
	return 0;
}

static int open_all(struct cost *cost)
{
	int err = allocate(cost);

	if (err)
		return err;
	prefer_stepping();
	err = bsn_device_open(options.common.device, NULL, &cost->rig.device);
	if (err == -ENOTSUP && options.is_child && !setenv("BSN_STORE", "auto", 1))
		/* valgrind's CPU has fewer stores than this one */
		err = bsn_device_open(options.common.device, NULL, &cost->rig.device);
	if (err)
		return complain_of(NULL, err);
	cost->results.device = bsn_device_info(cost->rig.device);
	return open_columns(cost);
}

static void close_all(struct cost *cost)
{
	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		if (cost->queues[c])
			cost_columns[c]->close(cost->queues[c]);
		for (unsigned op = 0; op < COST_OP_COUNT; op++)
			free(cost->samples[c][op]);
	}
	bsn_device_close(cost->rig.device);
	free(cost->rig.memory);
}

static int measure_and_report(struct cost *cost)
{
	FILE *report = report_open(&options.common);
	int err;

	if (!report)
		return PERF_FAILED;
	err = open_all(cost);
	if (!err)
		err = time_all(cost);
	if (!err)
		err = sum_up(cost);
	if (!err && options.instructions)
		err = count_instructions(&cost->results);
	if (!err && options.common.json)
		cost_print_json(report, &cost->results);
	else if (!err)
		cost_print_text(report, &cost->results);
	const int unwritten = report_close(report, &options.common);
	return err ? err : unwritten;
}

static int run_in_child(struct cost *cost)
{
	const int err = open_all(cost);

	return err ? err : count_all(cost);
}

static int read_options(poptContext context, struct cost *cost)
{
	uint64_t rounds = ROUNDS_DEFAULT;
	int err = parse_options(context);

	if (!err && poptPeekArg(context))
		err = complain_usage("cost takes no argument %s", poptPeekArg(context));
	if (!err && options.rounds)
		err = parse_number("rounds", options.rounds, 1, ROUNDS_MAX, &rounds);
	if (!err)
		err = choose_ops(&cost->results, options.op);
	cost->results.rounds = (unsigned)rounds;
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
		close_all(cost);
	}
	free(cost);
	free(options.rounds);
	free(options.op);
	perf_options_free(&options.common);
	poptFreeContext(context);
	return err;
}
