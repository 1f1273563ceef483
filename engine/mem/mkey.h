/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pools of mkeys, and what they span. A slot is a layout that is remembered, with its mkey where the path
 * has some: pool.c makes and keeps the slots, mkey.c configures their mkeys, map.c finds the slot of a
 * layout. Private to engine/mem/.
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
 * @idle: of those without uses
 * @target: the mkey, to UMRs
 * @uses_but_one: maps, or its taker, and the slots whose layouts nest it; -1, which is nobody: it may become
 *	another layout. So that one instruction counts and tells.
 * @parts: a copy of the layout's; of an mkey of one's own only where they nest others
 * @sges: what the parts are as SGEs, where they are posted as such
 * @table: translations, in memory that the device reads
 * @sq: whose UMR configured it; NULL: that has completed, or there was none
 * @quick_sq: whose UMRs may change the mkey at once, nothing being the matter with either; NO_QUEUE: look
 * @posted: its basic block, the first behind the UMR, modulo 2^32
 * @depth: mkeys that lie one behind the other from here to memory, this one included
 * @next_alike: of the layouts of one hash
 */
struct mkey_object {
	struct bsn_map map; /* first */
	struct bsn_mkey pub;
	struct bsn_mkey_pool *pool;
	void *handle; /* of the path's mkey; NULL: there is none */
	struct known_key key;
	struct umr_target target;
	uint32_t uses_but_one;
	uint32_t part_count, rounds;
	uint32_t wants_key; /* the map's flag */
	uint64_t shape;     /* rounds, as they were given, and the number of parts */
	uint64_t commit;    /* id of the one that it was mapped by last; NO_COMMIT: by none */
	const struct bsn_ep *map_ep;
	unsigned map_flags;
	uint64_t
		ready_at; /* keys_removed of the pool when it was READY for @map_ep; NOT_READY: look */
	uint32_t hash;
	struct bsn_part *parts;
	struct bsn_sge *sges;
	struct bsn_sge key_sge;
	uint8_t *table;
	uint32_t table_lkey;
	struct bsn_sq *sq;
	struct bsn_sq *quick_sq;
	uint32_t posted;
	uint8_t state; /* enum bsn_mkey_state, but that PENDING may have become another */
	uint8_t depth;
	bool is_listed; /* in the hash */
	bool is_nesting;
	struct mkey_object *next_alike;
	struct idle idle;
};

/* Keys of memory that a pool keeps at hand. */
enum { POOL_KEYS = 16 };

struct bsn_mkey_pool {
	struct bsn_device *device;
	struct bsn_pd *pd;
	uint64_t serial;                /* no other pool has it, or had */
	struct bsn_mkey_pool_attr attr; /* every field as it is in force */
	uint32_t max_parts;             /* of a slot */
	uint32_t max_plain_parts;       /* of the quick way; 0: there is none */
	struct umr_memory memory;       /* used last by a plain layout */
	uint32_t memory_removed;        /* keys_removed of the device at that time */
	struct mkey_object *slots;
	struct mkey_object *last; /* mapped last; @none: nothing was */
	struct mkey_object none;
	struct bsn_part no_part; /* of @none */
	struct idle free;        /* those that span nothing: they are taken first */
	struct idle remembered;  /* and those that are found by their layouts */
	struct mkey_object **buckets;
	uint32_t bucket_mask;
	uint32_t keys_removed;  /* of the device, when the slots were last compared with it */
	uint32_t known_removed; /* the same, when @known was last forgotten */
	struct known_key
		known[POOL_KEYS]; /* keys that were looked up, by their numbers; @pd NULL: none */
	struct bsn_mr *tables;
	uint64_t *scratch;          /* order_scratch() of as many as a slot has parts */
	struct bsn_mkey_pool *next; /* of the device */
};

/* pool.c: the slot that was used least recently, spanning nothing; NULL, with a text: all are in use. */
struct mkey_object *pool_take_slot(struct bsn_mkey_pool *pool, const struct bsn_sq *sq);
#define NOT_READY UINT64_MAX
#define NO_COMMIT UINT64_MAX
#define NO_QUEUE  ((struct bsn_sq *)(uintptr_t)1) /* and not what an endpoint without a queue has */

/* pool.c: one use less; without any it may be taken, later than all others where it is still of worth */
void pool_unuse(struct mkey_object *slot);

/* NULL: of NULL */
static inline struct mkey_object *mkey_slot(const struct bsn_mkey *mkey)
{
	return mkey ? (struct mkey_object *)((char *)(uintptr_t)mkey -
					     offsetof(struct mkey_object, pub))
		    : NULL;
}

static inline uint32_t mkey_uses(const struct mkey_object *slot)
{
	return slot->uses_but_one + 1;
}

static inline void pool_use(struct mkey_object *slot)
{
	if (BSN_LIKELY(++slot->uses_but_one))
		return;
	slot->idle.older->newer = slot->idle.newer;
	slot->idle.newer->older = slot->idle.older;
}

/* Nobody knows what its mkey spans. */
static inline void mkey_lose(struct mkey_object *slot)
{
	slot->state = BSN_MKEY_UNKNOWN;
	slot->quick_sq = NO_QUEUE;
}

/* pool.c: another mkey for the slot, whose own nobody knows the state of */
int pool_renew_key(struct mkey_object *slot);

/* mkey.c */
enum bsn_mkey_state mkey_state_of(struct mkey_object *slot);
/* The layout, checked for use by @sq; sets what the slot will be, but its mkey. */
int mkey_check(struct mkey_object *slot, const struct bsn_sq *sq, const struct bsn_layout *layout,
	       struct layout_size *size);
/* bsn_mkey_configure() of a slot that may change; it does not keep the layout yet */
int mkey_configure(struct mkey_object *slot, struct bsn_ep *ep, const struct bsn_layout *layout,
		   uint64_t id, unsigned flags);
/* The slot, which nests nothing, is of a checked layout from here on, and holds what that nests. */
void mkey_keep_layout(struct mkey_object *slot, const struct bsn_layout *layout);
/* It spans nothing, and nests nothing. */
void mkey_forget(struct mkey_object *slot);

/* A number that no commit and no pool of the process has had. */
uint64_t pool_next_serial(void);

/* Whether the pool checked the layout; it was of memory that is there if no key was removed since. */
static inline bool is_committed(const struct bsn_mkey_pool *pool, const struct bsn_layout *layout)
{
	return layout->commit.id && layout->commit.pool == pool->serial;
}

/* map.c */
uint32_t map_hash_of(const struct bsn_layout *layout);
/* map.c: the slot is no longer found by its layout. */
void map_unlist(struct mkey_object *slot);

#endif
