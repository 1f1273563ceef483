/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The character device of rdma_cm, answered instead of the kernel: connections between programs of
 * a fabric, by address and port. kernel/cm/ has the code. The tables are in the fabric
 * (nic/connections.h), where a process finds the listeners of others and leaves messages for them.
 *
 * The program's descriptor is a datagram socket with a name of its own. It can be polled, and has a
 * byte to read while there are events. Like the kernel's file it exists until the last process has
 * closed it; others learn that by its name.
 */
#ifndef SOFTCX_RDMACM_H
#define SOFTCX_RDMACM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cx_hca;
struct uverbs_host;
struct rdmacm;

/* Opens the device: the descriptor or -errno. @flags: as of open(2). */
int rdmacm_open(struct cx_hca *hca, int flags, struct rdmacm **file);
void rdmacm_free(struct rdmacm *file);

/*
 * write(2) of a command through descriptor @fd. Returns @size or -errno. GET_EVENT blocks if the
 * descriptor's flags say so.
 */
ssize_t rdmacm_write(struct rdmacm *file, const struct uverbs_host *host, int fd,
		     const void *command, size_t size);

/* Destroys files that nobody has open any more, with all their ids; peers are told. */
void rdmacm_sweep(struct cx_hca *hca);

/* When this process must look at its connections next, CLOCK_MONOTONIC ns; 0: never. */
uint64_t rdmacm_next_deadline_ns(struct cx_hca *hca);
void rdmacm_run_timers(struct cx_hca *hca);

#endif
