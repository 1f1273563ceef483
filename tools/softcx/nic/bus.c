/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts bus transactions. */
#include "bus.h"

#include <string.h>

#include "bsn_db.h"
#include "process.h"

/* Several threads may store at once, each into its own register. */
static void add_store(struct cx_bus *bus, enum cx_bus_kind kind, uint64_t requests, uint64_t bytes)
{
	__atomic_fetch_add(&bus->kinds[kind].requests, requests, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bus->kinds[kind].bytes, bytes, __ATOMIC_RELAXED);
}

static enum cx_bus_width width_of(uint32_t size)
{
	switch (size) {
	case 4:
		return CX_BUS_WIDTH_4;
	case 8:
		return CX_BUS_WIDTH_8;
	case 16:
		return CX_BUS_WIDTH_16;
	case 32:
		return CX_BUS_WIDTH_32;
	case 64:
		return CX_BUS_WIDTH_64;
	default:
		return CX_BUS_WIDTH_OTHER;
	}
}

/*
 * Eight bytes at the start of a buffer are a doorbell, unless a store to the next bytes shows that
 * they began a copy.
 */
static void count_send_store(struct cx_bus *bus, struct cx_blueflame *buffer, uint32_t at,
			     uint32_t size)
{
	const bool rings = !at && size == BSN_SQ_DOORBELL_SIZE;

	if (at && buffer->may_begin_copy) {
		add_store(bus, CX_BUS_doorbell, -1ull, -(uint64_t)BSN_SQ_DOORBELL_SIZE);
		add_store(bus, CX_BUS_blueflame, 1, BSN_SQ_DOORBELL_SIZE);
	}
	buffer->may_begin_copy = rings;
	add_store(bus, rings ? CX_BUS_doorbell : CX_BUS_blueflame, 1, size);
}

void cx_bus_store(struct cx_hca *hca, uint32_t page, uint32_t offset, uint32_t size)
{
	const unsigned self = __atomic_load_n(&hca->self, __ATOMIC_RELAXED);
	const uint32_t at = offset - BSN_UAR_BF_OFFSET;
	struct cx_bus *bus;

	if (self >= CX_PROCS || page >= CX_UAR_PAGES)
		return;
	bus = &hca->shared->bus[self];
	__atomic_fetch_add(&bus->widths[width_of(size)], 1, __ATOMIC_RELAXED);
	if (offset >= BSN_UAR_BF_OFFSET && at / BSN_BF_BUFFER_BYTES < CX_BF_PER_UAR)
		count_send_store(bus, &hca->blueflame[page][at / BSN_BF_BUFFER_BYTES],
				 at % BSN_BF_BUFFER_BYTES, size);
	else
		add_store(bus, offset == BSN_UAR_CQ_ARM_OFFSET ? CX_BUS_arm : CX_BUS_stray, 1,
			  size);
}

void cx_bus_count(struct cx_hca *hca, unsigned proc, enum cx_bus_kind kind, uint64_t bytes)
{
	hca->shared->bus[proc].kinds[kind].requests++;
	hca->shared->bus[proc].kinds[kind].bytes += bytes;
}

void cx_bus_take_back(struct cx_hca *hca, unsigned proc, enum cx_bus_kind kind, uint64_t requests,
		      uint64_t bytes)
{
	hca->shared->bus[proc].kinds[kind].requests -= requests;
	hca->shared->bus[proc].kinds[kind].bytes -= bytes;
}

void cx_bus_read(struct cx_hca *hca, struct cx_bus *bus)
{
	memset(bus, 0, sizeof(*bus));
	cx_lock(hca);
	if (hca->self < CX_PROCS)
		*bus = hca->shared->bus[hca->self];
	cx_unlock(hca);
}
