/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers memory of the program. */
#include "register.h"

#include <stdlib.h>
#include <unistd.h>

#include "bsn_mem.h"

#define ACCESS_ALL                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

int mem_access_of(const struct bsn_device *device, int access)
{
	if (access)
		return access;
	return grants_atomics(device) ? ACCESS_ALL : ACCESS_ALL & ~IBV_ACCESS_REMOTE_ATOMIC;
}

int register_access(const struct bsn_device *device, const struct bsn_mr_attr *attr)
{
	int access = attr && attr->is_read_only ? attr->access
						: mem_access_of(device, attr ? attr->access : 0);

	if (attr && attr->is_on_demand)
		access |= IBV_ACCESS_ON_DEMAND;
	if (attr && attr->is_relaxed)
		access |= IBV_ACCESS_RELAXED_ORDERING;
	return access;
}

int register_explain(int error, uint64_t length)
{
	if (error == EFAULT)
		return fail(EFAULT, "the memory is not mapped, or the process may not write to it: "
				    "register such memory with is_read_only");
	return fail(error, "cannot register %llu bytes: %s%s", (unsigned long long)length,
		    strerror(error), memlock_hint(error));
}

int register_finish(struct bsn_pd *pd, struct ibv_mr *verbs, uint64_t addr, uint64_t length,
		    int access, struct mr_object **out)
{
	const int error = errno ? errno : EIO;
	struct mr_object *mr;

	if (!verbs)
		return register_explain(error, length);
	mr = calloc(1, sizeof(*mr));
	if (!mr) {
		ibv_dereg_mr(verbs);
		return fail(ENOMEM, "no memory");
	}
	mr->device = pd->device;
	mr->pd = pd;
	mr->verbs = verbs;
	mr->pub = (struct bsn_mr){ NULL, addr, length, verbs->lkey, verbs->rkey };
	mr->key = (struct known_key){ .lkey = mr->pub.lkey,
				      .addr = addr,
				      .length = length,
				      .pd = pd,
				      .access = access,
				      .windows = &mr->windows };
	if (keys_add(mr->device, &mr->key)) {
		ibv_dereg_mr(verbs);
		free(mr);
		return -ENOMEM;
	}
	use(&pd->uses);
	use(&mr->device->uses[OF_MEMORY]);
	*out = mr;
	return 0;
}

/* Devices translate by pages, so an IOVA must have the memory's offset in a page. */
static int check_iova(uint64_t addr, const struct bsn_mr_attr *attr)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (attr && attr->has_iova && (attr->iova ^ addr) & (page - 1))
		return fail(EINVAL,
			    "an IOVA must be at the same byte of a page as the memory: it is at "
			    "byte %llu, and 0x%llx at byte %llu",
			    (unsigned long long)(attr->iova & (page - 1)), (unsigned long long)addr,
			    (unsigned long long)(addr & (page - 1)));
	return 0;
}

int register_check(const struct bsn_device *device, const struct bsn_mr_attr *attr, int access)
{
	if (attr && attr->is_physical)
		return fail(EOPNOTSUPP, "no regions of physical addresses: %s",
			    device->no_physical);
	if (access & IBV_ACCESS_ON_DEMAND && device->no_odp)
		return fail(EOPNOTSUPP, "no memory on demand: %s", device->no_odp);
	return 0;
}

/* Whether this means all addresses of the process, as for ibv_reg_mr(). */
static bool is_implicit(const void *addr, size_t length)
{
	return !addr && length == SIZE_MAX;
}

static int check_implicit(const struct bsn_device *device, const struct bsn_mr_attr *attr)
{
	if (device->no_implicit)
		return fail(EOPNOTSUPP, "no implicit regions: %s", device->no_implicit);
	if (!attr || !attr->is_on_demand || attr->has_iova)
		return fail(EINVAL, "an implicit region must be on demand, and has no IOVA");
	return 0;
}

int bsn_mr_register(struct bsn_device *device, void *addr, size_t length,
		    const struct bsn_mr_attr *attr, struct bsn_mr **out)
{
	const bool is_all = is_implicit(addr, length);
	struct mr_object *mr;
	struct bsn_pd *pd;
	uint64_t iova;
	int access, err;

	if (!device || (!addr && !is_all) || !length || !out)
		return fail(EINVAL, "no device, no memory, or no place for the result");
	pd = pd_of(device, attr ? attr->pd : NULL);
	if (!pd)
		return -EINVAL;
	access = register_access(device, attr);
	err = check_iova((uintptr_t)addr, attr);
	if (!err && is_all)
		err = check_implicit(device, attr);
	if (!err)
		err = register_check(device, attr, access);
	if (err)
		return err;
	iova = attr && attr->has_iova ? attr->iova : (uintptr_t)addr;
	errno = 0;
	err = register_finish(pd, ibv_reg_mr_iova(pd->verbs, addr, length, iova, access), iova,
			      length, access, &mr);
	if (err)
		return err;
	mr->is_special = is_all;
	mr->pub.data = addr;
	*out = &mr->pub;
	return 0;
}

int bsn_mr_deregister(struct bsn_mr *pub)
{
	struct mr_object *mr = (struct mr_object *)(void *)pub;
	int err;

	if (!mr)
		return 0;
	if (atomic_load(&mr->windows.count))
		return fail(EBUSY,
			    "%u memory window(s) are bound to it: invalidate or destroy them; if a "
			    "peer invalidated one, call bsn_invalidated()",
			    atomic_load(&mr->windows.count));
	err = checks_free(mr->device, mr->pub.lkey);
	if (err)
		return err;
	keys_remove(mr->device, &mr->key);
	err = destroyed(mr->device, ibv_dereg_mr(mr->verbs));
	if (err) {
		keys_add(mr->device, &mr->key);
		return fail(-err, "cannot deregister the memory: %s", strerror(-err));
	}
	if (mr->release)
		mr->release(mr);
	unuse(&mr->pd->uses);
	unuse(&mr->device->uses[OF_MEMORY]);
	free(mr);
	return 0;
}

/* -- changing a region ------------------------------------------------------------------------- */

_Static_assert((int)BSN_MR_CHANGE_MEMORY == IBV_REREG_MR_CHANGE_TRANSLATION &&
		       (int)BSN_MR_CHANGE_PD == IBV_REREG_MR_CHANGE_PD &&
		       (int)BSN_MR_CHANGE_ACCESS == IBV_REREG_MR_CHANGE_ACCESS,
	       "as libibverbs counts them");

static int check_change(const struct mr_object *mr, unsigned changes, const void *addr,
			size_t length, const struct bsn_mr_attr *attr)
{
	const unsigned known = BSN_MR_CHANGE_MEMORY | BSN_MR_CHANGE_PD | BSN_MR_CHANGE_ACCESS;

	if (!mr || !changes || changes & ~known)
		return fail(EINVAL, "no region, no change, or an unknown one");
	if (mr->is_special || mr->pub.addr != (uintptr_t)mr->verbs->addr)
		return fail(EOPNOTSUPP,
			    "the region cannot be changed: it has an IOVA, or is not memory of the "
			    "program");
	if (changes & BSN_MR_CHANGE_MEMORY && mr->buf)
		return fail(EBUSY, "a buffer keeps its own bytes: register other memory with "
				   "bsn_mr_register()");
	if (changes & BSN_MR_CHANGE_MEMORY && (!addr || !length))
		return fail(EINVAL, "no memory");
	if (attr && attr->has_iova)
		return fail(EOPNOTSUPP, "libibverbs cannot change a region with an IOVA");
	return register_check(mr->device, attr,
			      changes & BSN_MR_CHANGE_ACCESS ? register_access(mr->device, attr)
							     : 0);
}

/*
 * The codes of ibv_rereg_mr() tell which step failed. The program gets the errno instead, and
 * EINVAL if there is none.
 */
static int rereg(struct mr_object *mr, unsigned changes, void *addr, size_t length, int access,
		 struct bsn_pd *pd)
{
	int error;

	errno = 0;
	if (!ibv_rereg_mr(mr->verbs, (int)changes, changes & BSN_MR_CHANGE_PD ? pd->verbs : NULL,
			  changes & BSN_MR_CHANGE_MEMORY ? addr : NULL,
			  changes & BSN_MR_CHANGE_MEMORY ? length : 0,
			  changes & BSN_MR_CHANGE_ACCESS ? access : 0))
		return 0;
	error = errno ? errno : EINVAL;
	return register_explain(error, length ? length : mr->pub.length);
}

static void move_to(struct mr_object *mr, struct bsn_pd *pd)
{
	use(&pd->uses);
	unuse(&mr->pd->uses);
	mr->pd = pd;
}

int bsn_mr_change(struct bsn_mr *pub, unsigned changes, void *addr, size_t length,
		  const struct bsn_mr_attr *attr)
{
	struct mr_object *mr = (struct mr_object *)(void *)pub;
	struct bsn_pd *pd;
	int rights, err = check_change(mr, changes, addr, length, attr);

	if (err)
		return err;
	pd = pd_of(mr->device, attr ? attr->pd : NULL);
	if (!pd)
		return -EINVAL;
	rights = register_access(mr->device, attr);
	keys_remove(mr->device, &mr->key);
	err = rereg(mr, changes, addr, length, rights, pd);
	if (err || !(changes & BSN_MR_CHANGE_ACCESS))
		rights = mr->key.access;
	if (!err && changes & BSN_MR_CHANGE_PD)
		move_to(mr, pd);
	if (!err && changes & BSN_MR_CHANGE_MEMORY) {
		mr->pub.data = addr;
		mr->pub.addr = (uintptr_t)addr;
		mr->pub.length = length;
	}
	mr->pub.lkey = mr->verbs->lkey;
	mr->pub.rkey = mr->verbs->rkey;
	mr->key = (struct known_key){ .lkey = mr->pub.lkey,
				      .addr = mr->pub.addr,
				      .length = mr->pub.length,
				      .pd = mr->pd,
				      .access = rights,
				      .windows = &mr->windows };
	return keys_add(mr->device, &mr->key) ? -ENOMEM : err;
}
