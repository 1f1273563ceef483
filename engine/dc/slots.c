/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binds peers to slots, and tells which slots are idle and which were used.
 *
 * A post to a peer that has a slot calls no function of the pool, nor does its completion. The pool
 * sees both in the send queue. Without streams the queue's indices tell all. With streams the ring
 * tells the stream of each request; it is read when a peer needs a slot while requests are
 * outstanding, each request once.
 */
#include "pool.h"

#include <stdlib.h>

#include "posted.h"
#include "sq.h"

/* -- states ------------------------------------------------------------------------------------ */

void set_slot(struct bsn_dc_pool *pool, struct slot *s, enum slot_state state)
{
	pool->in_state[s->state]--;
	pool->in_state[state]++;
	s->state = (uint8_t)state;
}

/* The list is a stack: a peer gets the slot that was freed last. */
static void put_free(struct bsn_dc_pool *pool, struct slot *s)
{
	pool->free[pool->in_state[SLOT_FREE]] = s->number;
	set_slot(pool, s, SLOT_FREE);
}

/* The caller then sets another state. */
static void remove_free(struct bsn_dc_pool *pool, const struct slot *s)
{
	const uint32_t last = pool->in_state[SLOT_FREE] - 1;
	uint32_t at = last;

	while (pool->free[at] != s->number)
		at--;
	memmove(&pool->free[at], &pool->free[at + 1], (last - at) * sizeof(*pool->free));
}

/* -- reading the ring -------------------------------------------------------------------------- */

/*
 * Where a walk over the requests since @from begins. If some of them were overwritten, which are
 * done, it begins at the first outstanding one.
 */
static uint32_t still_there(struct bsn_sq *sq, uint32_t from)
{
	const uint32_t pi = bsn_sq_wide_pi(sq);

	return pi - from <= dv_sq(sq)->bb_mask + 1u ? from : pi - bsn_sq_outstanding_bb(sq);
}

void read_streams(struct initiator *i)
{
	const uint32_t pi = bsn_sq_wide_pi(i->sq);
	uint32_t at;

	if (pi == i->read_pi)
		return;
	for (at = still_there(i->sq, i->read_pi); at != pi;) {
		const struct bsn_posted posted = bsn_sq_posted_at(i->sq, at);

		at += posted.count_bb;
		i->slots[posted.stream].end_pi = (uint16_t)at;
	}
	i->read_pi = at;
}

bool stream_is_done(const struct slot *s)
{
	struct bsn_sq *sq = s->sq;

	if (bsn_sq_is_done(sq, bsn_sq_done(sq)))
		return true;
	read_streams(s->of);
	return (uint16_t)(sq->pi - s->end_pi) >= bsn_sq_outstanding_bb(sq);
}

/* Counts the bytes that its peer posted since @counted, of requests that are still in the ring. */
static uint64_t count_bytes(const struct bsn_dc_pool *pool, struct slot *s)
{
	struct bsn_sq *const sq = s->sq;
	const uint32_t pi = bsn_sq_wide_pi(sq);
	uint64_t bytes = 0;

	for (uint32_t at = still_there(sq, s->counted); at != pi;) {
		const struct bsn_posted posted = bsn_sq_posted_at(sq, (uint16_t)at);

		if (pool->attr.streams == 1 || &s->of->slots[posted.stream] == s)
			bytes += bsn_sq_bytes_at(sq, (uint16_t)at);
		at += posted.count_bb;
	}
	s->counted = pi;
	return bytes;
}

bool has_posted(const struct bsn_dc_pool *pool, struct slot *s)
{
	const uint32_t since = bsn_sq_wide_pi(s->sq) - s->counted;

	if (pool->attr.streams == 1)
		return since;
	read_streams(s->of);
	return (uint16_t)(s->end_pi - s->counted - 1) < since;
}

void charge_slot(const struct bsn_dc_pool *pool, struct slot *s)
{
	if (s->contention == pool->contention) {
		s->credit -= (int64_t)count_bytes(pool, s);
		return;
	}
	s->contention = pool->contention;
	s->credit = (int64_t)pool->attr.turn_bytes;
	s->counted = bsn_sq_wide_pi(s->sq);
}

/* -- binding ----------------------------------------------------------------------------------- */

/* The bits of the stream, which its peer's posts set in control segments. */
static uint32_t bits_of_stream(uint32_t stream)
{
	const struct bsn_ctrl ctrl = { .dci_stream = stream };

	return (uint32_t)bsn_to_be64(bsn_ctrl_word(&ctrl, 1)).raw;
}

/*
 * Makes what the peer posted beyond the slot's credit its debt: UINT16_MAX parts of a turn at most.
 */
static void note_debt(const struct bsn_dc_pool *pool, struct slot *s)
{
	int64_t debt;

	charge_slot(pool, s);
	debt = -s->credit * DEBT_PARTS / (int64_t)pool->attr.turn_bytes;
	if (s->credit < 0)
		s->peer->debt = (uint16_t)(debt < UINT16_MAX ? debt : UINT16_MAX);
}

/* Takes the slot from its peer, which posts as an unbound one from now on. */
BSN_ALWAYS_INLINE void detach_peer(struct bsn_dc_pool *pool, struct slot *s)
{
	s->peer->slot = NULL;
	s->peer->hot.ep.sq = &pool->unbound.hot;
	if (s->state != SLOT_BOUND)
		set_slot(pool, s, SLOT_BOUND);
	if (pool->waiters)
		note_debt(pool, s);
}

void unbind_slot(struct bsn_dc_pool *pool, struct slot *s)
{
	if (!s->peer)
		return;
	detach_peer(pool, s);
	s->peer = NULL;
	s->of->bound &= ~stream_bit(s);
	put_free(pool, s);
}

void forget_slot(struct slot *s)
{
	if (s->peer)
		s->peer->slot = NULL;
	s->peer = NULL;
}

/* Takes the slot from the peer that had it, and binds it to this one. */
BSN_ALWAYS_INLINE void hand_over(struct bsn_dc_pool *pool, struct peer *peer, struct slot *s)
{
	if (s->peer) {
		pool->counters.evictions++;
		detach_peer(pool, s);
	} else {
		pool->counters.bindings++;
		remove_free(pool, s);
		s->of->bound |= stream_bit(s);
		set_slot(pool, s, SLOT_BOUND);
	}
	s->peer = peer;
	peer->slot = s;
	peer->debt = 0;
}

void bind_slot(struct bsn_dc_pool *pool, struct peer *peer, struct slot *s)
{
	if (s->peer == peer) /* its post came here, so its slot was revoked */
		set_slot(pool, s, SLOT_BOUND);
	else
		hand_over(pool, peer, s);
	s->contention = 0;
	s->of->seen_pi = s->sq->pi;
	peer->hot.ctrl_bits = s->ctrl_bits;
	peer->hot.ep.sq = s->sq;
}

void give_slot(struct bsn_dc_pool *pool, struct peer *peer, struct slot *s, int64_t credit,
	       struct bsn_completion *c)
{
	peer->state = PEER_FINE;
	bind_slot(pool, peer, s);
	s->credit = credit;
	s->counted = bsn_sq_wide_pi(s->sq);
	s->contention = pool->contention;
	set_slot(pool, s, SLOT_TURN);
	pool->given[pool->given_count++] = s->number;
	pool->counters.turns++;
	*c = (struct bsn_completion){ .user = peer->hot.user,
				      .status = IBV_WC_SUCCESS,
				      .qpn = dv_sq(s->sq)->qpn,
				      .opcode = BSN_DC_READY };
}

/*
 * A peer that waits in line stays there: its new slot is revoked, so that it does not post before
 * its turn.
 */
void move_slot(struct bsn_dc_pool *pool, struct slot *s, struct slot *to)
{
	struct peer *peer = s->peer;

	forget_slot(s);
	hand_over(pool, peer, to);
	to->contention = 0;
	to->credit = 0;
	if (peer->state == PEER_WAITS) {
		set_slot(pool, to, SLOT_REVOKED);
		return;
	}
	peer->hot.ctrl_bits = to->ctrl_bits;
	peer->hot.ep.sq = to->sq;
}

void revoke_slot(struct bsn_dc_pool *pool, struct slot *s)
{
	s->peer->hot.ep.sq = &pool->unbound.hot;
	set_slot(pool, s, SLOT_REVOKED);
}

/* -- the slots of an initiator ----------------------------------------------------------------- */

void slot_offer(struct bsn_dc_pool *pool, struct slot *s)
{
	s->peer = NULL;
	s->has_failed = false;
	s->end_pi = dv_sq(s->sq)->retired;
	put_free(pool, s);
}

/* The slot goes out of use; its peer keeps it. */
void slot_withdraw(struct bsn_dc_pool *pool, struct slot *s)
{
	if (s->state == SLOT_OUT)
		return;
	if (!s->peer)
		remove_free(pool, s);
	s->of->bound &= ~stream_bit(s);
	set_slot(pool, s, SLOT_OUT);
}

void slots_offer(struct bsn_dc_pool *pool, struct initiator *i)
{
	for (uint32_t k = 0; k < pool->attr.streams; k++)
		slot_offer(pool, &i->slots[k]);
	i->read_pi = bsn_sq_wide_pi(i->sq);
	i->seen_pi = bsn_sq_done(i->sq);
}

void slots_withdraw(struct bsn_dc_pool *pool, struct initiator *i)
{
	for (uint32_t k = 0; k < pool->attr.streams; k++)
		slot_withdraw(pool, &i->slots[k]);
}

/*
 * Offers the first stream of each initiator before the second, so that the first peers have an
 * initiator each.
 */
static void enter_all(struct bsn_dc_pool *pool)
{
	for (uint32_t stream = pool->attr.streams; stream--;)
		for (uint32_t k = pool->attr.initiators; k--;)
			put_free(pool, &pool->initiators[k].slots[stream]);
}

static void make_slot(struct bsn_dc_pool *pool, uint32_t number)
{
	struct initiator *i = &pool->initiators[number / pool->attr.streams];
	struct slot *s = &pool->slots[number];

	i->slots = &pool->slots[number / pool->attr.streams * pool->attr.streams];
	i->seen_pi = bsn_sq_done(i->sq);
	s->of = i;
	s->sq = i->sq;
	s->ctrl_bits = bits_of_stream(number % pool->attr.streams);
	s->state = SLOT_OUT;
	s->end_pi = i->sq->pi;
	s->number = (uint16_t)number;
}

int slots_make(struct bsn_dc_pool *pool)
{
	pool->slot_count = pool->count * pool->attr.streams;
	pool->slots = bsn_hot_alloc(pool->slot_count * sizeof(*pool->slots));
	pool->free = calloc(pool->slot_count, sizeof(*pool->free));
	pool->heard = calloc(pool->count, sizeof(*pool->heard));
	pool->given = calloc(pool->slot_count, sizeof(*pool->given));
	pool->failures = calloc(pool->slot_count, sizeof(*pool->failures));
	if (!pool->slots || !pool->free || !pool->heard || !pool->given || !pool->failures)
		return -ENOMEM;
	pool->hand = pool->initiators;
	pool->contention = 1; /* 0: no line yet */
	pool->in_state[SLOT_OUT] = pool->slot_count;
	for (uint32_t k = 0; k < pool->slot_count; k++)
		make_slot(pool, k);
	enter_all(pool);
	return 0;
}

void slots_free(struct bsn_dc_pool *pool)
{
	free(pool->slots);
	free(pool->free);
	free(pool->heard);
	free(pool->given);
	free(pool->failures);
}
