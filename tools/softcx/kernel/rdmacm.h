/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rdma_cm character device, answered in the kernel's stead: connections between the programs of
 * a fabric by address and port. The room is kernel/cm/; its tables are in the fabric
 * (nic/connections.h), where a process finds the listeners of others, and leaves them its messages.
 *
 * The descriptor that a program gets is a datagram socket with a name of its own. It can be polled,
 * and has a byte to read while there are events; and like the kernel's file it is there until the
 * last process has closed it, which others see by its name.
 */
#ifndef SOFTCX_RDMACM_H
#define SOFTCX_RDMACM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cx_hca;
struct uverbs_host;
struct rdmacm;

/* An open of the device: the descriptor or -errno; @flags as open(2) has them. */
int rdmacm_open(struct cx_hca *hca, int flags, struct rdmacm **file);
void rdmacm_free(struct rdmacm *file);

/*
 * write(2) of a command through descriptor @fd: @size or -errno. GET_EVENT blocks as the
 * descriptor's flags say.
 */
ssize_t rdmacm_write(struct rdmacm *file, const struct uverbs_host *host, int fd,
		     const void *command, size_t size);

/* Files that nobody has open any more go, with all that was theirs, and their peers are told. */
void rdmacm_sweep(struct cx_hca *hca);

/* When this process has to look at its connections, CLOCK_MONOTONIC ns; 0: never. */
uint64_t rdmacm_next_deadline_ns(struct cx_hca *hca);
void rdmacm_run_timers(struct cx_hca *hca);

#endif
