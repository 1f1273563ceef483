/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts of peers that have no slot, or have had their turn.
 *
 *	bound      posts go straight into the initiator's ring; nothing here is called
 *	unbound    a post takes a slot, as the policy says; else it is refused, and the peer waits in line
 *	revoked    others wait, and the peer has had its turn: its next post waits in line, too, and the
 *	           slot goes to the first in line when all is done that is outstanding on it
 */
#include "rc.h"

#include "bsn_build.h"
#include "sq.h"

/* Its own, if that is idle; another one, if nothing of the peer is outstanding on one that is out. */
static __attribute__((noinline)) struct slot *find_again(struct bsn_dc_pool *pool, const struct bsn_peer *peer,
							 struct slot *s)
{
	if (is_idle(pool, s))
		return s;
	if (!s->is_out || s->held || !is_done(pool, s))
		return NULL;
	forget_slot(s); /* another stream failed the initiator, but nothing of this peer */
	return pool->policy->choose(pool, peer);
}

struct slot *find_slot(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	struct slot *s = slot_of(pool, peer);

	return s ? find_again(pool, peer, s) : pool->policy->choose(pool, peer);
}

/* -- posts of unbound peers ---------------------------------------------------------------------- */

/* On plain verbs a peer has to be connected first, which a post does not do. */
static struct slot *find_connected(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	struct slot *s = slot_of(pool, peer);

	if (!s)
		return NULL;
	rc_queue_look(rc_queue_of(s->of->sq));
	return is_idle(pool, s) ? s : NULL;
}

/* A peer that comes while others wait goes to the end of the line, even if a slot is idle. */
static int take(struct bsn_ep *ep)
{
	struct bsn_peer *peer = peer_of(ep);
	struct bsn_dc_pool *pool = pool_of(peer);
	struct slot *s = pool->waiters ? NULL :
			 pool->rc      ? find_connected(pool, peer) :
					 find_slot(pool, peer);

	if (s) {
		bind_slot(pool, peer, s);
		pool->taken = s;
		return 0;
	}
	start_waiting(pool, peer);
	make_room(pool);
	return refuse(EAGAIN, pool->rc ? "this peer waits for its turn, or until it is connected, of which "
					 "bsn_dc_poll() will tell"
				       : "all initiators are in use: this peer waits for its turn, of which "
					 "bsn_dc_poll() will tell");
}

/* The request that takes a slot does not count as a second use of it. */
static int posted(struct bsn_ep *ep, int result)
{
	struct bsn_dc_pool *pool = pool_of(peer_of(ep));

	take_used(pool, pool->taken);
	return result;
}

/* What most requests are: a WRITE or READ of one SGE, with plain flags, to a queue with room for it. */
static bool is_usual(const struct bsn_sq *sq, uint32_t what, const struct bsn_sge *sge)
{
	const uint32_t opcode = (uint8_t)what, rest = what & ~(uint32_t)BSN_F_PLAIN;

	return rest == BSN_WHAT(opcode, 0, 1u) && bsn_fits(sq, sq->peer_limit, 1) &&
	       bsn_are_plain(sge, 1) &&
	       (opcode == BSN_OPCODE_RDMA_WRITE || opcode == BSN_OPCODE_RDMA_READ);
}

static int post_bound(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		      const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	if (is_usual(ep->sq, what, sge))
		return bsn_peer_rdma(ep, BSN_DS_GIVEN(bsn_ds_data(sge)), remote, id, what);
	return bsn_sq_post_sgl(ep, what, sge, remote, imm, id);
}

static int post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const int err = take(ep);

	return err ? err : posted(ep, post_bound(ep, what, sge, remote, imm, id));
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

static int post_body(struct bsn_ep *ep, const struct bsn_sq_body *body, uint64_t id)
{
	const int err = take(ep);

	return err ? err : posted(ep, bsn_ep_post_body(ep, body, id));
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

const struct bsn_sq_body_path unbound_path = {
	.path = { .post_sgl = post_sgl,
		  .post_inline = post_inline,
		  .post_atomic = post_atomic,
		  .ring = ring_nothing,
		  .cancel = ring_nothing,
		  .room = no_room },
	.post_body = post_body,
};
