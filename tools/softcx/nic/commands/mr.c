/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains, their memory regions, and memory that commands name (umems). */
#include "commands.h"

#include <errno.h>

#include "bsn_umr.h"
#include "../changes.h"

int cx_pd_make(struct cx_hca *hca, uint32_t *pdn)
{
	struct cx_head *head;
	uint32_t number;
	const int err = cx_create(hca, CX_PD, &head, &number);

	if (err)
		return err;
	cx_publish(hca, CX_PD, head, number);
	*pdn = number;
	return 0;
}

int cx_pd_create(struct cx_hca *hca, uint32_t *pdn)
{
	int err;

	cx_lock_to_create(hca);
	err = cx_pd_make(hca, pdn);
	cx_unlock(hca);
	return err;
}

int cx_pd_destroy(struct cx_hca *hca, uint32_t pdn)
{
	int err;

	cx_lock(hca);
	err = cx_remove(hca, CX_PD, pdn);
	cx_unlock(hca);
	return err;
}

int cx_umem_create(struct cx_hca *hca, uint64_t va, uint64_t length, bool is_writable,
		   uint32_t *number)
{
	struct cx_head *head;
	uint32_t umem;
	int err;

	cx_lock_to_create(hca);
	err = cx_create(hca, CX_UMEM, &head, &umem);
	if (!err) {
		((struct cx_umem *)head)->va = va;
		((struct cx_umem *)head)->length = length;
		((struct cx_umem *)head)->is_writable = is_writable;
		cx_publish(hca, CX_UMEM, head, umem);
		*number = umem;
	}
	cx_unlock(hca);
	return err;
}

int cx_umem_destroy(struct cx_hca *hca, uint32_t number)
{
	int err;

	cx_lock(hca);
	err = cx_remove(hca, CX_UMEM, number);
	cx_unlock(hca);
	return err;
}

int cx_mr_create(struct cx_hca *hca, const struct cx_mr_attr *attr, uint32_t *key)
{
	struct cx_head *head;
	uint32_t number;
	struct cx_mr *mr;
	int err;

	cx_lock_to_create(hca);
	err = cx_pd_find_own(hca, attr->pdn) ? 0 : -EINVAL;
	if (!err)
		err = cx_create(hca, CX_MR, &head, &number);
	if (!err) {
		mr = (struct cx_mr *)head;
		mr->attr = *attr;
		mr->is_region = true;
		mr->mode = BSN_MKEY_MODE_MTT;
		mr->qpn = BSN_MKEY_QPN_ANY;
		cx_refer(hca, CX_PD, attr->pdn, 1);
		cx_publish(hca, CX_MR, head, number);
		*key = number;
	}
	cx_unlock(hca);
	return err;
}

/* Changes what the flags name; the key stays. */
static int merge_mr(struct cx_hca *hca, struct cx_mr *mr, int flags, const struct cx_mr_attr *attr,
		    struct cx_mr_attr *merged)
{
	*merged = mr->attr;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		merged->va = attr->va;
		merged->iova = attr->iova;
		merged->length = attr->length;
		cx_changes_forget(mr);
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		merged->access = attr->access;
	if (flags & IBV_REREG_MR_CHANGE_PD)
		merged->pdn = attr->pdn;
	if (!cx_pd_find_own(hca, merged->pdn))
		return -EINVAL;
	return 0;
}

int cx_mr_modify(struct cx_hca *hca, uint32_t key, int flags, const struct cx_mr_attr *attr)
{
	struct cx_mr_attr merged;
	struct cx_mr *mr;
	int err;

	cx_lock(hca);
	mr = cx_mr_find_own(hca, key);
	err = mr ? merge_mr(hca, mr, flags, attr, &merged) : -EINVAL;
	if (!err) {
		cx_refer(hca, CX_PD, mr->attr.pdn, -1);
		cx_refer(hca, CX_PD, merged.pdn, 1);
		mr->attr = merged;
		mr->free = false;
	}
	cx_unlock(hca);
	return err;
}

int cx_mr_destroy(struct cx_hca *hca, uint32_t key)
{
	struct cx_mr *mr;
	int err;

	cx_lock(hca);
	mr = cx_mr_find_own(hca, key);
	if (mr)
		cx_refer(hca, CX_PD, mr->attr.pdn, -1);
	err = cx_remove(hca, CX_MR, key);
	cx_unlock(hca);
	return err;
}
