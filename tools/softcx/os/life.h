/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows which processes live. A living process holds a lock on a byte of a file, through an open
 * file description to which only a mapping refers. The kernel releases the lock with the process's
 * memory: when it dies or calls execve(). That works from another PID namespace or a chroot,
 * without /proc, and after close_range(). A child does not inherit the lock; it holds one of its
 * own.
 */
#ifndef SOFTCX_OS_LIFE_H
#define SOFTCX_OS_LIFE_H

#include <stdbool.h>
#include <sys/types.h>

enum life { LIFE_GONE, LIFE_HELD, LIFE_UNKNOWN };

/*
 * Opens the file, with more @flags of open(2), and locks its byte. Returns 0, with `hold` for
 * life_let_go(); -EAGAIN: another process holds that byte, or the file was removed; or -errno.
 */
int life_hold(const char *path, int flags, off_t byte, void **hold);
void life_let_go(void *hold); /* not in a child, which has none; NULL: nothing to do */

/* Whether anybody, this process too, holds one of @count bytes. Async-signal-safe. */
enum life life_at(int fd, off_t first, off_t count);
/* Locks a byte that nobody holds, until the descriptor is closed. */
bool life_is_over(int fd, off_t byte);

#endif
