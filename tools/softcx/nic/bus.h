/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transactions on the bus between processor and device, counted for each process: its stores into
 * UAR pages, and the device's reads and writes of its memory. A transaction counts for the process
 * whose memory it reaches, whichever process runs the model.
 *
 * Stores are facts. How a device reads is the model's choice; a ConnectX may do it differently:
 * - WQEs are read in requests of up to CX_FETCH_BB basic blocks, as far as they are published and
 * up to the end of the ring. What was read ahead is not read again, except by a retry.
 * - A WQE that came whole by BlueFlame is not read, if nothing in the queue was before it.
 * - The doorbell record of a send queue is read once for each doorbell; that of a receive queue
 * once for each message that needs a receive WQE. Records of CQs, and events, are not counted.
 * - Receive WQEs are read one at a time, a stride each.
 * - Payload is one request for each part of memory that a segment names or that an mkey stands for.
 * Real packets, and requests of a PCIe device, are smaller. Translations that a UMR points to are
 * payload, too; those of an mkey are in the device, and cost nothing.
 * - A CQE is one write of its whole size.
 */
#ifndef SOFTCX_NIC_BUS_H
#define SOFTCX_NIC_BUS_H

#include <stdint.h>

enum { CX_FETCH_BB = 8 };

/* Name, and what each counts. */
#define CX_BUS_KINDS(X)                                                                            \
	X(doorbell, "stores of 8 bytes that rang a send queue and copied nothing")                 \
	X(blueflame, "stores that copied a WQE into a register")                                   \
	X(arm, "stores that armed a CQ")                                                           \
	X(stray, "stores into UAR pages where there is no register")                               \
	X(wqe_fetch, "reads of send WQEs")                                                         \
	X(send_record_read, "reads of send doorbell records")                                      \
	X(recv_wqe_fetch, "reads of receive WQEs")                                                 \
	X(recv_record_read, "reads of receive doorbell records")                                   \
	X(payload_read, "reads of messages")                                                       \
	X(payload_write, "writes of messages")                                                     \
	X(cqe_write, "writes of CQEs")

enum cx_bus_kind {
#define CX_BUS_KIND(name, doc) CX_BUS_##name,
	CX_BUS_KINDS(CX_BUS_KIND)
#undef CX_BUS_KIND
		CX_BUS_KIND_COUNT,
	CX_BUS_MMIO_COUNT = CX_BUS_stray + 1, /* the kinds before are stores of the CPU */
};

/* Widths of stores in bytes; _OTHER: all other widths. */
enum cx_bus_width {
	CX_BUS_WIDTH_4,
	CX_BUS_WIDTH_8,
	CX_BUS_WIDTH_16,
	CX_BUS_WIDTH_32,
	CX_BUS_WIDTH_64,
	CX_BUS_WIDTH_OTHER,
	CX_BUS_WIDTHS,
};

struct cx_bus {
	struct {
		uint64_t requests, bytes;
	} kinds[CX_BUS_KIND_COUNT];
	uint64_t widths[CX_BUS_WIDTHS];
};

struct cx_hca;

/*
 * Counts a store as the processor made it, before cx_doorbell() has it, maybe together with its
 * neighbours. Takes no lock. Async-signal-safe.
 */
void cx_bus_store(struct cx_hca *hca, uint32_t uar_page, uint32_t offset, uint32_t size);

/* This process's counts up to now. */
void cx_bus_read(struct cx_hca *hca, struct cx_bus *bus);

/* -- for the model, under the lock -- */

/* Counts a request of the device to the memory of process `proc`. */
void cx_bus_count(struct cx_hca *hca, unsigned proc, enum cx_bus_kind kind, uint64_t bytes);
/* Takes back requests that were not necessary. */
void cx_bus_take_back(struct cx_hca *hca, unsigned proc, enum cx_bus_kind kind, uint64_t requests,
		      uint64_t bytes);

#endif
