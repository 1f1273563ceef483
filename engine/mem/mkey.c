/* SPDX-License-Identifier: BSD-2-Clause */
/* Configures mkeys by UMRs, and tells the state of those UMRs. */
#include "mkey.h"

#include "init.h"
#include "sq.h"

/* -- state ------------------------------------------------------------------------------------- */

enum bsn_mkey_state bsn_mkey_state(struct bsn_mkey *mkey)
{
	return mkey ? mkey_state_of(mkey_of(mkey)) : BSN_MKEY_FREE;
}

static void note_post(struct mkey_object *mkey, struct bsn_sq *sq)
{
	mkey->sq = sq;
	mkey->posted = bsn_sq_wide_pi(sq);
	mkey->state = BSN_MKEY_PENDING;
}

/* -- what it spans ----------------------------------------------------------------------------- */

static void span(struct mkey_object *mkey, struct bsn_layout *layout)
{
	if (mkey->layout == layout)
		return;
	mkey_forget(mkey);
	layout->uses++;
	mkey->layout = layout;
	mkey->pub.length = layout->map.length;
	mkey->sge.length = layout->map.length > BSN_DATA_MAX_BYTES ? (uint32_t)BSN_DATA_MAX_BYTES
								   : (uint32_t)layout->map.length;
	mkey->map = (struct bsn_map){ .sge = &mkey->sge,
				      .sge_count = 1,
				      .length = layout->map.length,
				      .mkey = &mkey->pub,
				      .layout = layout };
}

/* -- the UMR ----------------------------------------------------------------------------------- */

/*
 * Posts several UMRs, all or none, for a table that is longer than one WQE can point to. The first
 * changes the mkey, the others the rest of its table. @id and @flags are the last one's, whose
 * completion says that all are done.
 */
static int post_chunks(struct bsn_sq *sq, const struct umr *whole, uint64_t id, uint32_t flags)
{
	const uint32_t bb = (whole->count + UMR_POINTER_MAX - 1) / UMR_POINTER_MAX *
			    bsn_bb_of_ds(umr_ds(whole));
	struct umr chunk = *whole;
	int err = 0;

	if (bb > dv_sq(sq)->capacity_bb)
		return refuse(EMSGSIZE, "the queue is too short for the UMRs of this layout: "
					"create it with a greater send_depth");
	if (bb > dv_sq(sq)->capacity_bb - bsn_sq_outstanding_bb(sq))
		return refuse(EAGAIN, "the send queue has no room now for all UMRs of this layout: "
				      "poll its CQ");
	for (; !err && chunk.first < whole->count; chunk.first += chunk.count) {
		const uint32_t left = whole->count - chunk.first;
		const bool is_last = left <= UMR_POINTER_MAX;
		chunk.translations = whole->translations + (size_t)chunk.first * BSN_XLT_SIZE;
		chunk.count = is_last ? left : UMR_POINTER_MAX;
		err = umr_post(sq, &chunk, is_last ? id : BSN_OWN_ID,
			       is_last ? flags : flags & ~(uint32_t)(BSN_F_SIGNALED | BSN_F_RING));
		chunk.key = chunk.new_key;
	}
	return err;
}

/*
 * Posts a UMR that points to the mkey's table, for more translations than a WQE of the queue has.
 * They are written when the queue has taken the UMR. There is one table, so the UMR before must
 * have completed.
 */
static __attribute__((noinline)) int post_table(struct mkey_object *mkey, struct bsn_sq *sq,
						uint64_t id, uint32_t flags)
{
	const uint32_t unrung = flags & ~(uint32_t)BSN_F_RING;
	struct umr umr = mkey->umr;
	int err;

	if (mkey->reads_table && mkey_state_of(mkey) == BSN_MKEY_PENDING)
		return fail(EBUSY, "the device may still read the mkey's table, which its last UMR "
				   "points to: poll until that has completed");
	umr.translations = mkey->table;
	umr.table_lkey = mkey->pool->tables->lkey;
	err = umr.count > UMR_POINTER_MAX ? post_chunks(sq, &umr, id, unrung)
					  : umr_post(sq, &umr, id, unrung);
	if (!err) {
		memcpy(mkey->table, mkey->umr.translations, (size_t)umr.count * BSN_XLT_SIZE);
		mkey->reads_table = true;
	}
	if (flags & BSN_F_RING && (!err || err == -EAGAIN)) /* a full queue is rung, too */
		bsn_sq_ring(sq);
	return err;
}

BSN_ALWAYS_INLINE int post_umr(struct mkey_object *mkey, struct bsn_sq *sq,
			       const struct bsn_layout *layout, uint64_t id, uint32_t flags)
{
	struct umr *const umr = &mkey->umr;

	umr->length = layout->map.length;
	umr->translations = layout->translations;
	umr->count = layout->translation_count;
	if (BSN_LIKELY(umr->count <= UMR_INLINE_MAX &&
		       bsn_bb_of_ds(umr_ds(umr)) <= dv_sq(sq)->capacity_bb))
		return umr_post(sq, umr, id, flags);
	return post_table(mkey, sq, id, flags);
}

static const char wrong_queue[] = "a UMR is posted to an RC queue pair of the direct path";

static bool takes_umr(const struct bsn_sq *sq)
{
	return has_wqes(sq) && dv_sq(sq)->transport == BSN_TRANSPORT_RC;
}

/* Configures an mkey that may change, by a layout that was checked. */
BSN_ALWAYS_INLINE int configure(struct mkey_object *mkey, struct bsn_sq *sq,
				struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	const uint32_t levels = mkey->pool->device->caps.max_indirection;
	int err = 0;

	if (BSN_UNLIKELY(!takes_umr(sq)))
		return fail(EOPNOTSUPP, wrong_queue);
	if (BSN_UNLIKELY(layout->depth > levels))
		return fail(ELOOP,
			    "the device follows %u mkeys that are nested in each other, and the "
			    "layout nests that many, below the mkey that is to span it",
			    levels);
	if (BSN_UNLIKELY(!mkey_is_ordered(mkey, sq)) && mkey_state_of(mkey) == BSN_MKEY_UNKNOWN) {
		err = mkey_renew(mkey);
		mkey_forget(mkey); /* the new key spans nothing, even if the UMR is refused */
	}
	if (!err)
		err = post_umr(mkey, sq, layout, id, flags);
	if (err)
		return err;
	mkey->umr.key = mkey->umr.new_key;
	span(mkey, layout);
	note_post(mkey, sq);
	return 0;
}

int mkey_configure(struct mkey_object *mkey, struct bsn_ep *ep, struct bsn_layout *layout)
{
	return configure(mkey, ep->sq, layout, BSN_OWN_ID, 0);
}

/* -- mkeys that the program configures --------------------------------------------------------- */

/* 0 if a request to @ep may change @mkey now, or why not. */
BSN_ALWAYS_INLINE int check_change(const struct bsn_ep *ep, struct mkey_object *mkey)
{
	if (!ep || !ep->sq || !mkey)
		return fail(EINVAL, "no endpoint, or no mkey");
	if (mkey->uses > 1)
		return mkey_refuse_nested(mkey);
	if (BSN_UNLIKELY(!mkey_is_ordered(mkey, ep->sq)) && mkey_state_of(mkey) == BSN_MKEY_PENDING)
		return fail(EBUSY, "the mkey's UMR, on another queue, has not completed: poll that "
				   "queue's CQ");
	return 0;
}

static bool nests(const struct bsn_layout *layout, const struct mkey_object *mkey)
{
	for (uint32_t i = 0; i < layout->memory_count; i++)
		if (layout->memory[i].mkey == mkey)
			return true;
	return false;
}

int bsn_mkey_configure(struct bsn_ep *ep, struct bsn_mkey *pub, struct bsn_layout *layout,
		       uint64_t id, unsigned flags)
{
	struct mkey_object *const mkey = mkey_of(pub);
	int err;

	if (!layout || !mkey || layout->pool != mkey->pool)
		return fail(EINVAL, "no layout, or no mkey, or they are of two pools");
	if (layout->depth > 1 && nests(layout, mkey))
		return fail(ELOOP, "the mkey cannot span itself");
	err = check_change(ep, mkey);
	if (!err)
		err = layout_check(layout, ep->sq);
	return err ? err : configure(mkey, ep->sq, layout, id, flags);
}

int bsn_mkey_invalidate(struct bsn_ep *ep, struct bsn_mkey *pub, uint64_t id, unsigned flags)
{
	struct mkey_object *const mkey = mkey_of(pub);
	int err = check_change(ep, mkey);

	if (err)
		return err;
	if (!takes_umr(ep->sq))
		return fail(EOPNOTSUPP, wrong_queue);
	if (mkey->state == BSN_MKEY_UNKNOWN)
		return fail(EINVAL,
			    "the queue failed before the mkey's UMR completed: configure the mkey, "
			    "which gives it other keys, or give it back");
	err = umr_post_invalidate(ep->sq, mkey->umr.key, false, mkey->pool->device->caps.fence, id,
				  flags);
	if (err)
		return err;
	mkey_forget(mkey);
	note_post(mkey, ep->sq);
	return 0;
}

int mkey_invalidated(struct mkey_object *mkey, uint32_t rkey)
{
	if (mkey->pub.rkey != rkey)
		return fail(ENOENT, "rkey 0x%x was an earlier one of the mkey, which has 0x%x now",
			    rkey, mkey->pub.rkey);
	if (!mkey->pool->attr.peers_may_invalidate)
		return fail(EINVAL, "the mkey's pool was created without peers_may_invalidate");
	if (mkey_state_of(mkey) == BSN_MKEY_UNKNOWN)
		return 0; /* it gets a new key before its next use */
	mkey_forget(mkey);
	mkey->sq = NULL; /* its UMR was over before the peer could use it */
	mkey->state = BSN_MKEY_FREE;
	return 0;
}
