/* SPDX-License-Identifier: BSD-2-Clause */
/* Initiators: their QPs, and the CQ entries that these take. */
#include "rc.h"


enum { LEAST_DEPTH = 16 };

/* -- its CQ ------------------------------------------------------------------------------------ */

/*
 * Depth for the requests of all streams. A queue of fewer than LEAST_DEPTH would look for room at
 * every other post.
 */
static uint32_t depth_of(const struct bsn_dc_pool *pool)
{
	const uint32_t depth = pool->attr.send_depth * pool->attr.streams;

	return pool->rc || depth > LEAST_DEPTH ? depth : LEAST_DEPTH;
}

/* Blocks of an initiator's longest request. */
static uint32_t longest_of(const struct bsn_dc_pool *pool)
{
	return bsn_bb_of_ds(bsn_wqe_longest_ds(BSN_TRANSPORT_DC, pool->attr.max_send_sge,
					       pool->attr.max_inline));
}

/*
 * Creates the pool's CQ, or takes entries of the given one. An initiator needs one more, for the
 * NOP of mark_end(). On plain verbs its QP counts that one, and a receive that the QP must have;
 * there the datagrams take entries, too.
 */
static int bring_cq(struct bsn_dc_pool *pool)
{
	const uint32_t depth = depth_of(pool), beside = pool->rc ? 0 : pool->count;
	const uint32_t entries = pool->rc ? pool->count * (depth + 2) + RC_TALK_SLOTS
					  : pool->count * (depth * longest_of(pool) + 1);
	const struct bsn_cq_attr own = { .entries = entries, .lane = pool->attr.lane };
	struct bsn_cq *cq = pool->attr.cq;
	int err = cq ? 0 : bsn_cq_create(pool->device, &own, &cq);

	if (err)
		return err;
	err = cq_take(cq_of(cq), entries, beside);
	if (!err) {
		pool->cq = cq;
		pool->charged = beside;
	} else if (!pool->attr.cq) {
		bsn_cq_destroy(cq);
	}
	return err;
}

/* -- DC ---------------------------------------------------------------------------------------- */

static int set_lag_port(const struct initiator *i, unsigned port)
{
	return i->qp->dci ? handshake_dci_lag_port_set(i->qp->dci, port)
			  : provider_lag_port_set(bsn_qp_info(i->qp)->verbs, port);
}

/* Connects an initiator, and sets its port, which each change of state resets. */
int initiator_connect(struct bsn_dc_pool *pool, struct initiator *i)
{
	int err = bsn_qp_connect(i->qp, NULL, &pool->attr.connect);

	if (err || !pool->attr.lag_port)
		return err;
	err = set_lag_port(i, pool->attr.lag_port);
	return err ? fail(-err, "initiators cannot send by port %u (lag_port): %s",
			  pool->attr.lag_port,
			  err == -EOPNOTSUPP ? "the device is not bonded" : strerror(-err))
		   : 0;
}

/* Lets as many streams fail as the device allows; with one more the initiator fails. */
static struct provider_streams plan_streams(struct bsn_dc_pool *pool)
{
	const uint8_t most = pool->device->streams.log_failed;
	struct provider_streams streams = { 0 };

	while (1u << streams.log_count < pool->attr.streams)
		streams.log_count++;
	streams.log_failed = streams.log_count < most ? streams.log_count : most;
	pool->fatal_streams = 1u << streams.log_failed;
	if (pool->fatal_streams > pool->attr.streams)
		pool->fatal_streams = pool->attr.streams;
	return streams;
}

static int make_register(struct bsn_dc_pool *pool)
{
	const int err = handshake_uar_alloc(pool->device->context, &pool->uar);

	return err ? fail(-err, "no register for initiators with a full handshake: %s",
			  strerror(-err))
		   : 0;
}

/* -- all of them ------------------------------------------------------------------------------- */

static int make_one(struct bsn_dc_pool *pool, struct initiator *i)
{
	struct bsn_qp_attr qp = { .type = pool->rc ? BSN_QP_RC : BSN_QP_DC,
				  .cq = pool->cq,
				  .lane = pool->attr.lane,
				  .pd = pool->attr.pd,
				  .send_depth = depth_of(pool),
				  .max_send_sge = pool->attr.max_send_sge,
				  .max_inline = pool->attr.max_inline,
				  .signal_every = pool->attr.signal_every };
	struct dci_attr more = { .uar = pool->attr.full_handshake ? &pool->uar : NULL };
	int err;

	if (pool->rc)
		return rc_make_initiator(pool, i, &qp);
	if (pool->attr.streams > 1)
		more.streams = plan_streams(pool);
	err = qp_create_dci(pool->device, &qp, &more, &i->qp);
	if (err)
		return err;
	i->sq = i->qp->sq;
	return initiator_connect(pool, i);
}

int initiators_make(struct bsn_dc_pool *pool)
{
	int err = pool->device->path->path == BSN_PATH_VERBS ? rc_make(pool) : 0;

	if (!err)
		err = bring_cq(pool);
	if (!err && pool->rc)
		err = rc_open(pool);
	if (!err && pool->attr.full_handshake)
		err = make_register(pool);
	for (uint32_t k = 0; !err && k < pool->count; k++)
		err = make_one(pool, &pool->initiators[k]);
	return err;
}

void initiators_free(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; k < pool->count; k++)
		bsn_qp_destroy(pool->initiators[k].qp);
	handshake_uar_free(&pool->uar);
	if (!pool->cq)
		return;
	cq_give(cq_of(pool->cq), pool->charged);
	if (!pool->attr.cq)
		bsn_cq_destroy(pool->cq);
}
