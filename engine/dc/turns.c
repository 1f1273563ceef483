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

#include "bound.h"
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

static __attribute__((noinline)) int wait_for_turn(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	start_waiting(pool, peer);
	make_room(pool);
	return refuse(EAGAIN, pool->rc ? "this peer waits for its turn, or until it is connected, of which "
					 "bsn_dc_poll() will tell"
				       : "all initiators are in use: this peer waits for its turn, of which "
					 "bsn_dc_poll() will tell");
}

/* It has a slot already, or has to be connected first. */
static __attribute__((noinline)) struct slot *find_known(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	return pool->rc ? find_connected(pool, peer) : find_slot(pool, peer);
}

/* A peer that comes while others wait goes to the end of the line, even if a slot is idle. */
BSN_ALWAYS_INLINE int take(struct bsn_ep *ep)
{
	struct bsn_peer *peer = peer_of(ep);
	struct bsn_dc_pool *pool = pool_of(peer);
	struct slot *s;

	if (BSN_UNLIKELY(pool->waiters))
		return wait_for_turn(pool, peer);
	s = BSN_UNLIKELY(pool->rc || peer->reserved[0] & PEER_HAS_SLOT) ? find_known(pool, peer) :
									pool->policy->choose(pool, peer);
	if (BSN_UNLIKELY(!s))
		return wait_for_turn(pool, peer);
	take_slot(pool, peer, s);
	return 0;
}

/*
 * Once a peer has a slot, its request is one like any other. The functions that the inline code has for
 * it are used here, too, by jumps, so that the request is not looked at twice.
 */

static int post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const int err = take(ep);

	return BSN_UNLIKELY(err) ? err : bound_post_sgl(ep, what, sge, remote, imm, id);
}

/* As the rows of struct bsn_sq_posts are: of one SGE, and signaled. */
BSN_ALWAYS_INLINE int post_one(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			       const struct bsn_remote *remote, uint32_t imm, uint64_t id,
			       const struct bsn_kind *kind, uint32_t flags)
{
	const uint32_t known = BSN_WHAT(kind->opcode, flags, 1u);
	int err;

	if (BSN_UNLIKELY(what != known))
		return post_sgl(ep, what, sge, remote, imm, id);
	if (!kind->piece_imm[0])
		imm = 0; /* the compiler need not keep it */
	err = take(ep);
	if (BSN_UNLIKELY(err))
		return err;
	if (BSN_UNLIKELY(!bsn_has_peer_room(ep->sq) || !bsn_are_plain(sge, 1)))
		return ep->sq->posts->sgl[BSN_POST_ROW(kind->opcode, flags)](ep, known, sge, remote, imm, id);
	return bsn_post_piece(ep, kind, bsn_ds_data(sge), remote, id, imm, flags);
}

#define POST_ONE(name, flags, after)                                                               \
	static int post_##name##after(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge, \
				      const struct bsn_remote *remote, uint32_t imm, uint64_t id)  \
	{                                                                                          \
		return post_one(ep, what, sge, remote, imm, id, &bsn_kind_##name, flags);          \
	}
#define POST_ONES(name)                                                                            \
	POST_ONE(name, (uint32_t)BSN_F_SIGNALED, )                                                 \
	POST_ONE(name, (uint32_t)(BSN_F_SIGNALED | BSN_F_RING), _rung)
POST_ONES(write)
POST_ONES(write_imm)
POST_ONES(read)
POST_ONES(send)
POST_ONES(send_imm)
POST_ONES(send_inval)
#undef POST_ONES
#undef POST_ONE

static int post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
		       const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const int err = take(ep);

	return BSN_UNLIKELY(err) ? err : bound_post_inline(ep, what, data, remote, imm, id);
}

static int post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id)
{
	const int err = take(ep);

	return BSN_UNLIKELY(err) ? err : bound_post_atomic(ep, what, sge, remote, operand, id);
}

static int post_body(struct bsn_ep *ep, const struct bsn_sq_body *body, uint64_t id)
{
	const int err = take(ep);

	return err ? err : bsn_ep_post_body(ep, body, id);
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

#define FOUR(f) f, f, f, f
#define ALL(f)  { FOUR(f), FOUR(f), FOUR(f), FOUR(f) }
#define ROW(opcode, name)                                                                          \
	[BSN_POST_ROW(opcode, 0)] = post_##name,                                                   \
	[BSN_POST_ROW(opcode, BSN_F_RING)] = post_##name##_rung
#define NO_ROW(row) [row] = post_sgl, [(row) + BSN_POST_ROWS / 2] = post_sgl
const struct bsn_sq_posts unbound_posts = { .one = { ROW(BSN_OPCODE_RDMA_READ, read),
						     ROW(BSN_OPCODE_SEND_INVAL, send_inval),
						     ROW(BSN_OPCODE_RDMA_WRITE, write),
						     ROW(BSN_OPCODE_RDMA_WRITE_IMM, write_imm),
						     ROW(BSN_OPCODE_SEND, send),
						     ROW(BSN_OPCODE_SEND_IMM, send_imm),
						     NO_ROW(2),
						     NO_ROW(3) },
					    .sgl = ALL(post_sgl),
					    .piece = ALL(post_inline),
					    .atomic = post_atomic };
#undef NO_ROW
#undef ROW
#undef ALL
#undef FOUR
