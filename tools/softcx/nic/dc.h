/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamically connected transport: whom an initiator (DCI) is connected to. It connects to the
 * target (DCT) that a request names, and disconnects from the one before. With streams it has a
 * connection for each stream, and each stream fails by itself.
 *
 * The model executes a queue's requests one after the other, those of several streams too. After
 * CX_DC_IDLE_NS without a request a connection is gone; a ConnectX drops idle connections after a
 * time that no public source tells.
 */
#ifndef SOFTCX_NIC_DC_H
#define SOFTCX_NIC_DC_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CX_DC_STREAMS_LOG2 = 5,
	CX_DC_ERRORED_LOG2 = 4,
	CX_DC_IDLE_NS = 1000000000,
	/* an initiator that was refused comes again after so long; no public source tells */
	CX_DC_CNAK_NS = 10000,
};

/* What is counted: name, and of what. Key violations count for the target's process. */
#define CX_DC_KINDS(X)                                                                             \
	X(connect, "connections made, reconnections included")                                     \
	X(reconnect, "of those, to the target of a connection that was idle for too long")         \
	X(full_handshake, "of those, by a full handshake")                                         \
	X(cnak, "connections that a target had no room for")                                       \
	X(disconnect, "connections left for another target")                                       \
	X(idle_disconnect, "connections that were idle for too long")                              \
	X(key_violation, "requests refused for their access key")

enum cx_dc_kind {
#define CX_DC_KIND(name, doc) CX_DC_##name,
	CX_DC_KINDS(CX_DC_KIND)
#undef CX_DC_KIND
		CX_DC_KIND_COUNT
};

struct cx_dc_counts {
	uint64_t kinds[CX_DC_KIND_COUNT];
};

struct cx_hca;
struct cx_outcome;
struct cx_qp;

/* What was counted for this process so far. */
void cx_dc_read(struct cx_hca *hca, struct cx_dc_counts *counts);

/* -- for the model, under the lock -- */

struct cx_dc_stream {
	uint64_t used_ns;
	uint32_t dctn; /* that it is connected to; 0: none */
	uint16_t id;   /* a stream's name is any number */
};

struct cx_dc_link {
	struct cx_dc_stream streams[1 << CX_DC_STREAMS_LOG2];
	uint16_t errored[1 << CX_DC_ERRORED_LOG2];
	uint8_t errored_count;
};

void cx_dc_count(struct cx_hca *hca, unsigned proc, enum cx_dc_kind kind);

/*
 * Whether the stream is connected, or the targets of that process have room for its connection: an
 * idle one makes room. With CNAK the initiator comes again, without end and without using up
 * retries; no public source tells when a ConnectX gives up.
 */
bool cx_dc_has_room(struct cx_hca *hca, const struct cx_qp *qp, uint16_t stream,
		    const struct cx_qp *dct);
void cx_dc_refuse(struct cx_hca *hca, const struct cx_qp *qp, struct cx_outcome *out);

/* A request of a DCI's stream goes to this target, which exists. */
void cx_dc_connect(struct cx_hca *hca, struct cx_qp *qp, uint16_t stream, const struct cx_qp *dct);

/* A request of a stream failed. False: that is an error of the whole queue. */
bool cx_dc_fail_stream(struct cx_hca *hca, struct cx_qp *qp, uint16_t stream);
bool cx_dc_is_errored(const struct cx_qp *qp, uint16_t stream);
/* False: the stream is not in error. */
bool cx_dc_reset_stream(struct cx_qp *qp, uint16_t stream);

#endif
