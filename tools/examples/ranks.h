/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that do one thing together: who of them this one is, and what each tells all others
 * (addresses of targets, keys of memory). They are started here, or by a launcher that speaks PMIx,
 * as mpirun does. Lift ranks.h and ranks.c into your program; they need nothing else, and libpmix
 * where HAVE_PMIX is set.
 *
 * All functions return 0 or -errno; ranks_error() then says in words what failed.
 */
#ifndef RANKS_H
#define RANKS_H

#include <stddef.h>

enum { RANKS_MAX = 4096, RANKS_SAID_MAX = 1024 };

struct ranks {
	unsigned rank, count;
	struct ranks_local *local; /* NULL: a launcher's */
	unsigned exchanges;
};

const char *ranks_error(void);

/*
 * ranks_start - makes so many processes of this one, which is rank 0; before it opens any device
 * A process that fails ends all others.
 */
int ranks_start(struct ranks *ranks, unsigned count);

/* ranks_join - those that a launcher started, this one among them; -ENOTCONN: none did */
int ranks_join(struct ranks *ranks);

/* ranks_exchange - what each says, @bytes of it, by rank in @all; it waits for all */
int ranks_exchange(struct ranks *ranks, const void *mine, size_t bytes, void *all);

/* ranks_wait - until all are here */
int ranks_wait(struct ranks *ranks);

/*
 * ranks_end - with what this process ends with: rank 0 of those started here waits for the others,
 * which exit
 * Return: @status, or 1 if another one failed.
 */
int ranks_end(struct ranks *ranks, int status);

#endif
