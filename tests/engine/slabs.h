/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that hold for slabs of any store. */
#ifndef TESTS_ENGINE_SLABS_H
#define TESTS_ENGINE_SLABS_H

#include "harness.h"

#include "bsn_slab.h"

enum { SLAB_COUNT = 1000, SLAB_THREADS = 3, SLAB_ROUNDS = 20000, SLAB_HELD = 100 };

/* Two rounds: all buffers come, none twice, each within the slab; and all go back. */
static void every_buffer_of(struct bench *b, const struct bsn_slab_store *store)
{
	const struct bsn_slab_attr attr = { .size_bytes = 65, .count = SLAB_COUNT, .store = store };
	static void *got[SLAB_COUNT];
	struct bsn_slab_view view;
	struct bsn_slab *slab;

	ok(bsn_slab_create(b->device, &attr, &slab));
	assert_int_equal(slab->size_bytes, 128);
	ok(bsn_slab_view_init(&view, slab));
	for (int times = 0; times < 2; times++) {
		bool is_given[SLAB_COUNT] = { false };
		for (unsigned i = 0; i < SLAB_COUNT; i++) {
			got[i] = bsn_slab_get(&view);
			assert_non_null(got[i]);
			const uint64_t offset = (uintptr_t)got[i] - slab->mr->addr;
			assert_int_equal(offset % 128, 0);
			assert_true(offset / 128 < SLAB_COUNT && !is_given[offset / 128]);
			is_given[offset / 128] = true;
		}
		assert_null(bsn_slab_get(&view));
		for (unsigned i = 0; i < SLAB_COUNT; i++)
			bsn_slab_put(&view, got[i]);
	}
	bsn_slab_view_empty(&view);
	ok(bsn_slab_destroy(slab));
}

struct slab_user {
	struct bsn_slab *slab;
	unsigned seed;
	bool is_wrong;
};

/* A buffer is nobody else's while it is held. */
static void *use_slab(void *arg)
{
	struct slab_user *user = arg;
	void *held[SLAB_HELD];
	struct bsn_slab_view view;
	unsigned n = 0;

	bsn_slab_view_init(&view, user->slab);
	for (unsigned i = 0; i < SLAB_ROUNDS; i++) {
		void *buffer = NULL;
		if (n < SLAB_HELD && rand_r(&user->seed) % 2)
			buffer = bsn_slab_get(&view);
		if (buffer) {
			*(volatile void **)buffer = user;
			held[n++] = buffer;
		} else if (n) {
			buffer = held[--n];
			user->is_wrong |= *(volatile void **)buffer != user;
			bsn_slab_put(&view, buffer);
		}
	}
	while (n)
		bsn_slab_put(&view, held[--n]);
	bsn_slab_view_empty(&view);
	return NULL;
}

static void threads_share(struct bench *b, const struct bsn_slab_store *store)
{
	const struct bsn_slab_attr attr = { .size_bytes = 64, .count = 250, .store = store };
	struct slab_user users[SLAB_THREADS];
	struct bsn_slab *slab;

	ok(bsn_slab_create(b->device, &attr, &slab));
	for (unsigned i = 0; i < SLAB_THREADS; i++)
		users[i] = (struct slab_user){ slab, i, false };
	run_threads(use_slab, users);
	for (unsigned i = 0; i < SLAB_THREADS; i++)
		assert_false(users[i].is_wrong);
	ok(bsn_slab_destroy(slab));
}

#endif
