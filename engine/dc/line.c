/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting peers stand in line and take turns by deficit round robin (Shreedhar and Varghese,
 * SIGCOMM 1995), with one difference: the pool does not know what a peer will post, so a peer may
 * end its turn in debt. It then pays one turn of its debt each time that it is first in line, goes
 * to the end, and gets no slot before it has paid all.
 */
#include "rc.h"

#include "sq.h"

/* -- the line ---------------------------------------------------------------------------------- */

static void put_last(struct bsn_dc_pool *pool, struct peer *peer)
{
	const uint32_t number = number_of(peer);

	peer->next = NO_PEER;
	if (pool->waiters++)
		peer_at(pool, pool->last_waiter)->next = number;
	else
		pool->first_waiter = number;
	pool->last_waiter = number;
}

/* @before: the number of the peer before it in line; NO_PEER: it is the first. */
static void take_out(struct bsn_dc_pool *pool, struct peer *peer, uint32_t before)
{
	if (before == NO_PEER)
		pool->first_waiter = peer->next;
	else
		peer_at(pool, before)->next = peer->next;
	if (pool->last_waiter == number_of(peer))
		pool->last_waiter = before;
	pool->waiters--;
}

void start_waiting(struct bsn_dc_pool *pool, struct peer *peer)
{
	if (peer->state == PEER_WAITS || peer->state == PEER_CONNECTS)
		return;
	if (!pool->waiters && !++pool->contention)
		pool->contention = 1;
	pool_wake(pool);
	peer->state = PEER_WAITS;
	put_last(pool, peer);
	pool->counters.waits++;
}

void stop_waiting(struct bsn_dc_pool *pool, struct peer *peer)
{
	uint32_t before = NO_PEER, at = pool->first_waiter;

	if (peer->state != PEER_WAITS)
		return;
	while (peer_at(pool, at) != peer) {
		before = at;
		at = peer_at(pool, at)->next;
	}
	take_out(pool, peer, before);
	peer->state = PEER_FINE;
}

/* -- making room ------------------------------------------------------------------------------- */

/* Whether the turn of the slot's peer is over. */
static bool is_over(struct bsn_dc_pool *pool, struct slot *s)
{
	if (s->state != SLOT_BOUND)
		return false;
	charge_slot(pool, s);
	return s->credit <= 0;
}

/*
 * Looks at the next few slots, and revokes those whose peers have had their turn: as many as there
 * are waiters, or all if a waiter cannot take every slot.
 */
static void revoke_turns(struct bsn_dc_pool *pool)
{
	const uint32_t most =
		pool->attr.policy == BSN_DC_HASHED ? pool->slot_count : pool->waiters;
	const uint32_t few = pool->slot_count < MOST_LOOKS ? pool->slot_count : MOST_LOOKS;

	for (uint32_t k = 0; k < few && pool->in_state[SLOT_REVOKED] < most; k++) {
		struct slot *s = &pool->slots[pool->judged++ % pool->slot_count];

		if (!is_over(pool, s))
			continue;
		revoke_slot(pool, s);
		pool->counters.revocations++;
	}
}

bool mark_end(struct bsn_dc_pool *pool, struct initiator *i)
{
	if (!bsn_sq_outstanding_bb(i->sq) || i->marked_pi == bsn_sq_wide_pi(i->sq))
		return false;
	if (!bsn_sq_ends_quietly(i->sq))
		bsn_sq_ring(i->sq);
	else if (pool->rc ? rc_mark(i) : bsn_sq_post_marker(i->sq))
		return false;
	else
		pool->counters.markers++;
	i->marked_pi = bsn_sq_wide_pi(i->sq);
	return true;
}

void make_room(struct bsn_dc_pool *pool, bool may_sleep)
{
	const uint32_t most = may_sleep || pool->count < MOST_LOOKS ? pool->count : MOST_LOOKS;

	revoke_turns(pool);
	for (uint32_t k = 0; k < most; k++) {
		struct initiator *i = &pool->initiators[pool->marked++ % pool->count];

		if (!i->has_failed && mark_end(pool, i) && !may_sleep)
			return;
	}
}

/* -- turns ------------------------------------------------------------------------------------- */

static void end_turns(struct bsn_dc_pool *pool)
{
	while (pool->given_count) {
		struct slot *s = &pool->slots[pool->given[--pool->given_count]];

		if (s->state != SLOT_TURN)
			continue;
		set_slot(pool, s, SLOT_BOUND);
		if (has_posted(pool, s))
			continue;
		pool->counters.passed++;
		idle_hear(pool, s->of);
	}
}

/*
 * Takes one turn from the debt of a waiting peer; a peer that waits alone owes nothing. Return: the
 * bytes that it may post; 0: it owes more than that turn, so others come first.
 */
static int64_t pay_turn(const struct bsn_dc_pool *pool, struct peer *peer)
{
	const int64_t turn = (int64_t)pool->attr.turn_bytes;
	const uint16_t debt = peer->debt;
	struct slot *s = peer->slot;

	if (pool->waiters == 1)
		return turn;
	if (s) {
		s->credit += turn;
		return s->credit > 0 ? s->credit : 0;
	}
	peer->debt = debt > DEBT_PARTS ? (uint16_t)(debt - DEBT_PARTS) : 0;
	return debt < DEBT_PARTS ? turn - debt * turn / DEBT_PARTS : 0;
}

/*
 * Serves the first peer in line that can have this slot. @before: as for take_out(). False: the
 * peer is not told of a turn yet.
 */
static bool serve(struct bsn_dc_pool *pool, struct peer *peer, uint32_t before, struct slot *s,
		  struct bsn_completion *c)
{
	const int64_t credit = pay_turn(pool, peer);

	take_out(pool, peer, before);
	if (!credit) {
		put_last(pool, peer);
		return false;
	}
	if (pool->rc && !rc_is_connected(s->of, peer)) {
		rc_connect(pool, peer, s, credit);
		return false;
	}
	give_slot(pool, peer, s, credit, c);
	return true;
}

/*
 * Gives a turn to the first peer in line that can have a slot; a peer whose own requests are not
 * done cannot. @visits: how many more peers it may look at, which bounds the time of a poll.
 */
static bool give_turn(struct bsn_dc_pool *pool, struct bsn_completion *c, uint32_t *visits)
{
	uint32_t before = NO_PEER, at = pool->first_waiter, skipped = 0;

	while (pool->waiters && at != NO_PEER && skipped <= pool->slot_count && *visits) {
		struct peer *peer = peer_at(pool, at);
		const uint32_t next = peer->next;
		struct slot *s = find_slot(pool, peer);

		*visits -= 1;
		if (!s) {
			if (pool->attr.policy != BSN_DC_HASHED && !peer->slot)
				return false; /* no slot is idle, as far as is known */
			skipped++;
			before = at;
			at = next;
			continue;
		}
		if (serve(pool, peer, before, s, c))
			return true;
		/* If the last one in line went to its end, it is the next. */
		at = next == NO_PEER && peer->state == PEER_WAITS ? number_of(peer) : next;
	}
	return false;
}

/* How many peers in line a poll looks at, besides those that it serves. */
enum { MOST_VISITS = 64 };

int take_turns(struct bsn_dc_pool *pool, struct bsn_completion *c, int n, bool may_sleep)
{
	uint32_t visits = (uint32_t)n + pool->slot_count + MOST_VISITS;
	int given;

	if (!pool->waiters && !pool->in_state[SLOT_TURN] && !pool->rc_work)
		return 0;
	end_turns(pool);
	given = pool->rc_work ? rc_turns(pool, c, n) : 0;
	if (may_sleep && pool->listens)
		idle_forget(pool);
	while (given < n && pool->waiters && give_turn(pool, &c[given], &visits))
		given++;
	if (pool->waiters)
		make_room(pool, may_sleep);
	return given;
}
