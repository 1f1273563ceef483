/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts of peers that have no slot, or have had their turn.
 *
 *	bound      posts go straight into the initiator's ring; nothing here is called
 *	unbound    a post takes a slot, as the policy says; if it finds none it is refused, and the
 *	           peer waits in line
 *	revoked    others wait, and the peer has had its turn: its next post waits in line, too, and
 *	           the slot goes to the first in line when all that is outstanding on it is done
 */
#include "rc.h"

#include "refuse.h"
#include "sq.h"

/*
 * The peer's own slot, if it is idle. If it is out, and nothing of the peer is outstanding on it,
 * another one.
 */
static __attribute__((noinline)) struct slot *find_again(struct bsn_dc_pool *pool,
							 const struct peer *peer, struct slot *s)
{
	if (is_idle(pool, s))
		return s;
	if (s->state != SLOT_OUT || holds(pool, s) || !is_done(pool, s))
		return NULL;
	forget_slot(s); /* another stream failed the initiator, but nothing of this peer */
	return choose_slot(pool, peer);
}

struct slot *find_slot(struct bsn_dc_pool *pool, const struct peer *peer)
{
	struct slot *s = peer->slot;

	return BSN_UNLIKELY(s) ? find_again(pool, peer, s) : choose_slot(pool, peer);
}

/* -- posts of unbound peers -------------------------------------------------------------------- */

/* -EAGAIN, with a text. */
static int wait_for_turn(struct bsn_dc_pool *pool, struct peer *peer)
{
	const bool is_first = !pool->waiters;

	start_waiting(pool, peer);
	if (is_first)
		make_room(pool, false); /* from now on polls do */
	return refuse(EAGAIN,
		      pool->rc
			      ? "this peer waits for its turn, or until it is connected, of which "
				"bsn_poll() will tell"
			      : "all initiators are in use: this peer waits for its turn, of which "
				"bsn_poll() will tell");
}

/* On plain verbs a peer has to be connected first, which a post does not do. */
static __attribute__((noinline)) struct slot *find_connected(struct bsn_dc_pool *pool,
							     const struct peer *peer)
{
	struct slot *s = peer->slot;

	if (!s)
		return NULL;
	rc_queue_look(rc_queue_of(s->sq));
	return is_idle(pool, s) ? s : NULL;
}

/* A peer that comes while others wait goes to the end of the line, even if a slot is idle. */
static int bind(struct bsn_ep *ep)
{
	struct peer *peer = peer_of(ep);
	struct bsn_dc_pool *pool = pool_of(peer);
	struct slot *s = NULL;

	if (BSN_LIKELY(!pool->waiters))
		s = pool->rc ? find_connected(pool, peer) : find_slot(pool, peer);
	if (!s)
		return wait_for_turn(pool, peer);
	bind_slot(pool, peer, s);
	return 0;
}

static int post_unbound(struct bsn_ep *ep, const struct bsn_request *r)
{
	const int err = bind(ep);

	return err ? err : bsn_ep_post(ep, r);
}

/* What a peer has appended is in its initiator's queue, which rings for itself. */
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
	.post = post_unbound,
	.ring = ring_nothing,
	.cancel = ring_nothing,
	.room = no_room,
	.bind = bind,
};
