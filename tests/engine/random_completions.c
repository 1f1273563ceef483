/* SPDX-License-Identifier: BSD-2-Clause */
/* Random receives, and completions that have to agree with the model. */
#include "random_work.h"

/* -- receives ---------------------------------------------------------------------------------- */

static void choose_recv(struct world *w, int e, struct received *r, unsigned slot)
{
	size_t at = recv_at(slot);

	*r = (struct received){ .id = random_u64(),
				.number = w->recv_number++,
				.count = 1 + below(w->end[e].limits.max_recv_sge) };
	memset(bench_at(w->b, w->b->srq ? 0 : e, at), FILL, RECV);
	for (unsigned i = 0; i < r->count; i++) {
		const uint32_t length = i + 1 == r->count ? RECV_BYTES : below(RECV_HEAD);
		r->sge[i] = bench_sge(w->b, w->b->srq ? 0 : e, at, length);
		at += length + 1;
	}
}

static int post_recv(struct world *w, int e, const struct received *r)
{
	struct bsn_rq *rq = w->b->srq ? w->b->srq : w->b->rq[e];

	if (r->count == 1 && one_in(2))
		return bsn_recv(rq, r->sge, r->id);
	if (r->count == 2)
		return bsn_recv_sgl(rq, r->sge, 2, r->id);
	return bsn_recv_sgl(rq, r->sge, r->count, r->id);
}

void receive_one(struct world *w, int e, bool is_spoiled)
{
	struct end *end = &w->end[e];
	unsigned slot = 0, used = 0;

	for (unsigned i = 0; i < RECVS; i++) {
		used += end->recvs[i].is_used;
		if (!end->recvs[i].is_used)
			slot = i;
	}
	if (used == RECVS || (end->is_reset && !w->b->srq))
		return;
	choose_recv(w, e, &end->recvs[slot], slot);
	for (unsigned i = 0; is_spoiled && i < end->recvs[slot].count; i++)
		end->recvs[slot].sge[i].lkey ^= NO_KEY;
	end->recvs[slot].is_spoiled = is_spoiled;
	int err = post_recv(w, e, &end->recvs[slot]);
	demand(w, !err || (err == -EAGAIN && !w->b->srq && used >= end->limits.recv_depth),
	       "end %d: a receive: %s, %u posted", e, strerror(-err), used);
	end->recvs[slot].is_used = !err;
	if (!err && is_spoiled)
		w->trouble = RECEIVE_KEY;
}

/* -- completions ------------------------------------------------------------------------------- */

static void keep_error(struct world *w, int e, const struct bsn_completion *c)
{
	struct end *end = &w->end[e];

	demand(w, w->trouble != NO_TROUBLE, "end %d, %#llx: %s, and nothing was wrong", e,
	       LLU(c->id), ibv_wc_status_str(c->status));
	w->flushed++;
	if (end->has_error)
		return;
	end->has_error = true;
	end->error = *c;
}

static void pop_sent(struct end *end)
{
	end->blocks -= end->sends[end->first].blocks;
	end->first = (end->first + 1) % REGIONS;
	end->count--;
}

/* The request was not signaled, and nothing says that it failed. */
void pass_silent(struct world *w, int e)
{
	struct end *end = &w->end[e];
	const struct sent *s = &end->sends[end->first];

	demand(w, !(s->wr.flags & BSN_F_SIGNALED),
	       "end %d: %#llx, opcode %u, flags %#x, %u blocks, never came back", e, LLU(s->wr.id),
	       s->wr.opcode, s->wr.flags, s->blocks);
	demand(w, !s->spoiled, "end %d: %#llx did not fail", e, LLU(s->wr.id));
	demand(w, !end->has_failed, "end %d: %#llx was not flushed", e, LLU(s->wr.id));
	check_data(w, e, s);
	pop_sent(end);
}

/* The first one that did not succeed says why; all after it are flushed. */
static void check_failure(struct world *w, int e, const struct sent *s,
			  const struct bsn_completion *c)
{
	struct end *end = &w->end[e];
	bool is_known = c->status == IBV_WC_WR_FLUSH_ERR;

	if (!end->has_failed) {
		is_known |= s->spoiled && c->status == s->spoiled;
		is_known |= is_rc(w) && c->status == IBV_WC_RETRY_EXC_ERR;
		is_known |= w->trouble == RECEIVE_KEY && c->status == IBV_WC_REM_OP_ERR;
		if (s->spoiled && !w->was_killed)
			is_known = c->status == s->spoiled;
	}
	demand(w, is_known, "end %d, %#llx: %s", e, LLU(s->wr.id), ibv_wc_status_str(c->status));
	keep_error(w, e, c);
	end->has_failed = true;
}

static void check_success(struct world *w, int e, const struct sent *s,
			  const struct bsn_completion *c)
{
	demand(w, s->wr.flags & BSN_F_SIGNALED, "end %d: %#llx shows", e, LLU(s->wr.id));
	demand(w, !w->end[e].has_failed, "end %d: %#llx succeeds after a failure", e,
	       LLU(s->wr.id));
	demand(w, !s->spoiled,
	       "end %d: %#llx, opcode %u, length %u, %u sges, succeeds with a bad key %#x", e,
	       LLU(s->wr.id), s->wr.opcode, s->length, s->wr.sge_count, s->sge[0].lkey);
	if (is_read(s) || is_atomic(s))
		demand(w, c->byte_len == s->length, "end %d: %u bytes of %u", e, c->byte_len,
		       s->length);
	check_data(w, e, s);
	w->done++;
}

static void take_send(struct world *w, int e, const struct bsn_completion *c)
{
	struct end *end = &w->end[e];

	while (end->count && end->sends[end->first].wr.id != c->id)
		pass_silent(w, e);
	demand(w, end->count, "end %d: %#llx came back twice, or out of order, or is none", e,
	       LLU(c->id));
	const struct sent *s = &end->sends[end->first];
	demand(w, c->opcode == s->wr.opcode, "end %d: opcode %u, not %u", e, c->opcode,
	       s->wr.opcode);
	demand(w, c->user == (type_of(w) == BSN_QP_UD ? (void *)&w->b->ep[e] : &w->b->qp[e]),
	       "end %d: another's user pointer", e);
	if (c->status)
		check_failure(w, e, s, c);
	else
		check_success(w, e, s, c);
	pop_sent(end);
}

static unsigned recv_slot(const struct world *w, int e, const struct received *r)
{
	return (unsigned)(r - w->end[e].recvs);
}

/*
 * Writes what a receive would have after so many bytes, except for a GRH, which is not predicted.
 */
static void put_received(struct world *w, int e, const struct received *r, const struct message *m,
			 uint8_t *image)
{
	const uint32_t skip = type_of(w) == BSN_QP_UD ? BSN_GRH_SIZE : 0;
	const uint32_t total = is_send(m->opcode) ? skip + m->length : 0;
	const uint8_t *there = bench_at(w->b, w->b->srq ? 0 : e, recv_at(recv_slot(w, e, r)));
	uint32_t done = 0;

	memset(image, FILL, RECV);
	for (unsigned i = 0; i < r->count; i++) {
		const size_t at = r->sge[i].addr - r->sge[0].addr;
		for (uint32_t j = 0; j < r->sge[i].length && done < total; j++, done++)
			image[at + j] = done < skip ? there[at + j] : m->data[done - skip];
	}
}

static bool is_what_came(struct world *w, int e, const struct received *r, const struct message *m,
			 const struct bsn_completion *c)
{
	const uint32_t skip = type_of(w) == BSN_QP_UD ? BSN_GRH_SIZE : 0;
	uint8_t image[RECV];

	if (c->byte_len != m->length + skip ||
	    c->opcode != (is_send(m->opcode) ? BSN_RECV : BSN_RECV_RDMA_WITH_IMM) ||
	    has_imm(m->opcode) != !!(c->flags & BSN_C_IMM) ||
	    (m->opcode == BSN_OPCODE_SEND_INVAL) != !!(c->flags & BSN_C_INVAL) ||
	    (c->flags & (BSN_C_IMM | BSN_C_INVAL) && c->imm != m->imm))
		return false;
	put_received(w, e, r, m, image);
	return !memcmp(image, bench_at(w->b, w->b->srq ? 0 : e, recv_at(recv_slot(w, e, r))), RECV);
}

/*
 * Returns the message that a receive took: the next one; on transports that may lose some, a later
 * one.
 */
static const struct message *next_message(struct world *w, int e, const struct received *r,
					  const struct bsn_completion *c)
{
	struct end *peer = &w->end[!e];

	while (peer->message_count) {
		const struct message *m = &peer->messages[peer->first_message];
		peer->first_message = (peer->first_message + 1) % MESSAGES;
		peer->message_count--;
		if (c->status || is_what_came(w, e, r, m, c))
			return m;
		demand(w, !is_rc(w),
		       "end %d: not the message that was sent: %u bytes by opcode %u, %u by %u", e,
		       m->length, m->opcode, c->byte_len, c->opcode);
	}
	demand(w, false, "end %d: a message that nobody sent, %u bytes", e, c->byte_len);
	return NULL;
}

static void check_received(struct world *w, int e, const struct received *r,
			   const struct bsn_completion *c)
{
	if (c->status == IBV_WC_WR_FLUSH_ERR)
		return;
	demand(w, !c->status || (c->status == IBV_WC_LOC_PROT_ERR && r->is_spoiled),
	       "end %d: a receive: %s", e, ibv_wc_status_str(c->status));
	const struct message *m = next_message(w, e, r, c);
	demand(w,
	       !c->status == !(r->is_spoiled && is_send(m->opcode) && m->length) ||
		       may_scatter_to_cqe(w, m->length),
	       "end %d: a receive with a bad key: %s", e, ibv_wc_status_str(c->status));
	w->done++;
}

static void take_recv(struct world *w, int e, const struct bsn_completion *c)
{
	struct received *r = NULL, *first = NULL;

	for (unsigned i = 0; i < RECVS; i++) {
		struct received *at = &w->end[e].recvs[i];
		if (at->is_used && at->id == c->id)
			r = at;
		if (at->is_used && (!first || at->number < first->number))
			first = at;
	}
	demand(w, r, "end %d: receive %#llx came back twice, or is none", e, LLU(c->id));
	demand(w, w->b->srq || r == first, "end %d: receives out of order", e);
	demand(w, c->user == &w->b->qp[e], "end %d: another's user pointer", e);
	if (c->status)
		keep_error(w, e, c);
	check_received(w, e, r, c);
	r->is_used = false;
}

void take(struct world *w, int e, const struct bsn_completion *c, int count)
{
	demand(w, count >= 0, "end %d: poll: %s", e, strerror(-count));
	for (; count-- > 0; c++) {
		demand(w, c->qpn == bsn_qp_info(w->b->qp[e])->number, "end %d: QPN %#x", e, c->qpn);
		demand(w, !w->end[e].is_reset, "end %d: %#llx after a reset", e, LLU(c->id));
		if (c->opcode & 0x80)
			take_recv(w, e, c);
		else
			take_send(w, e, c);
	}
}

int poll_some(struct world *w, int e)
{
	struct bsn_completion c[80] = { 0 };
	const int n = one_in(3) ? 1 : one_in(2) ? 16 : 1 + (int)below(80);
	const int count = n == 1    ? bsn_poll(w->b->cq[e], c, 1)
			  : n == 16 ? bsn_poll(w->b->cq[e], c, 16)
				    : bsn_poll(w->b->cq[e], c, n);

	demand(w, count <= n, "end %d: %d completions of %d", e, count, n);
	take(w, e, c, count);
	if (count <= 0 && w->b->test->qp.ce_on_first_error) {
		const int back = bsn_qp_give_back(w->b->qp[e], c, n);
		take(w, e, c, back);
		return back;
	}
	return count;
}

void settle(struct world *w)
{
	int count;

	do {
		bench_settle(w->b);
		count = poll_some(w, 0) + poll_some(w, 1);
	} while (count);
}
