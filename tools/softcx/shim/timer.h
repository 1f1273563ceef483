/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model's clock. Nothing traps while a requester waits for its peer's receive, so one thread
 * wakes up when the wait is over. It starts with the first wait, or when a peer can begin one, and
 * sleeps while nothing is due.
 */
#ifndef SOFTCX_TIMER_H
#define SOFTCX_TIMER_H

#include "../nic/hca.h"

#define TIMER_THREAD_NAME "softcx-timer" /* as ps -T and debuggers show it */

/*
 * To be called after anything that may have begun a wait; cheap when nothing is due. Also from the
 * trap's handler: a doorbell is a store of the program's own, outside of any library call that
 * starting a thread could interrupt.
 * Return: 0, or the -errno of starting the thread, after which waits end only at the next call of
 * the program's into the device.
 */
int timer_look(struct cx_hca *hca);

/* Ends the thread and waits for it; timer_look() may start another. Not from the trap's handler. */
void timer_stop(void);

/* A forked child has no thread. */
void timer_after_fork_child(void);

#endif
