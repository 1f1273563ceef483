/* SPDX-License-Identifier: BSD-2-Clause */
/* Brings the hot structures into their first state. */
#include "init.h"

#include <stdlib.h>

void *bsn_hot_alloc(size_t bytes)
{
	const size_t whole = (bytes + 63) / 64 * 64;
	void *hot = aligned_alloc(64, whole);

	if (hot)
		memset(hot, 0, whole);
	return hot;
}

/* -- send queue -------------------------------------------------------------------------------- */

/*
 * How many posts may stay unsignaled in a row. bsn_sq_take_turn() skips a turn if at most every - 2
 * blocks are outstanding before its WQE. The next turn is @every unsignaled WQEs later, and must
 * come before the queue is full. So the capacity must hold those blocks and every + 1 WQEs of the
 * greatest length.
 */
uint8_t bsn_sq_signal_every(uint32_t capacity_bb, uint32_t longest_bb, int wanted)
{
	const uint32_t room = capacity_bb + 2;
	const uint32_t most = room > 2 * longest_bb ? (room - longest_bb) / (longest_bb + 1) : 1;
	uint32_t every = wanted > 0 ? (uint32_t)wanted : capacity_bb / (4 * longest_bb);

	if (wanted < 0)
		return 0;
	if (every > most)
		every = most;
	if (!every)
		every = 1;
	return every < UINT8_MAX ? (uint8_t)every : UINT8_MAX;
}

static enum bsn_publish publish_of(enum bsn_store store, const struct dv_lane *lane)
{
	if (lane->lock)
		return BSN_PUBLISH_CALL;
	if (store == BSN_STORE_DOORBELL || !lane->blueflame_bytes)
		return BSN_PUBLISH_DOORBELL;
	if (lane->blueflame_bytes < BSN_BF_BUFFER_BYTES)
		return BSN_PUBLISH_CALL;
	return store == BSN_STORE_8    ? BSN_PUBLISH_8
	       : store == BSN_STORE_16 ? BSN_PUBLISH_16
				       : BSN_PUBLISH_CALL;
}

void bsn_sq_clear(struct bsn_sq *sq)
{
	struct dv_sq *whole = dv_sq(sq);
	struct dv_route *route = &whole->route;

	sq->slot = whole->ring;
	sq->pi = whole->retired = 0;
	route->hot.done = whole->seen_done = UINT16_MAX; /* the index before the first WQE */
	route->hot.near_ds = whole->has_peers || whole->gives_results ? 0 : BSN_NEAR_DS;
	route->has_failed = false;
	route->has_error = 0;
	sq->quiet = whole->signal_every;
	sq->publish &= (uint8_t)~BSN_PUBLISH_APPENDED;
	whole->next_fence = BSN_FENCE_NONE;
	route->has_hidden = false;
	whole->wide_pi = 0;
	whole->count_doorbells = whole->count_rung = 0;
	whole->count_full = 0;
	memset(whole->hidden, 0, (size_t)whole->bb_mask + 1);
	if (!whole->closed)
		bsn_sq_open(sq);
}

static void init_route(struct dv_sq *sq)
{
	struct dv_route *route = &sq->route;

	route->sq = &sq->hot;
	route->transport = sq->transport;
	route->has_peers = sq->has_peers;
	route->hot.ring = sq->ring;
	route->hot.mask = (uint32_t)sq->bb_mask * BSN_BB_SIZE;
}

struct bsn_sq *bsn_sq_alloc(const struct bsn_sq_init *init)
{
	const struct bsn_ctrl base = { .qpn = init->qpn };
	const struct bsn_ctrl quiet = { .ce = init->ce_quiet };
	const size_t ids = init->has_peers ? 2 : 1;
	const size_t slot_bytes = ids * sizeof(uint64_t) + sizeof(uint8_t);
	struct dv_sq *whole = bsn_hot_alloc(sizeof(*whole) + init->count_bb * slot_bytes);
	struct bsn_sq *sq = &whole->hot;

	if (!whole)
		return NULL;
	sq->ep.sq = sq;
	whole->route.ids = (uint64_t *)(whole + 1);
	whole->hidden = (uint8_t *)(whole->route.ids + ids * init->count_bb);
	whole->ring = init->ring;
	sq->ids = (uintptr_t)whole->route.ids - bsn_ids_at(init->ring, init->has_peers);
	whole->ring_end = init->ring + (size_t)init->count_bb * BSN_BB_SIZE;
	sq->record = init->record;
	sq->lane = init->lane;
	sq->ctrl_next = bsn_ctrl_word(&base, 0);
	whole->qpn = init->qpn;
	whole->bb_mask = init->count_bb - 1;
	whole->capacity_bb = init->capacity_bb;
	sq->max_inline =
		init->max_inline > BSN_DS_INLINE_MAX ? init->max_inline : BSN_DS_INLINE_MAX;
	sq->max_sge = (uint8_t)(init->max_sge < UINT8_MAX ? init->max_sge : UINT8_MAX);
	sq->max_sge += !sq->max_sge; /* any WQE has room for one */
	whole->max_ds = (uint8_t)(init->max_ds < BSN_SEND_MAX_DS ? init->max_ds : BSN_SEND_MAX_DS);
	whole->transport = (uint8_t)init->transport;
	whole->has_peers = init->has_peers;
	whole->gives_results = init->gives_results;
	whole->has_big_endian_results = init->has_big_endian_results;
	sq->ops = bsn_sq_ops_of(init->transport, init->has_atomics);
	sq->ce_quiet = (uint8_t)(bsn_ctrl_word(&quiet, 1) >> 32);
	whole->signal_every = bsn_sq_signal_every(init->capacity_bb, bsn_bb_of_ds(init->max_ds),
						  init->signal_every);
	whole->store = (uint8_t)init->store;
	init_route(whole);
	sq->publish = (uint8_t)publish_of(init->store, dv_lane(init->lane));
	bsn_sq_clear(sq);
	return sq;
}

void bsn_sq_free(struct bsn_sq *sq)
{
	free(sq);
}

/* -- completion queue -------------------------------------------------------------------------- */

/* Owner bits as of the lap before, opcode "invalid": one compare tells that a CQE is not ours. */
static void prefill(const struct bsn_cq *cq, uint8_t *first)
{
	const struct bsn_cqe_tail tail = { .opcode = BSN_CQE_INVALID, .owner = 1 };

	for (uint32_t i = 0; i < dv_cq(cq)->cqe_count; i++)
		bsn_cqe_tail_encode(first + i * cq->stride + BSN_CQE_TAIL_OFFSET, &tail);
}

void bsn_cq_init(struct bsn_cq *cq, const struct bsn_cq_init *init)
{
	uint8_t *first = init->ring + init->stride_bytes - BSN_CQE_SIZE; /* the CQE proper */
	struct dv_cq *whole = dv_cq(cq);

	whole->ring = cq->next = first;
	whole->ring_end = first + (size_t)init->count * init->stride_bytes;
	cq->stride = init->stride_bytes;
	whole->cqe_count = init->count;
	whole->record = init->record;
	whole->arm_reg = init->arm_reg;
	whole->cqn = init->cqn;
	bsn_cq_begin_chunks(cq, 0, init->spare);
	cq->phase = 0;
	bsn_cq_init_entries(cq);
	prefill(cq, first);
}

void bsn_cq_init_path(struct bsn_cq *cq, const struct bsn_cq_path *path)
{
	bsn_cq_init_entries(cq);
	cq->path = path;
}
