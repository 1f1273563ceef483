/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bsn-perf cost --bus: what the bus between processor and device is asked for by each request. Only
 * softcx counts that; it sees stores unless it is passive.
 */
#include "cost.h"

#include <string.h>

#include "perf.h"

/* What was counted for this process so far. 0, or -errno: the device does not count. */
static int bus_read(const char *device, struct bus *bus)
{
	char path[128], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/softcx_bus", device);
	file = fopen(path, "r");
	bus->count = 0;
	while (file && bus->count < BUS_COUNTERS_MAX && fgets(line, sizeof(line), file)) {
		struct bus_counter *counter = &bus->counters[bus->count];
		if (sscanf(line, "%31s %lf", counter->name, &counter->value) == 2)
			bus->count++;
	}
	if (file)
		fclose(file);
	return file ? 0 : -ENODEV;
}

double bus_value(const struct bus *bus, const char *name)
{
	for (unsigned i = 0; i < bus->count; i++)
		if (!strcmp(bus->counters[i].name, name))
			return bus->counters[i].value;
	return -1;
}

/* The counters since @before, divided by @count operations. */
static void bus_take_off(struct bus *bus, const struct bus *before, unsigned count)
{
	for (unsigned i = 0; i < bus->count; i++) {
		struct bus_counter *counter = &bus->counters[i];
		counter->value = (counter->value - bus_value(before, counter->name)) / count;
	}
}

struct reader {
	const char *device;
	struct bus before;
	int err;
};

static void read_before(void *arg)
{
	struct reader *reader = arg;

	reader->err = bus_read(reader->device, &reader->before);
}

static void ignore(void *arg)
{
	(void)arg;
}

/* From the first request to the last completion; the second region, in which nothing is new. */
static int count_one(const struct cost *cost, unsigned c, unsigned row, struct bus *bus)
{
	const struct cost_row *of = &cost->results.rows[row];
	const struct cost_column *column = cost_column_of(c, of->shape.queues);
	const unsigned count = cost_count_of(&cost->rig, of);
	struct reader reader = { .device = cost->results.device->name };
	const struct cost_meter meter = { read_before, ignore, &reader };
	int bad = 0;

	for (unsigned i = 0; i < 2 && !bad; i++)
		bad = cost_region(column, cost->queues[c][of->shape.queues], of, 0, count, &meter);
	if (bad)
		return cost_complain(column, of, bad);
	if (reader.err || bus_read(reader.device, bus))
		return complain("softcx does not count any more");
	bus_take_off(bus, &reader.before, count);
	return 0;
}

int cost_count_bus(struct cost *cost)
{
	struct cost_results *results = &cost->results;
	struct bus bus;
	int err = 0;

	if (bus_read(results->device->name, &bus))
		err = complain("--bus needs softcx(1), which counts what it is asked for");
	else if (bus_value(&bus, "mmio") < 0)
		err = complain("--bus: softcx sees no stores in its passive mode: use softcx run "
			       "without --passive");
	for (unsigned row = 0; row < results->row_count && !err; row++) {
		show_progress("%s", results->rows[row].name);
		for (unsigned c = 0; c < COST_COLUMNS && !err; c++)
			if (cost_has(cost, c, row))
				err = count_one(cost, c, row, &results->bus[c][row]);
	}
	end_progress();
	return err;
}
