/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams that fail. What is known of them (mlx5dv_create_qp(3), mlx5dv_dci_stream_id_reset(3)):
 *
 *	a request fails      the stream is in error: what it has after that comes back flushed, in
 *	                     its order. The others go on
 *	too many streams do  the whole initiator is in error, and all that is in its queue comes
 *	                     back flushed
 *	nothing of a stream  it can be reset; before that the device refuses it
 *	is outstanding
 *
 * What was flushed with a whole initiator, though its stream had not failed, is posted again by
 * another one, where it may be executed twice.
 *
 * Requests of all streams are reported in the order of the queue, as UCX's DCIs of several streams
 * count on (dc_mlx5.c, uct_dc_mlx5_poll_tx()). Whether the initiator is in error is seen without a
 * system call: then a stream that has not failed has a request flushed.
 */
#include "pool.h"

#include "posted.h"
#include "sq.h"

/* -- failing ----------------------------------------------------------------------------------- */

/*
 * Other peers get none of its slots any more. Those that have one leave it as soon as nothing of
 * theirs is outstanding.
 */
static void withdraw_all(struct bsn_dc_pool *pool, struct initiator *i)
{
	pool->broken -= i->failed_streams;
	i->failed_streams = 0;
	for (uint32_t k = 0; k < pool->streams; k++)
		if (i->slots[k].peer && !i->slots[k].has_failed)
			i->slots[k].peer->hot.ep.sq = &pool->unbound;
	withdraw(pool, i);
}

static void withdraw_stream(struct bsn_dc_pool *pool, struct slot *s)
{
	slot_leave(pool, s);
	s->of->failed_streams++;
	pool->broken++;
	bsn_sq_ring(s->of->sq);
}

static void keep(const struct bsn_dc_pool *pool, struct slot *s, const struct bsn_completion *c)
{
	struct failure *f = &pool->failures[s->number];

	f->first = *c;
	f->generation = s->of->generation;
	f->wqe_bytes = copy_wqe(s->of->sq, c->wqe_index, f->wqe);
	s->has_failed = true;
}

/*
 * The target may have executed a request that was flushed, in part or whole. A WRITE or READ may be
 * executed twice; what the target counts may not. With a limit of READs there may be no room for
 * them.
 */
static bool is_repeatable(const struct bsn_dc_pool *pool, uint8_t opcode)
{
	return opcode == BSN_OPCODE_RDMA_WRITE ||
	       (opcode == BSN_OPCODE_RDMA_READ && !pool->max_reads);
}

/* All that a stream has from there on can be posted again; nothing is added to it any more. */
static bool is_all_repeatable(const struct bsn_dc_pool *pool, const struct slot *s, uint16_t from)
{
	const struct bsn_sq *sq = s->of->sq;
	struct bsn_posted posted;

	for (uint16_t at = from; at != sq->pi; at = (uint16_t)(at + posted.count_bb)) {
		posted = bsn_sq_posted_at(sq, at);
		if (posted.opcode != BSN_OPCODE_NOP && &s->of->slots[posted.stream] == s &&
		    !is_repeatable(pool, posted.opcode))
			return false;
	}
	return true;
}

/*
 * Where none works any more, nothing is held on the one that failed last: it can be repaired, and
 * then takes what is held on others.
 */
static bool hold(struct bsn_dc_pool *pool, struct slot *s, uint16_t index)
{
	struct failure *f = &pool->failures[s->number];

	if (!f->held) {
		if (pool->no_repeats || !s->peer || !any_works(pool) ||
		    !is_all_repeatable(pool, s, index))
			return false;
		f->held_pi = index;
		f->held_bb = 0;
		s->of->held_slots++;
		pool->held_slots++;
		pool_wake(pool);
	}
	f->held++;
	f->held_bb = (uint16_t)(f->held_bb + bsn_sq_posted_at(s->of->sq, index).count_bb);
	return true;
}

/* -- posting again ----------------------------------------------------------------------------- */

/* In their order, all at once, and before anything that the peer posts next. */
static void repeat_all(struct bsn_dc_pool *pool, struct slot *s, struct slot *to)
{
	struct failure *f = &pool->failures[s->number];
	struct bsn_peer peer = s->peer->hot;
	const struct bsn_sq *from = s->of->sq;
	struct bsn_posted posted;

	peer.ep.sq = to->of->sq;
	peer.ctrl_bits = to->ctrl_bits;
	for (uint16_t at = f->held_pi; f->held; at = (uint16_t)(at + posted.count_bb)) {
		posted = bsn_sq_posted_at(from, at);
		if (posted.opcode == BSN_OPCODE_NOP || &s->of->slots[posted.stream] != s)
			continue;
		bsn_sq_post_again(from, at, &peer);
		pool->counters.repeats++;
		f->held--;
	}
	bsn_sq_ring(to->of->sq);
	s->of->held_slots--;
	pool->held_slots--;
	move_slot(pool, s, to);
}

/* Once all of it was flushed. */
static void repeat_slot(struct bsn_dc_pool *pool, struct slot *s)
{
	struct slot *to;

	if (!holds(pool, s) || !is_done(pool, s))
		return;
	to = choose_slot(pool, s->peer);
	if (to && to->of->sq->capacity_bb >=
			  bsn_sq_outstanding_bb(to->of->sq) + pool->failures[s->number].held_bb)
		repeat_all(pool, s, to);
}

bool stream_failed(struct bsn_dc_pool *pool, struct initiator *i, const struct bsn_completion *c)
{
	struct slot *s = &i->slots[bsn_sq_posted_at(i->sq, c->wqe_index).stream];
	const bool is_flush = c->status == IBV_WC_WR_FLUSH_ERR;

	if (s->has_failed)
		return false;
	if (is_flush && !i->has_failed) {
		pool->counters.failures++;
		withdraw_all(pool, i);
	}
	if (is_flush && hold(pool, s, c->wqe_index)) {
		repeat_slot(pool, s);
		return true;
	}
	keep(pool, s, c);
	if (!i->has_failed) {
		pool->counters.failures++;
		if (i->failed_streams + 1 >= pool->fatal_streams)
			withdraw_all(pool, i);
		else
			withdraw_stream(pool, s);
	}
	if (s->peer)
		fail_peer(pool, s->peer);
	return false;
}

void repeat_held(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; pool->held_slots && k < pool->slot_count; k++)
		repeat_slot(pool, &pool->slots[k]);
}

/* -- ready again ------------------------------------------------------------------------------- */

/*
 * Where streams cannot be reset (no DevX) their initiator is given up although it works; and the
 * device may count failures otherwise. Then a NOP tells when all of it is done.
 */
static void await_end(struct initiator *i)
{
	if (!bsn_sq_ends_quietly(i->sq))
		bsn_sq_ring(i->sq);
	else if (bsn_sq_outstanding_bb(i->sq))
		bsn_sq_post_marker(i->sq);
}

static int reset_stream(const struct initiator *i, uint16_t stream)
{
	return i->qp->dci ? handshake_dci_stream_reset(i->qp->dci, stream)
			  : provider_stream_reset(bsn_qp_verbs(i->qp), stream);
}

static void repair_stream(struct bsn_dc_pool *pool, struct slot *s)
{
	struct initiator *i = s->of;

	if (reset_stream(i, (uint16_t)(s - i->slots))) {
		withdraw_all(pool, i);
		return;
	}
	forget_slot(s);
	slot_enter(pool, s);
	i->failed_streams--;
	i->generation++;
	pool->broken--;
	pool->counters.repairs++;
}

void repair_streams(struct bsn_dc_pool *pool, struct initiator *i)
{
	for (uint32_t k = 0; !i->has_failed && k < pool->streams; k++)
		if (i->slots[k].has_failed && is_done(pool, &i->slots[k]))
			repair_stream(pool, &i->slots[k]);
	if (i->has_failed && !i->held_slots)
		await_end(i);
}

void explain_stream(const struct bsn_dc_pool *pool, const struct slot *s,
		    struct bsn_dc_error *error)
{
	const struct failure *f = &pool->failures[s->number];

	error->has_failed = true;
	error->generation = f->generation;
	error->first = f->first;
	error->wqe_bytes = f->wqe_bytes;
	memcpy(error->wqe, f->wqe, f->wqe_bytes);
	error->text = f->first.status != IBV_WC_WR_FLUSH_ERR
			      ? failure_text(&f->first)
			      : "requests to other peers failed this peer's initiator, too, and "
				"nobody tells whether the target has executed what was "
				"outstanding, so that it was not posted again";
}
