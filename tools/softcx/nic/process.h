/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of a fabric: their slots, whether they live, and the lock between them. */
#ifndef SOFTCX_NIC_PROCESS_H
#define SOFTCX_NIC_PROCESS_H

#include "state.h"

void cx_lock(struct cx_hca *hca);
void cx_unlock(struct cx_hca *hca);
/* For an exit that may come while this very thread is inside the model; false: it gave up. */
bool cx_lock_within_a_second(struct cx_hca *hca);
/* The lock, for a command that creates: a forked child takes a slot when it first does. */
void cx_lock_to_create(struct cx_hca *hca);

bool cx_proc_alive(struct cx_hca *hca, unsigned slot); /* async-signal-safe, and without the lock */
int cx_proc_claim(struct cx_hca *hca);    /* a slot: 0, -EUSERS when all are taken, or -errno */
void cx_proc_release(struct cx_hca *hca); /* and all that this process owns */
void cx_sweep_dead(struct cx_hca *hca);   /* and all they owned */

#endif
