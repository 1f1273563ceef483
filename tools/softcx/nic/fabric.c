/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fabric's shared mapping: how processes find it, join it and leave it. Each user and fabric
 * has a file. Its first process creates it, its last one removes it, and the next one takes over
 * what dead processes left.
 */
#include "fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../os/raw.h"
#include "process.h"

#define CX_MAGIC 0x736f667463780002ull /* "softcx", version 2 */
/* Builds that lay the segment out differently do not share one. */
#define CX_LAYOUT ((uint32_t)(sizeof(struct cx_shared) ^ sizeof(struct cx_qp) << 8))

/*
 * Robust, since processes die. Not of PTHREAD_PRIO_INHERIT: such a lock is handed to whoever waits longest, and where
 * more processes run than there are cores each request then waits for that one to be scheduled.
 */
static int init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	int err;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	err = pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return -err;
}

/* -- the segment ------------------------------------------------------------------------------- */

/* The beginning of the paths of the user's segments. */
static int name_prefix(char **prefix)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	struct stat st;
	int len;

	if (dir && !raw_stat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		len = asprintf(prefix, "%s/softcx-", dir);
	else
		len = asprintf(prefix, "/dev/shm/softcx-%u-", (unsigned)geteuid());
	return len < 0 ? -ENOMEM : 0;
}

static int name_segment(const char *fabric, char **path)
{
	char *prefix;
	int err;

	if (!fabric)
		fabric = "default";
	if (!*fabric || strlen(fabric) > CX_FABRIC_NAME_LEN || strchr(fabric, '/'))
		return -EINVAL;
	err = name_prefix(&prefix);
	if (err)
		return err;
	err = asprintf(path, "%s%s", prefix, fabric) < 0 ? -ENOMEM : 0;
	free(prefix);
	return err;
}

/*
 * The folder may be one where everybody writes. A file of another user, or one that has a second name
 * where another user gave it this one, is no fabric.
 */
static bool is_own(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink <= 1;
}

/* Opens and locks the file, and makes sure that it is still the one the path names. */
static int open_segment(const char *path, int flags, int *fd_out)
{
	for (;;) {
		struct stat st;
		int fd = raw_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);

		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX) || raw_fstat(fd, &st)) {
			int err = -errno;

			raw_close(fd);
			return err;
		}
		if (!is_own(&st)) {
			raw_close(fd);
			return -EPERM;
		}
		if (st.st_nlink) {
			*fd_out = fd;
			return 0;
		}
		raw_close(fd); /* its last process removed it while we waited */
	}
}

static bool segment_in_use(const struct cx_shared *shared)
{
	for (unsigned i = 0; i < CX_PROCS; i++)
		if (cx_proc_alive(&shared->procs[i]))
			return true;
	return false;
}

static void free_roster(struct cx_shared *roster)
{
	if (roster)
		munmap(roster, sizeof(*roster));
}

/* The part of a segment that every build can read; NULL when it is none, or there is no memory. */
static struct cx_shared *read_roster(int fd)
{
	static const size_t size = offsetof(struct cx_shared, lock);
	struct cx_shared *roster = mmap(NULL, sizeof(*roster), PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (roster == MAP_FAILED)
		return NULL;
	if (pread(fd, roster, size, 0) == (ssize_t)size && roster->magic == CX_MAGIC)
		return roster;
	free_roster(roster);
	return NULL;
}

/* Whether another build's processes use it. */
static int check_foreign(int fd)
{
	struct cx_shared *roster = read_roster(fd);
	int err = 0;

	if (roster && roster->layout != CX_LAYOUT && segment_in_use(roster))
		err = -EPROTO;
	free_roster(roster);
	return err;
}

static int init_segment(struct cx_shared *shared, const struct cx_config *config)
{
	int err = init_lock(&shared->lock);

	if (err)
		return err;
	shared->layout = CX_LAYOUT;
	shared->generation = config->generation;
	shared->link = config->link;
	shared->magic = CX_MAGIC;
	return 0;
}

static int map_segment(struct cx_hca *hca, int flags, int fd)
{
	void *map = mmap(NULL, sizeof(struct cx_shared), PROT_READ | PROT_WRITE, flags, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	hca->shared = map;
	return 0;
}

/* An empty, foreign or abandoned segment becomes a new one; called under the file's lock. */
static int adopt_segment(struct cx_hca *hca)
{
	struct cx_shared *shared;
	struct stat st;
	bool fresh;
	int err;

	err = check_foreign(hca->segment_fd);
	if (err)
		return err;
	if (raw_fstat(hca->segment_fd, &st))
		return -errno;
	fresh = st.st_size != (off_t)sizeof(struct cx_shared);
	if (fresh && (ftruncate(hca->segment_fd, 0) ||
		      ftruncate(hca->segment_fd, (off_t)sizeof(struct cx_shared))))
		return -errno;
	err = map_segment(hca, MAP_SHARED, hca->segment_fd);
	if (err)
		return err;
	shared = hca->shared;
	fresh = fresh || shared->magic != CX_MAGIC || shared->layout != CX_LAYOUT;
	if (!fresh && segment_in_use(shared)) {
		if (shared->generation != hca->config.generation ||
		    shared->link != hca->config.link)
			return -EBUSY;
		return 0;
	}
	/* Punching the pages out zeroes the tables without touching them. */
	if (ftruncate(hca->segment_fd, 0) ||
	    ftruncate(hca->segment_fd, (off_t)sizeof(struct cx_shared)))
		return -errno;
	return init_segment(shared, &hca->config);
}

/* What this build cannot read may be in use by others. */
static void remove_unused(const struct cx_fabric *fabric, void *context)
{
	(void)context;
	if (fabric->is_read && !fabric->count)
		cx_fabric_remove(fabric->name);
}

int cx_join_fabric(struct cx_hca *hca)
{
	int err;

	if (hca->config.private_fabric) {
		err = map_segment(hca, MAP_SHARED | MAP_ANONYMOUS, -1);
		if (!err)
			err = init_segment(hca->shared, &hca->config);
		return err ? err : cx_proc_claim(hca);
	}
	err = name_segment(hca->config.fabric, &hca->segment_path);
	if (err)
		return err;
	err = open_segment(hca->segment_path, O_CREAT, &hca->segment_fd);
	if (err)
		return err;
	err = adopt_segment(hca);
	if (!err) {
		cx_lock(hca);
		err = cx_proc_claim(hca);
		cx_unlock(hca);
	}
	flock(hca->segment_fd, LOCK_UN);
	if (!err)
		cx_fabric_each(remove_unused, NULL); /* a process that was killed, or left by _exit(), removes none */
	return err;
}

void cx_leave_fabric(struct cx_hca *hca)
{
	if (hca->segment_fd >= 0)
		flock(hca->segment_fd, LOCK_EX);
	cx_lock(hca);
	cx_proc_release(hca);
	cx_unlock(hca);
	if (hca->segment_fd >= 0 && !segment_in_use(hca->shared))
		unlink(hca->segment_path);
}

void cx_leave(struct cx_hca *hca)
{
	if (hca->config.private_fabric || hca->segment_fd < 0 || hca->self >= CX_PROCS)
		return;
	flock(hca->segment_fd, LOCK_EX);
	if (cx_lock_within_a_second(hca)) {
		cx_proc_release(hca);
		__atomic_store_n(&hca->self, CX_PROCS, __ATOMIC_RELAXED);
		cx_unlock(hca);
		if (!segment_in_use(hca->shared))
			unlink(hca->segment_path);
	}
	flock(hca->segment_fd, LOCK_UN);
}

/* -- seen from outside ------------------------------------------------------------------------- */

static int open_to_look(const char *path)
{
	const int fd = raw_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!raw_fstat(fd, &st) && is_own(&st))
		return fd;
	raw_close(fd);
	return -EPERM;
}

static void describe(int fd, struct cx_fabric *fabric)
{
	struct cx_shared *roster = read_roster(fd);

	if (!roster)
		return;
	fabric->is_read = true;
	fabric->same_build = roster->layout == CX_LAYOUT;
	fabric->generation = (enum cx_generation)roster->generation;
	fabric->link = (enum cx_link)roster->link;
	for (unsigned i = 0; i < CX_PROCS; i++)
		if (cx_proc_alive(&roster->procs[i]))
			fabric->pids[fabric->count++] = roster->procs[i].pid;
	free_roster(roster);
}

int cx_fabric_find(const char *name, struct cx_fabric *fabric)
{
	char *path;
	int fd, err = name_segment(name, &path);

	if (err)
		return err;
	fd = open_to_look(path);
	free(path);
	if (fd < 0)
		return fd;
	memset(fabric, 0, sizeof(*fabric));
	strcpy(fabric->name, name);
	describe(fd, fabric);
	raw_close(fd);
	return 0;
}

int cx_fabric_remove(const char *name)
{
	struct cx_shared *roster;
	char *path;
	int fd, err = name_segment(name, &path);

	if (err)
		return err;
	err = open_segment(path, 0, &fd);
	if (err)
		goto free_path;
	roster = read_roster(fd);
	if (roster && segment_in_use(roster))
		err = -EBUSY;
	else if (unlink(path))
		err = -errno;
	free_roster(roster);
	raw_close(fd);
free_path:
	free(path);
	return err;
}

int cx_fabric_each(cx_fabric_visitor *visit, void *context)
{
	char *prefix, *pattern;
	struct cx_fabric fabric;
	glob_t names;
	int err = name_prefix(&prefix);

	if (err)
		return err;
	err = asprintf(&pattern, "%s*", prefix) < 0 ? -ENOMEM : 0;
	if (err)
		goto free_prefix;
	err = glob(pattern, 0, NULL, &names) == GLOB_NOSPACE ? -ENOMEM : 0;
	for (size_t i = 0; !err && i < names.gl_pathc; i++)
		if (!cx_fabric_find(names.gl_pathv[i] + strlen(prefix), &fabric))
			visit(&fabric, context);
	globfree(&names);
	free(pattern);
free_prefix:
	free(prefix);
	return err;
}
