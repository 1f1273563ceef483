/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pools of mkeys: pool.c makes and keeps the mkeys, mkey.c configures them, map.c lends one to a
 * layout, uses.c counts their uses. Private to engine/mem/.
 */
#ifndef MEM_MKEY_H
#define MEM_MKEY_H

#include <stddef.h>
#include <sys/queue.h>

#include "keys.h"
#include "layout.h"
#include "umr.h"

/**
 * struct mkey_object - an mkey of a pool
 * @handle: the path's mkey; NULL: it is gone
 * @umr: the next one, but for the layout; until then the device has the key @umr.key
 * @layout: that it spans; NULL: none
 * @map: of @layout, as the one SGE @sge, of 2^31 - 1 bytes at most
 * @table: room for translations, in memory that the device reads
 * @reads_table: a UMR that has not completed, as far as was polled, points to @table
 * @sq: the queue whose UMR configured it; NULL: the UMR has completed, or there was none
 * @posted: the first basic block after that UMR, modulo 2^32
 * @state: enum bsn_mkey_state, but that PENDING may have become another: mkey_state_of()
 * @uses: its taker, maps, and layouts that nest it; without any it is in @idle
 */
struct mkey_object {
	struct bsn_mkey pub;
	struct bsn_mkey_pool *pool;
	void *handle;
	struct known_key key;
	struct umr umr;
	struct bsn_layout *layout;
	struct bsn_map map;
	struct bsn_sge sge;
	uint8_t *table;
	bool reads_table;
	struct bsn_sq *sq;
	uint32_t posted;
	enum bsn_mkey_state state;
	uint32_t uses;
	TAILQ_ENTRY(mkey_object) idle;
};

/* How many keys of memory a pool remembers. */
enum { POOL_KEYS = 16 };

/**
 * struct bsn_mkey_pool - mkeys of one kind
 * @attr: every field as it is in force
 * @kind: of UMRs that configure its mkeys
 * @idle: mkeys without uses; the first one is taken first
 * @layouts: that were not destroyed
 * @tables: the memory of all tables
 * @known: keys that were looked up, by their numbers; @pd NULL: none
 * @known_removed: keys of the device that were removed before
 * @memory, @room: for a layout that is being made
 */
struct bsn_mkey_pool {
	struct bsn_device *device;
	struct bsn_pd *pd;
	struct bsn_mkey_pool_attr attr;
	struct umr_kind kind;
	struct mkey_object *mkeys;
	TAILQ_HEAD(, mkey_object) idle;
	uint32_t layouts;
	struct bsn_mr *tables;
	struct known_key known[POOL_KEYS];
	uint32_t known_removed;
	struct layout_memory *memory;
	void *room;
	struct bsn_mkey_pool *next; /* of the device */
};

/* pool.c: takes an mkey that spans nothing, for a UMR of @sq; NULL, with a text: all are in use. */
struct mkey_object *mkey_take(struct bsn_mkey_pool *pool, const struct bsn_sq *sq);

/* Begins a use of the mkey, and ends one (uses.c). */
static inline void mkey_use(struct mkey_object *mkey)
{
	if (!mkey->uses++)
		TAILQ_REMOVE(&mkey->pool->idle, mkey, idle);
}

void mkey_unuse(struct mkey_object *mkey);

/* pool.c: makes an idle mkey span nothing, and the next one to be taken. */
void mkey_empty(struct mkey_object *mkey);

/* pool.c: replaces the device's mkey by a new one, since the state of the old one is unknown. */
int mkey_renew(struct mkey_object *mkey);

/* uses.c: the state, as far as was polled. */
enum bsn_mkey_state mkey_state_of(struct mkey_object *mkey);

/*
 * Whether later requests of @sq find the mkey as configured: it has no outstanding UMR, or that is
 * on @sq, which has not failed.
 */
static inline bool mkey_is_ordered(const struct mkey_object *mkey, const struct bsn_sq *sq)
{
	if (mkey->state == BSN_MKEY_PENDING)
		return mkey->sq == sq && !dv_sq(sq)->route.has_failed;
	return mkey->state != BSN_MKEY_UNKNOWN;
}

/*
 * mkey.c: configures an mkey that may change, by a layout that was checked; its completion is
 * hidden.
 */
int mkey_configure(struct mkey_object *mkey, struct bsn_ep *ep, struct bsn_layout *layout);

/* uses.c: -EBUSY: layouts nest the mkey that the program took. */
int mkey_refuse_nested(const struct mkey_object *mkey);

/* uses.c: notes that the mkey spans nothing. */
void mkey_forget(struct mkey_object *mkey);

/* Notes that a peer has invalidated the mkey, by this key. */
int mkey_invalidated(struct mkey_object *mkey, uint32_t rkey);

/* Sets the key that the mkey's next UMR gives it. */
static inline void mkey_set_key(struct mkey_object *mkey, uint32_t key)
{
	mkey->pub.lkey = mkey->pub.rkey = mkey->sge.lkey = mkey->umr.new_key = key;
}

/* NULL: of NULL */
static inline struct mkey_object *mkey_of(const struct bsn_mkey *mkey)
{
	return (struct mkey_object *)(uintptr_t)mkey;
}

#endif
