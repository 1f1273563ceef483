/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's own memory (MEMIC): rdma-core providers/mlx5/verbs.c mlx5_alloc_dm(),
 * mlx5_access_dm().
 */
#include "register.h"

#include <stdlib.h>

#include "bsn_mem.h"

struct bsn_dm {
	struct bsn_device *device;
	struct ibv_dm *verbs;
	uint64_t length;
	struct uses uses;
};

int bsn_dm_alloc(struct bsn_device *device, size_t length, unsigned align_log2, struct bsn_dm **out)
{
	struct ibv_alloc_dm_attr attr = { .length = length, .log_align_req = align_log2 };
	struct bsn_dm *dm;
	int error;

	if (!device || !length || !out)
		return fail(EINVAL, "no device, no length, or no place for the result");
	if (device->no_dm)
		return fail(EOPNOTSUPP, "no device memory: %s", device->no_dm);
	if (length > device->max_dm_bytes)
		return fail(EINVAL, "the device has %llu bytes of memory",
			    (unsigned long long)device->max_dm_bytes);
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return fail(ENOMEM, "no memory");
	errno = 0;
	dm->verbs = ibv_alloc_dm(device->context, &attr);
	if (!dm->verbs) {
		error = errno ? errno : EIO;
		free(dm);
		return fail(error, "cannot get %zu bytes of the device's memory: %s", length,
			    strerror(error));
	}
	dm->device = device;
	dm->length = length;
	use(&device->uses[OF_MEMORY]);
	*out = dm;
	return 0;
}

int bsn_dm_free(struct bsn_dm *dm)
{
	int err;

	if (!dm)
		return 0;
	if (atomic_load(&dm->uses.count))
		return fail(EBUSY, "regions of this memory are registered: deregister them first");
	err = destroyed(dm->device, ibv_free_dm(dm->verbs));
	if (err)
		return fail(-err, "cannot free the device's memory: %s", strerror(-err));
	unuse(&dm->device->uses[OF_MEMORY]);
	free(dm);
	return 0;
}

static int check_range(const struct bsn_dm *dm, uint64_t offset, size_t length, int error)
{
	if (offset <= dm->length && length <= dm->length - offset)
		return 0;
	return fail(error, "%zu bytes from byte %llu on: this device memory has %llu", length,
		    (unsigned long long)offset, (unsigned long long)dm->length);
}

/* The result of a copy by libibverbs. */
static int copied(int result)
{
	const int err = provider_error_of_int(result);

	return err ? fail(-err, "cannot copy device memory: %s", strerror(-err)) : 0;
}

static int check_copy(const struct bsn_dm *dm, uint64_t offset, const void *bytes, size_t length)
{
	if (!dm || !bytes)
		return fail(EINVAL, "no device memory, or no bytes to copy");
	if ((offset | length) & 3)
		return fail(EINVAL,
			    "device memory is copied by multiples of 4 bytes: offset %llu, "
			    "length %zu",
			    (unsigned long long)offset, length);
	return check_range(dm, offset, length, EFAULT);
}

int bsn_dm_write(struct bsn_dm *dm, uint64_t offset, const void *from, size_t length)
{
	const int err = check_copy(dm, offset, from, length);

	return err ? err : copied(ibv_memcpy_to_dm(dm->verbs, offset, from, length));
}

int bsn_dm_read(struct bsn_dm *dm, uint64_t offset, void *to, size_t length)
{
	const int err = check_copy(dm, offset, to, length);

	return err ? err : copied(ibv_memcpy_from_dm(to, dm->verbs, offset, length));
}

static void release_dm(struct mr_object *mr)
{
	unuse(&mr->dm->uses);
}

int bsn_mr_register_dm(struct bsn_dm *dm, uint64_t offset, size_t length,
		       const struct bsn_mr_attr *attr, struct bsn_mr **out)
{
	struct mr_object *mr;
	struct bsn_pd *pd;
	int access, err;

	if (!dm || !length || !out || (attr && attr->has_iova && attr->iova))
		return fail(EINVAL, "no memory, no place for the result, or an IOVA: addresses of "
				    "device memory begin at 0");
	err = check_range(dm, offset, length, EINVAL);
	if (err)
		return err;
	pd = pd_of(dm->device, attr ? attr->pd : NULL);
	if (!pd)
		return -EINVAL;
	access = register_access(dm->device, attr) | IBV_ACCESS_ZERO_BASED;
	err = register_check(dm->device, attr, 0);
	if (err)
		return err;
	errno = 0;
	err = register_finish(pd,
			      ibv_reg_dm_mr(pd->verbs, dm->verbs, offset, length, (unsigned)access),
			      0, length, access, &mr);
	if (err)
		return err;
	mr->dm = dm;
	mr->is_special = true;
	mr->release = release_dm;
	use(&dm->uses);
	*out = &mr->pub;
	return 0;
}
