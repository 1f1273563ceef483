/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows: keys for peers, which a send queue binds and invalidates. */
#include "../path.h"
#include "bsn_mkey.h"

#include <search.h>
#include <stdlib.h>

#include "mkey.h"
#include "sq.h"
#include "umr.h"

struct window_object {
	struct bsn_window pub; /* first */
	struct bsn_device *device;
	struct bsn_pd *pd;
	struct ibv_mw *verbs;
	bool is_type_2;
	struct known_key memory; /* that it was bound to last; @pd NULL: unknown memory */
	uint32_t keys_removed;   /* the device's count at that look-up */
	struct uses *bound;      /* uses of the memory that it is bound to; NULL: of none */
};

static struct window_object *window_of(struct bsn_window *window)
{
	return (struct window_object *)window;
}

/* -- a device's windows, by their keys without the low byte, which changes --------------------- */

static int compare(const void *a, const void *b)
{
	const uint32_t x = keys_base_of(((const struct window_object *)a)->pub.rkey);
	const uint32_t y = keys_base_of(((const struct window_object *)b)->pub.rkey);

	return x < y ? -1 : x > y;
}

static int add_window(struct window_object *window)
{
	const void *node;

	pthread_mutex_lock(&window->device->lock);
	node = tsearch(window, &window->device->windows, compare);
	pthread_mutex_unlock(&window->device->lock);
	return node ? 0 : fail(ENOMEM, "no memory");
}

static void remove_window(struct window_object *window)
{
	pthread_mutex_lock(&window->device->lock);
	tdelete(window, &window->device->windows, compare);
	pthread_mutex_unlock(&window->device->lock);
}

/* The window whose key this is now; NULL: none. */
static struct window_object *find_window(struct bsn_device *device, uint32_t rkey)
{
	const struct window_object wanted = { .pub.rkey = rkey };
	struct window_object *const *node;

	pthread_mutex_lock(&device->lock);
	node = tfind(&wanted, &device->windows, compare);
	pthread_mutex_unlock(&device->lock);
	return node && (*node)->pub.rkey == rkey ? *node : NULL;
}

/* -- windows ----------------------------------------------------------------------------------- */

int bsn_window_create(struct bsn_device *device, const struct bsn_window_attr *given,
		      struct bsn_window **out)
{
	const struct bsn_window_attr attr = given ? *given : (struct bsn_window_attr){ 0 };
	struct window_object *window;
	int err;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the window");
	if (!pd_of(device, attr.pd))
		return -EINVAL;
	if (device->no_umr)
		return fail(EOPNOTSUPP, "no memory windows: %s", device->no_umr);
	window = calloc(1, sizeof(*window));
	if (!window)
		return fail(ENOMEM, "no memory");
	window->device = device;
	window->pd = pd_of(device, attr.pd);
	window->is_type_2 = !attr.is_type_1;
	errno = 0;
	window->verbs =
		ibv_alloc_mw(window->pd->verbs, attr.is_type_1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	err = provider_error_of_pointer(window->verbs);
	if (err) {
		free(window);
		return fail(-err, "no memory window: %s", strerror(-err));
	}
	window->pub.rkey = window->verbs->rkey;
	err = add_window(window);
	if (err) {
		ibv_dealloc_mw(window->verbs);
		free(window);
		return err;
	}
	use(&window->pd->uses);
	use(&device->uses[OF_MEMORY]);
	*out = &window->pub;
	return 0;
}

static void bind_to(struct window_object *window, struct uses *memory)
{
	if (memory)
		use(memory);
	if (window->bound)
		unuse(window->bound);
	window->bound = memory;
}

static void unbind(struct window_object *window)
{
	bind_to(window, NULL);
	window->pub.addr = window->pub.length = 0;
}

int bsn_window_destroy(struct bsn_window *pub)
{
	struct window_object *window = window_of(pub);
	int err;

	if (!window)
		return 0;
	err = destroyed(window->device, ibv_dealloc_mw(window->verbs));
	if (err)
		return fail(-err, "cannot destroy the window: %s", strerror(-err));
	remove_window(window);
	bind_to(window, NULL);
	unuse(&window->pd->uses);
	unuse(&window->device->uses[OF_MEMORY]);
	free(window);
	return 0;
}

static int check_queue(const struct bsn_ep *ep, const struct bsn_window *window)
{
	if (!ep || !ep->sq || !window)
		return fail(EINVAL, "no endpoint, or no window");
	if (!has_wqes(ep->sq) || dv_sq(ep->sq)->transport != BSN_TRANSPORT_RC)
		return fail(EOPNOTSUPP, "windows are bound by RC queue pairs of the direct path");
	return 0;
}

/*
 * What is known of the memory. Most windows are bound to the same memory each time, which needs no
 * lock.
 */
static const struct known_key *find_memory(struct window_object *window, uint32_t lkey)
{
	const uint32_t removed = atomic_load(&window->device->keys_removed);

	if (window->memory.pd && window->memory.lkey == lkey && window->keys_removed == removed)
		return &window->memory;
	window->keys_removed = removed;
	if (keys_find(window->device, lkey, &window->memory))
		return &window->memory;
	window->memory.pd = NULL;
	return NULL;
}

/*
 * Refuses a bind that memory registered by Bunsen does not allow: the device would fail the queue.
 */
static int check_memory(struct window_object *window, const struct bsn_sge *memory, int access)
{
	const struct known_key *const key = find_memory(window, memory->lkey);

	if (!key || key->mkey)
		return 0;
	if (key->pd != window->pd)
		return fail(EACCES, "lkey 0x%x is of another protection domain than the window",
			    key->lkey);
	if (!(key->access & IBV_ACCESS_MW_BIND))
		return fail(EACCES,
			    "lkey 0x%x: the memory was registered without IBV_ACCESS_MW_BIND",
			    key->lkey);
	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(key->access & IBV_ACCESS_LOCAL_WRITE))
		return fail(EACCES,
			    "lkey 0x%x: peers may write only what was registered with "
			    "IBV_ACCESS_LOCAL_WRITE",
			    key->lkey);
	if (memory->addr < key->addr || memory->length > key->length ||
	    memory->addr - key->addr > key->length - memory->length)
		return fail(EFAULT, "the window reaches outside the memory of lkey 0x%x",
			    key->lkey);
	return 0;
}

#define RIGHTS                                                                                     \
	(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |             \
	 IBV_ACCESS_ZERO_BASED)

int bsn_window_bind(struct bsn_ep *ep, struct bsn_window *pub, const struct bsn_sge *memory,
		    int access, uint64_t id, unsigned flags)
{
	struct window_object *window = window_of(pub);
	struct umr_window to;
	int err = check_queue(ep, pub);

	if (err)
		return err;
	if (!memory || !memory->length)
		return fail(
			EINVAL,
			"no memory: a window has one byte at least, and bsn_window_invalidate() "
			"undoes a binding");
	if (memory->length > BSN_KLM_MAX_BYTES)
		return fail(EMSGSIZE, "a window has 2^31 bytes at most");
	if (access & ~RIGHTS)
		return fail(EINVAL,
			    "access is 0x%x: a window takes IBV_ACCESS_REMOTE_* and "
			    "IBV_ACCESS_ZERO_BASED",
			    (unsigned)access);
	if (window->is_type_2 && pub->length)
		return fail(EBUSY, "the window is bound: invalidate it first");
	err = check_memory(window, memory, access);
	if (err)
		return err;
	to = (struct umr_window){ .key = pub->rkey,
				  .new_key = umr_next_variant(pub->rkey),
				  .memory = *memory,
				  .access = (unsigned)access,
				  .qpn = dv_sq(ep->sq)->qpn,
				  .is_type_2 = window->is_type_2 };
	err = umr_post_bind(ep->sq, &to, window->device->caps.fence, id, flags);
	if (err)
		return err;
	bind_to(window, window->memory.pd ? window->memory.windows : NULL);
	pub->rkey = window->verbs->rkey = to.new_key;
	pub->addr = access & IBV_ACCESS_ZERO_BASED ? 0 : memory->addr;
	pub->length = memory->length;
	return 0;
}

int bsn_window_invalidate(struct bsn_ep *ep, struct bsn_window *pub, uint64_t id, unsigned flags)
{
	struct window_object *window = window_of(pub);
	int err = check_queue(ep, pub);

	if (err)
		return err;
	if (!window->is_type_2)
		return fail(EOPNOTSUPP,
			    "a window of type 1 is not invalidated: bind it to other memory");
	if (!pub->length)
		return fail(EINVAL, "the window is not bound");
	err = umr_post_invalidate(ep->sq, pub->rkey, true, window->device->caps.fence, id, flags);
	if (err)
		return err;
	unbind(window);
	return 0;
}

int bsn_invalidated(struct bsn_device *device, uint32_t rkey)
{
	struct window_object *window;
	struct known_key key;

	if (!device)
		return fail(EINVAL, "no device");
	if (keys_find(device, keys_base_of(rkey), &key) && key.mkey)
		return mkey_invalidated(key.mkey, rkey);
	window = find_window(device, rkey);
	if (!window)
		return fail(ENOENT, "no mkey and no window has rkey 0x%x", rkey);
	unbind(window);
	return 0;
}
