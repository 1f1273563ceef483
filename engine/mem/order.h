/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of a layout in the order of memory. Private to engine/. */
#ifndef MEM_ORDER_H
#define MEM_ORDER_H

#include "bsn_layout.h"

/* Room for so many words, as they are sorted by eights. */
static inline size_t order_room(uint32_t count)
{
	return ((size_t)count + 7) & ~(size_t)7;
}

/* Words of scratch that so many parts take. */
static inline size_t order_scratch(uint32_t part_count)
{
	return 4 * order_room(part_count);
}

/* Words in ascending order, at @words or at @spare: returns where. Both have order_room(). */
uint64_t *order_words(uint64_t *words, uint64_t *spare, uint32_t count);

/* The parts by key, and those of one key by address: in @scratch. */
const struct bsn_part **order_parts(const struct bsn_layout *layout, uint64_t *scratch);

#endif
