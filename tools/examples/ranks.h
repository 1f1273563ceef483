/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that work together: the rank of this one, and an exchange of data with all others
 * (addresses of targets, keys of memory). These functions start them, or a launcher with PMIx such
 * as mpirun does. Copy ranks.h and ranks.c into your program; they need nothing else, except
 * libpmix if HAVE_PMIX is set.
 *
 * All functions return 0 or -errno; then ranks_error() says what failed.
 */
#ifndef RANKS_H
#define RANKS_H

#include <stddef.h>

enum { RANKS_MAX = 4096, RANKS_SAID_MAX = 1024 };

struct ranks {
	unsigned rank, count;
	struct ranks_local *local; /* NULL: a launcher started the processes */
	unsigned exchanges;
};

const char *ranks_error(void);

/*
 * ranks_start - starts so many processes of this program, of which this one is rank 0; call it
 * before any device is opened. If a process fails, all others end.
 */
int ranks_start(struct ranks *ranks, unsigned count);

/* ranks_join - joins the processes that a launcher started; -ENOTCONN: none did */
int ranks_join(struct ranks *ranks);

/* ranks_exchange - gets @bytes from each process, by rank, in @all; waits for all */
int ranks_exchange(struct ranks *ranks, const void *mine, size_t bytes, void *all);

/* ranks_wait - waits until all processes call it */
int ranks_wait(struct ranks *ranks);

/*
 * ranks_end - ends this process's part. Rank 0 of processes started here waits for the others,
 * which exit.
 * Return: @status, or 1 if another process failed
 */
int ranks_end(struct ranks *ranks, int status);

#endif
