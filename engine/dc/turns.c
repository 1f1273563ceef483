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
	if (!s->is_out || holds(pool, s) || !is_done(pool, s))
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

/* -EAGAIN, with a text. */
static int wait_for_turn(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	const bool is_first = !pool->waiters;

	start_waiting(pool, peer);
	if (is_first)
		make_room(pool, false); /* from now on polls do */
	return refuse(EAGAIN, pool->rc ? "this peer waits for its turn, or until it is connected, of which "
					 "bsn_dc_poll() will tell"
				       : "all initiators are in use: this peer waits for its turn, of which "
					 "bsn_dc_poll() will tell");
}

/* On plain verbs a peer has to be connected first, which a post does not do. */
static struct slot *find_connected(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	struct slot *s = slot_of(pool, peer);

	if (!s)
		return NULL;
	rc_queue_look(rc_queue_of(s->sq));
	return is_idle(pool, s) ? s : NULL;
}

/* A peer that comes while others wait goes to the end of the line, even if a slot is idle. */
__attribute__((noinline)) int take_anyhow(TAKING)
{
	struct bsn_peer *peer = peer_of(ep);
	struct bsn_dc_pool *pool = pool_of(peer);
	struct slot *s = pool->waiters ? NULL : pool->rc ? find_connected(pool, peer) : find_slot(pool, peer);

	if (!s)
		return wait_for_turn(pool, peer);
	take_slot(pool, peer, s);
	return go_on(ep, what, data, remote, imm, id);
}

/* Once a peer has a slot, its request is one like any other: its queue's function of the row goes on, by a jump. */
BSN_ALWAYS_INLINE int take(struct bsn_ep *ep, uint32_t what, enum going where, unsigned row, const void *data,
			   const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	return pool_of_unbound(ep)->take(ep, what | GOING(where, row), data, remote, imm, id);
}

#define POST(table, where, row, type)                                                              \
	static int post_##table##_##row(struct bsn_ep *ep, uint32_t what, const type *data,        \
					const struct bsn_remote *remote, uint32_t imm, uint64_t id) \
	{                                                                                          \
		return take(ep, what, where, row, data, remote, imm, id);                          \
	}
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
_Static_assert(BSN_POST_ROWS == 16, "each row has its functions");
#define POST_ONE(row)   POST(one, GO_ONE, row, struct bsn_sge)
#define POST_SGL(row)   POST(sgl, GO_SGL, row, struct bsn_sge)
#define POST_PIECE(row) POST(piece, GO_PIECE, row, void)
EACH_ROW(POST_ONE)
EACH_ROW(POST_SGL)
EACH_ROW(POST_PIECE)
#undef POST_PIECE
#undef POST_SGL
#undef POST_ONE
#undef POST

/* Of any row: on the way of those who do not know it. */
static int post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	return take(ep, what, GO_SGL, BSN_POST_ROW(what, what), sge, remote, imm, id);
}

static int post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
		       const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	return take(ep, what, GO_PIECE, BSN_POST_ROW(what, what), data, remote, imm, id);
}

struct atomic {
	const struct bsn_sge *sge;
	const uint64_t *operand;
};

static int post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id)
{
	const struct atomic atomic = { sge, operand };

	return take(ep, what, GO_ATOMIC, 0, &atomic, remote, 0, id);
}

static int post_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
{
	return take(ep, 0, GO_PREPARED, 0, p, NULL, flags, id);
}

static int post_body(struct bsn_ep *ep, const struct bsn_sq_body *body, uint64_t id)
{
	return take(ep, 0, GO_BODY, 0, body, NULL, 0, id);
}

__attribute__((noinline)) int go_elsewhere(TAKING)
{
	const struct bsn_prepared *p = data;
	const struct bsn_sq_body *body = data;
	const struct atomic *a = data;

	if (BSN_LIKELY(what < GOING(GO_PREPARED, 0)))
		return ep->sq->posts->atomic(ep, (uint32_t)what, a->sge, remote, a->operand, id);
	if (what >= GOING(GO_BODY, 0))
		return bsn_ep_post_body(ep, body, id);
	return bsn_has_peer_room(ep->sq) ? bsn_peer_prepared(ep, p, id, imm) : bsn_sq_post_prepared(ep, p, id, imm);
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
	.post_body = post_body,
	.post_prepared = post_prepared,
};

#define ROW_ONE(row)   post_one_##row,
#define ROW_SGL(row)   post_sgl_##row,
#define ROW_PIECE(row) post_piece_##row,
const struct bsn_sq_posts unbound_posts = {
	.one = { EACH_ROW(ROW_ONE) },
	.sgl = { EACH_ROW(ROW_SGL) },
	.piece = { EACH_ROW(ROW_PIECE) },
	.atomic = post_atomic,
};
#undef ROW_PIECE
#undef ROW_SGL
#undef ROW_ONE
#undef EACH_ROW
