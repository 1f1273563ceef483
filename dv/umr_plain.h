/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The UMR that most layouts are: a list or repeat block of parts that lie in one piece of memory, one after
 * the other. Checked and put into the ring in one pass, since nothing of a free slot is anybody's until its
 * WQE ends. Inline, and private to the library; umr.h has every other UMR.
 */
#ifndef DV_UMR_PLAIN_H
#define DV_UMR_PLAIN_H

#include "sq.h"
#include "umr.h"

/* Parts of which the order of memory is remembered, and as many as are looked at together. */
enum { UMR_ORDER_PARTS = 64, UMR_ORDER_LANES = 8 };

/**
 * struct umr_order - in which order the parts of the last layouts lay in memory
 * @ranks: of each part, the last time
 * @at: the parts by their ranks, and before and after them a number that is none's
 * @count: parts; 0: nothing is known
 * @again: the same where it was the same twice, so that @at has it; else 0
 */
struct umr_order {
	int16_t ranks[UMR_ORDER_PARTS];
	int32_t at[1 + UMR_ORDER_PARTS + UMR_ORDER_LANES];
	uint32_t count, again;
};

/**
 * struct umr_memory - where plain parts lie
 * @first, @last: bytes of it
 * @key: its lkey, and zeros, as it lies in the parts
 * @has_disorder: the parts of the last layout were not in its order
 * @order: in which they were instead
 */
struct umr_memory {
	uint64_t first, last, key;
	bool has_disorder;
	struct umr_order *order;
};

/**
 * struct umr_wanted - what is done to parts of a key that lie in the order of memory (umr_ordered.h)
 * @key, @first: of struct umr_memory, each twice, as vectors take them
 * @less: added to a part, but for where the first one is, and the stride: its length less one, or, of pages, less
 *	theirs, and nothing of the key
 * @more: added to two of those: their lengths, and their keys above them
 * @first: where the memory begins
 * @most: where its last byte is from there on; 0 where no memory is known, since two parts take two bytes at least
 */
struct umr_wanted {
#if defined(__aarch64__)
	uint64_t key[2], first[2];
#else
	uint64_t less[4], more[4];
	uint64_t first;
#endif
	uint64_t most;
};

/* From so many parts on they are looked at like that, up to so many without eights. */
enum { UMR_ORDERED_FROM = 4, UMR_FEW = 8 };

static inline uint64_t umr_most_of(const struct umr_memory *memory)
{
	return memory->last < memory->first ? 0 : memory->last - memory->first;
}

/* @page_bytes: of pools of pages; else 0 */
static inline struct umr_wanted umr_wanted_of(const struct umr_memory *memory, uint64_t page_bytes)
{
#if defined(__aarch64__)
	(void)page_bytes;
	return (struct umr_wanted){ { memory->key, memory->key },
				    { memory->first, memory->first },
				    umr_most_of(memory) };
#else
	const uint64_t key = memory->key, above = key << 32 | !page_bytes;

	return (struct umr_wanted){ { 0, -(page_bytes ? page_bytes : 1), 0, -key },
				    { 0, above, 0, above },
				    memory->first,
				    umr_most_of(memory) };
#endif
}

/* Of a part: its key, and what is reserved. */
BSN_ALWAYS_INLINE uint64_t umr_key_of(const struct bsn_part *part)
{
	uint64_t key;

	memcpy(&key, (const char *)part + offsetof(struct bsn_part, lkey), sizeof(key));
	return key;
}

/* -- translations --------------------------------------------------------------------------------- */

/*
 * What all translations of plain parts have in their first word: key and, in a repeat block, stride. A
 * block of less than 2^16 bytes has the same place in an entry as in a KLM.
 */
BSN_ALWAYS_INLINE struct bsn_be64 umr_common_bits(uint64_t stride, uint32_t lkey)
{
	const struct bsn_repeat_entry entry = { .stride = (uint16_t)stride, .mkey = lkey };

	return bsn_to_be64(bsn_repeat_entry_word(&entry, 0));
}

/* A part's translation, whose length was or will be checked. */
BSN_ALWAYS_INLINE struct bsn_ds umr_translation(const struct bsn_part *part, struct bsn_be64 common)
{
#if BSN_HAS_SHUFFLE
	struct bsn_ds ds = bsn_shuffle(
		bsn_v2_load(part), (bsn_pattern){ BSN_FROM_32(8), BSN_FROM_NONE, BSN_FROM_64(0) });

	ds.v |= (bsn_v2){ common.raw, 0 };
	return ds;
#else
	const struct bsn_klm klm = { .byte_count = (uint32_t)part->bytes, .va = part->addr };
	struct bsn_be64 word = bsn_pair_to_be64(bsn_klm_word(&klm, 0));

	word.raw |= common.raw;
	return bsn_ds_of_words(word, bsn_to_be64(bsn_klm_word(&klm, 1)));
#endif
}

/*
 * What was loaded before is not kept in a register for later: where it is loaded again, a function that checks, puts
 * and ends by another one needs no more registers than it may change, and saves none.
 */
#if defined(__aarch64__) /* there are enough */
#define UMR_LOAD_AGAIN() ((void)0)
#else
#define UMR_LOAD_AGAIN() __asm__ volatile("" ::: "memory")
#endif

/* -- the parts ------------------------------------------------------------------------------------ */

/*
 * umr.c: puts the translations of several parts to @at, which are in the order of memory. Returns the bytes of
 * one round; 0: the parts are not plain.
 */
uint64_t umr_put_list(uint8_t *at, const struct bsn_part *part, uint32_t count,
		      const struct umr_memory *memory);
uint64_t umr_put_entries(uint8_t *at, const struct bsn_part *part, uint32_t count,
			 const struct umr_memory *memory, uint32_t rounds);

/*
 * umr_wide.c: the same in any order, and of two keys in turn. 0 also where the CPU lacks what it takes.
 * @even, @odd: the memory of the first part, the third and so on, and of the others
 */
uint64_t umr_put_wide(uint8_t *at, const struct bsn_part *part, uint32_t count,
		      struct umr_memory *even, struct umr_memory *odd, uint32_t rounds);

/* The same of pages, of one key and in any order. */
uint64_t umr_put_pages(uint8_t *at, const struct bsn_part *part, uint32_t count, uint64_t page_bytes,
		       struct umr_memory *memory);

/* So many take fewer instructions there in any case. */
enum { UMR_WIDE_FROM = 8 };

/* By the one or the other: in the order of memory is the cheapest, if the layout before was. */
BSN_ALWAYS_INLINE uint64_t umr_put_several(uint8_t *at, const struct bsn_part *part, uint32_t count,
					   struct umr_memory *even, struct umr_memory *odd,
					   uint32_t rounds)
{
	uint64_t bytes = 0;

	if (BSN_LIKELY(even == odd && !even->has_disorder) && count < UMR_WIDE_FROM)
		bytes = rounds > 1 ? umr_put_entries(at, part, count, even, rounds)
				   : umr_put_list(at, part, count, even);
	return BSN_LIKELY(bytes) ? bytes : umr_put_wide(at, part, count, even, odd, rounds);
}

/* The same of one part, whose key is that of the memory. */
BSN_ALWAYS_INLINE uint64_t umr_put_part(uint8_t *at, const struct bsn_part *part,
					const struct umr_memory *memory, uint32_t rounds)
{
	const uint64_t bytes = part->bytes, stride = part->stride;
	uint64_t last = part->addr + (bytes - 1);

	if (BSN_UNLIKELY(bytes - 1 >= BSN_KLM_MAX_BYTES || part->addr < memory->first ||
			 last < part->addr))
		return 0;
	if (rounds > 1) {
		if (BSN_UNLIKELY(stride > BSN_REPEAT_MAX_STRIDE || bytes > stride ||
				 last > memory->last))
			return 0;
		last += (uint64_t)(rounds - 1) * stride;
		if (BSN_UNLIKELY(last < part->addr))
			return 0;
	}
	if (BSN_UNLIKELY(last > memory->last))
		return 0;
	bsn_store_ds(at, umr_translation(part, umr_common_bits(rounds > 1 ? stride : 0,
							       (uint32_t)memory->key)));
	return bytes;
}

/**
 * struct umr_plain - a UMR whose translations are in the ring
 * @length: bytes that the mkey will span
 * @padded: translations, as the device counts them
 */
struct umr_plain {
	uint64_t length;
	uint32_t padded;
};

/* The WQE's length, from the slot on. */
BSN_ALWAYS_INLINE size_t umr_bytes(uint32_t padded)
{
	return (size_t)(UMR_HEAD_DS + padded) * BSN_DS_SIZE;
}

BSN_ALWAYS_INLINE void umr_put_padding(uint8_t *end)
{
	BSN_UNROLL for (unsigned i = 1; i <= UMR_ALIGN; i++)
		bsn_store_wqe_v2(end - i * BSN_DS_SIZE, (bsn_v2){ 0, 0 });
}

/* Translations of a layout that was committed. */
BSN_ALWAYS_INLINE uint32_t umr_committed(const struct bsn_layout *layout)
{
	return layout->part_count + (layout->rounds > 1);
}

/* The last block that is free for a UMR. */
BSN_ALWAYS_INLINE uint8_t *umr_room(const struct bsn_sq *sq)
{
	return sq->room;
}

/* umr.c: whether a WQE of @ds units fits before the end of that room, which may have grown. */
bool umr_find_room(struct bsn_sq *sq, unsigned ds);

/* Whether the flags ask for more than the quick way has. */
BSN_ALWAYS_INLINE bool umr_is_unusual(uint32_t flags)
{
	return flags & ~(BSN_F_PLAIN & ~(uint32_t)BSN_F_FENCE);
}

/*
 * Whether there is room for so many translations, padded or not, since blocks are whole either way, and the request
 * is usual. If not, umr_post(), or its caller, finds out what is wrong, if anything.
 */
BSN_ALWAYS_INLINE bool umr_may_put(const struct bsn_sq *sq, uint32_t translations, uint32_t flags)
{
	return bsn_fits(sq, umr_room(sq), umr_bytes(translations)) &&
	       !BSN_UNLIKELY(umr_is_unusual(flags));
}

/* Where so many translations end. */
BSN_ALWAYS_INLINE uint8_t *umr_end_of(const struct bsn_sq *sq, uint32_t padded)
{
	return sq->slot + umr_bytes(padded);
}

/* Where the first of them goes. */
BSN_ALWAYS_INLINE uint8_t *umr_begin(const struct bsn_sq *sq)
{
	return sq->slot + UMR_HEAD_DS * BSN_DS_SIZE;
}

/* Pads so many translations, and returns where they go; NULL: they may not be put. */
BSN_ALWAYS_INLINE uint8_t *umr_open(struct umr_plain *umr, const struct bsn_sq *sq, uint32_t padded,
				    bool is_full, uint32_t flags)
{
	umr->padded = padded;
	if (BSN_UNLIKELY(!umr_may_put(sq, padded, flags)))
		return NULL;
	if (!is_full)
		umr_put_padding(umr_end_of(sq, padded));
	return umr_begin(sq);
}

/* The translations of a layout that is checked here; it is padded. Sets the length. @even, @odd: as above */
BSN_ALWAYS_INLINE bool umr_put_plain_at(struct umr_plain *umr, uint8_t *at,
					const struct bsn_layout *layout, struct umr_memory *even,
					struct umr_memory *odd)
{
	const uint32_t count = layout->part_count, rounds = layout->rounds;
	const struct bsn_part *const parts = layout->parts;
	uint64_t bytes;

	if (rounds <= 1) {
		umr->length = count == 1 ? umr_put_part(at, parts, even, 1)
					 : umr_put_several(at, parts, count, even, odd, 1);
		return BSN_LIKELY(umr->length != 0);
	}
	bytes = count == 1 ? umr_put_part(at + BSN_DS_SIZE, parts, even, rounds)
			   : umr_put_several(at + BSN_DS_SIZE, parts, count, even, odd,
					     rounds);
	if (BSN_UNLIKELY(!bytes))
		return false;
	bsn_store_ds(at, umr_repeat((uint32_t)bytes, rounds, count));
	umr->length = bytes * rounds;
	return true;
}

/* The same into the ring. false: nothing has happened. */
BSN_ALWAYS_INLINE bool umr_put_plain(struct umr_plain *umr, struct bsn_sq *sq,
				     const struct bsn_layout *layout, struct umr_memory *even,
				     struct umr_memory *odd, uint32_t flags)
{
	const uint32_t used = layout->part_count + (layout->rounds > 1), padded = umr_padded(used);
	uint8_t *const at = umr_open(umr, sq, padded, padded == used, flags);

	return BSN_LIKELY(at != NULL) && umr_put_plain_at(umr, at, layout, even, odd);
}

/* The translations of parts that were checked before, and differ in address and length alone. */
BSN_ALWAYS_INLINE void umr_copy_uniform(uint8_t *at, const struct bsn_part *part, uint32_t count,
					struct bsn_be64 common)
{
	const struct bsn_part *const end = part + count;

	for (const struct bsn_part *const eights = part + (count & ~7u); part != eights;
	     part += 8) {
		BSN_UNROLL for (unsigned i = 0; i < 8; i++)
			bsn_store_ds(at + i * BSN_DS_SIZE, umr_translation(&part[i], common));
		at += 8 * BSN_DS_SIZE;
	}
	for (; part != end; part++, at += BSN_DS_SIZE)
		bsn_store_ds(at, umr_translation(part, common));
}

/* umr_wide.c: what copies parts best on this CPU */
typedef void umr_keep_parts(struct bsn_part *to, const struct bsn_part *from, uint32_t count);
umr_keep_parts *umr_choose_keep_parts(void);

/* umr_wide.c: the same, of many, and of pages */
enum { UMR_COPY_WIDE_FROM = 8 };
void umr_copy_alike(uint8_t *at, const struct bsn_part *part, uint32_t count, struct bsn_be64 common);
void umr_copy_alike_pages(uint8_t *at, const struct bsn_part *part, uint32_t count,
			  struct bsn_be64 common);

/* umr.c: of parts that differ in more */
void umr_copy_list(uint8_t *at, const struct bsn_part *part, uint32_t count);
void umr_copy_entries(uint8_t *at, const struct bsn_part *part, uint32_t count);
void umr_copy_pages(uint8_t *at, const struct bsn_part *part, uint32_t count);

/* Whether a committed layout is of parts, but not of pages, that differ in address and length alone. */
BSN_ALWAYS_INLINE bool umr_is_uniform(const struct bsn_layout *layout)
{
	return layout->commit.common && layout->commit.round_bytes;
}

/* A layout that was committed, and fits a WQE. false: nothing has happened. */
BSN_ALWAYS_INLINE bool umr_put_committed(struct umr_plain *umr, struct bsn_sq *sq,
					 const struct bsn_layout *layout, uint32_t flags)
{
	const struct bsn_commit *const commit = &layout->commit;
	const uint32_t count = layout->part_count, rounds = layout->rounds;
	uint8_t *at =
		umr_open(umr, sq, commit->padded, commit->padded == umr_committed(layout), flags);

	if (BSN_UNLIKELY(!at))
		return false;
	umr->length = commit->length;
	if (rounds > 1) {
		bsn_store_ds(at, umr_repeat(commit->round_bytes, rounds, count));
		at += BSN_DS_SIZE;
	}
	if (BSN_LIKELY(commit->common)) {
		const struct bsn_be64 common = { commit->common };
		if (BSN_UNLIKELY(!commit->round_bytes))
			umr_copy_alike_pages(at, layout->parts, count, common);
		else if (count >= UMR_COPY_WIDE_FROM)
			umr_copy_alike(at, layout->parts, count, common);
		else
			umr_copy_uniform(at, layout->parts, count, common);
	}
	else if (rounds > 1)
		umr_copy_entries(at, layout->parts, count);
	else if (commit->round_bytes)
		umr_copy_list(at, layout->parts, count);
	else
		umr_copy_pages(at, layout->parts, count);
	return true;
}

/*
 * umr.c: posts a UMR whose translations, which are padded, are elsewhere, since the WQE has to wrap. The next request
 * waits for it.
 */
int umr_post_put(struct bsn_sq *sq, const struct umr_target *target, const struct umr_plain *umr,
		 const uint8_t *translations, uint64_t id, uint32_t flags);

/* What all translations have in common of parts of one key and, in a repeat block, one stride. */
BSN_ALWAYS_INLINE struct bsn_be64 umr_common_of(const struct bsn_layout *layout)
{
	return umr_common_bits(layout->rounds > 1 ? layout->parts->stride : 0, layout->parts->lkey);
}

/* -- the end -------------------------------------------------------------------------------------- */

/* The same as blocks. */
BSN_ALWAYS_INLINE uint32_t umr_blocks(uint32_t padded)
{
	return (UMR_HEAD_DS + padded) / BSN_BB_DS;
}

/* Keeps the id of the next WQE, which is not near. It comes first, so that no register has to keep it longer. */
BSN_ALWAYS_INLINE void umr_keep_id(struct bsn_sq *sq, uint64_t id)
{
	*bsn_id_of(sq, sq->slot) = id;
	UMR_LOAD_AGAIN();
}

/* The control segment, which has the fence that is owed. The next request waits for this one. */
BSN_ALWAYS_INLINE struct bsn_ds umr_begin_end(struct bsn_sq *sq, const struct umr_target *target,
					      unsigned ds, uint32_t flags)
{
	struct bsn_be64 ctrl1 = bsn_ctrl1(sq, false, flags, 0);

	ctrl1.raw |= target->imm.raw | bsn_sq_owed_fence(sq, flags).raw;
	sq->next_fence = (uint8_t)target->fence;
	sq->limit = NULL;
	return bsn_ds_of_words(bsn_ctrl0(sq, BSN_OPCODE_UMR, ds), ctrl1);
}

/* Ends a UMR whose translations, or the pointer to them, are in the ring. Its id was kept. */
BSN_ALWAYS_INLINE int umr_end(struct bsn_sq *sq, const struct umr_target *target, uint64_t length,
			      bool is_inline, uint32_t padded, enum bsn_rest rest, unsigned ds,
			      size_t bytes, uint32_t flags)
{
	struct bsn_regs r;
	uint8_t *wqe;

	umr_make_head(&r, target, length, is_inline, padded);
	r.ds[0] = umr_begin_end(sq, target, ds, flags);
	wqe = bsn_sq_take(sq, &r, bytes);
	(void)rest;
	return bsn_end(sq, wqe, &r, UMR_HEAD_DS, bytes, flags);
}

/* @rest: how the translations were put */
BSN_ALWAYS_INLINE int umr_end_plain(const struct umr_plain *umr, struct bsn_sq *sq,
				    const struct umr_target *target, enum bsn_rest rest,
				    uint32_t flags)
{
	const unsigned ds = UMR_HEAD_DS + umr->padded;

	if (flags & BSN_F_FENCE || ds <= UMR_HEAD_DS || ds % BSN_BB_DS ||
	    umr->padded > UMR_INLINE_MAX)
		__builtin_unreachable();
	return umr_end(sq, target, umr->length, true, umr->padded, rest, ds,
		       umr_bytes(umr->padded), flags);
}

#endif
