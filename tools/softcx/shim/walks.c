/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of libc that walk through folders or enter them. Inside libc they do not open through
 * the functions of syscalls.c, so they begin at the fake. They return the names that the program
 * expects, except for fts(3), which returns those of the fakes.
 */
/* Each name must be the plain function, not its checked or its 64-bit form. */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose.h"
#include "shim.h"

/* -- the current directory --------------------------------------------------------------------- */

int chdir(const char *path)
{
	char buf[PATH_MAX];

	return REAL(chdir)(interpose_redirect(path, buf));
}

/* The fake's name is the longer one. */
static char *put_real(char *path)
{
	char buf[PATH_MAX];
	const char *seen = path ? sysfs_real(path, buf, sizeof(buf)) : NULL;

	return seen ? strcpy(path, seen) : path;
}

char *getcwd(char *buf, size_t size)
{
	return put_real(REAL(getcwd)(buf, size));
}

char *__getcwd_chk(char *buf, size_t size, size_t room);
char *__getcwd_chk(char *buf, size_t size, size_t room)
{
	return put_real(REAL(__getcwd_chk)(buf, size, room));
}

char *get_current_dir_name(void)
{
	return getcwd(NULL, 0);
}

/* -- glob() ------------------------------------------------------------------------------------ */

static bool is_about_us(const char *pattern)
{
	return (!strncmp(pattern, "/sys/", 5) || !strncmp(pattern, "/dev/infiniband", 15)) &&
	       shim_host();
}

static void *open_dir(const char *path)
{
	return opendir(path);
}

static void close_dir(void *dir)
{
	closedir(dir);
}

/* libc's glob() opens folders by the functions that it is given: ours. */
#define DEFINE_GLOB(name, type, entry, get_entry, get_stat, get_lstat)                             \
	static struct entry *name##_entry(void *dir)                                               \
	{                                                                                          \
		return get_entry(dir);                                                             \
	}                                                                                          \
                                                                                                   \
	int name(const char *restrict pattern, int flags, int (*on_error)(const char *, int),      \
		 type *restrict found)                                                             \
	{                                                                                          \
		if (flags & GLOB_ALTDIRFUNC || !is_about_us(pattern))                              \
			return REAL(name)(pattern, flags, on_error, found);                        \
		found->gl_opendir = open_dir;                                                      \
		found->gl_readdir = name##_entry;                                                  \
		found->gl_closedir = close_dir;                                                    \
		found->gl_stat = get_stat;                                                         \
		found->gl_lstat = get_lstat;                                                       \
		return REAL(name)(pattern, flags | GLOB_ALTDIRFUNC, on_error, found);              \
	}

DEFINE_GLOB(glob, glob_t, dirent, readdir, stat, lstat)
DEFINE_GLOB(glob64, glob64_t, dirent64, readdir64, stat64, lstat64)

/* -- nftw() ------------------------------------------------------------------------------------ */

/* The callback of the walk that runs in this thread. */
static __thread __nftw_func_t visitor __attribute__((tls_model("initial-exec")));

static int visit(const char *path, const struct stat *st, int type, struct FTW *at)
{
	char buf[PATH_MAX];
	const char *seen = sysfs_real(path, buf, sizeof(buf));
	struct FTW there = *at;

	if (!seen)
		return visitor(path, st, type, at);
	there.base -= (int)(strlen(path) - strlen(seen));
	return visitor(seen, st, type, &there);
}

int nftw(const char *path, __nftw_func_t tell, int descriptors, int flags)
{
	char buf[PATH_MAX];
	const char *fake = interpose_find(path, buf);
	const __nftw_func_t outer = visitor;
	int done;

	if (!fake)
		return REAL(nftw)(path, tell, descriptors, flags);
	visitor = tell;
	done = REAL(nftw)(fake, visit, descriptors, flags);
	visitor = outer;
	return done;
}

/* The two kinds of struct stat are the same. */
int nftw64(const char *path, __nftw64_func_t tell, int descriptors, int flags)
{
	__nftw_func_t plain;

	memcpy(&plain, &tell, sizeof(plain));
	return nftw(path, plain, descriptors, flags);
}

/* -- fts_open() -------------------------------------------------------------------------------- */

static void free_paths(char **paths, size_t count)
{
	while (count)
		free(paths[--count]);
	free(paths);
}

static char **redirect_all(char *const *paths, size_t *count)
{
	char buf[PATH_MAX], **all;

	for (*count = 0; paths[*count]; ++*count)
		;
	all = calloc(*count + 1, sizeof(*all));
	for (size_t i = 0; all && i < *count; i++) {
		all[i] = strdup(interpose_redirect(paths[i], buf));
		if (!all[i]) {
			free_paths(all, i);
			all = NULL;
		}
	}
	return all;
}

#define DEFINE_FTS_OPEN(name, type, entry)                                                         \
	type *name(char *const *paths, int options,                                                \
		   int (*compare)(const entry **, const entry **))                                 \
	{                                                                                          \
		size_t count;                                                                      \
		char **all = redirect_all(paths, &count);                                          \
		type *walk = all ? REAL(name)(all, options, compare) : NULL;                       \
		const int saved = errno;                                                           \
                                                                                                   \
		if (all)                                                                           \
			free_paths(all, count);                                                    \
		errno = all ? saved : ENOMEM;                                                      \
		return walk;                                                                       \
	}

DEFINE_FTS_OPEN(fts_open, FTS, FTSENT)
DEFINE_FTS_OPEN(fts64_open, FTS64, FTSENT64)
