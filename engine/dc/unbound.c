/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts of peers that have no slot, or whose slot was revoked.
 *
 *	bound      posts go straight into the initiator's ring; nothing here is called
 *	unbound    a post takes a slot, as the policy says; if there is none the post is refused,
 *	           and the peer waits in line
 *	revoked    others wait, and the peer has had its turn: its next post is refused, too, and
 *	           the slot goes to the first in line when all that is outstanding on it is done
 */
#include "rc.h"

#include "refuse.h"
#include "sq.h"

/* Puts the peer in line, and refuses its post: -EAGAIN. */
static int wait_for_turn(struct bsn_dc_pool *pool, struct peer *peer)
{
	const bool is_first = !pool->waiters;

	start_waiting(pool, peer);
	if (is_first)
		make_room(pool, false); /* later calls are the polls' */
	return refuse(EAGAIN, pool->rc ? "this peer waits for its turn or its connection: "
					 "bsn_poll() will return BSN_DC_READY"
				       : "all initiators are in use: this peer waits for its turn: "
					 "bsn_poll() will return BSN_DC_READY");
}

/*
 * Binds a peer to a slot for its post. If others wait, it goes to the end of the line, even if a
 * slot is idle. On plain verbs a post makes no connection: it only takes a slot that is connected
 * to the peer.
 *
 * The initiator's queue then judges the request: to judge it here, before a slot is taken, would
 * cost each miss 50 instructions. So a wrong request binds, too.
 */
static int bind(struct bsn_ep *ep)
{
	struct peer *peer = peer_of(ep);
	struct bsn_dc_pool *pool = pool_of(peer);
	struct slot *s = NULL;

	if (BSN_LIKELY(!pool->waiters && !pool->rc))
		s = find_slot(pool, peer);
	else if (!pool->waiters && peer->slot && is_idle(pool, peer->slot))
		s = peer->slot;
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

/*
 * An unbound peer has appended nothing here: its appended requests are in the initiator's queue,
 * which publishes them.
 */
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
