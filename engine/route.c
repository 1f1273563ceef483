/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds a QP's queues to its CQs, and removes them. */
#include "path.h"

static int add(struct cq_object *cq, struct bsn_qp *qp)
{
	int err;

	cq_lock(cq);
	err = bsn_cq_add(cq->ring, dv_sq(qp->sq)->qpn, &dv_sq(qp->sq)->route.hot);
	cq_unlock(cq);
	return err;
}

int route_qp(struct bsn_qp *qp)
{
	int err = add(qp->cq, qp);

	if (!err && qp->recv_cq != qp->cq) {
		err = add(qp->recv_cq, qp);
		if (err)
			bsn_cq_abandon(qp->cq->ring, dv_sq(qp->sq)->qpn);
	}
	return err ? fail(-err, "no memory") : 0;
}

/* Calls @act for both CQs under their locks, so that no poller reads the QP's route or CQEs. */
static void on_cqs(struct bsn_qp *qp, void (*act)(struct bsn_cq *cq, uint32_t qpn))
{
	cq_lock(qp->cq);
	act(qp->cq->ring, dv_sq(qp->sq)->qpn);
	cq_unlock(qp->cq);
	if (qp->recv_cq == qp->cq)
		return;
	cq_lock(qp->recv_cq);
	act(qp->recv_cq->ring, dv_sq(qp->sq)->qpn);
	cq_unlock(qp->recv_cq);
}

void unroute_qp(struct bsn_qp *qp)
{
	on_cqs(qp, bsn_cq_remove);
}

void drop_cqes(struct bsn_qp *qp)
{
	on_cqs(qp, bsn_cq_drop);
}
