/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of a fabric: their slots, whether they live, and the lock between them. */
#ifndef SOFTCX_NIC_PROCESS_H
#define SOFTCX_NIC_PROCESS_H

#include "state.h"

void cx_lock(struct cx_hca *hca);
void cx_unlock(struct cx_hca *hca);
/* For an exit that may come while this thread is in the model. False: the lock could not be had. */
bool cx_lock_within_a_second(struct cx_hca *hca);
/* Takes the lock for a command that creates; a forked child takes a slot with its first one. */
void cx_lock_to_create(struct cx_hca *hca);

bool cx_proc_alive(struct cx_hca *hca, unsigned slot); /* async-signal-safe, and without the lock */
int cx_proc_claim(struct cx_hca *hca);    /* 0, -EUSERS: all slots are taken, or -errno */
void cx_proc_release(struct cx_hca *hca); /* and destroys all that this process owns */
void cx_sweep_dead(struct cx_hca *hca);   /* and destroys all that they owned */

#endif
