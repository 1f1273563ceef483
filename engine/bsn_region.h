/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * DOC: Regions - memory that a device may reach, other than bytes of the program that stay where they are
 *
 * Each call makes a bsn_mr, which bsn_mr_deregister() takes back; its @addr is the address of the first
 * byte for SGEs and peers. The kernel makes all of them, so both paths have them where the device does.
 * If it does not, bsn_device_info() says why under "on-demand", "implicit", "device-memory", "dma-buf"
 * and "null-region". "physical-address" is always refused: the kernel makes no such mkeys for programs,
 * since one of them opens the whole machine (drivers/infiniband/hw/mlx5/devx.c set_mkey_umem_valid).
 */
#ifndef BSN_REGION_H
#define BSN_REGION_H

#include "bsn.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * bsn_mr_register_null - reads bring zeroes, writes go nowhere
 *
 * For local SGEs of any address, as holes of a layout, or to drop part of a message. Peers have no key: @rkey
 * is 0. All null regions of a device may have one lkey.
 * Return: 0; -EOPNOTSUPP the device or its driver has none (mlx5: dump_fill_mkey).
 */
BSN_API int bsn_mr_register_null(struct bsn_device *device, struct bsn_pd *pd, struct bsn_mr **mr);

/**
 * bsn_mr_register_dmabuf - memory that a descriptor names, such as a GPU's
 * @fd: of a dma-buf; it may be closed afterwards
 * @offset: the first byte in it; @length bytes
 *
 * The address of the first byte in requests is @attr's IOVA, or @offset where there is none; both have
 * the same offset in a page.
 * Return: 0; -EBADF no descriptor; -EINVAL no dma-buf, or beyond its end; -EOPNOTSUPP the kernel or the exporter
 * has no such thing.
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
 * bsn_mr_prefetch - brings pages of on-demand regions to the device before a request has to wait for them
 * @flags: enum bsn_prefetch; WRITE and NO_FAULT exclude each other
 *
 * The pieces are of one protection domain.
 * Return: 0; -ENOENT an lkey is none of an on-demand region; -EPERM it is of another domain, or may not be written;
 * -EFAULT beyond its end, or not mapped; -EOPNOTSUPP; -EINVAL.
 */
BSN_API int bsn_mr_prefetch(struct bsn_device *device, struct bsn_pd *pd,
			    const struct bsn_sge *pieces, unsigned count, unsigned flags);

/** struct bsn_dm - memory of the device (MEMIC) */
struct bsn_dm;

/**
 * bsn_dm_alloc - a piece of the device's own memory, which is small, fast and shared by all processes
 * @align_log2: of its first byte, 2^this bytes; 0: as it comes
 *
 * Its contents are not known, until they are written.
 * Return: 0; -ENOMEM there is not so much left; -EINVAL more than there ever is, or no such alignment; -EOPNOTSUPP
 * the device has none.
 */
BSN_API int bsn_dm_alloc(struct bsn_device *device, size_t length, unsigned align_log2,
			 struct bsn_dm **dm);
/** bsn_dm_free - -EBUSY while regions of it are registered */
BSN_API int bsn_dm_free(struct bsn_dm *dm);

/**
 * bsn_dm_write - copies @length bytes to the piece, from @offset on; bsn_dm_read - from it
 *
 * Both are multiples of 4. The bytes pass a window of the PCI bus, uncached, 4 at a time: writes are combined at best,
 * and each read waits for the device. Order: like stores to such memory; a request that is posted afterwards
 * sees what was written.
 * Return: 0; -EINVAL not multiples of 4; -EFAULT beyond the end.
 */
BSN_API int bsn_dm_write(struct bsn_dm *dm, uint64_t offset, const void *from, size_t length);
BSN_API int bsn_dm_read(struct bsn_dm *dm, uint64_t offset, void *to, size_t length);

/**
 * bsn_mr_register_dm - lets requests reach a part of the piece
 *
 * Its addresses count from 0, the byte at @offset being the first: such regions are zero-based. QPs of
 * libmlx5 that others made must not scatter to CQEs into it (MLX5_SCATTER_TO_CQE=0); Bunsen's do not.
 */
BSN_API int bsn_mr_register_dm(struct bsn_dm *dm, uint64_t offset, size_t length,
			       const struct bsn_mr_attr *attr, struct bsn_mr **mr);

#ifdef __cplusplus
}
#endif

#endif
