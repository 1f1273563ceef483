/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The launcher: preloads the shim, which gives a program an mlx5_0, and replaces itself by that
 * program, so pid, signals and exit status are the program's own. The launcher refuses what the
 * shim would refuse later in the program, since it can say why.
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

#include "launcher.h"
#include "datasheet.h"
#include "nic/netdev.h"

static struct {
	char *generation, *link, *fabric, *netdev, *fault, *trace;
	int exact, passive, big_endian_atomics, no_devx, no_stride_index, no_errored_streams, lag,
		version;
	bool given, trace_given;
} options = { .generation = "cx6", .link = "ib", .fabric = "default" };

/* What poptGetNextOpt() returns: which option of `run` was given. */
enum { GIVEN = 1, TRACE_GIVEN };

static const struct poptOption option_table[] = {
	{ "generation", 'g', POPT_ARG_STRING | POPT_ARGFLAG_SHOW_DEFAULT, &options.generation,
	  GIVEN, "which ConnectX", "cx5|cx6|cx7" },
	{ "link", 'l', POPT_ARG_STRING | POPT_ARGFLAG_SHOW_DEFAULT, &options.link, GIVEN,
	  "InfiniBand or Ethernet", "ib|roce" },
	{ "fabric", 'f', POPT_ARG_STRING | POPT_ARGFLAG_SHOW_DEFAULT, &options.fabric, GIVEN,
	  "join this fabric of the user's programs", "NAME" },
	{ "netdev", 'n', POPT_ARG_STRING, &options.netdev, GIVEN,
	  "the network interface behind the port (with --link roce; default: that of the default "
	  "route)",
	  "NAME|lo|none" },
	{ "fault", 0, POPT_ARG_STRING, &options.fault, GIVEN, "inject faults; @FILE reads the plan",
	  "PLAN|@FILE" },
	{ "trace", 't', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, &options.trace, TRACE_GIVEN,
	  "list doorbells, WQEs and findings, on standard error or in a file", "FILE" },
	{ "exact", 'e', POPT_ARG_NONE, &options.exact, GIVEN,
	  "one fault for each store to a doorbell", NULL },
	{ "passive", 'p', POPT_ARG_NONE, &options.passive, GIVEN,
	  "execute nothing until the program steps the device", NULL },
	{ "big-endian-atomics", 0, POPT_ARG_NONE, &options.big_endian_atomics, GIVEN,
	  "results of 8 bytes of atomics are big-endian", NULL },
	{ "no-devx", 0, POPT_ARG_NONE, &options.no_devx, GIVEN, "programs may not send commands",
	  NULL },
	{ "no-stride-index", 0, POPT_ARG_NONE, &options.no_stride_index, GIVEN,
	  "no CQEs compressed by stride index", NULL },
	{ "no-errored-streams", 0, POPT_ARG_NONE, &options.no_errored_streams, GIVEN,
	  "a DC initiator fails with the first of its streams", NULL },
	{ "lag", 0, POPT_ARG_NONE, &options.lag, GIVEN, "two ports are bonded (with --link roce)",
	  NULL },
	{ "version", 0, POPT_ARG_NONE, &options.version, 0, "show the version", NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

void die(int status, const char *format, ...)
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

/* Searches as execvp() does, without running anything. */
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

/* The loader ignores LD_PRELOAD if a program gains privileges (ld.so(8)). */
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
			return true; /* not checked here: execve() will fail */
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

	if (fd < 0) /* executable, but not readable */
		return;
	n = pread(fd, &head, sizeof(head), 0);
	if (n == sizeof(head) && !memcmp(head.e_ident, ELFMAG, SELFMAG)) {
		if (head.e_ident[EI_CLASS] != ELFCLASS64)
			die(EXIT_NOT_EXECUTABLE,
			    "%s is a 32-bit program: softcx needs a 64-bit one", path);
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

/* Beside the launcher in a build tree; else where it was installed. */
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

/* First in the list, so that it precedes others that interpose the same calls. */
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

/*
 * gcc's AddressSanitizer refuses to run after another library, though it sees all calls there, too.
 * The user's own options come after ours, so they win.
 */
static void set_sanitizer(void)
{
	const char *others = getenv("ASAN_OPTIONS");
	char *all;

	if (asprintf(&all, "verify_asan_link_order=0%s%s", others ? ":" : "",
		     others ? others : "") < 0)
		die(EXIT_FAILURE, "%s", strerror(ENOMEM));
	set("ASAN_OPTIONS", all);
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

/* The shim would fail in the same way, and the program would see no device. */
static void check_fabric(enum cx_generation generation, enum cx_link link)
{
	const char *netdev = options.netdev && strcmp(options.netdev, "none") ? options.netdev : "";
	struct cx_fabric there;
	int err = cx_fabric_find(options.fabric, &there);

	if (err == -EINVAL)
		die(EXIT_USAGE, "--fabric: a name of 1 to %d characters without '/', not \"%s\"",
		    CX_FABRIC_NAME_LEN, options.fabric);
	if (err == -EPERM || err == -EACCES || err == -ELOOP)
		die(EXIT_USAGE,
		    "--fabric %s: there is a file of that name which is not yours; choose another "
		    "fabric",
		    options.fabric);
	if (err || !there.count)
		return;
	if (!there.same_build)
		die(EXIT_USAGE,
		    "--fabric %s: process %d uses it with another version of softcx; choose "
		    "another fabric, or end it",
		    options.fabric, (int)there.pids[0]);
	if (!there.same_pids)
		die(EXIT_USAGE,
		    "--fabric %s: programs of another PID namespace (a container, unshare -p) use "
		    "it, and processes reach each other by number; start all in one, or choose "
		    "another fabric",
		    options.fabric);
	if (there.generation != generation || there.link != link)
		die(EXIT_USAGE,
		    "--fabric %s: it is %s on %s for process %d; choose the same, or another "
		    "fabric",
		    options.fabric, cx_datasheet(there.generation)->name, cx_link_name(there.link),
		    (int)there.pids[0]);
	if (options.netdev && strcmp(there.netdev, netdev))
		die(EXIT_USAGE,
		    "--fabric %s: its interface is %s for process %d; choose the same, or another "
		    "fabric",
		    options.fabric, *there.netdev ? there.netdev : "none", (int)there.pids[0]);
}

static void check_netdev(enum cx_link link)
{
	struct cx_netdev netdev;
	int err;

	if (!options.netdev)
		return;
	if (link != CX_LINK_ROCE)
		die(EXIT_USAGE, "--netdev: only an Ethernet port has an interface (--link roce)");
	if (!*options.netdev || strlen(options.netdev) >= CX_NETDEV_NAME_SIZE)
		die(EXIT_USAGE, "--netdev: \"%s\" is no interface's name", options.netdev);
	err = strcmp(options.netdev, "none") ? cx_netdev_read(options.netdev, &netdev) : 0;
	if (err == -ENODEV)
		die(EXIT_USAGE, "--netdev %s: there is no Ethernet interface of that name",
		    options.netdev);
	if (err == -ENETDOWN)
		die(EXIT_USAGE, "--netdev %s: it is down", options.netdev);
	if (err)
		die(EXIT_USAGE, "--netdev %s: %s", options.netdev, strerror(-err));
}

static void check_trace(void)
{
	int fd;

	if (!options.trace || !strcmp(options.trace, "-"))
		return;
	fd = open(options.trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		die(EXIT_USAGE, "--trace %s: %s", options.trace, strerror(errno));
	close(fd);
}

static void check_options(void)
{
	enum cx_generation generation;
	enum cx_link link;

	if (cx_generation_by_name(options.generation, &generation))
		die(EXIT_USAGE, "--generation %s: known are cx5, cx6, cx7", options.generation);
	if (cx_link_by_name(options.link, &link))
		die(EXIT_USAGE, "--link %s: known are ib, roce", options.link);
	if (options.lag && link != CX_LINK_ROCE)
		die(EXIT_USAGE, "--lag: only Ethernet ports can be bonded (--link roce)");
	check_netdev(link);
	check_fabric(generation, link);
	check_trace();
}

static void set_environment(void)
{
	check_options();
	set("SOFTCX_GENERATION", options.generation);
	set("SOFTCX_LINK", options.link);
	set("SOFTCX_FABRIC", options.fabric);
	set("SOFTCX_NETDEV", options.netdev);
	set("SOFTCX_TRACE", options.trace ? options.trace : options.trace_given ? "-" : NULL);
	set("SOFTCX_EXACT", options.exact ? "1" : NULL);
	set("SOFTCX_PASSIVE", options.passive ? "1" : NULL);
	set("SOFTCX_BIG_ENDIAN_ATOMICS", options.big_endian_atomics ? "1" : NULL);
	set("SOFTCX_NO_DEVX", options.no_devx ? "1" : NULL);
	set("SOFTCX_NO_STRIDE_INDEX", options.no_stride_index ? "1" : NULL);
	set("SOFTCX_NO_ERRORED_STREAMS", options.no_errored_streams ? "1" : NULL);
	set("SOFTCX_LAG", options.lag ? "1" : NULL);
	set_fault_plan();
	set_preload();
	set_sanitizer();
}

static void run(poptContext context)
{
	const char **argv = poptGetArgs(context), *path;
	char found[PATH_MAX];

	if (!argv || !*argv)
		die(EXIT_USAGE, "run: which program? (softcx --help)");
	path = find_program(argv[0], found);
	check_program(path);
	set_environment();
	execv(path, (char **)argv);
	die(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE, "%s: %s", path,
	    strerror(errno));
}

static void parse_options(poptContext context)
{
	int rc;

	while ((rc = poptGetNextOpt(context)) > 0) {
		options.given = true;
		options.trace_given |= rc == TRACE_GIVEN;
	}
	if (rc < -1)
		die(EXIT_USAGE, "%s: %s (before the program's own options, write --)",
		    poptBadOption(context, POPT_BADOPTION_NOALIAS), poptStrerror(rc));
}

/* The other commands have no arguments. */
static void manage(poptContext context, const char *command, void (*act)(void))
{
	if (options.given || poptPeekArg(context))
		die(EXIT_USAGE, "%s: takes neither options nor arguments", command);
	act();
}

int main(int argc, char **argv)
{
	poptContext context = poptGetContext("softcx", argc, (const char **)argv, option_table, 0);
	const char *command;

	poptSetOtherOptionHelp(context, "run [OPTION...] -- PROGRAM [ARGUMENT...]\n"
					"       softcx list    the fabrics, and who uses them\n"
					"       softcx clean   removes what killed programs left");
	parse_options(context);
	if (options.version) {
		printf("softcx %s\n", SOFTCX_VERSION);
		return 0;
	}
	command = poptGetArg(context);
	if (command && !strcmp(command, "run"))
		run(context);
	else if (command && !strcmp(command, "list"))
		manage(context, command, list_fabrics);
	else if (command && !strcmp(command, "clean"))
		manage(context, command, clean_fabrics);
	else
		die(EXIT_USAGE, "%s%s; the commands are: run, list, clean (softcx --help)",
		    command ? "unknown command " : "no command", command ? command : "");
	return 0;
}
