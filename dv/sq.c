/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue: its room, the turn to signal, the cancelling of appended requests, and the end of
 * a queue that failed.
 */
#include "init.h"
#include "place.h"
#include "refuse.h"

/* -- room ------------------------------------------------------------------------------------- */

/*
 * Retires all up to the last WQE that the poller saw done. That WQE is unchanged, since only this
 * function frees blocks. A CQE of a request that is not outstanding makes no room.
 */
static void refresh_retired(struct bsn_sq *sq)
{
	struct dv_sq *const whole = dv_sq(sq);
	const uint16_t done = __atomic_load_n(&whole->route.hot.done, __ATOMIC_ACQUIRE); /* O6 */
	uint16_t retired;

	if (done == whole->seen_done)
		return;
	whole->seen_done = done;
	retired = (uint16_t)(done + bsn_sq_blocks_at(sq, done));
	if ((uint16_t)(sq->pi - retired) < (uint16_t)(sq->pi - whole->retired))
		whole->retired = retired;
}

uint32_t bsn_sq_outstanding_bb(struct bsn_sq *sq)
{
	refresh_retired(sq);
	/* A full ring of 2^16 blocks does not exist: see the head of bsn_sq.h. */
	return (uint16_t)(sq->pi - dv_sq(sq)->retired);
}

/* A marker may go beyond the capacity: see bsn_sq_post_marker(). */
uint32_t bsn_sq_free_bb(struct bsn_sq *sq)
{
	const uint32_t outstanding = bsn_sq_outstanding_bb(sq);

	return outstanding < dv_sq(sq)->capacity_bb ? dv_sq(sq)->capacity_bb - outstanding : 0;
}

/*
 * Moves the slot from the ring's end to its start, and returns the last of @free_bb blocks from it
 * on. It also clears the field above the index: an index that passed 2^16 (at a ring's end), or
 * went below 0, carried into it.
 */
static uint8_t *find_limit(struct bsn_sq *sq, size_t free_bb)
{
	struct dv_sq *const whole = dv_sq(sq);
	uint8_t *const slot = sq->slot == whole->ring_end ? whole->ring : sq->slot;
	uint8_t *const limit = slot + free_bb * BSN_BB_SIZE - BSN_BB_SIZE;
	uint8_t *const last = whole->ring_end - BSN_BB_SIZE;

	sq->slot = slot;
	sq->ctrl_carry = 0;
	whole->wide_pi += (uint16_t)(sq->pi - (uint16_t)whole->wide_pi);
	return limit < last ? limit : last;
}

void bsn_sq_refill(struct bsn_sq *sq)
{
	const struct dv_sq *const whole = dv_sq(sq);
	uint8_t *last = find_limit(sq, bsn_sq_free_bb(sq));

	if (whole->closed || whole->path)
		last = NULL;
	bsn_sq_set_room(sq, last);
	if (whole->next_fence)
		sq->limit = NULL;
}

void bsn_sq_close(struct bsn_sq *sq, int error, const char *why)
{
	dv_sq(sq)->closed = (uint16_t)error;
	dv_sq(sq)->closed_why = why;
	bsn_sq_set_room(sq, NULL);
}

void bsn_sq_open(struct bsn_sq *sq)
{
	struct dv_sq *const whole = dv_sq(sq);

	whole->closed = 0;
	whole->closed_why = NULL;
	if (!whole->path)
		bsn_sq_refill(sq);
}

void bsn_sq_owe_fence(struct bsn_sq *sq, enum bsn_fence fence)
{
	dv_sq(sq)->next_fence = (uint8_t)fence;
	sq->limit = NULL;
}

/*
 * Two threads that post through one lane without a lock destroy each other's BlueFlame copies, and
 * nothing else tells. A check at each post would cost too much; a check at each look for room does
 * not.
 */
BSN_ALWAYS_INLINE void note_poster(struct bsn_sq *sq)
{
	const uintptr_t self = bsn_this_thread();
	struct bsn_lane *const lane = sq->lane;

	if (dv_lane(lane)->lock ||
	    __atomic_load_n(&dv_lane(lane)->owner_thread, __ATOMIC_RELAXED) == self)
		return;
	if (__atomic_exchange_n(&dv_lane(lane)->owner_thread, self, __ATOMIC_RELAXED))
		__atomic_fetch_add(&dv_lane(lane)->count_posters, 1, __ATOMIC_RELAXED);
}

void bsn_sq_note_poster(struct bsn_sq *sq)
{
	note_poster(sq);
}

bool bsn_sq_refill_for(struct bsn_sq *sq, size_t bytes)
{
	const struct dv_sq *const whole = dv_sq(sq);

	if (whole->path || whole->closed || whole->next_fence)
		return false;
	note_poster(sq);
	bsn_sq_set_room(sq, find_limit(sq, bsn_sq_free_bb(sq)));
	return bsn_sq_has_room(sq, bytes);
}

/* -- the library's turn to signal ------------------------------------------------------------- */

/*
 * From the first hidden completion on, the inline poll leaves this queue's CQEs to bsn_cq_reap().
 * The poller sees that before the CQE can come, since the WQE is not published yet.
 */
static void hide_completion(struct bsn_sq *sq, unsigned index, enum bsn_hidden how)
{
	struct dv_sq *const whole = dv_sq(sq);

	__atomic_store_n(&whole->hidden[index & whole->bb_mask], (uint8_t)how, __ATOMIC_RELAXED);
	if (BSN_LIKELY(whole->route.has_hidden))
		return;
	__atomic_store_n(&whole->route.has_hidden, true, __ATOMIC_RELAXED);
	__atomic_store_n(&whole->route.hot.near_ds, 0, __ATOMIC_RELEASE);
}

/*
 * Signals a request that was built unsignaled. If few blocks were outstanding before it, the caller
 * itself signals often enough, and the turn is skipped.
 */
void bsn_sq_take_turn(struct bsn_sq *sq, uint8_t *wqe)
{
	const uint16_t every = dv_sq(sq)->signal_every;
	struct bsn_ctrl ctrl;

	sq->quiet = (uint8_t)every;
	if (BSN_UNLIKELY(!every))
		return;
	refresh_retired(sq);
	bsn_ctrl_decode(&ctrl, wqe);
	if (BSN_UNLIKELY((uint16_t)(ctrl.wqe_index + 1 - dv_sq(sq)->retired) < every))
		return;
	hide_completion(sq, ctrl.wqe_index, BSN_HIDDEN_SUCCESS);
	ctrl.ce = BSN_CE_ALWAYS;
	bsn_store_wqe(wqe + 8, bsn_to_be64(bsn_ctrl_word(&ctrl, 1)));
}

int bsn_sq_end_turn(struct bsn_sq *sq, size_t bytes, uint32_t flags)
{
	uint8_t *const wqe = sq->slot - bytes;

	bsn_sq_take_turn(sq, wqe);
	bsn_sq_append(sq, wqe);
	return flags & BSN_F_RING ? bsn_sq_ring(sq) : 0;
}

/* -- a WQE is in the ring --------------------------------------------------------------------- */

int bsn_sq_commit(struct bsn_sq *sq, const struct bsn_peer *peer, unsigned ds, uint32_t flags,
		  uint64_t id)
{
	keep_id(sq, sq->slot, peer, ds, id);
	if (!(flags & BSN_F_SIGNALED) && --sq->quiet == 0)
		bsn_sq_take_turn(sq, sq->slot);
	bsn_sq_append(sq, sq->slot);
	bsn_sq_advance(sq, bsn_bytes_of_ds(ds));
	sq->slot = (uint8_t *)(uintptr_t)bsn_sq_slot_of(sq, sq->pi); /* it may wrap */
	bsn_sq_refill(sq);
	return flags & BSN_F_RING ? bsn_sq_ring(sq) : 0;
}

/* -- cancelling ------------------------------------------------------------------------------- */

/*
 * The fence that the next request owes after those from @first on are cancelled: one of them may
 * have paid for an earlier one, also by a fence of its own. -EBUSY: a UMR is among them.
 */
static int fence_owed(const struct bsn_sq *sq, uint16_t first)
{
	unsigned fence = dv_sq(sq)->next_fence;
	struct bsn_ctrl ctrl;

	for (uint16_t at = first; at != sq->pi; at = (uint16_t)(at + bsn_bb_of_ds(ctrl.ds))) {
		bsn_ctrl_decode(&ctrl, bsn_sq_slot_of(sq, at));
		if (ctrl.opcode == BSN_OPCODE_UMR)
			return refuse(
				EBUSY,
				"the UMR of an mkey was appended and cannot be cancelled: ring");
		if (ctrl.fence == BSN_FENCE_NONE || ctrl.fence == fence)
			continue;
		fence = fence || ctrl.fence == BSN_FENCE_SMALL_AND_FENCE ? BSN_FENCE_STRONG_ORDERING
									 : ctrl.fence;
	}
	return (int)fence;
}

/* Cancels appended requests: neither the device nor a poller knows of them. */
int bsn_sq_cancel(struct bsn_sq *sq)
{
	struct dv_sq *const whole = dv_sq(sq);
	uint16_t first, count;
	int fence;

	if (whole->path)
		return whole->path->cancel(sq);
	if (sq->can & BSN_CAN_NOT_CANCEL)
		return refuse(EOPNOTSUPP,
			      "the initiator has several streams, and some of the appended "
			      "requests may be another peer's: ring");
	first = bsn_sq_first_unrung(sq);
	count = (uint16_t)(sq->pi - first);
	fence = fence_owed(sq, first);
	if (fence < 0 || !count)
		return fence < 0 ? fence : 0;
	for (uint16_t at = first; at != sq->pi; at++)
		__atomic_store_n(&whole->hidden[at & whole->bb_mask], BSN_HIDDEN_NOT,
				 __ATOMIC_RELAXED);
	whole->wide_pi = bsn_sq_wide_pi(sq) - count;
	bsn_sq_advance(sq, -(size_t)count * BSN_BB_SIZE);
	sq->slot = (uint8_t *)(uintptr_t)bsn_sq_slot_of(sq, first);
	sq->publish &= (uint8_t)~BSN_PUBLISH_APPENDED;
	sq->quiet = whole->signal_every ? 1 : sq->quiet; /* one of them may have been signaled */
	whole->next_fence = (uint8_t)fence;
	bsn_sq_refill(sq);
	return 0;
}

int bsn_cancel(struct bsn_ep *ep)
{
	return has_queue(ep) ? bsn_sq_cancel(ep->sq) : bsn_sq_no_queue(ep);
}

uint32_t bsn_sq_room(struct bsn_sq *sq)
{
	return bsn_sq_free_bb(sq) / bsn_bb_of_ds(dv_sq(sq)->max_ds);
}

uint32_t bsn_room(struct bsn_ep *ep)
{
	if (!is_open(ep))
		return 0;
	return dv_sq(ep->sq)->path ? dv_sq(ep->sq)->path->room(ep->sq) : bsn_sq_room(ep->sq);
}

/* -- the end of a failed queue ---------------------------------------------------------------- */

/* Counts the outstanding requests; *@last becomes the control segment of the last. */
static uint32_t walk_outstanding(struct bsn_sq *sq, struct bsn_ctrl *last)
{
	uint32_t count = 0;

	refresh_retired(sq);
	for (uint16_t at = dv_sq(sq)->retired; at != sq->pi;
	     at = (uint16_t)(at + bsn_bb_of_ds(last->ds))) {
		bsn_ctrl_decode(last, bsn_sq_slot_of(sq, at));
		count++;
	}
	return count;
}

bool bsn_sq_ends_quietly(struct bsn_sq *sq)
{
	struct bsn_ctrl last = { .ce = BSN_CE_ALWAYS };

	walk_outstanding(sq, &last);
	return last.ce != BSN_CE_ALWAYS;
}

uint32_t bsn_sq_count_outstanding(struct bsn_sq *sq)
{
	struct bsn_ctrl last;

	return walk_outstanding(sq, &last);
}

/*
 * A queue may be full of requests that succeed without a CQE, and then only the marker can make
 * room. So the marker may take the one block that the ring has beyond its capacity, and at a flush
 * the one CQE that the CQ has beyond it.
 */
int bsn_sq_post_marker(struct bsn_sq *sq)
{
	const uint32_t what = BSN_OPCODE_NOP | BSN_F_SIGNALED | BSN_F_RING;

	if (bsn_sq_outstanding_bb(sq) > dv_sq(sq)->bb_mask)
		return refuse(EAGAIN, "the send queue is full: poll its CQ");
	bsn_sq_refill(sq);
	hide_completion(sq, sq->pi, BSN_HIDDEN_ALWAYS);
	put_control(sq->slot, sq, NULL, what, 1, 0);
	pay_fence(sq, sq->slot, what);
	return bsn_sq_commit(sq, NULL, 1, what, 0);
}
