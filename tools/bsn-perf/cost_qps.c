/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bsn-perf cost --qps: what a post and a poll take where so many QPs take turns on one CQ. Cache
 * lines decide there, not instructions. Each QP has a WRITE outstanding when completions are
 * polled, where they are few several.
 */
#include "cost.h"

#include <stdlib.h>
#include <string.h>

#include "perf.h"
#include "progress.h"
#include "stats.h"

enum {
	QPS_MAX = 4096,
	REGION_MIN = 64, /* operations, as far as the depth of few QPs allows */
	DIRECTIONS = 2,
	SIDES = 3,
};

static const char *const row_names[DIRECTIONS] = { "write_512_qps", "poll_512_qps" };
static const char *const direction_names[DIRECTIONS] = { "post", "poll" };
static const unsigned sides[SIDES] = { COST_COLUMN_BUNSEN, COST_COLUMN_IBV_WR, COST_COLUMN_IBV };

struct times {
	double ns, ns_p10; /* < 0: none */
};

struct size {
	unsigned qps;
	struct times times[DIRECTIONS][SIDES];
};

struct sweep {
	struct size sizes[COST_SIZES_MAX];
	unsigned count;
};

/* -- measuring --------------------------------------------------------------------------------- */

/* Operations of a region: whole turns, and a QP is never full. */
static unsigned region_of(const struct cost *cost, unsigned qps)
{
	unsigned turns = (REGION_MIN + qps - 1) / qps;

	if (turns > cost->rig.many_depth / 4 * 3)
		turns = cost->rig.many_depth / 4 * 3;
	return qps * turns;
}

struct series {
	double *ns;
	unsigned count;
};

static int measure_round(void *const queues[SIDES], unsigned count,
			 struct series series[DIRECTIONS][SIDES])
{
	struct cost_row row;

	for (unsigned d = 0; d < DIRECTIONS; d++) {
		cost_find_row(row_names[d], &row);
		for (unsigned s = 0; s < SIDES; s++) {
			struct series *of = &series[d][s];
			if (!queues[s])
				continue;
			const int bad = cost_time_region(cost_columns[sides[s]], queues[s], &row,
							 0, count, &of->ns[of->count]);
			if (bad && bad != COST_LATE)
				return cost_complain(cost_columns[sides[s]], &row, bad);
			of->count += !bad;
		}
	}
	return 0;
}

static int measure_rounds(const struct cost *cost, void *const queues[SIDES], struct size *size)
{
	const unsigned rounds = cost->results.rounds, count = region_of(cost, size->qps);
	struct series series[DIRECTIONS][SIDES] = { { { NULL, 0 } } };
	double *samples = calloc((size_t)DIRECTIONS * SIDES * rounds, sizeof(double));
	int err = samples ? 0 : complain("no memory");

	for (unsigned i = 0; i < DIRECTIONS * SIDES && !err; i++)
		series[i / SIDES][i % SIDES].ns = samples + (size_t)i * rounds;
	for (unsigned round = 0; round < rounds && !err; round++) {
		show_progress("%u QPs: round %u of %u", size->qps, round + 1, rounds);
		err = measure_round(queues, count, series);
	}
	for (unsigned i = 0; i < DIRECTIONS * SIDES && !err; i++) {
		const struct series *of = &series[i / SIDES][i % SIDES];
		struct times *times = &size->times[i / SIDES][i % SIDES];
		times->ns = of->count ? median_of(of->ns, of->count) : -1;
		times->ns_p10 = of->count ? percentile_of(of->ns, of->count, 10) : -1;
	}
	end_progress();
	free(samples);
	return err;
}

static int measure_size(const struct cost *cost, struct size *size)
{
	struct cost_rig rig = cost->rig;
	void *queues[SIDES] = { NULL };
	const char *why_not = NULL;
	int err = 0;

	rig.many_qps = size->qps;
	show_progress("%u QPs: creating them", size->qps);
	for (unsigned s = 0; s < SIDES && !err; s++) {
		if (!cost->results.has_column[sides[s]])
			continue;
		err = cost_columns[sides[s]]->open(&rig, COST_MANY, &queues[s], &why_not);
		if (err && !why_not)
			err = complain("%u QPs of %s: %s", size->qps, cost_columns[sides[s]]->name,
				       strerror(-err));
		else
			err = 0;
		why_not = NULL;
	}
	if (!err)
		err = measure_rounds(cost, queues, size);
	end_progress();
	for (unsigned s = 0; s < SIDES; s++)
		if (queues[s])
			cost_columns[sides[s]]->close(queues[s]);
	return err;
}

/* -- the report -------------------------------------------------------------------------------- */

static double best_of_verbs(const struct times times[SIDES])
{
	const double wr = times[1].ns_p10, ibv = times[2].ns_p10;

	return wr < 0 || (ibv >= 0 && ibv < wr) ? ibv : wr;
}

static void print_times(FILE *to, const struct times *times)
{
	if (times->ns < 0)
		fprintf(to, " %17s", "-");
	else
		fprintf(to, " %8.1f %8.1f", times->ns_p10, times->ns);
}

static void print_direction(FILE *to, const struct size *size, unsigned direction)
{
	const struct times *times = size->times[direction];
	const double best = best_of_verbs(times);

	fprintf(to, "%5u %-4s", size->qps, direction_names[direction]);
	for (unsigned s = 0; s < SIDES; s++)
		print_times(to, &times[s]);
	if (times[0].ns_p10 >= 0 && best > 0)
		fprintf(to, " %12.2f\n", times[0].ns_p10 / best);
	else
		fprintf(to, " %12s\n", "-");
}

static void print_text(FILE *to, const struct cost *cost, const struct sweep *sweep)
{
	cost_print_head(to, &cost->results);
	fprintf(to,
		"\nns of a signaled WRITE of 8 bytes and of the poll that finds it, QPs taking "
		"turns:\n"
		"tenth percentile and median of %u rounds\n\n%5s %-4s",
		cost->results.rounds, "QPs", "");
	for (unsigned s = 0; s < SIDES; s++)
		fprintf(to, " %17s", cost_columns[sides[s]]->name);
	fprintf(to, " %12s\n", "bunsen/best");
	for (unsigned i = 0; i < sweep->count; i++)
		for (unsigned d = 0; d < DIRECTIONS; d++)
			print_direction(to, &sweep->sizes[i], d);
}

static struct json_object *size_to_json(const struct size *size)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "qps", json_object_new_int((int)size->qps));
	for (unsigned d = 0; d < DIRECTIONS; d++) {
		struct json_object *direction = json_object_new_object();
		for (unsigned s = 0; s < SIDES; s++) {
			const struct times *times = &size->times[d][s];
			struct json_object *side = json_object_new_object();
			if (times->ns < 0)
				continue;
			json_object_object_add(side, "ns", json_figure(times->ns));
			json_object_object_add(side, "ns_p10", json_figure(times->ns_p10));
			json_object_object_add(direction, cost_columns[sides[s]]->name, side);
		}
		json_object_object_add(object, direction_names[d], direction);
	}
	return object;
}

static void print_json(FILE *to, const struct cost *cost, const struct sweep *sweep)
{
	struct json_object *report = cost_json_head(&cost->results);
	struct json_object *sizes = json_object_new_array();

	for (unsigned i = 0; i < sweep->count; i++)
		json_object_array_add(sizes, size_to_json(&sweep->sizes[i]));
	json_object_object_add(report, "sizes", sizes);
	json_print(to, report);
}

/* -- all of it --------------------------------------------------------------------------------- */

int cost_parse_qps(const char *list, unsigned qps[COST_SIZES_MAX], unsigned *count)
{
	char word[16];
	uint64_t number;

	*count = 0;
	if (!strcmp(list, "sweep")) {
		for (unsigned n = 1; n <= QPS_MAX; n *= 4)
			qps[(*count)++] = n;
		return 0;
	}
	while (*list) {
		const size_t length = strcspn(list, ",");
		snprintf(word, sizeof(word), "%.*s", (int)length, list);
		if (*count == COST_SIZES_MAX)
			return complain_usage("--qps: %u numbers at most", COST_SIZES_MAX);
		const int err = parse_number("qps", word, 1, QPS_MAX, &number);
		if (err)
			return err;
		qps[(*count)++] = (unsigned)number;
		list += length + (list[length] == ',');
	}
	return *count ? 0 : complain_usage("--qps: no number");
}

int cost_sweep_qps(const struct cost *cost, const unsigned *qps, unsigned count, FILE *report,
		   bool json)
{
	struct sweep sweep = { .count = count };
	int err = 0;

	for (unsigned i = 0; i < sweep.count && !err; i++) {
		sweep.sizes[i].qps = qps[i];
		err = measure_size(cost, &sweep.sizes[i]);
	}
	if (err)
		return err;
	if (json)
		print_json(report, cost, &sweep);
	else
		print_text(report, cost, &sweep);
	return 0;
}
