/* SPDX-License-Identifier: BSD-2-Clause */
/* The directory in which a process keeps its fake files. Its name has the user and the pid. */
#include "trees.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../os/raw.h"

/* Memory first, where fabrics are, too: on a disk a device would take a hundred times as long to open. */
static const char *const parents[] = { "/dev/shm", "/tmp" };
#define PARENTS (sizeof(parents) / sizeof(parents[0]))

int trees_create(char *path, size_t size)
{
	for (size_t i = 0; i < PARENTS; i++) {
		const int length = snprintf(path, size, "%s/softcx-sys-%u-%d-XXXXXX", parents[i],
					    getuid(), getpid());

		if (length >= 0 && (size_t)length < size && mkdtemp(path))
			return 0;
	}
	*path = '\0';
	return -errno;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

void trees_remove(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Those of processes that are gone. */
static void sweep(const char *parent)
{
	int fd = raw_open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	char path[300];

	while (dir && (entry = readdir(dir))) {
		unsigned uid;
		int pid;

		if (sscanf(entry->d_name, "softcx-sys-%u-%d-", &uid, &pid) != 2 || uid != getuid())
			continue;
		if (pid <= 0 || !kill(pid, 0) || errno != ESRCH)
			continue;
		snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name);
		trees_remove(path);
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
