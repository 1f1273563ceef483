/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages and NUMA nodes, as the kernel reports them. Private to engine/. */
#ifndef MEM_PAGES_H
#define MEM_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t page_size(void);

/* @length rounded up to @page_bytes; less than @length: it does not fit. */
static inline size_t whole_pages(size_t length, size_t page_bytes)
{
	return (length + page_bytes - 1) / page_bytes * page_bytes;
}

/*
 * The page sizes of the kernel's pools (largest first, at most @max), the default size, and that of
 * transparent huge pages; 0: none.
 */
unsigned hugetlb_sizes(size_t *sizes, unsigned max);
size_t hugetlb_default_size(void);
size_t thp_size(void);
bool thp_is_off(void);

/*
 * Sets the preferred node of pages, before they are touched. It is no error if the node has no
 * memory.
 */
void node_prefer(void *addr, size_t length, int node);

/* The node of the page at @addr; -1: not known. */
int node_of(void *addr);

/*
 * Estimates how many entries a device needs to translate these addresses: their pages, from
 * /proc/self/smaps; 0: not known, or not mapped.
 */
uint64_t mem_translations(const void *addr, size_t length);

/* Allocates all pages of a writable mapping; -errno if there are too few. */
int pages_populate(void *addr, size_t length);

#endif
