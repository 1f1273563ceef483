/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes layouts: checks the parts, and converts them to translations and SGEs. */
#include "mkey.h"

#include <stdlib.h>

/* -- memory ------------------------------------------------------------------------------------ */

static int gone(uint32_t lkey)
{
	return fail(ENOENT,
		    "no memory has lkey 0x%x: it was deregistered, or it was registered without "
		    "Bunsen, which a pool allows by takes_any_lkey",
		    lkey);
}

/* @sq: the queue that will use it; NULL: any */
static int check_nested(struct mkey_object *inner, uint32_t lkey, const struct bsn_sq *sq)
{
	const enum bsn_mkey_state state = mkey_state_of(inner);

	if (inner->pub.lkey != lkey)
		return gone(lkey);
	if (!inner->pub.length)
		return fail(EINVAL,
			    "the nested mkey 0x%x spans nothing: bsn_mkey_configure() first", lkey);
	if (state == BSN_MKEY_UNKNOWN)
		return fail(EINVAL,
			    "the queue failed before the UMR of the nested mkey 0x%x completed: "
			    "configure the mkey, which gives it another lkey",
			    lkey);
	if (state == BSN_MKEY_PENDING && sq && inner->sq != sq)
		return fail(EBUSY,
			    "the UMR of the nested mkey 0x%x, on another queue, has not completed: "
			    "poll that queue's CQ",
			    lkey);
	return layout_check(inner->layout, sq); /* the memory that it spans may be gone */
}

/*
 * Refuses memory of another protection domain, or that does not contain all that the layout uses.
 */
static int check_reach(const struct bsn_mkey_pool *pool, const struct layout_memory *memory,
		       const struct known_key *key)
{
	const uint64_t length = key->mkey ? key->mkey->pub.length : key->length;

	if (key->pd != pool->pd)
		return fail(EACCES, "lkey 0x%x is of another protection domain than the pool",
			    memory->lkey);
	if (memory->first < key->addr || memory->end - key->addr > length)
		return fail(
			EFAULT,
			"the layout reaches outside the memory of lkey 0x%x: it has bytes 0x%llx "
			"to 0x%llx",
			memory->lkey, (unsigned long long)memory->first,
			(unsigned long long)memory->end - 1);
	return 0;
}

/* What is known of an lkey, from the pool's own table if it is there; NULL: nothing. */
static const struct known_key *find_key(struct bsn_mkey_pool *pool, uint32_t lkey)
{
	struct known_key *const key = &pool->known[lkey / 256 % POOL_KEYS];
	const uint32_t removed = atomic_load(&pool->device->keys_removed);

	if (pool->known_removed != removed) {
		memset(pool->known, 0, sizeof(pool->known));
		pool->known_removed = removed;
	}
	if (key->pd && key->lkey == lkey)
		return key;
	if (keys_find(pool->device, lkey, key))
		return key;
	key->pd = NULL;
	return NULL;
}

static int find_memory(struct bsn_mkey_pool *pool, struct layout_memory *memory)
{
	const struct known_key *const key = find_key(pool, memory->lkey);
	int err = 0;

	if (!key)
		return pool->attr.takes_any_lkey ? 0 : gone(memory->lkey);
	memory->mkey = key->mkey;
	if (key->mkey)
		err = check_nested(key->mkey, memory->lkey, NULL);
	return err ? err : check_reach(pool, memory, key);
}

/* Checks memory that find_memory() found when the layout was made. */
static int check_known_memory(struct bsn_mkey_pool *pool, const struct layout_memory *memory)
{
	const struct known_key *const key = find_key(pool, memory->lkey);

	if (!key || key->mkey)
		return pool->attr.takes_any_lkey ? 0 : gone(memory->lkey);
	return check_reach(pool, memory, key);
}

int layout_check_changes(struct bsn_layout *layout, const struct bsn_sq *sq)
{
	const uint32_t removed = atomic_load(&layout->device->keys_removed);
	int err = 0;

	for (uint32_t i = 0; i < layout->memory_count && !err; i++) {
		const struct layout_memory *const memory = &layout->memory[i];
		if (memory->mkey)
			err = check_nested(memory->mkey, memory->lkey, sq);
		else if (layout->keys_removed != removed)
			err = check_known_memory(layout->pool, memory);
	}
	if (!err)
		layout->keys_removed = removed;
	return err;
}

/* -- the form ---------------------------------------------------------------------------------- */

/*
 * The form of the translations: a page each, one per part, a repeat block of all parts, or one per
 * block.
 */
enum form { PAGES, LIST, REPEAT, BLOCKS };

static bool are_pages(const struct making *m)
{
	for (uint32_t i = 0; i < m->part_count; i++)
		if (m->parts[i].bytes != m->pool->attr.page_bytes)
			return false;
	return m->rounds == 1;
}

/* The cheapest form, or why there is none. @count: translations */
static int choose_form(const struct making *m, enum form *form, uint64_t *count)
{
	const uint64_t most = m->pool->attr.max_translations;

	*count = m->part_count;
	*form = LIST;
	if (m->pool->attr.page_bytes) {
		*form = PAGES;
		if (!are_pages(m))
			return fail(EINVAL,
				    "the pool has page_bytes: it takes only lists of parts of %llu "
				    "bytes",
				    (unsigned long long)m->pool->attr.page_bytes);
	} else if (m->rounds > 1 && m->longest <= BSN_REPEAT_MAX_STRIDE &&
		   m->pool->device->caps.has_repeat) {
		*form = REPEAT;
		*count += 1;
	} else if (m->rounds > 1 || m->longest > BSN_KLM_MAX_BYTES) {
		*form = BLOCKS;
		*count = layout_blocks(m, BSN_KLM_MAX_BYTES);
	}
	if (*count <= most)
		return 0;
	if (*form != BLOCKS)
		return fail(EMSGSIZE,
			    "the layout takes %llu translations: the pool's mkeys have %llu "
			    "(max_translations)",
			    (unsigned long long)*count, (unsigned long long)most);
	return fail(EMSGSIZE,
		    "the layout's blocks or strides have more than %u bytes, so it takes a list of "
		    "%llu translations: the pool's mkeys have %llu",
		    BSN_REPEAT_MAX_STRIDE, (unsigned long long)*count, (unsigned long long)most);
}

/* On plain verbs a SEND is one request, so a larger pool may not help. */
static int too_many_sges(const struct bsn_mkey_pool *pool, uint64_t count)
{
	const uint32_t most = pool->attr.max_translations, in_one = pool->device->info.max_sge;

	return fail(EMSGSIZE, "%llu SGEs: the pool's layouts have %u (max_translations)%s",
		    (unsigned long long)count, most,
		    count > in_one ? "; on plain verbs a WRITE or READ of more is split, but a "
				     "SEND cannot be: copy the data"
				   : "");
}

/*
 * Counts the SGEs of all blocks. *@count 0: no request has as many, so only an mkey can span them.
 * Plain verbs have no mkeys, but split a WRITE or READ: more than max_translations is an error.
 */
static int count_sges(const struct making *m, uint64_t *count)
{
	const bool has_mkeys = m->pool->device->path->mkey_create;
	const uint32_t most =
		has_mkeys ? m->pool->device->info.max_sge : m->pool->attr.max_translations;

	*count = layout_blocks(m, BSN_DATA_MAX_BYTES);
	if (*count <= most)
		return 0;
	if (!has_mkeys)
		return too_many_sges(m->pool, *count);
	*count = 0;
	return 0;
}

/* -- what requests take ------------------------------------------------------------------------ */

/*
 * Lists all blocks in order. A block that begins where the last one ends is joined to it, and one
 * of more than @most bytes is split. Returns the number of SGEs.
 */
static uint32_t list_blocks(struct bsn_sge *to, const struct making *m, uint64_t most)
{
	const struct bsn_part *const last = m->parts + m->part_count;
	struct bsn_sge *at = to;
	uint64_t end = 0; /* of the last SGE */

	for (uint32_t round = 0; round < m->rounds; round++) {
		for (const struct bsn_part *part = m->parts; part != last; part++) {
			uint64_t addr = part->addr + round * part->stride, bytes = part->bytes;
			if (addr == end && at != to && part->lkey == at[-1].lkey &&
			    at[-1].length + bytes <= most) {
				at[-1].length += (uint32_t)bytes;
				end += bytes;
				continue;
			}
			end = addr + bytes;
			for (; bytes > most; addr += most, bytes -= most)
				*at++ = (struct bsn_sge){ addr, (uint32_t)most, part->lkey };
			*at++ = (struct bsn_sge){ addr, (uint32_t)bytes, part->lkey };
		}
	}
	return (uint32_t)(at - to);
}

BSN_ALWAYS_INLINE void put_klm(uint8_t *at, uint64_t addr, uint32_t bytes, uint32_t lkey)
{
	const struct bsn_klm klm = { .byte_count = bytes, .mkey = lkey, .va = addr };

	bsn_klm_encode(at, &klm);
}

/* Puts a translation per part; a page's has no length. */
static void put_list(uint8_t *at, const struct making *m, enum form form)
{
	const struct bsn_part *const last = m->parts + m->part_count;

	for (const struct bsn_part *part = m->parts; part != last; part++, at += BSN_XLT_SIZE)
		put_klm(at, part->addr, form == PAGES ? 0 : (uint32_t)part->bytes, part->lkey);
}

static void put_repeat(uint8_t *at, const struct making *m)
{
	const struct bsn_part *const last = m->parts + m->part_count;
	const struct bsn_repeat repeat = { .byte_count = (uint32_t)(m->bytes / m->rounds),
					   .op = BSN_REPEAT_OP,
					   .repeat_count = m->rounds,
					   .num_entries = m->part_count };

	bsn_repeat_encode(at, &repeat);
	for (const struct bsn_part *part = m->parts; part != last; part++) {
		const struct bsn_repeat_entry entry = { .stride = (uint16_t)part->stride,
							.byte_count = (uint16_t)part->bytes,
							.mkey = part->lkey,
							.va = part->addr };
		at += BSN_XLT_SIZE;
		bsn_repeat_entry_encode(at, &entry);
	}
}

/*
 * Puts a translation per block. They are SGEs first, in the same memory, since both have 16 bytes.
 */
static uint32_t put_blocks(uint8_t *at, const struct making *m)
{
	_Static_assert(sizeof(struct bsn_sge) == BSN_XLT_SIZE, "one takes the place of the other");
	const uint32_t count = list_blocks((struct bsn_sge *)(void *)at, m, BSN_KLM_MAX_BYTES);

	for (uint32_t i = 0; i < count; i++, at += BSN_XLT_SIZE) {
		const struct bsn_sge block = *(const struct bsn_sge *)(const void *)at;
		put_klm(at, block.addr, block.length, block.lkey);
	}
	return count;
}

/* @count: as chosen. Returns the number of translations. */
static uint32_t put_translations(uint8_t *at, const struct making *m, enum form form,
				 uint32_t count)
{
	if (form == BLOCKS)
		return put_blocks(at, m);
	if (form == REPEAT)
		put_repeat(at, m);
	else
		put_list(at, m, form);
	return count;
}

/* -- creation ---------------------------------------------------------------------------------- */

/* Chooses the form, and counts translations and SGEs, or says why there are too many. */
static int choose(const struct making *m, enum form *form, uint64_t *translations, uint64_t *sges)
{
	const int err = m->pool->device->path->mkey_create ? choose_form(m, form, translations) : 0;

	return err ? err : count_sges(m, sges);
}

static int check_memory(struct making *m)
{
	int err = layout_measure(m);

	for (uint32_t i = 0; i < m->memory_count && !err; i++)
		err = find_memory(m->pool, &m->memory[i]);
	return err;
}

/* Makes the checked layout; NULL: no memory. @translations, @sges: room for them */
static struct bsn_layout *make(const struct making *m, enum form form, uint32_t translations,
			       uint32_t sges)
{
	const size_t padded = (size_t)umr_padded(translations) * BSN_XLT_SIZE;
	const size_t memory_bytes = m->memory_count * sizeof(*m->memory);
	struct bsn_layout *layout =
		malloc(sizeof(*layout) + padded + sges * sizeof(struct bsn_sge) + memory_bytes);
	struct bsn_sge *sge;
	uint8_t *at;

	if (!layout)
		return NULL;
	*layout = (struct bsn_layout){ .pool = m->pool,
				       .device = m->pool->device,
				       .map = { .length = m->bytes, .layout = layout },
				       .depth = 1,
				       .uses = 1 };
	layout->translations = at = (uint8_t *)(layout + 1);
	layout->map.sge = sge = (struct bsn_sge *)(void *)(at + padded);
	layout->memory = (struct layout_memory *)(void *)(sge + sges);
	if (translations) {
		translations = put_translations(at, m, form, translations);
		layout->translation_count = umr_padded(translations);
		memset(at + (size_t)translations * BSN_XLT_SIZE, 0,
		       (size_t)(layout->translation_count - translations) * BSN_XLT_SIZE);
	}
	if (sges)
		layout->map.sge_count = list_blocks(sge, m, BSN_DATA_MAX_BYTES);
	memcpy(layout->memory, m->memory, memory_bytes);
	layout->memory_count = m->memory_count;
	return layout;
}

/* Counts a use of each mkey that the layout nests, so that they stay as they are. */
static void hold_nested(struct bsn_layout *layout)
{
	for (uint32_t i = 0; i < layout->memory_count; i++) {
		struct mkey_object *const inner = layout->memory[i].mkey;
		if (!inner)
			continue;
		mkey_use(inner);
		if (layout->depth <= inner->layout->depth)
			layout->depth = inner->layout->depth + 1;
	}
}

static int check_attr(const struct bsn_mkey_pool *pool, const struct bsn_layout_attr *attr)
{
	if (!attr || (!attr->parts && attr->part_count))
		return fail(EINVAL, "no layout, or no parts of it");
	if (!attr->part_count)
		return fail(ENODATA, "the layout is empty: it needs one part at least");
	if (attr->part_count > pool->attr.max_translations)
		return pool->device->path->mkey_create
			       ? fail(EMSGSIZE,
				      "%u parts: the pool's layouts have %u at most "
				      "(max_translations)",
				      attr->part_count, pool->attr.max_translations)
			       : too_many_sges(pool, attr->part_count);
	return 0;
}

int bsn_layout_create(struct bsn_mkey_pool *pool, const struct bsn_layout_attr *attr,
		      struct bsn_layout **out)
{
	struct making m = { .pool = pool, .ascends = true };
	struct bsn_layout *layout;
	uint64_t translations = 0, sges;
	enum form form = LIST;
	uint32_t removed;
	int err;

	if (!pool || !out)
		return fail(EINVAL, "no pool, or no place for the layout");
	err = check_attr(pool, attr);
	if (err)
		return err;
	m.parts = attr->parts;
	m.part_count = attr->part_count;
	m.rounds = attr->rounds ? attr->rounds : 1;
	m.memory = pool->memory;
	m.room = pool->room;
	removed = atomic_load(&pool->device->keys_removed);
	err = check_memory(&m);
	if (!err)
		err = choose(&m, &form, &translations, &sges);
	if (!err && !(m.ascends && m.rounds == 1))
		err = layout_check_overlap(&m); /* choose() has limited the blocks */
	if (err)
		return err;
	layout = make(&m, form, (uint32_t)translations, (uint32_t)sges);
	if (!layout)
		return fail(ENOMEM, "no memory");
	layout->keys_removed = removed;
	hold_nested(layout);
	pool->layouts++;
	*out = layout;
	return 0;
}

int bsn_layout_destroy(struct bsn_layout *layout)
{
	struct mkey_object *mkey;

	if (!layout)
		return 0;
	mkey = layout->lent;
	if (layout->maps)
		return fail(EBUSY, "%u maps of the layout are in use: unmap them", layout->maps);
	layout->pool->layouts--;
	layout->lent = NULL;
	if (mkey && !mkey->uses)
		mkey_empty(mkey);
	layout_unuse(layout);
	return 0;
}
