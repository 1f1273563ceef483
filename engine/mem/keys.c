/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of a device's memory: a tree, by lkey. */
#include "keys.h"

#include <search.h>

static int compare(const void *a, const void *b)
{
	const uint32_t x = ((const struct known_key *)a)->lkey;
	const uint32_t y = ((const struct known_key *)b)->lkey;

	return x < y ? -1 : x > y;
}

int keys_add(struct bsn_device *device, struct known_key *key)
{
	const void *node;

	pthread_mutex_lock(&device->lock);
	node = tsearch(key, &device->keys, compare);
	pthread_mutex_unlock(&device->lock);
	return node ? 0 : fail(ENOMEM, "no memory");
}

void keys_remove(struct bsn_device *device, struct known_key *key)
{
	struct known_key *const *node;

	pthread_mutex_lock(&device->lock);
	node = tfind(key, &device->keys, compare);
	if (node && *node == key)
		tdelete(key, &device->keys, compare);
	device->removed[atomic_load(&device->keys_removed) % KEYS_REMEMBERED] = key->lkey;
	atomic_fetch_add(&device->keys_removed, 1);
	pthread_mutex_unlock(&device->lock);
}

bool keys_was_removed(struct bsn_device *device, uint32_t lkey)
{
	bool was = false;

	pthread_mutex_lock(&device->lock);
	for (unsigned i = 0; i < KEYS_REMEMBERED && lkey; i++)
		was |= device->removed[i] == lkey;
	pthread_mutex_unlock(&device->lock);
	return was;
}

static const struct known_key *find(struct bsn_device *device, uint32_t lkey)
{
	const struct known_key wanted = { .lkey = lkey };
	struct known_key *const *const node = tfind(&wanted, &device->keys, compare);

	return node ? *node : NULL;
}

bool keys_find(struct bsn_device *device, uint32_t lkey, struct known_key *key)
{
	const struct known_key *found;

	pthread_mutex_lock(&device->lock);
	found = find(device, lkey);
	if (!found)
		found = find(device, keys_base_of(lkey));
	if (found && (found->lkey == lkey || found->mkey)) {
		*key = *found;
		key->lkey = lkey;
	} else {
		found = NULL;
	}
	pthread_mutex_unlock(&device->lock);
	return found;
}
