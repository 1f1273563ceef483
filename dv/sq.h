/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue, for builders of long WQEs. Private to dv/. */
#ifndef DV_SQ_H
#define DV_SQ_H

#include <pthread.h>

#include "bsn_build.h"
#include "bsn_decode.h"
#include "refuse.h"

BSN_ALWAYS_INLINE const uint8_t *bsn_sq_slot_of(const struct bsn_sq *sq, unsigned index)
{
	return sq->ring + (size_t)(index & sq->bb_mask) * BSN_BB_SIZE;
}

/* Blocks of the WQE at @index. */
BSN_ALWAYS_INLINE unsigned bsn_sq_blocks_at(const struct bsn_sq *sq, unsigned index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, bsn_sq_slot_of(sq, index));
	return bsn_bb_of_ds(ctrl.ds);
}

/* The doorbell record, which is our memory, says what was published last. */
static inline uint16_t bsn_sq_first_unrung(const struct bsn_sq *sq)
{
	struct bsn_dbr_wq record;

	bsn_dbr_wq_decode(&record, sq->record);
	return (uint16_t)record.index;
}

/* A number of the calling thread: its thread pointer, which the ABIs of both architectures have at hand. */
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
	return sq->wide_pi + (uint16_t)(sq->pi - (uint16_t)sq->wide_pi);
}

/*
 * Whether nothing is outstanding, as far as was polled. Only looks, so that it costs less than
 * bsn_sq_outstanding_bb(), which takes over what it finds. The ring has the WQE at @done until that
 * is seen; after a reset nothing is done, and the ring has WQEs of before.
 */
BSN_ALWAYS_INLINE bool bsn_sq_is_empty(const struct bsn_sq *sq)
{
	const uint16_t done = __atomic_load_n(&sq->route.done, __ATOMIC_ACQUIRE); /* O6 */
	struct bsn_ctrl ctrl;

	if (done == sq->seen_done)
		return sq->pi == sq->retired;
	bsn_ctrl_decode(&ctrl, sq->ring + (size_t)(done & sq->bb_mask) * BSN_BB_SIZE);
	return sq->pi == (uint16_t)(done + bsn_bb_of_ds(ctrl.ds)) || sq->pi == sq->retired;
}

/* Where the last request that was polled begins. */
BSN_ALWAYS_INLINE uint16_t bsn_sq_done(const struct bsn_sq *sq)
{
	return __atomic_load_n(&sq->route.done, __ATOMIC_ACQUIRE); /* O6 */
}

/*
 * bsn_sq_is_empty() of a queue that has a ring, most often in fewer steps: what was @done last is
 * the block before the index.
 */
BSN_ALWAYS_INLINE bool bsn_sq_is_done(const struct bsn_sq *sq, uint16_t done)
{
	return BSN_LIKELY((uint16_t)(done + 1) == sq->pi) || bsn_sq_is_empty(sq);
}

/* The fence that is owed, as it lies in the control segment; a request's own is as good. */
static inline struct bsn_be64 bsn_sq_owed_fence(const struct bsn_sq *sq, uint32_t flags)
{
	const struct bsn_ctrl owed = {
		.fence = flags & BSN_F_FENCE ? BSN_FENCE_NONE : sq->next_fence,
	};

	if (owed.fence > BSN_FENCE_SMALL_AND_FENCE)
		__builtin_unreachable(); /* else it would be masked */
	return bsn_byte_pair_to_be64((uint32_t)(bsn_ctrl_word(&owed, 1) >> 32), 0);
}

/* Returns where the next one begins. */
BSN_ALWAYS_INLINE uint8_t *put_ds(uint8_t *at, struct bsn_ds ds)
{
	bsn_store_ds(at, ds);
	return at + BSN_DS_SIZE;
}

/* READs and atomics, a bit each: their answers bring data. */
#define BSN_OPS_OF_READS                                                                           \
	(1ull << BSN_OPCODE_RDMA_READ | 1ull << BSN_OPCODE_ATOMIC_CS | 1ull << BSN_OPCODE_ATOMIC_FA | \
	 1ull << BSN_OPCODE_ATOMIC_MASKED_CS | 1ull << BSN_OPCODE_ATOMIC_MASKED_FA)

/* What a WQE consists of that the functions of bsn_sq.h do not build. */
struct bsn_sq_body {
	uint32_t what;     /* BSN_WHAT() */
	uint32_t imm;
	uint8_t opmod;
	bool is_local;     /* no peer takes part, so none is named */
	unsigned ds;       /* of all, the control segment included, a peer's address not */
	uint8_t *(*put)(uint8_t *at, const void *arg); /* puts the segments; returns their end */
	const void *arg;
};

/* No request that was appended can be taken back: some are other peers'. The bit is in @can. */
#define BSN_CAN_NOT_CANCEL (1 << 6)

/* Shows what room there is, where it is not seen from the slot; also while a fence is owed. */
void bsn_sq_find_room(struct bsn_sq *sq);

/*
 * Posts it to a queue of ours with one peer; it may wrap. 0; -EAGAIN, -ENOTCONN as any post, -EMSGSIZE where
 * the queue can never have so many blocks outstanding.
 */
int bsn_sq_post_body(struct bsn_sq *sq, const struct bsn_sq_body *body, uint64_t id);

/* The same of an endpoint, which may be one of many of its queue. */
int bsn_ep_post_body(struct bsn_ep *ep, const struct bsn_sq_body *body, uint64_t id);

#endif
