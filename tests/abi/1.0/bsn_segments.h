/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn.h, which programs include.
 *
 * What send and receive WQEs are made of, as words of eight bytes; wqe/'s tables say where the bits
 * are.
 */
#ifndef BSN_SEGMENTS_H
#define BSN_SEGMENTS_H

#include "bsn_sq.h"

BSN_HEADER_BEGIN

/* Flags that the device reads; those of requests whose data are not inline; and all. */
#define BSN_F_CTRL  ((uint32_t)(BSN_F_SOLICITED | BSN_F_SIGNALED | BSN_F_FENCE))
#define BSN_F_PLAIN (BSN_F_CTRL | BSN_F_RING)
#define BSN_F_ALL   (BSN_F_PLAIN | BSN_F_INLINE)

/* A word of the control segment of the next WQE. @ds: of all of it */
BSN_ALWAYS_INLINE struct bsn_be64 bsn_ctrl_word0(const struct bsn_sq *sq, unsigned opcode,
						 size_t ds)
{
	const struct bsn_ctrl ctrl = { .opcode = opcode };

	return bsn_to_be64((bsn_ctrl_word(&ctrl, 0) + ds) | sq->ctrl_next);
}

BSN_ALWAYS_INLINE struct bsn_be64 bsn_ctrl_word1(const struct bsn_sq *sq, uint32_t flags,
						 uint32_t imm)
{
	uint64_t bits = (flags & BSN_F_CTRL) >> 8;

	if (!(flags & BSN_F_SIGNALED))
		bits |= sq->ce_quiet;
	return bsn_to_be64(bits << 32 | imm);
}

/* Whether a data pointer can have this length: 0 would mean 2^31, and bit 31 inline data. */
BSN_ALWAYS_INLINE bool bsn_is_plain(const struct bsn_sge *sge)
{
	return BSN_LIKELY((int32_t)sge->length > 0);
}

/* A word of the data pointer of a plain SGE. */
BSN_ALWAYS_INLINE struct bsn_be64 bsn_sge_word(const struct bsn_sge *sge, unsigned i)
{
	const struct bsn_data data = {
		.byte_count = sge->length,
		.lkey = sge->lkey,
		.addr = sge->addr,
	};

	if ((int32_t)sge->length < 0)
		__builtin_unreachable(); /* else the compiler would mask it */
	return bsn_to_be64(bsn_data_word(&data, i));
}

/* A word of the remote address. */
BSN_ALWAYS_INLINE struct bsn_be64 bsn_remote_word(const struct bsn_remote *remote, unsigned i)
{
	const struct bsn_raddr raddr = { .raddr = remote->addr, .rkey = remote->rkey };

	return bsn_to_be64(bsn_raddr_word(&raddr, i));
}

/* Stores a data pointer; returns where the next one goes. */
BSN_ALWAYS_INLINE uint8_t *bsn_put_sge(uint8_t *at, const struct bsn_sge *sge)
{
	bsn_store_wqe(at, bsn_sge_word(sge, 0));
	bsn_store_wqe(at + 8, bsn_sge_word(sge, 1));
	return at + BSN_DATA_SIZE;
}

/* The header of inline data, as it lies in memory. */
BSN_ALWAYS_INLINE uint64_t bsn_inline_head(uint32_t bytes)
{
	const struct bsn_inline_hdr hdr = { .is_inline = 1 };

	return bsn_wide_be32(bsn_inline_hdr_dword(&hdr, 0) + bytes);
}

/* Units of inline data, header included. */
BSN_ALWAYS_INLINE unsigned bsn_inline_ds(uint32_t bytes)
{
	return (BSN_INLINE_HDR_SIZE + bytes + BSN_DS_SIZE - 1) / BSN_DS_SIZE;
}

/* The first @bytes at @src, 8 at the most, and zeros after them. The compiler knows how many. */
BSN_ALWAYS_INLINE uint64_t bsn_load_part(const uint8_t *src, unsigned bytes)
{
	uint64_t word = 0;

	memcpy(&word, src, bytes);
	return word;
}

/*
 * 1 to BSN_DS_INLINE_MAX bytes in their order in memory, zeros after the last: four in *@first,
 * eight in *@rest. No byte outside them is read: loads overlap, and shifts drop what came twice.
 */
BSN_ALWAYS_INLINE void bsn_load_few(const uint8_t *src, uint32_t n, uint64_t *first, uint64_t *rest)
{
	if (BSN_LIKELY(n >= 8)) {
		*first = bsn_load_part(src, 4);
		*rest = bsn_load_part(src + n - 8, 8) >> 8 * (12 - n);
		return;
	}
	if (n >= 4)
		*first = bsn_load_part(src, 4) | bsn_load_part(src + n - 4, 4) << 8 * (n - 4);
	else if (n >= 2)
		*first = *src | bsn_load_part(src + n - 2, 2) << 8 * (n - 2);
	else
		*first = *src;
	*rest = *first >> 32;
}

BSN_HEADER_END

#endif
