/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory to read: of a process, or in a core file. It may have been written to mislead its reader,
 * so what is read and allocated is limited by the memory that the target has.
 */
#ifndef WQE_DUMP_TARGET_H
#define WQE_DUMP_TARGET_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bsn_registry.h"

/** struct target - filled by target_open_process() or target_open_core() */
struct target {
	char name[96];    /* "process 12 (program)" */
	uint64_t *images; /* addresses of possible ELF images */
	size_t image_count;
	bool is_live;          /* its memory changes */
	bool has_ended;        /* the process has ended */
	bool is_cut_off;       /* a core file without its end */
	char why[256];         /* the last failure: a sentence without a full stop */
	uint64_t memory_bytes; /* bytes of memory that it has, or the size of the core file */
	uint64_t spent;        /* bytes read by target_read() since target_begin() */
	int (*read)(struct target *target, uint64_t address, void *to, size_t bytes);
	void (*close)(struct target *target);
	long pid;
	int pidfd; /* of a process, or -1 */
	struct core *core;
};

/** target_open_process() - a running process, which goes on; 0, or -errno with @why */
int target_open_process(struct target *target, long pid);

/**
 * target_open_core() - a core file; likewise
 * @is_trusted: files that it names are read even if nothing shows that the process had them
 */
int target_open_core(struct target *target, const char *path, bool is_trusted);

/** target_begin() - begins a look: how much memory there is limits what may be read */
void target_begin(struct target *target);

/** target_has_room() - whether something of this size fits into the target's memory */
bool target_has_room(const struct target *target, uint64_t bytes);

/**
 * target_read() - reads all of these bytes
 *
 * Return: 0; or, with @why: -ESRCH, the process has ended; -EFAULT, they are not there; -EPERM;
 * -EPROTO, the look has read several times what is in memory.
 */
int target_read(struct target *target, uint64_t address, void *to, size_t bytes);

/** target_wait() - waits; true after @ms milliseconds, false as soon as the process has ended */
bool target_wait(struct target *target, int ms);

void target_close(struct target *target);

/* For both kinds: sets @why, and returns -error. */
int target_fail(struct target *target, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void target_add_image(struct target *target, uint64_t start);

/* Where in notes the description of this type and owner is; NULL: there is none */
const char *target_find_note(Elf_Data *notes, uint32_t type, const char *owner, size_t *bytes);

/* Makes the name out of @what, @pid and the program, whose name may have any bytes, up to a NUL. */
void target_set_name(struct target *target, const char *what, long pid, const char *program,
		     size_t len);

/* -- the queues that Bunsen lists in a target, by bsn_registry.h ------------------------------- */

/** struct published - one queue, and where its entry is */
struct published {
	uint64_t address;
	uint64_t registry;   /* the copy of the library that lists it */
	uint64_t generation; /* of the list when this queue was read */
	struct bsn_registry_queue queue;
};

/** struct published_list - in the order of creation, for one copy of the library after the other */
struct published_list {
	struct published *queues;
	size_t count;
	unsigned registries; /* copies of the library that list their queues */
	bool is_off;         /* a copy of the library does not list its queues */
};

/**
 * published_read() - reads the lists of all copies of the library
 * @list: zero, or from the last time; published_free() frees it
 *
 * Return: 0; or, with the target's @why: -ENODATA, the target has no Bunsen, or one that lists
 * nothing; -EPROTO, a registry of another version; -EAGAIN, the list changed at each attempt; or as
 * target_read().
 */
int published_read(struct target *target, struct published_list *list);

/** published_is_same() - whether entries, which never change, are of one queue */
bool published_is_same(const struct published *a, const struct published *b);

/** published_check() - 0: a queue is still listed unchanged; -ENOENT: it is not; -errno: unknown */
int published_check(struct target *target, const struct published *queue);

void published_free(struct published_list *list);

#endif
