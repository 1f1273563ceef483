/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The place of the next WQE, and the end of its post: it is appended, or published from the ring.
 * Private to dv/.
 */
#ifndef DV_PLACE_H
#define DV_PLACE_H

#include "segments.h"
#include "sq.h"

/* A WQE's place in the ring, its length and its peer. */
struct place {
	struct bsn_sq *sq;
	const struct bsn_peer *peer; /* NULL: the queue has one peer */
	uint8_t *wqe;
	unsigned ds;
};

BSN_ALWAYS_INLINE struct place place_of(const struct bsn_ep *ep, const struct bsn_peer *peer,
					uint32_t what, unsigned data_ds)
{
	return (struct place){ ep->sq, peer, ep->sq->slot, head_ds(peer, what) + data_ds };
}

/* Whether the place is known to be free and does not wrap. */
BSN_ALWAYS_INLINE bool has_room(const struct place *p)
{
	return BSN_LIKELY(bsn_sq_has_room(p->sq, bsn_bytes_of_ds(p->ds)));
}

/* The same, and if no room is known looks for more: the poller may have freed some. */
BSN_ALWAYS_INLINE bool find_room(struct place *p)
{
	if (has_room(p))
		return true;
	if (!bsn_sq_refill_for(p->sq, bsn_bytes_of_ds(p->ds)))
		return false;
	p->wqe = p->sq->slot;
	return true;
}

/*
 * Whether the queue takes the operation without its path, and the calling function handles it
 * (@ops) and its flags (@flags).
 */
BSN_ALWAYS_INLINE bool takes(const struct bsn_sq *sq, uint32_t what, uint64_t ops, uint32_t flags)
{
	return BSN_LIKELY((sq->ops & ops) >> (what & 63) & 1) &&
	       BSN_LIKELY(!(what & BSN_WHAT_FLAGS & ~flags));
}

/*
 * Adds the owed fence, if any, and shows the room to inline code again. A request with a fence of
 * its own needs no second one. Only queues of one peer owe a fence.
 */
BSN_ALWAYS_INLINE void pay_fence(struct bsn_sq *sq, uint8_t *wqe, uint32_t flags)
{
	const struct bsn_ctrl owed = { .fence = dv_sq(sq)->next_fence };

	if (!(flags & BSN_F_FENCE))
		or_word(wqe + 8, bsn_ctrl_word(&owed, 1));
	dv_sq(sq)->next_fence = BSN_FENCE_NONE;
	bsn_sq_set_room(sq, sq->room);
}

/*
 * Copies whole blocks into the BlueFlame register. With half a block a round, a SEND of 4 SGEs
 * takes 17 ns on Zen 3; with a whole block 32 ns.
 */
BSN_ALWAYS_INLINE void copy_by_8(uint8_t *reg, const uint8_t *wqe, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += BSN_BB_SIZE / 2) {
		BSN_UNROLL
		for (size_t i = at; i < at + BSN_BB_SIZE / 2; i += 8)
			bsn_store_mmio(reg + i, word_at(wqe + i));
	}
}

BSN_ALWAYS_INLINE void copy_by_16(uint8_t *reg, const uint8_t *wqe, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += BSN_BB_SIZE) {
		BSN_UNROLL
		for (size_t i = at; i < at + BSN_BB_SIZE; i += BSN_DS_SIZE)
			bsn_store_mmio_v2(reg + i, two_words_at(wqe + i));
	}
}

/* Writes 8 B to the register for all WQEs up to @wqe, the last one; @bytes: of those not rung. */
BSN_ALWAYS_INLINE void ring_doorbell(struct bsn_sq *sq, uint8_t *reg, const uint8_t *wqe,
				     size_t bytes)
{
	bsn_store_mmio(reg, word_at(wqe));
	dv_sq(sq)->count_rung += bytes;
	dv_sq(sq)->count_doorbells++;
}

/*
 * Publishes a WQE that publish() leaves: it is too long for BlueFlame, others were appended before
 * it, or the queue is of BSN_PUBLISH_CALL.
 */
int bsn_sq_publish_cold(struct bsn_sq *sq, const uint8_t *wqe) __attribute__((cold));

/* Publishes the WQE of @bytes, whole blocks that do not wrap. The index is past it already. */
BSN_ALWAYS_INLINE int publish(struct bsn_sq *sq, const uint8_t *wqe, size_t bytes)
{
	struct bsn_lane *lane;
	uint8_t *reg;

	if (BSN_UNLIKELY(sq->publish > BSN_PUBLISH_DOORBELL || bytes > BSN_BF_BUFFER_BYTES))
		return bsn_sq_publish_cold(sq, wqe);
	lane = bsn_sq_open_register(sq);
	reg = lane->reg;
	if (BSN_LIKELY(sq->publish == BSN_PUBLISH_8)) {
		copy_by_8(reg, wqe, bytes);
	} else if (sq->publish == BSN_PUBLISH_16) {
		copy_by_16(reg, wqe, bytes);
	} else {
		ring_doorbell(sq, reg, wqe, bytes);
	}
	bsn_sq_close_register(lane, reg);
	return 0;
}

/* Ends a post whose WQE is in the ring: keeps the id, moves the slot on, appends or publishes. */
BSN_ALWAYS_INLINE int end_post(const struct place *p, uint64_t id, uint32_t flags)
{
	const size_t bytes = bsn_bytes_of_ds(p->ds);
	struct bsn_sq *const sq = p->sq;

	/* The WQE has a place, so nothing but an owed fence hides the room from inline code. */
	if (!p->peer && BSN_UNLIKELY(!sq->limit))
		pay_fence(sq, p->wqe, flags);
	keep_id(sq, p->wqe, p->peer, p->ds, id);
	sq->slot = p->wqe + bytes;
	bsn_sq_advance(sq, bytes);
	if (BSN_UNLIKELY(!(flags & BSN_F_SIGNALED)) && BSN_UNLIKELY(--sq->quiet == 0))
		return bsn_sq_end_turn(sq, bytes, flags);
	if (!(flags & BSN_F_RING))
		return bsn_sq_append(sq, p->wqe);
	return publish(sq, p->wqe, bytes);
}

#endif
