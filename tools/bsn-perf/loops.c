/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The measured loops. Latency of WRITE and SEND is half of a round trip: each end answers what
 * arrives, WRITEs being noticed by their last byte, which is new each time. Latency of READ and
 * atomics is from post to completion, and the far end does nothing.
 */
#include <unistd.h>

#include "../examples/connect.h"
#include "stats.h"
#include "stepper.h"
#include "traffic.h"

enum { PROGRESS_NS = 200 * 1000 * 1000, SPINS_LOG2 = 10, LOOK_EVERY = 64 };

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
static int look_for_events(const struct traffic *t)
{
	struct bsn_event event;

	while (!bsn_device_get_event(t->device, &event)) {
		switch (event.type) {
		case IBV_EVENT_DEVICE_FATAL:
		case IBV_EVENT_CQ_ERR:
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
			complain("the device reports: %s",
				 ibv_event_type_str((enum ibv_event_type)event.type));
			return -1;
		default: /* ports may come back */
			break;
		}
	}
	return 0;
}

/* After a look that found nothing. 0: look again; -1: it will not come. */
static int wait_more(const struct traffic *t, struct waiting *w)
{
	uint64_t now;

	step();
	if (++w->spins & ((1u << SPINS_LOG2) - 1))
		return 0;
	if (look_for_events(t))
		return -1;
	now = now_ns();
	if (!w->deadline)
		w->deadline = now + (uint64_t)t->timeout_ms * 1000000;
	if (t->peer >= 0 && connect_has_gone(t->peer)) {
		complain("the peer went away");
		return -1;
	}
	if (now < w->deadline)
		return 0;
	complain("nothing was completed for %d s", t->timeout_ms / 1000);
	return -1;
}

/* Until no more than @left requests of a side are outstanding. */
static int drain(const struct traffic *t, struct side *side, uint64_t left)
{
	struct waiting waiting = { 0 };
	int n = 0;

	while (n >= 0 && side->outstanding > left) {
		n = side_reap(side);
		if (n > 0)
			waiting = (struct waiting){ 0 };
		else if (n == 0)
			n = wait_more(t, &waiting);
	}
	return n < 0 ? -1 : 0;
}

/* A line that the next one overwrites, on a terminal. */
static void show_progress(uint64_t done, uint64_t total)
{
	static int is_terminal = -1;
	static uint64_t next;
	uint64_t now;

	if (is_terminal < 0)
		is_terminal = isatty(STDERR_FILENO);
	if (!is_terminal)
		return;
	now = now_ns();
	if (done == total) {
		fputs("\r\033[K", stderr);
	} else if (now >= next) {
		fprintf(stderr, "\rbsn-perf: %3.0f %%", 100.0 * (double)done / (double)total);
		next = now + PROGRESS_NS;
	}
}

/* -- latency ----------------------------------------------------------------------------------- */

static uint8_t stamp_of(uint64_t turn)
{
	return (uint8_t)(turn + 1);
}

static int send_turn(const struct traffic *t, struct side *side, uint64_t turn)
{
	const int err = drain(t, side, side->plan.depth - 1);

	if (err)
		return err;
	side->memory.out[side->plan.size - 1] = stamp_of(turn);
	return side_send(side, 1, side->plan.depth) == 1 ? 0 : -1;
}

/* Whether the message of this turn came: 1, 0, -1. */
static int look_for(struct side *side, uint64_t turn)
{
	if (side->plan.op == TRAFFIC_WRITE)
		return __atomic_load_n(&side->memory.in[side->plan.size - 1], __ATOMIC_ACQUIRE) ==
		       stamp_of(turn);
	return side_receive(side);
}

/* While nothing arrives: what was sent may have failed, at either side that is here. */
static int look_for_failures(const struct traffic *t, const struct waiting *w)
{
	if (w->spins % LOOK_EVERY)
		return 0;
	if (side_reap(t->near) < 0)
		return -1;
	return t->far && side_reap(t->far) < 0 ? -1 : 0;
}

/* A test of so many seconds ends when the client says so, which is looked for now and then. */
static bool is_ended(const struct traffic *t, const struct waiting *w)
{
	return t->is_server && t->near->plan.duration_ns &&
	       !(w->spins & ((1u << SPINS_LOG2) - 1)) && connect_wait(t->peer, 0);
}

/* 0; -1; ENDED: no more turns come. */
enum { ENDED = 1 };

static int await_turn(const struct traffic *t, struct side *side, uint64_t turn)
{
	struct waiting waiting = { 0 };
	int n;

	while (!(n = look_for(side, turn))) {
		if (wait_more(t, &waiting) || look_for_failures(t, &waiting))
			return -1;
		if (is_ended(t, &waiting))
			return ENDED;
	}
	if (n < 0)
		return -1;
	return side_reap(side) < 0 ? -1 : 0; /* what the side itself sent is done, or fails */
}

/* One way and back. */
static int ping_pong(const struct traffic *t, uint64_t turn)
{
	if (send_turn(t, t->near, turn))
		return -1;
	if (t->far && (await_turn(t, t->far, turn) || send_turn(t, t->far, turn)))
		return -1;
	return await_turn(t, t->near, turn);
}

static int post_and_wait(const struct traffic *t)
{
	return side_send(t->near, 1, t->near->plan.depth) != 1 || drain(t, t->near, 0) ? -1 : 0;
}

static bool is_two_sided(const struct plan *plan)
{
	return plan->op == TRAFFIC_SEND || (plan->op == TRAFFIC_WRITE && !plan->is_bw);
}

static int measure_lat(const struct traffic *t, struct histogram *histogram)
{
	const struct plan *plan = &t->near->plan;
	const bool answered = is_two_sided(plan);
	const uint64_t total = plan->duration_ns ? UINT64_MAX : plan->warmup + plan->iters;
	uint64_t start = now_ns(), now = start, end = UINT64_MAX;

	for (uint64_t turn = 0; turn < total && now < end; turn++) {
		if (plan->duration_ns && turn == plan->warmup)
			end = now + plan->duration_ns;
		if (answered ? ping_pong(t, turn) : post_and_wait(t))
			return -1;
		now = now_ns();
		if (turn >= plan->warmup)
			histogram_add(histogram, answered ? (now - start) / 2 : now - start);
		if (!plan->duration_ns)
			show_progress(turn + 1, total);
		start = now_ns();
	}
	return 0;
}

static int answer_lat(const struct traffic *t)
{
	const struct plan *plan = &t->near->plan;
	const uint64_t total = plan->duration_ns ? UINT64_MAX : plan->warmup + plan->iters;

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

/* How much is sent: so many, or until then. */
struct limit {
	uint64_t count, end_ns;
};

/* Of SENDs half of what the queue takes, so that receives keep up. */
static uint32_t window_of(const struct plan *plan)
{
	return plan->op == TRAFFIC_SEND ? (plan->depth + 1) / 2 : plan->depth;
}

/* How much moved, or -1. */
static int advance(struct flow *f, uint64_t count)
{
	const int got = f->receives ? side_receive(f->side) : 0;
	int sent = 0, done = 0;

	if (got < 0)
		return -1;
	if (f->sends && f->posted < count)
		sent = side_send(f->side, count - f->posted, window_of(&f->side->plan));
	if (f->sends && sent >= 0)
		done = side_reap(f->side);
	if (sent < 0 || done < 0)
		return -1;
	f->posted += (unsigned)sent;
	f->done += (unsigned)done;
	return got + done;
}

static int advance_all(struct flow *flows, uint64_t count)
{
	int moved = 0;

	for (unsigned i = 0; i < 2 && flows[i].side; i++) {
		const int n = advance(&flows[i], count);
		if (n < 0)
			return -1;
		moved += n;
	}
	return moved;
}

/* Both ends of this process; the far one, if it is here, answers in kind if the plan says so. */
static void set_flows(const struct traffic *t, struct flow flows[2])
{
	const struct plan *plan = &t->near->plan;
	const bool is_send = plan->op == TRAFFIC_SEND, both = plan->is_bidirectional;

	flows[0] = (struct flow){ .side = t->near,
				  .sends = !t->is_server || both,
				  .receives = is_send && (t->is_server || both) };
	flows[1] = (struct flow){ .side = t->far, .sends = both, .receives = is_send };
}

static bool are_done(const struct flow flows[2], uint64_t count)
{
	for (unsigned i = 0; i < 2 && flows[i].side; i++)
		if (flows[i].sends && (flows[i].posted < count || flows[i].done < flows[i].posted))
			return false;
	return true;
}

/* The time is looked at now and then. After it nothing more is posted. */
static uint64_t count_now(const struct limit *limit, unsigned turn)
{
	return limit->end_ns && turn % 16 == 0 && now_ns() >= limit->end_ns ? 0 : limit->count;
}

/* Sends what the limit says, from each end that sends. */
static int stream(const struct traffic *t, struct flow flows[2], struct limit limit)
{
	struct waiting waiting = { 0 };
	const uint64_t wanted = limit.count;

	for (unsigned turn = 0; !are_done(flows, limit.count); turn++) {
		const int moved = advance_all(flows, limit.count);
		if (moved > 0)
			waiting = (struct waiting){ 0 };
		if (moved < 0 || (!moved && wait_more(t, &waiting)))
			return -1;
		limit.count = limit.count ? count_now(&limit, turn) : 0;
		if (!limit.end_ns)
			show_progress(flows[0].done, wanted);
	}
	return 0;
}

/* Waits until the peer is done, too: its messages arrive, or nothing does and the CPU rests. */
static int attend(const struct traffic *t, struct flow flows[2])
{
	struct waiting waiting = { 0 };

	if (t->peer < 0)
		return 0;
	if (session_tell(t->peer))
		return -1;
	while (!flows[0].receives && !connect_wait(t->peer, is_stepped() ? 0 : 1000))
		step();
	while (flows[0].receives) {
		const int moved = advance_all(flows, 0);
		if (moved > 0)
			waiting = (struct waiting){ 0 };
		if (moved < 0 || (!moved && wait_more(t, &waiting)))
			return -1;
		if (waiting.spins % LOOK_EVERY == 1 && connect_wait(t->peer, 0))
			break;
	}
	return session_hear(t->peer, t->timeout_ms);
}

static int measure_bw(const struct traffic *t, struct throughput *found)
{
	const struct plan *plan = &t->near->plan;
	struct limit limit = { .count = plan->iters };
	struct flow flows[2];
	uint64_t start;
	int err;

	set_flows(t, flows);
	err = stream(t, flows, (struct limit){ .count = plan->warmup });
	set_flows(t, flows);
	start = now_ns();
	if (plan->duration_ns)
		limit = (struct limit){ .count = UINT64_MAX, .end_ns = start + plan->duration_ns };
	if (!err)
		err = stream(t, flows, limit);
	*found = (struct throughput){ .operations = flows[0].done + flows[1].done,
				      .ns = now_ns() - start };
	found->rate = (double)found->operations / ((double)found->ns / 1e9);
	if (!err)
		err = attend(t, flows);
	if (!err && t->peer >= 0 && plan->is_bidirectional)
		err = session_add_rates(t->peer, &found->rate, t->timeout_ms);
	return err;
}

/* -- both -------------------------------------------------------------------------------------- */

/* Receives before anything is sent; then both ends are ready. */
static int get_ready(struct traffic *t)
{
	if (t->near->plan.op == TRAFFIC_SEND && !t->has_receives) {
		if (side_fill(t->near) || (t->far && side_fill(t->far)))
			return -1;
	}
	t->has_receives = true;
	return t->peer < 0 ? 0 : session_meet(t->peer, t->timeout_ms);
}

/* The server of one-sided operations only waits until the client is done. */
static int stay(const struct traffic *t)
{
	while (!connect_wait(t->peer, is_stepped() ? 0 : 1000))
		step();
	return 0;
}

/* Everything sent is done, here and there, before anything is destroyed. */
static int finish(const struct traffic *t)
{
	if (drain(t, t->near, 0) || (t->far && drain(t, t->far, 0)))
		return -1;
	return t->peer < 0 ? 0 : session_meet(t->peer, t->timeout_ms);
}

int run_lat(struct traffic *t, struct histogram *histogram)
{
	int err = get_ready(t);

	if (!err && t->is_server)
		err = is_two_sided(&t->near->plan) ? answer_lat(t) : stay(t);
	else if (!err)
		err = measure_lat(t, histogram);
	return err ? err : finish(t);
}

int run_bw(struct traffic *t, struct throughput *throughput)
{
	int err = get_ready(t);

	if (!err)
		err = measure_bw(t, throughput);
	return err ? err : finish(t);
}
