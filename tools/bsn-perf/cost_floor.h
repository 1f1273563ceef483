/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The floor: only what the device must be given. It posts to a queue pair of its own that works
 * like any other, but has no credits, no ids, no checks, no modes and no errors, keeps its state in
 * registers, and is of no other use. The bytes come from wqe/ and the barriers from dv/, since
 * those are facts of the device.
 */
#ifndef COST_FLOOR_H
#define COST_FLOOR_H

#include "cost.h"
#include "plain_qp.h"

struct floor_cq {
	uint8_t *ring;           /* the first CQE proper */
	struct bsn_be32 *record; /* consumer index */
	uint32_t stride, count;
	uint32_t ci;
};

struct floor_queue {
	struct plain_qp v;
	struct cost_target target;
	uint8_t *sq;
	struct bsn_be32 *record;
	uint8_t *reg;
	uint64_t toggle;
	uint32_t sq_mask, pi, qpn;
	struct bsn_be64 av[BSN_AV_UD_GRH_SIZE / 8]; /* UD: address vector */
	/* Receives, of the QP or an SRQ; data segments begin at @rq. */
	uint8_t *rq;
	struct bsn_be32 *recv_record;
	uint32_t rq_mask, rq_stride, head;
	struct floor_cq cq, recv_cq;
};

/* As in struct cost_column. */
int floor_open(const struct cost_rig *rig, enum cost_queues kind, void **queue,
	       const char **why_not);
void floor_close(void *queue);
int floor_set_up(void *queue, const struct cost_shape *shape);
int floor_drain(void *queue, unsigned count);
int floor_drain_recv(void *queue, unsigned count);

COST_INLINE void floor_publish_ci(const struct floor_cq *cq, uint32_t ci)
{
	const struct bsn_dbr_cq_ci dbr = { .ci = ci };

	bsn_store_record(cq->record, bsn_dbr_cq_ci_dword(&dbr, 0));
}

#endif
