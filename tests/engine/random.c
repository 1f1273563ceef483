/* SPDX-License-Identifier: BSD-2-Clause */
/* The lives of two QPs: random work, and what is promised at rest. */
#include "random_work.h"

_Static_assert(SOURCE + 2 * REGIONS * REGION + RECVS * RECV <= BENCH_BYTES, "it fits");

/* -- what is promised at rest ------------------------------------------------------------------ */

/* Checks the number of outstanding requests. It is known, except for the library's own signals. */
static void check_outstanding(struct world *w, int e)
{
	const struct bsn_outstanding now = outstanding(w, e);
	struct bsn_sq *const sq = w->b->sq[e];
	const uint32_t out = dv_sq(sq)->ring ? bsn_sq_outstanding_bb(sq) : now.sends;
	const struct end *end = &w->end[e];
	unsigned recvs = 0;

	for (unsigned i = 0; i < RECVS; i++)
		recvs += end->recvs[i].is_used;
	if (!w->b->srq)
		demand(w, now.recvs == recvs, "end %d: %u receives are out, not %u", e, now.recvs,
		       recvs);
	if (w->was_killed)
		return; /* a marker may be out */
	demand(w, out <= end->blocks, "end %d: %u are out, %u at most can be", e, out, end->blocks);
	if (never_signals(w))
		demand(w, out == end->blocks, "end %d: %u are out, not %u", e, out, end->blocks);
}

static void check_error(struct world *w, int e)
{
	const struct end *end = &w->end[e];
	struct bsn_qp_error error;

	ok(bsn_qp_error(w->b->qp[e], &error));
	demand(w, error.has_failed == end->has_error, "end %d: has failed: %d", e,
	       error.has_failed);
	if (end->has_error)
		demand(w,
		       error.first.id == end->error.id && error.first.status == end->error.status,
		       "end %d: %#llx failed first, not %#llx", e, LLU(end->error.id),
		       LLU(error.first.id));
}

/* A signaled request after all others: when it is back, they are done. */
static void drain_by_marker(struct world *w, int e)
{
	static const struct bsn_sge none;
	struct end *end = &w->end[e];
	struct sent *s = &end->sends[(end->first + end->count) % REGIONS];

	if (end->count == REGIONS)
		return;
	*s = (struct sent){ .wr = { .id = random_u64(),
				    .flags = NOW,
				    .opcode = BSN_OPCODE_RDMA_WRITE,
				    .remote = bench_remote(w->b, !e, 0),
				    .sge = &none } };
	if (type_of(w) == BSN_QP_UD)
		s->wr.opcode = BSN_OPCODE_SEND;
	s->blocks = blocks_of(w, s);
	s->at = GUARD;
	fill_regions(w, e, s);
	int err = bsn_post(w->b->ep[e], &s->wr);
	demand(w, !err, "end %d: a queue that was polled is full: %s", e, strerror(-err));
	note_sent(w, e, s);
	settle(w);
	demand(w, !end->count, "end %d: %u requests did not come back", e, end->count);
	demand(w, !outstanding(w, e).sends, "end %d: credits are lost", e);
}

static void drain_in_peace(struct world *w)
{
	for (int e = 0; e < 2; e++)
		ok(bsn_ring(w->b->ep[e]));
	settle(w);
	for (int e = 0; e < 2; e++) {
		check_outstanding(w, e);
		drain_by_marker(w, e);
		demand(w, !is_rc(w) || !w->end[e].message_count, "end %d: %u messages are lost", e,
		       w->end[e].message_count);
		w->end[e].message_count = 0;
		check_error(w, e);
	}
}

/* Drains by failing the QP, as drain-and-flush.md describes. */
static void drain_by_failure(struct world *w, int e)
{
	struct end *end = &w->end[e];
	struct bsn_completion c[16];
	struct bsn_outstanding left = outstanding(w, e);
	int count = 1;

	w->trouble = w->trouble ? w->trouble : FAILED;
	w->was_killed = true;
	ok(bsn_qp_fail(w->b->qp[e]));
	while (count && (left.sends || left.recvs || count > 0)) {
		count = bench_reap(w->b, w->b->cq[e], c, 16);
		take(w, e, c, count);
		if (w->b->test->qp.ce_on_first_error) {
			const int back = bsn_qp_give_back(w->b->qp[e], c, 16);
			take(w, e, c, back);
			count += back;
		}
		left = outstanding(w, e);
	}
	demand(w, !left.sends && !left.recvs, "end %d: %u and %u never come back", e, left.sends,
	       left.recvs);
	while (end->count)
		pass_silent(w, e);
	for (unsigned i = 0; !w->b->srq && i < RECVS; i++)
		demand(w, !end->recvs[i].is_used, "end %d: a receive was not flushed", e);
	check_error(w, e);
}

/* -- lives ------------------------------------------------------------------------------------- */

static void forget(struct world *w, int e)
{
	struct end *end = &w->end[e];

	end->first = end->count = end->blocks = end->quiet = 0;
	end->has_failed = end->has_error = end->is_reset = false;
	for (unsigned i = 0; !w->b->srq && i < RECVS; i++)
		end->recvs[i].is_used = false;
}

static void reset_end(struct world *w, int e)
{
	ok(bsn_qp_reset(w->b->qp[e]));
	demand(w, !outstanding(w, e).sends && !outstanding(w, e).recvs,
	       "end %d: a reset forgets not all", e);
	forget(w, e);
	w->end[e].is_reset = true;
}

static void free_victims(struct world *w)
{
	while (w->victim_count)
		victim_free(&w->victims[--w->victim_count]);
}

static void begin_anew(struct world *w)
{
	for (int e = 0; e < 2; e++)
		if (!w->end[e].is_reset)
			reset_end(w, e);
	expect_nothing(w->b, w->b->cq[0]);
	expect_nothing(w->b, w->b->cq[1]);
	free_victims(w);
	bench_connect(w->b);
	for (int e = 0; e < 2; e++) {
		forget(w, e);
		w->end[e].message_count = 0;
	}
	w->trouble = NO_TROUBLE;
	w->was_killed = false;
}

static void send_bad_key(struct world *w, int e, enum trouble how)
{
	for (unsigned tries = 0; tries < 100 && w->trouble != how; tries++) {
		if (!send_one(w, e, how))
			settle(w);
		if (type_of(w) == BSN_QP_UC && how == REMOTE_KEY)
			return; /* on these transports a loss is normal */
	}
}

static void make_trouble(struct world *w, int e)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	const enum trouble how = 1 + below(TROUBLES - 1);

	switch (how) {
	case LOCAL_KEY:
	case REMOTE_KEY:
		if (how == LOCAL_KEY || type_of(w) == BSN_QP_RC)
			send_bad_key(w, e, how);
		break;
	case RECEIVE_KEY:
		if (is_rc(w) && !w->b->srq) /* there it might outlive the QPs */
			receive_one(w, e, true);
		break;
	case FAILED:
		w->trouble = how;
		w->was_killed = true;
		ok(bsn_qp_fail(w->b->qp[e]));
		break;
	case BROKEN:
		w->trouble = how;
		w->was_killed = true;
		ok(-ibv_modify_qp(bsn_qp_info(w->b->qp[e])->verbs, &error, IBV_QP_STATE));
		break;
	default:
		if (w->b->srq)
			break;
		w->trouble = PEER_RESET;
		w->was_killed = true;
		reset_end(w, e);
		break;
	}
}

static void act(struct world *w, int e)
{
	const unsigned dice = below(20);

	if (dice < 8) {
		for (unsigned n = one_in(2) ? 1 : 1 + below(8); n && send_one(w, e, NO_TROUBLE);
		     n--)
			;
	} else if (dice < 12) {
		for (unsigned n = 1 + below(8); n; n--)
			receive_one(w, e, false);
	} else if (dice < 15) {
		poll_some(w, e);
	} else if (dice < 17) {
		if (w->b->is_model)
			softcx_step(1 + below(8));
	} else if (dice < 18) {
		ok(bsn_ring(w->b->ep[e]));
	} else if (dice < 19) {
		if (!w->end[e].is_reset)
			send_nonsense(w, e);
	} else {
		settle(w);
		if (!w->end[e].is_reset)
			check_outstanding(w, e);
	}
}

static void live(struct world *w)
{
	const unsigned steps = 20 + below(150);
	const unsigned when = one_in(3) ? UINT32_MAX : below(steps);

	for (int e = 0; e < 2; e++)
		random_bytes(bench_at(w->b, e, 0), SOURCE);
	for (w->step = 0; w->step < steps; w->step++) {
		act(w, (int)below(2));
		if (w->step == when)
			make_trouble(w, (int)below(2));
	}
	if (w->trouble == NO_TROUBLE) {
		drain_in_peace(w);
		if (one_in(2))
			return; /* and goes on */
	}
	if (one_in(3) && !w->b->srq) {
		begin_anew(w); /* whatever is out */
		return;
	}
	for (int e = 0; e < 2; e++)
		if (!w->end[e].is_reset)
			drain_by_failure(w, e);
	begin_anew(w);
}

static unsigned rounds(struct bench *b)
{
	const char *wanted = getenv("BSN_ROUNDS");

	return bench_rounds(b, LIVES * (wanted ? (unsigned)strtoul(wanted, NULL, 0) : 1));
}

static void promises_hold(struct bench *b)
{
	static struct world world;
	struct world *w = &world;

	memset(w, 0, sizeof(*w));
	w->b = b;
	for (int e = 0; e < 2; e++) {
		w->end[e].recvs = w->recvs[b->srq ? 0 : e];
		w->end[e].limits = *bsn_qp_info(b->qp[e]);
		if (b->srq)
			w->end[e].limits.max_recv_sge = b->test->qp.max_recv_sge;
	}
	for (w->life = 0; w->life < rounds(b); w->life++)
		live(w);
	free_victims(w);
	print_message("# %u done, %u failed or flushed, %u refused\n", w->done, w->flushed,
		      w->refused);
}

#define QUICK_DEATH .connect = { .retry_count = 1, .timeout = 8, .mtu = 256 }
#define KERNEL_RXE                                                                                 \
	.rxe_lacks = "soft-RoCE flushes what is posted in error only when something else happens"
#define TRIAL(text) .name = text, .run = promises_hold, QUICK_DEATH, KERNEL_RXE, MODEL

static const struct bench_case cases[] = {
	{ TRIAL("RC, everything by default") },
	{ TRIAL("RC, long requests"),
	  .qp = { .max_send_sge = 13, .max_recv_sge = 4, .max_inline = 220, .send_depth = 9 } },
	{ TRIAL("RC, all signaled"),
	  .qp = { .signal_all = true, .max_inline = 60, .max_send_sge = 4 } },
	{ TRIAL("RC, signaled by the poster alone"),
	  .qp = { .signal_every = -1, .max_send_sge = 2, .send_depth = 12 } },
	{ TRIAL("RC, signaled at once"),
	  .qp = { .signal_every = 1, .max_recv_sge = 3, .send_depth = 2, .max_inline = 100 } },
	{ TRIAL("RC, only the first error"), .qp = { .ce_on_first_error = true, .max_send_sge = 3 },
	  OWN },
	{ TRIAL("RC, a shared receive queue"), .qp = { .max_recv_sge = 2, .max_send_sge = 5 },
	  .has_srq = true, .cq_entries = 2048 },
	{ TRIAL("UC"), .qp = { .type = BSN_QP_UC, .max_send_sge = 3, .max_inline = 150 } },
	{ TRIAL("UD"), .qp = { .type = BSN_QP_UD, .max_send_sge = 3, .max_inline = 120 } },
};

int main(void)
{
	random_start();
	return bench_run("random", cases, COUNT(cases));
}
