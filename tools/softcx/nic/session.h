/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions of compressed CQEs, if the CQ allows them and a fault plan asks for them. Under the
 * lock.
 */
#ifndef SOFTCX_NIC_SESSION_H
#define SOFTCX_NIC_SESSION_H

#include "state.h"

void cx_session_prepare(void); /* called before the first CQ that compresses */

/* True: the CQE, whole and not yet owned, has joined the CQ's session. */
bool cx_session_join(struct cx_cq *cq, const uint8_t *cqe);

/* True: it begins a session, of at most as many CQEs as the plan says. */
bool cx_session_begin(struct cx_hca *hca, struct cx_cq *cq, const uint8_t *cqe);

/*
 * The CQEs of which the session consists, each of BSN_CQE_SIZE bytes in @buf, @slot slots after the
 * CQ's next one. The title comes last, without its owner bit. Returns false after it.
 */
bool cx_session_next(const struct cx_cq *cq, unsigned *step, uint8_t *buf, unsigned *slot);

#endif
