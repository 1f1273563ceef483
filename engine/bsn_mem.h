/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory: the sources of bsn_buf_alloc(); regions that are not pinned memory of the program; the
 * device's own memory. The rules of bsn.h apply.
 */
#ifndef BSN_MEM_H
#define BSN_MEM_H

#include "bsn.h"

BSN_HEADER_BEGIN

/* -- sources ---------------------------------------------------------------------------------- */

/** struct bsn_mem_request - what a source shall allocate */
struct bsn_mem_request {
	size_t length;     /* bytes */
	size_t page_bytes; /* the page size; 0: the source chooses */
	int node;          /* preferred NUMA node; -1: any */
};

/** struct bsn_mem_block - what a source allocated; its release() gets the same */
struct bsn_mem_block {
	void *addr;        /* aligned to 4 KB at least */
	size_t length;     /* bytes, at least those of the request */
	size_t page_bytes; /* 0: the source does not know */
	int node;          /* -1: the source does not know */
	void *handle;      /* the source's own */
};

/**
 * struct bsn_mem_source - an allocator, of the library or of the application
 * @name: for bsn_buf_info() and the log
 * @arg: the source's own
 * @alloc: fills in a block of zeroed memory, or returns a negative errno, preferably that of
 *	bsn_error_set()
 * @release: frees a block, after it was deregistered
 *
 * Any thread may call them. A source must outlive its buffers.
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
 * @BSN_MEM_THP: anonymous pages, aligned and advised to become transparent huge pages. -EOPNOTSUPP
 *	if /sys/kernel/mm/transparent_hugepage/enabled says never. The kernel may still use plain
 *	pages: bsn_buf_info() counts them
 * @BSN_MEM_HUGETLB: huge pages of the kernel's pools, by mmap() with MAP_HUGETLB. The default page
 *	size is the machine's, 2 MB on x86-64. -EINVAL the machine does not have the size; -ENOMEM
 *	too few pages are free
 */
enum bsn_mem_kind { BSN_MEM_PLAIN, BSN_MEM_THP, BSN_MEM_HUGETLB };

/** bsn_mem_source - one of the library's sources; NULL: no such kind */
BSN_API const struct bsn_mem_source *bsn_mem_source(enum bsn_mem_kind kind);

/**
 * bsn_error_set - for sources: sets the text of bsn_error_text()
 * @error: a positive errno
 * Return: -@error.
 */
BSN_API int bsn_error_set(int error, const char *text);

/* -- buffers ---------------------------------------------------------------------------------- */

/** BSN_NODE_ANY - a buffer may be on any NUMA node */
#define BSN_NODE_ANY (-1)

/**
 * struct bsn_mem_attr - which memory a buffer shall have: @mem of struct bsn_mr_attr
 * @source: NULL: the best that there is
 * @page_bytes: 0: as suits the length
 * @node: a NUMA node or BSN_NODE_ANY; 0: the device's, unless @has_node
 * @has_node: @node is set, even if it is 0
 * @is_strict: this source and page size, or an error; the node is still only preferred
 *
 * The library tries these in turn, until one gives memory that can be registered:
 *
 *	1. @source, with @page_bytes;
 *	2. BSN_MEM_HUGETLB with each page size of the machine that is larger neither than the
 *	   buffer nor than @page_bytes, the largest first;
 *	3. BSN_MEM_THP if a huge page is not larger than the buffer, nor than @page_bytes;
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
 * struct bsn_buf_info - the memory that a buffer of bsn_buf_alloc() got
 * @why: why the first choice failed; "" if it did not
 * @translations: an estimate of the entries that the device needs for its addresses: the pages of
 *	the memory in /proc/self/smaps. 0: not known.
 */
struct bsn_buf_info {
	const char *source;
	size_t page_bytes; /* 0: not known */
	int node;          /* of its first byte; -1: not known */
	uint64_t translations;
	const char *why; /* valid as long as the buffer */
};

/**
 * bsn_buf_info - says what memory a buffer got
 * Context: reads /proc/self/smaps.
 * Return: 0; -EINVAL the memory is not of bsn_buf_alloc().
 */
BSN_API int bsn_buf_info(const struct bsn_mr *buf, struct bsn_buf_info *info);

/* -- regions of other kinds ------------------------------------------------------------------- */

/*
 * Each call makes a bsn_mr, which bsn_mr_deregister() deregisters; its @addr is the address of the
 * first byte for SGEs and peers. The kernel makes all of them, so both paths have them if the
 * device does. If it does not, the features "on-demand", "implicit", "device-memory", "dma-buf" and
 * "null-region" of bsn_device_info() say why. "physical-address" is always refused: the kernel
 * makes no such mkeys for programs, since one of them opens the whole machine
 * (drivers/infiniband/hw/mlx5/devx.c set_mkey_umem_valid).
 */

/**
 * bsn_mr_register_null - a region in which reads find zeroes, and writes are discarded
 *
 * For local SGEs of any address: for holes of a layout, or to drop part of a message. Peers have no
 * key: @rkey is 0. All null regions of a device may have the same lkey.
 * Return: 0; -EOPNOTSUPP the device or its driver has none (mlx5: dump_fill_mkey).
 */
BSN_API int bsn_mr_register_null(struct bsn_device *device, struct bsn_pd *pd, struct bsn_mr **mr);

/**
 * bsn_mr_register_dmabuf - registers memory of a dma-buf, such as a GPU's
 * @fd: of a dma-buf; it may be closed afterwards
 * @offset: the first byte in it; @length bytes
 *
 * The address of the first byte in requests is @attr's IOVA, or else @offset; an IOVA must have the
 * same offset in its page as @offset.
 * Return: 0; -EBADF not a descriptor; -EINVAL not a dma-buf, or beyond its end; -EOPNOTSUPP the
 * kernel or the exporter cannot.
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
 * bsn_mr_change - changes a region; read its keys afterwards, they may have changed
 * @changes: enum bsn_mr_change: which of the other arguments are used
 * @attr: its pd and access; NULL: the device's own, and all access
 *
 * No request may use the region during the call. After a failure other than -EINVAL, -EBUSY and
 * -EOPNOTSUPP the region can only be deregistered (ibv_rereg_mr(3)).
 * Return: 0; -EOPNOTSUPP the region is not memory of the program, or the kernel cannot; -EBUSY the
 * region is a buffer, which keeps its bytes; as bsn_mr_register().
 */
BSN_API int bsn_mr_change(struct bsn_mr *mr, unsigned changes, void *addr, size_t length,
			  const struct bsn_mr_attr *attr);

/** enum bsn_prefetch - what bsn_mr_prefetch() does */
enum bsn_prefetch {
	BSN_PREFETCH_WRITE = 1,    /* pages that can be written */
	BSN_PREFETCH_WAIT = 2,     /* returns when the pages are there, or an error */
	BSN_PREFETCH_NO_FAULT = 4, /* only pages that the process already has */
};

/**
 * bsn_mr_prefetch - brings pages of on-demand regions in before requests need them
 * @sge: memory of one protection domain
 * @flags: enum bsn_prefetch; WRITE and NO_FAULT exclude each other
 *
 * Return: 0; -ENOENT an lkey is not that of an on-demand region; -EPERM it is of another domain, or
 * not writable; -EFAULT beyond its end, or not mapped; -EOPNOTSUPP; -EINVAL.
 */
BSN_API int bsn_mr_prefetch(struct bsn_device *device, struct bsn_pd *pd,
			    const struct bsn_sge *sge, unsigned count, unsigned flags);

/** struct bsn_dm - memory of the device (MEMIC) */
struct bsn_dm;

/**
 * bsn_dm_alloc - allocates some of the device's own memory, which is small, fast and shared by all
 * processes
 * @align_log2: its first byte is aligned to 2^this bytes; 0: to any
 *
 * Its contents are undefined until they are written.
 * Return: 0; -ENOMEM too little is left; -EINVAL more than the device has in all, or an alignment
 * that it does not support; -EOPNOTSUPP the device has none.
 */
BSN_API int bsn_dm_alloc(struct bsn_device *device, size_t length, unsigned align_log2,
			 struct bsn_dm **dm);
/** bsn_dm_free - Return: -EBUSY regions of it are registered */
BSN_API int bsn_dm_free(struct bsn_dm *dm);

/**
 * bsn_dm_write - copies @length bytes into it, from @offset on; bsn_dm_read - out of it
 *
 * Both are multiples of 4. The bytes cross the PCI bus uncached, 4 at a time: writes
 * are combined at best, and each read waits for the device. Order: requests posted afterwards see
 * what was written.
 * Return: 0; -EINVAL not multiples of 4; -EFAULT beyond the end.
 */
BSN_API int bsn_dm_write(struct bsn_dm *dm, uint64_t offset, const void *from, size_t length);
BSN_API int bsn_dm_read(struct bsn_dm *dm, uint64_t offset, void *to, size_t length);

/**
 * bsn_mr_register_dm - registers part of it
 *
 * Addresses in requests begin at 0, the byte at @offset: the region is zero-based. QPs that were
 * created without Bunsen must not scatter to CQEs if they receive into it (MLX5_SCATTER_TO_CQE=0);
 * Bunsen's do not.
 */
BSN_API int bsn_mr_register_dm(struct bsn_dm *dm, uint64_t offset, size_t length,
			       const struct bsn_mr_attr *attr, struct bsn_mr **mr);

BSN_HEADER_END

#endif
