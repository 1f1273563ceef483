/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies between memory of this process and of process `proc`; either may be unmapped. Return 0 or
 * -EFAULT. They need no lock.
 */
#ifndef SOFTCX_NIC_MEMORY_H
#define SOFTCX_NIC_MEMORY_H

#include "state.h"

int cx_mem_read(struct cx_hca *hca, unsigned proc, uint64_t va, void *dst, size_t len);
int cx_mem_write(struct cx_hca *hca, unsigned proc, uint64_t va, const void *src, size_t len);
/* Writes the last byte after all others, since a reader looks at it first. */
int cx_mem_publish(struct cx_hca *hca, unsigned proc, uint64_t va, const void *src, size_t len);
/*
 * The first of this process's words, from `from` on, that has changed or cannot be read; `count`:
 * none
 */
uint32_t cx_mem_find_changed(const struct cx_word *words, uint32_t from, uint32_t count);
int cx_mem_guard(void); /* installs the fault handler, once a process */
/* Lets the handler say which file a fault is in; @path stays the caller's. */
void cx_mem_name_tables(const void *start, size_t len, const char *path);

#endif
