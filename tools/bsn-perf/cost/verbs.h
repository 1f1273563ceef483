/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs of libibverbs, with all that they need: those of both its columns, of libmlx5's
 * layouts, and what Bunsen is attached to. They have a thread domain, their CQs too, if the device
 * has any.
 */
#ifndef COST_VERBS_H
#define COST_VERBS_H

#include "cost.h"

struct verbs_queue {
	const struct bsn_device_info *info;
	enum cost_queues kind;
	struct bsn_qp_attr attr;
	bool is_extended; /* for ibv_wr_* and ibv_start_poll() */
	struct ibv_pd *pd;
	struct ibv_td *td;
	struct ibv_pd *parent; /* of the thread domain */
	struct ibv_pd *domain; /* @parent, or @pd where there is none */
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
	struct cost_target memory;
	struct ibv_sge local[COST_SGES_MAX], data, recv[2];
	struct ibv_send_wr batch[COST_BATCH_MAX]; /* a chain, of the row's batch */
	struct ibv_recv_wr recvs[COST_BATCH_MAX]; /* a chain, likewise */
	unsigned turn, recv_turn;
	uint32_t srq_number; /* of XRC requests */
};

enum { VERBS_QKEY = 0x11111111 };

/*
 * Makes the pairs of a kind, registers the memory, and connects each pair to itself; an XRC
 * initiator and its target with each other. What fails in part is to be closed, too.
 * Return: 0 or -errno; -EOPNOTSUPP: not on this device; -ENODATA: its numbers are not so far apart.
 */
int verbs_open(struct verbs_queue *q, const struct cost_rig *rig, enum cost_queues kind,
	       bool is_extended);

/* Whether queues can be on a thread domain. */
bool verbs_has_td(struct bsn_device *device);

/* As in struct cost_column; the other one is extended. */
int verbs_make(void *queue, const struct cost_rig *rig, enum cost_queues kind, bool is_extended,
	       const char **why_not);
void verbs_close(void *queue);
int verbs_set_up(void *queue, const struct cost_shape *shape);
int verbs_post(void *queue, enum cost_what what, unsigned count);
int verbs_drain(void *queue, unsigned count);
int verbs_drain_recv(void *queue, unsigned count);

#endif
