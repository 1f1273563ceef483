/* SPDX-License-Identifier: BSD-2-Clause */
/* Random requests, and a model of what they do to memory. */
#include "random_work.h"

static bool on_verbs(const struct world *w)
{
	return w->b->kind == BENCH_VERBS || w->b->kind == BENCH_ATTACHED_VERBS;
}

/* What invalidates a key needs one that nothing else uses. */
static bool has_victims(const struct world *w)
{
	return is_rc(w) && w->b->is_model && !bench_is_attached(w->b);
}

/* -- where things are -------------------------------------------------------------------------- */

static size_t region_at(int e, unsigned slot)
{
	return SOURCE + ((size_t)e * REGIONS + slot) * REGION;
}

size_t recv_at(unsigned slot)
{
	return SOURCE + (size_t)2 * REGIONS * REGION + (size_t)slot * RECV;
}

static unsigned slot_of(const struct end *end, const struct sent *s)
{
	return (unsigned)(s - end->sends);
}

bool is_read(const struct sent *s)
{
	return s->wr.opcode == BSN_OPCODE_RDMA_READ;
}

bool is_atomic(const struct sent *s)
{
	return s->wr.opcode == BSN_OPCODE_ATOMIC_CS || s->wr.opcode == BSN_OPCODE_ATOMIC_FA;
}

static bool is_write(const struct sent *s)
{
	return s->wr.opcode == BSN_OPCODE_RDMA_WRITE || s->wr.opcode == BSN_OPCODE_RDMA_WRITE_IMM;
}

bool is_send(unsigned opcode)
{
	return opcode == BSN_OPCODE_SEND || opcode == BSN_OPCODE_SEND_IMM ||
	       opcode == BSN_OPCODE_SEND_INVAL;
}

bool has_imm(unsigned opcode)
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

void fill_regions(struct world *w, int e, const struct sent *s)
{
	const size_t at = region_at(e, slot_of(&w->end[e], s));

	put_peers(s, bench_at(w->b, !e, at), false);
	put_own(s, bench_at(w->b, e, at), w->b->mem[e]->addr + at, false);
}

void check_data(struct world *w, int e, const struct sent *s)
{
	const size_t at = region_at(e, slot_of(&w->end[e], s));
	uint8_t image[REGION];

	put_own(s, image, w->b->mem[e]->addr + at, true);
	demand(w, !memcmp(image, bench_at(w->b, e, at), REGION),
	       "end %d, %#llx, opcode %u of %u bytes: its own memory", e, LLU(s->wr.id),
	       s->wr.opcode, s->length);
	if (!is_rc(w) && (!w->b->is_model || w->trouble || is_message(s)))
		return; /* a success says that it was sent */
	put_peers(s, image, true);
	demand(w, !memcmp(image, bench_at(w->b, !e, at), REGION),
	       "end %d, %#llx, opcode %u of %u bytes: the peer's memory", e, LLU(s->wr.id),
	       s->wr.opcode, s->length);
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
	s->result =
		bench_result(w->b, bench_is_attached(w->b) && w->b->test->qp.signal_all, s->old);
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

unsigned blocks_of(const struct world *w, const struct sent *s)
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
	return one_in(4) ? NOW : flags;
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
bool may_scatter_to_cqe(const struct world *w, uint32_t length)
{
	return (bench_is_attached(w->b) || on_verbs(w)) && length <= 64;
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

void note_sent(struct world *w, int e, struct sent *s)
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

struct bsn_outstanding outstanding(struct world *w, int e)
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
bool send_one(struct world *w, int e, enum trouble how)
{
	struct end *end = &w->end[e];
	struct sent *s = &end->sends[(end->first + end->count) % REGIONS];

	if (end->count == REGIONS || end->message_count == MESSAGES - 1 || end->is_reset)
		return false;
	choose_request(w, e, s);
	if (how && spoil(w, s, how))
		w->trouble = how;
	fill_regions(w, e, s);
	int err = post(w, e, s);
	if (!err)
		note_sent(w, e, s);
	else
		w->refused++;
	check_room(w, e, s, err);
	return !err;
}

/* Posts requests that no queue takes; they must leave no trace. */
void send_nonsense(struct world *w, int e)
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
