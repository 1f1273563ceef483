/* SPDX-License-Identifier: BSD-2-Clause */
/* UMR: the WQE that changes what an mkey spans. Private to the library. */
#ifndef DV_UMR_H
#define DV_UMR_H

#include "bsn_build.h"
#include "bsn_layout.h"
#include "bsn_umr.h"

/** enum umr_form - how the translations are given */
enum umr_form {
	UMR_LIST,   /* a KLM a part; one round, each part of at most BSN_KLM_MAX_BYTES */
	UMR_REPEAT, /* a repeat block of all parts, whose blocks and strides are at most
		      * BSN_REPEAT_MAX_STRIDE long */
	UMR_POINTER, /* they are in memory that the device reads, as umr_write_*() wrote them there */
};

/**
 * struct umr_rights - what others may do with an mkey, as it lies in the WQE; umr_rights_of() makes it
 * @mask: which fields of the mkey change
 * @word: the first of its context, but for the key
 */
struct umr_rights {
	struct bsn_be64 mask, word;
};

/* @access: IBV_ACCESS_*; local reads are always allowed. @has_atomics: UMR may give the right to them. */
struct umr_rights umr_rights_of(unsigned access, bool has_atomics);

/**
 * struct umr - what an mkey is to become
 * @key: of the mkey
 * @rights: see above
 * @length: bytes that it spans, from address 0 on
 * @fence: what the next request of the queue waits by, as the device wants it
 * @has_pages: the mkey's translations have no lengths: they are all of one size
 * @is_part: only some translations are written, from number @first on, a multiple of 4; the length stays
 * @table: of UMR_POINTER
 * @table_count: translations there
 */
struct umr {
	uint32_t key;
	struct umr_rights rights;
	uint64_t length;
	enum bsn_fence fence;
	bool has_pages;
	enum umr_form form;
	const struct bsn_part *parts;
	uint32_t part_count;
	uint32_t rounds;
	struct bsn_sge table;
	uint32_t table_count;
	uint32_t first;
	bool is_part;
};

/* Translations that fit one WQE; a repeat block takes one more than it has parts. */
#define UMR_INLINE_MAX 52u

/* Translations are written by fours. */
#define UMR_ALIGN 4u

/* Translations that one WQE can point to: their number has 16 bits. */
#define UMR_POINTER_MAX 65532u

/* Translations that a form takes. */
static inline uint32_t umr_translations(const struct umr *umr)
{
	return umr->form == UMR_POINTER ? umr->table_count
					: umr->part_count + (umr->form == UMR_REPEAT);
}

/* The same as the device counts them. */
static inline uint32_t umr_padded(uint32_t translations)
{
	return (translations + UMR_ALIGN - 1) / UMR_ALIGN * UMR_ALIGN;
}

#define UMR_HEAD_DS ((BSN_CTRL_SIZE + BSN_UMR_CTRL_SIZE + BSN_MKEY_CTX_SIZE) / BSN_DS_SIZE)

/* DS of the whole WQE. */
static inline unsigned umr_ds(const struct umr *umr)
{
	return UMR_HEAD_DS + (umr->form == UMR_POINTER ? 1 : umr_padded(umr_translations(umr)));
}

/*
 * Posts it; the next WQE of the queue waits for it. The table of UMR_POINTER is read until the request
 * completes.
 */
int umr_post(struct bsn_sq *sq, const struct umr *umr, uint64_t id, uint32_t flags);

/* Posts an invalidation: the mkey, or window of type 2 that is bound to this queue, spans nothing. */
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

/* Translations for a table; each returns where the next one goes. The form is UMR_LIST or UMR_REPEAT. */
uint8_t *umr_write_klm(uint8_t *at, uint64_t addr, uint32_t bytes, uint32_t lkey);
uint8_t *umr_write_parts(uint8_t *at, const struct umr *umr);

#endif
