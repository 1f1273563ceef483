/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layouts as rows of `bsn-perf cost`: they are checked, mapped, and mkeys configured by them; and a
 * column of a matrix is sent by each way that there is. What Bunsen's column and libmlx5's share.
 */
#ifndef COST_LAYOUT_H
#define COST_LAYOUT_H

#include "bsn_mkey.h"
#include "cost.h"

enum {
	LAYOUT_PARTS_MAX = 48,
	LAYOUT_ROUNDS = 16, /* of interleaved parts */
	LAYOUT_BLOCK = 8,
	LAYOUT_PAGE = 4096,
	LAYOUT_MATRIX = 1024, /* rows, and columns */
	LAYOUT_COLUMN_BYTES = LAYOUT_MATRIX * LAYOUT_BLOCK,
	LAYOUT_COLUMN = 3, /* which is sent */
	/* Memory: the matrix, where the column goes to, and where it is packed. */
	LAYOUT_TARGET_AT = LAYOUT_MATRIX * LAYOUT_COLUMN_BYTES,
	LAYOUT_PACK_AT = LAYOUT_TARGET_AT + LAYOUT_COLUMN_BYTES,
	LAYOUT_MEMORY = LAYOUT_PACK_AT + LAYOUT_COLUMN_BYTES,
};

/* The parts of the @which-th layout of a shape, over memory of these lkeys; and the rounds. */
unsigned layout_make_parts(uint8_t *memory, const struct cost_shape *shape, unsigned which,
			   const uint32_t lkeys[2], struct bsn_part parts[LAYOUT_PARTS_MAX]);
uint32_t layout_rounds_of(const struct cost_shape *shape);

/* LAYOUT_MEMORY bytes, filled; NULL: no memory. */
uint8_t *layout_make_memory(void);

/* Before a column is sent, and after: -EBADMSG it did not arrive. */
void layout_clear_target(uint8_t *memory);
int layout_check_target(const uint8_t *memory);

#endif
