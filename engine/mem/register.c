/* SPDX-License-Identifier: BSD-2-Clause */
/* Registered memory. */
#include "keys.h"

#include <stdlib.h>

#define ACCESS_ALL                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

int mem_access_of(const struct bsn_device *device, int access)
{
	if (access)
		return access;
	return has_atomics(device) ? ACCESS_ALL : ACCESS_ALL & ~IBV_ACCESS_REMOTE_ATOMIC;
}

static int access_of(const struct bsn_device *device, const struct bsn_mr_attr *attr)
{
	if (attr && attr->is_read_only)
		return attr->access;
	return mem_access_of(device, attr ? attr->access : 0);
}

static int explain(int error, size_t length)
{
	if (error == EFAULT)
		return fail(EFAULT, "the memory is not mapped, or not writable");
	return fail(error, "cannot register %zu bytes: %s%s", length, strerror(error),
		    memlock_hint(error));
}

int bsn_mr_register(struct bsn_device *device, void *addr, size_t length,
		    const struct bsn_mr_attr *attr, struct bsn_mr **out)
{
	struct bsn_pd *pd = attr && attr->pd ? attr->pd : device ? &device->default_pd : NULL;
	struct mr_object *mr;

	if (!device || !addr || !length || !out)
		return fail(EINVAL, "no device, no memory, or no place for the result");
	if (pd->device != device)
		return fail(EINVAL, "the protection domain is of another device");
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return fail(ENOMEM, "no memory");
	errno = 0;
	mr->verbs = ibv_reg_mr(pd->verbs, addr, length, access_of(device, attr));
	if (!mr->verbs) {
		const int error = errno ? errno : EIO;
		free(mr);
		return explain(error, length);
	}
	mr->device = device;
	mr->pd = pd;
	mr->pub = (struct bsn_mr){ .addr = (uintptr_t)addr,
				   .length = length,
				   .lkey = mr->verbs->lkey,
				   .rkey = mr->verbs->rkey };
	mr->key = (struct known_key){ .lkey = mr->pub.lkey,
				      .addr = mr->pub.addr,
				      .length = length,
				      .pd = pd,
				      .access = access_of(device, attr) };
	if (keys_add(device, &mr->key)) {
		ibv_dereg_mr(mr->verbs);
		free(mr);
		return -ENOMEM;
	}
	use(&pd->uses);
	use(&device->uses[OF_MEMORY]);
	*out = &mr->pub;
	return 0;
}

int bsn_mr_deregister(struct bsn_mr *pub)
{
	struct mr_object *mr = (struct mr_object *)(void *)pub;
	int err;

	if (!mr)
		return 0;
	keys_remove(mr->device, &mr->key);
	err = destroyed(mr->device, ibv_dereg_mr(mr->verbs));
	if (err) {
		keys_add(mr->device, &mr->key);
		return fail(-err, "the memory is still in use: %s", strerror(-err));
	}
	if (mr->release)
		mr->release(mr);
	unuse(&mr->pd->uses);
	unuse(&mr->device->uses[OF_MEMORY]);
	free(mr);
	return 0;
}
