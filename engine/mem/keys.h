/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of a device's memory, by lkey. Private to engine/. */
#ifndef MEM_KEYS_H
#define MEM_KEYS_H

#include "../engine.h"

/*
 * Adds a key, whose fields must not change until it is removed. Any thread may call it. A removal
 * counts in device->keys_removed.
 */
int keys_add(struct bsn_device *device, struct known_key *key);
void keys_remove(struct bsn_device *device, struct known_key *key);

/*
 * The number under which an mkey of a pool is added: the low byte of its key changes, the rest is
 * unique.
 */
static inline uint32_t keys_base_of(uint32_t lkey)
{
	return lkey & ~(uint32_t)UINT8_MAX;
}

/*
 * Copies what is known of an lkey; false: nothing is. The low byte of an mkey's key is ignored: its
 * owner knows the right one.
 */
bool keys_find(struct bsn_device *device, uint32_t lkey, struct known_key *key);

/* Whether the lkey is one of the last that were removed; it may have been added since. */
bool keys_was_removed(struct bsn_device *device, uint32_t lkey);

#endif
