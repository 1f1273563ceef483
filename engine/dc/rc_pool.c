/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * To whom a pool's initiators are connected, on plain verbs. An initiator that is being
 * connected is in none of the pool's lists, as one that failed; its peer waits, but not in
 * line.
 */
#include "rc.h"

#include <stdlib.h>
#include <time.h>

#include "bsn_decode.h"

#define DEFAULT_TIMEOUT 14 /* as of a QP */
#define DEFAULT_RETRIES 7
#define LEAST_WAIT_NS   1000000u
#define MOST_WAIT_NS    1000000000u
#define FAREWELL_NS     5000000u

enum rc_state {
	RC_APART,
	RC_ASKED,
	RC_ANSWERED, /* which its peer was not told yet */
	RC_TOGETHER,
};

/* A target of a peer. */
struct whom {
	struct host *host;
	uint32_t qpn;
	uint32_t serial;
};

/* What is repeated until it is answered. */
struct repeated {
	uint64_t due_ns;
	unsigned times;
};

/* Of an initiator. */
struct connection {
	enum rc_state state;
	enum rc_reason reason; /* of RC_ANSWERED: why not; 0: it is connected */
	struct whom target;
	uint64_t key;
	struct repeated ask;
	struct peer *peer; /* that waits for it */
	int64_t credit;    /* bytes that it may post then */
};

/* A target that does not know yet that an initiator left. */
struct parting {
	struct whom target;
	struct repeated leave;
};

struct rc_pool {
	struct rc_talk talk;
	struct bsn_address address; /* of @talk */
	uint64_t wait_ns;
	unsigned most_times;
	uint32_t serial;
	uint32_t joining; /* connections that are RC_ASKED or RC_ANSWERED */
	uint32_t parting_count;
	struct parting *partings; /* as many as initiators; the oldest one first */
	struct connection connections[];
};

static struct connection *connection_of(const struct bsn_dc_pool *pool, const struct initiator *i)
{
	return &pool->rc->connections[i - pool->initiators];
}

static struct initiator *initiator_of(struct bsn_dc_pool *pool, const struct connection *at)
{
	return &pool->initiators[at - pool->rc->connections];
}

/* What polls have to look after. */
static void count_work(struct bsn_dc_pool *pool)
{
	pool->rc_work = pool->rc->joining + pool->rc->parting_count;
}

/* -- time -------------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Twice as long each time. */
static void set_due(const struct rc_pool *rc, struct repeated *what)
{
	const uint64_t wait = what->times < 10 ? rc->wait_ns << what->times : MOST_WAIT_NS;

	what->due_ns = now_ns() + (wait < MOST_WAIT_NS ? wait : MOST_WAIT_NS);
	what->times++;
}

/* -- what is said ------------------------------------------------------------------------------ */

static void tell(struct bsn_dc_pool *pool, const struct whom *target, const struct rc_message *m)
{
	talk_send(&pool->rc->talk, target->host->ep, target->qpn, m);
}

/* The MTU of an address is what its end can at most. */
static void ask(struct bsn_dc_pool *pool, struct connection *at)
{
	struct rc_message m = message_of(RC_ASK, at->target.serial, &pool->rc->address);
	struct wire_address wire;
	enum ibv_mtu mtu;

	bsn_qp_address(initiator_of(pool, at)->qp, &m.qp);
	memcpy(&wire, m.qp.bytes, sizeof(wire));
	if (pool->connect.mtu && !mtu_of(pool->connect.mtu, &mtu))
		wire.mtu = (uint8_t)mtu;
	memcpy(m.qp.bytes, &wire, sizeof(wire));
	m.key_high = bsn_to_be32((uint32_t)(at->key >> 32));
	m.key_low = bsn_to_be32((uint32_t)at->key);
	set_due(pool->rc, &at->ask);
	tell(pool, &at->target, &m);
}

static void leave(struct bsn_dc_pool *pool, struct parting *p)
{
	const struct rc_message m = message_of(RC_LEAVE, p->target.serial, &pool->rc->address);

	set_due(pool->rc, &p->leave);
	tell(pool, &p->target, &m);
}

static void forget_parting(struct rc_pool *rc, uint32_t at)
{
	rc->parting_count--;
	memmove(&rc->partings[at], &rc->partings[at + 1],
		(rc->parting_count - at) * sizeof(rc->partings[0]));
}

/* Of more than there is room for the oldest one is not repeated any more. */
static void part(struct bsn_dc_pool *pool, struct connection *at)
{
	struct rc_pool *rc = pool->rc;

	if (at->state == RC_APART)
		return;
	if (at->state != RC_TOGETHER)
		rc->joining--;
	at->state = RC_APART;
	if (rc->parting_count == pool->count)
		forget_parting(rc, 0);
	rc->partings[rc->parting_count] = (struct parting){ .target = at->target };
	leave(pool, &rc->partings[rc->parting_count++]);
	count_work(pool);
}

/* -- what is heard ----------------------------------------------------------------------------- */

static void settle(struct connection *at, enum rc_reason reason)
{
	at->state = RC_ANSWERED;
	at->reason = reason;
}

/* The target chose the MTU. */
static enum rc_reason join(struct bsn_dc_pool *pool, struct connection *at,
			   const struct bsn_address *qp)
{
	const struct ibv_ah_attr *way = &at->target.host->way;
	struct bsn_connect_attr connect = pool->connect;
	struct wire_address wire;

	memcpy(&wire, qp->bytes, sizeof(wire));
	if (wire.mtu < IBV_MTU_256 || wire.mtu > IBV_MTU_4096)
		return RC_NO_WAY_BACK;
	connect.mtu = 128u << wire.mtu;
	connect.gid_index = way->grh.sgid_index;
	connect.has_gid_index = true;
	connect.sl = way->sl;
	connect.traffic_class = way->grh.traffic_class;
	connect.hop_limit = way->grh.hop_limit ? way->grh.hop_limit : BSN_NO_RETRY;
	return bsn_qp_connect(initiator_of(pool, at)->qp, qp, &connect) ? RC_NO_WAY_BACK : 0;
}

static void hear_answer(struct bsn_dc_pool *pool, const struct rc_message *m, uint32_t from)
{
	for (uint32_t k = 0; k < pool->count; k++) {
		struct connection *at = &pool->rc->connections[k];

		if (at->state != RC_ASKED || at->target.serial != bsn_from_be32(m->serial) ||
		    at->target.qpn != from)
			continue;
		settle(at, m->kind == RC_YES ? join(pool, at, &m->qp)
			   : m->reason       ? (enum rc_reason)m->reason
					     : RC_NO_QP);
	}
}

static void hear_left(struct bsn_dc_pool *pool, const struct rc_message *m, uint32_t from)
{
	struct rc_pool *rc = pool->rc;

	for (uint32_t k = rc->parting_count; k--;)
		if (rc->partings[k].target.serial == bsn_from_be32(m->serial) &&
		    rc->partings[k].target.qpn == from)
			forget_parting(rc, k);
	count_work(pool);
}

static void hear(struct bsn_dc_pool *pool, const struct bsn_completion *c)
{
	struct rc_message m;

	if (!talk_heard(&pool->rc->talk, c, &m))
		return;
	if (m.kind == RC_YES || m.kind == RC_NO)
		hear_answer(pool, &m, c->src_qpn);
	else if (m.kind == RC_LEFT)
		hear_left(pool, &m, c->src_qpn);
}

int rc_hear(struct bsn_dc_pool *pool, struct bsn_completion *c, int n)
{
	const uint32_t talk = bsn_qp_number(pool->rc->talk.qp);
	int kept = 0;

	for (int k = 0; k < n; k++) {
		if (c[k].qpn == talk)
			hear(pool, &c[k]);
		else
			c[kept++] = c[k];
	}
	return kept;
}

/* -- connecting -------------------------------------------------------------------------------- */

bool rc_is_connected(const struct bsn_dc_pool *pool, const struct slot *s, const struct peer *peer)
{
	return connection_of(pool, s->of)->state == RC_TOGETHER && s->last == peer;
}

/* Nothing of it is outstanding. */
static int start_again(struct initiator *i)
{
	const int err = bsn_qp_reset(i->qp);

	rc_queue_look(rc_queue_of(i->sq));
	choose_psn(i->qp);
	return err;
}

static void name_target(struct bsn_dc_pool *pool, struct connection *at, const struct peer *peer)
{
	uint8_t head[BSN_DS_SIZE];
	struct bsn_av_dc av;

	memcpy(head, &peer->hot.head, sizeof(head));
	bsn_av_dc_decode(&av, head);
	at->target = (struct whom){ .host = (struct host *)(uintptr_t)peer->hot.more,
				    .qpn = av.dqpn,
				    .serial = ++pool->rc->serial };
	at->key = av.dc_key;
}

void rc_connect(struct bsn_dc_pool *pool, struct peer *peer, struct slot *s, int64_t credit)
{
	struct connection *at = connection_of(pool, s->of);

	if (s->peer) {
		pool->counters.evictions++;
		pool->counters.bindings--; /* it is counted once it is there */
	}
	unbind_slot(pool, s);
	slots_leave(pool, s->of);
	part(pool, at);
	name_target(pool, at, peer);
	at->peer = peer;
	at->credit = credit;
	at->ask = (struct repeated){ 0 };
	at->state = RC_ASKED;
	pool->rc->joining++;
	count_work(pool);
	pool->waiters--;
	peer->state = PEER_CONNECTS;
	s->of->qp->sq->route.user = peer->hot.user;
	if (start_again(s->of))
		settle(at, RC_NO_WAY_BACK);
	else
		ask(pool, at);
}

/* Its initiator is there for others again. */
static void let_go(struct bsn_dc_pool *pool, struct connection *at)
{
	part(pool, at);
	slots_enter(pool, initiator_of(pool, at));
}

void rc_abandon(struct bsn_dc_pool *pool, struct peer *peer)
{
	for (uint32_t k = 0; k < pool->count; k++) {
		struct connection *at = &pool->rc->connections[k];

		if ((at->state == RC_ASKED || at->state == RC_ANSWERED) && at->peer == peer)
			let_go(pool, at);
	}
}

/* -- telling ----------------------------------------------------------------------------------- */

static void tell_failure(struct bsn_dc_pool *pool, struct connection *at, struct bsn_completion *c)
{
	struct peer *peer = at->peer;
	const enum rc_reason reason = at->reason;

	let_go(pool, at);
	peer->refusal = (uint8_t)reason;
	peer->state = PEER_FAILED;
	peer->hot.ep.sq = &pool->failed;
	*c = (struct bsn_completion){ .user = peer->hot.user,
				      .status = IBV_WC_RETRY_EXC_ERR,
				      .opcode = BSN_DC_READY };
}

static void tell_success(struct bsn_dc_pool *pool, struct connection *at, struct bsn_completion *c)
{
	struct initiator *i = initiator_of(pool, at);

	at->state = RC_TOGETHER;
	pool->rc->joining--;
	count_work(pool);
	slots_enter(pool, i);
	give_slot(pool, at->peer, i->slots, at->credit, c);
}

/* What was not answered in time is said again, or given up. */
static void repeat(struct bsn_dc_pool *pool, uint64_t now)
{
	struct rc_pool *rc = pool->rc;

	for (uint32_t k = 0; k < pool->count && rc->joining; k++) {
		struct connection *at = &rc->connections[k];

		if (at->state != RC_ASKED || at->ask.due_ns > now)
			continue;
		if (at->ask.times < rc->most_times)
			ask(pool, at);
		else
			settle(at, RC_NOBODY);
	}
	for (uint32_t k = rc->parting_count; k--;) {
		struct parting *p = &rc->partings[k];

		if (p->leave.due_ns > now)
			continue;
		if (p->leave.times < rc->most_times)
			leave(pool, p);
		else
			forget_parting(rc, k);
	}
	count_work(pool);
}

int rc_turns(struct bsn_dc_pool *pool, struct bsn_completion *c, int n)
{
	int given = 0;

	repeat(pool, now_ns());
	for (uint32_t k = 0; k < pool->count && given < n; k++) {
		struct connection *at = &pool->rc->connections[k];

		if (at->state != RC_ANSWERED)
			continue;
		if (at->reason)
			tell_failure(pool, at, &c[given++]);
		else
			tell_success(pool, at, &c[given++]);
	}
	return given;
}

void rc_explain(const struct peer *peer, struct bsn_dc_error *error)
{
	static const char *const texts[] = {
		[RC_NOBODY] = "nobody answers at this address: the target is gone, its process "
			      "does not call "
			      "bsn_dct_accept(), or the access key is another",
		[RC_NO_QP] = "the target has no QP left for another initiator",
		[RC_NO_WAY] =
			"the target refuses the initiator's address: it has none of that kind",
		[RC_NO_WAY_BACK] = "the initiator cannot be connected to what the target answered",
	};
	const unsigned reason = peer->refusal;

	error->has_failed = true;
	error->first = (struct bsn_completion){ .user = peer->hot.user,
						.status = IBV_WC_RETRY_EXC_ERR,
						.opcode = BSN_DC_READY };
	error->text = reason < sizeof(texts) / sizeof(texts[0]) && texts[reason]
			      ? texts[reason]
			      : "the target refuses to be connected";
}

/* -- initiators -------------------------------------------------------------------------------- */

void rc_look(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; k < pool->count; k++)
		rc_queue_look(rc_queue_of(pool->initiators[k].sq));
}

int rc_repair(struct bsn_dc_pool *pool, struct initiator *i)
{
	part(pool, connection_of(pool, i));
	return start_again(i);
}

int rc_meet(struct bsn_dc_pool *pool, struct host *host, const struct wire_address *wire,
	    const struct bsn_connect_attr *attr)
{
	struct wire_address ud = *wire, mine;
	struct bsn_address address = { { 0 } };
	int err;

	if (host->ep)
		return 0;
	memcpy(&mine, pool->rc->address.bytes, sizeof(mine));
	ud.type = BSN_QP_UD;
	ud.is_rc_target = 0;
	ud.psn = mine.psn;
	ud.qkey = mine.qkey; /* that of all */
	memcpy(address.bytes, &ud, sizeof(ud));
	err = bsn_ep_create(pool->rc->talk.qp, &address, attr, NULL, &host->ep);
	if (!err)
		host->peers++; /* the pool keeps it, since a message may be on its way */
	return err;
}

static int make_initiator(struct bsn_dc_pool *pool, const struct bsn_dc_pool_attr *attr, uint32_t k)
{
	const struct bsn_qp_attr qp = { .type = BSN_QP_RC,
					.cq = pool->cq,
					.lane = attr->lane,
					.pd = attr->pd,
					.send_depth = attr->send_depth + 1,
					.recv_depth = 1,
					.max_send_sge = attr->max_send_sge,
					.max_inline = attr->max_inline,
					.signal_every = attr->signal_every };
	struct initiator *i = &pool->initiators[k];
	struct rc_queue *queue;
	const int err = bsn_qp_create(pool->device, &qp, &i->qp);

	if (err)
		return err;
	queue = rc_queue_make(i->qp, attr->send_depth);
	if (!queue)
		return fail(ENOMEM, "no memory");
	i->sq = &queue->hot;
	return 0;
}

static uint64_t first_wait_ns(const struct bsn_connect_attr *connect)
{
	const uint64_t wait = 8 * 4096ull << or_default(connect->timeout, DEFAULT_TIMEOUT);

	return wait > LEAST_WAIT_NS ? wait : LEAST_WAIT_NS;
}

static int make_rc(struct bsn_dc_pool *pool)
{
	struct rc_pool *rc = calloc(1, sizeof(*rc) + pool->count * (sizeof(rc->connections[0])));

	pool->rc = rc;
	if (rc)
		rc->partings = calloc(pool->count, sizeof(rc->partings[0]));
	if (!rc || !rc->partings)
		return fail(ENOMEM, "no memory");
	rc->wait_ns = first_wait_ns(&pool->connect);
	rc->most_times = 1u + or_default(pool->connect.retry_count, DEFAULT_RETRIES);
	rc->serial = new_psn(rc) << 8;
	return 0;
}

int rc_pool_fill(struct bsn_dc_pool *pool, const struct bsn_dc_pool_attr *attr)
{
	int err = make_rc(pool);

	/* Of each initiator one more, for a marker, and the receive that it has to have. */
	if (!err)
		err = pool_bring_cq(pool, attr,
				    pool->count * (attr->send_depth + 2) + RC_TALK_SLOTS, 0);
	if (!err)
		err = talk_open(&pool->rc->talk, pool->device, attr->pd, pool->cq);
	if (!err)
		err = bsn_qp_address(pool->rc->talk.qp, &pool->rc->address);
	for (uint32_t k = 0; !err && k < pool->count; k++)
		err = make_initiator(pool, attr, k);
	return err;
}

/* -- the end ----------------------------------------------------------------------------------- */

/* Targets are told, once. */
static void say_farewell(struct bsn_dc_pool *pool)
{
	const uint64_t end = now_ns() + FAREWELL_NS;

	for (uint32_t k = 0; k < pool->count; k++)
		part(pool, &pool->rc->connections[k]);
	while (!talk_is_done(&pool->rc->talk) && now_ns() < end)
		;
}

static void free_hosts(struct bsn_dc_pool *pool)
{
	for (unsigned k = 0; k < HOST_BUCKETS; k++) {
		for (struct host *host = pool->hosts[k], *next; host; host = next) {
			next = host->next;
			bsn_ep_destroy(host->ep);
			free(host);
		}
	}
}

void rc_pool_free(struct bsn_dc_pool *pool)
{
	struct rc_pool *rc = pool->rc;

	if (!rc)
		return;
	if (rc->talk.qp) {
		say_farewell(pool);
		bsn_qp_reset(rc->talk.qp); /* what is still on its way needs no endpoint any more */
		free_hosts(pool);
		talk_close(&rc->talk);
	}
	for (uint32_t k = 0; k < pool->count; k++)
		if (pool->initiators[k].sq)
			rc_queue_free(rc_queue_of(pool->initiators[k].sq));
	free(rc->partings);
	free(rc);
}
