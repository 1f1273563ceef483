/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of rows, for the loops over it. */
#include "cost_rows.h"

#define ROW(...) COST_SHAPE(__VA_ARGS__),
const struct cost_shape cost_shapes[COST_ROW_COUNT] = { COST_ROWS(ROW) };
#undef ROW
