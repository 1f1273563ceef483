/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wire between requester and responder. The fabric is one port: each queue pair is reached by
 * the LID or a GID of that port, and a QPN. A message goes over whole and at once, so packets and
 * acknowledgements are not modelled. What they can end in is, and their PSNs are counted (fit.c).
 */
#ifndef SOFTCX_NIC_WIRE_H
#define SOFTCX_NIC_WIRE_H

#include "message.h"

/* Sends a message over the queue pair's connection. The responder has acted when it returns. */
void cx_wire_send(struct cx_hca *hca, struct cx_qp *qp, const struct cx_message *message,
		  struct cx_outcome *out);
/* The same for a DCI, to the target that the WQE names. */
void cx_wire_send_dc(struct cx_hca *hca, struct cx_qp *qp, const struct cx_message *message,
		     const struct bsn_av_dc_grh *to, struct cx_outcome *out);
/* The same for a datagram to an address; adds the headers of the network. */
void cx_wire_send_datagram(struct cx_hca *hca, struct cx_message *message,
			   const struct bsn_av_ud_grh *to, struct cx_outcome *out);

#endif
