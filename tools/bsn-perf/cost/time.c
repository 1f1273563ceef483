/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time, taken in rounds of all columns, so that whatever disturbs the machine disturbs all of them.
 * A row has all its rounds before the next one begins: its branches are then predicted as well as
 * those of libmlx5's code, which each row runs. The median of the rounds is the figure. Hot: of
 * many operations; cold: of a single one whose code is in no cache, less what the loop and the
 * clock take then.
 */
#include "cost.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "../stats.h"

enum { CLOCK_SAMPLES = 1000 };

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
#define can_evict() false
#define evict(span) (void)(span)
#endif

/* A line of /proc/self/maps: "begin-end r-xp offset device inode path"; a file has a slash. */
static bool is_code(const char *line, struct span *span)
{
	char rights[5];

	return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &span->begin, &span->end, rights) ==
		       3 &&
	       !strcmp(rights, "r-xp") && strchr(line, '/');
}

/*
 * Puts a copy, which no other process has, in the place of code: else another one that runs the
 * same library brings it back into the shared cache.
 */
static bool make_private(const struct span *span)
{
	const size_t size = span->end - span->begin;
	void *const place = (void *)span->begin;
	void *const copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);

	if (copy == MAP_FAILED)
		return false;
	memcpy(copy, place, size);
	return !mprotect(copy, size, PROT_READ | PROT_EXEC) &&
	       mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place;
}

/* 0, or PERF_FAILED: code cannot be taken out of the caches here. */
static int find_code(void)
{
	FILE *maps = can_evict() ? fopen("/proc/self/maps", "r") : NULL;
	char line[512];

	if (!maps)
		return complain("--cold wants /proc, and a CPU with CLFLUSHOPT, by which a program "
				"empties caches");
	span_count = 0;
	while (span_count < SPANS_MAX && fgets(line, sizeof(line), maps))
		span_count += is_code(line, &spans[span_count]) && make_private(&spans[span_count]);
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

/* @ns, @count: of the row that is timed, by each column a sample of each round, or of fewer */
struct series {
	bool is_cold;
	double clock_ns; /* what reading the clock takes */
	double *ns[COST_ALL_COLUMNS];
	unsigned count[COST_ALL_COLUMNS];
};

static double time_clock(void)
{
	double samples[CLOCK_SAMPLES];

	for (size_t i = 0; i < CLOCK_SAMPLES; i++) {
		const uint64_t start = now_ns();
		samples[i] = (double)(now_ns() - start);
	}
	return median_of(samples, CLOCK_SAMPLES);
}

/* What is done once, after the device's work, is not hot; the loops alone are timed cold. */
static bool is_timed(const struct series *series, const struct cost_case *of)
{
	return series->is_cold ||
	       (of->c < COST_COLUMNS && !cost_kinds[of->row->shape.queues].at_end);
}

/* Hot, many operations less what the clock takes; cold, one, less what the loop takes then. */
static int time_one(const struct cost_case *of, void *arg)
{
	struct series *series = arg;
	const unsigned warm = series->is_cold ? of->counts.warm_of_one : of->counts.warm;
	const unsigned count = series->is_cold ? of->row->shape.batch : of->counts.count;
	bool is_late = false;
	struct watch watch = { 0 };
	const struct cost_meter meter = { series->is_cold ? begin_cold : watch_begin, watch_end,
					  &watch, &is_late };
	int err;
	double ns;

	if (!is_timed(series, of))
		return 0;
	err = cost_region(of, warm, count, &meter);
	ns = (double)watch.ns - (series->is_cold ? 0 : series->clock_ns);
	series->ns[of->c][series->count[of->c]] = ns > 0 ? ns / count : 0;
	series->count[of->c] += !is_late;
	return err;
}

static int sum_up(const struct cost_case *of, void *arg)
{
	const struct series *series = arg;
	const unsigned c = of->c, count = series->count[c];
	double figure;

	if (!is_timed(series, of) || c == COST_COLUMN_NOTHING)
		return 0;
	if (!count)
		return complain("%s by %s: completions always came too late to be timed",
				of->row->name, cost_column_names[c]);
	/* The loops alone have samples only if the series is cold: without any, the median is 0. */
	figure = median_of(series->ns[c], count) -
		 median_of(series->ns[COST_COLUMN_NOTHING], series->count[COST_COLUMN_NOTHING]);
	cost_add_figure(of->cost, c, of->r, series->is_cold ? "cold_ns" : "ns",
			figure > 0 ? figure : 0);
	if (!series->is_cold)
		cost_add_figure(of->cost, c, of->r, "ns_p10",
				percentile_of(series->ns[c], count, 10));
	return 0;
}

static int time_row(struct cost *cost, struct series *series, unsigned r)
{
	int err = 0;

	show_progress("%s%s", series->is_cold ? "cold: " : "", cost->rows[r].name);
	memset(series->count, 0, sizeof(series->count));
	for (unsigned round = 0; round < cost->rounds && !err; round++)
		err = cost_each_column(cost, r, COST_EACH_THIRD, series, time_one);
	return err ? err : cost_each_column(cost, r, COST_ONE_BY_ONE, series, sum_up);
}

static int time_series(struct cost *cost, bool is_cold)
{
	struct series series = { .is_cold = is_cold, .clock_ns = time_clock() };
	double *samples = calloc((size_t)COST_ALL_COLUMNS * cost->rounds, sizeof(*samples));
	int err = 0;

	if (!samples)
		return complain("no memory");
	for (unsigned c = 0; c < COST_ALL_COLUMNS; c++)
		series.ns[c] = samples + (size_t)c * cost->rounds;
	for (unsigned r = 0; r < cost->row_count && !err; r++)
		err = time_row(cost, &series, r);
	end_progress();
	free(samples);
	return err;
}

int cost_time_all(struct cost *cost, bool wants_cold)
{
	const int err = time_series(cost, false);

	if (err || !wants_cold)
		return err;
	return find_code() ? PERF_FAILED : time_series(cost, true);
}
