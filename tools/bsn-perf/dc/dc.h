/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bsn-perf dc: many peers through a pool of few DC initiators. All are in this process, each a
 * target of its own on the same device, so that one connection more is one that a network would
 * see; or they are processes with a target each.
 */
#ifndef PERF_DC_H
#define PERF_DC_H

#include "../perf.h"
#include "play.h"

enum { DC_COUNTS_MAX = 16 };

/* With one number of peers. @optimum: offline, in connections of each operation */
struct dc_result {
	struct dc_plan plan;
	struct dc_figures figures[DC_POLICY_COUNT];
	double optimum;
};

struct dc_report {
	const struct bsn_device_info *device; /* NULL: a model */
	const char *pattern;                  /* its name, or that of a file */
	unsigned processes;                   /* 0: this one alone */
	struct dc_result results[DC_COUNTS_MAX];
	unsigned count;
};

void dc_print(FILE *to, bool as_json, const struct dc_report *report);

#endif
