/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls without libc's functions. The model and the trap run in signal handlers, and in
 * programs that interpose those functions, as our shim does. Async-signal-safe. errno is set as by
 * libc.
 */
#ifndef SOFTCX_OS_RAW_H
#define SOFTCX_OS_RAW_H

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static inline int raw_open(const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static inline int raw_openat(int dir, const char *name, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, dir, name, flags, mode);
}

static inline int raw_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static inline ssize_t raw_read(int fd, void *buf, size_t size)
{
	return syscall(SYS_read, fd, buf, size);
}

static inline ssize_t raw_write(int fd, const void *buf, size_t size)
{
	return syscall(SYS_write, fd, buf, size);
}

static inline ssize_t raw_readlink(const char *path, char *target, size_t size)
{
	return syscall(SYS_readlinkat, AT_FDCWD, path, target, size);
}

/* A copy of another process's descriptor, through that process's pidfd. */
static inline int raw_pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static inline int raw_pidfd_getfd(int pidfd, int fd)
{
	return (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
}

static inline int raw_fcntl(int fd, int command, long argument)
{
	return (int)syscall(SYS_fcntl, fd, command, argument);
}

static inline int raw_ioctl(int fd, unsigned long request, void *argument)
{
	return (int)syscall(SYS_ioctl, fd, request, argument);
}

static inline int raw_fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

static inline int raw_stat(const char *path, struct stat *st)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

static inline int raw_socket(int domain, int type, int protocol)
{
	return (int)syscall(SYS_socket, domain, type, protocol);
}

static inline ssize_t raw_sendto(int fd, const void *data, size_t size, int flags, const void *to,
				 unsigned to_size)
{
	return syscall(SYS_sendto, fd, data, size, flags, to, to_size);
}

static inline ssize_t raw_recv(int fd, void *data, size_t size, int flags)
{
	return syscall(SYS_recvfrom, fd, data, size, flags, NULL, NULL);
}

static inline int raw_connect(int fd, const void *to, unsigned to_size)
{
	return (int)syscall(SYS_connect, fd, to, to_size);
}

/*
 * Sleeps until the word, which any process may change, differs from @seen, or until @deadline on
 * CLOCK_MONOTONIC (NULL: for ever). A signal ends it (EINTR), unless there is no deadline and the
 * signal's handler has SA_RESTART.
 */
static inline int raw_futex_wait(uint32_t *word, uint32_t seen, const struct timespec *deadline)
{
	return (int)syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, deadline, NULL,
			    FUTEX_BITSET_MATCH_ANY);
}

/* Wakes up the threads, of any process, that sleep on the word. */
static inline void raw_futex_wake_all(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX);
}

/* Wakes up one thread, of any process, that sleeps on the word. */
static inline void raw_futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1);
}

/* Unblocks a signal for the calling thread, even if sigprocmask() is the shim's here. */
static inline void raw_unblock(int signal)
{
	const uint64_t set = UINT64_C(1) << (signal - 1);

	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof(set));
}

/* Sends a signal to the calling thread. */
static inline void raw_raise(int signal)
{
	syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), signal);
}

/* Copies from or to another process's memory; one piece. */
static inline ssize_t raw_vm_read(pid_t pid, uint64_t from, void *to, size_t size)
{
	struct iovec here = { to, size }, there = { (void *)(uintptr_t)from, size };

	return syscall(SYS_process_vm_readv, pid, &here, 1ul, &there, 1ul, 0ul);
}

static inline ssize_t raw_vm_write(pid_t pid, uint64_t to, const void *from, size_t size)
{
	struct iovec here = { (void *)(uintptr_t)from, size };
	struct iovec there = { (void *)(uintptr_t)to, size };

	return syscall(SYS_process_vm_writev, pid, &here, 1ul, &there, 1ul, 0ul);
}

#endif
