/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool's life, its completions, and what becomes of an initiator that failed. */
#include "rc.h"

#include <stdlib.h>

#include "lag.h"
#include "posted.h"
#include "sq.h"

#define MOST_TURN (1ull << 40) /* bytes */

enum {
	DEFAULT_INITIATORS = 8,
	DEFAULT_SPARES = 1,
	DEFAULT_DEPTH = 64,
	LEAST_DEPTH = 16,
	DEFAULT_TURN = 65536
};

/* -- creation -------------------------------------------------------------------------------- */

static uint32_t or_else(uint32_t value, uint32_t if_zero)
{
	return value ? value : if_zero;
}

static uint32_t initiators_of(const struct bsn_dc_pool_attr *attr)
{
	return or_else(attr->initiators, DEFAULT_INITIATORS);
}

static uint32_t spares_of(const struct bsn_dc_pool_attr *attr)
{
	return or_else(attr->spares, DEFAULT_SPARES);
}

static uint64_t count_of(const struct bsn_dc_pool_attr *attr)
{
	return (uint64_t)initiators_of(attr) + spares_of(attr);
}

/* It shows no room and no operation, so each post comes to the queue's path. */
void init_nowhere(struct bsn_sq *sq, const struct bsn_sq *like)
{
	static struct bsn_be32 nowhere;

	sq->ep.sq = sq;
	sq->slot = (uint8_t *)&nowhere;
	sq->record = &nowhere;
	sq->lane = like->lane;
	sq->transport = like->transport;
	sq->has_peers = like->has_peers;
	sq->held_ops = like->ops | like->held_ops;
	sq->can = like->can;
	sq->max_copy = like->max_copy;
	sq->max_sge = like->max_sge;
	sq->max_inline = like->max_inline;
	sq->max_ds = like->max_ds;
}

/*
 * Of an initiator: as much for each of its peers. A short queue has its room counted at every
 * other post.
 */
static uint32_t depth_of(const struct bsn_dc_pool *pool, const struct bsn_dc_pool_attr *attr)
{
	const uint32_t depth = or_else(attr->send_depth, DEFAULT_DEPTH) * pool->streams;

	return depth > LEAST_DEPTH ? depth : LEAST_DEPTH;
}

static int make_cq(struct bsn_dc_pool *pool, const struct bsn_dc_pool_attr *attr)
{
	const uint32_t depth = depth_of(pool, attr);
	const uint32_t longest = bsn_bb_of_ds(bsn_wqe_longest_ds(
		BSN_TRANSPORT_DC, or_else(attr->max_send_sge, 1), or_else(attr->max_inline, 28)));
	/* Of each initiator one more, the NOP that tells its end. */
	const struct bsn_cq_attr cq = { .entries = pool->count * (depth * longest + 1),
					.channel = attr->channel,
					.lane = attr->lane,
					.user = attr->user };

	return bsn_cq_create(pool->device, &cq, &pool->cq);
}

static int set_lag_port(const struct initiator *i, unsigned port)
{
	return i->qp->dci ? handshake_dci_lag_port_set(i->qp->dci, port)
			  : provider_lag_port_set(bsn_qp_info(i->qp)->verbs, port);
}

/* The port goes with each change of state. */
static int connect_initiator(struct bsn_dc_pool *pool, struct initiator *i)
{
	int err = bsn_qp_connect(i->qp, NULL, &pool->connect);

	if (err || !pool->lag_port)
		return err;
	err = set_lag_port(i, pool->lag_port);
	return err ? fail(-err, "initiators cannot be told to send by port %u (lag_port): %s",
			  pool->lag_port,
			  err == -EOPNOTSUPP ? "the device is not bonded" : strerror(-err))
		   : 0;
}

static uint8_t log2_of(uint32_t count)
{
	uint8_t log = 0;

	while (1u << log < count)
		log++;
	return log;
}

/* As many of them may fail as the device allows. */
static struct provider_streams streams_of(const struct bsn_dc_pool *pool)
{
	const uint8_t log = log2_of(pool->streams), most = pool->device->streams.log_failed;

	return (struct provider_streams){ .log_count = log, .log_failed = log < most ? log : most };
}

/* Or all of them. */
static uint32_t fatal_of(const struct bsn_dc_pool *pool)
{
	const uint32_t fatal = 1u << streams_of(pool).log_failed;

	return fatal < pool->streams ? fatal : pool->streams;
}

static int make_initiator(struct bsn_dc_pool *pool, const struct bsn_dc_pool_attr *attr, uint32_t k)
{
	const struct bsn_qp_attr qp = { .type = BSN_QP_DC,
					.cq = pool->cq,
					.pd = attr->pd,
					.send_depth = depth_of(pool, attr),
					.max_send_sge = attr->max_send_sge,
					.max_inline = attr->max_inline,
					.signal_every = attr->signal_every,
					.user = attr->user };
	struct initiator *i = &pool->initiators[k];
	const struct provider_streams streams = streams_of(pool);
	const struct dci_attr more = { .streams = streams.log_count
							  ? streams
							  : (struct provider_streams){ 0 },
				       .uar = attr->full_handshake ? &pool->uar : NULL };
	int err = qp_create_dci(pool->device, &qp, &more, &i->qp);

	if (err)
		return err;
	err = connect_initiator(pool, i);
	i->sq = i->qp->sq;
	return err;
}

void pool_free(struct bsn_dc_pool *pool)
{
	peers_free(pool);
	free(pool->slots);
	free(pool->clock);
	free(pool->by_qpn);
	free(pool->heard);
	free(pool->given);
	free(pool->failures);
	free(pool);
}

static void free_pool(struct bsn_dc_pool *pool)
{
	rc_pool_free(pool);
	for (uint32_t k = 0; k < pool->count; k++)
		bsn_qp_destroy(pool->initiators[k].qp);
	bsn_cq_destroy(pool->cq);
	handshake_uar_free(&pool->uar);
	pool_free(pool);
}

static int check_streams(const struct bsn_device *device, const struct bsn_dc_pool_attr *attr)
{
	const uint64_t count = count_of(attr);

	if (attr->streams <= 1)
		return 0;
	if (device->path->path == BSN_PATH_VERBS)
		return fail(EOPNOTSUPP, "no streams on plain verbs, where initiators are RC QPs");
	if (device->no_streams)
		return fail(EOPNOTSUPP, "no streams: %s", device->no_streams);
	if (attr->streams > device->info.max_dc_streams)
		return fail(EINVAL, "%u streams: an initiator has %u at most", attr->streams,
			    device->info.max_dc_streams);
	if ((uint64_t)or_else(attr->send_depth, DEFAULT_DEPTH) * attr->streams >
	    device->info.max_send_wr)
		return fail(EINVAL, "send_depth is %u: of %u streams together the device takes %u",
			    or_else(attr->send_depth, DEFAULT_DEPTH), attr->streams,
			    device->info.max_send_wr);
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
		return fail(EINVAL,
			    "initiators with a full handshake have a register of their own: "
			    "name no lane");
	return 0;
}

static int check(const struct bsn_device *device, const struct bsn_dc_pool_attr *attr)
{
	const uint64_t count = count_of(attr);
	const unsigned ports = attr->lag_port ? provider_lag_ports(device->context) : 0;
	int err;

	if (device->no_dc && device->path->path != BSN_PATH_VERBS)
		return fail(EOPNOTSUPP, "no DC: %s", device->no_dc);
	if (attr->policy == BSN_DC_STREAMS && device->path->path == BSN_PATH_VERBS)
		return fail(EOPNOTSUPP,
			    "no streams on plain verbs, where initiators are RC QPs: take another "
			    "policy");
	if (attr->lag_port && device->path->path == BSN_PATH_VERBS)
		return fail(EOPNOTSUPP,
			    "no lag_port on plain verbs, where the driver chooses the port");
	if (ports > 1 && attr->lag_port > ports)
		return fail(EINVAL, "lag_port is %u: the device has %u ports to bond",
			    attr->lag_port, ports);
	if (!policy_of(attr->policy))
		return fail(EINVAL, "no policy %u: see enum bsn_dc_policy", (unsigned)attr->policy);
	if (attr->turn_bytes > MOST_TURN)
		return fail(EINVAL, "turn_bytes is %llu: a turn has 1 TiB at most",
			    (unsigned long long)attr->turn_bytes);
	if (count > device->info.max_qp)
		return fail(EINVAL, "%u initiators and %u spares: the device has %u QPs",
			    initiators_of(attr), spares_of(attr), device->info.max_qp);
	if (count >= MOST_SLOTS)
		return fail(EINVAL, "%u initiators and %u spares: a pool has less than %u",
			    initiators_of(attr), spares_of(attr), MOST_SLOTS);
	err = check_streams(device, attr);
	if (!err)
		err = check_handshake(device, attr);
	return err ? err : check_connect(device, &attr->connect);
}

static int make_register(struct bsn_dc_pool *pool)
{
	const int err = handshake_uar_alloc(pool->device->context, &pool->uar);

	return err ? fail(-err, "no register for initiators with a full handshake: %s",
			  strerror(-err))
		   : 0;
}

static int fill_pool(struct bsn_dc_pool *pool, const struct bsn_dc_pool_attr *attr)
{
	int err;

	if (pool->device->path->path == BSN_PATH_VERBS) {
		err = rc_pool_fill(pool, attr);
		return err ? err : pool_begin(pool);
	}
	err = make_cq(pool, attr);
	if (!err && attr->full_handshake)
		err = make_register(pool);
	for (uint32_t k = 0; !err && k < pool->count; k++)
		err = make_initiator(pool, attr, k);
	return err ? err : pool_begin(pool);
}

struct bsn_dc_pool *pool_new(const struct bsn_dc_pool_attr *attr)
{
	const uint32_t count = (uint32_t)count_of(attr);
	struct bsn_dc_pool *pool =
		bsn_hot_alloc(sizeof(*pool) + count * sizeof(pool->initiators[0]));

	if (!pool)
		return NULL;
	pool->connect = attr->connect;
	pool->count = count;
	pool->initiators_wanted = initiators_of(attr);
	pool->turn_bytes = attr->turn_bytes ? attr->turn_bytes : DEFAULT_TURN;
	pool->max_reads = attr->max_reads;
	pool->lag_port = attr->lag_port;
	pool->no_repeats = attr->no_repeats;
	pool->policy = policy_of(attr->policy);
	pool->streams = or_else(attr->streams, 1);
	pool->first_free = NO_PEER;
	for (uint32_t k = pool->initiators_wanted; k < count; k++)
		pool->initiators[k].is_spare = true;
	return pool;
}

/* More READs than a ring has blocks need no counting. */
static void put_gates(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; k < pool->count; k++)
		if (pool->max_reads && pool->max_reads <= pool->initiators[k].sq->bb_mask)
			gate_put(&pool->initiators[k], pool->max_reads);
}

/* Peers of several have requests in one queue: none of them may take back what was appended. */
static int begin_streams(struct bsn_dc_pool *pool)
{
	if (pool->streams == 1)
		return 0;
	pool->failures = calloc(pool->slot_count, sizeof(*pool->failures));
	for (uint32_t k = 0; k < pool->count; k++)
		pool->initiators[k].sq->can |= BSN_CAN_NOT_CANCEL;
	return pool->failures ? 0 : -ENOMEM;
}

int pool_begin(struct bsn_dc_pool *pool)
{
	if (slots_make(pool) || begin_streams(pool))
		return fail(ENOMEM, "no memory");
	init_nowhere(&pool->unbound, pool->initiators[0].sq);
	init_nowhere(&pool->failed, pool->initiators[0].sq);
	pool->find = find_of(pool->policy, pool->streams);
	put_gates(pool);
	pool->unbound.path = pool->failed.path = &unbound_path;
	pool->failed.closed = ENOTCONN;
	pool->failed.closed_why = "a request to this peer failed: poll what is outstanding, then "
				  "bsn_dc_peer_reset()";
	return 0;
}

int bsn_dc_pool_create(struct bsn_device *device, const struct bsn_dc_pool_attr *given,
		       struct bsn_dc_pool **out)
{
	const struct bsn_dc_pool_attr attr = given ? *given : (struct bsn_dc_pool_attr){ 0 };
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
	pool->fatal_streams = fatal_of(pool);
	err = fill_pool(pool, &attr);
	if (err) {
		free_pool(pool);
		return err;
	}
	told_connects(pool, &pool->before);
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

/* -- failures -------------------------------------------------------------------------------- */

static struct initiator *find_spare(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; k < pool->count; k++)
		if (pool->initiators[k].is_spare)
			return &pool->initiators[k];
	return NULL;
}

void fail_peer(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	stop_waiting(pool, peer);
	set_state(peer, PEER_FAILED);
	peer->ep.sq = &pool->failed;
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

/* Whether the program is told of it. */
static bool note_failure(struct bsn_dc_pool *pool, struct bsn_completion *c)
{
	for (uint32_t k = 0; k < pool->count; k++) {
		struct initiator *i = &pool->initiators[k];

		if (i->sq->qpn != c->qpn)
			continue;
		c->src_qpn = i->generation;
		if (pool->streams > 1)
			return !stream_failed(pool, i, c);
		if (!i->has_failed) {
			i->failed_index = c->wqe_index;
			fail_initiator(pool, i);
		}
		break;
	}
	return true;
}

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

int bsn_dc_peer_error(struct bsn_ep *ep, struct bsn_dc_error *error)
{
	struct bsn_qp_error known;
	const struct initiator *i;
	struct slot *s;
	int err;

	if (!ep || !error)
		return fail(EINVAL, "no peer, or no place for the error");
	s = slot_of(pool_of(peer_of(ep)), peer_of(ep));
	*error = (struct bsn_dc_error){ .text = "no request failed" };
	if (peer_of(ep)->reserved[0] & PEER_REFUSED)
		rc_explain(peer_of(ep), error);
	if (s && s->has_failed)
		explain_stream(pool_of(peer_of(ep)), s, error);
	if (!s || !s->of->has_failed || pool_of(peer_of(ep))->streams > 1)
		return 0;
	i = s->of;
	err = bsn_qp_error(i->qp, &known);
	if (err)
		return err;
	error->has_failed = true;
	error->generation = i->generation;
	error->first = known.first;
	error->text = known.text;
	if (!pool_of(peer_of(ep))->rc)
		error->wqe_bytes = copy_wqe(i->sq, i->failed_index, error->wqe);
	return 0;
}

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

/* -- polling --------------------------------------------------------------------------------- */

/* From @k on there are failures among the @got completions; those of which nobody is told go. */
static int got_failures(struct bsn_dc_pool *pool, struct bsn_completion *c, int got, int k, int n)
{
	int given = k;

	for (; k < got; k++)
		if (!c[k].status || note_failure(pool, &c[k]))
			c[given++] = c[k];
	if (pool->held_slots)
		repeat_held(pool);
	return given + take_turns(pool, c + given, n - given, true);
}

int bsn_dc_poll(struct bsn_dc_pool *pool, struct bsn_completion *c, int n)
{
	int got = bsn_poll(pool->cq, c, n);

	if (got < 0)
		return got;
	if (got)
		pool_heard(pool, c, got);
	if (pool->rc)
		got = rc_hear(pool, c, got);
	for (int k = 0; k < got; k++)
		if (BSN_UNLIKELY(c[k].status))
			return got_failures(pool, c, got, k, n);
	if (BSN_UNLIKELY(pool->held_slots))
		repeat_held(pool);
	return got + take_turns(pool, c + got, n - got, got != 0);
}

/* -- what is known of it --------------------------------------------------------------------- */

struct bsn_cq *bsn_dc_pool_cq(struct bsn_dc_pool *pool)
{
	return pool ? pool->cq : NULL;
}

int bsn_dc_pool_counters(const struct bsn_dc_pool *pool, struct bsn_dc_counters *counters)
{
	struct connects now;

	if (!pool || !counters)
		return fail(EINVAL, "no pool, or no place for its counters");
	*counters = pool->counters;
	counters->bindings += pool->counters.evictions; /* as many were bound instead */
	counters->peers = pool->peer_count;
	counters->waiting = pool->waiters;
	counters->broken = pool->broken;
	counters->has_connects = told_connects(pool, &now);
	if (!counters->has_connects)
		return 0;
	counters->connects = now.all - pool->before.all;
	counters->reconnects = now.again - pool->before.again;
	return 0;
}
