/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of a device: its node, its link to the bus, its interrupts. */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE "sys/class/infiniband/%s/device/"
#define NODES  "sys/devices/system/node"

/* -- nodes ------------------------------------------------------------------------------------- */

static unsigned count_nodes(struct check *check)
{
	struct names names;
	unsigned count = 0, node;
	char rest;

	root_list(check->root, &names, NODES);
	for (unsigned i = 0; i < names.count; i++)
		count += sscanf(names.list[i], "node%u%c", &node, &rest) == 1;
	names_free(&names);
	return count;
}

void check_numa(struct check *check)
{
	const int node = device_node(check);
	char list[256], near[ROOT_TEXT];
	struct cpus allowed, local;
	char mend[ROOT_TEXT + 96];
	int length;

	if (node < 0 && count_nodes(check) > 1) {
		found(check, STATUS_NOTE, NULL, "the firmware does not say which node it is at");
		return;
	}
	if (node < 0) {
		found(check, STATUS_OK, NULL, "all memory and CPUs are at one node");
		return;
	}
	length = root_read(check->root, near, sizeof(near), NODES "/node%d/cpulist", node);
	if (length < 0 || !cpus_parse(&local, near) ||
	    !allowed_cpus(check, &allowed, list, sizeof(list))) {
		skip_file(check, length < 0 ? length : 0, "cpulist of the node, or allowed CPUs");
		return;
	}
	snprintf(mend, sizeof(mend), "taskset -c %s, or numactl --cpunodebind=%d --membind=%d",
		 near, node, node);
	if (!cpus_meet(&allowed, &local))
		found(check, STATUS_WRONG, mend,
		      "it is at node %d, but none of the CPUs there (%s) is allowed (%s)", node,
		      near, list);
	else if (!cpus_are_within(&allowed, &local))
		found(check, STATUS_NOTE, mend,
		      "it is at node %d (CPUs %s); some of the allowed CPUs (%s) are at others",
		      node, near, list);
	else
		found(check, STATUS_OK, NULL, "it is at node %d, and so are all allowed CPUs (%s)",
		      node, list);
}

/* -- hugepages --------------------------------------------------------------------------------- */

/* Bytes of the hugepages of all sizes in @folder, and of the free ones. */
static void count_hugepages(struct check *check, const char *folder, uint64_t *all,
			    uint64_t *unused)
{
	struct names sizes;
	uint64_t pages, kib;

	root_list(check->root, &sizes, "%s", folder);
	for (unsigned i = 0; i < sizes.count; i++) {
		if (sscanf(sizes.list[i], "hugepages-%" SCNu64 "kB", &kib) != 1)
			continue;
		if (root_number(check->root, &pages, "%s/%s/nr_hugepages", folder, sizes.list[i]))
			*all += pages * kib << 10;
		if (root_number(check->root, &pages, "%s/%s/free_hugepages", folder, sizes.list[i]))
			*unused += pages * kib << 10;
	}
	names_free(&sizes);
}

void check_hugepages(struct check *check)
{
	const int node = device_node(check);
	uint64_t near = 0, near_free = 0, all = 0, all_free = 0;
	char folder[64], mend[160], where[24] = "this host";

	count_hugepages(check, "sys/kernel/mm/hugepages", &all, &all_free);
	if (node < 0) {
		near = all;
		near_free = all_free;
	} else {
		snprintf(folder, sizeof(folder), NODES "/node%d/hugepages", node);
		count_hugepages(check, folder, &near, &near_free);
		snprintf(where, sizeof(where), "node %d", node);
	}
	snprintf(mend, sizeof(mend),
		 "echo 512 >/sys/devices/system/node/node%d/hugepages/"
		 "hugepages-2048kB/nr_hugepages (1 GiB)",
		 node < 0 ? 0 : node);
	if (near)
		found(check, STATUS_OK, NULL,
		      "%" PRIu64 " MiB of hugepages at %s, %" PRIu64 " free", near >> 20, where,
		      near_free >> 20);
	else if (all)
		found(check, STATUS_WRONG, mend,
		      "the %" PRIu64 " MiB of hugepages are not at the device's node, %d",
		      all >> 20, node);
	else
		found(check, STATUS_WRONG, mend,
		      "no hugepages at %s: buffers take a translation for each 4 KiB", where);
}

/* -- the link to the bus ----------------------------------------------------------------------- */

/* Lanes and GT/s of the link: @which is "current" or "max". */
static bool read_link(struct check *check, const char *which, unsigned *width, double *speed)
{
	char text[32];
	uint64_t lanes;

	if (!root_number(check->root, &lanes, DEVICE "%s_link_width", check->device, which) ||
	    root_read(check->root, text, sizeof(text), DEVICE "%s_link_speed", check->device,
		      which) <= 0)
		return false;
	*width = (unsigned)lanes;
	*speed = strtod(text, NULL);
	return lanes && lanes <= 32 && *speed > 0 && *speed < 1000;
}

void check_pcie_link(struct check *check)
{
	unsigned width, most_width;
	double speed, most_speed;

	if (!read_link(check, "current", &width, &speed) ||
	    !read_link(check, "max", &most_width, &most_speed)) {
		found(check, STATUS_SKIPPED, NULL,
		      "the kernel does not say; is it a virtual function?");
		return;
	}
	if (width < most_width || speed < most_speed)
		found(check, STATUS_WRONG,
		      "seat the card in a slot of that width and generation, and look at its riser "
		      "and the BIOS",
		      "x%u at %g GT/s, but the device can have x%u at %g GT/s", width, speed,
		      most_width, most_speed);
	else
		found(check, STATUS_OK, NULL, "x%u at %g GT/s, the most that the device can have",
		      width, speed);
}

/* By the formula of the cited page: line code, and 1 Gb/s for all else. */
static double bus_rate(unsigned width, double speed)
{
	return speed * width * (speed < 8 ? 8.0 / 10 : 128.0 / 130) - 1;
}

double port_rate(struct check *check, unsigned port)
{
	char text[64];

	if (root_read(check->root, text, sizeof(text), "sys/class/infiniband/%s/ports/%u/rate",
		      check->device, port) <= 0)
		return 0;
	return strtod(text, NULL);
}

void check_pcie_rate(struct check *check)
{
	double speed, rate = 0, bus;
	unsigned width;

	for (unsigned port = 1; port <= 2; port++)
		if (port_rate(check, port) > rate)
			rate = port_rate(check, port);
	if (!read_link(check, "current", &width, &speed) || rate <= 0) {
		found(check, STATUS_SKIPPED, NULL, "the rate of the bus or of the port is unknown");
		return;
	}
	bus = bus_rate(width, speed);
	if (bus < rate)
		found(check, STATUS_WRONG, "use a slot with more lanes, or of a newer generation",
		      "the bus carries %.0f Gb/s, the port %.0f", bus, rate);
	else
		found(check, STATUS_OK, NULL, "the bus carries %.0f Gb/s, the port %.0f", bus,
		      rate);
}

/* -- configuration space ----------------------------------------------------------------------- */

enum {
	PCI_STATUS = 0x06,
	PCI_STATUS_HAS_LIST = 0x10,
	PCI_FIRST = 0x34,
	PCI_HEADER = 64, /* without root one sees no more */
	PCI_SPACE = 256,
	PCI_CAPABILITY_EXPRESS = 0x10,
	EXPRESS_CONTROL = 8,
	CONTROL_RELAXED = 1 << 4,
	CONTROL_READ_SHIFT = 12,
};

static unsigned get_le16(const uint8_t *bytes)
{
	return bytes[0] | (unsigned)bytes[1] << 8;
}

/* Reads the Device Control register. False: a finding says why not. */
static bool read_control(struct check *check, unsigned *control)
{
	uint8_t space[PCI_SPACE] = { 0 };
	const int length =
		root_bytes(check->root, space, sizeof(space), DEVICE "config", check->device);
	unsigned at = space[PCI_FIRST] & 0xfc;

	if (length < PCI_HEADER) {
		skip_file(check, length < 0 ? length : 0, "config");
		return false;
	}
	if (length == PCI_HEADER) {
		found(check, STATUS_SKIPPED, NULL, "config, beyond its first 64 bytes: needs root");
		return false;
	}
	if (space[PCI_STATUS] & PCI_STATUS_HAS_LIST)
		for (unsigned i = 0; i < PCI_SPACE / 4 && at >= PCI_HEADER; i++) {
			if (space[at] == PCI_CAPABILITY_EXPRESS &&
			    at + EXPRESS_CONTROL + 2 <= (unsigned)length) {
				*control = get_le16(space + at + EXPRESS_CONTROL);
				return true;
			}
			at = space[at + 1] & 0xfc;
		}
	found(check, STATUS_SKIPPED, NULL, "no PCI Express capability");
	return false;
}

void check_read_request(struct check *check)
{
	enum { LEAST = 1024 };
	unsigned control, bytes;

	if (!read_control(check, &control))
		return;
	bytes = 128u << (control >> CONTROL_READ_SHIFT & 7);
	if (bytes < LEAST)
		found(check, STATUS_WRONG,
		      "setpci -s SLOT CAP_EXP+8.w=3000:7000 (1024 B), at each boot",
		      "the device reads at most %u B at once", bytes);
	else
		found(check, STATUS_OK, NULL, "the device reads up to %u B at once", bytes);
}

void check_relaxed_ordering(struct check *check)
{
	unsigned control;

	if (!read_control(check, &control))
		return;
	if (control & CONTROL_RELAXED)
		found(check, STATUS_OK, NULL, "allowed: IBV_ACCESS_RELAXED_ORDERING has an effect");
	else
		found(check, STATUS_WRONG, "setpci -s SLOT CAP_EXP+8.w=10:10, or the BIOS",
		      "forbidden: IBV_ACCESS_RELAXED_ORDERING has no effect");
}

/* -- interrupts -------------------------------------------------------------------------------- */

/* The CPU that an interrupt goes to; if that is unknown, those that it may go to. */
static bool read_irq(struct check *check, const char *irq, struct cpus *cpus)
{
	char text[ROOT_TEXT];

	if (root_read(check->root, text, sizeof(text), "proc/irq/%s/effective_affinity_list",
		      irq) <= 0 &&
	    root_read(check->root, text, sizeof(text), "proc/irq/%s/smp_affinity_list", irq) <= 0)
		return false;
	return cpus_parse(cpus, text);
}

void check_irqs(struct check *check)
{
	const int node = device_node(check);
	unsigned seen = 0, far = 0;
	struct cpus local, cpus;
	char near[ROOT_TEXT], mend[96];
	struct names irqs;

	root_list(check->root, &irqs, DEVICE "msi_irqs", check->device);
	if (node < 0 || !irqs.count ||
	    root_read(check->root, near, sizeof(near), NODES "/node%d/cpulist", node) < 0 ||
	    !cpus_parse(&local, near)) {
		found(check, STATUS_SKIPPED, NULL, "%s",
		      irqs.count ? "the device's node is unknown" : "the device has no MSI-X");
		names_free(&irqs);
		return;
	}
	for (unsigned i = 0; i < irqs.count; i++)
		if (read_irq(check, irqs.list[i], &cpus)) {
			seen++;
			far += !cpus_meet(&cpus, &local);
		}
	snprintf(mend, sizeof(mend),
		 "set_irq_affinity_bynode.sh %d DEV (mlnx-tools); stop irqbalance", node);
	if (!seen)
		found(check, STATUS_SKIPPED, NULL, "/proc/irq does not say where they go");
	else if (far)
		found(check, STATUS_WRONG, mend,
		      "%u of its %u interrupts go to CPUs that are not at its node, %d", far, seen,
		      node);
	else
		found(check, STATUS_OK, NULL, "its %u interrupts go to CPUs at its node, %d", seen,
		      node);
	names_free(&irqs);
}
