/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mappings of this process: proc(5), /proc/self/maps. Read by system calls into mapped memory,
 * since open() and read() may be the shim's, and malloc() the program's.
 */
#ifndef SOFTCX_OS_MAPS_H
#define SOFTCX_OS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping {
	uintptr_t start, end;
	uint64_t offset; /* in the file */
	bool readable, writable;
	char file[64]; /* device and inode */
};

/*
 * Finds the mapping at an address. Returns 0, -ENOENT, or -EOPNOTSUPP: the kernel (before 6.11) has
 * no query for one mapping.
 */
int maps_at(uintptr_t addr, struct mapping *m);

struct maps {
	char *text, *at;
	size_t bytes;
};

int maps_open(struct maps *maps); /* 0 or -errno */
void maps_close(struct maps *maps);
/* The next mapping, in ascending order. False: the end. */
bool maps_next(struct maps *maps, struct mapping *m);

#endif
