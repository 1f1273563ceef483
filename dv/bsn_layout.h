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
 * struct bsn_layout - the parts, and how many blocks of each
 * @rounds: 0 means 1
 */
struct bsn_layout {
	const struct bsn_part *parts;
	uint32_t part_count;
	uint32_t rounds;
};

BSN_HEADER_END

#endif
