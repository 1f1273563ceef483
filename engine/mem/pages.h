/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages and NUMA nodes, as the kernel tells of them. Private to engine/. */
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
 * The sizes of which the kernel has pools (largest first, at most @max), the default one, and
 * THP's; 0: none.
 */
unsigned hugetlb_sizes(size_t *sizes, unsigned max);
size_t hugetlb_default_size(void);
size_t thp_size(void);
bool thp_is_off(void);

/*
 * Call before pages are touched: sets the node where they should be. A node that cannot be had is
 * no error.
 */
void node_prefer(void *addr, size_t length, int node);

/* Where the page at @addr is; -1: not known. */
int node_of(void *addr);

/*
 * An estimate of the entries that a device needs to translate these addresses: their pages, by
 * /proc/self/smaps; 0: not known, or not mapped.
 */
uint64_t mem_translations(const void *addr, size_t length);

/* Makes all pages of a writable mapping be there; -errno where there are too few. */
int pages_populate(void *addr, size_t length);

#endif
