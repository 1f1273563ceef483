/* SPDX-License-Identifier: BSD-2-Clause */
/* Deadlines: retries of queue pairs, and events of moderated CQs. Under the lock. */
#ifndef SOFTCX_NIC_DEADLINE_H
#define SOFTCX_NIC_DEADLINE_H

#include "state.h"

/* Sets a deadline, relative to now, of an object of that process, which wakes up for it. */
void cx_set_deadline(struct cx_hca *hca, unsigned owner, uint64_t *deadline_ns, uint64_t ns);

#endif
