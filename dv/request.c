/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts any request, in one cold function: refusals, WQEs that wrap, and queues with a path of
 * their own. Also posts requests of maps, as lists, and prepared requests.
 */
#include "init.h"
#include "place.h"
#include "refuse.h"

/* The unknown ones, as @what holds them. */
#define UNKNOWN_FLAGS (BSN_WHAT_FLAGS & ~(uint32_t)BSN_F_ALL)

uint64_t bsn_sq_ops_of(enum bsn_transport transport, bool has_atomics)
{
	uint64_t ops = 0;

	for (unsigned opcode = 0; opcode < 64; opcode++) {
		const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);
		/* Not masked atomics (max_opmod): which sizes the device has only a query tells. */
		if (op && op->is_message && op->transports & 1u << transport && !op->max_opmod &&
		    (!op->has_atomic || has_atomics))
			ops |= 1ull << opcode;
	}
	return ops;
}

/* -- why a request is refused ----------------------------------------------------------------- */

static int judge_opcode(const struct bsn_sq *sq, const struct bsn_request *r)
{
	const unsigned opcode = opcode_of(r->what), count = count_of(r->what);

	if (r->what & UNKNOWN_FLAGS)
		return refuse(EINVAL, "unknown flags: a post takes BSN_F_*");
	if (!is_one_of(sq->ops | dv_sq(sq)->held_ops, opcode))
		return refuse(EOPNOTSUPP, "the transport or device lacks the operation");
	if (r->what & BSN_F_INLINE && !is_one_of(BSN_OPS_WITH_GATHER, opcode))
		return refuse(EOPNOTSUPP, "the operation has no data to inline");
	if (count && opcode == BSN_OPCODE_NOP)
		return refuse(EOPNOTSUPP, "a NOP has no data");
	if (r->operand && count != 1)
		return refuse(EINVAL, "an atomic has one SGE, for its result");
	return 0;
}

static uint64_t total_bytes(const struct bsn_sge *sge, unsigned count)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < count; i++)
		total += sge[i].length;
	return total;
}

/*
 * DS of the data, or why they are refused. An empty SGE is left out, since a byte count of 0 means
 * 2^31. The length of an atomic's SGE is not used.
 */
static int measure_data(const struct bsn_sq *sq, const struct bsn_request *r)
{
	const unsigned count = count_of(r->what);
	int ds = 0;

	if (count > sq->max_sge)
		return refuse_with(EMSGSIZE, "%u SGEs: the queue was made for %u (max_send_sge)",
				   count, sq->max_sge);
	if (r->what & BSN_F_INLINE) {
		const uint64_t total = total_bytes(r->sge, count);
		if (total > sq->max_inline)
			return refuse_with(EMSGSIZE,
					   "%llu bytes inline: the queue was made for %u "
					   "(max_inline)",
					   (unsigned long long)total, sq->max_inline);
		return total ? (int)bsn_inline_ds((uint32_t)total) : 0;
	}
	for (unsigned i = 0; i < count; i++) {
		if (r->sge[i].length > BSN_DATA_MAX_BYTES && !r->operand)
			return refuse(EMSGSIZE, "an SGE must be shorter than 2 GiB");
		ds += r->sge[i].length != 0 || r->operand;
	}
	return ds;
}

int bsn_sq_judge(struct bsn_sq *sq, const struct bsn_request *r)
{
	const int err = judge_opcode(sq, r), ds = err ? err : measure_data(sq, r);

	return ds < 0 ? ds : 0;
}

/* DS of the request, or why this queue cannot take it. */
static int measure(const struct bsn_sq *sq, const struct bsn_peer *peer,
		   const struct bsn_request *r)
{
	int err = judge_opcode(sq, r);
	int ds = err ? err : measure_data(sq, r);

	if (ds < 0)
		return ds;
	ds += (int)head_ds(peer, r->what) + (r->operand ? 1 : 0);
	if (ds > dv_sq(sq)->max_ds)
		return refuse_with(EMSGSIZE,
				   "a WQE of %d bytes: the queue was made for %d (max_send_sge, "
				   "max_inline)",
				   16 * ds, 16 * dv_sq(sq)->max_ds);
	return ds;
}

/* The same for a body, which the caller writes: a UMR, a masked atomic, a copy. */
static int measure_body(const struct bsn_sq *sq, const struct bsn_peer *peer,
			const struct bsn_request *r)
{
	const unsigned ds = r->body->ds + (r->body->is_local ? 0 : prefix_ds_of(peer));

	if (r->what & UNKNOWN_FLAGS)
		return refuse(EINVAL, "unknown flags: a post takes BSN_F_*");
	if (bsn_bb_of_ds(ds) > dv_sq(sq)->capacity_bb)
		return refuse(
			EMSGSIZE,
			"the WQE is longer than the queue: create it with a greater send_depth");
	return (int)ds;
}

/*
 * Refuses a post to a full queue. If the post was to ring, it publishes the appended requests: only
 * their completions make room.
 */
static int refuse_full(struct bsn_sq *sq, uint32_t what)
{
	dv_sq(sq)->count_full++;
	if (what & BSN_F_RING)
		bsn_sq_ring(sq);
	return refuse(EAGAIN, "the send queue is full: poll its CQ");
}

/* -- putting it ------------------------------------------------------------------------------- */

/* Puts bytes of a WQE. It does not wrap: one that would is built beside the ring and copied. */
static uint8_t *put_bytes(uint8_t *at, const void *src, size_t n)
{
	BSN_ORDER_EVENT(BSN_ORDER_WQE, at, (unsigned)n);
	if (n)
		memcpy(at, src, n);
	return at + n;
}

static uint8_t *put_inline_data(uint8_t *at, const struct bsn_request *r)
{
	static const uint8_t zeros[BSN_DS_SIZE];
	const unsigned count = count_of(r->what);
	const uint32_t total = (uint32_t)total_bytes(r->sge, count);
	const uint32_t head = bsn_inline_head(total);

	if (!total)
		return at;
	at = put_bytes(at, &head, sizeof(head));
	for (unsigned i = 0; i < count; i++)
		at = put_bytes(at, (const void *)(uintptr_t)r->sge[i].addr, r->sge[i].length);
	return put_bytes(at, zeros, -(sizeof(head) + total) % BSN_DS_SIZE);
}

static uint8_t *put_data(uint8_t *at, const struct bsn_request *r)
{
	if (r->operand)
		return put_atomic(at, r->sge, r->operand);
	if (r->what & BSN_F_INLINE)
		return put_inline_data(at, r);
	for (unsigned i = 0; i < count_of(r->what); i++)
		if (r->sge[i].length)
			at = bsn_put_sge(at, &r->sge[i]);
	return at;
}

static void put_body(uint8_t *at, const struct bsn_sq *sq, const struct bsn_peer *peer,
		     const struct bsn_request *r, unsigned ds)
{
	const struct bsn_ctrl opmod = { .opmod = r->body->opmod };
	uint8_t *const body = put_control(at, sq, peer, r->what, ds, r->imm);

	or_word(at, bsn_ctrl_word(&opmod, 0));
	r->body->put(r->body->is_local ? at + BSN_CTRL_SIZE : body, r->body->arg);
}

static void put_request(uint8_t *at, struct bsn_sq *sq, const struct bsn_peer *peer,
			const struct bsn_request *r, unsigned ds)
{
	if (r->body)
		put_body(at, sq, peer, r, ds);
	else
		put_data(put_head(at, sq, peer, r->what, ds, r->remote, r->imm), r);
	pay_fence(sq, at, r->what);
}

/* -- posting it ------------------------------------------------------------------------------- */

static __attribute__((noinline)) int post_to_ring(struct bsn_sq *sq, const struct bsn_peer *peer,
						  const struct bsn_request *r)
{
	const int ds = r->body ? measure_body(sq, peer, r) : measure(sq, peer, r);
	uint8_t beside[BSN_SEND_MAX_DS * BSN_DS_SIZE] __attribute__((aligned(16)));
	const size_t bytes = (size_t)ds * BSN_DS_SIZE;
	size_t to_end;

	if (ds < 0)
		return ds;
	if (bsn_bb_of_ds((unsigned)ds) > bsn_sq_free_bb(sq))
		return refuse_full(sq, r->what);
	bsn_sq_note_poster(sq);
	bsn_sq_refill(sq); /* moves the slot into the ring */
	to_end = (size_t)(dv_sq(sq)->ring_end - sq->slot);
	if (bytes > to_end) { /* it wraps */
		put_request(beside, sq, peer, r, (unsigned)ds);
		put_bytes(sq->slot, beside, to_end);
		put_bytes(dv_sq(sq)->ring, beside + to_end, bytes - to_end);
	} else {
		put_request(sq->slot, sq, peer, r, (unsigned)ds);
	}
	return bsn_sq_commit(sq, peer, (unsigned)ds, r->what, r->id);
}

/* NULL if the queue has one peer, or if the request is the queue's own and has no peer. */
static const struct bsn_peer *peer_or_null(const struct bsn_ep *ep)
{
	return ep == &ep->sq->ep ? NULL : peer_of(ep);
}

int bsn_sq_post_request(struct bsn_ep *ep, const struct bsn_request *r)
{
	if (BSN_UNLIKELY(!is_open(ep)))
		return bsn_sq_no_queue(ep);
	return dv_sq(ep->sq)->path ? dv_sq(ep->sq)->path->post(ep, r)
				   : post_to_ring(ep->sq, peer_or_null(ep), r);
}

int bsn_ep_post_body(struct bsn_ep *ep, uint32_t what, uint32_t imm, const struct bsn_sq_body *body,
		     uint64_t id)
{
	const struct bsn_request r = { .what = what, .imm = imm, .body = body, .id = id };

	return bsn_sq_post_request(ep, &r);
}

/* @operand: those of @wr, used if it is an atomic. The opcode is below 256. */
static struct bsn_request request_of(const struct bsn_wr *wr, const uint64_t operand[2])
{
	return (struct bsn_request){
		.what = BSN_WHAT(wr->opcode, wr->flags, bsn_what_count(wr->sge_count)),
		.imm = imm_of(wr),
		.sge = wr->sge,
		.remote = &wr->remote,
		.operand = is_one_of(BSN_OPS_OF_ATOMICS, wr->opcode) ? operand : NULL,
		.id = wr->id,
	};
}

/* -- maps of layouts -------------------------------------------------------------------------- */

/* Only the last request is signaled and rung, and only the first has the fence. */
static uint32_t flags_of(uint32_t flags, bool is_first, bool is_last)
{
	if (!is_first)
		flags &= ~(uint32_t)BSN_F_FENCE;
	return is_last ? flags : flags & ~(uint32_t)(BSN_F_SIGNALED | BSN_F_RING);
}

/* 0 if the queue can take as many requests as the map's SGEs need, or why not. */
static int check_several(struct bsn_sq *sq, const struct bsn_wr *wr)
{
	const struct dv_sq *const whole = dv_sq(sq);
	const uint32_t requests = (wr->map->sge_count + sq->max_sge - 1) / sq->max_sge;

	if (wr->opcode != BSN_OPCODE_RDMA_WRITE && wr->opcode != BSN_OPCODE_RDMA_READ)
		return refuse_with(
			EMSGSIZE,
			"the layout needs %u SGEs, and the queue has %u: only a WRITE or READ "
			"can become several requests",
			wr->map->sge_count, sq->max_sge);
	if (has_wqes(sq))
		return refuse(EMSGSIZE, "the map was made for a queue with more SGEs: map the "
					"layout for this one");
	if (whole->closed)
		return refuse(whole->closed, whole->closed_why);
	if (requests > whole->capacity_bb)
		return refuse(EMSGSIZE, "the map needs more requests than the queue takes: create "
					"it with a greater send_depth or max_send_sge");
	if (requests > whole->path->room(sq))
		return refuse(
			EAGAIN,
			"the send queue has no room for all requests of the map: poll its CQ");
	return 0;
}

/*
 * Plain verbs have no mkeys, so a map may have more SGEs than a request takes. A WRITE or READ of
 * it becomes several requests.
 */
static int post_several(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	const struct bsn_map *const map = wr->map;
	const uint32_t most = ep->sq->max_sge;
	int err = check_several(ep->sq, wr);
	struct bsn_wr one = *wr;

	one.map = NULL;
	for (uint32_t at = 0; !err && at < map->sge_count; at += one.sge_count) {
		const uint32_t left = map->sge_count - at;
		one.sge = map->sge + at;
		one.sge_count = left < most ? left : most;
		one.flags = flags_of(wr->flags, !at, left <= most);
		err = bsn_post(ep, &one);
		one.remote.addr += total_bytes(one.sge, one.sge_count);
	}
	return err;
}

/* Turns a request of a map into one that lists the map's SGEs. 0 or -errno, with its text. */
static int list_map(const struct bsn_wr *wr, struct bsn_wr *as_list)
{
	if (wr->flags & BSN_F_INLINE)
		return refuse(EINVAL, "the data of a map cannot be inline");
	if (wr->map->length > BSN_DATA_MAX_BYTES)
		return refuse(EMSGSIZE,
			      "a message must be shorter than 2^31 bytes: post parts of the mkey");
	*as_list = *wr;
	as_list->map = NULL;
	as_list->sge = wr->map->sge;
	as_list->sge_count = wr->map->sge_count;
	return 0;
}

static int post_map(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	struct bsn_wr as_list;
	int err;

	if (!has_queue(ep))
		return bsn_sq_no_queue(ep);
	if (wr->map->sge_count > ep->sq->max_sge && !(wr->flags & BSN_F_INLINE))
		return post_several(ep, wr);
	err = list_map(wr, &as_list);
	return err ? err : bsn_post(ep, &as_list);
}

int bsn_sq_post_wr(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	const uint64_t operand[2] = { wr->swap_add, wr->compare };
	const struct bsn_request r = request_of(wr, operand);

	if (wr->map)
		return post_map(ep, wr);
	if (wr->opcode > UINT8_MAX && is_open(ep))
		return refuse(EOPNOTSUPP, "no such opcode, or unknown flags");
	return bsn_sq_post_request(ep, &r);
}

/* -- prepared requests ------------------------------------------------------------------------ */

int bsn_prepare(struct bsn_ep *ep, const struct bsn_wr *wr, struct bsn_prepared *p)
{
	struct bsn_ctrl ctrl = { .opcode = wr->opcode };
	const uint64_t operand[2] = { wr->swap_add, wr->compare };
	struct bsn_wr as_list;
	struct bsn_request r;
	int ds;

	if (!has_queue(ep))
		return bsn_sq_no_queue(ep);
	if (wr->map) {
		ds = list_map(wr, &as_list);
		return ds ? ds : bsn_prepare(ep, &as_list, p);
	}
	if (wr->opcode > UINT8_MAX || wr->flags & ~(unsigned)BSN_F_ALL)
		return refuse(EINVAL, "no such opcode, or unknown flags");
	r = request_of(wr, operand);
	ds = measure(ep->sq, peer_or_null(ep), &r);
	if (ds < 0)
		return ds;
	ctrl.ds = (uint32_t)ds - prefix_ds_of(peer_or_null(ep));
	ctrl.imm = r.imm;
	if (ctrl.ds > BSN_BB_DS || wr->sge_count > BSN_PREPARED_SGE)
		return refuse(EMSGSIZE, "a prepared request must fit one block of 64 bytes, "
					"without the peer's address");
	memset(p, 0, sizeof(*p));
	put_data(put_remote((uint8_t *)p->body, r.what, r.remote), &r);
	p->ctrl = (bsn_v2){ bsn_to_be64(bsn_ctrl_word(&ctrl, 0)).raw,
			    bsn_to_be64(bsn_ctrl_word(&ctrl, 1)).raw };
	p->body_ds = ctrl.ds - 1;
	p->wr = *wr;
	p->wr.imm = r.imm;
	p->wr.sge = p->sge;
	if (wr->sge_count)
		memcpy(p->sge, wr->sge, wr->sge_count * sizeof(*wr->sge));
	return 0;
}

/* Posts the request as a new one, with the data that were copied when it was prepared. */
static __attribute__((noinline, cold)) int
post_as_request(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
{
	const uint8_t *const data =
		(const uint8_t *)p->body + (has_remote(p->wr.opcode) ? BSN_RADDR_SIZE : 0);
	struct bsn_inline_hdr hdr;
	struct bsn_wr wr = p->wr;
	struct bsn_sge copied;

	wr.id = id;
	wr.sge = p->sge;
	wr.flags = flags & ~(unsigned)BSN_F_INLINE;
	if (p->wr.flags & BSN_F_INLINE) {
		bsn_inline_hdr_decode(&hdr, data);
		copied = (struct bsn_sge){ (uintptr_t)data + BSN_INLINE_HDR_SIZE, hdr.byte_count,
					   0 };
		wr.flags |= BSN_F_INLINE;
		wr.sge = &copied;
		wr.sge_count = 1;
	}
	return bsn_post(ep, &wr);
}

/* A path may bind the endpoint to a queue with a ring, which takes the prepared WQE as it is. */
static __attribute__((noinline, cold)) int
post_prepared_cold(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
{
	const struct bsn_sq_path *const path = dv_sq(ep->sq)->path;
	int err;

	if (!path || !path->bind || dv_sq(ep->sq)->closed)
		return post_as_request(ep, p, id, flags);
	err = path->bind(ep);
	return err ? err : bsn_sq_post_prepared(ep, p, id, flags);
}

int bsn_sq_post_prepared(struct bsn_ep *ep, const struct bsn_prepared *prepared, uint64_t id,
			 unsigned flags)
{
	const uint32_t what = prepared->wr.opcode | (flags & ~(unsigned)BSN_F_INLINE);
	struct place p;
	uint8_t *at;

	if (BSN_UNLIKELY(flags & ~BSN_F_ALL))
		return post_as_request(ep, prepared, id, flags);
	p = place_of(ep, peer_of(ep), what, prepared->body_ds - has_remote(what));
	if (!takes(p.sq, what, UINT64_MAX, BSN_F_PLAIN))
		return post_prepared_cold(ep, prepared, id, flags);
	if (!find_room(&p))
		return post_as_request(ep, prepared, id, flags);
	at = put_control(p.wqe, p.sq, p.peer, what, p.ds, prepared->wr.imm);
	for (unsigned i = 0; i < prepared->body_ds; i++)
		at = put_copy(at, &prepared->body[i]);
	return end_post(&p, id, what);
}
