/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn.h, which programs include.
 *
 * Atomics, and copies by the NIC: each post is one call. Not every device has atomics under masks,
 * of 4 or 8 bytes, and copies: bsn_device_info() lists which there are.
 *
 * Parameters that are not named here, order and context are those of bsn_post.h.
 *
 * Return: as any post; -EOPNOTSUPP the device, the transport or plain verbs do not have it.
 */
#ifndef BSN_EXTENDED_H
#define BSN_EXTENDED_H

#include "bsn_sq.h"

BSN_HEADER_BEGIN

/**
 * bsn_fetch_add - adds @add to 8 B of remote memory; the old value goes to @local; RC, DC, XRC
 *
 * The remote address must be a multiple of 8. The device writes 8 B at @local, whatever its length.
 * They are in the host's order, unless bsn_device_info() says atomics_are_big_endian.
 */
BSN_API int bsn_fetch_add(struct bsn_ep *ep, const struct bsn_sge *local,
			  const struct bsn_remote *remote, uint64_t add, uint64_t id,
			  unsigned flags);

/**
 * bsn_cmp_swap - @swap into 8 B of remote memory if they equal @compare; the old value to @local;
 * RC, DC, XRC
 *
 * Address, length and order are as of bsn_fetch_add().
 */
BSN_API int bsn_cmp_swap(struct bsn_ep *ep, const struct bsn_sge *local,
			 const struct bsn_remote *remote, uint64_t compare, uint64_t swap,
			 uint64_t id, unsigned flags);

/**
 * bsn_masked_cmp_swap - where the bits of compare_mask are those of @operands->compare, the bits of
 * swap_mask become those of @operands->swap; what was there before comes to @result
 * @result: @bytes of local memory
 * @bytes: of the operands: 4 or 8, which the remote address is a multiple of
 *
 * With all bits of both masks this is a compare and swap of 4 or 8 bytes. A result of 4 bytes is
 * big-endian; one of 8 is in the host's order, unless bsn_device_info() says atomics_are_big_endian
 * (UCX src/uct/ib/mlx5/dv/ib_mlx5dv_md.c, ext_atomic_arg_sizes_be).
 */
BSN_API int bsn_masked_cmp_swap(struct bsn_ep *ep, const struct bsn_sge *result,
				const struct bsn_remote *remote,
				const struct bsn_masked_cs *operands, unsigned bytes, uint64_t id,
				unsigned flags);

/**
 * bsn_masked_fetch_add - adds to fields: no carry goes beyond a bit that is set in field_boundary
 * @bytes: of the operands: 4 or 8
 *
 * Without a boundary this is a fetch and add of 4 or 8 bytes. Results are as those of
 * bsn_masked_cmp_swap().
 */
BSN_API int bsn_masked_fetch_add(struct bsn_ep *ep, const struct bsn_sge *result,
				 const struct bsn_remote *remote,
				 const struct bsn_masked_fa *operands, unsigned bytes, uint64_t id,
				 unsigned flags);

/**
 * bsn_memcpy - the NIC copies local memory (MMO)
 * @to: its length is that of the copy: 1 to what the device takes, 2^31 at most
 * @from: as long
 * @status: 64 B of registered memory that the NIC may write to; one for all copies of a queue will
 *	do
 */
BSN_API int bsn_memcpy(struct bsn_ep *ep, const struct bsn_sge *to, const struct bsn_sge *from,
		     const struct bsn_sge *status, uint64_t id, unsigned flags);

BSN_HEADER_END

#endif
