/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model's clock. Nothing traps while a requester waits for its peer's receive, so one thread
 * wakes up when the wait is over. It starts with the first wait, or when a peer can begin one, and
 * sleeps while nothing is due.
 */
#ifndef SOFTCX_TIMER_H
#define SOFTCX_TIMER_H

#include "../nic/hca.h"

#define TIMER_THREAD_NAME "softcx-timer" /* its name in ps -T and debuggers */

/*
 * Call it after anything that may have begun a wait; it is cheap if nothing is due. The trap's
 * handler may call it: a doorbell is a store of the program, so starting a thread interrupts no
 * library call.
 *
 * Returns 0, or the -errno of starting the thread. Then waits end only at the program's next call
 * into the device.
 */
int timer_look(struct cx_hca *hca);

/* Ends the thread and waits for that; timer_look() may start another. Not in the trap's handler. */
void timer_stop(void);

/* A forked child has no thread. */
void timer_after_fork_child(void);

#endif
