/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs path: the same queues on plain ibv_*, for any device and for QPs whose register is not
 * ours. Its hot structures never have credits, so that every inline call comes here.
 *
 * libibverbs has no "append without publishing", an ibv_wc tells neither opcode nor length of what
 * failed, and ibv_post_send() answers a full queue with whatever errno the provider likes. So a send
 * queue here is a ring of ready-made ibv_send_wr, with all that a completion must say beside them:
 *
 *	done ........ rung ........ head        counters of requests, modulo 2^32
 *	   handed in      appended
 *
 * wr_id names the queue's life (a reset begins a new one), send or receive, and the request.
 */
#include "engine.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "bsn_decode.h"
#include "init.h"

_Static_assert(sizeof(struct bsn_sge) == sizeof(struct ibv_sge) &&
		       offsetof(struct bsn_sge, addr) == offsetof(struct ibv_sge, addr) &&
		       offsetof(struct bsn_sge, length) == offsetof(struct ibv_sge, length) &&
		       offsetof(struct bsn_sge, lkey) == offsetof(struct ibv_sge, lkey),
	       "lists of SGEs are passed on as they are");

#define POLL_BATCH 16

/* -- wr_id -------------------------------------------------------------------------------------- */

#define WR_RECV       (1ull << 63)
#define WR_LIFE_SHIFT 32
#define WR_LIFE_MASK  0x7fffffffu

static uint64_t name_wr(uint32_t life, uint32_t number)
{
	return (uint64_t)(life & WR_LIFE_MASK) << WR_LIFE_SHIFT | number;
}

static bool is_of_life(uint64_t wr_id, uint32_t life)
{
	return (wr_id >> WR_LIFE_SHIFT & WR_LIFE_MASK) == (life & WR_LIFE_MASK);
}

/* Each life has a number of its own, so that a QPN which comes back brings no old completions. */
static uint32_t next_life(void)
{
	static atomic_uint lives;

	return atomic_fetch_add(&lives, 1);
}

/* -- the queues --------------------------------------------------------------------------------- */

/* A send request, as it is handed in and as its completion will tell it. */
struct request {
	struct ibv_send_wr wr;
	uint64_t id;
	void *user;
	uint8_t opcode;
	bool is_quiet; /* its success is not the user's to see */
};

struct send_queue {
	struct bsn_sq hot; /* first: a bsn_sq is its send_queue */
	struct ibv_qp *verbs;
	struct ibv_qp_ex *extended; /* NULL: ibv_post_send() */
	struct request *ring;
	struct ibv_sge *sges; /* max_sge a request */
	uint8_t *inline_data; /* max_inline a request */
	uint32_t mask;
	uint32_t capacity;
	uint32_t head, rung; /* the poster's */
	uint32_t quiet;      /* unsignaled posts since a signaled one */
	uint32_t done;       /* release-stored by the poller */
	uint32_t life;
	unsigned invalidated; /* ibv_wc_flags: the peer's SEND invalidated a key */
	bool signals_all;
};

/*
 * Receives come back in any order from an SRQ, so the free slots are a ring of their own: the poster
 * takes at head, the poller gives back at tail.
 */
struct recv_queue {
	struct bsn_rq hot; /* first */
	struct ibv_qp *qp;
	struct ibv_srq *srq; /* or this */
	uint64_t *ids;
	uint32_t *free;
	uint32_t mask;
	uint32_t capacity;
	uint32_t head;
	uint32_t tail; /* release-stored by the poller */
	uint32_t life;
};

static struct send_queue *send_queue_of(struct bsn_sq *sq)
{
	return (struct send_queue *)sq;
}

static struct recv_queue *recv_queue_of(struct bsn_rq *rq)
{
	return (struct recv_queue *)rq;
}

static uint32_t power_of_two(uint32_t at_least)
{
	uint32_t size = 1;

	while (size < at_least)
		size *= 2;
	return size;
}

/* -- appending ---------------------------------------------------------------------------------- */

/* Where a UD endpoint sends; stands in for the prefix that a WQE would have. */
struct peer {
	struct ibv_ah *ah;
	uint32_t qpn, qkey;
};

/* What libibverbs calls the operations; those that it has no word for are not offered here. */
static const struct verb {
	bool exists;
	enum ibv_wr_opcode opcode;
	uint64_t create_flag;
} verbs_of_opcode[] = {
#define VERB(name, verb, flag) [BSN_OPCODE_##name] = { true, IBV_WR_##verb, IBV_QP_EX_WITH_##flag }
	VERB(SEND, SEND, SEND),
	VERB(SEND_IMM, SEND_WITH_IMM, SEND_WITH_IMM),
	VERB(SEND_INVAL, SEND_WITH_INV, SEND_WITH_INV),
	VERB(RDMA_WRITE, RDMA_WRITE, RDMA_WRITE),
	VERB(RDMA_WRITE_IMM, RDMA_WRITE_WITH_IMM, RDMA_WRITE_WITH_IMM),
	VERB(RDMA_READ, RDMA_READ, RDMA_READ),
	VERB(ATOMIC_CS, ATOMIC_CMP_AND_SWP, ATOMIC_CMP_AND_SWP),
	VERB(ATOMIC_FA, ATOMIC_FETCH_AND_ADD, ATOMIC_FETCH_AND_ADD),
#undef VERB
};

#define OPCODES (sizeof(verbs_of_opcode) / sizeof(verbs_of_opcode[0]))

static const struct verb *find_verb(uint32_t opcode)
{
	return opcode < OPCODES && verbs_of_opcode[opcode].exists ? &verbs_of_opcode[opcode] : NULL;
}

/* The caller may reuse its buffer at once, so the data is taken now, as one piece. */
static void copy_inline(struct request *r, const struct bsn_wr *wr, uint8_t *to)
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < wr->sge_count; i++) {
		if (wr->sge[i].length)
			memcpy(to + total, (const void *)(uintptr_t)wr->sge[i].addr,
			       wr->sge[i].length);
		total += wr->sge[i].length;
	}
	if (!total)
		return;
	*r->wr.sg_list = (struct ibv_sge){ (uintptr_t)to, total, 0 };
	r->wr.num_sge = 1;
	r->wr.send_flags |= IBV_SEND_INLINE;
}

/* As on the direct path: empty pieces are left out, and an atomic's result has 8 bytes. */
static void copy_list(struct request *r, const struct bsn_wr *wr, bool atomic)
{
	for (uint32_t i = 0; i < wr->sge_count; i++) {
		const struct bsn_sge *sge = &wr->sge[i];
		if (sge->length || atomic)
			r->wr.sg_list[r->wr.num_sge++] =
				(struct ibv_sge){ sge->addr, atomic ? 8 : sge->length, sge->lkey };
	}
}

static void put_remote(struct ibv_send_wr *to, const struct bsn_wr *wr, const struct bsn_wqe_op *op)
{
	if (op->has_atomic) {
		const bool add = wr->opcode == BSN_OPCODE_ATOMIC_FA;
		to->wr.atomic.remote_addr = wr->remote.addr;
		to->wr.atomic.rkey = wr->remote.rkey;
		to->wr.atomic.compare_add = add ? wr->swap_add : wr->compare;
		to->wr.atomic.swap = add ? 0 : wr->swap_add;
	} else if (op->has_raddr) {
		to->wr.rdma.remote_addr = wr->remote.addr;
		to->wr.rdma.rkey = wr->remote.rkey;
	}
	if (op->imm == BSN_IMM_IMMEDIATE)
		to->imm_data = htonl(wr->imm);
	else if (op->imm == BSN_IMM_INVALIDATE)
		to->invalidate_rkey = wr->imm;
}

static void put_peer(struct ibv_send_wr *to, const struct peer *peer)
{
	to->wr.ud.ah = peer->ah;
	to->wr.ud.remote_qpn = peer->qpn;
	to->wr.ud.remote_qkey = peer->qkey;
}

/*
 * Whether an unsignaled request is signaled after all, so that somebody who never asks gets his
 * credits back. Who signals often enough by himself needs no help.
 */
static bool is_turn_to_signal(struct send_queue *sq, bool signaled)
{
	if (signaled || !sq->hot.signal_every) {
		sq->quiet = 0;
		return false;
	}
	if (++sq->quiet < sq->hot.signal_every)
		return false;
	sq->quiet = 0;
	return true;
}

/* What no operation of @wr needs keeps what stood in the slot: 160 bytes are much to clear. */
static void fill_request(struct send_queue *sq, const struct bsn_ep *ep, const struct bsn_wr *wr,
			 const struct bsn_wqe_op *op)
{
	const uint32_t slot = sq->head & sq->mask;
	struct request *r = &sq->ring[slot];
	bool signaled = sq->signals_all || wr->flags & BSN_F_SIGNALED;

	r->id = wr->id;
	r->user = ep->user;
	r->opcode = (uint8_t)wr->opcode;
	r->is_quiet = !signaled;
	r->wr.num_sge = 0;
	r->wr.wr_id = name_wr(sq->life, sq->head);
	r->wr.opcode = find_verb(wr->opcode)->opcode;
	r->wr.sg_list = sq->sges + (size_t)slot * sq->hot.max_sge;
	signaled |= is_turn_to_signal(sq, signaled);
	r->wr.send_flags = (signaled ? IBV_SEND_SIGNALED : 0u) |
			   (wr->flags & BSN_F_SOLICITED ? IBV_SEND_SOLICITED : 0u) |
			   (wr->flags & BSN_F_FENCE ? IBV_SEND_FENCE : 0u);
	put_remote(&r->wr, wr, op);
	if (sq->hot.transport == BSN_TRANSPORT_UD)
		put_peer(&r->wr, ep->prefix);
	if (wr->flags & BSN_F_INLINE)
		copy_inline(r, wr, sq->inline_data + (size_t)slot * sq->hot.max_inline);
	else
		copy_list(r, wr, op->has_atomic);
}

/* -- handing in --------------------------------------------------------------------------------- */

static void build_operation(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(qp);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qp, wr->imm_data);
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(qp, wr->invalidate_rkey);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
				      wr->wr.atomic.compare_add, wr->wr.atomic.swap);
		break;
	default: /* of the table above, ATOMIC_FETCH_AND_ADD is left */
		ibv_wr_atomic_fetch_add(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
		break;
	}
}

/* By ibv_wr_*: all or nothing. */
static int hand_in_extended(struct ibv_qp_ex *qp, bool is_ud, const struct ibv_send_wr *wr)
{
	ibv_wr_start(qp);
	for (; wr; wr = wr->next) {
		qp->wr_id = wr->wr_id;
		/* With IBV_SEND_INLINE: rxe executes by the flag, wherever the data were put. */
		qp->wr_flags = wr->send_flags;
		build_operation(qp, wr);
		if (is_ud)
			ibv_wr_set_ud_addr(qp, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
					   wr->wr.ud.remote_qkey);
		if (wr->send_flags & IBV_SEND_INLINE)
			ibv_wr_set_inline_data(qp, (void *)(uintptr_t)wr->sg_list->addr,
					       wr->sg_list->length);
		else
			ibv_wr_set_sge_list(qp, (size_t)wr->num_sge, wr->sg_list);
	}
	return provider_error_of_int(ibv_wr_complete(qp));
}

static struct ibv_send_wr *link_appended(struct send_queue *sq)
{
	for (uint32_t i = sq->rung; i != sq->head; i++)
		sq->ring[i & sq->mask].wr.next =
			i + 1 == sq->head ? NULL : &sq->ring[(i + 1) & sq->mask].wr;
	return &sq->ring[sq->rung & sq->mask].wr;
}

/* What the provider did not take stays appended: the next ring tries again. */
static int ring_appended(struct bsn_sq *hot)
{
	struct send_queue *sq = send_queue_of(hot);
	struct ibv_send_wr *first, *bad;
	int err;

	if (sq->rung == sq->head)
		return 0;
	bad = first = link_appended(sq);
	sq->hot.count_doorbells++;
	errno = 0;
	if (sq->extended)
		err = hand_in_extended(sq->extended, hot->transport == BSN_TRANSPORT_UD, first);
	else
		err = provider_error_of_int(ibv_post_send(sq->verbs, first, &bad));
	sq->rung = err ? (uint32_t)bad->wr_id : sq->head;
	return err;
}

static uint32_t outstanding_sends(const struct send_queue *sq)
{
	return sq->head - __atomic_load_n(&sq->done, __ATOMIC_ACQUIRE); /* O6 */
}

/* bsn_sq_post() judged the request. */
static int post_send(struct bsn_ep *ep, const struct bsn_wr *wr, const struct bsn_wqe_op *op)
{
	struct send_queue *sq = send_queue_of(ep->bound);
	int err;

	if (!find_verb(wr->opcode))
		return -EOPNOTSUPP;
	if (sq->hot.transport == BSN_TRANSPORT_UD && !ep->prefix)
		return -EINVAL;
	if (outstanding_sends(sq) == sq->capacity) {
		sq->hot.count_full++;
		return -EAGAIN;
	}
	fill_request(sq, ep, wr, op);
	sq->head++;
	if (!(wr->flags & BSN_F_RING))
		return 0;
	err = ring_appended(&sq->hot);
	if (err)
		sq->head--; /* whatever was not taken, the last one was not: "unless 0, nothing was written" */
	return err;
}

static const struct bsn_sq_path sq_path = { .post = post_send, .ring = ring_appended };

/* -- receiving ---------------------------------------------------------------------------------- */

/* bsn_rq_post() judged the list. */
static int post_recv(struct bsn_rq *hot, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	struct recv_queue *rq = recv_queue_of(hot);
	struct ibv_recv_wr *bad,
		wr = { .sg_list = (struct ibv_sge *)(uintptr_t)sge, .num_sge = (int)count };
	uint32_t slot;
	int err;

	if (rq->head - __atomic_load_n(&rq->tail, __ATOMIC_ACQUIRE) == rq->capacity) { /* O6 */
		hot->count_full++;
		return -EAGAIN;
	}
	slot = rq->free[rq->head & rq->mask];
	rq->ids[slot] = id;
	wr.wr_id = WR_RECV | name_wr(rq->life, slot);
	errno = 0;
	err = provider_error_of_int(rq->srq ? ibv_post_srq_recv(rq->srq, &wr, &bad)
					    : ibv_post_recv(rq->qp, &wr, &bad));
	if (!err)
		rq->head++;
	return err;
}

static const struct bsn_rq_path rq_path = { .post = post_recv };

static uint64_t retire_recv(struct recv_queue *rq, uint32_t slot)
{
	const uint64_t id = rq->ids[slot];

	rq->free[(rq->tail + rq->capacity) & rq->mask] = slot;
	__atomic_store_n(&rq->tail, rq->tail + 1, __ATOMIC_RELEASE); /* O6 */
	return id;
}

/* -- polling ------------------------------------------------------------------------------------ */

static void note_error(struct bsn_sq *sq, const struct ibv_wc *wc, struct bsn_completion *c)
{
	c->syndrome = bsn_syndrome_of_status(wc->status);
	c->vendor_syndrome = (uint8_t)wc->vendor_err;
	if (!sq->first_error->status)
		*sq->first_error = *c;
}

/* A receive: how many completions that gives. */
static int reap_recv(struct bsn_sq *sq, const struct ibv_wc *wc, struct bsn_completion *c)
{
	struct recv_queue *rq = recv_queue_of(sq->rq);

	*c = (struct bsn_completion){ .id = retire_recv(rq, (uint32_t)wc->wr_id),
				      .user = rq->srq ? sq->user : rq->hot.user,
				      .status = (uint8_t)wc->status,
				      .opcode = BSN_RECV,
				      .qpn = wc->qp_num };
	if (wc->status != IBV_WC_SUCCESS) {
		note_error(sq, wc, c);
		return 1;
	}
	c->byte_len = wc->byte_len;
	c->src_qpn = wc->src_qp;
	c->slid = wc->slid;
	c->sl = wc->sl;
	c->dlid_path_bits = wc->dlid_path_bits;
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		c->opcode = BSN_RECV_RDMA_WITH_IMM;
	if (wc->wc_flags & IBV_WC_WITH_IMM) {
		c->flags |= BSN_C_IMM;
		c->imm = ntohl(wc->imm_data);
	} else if (wc->wc_flags & send_queue_of(sq)->invalidated) {
		c->flags |= BSN_C_INVAL;
		c->imm = wc->invalidated_rkey;
	}
	if (sq->transport == BSN_TRANSPORT_UD && wc->wc_flags & IBV_WC_GRH)
		c->flags |= BSN_C_GRH;
	return 1;
}

/* Only these bring bytes; for the others, ibv_wc.byte_len is undefined. */
static uint32_t bytes_read(uint8_t opcode, const struct ibv_wc *wc)
{
	switch (opcode) {
	case BSN_OPCODE_RDMA_READ:
		return wc->byte_len;
	case BSN_OPCODE_ATOMIC_CS:
	case BSN_OPCODE_ATOMIC_FA:
		return 8;
	default:
		return 0;
	}
}

/* A send: it, and with it everything before it, is done. */
static int reap_send(struct send_queue *sq, const struct ibv_wc *wc, struct bsn_completion *c)
{
	const uint32_t number = (uint32_t)wc->wr_id;
	const struct request *r = &sq->ring[number & sq->mask];
	const bool failed = wc->status != IBV_WC_SUCCESS;

	*c = (struct bsn_completion){ .id = r->id,
				      .user = r->user,
				      .status = (uint8_t)wc->status,
				      .opcode = r->opcode,
				      .qpn = wc->qp_num };
	if (failed) {
		c->wqe_index = (uint16_t)number;
		note_error(&sq->hot, wc, c);
	} else {
		c->byte_len = bytes_read(r->opcode, wc);
	}
	__atomic_store_n(&sq->done, number + 1, __ATOMIC_RELEASE); /* O6: frees the request */
	return failed || !r->is_quiet;
}

static int reap(struct bsn_cq *cq, const struct ibv_wc *wc, struct bsn_completion *c)
{
	struct bsn_sq *sq = bsn_cq_find(cq, wc->qp_num);
	const bool is_recv = wc->wr_id & WR_RECV;

	if (sq &&
	    is_of_life(wc->wr_id, is_recv ? recv_queue_of(sq->rq)->life : send_queue_of(sq)->life))
		return is_recv ? reap_recv(sq, wc, c) : reap_send(send_queue_of(sq), wc, c);
	cq->count_dropped++;
	return 0;
}

/*
 * Completions that were taken out of the CQ before their time: when a QP goes, the provider throws
 * its completions away, and with them the knowledge of what it took from an SRQ.
 */
struct stash {
	uint32_t first, count, room;
	struct ibv_wc wc[];
};

static int take_stashed(struct stash *stash, struct ibv_wc *wc, int n)
{
	const uint32_t count = (uint32_t)n < stash->count ? (uint32_t)n : stash->count;

	memcpy(wc, stash->wc + stash->first, count * sizeof(*wc));
	stash->first += count;
	stash->count -= count;
	return (int)count;
}

static int poll_cq(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	struct stash *stash = cq_of(cq)->path_state;
	struct ibv_wc wc[POLL_BATCH];
	int got = 0, want, count;
	bool is_stashed;

	do {
		want = n - got < POLL_BATCH ? n - got : POLL_BATCH;
		is_stashed = stash && stash->count;
		count = is_stashed ? take_stashed(stash, wc, want)
				   : ibv_poll_cq(cq_of(cq)->verbs, want, wc);
		for (int i = 0; i < count; i++)
			got += reap(cq, &wc[i], c + got);
	} while ((is_stashed || count == want) && got < n);
	if (count < 0)
		bsn_cq_kill(cq, EIO); /* reported once what came is delivered */
	return got;
}

/* Room for a whole CQ more; what lay in the stash stays in front. */
static struct stash *grow_stash(struct cq_object *cq)
{
	struct stash *old = cq->path_state;
	const uint32_t kept = old ? old->count : 0;
	const uint32_t room = kept + (uint32_t)cq->verbs->cqe;
	struct stash *stash = malloc(sizeof(*stash) + room * sizeof(stash->wc[0]));

	if (!stash)
		return NULL;
	if (kept)
		memcpy(stash->wc, old->wc + old->first, kept * sizeof(stash->wc[0]));
	stash->first = 0;
	stash->count = kept;
	stash->room = room;
	free(old);
	cq->path_state = stash;
	return stash;
}

static void fill_stash(struct cq_object *cq, struct stash *stash)
{
	while (stash->count < stash->room &&
	       ibv_poll_cq(cq->verbs, 1, &stash->wc[stash->count]) > 0)
		stash->count++;
}

/* What a QP left there is given back, unseen. */
static void drop_stashed(struct cq_object *cq, struct stash *stash, uint32_t qpn)
{
	struct bsn_completion unseen;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < stash->count; i++) {
		if (stash->wc[i].qp_num == qpn)
			reap(&cq->hot, &stash->wc[i], &unseen);
		else
			stash->wc[kept++] = stash->wc[i];
	}
	stash->count = kept;
}

/*
 * A QP goes: what it took from its SRQ is given back, other QPs' completions wait in the stash. The
 * QP goes to error first, so that it takes no more; that it may be in a state which does not allow
 * this, or the device be gone, changes nothing.
 */
static int qp_leave(struct qp_object *qp)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct stash *stash;

	if (!qp->srq)
		return 0;
	stash = grow_stash(qp->recv_cq);
	if (!stash)
		return fail(ENOMEM, "no memory");
	ibv_modify_qp(qp->verbs, &error, IBV_QP_STATE);
	fill_stash(qp->recv_cq, stash);
	drop_stashed(qp->recv_cq, stash, qp->verbs->qp_num);
	return 0;
}

static const struct bsn_cq_path cq_path = { .poll = poll_cq };

/* -- CQ ----------------------------------------------------------------------------------------- */

static int cq_make(struct cq_object *cq)
{
	/* What the inline code looks at; with these constants it always comes here. */
	static const uint8_t never_plain[BSN_CQE_SIZE];

	cq->hot.path = &cq_path;
	cq->hot.next = never_plain;
	cq->hot.empty_mask = 0;
	cq->hot.plain = BSN_CQ_NEVER_PLAIN;
	return 0;
}

static void cq_free(struct cq_object *cq)
{
	bsn_cq_fini(&cq->hot);
	free(cq->path_state);
}

/* -- receive queues ----------------------------------------------------------------------------- */

static void clear_rq(struct recv_queue *rq)
{
	for (uint32_t i = 0; i < rq->capacity; i++)
		rq->free[i] = i;
	rq->head = rq->tail = 0;
}

static void free_rq(struct bsn_rq *hot)
{
	if (!hot)
		return;
	free(recv_queue_of(hot)->ids);
	free(recv_queue_of(hot)->free);
	free(hot);
}

static struct recv_queue *alloc_rq(uint32_t capacity, uint32_t max_sge)
{
	struct recv_queue *rq = bsn_hot_alloc(sizeof(*rq));
	const uint32_t size = power_of_two(capacity);

	if (!rq)
		return NULL;
	rq->ids = calloc(size, sizeof(*rq->ids));
	rq->free = calloc(size, sizeof(*rq->free));
	if (!rq->ids || !rq->free) {
		free_rq(&rq->hot);
		return NULL;
	}
	rq->mask = size - 1;
	rq->capacity = capacity;
	rq->life = next_life();
	rq->hot.path = &rq_path;
	rq->hot.max_sge = (uint8_t)max_sge;
	clear_rq(rq);
	return rq;
}

static int make_rq(struct qp_object *qp)
{
	struct recv_queue *rq;

	if (qp->srq) {
		qp->rq = qp->srq->rq;
		return 0;
	}
	rq = alloc_rq(qp->limits.recv_depth, qp->limits.max_recv_sge);
	if (!rq)
		return fail(ENOMEM, "no memory");
	rq->qp = qp->verbs;
	rq->hot.user = qp->user;
	rq->hot.owner = qp;
	qp->rq = &rq->hot;
	return 0;
}

static int srq_make(struct srq_object *srq)
{
	struct recv_queue *rq = alloc_rq(srq->depth, srq->max_sge);

	if (!rq)
		return fail(ENOMEM, "no memory");
	rq->srq = srq->verbs;
	rq->hot.is_srq = 1;
	rq->hot.user = srq->user;
	rq->hot.owner = srq;
	srq->rq = &rq->hot;
	return 0;
}

static void srq_free(struct srq_object *srq)
{
	free_rq(srq->rq);
}

/* -- QP ----------------------------------------------------------------------------------------- */

static void free_sq(struct send_queue *sq)
{
	free(sq->ring);
	free(sq->sges);
	free(sq->inline_data);
	free(sq);
}

static struct send_queue *alloc_sq(const struct qp_object *qp)
{
	const uint32_t size = power_of_two(qp->limits.send_depth);
	struct send_queue *sq = bsn_hot_alloc(sizeof(*sq));

	if (!sq)
		return NULL;
	sq->mask = size - 1;
	sq->ring = calloc(size, sizeof(*sq->ring));
	/* One at least: inline data is one piece here, and an atomic has one. */
	sq->sges = calloc((size_t)size * (qp->limits.max_send_sge + !qp->limits.max_send_sge),
			  sizeof(*sq->sges));
	sq->inline_data = calloc(size, qp->limits.max_inline + 1);
	if (sq->ring && sq->sges && sq->inline_data)
		return sq;
	free_sq(sq);
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

static int make_sq(struct qp_object *qp, const struct bsn_qp_attr *attr)
{
	struct send_queue *sq = alloc_sq(qp);

	if (!sq)
		return fail(ENOMEM, "no memory");
	qp->sq = &sq->hot;
	sq->verbs = qp->verbs;
	/* An application's QP may have been made for some of the operations only. */
	sq->extended = qp->owns_verbs ? ibv_qp_to_qp_ex(qp->verbs) : NULL;
	sq->capacity = qp->limits.send_depth;
	sq->life = next_life();
	sq->signals_all = attr->signal_all;
	sq->invalidated = flags_of_invalidation(qp->device);
	sq->hot.path = &sq_path;
	sq->hot.user = qp->user;
	sq->hot.rq = qp->rq;
	sq->hot.qpn = qp->verbs->qp_num;
	sq->hot.max_inline = (uint16_t)qp->limits.max_inline;
	sq->hot.max_sge = (uint16_t)qp->limits.max_send_sge;
	sq->hot.max_ds =
		UINT8_MAX; /* the provider's own limits are those of SGEs and inline data */
	sq->hot.signal_every = bsn_sq_signal_every(sq->capacity, 1, attr->signal_every);
	sq->hot.transport = transport_of(qp->type);
	sq->hot.first_error = &qp->first_error;
	return 0;
}

/* What the transport can do and libibverbs has a word for. */
static uint64_t send_ops_of(enum ibv_qp_type type)
{
	const enum bsn_transport transport = type == IBV_QPT_RC   ? BSN_TRANSPORT_RC
					     : type == IBV_QPT_UC ? BSN_TRANSPORT_UC
								  : BSN_TRANSPORT_UD;
	uint64_t flags = 0;

	for (uint32_t opcode = 0; opcode < OPCODES; opcode++) {
		const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);
		if (find_verb(opcode) && op && op->transports & 1u << transport)
			flags |= find_verb(opcode)->create_flag;
	}
	return flags;
}

/*
 * For ibv_wr_* where it is libmlx5's, to which it is cheaper. Others get ibv_post_send(), the way on
 * which every provider was tried: rxe's sums a list up wrongly and wants IBV_SEND_INLINE besides
 * (rdma-core 44, providers/rxe/rxe.c).
 */
int verbs_qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr *init, struct ibv_qp **qp)
{
	struct ibv_qp_init_attr_ex extended = {
		.qp_context = init->qp_context,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap = init->cap,
		.qp_type = init->qp_type,
		.sq_sig_all = init->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = send_ops_of(init->qp_type),
	};
	struct ibv_qp *created = NULL;

	if (provider_is_mlx5(pd->context->device))
		created = ibv_create_qp_ex(pd->context, &extended);
	/* Without, if need be; if it was something else that displeased, that fails again. */
	if (!created) {
		errno = 0;
		created = ibv_create_qp(pd, init);
	}
	if (created)
		*qp = created;
	return provider_error_of_pointer(created);
}

static void qp_free(struct qp_object *qp)
{
	if (qp->sq) {
		unroute_qp(qp);
		free_sq(send_queue_of(qp->sq));
	}
	if (!qp->srq)
		free_rq(qp->rq);
}

static int qp_make(struct qp_object *qp, const struct bsn_qp_attr *attr)
{
	int err = make_rq(qp);

	if (!err)
		err = make_sq(qp, attr);
	if (!err)
		err = route_qp(qp);
	if (err)
		qp_free(qp);
	return err;
}

/* Not every provider takes a queue's old completions out of the CQ: they are of another life then. */
static void qp_clear(struct qp_object *qp)
{
	struct send_queue *sq = send_queue_of(qp->sq);

	sq->head = sq->rung = sq->quiet = 0;
	sq->done = 0;
	sq->life = next_life();
	if (!qp->srq) {
		clear_rq(recv_queue_of(qp->rq));
		recv_queue_of(qp->rq)->life = next_life();
	}
}

static int qp_outstanding(struct qp_object *qp, struct bsn_outstanding *outstanding)
{
	const struct recv_queue *rq = recv_queue_of(qp->rq);

	outstanding->sends_bb = outstanding_sends(send_queue_of(qp->sq));
	outstanding->recvs =
		qp->srq ? 0 : rq->head - __atomic_load_n(&rq->tail, __ATOMIC_ACQUIRE); /* O6 */
	return 0;
}

static int qp_failed(struct qp_object *qp)
{
	const int err = ring_appended(qp->sq);

	return err ? fail(-err, "the provider does not take requests in error: %s", strerror(-err))
		   : 0;
}

/* -- endpoints of a UD QP ----------------------------------------------------------------------- */

static int ep_make(struct bsn_ep *ep, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct peer *peer = malloc(sizeof(*peer));

	if (!peer)
		return fail(ENOMEM, "no memory");
	*peer = (struct peer){ .ah = ah, .qpn = qpn, .qkey = qkey };
	ep->prefix = peer;
	ep->prefix_ds = 0;
	ep->sq = &bsn_sq_detour;
	return 0;
}

static void ep_free(struct bsn_ep *ep)
{
	free((void *)(uintptr_t)ep->prefix);
}

const struct path_ops verbs_path = {
	.cq_make = cq_make,
	.cq_free = cq_free,
	.qp_make = qp_make,
	.qp_clear = qp_clear,
	.qp_free = qp_free,
	.srq_make = srq_make,
	.srq_free = srq_free,
	.qp_outstanding = qp_outstanding,
	.qp_leave = qp_leave,
	.qp_failed = qp_failed,
	.ep_make = ep_make,
	.ep_free = ep_free,
};
