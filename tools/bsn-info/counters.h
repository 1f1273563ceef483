/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of bsn-info --watch, and what it means when one rises. */
#ifndef BSN_INFO_COUNTERS_H
#define BSN_INFO_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "places.h"

enum { FILE_COUNTERS = 44, FLOW_COUNTERS = 18, COUNTERS = FILE_COUNTERS + FLOW_COUNTERS };

struct counter {
	const char *name;
	const char *file; /* in the folder of the port or the device; NULL: from netlink */
	unsigned scale;   /* bytes or packets of one count */
	bool wraps;       /* at 32 bits; false: it falls only when it is reset */
	/* NULL, unless it should not rise: what it means, and its rate in a well-run network. */
	const char *means, *expected, *source;
};

const struct counter *counter_at(unsigned index);

struct reading {
	bool is_there[COUNTERS];
	uint64_t values[COUNTERS];
};

/* Reads the counters of a port, or of the device if @port is 0. @netdev: empty: no interface. */
void counters_read(const char *root, const char *device, unsigned port, const char *netdev,
		   struct reading *reading);

/* How much a counter rose. False: unknown. */
bool counter_rose(const struct reading *before, const struct reading *now, unsigned index,
		  uint64_t *by);

#endif
