/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: CQEs, and events that they are armed for. Under the lock. */
#ifndef SOFTCX_NIC_CQ_H
#define SOFTCX_NIC_CQ_H

#include "state.h"

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
	bool is_of_xrc_srq; /* then its CQEs name the SRQ by this: */
	uint32_t uidx;
	const void *inline_bytes; /* `byte_count` bytes go into the CQE; NULL: none */
};

/* Writes a CQE of `qp`. Returns 0; -EIO: the CQ is dead, perhaps by this very CQE. */
int cx_cq_complete(struct cx_hca *hca, uint32_t cqn, const struct cx_qp *qp,
		   const struct cx_completion *c);
/*
 * A process died while it wrote the CQE at the next index, or, if @is_counted, the one before.
 * True: the program can see the CQE, and has its event.
 */
bool cx_cq_finish(struct cx_hca *hca, struct cx_cq *cq, bool is_counted);
/* How many bytes of a message may be in a CQE. */
unsigned cx_cqe_inline_room(const struct cx_cq *cq);

void cx_cq_fail(struct cx_hca *hca, struct cx_cq *cq);
int cx_cq_move(struct cx_hca *hca, struct cx_cq *cq, const struct cx_cq_attr *attr);

int cx_cq_reset_arm(struct cx_hca *hca, struct cx_cq *cq);
void cx_cq_arm(struct cx_hca *hca, struct cx_cq *cq,
	       const void *word); /* a struct bsn_dbr_cq_arm */
void cx_cq_poll_arm(struct cx_hca *hca, struct cx_cq *cq);
void cx_cq_run_deadline(struct cx_hca *hca, struct cx_cq *cq); /* that of moderation has passed */

#endif
