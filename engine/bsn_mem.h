/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory: where the bytes of bsn_buf_alloc() come from, and what was got. The rules of bsn.h hold here,
 * too.
 */
#ifndef BSN_MEM_H
#define BSN_MEM_H

#include "bsn.h"

BSN_HEADER_BEGIN

/* -- sources ---------------------------------------------------------------------------------- */

/** struct bsn_mem_request - what a source is asked for */
struct bsn_mem_request {
	size_t length;     /* bytes */
	size_t page_bytes; /* of the pages of the memory; 0: the source chooses */
	int node;          /* NUMA node to prefer; -1: any */
};

/** struct bsn_mem_block - what a source gave; the source's release() gets all of it back */
struct bsn_mem_block {
	void *addr;        /* aligned to a page of 4 KB at the least */
	size_t length;     /* bytes, as many as were asked for or more */
	size_t page_bytes; /* 0: the source does not know */
	int node;          /* -1: the source does not know */
	void *handle;      /* the source's own */
};

/**
 * struct bsn_mem_source - an allocator; an application's own is one, too
 * @name: for bsn_buf_info() and the log
 * @arg: the source's own
 * @alloc: fills in a block of zeroed memory, or returns a negative errno, best after bsn_error_set()
 * @release: takes a block back, after it was deregistered
 *
 * Any thread may call them. A source lives longer than the buffers that come of it.
 */
struct bsn_mem_source {
	const char *name;
	void *arg;
	int (*alloc)(void *arg, const struct bsn_mem_request *request, struct bsn_mem_block *block);
	void (*release)(void *arg, const struct bsn_mem_block *block);
};

/**
 * enum bsn_mem_kind - the sources that the library has
 * @BSN_MEM_PLAIN: anonymous pages of the machine's own size
 * @BSN_MEM_THP: anonymous pages, aligned and advised so that the kernel makes huge ones of them.
 *	-EOPNOTSUPP where /sys/kernel/mm/transparent_hugepage/enabled says never. The kernel may still
 *	give plain pages: bsn_buf_info() counts
 * @BSN_MEM_HUGETLB: pages of the kernel's hugepage pools, by mmap() with MAP_HUGETLB. Without a page
 *	size: the machine's default one, 2 MB on x86-64. -EINVAL a size that the machine does not have;
 *	-ENOMEM too few of them are free
 */
enum bsn_mem_kind { BSN_MEM_PLAIN, BSN_MEM_THP, BSN_MEM_HUGETLB };

/** bsn_mem_source - one of the library's sources; NULL: no such kind */
BSN_API const struct bsn_mem_source *bsn_mem_source(enum bsn_mem_kind kind);

/**
 * bsn_error_set - for sources: what bsn_error_text() is to say
 * @error: a positive errno
 * Return: -@error.
 */
BSN_API int bsn_error_set(int error, const char *text);

/* -- buffers ---------------------------------------------------------------------------------- */

/** BSN_NODE_ANY - a buffer may be on any NUMA node */
#define BSN_NODE_ANY (-1)

/**
 * struct bsn_mem_attr - where a buffer's bytes should come from: @mem of struct bsn_mr_attr
 * @source: NULL: the best there is
 * @page_bytes: 0: what suits the length
 * @node: a NUMA node or BSN_NODE_ANY; 0: the device's, unless @has_node
 * @has_node: @node is meant, also where it is 0
 * @is_strict: this source and page size, or an error; a node is a preference all the same
 *
 * Tried in turn, until one gives memory that can be registered:
 *
 *	1. the source that is named, with the page size that is named;
 *	2. BSN_MEM_HUGETLB with each page size of the machine that is no longer than the buffer, nor
 *	   than @page_bytes if that is given, the largest first;
 *	3. BSN_MEM_THP if a huge page is no longer than the buffer, nor than @page_bytes;
 *	4. BSN_MEM_PLAIN.
 */
struct bsn_mem_attr {
	const struct bsn_mem_source *source;
	size_t page_bytes;
	int node;
	bool has_node;
	bool is_strict;
};

/**
 * struct bsn_buf_info - what a buffer of bsn_buf_alloc() got
 * @why: why it is nothing better: the refusals of earlier choices; "" if there were none
 * @translations: an estimate of the entries that the device needs to translate its addresses: the pages
 *	of the memory by /proc/self/smaps. 0: not known.
 */
struct bsn_buf_info {
	const char *source;
	size_t page_bytes; /* 0: not known */
	int node;          /* of its first byte; -1: not known */
	uint64_t translations;
	const char *why; /* lives as long as the buffer */
};

/**
 * bsn_buf_info - says of a buffer what it got
 * Context: reads /proc/self/smaps.
 * Return: 0; -EINVAL memory that bsn_buf_alloc() did not make.
 */
BSN_API int bsn_buf_info(const struct bsn_mr *buf, struct bsn_buf_info *info);

BSN_HEADER_END

#endif
