/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of a QP: ready for receives, failed, reset. connect.c takes it to a peer. */
#include "init.h"
#include "path.h"

#include "bsn_syndrome.h"

int qp_modify(struct bsn_qp *qp, struct ibv_qp_attr *attr, int mask, const char *to)
{
	const int err =
		provider_error_of_int(ibv_modify_qp(qp->verbs, attr, mask | IBV_QP_STATE));

	return err ? fail(-err, "cannot bring the QP to %s: %s", to, strerror(-err)) : 0;
}

int qp_state(struct bsn_qp *qp, enum ibv_qp_state *state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	const int err = provider_error_of_int(ibv_query_qp(qp->verbs, &attr, IBV_QP_STATE, &init));

	if (err)
		return fail(-err, "cannot query the QP: %s", strerror(-err));
	*state = attr.qp_state;
	return 0;
}

static int to_init(struct bsn_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = qp->device->info.port,
		.qkey = qp->qkey,
		.qp_access_flags = (unsigned)qp->transport->access,
	};
	int mask = IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (!has_atomics(qp->device))
		attr.qp_access_flags &= ~(unsigned)IBV_ACCESS_REMOTE_ATOMIC;
	if (!qp->transport->is_initiator)
		mask |= qp->transport->has_qkey ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	return qp_modify(qp, &attr, mask, "INIT");
}

int qp_make_ready(struct bsn_qp *qp)
{
	bsn_sq_close(qp->sq, ENOTCONN, "the QP is not connected: bsn_qp_connect() first");
	return to_init(qp);
}

int bsn_qp_init(struct bsn_qp *qp)
{
	enum ibv_qp_state state;
	int err;

	if (!qp)
		return fail(EINVAL, "no QP");
	err = qp_state(qp, &state);
	if (err || state == IBV_QPS_INIT)
		return err;
	if (state != IBV_QPS_RESET)
		return fail(EINVAL, "the QP is connected, or in error: bsn_qp_reset() first");
	return to_init(qp);
}

int bsn_qp_fail(struct bsn_qp *qp)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	int err;

	if (!qp)
		return fail(EINVAL, "no QP");
	err = qp_modify(qp, &error, 0, "error");
	return err ? err : qp->path->qp_failed(qp);
}

int bsn_qp_reset(struct bsn_qp *qp)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	int err;

	if (!qp)
		return fail(EINVAL, "no QP");
	err = qp->path->qp_leave(qp);
	if (!err)
		err = qp_modify(qp, &reset, 0, "reset");
	if (err)
		return err;
	pools_forget_queue(qp->device, qp->sq);
	qp->path->qp_clear(qp);
	memset(&qp->first_error, 0, sizeof(qp->first_error));
	qp->sq->route.has_error = 0;
	return qp->owns_verbs ? qp_make_ready(qp) : 0;
}

int bsn_qp_outstanding(struct bsn_qp *qp, struct bsn_outstanding *outstanding)
{
	if (!qp || !outstanding)
		return fail(EINVAL, "no QP, or no place for the result");
	qp->path->qp_outstanding(qp, outstanding);
	return 0;
}

int bsn_qp_error(struct bsn_qp *qp, struct bsn_qp_error *error)
{
	struct bsn_vendor_meaning meaning;
	enum ibv_qp_state state;
	int err;

	if (!qp || !error)
		return fail(EINVAL, "no QP, or no place for the error");
	err = qp_state(qp, &state);
	if (err)
		return err;
	*error = (struct bsn_qp_error){ .state = state,
					.has_failed = qp->first_error.status != IBV_WC_SUCCESS,
					.first = qp->first_error };
	error->text = "no request failed";
	if (error->has_failed) {
		bsn_vendor_explain(error->first.vendor_syndrome, &meaning);
		error->text = error->first.vendor_syndrome && meaning.doc ?
				      meaning.doc :
				      ibv_wc_status_str(error->first.status);
	}
	return 0;
}
