/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of Bunsen: as the rest of this program is compiled, and for x86-64-v2. */
#include "cost_bunsen.h"

static cost_run *run_of(enum cost_row row)
{
	return cost_shapes[row].known == COST_SYMBOL ? bunsen_runs_symbol[row] : bunsen_runs[row];
}

const struct cost_column cost_bunsen = {
	.name = "bunsen",
	.open = bunsen_open,
	.close = bunsen_close,
	.set_up = bunsen_set_up,
	.run_of = run_of,
	.post = bunsen_post,
	.post_recv = bunsen_post_recv,
	.drain = bunsen_drain,
	.drain_recv = bunsen_drain_recv,
};

/* The library's symbols are compiled once, with the library. */
static cost_run *run_of_v2(enum cost_row row)
{
#ifdef COST_HAS_V2
	return cost_shapes[row].known == COST_SYMBOL || !__builtin_cpu_supports("sse4.2")
		       ? NULL
		       : bunsen_runs_v2[row];
#else
	(void)row;
	return NULL;
#endif
}

const struct cost_column cost_bunsen_v2 = {
	.name = "bunsen_v2",
	.shares = &cost_bunsen,
	.run_of = run_of_v2,
	.set_up = bunsen_set_up,
	.post = bunsen_post,
	.post_recv = bunsen_post_recv,
	.drain = bunsen_drain,
	.drain_recv = bunsen_drain_recv,
};
