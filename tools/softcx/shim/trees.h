/* SPDX-License-Identifier: BSD-2-Clause */
/* The directory of each process, and the removal of those whose process was killed. */
#ifndef SOFTCX_TREES_H
#define SOFTCX_TREES_H

#include <stddef.h>

/*
 * Writes the new directory's name to `path`, and to `life` what keeps it (os/life.h); 0 or -errno.
 */
int trees_create(char *path, size_t size, void **life);
void trees_remove(const char *path, void *life);
void trees_sweep(void);

#endif
