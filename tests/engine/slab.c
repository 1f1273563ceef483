/* SPDX-License-Identifier: BSD-2-Clause */
/* Slabs: every buffer is given once, comes back, and can be sent. */
#include "harness.h"

#include <pthread.h>

#include "bsn_slab.h"
#include "slabs.h"

static void every_buffer_is_given_once(struct bench *b)
{
	every_buffer_of(b, NULL);
}

/* Counts the library's calls: --wrap=pthread_spin_lock */
static unsigned locks;
int __real_pthread_spin_lock(pthread_spinlock_t *lock); /* NOLINT */
int __wrap_pthread_spin_lock(pthread_spinlock_t *lock); /* NOLINT */

int __wrap_pthread_spin_lock(pthread_spinlock_t *lock) /* NOLINT */
{
	__atomic_add_fetch(&locks, 1, __ATOMIC_RELAXED);
	return __real_pthread_spin_lock(lock);
}

/*
 * Counts the locks that a slab takes from creation to destruction, with more buffers than a view
 * keeps.
 */
static unsigned locks_of(struct bench *b, bool has_one_owner)
{
	const struct bsn_slab_attr attr = { .size_bytes = 64,
					    .count = 4 * BSN_SLAB_KEEPS,
					    .has_one_owner = has_one_owner };
	const unsigned before = locks;
	void *got[4 * BSN_SLAB_KEEPS];
	struct bsn_slab_view view;
	struct bsn_slab *slab;

	ok(bsn_slab_create(b->device, &attr, &slab));
	ok(bsn_slab_view_init(&view, slab));
	for (unsigned i = 0; i < attr.count; i++) {
		got[i] = bsn_slab_get(&view);
		assert_non_null(got[i]);
	}
	assert_null(bsn_slab_get(&view));
	assert_int_equal(bsn_slab_destroy(slab), -EBUSY);
	for (unsigned i = 0; i < attr.count; i++)
		bsn_slab_put(&view, got[i]);
	bsn_slab_view_empty(&view);
	ok(bsn_slab_destroy(slab));
	return locks - before;
}

static void one_owner_takes_no_lock(struct bench *b)
{
	assert_int_equal(locks_of(b, true), 0);
	assert_true(locks_of(b, false) > 8);
}

static void buffers_can_be_sent(struct bench *b)
{
	const struct bsn_slab_attr attr = { .size_bytes = 100, .count = 3 };
	struct bsn_slab_view view;
	struct bsn_slab *slab;

	ok(bsn_slab_create(b->device, &attr, &slab));
	ok(bsn_slab_view_init(&view, slab));
	uint8_t *buffer = bsn_slab_get(&view);
	memset(buffer, 0x77, 100);
	ok(bsn_write(b->ep[0], &(struct bsn_sge){ (uintptr_t)buffer, 100, slab->mr->lkey },
		     REMOTE(b, 1, 0), 1, NOW));
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	assert_memory_equal(bench_at(b, 1, 0), buffer, 100);
	bsn_slab_put(&view, buffer);
	assert_ptr_equal(bsn_slab_get(&view), buffer); /* a warm buffer comes first */
	bsn_slab_put(&view, buffer);
	bsn_slab_view_empty(&view);
	ok(bsn_slab_destroy(slab));
}

static void a_buffer_in_use_keeps_the_slab(struct bench *b)
{
	const struct bsn_slab_attr attr = { .size_bytes = 64, .count = 10 };
	struct bsn_slab_view view;
	struct bsn_slab *slab;

	ok(bsn_slab_create(b->device, &attr, &slab));
	ok(bsn_slab_view_init(&view, slab));
	void *buffer = bsn_slab_get(&view);
	fails(EBUSY, "bsn_slab_view_empty", bsn_slab_destroy(slab));
	bsn_slab_put(&view, buffer);
	assert_int_equal(bsn_slab_destroy(slab), -EBUSY);
	bsn_slab_view_empty(&view);
	ok(bsn_slab_destroy(slab));
}

static void threads(struct bench *b)
{
	threads_share(b, NULL);
}

static bool has_no_store;

static int no_store(uint32_t count, void **store)
{
	(void)count;
	(void)store;
	has_no_store = true;
	return bsn_error_set(ENOSPC, "no store today");
}

static void bad_input(struct bench *b)
{
	const struct bsn_slab_attr sound = { .size_bytes = 64, .count = 10 };
	struct bsn_slab_attr attr = sound;
	struct bsn_slab *slab = NULL;
	struct bsn_slab_view view;

	assert_int_equal(bsn_slab_create(NULL, &attr, &slab), -EINVAL);
	assert_int_equal(bsn_slab_create(b->device, NULL, &slab), -EINVAL);
	assert_int_equal(bsn_slab_create(b->device, &attr, NULL), -EINVAL);
	attr.count = 0;
	assert_int_equal(bsn_slab_create(b->device, &attr, &slab), -EINVAL);
	attr = (struct bsn_slab_attr){ .count = 10 };
	assert_int_equal(bsn_slab_create(b->device, &attr, &slab), -EINVAL);
	attr = (struct bsn_slab_attr){ .size_bytes = SIZE_MAX, .count = 1 };
	assert_int_equal(bsn_slab_create(b->device, &attr, &slab), -ENOMEM);
	attr = (struct bsn_slab_attr){ .size_bytes = SIZE_MAX / 2, .count = 3 };
	assert_int_equal(bsn_slab_create(b->device, &attr, &slab), -ENOMEM);
	attr = sound;
	attr.store = &(struct bsn_slab_store){ .make = no_store };
	assert_int_equal(bsn_slab_create(b->device, &attr, &slab), -ENOSPC);
	assert_true(has_no_store);
	attr.has_one_owner = true;
	assert_int_equal(bsn_slab_create(b->device, &attr, &slab), -EINVAL);
	assert_null(slab);
	assert_int_equal(bsn_slab_view_init(&view, NULL), -EINVAL);
	assert_int_equal(bsn_slab_view_init(NULL, slab), -EINVAL);
	bsn_slab_view_empty(NULL);
	ok(bsn_slab_destroy(NULL));
}

static const struct bench_case cases[] = {
	{ CASE(every_buffer_is_given_once), BARE },
	{ CASE(one_owner_takes_no_lock), BARE },
	{ CASE(buffers_can_be_sent), OWN },
	{ CASE(a_buffer_in_use_keeps_the_slab), BARE },
	{ CASE(threads), BARE },
	{ CASE(bad_input), BARE },
};

BENCH_MAIN("slab")
