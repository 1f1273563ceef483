/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool of initiators. Private to engine/dc/.
 *
 *	peers.c       makes peers, and what the peers of a host share
 *	slots.c       binds peers to slots, and reads their use in the send rings
 *	policy.c      chooses the slot of a peer that has none
 *	idle.c        finds an idle slot where few slots are idle
 *	line.c        keeps the line of waiting peers, and gives turns
 *	unbound.c     takes posts of peers that have no slot
 *	gate.c        limits outstanding READs
 *	initiators.c  makes and connects the initiators' QPs
 *	failures.c    withdraws initiators and streams that failed
 *	repair.c      repairs them, and says why they failed
 *	pool.c        makes a pool, and does its part in polls of its CQ
 *	rc_*.c        are the pool on plain verbs: see rc.h
 *
 * A slot is a stream of an initiator, or an initiator without streams. A peer is bound to one slot
 * or to none. A bound peer's endpoint has the initiator's queue, so posts go straight to it. An
 * unbound peer's endpoint has the queue @unbound, whose posts all come to unbound.c. A slot goes to
 * another peer only when nothing of the peer before is outstanding on it, so the requests of one
 * peer are executed in order.
 *
 * Slots, policies, the line and unbound posts use send queues only, and no device, so bsn-perf runs
 * them on a model.
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
#define MOST_SLOTS UINT16_MAX /* a pool has fewer */

/* -- peers ------------------------------------------------------------------------------------- */

enum peer_state {
	PEER_FINE,
	PEER_WAITS,    /* it is in line */
	PEER_CONNECTS, /* plain verbs: an initiator is being connected to it; it is not in line */
	PEER_FAILED,
};

/* A peer's debt is counted in these parts of a turn. */
enum { DEBT_PARTS = 16 };

struct peer {
	struct bsn_peer hot; /* first: what posts read */
	struct slot *slot;   /* which has its requests, or had the last ones; NULL: none */
	uint32_t next;       /* number of the next peer, in line or in the list of free ones */
	uint16_t debt;       /* what it owes while it has no slot */
	uint8_t state;       /* enum peer_state */
	uint8_t refusal;     /* enum rc_reason: why it is not connected; 0: it is */
};
_Static_assert(sizeof(struct peer) == 64, "a peer is a cache line");

/* The part of an address vector that peers of a host share. */
struct host {
	uint8_t more[BSN_AV_DC_GRH_SIZE - BSN_DS_SIZE] __attribute__((aligned(16)));
	uint8_t head[BSN_DS_SIZE]; /* without key and number */
	uint8_t prefix_ds;
	struct ibv_ah_attr av;
	struct bsn_ep *ep; /* on plain verbs: to the datagram QP of its targets */
	uint32_t peers;
};

/* Peers lie in chunks that are aligned to their size, so a peer's address leads to its chunk. */
enum { CHUNK_BYTES = 1 << 16, CHUNK_HEAD = 64 };
enum { CHUNK_PEERS = (CHUNK_BYTES - CHUNK_HEAD) / sizeof(struct peer) };

struct chunk {
	struct bsn_dc_pool *pool;
	uint32_t number;
	struct peer peers[] __attribute__((aligned(CHUNK_HEAD)));
};

/* -- connections of plain verbs ---------------------------------------------------------------- */

enum rc_state {
	RC_APART,
	RC_ASKED,
	RC_ANSWERED, /* the peer is not told yet */
	RC_TOGETHER,
};

/* A message that is repeated until the peer's target answers. */
struct rc_call {
	struct host *host;
	uint32_t qpn;
	uint32_t serial;
	unsigned times;
	uint64_t due_ns;
};

struct rc_connection {
	enum rc_state state;
	uint8_t reason; /* enum rc_reason of RC_ANSWERED; 0: it is connected */
	struct rc_call ask;
	uint64_t key;
	struct peer *peer; /* NULL: RC_APART, or it is gone */
	int64_t credit;    /* bytes that it may post once it is connected */
};

/* -- slots ------------------------------------------------------------------------------------- */

enum slot_state {
	SLOT_FREE,    /* no peer has it; any can get it */
	SLOT_BOUND,   /* a peer has it */
	SLOT_REVOKED, /* others wait, so its peer may not post; its requests go on */
	SLOT_TURN,    /* a peer got it in its turn, and has not posted yet */
	SLOT_OUT,     /* it or its initiator failed, or is a spare */
	SLOT_STATES
};

struct slot {
	struct peer *peer; /* the one bound to it; NULL: none */
	struct bsn_sq *sq; /* of its initiator */
	struct initiator *of;
	int64_t credit;      /* bytes that the peer may still post while others wait */
	uint32_t counted;    /* posts up to this index, modulo 2^32, were taken from @credit */
	uint32_t contention; /* the period of waiting that @credit is for */
	uint32_t ctrl_bits;  /* of its stream */
	uint16_t end_pi;     /* of a stream: where its last request ends */
	uint16_t number;     /* among all slots */
	uint8_t state;
	bool has_failed; /* a request did: see pool->failures */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct slot) == 64, "a slot is a cache line");

/* A search among all slots or initiators looks at so many at a time. */
enum { MOST_LOOKS = 8 };

/* The failure of a slot. */
struct failure {
	struct bsn_dc_error error; /* without text */
	/* Requests that were flushed with the initiator, and are to be posted on another. */
	uint16_t held, held_bb, held_pi; /* how many, their blocks, and where they begin */
};

struct gate {
	struct bsn_sq_path path;         /* first: what @sq->path points to */
	const struct bsn_sq_path *inner; /* the queue's own; NULL: mlx5 */
	uint64_t held_ops; /* READs and atomics that the queue would show without a gate */
	uint32_t most;     /* READs that may be outstanding */
	uint32_t reads;    /* outstanding at the last count, and posted since */
	uint32_t read_pi;  /* @reads has none before this index, modulo 2^32 */
};

struct initiator {
	struct bsn_sq_owner owner; /* first: it is told of the queue's failures */
	struct bsn_dc_pool *pool;
	struct bsn_qp *qp; /* NULL: in a model */
	struct bsn_sq *sq;
	struct slot *slots;   /* one per stream; one if it has no streams */
	uint64_t bound, used; /* a bit per slot: a peer is bound to it; the policy saw it used */
	uint32_t read_pi;     /* read_streams() has read the ring up to here */
	uint32_t marked_pi;   /* here ended its last request when mark_end() saw it signaled */
	uint32_t generation;  /* how often it, or a stream of it, was repaired */
	uint32_t failed_streams; /* while others go on */
	uint32_t held_slots;     /* that hold requests: struct failure */
	uint16_t seen_pi;        /* up to this request the policy knows of uses */
	bool is_spare;    /* it takes no peer until another one fails */
	bool has_failed;
	bool is_heard; /* it is among pool->heard */
	struct gate gate;
	struct rc_connection rc; /* on plain verbs */
};

struct bsn_dc_pool {
	struct dv_sq unbound, failed;  /* first: queues of peers that have no slot, or failed */
	struct cq_guest guest;         /* of its CQ */
	struct bsn_device *device;     /* NULL: in a model */
	struct bsn_cq *cq;
	uint32_t charged;             /* entries of the CQ, beside those of its QPs */
	struct bsn_dc_pool_attr attr; /* with all defaults filled in */
	struct handshake_uar uar;     /* of initiators with a full handshake */

	struct rc_pool *rc; /* on plain verbs; else NULL */
	uint32_t rc_work;   /* of @rc: peers to be connected, targets to be told */

	struct slot *slots;
	struct failure *failures; /* one a slot */
	uint32_t slot_count, in_state[SLOT_STATES];
	uint16_t *free;         /* numbers of the free ones */
	uint32_t count;         /* initiators, spares included */
	uint32_t held_slots;    /* that hold requests: struct failure */
	uint32_t fatal_streams; /* so many failed streams fail an initiator */
	uint32_t broken;        /* failed initiators, and failed streams of others */

	struct initiator *hand; /* the next that a policy looks at */
	bool listens;           /* few slots are idle: see idle.c */
	uint16_t *heard;        /* while it listens: initiators that had completions */
	uint32_t heard_count, heard_turn;

	uint32_t contention; /* how often a line began */
	uint32_t waiters;    /* peers in line */
	uint32_t first_waiter, last_waiter;
	uint16_t *given; /* slots that the last poll gave in turns; some may have changed */
	uint32_t given_count;
	uint32_t judged, marked; /* slots and initiators that make_room() has looked at */

	struct chunk **chunks;
	uint32_t chunk_count, peer_count, first_free;
	void *hosts; /* a tree, by address vector: peers.c */

	struct bsn_dc_counters counters;
	struct provider_dc_connects before; /* counted by the device before the pool was made */
	struct initiator initiators[];
};

/* -- peers.c ----------------------------------------------------------------------------------- */

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

static inline struct host *host_of(const struct peer *peer)
{
	return (struct host *)(uintptr_t)peer->hot.more; /* @more is first */
}

/* Makes a peer without address; NULL: no memory. */
struct peer *peer_new(struct bsn_dc_pool *pool);
/* Frees a peer that has no slot and is not in line. */
void peer_free(struct bsn_dc_pool *pool, struct peer *peer);
void peers_free(struct bsn_dc_pool *pool);

/* -- slots.c ----------------------------------------------------------------------------------- */

/* Makes the slots of all initiators, which have their queues; -ENOMEM. */
int slots_make(struct bsn_dc_pool *pool);
/* Frees them, even if only some were made. */
void slots_free(struct bsn_dc_pool *pool);

void set_slot(struct bsn_dc_pool *pool, struct slot *s, enum slot_state state);

/* The slot's bit among those of its initiator. */
static inline uint64_t stream_bit(const struct slot *s)
{
	return 1ull << (s - s->of->slots);
}

/* Binds the slot for a request that follows, and that does not count as a use. */
void bind_slot(struct bsn_dc_pool *pool, struct peer *peer, struct slot *s);
/* Binds the slot for a turn of the peer, of @credit bytes; @c tells the program. */
void give_slot(struct bsn_dc_pool *pool, struct peer *peer, struct slot *s, int64_t credit,
	       struct bsn_completion *c);
/* Frees the slot: its peer, if any, has no slot after that. */
void unbind_slot(struct bsn_dc_pool *pool, struct slot *s);
void revoke_slot(struct bsn_dc_pool *pool, struct slot *s);
/* Removes the peer from a slot that is out. */
void forget_slot(struct slot *s);
/* Moves the peer to @to, where the requests that @s held were posted once more. */
void move_slot(struct bsn_dc_pool *pool, struct slot *s, struct slot *to);
/* Lets peers get the slot, or stops that; the last two do so for all slots of an initiator. */
void slot_offer(struct bsn_dc_pool *pool, struct slot *s);
void slot_withdraw(struct bsn_dc_pool *pool, struct slot *s);
void slots_offer(struct bsn_dc_pool *pool, struct initiator *i);
void slots_withdraw(struct bsn_dc_pool *pool, struct initiator *i);

/* For a queue with streams: reads from the ring what was posted since the last call. */
void read_streams(struct initiator *i);
bool stream_is_done(const struct slot *s);

/*
 * Whether it holds requests that were flushed with its initiator, and are to be posted on another.
 */
static inline bool holds(const struct bsn_dc_pool *pool, const struct slot *s)
{
	return pool->failures[s->number].held;
}

/* Whether nothing of its peer is outstanding. */
BSN_ALWAYS_INLINE bool is_done(const struct bsn_dc_pool *pool, struct slot *s)
{
	if (BSN_UNLIKELY(pool->attr.streams > 1))
		return stream_is_done(s);
	return bsn_sq_is_done(s->sq, bsn_sq_done(s->sq));
}

/* Whether it can be given to a peer. */
BSN_ALWAYS_INLINE bool is_idle(const struct bsn_dc_pool *pool, struct slot *s)
{
	return s->state < SLOT_TURN && is_done(pool, s);
}

/* Whether the peer that got the slot in its turn has posted. */
bool has_posted(const struct bsn_dc_pool *pool, struct slot *s);

/* Takes from the credit what its peer posted while others wait. */
void charge_slot(const struct bsn_dc_pool *pool, struct slot *s);

/* -- policy.c ---------------------------------------------------------------------------------- */

/* Chooses an idle slot for a peer that has none, and binds nothing. NULL: the peer has to wait. */
struct slot *choose_slot(struct bsn_dc_pool *pool, const struct peer *peer);
/* The same for a peer that may have a slot, which it keeps if the slot is idle. */
struct slot *find_slot(struct bsn_dc_pool *pool, const struct peer *peer);

/* -- idle.c ------------------------------------------------------------------------------------ */

/* A slot that is bound and idle. NULL: none was heard. */
struct slot *idle_heard(struct bsn_dc_pool *pool);
/* Looks at all slots for such a one. If few are idle, the pool listens from now on. */
struct slot *idle_begin(struct bsn_dc_pool *pool);
/* Forgets what was heard. */
void idle_forget(struct bsn_dc_pool *pool);
/* Notes that a request of the initiator completed, so it may have an idle slot. */
void idle_hear(struct bsn_dc_pool *pool, struct initiator *i);

/* -- line.c ------------------------------------------------------------------------------------ */

void start_waiting(struct bsn_dc_pool *pool, struct peer *peer);
/* Takes the peer out of the line, if it is there. */
void stop_waiting(struct bsn_dc_pool *pool, struct peer *peer);
/*
 * Called while a peer waits. Revokes slots of peers that had their turn, and calls mark_end() for
 * one of the next few initiators; for all, if the program @may_sleep after that.
 */
void make_room(struct bsn_dc_pool *pool, bool may_sleep);
/*
 * Nothing tells when unsignaled requests are done. So if an initiator's last request is unsignaled,
 * a signaled NOP is posted, whose completion is hidden; appended requests are published. False:
 * there was no need, or no room for the NOP.
 */
bool mark_end(struct bsn_dc_pool *pool, struct initiator *i);
/*
 * The pool's part of a poll: ends the turns that the last poll gave, and gives up to @n new ones, a
 * completion each. @may_sleep: nothing completed, so the program may sleep.
 */
int take_turns(struct bsn_dc_pool *pool, struct bsn_completion *c, int n, bool may_sleep);

/* -- unbound.c, gate.c, initiators.c ----------------------------------------------------------- */

extern const struct bsn_sq_path unbound_path;

/* Puts a gate before an initiator's queue. */
void gate_put(struct initiator *i, uint32_t most);

/* Makes all initiators, and their CQ if none was given. */
int initiators_make(struct bsn_dc_pool *pool);
void initiators_free(struct bsn_dc_pool *pool);
/* Resets an initiator of which nothing is outstanding: its indices begin at 0. */
static inline int initiator_reset(struct initiator *i)
{
	i->gate.reads = i->gate.read_pi = i->marked_pi = 0;
	return bsn_qp_reset(i->qp);
}
/* Makes an initiator ready to send; not on plain verbs. */
int initiator_connect(struct bsn_dc_pool *pool, struct initiator *i);

/* -- failures.c -------------------------------------------------------------------------------- */

/* Makes the initiator the owner of its queue, which is told of failures. */
void own_queue(struct initiator *i);
/* The initiator of a QP's queue; NULL: it is no initiator's. */
static inline struct initiator *owner_of(const struct bsn_sq *sq)
{
	return (struct initiator *)dv_sq(sq)->owner;
}
/* Gives no slot of the initiator to peers until it is repaired; a spare takes its place. */
void withdraw(struct bsn_dc_pool *pool, struct initiator *i);
/* How many initiators take peers. */
uint32_t count_working(const struct bsn_dc_pool *pool);
/* Posts held requests, as far as there is room. */
void repeat_held(struct bsn_dc_pool *pool);

/* -- pool.c ------------------------------------------------------------------------------------ */

/* Makes a pool without initiators; the caller makes them. NULL: no memory. */
struct bsn_dc_pool *pool_new(const struct bsn_dc_pool_attr *attr);
/* Begins when all initiators have their queues. 0 or -errno, with its text. */
int pool_begin(struct bsn_dc_pool *pool);
void pool_free(struct bsn_dc_pool *pool);
/* Makes the next poll of its CQ do the pool's part; in a model each poll does. */
static inline void pool_wake(const struct bsn_dc_pool *pool)
{
	if (pool->cq)
		cq_request_guests(cq_of(pool->cq));
}

#endif
