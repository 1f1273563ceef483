/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The line of waiting peers, and their turns: deficit round robin (Shreedhar and Varghese,
 * SIGCOMM 1995), with one difference: what a peer will post is not known, so it may end its
 * turn in debt. Then it waits until as many turns as it owes have gone by.
 */
#include "rc.h"

#include "sq.h"

/* -- the line ---------------------------------------------------------------------------------- */

static void put_last(struct bsn_dc_pool *pool, struct peer *peer)
{
	const uint32_t number = number_of(peer);

	peer->next = NO_PEER;
	if (pool->in_line++)
		peer_at(pool, pool->last_waiter)->next = number;
	else
		pool->first_waiter = number;
	pool->last_waiter = number;
}

/* @before: the number of the one before it in line; NO_PEER: it is the first. */
static void take_out(struct bsn_dc_pool *pool, struct peer *peer, uint32_t before)
{
	if (before == NO_PEER)
		pool->first_waiter = peer->next;
	else
		peer_at(pool, before)->next = peer->next;
	if (pool->last_waiter == number_of(peer))
		pool->last_waiter = before;
	pool->in_line--;
}

void start_waiting(struct bsn_dc_pool *pool, struct peer *peer)
{
	if (peer->state == PEER_WAITS || peer->state == PEER_CONNECTS)
		return;
	if (!pool->waiters++ && !++pool->contention)
		pool->contention = 1;
	pool_wake(pool);
	peer->state = PEER_WAITS;
	put_last(pool, peer);
	pool->counters.waits++;
}

void die_waiting(struct bsn_dc_pool *pool, struct peer *peer)
{
	peer->state = PEER_GONE;
	pool->waiters--;
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
	pool->waiters--;
}

/* -- making room ------------------------------------------------------------------------------- */

/* So many of @count are looked at, and from @next on, round and round. */
static uint32_t few_of(uint32_t count)
{
	return count < MOST_LOOKS ? count : MOST_LOOKS;
}

static uint32_t take_next(uint32_t *next, uint32_t count)
{
	const uint32_t at = *next;

	*next = at + 1 < count ? at + 1 : 0;
	return at;
}

/* Whether its peer has had its turn. */
static bool is_over(struct bsn_dc_pool *pool, struct slot *s)
{
	if (s->state != SLOT_BOUND)
		return false;
	charge_slot(pool, s);
	return s->credit <= 0;
}

/*
 * Peers that have had their turn lose the right to post, as many as there are waiters, or all where
 * a waiter cannot take any slot; what they have outstanding goes on. The next few are looked at.
 */
static void revoke_turns(struct bsn_dc_pool *pool)
{
	const uint32_t most = pool->is_hashed ? pool->slot_count : pool->waiters;

	for (uint32_t left = few_of(pool->slot_count); left && pool->in_state[SLOT_REVOKED] < most;
	     left--) {
		struct slot *s = &pool->slots[take_next(&pool->judged, pool->slot_count)];

		if (!is_over(pool, s))
			continue;
		revoke_slot(pool, s);
		pool->counters.revocations++;
	}
}

bool mark_end(struct bsn_dc_pool *pool, struct initiator *i)
{
	if (!bsn_sq_outstanding_bb(i->sq)) {
		i->is_marked = false;
		return false;
	}
	if (i->has_failed || (i->is_marked && i->marked_pi == i->sq->pi))
		return false;
	if (!bsn_sq_ends_quietly(i->sq)) {
		bsn_sq_ring(i->sq);
	} else if (!(pool->rc ? rc_queue_mark(rc_queue_of(i->sq)) : bsn_sq_post_marker(i->sq))) {
		pool->counters.markers++;
	} else {
		return false;
	}
	i->is_marked = true;
	i->marked_pi = i->sq->pi;
	return true;
}

static void mark_one(struct bsn_dc_pool *pool)
{
	for (uint32_t left = few_of(pool->count); left; left--)
		if (mark_end(pool, &pool->initiators[take_next(&pool->marked, pool->count)]))
			return;
}

static void mark_all(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; k < pool->count; k++)
		mark_end(pool, &pool->initiators[k]);
}

void make_room(struct bsn_dc_pool *pool, bool may_sleep)
{
	revoke_turns(pool);
	if (may_sleep)
		mark_all(pool);
	else
		mark_one(pool);
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

static void tell_turn(struct bsn_completion *c, const struct peer *peer, const struct slot *s)
{
	memset(c, 0, sizeof(*c));
	c->user = peer->hot.user;
	c->status = IBV_WC_SUCCESS;
	c->qpn = s->of->sq->qpn;
	c->opcode = BSN_DC_READY;
}

/*
 * Pays a turn's worth to a peer that waits. Return: the bytes that it may post; 0: it owes more, so
 * others come first. A peer that waits alone owes nothing.
 */
static int64_t pay_turn(const struct bsn_dc_pool *pool, struct peer *peer)
{
	const int64_t turn = (int64_t)pool->turn_bytes, part = turn / DEBT_PARTS;
	const uint16_t debt = peer->debt;
	struct slot *s = peer->slot;

	if (pool->waiters == 1)
		return turn;
	if (s) {
		s->credit += turn;
		return s->credit > 0 ? s->credit : 0;
	}
	peer->debt = debt > DEBT_PARTS ? (uint16_t)(debt - DEBT_PARTS) : 0;
	return debt < DEBT_PARTS ? turn - debt * part : 0;
}

void give_slot(struct bsn_dc_pool *pool, struct peer *peer, struct slot *s, int64_t credit,
	       struct bsn_completion *c)
{
	peer->state = PEER_FINE;
	bind_slot(pool, peer, s);
	s->credit = credit;
	s->counted = bsn_sq_wide_pi(s->of->sq);
	s->contention = pool->contention;
	set_slot(pool, s, SLOT_TURN);
	pool->given[pool->given_count++] = s->number;
	pool->counters.turns++;
	tell_turn(c, peer, s);
}

/*
 * The first in line that can have a slot: a peer whose own requests are not done cannot. No
 * peer that could is passed. @visits: peers that may still be looked at, so that a poll does
 * not take for ever.
 */
static bool give_turn(struct bsn_dc_pool *pool, struct bsn_completion *c, uint32_t *visits)
{
	uint32_t before = NO_PEER, at = pool->first_waiter, passed = 0;

	while (pool->waiters && at != NO_PEER && passed <= pool->slot_count && *visits) {
		struct peer *peer = peer_at(pool, at);
		const uint32_t next = peer->next;
		struct slot *s;
		int64_t credit;

		*visits -= 1;
		if (peer->state == PEER_GONE) {
			take_out(pool, peer, before);
			peer_free(pool, peer);
			at = next;
			continue;
		}
		s = find_slot(pool, peer);
		if (!s && !pool->is_hashed && !peer->slot)
			return false; /* then no other peer has one either, as far as is known */
		if (!s) {
			before = at;
			passed++;
			at = next;
			continue;
		}
		credit = pay_turn(pool, peer);
		take_out(pool, peer, before);
		if (credit && (!pool->rc || rc_is_connected(pool, s, peer))) {
			pool->waiters--;
			give_slot(pool, peer, s, credit, c);
			return true;
		}
		if (credit) {
			rc_connect(pool, peer, s, credit);
			at = next;
			continue;
		}
		put_last(pool, peer);
		at = next == NO_PEER ? number_of(peer) : next;
	}
	return false;
}

/* A poll looks at so many in line besides those that it can serve. */
enum { MOST_VISITS = 64 };

static int give_turns(struct bsn_dc_pool *pool, struct bsn_completion *c, int n, bool may_sleep)
{
	uint32_t visits = (uint32_t)n + pool->slot_count + MOST_VISITS;
	int given = pool->rc_work ? rc_turns(pool, c, n) : 0;

	if (may_sleep && pool->listens)
		idle_forget(pool);
	while (given < n && pool->waiters && give_turn(pool, &c[given], &visits))
		given++;
	if (pool->waiters)
		make_room(pool, may_sleep);
	return given;
}

int take_turns(struct bsn_dc_pool *pool, struct bsn_completion *c, int n, bool may_sleep)
{
	if (!pool->waiters && !pool->in_state[SLOT_TURN] && !pool->rc_work)
		return 0;
	if (pool->rc)
		rc_look(pool);
	end_turns(pool);
	return give_turns(pool, c, n, may_sleep);
}
