/* SPDX-License-Identifier: BSD-2-Clause */
/* The two ends of a connection, and the end that a request creates at the listener. */
#include "cm.h"

#include <string.h>

/* Private data of a request; addresses take a part of it: rdma/ib_cm.h, cma.c. */
enum { REQ_BYTES = 92, REQ_ADDRESS_BYTES = 36 };

void cm_pair(struct cx_hca *hca, struct cx_cm_id *a, struct cx_cm_id *b)
{
	struct cx_cm *cm = &hca->shared->cm;

	a->peer = cm_number(cm, b);
	b->peer = cm_number(cm, a);
	/* Each end checks whether the other one is alive. */
	cm_look_at(hca, cm_file_of(cm, a)->keeper, cx_clock_ns());
	cm_look_at(hca, cm_file_of(cm, b)->keeper, cx_clock_ns());
}

void cm_part(struct cx_cm *cm, struct cx_cm_id *id)
{
	struct cx_cm_id *peer = cm_of_number(cm, id->peer);

	if (peer)
		peer->peer = 0;
	id->peer = 0;
}

void cm_wait(struct cx_hca *hca, struct cx_cm_id *id, uint64_t ms, uint32_t tries)
{
	id->deadline_ns = cx_clock_ns() + ms * NS_PER_MS;
	id->tries = tries;
	cm_look_at(hca, cm_file_of(&hca->shared->cm, id)->keeper, id->deadline_ns);
}

void cm_set_link(struct cx_cm_id *id, enum cx_cm_link link)
{
	id->link = link;
	id->deadline_ns = 0;
}

/* Private data of a message are as long as the message has room for. */
void cm_put_data(struct rdma_ucm_conn_param *to, const void *data, unsigned size, unsigned room)
{
	if (size)
		memcpy(to->private_data, data, size);
	to->private_data_len = (uint8_t)room;
}

unsigned cm_request_room(const struct cx_cm_id *id)
{
	return id->source.any.sa_family == FAMILY_IB ? REQ_BYTES : REQ_BYTES - REQ_ADDRESS_BYTES;
}

/* The listener's view: what one end can do as initiator, the other must do as responder. */
void cm_cross(struct rdma_ucm_conn_param *to, const struct rdma_ucm_conn_param *from)
{
	to->responder_resources = from->initiator_depth;
	to->initiator_depth = from->responder_resources;
	to->flow_control = from->flow_control;
	to->rnr_retry_count = from->rnr_retry_count;
	to->srq = from->srq;
	to->qp_num = from->qp_num;
}

static void fill_listener_end(struct cx_cm_id *id, const struct cx_cm_id *from)
{
	id->source = from->destination;
	id->destination = from->source;
	id->has_device = true;
	id->has_interface = id->has_route = from->has_interface;
	id->hop_limit = from->hop_limit;
	id->dlid = from->dlid ? CX_LID : 0;
	id->flow_label = from->flow_label;
	id->lifetime = cm_ack_timeout(from->lifetime) - 1; /* from the request */
	id->has_tos = from->has_tos;
	id->tos = from->tos;
	id->peer_qpn = from->qpn;
	id->peer_psn = from->psn;
	id->responder_resources = from->asked.initiator_depth;
	id->initiator_depth = from->asked.responder_resources;
	id->retries = from->asked.retry_count;
	id->rnr_retries = from->asked.rnr_retry_count;
	id->ece = from->ece;
	cm_cross(&id->asked, &from->asked);
	id->asked.retry_count = from->asked.retry_count;
	cm_put_data(&id->asked, from->asked.private_data, from->asked.private_data_len,
		    cm_request_room(from));
}

int cm_listener_end(struct cx_hca *hca, struct cx_cm_id *listener, struct cx_cm_id *from,
		    struct cx_cm_id **out)
{
	struct cx_cm_id *id;
	int err;

	if (!listener->backlog)
		return -ENOMEM;
	err = cm_id_new(hca, listener->file, listener->port_space, cm_other_end(from->qp_type),
			&id);
	if (err)
		return err;
	fill_listener_end(id, from);
	id->state = CX_CM_CONNECT;
	*out = id;
	return 0;
}
