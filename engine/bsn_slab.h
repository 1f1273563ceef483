/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slabs: registered buffers of one size, taken and given back in O(1). The rules of bsn.h apply.
 *
 * Each thread takes buffers through its own view, which keeps some of them, and exchanges batches
 * with the store that all views share. A slab that one thread uses has no lock.
 */
#ifndef BSN_SLAB_H
#define BSN_SLAB_H

#include "bsn_mem.h"

BSN_HEADER_BEGIN

/**
 * struct bsn_slab_store - holds the buffers that no view keeps; an application may have its own
 * @make: makes an empty store for @count buffers, or returns a negative errno
 * @take: takes all @n: true; or none: false. Any thread.
 * @give: gives @n back, never more than were made. Any thread.
 * @count: how many it has; called while no thread takes or gives
 */
struct bsn_slab_store {
	int (*make)(uint32_t count, void **store);
	void (*unmake)(void *store);
	bool (*take)(void *store, void **buffers, uint32_t n);
	void (*give)(void *store, void *const *buffers, uint32_t n);
	uint32_t (*count)(void *store);
};

/**
 * struct bsn_slab_attr
 * @size_bytes: of each buffer; rounded up to whole cache lines of 64 bytes
 * @count: buffers
 * @memory: as for bsn_buf_alloc()
 * @store: NULL: a stack, under a lock unless @has_one_owner
 * @has_one_owner: one thread uses all views; not with a @store, which does its own locking
 */
struct bsn_slab_attr {
	size_t size_bytes;
	uint32_t count;
	const struct bsn_mr_attr *memory;
	const struct bsn_slab_store *store;
	bool has_one_owner;
};

/** struct bsn_slab - its memory, with the keys of all buffers */
struct bsn_slab {
	const struct bsn_mr *mr;
	size_t size_bytes;
	uint32_t count;
};

BSN_API int bsn_slab_create(struct bsn_device *device, const struct bsn_slab_attr *attr,
			    struct bsn_slab **slab);

/** bsn_slab_destroy - Return: 0; -EBUSY a buffer is in use, or a view was not emptied */
BSN_API int bsn_slab_destroy(struct bsn_slab *slab);

/** BSN_SLAB_KEEPS - buffers that a view keeps at most; it takes and gives half of them at a time */
#define BSN_SLAB_KEEPS 64

/** struct bsn_slab_view - one thread's view of a slab; call bsn_slab_view_empty() at its end */
struct bsn_slab_view {
	struct bsn_slab *slab;
	uint32_t kept;
	void *buffers[BSN_SLAB_KEEPS];
};

BSN_API int bsn_slab_view_init(struct bsn_slab_view *view, struct bsn_slab *slab);

/** bsn_slab_view_empty - gives back what the view keeps; the view stays usable */
BSN_API void bsn_slab_view_empty(struct bsn_slab_view *view);

BSN_API bool bsn_slab_refill(struct bsn_slab_view *view);
BSN_API void bsn_slab_spill(struct bsn_slab_view *view);

/**
 * bsn_slab_get - takes a buffer; NULL: all are in use, or in other views
 *
 * Its bytes are those of its last user. The buffer that was given back last is taken first.
 *
 * Context: the view's thread; no allocation, no system call; a lock at most once in
 * BSN_SLAB_KEEPS / 2 calls, and none if the slab has one owner.
 */
static inline void *bsn_slab_get(struct bsn_slab_view *view)
{
	if (__builtin_expect(!view->kept, 0) && !bsn_slab_refill(view))
		return NULL;
	return view->buffers[--view->kept];
}

/** bsn_slab_put - gives back a buffer, which may have come from another view of the same slab */
static inline void bsn_slab_put(struct bsn_slab_view *view, void *buffer)
{
	if (__builtin_expect(view->kept == BSN_SLAB_KEEPS, 0))
		bsn_slab_spill(view);
	view->buffers[view->kept++] = buffer;
}

BSN_HEADER_END

#endif
