/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts any request, in one cold function: refusals, WQEs that wrap, and queues with a path of
 * their own.
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

int bsn_sq_judge(struct bsn_sq *sq, const struct bsn_request *r)
{
	int err = judge_opcode(sq, r);

	if (!err)
		err = measure_data(sq, r);
	return err < 0 ? err : 0;
}

/*
 * Refuses a post to a full queue. Appended requests are published: only their completions make
 * room.
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

/* Copies a WQE that was built beside the ring to the ring's end and its start. */
static void copy_wrapped(struct bsn_sq *sq, const uint8_t *wqe, size_t bytes)
{
	const size_t before = (size_t)(dv_sq(sq)->ring_end - sq->slot);

	put_bytes(sq->slot, wqe, before);
	put_bytes(dv_sq(sq)->ring, wqe + before, bytes - before);
}

static __attribute__((noinline)) int post_to_ring(struct bsn_sq *sq, const struct bsn_peer *peer,
						  const struct bsn_request *r)
{
	const int ds = r->body ? measure_body(sq, peer, r) : measure(sq, peer, r);
	uint8_t beside[BSN_SEND_MAX_DS * BSN_DS_SIZE] __attribute__((aligned(16)));
	const size_t bytes = (size_t)ds * BSN_DS_SIZE;

	if (ds < 0)
		return ds;
	if (bsn_bb_of_ds((unsigned)ds) > bsn_sq_free_bb(sq))
		return refuse_full(sq, r->what);
	bsn_sq_note_poster(sq);
	bsn_sq_refill(sq); /* moves the slot into the ring */
	if (sq->slot + bytes > dv_sq(sq)->ring_end) {
		put_request(beside, sq, peer, r, (unsigned)ds);
		copy_wrapped(sq, beside, bytes);
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

int bsn_ep_post_body(struct bsn_ep *ep, const struct bsn_sq_body *body, uint64_t id)
{
	const struct bsn_request r = {
		.what = body->what, .imm = body->imm, .body = body, .id = id
	};

	return bsn_sq_post_request(ep, &r);
}

int bsn_sq_post_body(struct bsn_sq *sq, const struct bsn_sq_body *body, uint64_t id)
{
	return bsn_ep_post_body(&sq->ep, body, id);
}

int bsn_sq_refuse_opcode(struct bsn_ep *ep)
{
	const int err = is_open(ep) ? 0 : bsn_sq_no_queue(ep);

	return err ? err : refuse(EOPNOTSUPP, "no such opcode, or unknown flags");
}

int bsn_list_map(const struct bsn_wr *wr, struct bsn_wr *as_list)
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
		ds = bsn_list_map(wr, &as_list);
		return ds ? ds : bsn_prepare(ep, &as_list, p);
	}
	if (wr->opcode > UINT8_MAX || wr->flags & ~(unsigned)BSN_F_ALL)
		return refuse(EINVAL, "no such opcode, or unknown flags");
	r = bsn_request_of(wr, operand);
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
