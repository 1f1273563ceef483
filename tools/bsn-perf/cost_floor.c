/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the column `floor` measures. BlueFlame is stored 8 bytes at a time where the words are made
 * in general registers, 16 where they lie in vector registers: inline data, and prepared requests.
 */
#include "cost_floor.h"

#define UNROLL _Pragma("GCC unroll 32")

enum {
	HEAD_WORDS_MAX = 16,
	BLUEFLAME_MAX_BB = 4, /* what a register's buffer holds; longer WQEs are fetched */
};

/* -- the shape of a WQE: all of these are constants, of a constant row ------------------------- */

COST_INLINE bool has_raddr(struct cost_shape shape)
{
	return shape.what != COST_SEND && shape.what != COST_SEND_IMM;
}

COST_INLINE bool is_atomic(struct cost_shape shape)
{
	return shape.what == COST_FETCH_ADD || shape.what == COST_CMP_SWAP;
}

/* Words before the first data segment. */
COST_INLINE unsigned words_before_data(struct cost_shape shape)
{
	return 2 + (shape.queues == COST_UD ? BSN_AV_UD_GRH_SIZE / 8 : 0) +
	       (has_raddr(shape) ? 2 : 0) + (is_atomic(shape) ? 2 : 0);
}

/* Words that are made in general registers; of inline data, the first 12 bytes are in them. */
COST_INLINE unsigned head_words(struct cost_shape shape)
{
	return words_before_data(shape) + (shape.form == COST_INLINED ? 2 : 2 * shape.n);
}

/* Further inline data, in units of 16 bytes. */
COST_INLINE unsigned tail_ds(struct cost_shape shape)
{
	return shape.form == COST_INLINED && shape.n > 12 ? (shape.n - 12 + 15) / 16 : 0;
}

COST_INLINE unsigned count_ds(struct cost_shape shape)
{
	return head_words(shape) / 2 + tail_ds(shape);
}

COST_INLINE unsigned count_bb(struct cost_shape shape)
{
	return bsn_bb_of_ds(count_ds(shape));
}

COST_INLINE bool has_imm(struct cost_shape shape)
{
	return shape.what == COST_WRITE_IMM || shape.what == COST_SEND_IMM;
}

COST_INLINE unsigned opcode_of(struct cost_shape shape)
{
	switch (shape.what) {
	case COST_WRITE:
		return BSN_OPCODE_RDMA_WRITE;
	case COST_WRITE_IMM:
		return BSN_OPCODE_RDMA_WRITE_IMM;
	case COST_READ:
		return BSN_OPCODE_RDMA_READ;
	case COST_SEND:
		return BSN_OPCODE_SEND;
	case COST_SEND_IMM:
		return BSN_OPCODE_SEND_IMM;
	case COST_FETCH_ADD:
		return BSN_OPCODE_ATOMIC_FA;
	default:
		return BSN_OPCODE_ATOMIC_CS;
	}
}

/* -- making the words -------------------------------------------------------------------------- */

struct head {
	struct bsn_be64 word[HEAD_WORDS_MAX];
};

COST_INLINE void put_ctrl(struct head *head, uint32_t qpn, uint32_t pi, struct cost_shape shape,
			  unsigned imm)
{
	const struct bsn_ctrl ctrl = { .wqe_index = pi,
				       .opcode = opcode_of(shape),
				       .qpn = qpn,
				       .ds = count_ds(shape),
				       .ce = BSN_CE_ALWAYS,
				       .imm = imm };

	head->word[0] = bsn_to_be64(bsn_ctrl_word(&ctrl, 0));
	head->word[1] = bsn_to_be64(bsn_ctrl_word(&ctrl, 1));
}

COST_INLINE void put_data(struct bsn_be64 *word, const struct bsn_sge *local)
{
	const struct bsn_data data = { .byte_count = local->length,
				       .lkey = local->lkey,
				       .addr = local->addr };

	word[0] = bsn_to_be64(bsn_data_word(&data, 0));
	word[1] = bsn_to_be64(bsn_data_word(&data, 1));
}

COST_INLINE void put_raddr(struct bsn_be64 *word, const struct bsn_remote *remote)
{
	const struct bsn_raddr raddr = { .raddr = remote->addr, .rkey = remote->rkey };

	word[0] = bsn_to_be64(bsn_raddr_word(&raddr, 0));
	word[1] = bsn_pair_to_be64(bsn_raddr_word(&raddr, 1));
}

/* The header and 12 bytes; what is beyond the data's end is read, and ignored by the device. */
COST_INLINE void put_inline(struct bsn_be64 *word, const void *bytes, uint32_t length)
{
	const struct bsn_inline_hdr hdr = { .is_inline = 1, .byte_count = length };
	uint64_t first;
	uint32_t second;

	memcpy(&first, bytes, sizeof(first));
	memcpy(&second, (const uint8_t *)bytes + 8, sizeof(second));
	word[0].raw = bsn_to_be32(bsn_inline_hdr_dword(&hdr, 0)).raw | first << 32;
	word[1].raw = first >> 32 | (uint64_t)second << 32;
}

COST_INLINE void build(struct head *head, const struct floor_queue *q, uint32_t qpn, uint32_t pi,
		       struct cost_shape shape)
{
	const struct bsn_atomic_cs operands = { .swap = 1 };
	const unsigned data_at = words_before_data(shape);

	put_ctrl(head, qpn, pi, shape, has_imm(shape) ? pi : 0);
	if (shape.queues == COST_UD) {
		UNROLL for (unsigned i = 0; i < BSN_AV_UD_GRH_SIZE / 8; i++) head->word[2 + i] =
			q->av[i];
	}
	if (has_raddr(shape))
		put_raddr(&head->word[2], &q->target.remote);
	if (is_atomic(shape)) {
		head->word[4] = bsn_to_be64(bsn_atomic_cs_word(&operands, 0));
		head->word[5] = bsn_to_be64(bsn_atomic_cs_word(&operands, 1));
	}
	if (shape.form == COST_INLINED) {
		put_inline(&head->word[data_at], q->target.data, shape.n);
		return;
	}
	UNROLL for (unsigned i = 0; i < shape.n; i++)
		put_data(&head->word[data_at + 2 * i], &q->target.local[i]);
}

COST_INLINE bsn_v2 tail_of(const void *data, unsigned i)
{
	bsn_v2 bytes;

	memcpy(&bytes, (const uint8_t *)data + 12 + 16 * i, sizeof(bytes));
	return bytes;
}

/* -- storing them ------------------------------------------------------------------------------ */

/* Where the @ds'th unit of a WQE lies; it may begin anew at the start of the ring. */
COST_INLINE uint8_t *slot_of(uint8_t *sq, uint32_t pi, uint32_t mask, unsigned ds)
{
	return sq + (size_t)((pi + ds / BSN_BB_DS) & mask) * BSN_BB_SIZE +
	       ds % BSN_BB_DS * BSN_DS_SIZE;
}

COST_INLINE void store_ring(uint8_t *sq, uint32_t mask, uint32_t pi, const struct head *head,
			    const void *data, struct cost_shape shape)
{
	const unsigned words = head_words(shape);

	UNROLL for (unsigned w = 0; w < words; w++)
		bsn_store_wqe(slot_of(sq, pi, mask, w / 2) + 8 * (w % 2), head->word[w]);
	UNROLL for (unsigned i = 0; i < tail_ds(shape); i++)
		bsn_store_wqe_v2(slot_of(sq, pi, mask, words / 2 + i), tail_of(data, i));
}

COST_INLINE void store_blueflame(uint8_t *reg, const struct head *head, const void *data,
				 struct cost_shape shape)
{
	const unsigned words = head_words(shape), end = count_bb(shape) * BSN_BB_SIZE / 8;
	const bsn_v2 none = { 0, 0 };

	UNROLL for (unsigned w = 0; w < words; w++) bsn_store_mmio(reg + 8 * w, head->word[w]);
	UNROLL for (unsigned i = 0; i < tail_ds(shape); i++)
		bsn_store_mmio_v2(reg + 8 * words + 16 * i, tail_of(data, i));
	if (tail_ds(shape)) {
		UNROLL for (unsigned ds = count_ds(shape); ds < end / 2; ds++)
			bsn_store_mmio_v2(reg + 16 * ds, none);
	} else {
		UNROLL for (unsigned w = words; w < end; w++)
			bsn_store_mmio(reg + 8 * w, (struct bsn_be64){ 0 });
	}
}

COST_INLINE void open_register(struct bsn_be32 *record, uint32_t pi)
{
	const struct bsn_dbr_wq dbr = { .index = pi };

	bsn_to_device(); /* O1 */
	bsn_store_record(record, bsn_dbr_wq_dword(&dbr, 0));
	bsn_wc_start(); /* O2 */
}

/* A batch of one goes by BlueFlame; more, or a WQE that is too long, by a doorbell of 8 bytes. */
COST_INLINE int run_posts(struct floor_queue *q, unsigned count, struct cost_shape shape)
{
	const bool blueflame = shape.batch == 1 && count_bb(shape) <= BLUEFLAME_MAX_BB;
	struct bsn_be32 *const record = &q->record[BSN_DBR_SEND_OFFSET / 4];
	const void *const data = q->target.data;
	uint8_t *const sq = q->sq;
	const uint64_t toggle = q->toggle;
	const uint32_t mask = q->sq_mask, qpn = q->qpn;
	uint8_t *reg = q->reg;
	uint32_t pi = q->pi;
	struct head head;

	for (unsigned done = 0; done < count; done += shape.batch) {
		for (unsigned i = 0; i < shape.batch; i++) {
			COST_FORGET();
			build(&head, q, qpn, pi, shape);
			store_ring(sq, mask, pi, &head, data, shape);
			pi += count_bb(shape);
		}
		open_register(record, pi);
		if (blueflame)
			store_blueflame(reg, &head, data, shape);
		else
			bsn_store_mmio(reg, head.word[0]);
		bsn_wc_flush(); /* O3 */
		reg = (uint8_t *)((uintptr_t)reg ^ toggle);
	}
	q->pi = pi;
	q->reg = reg;
	return 0;
}

COST_INLINE bsn_v2 vector_of(const struct head *head, unsigned word)
{
	return (bsn_v2){ head->word[word].raw, head->word[word + 1].raw };
}

/* All of the WQE in vector registers; its index alone is new each time. */
COST_INLINE int run_prepared(struct floor_queue *q, unsigned count, struct cost_shape shape)
{
	uint8_t *const sq = q->sq;
	struct bsn_be32 *const record = &q->record[BSN_DBR_SEND_OFFSET / 4];
	const uint64_t toggle = q->toggle;
	const uint32_t mask = q->sq_mask, qpn = q->qpn;
	uint8_t *reg = q->reg;
	uint32_t pi = q->pi;
	struct head head;

	build(&head, q, qpn, pi, shape);
	const bsn_v2 raddr = vector_of(&head, 2), data = vector_of(&head, 4), none = { 0, 0 };
	for (unsigned i = 0; i < count; i++) {
		uint8_t *slot = slot_of(sq, pi, mask, 0);
		put_ctrl(&head, qpn, pi, shape, 0);
		bsn_store_wqe(slot, head.word[0]);
		bsn_store_wqe(slot + 8, head.word[1]);
		bsn_store_wqe_v2(slot + 16, raddr);
		bsn_store_wqe_v2(slot + 32, data);
		open_register(record, ++pi);
		bsn_store_mmio(reg, head.word[0]);
		bsn_store_mmio(reg + 8, head.word[1]);
		bsn_store_mmio_v2(reg + 16, raddr);
		bsn_store_mmio_v2(reg + 32, data);
		bsn_store_mmio_v2(reg + 48, none);
		bsn_wc_flush(); /* O3 */
		reg = (uint8_t *)((uintptr_t)reg ^ toggle);
	}
	q->pi = pi;
	q->reg = reg;
	return 0;
}

COST_INLINE int run_recvs(struct floor_queue *q, unsigned count, struct cost_shape shape)
{
	uint8_t *const rq = q->rq;
	struct bsn_be32 *const record = q->recv_record;
	const uint32_t mask = q->rq_mask, stride = q->rq_stride;
	uint32_t head = q->head;

	for (unsigned i = 0; i < count; i++) {
		const struct bsn_dbr_wq dbr = { .index = head + 1 };
		uint8_t *const wqe = rq + (size_t)(head & mask) * stride;
		COST_FORGET();
		UNROLL for (unsigned j = 0; j < shape.n; j++)
		{
			struct bsn_be64 word[2];
			put_data(word, &q->target.recv[j]);
			bsn_store_wqe(wqe + 16 * j, word[0]);
			bsn_store_wqe(wqe + 16 * j + 8, word[1]);
		}
		if ((i + 1) % shape.batch == 0) {
			bsn_to_device(); /* O7 */
			bsn_store_record(record, bsn_dbr_wq_dword(&dbr, 0));
		}
		head++;
	}
	q->head = head;
	return 0;
}

/* -- polling ----------------------------------------------------------------------------------- */

COST_INLINE bool polls_recvs(struct cost_shape shape)
{
	return shape.what >= COST_POLL_RECV;
}

/* op_own of the completion that is to come, in this round of the ring. */
COST_INLINE uint8_t op_own_of(uint32_t ci, uint32_t count, struct cost_shape shape)
{
	const unsigned opcode = !polls_recvs(shape)                ? BSN_CQE_REQ
				: shape.what == COST_POLL_RECV_IMM ? BSN_CQE_RESP_SEND_IMM
								   : BSN_CQE_RESP_SEND;
	const bool comes_inside = shape.queues == COST_ATTACHED || shape.queues == COST_INLINED_RECV;
	const unsigned format = comes_inside && polls_recvs(shape) ? BSN_CQE_INLINE_32
								    : BSN_CQE_NO_INLINE;

	return (uint8_t)(opcode << 4 | format << 2 | ((ci & count) != 0));
}

/* What every poller has to read; the barrier keeps the loads. */
COST_INLINE void read_cqe(const struct floor_queue *q, const uint8_t *cqe, struct cost_shape shape)
{
	struct bsn_cqe_resp resp;
	uint64_t data;

	bsn_cqe_resp_decode(&resp, cqe);
	__asm__ volatile("" ::"r"(resp.wqe_counter));
	if (polls_recvs(shape))
		__asm__ volatile("" ::"r"(resp.byte_count));
	if (shape.what == COST_POLL_RECV_IMM)
		__asm__ volatile("" ::"r"(resp.imm_inval_pkey));
	if (shape.queues == COST_UD && polls_recvs(shape))
		__asm__ volatile("" ::"r"(resp.rqpn), "r"(resp.slid), "r"(resp.grh));
	if (shape.what == COST_POLL_RECV_DATA)
		cost_read_data(shape.queues == COST_INLINED_RECV ?
				       cqe :
				       (const void *)(uintptr_t)q->target.recv[0].addr);
	if (shape.queues == COST_ATTACHED && polls_recvs(shape)) {
		memcpy(&data, cqe, sizeof(data));
		memcpy((void *)(uintptr_t)q->target.recv[0].addr, &data, sizeof(data));
	}
}

/* The consumer index is published after each batch. Returns how many were not there. */
COST_INLINE unsigned poll_all(const struct floor_queue *q, struct floor_cq *cq, unsigned count,
			      struct cost_shape shape)
{
	const uint8_t *const ring = cq->ring;
	const uint32_t size = cq->count, stride = cq->stride;
	uint32_t ci = cq->ci;

	while (count) {
		for (unsigned i = 0; i < shape.batch; i++) {
			const uint8_t *cqe = ring + (size_t)(ci & (size - 1)) * stride;
			if (cqe[BSN_CQE_OP_OWN_OFFSET] != op_own_of(ci, size, shape))
				goto empty;
			bsn_from_device(); /* O4 */
			read_cqe(q, cqe, shape);
			ci++;
			count--;
		}
		floor_publish_ci(cq, ci); /* O5 */
	}
empty:
	cq->ci = ci;
	return count;
}

COST_INLINE int run_polls(struct floor_queue *q, unsigned count, struct cost_shape shape)
{
	const unsigned missing =
		poll_all(q, polls_recvs(shape) ? &q->recv_cq : &q->cq, count, shape);

	if (!missing)
		return 0;
	return cost_late(polls_recvs(shape) ? floor_drain_recv(q, missing)
					    : floor_drain(q, missing));
}

COST_INLINE int run_polls_none(const struct floor_queue *q, unsigned count, struct cost_shape shape)
{
	const struct floor_cq *cq = &q->cq;
	const uint8_t *cqe = cq->ring + (size_t)(cq->ci & (cq->count - 1)) * cq->stride;
	const uint8_t full = op_own_of(cq->ci, cq->count, shape);

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET_BUT(i);
		if (cqe[BSN_CQE_OP_OWN_OFFSET] == full)
			return -EBUSY;
	}
	return 0;
}

COST_INLINE int run_shape(void *queue, unsigned count, struct cost_shape shape)
{
	if (shape.what == COST_POLL_NONE)
		return run_polls_none(queue, count, shape);
	if (cost_polls(shape.what))
		return run_polls(queue, count, shape);
	if (shape.what == COST_RECV)
		return run_recvs(queue, count, shape);
	if (shape.form == COST_PREPARED)
		return run_prepared(queue, count, shape);
	return run_posts(queue, count, shape);
}

COST_CODES(COST_RUN)

static cost_run *const runs[COST_CODE_COUNT] = { COST_CODES(COST_RUN_ENTRY) };

/* -- the column -------------------------------------------------------------------------------- */

static int post(void *queue, enum cost_what what, unsigned count)
{
	const struct floor_queue *q = queue;
	const bool is_ud = q->v.ah;

	switch (what) {
	case COST_WRITE:
		return runs[COST_CODE_write_sge](queue, count);
	case COST_SEND:
		return runs[is_ud ? COST_CODE_ud_send_sge : COST_CODE_send](queue, count);
	default:
		return runs[COST_CODE_send_imm](queue, count);
	}
}

static int post_recv(void *queue, unsigned count)
{
	return runs[COST_CODE_post_recv](queue, count);
}

/* Its code knows all lengths: of another one it is the code of the row that has it. */
static cost_run *run_of_length(const struct cost_shape *shape)
{
	struct cost_row row;

	for (enum cost_code code = 0; code < COST_CODE_COUNT; code++) {
		cost_row_of(code, &row);
		if (row.shape.form == COST_INLINED && row.shape.what == shape->what &&
		    row.shape.n == shape->n && row.shape.batch == shape->batch &&
		    cost_kind_of(&row)->type == cost_kinds[shape->queues].type)
			return runs[code];
	}
	return NULL;
}

/* It posts to one QP only, and knows neither XRC, nor DC, nor times, nor sessions. */
static cost_run *run_of(const struct cost_row *row)
{
	const struct cost_shape *shape = &row->shape;

	if (shape->queues >= COST_XRC || shape->what == COST_WAIT)
		return NULL;
	if (cost_has_turns(shape->queues) && !cost_polls(shape->what))
		return NULL;
	return shape->form == COST_INLINED ? run_of_length(shape) : runs[row->code];
}

const struct cost_column cost_floor = {
	.name = "floor",
	.loop = &cost_counting,
	.open = floor_open,
	.close = floor_close,
	.set_up = floor_set_up,
	.run_of = run_of,
	.post = post,
	.post_recv = post_recv,
	.drain = floor_drain,
	.drain_recv = floor_drain_recv,
};
