/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. */
#include "commands.h"

#include <errno.h>

#include "../rq.h"
#include "../scratch.h"
#include "../subscriptions.h"

/* -- shared receive queues --------------------------------------------------------------------- */

static int check_srq(struct cx_hca *hca, const struct cx_srq_attr *attr)
{
	if (!cx_pd_find_own(hca, attr->pdn) || !cx_is_power_of_two(attr->count) ||
	    !cx_is_power_of_two(attr->stride_bytes) || attr->stride_bytes < 32 ||
	    attr->stride_bytes > CX_MAX_RECV_STRIDE || attr->count > 1u << 16 || !attr->buf ||
	    !attr->db)
		return -EINVAL;
	if (attr->xrcdn &&
	    (!cx_xrcd_find_own(hca, attr->xrcdn) || !cx_cq_find_own(hca, attr->cqn)))
		return -EINVAL;
	return cx_has_channel(hca, attr->async_channel, CX_EVENT_ASYNC) ? 0 : -EINVAL;
}

static void count_srq(struct cx_hca *hca, const struct cx_srq_attr *attr, int change)
{
	cx_refer(hca, CX_PD, attr->pdn, change);
	cx_refer(hca, CX_CHANNEL, attr->async_channel, change);
	cx_refer(hca, CX_XRCD, attr->xrcdn, change);
	cx_refer(hca, CX_CQ, attr->cqn, change);
	cx_refer(hca, CX_UMEM, attr->ring_umem, change);
	cx_refer(hca, CX_UMEM, attr->db_umem, change);
}

int cx_srq_make(struct cx_hca *hca, const struct cx_srq_attr *attr, uint32_t *srqn)
{
	struct cx_head *head;
	uint32_t number;
	int err = check_srq(hca, attr);

	if (!err)
		err = cx_create(hca, CX_SRQ, &head, &number);
	if (err)
		return err;
	((struct cx_srq *)head)->attr = *attr;
	count_srq(hca, attr, 1);
	cx_publish(hca, CX_SRQ, head, number);
	*srqn = number;
	return 0;
}

int cx_srq_create(struct cx_hca *hca, const struct cx_srq_attr *attr, uint32_t *srqn)
{
	int err;

	cx_lock_to_create(hca);
	err = cx_srq_make(hca, attr, srqn);
	cx_unlock(hca);
	return err;
}

int cx_srq_arm(struct cx_hca *hca, uint32_t srqn, uint32_t limit)
{
	struct cx_srq *srq;

	cx_lock(hca);
	srq = cx_srq_find_own(hca, srqn);
	if (srq) {
		srq->limit = limit;
		cx_srq_check_limit(hca, srq);
	}
	cx_unlock(hca);
	return srq ? 0 : -EINVAL;
}

int cx_srq_query(struct cx_hca *hca, uint32_t srqn, uint32_t *limit)
{
	struct cx_srq *srq;

	cx_lock(hca);
	srq = cx_srq_find_own(hca, srqn);
	if (srq)
		*limit = srq->limit;
	cx_unlock(hca);
	return srq ? 0 : -EINVAL;
}

int cx_srq_destroy(struct cx_hca *hca, uint32_t srqn)
{
	struct cx_srq *srq;
	int err;

	cx_lock(hca);
	srq = cx_srq_find_own(hca, srqn);
	err = cx_remove(hca, CX_SRQ, srqn);
	if (!err) {
		count_srq(hca, &srq->attr, -1);
		cx_end_subscriptions(hca, &srq->told);
	}
	cx_unlock(hca);
	return err;
}
