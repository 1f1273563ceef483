/* SPDX-License-Identifier: BSD-2-Clause */
/* What must be in the ring, the record and the register after a post. */
#include "requests.h"

void poison(struct fake *f)
{
	memset(f->sq_ring, FAKE_POISON, f->sq_bytes);
	memset(f->page, FAKE_POISON, FAKE_PAGE);
}

void unwrap(const struct fake *f, uint32_t pi, uint8_t *out)
{
	for (uint32_t i = 0; i <= dv_sq(f->sq)->bb_mask; i++)
		memcpy(out + i * BSN_BB_SIZE, block_at(f, pi + i), BSN_BB_SIZE);
}

static void assert_data(const struct bsn_wqe *wqe, const struct bsn_wr *wr)
{
	const bool atomic = is_atomic(wr->opcode);
	unsigned at = 0;

	if (wr->flags & BSN_F_INLINE) {
		uint32_t total = 0;
		for (uint32_t i = 0; i < wr->sge_count; i++)
			total += wr->sge[i].length;
		assert_int_equal(wqe->data_count, total != 0);
		if (!total)
			return;
		assert_non_null(wqe->data[0].bytes);
		assert_int_equal(wqe->data[0].length_bytes, total);
		assert_memory_equal(wqe->data[0].bytes, payload, total);
		return;
	}
	for (uint32_t i = 0; i < wr->sge_count; i++) {
		const uint32_t length = atomic ? 8 : wr->sge[i].length;
		if (!length)
			continue;
		assert_null(wqe->data[at].bytes);
		assert_int_equal(wqe->data[at].addr, wr->sge[i].addr);
		assert_int_equal(wqe->data[at].lkey, wr->sge[i].lkey);
		assert_int_equal(wqe->data[at].length_bytes, length);
		at++;
	}
	assert_int_equal(wqe->data_count, at);
}

static void assert_wqe(const struct bsn_wqe *wqe, const struct bsn_wr *wr, uint32_t pi)
{
	const struct bsn_ctrl *c = &wqe->ctrl;

	assert_int_equal(c->opcode, wr->opcode);
	assert_int_equal(c->opmod, 0);
	assert_int_equal(c->wqe_index, (uint16_t)pi);
	assert_int_equal(c->qpn, FAKE_QPN);
	assert_int_equal(c->ce, wr->flags & BSN_F_SIGNALED ? BSN_CE_ALWAYS : BSN_CE_ON_ERROR);
	assert_int_equal(c->solicited, (wr->flags & BSN_F_SOLICITED) != 0);
	assert_int_equal(c->fence, wr->flags & BSN_F_FENCE ? BSN_FENCE_SMALL_AND_FENCE : 0);
	assert_int_equal(c->imm, wqe->op->imm == BSN_IMM_NONE ? 0 : wr->imm);
	if (wqe->op->has_raddr) {
		assert_int_equal(wqe->raddr.raddr, wr->remote.addr);
		assert_int_equal(wqe->raddr.rkey, wr->remote.rkey);
	}
	if (wqe->op->has_atomic)
		assert_int_equal(wqe->atomic.swap_or_add, wr->swap_add);
	if (wr->opcode == BSN_OPCODE_ATOMIC_CS)
		assert_int_equal(wqe->atomic.compare, wr->compare);
	assert_data(wqe, wr);
}

void assert_register(const struct fake *f, unsigned buffer, const uint8_t *wqe, uint32_t ds)
{
	const uint32_t blocks = (ds + 3) / 4;
	const bool blueflame = dv_sq(f->sq)->store != BSN_STORE_DOORBELL &&
			       blocks * BSN_BB_SIZE <= f->lane.blueflame_bytes;
	const uint8_t *reg = fake_buffer(f, buffer);
	const uint8_t *end = reg + (blueflame ? blocks * BSN_BB_SIZE : 8);

	assert_memory_equal(reg, wqe, blueflame ? ds * BSN_DS_SIZE : 8);
	assert_poison(f->page, (size_t)(reg - f->page));
	assert_poison(end, (size_t)(f->page + FAKE_PAGE - end));
}

/* The id is where the poller will look for it. Only the WQE was written besides. */
static void assert_kept(const struct fake *f, const struct bsn_wr *wr, const struct bsn_peer *peer,
			uint32_t pi, const uint8_t *bytes, uint32_t written)
{
	const uint32_t slot = pi & dv_sq(f->sq)->bb_mask;
	const uint32_t ring_bytes = (dv_sq(f->sq)->bb_mask + 1) * BSN_BB_SIZE;

	if (peer) {
		assert_int_equal(dv_sq(f->sq)->route.ids[2 * slot], wr->id);
		assert_ptr_equal((void *)(uintptr_t)dv_sq(f->sq)->route.ids[2 * slot + 1],
				 peer->user);
	} else if (bytes[7] <= BSN_NEAR_DS) {
		assert_memory_equal(bytes + BSN_NEAR_ID_AT, &wr->id, 8);
		assert_poison(bytes + written, BSN_NEAR_ID_AT - written);
		written = BSN_BB_SIZE;
	} else {
		assert_int_equal(dv_sq(f->sq)->route.ids[slot], wr->id);
	}
	assert_poison(bytes + written, ring_bytes - written);
}

/* Checks that a request to one of many peers has this peer's prefix. */
static void assert_peer(const struct bsn_peer *peer, const uint8_t *bytes)
{
	uint32_t word1;

	memcpy(&word1, bytes + 8, 4);
	assert_int_equal(word1 & 0xffffff, peer->ctrl_bits & 0xffffff);
	assert_memory_equal(bytes + 16, &peer->head, 16);
	if (peer->prefix_ds == 3)
		assert_memory_equal(bytes + 32, peer->more, 32);
}

void assert_posted(const struct fake *f, const struct bsn_wr *wr, const struct bsn_peer *peer,
		   uint32_t pi, unsigned buffer, uint32_t writes_bytes)
{
	uint8_t bytes[RING_BB * BSN_BB_SIZE];
	struct bsn_wqe wqe;
	struct bsn_bad bad;
	uint32_t blocks;

	unwrap(f, pi, bytes);
	if (bsn_wqe_decode(bytes, sizeof(bytes), dv_sq(f->sq)->transport, &wqe, &bad) ||
	    bsn_wqe_findings(&wqe, &bad, 1))
		fail_msg("%s.%s: %s", bad.segment, bad.field ? bad.field : "-", bad.why);
	assert_wqe(&wqe, wr, pi);
	if (peer && wr->opcode != BSN_OPCODE_NOP)
		assert_peer(peer, bytes);
	blocks = (wqe.ctrl.ds + 3) / 4;
	assert_kept(f, wr, peer, pi, bytes,
		    wqe.size_bytes > writes_bytes ? wqe.size_bytes : writes_bytes);
	assert_int_equal(f->sq->pi, (uint16_t)(pi + blocks));
	assert_int_equal((f->sq->slot - f->sq_ring) / BSN_BB_SIZE & dv_sq(f->sq)->bb_mask,
			 (pi + blocks) & dv_sq(f->sq)->bb_mask);
	if (wr->flags & BSN_F_RING) {
		assert_int_equal(fake_send_record(f), (uint16_t)(pi + blocks));
		assert_register(f, buffer, bytes, wqe.ctrl.ds);
		assert_ptr_equal(f->lane.hot.reg, fake_buffer(f, !buffer));
	} else {
		assert_int_equal(f->sq->last, (uint32_t)(uintptr_t)block_at(f, pi));
		assert_int_equal(fake_send_record(f), (uint16_t)pi);
		assert_poison(f->page, FAKE_PAGE);
		assert_ptr_equal(f->lane.hot.reg, fake_buffer(f, buffer));
	}
}

#ifdef BSN_ORDER_TRACE
void assert_order(const struct fake *f, const struct bsn_wr *wr, uint32_t pi)
{
	const unsigned bytes = (uint16_t)(f->sq->pi - pi) * BSN_BB_SIZE;
	const bool blueflame =
		dv_sq(f->sq)->store != BSN_STORE_DOORBELL && bytes <= f->lane.blueflame_bytes;

	if (wr->flags & BSN_F_RING)
		trace_assert_published(f, pi, blueflame ? bytes : 0,
				       trace_bytes_at_a_time(dv_sq(f->sq)->store));
	else
		assert_string_equal(trace_word("W"), "W");
}
#else
void assert_order(const struct fake *f, const struct bsn_wr *wr, uint32_t pi)
{
}
#endif
