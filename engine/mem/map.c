/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts that were mapped before are found by their bytes. */
#include "mkey.h"

#include "refuse.h"

/* -- look-up ---------------------------------------------------------------------------------------- */

/* Of both ends and the middle: the bytes are compared in any case. */
static inline uint32_t mixed(uint64_t hash)
{
	return (uint32_t)(hash * 0x9e3779b97f4a7c15ull >> 32);
}

static inline uint64_t part_bits(const struct bsn_part *part)
{
	return part->addr ^ part->stride << 20 ^ part->bytes << 40;
}

static inline uint32_t hash_of_part(const struct bsn_part *part)
{
	return mixed(part_bits(part));
}

static inline uint32_t hash_of(const struct bsn_layout *layout)
{
	const struct bsn_part *first = layout->parts;
	const struct bsn_part *middle = first + layout->part_count / 2;
	const struct bsn_part *end = first + (layout->part_count - 1);

	if (layout->part_count == 1)
		return hash_of_part(first);
	return mixed(part_bits(first) + (middle->addr << 13 ^ end->addr << 7));
}

uint32_t map_hash_of(const struct bsn_layout *layout)
{
	return hash_of(layout);
}

static inline uint64_t shape_of(const struct bsn_layout *layout)
{
	return (uint64_t)layout->rounds << 32 | layout->part_count;
}

/* Most layouts have one part, whose compare is four words. */
BSN_ALWAYS_INLINE bool are_alike(const struct bsn_part *a, const struct bsn_part *b, uint32_t count)
{
	if (a->addr != b->addr || a->stride != b->stride || a->bytes != b->bytes ||
	    a->lkey != b->lkey || a->reserved != b->reserved)
		return false;
	return count == 1 || !memcmp(a + 1, b + 1, (count - 1) * sizeof(*a));
}

/* Whether the slot was mapped for just that, and may be used at once; further parts are not looked at. */
BSN_ALWAYS_INLINE bool begins_alike(const struct mkey_object *slot, uint64_t removed,
				    const struct bsn_ep *ep, const struct bsn_layout *layout,
				    unsigned flags)
{
	return slot->parts->addr == layout->parts->addr && slot->shape == shape_of(layout) &&
	       slot->map_ep == ep && slot->map_flags == flags && slot->ready_at == removed &&
	       are_alike(slot->parts, layout->parts, 1);
}

/* Keys of the device that were removed so far. */
BSN_ALWAYS_INLINE uint64_t removed_of(const struct bsn_mkey_pool *pool)
{
	return atomic_load_explicit(&pool->device->keys_removed, memory_order_relaxed);
}

static inline bool is_it(const struct bsn_mkey_pool *pool, const struct mkey_object *slot,
			 const struct bsn_ep *ep, const struct bsn_layout *layout, unsigned flags)
{
	return begins_alike(slot, removed_of(pool), ep, layout, flags) &&
	       (layout->part_count == 1 ||
		!memcmp(slot->parts + 1, layout->parts + 1,
			(layout->part_count - 1) * sizeof(*slot->parts)));
}

static bool is_of(const struct mkey_object *slot, const struct bsn_layout *layout,
		  uint32_t wants_key)
{
	return slot->part_count == layout->part_count && slot->rounds == layout_rounds(layout) &&
	       slot->wants_key == wants_key &&
	       are_alike(slot->parts, layout->parts, layout->part_count);
}

static struct mkey_object *find(const struct bsn_mkey_pool *pool, const struct bsn_layout *layout,
				uint32_t wants_key, uint32_t hash)
{
	struct mkey_object *slot = pool->buckets[hash & pool->bucket_mask];

	while (slot && !is_of(slot, layout, wants_key))
		slot = slot->next_alike;
	return slot;
}

static void list(struct mkey_object *slot, uint32_t hash)
{
	struct mkey_object **bucket = &slot->pool->buckets[hash & slot->pool->bucket_mask];

	slot->hash = hash;
	slot->next_alike = *bucket;
	slot->is_listed = true;
	*bucket = slot;
}

void map_unlist(struct mkey_object *slot)
{
	struct bsn_mkey_pool *pool = slot->pool;
	struct mkey_object **at = &pool->buckets[slot->hash & pool->bucket_mask];

	if (!slot->is_listed)
		return;
	while (*at != slot)
		at = &(*at)->next_alike;
	*at = slot->next_alike;
	slot->is_listed = false;
	slot->ready_at = NOT_READY;
	slot->commit = NO_COMMIT;
	if (pool->last == slot)
		pool->last = &pool->none;
	if (!mkey_uses(slot)) { /* among those that span nothing */
		pool_use(slot);
		pool_unuse(slot);
	}
}

/* -- what is not known yet -------------------------------------------------------------------------- */

static void put_sge(void *arg, uint64_t addr, uint64_t bytes, uint32_t lkey)
{
	struct bsn_sge **at = arg;

	*(*at)++ = (struct bsn_sge){ .addr = addr, .length = (uint32_t)bytes, .lkey = lkey };
}

/* As SGEs of its own parts. */
static void map_parts(struct mkey_object *slot, const struct bsn_layout *layout)
{
	struct bsn_sge *at = slot->sges;

	layout_walk(layout, BSN_DATA_MAX_BYTES, put_sge, &at);
	slot->map.sge = slot->sges;
	slot->map.sge_count = (uint32_t)(at - slot->sges);
	slot->map.mkey = NULL;
}

/* As one SGE of its mkey; one SGE has less than 2^31 bytes. */
static int map_key(struct mkey_object *slot, struct bsn_ep *ep, const struct bsn_layout *layout)
{
	int err = mkey_configure(slot, ep, layout, 0, 0);

	if (err)
		return err;
	mkey_keep_layout(slot, layout);
	slot->key_sge = (struct bsn_sge){ .lkey = slot->pub.lkey,
					  .length = slot->pub.length > BSN_DATA_MAX_BYTES
							    ? (uint32_t)BSN_DATA_MAX_BYTES
							    : (uint32_t)slot->pub.length };
	slot->map.sge = &slot->key_sge;
	slot->map.sge_count = 1;
	slot->map.mkey = &slot->pub;
	return 0;
}

static int map_checked_parts(struct mkey_object *slot, const struct bsn_sq *sq,
			     const struct bsn_layout *layout, struct layout_size *size)
{
	const int err = mkey_check(slot, sq, layout, size);

	if (err)
		return err;
	if (size->translations > slot->pool->max_parts)
		return fail(EMSGSIZE,
			    "%llu SGEs: the pool's layouts have %u at most (max_translations)",
			    (unsigned long long)size->translations, slot->pool->max_parts);
	map_parts(slot, layout);
	mkey_keep_layout(slot, layout);
	slot->map.length = size->bytes;
	return 0;
}

static int map_new(struct bsn_mkey_pool *pool, struct bsn_ep *ep, const struct bsn_layout *layout,
		   uint32_t wants_key, uint32_t hash, struct mkey_object **out)
{
	const bool has_keys = pool->device->path->mkey_create;
	struct mkey_object *slot;
	struct layout_size size;
	int err;

	if (wants_key & BSN_MAP_KEY && !has_keys)
		return fail(EOPNOTSUPP, "plain verbs have no mkeys that span a layout");
	slot = pool_take_slot(pool, ep->sq);
	if (!slot)
		return -ENOBUFS;
	err = wants_key && has_keys ? map_key(slot, ep, layout)
				    : map_checked_parts(slot, ep->sq, layout, &size);
	if (err) {
		mkey_forget(slot);
		pool_unuse(slot);
		return err;
	}
	if (slot->map.mkey)
		slot->map.length = slot->pub.length;
	slot->wants_key = wants_key;
	list(slot, hash);
	*out = slot;
	return 0;
}

/* -- mapping ---------------------------------------------------------------------------------------- */

/* Memory was deregistered: layouts over what is no longer there are forgotten. */
static void look_again(struct bsn_mkey_pool *pool)
{
	struct known_key key;

	pool->keys_removed = atomic_load(&pool->device->keys_removed);
	for (uint32_t i = 0; i < pool->attr.count && !pool->attr.takes_any_lkey; i++) {
		struct mkey_object *slot = &pool->slots[i];
		uint32_t part = 0;
		while (part < slot->part_count &&
		       keys_find(pool->device, slot->parts[part].lkey, &key))
			part++;
		if (part == slot->part_count)
			continue;
		map_unlist(slot);
	}
}

/* It is mapped, but may be the UMR of another queue's, or of one that failed. */
static int use_pending(struct mkey_object *slot, struct bsn_ep *ep, const struct bsn_layout *layout)
{
	switch (mkey_state_of(slot)) {
	case BSN_MKEY_READY:
		return 0;
	case BSN_MKEY_PENDING:
		return slot->sq == ep->sq ? 0
					  : fail(EBUSY, "the UMR, on another queue, has not "
							"completed: poll that one");
	default:
		return mkey_uses(slot)
			       ? fail(EBUSY, "the queue of its UMR failed: unmap what is mapped")
			       : map_key(slot, ep, layout);
	}
}

static inline bool is_stale(const struct bsn_mkey_pool *pool)
{
	return atomic_load_explicit(&pool->device->keys_removed, memory_order_relaxed) !=
	       pool->keys_removed;
}

static bool needs_look(struct mkey_object *slot, const struct bsn_ep *ep)
{
	return slot->map.mkey && slot->state != BSN_MKEY_READY &&
	       (slot->sq != ep->sq || ep->sq->route.has_failed);
}

/*
 * What the quick look-ups compare. Whoever asks with the same flags for the same queue gets the same, once
 * the mkey is ready for every queue: it stays so for as long as the slot is listed and no key is removed.
 * Of SGEs of other mkeys nobody here knows when those are.
 */
static void make_quick(struct mkey_object *slot, const struct bsn_ep *ep,
		       const struct bsn_layout *layout, unsigned flags)
{
	const bool is_ready =
		slot->map.mkey ? mkey_state_of(slot) == BSN_MKEY_READY : !slot->is_nesting;

	slot->shape = shape_of(layout);
	slot->commit = is_committed(slot->pool, layout) ? layout->commit.id : NO_COMMIT;
	slot->map_flags = flags;
	slot->map_ep = ep;
	slot->ready_at = is_ready ? slot->pool->keys_removed : NOT_READY;
}

static __attribute__((noinline)) int map_slowly(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
						const struct bsn_layout *layout, unsigned flags,
						const struct bsn_map **map)
{
	struct layout_size size;
	struct mkey_object *slot;
	uint32_t wants_key, hash;
	int err;

	if (!pool || !ep || !ep->sq || !layout || !map)
		return fail(EINVAL, "no pool, endpoint, or layout, or no place for the map");
	if (!layout->parts || !layout->part_count)
		return layout_measure(layout, &size);
	if (flags & ~(unsigned)BSN_MAP_KEY)
		return fail(EINVAL, "unknown flags: a map takes BSN_MAP_*");
	wants_key = flags;
	if ((uint64_t)layout->part_count * layout_rounds(layout) > ep->sq->max_sge)
		wants_key |= BSN_MAP_KEY << 1;
	if (is_stale(pool))
		look_again(pool);
	hash = map_hash_of(layout);
	slot = find(pool, layout, wants_key, hash);
	if (!slot) {
		err = map_new(pool, ep, layout, wants_key, hash, &slot);
		if (err)
			return err;
	} else {
		err = needs_look(slot, ep) ? use_pending(slot, ep, layout)
		      : slot->is_nesting && !slot->map.mkey
			      ? mkey_check(slot, ep->sq, layout, &size)
			      : 0;
		if (err)
			return err;
		pool_use(slot);
	}
	make_quick(slot, ep, layout, flags);
	pool->last = slot;
	*map = &slot->map;
	return 0;
}

BSN_ALWAYS_INLINE int map_known(struct mkey_object *slot, const struct bsn_map **map)
{
	*map = &slot->map;
	pool_use(slot);
	return 0;
}

static __attribute__((noinline)) int map_list(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
					      const struct bsn_layout *layout, unsigned flags,
					      const struct bsn_map **map)
{
	struct mkey_object *slot;

	if (layout->commit.id || !layout->parts || !layout->part_count)
		return map_slowly(pool, ep, layout, flags, map);
	slot = pool->buckets[hash_of(layout) & pool->bucket_mask];
	if (!slot || !is_it(pool, slot, ep, layout, flags))
		return map_slowly(pool, ep, layout, flags, map);
	pool->last = slot;
	return map_known(slot, map);
}

/* A layout that was not committed is found by its bytes: mostly of one part. */
static __attribute__((noinline)) int map_uncommitted(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
						     const struct bsn_layout *layout,
						     unsigned flags, const struct bsn_map **map)
{
	const uint64_t removed = removed_of(pool);
	struct mkey_object *slot = pool->last;

	if (layout->commit.id || !layout->parts || layout->part_count != 1)
		return map_list(pool, ep, layout, flags, map);
	if (!begins_alike(slot, removed, ep, layout, flags)) {
		slot = pool->buckets[hash_of_part(layout->parts) & pool->bucket_mask];
		if (!slot || !begins_alike(slot, removed, ep, layout, flags))
			return map_slowly(pool, ep, layout, flags, map);
		pool->last = slot;
	}
	return map_known(slot, map);
}

/* By the number of its commit, which stands for all its bytes. */
BSN_ALWAYS_INLINE struct mkey_object *find_committed(const struct bsn_mkey_pool *pool,
						     const struct bsn_commit *commit)
{
	struct mkey_object *slot = pool->buckets[commit->hash & pool->bucket_mask];

	while (BSN_LIKELY(slot) && BSN_UNLIKELY(slot->commit != commit->id))
		slot = slot->next_alike;
	return slot;
}

/* Whether a slot was mapped for just that, and may be used at once. */
BSN_ALWAYS_INLINE bool is_ready_for(const struct mkey_object *slot, uint64_t removed,
				    const struct bsn_ep *ep, unsigned flags)
{
	return BSN_LIKELY(slot->ready_at == removed && slot->map_ep == ep &&
			  slot->map_flags == flags);
}

int bsn_layout_map(struct bsn_mkey_pool *pool, struct bsn_ep *ep, const struct bsn_layout *layout,
		   unsigned flags, const struct bsn_map **map)
{
	struct mkey_object *slot;

	if (BSN_UNLIKELY(!pool))
		return map_slowly(pool, ep, layout, flags, map);
	if (BSN_UNLIKELY(!layout))
		return map_slowly(pool, ep, layout, flags, map);
	if (BSN_UNLIKELY(!map))
		return map_slowly(pool, ep, layout, flags, map);
	slot = pool->last;
	if (slot->commit != layout->commit.id) { /* no slot has 0 */
		slot = find_committed(pool, &layout->commit);
		if (BSN_UNLIKELY(!slot))
			return map_uncommitted(pool, ep, layout, flags, map);
		pool->last = slot;
	}
	if (!is_ready_for(slot, removed_of(pool), ep, flags))
		return map_slowly(pool, ep, layout, flags, map);
	return map_known(slot, map);
}

void bsn_layout_unmap(const struct bsn_map *map)
{
	if (map)
		pool_unuse((struct mkey_object *)(uintptr_t)map);
}

/* -- posting ---------------------------------------------------------------------------------------- */

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

int bsn_post_map(struct bsn_ep *ep, const struct bsn_wr *wr, const struct bsn_map *map)
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
	/* What most are is posted by inline code. */
	if (map->sge_count == 1 && wr->opcode == BSN_OPCODE_RDMA_WRITE)
		return bsn_write(ep, map->sge, &wr->remote, wr->id, wr->flags);
	if (map->sge_count == 1 && wr->opcode == BSN_OPCODE_RDMA_READ)
		return bsn_read(ep, map->sge, &wr->remote, wr->id, wr->flags);
	one = *wr;
	one.sge = map->sge;
	one.sge_count = map->sge_count;
	return bsn_sq_post_wr(ep, &one);
}
