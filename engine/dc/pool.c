/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool's life, and its part in polls of its CQ. */
#include "rc.h"

#include <stdlib.h>

#include "sq.h"

#define MOST_TURN (1ull << 40) /* bytes */

/* -- what is asked for ------------------------------------------------------------------------- */

static struct bsn_dc_pool_attr with_defaults(const struct bsn_dc_pool_attr *given)
{
	struct bsn_dc_pool_attr attr = given ? *given : (struct bsn_dc_pool_attr){ 0 };

	attr.initiators = or_else(attr.initiators, 8);
	attr.spares = or_else(attr.spares, 1);
	attr.streams = or_else(attr.streams, 1);
	attr.send_depth = or_else(attr.send_depth, 64);
	attr.max_send_sge = or_else(attr.max_send_sge, 1);
	attr.max_inline = or_else(attr.max_inline, 28);
	if (!attr.turn_bytes)
		attr.turn_bytes = 65536;
	return attr;
}

static int check_streams(const struct bsn_device *device, const struct bsn_dc_pool_attr *attr)
{
	const uint64_t count = (uint64_t)attr->initiators + attr->spares;

	if (attr->streams == 1)
		return 0;
	if (device->path->path == BSN_PATH_VERBS)
		return fail(EOPNOTSUPP, "no streams on plain verbs, where initiators are RC QPs");
	if (device->no_streams)
		return fail(EOPNOTSUPP, "no streams: %s", device->no_streams);
	if (attr->streams > device->info.max_dc_streams)
		return fail(EINVAL, "%u streams: an initiator has %u at most", attr->streams,
			    device->info.max_dc_streams);
	if ((uint64_t)attr->send_depth * attr->streams > device->info.max_send_wr)
		return fail(EINVAL, "send_depth is %u: of %u streams together the device takes %u",
			    attr->send_depth, attr->streams, device->info.max_send_wr);
	if (count * attr->streams >= MOST_SLOTS)
		return fail(EINVAL, "%llu initiators of %u streams: a pool has less than %u slots",
			    (unsigned long long)count, attr->streams, MOST_SLOTS);
	return 0;
}

static int check_handshake(const struct bsn_device *device, const struct bsn_dc_pool_attr *attr)
{
	if (!attr->full_handshake)
		return 0;
	if (device->no_handshake)
		return fail(EOPNOTSUPP, "no full handshake: %s", device->no_handshake);
	if (attr->lane)
		return fail(EINVAL, "initiators with a full handshake have a register of their "
				    "own: name no lane");
	return 0;
}

static int check_lag_port(const struct bsn_device *device, uint8_t port)
{
	const unsigned ports = port ? provider_lag_ports(device->context) : 0;

	if (port && device->path->path == BSN_PATH_VERBS)
		return fail(EOPNOTSUPP,
			    "no lag_port on plain verbs, where the driver chooses the port");
	if (ports > 1 && port > ports)
		return fail(EINVAL, "lag_port is %u: the device has %u ports to bond", port, ports);
	return 0;
}

static int check_sizes(const struct bsn_device *device, const struct bsn_dc_pool_attr *attr)
{
	const uint64_t count = (uint64_t)attr->initiators + attr->spares;

	if ((unsigned)attr->policy > BSN_DC_HASHED)
		return fail(EINVAL, "no policy %u: see enum bsn_dc_policy", (unsigned)attr->policy);
	if (attr->turn_bytes > MOST_TURN)
		return fail(EINVAL, "turn_bytes is %llu: a turn has 1 TiB at most",
			    (unsigned long long)attr->turn_bytes);
	if (count > device->info.max_qp)
		return fail(EINVAL, "%u initiators and %u spares: the device has %u QPs",
			    attr->initiators, attr->spares, device->info.max_qp);
	if (count >= MOST_SLOTS)
		return fail(EINVAL, "%u initiators and %u spares: a pool has less than %u",
			    attr->initiators, attr->spares, MOST_SLOTS);
	if (attr->cq && cq_of(attr->cq)->device != device)
		return fail(EINVAL, "the CQ is of another device");
	if (attr->cq && cq_of(attr->cq)->is_shared)
		return fail(EINVAL,
			    "several threads poll the CQ (is_shared), and one thread uses a pool");
	return 0;
}

static int check(const struct bsn_device *device, const struct bsn_dc_pool_attr *attr)
{
	int err;

	if (device->no_dc && device->path->path != BSN_PATH_VERBS)
		return fail(EOPNOTSUPP, "no DC: %s", device->no_dc);
	err = check_lag_port(device, attr->lag_port);
	if (!err)
		err = check_sizes(device, attr);
	if (!err)
		err = check_streams(device, attr);
	if (!err)
		err = check_handshake(device, attr);
	return err ? err : check_connect(device, &attr->connect);
}

/* -- its part in polls ------------------------------------------------------------------------- */

static struct bsn_dc_pool *pool_of_guest(const struct cq_guest *guest)
{
	return (struct bsn_dc_pool *)(void *)((uint8_t *)(uintptr_t)guest -
					      offsetof(struct bsn_dc_pool, guest));
}

/* Completions of the pool's initiators, among those of other queues, may have made slots idle. */
static void listen(struct bsn_dc_pool *pool, const struct bsn_completion *c, int n)
{
	for (int k = 0; k < n; k++) {
		const struct bsn_route *route = bsn_cq_find(cq_of(pool->cq)->ring, c[k].qpn);
		struct initiator *i =
			route && dv_route(route)->sq ? owner_of(dv_route(route)->sq) : NULL;

		if (i && i->pool == pool)
			idle_hear(pool, i);
	}
}

static int hear(struct cq_guest *guest, struct bsn_completion *c, int n)
{
	struct bsn_dc_pool *pool = pool_of_guest(guest);

	if (pool->listens)
		listen(pool, c, n);
	return pool->rc ? rc_hear(pool, c, n) : n;
}

static int add(struct cq_guest *guest, struct bsn_completion *c, int n, bool may_sleep)
{
	struct bsn_dc_pool *pool = pool_of_guest(guest);

	if (pool->held_slots)
		repeat_held(pool);
	return take_turns(pool, c, n, may_sleep);
}

static bool wants_polls(const struct cq_guest *guest)
{
	const struct bsn_dc_pool *pool = pool_of_guest(guest);

	return pool->rc || pool->waiters || pool->in_state[SLOT_TURN] || pool->held_slots ||
	       pool->listens;
}

static void join_cq(struct bsn_dc_pool *pool)
{
	pool->guest = (struct cq_guest){ .hear = hear, .add = add, .wants_polls = wants_polls };
	cq_add_guest(cq_of(pool->cq), &pool->guest);
}

/* -- life -------------------------------------------------------------------------------------- */

struct bsn_dc_pool *pool_new(const struct bsn_dc_pool_attr *given)
{
	const struct bsn_dc_pool_attr attr = with_defaults(given);
	const uint32_t count = attr.initiators + attr.spares;
	struct bsn_dc_pool *pool =
		bsn_hot_alloc(sizeof(*pool) + count * sizeof(pool->initiators[0]));

	if (!pool)
		return NULL;
	pool->attr = attr;
	pool->count = count;
	pool->first_free = NO_PEER;
	for (uint32_t k = 0; k < count; k++) {
		pool->initiators[k].pool = pool;
		pool->initiators[k].is_spare = k >= attr.initiators;
	}
	return pool;
}

/* A queue that shows no room and no operations, so each post comes to its path. */
static void init_nowhere(struct bsn_sq *sq, const struct bsn_sq *like)
{
	struct dv_sq *const whole = dv_sq(sq);
	static struct bsn_be32 nowhere;

	sq->ep.sq = sq;
	sq->slot = (uint8_t *)&nowhere;
	sq->record = &nowhere;
	sq->lane = like->lane;
	whole->transport = dv_sq(like)->transport;
	whole->has_peers = dv_sq(like)->has_peers;
	whole->held_ops = like->ops | dv_sq(like)->held_ops;
	sq->can = like->can;
	whole->max_copy = dv_sq(like)->max_copy;
	sq->max_sge = like->max_sge;
	sq->max_inline = like->max_inline;
	whole->max_ds = dv_sq(like)->max_ds;
	whole->path = &unbound_path;
}

/*
 * Prepares an initiator that has its queue. A limit of as many READs as its ring has blocks, or of
 * more, needs no gate.
 */
static void begin_initiator(struct bsn_dc_pool *pool, struct initiator *i)
{
	if (i->qp)
		own_queue(i);
	if (pool->attr.max_reads && pool->attr.max_reads <= dv_sq(i->sq)->bb_mask)
		gate_put(i, pool->attr.max_reads);
	if (pool->attr.streams > 1) /* peers share it, so none may cancel */
		i->sq->can |= BSN_CAN_NOT_CANCEL;
}

int pool_begin(struct bsn_dc_pool *pool)
{
	if (slots_make(pool))
		return fail(ENOMEM, "no memory");
	init_nowhere(&pool->unbound.hot, pool->initiators[0].sq);
	init_nowhere(&pool->failed.hot, pool->initiators[0].sq);
	for (uint32_t k = 0; k < pool->count; k++)
		begin_initiator(pool, &pool->initiators[k]);
	pool->failed.closed = ENOTCONN;
	pool->failed.closed_why = "a request to this peer failed: poll what is outstanding, then "
				  "bsn_dc_peer_reset()";
	return 0;
}

void pool_free(struct bsn_dc_pool *pool)
{
	peers_free(pool);
	slots_free(pool);
	free(pool);
}

static void end(struct bsn_dc_pool *pool)
{
	if (pool->guest.add)
		cq_remove_guest(cq_of(pool->cq), &pool->guest);
	rc_close(pool);
	initiators_free(pool);
	pool_free(pool);
}

static bool count_connects(const struct bsn_dc_pool *pool, struct provider_dc_connects *counted)
{
	return pool->device && !pool->rc && provider_dc_connects(pool->device->context, counted);
}

int bsn_dc_pool_create(struct bsn_device *device, const struct bsn_dc_pool_attr *given,
		       struct bsn_dc_pool **out)
{
	const struct bsn_dc_pool_attr attr = with_defaults(given);
	struct bsn_dc_pool *pool;
	int err;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the pool");
	err = check(device, &attr);
	if (err)
		return err;
	pool = pool_new(&attr);
	if (!pool)
		return fail(ENOMEM, "no memory");
	pool->device = device;
	err = initiators_make(pool);
	if (!err)
		err = pool_begin(pool);
	if (err) {
		end(pool);
		return err;
	}
	join_cq(pool);
	count_connects(pool, &pool->before);
	*out = pool;
	return 0;
}

int bsn_dc_pool_destroy(struct bsn_dc_pool *pool)
{
	if (!pool)
		return 0;
	if (pool->peer_count)
		return fail(EBUSY, "the pool has %u peers: destroy them first", pool->peer_count);
	end(pool);
	return 0;
}

/* -- what is known of it ----------------------------------------------------------------------- */

struct bsn_cq *bsn_dc_pool_cq(struct bsn_dc_pool *pool)
{
	return pool ? pool->cq : NULL;
}

int bsn_dc_pool_counters(const struct bsn_dc_pool *pool, struct bsn_dc_counters *counters)
{
	struct provider_dc_connects now;

	if (!pool || !counters)
		return fail(EINVAL, "no pool, or no place for its counters");
	*counters = pool->counters;
	counters->bindings += pool->counters.evictions; /* each eviction bound a peer, too */
	counters->peers = pool->peer_count;
	counters->waiting = pool->waiters;
	counters->broken = pool->broken;
	counters->has_connects = count_connects(pool, &now);
	if (!counters->has_connects)
		return 0;
	counters->connects = now.all - pool->before.all;
	counters->reconnects = now.again - pool->before.again;
	return 0;
}
