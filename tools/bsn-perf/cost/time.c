/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time, taken in rounds: each row by each column in turn, so that whatever disturbs the machine
 * disturbs all of them. The median of the rounds is the figure. Hot: of many operations; cold: of a
 * single one whose code is in no cache, less what the loop and the clock take then.
 */
#include "cost.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "../perf.h"
#include "../stats.h"

enum { CLOCK_SAMPLES = 1000 };

/* A meter of time. */
struct watch {
	uint64_t start, ns;
};

static void watch_begin(void *arg)
{
	((struct watch *)arg)->start = now_ns();
}

static void watch_end(void *arg)
{
	struct watch *watch = arg;

	watch->ns = now_ns() - watch->start;
}

/* -- code that is in no cache: given back to memory, where data stay where they are ------------ */

enum { LINE_BYTES = 64, SPANS_MAX = 128 };

struct span {
	uintptr_t begin, end;
};
static struct span spans[SPANS_MAX];
static unsigned span_count;

#if defined(__x86_64__)
static bool can_evict(void)
{
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_CLFLUSHOPT;
}

__attribute__((target("clflushopt"))) static void evict(const struct span *span)
{
	for (uintptr_t at = span->begin; at < span->end; at += LINE_BYTES)
		_mm_clflushopt((void *)at);
	_mm_mfence();
}
#else
static bool can_evict(void)
{
	return false;
}

static void evict(const struct span *span)
{
	(void)span;
}
#endif

/* A line of /proc/self/maps: "begin-end r-xp offset device inode path"; a file has a slash. */
static bool is_code(const char *line, struct span *span)
{
	char rights[5];

	return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &span->begin, &span->end, rights) ==
		       3 &&
	       !strcmp(rights, "r-xp") && strchr(line, '/');
}

/* Finds out where code is. 0, or PERF_FAILED: it cannot be taken out of the caches here. */
static int find_code(void)
{
	FILE *maps = can_evict() ? fopen("/proc/self/maps", "r") : NULL;
	char line[512];

	if (!maps)
		return complain("--cold wants /proc, and a CPU with CLFLUSHOPT, by which a program "
				"empties caches");
	span_count = 0;
	while (span_count < SPANS_MAX && fgets(line, sizeof(line), maps))
		span_count += is_code(line, &spans[span_count]);
	fclose(maps);
	return 0;
}

/* All code leaves the caches, then the time begins. */
static void begin_cold(void *watch)
{
	for (unsigned i = 0; i < span_count; i++)
		evict(&spans[i]);
	watch_begin(watch);
}

/* -- rounds ------------------------------------------------------------------------------------ */

/* @ns: as many samples of each column and row as there are rounds; @count: that there are */
struct series {
	bool is_cold;
	double clock_ns; /* what reading the clock takes */
	double *ns;
	unsigned count[COST_ALL_COLUMNS][COST_ROWS_MAX];
};

static double *samples_of(const struct cost *cost, const struct series *series, unsigned c,
			  unsigned row)
{
	return series->ns + ((size_t)c * cost->results.row_count + row) * cost->results.rounds;
}

static double time_clock(void)
{
	double samples[CLOCK_SAMPLES];

	for (size_t i = 0; i < CLOCK_SAMPLES; i++) {
		const uint64_t start = now_ns();
		samples[i] = (double)(now_ns() - start);
	}
	return median_of(samples, CLOCK_SAMPLES);
}

/* Hot, many operations less what the clock takes; cold, one, less what the loop takes then. */
static int time_one(const struct cost *cost, struct series *series, unsigned c, unsigned r)
{
	const struct cost_row *row = &cost->results.rows[r];
	const struct cost_column *column = cost_column_of(c, row->shape.queues);
	const bool is_cold = series->is_cold;
	const struct cost_counts of = cost_counts_of(&cost->rig, row);
	const unsigned warm = is_cold ? of.warm_of_one : of.warm;
	const unsigned count = is_cold ? row->shape.batch : of.count;
	struct watch watch = { 0 };
	const struct cost_meter meter = { is_cold ? begin_cold : watch_begin, watch_end, &watch };
	const int bad = cost_region(column, cost->queues[c][row->shape.queues], row, warm, count,
				    &meter);
	const double ns = (double)watch.ns - (is_cold ? 0 : series->clock_ns);

	samples_of(cost, series, c, r)[series->count[c][r]] = ns > 0 ? ns / count : 0;
	series->count[c][r] += !bad;
	return bad && bad != COST_LATE ? cost_complain(column, row, bad) : 0;
}

/* What is done once, after the device's work, is not hot; the loops alone are timed cold. */
static bool is_timed(const struct cost *cost, const struct series *series, unsigned c, unsigned row)
{
	const bool is_hot = c < COST_COLUMNS && !cost_kind_of(&cost->results.rows[row])->at_end;

	return (series->is_cold || is_hot) && cost_has(cost, c, row);
}

static int time_round(const struct cost *cost, struct series *series)
{
	/* Those that share their queues are apart, so that neither finds them in the cache. */
	static const unsigned order[COST_ALL_COLUMNS] = {
		COST_COLUMN_SYMBOL,   COST_COLUMN_IBV_WR, COST_COLUMN_BUNSEN,  COST_COLUMN_IBV,
		COST_COLUMN_BSN_POST, COST_COLUMN_VERBS,  COST_COLUMN_NOTHING,
	};
	int err = 0;

	for (unsigned row = 0; row < cost->results.row_count && !err; row++)
		for (unsigned i = 0; i < COST_ALL_COLUMNS && !err; i++)
			if (is_timed(cost, series, order[i], row))
				err = time_one(cost, series, order[i], row);
	return err;
}

static int sum_up(struct cost *cost, const struct series *series, unsigned c, unsigned row)
{
	double *ns = samples_of(cost, series, c, row);
	const unsigned count = series->count[c][row], nothing = COST_COLUMN_NOTHING;

	if (!count)
		return complain("%s by %s: completions always came too late to be timed",
				cost->results.rows[row].name, cost_columns[c]->name);
	if (series->is_cold) {
		const double cold = median_of(ns, count) -
				    median_of(samples_of(cost, series, nothing, row),
					      series->count[nothing][row]);

		*cost_figure(&cost->results, c, row, "cold_ns") = cold > 0 ? cold : 0;
		return 0;
	}
	*cost_figure(&cost->results, c, row, "ns") = median_of(ns, count);
	*cost_figure(&cost->results, c, row, "ns_p10") = percentile_of(ns, count, 10);
	return 0;
}

static int time_series(struct cost *cost, bool is_cold)
{
	const unsigned rounds = cost->results.rounds, rows = cost->results.row_count;
	struct series series = { .is_cold = is_cold,
				 .clock_ns = time_clock(),
				 .ns = calloc((size_t)COST_ALL_COLUMNS * rows * rounds,
					      sizeof(double)) };
	int err = series.ns ? 0 : complain("no memory");

	for (unsigned round = 0; round < rounds && !err; round++) {
		show_progress("%sround %u of %u", is_cold ? "cold: " : "", round + 1, rounds);
		err = time_round(cost, &series);
	}
	end_progress();
	for (unsigned i = 0; i < rows * COST_COLUMNS && !err; i++)
		if (is_timed(cost, &series, i % COST_COLUMNS, i / COST_COLUMNS))
			err = sum_up(cost, &series, i % COST_COLUMNS, i / COST_COLUMNS);
	free(series.ns);
	return err;
}

int cost_time_all(struct cost *cost, bool wants_cold)
{
	int err = time_series(cost, false);

	if (!err && wants_cold)
		err = find_code();
	return err || !wants_cold ? err : time_series(cost, true);
}
