/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which peer has which initiator.
 *
 *	bound      posts go straight into the initiator's ring; nothing here is called
 *	unbound    a post takes an initiator: one that nobody has, else the idle one that was used least
 *	           recently; else the post is refused, and the peer waits in line
 *	revoked    others wait, and the peer has had its turn: its next post waits in line, too, and the
 *	           initiator goes to the first in line when all is done that is outstanding on it
 *
 * Least recently used is told by a clock over the queues' own indices: an initiator whose index has
 * not moved since the hand last passed was not used since. So a request and its completion cost
 * nothing for it.
 */
#include "pool.h"

#include "refuse.h"

/* -- binding ------------------------------------------------------------------------------------ */

struct initiator *initiator_of(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	for (uint32_t k = 0; k < pool->count; k++)
		if (pool->initiators[k].peer == peer)
			return &pool->initiators[k];
	return NULL;
}

static bool is_revoked(const struct initiator *i)
{
	return i->peer && i->peer->ep.sq != i->sq;
}

void unbind(struct bsn_dc_pool *pool, struct initiator *i)
{
	if (!i->peer)
		return;
	if (is_revoked(i))
		pool->revoked--;
	else
		i->peer->ep.sq = &pool->unbound;
	i->peer = NULL;
	pool->free++;
}

static void bind(struct bsn_dc_pool *pool, struct bsn_peer *peer, struct initiator *i)
{
	if (i->peer != peer) {
		pool->counters.evictions += i->peer != NULL;
		unbind(pool, i);
		pool->free--;
		pool->counters.bindings++;
	} else {
		pool->revoked--; /* else it would not have asked */
	}
	i->peer = peer;
	i->bound_pi = i->seen_pi = i->sq->pi;
	peer->ctrl_bits = 0;
	peer->ep.sq = i->sq;
}

static struct initiator *find_free(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; pool->free && k < pool->count; k++)
		if (!pool->initiators[k].peer && is_idle(&pool->initiators[k]))
			return &pool->initiators[k];
	return NULL;
}

/* Twice round: what was used since the hand last passed is passed once. */
static struct initiator *find_oldest(struct bsn_dc_pool *pool)
{
	for (uint32_t left = 2 * pool->count; left; left--) {
		struct initiator *i = &pool->initiators[pool->hand];

		pool->hand = pool->hand + 1 < pool->count ? pool->hand + 1 : 0;
		if (!is_idle(i))
			continue;
		if (i->sq->pi == i->seen_pi)
			return i;
		i->seen_pi = i->sq->pi;
	}
	return NULL;
}

/* For a peer that has none, or lost it. NULL: it has to wait; of its own requests, too. */
static struct initiator *find(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	struct initiator *i = pool->revoked ? initiator_of(pool, peer) : NULL;

	if (i)
		return is_idle(i) ? i : NULL;
	i = find_free(pool);
	return i ? i : find_oldest(pool);
}

/* -- waiting in line ---------------------------------------------------------------------------- */

static void start_waiting(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	const uint32_t number = number_of(peer);

	if (peer->reserved[0] == PEER_WAITS)
		return;
	peer->reserved[0] = PEER_WAITS;
	peer->ctrl_bits = NO_PEER;
	if (pool->waiters++)
		peer_at(pool, pool->last_waiter)->ctrl_bits = number;
	else
		pool->first_waiter = number;
	pool->last_waiter = number;
	pool->counters.waits++;
}

/* @before: the number of the one before it in line; NO_PEER: it is the first. */
static void leave_line(struct bsn_dc_pool *pool, struct bsn_peer *peer, uint32_t before)
{
	if (before == NO_PEER)
		pool->first_waiter = peer->ctrl_bits;
	else
		peer_at(pool, before)->ctrl_bits = peer->ctrl_bits;
	if (pool->last_waiter == number_of(peer))
		pool->last_waiter = before;
	pool->waiters--;
	peer->ctrl_bits = 0;
	peer->reserved[0] = PEER_FINE;
}

void stop_waiting(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	uint32_t before = NO_PEER, at = pool->first_waiter;

	if (peer->reserved[0] != PEER_WAITS)
		return;
	while (peer_at(pool, at) != peer) {
		before = at;
		at = peer_at(pool, at)->ctrl_bits;
	}
	leave_line(pool, peer, before);
}

/* -- making room -------------------------------------------------------------------------------- */

/*
 * Somebody waits, and nothing is idle. Peers that have posted as much as a turn is lose their
 * initiators, as many as there are waiters; what they have outstanding goes on.
 */
static void revoke_turns(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; k < pool->count && pool->revoked < pool->waiters; k++) {
		struct initiator *i = &pool->initiators[k];

		if (!i->peer || i->has_failed || i->has_turn || is_revoked(i) ||
		    (uint16_t)(i->sq->pi - i->bound_pi) < pool->turn_bb)
			continue;
		i->peer->ep.sq = &pool->unbound;
		pool->revoked++;
		pool->counters.revocations++;
	}
}

/*
 * Requests that nobody signaled tell nothing when they are done. One initiator that ends with such
 * gets a NOP that does, of which the program sees nothing; and what was only appended is published.
 */
static void mark_one(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; k < pool->count; k++) {
		struct initiator *i = &pool->initiators[k];

		if (!i->peer || i->has_failed || (i->is_marked && i->marked_pi == i->sq->pi) ||
		    !bsn_sq_outstanding_bb(i->sq))
			continue;
		if (!bsn_sq_ends_quietly(i->sq)) {
			bsn_sq_ring(i->sq);
		} else if (!bsn_sq_post_marker(i->sq)) {
			pool->counters.markers++;
		} else {
			continue;
		}
		i->is_marked = true;
		i->marked_pi = i->sq->pi;
		return;
	}
}

static void make_room(struct bsn_dc_pool *pool)
{
	revoke_turns(pool);
	mark_one(pool);
}

/* -- turns -------------------------------------------------------------------------------------- */

void end_turns(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; pool->turns && k < pool->count; k++) {
		struct initiator *i = &pool->initiators[k];

		if (!i->has_turn)
			continue;
		i->has_turn = false;
		pool->turns--;
		pool->counters.passed += i->sq->pi == i->bound_pi;
	}
}

static void tell_turn(struct bsn_completion *c, const struct bsn_peer *peer, const struct initiator *i)
{
	memset(c, 0, sizeof(*c));
	c->user = peer->user;
	c->status = IBV_WC_SUCCESS;
	c->qpn = i->sq->qpn;
	c->opcode = BSN_DC_READY;
}

/* The first in line who can have an initiator; a peer whose own requests are not done cannot. */
static bool give_turn(struct bsn_dc_pool *pool, struct bsn_completion *c)
{
	uint32_t before = NO_PEER;

	for (uint32_t at = pool->first_waiter; at != NO_PEER; at = peer_at(pool, at)->ctrl_bits) {
		struct bsn_peer *peer = peer_at(pool, at);
		struct initiator *i = find(pool, peer);

		if (i) {
			leave_line(pool, peer, before);
			bind(pool, peer, i);
			i->has_turn = true;
			pool->turns++;
			pool->counters.turns++;
			tell_turn(c, peer, i);
			return true;
		}
		before = at;
	}
	return false;
}

int give_turns(struct bsn_dc_pool *pool, struct bsn_completion *c, int n)
{
	int given = 0;

	while (given < n && pool->waiters && give_turn(pool, &c[given]))
		given++;
	if (pool->waiters)
		make_room(pool);
	return given;
}

/* -- posts of unbound peers ---------------------------------------------------------------------- */

/* Who comes while others wait goes to the end of the line, whether or not something is idle. */
static int take(struct bsn_ep *ep)
{
	struct bsn_peer *peer = peer_of(ep);
	struct bsn_dc_pool *pool = pool_of(peer);
	struct initiator *i = pool->waiters ? NULL : find(pool, peer);

	if (i) {
		bind(pool, peer, i);
		pool->taken = i;
		return 0;
	}
	start_waiting(pool, peer);
	make_room(pool);
	return refuse(EAGAIN, "all initiators are in use: this peer waits for its turn, of which "
			      "bsn_dc_poll() will tell");
}

/* The request that took an initiator is no second use of it. */
static int posted(struct bsn_ep *ep, int result)
{
	struct bsn_dc_pool *pool = pool_of(peer_of(ep));

	pool->taken->seen_pi = pool->taken->sq->pi;
	return result;
}

static int post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const int err = take(ep);

	return err ? err : posted(ep, bsn_sq_post_sgl(ep, what, sge, remote, imm, id));
}

static int post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
		       const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const int err = take(ep);

	return err ? err : posted(ep, bsn_sq_post_inline(ep, what, data, remote, imm, id));
}

static int post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id)
{
	const int err = take(ep);

	return err ? err : posted(ep, bsn_sq_post_atomic(ep, what, sge, remote, operand, id));
}

/* Whatever a peer has appended is in its initiator's queue, which rings for itself. */
static int ring_nothing(struct bsn_sq *sq)
{
	(void)sq;
	return 0;
}

static uint32_t no_room(struct bsn_sq *sq)
{
	(void)sq;
	return 0;
}

const struct bsn_sq_path unbound_path = {
	.post_sgl = post_sgl,
	.post_inline = post_inline,
	.post_atomic = post_atomic,
	.ring = ring_nothing,
	.cancel = ring_nothing,
	.room = no_room,
};
