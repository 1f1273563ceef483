/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs path's send queue: requests are appended here, by ibv_wr_*() or into a ring of
 * ibv_send_wr, and handed in by the ring.
 */
#include "verbs.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "bsn_ops.h"
#include "init.h"
#include "refuse.h"

_Static_assert(sizeof(struct bsn_sge) == sizeof(struct ibv_sge) &&
		       offsetof(struct bsn_sge, addr) == offsetof(struct ibv_sge, addr) &&
		       offsetof(struct bsn_sge, length) == offsetof(struct ibv_sge, length) &&
		       offsetof(struct bsn_sge, lkey) == offsetof(struct ibv_sge, lkey),
	       "lists of SGEs are passed on as they are");

/* What the data of a request are, as far as the compiler knows it. */
enum data_form {
	ONE_SGE,
	ONE_PIECE, /* of inline data */
	SGES,
	ANY_DATA,
};

/*
 * A request; @operand: of an atomic, else NULL; @peer: of a queue with many, else NULL. Only inline
 * functions take one, so that it stays in registers.
 */
struct posted {
	unsigned opcode;
	uint32_t what; /* its flags, with those that the queue adds */
	enum data_form form;
	unsigned count;
	const struct bsn_sge *sge;
	const struct bsn_remote *remote;
	uint32_t imm;
	const uint64_t *operand;
	const struct ep_object *peer;
	bool is_xrc; /* the peer is an SRQ */
	uint64_t id;
};

BSN_ALWAYS_INLINE unsigned opcode_of(uint32_t what)
{
	return what & 0xff;
}

BSN_ALWAYS_INLINE unsigned count_of(uint32_t what)
{
	return what >> BSN_WHAT_COUNT_SHIFT;
}

/* What ibv_*() take, but for IBV_SEND_INLINE. */
BSN_ALWAYS_INLINE unsigned send_flags_of(uint32_t what)
{
	enum {
		SOLICITED = BSN_F_SOLICITED >> 9,
		SIGNALED = BSN_F_SIGNALED >> 9,
		FENCE = BSN_F_FENCE >> 9,
		ALL = SOLICITED | SIGNALED | FENCE
	};
	static const uint8_t flags[ALL + 1] = {
		[SOLICITED] = IBV_SEND_SOLICITED,
		[SIGNALED] = IBV_SEND_SIGNALED,
		[SIGNALED | SOLICITED] = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
		[FENCE] = IBV_SEND_FENCE,
		[FENCE | SOLICITED] = IBV_SEND_FENCE | IBV_SEND_SOLICITED,
		[FENCE | SIGNALED] = IBV_SEND_FENCE | IBV_SEND_SIGNALED,
		[ALL] = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
	};

	return flags[what >> 9 & ALL];
}

/* Copies inline data of several pieces into one. Return: how many bytes. */
static uint32_t gather(const struct bsn_sge *sge, unsigned count, uint8_t *to)
{
	uint32_t total = 0;

	for (unsigned i = 0; i < count; i++) {
		if (sge[i].length)
			memcpy(to + total, (const void *)(uintptr_t)sge[i].addr, sge[i].length);
		total += sge[i].length;
	}
	return total;
}

/* -- appending by ibv_wr_*() ---------------------------------------------------------------------- */

/* Where the opcode is not known, the most common ones come first: a jump table costs more than they do. */
BSN_ALWAYS_INLINE void wr_operation(struct ibv_qp_ex *qp, const struct posted *p)
{
	if (p->opcode == BSN_OPCODE_RDMA_WRITE)
		ibv_wr_rdma_write(qp, p->remote->rkey, p->remote->addr);
	else if (p->opcode == BSN_OPCODE_SEND)
		ibv_wr_send(qp);
	else if (p->opcode == BSN_OPCODE_RDMA_READ)
		ibv_wr_rdma_read(qp, p->remote->rkey, p->remote->addr);
	else if (p->opcode == BSN_OPCODE_RDMA_WRITE_IMM)
		ibv_wr_rdma_write_imm(qp, p->remote->rkey, p->remote->addr, htonl(p->imm));
	else if (p->opcode == BSN_OPCODE_SEND_IMM)
		ibv_wr_send_imm(qp, htonl(p->imm));
	else /* of what a queue's ops let through, SEND_INVAL is left */
		ibv_wr_send_inv(qp, p->imm);
}

BSN_ALWAYS_INLINE void wr_atomic(struct ibv_qp_ex *qp, const struct posted *p)
{
	if (p->opcode == BSN_OPCODE_ATOMIC_CS)
		ibv_wr_atomic_cmp_swp(qp, p->remote->rkey, p->remote->addr, p->operand[1],
				      p->operand[0]);
	else
		ibv_wr_atomic_fetch_add(qp, p->remote->rkey, p->remote->addr, p->operand[0]);
}

/* Inline data are copied at once. */
BSN_ALWAYS_INLINE void wr_data(struct ibv_qp_ex *qp, uint8_t *gathered, const struct posted *p)
{
	if (p->form == ONE_SGE)
		ibv_wr_set_sge(qp, p->sge->lkey, p->sge->addr, p->sge->length);
	else if (p->form == ONE_PIECE)
		ibv_wr_set_inline_data(qp, (void *)(uintptr_t)p->sge->addr, p->sge->length);
	else if (p->form == ANY_DATA && p->what & BSN_F_INLINE)
		ibv_wr_set_inline_data(qp, gathered, gather(p->sge, p->count, gathered));
	else
		ibv_wr_set_sge_list(qp, p->count, (const struct ibv_sge *)p->sge);
}

/* ibv_wr_start() was called. */
BSN_ALWAYS_INLINE void append_wr(struct ibv_qp_ex *qp, uint8_t *gathered, const struct posted *p)
{
	qp->wr_flags = send_flags_of(p->what);
	if (p->operand) {
		wr_atomic(qp, p);
		if (p->is_xrc)
			ibv_wr_set_xrc_srqn(qp, p->peer->verbs.qpn);
		ibv_wr_set_sge(qp, p->sge->lkey, p->sge->addr, 8); /* whatever its length says */
	} else {
		wr_operation(qp, p);
		if (p->is_xrc)
			ibv_wr_set_xrc_srqn(qp, p->peer->verbs.qpn);
		else if (p->peer)
			ibv_wr_set_ud_addr(qp, p->peer->ah, p->peer->verbs.qpn,
					   p->peer->verbs.qkey);
		wr_data(qp, gathered, p);
	}
	qp->wr_flags = IBV_SEND_SIGNALED;
	qp->wr_id++;
}

/* -- appending for ibv_post_send() ---------------------------------------------------------------- */

/* As on the direct path: empty pieces are left out, and an atomic's result has 8 bytes. */
BSN_ALWAYS_INLINE void list_sges(struct ibv_send_wr *wr, const struct posted *p)
{
	const struct bsn_sge *sge = p->sge;
	struct ibv_sge *to = wr->sg_list;

	for (unsigned i = 0; i < p->count; i++, sge++)
		if (sge->length || p->operand)
			*to++ = (struct ibv_sge){ sge->addr, p->operand ? 8 : sge->length,
						  sge->lkey };
	wr->num_sge = (int)(to - wr->sg_list);
}

/* The caller may reuse its buffer at once, so the data are taken now. */
BSN_ALWAYS_INLINE void list_inline(struct ibv_send_wr *wr, const struct posted *p, uint8_t *to)
{
	const uint32_t total = gather(p->sge, p->count, to);

	wr->num_sge = total != 0;
	if (!total)
		return;
	*wr->sg_list = (struct ibv_sge){ (uintptr_t)to, total, 0 };
	wr->send_flags |= IBV_SEND_INLINE;
}

BSN_ALWAYS_INLINE void list_remote(struct ibv_send_wr *wr, const struct posted *p)
{
	const bool add = p->opcode == BSN_OPCODE_ATOMIC_FA;

	if (p->is_xrc)
		wr->qp_type.xrc.remote_srqn = p->peer->verbs.qpn;
	if (p->operand) {
		wr->wr.atomic.remote_addr = p->remote->addr;
		wr->wr.atomic.rkey = p->remote->rkey;
		wr->wr.atomic.compare_add = p->operand[add ? 0 : 1];
		wr->wr.atomic.swap = add ? 0 : p->operand[0];
		return;
	}
	if (p->opcode == BSN_OPCODE_SEND_INVAL)
		wr->invalidate_rkey = p->imm;
	else
		wr->imm_data = htonl(p->imm); /* 0 where there is none */
	if (p->peer && !p->is_xrc) {
		wr->wr.ud.ah = p->peer->ah;
		wr->wr.ud.remote_qpn = p->peer->verbs.qpn;
		wr->wr.ud.remote_qkey = p->peer->verbs.qkey;
	} else if (p->remote) {
		wr->wr.rdma.remote_addr = p->remote->addr;
		wr->wr.rdma.rkey = p->remote->rkey;
	}
}

/* Fields that the operation does not need are left as they are. */
BSN_ALWAYS_INLINE void append_list(struct send_queue *sq, const struct posted *p)
{
	const uint32_t slot = (uint32_t)sq->next_id & sq->mask;
	struct ibv_send_wr *wr = &sq->wrs[slot];

	wr->wr_id = sq->next_id++;
	wr->opcode = verb_of(p->opcode)->opcode;
	wr->send_flags = send_flags_of(p->what);
	list_remote(wr, p);
	if (p->form == ONE_PIECE || (p->form == ANY_DATA && p->what & BSN_F_INLINE))
		list_inline(wr, p, sq->inline_data + (size_t)slot * sq->hot.max_inline);
	else
		list_sges(wr, p);
}

/* -- room ----------------------------------------------------------------------------------------- */

static void set_head(struct send_queue *sq, uint32_t head)
{
	*(sq->extended ? &sq->extended->wr_id : &sq->next_id) = sq->life | head;
	sq->hot.slot = (uint8_t *)&sq->kept[head & sq->mask];
	sq->limit = sq->started_limit = NULL;
}

/*
 * Requests that the poller saw done since the last look make room, in one piece; the slot goes round
 * the ring. A closed queue was cleared, so each request asks here.
 */
static __attribute__((noinline)) bool has_room(struct send_queue *sq)
{
	const uint32_t head = verbs_sq_head(sq), slot = head & sq->mask, to_end = sq->mask + 1 - slot;
	const uint32_t used = verbs_sq_outstanding(sq);
	/* A marker may go beyond the capacity. */
	const uint32_t free = used < sq->capacity && !sq->hot.closed ? sq->capacity - used : 0;

	set_head(sq, head); /* the number came round, too, if that */
	sq->limit = sq->hot.slot + (free < to_end ? free : to_end) * sizeof(*sq->kept);
	return free;
}

/* -- handing in --------------------------------------------------------------------------------- */

/* @end: the number of the first request that the provider did not take */
static int hand_in_list(struct send_queue *sq, uint32_t *end)
{
	const uint32_t head = verbs_sq_head(sq);
	struct ibv_send_wr *const first = &sq->wrs[sq->rung & sq->mask];
	struct ibv_send_wr *const last = &sq->wrs[(head - 1) & sq->mask];
	struct ibv_send_wr *const next = last->next;
	struct ibv_send_wr *bad = first;
	int err;

	last->next = NULL;
	errno = 0;
	err = provider_refused(ibv_post_send(sq->verbs, first, &bad));
	last->next = next;
	*end = err ? (uint32_t)bad->wr_id : head;
	return err;
}

void verbs_sq_cancel(struct send_queue *sq)
{
	if (sq->extended && sq->rung != verbs_sq_head(sq))
		ibv_wr_abort(sq->extended);
	set_head(sq, sq->rung);
}

static int cancel(struct bsn_sq *hot)
{
	struct send_queue *sq = send_queue_of(hot);

	verbs_sq_cancel(sq);
	sq->quiet = sq->hot.signal_every; /* the turn may have been one of theirs */
	return 0;
}

static __attribute__((noinline)) int refused(struct send_queue *sq, int result)
{
	set_head(sq, sq->rung);
	return provider_refused(result);
}

BSN_ALWAYS_INLINE int complete(struct send_queue *sq)
{
	int err;

	sq->hot.count_doorbells++;
	sq->started_limit = NULL;
	err = ibv_wr_complete(sq->extended);
	if (BSN_UNLIKELY(err))
		return refused(sq, err);
	sq->rung = (uint32_t)sq->extended->wr_id;
	return 0;
}

/* Something was appended. */
BSN_ALWAYS_INLINE int hand_in(struct send_queue *sq, bool is_extended)
{
	uint32_t end;
	int err;

	if (is_extended)
		return complete(sq);
	sq->hot.count_doorbells++;
	err = hand_in_list(sq, &end);
	sq->rung = end;
	if (BSN_UNLIKELY(err))
		set_head(sq, end);
	return err;
}

int verbs_sq_ring(struct bsn_sq *hot)
{
	struct send_queue *sq = send_queue_of(hot);

	return sq->rung == verbs_sq_head(sq) ? 0 : hand_in(sq, sq->extended);
}

static int ring_wr(struct bsn_sq *hot)
{
	struct send_queue *sq = send_queue_of(hot);

	return sq->rung == (uint32_t)sq->extended->wr_id ? 0 : complete(sq);
}

/* -- posting ------------------------------------------------------------------------------------ */

/*
 * Whether the library signals an unsignaled request, so that a caller that never signals gets its
 * credits back. A caller that signals often enough needs no help: then little is outstanding.
 */
static __attribute__((noinline)) uint32_t signal_in_turn(struct send_queue *sq)
{
	const uint32_t every = sq->hot.signal_every;

	sq->quiet = every;
	return every && verbs_sq_outstanding(sq) + 1 >= every ? BSN_F_SIGNALED : 0;
}

/* A full queue has its appended requests handed in, else nothing would ever make room. */
static __attribute__((noinline)) int refuse_full(struct send_queue *sq, uint32_t what)
{
	const int err = what & BSN_F_RING ? verbs_sq_ring(&sq->hot) : 0;

	if (sq->hot.closed)
		return refuse(sq->hot.closed, sq->hot.closed_why);
	sq->hot.count_full++;
	if (err)
		return err;
	return refuse(EAGAIN, "the send queue is full: poll its CQ");
}

/* Keeps what its completion will say. */
BSN_ALWAYS_INLINE void keep(struct send_queue *sq, const struct posted *p, uint32_t what,
			    bool is_extended)
{
	*(struct kept *)(void *)sq->hot.slot = (struct kept){ p->id, what };
	bsn_move_on(&sq->hot.slot, sizeof(struct kept));
	if (p->peer) {
		const uint64_t next = is_extended ? sq->extended->wr_id : sq->next_id;
		sq->users[(uint32_t)next & sq->mask] = p->peer->hot.user;
		sq->last_peer = p->peer;
	}
}

BSN_ALWAYS_INLINE void append(struct send_queue *sq, const struct posted *p, bool is_extended)
{
	if (is_extended)
		append_wr(sq->extended, sq->inline_data, p);
	else
		append_list(sq, p);
}

/* Before the first request that ibv_wr_complete() will hand in. */
BSN_ALWAYS_INLINE void start(struct send_queue *sq, bool is_extended)
{
	if (is_extended && sq->rung == (uint32_t)sq->extended->wr_id)
		ibv_wr_start(sq->extended);
}

BSN_ALWAYS_INLINE bool has_slot(const struct send_queue *sq)
{
	return BSN_LIKELY(sq->hot.slot < sq->limit);
}

/* A request that is in order. */
BSN_ALWAYS_INLINE int post(struct send_queue *sq, struct posted p, bool is_extended)
{
	p.what |= sq->always;
	if (!has_slot(sq) && !has_room(sq))
		return refuse_full(sq, p.what);
	start(sq, is_extended);
	keep(sq, &p, p.what, is_extended);
	if (!(p.what & BSN_F_SIGNALED) && BSN_UNLIKELY(--sq->quiet == 0))
		p.what |= signal_in_turn(sq);
	append(sq, &p, is_extended);
	if (p.what & BSN_F_RING)
		return hand_in(sq, is_extended);
	sq->started_limit = sq->limit; /* more can be appended by one look */
	return 0;
}

BSN_ALWAYS_INLINE bool has_imm(unsigned opcode)
{
	return opcode == BSN_OPCODE_SEND_IMM || opcode == BSN_OPCODE_RDMA_WRITE_IMM;
}

BSN_ALWAYS_INLINE bool has_remote(unsigned opcode)
{
	return opcode != BSN_OPCODE_SEND && opcode != BSN_OPCODE_SEND_IMM;
}

BSN_ALWAYS_INLINE void hold(struct send_queue *sq, const struct posted *p)
{
	sq->held.data = p->form == ONE_PIECE ? (const void *)(uintptr_t)p->sge->addr : p->sge;
	if (p->form != ONE_SGE)
		sq->held.count = p->form == ONE_PIECE ? p->sge->length : p->count;
	if (p->what & BSN_F_RING && has_remote(p->opcode)) /* ibv_wr_start() may come first */
		sq->held.remote = p->remote;
	if (p->what & BSN_F_RING && has_imm(p->opcode))
		sq->held.imm = p->imm;
}

/*
 * The same, by ibv_wr_*, of a signaled one that has a slot and is rung, or comes after another one. Nothing
 * but @sq is needed across the provider's calls. The number moves on before the last of them, which does
 * not look at it.
 * @what: the same as @p has, which the compiler need not put together again
 */
BSN_ALWAYS_INLINE int post_known(struct send_queue *sq, struct posted p, uint32_t what)
{
	const bool rings = p.what & BSN_F_RING;
	struct bsn_remote remote;
	struct bsn_sge data;

	keep(sq, &p, what, true);
	hold(sq, &p);
	if (rings && sq->rung == (uint32_t)sq->extended->wr_id)
		ibv_wr_start(sq->extended);
	if (rings)
		p.imm = sq->held.imm;
	if (has_remote(p.opcode)) {
		remote = rings ? *sq->held.remote : *p.remote;
		p.remote = &remote;
	}
	if (p.operand)
		wr_atomic(sq->extended, &p);
	else
		wr_operation(sq->extended, &p);
	if (p.peer)
		ibv_wr_set_ud_addr(sq->extended, sq->last_peer->ah, sq->last_peer->verbs.qpn,
				   sq->last_peer->verbs.qkey);
	data = p.form == ONE_SGE ? *(const struct bsn_sge *)sq->held.data
				 : (struct bsn_sge){ (uintptr_t)sq->held.data, sq->held.count, 0 };
	p.sge = p.form == SGES ? sq->held.data : &data;
	p.count = sq->held.count;
	sq->extended->wr_id++;
	if (p.operand)
		ibv_wr_set_sge(sq->extended, p.sge->lkey, p.sge->addr, 8);
	else
		wr_data(sq->extended, NULL, &p);
	return rings ? complete(sq) : 0;
}

BSN_ALWAYS_INLINE bool is_xrc(const struct bsn_sq *sq)
{
	return sq->transport == BSN_TRANSPORT_XRC;
}

/*
 * libibverbs has no NOP: a WRITE of nothing does, or a message to a peer. Where the last peer is gone, all
 * that was posted to it has come back.
 */
int verbs_sq_post_marker(struct send_queue *sq)
{
	static const struct bsn_remote nowhere;
	const struct ep_object *peer = sq->last_peer;
	const bool is_extended = sq->extended;
	struct posted p = { .opcode = peer ? BSN_OPCODE_SEND : BSN_OPCODE_RDMA_WRITE,
			    .form = SGES,
			    .remote = &nowhere,
			    .peer = peer,
			    .is_xrc = is_xrc(&sq->hot) };

	if (sq->users && !peer)
		return 0;
	if (!has_room(sq))
		return refuse(EAGAIN, "the send queue is full: poll its CQ");
	p.what = p.opcode | KEPT_MARKER;
	start(sq, is_extended);
	keep(sq, &p, p.what, is_extended);
	p.what |= BSN_F_SIGNALED;
	append(sq, &p, is_extended);
	return hand_in(sq, is_extended);
}

BSN_ALWAYS_INLINE const struct ep_object *ep_of(const struct bsn_ep *ep)
{
	return (const struct ep_object *)(const void *)ep;
}

BSN_ALWAYS_INLINE const struct ep_object *peer_of(const struct bsn_ep *ep)
{
	return ep->sq->has_peers ? ep_of(ep) : NULL;
}

/* What a request has, but for the number of SGEs or bytes. */
#define BELOW_COUNT ((1u << BSN_WHAT_COUNT_SHIFT) - 1)

/* Inline data of several pieces, empty pieces, or something to refuse. */
static __attribute__((noinline)) int post_any(struct bsn_ep *ep, uint32_t what,
					      const struct bsn_sge *sge,
					      const struct bsn_remote *remote, uint32_t imm,
					      uint64_t id)
{
	struct send_queue *sq = send_queue_of(ep->sq);
	const int err = bsn_sq_judge(ep->sq, what, sge, false);
	const struct posted p = { .opcode = opcode_of(what),
				  .what = what,
				  .form = ANY_DATA,
				  .count = count_of(what),
				  .sge = sge,
				  .remote = remote,
				  .imm = imm,
				  .peer = peer_of(ep),
				  .is_xrc = is_xrc(ep->sq),
				  .id = id };

	if (sq->hot.closed)
		return refuse(sq->hot.closed, sq->hot.closed_why);
	if (err)
		return err;
	/* An atomic's operands are not among the arguments. */
	return sq->sge_ops >> p.opcode & 1 ? post(sq, p, sq->extended) : -EINVAL;
}

/* A piece of inline data that is empty or too long, or whose flags are unknown. */
static __attribute__((noinline)) int post_any_piece(struct bsn_ep *ep, uint32_t what,
						    const void *data,
						    const struct bsn_remote *remote, uint32_t imm,
						    uint64_t id)
{
	const struct bsn_sge piece = { (uintptr_t)data, count_of(what), 0 };

	return post_any(ep, BSN_WHAT(what & BELOW_COUNT, 0, 1), &piece, remote, imm, id);
}

/* Whether one look tells that @what, the count aside, is in order. */
BSN_ALWAYS_INLINE bool has_only(uint32_t what, uint32_t flags)
{
	return !(what & BELOW_COUNT & ~(flags | 0x3fu));
}

#define SGE_FLAGS (BSN_F_SOLICITED | BSN_F_SIGNALED | BSN_F_FENCE | BSN_F_RING)

/* Several SGEs. Empty ones are left out later; one that is too long has a bit that no other has. */
BSN_ALWAYS_INLINE bool are_taken(const struct send_queue *sq, unsigned count,
				 const struct bsn_sge *sge)
{
	const struct bsn_sge *last;
	uint32_t lengths;

	if (BSN_UNLIKELY(count - 1 >= sq->hot.max_sge))
		return false;
	last = &sge[count - 1];
	lengths = sge->length | last->length;
	while (--last > sge) /* down, so that no other register is needed */
		lengths |= last->length;
	return BSN_LIKELY(lengths <= BSN_DATA_MAX_BYTES);
}

BSN_ALWAYS_INLINE bool is_plain_list(const struct send_queue *sq, uint32_t what,
				     const struct bsn_sge *sge)
{
	return has_only(what, SGE_FLAGS) && are_taken(sq, count_of(what), sge);
}

BSN_ALWAYS_INLINE bool is_plain_sge(uint32_t what, const struct bsn_sge *sge)
{
	return BSN_LIKELY((what & ~(SGE_FLAGS | 0x3fu)) == 1u << BSN_WHAT_COUNT_SHIFT &&
			  (int32_t)sge->length > 0);
}

BSN_ALWAYS_INLINE bool is_plain_piece(const struct send_queue *sq, uint32_t what)
{
	return BSN_LIKELY(has_only(what, SGE_FLAGS | BSN_F_INLINE) &&
			  count_of(what) - 1 < sq->max_piece);
}

/* One piece of inline data that came as a list. */
BSN_ALWAYS_INLINE bool is_piece(uint32_t what, const struct bsn_sge *sge)
{
	return what & BSN_F_INLINE && count_of(what) == 1 && sge->length < BSN_WHAT_COUNT_MAX;
}

BSN_ALWAYS_INLINE int post_any_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
				      const struct bsn_remote *remote, const uint64_t operand[2],
				      uint64_t id, bool is_of_xrc)
{
	struct send_queue *sq = send_queue_of(ep->sq);
	const bool is_plain = has_only(what, SGE_FLAGS) && count_of(what) == 1 &&
			      sq->hot.ops >> opcode_of(what) & 1;
	const int err = BSN_LIKELY(is_plain) ? 0 : bsn_sq_judge(ep->sq, what, sge, true);
	const struct posted p = { .opcode = opcode_of(what),
				  .what = what,
				  .form = ONE_SGE,
				  .count = 1,
				  .sge = sge,
				  .remote = remote,
				  .operand = operand,
				  .peer = is_of_xrc ? ep_of(ep) : NULL,
				  .is_xrc = is_of_xrc,
				  .id = id };

	return err ? err : post(sq, p, sq->extended);
}

static int post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id)
{
	return post_any_atomic(ep, what, sge, remote, operand, id, false);
}

/* Of a queue that has endpoints for SRQs. */
static int post_xrc_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			   const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id)
{
	return post_any_atomic(ep, what, sge, remote, operand, id, true);
}

static uint32_t room_of(struct bsn_sq *hot)
{
	const struct send_queue *sq = send_queue_of(hot);

	return sq->capacity - verbs_sq_outstanding(sq);
}

/*
 * The functions of a kind of queue, so that none of them has to ask which it is. The most common requests
 * have functions of their own, in which operation and flags are constants: signaled, and either appended
 * after another one or rung. All other requests go to the functions of the kind.
 */
struct kind {
	struct bsn_sq_path path; /* first: what @hot.path points to */
	struct bsn_sq_posts posts;
};

/* Of a queue whose requests are checked, too, where @hot.posts are others. */
static const struct bsn_sq_posts *posts_of(const struct bsn_sq *sq)
{
	return &((const struct kind *)(const void *)sq->path)->posts;
}

/* Those that have rows of their own in struct bsn_sq_posts. */
#define INLINE_OPS                                                                                 \
	(1ull << BSN_OPCODE_RDMA_WRITE | 1ull << BSN_OPCODE_RDMA_WRITE_IMM |                       \
	 1ull << BSN_OPCODE_SEND | 1ull << BSN_OPCODE_SEND_IMM | 1ull << BSN_OPCODE_SEND_INVAL |   \
	 1ull << BSN_OPCODE_RDMA_READ)

static int post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const struct bsn_sq_posts *posts = posts_of(ep->sq);
	const unsigned row = BSN_POST_ROW(what, what);
	const uint32_t opcode = opcode_of(what);

	return (what & ~(uint32_t)BSN_F_RING) == BSN_WHAT(opcode, BSN_F_SIGNALED, 1u) &&
			       opcode < 64 && INLINE_OPS >> opcode & 1
		       ? posts->one[row](ep, what, sge, remote, imm, id)
		       : posts->sgl[row](ep, what, sge, remote, imm, id);
}

static int post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
		       const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	return posts_of(ep->sq)->piece[BSN_POST_ROW(what, what)](ep, what, data, remote, imm, id);
}

/* Room for a request that is in order; the first one of several is begun. */
static __attribute__((noinline)) bool begin(struct send_queue *sq)
{
	if (!has_slot(sq) && !has_room(sq))
		return false;
	start(sq, true);
	sq->started_limit = sq->limit;
	return true;
}

/* Looked at in memory: gcc 12 would load it first. */
BSN_ALWAYS_INLINE bool is_positive(const uint32_t *length)
{
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__) && !defined(__clang__)
	bool is;

	__asm__("cmpl $0, %1" : "=@ccg"(is) : "m"(*length));
	return is;
#else
	return (int32_t)*length > 0;
#endif
}

/* The count of a request that is @like but for the count; of any other, more than there can be. */
BSN_ALWAYS_INLINE uint32_t count_beyond(uint32_t what, uint32_t like)
{
	const uint32_t beyond = what - like;

	return beyond >> BSN_WHAT_COUNT_SHIFT | beyond << (32 - BSN_WHAT_COUNT_SHIFT);
}

#define IS_SGE   is_positive(&data->length) /* struct bsn_sq_posts promises the rest */
#define IS_LIST  are_taken(sq, count, data)
#define IS_PIECE (count <= sq->max_piece)

#define LIST  const struct bsn_sge *
#define PIECE const void *

/* clang-format off */
#define POSTED(op, flags, data_form, data_count, list)                                             \
	(const struct posted){ .opcode = op, .what = (what & ~BELOW_COUNT) | (op) | (flags),       \
			       .form = data_form, .count = data_count, .sge = list,                \
			       .remote = remote, .imm = imm, .peer = PEER(ep),                     \
			       .is_xrc = IS_XRC(ep), .id = id }

/* Where room has to be made, another function goes on, so that this one saves no register for that. */
#define POST(name, data_type, is_such, op, is_taken, data_form, list, has_place, make_place,       \
	     flags, otherwise)                                                                     \
	static __attribute__((noinline)) int post_##name##_anew(                                   \
		struct bsn_ep *ep, uint32_t what, data_type data,                                  \
		const struct bsn_remote *remote, uint32_t imm, uint64_t id)                        \
	{                                                                                          \
		const struct bsn_sge piece = { (uintptr_t)data, count_of(what), 0 };               \
		struct send_queue *sq = send_queue_of(ep->sq);                                     \
                                                                                                   \
		(void)piece;                                                                       \
		if (!make_place(sq))                                                               \
			return refuse_full(sq, what);                                              \
		return post_known(sq, POSTED(op, flags, data_form, count_of(what), list), what);   \
	}                                                                                          \
	static __attribute__((noinline)) int post_##name(                                          \
		struct bsn_ep *ep, uint32_t what, data_type data,                                  \
		const struct bsn_remote *remote, uint32_t imm, uint64_t id)                        \
	{                                                                                          \
		const uint32_t like =                                                              \
			BSN_WHAT(op, (flags) | ((data_form) == ONE_PIECE ? BSN_F_INLINE : 0), 0);  \
		struct send_queue *sq = send_queue_of(ep->sq);                                     \
		const uint32_t count = count_beyond(what, like);                                   \
		const struct bsn_sge piece = { (uintptr_t)data, count, 0 };                        \
                                                                                                   \
		(void)piece;                                                                       \
		if (BSN_UNLIKELY(!(is_such) || !(is_taken)))                                       \
			return post_##otherwise(ep, what, data, remote, imm, id);                  \
		if (BSN_UNLIKELY(!(has_place)))                                                    \
			return post_##name##_anew(ep, what, data, remote, imm, id);                \
		return post_known(sq, POSTED(op, flags, data_form, count, list), what);            \
	}

#define IS_STARTED (sq->hot.slot < sq->started_limit)
#define RUNG       (BSN_F_SIGNALED | BSN_F_RING)

/* To be appended, or to be rung. */
#define POST_BOTH(form, name, kind, data_type, is_such, op, is_taken, data_form, list, otherwise)  \
	POST(form##_rung_##name##_##kind, data_type, is_such, op, is_taken, data_form, list,       \
	     has_slot(sq), has_room, RUNG, otherwise##_##kind)                                     \
	POST(form##_##name##_##kind, data_type, is_such, op, is_taken, data_form, list,            \
	     IS_STARTED, begin, BSN_F_SIGNALED, otherwise##_##kind)

#define POST_LISTS(name, kind, op, is_taken)                                                       \
	POST_BOTH(sge, name, kind, LIST, IS_SGE, op, is_taken, ONE_SGE, data, sge)                 \
	POST_BOTH(list, name, kind, LIST, IS_LIST, op, is_taken, SGES, data, list)

#define POST_ALL(name, kind, op, is_taken)                                                         \
	POST_LISTS(name, kind, op, is_taken)                                                       \
	POST_BOTH(piece, name, kind, PIECE, IS_PIECE, op, is_taken, ONE_PIECE, &piece, piece)

/* Of any operation and flags. */
#define POST_ANY(kind)                                                                             \
	static __attribute__((noinline)) int post_piece_##kind(                                    \
		struct bsn_ep *ep, uint32_t what, const void *data,                                \
		const struct bsn_remote *remote, uint32_t imm, uint64_t id)                        \
	{                                                                                          \
		struct send_queue *sq = send_queue_of(ep->sq);                                     \
		const struct bsn_sge piece = { (uintptr_t)data, count_of(what), 0 };               \
                                                                                                   \
		if (!is_plain_piece(sq, what) || !(sq->inline_ops >> opcode_of(what) & 1))         \
			return post_any_piece(ep, what, data, remote, imm, id);                    \
		return post(sq, POSTED(opcode_of(what), what, ONE_PIECE, 1, &piece), IS_EXTENDED); \
	}                                                                                          \
                                                                                                   \
	static __attribute__((noinline)) int post_several_##kind(                                  \
		struct bsn_ep *ep, uint32_t what, const struct bsn_sge *data,                      \
		const struct bsn_remote *remote, uint32_t imm, uint64_t id)                        \
	{                                                                                          \
		struct send_queue *sq = send_queue_of(ep->sq);                                     \
                                                                                                   \
		if (sq->sge_ops >> opcode_of(what) & 1 && is_plain_list(sq, what, data))           \
			return post(sq, POSTED(opcode_of(what), what, SGES, count_of(what), data), \
				    IS_EXTENDED);                                                  \
		if (!is_piece(what, data))                                                         \
			return post_any(ep, what, data, remote, imm, id);                          \
		return post_piece_##kind(ep, BSN_WHAT(what & BELOW_COUNT, 0, data->length),        \
					 (const void *)(uintptr_t)data->addr, remote, imm, id);    \
	}                                                                                          \
                                                                                                   \
	static __attribute__((noinline)) int post_sge_##kind(                                      \
		struct bsn_ep *ep, uint32_t what, const struct bsn_sge *data,                      \
		const struct bsn_remote *remote, uint32_t imm, uint64_t id)                        \
	{                                                                                          \
		struct send_queue *sq = send_queue_of(ep->sq);                                     \
                                                                                                   \
		if (is_plain_sge(what, data) && sq->sge_ops >> opcode_of(what) & 1)                \
			return post(sq, POSTED(opcode_of(what), what, ONE_SGE, 1, data),           \
				    IS_EXTENDED);                                                  \
		return post_several_##kind(ep, what, data, remote, imm, id);                       \
	}                                                                                          \
                                                                                                   \
	static int post_list_##kind(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *data,  \
				    const struct bsn_remote *remote, uint32_t imm, uint64_t id)    \
	{                                                                                          \
		return post_sge_##kind(ep, what, data, remote, imm, id);                           \
	}

#define ATOMIC(op)                                                                                 \
	(const struct posted){ .opcode = op, .what = BSN_WHAT(op, RUNG, 1), .form = ONE_SGE,       \
			       .count = 1, .sge = sge, .remote = remote, .operand = operand,       \
			       .id = id }

static int post_atomic_wr(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			  const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id)
{
	struct send_queue *sq = send_queue_of(ep->sq);

	if (has_slot(sq) && sq->hot.ops & 1ull << BSN_OPCODE_ATOMIC_FA) {
		if (what == BSN_WHAT(BSN_OPCODE_ATOMIC_FA, RUNG, 1))
			return post_known(sq, ATOMIC(BSN_OPCODE_ATOMIC_FA), what);
		if (what == BSN_WHAT(BSN_OPCODE_ATOMIC_CS, RUNG, 1))
			return post_known(sq, ATOMIC(BSN_OPCODE_ATOMIC_CS), what);
	}
	return post_atomic(ep, what, sge, remote, operand, id);
}

/* What a kind has for an operation: functions of its own, or those of any. */
#define OWN(op, form, name, kind)                                                                  \
	[BSN_POST_ROW(op, 0)] = post_##form##_##name##_##kind,                                     \
	[BSN_POST_ROW(op, BSN_F_RING)] = post_##form##_rung_##name##_##kind
#define ANY(op, form, kind)                                                                        \
	[BSN_POST_ROW(op, 0)] = post_##form##_##kind,                                              \
	[BSN_POST_ROW(op, BSN_F_RING)] = post_##form##_##kind
#define OTHERS(form, kind)                                                                         \
	ANY(BSN_OPCODE_SEND_INVAL, form, kind), ANY(BSN_OPCODE_ATOMIC_FA, form, kind),             \
	ANY(3, form, kind)
#define OWN_SENDS(form, kind)                                                                      \
	OWN(BSN_OPCODE_SEND, form, send, kind), OWN(BSN_OPCODE_SEND_IMM, form, send_imm, kind)
#define OWN_WRITES(form, kind)                                                                     \
	OWN(BSN_OPCODE_RDMA_WRITE, form, write, kind),                                             \
	OWN(BSN_OPCODE_RDMA_WRITE_IMM, form, write_imm, kind)
#define OWN_READ(form, kind) OWN(BSN_OPCODE_RDMA_READ, form, read, kind)
#define ANY_READ(form, kind) ANY(BSN_OPCODE_RDMA_READ, form, kind)
#define ANY_WRITES(form, kind)                                                                     \
	ANY(BSN_OPCODE_RDMA_WRITE, form, kind), ANY(BSN_OPCODE_RDMA_WRITE_IMM, form, kind)
#define ANY_SENDS(form, kind)                                                                      \
	ANY(BSN_OPCODE_SEND, form, kind), ANY(BSN_OPCODE_SEND_IMM, form, kind)
#define ROWS(form, kind, READ, WRITES, SENDS)                                                      \
	{ READ(form, kind), WRITES(form, kind), SENDS(form, kind), OTHERS(form, kind) }

#define KIND(name, LIST_READ, WRITES, SENDS)                                                       \
	static const struct kind kind_##name = {                                                   \
		.path = { .post_sgl = post_sgl, .post_inline = post_inline,                        \
			  .post_atomic = POST_ATOMIC, .ring = RING, .cancel = cancel,              \
			  .room = room_of, .post_prepared = bsn_sq_post_anew },                    \
		.posts = { .one = ROWS(sge, name, LIST_READ, WRITES, SENDS),                       \
			   .sgl = ROWS(list, name, LIST_READ, WRITES, SENDS),                      \
			   .piece = ROWS(piece, name, ANY_READ, WRITES, SENDS),                    \
			   .atomic = POST_ATOMIC } };

#define TAKES(op) (sq->sge_ops & 1ull << (op))

#define IS_EXTENDED true
#define RING        ring_wr
#define IS_XRC(ep)  false
#define PEER(ep)    NULL
#define POST_ATOMIC post_atomic_wr
POST_ANY(wr)
POST_ALL(write, wr, BSN_OPCODE_RDMA_WRITE, true)
POST_ALL(write_imm, wr, BSN_OPCODE_RDMA_WRITE_IMM, true)
POST_ALL(send, wr, BSN_OPCODE_SEND, true)
POST_ALL(send_imm, wr, BSN_OPCODE_SEND_IMM, true)
POST_LISTS(read, wr, BSN_OPCODE_RDMA_READ, TAKES(BSN_OPCODE_RDMA_READ))
KIND(wr, OWN_READ, OWN_WRITES, OWN_SENDS)
#undef PEER
#undef POST_ATOMIC
#define PEER(ep)    ep_of(ep)
#define POST_ATOMIC post_atomic
POST_ANY(wr_peers)
POST_ALL(send, wr_peers, BSN_OPCODE_SEND, true)
POST_ALL(send_imm, wr_peers, BSN_OPCODE_SEND_IMM, true)
KIND(wr_peers, ANY_READ, ANY_WRITES, OWN_SENDS)
#undef IS_XRC
#undef POST_ATOMIC
#define IS_XRC(ep)  true
#define POST_ATOMIC post_xrc_atomic
POST_ANY(wr_xrc)
KIND(wr_xrc, ANY_READ, ANY_WRITES, ANY_SENDS)
#undef IS_EXTENDED
#undef RING
#define IS_EXTENDED false
#define RING        verbs_sq_ring
POST_ANY(plain_xrc)
KIND(plain_xrc, ANY_READ, ANY_WRITES, ANY_SENDS)
#undef PEER
#undef IS_XRC
#undef POST_ATOMIC
#define IS_XRC(ep)  false
#define PEER(ep)    peer_of(ep)
#define POST_ATOMIC post_atomic
POST_ANY(plain)
KIND(plain, ANY_READ, ANY_WRITES, ANY_SENDS)
/* clang-format on */

static const struct kind *kind_of(const struct send_queue *sq)
{
	if (is_xrc(&sq->hot))
		return sq->extended ? &kind_wr_xrc : &kind_plain_xrc;
	if (!sq->extended)
		return &kind_plain;
	return sq->hot.has_peers ? &kind_wr_peers : &kind_wr;
}

/* -- life --------------------------------------------------------------------------------------- */

uint64_t verbs_next_life(void)
{
	static atomic_uint lives;

	return atomic_fetch_add(&lives, 1) * WR_NEXT_LIFE & ~WR_RECV;
}

void verbs_sq_free(struct send_queue *sq)
{
	free(sq->kept);
	free(sq->users);
	free(sq->wrs);
	free(sq->sges);
	free(sq->inline_data);
	free(sq);
}

/* A ring, in which each slot has its place for SGEs; one at least, since inline data are one piece. */
static bool alloc_list(struct send_queue *sq, uint32_t size, uint32_t max_sge)
{
	const uint32_t sges = max_sge + !max_sge;

	sq->wrs = calloc(size, sizeof(*sq->wrs));
	sq->sges = calloc((size_t)size * sges, sizeof(*sq->sges));
	if (!sq->wrs || !sq->sges)
		return false;
	for (uint32_t i = 0; i < size; i++) {
		sq->wrs[i].sg_list = &sq->sges[(size_t)i * sges];
		sq->wrs[i].next = &sq->wrs[(i + 1) & sq->mask];
	}
	return true;
}

static struct send_queue *alloc_sq(const struct bsn_qp *qp)
{
	const uint32_t size = power_of_two(qp->limits.send_depth);
	struct send_queue *sq = bsn_hot_alloc(sizeof(*sq));
	bool is_complete;

	if (!sq)
		return NULL;
	sq->mask = size - 1;
	/* An application's QP may have been made for some of the operations only. */
	sq->extended = qp->owns_verbs ? ibv_qp_to_qp_ex(qp->verbs) : NULL;
	sq->kept = calloc(size, sizeof(*sq->kept));
	sq->inline_data = calloc(sq->extended ? 1 : size, qp->limits.max_inline + 1);
	is_complete = sq->kept && sq->inline_data;
	if (qp->transport->has_peers) {
		sq->users = calloc(size, sizeof(*sq->users));
		is_complete &= sq->users != NULL;
	}
	if (!sq->extended)
		is_complete &= alloc_list(sq, size, qp->limits.max_send_sge);
	if (is_complete)
		return sq;
	verbs_sq_free(sq);
	return NULL;
}

/*
 * rxe tells it by the kernel's flag, whose bit is IBV_WC_IP_CSUM_OK in libibverbs (Linux 6.1,
 * drivers/infiniband/sw/rxe/rxe_resp.c; its provider copies). No checksum of that kind is known to it.
 */
static unsigned flags_of_invalidation(const struct bsn_device *device)
{
	enum { RXE_VENDOR_ID = 0xffffff }; /* drivers/infiniband/sw/rxe/rxe_param.h */

	return device->limits.vendor_id == RXE_VENDOR_ID ? IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK
							 : IBV_WC_WITH_INV;
}

struct send_queue *verbs_no_sends(const struct bsn_device *device)
{
	struct send_queue *none = bsn_hot_alloc(sizeof(*none));

	if (!none)
		return NULL;
	none->life = WR_LIFE & ~WR_RECV;
	none->invalidated = flags_of_invalidation(device);
	return none;
}

/* Those that libibverbs has a word for. */
static uint64_t ops_of(const struct bsn_qp *qp)
{
	uint64_t ops = bsn_sq_ops_of(qp->transport->wqe, has_atomics(qp->device));

	for (unsigned opcode = 0; opcode < 64; opcode++)
		if (!verb_of(opcode))
			ops &= ~(1ull << opcode);
	return ops;
}

static void init_route(struct bsn_qp *qp, struct send_queue *sq)
{
	sq->hot.ep.sq = &sq->hot;
	sq->hot.has_peers = qp->transport->has_peers;
	sq->hot.route = (struct bsn_route){
		.user = qp->user,
		.rq = qp->rq,
		.sq = &sq->hot,
		.first_error = &qp->first_error,
		.transport = (uint8_t)qp->transport->wqe,
		.has_peers = sq->hot.has_peers,
	};
}

int verbs_sq_make(struct bsn_qp *qp, const struct bsn_qp_attr *attr)
{
	struct send_queue *sq = alloc_sq(qp);

	if (!sq)
		return fail(ENOMEM, "no memory");
	qp->sq = &sq->hot;
	sq->verbs = qp->verbs;
	sq->capacity = qp->limits.send_depth;
	sq->life = verbs_next_life();
	sq->always = attr->signal_all ? BSN_F_SIGNALED : 0;
	sq->invalidated = flags_of_invalidation(qp->device);
	sq->hot.qpn = qp->verbs->qp_num;
	sq->hot.capacity_bb = sq->capacity;
	sq->hot.max_inline = qp->limits.max_inline;
	sq->hot.max_sge = (uint8_t)(qp->limits.max_send_sge < UINT8_MAX ? qp->limits.max_send_sge
									: UINT8_MAX);
	sq->hot.max_ds =
		UINT8_MAX; /* the provider's own limits are those of SGEs and inline data */
	sq->hot.signal_every = bsn_sq_signal_every(sq->capacity, 1, attr->signal_every);
	sq->hot.transport = (uint8_t)qp->transport->wqe;
	sq->hot.ops = ops_of(qp);
	sq->sge_ops = sq->hot.ops & bsn_wqe_sets.with_list;
	sq->inline_ops = sq->hot.ops & bsn_wqe_sets.with_gather;
	sq->max_piece = sq->hot.max_inline < BSN_WHAT_COUNT_MAX ? sq->hot.max_inline
								: BSN_WHAT_COUNT_MAX - 1;
	sq->quiet = sq->hot.signal_every;
	set_head(sq, 0);
	init_route(qp, sq);
	sq->hot.path = &kind_of(sq)->path;
	sq->hot.posts = &kind_of(sq)->posts;
	if (sq->extended)
		sq->extended->wr_flags = IBV_SEND_SIGNALED;
	return 0;
}

void verbs_sq_clear(struct send_queue *sq)
{
	sq->rung = sq->done = 0;
	sq->quiet = sq->hot.signal_every;
	sq->hot.route.has_error = false;
	sq->life = verbs_next_life();
	set_head(sq, 0);
}
