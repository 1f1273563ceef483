/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies that survive what a program does to its memory. A ConnectX has registered pages pinned,
 * the model has not. If a page is gone, the request must fail, not the process. So copies within
 * the process run under a guard: the fault handler sees that the thread is in one, and jumps out of
 * it.
 */
#include "memory.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "../os/raw.h"
#include "process.h"
#include "text.h"

/* -- guarded copies ---------------------------------------------------------------------------- */

/* Initial-exec, so that the loader never allocates this from within a signal handler. */
static __thread jmp_buf *guard __attribute__((tls_model("initial-exec")));

/* The fabric's tables, whose pages are allocated when they are first used. */
static struct {
	uintptr_t start, end;
	const char *path;
} tables;

void cx_mem_name_tables(const void *start, size_t len, const char *path)
{
	tables.start = (uintptr_t)start;
	tables.end = tables.start + len;
	tables.path = path;
}

/* A signal is all that the kernel sends if there is no memory. */
static bool is_of_tables(const siginfo_t *info)
{
	const uintptr_t at = (uintptr_t)info->si_addr;

	return info->si_signo == SIGBUS && at >= tables.start && at < tables.end;
}

static void explain(void)
{
	struct cx_text text = { 0 };

	cx_text_format(
		&text,
		"softcx: the file system of the fabric's file %s is full: enlarge it (docker run "
		"--shm-size=1g), or name another folder in XDG_RUNTIME_DIR\n",
		tables.path);
	tables.end = 0; /* once */
	if (raw_write(STDERR_FILENO, text.buf, text.len) < 0)
		errno = 0; /* there is nothing else to try */
}

void cx_memory_fault(const siginfo_t *info)
{
	if (is_of_tables(info)) {
		explain();
		return;
	}
	if (!guard)
		return;
	/* The handler's signal mask would stay after the jump. */
	raw_unblock(SIGSEGV);
	raw_unblock(SIGBUS);
	longjmp(*guard, 1);
}

static struct sigaction previous_segv, previous_bus;

/* Blocks the signals that would be blocked if the kernel had called the program's handler. */
static void block_for(const struct sigaction *previous, int sig)
{
	sigset_t mask = previous->sa_mask;

	if (!(previous->sa_flags & SA_NODEFER))
		sigaddset(&mask, sig);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
}

static void handle_fault(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *previous = sig == SIGBUS ? &previous_bus : &previous_segv;
	const bool takes_info = previous->sa_flags & SA_SIGINFO;

	cx_memory_fault(info);
	if (!takes_info && (previous->sa_handler == SIG_DFL || previous->sa_handler == SIG_IGN)) {
		signal(sig, SIG_DFL); /* the instruction faults again, and ends the process */
		return;
	}
	block_for(previous, sig);
	if (takes_info)
		previous->sa_sigaction(sig, info, context);
	else
		previous->sa_handler(sig);
}

int cx_mem_guard(void)
{
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	static bool done;
	struct sigaction action = { .sa_sigaction = handle_fault,
				    .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
	int err = 0;

	pthread_mutex_lock(&once);
	if (!done) {
		sigemptyset(&action.sa_mask);
		if (sigaction(SIGSEGV, &action, &previous_segv) ||
		    sigaction(SIGBUS, &action, &previous_bus))
			err = -errno;
		done = !err;
	}
	pthread_mutex_unlock(&once);
	return err;
}

/* Not inlined, so that nothing moves across the guard, which a fault reads. */
static __attribute__((noinline)) int copy_guarded(void *dst, const void *src, size_t len)
{
	jmp_buf env;

	if (_setjmp(env)) {
		guard = NULL;
		return -EFAULT;
	}
	guard = &env;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memcpy(dst, src, len);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	guard = NULL;
	return 0;
}

static __attribute__((noinline)) int publish_guarded(uint8_t *dst, const uint8_t *src, size_t len)
{
	jmp_buf env;

	if (_setjmp(env)) {
		guard = NULL;
		return -EFAULT;
	}
	guard = &env;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memcpy(dst, src, len - 1);
	__atomic_store_n(dst + len - 1, src[len - 1], __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	guard = NULL;
	return 0;
}

#define UNREADABLE UINT32_MAX /* no index */

static __attribute__((noinline)) uint32_t find_guarded(const struct cx_word *words, uint32_t from,
						       uint32_t count)
{
	jmp_buf env;

	if (_setjmp(env)) {
		guard = NULL;
		return UNREADABLE;
	}
	guard = &env;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	while (from < count && !memcmp(words[from].at, &words[from].was, sizeof(words->was)))
		from++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	guard = NULL;
	return from;
}

/*
 * All under one guard, since a guard costs more than many words. If one word is gone, each has its
 * own guard.
 */
uint32_t cx_mem_find_changed(const struct cx_word *words, uint32_t from, uint32_t count)
{
	uint32_t at = find_guarded(words, from, count), word;

	if (at != UNREADABLE)
		return at;
	for (at = from; at < count; at++)
		if (copy_guarded(&word, words[at].at, sizeof(word)) || word != words[at].was)
			break;
	return at;
}

/* -- other processes --------------------------------------------------------------------------- */

static ssize_t copy_piece(bool reads, pid_t pid, uint64_t va, uint8_t *local, size_t len)
{
	return reads ? raw_vm_read(pid, va, local, len) : raw_vm_write(pid, va, local, len);
}

enum { SMALL_BYTES = 4096 };

/*
 * A peer's memory is named by its process number, which may be another process's after its death.
 * So the peer is checked before each large copy. For small copies it is checked once a message,
 * since the check takes a third of their time.
 */
static bool may_reach(struct cx_hca *hca, unsigned proc, size_t len)
{
	if (proc == hca->asked && len <= SMALL_BYTES)
		return true;
	hca->asked = cx_proc_alive(hca, proc) ? proc : CX_PROCS;
	return hca->asked == proc && proc < CX_PROCS;
}

/* A peer that is gone, or may not be accessed, has no memory for us. */
static int copy_peer(struct cx_hca *hca, bool reads, unsigned proc, uint64_t va, uint8_t *local,
		     size_t len)
{
	for (size_t done = 0; done < len;) {
		const pid_t pid = may_reach(hca, proc, len) ? hca->shared->procs[proc].pid : 0;
		const ssize_t n =
			pid ? copy_piece(reads, pid, va + done, local + done, len - done) : 0;

		if (n < 0 && errno == EPERM)
			cx_trace(hca,
				 "memory: process %d cannot be reached: ptrace is not permitted",
				 (int)pid);
		if (n <= 0)
			return -EFAULT;
		done += (size_t)n;
	}
	return 0;
}

int cx_mem_read(struct cx_hca *hca, unsigned proc, uint64_t va, void *dst, size_t len)
{
	if (cx_is_local(hca, proc))
		return copy_guarded(dst, (const void *)(uintptr_t)va, len);
	return copy_peer(hca, true, proc, va, dst, len);
}

int cx_mem_write(struct cx_hca *hca, unsigned proc, uint64_t va, const void *src, size_t len)
{
	if (cx_is_local(hca, proc))
		return copy_guarded((void *)(uintptr_t)va, src, len);
	return copy_peer(hca, false, proc, va, (void *)(uintptr_t)src, len);
}

int cx_mem_publish(struct cx_hca *hca, unsigned proc, uint64_t va, const void *src, size_t len)
{
	const uint8_t *bytes = src;
	int err;

	if (cx_is_local(hca, proc))
		return publish_guarded((uint8_t *)(uintptr_t)va, bytes, len);
	err = cx_mem_write(hca, proc, va, bytes, len - 1);
	return err ? err : cx_mem_write(hca, proc, va + len - 1, bytes + len - 1, 1);
}
