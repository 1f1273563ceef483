/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the objects of all processes. */
#include <errno.h>
#include <string.h>

#include "process.h"
#include "tables.h"

static const enum cx_kind kinds[CX_RESOURCES] = {
	[CX_RESOURCE_PD] = CX_PD, [CX_RESOURCE_CQ] = CX_CQ,           [CX_RESOURCE_QP] = CX_QP,
	[CX_RESOURCE_MR] = CX_MR, [CX_RESOURCE_CONTEXT] = CX_CONTEXT, [CX_RESOURCE_SRQ] = CX_SRQ,
};

/*
 * The kernel does not list objects of DevX, which are the firmware's; windows and mkeys, which are
 * no regions; or targets (hw/mlx5/qp.c create_dct(): rdma_restrack_no_track()).
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

/* Of rdma_cm the kernel lists ids with a device; a listener to all addresses has each device. */
static const struct cx_cm_id *next_cm_id(const struct cx_cm *cm, uint32_t *index)
{
	while (*index < cm->ids_used) {
		const struct cx_cm_id *id = &cm->ids[(*index)++];

		if (id->file && (id->has_device || id->state == CX_CM_LISTEN))
			return id;
	}
	return NULL;
}

static void tell_cm_id(struct cx_hca *hca, const struct cx_cm_id *id, struct cx_resource *resource)
{
	static const uint8_t states[] = {
		[CX_CM_IDLE] = 0,	   [CX_CM_BOUND] = 7,	      [CX_CM_ADDRESS_QUERY] = 1,
		[CX_CM_ADDRESS_RESOLVED] = 2, [CX_CM_ROUTE_QUERY] = 3, [CX_CM_ROUTE_RESOLVED] = 4,
		[CX_CM_LISTEN] = 8,	   [CX_CM_CONNECT] = 5,	      [CX_CM_DISCONNECT] = 6,
	};
	const struct cx_cm *cm = &hca->shared->cm;

	*resource = (struct cx_resource){
		.number = (uint32_t)(id - cm->ids),
		.pid = hca->shared->procs[cm->files[id->file - 1].keeper].pid,
		.cm = { .port_space = id->port_space,
			.state = states[id->state],
			.qp_type = id->qp_type,
			.qpn = id->qpn },
	};
	memcpy(resource->cm.source, &id->source, sizeof(id->source));
	memcpy(resource->cm.destination, &id->destination, sizeof(id->destination));
}

static bool cm_resource_next(struct cx_hca *hca, uint32_t *index, struct cx_resource *resource)
{
	const struct cx_cm_id *id;

	cx_lock(hca);
	id = next_cm_id(&hca->shared->cm, index);
	if (id)
		tell_cm_id(hca, id, resource);
	cx_unlock(hca);
	return id;
}

static uint64_t count_cm_ids(struct cx_hca *hca)
{
	uint32_t index = 0;
	uint64_t count = 0;

	cx_lock(hca);
	while (next_cm_id(&hca->shared->cm, &index))
		count++;
	cx_unlock(hca);
	return count;
}

bool cx_resource_next(struct cx_hca *hca, enum cx_resource_kind kind, uint32_t *index,
		      struct cx_resource *resource)
{
	const struct cx_head *head;

	if (kind == CX_RESOURCE_CM_ID)
		return cm_resource_next(hca, index, resource);
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

	if (kind == CX_RESOURCE_CM_ID)
		return count_cm_ids(hca);
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
