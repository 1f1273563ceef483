/* SPDX-License-Identifier: BSD-2-Clause */
/* Null regions, dma-bufs, and memory on demand. dm.c has regions of the device's own memory. */
#include "register.h"

#include <stdlib.h>

#include "bsn_mem.h"

static int finish_special(struct bsn_pd *pd, struct ibv_mr *verbs, uint64_t addr, uint64_t length,
			  int access, struct bsn_mr **out)
{
	struct mr_object *mr;
	const int err = register_finish(pd, verbs, addr, length, access, &mr);

	if (err)
		return err;
	mr->is_special = true;
	*out = &mr->pub;
	return 0;
}

int bsn_mr_register_null(struct bsn_device *device, struct bsn_pd *pd, struct bsn_mr **out)
{
	struct ibv_mr *verbs;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the result");
	if (device->no_null)
		return fail(EOPNOTSUPP, "no null regions: %s", device->no_null);
	pd = pd_of(device, pd);
	if (!pd)
		return -EINVAL;
	errno = 0;
	verbs = ibv_alloc_null_mr(pd->verbs);
	return finish_special(pd, verbs, 0, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE, out);
}

int bsn_mr_register_dmabuf(struct bsn_device *device, int fd, uint64_t offset, size_t length,
			   const struct bsn_mr_attr *attr, struct bsn_mr **out)
{
	const uint64_t iova = attr && attr->has_iova ? attr->iova : offset;
	struct ibv_mr *verbs;
	struct bsn_pd *pd;
	int err;

	if (!device || !length || !out)
		return fail(EINVAL, "no device, no length, or no place for the result");
	if (device->no_dmabuf)
		return fail(EOPNOTSUPP, "no dma-bufs: %s", device->no_dmabuf);
	pd = pd_of(device, attr ? attr->pd : NULL);
	if (!pd)
		return -EINVAL;
	err = register_check(device, attr, 0);
	if (err)
		return err;
	errno = 0;
	verbs = ibv_reg_dmabuf_mr(pd->verbs, offset, length, iova, fd,
				  register_access(device, attr));
	if (!verbs && errno == EBADF)
		return fail(EBADF, "%d is not an open descriptor", fd);
	if (!verbs && errno == EINVAL)
		return fail(
			EINVAL,
			"descriptor %d is not a dma-buf, or ends before byte %llu, or the IOVA has "
			"another offset in its page than the first byte",
			fd, (unsigned long long)(offset + length));
	return finish_special(pd, verbs, iova, length, register_access(device, attr), out);
}

/* -- advice ------------------------------------------------------------------------------------ */

enum { SGES_MAX = 64 };

static int explain_prefetch(int error)
{
	switch (error) {
	case ENOENT:
		return fail(ENOENT, "an SGE's lkey is not that of an on-demand region");
	case EPERM:
		return fail(EPERM, "a region is of another protection domain, or not writable");
	case EFAULT:
		return fail(EFAULT, "an SGE reaches beyond its region, or is not mapped");
	default:
		return fail(error, "cannot prefetch: %s", strerror(error));
	}
}

int bsn_mr_prefetch(struct bsn_device *device, struct bsn_pd *pd, const struct bsn_sge *sge,
		    unsigned count, unsigned flags)
{
	const unsigned known = BSN_PREFETCH_WRITE | BSN_PREFETCH_WAIT | BSN_PREFETCH_NO_FAULT;
	const enum ib_uverbs_advise_mr_advice advice =
		flags & BSN_PREFETCH_WRITE      ? IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE
		: flags & BSN_PREFETCH_NO_FAULT ? IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT
						: IBV_ADVISE_MR_ADVICE_PREFETCH;
	struct ibv_sge list[SGES_MAX];
	int error;

	if (!device || !sge || !count || flags & ~known ||
	    (flags & BSN_PREFETCH_WRITE && flags & BSN_PREFETCH_NO_FAULT))
		return fail(EINVAL,
			    "no device, no SGEs, unknown flags, or both WRITE and NO_FAULT");
	if (count > SGES_MAX)
		return fail(EINVAL, "%u SGEs: a call takes %d at most", count, SGES_MAX);
	if (device->no_odp)
		return fail(EOPNOTSUPP, "no memory on demand: %s", device->no_odp);
	pd = pd_of(device, pd);
	if (!pd)
		return -EINVAL;
	for (unsigned i = 0; i < count; i++)
		list[i] = (struct ibv_sge){ sge[i].addr, sge[i].length, sge[i].lkey };
	error = ibv_advise_mr(pd->verbs, advice,
			      flags & BSN_PREFETCH_WAIT ? IBV_ADVISE_MR_FLAG_FLUSH : 0, list,
			      (int)count);
	return error ? explain_prefetch(error) : 0;
}
