/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a message fits its connection: settings of the two ends must agree. The table in
 * softcx(1) has each disagreement, its effect, and the source. If no source says, the effect is the
 * mildest.
 */
#ifndef SOFTCX_NIC_FIT_H
#define SOFTCX_NIC_FIT_H

#include "message.h"

/*
 * Whether the responder executes the message. If not, the outcome has its verdict, and the trace
 * says why.
 */
bool cx_fits(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_qp *peer,
	     const struct cx_message *message, struct cx_outcome *out);

/*
 * Whether two keys are of one partition (IBTA 10.9.3): the low 15 bits are equal and not 0, and one
 * of the two is a full member.
 */
bool cx_shares_partition(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_qp *peer);

/* The message was acknowledged: both ends go on to the next PSN. */
void cx_fit_advance(struct cx_qp *qp, struct cx_qp *peer, const struct cx_message *message);

#endif
