/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue, for code that posts to it out of line. Private to the library. */
#ifndef DV_SQ_H
#define DV_SQ_H

#include <pthread.h>

#include "bsn_ops.h"
#include "bsn_post_block.h"
#include "bsn_decode.h"
#include "messages.h"
#include "refuse.h"
#include "whole.h"

BSN_ALWAYS_INLINE const uint8_t *bsn_sq_slot_of(const struct bsn_sq *sq, unsigned index)
{
	return dv_sq(sq)->ring + (size_t)(index & dv_sq(sq)->bb_mask) * BSN_BB_SIZE;
}

/* Blocks of the WQE at @index. */
BSN_ALWAYS_INLINE unsigned bsn_sq_blocks_at(const struct bsn_sq *sq, unsigned index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, bsn_sq_slot_of(sq, index));
	return bsn_bb_of_ds(ctrl.ds);
}

/* The first request that was not published. The doorbell record, which is our memory, tells. */
static inline uint16_t bsn_sq_first_unrung(const struct bsn_sq *sq)
{
	struct bsn_dbr_wq record;

	bsn_dbr_wq_decode(&record, sq->record);
	return (uint16_t)record.index;
}

/*
 * A number that only the calling thread has: its thread pointer, a register in the ABIs of both
 * architectures.
 */
BSN_ALWAYS_INLINE uintptr_t bsn_this_thread(void)
{
#if defined(__aarch64__)
	return (uintptr_t)__builtin_thread_pointer();
#else
	uintptr_t self;

	__asm__("movq %%fs:0, %0" : "=r"(self)); /* ELF Handling For Thread-Local Storage, 4.4.6 */
	return self;
#endif
}

/* @pi modulo 2^32. */
static inline uint32_t bsn_sq_wide_pi(const struct bsn_sq *sq)
{
	return dv_sq(sq)->wide_pi + (uint16_t)(sq->pi - (uint16_t)dv_sq(sq)->wide_pi);
}

/* Where the last request that was polled begins. */
BSN_ALWAYS_INLINE uint16_t bsn_sq_done(const struct bsn_sq *sq)
{
	return __atomic_load_n(&dv_sq(sq)->route.hot.done, __ATOMIC_ACQUIRE); /* O6 */
}

/*
 * Whether nothing is outstanding, as far as was polled: up to the WQE at @done. It retires nothing,
 * so it costs less than bsn_sq_outstanding_bb(). If @done is the block before the index, the WQE
 * there is not read: before the first completion after a reset it is one of an earlier life. Else
 * it is in the ring until it is retired.
 */
BSN_ALWAYS_INLINE bool bsn_sq_is_done(const struct bsn_sq *sq, uint16_t done)
{
	const uint16_t retired = dv_sq(sq)->retired;

	return BSN_LIKELY((uint16_t)(done + 1) == sq->pi) || sq->pi == retired ||
	       (done != dv_sq(sq)->seen_done &&
		sq->pi == (uint16_t)(done + bsn_sq_blocks_at(sq, done)));
}

/* Atomics without masks. */
#define BSN_OPS_OF_ATOMICS (1ull << BSN_OPCODE_ATOMIC_CS | 1ull << BSN_OPCODE_ATOMIC_FA)

/* BSN_WHAT() without the count. */
#define BSN_WHAT_REST ((1u << BSN_WHAT_COUNT_SHIFT) - 1)

/* What a request consists of that is no message: a UMR, a masked atomic, a copy. */
struct bsn_sq_body {
	uint8_t opmod;
	bool is_local; /* no peer takes part, so the WQE has no prefix */
	unsigned ds;   /* with the control segment, without the prefix */
	uint8_t *(*put)(uint8_t *at, const void *arg); /* puts the segments; returns their end */
	const void *arg;
};

/**
 * struct bsn_request - any request
 * @what: BSN_WHAT(): opcode, flags, number of SGEs; with BSN_F_INLINE their lkeys are not used
 * @imm: immediate, or the key to invalidate; 0: none
 * @sge: local memory
 * @remote: not read if the opcode has no remote address
 * @operand: of an atomic: the value to swap in or to add, and to compare with; else NULL
 * @body: of a request that is no message: its segments; else NULL
 */
struct bsn_request {
	uint32_t what, imm;
	const struct bsn_sge *sge;
	const struct bsn_remote *remote;
	const uint64_t *operand;
	const struct bsn_sq_body *body;
	uint64_t id;
};

/* @opcodes: one bit each */
BSN_ALWAYS_INLINE bool is_one_of(uint64_t opcodes, unsigned opcode)
{
	return opcode < 64 && opcodes >> opcode & 1;
}

/* The immediate or key of an operation that has one, else 0. */
BSN_ALWAYS_INLINE uint32_t imm_of(const struct bsn_wr *wr)
{
	return is_one_of(BSN_OPS_WITH_IMM, wr->opcode) ? wr->imm : 0;
}

/* bsn_post() of maps, of inline data of several SGEs, and of bad requests. */
int bsn_sq_post_wr(struct bsn_ep *ep, const struct bsn_wr *wr);

/*
 * Posts any request to any endpoint, by a fast function if one takes it, else by
 * bsn_sq_post_request(). Context and result: as bsn_sq_post_sgl().
 */
int bsn_ep_post(struct bsn_ep *ep, const struct bsn_request *r);

/*
 * request.c: the cold function for any request: it refills, wraps, pays an owed fence, uses the
 * queue's path, or refuses.
 */
int bsn_sq_post_request(struct bsn_ep *ep, const struct bsn_request *r);

/* How many requests of the greatest length the ring has room for. */
uint32_t bsn_sq_room(struct bsn_sq *sq);

/*
 * 0 if the queue takes such a request, with or without room for it now, or why not, with its text.
 * For paths whose requests are not WQEs.
 */
int bsn_sq_judge(struct bsn_sq *sq, const struct bsn_request *r);

/* A bit of @can: appended requests cannot be cancelled, since some may be other peers'. */
#define BSN_CAN_NOT_CANCEL (1 << 6)

/* Free blocks. */
uint32_t bsn_sq_free_bb(struct bsn_sq *sq);

/*
 * Whether the device reads the queue's ring. On plain verbs the ring, if there is one, is a copy.
 */
static inline bool has_wqes(const struct bsn_sq *sq)
{
	return dv_sq(sq)->ring_end;
}

/* False also for the own endpoint of a QP of many peers: each peer has an endpoint. */
static inline bool has_queue(const struct bsn_ep *ep)
{
	return ep && ep->sq && (dv_sq(ep->sq)->ring || dv_sq(ep->sq)->path);
}

/* Whether the queue takes requests. One that has neither a ring nor a path is always closed. */
static inline bool is_open(const struct bsn_ep *ep)
{
	return ep && ep->sq && !dv_sq(ep->sq)->closed;
}

/* bsn_ring() and bsn_cancel() of the queue. */
int bsn_sq_ring(struct bsn_sq *sq);
int bsn_sq_cancel(struct bsn_sq *sq);

/* Blocks that were appended, published or not, and are not retired. On the poster's thread. */
uint32_t bsn_sq_outstanding_bb(struct bsn_sq *sq);

/* The same as a number of requests. */
uint32_t bsn_sq_count_outstanding(struct bsn_sq *sq);

/* bsn_qp_give_back() of the queue. */
int bsn_sq_give_back(struct bsn_sq *sq, struct bsn_completion *c, int n);

/* Blocks published by BlueFlame so far, modulo 2^32. */
uint32_t bsn_sq_count_blueflame(const struct bsn_sq *sq);

/*
 * Moves the slot into the ring, and shows the room after it. It shows none while a fence is owed,
 * or if the queue is closed or has a path.
 */
void bsn_sq_refill(struct bsn_sq *sq);

/* Whether so many bytes are shown as free, without a wrap. */
BSN_ALWAYS_INLINE bool bsn_sq_has_room(const struct bsn_sq *sq, size_t bytes)
{
	return sq->slot + bytes - BSN_BB_SIZE <= sq->room;
}

/*
 * Looks for more room, and moves the slot into the ring. Returns whether so many bytes are free
 * without a wrap. False also if a fence is owed, the queue has a path, or it is closed.
 */
bool bsn_sq_refill_for(struct bsn_sq *sq, size_t bytes) __attribute__((cold));

/* Notes that the calling thread posts. */
void bsn_sq_note_poster(struct bsn_sq *sq);

/* Signals the unsignaled request at @wqe, in the ring, if too much is outstanding. */
void bsn_sq_take_turn(struct bsn_sq *sq, uint8_t *wqe);

/* Ends the post of a WQE of @ds DS that is in the ring, at the slot; it may wrap. */
int bsn_sq_commit(struct bsn_sq *sq, const struct bsn_peer *peer, unsigned ds, uint32_t flags,
		  uint64_t id);

/*
 * Posts a body; it may wrap. @what: BSN_WHAT(). Returns as bsn_sq_post_sgl(), and -EMSGSIZE if the
 * queue has fewer blocks than the body.
 */
int bsn_ep_post_body(struct bsn_ep *ep, uint32_t what, uint32_t imm, const struct bsn_sq_body *body,
		     uint64_t id);

/* An atomic of 8 bytes; operands: swap or add, compare. @ep is not NULL. */
int bsn_sq_post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id);

#endif
