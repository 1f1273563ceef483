/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool of DC initiators, the library's own code, on a device that is a model of time alone: it
 * reads the send rings, counts connections, and says when a request is done. No device, no memory
 * of requests. And to compare with, on the same device: UCX's pools.
 */
#ifndef DC_MODEL_H
#define DC_MODEL_H

#include "../play.h"

/*
 * What the model takes beside plan->connect_ns: from the begin of a request to its answer, at the
 * least: twice the 600 ns that UCX takes for one way from EDR on (src/uct/ib/base/ib_iface.c);
 * beyond that, any time up to the next one, and from the begin of an initiator's request to that of
 * the next: both are assumed.
 */
enum { DC_CONNECT_NS = 60, DC_ANSWER_NS = 1200, DC_RANDOM_NS = 500, DC_ISSUE_NS = 50 };

/*
 * Plays the plan by one policy: as dc_play(), or -EINVAL: it cannot be. Random times are of the
 * plan's seed.
 */
int dc_simulate(const struct dc_plan *plan, enum dc_policy policy, struct dc_figures *figures);

/* -- inside of the model ----------------------------------------------------------------------- */

/* A request that was published, and is not reported yet. @tag: its name */
struct dc_request {
	uint64_t done_ns;
	uint32_t tag;
	uint16_t initiator;
};

/**
 * struct dc_device - initiators that have nothing but time
 * @streams: @streams_each of each initiator in turn, each connected to one target
 * @heap: requests, the first one to be done on top
 * @taken_early: see struct dc_figures
 */
struct dc_device {
	uint32_t connect_ns;
	struct dc_initiator *initiators;
	struct dc_stream *streams;
	uint32_t streams_each;
	struct dc_request *heap;
	uint32_t heap_count;
	uint64_t now_ns, connects, taken_early, random;
};

/* Of @count initiators; the requests of @plan may be outstanding, and two more of each. -ENOMEM. */
int dc_device_make(struct dc_device *d, const struct dc_plan *plan, uint32_t count);
void dc_device_free(struct dc_device *d);

/* A request begins, to a target (1 and up). 0: it goes to nobody, so the stream stays connected. */
void dc_device_begin(struct dc_device *d, uint16_t initiator, unsigned stream, uint32_t target,
		     uint32_t tag);

/*
 * At the time of its end: the request that is done first. false: there is none, and time goes by.
 */
bool dc_device_end(struct dc_device *d, struct dc_request *done);

/* Of each stage whose argument begins with its device. */
uint64_t dc_device_now(void *arg);

/* What the device adds to a pool's counters. */
void dc_device_counters(const struct dc_device *d, struct dc_figures *figures);

/* UCX's dcs, or dcs_quota (dcs.c); as dc_simulate(). */
int dc_simulate_dcs(const struct dc_plan *plan, enum dc_policy policy, struct dc_figures *figures);

#endif
