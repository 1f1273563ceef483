/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs path's send queue. post() checks a request, looks for room, appends the request by
 * ibv_wr_*() or to a ring of ibv_send_wr, and rings if the flags say so.
 */
#include "verbs.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "bsn_ops.h"
#include "init.h"
#include "refuse.h"
#include "sq.h"

_Static_assert(sizeof(struct bsn_sge) == sizeof(struct ibv_sge) &&
		       offsetof(struct bsn_sge, addr) == offsetof(struct ibv_sge, addr) &&
		       offsetof(struct bsn_sge, length) == offsetof(struct ibv_sge, length) &&
		       offsetof(struct bsn_sge, lkey) == offsetof(struct ibv_sge, lkey),
	       "lists of SGEs are passed on as they are");

enum { ATOMIC_BYTES = 8 };

static unsigned opcode_of(const struct bsn_request *r)
{
	return r->what & 0xff;
}

static unsigned count_of(const struct bsn_request *r)
{
	return r->what >> BSN_WHAT_COUNT_SHIFT;
}

/* The peer of an endpoint, whose queue has many peers. */
static const struct ep_object *to_peer(const struct bsn_ep *ep)
{
	return (const struct ep_object *)(const void *)ep;
}

/* -- checking a request ----------------------------------------------------------------------- */

static uint64_t bytes_of(const struct bsn_request *r)
{
	uint64_t bytes = 0;

	if (BSN_LIKELY(count_of(r) == 1))
		return r->sge->length;
	for (unsigned i = 0; i < count_of(r); i++)
		bytes += r->sge[i].length;
	return bytes;
}

/* Whether the request is a usual and correct one. judge() is slower, and checks any request. */
static bool is_usual(const struct send_queue *sq, const struct bsn_request *r)
{
	const unsigned opcode = opcode_of(r);

	if (r->what & BSN_WHAT_FLAGS & ~BSN_F_ALL || opcode > 63 ||
	    count_of(r) > sq->dv.hot.max_sge)
		return false;
	if (r->what & BSN_F_INLINE)
		return sq->inline_ops >> opcode & 1 && bytes_of(r) <= sq->dv.hot.max_inline;
	if (BSN_LIKELY(sq->list_ops >> opcode & 1))
		return bytes_of(r) <= BSN_DATA_MAX_BYTES;
	return r->operand && is_one_of(sq->dv.held_ops, opcode) && count_of(r) == 1;
}

static int judge(struct send_queue *sq, const struct bsn_request *r)
{
	int err;

	if (r->body)
		return refuse(EOPNOTSUPP, "plain verbs have no such request");
	err = bsn_sq_judge(&sq->dv.hot, r);
	if (!err && !r->operand && !is_one_of(BSN_OPS_WITH_LIST, opcode_of(r)))
		return refuse(EINVAL, "an atomic has operands");
	return err;
}

/* -- appending by ibv_wr_*() ----------------------------------------------------------------- */

/* libibverbs' flags, without IBV_SEND_INLINE. */
static unsigned send_flags_of(uint32_t what)
{
	return (what & BSN_F_SIGNALED ? IBV_SEND_SIGNALED : 0) |
	       (what & BSN_F_SOLICITED ? IBV_SEND_SOLICITED : 0) |
	       (what & BSN_F_FENCE ? IBV_SEND_FENCE : 0);
}

/* Copies all SGEs of inline data into one buffer. Returns the bytes. */
static uint32_t gather(const struct bsn_request *r, uint8_t *to)
{
	uint32_t total = 0;

	for (unsigned i = 0; i < count_of(r); i++) {
		if (r->sge[i].length)
			memcpy(to + total, (const void *)(uintptr_t)r->sge[i].addr,
			       r->sge[i].length);
		total += r->sge[i].length;
	}
	return total;
}

static void wr_operation(struct ibv_qp_ex *qp, const struct bsn_request *r)
{
	switch (opcode_of(r)) {
	case BSN_OPCODE_RDMA_WRITE:
		ibv_wr_rdma_write(qp, r->remote->rkey, r->remote->addr);
		break;
	case BSN_OPCODE_RDMA_WRITE_IMM:
		ibv_wr_rdma_write_imm(qp, r->remote->rkey, r->remote->addr, htonl(r->imm));
		break;
	case BSN_OPCODE_RDMA_READ:
		ibv_wr_rdma_read(qp, r->remote->rkey, r->remote->addr);
		break;
	case BSN_OPCODE_SEND:
		ibv_wr_send(qp);
		break;
	case BSN_OPCODE_SEND_IMM:
		ibv_wr_send_imm(qp, htonl(r->imm));
		break;
	case BSN_OPCODE_SEND_INVAL:
		ibv_wr_send_inv(qp, r->imm);
		break;
	case BSN_OPCODE_ATOMIC_CS:
		ibv_wr_atomic_cmp_swp(qp, r->remote->rkey, r->remote->addr, r->operand[1],
				      r->operand[0]);
		break;
	case BSN_OPCODE_ATOMIC_FA:
		ibv_wr_atomic_fetch_add(qp, r->remote->rkey, r->remote->addr, r->operand[0]);
		break;
	}
}

/*
 * Sets the request's data. The provider copies inline data at once; an atomic's result has 8 bytes,
 * whatever the SGE says.
 */
static void wr_data(struct ibv_qp_ex *qp, const struct bsn_request *r, uint8_t *gathered)
{
	const struct bsn_sge *first = r->sge;

	if (r->operand)
		ibv_wr_set_sge(qp, first->lkey, first->addr, ATOMIC_BYTES);
	else if (!(r->what & BSN_F_INLINE) && count_of(r) == 1)
		ibv_wr_set_sge(qp, first->lkey, first->addr, first->length);
	else if (!(r->what & BSN_F_INLINE))
		ibv_wr_set_sge_list(qp, count_of(r), (const struct ibv_sge *)first);
	else if (count_of(r) == 1)
		ibv_wr_set_inline_data(qp, (void *)(uintptr_t)first->addr, first->length);
	else
		ibv_wr_set_inline_data(qp, gathered, gather(r, gathered));
}

static void wr_peer(struct ibv_qp_ex *qp, const struct ep_object *peer)
{
	if (peer->ah)
		ibv_wr_set_ud_addr(qp, peer->ah, peer->verbs.qpn, peer->verbs.qkey);
	else
		ibv_wr_set_xrc_srqn(qp, peer->verbs.qpn);
}

static void append_wr(struct send_queue *sq, const struct bsn_ep *ep, const struct bsn_request *r,
		      unsigned send_flags)
{
	struct ibv_qp_ex *qp = sq->extended;

	if (sq->rung == sq->head)
		ibv_wr_start(qp);
	qp->wr_id = sq->life | sq->head;
	qp->wr_flags = send_flags;
	wr_operation(qp, r);
	if (sq->dv.has_peers)
		wr_peer(qp, to_peer(ep));
	wr_data(qp, r, sq->inline_data);
}

/* -- appending for ibv_post_send() ----------------------------------------------------------- */

/* As on the direct path, an atomic's result has 8 bytes, and empty SGEs are left out. */
static void list_operands(struct ibv_send_wr *wr, const struct bsn_request *r)
{
	const bool adds = opcode_of(r) == BSN_OPCODE_ATOMIC_FA;

	*wr->sg_list = (struct ibv_sge){ r->sge->addr, ATOMIC_BYTES, r->sge->lkey };
	wr->num_sge = 1;
	wr->wr.atomic.remote_addr = r->remote->addr;
	wr->wr.atomic.rkey = r->remote->rkey;
	wr->wr.atomic.compare_add = r->operand[adds ? 0 : 1];
	wr->wr.atomic.swap = adds ? 0 : r->operand[0];
}

static void list_sges(struct ibv_send_wr *wr, const struct bsn_request *r)
{
	const struct bsn_sge *sge = r->sge, *const end = sge + count_of(r);
	struct ibv_sge *const list = wr->sg_list;
	int n = 0;

	for (; sge != end; sge++)
		if (sge->length)
			list[n++] = (struct ibv_sge){ sge->addr, sge->length, sge->lkey };
	wr->num_sge = n;
}

/* Copies inline data now, since the caller may reuse its buffer at once. */
static void list_inline(struct ibv_send_wr *wr, const struct bsn_request *r, uint8_t *to)
{
	const uint32_t total = gather(r, to);

	wr->num_sge = total != 0;
	if (!total)
		return;
	*wr->sg_list = (struct ibv_sge){ (uintptr_t)to, total, 0 };
	wr->send_flags |= IBV_SEND_INLINE;
}

static void list_peer(struct ibv_send_wr *wr, const struct ep_object *peer)
{
	if (peer->ah) {
		wr->wr.ud.ah = peer->ah;
		wr->wr.ud.remote_qpn = peer->verbs.qpn;
		wr->wr.ud.remote_qkey = peer->verbs.qkey;
	} else {
		wr->qp_type.xrc.remote_srqn = peer->verbs.qpn;
	}
}

static void append_list(struct send_queue *sq, const struct bsn_ep *ep, const struct bsn_request *r,
			unsigned send_flags)
{
	const uint32_t what = r->what, opcode = what & 0xff;
	const uint32_t slot = sq->head & sq->mask;
	struct ibv_send_wr *wr = &sq->wrs[slot];

	wr->next = NULL;
	if (sq->head != sq->rung)
		sq->wrs[(sq->head - 1) & sq->mask].next = wr;
	wr->wr_id = sq->life | sq->head;
	wr->opcode = verbs_ops[opcode].opcode;
	wr->send_flags = send_flags;
	if (opcode == BSN_OPCODE_SEND_INVAL)
		wr->invalidate_rkey = r->imm;
	else
		wr->imm_data = htonl(r->imm); /* 0 if there is none */
	if (sq->dv.has_peers)
		list_peer(wr, to_peer(ep));
	if (r->operand) {
		list_operands(wr, r);
		return;
	}
	if (BSN_OPS_WITH_RADDR >> opcode & 1) {
		const struct bsn_remote to = *r->remote;
		wr->wr.rdma.remote_addr = to.addr;
		wr->wr.rdma.rkey = to.rkey;
	}
	if (what & BSN_F_INLINE)
		list_inline(wr, r, sq->inline_data + (size_t)slot * sq->dv.hot.max_inline);
	else
		list_sges(wr, r);
}

/* -- showing requests ------------------------------------------------------------------------ */

static void show_head(struct send_queue *sq, uint32_t head)
{
	sq->dv.wide_pi = head;
	sq->dv.hot.pi = (uint16_t)head;
}

/* Shows the next request in the ring, where each request is one block. */
static __attribute__((noinline)) void show(struct send_queue *sq, const struct bsn_request *r,
					   uint32_t what)
{
	const unsigned opcode = what & 0xff;
	const unsigned data_ds = 1 + is_one_of(BSN_OPS_WITH_RADDR, opcode);
	const uint64_t bytes = r->operand ? ATOMIC_BYTES : bytes_of(r);
	const struct bsn_ctrl ctrl = {
		.opcode = opcode,
		.ds = data_ds + 1,
		.ce = what & BSN_F_SIGNALED ? BSN_CE_ALWAYS : BSN_CE_ON_FIRST_ERROR,
	};
	const struct bsn_data data = {
		.byte_count = bytes < BSN_DATA_MAX_BYTES ? (uint32_t)bytes : BSN_DATA_MAX_BYTES,
	};
	uint8_t *block = sq->dv.ring + (size_t)(sq->head & sq->mask) * BSN_BB_SIZE;

	bsn_ctrl_encode(block, &ctrl);
	bsn_data_encode(block + data_ds * BSN_DS_SIZE, &data);
	show_head(sq, sq->head + 1);
}

int verbs_sq_show(struct send_queue *sq)
{
	static struct bsn_be32 nowhere;

	sq->dv.hot.record = &nowhere;
	sq->dv.ring = calloc((size_t)sq->mask + 1, BSN_BB_SIZE);
	sq->dv.bb_mask = (uint16_t)sq->mask;
	sq->capacity--;
	return sq->dv.ring ? 0 : -ENOMEM;
}

/* -- handing in ------------------------------------------------------------------------------ */

/* Forgets the requests that were not handed in. */
static void go_back(struct send_queue *sq)
{
	sq->head = sq->rung;
	if (sq->dv.ring)
		show_head(sq, sq->head);
}

/* Hands in by ibv_wr_complete(): the provider takes all or nothing. */
static int hand_in_wr(struct send_queue *sq)
{
	const int err = ibv_wr_complete(sq->extended);

	if (!err)
		sq->rung = sq->head;
	return err;
}

/* Hands in by ibv_post_send(): the provider takes all before the first that it refuses. */
static int hand_in_list(struct send_queue *sq)
{
	struct ibv_send_wr *const first = &sq->wrs[sq->rung & sq->mask], *bad = first;
	const int err = ibv_post_send(sq->verbs, first, &bad);

	sq->rung = err ? (uint32_t)bad->wr_id : sq->head;
	return err;
}

int verbs_sq_ring(struct bsn_sq *hot)
{
	struct send_queue *sq = send_queue_of(hot);
	int err;

	if (sq->rung == sq->head)
		return 0;
	sq->dv.count_doorbells++;
	err = sq->extended ? hand_in_wr(sq) : hand_in_list(sq);
	if (BSN_LIKELY(!err))
		return 0;
	go_back(sq);
	return provider_refused(err);
}

void verbs_sq_cancel(struct send_queue *sq)
{
	if (sq->extended && sq->rung != sq->head)
		ibv_wr_abort(sq->extended);
	go_back(sq);
}

static int cancel(struct bsn_sq *hot)
{
	struct send_queue *sq = send_queue_of(hot);

	verbs_sq_cancel(sq);
	sq->quiet = sq->dv.signal_every; /* one of them may have been signaled */
	return 0;
}

/* -- posting --------------------------------------------------------------------------------- */

static uint32_t room(struct bsn_sq *hot)
{
	const struct send_queue *sq = send_queue_of(hot);
	const uint32_t outstanding = verbs_sq_outstanding(sq);

	/* A marker may be outstanding beyond the capacity. */
	return outstanding < sq->capacity ? sq->capacity - outstanding : 0;
}

/*
 * Refuses a post to a full queue. If the post was to ring, it hands in the appended requests: only
 * their completions make room.
 */
static int refuse_full(struct send_queue *sq, uint32_t what)
{
	const int err = what & BSN_F_RING ? verbs_sq_ring(&sq->dv.hot) : 0;

	sq->dv.count_full++;
	if (err)
		return err;
	return refuse(EAGAIN, "the send queue is full: poll its CQ");
}

/*
 * Whether the library signals this unsignaled request, so that the queue of a caller that never
 * signals gets room. If little is outstanding, the caller signals often enough.
 */
static bool is_turn(struct send_queue *sq)
{
	if (BSN_LIKELY(--sq->quiet))
		return false;
	sq->quiet = sq->dv.signal_every;
	return sq->quiet && verbs_sq_outstanding(sq) + 1 >= sq->quiet;
}

/* Appends a correct request, for which there is room. */
static __attribute__((noinline)) int append(struct send_queue *sq, struct bsn_ep *ep,
					    const struct bsn_request *r)
{
	uint32_t what = r->what | sq->always;

	sq->kept[sq->head & sq->mask] = (struct kept){
		r->id, sq->dv.has_peers ? to_peer(ep)->hot.user : sq->dv.route.hot.user, what
	};
	sq->last_ep = ep;
	if (!(what & BSN_F_SIGNALED) && is_turn(sq))
		what |= BSN_F_SIGNALED;
	if (BSN_UNLIKELY(sq->dv.ring))
		show(sq, r, what);
	if (BSN_LIKELY(sq->extended))
		append_wr(sq, ep, r, send_flags_of(what));
	else
		append_list(sq, ep, r, send_flags_of(what));
	sq->head++;
	return what & BSN_F_RING ? verbs_sq_ring(&sq->dv.hot) : 0;
}

BSN_ALWAYS_INLINE int post_judged(struct bsn_ep *ep, const struct bsn_request *r)
{
	struct send_queue *sq = send_queue_of(ep->sq);

	if (BSN_UNLIKELY(verbs_sq_outstanding(sq) >= sq->capacity))
		return refuse_full(sq, r->what);
	return append(sq, ep, r);
}

static __attribute__((noinline)) int post_unusual(struct bsn_ep *ep, const struct bsn_request *r)
{
	const int err = judge(send_queue_of(ep->sq), r);

	return err ? err : post_judged(ep, r);
}

static int post(struct bsn_ep *ep, const struct bsn_request *r)
{
	return BSN_LIKELY(is_usual(send_queue_of(ep->sq), r)) ? post_judged(ep, r)
							      : post_unusual(ep, r);
}

/*
 * libibverbs has no NOP, so the marker is a WRITE of 0 bytes, or an empty message to the last peer.
 * If that peer is gone, nothing is outstanding.
 */
int verbs_sq_post_marker(struct send_queue *sq)
{
	static const struct bsn_remote nowhere;
	const uint32_t opcode = sq->dv.has_peers ? BSN_OPCODE_SEND : BSN_OPCODE_RDMA_WRITE;
	struct bsn_ep *const ep = sq->dv.has_peers ? sq->last_ep : &sq->dv.hot.ep;
	const struct bsn_request r = { .what = opcode | BSN_F_SIGNALED | BSN_F_RING | KEPT_MARKER,
				       .remote = &nowhere };

	if (!ep)
		return 0;
	if (verbs_sq_outstanding(sq) >= sq->dv.capacity_bb)
		return refuse(EAGAIN, "the send queue is full: poll its CQ");
	return append(sq, ep, &r);
}

static const struct bsn_sq_path path = {
	.post = post,
	.ring = verbs_sq_ring,
	.cancel = cancel,
	.room = room,
};

/* -- life ------------------------------------------------------------------------------------ */

uint64_t verbs_next_life(void)
{
	static atomic_uint lives;

	return atomic_fetch_add(&lives, 1) * WR_NEXT_LIFE & ~WR_RECV;
}

void verbs_sq_free(struct send_queue *sq)
{
	free(sq->kept);
	free(sq->wrs);
	free(sq->sges);
	free(sq->inline_data);
	free(sq->dv.ring);
	free(sq);
}

/*
 * Allocates the ring of ibv_send_wr. Each has SGEs of its own, at least one, which inline data
 * need.
 */
static bool alloc_list(struct send_queue *sq, uint32_t size, uint32_t max_sge)
{
	const uint32_t sges = max_sge + !max_sge;

	sq->wrs = calloc(size, sizeof(*sq->wrs));
	sq->sges = calloc((size_t)size * sges, sizeof(*sq->sges));
	if (!sq->wrs || !sq->sges)
		return false;
	for (uint32_t i = 0; i < size; i++)
		sq->wrs[i].sg_list = &sq->sges[(size_t)i * sges];
	return true;
}

static struct send_queue *alloc_sq(const struct bsn_qp *qp)
{
	const uint32_t size = power_of_two(qp->info.send_depth);
	struct send_queue *sq = bsn_hot_alloc(sizeof(*sq));

	if (!sq)
		return NULL;
	sq->mask = size - 1;
	/* An application's QP may have been made for only some of the operations. */
	sq->extended = qp->owns_verbs ? ibv_qp_to_qp_ex(qp->verbs) : NULL;
	sq->kept = calloc(size, sizeof(*sq->kept));
	sq->inline_data = calloc(sq->extended ? 1 : size, qp->info.max_inline + 1);
	if (sq->kept && sq->inline_data &&
	    (sq->extended || alloc_list(sq, size, qp->info.max_send_sge)))
		return sq;
	verbs_sq_free(sq);
	return NULL;
}

/* The opcodes that libibverbs has. */
static uint64_t ops_of(const struct bsn_qp *qp)
{
	uint64_t ops = bsn_sq_ops_of(qp->transport->wqe, has_atomics(qp->device));

	for (unsigned opcode = 0; opcode < 64; opcode++)
		if (!verbs_ops[opcode].exists)
			ops &= ~(1ull << opcode);
	return ops;
}

static void init_route(struct bsn_qp *qp, struct send_queue *sq)
{
	sq->dv.hot.ep.sq = &sq->dv.hot;
	sq->dv.has_peers = qp->transport->has_peers;
	sq->dv.route = (struct dv_route){
		.hot = { .user = qp->user, .rq = qp->rq },
		.sq = &sq->dv.hot,
		.first_error = &qp->first_error,
		.transport = (uint8_t)qp->transport->wqe,
		.has_peers = sq->dv.has_peers,
	};
}

int verbs_sq_make(struct bsn_qp *qp, const struct bsn_qp_attr *attr)
{
	struct send_queue *sq = alloc_sq(qp);

	if (!sq)
		return fail(ENOMEM, "no memory");
	qp->sq = &sq->dv.hot;
	sq->verbs = qp->verbs;
	sq->capacity = qp->info.send_depth;
	sq->always = attr->signal_all ? BSN_F_SIGNALED : 0;
	sq->dv.qpn = qp->verbs->qp_num;
	sq->dv.capacity_bb = sq->capacity;
	sq->dv.hot.max_inline = qp->info.max_inline;
	sq->dv.hot.max_sge =
		(uint8_t)(qp->info.max_send_sge < UINT8_MAX ? qp->info.max_send_sge : UINT8_MAX);
	sq->dv.max_ds = UINT8_MAX; /* only SGEs and inline data are limited */
	sq->dv.signal_every = bsn_sq_signal_every(sq->capacity, 1, attr->signal_every);
	sq->dv.transport = (uint8_t)qp->transport->wqe;
	sq->dv.held_ops = ops_of(qp);
	sq->list_ops = sq->dv.held_ops & BSN_OPS_WITH_LIST;
	sq->inline_ops = sq->dv.held_ops & BSN_OPS_WITH_GATHER;
	sq->dv.hot.slot =
		(uint8_t *)sq->kept; /* not NULL; the limit is, so the inline code finds no room */
	init_route(qp, sq);
	sq->dv.path = &path;
	verbs_sq_clear(sq);
	return 0;
}

void verbs_sq_clear(struct send_queue *sq)
{
	sq->head = sq->rung = sq->done = 0;
	sq->dv.wide_pi = 0;
	sq->dv.hot.pi = sq->dv.retired = 0;
	sq->dv.route.hot.done = sq->dv.seen_done = UINT16_MAX; /* the block before the first one */
	sq->quiet = sq->dv.signal_every;
	sq->dv.route.has_error = false;
	sq->life = verbs_next_life();
}
