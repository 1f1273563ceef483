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
	struct plain_qp *others; /* where there are many; the first is @v */
	struct ibv_qp **qps;     /* of all of them; else NULL */
	unsigned qp_count, turn, recv_turn;
	uint32_t srq_number; /* of XRC requests */
};

/* Return: 0, or -errno and why. */
int verbs_make(struct verbs_queue *q, const struct cost_rig *rig, enum cost_queues kind,
	       bool is_extended, const char **why_not);
void verbs_close(void *queue);

/* Makes the requests of a row, which its posts use again and again. */
int verbs_set_up(void *queue, const struct cost_shape *shape);

int verbs_post(void *queue, enum cost_what what, unsigned count);
int verbs_post_recv(void *queue, unsigned count);

/*
 * Polls until @count completions came, one at a time. Return: 0; a status; -ETIMEDOUT; what @poll
 * says that is negative, as -EIO.
 */
int verbs_drain(struct ibv_cq *cq, unsigned count,
		int (*poll)(struct ibv_cq *cq, struct ibv_wc *wc));

/* ibv_poll_cq() of one, for that. */
int verbs_poll_one(struct ibv_cq *cq, struct ibv_wc *wc);

/* The provider has copied what came in a CQE. */
COST_INLINE void verbs_read(const struct verbs_queue *q, struct cost_shape shape)
{
	if (shape.what == COST_POLL_RECV_DATA)
		cost_read_data((const void *)(uintptr_t)q->recv[0].addr);
}

/* Of a struct cost_column: what both have in common. */
#define VERBS_COLUMN                                                                               \
	.size = sizeof(struct verbs_queue), .close = verbs_close, .set_up = verbs_set_up,          \
	.run_of = run_of, .post = verbs_post, .post_recv = verbs_post_recv

#endif
