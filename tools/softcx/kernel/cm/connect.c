/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections: the effects of the IB connection manager's messages (IBTA chapter 12). Each function
 * has the name of its message. Both ends are in the fabric, so a message arrives at once; if nobody
 * is there, it never does.
 */
#include "cm.h"

#include <string.h>

#include "../../nic/faults.h"

/* The most private data of a reply and of a refusal: rdma/ib_cm.h. */
enum { REP_BYTES = 196, REJ_BYTES = 148 };

/*
 * How long an answer is waited for, and how often a message is repeated (cma.c
 * CMA_CM_RESPONSE_TIMEOUT, _MAX_CM_RETRIES, _MRA_SETTING, CMA_IBOE_PACKET_LIFETIME; cm.c
 * cm_convert_to_ms()). A peer whose program has the event asks for more time.
 */
enum {
	RETRIES = 15,
	REQ_MS = 2 * 1024 + 4096,
	DREQ_MS = 4096,
	ASKED_TIME_MS = 65536 + 2048,
	TIMEWAIT_MS = 2048,
};

enum { MAX_RETRY = 7 };

/* The event after which the program may reuse the queue pair. */
static void begin_timewait(struct cx_hca *hca, struct cx_cm_id *id)
{
	cm_set_link(id, CX_LINK_TIMEWAIT);
	cm_wait(hca, id, TIMEWAIT_MS, 0);
}

static void report(struct cx_hca *hca, struct cx_cm_id *id, enum cm_event event, int status,
		   const struct rdma_ucm_conn_param *conn)
{
	if (id->state == CX_CM_CONNECT)
		cm_report(hca, id, event, status, conn);
}

static void report_end(struct cx_hca *hca, struct cx_cm_id *id, int status)
{
	if (id->state != CX_CM_CONNECT)
		return;
	id->state = CX_CM_DISCONNECT;
	cm_report(hca, id, CM_DISCONNECTED, status, NULL);
}

/* -- REJ --------------------------------------------------------------------------------------- */

static void get_rej(struct cx_hca *hca, struct cx_cm_id *id, int reason, const void *data,
		    unsigned size)
{
	struct rdma_ucm_conn_param told = { 0 };

	cm_put_data(&told, data, size, REJ_BYTES);
	if (id->link == CX_LINK_ESTABLISHED || id->link == CX_LINK_REP_RCVD ||
	    id->link == CX_LINK_DREQ_SENT)
		begin_timewait(hca, id);
	else
		cm_set_link(id, CX_LINK_OVER);
	report(hca, id, CM_REJECTED, reason, &told);
}

static void send_rej(struct cx_hca *hca, struct cx_cm_id *id, int reason, const void *data,
		     unsigned size)
{
	struct cx_cm_id *peer = cm_of_number(&hca->shared->cm, id->peer);

	cm_part(&hca->shared->cm, id);
	if (id->link == CX_LINK_REP_SENT)
		begin_timewait(hca, id);
	else
		cm_set_link(id, CX_LINK_OVER);
	if (peer)
		get_rej(hca, peer, reason, data, size);
}

static int reject(struct cx_hca *hca, struct cx_cm_id *id, int reason, const void *data,
		  unsigned size)
{
	if (id->link == CX_LINK_NONE)
		return -EINVAL;
	if (id->qp_type == IBV_QPT_UD)
		return cm_sidr_answer(hca, id, CM_SIDR_REJECT, data, (uint8_t)size);
	if (size > REJ_BYTES)
		return -EINVAL;
	switch (id->link) {
	case CX_LINK_REQ_SENT:
	case CX_LINK_REQ_RCVD:
	case CX_LINK_REP_RCVD:
	case CX_LINK_REP_SENT:
		send_rej(hca, id, reason, data, size);
		return 0;
	default:
		return -EINVAL;
	}
}

int cm_reject(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_reject *cmd = command;
	const int reason = cmd->reason ? cmd->reason : CM_REJ_CONSUMER;
	struct cx_cm_id *id;
	int err;

	if (reason != CM_REJ_CONSUMER && reason != CM_REJ_VENDOR_OPTION)
		return -EINVAL;
	err = cm_id_find_with_device(call, cmd->id, &id);
	return err ? err : reject(call->hca, id, reason, cmd->private_data, cmd->private_data_len);
}

/* -- REQ --------------------------------------------------------------------------------------- */

static int deliver_request(struct cx_hca *hca, struct cx_cm_id *listener, struct cx_cm_id *from)
{
	struct cx_cm_id *id;
	int err = cm_listener_end(hca, listener, from, &id);

	if (err)
		return err;
	id->link = CX_LINK_REQ_RCVD;
	if (!cm_report_request(hca, listener, id)) {
		memset(id, 0, sizeof(*id));
		return -ENOMEM;
	}
	listener->backlog--;
	cm_pair(hca, id, from);
	return 0;
}

static void send_req(struct cx_hca *hca, struct cx_cm_id *id, uint32_t tries)
{
	const bool is_here = cm_address_is_ours(&hca->config, &id->destination);
	bool is_service;
	struct cx_cm_id *listener = is_here ? cm_find_listener(hca, id, &is_service) : NULL;

	cm_set_link(id, CX_LINK_REQ_SENT);
	if (is_here && !listener)
		get_rej(hca, id, is_service ? CM_REJ_CONSUMER : CM_REJ_INVALID_SERVICE_ID, NULL, 0);
	else if (!listener || deliver_request(hca, listener, id))
		cm_wait(hca, id, REQ_MS, tries); /* nobody listens, or there is no room */
	else
		cm_wait(hca, id, (uint64_t)ASKED_TIME_MS * (RETRIES + 1), 0);
}

static void send_request(struct cx_hca *hca, struct cx_cm_id *id, uint32_t tries)
{
	if (id->qp_type == IBV_QPT_UD)
		cm_sidr_ask(hca, id);
	else
		send_req(hca, id, tries);
}

/* Milliseconds, rounded up. */
static uint64_t hold_ms(struct cx_hca *hca, bool is_disconnect, const struct cx_cm_id *id)
{
	return (cx_faults_hold_us(hca, is_disconnect, id->qpn) + 999) / 1000;
}

/* Sends at once, unless a plan delays the message: then this try has no effect. */
static void ask(struct cx_hca *hca, struct cx_cm_id *id)
{
	const uint64_t held_ms = hold_ms(hca, false, id);

	id->state = CX_CM_CONNECT;
	if (!held_ms) {
		send_request(hca, id, RETRIES);
		return;
	}
	cm_set_link(id, id->qp_type == IBV_QPT_UD ? CX_LINK_SIDR_SENT : CX_LINK_REQ_SENT);
	cm_wait(hca, id, held_ms, RETRIES + 1);
}

static void retry_request(struct cx_hca *hca, struct cx_cm_id *id)
{
	if (id->tries) {
		send_request(hca, id, id->tries - 1);
		return;
	}
	cm_part(&hca->shared->cm, id);
	cm_set_link(id, CX_LINK_OVER);
	if (id->state == CX_CM_CONNECT && id->qp_type == IBV_QPT_UD)
		cm_report_datagram(hca, id, CM_UNREACHABLE, -ETIMEDOUT, NULL);
	else
		report(hca, id, CM_UNREACHABLE, -ETIMEDOUT, NULL);
}

static uint8_t at_most(uint8_t value, uint8_t most)
{
	return value < most ? value : most;
}

static int connect_to(struct cx_hca *hca, struct cx_cm_id *id)
{
	const bool is_datagram = id->qp_type == IBV_QPT_UD;

	if (id->asked.private_data_len > (is_datagram ? cm_sidr_room(id) : cm_request_room(id)))
		return -EINVAL;
	if (!is_datagram) {
		id->responder_resources = id->asked.responder_resources;
		id->initiator_depth = id->asked.initiator_depth;
		id->retries = id->asked.retry_count;
	}
	ask(hca, id);
	return 0;
}

int cm_connect(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_connect *cmd = command;
	struct cx_cm_id *id;
	int err;

	if (call->in_size < offsetof(struct rdma_ucm_connect, ece) || !cmd->conn_param.valid)
		return -EINVAL;
	err = cm_id_find_with_device(call, cmd->id, &id);
	if (err)
		return err;
	if (id->state != CX_CM_ROUTE_RESOLVED)
		return -EINVAL;
	id->asked = cmd->conn_param;
	id->asked.retry_count = at_most(id->asked.retry_count, MAX_RETRY);
	id->asked.rnr_retry_count = at_most(id->asked.rnr_retry_count, MAX_RETRY);
	id->asked.qp_num &= 0xffffff;
	id->asked.srq = cmd->conn_param.srq ? 1 : 0;
	id->qpn = id->asked.qp_num;
	id->srq = id->asked.srq;
	id->ece = cmd->ece;
	return connect_to(call->hca, id);
}

/* -- REP and RTU ------------------------------------------------------------------------------- */

static void get_rep(struct cx_hca *hca, struct cx_cm_id *id, const struct cx_cm_id *from,
		    const struct rdma_ucm_conn_param *conn)
{
	struct rdma_ucm_conn_param told = { 0 };

	id->peer_qpn = from->qpn;
	id->peer_psn = from->psn;
	id->ece = from->ece;
	id->initiator_depth = conn->responder_resources;
	id->responder_resources = conn->initiator_depth;
	id->rnr_retries = conn->rnr_retry_count;
	cm_set_link(id, CX_LINK_REP_RCVD);
	cm_cross(&told, conn);
	told.qp_num = from->qpn;
	told.srq = from->srq;
	cm_put_data(&told, conn->private_data, conn->private_data_len, REP_BYTES);
	report(hca, id, CM_CONNECT_RESPONSE, 0, &told);
}

static int send_rep(struct cx_hca *hca, struct cx_cm_id *id, struct rdma_ucm_conn_param *conn)
{
	struct cx_cm_id *peer = cm_of_number(&hca->shared->cm, id->peer);

	if (id->link != CX_LINK_REQ_RCVD || conn->private_data_len > REP_BYTES)
		return -EINVAL;
	conn->rnr_retry_count = at_most(conn->rnr_retry_count, MAX_RETRY);
	id->initiator_depth = conn->initiator_depth;
	id->responder_resources = conn->responder_resources;
	cm_set_link(id, CX_LINK_REP_SENT);
	cm_wait(hca, id, (uint64_t)ASKED_TIME_MS * (RETRIES + 1), 0);
	if (peer)
		get_rep(hca, peer, id, conn);
	return 0;
}

static void get_rtu(struct cx_hca *hca, struct cx_cm_id *id)
{
	if (id->link != CX_LINK_REP_SENT)
		return;
	cm_set_link(id, CX_LINK_ESTABLISHED);
	report(hca, id, CM_ESTABLISHED, 0, NULL);
}

static int send_rtu(struct cx_hca *hca, struct cx_cm_id *id)
{
	struct cx_cm_id *peer = cm_of_number(&hca->shared->cm, id->peer);

	if (id->link != CX_LINK_REP_RCVD)
		return -EINVAL;
	cm_set_link(id, CX_LINK_ESTABLISHED);
	if (peer)
		get_rtu(hca, peer);
	return 0;
}

/*
 * A program accepts: the listener's, with its own parameters, the request; the other one the reply.
 */
static int accept_it(struct cx_hca *hca, struct cx_cm_id *id, struct rdma_ucm_conn_param *conn)
{
	if (id->qp_type == IBV_QPT_UD)
		return cm_sidr_answer(hca, id, 0, conn ? conn->private_data : NULL,
				      conn ? conn->private_data_len : 0);
	return conn ? send_rep(hca, id, conn) : send_rtu(hca, id);
}

int cm_accept(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_accept *cmd = command;
	struct rdma_ucm_conn_param conn = cmd->conn_param;
	struct cx_cm_id *id;
	int err;

	if (call->in_size < offsetof(struct rdma_ucm_accept, ece))
		return -EINVAL;
	err = cm_id_find_with_device(call, cmd->id, &id);
	if (err)
		return err;
	if (id->state != CX_CM_CONNECT)
		return -EINVAL;
	if (conn.valid) {
		id->qpn = conn.qp_num & 0xffffff;
		id->srq = !!conn.srq;
		id->ece = cmd->ece;
	}
	err = accept_it(call->hca, id, conn.valid ? &conn : NULL);
	if (err)
		reject(call->hca, id, CM_REJ_CONSUMER, NULL, 0);
	else if (conn.valid)
		id->uid = cmd->uid;
	return err;
}

/* -- DREQ and DREP ----------------------------------------------------------------------------- */

static void get_drep(struct cx_hca *hca, struct cx_cm_id *id, int status)
{
	if (id->link != CX_LINK_DREQ_SENT && id->link != CX_LINK_DREQ_RCVD)
		return;
	begin_timewait(hca, id);
	report_end(hca, id, status);
}

static void get_dreq(struct cx_hca *hca, struct cx_cm_id *id)
{
	cm_set_link(id, CX_LINK_DREQ_RCVD);
	report_end(hca, id, 0);
}

/* If the connection is gone, the answer comes at once. */
static void send_dreq(struct cx_hca *hca, struct cx_cm_id *id)
{
	struct cx_cm_id *peer = cm_of_number(&hca->shared->cm, id->peer);
	uint64_t held_ms;

	cm_set_link(id, CX_LINK_DREQ_SENT);
	if (!peer) {
		get_drep(hca, id, 0);
		return;
	}
	cm_wait(hca, id, (uint64_t)DREQ_MS * (RETRIES + 1), 0);
	held_ms = hold_ms(hca, true, id);
	if (held_ms && peer->link == CX_LINK_ESTABLISHED)
		cm_wait(hca, peer, held_ms, 0);
	else
		get_dreq(hca, peer);
}

static void send_drep(struct cx_hca *hca, struct cx_cm_id *id)
{
	struct cx_cm_id *peer = cm_of_number(&hca->shared->cm, id->peer);

	cm_part(&hca->shared->cm, id);
	begin_timewait(hca, id);
	if (peer)
		get_drep(hca, peer, 0);
}

/* Begins the end of a connection, or answers the peer's end of it; else does nothing. */
int cm_disconnect(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_disconnect *cmd = command;
	struct cx_cm_id *id;
	int err = cm_id_find_with_device(call, cmd->id, &id);

	if (err)
		return err;
	if (id->link == CX_LINK_NONE)
		return -EINVAL;
	if (id->link == CX_LINK_ESTABLISHED)
		send_dreq(call->hca, id);
	else if (id->link == CX_LINK_DREQ_RCVD)
		send_drep(call->hca, id);
	return 0;
}

/* -- the end ----------------------------------------------------------------------------------- */

/*
 * A deadline has passed: of a request; of a wait for the answer to our reply or our disconnection;
 * of a plan that delays the peer's disconnection; or of the queue pair's timewait.
 */
void cm_link_expire(struct cx_hca *hca, struct cx_cm_id *id)
{
	switch ((enum cx_cm_link)id->link) {
	case CX_LINK_REQ_SENT:
	case CX_LINK_REP_SENT:
	case CX_LINK_SIDR_SENT:
		retry_request(hca, id);
		break;
	case CX_LINK_ESTABLISHED:
		get_dreq(hca, id);
		break;
	case CX_LINK_DREQ_SENT:
		cm_part(&hca->shared->cm, id);
		get_drep(hca, id, -ETIMEDOUT);
		break;
	case CX_LINK_TIMEWAIT:
		id->link = CX_LINK_OVER;
		if (id->state == CX_CM_DISCONNECT)
			cm_report(hca, id, CM_TIMEWAIT_EXIT, 0, NULL);
		break;
	default:
		break;
	}
}

void cm_link_close(struct cx_hca *hca, struct cx_cm_id *id)
{
	switch ((enum cx_cm_link)id->link) {
	case CX_LINK_REQ_SENT:
		send_rej(hca, id, CM_REJ_TIMEOUT, NULL, 0);
		break;
	case CX_LINK_REQ_RCVD:
	case CX_LINK_REP_RCVD:
	case CX_LINK_REP_SENT:
		send_rej(hca, id, CM_REJ_CONSUMER, NULL, 0);
		break;
	case CX_LINK_ESTABLISHED:
		send_dreq(hca, id);
		break;
	case CX_LINK_DREQ_RCVD:
		send_drep(hca, id);
		break;
	case CX_LINK_SIDR_RCVD:
		cm_sidr_answer(hca, id, CM_SIDR_REJECT, NULL, 0);
		break;
	default:
		break;
	}
	cm_part(&hca->shared->cm, id);
}
