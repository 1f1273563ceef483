/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps layouts for requests: SGEs of the layout's blocks, or of an mkey that the pool lends. */
#include "mkey.h"

#include "sq.h"

/* -- mapping ----------------------------------------------------------------------------------- */

/* Takes an mkey of the pool for the layout, and configures it. */
static int lend(struct bsn_layout *layout, struct bsn_ep *ep)
{
	struct mkey_object *const mkey = mkey_take(layout->pool, ep->sq);
	int err = mkey ? mkey_configure(mkey, ep, layout) : -ENOBUFS;

	if (!err)
		layout->lent = mkey;
	else if (mkey)
		mkey_unuse(mkey);
	return err;
}

/* Uses the mkey that the layout has, unless its UMR is on another queue or on one that failed. */
static int use_mkey_of(struct bsn_layout *layout, struct bsn_ep *ep)
{
	struct mkey_object *const mkey = layout->lent;
	const enum bsn_mkey_state state = mkey_state_of(mkey);
	int err = 0;

	if (state == BSN_MKEY_PENDING && mkey->sq != ep->sq)
		return fail(EBUSY, "the UMR of the layout's mkey, on another queue, has not "
				   "completed: poll that queue's CQ");
	if (state == BSN_MKEY_UNKNOWN)
		err = mkey->uses ? fail(EBUSY, "the queue failed before the UMR of the layout's "
					       "mkey completed: unmap all maps of the layout")
				 : mkey_configure(mkey, ep, layout);
	if (err)
		return err;
	layout->lent = mkey;
	mkey_use(mkey);
	return 0;
}

/*
 * Whether the layout needs an mkey: it has more blocks than a request has SGEs, or the flags ask
 * for one.
 */
BSN_ALWAYS_INLINE bool takes_key(const struct bsn_layout *layout, const struct bsn_sq *sq,
				 unsigned flags)
{
	return flags ? flags == BSN_MAP_KEY : layout->map.sge_count - 1 >= sq->max_sge;
}

static __attribute__((noinline)) int map_slowly(struct bsn_layout *layout, struct bsn_ep *ep,
						unsigned flags, const struct bsn_map **map)
{
	const bool has_mkeys = layout->device->path->mkey_create;
	int err;

	if (flags & ~(unsigned)BSN_MAP_KEY)
		return fail(EINVAL, "unknown flags: a map takes BSN_MAP_*");
	if (flags && !has_mkeys)
		return fail(EOPNOTSUPP, "plain verbs have no mkeys that span a layout");
	err = layout_check(layout, ep->sq);
	if (!err && has_mkeys && takes_key(layout, ep->sq, flags)) {
		err = layout->lent ? use_mkey_of(layout, ep) : lend(layout, ep);
		if (!err)
			*map = &layout->lent->map;
	} else if (!err) {
		*map = &layout->map;
	}
	if (!err)
		layout->maps++;
	return err;
}

int bsn_layout_map(struct bsn_layout *layout, struct bsn_ep *ep, unsigned flags,
		   const struct bsn_map **map)
{
	struct mkey_object *mkey;

	if (BSN_UNLIKELY(!layout || !ep || !ep->sq || !map))
		return fail(EINVAL, "no layout, or no endpoint, or no place for the map");
	mkey = layout->lent;
	if (BSN_UNLIKELY(!mkey || mkey->state != BSN_MKEY_READY || !layout_is_as_made(layout) ||
			 !takes_key(layout, ep->sq, flags)))
		return map_slowly(layout, ep, flags, map);
	mkey_use(mkey);
	layout->maps++;
	*map = &mkey->map;
	return 0;
}

void bsn_layout_unmap(const struct bsn_map *map)
{
	if (!map)
		return;
	map->layout->maps--;
	if (map->mkey)
		mkey_unuse(mkey_of(map->mkey));
}
