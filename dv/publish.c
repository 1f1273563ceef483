/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue: publishing what was appended, of one queue or of several. */
#include <pthread.h>

#include "place.h"

/* Copies one WQE from the ring, block by block, since it may wrap. */
static __attribute__((noinline)) void copy_blueflame(struct bsn_sq *sq, uint16_t first,
						     unsigned blocks)
{
	for (unsigned i = 0; i < blocks; i++) {
		const uint8_t *bb = bsn_sq_slot_of(sq, first + i);
		bsn_store_bb(dv_sq(sq)->store, sq->lane->reg + i * BSN_BB_SIZE, two_words_at(bb),
			     two_words_at(bb + 16), two_words_at(bb + 32), two_words_at(bb + 48));
	}
}

/* The last WQE that was appended. */
static const uint8_t *last_of(const struct bsn_sq *sq)
{
	return dv_sq(sq)->ring + (uint32_t)(sq->last - (uint32_t)(uintptr_t)dv_sq(sq)->ring);
}

/*
 * Writes to the register for all WQEs from @first on: BlueFlame if it is one WQE that fits, else a
 * doorbell of 8 B.
 */
BSN_ALWAYS_INLINE void store_from(struct bsn_sq *sq, uint16_t first)
{
	const unsigned blocks = bsn_sq_blocks_at(sq, first);

	if ((uint16_t)(first + blocks) == sq->pi && dv_sq(sq)->store != BSN_STORE_DOORBELL &&
	    blocks * BSN_BB_SIZE <= dv_lane(sq->lane)->blueflame_bytes) {
		copy_blueflame(sq, first, blocks);
		return;
	}
	ring_doorbell(sq, sq->lane->reg, last_of(sq),
		      (size_t)(uint16_t)(sq->pi - first) * BSN_BB_SIZE);
}

/* Publishes all WQEs from @first on: O1 to O3. */
static int publish_from(struct bsn_sq *sq, uint16_t first)
{
	sq->publish &= (uint8_t)~BSN_PUBLISH_APPENDED;
	bsn_sq_open_register(sq);
	store_from(sq, first);
	bsn_sq_close_register(sq->lane, sq->lane->reg);
	return 0;
}

/* The same on a lane that several threads share: its lock guards the register. */
static __attribute__((noinline)) int publish_locked(struct bsn_sq *sq, uint16_t first)
{
	pthread_spinlock_t *const lock = (pthread_spinlock_t *)dv_lane(sq->lane)->lock;

	pthread_spin_lock(lock);
	publish_from(sq, first);
	pthread_spin_unlock(lock);
	return 0;
}

int bsn_sq_ring(struct bsn_sq *sq)
{
	uint16_t first;

	if (BSN_UNLIKELY(dv_sq(sq)->path))
		return dv_sq(sq)->path->ring(sq);
	first = bsn_sq_first_unrung(sq);
	if (first == sq->pi)
		return 0;
	if (BSN_UNLIKELY(dv_lane(sq->lane)->lock))
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
	if (sq->publish > BSN_PUBLISH_DOORBELL) {
		bsn_sq_append(sq, wqe);
		return bsn_sq_ring(sq);
	}
	bsn_sq_open_register(sq);
	ring_doorbell(sq, sq->lane->reg, wqe, (size_t)(sq->slot - wqe));
	bsn_sq_close_register(sq->lane, sq->lane->reg);
	return 0;
}

/*
 * Several queues. Each group of so many queues shares one barrier for O1, one for O2 and one for
 * O3, whatever their lanes are. A lane has one or two buffers: if more queues of the group share
 * it, O3 also comes before a buffer is reused.
 */
#define RING_GROUP 32

/* A queue of a group, and its first request that was not published. */
struct waiting {
	struct bsn_sq *sq;
	uint16_t first;
};

/* Whether a queue can be published in a group. */
static bool can_be_grouped(const struct bsn_sq *sq)
{
	return !dv_sq(sq)->path && !dv_lane(sq->lane)->lock;
}

/*
 * Stores the records of all queues that have something to publish, and returns how many have. A
 * queue that is named twice has nothing left the second time.
 */
static unsigned open_group(struct waiting *group, struct bsn_ep *const *eps, unsigned count)
{
	unsigned waiting = 0;

	for (unsigned i = 0; i < count; i++) {
		struct bsn_sq *const sq = eps[i]->sq;

		if (!can_be_grouped(sq) || bsn_sq_first_unrung(sq) == sq->pi)
			continue;
		group[waiting++] = (struct waiting){ sq, bsn_sq_first_unrung(sq) };
		sq->publish &= (uint8_t)~BSN_PUBLISH_APPENDED;
		bsn_store_index(sq->record, sq->pi);
		dv_lane(sq->lane)->count_unflushed = 0;
	}
	return waiting;
}

static void store_in_group(struct bsn_sq *sq, uint16_t first)
{
	struct bsn_lane *const lane = sq->lane;

	if (dv_lane(lane)->count_unflushed == (lane->toggle ? 2 : 1)) {
		bsn_wc_flush(); /* O3; of other lanes, too, whose counts may stay too high */
		dv_lane(lane)->count_unflushed = 0;
	}
	store_from(sq, first);
	bsn_lane_toggle(lane, lane->reg);
	dv_lane(lane)->count_unflushed++;
}

static void ring_group(struct bsn_ep *const *eps, unsigned count)
{
	struct waiting group[RING_GROUP];
	unsigned waiting;

	bsn_to_device(); /* O1 */
	waiting = open_group(group, eps, count);
	if (!waiting)
		return;
	bsn_wc_start(); /* O2 */
	for (unsigned i = 0; i < waiting; i++)
		store_in_group(group[i].sq, group[i].first);
	bsn_wc_flush(); /* O3 */
}

int bsn_ring_many(struct bsn_ep *const *eps, unsigned count)
{
	int err = 0;

	for (unsigned i = 0; i < count; i++)
		if (!has_queue(eps[i]))
			return refuse(EINVAL, "no endpoint: one is NULL, and no queue was rung");
	for (unsigned i = 0; i < count; i += RING_GROUP)
		ring_group(eps + i, count - i < RING_GROUP ? count - i : RING_GROUP);
	for (unsigned i = 0; i < count; i++) {
		const int one = can_be_grouped(eps[i]->sq) ? 0 : bsn_sq_ring(eps[i]->sq);
		err = err ? err : one;
	}
	return err;
}

uint32_t bsn_sq_count_blueflame(const struct bsn_sq *sq)
{
	if (!has_wqes(sq))
		return 0; /* plain verbs: the provider has the ring */
	return bsn_sq_wide_pi(sq) - (uint16_t)(sq->pi - bsn_sq_first_unrung(sq)) -
	       (uint32_t)(dv_sq(sq)->count_rung / BSN_BB_SIZE);
}
