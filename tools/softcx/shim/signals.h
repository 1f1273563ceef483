/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGSEGV belongs to the trap, and the program must not notice: its own handler is remembered and
 * reached by every fault that is not a doorbell, and SIGSEGV never stays blocked.
 */
#ifndef SOFTCX_SIGNALS_H
#define SOFTCX_SIGNALS_H

#include <signal.h>

/* Takes SIGSEGV; what was installed becomes the program's handler. Return: 0 or -errno. */
int signals_take_segv(void (*handler)(int, siginfo_t *, void *));

/* First in the handler: the faults of what it does come to it, too. */
void signals_open_faults(void);

/*
 * Does what would have happened without the shim: calls the program's handler, or ends it by this
 * signal. For use in the handler only; returns when the program's handler does.
 */
void signals_pass_on(int signal, siginfo_t *info, void *ucontext);

/* The default action when the faulting instruction runs again, whatever the program installed. */
void signals_die_of_segv(void);

#endif
