/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs path's completion queue: polls, and what outlives a QP that goes. */
#include "verbs.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "init.h"

#define POLL_BATCH 16

static struct bsn_route *route_of(const struct bsn_cq *cq, const struct ibv_wc *wc)
{
	const uint8_t shift = __atomic_load_n(&cq->hash_shift, __ATOMIC_ACQUIRE);
	struct bsn_route *route;

	return bsn_cq_route(cq, shift, wc->qp_num, &route) ? route : bsn_cq_find(cq, wc->qp_num);
}

/* @c has its id and user. */
static __attribute__((noinline)) int take_failure(struct bsn_route *route, const struct ibv_wc *wc,
						  uint8_t opcode, struct bsn_completion *c)
{
	const bool is_recv = wc->wr_id & WR_RECV;

	*c = (struct bsn_completion){ .id = c->id,
				      .user = c->user,
				      .status = (uint8_t)wc->status,
				      .syndrome = (uint8_t)bsn_syndrome_of_status(wc->status),
				      .vendor_syndrome = (uint8_t)wc->vendor_err,
				      .opcode = opcode,
				      .qpn = wc->qp_num,
				      .wqe_index = is_recv ? 0 : (uint16_t)wc->wr_id };
	bsn_route_keep_error(route, c);
	return 1;
}

/* -- sends --------------------------------------------------------------------------------------- */

/* Only these bring bytes; for the others, whose numbers are lower, ibv_wc.byte_len is undefined. */
BSN_ALWAYS_INLINE uint32_t bytes_read(uint8_t opcode, const struct ibv_wc *wc)
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

/* It, and with it everything before it, is done. How many completions that gives. */
BSN_ALWAYS_INLINE int take_send(struct bsn_route *route, const struct ibv_wc *wc,
				struct bsn_completion *c)
{
	struct send_queue *sq = send_queue_of(route->sq);
	const uint32_t number = (uint32_t)wc->wr_id;
	const struct kept kept = sq->kept[number & sq->mask];
	const uint8_t opcode = kept.what & 0xff;

	c->id = kept.id;
	c->user = route->has_peers ? sq->users[number & sq->mask] : route->user;
	__atomic_store_n(&sq->done, number + 1, __ATOMIC_RELEASE); /* O6: frees the request */
	if (BSN_UNLIKELY(wc->status))
		return kept.what & KEPT_MARKER ? 0 : take_failure(route, wc, opcode, c);
	bsn_cq_put_success(
		c, BSN_LIKELY(opcode < BSN_OPCODE_RDMA_READ) ? 0 : bytes_read(opcode, wc), 0);
	c->who = wc->qp_num | (uint32_t)opcode << 24;
	return kept.what & BSN_F_SIGNALED ? 1 : 0;
}

/* -- receives ------------------------------------------------------------------------------------ */

BSN_ALWAYS_INLINE uint64_t retire(struct recv_queue *rq, uint32_t slot)
{
	const uint64_t id = rq->ids[slot];
	uint32_t tail;

	if (BSN_LIKELY(!rq->srq)) {
		__atomic_store_n(&rq->tail, rq->tail + 1, __ATOMIC_RELEASE); /* O6 */
		return id;
	}
	tail = __atomic_fetch_add(&rq->tail, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&rq->free[(tail + rq->capacity) & rq->mask], slot,
			 __ATOMIC_RELEASE); /* O6 */
	return id;
}

/* What came beside the data. */
static void take_imm(const struct bsn_route *route, const struct ibv_wc *wc,
		     struct bsn_completion *c)
{
	if (wc->wc_flags & IBV_WC_WITH_IMM) {
		c->flags = BSN_C_IMM;
		c->imm = ntohl(wc->imm_data);
	} else if (wc->wc_flags & send_queue_of(route->sq)->invalidated) {
		c->flags = BSN_C_INVAL;
		c->imm = wc->invalidated_rkey;
	}
}

static void take_ud(const struct ibv_wc *wc, struct bsn_completion *c)
{
	c->src_qpn = wc->src_qp;
	c->slid = wc->slid;
	c->sl = wc->sl;
	c->dlid_path_bits = wc->dlid_path_bits;
	if (wc->wc_flags & IBV_WC_GRH)
		c->flags |= BSN_C_GRH;
}

BSN_ALWAYS_INLINE int take_recv(struct bsn_route *route, const struct ibv_wc *wc,
				struct bsn_completion *c)
{
	const uint32_t opcode =
		wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM ? BSN_RECV_RDMA_WITH_IMM : BSN_RECV;

	c->id = retire(recv_queue_of(route->rq), (uint32_t)wc->wr_id);
	c->user = route->user;
	if (BSN_UNLIKELY(wc->status))
		return take_failure(route, wc, BSN_RECV, c);
	bsn_cq_put_success(c, wc->byte_len, 0);
	c->who = wc->qp_num | opcode << 24;
	if (wc->wc_flags)
		take_imm(route, wc, c);
	if (route->transport == BSN_TRANSPORT_UD)
		take_ud(wc, c);
	return 1;
}

/* -- polling ------------------------------------------------------------------------------------- */

/* How many completions that gives. */
BSN_ALWAYS_INLINE int reap(struct bsn_cq *cq, struct bsn_route *route, const struct ibv_wc *wc,
			   struct bsn_completion *c)
{
	if (BSN_UNLIKELY(!route))
		goto drop;
	if (wc->wr_id & WR_RECV) {
		if (is_of_life(wc->wr_id, recv_queue_of(route->rq)->life))
			return take_recv(route, wc, c);
	} else if (is_of_life(wc->wr_id, send_queue_of(route->sq)->life)) {
		return take_send(route, wc, c);
	}
drop:
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

/* The queue is empty, or it cannot be read. */
static int end_poll(struct bsn_cq *cq, int count)
{
	if (BSN_UNLIKELY(count < 0))
		bsn_cq_kill(cq, EIO);
	return -(int)__atomic_load_n(&cq->dead, __ATOMIC_ACQUIRE);
}

static __attribute__((noinline)) int poll_one(struct bsn_cq *cq, struct bsn_completion *c)
{
	struct ibv_wc wc;
	int count;

	do {
		count = ibv_poll_cq(cq_of(cq)->verbs, 1, &wc);
		if (BSN_UNLIKELY(count <= 0))
			return end_poll(cq, count);
	} while (BSN_UNLIKELY(!reap(cq, route_of(cq, &wc), &wc, c)));
	return 1;
}

static __attribute__((noinline)) int poll_many(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	struct stash *stash = cq_of(cq)->path_state;
	struct bsn_completion *const end = c + n;
	struct bsn_completion *at = c;
	struct bsn_route *route = NULL;
	struct ibv_wc wc[POLL_BATCH];
	bool is_stashed;
	int want, count;

	do {
		want = end - at < POLL_BATCH ? (int)(end - at) : POLL_BATCH;
		is_stashed = BSN_UNLIKELY(stash) && stash->count;
		count = is_stashed ? take_stashed(stash, wc, want)
				   : ibv_poll_cq(cq_of(cq)->verbs, want, wc);
		for (int i = 0; i < count; i++) {
			if (!i || wc[i].qp_num != wc[i - 1].qp_num)
				route = route_of(cq, &wc[i]);
			at += reap(cq, route, &wc[i], at);
		}
	} while (BSN_UNLIKELY(at != end) && (is_stashed || count == want));
	if (at == c)
		return end_poll(cq, count);
	if (BSN_UNLIKELY(count < 0))
		bsn_cq_kill(cq, EIO); /* reported once what came is delivered */
	return (int)(at - c);
}

/* Only tells apart: one that is polled for needs few registers. */
static int poll_cq(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	if (n == 1 && !cq_of(cq)->path_state)
		return poll_one(cq, c);
	return poll_many(cq, c, n);
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
			reap(&cq->hot, route_of(&cq->hot, &stash->wc[i]), &stash->wc[i], &unseen);
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
static int leave_srq(struct bsn_qp *qp)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct stash *stash = grow_stash(qp->recv_cq);

	if (!stash)
		return fail(ENOMEM, "no memory");
	ibv_modify_qp(qp->verbs, &error, IBV_QP_STATE);
	fill_stash(qp->recv_cq, stash);
	drop_stashed(qp->recv_cq, stash, qp->verbs->qp_num);
	return 0;
}

int verbs_qp_leave(struct bsn_qp *qp)
{
	int err;

	qp->wants_marker = false;
	verbs_sq_cancel(send_queue_of(qp->sq));
	if (!qp->srq)
		return 0;
	cq_lock(qp->recv_cq);
	err = leave_srq(qp);
	cq_unlock(qp->recv_cq);
	return err;
}

static const struct bsn_cq_path cq_path = { .poll = poll_cq };

int verbs_cq_create(struct cq_object *cq, const struct bsn_cq_attr *attr)
{
	struct ibv_comp_channel *channel = cq->channel ? cq->channel->verbs : NULL;

	(void)attr; /* the size of a CQE is the provider's business */
	errno = 0;
	cq->verbs = ibv_create_cq(cq->device->context, (int)cq->entries, cq, channel, 0);
	return provider_error_of_pointer(cq->verbs);
}

/* What was consumed is the provider's to know: nothing of an idle one is of use. */
bool verbs_cq_is_known(const struct cq_object *cq)
{
	(void)cq;
	return false;
}

int verbs_cq_request(struct cq_object *cq, bool solicited_only)
{
	return provider_error_of_int(ibv_req_notify_cq(cq->verbs, solicited_only));
}

int verbs_cq_make(struct cq_object *cq)
{
	bsn_cq_init_path(&cq->hot, &cq_path);
	return 0;
}

void verbs_cq_free(struct cq_object *cq)
{
	bsn_cq_fini(&cq->hot);
	free(cq->path_state);
}
