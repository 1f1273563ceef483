/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of rows, for all who go through it. */
#include "cost_rows.h"

#define ROW(...) COST_SHAPE(__VA_ARGS__),
const struct cost_shape cost_shapes[COST_ROW_COUNT] = { COST_ROWS(ROW) };
#undef ROW
