/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Initiators and streams that fail. mlx5dv_create_qp(3) says of streams:
 *
 *	a request fails      its stream is in error: what the stream has after it comes back
 *	                     flushed, in order. The other streams go on
 *	too many streams do  the whole initiator is in error, and all that is in its queue comes
 *	                     back flushed
 *
 * If a whole initiator failed, requests of streams that had not failed are posted once more on
 * another initiator. They may be executed twice.
 *
 * Requests of all streams are reported in the order of the queue; UCX relies on that, too
 * (dc_mlx5.c, uct_dc_mlx5_poll_tx()). No system call is needed to see that the whole initiator is
 * in error: a request of a stream that had not failed is flushed.
 */
#include "pool.h"

#include "posted.h"
#include "sq.h"

/* -- failing ----------------------------------------------------------------------------------- */

uint32_t count_working(const struct bsn_dc_pool *pool)
{
	uint32_t working = 0;

	for (uint32_t k = 0; k < pool->count; k++)
		working += !pool->initiators[k].has_failed && !pool->initiators[k].is_spare;
	return working;
}

static struct initiator *find_spare(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; k < pool->count; k++)
		if (pool->initiators[k].is_spare)
			return &pool->initiators[k];
	return NULL;
}

/* Refuses the peer's posts from here on: it must learn of the gap before it goes on. */
static void fail_peer(struct bsn_dc_pool *pool, struct peer *peer)
{
	stop_waiting(pool, peer);
	peer->state = PEER_FAILED;
	peer->hot.ep.sq = &pool->failed.hot;
}

/*
 * The requests in the queue come back flushed; those that were only appended are published for
 * that. A peer whose own stream did not fail leaves it when nothing of the peer is outstanding.
 */
void withdraw(struct bsn_dc_pool *pool, struct initiator *i)
{
	struct initiator *spare = find_spare(pool);

	for (uint32_t k = 0; k < pool->attr.streams; k++)
		if (i->slots[k].peer && !i->slots[k].has_failed)
			i->slots[k].peer->hot.ep.sq = &pool->unbound.hot;
	pool->broken += 1 - i->failed_streams;
	i->failed_streams = 0;
	slots_withdraw(pool, i);
	i->has_failed = true;
	bsn_sq_ring(i->sq);
	if (spare) {
		spare->is_spare = false;
		slots_offer(pool, spare);
	}
}

static void withdraw_stream(struct bsn_dc_pool *pool, struct slot *s)
{
	slot_withdraw(pool, s);
	s->of->failed_streams++;
	pool->broken++;
	bsn_sq_ring(s->sq);
}

/* -- posting flushed requests once more -------------------------------------------------------- */

/*
 * The target may have executed a flushed request, in part or whole. A WRITE or READ may be executed
 * twice; a SEND or an atomic may not. With a limit of READs there may be no room for READs.
 */
static bool is_repeatable(const struct bsn_dc_pool *pool, uint8_t opcode)
{
	return opcode == BSN_OPCODE_RDMA_WRITE ||
	       (opcode == BSN_OPCODE_RDMA_READ && !pool->attr.max_reads);
}

/* Finds the stream's next request from @at on. False: there is none. */
static bool next_of(const struct slot *s, uint16_t *at, struct bsn_posted *posted)
{
	for (; *at != s->sq->pi; *at = (uint16_t)(*at + posted->count_bb)) {
		*posted = bsn_sq_posted_at(s->sq, *at);
		if (posted->opcode != BSN_OPCODE_NOP && &s->of->slots[posted->stream] == s)
			return true;
	}
	return false;
}

/*
 * Whether all requests of the stream from @from on may be posted once more. It gets no further
 * ones.
 */
static bool is_all_repeatable(const struct bsn_dc_pool *pool, const struct slot *s, uint16_t from)
{
	struct bsn_posted posted;

	for (uint16_t at = from; next_of(s, &at, &posted); at = (uint16_t)(at + posted.count_bb))
		if (!is_repeatable(pool, posted.opcode))
			return false;
	return true;
}

/*
 * Holds the request, to post it once more. False: it may not be repeated, or no initiator works. In
 * the second case the initiator that failed last must hold nothing, so that it can be repaired and
 * take what the others hold.
 */
static bool hold(struct bsn_dc_pool *pool, struct slot *s, uint16_t index)
{
	struct failure *f = &pool->failures[s->number];

	if (!f->held) {
		if (pool->attr.streams == 1 || pool->attr.no_repeats || !s->peer ||
		    !count_working(pool) || !is_all_repeatable(pool, s, index))
			return false;
		f->held_pi = index;
		f->held_bb = 0;
		s->of->held_slots++;
		pool->held_slots++;
		pool_wake(pool);
	}
	f->held++;
	f->held_bb = (uint16_t)(f->held_bb + bsn_sq_posted_at(s->sq, index).count_bb);
	return true;
}

/* Posts all held requests in their order, before the peer posts anything else. */
static void repeat_all(struct bsn_dc_pool *pool, struct slot *s, struct slot *to)
{
	struct failure *f = &pool->failures[s->number];
	struct bsn_peer peer = s->peer->hot;
	struct bsn_posted posted;

	peer.ep.sq = to->sq;
	peer.ctrl_bits = to->ctrl_bits;
	for (uint16_t at = f->held_pi; f->held && next_of(s, &at, &posted);
	     at = (uint16_t)(at + posted.count_bb)) {
		bsn_sq_post_again(s->sq, at, &peer);
		pool->counters.repeats++;
		f->held--;
	}
	bsn_sq_ring(to->sq);
	s->of->held_slots--;
	pool->held_slots--;
	move_slot(pool, s, to);
}

/* Posts what the slot holds, once all its requests were flushed. */
static void repeat_slot(struct bsn_dc_pool *pool, struct slot *s)
{
	struct slot *to;

	if (!holds(pool, s) || !is_done(pool, s))
		return;
	to = choose_slot(pool, s->peer);
	if (to && dv_sq(to->sq)->capacity_bb >=
			  bsn_sq_outstanding_bb(to->sq) + pool->failures[s->number].held_bb)
		repeat_all(pool, s, to);
}

void repeat_held(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; pool->held_slots && k < pool->slot_count; k++)
		repeat_slot(pool, &pool->slots[k]);
}

/* -- a request failed, or was flushed ---------------------------------------------------------- */

/* Copies a WQE, which may wrap in the ring. Returns its bytes. */
static uint32_t copy_wqe(const struct bsn_sq *sq, uint16_t index, uint8_t *wqe)
{
	const unsigned blocks = bsn_sq_posted_at(sq, index).count_bb;
	uint32_t bytes = 0;

	for (unsigned k = 0; k < blocks && bytes < BSN_SEND_MAX_DS * BSN_DS_SIZE; k++) {
		memcpy(wqe + bytes, bsn_sq_slot_of(sq, index + k), BSN_BB_SIZE);
		bytes += BSN_BB_SIZE;
	}
	return bytes;
}

static void keep(const struct bsn_dc_pool *pool, struct slot *s, const struct bsn_completion *c)
{
	struct bsn_dc_error *error = &pool->failures[s->number].error;

	error->has_failed = s->has_failed = true;
	error->generation = s->of->generation;
	error->first = *c;
	error->wqe_bytes = pool->rc ? 0 : copy_wqe(s->sq, c->wqe_index, error->wqe);
}

/* Returns whether the program is told of the failure: false if the request is held. */
static bool note_failure(struct bsn_sq_owner *owner, struct bsn_completion *c)
{
	struct initiator *i = (struct initiator *)owner;
	struct bsn_dc_pool *pool = i->pool;
	struct slot *s = &i->slots[bsn_sq_posted_at(i->sq, c->wqe_index).stream];
	const bool is_flush = c->status == IBV_WC_WR_FLUSH_ERR;

	c->src_qpn = i->generation;
	if (s->has_failed)
		return true;
	if (is_flush && !i->has_failed) {
		pool->counters.failures++;
		withdraw(pool, i);
	}
	if (is_flush && hold(pool, s, c->wqe_index)) {
		repeat_slot(pool, s);
		return false;
	}
	keep(pool, s, c);
	if (!i->has_failed) {
		pool->counters.failures++;
		if (i->failed_streams + 1 >= pool->fatal_streams)
			withdraw(pool, i);
		else
			withdraw_stream(pool, s);
	}
	if (s->peer)
		fail_peer(pool, s->peer);
	return true;
}

void own_queue(struct initiator *i)
{
	i->owner.failed = note_failure;
	dv_sq(i->qp->sq)->owner = &i->owner;
}
