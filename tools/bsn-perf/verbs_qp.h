/* SPDX-License-Identifier: BSD-2-Clause */
/* An RC queue pair of plain libibverbs, with all that belongs to it: what Bunsen is compared with. */
#ifndef VERBS_QP_H
#define VERBS_QP_H

#include "bsn.h"

struct verbs_qp_attr {
	uint32_t depth;        /* of either queue */
	uint32_t max_inline;   /* bytes */
	bool is_extended;      /* for ibv_wr_* and ibv_start_poll() */
	bool has_own_register; /* a thread domain of its own; no QP if the device has none */
};

struct verbs_qp {
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
int verbs_qp_create(struct bsn_device *device, const struct verbs_qp_attr *attr, void *memory,
		    size_t length, struct verbs_qp *q);
void verbs_qp_destroy(struct verbs_qp *q);

/* Where such a pair is reached; travels as plain bytes, in the size of a Bunsen address. */
void verbs_qp_address(const struct verbs_qp *q, struct bsn_address *address);

/* -EPROTO: @peer was not made by verbs_qp_address(). */
int verbs_qp_connect(struct verbs_qp *q, const struct bsn_address *peer);

#endif
