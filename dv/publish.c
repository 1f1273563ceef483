/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue: publishing what was appended, of one queue or of several. */
#include <pthread.h>

#include "publish.h"
#include "refuse.h"
#include "sq.h"

static bool takes_blueflame(const struct bsn_sq *sq, unsigned blocks)
{
	return sq->store != BSN_STORE_DOORBELL && blocks * BSN_BB_SIZE <= sq->lane->blueflame_bytes;
}

/* One WQE from the ring: block after block, since it may wrap. */
static __attribute__((noinline)) void copy_blueflame(struct bsn_sq *sq, uint16_t first,
						     unsigned blocks)
{
	for (unsigned i = 0; i < blocks; i++) {
		const uint8_t *bb = bsn_sq_slot_of(sq, first + i);
		bsn_store_bb(sq->store, sq->lane->reg + i * BSN_BB_SIZE, two_words_at(bb),
			     two_words_at(bb + 16), two_words_at(bb + 32), two_words_at(bb + 48));
	}
}

/* The last WQE that was appended. */
static const uint8_t *last_of(const struct bsn_sq *sq)
{
	return sq->ring + (uint32_t)(sq->last - (uint32_t)(uintptr_t)sq->ring);
}

/* For everything from @first on. */
static void ring_doorbell(struct bsn_sq *sq, uint16_t first)
{
	sq->count_doorbells++;
	bsn_store_mmio(sq->lane->reg, word_at(last_of(sq)));
	sq->count_rung += (size_t)(uint16_t)(sq->pi - first) * BSN_BB_SIZE;
}

/* Everything from @first on, into the register: a lone WQE by BlueFlame where that fits. */
BSN_ALWAYS_INLINE void store_from(struct bsn_sq *sq, uint16_t first)
{
	const unsigned blocks = bsn_sq_blocks_at(sq, first);

	if ((uint16_t)(first + blocks) == sq->pi && takes_blueflame(sq, blocks))
		copy_blueflame(sq, first, blocks);
	else
		ring_doorbell(sq, first);
}

/* Everything from @first on: O1 to O3. */
static int publish_from(struct bsn_sq *sq, uint16_t first)
{
	sq->publish &= (uint8_t)~BSN_PUBLISH_APPENDED;
	bsn_sq_open_register(sq);
	store_from(sq, first);
	bsn_sq_close_register(sq->lane, sq->lane->reg);
	return 0;
}

/* The same on a lane of several threads: one at a time uses the register. */
static __attribute__((noinline)) int publish_locked(struct bsn_sq *sq, uint16_t first)
{
	pthread_spinlock_t *const lock = (pthread_spinlock_t *)sq->lane->lock;

	sq->publish &= (uint8_t)~BSN_PUBLISH_APPENDED;
	bsn_to_device(); /* O1 */
	bsn_store_index(sq->record, sq->pi);
	pthread_spin_lock(lock);
	bsn_wc_start(); /* O2 */
	store_from(sq, first);
	bsn_sq_close_register(sq->lane, sq->lane->reg);
	pthread_spin_unlock(lock);
	return 0;
}

int bsn_sq_ring(struct bsn_sq *sq)
{
	uint16_t first;

	if (BSN_UNLIKELY(sq->path))
		return sq->path->ring(sq);
	first = bsn_sq_first_unrung(sq);
	if (first == sq->pi)
		return 0;
	if (BSN_UNLIKELY(sq->lane->lock))
		return publish_locked(sq, first);
	return publish_from(sq, first);
}

int bsn_ring(struct bsn_ep *ep)
{
	return has_queue(ep) ? bsn_sq_ring(ep->sq) : bsn_sq_no_queue(ep);
}

int bsn_sq_publish(struct bsn_sq *sq, size_t bytes)
{
	return publish(sq, sq->slot - bytes, bytes);
}

int bsn_sq_publish_cold(struct bsn_sq *sq, const uint8_t *wqe)
{
	bsn_sq_append(sq, wqe);
	return bsn_sq_ring(sq);
}

/*
 * Several queues. So many have one barrier for O1, one for O2 and one for O3 between them, whatever
 * their lanes are. A lane has two buffers: where more than two of these queues share it, O3 is also
 * kept before a buffer is used again.
 */
#define RING_GROUP 32

/* Whether a queue is published with others, not by itself. */
static bool is_ours_alone(const struct bsn_sq *sq)
{
	return !sq->path && !sq->lane->lock;
}

static void store_with_others(struct bsn_sq *sq, uint16_t first)
{
	struct bsn_lane *const lane = sq->lane;

	if (lane->count_unflushed == (lane->toggle ? 2 : 1)) {
		bsn_wc_flush(); /* O3; other lanes' stores left, too, but they may count on */
		lane->count_unflushed = 0;
	}
	store_from(sq, first);
	bsn_lane_toggle(lane, lane->reg);
	lane->count_unflushed++;
}

/* What of a queue that is named twice is left: nothing. */
static uint16_t open_with_others(struct bsn_sq *sq)
{
	const uint16_t first = bsn_sq_first_unrung(sq);

	if (first == sq->pi)
		return first;
	sq->publish &= (uint8_t)~BSN_PUBLISH_APPENDED;
	bsn_store_index(sq->record, sq->pi);
	return first;
}

static void ring_group(struct bsn_ep *const *eps, unsigned count)
{
	uint16_t first[RING_GROUP];
	bool is_any = false;

	bsn_to_device(); /* O1 */
	for (unsigned i = 0; i < count; i++) {
		struct bsn_sq *const sq = eps[i]->sq;
		first[i] = is_ours_alone(sq) ? open_with_others(sq) : sq->pi;
		is_any |= first[i] != sq->pi;
	}
	if (!is_any)
		return;
	bsn_wc_start(); /* O2 */
	for (unsigned i = 0; i < count; i++)
		if (first[i] != eps[i]->sq->pi)
			store_with_others(eps[i]->sq, first[i]);
	bsn_wc_flush(); /* O3 */
	for (unsigned i = 0; i < count; i++)
		if (is_ours_alone(eps[i]->sq))
			eps[i]->sq->lane->count_unflushed = 0;
}

int bsn_ring_many(struct bsn_ep *const *eps, unsigned count)
{
	int err = 0;

	for (unsigned i = 0; i < count; i++)
		if (!has_queue(eps[i]))
			return refuse(EINVAL, "no endpoint among those to ring; none was rung");
	for (unsigned i = 0; i < count; i += RING_GROUP)
		ring_group(eps + i, count - i < RING_GROUP ? count - i : RING_GROUP);
	for (unsigned i = 0; i < count; i++) {
		const int one = is_ours_alone(eps[i]->sq) ? 0 : bsn_sq_ring(eps[i]->sq);
		err = err ? err : one;
	}
	return err;
}

uint32_t bsn_sq_count_blueflame(const struct bsn_sq *sq)
{
	if (!has_wqes(sq))
		return 0; /* the provider's are not known */
	return bsn_sq_wide_pi(sq) - (uint16_t)(sq->pi - bsn_sq_first_unrung(sq)) -
	       (uint32_t)(sq->count_rung / BSN_BB_SIZE);
}
