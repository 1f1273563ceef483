/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the rooms of the running HCA call each other, from the send queue to the CQE. As in state.h:
 * under the lock, no allocation, no stdio.
 */
#ifndef SOFTCX_NIC_TRANSPORT_H
#define SOFTCX_NIC_TRANSPORT_H

#include "bsn_decode.h"
#include "state.h"

enum {
	CX_MAX_WQE_BYTES = (BSN_WQE_MAX_DS + 1) * BSN_DS_SIZE,
	CX_MAX_RECV_STRIDE = BSN_RECV_MAX_DATA * BSN_DS_SIZE,
	CX_MAX_ITEMS = BSN_RECV_MAX_DATA,
};

/* Pieces of memory whose keys were checked, in the order of the message. */
struct cx_list {
	unsigned count;
	struct {
		struct cx_span at;
		uint64_t len;
	} items[CX_MAX_ITEMS];
};

/* A receive WQE at the head of a queue. */
struct cx_recv {
	struct bsn_recv_wqe wqe;
	uint16_t index;
};

/* What the model works on; one a process, under the lock, to be easy on the poster's stack. */
struct cx_scratch {
	uint8_t bytes[CX_MAX_WQE_BYTES];
	uint8_t recv_bytes[CX_MAX_RECV_STRIDE];
	struct bsn_wqe wqe;
	struct cx_recv recv;
	struct cx_list from, to;
};

/* -- complete.c: CQEs and events -- */
struct cx_completion {
	uint8_t opcode; /* enum bsn_cqe_opcode */
	uint8_t syndrome, vendor_syndrome;
	uint8_t wqe_opcode;
	bool solicited;
	uint8_t grh;
	uint8_t sl;
	uint16_t slid;
	uint16_t wqe_counter;
	uint32_t byte_count;
	uint32_t imm;
	uint32_t rqpn;
	const void *inline_bytes; /* `byte_count` of them go into the CQE; NULL: none */
};

void cx_complete(struct cx_hca *hca, struct cx_qp *qp, uint32_t cqn, const struct cx_completion *c);
void cx_cq_fail(struct cx_hca *hca, struct cx_cq *cq);
int cx_cq_reset_arm(struct cx_hca *hca, struct cx_cq *cq);
int cx_cq_move(struct cx_hca *hca, struct cx_cq *cq, const struct cx_cq_attr *attr);
void cx_cq_arm(struct cx_hca *hca, struct cx_cq *cq,
	       const void *word); /* a struct bsn_dbr_cq_arm */
void cx_cq_poll_arm(struct cx_hca *hca, struct cx_cq *cq);
unsigned cx_cqe_inline_room(const struct cx_hca *hca, const struct cx_cq *cq);

void cx_event_completion(struct cx_hca *hca, const struct cx_cq *cq);
void cx_event_async(struct cx_hca *hca, uint32_t channel, uint64_t cookie,
		    enum ibv_event_type type);
void cx_event_device(struct cx_hca *hca, enum ibv_event_type type); /* to every process */
void cx_event_end(struct cx_hca *hca);                              /* no event will come */

static inline void cx_event_qp(struct cx_hca *hca, const struct cx_qp *qp, enum ibv_event_type type)
{
	cx_event_async(hca, qp->attr.async_channel, qp->attr.cookie, type);
}

/* -- receive.c -- */
int cx_recv_peek(struct cx_hca *hca, struct cx_qp *qp, struct cx_recv *recv); /* -EAGAIN: none */
void cx_recv_take(struct cx_hca *hca, struct cx_qp *qp, const struct cx_recv *recv);
void cx_recv_flush(struct cx_hca *hca, struct cx_qp *qp);
void cx_srq_check_limit(struct cx_hca *hca, struct cx_srq *srq);

/* -- transport.c -- */
enum cx_verdict {
	CX_ACKED,
	CX_SILENCE,    /* nobody answered */
	CX_RNR,        /* asked to come again later */
	CX_DELAYED,    /* held back by a fault */
	CX_NAKED,      /* the responder refused */
	CX_LOCAL_ERROR /* the requester's own memory */
};

struct cx_outcome {
	enum cx_verdict verdict;
	uint8_t syndrome, vendor_syndrome;
	bool in_cqe; /* the result of a READ or an atomic goes there: it is in `bytes` */
	uint32_t
		fail_peer; /* the responder that goes into error, after the requester has; 0: none */
	uint32_t peer_event; /* enum ibv_event_type that it gets; 0: none */
	uint64_t wait_ns;
	uint32_t byte_count; /* that a READ or an atomic delivered */
	uint8_t bytes[BSN_CQE_SIZE];
};

void cx_transport_send(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		       struct cx_outcome *outcome);

/* -- qp.c -- */
void cx_qp_fail(struct cx_hca *hca, struct cx_qp *qp, uint8_t flush_vendor);
void cx_qp_flush(struct cx_hca *hca, struct cx_qp *qp);

/* -- sq.c -- */
bool cx_sq_publish(struct cx_hca *hca, struct cx_qp *qp); /* reads the record; false: unreadable */
int cx_sq_fetch(struct cx_hca *hca, struct cx_qp *qp, uint16_t index, void *dst, size_t offset,
		size_t len);
void cx_sq_set_deadline(struct cx_hca *hca, struct cx_qp *qp, uint64_t ns); /* from now */
unsigned cx_sq_run(struct cx_hca *hca, struct cx_qp *qp, unsigned max_wqes);
void cx_sq_flush(struct cx_hca *hca, struct cx_qp *qp);

#endif
