/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue: slots, credits, building a WQE of one basic block in registers, and its
 * publication. What is hot is here and inline; every rare case leaves through bsn_sq_post(), whose
 * one entrance is "no credits":
 *
 *	really full            what the poller saw done is read, and the post retried or refused
 *	a fence is owed        `next_fence` is set: the queue shows no credits until the next post
 *	plain verbs            the queue never has credits here
 *	endpoint with prefix   (UD, DC) its hot queue is a detour that never has credits
 *	several SGEs, long inline data, atomics that need more than one block
 *
 * so the hot path asks one question for all of them.
 *
 * Counters count basic blocks. The device's run modulo 2^16, the poster's modulo 2^32: 16-bit
 * arithmetic would cost an extension at each use. Differences are taken forward and are at most
 * the size of the ring (32768 BBs).
 */
#ifndef BSN_SQ_H
#define BSN_SQ_H

#include <errno.h>
#include <stdbool.h>

#include "bsn_db.h"
#include "bsn_doorbell.h"

BSN_HEADER_BEGIN

/** struct bsn_sge - local memory; the layout of struct ibv_sge */
struct bsn_sge {
	uint64_t addr;
	uint32_t length; /* bytes */
	uint32_t lkey;
};

/** struct bsn_remote - remote memory */
struct bsn_remote {
	uint64_t addr;
	uint32_t rkey;
};

/** enum bsn_flags - of a post */
enum bsn_flags {
	BSN_F_SIGNALED = 1 << 0,  /* a completion on success too */
	BSN_F_RING = 1 << 1,      /* publish this and everything appended before */
	BSN_F_SOLICITED = 1 << 2, /* solicited event at the receiver */
	BSN_F_FENCE = 1 << 3,     /* wait for earlier READs and atomics of this queue */
	BSN_F_INLINE = 1 << 4,    /* bsn_post(): the data is copied into the WQE now */
};

/**
 * struct bsn_wr - any request, for bsn_post() and the rare cases of the others
 * @id: comes back in the completion
 * @opcode: enum bsn_wqe_opcode
 * @sge: local memory; with BSN_F_INLINE, plain pointers whose lkey is not read
 * @imm: immediate (host order), or the rkey to invalidate
 * @swap_add: value to swap in, or to add
 * @compare: value to compare with
 */
struct bsn_wr {
	uint64_t id;
	const struct bsn_sge *sge;
	uint32_t sge_count;
	uint32_t flags;
	struct bsn_remote remote;
	uint32_t opcode;
	uint32_t imm;
	uint64_t swap_add;
	uint64_t compare;
};

#define BSN_PREPARED_SGE 3 /* as many as one block takes behind the control segment */

/**
 * struct bsn_prepared - a request whose body was encoded once, by bsn_prepare()
 *
 * Neither the QPN nor the ring index is in it, so it may be posted to any endpoint of the transport
 * it was made for, any number of times. Its fields are the library's.
 */
struct bsn_prepared {
	bsn_v2 body[3];
	struct bsn_be64 ctrl0; /* opcode and length */
	struct bsn_be64 ctrl1; /* immediate */
	uint32_t imm;
	uint32_t body_ds;
	struct bsn_wr wr; /* for paths that do not take bytes */
	struct bsn_sge sge[BSN_PREPARED_SGE];
};

/** enum bsn_ring_slow - why the inline code must not publish a block by itself */
enum bsn_ring_slow {
	BSN_RING_APPENDED = 1 << 0, /* something was appended before and is not published yet */
	BSN_RING_MODE = 1 << 1,     /* not 8 x 8 B of BlueFlame on a register of the lane's own */
};

/** enum bsn_can - operations that UC lacks; UD, which lacks more, never gets to the inline code */
enum bsn_can {
	BSN_CAN_READ = 1 << 0,
	BSN_CAN_ATOMIC = 1 << 1,
};

/** enum bsn_mark - of a slot; the other bits are the number of the endpoint that was posted to */
enum bsn_mark {
	BSN_MARK_HIDDEN = 1 << 30, /* signaled by the library itself */
};

struct bsn_completion;
struct bsn_ep;
struct bsn_sq;
struct bsn_sq_users;
struct bsn_wqe_op;

/**
 * struct bsn_sq_path - what a queue without credits of its own does
 * @post: a request that bsn_sq_post() judged, and its operation; -EAGAIN and whatever else this path
 *	cannot
 * @ring: bsn_sq_ring()
 */
struct bsn_sq_path {
	int (*post)(struct bsn_ep *ep, const struct bsn_wr *wr, const struct bsn_wqe_op *op);
	int (*ring)(struct bsn_sq *sq);
};

/**
 * struct bsn_sq - hot state of a send queue: a cache line of the poster's, one of the poller's
 *
 * A poster and a poller on different threads share only @done, release-stored by the poller and
 * acquire-read by the poster when its credits run out [O6]; how many blocks that WQE has stands in
 * the WQE, so nobody records it. Of the WQE that begins in a slot, 12 bytes are kept: its id, in
 * bsn_sq_ids(), which follow the structure, and its mark.
 */
struct bsn_sq {
	/* the poster's line */
	uint8_t *ring;
	struct bsn_be32 *record; /* SQ word of the doorbell record */
	struct bsn_lane *lane;
	uint64_t ctrl_base;  /* control segment, word 0, host order: the QPN */
	uint32_t pi;        /* next free BB */
	uint32_t limit;     /* pi may reach this; == pi: no credits, or a detour */
	uint32_t bb_mask;   /* BBs in the ring, less one */
	uint32_t last;      /* where the last WQE that was not published at once begins */
	uint8_t quiet;      /* unsignaled posts until the library signals one */
	uint8_t ce_quiet;   /* byte 11 of an unsignaled WQE's control segment, but for the flags */
	uint8_t can;        /* enum bsn_can */
	uint8_t ring_slow;  /* 0: a block may be published by the inline code; enum bsn_ring_slow */

	/* the poller's line */
	uint32_t *marks __attribute__((aligned(64))); /* a slot each: enum bsn_mark, and a number */
	void *user; /* comes back in completions, but where there are @users */
	struct bsn_rq *rq;
	uint32_t poller_mask; /* bb_mask */
	uint32_t done;        /* where the last WQE known to be done begins, modulo 2^16 */
	uint8_t has_hidden;   /* the library ever signaled by itself */

	/* rare */
	const struct bsn_sq_path *path __attribute__((aligned(64)));
	struct bsn_sq_users *users; /* UD, DC: the endpoints' user pointers, by number; else NULL */
	uint32_t capacity_bb; /* blocks that may be outstanding: what the CQ has room for */
	uint32_t seen_done;   /* the poster's copy of done, when retired was last computed */
	uint32_t retired;     /* the poster's: BBs before this one are free */
	uint8_t next_fence;   /* enum bsn_fence owed by the next WQE; limit == pi while it is */
	uint8_t store;        /* enum bsn_store */
	uintptr_t owner_thread; /* the poster; see BSN_CHECK_OWNER() */
	uint32_t qpn;
	uint16_t max_inline; /* bytes; BSN_DS_INLINE_MAX or more, which the inline code counts on */
	uint16_t max_sge;
	uint8_t max_ds;       /* of one WQE */
	uint8_t signal_every; /* 0: never by itself */
	uint8_t transport;    /* enum bsn_transport */
	struct bsn_completion *first_error; /* where to keep the queue's first failure */
	bool has_failed;      /* a request failed */
	uint16_t flushed;     /* then: what comes before this index was reported */
	uint32_t count_slow_bb;   /* BBs that were published by bsn_sq_ring() and _publish_bb() */
	uint32_t count_blueflame; /* BlueFlame copies made there; see bsn_sq_count_blueflame() */
	uint32_t count_doorbells; /* 8-byte doorbells */
	uint32_t count_full;      /* posts refused for want of room */
};

BSN_ALWAYS_INLINE uint64_t *bsn_sq_ids(struct bsn_sq *sq)
{
	return (uint64_t *)(sq + 1);
}

/**
 * struct bsn_ep - where requests go: a send queue and what precedes each WQE's body
 * @sq: the queue; a detour without credits where @prefix_ds is not 0 or the endpoint is unbound
 */
struct bsn_ep {
	struct bsn_sq *sq;
	struct bsn_sq *bound; /* the real queue behind a detour */
	const void *prefix;   /* @prefix_ds units that follow the control segment */
	void *user;
	void *owner; /* the engine's object */
	uint16_t dci_stream;
	uint8_t prefix_ds;
	uint32_t number; /* of @user, in the queue's table */
};

/**
 * bsn_sq_post - any request, by the long way: every opcode, SGE count, inline length and wrap
 * Context: the queue's poster. Does not allocate or block.
 * Return: 0; -EAGAIN no room; -EMSGSIZE too many SGEs or bytes; -EOPNOTSUPP not on this transport
 * or path; -EINVAL no endpoint or an unbound one. Nothing was written unless 0.
 */
BSN_API int bsn_sq_post(struct bsn_ep *ep, const struct bsn_wr *wr);

/** bsn_sq_post_sge - bsn_sq_post() of one SGE, or of none (NULL) */
BSN_API int bsn_sq_post_sge(struct bsn_ep *ep, unsigned opcode, const struct bsn_sge *local,
		    const struct bsn_remote *remote, uint32_t imm, uint64_t id, unsigned flags);

/** bsn_sq_post_atomic - bsn_sq_post() of an atomic; operands: swap or add, compare */
BSN_API int bsn_sq_post_atomic(struct bsn_ep *ep, unsigned opcode, const struct bsn_sge *local,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id,
		       unsigned flags);

/**
 * bsn_prepare - encodes a request, as far as it does not depend on where it will stand
 * @ep: an endpoint of the transport
 * @wr: the request; its id and flags are given at each post, BSN_F_INLINE excepted
 * @p: the result; keeps nothing of @wr, and holds the inline data
 * Return: 0; -EMSGSIZE where body and control segment do not fit one block; as bsn_sq_post().
 */
BSN_API int bsn_prepare(struct bsn_ep *ep, const struct bsn_wr *wr, struct bsn_prepared *p);

/** bsn_sq_post_prepared - bsn_post_prepared() by the long way */
BSN_API int bsn_sq_post_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id,
				 unsigned flags);

/**
 * bsn_sq_give_back - flushes what will never have a CQE: unsignaled work behind the last signaled
 * request of a failed queue that was made to report only the first error (BSN_CE_ON_FIRST_ERROR)
 * Return: how many completions were stored.
 */
BSN_API int bsn_sq_give_back(struct bsn_sq *sq, struct bsn_completion *c, int n);

/** bsn_sq_detour - the queue of endpoints that take the long way; it never has credits */
extern struct bsn_sq bsn_sq_detour;

/**
 * bsn_sq_ring - publishes everything appended so far
 * Order: O1, O2, O3.
 * Return: 0; plain verbs: what ibv_post_send() said, as -errno.
 */
BSN_API int bsn_sq_ring(struct bsn_sq *sq);

/**
 * bsn_sq_publish_bb - publishes everything appended; the last WQE is one block, in registers
 *
 * Vectors, so that wide stores need not load what narrow ones have just stored.
 */
BSN_API void bsn_sq_publish_bb(struct bsn_sq *sq, bsn_v2 w01, bsn_v2 w23, bsn_v2 w45, bsn_v2 w67);

/** bsn_sq_auto_signal - an unsignaled post whose turn it is: byte 11 of its control segment */
BSN_API uint32_t bsn_sq_auto_signal(struct bsn_sq *sq);

/** bsn_sq_outstanding_bb - blocks appended and not yet retired, rung or not; the poster's thread */
BSN_API uint32_t bsn_sq_outstanding_bb(struct bsn_sq *sq);

/**
 * bsn_sq_count_blueflame - BlueFlame copies so far, modulo 2^32
 *
 * The inline code counts nothing: what it publishes is one block and one copy each, which is
 * everything published but not by the long way.
 */
static inline uint32_t bsn_sq_count_blueflame(const struct bsn_sq *sq)
{
	return sq->pi - sq->count_slow_bb + sq->count_blueflame;
}

/* Of a WQE that a queue takes: mlx5 counts to 63, and peers stop at 60 (UCX ib_mlx5.h). */
#define BSN_SEND_MAX_DS 60

/* Bytes of inline data that fit wherever a data pointer does. */
#define BSN_DS_INLINE_MAX (BSN_DS_SIZE - BSN_INLINE_HDR_SIZE)

/* -- one block in registers ----------------------------------------------------------------- */

/* Control segment, word 1: signature, stream, fence, ce, solicited; and the immediate. */
BSN_ALWAYS_INLINE uint64_t bsn_ctrl_word1(struct bsn_sq *sq, unsigned flags, uint32_t imm)
{
	const struct bsn_ctrl bits = {
		.fence = (flags & BSN_F_FENCE) ? BSN_FENCE_SMALL_AND_FENCE : BSN_FENCE_NONE,
		.ce = (flags & BSN_F_SIGNALED) ? BSN_CE_ALWAYS : BSN_CE_ON_ERROR,
		.solicited = (flags & BSN_F_SOLICITED) != 0,
		.imm = imm,
	};
	uint64_t word = bsn_ctrl_word(&bits, 1);

	if (!(flags & BSN_F_SIGNALED)) {
		uint32_t quiet = sq->ce_quiet;
		if (BSN_UNLIKELY(--sq->quiet == 0))
			quiet = bsn_sq_auto_signal(sq);
		word |= (uint64_t)quiet << 32;
	}
	return word;
}

/* Control segment, word 0. */
BSN_ALWAYS_INLINE uint64_t bsn_ctrl_word0(const struct bsn_sq *sq, unsigned pi, unsigned opcode,
					  unsigned ds)
{
	const struct bsn_ctrl bits = { .wqe_index = pi, .opcode = opcode, .ds = ds };

	return bsn_ctrl_word(&bits, 0) | sq->ctrl_base;
}

/*
 * The book-keeping of one more block, whose bytes are in the ring at @slot. Returns whether it is
 * to be published now. (pi and slot are the caller's, since a compiler must think that the stores
 * into the ring changed what is in the queue.)
 */
BSN_ALWAYS_INLINE bool bsn_sq_advance(struct bsn_sq *sq, uint32_t pi, unsigned flags)
{
	sq->pi = pi + 1;
	if (flags & BSN_F_RING)
		return true;
	sq->last = pi;
	sq->ring_slow |= BSN_RING_APPENDED;
	return false;
}

/* Makes way for the stores into the lane's register: O1, O2. */
BSN_ALWAYS_INLINE struct bsn_lane *bsn_sq_open_register(struct bsn_sq *sq, uint32_t pi)
{
	const struct bsn_dbr_wq record = { .index = pi };

	bsn_to_device(); /* O1 */
	bsn_store_record(sq->record, bsn_dbr_wq_dword(&record, 0));
	bsn_wc_start(); /* O2 */
	return sq->lane;
}

BSN_ALWAYS_INLINE void bsn_sq_close_register(struct bsn_lane *lane)
{
	bsn_wc_flush(); /* O3 */
	bsn_lane_toggle(lane);
}

/*
 * Appends one WQE of one block, the first @words words of @bb; the rest of the block is not
 * written to the ring and is zero in @bb. The caller saw credits.
 */
BSN_ALWAYS_INLINE void bsn_sq_append_bb(struct bsn_sq *sq, struct bsn_bb bb, unsigned words,
					uint64_t id, unsigned flags)
{
	const uint32_t pi = sq->pi, slot = pi & sq->bb_mask;
	uint8_t *dst = sq->ring + (size_t)slot * BSN_BB_SIZE;

	bsn_sq_ids(sq)[slot] = id;
	/* Unrolled: gcc 12 at -O2 would keep the words in memory for the sake of a loop. */
	BSN_UNROLL_BB for (unsigned i = 0; i < words; i++)
		bsn_store_wqe(dst + 8 * i, bb.word[i]);
	if (!bsn_sq_advance(sq, pi, flags))
		return;
	if (BSN_UNLIKELY(sq->ring_slow)) {
		bsn_sq_publish_bb(sq, BSN_BB_V2(bb, 0), BSN_BB_V2(bb, 2), BSN_BB_V2(bb, 4),
				  BSN_BB_V2(bb, 6));
		return;
	}
	struct bsn_lane *lane = bsn_sq_open_register(sq, pi + 1);
	uint8_t *reg = lane->reg;
	BSN_UNROLL_BB for (unsigned i = 0; i < BSN_BB_SIZE / 8; i++)
		bsn_store_mmio(reg + 8 * i, bb.word[i]);
	bsn_sq_close_register(lane);
}

/* The same of a control segment and a body that was encoded before. */
BSN_ALWAYS_INLINE void bsn_sq_append_body(struct bsn_sq *sq, struct bsn_be64 ctrl0,
					  struct bsn_be64 ctrl1, const bsn_v2 body[3], uint64_t id,
					  unsigned flags)
{
	const bsn_v2 a = body[0], b = body[1], c = body[2];
	const uint32_t pi = sq->pi, slot = pi & sq->bb_mask;
	uint8_t *dst = sq->ring + (size_t)slot * BSN_BB_SIZE;

	bsn_store_wqe(dst, ctrl0);
	bsn_store_wqe(dst + 8, ctrl1);
	bsn_store_wqe_v2(dst + 16, a);
	bsn_store_wqe_v2(dst + 32, b);
	bsn_store_wqe_v2(dst + 48, c);
	bsn_sq_ids(sq)[slot] = id;
	if (!bsn_sq_advance(sq, pi, flags))
		return;
	if (BSN_UNLIKELY(sq->ring_slow)) {
		bsn_sq_publish_bb(sq, (bsn_v2){ ctrl0.raw, ctrl1.raw }, a, b, c);
		return;
	}
	struct bsn_lane *lane = bsn_sq_open_register(sq, pi + 1);
	uint8_t *reg = lane->reg;
	bsn_store_mmio(reg, ctrl0);
	bsn_store_mmio(reg + 8, ctrl1);
	bsn_store_mmio_v2(reg + 16, a);
	bsn_store_mmio_v2(reg + 32, b);
	bsn_store_mmio_v2(reg + 48, c);
	bsn_sq_close_register(lane);
}

/* Whether the hot path may go on: one block free, no fence owed, no detour. */
BSN_ALWAYS_INLINE bool bsn_sq_has_credit(struct bsn_sq *sq)
{
	if (sq->ring) /* else it leads to bsn_sq_post(), which looks at the queue behind it */
		BSN_CHECK_OWNER(sq);
	return BSN_LIKELY(sq->pi != sq->limit);
}

BSN_HEADER_END

#endif
