/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bsn-perf dc: many peers through a pool of few DC initiators. All are in this process, each a
 * target of its own on the same device, so that one connection more is one that a network would
 * see; or they are processes with a target each.
 */
#ifndef PERF_DC_H
#define PERF_DC_H

#include "../../examples/ranks.h"
#include "../perf.h"
#include "play.h"

enum { DC_COUNTS_MAX = 16 };

/*
 * With one number of peers: by each policy; and the offline optimum, in connections of each
 * operation.
 */
struct dc_result {
	struct dc_plan plan;
	struct dc_figures figures[DC_POLICY_COUNT];
	double optimum;
};

/* All that was asked for. */
struct dc_report {
	const struct bsn_device_info *device; /* NULL: a model */
	const char *pattern;                  /* its name, or that of a file */
	unsigned processes;                   /* 0: this one alone */
	struct dc_result results[DC_COUNTS_MAX];
	unsigned count;
};

/*
 * Targets, and what requests carry. @ranks: the processes that are each other's peers; NULL: the
 * peers are of this one
 */
struct dc_bench;
int dc_bench_open(const struct dc_plan *plan, struct ranks *ranks, struct dc_bench **bench);
void dc_bench_close(struct dc_bench *bench);
const struct bsn_device_info *dc_bench_device(const struct dc_bench *bench);

/* Whether a pool of the library has the policy. */
static inline bool dc_is_of_pools(enum dc_policy policy)
{
	return policy == DC_POLICY_lru || policy == DC_POLICY_hashed;
}

/*
 * Plays the plan by one policy: 0, also where the policy is refused, or PERF_FAILED after a
 * complaint.
 */
int dc_bench_run(struct dc_bench *bench, const struct dc_plan *plan, enum dc_policy policy,
		 struct dc_figures *figures);

void dc_print(FILE *to, bool as_json, const struct dc_report *report);

#endif
