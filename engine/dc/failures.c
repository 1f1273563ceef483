/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Initiators that fail, and are repaired. Where they have streams these may fail one by one:
 * streams.c.
 */
#include "rc.h"

#include "posted.h"
#include "sq.h"

/* -- failing ----------------------------------------------------------------------------------- */

static struct initiator *find_spare(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; k < pool->count; k++)
		if (pool->initiators[k].is_spare)
			return &pool->initiators[k];
	return NULL;
}

void fail_peer(struct bsn_dc_pool *pool, struct peer *peer)
{
	stop_waiting(pool, peer);
	peer->state = PEER_FAILED;
	peer->hot.ep.sq = &pool->failed;
}

void withdraw(struct bsn_dc_pool *pool, struct initiator *i)
{
	struct initiator *spare = find_spare(pool);

	slots_leave(pool, i);
	i->has_failed = true;
	pool->broken++;
	bsn_sq_ring(i->sq);
	if (spare) {
		spare->is_spare = false;
		slots_enter(pool, spare);
	}
}

/*
 * Requests in the queue come back flushed, appended ones too. From here on posts to the peer are
 * refused, so that it does not go on after a gap that it knows nothing of; all other peers go on.
 */
static void fail_initiator(struct bsn_dc_pool *pool, struct initiator *i)
{
	withdraw(pool, i);
	pool->counters.failures++;
	if (i->slots[0].peer)
		fail_peer(pool, i->slots[0].peer);
}

/* Return: whether the program is told of it. */
static bool note_failure(struct bsn_sq_owner *owner, struct bsn_completion *c)
{
	struct initiator *i = (struct initiator *)owner;

	c->src_qpn = i->generation;
	if (i->pool->streams > 1)
		return !stream_failed(i->pool, i, c);
	if (!i->has_failed) {
		i->failed_index = c->wqe_index;
		fail_initiator(i->pool, i);
	}
	return true;
}

void own_queue(struct initiator *i)
{
	i->owner.failed = note_failure;
	i->qp->sq->owner = &i->owner;
}

/* -- why --------------------------------------------------------------------------------------- */

/* As the device was given it, also round the ring's end. */
uint32_t copy_wqe(const struct bsn_sq *sq, uint16_t index, uint8_t *wqe)
{
	const unsigned blocks = bsn_sq_posted_at(sq, index).count_bb;
	uint32_t bytes = 0;

	for (unsigned k = 0; k < blocks && bytes < BSN_SEND_MAX_DS * BSN_DS_SIZE; k++) {
		memcpy(wqe + bytes, sq->ring + (size_t)((index + k) & sq->bb_mask) * BSN_BB_SIZE,
		       BSN_BB_SIZE);
		bytes += BSN_BB_SIZE;
	}
	return bytes;
}

/* Of an initiator without streams. */
static int explain_initiator(const struct initiator *i, struct bsn_dc_error *error)
{
	struct bsn_qp_error known;
	const int err = bsn_qp_error(i->qp, &known);

	if (err)
		return err;
	error->has_failed = true;
	error->generation = i->generation;
	error->first = known.first;
	error->text = known.text;
	if (!i->pool->rc)
		error->wqe_bytes = copy_wqe(i->sq, i->failed_index, error->wqe);
	return 0;
}

int bsn_dc_peer_error(struct bsn_ep *ep, struct bsn_dc_error *error)
{
	const struct peer *peer;

	if (!ep || !error)
		return fail(EINVAL, "no peer, or no place for the error");
	peer = peer_of(ep);
	*error = (struct bsn_dc_error){ .text = "no request failed" };
	if (peer->refusal)
		rc_explain(peer, error);
	if (!peer->slot)
		return 0;
	if (peer->slot->has_failed)
		explain_stream(pool_of(peer), peer->slot, error);
	else if (peer->slot->of->has_failed && pool_of(peer)->streams == 1)
		return explain_initiator(peer->slot->of, error);
	return 0;
}

/* -- ready again ------------------------------------------------------------------------------- */

/* Ready again: a spare, unless one took no place because there was none. */
static int repair(struct bsn_dc_pool *pool, struct initiator *i, uint32_t working)
{
	int err = pool->rc ? rc_repair(pool, i) : bsn_qp_reset(i->qp);

	if (!err && !pool->rc)
		err = connect_initiator(pool, i);
	if (err)
		return err;
	for (uint32_t k = 0; k < pool->streams; k++) {
		forget_slot(&i->slots[k]);
		i->slots[k].has_failed = false;
	}
	i->gate.reads = i->gate.read_pi = 0;
	i->has_failed = i->is_marked = false;
	i->generation++;
	pool->broken--;
	i->is_spare = working >= pool->initiators_wanted;
	if (!i->is_spare)
		slots_enter(pool, i);
	pool->counters.repairs++;
	return 0;
}

static uint32_t count_working(const struct bsn_dc_pool *pool)
{
	uint32_t working = 0;

	for (uint32_t k = 0; k < pool->count; k++)
		working += !pool->initiators[k].has_failed && !pool->initiators[k].is_spare;
	return working;
}

bool any_works(const struct bsn_dc_pool *pool)
{
	return count_working(pool);
}

int bsn_dc_pool_repair(struct bsn_dc_pool *pool)
{
	int err = 0;

	if (!pool)
		return fail(EINVAL, "no pool");
	if (pool->rc)
		rc_look(pool);
	for (uint32_t k = 0; pool->broken && !err && k < pool->count; k++) {
		struct initiator *i = &pool->initiators[k];

		if (pool->streams > 1)
			repair_streams(pool, i);
		if (i->has_failed && !i->held_slots && !bsn_sq_outstanding_bb(i->sq))
			err = repair(pool, i, count_working(pool));
	}
	return err ? err : (int)pool->broken;
}
