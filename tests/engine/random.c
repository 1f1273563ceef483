/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random work on two connected QPs, and what engine/doc/drain-and-flush.md promises about it:
 * requests of all shapes by all calls, invalid keys, QPs that are killed, drains and resets. A
 * plain model says what each request does. What comes back, and what is in memory then, has to
 * agree with it.
 *
 * BSN_SEED repeats a run; BSN_ROUNDS makes it so many times as long.
 */
#include "harness.h"
#include "posts.h"
#include "sq.h"

#include "../softcx/victim.h"
#include "../wqe/random.h"

enum {
	LIVES = 12, /* of the QPs, from a connection to a reset */
	MAX_BYTES = 256,
	MAX_PIECES = 16,
	GUARD = 8, /* bytes before and after what a request may write */
	REGION = GUARD + MAX_BYTES + MAX_PIECES + GUARD,
	REGIONS = 64, /* a direction */
	RECV_BYTES = BSN_GRH_SIZE + MAX_BYTES,
	MAX_RECV_PIECES = 4,
	RECV_HEAD = 40, /* bytes of the pieces before the last, each */
	RECV = RECV_BYTES + MAX_RECV_PIECES * (RECV_HEAD + 1),
	RECVS = BENCH_DEPTH,
	SOURCE = 2048, /* bytes that are only read */
	MESSAGES = 256,
	VICTIMS = 32,
	FILL = 0xee,
	NO_KEY = 0x55000000, /* bits of a key that make it nobody's */
};

_Static_assert(SOURCE + 2 * REGIONS * REGION + RECVS * RECV <= BENCH_BYTES, "it fits");

/*
 * A request of one direction that may not be over yet. It has a region of its own, at the same
 * offset at both ends. READs and the results of atomics arrive in the sender's region.
 */
struct sent {
	struct bsn_wr wr;
	struct bsn_sge sge[MAX_PIECES];
	uint8_t data[MAX_BYTES]; /* what is moved */
	uint32_t length;
	unsigned at; /* where in the peer's region */
	unsigned blocks;
	uint64_t old, new;          /* of an atomic */
	uint64_t result;            /* as it gets to memory */
	enum ibv_wc_status spoiled; /* the status of its bad key; success: its keys are good */
	bool is_lost;               /* it never arrives, and no completion says so */
};

struct message {
	unsigned opcode;
	uint32_t imm, length;
	uint8_t data[MAX_BYTES];
};

struct received {
	uint64_t id, number;
	struct bsn_sge sge[MAX_RECV_PIECES];
	unsigned count;
	bool is_used, is_spoiled;
};

struct end {
	struct sent sends[REGIONS];
	unsigned first, count; /* of those that may not be over */
	unsigned blocks;       /* of them */
	unsigned quiet;        /* blocks since one that was signaled */
	struct message messages[MESSAGES];
	unsigned first_message, message_count; /* not seen by the peer yet */
	struct received *recvs; /* RECVS; those of an SRQ are the same for both ends */
	struct bsn_qp_info limits;
	bool has_failed; /* a send came back without success */
	bool is_reset;   /* and not connected again */
	bool has_error;  /* @error is the first completion without success */
	struct bsn_completion error;
};

/* What the queues went through, in this life. */
enum trouble {
	NO_TROUBLE,
	LOCAL_KEY,
	REMOTE_KEY,
	RECEIVE_KEY,
	FAILED, /* bsn_qp_fail() */
	BROKEN, /* by libibverbs, without Bunsen */
	PEER_RESET,
	TROUBLES
};

struct world {
	struct bench *b;
	unsigned life, step;
	enum trouble trouble; /* what has happened */
	bool was_killed;
	uint64_t recv_number;
	struct received recvs[2][RECVS];
	struct end end[2];
	struct victim victims[VICTIMS]; /* of SENDs that invalidate a key */
	unsigned victim_count;
	unsigned refused, done, flushed; /* a run must have all three */
};

#define demand(w, is_true, ...)                                                                    \
	do {                                                                                       \
		if (!(is_true)) {                                                                  \
			print_error("life %u, step %u, trouble %u: ", (w)->life, (w)->step,        \
				    (w)->trouble);                                                 \
			print_error(__VA_ARGS__);                                                  \
			print_error("\n");                                                         \
			_fail(__FILE__, __LINE__);                                                 \
		}                                                                                  \
	} while (0)

static unsigned below(unsigned n)
{
	return (unsigned)(random_u64() >> 33) % n;
}

static bool one_in(unsigned n)
{
	return !below(n);
}

static enum bsn_qp_type type_of(const struct world *w)
{
	return w->b->test->qp.type;
}

static bool is_rc(const struct world *w)
{
	return type_of(w) == BSN_QP_RC;
}

static bool on_verbs(const struct world *w)
{
	return w->b->kind == BENCH_VERBS || w->b->kind == BENCH_ATTACHED_VERBS;
}

static bool is_attached(const struct world *w)
{
	return w->b->kind == BENCH_ATTACHED_DIRECT || w->b->kind == BENCH_ATTACHED_VERBS;
}

/* What invalidates a key needs one that nothing else uses. */
static bool has_victims(const struct world *w)
{
	return is_rc(w) && w->b->is_model && !is_attached(w);
}

/* Whether only the poster signals, so that the exact number of free blocks is known. */
static bool never_signals(const struct world *w)
{
	return w->b->test->qp.signal_every < 0 || w->b->test->qp.signal_all || is_attached(w);
}

/* -- where things are -------------------------------------------------------------------------- */

static size_t region_at(int e, unsigned slot)
{
	return SOURCE + ((size_t)e * REGIONS + slot) * REGION;
}

static size_t recv_at(unsigned slot)
{
	return SOURCE + (size_t)2 * REGIONS * REGION + (size_t)slot * RECV;
}

static unsigned slot_of(const struct end *end, const struct sent *s)
{
	return (unsigned)(s - end->sends);
}

static bool is_read(const struct sent *s)
{
	return s->wr.opcode == BSN_OPCODE_RDMA_READ;
}

static bool is_atomic(const struct sent *s)
{
	return s->wr.opcode == BSN_OPCODE_ATOMIC_CS || s->wr.opcode == BSN_OPCODE_ATOMIC_FA;
}

static bool is_write(const struct sent *s)
{
	return s->wr.opcode == BSN_OPCODE_RDMA_WRITE || s->wr.opcode == BSN_OPCODE_RDMA_WRITE_IMM;
}

static bool is_send(unsigned opcode)
{
	return opcode == BSN_OPCODE_SEND || opcode == BSN_OPCODE_SEND_IMM ||
	       opcode == BSN_OPCODE_SEND_INVAL;
}

static bool has_imm(unsigned opcode)
{
	return opcode == BSN_OPCODE_SEND_IMM || opcode == BSN_OPCODE_RDMA_WRITE_IMM;
}

/* Whether the peer takes a receive for it. */
static bool is_message(const struct sent *s)
{
	return is_send(s->wr.opcode) || s->wr.opcode == BSN_OPCODE_RDMA_WRITE_IMM;
}

static bool is_inline(const struct sent *s)
{
	return s->wr.flags & BSN_F_INLINE;
}

/* -- the model: what is in memory when a request is over --------------------------------------- */

static void put_peers(const struct sent *s, uint8_t *image, bool is_over)
{
	memset(image, FILL, REGION);
	if (is_read(s) || (is_write(s) && is_over && !s->is_lost))
		memcpy(image + s->at, s->data, s->length);
	if (is_atomic(s))
		memcpy(image + s->at, is_over ? &s->new : &s->old, 8);
}

static void put_own(const struct sent *s, uint8_t *image, uint64_t base, bool is_over)
{
	uint32_t done = 0;

	memset(image, FILL, REGION);
	if (is_over && is_atomic(s))
		memcpy(image + (s->sge[0].addr - base), &s->result, 8);
	for (unsigned i = 0; is_over && is_read(s) && i < s->wr.sge_count; i++) {
		memcpy(image + (s->sge[i].addr - base), s->data + done, s->sge[i].length);
		done += s->sge[i].length;
	}
}

static void fill_regions(struct world *w, int e, const struct sent *s)
{
	const size_t at = region_at(e, slot_of(&w->end[e], s));

	put_peers(s, bench_at(w->b, !e, at), false);
	put_own(s, bench_at(w->b, e, at), w->b->mem[e]->addr + at, false);
}

static void check_data(struct world *w, int e, const struct sent *s)
{
	const size_t at = region_at(e, slot_of(&w->end[e], s));
	uint8_t image[REGION];

	put_own(s, image, w->b->mem[e]->addr + at, true);
	demand(w, !memcmp(image, bench_at(w->b, e, at), REGION),
	       "end %d, %#llx, opcode %u of %u bytes: its own memory", e,
	       (unsigned long long)s->wr.id, s->wr.opcode, s->length);
	if (!is_rc(w) && (!w->b->is_model || w->trouble || is_message(s)))
		return; /* a success says that it was sent */
	put_peers(s, image, true);
	demand(w, !memcmp(image, bench_at(w->b, !e, at), REGION),
	       "end %d, %#llx, opcode %u of %u bytes: the peer's memory", e,
	       (unsigned long long)s->wr.id, s->wr.opcode, s->length);
}

/* -- requests ---------------------------------------------------------------------------------- */

static unsigned choose_opcode(const struct world *w)
{
	static const uint8_t all[] = { BSN_OPCODE_SEND,           BSN_OPCODE_SEND_IMM,
				       BSN_OPCODE_RDMA_WRITE,     BSN_OPCODE_RDMA_WRITE,
				       BSN_OPCODE_RDMA_WRITE_IMM, BSN_OPCODE_RDMA_READ,
				       BSN_OPCODE_RDMA_READ,      BSN_OPCODE_ATOMIC_FA,
				       BSN_OPCODE_ATOMIC_CS };

	return all[below(type_of(w) == BSN_QP_UD ? 2 : is_rc(w) ? sizeof(all) : 5)];
}

static void choose_victim(struct world *w, int e, struct sent *s)
{
	struct victim *victim = &w->victims[w->victim_count];

	if (s->wr.opcode != BSN_OPCODE_SEND || !has_victims(w) || w->victim_count == VICTIMS ||
	    !one_in(8))
		return;
	victim_make(victim, bsn_qp_info(w->b->qp[!e])->verbs->pd);
	w->victim_count++;
	s->wr.opcode = BSN_OPCODE_SEND_INVAL;
	s->wr.imm = victim->rkey;
}

/* Pieces that add up to the length; some are empty. */
static void cut(struct sent *s, unsigned count, uint32_t length)
{
	uint32_t left = length;

	s->wr.sge_count = count;
	s->length = count ? length : 0;
	for (unsigned i = 0; i < count; i++) {
		const uint32_t part = i + 1 == count ? left : one_in(5) ? 0 : below(left + 1);

		s->sge[i].length = part;
		left -= part;
	}
}

static void point_at_source(struct world *w, int e, struct sent *s)
{
	uint32_t done = 0;

	for (unsigned i = 0; i < s->wr.sge_count; i++) {
		const size_t from = below(SOURCE - MAX_BYTES);

		s->sge[i].addr = w->b->mem[e]->addr + from;
		s->sge[i].lkey = w->b->mem[e]->lkey;
		memcpy(s->data + done, bench_at(w->b, e, from), s->sge[i].length);
		done += s->sge[i].length;
	}
}

/* Pieces of the own region, each a byte apart from the last. */
static void point_at_region(struct world *w, int e, struct sent *s)
{
	uint64_t at = w->b->mem[e]->addr + region_at(e, slot_of(&w->end[e], s)) + GUARD;

	for (unsigned i = 0; i < s->wr.sge_count; i++) {
		s->sge[i].addr = at;
		s->sge[i].lkey = w->b->mem[e]->lkey;
		at += s->sge[i].length + 1;
	}
	random_bytes(s->data, sizeof(s->data));
}

static void choose_atomic(const struct world *w, struct sent *s)
{
	s->old = one_in(2) ? random_u64() : below(3);
	s->result = bench_result(w->b, is_attached(w) && w->b->test->qp.signal_all, s->old);
	s->wr.swap_add = random_u64();
	s->wr.compare = one_in(2) ? s->old : random_u64();
	s->new = s->wr.opcode == BSN_OPCODE_ATOMIC_FA ? s->old + s->wr.swap_add
		 : s->wr.compare == s->old            ? s->wr.swap_add
						      : s->old;
}

/* Of one piece, mostly; and often as long as may be. */
static void choose_data(struct world *w, int e, struct sent *s)
{
	const struct bsn_qp_info *limits = &w->end[e].limits;
	const unsigned most = limits->max_send_sge < MAX_PIECES ? limits->max_send_sge : MAX_PIECES;
	const unsigned count = one_in(2) ? 1 : one_in(20) ? 0 : one_in(5) ? most : 1 + below(most);
	uint32_t longest = MAX_BYTES;

	if (is_atomic(s)) {
		cut(s, 1, 8);
		choose_atomic(w, s);
		point_at_region(w, e, s);
		return;
	}
	if (!is_read(s) && one_in(2))
		s->wr.flags |= BSN_F_INLINE;
	if (is_inline(s) && longest > limits->max_inline)
		longest = limits->max_inline;
	cut(s, count, one_in(5) ? longest : below(longest + 1));
	if (is_read(s))
		point_at_region(w, e, s);
	else
		point_at_source(w, e, s);
}

static unsigned blocks_of(const struct world *w, const struct sent *s)
{
	unsigned ds = 1 + (type_of(w) == BSN_QP_UD ? 3 : 0);

	if (on_verbs(w))
		return 1;
	if (is_read(s) || is_write(s) || is_atomic(s))
		ds++;
	if (is_atomic(s))
		return 1; /* control, address, operands, result */
	if (is_inline(s))
		return (ds + (s->length ? (4 + s->length + 15) / 16 : 0) + 3) / 4;
	for (unsigned i = 0; i < s->wr.sge_count; i++)
		ds += s->sge[i].length != 0;
	return (ds + 3) / 4;
}

static unsigned choose_flags(const struct world *w, const struct end *end)
{
	unsigned flags = 0;

	if (one_in(2) || (never_signals(w) && end->quiet >= end->limits.short_sends / 4))
		flags |= BSN_F_SIGNALED;
	if (one_in(2))
		flags |= BSN_F_RING;
	if (one_in(8))
		flags |= BSN_F_FENCE;
	if (one_in(8))
		flags |= BSN_F_SOLICITED;
	return one_in(4) ? BSN_F_SIGNALED | BSN_F_RING : flags;
}

/* Receives that no message will take. */
static unsigned spare_recvs(const struct world *w, int e)
{
	unsigned count = 0;

	for (unsigned i = 0; i < RECVS; i++)
		count += w->end[e].recvs[i].is_used;
	count -= w->end[!e].message_count < count ? w->end[!e].message_count : count;
	if (w->b->srq)
		count -= w->end[e].message_count < count ? w->end[e].message_count : count;
	return count;
}

static void choose_request(struct world *w, int e, struct sent *s)
{
	struct end *end = &w->end[e];

	*s = (struct sent){ .wr = { .id = random_u64(),
				    .opcode = choose_opcode(w),
				    .flags = choose_flags(w, end),
				    .imm = (uint32_t)random_u64() } };
	if (is_message(s) && !spare_recvs(w, !e) && (is_rc(w) || !one_in(8)))
		s->wr.opcode = type_of(w) == BSN_QP_UD ? BSN_OPCODE_SEND : BSN_OPCODE_RDMA_WRITE;
	choose_victim(w, e, s);
	choose_data(w, e, s);
	s->at = GUARD + (is_atomic(s) ? 0 : below(MAX_PIECES));
	s->wr.sge = s->sge;
	s->wr.remote = bench_remote(w->b, !e, region_at(e, slot_of(end, s)) + s->at);
	s->blocks = blocks_of(w, s);
}

/*
 * A QP that libmlx5 created by itself is given up to 64 bytes in the CQE, and they are copied from
 * there without a look at the key.
 */
static bool may_scatter_to_cqe(const struct world *w, uint32_t length)
{
	return (is_attached(w) || on_verbs(w)) && length <= 64;
}

/* Replaces a key by an invalid one; false: the device looks at no key of this request. */
static bool spoil(struct world *w, struct sent *s, enum trouble how)
{
	if (how == REMOTE_KEY) {
		if (!(is_read(s) || is_atomic(s) || s->wr.opcode == BSN_OPCODE_RDMA_WRITE) ||
		    !s->length)
			return false;
		s->wr.remote.rkey ^= NO_KEY;
		s->is_lost = !is_rc(w);
		s->spoiled = is_rc(w) ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS;
		return true;
	}
	if (is_inline(s) || !s->length || (may_scatter_to_cqe(w, s->length) && !is_write(s)))
		return false;
	for (unsigned i = 0; i < s->wr.sge_count; i++)
		s->sge[i].lkey ^= NO_KEY;
	s->spoiled = IBV_WC_LOC_PROT_ERR;
	return true;
}

static void note_message(struct world *w, int e, const struct sent *s)
{
	struct end *end = &w->end[e];
	struct message *m = &end->messages[(end->first_message + end->message_count++) % MESSAGES];

	demand(w, end->message_count < MESSAGES, "more messages than the test remembers");
	*m = (struct message){ .opcode = s->wr.opcode, .length = s->length, .imm = s->wr.imm };
	memcpy(m->data, s->data, s->length);
}

static void note_sent(struct world *w, int e, struct sent *s)
{
	struct end *end = &w->end[e];

	if (w->b->test->qp.signal_all)
		s->wr.flags |= BSN_F_SIGNALED;
	end->quiet = s->wr.flags & BSN_F_SIGNALED ? 0 : end->quiet + s->blocks;
	end->blocks += s->blocks;
	end->count++;
	if (is_message(s) && !s->spoiled)
		note_message(w, e, s);
}

/* Posts the request. Inline data are overwritten at once, since the post has copied them. */
static int post(struct world *w, int e, const struct sent *s)
{
	const enum post_way first = below(POST_WAYS);
	uint8_t copy[MAX_BYTES];
	struct bsn_sge piece[MAX_PIECES];
	struct bsn_wr wr = s->wr;
	int err = POST_HAS_NO_WAY;
	uint32_t done = 0;

	for (unsigned i = 0; is_inline(s) && i < wr.sge_count; i++) {
		piece[i] = (struct bsn_sge){ (uintptr_t)copy + done, s->sge[i].length, 0x666 };
		done += piece[i].length;
	}
	if (is_inline(s)) {
		memcpy(copy, s->data, s->length);
		wr.sge = piece;
	}
	for (unsigned i = 0; err == POST_HAS_NO_WAY; i++)
		err = post_request(w->b->ep[e], &wr, (first + i) % POST_WAYS);
	memset(copy, 0x66, sizeof(copy));
	memset(piece, 0x66, sizeof(piece));
	return err;
}

static struct bsn_outstanding outstanding(struct world *w, int e)
{
	struct bsn_outstanding result;

	ok(bsn_qp_outstanding(w->b->qp[e], &result));
	return result;
}

/* Checks that -EAGAIN is true, and that a queue takes no more than it says. */
static void check_room(struct world *w, int e, const struct sent *s, int err)
{
	const struct end *end = &w->end[e];

	if (err)
		demand(w,
		       err == -EAGAIN &&
			       end->blocks + s->blocks + w->was_killed > end->limits.short_sends,
		       "end %d: %s, though %u of %u are out", e, strerror(-err), end->blocks,
		       end->limits.short_sends);
	else if (never_signals(w) && !w->was_killed)
		demand(w, end->blocks <= end->limits.short_sends, "end %d took %u of %u", e,
		       end->blocks, end->limits.short_sends);
}

/* One more request, with a bad key if that is wanted and can be; whether there was room. */
static bool send_one(struct world *w, int e, enum trouble how)
{
	struct end *end = &w->end[e];
	struct sent *s = &end->sends[(end->first + end->count) % REGIONS];
	int err;

	if (end->count == REGIONS || end->message_count == MESSAGES - 1 || end->is_reset)
		return false;
	choose_request(w, e, s);
	if (how && spoil(w, s, how))
		w->trouble = how;
	fill_regions(w, e, s);
	err = post(w, e, s);
	if (!err)
		note_sent(w, e, s);
	else
		w->refused++;
	check_room(w, e, s, err);
	return !err;
}

/* Posts requests that no queue takes; they must leave no trace. */
static void send_nonsense(struct world *w, int e)
{
	struct bsn_sge many[64];
	struct bsn_wr wr = { .sge = many, .sge_count = 1, .flags = BSN_F_RING | BSN_F_SIGNALED };

	for (unsigned i = 0; i < 64; i++)
		many[i] = bench_sge(w->b, e, 0, 8);
	wr.remote = bench_remote(w->b, !e, 0);
	wr.opcode = BSN_OPCODE_SEND;
	switch (below(4)) {
	case 0:
		wr.sge_count = w->end[e].limits.max_send_sge + 1;
		break;
	case 1:
		wr.flags |= BSN_F_INLINE;
		many[0].length = w->end[e].limits.max_inline + 1;
		break;
	case 2:
		many[0].length = UINT32_MAX;
		break;
	default:
		wr.opcode = BSN_OPCODE_RDMA_READ;
		wr.flags |= BSN_F_INLINE;
		demand(w, bsn_post(w->b->ep[e], &wr) == -EOPNOTSUPP, "a READ was inline");
		return;
	}
	demand(w, bsn_post(w->b->ep[e], &wr) == -EMSGSIZE, "a request too long was taken");
}

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

static void receive_one(struct world *w, int e, bool is_spoiled)
{
	struct end *end = &w->end[e];
	unsigned slot = 0, used = 0;
	int err;

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
	err = post_recv(w, e, &end->recvs[slot]);
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
	       (unsigned long long)c->id, ibv_wc_status_str(c->status));
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
static void pass_silent(struct world *w, int e)
{
	struct end *end = &w->end[e];
	const struct sent *s = &end->sends[end->first];

	demand(w, !(s->wr.flags & BSN_F_SIGNALED),
	       "end %d: %#llx, opcode %u, flags %#x, %u blocks, never came back", e,
	       (unsigned long long)s->wr.id, s->wr.opcode, s->wr.flags, s->blocks);
	demand(w, !s->spoiled, "end %d: %#llx did not fail", e, (unsigned long long)s->wr.id);
	demand(w, !end->has_failed, "end %d: %#llx was not flushed", e,
	       (unsigned long long)s->wr.id);
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
	demand(w, is_known, "end %d, %#llx: %s", e, (unsigned long long)s->wr.id,
	       ibv_wc_status_str(c->status));
	keep_error(w, e, c);
	end->has_failed = true;
}

static void check_success(struct world *w, int e, const struct sent *s,
			  const struct bsn_completion *c)
{
	demand(w, s->wr.flags & BSN_F_SIGNALED, "end %d: %#llx shows", e,
	       (unsigned long long)s->wr.id);
	demand(w, !w->end[e].has_failed, "end %d: %#llx succeeds after a failure", e,
	       (unsigned long long)s->wr.id);
	demand(w, !s->spoiled,
	       "end %d: %#llx, opcode %u, length %u, %u sges, succeeds with a bad key %#x", e,
	       (unsigned long long)s->wr.id, s->wr.opcode, s->length, s->wr.sge_count,
	       s->sge[0].lkey);
	if (is_read(s) || is_atomic(s))
		demand(w, c->byte_len == s->length, "end %d: %u bytes of %u", e, c->byte_len,
		       s->length);
	check_data(w, e, s);
	w->done++;
}

static void take_send(struct world *w, int e, const struct bsn_completion *c)
{
	struct end *end = &w->end[e];
	const struct sent *s;

	while (end->count && end->sends[end->first].wr.id != c->id)
		pass_silent(w, e);
	demand(w, end->count, "end %d: %#llx came back twice, or out of order, or is none", e,
	       (unsigned long long)c->id);
	s = &end->sends[end->first];
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
	const struct message *m;

	if (c->status == IBV_WC_WR_FLUSH_ERR)
		return;
	demand(w, !c->status || (c->status == IBV_WC_LOC_PROT_ERR && r->is_spoiled),
	       "end %d: a receive: %s", e, ibv_wc_status_str(c->status));
	m = next_message(w, e, r, c);
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
	demand(w, r, "end %d: receive %#llx came back twice, or is none", e,
	       (unsigned long long)c->id);
	demand(w, w->b->srq || r == first, "end %d: receives out of order", e);
	demand(w, c->user == &w->b->qp[e], "end %d: another's user pointer", e);
	if (c->status)
		keep_error(w, e, c);
	check_received(w, e, r, c);
	r->is_used = false;
}

static void take(struct world *w, int e, const struct bsn_completion *c, int count)
{
	demand(w, count >= 0, "end %d: poll: %s", e, strerror(-count));
	for (; count-- > 0; c++) {
		demand(w, c->qpn == bsn_qp_info(w->b->qp[e])->number, "end %d: QPN %#x", e, c->qpn);
		demand(w, !w->end[e].is_reset, "end %d: %#llx after a reset", e,
		       (unsigned long long)c->id);
		if (c->opcode & 0x80)
			take_recv(w, e, c);
		else
			take_send(w, e, c);
	}
}

static int poll_some(struct world *w, int e)
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

static void settle(struct world *w)
{
	int count;

	do {
		bench_settle(w->b);
		count = poll_some(w, 0) + poll_some(w, 1);
	} while (count);
}

/* -- what is promised at rest ------------------------------------------------------------------ */

/* Checks the number of outstanding requests. It is known, except for the library's own signals. */
static void check_outstanding(struct world *w, int e)
{
	const struct bsn_outstanding now = outstanding(w, e);
	struct bsn_sq *const sq = w->b->sq[e];
	const uint32_t out = sq->ring ? bsn_sq_outstanding_bb(sq) : now.sends;
	const struct end *end = &w->end[e];
	unsigned recvs = 0;

	for (unsigned i = 0; i < RECVS; i++)
		recvs += end->recvs[i].is_used;
	if (!w->b->srq)
		demand(w, now.recvs == recvs, "end %d: %u receives are out, not %u", e, now.recvs,
		       recvs);
	if (w->was_killed)
		return; /* a marker may be out */
	demand(w, out <= end->blocks, "end %d: %u are out, %u at most can be", e, out,
	       end->blocks);
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
		       "end %d: %#llx failed first, not %#llx", e,
		       (unsigned long long)end->error.id, (unsigned long long)error.first.id);
}

/* A signaled request after all others: when it is back, they are done. */
static void drain_by_marker(struct world *w, int e)
{
	static const struct bsn_sge none;
	struct end *end = &w->end[e];
	struct sent *s = &end->sends[(end->first + end->count) % REGIONS];
	int err;

	if (end->count == REGIONS)
		return;
	*s = (struct sent){ .wr = { .id = random_u64(),
				    .flags = BSN_F_SIGNALED | BSN_F_RING,
				    .opcode = BSN_OPCODE_RDMA_WRITE,
				    .remote = bench_remote(w->b, !e, 0),
				    .sge = &none } };
	if (type_of(w) == BSN_QP_UD)
		s->wr.opcode = BSN_OPCODE_SEND;
	s->blocks = blocks_of(w, s);
	s->at = GUARD;
	fill_regions(w, e, s);
	err = bsn_post(w->b->ep[e], &s->wr);
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
	demand(w, !left.sends && !left.recvs, "end %d: %u and %u never come back", e,
	       left.sends, left.recvs);
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
#define TRIAL(text)                                                                                \
	CASE(text, promises_hold), QUICK_DEATH, KERNEL_RXE, .is_model_only = true

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
	  .is_own_only = true },
	{ TRIAL("RC, a shared receive queue"), .qp = { .max_recv_sge = 2, .max_send_sge = 5 },
	  .has_srq = true, .cq_entries = 2048 },
	{ TRIAL("UC"), .qp = { .type = BSN_QP_UC, .max_send_sge = 3, .max_inline = 150 } },
	{ TRIAL("UD"), .qp = { .type = BSN_QP_UD, .max_send_sge = 3, .max_inline = 120 } },
};

int main(void)
{
	random_start();
	return bench_run("random", cases, sizeof(cases) / sizeof(cases[0]));
}
