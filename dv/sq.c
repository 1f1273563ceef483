/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue, the cold way: requests that the inline code hands over. First come the shapes that
 * are common but not known to the compiler (post_list, post_data), then everything else (post_any),
 * which also serves the ring's wrap and says why a request is refused.
 */
#include "bsn_build.h"

#include "bsn_decode.h"
#include "init.h"
#include "sq.h"

/* -- credits ------------------------------------------------------------------------------------ */

/*
 * Takes over the last WQE that the poller saw done. It is still as it was built, since only this
 * function frees its slots. A CQE of something that is not outstanding makes no room.
 */
BSN_ALWAYS_INLINE void refresh_retired(struct bsn_sq *sq)
{
	const uint16_t done = __atomic_load_n(&sq->route.done, __ATOMIC_ACQUIRE); /* O6 */
	uint16_t retired;

	if (done == sq->seen_done)
		return;
	sq->seen_done = done;
	retired = (uint16_t)(done + bsn_sq_blocks_at(sq, done));
	if ((uint16_t)(sq->pi - retired) < (uint16_t)(sq->pi - sq->retired))
		sq->retired = retired;
}

BSN_ALWAYS_INLINE uint32_t count_outstanding(struct bsn_sq *sq)
{
	refresh_retired(sq);
	/* A full ring of 2^16 blocks does not exist: see the head of bsn_sq.h. */
	return (uint16_t)(sq->pi - sq->retired);
}

uint32_t bsn_sq_outstanding_bb(struct bsn_sq *sq)
{
	return count_outstanding(sq);
}

/* A marker may go beyond the capacity: see bsn_sq_post_marker(). */
BSN_ALWAYS_INLINE uint32_t free_blocks(struct bsn_sq *sq)
{
	const uint32_t outstanding = count_outstanding(sq);

	return outstanding < sq->capacity_bb ? sq->capacity_bb - outstanding : 0;
}

/*
 * Moves the slot from the ring's end to its start, and returns where the room of @free_bb blocks after it ends.
 * An index that came to 2^16, at a ring's end, or went back below 0, carried into the field above it.
 */
BSN_ALWAYS_INLINE uint8_t *find_limit(struct bsn_sq *sq, size_t free_bb)
{
	uint8_t *const slot = sq->slot == sq->ring_end ? sq->ring : sq->slot;
	uint8_t *const limit = slot + free_bb * BSN_BB_SIZE;

	sq->slot = slot;
	sq->ctrl_carry = 0;
	sq->wide_pi += (uint16_t)(sq->pi - (uint16_t)sq->wide_pi);
	return limit < sq->ring_end ? limit : sq->ring_end;
}

/* The queue is open, and owes no fence. */
BSN_ALWAYS_INLINE void set_limit(struct bsn_sq *sq, bool has_peers, uint8_t *limit)
{
	if (has_peers)
		sq->peer_limit = limit;
	else
		sq->limit = limit;
}

/* Sets the room that the inline code sees: none while a fence is owed or the queue is closed. */
static __attribute__((noinline)) void show_room(struct bsn_sq *sq)
{
	uint8_t *limit = find_limit(sq, free_blocks(sq));

	if (sq->closed || sq->path)
		limit = NULL;
	sq->limit = sq->has_peers || sq->next_fence ? NULL : limit;
	sq->peer_limit = sq->has_peers && !sq->next_fence ? limit : NULL;
	sq->fenced_limit = sq->has_peers || !sq->next_fence ? NULL : limit;
}

void bsn_sq_show_nothing(struct bsn_sq *sq)
{
	sq->limit = sq->peer_limit = sq->fenced_limit = NULL;
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
	sq->limit = sq->peer_limit = NULL;
}

/* A full queue has its appended requests published, else nothing would ever make room. */
static int refuse_full(struct bsn_sq *sq, uint32_t what)
{
	sq->count_full++;
	if (what & BSN_F_RING)
		bsn_sq_ring(sq);
	return refuse(EAGAIN, "the send queue is full: poll its CQ");
}

/*
 * Two threads that post through one lane without a lock tear each other's copies in silence. A look at
 * each post would cost too much; a look whenever credits are counted does not.
 */
static __attribute__((noinline)) void note_other_poster(struct bsn_lane *lane, uintptr_t self)
{
	if (lane->lock)
		return; /* any thread may come */
	if (__atomic_exchange_n(&lane->owner_thread, self, __ATOMIC_RELAXED))
		__atomic_fetch_add(&lane->count_posters, 1, __ATOMIC_RELAXED);
}

/* Whether it is the last one, or the first. */
BSN_ALWAYS_INLINE bool is_known_poster(struct bsn_lane *lane)
{
	const uintptr_t self = bsn_this_thread();
	uintptr_t none = 0;

	return BSN_LIKELY(__atomic_load_n(&lane->owner_thread, __ATOMIC_RELAXED) == self) ||
	       __atomic_compare_exchange_n(&lane->owner_thread, &none, self, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

BSN_ALWAYS_INLINE void note_poster(struct bsn_lane *lane)
{
	if (!is_known_poster(lane))
		note_other_poster(lane, bsn_this_thread());
}

/* Whether a request without a fence of its own may be posted. */
BSN_ALWAYS_INLINE bool is_open(const struct bsn_sq *sq)
{
	return BSN_LIKELY(!sq->closed && !sq->next_fence);
}

/*
 * There may be room although the inline code saw none: the poller has made some, or the slot is at the
 * ring's end. Then the request is like any other. The queue has a ring. This is inline and calls nothing,
 * so that a function that goes on to another one saves no register for it.
 */
BSN_ALWAYS_INLINE void look_for_room(struct bsn_sq *sq, bool has_peers)
{
	if (!is_open(sq))
		return;
	note_poster(sq->lane);
	set_limit(sq, has_peers, find_limit(sq, free_blocks(sq)));
}

/*
 * The same for the functions of the most common requests: whether there is room for @bb blocks in a queue of one peer,
 * in one piece or not; else one of the other functions has to look. It calls nothing, so that no register is saved.
 */
BSN_ALWAYS_INLINE bool look_quickly(struct bsn_sq *sq, uint32_t bb)
{
	uint32_t outstanding;

	if (BSN_UNLIKELY(!is_open(sq) || !is_known_poster(sq->lane)))
		return false;
	outstanding = count_outstanding(sq);
	if (BSN_UNLIKELY(outstanding + bb > sq->capacity_bb))
		return false;
	sq->limit = find_limit(sq, sq->capacity_bb - outstanding);
	return true;
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

/*
 * A caller that signals often enough needs no help: the number of outstanding blocks tells. The poller
 * learns of the first hidden completion before its CQE can come, since the WQE is not rung yet.
 */
static void hide_completion(struct bsn_sq *sq, enum bsn_hidden how)
{
	__atomic_store_n(&sq->hidden[sq->pi & sq->bb_mask], (uint8_t)how, __ATOMIC_RELAXED);
	if (sq->route.has_hidden & BSN_SENDS_HIDDEN)
		return;
	__atomic_store_n(&sq->route.has_hidden, sq->gives_results | BSN_SENDS_HIDDEN, __ATOMIC_RELAXED);
	__atomic_store_n(&sq->route.far_mask, BSN_FAR_ALL, __ATOMIC_RELEASE);
}

uint32_t bsn_sq_auto_signal(struct bsn_sq *sq)
{
	sq->quiet = sq->signal_every;
	if (!sq->signal_every || bsn_sq_outstanding_bb(sq) + 1 < sq->signal_every)
		return sq->ce_quiet;
	hide_completion(sq, BSN_HIDDEN_SUCCESS);
	return BSN_F_SIGNALED >> 8;
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

static unsigned opcode_of(uint32_t what)
{
	return what & 0xff;
}

static unsigned count_of(uint32_t what)
{
	return what >> BSN_WHAT_COUNT_SHIFT;
}

/* As in @what. */
#define UNKNOWN_FLAGS (BSN_WHAT_FLAGS & ~(uint32_t)BSN_F_ALL)

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
	if (!is_one_of(r->sq->ops, opcode))
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
static struct bsn_be64 fenced_ctrl1(struct bsn_sq *sq, uint32_t flags, uint32_t imm)
{
	struct bsn_be64 ctrl1 = bsn_ctrl1(sq, flags, imm);

	ctrl1.raw |= bsn_sq_owed_fence(sq, flags).raw;
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
	struct bsn_be64 ctrl1 = fenced_ctrl1(r->sq, r->what, r->imm);

	if (r->peer)
		ctrl1.raw |= r->peer->ctrl_bits;
	bsn_store_wqe(at, with_opmod(bsn_ctrl0(r->sq, opcode_of(r->what), ds), r->opmod));
	bsn_store_wqe(at + 8, ctrl1);
	at += BSN_CTRL_SIZE;
	if (!r->peer || r->is_local)
		return at;
	at = put_ds(at, bsn_ds_load(&r->peer->head));
	if (r->peer->prefix_ds > 1)
		at = put_bytes(at, r->peer->more, (r->peer->prefix_ds - 1) * (size_t)BSN_DS_SIZE);
	return at;
}

static void copy_ds(uint8_t *to, const uint8_t *from, size_t ds)
{
	const size_t bytes = ds * BSN_DS_SIZE;
	size_t at = 0;

	for (; at + BSN_BB_SIZE <= bytes; at += BSN_BB_SIZE)
		BSN_UNROLL for (size_t i = at; i < at + BSN_BB_SIZE; i += BSN_DS_SIZE)
			bsn_store_ds(to + i, bsn_ds_load(from + i));
	for (; at < bytes; at += BSN_DS_SIZE)
		bsn_store_ds(to + at, bsn_ds_load(from + at));
}

/* Copies a WQE that was built elsewhere, and that wraps, to both ends of the ring. */
static void copy_wrapped(struct bsn_sq *sq, const uint8_t *wqe, size_t ds)
{
	const size_t before = (size_t)(sq->ring_end - sq->slot) / BSN_DS_SIZE;

	copy_ds(sq->slot, wqe, before);
	copy_ds(sq->ring, wqe + before * BSN_DS_SIZE, ds - before);
}

/* The WQE of @ds units is in the ring. */
static int commit(struct bsn_sq *sq, const struct bsn_peer *peer, unsigned ds, uint32_t flags,
		  uint64_t id)
{
	if (peer)
		bsn_keep_peer_id(sq, sq->slot, peer, id);
	else
		bsn_keep_id(sq, sq->slot, ds, BSN_NEAR_DS, id);
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

/* -- common shapes that the compiler does not know ------------------------------------------------- */

static const struct bsn_peer *peer_of(const struct bsn_ep *ep)
{
	return ep->sq->has_peers ? (const struct bsn_peer *)(const void *)ep : NULL;
}

/* Units of a WQE, to a peer with @prefix_ds of them, of SGEs and of inline data. */
BSN_ALWAYS_INLINE unsigned head_ds(unsigned prefix_ds, uint32_t what)
{
	return 1 + prefix_ds + is_one_of(bsn_wqe_sets.with_raddr, opcode_of(what));
}

BSN_ALWAYS_INLINE unsigned list_ds(unsigned prefix_ds, uint32_t what)
{
	return head_ds(prefix_ds, what) + count_of(what);
}

BSN_ALWAYS_INLINE unsigned data_ds(unsigned prefix_ds, uint32_t what)
{
	return head_ds(prefix_ds, what) + bsn_inline_ds(count_of(what));
}

/* Where the room that is known ends. @peer: NULL: the queue has one. */
BSN_ALWAYS_INLINE uint8_t *limit_of(const struct bsn_sq *sq, const struct bsn_peer *peer)
{
	return peer ? sq->peer_limit : sq->limit;
}

BSN_ALWAYS_INLINE bool has_room(const struct bsn_sq *sq, const uint8_t *limit, unsigned ds)
{
	return bsn_fits(sq, limit, bsn_bytes_of_ds(ds));
}

/* SGEs that are all plain. @owes: a fence; the compiler knows. */
BSN_ALWAYS_INLINE int post_list(struct bsn_sq *sq, uint8_t *limit, bool owes,
				const struct bsn_peer *peer, unsigned prefix_ds, uint32_t what,
				const struct bsn_sge *sge, const struct bsn_remote *remote,
				uint32_t imm, uint64_t id)
{
	const unsigned count = count_of(what), opcode = opcode_of(what);
	const bool has_raddr = is_one_of(bsn_wqe_sets.with_raddr, opcode);
	const unsigned known = 1 + prefix_ds, ds = list_ds(prefix_ds, what);
	const size_t bytes = bsn_bytes_of_ds(ds);
	const struct bsn_sge *const end = sge + count;
	uint8_t *const wqe = sq->slot, *at = wqe + known * BSN_DS_SIZE;
	struct bsn_regs r;

	if (count - 1 >= sq->max_sge || !is_one_of(sq->ops & bsn_wqe_sets.with_list, opcode) ||
	    what & (BSN_F_INLINE | UNKNOWN_FLAGS))
		return BSN_NOT_PLAIN;
	if (!bsn_fits(sq, limit, bytes))
		return BSN_NO_ROOM;
	if (has_raddr)
		at = put_ds(at, bsn_ds_raddr(remote));
	do { /* the bytes after the slot are free */
		if (BSN_UNLIKELY((int32_t)sge->length <= 0))
			return BSN_NOT_PLAIN;
		at = put_ds(at, bsn_ds_data(sge++));
	} while (sge != end);
	bsn_sq_take(sq, &r, bytes);
	bsn_begin(&r, sq, peer, prefix_ds, opcode, ds, what, imm);
	if (owes) {
		r.ds[0].w1.raw |= bsn_sq_owed_fence(sq, what).raw;
		sq->next_fence = BSN_FENCE_NONE;
		sq->fenced_limit = NULL;
		sq->limit = limit;
	}
	return bsn_end(sq, wqe, peer, prefix_ds != 0, &r, known,
		       BSN_REST_SGES, ds, BSN_NEAR_DS, bytes, id, what);
}

/* One piece of inline data. @limit: of the queue's kind; @peer: NULL without a prefix. */
BSN_ALWAYS_INLINE int post_data(struct bsn_sq *sq, const uint8_t *limit,
				const struct bsn_peer *peer, unsigned prefix_ds, uint32_t what,
				const void *data, const struct bsn_remote *remote, bool has_raddr,
				uint32_t imm, uint64_t id)
{
	const unsigned length = count_of(what), opcode = opcode_of(what);

	return length <= BSN_DS_INLINE_MAX
		       ? bsn_put_data(sq, limit, peer, prefix_ds, opcode, data, length, 0, remote,
				      has_raddr, imm, id, what)
		       : bsn_put_long(sq, limit, peer, prefix_ds, opcode, data, length, 0, remote,
				      has_raddr, imm, id, what);
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

static __attribute__((noinline)) int post_sgl_cold(struct bsn_ep *ep, uint32_t what,
						   const struct bsn_sge *sge,
						   const struct bsn_remote *remote, uint32_t imm,
						   uint64_t id)
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

/* The first request after a UMR: it pays the fence that is owed. */
static __attribute__((noinline)) int post_sgl_fenced(struct bsn_ep *ep, uint32_t what,
						     const struct bsn_sge *sge,
						     const struct bsn_remote *remote, uint32_t imm,
						     uint64_t id)
{
	struct bsn_sq *sq = ep->sq;
	const int err = post_list(sq, sq->fenced_limit, true, NULL, 0, what, sge, remote, imm, id);

	return err > 0 ? post_sgl_cold(ep, what, sge, remote, imm, id) : err;
}

/*
 * A WQE of several blocks may begin at the ring's end and go on at its start. It is built beside the ring
 * by the same code, as one that is appended, and copied.
 */
struct beside {
	uint8_t wqe[BSN_SEND_MAX_DS * BSN_DS_SIZE] __attribute__((aligned(BSN_BB_SIZE)));
	uint8_t *slot;
	uint8_t *limit; /* of what is built here */
	uint32_t free_bb;
	uint8_t publish;
};

/* Whether nothing but the ring's end is in the way of a WQE that did not fit; a poller may make room meanwhile. */
BSN_ALWAYS_INLINE bool is_wrapping(const struct bsn_sq *sq, const struct bsn_peer *peer)
{
	return is_open(sq) && limit_of(sq, peer) == sq->ring_end;
}

/* The ids of a queue with many peers that @from has belong to @to. */
BSN_ALWAYS_INLINE void move_ids(struct bsn_sq *sq, const uint8_t *from, const uint8_t *to)
{
	if (sq->has_peers)
		sq->peer_ids += ((uintptr_t)from >> 2) - ((uintptr_t)to >> 2);
}

BSN_ALWAYS_INLINE void go_beside(struct bsn_sq *sq, struct beside *b)
{
	uint8_t *wqe = b->wqe;
	size_t bytes;

	BSN_HIDE(wqe); /* gcc 12 would warn of lengths that do not occur */
	b->free_bb = free_blocks(sq);
	bytes = (size_t)b->free_bb * BSN_BB_SIZE;
	b->slot = sq->slot;
	b->limit = wqe + (bytes < sizeof(b->wqe) ? bytes : sizeof(b->wqe));
	b->publish = sq->publish;
	sq->slot = wqe;
	move_ids(sq, b->slot, b->wqe);
}

/* Publishes what was built beside the ring and copied there, as bsn_publish(). */
BSN_ALWAYS_INLINE int publish_beside(struct bsn_sq *sq, const struct beside *b, size_t bytes)
{
	const struct bsn_regs none = { .moves_later = false };
	struct bsn_lane *lane;
	uint8_t *reg;

	if (b->publish != BSN_PUBLISH_8 || bytes > BSN_BF_BUFFER_BYTES)
		return bsn_sq_ring(sq);
	sq->publish = b->publish;
	lane = bsn_sq_open_register(sq);
	reg = lane->reg;
	bsn_copy(reg, b->wqe, bytes, &none, 0, BSN_REST_VECTORS, false);
	bsn_sq_close_register(lane, reg);
	return 0;
}

/* Comes back with what was built: @err is 0, or nothing was. */
BSN_ALWAYS_INLINE int come_back(struct bsn_sq *sq, const struct beside *b, int err, uint32_t what)
{
	const size_t bytes = (size_t)(sq->slot - b->wqe);
	struct bsn_ctrl ctrl;

	sq->slot = b->slot;
	move_ids(sq, b->wqe, b->slot);
	if (err)
		return err;
	bsn_ctrl_decode(&ctrl, b->wqe);
	copy_wrapped(sq, b->wqe, ctrl.ds);
	sq->last = (uint32_t)(uintptr_t)b->slot;
	sq->slot = sq->ring + (bytes - (size_t)(sq->ring_end - b->slot));
	set_limit(sq, sq->has_peers, find_limit(sq, b->free_bb - bytes / BSN_BB_SIZE));
	return what & BSN_F_RING ? publish_beside(sq, b, bytes) : 0;
}

/* @peer: NULL: the queue has one. */
BSN_ALWAYS_INLINE int post_list_to(struct bsn_sq *sq, uint8_t *limit, const struct bsn_peer *peer,
				   uint32_t what, const struct bsn_sge *sge,
				   const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	if (!peer)
		return post_list(sq, limit, false, NULL, 0, what, sge, remote, imm, id);
	return peer->prefix_ds == 3 ? post_list(sq, limit, false, peer, 3, what, sge, remote, imm, id)
				    : post_list(sq, limit, false, peer, 1, what, sge, remote, imm, id);
}

static __attribute__((noinline)) int post_sgl_across(struct bsn_ep *ep, uint32_t what,
						     const struct bsn_sge *sge,
						     const struct bsn_remote *remote, uint32_t imm,
						     uint64_t id)
{
	struct bsn_sq *sq = ep->sq;
	struct beside beside;
	int err;

	go_beside(sq, &beside);
	err = post_list_to(sq, beside.limit, peer_of(ep), what & ~(uint32_t)BSN_F_RING, sge, remote, imm, id);
	err = come_back(sq, &beside, err, what);
	return err > 0 ? post_sgl_cold(ep, what, sge, remote, imm, id) : err;
}

static __attribute__((noinline)) int post_sgl_straight(struct bsn_ep *ep, uint32_t what,
						       const struct bsn_sge *sge,
						       const struct bsn_remote *remote, uint32_t imm,
						       uint64_t id)
{
	const struct bsn_peer *peer = peer_of(ep);
	struct bsn_sq *sq = ep->sq;
	const int err = post_list_to(sq, limit_of(sq, peer), peer, what, sge, remote, imm, id);

	return err > 0 ? post_sgl_cold(ep, what, sge, remote, imm, id) : err;
}

/*
 * There was no room, or not enough, and it was counted anew. Here and in post_sgl_full() another function builds
 * the request, by a jump, so that no register is saved.
 */
static __attribute__((noinline)) int post_sgl_now(struct bsn_ep *ep, uint32_t what,
						  const struct bsn_sge *sge,
						  const struct bsn_remote *remote, uint32_t imm,
						  uint64_t id)
{
	const struct bsn_peer *peer = peer_of(ep);
	const struct bsn_sq *sq = ep->sq;

	if (peer ? has_room(sq, sq->peer_limit, list_ds(peer->prefix_ds, what))
		 : has_room(sq, sq->limit, list_ds(0, what)))
		return post_sgl_straight(ep, what, sge, remote, imm, id);
	return is_wrapping(sq, peer) ? post_sgl_across(ep, what, sge, remote, imm, id)
				     : post_sgl_cold(ep, what, sge, remote, imm, id);
}

static __attribute__((noinline)) int post_sgl_full(struct bsn_ep *ep, uint32_t what,
						   const struct bsn_sge *sge,
						   const struct bsn_remote *remote, uint32_t imm,
						   uint64_t id)
{
	look_for_room(ep->sq, ep->sq->has_peers);
	if (BSN_LIKELY(count_of(what) <= BSN_BB_DS - 2 && ep->sq->slot < ep->sq->limit)) /* one block */
		return post_sgl_straight(ep, what, sge, remote, imm, id);
	return post_sgl_now(ep, what, sge, remote, imm, id);
}

/* Queues with one peer. */
static __attribute__((noinline)) int post_sgl_one(struct bsn_ep *ep, uint32_t what,
						  const struct bsn_sge *sge,
						  const struct bsn_remote *remote, uint32_t imm,
						  uint64_t id)
{
	const int err = post_list_to(ep->sq, ep->sq->limit, NULL, what, sge, remote, imm, id);

	if (err <= 0)
		return err;
	return err == BSN_NO_ROOM ? post_sgl_full(ep, what, sge, remote, imm, id)
				  : post_sgl_cold(ep, what, sge, remote, imm, id);
}

/* To one of many peers; messages are the most common. */
static __attribute__((noinline)) int post_sgl_peer(struct bsn_ep *ep, uint32_t what,
						   const struct bsn_sge *sge,
						   const struct bsn_remote *remote, uint32_t imm,
						   uint64_t id)
{
	const int err =
		post_list_to(ep->sq, ep->sq->peer_limit, bsn_peer_of(ep), what, sge, remote, imm, id);

	if (err <= 0)
		return err;
	return err == BSN_NO_ROOM ? post_sgl_full(ep, what, sge, remote, imm, id)
				  : post_sgl_cold(ep, what, sge, remote, imm, id);
}

/* For queues with one peer. These two only choose, so that none of their registers need saving. */
static __attribute__((noinline)) int post_sgl_else(struct bsn_ep *ep, uint32_t what,
						   const struct bsn_sge *sge,
						   const struct bsn_remote *remote, uint32_t imm,
						   uint64_t id)
{
	const struct bsn_sq *sq = ep->sq;

	if (BSN_LIKELY(sq->slot < sq->limit))
		return post_sgl_one(ep, what, sge, remote, imm, id);
	return sq->fenced_limit ? post_sgl_fenced(ep, what, sge, remote, imm, id)
				: post_sgl_full(ep, what, sge, remote, imm, id);
}

static int post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	if (ep->sq->slot < ep->sq->peer_limit)
		return post_sgl_peer(ep, what, sge, remote, imm, id);
	return post_sgl_else(ep, what, sge, remote, imm, id);
}

/*
 * The most common requests by functions of their own, as the rows of struct bsn_sq_posts are: signaled, of one to
 * BSN_MAX_PLAIN_SGE SGEs or of inline data. The inline code builds them, but once a lap finds the ring's end, or has
 * used up the room that was counted.
 */

/* Whether it is one of these, and there is room for it. The compiler knows the count. */
BSN_ALWAYS_INLINE bool is_common(struct bsn_sq *sq, uint32_t what, const struct bsn_sge *sge, unsigned count,
				 unsigned ds, unsigned opcode, uint32_t flags)
{
	return BSN_LIKELY(what == BSN_WHAT(opcode, flags, count)) && bsn_are_plain(sge, count) &&
	       (count == 1 || BSN_LIKELY(count <= sq->max_sge)) && BSN_LIKELY(is_one_of(sq->ops, opcode)) &&
	       look_quickly(sq, bsn_bb_of_ds(ds));
}

/*
 * Ends a WQE of one or two blocks, all of it in registers. The second block is at the ring's start where the first is
 * at its end.
 */
BSN_ALWAYS_INLINE int end_split(struct bsn_sq *sq, const struct bsn_regs *r, unsigned ds, uint64_t id, uint32_t flags)
{
	const size_t bytes = bsn_bytes_of_ds(ds);
	uint8_t *const wqe = sq->slot;
	uint8_t *const after = wqe + BSN_BB_SIZE;
	uint8_t *const second = bytes > BSN_BB_SIZE && after == sq->ring_end ? sq->ring : after;

	BSN_UNROLL for (unsigned i = 0; i < ds && i < BSN_BB_DS; i++)
		bsn_store_ds(wqe + i * BSN_DS_SIZE, r->ds[i]);
	BSN_UNROLL for (unsigned i = BSN_BB_DS; i < ds; i++)
		bsn_store_ds(second + (i - BSN_BB_DS) * BSN_DS_SIZE, r->ds[i]);
	bsn_keep_id(sq, wqe, ds, BSN_NEAR_DS, id);
	bsn_sq_advance(sq, bytes);
	sq->slot = bytes > BSN_BB_SIZE ? second + BSN_BB_SIZE : after;
	if (second != after)
		sq->limit = sq->slot; /* the next one looks */
	if (flags & BSN_F_RING)
		return bsn_publish(sq, wqe, bytes, r, ds, BSN_REST_NONE);
	bsn_sq_append(sq, wqe);
	return 0;
}

/* Of several SGEs, for which there is room. */
BSN_ALWAYS_INLINE int put_several(struct bsn_sq *sq, const struct bsn_sge *sge, unsigned count,
				  const struct bsn_remote *remote, uint32_t imm, uint64_t id, unsigned opcode,
				  bool has_raddr, uint32_t flags)
{
	const unsigned ds = 1 + has_raddr + count;
	struct bsn_regs r;

	if (has_raddr)
		r.ds[1] = bsn_ds_raddr(remote);
	BSN_UNROLL for (unsigned i = 0; i < count; i++)
		r.ds[1 + has_raddr + i] = bsn_ds_plain(&sge[i]);
	bsn_begin(&r, sq, NULL, 0, opcode, ds, flags, imm);
	return end_split(sq, &r, ds, id, flags);
}

#define POST_PARAMETERS(data)                                                                      \
	struct bsn_ep *ep, uint32_t what, const data, const struct bsn_remote *remote, uint32_t imm, uint64_t id
#define POST_ONE(name, opcode, has_raddr, flags)                                                   \
	static int name(POST_PARAMETERS(struct bsn_sge *sge))                                      \
	{                                                                                          \
		if (is_common(ep->sq, what, sge, 1, 2 + has_raddr, opcode, flags))                 \
			return bsn_put_sges(ep->sq, NULL, 0, opcode, sge, 1, false, remote, has_raddr, imm, id, flags); \
		return ep->sq->fenced_limit ? post_sgl_fenced(ep, what, sge, remote, imm, id)      \
					    : post_sgl(ep, what, sge, remote, imm, id);            \
	}
#define POST_SEVERAL(name, opcode, has_raddr, flags, count)                                        \
	static __attribute__((noinline)) int name##count(POST_PARAMETERS(struct bsn_sge *sge))     \
	{                                                                                          \
		if (is_common(ep->sq, what, sge, count, 1 + has_raddr + count, opcode, flags))     \
			return put_several(ep->sq, sge, count, remote, imm, id, opcode, has_raddr, flags); \
		return post_sgl(ep, what, sge, remote, imm, id);                                   \
	}
#define POST_LIST(name, opcode, has_raddr, flags)                                                  \
	POST_SEVERAL(name, opcode, has_raddr, flags, 2)                                            \
	POST_SEVERAL(name, opcode, has_raddr, flags, 3)                                            \
	POST_SEVERAL(name, opcode, has_raddr, flags, 4)                                            \
	static int name(POST_PARAMETERS(struct bsn_sge *sge))                                      \
	{                                                                                          \
		switch (count_of(what)) {                                                          \
		case 2: return name##2(ep, what, sge, remote, imm, id);                            \
		case 3: return name##3(ep, what, sge, remote, imm, id);                            \
		case 4: return name##4(ep, what, sge, remote, imm, id);                            \
		default: return post_sgl(ep, what, sge, remote, imm, id);                          \
		}                                                                                  \
	}
#define BOTH(post, name, opcode, has_raddr)                                                        \
	post(name, opcode, has_raddr, (uint32_t)BSN_F_SIGNALED)                                    \
	post(name##_rung, opcode, has_raddr, (uint32_t)(BSN_F_SIGNALED | BSN_F_RING))
BOTH(POST_ONE, post_read, BSN_OPCODE_RDMA_READ, true)
BOTH(POST_ONE, post_send_inval, BSN_OPCODE_SEND_INVAL, false)
BOTH(POST_ONE, post_write, BSN_OPCODE_RDMA_WRITE, true)
BOTH(POST_ONE, post_write_imm, BSN_OPCODE_RDMA_WRITE_IMM, true)
BOTH(POST_ONE, post_send, BSN_OPCODE_SEND, false)
BOTH(POST_ONE, post_send_imm, BSN_OPCODE_SEND_IMM, false)
BOTH(POST_LIST, post_reads, BSN_OPCODE_RDMA_READ, true)
BOTH(POST_LIST, post_writes, BSN_OPCODE_RDMA_WRITE, true)
BOTH(POST_LIST, post_sends, BSN_OPCODE_SEND, false)

int bsn_sq_post_sgl(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	if (BSN_UNLIKELY(!ep || !ep->sq))
		return post_sgl_cold(ep, what, sge, remote, imm, id);
	if (BSN_UNLIKELY(ep->sq->path) && !ep->sq->closed)
		return ep->sq->path->post_sgl(ep, what, sge, remote, imm, id);
	return post_sgl(ep, what, sge, remote, imm, id);
}

static __attribute__((noinline)) int post_inline_cold(struct bsn_ep *ep, uint32_t what,
						      const void *data,
						      const struct bsn_remote *remote, uint32_t imm,
						      uint64_t id)
{
	const struct bsn_sge sge = { (uintptr_t)data, count_of(what), 0 };
	const uint32_t rest = what & ((1u << BSN_WHAT_COUNT_SHIFT) - 1);

	return post_sgl_cold(ep, BSN_WHAT(rest, 0, 1), &sge, remote, imm, id);
}

static bool takes_inline(const struct bsn_sq *sq, uint32_t what)
{
	return is_one_of(sq->ops & bsn_wqe_sets.with_gather, opcode_of(what)) &&
	       !(what & UNKNOWN_FLAGS);
}

/* @peer: NULL: the queue has one. */
BSN_ALWAYS_INLINE int post_data_to(struct bsn_sq *sq, const uint8_t *limit, const struct bsn_peer *peer,
				   uint32_t what, const void *data, const struct bsn_remote *remote,
				   uint32_t imm, uint64_t id)
{
	const bool has_raddr = is_one_of(bsn_wqe_sets.with_raddr, opcode_of(what));

	if (!takes_inline(sq, what))
		return BSN_NOT_PLAIN; /* another says why */
#define POST_DATA(peer, prefix_ds)                                                                 \
	(has_raddr ? post_data(sq, limit, peer, prefix_ds, what, data, remote, true, imm, id)      \
		   : post_data(sq, limit, peer, prefix_ds, what, data, NULL, false, imm, id))
	if (!peer)
		return POST_DATA(NULL, 0);
	return peer->prefix_ds == 3 ? POST_DATA(peer, 3) : POST_DATA(peer, 1);
#undef POST_DATA
}

static __attribute__((noinline)) int post_inline_across(struct bsn_ep *ep, uint32_t what,
							const void *data,
							const struct bsn_remote *remote, uint32_t imm,
							uint64_t id)
{
	struct bsn_sq *sq = ep->sq;
	struct beside beside;
	int err;

	go_beside(sq, &beside);
	err = post_data_to(sq, beside.limit, peer_of(ep), what & ~(uint32_t)BSN_F_RING, data, remote, imm, id);
	err = come_back(sq, &beside, err, what);
	return err > 0 ? post_inline_cold(ep, what, data, remote, imm, id) : err;
}

static __attribute__((noinline)) int post_inline_straight(struct bsn_ep *ep, uint32_t what,
							  const void *data,
							  const struct bsn_remote *remote, uint32_t imm,
							  uint64_t id)
{
	const struct bsn_peer *peer = peer_of(ep);
	struct bsn_sq *sq = ep->sq;
	const int err = post_data_to(sq, limit_of(sq, peer), peer, what, data, remote, imm, id);

	return err > 0 ? post_inline_cold(ep, what, data, remote, imm, id) : err;
}

static __attribute__((noinline)) int post_inline_now(struct bsn_ep *ep, uint32_t what,
						     const void *data,
						     const struct bsn_remote *remote, uint32_t imm,
						     uint64_t id)
{
	const struct bsn_peer *peer = peer_of(ep);
	const struct bsn_sq *sq = ep->sq;

	if (peer ? has_room(sq, sq->peer_limit, data_ds(peer->prefix_ds, what))
		 : has_room(sq, sq->limit, data_ds(0, what)))
		return post_inline_straight(ep, what, data, remote, imm, id);
	return is_wrapping(sq, peer) ? post_inline_across(ep, what, data, remote, imm, id)
				     : post_inline_cold(ep, what, data, remote, imm, id);
}

/* There was no room, or not enough. */
static __attribute__((noinline)) int post_inline_full(struct bsn_ep *ep, uint32_t what,
						      const void *data,
						      const struct bsn_remote *remote, uint32_t imm,
						      uint64_t id)
{
	look_for_room(ep->sq, ep->sq->has_peers);
	if (BSN_LIKELY(count_of(what) <= BSN_DS_INLINE_MAX && ep->sq->slot < ep->sq->limit)) /* one block */
		return post_inline_straight(ep, what, data, remote, imm, id);
	return post_inline_now(ep, what, data, remote, imm, id);
}

static __attribute__((noinline)) int post_inline_peer(struct bsn_ep *ep, uint32_t what,
						      const void *data,
						      const struct bsn_remote *remote, uint32_t imm,
						      uint64_t id)
{
	const int err =
		post_data_to(ep->sq, ep->sq->peer_limit, bsn_peer_of(ep), what, data, remote, imm, id);

	if (err <= 0)
		return err;
	return err == BSN_NO_ROOM ? post_inline_full(ep, what, data, remote, imm, id)
				  : post_inline_cold(ep, what, data, remote, imm, id);
}

static __attribute__((noinline)) int post_inline_one(struct bsn_ep *ep, uint32_t what,
						     const void *data,
						     const struct bsn_remote *remote, uint32_t imm,
						     uint64_t id)
{
	const int err = post_data_to(ep->sq, ep->sq->limit, NULL, what, data, remote, imm, id);

	if (err <= 0)
		return err;
	return err == BSN_NO_ROOM ? post_inline_full(ep, what, data, remote, imm, id)
				  : post_inline_cold(ep, what, data, remote, imm, id);
}

static int post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
		       const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	if (ep->sq->slot < ep->sq->peer_limit)
		return post_inline_peer(ep, what, data, remote, imm, id);
	if (ep->sq->slot < ep->sq->limit)
		return post_inline_one(ep, what, data, remote, imm, id);
	return post_inline_full(ep, what, data, remote, imm, id);
}

/* Inline data that begin at the ring's end and go on at its start. */
BSN_ALWAYS_INLINE int put_piece_across(struct bsn_sq *sq, uint32_t what, const void *data,
				       const struct bsn_remote *remote, uint32_t imm, uint64_t id, unsigned opcode,
				       bool has_raddr, uint32_t flags)
{
	struct beside beside;
	int err;

	go_beside(sq, &beside);
	err = bsn_put_data(sq, beside.limit, NULL, 0, opcode, data, count_of(what), 0, remote, has_raddr, imm, id,
			   flags & ~(uint32_t)BSN_F_RING);
	return come_back(sq, &beside, err, flags);
}

/* The most common pieces of inline data. */
#define POST_PIECE(name, opcode, has_raddr, flags)                                                 \
	static __attribute__((noinline)) int name##_across(POST_PARAMETERS(void *data))            \
	{                                                                                          \
		const int err = put_piece_across(ep->sq, what, data, remote, imm, id, opcode, has_raddr, flags); \
                                                                                                   \
		return err > 0 ? post_inline_cold(ep, what, data, remote, imm, id) : err;          \
	}                                                                                          \
	static __attribute__((noinline)) int name##_anew(POST_PARAMETERS(void *data))              \
	{                                                                                          \
		const int err = look_quickly(ep->sq, 1)                                            \
					? bsn_put_data(ep->sq, ep->sq->limit, NULL, 0, opcode, data, \
						       count_of(what), 0, remote, has_raddr, imm, id, flags) \
					: BSN_NO_ROOM;                                             \
                                                                                                   \
		return err > 0 ? post_inline(ep, what, data, remote, imm, id) : err;               \
	}                                                                                          \
	static int name(POST_PARAMETERS(void *data))                                               \
	{                                                                                          \
		const uint32_t shape = what & ((1u << BSN_WHAT_COUNT_SHIFT) - 1);                  \
		const struct bsn_sq *sq = ep->sq;                                                  \
                                                                                                   \
		if (BSN_UNLIKELY(shape != BSN_WHAT(opcode, flags | BSN_F_INLINE, 0u)))             \
			return post_inline(ep, what, data, remote, imm, id);                       \
		return sq->slot < sq->limit && is_wrapping(sq, NULL)                               \
			       ? name##_across(ep, what, data, remote, imm, id)                    \
			       : name##_anew(ep, what, data, remote, imm, id);                     \
	}
BOTH(POST_PIECE, post_write_piece, BSN_OPCODE_RDMA_WRITE, true)
BOTH(POST_PIECE, post_send_piece, BSN_OPCODE_SEND, false)

int bsn_sq_post_inline(struct bsn_ep *ep, uint32_t what, const void *data,
		       const struct bsn_remote *remote, uint32_t imm, uint64_t id)
{
	if (BSN_UNLIKELY(!ep || !ep->sq))
		return post_inline_cold(ep, what, data, remote, imm, id);
	if (BSN_UNLIKELY(ep->sq->path) && !ep->sq->closed)
		return ep->sq->path->post_inline(ep, what, data, remote, imm, id);
	return post_inline(ep, what, data, remote, imm, id);
}

int bsn_sq_post_piece(struct bsn_ep *ep, uint64_t w1, const struct bsn_remote *remote, uint64_t w0,
		      uint64_t what, uint64_t id)
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

int bsn_sq_post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id)
{
	const int err = check_queue(ep);
	struct request r;

	if (err)
		return err;
	if (ep->sq->path)
		return ep->sq->path->post_atomic(ep, what, sge, remote, operand, id);
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

/* -- one of many peers: what the inline code left ---------------------------------------------------- */

/*
 * Most often it left a plain request, since the room that was counted is used up: once a lap, or at every second post
 * where the queue takes one request at a time. Room is counted again, and the function that the inline code has for
 * such requests builds it, by a jump. None of those comes back here. What the library has to signal goes the cold
 * way at once.
 */

/* Most requests take two blocks at the most, whatever the peer's address vector. */
BSN_ALWAYS_INLINE bool has_two_blocks(const struct bsn_sq *sq)
{
	return bsn_fits(sq, sq->peer_limit, 2 * BSN_BB_SIZE);
}

BSN_ALWAYS_INLINE bool has_peer_block(const struct bsn_sq *sq)
{
	return bsn_fits(sq, sq->peer_limit, BSN_BB_SIZE);
}

typedef int sgl_post(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge, const struct bsn_remote *remote,
		     uint32_t imm, uint64_t id);

/* SGEs, with any flags. The compiler knows @kind, here and below. */
BSN_ALWAYS_INLINE int post_peer_any(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
				    const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				    const struct bsn_kind *kind)
{
	struct bsn_sq *sq = ep->sq;

#define POST_RUNG(count)                                                                           \
	if (kind == &bsn_kind_write && what == BSN_WHAT(BSN_OPCODE_RDMA_WRITE, BSN_F_RUNG, count##u)) \
		return bsn_peer_write_rung##count(ep, sq, sge, remote, sq->slot, id);              \
	if (kind == &bsn_kind_read && what == BSN_WHAT(BSN_OPCODE_RDMA_READ, BSN_F_RUNG, count##u)) \
		return bsn_peer_read_rung##count(ep, sq, sge, remote, sq->slot, id);
	POST_RUNG(2)
	POST_RUNG(3)
	POST_RUNG(4)
#undef POST_RUNG
	if (BSN_UNLIKELY(opcode_of(what) != kind->opcode || what & (BSN_F_INLINE | UNKNOWN_FLAGS)) ||
	    bsn_is_due(sq, what))
		return post_sgl(ep, what, sge, remote, imm, id);
	if (count_of(what) == 1 && has_peer_block(sq) && bsn_are_plain(sge, 1))
		return bsn_post_piece(ep, kind, bsn_ds_data(sge), remote, id, imm, what & BSN_F_PLAIN);
	if (kind->has_remote && count_of(what) == 2)
		return bsn_peer_rdma2(ep, what, sge, remote, imm, id);
	if (kind->has_remote && count_of(what) == 3)
		return bsn_peer_rdma3(ep, what, sge, remote, imm, id);
	if (kind->has_remote && count_of(what) == 4)
		return bsn_peer_rdma4(ep, what, sge, remote, imm, id);
	return post_sgl(ep, what, sge, remote, imm, id);
}

/* One SGE, with these @flags, as @otherwise where there are more or others. */
BSN_ALWAYS_INLINE int post_peer_one(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
				    const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				    const struct bsn_kind *kind, uint32_t flags, sgl_post *otherwise)
{
	if (what != BSN_WHAT(kind->opcode, flags, 1u))
		return otherwise(ep, what, sge, remote, imm, id);
	if (bsn_is_due(ep->sq, flags) || !has_peer_block(ep->sq) || !bsn_are_plain(sge, 1))
		return post_sgl(ep, BSN_WHAT(kind->opcode, flags, 1u), sge, remote, imm, id);
	return bsn_post_piece(ep, kind, bsn_ds_data(sge), remote, id, imm, flags);
}

/* Inline data of an RDMA request, of more than a DS. */
BSN_ALWAYS_INLINE int post_peer_beyond(struct bsn_ep *ep, unsigned opcode, uint32_t what, uint32_t flags,
				       const void *data, const struct bsn_remote *remote, uint32_t imm,
				       uint64_t id)
{
	const int err = bsn_try_peer_inline(ep, opcode, data, count_of(what), remote, imm, id, flags);

	return err > 0 ? post_inline(ep, what, data, remote, imm, id) : err;
}

static __attribute__((noinline)) int post_peer_long(struct bsn_ep *ep, uint32_t what, const void *data,
						    const struct bsn_remote *remote, uint32_t imm,
						    uint64_t id)
{
	return post_peer_beyond(ep, opcode_of(what), what, what, data, remote, imm, id);
}

static __attribute__((noinline)) int post_peer_long_write(struct bsn_ep *ep, uint32_t what, const void *data,
							  const struct bsn_remote *remote, uint32_t imm,
							  uint64_t id)
{
	return post_peer_beyond(ep, BSN_OPCODE_RDMA_WRITE, what, BSN_F_RUNG, data, remote, imm, id);
}

/* Inline data; most often it is one DS, with these @flags. */
BSN_ALWAYS_INLINE int post_peer_data(struct bsn_ep *ep, uint32_t what, const void *data,
				     const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				     const struct bsn_kind *kind, uint32_t flags)
{
	const uint32_t rest = what - BSN_WHAT(kind->opcode, flags | BSN_F_INLINE, 0u);
	const uint32_t length = rest >> BSN_WHAT_COUNT_SHIFT;

	if (rest & ((1u << BSN_WHAT_COUNT_SHIFT) - 1) || !has_peer_block(ep->sq))
		return post_inline(ep, what, data, remote, imm, id);
	if (length - 1 >= BSN_DS_INLINE_MAX)
		return kind == &bsn_kind_write && flags == BSN_F_RUNG ?
			       post_peer_long_write(ep, what, data, remote, imm, id) :
		       kind->has_remote ? post_peer_long(ep, what, data, remote, imm, id) :
					  post_inline(ep, what, data, remote, imm, id);
	return bsn_post_piece(ep, kind, bsn_ds_short((const uint8_t *)data, length), remote, id, imm, flags);
}

/* Two functions each: the first one, which finds room, saves no register for the other one. */
#define POST_PEER_TWICE(name, type, ...)                                                           \
	static __attribute__((noinline)) int name##_anew(                                          \
		struct bsn_ep *ep, uint32_t what, const type *data,                                \
		const struct bsn_remote *remote, uint32_t imm, uint64_t id)                        \
	{                                                                                          \
		look_for_room(ep->sq, true);                                                       \
		return __VA_ARGS__;                                                                \
	}                                                                                          \
	static __attribute__((noinline)) int name(struct bsn_ep *ep, uint32_t what,                \
						  const type *data,                                \
						  const struct bsn_remote *remote, uint32_t imm,   \
						  uint64_t id)                                     \
	{                                                                                          \
		if (!has_two_blocks(ep->sq))                                                       \
			return name##_anew(ep, what, data, remote, imm, id);                       \
		return __VA_ARGS__;                                                                \
	}
#define POST_PEER_ANY(name)                                                                        \
	static __attribute__((noinline)) int post_peer_##name##_any(                               \
		struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,                       \
		const struct bsn_remote *remote, uint32_t imm, uint64_t id)                        \
	{                                                                                          \
		return post_peer_any(ep, what, sge, remote, imm, id, &bsn_kind_##name);            \
	}
#define POST_PEER_ONE(name, after, flags)                                                          \
	POST_PEER_TWICE(post_peer_##name##after, struct bsn_sge,                                   \
			post_peer_one(ep, what, data, remote, imm, id, &bsn_kind_##name, flags,    \
				      post_peer_##name##_any))
#define POST_PEER_DATA(name, after, flags)                                                         \
	POST_PEER_TWICE(post_peer_##name##_data##after, void,                                      \
			post_peer_data(ep, what, data, remote, imm, id, &bsn_kind_##name, flags))
#define POST_PEER(name)                                                                            \
	POST_PEER_ANY(name)                                                                        \
	POST_PEER_ONE(name, _quiet, 0u)                                                            \
	POST_PEER_ONE(name, _quiet_rung, (uint32_t)BSN_F_RING)                                     \
	POST_PEER_ONE(name, , (uint32_t)BSN_F_SIGNALED)                                            \
	POST_PEER_ONE(name, _rung, BSN_F_RUNG)
#define POST_PEER_DATAS(name)                                                                      \
	POST_PEER_DATA(name, , (uint32_t)BSN_F_SIGNALED)                                           \
	POST_PEER_DATA(name, _rung, BSN_F_RUNG)
POST_PEER(read)
POST_PEER(send_inval)
POST_PEER(write)
POST_PEER(write_imm)
POST_PEER(send)
POST_PEER(send_imm)
POST_PEER_DATAS(write)
POST_PEER_DATAS(write_imm)
POST_PEER_DATAS(send)
POST_PEER_DATAS(send_imm)
#undef POST_PEER_DATAS
#undef POST_PEER
#undef POST_PEER_DATA
#undef POST_PEER_ONE
#undef POST_PEER_ANY
#undef POST_PEER_TWICE

/* The inline code's functions cannot fail where there are two blocks and the queue has the operation. */
BSN_ALWAYS_INLINE int post_peer_atomic_now(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
					   const struct bsn_remote *remote, const uint64_t operand[2],
					   uint64_t id)
{
	if (what == BSN_WHAT(BSN_OPCODE_ATOMIC_FA, BSN_F_RUNG, 1u) && is_one_of(ep->sq->ops, BSN_OPCODE_ATOMIC_FA))
		return bsn_peer_fetch_add_rung(ep, operand[0], sge, remote, operand[1], id);
	if (what == BSN_WHAT(BSN_OPCODE_ATOMIC_CS, BSN_F_RUNG, 1u) && is_one_of(ep->sq->ops, BSN_OPCODE_ATOMIC_CS))
		return bsn_peer_cmp_swap_rung(ep, operand[0], sge, remote, operand[1], id);
	return bsn_sq_post_atomic(ep, what, sge, remote, operand, id);
}

static __attribute__((noinline)) int post_peer_atomic_anew(struct bsn_ep *ep, uint32_t what,
							   const struct bsn_sge *sge,
							   const struct bsn_remote *remote,
							   const uint64_t operand[2], uint64_t id)
{
	look_for_room(ep->sq, true);
	return has_two_blocks(ep->sq) ? post_peer_atomic_now(ep, what, sge, remote, operand, id) :
					bsn_sq_post_atomic(ep, what, sge, remote, operand, id);
}

static int post_peer_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			    const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id)
{
	if (!has_two_blocks(ep->sq))
		return post_peer_atomic_anew(ep, what, sge, remote, operand, id);
	return post_peer_atomic_now(ep, what, sge, remote, operand, id);
}

#define FOUR(f) f, f, f, f
#define ALL(f)  { FOUR(f), FOUR(f), FOUR(f), FOUR(f) }
_Static_assert(BSN_POST_ROWS == 16, "each row has its function");
#define ROW(opcode, name)                                                                          \
	[BSN_POST_ROW(opcode, 0)] = name, [BSN_POST_ROW(opcode, BSN_F_RING)] = name##_rung
#define ROWS_ELSE(row, name) [row] = name, [(row) + BSN_POST_ROWS / 2] = name
const struct bsn_sq_posts bsn_sq_posts_mlx5 = {
	.one = { ROW(BSN_OPCODE_RDMA_READ, post_read), ROW(BSN_OPCODE_SEND_INVAL, post_send_inval),
		 ROW(BSN_OPCODE_RDMA_WRITE, post_write), ROW(BSN_OPCODE_RDMA_WRITE_IMM, post_write_imm),
		 ROW(BSN_OPCODE_SEND, post_send), ROW(BSN_OPCODE_SEND_IMM, post_send_imm), ROWS_ELSE(2, post_sgl),
		 ROWS_ELSE(3, post_sgl) },
	.sgl = { ROW(BSN_OPCODE_RDMA_READ, post_reads), ROW(BSN_OPCODE_RDMA_WRITE, post_writes),
		 ROW(BSN_OPCODE_SEND, post_sends), ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_SEND_INVAL, 0), post_sgl),
		 ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_RDMA_WRITE_IMM, 0), post_sgl),
		 ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_SEND_IMM, 0), post_sgl), ROWS_ELSE(2, post_sgl),
		 ROWS_ELSE(3, post_sgl) },
	.piece = { ROW(BSN_OPCODE_RDMA_WRITE, post_write_piece), ROW(BSN_OPCODE_SEND, post_send_piece),
		   ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_RDMA_READ, 0), post_inline),
		   ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_SEND_INVAL, 0), post_inline),
		   ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_RDMA_WRITE_IMM, 0), post_inline),
		   ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_SEND_IMM, 0), post_inline), ROWS_ELSE(2, post_inline),
		   ROWS_ELSE(3, post_inline) },
	.atomic = bsn_sq_post_atomic,
};
const struct bsn_sq_posts bsn_sq_posts_any = { .one = ALL(bsn_sq_post_sgl),
					       .sgl = ALL(bsn_sq_post_sgl),
					       .piece = ALL(bsn_sq_post_inline),
					       .atomic = bsn_sq_post_atomic };
const struct bsn_sq_posts bsn_sq_posts_peers = {
	.one = { ROW(BSN_OPCODE_RDMA_READ, post_peer_read), ROW(BSN_OPCODE_SEND_INVAL, post_peer_send_inval),
		 ROW(BSN_OPCODE_RDMA_WRITE, post_peer_write), ROW(BSN_OPCODE_RDMA_WRITE_IMM, post_peer_write_imm),
		 ROW(BSN_OPCODE_SEND, post_peer_send), ROW(BSN_OPCODE_SEND_IMM, post_peer_send_imm),
		 ROWS_ELSE(2, post_sgl), ROWS_ELSE(3, post_sgl) },
	.sgl = { ROW(BSN_OPCODE_RDMA_READ, post_peer_read_quiet),
		 ROW(BSN_OPCODE_SEND_INVAL, post_peer_send_inval_quiet),
		 ROW(BSN_OPCODE_RDMA_WRITE, post_peer_write_quiet),
		 ROW(BSN_OPCODE_RDMA_WRITE_IMM, post_peer_write_imm_quiet), ROW(BSN_OPCODE_SEND, post_peer_send_quiet),
		 ROW(BSN_OPCODE_SEND_IMM, post_peer_send_imm_quiet), ROWS_ELSE(2, post_sgl), ROWS_ELSE(3, post_sgl) },
	.piece = { ROW(BSN_OPCODE_RDMA_WRITE, post_peer_write_data),
		   ROW(BSN_OPCODE_RDMA_WRITE_IMM, post_peer_write_imm_data), ROW(BSN_OPCODE_SEND, post_peer_send_data),
		   ROW(BSN_OPCODE_SEND_IMM, post_peer_send_imm_data),
		   ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_RDMA_READ, 0), post_inline),
		   ROWS_ELSE(BSN_POST_ROW(BSN_OPCODE_SEND_INVAL, 0), post_inline), ROWS_ELSE(2, post_inline),
		   ROWS_ELSE(3, post_inline) },
	.atomic = post_peer_atomic,
};
#undef ROWS_ELSE
#undef ROW
#undef ALL
#undef FOUR

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
	p->wr = *wr;
	p->wr.sge = p->sge;
	if (wr->sge_count)
		memcpy(p->sge, wr->sge, wr->sge_count * sizeof(*wr->sge));
	return 0;
}

/* For paths whose requests are not bytes: the request again, with its copied inline data. */
static int post_again(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
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
	if (ep->sq->path)
		return post_again(ep, p, id, flags);
	if (ep->sq->slot >= ep->sq->peer_limit && ep->sq->has_peers) {
		look_for_room(ep->sq, true);
		if (ep->sq->slot < ep->sq->peer_limit) /* so it does not come here again */
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
	if (sq->can & BSN_CAN_BY_PATH && !sq->closed)
		return ((const struct bsn_sq_body_path *)sq->path)->post_prepared(ep, p, id, flags);
	return sq->path || sq->has_peers || sq->slot < sq->limit ? post_prepared_any(ep, p, id, flags)
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

	if (ep->sq->can & BSN_CAN_BY_PATH)
		return ((const struct bsn_sq_body_path *)ep->sq->path)->post_body(ep, body, id);
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
	hide_completion(sq, BSN_HIDDEN_ALWAYS);
	put_head(sq->slot, &r, 1);
	return commit(sq, NULL, 1, BSN_F_RING, 0);
}
