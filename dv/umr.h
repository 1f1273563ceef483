/* SPDX-License-Identifier: BSD-2-Clause */
/* UMR: the WQE that changes what an mkey spans. Private to the library. */
#ifndef DV_UMR_H
#define DV_UMR_H

#include "umr_regs.h"
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
 * struct umr_target - an mkey, as its UMRs name it; umr_target_of() makes it
 * @key, @imm: the key that it has, and as it lies in the control segment
 * @next_key: the key that its next UMR gives it; only the low byte may differ
 * @mask: which fields of it change
 * @word: the first of its context
 * @fence: what the next request of the queue waits by, as the device wants it
 */
struct umr_target {
	struct bsn_be64 imm, mask, word;
	uint32_t key, next_key;
	enum bsn_fence fence;
};

/* @access: IBV_ACCESS_*; local reads are always allowed. @has_atomics: UMR may give the right to them. */
struct umr_target umr_target_of(uint32_t key, unsigned access, bool has_atomics,
				enum bsn_fence fence);

/* The key as it lies in the control segment. */
static inline struct bsn_be64 umr_imm_of(uint32_t key)
{
	const struct bsn_ctrl ctrl = { .imm = key };

	return bsn_to_be64(bsn_ctrl_word(&ctrl, 1));
}

/* The next UMR gives it another variant of its key; it was posted. */
static inline void umr_target_rename(struct umr_target *target, uint32_t next_key)
{
	const struct bsn_mkey_ctx all = { .mkey_7_0 = 0xff }, tag = { .mkey_7_0 = next_key & 0xff };

	target->word.raw &= ~bsn_to_be64(bsn_mkey_ctx_word(&all, 0)).raw;
	target->word.raw |= bsn_to_be64(bsn_mkey_ctx_word(&tag, 0)).raw;
	target->next_key = next_key;
}

static inline void umr_target_renamed(struct umr_target *target)
{
	target->key = target->next_key;
	target->imm = umr_imm_of(target->key);
}

/* The next of the 256 variants of a key, so that a request with an old one is refused. */
static inline uint32_t umr_next_variant(uint32_t key)
{
	return (key & ~0xffu) | ((key + 1) & 0xff);
}

/**
 * struct umr - what an mkey is to become
 * @target: the mkey
 * @length: bytes that it spans, from address 0 on
 * @has_pages: the mkey's translations have no lengths: they are all of one size
 * @is_part: only some translations are written, from number @first on, a multiple of 4; the length stays
 * @table: of UMR_POINTER
 * @table_count: translations there
 */
struct umr {
	struct umr_target target;
	uint64_t length;
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

/* The head of a repeat block. @bytes: of one round. */
BSN_ALWAYS_INLINE struct bsn_ds umr_repeat(uint32_t bytes, uint32_t rounds, uint32_t part_count)
{
	const struct bsn_repeat repeat = { .byte_count = bytes,
					   .op = BSN_REPEAT_OP,
					   .repeat_count = rounds,
					   .num_entries = part_count };

	return bsn_ds_of_words(bsn_to_be64(bsn_repeat_word(&repeat, 0)),
			       bsn_to_be64(bsn_repeat_word(&repeat, 1)));
}

/* Words of what stands before the translations: the first of the UMR control segment, and the mkey's length. */
BSN_ALWAYS_INLINE struct bsn_be64 umr_ctrl_word0(bool is_inline, uint32_t padded)
{
	const struct bsn_umr_ctrl ctrl = { .is_inline = is_inline };
	const struct bsn_umr_ctrl one = { .klm_octowords = 1 };
	struct bsn_be64 word = bsn_to_be64(bsn_umr_ctrl_word(&ctrl, 0));

	if (padded <= UINT8_MAX) /* a byte: no swap */
		word.raw |= padded * bsn_to_be64(bsn_umr_ctrl_word(&one, 0)).raw;
	else
		word.raw |= bsn_to_be64(padded * bsn_umr_ctrl_word(&one, 0)).raw;
	return word;
}

#define UMR_LENGTH_WORD 3 /* of the mkey context */
#define UMR_LENGTH_AT   (BSN_CTRL_SIZE + BSN_UMR_CTRL_SIZE + UMR_LENGTH_WORD * 8)

BSN_ALWAYS_INLINE struct bsn_be64 umr_length_word(uint64_t length)
{
	const struct bsn_mkey_ctx ctx = { .len = length };

	return bsn_to_be64(bsn_mkey_ctx_word(&ctx, UMR_LENGTH_WORD));
}

/* All of it, but for the control segment: DS 1 to UMR_HEAD_DS - 1. */
BSN_ALWAYS_INLINE void umr_make_head(struct bsn_regs *r, const struct umr_target *target,
				     uint64_t length, bool is_inline, uint32_t padded)
{
	BSN_UNROLL for (unsigned i = 2; i < UMR_HEAD_DS; i++) r->ds[i] =
		bsn_ds_of_vector((bsn_v2){ 0, 0 });
	r->ds[1] = bsn_ds_of_vector((bsn_v2){ umr_ctrl_word0(is_inline, padded).raw, target->mask.raw });
	r->ds[4] = bsn_ds_of_vector((bsn_v2){ target->word.raw, 0 });
	r->ds[5] = bsn_ds_of_vector((bsn_v2){ 0, umr_length_word(length).raw });
}

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
