/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which peer has which slot, which slots are idle, and which were used.
 *
 * A post to a peer that has a slot calls nothing of the pool, and neither does its completion: both are
 * seen in the queue. Without streams its indices tell all. With streams the ring tells the peer of each
 * request; it is read when a peer needs a slot, each request once.
 */
#include "pool.h"

#include <stdlib.h>

#include "posted.h"
#include "sq.h"

/* -- lists -------------------------------------------------------------------------------------- */

static void link_slots(struct bsn_dc_pool *pool, struct slot_list *list, uint16_t before, uint16_t next)
{
	if (before == NO_SLOT)
		list->first = next;
	else
		pool->slots[before].next = next;
	if (next == NO_SLOT)
		list->last = before;
	else
		pool->slots[next].before = before;
}

static void put_between(struct bsn_dc_pool *pool, struct slot_list *list, struct slot *s, uint16_t before,
			uint16_t next)
{
	const uint16_t number = slot_number(pool, s);

	link_slots(pool, list, before, number);
	link_slots(pool, list, number, next);
	list->count++;
}

void list_put_first(struct bsn_dc_pool *pool, struct slot_list *list, struct slot *s)
{
	put_between(pool, list, s, NO_SLOT, list->first);
}

void list_put_last(struct bsn_dc_pool *pool, struct slot_list *list, struct slot *s)
{
	put_between(pool, list, s, list->last, NO_SLOT);
}

void list_remove(struct bsn_dc_pool *pool, struct slot_list *list, struct slot *s)
{
	if (list == &pool->bound && pool->sieve == slot_number(pool, s))
		pool->sieve = s->before; /* the one that was bound after it */
	link_slots(pool, list, s->before, s->next);
	list->count--;
}

void slot_is_last_bound(struct bsn_dc_pool *pool, struct slot *s)
{
	const uint16_t number = slot_number(pool, s), before = s->before, next = s->next;
	struct slot_list *list = &pool->bound;

	if (pool->sieve == number)
		pool->sieve = before;
	if (before == NO_SLOT)
		return;
	pool->slots[before].next = next;
	if (next == NO_SLOT)
		list->last = before;
	else
		pool->slots[next].before = before;
	s->before = NO_SLOT;
	s->next = list->first;
	pool->slots[list->first].before = number;
	list->first = number;
}

/* -- what the ring says ------------------------------------------------------------------------- */

/* Where a walk over the requests since @from begins: those that are not in the ring any more are done. */
static uint32_t still_there(struct bsn_sq *sq, uint32_t from)
{
	const uint32_t pi = bsn_sq_wide_pi(sq);

	return pi - from <= sq->bb_mask + 1u ? from : pi - bsn_sq_outstanding_bb(sq);
}

/* So much was posted that the ring lost some: each of the streams may have been used. */
static void suppose_use(const struct bsn_dc_pool *pool, struct initiator *i)
{
	for (uint32_t k = 0; k < pool->streams; k++)
		i->slots[k].is_used = i->slots[k].peer != NULL;
}

/* Requests of streams that were posted since this was last done. */
static void read_streams(const struct bsn_dc_pool *pool, struct initiator *i)
{
	const uint32_t pi = bsn_sq_wide_pi(i->sq);
	uint32_t at;

	if (pi == i->read_pi)
		return;
	at = still_there(i->sq, i->read_pi);
	if (at != i->read_pi)
		suppose_use(pool, i);
	while (at != pi) {
		const struct bsn_posted posted = bsn_sq_posted_at(i->sq, (uint16_t)at);
		struct slot *s = &i->slots[posted.stream];

		at += posted.count_bb;
		s->end_pi = (uint16_t)at;
		s->is_used = s->is_used || !s->is_new;
		s->is_new = false;
	}
	i->read_pi = pi;
}

bool stream_is_done(const struct bsn_dc_pool *pool, struct slot *s)
{
	struct bsn_sq *sq = s->sq;

	if (bsn_sq_is_done(sq, bsn_sq_done(sq)))
		return true;
	read_streams(pool, s->of);
	return (uint16_t)(sq->pi - s->end_pi) >= bsn_sq_outstanding_bb(sq);
}

bool stream_was_used(const struct bsn_dc_pool *pool, struct slot *s)
{
	bool was_used;

	read_streams(pool, s->of);
	was_used = s->is_used;
	s->is_used = s->is_new = false;
	return was_used;
}

/* Bytes of data that its peer posted since @counted, as far as the ring still has them. */
static uint64_t count_bytes(const struct bsn_dc_pool *pool, struct slot *s)
{
	struct bsn_sq *sq = s->of->sq;
	const uint32_t pi = bsn_sq_wide_pi(sq);
	const unsigned stream = (unsigned)(s - s->of->slots);
	uint64_t bytes = 0;

	for (uint32_t at = still_there(sq, s->counted); at != pi;) {
		const struct bsn_posted posted = bsn_sq_posted_at(sq, (uint16_t)at);

		if (pool->streams == 1 || posted.stream == stream)
			bytes += bsn_sq_bytes_at(sq, (uint16_t)at);
		at += posted.count_bb;
	}
	s->counted = pi;
	return bytes;
}

void charge_slot(const struct bsn_dc_pool *pool, struct slot *s)
{
	if (s->contention == pool->contention) {
		s->credit -= (int64_t)count_bytes(pool, s);
		return;
	}
	s->contention = pool->contention;
	s->credit = (int64_t)pool->turn_bytes;
	s->counted = bsn_sq_wide_pi(s->of->sq);
}

/* -- binding ------------------------------------------------------------------------------------ */

uint32_t stream_bits(const struct bsn_dc_pool *pool, const struct slot *s)
{
	const bool has_streams = pool->streams > 1;
	const struct bsn_ctrl ctrl = { .dci_stream = has_streams ? (uint32_t)(s - s->of->slots) : 0 };
	const struct bsn_be64 word = bsn_to_be64(bsn_ctrl_word(&ctrl, 1));
	uint32_t bits;

	memcpy(&bits, &word, sizeof(bits));
	return bits;
}

/* Debts are kept in parts of a turn; what is beyond so many is forgiven. */
static uint16_t debt_of(const struct bsn_dc_pool *pool, const struct slot *s)
{
	const int64_t part = (int64_t)(pool->turn_bytes / DEBT_PARTS);
	const int64_t debt = -s->credit / part;

	return (uint16_t)(debt < UINT16_MAX ? debt : UINT16_MAX);
}

static void leave_slot(struct bsn_dc_pool *pool, struct slot *s)
{
	struct bsn_peer *peer = s->peer;

	if (pool->waiters)
		charge_slot(pool, s);
	if (pool->waiters && s->credit < 0)
		set_note(peer, PEER_OWES, debt_of(pool, s));
	else
		set_note(peer, PEER_HAS_STAMP, (uint16_t)pool->counters.evictions);
	if (s->is_revoked)
		pool->revoked--;
	else
		peer->ep.sq = &pool->unbound;
	if (s->has_turn)
		pool->turns--;
	s->is_revoked = s->has_turn = false;
	s->peer = NULL;
}

/* Not among those that peers have any more. */
static void leave_bound(struct bsn_dc_pool *pool, struct slot *s)
{
	if (pool->policy->wants_order)
		list_remove(pool, &pool->bound, s);
	else
		pool->bound.count--;
}

void unbind_slot(struct bsn_dc_pool *pool, struct slot *s)
{
	if (!s->peer)
		return;
	leave_slot(pool, s);
	leave_bound(pool, s);
	if (pool->policy->leaves_when_done)
		list_put_first(pool, &pool->free, s);
	else
		list_put_last(pool, &pool->free, s);
}

void forget_slot(struct slot *s)
{
	if (s->peer)
		set_note(s->peer, 0, 0);
	s->peer = NULL;
}

/* The peer comes back so soon that a pool of twice as many slots would still have had its connection. */
static bool is_missed(const struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	return peer->reserved[0] & PEER_HAS_STAMP &&
	       (uint16_t)((uint16_t)pool->counters.evictions - note_of(peer)) <= pool->active;
}

static void count_miss(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	pool->misses++;
	pool->ghosts += is_missed(pool, peer);
}

/* Binds the slot to this peer, and takes it from the one that had it. */
static void hand_over(struct bsn_dc_pool *pool, struct bsn_peer *peer, struct slot *s)
{
	if (pool->has_ghosts)
		count_miss(pool, peer);
	if (s->peer) {
		pool->counters.evictions++;
		leave_slot(pool, s);
		if (pool->policy->wants_order)
			list_remove(pool, &pool->bound, s);
	} else {
		list_remove(pool, &pool->free, s);
		pool->bound.count += !pool->policy->wants_order;
	}
	if (pool->policy->wants_order)
		list_put_first(pool, &pool->bound, s);
	pool->counters.bindings += s->last != peer;
	s->last = peer;
	s->peer = peer;
	set_note(peer, PEER_HAS_SLOT, slot_number(pool, s));
}

void bind_slot(struct bsn_dc_pool *pool, struct bsn_peer *peer, struct slot *s)
{
	if (s->peer == peer) { /* it lost the right to post, else it would not have asked */
		s->is_revoked = false;
		pool->revoked--;
	} else {
		hand_over(pool, peer, s);
	}
	s->contention = 0;
	take_used(pool, s);
	peer->ctrl_bits = stream_bits(pool, s);
	peer->ep.sq = s->of->entrance;
}

static __attribute__((noinline)) int take_any(struct bsn_dc_pool *pool, struct bsn_peer *peer, struct slot *s)
{
	bind_slot(pool, peer, s);
	s->is_new = true;
	if (pool->is_simple)
		s->seen_pi = s->sq->pi;
	return 0;
}

/*
 * A stream of a peer that did not lose its right to post. What is in the queue was read before, so that it is not taken
 * for the request that comes now.
 */
static __attribute__((noinline)) int take_stream(struct bsn_dc_pool *pool, struct bsn_peer *peer, struct slot *s)
{
	if (!s->peer || pool->has_order || pool->has_ghosts)
		return take_any(pool, peer, s);
	stream_was_used(pool, s);
	swap_slot(pool, peer, s);
	peer->ctrl_bits = stream_bits(pool, s);
	s->is_new = true;
	return 0;
}

__attribute__((noinline)) int take_free(struct bsn_dc_pool *pool, struct bsn_peer *peer, struct slot *s)
{
	list_remove(pool, &pool->free, s);
	if (pool->has_order)
		list_put_first(pool, &pool->bound, s);
	else
		pool->bound.count++;
	pool->counters.bindings += s->last != peer;
	settle_slot(pool, peer, s);
	return 0;
}

static __attribute__((noinline)) int take_in_order(struct bsn_dc_pool *pool, struct bsn_peer *peer, struct slot *s)
{
	slot_is_last_bound(pool, s);
	return swap_slot(pool, peer, s);
}

static __attribute__((noinline)) int take_counted(struct bsn_dc_pool *pool, struct bsn_peer *peer, struct slot *s)
{
	struct bsn_peer *before = s->peer;

	count_miss(pool, peer);
	if (!before)
		return take_free(pool, peer, s);
	swap_slot(pool, peer, s);
	set_note(before, PEER_HAS_STAMP, (uint16_t)pool->counters.evictions);
	return 0;
}

/* Each of these saves its own registers only. */
int take_slot(struct bsn_dc_pool *pool, struct bsn_peer *peer, struct slot *s)
{
	if (BSN_UNLIKELY(s->is_revoked || !pool->is_simple))
		return s->is_revoked || pool->rc ? take_any(pool, peer, s) : take_stream(pool, peer, s);
	if (pool->has_ghosts)
		return take_counted(pool, peer, s);
	if (!s->peer)
		return take_free(pool, peer, s);
	if (pool->has_order)
		return take_in_order(pool, peer, s);
	return swap_slot(pool, peer, s);
}

/* One that stands in line comes to its turn, as its next requests would. */
void move_slot(struct bsn_dc_pool *pool, struct slot *s, struct slot *to)
{
	struct bsn_peer *peer = s->peer;

	forget_slot(s);
	hand_over(pool, peer, to);
	to->contention = 0;
	to->credit = 0;
	if (state_of(peer) == PEER_WAITS) {
		to->is_revoked = true;
		pool->revoked++;
		return;
	}
	peer->ctrl_bits = stream_bits(pool, to);
	peer->ep.sq = to->of->entrance;
}

void revoke_slot(struct bsn_dc_pool *pool, struct slot *s)
{
	s->peer->ep.sq = &pool->unbound;
	s->is_revoked = true;
	pool->revoked++;
}

/* -- the slots of an initiator ------------------------------------------------------------------- */

void slot_enter(struct bsn_dc_pool *pool, struct slot *s)
{
	const struct bsn_sq *sq = s->of->sq;

	s->peer = NULL;
	s->last = NULL;
	s->is_out = s->has_failed = false;
	s->end_pi = sq->retired;
	s->seen_pi = sq->pi;
	list_put_last(pool, &pool->free, s);
}

/* Its peer keeps it. */
void slot_leave(struct bsn_dc_pool *pool, struct slot *s)
{
	if (s->is_out)
		return;
	if (s->peer)
		leave_bound(pool, s);
	else
		list_remove(pool, &pool->free, s);
	s->is_out = true;
	pool->turns -= s->has_turn;
	pool->revoked -= s->is_revoked;
	s->has_turn = s->is_revoked = false;
}

void slots_enter(struct bsn_dc_pool *pool, struct initiator *i)
{
	for (uint32_t k = 0; k < pool->streams; k++)
		slot_enter(pool, &i->slots[k]);
	i->read_pi = bsn_sq_wide_pi(i->sq);
}

void slots_leave(struct bsn_dc_pool *pool, struct initiator *i)
{
	for (uint32_t k = 0; k < pool->streams; k++)
		slot_leave(pool, &i->slots[k]);
}

/* In the order of streams, so that the first peers have an initiator of their own. */
static void enter_all(struct bsn_dc_pool *pool)
{
	for (uint32_t stream = 0; stream < pool->streams; stream++)
		for (uint32_t k = 0; k < pool->initiators_wanted; k++)
			list_put_last(pool, &pool->free, &pool->initiators[k].slots[stream]);
}

/* QPNs are most often given one after the other, so that none share a place. Where some do, only one is found by it. */
static void note_qpns(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; k < pool->count; k++)
		pool->by_qpn[pool->initiators[k].sq->qpn & pool->qpn_mask] = (uint16_t)(k * pool->streams);
}

int slots_make(struct bsn_dc_pool *pool)
{
	pool->slot_count = pool->count * pool->streams;
	for (pool->qpn_mask = 1; pool->qpn_mask < 2 * pool->count; pool->qpn_mask *= 2)
		;
	pool->slots = calloc(pool->slot_count, sizeof(*pool->slots));
	pool->by_qpn = calloc(pool->qpn_mask, sizeof(*pool->by_qpn));
	if (!pool->slots || !pool->by_qpn)
		return -ENOMEM;
	pool->qpn_mask--;
	note_qpns(pool);
	pool->free = pool->bound = (struct slot_list){ NO_SLOT, NO_SLOT, 0 };
	pool->hand = pool->slots;
	pool->end = pool->slots + pool->slot_count;
	pool->sieve = NO_SLOT;
	pool->active = pool->initiators_wanted;
	pool->contention = 1; /* that of none yet is 0 */
	for (uint32_t k = 0; k < pool->slot_count; k++) {
		struct initiator *i = &pool->initiators[k / pool->streams];

		i->slots = &pool->slots[k / pool->streams * pool->streams];
		pool->slots[k].of = i;
		pool->slots[k].sq = i->sq;
		pool->slots[k].is_out = i->is_spare;
		pool->slots[k].end_pi = pool->slots[k].seen_pi = i->sq->pi;
	}
	enter_all(pool);
	return 0;
}
