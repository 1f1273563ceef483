/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message from a requester to a responder, and its outcome. Neither side names the other's
 * memory; both walk over the bytes.
 */
#ifndef SOFTCX_NIC_MESSAGE_H
#define SOFTCX_NIC_MESSAGE_H

#include "bsn_decode.h"
#include "keys.h"
#include "state.h"

enum { CX_GRH_BYTES = sizeof(struct ibv_grh) };

struct cx_message {
	const struct bsn_wqe_op *op;
	uint64_t len;           /* of the payload, or of what a READ asks for */
	struct cx_walk payload; /* of SEND and WRITE */
	uint32_t imm;           /* or the key to invalidate */
	bool solicited;
	uint64_t raddr; /* the remote memory */
	uint32_t rkey;
	struct bsn_wqe_atomic atomic;

	uint32_t source_qpn;
	uint16_t stream; /* of a DCI */
	uint32_t srqn;   /* XRC: the receiver's shared receive queue */
	uint16_t slid;
	uint8_t sl;
	/* Of datagrams. */
	uint32_t qkey;
	uint8_t grh_kind; /* enum bsn_cqe_grh */
	uint8_t grh[CX_GRH_BYTES];
};

enum cx_verdict {
	CX_ACKED,
	CX_SILENCE,    /* nobody answered */
	CX_RNR,        /* RNR NAK: try again later */
	CX_CNAKED,     /* no room for a connection: try again later */
	CX_DELAYED,    /* delayed by a fault */
	CX_NAKED,      /* the responder refused */
	CX_LOCAL_ERROR /* the requester's own memory failed */
};

struct cx_outcome {
	enum cx_verdict verdict;
	uint8_t syndrome, vendor_syndrome;
	uint64_t wait_ns;
	uint64_t cqe_delay_ns; /* of an acknowledged request: by so much a fault delays its CQE */
	/* The responder fails after the requester has, with this event; 0: none. */
	uint32_t fail_peer;
	uint32_t peer_event; /* enum ibv_event_type */
	/* What a READ or an atomic returns. */
	struct cx_walk result;
	uint8_t operand[8];
};

/* The requester itself failed. */
static inline void cx_outcome_fail(struct cx_outcome *out, uint8_t syndrome, unsigned vendor)
{
	out->verdict = CX_LOCAL_ERROR;
	out->syndrome = syndrome;
	out->vendor_syndrome = (uint8_t)vendor;
}

/* A responder refuses: a reliable one says so and fails, an unreliable one is silent. */
void cx_outcome_refuse(struct cx_outcome *out, const struct cx_qp *responder, uint8_t syndrome);

#endif
