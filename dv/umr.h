/* SPDX-License-Identifier: BSD-2-Clause */
/* UMRs: WQEs that change what an mkey spans. Private to the library. */
#ifndef DV_UMR_H
#define DV_UMR_H

#include "whole.h"
#include "bsn_umr.h"

/* Translations that fit one WQE. */
#define UMR_INLINE_MAX 52u

/* Translations are written in groups of four. */
#define UMR_ALIGN 4u

/* Translations that one WQE can point to: their number has 16 bits. */
#define UMR_POINTER_MAX 65532u

/* The number of translations, padded as the device needs it. */
static inline uint32_t umr_padded(uint32_t translations)
{
	return (translations + UMR_ALIGN - 1) / UMR_ALIGN * UMR_ALIGN;
}

#define UMR_HEAD_DS ((BSN_CTRL_SIZE + BSN_UMR_CTRL_SIZE + BSN_MKEY_CTX_SIZE) / BSN_DS_SIZE)

/**
 * struct umr_kind - what the UMRs of some mkeys have in common; umr_kind_of() makes it
 * @mask: which fields of an mkey change
 * @ctx: the first word of its context, but for the key
 * @fence: what the next request of the queue waits by, as the device wants it
 */
struct umr_kind {
	uint64_t mask;
	uint64_t ctx;
	enum bsn_fence fence;
};

/* @access: IBV_ACCESS_*; local reads are always allowed. @has_atomics: a UMR may grant atomics. */
struct umr_kind umr_kind_of(unsigned access, bool has_atomics, enum bsn_fence fence);

/**
 * struct umr - what an mkey is to become
 * @key, @new_key: that it has, and that it gets; only the low byte may differ
 * @length: bytes that it spans, from address 0 on
 * @translations: as the device reads them, zeros after the last one
 * @count: of them, a multiple of UMR_ALIGN
 * @table_lkey: 0: they go into the WQE, UMR_INLINE_MAX at most; else the device reads them where
 *	they are, by this key, until the request completes
 * @first: 0, or only these change, from number @first on; the length stays
 */
struct umr {
	const struct umr_kind *kind;
	uint32_t key, new_key;
	uint64_t length;
	const uint8_t *translations;
	uint32_t count;
	uint32_t table_lkey;
	uint32_t first;
};

/* DS of the whole WQE. */
static inline unsigned umr_ds(const struct umr *umr)
{
	return UMR_HEAD_DS + (umr->table_lkey ? 1 : umr->count);
}

/*
 * Each function posts a request, which the queue's next request waits for. Returns as
 * bsn_ep_post_body().
 */
int umr_post(struct bsn_sq *sq, const struct umr *umr, uint64_t id, uint32_t flags);

/*
 * An invalidation: after it the mkey, or the window of type 2 that is bound to this queue, spans
 * nothing.
 */
int umr_post_invalidate(struct bsn_sq *sq, uint32_t key, bool is_window, enum bsn_fence fence,
			uint64_t id, uint32_t flags);

/**
 * struct umr_window - what a memory window is to be bound to
 * @key: its rkey so far
 * @new_key: from then on; only the low byte may differ
 * @memory: at most 2^31 bytes
 * @access: IBV_ACCESS_REMOTE_*, IBV_ACCESS_ZERO_BASED
 * @qpn: of the queue that it will belong to
 * @is_type_2: it belongs to one queue, and must not be bound yet
 */
struct umr_window {
	uint32_t key, new_key;
	struct bsn_sge memory;
	unsigned access;
	uint32_t qpn;
	bool is_type_2;
};

int umr_post_bind(struct bsn_sq *sq, const struct umr_window *window, enum bsn_fence fence,
		  uint64_t id, uint32_t flags);

/* The next of the 256 variants of a key, so that a request with an old one is refused. */
static inline uint32_t umr_next_variant(uint32_t key)
{
	return (key & ~0xffu) | ((key + 1) & 0xff);
}

#endif
