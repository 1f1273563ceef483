/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes over the wire: a message from a requester to a responder, and what became of it.
 * Neither names the other side's memory; both sides walk over the bytes.
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
	uint64_t raddr; /* the memory that it names */
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
	CX_RNR,        /* asked to come again later */
	CX_CNAKED,     /* the same, for want of room for a connection */
	CX_DELAYED,    /* held back by a fault */
	CX_NAKED,      /* the responder refused */
	CX_LOCAL_ERROR /* the requester's own memory */
};

struct cx_outcome {
	enum cx_verdict verdict;
	uint8_t syndrome, vendor_syndrome;
	uint64_t wait_ns;
	uint64_t cqe_delay_ns; /* by a fault, that of an acknowledged request */
	/* The responder that goes into error, after the requester has, and its event; 0: none. */
	uint32_t fail_peer;
	uint32_t peer_event; /* enum ibv_event_type */
	/* What a READ or an atomic gives back. */
	struct cx_walk result;
	uint8_t operand[8];
};

/* The requester's own doing. */
static inline void cx_outcome_fail(struct cx_outcome *out, uint8_t syndrome, unsigned vendor)
{
	out->verdict = CX_LOCAL_ERROR;
	out->syndrome = syndrome;
	out->vendor_syndrome = (uint8_t)vendor;
}

/* A responder refuses: a reliable one says so and is in error, an unreliable one is silent. */
void cx_outcome_refuse(struct cx_outcome *out, const struct cx_qp *responder, uint8_t syndrome);

#endif
