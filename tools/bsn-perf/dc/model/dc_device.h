/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device of DC initiators that has nothing but time: it counts connections, and says when a
 * request is done. Each stream of an initiator is connected to one target.
 */
#ifndef DC_DEVICE_H
#define DC_DEVICE_H

#include "dc_model.h"

/* A request that was published, and is not reported yet. @tag: its name */
struct dc_request {
	uint64_t done_ns;
	uint32_t tag;
	uint16_t initiator;
};

/**
 * struct dc_device
 * @streams: @streams_each of each initiator in turn
 * @heap: requests, the first one to be done on top
 * @taken_early: see struct dc_figures
 */
struct dc_device {
	struct dc_times times;
	struct dc_initiator *initiators;
	struct dc_stream *streams;
	uint32_t streams_each;
	struct dc_request *heap;
	uint32_t heap_count;
	uint64_t now_ns, connects, taken_early, random;
};

/* Of @count initiators; the requests of @plan may be outstanding, and two more of each. -ENOMEM. */
int dc_device_make(struct dc_device *d, const struct dc_plan *plan, const struct dc_times *times,
		   uint32_t count);
void dc_device_free(struct dc_device *d);

/* A request begins, to a target (1 and up). 0: it goes to nobody, so the stream stays connected. */
void dc_device_begin(struct dc_device *d, uint16_t initiator, unsigned stream, uint32_t target,
		     uint32_t tag);

/*
 * At the time of its end: the request that is done first. false: there is none, and time goes by.
 */
bool dc_device_end(struct dc_device *d, struct dc_request *done);

/*
 * A pool on the device, first in what dc_model.c and dcs.c have of it.
 * @free: all but this
 */
struct dc_model {
	struct dc_device device;
	void (*free)(struct dc_model *model);
};

/* dcs.c: UCX's dcs, or dcs_quota. -ENOMEM. */
int dcs_open(const struct dc_plan *plan, const struct dc_times *times, enum dc_policy policy,
	     struct dc_model **model, struct dc_stage *stage);

/* The clock of each stage, and what the device adds to its counters. */
uint64_t dc_model_now(void *model);
void dc_model_counters(const struct dc_model *model, struct dc_figures *figures);

#endif
