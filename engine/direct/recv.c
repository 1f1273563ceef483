/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct path's receive queues, a QP's own and shared ones. */
#include "direct.h"

#include "srq.h"

int direct_rq_make(struct bsn_qp *qp, const struct provider_qp *map)
{
	const struct bsn_rq_init init = {
		.ring = map->rq_ring,
		.record = map->record + BSN_DBR_RECV_OFFSET / sizeof(*map->record),
		.count = map->rq_count,
		.capacity = qp->info.recv_depth,
		.stride_bytes = map->rq_stride_bytes,
	};
	/*
	 * An application's QP may have no receive queue; posts to it are refused as to a full one.
	 */
	const struct bsn_rq_init none = { .count = 1, .stride_bytes = BSN_DATA_SIZE };

	if (qp->srq) {
		qp->rq = qp->srq->rq;
		return 0;
	}
	qp->rq = bsn_rq_alloc(map->rq_count ? &init : &none);
	if (!qp->rq)
		return fail(ENOMEM, "no memory");
	dv_rq(qp->rq)->owner = qp;
	return 0;
}

/*
 * Where the list of free WQEs is cut: the CQ has entries for @depth receives, and the list keeps
 * one WQE that is never posted.
 */
static uint16_t last_free(const struct provider_srq *map, uint32_t depth)
{
	struct bsn_srq_next link = { .next_wqe_index = map->head };

	for (uint32_t i = 0; i < depth; i++)
		bsn_srq_next_decode(&link,
				    map->ring + (size_t)link.next_wqe_index * map->stride_bytes);
	return (uint16_t)link.next_wqe_index;
}

int direct_srq_make(struct srq_object *srq)
{
	struct provider_srq map;
	const int err = provider_srq_map(srq->verbs, &map);

	if (err)
		return fail(-err, "cannot map the SRQ: %s", strerror(-err));
	srq->rq = bsn_srq_alloc(&(const struct bsn_rq_init){
		.ring = map.ring,
		.record = map.record,
		.count = srq->slots,
		.stride_bytes = map.stride_bytes,
		.is_on_demand = srq->is_on_demand,
		.first_free = map.head,
		.last_free = last_free(&map, srq->depth),
	});
	if (!srq->rq)
		return fail(ENOMEM, "no memory");
	srq->number = map.number;
	dv_rq(srq->rq)->owner = srq;
	return 0;
}

/*
 * Needs to do nothing: its completions in the CQ are made anonymous later, since only Bunsen reads
 * them.
 */
int direct_srq_leave(struct srq_object *srq)
{
	(void)srq;
	return 0;
}

uint32_t direct_srq_free_slots(const struct srq_object *srq, uint32_t *slots, uint32_t max)
{
	const struct bsn_srq *const ring = bsn_srq_of(srq->rq);
	uint32_t slot = ring->next, n = 0;

	for (; n < max && slot != BSN_SRQ_NO_SLOT; n++) {
		slots[n] = slot;
		slot = bsn_srq_link(bsn_srq_wqe(ring, slot));
	}
	return n;
}

void direct_srq_free(struct srq_object *srq)
{
	bsn_rq_free(srq->rq);
}
