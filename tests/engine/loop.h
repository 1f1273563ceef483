/* SPDX-License-Identifier: BSD-2-Clause */
/* A QP that is connected to itself, on a CQ of its own, for tests of what a CQ does. */
#ifndef TESTS_ENGINE_LOOP_H
#define TESTS_ENGINE_LOOP_H

#include "bsn.h"

struct loop {
	struct bsn_device *device;
	struct bsn_channel *channel;
	struct bsn_mr *mem;
	struct bsn_cq *cq;
	struct bsn_qp *qp;
};

/* Returns 0, or the error of the first call that failed; the loop then has what was made so far. */
static inline int loop_make(struct loop *l, struct bsn_device *device, struct bsn_cq_attr attr)
{
	struct bsn_address self;
	int err = bsn_channel_create(device, &l->channel);

	l->device = device;
	attr.channel = l->channel;
	if (!err)
		err = bsn_buf_alloc(device, 4096, NULL, &l->mem);
	if (!err)
		err = bsn_cq_create(device, &attr, &l->cq);
	if (!err)
		err = bsn_qp_create(device, &(struct bsn_qp_attr){ .cq = l->cq }, &l->qp);
	if (!err)
		err = bsn_qp_address(l->qp, &self);
	return err ? err : bsn_qp_connect(l->qp, &self, NULL);
}

static inline int loop_free(struct loop *l)
{
	int err = bsn_qp_destroy(l->qp);

	if (!err)
		err = bsn_cq_destroy(l->cq);
	if (!err)
		err = bsn_channel_destroy(l->channel);
	return err ? err : bsn_buf_free(l->mem);
}

struct bench;

/* The same on the bench, which frees it. */
struct loop bench_loop(struct bench *b, struct bsn_cq_attr attr);

/* A WRITE from the first half of its memory to the second. */
static inline int loop_post(struct loop *l, uint64_t id)
{
	const struct bsn_sge from = { l->mem->addr, 64, l->mem->lkey };
	const struct bsn_remote to = { l->mem->addr + 2048, l->mem->rkey };

	return bsn_write(bsn_qp_ep(l->qp), &from, &to, id, BSN_F_SIGNALED | BSN_F_RING);
}

#endif
