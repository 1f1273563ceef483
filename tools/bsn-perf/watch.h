/* SPDX-License-Identifier: BSD-2-Clause */
/* A meter of time: what a row takes between its begin and its end. */
#ifndef BSN_PERF_WATCH_H
#define BSN_PERF_WATCH_H

#include "perf.h"

struct watch {
	uint64_t start, ns;
};

static inline void watch_begin(void *arg)
{
	struct watch *watch = arg;

	watch->start = now_ns();
}

static inline void watch_end(void *arg)
{
	struct watch *watch = arg;

	watch->ns = now_ns() - watch->start;
}

#endif
