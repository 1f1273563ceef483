/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a message fits the connection that it comes over: what the two ends were told has to
 * agree. The table in softcx(1) names each disagreement, what comes of it, and the source. What no
 * source tells has the mildest effect.
 */
#ifndef SOFTCX_NIC_FIT_H
#define SOFTCX_NIC_FIT_H

#include "message.h"

/*
 * Whether the responder executes the message; if not, the outcome has its verdict. The trace says
 * why.
 */
bool cx_fits(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_qp *peer,
	     const struct cx_message *message, struct cx_outcome *out);

/*
 * Whether the keys of two queue pairs make them members of one partition (IBTA 10.9.3): the low 15
 * bits are equal and not 0, and one of the two is a full member.
 */
bool cx_shares_partition(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_qp *peer);

/* The message is acknowledged: both ends go on to the next PSN. */
void cx_fit_advance(struct cx_qp *qp, struct cx_qp *peer, const struct cx_message *message);

#endif
