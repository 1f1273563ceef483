/* SPDX-License-Identifier: BSD-2-Clause */
/* A running process, and functions for both kinds of target. */
#include "target.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../record.h"

#define ROOM_BYTES (16u << 20)  /* the kernel's counts of memory may be wrong by that much */
#define LOOK_BYTES (256u << 20) /* bytes that a look may read, however small the target is */
#define LOOK_TIMES 4   /* how often a look may read the whole memory: each ring is copied twice */
#define READ_COST  256 /* bytes that could be copied in the time of a call */

int target_fail(struct target *target, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(target->why, sizeof(target->why), format, args);
	va_end(args);
	make_printable(target->why);
	return -error;
}

void target_set_name(struct target *target, const char *what, long pid, const char *program,
		     size_t len)
{
	char clean[32] = "";

	for (size_t i = 0; i < len && i < sizeof(clean) - 1 && program[i]; i++)
		clean[i] = printable(program[i]);
	snprintf(target->name, sizeof(target->name), *clean ? "%s %ld (%s)" : "%s %ld", what, pid,
		 clean);
}

void target_add_image(struct target *target, uint64_t start)
{
	target->images = room_for(target->images, target->image_count, 1, sizeof(start));
	target->images[target->image_count++] = start;
}

const char *target_find_note(Elf_Data *notes, uint32_t type, const char *owner, size_t *bytes)
{
	size_t next, name, desc;
	GElf_Nhdr note;

	for (size_t at = 0; notes && (next = gelf_getnote(notes, at, &note, &name, &desc));
	     at = next)
		if (note.n_type == type && note.n_namesz == strlen(owner) + 1 &&
		    !memcmp((const char *)notes->d_buf + name, owner, note.n_namesz)) {
			*bytes = note.n_descsz;
			return (const char *)notes->d_buf + desc;
		}
	return NULL;
}

bool target_has_room(const struct target *target, uint64_t bytes)
{
	return bytes <= ROOM_BYTES + target->memory_bytes;
}

int target_read(struct target *target, uint64_t address, void *to, size_t bytes)
{
	if (!bytes)
		return 0;
	if (target->spent / LOOK_TIMES > LOOK_BYTES / LOOK_TIMES + target->memory_bytes)
		return target_fail(
			target, EPROTO,
			"%s lists more than its memory can hold: its list of queues is damaged",
			target->name);
	target->spent += READ_COST + bytes;
	return target->read(target, address, to, bytes);
}

void target_close(struct target *target)
{
	if (target->close)
		target->close(target);
	free(target->images);
	*target = (struct target){ .pidfd = -1 };
}

/* -- a process --------------------------------------------------------------------------------- */

bool target_wait(struct target *target, int ms)
{
	struct pollfd fd = { .fd = target->pidfd, .events = POLLIN };

	target->has_ended = target->has_ended || poll(&fd, 1, ms) == 1;
	return !target->has_ended;
}

static int say_ended(struct target *target)
{
	target->has_ended = true;
	return target_fail(target, ESRCH, "%s has ended", target->name);
}

/* The process is not in /proc. */
static int say_invisible(struct target *target)
{
	if (target->pidfd < 0 || !target_wait(target, 0))
		return say_ended(target);
	return target_fail(
		target, EPERM,
		"%s is there, but /proc does not show it (hidepid): run wqe-dump as root",
		target->name);
}

/* Says who may read a process's memory: ptrace(2), "Ptrace access mode checking". */
static int say_forbidden(struct target *target)
{
	const struct passwd *user;
	struct stat dir;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld", target->pid);
	if (stat(path, &dir))
		return say_invisible(target);
	user = getpwuid(dir.st_uid);
	if (dir.st_uid != geteuid())
		return target_fail(target, EPERM,
				   "%s is user %s's (%u), whose memory is not ours to read: run "
				   "wqe-dump as that user or as root",
				   target->name, user ? user->pw_name : "?", dir.st_uid);
	return target_fail(target, EPERM,
			   "the memory of %s may not be read: run wqe-dump as root, or see "
			   "kernel.yama.ptrace_scope",
			   target->name);
}

static int read_process(struct target *target, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = { to, bytes };
	struct iovec remote = { (void *)(uintptr_t)address, bytes };
	const ssize_t got = process_vm_readv((pid_t)target->pid, &local, 1, &remote, 1, 0);

	if (got < 0 && errno == EPERM)
		return say_forbidden(target);
	/* The process may have ended, and another process may have its number. */
	if ((got < 0 && errno == ESRCH) || !target_wait(target, 0))
		return say_ended(target);
	if (got != (ssize_t)bytes)
		return target_fail(target, EFAULT, "%s has nothing mapped at 0x%llx", target->name,
				   (unsigned long long)address + (got > 0 ? (size_t)got : 0));
	return 0;
}

static void close_process(struct target *target)
{
	if (target->pidfd >= 0)
		close(target->pidfd);
}

static FILE *open_proc(const struct target *target, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/%s", target->pid, name);
	return fopen(path, "re");
}

static void read_name(struct target *target)
{
	FILE *file = open_proc(target, "comm");
	char comm[32] = "";

	if (file && fgets(comm, sizeof(comm), file) && *comm)
		comm[strlen(comm) - 1] = '\0'; /* the end of the line */
	if (file)
		fclose(file);
	target_set_name(target, "process", target->pid, comm, sizeof(comm));
}

/* What is resident, swapped out or on huge pages; a mapping alone may have any size. */
static uint64_t count_memory(const struct target *target)
{
	static const char *const rows[] = { "VmRSS:", "VmSwap:", "HugetlbPages:" };
	FILE *status = open_proc(target, "status");
	uint64_t bytes = 0;
	char *line = NULL;
	size_t size = 0;

	while (status && getline(&line, &size, status) > 0)
		for (unsigned i = 0; i < COUNT(rows); i++)
			if (!strncmp(line, rows[i], strlen(rows[i])))
				bytes += strtoull(line + strlen(rows[i]), NULL, 10) << 10;
	free(line);
	if (status)
		fclose(status);
	return bytes;
}

void target_begin(struct target *target)
{
	target->spent = 0;
	if (target->pid)
		target->memory_bytes = count_memory(target);
}

/* The first page of each file that is mapped. */
static int read_maps(struct target *target)
{
	FILE *maps = open_proc(target, "maps");
	unsigned long long start, offset, inode;
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	if (!maps)
		return errno == EACCES || errno == EPERM ? say_forbidden(target)
							 : say_invisible(target);
	while (getline(&line, &size, maps) > 0)
		if (sscanf(line, "%llx-%*x r%*s %llx %*s %llu", &start, &offset, &inode) == 3 &&
		    !offset && inode)
			target_add_image(target, start);
	/* The kernel may allow opening the file, and then refuse reading it. */
	if (ferror(maps))
		err = say_forbidden(target);
	free(line);
	fclose(maps);
	return err;
}

int target_open_process(struct target *target, long pid)
{
	int err;

	*target = (struct target){
		.is_live = true, .pid = pid, .read = read_process, .close = close_process
	};
	target->pidfd = pidfd_open((pid_t)pid, 0);
	if (target->pidfd < 0 && errno != ENOSYS)
		return target_fail(target, ESRCH, "there is no process %ld", pid);
	read_name(target);
	err = read_maps(target);
	if (!err && !target->image_count)
		err = target_fail(target, ESRCH,
				  "%s has no memory: it has ended, or is the kernel's",
				  target->name);
	return err;
}
