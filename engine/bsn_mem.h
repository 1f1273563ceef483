/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory: where the bytes of bsn_buf_alloc() come from, and what was got; regions of other kinds
 * than pinned memory of the program; the device's own memory. The rules of bsn.h hold here, too.
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
 * @alloc: fills in a block of zeroed memory, or returns a negative errno, best after
 *	bsn_error_set()
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
 *	-EOPNOTSUPP where /sys/kernel/mm/transparent_hugepage/enabled says never. The kernel may
 *	still give plain pages: bsn_buf_info() counts
 * @BSN_MEM_HUGETLB: pages of the kernel's hugepage pools, by mmap() with MAP_HUGETLB. Without a
 *	page size: the machine's default one, 2 MB on x86-64. -EINVAL a size that the machine does
 *	not have; -ENOMEM too few of them are free
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
 * @translations: an estimate of the entries that the device needs to translate its addresses: the
 *	pages of the memory by /proc/self/smaps. 0: not known.
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

/* -- regions of other kinds ------------------------------------------------------------------- */

/*
 * Each call makes a bsn_mr, which bsn_mr_deregister() takes back; its @addr is the address of the
 * first byte for SGEs and peers. The kernel makes all of them, so both paths have them where the
 * device does. If it does not, bsn_device_info() says why under "on-demand", "implicit",
 * "device-memory", "dma-buf" and "null-region". "physical-address" is always refused: the kernel
 * makes no such mkeys for programs, since one of them opens the whole machine
 * (drivers/infiniband/hw/mlx5/devx.c set_mkey_umem_valid).
 */

/**
 * bsn_mr_register_null - reads bring zeroes, writes go nowhere
 *
 * For local SGEs of any address, as holes of a layout, or to drop part of a message. Peers have no
 * key: @rkey is 0. All null regions of a device may have one lkey.
 * Return: 0; -EOPNOTSUPP the device or its driver has none (mlx5: dump_fill_mkey).
 */
BSN_API int bsn_mr_register_null(struct bsn_device *device, struct bsn_pd *pd, struct bsn_mr **mr);

/**
 * bsn_mr_register_dmabuf - memory that a descriptor names, such as a GPU's
 * @fd: of a dma-buf; it may be closed afterwards
 * @offset: the first byte in it; @length bytes
 *
 * The address of the first byte in requests is @attr's IOVA, or @offset where there is none; both
 * have the same offset in a page.
 * Return: 0; -EBADF no descriptor; -EINVAL no dma-buf, or beyond its end; -EOPNOTSUPP the kernel or
 * the exporter has no such thing.
 */
BSN_API int bsn_mr_register_dmabuf(struct bsn_device *device, int fd, uint64_t offset,
				   size_t length, const struct bsn_mr_attr *attr,
				   struct bsn_mr **mr);

/** enum bsn_mr_change - what bsn_mr_change() is to change */
enum bsn_mr_change {
	BSN_MR_CHANGE_MEMORY = 1, /* the bytes, and with them the addresses */
	BSN_MR_CHANGE_PD = 2,
	BSN_MR_CHANGE_ACCESS = 4,
};

/**
 * bsn_mr_change - registers a region anew; its keys stay
 * @changes: enum bsn_mr_change, which of the other arguments count
 * @attr: its pd and access; NULL: the device's own, and all rights
 *
 * No request may use the region meanwhile. After a failure other than -EINVAL and -EOPNOTSUPP the
 * region can only be deregistered (ibv_rereg_mr(3)).
 * Return: 0; -EOPNOTSUPP the region is not the program's memory, or the kernel cannot; -EBUSY a
 * buffer's bytes are its own; else as bsn_mr_register().
 */
BSN_API int bsn_mr_change(struct bsn_mr *mr, unsigned changes, void *addr, size_t length,
			  const struct bsn_mr_attr *attr);

/** enum bsn_prefetch - what bsn_mr_prefetch() does */
enum bsn_prefetch {
	BSN_PREFETCH_WRITE = 1,    /* pages that can be written */
	BSN_PREFETCH_WAIT = 2,     /* returns when they are there, or fails where they cannot be */
	BSN_PREFETCH_NO_FAULT = 4, /* only those that the process has already */
};

/**
 * bsn_mr_prefetch - brings pages of on-demand regions to the device before a request has to wait
 * for them
 * @flags: enum bsn_prefetch; WRITE and NO_FAULT exclude each other
 *
 * The pieces are of one protection domain.
 * Return: 0; -ENOENT an lkey is none of an on-demand region; -EPERM it is of another domain, or may
 * not be written; -EFAULT beyond its end, or not mapped; -EOPNOTSUPP; -EINVAL.
 */
BSN_API int bsn_mr_prefetch(struct bsn_device *device, struct bsn_pd *pd,
			    const struct bsn_sge *pieces, unsigned count, unsigned flags);

/** struct bsn_dm - memory of the device (MEMIC) */
struct bsn_dm;

/**
 * bsn_dm_alloc - a piece of the device's own memory, which is small, fast and shared by all
 * processes
 * @align_log2: of its first byte, 2^this bytes; 0: as it comes
 *
 * Its contents are not known, until they are written.
 * Return: 0; -ENOMEM there is not so much left; -EINVAL more than there ever is, or no such
 * alignment; -EOPNOTSUPP the device has none.
 */
BSN_API int bsn_dm_alloc(struct bsn_device *device, size_t length, unsigned align_log2,
			 struct bsn_dm **dm);
/** bsn_dm_free - -EBUSY while regions of it are registered */
BSN_API int bsn_dm_free(struct bsn_dm *dm);

/**
 * bsn_dm_write - copies @length bytes to the piece, from @offset on; bsn_dm_read - from it
 *
 * Both are multiples of 4. The bytes pass a window of the PCI bus, uncached, 4 at a time: writes
 * are combined at best, and each read waits for the device. Order: like stores to such memory; a
 * request that is posted afterwards sees what was written.
 * Return: 0; -EINVAL not multiples of 4; -EFAULT beyond the end.
 */
BSN_API int bsn_dm_write(struct bsn_dm *dm, uint64_t offset, const void *from, size_t length);
BSN_API int bsn_dm_read(struct bsn_dm *dm, uint64_t offset, void *to, size_t length);

/**
 * bsn_mr_register_dm - lets requests reach a part of the piece
 *
 * Its addresses count from 0, the byte at @offset being the first: such regions are zero-based. QPs
 * of libmlx5 that others made must not scatter to CQEs into it (MLX5_SCATTER_TO_CQE=0); Bunsen's do
 * not.
 */
BSN_API int bsn_mr_register_dm(struct bsn_dm *dm, uint64_t offset, size_t length,
			       const struct bsn_mr_attr *attr, struct bsn_mr **mr);

BSN_HEADER_END

#endif
