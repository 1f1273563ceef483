/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bsn-perf cost --bus: what the bus between processor and device is asked for by each request. Only
 * softcx counts that; it sees stores unless it is passive.
 */
#include "cost.h"

#include <string.h>

enum { COUNTERS_MAX = 64 };

/* What was counted for this process so far, in the order of the device. */
struct bus {
	const char *device;
	char names[COUNTERS_MAX][COST_NAME_BYTES];
	double values[COUNTERS_MAX];
	unsigned count; /* 0: the device does not count */
};

static void read_bus(void *arg)
{
	struct bus *bus = arg;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/softcx_bus", bus->device);
	file = fopen(path, "r");
	bus->count = 0;
	while (file && bus->count < COUNTERS_MAX &&
	       fscanf(file, "%31s %lf", bus->names[bus->count], &bus->values[bus->count]) == 2)
		bus->count++;
	if (file)
		fclose(file);
}

/* From the first request to the last completion; the second region, in which nothing is new. */
static int count_one(const struct cost_case *of, void *unused)
{
	struct bus before = { .device = of->cost->device->name }, after = before;
	const struct cost_meter meter = { .begin = read_bus, .arg = &before };
	const unsigned count = of->counts.count;
	int err = 0;

	(void)unused;
	if (of->c == COST_COLUMN_NOTHING)
		return 0;
	show_progress("%s", of->row->name);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = cost_region(of, 0, count, &meter);
	if (err)
		return err;
	read_bus(&after);
	if (!after.count || after.count != before.count)
		return complain("softcx does not count any more");
	for (unsigned i = 0; i < after.count; i++)
		cost_add_figure(of->cost, of->c, of->r, after.names[i],
				(after.values[i] - before.values[i]) / count);
	return 0;
}

static bool sees_stores(const struct bus *bus)
{
	for (unsigned i = 0; i < bus->count; i++)
		if (!strcmp(bus->names[i], "mmio"))
			return true;
	return false;
}

int cost_count_bus(struct cost *cost)
{
	struct bus bus = { .device = cost->device->name };
	int err;

	read_bus(&bus);
	if (!bus.count)
		return complain("--bus needs softcx(1), which counts what it is asked for");
	if (!sees_stores(&bus))
		return complain("--bus: softcx sees no stores in its passive mode: use softcx run "
				"without --passive");
	err = cost_each(cost, NULL, count_one);
	end_progress();
	return err;
}
