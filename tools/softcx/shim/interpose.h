/* SPDX-License-Identifier: BSD-2-Clause */
/* What the interposed functions of files and folders share. */
#ifndef SOFTCX_INTERPOSE_H
#define SOFTCX_INTERPOSE_H

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/types.h>

/* The next definition of a function, found when it is first needed. */
void *interpose_resolve(_Atomic(void *) *slot, const char *name);

/* That of the function that is being interposed. */
#define REAL(name)                                                                                 \
	(__extension__({                                                                           \
		static _Atomic(void *) slot_;                                                      \
		(__typeof__(&name))interpose_resolve(&slot_, #name);                               \
	}))

/* Where the fake of `path` is; NULL if there is none, or no device. */
const char *interpose_find(const char *path, char buf[PATH_MAX]);
/* That, or the path itself. */
const char *interpose_redirect(const char *path, char buf[PATH_MAX]);

/*
 * After a read: what was read makes room for the next part of a list; a look (MSG_PEEK) leaves it
 * where it is. Returns @done.
 */
ssize_t interpose_read(int fd, ssize_t done, int flags);

/* What a call of libc returns for -errno, which it puts there. */
static inline int set_errno(int err)
{
	if (err >= 0)
		return err;
	errno = -err;
	return -1;
}

#endif
