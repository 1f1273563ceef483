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

int wait_for_turn(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	start_waiting(pool, peer);
	make_room(pool);
	return refuse(EAGAIN, pool->rc ? "this peer waits for its turn, or until it is connected, of which "
					 "bsn_dc_poll() will tell"
				       : "all initiators are in use: this peer waits for its turn, of which "
					 "bsn_dc_poll() will tell");
}

/* On plain verbs a peer has to be connected first, which a post does not do. */
int take_connected(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	struct slot *s = slot_of(pool, peer);

	if (!s)
		return wait_for_turn(pool, peer);
	rc_queue_look(rc_queue_of(s->sq));
	return is_idle(pool, s) ? take_slot(pool, peer, s) : wait_for_turn(pool, peer);
}

/* A peer that has a slot lost the right to post, or its initiator failed. */
static __attribute__((noinline)) int take_late(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	struct slot *s;

	if (pool->waiters)
		return wait_for_turn(pool, peer);
	if (pool->rc)
		return take_connected(pool, peer);
	s = find_slot(pool, peer);
	return s ? take_slot(pool, peer, s) : wait_for_turn(pool, peer);
}

/* A peer that comes while others wait goes to the end of the line, even if a slot is idle. */
BSN_ALWAYS_INLINE int take(struct bsn_ep *ep)
{
	struct bsn_peer *peer = peer_of(ep);
	struct bsn_dc_pool *pool = pool_of(peer);

	if (BSN_UNLIKELY(pool->waiters || peer->reserved[0] & PEER_HAS_SLOT))
		return take_late(pool, peer);
	return pool->take(pool, peer);
}

/* Once a peer has a slot, its request is one like any other: its queue's function of the row goes on, by a jump. */
#define POST(table, row, type)                                                                     \
	static int post_##table##_##row(struct bsn_ep *ep, uint32_t what, const type *data,        \
					const struct bsn_remote *remote, uint32_t imm, uint64_t id) \
	{                                                                                          \
		const int err = take(ep);                                                          \
                                                                                                   \
		return BSN_UNLIKELY(err) ? err :                                                   \
					   ep->sq->posts->table[row](ep, what, data, remote, imm, id); \
	}
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
_Static_assert(BSN_POST_ROWS == 16, "each row has its functions");
#define POST_SGL(row)   POST(sgl, row, struct bsn_sge)
#define POST_PIECE(row) POST(piece, row, void)
EACH_ROW(POST_SGL)
EACH_ROW(POST_PIECE)
#undef POST_PIECE
#undef POST_SGL
#undef POST

/* The same of what is most common of a row, which saves no register for what it knows. */
#define POST_ONE(row, opcode, has_imm)                                                             \
	static int post_one_##row(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,     \
				  const struct bsn_remote *remote, uint32_t imm, uint64_t id)      \
	{                                                                                          \
		const uint32_t known = BSN_WHAT(                                                   \
			opcode, (uint32_t)BSN_F_SIGNALED | ((row) & 8 ? (uint32_t)BSN_F_RING : 0), 1u); \
		int err;                                                                           \
                                                                                                   \
		_Static_assert(((row) & 7) == BSN_POST_ROW(opcode, 0), "this opcode's");           \
		if (BSN_UNLIKELY(what != known))                                                   \
			return post_sgl_##row(ep, what, sge, remote, imm, id);                     \
		err = take(ep);                                                                    \
		return BSN_UNLIKELY(err) ? err :                                                   \
					   ep->sq->posts->one[row](ep, known, sge, remote,         \
								   (has_imm) ? imm : 0, id);       \
	}
#define POST_ONES(row, rung, opcode, has_imm)                                                      \
	POST_ONE(row, opcode, has_imm)                                                             \
	POST_ONE(rung, opcode, has_imm)
POST_ONES(0, 8, BSN_OPCODE_RDMA_READ, false)
POST_ONES(1, 9, BSN_OPCODE_SEND_INVAL, true)
POST_ONES(4, 12, BSN_OPCODE_RDMA_WRITE, false)
POST_ONES(5, 13, BSN_OPCODE_RDMA_WRITE_IMM, true)
POST_ONES(6, 14, BSN_OPCODE_SEND, false)
POST_ONES(7, 15, BSN_OPCODE_SEND_IMM, true)
#undef POST_ONES
#undef POST_ONE

/* Of any row: on the way of those who do not know it. */
static int post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const int err = take(ep);

	return BSN_UNLIKELY(err) ? err :
				   ep->sq->posts->sgl[BSN_POST_ROW(what, what)](ep, what, sge, remote, imm, id);
}

static int post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
		       const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const int err = take(ep);

	return BSN_UNLIKELY(err) ? err :
				   ep->sq->posts->piece[BSN_POST_ROW(what, what)](ep, what, data, remote, imm, id);
}

static int post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id)
{
	const int err = take(ep);

	return BSN_UNLIKELY(err) ? err : ep->sq->posts->atomic(ep, what, sge, remote, operand, id);
}

static int post_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
{
	const int err = take(ep);

	if (BSN_UNLIKELY(err))
		return err;
	return bsn_has_peer_room(ep->sq) ? bsn_peer_prepared(ep, p, id, flags) :
					   bsn_sq_post_prepared(ep, p, id, flags);
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
	.post_prepared = post_prepared,
};

#define ROW_SGL(row)   post_sgl_##row,
#define ROW_PIECE(row) post_piece_##row,
const struct bsn_sq_posts unbound_posts = {
	.one = { post_one_0, post_one_1, post_sgl_2, post_sgl_3, post_one_4, post_one_5, post_one_6, post_one_7,
		 post_one_8, post_one_9, post_sgl_10, post_sgl_11, post_one_12, post_one_13, post_one_14, post_one_15 },
	.sgl = { EACH_ROW(ROW_SGL) },
	.piece = { EACH_ROW(ROW_PIECE) },
	.atomic = post_atomic,
};
#undef ROW_PIECE
#undef ROW_SGL
#undef EACH_ROW
