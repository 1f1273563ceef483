/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells why initiators and streams failed, and repairs them. A stream can be reset when nothing of
 * it is outstanding; before that the device refuses it (mlx5dv_dci_stream_id_reset(3)).
 */
#include "rc.h"

#include "sq.h"

/* -- why --------------------------------------------------------------------------------------- */

int bsn_dc_peer_error(struct bsn_ep *ep, struct bsn_dc_error *error)
{
	const struct slot *s;

	if (!ep || !error)
		return fail(EINVAL, "no peer, or no place for the error");
	*error = (struct bsn_dc_error){ .text = "no request failed" };
	s = peer_of(ep)->slot;
	if (peer_of(ep)->refusal)
		rc_explain(peer_of(ep), error);
	if (!s || !s->has_failed)
		return 0;
	*error = s->of->pool->failures[s->number].error;
	error->text = s->of->pool->attr.streams == 1 || error->first.status != IBV_WC_WR_FLUSH_ERR
			      ? failure_text(&error->first)
			      : "requests to other peers failed this peer's initiator, too, and "
				"nobody tells whether the target has executed what was "
				"outstanding, so that it was not posted again";
	return 0;
}

/* -- streams ----------------------------------------------------------------------------------- */

static int reset_stream(const struct initiator *i, uint16_t stream)
{
	return i->qp->dci ? handshake_dci_stream_reset(i->qp->dci, stream)
			  : provider_stream_reset(bsn_qp_info(i->qp)->verbs, stream);
}

/*
 * Resets a stream. If that fails, as it does without DevX, its initiator is withdrawn although it
 * works.
 */
static void repair_stream(struct bsn_dc_pool *pool, struct slot *s)
{
	struct initiator *i = s->of;

	if (reset_stream(i, (uint16_t)(s - i->slots))) {
		withdraw(pool, i);
		return;
	}
	forget_slot(s);
	slot_offer(pool, s);
	i->failed_streams--;
	i->generation++;
	pool->broken--;
	pool->counters.repairs++;
}

static void repair_streams(struct bsn_dc_pool *pool, struct initiator *i)
{
	for (uint32_t k = 0; !i->has_failed && k < pool->attr.streams; k++)
		if (i->slots[k].has_failed && is_done(pool, &i->slots[k]))
			repair_stream(pool, &i->slots[k]);
	if (i->has_failed && !i->held_slots)
		mark_end(pool, i); /* it may have been withdrawn although it works */
}

/* -- initiators -------------------------------------------------------------------------------- */

static int reset_and_connect(struct bsn_dc_pool *pool, struct initiator *i)
{
	const int err = initiator_reset(i);

	return err ? err : initiator_connect(pool, i);
}

/* Repairs an initiator. It becomes a spare if as many as were asked for work. */
static int repair(struct bsn_dc_pool *pool, struct initiator *i)
{
	const uint32_t working = count_working(pool);
	const int err = pool->rc ? rc_repair(i) : reset_and_connect(pool, i);

	if (err)
		return err;
	for (uint32_t k = 0; k < pool->attr.streams; k++) {
		forget_slot(&i->slots[k]);
		i->slots[k].has_failed = false;
	}
	i->has_failed = false;
	i->generation++;
	pool->broken--;
	pool->counters.repairs++;
	i->is_spare = working >= pool->attr.initiators;
	if (!i->is_spare)
		slots_offer(pool, i);
	return 0;
}

int bsn_dc_pool_repair(struct bsn_dc_pool *pool)
{
	int err = 0;

	if (!pool)
		return fail(EINVAL, "no pool");
	for (uint32_t k = 0; pool->broken && !err && k < pool->count; k++) {
		struct initiator *i = &pool->initiators[k];

		if (pool->attr.streams > 1)
			repair_streams(pool, i);
		if (i->has_failed && !i->held_slots && !bsn_sq_outstanding_bb(i->sq))
			err = repair(pool, i);
	}
	return err ? err : (int)pool->broken;
}
