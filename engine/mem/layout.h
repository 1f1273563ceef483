/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of layouts. Private to engine/. */
#ifndef MEM_LAYOUT_H
#define MEM_LAYOUT_H

#include "../engine.h"
#include "bsn_layout.h"
#include "bsn_umr.h"

static inline uint32_t layout_rounds(const struct bsn_layout *layout)
{
	return layout->rounds ? layout->rounds : 1;
}

/*
 * @bytes: that it spans
 * @translations: that a list of all its blocks takes, 2^31 bytes at most each
 * @longest: no block or stride is longer; of one round, whatever
 * @is_uniform: all parts are known to have one key and, of several rounds, one stride
 */
struct layout_size {
	uint64_t bytes;
	uint64_t translations;
	uint64_t longest;
	bool is_uniform;
};

/* By its numbers alone: 0; -EINVAL, -ENODATA, -ENOTUNIQ, -EOVERFLOW with a text. */
int layout_measure(const struct bsn_layout *layout, struct layout_size *size);

/*
 * Whether the parts lie within one piece of memory, @first to @last, one after the other, so that nothing can be
 * wrong with them: one pass, which most layouts pass, and a sort where their order is not that of memory. Those
 * of several rounds do if all have one stride, and a round of blocks ends before the next begins. Sets the size
 * then. False: the functions above and below tell.
 */
bool layout_is_plain(const struct bsn_layout *layout, uint64_t first, uint64_t last,
		     uint64_t *scratch, struct layout_size *size);

/* The same of one part. */
static inline bool layout_is_plain_part(const struct bsn_layout *layout, uint64_t first,
					uint64_t last, struct layout_size *size)
{
	const struct bsn_part *const part = layout->parts;
	const uint32_t rounds = layout_rounds(layout);
	uint64_t end = part->addr + (part->bytes - 1);

	if (part->reserved || part->bytes - 1 >= BSN_KLM_MAX_BYTES || part->addr < first ||
	    part->addr > last || part->bytes - 1 > last - part->addr)
		return false;
	size->bytes = part->bytes * rounds;
	size->translations = rounds;
	size->longest = part->stride;
	size->is_uniform = true;
	if (rounds == 1)
		return true;
	if (part->stride < part->bytes || part->stride >= BSN_KLM_MAX_BYTES)
		return false;
	end += (rounds - 1) * part->stride;
	return end >= part->addr && end <= last;
}

/* Whether two blocks share a byte; @scratch is order_scratch() long. 0, or -ENOTUNIQ with a text. */
int layout_check_overlap(const struct bsn_layout *layout, uint64_t *scratch);

/*
 * Calls @put for each block in order, two neighbours that are one run of memory as one, and blocks of more
 * than @most bytes in pieces.
 */
void layout_walk(const struct bsn_layout *layout, uint64_t most,
		 void (*put)(void *arg, uint64_t addr, uint64_t bytes, uint32_t lkey), void *arg);

#endif
