/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the process's UAR pages are: one contiguous window of one sparse memfd. Every uverbs file
 * that the program opens is a duplicate of that memfd, so that its mmap() needs no interposing.
 */
#ifndef SOFTCX_UAR_H
#define SOFTCX_UAR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	SOFTCX_UAR_PAGE_LOG2 = 12,
	SOFTCX_UAR_PAGES = 4096,
};

#define SOFTCX_UAR_PAGE_SIZE ((off_t)1 << SOFTCX_UAR_PAGE_LOG2)
/* Far above the offsets by which mlx5 names its other pages (command << 8 | index, in pages). */
#define SOFTCX_UAR_BASE ((off_t)1 << 32)
#define SOFTCX_UAR_SIZE ((off_t)SOFTCX_UAR_PAGES << SOFTCX_UAR_PAGE_LOG2)

/* The memfd of this process, created when first asked for; -errno if that fails. */
int softcx_uar_memfd(void);

static inline bool softcx_uar_contains(off_t offset)
{
	return offset >= SOFTCX_UAR_BASE && offset < SOFTCX_UAR_BASE + SOFTCX_UAR_SIZE;
}

/* The page as struct cx_qp_attr and cx_doorbell() number it; only for offsets in the window. */
static inline uint32_t softcx_uar_page_of_offset(off_t offset)
{
	return (uint32_t)((offset - SOFTCX_UAR_BASE) >> SOFTCX_UAR_PAGE_LOG2);
}

static inline off_t softcx_uar_offset_of_page(uint32_t page)
{
	return SOFTCX_UAR_BASE + ((off_t)page << SOFTCX_UAR_PAGE_LOG2);
}

#endif
