/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests whose shape the compiler does not know: what their builders share. Private to dv/. */
#ifndef DV_SHAPES_H
#define DV_SHAPES_H

#include "bsn_build.h"
#include "bsn_decode.h"
#include "room.h"
#include "sq.h"

static inline unsigned opcode_of(uint32_t what)
{
	return what & 0xff;
}

static inline unsigned count_of(uint32_t what)
{
	return what >> BSN_WHAT_COUNT_SHIFT;
}

/* As in @what. */
#define UNKNOWN_FLAGS (BSN_WHAT_FLAGS & ~(uint32_t)BSN_F_ALL)

static inline const struct bsn_peer *peer_of(const struct bsn_ep *ep)
{
	return ep->sq->has_peers ? (const struct bsn_peer *)(const void *)ep : NULL;
}

/* The last block that is known to be free. @peer: NULL: the queue has one. */
BSN_ALWAYS_INLINE uint8_t **limit_of(struct bsn_sq *sq, const struct bsn_peer *peer)
{
	return peer ? &sq->peer_limit : &sq->limit;
}

/* @data: SGEs, or inline data */
#define POST_PARAMETERS(data)                                                                      \
	struct bsn_ep *ep, uint32_t what, const data, const struct bsn_remote *remote, uint32_t imm, uint64_t id

/* sq.c: any request, and why it is refused. */
int bsn_sq_post_sgl_cold(POST_PARAMETERS(struct bsn_sge *sge));
int bsn_sq_post_inline_cold(POST_PARAMETERS(void *data));

/*
 * shapes.c: SGEs that are all plain, or one piece of inline data, to queues with a ring; what is neither is handed to the
 * two above. By what the queue has: many peers and room; one peer and room; no room, or not enough. SGEs only: a fence
 * that is owed; and any queue with one peer.
 */
#define POST_BY(way)                                                                               \
	int bsn_mlx5_post_sgl_##way(POST_PARAMETERS(void *sge));                                   \
	int bsn_mlx5_post_inline_##way(POST_PARAMETERS(void *data));
POST_BY(peer)
POST_BY(one)
POST_BY(full)
#undef POST_BY
int bsn_mlx5_post_sgl_fenced(POST_PARAMETERS(struct bsn_sge *sge));
int bsn_mlx5_post_sgl_else(POST_PARAMETERS(struct bsn_sge *sge));

static inline int post_sgl(POST_PARAMETERS(struct bsn_sge *sge))
{
	if (ep->sq->slot <= ep->sq->peer_limit)
		return bsn_mlx5_post_sgl_peer(ep, what, sge, remote, imm, id);
	return bsn_mlx5_post_sgl_else(ep, what, sge, remote, imm, id);
}

static inline int post_inline(POST_PARAMETERS(void *data))
{
	if (ep->sq->slot <= ep->sq->peer_limit)
		return bsn_mlx5_post_inline_peer(ep, what, data, remote, imm, id);
	if (ep->sq->slot <= ep->sq->limit)
		return bsn_mlx5_post_inline_one(ep, what, data, remote, imm, id);
	return bsn_mlx5_post_inline_full(ep, what, data, remote, imm, id);
}

/* -- across the ring's end ---------------------------------------------------------------------- */

static __attribute__((noinline, unused)) void copy_ds(uint8_t *to, const uint8_t *from, size_t ds)
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
static inline void copy_wrapped(struct bsn_sq *sq, const uint8_t *wqe, size_t ds)
{
	const size_t before = (size_t)(sq->ring_end - sq->slot) / BSN_DS_SIZE;

	copy_ds(sq->slot, wqe, before);
	copy_ds(sq->ring, wqe + before * BSN_DS_SIZE, ds - before);
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
BSN_ALWAYS_INLINE bool is_wrapping(struct bsn_sq *sq, const struct bsn_peer *peer)
{
	return is_open(sq) && *limit_of(sq, peer) == sq->ring_end - BSN_BB_SIZE;
}

/* What is kept of @from belongs to @to. */
BSN_ALWAYS_INLINE void move_ids(struct bsn_sq *sq, const uint8_t *from, const uint8_t *to)
{
	sq->ids += bsn_ids_at(from, sq->has_peers) - bsn_ids_at(to, sq->has_peers);
}

BSN_ALWAYS_INLINE void go_beside(struct bsn_sq *sq, struct beside *b)
{
	uint8_t *wqe = b->wqe;
	size_t bytes;

	BSN_HIDE(wqe); /* gcc 12 would warn of lengths that do not occur */
	b->free_bb = free_blocks(sq);
	bytes = (size_t)b->free_bb * BSN_BB_SIZE;
	b->slot = sq->slot;
	b->limit = wqe + (bytes < sizeof(b->wqe) ? bytes : sizeof(b->wqe)) - BSN_BB_SIZE;
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

	if (b->publish > BSN_PUBLISH_16 || bytes > BSN_BF_BUFFER_BYTES)
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
	bsn_sq_set_limit(sq, sq->has_peers, find_limit(sq, b->free_bb - bytes / BSN_BB_SIZE));
	return what & BSN_F_RING ? publish_beside(sq, b, bytes) : 0;
}

#endif
