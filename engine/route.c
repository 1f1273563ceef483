/* SPDX-License-Identifier: BSD-2-Clause */
/* Which queues a completion is for. */
#include "path.h"

int route_qp(struct bsn_qp *qp)
{
	int err = bsn_cq_add(&qp->cq->hot, qp->sq->qpn, &qp->sq->route);

	if (err || qp->recv_cq == qp->cq)
		return err ? fail(-err, "no memory") : 0;
	err = bsn_cq_add(&qp->recv_cq->hot, qp->sq->qpn, &qp->sq->route);
	if (!err)
		return 0;
	bsn_cq_abandon(&qp->cq->hot, qp->sq->qpn);
	return fail(-err, "no memory");
}

void unroute_qp(struct bsn_qp *qp)
{
	bsn_cq_remove(&qp->cq->hot, qp->sq->qpn);
	if (qp->recv_cq != qp->cq)
		bsn_cq_remove(&qp->recv_cq->hot, qp->sq->qpn);
}
