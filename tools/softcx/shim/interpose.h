/* SPDX-License-Identifier: BSD-2-Clause */
/* What the interposed functions of files and folders share. */
#ifndef SOFTCX_INTERPOSE_H
#define SOFTCX_INTERPOSE_H

#include <limits.h>
#include <stdatomic.h>

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

#endif
