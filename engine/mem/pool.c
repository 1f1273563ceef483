/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes pools of mkeys, lends mkeys and takes them back. */
#include "mkey.h"

#include <stdlib.h>

enum { DEFAULT_COUNT = 64, MOST_COUNT = 1 << 20, MOST_TRANSLATIONS = 1 << 28 };

/* -- mkeys without uses ------------------------------------------------------------------------ */

void mkey_empty(struct mkey_object *mkey)
{
	TAILQ_REMOVE(&mkey->pool->idle, mkey, idle);
	TAILQ_INSERT_HEAD(&mkey->pool->idle, mkey, idle);
	mkey_forget(mkey);
}

/*
 * Takes an idle mkey and chooses another of the 256 variants of its key, so that requests with the
 * old key are refused after the next UMR; until then they reach the old memory. An mkey whose UMR
 * is outstanding on another queue is not taken, since two queues keep no order.
 */
struct mkey_object *mkey_take(struct bsn_mkey_pool *pool, const struct bsn_sq *sq)
{
	struct mkey_object *mkey;

	TAILQ_FOREACH(mkey, &pool->idle, idle)
	{
		if (mkey->sq && mkey->sq != sq && mkey_state_of(mkey) == BSN_MKEY_PENDING)
			continue;
		mkey_use(mkey);
		mkey_forget(mkey);
		mkey_set_key(mkey, umr_next_variant(mkey->umr.key));
		return mkey;
	}
	fail(ENOBUFS, "all %u mkeys of the pool are in use: unmap some, or make it larger",
	     pool->attr.count);
	return NULL;
}

/* -- creation ---------------------------------------------------------------------------------- */

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
		return fail(EMSGSIZE, "max_translations is %u: the device takes %llu",
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
	if (attr->max_translations > MOST_TRANSLATIONS)
		return fail(EMSGSIZE, "max_translations is %u: %u at most", attr->max_translations,
			    MOST_TRANSLATIONS);
	if (attr->count > MOST_COUNT)
		return fail(EINVAL, "count is %u: %u at most", attr->count, MOST_COUNT);
	if (attr->page_bytes & (attr->page_bytes - 1) || attr->page_bytes == 1)
		return fail(EINVAL, "page_bytes is %llu: it must be a power of two",
			    (unsigned long long)attr->page_bytes);
	attr->max_translations = umr_padded(attr->max_translations);
	return 0;
}

static int make_key(struct mkey_object *mkey)
{
	const struct path_ops *path = mkey->pool->device->path;
	const uint64_t page = mkey->pool->attr.page_bytes;
	const struct provider_mkey_attr attr = {
		.translations = mkey->pool->attr.max_translations,
		.log_page_bytes = page ? (uint8_t)__builtin_ctzll(page) : 0,
		.peers_may_invalidate = mkey->pool->attr.peers_may_invalidate,
	};
	uint32_t key;
	int err = path->mkey_create(mkey->pool->pd, &attr, &mkey->handle, &key);

	if (err)
		return err;
	mkey->umr = (struct umr){ .kind = &mkey->pool->kind, .key = key };
	mkey_set_key(mkey, key);
	mkey->key =
		(struct known_key){ .lkey = keys_base_of(key), .pd = mkey->pool->pd, .mkey = mkey };
	err = keys_add(mkey->pool->device, &mkey->key);
	if (!err) {
		mkey->state = BSN_MKEY_FREE;
		return 0;
	}
	path->mkey_destroy(mkey->handle);
	mkey->handle = NULL;
	return err;
}

static void free_key(struct mkey_object *mkey)
{
	if (!mkey->handle)
		return;
	keys_remove(mkey->pool->device, &mkey->key);
	mkey->pool->device->path->mkey_destroy(mkey->handle);
	mkey->handle = NULL;
	mkey->state = BSN_MKEY_UNKNOWN;
}

int mkey_renew(struct mkey_object *mkey)
{
	free_key(mkey);
	return make_key(mkey);
}

/* Makes the mkeys, and the memory of their translations, if the path has mkeys. */
static int make_mkeys(struct bsn_mkey_pool *pool)
{
	const size_t table = (size_t)pool->attr.max_translations * BSN_XLT_SIZE;
	const struct bsn_mr_attr attr = { .pd = pool->pd, .is_read_only = true };
	int err;

	if (!pool->device->path->mkey_create)
		return 0;
	pool->mkeys = calloc(pool->attr.count, sizeof(*pool->mkeys));
	if (!pool->mkeys)
		return fail(ENOMEM, "no memory for %u mkeys", pool->attr.count);
	err = bsn_buf_alloc(pool->device, table * pool->attr.count, &attr, &pool->tables);
	for (uint32_t i = 0; !err && i < pool->attr.count; i++) {
		struct mkey_object *const mkey = &pool->mkeys[i];
		mkey->pool = pool;
		mkey->table = (uint8_t *)(uintptr_t)pool->tables->addr + i * table;
		TAILQ_INSERT_TAIL(&pool->idle, mkey, idle);
		err = make_key(mkey);
	}
	return err;
}

static void free_pool(struct bsn_mkey_pool *pool)
{
	for (uint32_t i = 0; pool->mkeys && i < pool->attr.count; i++)
		free_key(&pool->mkeys[i]);
	bsn_buf_free(pool->tables);
	free(pool->mkeys);
	free(pool->memory);
	free(pool->room);
	free(pool);
}

/* Makes a pool without mkeys, by checked attributes. NULL: no memory. */
static struct bsn_mkey_pool *make_pool(struct bsn_device *device,
				       const struct bsn_mkey_pool_attr *attr)
{
	struct bsn_mkey_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->device = device;
	pool->attr = *attr;
	pool->attr.access = mem_access_of(device, attr->access);
	pool->pd = pd_of(device, attr->pd);
	pool->kind = umr_kind_of((unsigned)pool->attr.access, device->caps.has_atomics,
				 device->caps.fence);
	TAILQ_INIT(&pool->idle);
	pool->memory = calloc(attr->max_translations, sizeof(*pool->memory));
	pool->room = malloc(layout_order_bytes(attr->max_translations));
	if (!pool->memory || !pool->room) {
		free_pool(pool);
		return NULL;
	}
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
	if (!pd_of(device, checked.pd))
		return -EINVAL;
	err = check_attr(&checked);
	if (!err)
		err = check_device(device, &checked);
	if (err)
		return err;
	pool = make_pool(device, &checked);
	if (!pool)
		return fail(ENOMEM, "no memory");
	err = make_mkeys(pool);
	if (err) {
		free_pool(pool);
		return err;
	}
	use(&pool->pd->uses);
	use(&device->uses[OF_MKEY_POOLS]);
	pthread_mutex_lock(&device->lock);
	pool->next = device->mkey_pools;
	device->mkey_pools = pool;
	pthread_mutex_unlock(&device->lock);
	*out = pool;
	return 0;
}

/* -- destruction ------------------------------------------------------------------------------- */

static uint32_t count_mkeys(const struct bsn_mkey_pool *pool)
{
	return pool->mkeys ? pool->attr.count : 0;
}

/*
 * Refuses to destroy a pool whose mkeys are used, or whose mkeys and tables an outstanding UMR
 * needs.
 */
static int check_idle(const struct bsn_mkey_pool *pool)
{
	uint32_t uses = 0;
	bool is_pending = false;

	for (uint32_t i = 0; i < count_mkeys(pool); i++) {
		uses += pool->mkeys[i].uses;
		is_pending |= mkey_state_of(&pool->mkeys[i]) == BSN_MKEY_PENDING;
	}
	if (pool->layouts)
		return fail(EBUSY, "the pool has %u layouts: destroy them first", pool->layouts);
	if (uses)
		return fail(
			EBUSY,
			"mkeys of the pool have %u uses: give back those that were taken, unmap "
			"maps, destroy layouts that nest them",
			uses);
	if (is_pending)
		return fail(EBUSY,
			    "a UMR of the pool has not completed: poll its queue's CQ after a "
			    "signaled request, or destroy its queue before");
	return 0;
}

int bsn_mkey_pool_destroy(struct bsn_mkey_pool *pool)
{
	struct bsn_mkey_pool **at;
	int err;

	if (!pool)
		return 0;
	err = check_idle(pool);
	if (err)
		return err;
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

/* After this nothing tells what became of the queue's outstanding UMRs. */
void mkeys_forget_queue(struct bsn_device *device, const struct bsn_sq *sq)
{
	pthread_mutex_lock(&device->lock);
	for (struct bsn_mkey_pool *pool = device->mkey_pools; pool; pool = pool->next) {
		for (uint32_t i = 0; i < count_mkeys(pool); i++) {
			struct mkey_object *const mkey = &pool->mkeys[i];
			if (mkey->sq != sq)
				continue;
			if (mkey_state_of(mkey) == BSN_MKEY_PENDING)
				mkey->state = BSN_MKEY_UNKNOWN;
			mkey->sq = NULL;
		}
	}
	pthread_mutex_unlock(&device->lock);
}

/* -- mkeys that a program takes ---------------------------------------------------------------- */

int bsn_mkey_take(struct bsn_mkey_pool *pool, struct bsn_mkey **out)
{
	struct mkey_object *mkey;

	if (!pool || !out)
		return fail(EINVAL, "no pool, or no place for the mkey");
	if (!pool->device->path->mkey_create)
		return fail(EOPNOTSUPP, "plain verbs have no mkeys to configure");
	mkey = mkey_take(pool, NULL);
	if (!mkey)
		return -ENOBUFS;
	*out = &mkey->pub;
	return 0;
}

int bsn_mkey_give(struct bsn_mkey *pub)
{
	struct mkey_object *const mkey = mkey_of(pub);

	if (!mkey)
		return 0;
	if (mkey->uses > 1)
		return mkey_refuse_nested(mkey);
	if (mkey_state_of(mkey) == BSN_MKEY_PENDING)
		return fail(EBUSY, "the mkey's UMR has not completed: poll its queue's CQ");
	mkey_unuse(mkey);
	return 0;
}
