/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool of initiators. Private to engine/dc/.
 *
 *	peers.c    the peers, 64 bytes each, and what those of a host share
 *	slots.c    which peer has which slot, which slots are idle, and which were used
 *	policy.c   which slot a peer without one takes
 *	idle.c     the same where few slots are idle
 *	line.c     the line of waiting peers, and their turns
 *	unbound.c  the posts of peers that have no slot
 *	gate.c     READs of peers that have one, where READs have a limit
 *	pool.c     its life, and its part in polls of its CQ
 *	failures.c initiators that fail, and are repaired
 *	streams.c  the same of streams, which fail one by one
 *	rc_*.c     all that is different on plain verbs: see rc.h
 *
 * A slot is a stream of an initiator, or an initiator without streams. A peer is bound to a
 * slot, whose queue is then its endpoint's, or to none: then its queue is @unbound, every post
 * to which comes to unbound.c. A slot is given to another peer only when nothing of the one
 * before is outstanding on it, so the requests of one peer are executed in order.
 *
 * Only peers.c, pool.c, failures.c, dct.c and streams.c know of devices: the rest looks at send
 * queues alone.
 */
#ifndef DC_POOL_H
#define DC_POOL_H

#include "../address.h"
#include "../path.h"
#include "bsn_dc.h"
#include "handshake.h"
#include "init.h"
#include "posted.h"
#include "sq.h"

#define NO_PEER    UINT32_MAX
#define MOST_SLOTS UINT16_MAX /* less than so many */

/* -- peers ------------------------------------------------------------------------------------- */

enum peer_state {
	PEER_FINE,
	PEER_WAITS,
	PEER_CONNECTS, /* plain verbs: an initiator is being connected to it; it is not in line */
	PEER_FAILED,
	PEER_GONE, /* destroyed while it waited: its place in line is the last of it */
};

/* Of a turn: a peer's debt is counted in these. */
enum { DEBT_PARTS = 16 };

/**
 * struct peer
 * @hot: what posts read
 * @slot: that has requests of it, or had the last ones; NULL: none
 * @next: number of the one after it: in line, or among those that nobody has
 * @debt: that it owes, while it has no slot
 * @state: enum peer_state
 * @refusal: why it was not connected, enum rc_reason; 0: it was
 */
struct peer {
	struct bsn_peer hot; /* first */
	struct slot *slot;
	uint32_t next;
	uint16_t debt;
	uint8_t state;
	uint8_t refusal;
};
_Static_assert(sizeof(struct peer) == 64, "a peer is a cache line");

/* The part of an address vector that peers of a host share. */
struct host {
	uint8_t more[BSN_AV_DC_GRH_SIZE - BSN_DS_SIZE] __attribute__((aligned(16)));
	uint8_t head[BSN_DS_SIZE]; /* without key and number */
	uint8_t prefix_ds;
	struct ibv_ah_attr way;
	struct bsn_ep *ep; /* to its targets that listen, on plain verbs */
	uint32_t peers;
	struct host *next;
};

/*
 * Peers lie in chunks, aligned to their size, so that one is found by its number, and the pool
 * by it.
 */
enum { CHUNK_BYTES = 1 << 16, CHUNK_HEAD = 64 };
enum { CHUNK_PEERS = (CHUNK_BYTES - CHUNK_HEAD) / sizeof(struct peer) };

struct chunk {
	struct bsn_dc_pool *pool;
	uint32_t number;
	struct peer peers[] __attribute__((aligned(CHUNK_HEAD)));
};

/* -- slots ------------------------------------------------------------------------------------- */

enum slot_state {
	SLOT_FREE,    /* it can be given to a peer, and no peer has it */
	SLOT_BOUND,   /* a peer has it */
	SLOT_REVOKED, /* its peer may not post, since others wait; what is outstanding goes on */
	SLOT_TURN,    /* given to a peer that waited, which has not posted yet */
	SLOT_OUT,     /* it or its initiator failed, or is a spare */
	SLOT_STATES
};

/**
 * struct slot
 * @peer: that it is bound to; NULL: none
 * @last: without @peer: the one that had it last, to which the device is connected; it may be
 *	gone
 * @credit: bytes that the peer may still post while others wait, as far as they were counted
 * @counted: its queue's index up to where they were, modulo 2^32
 * @contention: the time of waiting that @credit is of
 * @sq: of its initiator
 * @ctrl_bits: of the peer that has it
 * @end_pi: of a stream: where its last request ends
 * @number: among all slots
 * @next, @before: among the free slots
 * @state: enum slot_state
 * @has_failed: of a stream: a request failed, of which pool->failures has more
 */
struct slot {
	struct peer *peer;
	struct bsn_sq *sq;
	struct initiator *of;
	int64_t credit;
	const struct peer *last;
	uint32_t counted;
	uint32_t contention;
	uint32_t ctrl_bits;
	uint16_t end_pi;
	uint16_t number, next, before;
	uint8_t state;
	bool has_failed;
};
_Static_assert(sizeof(struct slot) == 64, "a slot is a cache line");

/* Where the pool looks for something among all, it looks at so many at a time. */
enum { MOST_LOOKS = 8 };

/*
 * Of a stream that failed: the request that did. Of one with requests that were flushed with
 * its initiator, and are posted again elsewhere: how many are held, their blocks, and where
 * they begin.
 */
struct failure {
	struct bsn_completion first;
	uint16_t held, held_bb, held_pi;
	uint32_t generation, wqe_bytes;
	uint8_t wqe[BSN_SEND_MAX_DS * BSN_DS_SIZE];
};

/**
 * struct gate
 * @path: what @sq->path points to
 * @inner: the queue's own; NULL: mlx5
 * @held_ops: READs and atomics that its queue shows, but for the gate
 * @most: READs that may be outstanding
 * @reads: those that are, as far as was looked: some of them may be done, or taken back
 * @read_pi: its index up to which those that are done were taken from @reads, modulo 2^32
 */
struct gate {
	struct bsn_sq_path path; /* first */
	const struct bsn_sq_path *inner;
	uint64_t held_ops;
	uint32_t most, reads, read_pi;
};

/**
 * struct initiator
 * @gate: before its queue, where READs have a limit
 * @slots: a stream each; one, where there are no streams
 * @owner: is told of its queue's failures
 * @bound: a bit each of its streams that a peer is bound to
 * @used: of these: a look saw that it was used
 * @seen_pi: where the request begins that was polled last when a policy looked, or that took a
 *	slot after that
 * @read_pi: its queue's index up to which the ring was read for the streams of requests
 * @marked_pi: up to here it is known to end with a request that completes
 * @generation: how often it was repaired
 * @failed_index: of the request that failed
 * @failed_streams: those that failed while the others go on
 * @is_spare: takes no peer until another one fails
 * @is_heard: among those of pool->heard
 */
struct initiator {
	struct bsn_sq_owner owner; /* first */
	struct bsn_dc_pool *pool;
	struct bsn_qp *qp;
	struct bsn_sq *sq;
	struct slot *slots;
	uint64_t bound, used;
	uint32_t read_pi;
	uint32_t generation;
	uint32_t failed_streams, held_slots; /* @held_slots: that have something held */
	uint16_t seen_pi, marked_pi, failed_index;
	bool is_marked, is_spare, has_failed, is_heard;
	struct gate gate;
};

enum { HOST_BUCKETS = 1024 };

/**
 * struct bsn_dc_pool
 * @guest: of its CQ
 * @owns_cq: the CQ was made for it
 * @charged: entries of the CQ, beside those of its QPs
 * @unbound, @failed: first: queues without rings of peers that have no slot, or failed
 * @rc: on plain verbs
 * @rc_work: of @rc: peers that are being connected, and targets to be told
 * @failures: one a slot, where there are streams
 * @slot_count: slots of all initiators
 * @streams: of one initiator
 * @held_slots: of all initiators
 * @fatal_streams: so many streams that failed are an initiator's failure
 * @count: initiators, spares included
 * @in_state: how many slots are
 * @is_hashed: which slot a peer can have depends on the peer
 * @clock: initiators with slots that are bound
 * @hand: the place in @clock that is looked at next
 * @heard: while the pool listens: initiators that had completions, and may have idle slots
 * @listens: few slots are idle: see idle.c
 * @given: slots that were given in turns at the last poll; some may be gone since
 * @judged, @marked: the slot, and the initiator, that make_room() looks at next
 * @max_reads: of an initiator; 0: no limit
 * @lag_port: by which initiators send; 0: the driver chooses
 * @uar: of initiators with a full handshake
 * @broken: initiators that failed, and streams of others
 * @contention: how often a line began
 * @waiters: that are there, by number
 * @in_line: those that are gone included
 * @before: connections that were counted before there was a pool
 */
struct bsn_dc_pool {
	struct bsn_sq unbound, failed;
	struct cq_guest guest;
	struct bsn_device *device;
	struct bsn_cq *cq;
	bool owns_cq, has_charged;
	uint32_t charged;
	struct bsn_connect_attr connect;
	struct rc_pool *rc;
	uint32_t rc_work;
	struct slot *slots;
	struct failure *failures;
	uint32_t slot_count, streams;
	uint32_t held_slots;
	bool no_repeats;
	uint32_t fatal_streams;
	uint32_t count;
	uint32_t initiators_wanted;
	uint32_t in_state[SLOT_STATES];
	bool is_hashed;
	struct initiator **clock;
	uint32_t clock_count, hand;
	uint16_t *heard;
	uint32_t heard_count, heard_turn;
	bool listens;
	uint16_t *given;
	uint32_t given_count;
	uint32_t judged, marked;
	uint64_t turn_bytes;
	uint32_t max_reads;
	uint8_t lag_port;
	struct handshake_uar uar;
	uint32_t broken;
	uint32_t contention;
	uint32_t waiters, first_waiter, last_waiter;
	uint32_t in_line;
	struct bsn_dc_counters counters;
	struct provider_dc_connects before;
	struct chunk **chunks;
	uint32_t chunk_count, peer_count, first_free;
	struct host *hosts[HOST_BUCKETS];
	struct initiator initiators[];
};

/* peers.c */
static inline struct peer *peer_of(struct bsn_ep *ep)
{
	return (struct peer *)(void *)ep;
}

static inline struct chunk *chunk_of(const struct peer *peer)
{
	return (struct chunk *)((uintptr_t)peer & ~(uintptr_t)(CHUNK_BYTES - 1));
}

static inline struct bsn_dc_pool *pool_of(const struct peer *peer)
{
	return chunk_of(peer)->pool;
}

static inline struct peer *peer_at(const struct bsn_dc_pool *pool, uint32_t number)
{
	return &pool->chunks[number / CHUNK_PEERS]->peers[number % CHUNK_PEERS];
}

static inline uint32_t number_of(const struct peer *peer)
{
	const struct chunk *chunk = chunk_of(peer);

	return chunk->number * CHUNK_PEERS + (uint32_t)(peer - chunk->peers);
}

/* A peer of nobody yet; NULL: no memory. */
struct peer *peer_new(struct bsn_dc_pool *pool);
/* It has no slot, and is not in line. */
void peer_free(struct bsn_dc_pool *pool, struct peer *peer);
void peers_free(struct bsn_dc_pool *pool);

/* slots.c */

/* Makes the slots of all initiators, whose queues are there; -ENOMEM. */
int slots_make(struct bsn_dc_pool *pool);
/* Also those that were made in part. */
void slots_free(struct bsn_dc_pool *pool);

void set_slot(struct bsn_dc_pool *pool, struct slot *s, enum slot_state state);

/* Its bit among those of its initiator. */
static inline uint64_t stream_bit(const struct slot *s)
{
	return 1ull << (s - s->of->slots);
}

/* The end of the list of those that are free: nobody ever has it. */
static inline struct slot *free_end(const struct bsn_dc_pool *pool)
{
	return &pool->slots[pool->slot_count];
}

/* For a request that is about to be posted, which does not count as a use. */
void bind_slot(struct bsn_dc_pool *pool, struct peer *peer, struct slot *s);
/* Its peer, if any, has none after that. */
void unbind_slot(struct bsn_dc_pool *pool, struct slot *s);
void revoke_slot(struct bsn_dc_pool *pool, struct slot *s);
/* Its initiator is not among those that peers may have: the peer has none after that. */
void forget_slot(struct slot *s);
/* Its peer goes to another one, on which the requests that were held were posted again. */
void move_slot(struct bsn_dc_pool *pool, struct slot *s, struct slot *to);
/* The slots of an initiator are among those that peers may have, or not any more. */
void slots_enter(struct bsn_dc_pool *pool, struct initiator *i);
void slots_leave(struct bsn_dc_pool *pool, struct initiator *i);
/* The same of one. */
void slot_enter(struct bsn_dc_pool *pool, struct slot *s);
void slot_leave(struct bsn_dc_pool *pool, struct slot *s);

/*
 * Of queues with streams: requests that were posted since this was last done are read in the
 * ring.
 */
void read_streams(struct initiator *i);
bool stream_is_done(const struct slot *s);

/* Of a slot with requests that were flushed with its initiator, and are posted again elsewhere. */
static inline bool holds(const struct bsn_dc_pool *pool, const struct slot *s)
{
	return pool->failures && pool->failures[s->number].held;
}

/* Nothing of its peer is outstanding. */
BSN_ALWAYS_INLINE bool is_done(const struct bsn_dc_pool *pool, struct slot *s)
{
	if (BSN_UNLIKELY(pool->streams > 1))
		return stream_is_done(s);
	return bsn_sq_is_done(s->sq, bsn_sq_done(s->sq));
}

/* It can be given to a peer. */
BSN_ALWAYS_INLINE bool is_idle(const struct bsn_dc_pool *pool, struct slot *s)
{
	return s->state < SLOT_TURN && is_done(pool, s);
}

/* Whether a peer that was given the slot in its turn has posted. */
static inline bool has_posted(const struct bsn_dc_pool *pool, struct slot *s)
{
	const uint32_t since = bsn_sq_wide_pi(s->sq) - s->counted;

	if (pool->streams == 1)
		return since;
	read_streams(s->of);
	return (uint16_t)(s->end_pi - s->counted - 1) < since;
}

/* What its peer posted while others wait is taken from its credit. */
void charge_slot(const struct bsn_dc_pool *pool, struct slot *s);

/* policy.c: an idle slot for a peer that has none; NULL: the peer has to wait. It binds nothing. */
struct slot *choose_slot(struct bsn_dc_pool *pool, const struct peer *peer);

/* idle.c */

/* A slot that is bound and idle. NULL: none, as far as was heard. */
struct slot *idle_heard(struct bsn_dc_pool *pool);
/* Finds one by looking at all, and listens from now on if few are idle. */
struct slot *idle_begin(struct bsn_dc_pool *pool);
/* From now on it looks for them anew. */
void idle_forget(struct bsn_dc_pool *pool);
/* A request of the initiator completed: it may have an idle slot. */
void idle_hear(struct bsn_dc_pool *pool, struct initiator *i);

/* line.c */
void start_waiting(struct bsn_dc_pool *pool, struct peer *peer);
/* If it does. */
void stop_waiting(struct bsn_dc_pool *pool, struct peer *peer);
/*
 * One that waits is destroyed: its place in line is still there, and frees it when its turn
 * comes.
 */
void die_waiting(struct bsn_dc_pool *pool, struct peer *peer);
/*
 * Called where a peer waits: peers that had their turn may not go on, and queues that end with
 * unsignaled requests get a NOP, as mark_end() says: the first of the next few; or all, if the
 * program @may_sleep after that.
 */
void make_room(struct bsn_dc_pool *pool, bool may_sleep);
/*
 * Unsignaled requests tell nothing when they are done: an initiator whose last request is
 * unsignaled gets a signaled NOP, which the program does not see; and appended requests are
 * published. False: nothing was to be done, or the NOP has no room.
 */
bool mark_end(struct bsn_dc_pool *pool, struct initiator *i);
/*
 * What a poll does besides polling: turns that were given at the last one are over; up to @n that
 * can be given now are, a completion each. @may_sleep: nothing completed, so the program may sleep.
 */
int take_turns(struct bsn_dc_pool *pool, struct bsn_completion *c, int n, bool may_sleep);

/* A peer gets a slot, and is told. */
void give_slot(struct bsn_dc_pool *pool, struct peer *peer, struct slot *s, int64_t credit,
	       struct bsn_completion *c);

/* pool.c: without initiators, which are the caller's to make. NULL: no memory. */
struct bsn_dc_pool *pool_new(const struct bsn_dc_pool_attr *attr);
/*
 * Its CQ: that of @attr, or one of its own. It takes @entries, most of them for QPs that are made
 * later, and the others at once.
 */
int pool_bring_cq(struct bsn_dc_pool *pool, const struct bsn_dc_pool_attr *attr, uint32_t entries,
		  uint32_t beside_qps);
/* Its initiators have their queues. 0 or a negative errno, with a text. */
int pool_begin(struct bsn_dc_pool *pool);
void pool_free(struct bsn_dc_pool *pool);
/* Not on plain verbs. */
int connect_initiator(struct bsn_dc_pool *pool, struct initiator *i);
/* The next poll of its CQ looks after it; in a model each does. */
static inline void pool_wake(const struct bsn_dc_pool *pool)
{
	if (pool->cq)
		cq_ask_guests(cq_of(pool->cq));
}

/* failures.c: from now on it is told of its queue's failures. */
void own_queue(struct initiator *i);
/* Of a QP's queue; NULL: it is no initiator's. */
static inline struct initiator *owner_of(const struct bsn_sq *sq)
{
	return (struct initiator *)sq->owner;
}

/* Posts to a peer are refused from now on. */
void fail_peer(struct bsn_dc_pool *pool, struct peer *peer);
/* No peer gets an initiator any more, until it is repaired; a spare takes its place. */
void withdraw(struct bsn_dc_pool *pool, struct initiator *i);
/* Whether one takes peers. */
bool any_works(const struct bsn_dc_pool *pool);
/* A copy of a request, as the device was given it, also round the ring's end. Returns its bytes. */
uint32_t copy_wqe(const struct bsn_sq *sq, uint16_t index, uint8_t *wqe);

/* gate.c: puts a gate before an initiator's queue. */
void gate_put(struct initiator *i, uint32_t most);

/* streams.c */
/* A request of a stream failed, or was flushed. True: it is posted again, so nobody is told. */
bool stream_failed(struct bsn_dc_pool *pool, struct initiator *i, const struct bsn_completion *c);
/* Posts those again of which that was said, as far as there is room. */
void repeat_held(struct bsn_dc_pool *pool);
/* Streams of which nothing is outstanding, of an initiator that works; makes system calls. */
void repair_streams(struct bsn_dc_pool *pool, struct initiator *i);
void explain_stream(const struct bsn_dc_pool *pool, const struct slot *s,
		    struct bsn_dc_error *error);

/* unbound.c */
extern const struct bsn_sq_path unbound_path;

/*
 * Finds a slot for a peer that has none, or lost it. NULL: it has to wait, also for its own
 * requests.
 */
struct slot *find_slot(struct bsn_dc_pool *pool, const struct peer *peer);

#endif
