/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory keys that span a layout, so that one request gathers or scatters a matrix column or the faces
 * of a cube. The NIC does it (UMR: user-mode registration). On plain verbs lists of SGEs do it, as far
 * as they reach.
 *
 *	bsn_layout_map()      a layout becomes SGEs to post with: its own parts where they fit a
 *	                      request, else one SGE of an mkey; mapping it again costs a look-up
 *	bsn_mkey_configure()  the same by hand, of an mkey that the program keeps
 *	bsn_layout_commit()   checks once a layout that is used often
 *
 * Configuring posts a UMR to the queue of an endpoint. Later requests of that queue wait for it. A
 * request of another queue, or of the peer, may use the mkey once the UMR has completed:
 * bsn_mkey_state() tells.
 *
 * Rules of every function here, beside those of bsn.h:
 *
 *	Threads   a pool belongs to one thread, the poster of the queues that it is used with
 *	Return    what bsn_sq_post_sgl() returns where a UMR is posted; of a layout:
 *	          -ENODATA    it is empty, or one of its parts is
 *	          -ENOTUNIQ   blocks of one lkey overlap
 *	          -EOVERFLOW  addresses or lengths beyond 64 bits
 *	          -ENOENT     no memory of this device has the lkey: deregistered, or not Bunsen's own
 *	          -EACCES     it is of another protection domain than the pool
 *	          -EFAULT     it reaches outside its memory
 *	          -ELOOP      nested deeper than the device follows, or in itself
 *	          -EMSGSIZE   more translations than the pool's mkeys were made for, or UMRs for them
 *	                      than the queue takes
 *	          -EBUSY      the UMR of an mkey that it nests has not completed on another queue
 *	          Unless 0, nothing was posted and no mkey changed.
 */
#ifndef BSN_MKEY_H
#define BSN_MKEY_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "bsn.h"
#include "bsn_layout.h"

BSN_HEADER_BEGIN

struct bsn_mkey_pool;

/** struct bsn_mkey - a key; it spans the bytes 0 to @length - 1 of its layout */
struct bsn_mkey {
	uint64_t length; /* bytes; 0: not configured */
	uint32_t lkey;
	uint32_t rkey;
};

/** enum bsn_mkey_state */
enum bsn_mkey_state {
	BSN_MKEY_FREE,    /* spans nothing */
	BSN_MKEY_PENDING, /* its UMR has not completed: for later requests of the same queue only */
	BSN_MKEY_READY,   /* for every queue, and for peers */
	BSN_MKEY_UNKNOWN, /* the queue failed before its UMR had completed: the next one makes the mkey
			   * anew, with other keys */
};

/**
 * struct bsn_mkey_pool_attr - of mkeys of one kind
 *
 * Each UMR may give an mkey another form of layout: a list or a repeat block, inline or by pointer. So
 * all forms share a pool, and none runs short while others have mkeys left. An mkey of pages is of
 * another kind from its creation on: these have a pool of their own.
 *
 * @pd: NULL: the device's own
 * @count: how many mkeys, and layouts that are remembered; 0: 64
 * @max_translations: of each: parts of a list, or one more than parts of a round; 0: 52
 * @access: of peers and of local writes, IBV_ACCESS_*; 0: everything
 * @page_bytes: a power of two: layouts are lists of parts of just so many bytes (KSM), which the device
 *	translates faster; 0: any layout
 * @takes_any_lkey: memory that was not registered by Bunsen may be used: it cannot be checked
 * @peers_may_invalidate: by a SEND that invalidates the rkey (bsn_send_inval()); else the device
 *	refuses that, and both queue pairs fail. After an invalidation call bsn_mkey_invalidated().
 *	Source: mlx5_ifc.h struct mlx5_ifc_mkc_bits, en_rinval
 */
struct bsn_mkey_pool_attr {
	struct bsn_pd *pd;
	uint32_t count;
	uint32_t max_translations;
	int access;
	uint64_t page_bytes;
	bool takes_any_lkey;
	bool peers_may_invalidate;
};

/**
 * bsn_mkey_pool_create - makes the mkeys
 *
 * On plain verbs a pool has none, and maps what lists of SGEs can do.
 * Return: -EOPNOTSUPP the device or its driver has no mkeys that UMR may change, or none of pages;
 * -EMSGSIZE more translations than the device takes.
 */
BSN_API int bsn_mkey_pool_create(struct bsn_device *device, const struct bsn_mkey_pool_attr *attr,
				 struct bsn_mkey_pool **pool);

/** bsn_mkey_pool_destroy - -EBUSY while an mkey of it is taken, mapped, or being configured on a queue */
BSN_API int bsn_mkey_pool_destroy(struct bsn_mkey_pool *pool);

/** bsn_mkey_pool_forget - forgets the layouts that are not mapped, so that the mkeys they nest are free */
BSN_API int bsn_mkey_pool_forget(struct bsn_mkey_pool *pool);

/* -- layouts ------------------------------------------------------------------------------------ */

/**
 * bsn_layout_length - bytes that a layout spans
 * Return: 0; -ENODATA, -ENOTUNIQ, of blocks of one part, -EOVERFLOW.
 */
BSN_API int bsn_layout_length(const struct bsn_layout *layout, uint64_t *bytes);

/**
 * bsn_layout_commit - checks a layout once, so that no later map or configuration has to
 * @pool: the pool that it is for; with another pool it is as if it were not committed
 * @layout: its parts stay where and as they are for as long as it is used. After a change commit it
 * again.
 *
 * It is there for the same reason as MPI_Type_commit(): the library cannot see whether a layout has
 * changed without looking at it again, which costs what the check does, or, where it is mapped, three
 * instructions a part. Mapping a committed layout is a look-up that costs the same for 1 part and for 1000,
 * and configuring it only writes the translations.
 * Nothing is allocated or kept, so there is nothing to undo, and copies of the structure are as good.
 *
 * A layout that nests others is looked at each time all the same, since those change. Once memory of
 * the device is deregistered, the memory of layouts committed before is looked up again each time:
 * commit them anew.
 *
 * Return: what bsn_mkey_configure() returns of a layout, but not what depends on the queue. Unless 0, the
 * layout is not committed.
 */
BSN_API int bsn_layout_commit(struct bsn_mkey_pool *pool, struct bsn_layout *layout);

/**
 * struct bsn_map - a layout, ready to be posted
 * @sge: for bsn_post(), bsn_write_sgl(), bsn_recv_sgl() and the like
 * @length: of the layout; of an mkey that is longer than a message the SGE has the first 2^31 - 1 bytes
 * @mkey: the mkey of the one @sge; NULL: the SGEs are the parts themselves
 */
struct bsn_map {
	const struct bsn_sge *sge;
	uint32_t sge_count;
	uint64_t length;
	const struct bsn_mkey *mkey;
};

/** enum bsn_map_flags - BSN_MAP_KEY: an mkey in any case, so that it is one SGE and peers may use it */
enum bsn_map_flags { BSN_MAP_KEY = 1 << 0 };

/* -- what inline code knows; the fields are the library's ------------------------------------------ */

/*
 * A layout that is remembered.
 * @part: a copy of its part, where it has but one
 * @parts: of all, in any case
 * @shape: rounds, as they were given, and the number of parts
 * @commit: the one that it was mapped by last
 * @ready: which endpoint may use it at once, by the flags of the map; no endpoint: it has to be looked at
 */
struct bsn_remembered {
	struct bsn_map map __attribute__((aligned(16)));
	struct bsn_part part;
	const struct bsn_part *parts;
	uint64_t shape;
	uint64_t commit;
	const struct bsn_ep *ready[BSN_MAP_KEY + 1];
	uint32_t uses;
};

/*
 * The beginning of a pool.
 * @last: mapped last, of those with one part
 * @places: by a number of the layout, under a mask
 * @are_same: whether parts are those of a layout of as many
 */
struct bsn_mkey_front {
	struct bsn_remembered *last;
	struct bsn_remembered **places;
	bool (*are_same)(const struct bsn_remembered *known, const struct bsn_part *parts);
	uint32_t place_mask;
};

/* bsn_layout_map() of what is not found at once, or is new */
BSN_API int bsn_layout_map_other(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
				 const struct bsn_layout *layout, unsigned flags,
				 const struct bsn_map **map);

/* Rounds, as they were given, and the number of parts. */
BSN_ALWAYS_INLINE uint64_t bsn_layout_shape(const struct bsn_layout *layout)
{
	return (uint64_t)layout->rounds << 32 | layout->part_count;
}

/* Which place a layout of one part has that was not committed. */
BSN_ALWAYS_INLINE uint32_t bsn_part_place(const struct bsn_part *part)
{
	return ((uint32_t)part->addr * 0x9e3779b1u + (uint32_t)part->stride * 0x85ebca77u) >> 12;
}

/* Of several, by the second one: lists often have their first part in common, a header. */
BSN_ALWAYS_INLINE uint32_t bsn_list_place(const struct bsn_part *parts)
{
	return (uint32_t)parts[1].addr * 0x9e3779b1u >> 12;
}

BSN_ALWAYS_INLINE bool bsn_part_is(const struct bsn_part *part, const struct bsn_part *other)
{
#ifdef __SSE2__
	const __m128i *const a = (const __m128i *)(const void *)part;
	const __m128i *const b = (const __m128i *)(const void *)other;
	const __m128i same =
		_mm_and_si128(_mm_cmpeq_epi32(_mm_load_si128(&a[0]), _mm_loadu_si128(&b[0])),
			      _mm_cmpeq_epi32(_mm_load_si128(&a[1]), _mm_loadu_si128(&b[1])));

	return _mm_movemask_epi8(same) == 0xffff;
#else
	return part->addr == other->addr && part->bytes == other->bytes &&
	       part->stride == other->stride && part->lkey == other->lkey &&
	       part->reserved == other->reserved;
#endif
}

/* Of one part, or without any. */
BSN_ALWAYS_INLINE struct bsn_remembered *
bsn_layout_find_part(struct bsn_mkey_front *front, const struct bsn_layout *layout, uint64_t shape)
{
	struct bsn_remembered *known = front->last;

	if (known->shape == shape) {
		if (BSN_LIKELY(bsn_part_is(&known->part, layout->parts)))
			return known;
	} else if (!(uint32_t)shape) {
		return NULL;
	}
	known = front->places[bsn_part_place(layout->parts) & front->place_mask];
	if (BSN_UNLIKELY(known->shape != shape || !bsn_part_is(&known->part, layout->parts)))
		return NULL;
	front->last = known;
	return known;
}

BSN_ALWAYS_INLINE bool bsn_is_ready(const struct bsn_remembered *known, const struct bsn_ep *ep,
				    unsigned flags)
{
	return BSN_LIKELY(BSN_SHARED_LOAD(known->ready[flags]) == ep);
}

/* What is remembered at the place of a layout, if it is that and ready; else NULL. */
BSN_ALWAYS_INLINE struct bsn_remembered *bsn_layout_find(struct bsn_mkey_front *front,
							 const struct bsn_ep *ep,
							 const struct bsn_layout *layout,
							 unsigned flags)
{
	struct bsn_remembered *known;
	uint64_t shape;

	if (layout->commit.id) {
		known = front->places[layout->commit.hash & front->place_mask];
		return BSN_LIKELY(known->commit == layout->commit.id) && bsn_is_ready(known, ep, flags)
			       ? known
			       : NULL;
	}
	if (BSN_UNLIKELY(!layout->parts))
		return NULL;
	shape = bsn_layout_shape(layout);
	if ((uint32_t)shape <= 1) {
		known = bsn_layout_find_part(front, layout, shape);
		return known && bsn_is_ready(known, ep, flags) ? known : NULL;
	}
	known = front->places[bsn_list_place(layout->parts) & front->place_mask];
	/* The call is last: so no register is kept for the endpoint. */
	return BSN_LIKELY(known->shape == shape) && bsn_is_ready(known, ep, flags) &&
			       BSN_LIKELY(front->are_same(known, layout->parts))
		       ? known
		       : NULL;
}

BSN_ALWAYS_INLINE int bsn_layout_look_up(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
					 const struct bsn_layout *layout, unsigned flags,
					 const struct bsn_map **map)
{
	struct bsn_remembered *known;

	if (BSN_IS_NULL(pool) || BSN_IS_NULL(layout) || BSN_IS_NULL(map) ||
	    BSN_UNLIKELY(flags > BSN_MAP_KEY))
		return bsn_layout_map_other(pool, ep, layout, flags, map);
	known = bsn_layout_find((struct bsn_mkey_front *)(void *)pool, ep, layout, flags);
	if (BSN_UNLIKELY(!known))
		return bsn_layout_map_other(pool, ep, layout, flags, map);
	known->uses++;
	*map = &known->map;
	return 0;
}

/**
 * bsn_layout_map - makes SGEs of a layout, to post with
 * @ep: of the queue that will use it; RC: a UMR may have to be posted there, unsignaled and not
 *	rung. No completion tells of it; if it fails, bsn_qp_error() does
 * @flags: enum bsn_map_flags
 *
 * The map is valid until bsn_layout_unmap(), to be called once each request that uses it has completed.
 * After that the layout is remembered for as long as there is room. Mapping a layout that is mapped
 * gives the same map again; each one has to be unmapped.
 *
 * Return: also -ENOBUFS all mkeys are in use; -EBUSY the mkey's UMR, on another queue, has not
 * completed: poll that one; -EOPNOTSUPP BSN_MAP_KEY on plain verbs, or @ep is not of RC.
 */
BSN_POST_API int bsn_layout_map(struct bsn_mkey_pool *pool, struct bsn_ep *ep,
				const struct bsn_layout *layout, unsigned flags,
				const struct bsn_map **map)
	BSN_BODY(bsn_layout_look_up(pool, ep, layout, flags, map))

	/** bsn_layout_unmap - what was mapped is used no more */
	BSN_API void bsn_layout_unmap(const struct bsn_map *map);

/**
 * bsn_post_map - bsn_post() whose local memory is a map
 * @wr: its SGEs are not read
 *
 * On plain verbs a WRITE or READ of more SGEs than a request takes becomes several requests, of which
 * only the last completes; others are refused with -EMSGSIZE, as are 2^31 bytes and more in one request.
 */
BSN_API int bsn_post_map(struct bsn_ep *ep, const struct bsn_wr *wr, const struct bsn_map *map);

/* -- mkeys by hand ------------------------------------------------------------------------------ */

/**
 * bsn_mkey_take - an mkey for the program to configure; it spans nothing yet. -ENOBUFS all are in use
 *
 * Its keys differ from those of its last user: a request with the old ones is refused once it is
 * configured.
 */
BSN_API int bsn_mkey_take(struct bsn_mkey_pool *pool, struct bsn_mkey **mkey);

/** bsn_mkey_give - gives it back; -EBUSY where another layout nests it, or its UMR has not completed */
BSN_API int bsn_mkey_give(struct bsn_mkey *mkey);

/**
 * bsn_mkey_configure - posts the UMR by which @mkey spans @layout
 * @id, @flags: as of any post
 *
 * No request that uses what it spanned before may be outstanding: the device may read it again.
 * Return: -EBUSY where another layout nests it.
 */
BSN_API int bsn_mkey_configure(struct bsn_ep *ep, struct bsn_mkey *mkey,
			       const struct bsn_layout *layout, uint64_t id, unsigned flags);

/**
 * bsn_mkey_invalidate - posts the request (LOCAL_INV) after which it spans nothing
 * Return: -EINVAL its state is unknown; -EBUSY where another layout nests it.
 */
BSN_API int bsn_mkey_invalidate(struct bsn_ep *ep, struct bsn_mkey *mkey, uint64_t id,
				unsigned flags);

/**
 * bsn_mkey_invalidated - the peer invalidated it (BSN_C_INVAL with its rkey): it spans nothing
 * @mkey: one that was taken, or that of a map, which is not found again: unmap it, and map the layout
 * anew
 *
 * Layouts that nest it are not found again either, and requests that use them fail.
 * Return: -EINVAL peers may not.
 */
BSN_API int bsn_mkey_invalidated(const struct bsn_mkey *mkey);

/** bsn_mkey_state - its state, as far as the queue's CQ was polled; the poster's thread */
BSN_API enum bsn_mkey_state bsn_mkey_state(struct bsn_mkey *mkey);

/* -- memory windows ----------------------------------------------------------------------------- */

/**
 * struct bsn_window - a key for a peer, bound to memory by a request and taken back by one
 * @addr: where its memory begins for the peer: 0 where it was bound with IBV_ACCESS_ZERO_BASED
 * @length: bytes; 0: not bound
 * @rkey: another one after each binding
 */
struct bsn_window {
	uint64_t addr;
	uint64_t length;
	uint32_t rkey;
};

/** struct bsn_window_attr - @is_type_1: for any queue, and bound anew without an invalidation; else type 2 */
struct bsn_window_attr {
	struct bsn_pd *pd;
	bool is_type_1;
};

/** bsn_window_create - -EOPNOTSUPP the device has no UMR, which binds it, or the path is plain verbs */
BSN_API int bsn_window_create(struct bsn_device *device, const struct bsn_window_attr *attr,
			      struct bsn_window **window);
BSN_API int bsn_window_destroy(struct bsn_window *window);

/**
 * bsn_window_bind - posts the request by which a peer may reach @memory through the window
 * @memory: 2^31 bytes at most, registered with IBV_ACCESS_MW_BIND, and with IBV_ACCESS_LOCAL_WRITE if the
 *	peer may write
 * @access: IBV_ACCESS_REMOTE_*, IBV_ACCESS_ZERO_BASED
 * @id, @flags: as of any post
 *
 * A window of type 2 belongs to the queue from then on. The rkey changes at once; give it to the peer by a
 * message of the same queue, or once the request has completed.
 * Return: -EBUSY type 2, and it is bound; -EMSGSIZE longer; -EACCES without those rights, or of another
 * protection domain; -EFAULT outside its memory. Where Bunsen did not register the memory, only the
 * device finds that out.
 */
BSN_API int bsn_window_bind(struct bsn_ep *ep, struct bsn_window *window,
			    const struct bsn_sge *memory, int access, uint64_t id, unsigned flags);

/** bsn_window_invalidate - posts the request (LOCAL_INV) that takes a window of type 2 back */
BSN_API int bsn_window_invalidate(struct bsn_ep *ep, struct bsn_window *window, uint64_t id,
				  unsigned flags);

/** bsn_window_invalidated - the peer invalidated it (BSN_C_INVAL with its rkey): it may be bound again */
BSN_API int bsn_window_invalidated(struct bsn_window *window);

BSN_HEADER_END

#endif
