/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Before the queue of an initiator whose READs have a limit. The inline code does not take READs and atomics: they come
 * by the queue's path, where they are counted. All other requests cost what they do without a limit.
 */
#include "rc.h"

#include "bsn_build.h"
#include "posted.h"
#include "refuse.h"
#include "sq.h"

static struct gate *gate_of(struct bsn_sq *sq)
{
	return (struct gate *)(uintptr_t)sq->path;
}

static struct initiator *initiator_of(struct gate *g)
{
	return (struct initiator *)(void *)((uint8_t *)g - offsetof(struct initiator, gate));
}

/* -- what is outstanding ------------------------------------------------------------------------ */

/* READs and atomics: no other opcode of a queue is in their range. */
BSN_ALWAYS_INLINE bool is_limited(uint32_t what)
{
	return (uint8_t)(what - BSN_OPCODE_RDMA_READ) <= BSN_OPCODE_ATOMIC_MASKED_FA - BSN_OPCODE_RDMA_READ;
}

static uint32_t count_reads(const struct bsn_sq *sq, uint32_t from, uint32_t to)
{
	struct bsn_posted posted;
	uint32_t reads = 0;

	for (uint32_t at = from; at != to; at += posted.count_bb) {
		posted = bsn_sq_posted_at(sq, (uint16_t)at);
		reads += is_limited(posted.opcode);
	}
	return reads;
}

/*
 * The ring tells which are done. Where it does not have all of them any more, or some were taken back, it tells which
 * are outstanding.
 */
static void count_again(struct gate *g, struct bsn_sq *sq)
{
	const uint32_t outstanding = bsn_sq_outstanding_bb(sq);
	const uint32_t pi = bsn_sq_wide_pi(sq), done = pi - outstanding;

	if (!outstanding)
		g->reads = 0;
	else if (pi - g->read_pi <= sq->bb_mask + 1u)
		g->reads -= count_reads(sq, g->read_pi, done);
	if (g->reads >= g->most)
		g->reads = count_reads(sq, done, pi);
	g->read_pi = done;
}

/* Whoever is refused may have posted in silence, or rung nothing: then nothing would ever tell. */
static __attribute__((noinline)) int admit(struct bsn_ep *ep)
{
	struct bsn_dc_pool *pool = pool_of(peer_of(ep));
	struct gate *g = gate_of(ep->sq);

	if (pool->rc)
		rc_queue_look(rc_queue_of(ep->sq));
	count_again(g, ep->sq);
	if (g->reads < g->most)
		return 0;
	pool->counters.reads_held++;
	mark_end(pool, initiator_of(g));
	return refuse(EAGAIN, "this peer's initiator has as many READs and atomics outstanding as the pool "
			      "allows (max_reads): poll the pool");
}

/* -- posts -------------------------------------------------------------------------------------- */

/* As if there were no gate, until leave(). */
BSN_ALWAYS_INLINE struct gate *enter(struct bsn_sq *sq)
{
	struct gate *g = gate_of(sq);

	sq->path = g->inner;
	sq->ops ^= sq->held_ops;
	sq->read_sge = sq->max_sge;
	return g;
}

BSN_ALWAYS_INLINE int leave(struct gate *g, int err)
{
	struct bsn_sq *sq = initiator_of(g)->sq;

	sq->path = &g->path;
	sq->ops ^= sq->held_ops;
	sq->read_sge = 0;
	return err;
}

/*
 * Several functions for each way to post, so that none keeps anything for another. A READ that is refused was counted,
 * too, until all are counted again.
 * @what: that is posted; @post_read, @post_other: by which functions
 */
#define POST(name, parameters, arguments, what, post_read, post_other)                             \
	static __attribute__((noinline)) int name##_other parameters                               \
	{                                                                                          \
		struct gate *g = enter(ep->sq);                                                    \
                                                                                                   \
		return leave(g, post_other);                                                       \
	}                                                                                          \
	BSN_ALWAYS_INLINE int name##_now parameters                                                \
	{                                                                                          \
		struct gate *g = enter(ep->sq);                                                    \
                                                                                                   \
		g->reads++;                                                                        \
		return leave(g, post_read);                                                        \
	}                                                                                          \
	static __attribute__((noinline)) int name##_late parameters                                \
	{                                                                                          \
		const int err = admit(ep);                                                         \
                                                                                                   \
		return err ? err : name##_now arguments;                                           \
	}                                                                                          \
	static int name parameters                                                                 \
	{                                                                                          \
		const struct gate *g = gate_of(ep->sq);                                            \
                                                                                                   \
		if (BSN_UNLIKELY(!is_limited(what)))                                               \
			return name##_other arguments;                                             \
		return BSN_UNLIKELY(g->reads >= g->most) ? name##_late arguments : name##_now arguments; \
	}

/* By the rows of what is signaled, or of any. */
#define ROW(opcode) (what & BSN_F_SIGNALED ? ep->sq->posts->one : ep->sq->posts->sgl)[BSN_POST_ROW(opcode, what)]
POST(post_sgl,
     (struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge, const struct bsn_remote *remote, uint32_t imm,
      uint64_t id),
     (ep, what, sge, remote, imm, id), what, ROW(BSN_OPCODE_RDMA_READ)(ep, what, sge, remote, imm, id),
     ROW(what)(ep, what, sge, remote, imm, id))
#undef ROW

#define POST_ATOMIC ep->sq->posts->atomic(ep, what, sge, remote, operand, id)
POST(post_atomic,
     (struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge, const struct bsn_remote *remote,
      const uint64_t operand[2], uint64_t id),
     (ep, what, sge, remote, operand, id), BSN_OPCODE_ATOMIC_FA, POST_ATOMIC, POST_ATOMIC)
#undef POST_ATOMIC

/* One DS, for which the inline code has found room. */
#define POST_READ(flags)                                                                           \
	bsn_post_piece(ep, &bsn_kind_read, bsn_ds_of_words((struct bsn_be64){ w0 }, (struct bsn_be64){ w1 }), \
		       remote, id, 0, flags)
POST(post_piece,
     (struct bsn_ep *ep, uint64_t w1, const struct bsn_remote *remote, uint64_t w0, uint64_t what, uint64_t id),
     (ep, w1, remote, w0, what, id), (uint32_t)what,
     what & BSN_F_PLAIN ? POST_READ((uint32_t)what & BSN_F_PLAIN) : POST_READ(0u),
     bsn_sq_post_piece(ep, w1, remote, w0, what, id))
#undef POST_READ

#define POST_PREPARED                                                                              \
	(bsn_has_peer_room(ep->sq) ? bsn_peer_prepared(ep, p, id, flags) : bsn_sq_post_prepared(ep, p, id, flags))
POST(post_prepared, (struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags),
     (ep, p, id, flags), p->wr.opcode, POST_PREPARED, POST_PREPARED)
#undef POST_PREPARED

POST(post_body, (struct bsn_ep *ep, const struct bsn_sq_body *body, uint64_t id), (ep, body, id), body->what,
     bsn_ep_post_body(ep, body, id), bsn_ep_post_body(ep, body, id))
#undef POST

/* No READ sends anything: it is refused. */
static int post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
		       const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	struct gate *g = enter(ep->sq);

	return leave(g, bsn_sq_post_inline(ep, what, data, remote, imm, id));
}

static int ring(struct bsn_sq *sq)
{
	struct gate *g = enter(sq);

	return leave(g, bsn_sq_ring(sq));
}

static int cancel(struct bsn_sq *sq)
{
	struct gate *g = enter(sq);

	return leave(g, bsn_sq_cancel(sq));
}

/* Asked of plain verbs alone. */
static uint32_t room(struct bsn_sq *sq)
{
	const struct bsn_sq_path *inner = gate_of(sq)->inner;

	return inner ? inner->room(sq) : 0;
}

void gate_put(struct initiator *i, uint32_t most)
{
	struct bsn_sq *sq = i->sq;

	i->gate = (struct gate){ .path = { .post_sgl = post_sgl,
					   .post_inline = post_inline,
					   .post_atomic = post_atomic,
					   .ring = ring,
					   .cancel = cancel,
					   .room = room,
					   .post_prepared = post_prepared,
					   .post_body = post_body,
					   .post_piece = post_piece },
				 .inner = sq->path,
				 .most = most };
	sq->held_ops = sq->ops & BSN_OPS_OF_READS;
	leave(&i->gate, 0);
}
