/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts uses: an mkey uses the layout that it spans, and a layout uses the mkeys that it nests. */
#include "mkey.h"

#include <stdlib.h>

#include "sq.h"

/* -- the UMR that an mkey waits for ------------------------------------------------------------ */

/* Whether all requests before @block have completed; right within 2^32 blocks. */
static bool is_done(struct bsn_sq *sq, uint32_t block)
{
	const uint32_t outstanding = bsn_sq_outstanding_bb(sq);

	return bsn_sq_wide_pi(sq) - block >= outstanding;
}

/*
 * The poller of a failed queue marks it as failed before it flushes requests, so the mark is read
 * last.
 */
enum bsn_mkey_state mkey_state_of(struct mkey_object *mkey)
{
	bool is_over;

	if (mkey->state != BSN_MKEY_PENDING || !mkey->sq)
		return mkey->state;
	is_over = is_done(mkey->sq, mkey->posted);
	if (dv_sq(mkey->sq)->route.has_failed)
		mkey->state = BSN_MKEY_UNKNOWN;
	else if (is_over)
		mkey->state = mkey->layout ? BSN_MKEY_READY : BSN_MKEY_FREE;
	else
		return BSN_MKEY_PENDING;
	mkey->reads_table = false;
	mkey->sq = NULL;
	return mkey->state;
}

/* -- uses -------------------------------------------------------------------------------------- */

/* Ends a use. The pool takes those idle mkeys last that still span a layout for maps. */
void mkey_unuse(struct mkey_object *mkey)
{
	if (--mkey->uses)
		return;
	if (mkey->layout && mkey->layout->lent == mkey) {
		TAILQ_INSERT_TAIL(&mkey->pool->idle, mkey, idle);
	} else {
		TAILQ_INSERT_HEAD(&mkey->pool->idle, mkey, idle);
		mkey_forget(mkey);
	}
}

int mkey_refuse_nested(const struct mkey_object *mkey)
{
	return fail(EBUSY, "%u layouts nest this mkey: destroy them first", mkey->uses - 1);
}

void layout_unuse(struct bsn_layout *layout)
{
	if (--layout->uses)
		return;
	for (uint32_t i = 0; i < layout->memory_count; i++)
		if (layout->memory[i].mkey)
			mkey_unuse(layout->memory[i].mkey);
	free(layout);
}

void mkey_forget(struct mkey_object *mkey)
{
	struct bsn_layout *const layout = mkey->layout;

	mkey->layout = NULL;
	mkey->pub.length = 0;
	if (!layout)
		return;
	if (layout->lent == mkey)
		layout->lent = NULL;
	layout_unuse(layout);
}
