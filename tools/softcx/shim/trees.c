/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory in which a process keeps its fake files. Its name has the user and the pid, and it is
 * where everybody may write: what is swept is known by descriptor, never by name, since another user
 * may have put something else under the name.
 */
#include "trees.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../os/raw.h"

/* Memory first, where fabrics are, too: on a disk a device would take a hundred times as long to open. */
static const char *const parents[] = { "/dev/shm", "/tmp" };
#define PARENTS (sizeof(parents) / sizeof(parents[0]))

int trees_create(char *path, size_t size)
{
	for (size_t i = 0; i < PARENTS; i++) {
		const int length = snprintf(path, size, "%s/softcx-sys-%u-%d-XXXXXX", parents[i],
					    geteuid(), getpid());

		if (length >= 0 && (size_t)length < size && mkdtemp(path))
			return 0;
	}
	*path = '\0';
	return -errno;
}

/* -- removal ----------------------------------------------------------------------------------- */

static int open_directory(int parent, const char *name)
{
	return raw_openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* As mkdtemp() made it: nobody else can put anything into it. */
static bool is_own(int fd)
{
	struct stat st;

	return !raw_fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & (S_IRWXG | S_IRWXO));
}

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Takes the descriptor. Links are removed, and not followed. */
static void empty(int fd)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (is_dot(entry->d_name) || !unlinkat(fd, entry->d_name, 0) || errno != EISDIR)
			continue;
		empty(open_directory(fd, entry->d_name));
		unlinkat(fd, entry->d_name, AT_REMOVEDIR);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		raw_close(fd);
}

static void remove_tree(int parent, const char *name)
{
	const int fd = open_directory(parent, name);

	if (fd < 0)
		return;
	if (!is_own(fd)) {
		raw_close(fd);
		return;
	}
	empty(fd);
	unlinkat(parent, name, AT_REMOVEDIR);
}

void trees_remove(const char *path)
{
	remove_tree(AT_FDCWD, path);
}

/* Those of processes that are gone. */
static void sweep(const char *parent)
{
	int fd = raw_open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		unsigned uid;
		int pid;

		if (sscanf(entry->d_name, "softcx-sys-%u-%d-", &uid, &pid) != 2 || uid != geteuid())
			continue;
		if (pid <= 0 || !kill(pid, 0) || errno != ESRCH)
			continue;
		remove_tree(fd, entry->d_name);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		raw_close(fd);
}

void trees_sweep(void)
{
	for (size_t i = 0; i < PARENTS; i++)
		sweep(parents[i]);
}
