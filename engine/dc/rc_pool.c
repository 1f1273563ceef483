/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connects a pool's initiators on plain verbs. While an initiator is being connected, its slot is
 * out, as if it had failed. Its peer waits, but is not in line.
 */
#include "rc.h"

#include <search.h>
#include <stdlib.h>

#include "../verbs/verbs.h"
#include "bsn_decode.h"

#define DEFAULT_TIMEOUT 14 /* as for a QP */
#define DEFAULT_RETRIES 7
#define LEAST_WAIT_NS   1000000u
#define MOST_WAIT_NS    1000000000u
#define FAREWELL_NS     5000000u

struct rc_pool {
	struct rc_talk talk;
	uint64_t wait_ns;
	unsigned most_times;
	uint32_t serial;
	uint32_t parting_count;
	struct rc_call partings[]; /* at most one per initiator, oldest first */
};

/* -- sending ----------------------------------------------------------------------------------- */

/* Sends the call's message. It waits twice as long for an answer as the time before. */
static void say_to(struct bsn_dc_pool *pool, struct rc_call *call, const struct rc_message *m)
{
	const uint64_t wait = call->times < 10 ? pool->rc->wait_ns << call->times : MOST_WAIT_NS;

	call->due_ns = monotonic_ns() + (wait < MOST_WAIT_NS ? wait : MOST_WAIT_NS);
	call->times++;
	talk_send(&pool->rc->talk, call->host->ep, call->qpn, m);
}

static void ask(struct initiator *i)
{
	struct rc_message m = talk_message(&i->pool->rc->talk, RC_ASK, i->rc.ask.serial);

	m.qp = rc_address(i->qp, i->pool->attr.connect.mtu);
	m.key_high = bsn_to_be32((uint32_t)(i->rc.key >> 32));
	m.key_low = bsn_to_be32((uint32_t)i->rc.key);
	say_to(i->pool, &i->rc.ask, &m);
}

static void leave(struct bsn_dc_pool *pool, struct rc_call *parting)
{
	const struct rc_message m = talk_message(&pool->rc->talk, RC_LEAVE, parting->serial);

	say_to(pool, parting, &m);
}

static void forget_parting(struct bsn_dc_pool *pool, uint32_t at)
{
	struct rc_pool *rc = pool->rc;

	rc->parting_count--;
	pool->rc_work--;
	memmove(&rc->partings[at], &rc->partings[at + 1],
		(rc->parting_count - at) * sizeof(rc->partings[0]));
}

/*
 * Tells the initiator's target to give up its QP. If the list is full, the oldest message is no
 * longer repeated.
 */
static void part(struct initiator *i)
{
	struct bsn_dc_pool *pool = i->pool;
	struct rc_pool *rc = pool->rc;
	struct rc_connection *at = &i->rc;
	struct rc_call *parting;

	if (at->state == RC_APART)
		return;
	if (at->state != RC_TOGETHER)
		pool->rc_work--;
	at->state = RC_APART;
	at->peer = NULL;
	if (rc->parting_count == pool->count)
		forget_parting(pool, 0);
	parting = &rc->partings[rc->parting_count++];
	pool->rc_work++;
	*parting = at->ask;
	parting->times = 0;
	leave(pool, parting);
}

/* -- receiving --------------------------------------------------------------------------------- */

static void settle(struct initiator *i, enum rc_reason reason)
{
	i->rc.state = RC_ANSWERED;
	i->rc.reason = (uint8_t)reason;
}

static enum rc_reason join(struct initiator *i, const struct wire_address *qp)
{
	const struct ibv_ah_attr *av = &i->rc.ask.host->av;
	const struct bsn_address address = address_from(qp);
	struct bsn_connect_attr connect = i->pool->attr.connect;

	connect.mtu = 0; /* the target chose it */
	connect.gid_index = av->grh.sgid_index;
	connect.has_gid_index = true;
	connect.sl = av->sl;
	connect.traffic_class = av->grh.traffic_class;
	connect.hop_limit = av->grh.hop_limit ? av->grh.hop_limit : BSN_NO_RETRY;
	return bsn_qp_connect(i->qp, &address, &connect) ? RC_NO_WAY_BACK : 0;
}

static bool is_answer(const struct rc_call *call, const struct rc_message *m, uint32_t from)
{
	return call->serial == bsn_from_be32(m->serial) && call->qpn == from;
}

static void hear_answer(struct bsn_dc_pool *pool, const struct rc_message *m, uint32_t from)
{
	for (uint32_t k = 0; k < pool->count; k++) {
		struct initiator *i = &pool->initiators[k];

		if (i->rc.state == RC_ASKED && is_answer(&i->rc.ask, m, from))
			settle(i, m->kind == RC_YES ? join(i, &m->qp)
				  : m->reason       ? (enum rc_reason)m->reason
						    : RC_NO_QP);
	}
}

static void hear_left(struct bsn_dc_pool *pool, const struct rc_message *m, uint32_t from)
{
	for (uint32_t k = pool->rc->parting_count; k--;)
		if (is_answer(&pool->rc->partings[k], m, from))
			forget_parting(pool, k);
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
	const uint32_t talk = pool->rc->talk.qp->info.number;
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

bool rc_is_connected(const struct initiator *i, const struct peer *peer)
{
	return i->rc.state == RC_TOGETHER && i->rc.peer == peer;
}

/* Resets an initiator, of which nothing is outstanding, for its next connection. */
static int reset_for_next(struct initiator *i)
{
	const int err = initiator_reset(i);

	choose_psn(i->qp);
	return err;
}

void rc_connect(struct bsn_dc_pool *pool, struct peer *peer, struct slot *s, int64_t credit)
{
	struct initiator *i = s->of;
	struct bsn_av_dc av;

	if (s->peer) {
		pool->counters.evictions++;
		pool->counters.bindings--; /* both are one binding, counted when it is connected */
	}
	unbind_slot(pool, s);
	slots_withdraw(pool, i);
	part(i);
	bsn_av_dc_decode(&av, (const uint8_t *)&peer->hot.head);
	i->rc = (struct rc_connection){
		.state = RC_ASKED,
		.ask = { .host = host_of(peer), .qpn = av.dqpn, .serial = ++pool->rc->serial },
		.key = av.dc_key,
		.peer = peer,
		.credit = credit,
	};
	pool->rc_work++;
	peer->state = PEER_CONNECTS;
	dv_sq(i->sq)->route.hot.user = peer->hot.user;
	if (reset_for_next(i))
		settle(i, RC_NO_WAY_BACK);
	else
		ask(i);
}

/* Ends the connection, or the attempt, and lets all peers get the initiator again. */
static void let_go(struct initiator *i)
{
	part(i);
	slots_offer(i->pool, i);
}

void rc_forget(struct bsn_dc_pool *pool, const struct peer *peer)
{
	for (uint32_t k = 0; k < pool->count; k++) {
		struct initiator *i = &pool->initiators[k];

		if (i->rc.peer != peer)
			continue;
		if (i->rc.state != RC_TOGETHER)
			let_go(i);
		i->rc.peer = NULL;
	}
}

/* -- telling ----------------------------------------------------------------------------------- */

static struct bsn_completion completion_of_refusal(const struct peer *peer)
{
	return (struct bsn_completion){ .user = peer->hot.user,
					.status = IBV_WC_RETRY_EXC_ERR,
					.opcode = BSN_DC_READY };
}

static void tell(struct bsn_dc_pool *pool, struct initiator *i, struct bsn_completion *c)
{
	struct peer *peer = i->rc.peer;

	if (i->rc.reason) {
		peer->refusal = i->rc.reason;
		peer->state = PEER_FAILED;
		peer->hot.ep.sq = &pool->failed.hot;
		*c = completion_of_refusal(peer);
		let_go(i);
		return;
	}
	i->rc.state = RC_TOGETHER;
	pool->rc_work--;
	slots_offer(pool, i);
	give_slot(pool, peer, i->slots, i->rc.credit, c);
}

/* Repeats messages that were not answered in time, or gives up. */
static void repeat(struct bsn_dc_pool *pool, uint64_t now)
{
	struct rc_pool *rc = pool->rc;

	for (uint32_t k = 0; k < pool->count; k++) {
		struct initiator *i = &pool->initiators[k];

		if (i->rc.state != RC_ASKED || i->rc.ask.due_ns > now)
			continue;
		if (i->rc.ask.times < rc->most_times)
			ask(i);
		else
			settle(i, RC_NOBODY);
	}
	for (uint32_t k = rc->parting_count; k--;) {
		if (rc->partings[k].due_ns > now)
			continue;
		if (rc->partings[k].times < rc->most_times)
			leave(pool, &rc->partings[k]);
		else
			forget_parting(pool, k);
	}
}

int rc_turns(struct bsn_dc_pool *pool, struct bsn_completion *c, int n)
{
	int given = 0;

	repeat(pool, monotonic_ns());
	for (uint32_t k = 0; k < pool->count && given < n; k++)
		if (pool->initiators[k].rc.state == RC_ANSWERED)
			tell(pool, &pool->initiators[k], &c[given++]);
	return given;
}

void rc_explain(const struct peer *peer, struct bsn_dc_error *error)
{
	static const char *const texts[] = {
		[RC_NOBODY] = "nobody answers at this address: the target is gone, its process "
			      "does not call bsn_dct_accept(), or the access key is another",
		[RC_NO_QP] = "the target has no QP left for another initiator",
		[RC_NO_WAY] =
			"the target refuses the initiator's address: it has none of that kind",
		[RC_NO_WAY_BACK] = "the initiator cannot be connected to what the target answered",
	};
	const unsigned reason = peer->refusal;

	error->has_failed = true;
	error->first = completion_of_refusal(peer);
	error->text = reason < sizeof(texts) / sizeof(texts[0]) && texts[reason]
			      ? texts[reason]
			      : "the target refuses to be connected";
}

/* -- initiators -------------------------------------------------------------------------------- */

int rc_mark(struct initiator *i)
{
	return verbs_sq_post_marker(send_queue_of(i->sq));
}

int rc_repair(struct initiator *i)
{
	part(i);
	return reset_for_next(i);
}

int rc_make_endpoint(struct bsn_dc_pool *pool, struct host *host, const struct wire_address *wire,
		     const struct bsn_connect_attr *attr)
{
	struct wire_address ud = address_of_qp(pool->rc->talk.qp); /* all have its psn and qkey */
	struct bsn_address address;
	int err;

	if (host->ep)
		return 0;
	ud.qpn = wire->qpn;
	ud.lid = wire->lid;
	memcpy(ud.gid, wire->gid, sizeof(ud.gid));
	address = address_from(&ud);
	err = bsn_ep_create(pool->rc->talk.qp, &address, attr, NULL, &host->ep);
	if (!err)
		host->peers++; /* the pool keeps the host: a message may be on its way */
	return err;
}

/* The QP takes one more request, for rc_mark(). */
int rc_make_initiator(struct bsn_dc_pool *pool, struct initiator *i,
		      const struct bsn_qp_attr *attr)
{
	struct bsn_qp_attr qp = *attr;
	int err;

	qp.send_depth++;
	qp.recv_depth = 1;
	err = bsn_qp_create(pool->device, &qp, &i->qp);
	if (err)
		return err;
	i->sq = i->qp->sq;
	return verbs_sq_show(send_queue_of(i->sq)) ? fail(ENOMEM, "no memory") : 0;
}

/* -- life -------------------------------------------------------------------------------------- */

int rc_make(struct bsn_dc_pool *pool)
{
	const struct bsn_connect_attr *connect = &pool->attr.connect;
	struct rc_pool *rc = calloc(1, sizeof(*rc) + pool->count * sizeof(rc->partings[0]));

	pool->rc = rc;
	if (!rc)
		return fail(ENOMEM, "no memory");
	rc->wait_ns = 8 * 4096ull << or_default(connect->timeout, DEFAULT_TIMEOUT);
	if (rc->wait_ns < LEAST_WAIT_NS)
		rc->wait_ns = LEAST_WAIT_NS;
	rc->most_times = 1u + or_default(connect->retry_count, DEFAULT_RETRIES);
	rc->serial = new_psn(rc) << 8;
	return 0;
}

int rc_open(struct bsn_dc_pool *pool)
{
	return talk_open(&pool->rc->talk, pool->device, pool->attr.pd, pool->cq);
}

/* Tells the targets, once, that the pool is destroyed. */
static void say_farewell(struct bsn_dc_pool *pool)
{
	const uint64_t end = monotonic_ns() + FAREWELL_NS;

	for (uint32_t k = 0; k < pool->count; k++)
		part(&pool->initiators[k]);
	while (!talk_is_done(&pool->rc->talk) && monotonic_ns() < end)
		;
}

static void free_host(void *host)
{
	bsn_ep_destroy(((struct host *)host)->ep);
	free(host);
}

void rc_close(struct bsn_dc_pool *pool)
{
	struct rc_pool *rc = pool->rc;

	if (!rc)
		return;
	if (rc->talk.qp) {
		say_farewell(pool);
		bsn_qp_reset(rc->talk.qp); /* messages on their way need no endpoint after that */
		tdestroy(pool->hosts, free_host);
		talk_close(&rc->talk);
	}
	free(rc);
}
