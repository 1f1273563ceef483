/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The measured loops. Latency of WRITE and SEND is half of a round trip: each end answers what
 * arrives, WRITEs being noticed by their last byte, which is new each time. Latency of READ and
 * atomics is from post to completion, and the far end does nothing.
 */
#include <sched.h>

#include "../../examples/connect.h"
#include "traffic.h"

enum {
	PROGRESS_NS = 200 * 1000 * 1000,
	NS_PER_MS = 1000 * 1000,
	SPINS_LOG2 = 10,
	LOOK_EVERY = 64,
};

/* -- waiting ----------------------------------------------------------------------------------- */

/* How long nothing has come. */
struct waiting {
	uint64_t deadline;
	unsigned spins;
};

/*
 * Finds out what no completion tells: that the device is gone, or that a queue failed by itself or
 * by its peer's fault. Reading the events is also what makes a dead CQ's polls fail.
 */
static int look_for_events(const struct test *t)
{
	struct bsn_event event;

	while (!bsn_device_get_event(t->device, &event)) {
		switch (event.type) {
		case IBV_EVENT_DEVICE_FATAL:
		case IBV_EVENT_CQ_ERR:
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
			return SIDE_FAILS("the device reports: %s",
					  ibv_event_type_str((enum ibv_event_type)event.type));
		default: /* ports may come back */
			break;
		}
	}
	return 0;
}

static bool looks_now(const struct waiting *w)
{
	return !(w->spins & ((1u << SPINS_LOG2) - 1));
}

/* After a look that moved so much. 0: look again; -1: it failed, or will not come. */
static int wait_more(const struct test *t, struct waiting *w, int moved)
{
	uint64_t now;

	if (moved) {
		*w = (struct waiting){ 0 };
		return moved < 0 ? -1 : 0;
	}
	step();
	w->spins++;
	if (!looks_now(w))
		return 0;
	sched_yield(); /* the peer may run on this CPU */
	if (look_for_events(t))
		return -1;
	now = now_ns();
	if (!w->deadline)
		w->deadline = now + t->plan.timeout_ms * NS_PER_MS;
	if (t->peer >= 0 && connect_has_gone(t->peer))
		return SIDE_FAILS("the peer went away");
	return now < w->deadline
		       ? 0
		       : SIDE_FAILS("nothing was completed for %g s",
				    (double)t->plan.timeout_ms / 1e3);
}

/* Until no more than @left requests of a side are outstanding. */
static int drain(const struct test *t, struct side *side, uint64_t left)
{
	struct waiting waiting = { 0 };

	while (side->outstanding > left)
		if (wait_more(t, &waiting, side_reap(side)))
			return -1;
	return 0;
}

static void tell_progress(uint64_t done, uint64_t total)
{
	static uint64_t next;
	const uint64_t now = progress_is_shown() ? now_ns() : 0;

	if (done == total)
		end_progress();
	if (done == total || now <= next)
		return;
	show_progress("%3.0f %%", 100.0 * (double)done / (double)total);
	next = now + PROGRESS_NS;
}

/* -- latency ----------------------------------------------------------------------------------- */

static uint8_t stamp_of(uint64_t turn)
{
	return (uint8_t)(turn + 1);
}

static int send_turn(const struct test *t, struct side *side, uint64_t turn)
{
	if (drain(t, side, side->plan->depth - 1))
		return -1;
	side->memory[side->plan->size - 1] = stamp_of(turn);
	return side_send(side, 1, side->plan->depth) == 1 ? 0 : -1;
}

/* Whether the message of this turn came: 1, 0, -1. */
static int look_for(struct side *side, uint64_t turn)
{
	const uint8_t *in = side->memory + side->length / 2;

	if (side->plan->op == TRAFFIC_WRITE)
		return __atomic_load_n(&in[side->plan->size - 1], __ATOMIC_ACQUIRE) ==
		       stamp_of(turn);
	return side_receive(side);
}

/* While nothing arrives: what was sent may have failed, at either side that is here. */
static int look_for_failures(const struct test *t, const struct waiting *w)
{
	if (w->spins % LOOK_EVERY)
		return 0;
	return side_reap(t->near) < 0 || (t->far && side_reap(t->far) < 0) ? -1 : 0;
}

/* 0; -1; ENDED: no more turns come of a test of so many seconds, as the client says. */
enum { ENDED = 1 };

static int await_turn(const struct test *t, struct side *side, uint64_t turn)
{
	const bool may_end = t->is_server && side->plan->duration_ms;
	struct waiting waiting = { 0 };
	int n;

	while (!(n = look_for(side, turn))) {
		if (wait_more(t, &waiting, 0) || look_for_failures(t, &waiting))
			return -1;
		if (may_end && looks_now(&waiting) && connect_wait(t->peer, 0))
			return ENDED;
	}
	return n < 0 || side_reap(side) < 0 ? -1 : 0; /* what it sent itself is done, or fails */
}

static int ping_pong(const struct test *t, uint64_t turn)
{
	if (send_turn(t, t->near, turn))
		return -1;
	if (t->far && (await_turn(t, t->far, turn) || send_turn(t, t->far, turn)))
		return -1;
	return await_turn(t, t->near, turn);
}

static bool is_two_sided(const struct plan *plan)
{
	return plan->op == TRAFFIC_SEND || (plan->op == TRAFFIC_WRITE && !plan->is_bw);
}

static int measure_lat(struct test *t)
{
	const struct plan *plan = &t->step;
	const bool answered = is_two_sided(plan);
	const uint64_t total = plan->duration_ms ? UINT64_MAX : warmup_of(plan) + plan->iters;
	uint64_t start = now_ns(), now = start, begin = start, end = UINT64_MAX;

	for (uint64_t turn = 0; turn < total && now < end; turn++) {
		if (turn == warmup_of(plan))
			begin = now;
		if (plan->duration_ms && turn == warmup_of(plan))
			end = now + plan->duration_ms * NS_PER_MS;
		if (answered ? ping_pong(t, turn)
			     : side_send(t->near, 1, plan->depth) != 1 || drain(t, t->near, 0))
			return -1;
		now = now_ns();
		if (turn >= warmup_of(plan))
			histogram_add(&t->histogram, answered ? (now - start) / 2 : now - start);
		if (!plan->duration_ms)
			tell_progress(turn + 1, total);
		start = now_ns();
	}
	t->ns = now - begin;
	return 0;
}

static int answer_lat(const struct test *t)
{
	const struct plan *plan = &t->step;
	const uint64_t total = plan->duration_ms ? UINT64_MAX : warmup_of(plan) + plan->iters;

	for (uint64_t turn = 0; turn < total; turn++) {
		const int n = await_turn(t, t->near, turn);
		if (n == ENDED)
			return 0;
		if (n || send_turn(t, t->near, turn))
			return -1;
	}
	return 0;
}

/* -- bandwidth --------------------------------------------------------------------------------- */

/* An end in this process: what it sends, and whether messages arrive there. */
struct flow {
	struct side *side;
	bool sends, receives;
	uint64_t posted, done;
};

/* Both ends of this process; the far one, if it is here, answers in kind if the plan says so. */
enum { ENDS = 2 };

static void begin_flows(const struct test *t, struct flow flows[ENDS])
{
	const bool is_send = t->step.op == TRAFFIC_SEND, both = t->step.is_bidirectional;
	const bool is_server = t->is_server;

	flows[0] = (struct flow){ .side = t->near,
				  .sends = !is_server || both,
				  .receives = is_send && (is_server || both) };
	flows[1] = (struct flow){ .side = t->far, .sends = both, .receives = is_send };
}

/* How much moved, or -1. Of SENDs half of what the queue takes is out, so that receives keep up. */
static int advance(struct flow *f, uint64_t count)
{
	const struct plan *plan = f->side->plan;
	const uint32_t window = plan->op == TRAFFIC_SEND ? (plan->depth + 1) / 2 : plan->depth;
	const int got = f->receives ? side_receive(f->side) : 0;
	int sent = 0, done = 0;

	if (got >= 0 && f->sends && f->posted < count)
		sent = side_send(f->side, count - f->posted, window);
	if (got >= 0 && f->sends && sent >= 0)
		done = side_reap(f->side);
	if (got < 0 || sent < 0 || done < 0)
		return -1;
	f->posted += (unsigned)sent;
	f->done += (unsigned)done;
	return got + done;
}

static int advance_all(struct flow flows[ENDS], uint64_t count)
{
	int moved = 0;

	for (unsigned i = 0; i < ENDS && flows[i].side; i++) {
		const int n = advance(&flows[i], count);
		if (n < 0)
			return -1;
		moved += n;
	}
	return moved;
}

static bool are_done(const struct flow flows[ENDS], uint64_t count)
{
	for (unsigned i = 0; i < ENDS && flows[i].side; i++) {
		const struct flow *f = &flows[i];
		if (f->sends && (f->posted < count || f->done < f->posted))
			return false;
	}
	return true;
}

/*
 * Sends so many from each end that sends, or what is sent until then: the time is looked at now and
 * then, and after it nothing more is posted.
 */
static int stream(const struct test *t, struct flow flows[ENDS], uint64_t count, uint64_t end_ns)
{
	struct waiting waiting = { 0 };

	for (unsigned turn = 0; !are_done(flows, count); turn++) {
		if (wait_more(t, &waiting, advance_all(flows, count)))
			return -1;
		if (end_ns && turn % 16 == 0 && now_ns() >= end_ns)
			count = 0;
		if (!end_ns)
			tell_progress(flows[0].done, count);
	}
	return 0;
}

/* The server of one-sided operations only waits until the client is done; the CPU rests. */
static int stay(const struct test *t)
{
	while (!connect_wait(t->peer, is_stepped() ? 0 : 1000))
		step();
	return 0;
}

/*
 * Waits until the peer is done, too: its messages arrive, or nothing does. Of both directions the
 * rates are added.
 */
static int attend(struct test *t, struct flow flows[ENDS])
{
	struct waiting waiting = { 0 };
	double theirs;

	if (t->peer < 0)
		return 0;
	if (session_tell(t))
		return -1;
	if (!flows[0].receives)
		stay(t);
	while (flows[0].receives) {
		if (wait_more(t, &waiting, advance_all(flows, 0)))
			return -1;
		if (waiting.spins % LOOK_EVERY == 1 && connect_wait(t->peer, 0))
			break;
	}
	if (session_hear(t, &theirs))
		return -1;
	t->rate += t->step.is_bidirectional ? theirs : 0;
	return 0;
}

static int measure_bw(struct test *t)
{
	const struct plan *plan = &t->step;
	struct flow flows[ENDS];
	uint64_t start;
	int err;

	begin_flows(t, flows);
	err = stream(t, flows, warmup_of(plan), 0);
	begin_flows(t, flows);
	start = now_ns();
	if (!err)
		err = stream(t, flows, plan->duration_ms ? UINT64_MAX : plan->iters,
			     plan->duration_ms ? start + plan->duration_ms * NS_PER_MS : 0);
	t->ns = now_ns() - start;
	t->operations = flows[0].done + flows[1].done;
	t->rate = (double)t->operations / ((double)t->ns / 1e9);
	return err ? err : attend(t, flows);
}

/* Receives before anything is sent; then both ends are ready. */
static int get_ready(struct test *t)
{
	if (t->step.op == TRAFFIC_SEND && !t->has_receives &&
	    (side_fill(t->near) || (t->far && side_fill(t->far))))
		return -1;
	t->has_receives = true;
	return t->peer < 0 ? 0 : session_meet(t);
}

/* Everything sent is done, here and there, before anything is destroyed. */
static int finish(const struct test *t)
{
	if (drain(t, t->near, 0) || (t->far && drain(t, t->far, 0)))
		return -1;
	return t->peer < 0 ? 0 : session_meet(t);
}

int run_lat(struct test *t)
{
	int err = get_ready(t);

	if (!err)
		err = !t->is_server    ? measure_lat(t)
		      : is_two_sided(&t->step) ? answer_lat(t)
					       : stay(t);
	return err ? err : finish(t);
}

int run_bw(struct test *t)
{
	const int err = get_ready(t) || measure_bw(t);

	return err ? -1 : finish(t);
}
