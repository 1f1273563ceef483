/* SPDX-License-Identifier: BSD-2-Clause */
/* The file in which softcx says what the bus was asked for. */
#include "bus.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "perf.h"

enum { FILE_BYTES = 4096 };

static int read_file(const char *path, char *text, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (used < size - 1 && (n = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	close(fd);
	return 0;
}

int bus_read(const char *device, struct bus *bus)
{
	char path[128], text[FILE_BYTES], *rest = text, *line;
	int err;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/softcx_bus", device);
	err = read_file(path, text, sizeof(text));
	bus->count = 0;
	while (!err && (line = strsep(&rest, "\n")) && bus->count < BUS_COUNTERS_MAX) {
		struct bus_counter *counter = &bus->counters[bus->count];
		if (sscanf(line, "%31s %lf", counter->name, &counter->value) == 2)
			bus->count++;
	}
	return err;
}

double bus_value(const struct bus *bus, const char *name)
{
	for (unsigned i = 0; i < bus->count; i++)
		if (!strcmp(bus->counters[i].name, name))
			return bus->counters[i].value;
	return -1;
}

void bus_take_off(struct bus *bus, const struct bus *before, unsigned count)
{
	for (unsigned i = 0; i < bus->count; i++) {
		struct bus_counter *counter = &bus->counters[i];
		counter->value = (counter->value - bus_value(before, counter->name)) / count;
	}
}

int bus_check(const char *device, const char *option)
{
	struct bus bus;

	if (bus_read(device, &bus))
		return complain("%s needs softcx(1), which counts what it is asked for", option);
	if (bus_value(&bus, "mmio") < 0)
		return complain("%s: softcx sees no stores in its passive mode: use softcx run "
				"without --passive",
				option);
	return 0;
}
