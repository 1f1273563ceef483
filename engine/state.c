/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of a QP: ready for receives, failed, reset. connect.c connects it. */
#include "handshake.h"
#include "init.h"
#include "path.h"

#include <stdio.h>

#include "causes.h"

static int modify_by_command(struct bsn_qp *qp, const struct ibv_qp_attr *attr, const char *to)
{
	struct bsn_cmd_out answer;
	const int err = handshake_dci_modify(qp->dci, attr, &answer);
	char what[64];

	snprintf(what, sizeof(what), "bring the initiator to %s", to);
	return err ? fail_command(err, &answer, what) : 0;
}

/* What the error means when the kernel resolves a RoCE address: core/verbs.c, core/addr.c. */
const char *hint_of_av(const struct ibv_ah_attr *av, int err)
{
	if (!av->is_global)
		return "";
	switch (-err) {
	case EINVAL:
		return "; is one end's GID of IPv4, and the other's of IPv6? Choose the gid_index";
	case ENETUNREACH:
		return "; no route leads to the peer's GID";
	case ETIMEDOUT:
		return "; no neighbour has the peer's GID";
	default:
		return "";
	}
}

int verbs_modify(struct ibv_qp *verbs, const char *what, struct ibv_qp_attr *attr, int mask,
		 const char *to)
{
	const int err = provider_error_of_int(ibv_modify_qp(verbs, attr, mask | IBV_QP_STATE));

	return err ? fail(-err, "cannot bring the %s to %s: %s%s", what, to, strerror(-err),
			  mask & IBV_QP_AV ? hint_of_av(&attr->ah_attr, err) : "")
		   : 0;
}

int qp_modify(struct bsn_qp *qp, struct ibv_qp_attr *attr, int mask, const char *to)
{
	return qp->dci ? modify_by_command(qp, attr, to)
		       : verbs_modify(qp->verbs, "QP", attr, mask, to);
}

int target_to_init(const struct bsn_device *device, struct ibv_qp *verbs, const char *what,
		   bool grants_atomics)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = device->info.port,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	if (grants_atomics)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
	return verbs_modify(verbs, what, &attr,
			    IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
}

int qp_state(struct bsn_qp *qp, enum ibv_qp_state *state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int err;

	if (qp->dci)
		err = handshake_dci_state(qp->dci, &attr.qp_state);
	else
		err = provider_error_of_int(ibv_query_qp(qp->verbs, &attr, IBV_QP_STATE, &init));
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

	if (!grants_atomics(qp->device))
		attr.qp_access_flags &= ~(unsigned)IBV_ACCESS_REMOTE_ATOMIC;
	if (qp->transport->has_qkey)
		mask |= IBV_QP_QKEY;
	else if (qp->transport->is_connected)
		mask |= IBV_QP_ACCESS_FLAGS;
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
	mkeys_forget_queue(qp->device, qp->sq);
	qp->path->qp_clear(qp);
	memset(&qp->first_error, 0, sizeof(qp->first_error));
	dv_sq(qp->sq)->route.has_error = 0;
	err = cq_is_clean(qp->cq, 0);
	if (!err)
		err = cq_is_clean(qp->recv_cq, 0);
	if (err)
		return err;
	return qp->owns_verbs ? qp_make_ready(qp) : 0;
}

int bsn_qp_outstanding(struct bsn_qp *qp, struct bsn_outstanding *outstanding)
{
	if (!qp || !outstanding)
		return fail(EINVAL, "no QP, or no place for the result");
	qp->path->qp_outstanding(qp, outstanding);
	return 0;
}

int bsn_qp_give_back(struct bsn_qp *qp, struct bsn_completion *c, int n)
{
	return qp ? bsn_sq_give_back(qp->sq, c, n) : fail(EINVAL, "no QP");
}

/* Finds the topic by the same numbers as wqe-dump. */
static enum topic topic_of(const struct bsn_completion *failure)
{
	const bool is_receive = failure->opcode == BSN_RECV;
	struct code code = { 0 };

	if (failure->vendor_syndrome)
		code = bsn_cause_of_vendor(failure->vendor_syndrome);
	if ((!code.is_known || code.topic == TOPIC_NOTHING) && failure->syndrome)
		code = bsn_cause_of_syndrome(failure->syndrome);
	if (!code.is_known)
		code = bsn_cause_of_status(failure->status);
	if (!code.is_known)
		return TOPIC_UNKNOWN;
	return bsn_cause_at(code.topic, is_receive ? SIDE_OF_RESPONDER : SIDE_OF_REQUESTER);
}

/*
 * The likeliest cause. The operation excludes causes, except for a bad key, where it selects one.
 */
static const char *likeliest_of(enum topic topic, int opcode)
{
	const char *note =
		topic == TOPIC_REMOTE_KEY ? NULL : bsn_cause_note(topic, (uint64_t)opcode);

	return note ? note : bsn_cause_likeliest(topic);
}

/*
 * One line, in the words of wqe-dump: the syndrome (or the status), its meaning, and the likeliest
 * cause.
 */
const char *failure_text(const struct bsn_completion *failure)
{
	static _Thread_local char text[768];
	const enum topic topic = topic_of(failure);
	const char *likeliest = likeliest_of(topic, failure->opcode);
	struct bsn_vendor_meaning m = { 0 };

	if (failure->vendor_syndrome)
		bsn_vendor_explain(failure->vendor_syndrome, &m);
	snprintf(text, sizeof(text), "%s%s%s%s%s. %s%s%s%s",
		 m.doc ? m.doc : ibv_wc_status_str(failure->status), m.detail ? ": " : "",
		 m.detail ? m.detail : "", m.measured ? "; seen with: " : "",
		 m.measured ? m.measured : "", bsn_cause_meaning(topic),
		 likeliest ? " Likeliest: " : "", likeliest ? likeliest : "", likeliest ? "." : "");
	return text;
}

int bsn_qp_error(struct bsn_qp *qp, struct bsn_qp_error *error)
{
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
	error->text = error->has_failed ? failure_text(&qp->first_error) : "no request failed";
	return 0;
}
