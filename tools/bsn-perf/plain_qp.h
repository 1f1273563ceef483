/* SPDX-License-Identifier: BSD-2-Clause */
/* An RC queue pair of plain libibverbs, with all that belongs to it: what Bunsen is compared with. */
#ifndef PLAIN_QP_H
#define PLAIN_QP_H

#include "bsn.h"

struct plain_qp_attr {
	uint32_t depth;        /* of either queue */
	uint32_t max_inline;   /* bytes */
	bool is_extended;      /* for ibv_wr_* and ibv_start_poll() */
	bool has_own_register; /* a thread domain of its own; no QP if the device has none */
};

struct plain_qp {
	const struct bsn_device_info *info;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_td *td;
	struct ibv_pd *parent; /* of the thread domain */
	struct ibv_cq *cq, *recv_cq;
	struct ibv_cq_ex *cq_ex; /* @cq, where extended */
	struct ibv_qp *qp;
	struct ibv_qp_ex *qp_ex; /* @qp, where extended */
	struct ibv_mr *mr;
};

/* Makes the pair and registers the memory. Return: 0, or -errno with all undone. */
int plain_qp_create(struct bsn_device *device, const struct plain_qp_attr *attr, void *memory,
		    size_t length, struct plain_qp *q);
void plain_qp_destroy(struct plain_qp *q);

/* Where such a pair is reached; travels as plain bytes, in the size of a Bunsen address. */
void plain_qp_address(const struct plain_qp *q, struct bsn_address *address);

/* -EPROTO: @peer was not made by plain_qp_address(). */
int plain_qp_connect(struct plain_qp *q, const struct bsn_address *peer);

#endif
