/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fabric's shared mapping: how processes find it, join it and leave it. Each fabric of a user
 * has a file. The first process creates it, the last one removes it, and the next one cleans up
 * what dead processes left.
 */
#include "fabric.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../os/life.h"
#include "../os/raw.h"
#include "memory.h"
#include "plan.h"
#include "process.h"
#include "segment.h"

#define CX_MAGIC 0x736f667463780003ull /* "softcx", version 3 */
#define CX_MAGIC_VERSION 0xffffull
/* Builds with another layout of the segment do not share one. */
#define CX_LAYOUT ((uint32_t)(sizeof(struct cx_shared) ^ sizeof(struct cx_qp) << 8))

/*
 * The lock is robust, since processes die. It has no PTHREAD_PRIO_INHERIT: such a lock goes to the
 * process that waits longest, and with more processes than cores each request then waits until that
 * one is scheduled.
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

/* The beginning of the paths of this user's segments. */
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
 * Others may write to the folder. A file of another user is no fabric, nor is one with a second
 * name, which another user may have given it.
 */
static bool is_own(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink <= 1;
}

/* Opens and locks the file, and checks that the path still names it. */
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
		raw_close(fd); /* the last process removed it while we waited */
	}
}

/* If that is unknown, it counts as in use. */
static bool segment_in_use(int fd)
{
	return life_at(fd, CX_LIFE_FIRST, CX_PROCS) != LIFE_GONE;
}

static void free_roster(struct cx_shared *roster)
{
	if (roster)
		munmap(roster, sizeof(*roster));
}

/* The part of a segment that every build can read. NULL: it is no segment, or memory is used up. */
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

/* If so, this build cannot know whether anybody uses the segment. */
static bool is_of_another_version(int fd)
{
	uint64_t magic = 0;

	return pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic != CX_MAGIC &&
	       (magic | CX_MAGIC_VERSION) == (CX_MAGIC | CX_MAGIC_VERSION);
}

/* The PID namespace: processes find each other by number. 0: unknown, there is no /proc. */
static uint64_t read_pid_namespace(void)
{
	struct stat st;

	return raw_stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

static bool has_our_pids(const struct cx_shared *roster)
{
	return roster->pid_namespace && roster->pid_namespace == read_pid_namespace();
}

/* Whether a fabric that others use may be joined. */
static int check_joined(const struct cx_shared *roster, const struct cx_config *config)
{
	if (!roster || roster->layout != CX_LAYOUT)
		return -EPROTO;
	if (!has_our_pids(roster))
		return -EXDEV;
	if (roster->generation != config->generation || roster->link != config->link)
		return -EBUSY;
	return 0;
}

/* A process without a preference takes what the fabric has. */
static int check_netdev(const struct cx_shared *shared, const struct cx_config *config)
{
	const char *wanted = config->interface ? config->interface : "";
	const bool chooses = config->interface && !*config->interface;

	if (config->link != CX_LINK_ROCE || chooses || !strcmp(wanted, shared->netdev.name))
		return 0;
	return -EBUSY;
}

/* The same for tables that a plan sets. */
static int check_tables(const struct cx_shared *shared, const struct cx_fault_plan *plan)
{
	const struct cx_port_tables *there = &shared->tables;
	const struct cx_port_tables *wanted = plan ? &plan->tables : there;

	if (wanted->has_pkeys &&
	    (!there->has_pkeys || memcmp(wanted->pkeys, there->pkeys, sizeof(wanted->pkeys))))
		return -EBUSY;
	if (wanted->has_gids &&
	    (!there->has_gids || wanted->gids_set != there->gids_set ||
	     memcmp(wanted->gids, there->gids, sizeof(wanted->gids))))
		return -EBUSY;
	if ((wanted->mtu_bytes && wanted->mtu_bytes != there->mtu_bytes) ||
	    (wanted->lanes && wanted->lanes != there->lanes))
		return -EBUSY;
	return 0;
}

static int init_segment(struct cx_hca *hca)
{
	const struct cx_config *config = &hca->config;
	struct cx_shared *shared = hca->shared;
	int err = init_lock(&shared->lock);

	if (!err && config->link == CX_LINK_ROCE && config->interface)
		err = cx_netdev_read(config->interface, &shared->netdev);
	if (err)
		return err;
	if (hca->faults)
		shared->tables = hca->faults->tables;
	shared->layout = CX_LAYOUT;
	shared->generation = config->generation;
	shared->link = config->link;
	shared->pid_namespace = read_pid_namespace();
	shared->magic = CX_MAGIC;
	return 0;
}

static int map_segment(struct cx_hca *hca, int flags, int fd)
{
	void *map = mmap(NULL, sizeof(struct cx_shared), PROT_READ | PROT_WRITE, flags, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	hca->shared = map;
	if (hca->segment_path)
		cx_mem_name_tables(map, sizeof(struct cx_shared), hca->segment_path);
	return 0;
}

static int join_segment(struct cx_hca *hca)
{
	struct cx_shared *roster = read_roster(hca->segment_fd);
	int err = check_joined(roster, &hca->config);

	free_roster(roster);
	if (!err)
		err = map_segment(hca, MAP_SHARED, hca->segment_fd);
	if (!err)
		err = check_netdev(hca->shared, &hca->config);
	return err ? err : check_tables(hca->shared, hca->faults);
}

/*
 * The tables are sparse: they have room for far more than most programs need. If memory is used up
 * later, the program is told (nic/memory.c).
 */
static int reserve_beginning(int fd)
{
	const int err = posix_fallocate(fd, 0, offsetof(struct cx_shared, pds));

	return err == EOPNOTSUPP || err == EINVAL ? 0 : -err;
}

/* Punching holes zeroes the tables without touching their pages. */
static int create_segment(struct cx_hca *hca)
{
	int err;

	if (ftruncate(hca->segment_fd, 0) ||
	    ftruncate(hca->segment_fd, (off_t)sizeof(struct cx_shared)))
		return -errno;
	err = reserve_beginning(hca->segment_fd);
	if (!err)
		err = map_segment(hca, MAP_SHARED, hca->segment_fd);
	return err ? err : init_segment(hca);
}

/* Turns an empty, foreign or abandoned segment into a new one. Under the file's lock. */
static int adopt_segment(struct cx_hca *hca)
{
	struct stat st;

	if (raw_fstat(hca->segment_fd, &st))
		return -errno;
	hca->segment_device = st.st_dev;
	hca->segment_inode = st.st_ino;
	if (is_of_another_version(hca->segment_fd))
		return -EPROTO;
	return segment_in_use(hca->segment_fd) ? join_segment(hca) : create_segment(hca);
}

/* A segment that this build cannot read may be in use. */
static void remove_unused(const struct cx_fabric *fabric, void *context)
{
	(void)context;
	if (fabric->is_read && !fabric->count)
		cx_fabric_remove(fabric->name);
}

static int join_private(struct cx_hca *hca)
{
	int err = map_segment(hca, MAP_SHARED | MAP_ANONYMOUS, -1);

	if (!err)
		err = init_segment(hca);
	return err ? err : cx_proc_claim(hca);
}

static int join_file(struct cx_hca *hca)
{
	int err = name_segment(hca->config.fabric, &hca->segment_path);

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
		/* a process that was killed, or called _exit(), did not remove its fabric */
		cx_fabric_each(remove_unused, NULL);
	return err;
}

int cx_join_fabric(struct cx_hca *hca)
{
	const int err = hca->config.private_fabric ? join_private(hca) : join_file(hca);

	if (err)
		return err;
	if (hca->shared->netdev.name[0])
		hca->config.netdev = &hca->shared->netdev;
	hca->config.tables = &hca->shared->tables;
	return 0;
}

void cx_leave_fabric(struct cx_hca *hca)
{
	const int fd = cx_segment(hca);

	if (fd >= 0)
		flock(fd, LOCK_EX);
	cx_lock(hca);
	cx_proc_release(hca);
	cx_unlock(hca);
	if (fd >= 0 && !segment_in_use(fd))
		unlink(hca->segment_path);
}

void cx_leave(struct cx_hca *hca)
{
	int fd;

	if (hca->config.private_fabric || hca->self >= CX_PROCS)
		return;
	fd = cx_segment(hca);
	if (fd >= 0)
		flock(fd, LOCK_EX);
	if (cx_lock_within_a_second(hca)) {
		cx_proc_release(hca);
		__atomic_store_n(&hca->self, CX_PROCS, __ATOMIC_RELAXED);
		cx_unlock(hca);
		if (fd >= 0 && !segment_in_use(fd))
			unlink(hca->segment_path);
	}
	if (fd >= 0)
		flock(fd, LOCK_UN);
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
	fabric->same_pids = has_our_pids(roster);
	for (unsigned i = 0; i < CX_PROCS; i++)
		if (roster->procs[i].pid && life_at(fd, CX_LIFE_FIRST + i, 1) != LIFE_GONE)
			fabric->pids[fabric->count++] = roster->procs[i].pid;
	free_roster(roster);
	if (fabric->same_build &&
	    pread(fd, fabric->netdev, sizeof(fabric->netdev) - 1,
		  offsetof(struct cx_shared, netdev) + offsetof(struct cx_netdev, name)) < 0)
		fabric->netdev[0] = '\0';
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
	char *path;
	int fd, err = name_segment(name, &path);

	if (err)
		return err;
	err = open_segment(path, 0, &fd);
	if (err)
		goto free_path;
	if (segment_in_use(fd))
		err = -EBUSY;
	else if (unlink(path))
		err = -errno;
	raw_close(fd);
free_path:
	free(path);
	return err;
}

/* The files of the folder whose names begin so. */
static int visit_files(const char *folder, const char *beginning, cx_fabric_visitor *visit,
		       void *context)
{
	const size_t length = strlen(beginning);
	struct cx_fabric fabric;
	struct dirent **files;
	int count = scandirat(AT_FDCWD, folder, &files, NULL, alphasort);

	if (count < 0)
		return errno == ENOMEM ? -ENOMEM : 0;
	for (int i = 0; i < count; i++) {
		const char *name = files[i]->d_name;

		if (!strncmp(name, beginning, length) && !cx_fabric_find(name + length, &fabric))
			visit(&fabric, context);
		free(files[i]);
	}
	free(files);
	return 0;
}

int cx_fabric_each(cx_fabric_visitor *visit, void *context)
{
	char *prefix, *slash;
	int err = name_prefix(&prefix);

	if (err)
		return err;
	slash = strrchr(prefix, '/');
	*slash = '\0';
	err = visit_files(prefix, slash + 1, visit, context);
	free(prefix);
	return err;
}
