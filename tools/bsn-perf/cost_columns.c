/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns, in the order of the report. */
#include "cost.h"

const struct cost_column *const cost_columns[COST_COLUMNS] = {
	[COST_COLUMN_BUNSEN] = &cost_bunsen, [COST_COLUMN_V2] = &cost_bunsen_v2,
	[COST_COLUMN_IBV_WR] = &cost_ibv_wr, [COST_COLUMN_IBV] = &cost_ibv,
	[COST_COLUMN_FLOOR] = &cost_floor,
};

bool cost_has(const struct cost *cost, unsigned column, enum cost_row row)
{
	return cost->results.wanted[row] && cost->results.has_column[column] &&
	       cost->queues[column][cost_shapes[row].queues] && cost_columns[column]->run_of(row);
}
