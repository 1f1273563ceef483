/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue's long way: every request that the inline code does not build by itself. */
#include "bsn_sq.h"

#include <pthread.h>

#include "bsn_decode.h"

/* A place in the ring that wraps at its end. Segments are whole 16 B, so only data can straddle. */
struct cursor {
	uint8_t *at;
	uint8_t *start, *end;
};

static void put_ds(struct cursor *c, uint64_t word0, uint64_t word1)
{
	bsn_store_wqe(c->at, bsn_to_be64(word0));
	bsn_store_wqe(c->at + 8, bsn_to_be64(word1));
	c->at += BSN_DS_SIZE;
	if (c->at == c->end)
		c->at = c->start;
}

static void put_bytes(struct cursor *c, const void *src, size_t n)
{
	const size_t room = (size_t)(c->end - c->at);

	if (!n)
		return;
	BSN_ORDER_EVENT(BSN_ORDER_WQE, c->at, (unsigned)n);
	if (n < room) {
		memcpy(c->at, src, n);
		c->at += n;
		return;
	}
	memcpy(c->at, src, room);
	memcpy(c->start, (const uint8_t *)src + room, n - room);
	c->at = c->start + (n - room);
}

static void put_zeros(struct cursor *c, size_t n)
{
	static const uint8_t zeros[BSN_DS_SIZE];

	put_bytes(c, zeros, n);
}

/* Bytes of inline data; or more than any queue takes. */
static uint64_t total_bytes(const struct bsn_wr *wr)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < wr->sge_count; i++)
		total += wr->sge[i].length;
	return total;
}

/* Masked atomics would need a query of what the device can do with them, so they are not offered. */
static bool can_post(const struct bsn_sq *sq, const struct bsn_wr *wr, const struct bsn_wqe_op *op)
{
	if (!op || op->body != BSN_BODY_MESSAGE || !(op->transports & (1u << sq->transport)))
		return false;
	if (op->opcode == BSN_OPCODE_ATOMIC_MASKED_CS || op->opcode == BSN_OPCODE_ATOMIC_MASKED_FA)
		return false;
	if ((wr->flags & BSN_F_INLINE) && op->data != BSN_DATA_GATHER)
		return false;
	return !wr->sge_count || op->data != BSN_DATA_NONE;
}

/* The length in units of 16 B of a request that this queue can take, or why it cannot. */
static int measure_wr(const struct bsn_sq *sq, const struct bsn_ep *ep, const struct bsn_wr *wr,
		      const struct bsn_wqe_op *op)
{
	unsigned ds = BSN_CTRL_SIZE / BSN_DS_SIZE + ep->prefix_ds;

	if (!can_post(sq, wr, op))
		return -EOPNOTSUPP;
	if (wr->sge_count > sq->max_sge)
		return -EMSGSIZE;
	if (op->has_atomic && wr->sge_count != 1)
		return -EINVAL;
	ds += op->has_raddr ? BSN_RADDR_SIZE / BSN_DS_SIZE : 0;
	ds += op->has_atomic ? BSN_ATOMIC_CS_SIZE / BSN_DS_SIZE : 0;
	if (wr->flags & BSN_F_INLINE) {
		const uint64_t total = total_bytes(wr);
		if (total > sq->max_inline)
			return -EMSGSIZE;
		if (total)
			ds += (unsigned)(BSN_INLINE_HDR_SIZE + total + BSN_DS_SIZE - 1) / BSN_DS_SIZE;
	} else {
		for (uint32_t i = 0; i < wr->sge_count; i++) {
			if (wr->sge[i].length > BSN_DATA_MAX_BYTES)
				return -EMSGSIZE;
			ds += wr->sge[i].length != 0 || op->has_atomic;
		}
	}
	return ds <= sq->max_ds ? (int)ds : -EMSGSIZE;
}

static void put_inline(struct cursor *c, const struct bsn_wr *wr)
{
	const uint32_t total = (uint32_t)total_bytes(wr);
	const struct bsn_inline_hdr hdr = { .is_inline = 1, .byte_count = total };
	const struct bsn_be32 wire = bsn_to_be32(bsn_inline_hdr_dword(&hdr, 0));
	const size_t tail = (BSN_INLINE_HDR_SIZE + total) % BSN_DS_SIZE;

	if (!total)
		return;
	put_bytes(c, &wire, sizeof(wire));
	for (uint32_t i = 0; i < wr->sge_count; i++)
		put_bytes(c, (const void *)(uintptr_t)wr->sge[i].addr, wr->sge[i].length);
	if (tail)
		put_zeros(c, BSN_DS_SIZE - tail);
}

/* An atomic's result is 8 B, whatever the SGE says, as in libmlx5's set_data_ptr_seg_atomic(). */
static void put_data(struct cursor *c, const struct bsn_wr *wr, bool atomic)
{
	for (uint32_t i = 0; i < wr->sge_count; i++) {
		const struct bsn_data data = { .byte_count = atomic ? 8 : wr->sge[i].length,
					       .lkey = wr->sge[i].lkey,
					       .addr = wr->sge[i].addr };
		if (data.byte_count) /* 0 would mean 2^31 */
			put_ds(c, bsn_data_word(&data, 0), bsn_data_word(&data, 1));
	}
}

static void put_body(struct cursor *c, const struct bsn_wr *wr, const struct bsn_wqe_op *op)
{
	if (op->has_raddr) {
		const struct bsn_raddr r = { .raddr = wr->remote.addr, .rkey = wr->remote.rkey };
		put_ds(c, bsn_raddr_word(&r, 0), bsn_raddr_word(&r, 1));
	}
	if (op->has_atomic) {
		/* Fetch and add has its operand where compare and swap has what to swap in. */
		const struct bsn_atomic_cs a = { .swap = wr->swap_add, .compare = wr->compare };
		put_ds(c, bsn_atomic_cs_word(&a, 0), bsn_atomic_cs_word(&a, 1));
	}
	if (wr->flags & BSN_F_INLINE)
		put_inline(c, wr);
	else
		put_data(c, wr, op->has_atomic);
}

static uint32_t imm_of(const struct bsn_wr *wr, const struct bsn_wqe_op *op)
{
	return op->imm == BSN_IMM_NONE ? 0 : wr->imm;
}

/* Control segment and prefix; returns where the body goes. */
static struct cursor put_head(struct bsn_sq *sq, const struct bsn_ep *ep, unsigned opcode,
			      unsigned ds, uint32_t imm, unsigned flags)
{
	uint8_t *start = sq->ring, *end = start + (size_t)(sq->bb_mask + 1) * BSN_BB_SIZE;
	struct cursor c = { start + (size_t)(sq->pi & sq->bb_mask) * BSN_BB_SIZE, start, end };
	const struct bsn_ctrl extra = {
		.dci_stream = ep->dci_stream,
		.fence = (flags & BSN_F_FENCE) ? BSN_FENCE_NONE : sq->next_fence,
	};

	put_ds(&c, bsn_ctrl_word0(sq, (uint16_t)sq->pi, opcode, ds),
	       bsn_ctrl_word1(sq, flags, imm) | bsn_ctrl_word(&extra, 1));
	put_bytes(&c, ep->prefix, (size_t)ep->prefix_ds * BSN_DS_SIZE);
	return c;
}

static unsigned blocks_of(unsigned ds)
{
	return (ds + BSN_BB_DS - 1) / BSN_BB_DS;
}

static const uint8_t *slot_of(const struct bsn_sq *sq, uint32_t index)
{
	return sq->ring + (size_t)(index & sq->bb_mask) * BSN_BB_SIZE;
}

/* Blocks of the WQE at @index. */
static unsigned blocks_at(const struct bsn_sq *sq, uint32_t index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, slot_of(sq, index));
	return blocks_of(ctrl.ds);
}

/*
 * Takes over what the poller saw done. That WQE is still as it was built: its slots are not free
 * before this very function says so.
 */
static void refresh_retired(struct bsn_sq *sq)
{
	const uint32_t done = __atomic_load_n(&sq->done, __ATOMIC_ACQUIRE); /* O6 */

	if (done == sq->seen_done)
		return;
	sq->seen_done = done;
	sq->retired = sq->pi - (uint16_t)(sq->pi - done) + blocks_at(sq, done);
}

uint32_t bsn_sq_outstanding_bb(struct bsn_sq *sq)
{
	refresh_retired(sq);
	return sq->pi - sq->retired;
}

static uint32_t free_blocks(struct bsn_sq *sq)
{
	return sq->capacity_bb - bsn_sq_outstanding_bb(sq);
}

/* What the inline code may see: nothing while a fence is owed. */
static void show_credits(struct bsn_sq *sq)
{
	sq->limit = sq->next_fence ? sq->pi : sq->pi + free_blocks(sq);
}

static int has_room(struct bsn_sq *sq, unsigned ds)
{
	if (blocks_of(ds) <= free_blocks(sq))
		return 1;
	sq->count_full++;
	return 0;
}

/* The WQE of @ds units is in the ring. */
static int commit(struct bsn_sq *sq, const struct bsn_ep *ep, unsigned ds, uint64_t id,
		  unsigned flags)
{
	const uint32_t slot = sq->pi & sq->bb_mask;

	bsn_sq_ids(sq)[slot] = id;
	if (sq->users)
		sq->marks[slot] = (sq->marks[slot] & BSN_MARK_HIDDEN) | ep->number;
	sq->last = sq->pi;
	sq->pi += blocks_of(ds);
	sq->ring_slow |= BSN_RING_APPENDED;
	sq->next_fence = BSN_FENCE_NONE;
	show_credits(sq);
	return (flags & BSN_F_RING) ? bsn_sq_ring(sq) : 0;
}

int bsn_sq_post(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	struct bsn_sq *sq = ep ? ep->bound : NULL;
	const struct bsn_wqe_op *op = bsn_wqe_op_find(wr->opcode);
	struct cursor c;
	int ds;

	if (!sq)
		return -EINVAL;
	BSN_CHECK_OWNER(sq);
	ds = measure_wr(sq, ep, wr, op);
	if (ds < 0)
		return ds;
	if (sq->path)
		return sq->path->post(ep, wr, op);
	if (!has_room(sq, (unsigned)ds))
		return -EAGAIN;
	c = put_head(sq, ep, wr->opcode, (unsigned)ds, imm_of(wr, op), wr->flags);
	put_body(&c, wr, op);
	return commit(sq, ep, (unsigned)ds, wr->id, wr->flags);
}

/* -- prepared requests ---------------------------------------------------------------------------- */

int bsn_prepare(struct bsn_ep *ep, const struct bsn_wr *wr, struct bsn_prepared *p)
{
	struct bsn_sq *sq = ep ? ep->bound : NULL;
	const struct bsn_wqe_op *op = bsn_wqe_op_find(wr->opcode);
	struct bsn_ctrl ctrl = { .opcode = wr->opcode };
	struct cursor c;
	int ds;

	if (!sq)
		return -EINVAL;
	ds = measure_wr(sq, ep, wr, op);
	if (ds < 0)
		return ds;
	ctrl.ds = (uint32_t)ds - ep->prefix_ds;
	if (ctrl.ds > BSN_BB_DS || wr->sge_count > BSN_PREPARED_SGE)
		return -EMSGSIZE;
	memset(p, 0, sizeof(*p));
	c = (struct cursor){ (uint8_t *)p->body, (uint8_t *)p->body, (uint8_t *)(p->body + 3) };
	put_body(&c, wr, op);
	p->imm = ctrl.imm = imm_of(wr, op);
	p->ctrl0 = bsn_to_be64(bsn_ctrl_word(&ctrl, 0));
	p->ctrl1 = bsn_to_be64(bsn_ctrl_word(&ctrl, 1));
	p->body_ds = ctrl.ds - 1;
	p->wr = *wr;
	p->wr.sge = p->sge;
	if (wr->sge_count)
		memcpy(p->sge, wr->sge, wr->sge_count * sizeof(*wr->sge));
	return 0;
}

/* Where requests are not bytes: the request again, its inline data where it was copied to. */
static int post_again(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
{
	const struct bsn_wqe_op *op = bsn_wqe_op_find(p->wr.opcode);
	struct bsn_wr wr = p->wr;
	const struct bsn_sge copied = {
		.addr = (uintptr_t)p->body + (op->has_raddr ? BSN_RADDR_SIZE : 0) +
			BSN_INLINE_HDR_SIZE,
		.length = (uint32_t)total_bytes(&(struct bsn_wr){ .sge = p->sge,
								  .sge_count = p->wr.sge_count }),
	};

	wr.id = id;
	wr.sge = p->sge;
	wr.flags = flags & ~(unsigned)BSN_F_INLINE;
	if (p->wr.flags & BSN_F_INLINE) {
		wr.flags |= BSN_F_INLINE;
		wr.sge = &copied;
		wr.sge_count = 1;
	}
	return bsn_sq_post(ep, &wr);
}

int bsn_sq_post_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id,
			 unsigned flags)
{
	struct bsn_sq *sq = ep ? ep->bound : NULL;
	const unsigned ds = 1 + p->body_ds + (ep ? ep->prefix_ds : 0);
	struct cursor c;

	if (!sq)
		return -EINVAL;
	BSN_CHECK_OWNER(sq);
	if (sq->path)
		return post_again(ep, p, id, flags);
	if (!has_room(sq, ds))
		return -EAGAIN;
	c = put_head(sq, ep, p->wr.opcode, ds, p->imm, flags);
	put_bytes(&c, p->body, (size_t)p->body_ds * BSN_DS_SIZE);
	return commit(sq, ep, ds, id, flags);
}

int bsn_sq_post_sge(struct bsn_ep *ep, unsigned opcode, const struct bsn_sge *local,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id, unsigned flags)
{
	const struct bsn_wr wr = {
		.id = id,
		.sge = local,
		.sge_count = local != NULL,
		.flags = flags,
		.remote = remote ? *remote : (struct bsn_remote){ 0, 0 },
		.opcode = opcode,
		.imm = imm,
	};

	return bsn_sq_post(ep, &wr);
}

int bsn_sq_post_atomic(struct bsn_ep *ep, unsigned opcode, const struct bsn_sge *local,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id,
		       unsigned flags)
{
	const struct bsn_wr wr = {
		.id = id,
		.sge = local,
		.sge_count = 1,
		.flags = flags,
		.remote = *remote,
		.opcode = opcode,
		.swap_add = operand[0],
		.compare = operand[1],
	};

	return bsn_sq_post(ep, &wr);
}

/*
 * Somebody who signals often enough by himself needs no help; what is still outstanding tells. The
 * poller learns of the first hidden completion before its CQE can come: the WQE is not rung yet.
 */
uint32_t bsn_sq_auto_signal(struct bsn_sq *sq)
{
	const struct bsn_ctrl always = { .ce = BSN_CE_ALWAYS };

	sq->quiet = sq->signal_every;
	if (!sq->signal_every || bsn_sq_outstanding_bb(sq) + 1 < sq->signal_every)
		return sq->ce_quiet;
	sq->marks[sq->pi & sq->bb_mask] |= BSN_MARK_HIDDEN;
	if (!sq->has_hidden)
		__atomic_store_n(&sq->has_hidden, 1, __ATOMIC_RELEASE);
	return (uint32_t)(bsn_ctrl_word(&always, 1) >> 32);
}

/* -- publication ------------------------------------------------------------------------------ */

/* The doorbell record is memory of ours: it says what was published last. */
static uint16_t first_unrung(const struct bsn_sq *sq)
{
	struct bsn_dbr_wq record;

	bsn_dbr_wq_decode(&record, sq->record);
	return (uint16_t)record.index;
}

/* The register for everything in [first, pi): the lock of a shared lane, O1 and O2. */
static void open_register(struct bsn_sq *sq)
{
	const struct bsn_dbr_wq record = { .index = sq->pi };

	sq->count_slow_bb += (uint16_t)(sq->pi - first_unrung(sq));
	sq->ring_slow &= (uint8_t)~BSN_RING_APPENDED;
	bsn_to_device(); /* O1 */
	bsn_store_record(sq->record, bsn_dbr_wq_dword(&record, 0));
	if (sq->lane->lock)
		pthread_spin_lock((pthread_spinlock_t *)sq->lane->lock);
	bsn_wc_start(); /* O2 */
}

static void close_register(struct bsn_sq *sq)
{
	bsn_wc_flush(); /* O3 */
	bsn_lane_toggle(sq->lane);
	if (sq->lane->lock)
		pthread_spin_unlock((pthread_spinlock_t *)sq->lane->lock);
}

static bool takes_blueflame(const struct bsn_sq *sq, unsigned blocks)
{
	return sq->store != BSN_STORE_DOORBELL && blocks * BSN_BB_SIZE <= sq->lane->blueflame_bytes;
}

static bsn_v2 load_v2(const uint8_t *src)
{
	bsn_v2 v;

	memcpy(&v, src, sizeof(v));
	return v;
}

/* One WQE from the ring: block after block, since it may wrap. */
static void copy_blueflame(struct bsn_sq *sq, uint16_t first, unsigned blocks)
{
	for (unsigned i = 0; i < blocks; i++) {
		const uint8_t *bb = slot_of(sq, first + i);
		bsn_store_bb(sq->store, sq->lane->reg + i * BSN_BB_SIZE, load_v2(bb),
			     load_v2(bb + 16), load_v2(bb + 32), load_v2(bb + 48));
	}
	sq->count_blueflame++;
}

static void ring_doorbell(struct bsn_sq *sq, struct bsn_be64 head)
{
	bsn_store_mmio(sq->lane->reg, head);
	sq->count_doorbells++;
}

int bsn_sq_ring(struct bsn_sq *sq)
{
	uint16_t first;
	unsigned blocks;

	BSN_CHECK_OWNER(sq);
	if (sq->path)
		return sq->path->ring(sq);
	first = first_unrung(sq);
	if (first == (uint16_t)sq->pi)
		return 0;
	blocks = blocks_at(sq, first);
	open_register(sq);
	if ((uint16_t)(first + blocks) == (uint16_t)sq->pi && takes_blueflame(sq, blocks))
		copy_blueflame(sq, first, blocks);
	else
		ring_doorbell(sq, bsn_to_be64(bsn_load_be64(slot_of(sq, sq->last))));
	close_register(sq);
	return 0;
}

void bsn_sq_publish_bb(struct bsn_sq *sq, bsn_v2 w01, bsn_v2 w23, bsn_v2 w45, bsn_v2 w67)
{
	const bool single = (uint16_t)(first_unrung(sq) + 1) == (uint16_t)sq->pi;

	open_register(sq);
	if (single && takes_blueflame(sq, 1)) {
		bsn_store_bb(sq->store, sq->lane->reg, w01, w23, w45, w67);
		sq->count_blueflame++;
	} else {
		ring_doorbell(sq, (struct bsn_be64){ w01[0] });
	}
	close_register(sq);
}

/* The queue of every endpoint that must take the long way: it never has credits. */
struct bsn_sq bsn_sq_detour = { .ring = NULL };
