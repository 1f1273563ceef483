/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of libc by which libibverbs, libmlx5 and UCX look for a device, interposed. Each
 * calls libc's function, unless the path or the descriptor is ours. The real functions are resolved
 * when first needed, since constructors of other libraries call these before ours runs.
 */
/* Each name must be the plain function, not its checked or its 64-bit form. */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../datasheet.h"
#include "interpose.h"
#include "shim.h"
#include "signals.h"

void *interpose_resolve(_Atomic(void *) *slot, const char *name)
{
	void *symbol = atomic_load_explicit(slot, memory_order_relaxed);

	if (!symbol) {
		symbol = dlsym(RTLD_NEXT, name);
		if (!symbol)
			abort(); /* there is no libc in the process, and no way to report that */
		atomic_store_explicit(slot, symbol, memory_order_relaxed);
	}
	return symbol;
}

const char *interpose_find(const char *path, char buf[PATH_MAX])
{
	const struct uverbs_host *host = sysfs_is_ours(path) ? shim_host() : NULL;

	return host ? sysfs_redirect(host->hca, path, buf, PATH_MAX) : NULL;
}

const char *interpose_redirect(const char *path, char buf[PATH_MAX])
{
	const char *fake = interpose_find(path, buf);

	return fake ? fake : path;
}

ssize_t interpose_read(int fd, ssize_t done, int flags)
{
	const struct uverbs_host *host;

	if (done > 0 && !(flags & MSG_PEEK) && file_is_netlink(fd) && (host = shim_host()))
		file_was_read(host->hca, fd);
	return done;
}

static enum node node_of(const char *path)
{
	const enum node node = file_node(path);

	return node && shim_host() ? node : NODE_NONE;
}

static bool is_node(const char *path)
{
	return node_of(path);
}

static int open_node(const char *path, int flags)
{
	const struct uverbs_host *host = shim_host();
	int memfd = host ? shim_uar_memfd() : -ENOENT;

	if (memfd < 0)
		return memfd;
	return file_node(path) == NODE_RDMACM ? file_open_rdmacm(host, flags) :
						file_open_node(host, memfd, flags);
}

/* The numbers of character devices, which libibverbs and librdmacm compare. */
static unsigned major_of(enum node node)
{
	return node == NODE_RDMACM ? CX_RDMACM_MAJOR : CX_UVERBS_MAJOR;
}

static unsigned minor_of(enum node node)
{
	return node == NODE_RDMACM ? CX_RDMACM_MINOR : CX_UVERBS_MINOR;
}

static void fill_node(struct stat *st, enum node node)
{
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = makedev(major_of(node), minor_of(node));
	st->st_size = 0;
}

static int stat_node(struct stat *st, enum node node)
{
	memset(st, 0, sizeof(*st));
	st->st_nlink = 1;
	fill_node(st, node);
	return 0;
}

/* -- open -------------------------------------------------------------------------------------- */

static mode_t mode_argument(int flags, va_list args)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

#define DEFINE_OPEN(name)                                                                          \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
		va_list args;                                                                      \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(args, flags);                                                             \
		mode = mode_argument(flags, args);                                                 \
		va_end(args);                                                                      \
		if (is_node(path))                                                                 \
			return set_errno(open_node(path, flags));                                  \
		return REAL(name)(interpose_redirect(path, buf), flags, mode);                     \
	}

#define DEFINE_OPENAT(name)                                                                        \
	int name(int dir, const char *path, int flags, ...)                                        \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
		va_list args;                                                                      \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(args, flags);                                                             \
		mode = mode_argument(flags, args);                                                 \
		va_end(args);                                                                      \
		if (is_node(path))                                                                 \
			return set_errno(open_node(path, flags));                                  \
		return REAL(name)(dir, interpose_redirect(path, buf), flags, mode);                \
	}

/* The checked forms that fortified programs call; they never create. */
#define DEFINE_OPEN_2(name)                                                                        \
	int name(const char *path, int flags);                                                     \
	int name(const char *path, int flags)                                                      \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		if (is_node(path))                                                                 \
			return set_errno(open_node(path, flags));                                  \
		return REAL(name)(interpose_redirect(path, buf), flags);                           \
	}

#define DEFINE_OPENAT_2(name)                                                                      \
	int name(int dir, const char *path, int flags);                                            \
	int name(int dir, const char *path, int flags)                                             \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		if (is_node(path))                                                                 \
			return set_errno(open_node(path, flags));                                  \
		return REAL(name)(dir, interpose_redirect(path, buf), flags);                      \
	}

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
DEFINE_OPEN_2(__open_2)
DEFINE_OPEN_2(__open64_2)
DEFINE_OPENAT_2(__openat_2)
DEFINE_OPENAT_2(__openat64_2)

#define DEFINE_FOPEN(name)                                                                         \
	FILE *name(const char *restrict path, const char *restrict mode)                           \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		return REAL(name)(interpose_redirect(path, buf), mode);                            \
	}

DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)

DIR *opendir(const char *path)
{
	char buf[PATH_MAX];

	return REAL(opendir)(interpose_redirect(path, buf));
}

#define DEFINE_SCANDIR(name, type)                                                                 \
	int name(const char *restrict path, struct type ***restrict list,                          \
		 int (*select)(const struct type *),                                               \
		 int (*compare)(const struct type **, const struct type **))                       \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		return REAL(name)(interpose_redirect(path, buf), list, select, compare);           \
	}

DEFINE_SCANDIR(scandir, dirent)
DEFINE_SCANDIR(scandir64, dirent64)

/* -- stat and friends -------------------------------------------------------------------------- */

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "only LP64 is supported");

#define DEFINE_STAT(name, type)                                                                    \
	int name(const char *restrict path, struct type *restrict st)                              \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		if (is_node(path))                                                                 \
			return stat_node((struct stat *)(void *)st, node_of(path));                \
		return REAL(name)(interpose_redirect(path, buf), st);                              \
	}

#define DEFINE_FSTAT(name, type)                                                                   \
	int name(int fd, struct type *st)                                                          \
	{                                                                                          \
		int err = REAL(name)(fd, st);                                                      \
                                                                                                   \
		if (!err && file_node_of(fd))                                                      \
			fill_node((struct stat *)(void *)st, file_node_of(fd));                    \
		return err;                                                                        \
	}

#define DEFINE_FSTATAT(name, type)                                                                 \
	int name(int dir, const char *restrict path, struct type *restrict st, int flags)          \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		if (is_node(path))                                                                 \
			return stat_node((struct stat *)(void *)st, node_of(path));                \
		return REAL(name)(dir, interpose_redirect(path, buf), st, flags);                  \
	}

DEFINE_STAT(stat, stat)
DEFINE_STAT(stat64, stat64)
DEFINE_STAT(lstat, stat)
DEFINE_STAT(lstat64, stat64)
DEFINE_FSTAT(fstat, stat)
DEFINE_FSTAT(fstat64, stat64)
DEFINE_FSTATAT(fstatat, stat)
DEFINE_FSTATAT(fstatat64, stat64)

static void fill_node_x(struct statx *st, enum node node)
{
	st->stx_mode = S_IFCHR | 0666;
	st->stx_rdev_major = major_of(node);
	st->stx_rdev_minor = minor_of(node);
	st->stx_size = 0;
	st->stx_mask |= STATX_TYPE | STATX_MODE | STATX_SIZE;
}

static int statx_node(struct statx *st, enum node node)
{
	memset(st, 0, sizeof(*st));
	st->stx_nlink = 1;
	fill_node_x(st, node);
	return 0;
}

int statx(int dir, const char *restrict path, int flags, unsigned mask, struct statx *restrict st)
{
	char buf[PATH_MAX];
	int err;

	if (is_node(path))
		return statx_node(st, node_of(path));
	err = REAL(statx)(dir, interpose_redirect(path, buf), flags, mask, st);
	if (!err && !*path && file_node_of(dir)) /* AT_EMPTY_PATH */
		fill_node_x(st, file_node_of(dir));
	return err;
}

int access(const char *path, int mode)
{
	char buf[PATH_MAX];

	if (is_node(path))
		return mode & X_OK ? set_errno(-EACCES) : 0;
	return REAL(access)(interpose_redirect(path, buf), mode);
}

int faccessat(int dir, const char *path, int mode, int flags)
{
	char buf[PATH_MAX];

	if (is_node(path))
		return mode & X_OK ? set_errno(-EACCES) : 0;
	return REAL(faccessat)(dir, interpose_redirect(path, buf), mode, flags);
}

ssize_t readlink(const char *restrict path, char *restrict target, size_t size)
{
	char buf[PATH_MAX];

	return REAL(readlink)(interpose_redirect(path, buf), target, size);
}

ssize_t readlinkat(int dir, const char *restrict path, char *restrict target, size_t size)
{
	char buf[PATH_MAX];

	return REAL(readlinkat)(dir, interpose_redirect(path, buf), target, size);
}

/* The program sees /sys/devices/..., since it may look for PCI topology there. */
static char *real_path(const char *path, char *resolved)
{
	char buf[PATH_MAX], real[PATH_MAX], seen[PATH_MAX];
	const char *redirected = interpose_find(path, buf);
	const char *answer;

	if (!redirected)
		return REAL(realpath)(path, resolved);
	if (!REAL(realpath)(redirected, real))
		return NULL;
	answer = sysfs_real(real, seen, sizeof(seen));
	if (!answer)
		answer = real;
	return resolved ? strcpy(resolved, answer) : strdup(answer);
}

char *realpath(const char *restrict path, char *restrict resolved)
{
	return real_path(path, resolved);
}

char *__realpath_chk(const char *path, char *resolved, size_t size);
char *__realpath_chk(const char *path, char *resolved, size_t size)
{
	return size < PATH_MAX ? REAL(__realpath_chk)(path, resolved, size)
			       : real_path(path, resolved);
}

/* Programs that list files ask for their access control lists; the node has none. */
#define DEFINE_GETXATTR(name)                                                                      \
	ssize_t name(const char *path, const char *attribute, void *value, size_t size)            \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		if (is_node(path))                                                                 \
			return set_errno(-ENODATA);                                                \
		return REAL(name)(interpose_redirect(path, buf), attribute, value, size);          \
	}

#define DEFINE_LISTXATTR(name)                                                                     \
	ssize_t name(const char *path, char *list, size_t size)                                    \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		if (is_node(path))                                                                 \
			return 0;                                                                  \
		return REAL(name)(interpose_redirect(path, buf), list, size);                      \
	}

DEFINE_GETXATTR(getxattr)
DEFINE_GETXATTR(lgetxattr)
DEFINE_LISTXATTR(listxattr)
DEFINE_LISTXATTR(llistxattr)

/* -- descriptors ------------------------------------------------------------------------------- */

int ioctl(int fd, unsigned long request, ...)
{
	const int saved = errno;
	va_list args;
	void *arg;
	int err;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!file_is_ours(fd))
		return REAL(ioctl)(fd, request, arg);
	signals_open_segv(); /* a thread that creates queues will ring */
	err = file_ioctl(fd, request, arg);
	shim_look();
	errno = saved; /* a call that succeeds leaves errno as it was */
	return set_errno(err);
}

ssize_t read(int fd, void *buf, size_t size)
{
	ssize_t done;

	if (file_is_netlink(fd))
		return interpose_read(fd, REAL(read)(fd, buf, size), 0);
	if (!file_is_ours(fd))
		return REAL(read)(fd, buf, size);
	done = file_read(fd, buf, size);
	if (done >= 0)
		return done;
	errno = (int)-done;
	return -1;
}

ssize_t __read_chk(int fd, void *buf, size_t size, size_t room);
ssize_t __read_chk(int fd, void *buf, size_t size, size_t room)
{
	return size > room ? REAL(__read_chk)(fd, buf, size, room) : read(fd, buf, size);
}

/* Commands of rdma_cm. */
ssize_t write(int fd, const void *buf, size_t size)
{
	const struct uverbs_host *host;
	const int saved = errno;
	ssize_t done;

	if (file_node_of(fd) != NODE_RDMACM)
		return REAL(write)(fd, buf, size);
	signals_open_segv(); /* a thread that connects queues will ring */
	host = shim_host();
	done = host ? file_write(host, fd, buf, size) : -EIO;
	shim_look();
	errno = done < 0 ? (int)-done : saved;
	return done < 0 ? -1 : done;
}

/* The last descriptor of a file of rdma_cm ends its connections. */
int close(int fd)
{
	const bool is_rdmacm = file_node_of(fd) == NODE_RDMACM;
	int err;

	if (file_is_ours(fd))
		file_closed(fd);
	err = REAL(close)(fd);
	if (is_rdmacm)
		shim_rdmacm_closed();
	return err;
}

int dup(int fd)
{
	int copy = REAL(dup)(fd);

	if (copy >= 0 && file_is_ours(fd))
		file_duplicated(fd, copy);
	return copy;
}

int dup2(int fd, int copy)
{
	int done;

	if (fd != copy && file_is_ours(copy))
		file_closed(copy);
	done = REAL(dup2)(fd, copy);
	if (done >= 0 && fd != copy && file_is_ours(fd))
		file_duplicated(fd, copy);
	return done;
}

int dup3(int fd, int copy, int flags)
{
	int done;

	if (file_is_ours(copy))
		file_closed(copy);
	done = REAL(dup3)(fd, copy, flags);
	if (done >= 0 && file_is_ours(fd))
		file_duplicated(fd, copy);
	return done;
}

/* Whatever the command, its argument is as wide as a pointer. */
#define DEFINE_FCNTL(name)                                                                         \
	int name(int fd, int command, ...)                                                         \
	{                                                                                          \
		va_list args;                                                                      \
		void *arg;                                                                         \
		int done;                                                                          \
                                                                                                   \
		va_start(args, command);                                                           \
		arg = va_arg(args, void *);                                                        \
		va_end(args);                                                                      \
		done = REAL(name)(fd, command, arg);                                               \
		if (done >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC) &&             \
		    file_is_ours(fd))                                                              \
			file_duplicated(fd, done);                                                 \
		return done;                                                                       \
	}

DEFINE_FCNTL(fcntl)
DEFINE_FCNTL(fcntl64)
