/* SPDX-License-Identifier: BSD-2-Clause */
/* softcx's counters of the bus between processor and device. */
#ifndef BUS_H
#define BUS_H

enum { BUS_COUNTERS_MAX = 64, BUS_NAME_BYTES = 32 };

struct bus {
	struct bus_counter {
		char name[BUS_NAME_BYTES];
		double value;
	} counters[BUS_COUNTERS_MAX];
	unsigned count;
};

/* What was counted for this process so far. 0, or -errno: the device does not count. */
int bus_read(const char *device, struct bus *bus);

/* Of a counter; < 0: there is none. */
double bus_value(const struct bus *bus, const char *name);

/* The counters since @before, divided by @count operations. */
void bus_take_off(struct bus *bus, const struct bus *before, unsigned count);

/* 0, or PERF_FAILED with a complaint: @option needs softcx, and not a passive one. */
int bus_check(const char *device, const char *option);

#endif
