/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of a device's memory, by lkey. Private to engine/. */
#ifndef MEM_KEYS_H
#define MEM_KEYS_H

#include "../engine.h"

/*
 * Adds a key, whose fields stay as they are until it is removed. Any thread. A removal counts in
 * device->keys_removed.
 */
int keys_add(struct bsn_device *device, struct known_key *key);
void keys_remove(struct bsn_device *device, struct known_key *key);

/*
 * Mkeys of a pool are added by this, since the low byte of their key changes; the rest is theirs
 * alone.
 */
static inline uint32_t keys_base_of(uint32_t lkey)
{
	return lkey & ~(uint32_t)UINT8_MAX;
}

/*
 * Copies what is known of an lkey; false: nothing is. Of an mkey the low byte is not looked at: its
 * owner knows which one it has.
 */
bool keys_find(struct bsn_device *device, uint32_t lkey, struct known_key *key);

/* Whether it is one of the last keys that were removed. One that was added again is found, too. */
bool keys_was_removed(struct bsn_device *device, uint32_t lkey);

#endif
