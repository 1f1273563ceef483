/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One measured region of `bsn-perf layout`: its preparation, the region, and what is left
 * afterwards.
 */
#include "layout.h"

#include <errno.h>
#include <string.h>

#include "cost.h"
#include "perf.h"

/* -- the loop alone ---------------------------------------------------------------------------- */

static int run_nothing(void *state, unsigned count)
{
	int bad = 0;

	(void)state;
	for (unsigned i = 0; i < count; i++) {
		int one = 0;
		COST_FORGET_BUT(i);
		COST_HIDE(one);
		bad |= one;
	}
	return bad;
}

static layout_run *find_nothing(const struct layout_row *row)
{
	return row->count > 1 ? run_nothing : NULL;
}

static int do_nothing(void *state, const struct layout_row *row)
{
	(void)state;
	(void)row;
	return 0;
}

static int finish_nothing(void *state, const struct layout_row *row, unsigned count)
{
	(void)count;
	return do_nothing(state, row);
}

static const struct layout_side layout_nothing = {
	.name = "nothing",
	.run_of = find_nothing,
	.prepare = do_nothing,
	.finish = finish_nothing,
};

const struct layout_side *const layout_sides[LAYOUT_SIDES_ALL] = {
	[LAYOUT_SIDE_BUNSEN] = &layout_bunsen,   [LAYOUT_SIDE_CREATE] = &layout_create,
	[LAYOUT_SIDE_MAP] = &layout_bunsen_map,  [LAYOUT_SIDE_MLX5] = &layout_mlx5,
	[LAYOUT_SIDE_NOTHING] = &layout_nothing,
};

/* -- regions ----------------------------------------------------------------------------------- */

layout_run *layout_find_run(const struct layout *layout, unsigned side, unsigned row)
{
	const bool is_open = layout->states[side] || !layout_sides[side]->open;

	if (!layout->wanted[row] || !is_open ||
	    (layout_rows[row].is_pages && !layout->rig.has_pages) ||
	    (layout_sides[side]->shares && !layout->states[LAYOUT_SIDE_BUNSEN]))
		return NULL;
	return layout_sides[side]->run_of(&layout_rows[row]);
}

static uint64_t *words_at(const struct layout_rig *rig, size_t at)
{
	return (uint64_t *)(void *)(rig->memory + at);
}

static bool has_arrived(const struct layout_rig *rig)
{
	for (size_t row = 0; row < LAYOUT_MATRIX; row++)
		if (words_at(rig, LAYOUT_TARGET_AT)[row] !=
		    *words_at(rig, row * LAYOUT_COLUMN_BYTES + LAYOUT_COLUMN * LAYOUT_BLOCK))
			return false;
	return true;
}

static int complain_row(unsigned side, unsigned row, int bad)
{
	return complain("%s by %s: %s", layout_rows[row].name, layout_sides[side]->name,
			bad == -ETIMEDOUT ? "completions are missing"
			: bad < 0         ? strerror(-bad)
					  : ibv_wc_status_str((enum ibv_wc_status)bad));
}

int layout_region(const struct layout *layout, unsigned side, unsigned row, unsigned count,
		  const struct layout_meter *meter)
{
	const struct layout_row *const what = &layout_rows[row];
	layout_run *const run = layout_find_run(layout, side, row);
	void *const state = layout->states[side];
	int bad;

	memset(words_at(&layout->rig, LAYOUT_TARGET_AT), 0, LAYOUT_COLUMN_BYTES);
	bad = layout_sides[side]->prepare(state, what);
	if (!bad) {
		meter->begin(meter->arg);
		bad = run(state, count);
		meter->end(meter->arg);
	}
	if (!bad)
		bad = layout_sides[side]->finish(state, what, count);
	if (bad)
		return complain_row(side, row, bad);
	if (layout_sends(what) && count && !has_arrived(&layout->rig))
		return complain("%s by %s: the column did not arrive", what->name,
				layout_sides[side]->name);
	return 0;
}
