/* SPDX-License-Identifier: BSD-2-Clause */
/* Interposed sigaction(), signal() and the mask calls, and how the program's handler is called. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "../os/raw.h"
#include "signals.h"

/*
 * What the program believes to be installed for SIGSEGV. A handler may run while another thread
 * changes it: the two slots take turns, and `current` says which one counts.
 */
static struct sigaction slots[2];
static atomic_uint current;
static atomic_bool taken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Another interposer may run before our constructor: each real function is found when needed. */
static void *find_real(_Atomic(void *) *cache, const char *name)
{
	void *real = atomic_load_explicit(cache, memory_order_acquire);

	if (!real) {
		real = dlsym(RTLD_NEXT, name);
		atomic_store_explicit(cache, real, memory_order_release);
	}
	return real;
}

static int real_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	static _Atomic(void *) cache;
	int (*real)(int, const struct sigaction *, struct sigaction *);

	*(void **)&real = find_real(&cache, "sigaction");
	return real(signal, action, old);
}

static void exchange(const struct sigaction *action, struct sigaction *old)
{
	unsigned now, next;

	pthread_mutex_lock(&lock);
	now = atomic_load(&current);
	next = !now;
	if (old)
		*old = slots[now];
	if (action) {
		slots[next] = *action;
		atomic_store(&current, next);
	}
	pthread_mutex_unlock(&lock);
}

int signals_take_segv(void (*handler)(int, siginfo_t *, void *))
{
	/*
	 * NODEFER: emulating an instruction may fault in its turn. Not ONSTACK: the model needs
	 * more stack than alternate ones have. The price: the program's own handler never learns of a
	 * stack overflow; the program dies of it all the same.
	 */
	struct sigaction ours = { .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART };
	struct sigaction theirs;
	sigset_t segv;

	ours.sa_sigaction = handler;
	sigemptyset(&ours.sa_mask);
	if (real_sigaction(SIGSEGV, &ours, &theirs))
		return -errno;
	exchange(&theirs, NULL);
	atomic_store(&taken, true);
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	pthread_sigmask(SIG_UNBLOCK, &segv, NULL);
	return 0;
}

/* ThreadSanitizer's sigaction() lets handlers run with every signal blocked, whatever their flags. */
void signals_open_faults(void)
{
#ifdef __SANITIZE_THREAD__
	sigset_t faults;

	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
#endif
}

void signals_die_of_segv(void)
{
	struct sigaction fatal = { .sa_handler = SIG_DFL };

	sigemptyset(&fatal.sa_mask);
	real_sigaction(SIGSEGV, &fatal, NULL);
}

/* A fault comes again by itself when the instruction does; a sent signal must be sent again. */
static void take_default(const siginfo_t *info)
{
	signals_die_of_segv();
	if (info->si_code <= 0)
		raw_raise(SIGSEGV);
}

void signals_pass_on(int signal, siginfo_t *info, void *ucontext)
{
	struct sigaction action = slots[atomic_load(&current)];

	if (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN) {
		if (info->si_code > 0) /* the kernel does not let a fault be ignored */
			take_default(info);
		return;
	}
	if (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL) {
		take_default(info);
		return;
	}
	if (action.sa_flags & SA_RESETHAND) {
		struct sigaction fatal = { .sa_handler = SIG_DFL };

		exchange(&fatal, NULL);
	}
	/* Returning from the signal restores the mask. SIGSEGV stays unblocked, for our own faults. */
	pthread_sigmask(SIG_BLOCK, &action.sa_mask, NULL);
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(signal, info, ucontext);
	else
		action.sa_handler(signal);
}

/* -- interposed -------------------------------------------------------------------------------- */

#define EXPORT __attribute__((visibility("default")))

EXPORT int sigaction(int signal, const struct sigaction *restrict action,
		     struct sigaction *restrict old)
{
	struct sigaction open;

	if (signal == SIGSEGV && atomic_load(&taken)) {
		exchange(action, old);
		return 0;
	}
	if (!action)
		return real_sigaction(signal, NULL, old);
	/* A handler that posts must not do so with SIGSEGV blocked. */
	open = *action;
	sigdelset(&open.sa_mask, SIGSEGV);
	return real_sigaction(signal, &open, old);
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
	/* The semantics of BSD, which are glibc's (signal(2)). */
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct sigaction old;

	sigemptyset(&action.sa_mask);
	if (sigaction(number, &action, &old))
		return SIG_ERR;
	return old.sa_handler;
}

/* The set without SIGSEGV, for the calls that would block it. */
static const sigset_t *keep_segv_open(int how, const sigset_t *set, sigset_t *copy)
{
	if (!set || how == SIG_UNBLOCK)
		return set;
	*copy = *set;
	sigdelset(copy, SIGSEGV);
	return copy;
}

EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	static _Atomic(void *) cache;
	int (*real)(int, const sigset_t *, sigset_t *);
	sigset_t copy;

	*(void **)&real = find_real(&cache, "pthread_sigmask");
	return real(how, keep_segv_open(how, set, &copy), old);
}

EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	static _Atomic(void *) cache;
	int (*real)(int, const sigset_t *, sigset_t *);
	sigset_t copy;

	*(void **)&real = find_real(&cache, "sigprocmask");
	return real(how, keep_segv_open(how, set, &copy), old);
}
