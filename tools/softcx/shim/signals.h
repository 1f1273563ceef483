/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGSEGV belongs to the trap, SIGBUS to the model, and the program must not notice. Its own
 * handlers are remembered, and called for each fault that is not ours. SIGSEGV never stays blocked.
 */
#ifndef SOFTCX_SIGNALS_H
#define SOFTCX_SIGNALS_H

#include <signal.h>

/* Takes SIGSEGV or SIGBUS; the installed handler becomes the program's. Returns 0 or -errno. */
int signals_take(int signal, void (*handler)(int, siginfo_t *, void *));

/*
 * Unblocks SIGSEGV for this thread, which may have blocked it, or begun so, in ways that are not
 * interposed.
 */
void signals_open_segv(void);

/* First in the handler: faults of what it does come to it, too. */
void signals_open_faults(const void *ucontext);

/*
 * Does what would have happened without the shim: calls the program's handler, or ends the program
 * by this signal. Only for use in the handler. Returns when the program's handler does.
 */
void signals_pass_on(int signal, siginfo_t *info, void *ucontext);

/*
 * The default action happens when the faulting instruction runs again, whatever the program
 * installed.
 */
void signals_die_of(int signal);

#endif
