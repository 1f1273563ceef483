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
#elif defined(__x86_64__) && defined(__LP64__)
	uintptr_t self;

	__asm__("movq %%fs:0, %0" : "=r"(self)); /* ELF Handling For Thread-Local Storage, 4.4.6 */
	return self;
#else
	return (uintptr_t)pthread_self();
#endif
}

/* @pi modulo 2^32. */
static inline uint32_t bsn_sq_wide_pi(const struct bsn_sq *sq)
{
	return dv_sq(sq)->wide_pi + (uint16_t)(sq->pi - (uint16_t)dv_sq(sq)->wide_pi);
}

/*
 * Whether nothing is outstanding, as far as was polled. It only looks, so it costs less than
 * bsn_sq_outstanding_bb(), which retires what it finds. The WQE at @done stays in the ring until it
 * is retired. After a reset nothing is done, and the ring holds WQEs of before.
 */
BSN_ALWAYS_INLINE bool bsn_sq_is_empty(const struct bsn_sq *sq)
{
	struct dv_sq *const whole = dv_sq(sq);
	const uint16_t done = __atomic_load_n(&whole->route.hot.done, __ATOMIC_ACQUIRE); /* O6 */
	struct bsn_ctrl ctrl;

	if (done == whole->seen_done)
		return sq->pi == whole->retired;
	bsn_ctrl_decode(&ctrl, whole->ring + (size_t)(done & whole->bb_mask) * BSN_BB_SIZE);
	return sq->pi == (uint16_t)(done + bsn_bb_of_ds(ctrl.ds)) || sq->pi == whole->retired;
}

/* Where the last request that was polled begins. */
BSN_ALWAYS_INLINE uint16_t bsn_sq_done(const struct bsn_sq *sq)
{
	return __atomic_load_n(&dv_sq(sq)->route.hot.done, __ATOMIC_ACQUIRE); /* O6 */
}

/*
 * bsn_sq_is_empty() for a queue with a ring, in fewer steps if @done is the block before the index.
 * Then the WQE at @done is not read: before the first completion after a reset it is one of an
 * earlier life.
 */
BSN_ALWAYS_INLINE bool bsn_sq_is_done(const struct bsn_sq *sq, uint16_t done)
{
	return BSN_LIKELY((uint16_t)(done + 1) == sq->pi) || bsn_sq_is_empty(sq);
}

/* Atomics without masks. */
#define BSN_OPS_OF_ATOMICS (1ull << BSN_OPCODE_ATOMIC_CS | 1ull << BSN_OPCODE_ATOMIC_FA)

/* BSN_WHAT() without the count. */
#define BSN_WHAT_REST ((1u << BSN_WHAT_COUNT_SHIFT) - 1)

/* A WQE that is not a plain message: a UMR, a masked atomic, a copy. */
struct bsn_sq_body {
	uint32_t what; /* BSN_WHAT() */
	uint32_t imm;
	uint8_t opmod;
	bool is_local; /* no peer takes part, so the WQE has no prefix */
	unsigned ds;   /* with the control segment, without the prefix */
	uint8_t *(*put)(uint8_t *at, const void *arg); /* puts the segments; returns their end */
	const void *arg;
};

/**
 * struct bsn_request - any request
 * @what: BSN_WHAT(): opcode, flags, number of SGEs; with BSN_F_INLINE these are plain pointers
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

/* @operand: those of @wr, used if it is an atomic. The opcode is below 256. */
BSN_ALWAYS_INLINE struct bsn_request bsn_request_of(const struct bsn_wr *wr,
						    const uint64_t operand[2])
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

/* Makes a request of a map one of the map's SGEs; < 0, with its text: it cannot be one request. */
int bsn_list_map(const struct bsn_wr *wr, struct bsn_wr *as_list);

/* bsn_post() for a request of a map. */
int bsn_sq_post_map(struct bsn_ep *ep, const struct bsn_wr *wr);

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

/* Refuses a request whose opcode does not fit a byte, or with unknown flags. */
int bsn_sq_refuse_opcode(struct bsn_ep *ep);

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
bool bsn_sq_refill_for(struct bsn_sq *sq, size_t bytes);

/* Notes that the calling thread posts. */
void bsn_sq_note_poster(struct bsn_sq *sq);

/* Signals the unsignaled request at @wqe, in the ring, if too much is outstanding. */
void bsn_sq_take_turn(struct bsn_sq *sq, uint8_t *wqe);

/* Ends the post of a WQE of @ds DS that is in the ring, at the slot; it may wrap. */
int bsn_sq_commit(struct bsn_sq *sq, const struct bsn_peer *peer, unsigned ds, uint32_t flags,
		  uint64_t id);

/*
 * Posts a body through the queue's own endpoint; it may wrap. Returns as bsn_sq_post_sgl(), and
 * -EMSGSIZE if the queue has fewer blocks than the body.
 */
int bsn_sq_post_body(struct bsn_sq *sq, const struct bsn_sq_body *body, uint64_t id);

/* The same through any endpoint. */
int bsn_ep_post_body(struct bsn_ep *ep, const struct bsn_sq_body *body, uint64_t id);

/* An atomic of 8 bytes; operands: swap or add, compare. @ep is not NULL. */
int bsn_sq_post_atomic(struct bsn_ep *ep, uint32_t what, const struct bsn_sge *sge,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id);

#endif
