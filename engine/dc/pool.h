/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool of initiators. Private to engine/dc/.
 *
 *	peers.c   the peers, 48 bytes each, and what those of a host share
 *	turns.c   which peer has which initiator, and who waits
 *	pool.c    its life, polling, and what becomes of an initiator that failed
 *
 * A peer is bound to an initiator, whose queue is then its endpoint's, or to none: then its queue is
 * @unbound, every post to which comes to turns.c. An initiator is given to another peer only when
 * nothing is outstanding on it, so the requests of one peer are executed in order, and fail alone.
 */
#ifndef DC_POOL_H
#define DC_POOL_H

#include "../address.h"
#include "../path.h"
#include "bsn_dc.h"
#include "init.h"

enum peer_state { PEER_FINE, PEER_WAITS, PEER_FAILED };

#define NO_PEER UINT32_MAX

/* The part of an address vector that peers of a host share. */
struct host {
	uint8_t more[BSN_AV_DC_GRH_SIZE - BSN_DS_SIZE] __attribute__((aligned(16)));
	uint8_t head[BSN_DS_SIZE]; /* without key and number */
	uint8_t prefix_ds;
	struct ibv_ah_attr way;
	uint32_t peers;
	struct host *next;
};

/* Peers lie in chunks, aligned to their size, so that one is found by its number, and the pool by it. */
enum { CHUNK_BYTES = 1 << 16, CHUNK_HEAD = 64 };
enum { CHUNK_PEERS = (CHUNK_BYTES - CHUNK_HEAD) / sizeof(struct bsn_peer) };

struct chunk {
	struct bsn_dc_pool *pool;
	uint32_t number;
	struct bsn_peer peers[] __attribute__((aligned(CHUNK_HEAD)));
};

/**
 * struct initiator
 * @peer: that it is bound to; NULL: none
 * @bound_pi: its queue's index when the peer was bound
 * @seen_pi: the same when the clock's hand last passed: it was not used since
 * @marked_pi: up to here it is known to end with a request that completes
 * @is_spare: takes no peer until another one fails
 * @has_turn: given to a peer that waited, which has not posted yet
 */
struct initiator {
	struct bsn_qp *qp;
	struct bsn_sq *sq;
	struct bsn_peer *peer;
	uint16_t bound_pi, seen_pi, marked_pi;
	bool is_marked, is_spare, has_turn, has_failed;
};

enum { HOST_BUCKETS = 1024 };

struct bsn_dc_pool {
	struct bsn_sq unbound, failed; /* first: no rings; every post comes to the cold functions */
	struct bsn_device *device;
	struct bsn_cq *cq;
	struct bsn_connect_attr connect;
	uint32_t count; /* of initiators, spares included */
	uint32_t initiators_wanted;
	uint32_t hand;  /* of the clock */
	struct initiator *taken; /* by the post that is under way */
	uint32_t turn_bb;
	uint32_t free;     /* that no peer is bound to; spares and failed ones apart */
	uint32_t revoked;  /* whose peers must wait for the next turn */
	uint32_t turns;    /* @has_turn */
	uint32_t broken;   /* @has_failed */
	uint32_t waiters, first_waiter, last_waiter; /* by number, linked by ctrl_bits */
	struct bsn_dc_counters counters;
	struct chunk **chunks;
	uint32_t chunk_count, peer_count, first_free;
	struct host *hosts[HOST_BUCKETS];
	struct initiator initiators[];
};

/* peers.c */
static inline struct bsn_peer *peer_of(struct bsn_ep *ep)
{
	return (struct bsn_peer *)(void *)ep;
}

static inline struct chunk *chunk_of(const struct bsn_peer *peer)
{
	return (struct chunk *)((uintptr_t)peer & ~(uintptr_t)(CHUNK_BYTES - 1));
}

static inline struct bsn_dc_pool *pool_of(const struct bsn_peer *peer)
{
	return chunk_of(peer)->pool;
}

static inline struct bsn_peer *peer_at(const struct bsn_dc_pool *pool, uint32_t number)
{
	return &pool->chunks[number / CHUNK_PEERS]->peers[number % CHUNK_PEERS];
}

static inline uint32_t number_of(const struct bsn_peer *peer)
{
	const struct chunk *chunk = chunk_of(peer);

	return chunk->number * CHUNK_PEERS + (uint32_t)(peer - chunk->peers);
}

void peers_free(struct bsn_dc_pool *pool);

/* turns.c */
extern const struct bsn_sq_path unbound_path;

/* The initiator that has requests of the peer, or had the last ones; NULL: none. */
struct initiator *initiator_of(struct bsn_dc_pool *pool, const struct bsn_peer *peer);
void unbind(struct bsn_dc_pool *pool, struct initiator *i);
void stop_waiting(struct bsn_dc_pool *pool, struct bsn_peer *peer);

/* Turns that were given at the last poll are over; then those that can be given now, a completion each. */
void end_turns(struct bsn_dc_pool *pool);
int give_turns(struct bsn_dc_pool *pool, struct bsn_completion *c, int n);

static inline bool is_idle(struct initiator *i)
{
	return !i->has_failed && !i->is_spare && !i->has_turn && !bsn_sq_outstanding_bb(i->sq);
}

#endif
