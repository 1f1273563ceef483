/* SPDX-License-Identifier: BSD-2-Clause */
/* The directory of each process, and the removal of those whose process was killed. */
#ifndef SOFTCX_TREES_H
#define SOFTCX_TREES_H

#include <stddef.h>

/*
 * Creates the directory, and writes its name to `path` and its lock (os/life.h) to `life`. Returns
 * 0 or -errno.
 */
int trees_create(char *path, size_t size, void **life);
void trees_remove(const char *path, void *life);
void trees_sweep(void);

#endif
