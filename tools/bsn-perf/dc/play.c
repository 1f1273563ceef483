/* SPDX-License-Identifier: BSD-2-Clause */
#include "play.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "../stats.h"

enum { POLLED = 16, STUCK_S = 30 };

const char *const dc_policy_names[DC_POLICY_COUNT] = { "lru", "hashed", "dcs", "dcs_quota" };

/* A request that is outstanding, or waits until its peer may post; its id is its index. */
struct request {
	uint64_t begun_ns;
	uint32_t ended_before; /* requests that were done when it began */
	uint32_t peer;
	STAILQ_ENTRY(request) next; /* of those that wait, or of the free ones */
};
STAILQ_HEAD(requests, request);

struct peer {
	struct requests waiting;
	uint64_t since_ns; /* it stands in line; 0: it does not */
	uint32_t ended_before;
	uint32_t done;
	double took; /* its requests, in requests that were done meanwhile */
};

struct run {
	const struct dc_plan *plan;
	const struct dc_stage *stage;
	void *arg;
	struct dc_figures *figures;
	struct dc_draws *draws;
	struct peer *peers;
	struct request *requests; /* as many as the window */
	struct requests free;
	uint32_t begun, ended;
	uint64_t waits, moved_ns;
	struct histogram waited, took, overtaken; /* ns, ns, requests that were done meanwhile */
};

static __attribute__((format(printf, 3, 4))) int say(struct run *r, int err, const char *format,
						     ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->figures->why_not, sizeof(r->figures->why_not), format, args);
	va_end(args);
	return err;
}

static int say_refused(struct run *r, const char *what, int err)
{
	return say(r, -EIO, "%s: %s", what, *bsn_error_text() ? bsn_error_text() : strerror(-err));
}

static uint64_t now(const struct run *r)
{
	return r->stage->now_ns(r->arg);
}

static int post(const struct run *r, const struct request *request)
{
	return r->stage->post(r->arg, request->peer, (uint64_t)(request - r->requests));
}

static void stand_in_line(struct run *r, struct peer *peer)
{
	if (peer->since_ns)
		return;
	peer->since_ns = now(r);
	peer->ended_before = r->ended;
	r->waits++;
}

/* Those of one peer stay in order. */
static int begin_one(struct run *r)
{
	struct request *request = STAILQ_FIRST(&r->free);
	struct peer *peer;
	int err;

	STAILQ_REMOVE_HEAD(&r->free, next);
	request->peer = dc_draw(r->draws);
	request->begun_ns = now(r);
	request->ended_before = r->ended;
	r->begun++;
	peer = &r->peers[request->peer];
	err = STAILQ_EMPTY(&peer->waiting) ? post(r, request) : -EAGAIN;
	if (err != -EAGAIN)
		return err;
	STAILQ_INSERT_TAIL(&peer->waiting, request, next);
	stand_in_line(r, peer);
	return 0;
}

static int go_on(struct run *r, struct peer *peer)
{
	int err = 0;

	if (peer->since_ns) {
		histogram_add(&r->waited, now(r) - peer->since_ns);
		histogram_add(&r->overtaken, r->ended - peer->ended_before);
	}
	peer->since_ns = 0;
	while (!err && !STAILQ_EMPTY(&peer->waiting)) {
		err = post(r, STAILQ_FIRST(&peer->waiting));
		if (!err)
			STAILQ_REMOVE_HEAD(&peer->waiting, next);
	}
	if (err == -EAGAIN)
		stand_in_line(r, peer);
	return err == -EAGAIN ? 0 : err;
}

static int end_one(struct run *r, const struct bsn_completion *c)
{
	struct request *request = &r->requests[c->id];
	struct peer *peer = c->user;

	if (c->status)
		return say(r, -EIO, "a request to peer %u: %s", request->peer,
			   ibv_wc_status_str((enum ibv_wc_status)c->status));
	histogram_add(&r->took, now(r) - request->begun_ns);
	peer->took += r->ended - request->ended_before + 1;
	peer->done++;
	STAILQ_INSERT_HEAD(&r->free, request, next);
	r->ended++;
	return 0;
}

static int poll(struct run *r)
{
	struct bsn_completion done[POLLED];
	const int n = r->stage->poll(r->arg, done, POLLED);
	int err = 0;

	if (n < 0)
		return say_refused(r, "the pool", n);
	if (n)
		r->moved_ns = now(r);
	for (int i = 0; i < n && !err; i++) {
		if (done[i].opcode != BSN_DC_READY)
			err = end_one(r, &done[i]);
		else if ((err = go_on(r, done[i].user)))
			err = say_refused(r, "a post", err);
	}
	return err;
}

static int play(struct run *r)
{
	int err = 0;

	r->moved_ns = now(r);
	while (!err && r->ended < r->plan->operations) {
		while (!err && r->begun < r->plan->operations && !STAILQ_EMPTY(&r->free))
			err = begin_one(r);
		if (err)
			return say_refused(r, "a post", err);
		err = poll(r);
		if (!err && now(r) - r->moved_ns > STUCK_S * 1000000000ull)
			err = say(r, -ETIMEDOUT, "%u requests are not done, and nothing moves",
				  r->begun - r->ended);
	}
	return err;
}

static double fairness_of(const struct run *r)
{
	double sum = 0, squares = 0;
	uint32_t count = 0;

	for (uint32_t p = 0; p < r->plan->crowd.peers; p++) {
		const struct peer *peer = &r->peers[p];
		const double mean = peer->done ? peer->took / peer->done : 0;

		sum += mean;
		squares += mean * mean;
		count += !!peer->done;
	}
	return squares > 0 ? sum * sum / (count * squares) : 1;
}

/* @ns: that it took */
static void sum_up(const struct run *r, uint64_t ns)
{
	const double operations = r->plan->operations;
	struct dc_figures *f = r->figures;

	r->stage->counters(r->arg, f);
	f->is_there = true;
	f->device_counts = f->counters.has_connects;
	f->connects_per_operation =
		(double)(f->device_counts ? f->counters.connects : f->counters.bindings) /
		operations;
	f->operations_per_s = operations * 1e9 / (double)ns;
	f->waits_per_operation = (double)r->waits / operations;
	f->fairness = fairness_of(r);
	f->wait_p50_us = (double)histogram_percentile(&r->waited, 50) / 1e3;
	f->wait_p99_us = (double)histogram_percentile(&r->waited, 99) / 1e3;
	f->wait_max_us = r->waited.count ? (double)r->waited.max / 1e3 : 0;
	f->wait_p99_operations = (double)histogram_percentile(&r->overtaken, 99);
	f->wait_max_operations = r->overtaken.count ? (double)r->overtaken.max : 0;
	f->request_p50_us = (double)histogram_percentile(&r->took, 50) / 1e3;
	f->request_p99_us = (double)histogram_percentile(&r->took, 99) / 1e3;
}

static int make(struct run *r)
{
	const uint32_t window = r->plan->window, peers = r->plan->crowd.peers;
	int err;

	r->draws = dc_draws_begin(&r->plan->crowd);
	r->requests = calloc(window, sizeof(*r->requests));
	r->peers = calloc(peers, sizeof(*r->peers));
	if (!r->draws || !r->requests || !r->peers)
		return say(r, -ENOMEM, "no memory");
	STAILQ_INIT(&r->free);
	for (uint32_t i = 0; i < window; i++)
		STAILQ_INSERT_TAIL(&r->free, &r->requests[i], next);
	for (uint32_t p = 0; p < peers; p++) {
		struct peer *peer = &r->peers[p];

		STAILQ_INIT(&peer->waiting);
		err = r->stage->peer(r->arg, p, peer);
		if (err)
			return say_refused(r, "a peer", err);
	}
	return 0;
}

int dc_play(const struct dc_plan *plan, const struct dc_stage *stage, void *arg,
	    struct dc_figures *figures)
{
	struct run *r = calloc(1, sizeof(*r));
	uint64_t start;
	int err;

	if (!r) {
		snprintf(figures->why_not, sizeof(figures->why_not), "no memory");
		return -ENOMEM;
	}
	r->plan = plan;
	r->stage = stage;
	r->arg = arg;
	r->figures = figures;
	err = make(r);
	start = now(r);
	if (!err && !(err = play(r)))
		sum_up(r, now(r) - start);
	dc_draws_end(r->draws);
	free(r->requests);
	free(r->peers);
	free(r);
	return err;
}
