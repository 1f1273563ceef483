/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool of DC initiators, the library's own code, on a device that is a model of time alone: it
 * reads the send rings, counts connections, and says when a request is done. No device, no memory
 * of requests. And to compare with, on the same device: UCX's pools.
 */
#ifndef DC_MODEL_H
#define DC_MODEL_H

#include "../play.h"

/**
 * struct dc_times - what the model takes for what
 * @connect_ns: a stream goes to another target than before: it waits until all is answered that it
 *	has outstanding, and then so much longer. UCX adds 60 ns to a DC latency for the packet that
 *	connects and its completion (src/uct/ib/mlx5/dc/dc_mlx5.c), and 140 ns where a full
 *	handshake is on; a maintainer has measured 2.7 us for the latter
 * @answer_ns: from the begin of a request to its answer, at the least: twice the 600 ns that UCX
 *	takes for one way from EDR on (src/uct/ib/base/ib_iface.c)
 * @random_ns: beyond that, any time up to this one; assumed
 * @issue_ns: from the begin of an initiator's request to that of the next; assumed
 */
struct dc_times {
	uint32_t connect_ns, answer_ns, random_ns, issue_ns;
};

enum { DC_CONNECT_NS = 60, DC_ANSWER_NS = 1200, DC_RANDOM_NS = 500, DC_ISSUE_NS = 50 };

#define DC_TIMES_DEFAULT { DC_CONNECT_NS, DC_ANSWER_NS, DC_RANDOM_NS, DC_ISSUE_NS }

struct dc_model;

/*
 * A model, and its stage: 0, -EINVAL what cannot be, -ENOMEM. Its random times are of the plan's
 * seed.
 */
int dc_model_open(const struct dc_plan *plan, const struct dc_times *times, enum dc_policy policy,
		  struct dc_model **model, struct dc_stage *stage);
void dc_model_close(struct dc_model *model);

#endif
