/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues that Bunsen lists in a target, by bsn_registry.h. */
#ifndef WQE_DUMP_PUBLISHED_H
#define WQE_DUMP_PUBLISHED_H

#include "bsn_registry.h"
#include "target.h"

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

/** published_is_still() - whether a queue is still listed unchanged, and can be read */
bool published_is_still(struct target *target, const struct published *queue);

void published_free(struct published_list *list);

#endif
