/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layouts: in which order a request walks over memory.
 *
 * A layout is a number of rounds, and in each round one block of every part:
 *
 *	a list          one round; the parts lie anywhere          AAAA BB CCCCCC
 *	a column        one part, many rounds                      A.. A.. A.. A..
 *	interleaved     several parts, many rounds                 A B, A B, A B, A B
 *
 * The memory of a part may itself be a layout: its lkey is then that of a configured mkey, and its
 * address an offset in there. So layouts nest.
 *
 * What the device makes of it (bsn_umr.h): a list is one translation (KLM) a part, of 2^31 bytes at
 * most; a repeat block is one entry a part, whatever the number of rounds, with a stride and a block
 * of less than 2^16 bytes each. What has too long a block or stride for that becomes a list.
 */
#ifndef BSN_LAYOUT_H
#define BSN_LAYOUT_H

#include "bsn_order.h"

BSN_HEADER_BEGIN

/**
 * struct bsn_part - blocks of memory at equal distances
 * @addr: of the first block; where @lkey is that of a mkey, an offset
 * @bytes: of each block
 * @stride: bytes from where a block begins to where the next one does; with one round not read
 * @lkey: of the memory
 * @reserved: 0
 */
struct bsn_part {
	uint64_t addr;
	uint64_t bytes;
	uint64_t stride;
	uint32_t lkey;
	uint32_t reserved;
};

/**
 * struct bsn_commit - what bsn_layout_commit() found out; its fields are the library's
 * @id: of this commit, and of no other; 0: the layout is not committed, or is looked at each time
 * @pool: which pool checked it
 * @length: bytes of the whole
 * @translations: that a list of all its blocks takes
 * @longest: no block or stride is longer
 * @common: what all its translations have in common, as it lies in them; 0: they differ in more
 * @round_bytes: of one round, of several; 1: there is but one; 0: the parts are pages
 * @padded: translations of the WQE that holds it, as the device counts them; 0: none does
 * @hash: of its bytes
 * @keys_removed: keys of the device that were removed before
 */
struct bsn_commit {
	uint64_t id;
	uint64_t pool;
	uint64_t length;
	uint64_t translations;
	uint64_t longest;
	uint64_t common;
	uint32_t round_bytes;
	uint32_t padded;
	uint32_t hash;
	uint32_t keys_removed;
};

/**
 * struct bsn_layout - the parts, and how many blocks of each
 * @rounds: 0 means 1
 * @commit: zeros; bsn_layout_commit() fills it. Then neither the layout nor its parts may change.
 */
struct bsn_layout {
	const struct bsn_part *parts;
	uint32_t part_count;
	uint32_t rounds;
	struct bsn_commit commit;
};

BSN_HEADER_END

#endif
