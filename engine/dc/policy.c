/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which slot a peer without one takes. All policies only look at queues: whether the index of a queue,
 * or of a stream, has moved since the last look.
 */
#include "pool.h"

#include "sq.h"

static struct slot *slot_at(const struct bsn_dc_pool *pool, uint16_t number)
{
	return number == NO_SLOT ? NULL : &pool->slots[number];
}

/* -- the least used of the next ones --------------------------------------------------------------- */

/*
 * A miss looks at the next few slots, and takes the one that was used least. What the others were used is forgotten,
 * but by the clock that it was more than once: then one use still counts when the hand comes round again. So a miss costs
 * the same however many slots were used.
 *
 * @LOOK_SIMPLY: a slot is an initiator. @LOOK_AT_STREAMS: a stream. @LOOK_AT_INITIATORS: the slots are those of initiators
 * with streams. All leave to others what takes more steps.
 */
enum look { LOOK_SIMPLY, LOOK_AT_STREAMS, LOOK_AT_INITIATORS };

BSN_ALWAYS_INLINE uint32_t take_uses_of_queue(struct slot *s, uint32_t at, uint32_t uses, bool in_order)
{
	if (uses) /* one: the upper bit remains, which is cheaper than a compare */
		s->seen_pi = (uint16_t)(in_order ? at : at - 1 + ((uses - 2) >> 31));
	return uses;
}

BSN_ALWAYS_INLINE uint32_t take_uses_of_stream(struct slot *s)
{
	const uint32_t uses = s->uses;

	s->uses = 0;
	return uses;
}

/* On plain verbs each request is a block, and the route tells nothing. */
static uint32_t take_uses_of_connection(struct slot *s)
{
	const uint16_t at = s->sq->pi;

	if (at != s->seen_pi && s->is_new) {
		s->seen_pi++;
		s->is_new = false;
	}
	return take_uses_of_queue(s, at, (uint16_t)(at - s->seen_pi), false);
}

#define NOT_IDLE UINT32_MAX

BSN_ALWAYS_INLINE uint32_t look_simply(struct slot *s, bool in_order)
{
	const struct bsn_sq *sq = s->sq;
	const uint32_t done = bsn_sq_done(sq);

	if (BSN_UNLIKELY(!bsn_sq_is_done(sq, (uint16_t)done)))
		return NOT_IDLE;
	return take_uses_of_queue(s, done, done - s->seen_pi, in_order); /* beyond a lap it is a lot */
}

/* Nothing of its queue is outstanding, so that where each stream ends does not matter, nor what the ring has lost. */
BSN_ALWAYS_INLINE void read_uses(struct initiator *i, const struct bsn_sq *sq)
{
	const uint32_t pi = bsn_sq_wide_pi(sq);
	struct slot *const slots = i->slots;
	uint32_t at = i->read_pi;

	i->read_pi = pi;
	if (BSN_UNLIKELY(pi - at > sq->bb_mask))
		return;
	do {
		const struct bsn_posted posted = bsn_sq_posted_at(sq, at);

		slots[(uint8_t)posted.stream].uses++;
		at += posted.count_bb;
	} while (at != pi);
}

BSN_ALWAYS_INLINE uint32_t look_at_stream(struct slot *s)
{
	const struct bsn_sq *sq = s->sq;

	if (BSN_UNLIKELY(!bsn_sq_is_done(sq, bsn_sq_done(sq))))
		return NOT_IDLE;
	if ((uint16_t)s->of->read_pi != sq->pi)
		read_uses(s->of, sq);
	return take_uses_of_stream(s);
}

static uint32_t look_long(struct bsn_dc_pool *pool, struct slot *s)
{
	const uint16_t done = bsn_sq_done(s->sq);

	if (pool->streams > 1)
		read_streams(pool, s->of);
	if (!is_idle(pool, s))
		return NOT_IDLE;
	if (pool->rc)
		return take_uses_of_connection(s);
	if (pool->streams > 1)
		return take_uses_of_stream(s);
	return take_uses_of_queue(s, done, (uint16_t)(done - s->seen_pi), pool->policy->wants_order);
}

BSN_ALWAYS_INLINE void move_hand(struct bsn_dc_pool *pool, struct slot *s, struct slot **to, bool in_order)
{
	if (in_order) {
		pool->sieve = s;
		return;
	}
	while (BSN_UNLIKELY(to >= pool->clock_end))
		to -= pool->clock_end - pool->clock; /* more than once, where there are fewer than a miss looks at */
	pool->hand = to;
}

/*
 * The slots at the hand: of the clock, or of those that are bound @in_order. NULL: none is idle. None that is bound is kept
 * now, so that the first one tells whether any is.
 */
BSN_ALWAYS_INLINE struct slot *find_least_used(struct bsn_dc_pool *pool, enum look how, bool in_order)
{
	struct slot *s = pool->sieve, *best = NULL, **const hand = pool->hand;
	uint32_t least = NOT_IDLE;

	BSN_UNROLL for (uint32_t k = 0; k < LOOKS; k++) {
		struct slot *const this = in_order ? s : hand[k];
		uint32_t uses;

		if (k == 0 && BSN_UNLIKELY(this->is_kept))
			return NULL;
		uses = how == LOOK_SIMPLY ? look_simply(this, in_order) : look_at_stream(this);
		if (how == LOOK_AT_STREAMS && BSN_UNLIKELY(uses == NOT_IDLE)) {
			move_hand(pool, this, NULL, true); /* uses of those before it are taken */
			return NULL;
		}
		s = in_order ? bound_before(pool, this) : s;
		if (BSN_UNLIKELY(!uses)) {
			move_hand(pool, s, hand + k + 1, in_order);
			return this;
		}
		if (uses < least) {
			best = this;
			least = uses;
		}
	}
	if (BSN_UNLIKELY(!best))
		return NULL;
	move_hand(pool, s, hand + LOOKS, in_order);
	return best;
}

/*
 * A clock of initiators with streams. Which of them were used is seen of one request alone at each look, the one that was
 * polled last. Whether all that the initiator has is done.
 */
BSN_ALWAYS_INLINE bool look_at_initiator(struct initiator *i, const struct bsn_sq *sq)
{
	const uint16_t done = bsn_sq_done(sq);

	if ((int16_t)(done - i->seen_pi) > 0) {
		const uint64_t bit = 1ull << bsn_sq_posted_at(sq, done).stream % MOST_DC_STREAMS;

		i->often |= i->used & bit;
		i->used |= bit;
		i->seen_pi = done;
	}
	return bsn_sq_is_done(sq, done);
}

/* Those of its streams that were not used: first those after the one that was taken last. None: from now on none was. */
BSN_ALWAYS_INLINE uint64_t unused_streams(struct initiator *i, uint64_t of)
{
	const uint64_t unused = of & ~i->used, ahead = unused & ~i->passed;

	if (BSN_UNLIKELY(!unused)) {
		i->used = i->often;
		i->often = i->passed = 0;
	}
	return ahead ? ahead : unused;
}

BSN_ALWAYS_INLINE struct slot *take_stream(struct initiator *i, uint64_t bits)
{
	i->passed = bits ^ (bits - 1);
	return &i->slots[__builtin_ctzll(bits)];
}

/* Of the next few initiators, nothing of which is outstanding, the first that has one which was not used. */
BSN_ALWAYS_INLINE struct slot *find_unused_stream(struct bsn_dc_pool *pool)
{
	struct slot **const hand = pool->hand;

	BSN_UNROLL for (uint32_t k = 0; k < LOOKS; k++) {
		struct initiator *const i = hand[k]->of;
		uint64_t unused;

		if (BSN_UNLIKELY(!look_at_initiator(i, hand[k]->sq)))
			return NULL;
		unused = unused_streams(i, i->bound);
		if (k == LOOKS - 1 && !unused)
			unused = i->bound;
		if (BSN_LIKELY(unused)) {
			move_hand(pool, NULL, hand + k + 1, false);
			i->seen_pi = i->sq->pi;
			return take_stream(i, unused);
		}
	}
	return NULL;
}

static uint64_t idle_streams(const struct bsn_dc_pool *pool, struct initiator *i)
{
	const uint32_t outstanding = bsn_sq_outstanding_bb(i->sq);
	uint64_t idle = 0;

	if (!outstanding && !pool->turns)
		return i->bound;
	read_streams(pool, i);
	for (uint32_t k = 0; k < pool->streams; k++) {
		const struct slot *s = &i->slots[k];

		if (!s->has_turn && (uint16_t)(i->sq->pi - s->end_pi) >= outstanding)
			idle |= 1ull << k;
	}
	return idle & i->bound;
}

/* On plain verbs a pool looks at all, which are few. */
static uint32_t looks_at_most(const struct bsn_dc_pool *pool)
{
	const uint32_t all = bound_places(pool), most = pool->listens ? LOOKS : MOST_LOOKS;

	return all < most || pool->rc ? all : most;
}

/* The same of any pool with streams, of the next few initiators that have idle ones. */
static struct slot *find_stream_long(struct bsn_dc_pool *pool)
{
	struct initiator *best = NULL;
	uint64_t best_idle = 0;

	for (uint32_t left = looks_at_most(pool), looks = LOOKS; left && looks; left--) {
		struct initiator *i = (*pool->hand)->of;
		const uint64_t idle = idle_streams(pool, i);
		uint64_t unused;

		look_at_initiator(i, i->sq);
		move_hand(pool, NULL, pool->hand + 1, false);
		if (!idle)
			continue;
		unused = unused_streams(i, idle);
		if (unused)
			return take_stream(i, unused);
		best = i;
		best_idle = idle;
		looks--;
	}
	return best ? take_stream(best, best_idle) : NULL;
}

/* Of any pool: the least used of the next ones that are idle. */
static struct slot *find_long(struct bsn_dc_pool *pool, bool in_order)
{
	struct slot *s = pool->sieve, *best = NULL, **hand = pool->hand;
	uint32_t least = NOT_IDLE;

	for (uint32_t left = looks_at_most(pool), looks = LOOKS; left && looks && least; left--) {
		struct slot *const this = in_order ? s : *hand;
		const uint32_t uses = look_long(pool, this);

		s = in_order ? bound_before(pool, this) : s;
		hand = hand + 1 < pool->clock_end ? hand + 1 : pool->clock;
		looks -= uses < NOT_IDLE;
		best = uses < least ? this : best;
		least = uses < least ? uses : least;
	}
	if (pool->bound.count)
		move_hand(pool, s, hand, in_order);
	return best;
}

/* Of any pool: an idle one. NULL: none is. */
static struct slot *find_idle(struct bsn_dc_pool *pool)
{
	const bool in_order = pool->policy->wants_order, listened = pool->listens;
	struct slot *s = listened ? idle_heard(pool) : NULL;

	if (s)
		return s;
	s = pool->streams > 1 && !in_order ? find_stream_long(pool) : find_long(pool, in_order);
	return s || listened || looks_at_most(pool) == bound_places(pool) ? s : idle_begin(pool);
}

/* The request that takes a slot is no use of it. */
BSN_ALWAYS_INLINE void skip_taking(struct slot *s, bool has_streams)
{
	if (has_streams)
		s->uses = (uint16_t)-1;
	else
		s->seen_pi = s->sq->pi;
}

BSN_ALWAYS_INLINE struct slot *find_quickly(struct bsn_dc_pool *pool, enum look how, bool in_order)
{
	struct slot *s;

	if (how == LOOK_AT_INITIATORS)
		return find_unused_stream(pool);
	s = find_least_used(pool, how, in_order);
	if (BSN_LIKELY(s))
		skip_taking(s, how == LOOK_AT_STREAMS);
	return s;
}

/* The slot is idle, and in none of the states that want more than this. */
BSN_ALWAYS_INLINE int take_quickly(TAKING, struct bsn_dc_pool *pool, struct slot *s, bool has_streams)
{
	if (BSN_UNLIKELY(!s))
		return take_anyhow(ep, what, data, remote, imm, id);
	swap_slot(pool, peer_of(ep), s, has_streams, false);
	return go_on(ep, what, data, remote, imm, id);
}

/* -- least recently used -------------------------------------------------------------------------- */

static struct slot *choose_idle(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	struct slot *s = slot_at(pool, pool->free.first);

	(void)peer;
	return s ? s : find_idle(pool);
}

static __attribute__((noinline)) int take_stream_long(TAKING)
{
	struct bsn_dc_pool *pool = pool_of_unbound(ep);
	const bool in_order = pool->policy->wants_order;
	struct slot *s = find_idle(pool);

	if (s) {
		read_streams(pool, s->of);
		skip_taking(s, true);
		s->of->used &= ~stream_bit(s);
		s->of->seen_pi = s->sq->pi;
	}
	if (s && in_order)
		slot_is_last_bound(pool, s);
	return take_quickly(ep, what, data, remote, imm, id, pool, s, true);
}

/* Others wait, or the peer has not lost its slot, but the right to post. */
BSN_ALWAYS_INLINE bool is_late(const struct bsn_dc_pool *pool, const struct bsn_ep *ep)
{
	return BSN_UNLIKELY(pool->waiters || bsn_peer_of(ep)->reserved[0] & PEER_HAS_SLOT);
}

/* Neither, and no slot is free: somebody has to make room. */
BSN_ALWAYS_INLINE bool is_full(const struct bsn_dc_pool *pool, const struct bsn_ep *ep)
{
	return BSN_LIKELY(!(pool->waiters | pool->free.count | pool->kept) && !(bsn_peer_of(ep)->reserved[0] & PEER_HAS_SLOT));
}

/*
 * Where none of the next slots is idle, the others are busy for the most part. Then the one of the last completion that
 * was polled is taken some times in a row: at first a few times, since it was used but now, and its peer may come back; twice
 * as often where none of the next was idle after that either, and at most as often as the pool has slots.
 */
enum { LEAST_CROWDED = 2 };

static int take_last_done(TAKING)
{
	struct bsn_dc_pool *pool = pool_of_unbound(ep);
	struct slot *s = slot_by_qpn(pool, pool->last_done);

	if (!--pool->crowded)
		pool->take = pool->policy->take;
	if (!is_full(pool, ep) || s->sq->qpn != pool->last_done || s->is_kept ||
	    !bsn_sq_is_done(s->sq, bsn_sq_done(s->sq)))
		return take_anyhow(ep, what, data, remote, imm, id);
	if (pool->policy->wants_order)
		slot_is_last_bound(pool, s);
	skip_taking(s, false);
	return take_quickly(ep, what, data, remote, imm, id, pool, s, false);
}

/* No other miss has found an idle one among the next since that began last. */
static bool still_crowded(const struct bsn_dc_pool *pool)
{
	return (uint32_t)pool->swaps - pool->crowded_since <= pool->crowded_span;
}

static __attribute__((noinline)) int take_in_crowd(TAKING)
{
	struct bsn_dc_pool *pool = pool_of_unbound(ep);

	pool->crowded_span = still_crowded(pool) ? pool->crowded_span * 2 : LEAST_CROWDED;
	if (pool->crowded_span > pool->slot_count)
		pool->crowded_span = pool->slot_count;
	pool->crowded = pool->crowded_span;
	pool->crowded_since = (uint32_t)pool->swaps;
	pool->take = take_last_done;
	return take_last_done(ep, what, data, remote, imm, id);
}

BSN_ALWAYS_INLINE int take_found(TAKING, enum look how, bool in_order)
{
	struct bsn_dc_pool *pool = pool_of_unbound(ep);
	struct slot *s;

	if (!is_full(pool, ep))
		return take_anyhow(ep, what, data, remote, imm, id);
	s = find_quickly(pool, how, in_order);
	if (BSN_UNLIKELY(!s) && how == LOOK_SIMPLY)
		return take_in_crowd(ep, what, data, remote, imm, id);
	if (BSN_UNLIKELY(!s) && how != LOOK_SIMPLY)
		return take_stream_long(ep, what, data, remote, imm, id);
	if (in_order && s)
		slot_is_last_bound(pool, s);
	return take_quickly(ep, what, data, remote, imm, id, pool, s, how != LOOK_SIMPLY);
}

static int take_lru(TAKING)
{
	return take_found(ep, what, data, remote, imm, id, LOOK_SIMPLY, false);
}

static int take_lru_stream(TAKING)
{
	return take_found(ep, what, data, remote, imm, id, LOOK_AT_INITIATORS, false);
}

/* -- SIEVE ---------------------------------------------------------------------------------------- */

/*
 * The hand goes from what was bound first to what was bound last, and then begins again. What it finds
 * used it leaves where it is, so that what is new has to be used before the hand comes to it. (Zhang and
 * others, "SIEVE is simpler than LRU", NSDI 2024.)
 */
static int take_sieve(TAKING)
{
	return take_found(ep, what, data, remote, imm, id, LOOK_SIMPLY, true);
}

static int take_sieve_stream(TAKING)
{
	return take_found(ep, what, data, remote, imm, id, LOOK_AT_STREAMS, true);
}

/* -- as UCX does ---------------------------------------------------------------------------------- */

/* Takes first the slot that was given up last. */
static struct slot *choose_top(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	(void)peer;
	return slot_at(pool, pool->free.first);
}

BSN_ALWAYS_INLINE int take_first_free(TAKING, bool has_streams)
{
	struct bsn_dc_pool *pool = pool_of_unbound(ep);
	struct slot *s = slot_at(pool, pool->free.first);

	if (BSN_UNLIKELY(!s) || is_late(pool, ep))
		return take_anyhow(ep, what, data, remote, imm, id);
	link_slots(pool, &pool->free, NO_SLOT, s->next);
	pool->free.count--;
	s->is_free = false;
	circle_put_first(pool, s);
	pool->counters.bindings += s->last != peer_of(ep);
	settle_slot(peer_of(ep), s, has_streams);
	return go_on(ep, what, data, remote, imm, id);
}

static int take_top(TAKING)
{
	return take_first_free(ep, what, data, remote, imm, id, false);
}

static int take_top_stream(TAKING)
{
	return take_first_free(ep, what, data, remote, imm, id, true);
}

enum { UCX_QUOTA_BB = 32 };

static bool is_over_quota(struct bsn_dc_pool *pool, struct slot *s)
{
	(void)pool;
	return bsn_sq_outstanding_bb(s->of->sq) >= UCX_QUOTA_BB;
}

/* -- by the peer ---------------------------------------------------------------------------------- */

/* The stream of this number, or where that has failed the next one that works. */
static struct slot *idle_or_none(struct bsn_dc_pool *pool, const struct initiator *i, uint32_t number)
{
	struct slot *s = &i->slots[number % pool->streams];

	for (uint32_t k = 1; s->is_out && k < pool->streams; k++)
		s = &i->slots[(number + k) % pool->streams];
	return is_idle(pool, s) ? s : NULL;
}

/* Of those that work, the one at that place. */
static struct initiator *working(struct bsn_dc_pool *pool, uint32_t place)
{
	uint32_t count = 0;

	if (!pool->counters.failures) /* then the first ones work, and the spares are after them */
		return &pool->initiators[place];
	for (uint32_t k = 0; k < pool->count; k++) {
		struct initiator *i = &pool->initiators[k];

		if (!i->has_failed && !i->is_spare && count++ == place)
			return i;
	}
	return NULL;
}

/* One after the other: numbers of peers are dense, so each slot has as many of them. */
static struct slot *choose_hashed(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	const uint32_t number = number_of(peer), count = pool->initiators_wanted;
	const struct initiator *i = working(pool, number % count);

	if (!i)
		i = working(pool, 0); /* some have failed, and their spares, too */
	return i ? idle_or_none(pool, i, number / count) : NULL;
}

/* The streams of one initiator. */
static struct slot *choose_stream(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	const struct initiator *i = working(pool, 0);

	return i ? idle_or_none(pool, i, number_of(peer)) : NULL;
}

/* As long as no initiator has failed, and nothing is outstanding on the peer's. */
BSN_ALWAYS_INLINE int take_place(TAKING, bool of_all, bool has_streams)
{
	struct bsn_dc_pool *pool = pool_of_unbound(ep);
	const uint32_t number = number_of(peer_of(ep)), count = of_all ? pool->initiators_wanted : 1;
	const struct initiator *i = &pool->initiators[number % count];
	struct slot *s = &i->slots[has_streams ? number / count % pool->streams : 0];

	if (is_late(pool, ep) || BSN_UNLIKELY(pool->counters.failures || s->is_kept) ||
	    !bsn_sq_is_done(s->sq, bsn_sq_done(s->sq)))
		s = NULL;
	return take_quickly(ep, what, data, remote, imm, id, pool, s, has_streams);
}

static int take_hashed(TAKING)
{
	return take_place(ep, what, data, remote, imm, id, true, false);
}

static int take_hashed_stream(TAKING)
{
	return take_place(ep, what, data, remote, imm, id, true, true);
}

static int take_first(TAKING)
{
	return take_place(ep, what, data, remote, imm, id, false, false);
}

static int take_first_stream(TAKING)
{
	return take_place(ep, what, data, remote, imm, id, false, true);
}

/* -- as few as will do ------------------------------------------------------------------------------ */

/* One more where an eighth of the misses would have been none with all slots, one less where not a sixteenth would. */
static void think_over(struct bsn_dc_pool *pool)
{
	if (pool->misses < pool->epoch)
		return;
	if (pool->ghosts * 8 >= pool->misses)
		pool->active += 1 + pool->active / 8;
	else if (pool->ghosts * 16 < pool->misses && pool->active > 1)
		pool->active--;
	if (pool->active > pool->slot_count)
		pool->active = pool->slot_count;
	pool->epoch = EPOCH * pool->active;
	pool->misses = pool->ghosts = 0;
}

static struct slot *choose_adaptive(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	struct slot *s;

	(void)peer;
	think_over(pool);
	if (pool->free.count && pool->bound.count < pool->active)
		return slot_at(pool, pool->free.first);
	s = find_idle(pool);
	if (s && pool->bound.count > pool->active) { /* one less */
		unbind_slot(pool, s);
		s = find_idle(pool);
	}
	if (s)
		return s;
	pool->active = pool->bound.count + 1; /* all of them are busy */
	return slot_at(pool, pool->free.first);
}

/* As long as their number is right. */
BSN_ALWAYS_INLINE int take_of_few(TAKING, enum look how)
{
	struct bsn_dc_pool *pool = pool_of_unbound(ep);
	struct slot *s = NULL;

	if (!(pool->waiters | pool->kept) && !(bsn_peer_of(ep)->reserved[0] & PEER_HAS_SLOT) &&
	    pool->misses < pool->epoch && (!pool->free.count || pool->bound.count == pool->active))
		s = find_quickly(pool, how, false);
	if (BSN_UNLIKELY(!s))
		return take_anyhow(ep, what, data, remote, imm, id);
	count_miss(pool, peer_of(ep));
	swap_slot(pool, peer_of(ep), s, how != LOOK_SIMPLY, true);
	return go_on(ep, what, data, remote, imm, id);
}

static int take_adaptive(TAKING)
{
	return take_of_few(ep, what, data, remote, imm, id, LOOK_SIMPLY);
}

static int take_adaptive_stream(TAKING)
{
	return take_of_few(ep, what, data, remote, imm, id, LOOK_AT_INITIATORS);
}

/* -- all of them ---------------------------------------------------------------------------------- */

/* Whether it posted as much as a turn while others wait. */
static bool is_paid_out(struct bsn_dc_pool *pool, struct slot *s)
{
	charge_slot(pool, s);
	return s->credit <= 0;
}

static const struct policy policies[] = {
	[BSN_DC_LRU] = { .name = "lru",
			 .choose = choose_idle,
			 .take = take_lru,
			 .take_stream = take_lru_stream,
			 .is_over = is_paid_out },
	[BSN_DC_SIEVE] = { .name = "sieve",
			   .choose = choose_idle,
			   .take = take_sieve,
			   .take_stream = take_sieve_stream,
			   .is_over = is_paid_out,
			   .wants_order = true },
	[BSN_DC_DCS] = { .name = "dcs",
			 .choose = choose_top,
			 .take = take_top,
			 .take_stream = take_top_stream,
			 .leaves_when_done = true,
			 .wants_order = true },
	[BSN_DC_DCS_QUOTA] = { .name = "dcs_quota",
			       .choose = choose_top,
			       .take = take_top,
			       .take_stream = take_top_stream,
			       .is_over = is_over_quota,
			       .leaves_when_done = true,
			       .wants_order = true },
	[BSN_DC_HASHED] = { .name = "hashed",
			    .choose = choose_hashed,
			    .take = take_hashed,
			    .take_stream = take_hashed_stream,
			    .is_over = is_paid_out,
			    .has_places = true },
	[BSN_DC_STREAMS] = { .name = "streams",
			     .choose = choose_stream,
			     .take = take_first,
			     .take_stream = take_first_stream,
			     .is_over = is_paid_out,
			     .has_places = true },
	[BSN_DC_ADAPTIVE] = { .name = "adaptive",
			      .choose = choose_adaptive,
			      .take = take_adaptive,
			      .take_stream = take_adaptive_stream,
			      .is_over = is_paid_out,
			      .wants_ghosts = true },
};

const struct policy *policy_of(enum bsn_dc_policy policy)
{
	return (unsigned)policy < sizeof(policies) / sizeof(policies[0]) ? &policies[policy] : NULL;
}

const char *bsn_dc_policy_name(enum bsn_dc_policy policy)
{
	const struct policy *known = policy_of(policy);

	return known ? known->name : NULL;
}
