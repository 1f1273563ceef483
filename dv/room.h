/* SPDX-License-Identifier: BSD-2-Clause */
/* What room there is in a send queue. All of it is inline and calls nothing. Private to dv/. */
#ifndef DV_ROOM_H
#define DV_ROOM_H

#include "bsn_build.h"
#include "sq.h"

/*
 * Takes over the last WQE that the poller saw done. It is still as it was built, since only this
 * function frees its slots. A CQE of something that is not outstanding makes no room.
 */
BSN_ALWAYS_INLINE void refresh_retired(struct bsn_sq *sq)
{
	const uint16_t done = __atomic_load_n(&sq->route.done, __ATOMIC_ACQUIRE); /* O6 */
	uint16_t retired;

	if (done == sq->seen_done)
		return;
	sq->seen_done = done;
	retired = (uint16_t)(done + bsn_sq_blocks_at(sq, done));
	if ((uint16_t)(sq->pi - retired) < (uint16_t)(sq->pi - sq->retired))
		sq->retired = retired;
}

BSN_ALWAYS_INLINE uint32_t count_outstanding(struct bsn_sq *sq)
{
	refresh_retired(sq);
	/* A full ring of 2^16 blocks does not exist: see the head of bsn_sq.h. */
	return (uint16_t)(sq->pi - sq->retired);
}

/* A marker may go beyond the capacity: see bsn_sq_post_marker(). */
BSN_ALWAYS_INLINE uint32_t free_blocks(struct bsn_sq *sq)
{
	const uint32_t outstanding = count_outstanding(sq);

	return outstanding < sq->capacity_bb ? sq->capacity_bb - outstanding : 0;
}

/*
 * Moves the slot from the ring's end to its start, and returns the last of @free_bb blocks from it on.
 * An index that came to 2^16, at a ring's end, or went back below 0, carried into the field above it.
 */
BSN_ALWAYS_INLINE uint8_t *find_limit(struct bsn_sq *sq, size_t free_bb)
{
	uint8_t *const slot = sq->slot == sq->ring_end ? sq->ring : sq->slot;
	uint8_t *const limit = slot + free_bb * BSN_BB_SIZE - BSN_BB_SIZE;
	uint8_t *const last = sq->ring_end - BSN_BB_SIZE;

	sq->slot = slot;
	sq->ctrl_carry = 0;
	sq->wide_pi += (uint16_t)(sq->pi - (uint16_t)sq->wide_pi);
	return limit < last ? limit : last;
}

/* Whether it is the last one, or the first. */
BSN_ALWAYS_INLINE bool is_known_poster(struct bsn_lane *lane)
{
	const uintptr_t self = bsn_this_thread();
	uintptr_t none = 0;

	return BSN_LIKELY(__atomic_load_n(&lane->owner_thread, __ATOMIC_RELAXED) == self) ||
	       __atomic_compare_exchange_n(&lane->owner_thread, &none, self, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/*
 * Two threads that post through one lane without a lock tear each other's copies in silence. A look at
 * each post would cost too much; a look whenever credits are counted does not. Each file has this function for itself:
 * of one that it sees, the compiler knows which registers are left as they are.
 */
static __attribute__((noinline, unused)) void note_other_poster(struct bsn_lane *lane, uintptr_t self)
{
	if (lane->lock)
		return; /* any thread may come */
	if (__atomic_exchange_n(&lane->owner_thread, self, __ATOMIC_RELAXED))
		__atomic_fetch_add(&lane->count_posters, 1, __ATOMIC_RELAXED);
}

BSN_ALWAYS_INLINE void note_poster(struct bsn_lane *lane)
{
	if (!is_known_poster(lane))
		note_other_poster(lane, bsn_this_thread());
}

/* Whether a request without a fence of its own may be posted. */
BSN_ALWAYS_INLINE bool is_open(const struct bsn_sq *sq)
{
	return BSN_LIKELY(!sq->closed && !sq->next_fence);
}

/*
 * There may be room although the inline code saw none: the poller has made some, or the slot is at the
 * ring's end. Then the request is like any other. The queue has a ring. This is inline and calls nothing,
 * so that a function that goes on to another one saves no register for it.
 */
BSN_ALWAYS_INLINE void look_for_room(struct bsn_sq *sq, bool has_peers)
{
	if (!is_open(sq))
		return;
	note_poster(sq->lane);
	bsn_sq_set_limit(sq, has_peers, find_limit(sq, free_blocks(sq)));
}

/*
 * The same for the functions of the most common requests: whether there is room for @bb blocks in a queue of one peer,
 * in one piece or not; else one of the other functions has to look. It calls nothing, so that no register is saved.
 */
BSN_ALWAYS_INLINE bool look_quickly(struct bsn_sq *sq, uint32_t bb)
{
	uint32_t outstanding;

	if (BSN_UNLIKELY(!is_open(sq) || !is_known_poster(sq->lane)))
		return false;
	outstanding = count_outstanding(sq);
	if (BSN_UNLIKELY(outstanding + bb > sq->capacity_bb))
		return false;
	bsn_sq_set_limit(sq, false, find_limit(sq, sq->capacity_bb - outstanding));
	return true;
}

#endif
