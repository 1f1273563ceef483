/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands for the send queue of an initiator that is an RC QP of plain verbs. */
#include "rc.h"

#include <stdlib.h>

#include "bsn_decode.h"
#include "refuse.h"

static struct bsn_sq *behind(const struct rc_queue *q)
{
	return q->qp->sq;
}

static uint32_t outstanding(const struct rc_queue *q)
{
	struct bsn_outstanding o;

	q->qp->path->qp_outstanding(q->qp, &o);
	return o.sends;
}

void rc_queue_look(struct rc_queue *q)
{
	q->hot.retired = (uint16_t)(q->hot.pi - outstanding(q));
	q->hot.route.done = (uint16_t)(q->hot.retired - 1); /* each request is a block */
}

/* -- what the ring says ------------------------------------------------------------------------ */

static void write_block(struct rc_queue *q, unsigned opcode, bool tells, uint64_t bytes)
{
	const unsigned data_at = 1 + is_one_of(BSN_OPS_WITH_RADDR, opcode);
	const struct bsn_ctrl ctrl = { .opcode = opcode,
				       .ds = data_at + 1,
				       .ce = tells ? BSN_CE_ALWAYS : BSN_CE_ON_FIRST_ERROR };
	const struct bsn_data data = {
		.byte_count = bytes < BSN_DATA_MAX_BYTES ? (uint32_t)bytes : BSN_DATA_MAX_BYTES,
	};
	uint8_t *block = q->hot.ring + (size_t)(q->hot.pi & q->hot.bb_mask) * BSN_BB_SIZE;

	bsn_ctrl_encode(block, &ctrl);
	bsn_data_encode(block + data_at * BSN_DS_SIZE, &data);
	q->hot.pi++;
	q->hot.wide_pi++;
}

/* Something was refused when it was handed in, perhaps with more that was appended before. */
static int count_again(struct rc_queue *q, int err)
{
	const uint16_t left = (uint16_t)(q->hot.retired + outstanding(q));
	const uint16_t gone = (uint16_t)(q->hot.pi - left);

	q->hot.pi = left;
	q->hot.wide_pi -= gone;
	return err;
}

/* One less than the QP takes: a marker has room. */
static int admit(struct rc_queue *q, uint32_t what)
{
	if (BSN_LIKELY((uint16_t)(q->hot.pi - q->hot.retired) < q->depth))
		return 0;
	rc_queue_look(q);
	if ((uint16_t)(q->hot.pi - q->hot.retired) < q->depth)
		return 0;
	q->hot.count_full++;
	if (what & BSN_F_RING)
		bsn_sq_ring(behind(q));
	return refuse(EAGAIN, "this peer's initiator is full: poll the pool");
}

/* -- posts ------------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct bsn_request *r)
{
	uint64_t bytes = 0;

	if (r->operand)
		return sizeof(*r->operand);
	for (unsigned k = 0; k < r->what >> BSN_WHAT_COUNT_SHIFT; k++)
		bytes += r->sge[k].length;
	return bytes;
}

static int post(struct bsn_ep *ep, const struct bsn_request *r)
{
	struct rc_queue *q = rc_queue_of(ep->sq);
	int err = admit(q, r->what);

	if (err)
		return err;
	err = bsn_ep_post(&behind(q)->ep, r);
	if (err)
		return count_again(q, err);
	write_block(q, r->what & 0xff, r->what & BSN_F_SIGNALED, bytes_of(r));
	return 0;
}

static int ring(struct bsn_sq *hot)
{
	struct rc_queue *q = rc_queue_of(hot);
	int err;

	rc_queue_look(q);
	err = bsn_sq_ring(behind(q));
	return err ? count_again(q, err) : 0;
}

static int cancel(struct bsn_sq *hot)
{
	struct rc_queue *q = rc_queue_of(hot);

	rc_queue_look(q);
	return count_again(q, bsn_sq_cancel(behind(q)));
}

static uint32_t room(struct bsn_sq *hot)
{
	struct rc_queue *q = rc_queue_of(hot);
	uint32_t used;

	rc_queue_look(q);
	used = (uint16_t)(hot->pi - hot->retired);
	return used < q->depth ? q->depth - used : 0;
}

int rc_queue_mark(struct rc_queue *q)
{
	q->qp->wants_marker = true;
	rc_queue_look(q); /* which posts it */
	if (q->qp->wants_marker) {
		q->qp->wants_marker = false;
		return -EAGAIN;
	}
	write_block(q, BSN_OPCODE_NOP, true, 0);
	rc_queue_look(q);
	return 0;
}

/* -- life -------------------------------------------------------------------------------------- */

static const struct bsn_sq_path path = {
	.post = post,
	.ring = ring,
	.cancel = cancel,
	.room = room,
};

static void init_hot(struct bsn_sq *hot, const struct bsn_sq *like)
{
	static struct bsn_be32 nowhere;

	hot->ep.sq = hot;
	hot->record = &nowhere;
	hot->lane = like->lane;
	hot->held_ops = like->ops | like->held_ops;
	hot->qpn = like->qpn;
	hot->max_sge = like->max_sge;
	hot->max_inline = like->max_inline;
	hot->max_ds = like->max_ds;
	hot->transport = like->transport;
	hot->path = &path;
}

struct rc_queue *rc_queue_make(struct bsn_qp *qp, uint32_t depth)
{
	struct rc_queue *q = bsn_hot_alloc(sizeof(*q));
	uint32_t blocks = 2;

	if (!q)
		return NULL;
	while (blocks < depth + 1)
		blocks *= 2;
	q->qp = qp;
	q->depth = depth;
	init_hot(&q->hot, qp->sq);
	q->hot.bb_mask = blocks - 1;
	q->hot.ring = calloc(blocks, BSN_BB_SIZE);
	if (!q->hot.ring) {
		free(q);
		return NULL;
	}
	q->hot.ring_end = q->hot.slot = q->hot.ring;
	return q;
}

void rc_queue_free(struct rc_queue *q)
{
	if (q)
		free(q->hot.ring);
	free(q);
}
