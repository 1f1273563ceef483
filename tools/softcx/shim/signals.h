/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGSEGV belongs to the trap and SIGBUS to the model, and the program must not notice: its own
 * handlers are remembered and reached by every fault that is not ours, and SIGSEGV never stays
 * blocked.
 */
#ifndef SOFTCX_SIGNALS_H
#define SOFTCX_SIGNALS_H

#include <signal.h>

/*
 * Takes SIGSEGV or SIGBUS; what was installed becomes the program's handler. Return: 0 or -errno.
 */
int signals_take(int signal, void (*handler)(int, siginfo_t *, void *));

/* For this thread, which may have blocked it, or begun so, by ways that are not interposed. */
void signals_open_segv(void);

/* First in the handler: the faults of what it does come to it, too. */
void signals_open_faults(const void *ucontext);

/*
 * Does what would have happened without the shim: calls the program's handler, or ends it by this
 * signal. For use in the handler only; returns when the program's handler does.
 */
void signals_pass_on(int signal, siginfo_t *info, void *ucontext);

/* The default action when the faulting instruction runs again, whatever the program installed. */
void signals_die_of(int signal);

#endif
