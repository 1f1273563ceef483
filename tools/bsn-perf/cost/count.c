/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions of an operation, and lines of its code: this program runs itself under valgrind's
 * callgrind, which counts those of some regions. Less those of a region that does nothing, and of
 * the loop without the operation (columns.c), they are free of what a call costs once.
 *
 * The child asks for dumps (callgrind's client requests); all are in one file, in which these lines
 * matter:
 *
 *	desc: Trigger: Client Request: all 0 17
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

static void collect(void *unused)
{
	(void)unused;
	CALLGRIND_TOGGLE_COLLECT;
}

static const struct cost_meter off = { .begin = NULL };
static const struct cost_meter on = { .begin = collect, .end = collect };

/*
 * What was collected since the last dump, as that of a row by a column.
 * @what: "all" operations, "none", or the "lines" of some
 */
static void dump(const char *what, const struct cost_case *of)
{
	char name[80];

	snprintf(name, sizeof(name), "%s %u %u", what, of->c, of->r);
	CALLGRIND_DUMP_STATS_AT(name);
}

/*
 * What happens once in many operations (credits, the end of a ring) counts by its share; what
 * happens only once, happens before.
 */
static int count_row(const struct cost_case *of, void *unused)
{
	int err = cost_region(of, 0, of->counts.fill, &off);

	(void)unused;
	for (unsigned i = 0; i < of->counts.laps && !err; i++)
		err = cost_region(of, 0, of->counts.fill, &on);
	dump("all", of);
	if (!err)
		err = cost_region(of, 0, 0, &on);
	dump("none", of);
	return err;
}

/*
 * A single operation, or a batch, after others; several, since one may come to the end of a ring.
 */
static int count_lines_of(const struct cost_case *of, void *unused)
{
	const unsigned warm = of->counts.warm_of_one, one = of->row->shape.batch;
	int err = cost_region(of, warm, one, &off);

	(void)unused;
	for (unsigned i = 0; i < TIMES && !err; i++) {
		err = cost_region(of, warm, one, &on);
		dump("lines", of);
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
	err = instructions ? cost_each(cost, NULL, count_row) : 0;
	return err || !lines ? err : cost_each(cost, NULL, count_lines_of);
}

enum figure { INSTRUCTIONS, LINES, FIGURES };
static const char *const figure_names[FIGURES] = { "instructions", "lines" };

/*
 * @figures: with the loop; 0: not there
 * @all: what so many operations took, until it is known what none takes
 * @what, @c, @r: of the dump that is read; @c: COST_ALL_COLUMNS: of none
 * @object, @seen: lines of code in it: the object's number, and the line's in it
 */
struct dumps {
	struct cost *cost;
	double figures[FIGURES][COST_ALL_COLUMNS][COST_ROWS_MAX], all;
	char what[16];
	unsigned c, r;
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
	double *lines;

	if (d->c >= COST_ALL_COLUMNS || d->r >= COST_ROWS_MAX)
		return;
	lines = &d->figures[LINES][d->c][d->r];
	if (!strcmp(d->what, "all")) {
		d->all = total;
	} else if (!strcmp(d->what, "none")) {
		const struct cost_counts counts =
			cost_counts_of(&d->cost->rig, &d->cost->rows[d->r]);
		d->figures[INSTRUCTIONS][d->c][d->r] =
			(d->all - counts.laps * total) / (counts.laps * counts.fill);
	} else if (!*lines || d->line_count < *lines) {
		*lines = d->line_count;
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
		if (sscanf(line, REQUEST "%15s %u %u", d->what, &d->c, &d->r) == 3)
			d->line_count = 0;
		else if (sscanf(line, "totals: %lf", &total) == 1)
			end_dump(d, total);
		else
			look_at(d, line);
	}
}

static int sum_up(const struct dumps *d, enum figure figure)
{
	struct cost *cost = d->cost;

	for (unsigned i = 0; i < COST_COLUMNS * cost->row_count; i++) {
		const unsigned c = i % COST_COLUMNS, row = i / COST_COLUMNS;
		const double all = d->figures[figure][c][row];
		const double loop = d->figures[figure][COST_COLUMN_NOTHING][row];

		if (!loop)
			return complain("callgrind's output has no counts to be read");
		if (all)
			cost_add_figure(cost, c, row, figure_names[figure],
					all > loop ? all - loop : 0);
	}
	return 0;
}

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
				     cost->rig.qps ? "--qps" : NULL, qps, NULL };
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
		err = sum_up(&dumps, INSTRUCTIONS);
	return err || !lines ? err : sum_up(&dumps, LINES);
}
