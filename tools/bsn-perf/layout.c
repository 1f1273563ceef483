/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-perf layout: its options, what is opened for it, and its times. */
#include "layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"
#include "progress.h"
#include "stats.h"
#include "stepper.h"
#include "watch.h"

enum { ROUNDS_DEFAULT = 100, ROUNDS_MAX = 100000 };

static struct {
	struct perf_options common;
	char *rounds, *op;
	int instructions, counts, counts_bus;
} options;

static const struct poptOption option_table[] = {
	PERF_OPTIONS(&options.common),
	{ "rounds", 'r', POPT_ARG_STRING, &options.rounds, 0, "rounds (default: 100)", "N" },
	{ "op", 0, POPT_ARG_STRING, &options.op, 0, "only these rows, a comma between two",
	  "OP[,OP...]" },
	{ "instructions", 'i', POPT_ARG_NONE, &options.instructions, 0,
	  "also count instructions, under valgrind's callgrind", NULL },
	{ "under-callgrind", 0, POPT_ARG_NONE | POPT_ARGFLAG_DOC_HIDDEN, &options.counts, 0, NULL,
	  NULL },
	{ "under-softcx", 0, POPT_ARG_NONE | POPT_ARGFLAG_DOC_HIDDEN, &options.counts_bus, 0, NULL,
	  NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

/* -- time ------------------------------------------------------------------------------------- */

typedef double (*samples_of)[LAYOUT_ROW_COUNT];

static int time_round(const struct layout *layout, double samples[LAYOUT_SIDES][LAYOUT_ROW_COUNT])
{
	struct watch watch;
	const struct layout_meter meter = { watch_begin, watch_end, &watch };
	int err = 0;

	for (unsigned row = 0; row < LAYOUT_ROW_COUNT && !err; row++) {
		for (unsigned side = 0; side < LAYOUT_SIDES && !err; side++) {
			if (!layout_find_run(layout, side, row))
				continue;
			err = layout_region(layout, side, row, layout_rows[row].count, &meter);
			samples[side][row] = (double)watch.ns / layout_rows[row].count;
		}
	}
	return err;
}

static void sum_up(struct layout *layout, const samples_of all)
{
	double *of = calloc(layout->rounds, sizeof(*of));

	for (unsigned side = 0; side < LAYOUT_SIDES && of; side++) {
		for (unsigned row = 0; row < LAYOUT_ROW_COUNT; row++) {
			struct layout_figures *f = &layout->figures[side][row];
			f->is_there = layout_find_run(layout, side, row);
			for (unsigned round = 0; round < layout->rounds; round++)
				of[round] = all[round * LAYOUT_SIDES + side][row];
			f->ns = median_of(of, layout->rounds);
			f->ns_p10 = percentile_of(of, layout->rounds, 10);
		}
	}
	free(of);
}

/* Runs a round before, in which things happen for the first time. */
static int time_all(struct layout *layout)
{
	const samples_of samples = calloc(layout->rounds * LAYOUT_SIDES, sizeof(*samples));
	int err = samples ? time_round(layout, samples) : complain("no memory");

	for (unsigned round = 0; round < layout->rounds && !err; round++) {
		show_progress("round %u of %u", round + 1, layout->rounds);
		err = time_round(layout, samples + round * LAYOUT_SIDES);
	}
	end_progress();
	if (!err)
		sum_up(layout, samples);
	free(samples);
	return err;
}

/* -- opening ---------------------------------------------------------------------------------- */

static int open_sides(struct layout *layout)
{
	int err = 0;

	for (unsigned side = 0; side < LAYOUT_SIDES && !err; side++)
		if (layout_sides[side]->open)
			err = layout_sides[side]->open(&layout->rig, &layout->states[side],
						       &layout->why_not[side]);
	for (unsigned side = 0; side < LAYOUT_SIDES; side++)
		if (layout_sides[side]->shares)
			layout->states[side] = layout->states[LAYOUT_SIDE_BUNSEN];
	return err;
}

static void close_sides(struct layout *layout)
{
	for (unsigned side = 0; side < LAYOUT_SIDES; side++)
		if (layout->states[side] && !layout_sides[side]->shares)
			layout_sides[side]->close(layout->states[side]);
	memset(layout->states, 0, sizeof(layout->states));
}

static void fill(const struct layout_rig *rig)
{
	uint64_t *words = (uint64_t *)(void *)rig->memory;

	for (size_t i = 0; i < LAYOUT_MEMORY / sizeof(*words); i++)
		words[i] = i;
}

static bool has_pages(struct bsn_device *device)
{
	const struct bsn_mkey_pool_attr attr = { .count = 1, .page_bytes = LAYOUT_PAGE };
	struct bsn_mkey_pool *pool;

	if (bsn_mkey_pool_create(device, &attr, &pool))
		return false;
	bsn_mkey_pool_destroy(pool);
	return true;
}

static int open_device(struct layout *layout)
{
	struct layout_rig *const rig = &layout->rig;
	int err;

	if (posix_memalign((void **)&rig->memory, LAYOUT_PAGE, LAYOUT_MEMORY))
		return complain("no memory");
	fill(rig);
	if (!options.counts_bus)
		prefer_stepping();
	err = bsn_device_open(options.common.device, NULL, &rig->device);
	if (err == -ENOTSUP && options.counts && !setenv("BSN_STORE", "auto", 1))
		err = bsn_device_open(options.common.device, NULL, &rig->device);
	if (err)
		return complain_of(NULL, err);
	rig->info = bsn_device_info(rig->device);
	rig->max_sge = rig->info->max_sge;
	rig->has_pages = has_pages(rig->device);
	return open_sides(layout);
}

static void close_all(struct layout *layout)
{
	close_sides(layout);
	bsn_device_close(layout->rig.device);
	free(layout->rig.memory);
}

/* -- all of it -------------------------------------------------------------------------------- */

static int measure_and_report(struct layout *layout)
{
	FILE *report = report_open(&options.common);
	int err;

	if (!report)
		return PERF_FAILED;
	err = open_device(layout);
	if (!err)
		err = time_all(layout);
	close_sides(layout); /* the children have their own */
	if (!err && options.instructions)
		err = layout_count_instructions(layout);
	if (!err && is_softcx())
		err = layout_count_bus(layout);
	if (!err && options.common.json)
		layout_print_json(report, layout);
	else if (!err)
		layout_print_text(report, layout);
	const int unwritten = report_close(report, &options.common);
	return err ? err : unwritten;
}

static int run_in_child(struct layout *layout)
{
	const int err = open_device(layout);

	if (err)
		return err;
	return options.counts ? layout_say_instructions(layout) : layout_say_bus(layout);
}

static int choose(struct layout *layout, char *list)
{
	char *word;

	for (unsigned row = 0; row < LAYOUT_ROW_COUNT; row++)
		layout->wanted[row] = !list;
	while (list && (word = strsep(&list, ","))) {
		unsigned row = 0;
		while (row < LAYOUT_ROW_COUNT && strcmp(word, layout_rows[row].name))
			row++;
		if (row == LAYOUT_ROW_COUNT)
			return complain_usage("--op %s: there is none; see bsn-perf(1)", word);
		layout->wanted[row] = true;
	}
	return 0;
}

static int read_options(poptContext context, struct layout *layout)
{
	uint64_t rounds = ROUNDS_DEFAULT;
	int err = parse_options(context);

	if (!err && poptPeekArg(context))
		err = complain_usage("layout takes no argument %s", poptPeekArg(context));
	if (!err && options.rounds)
		err = parse_number("rounds", options.rounds, 1, ROUNDS_MAX, &rounds);
	if (!err)
		err = choose(layout, options.op);
	layout->rounds = (unsigned)rounds;
	return err;
}

int layout_main(int argc, const char **argv)
{
	poptContext context = poptGetContext("bsn-perf layout", argc, argv, option_table, 0);
	struct layout *layout = calloc(1, sizeof(*layout));
	int err;

	if (!layout)
		return complain("no memory");
	err = read_options(context, layout);
	if (!err) {
		err = options.counts || options.counts_bus ? run_in_child(layout)
							   : measure_and_report(layout);
		close_all(layout);
	}
	free(layout);
	free(options.rounds);
	free(options.op);
	perf_options_free(&options.common);
	poptFreeContext(context);
	return err;
}
