/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cache of registrations: finds the lkey of any address of the process. The rules of bsn.h apply.
 *
 * Each thread uses a cache through a view, which keeps the region that was found last. A region is
 * registered at its first use, and stays registered until its memory is invalidated: the cache
 * drops nothing by itself, since a posted request may use it. Before a program unmaps memory it
 * calls bsn_mr_cache_invalidate(); a watch does so for all memory that it knows.
 *
 * Part of a region may be invalidated. Its keys then serve the rest, and the region is deregistered
 * after its last byte was invalidated. Until then the device reaches the old pages, which no
 * program can. If a newer region has all bytes of an older one, searches no longer find the older
 * one; it stays for posted requests, and counts in max_regions.
 */
#ifndef BSN_MR_CACHE_H
#define BSN_MR_CACHE_H

#include "bsn.h"

BSN_HEADER_BEGIN

struct bsn_mr_cache;

/**
 * struct bsn_mr_watch - invalidates memory before it is unmapped
 * @attach: the watch calls bsn_mr_cache_invalidate() from now on; NULL: it never does
 * @detach: after it returns the watch makes no more such calls
 * @extent: widens a range to all that may be registered with it. [*@start, *@end) is the wanted
 *	range, in whole pages, and may grow. Returns false if the watch does not know the range.
 */
struct bsn_mr_watch {
	void *arg;
	int (*attach)(void *arg, struct bsn_mr_cache *cache);
	void (*detach)(void *arg, struct bsn_mr_cache *cache);
	bool (*extent)(void *arg, uint64_t *start, uint64_t *end);
};

/**
 * struct bsn_mr_cache_attr - of all registrations of a cache
 * @quarantine: so many registrations are kept after all of their memory was invalidated: until they
 *	are deregistered the kernel gives their keys to no other region
 * @max_regions: registered regions outside of the quarantine, and parts of them; 0: 65536
 * @watch: must outlive the cache; NULL: the application invalidates
 */
struct bsn_mr_cache_attr {
	struct bsn_pd *pd;
	int access; /* as of struct bsn_mr_attr */
	bool is_read_only;
	uint32_t quarantine;
	uint32_t max_regions;
	const struct bsn_mr_watch *watch;
};

/** bsn_mr_cache_create - makes an empty cache */
BSN_API int bsn_mr_cache_create(struct bsn_device *device, const struct bsn_mr_cache_attr *attr,
				struct bsn_mr_cache **cache);

/**
 * bsn_mr_cache_destroy - deregisters all; requests with its keys must have completed
 *
 * Its views and bsn_mr_cache_invalidate() may not be used any more.
 * Return: 0; -EBUSY a window is bound to a region.
 */
BSN_API int bsn_mr_cache_destroy(struct bsn_mr_cache *cache);

/**
 * struct bsn_mr_view - one thread's view of a cache, by bsn_mr_view_init(); nothing destroys it
 * @last: the region that was found last, or a part of it; its rkey is for peers
 */
struct bsn_mr_view {
	struct bsn_mr last;
	uint64_t end;  /* of last */
	uint64_t seen; /* removals when it was found */
	const uint64_t *removals;
	struct bsn_mr_cache *cache;
};

BSN_API int bsn_mr_view_init(struct bsn_mr_view *view, struct bsn_mr_cache *cache);

/**
 * bsn_mr_view_is_last - whether the region that was found last has these bytes, and is valid
 *
 * Order: sees each invalidation that happened before the call.
 * Context: one thread a view. It makes no call, so a function whose slow path is a tail call needs
 * no frame.
 */
BSN_ALWAYS_INLINE bool bsn_mr_view_is_last(const struct bsn_mr_view *view, const void *addr,
					   uint64_t length)
{
	const uint64_t at = (uintptr_t)addr;

	/* Addresses of a process are too low for this sum to overflow. */
	return BSN_LIKELY(at >= view->last.addr && length <= UINT32_MAX &&
			  at + length <= view->end &&
			  __atomic_load_n(view->removals, __ATOMIC_RELAXED) == view->seen);
}

/**
 * bsn_mr_view_search - bsn_mr_view_get() and bsn_mr_view_find() if the last region lacks the bytes
 * @registers: if no region has the bytes, registers them; false: returns -ENOENT
 */
BSN_API int bsn_mr_view_search(struct bsn_mr_view *view, uint64_t addr, uint64_t length,
			       bool registers);

/**
 * bsn_mr_view_find - whether a region has these bytes; then @view->last is its registration
 *
 * @length is one SGE's. Nothing is registered.
 *
 * Order: sees each invalidation that happened before the call.
 * Context: one thread a view. No allocation, no system call; no lock where it is the last region,
 *	    else it waits while another thread inserts or removes a region.
 */
BSN_ALWAYS_INLINE bool bsn_mr_view_find(struct bsn_mr_view *view, const void *addr, uint32_t length)
{
	return bsn_mr_view_is_last(view, addr, length) ||
	       !bsn_mr_view_search(view, (uintptr_t)addr, length, false);
}

/**
 * bsn_mr_view_get - the same; but if no region has the bytes, it registers the pages that they
 * touch, or with a watch the whole range that it knows around them and no other region has
 *
 * Context: as bsn_mr_view_find() if a region has them; if none has, it allocates, locks and makes
 *	    system calls.
 * Return: 0; -EINVAL no bytes; -EFAULT they are not mapped; -EAGAIN the memory changed while it was
 * registered; -ENOSPC the cache is full; as bsn_mr_register().
 */
BSN_ALWAYS_INLINE int bsn_mr_view_get(struct bsn_mr_view *view, const void *addr, uint64_t length)
{
	return bsn_mr_view_is_last(view, addr, length)
		       ? 0
		       : bsn_mr_view_search(view, (uintptr_t)addr, length, true);
}

/** bsn_mr_view_sge - the SGE of these bytes, after they were found */
BSN_ALWAYS_INLINE struct bsn_sge bsn_mr_view_sge(const struct bsn_mr_view *view, const void *addr,
						 uint32_t length)
{
	return (struct bsn_sge){ (uintptr_t)addr, length, view->last.lkey };
}

/**
 * bsn_mr_cache_invalidate - these bytes are about to be unmapped
 *
 * After it returns no view finds them. Requests that use them must have completed before.
 *
 * Context: any thread, even in a hook of munmap() or a callback of EAL: it takes a lock, and may
 * sleep for it; it allocates nothing, and makes no system call but for the lock. It deregisters
 * nothing: the next bsn_mr_view_get() that registers does, or bsn_mr_cache_reap().
 */
BSN_API void bsn_mr_cache_invalidate(struct bsn_mr_cache *cache, const void *addr, uint64_t length);

/** bsn_mr_cache_reap - deregisters regions that are no longer found, but for the quarantine */
BSN_API int bsn_mr_cache_reap(struct bsn_mr_cache *cache);

/**
 * bsn_mr_cache_flush - deregisters all regions, the quarantine too
 *
 * No request with the cache's keys may be outstanding.
 */
BSN_API int bsn_mr_cache_flush(struct bsn_mr_cache *cache);

/** struct bsn_mr_cache_stats - registered regions, their valid parts, and those in quarantine */
struct bsn_mr_cache_stats {
	uint64_t regions, parts, resting;
	uint64_t registered_bytes;               /* of all three */
	uint64_t registrations, deregistrations; /* since its creation */
};
BSN_API int bsn_mr_cache_stats(struct bsn_mr_cache *cache, struct bsn_mr_cache_stats *stats);

BSN_HEADER_END

#endif
