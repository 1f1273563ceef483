/* SPDX-License-Identifier: BSD-2-Clause */
/* What both paths need to make their queues. */
#include "engine.h"

#include "bsn_decode.h"

uint8_t transport_of(enum bsn_qp_type type)
{
	return type == BSN_QP_RC   ? BSN_TRANSPORT_RC
	       : type == BSN_QP_UC ? BSN_TRANSPORT_UC
				   : BSN_TRANSPORT_UD;
}

int route_qp(struct qp_object *qp)
{
	int err = bsn_cq_add(&qp->cq->hot, qp->sq->qpn, qp->sq);

	if (!err && qp->recv_cq != qp->cq)
		err = bsn_cq_add(&qp->recv_cq->hot, qp->sq->qpn, qp->sq);
	return err ? fail(-err, "no memory") : 0;
}

void unroute_qp(struct qp_object *qp)
{
	bsn_cq_remove(&qp->cq->hot, qp->sq->qpn);
	if (qp->recv_cq != qp->cq)
		bsn_cq_remove(&qp->recv_cq->hot, qp->sq->qpn);
}
