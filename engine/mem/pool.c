/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools of slots: made, lent, and given back. */
#include "mkey.h"

#include <stdlib.h>

#include "order.h"
#include "umr.h"

enum { DEFAULT_COUNT = 64, MOST_COUNT = 1 << 20 };

/* -- those without uses --------------------------------------------------------------------------- */

static void make_ring(struct idle *end)
{
	end->older = end->newer = end;
}

static void list_newest(struct idle *end, struct mkey_object *slot)
{
	slot->idle = (struct idle){ .older = end->older, .newer = end };
	end->older->newer = &slot->idle;
	end->older = &slot->idle;
}

void pool_unuse(struct mkey_object *slot)
{
	if (--slot->known.uses)
		return;
	slot->idle.older->newer = slot->idle.newer;
	slot->idle.newer->older = slot->idle.older;
	list_newest(slot->is_listed ? &slot->pool->remembered : &slot->pool->free, slot);
}

/* A slot whose UMR is under way on another queue is left alone, since two queues keep no order. */
static bool may_change(struct mkey_object *slot, const struct bsn_sq *sq)
{
	return slot->sq == sq || mkey_state_of(slot) != BSN_MKEY_PENDING;
}

/* The oldest of a ring that may change; NULL: none may. */
static struct mkey_object *find_oldest(struct idle *end, const struct bsn_sq *sq)
{
	struct idle *newer;

	for (struct idle *at = end->newer; at != end; at = newer) {
		struct mkey_object *slot =
			(struct mkey_object *)((char *)at - offsetof(struct mkey_object, idle));
		newer = at->newer;
		if (mkey_uses(slot))
			pool_unlink(slot);
		else if (may_change(slot, sq))
			return slot;
	}
	return NULL;
}

struct mkey_object *pool_take_slot(struct bsn_mkey_pool *pool, const struct bsn_sq *sq)
{
	struct mkey_object *slot = find_oldest(&pool->free, sq);

	if (!slot)
		slot = find_oldest(&pool->remembered, sq);
	if (!slot) {
		fail(ENOBUFS, "all %u mkeys of the pool are in use: unmap some, or make it larger",
		     pool->attr.count);
		return NULL;
	}
	pool_use(slot);
	pool_unlink(slot);
	map_unlist(slot);
	mkey_forget(slot);
	if (slot->handle)
		pool_rotate_key(slot);
	return slot;
}

uint64_t pool_next_serial(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

/* -- creation --------------------------------------------------------------------------------------- */

/* Whether the device has all that a pool needs. */
static int check_device(const struct bsn_device *device, const struct bsn_mkey_pool_attr *attr)
{
	const struct provider_caps *umr = &device->caps;

	if (!device->path->mkey_create)
		return attr->page_bytes ? fail(EOPNOTSUPP, "plain verbs have no mkeys of pages")
					: 0;
	if (device->no_umr)
		return fail(EOPNOTSUPP, "no mkeys that span a layout: %s", device->no_umr);
	if (attr->max_translations > umr->max_translations)
		return fail(EMSGSIZE, "%u translations, the device takes %llu",
			    attr->max_translations, (unsigned long long)umr->max_translations);
	if (attr->page_bytes && !umr->has_pages)
		return fail(EOPNOTSUPP, "the device has no mkeys of pages (KSM)");
	return 0;
}

static int check_attr(struct bsn_mkey_pool_attr *attr)
{
	if (!attr->count)
		attr->count = DEFAULT_COUNT;
	if (!attr->max_translations)
		attr->max_translations = UMR_INLINE_MAX;
	if (attr->count > MOST_COUNT)
		return fail(EINVAL, "count is %u, and %u at most", attr->count, MOST_COUNT);
	if (attr->page_bytes & (attr->page_bytes - 1) || attr->page_bytes == 1)
		return fail(EINVAL, "page_bytes is %llu: it is a power of two",
			    (unsigned long long)attr->page_bytes);
	attr->max_translations = (attr->max_translations + UMR_ALIGN - 1) / UMR_ALIGN * UMR_ALIGN;
	return 0;
}

static int make_key(struct mkey_object *slot)
{
	const struct path_ops *path = slot->pool->device->path;
	const uint64_t page = slot->pool->attr.page_bytes;
	const struct provider_mkey_attr attr = {
		.translations = slot->pool->attr.max_translations,
		.log_page_bytes = page ? (uint8_t)__builtin_ctzll(page) : 0,
		.peers_may_invalidate = slot->pool->attr.peers_may_invalidate,
	};
	int err = path->mkey_create(slot->pool->pd, &attr, &slot->handle, &slot->pub.lkey);

	if (err)
		return err;
	slot->pub.rkey = slot->pub.lkey;
	slot->target =
		umr_target_of(slot->pub.lkey, (unsigned)slot->pool->attr.access,
			      slot->pool->device->caps.has_atomics, slot->pool->device->caps.fence);
	slot->key = (struct known_key){ .lkey = keys_base_of(slot->pub.lkey),
					.pd = slot->pool->pd,
					.mkey = slot };
	err = keys_add(slot->pool->device, &slot->key);
	if (!err) {
		slot->state = BSN_MKEY_FREE;
		return 0;
	}
	path->mkey_destroy(slot->handle);
	slot->handle = NULL;
	return err;
}

static void free_key(struct mkey_object *slot)
{
	if (!slot->handle)
		return;
	keys_remove(slot->pool->device, &slot->key);
	slot->pool->device->path->mkey_destroy(slot->handle);
	slot->handle = NULL;
	mkey_lose(slot);
}

int pool_renew_key(struct mkey_object *slot)
{
	free_key(slot);
	return make_key(slot);
}

static uint32_t buckets_for(uint32_t count)
{
	uint32_t buckets = 16;

	while (buckets < 2 * count)
		buckets *= 2;
	return buckets;
}

static int alloc_slots(struct bsn_mkey_pool *pool)
{
	const uint32_t count = pool->attr.count, most = pool->max_parts;
	struct bsn_part *parts;
	struct bsn_sge *sges;

	pool->slots = calloc(count, sizeof(*pool->slots));
	pool->scratch = calloc(order_scratch(most), sizeof(*pool->scratch));
	parts = calloc((size_t)count * most, sizeof(*parts));
	sges = calloc((size_t)count * most, sizeof(*sges));
	if (pool->slots) {
		pool->slots->several = parts;
		pool->slots->sges = sges;
	}
	if (!pool->slots || !pool->scratch || !parts || !sges) {
		if (!pool->slots) {
			free(parts);
			free(sges);
		}
		return fail(ENOMEM, "no memory for %u layouts of %u parts", count, most);
	}
	for (uint32_t i = 0; i < count; i++) {
		struct mkey_object *slot = &pool->slots[i];
		slot->pool = pool;
		slot->several = parts + (size_t)i * most;
		slot->sges = sges + (size_t)i * most;
		map_not_ready(slot);
		slot->known.commit = NO_COMMIT;
		slot->known.parts = slot->several;
		slot->quick_sq = NO_QUEUE;
		list_newest(&pool->free, slot);
	}
	return 0;
}

/* Where the path has mkeys: one a slot, and memory for their translations. */
static int make_keys(struct bsn_mkey_pool *pool)
{
	const size_t table = (size_t)pool->attr.max_translations * BSN_XLT_SIZE;
	const struct bsn_mr_attr attr = { .pd = pool->pd, .is_read_only = true };
	int err;

	if (!pool->device->path->mkey_create)
		return 0;
	err = bsn_buf_alloc(pool->device, table * pool->attr.count, &attr, &pool->tables);
	for (uint32_t i = 0; !err && i < pool->attr.count; i++) {
		pool->slots[i].table = (uint8_t *)(uintptr_t)pool->tables->addr + i * table;
		pool->slots[i].table_lkey = pool->tables->lkey;
		err = make_key(&pool->slots[i]);
	}
	return err;
}

static void free_pool(struct bsn_mkey_pool *pool)
{
	if (pool->slots) {
		for (uint32_t i = 0; i < pool->attr.count; i++)
			free_key(&pool->slots[i]);
		free(pool->slots->several);
		free(pool->slots->sges);
	}
	bsn_buf_free(pool->tables);
	free(pool->slots);
	free(pool->scratch);
	free(pool->front.places);
	free(pool);
}

/* What fits a WQE by itself, in a list as in a repeat block, which takes one translation more. */
static uint32_t plain_parts_of(const struct bsn_mkey_pool *pool)
{
	const struct provider_caps *caps = &pool->device->caps;
	const uint32_t most = pool->attr.max_translations;

	if (pool->attr.page_bytes || !caps->has_repeat || caps->fence == BSN_FENCE_NONE)
		return 0;
	return (most < UMR_INLINE_MAX ? most : UMR_INLINE_MAX) - 1;
}

/* The same of parts, or pages, that are in order, beyond the fewest of those, and one more. */
static uint32_t quick_parts_of(const struct bsn_mkey_pool *pool)
{
	const uint32_t most = pool->attr.max_translations;
	const bool has_pages = pool->attr.page_bytes && pool->device->caps.fence != BSN_FENCE_NONE;
	const uint32_t parts = !has_pages	     ? pool->max_plain_parts :
			       most < UMR_INLINE_MAX ? most :
						       UMR_INLINE_MAX;

	return parts < UMR_ORDERED_FROM ? 0 : parts - UMR_ORDERED_FROM + 1;
}

/* A pool without layouts, of checked attributes. NULL: no memory. */
static struct bsn_mkey_pool *make_pool(struct bsn_device *device,
				       const struct bsn_mkey_pool_attr *attr)
{
	const uint32_t buckets = buckets_for(attr->count);
	struct bsn_mkey_pool *pool = calloc(1, sizeof(*pool) + buckets * sizeof(*pool->buckets));

	if (!pool)
		return NULL;
	pool->front.places = malloc(buckets * sizeof(*pool->front.places));
	if (!pool->front.places) {
		free(pool);
		return NULL;
	}
	pool->device = device;
	pool->attr = *attr;
	pool->pd = attr->pd ? attr->pd : &device->default_pd;
	pool->front.last = &pool->none.known;
	pool->front.place_mask = buckets - 1;
	make_ring(&pool->free);
	make_ring(&pool->remembered);
	pool->serial = pool_next_serial();
	pool->none.known = (struct bsn_remembered){
		.parts = pool->no_parts, .shape = 2, .commit = NO_COMMIT,
	};
	map_not_ready(&pool->none);
	pool->bucket_mask = buckets - 1;
	for (uint32_t i = 0; i < buckets; i++) {
		pool->buckets[i] = &pool->none;
		pool->front.places[i] = &pool->none.known;
	}
	map_choose(pool);
	return pool;
}

int bsn_mkey_pool_create(struct bsn_device *device, const struct bsn_mkey_pool_attr *attr,
			 struct bsn_mkey_pool **out)
{
	struct bsn_mkey_pool_attr checked = attr ? *attr : (struct bsn_mkey_pool_attr){ 0 };
	struct bsn_mkey_pool *pool;
	int err;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the pool");
	if (checked.pd && checked.pd->device != device)
		return fail(EINVAL, "the protection domain is of another device");
	err = check_attr(&checked);
	if (!err)
		err = check_device(device, &checked);
	if (err)
		return err;
	pool = make_pool(device, &checked);
	if (!pool)
		return fail(ENOMEM, "no memory");
	pool->attr.access = mem_access_of(device, pool->attr.access);
	pool->max_parts = pool->attr.max_translations;
	pool->max_plain_parts = plain_parts_of(pool);
	pool->max_quick_parts = quick_parts_of(pool);
	if (pool->max_quick_parts > UMR_FEW - UMR_ORDERED_FROM)
		pool->max_many_parts = pool->max_quick_parts - 1 - (UMR_FEW - UMR_ORDERED_FROM);
	err = alloc_slots(pool);
	if (!err)
		err = make_keys(pool);
	if (err) {
		free_pool(pool);
		return err;
	}
	pool->keys_removed = atomic_load(&device->keys_removed);
	use(&pool->pd->uses);
	use(&device->uses[OF_MKEY_POOLS]);
	pthread_mutex_lock(&device->lock);
	pool->next = device->mkey_pools;
	device->mkey_pools = pool;
	pthread_mutex_unlock(&device->lock);
	*out = pool;
	return 0;
}

static uint32_t uses_of(const struct bsn_mkey_pool *pool)
{
	uint32_t uses = 0;

	for (uint32_t i = 0; i < pool->attr.count; i++)
		uses += mkey_uses(&pool->slots[i]);
	return uses;
}

/* Layouts that are only remembered may nest each other. */
int bsn_mkey_pool_forget(struct bsn_mkey_pool *pool)
{
	if (!pool)
		return fail(EINVAL, "no pool");
	for (uint32_t i = 0; i < pool->attr.count; i++) {
		struct mkey_object *slot = &pool->slots[i];
		if (mkey_uses(slot) || !(slot->is_listed || slot->is_nesting))
			continue;
		map_unlist(slot);
		mkey_forget(slot);
		i = UINT32_MAX; /* what it nested may be free now */
	}
	return 0;
}

/* Whether a UMR of the pool may still run: it would find neither its mkey nor its table. */
static bool is_pending(struct bsn_mkey_pool *pool)
{
	for (uint32_t i = 0; i < pool->attr.count; i++)
		if (mkey_state_of(&pool->slots[i]) == BSN_MKEY_PENDING)
			return true;
	return false;
}

int bsn_mkey_pool_destroy(struct bsn_mkey_pool *pool)
{
	struct bsn_mkey_pool **at;

	if (!pool)
		return 0;
	bsn_mkey_pool_forget(pool);
	if (uses_of(pool))
		return fail(EBUSY, "%u mkeys of the pool are taken, mapped, or nested",
			    uses_of(pool));
	if (is_pending(pool))
		return fail(EBUSY,
			    "a UMR of the pool has not completed: poll its queue's CQ after a "
			    "signaled request, or destroy its queue before");
	at = &pool->device->mkey_pools;
	pthread_mutex_lock(&pool->device->lock);
	while (*at != pool)
		at = &(*at)->next;
	*at = pool->next;
	pthread_mutex_unlock(&pool->device->lock);
	unuse(&pool->pd->uses);
	unuse(&pool->device->uses[OF_MKEY_POOLS]);
	free_pool(pool);
	return 0;
}

/* A key is removed, with the device locked: what spans it, or nests it, is not to be used at once any more. */
void pools_forget_key(struct bsn_device *device)
{
	for (struct bsn_mkey_pool *pool = device->mkey_pools; pool; pool = pool->next)
		if (atomic_exchange(&pool->has_ready, false))
			for (uint32_t i = 0; i < pool->attr.count; i++)
				map_not_ready(&pool->slots[i]);
}

static bool is_ready_by(const struct mkey_object *slot, const struct bsn_sq *sq)
{
	bool is_ready = false;

	for (unsigned i = 0; i <= BSN_MAP_KEY; i++) {
		const struct bsn_ep *const ep =
			__atomic_load_n(&slot->known.ready[i], __ATOMIC_RELAXED);
		is_ready |= ep != NOT_READY && ep->sq == sq;
	}
	return is_ready;
}

/* A queue is reset, or goes: slots that wait for its UMRs will not learn of them. */
void pools_forget_queue(struct bsn_device *device, const struct bsn_sq *sq)
{
	pthread_mutex_lock(&device->lock);
	for (struct bsn_mkey_pool *pool = device->mkey_pools; pool; pool = pool->next) {
		for (uint32_t i = 0; i < pool->attr.count; i++) {
			struct mkey_object *slot = &pool->slots[i];
			if (slot->sq == sq && mkey_state_of(slot) == BSN_MKEY_PENDING)
				mkey_lose(slot);
			if (slot->quick_sq == sq)
				slot->quick_sq = NO_QUEUE;
			if (slot->sq == sq)
				slot->sq = NULL;
			if (is_ready_by(slot, sq))
				map_not_ready(slot);
		}
	}
	pthread_mutex_unlock(&device->lock);
}

/* -- mkeys of one's own ----------------------------------------------------------------------------- */

int bsn_mkey_take(struct bsn_mkey_pool *pool, struct bsn_mkey **out)
{
	struct mkey_object *slot;

	if (!pool || !out)
		return fail(EINVAL, "no pool, or no place for the mkey");
	if (!pool->device->path->mkey_create)
		return fail(EOPNOTSUPP, "plain verbs have no mkeys to configure");
	slot = pool_take_slot(pool, NULL);
	if (!slot)
		return -ENOBUFS;
	*out = &slot->pub;
	return 0;
}

int bsn_mkey_give(struct bsn_mkey *mkey)
{
	struct mkey_object *slot = mkey_slot(mkey);

	if (!mkey)
		return 0;
	if (mkey_uses(slot) > 1)
		return fail(EBUSY, "%u layouts nest this mkey", mkey_uses(slot) - 1);
	if (mkey_state_of(slot) == BSN_MKEY_PENDING)
		return fail(EBUSY, "its UMR has not completed: poll the queue's CQ");
	mkey_forget(slot);
	pool_unuse(slot);
	return 0;
}
