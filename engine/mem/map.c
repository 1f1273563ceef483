/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds layouts that were mapped before, by their bytes. */
#include "mkey.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "refuse.h"

/* -- look-up ---------------------------------------------------------------------------------------- */

static bool is_of(const struct mkey_object *slot, const struct bsn_layout *layout,
		  uint32_t wants_key)
{
	const uint32_t rounds = (uint32_t)(slot->known.shape >> 32);

	return mkey_part_count(slot) == layout->part_count &&
	       (rounds ? rounds : 1) == layout_rounds(layout) && slot->wants_key == wants_key &&
	       slot->pool->front.are_same(&slot->known, layout->parts);
}

static struct mkey_object *find(struct bsn_mkey_pool *pool, const struct bsn_layout *layout,
				uint32_t wants_key, uint32_t hash)
{
	struct mkey_object *slot = pool->buckets[hash & pool->bucket_mask];

	while (slot != &pool->none && !is_of(slot, layout, wants_key))
		slot = slot->next_alike;
	return slot != &pool->none ? slot : NULL;
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
	slot->known.map.sge = slot->sges;
	slot->known.map.sge_count = (uint32_t)(at - slot->sges);
	slot->known.map.mkey = NULL;
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
	slot->known.map.length = size->bytes;
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
		while (part < mkey_part_count(slot) &&
		       keys_find(pool->device, slot->known.parts[part].lkey, &key))
			part++;
		if (part == mkey_part_count(slot))
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
	return atomic_load(&pool->device->keys_removed) != pool->keys_removed;
}

static bool needs_look(struct mkey_object *slot, const struct bsn_ep *ep)
{
	return slot->known.map.mkey && slot->state != BSN_MKEY_READY &&
	       (slot->sq != ep->sq || ep->sq->route.has_failed);
}

/* Whether its UMR is the last request of the queue. */
static bool is_pending_at_once(const struct mkey_object *slot, const struct bsn_sq *sq)
{
	return slot->sq == sq && slot->state == BSN_MKEY_PENDING && mkey_posted(slot) == bsn_sq_wide_pi(sq);
}

void map_place(struct mkey_object *slot, const struct bsn_layout *layout)
{
	struct bsn_mkey_front *const front = &slot->pool->front;
	const uint32_t place = layout->commit.id      ? layout->commit.hash :
			       layout->part_count > 1 ? bsn_list_place(layout->parts) :
							bsn_part_place(layout->parts);

	front->places[place & front->place_mask] = &slot->known;
	if (layout->part_count == 1)
		front->last = &slot->known;
}

/*
 * From now on no look is needed, unless a key is removed: whoever does that counts it first, and then looks for
 * such slots, while we do so the other way round.
 */
static void make_ready(struct mkey_object *slot, const struct bsn_ep *ep, unsigned flags)
{
	struct bsn_mkey_pool *const pool = slot->pool;

	__atomic_store_n(&slot->known.ready[flags], ep, __ATOMIC_RELAXED);
	atomic_store(&pool->has_ready, true);
	if (BSN_UNLIKELY(is_stale(pool)))
		map_not_ready(slot);
}

/*
 * What the quick look-ups compare. Whoever asks with the same flags for the same queue gets the same, once
 * the mkey is ready for every queue: it stays so for as long as the slot is listed and no key is removed.
 * Of SGEs of other mkeys nobody here knows when those are.
 */
static void make_quick(struct mkey_object *slot, const struct bsn_ep *ep,
		       const struct bsn_layout *layout, unsigned flags)
{
	const bool is_ready = slot->known.map.mkey ? !is_pending_at_once(slot, ep->sq) &&
						       mkey_state_of(slot) == BSN_MKEY_READY :
					       !slot->is_nesting;

	slot->known.shape = bsn_layout_shape(layout);
	slot->known.commit = commit_of(slot->pool, layout);
	map_place(slot, layout);
	map_not_ready(slot);
	if (is_ready)
		make_ready(slot, ep, flags);
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
		      : slot->is_nesting && !slot->known.map.mkey
			      ? mkey_check(slot, ep->sq, layout, &size)
			      : 0;
		if (err)
			return err;
		pool_use(slot);
	}
	make_quick(slot, ep, layout, flags);
	*map = &slot->known.map;
	return 0;
}

/* -- by bytes --------------------------------------------------------------------------------------- */

/* What most CPUs of before 2013 have, and others than x86-64. */
static bool are_same_by_halves(const struct bsn_remembered *known, const struct bsn_part *parts)
{
	const bsn_v2_aliased *a = (const bsn_v2_aliased *)(const void *)known->parts;
	const bsn_v2_unaligned *b = (const bsn_v2_unaligned *)(const void *)parts;
	const bsn_v2_aliased *const end = a + 2 * (size_t)(uint32_t)known->shape;
	bsn_v2 differ = { 0, 0 };

	for (; a + 8 <= end; a += 8, b += 8)
		BSN_UNROLL for (unsigned i = 0; i < 8; i++) differ |= a[i] ^ b[i];
	for (; a != end; a += 2, b += 2)
		differ |= (a[0] ^ b[0]) | (a[1] ^ b[1]);
	return !(differ[0] | differ[1]);
}

#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))

WIDE BSN_ALWAYS_INLINE __m256i differ_in(__m256i differ, const struct bsn_part *a,
					 const struct bsn_part *b)
{
	return _mm256_or_si256(differ, _mm256_xor_si256(_mm256_loadu_si256((const void *)a),
							_mm256_loadu_si256((const void *)b)));
}

enum { FEW = 64 };

/* clang-format off */
#define PART(n)                                                                                    \
	__attribute__((fallthrough));                                                              \
	case n: differ = differ_in(differ, &a[(n) - 1], &b[(n) - 1]);
#define FOUR(n)    PART((n) + 3) PART((n) + 2) PART((n) + 1) PART(n)
#define SIXTEEN(n) FOUR((n) + 12) FOUR((n) + 8) FOUR((n) + 4) FOUR(n)

/* Into the middle of code without a loop, so that a part takes three instructions. */
WIDE BSN_ALWAYS_INLINE bool are_same_few(__m256i differ, const struct bsn_part *a,
					 const struct bsn_part *b, uint64_t count)
{
	__asm__("" : "+x"(differ)); /* else each case zeroes it for itself */
	switch (count % FEW) {
	case 63: differ = differ_in(differ, &a[62], &b[62]);
		PART(62) PART(61) FOUR(57) FOUR(53) FOUR(49) SIXTEEN(33) SIXTEEN(17) SIXTEEN(1)
		__attribute__((fallthrough));
	case 0:
		break;
	}
	return _mm256_testz_si256(differ, differ);
}
/* clang-format on */

WIDE static bool are_same_widely(const struct bsn_remembered *known, const struct bsn_part *parts)
{
	return are_same_few(_mm256_setzero_si256(), known->parts, parts, known->shape);
}

/* Of pools whose layouts may have more. */
WIDE static bool are_many_same(const struct bsn_remembered *known, const struct bsn_part *parts)
{
	__m256i differ = _mm256_setzero_si256();
	uint32_t count = (uint32_t)known->shape;
	const struct bsn_part *a = known->parts;

	for (; count >= FEW; count -= 8, a += 8, parts += 8)
		BSN_UNROLL for (unsigned i = 0; i < 8; i++)
			differ = differ_in(differ, &a[i], &parts[i]);
	return are_same_few(differ, a, parts, count);
}
#endif

void map_choose(struct bsn_mkey_pool *pool)
{
	pool->keep_parts = umr_choose_keep_parts();
	for (unsigned i = 0; i < 2; i++)
		pool->configure_ordered[i] = mkey_choose_configure(pool, i);
	pool->configure = pool->configure_ordered[0];
	pool->configure_committed = mkey_choose_committed();
	pool->front.are_same = are_same_by_halves;
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		pool->front.are_same = pool->attr.max_translations < FEW ? are_same_widely :
									   are_many_same;
#endif
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
