/* SPDX-License-Identifier: BSD-2-Clause */
/* Interposes sigaction(), signal() and functions of signal masks; calls the program's handlers. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

#include "../os/raw.h"
#include "signals.h"

/*
 * The handler that the program believes to be installed. Our handler may read it while another
 * thread changes it: the two slots take turns, and `current` says which one counts.
 */
static struct taken {
	struct sigaction slots[2];
	atomic_uint current;
	atomic_bool taken;
} segv, bus;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct taken *state_of(int signal)
{
	return signal == SIGSEGV ? &segv : signal == SIGBUS ? &bus : NULL;
}

/*
 * A program that blocks SIGSEGV, or whose handler of it runs, must be ended by its next fault. But
 * SIGSEGV itself stays open for doorbells. So in the kernel's mask another signal, which nobody
 * sends, stands for it. All that restores a mask (the return from a handler, siglongjmp()) restores
 * that, too.
 */
enum { STAND_IN = SIGSTKFLT };

static void move_member(sigset_t *set, int from, int to)
{
	if (sigismember(set, from))
		sigaddset(set, to);
	else
		sigdelset(set, to);
	sigdelset(set, from);
}

static void to_kernel(sigset_t *set)
{
	move_member(set, SIGSEGV, STAND_IN);
}

static void to_program(sigset_t *set)
{
	move_member(set, STAND_IN, SIGSEGV);
}

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

static void exchange(struct taken *state, const struct sigaction *action, struct sigaction *old)
{
	unsigned now, next;

	pthread_mutex_lock(&lock);
	now = atomic_load(&state->current);
	next = !now;
	if (old)
		*old = state->slots[now];
	if (action) {
		state->slots[next] = *action;
		atomic_store(&state->current, next);
	}
	pthread_mutex_unlock(&lock);
}

int signals_take(int signal, void (*handler)(int, siginfo_t *, void *))
{
	/*
	 * SA_NODEFER: emulating an instruction may fault, too. No SA_ONSTACK: the model needs more
	 * stack than alternate stacks have. So the program's own handler never learns of a stack
	 * overflow; the program dies of it all the same.
	 */
	struct sigaction ours = { .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART };
	struct taken *state = state_of(signal);
	struct sigaction theirs;

	ours.sa_sigaction = handler;
	sigemptyset(&ours.sa_mask);
	if (real_sigaction(signal, &ours, &theirs))
		return -errno;
	exchange(state, &theirs, NULL);
	atomic_store(&state->taken, true);
	if (signal == SIGSEGV)
		signals_open_segv();
	return 0;
}

void signals_open_segv(void)
{
	raw_unblock(SIGSEGV);
}

/* ThreadSanitizer's sigaction() runs handlers with every signal blocked, whatever their flags. */
void signals_open_faults(const void *ucontext)
{
#ifdef __SANITIZE_THREAD__
	const ucontext_t *at = ucontext;

	raw_unblock(SIGSEGV);
	raw_unblock(SIGBUS);
	if (!sigismember(&at->uc_sigmask, STAND_IN))
		raw_unblock(STAND_IN);
#else
	(void)ucontext;
#endif
}

void signals_die_of(int signal)
{
	struct sigaction fatal = { .sa_handler = SIG_DFL };

	sigemptyset(&fatal.sa_mask);
	real_sigaction(signal, &fatal, NULL);
}

/*
 * A fault comes again when the instruction runs again; a signal that was sent must be sent again.
 */
static void take_default(const siginfo_t *info)
{
	signals_die_of(info->si_signo);
	if (info->si_code <= 0)
		raw_raise(info->si_signo);
}

/* The kernel neither ignores a fault nor delays it. */
static bool is_fatal(const struct sigaction *action, const siginfo_t *info, const ucontext_t *at)
{
	const bool is_fault = info->si_code > 0;

	if (is_fault && info->si_signo == SIGSEGV && sigismember(&at->uc_sigmask, STAND_IN))
		return true;
	if (action->sa_flags & SA_SIGINFO)
		return false;
	return action->sa_handler == SIG_DFL || (action->sa_handler == SIG_IGN && is_fault);
}

/* The return from the signal restores the mask. */
static void block_for(const struct sigaction *action, int signal)
{
	sigset_t mask = action->sa_mask;

	if (!(action->sa_flags & SA_NODEFER))
		sigaddset(&mask, signal);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
}

void signals_pass_on(int signal, siginfo_t *info, void *ucontext)
{
	struct taken *state = state_of(signal);
	struct sigaction action = state->slots[atomic_load(&state->current)];

	if (is_fatal(&action, info, ucontext)) {
		take_default(info);
		return;
	}
	if (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN)
		return;
	if (action.sa_flags & SA_RESETHAND) {
		struct sigaction fatal = { .sa_handler = SIG_DFL };

		exchange(state, &fatal, NULL);
	}
	block_for(&action, signal);
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
	struct taken *state = state_of(signal);
	struct sigaction open;
	int err;

	if (state && atomic_load(&state->taken)) {
		exchange(state, action, old);
		return 0;
	}
	/* A handler that posts must not do it with SIGSEGV blocked. */
	if (action) {
		open = *action;
		to_kernel(&open.sa_mask);
	}
	err = real_sigaction(signal, action ? &open : NULL, old);
	if (!err && old)
		to_program(&old->sa_mask);
	return err;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
	/* BSD's semantics, which are glibc's (signal(2)). */
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct sigaction old;

	sigemptyset(&action.sa_mask);
	if (sigaction(number, &action, &old))
		return SIG_ERR;
	return old.sa_handler;
}

static int set_mask(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set,
		    sigset_t *old)
{
	sigset_t open;
	int err;

	if (set) {
		open = *set;
		to_kernel(&open);
	}
	err = real(how, set ? &open : NULL, old);
	if (!err && old)
		to_program(old);
	return err;
}

EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	static _Atomic(void *) cache;
	int (*real)(int, const sigset_t *, sigset_t *);

	*(void **)&real = find_real(&cache, "pthread_sigmask");
	return set_mask(real, how, set, old);
}

EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	static _Atomic(void *) cache;
	int (*real)(int, const sigset_t *, sigset_t *);

	*(void **)&real = find_real(&cache, "sigprocmask");
	return set_mask(real, how, set, old);
}

/* The mask that a thread begins with. */
EXPORT int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *set);
EXPORT int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *set)
{
	static _Atomic(void *) cache;
	int (*real)(pthread_attr_t *, const sigset_t *);
	sigset_t open;

	*(void **)&real = find_real(&cache, "pthread_attr_setsigmask_np");
	if (!set)
		return real(attr, NULL);
	open = *set;
	to_kernel(&open);
	return real(attr, &open);
}
