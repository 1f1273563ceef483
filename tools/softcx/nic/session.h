/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions of compressed CQEs, where the CQ allows them and a fault plan wants them. Under the
 * lock.
 */
#ifndef SOFTCX_NIC_SESSION_H
#define SOFTCX_NIC_SESSION_H

#include "state.h"

void cx_session_prepare(void); /* before the first CQ that compresses */

/* True: the CQE, whole and not yet owned, has joined the session that the CQ has. */
bool cx_session_join(struct cx_cq *cq, const uint8_t *cqe);

/* True: it begins one, of as many CQEs at the most as the plan says. */
bool cx_session_begin(struct cx_hca *hca, struct cx_cq *cq, const uint8_t *cqe);

/*
 * The CQEs that the session is written as, @buf having BSN_CQE_SIZE bytes: @slot slots after the
 * CQ's next one. The title comes last, its owner not in it. Returns false after it.
 */
bool cx_session_next(const struct cx_cq *cq, unsigned *step, uint8_t *buf, unsigned *slot);

#endif
