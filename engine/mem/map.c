/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts as requests take them: SGEs of their own blocks, or of an mkey that the pool lends. */
#include "mkey.h"

#include "sq.h"

/* -- mapping ----------------------------------------------------------------------------------- */

/* An mkey of the pool becomes this layout's. */
static int lend(struct bsn_layout *layout, struct bsn_ep *ep)
{
	struct mkey_object *const mkey = pool_take(layout->pool, ep->sq);
	int err = mkey ? mkey_configure(mkey, ep, layout) : -ENOBUFS;

	if (!err)
		layout->slot = mkey;
	else if (mkey)
		pool_unuse(mkey);
	return err;
}

/* The mkey that it has: its UMR may be another queue's, or of a queue that failed. */
static int use_again(struct bsn_layout *layout, struct bsn_ep *ep)
{
	struct mkey_object *const mkey = layout->slot;
	const enum bsn_mkey_state state = mkey_state_of(mkey);
	int err = 0;

	if (state == BSN_MKEY_PENDING && mkey->sq != ep->sq)
		return fail(EBUSY, "the UMR, on another queue, has not completed: poll that one");
	if (state == BSN_MKEY_UNKNOWN)
		err = mkey->uses ? fail(EBUSY, "the queue of its UMR failed: unmap what is mapped")
				 : mkey_configure(mkey, ep, layout);
	if (err)
		return err;
	layout->slot = mkey;
	pool_use(mkey);
	return 0;
}

/* Whether it takes an mkey, having more blocks than a request has SGEs, or as asked for. */
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
	err = layout_look(layout, ep->sq);
	if (!err && has_mkeys && takes_key(layout, ep->sq, flags)) {
		err = layout->slot ? use_again(layout, ep) : lend(layout, ep);
		if (!err)
			*map = &layout->slot->map;
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
	mkey = layout->slot;
	if (BSN_UNLIKELY(!mkey || mkey->state != BSN_MKEY_READY || !layout_is_as_made(layout) ||
			 !takes_key(layout, ep->sq, flags)))
		return map_slowly(layout, ep, flags, map);
	pool_use(mkey);
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
		pool_unuse(mkey_of(map->mkey));
}

/* -- posting ----------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct bsn_sge *sge, uint32_t count)
{
	uint64_t bytes = 0;

	while (count--)
		bytes += sge++->length;
	return bytes;
}

/* Only the last of several completes, and only the first waits for what was before. */
static uint32_t flags_of(uint32_t flags, bool is_first, bool is_last)
{
	if (!is_first)
		flags &= ~(uint32_t)BSN_F_FENCE;
	return is_last ? flags : flags & ~(uint32_t)(BSN_F_SIGNALED | BSN_F_RING);
}

static int post_several(struct bsn_ep *ep, const struct bsn_wr *wr, const struct bsn_map *map)
{
	const uint32_t most = ep->sq->max_sge, requests = (map->sge_count + most - 1) / most;
	uint32_t at = 0;
	int err = 0;

	if (wr->opcode != BSN_OPCODE_RDMA_WRITE && wr->opcode != BSN_OPCODE_RDMA_READ)
		return refuse(EMSGSIZE,
			      "only a WRITE or READ can become several requests: make the "
			      "queue with more SGEs (max_send_sge)");
	if (ep->sq->ring)
		return refuse(EMSGSIZE, "the map was made for a queue with more SGEs: map the "
					"layout for this one");
	if (requests > ep->sq->capacity_bb)
		return refuse(EMSGSIZE,
			      "more requests than the queue takes: make it with a greater "
			      "send_depth, or with more SGEs");
	if (requests > ep->sq->path->room(ep->sq))
		return refuse(EAGAIN,
			      "the send queue has not room for all its requests: poll its CQ");
	for (struct bsn_wr one = *wr; !err && at < map->sge_count; at += one.sge_count) {
		const uint32_t left = map->sge_count - at;
		one.sge = map->sge + at;
		one.sge_count = left < most ? left : most;
		one.flags = flags_of(wr->flags, !at, left <= most);
		err = bsn_sq_post_wr(ep, &one);
		one.remote.addr += bytes_of(one.sge, one.sge_count);
	}
	return err;
}

static __attribute__((noinline)) int post_any(struct bsn_ep *ep, const struct bsn_wr *wr,
					      const struct bsn_map *map)
{
	struct bsn_wr one;

	if (!ep || !ep->sq || !wr || !map)
		return refuse(EINVAL, "no endpoint, request, or map");
	if (wr->flags & BSN_F_INLINE)
		return refuse(EINVAL, "a map's data are not copied into the WQE");
	if (map->sge_count > ep->sq->max_sge)
		return post_several(ep, wr, map);
	if (map->length > BSN_DATA_MAX_BYTES)
		return refuse(EMSGSIZE,
			      "a message has less than 2^31 bytes: post pieces of the mkey");
	one = *wr;
	one.sge = map->sge;
	one.sge_count = map->sge_count;
	return bsn_sq_post_wr(ep, &one);
}

/* Inline code posts most maps. */
int bsn_post_map(struct bsn_ep *ep, const struct bsn_wr *wr, const struct bsn_map *map)
{
	if (BSN_UNLIKELY(!ep || !ep->sq || !wr || !map) ||
	    BSN_UNLIKELY(map->sge_count != 1 || map->length > BSN_DATA_MAX_BYTES ||
			 wr->opcode != BSN_OPCODE_RDMA_WRITE || wr->flags & BSN_F_INLINE))
		return post_any(ep, wr, map);
	return bsn_write(ep, map->sge, &wr->remote, wr->id, wr->flags);
}
