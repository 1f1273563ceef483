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

/* Of one SGE, with these flags, as most requests of the rows of struct bsn_sq_posts are. */
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

static int post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
		       const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const int err = take(ep);

	return BSN_UNLIKELY(err) ? err : bound_post_inline(ep, what, data, remote, imm, id);
}

static bool is_short(uint32_t what, unsigned opcode, uint32_t flags)
{
	const uint32_t known = BSN_WHAT(opcode, flags | BSN_F_INLINE, 0u);

	return what - known - (1u << BSN_WHAT_COUNT_SHIFT) < (uint32_t)BSN_DS_INLINE_MAX << BSN_WHAT_COUNT_SHIFT &&
	       !((what ^ known) & ((1u << BSN_WHAT_COUNT_SHIFT) - 1));
}

/* The same of one DS of inline data. */
BSN_ALWAYS_INLINE int post_short(struct bsn_ep *ep, uint32_t what, const void *data,
				 const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				 const struct bsn_kind *kind, uint32_t flags)
{
	const uint32_t length = what >> BSN_WHAT_COUNT_SHIFT;
	int err;

	err = take(ep);
	if (BSN_UNLIKELY(err))
		return err;
	if (BSN_UNLIKELY(!bsn_has_peer_room(ep->sq)))
		return ep->sq->posts->piece[BSN_POST_ROW(kind->opcode, flags)](ep, what, data, remote, imm, id);
	return bsn_post_piece(ep, kind, bsn_ds_short((const uint8_t *)data, length), remote, id, imm, flags);
}

#define POST_ONE(name, flags, after)                                                               \
	static int post_##name##after(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge, \
				      const struct bsn_remote *remote, uint32_t imm, uint64_t id)  \
	{                                                                                          \
		return post_one(ep, what, sge, remote, imm, id, &bsn_kind_##name, flags);          \
	}
/* Two functions each: the first one saves no register. */
#define POST_QUIET(name, flags, after)                                                             \
	static __attribute__((noinline)) int post_##name##after##_now(                             \
		struct bsn_ep *ep, const struct bsn_sge *sge, const struct bsn_remote *remote,     \
		uint32_t imm, uint64_t id)                                                         \
	{                                                                                          \
		return post_one(ep, BSN_WHAT(bsn_kind_##name.opcode, flags, 1u), sge, remote, imm, \
				id, &bsn_kind_##name, flags);                                      \
	}                                                                                          \
	static int post_##name##after(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge, \
				      const struct bsn_remote *remote, uint32_t imm, uint64_t id)  \
	{                                                                                          \
		return what == BSN_WHAT(bsn_kind_##name.opcode, flags, 1u)                         \
			       ? post_##name##after##_now(ep, sge, remote, imm, id)                \
			       : post_sgl(ep, what, sge, remote, imm, id);                         \
	}
#define POST_SHORT(name, flags, after)                                                             \
	static __attribute__((noinline)) int post_short_##name##after##_now(                       \
		struct bsn_ep *ep, uint32_t what, const void *data,                                \
		const struct bsn_remote *remote, uint32_t imm, uint64_t id)                        \
	{                                                                                          \
		return post_short(ep, what, data, remote, imm, id, &bsn_kind_##name, flags);       \
	}                                                                                          \
	static int post_short_##name##after(struct bsn_ep *ep, uint32_t what, const void *data,    \
					    const struct bsn_remote *remote, uint32_t imm,         \
					    uint64_t id)                                           \
	{                                                                                          \
		return is_short(what, bsn_kind_##name.opcode, flags)                               \
			       ? post_short_##name##after##_now(ep, what, data, remote, imm, id)   \
			       : post_inline(ep, what, data, remote, imm, id);                     \
	}
#define POST_ONES(name)                                                                            \
	POST_QUIET(name, 0u, _quiet)                                                                 \
	POST_QUIET(name, (uint32_t)BSN_F_RING, _quiet_rung)                                          \
	POST_ONE(name, (uint32_t)BSN_F_SIGNALED, )                                                 \
	POST_ONE(name, (uint32_t)(BSN_F_SIGNALED | BSN_F_RING), _rung)
#define POST_SHORTS(name)                                                                          \
	POST_SHORT(name, (uint32_t)BSN_F_SIGNALED, )                                               \
	POST_SHORT(name, (uint32_t)(BSN_F_SIGNALED | BSN_F_RING), _rung)
POST_ONES(write)
POST_ONES(write_imm)
POST_ONES(read)
POST_ONES(send)
POST_ONES(send_imm)
POST_ONES(send_inval)
POST_SHORTS(write)
POST_SHORTS(write_imm)
POST_SHORTS(send)
POST_SHORTS(send_imm)
#undef POST_SHORTS
#undef POST_ONES
#undef POST_SHORT
#undef POST_QUIET
#undef POST_ONE

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

/* Of an opcode: what is most common, and what is posted by its row otherwise. */
#define ROW(opcode, name)                                                                          \
	[BSN_POST_ROW(opcode, 0)] = post_##name,                                                   \
	[BSN_POST_ROW(opcode, BSN_F_RING)] = post_##name##_rung
#define ROW_QUIET(opcode, name)                                                                    \
	[BSN_POST_ROW(opcode, 0)] = post_##name##_quiet,                                           \
	[BSN_POST_ROW(opcode, BSN_F_RING)] = post_##name##_quiet_rung
#define NO_ROW(row, post) [row] = post, [(row) + BSN_POST_ROWS / 2] = post
const struct bsn_sq_posts unbound_posts = {
	.one = { ROW(BSN_OPCODE_RDMA_READ, read),
		 ROW(BSN_OPCODE_SEND_INVAL, send_inval),
		 ROW(BSN_OPCODE_RDMA_WRITE, write),
		 ROW(BSN_OPCODE_RDMA_WRITE_IMM, write_imm),
		 ROW(BSN_OPCODE_SEND, send),
		 ROW(BSN_OPCODE_SEND_IMM, send_imm),
		 NO_ROW(2, post_sgl),
		 NO_ROW(3, post_sgl) },
	.sgl = { ROW_QUIET(BSN_OPCODE_RDMA_READ, read),
		 ROW_QUIET(BSN_OPCODE_SEND_INVAL, send_inval),
		 ROW_QUIET(BSN_OPCODE_RDMA_WRITE, write),
		 ROW_QUIET(BSN_OPCODE_RDMA_WRITE_IMM, write_imm),
		 ROW_QUIET(BSN_OPCODE_SEND, send),
		 ROW_QUIET(BSN_OPCODE_SEND_IMM, send_imm),
		 NO_ROW(2, post_sgl),
		 NO_ROW(3, post_sgl) },
	.piece = { NO_ROW(BSN_POST_ROW(BSN_OPCODE_RDMA_READ, 0), post_inline),
		   NO_ROW(BSN_POST_ROW(BSN_OPCODE_SEND_INVAL, 0), post_inline),
		   ROW(BSN_OPCODE_RDMA_WRITE, short_write),
		   ROW(BSN_OPCODE_RDMA_WRITE_IMM, short_write_imm),
		   ROW(BSN_OPCODE_SEND, short_send),
		   ROW(BSN_OPCODE_SEND_IMM, short_send_imm),
		   NO_ROW(2, post_inline),
		   NO_ROW(3, post_inline) },
	.atomic = post_atomic,
};
#undef NO_ROW
#undef ROW_QUIET
#undef ROW
