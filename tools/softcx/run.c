/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The launcher: gives a program an mlx5_0 by preloading the shim, and becomes that program, so that
 * pid, signals and exit status are its own. What the shim would have to refuse inside of the program
 * is refused here, where it can be said clearly.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <popt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "model.h"

/* As a shell and env(1) exit when they cannot run a program. */
enum { EXIT_USAGE = 2, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

static struct {
	char *generation, *link, *fabric, *fault, *trace;
	int exact, passive, version;
} options = { .generation = "cx6", .link = "ib", .fabric = "default" };

static const struct poptOption option_table[] = {
	{ "generation", 'g', POPT_ARG_STRING | POPT_ARGFLAG_SHOW_DEFAULT, &options.generation, 0,
	  "which ConnectX", "cx5|cx6|cx7" },
	{ "link", 'l', POPT_ARG_STRING | POPT_ARGFLAG_SHOW_DEFAULT, &options.link, 0,
	  "InfiniBand or Ethernet", "ib|roce" },
	{ "fabric", 'f', POPT_ARG_STRING | POPT_ARGFLAG_SHOW_DEFAULT, &options.fabric, 0,
	  "programs of one user meet on the fabric of that name", "NAME" },
	{ "fault", 0, POPT_ARG_STRING, &options.fault, 0, "inject faults; @FILE reads the plan",
	  "PLAN|@FILE" },
	{ "trace", 't', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, &options.trace, 0,
	  "list doorbells, WQEs and findings, on standard error or in a file", "FILE" },
	{ "exact", 'e', POPT_ARG_NONE, &options.exact, 0, "one fault for each store to a doorbell",
	  NULL },
	{ "passive", 'p', POPT_ARG_NONE, &options.passive, 0,
	  "execute nothing until the program steps the device", NULL },
	{ "version", 0, POPT_ARG_NONE, &options.version, 0, "show the version", NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

__attribute__((format(printf, 2, 3), noreturn)) static void die(int status, const char *format, ...)
{
	va_list args;

	fputs("softcx: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

/* -- the program ------------------------------------------------------------------------------- */

/* As execvp() searches, without running anything yet. */
static const char *find_program(const char *name, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH"), *end;
	bool denied = false;

	if (strchr(name, '/')) {
		if (access(name, F_OK))
			die(EXIT_NOT_FOUND, "%s: %s", name, strerror(errno));
		return name;
	}
	for (dirs = dirs ? dirs : "/usr/local/bin:/usr/bin:/bin"; *dirs; dirs = end + !!*end) {
		struct stat st;

		end = dirs + strcspn(dirs, ":");
		snprintf(path, PATH_MAX, "%.*s/%s", end > dirs ? (int)(end - dirs) : 1,
			 end > dirs ? dirs : ".", name);
		if (stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		if (!access(path, X_OK))
			return path;
		denied = true;
	}
	if (denied)
		die(EXIT_NOT_EXECUTABLE, "%s: found on PATH, but not executable", name);
	die(EXIT_NOT_FOUND, "%s: no such program on PATH", name);
}

/* The loader ignores LD_PRELOAD where a program gains privileges (ld.so(8)). */
static void check_privileges(const char *path, const struct stat *st)
{
	if (((st->st_mode & S_ISUID) && st->st_uid != getuid()) ||
	    ((st->st_mode & S_ISGID) && st->st_gid != getgid()))
		die(EXIT_NOT_EXECUTABLE,
		    "%s is set-user-ID or set-group-ID: the loader preloads nothing into it; run a "
		    "copy without that bit",
		    path);
	if (getuid() && getxattr(path, "security.capability", NULL, 0) > 0)
		die(EXIT_NOT_EXECUTABLE,
		    "%s has file capabilities: the loader preloads nothing into it; run a copy "
		    "without them",
		    path);
}

static bool has_interpreter(int fd, const Elf64_Ehdr *head)
{
	Elf64_Phdr segment;

	for (unsigned k = 0; k < head->e_phnum; k++) {
		off_t at = head->e_phoff + (off_t)k * head->e_phentsize;

		if (pread(fd, &segment, sizeof(segment), at) != sizeof(segment))
			return true; /* not ours to judge: execve() will say it */
		if (segment.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/* A file that is not ELF is a script: its interpreter gets the device. */
static void check_image(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr head;
	ssize_t n;

	if (fd < 0) /* executable, yet not readable */
		return;
	n = pread(fd, &head, sizeof(head), 0);
	if (n == sizeof(head) && !memcmp(head.e_ident, ELFMAG, SELFMAG)) {
		if (head.e_ident[EI_CLASS] != ELFCLASS64)
			die(EXIT_NOT_EXECUTABLE, "%s is a 32-bit program: the shim has 64", path);
		if (!has_interpreter(fd, &head))
			die(EXIT_NOT_EXECUTABLE,
			    "%s is statically linked: nothing can be preloaded into it; link it "
			    "dynamically, or link softcx into it",
			    path);
	}
	close(fd);
}

static void check_program(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		die(EXIT_NOT_FOUND, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		die(EXIT_NOT_EXECUTABLE, "%s: is a directory", path);
	if (access(path, X_OK))
		die(EXIT_NOT_EXECUTABLE, "%s: %s", path, strerror(errno));
	check_privileges(path, &st);
	check_image(path);
}

/* -- its environment --------------------------------------------------------------------------- */

/* Beside the launcher in a build tree, else where it was installed. */
static const char *find_preload(char path[PATH_MAX])
{
	static const char name[] = "softcx_preload.so";
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof(name) - 1);
	char *slash;

	if (n > 0) {
		path[n] = '\0';
		slash = strrchr(path, '/');
		strcpy(slash + 1, name);
		if (!access(path, R_OK))
			return path;
	}
	snprintf(path, PATH_MAX, "%s/%s", SOFTCX_PRELOAD_DIR, name);
	if (access(path, R_OK))
		die(EXIT_FAILURE, "%s is neither beside this program nor in %s", name,
		    SOFTCX_PRELOAD_DIR);
	return path;
}

static void set(const char *variable, const char *value)
{
	if (value ? setenv(variable, value, 1) : unsetenv(variable))
		die(EXIT_FAILURE, "%s: %s", variable, strerror(errno));
}

/* First in line, so that it precedes what else interposes the same calls. */
static void set_preload(void)
{
	const char *others = getenv("LD_PRELOAD");
	char path[PATH_MAX], *all;

	if (asprintf(&all, "%s%s%s", find_preload(path), others && *others ? ":" : "",
		     others ? others : "") < 0)
		die(EXIT_FAILURE, "%s", strerror(ENOMEM));
	set("LD_PRELOAD", all);
	free(all);
}

static char *read_plan(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;

	if (!f)
		die(EXIT_USAGE, "fault plan %s: %s", path, strerror(errno));
	if (getdelim(&text, &room, '\0', f) < 0 && ferror(f))
		die(EXIT_USAGE, "fault plan %s: %s", path, strerror(errno));
	fclose(f);
	return text;
}

static void set_fault_plan(void)
{
	char message[256], *text = options.fault;

	if (text && *text == '@')
		text = read_plan(text + 1);
	if (text && cx_fault_plan_check(text, message, sizeof(message)))
		die(EXIT_USAGE, "%s", message);
	set("SOFTCX_FAULT", text);
	if (text != options.fault)
		free(text);
}

static void check_options(void)
{
	enum cx_generation generation;
	enum cx_link link;

	if (cx_generation_by_name(options.generation, &generation))
		die(EXIT_USAGE, "--generation %s: known are cx5, cx6, cx7", options.generation);
	if (cx_link_by_name(options.link, &link))
		die(EXIT_USAGE, "--link %s: known are ib, roce", options.link);
	if (!*options.fabric || strchr(options.fabric, '/'))
		die(EXIT_USAGE, "--fabric: a name without '/', not \"%s\"", options.fabric);
}

static void set_environment(bool trace)
{
	check_options();
	set("SOFTCX_GENERATION", options.generation);
	set("SOFTCX_LINK", options.link);
	set("SOFTCX_FABRIC", options.fabric);
	set("SOFTCX_TRACE", options.trace ? options.trace : trace ? "-" : NULL);
	set("SOFTCX_EXACT", options.exact ? "1" : NULL);
	set("SOFTCX_PASSIVE", options.passive ? "1" : NULL);
	set_fault_plan();
	set_preload();
}

/* popt takes an optional value only as --trace=FILE; whether --trace stood there, it does not say. */
static bool trace_was_given(int argc, char **argv)
{
	for (int k = 1; k < argc && strcmp(argv[k], "--"); k++)
		if (!strcmp(argv[k], "--trace") || !strcmp(argv[k], "-t"))
			return true;
	return false;
}

static void run(poptContext context, bool trace)
{
	const char **argv = poptGetArgs(context), *path;
	char found[PATH_MAX];

	if (!argv || !*argv)
		die(EXIT_USAGE, "run: which program? (softcx --help)");
	path = find_program(argv[0], found);
	check_program(path);
	set_environment(trace);
	execv(path, (char **)argv);
	die(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE, "%s: %s", path,
	    strerror(errno));
}

int main(int argc, char **argv)
{
	poptContext context = poptGetContext("softcx", argc, (const char **)argv, option_table, 0);
	const char *command;
	int rc;

	poptSetOtherOptionHelp(context, "run [OPTION...] -- PROGRAM [ARGUMENT...]");
	while ((rc = poptGetNextOpt(context)) > 0)
		;
	if (rc < -1)
		die(EXIT_USAGE, "%s: %s (before the program's own options, write --)",
		    poptBadOption(context, POPT_BADOPTION_NOALIAS), poptStrerror(rc));
	if (options.version) {
		printf("softcx %s\n", SOFTCX_VERSION);
		return 0;
	}
	command = poptGetArg(context);
	if (!command || strcmp(command, "run"))
		die(EXIT_USAGE, "%s%s; the command is: run (softcx --help)",
		    command ? "unknown command " : "no command", command ? command : "");
	run(context, trace_was_given(argc, argv));
}
