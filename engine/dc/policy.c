/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which slot a peer without one takes: a policy chooses it, and binds nothing.
 *
 * A hit does not tell the pool that a slot was used. A policy sees it in the send queue: its
 * index, or that of the stream, has moved since the last look.
 */
#include "pool.h"

#include "sq.h"

/* NULL: none is free. */
static struct slot *first_free(const struct bsn_dc_pool *pool)
{
	return pool->free_count ? slot_after(pool, free_end(pool)) : NULL;
}

/* -- the least used of the next ones --------------------------------------------------------- */

/*
 * A miss looks at the next three slots of those that are bound, and takes the idle one that was
 * used least. If none of them is idle, it looks at a few more. So a miss costs the same however
 * many slots there are.
 *
 * A look forgets how often the slot was used. The clock remembers one use if there were
 * several: the slot survives one more round of the hand.
 */
enum { LOOKS = 3 };

/* None of the next slots is idle. Few slots were all looked at. */
static struct slot *find_later(struct bsn_dc_pool *pool)
{
	return pool->listens || bound_places(pool) <= MOST_LOOKS ? NULL : idle_begin(pool);
}

BSN_ALWAYS_INLINE struct initiator *next_in_clock(struct bsn_dc_pool *pool)
{
	const uint32_t at = pool->hand;

	pool->hand = at + 1 < pool->clock_count ? at + 1 : 0;
	return pool->clock[at];
}

/*
 * Initiators without streams. The queue of an idle one ends with the request that was polled
 * last, so the blocks from @seen_pi to that request are its uses.
 */
static struct slot *find_by_clock(struct bsn_dc_pool *pool)
{
	struct initiator *best = NULL;
	uint32_t least = UINT32_MAX;

	for (uint32_t k = 0; k < LOOKS || (!best && k < MOST_LOOKS); k++) {
		struct initiator *i = next_in_clock(pool);
		const struct bsn_sq *sq = i->sq;
		const uint16_t done = bsn_sq_done(sq), uses = (uint16_t)(done - i->seen_pi);

		if (!bsn_sq_is_done(sq, done) || i->slots->has_turn)
			continue;
		if (!uses)
			return i->slots;
		i->seen_pi = (uint16_t)(done - (uses > 1));
		if (uses < least) {
			best = i;
			least = uses;
		}
	}
	return best ? best->slots : find_later(pool);
}

/* SIEVE goes from the slot that was bound first to the one that was bound last, and round again. */
static struct slot *next_in_order(struct bsn_dc_pool *pool)
{
	struct slot *s = pool->sieve;

	if (s == bound_end(pool))
		s = slot_before(pool, s);
	pool->sieve = slot_before(pool, s);
	return s;
}

static uint16_t take_uses_of_stream(const struct bsn_dc_pool *pool, struct slot *s)
{
	uint16_t uses;

	read_streams(pool, s->of);
	uses = s->uses;
	s->uses = 0;
	return uses;
}

/*
 * A slot that was used keeps its place, and a slot that is bound anew comes last. So a new peer
 * has to come back before the hand does. (Zhang and others, "SIEVE is simpler than LRU", NSDI
 * 2024.)
 */
BSN_ALWAYS_INLINE struct slot *find_sieved(struct bsn_dc_pool *pool, bool has_streams)
{
	uint32_t least = UINT32_MAX;
	struct slot *best = NULL;

	for (uint32_t k = 0; k < LOOKS || (!best && k < MOST_LOOKS); k++) {
		struct slot *s = next_in_order(pool);
		const uint16_t done = bsn_sq_done(s->sq);
		uint16_t uses = (uint16_t)(done - s->of->seen_pi);

		if (s->has_turn ||
		    !(has_streams ? stream_is_done(pool, s) : bsn_sq_is_done(s->sq, done)))
			continue;
		if (has_streams)
			uses = take_uses_of_stream(pool, s);
		else
			s->of->seen_pi = done;
		if (!uses)
			return s;
		if (uses < least) {
			best = s;
			least = uses;
		}
	}
	return best ? best : find_later(pool);
}

static struct slot *find_in_order(struct bsn_dc_pool *pool)
{
	return find_sieved(pool, false);
}

static struct slot *find_stream_in_order(struct bsn_dc_pool *pool)
{
	return find_sieved(pool, true);
}

/* -- the same of initiators with streams ----------------------------------------------------- */

/*
 * A look at an initiator sees one of its streams used: that of the request that was polled
 * last. To read all requests would cost more with each hit.
 */
static void note_use(struct initiator *i)
{
	const uint16_t done = bsn_sq_done(i->sq);

	if ((int16_t)(done - i->seen_pi) > 0) {
		const uint64_t bit = 1ull << bsn_sq_posted_at(i->sq, done).stream % MOST_DC_STREAMS;

		i->often |= i->used & bit;
		i->used |= bit;
		i->seen_pi = done;
	}
}

static __attribute__((noinline)) uint64_t look_at_streams(const struct bsn_dc_pool *pool,
							  struct initiator *i)
{
	const uint32_t outstanding = bsn_sq_outstanding_bb(i->sq);
	uint64_t idle = 0;

	read_streams(pool, i);
	for (uint32_t k = 0; k < pool->streams; k++) {
		const struct slot *s = &i->slots[k];

		if (!s->has_turn && (uint16_t)(i->sq->pi - s->end_pi) >= outstanding)
			idle |= 1ull << k;
	}
	return idle & i->bound;
}

static uint64_t idle_streams(const struct bsn_dc_pool *pool, struct initiator *i)
{
	return pool->turns || !bsn_sq_is_done(i->sq, bsn_sq_done(i->sq)) ? look_at_streams(pool, i)
									 : i->bound;
}

/*
 * The streams among @of that were not used, if possible those after the one that was taken
 * last. If all were used, this is forgotten: the clock's one use is left to those that were
 * used often.
 */
static uint64_t unused_streams(struct initiator *i, uint64_t of)
{
	const uint64_t unused = of & ~i->used, ahead = unused & ~i->passed;

	if (!unused) {
		i->used = i->often;
		i->often = i->passed = 0;
	}
	return ahead ? ahead : unused;
}

/* The first of them. */
static struct slot *take_stream(struct initiator *i, uint64_t bits)
{
	i->passed = bits ^ (bits - 1);
	return &i->slots[__builtin_ctzll(bits)];
}

/* Of the next initiators, the first that has an idle stream which was not used. */
static struct slot *find_stream(struct bsn_dc_pool *pool)
{
	struct initiator *best = NULL;
	uint64_t best_idle = 0;

	for (uint32_t k = 0; k < LOOKS || (!best && k < MOST_LOOKS); k++) {
		struct initiator *i = next_in_clock(pool);
		const uint64_t idle = idle_streams(pool, i);
		uint64_t unused;

		note_use(i);
		if (!idle)
			continue;
		unused = unused_streams(i, idle);
		if (unused)
			return take_stream(i, unused);
		best = i;
		best_idle = idle;
	}
	return best ? take_stream(best, best_idle) : find_later(pool);
}

/* -- least recently used, and SIEVE ---------------------------------------------------------- */

/* A slot that is bound, and idle. While few are idle, completions tell which: see idle.c. */
static struct slot *find_idle(struct bsn_dc_pool *pool)
{
	struct slot *s = BSN_UNLIKELY(pool->listens) ? idle_heard(pool) : NULL;

	return s || !pool->bound_count ? s : pool->find(pool);
}

static struct slot *choose_idle(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	struct slot *s = first_free(pool);

	(void)peer;
	return s ? s : find_idle(pool);
}

/* -- as UCX does ----------------------------------------------------------------------------- */

/* The slot that was given up last. */
static struct slot *choose_top(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	(void)peer;
	return first_free(pool);
}

enum { UCX_QUOTA_BB = 32 };

static bool is_over_quota(struct bsn_dc_pool *pool, struct slot *s)
{
	(void)pool;
	return bsn_sq_outstanding_bb(s->of->sq) >= UCX_QUOTA_BB;
}

/* -- by the peer ----------------------------------------------------------------------------- */

/* The stream of this number; if it has failed, the next one that works. */
static struct slot *idle_or_none(struct bsn_dc_pool *pool, const struct initiator *i,
				 uint32_t number)
{
	struct slot *s = &i->slots[number % pool->streams];

	for (uint32_t k = 1; s->is_out && k < pool->streams; k++)
		s = &i->slots[(number + k) % pool->streams];
	return is_idle(pool, s) ? s : NULL;
}

/* Counts those that work alone. NULL: there are fewer. */
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

/* Numbers of peers are dense, so each slot is the place of as many peers. */
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

/* -- as few as will do ----------------------------------------------------------------------- */

/*
 * A ghost is a miss that would have been a hit, had all slots been used. If an eighth of the
 * misses were ghosts, more slots are used from now on; if less than a sixteenth were, one slot
 * less.
 */
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

/* Since the peer was evicted, fewer others were than there are free slots. */
static bool is_ghost(const struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	return peer->reserved[0] & PEER_HAS_STAMP &&
	       (uint16_t)(stamp_of_now(pool) - note_of(peer)) <= pool->free_count;
}

static struct slot *find_of_few(struct bsn_dc_pool *pool)
{
	struct slot *s;

	if (pool->free_count && pool->bound_count < pool->active)
		return first_free(pool);
	s = find_idle(pool);
	if (s && pool->bound_count > pool->active) { /* one slot less is used from now on */
		unbind_slot(pool, s);
		s = find_idle(pool);
	}
	if (s)
		return s;
	pool->active = pool->bound_count + 1; /* all of them are busy */
	return first_free(pool);
}

static struct slot *choose_adaptive(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	struct slot *s;

	think_over(pool);
	s = find_of_few(pool);
	if (s) {
		pool->misses++;
		pool->ghosts += is_ghost(pool, peer);
	}
	return s;
}

/* -- all of them ----------------------------------------------------------------------------- */

/* Whether it posted as much as a turn while others wait. */
static bool is_paid_out(struct bsn_dc_pool *pool, struct slot *s)
{
	charge_slot(pool, s);
	return s->credit <= 0;
}

static const struct policy policies[] = {
	[BSN_DC_LRU] = { .name = "lru", .choose = choose_idle, .is_over = is_paid_out },
	[BSN_DC_SIEVE] = { .name = "sieve",
			   .choose = choose_idle,
			   .is_over = is_paid_out,
			   .wants_order = true },
	[BSN_DC_DCS] = { .name = "dcs",
			 .choose = choose_top,
			 .leaves_when_done = true,
			 .wants_order = true },
	[BSN_DC_DCS_QUOTA] = { .name = "dcs_quota",
			       .choose = choose_top,
			       .is_over = is_over_quota,
			       .leaves_when_done = true,
			       .wants_order = true },
	[BSN_DC_HASHED] = { .name = "hashed",
			    .choose = choose_hashed,
			    .is_over = is_paid_out,
			    .has_places = true },
	[BSN_DC_STREAMS] = { .name = "streams",
			     .choose = choose_stream,
			     .is_over = is_paid_out,
			     .has_places = true },
	[BSN_DC_ADAPTIVE] = { .name = "adaptive",
			      .choose = choose_adaptive,
			      .is_over = is_paid_out },
};

const struct policy *policy_of(enum bsn_dc_policy policy)
{
	return (unsigned)policy < sizeof(policies) / sizeof(policies[0]) ? &policies[policy] : NULL;
}

find_bound *find_of(const struct policy *policy, uint32_t streams)
{
	if (policy->wants_order)
		return streams > 1 ? find_stream_in_order : find_in_order;
	return streams > 1 ? find_stream : find_by_clock;
}

const char *bsn_dc_policy_name(enum bsn_dc_policy policy)
{
	const struct policy *known = policy_of(policy);

	return known ? known->name : NULL;
}
