/* SPDX-License-Identifier: BSD-2-Clause */
/* Helpers of the interposed functions of files and folders. */
#ifndef SOFTCX_INTERPOSE_H
#define SOFTCX_INTERPOSE_H

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/types.h>

/* The next definition of a function, found when it is first needed. */
void *interpose_resolve(_Atomic(void *) *slot, const char *name);

/* The next definition of the function that is being interposed. */
#define REAL(name)                                                                                 \
	(__extension__({                                                                           \
		static _Atomic(void *) slot_;                                                      \
		(__typeof__(&name))interpose_resolve(&slot_, #name);                               \
	}))

/* The fake of `path`; NULL: there is none, or no device. */
const char *interpose_find(const char *path, char buf[PATH_MAX]);
/* The fake, or the path itself. */
const char *interpose_redirect(const char *path, char buf[PATH_MAX]);

/*
 * After a read, which made room for the next part of a list; a peek (MSG_PEEK) does not. Returns
 * @done.
 */
ssize_t interpose_read(int fd, ssize_t done, int flags);

/* Sets errno from -errno, and returns what a call of libc returns then. */
static inline int set_errno(int err)
{
	if (err >= 0)
		return err;
	errno = -err;
	return -1;
}

#endif
