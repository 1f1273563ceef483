/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamically connected transport: the connections of initiators (DCI). A DCI connects to the
 * target (DCT) that a request names, and first disconnects from the previous one. With streams it
 * has a connection for each stream, and each stream fails by itself.
 *
 * The model executes the requests of a queue in order, those of several streams too. A connection
 * ends after CX_DC_IDLE_NS without a request; no public source says when a ConnectX drops idle
 * ones.
 */
#ifndef SOFTCX_NIC_DC_H
#define SOFTCX_NIC_DC_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CX_DC_STREAMS_LOG2 = 5,
	CX_DC_ERRORED_LOG2 = 4,
	CX_DC_IDLE_NS = 1000000000,
	/* how long a refused initiator waits before it tries again; no public source says */
	CX_DC_CNAK_NS = 10000,
};

/* Counts: name, and what is counted. Key violations count for the target's process. */
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

/* This process's counts up to now. */
void cx_dc_read(struct cx_hca *hca, struct cx_dc_counts *counts);

/* -- for the model, under the lock -- */

struct cx_dc_stream {
	uint64_t used_ns;
	uint32_t dctn; /* the target that it is connected to; 0: none */
	uint16_t id;   /* the name of a stream is any number */
};

struct cx_dc_link {
	struct cx_dc_stream streams[1 << CX_DC_STREAMS_LOG2];
	uint16_t errored[1 << CX_DC_ERRORED_LOG2];
	uint8_t errored_count;
};

void cx_dc_count(struct cx_hca *hca, unsigned proc, enum cx_dc_kind kind);

/*
 * Whether the stream is connected, or the target's process has room for a connection; an idle one
 * makes room. After CNAK the initiator tries again without end, and uses up no retries; no public
 * source says when a ConnectX gives up.
 */
bool cx_dc_has_room(struct cx_hca *hca, const struct cx_qp *qp, uint16_t stream,
		    const struct cx_qp *dct);
void cx_dc_refuse(struct cx_hca *hca, const struct cx_qp *qp, struct cx_outcome *out);

/* A request of a DCI's stream goes to this target, which exists. */
void cx_dc_connect(struct cx_hca *hca, struct cx_qp *qp, uint16_t stream, const struct cx_qp *dct);

/* A request of a stream failed. False: the whole queue fails. */
bool cx_dc_fail_stream(struct cx_hca *hca, struct cx_qp *qp, uint16_t stream);
bool cx_dc_is_errored(const struct cx_qp *qp, uint16_t stream);
/* Resets a stream. False: it has not failed. */
bool cx_dc_reset_stream(struct cx_qp *qp, uint16_t stream);

#endif
