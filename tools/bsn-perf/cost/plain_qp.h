/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs of plain libibverbs, with all that they need: Bunsen is compared with them. They have
 * a thread domain, their CQs too, if the device has any.
 */
#ifndef PLAIN_QP_H
#define PLAIN_QP_H

#include "bsn.h"

struct plain_qp_attr {
	enum bsn_qp_type type; /* XRC: an initiator, a target, and an SRQ of their domain */
	uint32_t depth;        /* of either queue */
	uint32_t max_send_sge, max_recv_sge;
	uint32_t max_inline; /* bytes */
	bool is_extended;    /* for ibv_wr_* and ibv_start_poll() */
	uint32_t srq_depth;  /* of an SRQ for all; 0: none */
	bool has_stamps;     /* extended: completions have times */
	bool has_mkeys;      /* mlx5: extended, and for mlx5dv_wr_mr_list() and its like too */
	unsigned qps;        /* on the same CQs; 0: one */
	bool is_apart;       /* their numbers are PLAIN_STRIDE apart */
};

struct plain_qp {
	const struct bsn_device_info *info;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_td *td;
	struct ibv_pd *parent; /* of the thread domain; else @pd */
	struct ibv_cq *cq, *recv_cq;
	struct ibv_cq_ex *cq_ex, *recv_cq_ex; /* the same, where extended */
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	struct ibv_qp *target; /* of an XRC initiator */
	struct ibv_qp **qps;
	unsigned qp_count;
	struct ibv_qp *qp;       /* the first */
	struct ibv_qp_ex *qp_ex; /* the same, where extended */
	struct ibv_mr *mr;
	struct ibv_ah *ah; /* UD: to itself */
};

enum { PLAIN_QKEY = 0x11111111, PLAIN_STRIDE = 16 };

/*
 * Makes the pairs and registers the memory, if there is any.
 * Return: 0, or -errno with all undone; -EOPNOTSUPP: not on this device; -ENODATA: its numbers
 * are not so far apart.
 */
int plain_qp_create(struct bsn_device *device, const struct plain_qp_attr *attr, void *memory,
		    size_t length, struct plain_qp *q);
void plain_qp_destroy(struct plain_qp *q);

/* Connects each pair to itself; an XRC initiator and its target with each other. */
int plain_qp_loop(struct plain_qp *q);

/* Whether queues can be on a thread domain. */
bool plain_qp_has_td(struct bsn_device *device);

/*
 * Gives QP numbers to QPs that are destroyed at once, until the next one is @base and a multiple of
 * PLAIN_STRIDE. Return: 0, -ENODATA: it never is, or another -errno.
 */
int plain_qp_pass_numbers(struct bsn_device *device, uint32_t base);

#endif
