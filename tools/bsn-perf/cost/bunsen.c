/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the column of Bunsen measures. Compiled twice, see bunsen.h: COST_RUNS is the name
 * of the table of run functions.
 */
#include "bunsen.h"

COST_INLINE int post_inline(const struct bunsen_queue *q, struct bunsen_hot h,
			    struct cost_shape shape, unsigned id, unsigned flags)
{
	const uint32_t bytes = shape.known == COST_LENGTH ? shape.n : h.inline_bytes;

	switch (shape.what) {
	case COST_WRITE:
		return bsn_write_inline(h.ep, h.data, bytes, &q->target.remote, id, flags);
	case COST_SEND:
		return bsn_send_inline(h.ep, h.data, bytes, id, flags);
	case COST_WRITE_IMM:
		return bsn_write_imm_inline(h.ep, h.data, bytes, &q->target.remote, id, id, flags);
	default:
		return bsn_send_imm_inline(h.ep, h.data, bytes, id, id, flags);
	}
}

COST_INLINE int post_list(const struct bunsen_queue *q, struct bunsen_hot h,
			  struct cost_shape shape, unsigned id, unsigned flags, unsigned sges)
{
	const struct bsn_sge *const local = q->target.local;
	const struct bsn_remote *const remote = &q->target.remote;

	switch (shape.what) {
	case COST_WRITE:
		return bsn_write_sgl(h.ep, local, sges, remote, id, flags);
	case COST_READ:
		return bsn_read_sgl(h.ep, local, sges, remote, id, flags);
	default:
		return bsn_send_sgl(h.ep, local, sges, id, flags);
	}
}

COST_INLINE int post_sge(const struct bunsen_queue *q, struct bunsen_hot h, struct cost_shape shape,
			 unsigned id, unsigned flags)
{
	const struct bsn_sge *const local = q->target.local;
	const struct bsn_remote *const remote = &q->target.remote;

	switch (shape.what) {
	case COST_WRITE:
		return bsn_write(h.ep, local, remote, id, flags);
	case COST_WRITE_IMM:
		return bsn_write_imm(h.ep, local, remote, id, id, flags);
	case COST_READ:
		return bsn_read(h.ep, local, remote, id, flags);
	case COST_SEND:
		return bsn_send(h.ep, local, id, flags);
	case COST_SEND_IMM:
		return bsn_send_imm(h.ep, local, id, id, flags);
	case COST_FETCH_ADD:
		return bsn_fetch_add(h.ep, local, remote, 1, id, flags);
	default:
		return bsn_cmp_swap(h.ep, local, remote, 0, 1, id, flags);
	}
}

COST_INLINE int post(const struct bunsen_queue *q, struct bunsen_hot h, struct cost_shape shape,
		     unsigned id, unsigned flags, unsigned sges)
{
	if (shape.what == COST_RECV)
		return shape.n == 1 ? bsn_recv(h.rq, q->target.recv, id)
				    : bsn_recv_sgl(h.rq, q->target.recv, shape.n, id);
	if (shape.form == COST_PREPARED)
		return bsn_post_prepared(h.ep, &q->prepared, id, flags);
	if (shape.form == COST_INLINED)
		return post_inline(q, h, shape, id, flags);
	return shape.n == 1 ? post_sge(q, h, shape, id, flags)
			    : post_list(q, h, shape, id, flags, sges);
}

COST_INLINE void take_turn(struct bunsen_queue *q, struct bunsen_hot *h, struct cost_shape shape)
{
	if (cost_has_turns(shape.queues))
		h->ep = h->eps[cost_turn(&q->turn, h->ep_count)];
}

COST_INLINE int run_posts(struct bunsen_queue *q, unsigned count, struct cost_shape shape)
{
	struct bunsen_hot h = bunsen_hot_of(q);
	const bool rings = shape.batch == 1;
	unsigned flags = BSN_F_SIGNALED | (rings ? BSN_F_RING : 0), sges = shape.n;
	int bad = 0;

	if (shape.known == COST_HIDDEN) {
		COST_HIDE(flags);
		COST_HIDE(sges);
	}
	COST_POSTS(count, shape.batch, take_turn(q, &h, shape),
		   bad |= post(q, h, shape, i, flags, sges), bad |= rings ? 0 : bsn_ring(h.ep))
	return bad;
}

COST_INLINE int run_recvs(struct bunsen_queue *q, unsigned count, struct cost_shape shape)
{
	const struct bunsen_hot h = bunsen_hot_of(q);
	int bad = 0;

	for (unsigned first = 0; first < count; first += shape.batch) {
		struct bsn_rq *const rq = cost_has_turns(shape.queues)
						  ? h.rqs[cost_turn(&q->recv_turn, h.ep_count)]
						  : h.rq;
		COST_FORGET();
		bad |= bsn_recv_many(rq, q->target.many_recvs, q->target.ids, shape.batch) !=
		       (int)shape.batch;
	}
	return bad;
}

/* Where data come inside CQEs, one pointer says where they are. */
COST_INLINE void read_data(const struct bunsen_hot *h, const struct bsn_completion *c,
			   struct cost_shape shape)
{
	if (shape.what == COST_POLL_RECV_DATA)
		cost_read_data(shape.queues == COST_INLINED_RECV ? c->data : h->recv_data);
}

COST_INLINE int run_polls(void *queue, unsigned count, struct cost_shape shape)
{
	const struct bunsen_hot h = bunsen_hot_of(queue);
	struct bsn_completion c[COST_BATCH_MAX] = { { 0 } };
	int bad = 0, most = (int)shape.batch;

	if (shape.known == COST_HIDDEN)
		COST_HIDE(most);
	if (shape.what == COST_POLL_NONE) {
		COST_POLLS_NONE(count, bsn_poll(h.cq, c, 1))
	} else if (shape.what == COST_POLL) {
		COST_POLLS(count, shape.batch, c, bsn_poll(h.cq, c, most), (void)0, bunsen_drain,
			   false)
	} else if (shape.what == COST_WAIT) {
		COST_POLLS(count, shape.batch, c, bsn_wait(h.cq, c, most, NULL), (void)0,
			   bunsen_drain, false)
	} else {
		COST_POLLS(count, shape.batch, c, bsn_poll(h.recv_cq, c, (int)shape.batch),
			   read_data(&h, &c[i], shape), bunsen_drain, true)
	}
	return bad;
}

COST_INLINE int run_shape(void *queue, unsigned count, struct cost_shape shape)
{
	return cost_polls(shape.what)                       ? run_polls(queue, count, shape)
	       : shape.what == COST_RECV && shape.batch > 1 ? run_recvs(queue, count, shape)
							    : run_posts(queue, count, shape);
}

COST_CODES(COST_RUN)

cost_run *const COST_RUNS[COST_CODE_COUNT] = { COST_CODES(COST_RUN_ENTRY) };
