/* SPDX-License-Identifier: BSD-2-Clause */
/* The hot structures as they are on the first day. */
#include "init.h"

#include <stdlib.h>

#include "users.h"

void *bsn_hot_alloc(size_t bytes)
{
	const size_t whole = (bytes + 63) / 64 * 64;
	void *hot = aligned_alloc(64, whole);

	if (hot)
		memset(hot, 0, whole);
	return hot;
}

/* -- send queue --------------------------------------------------------------------------------- */

/*
 * How many unsignaled posts may go by. A turn may be skipped while little is outstanding
 * (bsn_sq_auto_signal()), and then the next one must still fit before the queue is full, even if
 * every WQE is as long as they get: every - 2 blocks before the turn skipped, and every + 1 WQEs.
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

static uint8_t can_of(enum bsn_transport transport)
{
	return transport == BSN_TRANSPORT_UC || transport == BSN_TRANSPORT_UD
		       ? 0
		       : BSN_CAN_READ | BSN_CAN_ATOMIC;
}

/* Several to a queue, each with a user pointer of its own. */
static bool has_endpoints(enum bsn_transport transport)
{
	return transport == BSN_TRANSPORT_UD || transport == BSN_TRANSPORT_DC;
}

void bsn_sq_resolve_mode(struct bsn_sq *sq)
{
	const struct bsn_lane *lane = sq->lane;

	if (sq->store == BSN_STORE_8 && !lane->lock && lane->blueflame_bytes)
		sq->ring_slow &= (uint8_t)~BSN_RING_MODE;
	else
		sq->ring_slow |= BSN_RING_MODE;
}

void bsn_sq_clear(struct bsn_sq *sq)
{
	sq->pi = 0;
	sq->last = 0;
	sq->retired = 0;
	sq->done = sq->seen_done = UINT16_MAX; /* no WQE: the one before the first */
	sq->limit = sq->capacity_bb;
	sq->quiet = sq->signal_every;
	sq->ring_slow &= (uint8_t)~BSN_RING_APPENDED;
	sq->next_fence = BSN_FENCE_NONE;
	sq->count_slow_bb = sq->count_blueflame = 0;
	sq->count_doorbells = sq->count_full = 0;
	sq->has_hidden = 0;
	sq->has_failed = false;
	memset(sq->marks, 0, ((size_t)sq->bb_mask + 1) * sizeof(*sq->marks));
}

struct bsn_sq *bsn_sq_alloc(const struct bsn_sq_init *init)
{
	const struct bsn_ctrl base = { .qpn = init->qpn };
	const struct bsn_ctrl quiet = { .ce = init->ce_quiet };
	const size_t slot_bytes = sizeof(uint64_t) + sizeof(*((struct bsn_sq *)NULL)->marks);
	struct bsn_sq *sq = bsn_hot_alloc(sizeof(*sq) + init->count_bb * slot_bytes);

	if (!sq || (has_endpoints(init->transport) && bsn_sq_make_users(sq))) {
		free(sq);
		return NULL;
	}
	sq->marks = (uint32_t *)(void *)(bsn_sq_ids(sq) + init->count_bb);
	sq->ring = init->ring;
	sq->record = init->record;
	sq->lane = init->lane;
	sq->ctrl_base = bsn_ctrl_word(&base, 0);
	sq->qpn = init->qpn;
	sq->bb_mask = sq->poller_mask = init->count_bb - 1;
	sq->capacity_bb = init->capacity_bb;
	sq->max_inline = (uint16_t)(init->max_inline > BSN_DS_INLINE_MAX ? init->max_inline
									 : BSN_DS_INLINE_MAX);
	sq->max_sge = (uint16_t)init->max_sge;
	sq->max_ds = (uint8_t)init->max_ds;
	sq->transport = (uint8_t)init->transport;
	sq->can = can_of(init->transport);
	sq->ce_quiet = (uint8_t)(bsn_ctrl_word(&quiet, 1) >> 32);
	sq->signal_every = bsn_sq_signal_every(
		init->capacity_bb, (init->max_ds + BSN_BB_DS - 1) / BSN_BB_DS, init->signal_every);
	sq->store = (uint8_t)init->store;
	bsn_sq_resolve_mode(sq);
	bsn_sq_clear(sq);
	return sq;
}

void bsn_sq_free(struct bsn_sq *sq)
{
	if (!sq)
		return;
	bsn_sq_free_users(sq);
	free(sq);
}

/* -- receive queue ------------------------------------------------------------------------------ */

void bsn_rq_clear(struct bsn_rq *rq)
{
	rq->head = rq->tail = 0;
	rq->limit = rq->capacity;
	rq->count_full = 0;
}

struct bsn_rq *bsn_rq_alloc(const struct bsn_rq_init *init)
{
	const uint32_t list = init->stride_bytes - (init->is_srq ? BSN_SRQ_NEXT_SIZE : 0);
	struct bsn_rq *rq = bsn_hot_alloc(sizeof(*rq) + init->count * sizeof(uint64_t));

	if (!rq)
		return NULL;
	rq->ring = rq->poller_ring = init->ring;
	rq->record = init->record;
	rq->mask = rq->poller_mask = init->count - 1;
	rq->stride_log2 = rq->poller_stride_log2 = (uint8_t)__builtin_ctz(init->stride_bytes);
	rq->max_sge = (uint8_t)(list / BSN_DATA_SIZE);
	rq->is_srq = init->is_srq;
	rq->srq_free_head = init->first_free;
	rq->srq_free_tail = init->last_free;
	rq->capacity =
		init->is_srq ? 0 : init->capacity; /* the inline code has no list to follow */
	bsn_rq_clear(rq);
	return rq;
}

void bsn_rq_free(struct bsn_rq *rq)
{
	free(rq);
}

/* -- completion queue --------------------------------------------------------------------------- */

/* The largest chunk that leaves room for all: a power of two, since chunks tile the ring. */
static uint32_t chunk_of(uint32_t count, uint32_t spare)
{
	uint32_t chunk = 1;

	while (2 * chunk <= spare && 8 * chunk <= count)
		chunk *= 2;
	return chunk;
}

/* Owner bits as the device would leave them a lap ago, opcode invalid: "not ours" by one compare. */
static void prefill(const struct bsn_cq *cq, uint8_t *first)
{
	const struct bsn_cqe_tail tail = { .opcode = BSN_CQE_INVALID, .owner = 1 };

	for (uint32_t i = 0; i < cq->cqe_count; i++)
		bsn_cqe_tail_encode(first + i * cq->stride + BSN_CQE_TAIL_OFFSET, &tail);
}

void bsn_cq_init(struct bsn_cq *cq, const struct bsn_cq_init *init)
{
	uint8_t *first = init->ring + init->stride_bytes - BSN_CQE_SIZE; /* the CQE proper */

	cq->ring = cq->next = first;
	cq->stride = init->stride_bytes;
	cq->cqe_count = init->count;
	cq->record = init->record;
	cq->arm_reg = init->arm_reg;
	cq->cqn = init->cqn;
	cq->chunk = cq->chunk_ci = chunk_of(init->count, init->spare);
	cq->chunk_end = cq->ring + cq->chunk * cq->stride;
	cq->phase = 0;
	cq->empty_mask = 1;
	cq->plain = BSN_CQ_NEVER_PLAIN; /* until there are queues: bsn_cq_add() */
	prefill(cq, first);
}

void bsn_cq_fini(struct bsn_cq *cq)
{
	free(cq->slots);
	cq->slots = NULL;
}
