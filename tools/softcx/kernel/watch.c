/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Watches what the program does to its registered pages, by userfaultfd(2), instead of the kernel's
 * MMU notifiers. A ConnectX keeps the pages that were mapped at registration. The model uses
 * addresses, so it must know when other pages are mapped there. The kernel tells it of each
 * munmap(), mremap(), madvise() and brk(), and lets the caller go on only after the model has read
 * that. No page is protected.
 *
 * Pages that ftruncate() or fallocate() removes are not seen. Nothing is watched under valgrind,
 * which runs one thread at a time and would deadlock, or if the program has registered the range
 * with its own userfaultfd. The trace says when memory cannot be watched.
 */
#include "kernel.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../os/raw.h"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

/* Linux 5.11 and 6.7; Debian 12's headers may lack the second. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define FEATURE_WP_ASYNC (1ull << 15)

enum { EVENTS = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE };

static struct {
	enum { NOT_TRIED, FAILED, RUNNING } state; /* under the kernel's lock, as all here */
	int fd, stop;
	struct cx_hca *hca;
	pthread_t thread;
} watch;

/* -- the thread that listens ------------------------------------------------------------------- */

/* The next change. False: there is none now. Under the device's lock. */
static bool read_change(void *context, struct cx_range *range)
{
	struct uffd_msg message;

	(void)context;
	while (raw_read(watch.fd, &message, sizeof(message)) == sizeof(message)) {
		switch (message.event) {
		case UFFD_EVENT_UNMAP:
		case UFFD_EVENT_REMOVE:
			*range = (struct cx_range){ message.arg.remove.start,
						    message.arg.remove.end };
			return true;
		case UFFD_EVENT_REMAP:
			*range =
				(struct cx_range){ message.arg.remap.from,
						   message.arg.remap.from + message.arg.remap.len };
			return true;
		default:
			break;
		}
	}
	return false;
}

static void *listen_for_changes(void *arg)
{
	struct pollfd fds[] = { { watch.fd, POLLIN, 0 }, { watch.stop, POLLIN, 0 } };

	(void)arg;
	while (!fds[1].revents) {
		if (syscall(SYS_ppoll, fds, ARRAY_LEN(fds), NULL, NULL, 0ul) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			cx_memory_changed(watch.hca, read_change, NULL);
	}
	return NULL;
}

/* All signals of the program are blocked, except faults. */
static int start_thread(void)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	err = pthread_create(&watch.thread, NULL, listen_for_changes, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_setname_np(watch.thread, "softcx-watch");
	return -err;
}

/* -- opening ----------------------------------------------------------------------------------- */

static int open_events(uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd < 0 || !raw_ioctl(fd, UFFDIO_API, &api))
		return fd < 0 ? -errno : fd;
	raw_close(fd);
	return -EOPNOTSUPP;
}

static int start(struct cx_hca *hca)
{
	int err;

	if (RUNNING_ON_VALGRIND)
		return -EOPNOTSUPP;
	watch.fd = open_events(EVENTS | FEATURE_WP_ASYNC); /* mapped files can be watched, too */
	if (watch.fd < 0)
		watch.fd = open_events(EVENTS);
	if (watch.fd < 0)
		return watch.fd;
	watch.stop = eventfd(0, EFD_CLOEXEC);
	err = watch.stop < 0 ? -errno : 0;
	if (err)
		goto close_fd;
	watch.hca = hca;
	err = start_thread();
	if (!err)
		return 0;
	raw_close(watch.stop);
close_fd:
	raw_close(watch.fd);
	return err;
}

/* Rounds to whole pages, of the mapping's page size. */
static int watch_range(uint64_t start_va, uint64_t length)
{
	const uint64_t sizes[] = { (uint64_t)getpagesize(), 2ull << 20, 1ull << 30 };
	int err = -1;

	for (size_t i = 0; err && i < ARRAY_LEN(sizes); i++) {
		const uint64_t first = start_va & ~(sizes[i] - 1);
		const uint64_t end = (start_va + length + sizes[i] - 1) & ~(sizes[i] - 1);
		struct uffdio_register range = { .range = { first, end - first },
						 .mode = UFFDIO_REGISTER_MODE_WP };

		err = raw_ioctl(watch.fd, UFFDIO_REGISTER, &range);
	}
	return err;
}

void watch_memory(struct cx_hca *hca, uint64_t start_va, uint64_t length)
{
	if (watch.state == NOT_TRIED) {
		const int err = start(hca);

		watch.state = err ? FAILED : RUNNING;
		if (err)
			cx_trace(hca, "memory: changes of mappings are not seen: error %d", -err);
	}
	if (watch.state == RUNNING && watch_range(start_va, length))
		cx_trace(hca, "memory: changes of %lu bytes at %#lx are not seen: error %d", length,
			 start_va, errno);
}

/*
 * The kernel counts a change before it makes it, and answers each request with EAGAIN until the
 * change was read (fs/userfaultfd.c mmap_changing). A request for no bytes finds out just that.
 */
static bool is_changing(void)
{
	struct uffdio_writeprotect nothing = { .range = { 0, 0 } };

	return raw_ioctl(watch.fd, UFFDIO_WRITEPROTECT, &nothing) && errno == EAGAIN;
}

void watch_catch_up(struct cx_hca *hca)
{
	if (watch.state != RUNNING)
		return;
	cx_memory_changed(hca, read_change, NULL);
	while (is_changing()) {
		sched_yield();
		cx_memory_changed(hca, read_change, NULL);
	}
}

static void forget(void)
{
	raw_close(watch.fd);
	raw_close(watch.stop);
	watch.state = NOT_TRIED;
}

void uverbs_stop(void)
{
	const uint64_t one = 1;

	if (watch.state == RUNNING && raw_write(watch.stop, &one, sizeof(one)) == sizeof(one)) {
		pthread_join(watch.thread, NULL);
		forget();
	}
	watch.state = NOT_TRIED;
}

/* A parent does not watch its child's memory. */
void watch_after_fork_child(void)
{
	if (watch.state == RUNNING)
		forget();
	watch.state = NOT_TRIED;
}
