/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool's life, its completions, and what becomes of an initiator that failed. */
#include "pool.h"

#include <stdlib.h>

enum { DEFAULT_INITIATORS = 8, DEFAULT_SPARES = 1, DEFAULT_DEPTH = 64, DEFAULT_TURN_BB = 64 };

/* -- creation ----------------------------------------------------------------------------------- */

static uint32_t or_else(uint32_t value, uint32_t if_zero)
{
	return value ? value : if_zero;
}

/* A queue without a ring: each post is refused by its closed_why, or goes to its path. */
static void init_nowhere(struct bsn_sq *sq, const struct bsn_sq *like)
{
	static struct bsn_be32 nowhere;

	sq->ep.sq = sq;
	sq->record = &nowhere;
	sq->lane = like->lane;
	sq->transport = BSN_TRANSPORT_DC;
	sq->has_peers = 1;
	sq->ops = like->ops;
	sq->max_sge = like->max_sge;
	sq->max_inline = like->max_inline;
	sq->max_ds = like->max_ds;
	sq->path = &unbound_path;
	sq->owner_thread = BSN_OWNER_ANYBODY;
}

static int make_cq(struct bsn_dc_pool *pool, const struct bsn_dc_pool_attr *attr)
{
	const uint32_t depth = or_else(attr->send_depth, DEFAULT_DEPTH);
	const uint32_t longest = bsn_bb_of_ds(bsn_wqe_longest_ds(
		BSN_TRANSPORT_DC, or_else(attr->max_send_sge, 1), or_else(attr->max_inline, 28)));
	/* Of each initiator one more, the NOP that tells its end. */
	const struct bsn_cq_attr cq = { .entries = pool->count * (depth * longest + 1),
					.channel = attr->channel,
					.lane = attr->lane,
					.user = attr->user };

	return bsn_cq_create(pool->device, &cq, &pool->cq);
}

static int make_initiator(struct bsn_dc_pool *pool, const struct bsn_dc_pool_attr *attr, uint32_t k)
{
	const struct bsn_qp_attr qp = { .type = BSN_QP_DC,
					.cq = pool->cq,
					.pd = attr->pd,
					.send_depth = or_else(attr->send_depth, DEFAULT_DEPTH),
					.max_send_sge = attr->max_send_sge,
					.max_inline = attr->max_inline,
					.signal_every = attr->signal_every,
					.user = attr->user };
	struct initiator *i = &pool->initiators[k];
	int err = bsn_qp_create(pool->device, &qp, &i->qp);

	if (err)
		return err;
	err = bsn_qp_connect(i->qp, NULL, &pool->connect);
	i->sq = bsn_qp_sq(i->qp);
	i->is_spare = k >= pool->initiators_wanted;
	pool->free += !i->is_spare;
	return err;
}

static void free_pool(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; k < pool->count; k++)
		bsn_qp_destroy(pool->initiators[k].qp);
	bsn_cq_destroy(pool->cq);
	peers_free(pool);
	free(pool);
}

static int check(const struct bsn_device *device, const struct bsn_dc_pool_attr *attr)
{
	const uint64_t count = (uint64_t)attr->initiators + attr->spares;

	if (device->no_dc)
		return fail(EOPNOTSUPP, "no DC: %s", device->no_dc);
	if (count > device->info.max_qp)
		return fail(EINVAL, "%u initiators and %u spares: the device has %u QPs",
			    attr->initiators, attr->spares, device->info.max_qp);
	return check_connect(device, &attr->connect);
}

static int fill_pool(struct bsn_dc_pool *pool, const struct bsn_dc_pool_attr *attr)
{
	int err = make_cq(pool, attr);

	for (uint32_t k = 0; !err && k < pool->count; k++)
		err = make_initiator(pool, attr, k);
	if (err)
		return err;
	init_nowhere(&pool->unbound, pool->initiators[0].sq);
	init_nowhere(&pool->failed, pool->initiators[0].sq);
	pool->failed.closed = ENOTCONN;
	pool->failed.closed_why = "a request to this peer failed: poll what is outstanding, then "
				  "bsn_dc_peer_reset()";
	return 0;
}

int bsn_dc_pool_create(struct bsn_device *device, const struct bsn_dc_pool_attr *given,
		       struct bsn_dc_pool **out)
{
	const struct bsn_dc_pool_attr attr = given ? *given : (struct bsn_dc_pool_attr){ 0 };
	const uint32_t count = or_else(attr.initiators, DEFAULT_INITIATORS) +
			       or_else(attr.spares, DEFAULT_SPARES);
	struct bsn_dc_pool *pool;
	int err;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the pool");
	err = check(device, &attr);
	if (err)
		return err;
	pool = bsn_hot_alloc(sizeof(*pool) + count * sizeof(pool->initiators[0]));
	if (!pool)
		return fail(ENOMEM, "no memory");
	pool->device = device;
	pool->connect = attr.connect;
	pool->count = count;
	pool->initiators_wanted = or_else(attr.initiators, DEFAULT_INITIATORS);
	pool->turn_bb = or_else(attr.turn_bb, DEFAULT_TURN_BB);
	pool->first_free = NO_PEER;
	err = fill_pool(pool, &attr);
	if (err) {
		free_pool(pool);
		return err;
	}
	*out = pool;
	return 0;
}

int bsn_dc_pool_destroy(struct bsn_dc_pool *pool)
{
	if (!pool)
		return 0;
	if (pool->peer_count)
		return fail(EBUSY, "%u peers of the pool are still there: destroy them first",
			    pool->peer_count);
	free_pool(pool);
	return 0;
}

/* -- failures ----------------------------------------------------------------------------------- */

static struct initiator *find_spare(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; k < pool->count; k++)
		if (pool->initiators[k].is_spare)
			return &pool->initiators[k];
	return NULL;
}

/*
 * What is in the queue comes back flushed, what was only appended too. The peer is refused from here
 * on, so that it does not go on after a gap that it knows nothing of; all others are as before.
 */
static void fail_initiator(struct bsn_dc_pool *pool, struct initiator *i)
{
	struct bsn_peer *peer = i->peer;
	struct initiator *spare = find_spare(pool);

	i->has_failed = true;
	pool->broken++;
	pool->counters.failures++;
	pool->turns -= i->has_turn;
	i->has_turn = false;
	bsn_sq_ring(i->sq);
	if (peer) {
		pool->revoked -= peer->ep.sq != i->sq;
		stop_waiting(pool, peer);
		peer->reserved[0] = PEER_FAILED;
		peer->ep.sq = &pool->failed;
	} else {
		pool->free--;
	}
	if (spare) {
		spare->is_spare = false;
		pool->free++;
	}
}

static void note_failure(struct bsn_dc_pool *pool, const struct bsn_completion *c)
{
	for (uint32_t k = 0; k < pool->count; k++) {
		struct initiator *i = &pool->initiators[k];

		if (i->sq->qpn == c->qpn && !i->has_failed) {
			fail_initiator(pool, i);
			return;
		}
	}
}

/* Ready again: a spare, unless one took no place because there was none. */
static int repair(struct bsn_dc_pool *pool, struct initiator *i, uint32_t working)
{
	int err = bsn_qp_reset(i->qp);

	if (!err)
		err = bsn_qp_connect(i->qp, NULL, &pool->connect);
	if (err)
		return err;
	i->peer = NULL;
	i->has_failed = i->is_marked = false;
	pool->broken--;
	i->is_spare = working >= pool->initiators_wanted;
	pool->free += !i->is_spare;
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

int bsn_dc_pool_repair(struct bsn_dc_pool *pool)
{
	int err = 0;

	if (!pool)
		return fail(EINVAL, "no pool");
	for (uint32_t k = 0; pool->broken && !err && k < pool->count; k++) {
		struct initiator *i = &pool->initiators[k];

		if (i->has_failed && !bsn_sq_outstanding_bb(i->sq))
			err = repair(pool, i, count_working(pool));
	}
	return err ? err : (int)pool->broken;
}

/* -- polling ------------------------------------------------------------------------------------ */

int bsn_dc_poll(struct bsn_dc_pool *pool, struct bsn_completion *c, int n)
{
	const int got = bsn_poll(pool->cq, c, n);

	if (got < 0)
		return got;
	for (int k = 0; k < got; k++)
		if (BSN_UNLIKELY(c[k].status))
			note_failure(pool, &c[k]);
	if (BSN_LIKELY(!pool->waiters && !pool->turns))
		return got;
	end_turns(pool);
	return got + give_turns(pool, c + got, n - got);
}

/* -- what is known of it ------------------------------------------------------------------------ */

struct bsn_cq *bsn_dc_pool_cq(struct bsn_dc_pool *pool)
{
	return pool ? pool->cq : NULL;
}

int bsn_dc_pool_counters(const struct bsn_dc_pool *pool, struct bsn_dc_counters *counters)
{
	if (!pool || !counters)
		return fail(EINVAL, "no pool, or no place for its counters");
	*counters = pool->counters;
	counters->peers = pool->peer_count;
	counters->waiting = pool->waiters;
	counters->broken = pool->broken;
	return 0;
}
