/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cache of registrations: any address of the process to its lkey. The rules of bsn.h hold here,
 * too.
 *
 * Each thread uses a cache through a view, which remembers the region that was found last. A region
 * is registered when it is first asked for, and stays so until its memory goes: the cache gives up
 * nothing by itself, since a posted request may use it. Code that unmaps memory calls
 * bsn_mr_cache_invalidate() before; a watch does so for all memory that it knows of.
 *
 * Part of a region may go. Its keys then serve what is left of it, and the region is deregistered
 * after the last of its bytes went. Until then the device reaches the old pages, which no program
 * has any more. A region whose bytes are all in a newer one is not found any more; it stays for
 * posted requests, and still counts.
 */
#ifndef BSN_MR_CACHE_H
#define BSN_MR_CACHE_H

#include "bsn.h"

BSN_HEADER_BEGIN

struct bsn_mr_cache;

/**
 * struct bsn_mr_watch - a source of news about memory that comes and goes
 * @attach: from here on the watch calls bsn_mr_cache_invalidate() before memory goes; NULL: it
 *	never does
 * @detach: after its return the watch makes no more such calls
 * @extent: widens a range to what may be registered with it. [*@start, *@end) is the wanted range,
 *	in whole pages, and may grow. Returns false where the watch does not know the range.
 */
struct bsn_mr_watch {
	void *arg;
	int (*attach)(void *arg, struct bsn_mr_cache *cache);
	void (*detach)(void *arg, struct bsn_mr_cache *cache);
	bool (*extent)(void *arg, uint64_t *start, uint64_t *end);
};

/**
 * struct bsn_mr_cache_attr - of all registrations of a cache
 * @quarantine: so many registrations rest after all of their memory went, before they are
 *	deregistered: meanwhile the kernel gives their keys to nobody else
 * @max_regions: regions that are registered and do not rest, and parts that may be found; 0: 65536
 * @watch: NULL: the application invalidates by itself; it outlives the cache
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
 * bsn_mr_cache_destroy - deregisters all; requests that were posted with its keys must have
 * completed
 *
 * No view of it may be used any more, nor bsn_mr_cache_invalidate().
 * Return: 0; -EBUSY a window is still bound to a region.
 */
BSN_API int bsn_mr_cache_destroy(struct bsn_mr_cache *cache);

/**
 * struct bsn_mr_view - one thread's view of a cache; bsn_mr_view_init() makes it, and nothing need
 * end it
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
 * bsn_mr_view_is_last - whether the region that was found last has these bytes, and is still there
 *
 * Order: sees each invalidation that happened before the call.
 * Context: one thread a view. It makes no call, so a function whose slow path is a tail call needs
 * no frame.
 */
BSN_ALWAYS_INLINE bool bsn_mr_view_is_last(const struct bsn_mr_view *view, const void *addr,
					   uint64_t length)
{
	const uint64_t at = (uintptr_t)addr;

	/* No memory of a process is so high that the sum of an SGE could overflow. */
	return BSN_LIKELY(at >= view->last.addr && length <= UINT32_MAX &&
			  at + length <= view->end &&
			  __atomic_load_n(view->removals, __ATOMIC_RELAXED) == view->seen);
}

/**
 * bsn_mr_view_search - bsn_mr_view_get() and bsn_mr_view_find() of another region than the last
 * @registers: what no region has is registered; else -ENOENT
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
 * bsn_mr_view_get - the same; where no region has the bytes, it registers them: the pages that they
 * touch, or what the watch knows around them and no other region has
 *
 * Context: as bsn_mr_view_find() where a region has them; registers where it must: allocates,
 *	    locks, makes system calls.
 * Return: 0; -EINVAL no bytes; -EFAULT they are not mapped; -EAGAIN their memory kept changing
 * while it was registered; -ENOSPC the cache is full; as bsn_mr_register().
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
 * After its return no view finds them. Requests that use them must have completed before.
 *
 * Context: any thread, also in a hook of munmap() or in a callback of EAL: it takes a lock for a
 * moment, allocates nothing, and makes no other system call. Deregistrations that are due wait for
 * the next bsn_mr_view_get() that registers, or for bsn_mr_cache_reap().
 */
BSN_API void bsn_mr_cache_invalidate(struct bsn_mr_cache *cache, const void *addr, uint64_t length);

/** bsn_mr_cache_reap - deregisters what is due, beyond the quarantine */
BSN_API int bsn_mr_cache_reap(struct bsn_mr_cache *cache);

/**
 * bsn_mr_cache_flush - forgets and deregisters all regions, the quarantine too
 *
 * It gives memory and keys back. No request that was posted with the cache's keys may be
 * outstanding.
 */
BSN_API int bsn_mr_cache_flush(struct bsn_mr_cache *cache);

/** struct bsn_mr_cache_stats - @regions are registered, @parts may be found, others rest */
struct bsn_mr_cache_stats {
	uint64_t regions, parts, resting;
	uint64_t registered_bytes;               /* of all three */
	uint64_t registrations, deregistrations; /* since its creation */
};
BSN_API int bsn_mr_cache_stats(struct bsn_mr_cache *cache, struct bsn_mr_cache_stats *stats);

BSN_HEADER_END

#endif
