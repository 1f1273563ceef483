/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is alive. A living process holds a lock on a byte of a file, of an open file description that
 * only a mapping refers to: the kernel gives the lock up with the process's memory, at its death or
 * at execve(), wherever others look from (another PID namespace, a chroot, without /proc). It
 * outlives close_range(); a child does not inherit it, however it was made, and holds a lock of its
 * own.
 */
#ifndef SOFTCX_OS_LIFE_H
#define SOFTCX_OS_LIFE_H

#include <stdbool.h>
#include <sys/types.h>

enum life { LIFE_GONE, LIFE_HELD, LIFE_UNKNOWN };

/*
 * Opens the file, with further @flags of open(2), and locks its byte. 0 and in `hold` what
 * life_let_go() takes; -EAGAIN when somebody else holds that byte or the file was removed; or
 * -errno.
 */
int life_hold(const char *path, int flags, off_t byte, void **hold);
void life_let_go(void *hold); /* not in a child: it has none; NULL is none */

/* Of @count bytes: whether one is held by anybody, this process included. Async-signal-safe. */
enum life life_at(int fd, off_t first, off_t count);
/* Takes a byte that nobody holds, until the descriptor is closed. */
bool life_is_over(int fd, off_t byte);

#endif
