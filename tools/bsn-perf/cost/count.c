/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions of an operation, and lines of its code: this program runs itself under valgrind's
 * callgrind, which counts those of some regions. Less those of a region that does nothing, and of
 * the loop without the operation (nothing.c), they are free of what a call costs once.
 *
 * The child asks for dumps (callgrind's client requests); all are in one file, in which these lines
 * matter:
 *
 *	desc: Trigger: Client Request: all 0 17 768
 *	ob=(7) /usr/lib/libbunsen.so.1
 *	0x12340 768
 *	totals: 12345
 */
#include "cost.h"

#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAVE_CALLGRIND
#include <valgrind/callgrind.h>
#define HAS_CALLGRIND true
#else
#define HAS_CALLGRIND                   false
#define RUNNING_ON_VALGRIND             false
#define CALLGRIND_START_INSTRUMENTATION (void)0
#define CALLGRIND_TOGGLE_COLLECT        (void)0
#define CALLGRIND_DUMP_STATS_AT(name)   (void)(name)
#endif

extern char **environ;

enum {
	TIMES = 2, /* that lines are counted */
	PATH_BYTES = 4096,
	ARGS_MAX = 128,
	LINE_BYTES = 64, /* of code, in a cache */
	LINES_MAX = 1024,
	OBJECT_SHIFT = 48,
};

bool is_under_callgrind(void)
{
	return RUNNING_ON_VALGRIND;
}

/* -- the child --------------------------------------------------------------------------------- */

static void collect(void *unused)
{
	(void)unused;
	CALLGRIND_TOGGLE_COLLECT;
}

static const struct cost_meter off = { .begin = NULL };
static const struct cost_meter on = { .begin = collect, .end = collect };

/*
 * What was collected since the last dump, as that of so many operations of a row by a column.
 * @what: "all" instructions, or those of "lines"
 */
static void dump(const char *what, const struct cost_case *of, unsigned count)
{
	char name[80];

	snprintf(name, sizeof(name), "%s %u %u %u", what, of->c, of->r, count);
	CALLGRIND_DUMP_STATS_AT(name);
}

/*
 * What happens once in many operations (credits, the end of a ring) counts by its share; what
 * happens only once, happens before.
 */
static int count_row(struct cost *cost, const struct cost_case *of, void *unused)
{
	const unsigned count = of->counts.fill, laps = of->counts.laps;
	int err = cost_region(of, 0, count, &off);

	(void)cost;
	(void)unused;
	for (unsigned i = 0; i < laps && !err; i++)
		err = cost_region(of, 0, count, &on);
	dump("all", of, laps * count);
	if (!err)
		err = cost_region(of, 0, 0, &on);
	dump("all", of, 0);
	return err;
}

/*
 * A single operation, or a batch, after others; several, since one may come to the end of a ring.
 */
static int count_lines_of(struct cost *cost, const struct cost_case *of, void *unused)
{
	const unsigned warm = of->counts.warm_of_one, one = of->row->shape.batch;
	int err = cost_region(of, warm, one, &off);

	(void)cost;
	(void)unused;
	for (unsigned i = 0; i < TIMES && !err; i++) {
		err = cost_region(of, warm, one, &on);
		dump("lines", of, one);
	}
	return err;
}

int cost_count_in_child(struct cost *cost, bool instructions, bool lines)
{
	char store[32];
	int err;

	if (!is_under_callgrind())
		return complain("--under-callgrind: this is not callgrind");
	CALLGRIND_START_INSTRUMENTATION;
	CALLGRIND_TOGGLE_COLLECT;
	snprintf(store, sizeof(store), "store %s", store_name(cost->device));
	CALLGRIND_DUMP_STATS_AT(store);
	err = instructions ? cost_each(cost, COST_ONE_BY_ONE, NULL, count_row) : 0;
	return err || !lines ? err : cost_each(cost, COST_ONE_BY_ONE, NULL, count_lines_of);
}

/* -- reading the dumps ------------------------------------------------------------------------- */

/* The dumps of one row and column: its operations, and none; 0: not there. */
struct pair {
	double total, empty, count;
	unsigned lines; /* the fewest */
};

/*
 * @what, @c, @r, @count: of the dump that is read; @c: COST_ALL_COLUMNS: of none
 * @object, @seen: lines of code in it: the object's number, and the line's in it
 */
struct dumps {
	struct cost *cost;
	struct pair pairs[COST_ALL_COLUMNS][COST_ROWS_MAX];
	char what[16];
	unsigned c, r, count;
	uint64_t object, seen[LINES_MAX];
	unsigned line_count;
};

/* Instructions of an object begin with its number, and each line of them with its address. */
static void look_at(struct dumps *d, const char *line)
{
	uint64_t value;

	if (sscanf(line, "ob=(%" SCNu64 ")", &d->object) == 1 ||
	    sscanf(line, "0x%" SCNx64, &value) != 1)
		return;
	value = d->object << OBJECT_SHIFT | value / LINE_BYTES;
	for (unsigned i = 0; i < d->line_count; i++)
		if (d->seen[i] == value)
			return;
	if (d->line_count < LINES_MAX)
		d->seen[d->line_count++] = value;
}

static void end_dump(struct dumps *d, double total)
{
	struct pair *pair;

	if (d->c >= COST_ALL_COLUMNS || d->r >= COST_ROWS_MAX)
		return;
	pair = &d->pairs[d->c][d->r];
	if (!strcmp(d->what, "lines")) {
		if (!pair->lines || d->line_count < pair->lines)
			pair->lines = d->line_count;
	} else if (d->count) {
		pair->total = total;
		pair->count = d->count;
	} else {
		pair->empty = total;
	}
	d->c = COST_ALL_COLUMNS; /* the program's end is nobody's */
}

/* A dump begins with what it is, and ends with its total. */
static void read_dumps(struct dumps *d, FILE *file)
{
#define REQUEST "desc: Trigger: Client Request: "
	char line[512];
	double total;

	d->c = COST_ALL_COLUMNS;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, REQUEST "store %15s", d->cost->counted_store) == 1)
			continue;
		if (sscanf(line, REQUEST "%15s %u %u %u", d->what, &d->c, &d->r, &d->count) == 4)
			d->line_count = 0;
		else if (sscanf(line, "totals: %lf", &total) == 1)
			end_dump(d, total);
		else
			look_at(d, line);
	}
}

/* < 0: not measured. */
static double figure_of(const struct pair *pair, unsigned laps, bool of_lines)
{
	if (of_lines)
		return pair->lines ? (double)pair->lines : -1;
	if (!pair->count || !pair->empty)
		return -1;
	return (pair->total - laps * pair->empty) / pair->count;
}

static int sum_up(const struct dumps *d, bool of_lines)
{
	struct cost *cost = d->cost;

	for (unsigned i = 0; i < COST_COLUMNS * cost->row_count; i++) {
		const unsigned c = i % COST_COLUMNS, row = i / COST_COLUMNS;
		const unsigned laps = cost_counts_of(&cost->rig, &cost->rows[row]).laps;
		const double all = figure_of(&d->pairs[c][row], laps, of_lines);
		const double loop =
			figure_of(&d->pairs[COST_COLUMN_NOTHING][row], laps, of_lines);

		if (loop < 0)
			return complain("callgrind's output has no counts to be read");
		if (all >= 0)
			cost_add_figure(cost, c, row, of_lines ? "lines" : "instructions",
					all > loop ? all - loop : 0);
	}
	return 0;
}

/* -- running the child ------------------------------------------------------------------------- */

static int run_child(const char *const *argv)
{
	pid_t child;
	int status, err;

	fflush(stdout);
	setenv("LD_BIND_NOW", "1", 1); /* or the first call of each symbol would count */
	err = posix_spawnp(&child, argv[0], NULL, NULL, (char **)(uintptr_t)argv, environ);
	if (err)
		return err == ENOENT ? complain("--instructions needs valgrind: install it")
				     : complain("valgrind: %s", strerror(err));
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return complain("the run beside was lost: %s", strerror(errno));
	return WIFEXITED(status) && !WEXITSTATUS(status)
		       ? 0
		       : complain("the run beside, which counts, failed");
}

/* The same command, but what @more says. */
static int run_valgrind(const char *const *more, const char *out)
{
	char self[PATH_BYTES] = "", out_option[128];
	const char *argv[ARGS_MAX] = { "valgrind",          "--tool=callgrind",
				       "--quiet",           "--instr-atstart=no",
				       "--combine-dumps=yes", "--dump-instr=yes",
				       "--dump-line=no",    "--compress-pos=no",
				       out_option,          self,
				       "cost" };
	unsigned used = 11;

	if (readlink("/proc/self/exe", self, PATH_BYTES - 1) < 0)
		return complain("/proc/self/exe: %s", strerror(errno));
	snprintf(out_option, sizeof(out_option), "--callgrind-out-file=%s", out);
	for (const char *const *arg = perf_options.args; *arg && used < ARGS_MAX - 1; arg++)
		argv[used++] = *arg;
	for (; *more && used < ARGS_MAX - 1; more++)
		argv[used++] = *more;
	return run_child(argv);
}

int cost_count(struct cost *cost, bool instructions, bool lines)
{
	static struct dumps dumps;
	const struct bsn_device_info *device = cost->device;
	char qps[16], out[] = "/tmp/bsn-perf.XXXXXX";
	const char *const more[] = { "--under-callgrind", "--device", device->name, "--store",
				     device->path == BSN_PATH_DIRECT ? device->store_name : "auto",
				     cost->rig.is_spread ? "--qps" : NULL, qps, NULL };
	const int fd = HAS_CALLGRIND ? mkstemp(out) : -1;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	int err;

	if (!HAS_CALLGRIND)
		return complain("--instructions: built without valgrind's headers; install "
				"valgrind, then build anew");
	if (!file)
		return complain("%s: %s", out, strerror(errno));
	snprintf(qps, sizeof(qps), "%u", cost->rig.qps);
	dumps = (struct dumps){ .cost = cost };
	show_progress("counting under callgrind: about a minute for all rows");
	err = run_valgrind(more, out);
	end_progress();
	if (!err)
		read_dumps(&dumps, file);
	fclose(file);
	unlink(out);
	if (!err && instructions)
		err = sum_up(&dumps, false);
	return err || !lines ? err : sum_up(&dumps, true);
}
