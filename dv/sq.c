/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue, the cold way: requests that the inline code hands over. First come the shapes that
 * are common but not known to the compiler (post_list, post_data), then everything else (post_any),
 * which also serves the ring's wrap and says why a request is refused.
 */
#include "bsn_build.h"

#include <pthread.h>

#include "bsn_decode.h"
#include "init.h"
#include "sq.h"

/* -- credits ------------------------------------------------------------------------------------ */

BSN_ALWAYS_INLINE const uint8_t *slot_of(const struct bsn_sq *sq, unsigned index)
{
	return sq->ring + (size_t)(index & sq->bb_mask) * BSN_BB_SIZE;
}

/* Blocks of the WQE at @index. */
BSN_ALWAYS_INLINE unsigned blocks_at(const struct bsn_sq *sq, unsigned index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, slot_of(sq, index));
	return bsn_bb_of_ds(ctrl.ds);
}

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
	retired = (uint16_t)(done + blocks_at(sq, done));
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
	const struct bsn_ctrl above = { .opmod = 0xff };
	uint8_t *const slot = sq->slot == sq->ring_end ? sq->ring : sq->slot;
	uint8_t *const limit = slot + free_bb * BSN_BB_SIZE;

	sq->slot = slot;
	sq->ctrl_next &= ~bsn_ctrl_word(&above, 0);
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
		return;
	if (__atomic_exchange_n(&lane->owner_thread, self, __ATOMIC_RELAXED))
		__atomic_fetch_add(&lane->count_posters, 1, __ATOMIC_RELAXED);
}

BSN_ALWAYS_INLINE void note_poster(struct bsn_lane *lane)
{
	const uintptr_t self = bsn_this_thread();

	if (BSN_UNLIKELY(__atomic_load_n(&lane->owner_thread, __ATOMIC_RELAXED) != self))
		note_other_poster(lane, self);
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
	for (; ds >= BSN_BB_DS; ds -= BSN_BB_DS, to += BSN_BB_SIZE, from += BSN_BB_SIZE)
		BSN_UNROLL for (size_t i = 0; i < BSN_BB_SIZE; i += BSN_DS_SIZE)
			bsn_store_ds(to + i, bsn_ds_load(from + i));
	for (; ds; ds--, to += BSN_DS_SIZE, from += BSN_DS_SIZE)
		bsn_store_ds(to, bsn_ds_load(from));
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
	sq->slot = (uint8_t *)(uintptr_t)slot_of(sq, sq->pi); /* it may wrap */
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
 * The most common requests by functions of their own, as the rows of struct bsn_sq_posts are: of one SGE, and
 * signaled. The inline code builds them, but once a lap finds the ring's end, or has used up the room that
 * was counted.
 */
BSN_ALWAYS_INLINE int post_one(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
			       const struct bsn_remote *remote, uint32_t imm, uint64_t id,
			       unsigned opcode, bool has_raddr, uint32_t flags)
{
	struct bsn_sq *sq = ep->sq;

	if (BSN_UNLIKELY(what != BSN_WHAT(opcode, flags, 1u) || sq->has_peers))
		return post_sgl(ep, what, sge, remote, imm, id);
	if (BSN_LIKELY(sq->slot >= sq->limit))
		look_for_room(sq, false);
	if (!bsn_fits(sq, sq->limit, BSN_BB_SIZE) || !bsn_are_plain(sge, 1) ||
	    BSN_UNLIKELY(!is_one_of(sq->ops, opcode)))
		return post_sgl(ep, what, sge, remote, imm, id);
	return bsn_put_sges(sq, NULL, 0, opcode, sge, 1, false, remote, has_raddr, imm, id, flags);
}

/* Two functions each: the first one saves no register. */
#define POST_ONE(name, opcode, has_raddr, flags)                                                   \
	static __attribute__((noinline)) int name##_anew(                                          \
		struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,                       \
		const struct bsn_remote *remote, uint32_t imm, uint64_t id)                        \
	{                                                                                          \
		return post_one(ep, what, sge, remote, imm, id, opcode, has_raddr, flags);         \
	}                                                                                          \
	static int name(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,               \
			const struct bsn_remote *remote, uint32_t imm, uint64_t id)                \
	{                                                                                          \
		if (ep->sq->fenced_limit)                                                          \
			return post_sgl_fenced(ep, what, sge, remote, imm, id);                    \
		return name##_anew(ep, what, sge, remote, imm, id);                                \
	}
#define POST_ONES(opcode, has_raddr, name)                                                         \
	POST_ONE(post_##name, opcode, has_raddr, (uint32_t)BSN_F_SIGNALED)                         \
	POST_ONE(post_##name##_rung, opcode, has_raddr, (uint32_t)(BSN_F_SIGNALED | BSN_F_RING))
POST_ONES(BSN_OPCODE_RDMA_READ, true, read)
POST_ONES(BSN_OPCODE_SEND_INVAL, false, send_inval)
POST_ONES(BSN_OPCODE_RDMA_WRITE, true, write)
POST_ONES(BSN_OPCODE_RDMA_WRITE_IMM, true, write_imm)
POST_ONES(BSN_OPCODE_SEND, false, send)
POST_ONES(BSN_OPCODE_SEND_IMM, false, send_imm)
#undef POST_ONES
#undef POST_ONE

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

#define FOUR(f) f, f, f, f
#define ALL(f)  { FOUR(f), FOUR(f), FOUR(f), FOUR(f) }
_Static_assert(BSN_POST_ROWS == 16, "each row has its function");
#define ROW(opcode, name)                                                                          \
	[BSN_POST_ROW(opcode, 0)] = post_##name,                                                   \
	[BSN_POST_ROW(opcode, BSN_F_RING)] = post_##name##_rung
#define NO_ROW(row) [row] = post_sgl, [(row) + BSN_POST_ROWS / 2] = post_sgl
const struct bsn_sq_posts bsn_sq_posts_mlx5 = { .one = { ROW(BSN_OPCODE_RDMA_READ, read),
							 ROW(BSN_OPCODE_SEND_INVAL, send_inval),
							 ROW(BSN_OPCODE_RDMA_WRITE, write),
							 ROW(BSN_OPCODE_RDMA_WRITE_IMM, write_imm),
							 ROW(BSN_OPCODE_SEND, send),
							 ROW(BSN_OPCODE_SEND_IMM, send_imm),
							 NO_ROW(2),
							 NO_ROW(3) },
						.sgl = ALL(post_sgl),
						.piece = ALL(post_inline),
						.atomic = bsn_sq_post_atomic };
const struct bsn_sq_posts bsn_sq_posts_any = { .one = ALL(bsn_sq_post_sgl),
					       .sgl = ALL(bsn_sq_post_sgl),
					       .piece = ALL(bsn_sq_post_inline),
					       .atomic = bsn_sq_post_atomic };
#undef NO_ROW
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

int bsn_sq_post_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id,
			 unsigned flags)
{
	const int err = check_queue(ep);
	struct request r;

	if (err)
		return err;
	if (flags & ~(unsigned)BSN_F_ALL)
		return refuse(EINVAL, "unknown flags: a post takes BSN_F_*");
	if (ep->sq->path)
		return post_again(ep, p, id, flags);
	if (ep->sq->slot >= ep->sq->limit && !ep->sq->has_peers) {
		look_for_room(ep->sq, false);
		if (ep->sq->slot < ep->sq->limit)
			return bsn_build_prepared(ep, p, id, flags);
	}
	r = (struct request){ .sq = ep->sq,
			      .peer = peer_of(ep),
			      .what = p->wr.opcode | (flags & ~(unsigned)BSN_F_INLINE),
			      .imm = imm_of(&p->wr),
			      .id = id };
	return post_measured(&r, 1 + p->body_ds + (r.peer ? r.peer->prefix_ds : 0), put_prepared,
			     p);
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

/* -- publication ------------------------------------------------------------------------------ */

/* The doorbell record, which is our memory, says what was published last. */
static uint16_t first_unrung(const struct bsn_sq *sq)
{
	struct bsn_dbr_wq record;

	bsn_dbr_wq_decode(&record, sq->record);
	return (uint16_t)record.index;
}

/* The register for everything up to the index: the lock of a shared lane, O1 and O2. */
static void open_register(struct bsn_sq *sq)
{
	sq->publish &= (uint8_t)~BSN_PUBLISH_APPENDED;
	bsn_to_device(); /* O1 */
	bsn_store_index(sq->record, sq->pi);
	if (sq->lane->lock)
		pthread_spin_lock((pthread_spinlock_t *)sq->lane->lock);
	bsn_wc_start(); /* O2 */
}

static void close_register(struct bsn_sq *sq)
{
	bsn_sq_close_register(sq->lane, sq->lane->reg);
	if (sq->lane->lock)
		pthread_spin_unlock((pthread_spinlock_t *)sq->lane->lock);
}

static bool takes_blueflame(const struct bsn_sq *sq, unsigned blocks)
{
	return sq->store != BSN_STORE_DOORBELL && blocks * BSN_BB_SIZE <= sq->lane->blueflame_bytes;
}

/* One WQE from the ring: block after block, since it may wrap. */
static void copy_blueflame(struct bsn_sq *sq, uint16_t first, unsigned blocks)
{
	for (unsigned i = 0; i < blocks; i++) {
		const uint8_t *bb = slot_of(sq, first + i);
		bsn_store_bb(sq->store, sq->lane->reg + i * BSN_BB_SIZE, bsn_v2_load(bb),
			     bsn_v2_load(bb + 16), bsn_v2_load(bb + 32), bsn_v2_load(bb + 48));
	}
}

/* For everything from @first on. */
BSN_ALWAYS_INLINE void ring_doorbell(struct bsn_sq *sq, uint8_t *reg, uint16_t first,
				     struct bsn_be64 head)
{
	sq->count_rung += (size_t)(uint16_t)(sq->pi - first) * BSN_BB_SIZE;
	bsn_store_mmio(reg, head); /* between them: gcc 12 would make vectors of both counters */
	sq->count_doorbells++;
}

/* The last WQE that was appended. */
BSN_ALWAYS_INLINE const uint8_t *last_of(const struct bsn_sq *sq)
{
	return sq->ring + (uint32_t)(sq->last - (uint32_t)(uintptr_t)sq->ring);
}

/* Control segment, word 0, of the last WQE. */
BSN_ALWAYS_INLINE struct bsn_be64 last_head(const struct bsn_sq *sq)
{
	return bsn_to_be64(bsn_load_be64(last_of(sq)));
}

/* One WQE, or through a shared register. */
static __attribute__((noinline)) int ring_any(struct bsn_sq *sq, uint16_t first)
{
	const unsigned blocks = blocks_at(sq, first);

	open_register(sq);
	if ((uint16_t)(first + blocks) == sq->pi && takes_blueflame(sq, blocks))
		copy_blueflame(sq, first, blocks);
	else
		ring_doorbell(sq, sq->lane->reg, first, last_head(sq));
	close_register(sq);
	return 0;
}

int bsn_sq_ring(struct bsn_sq *sq)
{
	struct bsn_lane *lane;
	uint16_t first;
	uint8_t *reg;

	if (!sq)
		return refuse(EINVAL, "no send queue");
	if (BSN_UNLIKELY(sq->path))
		return sq->path->ring(sq);
	first = first_unrung(sq);
	if (first == sq->pi)
		return 0;
	if (slot_of(sq, first) == last_of(sq) || BSN_UNLIKELY(sq->lane->lock))
		return ring_any(sq, first);
	sq->publish &= (uint8_t)~BSN_PUBLISH_APPENDED;
	lane = bsn_sq_open_register(sq);
	reg = lane->reg;
	ring_doorbell(sq, reg, first, last_head(sq));
	bsn_sq_close_register(lane, reg);
	return 0;
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
		bsn_ctrl_decode(&ctrl, slot_of(sq, at));
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
	first = first_unrung(sq);
	count = (uint16_t)(sq->pi - first);
	fence = fence_owed(sq, first);
	if (fence < 0 || !count)
		return fence < 0 ? fence : 0;
	for (uint16_t at = first; at != sq->pi; at++)
		__atomic_store_n(&sq->hidden[at & sq->bb_mask], BSN_HIDDEN_NOT, __ATOMIC_RELAXED);
	sq->wide_pi = bsn_sq_wide_pi(sq) - count;
	bsn_sq_advance(sq, -(size_t)count * BSN_BB_SIZE);
	sq->slot = (uint8_t *)(uintptr_t)slot_of(sq, first);
	sq->publish &= (uint8_t)~BSN_PUBLISH_APPENDED;
	sq->quiet = sq->signal_every ? 1 : sq->quiet; /* the turn may have been one of theirs */
	sq->next_fence = (uint8_t)fence;
	show_room(sq);
	return 0;
}

void bsn_sq_publish_bb(struct bsn_sq *sq, bsn_v2 w01, bsn_v2 w23, bsn_v2 w45, bsn_v2 w67)
{
	const uint16_t first = first_unrung(sq);

	open_register(sq);
	if ((uint16_t)(first + 1) == sq->pi && takes_blueflame(sq, 1))
		bsn_store_bb(sq->store, sq->lane->reg, w01, w23, w45, w67);
	else
		ring_doorbell(sq, sq->lane->reg, first, (struct bsn_be64){ w01[0] });
	close_register(sq);
}

uint32_t bsn_sq_count_blueflame(const struct bsn_sq *sq)
{
	if (!sq->ring)
		return 0; /* the provider's are not known */
	return bsn_sq_wide_pi(sq) - (uint16_t)(sq->pi - first_unrung(sq)) -
	       (uint32_t)(sq->count_rung / BSN_BB_SIZE);
}

/* -- the end of a failed queue ------------------------------------------------------------------- */

bool bsn_sq_ends_quietly(struct bsn_sq *sq)
{
	struct bsn_ctrl ctrl = { .ce = BSN_CE_ALWAYS };

	refresh_retired(sq);
	for (uint16_t at = sq->retired; at != sq->pi; at = (uint16_t)(at + bsn_bb_of_ds(ctrl.ds)))
		bsn_ctrl_decode(&ctrl, slot_of(sq, at));
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
