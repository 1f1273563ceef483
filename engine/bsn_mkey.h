/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layouts: the order in which a request reads or writes memory, so that one request gathers or
 * scatters a matrix column or the faces of a cube. The NIC does so by a memory key that spans the
 * layout (mkey); a request of a send queue configures it (UMR: user-mode registration). On plain
 * verbs lists of SGEs do it, if they are long enough. A block is here a run of bytes in a layout,
 * not 64 B of a ring.
 *
 *	bsn_layout_create()   checks a layout, once
 *	bsn_layout_map()      returns SGEs to post: those of the blocks if they fit one request, or
 *	                      else one of an mkey
 *	bsn_mkey_configure()  lets an mkey that the program keeps span the layout
 *
 * Later requests of the queue that a UMR was posted to wait for it. A request of another queue, or
 * of the peer, may use the mkey after the UMR has completed: bsn_mkey_state() says whether it has.
 *
 * Rules of every function here, beside those of bsn.h:
 *
 *	Threads   one thread uses a pool, its layouts and its mkeys: the poster of their queues
 *	Return    if a UMR is posted, as bsn_sq_post_sgl(); of a layout:
 *	          -ENODATA    it is empty, or one of its parts is
 *	          -ENOTUNIQ   blocks of one lkey overlap
 *	          -EOVERFLOW  addresses or lengths beyond 64 bits
 *	          -ENOENT     no memory of this device has the lkey: deregistered, or registered
 *	                      without Bunsen
 *	          -EACCES     it is of another protection domain than the pool
 *	          -EFAULT     it reaches outside its memory
 *	          -ELOOP      nested deeper than the device follows, or in itself
 *	          -EMSGSIZE   it needs more translations than the pool's mkeys have, or more UMRs
 *	                      than the queue takes
 *	          -EBUSY      the UMR of a nested mkey, on another queue, has not completed
 *	          If not 0, nothing was posted and no mkey changed; except that an mkey in state
 *	          BSN_MKEY_UNKNOWN may become BSN_MKEY_FREE, with other keys.
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
	BSN_MKEY_UNKNOWN, /* the queue failed before its UMR had completed: the next UMR replaces
			   * the mkey, with other keys */
};

/**
 * struct bsn_mkey_pool_attr - of mkeys of one kind
 *
 * Each UMR may give an mkey another form of layout, so all forms share the mkeys of a pool. Only
 * mkeys of pages are of another kind from their creation on, and need their own pool.
 *
 * @pd: NULL: the device's own
 * @count: how many mkeys; 0: 64
 * @max_translations: of each: parts of a list, or one more than parts of a round; 0: 52
 * @access: of peers and of local writes, IBV_ACCESS_*; 0: everything
 * @page_bytes: a power of two: layouts are lists of blocks of this size (KSM), which the device
 *	translates faster; 0: any layout
 * @takes_any_lkey: memory may be registered without Bunsen: lkeys are not checked
 * @peers_may_invalidate: by a SEND that invalidates the rkey (bsn_send_inval()); of other mkeys the
 *	device refuses that, and both queue pairs fail. After an invalidation call
 *	bsn_invalidated(). Source: mlx5_ifc.h struct mlx5_ifc_mkc_bits, en_rinval
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
 * bsn_mkey_pool_create - creates the mkeys
 *
 * On plain verbs a pool has none, and maps layouts as lists of SGEs.
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
 * The lkey of a part may be that of an mkey; its address is then an offset in the mkey. So layouts
 * nest.
 *
 * For the device (bsn_umr.h) a list has one translation for each part, of 2^31 bytes at most.
 * Several rounds are a repeat block, with an entry for each part; its blocks and strides have less
 * than 2^16 bytes. A layout with longer ones becomes a list of all blocks.
 */
struct bsn_layout_attr {
	const struct bsn_part *parts;
	uint32_t part_count;
	uint32_t rounds;
};

/** struct bsn_layout - a layout that was checked, for the mkeys of its pool */
struct bsn_layout;

/**
 * bsn_layout_create - checks a layout, and keeps a copy; the caller may reuse the parts
 *
 * Deregister its memory only after nothing uses the layout. A layout whose memory was deregistered
 * is refused with -ENOENT, even if an mkey spans it. While the layout exists, the mkeys that it
 * nests cannot be configured.
 * Context: allocates.
 */
BSN_API int bsn_layout_create(struct bsn_mkey_pool *pool, const struct bsn_layout_attr *attr,
			      struct bsn_layout **layout);

/** bsn_layout_destroy - -EBUSY while it is mapped; an mkey that spans it stays valid */
BSN_API int bsn_layout_destroy(struct bsn_layout *layout);

/** struct bsn_mkey - a key; it spans the bytes 0 to @length - 1 of its layout */
struct bsn_mkey {
	uint64_t length; /* bytes; 0: not configured */
	uint32_t lkey;
	uint32_t rkey;
};

/** enum bsn_map_flags - BSN_MAP_KEY: always an mkey: one SGE, and an rkey for peers */
enum bsn_map_flags { BSN_MAP_KEY = 1 << 0 };

/**
 * bsn_layout_map - returns SGEs of a layout to post: struct bsn_map, and @map of struct bsn_wr
 * @ep: of the queue that will use the map, RC. If an mkey is needed, a UMR is posted there,
 *	unsignaled and not published. It has no completion; if it fails, bsn_qp_error() says so
 * @flags: enum bsn_map_flags
 *
 * The map is valid until bsn_layout_unmap(); call that after every request that uses the map has
 * completed. The layout then keeps its mkey until the pool needs it for another layout; until then
 * another bsn_layout_map() posts no UMR, unless the mkey is BSN_MKEY_UNKNOWN or was invalidated.
 *
 * Return: also -ENOBUFS all mkeys are in use; -EBUSY the mkey's UMR, on another queue, has not
 * completed: poll that queue; -EOPNOTSUPP BSN_MAP_KEY on plain verbs, or @ep is not of RC.
 */
BSN_API int bsn_layout_map(struct bsn_layout *layout, struct bsn_ep *ep, unsigned flags,
			   const struct bsn_map **map);

/*
 * bsn_post() of a map on plain verbs: a WRITE or READ with more SGEs than a request takes becomes
 * several requests, of which only the last completes. Other opcodes are refused with -EMSGSIZE.
 * Requests of 2^31 bytes and more are refused with -EMSGSIZE on both paths.
 */

/** bsn_layout_unmap - ends the use of a map; once for each map */
BSN_API void bsn_layout_unmap(const struct bsn_map *map);

/* -- mkeys by hand ----------------------------------------------------------------------------- */

/**
 * bsn_mkey_take - takes an mkey that the program will configure; it spans nothing yet
 *
 * Its keys differ from those of its last use: after it is configured the device refuses the old
 * ones.
 * Return: 0; -ENOBUFS all are in use.
 */
BSN_API int bsn_mkey_take(struct bsn_mkey_pool *pool, struct bsn_mkey **mkey);

/** bsn_mkey_give - gives it back; -EBUSY a layout nests it, or its UMR has not completed */
BSN_API int bsn_mkey_give(struct bsn_mkey *mkey);

/**
 * bsn_mkey_configure - posts a UMR after which @mkey spans @layout, which is of the same pool
 * @id, @flags: as of any post
 *
 * No request that uses the mkey may be outstanding: it could read or write by the new layout.
 * Return: -EBUSY another layout nests it.
 */
BSN_API int bsn_mkey_configure(struct bsn_ep *ep, struct bsn_mkey *mkey, struct bsn_layout *layout,
			       uint64_t id, unsigned flags);

/**
 * bsn_mkey_invalidate - posts a request (LOCAL_INV) after which it spans nothing
 * Return: -EINVAL its state is unknown; -EBUSY a layout nests it.
 */
BSN_API int bsn_mkey_invalidate(struct bsn_ep *ep, struct bsn_mkey *mkey, uint64_t id,
				unsigned flags);

/** bsn_mkey_state - its state, by what was polled; call it on the poster's thread */
BSN_API enum bsn_mkey_state bsn_mkey_state(struct bsn_mkey *mkey);

/* -- memory windows ---------------------------------------------------------------------------- */

/**
 * struct bsn_window - a key for a peer; one request binds it to memory, another invalidates it
 * @addr: the peer's address of its first byte: 0 if it was bound with IBV_ACCESS_ZERO_BASED
 * @length: bytes; 0: not bound
 * @rkey: changes with each binding
 */
struct bsn_window {
	uint64_t addr;
	uint64_t length;
	uint32_t rkey;
};

/**
 * struct bsn_window_attr - of a memory window
 * @is_type_1: any queue may bind it, also while it is bound; false: type 2, of one queue, which is
 *	invalidated before it is bound to other memory
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
 * bsn_window_bind - posts a request after which a peer may use @memory by the window's rkey
 * @memory: 2^31 bytes at most, registered with IBV_ACCESS_MW_BIND, and with IBV_ACCESS_LOCAL_WRITE
 *	if the peer may write
 * @access: IBV_ACCESS_REMOTE_*, IBV_ACCESS_ZERO_BASED
 * @id, @flags: as of any post
 *
 * A window of type 2 then belongs to the queue. The rkey changes at once; send it to the peer by a
 * later message of the same queue, or after the request has completed.
 * Return: -EBUSY type 2, and it is bound; -EMSGSIZE longer; -EACCES without those rights, or of
 * another protection domain; -EFAULT outside its memory. If Bunsen did not register the memory,
 * only the device checks this.
 */
BSN_API int bsn_window_bind(struct bsn_ep *ep, struct bsn_window *window,
			    const struct bsn_sge *memory, int access, uint64_t id, unsigned flags);

/** bsn_window_invalidate - posts a request (LOCAL_INV) that invalidates a window of type 2 */
BSN_API int bsn_window_invalidate(struct bsn_ep *ep, struct bsn_window *window, uint64_t id,
				  unsigned flags);

/**
 * bsn_invalidated - tells the library that a peer has invalidated an mkey or a window: BSN_C_INVAL
 * @device: of the queue that the message came to
 * @rkey: imm of the completion
 *
 * An mkey then spans nothing: a taken one may be configured, and a layout that was mapped by it
 * gets another one when it is mapped next. Layouts that nest it are refused, and requests that use
 * them fail. A window may then be bound.
 * Context: for an mkey its pool's thread; for a window the thread that binds it.
 * Return: -ENOENT no mkey and no window has this rkey; -EINVAL peers may not invalidate mkeys of
 * its pool.
 */
BSN_API int bsn_invalidated(struct bsn_device *device, uint32_t rkey);

BSN_HEADER_END

#endif
