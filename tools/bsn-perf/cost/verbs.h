/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues of both columns of libibverbs; on a thread domain, where the device has them. */
#ifndef COST_VERBS_H
#define COST_VERBS_H

#include "cost.h"
#include "plain_qp.h"

struct verbs_queue {
	struct plain_qp v;
	struct cost_target target;
	struct ibv_sge local[COST_SGES_MAX], data, recv[2];
	struct ibv_send_wr batch[COST_BATCH_MAX]; /* a chain, of the row's batch */
	struct ibv_recv_wr recvs[COST_BATCH_MAX]; /* a chain, likewise */
	unsigned turn, recv_turn;
	uint32_t srq_number; /* of XRC requests */
};

/* Polls until @count completions came. Return: 0; a status; -ETIMEDOUT; -EIO. */
int verbs_drain_cq(struct ibv_cq *cq, unsigned count);

/* As in struct cost_column; but for run_of. */
int verbs_make(void *queue, const struct cost_rig *rig, enum cost_queues kind,
	       const char **why_not);
int verbs_make_extended(void *queue, const struct cost_rig *rig, enum cost_queues kind,
			const char **why_not);
void verbs_close(void *queue);
int verbs_set_up(void *queue, const struct cost_shape *shape);
int verbs_post(void *queue, enum cost_what what, unsigned count);
int verbs_post_recv(void *queue, unsigned count);
int verbs_drain(void *queue, unsigned count);
int verbs_drain_recv(void *queue, unsigned count);

/* The provider has copied what came in a CQE. */
COST_INLINE void verbs_read(const struct verbs_queue *q, struct cost_shape shape)
{
	if (shape.what == COST_POLL_RECV_DATA)
		cost_read_data((const void *)(uintptr_t)q->recv[0].addr);
}

COST_INLINE bool verbs_polls_requests(struct cost_shape shape)
{
	return shape.what == COST_POLL || shape.what == COST_POLL_NONE;
}

#define VERBS_COLUMN                                                                               \
	.size = sizeof(struct verbs_queue), .close = verbs_close, .set_up = verbs_set_up,          \
	.run_of = run_of, .post = verbs_post, .post_recv = verbs_post_recv,                        \
	.drain = verbs_drain, .drain_recv = verbs_drain_recv

#endif
