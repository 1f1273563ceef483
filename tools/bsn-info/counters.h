/* SPDX-License-Identifier: BSD-2-Clause */
/* What bsn-info --watch reads, and what it means when it rises. */
#ifndef BSN_INFO_COUNTERS_H
#define BSN_INFO_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "places.h"

enum { FILE_COUNTERS = 44, FLOW_COUNTERS = 18, COUNTERS = FILE_COUNTERS + FLOW_COUNTERS };

struct counter {
	const char *name;
	const char *file; /* below the folder of the port or the device; NULL: netlink tells */
	unsigned scale;   /* what one of it is worth */
	bool wraps;       /* at 32 bits; else it may only fall back to 0 */
	/* Of one that should not rise, else NULL. The figure is that of a well-run network. */
	const char *means, *expected, *source;
};

const struct counter *counter_at(unsigned index);

struct reading {
	bool is_there[COUNTERS];
	uint64_t values[COUNTERS];
};

/* All counters of a port, or with @port 0 of the device. @netdev: empty, if it has no interface. */
void counters_read(const char *root, const char *device, unsigned port, const char *netdev,
		   struct reading *reading);

/* How much a counter rose; false: that cannot be known. */
bool counter_rose(const struct reading *before, const struct reading *now, unsigned index,
		  uint64_t *by);

#endif
