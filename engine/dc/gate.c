/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits the READs and atomics that an initiator may have outstanding. If more than max_rd_atomic
 * are on their way, a device stops the queue, with all requests after them. The gate refuses the
 * post of one too many.
 *
 * The gate is a path before the queue's own. The queue still shows its room, but not that it takes
 * READs and atomics (@held_ops). So these come to the gate; other requests come only if they need a
 * cold function.
 */
#include "pool.h"

#include "posted.h"
#include "refuse.h"
#include "sq.h"

static struct gate *gate_of(const struct bsn_sq *sq)
{
	return (struct gate *)(uintptr_t)dv_sq(sq)->path;
}

static struct initiator *initiator_of(struct gate *g)
{
	return (struct initiator *)(void *)((uint8_t *)g - offsetof(struct initiator, gate));
}

/* -- what is outstanding ----------------------------------------------------------------------- */

static bool is_limited(unsigned opcode)
{
	return is_one_of(BSN_OPS_OF_READS, opcode);
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
 * Counts the READs and atomics that are outstanding. It takes those that are done from @reads; it
 * misses those that are no longer in the ring, or were cancelled. So if @reads is still at the
 * limit, it counts the outstanding ones.
 */
static void recount_reads(struct gate *g, struct bsn_sq *sq)
{
	const uint32_t outstanding = bsn_sq_outstanding_bb(sq);
	const uint32_t pi = bsn_sq_wide_pi(sq), done = pi - outstanding;

	if (!outstanding)
		g->reads = 0;
	else if (pi - g->read_pi <= dv_sq(sq)->bb_mask + 1u)
		g->reads -= count_reads(sq, g->read_pi, done);
	if (g->reads >= g->most)
		g->reads = count_reads(sq, done, pi);
	g->read_pi = done;
}

/*
 * Counts once more, and refuses the post if the limit is still reached. A refused peer may have
 * signaled or rung nothing, so that no completion would come: the end is marked.
 */
static __attribute__((noinline)) int refuse_or_recount(struct bsn_ep *ep, struct gate *g)
{
	struct bsn_dc_pool *pool = pool_of(peer_of(ep));

	recount_reads(g, ep->sq);
	if (g->reads < g->most)
		return 0;
	pool->counters.reads_held++;
	mark_end(pool, initiator_of(g));
	return refuse(EAGAIN,
		      "this peer's initiator has as many READs and atomics outstanding as the pool "
		      "allows (max_reads): poll the pool");
}

/* -- the path ---------------------------------------------------------------------------------- */

/* Takes the gate away from the queue until leave(). */
static void enter(struct bsn_sq *sq, const struct gate *g)
{
	dv_sq(sq)->path = g->inner;
	sq->ops ^= g->held_ops;
}

static int leave(struct bsn_sq *sq, struct gate *g, int err)
{
	dv_sq(sq)->path = &g->path;
	sq->ops ^= g->held_ops;
	return err;
}

/* A READ that the queue then refuses is in the count until all are counted anew. */
static int post(struct bsn_ep *ep, const struct bsn_request *r)
{
	const unsigned opcode = r->what & 0xff;
	struct bsn_sq *const sq = ep->sq;
	struct gate *const g = gate_of(sq);
	int err;

	if (BSN_UNLIKELY(g->reads >= g->most) && is_limited(opcode) && refuse_or_recount(ep, g))
		return -EAGAIN;
	g->reads += is_limited(opcode);
	enter(sq, g);
	if (r->operand)
		err = bsn_sq_post_atomic(ep, r->what, r->sge, r->remote, r->operand, r->id);
	else if (BSN_LIKELY(opcode == BSN_OPCODE_RDMA_READ))
		err = bsn_sq_post_sgl(ep, r->what, r->sge, r->remote, 0, r->id);
	else
		err = bsn_ep_post(ep, r);
	return leave(sq, g, err);
}

static int ring(struct bsn_sq *sq)
{
	struct gate *const g = gate_of(sq);

	enter(sq, g);
	return leave(sq, g, bsn_sq_ring(sq));
}

static int cancel(struct bsn_sq *sq)
{
	struct gate *const g = gate_of(sq);

	enter(sq, g);
	return leave(sq, g, bsn_sq_cancel(sq));
}

static uint32_t room(struct bsn_sq *sq)
{
	struct gate *const g = gate_of(sq);
	uint32_t requests;

	enter(sq, g);
	requests = dv_sq(sq)->path ? dv_sq(sq)->path->room(sq) : bsn_sq_room(sq);
	leave(sq, g, 0);
	return requests;
}

void gate_put(struct initiator *i, uint32_t most)
{
	struct bsn_sq *sq = i->sq;

	i->gate = (struct gate){
		.path = { .post = post, .ring = ring, .cancel = cancel, .room = room },
		.inner = dv_sq(sq)->path,
		.most = most,
	};
	i->gate.held_ops = sq->ops & BSN_OPS_OF_READS;
	dv_sq(sq)->held_ops |= i->gate.held_ops;
	leave(sq, &i->gate, 0);
}
