/* SPDX-License-Identifier: BSD-2-Clause */
/* What an mkey spans: layouts checked against the memory they name, and posted as UMRs. */
#include "mkey.h"

#include "init.h"
#include "sq.h"
#include "umr.h"

/* -- state ------------------------------------------------------------------------------------------ */

/* Whether everything before that block has completed. */
static bool is_done(struct bsn_sq *sq, uint32_t block)
{
	const uint32_t outstanding = bsn_sq_outstanding_bb(sq);

	return (int32_t)(bsn_sq_wide_pi(sq) - outstanding - block) >= 0;
}

enum bsn_mkey_state mkey_state_of(struct mkey_object *slot)
{
	if (slot->state != BSN_MKEY_PENDING || !slot->sq)
		return slot->state;
	if (slot->sq->route.has_failed)
		mkey_lose(slot);
	else if (is_done(slot->sq, mkey_posted(slot)))
		slot->state = slot->pub.length ? BSN_MKEY_READY : BSN_MKEY_FREE;
	if (slot->state != BSN_MKEY_PENDING)
		slot->sq = NULL;
	return slot->state;
}

enum bsn_mkey_state bsn_mkey_state(struct bsn_mkey *mkey)
{
	return mkey ? mkey_state_of(mkey_slot(mkey)) : BSN_MKEY_FREE;
}

/* Whether the slot waits for a UMR of this very queue, which works: then nobody has to look. */
static bool is_pending_here(const struct mkey_object *slot, const struct bsn_sq *sq)
{
	return slot->state == BSN_MKEY_PENDING && slot->sq == sq && !sq->route.has_failed;
}

/* -- keys ------------------------------------------------------------------------------------------- */

/* Keys of the device that were removed so far. */
BSN_ALWAYS_INLINE uint32_t removed_of(const struct bsn_mkey_pool *pool)
{
	return atomic_load_explicit(&pool->device->keys_removed, memory_order_acquire);
}

/* What is known of an lkey, from the pool's own memory if it can be; NULL: nothing. */
BSN_ALWAYS_INLINE const struct known_key *find_key(struct bsn_mkey_pool *pool, uint32_t lkey)
{
	struct known_key *key = &pool->known[lkey / 256 % POOL_KEYS];
	const uint32_t removed = removed_of(pool);

	if (__builtin_expect(pool->known_removed != removed, 0)) {
		memset(pool->known, 0, sizeof(pool->known));
		pool->known_removed = removed;
	}
	if (BSN_UNLIKELY(!key->pd || key->lkey != lkey) && !keys_find(pool->device, lkey, key)) {
		key->pd = NULL;
		return NULL;
	}
	return BSN_UNLIKELY(key->mkey && key->mkey->pub.lkey != lkey) ? NULL : key;
}

/* -- memory ----------------------------------------------------------------------------------------- */

/* The memory that a part names, if it is the pool's domain's, and no mkey. */
static bool find_memory(struct bsn_mkey_pool *pool, const struct bsn_part *part,
			struct umr_memory *memory)
{
	const struct known_key *known = find_key(pool, part->lkey);

	*memory = (struct umr_memory){ UINT64_MAX, 0, UINT64_MAX, false, &pool->order }; /* no part lies there */
	if (!known || known->mkey || known->pd != pool->pd || part->reserved)
		return false;
	*memory = (struct umr_memory){ known->addr, known->addr + (known->length - 1),
				       umr_key_of(part), false, &pool->order };
	return true;
}

/* Remembers it: the next layout most likely lies in the same. */
static __attribute__((noinline)) bool keep_memory(struct bsn_mkey_pool *pool,
						  const struct bsn_layout *layout)
{
	const uint32_t removed = removed_of(pool);
	const bool has_first = find_memory(pool, layout->parts, &pool->memory[0]);
	const bool has_second =
		find_memory(pool, layout->parts + (layout->part_count > 1), &pool->memory[1]);

	for (unsigned i = 0; i < 2; i++)
		pool->wanted[i] = umr_wanted_of(&pool->memory[i], pool->attr.page_bytes);
	pool->memory_removed = removed;
	return has_first && has_second;
}

/*
 * The memory of every second part, that of the first being pool->memory: both at hand. NULL: one is nobody's.
 * What is wrong with further parts will be seen.
 */
BSN_ALWAYS_INLINE struct umr_memory *odd_memory(struct bsn_mkey_pool *pool,
						const struct bsn_layout *layout, uint32_t removed)
{
	const uint64_t key = umr_key_of(layout->parts);

	if (BSN_LIKELY(pool->memory[0].key == key && pool->memory_removed == removed)) {
		if (layout->part_count == 1 || BSN_LIKELY(umr_key_of(layout->parts + 1) == key))
			return &pool->memory[0];
		if (umr_key_of(layout->parts + 1) == pool->memory[1].key)
			return &pool->memory[1];
	}
	if (!keep_memory(pool, layout))
		return NULL;
	return &pool->memory[pool->memory[0].key != pool->memory[1].key];
}

/* -- nesting ---------------------------------------------------------------------------------------- */

static void release_nested(struct mkey_object *slot)
{
	if (!slot->is_nesting)
		return;
	slot->is_nesting = false;
	for (uint32_t i = 0; i < mkey_part_count(slot); i++) {
		const struct known_key *key = find_key(slot->pool, slot->known.parts[i].lkey);
		if (key && key->mkey)
			pool_unuse(key->mkey);
	}
}

static void hold_nested(struct mkey_object *slot)
{
	for (uint32_t i = 0; i < mkey_part_count(slot); i++) {
		const struct known_key *key = find_key(slot->pool, slot->known.parts[i].lkey);
		if (!key || !key->mkey)
			continue;
		pool_use(key->mkey);
		key->mkey->quick_sq = NO_QUEUE;
		slot->is_nesting = true;
	}
}

void mkey_forget(struct mkey_object *slot)
{
	release_nested(slot);
	slot->known.shape = 0;
	slot->pub.length = 0;
	slot->depth = 0;
	slot->quick_sq = NO_QUEUE;
}

/* -- checks ----------------------------------------------------------------------------------------- */

static int check_nested(const struct mkey_object *slot, struct mkey_object *inner,
			const struct bsn_part *part, const struct bsn_sq *sq)
{
	if (inner == slot)
		return fail(ELOOP, "the mkey cannot span itself");
	if (!inner->pub.length)
		return fail(EINVAL, "mkey 0x%x, which the layout nests, spans nothing", part->lkey);
	if (!is_pending_here(inner, sq) && mkey_state_of(inner) != BSN_MKEY_READY)
		return inner->state == BSN_MKEY_UNKNOWN
			       ? fail(EINVAL,
				      "the queue of mkey 0x%x, which the layout nests, failed "
				      "before it was configured",
				      part->lkey)
			       : fail(EBUSY,
				      "the UMR of mkey 0x%x, which the layout nests, has not "
				      "completed on another queue: poll that one",
				      part->lkey);
	return 0;
}

/* What a key lets a layout reach. @key: and a bit above, which tells it from none */
struct reach {
	uint64_t key, first, last;
};

static inline uint64_t reach_key(const struct bsn_part *part)
{
	return 1ull << 32 | part->lkey;
}

/* @sq: NULL: mkeys that the layout nests are not looked at, and what has to be looked at each time is of depth 2 */
static int check_key(struct mkey_object *slot, const struct bsn_part *part, const struct bsn_sq *sq,
		     struct reach *reach)
{
	const struct known_key *key = find_key(slot->pool, part->lkey);
	uint64_t length;
	int err;

	*reach = (struct reach){ reach_key(part), 0, UINT64_MAX };
	if (!key && !slot->pool->attr.takes_any_lkey)
		return fail(ENOENT,
			    "no memory has lkey 0x%x: it was deregistered, or registered without "
			    "Bunsen (takes_any_lkey)",
			    part->lkey);
	if (!sq && (!key || key->mkey))
		slot->depth = 2;
	if (!key)
		return 0;
	if (key->pd != slot->pool->pd)
		return fail(EACCES, "lkey 0x%x is of another protection domain than the pool",
			    part->lkey);
	length = key->length;
	if (key->mkey && !sq)
		return 0;
	if (key->mkey) {
		err = check_nested(slot, key->mkey, part, sq);
		if (err)
			return err;
		if (slot->depth <= key->mkey->depth)
			slot->depth = (uint8_t)(key->mkey->depth + 1);
		length = key->mkey->pub.length;
	}
	reach->first = key->addr;
	reach->last = key->addr + (length - 1);
	return 0;
}

/* The memory that each part names: mostly what the one before does, or the one before that. */
static int check_memory(struct mkey_object *slot, const struct bsn_layout *layout,
			const struct bsn_sq *sq)
{
	const uint64_t more_rounds = layout_rounds(layout) - 1;
	const struct bsn_part *const end = layout->parts + layout->part_count;
	struct reach one = { 0 }, other = { 0 };

	for (const struct bsn_part *part = layout->parts; part != end; part++) {
		if (one.key != reach_key(part)) {
			const struct reach before = one;
			one = other;
			other = before;
		}
		if (one.key != reach_key(part)) {
			int err = check_key(slot, part, sq, &one);
			if (err)
				return err;
		}
		if (part->addr < one.first ||
		    part->addr + more_rounds * part->stride + (part->bytes - 1) > one.last)
			return fail(EFAULT, "the layout reaches outside the memory of lkey 0x%x",
				    part->lkey);
	}
	return 0;
}

static __attribute__((noinline)) int check_each(struct mkey_object *slot, const struct bsn_sq *sq,
						const struct bsn_layout *layout,
						struct layout_size *size)
{
	int err = layout_measure(layout, size);

	if (err)
		return err;
	if (layout->part_count > slot->pool->max_parts)
		return fail(EMSGSIZE,
			    "%u parts: the pool's layouts have %u at most (max_translations)",
			    layout->part_count, slot->pool->max_parts);
	slot->depth = 1;
	err = check_memory(slot, layout, sq);
	return err ? err : layout_check_overlap(layout, slot->pool->scratch);
}

/* Whether it could be put into a WQE as it is; what would be put goes nowhere. */
static bool is_quickly_plain(struct bsn_mkey_pool *pool, const struct bsn_layout *layout,
			     struct layout_size *size)
{
	const struct bsn_part *const parts = layout->parts;
	const uint32_t count = layout->part_count, rounds = layout_rounds(layout);
	uint8_t *const nowhere = (uint8_t *)pool->scratch;
	struct umr_memory *odd = NULL;
	uint64_t bytes;

	if (count > 1 && count <= pool->max_plain_parts)
		odd = odd_memory(pool, layout, removed_of(pool));
	if (!odd)
		return false;
	bytes = umr_put_several(nowhere, parts, count, &pool->memory[0], odd, rounds);
	*size = (struct layout_size){ bytes * rounds, (uint64_t)count * rounds,
				      rounds > 1 ? parts->stride : 0, odd == pool->memory };
	return bytes;
}

/* What most layouts are: of one part, or of several in one piece of memory of the pool's domain. */
BSN_ALWAYS_INLINE bool is_plain(struct bsn_mkey_pool *pool, const struct bsn_layout *layout,
				struct layout_size *size)
{
	const struct known_key *key;
	uint64_t last;

	if (!layout || !layout->parts || layout->part_count - 1 >= pool->max_parts)
		return false;
	if (is_quickly_plain(pool, layout, size))
		return true;
	key = find_key(pool, layout->parts->lkey);
	if (!key || key->mkey || key->pd != pool->pd)
		return false;
	last = key->addr + (key->length - 1);
	return layout->part_count == 1
		       ? layout_is_plain_part(layout, key->addr, last, size)
		       : layout_is_plain(layout, key->addr, last, pool->scratch, size);
}

/* What was checked by its numbers; what it names may have gone since. */
static int check_committed(struct mkey_object *slot, const struct bsn_sq *sq,
			   const struct bsn_layout *layout, struct layout_size *size)
{
	const struct bsn_commit *const commit = &layout->commit;
	const uint32_t removed = atomic_load(&slot->pool->device->keys_removed);

	*size = (struct layout_size){ commit->length, commit->translations, commit->longest,
				      commit->common != 0 };
	slot->depth = 1;
	return commit->keys_removed == removed ? 0 : check_memory(slot, layout, sq);
}

BSN_ALWAYS_INLINE int check(struct mkey_object *slot, const struct bsn_sq *sq,
			    const struct bsn_layout *layout, struct layout_size *size)
{
	if (layout && is_committed(slot->pool, layout))
		return check_committed(slot, sq, layout, size);
	if (BSN_UNLIKELY(!is_plain(slot->pool, layout, size)))
		return check_each(slot, sq, layout, size);
	slot->depth = 1;
	return 0;
}

int mkey_check(struct mkey_object *slot, const struct bsn_sq *sq, const struct bsn_layout *layout,
	       struct layout_size *size)
{
	return check(slot, sq, layout, size);
}

/* -- commits -------------------------------------------------------------------------------------- */

/* Whether the layout is a list of such parts as a pool of pages has. */
static bool are_pages(const struct bsn_mkey_pool *pool, const struct bsn_layout *layout)
{
	for (uint32_t i = 0; i < layout->part_count; i++)
		if (layout->parts[i].bytes != pool->attr.page_bytes)
			return false;
	return layout_rounds(layout) == 1;
}

/* Whether a WQE of the quick way holds so many. */
static bool has_quick_count(const struct bsn_mkey_pool *pool, const struct bsn_layout *layout)
{
	return layout->part_count <= pool->attr.max_translations &&
	       layout->part_count <= UMR_INLINE_MAX && pool->device->caps.fence != BSN_FENCE_NONE;
}

/* Translations of the WQE that holds a layout, by the quick way; 0: it takes the other. */
static uint32_t quick_translations(const struct bsn_mkey_pool *pool,
				   const struct bsn_layout *layout, const struct layout_size *size)
{
	const bool has_rounds = layout_rounds(layout) > 1;

	if (pool->attr.page_bytes)
		return has_quick_count(pool, layout) && are_pages(pool, layout)
			       ? umr_padded(layout->part_count)
			       : 0;
	if (layout->part_count > pool->max_plain_parts ||
	    (has_rounds ? size->longest > BSN_REPEAT_MAX_STRIDE
			: size->translations != layout->part_count))
		return 0;
	return umr_padded(layout->part_count + has_rounds);
}

/* Of several rounds, as it lies in the repeat block; the bytes of a list may have more than 32 bits. */
static uint32_t round_bytes_of(const struct bsn_layout *layout, const struct layout_size *size)
{
	return layout_rounds(layout) > 1 ? (uint32_t)(size->bytes / layout->rounds) : 1;
}

int bsn_layout_commit(struct bsn_mkey_pool *pool, struct bsn_layout *layout)
{
	const uint32_t removed = pool ? atomic_load(&pool->device->keys_removed) : 0;
	const bool has_pages = pool && pool->attr.page_bytes;
	struct mkey_object unused = { .pool = pool };
	struct layout_size size = { 0 };
	struct bsn_commit *commit;
	int err;

	if (!pool || !layout)
		return fail(EINVAL, "no pool, or no layout");
	commit = &layout->commit;
	*commit = (struct bsn_commit){ 0 };
	err = check(&unused, NULL, layout, &size);
	if (err || unused.depth > 1)
		return err;
	*commit = (struct bsn_commit){
		.id = pool_next_serial(),
		.pool = pool->serial,
		.length = size.bytes,
		.translations = size.translations,
		.longest = size.longest,
		.round_bytes = has_pages ? 0 : round_bytes_of(layout, &size),
		.common = size.is_uniform ? umr_common_of(layout).raw : 0,
		.padded = quick_translations(pool, layout, &size),
		.hash = map_hash_of(layout),
		.keys_removed = removed,
	};
	return 0;
}

/* -- the UMR ---------------------------------------------------------------------------------------- */

static void put_klm(void *arg, uint64_t addr, uint64_t bytes, uint32_t lkey)
{
	uint8_t **at = arg;

	*at = umr_write_klm(*at, addr, (uint32_t)bytes, lkey);
}

/* Every block a translation, in the slot's table. */
static void make_list(struct umr *umr, const struct mkey_object *slot,
		      const struct bsn_layout *layout)
{
	uint8_t *at = slot->table;

	layout_walk(layout, BSN_KLM_MAX_BYTES, put_klm, &at);
	umr->form = UMR_POINTER;
	umr->table_count = (uint32_t)(at - slot->table) / BSN_XLT_SIZE;
}

/* What fits no WQE of the queue goes to the slot's table. */
static void make_short(struct umr *umr, const struct mkey_object *slot)
{
	const uint8_t *const end = umr_write_parts(slot->table, umr);

	umr->form = UMR_POINTER;
	umr->table_count = (uint32_t)(end - slot->table) / BSN_XLT_SIZE;
}

/* The cheapest form, or why there is none. */
BSN_ALWAYS_INLINE int choose_form(struct umr *umr, const struct mkey_object *slot,
				  const struct bsn_sq *sq, const struct bsn_layout *layout,
				  const struct layout_size *size)
{
	const uint32_t most = slot->pool->attr.max_translations;
	const bool is_list = umr->rounds == 1 && size->translations == umr->part_count;

	if (slot->pool->attr.page_bytes && !are_pages(slot->pool, layout))
		return fail(EINVAL, "the pool is of pages: a list of parts of %llu bytes",
			    (unsigned long long)slot->pool->attr.page_bytes);
	if (is_list ||
	    (slot->pool->device->caps.has_repeat && size->longest <= BSN_REPEAT_MAX_STRIDE)) {
		umr->form = is_list ? UMR_LIST : UMR_REPEAT;
		if (umr_translations(umr) > most)
			return fail(EMSGSIZE, "%u translations: the pool's mkeys have %u",
				    umr_translations(umr), most);
		if (umr_translations(umr) > UMR_INLINE_MAX ||
		    bsn_bb_of_ds(umr_ds(umr)) > sq->capacity_bb)
			make_short(umr, slot);
		return 0;
	}
	if (size->translations > most)
		return fail(EMSGSIZE,
			    "the layout's blocks or strides have more than %u bytes, so it takes a "
			    "list of %llu translations: the pool's mkeys have %u",
			    BSN_REPEAT_MAX_STRIDE, (unsigned long long)size->translations, most);
	make_list(umr, slot, layout);
	return 0;
}

/*
 * A table that is longer than one WQE can point to: several of them, all or none. The first changes the
 * mkey, the others the rest of its table, by offset; @id and @flags are the last one's, so that a completion
 * is that of all.
 */
static __attribute__((noinline)) int post_chunks(struct bsn_sq *sq, const struct umr *whole,
						 uint64_t id, uint32_t flags)
{
	const uint32_t count = (whole->table_count + UMR_POINTER_MAX - 1) / UMR_POINTER_MAX;
	const uint32_t bb = count * bsn_bb_of_ds(umr_ds(whole));
	struct umr chunk = *whole;
	int err = 0;

	if (bb > sq->capacity_bb || bb > sq->capacity_bb - bsn_sq_outstanding_bb(sq)) {
		bsn_refusal = bb > sq->capacity_bb ? "the queue has not room for all UMRs of the "
						     "table: make it with a "
						     "greater send_depth"
						   : "the send queue has not room for all UMRs of "
						     "the table: poll its CQ";
		return bb > sq->capacity_bb ? -EMSGSIZE : -EAGAIN;
	}
	for (; !err && chunk.first < whole->table_count; chunk.first += chunk.table_count) {
		const uint32_t left = whole->table_count - chunk.first;
		const bool is_last = left <= UMR_POINTER_MAX;
		chunk.is_part = chunk.first;
		chunk.table.addr = whole->table.addr + (uint64_t)chunk.first * BSN_XLT_SIZE;
		chunk.table_count = is_last ? left : UMR_POINTER_MAX;
		err = umr_post(sq, &chunk, is_last ? id : BSN_OWN_ID,
			       is_last ? flags : flags & ~(uint32_t)(BSN_F_SIGNALED | BSN_F_RING));
		umr_target_renamed(&chunk.target);
	}
	return err;
}

BSN_ALWAYS_INLINE int post_umr(struct mkey_object *slot, struct bsn_ep *ep,
			       const struct bsn_layout *layout, const struct layout_size *size,
			       uint64_t id, unsigned flags)
{
	struct bsn_sq *sq = ep->sq;
	struct umr umr = { .target = slot->target,
			   .length = size->bytes,
			   .has_pages = slot->pool->attr.page_bytes,
			   .form = UMR_LIST,
			   .parts = layout->parts,
			   .part_count = layout->part_count,
			   .rounds = layout_rounds(layout),
			   .table = { (uintptr_t)slot->table, 0, slot->table_lkey },
			   .table_count = 0,
			   .first = 0,
			   .is_part = false };
	int err;

	if (!sq->ring || sq->transport != BSN_TRANSPORT_RC)
		return fail(EOPNOTSUPP, "a UMR is posted to an RC queue pair of the direct path");
	err = choose_form(&umr, slot, sq, layout, size);
	if (err)
		return err;
	err = BSN_UNLIKELY(umr.table_count > UMR_POINTER_MAX) ? post_chunks(sq, &umr, id, flags)
							      : umr_post(sq, &umr, id, flags);
	if (err)
		return err;
	umr_target_renamed(&slot->target);
	slot->pub.length = size->bytes;
	mkey_note_post(slot, sq, 0);
	return 0;
}

/* -- by hand ---------------------------------------------------------------------------------------- */

BSN_ALWAYS_INLINE void keep_layout(struct mkey_object *slot, const struct bsn_layout *layout)
{
	if (layout->part_count == 1) {
		slot->known.part = *layout->parts;
		slot->known.parts = &slot->known.part;
	} else {
		slot->pool->keep_parts(slot->several, layout->parts, layout->part_count);
		slot->known.parts = slot->several;
	}
	slot->known.shape = bsn_layout_shape(layout);
}

void mkey_keep_layout(struct mkey_object *slot, const struct bsn_layout *layout)
{
	keep_layout(slot, layout);
	if (slot->depth > 1)
		hold_nested(slot);
}

BSN_ALWAYS_INLINE int configure(struct mkey_object *slot, struct bsn_ep *ep,
				const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	const uint8_t depth = slot->depth;
	struct layout_size size;
	int err = check(slot, ep->sq, layout, &size);

	if (!err && BSN_UNLIKELY(slot->depth > slot->pool->device->caps.max_indirection))
		err = fail(
			ELOOP,
			"the device follows %u mkeys, one in the other, and what the layout nests "
			"has so many already",
			slot->pool->device->caps.max_indirection);
	if (!err && !is_pending_here(slot, ep->sq) && mkey_state_of(slot) == BSN_MKEY_UNKNOWN)
		err = pool_renew_key(slot);
	if (!err)
		err = post_umr(slot, ep, layout, &size, id, flags);
	if (err)
		slot->depth = depth;
	else
		release_nested(slot);
	return err;
}

/* Whether @mkey may change now, by a request to @ep. */
BSN_ALWAYS_INLINE int check_change(struct bsn_ep *ep, struct mkey_object *slot)
{
	if (!ep || !ep->sq || !slot)
		return fail(EINVAL, "no endpoint, or no mkey");
	if (mkey_uses(slot) > 1)
		return fail(EBUSY, "%u layouts nest this mkey", mkey_uses(slot) - 1);
	if (!is_pending_here(slot, ep->sq) && mkey_state_of(slot) == BSN_MKEY_PENDING &&
	    slot->sq != ep->sq)
		return fail(EBUSY, "its UMR, on another queue, has not completed");
	return 0;
}

static __attribute__((noinline)) int configure_slowly(struct bsn_ep *ep, struct mkey_object *slot,
						      const struct bsn_layout *layout, uint64_t id,
						      unsigned flags)
{
	int err = check_change(ep, slot);

	if (!err)
		err = configure(slot, ep, layout, id, flags);
	if (!err && slot->depth > 1)
		mkey_keep_layout(slot, layout);
	if (err)
		return err;
	slot->quick_sq = slot->depth == 1 ? ep->sq : NO_QUEUE;
	return 0;
}

/* -- the quick way ---------------------------------------------------------------------------------- */

/* @is_fresh: the pool was compared with the device just now */
BSN_ALWAYS_INLINE uint32_t known_removed_of(const struct bsn_mkey_pool *pool, bool is_fresh)
{
	return is_fresh ? pool->keys_removed : removed_of(pool);
}

/* Whether the layout was committed, fits a WQE, and no memory of the device has gone since. */
BSN_ALWAYS_INLINE bool is_quick(const struct bsn_mkey_pool *pool, const struct bsn_layout *layout,
				bool is_fresh)
{
	const uint32_t removed = known_removed_of(pool, is_fresh);

	return layout->commit.padded && layout->commit.pool == pool->serial &&
	       layout->commit.keys_removed == removed;
}

/* Pages in one piece of memory. */
static __attribute__((noinline)) bool put_pages(struct umr_plain *umr, struct bsn_mkey_pool *pool,
						struct bsn_sq *sq, const struct bsn_layout *layout,
						unsigned flags)
{
	const uint32_t count = layout->part_count, padded = umr_padded(count);
	uint8_t *at;

	if (!count || layout_rounds(layout) > 1 || !has_quick_count(pool, layout) ||
	    odd_memory(pool, layout, removed_of(pool)) != pool->memory)
		return false;
	at = umr_open(umr, sq, padded, padded == count, flags);
	if (!at)
		return false;
	umr->length = umr_put_pages(at, layout->parts, count, pool->attr.page_bytes, pool->memory);
	if (!pool->memory[0].has_disorder)
		pool->configure = pool->configure_ordered[0];
	return umr->length != 0;
}

/* A layout of parts that ascend in one piece of memory, or in two, to an mkey that nothing is the matter with. */
BSN_ALWAYS_INLINE bool put_looked_at(struct umr_plain *umr, struct bsn_mkey_pool *pool,
				     struct bsn_sq *sq, const struct bsn_layout *layout,
				     bool is_fresh, unsigned flags)
{
	struct umr_memory *odd;

	if (!layout->parts || sq->route.has_failed)
		return false;
	if (layout->part_count - 1 >= pool->max_plain_parts)
		return pool->attr.page_bytes && put_pages(umr, pool, sq, layout, flags);
	odd = odd_memory(pool, layout, known_removed_of(pool, is_fresh));
	if (BSN_UNLIKELY(!odd) || !umr_put_plain(umr, sq, layout, &pool->memory[0], odd, flags))
		return false;
	if (!is_fresh && !pool->memory[0].has_disorder) /* the next one is likely like that, too */
		pool->configure = pool->configure_ordered[odd != pool->memory];
	return true;
}

/* The same, or one that was committed. */
BSN_ALWAYS_INLINE bool put_quickly(struct umr_plain *umr, struct mkey_object *slot,
				   struct bsn_sq *sq, const struct bsn_layout *layout,
				   bool is_fresh, unsigned flags)
{
	if (BSN_LIKELY(is_quick(slot->pool, layout, is_fresh)))
		return !sq->route.has_failed && umr_put_committed(umr, sq, layout, flags);
	return put_looked_at(umr, slot->pool, sq, layout, is_fresh, flags);
}

/* Posts the UMR whose translations, @padded, are in the ring already, where they are to be. */
BSN_ALWAYS_INLINE int post_put(struct bsn_sq *sq, struct mkey_object *slot, uint64_t length,
			       uint64_t id, unsigned flags, uint32_t padded, enum bsn_rest rest)
{
	const struct umr_plain umr = { length, padded };

	umr_keep_id(sq, id);
	slot->pub.length = length;
	mkey_note_post(slot, sq, umr_blocks(padded));
	return umr_end_plain(&umr, sq, &slot->target, rest, flags);
}

__attribute__((noinline)) int mkey_post_put(struct bsn_sq *sq, struct mkey_object *slot,
					    uint64_t length, uint64_t id, unsigned flags,
					    uint32_t padded)
{
	return post_put(sq, slot, length, id, flags, padded, BSN_REST_SGES);
}

__attribute__((noinline)) int mkey_post_put_wide(struct bsn_sq *sq, struct mkey_object *slot,
						 uint64_t length, uint64_t id, unsigned flags,
						 uint32_t padded)
{
	return post_put(sq, slot, length, id, flags, padded, BSN_REST_VECTORS);
}

/* Of any layout. */
static __attribute__((noinline)) int configure_anyhow(struct bsn_ep *ep, struct mkey_object *slot,
							    const struct bsn_layout *layout, uint64_t id,
							    unsigned flags)
{
	struct umr_plain umr;

	if (BSN_UNLIKELY(!put_looked_at(&umr, slot->pool, ep->sq, layout, false, flags)))
		return configure_slowly(ep, slot, layout, id, flags);
	return post_put(ep->sq, slot, umr.length, id, flags, umr.padded, BSN_REST_SGES);
}

/* Of one part, in the memory that was used last. */
BSN_ALWAYS_INLINE int configure_part(struct bsn_ep *ep, struct mkey_object *slot,
				     const struct bsn_layout *layout, uint64_t id, unsigned flags,
				     bool has_rounds)
{
	uint64_t bytes;
	uint8_t *at;

	if (BSN_UNLIKELY(!layout->parts || ep->sq->route.has_failed || !slot->pool->max_plain_parts ||
			 !mkey_is_of_last_memory(slot->pool, layout->parts)))
		return configure_anyhow(ep, slot, layout, id, flags);
	UMR_LOAD_AGAIN();
	if (BSN_UNLIKELY(!umr_may_put(ep->sq, UMR_ALIGN, flags)))
		return mkey_configure_elsewhere(ep, slot, layout, id, flags);
	umr_put_padding(umr_end_of(ep->sq, UMR_ALIGN));
	UMR_LOAD_AGAIN();
	at = umr_begin(ep->sq);
	bytes = umr_put_part(at + has_rounds * BSN_DS_SIZE, layout->parts, &slot->pool->memory[0],
			     has_rounds ? layout->rounds : 1);
	if (BSN_UNLIKELY(!bytes))
		return configure_anyhow(ep, slot, layout, id, flags);
	if (has_rounds) {
		bsn_store_ds(at, umr_repeat((uint32_t)bytes, layout->rounds, 1));
		bytes *= layout->rounds;
	}
	UMR_LOAD_AGAIN();
	return mkey_post_put(ep->sq, slot, bytes, id, flags, UMR_ALIGN);
}

static __attribute__((noinline)) int configure_block(struct bsn_ep *ep, struct mkey_object *slot,
						     const struct bsn_layout *layout, uint64_t id,
						     unsigned flags)
{
	return configure_part(ep, slot, layout, id, flags, false);
}

static __attribute__((noinline)) int configure_column(struct bsn_ep *ep, struct mkey_object *slot,
						      const struct bsn_layout *layout, uint64_t id,
						      unsigned flags)
{
	return configure_part(ep, slot, layout, id, flags, true);
}

int mkey_configure_known(struct bsn_ep *ep, struct mkey_object *slot,
			 const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	if (layout->part_count != 1)
		return configure_anyhow(ep, slot, layout, id, flags);
	return layout->rounds > 1 ? configure_column(ep, slot, layout, id, flags) :
				    configure_block(ep, slot, layout, id, flags);
}

int mkey_configure_committed(struct bsn_ep *ep, struct mkey_object *slot,
			     const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	struct bsn_sq *const sq = ep->sq;
	struct umr_plain umr;

	if (BSN_UNLIKELY(!umr_put_committed(&umr, sq, layout, flags)))
		return mkey_configure_elsewhere(ep, slot, layout, id, flags);
	return mkey_post_put(sq, slot, umr.length, id, flags, umr.padded);
}

/* The same of few parts that differ in address and length alone. */
static __attribute__((noinline)) int configure_few(struct bsn_ep *ep, struct mkey_object *slot,
						   const struct bsn_layout *layout, uint64_t id,
						   unsigned flags)
{
	const struct bsn_commit *const commit = &layout->commit;
	uint8_t *at;

	if (BSN_UNLIKELY(!umr_may_put(ep->sq, commit->padded, flags)))
		return mkey_configure_elsewhere(ep, slot, layout, id, flags);
	UMR_LOAD_AGAIN();
	if (commit->padded != umr_committed(layout))
		umr_put_padding(umr_end_of(ep->sq, commit->padded));
	at = umr_begin(ep->sq);
	if (layout->rounds > 1) {
		bsn_store_ds(at, umr_repeat(commit->round_bytes, layout->rounds, layout->part_count));
		at += BSN_DS_SIZE;
	}
	UMR_LOAD_AGAIN();
	for (const struct bsn_part *part = layout->parts, *const end = part + layout->part_count;
	     part != end; part++, at += BSN_DS_SIZE)
		bsn_store_ds(at, umr_translation(part, (struct bsn_be64){ commit->common }));
	UMR_LOAD_AGAIN();
	return mkey_post_put(ep->sq, slot, commit->length, id, flags, commit->padded);
}

static __attribute__((noinline)) int configure_committed(struct bsn_ep *ep,
							  struct mkey_object *slot,
							  const struct bsn_layout *layout,
							  uint64_t id, unsigned flags)
{
	if (BSN_UNLIKELY(ep->sq->route.has_failed || !is_quick(slot->pool, layout, false)))
		return configure_anyhow(ep, slot, layout, id, flags);
	if (layout->part_count >= UMR_ORDERED_FROM || BSN_UNLIKELY(!umr_is_uniform(layout)))
		return slot->pool->configure_committed(ep, slot, layout, id, flags);
	return configure_few(ep, slot, layout, id, flags);
}

/* By the way that fits, the slot being one that the queue may change at once. */
BSN_ALWAYS_INLINE int configure_quickly(struct bsn_ep *ep, struct mkey_object *slot,
					const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	if (layout->commit.padded)
		return configure_committed(ep, slot, layout, id, flags);
	return slot->pool->configure(ep, slot, layout, id, flags);
}

/* The poller may have made room, and the slot may be at the ring's end: then the layout is like any other. */
static bool finds_room(struct bsn_sq *sq, const struct bsn_layout *layout, unsigned flags)
{
	const uint32_t padded =
		layout->commit.padded ? layout->commit.padded : umr_padded(umr_committed(layout));

	return !umr_is_unusual(flags) && umr_find_room(sq, UMR_HEAD_DS + padded);
}

/* Puts the translations of a layout that was not committed aside, since its WQE has to wrap. */
static bool put_aside(struct umr_plain *umr, struct bsn_mkey_pool *pool, uint8_t *at,
		      const struct bsn_layout *layout)
{
	const uint32_t used = umr_committed(layout);
	struct umr_memory *odd;

	umr->padded = umr_padded(used);
	if (layout->commit.padded || !layout->parts ||
	    layout->part_count - 1 >= pool->max_plain_parts)
		return false;
	odd = odd_memory(pool, layout, removed_of(pool));
	if (!odd)
		return false;
	if (umr->padded != used)
		umr_put_padding(at + umr->padded * BSN_DS_SIZE);
	return umr_put_plain_at(umr, at, layout, pool->memory, odd);
}

int mkey_configure_elsewhere(struct bsn_ep *ep, struct mkey_object *slot,
			     const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	_Alignas(16) uint8_t translations[UMR_INLINE_MAX * BSN_DS_SIZE];
	struct umr_plain umr;
	int err;

	if (finds_room(ep->sq, layout, flags))
		return configure_quickly(ep, slot, layout, id, flags);
	if (ep->sq->route.has_failed || umr_is_unusual(flags) ||
	    !put_aside(&umr, slot->pool, translations, layout))
		return configure_anyhow(ep, slot, layout, id, flags);
	err = umr_post_put(ep->sq, &slot->target, &umr, translations, id, flags);
	if (err)
		return err;
	slot->pub.length = umr.length;
	mkey_note_post(slot, ep->sq, 0);
	return 0;
}

int bsn_mkey_configure(struct bsn_ep *ep, struct bsn_mkey *mkey, const struct bsn_layout *layout,
		       uint64_t id, unsigned flags)
{
	struct mkey_object *slot;

	if (BSN_UNLIKELY(!mkey))
		return configure_slowly(ep, NULL, layout, id, flags);
	slot = mkey_slot(mkey);
	BSN_HIDE(slot); /* else both are kept */
	if (BSN_UNLIKELY(!ep || ep->sq != slot->quick_sq || !layout))
		return configure_slowly(ep, slot, layout, id, flags);
	return configure_quickly(ep, slot, layout, id, flags);
}

/* Whether the slot, which nests nothing, may change by UMRs of that queue. */
static bool may_change_by(const struct mkey_object *slot, const struct bsn_sq *sq)
{
	return !sq->path && sq->transport == BSN_TRANSPORT_RC && slot->state != BSN_MKEY_UNKNOWN &&
	       (slot->state != BSN_MKEY_PENDING || slot->sq == sq);
}

int mkey_configure(struct mkey_object *slot, struct bsn_ep *ep, const struct bsn_layout *layout)
{
	struct umr_plain umr;

	if (slot->is_nesting || !may_change_by(slot, ep->sq) ||
	    !put_quickly(&umr, slot, ep->sq, layout, false, 0))
		return configure(slot, ep, layout, BSN_OWN_ID, 0);
	slot->depth = 1;
	post_put(ep->sq, slot, umr.length, BSN_OWN_ID, 0, umr.padded, BSN_REST_SGES);
	umr_target_renamed(&slot->target);
	return 0;
}

/* Whether the pool's slots are as the device's memory is, and the queue takes UMRs. */
static bool is_usual(const struct bsn_mkey_pool *pool, const struct bsn_ep *ep, unsigned flags)
{
	return ep && ep->sq && !(flags & ~(unsigned)BSN_MAP_KEY) &&
	       removed_of(pool) == pool->keys_removed;
}

/* Of a layout that was not found: at once where nothing is the matter with it, nor with the slot that is next. */
BSN_ALWAYS_INLINE int map_anew(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
			       const struct bsn_layout *layout, unsigned flags,
			       const struct bsn_map **map, uint32_t hash)
{
	struct mkey_object *const slot = pool_oldest_slot(pool);
	struct umr_plain umr;
	uint32_t wants_key;

	if (!slot || slot->is_nesting || !is_usual(pool, ep, flags) ||
	    !may_change_by(slot, ep->sq))
		return map_slowly(pool, ep, layout, flags, map);
	wants_key = map_wants_key(ep, layout, flags);
	if (!wants_key || !put_quickly(&umr, slot, ep->sq, layout, true, 0))
		return map_slowly(pool, ep, layout, flags, map);
	pool_use(slot);
	pool_unlink(slot);
	if (slot->is_listed)
		map_leave(slot);
	slot->quick_sq = NO_QUEUE;
	pool_rotate_key(slot);
	post_put(ep->sq, slot, umr.length, BSN_OWN_ID, 0, umr.padded, BSN_REST_SGES);
	umr_target_renamed(&slot->target);
	slot->depth = 1;
	keep_layout(slot, layout);
	map_as_key(slot);
	map_list_slot(slot, hash);
	slot->wants_key = wants_key;
	slot->known.commit = commit_of(pool, layout);
	*map = &slot->known.map;
	return 0;
}

/* Whether the slot was mapped for that layout. */
static bool is_known_as(const struct mkey_object *slot, const struct bsn_layout *layout)
{
	if (layout->commit.id)
		return slot->known.commit == layout->commit.id;
	return slot->known.shape == bsn_layout_shape(layout) &&
	       slot->pool->front.are_same(&slot->known, layout->parts);
}

int bsn_layout_map_other(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
			 const struct bsn_layout *layout, unsigned flags, const struct bsn_map **map)
{
	struct mkey_object *slot;
	uint32_t hash;

	if (BSN_UNLIKELY(!pool))
		return map_slowly(pool, ep, layout, flags, map);
	if (BSN_UNLIKELY(!layout))
		return map_slowly(pool, ep, layout, flags, map);
	if (BSN_UNLIKELY(!map || !layout->parts || !layout->part_count))
		return map_slowly(pool, ep, layout, flags, map);
	hash = layout->commit.id ? layout->commit.hash : map_hash_of(layout);
	pool->none.hash = hash; /* there the search ends in any case */
	slot = pool->buckets[hash & pool->bucket_mask];
	while (slot->hash != hash)
		slot = slot->next_alike;
	if (slot == &pool->none)
		return map_anew(pool, ep, layout, flags, map, hash);
	if (!is_known_as(slot, layout) || flags > BSN_MAP_KEY ||
	    BSN_SHARED_LOAD(slot->known.ready[flags]) != ep)
		return map_slowly(pool, ep, layout, flags, map);
	map_place(slot, layout);
	pool_use(slot);
	*map = &slot->known.map;
	return 0;
}

int bsn_mkey_invalidate(struct bsn_ep *ep, struct bsn_mkey *mkey, uint64_t id, unsigned flags)
{
	struct mkey_object *slot = mkey_slot(mkey);
	int err = check_change(ep, slot);

	if (err)
		return err;
	if (slot->state == BSN_MKEY_UNKNOWN)
		return fail(EINVAL,
			    "the queue of its UMR failed: configure it, which makes it anew, or "
			    "give it back");
	err = umr_post_invalidate(ep->sq, slot->target.key, false, slot->pool->device->caps.fence,
				  id, flags);
	if (err)
		return err;
	mkey_forget(slot);
	mkey_note_post(slot, ep->sq, 0);
	return 0;
}

/* What nests it spans nothing that is there any more, and is not found again. */
static void unlist_nesting(struct bsn_mkey_pool *pool, uint32_t lkey)
{
	for (uint32_t i = 0; i < pool->attr.count; i++) {
		struct mkey_object *slot = &pool->slots[i];
		uint32_t part = 0;
		while (slot->is_nesting && part < mkey_part_count(slot) &&
		       slot->known.parts[part].lkey != lkey)
			part++;
		if (!slot->is_nesting || part == mkey_part_count(slot))
			continue;
		map_unlist(slot);
		unlist_nesting(pool, slot->pub.lkey); /* not deeper than layouts nest */
	}
}

int bsn_mkey_invalidated(const struct bsn_mkey *mkey)
{
	struct mkey_object *slot = mkey_slot(mkey);

	if (!slot || !slot->pool->attr.peers_may_invalidate)
		return fail(EINVAL, "no mkey, or peers may not invalidate those of its pool");
	if (mkey_state_of(slot) == BSN_MKEY_UNKNOWN)
		return 0; /* it is made anew in any case */
	map_unlist(slot);
	unlist_nesting(slot->pool, slot->pub.lkey);
	mkey_forget(slot);
	slot->sq = NULL; /* its UMR was over before the peer could use it */
	slot->state = BSN_MKEY_FREE;
	return 0;
}
