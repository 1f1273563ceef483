/* SPDX-License-Identifier: BSD-2-Clause */
/* A parsed fault plan. */
#ifndef SOFTCX_NIC_PLAN_H
#define SOFTCX_NIC_PLAN_H

#include "bsn_decode.h"
#include "state.h"

enum action {
	DROP,
	DELAY,
	RNR,
	FAIL,
	CQ_OVERRUN,
	PORT_DOWN,
	PORT_UP,
	REMOVE_DEVICE,
	LOSE_DOORBELL,
	PAGE_FAULT,
	OVERTAKE,
	CNAK,
	DELAY_CQE
};

/* What a rule is about; the last two are messages of rdma_cm. */
enum place { AT_SEND, AT_RECEIVE, AT_DOORBELL, AT_REQUEST, AT_DISCONNECT };

struct rule {
	uint32_t qpn; /* 0: any */
	enum place place;
	const struct bsn_wqe_op *op; /* NULL: any */
	uint32_t dctn;               /* the target of a DCI's request; 0: any */
	bool has_stream;             /* of a DCI */
	uint16_t stream;
	uint64_t nth, every;         /* 0: any */
	enum action action;
	uint64_t numbers[2];
	uint64_t seen;
};

struct cx_fault_plan {
	unsigned count;
	struct rule *rules;
	unsigned length_count, next_length;
	uint8_t lengths[64]; /* of sessions of compressed CQEs, in turn */
	struct cx_port_tables tables;
	uint32_t dc_connections; /* that the targets of a process may have; 0: any number */
};

int cx_plan_parse(const char *text, struct cx_fault_plan **plan); /* 0, -EINVAL, -ENOMEM */
void cx_plan_free(struct cx_fault_plan *plan);
const char *cx_action_name(enum action action); /* the word of the grammar */

#endif
