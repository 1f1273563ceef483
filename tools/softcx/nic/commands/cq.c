/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues. */
#include "commands.h"

#include <errno.h>

#include "../cq.h"
#include "../session.h"
#include "../subscriptions.h"

static int check_cq(struct cx_hca *hca, const struct cx_cq_attr *attr)
{
	if (!cx_is_power_of_two(attr->entries) || attr->entries > 1u << 22 ||
	    (attr->cqe_size != 64 && attr->cqe_size != 128) || !attr->buf || !attr->db)
		return -EINVAL;
	if (!cx_has_channel(hca, attr->comp_channel, CX_EVENT_COMPLETION) ||
	    !cx_has_channel(hca, attr->async_channel, CX_EVENT_ASYNC))
		return -EINVAL;
	return 0;
}

static void count_cq(struct cx_hca *hca, const struct cx_cq_attr *attr, int change)
{
	cx_refer(hca, CX_CHANNEL, attr->comp_channel, change);
	cx_refer(hca, CX_CHANNEL, attr->async_channel, change);
	cx_refer(hca, CX_UMEM, attr->ring_umem, change);
	cx_refer(hca, CX_UMEM, attr->db_umem, change);
}

int cx_cq_make(struct cx_hca *hca, const struct cx_cq_attr *attr, uint32_t *cqn)
{
	struct cx_head *head;
	struct cx_cq *cq;
	uint32_t number;
	int err = check_cq(hca, attr);

	cx_session_prepare();
	if (!err)
		err = cx_create(hca, CX_CQ, &head, &number);
	if (err)
		return err;
	cq = (struct cx_cq *)head;
	cq->attr = *attr;
	cq->fired_sn = -1;
	err = cx_cq_reset_arm(hca, cq);
	if (err)
		return err;
	count_cq(hca, attr, 1);
	cx_publish(hca, CX_CQ, head, number);
	*cqn = number;
	return 0;
}

int cx_cq_create(struct cx_hca *hca, const struct cx_cq_attr *attr, uint32_t *cqn)
{
	int err;

	cx_lock_to_create(hca);
	err = cx_cq_make(hca, attr, cqn);
	cx_unlock(hca);
	return err;
}

int cx_cq_resize(struct cx_hca *hca, uint32_t cqn, uint64_t buf, uint32_t entries,
		 uint32_t cqe_size)
{
	struct cx_cq_attr attr;
	struct cx_cq *cq;
	int err = -EINVAL;

	cx_lock(hca);
	cq = cx_cq_find_own(hca, cqn);
	if (cq) {
		attr = cq->attr;
		attr.buf = buf;
		attr.entries = entries;
		attr.cqe_size = cqe_size;
		err = check_cq(hca, &attr);
	}
	if (!err)
		err = cx_cq_move(hca, cq, &attr);
	cx_unlock(hca);
	return err;
}

int cx_cq_moderate(struct cx_hca *hca, uint32_t cqn, uint16_t count, uint16_t period_us)
{
	struct cx_cq *cq;

	cx_lock(hca);
	cq = cx_cq_find_own(hca, cqn);
	if (cq) {
		cq->moderate_count = count;
		cq->moderate_us = period_us;
	}
	cx_unlock(hca);
	return cq ? 0 : -EINVAL;
}

int cx_cq_destroy(struct cx_hca *hca, uint32_t cqn)
{
	struct cx_cq *cq;
	int err;

	cx_lock(hca);
	cq = cx_cq_find_own(hca, cqn);
	err = cx_remove(hca, CX_CQ, cqn);
	if (!err) {
		count_cq(hca, &cq->attr, -1);
		cx_end_subscriptions(hca, &cq->told);
	}
	cx_unlock(hca);
	return err;
}
