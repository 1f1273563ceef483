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
	ONE_PIECE, /* of inline data, whose length BSN_WHAT() says */
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
	ibv_wr_set_sge(qp, p->sge->lkey, p->sge->addr, 8); /* whatever its length says */
}

/* Inline data are copied at once. */
BSN_ALWAYS_INLINE void wr_data(struct send_queue *sq, const struct posted *p)
{
	struct ibv_qp_ex *qp = sq->extended;

	if (p->form == ONE_SGE)
		ibv_wr_set_sge(qp, p->sge->lkey, p->sge->addr, p->sge->length);
	else if (p->form == ONE_PIECE)
		ibv_wr_set_inline_data(qp, (void *)(uintptr_t)p->sge->addr, count_of(p->what));
	else if (p->form == ANY_DATA && p->what & BSN_F_INLINE)
		ibv_wr_set_inline_data(qp, sq->inline_data,
				       gather(p->sge, p->count, sq->inline_data));
	else
		ibv_wr_set_sge_list(qp, p->form == SGES ? count_of(p->what) : p->count,
				    (const struct ibv_sge *)p->sge);
}

BSN_ALWAYS_INLINE void append_wr(struct send_queue *sq, const struct posted *p)
{
	struct ibv_qp_ex *qp;

	if (sq->rung == sq->head)
		ibv_wr_start(sq->extended);
	qp = sq->extended;
	qp->wr_id = sq->life | sq->head;
	qp->wr_flags = send_flags_of(p->what);
	BSN_IN_MEMORY();
	sq->head++;
	if (p->operand) {
		wr_atomic(qp, p);
		return;
	}
	wr_operation(qp, p);
	if (p->peer)
		ibv_wr_set_ud_addr(qp, p->peer->ah, p->peer->verbs.qpn, p->peer->verbs.qkey);
	wr_data(sq, p);
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
	if (p->peer) {
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
	const uint32_t slot = sq->head & sq->mask;
	struct ibv_send_wr *wr = &sq->wrs[slot];

	wr->wr_id = sq->life | sq->head++;
	wr->opcode = verb_of(p->opcode)->opcode;
	wr->send_flags = send_flags_of(p->what);
	list_remote(wr, p);
	if (p->form == ONE_PIECE || (p->form == ANY_DATA && p->what & BSN_F_INLINE))
		list_inline(wr, p, sq->inline_data + (size_t)slot * sq->hot.max_inline);
	else
		list_sges(wr, p);
}

/* -- handing in --------------------------------------------------------------------------------- */

/* @end: the number of the first request that the provider did not take */
static int hand_in_list(struct send_queue *sq, uint32_t *end)
{
	struct ibv_send_wr *const first = &sq->wrs[sq->rung & sq->mask];
	struct ibv_send_wr *const last = &sq->wrs[(sq->head - 1) & sq->mask];
	struct ibv_send_wr *const next = last->next;
	struct ibv_send_wr *bad = first;
	int err;

	last->next = NULL;
	errno = 0;
	err = provider_error_of_int(ibv_post_send(sq->verbs, first, &bad));
	last->next = next;
	*end = err ? (uint32_t)bad->wr_id : sq->head;
	return err;
}

void verbs_sq_cancel(struct send_queue *sq)
{
	if (sq->extended && sq->rung != sq->head)
		ibv_wr_abort(sq->extended);
	sq->head = sq->rung;
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
	sq->head = sq->rung;
	return provider_error_of_int(result);
}

/* Something was appended. */
BSN_ALWAYS_INLINE int hand_in(struct send_queue *sq, bool is_extended)
{
	uint32_t end;
	int err;

	sq->hot.count_doorbells++;
	if (is_extended) {
		err = ibv_wr_complete(sq->extended);
		if (BSN_UNLIKELY(err))
			return refused(sq, err);
		sq->rung = sq->head;
		return 0;
	}
	err = hand_in_list(sq, &end);
	sq->rung = sq->head = end;
	return err;
}

int verbs_sq_ring(struct bsn_sq *hot)
{
	struct send_queue *sq = send_queue_of(hot);

	return sq->rung == sq->head ? 0 : hand_in(sq, sq->extended);
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

	sq->hot.count_full++;
	if (err)
		return err;
	return refuse(EAGAIN, "the send queue is full: poll its CQ");
}

/* Keeps what its completion will say. */
BSN_ALWAYS_INLINE void keep(struct send_queue *sq, const struct posted *p)
{
	const uint32_t slot = sq->head & sq->mask;

	sq->kept[slot] = (struct kept){ p->id, p->what };
	if (p->peer) {
		sq->users[slot] = p->peer->hot.user;
		sq->last_peer = p->peer;
	}
}

BSN_ALWAYS_INLINE void append(struct send_queue *sq, const struct posted *p, bool is_extended)
{
	if (is_extended)
		append_wr(sq, p);
	else
		append_list(sq, p);
}

/* What the poller saw done since the last look makes room. */
static __attribute__((noinline)) bool is_full(struct send_queue *sq)
{
	sq->limit = __atomic_load_n(&sq->done, __ATOMIC_ACQUIRE) + sq->capacity; /* O6 */
	return sq->head == sq->limit;
}

/* A request that is in order. */
BSN_ALWAYS_INLINE int post(struct send_queue *sq, struct posted p, bool is_extended)
{
	p.what |= sq->always;
	if (BSN_UNLIKELY(sq->head == sq->limit) && is_full(sq))
		return refuse_full(sq, p.what);
	keep(sq, &p);
	if (!(p.what & BSN_F_SIGNALED) && BSN_UNLIKELY(--sq->quiet == 0))
		p.what |= signal_in_turn(sq);
	append(sq, &p, is_extended);
	return p.what & BSN_F_RING ? hand_in(sq, is_extended) : 0;
}

/*
 * libibverbs has no NOP: a WRITE of nothing does, or a message to a peer. Where the last peer is gone, all
 * that was posted to it has come back.
 */
int verbs_sq_post_marker(struct send_queue *sq)
{
	static const struct bsn_remote nowhere;
	const struct ep_object *peer = sq->last_peer;
	struct posted p = { .opcode = peer ? BSN_OPCODE_SEND : BSN_OPCODE_RDMA_WRITE,
			    .form = SGES,
			    .remote = &nowhere,
			    .peer = peer };

	if (sq->users && !peer)
		return 0;
	if (is_full(sq)) /* a look in any case: head must not pass the limit */
		return -EAGAIN;
	p.what = p.opcode | KEPT_MARKER;
	keep(sq, &p);
	p.what |= BSN_F_SIGNALED;
	append(sq, &p, sq->extended);
	return hand_in(sq, sq->extended);
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
				  .id = id };

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

/* Whether there is nothing in @what, the count aside, that a look does not tell to be in order. */
BSN_ALWAYS_INLINE bool has_only(uint32_t what, uint32_t flags)
{
	return !(what & BELOW_COUNT & ~(flags | 0x3fu));
}

#define SGE_FLAGS (BSN_F_SOLICITED | BSN_F_SIGNALED | BSN_F_FENCE | BSN_F_RING)

/* Several SGEs. Empty ones are left out later; one that is too long has a bit that no other has. */
BSN_ALWAYS_INLINE bool is_plain_list(const struct send_queue *sq, uint32_t what,
				     const struct bsn_sge *sge)
{
	const unsigned count = count_of(what);
	uint32_t lengths;

	if (BSN_UNLIKELY(!has_only(what, SGE_FLAGS) || count - 1 >= sq->hot.max_sge))
		return false;
	lengths = sge[0].length | sge[count - 1].length;
	for (unsigned i = 1; i + 1 < count; i++)
		lengths |= sge[i].length;
	return BSN_LIKELY(lengths <= BSN_DATA_MAX_BYTES);
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

static int post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id)
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
				  .id = id };

	return err ? err : post(sq, p, sq->extended);
}

static uint32_t room_of(struct bsn_sq *hot)
{
	const struct send_queue *sq = send_queue_of(hot);

	return sq->capacity - verbs_sq_outstanding(sq);
}

/*
 * The functions of a kind of queue, so that none of them has to ask which it is. Those that tell apart need
 * no registers saved; each queue of the kind takes FIRST and SECOND, which have functions of their own.
 */
/* clang-format off */
#define POST(name, data_type, op, data_form, data_count, list)                                     \
	static __attribute__((noinline)) int post_##name(                                          \
		struct bsn_ep *ep, uint32_t what, data_type data,                                  \
		const struct bsn_remote *remote, uint32_t imm, uint64_t id)                        \
	{                                                                                          \
		const struct bsn_sge piece = { (uintptr_t)data, count_of(what), 0 };               \
		const struct posted p = { .opcode = op, .what = what, .form = data_form,           \
					  .count = data_count, .sge = list, .remote = remote,      \
					  .imm = imm, .peer = PEER(ep), .id = id };                \
                                                                                                   \
		(void)piece;                                                                       \
		return post(send_queue_of(ep->sq), p, IS_EXTENDED);                                \
	}

#define POST_LIST(name, kind, op, is_taken)                                                        \
	static __attribute__((noinline)) int post_##name##_##kind(                                 \
		struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,                       \
		const struct bsn_remote *remote, uint32_t imm, uint64_t id)                        \
	{                                                                                          \
		struct send_queue *sq = send_queue_of(ep->sq);                                     \
		const struct posted p = { .opcode = op, .what = what, .form = SGES,                \
					  .count = count_of(what), .sge = sge, .remote = remote,   \
					  .imm = imm, .peer = PEER(ep), .id = id };                \
                                                                                                   \
		if ((is_taken) && is_plain_list(sq, what, sge))                                    \
			return post(sq, p, IS_EXTENDED);                                           \
		return post_rest_##kind(ep, what, sge, remote, imm, id);                           \
	}

#define LIST   const struct bsn_sge *
#define PIECE  const void *

#define SQ_PATH(kind, FIRST, SECOND)                                                               \
	POST(first_sge_##kind, LIST, FIRST, ONE_SGE, 1, data)                                      \
	POST(second_sge_##kind, LIST, SECOND, ONE_SGE, 1, data)                                    \
	POST(sge_##kind, LIST, opcode_of(what), ONE_SGE, 1, data)                                  \
	POST(first_piece_##kind, PIECE, FIRST, ONE_PIECE, 1, &piece)                               \
	POST(second_piece_##kind, PIECE, SECOND, ONE_PIECE, 1, &piece)                             \
	POST(piece_##kind, PIECE, opcode_of(what), ONE_PIECE, 1, &piece)                           \
                                                                                                   \
	static int post_inline_##kind(struct bsn_ep *ep, uint32_t what, const void *data,          \
				      const struct bsn_remote *remote, uint32_t imm, uint64_t id)  \
	{                                                                                          \
		const struct send_queue *sq = send_queue_of(ep->sq);                               \
                                                                                                   \
		if (!is_plain_piece(sq, what))                                                     \
			return post_any_piece(ep, what, data, remote, imm, id);                    \
		if (opcode_of(what) == (FIRST))                                                    \
			return post_first_piece_##kind(ep, what, data, remote, imm, id);           \
		if (opcode_of(what) == (SECOND))                                                   \
			return post_second_piece_##kind(ep, what, data, remote, imm, id);          \
		if (!(sq->inline_ops >> opcode_of(what) & 1))                                      \
			return post_any_piece(ep, what, data, remote, imm, id);                    \
		return post_piece_##kind(ep, what, data, remote, imm, id);                         \
	}                                                                                          \
                                                                                                   \
	static __attribute__((noinline)) int post_rest_##kind(                                     \
		struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,                       \
		const struct bsn_remote *remote, uint32_t imm, uint64_t id)                        \
	{                                                                                          \
		if (!is_piece(what, sge))                                                          \
			return post_any(ep, what, sge, remote, imm, id);                           \
		return post_inline_##kind(ep, BSN_WHAT(what & BELOW_COUNT, 0, sge->length),        \
					  (const void *)(uintptr_t)sge->addr, remote, imm, id);    \
	}                                                                                          \
                                                                                                   \
	POST_LIST(first_list, kind, FIRST, true)                                                   \
	POST_LIST(second_list, kind, SECOND, true)                                                 \
	POST_LIST(list, kind, opcode_of(what), sq->sge_ops >> opcode_of(what) & 1)                 \
                                                                                                   \
	static int post_sgl_##kind(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,    \
				   const struct bsn_remote *remote, uint32_t imm, uint64_t id)     \
	{                                                                                          \
		const struct send_queue *sq = send_queue_of(ep->sq);                               \
                                                                                                   \
		if (opcode_of(what) == (FIRST))                                                    \
			return is_plain_sge(what, sge)                                             \
				       ? post_first_sge_##kind(ep, what, sge, remote, imm, id)     \
				       : post_first_list_##kind(ep, what, sge, remote, imm, id);   \
		if (opcode_of(what) == (SECOND))                                                   \
			return is_plain_sge(what, sge)                                             \
				       ? post_second_sge_##kind(ep, what, sge, remote, imm, id)    \
				       : post_second_list_##kind(ep, what, sge, remote, imm, id);  \
		if (is_plain_sge(what, sge) && sq->sge_ops >> opcode_of(what) & 1)                 \
			return post_sge_##kind(ep, what, sge, remote, imm, id);                    \
		return post_list_##kind(ep, what, sge, remote, imm, id);                           \
	}                                                                                          \
                                                                                                   \
	static const struct bsn_sq_path path_##kind = { .post_sgl = post_sgl_##kind,               \
							.post_inline = post_inline_##kind,         \
							.post_atomic = post_atomic,                \
							.ring = verbs_sq_ring,                     \
							.cancel = cancel,                          \
							.room = room_of };

#define IS_EXTENDED true
#define PEER(ep)    NULL
SQ_PATH(wr, BSN_OPCODE_RDMA_WRITE, BSN_OPCODE_SEND)
#undef PEER
#define PEER(ep)    ep_of(ep)
SQ_PATH(wr_peers, BSN_OPCODE_SEND, BSN_OPCODE_SEND_IMM)
#undef IS_EXTENDED
#undef PEER
#define IS_EXTENDED false
#define PEER(ep)    peer_of(ep)
SQ_PATH(plain, BSN_OPCODE_SEND, BSN_OPCODE_SEND_IMM)
/* clang-format on */

static const struct bsn_sq_path *path_of(const struct send_queue *sq)
{
	if (!sq->extended)
		return &path_plain;
	return sq->hot.has_peers ? &path_wr_peers : &path_wr;
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
	if (!qp->transport->is_connected) {
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
	sq->hot.slot =
		(uint8_t *)sq; /* somewhere: what the inline code adds to it is past the limit */
	sq->hot.has_peers = !qp->transport->is_connected;
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
	sq->hot.max_inline = (uint16_t)qp->limits.max_inline;
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
	init_route(qp, sq);
	sq->hot.path = path_of(sq);
	return 0;
}

void verbs_sq_clear(struct send_queue *sq)
{
	sq->head = sq->rung = sq->limit = sq->done = 0;
	sq->quiet = sq->hot.signal_every;
	sq->hot.route.has_error = false;
	sq->life = verbs_next_life();
}
