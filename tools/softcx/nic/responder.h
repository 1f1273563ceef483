/* SPDX-License-Identifier: BSD-2-Clause */
/* How a queue pair handles a message that arrives. */
#ifndef SOFTCX_NIC_RESPONDER_H
#define SOFTCX_NIC_RESPONDER_H

#include "message.h"

void cx_respond(struct cx_hca *hca, struct cx_qp *qp, const struct cx_message *message,
		struct cx_outcome *out);

#endif
