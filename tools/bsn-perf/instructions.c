/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions per operation: this program runs itself under valgrind's callgrind, which counts the
 * instructions of each region of two lengths. Their difference by the difference of the lengths is
 * free of what a call costs once; less the same of the loop without the operation (cost_nothing.c),
 * it is free of the loop.
 *
 * The child asks for a dump after each region (callgrind's client requests); all dumps are in one
 * file, in which these lines matter:
 *
 *	desc: Trigger: Client Request: bunsen write_sge 192
 *	totals: 12345
 */
#include "cost.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

enum { CHILD_TIMEOUT_MS = 240 * 1000, PATH_BYTES = 4096 };

/* -- the child ---------------------------------------------------------------------------------- */

#ifdef HAVE_CALLGRIND
#include <valgrind/callgrind.h>

bool callgrind_is_there(void)
{
	return RUNNING_ON_VALGRIND;
}

void callgrind_begin(void)
{
	CALLGRIND_START_INSTRUMENTATION;
	CALLGRIND_ZERO_STATS;
}

void callgrind_end(const char *column, const char *op, unsigned count)
{
	char name[80];

	CALLGRIND_STOP_INSTRUMENTATION;
	snprintf(name, sizeof(name), "%s %s %u", column, op, count);
	CALLGRIND_DUMP_STATS_AT(name);
}
#else
bool callgrind_is_there(void)
{
	return false;
}

void callgrind_begin(void)
{
}

void callgrind_end(const char *column, const char *op, unsigned count)
{
	(void)column;
	(void)op;
	(void)count;
}
#endif

/* -- reading the dumps --------------------------------------------------------------------------- */

/* The regions of one row and column: the short ones and the long ones in turn, each summed up. */
struct pair {
	double total[2];
	double count[2];
	unsigned have;
};

struct dumps {
	struct pair nothing[COST_OP_COUNT];
	struct pair pairs[COST_COLUMNS][COST_OP_COUNT];
};

static struct pair *find_pair(struct dumps *dumps, const char *column, const char *op)
{
	unsigned o = 0, c = 0;

	while (o < COST_OP_COUNT && strcmp(op, cost_op_names[o]))
		o++;
	if (o == COST_OP_COUNT)
		return NULL;
	if (!strcmp(column, cost_nothing.name))
		return &dumps->nothing[o];
	while (c < COST_COLUMNS && strcmp(column, cost_columns[c]->name))
		c++;
	return c < COST_COLUMNS ? &dumps->pairs[c][o] : NULL;
}

static void read_dumps(FILE *file, struct dumps *dumps)
{
	char line[512], column[16], op[32];
	struct pair *pair = NULL;
	unsigned count;
	double total;

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "desc: Trigger: Client Request: %15s %31s %u", column, op,
			   &count) == 3)
			pair = find_pair(dumps, column, op);
		else if (pair && sscanf(line, "totals: %lf", &total) == 1) {
			pair->count[pair->have % 2] += count;
			pair->total[pair->have++ % 2] += total;
			pair = NULL;
		}
	}
}

/* < 0: not measured. */
static double slope_of(const struct pair *pair)
{
	if (pair->have < 2)
		return -1;
	return (pair->total[1] - pair->total[0]) / (pair->count[1] - pair->count[0]);
}

/* The floor does nothing with results: of the loop, it has only the counting. */
static double loop_of(const struct dumps *dumps, unsigned column, unsigned op)
{
	return slope_of(&dumps->nothing[cost_columns[column] == &cost_floor ? COST_write_sge : op]);
}

static int take_dumps(const char *path, struct cost_results *results)
{
	static struct dumps dumps;
	FILE *file = fopen(path, "r");

	if (!file)
		return complain("callgrind left no %s: %s", path, strerror(errno));
	read_dumps(file, &dumps);
	fclose(file);
	for (unsigned c = 0; c < COST_COLUMNS; c++) {
		for (unsigned op = 0; op < COST_OP_COUNT; op++) {
			const double all = slope_of(&dumps.pairs[c][op]);
			const double loop = loop_of(&dumps, c, op);
			if (loop < 0)
				return complain("callgrind's output has no counts to be read");
			if (all >= 0)
				results->figures[c][op].instructions = all > loop ? all - loop : 0;
		}
	}
	return 0;
}

/* -- running the child --------------------------------------------------------------------------- */

static void list_ops(const struct cost_results *results, char *list, size_t size)
{
	size_t used = 0;

	for (unsigned op = 0; op < COST_OP_COUNT; op++)
		if (results->wanted[op])
			used += (size_t)snprintf(list + used, size - used, "%s%s", used ? "," : "",
						 cost_op_names[op]);
}

/* Becomes valgrind. The device's path and store are those of this run, if valgrind's CPU has them. */
static void become_valgrind(const struct cost_results *results, const char *out, int pipe_fd)
{
	char self[PATH_BYTES], out_option[PATH_BYTES + 32], ops[512];
	const char *const argv[] = { "valgrind",
				     "--tool=callgrind",
				     "--quiet",
				     "--instr-atstart=no",
				     "--combine-dumps=yes",
				     out_option,
				     self,
				     "cost",
				     "--under-callgrind",
				     "--device",
				     results->device->name,
				     "--op",
				     ops,
				     NULL };
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0 || dup2(pipe_fd, STDOUT_FILENO) < 0)
		_exit(126);
	self[n] = '\0';
	snprintf(out_option, sizeof(out_option), "--callgrind-out-file=%s", out);
	list_ops(results, ops, sizeof(ops));
	setenv("LD_BIND_NOW", "1", 1); /* else the first call of each symbol would count */
	if (results->device->path == BSN_PATH_DIRECT)
		setenv("BSN_STORE", store_name(results->device), 1);
	execvp(argv[0], (char **)(uintptr_t)argv);
	_exit(127);
}

/* Reads the child's word about the store until it is done; false: it took too long. */
static bool listen_to(int fd, char *text, size_t size)
{
	const uint64_t deadline = now_ns() + CHILD_TIMEOUT_MS * 1000000ull;
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	size_t used = 0;
	ssize_t n = 1;

	while (n > 0) {
		const uint64_t now = now_ns();
		if (now >= deadline || poll(&pollfd, 1, (int)((deadline - now) / 1000000) + 1) == 0)
			return false;
		n = read(fd, text + used, size - 1 - used);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			used += (size_t)n;
		if (used == size - 1)
			used = 0; /* not what was awaited; the rest will not be either */
	}
	text[used] = '\0';
	return true;
}

static int judge(pid_t child, bool in_time)
{
	int status;

	if (!in_time)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return complain("valgrind was lost: %s", strerror(errno));
	if (!in_time)
		return complain("valgrind did not end within %d s", CHILD_TIMEOUT_MS / 1000);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return complain("--instructions needs valgrind: install it");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return complain("the run under valgrind failed");
	return 0;
}

static int run_child(struct cost_results *results, const char *out)
{
	char said[256] = "";
	bool in_time;
	int fds[2], err;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC))
		return complain("pipe: %s", strerror(errno));
	child = fork();
	if (child == 0)
		become_valgrind(results, out, fds[1]);
	close(fds[1]);
	if (child < 0) {
		close(fds[0]);
		return complain("fork: %s", strerror(errno));
	}
	in_time = listen_to(fds[0], said, sizeof(said));
	close(fds[0]);
	err = judge(child, in_time);
	if (!err && sscanf(said, "store %15s", results->counted_store) != 1)
		err = complain("the run under valgrind did not say which store it used");
	return err;
}

int count_instructions(struct cost_results *results)
{
	char directory[] = "/tmp/bsn-perf.XXXXXX", out[sizeof(directory) + 16];
	int err;

#ifndef HAVE_CALLGRIND
	return complain("--instructions: built without valgrind's headers; install valgrind, then "
			"build anew");
#endif
	if (!mkdtemp(directory))
		return complain("%s: %s", directory, strerror(errno));
	snprintf(out, sizeof(out), "%s/callgrind", directory);
	fflush(stdout);
	err = run_child(results, out);
	if (!err)
		err = take_dumps(out, results);
	unlink(out);
	rmdir(directory);
	return err;
}
