/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pools of mkeys, and what they span. A slot is a layout that is remembered, with an mkey where the
 * path has mkeys: pool.c makes and keeps the slots, mkey.c configures their mkeys, map.c finds the slot
 * of a layout. Private to engine/mem/.
 */
#ifndef MEM_MKEY_H
#define MEM_MKEY_H

#include <stddef.h>

#include "../path.h"
#include "bsn_mkey.h"
#include "keys.h"
#include "layout.h"
#include "umr_plain.h"

/* A place in a ring of slots without uses; the pool has the ends. */
struct idle {
	struct idle *older, *newer;
};

/*
 * @known: what look-ups compare; its uses are maps, or the taker of the mkey, and the slots whose layouts nest
 *	it: without any it may become another layout. Its parts are copies of the layout's; of an mkey of one's
 *	own only where they nest others.
 * @idle: of those without uses; others may be there, too, until somebody looks
 * @target: the mkey, to UMRs
 * @several: room for parts, where there are several
 * @sges: what the parts are as SGEs, where they are posted as such
 * @table: translations, in memory that the device reads
 * @sq: the queue whose UMR configured it; NULL: the UMR has completed, or there was none
 * @quick_sq: whose UMRs may change the mkey at once, nothing being the matter with either; NO_QUEUE: look
 * @posted, @lap: the first basic block after the UMR, and the 32 bits it is counted from: mkey_posted()
 * @depth: levels of mkeys from here to memory, this one included
 * @next_alike: of the layouts of one hash
 */
struct mkey_object {
	struct bsn_remembered known; /* first */
	struct bsn_mkey pub;
	struct bsn_mkey_pool *pool;
	void *handle; /* of the path's mkey; NULL: there is none */
	struct known_key key;
	struct umr_target target;
	uint32_t wants_key; /* the map's flag */
	uint32_t hash;
	struct bsn_part *several;
	struct bsn_sge *sges;
	struct bsn_sge key_sge;
	uint8_t *table;
	uint32_t table_lkey;
	struct bsn_sq *sq;
	struct bsn_sq *quick_sq;
	uint32_t lap;
	uint16_t posted;
	uint8_t state; /* enum bsn_mkey_state, but that PENDING may have become another */
	uint8_t depth;
	bool is_listed; /* in the hash */
	bool is_nesting;
	struct mkey_object *next_alike;
	struct idle idle;
};

/* Keys of memory that a pool keeps at hand. */
enum { POOL_KEYS = 16 };

/* bsn_mkey_configure() of an mkey that the queue may change at once. */
typedef int mkey_configure_function(struct bsn_ep *ep, struct mkey_object *slot,
				    const struct bsn_layout *layout, uint64_t id, unsigned flags);

struct bsn_mkey_pool {
	struct bsn_mkey_front front; /* first; its places that are free have @none */
	atomic_bool has_ready;       /* a slot may be ready for an endpoint */
	struct bsn_device *device;
	struct bsn_pd *pd;
	uint64_t serial;                /* no other pool has it, or had */
	struct bsn_mkey_pool_attr attr; /* every field as it is in force */
	uint32_t max_parts;             /* of a slot */
	uint32_t max_plain_parts;       /* of the quick way; 0: there is none */
	struct umr_order order;         /* of parts that are in another than that of memory */
	struct umr_memory memory[2];    /* used last by a plain layout: by its first part, and the second */
	struct umr_wanted wanted[2];    /* of those */
	uint32_t memory_removed;        /* keys_removed of the device at that time */
	uint32_t max_quick_parts;       /* of those that are in order, beyond the fewest (UMR_ORDERED_FROM), and one more */
	uint32_t max_many_parts;        /* the same beyond the few (UMR_FEW) */
	struct mkey_object *slots;
	struct mkey_object none;  /* where nothing is remembered */
	struct bsn_part no_parts[2];
	struct idle free;        /* those that span nothing: they are taken first */
	struct idle remembered;  /* and those that are found by their layouts */
	umr_keep_parts *keep_parts;
	mkey_configure_function *configure_ordered[2]; /* mkey_choose_configure() */
	mkey_configure_function *configure;           /* what was not committed, by what the last one was */
	mkey_configure_function *configure_committed; /* what was, of several parts */
	uint32_t bucket_mask;
	uint32_t keys_removed;  /* of the device, when the slots were last compared with it */
	uint32_t known_removed; /* the same, when @known was last forgotten */
	struct known_key
		known[POOL_KEYS]; /* keys that were looked up, by their numbers; @pd NULL: none */
	struct bsn_mr *tables;
	uint64_t *scratch;          /* order_scratch() of as many as a slot has parts */
	struct bsn_mkey_pool *next; /* of the device */
	struct mkey_object *buckets[]; /* the last of each is @none */
};

/* pool.c: the slot that was used least recently, spanning nothing; NULL, with a text: all are in use. */
struct mkey_object *pool_take_slot(struct bsn_mkey_pool *pool, const struct bsn_sq *sq);
#define NO_COMMIT 0
#define NO_QUEUE  ((struct bsn_sq *)(uintptr_t)1) /* and not what an endpoint without a queue has */
#define NOT_READY ((const struct bsn_ep *)(uintptr_t)1) /* and not NULL, which somebody may pass */

/* Parts of its layout; 0: none is known. */
static inline uint32_t mkey_part_count(const struct mkey_object *slot)
{
	return (uint32_t)slot->known.shape;
}

static inline uint32_t mkey_uses(const struct mkey_object *slot)
{
	return slot->known.uses;
}

static inline void pool_use(struct mkey_object *slot)
{
	slot->known.uses++;
}

/* The slot leaves its ring, if it is in one. */
static inline void pool_unlink(struct mkey_object *slot)
{
	slot->idle.older->newer = slot->idle.newer;
	slot->idle.newer->older = slot->idle.older;
	slot->idle.older = slot->idle.newer = &slot->idle;
}

/* The oldest slot of a ring without uses; NULL: there is none. Those with uses leave it. */
static inline struct mkey_object *pool_oldest_of(struct idle *end)
{
	while (end->newer != end) {
		struct mkey_object *const slot =
			(struct mkey_object *)((char *)end->newer -
					       offsetof(struct mkey_object, idle));
		if (BSN_LIKELY(!mkey_uses(slot)))
			return slot;
		pool_unlink(slot);
	}
	return NULL;
}

/* The oldest slot without uses, first of those that span nothing; NULL: there is none */
static inline struct mkey_object *pool_oldest_slot(struct bsn_mkey_pool *pool)
{
	struct mkey_object *const slot = pool_oldest_of(&pool->free);

	return slot ? slot : pool_oldest_of(&pool->remembered);
}

/*
 * The mkey becomes somebody else's, by another of the 256 variants of its key: a late request that has the old
 * one is refused once the next UMR has run. Until then it finds what it knew.
 */
static inline void pool_rotate_key(struct mkey_object *slot)
{
	slot->pub.lkey = slot->pub.rkey = umr_next_variant(slot->target.key);
	umr_target_rename(&slot->target, slot->pub.lkey);
}

/* pool.c: one use less; without any it may be taken, later than all others where it is still of worth */
void pool_unuse(struct mkey_object *slot);

/* NULL: of NULL */
static inline struct mkey_object *mkey_slot(const struct bsn_mkey *mkey)
{
	return mkey ? (struct mkey_object *)((char *)(uintptr_t)mkey -
					     offsetof(struct mkey_object, pub))
		    : NULL;
}

/* Its UMR, or invalidation, was posted, or is at once, which takes so many blocks. */
BSN_ALWAYS_INLINE void mkey_note_post(struct mkey_object *slot, struct bsn_sq *sq, uint32_t blocks)
{
	slot->sq = sq;
	slot->lap = sq->wide_pi;
	slot->posted = (uint16_t)(sq->pi + blocks);
	slot->state = BSN_MKEY_PENDING;
}

/* The block after it, modulo 2^32. */
static inline uint32_t mkey_posted(const struct mkey_object *slot)
{
	return slot->lap + (uint16_t)(slot->posted - (uint16_t)slot->lap);
}

/* What its mkey spans is not known. */
static inline void mkey_lose(struct mkey_object *slot)
{
	slot->state = BSN_MKEY_UNKNOWN;
	slot->quick_sq = NO_QUEUE;
}

/* pool.c: another mkey for the slot, since the state of its own is not known */
int pool_renew_key(struct mkey_object *slot);

/* mkey.c */
enum bsn_mkey_state mkey_state_of(struct mkey_object *slot);
/* The layout, checked for use by @sq; sets what the slot will be, but its mkey. */
int mkey_check(struct mkey_object *slot, const struct bsn_sq *sq, const struct bsn_layout *layout,
	       struct layout_size *size);
/* bsn_mkey_configure() of a slot that may change, unsignaled and not rung; it does not keep the layout yet */
int mkey_configure(struct mkey_object *slot, struct bsn_ep *ep, const struct bsn_layout *layout);
/* The slot, which nests nothing, is of a checked layout from here on, and holds what that nests. */
void mkey_keep_layout(struct mkey_object *slot, const struct bsn_layout *layout);
/* It spans nothing, and nests nothing. */
void mkey_forget(struct mkey_object *slot);

/* The same of any layout; who can do without looks at everything does so first. */
mkey_configure_function mkey_configure_known;
/* The same of one that was committed, fits a WQE, and of memory that is there; the queue has not failed. */
mkey_configure_function mkey_configure_committed;
/* Where there was no room for the UMR, or it is unusual. */
mkey_configure_function mkey_configure_elsewhere;
/* Posts the UMR whose translations, @padded, are in the ring already, where they are to be. */
int mkey_post_put(struct bsn_sq *sq, struct mkey_object *slot, uint64_t length, uint64_t id,
		  unsigned flags, uint32_t padded);
/* The same of such as were put by vectors. */
int mkey_post_put_wide(struct bsn_sq *sq, struct mkey_object *slot, uint64_t length, uint64_t id,
		       unsigned flags, uint32_t padded);

/* Whether the memory that was used last has the part, and is there. */
BSN_ALWAYS_INLINE bool mkey_is_of_last_memory(const struct bsn_mkey_pool *pool,
					      const struct bsn_part *part)
{
	const uint32_t removed =
		atomic_load_explicit(&pool->device->keys_removed, memory_order_acquire);

	return BSN_LIKELY(pool->memory_removed == removed && umr_key_of(part) == pool->memory[0].key);
}

/* quick.c: the quickest of this CPU for what is like a layout that was in order, of two keys in turn or of one */
mkey_configure_function *mkey_choose_configure(const struct bsn_mkey_pool *pool, bool has_turns);
mkey_configure_function *mkey_choose_committed(void);

/* A number that no commit and no pool of the process has had. */
uint64_t pool_next_serial(void);

/* Which commit a layout is known by to the pool. */
static inline uint64_t commit_of(const struct bsn_mkey_pool *pool, const struct bsn_layout *layout)
{
	const uint64_t id = layout->commit.id;

	return BSN_UNLIKELY(id && layout->commit.pool != pool->serial) ? NO_COMMIT : id;
}

/* Whether the pool checked the layout; it was of memory that is there if no key was removed since. */
static inline bool is_committed(const struct bsn_mkey_pool *pool, const struct bsn_layout *layout)
{
	return layout->commit.id && layout->commit.pool == pool->serial;
}

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

static inline uint32_t map_hash_of(const struct bsn_layout *layout)
{
	return layout->part_count == 1 ? hash_of_part(layout->parts) : hash_of_list(layout);
}

/* map.c: bsn_layout_map(), whatever there is to look at */
int map_slowly(struct bsn_mkey_pool *pool, struct bsn_ep *ep, const struct bsn_layout *layout,
	       unsigned flags, const struct bsn_map **map);
/* map.c: how the pool's layouts are compared, and copied, by what the CPU has */
void map_choose(struct bsn_mkey_pool *pool);
/* map.c: the next look-up of the layout finds the slot at its place, for as long as no other one wants it. */
void map_place(struct mkey_object *slot, const struct bsn_layout *layout);

/* Whoever maps it next has to look at it. */
static inline void map_not_ready(struct mkey_object *slot)
{
	for (unsigned i = 0; i <= BSN_MAP_KEY; i++)
		__atomic_store_n(&slot->known.ready[i], NOT_READY, __ATOMIC_RELAXED);
}
/* map.c: the slot is found by its layout from here on. */
static inline void map_list_slot(struct mkey_object *slot, uint32_t hash)
{
	struct mkey_object **bucket = &slot->pool->buckets[hash & slot->pool->bucket_mask];

	slot->hash = hash;
	slot->next_alike = *bucket;
	slot->is_listed = true;
	*bucket = slot;
}

/* The slot is mapped as one SGE of its mkey, which has less than 2^31 bytes. */
static inline void map_as_key(struct mkey_object *slot)
{
	slot->key_sge = (struct bsn_sge){ .lkey = slot->pub.lkey,
					  .length = slot->pub.length > BSN_DATA_MAX_BYTES
							    ? (uint32_t)BSN_DATA_MAX_BYTES
							    : (uint32_t)slot->pub.length };
	slot->known.map.sge = &slot->key_sge;
	slot->known.map.sge_count = 1;
	slot->known.map.length = slot->pub.length;
	slot->known.map.mkey = &slot->pub;
}

/* The flags of a map, or whether it needs an mkey all the same, having more blocks than a request has SGEs. */
static inline uint32_t map_wants_key(const struct bsn_ep *ep, const struct bsn_layout *layout,
				     unsigned flags)
{
	if (flags & BSN_MAP_KEY)
		return BSN_MAP_KEY;
	return (uint64_t)layout->part_count * layout_rounds(layout) > ep->sq->max_sge
		       ? BSN_MAP_KEY << 1
		       : 0;
}

/* A slot that is found by its layout leaves those of its hash. */
static inline void map_leave(struct mkey_object *slot)
{
	struct bsn_mkey_pool *pool = slot->pool;
	struct mkey_object **at = &pool->buckets[slot->hash & pool->bucket_mask];

	while (*at != slot)
		at = &(*at)->next_alike;
	*at = slot->next_alike;
	slot->is_listed = false;
	map_not_ready(slot);
}

/* The slot is no longer found by its layout. */
static inline void map_unlist(struct mkey_object *slot)
{
	if (!slot->is_listed)
		return;
	map_leave(slot);
	slot->known.commit = NO_COMMIT;
	if (!mkey_uses(slot)) { /* among those that span nothing */
		pool_use(slot);
		pool_unuse(slot);
	}
}

#endif
