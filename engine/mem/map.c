/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds layouts that were mapped before, by their bytes. */
#include "mkey.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "refuse.h"

/* -- look-up ---------------------------------------------------------------------------------------- */

/* Of both ends and the middle: the bytes are compared in any case. */
static inline uint32_t mixed(uint64_t hash)
{
	return (uint32_t)(hash * 0x9e3779b97f4a7c15ull >> 32);
}

static inline uint32_t hash_of_part(const struct bsn_part *part)
{
	return mixed(part->addr + 8 * part->bytes + 4 * part->stride);
}

static inline uint32_t hash_of_list(const struct bsn_layout *layout)
{
	const struct bsn_part *first = layout->parts;
	const struct bsn_part *middle = first + layout->part_count / 2;
	const struct bsn_part *last = first + (layout->part_count - 1);

	return mixed(first->addr + 2 * middle->addr + 4 * last->addr);
}

uint32_t map_hash_of(const struct bsn_layout *layout)
{
	return layout->part_count == 1 ? hash_of_part(layout->parts) : hash_of_list(layout);
}

/* Most layouts have one part, whose compare is four words. */
BSN_ALWAYS_INLINE bool are_alike(const struct bsn_part *a, const struct bsn_part *b, uint32_t count)
{
	if (a->addr != b->addr || a->stride != b->stride || a->bytes != b->bytes ||
	    a->lkey != b->lkey || a->reserved != b->reserved)
		return false;
	return count == 1 || !memcmp(a + 1, b + 1, (count - 1) * sizeof(*a));
}

/* Keys of the device that were removed so far. */
BSN_ALWAYS_INLINE uint64_t removed_of(const struct bsn_mkey_pool *pool)
{
	return atomic_load_explicit(&pool->device->keys_removed, memory_order_relaxed);
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

static int map_key(struct mkey_object *slot, struct bsn_ep *ep, const struct bsn_layout *layout)
{
	int err = mkey_configure(slot, ep, layout);

	if (err)
		return err;
	mkey_keep_layout(slot, layout);
	map_as_key(slot);
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
	slot->wants_key = wants_key;
	map_list_slot(slot, hash);
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

/* The slot is mapped, but its UMR may be another queue's, or of a queue that failed. */
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

/* Whether its UMR is the last request of the queue. */
static bool is_pending_at_once(const struct mkey_object *slot, const struct bsn_sq *sq)
{
	return slot->sq == sq && slot->state == BSN_MKEY_PENDING && slot->posted == bsn_sq_wide_pi(sq);
}

/*
 * What the quick look-ups compare. Whoever asks with the same flags for the same queue gets the same, once
 * the mkey is ready for every queue: it stays so for as long as the slot is listed and no key is removed.
 * Of SGEs of other mkeys nobody here knows when those are.
 */
static void make_quick(struct mkey_object *slot, const struct bsn_ep *ep,
		       const struct bsn_layout *layout, unsigned flags)
{
	const bool is_ready = slot->map.mkey ? !is_pending_at_once(slot, ep->sq) &&
						       mkey_state_of(slot) == BSN_MKEY_READY :
					       !slot->is_nesting;

	slot->shape = map_shape_of(layout);
	slot->commit = is_committed(slot->pool, layout) ? layout->commit.id : NO_COMMIT;
	slot->map_flags = flags;
	slot->map_ep = ep;
	slot->ready_at = is_ready ? slot->pool->keys_removed : NOT_READY;
}

int map_slowly(struct bsn_mkey_pool *pool, struct bsn_ep *ep, const struct bsn_layout *layout,
	       unsigned flags, const struct bsn_map **map)
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
	wants_key = map_wants_key(ep, layout, flags);
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

/* Whether a slot that was mapped for that queue, with those flags, may be used at once. */
BSN_ALWAYS_INLINE bool is_ready_for(const struct mkey_object *slot, uint64_t removed,
				    const struct bsn_ep *ep, unsigned flags)
{
	return BSN_LIKELY(slot->ready_at == removed && slot->map_ep == ep &&
			  slot->map_flags == flags);
}

/* -- by bytes --------------------------------------------------------------------------------------- */

/* Whether parts are the same, byte by byte. */
typedef bool compare_parts(const struct bsn_part *a, const struct bsn_part *b, uint32_t count);

/* Whether the slot was mapped for a layout of that shape, and may be used at once. */
BSN_ALWAYS_INLINE bool is_like(const struct mkey_object *slot, const struct bsn_mkey_pool *pool,
			       const struct bsn_ep *ep, const struct bsn_layout *layout,
			       unsigned flags)
{
	return BSN_LIKELY(slot->shape == map_shape_of(layout)) &&
	       is_ready_for(slot, removed_of(pool), ep, flags);
}

/* A layout that was not committed is found by its bytes: mostly of one part. */
BSN_ALWAYS_INLINE int map_part(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
			       const struct bsn_layout *layout, unsigned flags,
			       const struct bsn_map **map, compare_parts *are_same)
{
	struct mkey_object *slot = pool->last;

	if (!are_same(slot->parts, layout->parts, 1)) {
		const uint32_t hash = hash_of_part(layout->parts);
		slot = pool->buckets[hash & pool->bucket_mask];
		if (BSN_UNLIKELY(!are_same(slot->parts, layout->parts, 1)))
			return mkey_map_anew(pool, ep, layout, flags, map, hash);
		pool->last = slot;
	}
	if (!is_like(slot, pool, ep, layout, flags))
		return map_slowly(pool, ep, layout, flags, map);
	return map_known(slot, map);
}

BSN_ALWAYS_INLINE int map_list(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
			       const struct bsn_layout *layout, unsigned flags,
			       const struct bsn_map **map, compare_parts *are_same)
{
	struct mkey_object *slot;
	uint32_t hash;

	if (BSN_UNLIKELY(!layout->part_count))
		return map_slowly(pool, ep, layout, flags, map);
	hash = hash_of_list(layout);
	slot = pool->buckets[hash & pool->bucket_mask];
	if (!is_like(slot, pool, ep, layout, flags) ||
	    BSN_UNLIKELY(!are_same(slot->parts, layout->parts, layout->part_count)))
		return mkey_map_anew(pool, ep, layout, flags, map, hash);
	pool->last = slot;
	return map_known(slot, map);
}

/* What most CPUs of before 2013 have, and others than x86-64. */
BSN_ALWAYS_INLINE bool are_same_by_halves(const struct bsn_part *a, const struct bsn_part *b,
					  uint32_t count)
{
	const uint8_t *at = (const uint8_t *)a, *bt = (const uint8_t *)b;
	bsn_v2 differ = { 0, 0 };

	for (const uint8_t *const end = (const uint8_t *)(a + count); at != end;
	     at += sizeof(*a), bt += sizeof(*b)) {
		differ |= bsn_v2_load(at) ^ bsn_v2_load(bt);
		differ |= bsn_v2_load(at + sizeof(bsn_v2)) ^ bsn_v2_load(bt + sizeof(bsn_v2));
	}
	return !(differ[0] | differ[1]);
}

static int map_list_plainly(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
			    const struct bsn_layout *layout, unsigned flags,
			    const struct bsn_map **map)
{
	return map_list(pool, ep, layout, flags, map, are_same_by_halves);
}

static int map_part_plainly(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
			    const struct bsn_layout *layout, unsigned flags,
			    const struct bsn_map **map)
{
	return map_part(pool, ep, layout, flags, map, are_same_by_halves);
}

#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))

/* What differs in @count parts; @b: of the others, from @a on. */
WIDE BSN_ALWAYS_INLINE __m256i compare(__m256i differ, const uint8_t *a, size_t b, unsigned count)
{
	BSN_UNROLL for (unsigned i = 0; i < count; i++)
	{
		const uint8_t *const at = a + i * sizeof(struct bsn_part);
		differ = _mm256_or_si256(
			differ, _mm256_xor_si256(_mm256_loadu_si256((const void *)at),
						 _mm256_loadu_si256((const void *)(at + b))));
	}
	return differ;
}

WIDE BSN_ALWAYS_INLINE bool are_same_widely(const struct bsn_part *parts,
					    const struct bsn_part *others, uint32_t count)
{
	const uint8_t *a = (const uint8_t *)parts;
	const uint8_t *const eights = a + (size_t)(count & ~7u) * sizeof(*parts);
	size_t b = (uintptr_t)others - (uintptr_t)parts;
	__m256i differ = _mm256_setzero_si256();

	if (__builtin_constant_p(count) && count == 1) {
		differ = compare(differ, a, b, 1);
		return _mm256_testz_si256(differ, differ);
	}
	for (; a != eights; a += 8 * sizeof(*parts)) {
		differ = compare(differ, a, b, 8);
		__asm__("" : "+r"(b)); /* one pointer to move, rather than two */
	}
	if (count & 4) {
		differ = compare(differ, a, b, 4);
		a += 4 * sizeof(*parts);
	}
	if (count & 3) {
		if (count & 2)
			differ = compare(differ, a, b, 2);
		if (count & 1) /* the last one */
			differ = compare(differ, (const uint8_t *)(parts + count - 1), b, 1);
	}
	return _mm256_testz_si256(differ, differ);
}

WIDE static int map_list_widely(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
				const struct bsn_layout *layout, unsigned flags,
				const struct bsn_map **map)
{
	return map_list(pool, ep, layout, flags, map, are_same_widely);
}

WIDE static int map_part_widely(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
				const struct bsn_layout *layout, unsigned flags,
				const struct bsn_map **map)
{
	return map_part(pool, ep, layout, flags, map, are_same_widely);
}
#endif

void map_choose(struct bsn_mkey_pool *pool)
{
	pool->map_part = map_part_plainly;
	pool->map_list = map_list_plainly;
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2")) {
		pool->map_part = map_part_widely;
		pool->map_list = map_list_widely;
	}
#endif
}

/* -- by commits ------------------------------------------------------------------------------------- */

/* The first of those that have the hash of a commit. */
BSN_ALWAYS_INLINE struct mkey_object *first_alike(const struct bsn_mkey_pool *pool,
						  const struct bsn_commit *commit)
{
	return pool->buckets[commit->hash & pool->bucket_mask];
}

/* Others have the same hash. */
static __attribute__((noinline)) int map_alike(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
					       const struct bsn_layout *layout, unsigned flags,
					       const struct bsn_map **map)
{
	struct mkey_object *slot = first_alike(pool, &layout->commit);

	while (slot && slot->commit != layout->commit.id)
		slot = slot->next_alike;
	if (!slot)
		return mkey_map_anew(pool, ep, layout, flags, map, layout->commit.hash);
	if (!is_ready_for(slot, removed_of(pool), ep, flags))
		return map_slowly(pool, ep, layout, flags, map);
	pool->last = slot;
	return map_known(slot, map);
}

/* By its bytes. */
static __attribute__((noinline)) int map_uncommitted(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
						     const struct bsn_layout *layout,
						     unsigned flags, const struct bsn_map **map)
{
	if (BSN_UNLIKELY(!layout->parts))
		return map_slowly(pool, ep, layout, flags, map);
	if (layout->part_count == 1)
		return pool->map_part(pool, ep, layout, flags, map);
	return pool->map_list(pool, ep, layout, flags, map);
}

/* Not that of the last map: by the number of its commit, which stands for all its bytes. */
static __attribute__((noinline)) int map_another(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
						 const struct bsn_layout *layout, unsigned flags,
						 const struct bsn_map **map)
{
	struct mkey_object *const slot = first_alike(pool, &layout->commit);

	if (BSN_UNLIKELY(slot->commit != layout->commit.id))
		return map_alike(pool, ep, layout, flags, map);
	if (!is_ready_for(slot, removed_of(pool), ep, flags))
		return map_slowly(pool, ep, layout, flags, map);
	pool->last = slot;
	return map_known(slot, map);
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
	if (slot->commit != layout->commit.id) /* no slot has 0 */
		return layout->commit.id ? map_another(pool, ep, layout, flags, map)
					 : map_uncommitted(pool, ep, layout, flags, map);
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
	/* Inline code posts most maps. */
	if (map->sge_count == 1 && wr->opcode == BSN_OPCODE_RDMA_WRITE)
		return bsn_write(ep, map->sge, &wr->remote, wr->id, wr->flags);
	if (map->sge_count == 1 && wr->opcode == BSN_OPCODE_RDMA_READ)
		return bsn_read(ep, map->sge, &wr->remote, wr->id, wr->flags);
	one = *wr;
	one.sge = map->sge;
	one.sge_count = map->sge_count;
	return bsn_sq_post_wr(ep, &one);
}
