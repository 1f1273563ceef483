/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs path's completion queue: polls, and what outlives a QP that goes. */
#include "verbs.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "init.h"

#define POLL_BATCH 16

/*
 * A completion: as ibv_poll_cq() copied it, or where the CQ tells piece by piece what is asked for.
 * Only inline functions take one, so that the compiler knows which.
 */
struct entry {
	const struct ibv_wc *wc;
	struct ibv_cq_ex *cq; /* where @wc is NULL */
};

#define FIELD(type, name)                                                                          \
	BSN_ALWAYS_INLINE type name##_of(struct entry e)                                           \
	{                                                                                          \
		return e.wc ? e.wc->name : ibv_wc_read_##name(e.cq);                               \
	}

FIELD(uint32_t, qp_num)
FIELD(enum ibv_wc_opcode, opcode)
FIELD(uint32_t, byte_len)
FIELD(unsigned, wc_flags)
FIELD(__be32, imm_data)
FIELD(uint32_t, invalidated_rkey)
FIELD(uint32_t, src_qp)
FIELD(uint32_t, slid)
FIELD(uint8_t, sl)
FIELD(uint8_t, dlid_path_bits)
FIELD(uint32_t, vendor_err)

BSN_ALWAYS_INLINE uint64_t wr_id_of(struct entry e)
{
	return e.wc ? e.wc->wr_id : e.cq->wr_id;
}

BSN_ALWAYS_INLINE enum ibv_wc_status status_of(struct entry e)
{
	return e.wc ? e.wc->status : e.cq->status;
}

/* The route of a QPN that has none: no wr_id has the life of its queues. */
static struct send_queue no_sq = { .life = WR_LIFE & ~WR_RECV };
static struct recv_queue no_rq = { .life = WR_LIFE };
static struct bsn_route no_route = { .sq = &no_sq.hot, .rq = &no_rq.hot };

static __attribute__((noinline)) struct bsn_route *find_route(const struct bsn_cq *cq, uint32_t qpn)
{
	struct bsn_route *route = bsn_cq_find(cq, qpn);

	if (!route)
		route = bsn_cq_find(cq, BSN_CQ_XRC);
	return route ? route : &no_route;
}

BSN_ALWAYS_INLINE struct bsn_route *route_of(const struct bsn_cq *cq, uint32_t qpn)
{
	const uint8_t shift = __atomic_load_n(&cq->hash_shift, __ATOMIC_ACQUIRE);
	struct bsn_route *route;

	return bsn_cq_route(cq, shift, bsn_cq_key(qpn), &route) ? route : find_route(cq, qpn);
}

/* @c has its id and user. */
static __attribute__((noinline)) bool take_failure(struct bsn_route *route, struct entry e,
						   uint8_t opcode, struct bsn_completion *c)
{
	const uint64_t wr_id = wr_id_of(e);

	*c = (struct bsn_completion){ .id = c->id,
				      .user = c->user,
				      .status = (uint8_t)status_of(e),
				      .syndrome = (uint8_t)bsn_syndrome_of_status(status_of(e)),
				      .vendor_syndrome = (uint8_t)vendor_err_of(e),
				      .opcode = opcode,
				      .qpn = qp_num_of(e) & 0xffffff,
				      .wqe_index = wr_id & WR_RECV ? 0 : (uint16_t)wr_id };
	bsn_route_keep_error(route, c);
	return true;
}

/* -- sends --------------------------------------------------------------------------------------- */

/* Only these bring bytes. For the other opcodes, whose numbers are lower, ibv_wc.byte_len is undefined. */
BSN_ALWAYS_INLINE uint32_t bytes_read(uint8_t opcode, struct entry e)
{
	switch (opcode) {
	case BSN_OPCODE_RDMA_READ:
		return byte_len_of(e);
	case BSN_OPCODE_ATOMIC_CS:
	case BSN_OPCODE_ATOMIC_FA:
		return 8;
	default:
		return 0;
	}
}

/* A send request and all before it are done. Returns whether the user is told. */
BSN_ALWAYS_INLINE bool take_send(struct bsn_route *route, uint32_t qpn, struct entry e,
				 struct bsn_completion *c)
{
	struct send_queue *sq = send_queue_of(route->sq);
	const uint32_t number = (uint32_t)wr_id_of(e);
	const struct kept kept = sq->kept[number & sq->mask];
	const uint8_t opcode = kept.what & 0xff;

	c->id = kept.id;
	c->user = BSN_UNLIKELY(route->has_peers) ? sq->users[number & sq->mask] : route->user;
	__atomic_store_n(&sq->done, number + 1, __ATOMIC_RELEASE); /* O6: frees the request */
	if (BSN_UNLIKELY(status_of(e)))
		return !(kept.what & KEPT_MARKER) && take_failure(route, e, opcode, c);
	bsn_cq_put_success(c, BSN_LIKELY(opcode < BSN_OPCODE_RDMA_READ) ? 0 : bytes_read(opcode, e),
			   0);
	c->who = qpn | (uint32_t)opcode << 24;
	return kept.what & BSN_F_SIGNALED;
}

/* -- receives ------------------------------------------------------------------------------------ */

BSN_ALWAYS_INLINE uint64_t retire_shared(struct recv_queue *rq, struct srq_slot *slot)
{
	const uint64_t id = slot->id;
	const uint32_t tail = __atomic_fetch_add(&rq->tail, 1, __ATOMIC_RELAXED);

	__atomic_store_n(&rq->free[(tail + rq->capacity) & rq->mask], slot, __ATOMIC_RELEASE); /* O6 */
	return id;
}

BSN_ALWAYS_INLINE uint64_t retire(struct recv_queue *rq, uint32_t slot)
{
	uint64_t id;

	if (BSN_UNLIKELY(rq->srq))
		return retire_shared(rq, &rq->slots[slot]);
	id = rq->ids[slot];
	__atomic_store_n(&rq->tail, rq->tail + 1, __ATOMIC_RELEASE); /* O6 */
	return id;
}

/* Takes what came beside the data; a WRITE that is received has an immediate. */
BSN_ALWAYS_INLINE void take_beside(const struct bsn_route *route, struct entry e, unsigned wc_flags,
				   uint32_t qpn, struct bsn_completion *c)
{
	if (wc_flags & IBV_WC_WITH_IMM) {
		c->flags = BSN_C_IMM;
		c->imm = ntohl(imm_data_of(e));
		if (opcode_of(e) == IBV_WC_RECV_RDMA_WITH_IMM)
			c->who = qpn | (uint32_t)BSN_RECV_RDMA_WITH_IMM << 24;
	} else if (wc_flags & send_queue_of(route->sq)->invalidated) {
		c->flags = BSN_C_INVAL;
		c->imm = invalidated_rkey_of(e);
	}
}

BSN_ALWAYS_INLINE void take_ud(struct entry e, unsigned wc_flags, struct bsn_completion *c)
{
	c->src_qpn = src_qp_of(e);
	c->slid = (uint16_t)slid_of(e);
	c->sl = sl_of(e);
	c->dlid_path_bits = dlid_path_bits_of(e);
	if (wc_flags & IBV_WC_GRH)
		c->flags |= BSN_C_GRH;
}

BSN_ALWAYS_INLINE bool take_recv(struct bsn_route *route, uint32_t qpn, struct entry e,
				 struct bsn_completion *c)
{
	unsigned wc_flags;

	c->id = retire(recv_queue_of(route->rq), (uint32_t)wr_id_of(e));
	c->user = route->user;
	if (BSN_UNLIKELY(status_of(e)))
		return take_failure(route, e, BSN_RECV, c);
	c->who = qpn | (uint32_t)BSN_RECV << 24;
	bsn_cq_put_success(c, byte_len_of(e), 0);
	wc_flags = wc_flags_of(e);
	if (wc_flags)
		take_beside(route, e, wc_flags, qpn, c);
	if (route->transport == BSN_TRANSPORT_UD)
		take_ud(e, wc_flags, c);
	return true;
}

/* -- polling ------------------------------------------------------------------------------------- */

/* Whether that is a completion of the user's. */
BSN_ALWAYS_INLINE bool reap(struct bsn_cq *cq, struct bsn_route *route, uint32_t qpn, struct entry e,
			    struct bsn_completion *c)
{
	if (wr_id_of(e) & WR_RECV) {
		if (BSN_LIKELY(is_of_life(wr_id_of(e), recv_queue_of(route->rq)->life)))
			return take_recv(route, qpn, e, c);
	} else if (BSN_LIKELY(is_of_life(wr_id_of(e), send_queue_of(route->sq)->life))) {
		return take_send(route, qpn, e, c);
	}
	cq->count_dropped++;
	return false;
}

BSN_ALWAYS_INLINE bool reap_wc(struct bsn_cq *cq, struct bsn_route *route, const struct ibv_wc *wc,
			       struct bsn_completion *c)
{
	return reap(cq, route, wc->qp_num, (struct entry){ .wc = wc }, c);
}

/*
 * The stash: completions that were taken out of the CQ early. When a QP goes, the provider throws its
 * completions away, and nothing would tell what it took from an SRQ.
 */
struct stash {
	const struct bsn_cq_path *usual; /* the CQ's, once nothing is left here */
	uint32_t first, count, room;
	struct ibv_wc wc[];
};

/* The CQ's poll functions; a CQ with a front keeps them there. */
static const struct bsn_cq_path **poller_of(struct cq_object *cq)
{
	return cq->has_front ? &cq->unlocked : &cq->hot.path;
}

static int poll_stashed(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	struct stash *stash = cq_of(cq)->path_state;
	int got = 0, more;

	for (; stash->count && got < n; stash->count--) {
		const struct ibv_wc *wc = &stash->wc[stash->first++];
		got += reap_wc(cq, route_of(cq, wc->qp_num), wc, &c[got]);
	}
	if (!stash->count)
		*poller_of(cq_of(cq)) = stash->usual;
	if (got == n)
		return got;
	more = stash->usual->poll(cq, c + got, n - got);
	return more > 0 ? got + more : got ? got : more;
}

static int poll_one_stashed(struct bsn_cq *cq, struct bsn_completion *c)
{
	return poll_stashed(cq, c, 1);
}

static const struct bsn_cq_path stashed_path = { .poll = poll_stashed, .poll_one = poll_one_stashed };

/* The queue is empty, or it cannot be read. */
static int end_poll(struct bsn_cq *cq, int count)
{
	if (BSN_UNLIKELY(count < 0))
		bsn_cq_kill(cq, EIO);
	return BSN_LIKELY(!__atomic_load_n(&cq->dead, __ATOMIC_ACQUIRE)) ? 0 : bsn_cq_end_poll(cq);
}

static __attribute__((noinline)) int poll_one(struct bsn_cq *cq, struct bsn_completion *c)
{
	struct ibv_wc wc;
	int count;

	do {
		count = ibv_poll_cq(cq_of(cq)->verbs, 1, &wc);
		if (BSN_UNLIKELY(count <= 0))
			return end_poll(cq, count);
	} while (BSN_UNLIKELY(!reap_wc(cq, route_of(cq, wc.qp_num), &wc, c)));
	return 1;
}

static struct ibv_cq_ex *extended_of(const struct bsn_cq *cq)
{
	return (struct ibv_cq_ex *)(void *)cq_of((struct bsn_cq *)(uintptr_t)cq)->verbs;
}

/* libmlx5 hands a stamp of the real-time clock on as the CQE has it. */
static uint64_t stamp_of(struct bsn_cq *cq, struct entry e)
{
	switch (cq_of(cq)->timestamps) {
	case BSN_TIMESTAMPS_RAW:
		return ibv_wc_read_completion_ts(e.cq);
	case BSN_TIMESTAMPS_REAL_TIME:
		return provider_ns_of_real_time(ibv_wc_read_completion_wallclock_ns(e.cq));
	default:
		return ibv_wc_read_completion_wallclock_ns(e.cq);
	}
}

static int poll_next_stamped(struct bsn_cq *cq, struct bsn_completion *c)
{
	const struct entry e = { .cq = extended_of(cq) };
	struct ibv_poll_cq_attr attr = { 0 };
	uint32_t qpn;
	bool got;

	do {
		const int err = ibv_start_poll(e.cq, &attr);
		if (err)
			return end_poll(cq, err == ENOENT ? 0 : -1);
		qpn = qp_num_of(e);
		got = reap(cq, route_of(cq, qpn), qpn, e, c);
		if (got)
			c->timestamp = c->status ? 0 : stamp_of(cq, e);
		ibv_end_poll(e.cq);
	} while (BSN_UNLIKELY(!got));
	return 1;
}

static __attribute__((noinline)) int poll_many(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	struct bsn_completion *const end = c + n;
	struct bsn_completion *at = c;
	struct bsn_route *route = NULL;
	uint32_t qpn = UINT32_MAX; /* @route's; none has so many bits */
	struct ibv_wc wcs[POLL_BATCH];
	int want, count;

	do {
		want = end - at < POLL_BATCH ? (int)(end - at) : POLL_BATCH;
		count = ibv_poll_cq(cq_of(cq)->verbs, want, wcs);
		for (const struct ibv_wc *wc = wcs; wc < wcs + count; wc++) {
			if (BSN_UNLIKELY(wc->qp_num != qpn)) {
				qpn = wc->qp_num;
				route = route_of(cq, qpn);
			}
			if (reap_wc(cq, route, wc, at))
				at++;
		}
	} while (BSN_UNLIKELY(at != end) && count == want);
	if (at == c)
		return end_poll(cq, count);
	if (BSN_UNLIKELY(count < 0))
		bsn_cq_kill(cq, EIO); /* reported once what came is delivered */
	return (int)(at - c);
}

static int poll_cq(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	return n == 1 ? poll_one(cq, c) : poll_many(cq, c, n);
}

/* -- one by libmlx5's ibv_start_poll() ------------------------------------------------------------ */

/*
 * What is to be filled is in memory meanwhile, so that the queue alone stays in a register across the
 * provider's calls: most of them come for nothing, or for one plain completion.
 */
static int poll_one_extended(struct bsn_cq *cq, struct bsn_completion *c);

/* The completion of a poll that was started; @route: NULL: it has to be looked for. */
static __attribute__((noinline)) int end_any(struct bsn_cq *cq, struct bsn_route *route, uint32_t qpn)
{
	struct bsn_completion *const c = cq_of(cq)->held;
	const struct entry e = { .cq = extended_of(cq) };
	const bool got = reap(cq, route ? route : find_route(cq, qpn), qpn, e, c);

	ibv_end_poll(e.cq);
	return BSN_LIKELY(got) ? 1 : poll_one_extended(cq, c);
}

static __attribute__((noinline)) void take_flags(struct bsn_cq *cq, const struct bsn_route *route,
						 unsigned wc_flags)
{
	struct bsn_completion *const c = cq_of(cq)->held;

	take_beside(route, (struct entry){ .cq = extended_of(cq) }, wc_flags, c->who & 0xffffff, c);
	if (route->transport == BSN_TRANSPORT_UD && wc_flags & IBV_WC_GRH)
		c->flags |= BSN_C_GRH;
}

static __attribute__((noinline)) int end_recv(struct bsn_cq *cq, struct bsn_route *route, uint32_t qpn)
{
	struct recv_queue *rq = recv_queue_of(route->rq);
	struct bsn_completion *c = cq_of(cq)->held;
	const uint64_t wr_id = extended_of(cq)->wr_id;
	unsigned wc_flags;
	uint32_t bytes;

	if (BSN_UNLIKELY(!is_of_life(wr_id, rq->life) || extended_of(cq)->status))
		return end_any(cq, route, qpn);
	bsn_cq_put_whose(c, retire(rq, (uint32_t)wr_id), route->user);
	c->who = qpn | (uint32_t)BSN_RECV << 24;
	bytes = ibv_wc_read_byte_len(extended_of(cq));
	bsn_cq_put_success(cq_of(cq)->held, bytes, 0);
	wc_flags = ibv_wc_read_wc_flags(extended_of(cq));
	if (wc_flags)
		take_flags(cq, route, wc_flags);
	if (route->transport == BSN_TRANSPORT_UD) {
		uint32_t value = ibv_wc_read_src_qp(extended_of(cq));
		cq_of(cq)->held->src_qpn = value;
		value = ibv_wc_read_slid(extended_of(cq));
		cq_of(cq)->held->slid = (uint16_t)value;
		value = ibv_wc_read_sl(extended_of(cq));
		cq_of(cq)->held->sl = (uint8_t)value;
		value = ibv_wc_read_dlid_path_bits(extended_of(cq));
		cq_of(cq)->held->dlid_path_bits = (uint8_t)value;
	}
	ibv_end_poll(extended_of(cq));
	return 1;
}

static __attribute__((noinline)) int poll_past_hidden(struct bsn_cq *cq)
{
	ibv_end_poll(extended_of(cq));
	return poll_one_extended(cq, cq_of(cq)->held);
}

/* A send's, which brought nothing; all others have functions of their own. */
static int poll_one_extended(struct bsn_cq *cq, struct bsn_completion *c)
{
	static struct ibv_poll_cq_attr nothing_special; /* is only read */
	struct bsn_route *route;
	struct send_queue *sq;
	struct kept kept;
	uint64_t wr_id;
	uint32_t qpn;
	uint8_t shift;
	int err;

	cq_of(cq)->held = c;
	err = ibv_start_poll(extended_of(cq), &nothing_special);
	if (err == ENOENT)
		return end_poll(cq, 0);
	if (BSN_UNLIKELY(err))
		return end_poll(cq, -1);
	qpn = ibv_wc_read_qp_num(extended_of(cq));
	shift = __atomic_load_n(&cq->hash_shift, __ATOMIC_ACQUIRE);
	if (BSN_UNLIKELY(!bsn_cq_route(cq, shift, bsn_cq_key(qpn), &route)))
		return end_any(cq, NULL, qpn);
	wr_id = extended_of(cq)->wr_id;
	if (wr_id & WR_RECV)
		return end_recv(cq, route, qpn);
	sq = send_queue_of(route->sq);
	kept = sq->kept[wr_id & sq->mask];
	if (BSN_UNLIKELY(!is_of_life(wr_id, sq->life) || extended_of(cq)->status ||
			 (kept.what & 0xff) >= BSN_OPCODE_RDMA_READ))
		return end_any(cq, route, qpn);
	c = cq_of(cq)->held;
	bsn_cq_put_whose(c, kept.id, route->has_peers ? sq->users[wr_id & sq->mask] : route->user);
	__atomic_store_n(&sq->done, (uint32_t)wr_id + 1, __ATOMIC_RELEASE); /* O6: frees the request */
	bsn_cq_put_success(c, 0, 0);
	c->who = qpn | kept.what << 24;
	if (BSN_UNLIKELY(!(kept.what & BSN_F_SIGNALED)))
		return poll_past_hidden(cq);
	ibv_end_poll(extended_of(cq));
	return 1;
}

static int poll_extended(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	return n == 1 ? poll_one_extended(cq, c) : poll_many(cq, c, n);
}

/* Those that were stashed have no stamp: ibv_poll_cq() took them out. */
static int poll_unstamped(struct bsn_cq *cq, struct bsn_completion *c, int n, uint32_t stashed)
{
	const int got = poll_many(cq, c, (uint32_t)n < stashed ? n : (int)stashed);

	for (int i = 0; i < got; i++)
		c[i].timestamp = 0;
	return got;
}

static int poll_stamped(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	const struct stash *stash = cq_of(cq)->path_state;
	int got = 0, one = 0;

	if (stash && stash->count)
		return poll_unstamped(cq, c, n, stash->count);
	while (got < n) {
		one = poll_next_stamped(cq, &c[got]);
		if (one <= 0)
			break;
		got++;
	}
	return got ? got : one;
}

/* Makes room for a whole CQ more; what was in the stash stays first. */
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
	stash->usual = old ? old->usual : *poller_of(cq);
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

/* Once the stash has all that it is to hold. */
static void poll_stash_first(struct cq_object *cq, const struct stash *stash)
{
	*poller_of(cq) = stash->count ? &stashed_path : stash->usual;
}

/* Gives back what a QP left there, unseen. */
static void drop_stashed(struct cq_object *cq, struct stash *stash, uint32_t qpn)
{
	struct bsn_completion unseen;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < stash->count; i++) {
		if (stash->wc[i].qp_num == qpn)
			reap_wc(&cq->hot, route_of(&cq->hot, qpn), &stash->wc[i], &unseen);
		else
			stash->wc[kept++] = stash->wc[i];
	}
	stash->count = kept;
	poll_stash_first(cq, stash);
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

int verbs_recvs_move(struct bsn_qp *qp, uint32_t number)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct stash *stash;

	cq_lock(qp->recv_cq);
	stash = grow_stash(qp->recv_cq);
	if (stash) {
		ibv_modify_qp(qp->verbs, &error, IBV_QP_STATE);
		fill_stash(qp->recv_cq, stash);
		for (uint32_t i = 0; i < stash->count; i++)
			if (stash->wc[i].qp_num == qp->verbs->qp_num)
				stash->wc[i].qp_num = number;
		poll_stash_first(qp->recv_cq, stash);
	}
	cq_unlock(qp->recv_cq);
	return stash ? 0 : fail(ENOMEM, "no memory");
}

void verbs_recvs_drop(struct cq_object *cq, uint32_t number)
{
	cq_lock(cq);
	if (cq->path_state)
		drop_stashed(cq, cq->path_state, number);
	cq_unlock(cq);
}

/* libmlx5 cannot read CQEs of an SRQ that is gone, nor what comes after them. */
int verbs_srq_leave(struct srq_object *srq)
{
	struct stash *stash;

	cq_lock(srq->cq);
	stash = grow_stash(srq->cq);
	if (stash) {
		fill_stash(srq->cq, stash);
		poll_stash_first(srq->cq, stash);
	}
	cq_unlock(srq->cq);
	return stash ? 0 : fail(ENOMEM, "no memory");
}

static int poll_one_stamped(struct bsn_cq *cq, struct bsn_completion *c)
{
	return poll_stamped(cq, c, 1);
}

static const struct bsn_cq_path cq_path = { .poll = poll_cq, .poll_one = poll_one };
static const struct bsn_cq_path extended_path = { .poll = poll_extended,
						  .poll_one = poll_one_extended };
static const struct bsn_cq_path stamped_path = { .poll = poll_stamped, .poll_one = poll_one_stamped };

/* Of both, libmlx5 makes the free-running clock's ticks nanoseconds; of the second alone, it may have another. */
static uint64_t flags_of(enum bsn_timestamps timestamps)
{
	static const uint64_t flags[] = {
		[BSN_TIMESTAMPS_RAW] = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
		[BSN_TIMESTAMPS_NS] = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
		[BSN_TIMESTAMPS_REAL_TIME] = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};

	return flags[timestamps];
}

/*
 * For ibv_start_poll() where it is libmlx5's, to which one completion, or none, is cheaper; it takes no
 * lock, since one thread polls the CQ and makes and destroys its QPs. For many, ibv_poll_cq() is.
 */
static void create_extended(struct cq_object *cq, struct ibv_comp_channel *channel)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = cq->entries,
		.cq_context = cq,
		.channel = channel,
		.wc_flags = IBV_WC_STANDARD_FLAGS | flags_of(cq->timestamps),
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_cq_ex *created = ibv_create_cq_ex(cq->device->context, &init);

	if (!created)
		return;
	cq->verbs = ibv_cq_ex_to_cq(created);
	cq->hot.path = cq->timestamps ? &stamped_path : &extended_path;
}

int verbs_cq_create(struct cq_object *cq, const struct bsn_cq_attr *attr)
{
	struct ibv_comp_channel *channel = cq->channel ? cq->channel->verbs : NULL;

	(void)attr; /* the size of a CQE is the provider's business */
	if (provider_is_mlx5(cq->device->context->device) || cq->timestamps)
		create_extended(cq, channel);
	if (!cq->verbs && cq->timestamps)
		return -EOPNOTSUPP;
	errno = 0;
	if (!cq->verbs)
		cq->verbs = ibv_create_cq(cq->device->context, (int)cq->entries, cq, channel, 0);
	return provider_error_of_pointer(cq->verbs);
}

/* Only the provider knows what was polled, so nothing of an idle CQ is of use. */
bool verbs_cq_is_known(const struct cq_object *cq)
{
	(void)cq;
	return false;
}

int verbs_cq_resize(struct cq_object *cq, uint32_t entries)
{
	return provider_error_of_int(ibv_resize_cq(cq->verbs, (int)entries));
}

int verbs_cq_request(struct cq_object *cq, bool solicited_only)
{
	return provider_error_of_int(ibv_req_notify_cq(cq->verbs, solicited_only));
}

int verbs_cq_make(struct cq_object *cq)
{
	bsn_cq_init_path(&cq->hot, cq->hot.path ? cq->hot.path : &cq_path);
	return 0;
}

void verbs_cq_free(struct cq_object *cq)
{
	bsn_cq_fini(&cq->hot);
	free(cq->path_state);
}
