/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue as a ring in the program's memory. Under the lock. */
#ifndef SOFTCX_NIC_SQ_H
#define SOFTCX_NIC_SQ_H

#include "bsn_decode.h"
#include "state.h"

/* Reads the record, which says how far WQEs are published. False: unreadable, or wrong. */
bool cx_sq_publish(struct cx_hca *hca, struct cx_qp *qp);
/*
 * The bytes of the WQE at basic block `index`, in one piece, even if the ring wraps. Returns 0 or
 * -EFAULT.
 */
int cx_sq_read(struct cx_hca *hca, struct cx_qp *qp, uint16_t index, void *dst, size_t offset,
	       size_t len);
/* Counts what the device reads for so many blocks from the head on. */
void cx_sq_count_fetch(struct cx_hca *hca, struct cx_qp *qp, uint16_t count_bb);
/*
 * The WQE at `index`, of so many blocks, was copied into a BlueFlame buffer: it need not be read.
 */
void cx_sq_came_whole(struct cx_hca *hca, struct cx_qp *qp, uint16_t index, uint16_t count_bb);
/* The blocks of a WQE as the device counts them: at least one. */
uint16_t cx_sq_count_bb(uint32_t ds);

/* The WQE at the head is done. */
void cx_sq_advance(struct cx_qp *qp, uint32_t ds);
/* Writes its error CQE, if it gets one. Returns 0; -EIO: the CQ is dead. */
int cx_sq_complete_error(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_ctrl *ctrl,
			 uint8_t syndrome, uint8_t vendor);
/* All that is published is done. */
void cx_sq_flush(struct cx_hca *hca, struct cx_qp *qp);

#endif
