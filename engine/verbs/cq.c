/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs path's completion queue: its poll, and completions that outlive a destroyed QP. */
#include "verbs.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "init.h"
#include "reap.h"

enum { POLL_BATCH = 16 };

/* @c: id and user are filled in */
static bool take_failure(struct bsn_route *route, const struct ibv_wc *wc, uint8_t opcode,
			 struct bsn_completion *c)
{
	*c = (struct bsn_completion){ .id = c->id,
				      .user = c->user,
				      .status = (uint8_t)wc->status,
				      .syndrome = (uint8_t)bsn_syndrome_of_status(wc->status),
				      .vendor_syndrome = (uint8_t)wc->vendor_err,
				      .opcode = opcode,
				      .qpn = wc->qp_num & 0xffffff,
				      .wqe_index = wc->wr_id & WR_RECV ? 0 : (uint16_t)wc->wr_id };
	bsn_route_keep_error(route, c);
	return true;
}

static void put_success(struct bsn_completion *c, const struct ibv_wc *wc, uint8_t opcode,
			uint32_t bytes)
{
	bsn_cq_put_success(c, bytes, 0);
	c->who = wc->qp_num | (uint32_t)opcode << 24;
}

/* -- sends ----------------------------------------------------------------------------------- */

/* Bytes that the request read. ibv_wc.byte_len is undefined for requests that read none. */
static uint32_t bytes_read(uint8_t opcode, const struct ibv_wc *wc)
{
	if (BSN_LIKELY(opcode < BSN_OPCODE_RDMA_READ))
		return 0;
	return opcode == BSN_OPCODE_RDMA_READ ? wc->byte_len : 8;
}

/* Retires a request and all before it. Returns whether the user is told. */
BSN_ALWAYS_INLINE bool take_send(struct bsn_route *route, const struct ibv_wc *wc,
				 struct bsn_completion *c)
{
	struct send_queue *sq = send_queue_of(dv_route(route)->sq);
	const uint32_t number = (uint32_t)wc->wr_id;
	const struct kept kept = sq->kept[number & sq->mask];
	const uint8_t opcode = kept.what & 0xff;

	c->id = kept.id;
	c->user = kept.user;
	if (BSN_UNLIKELY(sq->dv.ring))
		__atomic_store_n(&sq->dv.route.hot.done, (uint16_t)number, __ATOMIC_RELEASE);
	__atomic_store_n(&sq->done, number + 1, __ATOMIC_RELEASE); /* O6: frees the request */
	if (BSN_UNLIKELY(wc->status))
		return !(kept.what & KEPT_MARKER) && take_failure(route, wc, opcode, c) &&
		       bsn_sq_tell_owner(dv_route(route)->sq, c);
	put_success(c, wc, opcode, bytes_read(opcode, wc));
	return (kept.what & (BSN_F_SIGNALED | KEPT_MARKER)) == BSN_F_SIGNALED;
}

/* -- receives -------------------------------------------------------------------------------- */

/* Gives the slot back. Pollers of several CQs may do so at the same time for an SRQ. */
static uint64_t retire(struct recv_queue *rq, uint32_t slot)
{
	const uint64_t id = rq->ids[slot];
	uint32_t tail;

	if (rq->srq) {
		tail = __atomic_fetch_add(&rq->tail, 1, __ATOMIC_RELAXED);
	} else {
		tail = rq->tail;
		__atomic_store_n(&rq->tail, tail + 1, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&rq->free[(tail + rq->capacity) & rq->mask], slot,
			 __ATOMIC_RELEASE); /* O6 */
	return id;
}

/*
 * Flags that say that the peer's SEND invalidated a key. rxe sets the kernel's flag (Linux 6.1,
 * drivers/infiniband/sw/rxe/rxe_resp.c), and its provider copies it: in libibverbs that bit is
 * IBV_WC_IP_CSUM_OK, which rxe never means.
 */
static unsigned invalidated(const struct bsn_device *device)
{
	enum { RXE_VENDOR_ID = 0xffffff }; /* drivers/infiniband/sw/rxe/rxe_param.h */

	return device->limits.vendor_id == RXE_VENDOR_ID ? IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK
							 : IBV_WC_WITH_INV;
}

/* Takes the immediate, the invalidated key and the source; a received WRITE has an immediate. */
static void take_beside(const struct bsn_device *device, const struct ibv_wc *wc,
			struct bsn_completion *c)
{
	if (wc->wc_flags & IBV_WC_WITH_IMM) {
		c->flags = BSN_C_IMM;
		c->imm = ntohl(wc->imm_data);
		if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
			c->opcode = BSN_RECV_RDMA_WITH_IMM;
	} else if (wc->wc_flags & invalidated(device)) {
		c->flags = BSN_C_INVAL;
		c->imm = wc->invalidated_rkey;
	}
}

static void take_ud(const struct ibv_wc *wc, struct bsn_completion *c)
{
	c->src_qpn = wc->src_qp;
	c->slid = (uint16_t)wc->slid;
	c->sl = wc->sl;
	c->dlid_path_bits = wc->dlid_path_bits;
	if (wc->wc_flags & IBV_WC_GRH)
		c->flags |= BSN_C_GRH;
}

static bool take_recv(const struct cq_object *cq, struct bsn_route *route, const struct ibv_wc *wc,
		      struct bsn_completion *c)
{
	c->id = retire(recv_queue_of(route->rq), (uint32_t)wc->wr_id);
	c->user = route->user;
	if (BSN_UNLIKELY(wc->status))
		return take_failure(route, wc, BSN_RECV, c);
	put_success(c, wc, BSN_RECV, wc->byte_len);
	if (wc->wc_flags)
		take_beside(cq->device, wc, c);
	if (dv_route(route)->transport == BSN_TRANSPORT_UD)
		take_ud(wc, c);
	return true;
}

/* -- polling --------------------------------------------------------------------------------- */

static struct bsn_route *find_route(const struct bsn_cq *cq, uint32_t qpn)
{
	struct bsn_route *route = bsn_cq_find(cq, qpn);

	return route ? route : bsn_cq_find(cq, BSN_CQ_XRC);
}

/* NULL: the queue is gone. */
BSN_ALWAYS_INLINE struct bsn_route *route_of(const struct cq_object *cq, const struct ibv_wc *wc)
{
	struct bsn_route *route;

	return bsn_cq_route(&cq->dv.hot, bsn_cq_shift(&cq->dv.hot), bsn_cq_key(wc->qp_num), &route)
		       ? route
		       : find_route(&cq->dv.hot, wc->qp_num);
}

/*
 * Returns whether the user is told. The completion is dropped if its queue is gone, or was reset
 * after the request was posted.
 */
BSN_ALWAYS_INLINE bool reap(struct cq_object *cq, struct bsn_route *route, const struct ibv_wc *wc,
			    struct bsn_completion *c)
{
	if (BSN_LIKELY(route) && wc->wr_id & WR_RECV) {
		if (BSN_LIKELY(is_of_life(wc->wr_id, recv_queue_of(route->rq)->life)))
			return take_recv(cq, route, wc, c);
	} else if (BSN_LIKELY(route && dv_route(route)->sq &&
			      is_of_life(wc->wr_id, send_queue_of(dv_route(route)->sq)->life))) {
		return take_send(route, wc, c);
	}
	cq->dv.count_dropped++;
	return false;
}

/*
 * The stash: completions that were taken out of the CQ before a QP was destroyed. The provider
 * drops a destroyed QP's completions, and nothing else tells which receives it took from an SRQ.
 */
struct stash {
	uint32_t first, count, room;
	struct ibv_wc wc[];
};

static bool has_stash(const struct cq_object *cq)
{
	const struct stash *stash = cq->path_state;

	return BSN_UNLIKELY(stash) && stash->count;
}

static int take_stashed(struct cq_object *cq, int n, struct ibv_wc *wc)
{
	struct stash *stash = cq->path_state;
	int got = 0, more;

	for (; stash->count && got < n; stash->count--)
		wc[got++] = stash->wc[stash->first++];
	more = ibv_poll_cq(cq->verbs, n - got, wc + got);
	return got && more < 0 ? got : got + more;
}

/* Takes up to @n completions. Returns how many; < 0: the CQ cannot be read. */
BSN_ALWAYS_INLINE int take(struct cq_object *cq, int n, struct ibv_wc *wc)
{
	return has_stash(cq) ? take_stashed(cq, n, wc) : ibv_poll_cq(cq->verbs, n, wc);
}

/*
 * What a poll returns. @got: completions for the user; @count: what the last read of the CQ
 * returned
 */
static int end_poll(struct bsn_cq *cq, int got, int count)
{
	if (BSN_UNLIKELY(count < 0))
		bsn_cq_kill(cq, EIO);
	return got ? got : bsn_cq_end_poll(cq);
}

static int poll_one(struct bsn_cq *hot, struct bsn_completion *c)
{
	struct cq_object *cq = cq_of(hot);
	struct ibv_wc wc;
	int count;

	do {
		count = take(cq, 1, &wc);
		if (count <= 0)
			return end_poll(hot, 0, count);
	} while (BSN_UNLIKELY(!reap(cq, route_of(cq, &wc), &wc, c)));
	return 1;
}

static int poll_many(struct bsn_cq *hot, struct bsn_completion *c, int n)
{
	struct cq_object *cq = cq_of(hot);
	struct bsn_route *route = NULL;
	struct ibv_wc wc[POLL_BATCH];
	int got = 0, want, count;

	do {
		want = n - got < POLL_BATCH ? n - got : POLL_BATCH;
		count = take(cq, want, wc);
		for (int i = 0; i < count; i++) {
			if (!i || wc[i].qp_num != wc[i - 1].qp_num)
				route = route_of(cq, &wc[i]);
			got += reap(cq, route, &wc[i], &c[got]);
		}
	} while (count == want && got < n);
	return end_poll(hot, got, count);
}

/* Most polls ask for one completion and find none, so that case needs no array. */
static int poll(struct bsn_cq *hot, struct bsn_completion *c, int n)
{
	return n == 1 ? poll_one(hot, c) : poll_many(hot, c, n);
}

/* -- with timestamps ------------------------------------------------------------------------- */

static struct ibv_cq_ex *extended_of(const struct cq_object *cq)
{
	return (struct ibv_cq_ex *)(void *)cq->verbs;
}

/* The stamp in nanoseconds: libmlx5 returns one of the real-time clock as the CQE has it. */
static uint64_t stamp_of(const struct cq_object *cq)
{
	switch (cq->timestamps) {
	case BSN_TIMESTAMPS_RAW:
		return ibv_wc_read_completion_ts(extended_of(cq));
	case BSN_TIMESTAMPS_REAL_TIME:
		return provider_ns_of_real_time(
			ibv_wc_read_completion_wallclock_ns(extended_of(cq)));
	default:
		return ibv_wc_read_completion_wallclock_ns(extended_of(cq));
	}
}

static void read_source(struct ibv_cq_ex *cq, struct ibv_wc *wc)
{
	wc->src_qp = ibv_wc_read_src_qp(cq);
	wc->slid = (uint16_t)ibv_wc_read_slid(cq);
	wc->sl = ibv_wc_read_sl(cq);
	wc->dlid_path_bits = ibv_wc_read_dlid_path_bits(cq);
}

static void read_beside(struct ibv_cq_ex *cq, struct ibv_wc *wc)
{
	wc->wc_flags = ibv_wc_read_wc_flags(cq);
	if (wc->wc_flags & IBV_WC_WITH_IMM) {
		wc->opcode = ibv_wc_read_opcode(cq);
		wc->imm_data = ibv_wc_read_imm_data(cq);
	} else if (wc->wc_flags & IBV_WC_WITH_INV) {
		wc->invalidated_rkey = ibv_wc_read_invalidated_rkey(cq);
	}
}

/* Each field costs a call, so only fields are read that take_send() or take_recv() use. */
static void read_success(struct ibv_cq_ex *cq, const struct bsn_route *route, struct ibv_wc *wc)
{
	wc->byte_len = ibv_wc_read_byte_len(cq);
	if (!(wc->wr_id & WR_RECV))
		return;
	read_beside(cq, wc);
	if (route && dv_route(route)->transport == BSN_TRANSPORT_UD)
		read_source(cq, wc);
}

/*
 * Takes a completion with its stamp. A failed request has none, nor has one from the stash, since
 * ibv_poll_cq() gives none.
 */
static int take_stamped(struct cq_object *cq, struct ibv_wc *wc, struct bsn_route **route,
			uint64_t *stamp)
{
	struct ibv_cq_ex *ex = extended_of(cq);
	struct ibv_poll_cq_attr attr = { 0 };
	int err;

	err = ibv_start_poll(ex, &attr);
	if (err)
		return err == ENOENT ? 0 : -1;
	*wc = (struct ibv_wc){ .wr_id = ex->wr_id,
			       .status = ex->status,
			       .qp_num = ibv_wc_read_qp_num(ex) };
	*route = route_of(cq, wc);
	if (wc->status) {
		wc->vendor_err = ibv_wc_read_vendor_err(ex);
		*stamp = 0;
	} else {
		read_success(ex, *route, wc);
		*stamp = stamp_of(cq);
	}
	ibv_end_poll(ex);
	return 1;
}

static int take_unstamped(struct cq_object *cq, struct ibv_wc *wc, struct bsn_route **route,
			  uint64_t *stamp)
{
	const int count = take_stashed(cq, 1, wc);

	*stamp = 0;
	*route = count > 0 ? route_of(cq, wc) : NULL;
	return count;
}

static int poll_stamped(struct bsn_cq *hot, struct bsn_completion *c, int n)
{
	struct cq_object *cq = cq_of(hot);
	int got = 0, count = 1;

	while (got < n && count > 0) {
		struct bsn_route *route;
		struct ibv_wc wc;
		uint64_t stamp;

		count = has_stash(cq) ? take_unstamped(cq, &wc, &route, &stamp)
				      : take_stamped(cq, &wc, &route, &stamp);
		if (count <= 0 || !reap(cq, route, &wc, &c[got]))
			continue;
		c[got++].timestamp = stamp;
	}
	return end_poll(hot, got, count);
}

/* -- completions that outlive a QP ------------------------------------------------------------ */

/* Grows the stash by the size of the CQ. NULL: no memory, and the stash is as it was. */
static struct stash *grow_stash(struct cq_object *cq)
{
	struct stash *old = cq->path_state;
	const uint32_t count = old ? old->count : 0;
	const uint32_t room = count + (uint32_t)cq->verbs->cqe;
	struct stash *stash = malloc(sizeof(*stash) + room * sizeof(stash->wc[0]));

	if (!stash)
		return NULL;
	*stash = (struct stash){ .count = count, .room = room };
	if (count)
		memcpy(stash->wc, old->wc + old->first, count * sizeof(stash->wc[0]));
	free(old);
	cq->path_state = stash;
	return stash;
}

/*
 * Moves all completions from the CQ into the stash. The QP @leaving is set to error before, so that
 * it takes no more from its SRQ; in a state that does not allow that, it takes nothing. NULL: no
 * memory, and nothing was done.
 */
static struct stash *stash_all(struct cq_object *cq, struct ibv_qp *leaving)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct stash *stash = grow_stash(cq);

	if (!stash)
		return NULL;
	if (leaving)
		ibv_modify_qp(leaving, &error, IBV_QP_STATE);
	while (stash->count < stash->room &&
	       ibv_poll_cq(cq->verbs, 1, &stash->wc[stash->count]) > 0)
		stash->count++;
	return stash;
}

/* Drops the QP's completions from the stash, and gives their receives back. */
static void drop_stashed(struct cq_object *cq, struct stash *stash, uint32_t qpn)
{
	struct ibv_wc *const wc = stash->wc + stash->first;
	struct bsn_completion unseen;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < stash->count; i++) {
		if (wc[i].qp_num == qpn)
			reap(cq, route_of(cq, &wc[i]), &wc[i], &unseen);
		else
			wc[kept++] = wc[i];
	}
	stash->count = kept;
}

/*
 * Gives back the receives that the QP took from its SRQ; other QPs' completions stay in the stash.
 */
int verbs_qp_leave(struct bsn_qp *qp)
{
	struct stash *stash;

	qp->wants_marker = false;
	verbs_sq_cancel(send_queue_of(qp->sq));
	if (!qp->srq)
		return 0;
	cq_lock(qp->recv_cq);
	stash = stash_all(qp->recv_cq, qp->verbs);
	if (stash)
		drop_stashed(qp->recv_cq, stash, qp->verbs->qp_num);
	cq_unlock(qp->recv_cq);
	return stash ? 0 : fail(ENOMEM, "no memory");
}

int verbs_recvs_move(struct bsn_qp *qp, uint32_t number)
{
	struct stash *stash;

	cq_lock(qp->recv_cq);
	stash = stash_all(qp->recv_cq, qp->verbs);
	for (uint32_t i = 0; stash && i < stash->count; i++)
		if (stash->wc[i].qp_num == qp->verbs->qp_num)
			stash->wc[i].qp_num = number;
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

/* Stashes all completions: libmlx5 cannot read CQEs of a destroyed SRQ, nor those after them. */
int verbs_srq_leave(struct srq_object *srq)
{
	struct stash *stash;

	cq_lock(srq->cq);
	stash = stash_all(srq->cq, NULL);
	cq_unlock(srq->cq);
	return stash ? 0 : fail(ENOMEM, "no memory");
}

/* -- life ------------------------------------------------------------------------------------ */

/*
 * With both flags libmlx5 converts ticks of the free-running clock to nanoseconds. With the second
 * alone it may use another clock.
 */
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
 * Creates a CQ with timestamps, or one of libmlx5 without its lock: one thread polls it, and makes
 * and destroys its QPs. NULL: the provider has no such CQ.
 */
static struct ibv_cq *create_extended(struct cq_object *cq, struct ibv_comp_channel *channel)
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

	return created ? ibv_cq_ex_to_cq(created) : NULL;
}

int verbs_cq_create(struct cq_object *cq, const struct bsn_cq_attr *attr)
{
	struct ibv_comp_channel *channel = cq->channel ? cq->channel->verbs : NULL;

	(void)attr; /* the provider chooses the size of a CQE */
	if (provider_is_mlx5(cq->device->context->device) || cq->timestamps)
		cq->verbs = create_extended(cq, channel);
	if (!cq->verbs && cq->timestamps)
		return -EOPNOTSUPP;
	errno = 0;
	if (!cq->verbs)
		cq->verbs = ibv_create_cq(cq->device->context, (int)cq->entries, cq, channel, 0);
	return provider_error_of_pointer(cq->verbs);
}

/* Only the provider knows what was polled, so an idle CQ tells nothing. */
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
	static const struct bsn_cq_path path = { .poll = poll };
	static const struct bsn_cq_path stamped_path = { .poll = poll_stamped };

	bsn_cq_init_path(&cq->dv.hot, cq->timestamps ? &stamped_path : &path);
	return 0;
}

void verbs_cq_free(struct cq_object *cq)
{
	bsn_cq_fini(&cq->dv.hot);
	free(cq->path_state);
}
