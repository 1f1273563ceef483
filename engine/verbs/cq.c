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

/* Stands in where a QPN has no route: its queues have a life that no wr_id has. */
static struct send_queue no_sq = { .life = WR_LIFE & ~WR_RECV };
static struct recv_queue no_rq = { .life = WR_LIFE };
static struct bsn_route no_route = { .sq = &no_sq.hot, .rq = &no_rq.hot };

static __attribute__((noinline)) struct bsn_route *find_route(const struct bsn_cq *cq, uint32_t qpn)
{
	struct bsn_route *route = bsn_cq_find(cq, qpn);

	return route ? route : &no_route;
}

BSN_ALWAYS_INLINE struct bsn_route *route_of(const struct bsn_cq *cq, uint32_t qpn)
{
	const uint8_t shift = __atomic_load_n(&cq->hash_shift, __ATOMIC_ACQUIRE);
	struct bsn_route *route;

	return bsn_cq_route(cq, shift, qpn, &route) ? route : find_route(cq, qpn);
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

/* Only these bring bytes; for the others, whose numbers are lower, ibv_wc.byte_len is undefined. */
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

/* It, and with it everything before it, is done. Whether that is the user's to know. */
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
BSN_ALWAYS_INLINE void take_imm(const struct bsn_route *route, struct entry e, unsigned wc_flags,
				struct bsn_completion *c)
{
	if (wc_flags & IBV_WC_WITH_IMM) {
		c->flags = BSN_C_IMM;
		c->imm = ntohl(imm_data_of(e));
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
	const bool is_ud = route->transport == BSN_TRANSPORT_UD;
	uint32_t opcode = BSN_RECV;
	unsigned wc_flags;

	c->id = retire(recv_queue_of(route->rq), (uint32_t)wr_id_of(e));
	c->user = route->user;
	if (BSN_UNLIKELY(status_of(e)))
		return take_failure(route, e, BSN_RECV, c);
	if (!is_ud && opcode_of(e) == IBV_WC_RECV_RDMA_WITH_IMM)
		opcode = BSN_RECV_RDMA_WITH_IMM;
	wc_flags = wc_flags_of(e);
	bsn_cq_put_success(c, byte_len_of(e), 0);
	c->who = qpn | opcode << 24;
	if (wc_flags)
		take_imm(route, e, wc_flags, c);
	if (is_ud)
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
	} while (BSN_UNLIKELY(!reap_wc(cq, route_of(cq, wc.qp_num), &wc, c)));
	return 1;
}

static struct ibv_cq_ex *extended_of(const struct bsn_cq *cq)
{
	return (struct ibv_cq_ex *)(void *)cq_of((struct bsn_cq *)(uintptr_t)cq)->verbs;
}

static __attribute__((noinline)) int poll_one_extended(struct bsn_cq *cq, struct bsn_completion *c)
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
		ibv_end_poll(e.cq);
	} while (BSN_UNLIKELY(!got));
	return 1;
}

static __attribute__((noinline)) int poll_many(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	struct stash *stash = cq_of(cq)->path_state;
	struct bsn_completion *const end = c + n;
	struct bsn_completion *at = c;
	struct bsn_route *route = NULL;
	uint32_t qpn = UINT32_MAX; /* @route's; none has so many bits */
	struct ibv_wc wcs[POLL_BATCH];
	bool is_stashed;
	int want, count;

	do {
		want = end - at < POLL_BATCH ? (int)(end - at) : POLL_BATCH;
		is_stashed = BSN_UNLIKELY(stash) && stash->count;
		count = is_stashed ? take_stashed(stash, wcs, want)
				   : ibv_poll_cq(cq_of(cq)->verbs, want, wcs);
		for (const struct ibv_wc *wc = wcs; wc < wcs + count; wc++) {
			if (BSN_UNLIKELY(wc->qp_num != qpn)) {
				qpn = wc->qp_num;
				route = route_of(cq, qpn);
			}
			if (reap_wc(cq, route, wc, at))
				at++;
		}
	} while (BSN_UNLIKELY(at != end) && (is_stashed || count == want));
	if (at == c)
		return end_poll(cq, count);
	if (BSN_UNLIKELY(count < 0))
		bsn_cq_kill(cq, EIO); /* reported once what came is delivered */
	return (int)(at - c);
}

/* These only tell apart: one that is polled for needs few registers. */
static int poll_cq(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	if (n == 1 && !cq_of(cq)->path_state)
		return poll_one(cq, c);
	return poll_many(cq, c, n);
}

static int poll_extended(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	if (n == 1 && !cq_of(cq)->path_state)
		return poll_one_extended(cq, c);
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
			reap_wc(&cq->hot, route_of(&cq->hot, qpn), &stash->wc[i], &unseen);
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
static const struct bsn_cq_path extended_path = { .poll = poll_extended };

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
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_cq_ex *created = ibv_create_cq_ex(cq->device->context, &init);

	if (!created)
		return;
	cq->verbs = ibv_cq_ex_to_cq(created);
	cq->hot.path = &extended_path;
}

int verbs_cq_create(struct cq_object *cq, const struct bsn_cq_attr *attr)
{
	struct ibv_comp_channel *channel = cq->channel ? cq->channel->verbs : NULL;

	(void)attr; /* the size of a CQE is the provider's business */
	if (provider_is_mlx5(cq->device->context->device))
		create_extended(cq, channel);
	errno = 0;
	if (!cq->verbs)
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
	bsn_cq_init_path(&cq->hot, cq->hot.path ? cq->hot.path : &cq_path);
	return 0;
}

void verbs_cq_free(struct cq_object *cq)
{
	bsn_cq_fini(&cq->hot);
	free(cq->path_state);
}
