/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagram services: a question for the number and key of a queue pair, and its answer (IBTA 12.11,
 * SIDR).
 */
#include "cm.h"

#include <string.h>

/* rdma/ib_cm.h; in a question the address takes a part of this. */
enum { QUESTION_BYTES = 216, ADDRESS_BYTES = 36, ANSWER_BYTES = 136 };
enum { QUESTION_MS = 4096, RETRIES = 15 }; /* cma.c CMA_CM_RESPONSE_TIMEOUT, _MAX_CM_RETRIES */

unsigned cm_sidr_room(const struct cx_cm_id *id)
{
	return id->source.any.sa_family == FAMILY_IB ? QUESTION_BYTES
						     : QUESTION_BYTES - ADDRESS_BYTES;
}

/* Adds the event. A refusal has only private data. */
static void get_answer(struct cx_hca *hca, struct cx_cm_id *id, const struct cx_cm_id *from,
		       int status, const void *data, uint8_t size)
{
	struct rdma_ucm_ud_param told = { .private_data_len = ANSWER_BYTES };

	id->link = CX_LINK_OVER;
	id->deadline_ns = 0;
	if (size)
		memcpy(told.private_data, data, size);
	if (status) {
		cm_report_datagram(hca, id, CM_UNREACHABLE, status, &told);
		return;
	}
	told.qp_num = from->qpn;
	told.qkey = from->qkey;
	id->qkey = from->qkey;
	cm_address_handle(hca, id, &told.ah_attr);
	cm_report_datagram(hca, id, CM_ESTABLISHED, 0, &told);
}

int cm_sidr_answer(struct cx_hca *hca, struct cx_cm_id *id, int status, const void *data,
		   uint8_t size)
{
	struct cx_cm_id *peer = cm_of_number(&hca->shared->cm, id->peer);

	if (id->link != CX_LINK_SIDR_RCVD || size > ANSWER_BYTES)
		return -EINVAL;
	id->qkey = CM_UDP_QKEY;
	id->link = CX_LINK_OVER;
	cm_part(&hca->shared->cm, id);
	if (peer)
		get_answer(hca, peer, id, status, data, size);
	return 0;
}

static int deliver(struct cx_hca *hca, struct cx_cm_id *listener, struct cx_cm_id *from)
{
	struct cx_cm_id *id;
	int err = cm_listener_end(hca, listener, from, &id);

	if (err)
		return err;
	id->link = CX_LINK_SIDR_RCVD;
	id->asked.private_data_len = (uint8_t)cm_sidr_room(from);
	if (!cm_report_request(hca, listener, id)) {
		memset(id, 0, sizeof(*id));
		return -ENOMEM;
	}
	listener->backlog--;
	cm_pair(hca, id, from);
	return 0;
}

void cm_sidr_ask(struct cx_hca *hca, struct cx_cm_id *id)
{
	const bool is_here = cm_address_is_ours(&hca->config, &id->destination);
	struct cx_cm_id *listener;
	bool is_service;

	id->link = CX_LINK_SIDR_SENT;
	cm_wait(hca, id, (uint64_t)QUESTION_MS * (RETRIES + 1), 0);
	listener = is_here ? cm_find_listener(hca, id, &is_service) : NULL;
	if (is_here && !listener)
		get_answer(hca, id, NULL, is_service ? CM_SIDR_REJECT : CM_SIDR_UNSUPPORTED, NULL,
			   0);
	else if (listener && deliver(hca, listener, id))
		get_answer(hca, id, NULL, CM_SIDR_REJECT, NULL, 0);
}
