/* SPDX-License-Identifier: BSD-2-Clause */
/* Slabs: buffers in one registration. A store keeps the unused ones. */
#include "../engine.h"
#include "bsn_slab.h"

#include <stdlib.h>

enum { LINE = 64, BATCH = BSN_SLAB_KEEPS / 2 };

struct slab_object {
	struct bsn_slab pub; /* first */
	struct bsn_mr *mr;
	const struct bsn_slab_store *store;
	void *stored;
};

static struct slab_object *slab_of(struct bsn_slab *slab)
{
	return (struct slab_object *)(void *)slab;
}

/* -- the built-in store ------------------------------------------------------------------------ */

struct stack {
	pthread_spinlock_t lock;
	uint32_t count;
	void *buffers[];
};

static int stack_make(uint32_t count, void **store)
{
	struct stack *stack = calloc(1, sizeof(*stack) + count * sizeof(void *));

	if (!stack)
		return fail(ENOMEM, "no memory");
	pthread_spin_init(&stack->lock, PTHREAD_PROCESS_PRIVATE);
	*store = stack;
	return 0;
}

static void stack_unmake(void *store)
{
	struct stack *stack = store;

	pthread_spin_destroy(&stack->lock);
	free(stack);
}

static bool stack_take(void *store, void **buffers, uint32_t n)
{
	struct stack *stack = store;

	if (stack->count < n)
		return false;
	stack->count -= n;
	memcpy(buffers, stack->buffers + stack->count, n * sizeof(*buffers));
	return true;
}

static void stack_give(void *store, void *const *buffers, uint32_t n)
{
	struct stack *stack = store;

	memcpy(stack->buffers + stack->count, buffers, n * sizeof(*buffers));
	stack->count += n;
}

static uint32_t stack_count(void *store)
{
	const struct stack *stack = store;

	return stack->count;
}

static bool shared_take(void *store, void **buffers, uint32_t n)
{
	struct stack *stack = store;
	bool is_there;

	pthread_spin_lock(&stack->lock);
	is_there = stack_take(stack, buffers, n);
	pthread_spin_unlock(&stack->lock);
	return is_there;
}

static void shared_give(void *store, void *const *buffers, uint32_t n)
{
	struct stack *stack = store;

	pthread_spin_lock(&stack->lock);
	stack_give(stack, buffers, n);
	pthread_spin_unlock(&stack->lock);
}

static uint32_t shared_count(void *store)
{
	struct stack *stack = store;
	uint32_t count;

	pthread_spin_lock(&stack->lock);
	count = stack->count;
	pthread_spin_unlock(&stack->lock);
	return count;
}

static const struct bsn_slab_store owned_store = { .make = stack_make,
						   .unmake = stack_unmake,
						   .take = stack_take,
						   .give = stack_give,
						   .count = stack_count };
static const struct bsn_slab_store shared_store = { .make = stack_make,
						    .unmake = stack_unmake,
						    .take = shared_take,
						    .give = shared_give,
						    .count = shared_count };

/* -- views ------------------------------------------------------------------------------------- */

int bsn_slab_view_init(struct bsn_slab_view *view, struct bsn_slab *slab)
{
	if (!view || !slab)
		return fail(EINVAL, "no view, or no slab");
	view->slab = slab;
	view->kept = 0;
	return 0;
}

/*
 * Asks the store for buffers, each time for half as many, until it gives some, so that the last
 * ones are found, too.
 */
bool bsn_slab_refill(struct bsn_slab_view *view)
{
	const struct slab_object *slab = slab_of(view->slab);

	for (uint32_t n = BATCH; n; n /= 2)
		if (slab->store->take(slab->stored, view->buffers, n)) {
			view->kept = n;
			return true;
		}
	return false;
}

/*
 * Returns to the store the buffers that were unused longest; the last ones are warm in the caches.
 */
void bsn_slab_spill(struct bsn_slab_view *view)
{
	const struct slab_object *slab = slab_of(view->slab);

	slab->store->give(slab->stored, view->buffers, BATCH);
	view->kept -= BATCH;
	memmove(view->buffers, view->buffers + BATCH, view->kept * sizeof(*view->buffers));
}

void bsn_slab_view_empty(struct bsn_slab_view *view)
{
	const struct slab_object *slab;

	if (!view || !view->kept)
		return;
	slab = slab_of(view->slab);
	slab->store->give(slab->stored, view->buffers, view->kept);
	view->kept = 0;
}

/* -- slabs ------------------------------------------------------------------------------------- */

/* Fills the store; the first buffer will be taken first. */
static void fill(struct slab_object *slab)
{
	for (uint32_t i = slab->pub.count; i--;) {
		void *buffer = (void *)(uintptr_t)(slab->mr->addr + i * slab->pub.size_bytes);
		slab->store->give(slab->stored, &buffer, 1);
	}
}

int bsn_slab_create(struct bsn_device *device, const struct bsn_slab_attr *attr,
		    struct bsn_slab **out)
{
	struct slab_object *slab;
	size_t size, bytes;
	int err;

	if (!device || !attr || !out || !attr->size_bytes || !attr->count)
		return fail(EINVAL, "no device, no size, no count, or no place for the result");
	if (attr->has_one_owner && attr->store)
		return fail(EINVAL,
			    "the application's store has its own locks: do not set has_one_owner");
	size = (attr->size_bytes + LINE - 1) / LINE * LINE;
	if (size < attr->size_bytes || __builtin_mul_overflow(size, attr->count, &bytes))
		return fail(ENOMEM, "%u buffers of %zu bytes exceed the address space", attr->count,
			    attr->size_bytes);
	slab = calloc(1, sizeof(*slab));
	if (!slab)
		return fail(ENOMEM, "no memory");
	slab->store = attr->store           ? attr->store
		      : attr->has_one_owner ? &owned_store
					    : &shared_store;
	err = bsn_buf_alloc(device, bytes, attr->memory, &slab->mr);
	if (err)
		goto free_slab;
	err = slab->store->make(attr->count, &slab->stored);
	if (err)
		goto free_buf;
	slab->pub = (struct bsn_slab){ slab->mr, size, attr->count };
	fill(slab);
	*out = &slab->pub;
	return 0;
free_buf:
	bsn_buf_free(slab->mr);
free_slab:
	free(slab);
	return err;
}

int bsn_slab_destroy(struct bsn_slab *pub)
{
	struct slab_object *slab = slab_of(pub);
	int err;

	if (!pub)
		return 0;
	if (slab->store->count(slab->stored) != pub->count)
		return fail(EBUSY, "buffers of the slab are in use, or kept by a view: call "
				   "bsn_slab_view_empty()");
	err = bsn_buf_free(slab->mr);
	if (err)
		return err;
	slab->store->unmake(slab->stored);
	free(slab);
	return 0;
}
