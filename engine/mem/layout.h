/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checked layouts. layout.c makes them, after measure.c and overlap.c have checked the parts;
 * order.c sorts parts; mkey.c and map.c use layouts. Private to engine/mem/.
 */
#ifndef MEM_LAYOUT_H
#define MEM_LAYOUT_H

#include "../path.h"
#include "bsn_mkey.h"

struct mkey_object;

/**
 * struct layout_memory - what a layout uses of one key
 * @first, @end: all blocks lie in there; @end is the first byte after them
 * @round_end: the same of the first round's; while the layout is made
 * @mkey: that it nests; NULL: memory
 */
struct layout_memory {
	uint64_t first, end, round_end;
	uint32_t lkey;
	struct mkey_object *mkey;
};

/**
 * struct bsn_layout - what the parts became
 * @map: of its own blocks; without any where no request has as many
 * @translations: as the device reads them, @translation_count with the padding
 * @keys_removed: keys of the device that were removed before @memory was looked at
 * @depth: levels of mkeys from the one that spans it to memory
 * @lent: the mkey that spans it for maps; NULL: none does
 * @maps: that were not unmapped
 * @uses: the program's, and those of mkeys that span it
 */
struct bsn_layout {
	struct bsn_map map;
	struct bsn_mkey_pool *pool;
	struct bsn_device *device;
	uint8_t *translations;
	struct layout_memory *memory;
	uint32_t translation_count, memory_count;
	uint32_t keys_removed;
	uint32_t depth;
	struct mkey_object *lent;
	uint32_t maps, uses;
};

/**
 * struct making - a layout that is being made, and what is known of it so far
 * @bytes: of all rounds
 * @longest: no block, and of several rounds no stride, is longer
 * @strides: 0: all are the same
 * @ascends: each part begins after the part before it in the same memory
 * @memory: an entry a key
 * @room: for overlap.c: layout_order_bytes()
 */
struct making {
	struct bsn_mkey_pool *pool;
	const struct bsn_part *parts;
	uint32_t part_count, rounds;
	uint64_t bytes, longest, strides;
	bool ascends;
	struct layout_memory *memory;
	uint32_t memory_count;
	void *room;
};

/* The memory of an lkey in the layout; NULL: no part before has that lkey. */
BSN_ALWAYS_INLINE struct layout_memory *layout_memory_of(const struct making *m, uint32_t lkey)
{
	for (struct layout_memory *at = m->memory + m->memory_count; at-- != m->memory;)
		if (at->lkey == lkey)
			return at;
	return NULL;
}

/*
 * Checks and adds up all lengths and addresses: 0; -ENODATA, -EINVAL, -ENOTUNIQ, -EOVERFLOW with a
 * text.
 */
int layout_measure(struct making *m);

/* Counts the blocks of all rounds, after longer ones are split into blocks of @most bytes. */
uint64_t layout_blocks(const struct making *m, uint64_t most);

/* Whether no two blocks of one key share a byte: 0, or -ENOTUNIQ with a text. */
int layout_check_overlap(const struct making *m);

/* Sorts the parts by their addresses, which are @first to @end - 1. @room: layout_order_bytes() */
const struct bsn_part **layout_order(const struct bsn_part *parts, uint32_t count, uint64_t first,
				     uint64_t end, void *room);

static inline size_t layout_order_bytes(uint32_t part_count)
{
	return part_count * (sizeof(struct bsn_part *) + 2 * sizeof(uint32_t));
}

/*
 * Whether no memory of the device was deregistered since the layout was checked last, and it nests
 * no mkeys.
 */
BSN_ALWAYS_INLINE bool layout_is_as_made(const struct bsn_layout *layout)
{
	return layout->depth == 1 &&
	       layout->keys_removed == atomic_load(&layout->device->keys_removed);
}

/*
 * Checks what can have changed since the layout was made or checked last: memory that was
 * deregistered, and mkeys that it nests, if @sq may use them. 0, or why it cannot be used.
 */
int layout_check_changes(struct bsn_layout *layout, const struct bsn_sq *sq);

BSN_ALWAYS_INLINE int layout_check(struct bsn_layout *layout, const struct bsn_sq *sq)
{
	return BSN_LIKELY(layout_is_as_made(layout)) ? 0 : layout_check_changes(layout, sq);
}

/* uses.c: ends a use; the last one frees the layout. */
void layout_unuse(struct bsn_layout *layout);

#endif
