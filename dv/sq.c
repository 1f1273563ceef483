/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue, the cold way: its room, its fence, and any request whatever (post_any), with the reason why one is
 * refused. shapes.c has those that are common, rows.c the most common ones.
 */
#include "init.h"
#include "shapes.h"

/* -- credits ------------------------------------------------------------------------------------ */

uint32_t bsn_sq_outstanding_bb(struct bsn_sq *sq)
{
	return count_outstanding(sq);
}

/* Sets the room that the inline code sees: none while a fence is owed or the queue is closed. */
static __attribute__((noinline)) void show_room(struct bsn_sq *sq)
{
	uint8_t *limit = find_limit(sq, free_blocks(sq));

	if (sq->closed || sq->path)
		limit = NULL;
	bsn_sq_clear_limits(sq);
	if (limit && !sq->next_fence)
		bsn_sq_set_limit(sq, sq->has_peers, limit);
	sq->fenced_limit = sq->has_peers || !sq->next_fence ? NULL : limit;
}

void bsn_sq_show_nothing(struct bsn_sq *sq)
{
	bsn_sq_clear_limits(sq);
	sq->fenced_limit = NULL;
}

void bsn_sq_close(struct bsn_sq *sq, int error, const char *why)
{
	sq->closed = (uint16_t)error;
	sq->closed_why = why;
	bsn_sq_show_nothing(sq);
}

void bsn_sq_open(struct bsn_sq *sq)
{
	sq->closed = 0;
	sq->closed_why = NULL;
	if (!sq->path)
		show_room(sq);
}

void bsn_sq_owe_fence(struct bsn_sq *sq, enum bsn_fence fence)
{
	sq->next_fence = (uint8_t)fence;
	if (sq->limit)
		sq->fenced_limit = sq->limit;
	bsn_sq_clear_limits(sq);
}

/* A full queue has its appended requests published, else nothing would ever make room. */
static int refuse_full(struct bsn_sq *sq, uint32_t what)
{
	sq->count_full++;
	if (what & BSN_F_RING)
		bsn_sq_ring(sq);
	return refuse(EAGAIN, "the send queue is full: poll its CQ");
}

/* Room for @bb blocks, in one piece or not; the slot is in the ring. */
static int admit(struct bsn_sq *sq, unsigned bb, uint32_t what)
{
	if (BSN_UNLIKELY(bb > free_blocks(sq)))
		return refuse_full(sq, what);
	note_poster(sq->lane);
	show_room(sq);
	return 0;
}

/* The poller learns of the first hidden completion before its CQE can come, since the WQE is not rung yet. */
BSN_ALWAYS_INLINE void hide_completion(struct bsn_sq *sq, unsigned index, enum bsn_hidden how)
{
	__atomic_store_n(&sq->hidden[index & sq->bb_mask], (uint8_t)how, __ATOMIC_RELAXED);
	if (BSN_LIKELY(sq->route.has_hidden & BSN_SENDS_HIDDEN))
		return;
	__atomic_store_n(&sq->route.has_hidden, sq->gives_results | BSN_SENDS_HIDDEN, __ATOMIC_RELAXED);
	__atomic_store_n(&sq->route.far_mask, BSN_FAR_ALL, __ATOMIC_RELEASE);
}

/* -- the library's turn to signal ------------------------------------------------------------------- */

BSN_ALWAYS_INLINE struct bsn_be64 load_word(const uint8_t *at)
{
	return bsn_to_be64(bsn_load_be64(at));
}

/*
 * Signals what was built as an unsignaled request. A caller that signals often enough needs no help: the number of
 * blocks that were outstanding before it tells.
 */
BSN_ALWAYS_INLINE void take_turn(struct bsn_sq *sq, uint8_t *wqe)
{
	const struct bsn_ctrl always = { .ce = BSN_CE_ALWAYS }, any = { .ce = BSN_CE_ALWAYS | BSN_CE_ON_FIRST_ERROR };
	const uint16_t every = sq->signal_every;
	struct bsn_be64 word;
	struct bsn_ctrl ctrl;

	sq->quiet = (uint8_t)every;
	if (BSN_UNLIKELY(!every))
		return;
	refresh_retired(sq);
	bsn_ctrl_decode(&ctrl, wqe);
	if (BSN_UNLIKELY((uint16_t)(ctrl.wqe_index + 1 - sq->retired) < every))
		return;
	hide_completion(sq, ctrl.wqe_index, BSN_HIDDEN_SUCCESS);
	word = load_word(wqe + 8);
	word.raw &= ~bsn_to_be64(bsn_ctrl_word(&any, 1)).raw;
	word.raw |= bsn_to_be64(bsn_ctrl_word(&always, 1)).raw;
	bsn_store_wqe(wqe + 8, word);
}

int bsn_sq_append_turn(struct bsn_sq *sq, size_t bytes)
{
	uint8_t *const wqe = sq->slot - bytes;

	take_turn(sq, wqe);
	bsn_sq_append(sq, wqe);
	return 0;
}

static __attribute__((noinline)) int publish_otherwise(struct bsn_sq *sq, const uint8_t *wqe)
{
	sq->publish &= (uint8_t)~BSN_PUBLISH_LONG;
	bsn_sq_append(sq, wqe);
	return bsn_sq_ring(sq);
}

int bsn_sq_publish_turn(struct bsn_sq *sq, size_t bytes)
{
	uint8_t *const wqe = sq->slot - bytes;
	struct bsn_regs head;

	take_turn(sq, wqe);
	/* Loaded as they were stored; as a vector they suit 4x16 stores, too. */
	head.ds[0] = bsn_ds_of_vector((bsn_v2){ load_word(wqe).raw, load_word(wqe + 8).raw });
	if (BSN_UNLIKELY(sq->publish > BSN_PUBLISH_16 || bytes > BSN_BF_BUFFER_BYTES))
		return publish_otherwise(sq, wqe);
	return bsn_publish(sq, wqe, bytes, &head, 1, BSN_REST_VECTORS);
}

/* -- any request -------------------------------------------------------------------------------- */

/* A request; @operand: of an atomic, else NULL. @is_local: it does not name its peer, whose it is though. */
struct request {
	struct bsn_sq *sq;
	const struct bsn_peer *peer; /* NULL: the queue has one */
	bool is_local;
	uint32_t what, imm;
	uint8_t opmod;
	const struct bsn_sge *sge;
	unsigned count;
	const struct bsn_remote *remote;
	const uint64_t *operand;
	uint64_t id;
};

static uint32_t imm_of(const struct bsn_wr *wr)
{
	return is_one_of(bsn_wqe_sets.with_imm, wr->opcode) ? wr->imm : 0;
}

uint64_t bsn_sq_ops_of(enum bsn_transport transport, bool has_atomics)
{
	uint64_t ops = 0;

	for (unsigned opcode = 0; opcode < 64; opcode++) {
		const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);
		/* Masked atomics: a query would have to tell what the device can do with them. */
		if (op && op->is_message && op->transports & 1u << transport && !op->max_opmod &&
		    (!op->has_atomic || has_atomics))
			ops |= 1ull << opcode;
	}
	return ops;
}

static int judge_opcode(const struct request *r)
{
	const unsigned opcode = opcode_of(r->what);

	if (r->what & UNKNOWN_FLAGS)
		return refuse(EINVAL, "unknown flags: a post takes BSN_F_*");
	if (!is_one_of(r->sq->ops | r->sq->held_ops, opcode))
		return refuse(EOPNOTSUPP, "this transport or device does not have the operation");
	if (r->what & BSN_F_INLINE && !is_one_of(bsn_wqe_sets.with_gather, opcode))
		return refuse(EOPNOTSUPP, "this operation sends no data that could be inline");
	if (r->count && opcode == BSN_OPCODE_NOP)
		return refuse(EOPNOTSUPP, "a NOP has no data");
	if (r->operand && r->count != 1)
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
 * DS of the data, or why they are refused. An empty piece is left out, since 0 would mean 2^31. Of an atomic's SGE
 * the length is not used.
 */
static int measure_data(const struct request *r)
{
	int ds = 0;

	if (r->count > r->sq->max_sge)
		return refuse(EMSGSIZE, "more SGEs than the queue was made for (max_send_sge)");
	if (r->what & BSN_F_INLINE) {
		const uint64_t total = total_bytes(r->sge, r->count);
		if (total > r->sq->max_inline)
			return refuse(EMSGSIZE, "more inline data than the queue was made for "
						"(max_inline)");
		return total ? (int)bsn_inline_ds((uint32_t)total) : 0;
	}
	for (unsigned i = 0; i < r->count; i++) {
		if (r->sge[i].length > BSN_DATA_MAX_BYTES && !r->operand)
			return refuse(EMSGSIZE, "an SGE has less than 2 GiB");
		ds += r->sge[i].length != 0 || r->operand;
	}
	return ds;
}

/* The length of a request that this queue can take, or why it cannot. */
static int measure(const struct request *r)
{
	int err = judge_opcode(r);
	int ds = err ? err : measure_data(r);

	if (ds < 0)
		return ds;
	ds += 1 + (r->peer ? r->peer->prefix_ds : 0);
	ds += is_one_of(bsn_wqe_sets.with_raddr, opcode_of(r->what)) + (r->operand ? 1 : 0);
	if (ds > r->sq->max_ds)
		return refuse(EMSGSIZE, "the WQE would be longer than the queue was made for");
	return ds;
}

int bsn_sq_judge(struct bsn_sq *sq, uint32_t what, const struct bsn_sge *sge, bool is_atomic)
{
	static const uint64_t some_operand[2];
	const struct request r = { .sq = sq,
				   .what = what,
				   .sge = sge,
				   .count = count_of(what),
				   .operand = is_atomic ? some_operand : NULL };
	int err = judge_opcode(&r);

	if (!err)
		err = measure_data(&r);
	return err < 0 ? err : 0;
}

/* Puts bytes of a WQE, never across the ring's end: a WQE that wraps is built elsewhere and copied. */
static uint8_t *put_bytes(uint8_t *at, const void *src, size_t n)
{
	BSN_ORDER_EVENT(BSN_ORDER_WQE, at, (unsigned)n);
	if (n)
		memcpy(at, src, n);
	return at + n;
}

static struct bsn_be32 inline_head(uint32_t bytes)
{
	const struct bsn_inline_hdr hdr = { .is_inline = 1, .byte_count = bytes };

	return bsn_to_be32(bsn_inline_hdr_dword(&hdr, 0));
}

static uint8_t *put_pieces(uint8_t *at, const struct request *r)
{
	static const uint8_t zeros[BSN_DS_SIZE];
	const uint32_t total = (uint32_t)total_bytes(r->sge, r->count);
	const struct bsn_be32 head = inline_head(total);

	if (!total)
		return at;
	at = put_bytes(at, &head, sizeof(head));
	for (unsigned i = 0; i < r->count; i++)
		at = put_bytes(at, (const void *)(uintptr_t)r->sge[i].addr, r->sge[i].length);
	return put_bytes(at, zeros, -(sizeof(head) + total) % BSN_DS_SIZE);
}

/* Puts what comes after the control segment and the peer's prefix. */
static uint8_t *put_body(uint8_t *at, const struct request *r)
{
	if (is_one_of(bsn_wqe_sets.with_raddr, opcode_of(r->what)))
		at = put_ds(at, bsn_ds_raddr(r->remote));
	if (r->operand) {
		at = put_ds(at, bsn_ds_operands(r->operand[0], r->operand[1]));
		return put_ds(at, bsn_ds_result(r->sge));
	}
	if (r->what & BSN_F_INLINE)
		return put_pieces(at, r);
	for (unsigned i = 0; i < r->count; i++)
		if (r->sge[i].length)
			at = put_ds(at, bsn_ds_data(&r->sge[i]));
	return at;
}

/* Adds an owed fence where the request has none of its own. */
static struct bsn_be64 fenced_ctrl1(const struct request *r)
{
	struct bsn_sq *sq = r->sq;
	struct bsn_be64 ctrl1 = bsn_ctrl1(sq, sq->has_peers, r->what, r->imm);

	if (sq->has_peers)
		ctrl1 = bsn_add_peer(ctrl1, r->peer ? r->peer->ctrl_bits : bsn_signaled_bits());
	ctrl1.raw |= bsn_sq_owed_fence(sq, r->what).raw;
	return ctrl1;
}

static struct bsn_be64 with_opmod(struct bsn_be64 ctrl0, uint8_t opmod)
{
	const struct bsn_ctrl ctrl = { .opmod = opmod };

	ctrl0.raw |= bsn_to_be64(bsn_ctrl_word(&ctrl, 0)).raw;
	return ctrl0;
}

static uint8_t *put_head(uint8_t *at, const struct request *r, unsigned ds)
{
	bsn_store_wqe(at, with_opmod(bsn_ctrl0(r->sq, opcode_of(r->what), ds), r->opmod));
	bsn_store_wqe(at + 8, fenced_ctrl1(r));
	at += BSN_CTRL_SIZE;
	if (!r->peer || r->is_local)
		return at;
	at = put_ds(at, bsn_ds_load(&r->peer->head));
	if (r->peer->prefix_ds > 1)
		at = put_bytes(at, r->peer->more, (r->peer->prefix_ds - 1) * (size_t)BSN_DS_SIZE);
	return at;
}

/* The WQE of @ds units is in the ring. */
static int commit(struct bsn_sq *sq, const struct bsn_peer *peer, unsigned ds, uint32_t flags,
		  uint64_t id)
{
	if (peer)
		bsn_keep_peer_id(sq, sq->slot, peer, id);
	else
		bsn_keep_id(sq, sq->slot, ds, BSN_NEAR_DS, id);
	if (bsn_is_turn(sq, flags))
		take_turn(sq, sq->slot);
	bsn_sq_append(sq, sq->slot);
	bsn_sq_advance(sq, bsn_bytes_of_ds(ds));
	sq->slot = (uint8_t *)(uintptr_t)bsn_sq_slot_of(sq, sq->pi); /* it may wrap */
	sq->next_fence = BSN_FENCE_NONE;
	show_room(sq);
	return flags & BSN_F_RING ? bsn_sq_ring(sq) : 0;
}

/* @bytes: room for the longest WQE, where it has to wrap. */
static int post_measured(const struct request *r, unsigned ds,
			 uint8_t *(*put)(uint8_t *at, const void *body), const void *body)
{
	uint8_t bytes[BSN_SEND_MAX_DS * BSN_DS_SIZE] __attribute__((aligned(16)));
	struct bsn_sq *sq = r->sq;
	const int err = admit(sq, bsn_bb_of_ds(ds), r->what);
	bool wraps;
	uint8_t *at;

	if (err)
		return err;
	wraps = sq->slot + bsn_bytes_of_ds(ds) > sq->ring_end;
	at = put_head(wraps ? bytes : sq->slot, r, ds);
	put(at, body);
	if (wraps)
		copy_wrapped(sq, bytes, ds);
	return commit(sq, r->peer, ds, r->what, r->id);
}

static uint8_t *put_request(uint8_t *at, const void *body)
{
	return put_body(at, body);
}

/* Any request to any queue of ours. */
static __attribute__((noinline)) int post_any(const struct request *r)
{
	const int ds = measure(r);

	return ds < 0 ? ds : post_measured(r, (unsigned)ds, put_request, r);
}

/* The queue of @ep, or why it takes nothing at all. */
static int check_queue(const struct bsn_ep *ep)
{
	if (!ep || !ep->sq)
		return refuse(EINVAL, "no endpoint: a QP with many peers has one for each "
				      "(bsn_ep_create)");
	if (ep->sq->closed)
		return refuse(ep->sq->closed, ep->sq->closed_why);
	return 0;
}

int bsn_sq_post_sgl_cold(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			 const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const int err = check_queue(ep);
	struct request r;

	if (err)
		return err;
	if (ep->sq->path)
		return ep->sq->path->post_sgl(ep, what, sge, remote, imm, id);
	r = (struct request){ .sq = ep->sq,
			      .peer = peer_of(ep),
			      .what = what,
			      .imm = imm,
			      .sge = sge,
			      .count = count_of(what),
			      .remote = remote,
			      .id = id };
	return post_any(&r);
}

int bsn_sq_post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	if (BSN_UNLIKELY(!ep || !ep->sq))
		return bsn_sq_post_sgl_cold(ep, what, sge, remote, imm, id);
	if (BSN_UNLIKELY(ep->sq->path) && !ep->sq->closed)
		return ep->sq->path->post_sgl(ep, what, sge, remote, imm, id);
	return post_sgl(ep, what, sge, remote, imm, id);
}

int bsn_sq_post_inline_cold(struct bsn_ep *ep, uint32_t what, const void *data,
			    const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	const struct bsn_sge sge = { (uintptr_t)data, count_of(what), 0 };
	const uint32_t rest = what & ((1u << BSN_WHAT_COUNT_SHIFT) - 1);

	return bsn_sq_post_sgl_cold(ep, BSN_WHAT(rest, 0, 1), &sge, remote, imm, id);
}

int bsn_sq_post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
		       const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	if (BSN_UNLIKELY(!ep || !ep->sq))
		return bsn_sq_post_inline_cold(ep, what, data, remote, imm, id);
	if (BSN_UNLIKELY(ep->sq->path) && !ep->sq->closed)
		return ep->sq->path->post_inline(ep, what, data, remote, imm, id);
	return post_inline(ep, what, data, remote, imm, id);
}

static __attribute__((noinline)) int post_piece(struct bsn_ep *ep, uint64_t w1, const struct bsn_remote *remote,
						uint64_t w0, uint64_t what, uint64_t id)
{
	const uint32_t rest = (uint32_t)what & ((1u << BSN_WHAT_COUNT_SHIFT) - 1);
	const uint32_t imm = (uint32_t)(what >> 32);
	const uint64_t words[2] = { w0, w1 };
	struct bsn_inline_hdr hdr;
	struct bsn_data data;
	struct bsn_sge sge;

	bsn_inline_hdr_decode(&hdr, words);
	if (hdr.is_inline)
		return bsn_sq_post_inline(ep, BSN_WHAT(rest, BSN_F_INLINE, hdr.byte_count),
					  (const uint8_t *)words + BSN_INLINE_HDR_SIZE, remote, imm,
					  id);
	bsn_data_decode(&data, words);
	sge = (struct bsn_sge){ data.addr, data.byte_count, data.lkey };
	return bsn_sq_post_sgl(ep, (uint32_t)what, &sge, remote, imm, id);
}

int bsn_sq_post_piece(struct bsn_ep *ep, uint64_t w1, const struct bsn_remote *remote, uint64_t w0,
		      uint64_t what, uint64_t id)
{
	if (BSN_LIKELY(ep && ep->sq) && BSN_UNLIKELY(ep->sq->path) && ep->sq->path->post_piece)
		return ep->sq->path->post_piece(ep, w1, remote, w0, what, id);
	return post_piece(ep, w1, remote, w0, what, id);
}

static __attribute__((noinline)) int post_atomic_cold(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
						      const struct bsn_remote *remote, const uint64_t operand[2],
						      uint64_t id)
{
	const int err = check_queue(ep);
	struct request r;

	if (err)
		return err;
	r = (struct request){ .sq = ep->sq,
			      .peer = peer_of(ep),
			      .what = what,
			      .sge = sge,
			      .count = count_of(what),
			      .remote = remote,
			      .operand = operand,
			      .id = id };
	return post_any(&r);
}

int bsn_sq_post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id)
{
	if (BSN_LIKELY(ep && ep->sq) && BSN_UNLIKELY(ep->sq->path) && !ep->sq->closed)
		return ep->sq->path->post_atomic(ep, what, sge, remote, operand, id);
	return post_atomic_cold(ep, what, sge, remote, operand, id);
}

int bsn_sq_post_wr(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	const uint64_t operand[2] = { wr->swap_add, wr->compare };
	const uint32_t what = BSN_WHAT(wr->opcode, wr->flags, bsn_what_count(wr->sge_count));
	const bool is_atomic =
		wr->opcode == BSN_OPCODE_ATOMIC_CS || wr->opcode == BSN_OPCODE_ATOMIC_FA;

	if (wr->opcode > UINT8_MAX || wr->flags & ~(unsigned)BSN_F_ALL) {
		const int err = check_queue(ep);
		return err ? err
			   : refuse(wr->opcode > UINT8_MAX ? EOPNOTSUPP : EINVAL,
				    "no such opcode, or unknown flags");
	}
	if (is_atomic)
		return bsn_sq_post_atomic(ep, what, wr->sge, &wr->remote, operand, wr->id);
	return bsn_sq_post_sgl(ep, what, wr->sge, &wr->remote, imm_of(wr), wr->id);
}

/* -- prepared requests ---------------------------------------------------------------------------- */

static struct request request_of(struct bsn_ep *ep, const struct bsn_wr *wr,
				 const uint64_t *operand)
{
	const bool is_atomic =
		wr->opcode == BSN_OPCODE_ATOMIC_CS || wr->opcode == BSN_OPCODE_ATOMIC_FA;

	return (struct request){ .sq = ep->sq,
				 .peer = peer_of(ep),
				 .what = wr->opcode | wr->flags,
				 .imm = imm_of(wr),
				 .sge = wr->sge,
				 .count = wr->sge_count,
				 .remote = &wr->remote,
				 .operand = is_atomic ? operand : NULL,
				 .id = wr->id };
}

int bsn_prepare(struct bsn_ep *ep, const struct bsn_wr *wr, struct bsn_prepared *p)
{
	const uint64_t operand[2] = { wr->swap_add, wr->compare };
	struct bsn_ctrl ctrl = { .opcode = wr->opcode, .imm = imm_of(wr) };
	struct request r;
	int ds;

	if (!ep || !ep->sq)
		return refuse(EINVAL, "no endpoint");
	if (!ep->sq->ring && !ep->sq->path)
		return check_queue(ep);
	if (wr->opcode > UINT8_MAX || wr->flags & ~(unsigned)BSN_F_ALL)
		return refuse(EINVAL, "no such opcode, or unknown flags");
	r = request_of(ep, wr, operand);
	ds = measure(&r);
	if (ds < 0)
		return ds;
	ctrl.ds = (uint32_t)ds - (r.peer ? r.peer->prefix_ds : 0);
	if (ctrl.ds > BSN_BB_DS || wr->sge_count > BSN_PREPARED_SGE)
		return refuse(EMSGSIZE, "a prepared request is one basic block, without the peer's "
					"address");
	memset(p, 0, sizeof(*p));
	put_body((uint8_t *)p->body, &r);
	p->ctrl0 = bsn_to_be64(bsn_ctrl_word(&ctrl, 0));
	p->ctrl1 = bsn_to_be64(bsn_ctrl_word(&ctrl, 1));
	p->body_ds = ctrl.ds - 1;
	p->peer_ds = p->body_ds + (is_one_of(BSN_OPS_OF_READS, wr->opcode) ? BSN_PREPARED_READ : 0);
	p->wr = *wr;
	p->wr.sge = p->sge;
	if (wr->sge_count)
		memcpy(p->sge, wr->sge, wr->sge_count * sizeof(*wr->sge));
	return 0;
}

/* The request again, with its copied inline data. */
int bsn_sq_post_anew(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
{
	struct bsn_wr wr = p->wr;
	const struct bsn_sge copied = {
		.addr = (uintptr_t)p->body +
			(is_one_of(bsn_wqe_sets.with_raddr, p->wr.opcode) ? BSN_RADDR_SIZE : 0) +
			BSN_INLINE_HDR_SIZE,
		.length = (uint32_t)total_bytes(p->sge, p->wr.sge_count),
	};

	wr.id = id;
	wr.sge = p->sge;
	wr.flags = flags & ~(unsigned)BSN_F_INLINE;
	if (p->wr.flags & BSN_F_INLINE) {
		wr.flags |= BSN_F_INLINE;
		wr.sge = &copied;
		wr.sge_count = 1;
	}
	return bsn_sq_post_wr(ep, &wr);
}

static uint8_t *put_prepared(uint8_t *at, const void *body)
{
	const struct bsn_prepared *p = body;

	return put_bytes(at, p->body, p->body_ds * (size_t)BSN_DS_SIZE);
}

static __attribute__((noinline)) int post_prepared_any(struct bsn_ep *ep, const struct bsn_prepared *p,
						       uint64_t id, unsigned flags)
{
	struct request r;

	if (BSN_UNLIKELY(ep->sq->closed))
		return check_queue(ep);
	if (flags & ~(unsigned)BSN_F_ALL)
		return refuse(EINVAL, "unknown flags: a post takes BSN_F_*");
	if (ep->sq->slot > ep->sq->peer_limit && ep->sq->has_peers) {
		look_for_room(ep->sq, true);
		if (ep->sq->slot <= ep->sq->peer_limit) /* so it does not come here again */
			return bsn_peer_prepared(ep, p, id, flags);
	}
	r = (struct request){ .sq = ep->sq,
			      .peer = peer_of(ep),
			      .what = p->wr.opcode | (flags & ~(unsigned)BSN_F_INLINE),
			      .imm = imm_of(&p->wr),
			      .id = id };
	return post_measured(&r, 1 + p->body_ds + (r.peer ? r.peer->prefix_ds : 0), put_prepared,
			     p);
}

/* Of a queue with one peer, where the inline code has seen no room. */
static __attribute__((noinline)) int post_prepared_anew(struct bsn_ep *ep, const struct bsn_prepared *p,
						       uint64_t id, unsigned flags)
{
	return look_quickly(ep->sq, 1) ? bsn_build_prepared(ep, p, id, flags)
				       : post_prepared_any(ep, p, id, flags);
}

/* This one only chooses. */
int bsn_sq_post_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id,
			 unsigned flags)
{
	const struct bsn_sq *sq;

	if (BSN_UNLIKELY(!ep || !ep->sq))
		return check_queue(ep);
	sq = ep->sq;
	if (BSN_UNLIKELY(flags & ~(unsigned)BSN_F_ALL))
		return post_prepared_any(ep, p, id, flags);
	if (BSN_UNLIKELY(sq->path) && !sq->closed)
		return sq->path->post_prepared(ep, p, id, flags);
	return sq->has_peers || sq->slot <= sq->limit ? post_prepared_any(ep, p, id, flags)
						      : post_prepared_anew(ep, p, id, flags);
}

/* -- what is no message ----------------------------------------------------------------------------- */

void bsn_sq_find_room(struct bsn_sq *sq)
{
	if (!sq->closed && !sq->path)
		show_room(sq);
}

static int post_body(const struct bsn_sq_body *body, struct request *r)
{
	const unsigned ds = body->ds + (r->peer && !body->is_local ? r->peer->prefix_ds : 0);
	const int err = check_queue(&r->sq->ep);

	if (err)
		return err;
	if (body->what & UNKNOWN_FLAGS)
		return refuse(EINVAL, "unknown flags: a post takes BSN_F_*");
	if (bsn_bb_of_ds(ds) > r->sq->capacity_bb)
		return refuse(EMSGSIZE, "the queue does not have so many blocks: create it with a "
					"greater send_depth");
	r->what = body->what;
	r->imm = body->imm;
	r->opmod = body->opmod;
	r->is_local = body->is_local;
	return post_measured(r, ds, body->put, body->arg);
}

int bsn_sq_post_body(struct bsn_sq *sq, const struct bsn_sq_body *body, uint64_t id)
{
	struct request r = { .sq = sq, .id = id };

	return post_body(body, &r);
}

int bsn_ep_post_body(struct bsn_ep *ep, const struct bsn_sq_body *body, uint64_t id)
{
	struct request r = { .sq = ep->sq, .peer = peer_of(ep), .id = id };

	if (ep->sq->path && ep->sq->path->post_body)
		return ep->sq->path->post_body(ep, body, id);
	return post_body(body, &r);
}

/* -- taking back ----------------------------------------------------------------------------------- */

/* The fence of a WQE that pays @owed, and the fence that a WQE with this @fence may have paid. */
static unsigned add_fence(unsigned owed, unsigned fence)
{
	if (fence == BSN_FENCE_SMALL_AND_FENCE) /* it was asked for, and may have paid this besides */
		fence = BSN_FENCE_INITIATOR_SMALL;
	if (owed == fence || !fence)
		return owed;
	return owed ? BSN_FENCE_STRONG_ORDERING : fence;
}

/*
 * The fence that the next request owes once those from @first on are cancelled: one of them may have
 * paid what an earlier one owes. -EBUSY: a UMR is among them.
 */
static int fence_owed(const struct bsn_sq *sq, uint16_t first)
{
	unsigned fence = sq->next_fence;
	struct bsn_ctrl ctrl;

	for (uint16_t at = first; at != sq->pi; at = (uint16_t)(at + bsn_bb_of_ds(ctrl.ds))) {
		bsn_ctrl_decode(&ctrl, bsn_sq_slot_of(sq, at));
		if (ctrl.opcode == BSN_OPCODE_UMR)
			return refuse(EBUSY, "a UMR is among the appended requests, and its mkey "
					     "counts on it: ring");
		fence = add_fence(fence, ctrl.fence);
	}
	return (int)fence;
}

/* Nothing of it was published: neither the device nor a poller knows of it. */
int bsn_sq_cancel(struct bsn_sq *sq)
{
	uint16_t first, count;
	int fence;

	if (!sq)
		return refuse(EINVAL, "no send queue");
	if (sq->path)
		return sq->path->cancel(sq);
	if (sq->can & BSN_CAN_NOT_CANCEL)
		return refuse(EOPNOTSUPP, "the initiator has several streams, and some of the appended "
					  "requests may be another peer's: ring");
	first = bsn_sq_first_unrung(sq);
	count = (uint16_t)(sq->pi - first);
	fence = fence_owed(sq, first);
	if (fence < 0 || !count)
		return fence < 0 ? fence : 0;
	for (uint16_t at = first; at != sq->pi; at++)
		__atomic_store_n(&sq->hidden[at & sq->bb_mask], BSN_HIDDEN_NOT, __ATOMIC_RELAXED);
	sq->wide_pi = bsn_sq_wide_pi(sq) - count;
	bsn_sq_advance(sq, -(size_t)count * BSN_BB_SIZE);
	sq->slot = (uint8_t *)(uintptr_t)bsn_sq_slot_of(sq, first);
	sq->publish &= (uint8_t)~BSN_PUBLISH_APPENDED;
	sq->quiet = sq->signal_every ? 1 : sq->quiet; /* the turn may have been one of theirs */
	sq->next_fence = (uint8_t)fence;
	show_room(sq);
	return 0;
}

/* -- the end of a failed queue ------------------------------------------------------------------- */

bool bsn_sq_ends_quietly(struct bsn_sq *sq)
{
	struct bsn_ctrl ctrl = { .ce = BSN_CE_ALWAYS };

	refresh_retired(sq);
	for (uint16_t at = sq->retired; at != sq->pi; at = (uint16_t)(at + bsn_bb_of_ds(ctrl.ds)))
		bsn_ctrl_decode(&ctrl, bsn_sq_slot_of(sq, at));
	return ctrl.ce != BSN_CE_ALWAYS;
}

/*
 * A queue may be full of requests that succeeded in silence, and then nothing but the marker would
 * ever make room. So it may take the one block that the ring and, of a flush, the CQ have beyond what
 * was counted on.
 */
int bsn_sq_post_marker(struct bsn_sq *sq)
{
	const struct request r = { .sq = sq, .what = BSN_OPCODE_NOP | BSN_F_SIGNALED };

	if (bsn_sq_outstanding_bb(sq) > sq->bb_mask)
		return refuse(EAGAIN, "the send queue is full: poll its CQ");
	show_room(sq);
	hide_completion(sq, sq->pi, BSN_HIDDEN_ALWAYS);
	put_head(sq->slot, &r, 1);
	return commit(sq, NULL, 1, r.what | BSN_F_RING, 0);
}
