/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of /sys about the device whose text changes: its port, its counters, its bus. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../datasheet.h"
#include "../nic/bus.h"
#include "../nic/counters.h"
#include "../nic/dc.h"
#include "../nic/netdev.h"
#include "shim.h"

/* A passive device sees no stores, so it cannot say that there were none. */
static void print_stores(FILE *file, const struct cx_bus *bus)
{
	static const char *const widths[] = { "4", "8", "16", "32", "64", "other" };
	uint64_t stores = 0, bytes = 0;

	for (unsigned k = 0; k < CX_BUS_MMIO_COUNT; k++) {
		stores += bus->kinds[k].requests;
		bytes += bus->kinds[k].bytes;
	}
	fprintf(file, "mmio %" PRIu64 "\nmmio_bytes %" PRIu64 "\n", stores, bytes);
	for (unsigned w = 0; w < CX_BUS_WIDTHS; w++)
		fprintf(file, "mmio_width_%s %" PRIu64 "\n", widths[w], bus->widths[w]);
}

static void print_bus(FILE *file, const struct cx_bus *bus, bool sees_stores)
{
#define NAME_KIND(name, doc) #name,
	static const char *const names[] = { CX_BUS_KINDS(NAME_KIND) };
#undef NAME_KIND

	if (sees_stores)
		print_stores(file, bus);
	for (unsigned k = sees_stores ? 0 : CX_BUS_MMIO_COUNT; k < CX_BUS_KIND_COUNT; k++)
		fprintf(file, "%s %" PRIu64 "\n%s_bytes %" PRIu64 "\n", names[k],
			bus->kinds[k].requests, names[k], bus->kinds[k].bytes);
}

static void count_bus(struct cx_hca *hca, FILE *file)
{
	struct cx_bus bus;

	cx_bus_read(hca, &bus);
	print_bus(file, &bus, !cx_config(hca)->passive);
}

static void count_connections(struct cx_hca *hca, FILE *file)
{
#define NAME_KIND(name, doc) #name,
	static const char *const names[] = { CX_DC_KINDS(NAME_KIND) };
#undef NAME_KIND
	struct cx_dc_counts counts;

	cx_dc_read(hca, &counts);
	for (unsigned k = 0; k < CX_DC_KIND_COUNT; k++)
		fprintf(file, "%s %" PRIu64 "\n", names[k], counts.kinds[k]);
}

/* A fault plan may take the port down. */
static void tell_state(struct cx_hca *hca, FILE *file)
{
	fputs(cx_port_is_up(hca) ? "4: ACTIVE\n" : "1: DOWN\n", file);
}

static void tell_phys_state(struct cx_hca *hca, FILE *file)
{
	if (cx_port_is_up(hca))
		fprintf(file, "%d: LinkUp\n", CX_PHYS_LINK_UP);
	else
		fprintf(file, "%d: Disabled\n", CX_PHYS_DISABLED);
}

#define TELL_COUNTER(name, doc)                                                                    \
	static void tell_##name(struct cx_hca *hca, FILE *file)                                    \
	{                                                                                          \
		fprintf(file, "%" PRIu32 "\n", cx_counter_read(hca, CX_COUNTER_##name));           \
	}
CX_COUNTERS(TELL_COUNTER)
#undef TELL_COUNTER

/* In words of four bytes: IBA, PortCounters. */
static void tell_data(struct cx_hca *hca, FILE *file)
{
	fprintf(file, "%" PRIu64 "\n", cx_traffic_read(hca).bytes / 4);
}

static void tell_packets(struct cx_hca *hca, FILE *file)
{
	const struct cx_traffic traffic = cx_traffic_read(hca);

	fprintf(file, "%" PRIu64 "\n", traffic.unicast + traffic.multicast);
}

static void tell_unicast(struct cx_hca *hca, FILE *file)
{
	fprintf(file, "%" PRIu64 "\n", cx_traffic_read(hca).unicast);
}

static void tell_multicast(struct cx_hca *hca, FILE *file)
{
	fprintf(file, "%" PRIu64 "\n", cx_traffic_read(hca).multicast);
}

static const struct sysfs_told told[] = {
	{ "softcx_bus", count_bus },
	{ "dc_connects", count_connections },
	{ "ports/1/state", tell_state },
	{ "ports/1/phys_state", tell_phys_state },
	{ "ports/1/counters/port_xmit_data", tell_data },
	{ "ports/1/counters/port_rcv_data", tell_data },
	{ "ports/1/counters/port_xmit_packets", tell_packets },
	{ "ports/1/counters/port_rcv_packets", tell_packets },
	{ "ports/1/counters/unicast_xmit_packets", tell_unicast },
	{ "ports/1/counters/unicast_rcv_packets", tell_unicast },
	{ "ports/1/counters/multicast_xmit_packets", tell_multicast },
	{ "ports/1/counters/multicast_rcv_packets", tell_multicast },
#define COUNTER_TOLD(name, doc) { "ports/1/hw_counters/" #name, tell_##name },
	CX_COUNTERS(COUNTER_TOLD)
#undef COUNTER_TOLD
};

const struct sysfs_told *sysfs_find_told(const char *name)
{
	for (unsigned i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (!strcmp(name, told[i].name))
			return &told[i];
	return NULL;
}
