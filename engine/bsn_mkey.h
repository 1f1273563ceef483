/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layouts: in which order a request walks over memory, so that one request gathers or scatters a
 * matrix column or the faces of a cube. The NIC does the walk, by a memory key that spans the
 * layout (mkey), which a request of a send queue configures (UMR: user-mode registration). On plain
 * verbs lists of SGEs do it, as far as they reach.
 *
 *	bsn_layout_create()   checks a layout, once
 *	bsn_layout_map()      makes SGEs of it, to post with: of its blocks, where they fit one
 *	                      request, else of an mkey
 *	bsn_mkey_configure()  makes an mkey that the program keeps span it
 *
 * Later requests of the queue that a UMR was posted to wait for it. A request of another queue, or
 * of the peer, may use the mkey once the UMR has completed: bsn_mkey_state() tells.
 *
 * Rules of every function here, beside those of bsn.h:
 *
 *	Threads   a pool, its layouts and its mkeys belong to one thread, the poster of the queues
 *	          that they are used with
 *	Return    what bsn_sq_post_sgl() returns where a UMR is posted; of a layout:
 *	          -ENODATA    it is empty, or one of its parts is
 *	          -ENOTUNIQ   blocks of one lkey overlap
 *	          -EOVERFLOW  addresses or lengths beyond 64 bits
 *	          -ENOENT     no memory of this device has the lkey: deregistered, or registered
 *	                      without Bunsen
 *	          -EACCES     it is of another protection domain than the pool
 *	          -EFAULT     it reaches outside its memory
 *	          -ELOOP      nested deeper than the device follows, or in itself
 *	          -EMSGSIZE   it takes more translations than the pool's mkeys have, or more UMRs
 *	                      than the queue takes
 *	          -EBUSY      the UMR of an mkey that it nests has not completed on another queue
 *	          Unless 0, nothing was posted and no mkey changed; but one that was
 *	          BSN_MKEY_UNKNOWN may be BSN_MKEY_FREE, with other keys.
 */
#ifndef BSN_MKEY_H
#define BSN_MKEY_H

#include "bsn.h"

BSN_HEADER_BEGIN

struct bsn_mkey_pool;

/** enum bsn_mkey_state */
enum bsn_mkey_state {
	BSN_MKEY_FREE,    /* spans nothing */
	BSN_MKEY_PENDING, /* its UMR has not completed: for later requests of the same queue only */
	BSN_MKEY_READY,   /* for every queue, and for peers */
	BSN_MKEY_UNKNOWN, /* the queue failed before its UMR had completed: the next UMR makes the
			   * mkey anew, with other keys */
};

/**
 * struct bsn_mkey_pool_attr - of mkeys of one kind
 *
 * Each UMR may give an mkey another form of layout. So all forms share a pool, and none runs short
 * while others have mkeys left. An mkey of pages is of another kind from its creation on: these
 * have a pool of their own.
 *
 * @pd: NULL: the device's own
 * @count: how many mkeys; 0: 64
 * @max_translations: of each: parts of a list, or one more than parts of a round; 0: 52
 * @access: of peers and of local writes, IBV_ACCESS_*; 0: everything
 * @page_bytes: a power of two: layouts are lists of parts of just so many bytes (KSM), which the
 *	device translates faster; 0: any layout
 * @takes_any_lkey: memory that was not registered by Bunsen may be used: it cannot be checked
 * @peers_may_invalidate: by a SEND that invalidates the rkey (bsn_send_inval()); else the device
 *	refuses that, and both queue pairs fail. After an invalidation call bsn_invalidated().
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

/** bsn_mkey_pool_destroy - -EBUSY while it has layouts, or mkeys that are taken or pending */
BSN_API int bsn_mkey_pool_destroy(struct bsn_mkey_pool *pool);

/* -- layouts ----------------------------------------------------------------------------------- */

/**
 * struct bsn_part - blocks of memory at equal distances
 * @addr: of the first block; where @lkey is that of an mkey, an offset
 * @bytes: of each block
 * @stride: bytes from where a block begins to where the next one does; with one round not read
 * @lkey: of the memory
 * @reserved: 0
 */
struct bsn_part {
	uint64_t addr;
	uint64_t bytes;
	uint64_t stride;
	uint32_t lkey;
	uint32_t reserved;
};

/**
 * struct bsn_layout_attr - a number of rounds, and in each round one block of every part
 * @rounds: 0 means 1
 *
 *	a list          one round; the parts lie anywhere          AAAA BB CCCCCC
 *	a column        one part, many rounds                      A.. A.. A.. A..
 *	interleaved     several parts, many rounds                 A B, A B, A B, A B
 *
 * The memory of a part may be spanned by an mkey, its address then being an offset in there. So
 * layouts nest.
 *
 * What the device makes of it (bsn_umr.h): a list is one translation a part, of 2^31 bytes at most;
 * several rounds are a repeat block, one entry a part, with a stride and a block of less than 2^16
 * bytes each. What has longer blocks or strides becomes a list of all blocks.
 */
struct bsn_layout_attr {
	const struct bsn_part *parts;
	uint32_t part_count;
	uint32_t rounds;
};

/** struct bsn_layout - a layout that was checked, for the mkeys of its pool */
struct bsn_layout;

/**
 * bsn_layout_create - checks a layout, and keeps what it says; the parts are not needed any more
 *
 * Deregister its memory only once nothing uses the layout. Then it is refused, with -ENOENT, also
 * where an mkey spanned it already. An mkey that it nests stays as it is for as long as the layout
 * is there.
 * Context: allocates.
 */
BSN_API int bsn_layout_create(struct bsn_mkey_pool *pool, const struct bsn_layout_attr *attr,
			      struct bsn_layout **layout);

/** bsn_layout_destroy - -EBUSY while it is mapped; an mkey of one's own spans it all the same */
BSN_API int bsn_layout_destroy(struct bsn_layout *layout);

/** struct bsn_mkey - a key; it spans the bytes 0 to @length - 1 of its layout */
struct bsn_mkey {
	uint64_t length; /* bytes; 0: not configured */
	uint32_t lkey;
	uint32_t rkey;
};

/** enum bsn_map_flags - BSN_MAP_KEY: an mkey in any case: one SGE, which peers may use, too */
enum bsn_map_flags { BSN_MAP_KEY = 1 << 0 };

/**
 * bsn_layout_map - makes SGEs of a layout, to post with: struct bsn_map, and @map of struct bsn_wr
 * @ep: of the queue that will use it; RC: a UMR may have to be posted there, unsignaled and not
 *	rung. No completion tells of it; if it fails, bsn_qp_error() does
 * @flags: enum bsn_map_flags
 *
 * The map is valid until bsn_layout_unmap(), to be called once each request that uses it has
 * completed. After that its mkey stays with the layout until the pool needs it for another one: so
 * mapping the layout again mostly posts nothing.
 *
 * Return: also -ENOBUFS all mkeys are in use; -EBUSY the mkey's UMR, on another queue, has not
 * completed: poll that one; -EOPNOTSUPP BSN_MAP_KEY on plain verbs, or @ep is not of RC.
 */
BSN_API int bsn_layout_map(struct bsn_layout *layout, struct bsn_ep *ep, unsigned flags,
			   const struct bsn_map **map);

/*
 * bsn_post() of a map: on plain verbs a WRITE or READ of more SGEs than a request takes becomes
 * several requests, of which only the last completes; others are refused with -EMSGSIZE, as are
 * 2^31 bytes and more in one request.
 */

/** bsn_layout_unmap - what was mapped is used no more; each map once */
BSN_API void bsn_layout_unmap(const struct bsn_map *map);

/* -- mkeys by hand ----------------------------------------------------------------------------- */

/**
 * bsn_mkey_take - an mkey for the program to configure; it spans nothing yet
 *
 * Its keys differ from those of its last user: a request with the old ones is refused once it is
 * configured.
 * Return: 0; -ENOBUFS all are in use.
 */
BSN_API int bsn_mkey_take(struct bsn_mkey_pool *pool, struct bsn_mkey **mkey);

/** bsn_mkey_give - gives it back; -EBUSY where a layout nests it, or its UMR has not completed */
BSN_API int bsn_mkey_give(struct bsn_mkey *mkey);

/**
 * bsn_mkey_configure - posts the UMR by which @mkey spans @layout, which is of the same pool
 * @id, @flags: as of any post
 *
 * No request that uses what it spanned before may be outstanding: the device may read it again.
 * Return: -EBUSY where another layout nests it.
 */
BSN_API int bsn_mkey_configure(struct bsn_ep *ep, struct bsn_mkey *mkey, struct bsn_layout *layout,
			       uint64_t id, unsigned flags);

/**
 * bsn_mkey_invalidate - posts the request (LOCAL_INV) after which it spans nothing
 * Return: -EINVAL its state is unknown; -EBUSY where a layout nests it.
 */
BSN_API int bsn_mkey_invalidate(struct bsn_ep *ep, struct bsn_mkey *mkey, uint64_t id,
				unsigned flags);

/** bsn_mkey_state - its state, as far as the queue's CQ was polled; the poster's thread */
BSN_API enum bsn_mkey_state bsn_mkey_state(struct bsn_mkey *mkey);

/* -- memory windows ---------------------------------------------------------------------------- */

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

/**
 * struct bsn_window_attr - of a memory window
 * @is_type_1: for any queue, and bound anew without an invalidation; else it is of type 2
 */
struct bsn_window_attr {
	struct bsn_pd *pd;
	bool is_type_1;
};

/** bsn_window_create - -EOPNOTSUPP the device has no UMR, or the path is plain verbs */
BSN_API int bsn_window_create(struct bsn_device *device, const struct bsn_window_attr *attr,
			      struct bsn_window **window);
BSN_API int bsn_window_destroy(struct bsn_window *window);

/**
 * bsn_window_bind - posts the request by which a peer may reach @memory through the window
 * @memory: 2^31 bytes at most, registered with IBV_ACCESS_MW_BIND, and with IBV_ACCESS_LOCAL_WRITE
 *	if the peer may write
 * @access: IBV_ACCESS_REMOTE_*, IBV_ACCESS_ZERO_BASED
 * @id, @flags: as of any post
 *
 * A window of type 2 belongs to the queue from then on. The rkey changes at once; give it to the
 * peer by a message of the same queue, or once the request has completed.
 * Return: -EBUSY type 2, and it is bound; -EMSGSIZE longer; -EACCES without those rights, or of
 * another protection domain; -EFAULT outside its memory. Where Bunsen did not register the memory,
 * only the device finds that out.
 */
BSN_API int bsn_window_bind(struct bsn_ep *ep, struct bsn_window *window,
			    const struct bsn_sge *memory, int access, uint64_t id, unsigned flags);

/** bsn_window_invalidate - posts the request (LOCAL_INV) that takes a window of type 2 back */
BSN_API int bsn_window_invalidate(struct bsn_ep *ep, struct bsn_window *window, uint64_t id,
				  unsigned flags);

/**
 * bsn_invalidated - a peer has invalidated an mkey or a window: BSN_C_INVAL with this rkey
 * @device: of the queue that the message came to
 * @rkey: imm of the completion
 *
 * An mkey then spans nothing: one that was taken may be configured again, and mapping a layout
 * whose map had it gives another one. Layouts that nest it are refused, and requests that use them
 * fail. A window may be bound again.
 * Context: of an mkey the thread of its pool; of a window that which binds it.
 * Return: -ENOENT no mkey and no window has that key now; -EINVAL peers may not invalidate mkeys of
 * its pool.
 */
BSN_API int bsn_invalidated(struct bsn_device *device, uint32_t rkey);

BSN_HEADER_END

#endif
