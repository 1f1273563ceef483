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

/* -- waiting ------------------------------------------------------------------------------------ */

/* Of one thing, since when nothing came. */
struct waiting {
	uint64_t deadline;
	unsigned spins;
};

/*
 * What is not told by a completion: that the device is gone, or that a queue failed by itself or by
 * its peer's fault. Reading the events is also what makes a dead CQ's polls fail.
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
		n = side->ops->reap(side);
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

/* -- latency ------------------------------------------------------------------------------------ */

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
	return side->ops->post(side, 1);
}

/* Whether the message of this turn came: 1, 0, -1. */
static int look_for(struct side *side, uint64_t turn)
{
	int n;

	if (side->plan.op == TRAFFIC_WRITE)
		return __atomic_load_n(&side->memory.in[side->plan.size - 1], __ATOMIC_ACQUIRE) ==
		       stamp_of(turn);
	n = side->ops->reap_recv(side);
	if (n > 0 && side->ops->post_recv(side, (unsigned)n))
		return -1;
	return n;
}

/* While nothing arrives: what was sent may have failed, at either side that is here. */
static int look_for_failures(const struct traffic *t, const struct waiting *w)
{
	if (w->spins % LOOK_EVERY)
		return 0;
	if (t->near->ops->reap(t->near) < 0)
		return -1;
	return t->far && t->far->ops->reap(t->far) < 0 ? -1 : 0;
}

static int await_turn(const struct traffic *t, struct side *side, uint64_t turn)
{
	struct waiting waiting = { 0 };
	int n;

	while (!(n = look_for(side, turn)))
		if (wait_more(t, &waiting) || look_for_failures(t, &waiting))
			return -1;
	if (n < 0)
		return -1;
	return side->ops->reap(side) < 0 ? -1 : 0; /* what the side itself sent is done, or fails */
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
	return t->near->ops->post(t->near, 1) || drain(t, t->near, 0) ? -1 : 0;
}

static bool is_two_sided(const struct plan *plan)
{
	return plan->op == TRAFFIC_SEND || (plan->op == TRAFFIC_WRITE && !plan->is_bw);
}

static int measure_lat(const struct traffic *t, struct histogram *histogram)
{
	const struct plan *plan = &t->near->plan;
	const bool answered = is_two_sided(plan);
	const uint64_t total = plan->warmup + plan->iters;
	uint64_t start = now_ns(), now;

	for (uint64_t turn = 0; turn < total; turn++) {
		if (answered ? ping_pong(t, turn) : post_and_wait(t))
			return -1;
		now = now_ns();
		if (turn >= plan->warmup)
			histogram_add(histogram, answered ? (now - start) / 2 : now - start);
		show_progress(turn + 1, total);
		start = now_ns();
	}
	return 0;
}

static int answer_lat(const struct traffic *t)
{
	const struct plan *plan = &t->near->plan;

	for (uint64_t turn = 0; turn < plan->warmup + plan->iters; turn++)
		if (await_turn(t, t->near, turn) || send_turn(t, t->near, turn))
			return -1;
	return 0;
}

/* -- bandwidth ---------------------------------------------------------------------------------- */

/* Messages that arrived give their receives back. */
static int refill(struct side *side, uint64_t *arrived)
{
	const int n = side->ops->reap_recv(side);

	if (n > 0 && side->ops->post_recv(side, (unsigned)n))
		return -1;
	*arrived += n > 0 ? (uint64_t)n : 0;
	return n;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* @count operations, as many at a time as the queue takes; of SENDs half, for receives to keep up. */
static int stream(const struct traffic *t, uint64_t count, bool shows)
{
	struct side *near = t->near;
	const bool refills = t->far && near->plan.op == TRAFFIC_SEND;
	const uint64_t window =
		near->plan.op == TRAFFIC_SEND ? (near->plan.depth + 1) / 2 : near->plan.depth;
	struct waiting waiting = { 0 };
	uint64_t posted = 0, done = 0, arrived = 0;

	while (done < count) {
		const uint64_t room = window - near->outstanding;
		const unsigned burst = (unsigned)least(least(room, count - posted), TRAFFIC_BURST);
		int n;
		if (burst && near->ops->post(near, burst))
			return -1;
		posted += burst;
		if (refills && refill(t->far, &arrived) < 0)
			return -1;
		n = near->ops->reap(near);
		if (n > 0)
			waiting = (struct waiting){ 0 };
		if (n < 0 || (n == 0 && wait_more(t, &waiting)))
			return -1;
		done += (uint64_t)n;
		if (shows)
			show_progress(done, count);
	}
	return 0;
}

/* What the server of a SEND test does: it takes messages. */
static int absorb(const struct traffic *t)
{
	const struct plan *plan = &t->near->plan;
	struct waiting waiting = { 0 };
	uint64_t arrived = 0;

	while (arrived < plan->warmup + plan->iters) {
		const int n = refill(t->near, &arrived);
		if (n > 0)
			waiting = (struct waiting){ 0 };
		if (n < 0 || (n == 0 && wait_more(t, &waiting)))
			return -1;
	}
	return 0;
}

/* -- both --------------------------------------------------------------------------------------- */

/* Receives before anything is sent; then both ends are ready. */
static int get_ready(struct traffic *t)
{
	if (t->near->plan.op == TRAFFIC_SEND && !t->has_receives) {
		if (t->near->ops->post_recv(t->near, t->near->plan.depth))
			return -1;
		if (t->far && t->far->ops->post_recv(t->far, t->far->plan.depth))
			return -1;
	}
	t->has_receives = true;
	return t->peer < 0 ? 0 : session_meet(t->peer, t->timeout_ms);
}

/* The server of one-sided operations has nothing to do but to be there, until the client is done. */
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

static int serve(const struct traffic *t)
{
	const struct plan *plan = &t->near->plan;

	if (!is_two_sided(plan))
		return stay(t);
	return plan->is_bw ? absorb(t) : answer_lat(t);
}

int run_lat(struct traffic *t, struct histogram *histogram)
{
	int err = get_ready(t);

	if (!err)
		err = t->is_server ? serve(t) : measure_lat(t, histogram);
	return err ? err : finish(t);
}

int run_bw(struct traffic *t, uint64_t *ns)
{
	const struct plan *plan = &t->near->plan;
	uint64_t start = 0;
	int err = get_ready(t);

	if (!err && t->is_server) {
		err = serve(t);
	} else if (!err) {
		err = stream(t, plan->warmup, false);
		start = now_ns();
		if (!err)
			err = stream(t, plan->iters, true);
		*ns = now_ns() - start;
	}
	return err ? err : finish(t);
}
