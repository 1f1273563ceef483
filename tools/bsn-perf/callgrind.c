/* SPDX-License-Identifier: BSD-2-Clause */
/* Running ourselves again under callgrind; its dumps, asked for and read. */
#include "callgrind.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

extern char **environ;

enum {
	PATH_BYTES = 4096,
	ARGS_MAX = 128,
	LINE_BYTES = 64, /* of code, in a cache */
	LINES_MAX = 1024,
	OBJECT_SHIFT = 48,
};

/* -- the child --------------------------------------------------------------------------------- */

#ifdef HAVE_CALLGRIND
#include <valgrind/callgrind.h>
#else
#define RUNNING_ON_VALGRIND             false
#define CALLGRIND_START_INSTRUMENTATION (void)0
#define CALLGRIND_TOGGLE_COLLECT        (void)0
#define CALLGRIND_DUMP_STATS_AT(name)   (void)(name)
#endif

bool callgrind_is_there(void)
{
	return RUNNING_ON_VALGRIND;
}

void callgrind_begin(void)
{
	CALLGRIND_START_INSTRUMENTATION;
	CALLGRIND_TOGGLE_COLLECT;
}

void callgrind_collect(void)
{
	CALLGRIND_TOGGLE_COLLECT;
}

void callgrind_dump(const char *column, const char *row, unsigned count)
{
	char name[80];

	snprintf(name, sizeof(name), "%s %s %u", column, row, count);
	CALLGRIND_DUMP_STATS_AT(name);
}

/* -- running the child ------------------------------------------------------------------------- */

/* What it prints, as far as there is room. 0, or PERF_FAILED. */
static int listen_to(pid_t child, FILE *output, char *said, size_t said_size)
{
	const size_t used = fread(said, 1, said_size - 1, output);
	int status;

	said[used] = '\0';
	fclose(output);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return complain("the run beside was lost: %s", strerror(errno));
	return WIFEXITED(status) && !WEXITSTATUS(status)
		       ? 0
		       : complain("the run beside, which counts, failed");
}

static int run_child(const char *const *argv, char *said, size_t said_size)
{
	posix_spawn_file_actions_t actions;
	int fds[2], err;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC))
		return complain("pipe: %s", strerror(errno));
	fflush(stdout);
	setenv("LD_BIND_NOW", "1", 1); /* or the first call of each symbol would count */
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	err = posix_spawnp(&child, argv[0], &actions, NULL, (char **)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (!err)
		return listen_to(child, fdopen(fds[0], "r"), said, said_size);
	close(fds[0]);
	return err == ENOENT ? complain("--instructions needs valgrind: install it")
			     : complain("valgrind: %s", strerror(err));
}

/* -- reading the dumps ------------------------------------------------------------------------- */

/* Lines of code: the object's number, and the line's in it. */
struct lines {
	uint64_t object, seen[LINES_MAX];
	unsigned count;
};

static void add_line(struct lines *lines, uint64_t address)
{
	const uint64_t line = lines->object << OBJECT_SHIFT | address / LINE_BYTES;

	for (unsigned i = 0; i < lines->count; i++)
		if (lines->seen[i] == line)
			return;
	if (lines->count < LINES_MAX)
		lines->seen[lines->count++] = line;
}

/* Instructions of an object begin with its number, and each line of them with its address. */
static void look_at(struct lines *lines, const char *line)
{
	uint64_t value;

	if (sscanf(line, "ob=(%" SCNu64 ")", &value) == 1)
		lines->object = value;
	else if (sscanf(line, "0x%" SCNx64, &value) == 1)
		add_line(lines, value);
}

static void read_dumps(FILE *file, callgrind_take *take, void *arg)
{
	struct callgrind_dump dump;
	static struct lines lines;
	bool is_named = false;
	char line[512];

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "desc: Trigger: Client Request: %15s %31s %u", dump.column,
			   dump.row, &dump.count) == 3) {
			is_named = true;
			lines.count = 0;
		} else if (is_named && sscanf(line, "totals: %lf", &dump.total) == 1) {
			dump.lines = lines.count;
			take(arg, &dump);
			is_named = false;
		} else {
			look_at(&lines, line);
		}
	}
}

static int run_valgrind(const struct callgrind_call *call, const char *out, char *said,
			size_t said_size)
{
	char self[PATH_BYTES] = "", out_option[128];
	const char *argv[ARGS_MAX] = { "valgrind",
				       "--tool=callgrind",
				       "--quiet",
				       "--instr-atstart=no",
				       "--combine-dumps=yes",
				       "--dump-instr=yes",
				       "--dump-line=no",
				       "--compress-pos=no",
				       out_option,
				       self,
				       call->command };
	unsigned used = 11;

	if (readlink("/proc/self/exe", self, PATH_BYTES - 1) < 0)
		return complain("/proc/self/exe: %s", strerror(errno));
	snprintf(out_option, sizeof(out_option), "--callgrind-out-file=%s", out);
	for (const char *const *arg = call->args; *arg && used < ARGS_MAX - 1; arg++)
		argv[used++] = *arg;
	for (const char *const *arg = call->more; *arg && used < ARGS_MAX - 1; arg++)
		argv[used++] = *arg;
	return run_child(argv, said, said_size);
}

int callgrind_run(const struct callgrind_call *call, char *said, size_t said_size,
		  callgrind_take *take, void *arg)
{
	char directory[] = "/tmp/bsn-perf.XXXXXX", out[sizeof(directory) + 16];
	FILE *file;
	int err;

#ifndef HAVE_CALLGRIND
	return complain("--instructions: built without valgrind's headers; install valgrind, then "
			"build anew");
#endif
	if (!mkdtemp(directory))
		return complain("%s: %s", directory, strerror(errno));
	snprintf(out, sizeof(out), "%s/callgrind", directory);
	err = run_valgrind(call, out, said, said_size);
	file = err ? NULL : fopen(out, "r");
	if (!err && !file)
		err = complain("callgrind left no %s: %s", out, strerror(errno));
	if (file) {
		read_dumps(file, take, arg);
		fclose(file);
	}
	unlink(out);
	rmdir(directory);
	return err;
}
