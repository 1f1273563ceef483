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
	return series->ns + ((size_t)c * cost->row_count + row) * cost->rounds;
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
	samples_of(of->cost, series, of->c, of->r)[series->count[of->c][of->r]] =
		ns > 0 ? ns / count : 0;
	series->count[of->c][of->r] += !is_late;
	return err;
}

static int sum_up(const struct cost_case *of, void *arg)
{
	const struct series *series = arg;
	const unsigned c = of->c, r = of->r, count = series->count[c][r];
	double *ns = samples_of(of->cost, series, c, r), figure;

	if (!is_timed(series, of) || c == COST_COLUMN_NOTHING)
		return 0;
	if (!count)
		return complain("%s by %s: completions always came too late to be timed",
				of->row->name, cost_column_names[c]);
	/* The loops alone have samples only if the series is cold: without any, the median is 0. */
	figure = median_of(ns, count) -
		 median_of(samples_of(of->cost, series, COST_COLUMN_NOTHING, r),
			   series->count[COST_COLUMN_NOTHING][r]);
	cost_add_figure(of->cost, c, r, series->is_cold ? "cold_ns" : "ns",
			figure > 0 ? figure : 0);
	if (!series->is_cold)
		cost_add_figure(of->cost, c, r, "ns_p10", percentile_of(ns, count, 10));
	return 0;
}

static int time_series(struct cost *cost, bool is_cold)
{
	const unsigned rounds = cost->rounds;
	struct series series = { .is_cold = is_cold,
				 .clock_ns = time_clock(),
				 .ns = calloc((size_t)COST_ALL_COLUMNS * cost->row_count *
						      rounds,
					      sizeof(double)) };
	int err = series.ns ? 0 : complain("no memory");

	for (unsigned r = 0; r < cost->row_count && !err; r++) {
		show_progress("%s%s", is_cold ? "cold: " : "", cost->rows[r].name);
		for (unsigned round = 0; round < rounds && !err; round++)
			err = cost_each_column(cost, r, COST_EACH_THIRD, &series, time_one);
	}
	end_progress();
	if (!err)
		err = cost_each(cost, &series, sum_up);
	free(series.ns);
	return err;
}

int cost_time_all(struct cost *cost, bool wants_cold)
{
	const int err = time_series(cost, false);

	if (err || !wants_cold)
		return err;
	return find_code() ? PERF_FAILED : time_series(cost, true);
}
