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

#define PARENT "/tmp"

int trees_create(char *path, size_t size)
{
	int length = snprintf(path, size, PARENT "/softcx-%u-%d-XXXXXX", getuid(), getpid());

	if (length >= 0 && (size_t)length < size && mkdtemp(path))
		return 0;
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

void trees_sweep(void)
{
	int fd = raw_open(PARENT, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	char path[300];

	while (dir && (entry = readdir(dir))) {
		unsigned uid;
		int pid;

		if (sscanf(entry->d_name, "softcx-%u-%d-", &uid, &pid) != 2 || uid != getuid())
			continue;
		if (pid <= 0 || !kill(pid, 0) || errno != ESRCH)
			continue;
		snprintf(path, sizeof(path), PARENT "/%s", entry->d_name);
		trees_remove(path);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		raw_close(fd);
}
