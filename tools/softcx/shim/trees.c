/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory in which a process keeps its fake files. Its name has the user and, for people, the
 * pid. Everybody may write to the folder it is in. So what is swept is identified by descriptor,
 * never by name, which another user may have given to something else.
 */
#include "trees.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../os/life.h"
#include "../os/raw.h"

/* Memory first, as for fabrics: on a disk a device would take a hundred times as long to open. */
static const char *const parents[] = { "/dev/shm", "/tmp" };
#define PARENTS (sizeof(parents) / sizeof(parents[0]))

/*
 * A sweeper may come between the creation of the directory and its lock; then another one is made.
 */
enum { TRIES = 16 };

/* The file whose lock shows that the directory's process lives. */
#define LIFE "alive"

static int create(const char *parent, char *path, size_t size, void **life)
{
	const int length =
		snprintf(path, size, "%s/softcx-tree-%u-%d-XXXXXX", parent, geteuid(), getpid());
	char file[96];

	if (length < 0 || (size_t)length >= size)
		return -ENAMETOOLONG;
	if (!mkdtemp(path))
		return -errno;
	snprintf(file, sizeof(file), "%s/" LIFE, path);
	return life_hold(file, O_CREAT, 0, life);
}

int trees_create(char *path, size_t size, void **life)
{
	int err = -ENOENT;

	for (size_t i = 0; i < PARENTS; i++) {
		for (unsigned tries = 0; tries < TRIES; tries++) {
			err = create(parents[i], path, size, life);
			if (!err)
				return 0;
			if (err != -EAGAIN && err != -ENOENT)
				break;
		}
	}
	*path = '\0';
	return err;
}

/* -- removal ----------------------------------------------------------------------------------- */

static int open_directory(int parent, const char *name)
{
	return raw_openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
}

/* As mkdtemp() created it, so nobody else can put anything into it. */
static bool is_own(int fd)
{
	struct stat st;

	return !raw_fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & (S_IRWXG | S_IRWXO));
}

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Takes over the descriptor. Links are removed, and not followed. */
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

static int open_own(int parent, const char *name)
{
	const int fd = open_directory(parent, name);

	if (fd < 0 || is_own(fd))
		return fd;
	raw_close(fd);
	return -1;
}

void trees_remove(const char *path, void *life)
{
	const int fd = open_own(AT_FDCWD, path);

	if (fd >= 0) {
		empty(fd);
		unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
	}
	life_let_go(life);
}

/*
 * Removes a tree whose process is gone. A process may still be about to take the lock, so this one
 * keeps it meanwhile.
 */
static void sweep_tree(int parent, const char *name)
{
	const int fd = open_own(parent, name);
	const int life =
		fd < 0 ? -1 : raw_openat(fd, LIFE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (life >= 0 && life_is_over(life, 0)) {
		empty(fd);
		unlinkat(parent, name, AT_REMOVEDIR);
	} else if (fd >= 0) {
		raw_close(fd);
	}
	if (life >= 0)
		raw_close(life);
}

static void sweep(const char *parent)
{
	int fd = raw_open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	unsigned uid;

	while (dir && (entry = readdir(dir)))
		if (sscanf(entry->d_name, "softcx-tree-%u-", &uid) == 1 && uid == geteuid())
			sweep_tree(fd, entry->d_name);
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
