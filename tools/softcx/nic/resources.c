/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the objects of all processes. */
#include <errno.h>

#include "process.h"
#include "tables.h"

static const enum cx_kind kinds[CX_RESOURCES] = {
	[CX_RESOURCE_PD] = CX_PD, [CX_RESOURCE_CQ] = CX_CQ,           [CX_RESOURCE_QP] = CX_QP,
	[CX_RESOURCE_MR] = CX_MR, [CX_RESOURCE_CONTEXT] = CX_CONTEXT, [CX_RESOURCE_SRQ] = CX_SRQ,
};

/*
 * Objects of DevX are the firmware's, and windows and mkeys are no regions: the kernel lists neither. Nor does it list
 * targets (hw/mlx5/qp.c create_dct(): rdma_restrack_no_track()).
 */
static bool is_listed(enum cx_resource_kind kind, const struct cx_head *head)
{
	switch (kind) {
	case CX_RESOURCE_CQ:
		return !((const struct cx_cq *)head)->attr.ring_umem;
	case CX_RESOURCE_QP:
		return !((const struct cx_qp *)head)->attr.ring_umem &&
		       ((const struct cx_qp *)head)->attr.dc != CX_DC_TARGET;
	case CX_RESOURCE_SRQ:
		return !((const struct cx_srq *)head)->attr.ring_umem;
	case CX_RESOURCE_MR:
		return ((const struct cx_mr *)head)->is_region;
	default:
		return true;
	}
}

static void tell_qp(const struct cx_qp *qp, struct cx_resource *resource)
{
	resource->pdn = qp->attr.pdn;
	resource->qp.type = qp->attr.type;
	resource->qp.mod = qp->mod;
}

static void tell_srq(const struct cx_srq *srq, struct cx_resource *resource)
{
	resource->pdn = srq->attr.pdn;
	resource->srq.is_xrc = srq->attr.xrcdn != 0;
	resource->srq.cqn = srq->attr.cqn;
}

static void tell(enum cx_resource_kind kind, const struct cx_head *head,
		 struct cx_resource *resource)
{
	switch (kind) {
	case CX_RESOURCE_CQ:
		resource->cq.entries = ((const struct cx_cq *)head)->attr.entries;
		break;
	case CX_RESOURCE_QP:
		tell_qp((const struct cx_qp *)head, resource);
		break;
	case CX_RESOURCE_MR:
		resource->pdn = ((const struct cx_mr *)head)->attr.pdn;
		resource->mr.iova = ((const struct cx_mr *)head)->attr.iova;
		resource->mr.length = ((const struct cx_mr *)head)->attr.length;
		break;
	case CX_RESOURCE_SRQ:
		tell_srq((const struct cx_srq *)head, resource);
		break;
	default:
		break;
	}
}

bool cx_resource_next(struct cx_hca *hca, enum cx_resource_kind kind, uint32_t *index,
		      struct cx_resource *resource)
{
	const struct cx_head *head;

	cx_lock(hca);
	do
		head = cx_next_of_all(hca, kinds[kind], index);
	while (head && !is_listed(kind, head));
	if (head) {
		*resource = (struct cx_resource){ .number = head->number,
						  .pid = hca->shared->procs[head->owner].pid,
						  .users = head->users };
		tell(kind, head, resource);
	}
	cx_unlock(hca);
	return head != NULL;
}

uint64_t cx_resource_count(struct cx_hca *hca, enum cx_resource_kind kind)
{
	uint32_t index = 0;
	uint64_t count = 0;

	cx_lock(hca);
	for (const struct cx_head *head; (head = cx_next_of_all(hca, kinds[kind], &index));)
		count += is_listed(kind, head);
	cx_unlock(hca);
	return count;
}

int cx_context_create(struct cx_hca *hca, uint32_t *number)
{
	struct cx_head *head;
	uint32_t context;
	int err;

	cx_lock_to_create(hca);
	err = cx_create(hca, CX_CONTEXT, &head, &context);
	if (!err) {
		cx_publish(hca, CX_CONTEXT, head, context);
		*number = context;
	}
	cx_unlock(hca);
	return err;
}

void cx_context_destroy(struct cx_hca *hca, uint32_t number)
{
	cx_lock(hca);
	cx_remove(hca, CX_CONTEXT, number);
	cx_unlock(hca);
}
