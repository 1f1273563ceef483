/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Before the queue of an initiator whose READs have a limit. Peers post to the gate, which counts READs and
 * atomics and hands all requests on. Pools without a limit have no gates: their peers post to the queue.
 */
#include "rc.h"

#include <stdlib.h>

#include "bsn_build.h"
#include "refuse.h"
#include "sq.h"

/*
 * @count: of READs outstanding; some of them may be done, which is looked at when there are @most
 * @ends: of each of them the queue's index after it, modulo 2^32; a ring, the oldest at @first
 * @mask: the places in the ring, less one
 */
struct gate {
	struct bsn_sq sq; /* first: what peers post to */
	struct bsn_dc_pool *pool;
	struct initiator *of;
	uint32_t most, first, count, mask;
	uint32_t ends[];
};

static struct gate *gate_of(struct bsn_sq *sq)
{
	return (struct gate *)sq;
}

/* -- what is outstanding ------------------------------------------------------------------------ */

/* A READ that was not looked at for long ends before all that is outstanding, wherever the index is by now. */
static void drop_done(struct gate *g)
{
	struct bsn_sq *sq = g->of->sq;
	uint32_t pi, outstanding;

	if (g->pool->rc)
		rc_queue_look(rc_queue_of(sq));
	outstanding = bsn_sq_outstanding_bb(sq);
	pi = bsn_sq_wide_pi(sq);
	while (g->count && pi - g->ends[g->first] >= outstanding) {
		g->first = (g->first + 1) & g->mask;
		g->count--;
	}
}

/* Those that were taken back, or refused when they were handed in. */
static __attribute__((noinline)) void drop_gone(struct gate *g)
{
	const uint32_t pi = bsn_sq_wide_pi(g->of->sq);

	while (g->count && (int32_t)(g->ends[(g->first + g->count - 1) & g->mask] - pi) > 0)
		g->count--;
}

BSN_ALWAYS_INLINE bool is_limited(uint32_t what)
{
	const uint64_t limited = 1ull << BSN_OPCODE_RDMA_READ | 1ull << BSN_OPCODE_ATOMIC_CS |
				 1ull << BSN_OPCODE_ATOMIC_FA | 1ull << BSN_OPCODE_ATOMIC_MASKED_CS |
				 1ull << BSN_OPCODE_ATOMIC_MASKED_FA;

	return is_one_of(limited, (uint8_t)what);
}

/* Whoever is refused may have posted in silence, or rung nothing: then nothing would ever tell. */
static __attribute__((noinline)) int admit_late(struct gate *g)
{
	drop_done(g);
	if (g->count < g->most)
		return 0;
	g->pool->counters.reads_held++;
	mark_end(g->pool, g->of);
	return refuse(EAGAIN, "this peer's initiator has as many READs and atomics outstanding as the pool "
			      "allows (max_reads): poll the pool");
}

BSN_ALWAYS_INLINE int admit(struct gate *g, uint32_t what)
{
	return BSN_UNLIKELY(g->count == g->most) && is_limited(what) ? admit_late(g) : 0;
}

BSN_ALWAYS_INLINE int enter(struct gate *g, struct bsn_ep *ep, uint32_t what)
{
	const int err = admit(g, what);

	if (!err)
		ep->sq = g->of->sq;
	return err;
}

BSN_ALWAYS_INLINE int posted(struct gate *g, struct bsn_ep *ep, uint32_t what, int err)
{
	ep->sq = &g->sq;
	if (BSN_UNLIKELY(err))
		drop_gone(g);
	else if (is_limited(what))
		g->ends[(g->first + g->count++) & g->mask] = bsn_sq_wide_pi(g->of->sq);
	return err;
}

/* -- posts -------------------------------------------------------------------------------------- */

/* @is_one: by the rows of the most common ones. */
BSN_ALWAYS_INLINE int post_sges(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
				const struct bsn_remote *remote, uint32_t imm, uint64_t id, bool is_one)
{
	struct gate *g = gate_of(ep->sq);
	const int err = enter(g, ep, what);

	if (err)
		return err;
	return posted(g, ep, what,
		      (is_one ? ep->sq->posts->one : ep->sq->posts->sgl)[BSN_POST_ROW(what, what)](
			      ep, what, sge, remote, imm, id));
}

static int post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	return post_sges(ep, what, sge, remote, imm, id, false);
}

static int post_one(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	return post_sges(ep, what, sge, remote, imm, id, true);
}

static int post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
		       const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	struct gate *g = gate_of(ep->sq);
	const int err = enter(g, ep, what);

	if (err)
		return err;
	return posted(g, ep, what, ep->sq->posts->piece[BSN_POST_ROW(what, what)](ep, what, data, remote, imm, id));
}

static int post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id)
{
	struct gate *g = gate_of(ep->sq);
	const int err = enter(g, ep, what);

	if (err)
		return err;
	return posted(g, ep, what, ep->sq->posts->atomic(ep, what, sge, remote, operand, id));
}

static int post_body(struct bsn_ep *ep, const struct bsn_sq_body *body, uint64_t id)
{
	struct gate *g = gate_of(ep->sq);
	const int err = enter(g, ep, body->what);

	if (err)
		return err;
	return posted(g, ep, body->what, bsn_ep_post_body(ep, body, id));
}

static int post_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
{
	struct gate *g = gate_of(ep->sq);
	const int err = enter(g, ep, p->wr.opcode);

	if (err)
		return err;
	return posted(g, ep, p->wr.opcode,
		      bsn_has_peer_room(ep->sq) ? bsn_peer_prepared(ep, p, id, flags) :
						  bsn_sq_post_prepared(ep, p, id, flags));
}

static int ring(struct bsn_sq *sq)
{
	const int err = bsn_sq_ring(gate_of(sq)->of->sq);

	if (err)
		drop_gone(gate_of(sq));
	return err;
}

static int cancel(struct bsn_sq *sq)
{
	const int err = bsn_sq_cancel(gate_of(sq)->of->sq);

	drop_gone(gate_of(sq));
	return err;
}

static uint32_t room(struct bsn_sq *sq)
{
	(void)sq;
	return 0;
}

/* -- life --------------------------------------------------------------------------------------- */

static const struct bsn_sq_body_path path = {
	.path = { .post_sgl = post_sgl,
		  .post_inline = post_inline,
		  .post_atomic = post_atomic,
		  .ring = ring,
		  .cancel = cancel,
		  .room = room },
	.post_body = post_body,
	.post_prepared = post_prepared,
};

#define FOUR(f) f, f, f, f
#define ALL(f)  { FOUR(f), FOUR(f), FOUR(f), FOUR(f) }
static const struct bsn_sq_posts posts = { .one = ALL(post_one),
					   .sgl = ALL(post_sgl),
					   .piece = ALL(post_inline),
					   .atomic = post_atomic };
#undef ALL
#undef FOUR

int gate_make(struct bsn_dc_pool *pool, struct initiator *i, uint32_t most)
{
	uint32_t places = 1;
	struct gate *g;

	while (places < most)
		places *= 2;
	g = bsn_hot_alloc(sizeof(*g) + places * sizeof(g->ends[0]));
	if (!g)
		return -ENOMEM;
	g->pool = pool;
	g->of = i;
	g->most = most;
	g->mask = places - 1;
	init_nowhere(&g->sq, i->sq);
	g->sq.path = &path.path;
	g->sq.posts = &posts;
	g->sq.qpn = i->sq->qpn;
	i->entrance = &g->sq;
	return 0;
}

void gate_free(struct initiator *i)
{
	if (i->entrance != i->sq)
		free(i->entrance);
}

void gate_empty(struct initiator *i)
{
	if (i->entrance != i->sq)
		gate_of(i->entrance)->count = 0;
}
